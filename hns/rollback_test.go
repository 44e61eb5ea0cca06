package hns_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// Where a step fails, before its effect or after it, the error is that of the
// step and nothing is left.
func TestAttachRollsBack(t *testing.T) {
	tests := []struct {
		name  string
		fault emulator.Fault
		want  []error
	}{
		{"create refused", onCreate(emulator.Fault{Code: hns.CodeInvalidPolicy}), []error{hns.ErrInvalid, hns.ErrInvalidPolicy}},
		{"create done, and failed", onCreate(emulator.Fault{Code: hns.CodeRPCCallFailed, After: true}), []error{hns.ErrUnavailable}},
		{"no network", onCreate(emulator.Fault{Code: hns.CodeNetworkNotFound}), []error{hns.ErrNotFound}},
		// The rollback looked for the endpoint by the wrong name and left it
		// (ovn-kubernetes/ovn-kubernetes#390).
		{"add refused", onAdd(emulator.Fault{Code: hns.CodeNamespaceAttachFailed}), []error{hns.ErrDegraded}},
		{"add done, and failed", onAdd(emulator.Fault{Code: hns.CodeRPCCallFailed, After: true}), []error{hns.ErrUnavailable}},
		{"namespace gone", onAdd(emulator.Fault{Code: hns.CodeElementNotFound}), []error{hns.ErrNotFound}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, nil)
			n.h.Inject(tt.fault)
			done, err := n.attach()
			wantIs(t, err, tt.want...)
			var e *hns.Error
			if done != nil || !errors.As(err, &e) || e.Code != tt.fault.Code {
				t.Errorf("got %v, %v", done, err)
			}
			n.want(0)
			if _, err := n.attach(); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

// The rollback goes by the id that the create gave, not by a search.
func TestRollbackGoesByID(t *testing.T) {
	n := newNode(t, nil)
	n.h.Inject(onAdd(emulator.Fault{Code: hns.CodeNamespaceAttachFailed}))
	_, err := n.attach()
	wantIs(t, err, hns.ErrDegraded)
	same(t, "requests", []string{"list endpoint", "create endpoint", "modify namespace", "delete endpoint"}, n.rec.verbs())
}

func TestRollbackThatFails(t *testing.T) {
	for name, tt := range map[string]struct {
		faults []emulator.Fault
		want   []error
		left   int
	}{
		"delete after add": {[]emulator.Fault{onAdd(emulator.Fault{Code: hns.CodeNamespaceAttachFailed}), onDelete(emulator.Fault{Code: hns.CodeAccessDenied})},
			[]error{hns.ErrDegraded, hns.ErrDenied, hns.ErrLeftBehind}, 1},
		"gone meanwhile": {[]emulator.Fault{onAdd(emulator.Fault{Code: hns.CodeNamespaceAttachFailed}), onDelete(emulator.Fault{Code: hns.CodeEndpointNotFound, After: true})},
			[]error{hns.ErrDegraded}, 0},
		// A switch that is missing is no endpoint that is missing.
		"port not found": {[]emulator.Fault{onAdd(emulator.Fault{Code: hns.CodeNamespaceAttachFailed}), onDelete(emulator.Fault{Code: hns.CodePortNotFound})},
			[]error{hns.ErrDegraded, hns.ErrLeftBehind}, 1},
		"delete after create": {[]emulator.Fault{onCreate(emulator.Fault{Code: hns.CodeRPCCallFailed, After: true}), onDelete(emulator.Fault{Code: hns.CodeAccessDenied})},
			[]error{hns.ErrUnavailable, hns.ErrDenied, hns.ErrLeftBehind}, 1},
		"search after create": {[]emulator.Fault{onCreate(emulator.Fault{Code: hns.CodeRPCCallFailed, After: true}),
			{Verb: hns.VerbList, Kind: hns.KindEndpoint, Nth: 2, Code: hns.CodeServiceNotActive}},
			[]error{hns.ErrUnavailable, hns.ErrLeftBehind}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, nil)
			for _, f := range tt.faults {
				n.h.Inject(f)
			}
			_, err := n.attach()
			wantIs(t, err, tt.want...)
			n.want(tt.left)
		})
	}
}

// A step that hangs: the caller is answered when its context ends, the rollback
// has time of its own, and what lands later is cleaned up by the next DEL
// (Azure/azure-container-networking#1359).
func TestAttachHangs(t *testing.T) {
	tests := []struct {
		name  string
		fault emulator.Fault
		late  int // endpoints once the call has come back
	}{
		{"create, before its effect", onCreate(emulator.Fault{}), 1},
		{"create, after its effect", onCreate(emulator.Fault{After: true}), 0},
		{"add, before its effect", onAdd(emulator.Fault{}), 0},
		{"add, after its effect", onAdd(emulator.Fault{After: true}), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, nil)
			hang, reached := make(chan struct{}), make(chan struct{})
			tt.fault.Hang = hang
			tt.fault.Match = func(hns.Request) bool { close(reached); return true }
			remove := n.h.Inject(tt.fault)
			ctx, cancel := context.WithCancel(t.Context())
			done := background(func() error { _, err := n.Attach(ctx, n.attachment()); return err })
			<-reached
			remove()
			if tt.fault.After { // the effect has no channel of its own to wait for
				for len(n.endpoints()) == 0 || tt.fault.Verb == hns.VerbModify && n.endpoints()[0].Namespace.IsZero() {
					runtime.Gosched()
				}
			}
			cancel()
			err := <-done
			wantIs(t, err, hns.ErrOutcomeUnknown)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			n.want(0)

			close(hang)
			<-n.onLate
			n.want(tt.late)
			if err := n.detach(); err != nil {
				t.Error(err)
			}
			n.want(0)
		})
	}
}
