package cniplugin_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
)

// victim is a call that a verb makes.
type victim struct {
	IPAM bool
	Nth  int    // among the verb's calls of HNS, or of IPAM, from 1
	Name string // what is called
	// place is where it comes among all calls of the verb; of host-local's it is
	// not known.
	place int
}

// trouble is what befalls a call.
type trouble struct {
	victim
	Act   act
	After bool // the call has had its effect
	Code  hns.Code
}

// act is a kind of trouble.
type act string

const (
	fails    act = "fails"
	panicked act = "panics"
	breaks   act = "breaks off"           // an IPAM plugin, without the error it has to print
	hangs    act = "hangs"                // past the deadline, and never answers
	late     act = "comes late"           // past the deadline, but before DEL
	later    act = "comes later"          // past the deadline, after DEL
	stops    act = "finds HNS stopped"    // and so do all calls that follow, but not DEL's
	restarts act = "finds HNS restarting" // the call is lost
	dies     act = "is the last"          // the plugin is killed
	outlives act = "outlives all"         // the plugin is killed; its IPAM plugin goes on after DEL
)

func (tr trouble) String() string {
	what := "HNS"
	if tr.IPAM {
		what = "IPAM"
	}
	s := fmt.Sprintf("%s %d %s %s", what, tr.Nth, tr.Name, tr.Act)
	if tr.After {
		s += " after its effect"
	}
	switch {
	case tr.Act != fails || tr.IPAM:
	case tr.Code == 0:
		s += " without a code"
	default:
		s += " with " + tr.Code.String()
	}
	return s
}

// sweepCodes are failures of each kind: nothing known, refused, gone, there
// already, invalid, taken on but not carried out, unavailable, and lost.
var sweepCodes = []hns.Code{0, hns.CodeAccessDenied, hns.CodeElementNotFound, hns.CodeObjectAlreadyExists, hns.CodeInvalidParameter,
	hns.CodeDegraded, hns.CodeRPCUnavailable, hns.CodeRPCCallFailed}

// troubles are all that can befall a call.
func (st *stage) troubles(verb string, c victim) (out []trouble) {
	add := func(a act, after bool, code hns.Code) { out = append(out, trouble{c, a, after, code}) }
	for _, after := range []bool{false, true} {
		switch {
		case c.IPAM && st.source == byHostLocal:
			add(fails, after, 0)
			add(breaks, after, 0)
			add(hangs, after, 0)
		case c.IPAM:
			add(fails, after, 0)
			add(panicked, after, 0)
			add(hangs, after, 0)
		default:
			codes := sweepCodes
			if st.source == byHostLocal { // processes take their time
				codes = []hns.Code{hns.CodeAccessDenied, hns.CodeObjectAlreadyExists, hns.CodeRPCUnavailable}
			}
			for _, code := range codes {
				// An HNS that says of what is there that it is not cannot be helped.
				if lie := verb == "DEL" && c.Name == "delete endpoint" && code == hns.CodeElementNotFound && !after; !lie {
					add(fails, after, code)
				}
			}
			add(stops, after, hns.CodeRPCUnavailable)
			add(restarts, after, hns.CodeRPCCallFailed)
		}
		add(dies, after, 0)
	}
	switch {
	case c.IPAM && st.source == byHostLocal:
		if runtime.GOOS != "windows" { // where a test could not tell when it is over
			add(outlives, false, 0)
		}
	case c.IPAM:
		add(late, false, 0)
		add(later, false, 0)
	default:
		add(hangs, true, 0)
		add(late, false, 0)
		add(later, false, 0)
	}
	return out
}

// again are the troubles of a call that follows another trouble.
func (st *stage) again(c victim) []trouble {
	out := []trouble{{c, fails, false, hns.CodeAccessDenied}, {c, fails, true, hns.CodeAccessDenied}}
	if st.source == byOwnIPAM { // where there is most to undo
		out = append(out, trouble{c, dies, false, 0})
	}
	return out
}

func (s scenario) has(a act) bool {
	for _, tr := range s.troubles {
		if tr.Act == a {
			return true
		}
	}
	return false
}

// kills reports whether the verb needs a process of its own.
func (s scenario) kills() bool { return s.has(dies) || s.has(outlives) }

// arm puts the troubles of a scenario in place, for a verb in this process. The
// deadline passes when a call hangs. land lets what hangs have its effect, and
// returns when it had it.
func (a *actor) arm(s scenario) (ctx context.Context, land func()) {
	ctx, pass := deadline()
	release := make(chan struct{})
	open := sync.OnceFunc(func() { close(release) })
	a.tb.Cleanup(open)
	for _, tr := range s.troubles {
		if !tr.IPAM {
			a.hinder(tr, pass, release)
		} else if a.source == byHostLocal {
			a.path = installShim(a.tb, a, tr)
			if tr.Act == hangs {
				go passWhenReached(ctx, a.path, pass)
			}
		}
	}
	if a.own != nil {
		a.own.around = a.hinderIPAM(s, pass, release)
	}
	return ctx, func() {
		open()
		select {
		case <-a.late:
		case <-time.After(time.Minute):
			a.tb.Fatal("what was late never came")
		}
	}
}

// hinder troubles a call of HNS.
func (a *actor) hinder(tr trouble, pass func(), release chan struct{}) {
	f := emulator.Fault{Nth: tr.Nth, After: tr.After}
	switch tr.Act {
	case fails:
		f.Code, f.Text = tr.Code, "as the test wants it"
		a.hns.Inject(f)
	case stops:
		f.Code, f.Times = tr.Code, -1
		a.recover = a.hns.Inject(f)
	case restarts:
		f.Code, f.Exit = tr.Code, func() {
			if err := a.hns.Restart(); err != nil {
				a.tb.Error(err)
			}
		}
		a.hns.Inject(f)
	case hangs, late, later:
		f.Exit = pass
		a.hns.Inject(f)
		f.Exit, f.Hang = nil, release
		a.hns.Inject(f)
	default:
		a.tb.Fatalf("%s: not for HNS in this process", tr)
	}
}

// hinderIPAM troubles calls of the author's IPAM.
func (a *actor) hinderIPAM(s scenario, pass func(), release chan struct{}) func(context.Context, int, func() error) error {
	return func(ctx context.Context, nth int, do func() error) error {
		a.asked = append(a.asked, len(a.hns.Calls()))
		tr, ok := s.ofIPAM(nth)
		if !ok {
			return do()
		}
		if tr.After {
			if err := do(); err != nil {
				return err
			}
		}
		switch tr.Act {
		case fails:
			return errBroken
		case panicked:
			panic("as the test wants it")
		case late, later:
			go func() {
				<-release
				_ = do() // what becomes of it the judge sees
				a.late <- hns.LateResult{}
			}()
		}
		pass()
		<-ctx.Done()
		return fmt.Errorf("%w: %w", ipam.ErrOutcomeUnknown, context.Cause(ctx))
	}
}

func (s scenario) ofIPAM(nth int) (trouble, bool) {
	for _, tr := range s.troubles {
		if tr.IPAM && tr.Nth == nth {
			return tr, true
		}
	}
	return trouble{}, false
}

// isCreate reports whether the call makes the pod's endpoint.
func (c victim) isCreate() bool { return !c.IPAM && strings.HasPrefix(c.Name, "create ") }
