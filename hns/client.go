package hns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Client does things to HNS through a [Backend]. It checks what it sends,
// bounds calls that hang, and wraps failures in [*Error]. It is safe for
// concurrent use. Make one with [New] or [Open].
type Client struct {
	Networks      *NetworkService
	Endpoints     *EndpointService
	Namespaces    *NamespaceService
	LoadBalancers *LoadBalancerService
	Routes        *RouteService

	backend Backend
	opts    Options
	allowed map[string]bool
	slots   chan struct{} // one token per call that HNS has not answered

	endpointNames nameLocks

	versionMu sync.Mutex
	version   Version // zero until HNS told it
}

// Options of a [Client]. The zero Options, or nil, are the defaults.
type Options struct {
	// MaxInFlight is how many calls may be out at once; zero means 16. A call
	// that hangs holds an operating system thread, and its place here, until
	// HNS answers.
	MaxInFlight int
	// OnLate, if set, is told what became of a call whose context ended before
	// HNS answered. It runs on a goroutine of its own.
	OnLate func(LateResult)
	// NoRetry has every request sent once. Otherwise a read that HNS lost as its
	// service started anew (RPC_S_CALL_FAILED, RPC_S_CALL_FAILED_DNE), and the
	// delete of a load balancer that failed, which Windows Server 2019 does at
	// times, are sent once more, at once, unless the context is done. Creates and
	// modifies never are.
	NoRetry bool
	// Observe, if set, is told of every call when it is over for the caller; of
	// a call that was sent again, too.
	// It must be quick and safe for concurrent use.
	Observe func(Call)
	// Logger, if set, gets a line per call at debug level. Documents are never
	// logged: policies may hold keys.
	Logger *slog.Logger
	// Allow lifts checks of documents by their rule ids (FieldError.Rule), for
	// a Windows that takes more than is known here: "acl-address", "acl-port",
	// "acl-priority", "acl-protocol", "dns-search", "dns-server", "enum",
	// "gateway-outside", "host-bits", "ipam-type", "mixed-families",
	// "namespace-in-create", "namespace-type", "network-name", "network-type",
	// "no-endpoints", "no-ports", "once", "one-address-per-family",
	// "overlay-vsid", "policy-type", "port-zero", "protocol", "proxy-target",
	// "schema1-name", "set-value", "vlan-range", "vni-range". "feature-" and the
	// name of a [Feature], such as "feature-TierAcl", lifts the question whether
	// HNS has it. Other ids lift nothing.
	Allow []string
}

// Call is what Options.Observe gets.
type Call struct {
	Verb     Verb
	Kind     Kind
	ID       ID
	Duration time.Duration
	Code     Code // of the failure; zero if it succeeded or HNS gave none
	Err      error
}

// LateResult is what Options.OnLate gets: the answer to a request whose caller
// went away with ErrOutcomeUnknown.
type LateResult struct {
	Request  Request
	Response Response
	Err      error
}

const defaultMaxInFlight = 16

// New returns a client of b. Nil options are the defaults.
func New(b Backend, opts *Options) *Client {
	c := &Client{backend: b, allowed: map[string]bool{}}
	if opts != nil {
		c.opts = *opts
	}
	for _, rule := range c.opts.Allow {
		c.allowed[rule] = true
	}
	n := c.opts.MaxInFlight
	if n <= 0 {
		n = defaultMaxInFlight
	}
	c.slots = make(chan struct{}, n)
	c.Networks = &NetworkService{c}
	c.Endpoints = &EndpointService{c}
	c.Namespaces = &NamespaceService{c}
	c.LoadBalancers = &LoadBalancerService{c}
	c.Routes = &RouteService{c}
	return c
}

// Open returns a client of the HNS of this machine, over the backend of
// [Native] and with its errors.
func Open(opts *Options) (*Client, error) {
	b, err := Native()
	if err != nil {
		return nil, err
	}
	return New(b, opts), nil
}

// do sends a request, twice where that is known to help and to do no harm, and
// wraps its failure. ref names the object in errors.
func (c *Client) do(ctx context.Context, op, ref string, req Request) (Response, error) {
	resp, err := c.once(ctx, op, ref, req)
	if err != nil && !c.opts.NoRetry && worthRepeating(req, err) {
		return c.again(ctx, op, ref, req, err)
	}
	return resp, err
}

// once sends a request and wraps its failure.
func (c *Client) once(ctx context.Context, op, ref string, req Request) (Response, error) {
	start := time.Now()
	resp, err := c.send(ctx, req)
	var code Code
	if err != nil {
		e := &Error{Op: op, Verb: req.Verb, Kind: req.Kind, Ref: ref, Err: err}
		var be *BackendError
		switch found := errors.As(err, &be); {
		case found && be == nil: // it would panic in errors.Is
			e.Err = errors.New("the backend failed with a nil *BackendError")
		case found:
			e.Code, e.Text = be.Code, be.Text
			if err == error(be) { //nolint:errorlint // whether it is the error itself
				e.Err = be.Err
			} // else a wrapper of the user's said more; its error stays the cause
		}
		code, err = e.Code, e
	}
	call := Call{Verb: req.Verb, Kind: req.Kind, ID: req.ID, Duration: time.Since(start), Code: code, Err: err}
	if c.opts.Observe != nil {
		c.opts.Observe(call)
	}
	if c.opts.Logger != nil {
		c.opts.Logger.DebugContext(ctx, "hns call", "op", op, "ref", clip(ref, 100), "took", call.Duration, "error", err)
	}
	return resp, err
}

type result struct {
	resp Response
	err  error
}

// send runs the request within the bound on calls that are out. HNS calls
// cannot be aborted: when ctx ends first, the call goes on and keeps its slot.
func (c *Client) send(ctx context.Context, req Request) (Response, error) {
	if ctx.Err() != nil {
		return Response{}, fmt.Errorf("%w: %w", ErrNotSent, whyDone(ctx))
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return Response{}, fmt.Errorf("%w: %d calls are out and none came back: %w", ErrNotSent, cap(c.slots), whyDone(ctx))
	}
	if ctx.Err() != nil { // a place came free at the moment the context ended
		<-c.slots
		return Response{}, fmt.Errorf("%w: %w", ErrNotSent, whyDone(ctx))
	}
	done := make(chan result, 1)
	var settled atomic.Bool // by whoever comes first: the answer, or the caller's leaving
	go func() {
		var r result
		returned := false
		defer func() {
			if !returned { // it ended its goroutine, as t.FailNow in a test's backend does
				r.err = &BackendError{Err: errors.New("the backend did not return")}
			}
			<-c.slots
			if settled.CompareAndSwap(false, true) {
				done <- r
			} else if c.opts.OnLate != nil {
				c.opts.OnLate(LateResult{req, r.resp, r.err})
			}
		}()
		r.resp, r.err = doSafely(c.backend, req)
		returned = true
	}()
	select {
	case r := <-done:
		return r.resp, r.err
	case <-ctx.Done():
	}
	if settled.CompareAndSwap(false, true) {
		if req.isRead() {
			return Response{}, &noAnswer{whyDone(ctx)}
		}
		return Response{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, whyDone(ctx))
	}
	r := <-done // the answer won the race
	return r.resp, r.err
}

// noAnswer is ErrOutcomeUnknown of a read: nothing can have happened.
type noAnswer struct{ why error }

func (e *noAnswer) Error() string { return "HNS did not answer in time: " + e.why.Error() }

func (e *noAnswer) Unwrap() []error { return []error{ErrOutcomeUnknown, e.why} }

// whyDone returns why ctx ended: its own error, which callers test for, and
// the cause where somebody gave one.
func whyDone(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case cause == nil: // a context of the user's own making
		return err
	case errors.Is(cause, err):
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// doSafely turns a panic of a backend into an error: a plugin must answer.
func doSafely(b Backend, req Request) (resp Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &BackendError{Err: fmt.Errorf("panic in backend: %v\n%s", p, debug.Stack())}
		}
	}()
	if b == nil {
		return Response{}, errors.New("the client has no backend")
	}
	return b.Do(req)
}

// isCode reports whether err is a failure of HNS with that code.
func isCode(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// isCodeless reports whether HNS refused a v1 call without saying why in a
// code, as older builds do.
func isCodeless(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == 0 && e.Err == nil
}

// readV1 reads one object through the v1 API and hands it to f. A value that f
// asks for and that cannot be read is an error: it is what the caller wants.
func (c *Client) readV1(ctx context.Context, op string, kind Kind, id ID, path string, f func(reader)) error {
	if id.IsZero() {
		return zeroID(op, VerbCall, kind)
	}
	resp, err := c.do(ctx, op, id.String(), Request{Verb: VerbCall, Kind: kind, ID: id, Method: "GET", Path: path})
	if err != nil {
		return err
	}
	fail := func(err error) error {
		return &Error{Op: op, Verb: VerbCall, Kind: kind, Ref: id.String(), Err: err}
	}
	if len(resp.Documents) != 1 {
		return fail(fmt.Errorf("HNS answered with %d objects instead of one", len(resp.Documents)))
	}
	var d Document
	r, bad := startReading(resp.Documents[0], &d)
	if bad != nil {
		return fail(bad)
	}
	f(r)
	return asError(fail, unreadable(d.Unread))
}

// asError wraps the complaints in fail, if there are any.
func asError(fail func(error) error, bad []*FieldError) error {
	if len(bad) == 0 {
		return nil
	}
	return fail(joinFields(bad))
}

// writeV1 posts body through the v1 API.
func (c *Client) writeV1(ctx context.Context, op string, kind Kind, id ID, path string, body json.RawMessage) error {
	if id.IsZero() {
		return zeroID(op, VerbCall, kind)
	}
	_, err := c.do(ctx, op, id.String(), Request{Verb: VerbCall, Kind: kind, ID: id, Method: "POST", Path: path, Document: body})
	return err
}

func zeroID(op string, v Verb, k Kind) error {
	return &Error{Op: op, Verb: v, Kind: k, Err: &FieldError{Path: "ID", Reason: "the zero GUID names nothing"}}
}

// nilObject refuses an object that is none.
func nilObject(op string, v Verb, k Kind) error {
	return &Error{Op: op, Verb: v, Kind: k, Err: &FieldError{Reason: "nil " + k.String()}}
}

func idText(id ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
