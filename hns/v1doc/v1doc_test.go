package v1doc_test

import (
	"encoding/json"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

func split(t testing.TB, file string) []json.RawMessage {
	t.Helper()
	dump, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := v1doc.Split(dump)
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func read[T any](t testing.TB, decode func([]byte) (*T, error), doc []byte) *T {
	t.Helper()
	obj, err := decode(doc)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func written[T any](t testing.TB, encode func(*T) (json.RawMessage, error), obj *T) string {
	t.Helper()
	doc, err := encode(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	addrs := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, got, addrs, prefixes); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func id(s string) hns.ID {
	out, err := hns.ParseID(s)
	if err != nil {
		panic(err)
	}
	return out
}

func mac(s string) hns.MAC {
	out, err := hns.ParseMAC(s)
	if err != nil {
		panic(err)
	}
	return out
}

// A dump that is read and written again is the same, whatever it holds.
func TestRoundTrip(t *testing.T) {
	again := func(doc json.RawMessage, file string) (json.RawMessage, error) {
		switch file {
		case "networks.json":
			return v1doc.EncodeNetwork(read(t, v1doc.DecodeNetwork, doc))
		case "endpoints.json":
			return v1doc.EncodeEndpoint(read(t, v1doc.DecodeEndpoint, doc))
		case "namespaces.json":
			return v1doc.EncodeNamespace(read(t, v1doc.DecodeNamespace, doc))
		}
		if v1doc.IsRoute(doc) {
			return v1doc.EncodeRoute(read(t, v1doc.DecodeRoute, doc))
		}
		return v1doc.EncodeLoadBalancer(read(t, v1doc.DecodeLoadBalancer, doc))
	}
	for file, want := range map[string]int{"networks.json": 3, "endpoints.json": 3, "namespaces.json": 2, "policylists.json": 2} {
		docs := split(t, file)
		if len(docs) != want {
			t.Errorf("%s: %d documents", file, len(docs))
		}
		for _, doc := range docs {
			got, err := again(doc, file)
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			same(t, file, string(doc), string(got))
		}
	}
}

func TestDecodeNetwork(t *testing.T) {
	docs := split(t, "networks.json")
	nat, overlay, bridge := read(t, v1doc.DecodeNetwork, docs[0]), read(t, v1doc.DecodeNetwork, docs[1]), read(t, v1doc.DecodeNetwork, docs[2])

	if nat.Type != hns.NAT || nat.Name != "nat" || nat.ID != id("1a000000-0000-4000-8000-000000000010") || len(nat.Document.Unread) != 0 {
		t.Errorf("read %+v", nat)
	}
	same(t, "pool", []hns.MACRange{{Start: mac("00-15-5D-5A-70-00"), End: mac("00-15-5D-5A-7F-FF")}}, nat.MACPool)
	s := nat.Subnets()[0]
	if s.Prefix != netip.MustParsePrefix("172.27.144.0/20") || s.Gateway() != netip.MustParseAddr("172.27.144.1") {
		t.Errorf("subnet %+v", s)
	}

	if overlay.Type != hns.Overlay || overlay.ProviderAddress() != netip.MustParseAddr("192.0.2.10") || overlay.DRMAC() != mac("00-15-5D-C1-02-03") || overlay.Subnets()[0].VSID() != 4096 || len(overlay.MACPool) != 1 {
		t.Errorf("read %+v", overlay)
	}
	same(t, "DNS", hns.DNS{Search: []string{"svc.cluster.local", "cluster.local"}, ServerList: []string{"10.96.0.10", "10.96.0.11"}}, overlay.DNS)
	same(t, "policies", []hns.NetworkPolicy{
		hns.HostRoute{},
		hns.RemoteSubnetRoute{DestinationPrefix: netip.MustParsePrefix("10.60.7.0/24"), IsolationID: 4096, ProviderAddress: netip.MustParseAddr("192.0.2.7"), DistributedRouterMAC: mac("4e-0a-00-00-00-07")},
		hns.RawPolicy{Type: "Novelty", Settings: []byte(`{"Color":"blue"}`)},
		hns.NetAdapterName{Name: "Ethernet"},
		hns.DRMACAddress{Address: mac("00-15-5D-C1-02-03")},
		hns.ProviderAddress{Address: netip.MustParseAddr("192.0.2.10")},
	}, overlay.Policies)

	long := read(t, v1doc.DecodeNetwork, []byte(`{"Type":"overlay","ManagementIP":"192.0.2.10/24"}`))
	if long.ProviderAddress() != netip.MustParseAddr("192.0.2.10") {
		t.Errorf("read %+v", long)
	}

	if bridge.Type != hns.L2Bridge || len(bridge.Policies) != 0 || bridge.Subnets()[1].Gateway() != netip.MustParseAddr("fd00:10:50::1") {
		t.Errorf("read %+v", bridge)
	}
	if u := bridge.Document.Unread; len(u) != 1 || u[0].Path != "Ipams[0].Subnets[0].Routes[0].NextHop" {
		t.Errorf("unread %v", u)
	}
}

func TestDecodeEndpoint(t *testing.T) {
	docs := split(t, "endpoints.json")
	e := read(t, v1doc.DecodeEndpoint, docs[0])
	if e.Network != id("1a000000-0000-4000-8000-000000000020") || e.Namespace != id("3c000000-0000-4000-8000-000000000001") || e.State != hns.EndpointAttachedSharing || e.MAC != mac("0e-2a-0a-3c-03-07") || len(e.Document.Unread) != 0 {
		t.Errorf("read %+v", e)
	}
	same(t, "addresses", []hns.IPConfig{
		{Address: netip.MustParseAddr("10.60.3.7"), PrefixLength: 24, IPSubnet: id("1a000000-0000-4000-8000-000000000021")},
		{Address: netip.MustParseAddr("fd00:60::7"), PrefixLength: 64},
	}, e.IPConfigs)
	same(t, "routes", []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.60.3.1")), hns.DefaultRoute(netip.MustParseAddr("fd00:60::1"))}, e.Routes)
	same(t, "NAT", []hns.OutBoundNAT{{Exceptions: []string{"10.60.0.0/16", "10.96.0.0/12"}}}, hns.PoliciesOf[hns.OutBoundNAT](e.Policies))
	same(t, "routes", []hns.SDNRoute{{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true}}, hns.PoliciesOf[hns.SDNRoute](e.Policies))
	same(t, "PA", []hns.ProviderAddress{{Address: netip.MustParseAddr("192.0.2.10")}}, hns.PoliciesOf[hns.ProviderAddress](e.Policies))
	same(t, "overhead", []hns.EncapOverhead{{Overhead: 50}}, hns.PoliciesOf[hns.EncapOverhead](e.Policies))
	// NAT is the name in schema 1 alone (microsoft/Windows-Containers#360), and
	// ExceptionList above, which schema 2 passes over (projectcalico/cni-plugin#1067).
	same(t, "ports", []hns.PortMapping{{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8081, Flags: 4}}, hns.PoliciesOf[hns.PortMapping](e.Policies))
	acl := hns.PoliciesOf[hns.ACL](e.Policies)
	if len(acl) != 2 || acl[0].Protocols[0] != "256" || acl[0].LocalPorts[0] != "80" || acl[0].Priority != 65500 || acl[1].Protocols[0] != "6" {
		t.Errorf("ACLs %+v", acl)
	}

	remote := read(t, v1doc.DecodeEndpoint, docs[1])
	if want := hns.EndpointRemote | hns.EndpointDisableICC | hns.EndpointLowInterfaceMetric | hns.EndpointOverrideDNSServerOrder; remote.Flags != want || len(remote.Policies) != 1 {
		t.Errorf("read %+v", remote)
	}

	broken := read(t, v1doc.DecodeEndpoint, docs[2])
	var paths []string
	for _, u := range broken.Document.Unread {
		paths = append(paths, u.Path)
	}
	for _, p := range []string{"Routes[0].NextHop", "IpConfigurations[0].IpAddress", "Policies[0]", "Policies[1]"} {
		if !strings.Contains(strings.Join(paths, " "), p) {
			t.Errorf("%s is not among what was not read: %v", p, paths)
		}
	}
	if broken.Name != "broken" {
		t.Errorf("read %+v", broken)
	}
}

func TestDecodeOthers(t *testing.T) {
	docs := split(t, "namespaces.json")
	ns := read(t, v1doc.DecodeNamespace, docs[0])
	if ns.Type != hns.NamespaceHost || ns.NamespaceID != 4 || ns.Endpoints()[0] != id("2b000000-0000-4000-8000-0000000000ab") || len(ns.Resources) != 3 {
		t.Errorf("read %+v", ns)
	}
	if host := read(t, v1doc.DecodeNamespace, docs[1]); host.Type != hns.NamespaceHostDefault || host.NamespaceID != 1 {
		t.Errorf("read %+v", host)
	}

	docs = split(t, "policylists.json")
	lb := read(t, v1doc.DecodeLoadBalancer, docs[0])
	lb.Document = hns.Document{}
	same(t, "load balancer", &hns.LoadBalancer{
		ID: id("6f000000-0000-4000-8000-000000000001"), Network: id("1a000000-0000-4000-8000-000000000020"),
		Endpoints: []hns.ID{id("2b000000-0000-4000-8000-0000000000ab"), id("2b000000-0000-4000-8000-0000000000ac")},
		SourceVIP: netip.MustParseAddr("10.60.3.250"), FrontendVIPs: []netip.Addr{netip.MustParseAddr("10.96.0.20")}, Flags: hns.LoadBalancerDSR,
		PortMappings: []hns.LoadBalancerPortMapping{
			{Protocol: hns.TCP, InternalPort: 8443, ExternalPort: 443, Flags: hns.LoadBalancerInternal},
			{Protocol: hns.UDP, InternalPort: 53, ExternalPort: 53}},
	}, lb)
	if v1doc.IsRoute(docs[0]) || !v1doc.IsRoute(docs[1]) || v1doc.IsRoute([]byte("7")) {
		t.Error("routes are not told from load balancers")
	}
	r := read(t, v1doc.DecodeRoute, docs[1])
	same(t, "routes", []hns.SDNRoute{{DestinationPrefix: netip.MustParsePrefix("169.254.169.254/32"), NextHop: netip.MustParseAddr("127.10.0.33"), NeedEncap: true}}, r.Routes)

	mixed := read(t, v1doc.DecodeLoadBalancer, []byte(`{"References":[],"Policies":[{"Type":"ELB","SourceVIP":"10.0.0.1"},{"Type":"ELB","SourceVIP":"10.0.0.2"},{"Type":"ROUTE"},4]}`))
	var paths []string
	for _, u := range mixed.Document.Unread {
		paths = append(paths, u.Path)
	}
	same(t, "unread", []string{"Policies[1].SourceVIP", "Policies[2]", "Policies[3]"}, paths)
}

// Only what was changed is written anew.
func TestEncodeKeepsTheRest(t *testing.T) {
	n := read(t, v1doc.DecodeNetwork, split(t, "networks.json")[1])
	n.DNS.Search = nil
	n.DNS.ServerList = []string{"10.96.0.99"}
	n.Policies[2], n.Policies[1] = n.Policies[1], n.Policies[2]
	n.IPAMs[0].Subnets[0].Policies = []hns.SubnetPolicy{hns.VSID{IsolationID: 5000}}
	var got map[string]any
	if err := json.Unmarshal([]byte(written(t, v1doc.EncodeNetwork, n)), &got); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(split(t, "networks.json")[1], &want); err != nil {
		t.Fatal(err)
	}
	delete(want, "DNSSuffix")
	want["DNSServerList"] = "10.96.0.99"
	ps := want["Policies"].([]any)
	ps[1], ps[2] = ps[2], ps[1]
	want["Subnets"].([]any)[0].(map[string]any)["Policies"].([]any)[0].(map[string]any)["VSID"] = 5000.0
	same(t, "document", want, got)

	// A change in a subnet leaves its other members, and the pool that
	// PowerShell wrote without its list.
	nat := read(t, v1doc.DecodeNetwork, split(t, "networks.json")[0])
	nat.IPAMs[0].Subnets[0].Routes = []hns.Route{hns.DefaultRoute(netip.MustParseAddr("172.27.144.9"))}
	doc := written(t, v1doc.EncodeNetwork, nat)
	for _, part := range []string{`"ObjectType":5`, `"GatewayAddress":"172.27.144.9"`, `"LastUpdateTime": 133511593158285187`} {
		if !strings.Contains(doc, part) && !strings.Contains(strings.ReplaceAll(doc, ": ", ":"), strings.ReplaceAll(part, ": ", ":")) {
			t.Errorf("no %s in %s", part, doc)
		}
	}

	lb := read(t, v1doc.DecodeLoadBalancer, split(t, "policylists.json")[0])
	lb.Endpoints = []hns.ID{lb.Endpoints[1], id("2b000000-0000-4000-8000-0000000000ad")}
	doc = written(t, v1doc.EncodeLoadBalancer, lb)
	if !strings.Contains(doc, `["/endpoints/2b000000-0000-4000-8000-0000000000ac","/endpoints/2b000000-0000-4000-8000-0000000000ad"]`) || !strings.Contains(doc, `"IsApplied"`) {
		t.Errorf("wrote %s", doc)
	}
}

// What schema 1 has no place for is named.
func TestEncodeRefuses(t *testing.T) {
	v6 := netip.MustParseAddr("fd00::7")
	tests := []struct {
		name  string
		err   func() error
		paths []string
	}{
		{"endpoint", func() error {
			_, err := v1doc.EncodeEndpoint(&hns.Endpoint{
				IPConfigs: []hns.IPConfig{{Address: v6}, {Address: netip.MustParseAddr("fd00::8")}},
				Routes:    []hns.Route{{NextHop: v6, DestinationPrefix: netip.MustParsePrefix("fd01::/64")}},
				DNS:       hns.DNS{Options: []string{"ndots:5"}, Search: []string{"a,b"}},
				Policies:  []hns.EndpointPolicy{hns.RawPolicy{Type: "QOS", Settings: []byte("[1]")}, hns.RawPolicy{Type: "Odd"}},
			})
			return err
		}, []string{"IpConfigurations[1]", "Routes[0]", "Dns.Search[0]", "Dns.Options", "Policies[0].Settings", "Policies[1]"}},
		{"network", func() error {
			_, err := v1doc.EncodeNetwork(&hns.Network{IPAMs: []hns.IPAM{{Type: "DHCP", Subnets: []hns.Subnet{{IPSubnets: []hns.IPSubnet{{}}, Routes: []hns.Route{
				{NextHop: v6, DestinationPrefix: netip.MustParsePrefix("fd01::/64")},
				{NextHop: v6, DestinationPrefix: netip.MustParsePrefix("::/0"), Metric: 5},
			}}}}}})
			return err
		}, []string{"Ipams[0].Type", "Ipams[0].Subnets[0].Routes[0]", "Ipams[0].Subnets[0].Routes[1].Metric"}},
		{"namespace", func() error { _, err := v1doc.EncodeNamespace(&hns.Namespace{Type: hns.NamespaceGuest}); return err }, []string{"Type"}},
		{"load balancer", func() error {
			_, err := v1doc.EncodeLoadBalancer(&hns.LoadBalancer{Flags: hns.LoadBalancerIPv6, PortMappings: []hns.LoadBalancerPortMapping{
				{Distribution: hns.DistributePerClient, Flags: hns.LoadBalancerPreserveDIP}}})
			return err
		}, []string{"Flags", "PortMappings[0].Flags", "PortMappings[0].DistributionType"}},
		{"load balancer without ports", func() error {
			_, err := v1doc.EncodeLoadBalancer(&hns.LoadBalancer{Endpoints: []hns.ID{{1}}, FrontendVIPs: []netip.Addr{v6, netip.MustParseAddr("10.96.0.1")},
				SourceVIP: v6, Flags: hns.LoadBalancerDSR})
			return err
		}, []string{"FrontendVIPs[0]", "FrontendVIPs[1]", "SourceVIP", "Flags"}},
		{"nil", func() error { _, err := v1doc.EncodeRoute(nil); return err }, []string{""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var paths []string
			for _, e := range hns.FieldErrors(tt.err()) {
				paths = append(paths, e.Path)
			}
			same(t, "complaints", tt.paths, paths)
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, doc := range []string{"", "null", "[]", "7", `{"a":`} {
		if _, err := v1doc.DecodeNetwork([]byte(doc)); err == nil {
			t.Errorf("%q was read", doc)
		}
		if _, err := v1doc.DecodeRoute([]byte(doc)); err == nil {
			t.Errorf("%q was read as a route", doc)
		}
	}
}
