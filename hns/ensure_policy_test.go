package hns_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// moorNode is a node with the overlay network "moor".
func moorNode(t *testing.T, opts *emulator.Options) (*node, hns.ID) {
	n := newNode(t, opts)
	moor, _, err := n.Networks.Ensure(t.Context(), wantMoor(5000), nil)
	n.must(err)
	n.forget()
	return n, moor.ID
}

func (n *node) routes(id hns.ID) []hns.RemoteSubnetRoute {
	n.t.Helper()
	net, err := n.Networks.ByID(n.t.Context(), id)
	n.must(err)
	return hns.PoliciesOf[hns.RemoteSubnetRoute](net.Policies)
}

// A peer's MAC changes at a reboot, and the route with the old one stayed
// (flannel-io/flannel#1061, flannel-io/flannel#1137). MACs come in two spellings.
func TestEnsureRemoteSubnetRoute(t *testing.T) {
	n, moor := moorNode(t, nil)
	ensure := func(ps ...hns.NetworkPolicy) (hns.Decision, error) {
		return n.Networks.EnsurePolicies(t.Context(), moor, ps, nil)
	}
	peer := route("10.60.7.0/24", "192.0.2.7", "4e-0a-00-00-00-07")
	other := route("10.60.8.0/24", "192.0.2.8", "4e-0a-00-00-00-08")

	d, err := ensure(peer, other)
	n.must(err)
	decided(t, d, hns.ActionRepair, "Policies[0] RemoteSubnetRoute", "Policies[1] RemoteSubnetRoute")
	n.wantChanges("modify network", "modify network")

	spelt := hns.RawPolicy{Type: "remotesubnetroute", Settings: []byte(`{"DestinationPrefix":"10.60.7.0/24","IsolationId":5000,"ProviderAddress":"192.0.2.7","DistributedRouterMacAddress":"4e:0a:00:00:00:07"}`)}
	d, err = ensure(spelt)
	n.must(err)
	decided(t, d, hns.ActionKeep)
	n.wantChanges()

	for _, change := range []func(){
		func() { peer.DistributedRouterMAC = mustMAC("4e-0a-00-00-00-77") },
		func() { peer.ProviderAddress = addr("192.0.2.77") },
		func() { peer.IsolationID = 5001 },
	} {
		change()
		d, err = ensure(peer)
		n.must(err)
		decided(t, d, hns.ActionRepair, "Policies[0] RemoteSubnetRoute")
		n.wantChanges("modify network", "modify network") // the old one first
		same(t, "routes", []hns.RemoteSubnetRoute{other, peer}, n.routes(moor))
	}

	dry, err := n.Networks.EnsurePolicies(t.Context(), moor, []hns.NetworkPolicy{route("10.60.7.0/24", "192.0.2.9", "4e-0a-00-00-00-07")}, &hns.EnsureOptions{DryRun: true})
	n.must(err)
	decided(t, dry, hns.ActionRepair, "Policies[0] RemoteSubnetRoute")
	if diff := dry.Differences[0]; !strings.Contains(diff.Want, "192.0.2.9") || !strings.Contains(diff.Got, "192.0.2.77") {
		t.Errorf("difference %v", diff)
	}
	n.wantChanges()
}

// A new route that HNS refuses does not cost the old one.
func TestEnsureRemoteSubnetRoutePutBack(t *testing.T) {
	n, moor := moorNode(t, nil)
	old := route("10.60.7.0/24", "192.0.2.7", "4e-0a-00-00-00-07")
	now := route("10.60.7.0/24", "192.0.2.7", "4e-0a-00-00-00-77")
	ensure := func(p hns.NetworkPolicy) error {
		_, err := n.Networks.EnsurePolicies(t.Context(), moor, []hns.NetworkPolicy{p}, nil)
		return err
	}
	n.must(ensure(old))
	isAdd := func(r hns.Request) bool { return strings.Contains(string(r.Document), `"Add"`) }

	n.h.Inject(emulator.Fault{Verb: hns.VerbModify, Match: isAdd, Code: hns.CodeAccessDenied})
	err := ensure(now)
	wantIs(t, err, hns.ErrDenied)
	same(t, "routes", []hns.RemoteSubnetRoute{old}, n.routes(moor))

	n.h.Inject(emulator.Fault{Verb: hns.VerbModify, Match: isAdd, Times: 2, Code: hns.CodeAccessDenied})
	wantIs(t, ensure(now), hns.ErrDenied, hns.ErrLeftBehind)
	n.must(ensure(now)) // the next call goes on
	same(t, "routes", []hns.RemoteSubnetRoute{now}, n.routes(moor))

	// Another program removes or adds the route at the same moment.
	n.h.Inject(emulator.Fault{Verb: hns.VerbModify, Code: hns.CodePolicyNotFound, After: true})
	n.must(ensure(old))
	n.h.Inject(emulator.Fault{Verb: hns.VerbModify, Match: isAdd, Code: hns.CodePolicyExists, After: true})
	n.must(ensure(now))
	n.h.Inject(emulator.Fault{Verb: hns.VerbModify, Match: isAdd, Code: hns.CodePolicyExists})
	wantIs(t, ensure(route("10.60.9.0/24", "192.0.2.9", "4e-0a-00-00-00-09")), hns.ErrExists)
}

// The host route is added once; sets are known by their ids.
func TestEnsureOtherPolicies(t *testing.T) {
	n, moor := moorNode(t, nil)
	set := func(values ...string) hns.SetPolicy {
		return hns.SetPolicy{ID: "pods", Name: "pods", Type: hns.SetIP, Values: values}
	}
	steps := []struct {
		name   string
		want   []hns.NetworkPolicy
		action hns.Action
	}{
		{"new", []hns.NetworkPolicy{hns.HostRoute{}, set("10.60.3.7", "10.60.3.8")}, hns.ActionRepair},
		{"again", []hns.NetworkPolicy{hns.HostRoute{}, set("10.60.3.7", "10.60.3.8")}, hns.ActionKeep},
		{"raw", []hns.NetworkPolicy{hns.RawPolicy{Type: "HOSTROUTE"}}, hns.ActionKeep},
		{"another order", []hns.NetworkPolicy{set("10.60.3.8", "10.60.3.7")}, hns.ActionKeep},
		{"other values", []hns.NetworkPolicy{set("10.60.3.9")}, hns.ActionRepair},
		{"other values again", []hns.NetworkPolicy{set("10.60.3.9")}, hns.ActionKeep},
	}
	for _, s := range steps {
		d, err := n.Networks.EnsurePolicies(t.Context(), moor, s.want, nil)
		if err != nil || d.Action != s.action {
			t.Errorf("%s: %s, %v", s.name, d, err)
		}
	}
	net, err := n.Networks.ByID(t.Context(), moor)
	n.must(err)
	if len(hns.PoliciesOf[hns.HostRoute](net.Policies)) != 1 {
		t.Errorf("policies %v", net.Policies)
	}
	same(t, "sets", []hns.SetPolicy{set("10.60.3.9")}, hns.PoliciesOf[hns.SetPolicy](net.Policies))
}

// An HNS too old for a policy is not asked to take it.
func TestEnsurePoliciesGate(t *testing.T) {
	n := newNode(t, &emulator.Options{Version: emulator.WindowsServer2019RTM})
	_, err := n.Networks.EnsurePolicies(t.Context(), n.lake, []hns.NetworkPolicy{hns.HostRoute{}}, nil)
	var lacks *hns.FeatureError
	if !errors.As(err, &lacks) || lacks.Feature.Name != hns.FeatureHostRoute.Name {
		t.Errorf("error %v", err)
	}
	n.wantChanges()
}

func TestCompareNetworks(t *testing.T) {
	got := wantMoor(5000, hns.HostRoute{})
	got.Policies = append(got.Policies, hns.ProviderAddress{Address: netip.MustParseAddr("192.0.2.10")})
	if diffs := hns.CompareNetworks(&hns.Network{}, got); diffs != nil {
		t.Errorf("a want that says nothing: %v", diffs)
	}
	if diffs := hns.CompareNetworks(wantMoor(5000), got); diffs != nil {
		t.Errorf("got has more: %v", diffs)
	}
	two := wantMoor(5000)
	two.IPAMs[0].Subnets = append(two.IPAMs[0].Subnets, hns.Subnet{Prefix: prefix("10.60.4.0/24")})
	same(t, "a subnet too many", []hns.Difference{{Path: "Ipams subnet 10.60.4.0/24", Got: "10.60.4.0/24"}}, hns.CompareNetworks(wantMoor(5000), two))
	parts := wantMoor(5000)
	parts.IPAMs[0].Subnets[0].IPSubnets = []hns.IPSubnet{{Prefix: prefix("10.60.3.0/25"), Flags: 1}}
	parts.IPAMs[0].Subnets[0].Flags = 1
	whole := wantMoor(5000)
	whole.IPAMs[0].Subnets[0].IPSubnets = []hns.IPSubnet{{Prefix: prefix("10.60.3.0/24"), Flags: 1}}
	whole.MACPool = []hns.MACRange{{Start: mustMAC("00-15-5D-00-00-00"), End: mustMAC("00-15-5D-00-00-FF")}}
	same(t, "parts of a subnet", []hns.Difference{
		{Path: "Ipams[0].Subnets[0].IpSubnets[0]", Want: "10.60.3.0/25", Got: "10.60.3.0/24"},
		{Path: "Ipams[0].Subnets[0].Flags", Want: "1", Got: "0"},
	}, hns.CompareNetworks(parts, whole))
	same(t, "the parts are there", nil, hns.CompareNetworks(whole, whole))
	odd := &hns.Network{Policies: []hns.NetworkPolicy{nil, (*hns.HostRoute)(nil)}}
	hns.CompareNetworks(odd, odd) // what cannot be sent must not panic
}
