package cniplugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
)

// Hooks are steps of a plugin's author. A hook's error, or its panic, fails the
// verb, and what the verb made is taken back. All may be nil. The context has
// the deadline of the verb. A hook that has not returned 5 seconds after it is
// given up, and the verb fails: the hook goes on until the process ends, and what
// it does then nobody takes back.
type Hooks struct {
	// BeforeCreate may change the endpoint before it is made: add a policy,
	// say. CHECK and a repeated ADD call it too, to know what to look for, so it
	// must give the same answer again. Name and Network must stay, for DEL goes by
	// the name: see Plugin.EndpointName.
	BeforeCreate func(context.Context, *Pod, *hns.Endpoint) error
	// AfterAttach runs when the endpoint is in its namespace, also if it was
	// there before.
	AfterAttach func(context.Context, *Pod, *hns.Endpoint) error
	// BeforeDetach runs first in DEL, and again if DEL is repeated; the
	// endpoint may be gone. DEL goes on after its error and returns it. GC calls
	// it for each endpoint that it removes.
	BeforeDetach func(context.Context, *Pod) error
}

// hookGrace is how long a hook may take to notice that its context is done.
const hookGrace = 5 * time.Second

func (r *run) beforeCreate(ctx context.Context, e *hns.Endpoint) error {
	h := r.p.Hooks.BeforeCreate
	if h == nil {
		return nil
	}
	err := r.hook(ctx, "BeforeCreate", func(pod *Pod) error { return h(ctx, pod, e) })
	if err != nil {
		return err // e may be changing yet
	}
	var changed []error
	if e.Name != r.EndpointName {
		changed = append(changed, &hns.FieldError{Path: "Name", Value: e.Name, Reason: fmt.Sprintf("a hook cannot change it from %q, by which DEL goes; EndpointName of the plugin can", r.EndpointName)})
	}
	if e.Network != r.Network.ID {
		changed = append(changed, &hns.FieldError{Path: "HostComputeNetwork", Value: e.Network.String(), Reason: fmt.Sprintf("a hook cannot change it from %s, the configuration's", r.Network.ID)})
	}
	if changed != nil { // no fault of the configuration's
		return &Error{Code: types.ErrInternal, Err: fmt.Errorf("hook BeforeCreate: %w", errors.Join(changed...))}
	}
	return nil
}

func (r *run) afterAttach(ctx context.Context, e *hns.Endpoint) error {
	h := r.p.Hooks.AfterAttach
	if h == nil {
		return nil
	}
	own := *e // e is needed to take it back, when a hook may be at work on its own yet
	err := r.hook(ctx, "AfterAttach", func(pod *Pod) error { return h(ctx, pod, &own) })
	if err == nil {
		*e = own
	}
	return err
}

func (r *run) beforeDetach(ctx context.Context) error {
	h := r.p.Hooks.BeforeDetach
	if h == nil {
		return nil
	}
	return r.hook(ctx, "BeforeDetach", func(pod *Pod) error { return h(ctx, pod) })
}

// hook runs a step of the author's, and waits no longer than the verb may take.
func (r *run) hook(ctx context.Context, name string, f func(*Pod) error) error {
	pod := r.Pod
	done := make(chan error, 1)
	go func() {
		err := fmt.Errorf("hook %s: it ended its goroutine", name)
		defer func() { done <- err }()
		err = safely("hook "+name, func() error { return f(&pod) })
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(hookGrace):
		r.Log.Error("a hook does not return, and is given up", "hook", name)
		return fmt.Errorf("hook %s: given up, it does not return: %w", name, context.Cause(ctx))
	}
}
