package modes

import (
	"errors"
	"fmt"

	"github.com/hnskit/hnskit/hns"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	// SeverityError: HNS refuses the document, or pods made by it cannot be
	// reached.
	SeverityError Severity = "error"
	// SeverityWarning: HNS takes it, and something does not do what it looks
	// like.
	SeverityWarning Severity = "warning"
	// SeverityNote: worth knowing; nothing is wrong, or nothing is known.
	SeverityNote Severity = "note"
)

// Finding is something about a document that its owner should know.
type Finding struct {
	// Path leads to the value, in the names of the HNS schema, such as
	// "Ipams[0].Subnets[1].Policies"; empty for the whole document.
	Path string
	// Value is the offending text; empty if something is missing.
	Value    string
	Severity Severity
	// Reason says what is the matter, Fix what to do; Fix is empty where
	// nothing needs to be done, or nothing is known that helps.
	Reason string
	Fix    string
	// Certainty is how sure it is, and Source where it comes from; both are
	// empty where nothing is known, and for what the value itself shows.
	Certainty Certainty
	Source    string
}

// String returns `Policies[0]: error: "PortMapping": …; …`.
func (f Finding) String() string {
	s := string(f.Severity) + ": "
	if f.Path != "" {
		s = f.Path + ": " + s
	}
	if f.Value != "" {
		s += fmt.Sprintf("%q: ", f.Value)
	}
	s += f.Reason
	if f.Fix != "" {
		s += "; " + f.Fix
	}
	return s
}

// Worst returns the worst severity among findings, or "" of none.
func Worst(fs []Finding) Severity {
	var worst Severity
	for _, f := range fs {
		switch {
		case f.Severity == SeverityError:
			return SeverityError
		case f.Severity == SeverityWarning || worst == "":
			worst = f.Severity
		}
	}
	return worst
}

// FindingsOf returns the complaints in an error of a planner or of the client's
// validation, each a finding of severity error: its *[hns.FieldError]s and
// *[UnsupportedError]s, in the order of the error. Any other error is one
// finding without a path. Nil has none.
func FindingsOf(err error) []Finding {
	switch e := err.(type) { //nolint:errorlint // walks the tree itself, to keep the order
	case nil:
		return nil
	case *hns.FieldError:
		return []Finding{{Path: e.Path, Value: e.Value, Severity: SeverityError, Reason: e.Reason}}
	case *UnsupportedError:
		reason := e.Reason
		if e.Mode != "" {
			reason = "mode " + string(e.Mode) + ": " + reason
		}
		return []Finding{{Path: e.Path, Value: e.Value, Severity: SeverityError, Reason: reason}}
	case interface{ Unwrap() []error }:
		var out []Finding
		for _, u := range e.Unwrap() {
			out = append(out, FindingsOf(u)...)
		}
		return out
	}
	var field *hns.FieldError
	var unsupported *UnsupportedError
	if !errors.As(err, &field) && !errors.As(err, &unsupported) {
		return []Finding{{Severity: SeverityError, Reason: err.Error()}}
	}
	return FindingsOf(errors.Unwrap(err)) // something below has a path
}

// findings collects what is found.
type findings []Finding

func (fs *findings) add(severity Severity, path, value, fix, format string, args ...any) *Finding {
	*fs = append(*fs, Finding{Path: path, Value: value, Severity: severity, Fix: fix, Reason: fmt.Sprintf(format, args...)})
	return &(*fs)[len(*fs)-1]
}

// from notes how sure the finding is, and why.
func (f *Finding) from(c Certainty, source string) { f.Certainty, f.Source = c, source }
