package flows_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// nodePort publishes a backend of win-1's HNS on TCP port 30080 of the node, as
// kube-proxy does.
func nodePort(t testing.TB, c *flows.Cluster, m modes.Mode, backend netip.Addr, flags hns.LoadBalancerFlags) {
	t.Helper()
	s := nodeOf(t, c, mixedcluster.Win1).Windows.HNS
	i := slices.IndexFunc(s.Endpoints, func(e *hns.Endpoint) bool { return slices.Contains(e.Addresses(), backend) })
	l := &hns.LoadBalancer{ID: hns.ID{7}, Endpoints: []hns.ID{s.Endpoints[i].ID}, Flags: flags,
		PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, ExternalPort: 30080, InternalPort: 8080, Flags: hns.LoadBalancerLocalRoutedVIP}}}
	if m == modes.Overlay {
		l.SourceVIP = netip.MustParseAddr("10.244.1.254")
	}
	s.LoadBalancers = append(s.LoadBalancers, l)
}

// everybody can ask for what a node publishes.
var everybody = []flows.Place{www, {Node: mixedcluster.Win1}, {Node: mixedcluster.Win2}, {Node: mixedcluster.Lin1}, client, {Pod: mixedcluster.Web2}, {Pod: mixedcluster.Web3}}

// TestNodePorts: everybody reaches a node port, whatever node the backend is
// on, and gets an answer from the node's address.
func TestNodePorts(t *testing.T) {
	for _, m := range []modes.Mode{modes.L2Bridge, modes.L2Tunnel, modes.Overlay} {
		for _, pod := range []string{mixedcluster.Web1, mixedcluster.Web2, mixedcluster.Web3} {
			for _, flags := range []hns.LoadBalancerFlags{0, hns.LoadBalancerDSR} {
				c := cluster(t, m)
				nodePort(t, c, m, mixedcluster.PodAddress(pod), flags)
				w := world(t, c)
				for _, from := range everybody {
					what := fmt.Sprintf("%s, backend %s, flags %d, from %s", m, pod, flags, from)
					tr := w.Trace(flows.Packet{From: from, To: flows.Target{Address: win1}, DstPort: 30080})
					if err := checkTrace(tr); err != nil {
						t.Errorf("%s: %v", what, err)
					}
					if away := flags == hns.LoadBalancerDSR && pod != mixedcluster.Web1 && from != client; away {
						// The backend answers from its own address.
						if tr.Works() || tr.Diagnosis.Reason != flows.ReplyNotTranslated || tr.Diagnosis.Object.Detail != "DSR" {
							t.Errorf("%s:\n%s", what, tr)
						}
						continue
					}
					answeredFrom(t, what, tr, "192.0.2.11:30080")
				}
			}
		}
	}
}

// answeredFrom wants a packet that works, and the answer to come from a socket.
func answeredFrom(t *testing.T, what string, tr *flows.Trace, from string) {
	t.Helper()
	last := tr.Steps[len(tr.Steps)-1]
	if got := netip.AddrPortFrom(last.After.Src, last.After.SrcPort).String(); !tr.Works() || tr.Diagnosis != nil || tr.Outcome != flows.Arrived || got != from {
		t.Errorf("%s: answered from %s, want %s\n%s", what, got, from, tr)
	}
}

// TestHostPorts: everybody reaches a published port of a pod.
func TestHostPorts(t *testing.T) {
	for _, m := range []modes.Mode{modes.L2Bridge, modes.L2Tunnel, modes.Overlay, modes.NAT} {
		c := cluster(t, m)
		add(mixedcluster.Web1, hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088, Flags: hns.NATLocalRoutedVIP})(t, c)
		w := world(t, c)
		for _, from := range append([]flows.Place{{Pod: mixedcluster.Web1}}, everybody...) {
			if m == modes.NAT && from.Pod == mixedcluster.Web3 {
				continue // the node has no route back to pods of a Linux node
			}
			what := fmt.Sprintf("%s from %s", m, from)
			tr := w.Trace(flows.Packet{From: from, To: flows.Target{Address: win1}, DstPort: 8088})
			answeredFrom(t, what, tr, "192.0.2.11:8088")
			if !slices.ContainsFunc(tr.Steps, func(s flows.Step) bool { return s.Effect == flows.Delivered && s.After.DstPort == 80 }) {
				t.Errorf("%s did not come to the pod:\n%s", what, tr)
			}
		}
	}
}

// TestServiceOfANode: the backend of a service may be a node, as that of
// kubernetes.default is. What translates twice on the way there translates
// twice on the way back.
func TestServiceOfANode(t *testing.T) {
	vip := netip.MustParseAddr("10.96.0.1")
	for _, m := range []modes.Mode{modes.L2Bridge, modes.L2Tunnel, modes.Overlay} {
		for _, backend := range []string{"192.0.2.21", "192.0.2.12", "192.0.2.11"} {
			for _, flags := range []hns.LoadBalancerFlags{0, hns.LoadBalancerDSR} {
				c := cluster(t, m)
				s := nodeOf(t, c, mixedcluster.Win1).Windows.HNS
				e := &hns.Endpoint{ID: hns.ID{9}, Name: "Ethernet", Network: s.Networks[0].ID, Flags: hns.EndpointRemote, MAC: hns.MAC{2, 0x11, 192, 0, 2, 21},
					IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr(backend)}}}
				l := &hns.LoadBalancer{ID: hns.ID{8}, Endpoints: []hns.ID{e.ID}, FrontendVIPs: []netip.Addr{vip}, Flags: flags,
					PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, ExternalPort: 443, InternalPort: 6443}}}
				if m == modes.Overlay {
					e.Policies = []hns.EndpointPolicy{hns.ProviderAddress{Address: win1}}
					l.SourceVIP = netip.MustParseAddr("10.244.1.254")
				}
				s.Endpoints, s.LoadBalancers = append(s.Endpoints, e), append(s.LoadBalancers, l)
				c.Services = append(c.Services, flows.Service{Name: "kubernetes", FQDN: "kubernetes.default.svc.cluster.local", Addresses: []netip.Addr{vip},
					Ports: []flows.ServicePort{{Protocol: hns.TCP, Port: 443, Target: 6443}}, Backends: []netip.Addr{netip.MustParseAddr(backend)}})
				w := world(t, c)
				for _, from := range []flows.Place{client, {Pod: mixedcluster.Web3}} {
					tr := w.Trace(flows.Packet{From: from, To: flows.Target{Address: vip}, DstPort: 443})
					answeredFrom(t, fmt.Sprintf("%s, backend %s, flags %d, from %s", m, backend, flags, from), tr, "10.96.0.1:443")
				}
			}
		}
	}
}
