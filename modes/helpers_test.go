package modes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// byValue compares what go-cmp cannot look into.
var byValue = cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})

// network reads a network as HNS answers it.
func network(tb testing.TB, name string) *hns.Network {
	tb.Helper()
	doc, err := os.ReadFile(filepath.Join("testdata", "hns", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	n, err := hns.DecodeNetwork(doc)
	if err != nil {
		tb.Fatal(err)
	}
	if len(n.Document.Unread) > 0 {
		tb.Fatalf("%s: unread %v", name, n.Document.Unread)
	}
	return n
}

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func addr(s string) netip.Addr {
	if s == "" {
		return netip.Addr{}
	}
	return netip.MustParseAddr(s)
}

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range texts {
		out = append(out, addr(s))
	}
	return out
}

// complaints lists what an error holds, as "path | value" lines and the word
// "unsupported" where it is that.
func complaints(err error) []string {
	switch e := err.(type) {
	case nil:
		return nil
	case *hns.FieldError:
		return []string{strings.TrimSpace(e.Path + " | " + e.Value)}
	case *modes.UnsupportedError:
		return []string{strings.TrimSpace("unsupported: " + e.Path + " | " + e.Value)}
	case interface{ Unwrap() []error }:
		var out []string
		for _, u := range e.Unwrap() {
			out = append(out, complaints(u)...)
		}
		return out
	}
	if u := errors.Unwrap(err); u != nil {
		return complaints(u)
	}
	return []string{err.Error()}
}

// wantComplaints compares the complaints of err, and wants each of texts in
// its text.
func wantComplaints(t *testing.T, err error, want []string, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want %q", want)
	}
	if diff := cmp.Diff(want, complaints(err)); diff != "" {
		t.Errorf("complaints (-want +got):\n%s\nerror: %v", diff, err)
	}
	for _, s := range texts {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not say %q: %v", s, err)
		}
	}
}

// recorder is a backend that keeps what was sent, and answers a create with
// what it got.
type recorder struct {
	mu   sync.Mutex
	sent []hns.Request
}

func (r *recorder) Do(req hns.Request) (hns.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, req)
	switch req.Verb {
	case hns.VerbCreate:
		return hns.Response{Documents: []json.RawMessage{req.Document}}, nil
	case hns.VerbModify:
		return hns.Response{}, nil
	}
	return hns.Response{}, &hns.BackendError{Err: fmt.Errorf("%s is not expected", req.Verb)}
}

// last returns the document of the last request.
func (r *recorder) last() json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sent) == 0 {
		return nil
	}
	return r.sent[len(r.sent)-1].Document
}
