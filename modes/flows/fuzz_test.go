package flows_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// FuzzSnapshot takes any snapshot for what a node holds, beside a healthy one:
// tracing never panics, always ends, and every trace is whole.
func FuzzSnapshot(f *testing.F) {
	for _, m := range modes.All() {
		c := cluster(f, m)
		f.Add(snapshotText(f, c), byte(len(m)))
	}
	f.Add([]byte(`{"Networks":[{"ID":"00000000-0000-0000-0000-000000000001","Type":"Overlay","Ipams":[{"Subnets":[{"IpAddressPrefix":"0.0.0.0/0"}]}]}],
	"Endpoints":[{"ID":"00000000-0000-0000-0000-000000000002","Name":"_","HostComputeNetwork":"00000000-0000-0000-0000-000000000001","State":2,"Policies":[{"Type":"OutBoundNAT"}]}]}`), byte(1))
	f.Add([]byte(`{"LoadBalancers":[{"HostComputeEndpoints":["x"],"PortMappings":[{}]}],"Routes":[{}]}`), byte(2))
	clusters := map[modes.Mode]*flows.Cluster{}
	for _, m := range modes.All() {
		clusters[m] = cluster(f, m)
	}
	f.Fuzz(func(t *testing.T, doc []byte, pick byte) {
		s, err := hns.ParseSnapshot(doc)
		if err != nil {
			return
		}
		c := clone(clusters[modes.All()[int(pick)%5]])
		n := nodeOf(t, c, mixedcluster.Win1)
		n.Windows.HNS = flows.StateOf(s)
		w, err := flows.New(*c)
		if err != nil {
			t.Fatal(err)
		}
		for _, col := range w.Nine() {
			for _, cell := range col.Cells {
				for _, k := range cell.Cases {
					holds(t, k.Trace)
				}
			}
		}
		for i, e := range n.Windows.HNS.Endpoints {
			if i == 8 {
				break
			}
			for _, to := range []flows.Target{{Address: mixedcluster.WebVIP}, {Address: web2}, {Address: wwwAddr}, {Place: flows.Place{Node: mixedcluster.Win1}}, {Name: "web"}} {
				holds(t, w.Trace(flows.Packet{From: flows.Place{Pod: e.Name}, To: to, Protocol: hns.UDP}))
			}
			for _, a := range e.Addresses() {
				for _, from := range []flows.Place{{Node: mixedcluster.Win1}, {Pod: mixedcluster.Web3}, {Outside: mixedcluster.WWW}} {
					holds(t, w.Trace(flows.Packet{From: from, To: flows.Target{Address: a}}))
				}
			}
		}
	})
}

func holds(t *testing.T, tr *flows.Trace) {
	t.Helper()
	if err := checkTrace(tr); err != nil {
		t.Fatalf("%v\n%s", err, tr)
	}
	if err := checkMermaid(tr.Mermaid()); err != nil {
		t.Fatal(err)
	}
}

// snapshotText is what win-1 of a cluster holds, as a snapshot.
func snapshotText(t testing.TB, c *flows.Cluster) []byte {
	t.Helper()
	st := nodeOf(t, c, mixedcluster.Win1).Windows.HNS
	s := &hns.Snapshot{Version: st.Version}
	for _, x := range st.Networks {
		s.Networks = append(s.Networks, x.Document.Raw)
	}
	for _, x := range st.Endpoints {
		s.Endpoints = append(s.Endpoints, x.Document.Raw)
	}
	for _, x := range st.Namespaces {
		s.Namespaces = append(s.Namespaces, x.Document.Raw)
	}
	for _, x := range st.LoadBalancers {
		s.LoadBalancers = append(s.LoadBalancers, x.Document.Raw)
	}
	b, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzPacket takes any packet.
func FuzzPacket(f *testing.F) {
	f.Add("client", "", "10.244.2.3", uint16(80), uint32(6))
	f.Add("web-1", "web.default", "", uint16(53), uint32(17))
	f.Add("web-3", "", "::ffff:10.244.1.3", uint16(0), uint32(1))
	f.Add("web-2", "", "fe80::1%eth0", uint16(0), uint32(58))
	worlds := map[modes.Mode]*flows.World{}
	for _, m := range modes.All() {
		worlds[m] = world(f, cluster(f, m))
	}
	f.Fuzz(func(t *testing.T, pod, name, address string, port uint16, protocol uint32) {
		p := flows.Packet{From: flows.Place{Pod: pod}, DstPort: port, Protocol: hns.Protocol(protocol)}
		if a, err := netip.ParseAddr(address); err == nil {
			p.To.Address = a
		} else {
			p.To.Name = name
		}
		for _, w := range worlds {
			tr := w.Trace(p)
			holds(t, tr)
			if _, err := json.Marshal(tr); err != nil {
				t.Fatal(err)
			}
		}
	})
}
