package node_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
)

// late holds the nth call back: its caller gives up, and the call has its effect
// at the kth call of the next run, or after that.
type late struct {
	b       hns.Backend
	giveUp  context.CancelFunc
	at      int
	release chan struct{}
	done    chan struct{}

	mu    sync.Mutex
	calls int
	now   int // the call of the second run at which it has its effect; 0: not yet the second run
	hit   bool
}

func (l *late) Do(r hns.Request) (hns.Response, error) {
	l.mu.Lock()
	l.calls++
	first, second := l.now == 0 && l.calls == l.at, l.now != 0 && l.calls == l.now
	l.hit = l.hit || first
	l.mu.Unlock()
	if first {
		l.giveUp()
		<-l.release
		defer close(l.done)
	}
	if second {
		l.land()
	}
	return l.b.Do(r)
}

// land lets the call have its effect.
func (l *late) land() {
	close(l.release)
	<-l.done
}

// TestOutcomeUnknown: each call of Ensure to HNS hangs, its caller gives up, and
// the call has its effect at each moment of the next Ensure. The node ends as if
// nothing had happened.
func TestOutcomeUnknown(t *testing.T) {
	for _, name := range []string{"l2bridge", "overlay", "nat"} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, descriptions()[name])
			m := newMachine(t, emulator.Options{})
			m.ensure(p, nil)
			want, unknown, tries := m.shape(), 0, 0
			for at := 1; ; at++ {
				hit := false
				for k, reached := 1, true; reached; k++ {
					var err error
					hit, reached, err = outcomeUnknown(t, p, at, k, want)
					if !hit {
						break
					}
					tries++
					if errors.Is(err, hns.ErrOutcomeUnknown) {
						unknown++
					}
				}
				if !hit {
					break
				}
			}
			if unknown == 0 || tries < 9 {
				t.Errorf("%d tries, %d with an unknown outcome", tries, unknown)
			}
		})
	}
}

func outcomeUnknown(t *testing.T, p *node.Plan, at, k int, want string) (hit, reached bool, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := newMachine(t, emulator.Options{})
	l := &late{b: m.hns, giveUp: cancel, at: at, release: make(chan struct{}), done: make(chan struct{})}
	client := hns.New(l, nil)
	_, err = node.Ensure(ctx, client, m.host, p, nil)
	if !l.hit {
		return false, false, nil
	}
	if err == nil {
		t.Fatalf("call %d hangs, and there is no error", at)
	}
	l.mu.Lock()
	l.calls, l.now = 0, k
	l.mu.Unlock()
	where := fmt.Sprintf("call %d is late, until call %d of the next run", at, k)
	_, errSecond := node.Ensure(t.Context(), client, m.host, p, nil)
	l.mu.Lock()
	reached = l.calls >= k
	l.mu.Unlock()
	if !reached {
		l.land()
	}
	if s := m.ensure(p, nil); s.Changed() && reached && errSecond == nil {
		t.Errorf("%s: it was not done: %s", where, stepsOf(s))
	}
	if s := m.ensure(p, nil); s.Changed() {
		t.Errorf("%s: not at rest: %s", where, stepsOf(s))
	}
	if diff := cmp.Diff(want, m.shape()); diff != "" {
		t.Fatalf("%s (after %v):\n%s", where, errSecond, diff)
	}
	if errSecond != nil {
		t.Errorf("%s: %v", where, errSecond)
	}
	return true, reached, err
}

// TestRestartMidway: HNS goes down at each call of Ensure, before the call or with
// its answer, and is back two calls later. A patient Ensure does not fail, another
// can be called again; both leave what an undisturbed one does.
func TestRestartMidway(t *testing.T) {
	for name, d := range descriptions() {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, d)
			m := newMachine(t, emulator.Options{})
			m.ensure(p, nil)
			want, tries := m.shape(), 0
			for at, hit := 1, true; hit; at++ {
				for _, patient := range []bool{true, false} {
					for _, after := range []bool{true, false} {
						m := newMachine(t, emulator.Options{})
						down := &outage{HNS: m.hns, at: at, after: after}
						_, err := node.Ensure(t.Context(), hns.New(down, nil), m.host, p, &node.EnsureOptions{Patient: patient})
						if hit = down.calls >= at; !hit {
							break
						}
						tries++
						if err != nil && (patient || !errors.Is(err, hns.ErrUnavailable)) {
							t.Errorf("down at call %d, after it %t, patient %t: %v", at, after, patient, err)
						}
						m.hns.Start()
						m.ensure(p, nil)
						if diff := cmp.Diff(want, m.shape()); diff != "" {
							t.Errorf("down at call %d, after it %t, patient %t:\n%s", at, after, patient, diff)
						}
					}
				}
			}
			if tries < 12 {
				t.Errorf("%d tries", tries)
			}
		})
	}
}

// outage takes HNS down at the nth call and up again two calls later.
type outage struct {
	*emulator.HNS
	at, calls int
	after     bool
}

func (o *outage) Do(r hns.Request) (hns.Response, error) {
	o.calls++
	switch o.calls {
	case o.at:
		if o.after {
			_, _ = o.HNS.Do(r) // nobody hears the answer
		}
		o.Stop()
	case o.at + 2:
		o.Start()
	}
	return o.HNS.Do(r)
}

// ids are ids and MAC addresses, which differ from run to run of a call.
var ids = regexp.MustCompile(`(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{2}(-[0-9a-f]{2}){5}`)

// shape is the text without what each object has of its own.
func (m *machine) shape() string { return ids.ReplaceAllString(m.text(), "…") }
