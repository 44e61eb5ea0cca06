package cniplugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// The hooks run in their places and see the pod.
func TestHooks(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	var seen []string
	see := func(hook string, pod *cniplugin.Pod, network bool) {
		if pod.ContainerID != "sbx-01" || pod.IfName != "eth0" || pod.EndpointName != "sbx-01_lake" || pod.Namespace != p.namespace ||
			pod.Config.Name != "lake" || pod.Client == nil || pod.Log == nil || (pod.Network != nil) != network {
			t.Errorf("%s: pod %+v", hook, pod)
		}
		seen = append(seen, hook)
	}
	acl := hns.RawPolicy{Type: "ACL", Settings: json.RawMessage(`{"Action":"Block","Direction":"Out","RemoteAddresses":"169.254.169.254","Protocols":"6","RuleType":"Switch","Priority":200}`)}
	n.plugin.Hooks = cniplugin.Hooks{
		BeforeCreate: func(_ context.Context, pod *cniplugin.Pod, e *hns.Endpoint) error {
			see("BeforeCreate", pod, true)
			if len(n.ipam.leases()) != 1 || e.Name != "sbx-01_lake" || e.Addresses()[0].String() != "10.50.3.3" {
				t.Errorf("BeforeCreate: endpoint %+v, leases %v", e, n.ipam.leases())
			}
			e.Policies = append(e.Policies, acl)
			return nil
		},
		AfterAttach: func(ctx context.Context, pod *cniplugin.Pod, e *hns.Endpoint) error {
			see("AfterAttach", pod, true)
			if ns, err := pod.Client.Namespaces.ByID(ctx, pod.Namespace); err != nil || len(ns.Endpoints()) != 1 || ns.Endpoints()[0] != e.ID {
				t.Errorf("AfterAttach: namespace %+v, %v", ns, err)
			}
			return nil
		},
		BeforeDetach: func(_ context.Context, pod *cniplugin.Pod) error {
			see("BeforeDetach", pod, false)
			return nil
		},
	}
	expect := func(verb string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s (-want +got):\n%s", verb, diff)
		}
		seen = nil
	}
	res := p.mustAdd()
	expect("ADD", "BeforeCreate", "AfterAttach")
	if !hns.HasPolicy(p.endpoint().Policies, "ACL") {
		t.Error("the hook's policy is not there")
	}
	p.mustAdd()
	expect("repeated ADD", "BeforeCreate", "AfterAttach")
	if err := p.check(res); err != nil {
		t.Error(err)
	}
	expect("CHECK", "BeforeCreate")
	remake(t, p, func(e *hns.Endpoint) { e.Policies = nil })
	if err := p.check(res); codeOf(err) != cniplugin.CodeCheckFailed || !strings.Contains(err.Error(), "ACL") {
		t.Errorf("CHECK does not miss the hook's policy: %v", err)
	}
	expect("CHECK", "BeforeCreate")
	p.mustDel()
	expect("DEL", "BeforeDetach")
	p.mustDel()
	expect("repeated DEL", "BeforeDetach")
}

var errHook = errors.New("hook says no")

// A hook fails or panics, or the endpoint cannot be made as it wants it. ADD leaves
// nothing; DEL goes on, and says so.
func TestHooksThatFail(t *testing.T) {
	no := func(context.Context, *cniplugin.Pod, *hns.Endpoint) error { return errHook }
	panics := func(context.Context, *cniplugin.Pod, *hns.Endpoint) error { panic("out of paper") }
	// What a hook says of calls of its own must not be taken for ADD's.
	unknown := func(context.Context, *cniplugin.Pod, *hns.Endpoint) error {
		return errors.Join(errHook, hns.ErrOutcomeUnknown, hns.ErrLeftBehind)
	}
	tests := []struct {
		name  string
		hooks cniplugin.Hooks
		want  error
		text  string
	}{
		{"BeforeCreate", cniplugin.Hooks{BeforeCreate: no}, errHook, "hook BeforeCreate"},
		{"BeforeCreate panics", cniplugin.Hooks{BeforeCreate: panics}, nil, "hook BeforeCreate: panic: out of paper"},
		{"BeforeCreate's own calls", cniplugin.Hooks{BeforeCreate: unknown}, errHook, "hook BeforeCreate"},
		{"BeforeCreate spoils it", cniplugin.Hooks{BeforeCreate: func(_ context.Context, _ *cniplugin.Pod, e *hns.Endpoint) error {
			e.Policies = append(e.Policies, nil)
			return nil
		}}, hns.ErrInvalid, "Policies[0]"},
		{"AfterAttach", cniplugin.Hooks{AfterAttach: no}, errHook, "hook AfterAttach"},
		{"AfterAttach panics", cniplugin.Hooks{AfterAttach: panics}, nil, "hook AfterAttach: panic: out of paper"},
		{"AfterAttach's own calls", cniplugin.Hooks{AfterAttach: unknown}, errHook, "hook AfterAttach"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, before := faultyNode(t)
			n.plugin.Hooks = tt.hooks
			p := n.pod("sbx-01")
			_, err := p.add()
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want %v and %q", err, tt.want, tt.text)
			}
			if strings.Contains(tt.name, "panics") && !strings.Contains(cniplugin.CNIError(err).Details, "hooks_test.go") {
				t.Errorf("the details have no stack: %+v", cniplugin.CNIError(err))
			}
			if diff := cmp.Diff(before, n.state()); diff != "" {
				t.Errorf("ADD left (-before +after):\n%s", diff)
			}
			n.plugin.Hooks = cniplugin.Hooks{}
			delUntilClean(t, p, before)
		})
	}
	for name, hook := range map[string]func(context.Context, *cniplugin.Pod) error{
		"fails":  func(context.Context, *cniplugin.Pod) error { return errHook },
		"panics": func(context.Context, *cniplugin.Pod) error { panic("oh") },
	} {
		n := newBridge(t, nil)
		p := n.pod("sbx-01")
		p.mustAdd()
		n.plugin.Hooks.BeforeDetach = hook
		if err := p.del(); err == nil || !strings.Contains(err.Error(), "hook BeforeDetach") {
			t.Errorf("BeforeDetach %s: %v", name, err)
		}
		if got := n.state(); len(got) > 0 {
			t.Errorf("BeforeDetach %s: left %v", name, got)
		}
	}
}

// AfterAttach fails, and the endpoint cannot be deleted: the lease stays for DEL.
func TestHookFailsAndSoDoesTheUndo(t *testing.T) {
	n, before := faultyNode(t)
	n.plugin.Hooks.AfterAttach = func(context.Context, *cniplugin.Pod, *hns.Endpoint) error {
		return &cniplugin.Error{Code: 120, Err: errHook}
	}
	n.hns.Inject(emulator.Fault{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, Code: hns.CodeManagerStopped})
	p := n.pod("sbx-01")
	_, err := p.add()
	// The code is the hook's, not that of the undo.
	if !errors.Is(err, errHook) || !errors.Is(err, hns.ErrLeftBehind) || !errors.Is(err, hns.ErrUnavailable) || codeOf(err) != 120 {
		t.Errorf("code %d, %v; want 120, the hook's error, ErrLeftBehind and its cause", codeOf(err), err)
	}
	consistent(t, n)
	if len(n.ipam.leases()) != 2 {
		t.Errorf("leases %v", n.ipam.leases())
	}
	n.plugin.Hooks = cniplugin.Hooks{}
	delUntilClean(t, p, before)
}

// A repeated ADD whose hook fails leaves the pod as it is.
func TestHookFailsForLivePod(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.mustAdd()
	want := n.state()
	n.plugin.Hooks.AfterAttach = func(context.Context, *cniplugin.Pod, *hns.Endpoint) error { return errHook }
	if _, err := p.add(); !errors.Is(err, errHook) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(want, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The deadline of the verb is the hook's.
func TestHookThatHangs(t *testing.T) {
	n := newBridge(t, nil)
	n.plugin.Hooks.AfterAttach = func(ctx context.Context, _ *cniplugin.Pod, _ *hns.Endpoint) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	p := n.pod("sbx-01")
	quickly(t, func() {
		if _, err := p.add(soon); codeOf(err) != 11 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("code %d, %v; want 11 and DeadlineExceeded", codeOf(err), err)
		}
	})
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// A hook that does not look at its context is given up: the verb ends, and what it
// made is taken back.
func TestHookThatIgnoresItsContext(t *testing.T) {
	for _, tt := range []struct {
		verb  string
		hooks func(<-chan struct{}) cniplugin.Hooks
	}{
		{"ADD", func(end <-chan struct{}) cniplugin.Hooks {
			return cniplugin.Hooks{BeforeCreate: func(context.Context, *cniplugin.Pod, *hns.Endpoint) error { <-end; return nil }}
		}},
		{"ADD", func(end <-chan struct{}) cniplugin.Hooks {
			return cniplugin.Hooks{AfterAttach: func(_ context.Context, _ *cniplugin.Pod, e *hns.Endpoint) error {
				<-end
				e.ID = hns.ID{} // of an endpoint of its own
				return nil
			}}
		}},
		{"DEL", func(end <-chan struct{}) cniplugin.Hooks {
			return cniplugin.Hooks{BeforeDetach: func(context.Context, *cniplugin.Pod) error { <-end; return nil }}
		}},
	} {
		t.Run(tt.verb, func(t *testing.T) {
			t.Parallel()
			n := newBridge(t, nil)
			p := n.pod("sbx-01")
			do := func() error { _, err := p.add(soon); return err }
			if tt.verb == "DEL" {
				p.mustAdd()
				do = func() error { return p.del(soon) }
			}
			n.plugin.Hooks = tt.hooks(hang(t))
			quickly(t, func() {
				if err := do(); codeOf(err) != 11 || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "does not return") {
					t.Errorf("code %d, %v; want 11, DeadlineExceeded, and that the hook does not return", codeOf(err), err)
				}
			})
			n.plugin.Hooks = cniplugin.Hooks{}
			if tt.verb == "DEL" {
				p.mustDel()
			}
			if got := n.state(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
		})
	}
}

// What a hook may not change would be undone without a word, or keep DEL from
// finding the endpoint.
func TestHookThatRenames(t *testing.T) {
	tests := []struct {
		name   string
		change func(*hns.Endpoint)
		paths  []string
	}{
		{"name", func(e *hns.Endpoint) { e.Name = "mine" }, []string{"Name"}},
		{"network", func(e *hns.Endpoint) { e.Network = hns.ID{1} }, []string{"HostComputeNetwork"}},
		{"both", func(e *hns.Endpoint) { e.Name, e.Network = "", hns.ID{} }, []string{"Name", "HostComputeNetwork"}},
	}
	for _, tt := range tests {
		n := newBridge(t, nil)
		p := n.pod("sbx-01")
		res := p.mustAdd()
		want := n.state()
		n.plugin.Hooks.BeforeCreate = func(_ context.Context, _ *cniplugin.Pod, e *hns.Endpoint) error { tt.change(e); return nil }
		other := n.pod("sbx-02")
		_, errFirst := other.add()
		_, errAgain := p.add()
		for verb, err := range map[string]error{"ADD": errFirst, "repeated ADD": errAgain, "CHECK": p.check(res)} {
			if diff := cmp.Diff(tt.paths, paths(err)); diff != "" || codeOf(err) != types.ErrInternal {
				t.Errorf("%s: %s: code %d, %v; paths (-want +got):\n%s", tt.name, verb, codeOf(err), err, diff)
			}
		}
		if diff := cmp.Diff(want, n.state()); diff != "" {
			t.Errorf("%s: state (-want +got):\n%s", tt.name, diff)
		}
	}
}
