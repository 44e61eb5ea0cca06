package modes_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
)

// profiles are the HNS versions of the Windows releases in use.
var profiles = []hns.Version{
	emulator.WindowsServer2019RTM, emulator.WindowsServer2019KB4489899, emulator.WindowsServer2019, emulator.Windows20H2,
	emulator.WindowsServer2022, emulator.WindowsServer2025, emulator.WindowsServer2025Serviced,
}

// intents are networks of every mode, with pods on them.
var intents = []struct {
	name string
	in   modes.NetworkIntent
	pods []modes.PodIntent
}{
	{"L2Bridge", modes.NetworkIntent{Mode: modes.L2Bridge, Subnets: prefixes("10.50.3.0/24"), Adapter: "Ethernet", VLAN: 7, AutomaticDNS: true},
		[]modes.PodIntent{{Addresses: prefixes("10.50.3.7/24"), NAT: &modes.NATIntent{Exceptions: prefixes("10.50.0.0/16")}}, {}, {LoopbackDSR: true, Addresses: prefixes("10.50.3.9/24")}}},
	{"L2Bridge dual stack", modes.NetworkIntent{Mode: modes.L2Bridge, Subnets: prefixes("10.50.3.0/24", "fd00:50:3::/64")},
		[]modes.PodIntent{{Addresses: prefixes("10.50.3.7/24", "fd00:50:3::7/64"), NAT: &modes.NATIntent{Exceptions: prefixes("10.50.0.0/16", "fd00:50::/48")}}, {}}},
	{"L2Tunnel", modes.NetworkIntent{Mode: modes.L2Tunnel, Subnets: prefixes("10.80.0.0/24"), ProviderAddress: addr("192.0.2.10")},
		[]modes.PodIntent{{Addresses: prefixes("10.80.0.7/24"), NAT: &modes.NATIntent{}}}},
	{"L2Tunnel dual stack", modes.NetworkIntent{Mode: modes.L2Tunnel, Subnets: prefixes("10.80.0.0/24", "fd00:80::/64")},
		[]modes.PodIntent{{Addresses: prefixes("10.80.0.7/24", "fd00:80::7/64")}}},
	{"Overlay", modes.NetworkIntent{Mode: modes.Overlay, Subnets: prefixes("10.60.4.0/24"), Adapter: "Ethernet", AutomaticDNS: true},
		[]modes.PodIntent{{Addresses: prefixes("10.60.4.7/24"), NAT: &modes.NATIntent{Exceptions: prefixes("10.60.0.0/16")}}, {}}},
	{"Overlay by port", modes.NetworkIntent{Mode: modes.Overlay, Subnets: prefixes("10.60.4.0/24"), VNI: 69632, VXLANPort: 8472}, []modes.PodIntent{{}}},
	{"Transparent", modes.NetworkIntent{Mode: modes.Transparent, Subnets: prefixes("198.51.100.0/24"), Adapter: "Ethernet", SourceMAC: hns.MAC{2, 0x11, 1}},
		[]modes.PodIntent{{Addresses: prefixes("198.51.100.77/24")}, {}}},
	{"Transparent dual stack", modes.NetworkIntent{Mode: modes.Transparent, Subnets: prefixes("198.51.100.0/24", "2001:db8:2::/64")},
		[]modes.PodIntent{{Addresses: prefixes("198.51.100.77/24", "2001:db8:2::77/64")}}},
	{"Transparent by DHCP", modes.NetworkIntent{Mode: modes.Transparent}, []modes.PodIntent{{}}},
	{"Transparent, accelerated", modes.NetworkIntent{Mode: modes.Transparent, Flags: hns.NetworkDisableHostPort | hns.NetworkEnableIOV}, []modes.PodIntent{{}}},
	{"NAT", modes.NetworkIntent{Mode: modes.NAT, Subnets: prefixes("172.30.0.0/20"), Gateways: addrs("172.30.15.1")},
		[]modes.PodIntent{{Addresses: prefixes("172.30.0.1/20"), Policies: []hns.EndpointPolicy{hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088}}}, {}}},
	{"NAT, HNS chooses", modes.NetworkIntent{Mode: modes.NAT, Flags: hns.NetworkEnableDNSProxy}, []modes.PodIntent{{}, {NAT: &modes.NATIntent{}}}},
}

// TestPlansAgainstTheEmulator makes the networks, host endpoints and pods of
// every mode on every version. Where a requirement is met, HNS takes the
// document; dual stack, which the client does not gate, is refused by HNS where
// it is not.
func TestPlansAgainstTheEmulator(t *testing.T) {
	for _, v := range profiles {
		for _, tt := range intents {
			t.Run(fmt.Sprintf("%s on HNS %s", tt.name, v), func(t *testing.T) {
				c := hns.New(emulator.New(&emulator.Options{Version: v}), nil)
				n := makeNetwork(t, c, v, tt.in)
				if n == nil {
					return
				}
				if n.Type == hns.L2Bridge {
					host, err := modes.PlanHostEndpoint(n)
					if err != nil {
						t.Fatal(err)
					}
					made := makeEndpoint(t, c, v, modes.L2Bridge, host)
					wantClean(t, modes.CheckEndpoint(n, made))
					if err := c.Endpoints.AttachHost(t.Context(), made.ID); err != nil {
						t.Fatal(err)
					}
				}
				for i, pod := range tt.pods {
					pod.Name, pod.Network = fmt.Sprintf("pod-%d", i), n
					e, err := modes.PlanPodEndpoint(pod)
					if err != nil {
						t.Fatal(err)
					}
					made := makeEndpoint(t, c, v, modes.Mode(n.Type), e)
					if made != nil {
						wantClean(t, modes.CheckEndpoint(n, made))
					}
					if made != nil && !strings.Contains(tt.name, "DHCP") && !strings.Contains(tt.name, "accelerated") {
						wantReachable(t, n, made)
					}
				}
			})
		}
	}
}

// makeNetwork makes the network of an intent, or returns nil if HNS is too old
// for it and says so.
func makeNetwork(t *testing.T, c *hns.Client, v hns.Version, in modes.NetworkIntent) *hns.Network {
	t.Helper()
	in.Name = "net"
	plan, err := modes.PlanNetwork(in)
	if err != nil {
		t.Fatal(err)
	}
	lacks := lacking(t, c, v, plan.Requirements())
	n, err := c.Networks.Create(t.Context(), plan.Network)
	if err == nil && len(plan.AddPolicies) > 0 {
		err = c.Networks.AddPolicies(t.Context(), n.ID, plan.AddPolicies...)
	}
	if lacks != (err != nil) {
		t.Fatalf("requirements lack something: %v, but: %v", lacks, err)
	}
	if lacks {
		return nil
	}
	if n, err = c.Networks.ByID(t.Context(), n.ID); err != nil {
		t.Fatal(err)
	}
	wantClean(t, modes.CheckNetwork(n))
	return n
}

func makeEndpoint(t *testing.T, c *hns.Client, v hns.Version, m modes.Mode, e *hns.Endpoint) *hns.Endpoint {
	t.Helper()
	lacks := lacking(t, c, v, modes.EndpointRequirements(m, e))
	made, err := c.Endpoints.Create(t.Context(), e)
	if err != nil && !lacks {
		t.Fatalf("%s: %v", e.Name, err)
	}
	return made
}

// lacking reports whether HNS lacks one of the requirements, other than what a
// version that speaks schema 2 halfway lets through.
func lacking(t *testing.T, c *hns.Client, v hns.Version, rs []modes.Requirement) bool {
	t.Helper()
	lacks := false
	for _, r := range rs {
		if err := c.Require(t.Context(), r.Feature); (err == nil) != r.Feature.In(v) {
			t.Errorf("%s on %s: %v", r, v, err)
		}
		lacks = lacks || !r.Feature.In(v) && r.Feature.Name != hns.FeatureV2API.Name && r.Feature.Name != hns.FeatureDSR.Name
	}
	return lacks
}

// wantReachable wants an address in a subnet, a gateway in it, and a MAC.
func wantReachable(t *testing.T, n *hns.Network, e *hns.Endpoint) {
	t.Helper()
	if len(e.IPConfigs) == 0 || e.MAC.IsZero() {
		t.Fatalf("%s: addresses %v, MAC %s", e.Name, e.Addresses(), e.MAC)
	}
	for _, a := range e.Addresses() {
		s, ok := n.SubnetOf(a)
		if g := e.Gateway(a); !ok || !s.Prefix.Contains(g) || g == a {
			t.Errorf("%s: %s in %s by %s", e.Name, a, s.Prefix, g)
		}
	}
}

// TestErrorFindingsAndTheEmulator sends documents that have an error to the
// emulator. What HNS is documented, tested or seen to refuse must fail there;
// the others HNS takes, and pods cannot be reached.
func TestErrorFindingsAndTheEmulator(t *testing.T) {
	const v4 = "10.60.4.0/24"
	subnet := func(p string, policies ...hns.SubnetPolicy) hns.Subnet {
		return hns.Subnet{Prefix: netip.MustParsePrefix(p), Policies: policies,
			Routes: []hns.Route{hns.DefaultRoute(netip.MustParsePrefix(p).Addr().Next())}}
	}
	vsid := hns.VSID{IsolationID: 4096}
	networks := []struct {
		name string
		typ  hns.NetworkType
		subs []hns.Subnet
	}{
		{"Overlay without VNI", hns.Overlay, []hns.Subnet{subnet(v4)}},
		{"Overlay with IPv6", hns.Overlay, []hns.Subnet{subnet(v4, vsid), subnet("fd00::/64", vsid)}},
		{"L2Bridge without subnet", hns.L2Bridge, nil},
		{"L2Tunnel without subnet", hns.L2Tunnel, nil},
	}
	allow := &hns.Options{Allow: []string{"overlay-vsid", "gateway-outside"}}
	for _, tt := range networks {
		c := hns.New(emulator.New(nil), allow)
		n := &hns.Network{Name: "net", Type: tt.typ, IPAMs: []hns.IPAM{{Subnets: tt.subs}}}
		if worst := modes.Worst(modes.CheckNetwork(n)); worst != modes.SeverityError {
			t.Errorf("%s: found %q", tt.name, worst)
		}
		if _, err := c.Networks.Create(t.Context(), n); err == nil {
			t.Errorf("%s: the emulator takes it", tt.name)
		}
	}
	pa := []hns.EndpointPolicy{hns.ProviderAddress{Address: addr("192.0.2.10")}}
	endpoints := []struct {
		name    string
		e       hns.Endpoint
		refused bool
	}{
		{"outside", hns.Endpoint{Policies: pa, IPConfigs: []hns.IPConfig{{Address: addr("10.61.0.9")}}}, true},
		{"gateway", hns.Endpoint{Policies: pa, IPConfigs: []hns.IPConfig{{Address: addr("10.60.4.1")}}}, true},
		{"broadcast", hns.Endpoint{Policies: pa, IPConfigs: []hns.IPConfig{{Address: addr("10.60.4.255")}}}, true},
		{"no provider address", hns.Endpoint{IPConfigs: []hns.IPConfig{{Address: addr("10.60.4.7")}}}, false},
		{"foreign gateway", hns.Endpoint{Policies: pa, IPConfigs: []hns.IPConfig{{Address: addr("10.60.4.8")}},
			Routes: []hns.Route{hns.DefaultRoute(addr("10.4.0.1"))}}, false},
	}
	c := hns.New(emulator.New(nil), allow)
	n := makeNetwork(t, c, emulator.WindowsServer2022, modes.NetworkIntent{Mode: modes.Overlay, Subnets: prefixes(v4)})
	for _, tt := range endpoints {
		tt.e.Name, tt.e.Network = "pod", n.ID
		if worst := modes.Worst(modes.CheckEndpoint(n, &tt.e)); worst != modes.SeverityError {
			t.Errorf("%s: found %q", tt.name, worst)
		}
		if _, err := c.Endpoints.Create(t.Context(), &tt.e); (err != nil) != tt.refused {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestForbiddenIsRefused: what a rule forbids the emulator refuses, on the
// newest HNS, so that nothing else is at fault. Rules of certainty "assumed"
// are held to the same, so that the two never part.
func TestForbiddenIsRefused(t *testing.T) {
	policies := map[string]hns.NetworkPolicy{"RemoteSubnetRoute": hns.RemoteSubnetRoute{
		DestinationPrefix: netip.MustParsePrefix("10.70.0.0/24"), IsolationID: 4096, ProviderAddress: addr("192.0.2.16"), DistributedRouterMAC: hns.MAC{2, 1},
	}}
	endpointPolicies := map[string]hns.EndpointPolicy{"PortMapping": hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088}}
	for _, m := range modes.All() {
		c := hns.New(emulator.New(&emulator.Options{Version: emulator.WindowsServer2025Serviced}), nil)
		n := makeNetwork(t, c, emulator.WindowsServer2025Serviced, modes.NetworkIntent{Mode: m, Subnets: prefixes("10.50.3.0/24")})
		pod, err := c.Endpoints.Create(t.Context(), &hns.Endpoint{Name: "pod", Network: n.ID})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range m.Rules() {
			if r.Verdict != modes.Forbidden && r.Type != "RemoteSubnetRoute" && r.Type != "PortMapping" && r.On != modes.OnLoadBalancer {
				continue
			}
			switch r.On {
			case modes.OnNetwork:
				err = c.Networks.AddPolicies(t.Context(), n.ID, policies[r.Type])
			case modes.OnEndpoint:
				err = c.Endpoints.AddPolicies(t.Context(), pod.ID, endpointPolicies[r.Type])
			case modes.OnLoadBalancer:
				_, err = c.LoadBalancers.Create(t.Context(), &hns.LoadBalancer{Endpoints: []hns.ID{pod.ID},
					FrontendVIPs: []netip.Addr{addr("10.96.0.10")}, PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 80}}})
			default:
				t.Fatalf("%+v: this test does not know how to try it", r)
			}
			if refused := err != nil; refused != (r.Verdict == modes.Forbidden) {
				t.Errorf("%s: %s %s is %s, the emulator says: %v", m, r.On, r.Type, r.Verdict, err)
			}
		}
	}
}
