package modes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// FuzzPlanPodEndpoint plans pods from what configurations and IPAM hold. A plan
// must keep its promises, be the same the second time, and be taken by the
// client unless the user's own policies are at fault.
func FuzzPlanPodEndpoint(f *testing.F) {
	f.Add("network-l2bridge", "10.50.3.7/24", "host-endpoint", "", "", `[{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"]}}]`, "10.50.0.0/16")
	f.Add("network-l2bridge-dual", "10.50.3.7/24,fd00:50:3::7/64", "given", "10.50.3.9,fd00:50:3::9", "", `[]`, "10.50.0.0/16,fd00:50::/48")
	f.Add("network-overlay", "10.60.4.7/32", "", "", "02-aa", `[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.15"}}]`, "")
	f.Add("network-overlay", "", "subnet", "", "", `[{"Type":"ProviderAddress","Settings":null},{"Type":"SDNROUTE","NeedEncap":true}]`, "0.0.0.0/0")
	f.Add("network-l2tunnel-dual", "10.80.0.7/24,fd00:80::7/64", "subnet", "", "", `[]`, "10.80.0.0/16")
	f.Add("network-transparent-dhcp", "", "", "", "", `[{"Type":"ACL","Settings":{"Action":"Allow","Direction":"In"}}]`, "")
	f.Add("network-nat", "172.30.0.7/20", "", "", "", `[{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8088}}]`, "")
	f.Fuzz(func(t *testing.T, networkName, addresses, rule, gateways, prefix, policies, exceptions string) {
		if !slices.Contains(testNetworks, networkName) {
			t.Skip()
		}
		in := modes.PodIntent{
			Name: "pod", Network: network(t, networkName), Addresses: split(addresses, netip.ParsePrefix), GatewayRule: modes.GatewayRule(rule),
			Gateways: split(gateways, netip.ParseAddr), MACPrefix: prefix, Policies: decode(policies),
		}
		if m, _ := modes.ModeOf(in.Network.Type); m != modes.NAT && m != modes.Transparent {
			in.LoopbackDSR, in.NAT = true, &modes.NATIntent{Exceptions: split(exceptions, netip.ParsePrefix)}
		}
		e, err := modes.PlanPodEndpoint(in)
		again, _ := modes.PlanPodEndpoint(in)
		if !reflect.DeepEqual(e, again) {
			t.Fatal("planned twice, and not the same")
		}
		if err != nil {
			if !errors.Is(err, hns.ErrInvalid) && !errors.Is(err, hns.ErrUnsupported) && !errors.Is(err, modes.ErrNotReady) || len(complaints(err)) == 0 {
				t.Fatalf("an error without a type: %v", err)
			}
			return
		}
		checkPod(t, in, e)
	})
}

// policyPaths are the paths of the user's own policies, which come first.
func policyPaths(ps []hns.EndpointPolicy) []string {
	var out []string
	for i := range ps {
		out = append(out, fmt.Sprintf("Policies[%d]", i))
	}
	return out
}

// wantClean wants no error and no warning, save at the paths of others.
func wantClean(t *testing.T, fs []modes.Finding, others ...string) {
	t.Helper()
	for _, f := range fs {
		if f.Severity != modes.SeverityNote && !slices.Contains(others, f.Path) {
			t.Errorf("the plan breaks a rule of its mode: %s", f)
		}
	}
}

// testNetworks are those of testdata/hns.
var testNetworks = []string{
	"network-l2bridge", "network-l2bridge-dual", "network-l2tunnel", "network-l2tunnel-dual", "network-overlay",
	"network-transparent", "network-transparent-dual", "network-transparent-dhcp", "network-nat",
}

// FuzzPlanNetwork plans networks of every mode. A plan must keep its promises,
// be the same the second time, and be taken by the client.
func FuzzPlanNetwork(f *testing.F) {
	f.Add("L2Bridge", "10.50.3.0/24,fd00:50:3::/64", "10.50.3.1", uint32(0), uint16(0), uint16(7), "Ethernet", "", "", false, uint32(0))
	f.Add("Overlay", "10.60.4.0/24", "", uint32(69632), uint16(8472), uint16(0), "", "192.0.2.15", "", true, uint32(0))
	f.Add("Transparent", "", "", uint32(0), uint16(0), uint16(0), "Ethernet", "", "02-11-01-02-03-04", true, uint32(9216))
	f.Add("NAT", "172.30.0.0/20", "172.30.15.1", uint32(0), uint16(0), uint16(0), "", "", "", false, uint32(1))
	f.Add("l2tunnel", "10.80.0.0/24", "", uint32(0), uint16(0), uint16(4095), "", "", "", false, uint32(8))
	f.Fuzz(func(t *testing.T, mode, subnets, gateways string, vni uint32, port, vlan uint16, adapter, provider, mac string, keep bool, flags uint32) {
		in := modes.NetworkIntent{
			Mode: modes.Mode(mode), Name: "net", Subnets: split(subnets, netip.ParsePrefix), Gateways: split(gateways, netip.ParseAddr),
			VNI: vni, VXLANPort: port, VLAN: vlan, Adapter: adapter, Persistent: keep, Flags: hns.NetworkFlags(flags), AutomaticDNS: adapter != "",
		}
		in.ProviderAddress, _ = netip.ParseAddr(provider)
		in.SourceMAC, _ = hns.ParseMAC(mac)
		plan, err := modes.PlanNetwork(in)
		again, _ := modes.PlanNetwork(in)
		if !reflect.DeepEqual(plan, again) {
			t.Fatal("planned twice, and not the same")
		}
		if err != nil {
			if !errors.Is(err, hns.ErrInvalid) && !errors.Is(err, hns.ErrUnsupported) || len(complaints(err)) == 0 {
				t.Fatalf("an error without a type: %v", err)
			}
			return
		}
		c := hns.New(&recorder{}, &hns.Options{Allow: []string{"feature-VxlanPort", "feature-HostRoute", "feature-DisableHostPort", "feature-Accelnet"}})
		n, err := c.Networks.Create(t.Context(), plan.Network)
		if err != nil {
			t.Fatalf("refused by the client: %v", err)
		}
		if err := c.Networks.AddPolicies(t.Context(), hns.NewID(), plan.AddPolicies...); err != nil {
			t.Fatalf("refused by the client: %v", err)
		}
		subnetsHaveGateways(t, in, n)
		wantClean(t, modes.CheckNetwork(plan.Network))
		if len(plan.Requirements()) == 0 {
			t.Fatal("no requirements")
		}
	})
}

func subnetsHaveGateways(t *testing.T, in modes.NetworkIntent, n *hns.Network) {
	t.Helper()
	if len(n.Subnets()) != len(in.Subnets) {
		t.Fatalf("%d subnets of %d", len(n.Subnets()), len(in.Subnets))
	}
	for i, s := range n.Subnets() {
		g := s.Gateway()
		if s.Prefix != in.Subnets[i] || !s.Prefix.Contains(g) || g == s.Prefix.Addr() {
			t.Fatalf("subnet %s of %s, gateway %s", s.Prefix, in.Subnets[i], g)
		}
		if (s.VSID() != 0) != (n.Type == hns.Overlay) {
			t.Fatalf("VNI %d on %s", s.VSID(), n.Type)
		}
	}
}

func checkPod(t *testing.T, in modes.PodIntent, e *hns.Endpoint) {
	t.Helper()
	if len(e.IPConfigs) != len(in.Addresses) {
		t.Fatalf("%d addresses of %d", len(e.IPConfigs), len(in.Addresses))
	}
	for i, c := range e.IPConfigs {
		g := e.Gateway(c.Address)
		if c.Address != in.Addresses[i].Addr() || !c.Prefix().Contains(g) || g == c.Address {
			t.Fatalf("address %s, gateway %s of %s", c.Prefix(), g, in.Addresses[i])
		}
	}
	wantClean(t, modes.CheckEndpoint(in.Network, e), policyPaths(in.Policies)...)
	var users bool
	for _, p := range in.Policies {
		users = users || hns.CheckEndpointPolicy(p) != nil
	}
	_, err := hns.New(&recorder{}, nil).Endpoints.Create(t.Context(), e)
	if err != nil && !users {
		t.Fatalf("refused by the client: %v", err)
	}
}

// split reads a list; what cannot be read is the zero value, as in an intent
// that somebody filled in carelessly.
func split[T any](s string, parse func(string) (T, error)) []T {
	var out []T
	if s == "" {
		return nil
	}
	for _, part := range strings.Split(s, ",") {
		v, err := parse(part)
		if err != nil {
			var zero T
			v = zero
		}
		out = append(out, v)
	}
	return out
}

func decode(list string) []hns.EndpointPolicy {
	var docs []json.RawMessage
	if json.Unmarshal([]byte(list), &docs) != nil {
		return nil
	}
	var out []hns.EndpointPolicy
	for _, d := range docs {
		p, _ := hns.DecodeEndpointPolicy(d)
		out = append(out, p)
	}
	return out
}
