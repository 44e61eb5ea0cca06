package native_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator/wine/native"
)

var (
	netID = mustID("11111111-1111-4111-8111-111111111111")
	epID  = mustID("22222222-2222-4222-8222-222222222222")
	nsID  = mustID("33333333-3333-4333-8333-333333333333")
	lbID  = mustID("44444444-4444-4444-8444-444444444444")
)

var kinds = []hns.Kind{hns.KindNetwork, hns.KindEndpoint, hns.KindNamespace, hns.KindLoadBalancer, hns.KindRoute}

func mustID(s string) hns.ID {
	id, err := hns.ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}

// backend answers with what it is told and keeps what it was asked.
type backend struct {
	got  []hns.Request
	docs []string
	err  error
}

func (b *backend) Do(r hns.Request) (hns.Response, error) {
	b.got = append(b.got, r)
	if b.err != nil {
		return hns.Response{}, b.err
	}
	var resp hns.Response
	for _, d := range b.docs {
		resp.Documents = append(resp.Documents, json.RawMessage(d))
	}
	return resp, nil
}

// answer makes the next calls answer with docs.
func (b *backend) answer(docs ...string) { b.docs, b.err = docs, nil }

func newAPI() (*native.API, *backend) {
	b := new(backend)
	return native.New(b, nil), b
}

// opened returns a handle for the object id.
func opened(t *testing.T, api *native.API, b *backend, k hns.Kind, id hns.ID) uint64 {
	t.Helper()
	b.answer(`{"ID":"` + id.String() + `"}`)
	a := api.Open(k, id)
	if a.Code != 0 || a.Handle == 0 {
		t.Fatalf("open %s: %+v", k, a)
	}
	b.got = nil
	return a.Handle
}

func TestRequests(t *testing.T) {
	api, b := newAPI()
	network := opened(t, api, b, hns.KindNetwork, netID)
	endpoint := opened(t, api, b, hns.KindEndpoint, epID)
	namespace := opened(t, api, b, hns.KindNamespace, nsID)
	balancer := opened(t, api, b, hns.KindLoadBalancer, lbID)
	route := opened(t, api, b, hns.KindRoute, lbID)
	const made = `{"ID":"22222222-2222-4222-8222-222222222222"}`

	tests := []struct {
		name string
		docs []string
		call func() native.Answer
		want hns.Request
		text string // of the answer
	}{
		{
			name: "enumerate all",
			docs: []string{`{"ID":"11111111-1111-4111-8111-111111111111","Name":"a"}`, `{"id":"22222222-2222-4222-8222-22222222222A"}`},
			call: func() native.Answer { return api.Enumerate(hns.KindNetwork, "") },
			want: hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork},
			text: `["11111111-1111-4111-8111-111111111111","22222222-2222-4222-8222-22222222222A"]`,
		},
		{
			name: "enumerate none",
			call: func() native.Answer {
				return api.Enumerate(hns.KindNamespace, `{"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{}"}`)
			},
			want: hns.Request{Verb: hns.VerbList, Kind: hns.KindNamespace},
			text: `[]`,
		},
		{
			name: "enumerate with a filter",
			call: func() native.Answer {
				return api.Enumerate(hns.KindEndpoint, `{"SchemaVersion":{"Major":2},"Flags":1,"Filter":"{\"Name\":\"a<b\"}"}`)
			},
			want: hns.Request{Verb: hns.VerbList, Kind: hns.KindEndpoint, Filter: `{"Name":"a<b"}`},
			text: `[]`,
		},
		{
			name: "create a network",
			docs: []string{made},
			call: func() native.Answer { return api.Create(hns.KindNetwork, 0, hns.ID{}, `{"Name":"n"}`) },
			want: hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: json.RawMessage(`{"Name":"n"}`)},
		},
		{
			name: "create an endpoint with an id",
			docs: []string{made},
			call: func() native.Answer { return api.Create(hns.KindEndpoint, network, epID, `{}`) },
			want: hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, ID: epID, Network: netID, Document: json.RawMessage(`{}`)},
		},
		{
			name: "create a namespace from nothing",
			docs: []string{made},
			call: func() native.Answer { return api.Create(hns.KindNamespace, 0, hns.ID{}, "") },
			want: hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNamespace},
		},
		{
			name: "open",
			docs: []string{made},
			call: func() native.Answer { return api.Open(hns.KindEndpoint, epID) },
			want: hns.Request{Verb: hns.VerbGet, Kind: hns.KindEndpoint, ID: epID},
		},
		{
			name: "modify",
			call: func() native.Answer { return api.Modify(hns.KindNamespace, namespace, `{"RequestType":"Add"}`) },
			want: hns.Request{Verb: hns.VerbModify, Kind: hns.KindNamespace, ID: nsID, Document: json.RawMessage(`{"RequestType":"Add"}`)},
		},
		{
			name: "query",
			docs: []string{made},
			call: func() native.Answer {
				return api.Query(hns.KindEndpoint, endpoint, `{"SchemaVersion":{"Major":2,"Minor":0}}`)
			},
			want: hns.Request{Verb: hns.VerbGet, Kind: hns.KindEndpoint, ID: epID},
			text: made,
		},
		{
			name: "query in the shape of schema 1",
			docs: []string{made},
			call: func() native.Answer {
				return api.Query(hns.KindNetwork, network, `{"SchemaVersion":{"Major":1,"Minor":0}}`)
			},
			want: hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/networks/" + netID.String()},
			text: made,
		},
		{
			name: "create a load balancer",
			docs: []string{made},
			call: func() native.Answer {
				return api.Create(hns.KindLoadBalancer, 0, hns.ID{}, `{"HostComputeEndpoints":[]}`)
			},
			want: hns.Request{Verb: hns.VerbCreate, Kind: hns.KindLoadBalancer, Document: json.RawMessage(`{"HostComputeEndpoints":[]}`)},
		},
		{
			name: "modify a load balancer",
			call: func() native.Answer { return api.Modify(hns.KindLoadBalancer, balancer, `{"FrontendVIPs":[]}`) },
			want: hns.Request{Verb: hns.VerbModify, Kind: hns.KindLoadBalancer, ID: lbID, Document: json.RawMessage(`{"FrontendVIPs":[]}`)},
		},
		{
			name: "query a load balancer in the shape of schema 1",
			docs: []string{made},
			call: func() native.Answer {
				return api.Query(hns.KindLoadBalancer, balancer, `{"SchemaVersion":{"Major":1,"Minor":0}}`)
			},
			want: hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/policylists/" + lbID.String()},
			text: made,
		},
		{
			name: "query a route",
			docs: []string{made},
			call: func() native.Answer { return api.Query(hns.KindRoute, route, "") },
			want: hns.Request{Verb: hns.VerbGet, Kind: hns.KindRoute, ID: lbID},
			text: made,
		},
		{
			name: "delete",
			call: func() native.Answer { return api.Delete(hns.KindNetwork, netID) },
			want: hns.Request{Verb: hns.VerbDelete, Kind: hns.KindNetwork, ID: netID},
		},
		{
			name: "v1 call with output",
			docs: []string{`{"Major":13,"Minor":2}`},
			call: func() native.Answer { return api.Call("GET", "/globals/version", "") },
			want: hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/globals/version"},
			text: `{"Success":true,"Output":{"Major":13,"Minor":2}}`,
		},
		{
			name: "v1 call without output",
			call: func() native.Answer { return api.Call("POST", "/endpoints/x/attach", `{"SystemType":"Host"}`) },
			want: hns.Request{Verb: hns.VerbCall, Method: "POST", Path: "/endpoints/x/attach", Document: json.RawMessage(`{"SystemType":"Host"}`)},
			text: `{"Success":true}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b.got = nil
			b.answer(tt.docs...)
			a := tt.call()
			if a.Code != 0 || a.Record != "" {
				t.Errorf("failed: %s, record %s", a.Code, a.Record)
			}
			if a.Text != tt.text {
				t.Errorf("text = %s, want %s", a.Text, tt.text)
			}
			opens := tt.want.Verb == hns.VerbCreate || strings.HasPrefix(tt.name, "open")
			if got := a.Handle != 0; got != opens {
				t.Errorf("handle = %#x, but opens a handle = %t", a.Handle, opens)
			}
			if diff := cmp.Diff([]hns.Request{tt.want}, b.got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBackendFailures walks every call of every kind over a backend that
// fails: each gives the code, the record, and no result.
func TestBackendFailures(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		code   hns.Code
		record string
	}{
		{
			"code and text",
			&hns.BackendError{Code: hns.CodeNetworkNotFound, Text: "No such <network>."},
			hns.CodeNetworkNotFound,
			`{"Success":false,"Error":"No such <network>. ","ErrorCode":2151350273}`,
		},
		{
			"text that ends in a blank has no second one",
			&hns.BackendError{Code: hns.CodeElementNotFound, Text: "Element not found. "},
			hns.CodeElementNotFound,
			`{"Success":false,"Error":"Element not found. ","ErrorCode":2147943568}`,
		},
		{
			"wrapped",
			fmt.Errorf("layer: %w", &hns.BackendError{Code: hns.CodePortExists, Text: "Taken."}),
			hns.CodePortExists,
			`{"Success":false,"Error":"Taken. ","ErrorCode":2151350291}`,
		},
		{
			"bare Win32 code",
			&hns.BackendError{Code: 0x490, Text: "Element not found."},
			hns.CodeElementNotFound,
			`{"Success":false,"Error":"Element not found. ","ErrorCode":2147943568}`,
		},
		{
			"a code that would read as success",
			&hns.BackendError{Code: 0x003b0001, Text: "Odd."},
			0x80004005,
			`{"Success":false,"Error":"Odd. ","ErrorCode":2147500037}`,
		},
		{
			"no code but a cause",
			&hns.BackendError{Text: "state", Err: errors.New("disk full")},
			0x80004005,
			`{"Success":false,"Error":"HNS failed: state: disk full ","ErrorCode":2147500037}`,
		},
		{
			"any other error",
			errors.New("boom"),
			0x80004005,
			`{"Success":false,"Error":"boom ","ErrorCode":2147500037}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, call := range everyCall(t, tt.err) {
				a := call()
				want := native.Answer{Code: tt.code, Record: tt.record}
				if name == "HNSCall" { // the message is in the envelope
					message, _, _ := strings.Cut(tt.record, `,"ErrorCode"`)
					want = native.Answer{Code: tt.code, Text: message + "}"}
				}
				if diff := cmp.Diff(want, a); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// everyCall returns all calls that reach the backend, on valid handles, over
// a backend that fails with err.
func everyCall(t *testing.T, err error) map[string]func() native.Answer {
	api, b := newAPI()
	network := opened(t, api, b, hns.KindNetwork, netID)
	calls := map[string]func() native.Answer{
		"HNSCall": func() native.Answer { return api.Call("GET", "/networks/", "") },
	}
	for _, k := range kinds {
		h := opened(t, api, b, k, epID)
		name := k.String() + " "
		calls[name+"enumerate"] = func() native.Answer { return api.Enumerate(k, "") }
		calls[name+"create"] = func() native.Answer { return api.Create(k, network, hns.ID{}, "{}") }
		calls[name+"open"] = func() native.Answer { return api.Open(k, epID) }
		calls[name+"modify"] = func() native.Answer { return api.Modify(k, h, "{}") }
		calls[name+"query"] = func() native.Answer { return api.Query(k, h, "") }
		calls[name+"delete"] = func() native.Answer { return api.Delete(k, epID) }
	}
	b.err = err
	return calls
}

// A v1 call that fails without a code succeeds as a call.
func TestV1FailureWithoutCode(t *testing.T) {
	api, b := newAPI()
	b.err = &hns.BackendError{Text: "The endpoint was not found."}
	want := native.Answer{Text: `{"Success":false,"Error":"The endpoint was not found. "}`}
	if diff := cmp.Diff(want, api.Call("DELETE", "/endpoints/x", "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// v2 has no such form.
	if a := api.Delete(hns.KindEndpoint, epID); a.Code != 0x80004005 {
		t.Errorf("delete: %s, want E_FAIL", a.Code)
	}
}

// What a program sends is checked before the backend sees it.
func TestBadInput(t *testing.T) {
	api, b := newAPI()
	network := opened(t, api, b, hns.KindNetwork, netID)
	b.answer()
	tests := []struct {
		name string
		call func() native.Answer
		says string
	}{
		{"broken query", func() native.Answer { return api.Enumerate(hns.KindNetwork, `{"Filter":`) }, `{\"Filter\":`},
		{"query that is a list", func() native.Answer { return api.Enumerate(hns.KindNetwork, `[1]`) }, `[1]`},
		{"filter that is no JSON", func() native.Answer { return api.Enumerate(hns.KindNetwork, `{"Filter":"Name=x"}`) }, `Name=x`},
		{"filter that is a list", func() native.Answer { return api.Enumerate(hns.KindNetwork, `{"Filter":"[]"}`) }, `[]`},
		{"broken query of an object", func() native.Answer { return api.Query(hns.KindNetwork, network, `{`) }, `{`},
		{"broken settings of create", func() native.Answer { return api.Create(hns.KindNetwork, 0, hns.ID{}, `{"Name":}`) }, `{\"Name\":}`},
		{"broken settings of modify", func() native.Answer { return api.Modify(hns.KindNetwork, network, `nope`) }, `nope`},
		{"broken body of a v1 call", func() native.Answer { return api.Call("POST", "/networks/", `{]`) }, `{]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.call()
			if a.Code != hns.CodeInvalidJSON {
				t.Errorf("code = %s, want %s", a.Code, hns.CodeInvalidJSON)
			}
			if a.Handle != 0 || a.Text != "" && a.Record != "" {
				t.Errorf("a failure has a result: %+v", a)
			}
			if got := message(t, a); !strings.Contains(got, tt.says) {
				t.Errorf("the message %s does not show %s", got, tt.says)
			}
			if len(b.got) != 0 {
				t.Errorf("the backend was asked: %+v", b.got)
			}
		})
	}
}

// message returns the message of a failure: of its record, or of its envelope
// if it is one of a v1 call.
func message(t *testing.T, a native.Answer) string {
	t.Helper()
	var m struct{ Error string }
	if err := json.Unmarshal([]byte(a.Record+a.Text), &m); err != nil {
		t.Errorf("neither one record nor one envelope: %+v: %v", a, err)
	}
	return m.Error
}

// A backend that breaks its contract is a failure, not garbage for the caller.
func TestBadBackend(t *testing.T) {
	api, b := newAPI()
	network := opened(t, api, b, hns.KindNetwork, netID)
	for _, docs := range [][]string{{}, {`{}`, `{}`}, {`{"ID":`}, {`{"Name":"no id"}`}, {`{"ID":"no id"}`}} {
		b.answer(docs...)
		if a := api.Create(hns.KindNetwork, 0, hns.ID{}, `{}`); a.Code != 0x80004005 || a.Handle != 0 {
			t.Errorf("create over %q: %+v", docs, a)
		}
	}
	for _, docs := range [][]string{{}, {`{}`, `{}`}, {`{"ID":`}} {
		b.answer(docs...)
		if a := api.Query(hns.KindNetwork, network, ""); a.Code != 0x80004005 || a.Text != "" {
			t.Errorf("query over %q: %+v", docs, a)
		}
	}
	b.answer(`{"ID":"`+netID.String()+`"}`, `{}`)
	if a := api.Enumerate(hns.KindNetwork, ""); a.Code != 0x80004005 || a.Text != "" {
		t.Errorf("enumerate over an object without id: %+v", a)
	}
	b.answer(`{`)
	if a := api.Call("GET", "/", ""); a.Code != 0x80004005 || !strings.HasPrefix(a.Text, `{"Success":false,`) {
		t.Errorf("v1 call over broken JSON: %+v", a)
	}
}
