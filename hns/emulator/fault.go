package emulator

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hnskit/hnskit/hns"
)

// Fault makes calls fail, wait or hang. Give it to [HNS.Inject].
type Fault struct {
	// Verb and Kind choose the calls; zero is any. A v1 call has the verb
	// VerbCall, and the kind that its caller gave it.
	Verb hns.Verb
	Kind hns.Kind
	// Match, if not nil, chooses among them. Calls at the same time call it at
	// the same time.
	Match func(hns.Request) bool
	// Nth is the first call hit, counted among those chosen from 1; 0 is the
	// first. From there on Times calls are hit: 0 is one, a negative number all.
	Nth, Times int
	// Code and Text are what the call fails with. Without both it does not
	// fail. Text defaults to the message of the code.
	Code hns.Code
	Text string
	// After lets the call have its effect before it waits and fails.
	After bool
	// Delay is how long the call waits. Other calls go on meanwhile, unless
	// Options.Serial.
	Delay time.Duration
	// Hang, if not nil, blocks the call until it is closed.
	Hang <-chan struct{}
	// Exit, if not nil, is called at that point; a test ends its process there.
	Exit func()
}

// Inject puts a fault in place. When several hit one call, all wait, and the
// oldest that fails decides. remove takes it away again.
func (h *HNS) Inject(f Fault) (remove func()) {
	return h.faults.add(f)
}

// faults are the faults in place.
type faults struct {
	mu   sync.Mutex
	list []*placed
}

type placed struct {
	Fault
	seen int
}

func (fs *faults) add(f Fault) func() {
	p := &placed{Fault: f}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = append(fs.list, p)
	return func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		fs.list = slices.DeleteFunc(fs.list, func(q *placed) bool { return q == p })
	}
}

// match counts the call and returns the faults that hit it.
func (fs *faults) match(r hns.Request) (hit hits) {
	fs.mu.Lock()
	list := slices.Clone(fs.list)
	fs.mu.Unlock()
	for _, p := range list {
		if p.Verb != 0 && p.Verb != r.Verb || p.Kind != 0 && p.Kind != r.Kind || p.Match != nil && !p.Match(r) {
			continue
		}
		fs.mu.Lock()
		p.seen++
		n := p.seen - max(p.Nth, 1)
		fs.mu.Unlock()
		if n >= 0 && (p.Times < 0 || n < max(p.Times, 1)) {
			hit = append(hit, p.Fault)
		}
	}
	return hit
}

type hits []Fault

func (fs hits) before() error { return fs.strike(false) }

func (fs hits) after() error { return fs.strike(true) }

func (fs hits) strike(after bool) (err error) {
	for _, f := range fs {
		if f.After != after {
			continue
		}
		if f.Delay > 0 {
			time.Sleep(f.Delay)
		}
		if f.Hang != nil {
			<-f.Hang
		}
		if f.Exit != nil {
			f.Exit()
		}
		if err == nil && (f.Code != 0 || f.Text != "") {
			err = injected{f.Code, f.Text}
		}
	}
	return err
}

// injected is the failure of a fault.
type injected struct {
	code hns.Code
	text string
}

func (e injected) Error() string { return e.code.String() + ": " + e.text }

// Call is one call that HNS received.
type Call struct {
	Verb hns.Verb
	Kind hns.Kind
	// ID is the object of get, modify and delete, or the one a create asks
	// for. Name is the member Name of a create's document, or of a filter.
	ID   hns.ID
	Name string
	// Document, Filter, Method and Path are those of the request.
	Document             json.RawMessage
	Filter, Method, Path string
	// Done tells that the call has returned, Code and Text its failure.
	Done bool
	Code hns.Code
	Text string
}

// Calls returns the calls received, in the order in which they came in. They
// are held in memory, those of this HNS alone, until ResetCalls.
func (h *HNS) Calls() []Call {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	out := make([]Call, len(h.log.calls))
	for i, c := range h.log.calls {
		out[i] = *c
		out[i].Document = slices.Clone(c.Document)
	}
	return out
}

// ResetCalls forgets the calls received.
func (h *HNS) ResetCalls() {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	h.log.calls = nil
}

type callLog struct {
	mu    sync.Mutex
	calls []*Call
}

type logged struct {
	log  *callLog
	call *Call
}

func (l *callLog) add(r hns.Request) logged {
	c := &Call{Verb: r.Verb, Kind: r.Kind, ID: r.ID, Document: slices.Clone(r.Document),
		Filter: r.Filter, Method: r.Method, Path: r.Path}
	text := []byte(r.Filter)
	if r.Verb == hns.VerbCreate || r.Verb == hns.VerbCall {
		text = r.Document
	}
	if o, err := parseObject(text); err == nil {
		c.Name = (&reader{object: o}).str("Name")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
	return logged{l, c}
}

func (l logged) end(err error) {
	l.log.mu.Lock()
	defer l.log.mu.Unlock()
	l.call.Done = true
	var be *hns.BackendError
	if errors.As(err, &be) {
		l.call.Code, l.call.Text = be.Code, be.Text
	}
}
