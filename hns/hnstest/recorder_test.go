package hnstest_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/hnstest"
)

// fixed is a backend that always gives one answer.
type fixed struct {
	resp hns.Response
	err  error
}

func (f fixed) Do(hns.Request) (hns.Response, error) { return f.resp, f.err }

func TestRecorderText(t *testing.T) {
	a, b := hns.NewID(), hns.NewID()
	tests := []struct {
		name string
		back fixed
		req  hns.Request
		want string
	}{
		{"create", fixed{resp: hns.Response{Documents: []json.RawMessage{[]byte(`{"ID":"` + a.String() + `"}`)}}},
			hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Network: b, Document: []byte(`{ "HostComputeNetwork": "` + b.Upper() + `" }`)},
			"create endpoint on #1 {\"HostComputeNetwork\":\"#1\"}\n\tok\n\t{\"ID\":\"#2\"}\n"},
		{"list", fixed{}, hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork, Filter: `{"Name": "x"}`}, "list network {\"Name\":\"x\"}\n\tok\n"},
		{"delete", fixed{err: &hns.BackendError{Code: hns.CodeNetworkNotFound, Text: "Das Netzwerk wurde nicht gefunden. "}},
			hns.Request{Verb: hns.VerbDelete, Kind: hns.KindNetwork, ID: a}, "delete network #1\n\tHCN_E_NETWORK_NOT_FOUND (0x803b0001)\n"},
		{"call", fixed{err: &hns.BackendError{Text: "no code"}}, hns.Request{Verb: hns.VerbCall, Kind: hns.KindNetwork, ID: a, Method: "GET", Path: "/networks/" + a.Upper()},
			"call GET /networks/#1\n\tHNS failed: no code\n"},
		{"no backend error", fixed{err: errors.New("broken")}, hns.Request{Verb: hns.VerbGet, Kind: hns.KindRoute, ID: a}, "get SDN route #1\n\tbroken\n"},
		{"no JSON", fixed{}, hns.Request{Verb: hns.VerbModify, Kind: hns.KindNamespace, ID: a, Document: []byte(`{"x`)}, "modify namespace #1 \"{\\\"x\"\n\tok\n"},
		{"zero id", fixed{}, hns.Request{Verb: hns.VerbList, Kind: hns.KindEndpoint, Filter: `{"HostComputeNamespace":"00000000-0000-0000-0000-000000000000"}`},
			"list endpoint {\"HostComputeNamespace\":\"00000000-0000-0000-0000-000000000000\"}\n\tok\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := hnstest.NewRecorder(tt.back)
			resp, err := r.Do(tt.req)
			if !errors.Is(err, tt.back.err) || len(resp.Documents) != len(tt.back.resp.Documents) {
				t.Errorf("passed on: %v, %v", resp, err)
			}
			if diff := cmp.Diff(tt.want, r.String()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// Two runs of a program on fresh hosts give one text, though the ids differ.
func TestRecorderTextIsComparable(t *testing.T) {
	run := func(seed uint64) string {
		r := hnstest.NewRecorder(emulator.New(&emulator.Options{Seed: seed}))
		c := hns.New(r, nil)
		ctx := context.Background()
		ns, err := c.Namespaces.Create(ctx, &hns.Namespace{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Namespaces.AddEndpoint(ctx, ns.ID, ns.ID); !errors.Is(err, hns.ErrNotFound) {
			t.Errorf("%v", err)
		}
		if err := c.Namespaces.Delete(ctx, ns.ID); err != nil {
			t.Fatal(err)
		}
		return r.String()
	}
	first, second := run(1), run(2)
	if diff := cmp.Diff(first, second); diff != "" || !strings.Contains(first, "HCN_E_ENDPOINT_NOT_FOUND") {
		t.Errorf("%s\n%s", first, diff)
	}
}

// What was recorded does not change with the documents of caller and callee.
func TestRecorderKeepsCopies(t *testing.T) {
	answer := json.RawMessage(`{"a":1}`)
	r := hnstest.NewRecorder(fixed{resp: hns.Response{Documents: []json.RawMessage{answer}}})
	doc := json.RawMessage(`{"b":2}`)
	if _, err := r.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: doc}); err != nil {
		t.Fatal(err)
	}
	doc[1], answer[1] = 'x', 'x'
	got := r.Exchanges()
	got[0].Request.Document[1] = 'y'
	if got := r.String(); got != "create network {\"b\":2}\n\tok\n\t{\"a\":1}\n" {
		t.Error(got)
	}
	r.Reset()
	if got := r.Exchanges(); len(got) != 0 {
		t.Errorf("after Reset: %v", got)
	}
}

// hanging is a backend that answers when it is told to.
type hanging chan struct{}

func (h hanging) Do(hns.Request) (hns.Response, error) { <-h; return hns.Response{}, nil }

func TestRecorderWhileAsked(t *testing.T) {
	h := make(hanging)
	r := hnstest.NewRecorder(h)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := r.Do(hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork}); err != nil {
				t.Error(err)
			}
		}()
	}
	h <- struct{}{}
	for !strings.Contains(r.String(), "ok") || strings.Count(r.String(), "list network") < 4 {
		time.Sleep(time.Millisecond) // the others come in
	}
	if got := strings.Count(r.String(), "no answer yet"); got != 3 {
		t.Errorf("%d without an answer:\n%s", got, r)
	}
	close(h)
	wg.Wait()
	if got := r.String(); strings.Contains(got, "no answer yet") {
		t.Error(got)
	}
}

// A recorder in front of nothing says so, as the zero one does.
func TestRecorderWithoutBackend(t *testing.T) {
	for name, r := range map[string]*hnstest.Recorder{"nil": hnstest.NewRecorder(nil), "zero": {}} {
		_, err := hns.New(r, nil).Networks.List(t.Context())
		if err == nil || !strings.Contains(err.Error(), "the recorder has no backend") {
			t.Errorf("%s: %v", name, err)
		}
		if got := r.Exchanges(); len(got) != 1 || got[0].Err == nil || !got[0].Done {
			t.Errorf("%s: recorded %+v", name, got)
		}
	}
}

// What is made of nothing works, or says what it lacks; nothing panics.
func TestMadeOfNothing(t *testing.T) {
	ask := func(b hns.Backend) error {
		_, err := hns.New(b, nil).Networks.List(t.Context())
		return err
	}
	for name, tt := range map[string]struct {
		use  func() error
		want string // part of the error; empty: none
	}{
		"emulator.New":  {func() error { return ask(emulator.New(nil)) }, ""},
		"emulator.Open": {func() error { _, err := emulator.Open("", nil); return err }, "has no name"},
		"NewRecorder":   {func() error { return ask(hnstest.NewRecorder(nil)) }, "no backend"},
		"AnswerWriter": {func() (err error) {
			hnstest.AnswerWriter(nil, nil)(hnstest.Answer{})
			hnstest.AnswerWriter(nil, func(e error) { err = e })(hnstest.Answer{})
			return err
		}, "nowhere to write"},
		"ReadAnswers": {func() error { _, err := hnstest.ReadAnswers(nil); return err }, ""},
	} {
		if err := tt.use(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
