package hcnbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"syscall"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/windows"

	"github.com/hnskit/hnskit/hns"
)

// hcnError is the error of a call of hcn. Its record cannot be set from outside.
func hcnError(cause error) *hcn.HcnError {
	e := new(hcn.HcnError)
	reflect.ValueOf(e).Elem().FieldByName("HcsError").Set(reflect.New(reflect.TypeOf(e.HcsError).Elem()))
	e.Err = cause
	return e
}

func TestFailure(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want hns.BackendError // Err is only compared for being there
	}{
		{"a code of HNS", hcnError(syscall.Errno(0x803b0013)), hns.BackendError{Code: hns.CodePortExists}},
		{"a Win32 code, bare", hcnError(windows.ERROR_NOT_FOUND), hns.BackendError{Code: hns.CodeElementNotFound}},
		{"an HRESULT", hcnError(syscall.Errno(0x80004001)), hns.BackendError{Code: hns.CodeNotImplemented}},
		{"a missing DLL", hcnError(windows.ERROR_MOD_NOT_FOUND), hns.BackendError{Code: hns.CodeModuleNotFound}},
		{"no code", hcnError(nil), hns.BackendError{}},
		{"the v1 package's", hcnError(syscall.Errno(0x803b0002)).HcsError, hns.BackendError{Code: hns.CodeEndpointNotFound}},
		{"a number of Go's own", hcnError(syscall.EINVAL), hns.BackendError{Err: syscall.EINVAL}},
		{"no network", hcn.NetworkNotFoundError{NetworkID: "x"}, hns.BackendError{Code: hns.CodeNetworkNotFound, Err: errors.New("there")}},
		{"no endpoint", hcn.EndpointNotFoundError{EndpointID: "x"}, hns.BackendError{Code: hns.CodeEndpointNotFound, Err: errors.New("there")}},
		{"no namespace", hcn.NamespaceNotFoundError{NamespaceID: "x"}, hns.BackendError{Code: hns.CodeElementNotFound, Err: errors.New("there")}},
		{"no load balancer", hcn.LoadBalancerNotFoundError{LoadBalancerId: "x"}, hns.BackendError{Code: hns.CodeElementNotFound, Err: errors.New("there")}},
		{"no route", hcn.RouteNotFoundError{RouteId: "x"}, hns.BackendError{Code: hns.CodeElementNotFound, Err: errors.New("there")}},
		{"an answer that is no JSON", &json.SyntaxError{}, hns.BackendError{Err: errors.New("there")}},
	} {
		var got *hns.BackendError
		if !errors.As(failure(tt.err), &got) {
			t.Errorf("%s: %T", tt.name, failure(tt.err))
			continue
		}
		there := cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) })
		if diff := cmp.Diff(&tt.want, got, there); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if err := failure(nil); err != nil {
		t.Errorf("success: %v", err)
	}
}

// fakeText is an error with the text that hcsshim makes of a record.
type fakeText string

func (f fakeText) Error() string { return string(f) }

// A record stands behind the number, and may come with success
// (then hcsshim writes the missing error number as it can).
func TestRecord(t *testing.T) {
	for _, tt := range []struct {
		text  string
		cause error
		want  record
	}{
		{hcnError(syscall.Errno(0x803b0013)).Error() + ` {"Success":false,"Error":"Already there. ","ErrorCode":2151350291}`, syscall.Errno(0x803b0013), record{"Already there. ", 0x803b0013}},
		{hcnError(nil).Error() + ` {"Success":false,"Error":"x (0x1f) {","ErrorCode":1168}`, nil, record{"x (0x1f) {", 1168}},
		{hcnError(windows.ERROR_ACCESS_DENIED).Error() + ` no JSON`, windows.ERROR_ACCESS_DENIED, record{Error: "no JSON"}},
		{hcnError(windows.ERROR_ACCESS_DENIED).Error(), windows.ERROR_ACCESS_DENIED, record{}},
		{"another text", nil, record{}},
	} {
		if got := recordOf(fakeText(tt.text), tt.cause); got != tt.want {
			t.Errorf("%q: got %+v, want %+v", tt.text, got, tt.want)
		}
	}
}

// An error record counts even where the call succeeded.
func TestRecordOfSuccess(t *testing.T) {
	var got *hns.BackendError
	err := ofCall(fakeText(hcnError(nil).Error()+` {"Success":false,"Error":"x","ErrorCode":2151350291}`), nil)
	if want := (hns.BackendError{Code: hns.CodePortExists, Text: "x"}); !errors.As(err, &got) || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The v1 package of hcsshim keeps either the code or the message, and takes an
// answer that is a text for an error.
func TestFailureV1(t *testing.T) {
	called := hcnError(syscall.Errno(0x803b0002)).HcsError
	for _, tt := range []struct {
		err  error
		want hns.BackendError
	}{
		{fmt.Errorf("failed during hnsCallRawResponse: %w", called), hns.BackendError{Code: hns.CodeEndpointNotFound}},
		{errors.New("hns failed with error : Das Netzwerk: fehlt"), hns.BackendError{Text: "Das Netzwerk: fehlt"}},
		{errors.New("HNS failed with error : "), hns.BackendError{}},
	} {
		var got *hns.BackendError
		if !errors.As(failureV1(tt.err), &got) || *got != tt.want {
			t.Errorf("%v: got %+v, want %+v", tt.err, got, tt.want)
		}
	}
	var endpoint struct{ Name string }
	for output, want := range map[string]bool{`""`: true, `"done"`: true, `{"Name":1}`: false, `7`: false, `{`: false} {
		if got := answeredText(json.Unmarshal([]byte(output), &endpoint)); got != want {
			t.Errorf("output %s: %v", output, got)
		}
	}
}

// hcn panics where the DLL lacks a function: it takes every error for its own
// (microsoft/hcsshim's hcnerrors.go).
func TestPanicIsAnError(t *testing.T) {
	do := func(f func()) (err error) {
		defer func() { err = panicked(recover()) }()
		f()
		return nil
	}
	var missingProc error = &windows.DLLError{Err: windows.ERROR_PROC_NOT_FOUND, ObjName: "HcnEnumerateSdnRoutes", Msg: "not found"}
	var answer *[8]uint16
	for _, tt := range []struct {
		name string
		f    func()
		code hns.Code
	}{
		{"a failed type assertion", func() { _ = missingProc.(*hcn.HcnError) }, hns.CodeProcNotFound},
		{"an answer of nothing", func() { _ = answer[:] }, 0},
		{"no error", func() { panic("x") }, 0},
	} {
		var be *hns.BackendError
		if err := do(tt.f); !errors.As(err, &be) || be.Code != tt.code || be.Err == nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	c := hns.New(raising{missingProc}, nil)
	if _, err := c.Routes.List(t.Context()); !errors.Is(err, hns.ErrUnsupported) {
		t.Errorf("client: %v", err)
	}
}

// raising is a backend of which every call fails as hcn's does.
type raising struct{ err error }

func (r raising) Do(hns.Request) (resp hns.Response, err error) {
	defer func() { err = panicked(recover()) }()
	_ = r.err.(*hcn.HcnError)
	return
}

// A list is asked for again when an object went away under it, and not for ever.
func TestListRetries(t *testing.T) {
	gone := hcnError(syscall.Errno(0x803b0002))
	for _, tt := range []struct {
		name  string
		fails int
		err   error
		calls int
		code  hns.Code
	}{
		{"nothing went away", 0, nil, 1, 0},
		{"something went away", 1, gone, 2, 0},
		{"it never ends", 100, gone, listAttempts, hns.CodeEndpointNotFound},
		{"another failure", 100, hcnError(windows.ERROR_ACCESS_DENIED), 1, hns.CodeAccessDenied},
	} {
		calls := 0
		list := lister(func(hcn.HostComputeQuery) ([]hcn.HostComputeEndpoint, error) {
			if calls++; calls <= tt.fails {
				return nil, tt.err
			}
			return []hcn.HostComputeEndpoint{{Id: epID}}, nil
		})
		resp, err := list("")
		var be *hns.BackendError
		if code := hns.Code(0); errors.As(err, &be) {
			if code = be.Code; code != tt.code {
				t.Errorf("%s: %v", tt.name, err)
			}
		} else if len(resp.Documents) != 1 || tt.code != 0 {
			t.Errorf("%s: got %v, %v", tt.name, resp, err)
		}
		if calls != tt.calls {
			t.Errorf("%s: %d calls, want %d", tt.name, calls, tt.calls)
		}
	}
}

// hcn says that a route was deleted also where it could not look for it.
func TestRemoveRoute(t *testing.T) {
	gone, down := hcn.RouteNotFoundError{RouteId: rtID}, hcnError(windows.RPC_S_SERVER_UNAVAILABLE)
	for _, tt := range []struct {
		name                  string
		before, remove, after error
		ok                    bool
		code                  hns.Code
		removed               bool
	}{
		{"deleted", nil, nil, gone, true, 0, true},
		{"not there", gone, nil, gone, false, hns.CodeElementNotFound, false},
		{"service down", down, nil, down, false, hns.CodeRPCUnavailable, false},
		{"refused", nil, hcnError(windows.ERROR_ACCESS_DENIED), nil, false, hns.CodeAccessDenied, true},
		{"service down in between", nil, nil, down, false, hns.CodeRPCUnavailable, true},
		{"still there", nil, nil, nil, false, 0, true},
	} {
		looks, removed := 0, false
		get := func(string) (*hcn.HostComputeRoute, error) {
			if looks++; looks == 1 {
				return fullRoute(), tt.before
			}
			return fullRoute(), tt.after
		}
		err := remover(routeRemover(get, func(*hcn.HostComputeRoute) error { removed = true; return tt.remove }))(rtID)
		var be *hns.BackendError
		if errors.As(err, &be) == tt.ok || !tt.ok && be.Code != tt.code || removed != tt.removed {
			t.Errorf("%s: %v, removed %v", tt.name, err, removed)
		}
	}
}

// hcn would shorten these; nothing is sent.
func TestBackendRefusesToShorten(t *testing.T) {
	for _, tt := range []struct {
		name string
		req  hns.Request
		want []string
	}{
		{"subnet", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: json.RawMessage(`{"Name":"x","Ipams":[{"Subnets":[{"Flags":1}]}]}`)}, []string{"Ipams[0].Subnets[0].Flags"}},
		{"address", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Document: json.RawMessage(`{"IpConfigurations":[{"IpAddress":"10.0.0.1","IpSubnetId":"x"}],"Novel":1}`)}, []string{"IpConfigurations[0].IpSubnetId", "Novel"}},
		{"network of a load balancer", hns.Request{Verb: hns.VerbModify, Kind: hns.KindLoadBalancer, Document: json.RawMessage(`{"HostComputeNetwork":"x"}`)}, []string{"HostComputeNetwork"}},
		{"two lists of routes", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindRoute, Document: json.RawMessage(`{"Routes":[{"NextHop":"a"}],"Setting":[{"NextHop":"b"}]}`)}, []string{"Routes"}},
		{"modify", hns.Request{Verb: hns.VerbModify, Kind: hns.KindNetwork, Document: json.RawMessage(`{"ResourceUri":"x","RequestType":"Add"}`)}, []string{"ResourceUri"}},
		{"an enum by number", hns.Request{Verb: hns.VerbModify, Kind: hns.KindNamespace, Document: json.RawMessage(`{"ResourceType":1,"RequestType":"Add"}`)}, []string{"ResourceType"}},
	} {
		_, err := New().Do(tt.req)
		var le *LossError
		if !errors.As(err, &le) || !errors.Is(err, hns.ErrUnsupported) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for _, l := range le.Losses {
			got = append(got, l.Path)
		}
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestBackendRefusals(t *testing.T) {
	for _, tt := range []struct {
		name string
		req  hns.Request
		want error
	}{
		{"no JSON", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: json.RawMessage(`{`)}, hns.ErrInvalid},
		{"an empty list", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: json.RawMessage(`[]`)}, hns.ErrInvalid},
		{"a list", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNamespace, Document: json.RawMessage(` [{"Type":"Host"}]`)}, hns.ErrInvalid},
		{"null", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNamespace, Document: json.RawMessage(`null`)}, hns.ErrInvalid},
		{"null for routes", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindRoute, Document: json.RawMessage(`null`)}, hns.ErrInvalid},
		{"no document", hns.Request{Verb: hns.VerbModify, Kind: hns.KindEndpoint}, hns.ErrInvalid},
		{"a subnet without a gateway", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: json.RawMessage(`{"Ipams":[{"Subnets":[{"IpAddressPrefix":"10.0.0.0/24"}]}]}`)}, hns.ErrInvalid},
		{"an endpoint of two networks", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Network: hns.ID{1}, Document: json.RawMessage(`{"HostComputeNetwork":"` + netID + `"}`)}, hns.ErrInvalid},
		{"an endpoint of no network", hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Network: hns.ID{1}, Document: json.RawMessage(`{"HostComputeNetwork":"lake"}`)}, hns.ErrInvalid},
		{"modify a route", hns.Request{Verb: hns.VerbModify, Kind: hns.KindRoute, Document: json.RawMessage(`{}`)}, hns.ErrUnsupported},
		{"no kind", hns.Request{Verb: hns.VerbList}, hns.ErrUnsupported},
		{"no verb", hns.Request{Kind: hns.KindNetwork}, hns.ErrUnsupported},
		{"a v1 call that hcsshim has not", hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/namespaces/x"}, hns.ErrUnsupported},
		{"a v1 call of nothing", hns.Request{Verb: hns.VerbCall}, hns.ErrUnsupported},
	} {
		_, err := New().Do(tt.req)
		var be *hns.BackendError
		if !errors.As(err, &be) {
			t.Errorf("%s: %T %v", tt.name, err, err)
			continue
		}
		wrapped := &hns.Error{Verb: tt.req.Verb, Kind: tt.req.Kind, Code: be.Code, Err: be.Err}
		if !errors.Is(wrapped, tt.want) {
			t.Errorf("%s: %v is not %v", tt.name, err, tt.want)
		}
	}
}
