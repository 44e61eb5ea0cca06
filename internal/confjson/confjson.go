// Package confjson decodes configuration files and says where they are wrong:
// line and column of a fault of syntax, path of a value of the wrong type.
package confjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
		at := syntax.Offset - 1 // the offset counts the bytes read, the offending one included
		if err.Error() == cutOff {
			at = int64(len(data))
		}
		e.Line, e.Column = place(data, at)
		e.Reason += hint(data, at)
	case errors.As(err, &wrong):
		e.Line, e.Column = place(data, wrong.Offset-1)
		e.Path = wrong.Field
		e.Reason = fmt.Sprintf("a %s cannot stand here, wanted %s", wrong.Value, wrong.Type)
	}
	return e
}

func place(data []byte, offset int64) (line, column int) {
	before := data[:max(0, min(offset, int64(len(data))))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// hint names faults that an editor does not show.
func hint(data []byte, offset int64) string {
	if offset < 0 || offset >= int64(len(data)) {
		return " (the file is cut off or empty)"
	}
	switch r, _ := utf8.DecodeRune(data[offset:]); {
	case r == '\u00a0':
		return " (U+00A0, a no-break blank, where JSON wants a blank)"
	case r == '\u201c' || r == '\u201d':
		return " (a typographic quote where JSON wants \")"
	case data[offset] == 0xff || data[offset] == 0xfe || data[offset] == 0:
		return " (the file looks like UTF-16; JSON is UTF-8)"
	}
	return ""
}
