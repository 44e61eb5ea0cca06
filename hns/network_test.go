package hns_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
)

// fjord is an Overlay network with everything that a create can say.
func fjord() *hns.Network {
	return &hns.Network{
		ID: lake, Name: "fjord <1>", Type: hns.Overlay, Flags: hns.NetworkNonPersistent | hns.NetworkEnableMirroring,
		Policies: []hns.NetworkPolicy{hns.NetAdapterName{Name: "Ethernet"}, hns.HostRoute{}, remoteSubnet(), hns.VXLANPort{Port: 4789}},
		IPAMs: []hns.IPAM{{Type: "Static", Subnets: []hns.Subnet{{
			Prefix: prefix("10.60.4.0/24"), Routes: []hns.Route{hns.DefaultRoute(addr("10.60.4.1"))},
			Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 4096}}, Flags: 1,
		}}}},
		MACPool: []hns.MACRange{{Start: mustMAC("00-15-5D-52-C0-00"), End: mustMAC("00-15-5D-52-CF-FF")}},
		DNS:     hns.DNS{Domain: "cluster.local", Search: []string{"svc.cluster.local"}, ServerList: []string{"10.96.0.10"}, Options: []string{"ndots:5"}},
	}
}

// A network as HNS sends it; what it is asked comes back in its own words.
func TestNetworkAccessors(t *testing.T) {
	n, err := hns.DecodeNetwork([]byte(`{"Type":"Overlay","Policies":[
		{"Type":"HostRoute"},{"Type":"DrMacAddress","Settings":{"Address":"00-15-5D-10-B8-EF"}},
		{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.10"}}],
		"Ipams":[{"Type":"Static","Subnets":[
			{"ID":"4D000000-0000-4000-8000-000000000001","IpAddressPrefix":"10.60.4.0/24","Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}],
			 "Routes":[{"NextHop":"10.60.4.9","DestinationPrefix":"10.96.0.0/12"},{"NextHop":"10.60.4.1","DestinationPrefix":"0.0.0.0/0"}]}]},
		  {"Subnets":[{"IpAddressPrefix":"fd00:60:4::/64","Routes":[{"NextHop":"::","DestinationPrefix":"::/0"}]},{}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	subnets := n.Subnets()
	if len(subnets) != 3 {
		t.Fatalf("subnets %v", subnets)
	}
	v4, v6, none := subnets[0], subnets[1], subnets[2]
	same(t, "ids", []hns.ID{mustID("4d000000-0000-4000-8000-000000000001"), {}}, []hns.ID{v4.ID, v6.ID})
	same(t, "gateways", []netip.Addr{addr("10.60.4.1"), {}, {}}, []netip.Addr{v4.Gateway(), v6.Gateway(), none.Gateway()})
	same(t, "VNIs", []uint32{4096, 0}, []uint32{v4.VSID(), v6.VSID()})
	same(t, "provider address", addr("192.0.2.10"), n.ProviderAddress())
	same(t, "DR MAC", mustMAC("00-15-5D-10-B8-EF"), n.DRMAC())
	for a, want := range map[string]netip.Prefix{"10.60.4.255": v4.Prefix, "fd00:60:4::7": v6.Prefix, "10.60.5.1": {}, "::ffff:10.60.4.1": {}} {
		s, ok := n.SubnetOf(addr(a))
		if s.Prefix != want || ok != want.IsValid() {
			t.Errorf("SubnetOf(%s) = %s, %v", a, s.Prefix, ok)
		}
	}
	if _, ok := n.SubnetOf(netip.Addr{}); ok {
		t.Error("a subnet holds no address")
	}
	var zero hns.Network
	if zero.ProviderAddress().IsValid() || !zero.DRMAC().IsZero() || zero.Subnets() != nil {
		t.Error("a network without policies has addresses")
	}
}

// What is written reads back the same.
func TestNetworkRoundTrip(t *testing.T) {
	want := fjord()
	doc, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := hns.DecodeNetwork(doc)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "network", want, got, cmpopts.IgnoreFields(hns.Network{}, "Document"))
	same(t, "unread", nil, got.Document.Unread)
}

func TestNetworkRules(t *testing.T) {
	subnet := func(change func(*hns.Subnet)) func(*hns.Network) {
		return func(n *hns.Network) { change(&n.IPAMs[0].Subnets[0]) }
	}
	route := func(change func(*hns.Route)) func(*hns.Network) {
		return subnet(func(s *hns.Subnet) { change(&s.Routes[0]) })
	}
	checkRules(t, fjord, createNetwork, []ruleCase[hns.Network]{
		{"as it is", func(*hns.Network) {}, nil},
		{"policies that HNS fills", func(n *hns.Network) {
			n.Policies = []hns.NetworkPolicy{hns.ProviderAddress{Address: addr("192.0.2.10")}, hns.DRMACAddress{Address: mustMAC("00-15-5D-10-B8-EF")}}
		}, nil},
		{"no name", func(n *hns.Network) { n.Name = "" }, []string{"Name |  | network-name"}},
		{"no type", func(n *hns.Network) { n.Type = "" }, []string{"Type |  | network-type"}},
		// The plugin's name was taken for the type (microsoft/SDN#238).
		{"strange type", func(n *hns.Network) { n.Type = "wincni.exe" }, []string{"Type | wincni.exe | network-type"}},
		{"ipam type", func(n *hns.Network) { n.IPAMs[0].Type = "host-local" }, []string{"Ipams[0].Type | host-local | ipam-type"}},
		{"no prefix", subnet(func(s *hns.Subnet) { s.Prefix = netip.Prefix{} }), []string{"Ipams[0].Subnets[0].IpAddressPrefix |  | "}},
		{"host bits", subnet(func(s *hns.Subnet) { s.Prefix = prefix("10.60.4.1/24") }), []string{"Ipams[0].Subnets[0].IpAddressPrefix | 10.60.4.1/24 | host-bits"}},
		{"gateway of elsewhere", route(func(r *hns.Route) { r.NextHop = addr("10.60.5.1") }), []string{"Ipams[0].Subnets[0].Routes | 10.60.5.1 | gateway-outside"}},
		{"no next hop", route(func(r *hns.Route) { r.NextHop = netip.Addr{} }), []string{"Ipams[0].Subnets[0].Routes[0].NextHop |  | "}},
		{"next hop is no gateway", route(func(r *hns.Route) { r.NextHop = addr("0.0.0.0") }), nil},
		{"next hop with a zone", route(func(r *hns.Route) { r.NextHop = addr("fe80::1%2") }), []string{"Ipams[0].Subnets[0].Routes[0].NextHop | fe80::1%2 | "}},
		{"next hop is a group", route(func(r *hns.Route) { r.NextHop = addr("239.1.1.1") }), []string{
			"Ipams[0].Subnets[0].Routes[0].NextHop | 239.1.1.1 | ", "Ipams[0].Subnets[0].Routes | 239.1.1.1 | gateway-outside"}},
		{"no destination", route(func(r *hns.Route) { r.DestinationPrefix = netip.Prefix{} }), []string{"Ipams[0].Subnets[0].Routes[0].DestinationPrefix |  | "}},
		{"two families", route(func(r *hns.Route) { r.DestinationPrefix = prefix("::/0") }), []string{"Ipams[0].Subnets[0].Routes[0].NextHop | 10.60.4.1 | "}},
		{"host bits in a route", route(func(r *hns.Route) { r.DestinationPrefix = prefix("10.96.0.1/12") }), []string{"Ipams[0].Subnets[0].Routes[0].DestinationPrefix | 10.96.0.1/12 | host-bits"}},
		{"Overlay without VNI", subnet(func(s *hns.Subnet) { s.Policies = nil }), []string{"Ipams[0].Subnets[0].Policies |  | overlay-vsid"}},
		{"VNI as a raw policy", subnet(func(s *hns.Subnet) {
			s.Policies = []hns.SubnetPolicy{hns.RawPolicy{Type: "vsid", Settings: json.RawMessage(`{"IsolationId":1}`)}}
		}), []string{"Ipams[0].Subnets[0].Policies[0].Settings.IsolationId | 1 | vni-range"}},
		{"nil subnet policy", subnet(func(s *hns.Subnet) { s.Policies = append(s.Policies, nil) }), []string{"Ipams[0].Subnets[0].Policies[1] |  | "}},
		{"only a nil subnet policy", subnet(func(s *hns.Subnet) { s.Policies = []hns.SubnetPolicy{(*hns.VSID)(nil)} }), []string{
			"Ipams[0].Subnets[0].Policies[0] |  | ", "Ipams[0].Subnets[0].Policies |  | overlay-vsid"}},
		{"VLAN on a subnet", subnet(func(s *hns.Subnet) { s.Policies = append(s.Policies, hns.VLAN{}) }), []string{"Ipams[0].Subnets[0].Policies[1].Settings.IsolationId | 0 | vlan-range"}},
		{"MAC range backwards", func(n *hns.Network) { n.MACPool[0].Start, n.MACPool[0].End = n.MACPool[0].End, n.MACPool[0].Start }, []string{
			"MacPool.Ranges[0] | 00-15-5D-52-CF-FF..00-15-5D-52-C0-00 | "}},
		{"MAC range of one", func(n *hns.Network) { n.MACPool[0].End = n.MACPool[0].Start }, nil},
		{"MAC range from nothing", func(n *hns.Network) { n.MACPool[0].Start = hns.MAC{} }, []string{"MacPool.Ranges[0] | ..00-15-5D-52-CF-FF | "}},
		{"name servers", func(n *hns.Network) { n.DNS.ServerList = []string{"10.0.0.1,10.0.0.2", "10.0.0.1"} }, []string{"Dns.ServerList[0] | 10.0.0.1,10.0.0.2 | dns-server"}},
		{"empty suffix", func(n *hns.Network) { n.DNS.Search = []string{""} }, []string{"Dns.Search[0] |  | dns-search"}},
		{"network policies", func(n *hns.Network) {
			n.Policies = []hns.NetworkPolicy{hns.NetAdapterName{}, hns.ProviderAddress{}, hns.DRMACAddress{}, hns.HostRoute{}, hns.RemoteSubnetRoute{},
				nil, &hns.HostRoute{}, hns.RawPolicy{}, hns.RawPolicy{Type: "hostroute"}, hns.RawPolicy{Type: "NetAdapterName"}}
		}, []string{
			"Policies[0].Settings.NetworkAdapterName |  | ", "Policies[1].Settings.ProviderAddress |  | ", "Policies[2].Settings.Address |  | ",
			"Policies[4].Settings.DestinationPrefix |  | ", "Policies[4].Settings.IsolationId | 0 | vni-range", "Policies[4].Settings.ProviderAddress |  | ",
			"Policies[4].Settings.DistributedRouterMacAddress |  | ", "Policies[5] |  | ", "Policies[6] |  | ", "Policies[7].Type |  | ", "Policies[9].Settings |  | ",
		}},
	})
}

// The VNIs that Windows takes are not those of Linux, whose default is 1
// (moby/libnetwork#1843, flannel-io/flannel#1215).
func TestVNIRange(t *testing.T) {
	for vni, ok := range map[uint32]bool{0: false, 1: false, 4095: false, 4096: true, 5000: true, 65535: true, 65536: true, 16777214: true, 16777215: false} {
		n := fjord()
		n.IPAMs[0].Subnets[0].Policies = []hns.SubnetPolicy{hns.VSID{IsolationID: vni}}
		r := remoteSubnet()
		r.IsolationID = vni
		n.Policies = []hns.NetworkPolicy{r}
		err := createNetwork(t, n)
		if got := len(complaints(err)); ok && got != 0 || !ok && got != 2 {
			t.Errorf("VNI %d: %v", vni, err)
		}
	}
}

func createNetwork(t *testing.T, n *hns.Network, allow ...string) error {
	_, err := hns.New(answering(`{}`), &hns.Options{Allow: allow}).Networks.Create(t.Context(), n)
	return err
}
