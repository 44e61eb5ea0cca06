package cniplugin_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
)

// Each call of GC fails or hangs. What can go goes all the same, no address is free
// that HNS has, the report says what is left, and the next GC takes that.
func TestGCWithFaults(t *testing.T) {
	gcCalls := []call{{hns.VerbList, hns.KindNetwork}, {hns.VerbList, hns.KindEndpoint}, {hns.VerbGet, hns.KindEndpoint},
		{hns.VerbGet, hns.KindNamespace}, {hns.VerbModify, hns.KindNamespace}, {hns.VerbDelete, hns.KindEndpoint}}
	for _, c := range gcCalls {
		for after, code := range map[bool]hns.Code{false: hns.CodeAccessDenied, true: hns.CodeRPCUnavailable} {
			t.Run(fmt.Sprintf("%s %s %s after=%v", c.verb, c.kind, code, after), func(t *testing.T) {
				n, before := faultyNode(t)
				n.pod("stale-1").mustAdd()
				n.pod("stale-2").mustAdd()
				n.hns.ResetCalls()
				n.hns.Inject(emulator.Fault{Verb: c.verb, Kind: c.kind, Code: code, After: after})
				_, err := n.reconcile([]string{stranger})
				if !slices.Contains(n.calls(), fmt.Sprintf("%s %s", c.verb, c.kind)) {
					t.Fatalf("no such call among %v", n.calls())
				}
				var e *hns.Error
				if failed := errors.As(err, &e) && e.Code == code; !failed && !(err == nil && c.verb == hns.VerbModify) {
					t.Errorf("error %v, want the failure of the call", err)
				}
				consistent(t, n)
				if left := len(n.state()) - len(before); c.verb != hns.VerbList && left > 2 {
					t.Errorf("state %v: one failure kept both", n.state())
				}
				if err := n.gc([]string{stranger}); err != nil {
					t.Error("second GC:", err)
				}
				if diff := cmp.Diff(before, n.state()); diff != "" {
					t.Errorf("after the second GC (-want +got):\n%s", diff)
				}
			})
		}
		t.Run(fmt.Sprintf("%s %s hangs", c.verb, c.kind), func(t *testing.T) {
			n, before := faultyNode(t)
			n.pod("stale-1").mustAdd()
			ctx, remove := n.hangs(c, false)
			quickly(t, func() {
				if _, err := n.plugin.Reconcile(ctx, n.config(), []ipam.Attachment{{ContainerID: stranger, IfName: "eth0"}}); codeOf(err) != 11 {
					t.Errorf("code %d, %v; want 11", codeOf(err), err)
				}
			})
			consistent(t, n)
			remove()
			if err := n.gc([]string{stranger}); err != nil {
				t.Error("second GC:", err)
			}
			if diff := cmp.Diff(before, n.state()); diff != "" {
				t.Errorf("after the second GC (-want +got):\n%s", diff)
			}
		})
	}
}

// A create that HNS finishes after the DEL leaves an endpoint whose lease is free.
func TestGCOfLateCreate(t *testing.T) {
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
	p.mustDel()
	close(release)
	if r := <-late; r.Err != nil {
		t.Fatal(r.Err)
	}
	if len(n.state()) != len(before)+1 {
		t.Fatalf("state %v: want the late endpoint", n.state())
	}
	got, err := n.reconcile([]string{stranger})
	if err != nil || !slices.Contains(got, "removed sbx-01_lake [10.50.3.4] of sbx-01/") {
		t.Errorf("report %v, %v", got, err)
	}
	if diff := cmp.Diff(before, n.state()); diff != "" {
		t.Errorf("after GC (-want +got):\n%s", diff)
	}
}

// Between GC's look at the endpoints and its hand on one, the sandbox was deleted and
// added anew: what the new ADD made is not what was seen, and stays.
func TestGCOvertaken(t *testing.T) {
	for _, who := range whoGives {
		for name, happens := range map[string]func(*pod){
			"deleted": func(p *pod) { p.mustDel(who.member) },
			"anew":    func(p *pod) { p.mustDel(who.member); p.mustAdd(who.member) },
			"added":   func(p *pod) { p.mustAdd(who.member) },
		} {
			t.Run(who.name+" "+name, func(t *testing.T) {
				n := newBridge(t, nil)
				who.setup(n)
				p := n.pod("sbx-01")
				if name != "added" {
					p.mustAdd(who.member)
				}
				n.hns.Inject(emulator.Fault{Verb: hns.VerbList, Kind: hns.KindEndpoint, After: true, Exit: func() { happens(p) }})
				got, err := n.reconcile(nil, who.member)
				if err != nil || len(got) == 0 || !strings.HasSuffix(got[0], "sandbox is busy") {
					t.Errorf("report %v, %v", got, err)
				}
				if want := map[string]int{"anew": 1 + who.leases, "added": 1 + who.leases}[name]; len(n.state()) != want {
					t.Errorf("left %v, want %d", n.state(), want)
				}
				if name != "deleted" {
					p.endpoint()
				}
			})
		}
	}
}
