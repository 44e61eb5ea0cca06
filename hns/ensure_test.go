package hns_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// changing names the requests that change something, in order.
func (n *node) changing() []string {
	var out []string
	for _, q := range n.rec.sent() {
		reads := q.Verb == hns.VerbGet || q.Verb == hns.VerbList || q.Verb == hns.VerbCall && q.Method == "GET"
		if !reads {
			out = append(out, q.Verb.String()+" "+q.Kind.String())
		}
	}
	return out
}

// wantChanges checks the requests that changed something since the last check.
func (n *node) wantChanges(want ...string) {
	n.t.Helper()
	same(n.t, "changing requests", want, n.changing())
	n.forget()
}

// decided checks the action, and the paths of the differences.
func decided(t *testing.T, d hns.Decision, action hns.Action, paths ...string) {
	t.Helper()
	if d.Action != action {
		t.Errorf("decision %q, want %s", d, action)
	}
	var got []string
	for _, diff := range d.Differences {
		got = append(got, diff.Path)
	}
	same(t, "differences of "+d.String(), paths, got)
}

// subnets is one IPAM of subnets, each with the gateway beside it.
func subnets(pairs ...string) []hns.IPAM {
	var out []hns.Subnet
	for p := range slices.Chunk(pairs, 2) {
		out = append(out, hns.Subnet{Prefix: prefix(p[0]), Routes: []hns.Route{hns.DefaultRoute(addr(p[1]))}})
	}
	return []hns.IPAM{{Subnets: out}}
}

// wantLake is the network "lake" that newNode makes.
func wantLake() *hns.Network {
	return &hns.Network{Name: "lake", Type: hns.L2Bridge, IPAMs: subnets("10.50.3.0/24", "10.50.3.1")}
}

// wantMoor is an overlay network with policies of all three sorts: fixed,
// known by a key, and free.
func wantMoor(vni uint32, live ...hns.NetworkPolicy) *hns.Network {
	moor := &hns.Network{Name: "moor", Type: hns.Overlay, IPAMs: subnets("10.60.3.0/24", "10.60.3.1")}
	moor.IPAMs[0].Subnets[0].Policies = []hns.SubnetPolicy{hns.VSID{IsolationID: vni}}
	moor.Policies = append([]hns.NetworkPolicy{hns.NetAdapterName{Name: "Ethernet"}}, live...)
	return moor
}

func route(to, via, mac string) hns.RemoteSubnetRoute {
	return hns.RemoteSubnetRoute{DestinationPrefix: prefix(to), IsolationID: 5000, ProviderAddress: addr(via), DistributedRouterMAC: mustMAC(mac)}
}

// Nothing is known while the service is down, or while the caller may not read:
// that is no reason to create (containernetworking/plugins#215,
// kubernetes/kubernetes#139519).
func TestEnsureDoesNotTakeFailureForAbsence(t *testing.T) {
	ensures := map[string]func(context.Context, *node) error{
		"network": func(ctx context.Context, n *node) error {
			_, _, err := n.Networks.Ensure(ctx, wantMoor(5000), nil)
			return err
		},
		"endpoint": func(ctx context.Context, n *node) error {
			_, _, err := n.Endpoints.Ensure(ctx, &hns.Endpoint{Name: "x", Network: n.lake}, nil)
			return err
		},
		"namespace": func(ctx context.Context, n *node) error {
			_, _, err := n.Namespaces.Ensure(ctx, &hns.Namespace{ID: podID}, nil)
			return err
		},
		"load balancer": func(ctx context.Context, n *node) error {
			_, _, err := n.LoadBalancers.Ensure(ctx, webService(podID), nil)
			return err
		},
		"policies": func(ctx context.Context, n *node) error {
			_, err := n.Networks.EnsurePolicies(ctx, n.lake, []hns.NetworkPolicy{hns.HostRoute{}}, nil)
			return err
		},
	}
	for name, ensure := range ensures {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, nil)
			remove := n.h.Inject(emulator.Fault{Times: -1, Code: hns.CodeAccessDenied})
			wantIs(t, ensure(t.Context(), n), hns.ErrDenied)
			remove()
			n.h.Stop()
			wantIs(t, ensure(t.Context(), n), hns.ErrUnavailable)
			n.wantChanges()
		})
	}
}

// With Patient the service may come back meanwhile; the context is the bound.
func TestEnsurePatient(t *testing.T) {
	patient := &hns.EnsureOptions{Patient: true}

	n := newNode(t, nil)
	n.h.Inject(emulator.Fault{Times: 2, Code: hns.CodeRPCUnavailable})
	_, d, err := n.Networks.Ensure(t.Context(), wantLake(), patient)
	n.must(err)
	decided(t, d, hns.ActionKeep)
	n.wantChanges()

	// The service dies after it made the network: the second try finds it.
	fault := emulator.Fault{Verb: hns.VerbCreate, Code: hns.CodeRPCCallFailed, After: true}
	n.h.Inject(fault)
	n.h.Inject(emulator.Fault{Verb: hns.VerbList, Nth: 2, Code: hns.CodeRPCUnavailable})
	_, d, err = n.Networks.Ensure(t.Context(), wantMoor(5000), patient)
	n.must(err)
	decided(t, d, hns.ActionCreate)
	n.wantChanges("create network")

	// Wherever the context ends, what HNS said before is told.
	n.h.Stop()
	n.forget()
	for at := range 8 {
		_, _, err = n.Networks.Ensure(&endingContext{Context: t.Context(), left: at}, wantLake(), patient)
		if len(n.rec.sent()) > 0 {
			wantIs(t, err, hns.ErrUnavailable)
		} else {
			wantIs(t, err, hns.ErrNotSent)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d: error %v", at, err)
		}
		n.forget()
	}
}

// endingContext is a context that has ended when it is asked once too often.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// What is not well formed is refused before HNS hears of it.
func TestEnsureChecks(t *testing.T) {
	n := newNode(t, nil)
	tests := []struct {
		name   string
		ensure func() error
		want   []string
	}{
		{"no network", func() error { _, _, err := n.Networks.Ensure(t.Context(), nil, nil); return err }, []string{" |  | "}},
		{"no endpoint", func() error { _, _, err := n.Endpoints.Ensure(t.Context(), nil, nil); return err }, []string{" |  | "}},
		{"no load balancer", func() error { _, _, err := n.LoadBalancers.Ensure(t.Context(), nil, nil); return err }, []string{" |  | "}},
		{"no namespace id", func() error { _, _, err := n.Namespaces.Ensure(t.Context(), &hns.Namespace{}, nil); return err }, []string{"ID |  | "}},
		{"no name", func() error {
			_, _, err := n.Networks.Ensure(t.Context(), &hns.Network{Type: hns.NAT}, nil)
			return err
		}, []string{"Name |  | network-name"}},
		{"a load balancer without ports", func() error {
			_, _, err := n.LoadBalancers.Ensure(t.Context(), &hns.LoadBalancer{}, nil)
			return err
		}, []string{"PortMappings |  | no-ports"}},
		{"two routes to one prefix", func() error {
			_, _, err := n.Networks.Ensure(t.Context(), wantMoor(5000, route("10.60.7.0/24", "192.0.2.7", "4e-0a-00-00-00-07"), route("10.60.7.0/24", "192.0.2.8", "4e-0a-00-00-00-08")), nil)
			return err
		}, []string{"Policies[2] RemoteSubnetRoute |  | "}},
		{"a policy for create alone", func() error {
			_, err := n.Networks.EnsurePolicies(t.Context(), n.lake, []hns.NetworkPolicy{hns.NetAdapterName{Name: "x"}}, nil)
			return err
		}, []string{"Policies[0].Type | NetAdapterName | "}},
		{"nil policy", func() error {
			_, err := n.Networks.EnsurePolicies(t.Context(), n.lake, []hns.NetworkPolicy{nil}, nil)
			return err
		}, []string{"Policies[0] |  | "}},
		// The MAC of a peer may be unknown yet (flannel-io/flannel#533).
		{"a route without MAC", func() error {
			r := route("10.60.7.0/24", "192.0.2.7", "4e-0a-00-00-00-07")
			r.DistributedRouterMAC = hns.MAC{}
			_, err := n.Networks.EnsurePolicies(t.Context(), n.lake, []hns.NetworkPolicy{r}, nil)
			return err
		}, []string{"Policies[0].Settings.DistributedRouterMacAddress |  | "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n.forget()
			same(t, "complaints", tt.want, complaints(tt.ensure()))
			same(t, "requests", nil, n.rec.verbs())
		})
	}
}
