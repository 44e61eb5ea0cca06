package cniplugin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// careless is an IPAM with a defect.
type careless struct {
	*folderIPAM
	forgets bool // to give back
	hasty   bool // gives back what it has just given
}

func (c careless) Allocate(ctx context.Context, req ipam.Request) (*ipam.Lease, error) {
	lease, err := c.folderIPAM.Allocate(ctx, req)
	if err == nil && c.hasty {
		err = c.folderIPAM.Release(ctx, req)
	}
	return lease, err
}

func (c careless) Release(ctx context.Context, req ipam.Request) error {
	if c.forgets {
		return nil
	}
	return c.folderIPAM.Release(ctx, req)
}

// swallows says that endpoints are deleted and deletes none: all, or the one
// that follows a failure.
type swallows struct {
	hns.Backend
	afterFailure bool
	failed       atomic.Bool
}

func (s *swallows) Do(r hns.Request) (hns.Response, error) {
	if r.Verb == hns.VerbDelete && r.Kind == hns.KindEndpoint && (!s.afterFailure || s.failed.Swap(false)) {
		return hns.Response{}, nil
	}
	resp, err := s.Backend.Do(r)
	if err != nil {
		s.failed.Store(true)
	}
	return resp, err
}

func (a *actor) through(b hns.Backend) {
	a.plugin.Open = func(o *hns.Options) (*hns.Client, error) { return hns.New(b, o), nil }
}

// TestPlantedLeaks puts defects into the plugin, and the sweep finds each of them.
func TestPlantedLeaks(t *testing.T) {
	st := newStage(t, modes.L2Bridge, byOwnIPAM)
	create := func(a act) trouble {
		return trouble{victim: victim{Nth: 4, Name: "create endpoint"}, Act: a, Code: hns.CodeAccessDenied}
	}
	add := func(a act) scenario { return scenario{"ADD", []trouble{create(a)}} }
	// The ninth call of a verb is none, so all goes well.
	well := func(verb string) scenario { return scenario{verb, []trouble{{victim: victim{Nth: 9}, Act: fails}}} }
	del := scenario{"DEL", []trouble{{victim: victim{Nth: 1, Name: "list endpoint"}, Act: fails, Code: hns.CodeAccessDenied}}}
	other := func(do func(*actor, *hns.Endpoint) error) func(*actor) {
		return func(a *actor) {
			a.plugin.Hooks.BeforeDetach = func(ctx context.Context, p *cniplugin.Pod) error {
				e, err := p.Client.Endpoints.ByName(ctx, stranger+"_"+a.network.Name)
				if err != nil {
					return err
				}
				return do(a, e)
			}
		}
	}
	tests := []struct {
		name     string
		scenario scenario
		plant    func(*actor)
		want     string // in what is found; empty: nothing may be found
	}{
		{"none", del, func(*actor) {}, ""},
		{"none in ADD", add(fails), func(*actor) {}, ""},
		{"IPAM forgets to give back", del, func(a *actor) { a.plugin.IPAM = careless{folderIPAM: a.own, forgets: true} }, "left: lease lake/10.50.3.11: sbx_01/eth0"},
		{"IPAM forgets what a failed ADD gives back", add(fails), func(a *actor) { a.plugin.IPAM = careless{folderIPAM: a.own, forgets: true} }, "after the failed ADD: left: lease"},
		{"IPAM forgets after a kill", add(dies), func(a *actor) { a.plugin.IPAM = careless{folderIPAM: a.own, forgets: true} }, "left: lease"},
		{"IPAM gives back at once", well("ADD"), func(a *actor) { a.plugin.IPAM = careless{folderIPAM: a.own, hasty: true} },
			"endpoint sbx_01_lake has 10.50.3.11, which it has no lease for"},
		{"a delete is not done", del, func(a *actor) { a.through(&swallows{Backend: a.hns}) }, "left: Endpoints/"},
		{"another's endpoint goes", well("DEL"), other(func(a *actor, e *hns.Endpoint) error { return a.client.Endpoints.Delete(t.Context(), e.ID) }), "gone: Endpoints/"},
		{"another's endpoint is detached", well("DEL"), other(func(a *actor, e *hns.Endpoint) error {
			if e.Namespace.IsZero() {
				return nil
			}
			return a.client.Namespaces.RemoveEndpoint(t.Context(), e.Namespace, e.ID)
		}), "changed: Endpoints/"},
		{"another's lease goes", well("DEL"), other(func(a *actor, _ *hns.Endpoint) error {
			return os.RemoveAll(filepath.Join(a.leaseDir(), "lake", "10.50.3.10"))
		}), "gone: lease lake/10.50.3.10: stranger/eth0"},
		{"a file stays", del, func(a *actor) {
			a.plugin.Hooks.BeforeDetach = func(context.Context, *cniplugin.Pod) error {
				return os.WriteFile(filepath.Join(a.plugin.StateDir, "locks", "more.lock"), nil, 0o600)
			}
		}, "left: file locks/more.lock"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := st.play(t, tt.scenario, tt.plant)
			found := strings.Join(append(r.leaks, r.wrong...), "\n")
			if tt.want == "" && found != "" || !strings.Contains(found, tt.want) {
				t.Errorf("found %q, want %q", found, tt.want)
			}
		})
	}
}

// A defect that shows only where another call has failed: the sweep comes to it.
func TestPlantedLeakBehindAFailure(t *testing.T) {
	st := newStage(t, modes.L2Bridge, byHNS)
	plant := func(a *actor) { a.through(&swallows{Backend: a.hns, afterFailure: true}) }
	found := 0
	all := st.scenarios(t, "DEL")
	for _, s := range all {
		if s.kills() || s.has(late) || s.has(later) {
			continue // a client of their own, or a word when it is late
		}
		if r := st.play(t, s, plant); len(r.leaks) > 0 {
			found++
		}
	}
	if found == 0 || found == len(all) {
		t.Errorf("%d of %d scenarios found it", found, len(all))
	}
}
