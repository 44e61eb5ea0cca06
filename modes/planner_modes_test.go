package modes_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// TestPlanNetworkByMode holds what the modes do not have in common.
func TestPlanNetworkByMode(t *testing.T) {
	v4, v6 := prefixes("10.50.3.0/24"), prefixes("10.50.3.0/24", "fd00:50:3::/64")
	tests := []struct {
		name string
		in   modes.NetworkIntent
		want []string // complaints; none: it can be planned
	}{
		{"L2Tunnel without subnet", modes.NetworkIntent{Mode: modes.L2Tunnel}, []string{"Subnets |"}},
		{"Overlay without subnet", modes.NetworkIntent{Mode: modes.Overlay}, []string{"Subnets |"}},
		{"Transparent without subnet", modes.NetworkIntent{Mode: modes.Transparent}, nil},
		{"NAT without subnet", modes.NetworkIntent{Mode: modes.NAT}, nil},
		{"gateway without subnet", modes.NetworkIntent{Mode: modes.NAT, Gateways: addrs("172.30.0.1")}, []string{"Gateways[0] | 172.30.0.1"}},
		// Docker's way to let HNS choose.
		{"every address", modes.NetworkIntent{Mode: modes.NAT, Subnets: prefixes("0.0.0.0/0")}, []string{"Subnets[0] | 0.0.0.0/0"}},

		// microsoft/Windows-Containers#82, microsoft/Windows-Containers#522,
		// antrea-io/antrea#5162: which modes carry IPv6.
		{"dual stack L2Tunnel", modes.NetworkIntent{Mode: modes.L2Tunnel, Subnets: v6}, nil},
		{"dual stack Transparent", modes.NetworkIntent{Mode: modes.Transparent, Subnets: v6}, nil},
		{"dual stack NAT", modes.NetworkIntent{Mode: modes.NAT, Subnets: v6}, []string{"unsupported: Subnets[1] | fd00:50:3::/64"}},
		{"IPv6 alone", modes.NetworkIntent{Mode: modes.Transparent, Subnets: v6[1:]}, []string{"unsupported: Subnets |"}},

		{"NAT is not kept", modes.NetworkIntent{Mode: modes.NAT, Persistent: true}, []string{"unsupported: Persistent | true"}},
		{"flag by hand", modes.NetworkIntent{Mode: modes.L2Bridge, Subnets: v4, Flags: hns.NetworkNonPersistent}, []string{"Flags | 8"}},

		{"NAT on an adapter", modes.NetworkIntent{Mode: modes.NAT, Adapter: "Ethernet", ProviderAddress: addr("192.0.2.15"), AutomaticDNS: true},
			[]string{"unsupported: Adapter | Ethernet", "unsupported: ProviderAddress | 192.0.2.15", "unsupported: AutomaticDNS | true"}},

		{"VLAN", modes.NetworkIntent{Mode: modes.L2Tunnel, Subnets: v4, VLAN: 4094}, nil},
		{"VLAN out of range", modes.NetworkIntent{Mode: modes.L2Bridge, Subnets: v4, VLAN: 4095}, []string{"VLAN | 4095"}},
		{"VLAN on Overlay", modes.NetworkIntent{Mode: modes.Overlay, Subnets: v4, VLAN: 7}, []string{"unsupported: VLAN | 7"}},
		{"VLAN on NAT", modes.NetworkIntent{Mode: modes.NAT, Subnets: v4, VLAN: 7}, []string{"unsupported: VLAN | 7"}},
		{"VLAN without subnet", modes.NetworkIntent{Mode: modes.Transparent, VLAN: 7}, []string{"VLAN | 7"}},
		{"VLAN, subnet forgotten", modes.NetworkIntent{Mode: modes.L2Bridge, VLAN: 7}, []string{"Subnets |"}},

		{"source MAC", modes.NetworkIntent{Mode: modes.Transparent, SourceMAC: hns.MAC{2, 0x11, 1}}, nil},
		{"source MAC on Overlay", modes.NetworkIntent{Mode: modes.Overlay, Subnets: v4, SourceMAC: hns.MAC{2, 0x11, 1}}, []string{"unsupported: SourceMAC | 02-11-01-00-00-00"}},
		{"source MAC on NAT", modes.NetworkIntent{Mode: modes.NAT, SourceMAC: hns.MAC{2, 0x11, 1}}, []string{"unsupported: SourceMAC | 02-11-01-00-00-00"}},
		{"multicast source MAC", modes.NetworkIntent{Mode: modes.L2Bridge, Subnets: v4, SourceMAC: hns.MAC{1, 0, 0x5e}}, []string{"SourceMAC | 01-00-5E-00-00-00"}},
		{"MAC pool", modes.NetworkIntent{Mode: modes.NAT, MACPool: []hns.MACRange{
			{Start: hns.MAC{2, 0x11}, End: hns.MAC{2, 0x11, 0, 0, 0xff, 0xff}}, {Start: hns.MAC{2, 0x12}, End: hns.MAC{2, 0x11}}, {}, {Start: hns.MAC{1}, End: hns.MAC{3}},
		}}, []string{"MACPool[1] | 02-12-00-00-00-00..02-11-00-00-00-00", "MACPool[2] | ..", "MACPool[3] | 01-00-00-00-00-00..03-00-00-00-00-00"}},

		{"VNI on NAT", modes.NetworkIntent{Mode: modes.NAT, VNI: 4096}, []string{"VNI | 4096"}},
		// The mode may come from a configuration, in any letter case
		// (microsoft/SDN#238).
		{"overlay in small letters", modes.NetworkIntent{Mode: "overlay", Subnets: v4, VNI: 4096}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.Name = "net"
			plan, err := modes.PlanNetwork(tt.in)
			if tt.want != nil {
				wantComplaints(t, err, tt.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := modes.ModeOf(plan.Network.Type); !ok || string(plan.Network.Type) != string(m) {
				t.Errorf("type %q", plan.Network.Type)
			}
			if plan.Network.Type == hns.Overlay && (plan.Network.Subnets()[0].VSID() != 4096 || len(plan.AddPolicies) != 1) {
				t.Errorf("not planned as Overlay: %+v", plan)
			}
		})
	}
}

// podOn plans a pod on a network of testdata.
func podOn(t *testing.T, name string, but func(*modes.PodIntent)) (*hns.Endpoint, error) {
	t.Helper()
	in := modes.PodIntent{Name: "pod", Network: network(t, name)}
	if but != nil {
		but(&in)
	}
	return modes.PlanPodEndpoint(in)
}

func TestPlanPodByMode(t *testing.T) {
	type in = *modes.PodIntent
	port := []hns.EndpointPolicy{hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088}}
	nat := &modes.NATIntent{Exceptions: prefixes("10.50.0.0/16")}
	tests := []struct {
		name, network string
		but           func(in)
		want          []string // complaints; none: it can be planned
	}{
		{"L2Tunnel", "network-l2tunnel", func(p in) { p.Addresses = prefixes("10.80.0.7/24") }, nil},
		{"L2Tunnel without address", "network-l2tunnel", nil, []string{"unsupported: Addresses |"}},
		{"L2Tunnel, Azure's name server", "network-l2tunnel", func(p in) { p.Addresses = prefixes("10.80.0.3/24") }, []string{"Addresses[0] | 10.80.0.3/24"}},
		{"L2Tunnel through the node", "network-l2tunnel", func(p in) {
			p.Addresses, p.GatewayRule = prefixes("10.80.0.7/24"), modes.GatewayHostEndpoint
		}, []string{"GatewayRule | host-endpoint"}},
		{"L2Tunnel, gateway given", "network-l2tunnel", func(p in) {
			p.Addresses, p.GatewayRule, p.Gateways = prefixes("10.80.0.7/24"), modes.GatewayGiven, addrs("10.80.0.1")
		}, nil},

		// microsoft/windows-container-networking#59: a network without subnets
		// made a plugin panic.
		{"Transparent by DHCP", "network-transparent-dhcp", nil, nil},
		{"Transparent by DHCP, given gateway", "network-transparent-dhcp", func(p in) {
			p.GatewayRule, p.Gateways = modes.GatewayGiven, addrs("192.0.2.1")
		}, []string{"Gateways[0] | 192.0.2.1"}},
		{"Transparent, address without subnet", "network-transparent-dhcp", func(p in) { p.Addresses = prefixes("192.0.2.77/24") }, []string{"Addresses[0] | 192.0.2.77/24"}},
		{"Transparent, HNS chooses", "network-transparent", nil, nil},
		{"Transparent with ports", "network-transparent", func(p in) { p.Policies = port }, []string{"unsupported: Policies[0].Type | PortMapping"}},
		{"Transparent with NAT", "network-transparent", func(p in) { p.NAT = &modes.NATIntent{} }, []string{"unsupported: NAT |"}},
		{"Transparent with loopback DSR", "network-transparent", func(p in) { p.LoopbackDSR = true }, []string{"unsupported: LoopbackDSR | true"}},
		{"Transparent through the node", "network-transparent", func(p in) { p.GatewayRule = modes.GatewayHostEndpoint }, []string{"GatewayRule | host-endpoint"}},

		{"NAT, HNS chooses", "network-nat", nil, nil},
		{"NAT with NAT", "network-nat", func(p in) { p.NAT = &modes.NATIntent{} }, nil},
		{"NAT with exceptions", "network-nat", func(p in) { p.NAT = nat }, []string{"unsupported: NAT |"}},
		{"NAT with loopback DSR", "network-nat", func(p in) { p.LoopbackDSR = true }, []string{"unsupported: LoopbackDSR | true"}},
		{"NAT with IPv6", "network-nat", func(p in) { p.Addresses = prefixes("172.30.0.7/20", "fd00::7/64") }, []string{"unsupported: Addresses[1] | fd00::7/64"}},
		{"NAT through the node", "network-nat", func(p in) { p.GatewayRule = modes.GatewayHostEndpoint }, []string{"GatewayRule | host-endpoint"}},
		// containernetworking/plugins#530, containernetworking/plugins#475:
		// ports that a plugin dropped without a word.
		{"NAT with ports", "network-nat", func(p in) { p.Policies = port }, nil},
		{"Overlay with ports", "network-overlay", func(p in) { p.Policies = port }, nil},
		{"L2Bridge with ports", "network-l2bridge", func(p in) { p.Policies = port }, nil},
		// What the client's Options.Allow could lift is the client's.
		{"a type of tomorrow", "network-nat", func(p in) { p.Policies = []hns.EndpointPolicy{hns.RawPolicy{Type: "Tomorrow"}} }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := podOn(t, tt.network, tt.but)
			if tt.want != nil {
				wantComplaints(t, err, tt.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range e.IPConfigs {
				if g := e.Gateway(c.Address); !c.Prefix().Contains(g) {
					t.Errorf("gateway %s of %s", g, c.Prefix())
				}
			}
		})
	}
}

// TestNATIntentOnNAT: WinNAT translates by itself, so nothing is sent.
func TestNATIntentOnNAT(t *testing.T) {
	e, err := podOn(t, "network-nat", func(p *modes.PodIntent) { p.NAT = &modes.NATIntent{} })
	if err != nil || len(e.Policies) != 0 {
		t.Errorf("%v, policies %v", err, e.Policies)
	}
}

func TestRequirements(t *testing.T) {
	names := func(rs []modes.Requirement) []string {
		var out []string
		for _, r := range rs {
			out = append(out, r.Feature.Name+" "+r.Path)
			if r.Reason == "" || len(r.Feature.Versions) == 0 {
				t.Errorf("%s: reason %q, versions %v", r.Feature.Name, r.Reason, r.Feature.Versions)
			}
		}
		return out
	}
	both := prefixes("10.50.3.0/24", "fd00:50:3::/64")
	networks := []struct {
		in   modes.NetworkIntent
		want []string
	}{
		{lake(), []string{"V2Api "}},
		{modes.NetworkIntent{Mode: modes.L2Bridge, Subnets: both}, []string{"V2Api ", "IPv6DualStack Ipams[0].Subnets[1]"}},
		{modes.NetworkIntent{Mode: modes.L2Tunnel, Subnets: both}, []string{"V2Api ", "IPv6DualStack Ipams[0].Subnets[1]"}},
		{modes.NetworkIntent{Mode: modes.Transparent, Subnets: both, Flags: hns.NetworkDisableHostPort | hns.NetworkEnableIOV},
			[]string{"V2Api ", "DisableHostPort Flags", "Accelnet Flags"}},
		{modes.NetworkIntent{Mode: modes.Overlay, Subnets: both[:1], VXLANPort: 8472},
			[]string{"V2Api ", "RemoteSubnet Type", "VxlanPort Policies[0]", "HostRoute AddPolicies[0]"}},
		{modes.NetworkIntent{Mode: modes.NAT}, []string{"V2Api "}},
	}
	for _, tt := range networks {
		tt.in.Name = "net"
		plan, err := modes.PlanNetwork(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, names(plan.Requirements())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.in.Mode, diff)
		}
	}
	pod, err := podOn(t, "network-l2bridge-dual", func(p *modes.PodIntent) {
		p.Addresses, p.LoopbackDSR = prefixes("10.50.3.7/24", "fd00:50:3::7/64"), true
		p.Policies = []hns.EndpointPolicy{hns.TierACL{Name: "t"}, hns.TierACL{Name: "u"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"V2Api ", "TierAcl Policies[0]", "DSR Policies[2]", "IPv6DualStack IpConfigurations[1]"}
	if diff := cmp.Diff(want, names(modes.EndpointRequirements(modes.L2Bridge, pod))); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	odd := &hns.Endpoint{IPConfigs: []hns.IPConfig{{Address: addr("10.0.0.1"), PrefixLength: 32}, {}}, Policies: []hns.EndpointPolicy{nil}}
	if diff := cmp.Diff([]string{"V2Api ", "Slash32EndpointPrefixes IpConfigurations[0]"}, names(modes.EndpointRequirements(modes.Overlay, odd))); diff != "" {
		t.Errorf("/32 (-want +got):\n%s", diff)
	}
	if got := names(modes.EndpointRequirements(modes.NAT, nil)); len(got) != 1 {
		t.Errorf("of nothing: %v", got)
	}
	if got := names((*modes.NetworkPlan)(nil).Requirements()); len(got) != 1 {
		t.Errorf("of no plan: %v", got)
	}
}

// TestRequirementsAreTheCallers: a caller may change what it got.
func TestRequirementsAreTheCallers(t *testing.T) {
	f := modes.Overlay.Rule(modes.OnNetwork, "HostRoute").Feature
	f.Versions[0] = hns.VersionRange{}
	if again := modes.Overlay.Rule(modes.OnNetwork, "hostroute").Feature; again.Versions[0] == (hns.VersionRange{}) {
		t.Error("a change of the result is seen by others")
	}
}

// TestReservedByAzure: Azure keeps the first four addresses of a subnet and the
// last.
func TestReservedByAzure(t *testing.T) {
	var got []netip.Addr
	for _, r := range modes.Reserved(modes.L2Tunnel, netip.MustParsePrefix("10.80.0.0/24"), "", netip.Addr{}) {
		got = append(got, r.Addr)
	}
	if diff := cmp.Diff(addrs("10.80.0.0", "10.80.0.1", "10.80.0.2", "10.80.0.3", "10.80.0.255"), got, byValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostEndpointErrorsAreUnsupported(t *testing.T) {
	for _, name := range []string{"network-l2tunnel", "network-overlay", "network-transparent", "network-nat"} {
		_, err := modes.PlanHostEndpoint(network(t, name))
		var u *modes.UnsupportedError
		if !errors.Is(err, hns.ErrUnsupported) || !errors.As(err, &u) || u.Reason == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRequirementsByVersion: loopback DSR on an HNS without it ate the node's
// ports (containernetworking/plugins#613, kubernetes-sigs/sig-windows-tools#119),
// and dual stack needs 11.10 (microsoft/windows-container-networking#61,
// Azure/azure-container-networking#557). The ranges have holes
// (kubernetes/kubernetes#93304).
func TestRequirementsByVersion(t *testing.T) {
	pod, err := podOn(t, "network-l2bridge-dual", func(p *modes.PodIntent) { p.Addresses, p.LoopbackDSR = prefixes("10.50.3.7/24"), true })
	if err != nil {
		t.Fatal(err)
	}
	dual, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24", "fd00:50:3::/64")})
	if err != nil {
		t.Fatal(err)
	}
	met := func(rs []modes.Requirement, v hns.Version) bool {
		for _, r := range rs {
			if !r.Feature.In(v) {
				return false
			}
		}
		return true
	}
	for v, want := range map[hns.Version][2]bool{ // loopback DSR, dual stack
		{Major: 9, Minor: 1}: {false, false}, {Major: 9, Minor: 2}: {false, false}, {Major: 9, Minor: 3}: {true, false}, {Major: 10, Minor: 0}: {false, false},
		{Major: 10, Minor: 1}: {false, false}, {Major: 10, Minor: 2}: {true, false}, {Major: 11, Minor: 9}: {true, false}, {Major: 11, Minor: 10}: {true, true},
		{Major: 15, Minor: 4}: {true, true}, {Major: 17, Minor: 0}: {true, true}, {}: {false, false},
	} {
		if got := [2]bool{met(modes.EndpointRequirements(modes.L2Bridge, pod), v), met(dual.Requirements(), v)}; got != want {
			t.Errorf("HNS %s: DSR, dual stack %v, want %v", v, got, want)
		}
	}
}
