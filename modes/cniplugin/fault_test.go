package cniplugin_test

import (
	"context"
	"errors"
	"fmt"
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

// addCalls are what an ADD asks of HNS, in order; TestLife holds them.
var addCalls = []call{
	{hns.VerbList, hns.KindNetwork}, {hns.VerbCall, hns.KindService}, {hns.VerbList, hns.KindEndpoint},
	{hns.VerbCreate, hns.KindEndpoint}, {hns.VerbModify, hns.KindNamespace},
}

var delCalls = []call{{hns.VerbList, hns.KindEndpoint}, {hns.VerbModify, hns.KindNamespace}, {hns.VerbDelete, hns.KindEndpoint}}

// codes are failures of several kinds: refused, gone, unavailable.
var codes = []hns.Code{hns.CodeAccessDenied, hns.CodeElementNotFound, hns.CodeRPCUnavailable}

// Each call of an ADD fails, before or after its effect. Whatever ADD says, no
// address is free that HNS has; the DEL that follows leaves nothing
// (ovn-kubernetes/ovn-kubernetes#390, containernetworking/plugins#286).
func TestAddWithFaults(t *testing.T) {
	for _, c := range addCalls {
		for _, code := range codes {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s %s after=%v", c.verb, c.kind, code, after), func(t *testing.T) {
					n, before := faultyNode(t)
					p := n.pod("sbx-01")
					n.hns.Inject(emulator.Fault{Verb: c.verb, Kind: c.kind, Code: code, After: after})
					res, err := p.add(faultConfig)
					if err == nil {
						t.Fatalf("succeeded: %v", res)
					}
					var e *hns.Error
					if !errors.As(err, &e) || e.Code != code {
						t.Errorf("error %v, want the failure of the call", err)
					}
					if diff := cmp.Diff(before, n.state()); diff != "" {
						t.Errorf("ADD left (-before +after):\n%s", diff)
					}
					if notes := n.noteFiles(); len(notes) != 1 {
						t.Errorf("ADD left the notes %v", notes)
					}
					delUntilClean(t, p, before)
				})
			}
		}
	}
}

// Each call of a DEL fails once: a repeated DEL does the rest.
func TestDelWithFaults(t *testing.T) {
	for _, c := range delCalls {
		for _, code := range codes {
			for _, after := range []bool{false, true} {
				if code == hns.CodeElementNotFound && !after {
					continue // an HNS that says so of what is there cannot be helped
				}
				t.Run(fmt.Sprintf("%s %s %s after=%v", c.verb, c.kind, code, after), func(t *testing.T) {
					n, before := faultyNode(t)
					p := n.pod("sbx-01")
					p.mustAdd(faultConfig)
					n.hns.Inject(emulator.Fault{Verb: c.verb, Kind: c.kind, Code: code, After: after})
					err := p.del(faultConfig)
					consistent(t, n)
					if err == nil {
						// A detach that failed is no matter once the endpoint is deleted.
						if diff := cmp.Diff(before, n.state()); diff != "" {
							t.Errorf("DEL succeeded and left (-before +after):\n%s", diff)
						}
						return
					}
					delUntilClean(t, p, before)
				})
			}
		}
	}
}

// Each call hangs past the deadline. The verb comes back, an address is not free
// while the endpoint may still come, and the DEL that follows takes what was left.
// (Azure/azure-container-networking#358, Azure/azure-container-networking#1359,
// antrea-io/antrea#650)
func TestHangs(t *testing.T) {
	for _, c := range addCalls {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("ADD %s %s after=%v", c.verb, c.kind, after), func(t *testing.T) {
				n, before := faultyNode(t)
				p := n.pod("sbx-01")
				ctx, remove := n.hangs(c, after)
				var err error
				quickly(t, func() { _, err = p.addUntil(ctx, faultConfig) })
				if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, hns.ErrOutcomeUnknown) || codeOf(err) != 11 {
					t.Errorf("code %d, %v; want 11, DeadlineExceeded and ErrOutcomeUnknown", codeOf(err), err)
				}
				consistent(t, n)
				if kept := len(n.ipam.leases()) > 1; kept != (c.verb == hns.VerbCreate && c.kind == hns.KindEndpoint) {
					t.Errorf("lease kept: %v", kept)
				}
				remove()
				delUntilClean(t, p, before)
			})
		}
	}
	for _, c := range delCalls {
		t.Run(fmt.Sprintf("DEL %s %s", c.verb, c.kind), func(t *testing.T) {
			n, before := faultyNode(t)
			p := n.pod("sbx-01")
			p.mustAdd(faultConfig)
			ctx, remove := n.hangs(c, false)
			var err error
			quickly(t, func() { err = p.delUntil(ctx) })
			if !errors.Is(err, context.DeadlineExceeded) || codeOf(err) != 11 {
				t.Errorf("code %d, %v; want 11 and DeadlineExceeded", codeOf(err), err)
			}
			consistent(t, n)
			remove()
			delUntilClean(t, p, before)
		})
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
			if !errors.Is(err, context.DeadlineExceeded) || codeOf(err) != 11 || !strings.Contains(err.Error(), verb+" of sbx-01 gave up after 100ms") {
				t.Errorf("%s: code %d, %v; want 11 and the deadline", verb, codeOf(err), err)
			}
		})
	}
}

// A create that hangs may come late: until DEL the address stays taken, and
// whatever came meanwhile goes with it.
func TestCreateThatComesLate(t *testing.T) {
	n, before := faultyNode(t)
	p := n.pod("sbx-01")
	release := make(chan struct{})
	late := make(chan hns.LateResult, 1)
	open := n.plugin.Open
	n.plugin.Open = func(o *hns.Options) (*hns.Client, error) {
		o.OnLate = func(r hns.LateResult) { late <- r }
		return open(o)
	}
	ctx, pass := deadline()
	n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Exit: pass})
	n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Hang: release})
	if _, err := p.addUntil(ctx, faultConfig); err == nil {
		t.Fatal("succeeded")
	}
	close(release)
	if r := <-late; r.Err != nil {
		t.Fatal(r.Err)
	}
	if len(n.state()) != len(before)+2 {
		t.Errorf("state %v: want the late endpoint and its lease", n.state())
	}
	consistent(t, n)
	delUntilClean(t, p, before)
}

// Each step of IPAM fails, before or after its work, or is stopped at the deadline.
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

// DEL's IPAM fails (upstream's win-bridge stops there, and its endpoint is never
// removed): the endpoint is gone by then, and DEL is repeated for the rest.
func TestDelIPAMFaults(t *testing.T) {
	for name, f := range map[string]interference{"before": before(errBroken), "after": after(errBroken), "killed": killed,
		"panics": panics} {
		t.Run(name, func(t *testing.T) {
			n, alone := faultyNode(t)
			p := n.pod("sbx-01")
			p.mustAdd(faultConfig)
			n.ipam.on("DEL", f)
			ctx, pass := deadline()
			n.ipam.pass = pass
			var err error
			quickly(t, func() { err = p.delUntil(ctx) })
			if err == nil {
				t.Error("succeeded")
			}
			consistent(t, n)
			delUntilClean(t, p, alone)
		})
	}
}
