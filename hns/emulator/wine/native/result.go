package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// Codes of COM that HNS has no name of its own for (winerror.h).
const (
	codeFail    hns.Code = 0x80004005 // E_FAIL
	codePointer hns.Code = 0x80004003 // E_POINTER
	codeHandle  hns.Code = 0x80070006 // E_HANDLE
)

// record is the error record of the v2 API.
type record struct {
	Success   bool
	Error     string
	ErrorCode uint32
}

// envelope is the answer of the v1 API.
type envelope struct {
	Success bool
	Error   string          `json:",omitempty"`
	Output  json.RawMessage `json:",omitempty"`
}

// NullPointer is the answer to a call that lacks a pointer it needs. Such a
// call must have no effect and is not logged.
func NullPointer(name string) Answer {
	return failure(&hns.BackendError{Code: codePointer, Text: "the argument " + name + " is NULL"})
}

// failure returns the answer to a call that failed with err. The notes are
// put behind its message.
func failure(err error, notes ...string) Answer {
	code, text := codeFail, err.Error()
	var be *hns.BackendError
	if errors.As(err, &be) {
		// Anything without the failure bit would read as success.
		if c := hns.NewCode(uint32(be.Code)); c&0x80000000 != 0 {
			code = c
		}
		if be.Text != "" && be.Err == nil {
			text = be.Text
		}
	}
	text = strings.Join(append([]string{strings.TrimRight(text, " ")}, notes...), " ")
	return Answer{Code: code, Record: encode(record{Error: withBlank(text), ErrorCode: uint32(code)})}
}

// failureText returns the message of a v1 call that failed without a code,
// and whether err is one.
func failureText(err error) (string, bool) {
	var be *hns.BackendError
	if !errors.As(err, &be) || be.Code != 0 || be.Err != nil || be.Text == "" {
		return "", false
	}
	return withBlank(be.Text), true
}

// asV1 moves the message of a failure from the record, which the v1 call does
// not have, to the envelope.
func asV1(a Answer) Answer {
	var r record
	if a.Record != "" && json.Unmarshal([]byte(a.Record), &r) == nil {
		a.Text = encode(envelope{Error: r.Error})
	}
	a.Record = ""
	return a
}

// withBlank returns text with the one blank at its end that HNS's messages
// have.
func withBlank(text string) string {
	return strings.TrimRight(text, " ") + " "
}

// encode writes JSON as HNS does, without escaping < > &.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// Only an Output that is no JSON can get here, and it was read before.
		return fmt.Sprintf(`{"Success":false,"Error":%q}`, err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// onlyDocument returns the one document that a get, create or v1 call has.
func onlyDocument(r hns.Response) (json.RawMessage, error) {
	if len(r.Documents) != 1 {
		return nil, fmt.Errorf("the backend answered with %d documents, not one", len(r.Documents))
	}
	if !json.Valid(r.Documents[0]) {
		return nil, fmt.Errorf("the backend answered with broken JSON: %.80q", r.Documents[0])
	}
	return r.Documents[0], nil
}

// idText returns the id of an object as its document has it.
func idText(doc json.RawMessage) (string, error) {
	var o struct{ ID string }
	if err := json.Unmarshal(doc, &o); err != nil {
		return "", fmt.Errorf("the backend answered with a document that cannot be read: %w", err)
	}
	if o.ID == "" {
		return "", fmt.Errorf("the backend answered with a document without ID: %.80q", doc)
	}
	return o.ID, nil
}

// document checks JSON that a program sends. The empty text is no document:
// whether one is needed is for HNS to say.
func document(text string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, &hns.BackendError{Code: hns.CodeInvalidJSON, Text: fmt.Sprintf("not JSON: %.80q", text)}
	}
	return json.RawMessage(text), nil
}
