package cniplugin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
)

// call is a call of HNS that a verb makes.
type call struct {
	verb hns.Verb
	kind hns.Kind
}

// stranger is a pod that is there before and must be as it was after everything.
const stranger = "stranger"

// faultConfig makes a verb ask for all that it can ask for.
const faultConfig = `"loopbackDSR": true`

// faultyNode is a node with a stranger on it, and that pod's part of the state.
func faultyNode(t *testing.T) (*node, []string) {
	n := newBridge(t, nil)
	n.pod(stranger).mustAdd(faultConfig)
	return n, n.state()
}

// delUntilClean sends DEL as the runtime does, until it succeeds, and wants
// nothing left then but the stranger.
func delUntilClean(t *testing.T, p *pod, before []string) {
	t.Helper()
	const tries = 4
	var err error
	for range tries {
		if err = p.del(faultConfig); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatalf("DEL still fails after %d times: %v", tries, err)
	}
	if diff := cmp.Diff(before, p.state()); diff != "" {
		t.Errorf("after DEL (-want +got):\n%s", diff)
	}
	if locks := p.lockFiles(); len(locks) > 0 {
		t.Errorf("after DEL: %v", locks)
	}
	if notes := p.noteFiles(); len(notes) != 1 { // the stranger's
		t.Errorf("after DEL: notes %v", notes)
	}
}

// consistent fails the test if HNS holds an address that IPAM thinks is free.
func consistent(t *testing.T, n *node) {
	t.Helper()
	leased := strings.Join(n.ipam.leases(), " ")
	all, err := n.client.Endpoints.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		for _, a := range e.Addresses() {
			if !strings.Contains(leased, a.String()+"/") {
				t.Errorf("endpoint %s has %s, which is free for IPAM", e.Name, a)
			}
		}
	}
}

// The deadline of the configuration.
func TestTimeout(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	n.hns.Inject(emulator.Fault{Verb: hns.VerbList, Times: -1, Hang: hang(t)})
	args := p.args(p.config(soon, `"prevResult": {"cniVersion": "1.0.0", "ips": [{"address": "10.50.3.3/24"}]}`))
	for verb, call := range map[string]func() error{
		"ADD":   func() error { _, err := n.plugin.Add(t.Context(), args); return err },
		"CHECK": func() error { return n.plugin.Check(t.Context(), args) },
		"DEL":   func() error { return n.plugin.Del(t.Context(), args) },
	} {
		quickly(t, func() {
			err := call()
			if !errors.Is(err, context.DeadlineExceeded) || codeOf(err) != 11 || !strings.Contains(err.Error(), verb+" of sbx-01 gave up after 1s") {
				t.Errorf("%s: code %d, %v; want 11 and the deadline", verb, codeOf(err), err)
			}
		})
	}
}

// What ADD says when a step of IPAM fails; that nothing stays is TestFaultSweep's.
func TestIPAMFaults(t *testing.T) {
	empty := func(context.Context, func() error, func()) error { return nil }
	tests := []struct {
		name string
		add  interference // of ADD's Allocate
		hns  hns.Code     // of ADD's create
		del  interference // of the first Release, in ADD if there is one
		want error
		left bool // ADD could not give the lease back
	}{
		{"no address left", before(ipam.ErrNoAddress), 0, nil, ipam.ErrNoAddress, false},
		{"fails", before(errBroken), 0, nil, errBroken, false},
		{"gives nothing", empty, 0, nil, ipam.ErrNoAddress, false},
		{"killed before", killed, 0, nil, ipam.ErrOutcomeUnknown, false},
		{"killed after", killedAfter, 0, nil, ipam.ErrOutcomeUnknown, false},
		{"panics", panics, 0, nil, nil, false},
		{"panics after", panicsAfter, 0, nil, nil, false},
		{"release fails", nil, hns.CodeInvalidParameter, before(errBroken), hns.ErrInvalid, true},
		{"release fails after", nil, hns.CodeInvalidParameter, after(errBroken), hns.ErrInvalid, false},
		{"release panics", nil, hns.CodeInvalidParameter, panics, hns.ErrInvalid, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, alone := faultyNode(t)
			p := n.pod("sbx-01")
			n.ipam.on("ADD", tt.add)
			n.ipam.on("DEL", tt.del)
			if tt.hns != 0 {
				n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Code: tt.hns})
			}
			ctx, pass := deadline()
			n.ipam.pass = pass
			var err error
			quickly(t, func() { _, err = p.addUntil(ctx, faultConfig) })
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if tt.del != nil && (!errors.Is(err, hns.ErrLeftBehind) || codeOf(err) == 0) {
				t.Errorf("error %v does not say that the lease may be left", err)
			}
			state := n.state()
			if tt.left != (len(n.ipam.leases()) == 2) || !tt.left && cmp.Diff(alone, state) != "" {
				t.Errorf("ADD left (-before +after):\n%s", cmp.Diff(alone, state))
			}
			delUntilClean(t, p, alone)
		})
	}
}
