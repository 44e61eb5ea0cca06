package hns_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestDetach(t *testing.T) {
	tests := []struct {
		name   string
		change func(*node, *hns.Endpoint)
		want   []error // nil: success
		left   int
	}{
		{"in its namespace", func(*node, *hns.Endpoint) {}, nil, 0},
		// Whatever is gone already (Azure/azure-container-networking#715,
		// Azure/azure-container-networking#1272).
		{"endpoint gone", func(n *node, e *hns.Endpoint) { n.must(n.Endpoints.Delete(n.t.Context(), e.ID)) }, nil, 0},
		{"namespace gone", func(n *node, e *hns.Endpoint) { n.must(n.Namespaces.Delete(n.t.Context(), podNS)) }, nil, 0},
		{"namespace gone, and the endpoint does not know", func(n *node, e *hns.Endpoint) {
			n.h.Inject(onAdd(emulator.Fault{Code: hns.CodeElementNotFound}))
		}, nil, 0},
		{"network gone", func(n *node, e *hns.Endpoint) { n.must(n.Networks.Delete(n.t.Context(), n.lake)) }, nil, 0},
		{"endpoint goes meanwhile", func(n *node, e *hns.Endpoint) {
			n.h.Inject(onDelete(emulator.Fault{Code: hns.CodeEndpointNotFound, After: true}))
		}, nil, 0},
		{"endpoint gone, in another word", func(n *node, e *hns.Endpoint) {
			n.h.Inject(onDelete(emulator.Fault{Code: hns.CodeElementNotFound, After: true}))
		}, nil, 0},
		// A delete detaches too.
		{"detach fails", func(n *node, e *hns.Endpoint) { n.h.Inject(onAdd(emulator.Fault{Code: hns.CodeDegraded})) }, nil, 0},
		{"delete fails", func(n *node, e *hns.Endpoint) { n.h.Inject(onDelete(emulator.Fault{Code: hns.CodeAccessDenied})) }, []error{hns.ErrDenied}, 1},
		{"both fail", func(n *node, e *hns.Endpoint) {
			n.h.Inject(onAdd(emulator.Fault{Code: hns.CodeDegraded}))
			n.h.Inject(onDelete(emulator.Fault{Code: hns.CodeAccessDenied}))
		}, []error{hns.ErrDegraded, hns.ErrDenied}, 1},
		// The switch is gone, the endpoint is not: no success.
		{"switch gone", func(n *node, e *hns.Endpoint) { n.h.Inject(onDelete(emulator.Fault{Code: hns.CodeSwitchNotFound})) }, []error{}, 1},
		// A service that is down is not an endpoint that is gone.
		{"service down", func(n *node, e *hns.Endpoint) { n.h.Stop(); n.t.Cleanup(n.h.Start) }, []error{hns.ErrUnavailable}, 1},
		{"service goes down meanwhile", func(n *node, e *hns.Endpoint) {
			n.h.Inject(onAdd(emulator.Fault{Code: hns.CodeRPCUnavailable}))
			n.h.Inject(onDelete(emulator.Fault{Code: hns.CodeRPCUnavailable}))
		}, []error{hns.ErrUnavailable}, 1},
		{"two of the name", func(n *node, e *hns.Endpoint) { n.endpoint(hns.Endpoint{Name: e.Name}, podNS) }, nil, 0},
		{"two of the name, one will not go", func(n *node, e *hns.Endpoint) {
			n.endpoint(hns.Endpoint{Name: e.Name}, hns.ID{})
			n.h.Inject(onDelete(emulator.Fault{Code: hns.CodeAccessDenied}))
		}, []error{hns.ErrDenied}, 1},
		{"another node's of the name", func(n *node, e *hns.Endpoint) {
			n.endpoint(hns.Endpoint{Name: e.Name, Flags: hns.EndpointRemote, IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.99")}}}, hns.ID{})
		}, nil, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, nil)
			done, err := n.attach()
			n.must(err)
			tt.change(n, done.Endpoint)
			err = n.detach()
			if tt.want == nil && err != nil {
				t.Error(err)
			}
			if tt.want != nil {
				wantIs(t, err, tt.want...)
			}
			n.want(tt.left)
		})
	}
}

// An endpoint in no namespace says so with the zero GUID; detaching from that
// failed and left the endpoint (antrea-io/antrea#2301).
func TestDetachFromNowhere(t *testing.T) {
	rec := &recorder{Backend: answering(`{"ID":"` + podID.Upper() + `","Name":"sbx-01_lake","HostComputeNamespace":"00000000-0000-0000-0000-000000000000"}`)}
	if err := hns.New(rec, nil).Detach(t.Context(), hns.Detachment{Name: "sbx-01_lake"}); err != nil {
		t.Fatal(err)
	}
	same(t, "requests", []string{"list endpoint", "delete endpoint"}, rec.verbs())
}

func TestDetachOwn(t *testing.T) {
	n := newNode(t, nil)
	mine, other := n.endpoint(hns.Endpoint{Name: "sbx-01_lake"}, podNS), n.endpoint(hns.Endpoint{Name: "sbx-01_lake"}, podNS)
	unknown := errors.New("the lease cannot be read")
	d := hns.Detachment{Name: "sbx-01_lake", Own: func(_ context.Context, e *hns.Endpoint) (bool, error) {
		if e.ID == other.ID {
			return true, unknown // the error counts
		}
		return true, nil
	}}
	if err := n.Detach(t.Context(), d); !errors.Is(err, unknown) {
		t.Errorf("error %v", err)
	}
	if n.read(mine.ID) != nil || n.read(other.ID) == nil {
		t.Error("not the one that is ours went")
	}
	d.Own = func(context.Context, *hns.Endpoint) (bool, error) { return false, nil }
	n.must(n.Detach(t.Context(), d))
	n.want(1)
	wantIs(t, n.Detach(t.Context(), hns.Detachment{}), hns.ErrInvalid)
}
