package delegate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/internal/errlist"
)

var (
	// ErrIPv6Only says that subnet.env has no IPv4 subnet.
	ErrIPv6Only = errors.New("IPv6 without IPv4 is not supported on Windows")

	// ErrOverlayIPv6 says that subnet.env has an IPv6 subnet, and that the delegate
	// makes pods on an Overlay network.
	ErrOverlayIPv6 = errors.New("overlay networks on Windows carry no IPv6")

	// ErrBrokenScratch says that what was saved cannot be used: torn by a power cut,
	// for one. DEL goes on with Rebuild.
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
	line, column, hint := confjson.Place(data, syntax)
	return &SyntaxError{Line: line, Column: column, Hint: hint, Err: err}
}

// inConfig returns nil if errs is empty.
func inConfig(name string, errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	if name == "" {
		return fmt.Errorf("configuration: %w", errlist.Join(errs...))
	}
	return fmt.Errorf("configuration of network %s: %w", name, errlist.Join(errs...))
}
