// Package confjson decodes configuration files and says where they are wrong:
// line and column of a fault of syntax, path of a value of the wrong type.
package confjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// Error is a configuration that cannot be decoded.
type Error struct {
	// Line and Column, from 1, of the fault. Columns count characters.
	Line, Column int
	// Path leads to a value of the wrong type; empty for a fault of syntax.
	Path string
	// Reason says what is wrong, with a hint where there is one.
	Reason string
	// Err is the decoder's error.
	Err error
}

// Error returns place and reason.
func (e *Error) Error() string {
	at := fmt.Sprintf("line %d column %d", e.Line, e.Column)
	if e.Path != "" {
		at = e.Path + " (" + at + ")"
	}
	return at + ": " + e.Reason
}

// Unwrap returns the decoder's error.
func (e *Error) Unwrap() error { return e.Err }

// cutOff is how encoding/json says that the text ended too early; it has no
// error type of its own.
const cutOff = "unexpected end of JSON input"

// Unmarshal decodes data into v as encoding/json does, member names ignoring
// case, after a byte order mark if there is one. The error is an *Error.
func Unmarshal(data []byte, v any) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	e := &Error{Reason: err.Error(), Err: err, Line: 1, Column: 1}
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		var hint string
		if e.Line, e.Column, hint = Place(data, syntax); hint != "" {
			e.Reason += " (" + hint + ")"
		}
	case errors.As(err, &wrong):
		e.Line, e.Column = place(data, wrong.Offset-1)
		e.Path = wrong.Field
		article := "a"
		if wrong.Value == "array" || wrong.Value == "object" {
			article = "an"
		}
		e.Reason = fmt.Sprintf("%s %s cannot stand here, wanted %s", article, wrong.Value, wrong.Type)
	}
	return e
}

// Place returns line and column, from 1 and in characters, of a fault of
// syntax in data, and a likely cause that an editor does not show; "" if none
// comes to mind.
func Place(data []byte, err *json.SyntaxError) (line, column int, hint string) {
	at := err.Offset - 1 // the offset counts the bytes read, the offending one included
	if err.Error() == cutOff {
		at = int64(len(data))
	}
	at = max(0, min(at, int64(len(data))))
	line, column = place(data, at)
	if len(bytes.TrimSpace(data[at:])) == 0 {
		return line, column, "the text is cut off or empty"
	}
	for _, h := range hints {
		if bytes.HasPrefix(data[at:], []byte(h.prefix)) {
			return line, column, h.text
		}
	}
	return line, column, ""
}

func place(data []byte, offset int64) (line, column int) {
	before := data[:max(0, min(offset, int64(len(data))))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

const (
	unfilled = "it looks like a template that was not filled in"
	utf16    = "the text is UTF-16: save it as UTF-8"
	curly    = "a typographic quote where JSON wants \""
)

var hints = []struct{ prefix, text string }{
	{"\u00a0", "U+00A0, a no-break space, where JSON wants a blank: was this copied from a web page?"},
	{"\u200b", "U+200B, an invisible character"},
	{"\ufeff", "U+FEFF, a byte order mark: save the text without it"},
	{"\xff\xfe", utf16}, {"\xfe\xff", utf16},
	{"\u201c", curly}, {"\u201d", curly},
	{"'", "a single quote where JSON wants \""},
	{"__", unfilled}, {"{{", unfilled}, {"$", unfilled}, {"<", unfilled}, {"%", unfilled},
}

// mark finds what templates leave behind when nobody fills them in: {{NAME}},
// <ClusterCIDR>, __NAME__, ${NAME}, $NAME at the begin, %NAME%.
var mark = regexp.MustCompile(`\{\{[^{}]*\}\}|<[A-Za-z][^<>]*>|__[A-Z0-9_]+__|\$\{[A-Za-z_]\w*\}|^\$[A-Z_]\w*|%[A-Z_]+%`)

// Unfilled reports whether a value holds a mark of a template that was not filled
// in.
func Unfilled(value string) bool { return mark.MatchString(value) }
