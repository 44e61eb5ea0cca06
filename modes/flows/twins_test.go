package flows_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// TestTwins: what two objects claim is not judged, and no order of documents
// decides it.
func TestTwins(t *testing.T) {
	toWeb1 := flows.Packet{From: client, To: flows.Target{Address: web1}, DstPort: 80}
	toWeb2 := flows.Packet{From: client, To: flows.Target{Address: web2}, DstPort: 80}
	both, overlay := []modes.Mode{modes.L2Bridge, modes.Overlay}, []modes.Mode{modes.Overlay}
	cases := []struct {
		name   string
		change func(*flows.State)
		packet flows.Packet
		names  string
		modes  []modes.Mode
	}{
		{"two endpoints of one address", func(s *flows.State) {
			i := slices.IndexFunc(s.Endpoints, func(e *hns.Endpoint) bool { return slices.Contains(e.Addresses(), web1) })
			e := *s.Endpoints[i]
			e.ID, e.Name = hns.ID{5}, "twin_x"
			s.Endpoints = append(s.Endpoints, &e)
		}, toWeb1, "has an address of its", both},
		{"two load balancers of one address and port", func(s *flows.State) {
			i := slices.IndexFunc(s.LoadBalancers, func(l *hns.LoadBalancer) bool { return slices.Contains(l.FrontendVIPs, mixedcluster.WebVIP) })
			l := *s.LoadBalancers[i]
			l.ID, l.Endpoints = hns.ID{6}, l.Endpoints[:1]
			s.LoadBalancers = append(s.LoadBalancers, &l)
		}, webService(netip.Addr{}), "for the same address and port", both},
		{"two endpoints that publish one port", func(s *flows.State) {
			for _, e := range s.Endpoints {
				if !e.Namespace.IsZero() {
					e.Policies = append(slices.Clone(e.Policies), hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088})
				}
			}
		}, flows.Packet{From: www, To: flows.Target{Address: win1}, DstPort: 8088}, "published the same port", both},
		{"two remote subnet routes of one prefix", func(s *flows.State) {
			s.Endpoints = slices.DeleteFunc(s.Endpoints, func(e *hns.Endpoint) bool { return e.Flags&hns.EndpointRemote != 0 })
			s.LoadBalancers = nil
			s.Networks[0].Policies = append(s.Networks[0].Policies, hns.RemoteSubnetRoute{DestinationPrefix: netip.MustParsePrefix("10.244.2.0/24"), IsolationID: 4096,
				ProviderAddress: netip.MustParseAddr("192.0.2.12"), DistributedRouterMAC: hns.MAC{1, 2, 3, 4, 5, 6}})
		}, toWeb2, "another for the same prefix", overlay},
		{"two remote endpoints of one address", func(s *flows.State) {
			i := slices.IndexFunc(s.Endpoints, func(e *hns.Endpoint) bool { return slices.Contains(e.Addresses(), web2) })
			e := *s.Endpoints[i]
			e.ID, e.MAC = hns.ID{0xff}, hns.MAC{1, 2, 3, 4, 5, 6}
			s.Endpoints = append(s.Endpoints, &e)
		}, toWeb2, "leads elsewhere", overlay},
	}
	for _, k := range cases {
		for _, m := range k.modes {
			t.Run(string(m)+"/"+k.name, func(t *testing.T) {
				c := cluster(t, m)
				s := nodeOf(t, c, mixedcluster.Win1).Windows.HNS
				k.change(s)
				first := world(t, c).Trace(k.packet)
				if first.Outcome != flows.Unjudged && first.Works() || !strings.Contains(first.Text(), k.names) {
					t.Errorf("no step says %q:\n%s", k.names, first)
				}
				slices.Reverse(s.Endpoints)
				slices.Reverse(s.LoadBalancers)
				slices.Reverse(s.Networks)
				if again := world(t, c).Trace(k.packet); again.Text() != first.Text() {
					t.Errorf("the other way round:\n%s\n%s", first, again)
				}
			})
		}
	}
}
