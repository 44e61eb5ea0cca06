package hns

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/windows"
)

// The outcome of a call is its HRESULT and its error record together.
func TestNativeFailure(t *testing.T) {
	for _, tt := range []struct {
		name   string
		hr     uint32
		record string
		want   *BackendError // nil: success
	}{
		{"success", 0, "", nil},
		{"success of another kind", 1, "", nil},
		{"a record that says so too", 0, `{"Success":true,"CompartmentId":3}`, nil},
		{"an empty record", 0, `{}`, nil},
		{"failure", 0x803b0013, "", &BackendError{Code: CodePortExists}},
		{"failure with a record", 0x80070490, `{"Success":false,"Error":"Element not found. ","ErrorCode":2147943568}`, &BackendError{Code: CodeElementNotFound, Text: "Element not found. "}},
		{"a good HRESULT and a bad record", 0, `{"Success":false,"Error":"x","ErrorCode":2151350291}`, &BackendError{Code: CodePortExists, Text: "x"}},
		{"a bare Win32 code", 0, `{"ErrorCode":1168}`, &BackendError{Code: CodeElementNotFound}},
		{"no code", 0, `{"Success":false,"Error":"x"}`, &BackendError{Text: "x"}},
		{"only a message", 0, `{"Error":"x"}`, &BackendError{Text: "x"}},
		{"no JSON", 0, `x`, &BackendError{Text: "x"}},
		{"no JSON, beside a failure", 0x80070005, `x`, &BackendError{Code: CodeAccessDenied, Text: "x"}},
	} {
		err := failure(tt.hr, tt.record)
		if tt.want == nil {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		var got *BackendError
		if !errors.As(err, &got) || *got != *tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestNativeGUID(t *testing.T) {
	const text = "{16DE946A-9C28-549A-AF05-33AB0201F9DB}"
	id, err := ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := guid(id); got.String() != text {
		t.Errorf("got %s", got)
	}
}

// The filter is a text inside the query that holds JSON itself.
func TestNativeQuery(t *testing.T) {
	for filter, want := range map[string]string{"": "{}", `{"Name":"a \"b\" <c>"}`: `{"Name":"a \"b\" <c>"}`} {
		p, err := queryText(filter)
		if err != nil {
			t.Fatal(err)
		}
		var q struct {
			SchemaVersion struct{ Major, Minor int }
			Filter        string
		}
		if err := json.Unmarshal([]byte(windows.UTF16PtrToString(p)), &q); err != nil {
			t.Fatal(err)
		}
		if q.Filter != want || q.SchemaVersion.Major != 2 {
			t.Errorf("query %+v", q)
		}
	}
}

// A missing DLL or entry point is an error with its Win32 code, not a panic.
func TestNativeMissing(t *testing.T) {
	for _, tt := range []struct {
		proc *windows.LazyProc
		want Code
	}{
		{windows.NewLazySystemDLL("hnskit-no-such.dll").NewProc("X"), CodeModuleNotFound},
		{windows.NewLazySystemDLL("kernel32.dll").NewProc("HnskitNoSuchProc"), CodeProcNotFound},
	} {
		var be *BackendError
		if err := present(tt.proc); !errors.As(err, &be) || be.Code != tt.want {
			t.Errorf("%s: %v", tt.proc.Name, err)
		}
	}
	if err := present(windows.NewLazySystemDLL("kernel32.dll").NewProc("GetTickCount")); err != nil {
		t.Error(err)
	}
}

// Each verb asks for the functions it calls and for no others: builds without
// those of SDN routes, or without one of them, do the rest.
func TestNativeNeeded(t *testing.T) {
	for _, tt := range []struct {
		kind Kind
		verb Verb
		want []string
	}{
		{KindNetwork, VerbCreate, []string{"HcnCreateNetwork", "HcnQueryNetworkProperties", "HcnCloseNetwork"}},
		{KindEndpoint, VerbCreate, []string{"HcnCreateEndpoint", "HcnQueryEndpointProperties", "HcnCloseEndpoint", "HcnOpenNetwork", "HcnCloseNetwork"}},
		{KindNamespace, VerbModify, []string{"HcnOpenNamespace", "HcnModifyNamespace", "HcnCloseNamespace"}},
		{KindLoadBalancer, VerbList, []string{"HcnEnumerateLoadBalancers", "HcnOpenLoadBalancer", "HcnQueryLoadBalancerProperties", "HcnCloseLoadBalancer"}},
		{KindLoadBalancer, VerbModify, []string{"HcnOpenLoadBalancer", "HcnModifyLoadBalancer", "HcnCloseLoadBalancer"}},
		{KindRoute, VerbList, []string{"HcnEnumerateSdnRoutes", "HcnOpenSdnRoute", "HcnQuerySdnRouteProperties", "HcnCloseSdnRoute"}},
		{KindRoute, VerbGet, []string{"HcnOpenSdnRoute", "HcnQuerySdnRouteProperties", "HcnCloseSdnRoute"}},
		{KindRoute, VerbCreate, []string{"HcnCreateSdnRoute", "HcnQuerySdnRouteProperties", "HcnCloseSdnRoute"}},
		{KindRoute, VerbDelete, []string{"HcnDeleteSdnRoute"}},
		{KindRoute, VerbCall, nil},
	} {
		var got []string
		for _, p := range nativeKinds[tt.kind].needed(tt.verb) {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %s needs %v, want %v", tt.verb, tt.kind, got, tt.want)
		}
	}
	for kind, k := range nativeKinds {
		if k.kind != kind {
			t.Errorf("%s is entered as %s", k.kind, kind)
		}
		for i, p := range k.procs {
			if p == nil {
				t.Errorf("%s lacks function %d", kind, i)
			}
		}
	}
}
