package modes_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/modes"
)

// schemaTypes are the policy types of the HNS schema and of hcsshim, counted
// here anew.
var schemaTypes = map[modes.On][]string{
	modes.OnNetwork: {"AutomaticDNS", "DrMacAddress", "HostRoute", "InterfaceConstraint", "L4Proxy", "LayerConstraint", "NeighborDiscovery",
		"NetAdapterName", "NetworkACL", "ProviderAddress", "RemoteSubnetRoute", "SetPolicy", "SourceMacAddress", "VSwitchExtension", "VxlanPort"},
	modes.OnSubnet: {"VLAN", "VSID"},
	modes.OnEndpoint: {"ACL", "EncapOverhead", "Encryption", "Firewall", "InterfaceConstraint", "InterfaceParameters", "Iov", "L2Driver", "L4Proxy",
		"L4WFPPROXY", "OutBoundNAT", "PortMapping", "PortName", "ProviderAddress", "QOS", "SDNRoute", "TierAcl", "VLAN"},
	modes.OnLoadBalancer: {""},
}

// TestRules compares the rules of every mode and type with a table that people
// can read, and wants each to say why, how sure it is, and what to do.
func TestRules(t *testing.T) {
	var b strings.Builder
	for _, on := range []modes.On{modes.OnNetwork, modes.OnSubnet, modes.OnEndpoint, modes.OnLoadBalancer} {
		var have []string
		for _, r := range modes.L2Bridge.Rules() {
			if r.On == on {
				have = append(have, r.Type)
			}
		}
		slices.Sort(have)
		if diff := cmp.Diff(schemaTypes[on], have); diff != "" {
			t.Errorf("%s: types (-want +got):\n%s", on, diff)
		}
		for _, typ := range have {
			for _, m := range modes.All() {
				r := m.Rule(on, strings.ToUpper(typ))
				checkRule(t, m, r, on, typ)
				fmt.Fprintf(&b, "%-13s  %-19s  %-11s  %-9s  %-10s  %s\n", on, typ, m, r.Verdict, r.Certainty, r.Feature.Name)
			}
		}
	}
	text := strings.ReplaceAll(b.String(), " \n", "\n")
	for strings.Contains(text, " \n") {
		text = strings.ReplaceAll(text, " \n", "\n")
	}
	golden.File(t, filepath.Join("testdata", "rules.txt"), text)
}

func checkRule(t *testing.T, m modes.Mode, r modes.Rule, on modes.On, typ string) {
	t.Helper()
	at := fmt.Sprintf("%s, %s %s", m, on, typ)
	if r.Mode != m || r.On != on || r.Type != typ || !r.InSchema || r.Reason == "" {
		t.Errorf("%s: %+v", at, r)
	}
	isUnknown := r.Verdict == modes.Unknown
	if (r.Certainty == "") != isUnknown || (r.Source == "") != isUnknown {
		t.Errorf("%s is %s with certainty %q and source %q", at, r.Verdict, r.Certainty, r.Source)
	}
	needsFix := r.Verdict == modes.Forbidden || r.Verdict == modes.Harmless || r.Verdict == modes.Required
	if (r.Fix != "") != needsFix {
		t.Errorf("%s is %s with the fix %q", at, r.Verdict, r.Fix)
	}
}

// TestRulesOfOthers: types that the schema lacks, and modes that are none.
func TestRulesOfOthers(t *testing.T) {
	// projectcalico/calico#8465, microsoft/Windows-Containers#360,
	// containernetworking/plugins#1004: names of schema 1 in schema 2.
	for old, name := range map[string]string{"PA": "ProviderAddress", "ROUTE": "SDNRoute", "NAT": "PortMapping", "Proxy": "L4Proxy"} {
		r := modes.L2Bridge.Rule(modes.OnEndpoint, old)
		if r.Verdict != modes.Forbidden || !strings.Contains(r.Fix, name) || r.InSchema {
			t.Errorf("%s: %+v", old, r)
		}
	}
	if r := modes.L2Bridge.Rule(modes.OnEndpoint, "SDNROUTE"); r.Verdict != modes.Legal || r.Type != "SDNRoute" {
		t.Errorf("letter case: %+v", r)
	}
	if r := modes.NAT.Rule(modes.OnNetwork, "Bogus"); r.Verdict != modes.Forbidden || r.InSchema || r.Fix == "" {
		t.Errorf("bogus: %+v", r)
	}
	for _, typ := range []string{"HostRoute", "Bogus"} {
		if r := modes.Mode("bridge").Rule(modes.OnNetwork, typ); r.Verdict != modes.Unknown || r.Certainty != "" || r.Reason == "" {
			t.Errorf("no mode: %+v", r)
		}
	}
}

// found lists findings as "severity path | value".
func found(fs []modes.Finding) []string {
	var out []string
	for _, f := range fs {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s | %s", f.Severity, f.Path, f.Value)))
	}
	return out
}

func TestCheckNetwork(t *testing.T) {
	type change func(*hns.Network)
	remote := hns.RemoteSubnetRoute{}
	tests := []struct {
		name, network string
		but           change
		want          []string
	}{
		{"L2Bridge", "network-l2bridge-dual", nil, nil},
		{"Transparent by DHCP", "network-transparent-dhcp", nil, nil},
		{"NAT", "network-nat", nil, nil},
		{"Overlay", "network-overlay", nil, nil},
		{"Overlay without HostRoute", "network-overlay", func(n *hns.Network) { n.Policies = nil }, []string{"warning Policies |"}},
		{"Overlay to be made", "network-overlay", func(n *hns.Network) { n.ID, n.Policies = hns.ID{}, nil }, nil},
		{"Overlay without VNI", "network-overlay", func(n *hns.Network) { n.ID, n.IPAMs[0].Subnets[0].Policies = hns.ID{}, nil },
			[]string{"error Ipams[0].Subnets[0].Policies |"}},
		{"IPv6 on Overlay", "network-l2bridge-dual", func(n *hns.Network) {
			n.ID, n.Type = hns.ID{}, hns.Overlay
			for i := range n.IPAMs[0].Subnets {
				n.IPAMs[0].Subnets[i].Policies = []hns.SubnetPolicy{hns.VSID{IsolationID: 4096}}
			}
		}, []string{"error Ipams[0].Subnets[1].IpAddressPrefix | fd00:50:3::/64"}},
		{"IPv6 on NAT", "network-l2bridge-dual", func(n *hns.Network) { n.Type = hns.NAT }, []string{"warning Ipams[0].Subnets[1].IpAddressPrefix | fd00:50:3::/64"}},
		{"IPv6 alone", "network-l2bridge-dual", func(n *hns.Network) { n.IPAMs[0].Subnets = n.IPAMs[0].Subnets[1:] }, []string{"warning Ipams |"}},
		{"no subnet", "network-l2tunnel", func(n *hns.Network) { n.IPAMs = nil }, []string{"error Ipams |"}},
		{"DHCP on L2Bridge", "network-l2bridge", func(n *hns.Network) { n.IPAMs[0].Type = "DHCP" }, []string{"warning Ipams[0].Type | DHCP"}},
		{"no gateway", "network-l2bridge", func(n *hns.Network) { n.IPAMs[0].Subnets[0].Routes = nil }, []string{"warning Ipams[0].Subnets[0].Routes |"}},
		{"policies", "network-nat", func(n *hns.Network) {
			n.Policies = []hns.NetworkPolicy{remote, nil, hns.NetAdapterName{Name: "Ethernet"}, (*hns.HostRoute)(nil), hns.VXLANPort{Port: 4789}, hns.RawPolicy{Type: "PA"}}
		}, []string{"error Policies[0] | RemoteSubnetRoute", "warning Policies[2] | NetAdapterName", "note Policies[4] | VxlanPort", "error Policies[5] | PA"}},
		{"of no mode", "network-nat", func(n *hns.Network) { n.Type = hns.ICS }, []string{"note Type | ICS"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := network(t, tt.network)
			if tt.but != nil {
				tt.but(n)
			}
			checkFindings(t, tt.want, modes.CheckNetwork(n))
		})
	}
	checkFindings(t, []string{"error  |"}, modes.CheckNetwork(nil))
}

func checkFindings(t *testing.T, want []string, fs []modes.Finding) {
	t.Helper()
	if diff := cmp.Diff(want, found(fs)); diff != "" {
		t.Errorf("findings (-want +got):\n%s\n%v", diff, fs)
	}
	for _, f := range fs {
		if f.Reason == "" || f.Severity == modes.SeverityWarning && f.Fix == "" || !strings.Contains(f.String(), f.Reason) {
			t.Errorf("%+v", f)
		}
	}
}

func TestCheckEndpoint(t *testing.T) {
	type change func(*hns.Endpoint)
	ep := func(address, gateway string) change {
		return func(e *hns.Endpoint) {
			p := prefixes(address)[0]
			e.IPConfigs = append(e.IPConfigs, hns.IPConfig{Address: p.Addr(), PrefixLength: uint8(p.Bits())})
			e.Routes = append(e.Routes, hns.DefaultRoute(addr(gateway)))
		}
	}
	pa := hns.ProviderAddress{Address: addr("192.0.2.15")}
	tests := []struct {
		name, network string
		but           []change
		want          []string
	}{
		{"L2Bridge", "network-l2bridge", []change{ep("10.50.3.7/24", "10.50.3.2")}, nil},
		// containernetworking/plugins#671: pods told .1 reached no other node.
		{"L2Bridge by .1", "network-l2bridge", []change{ep("10.50.3.7/24", "10.50.3.1")}, []string{"note Routes[0].NextHop | 10.50.3.1"}},
		{"L2Tunnel by .1", "network-l2tunnel", []change{ep("10.80.0.7/24", "10.80.0.1")}, nil},
		{"L2Tunnel without address", "network-l2tunnel", nil, []string{"warning IpConfigurations |"}},
		{"L2Tunnel, Azure's name server", "network-l2tunnel", []change{ep("10.80.0.2/24", "10.80.0.1")}, []string{"error IpConfigurations[0].IpAddress | 10.80.0.2"}},
		{"Overlay without provider address", "network-overlay", []change{ep("10.60.4.7/24", "10.60.4.1")}, []string{"error Policies |"}},
		{"remote on Overlay", "network-overlay", []change{func(e *hns.Endpoint) {
			e.Flags, e.Policies = hns.EndpointRemote, []hns.EndpointPolicy{pa}
			e.IPConfigs = []hns.IPConfig{{Address: addr("10.60.9.7")}}
		}}, nil},
		// kubernetes/kubernetes#100962, flannel-io/flannel#556.
		{"gateway's address", "network-nat", []change{ep("172.30.0.1/20", "172.30.0.9")}, []string{"error IpConfigurations[0].IpAddress | 172.30.0.1"}},
		{"outside", "network-nat", []change{ep("172.31.0.7/20", "172.30.0.1")}, []string{"error IpConfigurations[0].IpAddress | 172.31.0.7"}},
		{"by DHCP", "network-transparent-dhcp", nil, nil},
		// containerd/nerdctl#28, microsoft/windows-container-networking#98: an
		// address of one subnet, the gateway of another.
		{"foreign gateway", "network-nat", []change{ep("172.30.0.7/20", "10.4.0.1")}, []string{"error Routes[0].NextHop | 10.4.0.1"}},
		{"own gateway", "network-nat", []change{ep("172.30.0.7/20", "172.30.0.7")}, []string{"error Routes[0].NextHop | 172.30.0.7"}},
		{"IPv6 on NAT", "network-nat", []change{ep("172.30.0.7/20", "172.30.0.1"), func(e *hns.Endpoint) {
			e.IPConfigs = append(e.IPConfigs, hns.IPConfig{Address: addr("fd00::7")})
		}}, []string{"warning IpConfigurations[1].IpAddress | fd00::7", "error IpConfigurations[1].IpAddress | fd00::7"}},
		{"IPv6 alone", "network-l2bridge-dual", []change{ep("fd00:50:3::7/64", "fd00:50:3::2")}, []string{"warning IpConfigurations |"}},
		// containernetworking/plugins#530: ports where there can be none.
		{"ports on Transparent", "network-transparent", []change{func(e *hns.Endpoint) {
			e.Policies = []hns.EndpointPolicy{hns.PortMapping{Protocol: hns.TCP, InternalPort: 80}, nil, (*hns.VLAN)(nil), hns.SDNRoute{}, hns.RawPolicy{Type: "ROUTE"}}
		}}, []string{"error Policies[0] | PortMapping", "note Policies[3] | SDNRoute", "error Policies[4] | ROUTE"}},
		{"other network", "network-nat", []change{func(e *hns.Endpoint) { e.Network = hns.ID{9} }}, []string{"error HostComputeNetwork | 09000000-0000-0000-0000-000000000000"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := network(t, tt.network)
			e := &hns.Endpoint{Name: "pod", Network: n.ID}
			for _, but := range tt.but {
				but(e)
			}
			checkFindings(t, tt.want, modes.CheckEndpoint(n, e))
		})
	}
	checkFindings(t, []string{"error  |"}, modes.CheckEndpoint(network(t, "network-nat"), nil))
	checkFindings(t, []string{"note HostComputeNetwork | " + (hns.ID{}).String()}, modes.CheckEndpoint(nil, &hns.Endpoint{}))
	checkFindings(t, []string{"note HostComputeNetwork | ICS"}, modes.CheckEndpoint(&hns.Network{Type: hns.ICS}, &hns.Endpoint{}))
}

// TestFreeGateway: a subnet may leave its gateway to an endpoint.
func TestFreeGateway(t *testing.T) {
	n := network(t, "network-nat")
	n.IPAMs[0].Subnets[0].Flags = 1
	checkFindings(t, nil, modes.CheckEndpoint(n, &hns.Endpoint{IPConfigs: []hns.IPConfig{{Address: addr("172.30.0.1")}}}))
}

func TestFindingsOf(t *testing.T) {
	_, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.Overlay, Subnets: prefixes("10.60.4.0/24", "fd00::/64"), VNI: 1})
	checkFindings(t, []string{"error Name |", "error Subnets[1] | fd00::/64", "error VNI | 1"}, modes.FindingsOf(err))
	_, err = hns.New(&recorder{}, nil).Networks.Create(t.Context(), &hns.Network{Name: "n", Type: hns.Overlay})
	checkFindings(t, nil, modes.FindingsOf(err))
	_, err = hns.New(&recorder{}, nil).Endpoints.Create(t.Context(), &hns.Endpoint{Policies: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.0.0.1/8"}}}})
	checkFindings(t, []string{"error HostComputeNetwork |", "error Policies[0].Settings.Exceptions[0] | 10.0.0.1/8"}, modes.FindingsOf(err))
	checkFindings(t, []string{"error  |"}, modes.FindingsOf(fmt.Errorf("reading: %w", modes.ErrNotReady)))
	if got := modes.FindingsOf(nil); got != nil {
		t.Errorf("of nil: %v", got)
	}
}

func TestWorst(t *testing.T) {
	f := func(ss ...modes.Severity) (fs []modes.Finding) {
		for _, s := range ss {
			fs = append(fs, modes.Finding{Severity: s})
		}
		return fs
	}
	for want, fs := range map[modes.Severity][]modes.Finding{
		"":                    nil,
		modes.SeverityNote:    f(modes.SeverityNote, modes.SeverityNote),
		modes.SeverityWarning: f(modes.SeverityNote, modes.SeverityWarning, modes.SeverityNote),
		modes.SeverityError:   f(modes.SeverityWarning, modes.SeverityError, modes.SeverityNote),
	} {
		if got := modes.Worst(fs); got != want {
			t.Errorf("%v: %q", fs, got)
		}
	}
}
