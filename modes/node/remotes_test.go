package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// TestOverlayRemotes is the life of nodes: flannel's first lease event has no
// MAC, a reboot gives another, and the old policy remained
// (flannel-io/flannel#533, #1061, #1137).
func TestOverlayRemotes(t *testing.T) {
	c := newCluster(t, "overlay", 0, nil)
	steps := []struct {
		name   string
		nodes  []node.Remote
		report string
		want   []string
	}{
		{"no MAC yet", []node.Remote{with(remote(7), func(r *node.Remote) { r.MAC = hns.MAC{} })}, "0 added, 0 changed, 0 removed, 0 kept, 0 held, 0 failed, 1 nodes skipped", nil},
		{"MAC is there", []node.Remote{remote(7)}, "1 added, 0 changed, 0 removed, 0 kept, 0 held, 0 failed, 0 nodes skipped", []string{way7}},
		{"once more", []node.Remote{remote(7)}, "0 added, 0 changed, 0 removed, 1 kept, 0 held, 0 failed, 0 nodes skipped", []string{way7}},
		{"another MAC, and another node", []node.Remote{remote(8), with(remote(7), func(r *node.Remote) { r.MAC[0] = 0x52 })},
			"1 added, 1 changed, 0 removed, 0 kept, 0 held, 0 failed, 0 nodes skipped", []string{"10.244.7.0/24 192.0.2.7 52-0A-00-00-00-07", way8}},
		{"the MAC is lost, the way stays", []node.Remote{with(remote(7), func(r *node.Remote) { r.MAC = hns.MAC{} }), remote(8)},
			"0 added, 0 changed, 0 removed, 1 kept, 1 held, 0 failed, 1 nodes skipped", []string{"10.244.7.0/24 192.0.2.7 52-0A-00-00-00-07", way8}},
		{"another address", []node.Remote{with(remote(7), func(r *node.Remote) { r.Addresses = addrs("192.0.2.77") }), remote(8)},
			"0 added, 1 changed, 0 removed, 1 kept, 0 held, 0 failed, 0 nodes skipped", []string{"10.244.7.0/24 192.0.2.77 4E-0A-00-00-00-07", way8}},
		{"re-created with another podCIDR", []node.Remote{with(remote(7), func(r *node.Remote) { r.Subnets = prefixes("10.244.17.0/24") }), remote(8)},
			"1 added, 0 changed, 1 removed, 1 kept, 0 held, 0 failed, 0 nodes skipped", []string{"10.244.17.0/24 192.0.2.7 4E-0A-00-00-00-07", way8}},
		{"two swap their podCIDRs", []node.Remote{with(remote(7), func(r *node.Remote) { r.Subnets = remote(8).Subnets }), with(remote(8), func(r *node.Remote) { r.Subnets = prefixes("10.244.17.0/24") })},
			"0 added, 2 changed, 0 removed, 0 kept, 0 held, 0 failed, 0 nodes skipped", []string{"10.244.17.0/24 192.0.2.8 4E-0A-00-00-00-08", "10.244.8.0/24 192.0.2.7 4E-0A-00-00-00-07"}},
		{"all gone", nil, "0 added, 0 changed, 2 removed, 0 kept, 0 held, 0 failed, 0 nodes skipped", nil},
	}
	for _, s := range steps {
		if got := c.reconcile(s.nodes...).String(); got != s.report {
			t.Errorf("%s: %s, want %s", s.name, got, s.report)
		}
		c.wantWays(s.name, s.want...)
	}
	got := c.counters.Snapshot()
	want := map[string]uint64{node.CountReconciles: 9, node.CountRoutesAdded: 3, node.CountRoutesChanged: 4, node.CountRoutesRemoved: 3, node.CountNodesSkipped + "no_mac": 2}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("counters %v, want %v", got, want)
	}
}

// TestVNIPassedOn: the VNI of remote routes was fixed once
// (rancher/rke2#5952, flannel-io/flannel#1215).
func TestVNIPassedOn(t *testing.T) {
	d := descriptions()["overlay"]
	d.VNI, d.Linux = 5000, nil
	m, p := newMachine(t, emulator.Options{}), planOf(t, d)
	m.ensure(p, nil)
	r, err := node.NewRemotes(m.client, nil, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Reconcile(t.Context(), []node.Remote{with(remote(7), func(r *node.Remote) { r.VNI = 5000 }), with(remote(8), func(r *node.Remote) { r.VNI = 70000 })})
	if err != nil || len(report.Skipped) != 1 || report.Skipped[0].Fault != node.FaultVNI {
		t.Fatalf("%s, %v", report, err)
	}
	n, err := m.client.Networks.ByName(t.Context(), d.Name)
	if err != nil {
		t.Fatal(err)
	}
	if got := hns.PoliciesOf[hns.RemoteSubnetRoute](n.Policies); len(got) != 1 || got[0].IsolationID != 5000 {
		t.Errorf("%+v", got)
	}
}

// TestForeignPoliciesStay: what does not lead to a part of the cluster is not
// ours; what does, is, whoever wrote it and in whatever form.
func TestForeignPoliciesStay(t *testing.T) {
	c := newCluster(t, "overlay", 0, nil)
	ctx := t.Context()
	n, err := c.client.Networks.ByName(ctx, c.plan.Description.Name)
	if err != nil {
		t.Fatal(err)
	}
	rsr := func(prefix, address string) hns.NetworkPolicy {
		return hns.RemoteSubnetRoute{DestinationPrefix: netip.MustParsePrefix(prefix), IsolationID: 4096, ProviderAddress: addr(address), DistributedRouterMAC: hns.MAC{2, 1}}
	}
	err = c.client.Networks.AddPolicies(ctx, n.ID,
		rsr("10.250.1.0/24", "192.0.2.50"), // outside
		rsr("10.244.0.0/16", "192.0.2.51"), // the whole cluster
		rsr("10.244.66.0/24", "192.0.2.66"),
		// As flanneld writes it: colons in the MAC address. The first has a member
		// more, so that it is a RawPolicy when it is read.
		hns.RawPolicy{Type: "RemoteSubnetRoute", Settings: []byte(`{"Later":1,"DestinationPrefix":"10.244.7.0/24","IsolationId":4096,"ProviderAddress":"192.0.2.7","DistributedRouterMacAddress":"4e:0a:00:00:00:07"}`)},
		hns.RawPolicy{Type: "RemoteSubnetRoute", Settings: []byte(`{"DestinationPrefix":"10.244.8.0/24","IsolationId":4096,"ProviderAddress":"192.0.2.99","DistributedRouterMacAddress":"4e:0a:00:00:00:08"}`)},
		// Right, but for the VNI.
		hns.RawPolicy{Type: "RemoteSubnetRoute", Settings: []byte(`{"Later":1,"DestinationPrefix":"10.244.9.0/24","IsolationId":4097,"ProviderAddress":"192.0.2.9","DistributedRouterMacAddress":"4e:0a:00:00:00:09"}`)},
		rsr("10.244.3.0/24", "192.0.2.67"), // this node's own subnet, led elsewhere
	)
	if err != nil {
		t.Fatal(err)
	}
	n, err = c.client.Networks.ByName(ctx, c.plan.Description.Name)
	if raw := hns.PoliciesOf[hns.RawPolicy](n.Policies); err != nil || len(raw) == 0 {
		t.Fatalf("nothing is raw: %v", err)
	}
	if got := c.reconcile(remote(7), remote(8), remote(9)).String(); got != "0 added, 2 changed, 2 removed, 1 kept, 0 held, 0 failed, 0 nodes skipped" {
		t.Error(got)
	}
	c.wantWays("taken over", "10.244.0.0/16 192.0.2.51 02-01-00-00-00-00", way8, way9, "10.250.1.0/24 192.0.2.50 02-01-00-00-00-00")
	c.reconcile()
	c.wantWays("all gone", "10.244.0.0/16 192.0.2.51 02-01-00-00-00-00", "10.250.1.0/24 192.0.2.50 02-01-00-00-00-00")
	n, err = c.client.Networks.ByName(ctx, c.plan.Description.Name)
	if err != nil || !hns.HasPolicy(n.Policies, "HostRoute") {
		t.Errorf("HostRoute is gone: %v", err)
	}
	if raw := hns.PoliciesOf[hns.RawPolicy](n.Policies); len(raw) > 0 {
		t.Errorf("left: %+v", raw)
	}
}

// TestRemotesHeal: ways that vanish come back, also with the whole network, and
// a service that is down is no node without ways.
func TestRemotesHeal(t *testing.T) {
	c := newCluster(t, "overlay", 0, nil)
	nodes := []node.Remote{remote(7), remote(8), remote(9)}
	c.reconcile(nodes...)
	ctx := t.Context()
	n, err := c.client.Networks.ByName(ctx, c.plan.Description.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.client.Networks.RemovePolicies(ctx, n.ID, hns.PoliciesOf[hns.NetworkPolicy](n.Policies[len(n.Policies)-1:])...); err != nil {
		t.Fatal(err)
	}
	if got := c.reconcile(nodes...); got.Added != 1 || got.Kept != 2 {
		t.Errorf("one vanished: %s", got)
	}
	c.wantWays("one vanished", way7, way8, way9)

	c.hns.Stop()
	if r, err := c.remotes.Reconcile(ctx, nil); !errors.Is(err, hns.ErrUnavailable) || r.Removed != 0 {
		t.Errorf("stopped: %s, %v", r, err)
	}
	if err := c.hns.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := c.reconcile(nodes...); got.Kept != 3 || got.Added != 0 {
		t.Errorf("restarted: %s", got)
	}

	if err := c.hns.Reboot(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.remotes.Reconcile(ctx, nodes); !errors.Is(err, hns.ErrNotFound) {
		t.Errorf("without a network: %v", err)
	}
	c.ensure(c.plan, nil)
	if got := c.reconcile(nodes...); got.Added != 3 {
		t.Errorf("made anew: %s", got)
	}
	c.wantWays("made anew", way7, way8, way9)

	// Somebody made the network with another VNI.
	d := c.plan.Description
	d.VNI, d.Linux = 5000, nil
	c.ensure(planOf(t, d), &node.EnsureOptions{Drift: hns.DriftRecreate})
	if _, err := c.remotes.Reconcile(ctx, nodes); !errors.Is(err, hns.ErrDrift) || !strings.Contains(err.Error(), "5000") {
		t.Errorf("another VNI: %v", err)
	}
}

func TestNewRemotes(t *testing.T) {
	for name, d := range descriptions() {
		p := planOf(t, d)
		m := newMachine(t, emulator.Options{})
		_, err := node.NewRemotes(m.client, m.host, p, nil)
		if unsupported := name != "overlay" && name != "l2bridge"; errors.Is(err, hns.ErrUnsupported) != unsupported || (err == nil) == unsupported {
			t.Errorf("%s: %v", name, err)
		}
		for _, c := range []*hns.Client{nil, m.client} {
			if _, err := node.NewRemotes(c, nil, p, nil); err == nil && (c == nil || name != "overlay") {
				t.Errorf("%s: without host, and client %v", name, c)
			}
		}
		if _, err := node.NewRemotes(nil, m.host, p, nil); err == nil {
			t.Errorf("%s: without client", name)
		}
	}
	if _, err := node.NewRemotes(nil, nil, nil, nil); err == nil {
		t.Error("without a plan")
	}
}

// TestBridgeRemotes leads by routes of the node.
func TestBridgeRemotes(t *testing.T) {
	c := newCluster(t, "l2bridge", 0, nil)
	ctx := t.Context()
	adapters, err := c.host.Adapters(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var link, own uint32
	for _, a := range adapters {
		switch a.Name {
		case "vEthernet (Ethernet)":
			link = a.Index
		case "vEthernet (cbr0_ep)":
			own = a.Index
		}
	}
	for _, r := range []hostnet.Route{
		{Destination: netip.MustParsePrefix("10.9.0.0/16"), NextHop: addr("192.0.2.1"), Interface: link},   // another network
		{Destination: netip.MustParsePrefix("10.244.0.0/16"), NextHop: addr("192.0.2.1"), Interface: link}, // the whole cluster
		{Destination: netip.MustParsePrefix("10.244.40.0/24"), NextHop: addr("192.0.2.1"), Interface: own}, // another adapter
		{Destination: netip.MustParsePrefix("10.244.41.0/24"), Interface: link},                            // on the link
		{Destination: netip.MustParsePrefix("10.244.66.0/24"), NextHop: addr("192.0.2.66"), Interface: link},
	} {
		if err := c.host.AddRoute(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	foreign := []string{"10.244.0.0/16 192.0.2.1", "10.244.40.0/24 192.0.2.1", "10.244.41.0/24 invalid IP"}
	bare := func(i int) node.Remote { return with(remote(i), func(r *node.Remote) { r.MAC = hns.MAC{} }) }
	far := with(bare(9), func(r *node.Remote) { r.Addresses = addrs("198.51.100.9") })
	wrapped := with(bare(11), func(r *node.Remote) { r.VNI = 4096 })
	calls := c.requests(func() {
		if got := c.reconcile(bare(7), far, wrapped, remote(8)).String(); got != "2 added, 0 changed, 1 removed, 0 kept, 0 held, 0 failed, 2 nodes skipped" {
			t.Error(got)
		}
	})
	if fmt.Sprint(calls) != "map[list:1]" { // for the network
		t.Errorf("HNS was asked: %v", calls)
	}
	c.wantWays("two nodes", append(foreign, "10.244.7.0/24 192.0.2.7", "10.244.8.0/24 192.0.2.8", "10.9.0.0/16 192.0.2.1")...)
	for _, want := range []string{"fault=off_link", "fault=vni"} {
		if strings.Count(c.log.String(), want) != 1 {
			t.Errorf("no %s in\n%s", want, c.log)
		}
	}
	moved := with(bare(7), func(r *node.Remote) { r.Addresses = addrs("192.0.2.77") })
	if got := c.reconcile(moved, bare(8)); got.Changed != 1 || got.Kept != 1 {
		t.Error(got)
	}
	c.wantWays("another address", append(foreign, "10.244.7.0/24 192.0.2.77", "10.244.8.0/24 192.0.2.8", "10.9.0.0/16 192.0.2.1")...)
	c.host.Reboot()
	if err := c.hns.Reboot(); err != nil {
		t.Fatal(err)
	}
	c.ensure(c.plan, nil)
	if got := c.reconcile(bare(7), bare(8)); got.Added != 2 {
		t.Error(got)
	}
	c.wantWays("rebooted", "10.244.7.0/24 192.0.2.7", "10.244.8.0/24 192.0.2.8")
	c.reconcile()
	c.wantWays("all gone")
}

// TestBridgeDualStack leads each family by its own address.
func TestBridgeDualStack(t *testing.T) {
	d := furtherDescriptions()["l2bridge-dual-stack"]
	m, p := newMachine(t, emulator.Options{Adapters: []emulator.Adapter{{Name: "Ethernet", Addresses: prefixes("192.0.2.10/24", "2001:db8::10/64")}}}), planOf(t, d)
	m.ensure(p, nil)
	r, err := node.NewRemotes(m.client, m.host, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	both := node.Remote{Name: "a", Subnets: prefixes("10.245.7.0/24", "fd00:244:0:7::/64"), Addresses: addrs("192.0.2.7", "2001:db8::7")}
	half := node.Remote{Name: "b", Subnets: prefixes("10.245.8.0/24", "fd00:244:0:8::/64"), Addresses: addrs("192.0.2.8")}
	report, err := r.Reconcile(t.Context(), []node.Remote{both, half})
	if err != nil || report.Added != 2 || len(report.Skipped) != 1 || report.Skipped[0].Fault != node.FaultNoAddress {
		t.Errorf("%s, %v, %v", report, report.Skipped, err)
	}
	c := &cluster{machine: m, plan: p}
	c.wantWays("both families", "10.245.7.0/24 192.0.2.7", "fd00:244:0:7::/64 2001:db8::7")
}

// systemRoutes is a host with routes of the system's own making.
type systemRoutes struct {
	hostnet.Host
	routes []hostnet.Route
}

func (s systemRoutes) Routes(ctx context.Context) ([]hostnet.Route, error) {
	out, err := s.Host.Routes(ctx)
	return append(out, s.routes...), err
}

func (s systemRoutes) DeleteRoute(_ context.Context, r hostnet.Route) error {
	return fmt.Errorf("delete %s", r)
}

// TestSystemRoutesStay: what Windows makes itself, or DHCP gave, is not ours.
func TestSystemRoutesStay(t *testing.T) {
	m, p := newMachine(t, emulator.Options{}), planOf(t, descriptions()["l2bridge"])
	m.ensure(p, nil)
	route := hostnet.Route{Destination: netip.MustParsePrefix("10.244.66.0/24"), NextHop: addr("192.0.2.1"), Interface: m.link().Index}
	given := route
	given.Static, given.DHCP = true, true
	r, err := node.NewRemotes(m.client, systemRoutes{m.host, []hostnet.Route{route, given}}, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := r.Reconcile(t.Context(), []node.Remote{remote(7)}); err != nil || report.Removed != 0 || report.Added != 1 {
		t.Errorf("%s, %v", report, err)
	}
}

// stuckHost does not delete.
type stuckHost struct{ hostnet.Host }

func (stuckHost) DeleteRoute(_ context.Context, r hostnet.Route) error {
	return fmt.Errorf("%s stays", r)
}

// Nobody has the addresses that stand for a link and for all on it.
func TestNoHostOfTheLink(t *testing.T) {
	c := newCluster(t, "l2bridge", 0, nil)
	for _, a := range []string{"192.0.2.0", "192.0.2.255"} {
		r := with(remote(7), func(r *node.Remote) { r.MAC, r.Addresses = hns.MAC{}, addrs(a) })
		got := c.reconcile(r)
		if got.Added != 0 || len(got.Skipped) != 1 || got.Skipped[0].Fault != node.FaultOffLink {
			t.Errorf("%s: %v", a, got)
		}
	}
}

// TestStuckRoute: what overlaps a route that cannot be removed has to wait, and
// all others go on.
func TestStuckRoute(t *testing.T) {
	c := newCluster(t, "l2bridge", 0, nil)
	bare := func(i int) node.Remote { return with(remote(i), func(r *node.Remote) { r.MAC = hns.MAC{} }) }
	c.reconcile(bare(16))
	var err error
	if c.remotes, err = node.NewRemotes(c.client, stuckHost{c.host}, c.plan, nil); err != nil {
		t.Fatal(err)
	}
	heir := with(bare(17), func(r *node.Remote) { r.Subnets = prefixes("10.244.16.0/22") })
	report, err := c.remotes.Reconcile(t.Context(), []node.Remote{heir, bare(8)})
	if err == nil || len(report.Failed) != 2 || report.Added != 1 {
		t.Errorf("%s, %v", report, err)
	}
	c.wantWays("stuck", "10.244.16.0/24 192.0.2.16", "10.244.8.0/24 192.0.2.8")
}

// TestNoLink: the node's address is on no adapter.
func TestNoLink(t *testing.T) {
	m, p := newMachine(t, emulator.Options{}), planOf(t, descriptions()["l2bridge"])
	m.ensure(p, nil)
	host := hostnet.NewMemory(hostnet.Fixed(hostnet.Adapter{Name: "Ethernet", Index: 1, Addresses: prefixes("198.51.100.10/24")}))
	r, err := node.NewRemotes(m.client, host, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), []node.Remote{remote(7)}); !errors.Is(err, node.ErrAdapter) {
		t.Errorf("%v", err)
	}
}

// TestRoutesBelow: routes that were made while the network was gone are on the
// bare adapter, which carries nothing once HNS has taken it over.
func TestRoutesBelow(t *testing.T) {
	c := newCluster(t, "l2bridge", 0, nil)
	for i, dst := range []string{"10.244.7.0/24", "10.244.8.0/24", "172.16.0.0/16"} {
		r := hostnet.Route{Destination: netip.MustParsePrefix(dst), NextHop: addr("192.0.2.7").Next(), Interface: 1}
		if i == 0 {
			r.NextHop = addr("192.0.2.7")
		}
		if err := c.host.AddRoute(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	c.reconcile(with(remote(7), func(r *node.Remote) { r.MAC = hns.MAC{} }))
	routes, err := c.host.Routes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range routes {
		got = append(got, r.String())
	}
	slices.Sort(got)
	want := []string{fmt.Sprintf("10.244.7.0/24 via 192.0.2.7 on interface %d", c.link().Index), "172.16.0.0/16 via 192.0.2.8 on interface 1"}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// TestBeforeEnsure: without the network nothing is done, in both modes.
func TestBeforeEnsure(t *testing.T) {
	for _, name := range []string{"overlay", "l2bridge"} {
		m, p := newMachine(t, emulator.Options{}), planOf(t, descriptions()[name])
		r, err := node.NewRemotes(m.client, m.host, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Reconcile(t.Context(), []node.Remote{remote(7)}); !errors.Is(err, hns.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if routes, err := m.host.Routes(t.Context()); err != nil || len(routes) > 0 {
			t.Errorf("%s: %v, %v", name, routes, err)
		}
	}
}

// TestKilledReconcile kills the agent at each of its calls: the next one goes on.
func TestKilledReconcile(t *testing.T) {
	before := []node.Remote{remote(7), remote(8), remote(20)}
	after := []node.Remote{with(remote(7), func(r *node.Remote) { r.Addresses = addrs("192.0.2.77") }), remote(8), remote(9), remote(11)}
	for _, mode := range []string{"overlay", "l2bridge"} {
		for _, batch := range []int{1, 2, 0} {
			t.Run(fmt.Sprint(mode, batch), func(t *testing.T) {
				killed := 0
				for at := 1; ; at++ {
					for _, effect := range []bool{false, true} {
						c := newCluster(t, mode, batch, nil)
						c.reconcile(before...)
						k := &killer{at: at, after: effect}
						err := c.mortal(k, func(client *hns.Client, host hostnet.Host) error {
							r, err := node.NewRemotes(client, host, c.plan, &node.RemotesOptions{Batch: batch})
							if err != nil {
								return err
							}
							_, err = r.Reconcile(t.Context(), after)
							return err
						})
						if !k.dead {
							if err != nil || killed < 6 {
								t.Errorf("%d kills, %v", killed, err)
							}
							return
						}
						killed++
						fresh, err := node.NewRemotes(c.client, c.host, c.plan, nil)
						if err != nil {
							t.Fatal(err)
						}
						if _, err := fresh.Reconcile(t.Context(), after); err != nil {
							t.Fatal(err)
						}
						c2 := newCluster(t, mode, batch, nil)
						c2.reconcile(after...)
						c.wantWays(fmt.Sprintf("killed at %d, effect %t", at, effect), c2.ways()...)
					}
				}
			})
		}
	}
}
