package subnetenv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNotReady matches errors about a file that may be right a moment later:
// empty, half-written, or without a key that must be there. The package comment
// has the rule. A file that is not there matches fs.ErrNotExist instead.
var ErrNotReady = errors.New("subnet.env is not complete")

// ParseError lists everything that is wrong with a file (or an Env).
//
// errors.Is(err, ErrNotReady) holds if reading the file again later may help,
// that is, if every problem has Retry set.
type ParseError struct {
	// Path of the file; empty from Parse and Validate.
	Path string
	// Problems in the order of their lines, what is missing last. Never empty.
	Problems []Problem
}

// Problem is one thing that is wrong.
type Problem struct {
	// Line counts from 1; 0 if no line is at fault.
	Line int
	// Key is empty if the line has no name before an "=".
	Key string
	// Value is the offending text: the value, the item of a list, or the line.
	Value string
	// Reason says what is wrong with it, as the end of a sentence.
	Reason string
	// Retry reports that the file may have been read while it was written: the
	// key is missing, or the line is the last and has no line end.
	Retry bool
}

func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Key != "" {
		b.WriteString(p.Key + " ")
	}
	if p.Value != "" {
		const most = 80 // a whole line of garbage says no more than its beginning
		v := p.Value
		if len(v) > most {
			v = v[:most] + "..."
		}
		fmt.Fprintf(&b, "%q ", v)
	}
	b.WriteString(p.Reason)
	return b.String()
}

// Error lists all problems on one line.
func (e *ParseError) Error() string {
	var b strings.Builder
	b.WriteString("subnetenv: ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	if e.Path != "" && e.retry() {
		b.WriteString(" (not complete: is flanneld running?)")
	}
	return b.String()
}

// Is makes an error with nothing but retryable problems match ErrNotReady.
func (e *ParseError) Is(target error) bool {
	return target == ErrNotReady && e.retry()
}

func (e *ParseError) retry() bool {
	return !slices.ContainsFunc(e.Problems, func(p Problem) bool { return !p.Retry })
}
