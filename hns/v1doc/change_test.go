package v1doc_test

import (
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

// Whatever is changed reads back as it was changed, on any document.
func TestChangesComeBack(t *testing.T) {
	for _, doc := range split(t, "endpoints.json") {
		e := read(t, v1doc.DecodeEndpoint, doc)
		e.ID, e.Name, e.Network, e.Namespace = id("2b000000-0000-4000-8000-0000000000ff"), "new", id("1a000000-0000-4000-8000-0000000000ff"), id("3c000000-0000-4000-8000-0000000000ff")
		e.MAC, e.Flags = mac("0e-2a-00-00-00-01"), hns.EndpointRemote|hns.EndpointEnableDHCP
		e.IPConfigs = []hns.IPConfig{{Address: netip.MustParseAddr("fd00:60::9"), PrefixLength: 64}, {Address: netip.MustParseAddr("10.60.3.9"), PrefixLength: 24}}
		e.Routes = []hns.Route{hns.DefaultRoute(netip.MustParseAddr("fd00:60::99"))}
		e.DNS = hns.DNS{Domain: "example", Search: []string{"a.example", "b.example"}}
		e.Policies = []hns.EndpointPolicy{
			hns.PortMapping{Protocol: hns.UDP, InternalPort: 53, ExternalPort: 53, Flags: 5},
			hns.OutBoundNAT{VirtualIP: netip.MustParseAddr("192.0.2.44"), Exceptions: []string{"10.0.0.0/8"}},
			hns.ACL{Action: hns.ACLBlock, Direction: hns.In, Protocols: []string{"6"}, LocalPorts: []string{"80-90"}, Priority: 300},
			hns.ProviderAddress{Address: netip.MustParseAddr("192.0.2.7")},
			hns.VLAN{IsolationID: 7},
			hns.EncapOverhead{Overhead: 60},
		}
		got := read(t, v1doc.DecodeEndpoint, []byte(written(t, v1doc.EncodeEndpoint, e)))
		same(t, "policies", e.Policies, got.Policies)
		same(t, "differences", nil, hns.CompareEndpoints(e, got))
		if got.ID != e.ID || got.Namespace != e.Namespace || got.Flags != e.Flags || len(got.IPConfigs) != 2 {
			t.Errorf("became %+v", got)
		}
		if len(e.Document.Unread) == 0 { // a gateway that could not be read stays
			same(t, "routes", e.Routes, got.Routes)
		}
		same(t, "DNS", e.DNS, got.DNS)
	}
	for _, doc := range split(t, "networks.json") {
		n := read(t, v1doc.DecodeNetwork, doc)
		n.ID, n.Name, n.Flags = hns.ID{}, "new", hns.NetworkNonPersistent
		n.MACPool = []hns.MACRange{{Start: mac("00-15-5d-00-00-00"), End: mac("00-15-5d-00-00-ff")}}
		n.DNS = hns.DNS{ServerList: []string{"10.96.0.10", "10.96.0.11"}}
		n.Policies = []hns.NetworkPolicy{hns.HostRoute{}, hns.NetAdapterName{Name: "Ethernet 2"}, hns.AutomaticDNS{Enable: true}}
		n.IPAMs = []hns.IPAM{{Subnets: []hns.Subnet{
			{Prefix: netip.MustParsePrefix("10.70.3.0/24"), Routes: []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.70.3.1"))}, Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 5000}}},
			{Prefix: netip.MustParsePrefix("fd00:70::/64")},
			{Prefix: netip.MustParsePrefix("10.71.3.0/24")},
		}}}
		got := read(t, v1doc.DecodeNetwork, []byte(written(t, v1doc.EncodeNetwork, n)))
		same(t, "differences", nil, hns.CompareNetworks(n, got))
		same(t, "policies", n.Policies, got.Policies)
		if !got.ID.IsZero() || got.ProviderAddress().IsValid() || len(got.MACPool) != 1 {
			t.Errorf("became %+v", got)
		}
	}
	lb := read(t, v1doc.DecodeLoadBalancer, split(t, "policylists.json")[0])
	lb.FrontendVIPs, lb.SourceVIP, lb.Flags = []netip.Addr{netip.MustParseAddr("fd00:96::20")}, netip.Addr{}, hns.LoadBalancerIPv6
	lb.PortMappings = lb.PortMappings[1:]
	got := read(t, v1doc.DecodeLoadBalancer, []byte(written(t, v1doc.EncodeLoadBalancer, lb)))
	got.Document, lb.Document = hns.Document{}, hns.Document{}
	same(t, "load balancer", lb, got)

	r := read(t, v1doc.DecodeRoute, split(t, "policylists.json")[1])
	r.Routes[0].NextHop = netip.Addr{}
	again := read(t, v1doc.DecodeRoute, []byte(written(t, v1doc.EncodeRoute, r)))
	same(t, "routes", r.Routes, again.Routes)

	ns := read(t, v1doc.DecodeNamespace, split(t, "namespaces.json")[1])
	ns.NamespaceID, ns.Type = 9, hns.NamespaceHost
	nsAgain := read(t, v1doc.DecodeNamespace, []byte(written(t, v1doc.EncodeNamespace, ns)))
	if nsAgain.NamespaceID != 9 || nsAgain.Type != hns.NamespaceHost {
		t.Errorf("became %+v", nsAgain)
	}
}
