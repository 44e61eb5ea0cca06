package modes_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// routes lists the routes as "destination via next hop".
func routes(e *hns.Endpoint) []string {
	var out []string
	for _, r := range e.Routes {
		out = append(out, r.DestinationPrefix.String()+" via "+r.NextHop.String())
	}
	return out
}

func TestPodGateway(t *testing.T) {
	const v4, v6 = "10.50.3.7/24", "fd00:50:3::7/64"
	tests := []struct {
		name, network string
		addresses     []netip.Prefix
		rule          modes.GatewayRule
		gateways      []netip.Addr
		want          []string
	}{
		// host-local calls .1 the gateway; with flannel's host-gw it is .2
		// (containernetworking/plugins#671).
		{"L2Bridge", "network-l2bridge", prefixes(v4), "", addrs("10.50.3.1"), []string{"0.0.0.0/0 via 10.50.3.2"}},
		{"L2Bridge as Azure", "network-l2bridge", prefixes(v4), modes.GatewaySubnet, nil, []string{"0.0.0.0/0 via 10.50.3.1"}},
		{"L2Bridge, given", "network-l2bridge", prefixes(v4), modes.GatewayGiven, addrs("10.50.3.9"), []string{"0.0.0.0/0 via 10.50.3.9"}},
		{"an address that does not know its subnet", "network-l2bridge", prefixes("10.50.3.7/32"), "", nil, []string{"0.0.0.0/0 via 10.50.3.2"}},
		{"IPAM has a part of the subnet", "network-l2bridge", prefixes("10.50.3.70/26"), "", nil, []string{"0.0.0.0/0 via 10.50.3.2"}},
		{"Overlay", "network-overlay", prefixes("10.60.4.7/24"), "", nil, []string{"0.0.0.0/0 via 10.60.4.1"}},
		// Plugins took only the first of two addresses
		// (microsoft/windows-container-networking#61); order does not matter.
		{"dual stack", "network-l2bridge-dual", prefixes(v4, v6), "", nil, []string{"0.0.0.0/0 via 10.50.3.2", "::/0 via fd00:50:3::2"}},
		{"dual stack, IPv6 first", "network-l2bridge-dual", prefixes(v6, v4), "", nil, []string{"::/0 via fd00:50:3::2", "0.0.0.0/0 via 10.50.3.2"}},
		{"dual stack, given", "network-l2bridge-dual", prefixes(v4, v6), modes.GatewayGiven, addrs("fd00:50:3::9", "10.50.3.9"), []string{"0.0.0.0/0 via 10.50.3.9", "::/0 via fd00:50:3::9"}},
		{"IPv4 on a dual-stack network", "network-l2bridge-dual", prefixes(v4), "", nil, []string{"0.0.0.0/0 via 10.50.3.2"}},
		{"HNS chooses", "network-l2bridge-dual", nil, "", nil, nil},
		{"HNS chooses, subnet", "network-l2bridge", nil, modes.GatewaySubnet, nil, nil},
		{"HNS chooses the address only", "network-l2bridge-dual", nil, modes.GatewayHostEndpoint, nil, []string{"0.0.0.0/0 via 10.50.3.2", "::/0 via fd00:50:3::2"}},
		{"HNS chooses the address only, given", "network-l2bridge", nil, modes.GatewayGiven, addrs("10.50.3.9"), []string{"0.0.0.0/0 via 10.50.3.9"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := modes.PlanPodEndpoint(modes.PodIntent{
				Name: "pod", Network: network(t, tt.network), Addresses: tt.addresses, GatewayRule: tt.rule, Gateways: tt.gateways,
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, routes(e)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(e.IPConfigs) != len(tt.addresses) {
				t.Fatalf("addresses: %v", e.IPConfigs)
			}
			for i, c := range e.IPConfigs {
				if c.Address != tt.addresses[i].Addr() || c.PrefixLength != map[bool]uint8{true: 24, false: 64}[c.Address.Is4()] {
					t.Errorf("address %d: %+v, want %s with the length of the subnet", i, c, tt.addresses[i])
				}
			}
		})
	}
}

func bridgePod(f func(*modes.PodIntent)) func(*testing.T) modes.PodIntent {
	return func(t *testing.T) modes.PodIntent {
		in := modes.PodIntent{Name: "pod", Network: network(t, "network-l2bridge-dual"), Addresses: prefixes("10.50.3.7/24")}
		f(&in)
		return in
	}
}

func overlayPod(f func(*modes.PodIntent)) func(*testing.T) modes.PodIntent {
	return func(t *testing.T) modes.PodIntent {
		in := modes.PodIntent{Name: "pod", Network: network(t, "network-overlay"), Addresses: prefixes("10.60.4.7/24")}
		f(&in)
		return in
	}
}

// at changes the addresses only.
func at(addresses ...string) func(*modes.PodIntent) {
	return func(in *modes.PodIntent) { in.Addresses = prefixes(addresses...) }
}

func TestPlanPodEndpointErrors(t *testing.T) {
	type intent = func(*testing.T) modes.PodIntent
	type in = *modes.PodIntent
	var nilPolicy hns.EndpointPolicy
	tests := []struct {
		name  string
		in    intent
		want  []string
		texts []string
	}{
		{"nothing at all", func(*testing.T) modes.PodIntent { return modes.PodIntent{} }, []string{"Name |", "Network |"}, nil},
		{"network of no mode", bridgePod(func(p in) { p.Network.Type = "Mirrored" }), []string{"unsupported: Network.Type | Mirrored"}, nil},

		// kubernetes/kubernetes#100962: HNS refuses these with a bare code.
		{"network address", overlayPod(at("10.60.4.0/24")), []string{"Addresses[0] | 10.60.4.0/24"}, []string{"network address"}},
		{"gateway", overlayPod(at("10.60.4.1/24")), []string{"Addresses[0] | 10.60.4.1/24"}, []string{"gateway of the HNS subnet"}},
		{"broadcast", overlayPod(at("10.60.4.255/24")), []string{"Addresses[0] | 10.60.4.255/24"}, []string{"broadcast"}},
		// flannel-io/flannel#556: a stale subnet.env.
		{"outside", overlayPod(at("10.61.0.9/24")), []string{"Addresses[0] | 10.61.0.9/24"}, []string{"10.60.4.0/24", "flannel.4096"}},
		{"host endpoint", bridgePod(at("10.50.3.2/24")), []string{"Addresses[0] | 10.50.3.2/24"}, []string{"endpoint of the node"}},
		{"the given gateway", bridgePod(func(p in) { p.GatewayRule, p.Gateways = modes.GatewayGiven, addrs("10.50.3.7") }), []string{"Addresses[0] | 10.50.3.7/24"}, nil},
		{"larger subnet", bridgePod(at("10.50.3.7/16")), []string{"Addresses[0] | 10.50.3.7/16"}, []string{"10.50.0.0/16", "10.50.3.0/24"}},
		{"no length", bridgePod(at("10.50.3.7/0")), []string{"Addresses[0] | 10.50.3.7/0"}, nil},
		{"no address", bridgePod(func(p in) { p.Addresses = make([]netip.Prefix, 1) }), []string{"Addresses[0] |"}, nil},
		{"IPv4 in IPv6", bridgePod(func(p in) { p.Addresses = []netip.Prefix{netip.PrefixFrom(addr("::ffff:10.50.3.7"), 120)} }), []string{"Addresses[0] | ::ffff:10.50.3.7/120"}, nil},

		{"two IPv4", bridgePod(at("10.50.3.7/24", "10.50.3.8/24")), []string{"Addresses[1] | 10.50.3.8/24"}, nil},
		{"IPv6 alone", bridgePod(at("fd00:50:3::7/64")), []string{"unsupported: Addresses |"}, nil},
		{"IPv6 on Overlay", overlayPod(at("10.60.4.7/24", "fd00:60::7/64")), []string{"unsupported: Addresses[1] | fd00:60::7/64"}, []string{"mode Overlay"}},

		{"no such rule", bridgePod(func(p in) { p.GatewayRule = "second" }), []string{"GatewayRule | second"}, nil},
		{"host endpoint on Overlay", overlayPod(func(p in) { p.GatewayRule = modes.GatewayHostEndpoint }), []string{"GatewayRule | host-endpoint"}, nil},
		{"none given", bridgePod(func(p in) { p.GatewayRule = modes.GatewayGiven }), []string{"Gateways |"}, nil},
		{"given outside", bridgePod(func(p in) { p.GatewayRule, p.Gateways = modes.GatewayGiven, addrs("10.50.4.1") }), []string{"Addresses[0] | 10.50.3.7/24"}, []string{"10.50.4.1"}},
		{"given twice", bridgePod(func(p in) { p.GatewayRule, p.Gateways = modes.GatewayGiven, addrs("10.50.3.9", "10.50.3.8") }), []string{"Gateways[1] | 10.50.3.8"}, nil},
		{"given for another family", bridgePod(func(p in) { p.GatewayRule, p.Gateways = modes.GatewayGiven, addrs("10.50.3.9", "fd00:50:3::9") }), []string{"Gateways[1] | fd00:50:3::9"}, nil},
		{"given is none", bridgePod(func(p in) { p.GatewayRule, p.Gateways = modes.GatewayGiven, addrs("10.50.3.9", "") }), []string{"Gateways[1] |"}, nil},
		{"subnet without gateway", bridgePod(func(p in) { p.GatewayRule, p.Network.IPAMs[0].Subnets[0].Routes = modes.GatewaySubnet, nil }), []string{"Network | 10.50.3.0/24"}, nil},
		{"which subnet?", bridgePod(func(p in) {
			p.Addresses, p.GatewayRule = nil, modes.GatewayHostEndpoint
			p.Network.IPAMs[0].Subnets[1].Prefix = netip.MustParsePrefix("10.50.4.0/24")
		}), []string{"Addresses |"}, []string{"10.50.3.0/24", "10.50.4.0/24"}},

		{"MAC prefix", overlayPod(func(p in) { p.MACPrefix = "zz-zz" }), []string{"MACPrefix | zz-zz"}, nil},
		{"MAC prefix on L2Bridge", bridgePod(func(p in) { p.MACPrefix = "0E-2A" }), []string{"MACPrefix | 0E-2A"}, nil},
		{"MAC prefix without address", overlayPod(func(p in) { p.MACPrefix, p.Addresses = "0E-2A", nil }), []string{"MACPrefix | 0E-2A"}, nil},
		{"multicast MAC", bridgePod(func(p in) { p.MAC = hns.MAC{1, 0, 0x5e} }), []string{"MAC | 01-00-5E-00-00-00"}, nil},

		{"nil policy", bridgePod(func(p in) { p.Policies = []hns.EndpointPolicy{hns.VLAN{IsolationID: 7}, nilPolicy} }), []string{"Policies[1] |"}, nil},
		{"nil pointer", bridgePod(func(p in) { p.Policies = []hns.EndpointPolicy{(*hns.OutBoundNAT)(nil)}; p.NAT = &modes.NATIntent{} }), []string{"Policies[0] |"}, nil},
		// The exceptions of the older API do nothing in this one, so pods were
		// translated (projectcalico/cni-plugin#1067).
		{"members beside the settings", bridgePod(func(p in) {
			p.Policies = []hns.EndpointPolicy{hns.RawPolicy{Type: "OutBoundNAT"}} // what is left of {"Type":"OutBoundNAT","ExceptionList":…}
		}), []string{"Policies[0].Settings |"}, nil},
		// Text that was to be replaced (containerd/containerd#5729).
		{"placeholder", bridgePod(func(p in) {
			p.Policies = []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"<your service cidr>", "10.50.0.0/16"}}}
		}), []string{"Policies[0].Settings.Exceptions[0] | <your service cidr>"}, nil},

		{"everything at once", overlayPod(func(p in) {
			p.Name, p.GatewayRule, p.MACPrefix, p.Policies = "", "second", "x", []hns.EndpointPolicy{nil}
			p.Addresses, p.ProviderAddress = prefixes("10.60.4.1/24"), addr("0.0.0.0")
			p.NAT = &modes.NATIntent{Exceptions: make([]netip.Prefix, 1)}
		}), []string{"Name |", "Addresses[0] | 10.60.4.1/24", "GatewayRule | second", "MACPrefix | x", "Policies[0] |", "NAT.Exceptions[0] |",
			"ProviderAddress | 0.0.0.0"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := modes.PlanPodEndpoint(tt.in(t))
			if e != nil {
				t.Errorf("an endpoint beside the error: %+v", e)
			}
			wantComplaints(t, err, tt.want, tt.texts...)
			if isUnsupported := tt.want[0][0] == 'u'; errors.Is(err, hns.ErrUnsupported) != isUnsupported || errors.Is(err, hns.ErrInvalid) == isUnsupported {
				t.Errorf("matches the wrong sentinel: %v", err)
			}
		})
	}
}

func TestPodMAC(t *testing.T) {
	given := hns.MAC{2, 0x11, 1, 2, 3, 4}
	tests := []struct {
		name string
		in   func(*testing.T) modes.PodIntent
		want string
	}{
		{"Overlay", overlayPod(func(*modes.PodIntent) {}), "0E-2A-0A-3C-04-07"},
		{"Overlay with a prefix", overlayPod(func(p *modes.PodIntent) { p.MACPrefix = "02-aa" }), "02-AA-0A-3C-04-07"},
		{"Overlay, given", overlayPod(func(p *modes.PodIntent) { p.MAC, p.MACPrefix = given, "0E-2A" }), "02-11-01-02-03-04"},
		{"Overlay, HNS chooses", overlayPod(func(p *modes.PodIntent) { p.Addresses = nil }), ""},
		{"L2Bridge", bridgePod(func(*modes.PodIntent) {}), ""},
		{"L2Bridge, given", bridgePod(func(p *modes.PodIntent) { p.MAC = given }), "02-11-01-02-03-04"},
	}
	for _, tt := range tests {
		e, err := modes.PlanPodEndpoint(tt.in(t))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if e.MAC.String() != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, e.MAC, tt.want)
		}
	}
}

func TestPodProviderAddress(t *testing.T) {
	pa := func(s string) hns.EndpointPolicy { return hns.ProviderAddress{Address: addr(s)} }
	foreign := hns.RawPolicy{Type: "ProviderAddress", Settings: json.RawMessage(`{"ProviderAddress":"192.0.2.15","Beyond":1}`)}
	unknown := func(p *modes.PodIntent) { p.Network.Policies = nil }
	tests := []struct {
		name string
		in   func(*testing.T) modes.PodIntent
		want []hns.EndpointPolicy
		bad  []string
	}{
		{"the network's", overlayPod(func(*modes.PodIntent) {}), []hns.EndpointPolicy{pa("192.0.2.15")}, nil},
		{"given, the same", overlayPod(func(p *modes.PodIntent) { p.ProviderAddress = addr("192.0.2.15") }), []hns.EndpointPolicy{pa("192.0.2.15")}, nil},
		{"given, another", overlayPod(func(p *modes.PodIntent) { p.ProviderAddress = addr("192.0.2.16") }), nil, []string{"ProviderAddress | 192.0.2.16"}},
		{"given, network does not know", overlayPod(func(p *modes.PodIntent) { unknown(p); p.ProviderAddress = addr("192.0.2.16") }), []hns.EndpointPolicy{pa("192.0.2.16")}, nil},
		{"the user's stays where it is", overlayPod(func(p *modes.PodIntent) {
			p.Policies = []hns.EndpointPolicy{pa("192.0.2.15"), hns.VLAN{IsolationID: 7}}
		}), []hns.EndpointPolicy{pa("192.0.2.15"), hns.VLAN{IsolationID: 7}}, nil},
		{"the user's is another", overlayPod(func(p *modes.PodIntent) { p.Policies = []hns.EndpointPolicy{pa("192.0.2.99")} }), nil, []string{"Policies[0].Settings.ProviderAddress | 192.0.2.99"}},
		{"the user's twice", overlayPod(func(p *modes.PodIntent) { p.Policies = []hns.EndpointPolicy{pa("192.0.2.15"), pa("192.0.2.15")} }), nil, []string{"Policies[1].Settings.ProviderAddress | 192.0.2.15"}},
		{"the user's with more in it", overlayPod(func(p *modes.PodIntent) { p.Policies = []hns.EndpointPolicy{foreign} }), []hns.EndpointPolicy{foreign}, nil},
		{"the user's, network does not know", overlayPod(func(p *modes.PodIntent) { unknown(p); p.Policies = []hns.EndpointPolicy{pa("192.0.2.15")} }), []hns.EndpointPolicy{pa("192.0.2.15")}, nil},
		{"L2Bridge has none", bridgePod(func(*modes.PodIntent) {}), nil, nil},
		{"L2Bridge, given", bridgePod(func(p *modes.PodIntent) { p.ProviderAddress = addr("192.0.2.15") }), []hns.EndpointPolicy{pa("192.0.2.15")}, nil},
		{"L2Bridge, the user's", bridgePod(func(p *modes.PodIntent) { p.Policies = []hns.EndpointPolicy{pa("192.0.2.15")} }), []hns.EndpointPolicy{pa("192.0.2.15")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := modes.PlanPodEndpoint(tt.in(t))
			if tt.bad != nil {
				wantComplaints(t, err, tt.bad, "192.0.2.15")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, e.Policies, byValue); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPodNotReady: HNS fills the provider address in a moment after the create
// (flannel-io/flannel#1066).
func TestPodNotReady(t *testing.T) {
	for name, policies := range map[string][]hns.NetworkPolicy{
		"none":       nil,
		"link-local": {hns.ProviderAddress{Address: addr("169.254.7.7")}},
	} {
		_, err := modes.PlanPodEndpoint(overlayPod(func(p *modes.PodIntent) { p.Network.Policies = policies })(t))
		if !errors.Is(err, modes.ErrNotReady) || errors.Is(err, hns.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPodPolicyOrder has every policy the planner makes.
func TestPodPolicyOrder(t *testing.T) {
	e, err := modes.PlanPodEndpoint(overlayPod(func(p *modes.PodIntent) {
		p.Policies = []hns.EndpointPolicy{hns.VLAN{IsolationID: 7}, hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true}}
		p.NAT = &modes.NATIntent{Exceptions: prefixes("10.60.0.0/16")}
		p.LoopbackDSR = true
	})(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []hns.EndpointPolicy{
		hns.VLAN{IsolationID: 7}, hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true},
		hns.OutBoundNAT{Exceptions: []string{"10.60.0.0/16"}}, hns.ProviderAddress{Address: addr("192.0.2.15")},
		hns.OutBoundNAT{Destinations: []string{"10.60.4.7"}},
	}
	if diff := cmp.Diff(want, e.Policies, byValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLoopbackDSRWithoutAddress: with an address that HNS chooses the policy
// was sent with the text "<nil>", or ADD failed
// (microsoft/windows-container-networking#125).
func TestLoopbackDSRWithoutAddress(t *testing.T) {
	e, err := modes.PlanPodEndpoint(bridgePod(func(p *modes.PodIntent) { p.Addresses, p.LoopbackDSR = nil, true })(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Policies) != 0 {
		t.Errorf("policies: %+v", e.Policies)
	}
}
