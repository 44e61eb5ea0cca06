package hns_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// script fails the calls of one kind with these codes in turn, and counts them;
// what comes after the last code succeeds, and so do other calls.
type script struct {
	of    string // such as "get network"
	codes []hns.Code
	calls int
}

func (s *script) Do(r hns.Request) (hns.Response, error) {
	if r.Verb.String()+" "+r.Kind.String() == s.of {
		s.calls++
		if s.calls <= len(s.codes) {
			return failing(s.codes[s.calls-1], "")(r)
		}
	}
	if r.Verb == hns.VerbList || r.Verb == hns.VerbDelete || r.Verb == hns.VerbModify {
		return hns.Response{}, nil
	}
	return answering(`{"Major":16,"Minor":0}`)(r)
}

// lost are the codes of a call that the service lost.
var lost = []hns.Code{hns.CodeRPCCallFailed, hns.CodeRPCCallFailedDNE}

// Which of all operations are sent twice, for which codes. What is not named
// here is sent once: no create and no modify, whatever the code.
func TestRetry(t *testing.T) {
	var codes []hns.Code
	for code := range meaningTable {
		codes = append(codes, code)
	}
	for name, do := range operations {
		verb, kind, _ := strings.Cut(name, " ")
		for _, code := range codes {
			twice := false
			switch {
			case verb == "list" || verb == "get" || verb == "call": // those of the table only read
				twice = code == lost[0] || code == lost[1]
			case verb == "delete" && kind == "load balancer":
				means, ok := meaningTable[code][name]
				if !ok {
					means = meaningTable[code]["*"]
				}
				twice = true
				for _, m := range means {
					twice = twice && m != hns.ErrNotFound && m != hns.ErrUnavailable && m != hns.ErrDenied && m != hns.ErrUnsupported
				}
			}
			for _, noRetry := range []bool{false, true} {
				s := &script{of: name, codes: []hns.Code{code, code, code}}
				c := hns.New(s, &hns.Options{NoRetry: noRetry, Allow: []string{"feature-ModifyLoadbalancer"}})
				err := do(t.Context(), c)
				want := 1
				if twice && !noRetry {
					want = 2
				}
				var e *hns.Error
				if s.calls != want || !errors.As(err, &e) || e.Code != code {
					t.Errorf("%s, %s, NoRetry %v: sent %d times, want %d; %v", name, code, noRetry, s.calls, want, err)
				}
			}
		}
	}
}

// What the second try makes of the first.
func TestRetryOutcome(t *testing.T) {
	const deleteLB = "delete load balancer"
	tests := []struct {
		name  string
		op    string
		codes []hns.Code
		calls int
		want  hns.Code
	}{
		{"a read is answered", "get network", lost[1:], 2, 0},
		{"a read by the v1 API is answered", "call endpoint", lost[:1], 2, 0},
		{"the version is read", "call service", lost[1:], 2, 0},
		{"the service is down after all", "list endpoint", []hns.Code{lost[1], hns.CodeRPCUnavailable}, 2, hns.CodeRPCUnavailable},
		{"it is gone after all", "get endpoint", []hns.Code{lost[1], hns.CodeEndpointNotFound}, 2, hns.CodeEndpointNotFound},
		{"a delete that works the second time", deleteLB, []hns.Code{hns.CodeInvalidParameter}, 2, 0},
		{"a delete that had its effect", deleteLB, []hns.Code{hns.CodeInvalidParameter, hns.CodeElementNotFound}, 2, 0},
		{"a delete of what was gone before", deleteLB, []hns.Code{hns.CodeElementNotFound}, 1, hns.CodeElementNotFound},
		{"a delete without a reason", deleteLB, []hns.Code{0x80004005, 0x80004005}, 2, 0x80004005},
	}
	for _, tt := range tests {
		s := &script{of: tt.op, codes: tt.codes}
		err := operations[tt.op](t.Context(), hns.New(s, nil))
		var e *hns.Error
		errors.As(err, &e)
		if s.calls != tt.calls || (err == nil) != (tt.want == 0) || err != nil && e.Code != tt.want {
			t.Errorf("%s: %d calls, %v", tt.name, s.calls, err)
		}
	}
}

// A context that ends during the first try ends the matter, and what HNS said
// is the error.
func TestRetryIsBoundByTheContext(t *testing.T) {
	for _, name := range []string{"get network", "delete load balancer"} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{of: name, codes: lost[1:]}
		code := lost[1]
		if name == "delete load balancer" {
			code = hns.CodeInvalidParameter
			s.codes = []hns.Code{code}
		}
		var calls []hns.Call
		c := hns.New(s, &hns.Options{Observe: func(call hns.Call) {
			calls = append(calls, call)
			cancel()
		}})
		err := operations[name](ctx, c)
		var e *hns.Error
		if s.calls != 1 || len(calls) != 1 || !errors.As(err, &e) || e.Code != code {
			t.Errorf("%s: %d calls, %d observed, %v", name, s.calls, len(calls), err)
		}
	}
}

// Whatever happens to a create, by itself or inside of Attach and Ensure, while
// the outcome of it is unknown there is no second one.
func TestCreateIsSentOnce(t *testing.T) {
	for _, code := range append(lost, hns.CodeRPCUnavailable, hns.CodeServiceNotActive, 0x80004005) {
		var creates int
		b := backend(func(r hns.Request) (hns.Response, error) {
			if r.Verb == hns.VerbCreate {
				creates++
				return failing(code, "")(r)
			}
			return hns.Response{}, nil
		})
		c := hns.New(b, nil)
		for what, do := range map[string]func() error{
			"Attach": func() error {
				_, err := c.Attach(t.Context(), hns.Attachment{Name: "x", Network: lake, Namespace: podNS,
					Build: func(context.Context) (*hns.Endpoint, error) { return &hns.Endpoint{}, nil }})
				return err
			},
			"Networks.Ensure":  func() error { _, _, err := c.Networks.Ensure(t.Context(), fjord(), nil); return err },
			"Endpoints.Ensure": func() error { _, _, err := c.Endpoints.Ensure(t.Context(), pod(), nil); return err },
		} {
			creates = 0
			if err := do(); err == nil || creates != 1 {
				t.Errorf("%s with %s: %d creates, %v", what, code, creates, err)
			}
		}
	}
}

// Each try is observed as a call of its own.
func TestRetryIsObserved(t *testing.T) {
	var seen []string
	c := hns.New(&script{of: "get network", codes: lost[1:]}, &hns.Options{Observe: func(call hns.Call) {
		seen = append(seen, fmt.Sprintf("%s %s %s", call.Verb, call.Kind, call.Code))
	}})
	if _, err := c.Networks.ByID(t.Context(), lake); err != nil {
		t.Error(err)
	}
	same(t, "calls", []string{"get network " + lost[1].String(), "get network 0x00000000"}, seen)
}
