package hnstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hnskit/hnskit/hns"
)

// bench is what a case works with: it makes objects that are deleted in the
// end, puts requests, and writes down what was expected and what came.
type bench struct {
	t    *testing.T
	h    *Harness
	sure Certainty

	nets   int // networks made, for their prefixes
	losses *losses

	mu      sync.Mutex
	steps   []Step
	lost    string // the loss for which a request did not get to HNS
	differs bool
	skipped bool
}

// object is something that a case made.
type object struct {
	id  hns.ID
	doc json.RawMessage
}

func (b *bench) verdict() Verdict {
	switch {
	case b.skipped:
		return Skipped
	case b.differs || b.t.Failed():
		return Differs
	case slices.ContainsFunc(b.steps, func(s Step) bool { return s.Loss != "" }):
		return Loses
	}
	return Agrees
}

// enforced reports whether a wrong answer fails the run.
func (b *bench) enforced() bool { return b.h.Strict || b.sure.binding() }

// check compares an answer with the expected one and writes both down. What
// was lost on the way, which it reports, is no answer.
func (b *bench) check(step, got, want string) (lost bool) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	loss := lostName(got)
	if loss == "" && got != want {
		loss = b.lost
	}
	if loss != "" {
		b.losses.meet(loss)
		b.steps = append(b.steps, Step{Name: step, Want: want, Loss: loss})
		return true
	}
	b.steps = append(b.steps, Step{Name: step, Want: want, Got: got})
	if got == want {
		return false
	}
	b.differs = true
	if b.enforced() {
		b.t.Errorf("%s: got %s, want %s (%s)", step, got, want, b.sure)
	} else {
		b.t.Logf("%s: the answer is %s, %s was %s", step, got, want, b.sure)
	}
	return false
}

// stop ends a case that cannot be carried on, for a code or for documents too
// many or too few.
func (b *bench) stop(step string, code hns.Code, documents int) {
	b.t.Helper()
	if lost := b.check(step, fmt.Sprintf("%s, %d documents", outcome(code), documents), "ok"); !lost && b.enforced() {
		b.t.FailNow()
	}
	b.t.SkipNow()
}

func (b *bench) skip(why string) {
	b.skipped = true
	b.steps = []Step{{Name: "skipped", Got: why}}
	b.t.Skip(why)
}

// has reports whether the HNS under test has a feature.
func (b *bench) has(f hns.Feature) bool { return f.In(b.h.Version) }

// unless returns the code where the condition does not hold, else success.
func unless(ok bool, code hns.Code) hns.Code {
	if ok {
		return 0
	}
	return code
}

// outcome names a code, "ok" for success.
func outcome(c hns.Code) string {
	switch c {
	case 0:
		return "ok"
	case codeLost:
		return lostMember
	}
	return c.String()
}

// do puts a request. What is no answer of HNS ends the case.
func (b *bench) do(r hns.Request) ([]json.RawMessage, hns.Code) {
	b.t.Helper()
	resp, code, err := b.ask(r)
	if err != nil {
		b.t.Errorf("%s %s: %v", r.Verb, r.Kind, err)
	}
	return resp, code
}

// ask puts a request. The error is for a failure that is no BackendError with
// a code.
func ask(backend hns.Backend, r hns.Request) ([]json.RawMessage, hns.Code, error) {
	resp, err := backend.Do(r)
	var be *hns.BackendError
	switch {
	case err == nil:
		return resp.Documents, 0, nil
	case errors.As(err, &be) && be.Code != 0:
		if len(resp.Documents) != 0 {
			return nil, be.Code, fmt.Errorf("documents beside the failure %w", err)
		}
		return nil, be.Code, nil
	case errors.As(err, &be) && r.Verb == hns.VerbCall:
		return nil, 0xffffffff, nil // older builds fail v1 calls without a code
	}
	return nil, 0, err
}

// answers checks the outcome of a request by its code, and returns the
// document if there is one.
func (b *bench) answers(step string, r hns.Request, want hns.Code) json.RawMessage {
	b.t.Helper()
	docs, code := b.do(r)
	if r.Verb == hns.VerbCreate && code == 0 && len(docs) == 1 {
		b.own(r.Kind, docs[0])
	}
	b.check(step, outcome(code), outcome(want))
	if len(docs) == 0 {
		return nil
	}
	return docs[0]
}

// create makes an object the case needs.
func (b *bench) create(r hns.Request) object {
	b.t.Helper()
	r.Verb = hns.VerbCreate
	docs, code := b.do(r)
	if code != 0 || len(docs) != 1 {
		b.stop(fmt.Sprintf("making a %s", r.Kind), code, len(docs))
	}
	return object{b.own(r.Kind, docs[0]), docs[0]}
}

// own has an object deleted at the end of the case.
func (b *bench) own(kind hns.Kind, doc json.RawMessage) hns.ID {
	b.t.Helper()
	id, err := hns.ParseID(text(doc, "ID"))
	if err != nil {
		b.t.Fatalf("%s made without an id: %s", kind, doc)
	}
	b.ownID(kind, id)
	return id
}

func (b *bench) ownID(kind hns.Kind, id hns.ID) {
	b.t.Cleanup(func() {
		remove(b.t, b.h.Backend, kind, id)
	})
}

// modify, remove and get put the other requests about an object.
func (b *bench) modify(step string, kind hns.Kind, id hns.ID, doc string, want hns.Code) {
	b.t.Helper()
	b.answers(step, hns.Request{Verb: hns.VerbModify, Kind: kind, ID: id, Document: json.RawMessage(doc)}, want)
}

func (b *bench) remove(step string, kind hns.Kind, id hns.ID, want hns.Code) {
	b.t.Helper()
	b.answers(step, hns.Request{Verb: hns.VerbDelete, Kind: kind, ID: id}, want)
}

// get reads an object that must be there.
func (b *bench) get(kind hns.Kind, id hns.ID) json.RawMessage {
	b.t.Helper()
	docs, code := b.do(hns.Request{Verb: hns.VerbGet, Kind: kind, ID: id})
	if code != 0 || len(docs) != 1 {
		b.stop(fmt.Sprintf("reading a %s", kind), code, len(docs))
	}
	return docs[0]
}

// gone checks that an object is not there any more, or still is.
func (b *bench) gone(step string, kind hns.Kind, id hns.ID, want bool) {
	b.t.Helper()
	var docs []json.RawMessage
	for try := 0; ; try++ {
		docs = b.list(kind, `{"ID":"`+id.String()+`"}`)
		// Of the real service it is known that a delete may show late.
		if (len(docs) == 0) == want || b.h.Strict || try == 5 {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	b.check(step, strconv.FormatBool(len(docs) == 0), strconv.FormatBool(want))
}

// list counts what a filter finds.
func (b *bench) list(kind hns.Kind, filter string) []json.RawMessage {
	b.t.Helper()
	docs, code := b.do(hns.Request{Verb: hns.VerbList, Kind: kind, Filter: filter})
	if code != 0 {
		b.stop(fmt.Sprintf("list of %ss by %s", kind, filter), code, len(docs))
	}
	return docs
}

// field checks a member of a document; see text for the path.
func (b *bench) field(step string, doc json.RawMessage, path, want string) {
	b.t.Helper()
	b.check(step, text(doc, path), want)
}

// fields checks members given as path and value in turn.
func (b *bench) fields(doc json.RawMessage, pairs ...string) {
	b.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		b.field(pairs[i], doc, pairs[i], pairs[i+1])
	}
}

// fits checks a member by a rule.
func (b *bench) fits(step string, doc json.RawMessage, path string, rule func(string) bool) {
	b.t.Helper()
	got := text(doc, path)
	if lostName(got) == "" {
		got = strconv.FormatBool(rule(got))
	}
	b.check(step, got, "true")
}

func isID(s string) bool {
	_, err := hns.ParseID(s)
	return err == nil
}

func isMAC(s string) bool {
	_, err := hns.ParseMAC(s)
	return err == nil
}

func (b *bench) truth(step string, got bool) {
	b.t.Helper()
	b.check(step, strconv.FormatBool(got), "true")
}

// text returns a member of a document as text: a string as it is, anything
// else as compact JSON, "" for what is not there, and for what was lost a text
// that [bench.check] knows. The path names members, in
// any letter case, and positions: "Ipams.0.Subnets.0.ID".
func text(doc json.RawMessage, path string) string {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return ""
	}
	if lost := lostText(v, path); lost != "" {
		return lost
	}
	for _, step := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = member(x, step)
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(x) {
				return ""
			}
			v = x[i]
		default:
			return ""
		}
	}
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	}
	out, _ := json.Marshal(v) // it came from JSON
	return string(out)
}

func member(o map[string]any, name string) any {
	if v, ok := o[name]; ok {
		return v
	}
	for k, v := range o {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return nil
}

// each returns the elements of a list in a document.
func each(doc json.RawMessage, path string) (out []json.RawMessage) {
	_ = json.Unmarshal([]byte(text(doc, path)), &out) // absent: none
	return out
}

// settings returns the Settings of the first policy of a type, byte for byte;
// "" if there is none.
func settings(doc json.RawMessage, typeName string) string {
	var o struct {
		Policies []struct {
			Type     string
			Settings json.RawMessage
		}
	}
	_ = json.Unmarshal(doc, &o) // what is no list has no such policy
	for _, p := range o.Policies {
		if p.Type == typeName {
			return string(p.Settings)
		}
	}
	return ""
}
