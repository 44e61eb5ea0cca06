package modes_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

func lake() modes.NetworkIntent {
	return modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24")}
}

func fjord() modes.NetworkIntent {
	return modes.NetworkIntent{Mode: modes.Overlay, Name: "fjord", Subnets: prefixes("10.60.4.0/24")}
}

func TestPlanNetworkErrors(t *testing.T) {
	type change func(*modes.NetworkIntent)
	tests := []struct {
		name  string
		in    modes.NetworkIntent
		but   change
		want  []string
		texts []string
	}{
		{"no mode", lake(), func(in *modes.NetworkIntent) { in.Mode = "" }, []string{"Mode |"}, []string{"L2Bridge, L2Tunnel, Overlay, Transparent, NAT"}},
		{"no such mode", lake(), func(in *modes.NetworkIntent) { in.Mode = "bridge" }, []string{"Mode | bridge"}, nil},
		{"no name", lake(), func(in *modes.NetworkIntent) { in.Name = "" }, []string{"Name |"}, nil},
		{"no subnet", lake(), func(in *modes.NetworkIntent) { in.Subnets = nil }, []string{"Subnets |"}, nil},
		{"zero subnet", lake(), func(in *modes.NetworkIntent) { in.Subnets = make([]netip.Prefix, 1) }, []string{"Subnets[0] |"}, nil},
		{"host bits", lake(), func(in *modes.NetworkIntent) { in.Subnets = prefixes("10.50.3.1/24") }, []string{"Subnets[0] | 10.50.3.1/24"}, []string{"10.50.3.0/24"}},
		{"no room", lake(), func(in *modes.NetworkIntent) { in.Subnets = prefixes("10.50.3.4/31") }, []string{"Subnets[0] | 10.50.3.4/31"}, nil},
		{"two of a family", lake(), func(in *modes.NetworkIntent) { in.Subnets = prefixes("10.50.3.0/24", "10.50.4.0/24") }, []string{"Subnets[1] | 10.50.4.0/24"}, nil},
		// Windows carries IPv6 beside IPv4 on L2Bridge, and on Overlay not at
		// all (microsoft/windows-container-networking#61, microsoft/Windows-Containers#82).
		{"IPv6 alone", lake(), func(in *modes.NetworkIntent) { in.Subnets = prefixes("fd00:50::/64") }, []string{"unsupported: Subnets |"}, nil},
		{"IPv6 on Overlay", fjord(), func(in *modes.NetworkIntent) { in.Subnets = prefixes("10.60.4.0/24", "fd00:60::/64") }, []string{"unsupported: Subnets[1] | fd00:60::/64"}, nil},
		{"IPv6 alone on Overlay", fjord(), func(in *modes.NetworkIntent) { in.Subnets = prefixes("fd00:60::/64") }, []string{"unsupported: Subnets[0] | fd00:60::/64"}, nil},
		{"gateway outside", lake(), func(in *modes.NetworkIntent) { in.Gateways = addrs("10.50.4.1") }, []string{"Gateways[0] | 10.50.4.1"}, nil},
		{"gateway zero", lake(), func(in *modes.NetworkIntent) { in.Gateways = addrs("") }, []string{"Gateways[0] |"}, nil},
		{"gateway twice", lake(), func(in *modes.NetworkIntent) { in.Gateways = addrs("10.50.3.1", "10.50.3.9") }, []string{"Gateways[1] | 10.50.3.9"}, nil},
		{"gateway broadcast", lake(), func(in *modes.NetworkIntent) { in.Gateways = addrs("10.50.3.255") }, []string{"Subnets[0] | 10.50.3.0/24"}, []string{"10.50.3.255"}},
		{"VNI without Overlay", lake(), func(in *modes.NetworkIntent) { in.VNI = 4096 }, []string{"VNI | 4096"}, nil},
		{"port without Overlay", lake(), func(in *modes.NetworkIntent) { in.VXLANPort = 4789 }, []string{"VXLANPort | 4789"}, nil},
		{"adapter chosen twice", lake(), func(in *modes.NetworkIntent) {
			in.Adapter, in.ProviderAddress = "Ethernet", addr("192.0.2.15")
		}, []string{"ProviderAddress | 192.0.2.15"}, []string{`"Ethernet"`}},
		{"provider address is none", lake(), func(in *modes.NetworkIntent) { in.ProviderAddress = addr("0.0.0.0") }, []string{"ProviderAddress | 0.0.0.0"}, nil},
		{"everything at once", fjord(), func(in *modes.NetworkIntent) {
			*in = modes.NetworkIntent{Mode: modes.Overlay, VNI: 1, Subnets: prefixes("10.60.4.9/24"), Gateways: addrs("10.0.0.1")}
		}, []string{"Name |", "Gateways[0] | 10.0.0.1", "Subnets[0] | 10.60.4.9/24", "VNI | 1"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.but(&tt.in)
			plan, err := modes.PlanNetwork(tt.in)
			if plan != nil {
				t.Errorf("a plan beside the error: %+v", plan)
			}
			wantComplaints(t, err, tt.want, tt.texts...)
			if isUnsupported := tt.want[0][0] == 'u'; errors.Is(err, hns.ErrUnsupported) != isUnsupported || errors.Is(err, hns.ErrInvalid) == isUnsupported {
				t.Errorf("matches the wrong sentinel: %v", err)
			}
		})
	}
}

// TestPlanNetworkVNI: HNS takes 4096 to 16777214; configurations with the
// Linux default of 1 failed late (flannel-io/flannel#1215, moby/libnetwork#1843,
// rancher/rke2#5952).
func TestPlanNetworkVNI(t *testing.T) {
	tests := map[uint32]uint32{ // asked for, sent; 0 is an error
		0: 4096, 1: 0, 4095: 0, 4096: 4096, 5000: 5000, 65536: 65536, 69632: 69632, 16777214: 16777214, 16777215: 0,
	}
	for in, want := range tests {
		intent := fjord()
		intent.VNI = in
		plan, err := modes.PlanNetwork(intent)
		if want == 0 {
			wantComplaints(t, err, []string{"VNI | " + jsonText(in)}, "4096", "16777214")
			continue
		}
		if err != nil {
			t.Errorf("VNI %d: %v", in, err)
			continue
		}
		if got := plan.Network.Subnets()[0].VSID(); got != want {
			t.Errorf("VNI %d is sent as %d", in, got)
		}
	}
}

func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func TestPlanNetworkVXLANPort(t *testing.T) {
	tests := map[uint16][]hns.VXLANPort{0: nil, 4789: nil, 8472: {{Port: 8472}}}
	for port, want := range tests {
		intent := fjord()
		intent.VXLANPort = port
		plan, err := modes.PlanNetwork(intent)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, hns.PoliciesOf[hns.VXLANPort](plan.Network.Policies)); diff != "" {
			t.Errorf("port %d (-want +got):\n%s", port, diff)
		}
	}
}

// TestPlanNetworkAdapter: with several adapters and no choice HNS takes one of
// its own (Azure/azure-container-networking#4439).
func TestPlanNetworkAdapter(t *testing.T) {
	byName, byAddress := lake(), fjord()
	byName.Adapter = "Ethernet 2"
	byAddress.ProviderAddress = addr("192.0.2.15")
	tests := []struct {
		in   modes.NetworkIntent
		want []hns.NetworkPolicy
	}{
		{byName, []hns.NetworkPolicy{hns.NetAdapterName{Name: "Ethernet 2"}}},
		{byAddress, []hns.NetworkPolicy{hns.ProviderAddress{Address: addr("192.0.2.15")}}},
		{lake(), nil},
	}
	for _, tt := range tests {
		plan, err := modes.PlanNetwork(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, plan.Network.Policies, byValue); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestPlanNetworkGateways(t *testing.T) {
	in := lake()
	in.Subnets = prefixes("fd00:50:3::/64", "10.50.3.0/24")
	in.Gateways = addrs("10.50.3.254")
	plan, err := modes.PlanNetwork(in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range plan.Network.Subnets() {
		got = append(got, s.Prefix.String()+" "+s.Gateway().String())
	}
	if diff := cmp.Diff([]string{"fd00:50:3::/64 fd00:50:3::1", "10.50.3.0/24 10.50.3.254"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlanHostEndpointErrors(t *testing.T) {
	change := func(name string, f func(*hns.Network)) *hns.Network {
		n := network(t, name)
		f(n)
		return n
	}
	subnet := func(prefix, gateway string) func(*hns.Network) {
		return func(n *hns.Network) {
			n.IPAMs = []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: netip.MustParsePrefix(prefix), Routes: []hns.Route{hns.DefaultRoute(addr(gateway))}}}}}
		}
	}
	tests := []struct {
		name string
		n    *hns.Network
		want []string
	}{
		{"nil", nil, []string{"Network |"}},
		{"not read from HNS", change("network-l2bridge", func(n *hns.Network) { n.ID = hns.ID{} }), []string{"Network.ID |"}},
		{"Overlay", network(t, "network-overlay"), []string{"unsupported: Network |"}},
		{"NAT", change("network-l2bridge", func(n *hns.Network) { n.Type = hns.NAT }), []string{"unsupported: Network |"}},
		{"L2Tunnel", change("network-l2bridge", func(n *hns.Network) { n.Type = hns.L2Tunnel }), []string{"unsupported: Network |"}},
		{"Transparent", change("network-l2bridge", func(n *hns.Network) { n.Type = hns.Transparent }), []string{"unsupported: Network |"}},
		{"no mode", change("network-l2bridge", func(n *hns.Network) { n.Type = hns.ICS }), []string{"unsupported: Network.Type | ICS"}},
		{"no subnet", change("network-l2bridge", func(n *hns.Network) { n.IPAMs = nil }), []string{"Network.Subnets |"}},
		{"two subnets", change("network-l2bridge", func(n *hns.Network) {
			n.IPAMs[0].Subnets = append(n.IPAMs[0].Subnets, hns.Subnet{Prefix: netip.MustParsePrefix("10.50.9.0/24")})
		}), []string{"Network.Subnets[1] | 10.50.9.0/24"}},
		{"no room", change("network-l2bridge", subnet("192.168.255.0/30", "192.168.255.1")), []string{"Network.Subnets[0] | 192.168.255.0/30"}},
		{"gateway in its place", change("network-l2bridge", subnet("10.50.3.0/24", "10.50.3.2")), []string{"Network.Subnets[0] | 10.50.3.2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := modes.PlanHostEndpoint(tt.n)
			wantComplaints(t, err, tt.want)
		})
	}
}

// TestHostEndpointIsThePodsGateway: what the node gets is what its pods are
// told (microsoft/windows-container-networking#40).
func TestHostEndpointIsThePodsGateway(t *testing.T) {
	n := network(t, "network-l2bridge-dual")
	host, err := modes.PlanHostEndpoint(n)
	if err != nil {
		t.Fatal(err)
	}
	pod, err := modes.PlanPodEndpoint(modes.PodIntent{Name: "pod", Network: n, Addresses: prefixes("10.50.3.7/24", "fd00:50:3::7/64")})
	if err != nil {
		t.Fatal(err)
	}
	if host.Name != "cbr0_ep" || len(host.Addresses()) != 2 {
		t.Fatalf("host endpoint: %+v", host)
	}
	for _, a := range host.Addresses() {
		if got := pod.Gateway(a); got != a {
			t.Errorf("the node has %s, the pod's gateway is %s", a, got)
		}
		if g := host.Gateway(a); g.IsValid() {
			t.Errorf("the node's endpoint has gateway %s", g)
		}
	}
}

// TestPlanNetworkIsAccepted sends small and large plans through the client's
// validation.
func TestPlanNetworkIsAccepted(t *testing.T) {
	small := fjord()
	small.Subnets = prefixes("192.168.255.0/30")
	large := lake()
	large.Subnets = prefixes("10.0.0.0/8", "fd00::/16")
	ctx := context.Background()
	for _, in := range []modes.NetworkIntent{lake(), fjord(), small, large} {
		plan, err := modes.PlanNetwork(in)
		if err != nil {
			t.Fatal(err)
		}
		c := hns.New(&recorder{}, nil)
		n, err := c.Networks.Create(ctx, plan.Network)
		if err != nil {
			t.Errorf("%v: %v", in.Subnets, err)
			continue
		}
		if err := c.Networks.AddPolicies(ctx, hns.NewID(), plan.AddPolicies...); err != nil {
			t.Errorf("%v: %v", in.Subnets, err)
		}
		if n.Flags != hns.NetworkNonPersistent {
			t.Errorf("flags %d", n.Flags)
		}
	}
}
