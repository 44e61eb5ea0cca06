package delegate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

var (
	// ErrIPv6Only: subnet.env has no IPv4 subnet.
	ErrIPv6Only = errors.New("IPv6 without IPv4 is not supported on Windows")

	// ErrOverlayIPv6: subnet.env has an IPv6 subnet, and the delegate makes pods
	// on an Overlay network.
	ErrOverlayIPv6 = errors.New("overlay networks on Windows carry no IPv6")

	// ErrBrokenScratch: what was saved cannot be used, torn by a power cut, say.
	// DEL goes on with Rebuild.
	ErrBrokenScratch = errors.New("saved delegate configuration is broken")
)

// FieldError says which part of the input is wrong. Several come as one error
// with Unwrap() []error; errors.As finds the first.
type FieldError struct {
	// Path of the member, such as ipam.routes[1].dst, with names as written; or
	// the CNI variable, such as CNI_IFNAME.
	Path string
	// Value is the offending JSON, cut if long; empty if the member is missing.
	Value string
	// Reason says what is wrong, as the end of a sentence.
	Reason string
}

func (e *FieldError) Error() string {
	if e.Value == "" {
		return e.Path + " " + e.Reason
	}
	return e.Path + ": " + e.Value + " " + e.Reason
}

// field makes a FieldError about a JSON value.
func field(path string, value json.RawMessage, reason string) *FieldError {
	const most = 80
	v := string(value)
	var compact bytes.Buffer
	if json.Compact(&compact, value) == nil {
		v = compact.String()
	}
	if len(v) > most {
		v = strings.ToValidUTF8(v[:most], "") + "..."
	}
	return &FieldError{Path: path, Value: v, Reason: reason}
}

// SyntaxError says where a configuration stops being JSON.
type SyntaxError struct {
	// Line and Column count from 1; the column counts characters.
	Line, Column int
	// Hint names a likely cause; empty if there is none.
	Hint string
	// Err is the decoder's.
	Err error
}

func (e *SyntaxError) Error() string {
	s := fmt.Sprintf("configuration is not JSON: line %d column %d: %v", e.Line, e.Column, e.Err)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// checkSyntax returns a *SyntaxError unless data is one JSON value.
func checkSyntax(data []byte) error {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	// Offset counts the bytes read, the offending one included; where the input
	// ends too early there is none.
	at := len(data)
	if !strings.HasPrefix(syntax.Error(), "unexpected end") {
		at = max(int(syntax.Offset)-1, 0)
	}
	before := data[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	start := bytes.LastIndexByte(before, '\n') + 1
	return &SyntaxError{Line: line, Column: utf8.RuneCount(before[start:]) + 1, Hint: hint(data[at:]), Err: err}
}

// hint guesses from the offending text what happened to it.
func hint(at []byte) string {
	for _, h := range []struct{ prefix, text string }{
		{"\u00a0", "U+00A0, a no-break space, where JSON wants a blank: was this copied from a web page?"},
		{"\u200b", "U+200B, an invisible character"},
		{"\ufeff", "U+FEFF, a byte order mark: save the file without it"},
		{"\xff\xfe", "the file is UTF-16: save it as UTF-8 or ASCII"},
		{"\xfe\xff", "the file is UTF-16: save it as UTF-8 or ASCII"},
		{"\u201c", `a typographic quote where JSON wants "`},
		{"\u201d", `a typographic quote where JSON wants "`},
		{"'", `a single quote where JSON wants "`},
		{"__", unfilled}, {"{{", unfilled}, {"$", unfilled}, {"<", unfilled}, {"%", unfilled},
	} {
		if bytes.HasPrefix(at, []byte(h.prefix)) {
			return h.text
		}
	}
	return ""
}

const unfilled = "it looks like a template that was not filled in"

// errorList is errors.Join on one line: it ends up in a CNI error's msg.
type errorList []error

func (l errorList) Error() string {
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (l errorList) Unwrap() []error { return l }

// inConfig returns nil if errs is empty.
func inConfig(name string, errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	if name == "" {
		return fmt.Errorf("configuration: %w", errorList(errs))
	}
	return fmt.Errorf("configuration of network %s: %w", name, errorList(errs))
}
