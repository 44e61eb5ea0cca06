package hns_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/golden"
)

// Objects that many tests speak of.
var (
	lake   = mustID("1a000000-0000-4000-8000-000000000001") // a network
	podID  = mustID("2b000000-0000-4000-8000-0000000000ab") // an endpoint
	podNS  = mustID("3c000000-0000-4000-8000-000000000001") // a namespace
	podNS2 = mustID("3c000000-0000-4000-8000-000000000002")

	podID2  = mustID("2b000000-0000-4000-8000-0000000000ac")
	vipID   = mustID("6f000000-0000-4000-8000-000000000001") // a load balancer
	routeID = mustID("7a000000-0000-4000-8000-000000000001") // an SDN route object
)

func mustID(s string) hns.ID {
	id, err := hns.ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}

func mustMAC(s string) hns.MAC {
	m, err := hns.ParseMAC(s)
	if err != nil {
		panic(err)
	}
	return m
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// backend is a Backend made of a function.
type backend func(hns.Request) (hns.Response, error)

func (b backend) Do(r hns.Request) (hns.Response, error) { return b(r) }

// answering answers every request with these documents.
func answering(docs ...string) backend {
	return func(hns.Request) (hns.Response, error) {
		var resp hns.Response
		for _, d := range docs {
			resp.Documents = append(resp.Documents, json.RawMessage(d))
		}
		return resp, nil
	}
}

// failing fails every request.
func failing(code hns.Code, text string) backend {
	return func(hns.Request) (hns.Response, error) {
		return hns.Response{}, &hns.BackendError{Code: code, Text: text}
	}
}

// recorder keeps what it was asked before it asks the next.
type recorder struct {
	hns.Backend
	mu       sync.Mutex
	requests []hns.Request
}

func (r *recorder) Do(req hns.Request) (hns.Response, error) {
	r.mu.Lock()
	r.requests = append(r.requests, req)
	r.mu.Unlock()
	return r.Backend.Do(req)
}

func (r *recorder) sent() []hns.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]hns.Request(nil), r.requests...)
}

// verbs names the requests, such as "create endpoint", in order.
func (r *recorder) verbs() []string {
	var out []string
	for _, q := range r.sent() {
		out = append(out, q.Verb.String()+" "+q.Kind.String())
	}
	return out
}

// goldenDoc compares got with a file under testdata/golden.
func goldenDoc(t *testing.T, name string, got []byte) {
	t.Helper()
	golden.File(t, filepath.Join("testdata", "golden", name), string(got))
}

// complaints writes the FieldErrors of err one a line: "path | value | rule".
func complaints(err error) []string {
	var out []string
	for _, e := range hns.FieldErrors(err) {
		out = append(out, strings.Join([]string{e.Path, e.Value, e.Rule}, " | "))
	}
	return out
}

// addrOptions compare addresses and prefixes as values.
var addrOptions = []cmp.Option{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

// same fails the test with a readable difference.
func same[T any](t *testing.T, what string, want, got T, opts ...cmp.Option) {
	t.Helper()
	opts = append(opts, addrOptions...)
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantIs checks which of the package's sentinels err matches: these and no
// others.
func wantIs(t *testing.T, err error, want ...error) {
	t.Helper()
	for name, s := range sentinels {
		wanted := false
		for _, w := range want {
			wanted = wanted || w == s
		}
		if got := errors.Is(err, s); got != wanted {
			t.Errorf("errors.Is(%q, %s) = %v", err, name, got)
		}
	}
}

var sentinels = map[string]error{
	"ErrNotFound": hns.ErrNotFound, "ErrExists": hns.ErrExists, "ErrAddressInUse": hns.ErrAddressInUse,
	"ErrOverlap": hns.ErrOverlap, "ErrAttached": hns.ErrAttached, "ErrInUse": hns.ErrInUse,
	"ErrInvalid": hns.ErrInvalid, "ErrInvalidPolicy": hns.ErrInvalidPolicy, "ErrUnsupported": hns.ErrUnsupported,
	"ErrUnavailable": hns.ErrUnavailable, "ErrDenied": hns.ErrDenied, "ErrDegraded": hns.ErrDegraded,
	"ErrAmbiguous": hns.ErrAmbiguous, "ErrNotSent": hns.ErrNotSent, "ErrOutcomeUnknown": hns.ErrOutcomeUnknown,
	"ErrLeftBehind": hns.ErrLeftBehind, "ErrUnsupportedOS": hns.ErrUnsupportedOS,
	"ErrDrift": hns.ErrDrift,
}

// isCode reports whether HNS failed with that code.
func isCode(err error, code hns.Code) bool {
	var e *hns.Error
	return errors.As(err, &e) && e.Code == code
}
