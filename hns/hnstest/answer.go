package hnstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Answer is what a backend did in one case.
type Answer struct {
	// Case is the name of the case, such as "network/create/name taken".
	Case string `json:"case"`
	// Certainty of what the case expects.
	Certainty Certainty `json:"certainty"`
	// Source of it: a repository and the number of an issue there, a test, a
	// document; "" if there is none.
	Source string `json:"source,omitempty"`
	// Version of the HNS asked.
	Version string `json:"version"`
	// Verdict on the case as a whole.
	Verdict Verdict `json:"verdict"`
	// Steps are the questions of the case in their order. They hold nothing
	// that changes from run to run, such as ids.
	Steps []Step `json:"steps,omitempty"`
}

// Step is one question of a case, with the answer expected and the one given.
type Step struct {
	Name string `json:"name"`
	Want string `json:"want"`
	Got  string `json:"got"`
	// Loss names what of the [Harness].Loses stands in the way of an answer;
	// Got is empty then.
	Loss string `json:"loss,omitempty"`
}

// Verdict says how a case ended.
type Verdict string

// The verdicts.
const (
	// Agrees: every answer was as expected.
	Agrees Verdict = "agrees"
	// Differs: some answer was not, or the case could not be carried on.
	Differs Verdict = "differs"
	// Loses: every answer was as expected but for those that were lost on the
	// way to HNS or back, as the harness says. The case may have ended there.
	Loses Verdict = "loses"
	// Skipped: the case was not asked. Its only step says why.
	Skipped Verdict = "skipped"
)

// AnswerWriter returns a function for [Harness].Record that writes each answer
// as a line of JSON. failed is told of errors of w, and that there is no w; it
// may be nil.
func AnswerWriter(w io.Writer, failed func(error)) func(Answer) {
	if failed == nil {
		failed = func(error) {}
	}
	if w == nil {
		return func(Answer) { failed(errors.New("hnstest: nowhere to write the answers to")) }
	}
	var mu sync.Mutex
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return func(a Answer) {
		mu.Lock()
		defer mu.Unlock()
		if err := enc.Encode(a); err != nil {
			failed(err)
		}
	}
}

// ReadAnswers reads the lines that [AnswerWriter] wrote. The error says which
// one is broken. A nil reader has none.
func ReadAnswers(r io.Reader) ([]Answer, error) {
	if r == nil {
		return nil, nil
	}
	var out []Answer
	for dec := json.NewDecoder(r); ; {
		var a Answer
		switch err := dec.Decode(&a); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, fmt.Errorf("hnstest: answer %d: %w", len(out)+1, err)
		}
		out = append(out, a)
	}
}
