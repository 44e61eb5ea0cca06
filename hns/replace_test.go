package hns_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// anew is one kind of object that is there and is to be made anew.
type anew struct {
	id   hns.ID
	kind hns.Kind
	// ensure asks for the other one.
	ensure func(context.Context) (any, error)
}

var anewOpts = &hns.EnsureOptions{Drift: hns.DriftRecreate}

// anews are all that HNS cannot change in place, one of each kind.
var anews = map[string]func(*node) anew{
	"network": func(n *node) anew {
		old, _, err := n.Networks.Ensure(n.t.Context(), wantMoor(5000, hns.HostRoute{}, route("10.60.7.0/24", "192.0.2.7", "4e-0a-00-00-00-07")), nil)
		n.must(err)
		return anew{old.ID, hns.KindNetwork, func(ctx context.Context) (any, error) {
			now, _, err := n.Networks.Ensure(ctx, wantMoor(5001), anewOpts)
			return now, err
		}}
	},
	"endpoint": func(n *node) anew {
		old := n.endpoint(hns.Endpoint{Name: "x", Policies: []hns.EndpointPolicy{hns.QOS{MaximumOutgoingBandwidthInBytes: 7}}}, hns.ID{})
		return anew{old.ID, hns.KindEndpoint, func(ctx context.Context) (any, error) {
			now, _, err := n.Endpoints.Ensure(ctx, &hns.Endpoint{Name: "x", Network: n.lake, IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.99")}}}, anewOpts)
			return now, err
		}}
	},
	"endpoint of the node": func(n *node) anew {
		old, _, err := n.Endpoints.EnsureHost(n.t.Context(), n.bridge(), nil)
		n.must(err)
		return anew{old.ID, hns.KindEndpoint, func(ctx context.Context) (any, error) {
			want := n.bridge()
			want.IPConfigs[0].Address = addr("10.50.3.99")
			now, _, err := n.Endpoints.EnsureHost(ctx, want, anewOpts)
			return now, err
		}}
	},
	"namespace": func(n *node) anew {
		return anew{podNS, hns.KindNamespace, func(ctx context.Context) (any, error) {
			now, _, err := n.Namespaces.Ensure(ctx, &hns.Namespace{ID: podNS, Type: hns.NamespaceGuest}, anewOpts)
			return now, err
		}}
	},
	"load balancer": func(n *node) anew {
		a, b := n.endpoint(hns.Endpoint{Name: "a"}, hns.ID{}).ID, n.endpoint(hns.Endpoint{Name: "b"}, hns.ID{}).ID
		old, _, err := n.LoadBalancers.Ensure(n.t.Context(), webService(a, b), nil)
		n.must(err)
		return anew{old.ID, hns.KindLoadBalancer, func(ctx context.Context) (any, error) {
			now, _, err := n.LoadBalancers.Ensure(ctx, webService(a), nil)
			return now, err
		}}
	},
	"SDN route": func(n *node) anew {
		a, b := n.endpoint(hns.Endpoint{Name: "a"}, hns.ID{}).ID, n.endpoint(hns.Endpoint{Name: "b"}, hns.ID{}).ID
		old, err := n.Routes.Create(n.t.Context(), &hns.SDNRouteObject{Endpoints: []hns.ID{a, b}, Routes: []hns.SDNRoute{{DestinationPrefix: prefix("10.96.0.0/12"), NeedEncap: true}}})
		n.must(err)
		return anew{old.ID, hns.KindRoute, func(ctx context.Context) (any, error) {
			now, err := n.Routes.Replace(ctx, &hns.SDNRouteObject{ID: old.ID, Endpoints: []hns.ID{a}, Routes: old.Routes})
			return now, err
		}}
	},
}

// state is all that HNS shows, as text.
func (n *node) state() string {
	n.t.Helper()
	s, err := n.Snapshot(n.t.Context())
	n.must(err)
	b, err := s.Bytes()
	n.must(err)
	return subnetIDs.ReplaceAllString(string(b), "")
}

// subnetIDs are ids inside an object: HNS chooses them anew.
var subnetIDs = regexp.MustCompile(`\n {14,}"ID": "[^"]*",?`)

// Whatever HNS says to the create, no object gets lost without a word.
func TestMakeAnew(t *testing.T) {
	refused := emulator.Fault{Verb: hns.VerbCreate, Code: hns.CodeDegraded}
	lost := emulator.Fault{Verb: hns.VerbCreate, Code: hns.CodeRPCCallFailed, After: true}
	const (
		made = iota // the new one is there
		back        // the old one is there as it was, and the error says so
		gone        // neither, and the error says so
	)
	tests := []struct {
		name   string
		faults []emulator.Fault
		want   int
	}{
		{"no failure", nil, made},
		{"refused", []emulator.Fault{refused}, back},
		{"failed after the effect", []emulator.Fault{lost}, made},
		{"refused, and the put-back failed after the effect", []emulator.Fault{refused, lost}, back},
		{"refused for good", []emulator.Fault{{Verb: hns.VerbCreate, Code: hns.CodeDegraded, Times: -1}}, gone},
	}
	for kind, start := range anews {
		for _, tt := range tests {
			t.Run(kind+" "+tt.name, func(t *testing.T) {
				n := newNode(t, nil)
				a := start(n)
				before := n.state()
				for i, f := range tt.faults {
					f.Kind, f.Nth = a.kind, i+1
					n.h.Inject(f)
				}
				_, err := a.ensure(t.Context())
				switch tt.want {
				case made:
					if n.must(err); n.state() == before {
						t.Error("nothing changed")
					}
				case back:
					if err == nil || !strings.Contains(err.Error(), "put back") || errors.Is(err, hns.ErrLeftBehind) {
						t.Errorf("error %v", err)
					}
					same(t, "state", before, n.state())
				case gone:
					if !errors.Is(err, hns.ErrLeftBehind) || !strings.Contains(err.Error(), a.id.String()) {
						t.Errorf("error %v", err)
					}
				}
			})
		}
	}
}

// While the create is out the old one is not put back beside it.
func TestMakeAnewOutcomeUnknown(t *testing.T) {
	for kind, start := range anews {
		t.Run(kind, func(t *testing.T) {
			n := newNode(t, nil)
			a := start(n)
			ctx, cancel := context.WithCancel(t.Context())
			release := make(chan struct{})
			defer close(release)
			n.h.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: a.kind, Hang: release})
			asked := n.rec.Backend
			n.rec.Backend = backend(func(r hns.Request) (hns.Response, error) {
				if r.Verb == hns.VerbCreate {
					cancel()
				}
				return asked.Do(r)
			})
			n.forget()
			_, err := a.ensure(ctx)
			if !errors.Is(err, hns.ErrOutcomeUnknown) || errors.Is(err, hns.ErrLeftBehind) || !strings.Contains(err.Error(), a.id.String()+" is deleted") {
				t.Errorf("error %v", err)
			}
			n.wantChanges("delete "+a.kind.String(), "create "+a.kind.String())
		})
	}
}

// If HNS answers nothing after the failed create, both may be there or none.
func TestMakeAnewServiceDown(t *testing.T) {
	for kind, start := range anews {
		t.Run(kind, func(t *testing.T) {
			n := newNode(t, nil)
			a := start(n)
			asked := n.rec.Backend
			n.rec.Backend = backend(func(r hns.Request) (hns.Response, error) {
				if r.Verb == hns.VerbCreate {
					n.h.Stop()
				}
				return asked.Do(r)
			})
			_, err := a.ensure(t.Context())
			if !errors.Is(err, hns.ErrLeftBehind) || !errors.Is(err, hns.ErrUnavailable) || !strings.Contains(err.Error(), a.id.String()) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// What reading can tell is told before anything is deleted, by the dry run too.
func TestMakeAnewInTheWay(t *testing.T) {
	nat := func(name, subnet string) *hns.Network {
		return &hns.Network{Name: name, Type: hns.NAT, IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: prefix(subnet)}}}}}
	}
	x := func(n *node, change func(*hns.Endpoint)) func(*hns.EnsureOptions) (hns.Decision, error) {
		n.endpoint(hns.Endpoint{Name: "x"}, hns.ID{})
		want := &hns.Endpoint{Name: "x", Network: n.lake}
		change(want)
		return func(o *hns.EnsureOptions) (hns.Decision, error) {
			_, d, err := n.Endpoints.Ensure(t.Context(), want, o)
			return d, err
		}
	}
	tests := []struct {
		name  string
		start func(*node) func(*hns.EnsureOptions) (hns.Decision, error)
		is    error
		names string
	}{
		{"subnet of another NAT network", func(n *node) func(*hns.EnsureOptions) (hns.Decision, error) {
			for _, want := range []*hns.Network{nat("a", "10.1.0.0/24"), nat("b", "10.2.0.0/24")} {
				_, _, err := n.Networks.Ensure(t.Context(), want, nil)
				n.must(err)
			}
			return func(o *hns.EnsureOptions) (hns.Decision, error) {
				_, d, err := n.Networks.Ensure(t.Context(), nat("a", "10.2.0.0/25"), o)
				return d, err
			}
		}, hns.ErrOverlap, `network "b"`},
		{"id of another network", func(n *node) func(*hns.EnsureOptions) (hns.Decision, error) {
			n.newNetwork("moor", "10.60.3.0/24", "10.60.3.1")
			want := &hns.Network{Name: "moor", Type: hns.L2Bridge, ID: n.lake}
			return func(o *hns.EnsureOptions) (hns.Decision, error) {
				_, d, err := n.Networks.Ensure(t.Context(), want, o)
				return d, err
			}
		}, hns.ErrExists, `network "lake"`},
		{"address of another endpoint", func(n *node) func(*hns.EnsureOptions) (hns.Decision, error) {
			n.endpoint(hns.Endpoint{Name: "y", IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.99")}}}, hns.ID{})
			return x(n, func(w *hns.Endpoint) { w.IPConfigs = []hns.IPConfig{{Address: addr("10.50.3.99")}} })
		}, hns.ErrAddressInUse, `endpoint "y"`},
		{"id of another endpoint", func(n *node) func(*hns.EnsureOptions) (hns.Decision, error) {
			y := n.endpoint(hns.Endpoint{Name: "y"}, hns.ID{}).ID
			return x(n, func(w *hns.Endpoint) { w.ID = y })
		}, hns.ErrExists, `endpoint "y"`},
		{"address in no subnet", func(n *node) func(*hns.EnsureOptions) (hns.Decision, error) {
			return x(n, func(w *hns.Endpoint) { w.IPConfigs = []hns.IPConfig{{Address: addr("10.51.3.99")}} })
		}, hns.ErrInvalid, "10.50.3.0/24"},
		{"network that is gone", func(n *node) func(*hns.EnsureOptions) (hns.Decision, error) {
			return x(n, func(w *hns.Endpoint) { w.Network = podID })
		}, hns.ErrNotFound, podID.String()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, nil)
			ensure := tt.start(n)
			n.forget()
			for _, dry := range []bool{true, false} {
				d, err := ensure(&hns.EnsureOptions{Drift: hns.DriftRecreate, DryRun: dry})
				if d.Action != hns.ActionRefuse || !errors.Is(err, hns.ErrDrift) || !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.names) {
					t.Errorf("dry %v: %s, %v", dry, d, err)
				}
			}
			n.wantChanges()
		})
	}
}

// A dry run of a create says what the create would.
func TestDryCreateInTheWay(t *testing.T) {
	n := newNode(t, nil)
	nat := &hns.Network{Name: "a", Type: hns.NAT, IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: prefix("10.1.0.0/24")}}}}}
	_, _, err := n.Networks.Ensure(t.Context(), nat, nil)
	n.must(err)
	n.endpoint(hns.Endpoint{Name: "y", IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.99")}}}, hns.ID{})
	nat.Name = "b"
	want := &hns.Endpoint{Name: "x", Network: n.lake, IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.99")}}}
	for _, dry := range []bool{true, false} {
		_, d, err := n.Networks.Ensure(t.Context(), nat, &hns.EnsureOptions{DryRun: dry})
		if decided(t, d, hns.ActionCreate); !errors.Is(err, hns.ErrOverlap) {
			t.Errorf("dry %v: %v", dry, err)
		}
		_, d, err = n.Endpoints.Ensure(t.Context(), want, &hns.EnsureOptions{DryRun: dry})
		if decided(t, d, hns.ActionCreate); !errors.Is(err, hns.ErrAddressInUse) {
			t.Errorf("dry %v: %v", dry, err)
		}
	}
}
