package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
)

// send makes a request as another program does, and returns the id of what was
// made.
func (m *machine) send(r hns.Request) hns.ID {
	m.tb.Helper()
	resp, err := m.hns.Do(r)
	if err != nil {
		m.tb.Fatalf("%s: %v", r, err)
	}
	var out struct{ ID hns.ID }
	if len(resp.Documents) > 0 {
		if err := json.Unmarshal(resp.Documents[0], &out); err != nil {
			m.tb.Fatal(err)
		}
	}
	return out.ID
}

// flanneldVXLAN leaves the node as flanneld with the vxlan backend does: the
// network with the members that hcsshim always writes, a HostRoute, and a remote
// route for each peer, with colons in the MAC addresses.
func (m *machine) flanneldVXLAN(vni int, peers ...node.Remote) {
	m.tb.Helper()
	id := m.send(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: fmt.Appendf(nil, `{
		"Name":"flannel.4096","Type":"Overlay","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}}],
		"MacPool":{},"Dns":{},"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.244.3.0/24",
		"Policies":[{"Type":"VSID","Settings":{"IsolationId":%d}}],"Routes":[{"NextHop":"10.244.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}],
		"Flags":8,"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}}`, vni)})
	modify := func(policy string) {
		m.tb.Helper()
		m.send(hns.Request{Verb: hns.VerbModify, Kind: hns.KindNetwork, ID: id,
			Document: fmt.Appendf(nil, `{"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[%s]}}`, policy)})
	}
	modify(`{"Type":"HostRoute","Settings":{}}`)
	for _, p := range peers {
		mac := strings.ToLower(strings.ReplaceAll(p.MAC.String(), "-", ":"))
		modify(fmt.Sprintf(`{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"%s","IsolationId":%d,"ProviderAddress":"%s","DistributedRouterMacAddress":"%s"}}`,
			p.Subnets[0], vni, p.Addresses[0], mac))
	}
}

// TestAfterFlanneldVXLAN takes a node over from flanneld: what is right stays,
// without a request that changes anything; what is stale goes.
func TestAfterFlanneldVXLAN(t *testing.T) {
	m, p := newMachine(t, emulator.Options{}), planOf(t, descriptions()["overlay"])
	stale := with(remote(8), func(r *node.Remote) { r.Addresses = addrs("192.0.2.88") })
	m.flanneldVXLAN(4096, remote(7), stale, remote(9))
	text := m.text()
	if s := m.ensure(p, nil); s.Changed() || m.text() != text || len(s.HostChanges) > 0 {
		t.Errorf("%s", stepsOf(s))
	}
	c := &cluster{machine: m, plan: p}
	c.counters = &node.Counters{}
	var err error
	if c.remotes, err = node.NewRemotes(m.client, nil, p, &node.RemotesOptions{Counters: c.counters}); err != nil {
		t.Fatal(err)
	}
	same := []node.Remote{remote(7), stale, remote(9)}
	calls := c.requests(func() {
		if got := c.reconcile(same...); got.Kept != 3 || got.Added+got.Changed+got.Removed > 0 {
			t.Error(got)
		}
	})
	if fmt.Sprint(calls) != "map[list:1]" || m.text() != text {
		t.Errorf("%v", calls)
	}
	// 8 has another address, 9 is gone.
	calls = c.requests(func() {
		if got := c.reconcile(remote(7), remote(8)); got.Kept != 1 || got.Changed != 1 || got.Removed != 1 {
			t.Error(got)
		}
	})
	if calls["modify"] != 2 {
		t.Errorf("%v", calls)
	}
	if text := m.text(); !strings.Contains(text, "4e:0a:00:00:00:07") || strings.Contains(text, "00:08") || strings.Count(text, `"RemoteSubnetRoute"`) != 2 {
		t.Errorf("%s", text)
	}
}

// TestAfterFlanneldOnAnotherVNI: the network that flanneld made has another VNI;
// it is not taken for ours.
func TestAfterFlanneldOnAnotherVNI(t *testing.T) {
	m, p := newMachine(t, emulator.Options{}), planOf(t, descriptions()["overlay"])
	m.flanneldVXLAN(5000, remote(7))
	text := m.text()
	if _, err := node.Ensure(t.Context(), m.client, m.host, p, nil); !errors.Is(err, hns.ErrDrift) || m.text() != text {
		t.Errorf("%v", err)
	}
	s := m.ensure(p, &node.EnsureOptions{Drift: hns.DriftRecreate})
	if got := actionsOf(s); got != "network recreate" || strings.Contains(m.text(), "10.244.7.0/24") {
		t.Errorf("%s\n%s", got, m.text())
	}
}

// TestAfterFlanneldHostGW takes a node over from flanneld with the host-gw
// backend, which speaks to HNS by its first API and keeps the network over a
// reboot: a description that says so too finds nothing to do.
func TestAfterFlanneldHostGW(t *testing.T) {
	d := descriptions()["l2bridge"]
	d.Persistent = true
	m, p := newMachine(t, emulator.Options{}), planOf(t, d)
	post := func(kind hns.Kind, path, doc string) hns.ID {
		return m.send(hns.Request{Verb: hns.VerbCall, Kind: kind, Method: "POST", Path: path, Document: json.RawMessage(doc)})
	}
	id := post(hns.KindNetwork, "/networks/", `{"Name":"cbr0","Type":"L2Bridge","Subnets":[{"AddressPrefix":"10.244.3.0/24","GatewayAddress":"10.244.3.1"}]}`)
	ep := post(hns.KindEndpoint, "/endpoints/", fmt.Sprintf(`{"Name":"cbr0_ep","VirtualNetwork":"%s","IPAddress":"10.244.3.2"}`, id.Upper()))
	post(hns.KindEndpoint, "/endpoints/"+ep.Upper()+"/attach", `{"SystemType":"Host","CompartmentId":1}`)
	s := m.ensure(p, nil)
	if got := actionsOf(s); got != "forwarding repair" || s.Network.ID != id || s.HostEndpoint.ID != ep {
		t.Errorf("%s", stepsOf(s))
	}
	// The default route that HNS gave it is told of, and left.
	if d := s.Steps[4].Differences; len(d) != 1 || d[0].Path != "Routes[0]" || d[0].Got != "0.0.0.0/0 via 10.244.3.1" {
		t.Errorf("%v", d)
	}
	if s := m.ensure(p, &node.EnsureOptions{Drift: hns.DriftRecreate}); s.Changed() || s.HostEndpoint.ID != ep {
		t.Errorf("%s", stepsOf(s))
	}
	other := planOf(t, descriptions()["l2bridge"])
	_, err := node.Ensure(t.Context(), m.client, m.host, other, nil)
	var de *hns.DriftError
	if !errors.As(err, &de) || len(de.Differences) != 1 || de.Differences[0].Path != "Flags" {
		t.Errorf("not persistent: %v", err)
	}
}
