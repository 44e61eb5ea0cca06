package cniplugin_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/cniplugin/internal/judge"
)

// sweepModes are the modes that a Plugin serves; one that joins needs a line.
var sweepModes = []modes.Mode{
	modes.L2Bridge,
	modes.L2Tunnel,
	modes.Overlay,
	modes.Transparent,
	modes.NAT,
}

// swept counts scenarios: all, those that left something or took something from
// others, and those in which GC had to take what came after DEL. TestMain prints
// it.
var swept struct{ scenarios, leaks, byGC atomic.Int64 }

func printSwept() {
	if n := swept.scenarios.Load(); n > 0 {
		fmt.Printf("left by effects that came after DEL, and removed by GC: %d\n", swept.byGC.Load())
		fmt.Printf("scenarios: %d, leaks: %d\n", n, swept.leaks.Load())
	}
}

// TestFaultSweep disturbs each call that ADD and DEL make, in every way in which a
// call can fail, hang or be cut short, and wants the same each time: DEL, repeated
// until it succeeds, leaves nothing, and touches nobody else's. What they call is
// found out by a first run. (ovn-kubernetes/ovn-kubernetes#390,
// containernetworking/plugins#286, Azure/azure-container-networking#358,
// antrea-io/antrea#650)
func TestFaultSweep(t *testing.T) {
	for _, m := range sweepModes {
		for _, source := range []string{byHostLocal, byOwnIPAM, byHNS} {
			if m == modes.L2Tunnel && source == byHNS {
				continue // Azure, not HNS, gives addresses there; ADD refuses it
			}
			t.Run(fmt.Sprintf("%s with addresses of %s", m, source), func(t *testing.T) {
				st := newStage(t, m, source)
				for _, verb := range []string{"ADD", "DEL"} {
					for _, s := range st.scenarios(t, verb) {
						t.Run(s.String(), func(t *testing.T) {
							t.Parallel()
							swept.scenarios.Add(1)
							r := st.play(t, s, nil)
							if r.byGC {
								swept.byGC.Add(1)
							}
							if len(r.leaks) > 0 {
								swept.leaks.Add(1)
							}
							for _, finding := range slices.Concat(r.leaks, r.wrong) {
								t.Error(finding)
							}
						})
					}
				}
			})
		}
	}
}

// scenario is a verb with what befalls its calls.
type scenario struct {
	verb     string
	troubles []trouble
}

func (s scenario) String() string {
	name := s.verb
	for _, tr := range s.troubles {
		name += ", " + tr.String()
	}
	return name
}

// scenarios are all those of a verb: one trouble with each call, and, where the
// verb goes on after a failure, one more with each call that it makes then.
func (st *stage) scenarios(t *testing.T, verb string) (out []scenario) {
	t.Helper()
	for _, c := range st.callsOf(t, scenario{verb: verb}) {
		for _, tr := range st.troubles(verb, c) {
			out = append(out, scenario{verb, []trouble{tr}})
		}
		if st.source == byHostLocal {
			continue // the second step is the same, and processes take their time
		}
		for _, after := range []bool{false, true} {
			first := scenario{verb, []trouble{{victim: c, Act: fails, After: after, Code: hns.CodeAccessDenied}}}
			for _, next := range st.callsOf(t, first) {
				if next.place > c.place {
					for _, tr := range st.again(next) {
						out = append(out, scenario{verb, append(slices.Clone(first.troubles), tr)})
					}
				}
			}
		}
	}
	return out
}

// callsOf runs a scenario and returns the calls that it made.
func (st *stage) callsOf(t *testing.T, s scenario) []victim {
	t.Helper()
	a := st.enter(t, s.verb, false)
	if st.source == byHostLocal {
		a.path = installShim(t, a, trouble{})
	}
	a.hns.ResetCalls()
	ctx, _ := a.arm(s)
	if err := a.verb(ctx, s.verb); err != nil && len(s.troubles) == 0 {
		t.Fatalf("%s without any trouble: %v", s.verb, err)
	}
	return a.calls()
}

// result is what a scenario came to.
type result struct {
	leaks []string // what was left, gone or changed in the end
	wrong []string // what else was not as it must be
	byGC  bool     // whether GC had to take something
}

func (r *result) complain(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// play runs a scenario. plant, if not nil, puts a defect into the plugin before.
func (st *stage) play(t *testing.T, s scenario, plant func(*actor)) (r result) {
	t.Helper()
	a := st.enter(t, s.verb, s.kills())
	if plant != nil {
		plant(a)
	}
	var err error
	var land func()
	if s.kills() {
		land = a.runAndDie(s)
		err = errKilled
	} else {
		var ctx context.Context
		ctx, land = a.arm(s)
		err = a.verb(ctx, s.verb)
	}
	if s.has(late) {
		land()
	}
	now := a.look()
	for _, finding := range st.clean.Unsafe(now) {
		r.complain("after %s: %s", s.verb, finding)
	}
	r.check(st, s, err, now)
	if s.verb == "ADD" || err != nil {
		if err := a.delUntilDone(); err != nil {
			r.complain("DEL still fails: %v", err)
		}
	}
	r.leaks = st.clean.Verdict(a.look())
	if !s.has(later) && !s.has(outlives) {
		return r
	}
	land()
	if r.byGC = len(st.clean.Verdict(a.look())) > 0; r.byGC {
		if err := a.gc(context.Background()); err != nil {
			r.complain("GC: %v", err)
		}
		r.leaks = append(r.leaks, st.clean.Verdict(a.look())...)
	}
	return r
}

// delUntilDone sends DEL as the runtime does.
func (a *actor) delUntilDone() (err error) {
	a.path = cmp.Or(a.tools, a.dir)
	if a.recover != nil {
		a.recover()
	}
	if a.own != nil {
		a.own.around = nil
	}
	for range 4 {
		if err = a.verb(context.Background(), "DEL"); err == nil {
			return nil
		}
	}
	return err
}

var errKilled = errors.New("killed")

// check looks at what the verb said, and at what there is then.
func (r *result) check(st *stage, s scenario, err error, now *judge.Scene) {
	first := s.troubles[0]
	hung := slices.Contains([]act{hangs, late, later}, first.Act)
	var refused *hns.Error
	switch {
	case errors.Is(err, errKilled):
		return
	case err == nil && s.verb == "ADD":
		// It got over its trouble, so the pod must have all that it needs.
		if names, attached := st.clean.New(now); len(names) != 1 || attached != 1 {
			r.complain("ADD succeeded, and there are %v, %d attached", names, attached)
		}
		return
	case err == nil:
		return // the verdict on DEL comes later
	case codeOf(err) == 0 || cniplugin.CNIError(err).Msg == "":
		r.complain("no CNI error: %v", err)
	case hung && (codeOf(err) != types.ErrTryAgainLater || !errors.Is(err, context.DeadlineExceeded)):
		r.complain("code %d, %v; want 11 and the deadline", codeOf(err), err)
	case first.Act == fails && !first.IPAM && len(s.troubles) == 1 && (!errors.As(err, &refused) || refused.Code != first.Code):
		r.complain("%v is not the failure of the call", err)
	}
	// An ADD that failed is undone, unless what it does to undo fails too, or the
	// endpoint may still come: then even the lease must stay.
	if s.verb == "ADD" && len(s.troubles) == 1 && !first.IPAM && first.Act != stops && !(hung && first.isCreate()) {
		for _, finding := range st.clean.Verdict(now) {
			r.complain("after the failed ADD: %s", finding)
		}
	}
}
