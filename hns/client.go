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
	Networks   *NetworkService
	Endpoints  *EndpointService
	Namespaces *NamespaceService

	backend Backend
	opts    Options
	allowed map[string]bool
	slots   chan struct{} // one token per call that HNS has not answered

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
	// Observe, if set, is told of every call when it is over for the caller.
	// It must be quick and safe for concurrent use.
	Observe func(Call)
	// Logger, if set, gets a line per call at debug level. Documents are never
	// logged: policies may hold keys.
	Logger *slog.Logger
	// Allow lifts checks of documents by their rule ids (FieldError.Rule), for
	// a Windows that takes more than is known here.
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
	return c
}

// do sends one request and wraps its failure. ref names the object in errors.
func (c *Client) do(ctx context.Context, op, ref string, req Request) (Response, error) {
	start := time.Now()
	resp, err := c.send(ctx, req)
	var code Code
	if err != nil {
		e := &Error{Op: op, Verb: req.Verb, Kind: req.Kind, Ref: ref, Err: err}
		var be *BackendError
		if errors.As(err, &be) {
			e.Code, e.Text, e.Err = be.Code, be.Text, be.Err
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
	if err := ctx.Err(); err != nil {
		return Response{}, fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return Response{}, fmt.Errorf("%w: %d calls are out and none came back: %w", ErrNotSent, cap(c.slots), context.Cause(ctx))
	}
	done := make(chan result, 1)
	var settled atomic.Bool // by whoever comes first: the answer, or the caller's leaving
	go func() {
		resp, err := doSafely(c.backend, req)
		<-c.slots
		if settled.CompareAndSwap(false, true) {
			done <- result{resp, err}
		} else if c.opts.OnLate != nil {
			c.opts.OnLate(LateResult{req, resp, err})
		}
	}()
	select {
	case r := <-done:
		return r.resp, r.err
	case <-ctx.Done():
	}
	if settled.CompareAndSwap(false, true) {
		return Response{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(ctx))
	}
	r := <-done // the answer won the race
	return r.resp, r.err
}

// doSafely turns a panic of a backend into an error: a plugin must answer.
func doSafely(b Backend, req Request) (resp Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &BackendError{Err: fmt.Errorf("panic in backend: %v\n%s", p, debug.Stack())}
		}
	}()
	return b.Do(req)
}

// isCode reports whether err is a failure of HNS with that code.
func isCode(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// readV1 reads one object through the v1 API and hands it to f.
func (c *Client) readV1(ctx context.Context, op string, kind Kind, id ID, path string, f func(reader)) error {
	if id.IsZero() {
		return zeroID(op, VerbCall, kind)
	}
	resp, err := c.do(ctx, op, id.String(), Request{Verb: VerbCall, Kind: kind, ID: id, Method: "GET", Path: path})
	if err != nil {
		return err
	}
	if len(resp.Documents) != 1 {
		return &Error{Op: op, Verb: VerbCall, Kind: kind, Ref: id.String(), Err: errors.New("HNS answered without an object")}
	}
	var d Document
	r, err := startReading(resp.Documents[0], kind.String(), &d)
	if err != nil {
		return err
	}
	f(r)
	return nil
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

func idText(id ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// startReading begins to read an object; what is no JSON object is an error.
func startReading(doc []byte, kind string, d *Document) (reader, error) {
	r := newReader(doc, &d.Unread)
	if len(d.Unread) > 0 {
		return reader{}, &Error{Op: "read " + kind, Err: &FieldError{Value: clip(string(doc), 64), Reason: "not a JSON object"}}
	}
	return r, nil
}
