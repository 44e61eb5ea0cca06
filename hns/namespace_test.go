package hns_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestNamespaceRoundTrip(t *testing.T) {
	want := &hns.Namespace{ID: podNS, NamespaceID: 5, Type: hns.NamespaceGuest}
	doc, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := hns.DecodeNamespace(doc)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "namespace", want, got, cmpopts.IgnoreFields(hns.Namespace{}, "Document"))
}

func TestNamespaceRules(t *testing.T) {
	checkRules(t, func() *hns.Namespace { return &hns.Namespace{Type: hns.NamespaceHost} }, createNamespace, []ruleCase[hns.Namespace]{
		{"as it is", func(*hns.Namespace) {}, nil},
		{"no type", func(n *hns.Namespace) { n.Type = "" }, nil},
		{"strange type", func(n *hns.Namespace) { n.Type = "Pod" }, []string{"Type | Pod | namespace-type"}},
	})
}

func createNamespace(t *testing.T, n *hns.Namespace, allow ...string) error {
	_, err := hns.New(answering(`{}`), &hns.Options{Allow: allow}).Namespaces.Create(t.Context(), n)
	return err
}

// An endpoint in a namespace: there once more is success, elsewhere an error
// that names both (projectcalico/calico#4280).
func TestAddEndpointTwice(t *testing.T) {
	tests := []struct {
		name    string
		code    hns.Code
		in      string // the endpoint's namespace
		want    []error
		details string
	}{
		{"in it, says HNS with success", 0, podNS.String(), nil, ""},
		{"in it, says HNS with an error", hns.CodeEndpointInNamespace, podNS.Upper(), nil, ""},
		{"in it, attached", hns.CodeEndpointAttached, podNS.String(), nil, ""},
		{"in another", hns.CodeEndpointInNamespace, podNS2.String(), []error{hns.ErrAttached}, "in namespace " + podNS2.String()},
		{"attached outside namespaces", hns.CodeEndpointAttached, "", []error{hns.ErrAttached}, "in no namespace; state Attached"},
		{"another failure", hns.CodeNamespaceAttachFailed, podNS.String(), []error{hns.ErrDegraded}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := &recorder{Backend: backend(func(r hns.Request) (hns.Response, error) {
				if r.Verb == hns.VerbModify && tt.code != 0 {
					return hns.Response{}, &hns.BackendError{Code: tt.code}
				}
				return answering(`{"HostComputeNamespace":"` + tt.in + `","State":2}`)(r)
			})}
			err := hns.New(rec, nil).Namespaces.AddEndpoint(t.Context(), podNS, podID)
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantIs(t, err, tt.want...)
			for _, s := range []string{podNS.String(), podID.String(), tt.details} {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

// If it cannot be told where the endpoint is, both failures are reported.
func TestAddEndpointTwiceUnknown(t *testing.T) {
	b := backend(func(r hns.Request) (hns.Response, error) {
		if r.Verb == hns.VerbModify {
			return failing(hns.CodeEndpointInNamespace, "")(r)
		}
		return failing(hns.CodeAccessDenied, "")(r)
	})
	err := hns.New(b, nil).Namespaces.AddEndpoint(t.Context(), podNS, podID)
	wantIs(t, err, hns.ErrAttached, hns.ErrDenied)
}

// A namespace that a container is still in cannot go, and the error says which
// (microsoft/Windows-Containers#485).
func TestDeleteNamespaceInUse(t *testing.T) {
	h := emulator.New(nil)
	c := hns.New(h, nil)
	ctx := t.Context()
	ns, err := c.Namespaces.Create(ctx, &hns.Namespace{ID: podNS})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Do(hns.Request{Verb: hns.VerbModify, Kind: hns.KindNamespace, ID: ns.ID,
		Document: []byte(`{"ResourceType":"Container","RequestType":"Add","Settings":{"ContainerId":"c1"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Namespaces.Delete(ctx, ns.ID)
	wantIs(t, err, hns.ErrInUse)
	var e *hns.Error
	if !errors.As(err, &e) || e.Code != hns.CodeRequestUnsupported || !strings.Contains(err.Error(), "in it: Container c1") {
		t.Errorf("error %v", err)
	}
	// Unable to look inside, the first error stands alone.
	h.Inject(emulator.Fault{Verb: hns.VerbGet, Kind: hns.KindNamespace, Code: hns.CodeAccessDenied})
	wantIs(t, c.Namespaces.Delete(ctx, ns.ID), hns.ErrInUse)
}
