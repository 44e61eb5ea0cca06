package modes_test

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/modes"
)

const goldenDir = "testdata/golden"

// TestGolden compares the documents that reach HNS, after the client's
// validation, with those in testdata/golden. README.md there explains where
// they differ from those of other programs.
func TestGolden(t *testing.T) {
	golden.Update(t) // refuses where CI is set
	g := goldens{}
	for name, in := range goldenNetworks() {
		t.Run(name, func(t *testing.T) { g.network(t, name, in) })
	}
	for name, n := range map[string]*hns.Network{"host-endpoint-l2bridge": network(t, "network-l2bridge"), "host-endpoint-l2bridge-dual-stack": network(t, "network-l2bridge-dual")} {
		t.Run(name, func(t *testing.T) {
			e, err := modes.PlanHostEndpoint(n)
			g.endpoint(t, name, e, err)
		})
	}
	for name, in := range goldenPods(t) {
		t.Run(name, func(t *testing.T) {
			e, err := modes.PlanPodEndpoint(in)
			g.endpoint(t, name, e, err)
		})
	}
	files, err := filepath.Glob(filepath.Join(goldenDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !g[f] && !t.Failed() {
			t.Errorf("%s: nothing is compared with it any more", f)
		}
	}
}

var goldenDNS = hns.DNS{Search: []string{"default.svc.cluster.local", "svc.cluster.local", "cluster.local"}, ServerList: []string{"10.96.0.10"}, Options: []string{"ndots:5"}}

func goldenNetworks() map[string]modes.NetworkIntent {
	pool := []hns.MACRange{{Start: hns.MAC{2, 0x11, 0, 0, 0, 0}, End: hns.MAC{2, 0x11, 0, 0, 0xff, 0xff}}}
	return map[string]modes.NetworkIntent{
		"network-l2bridge": {Mode: modes.L2Bridge, Name: "cbr0", Subnets: prefixes("10.50.3.0/24"), Adapter: "Ethernet"},
		"network-l2bridge-dual-stack": {Mode: modes.L2Bridge, Name: "cbr0", Subnets: prefixes("10.50.3.0/24", "fd00:50:3::/64"),
			ProviderAddress: addr("192.0.2.15"), Persistent: true, DNS: goldenDNS},
		"network-overlay": {Mode: modes.Overlay, Name: "flannel.4096", Subnets: prefixes("10.60.4.0/24"), Adapter: "Ethernet"},
		"network-overlay-vni-port": {Mode: modes.Overlay, Name: "fjord", Subnets: prefixes("10.60.4.0/24"), Gateways: addrs("10.60.4.254"),
			VNI: 69632, VXLANPort: 8472, Persistent: true},
		"network-l2bridge-vlan": {Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24"), Adapter: "Ethernet", VLAN: 7,
			SourceMAC: hns.MAC{2, 0x11, 1, 2, 3, 4}, AutomaticDNS: true, MACPool: pool},
		"network-l2tunnel":               {Mode: modes.L2Tunnel, Name: "tube", Subnets: prefixes("10.80.0.0/24"), ProviderAddress: addr("10.0.0.4")},
		"network-l2tunnel-dual-stack":    {Mode: modes.L2Tunnel, Name: "tube", Subnets: prefixes("10.80.0.0/24", "fd00:80::/64"), Adapter: "Ethernet"},
		"network-transparent":            {Mode: modes.Transparent, Name: "glass", Subnets: prefixes("192.0.2.0/24"), Adapter: "Ethernet", VLAN: 7, Persistent: true},
		"network-transparent-dual-stack": {Mode: modes.Transparent, Name: "glass", Subnets: prefixes("192.0.2.0/24", "2001:db8:2::/64"), Adapter: "Ethernet"},
		"network-transparent-dhcp":       {Mode: modes.Transparent, Name: "glass", Adapter: "Ethernet"},
		"network-nat":                    {Mode: modes.NAT, Name: "pond", Subnets: prefixes("172.30.0.0/20")},
		"network-nat-hns-subnet":         {Mode: modes.NAT, Name: "pond", Flags: hns.NetworkEnableDNSProxy, DNS: hns.DNS{ServerList: []string{"192.0.2.53"}}},
	}
}

func goldenPods(t *testing.T) map[string]modes.PodIntent {
	bridge, dual, overlay := network(t, "network-l2bridge"), network(t, "network-l2bridge-dual"), network(t, "network-overlay")
	nat := &modes.NATIntent{Exceptions: modes.Exceptions(prefixes("10.50.0.0/16"), prefixes("10.96.0.0/12", "192.0.2.0/24"))}
	port := hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088}
	service := hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true}
	return map[string]modes.PodIntent{
		"pod-l2bridge":             {Name: "3f2a_cbr0", Network: bridge, Addresses: prefixes("10.50.3.7/24")},
		"pod-l2bridge-hns-address": {Name: "3f2a_cbr0", Network: bridge},
		"pod-l2bridge-nat":         {Name: "3f2a_cbr0", Network: bridge, Addresses: prefixes("10.50.3.7/24"), NAT: nat},
		"pod-l2bridge-dns":         {Name: "3f2a_cbr0", Network: bridge, Addresses: prefixes("10.50.3.7/24"), DNS: goldenDNS},
		"pod-l2bridge-dsr":         {Name: "3f2a_cbr0", Network: bridge, Addresses: prefixes("10.50.3.7/24"), LoopbackDSR: true},
		"pod-l2bridge-dual-stack": {Name: "3f2a_cbr0", Network: dual, Addresses: prefixes("10.50.3.7/24", "fd00:50:3::7/64"), LoopbackDSR: true,
			NAT: &modes.NATIntent{Exceptions: prefixes("10.50.0.0/16", "fd00:50::/48")}},
		"pod-l2bridge-user-policies": {Name: "3f2a_cbr0", Network: bridge, Addresses: prefixes("10.50.3.7/24"), NAT: nat,
			Policies: []hns.EndpointPolicy{service, hns.OutBoundNAT{Exceptions: []string{"198.51.100.0/24", "10.96.0.0/12"}}}},
		"pod-overlay": {Name: "3f2a_flannel.4096", Network: overlay, Addresses: prefixes("10.60.4.7/24")},
		"pod-overlay-everything": {Name: "3f2a_flannel.4096", Network: overlay, Addresses: prefixes("10.60.4.7/24"), NAT: nat, DNS: goldenDNS,
			LoopbackDSR: true, MACPrefix: "02-aa", Policies: []hns.EndpointPolicy{service}},
		"pod-overlay-hns-address": {Name: "3f2a_flannel.4096", Network: overlay},
		"pod-l2tunnel": {Name: "3f2a_tube", Network: network(t, "network-l2tunnel"), Addresses: prefixes("10.80.0.7/24"),
			NAT: &modes.NATIntent{Exceptions: prefixes("10.80.0.0/16")}, DNS: goldenDNS},
		"pod-l2tunnel-dual-stack":    {Name: "3f2a_tube", Network: network(t, "network-l2tunnel-dual"), Addresses: prefixes("10.80.0.7/24", "fd00:80::7/64"), LoopbackDSR: true},
		"pod-transparent":            {Name: "3f2a_glass", Network: network(t, "network-transparent"), Addresses: prefixes("192.0.2.77/24"), MAC: hns.MAC{2, 0x11, 1, 2, 3, 4}},
		"pod-transparent-dual-stack": {Name: "3f2a_glass", Network: network(t, "network-transparent-dual"), Addresses: prefixes("192.0.2.77/24", "2001:db8:2::77/64")},
		"pod-transparent-dhcp":       {Name: "3f2a_glass", Network: network(t, "network-transparent-dhcp")},
		"pod-nat":                    {Name: "3f2a_pond", Network: network(t, "network-nat"), Addresses: prefixes("172.30.0.7/20"), Policies: []hns.EndpointPolicy{port}, NAT: &modes.NATIntent{}},
		"pod-nat-hns-address":        {Name: "3f2a_pond", Network: network(t, "network-nat")},
	}
}

// goldens holds the golden files that were compared with.
type goldens map[string]bool

func (g goldens) network(t *testing.T, name string, in modes.NetworkIntent) {
	t.Helper()
	plan, err := modes.PlanNetwork(in)
	if err != nil {
		t.Fatal(err)
	}
	wantClean(t, modes.CheckNetwork(plan.Network))
	var rec recorder
	c := hns.New(&rec, nil)
	if _, err := c.Networks.Create(t.Context(), plan.Network); err != nil {
		t.Fatal(err)
	}
	g.compare(t, name, rec.last())
	if len(plan.AddPolicies) > 0 {
		if err := c.Networks.AddPolicies(t.Context(), hns.NewID(), plan.AddPolicies...); err != nil {
			t.Fatal(err)
		}
		g.compare(t, "then-"+name, rec.last())
	}
}

func (g goldens) endpoint(t *testing.T, name string, e *hns.Endpoint, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var rec recorder
	if _, err := hns.New(&rec, nil).Endpoints.Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	g.compare(t, name, rec.last())
}

func (g goldens) compare(t *testing.T, name string, doc json.RawMessage) {
	t.Helper()
	var got bytes.Buffer
	if err := json.Indent(&got, doc, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	file := filepath.Join(goldenDir, name+".json")
	g[file] = true
	golden.File(t, file, got.String())
}

// TestUpdateIsRefusedInCI runs this test binary as a CI job would.
func TestUpdateIsRefusedInCI(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestGolden$", "-update")
	cmd.Env = append(os.Environ(), "CI=true")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "-update is for people") {
		t.Errorf("not refused: %v\n%s", err, out)
	}
}
