package cniplugin_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/toolbuild"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin/internal/judge"
)

const (
	crowdHere      = 200                   // ADDs in this process
	crowdProcesses = 50                    // plugins in processes of their own
	crowdTogether  = 50                    // calls that must be out at once
	crowdInSeries  = 20                    // ADDs where HNS works in series
	crowdDelay     = 20 * time.Millisecond // of each call of HNS
)

// traffic counts the calls that HNS works on in this process. The first calls
// wait until a number of them are there: if anything made them wait for each
// other, they would never be.
type traffic struct {
	together int

	mu       sync.Mutex
	out, max int
	calls    int
	met      chan struct{}
}

func newTraffic(together int) *traffic { return &traffic{together: together, met: make(chan struct{})} }

func (c *traffic) watch(h *emulator.HNS) {
	h.Inject(emulator.Fault{Times: -1, Exit: c.enter, Delay: crowdDelay})
	h.Inject(emulator.Fault{Times: -1, Exit: c.leave, After: true})
}

func (c *traffic) enter() {
	c.mu.Lock()
	c.calls++
	c.out++
	c.max = max(c.max, c.out)
	if c.calls == c.together {
		close(c.met)
	}
	waits := c.calls <= c.together
	c.mu.Unlock()
	if !waits {
		return
	}
	select {
	case <-c.met:
	case <-time.After(time.Minute): // TestCrowd finds that max is too small
	}
}

func (c *traffic) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out--
}

// crowd is a node with many pods, an HNS in a file, and the real host-local.
type crowd struct {
	*actor
	pods []*actor
}

func newCrowd(t *testing.T, pods int, opts *emulator.Options) *crowd {
	t.Helper()
	tool, err := toolbuild.HostLocal(t.Context())
	must(t, err)
	n := newNode(t, opts, "win-bridge", modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.0.0/20")})
	st := &stage{mode: modes.L2Bridge, source: byHostLocal, subnets: map[string]netip.Prefix{"lake": prefixes("10.50.0.0/20")[0]},
		tools: filepath.Dir(tool), members: []string{`"timeout": "10m"`}}
	c := &crowd{actor: &actor{pod: &pod{node: n}, stage: st, path: st.tools, store: filepath.Join(n.dir, "hns.json")}}
	for i := range pods {
		p := *c.actor
		p.pod = n.pod(fmt.Sprintf("sbx-%03d", i))
		c.pods = append(c.pods, &p)
	}
	// A file from here on: to make the namespaces in it takes its time.
	s, err := n.hns.Snapshot()
	must(t, err)
	n.hns, err = emulator.Open(c.store, opts)
	must(t, err)
	must(t, n.hns.Load(s))
	n.plugin.IPAM = nil
	return c
}

// addHere starts an ADD in this process and returns its error when it is over.
func (a *actor) addHere() <-chan error {
	over := make(chan error, 1)
	go func() {
		_, err := a.pod.plugin.Add(a.tb.Context(), a.args("lake"))
		over <- err
	}()
	return over
}

// addThere is the same in a process of its own.
func (a *actor) addThere() <-chan error {
	over := make(chan error, 1)
	cmd := a.command("ADD", nil, crowdDelay)
	go func() {
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		over <- err
	}()
	return over
}

// wait wants success of all.
func wait(t *testing.T, over []<-chan error) {
	t.Helper()
	for i, c := range over {
		select {
		case err := <-c:
			if err != nil {
				t.Errorf("ADD %d: %v", i, err)
			}
		case <-time.After(5 * time.Minute):
			t.Fatalf("ADD %d does not come back", i)
		}
	}
}

// TestCrowd starts pods as a node does after a reboot, each call of HNS taking its
// time: no two pods get one address, MAC address or endpoint, and none waits for
// another's call (Azure/azure-container-networking#2817). Where HNS itself works
// in series there is nothing to gain, and that is stated, too.
func TestCrowd(t *testing.T) {
	t.Run("in parallel", func(t *testing.T) {
		c := newCrowd(t, crowdHere+crowdProcesses+1, nil)
		before := c.look()
		calls := newTraffic(crowdTogether)
		calls.watch(c.hns)
		// One pod's create hangs until all others are done.
		stuck, hit, release := c.pods[0], make(chan struct{}), make(chan struct{})
		c.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Match: stuck.isItsCreate, Exit: func() { close(hit) }})
		c.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Match: stuck.isItsCreate, Hang: release})
		start := time.Now()
		last := stuck.addHere()
		var over []<-chan error
		for _, p := range c.pods[1:][:crowdProcesses] {
			over = append(over, p.addThere())
		}
		for _, p := range c.pods[1+crowdProcesses:] {
			over = append(over, p.addHere())
		}
		<-hit
		wait(t, over)
		took := time.Since(start)
		select {
		case err := <-last:
			t.Errorf("the pod whose call hangs is done: %v", err)
		default:
		}
		close(release)
		wait(t, []<-chan error{last})

		all := crowdHere + crowdProcesses
		each := calls.calls / (crowdHere + 1)
		t.Logf("in parallel: %d ADDs in one process and %d processes in %.1fs; the %d calls of HNS, %s each, add up to %s; up to %d were out at once",
			crowdHere, crowdProcesses, took.Seconds(), all*each, crowdDelay, time.Duration(all*each)*crowdDelay, calls.max)
		if calls.max < crowdTogether {
			t.Errorf("at most %d calls were out at once", calls.max)
		}
		c.judge(t, before)
	})
	t.Run("in series", func(t *testing.T) {
		c := newCrowd(t, crowdInSeries, &emulator.Options{Serial: true})
		before := c.look()
		calls := newTraffic(1)
		calls.watch(c.hns)
		start := time.Now()
		var over []<-chan error
		for _, p := range c.pods {
			over = append(over, p.addHere())
		}
		wait(t, over)
		took, sum := time.Since(start), time.Duration(calls.calls)*crowdDelay
		t.Logf("in series: %d ADDs in one process in %.1fs; the %d calls of HNS add up to %s; up to %d were out at once",
			crowdInSeries, took.Seconds(), calls.calls, sum, calls.max)
		if calls.max != 1 || took < sum {
			t.Errorf("%d calls were out at once, %s in all", calls.max, took)
		}
		c.judge(t, before)
	})
}

// isItsCreate reports whether the request makes the pod's endpoint.
func (a *actor) isItsCreate(r hns.Request) bool {
	var e struct{ Name string }
	return json.Unmarshal(r.Document, &e) == nil && e.Name == a.id+"_lake"
}

// judge wants an endpoint of its own for each pod.
func (c *crowd) judge(t *testing.T, before *judge.Scene) {
	t.Helper()
	now := c.look()
	for _, double := range now.Doubles() {
		t.Errorf("more than one has %s", double)
	}
	pods := len(c.pods)
	names, attached := before.New(now)
	slices.Sort(names)
	if len(slices.Compact(names)) != pods || attached != pods || len(now.Leases) != pods {
		t.Errorf("%d endpoints, %d attached, %d leases; want %d", len(names), attached, len(now.Leases), pods)
	}
}
