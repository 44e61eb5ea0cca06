package hnstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/hnskit/hnskit/hns"
)

// Recorder is a backend that passes requests on to another one and keeps them
// with their answers. Its methods may be called from several goroutines at
// once. Make one with [NewRecorder].
type Recorder struct {
	next hns.Backend

	mu        sync.Mutex
	exchanges []*Exchange
}

// Exchange is a request and what became of it.
type Exchange struct {
	Request  hns.Request
	Response hns.Response
	// Err is the failure; nil if there was none.
	Err error
	// Done tells that the request was answered. Of one that was not, Response
	// and Err are empty.
	Done bool
}

// NewRecorder returns a recorder in front of a backend. Without one, nil, it keeps
// the requests and answers each with an error that says so.
func NewRecorder(next hns.Backend) *Recorder { return &Recorder{next: next} }

var errNoBackend = errors.New("hnstest: the recorder has no backend")

// Do passes the request on and gives back the answer as it came.
func (r *Recorder) Do(req hns.Request) (hns.Response, error) {
	e := &Exchange{Request: req}
	e.Request.Document = bytes.Clone(req.Document)
	r.mu.Lock()
	r.exchanges = append(r.exchanges, e)
	r.mu.Unlock()
	var resp hns.Response
	var err error = &hns.BackendError{Err: errNoBackend}
	if r.next != nil {
		resp, err = r.next.Do(req)
	}
	kept := cloneResponse(resp)
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Response, e.Err, e.Done = kept, err, true
	return resp, err
}

func cloneResponse(resp hns.Response) (out hns.Response) {
	for _, d := range resp.Documents {
		out.Documents = append(out.Documents, bytes.Clone(d))
	}
	return out
}

// Exchanges returns what was recorded, in the order in which the requests came
// in. The documents belong to the caller.
func (r *Recorder) Exchanges() []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Exchange, 0, len(r.exchanges))
	for _, e := range r.exchanges {
		c := *e
		c.Request.Document = bytes.Clone(e.Request.Document)
		c.Response = cloneResponse(e.Response)
		out = append(out, c)
	}
	return out
}

// Reset forgets what was recorded. Requests that are on their way are no
// longer kept.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges = nil
}

// String returns the recording as text that two runs have in common: of each
// request a line, and the answer in the lines below, a tab in. Ids are
// numbered in the order in which they appear, "#1" and so on, whatever their
// letter case; the zero id stays. Documents are compact and otherwise as they
// were. A failure is its code alone, for messages are in the language of the
// system; without a code it is the error's text.
func (r *Recorder) String() string {
	ids := map[string]string{}
	var b strings.Builder
	for _, e := range r.Exchanges() {
		fmt.Fprintln(&b, numbered(ids, requestLine(e.Request)))
		for _, line := range answerLines(e) {
			fmt.Fprintf(&b, "\t%s\n", numbered(ids, line))
		}
	}
	return b.String()
}

// requestLine names what is asked. What a request of its verb does not have is
// left out.
func requestLine(r hns.Request) string {
	words := []string{r.Verb.String()}
	if r.Verb == hns.VerbCall {
		words = append(words, r.Method, r.Path)
	} else {
		words = append(words, r.Kind.String())
	}
	if !r.ID.IsZero() && r.Verb != hns.VerbCall {
		words = append(words, r.ID.String())
	}
	if !r.Network.IsZero() {
		words = append(words, "on "+r.Network.String())
	}
	if r.Filter != "" {
		words = append(words, compact([]byte(r.Filter)))
	}
	if len(r.Document) > 0 {
		words = append(words, compact(r.Document))
	}
	return strings.Join(words, " ")
}

func answerLines(e Exchange) []string {
	switch {
	case !e.Done:
		return []string{"no answer yet"}
	case e.Err != nil:
		var be *hns.BackendError
		if errors.As(e.Err, &be) && be.Code != 0 {
			return []string{be.Code.String()}
		}
		return []string{e.Err.Error()}
	}
	lines := []string{"ok"}
	for _, d := range e.Response.Documents {
		lines = append(lines, compact(d))
	}
	return lines
}

// compact returns JSON in one line, and other text quoted.
func compact(doc []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, doc) != nil {
		return fmt.Sprintf("%q", doc)
	}
	return b.String()
}

var guid = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func numbered(ids map[string]string, line string) string {
	return guid.ReplaceAllStringFunc(line, func(s string) string {
		id := strings.ToLower(s)
		if id == (hns.ID{}).String() {
			return s
		}
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("#%d", len(ids)+1)
		}
		return ids[id]
	})
}
