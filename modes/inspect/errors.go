package inspect

import (
	"errors"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/subnetenv"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// findingsOf takes the error of a validator apart: a finding of severity error
// for each complaint in it, in order.
func findingsOf(err error) []Finding {
	var out []Finding
	add := func(f Finding) {
		f.Severity, f.Value = modes.SeverityError, clip(strings.Trim(f.Value, `"`))
		out = append(out, f)
	}
	switch e := err.(type) { //nolint:errorlint // takes the tree apart itself
	case nil:
	case *hns.FieldError:
		add(Finding{Path: e.Path, Value: e.Value, Reason: e.Reason})
	case *modes.UnsupportedError:
		add(Finding{Path: e.Path, Value: e.Value, Reason: modes.FindingsOf(e)[0].Reason})
	case *ipam.ConfigError:
		add(Finding{Path: e.Path, Value: e.Value, Reason: e.Err.Error()})
	case *delegate.FieldError:
		add(Finding{Path: e.Path, Value: e.Value, Reason: e.Reason})
	case *delegate.SyntaxError:
		add(Finding{Line: e.Line, Column: e.Column, Reason: e.Err.Error(), Fix: e.Hint})
	case *subnetenv.FieldError:
		add(Finding{Path: e.Path, Value: e.Value, Reason: e.Reason})
	case *subnetenv.ParseError:
		for _, p := range e.Problems {
			add(Finding{Path: p.Key, Line: p.Line, Value: p.Value, Reason: p.Reason})
		}
	case *confjson.Error:
		f := Finding{Path: e.Path, Reason: e.Reason}
		if e.Path == "" {
			f.Line, f.Column = e.Line, e.Column
		}
		add(f)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			out = append(out, findingsOf(inner)...)
		}
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		if out = findingsOf(inner); inner == nil || isPlain(out, inner) {
			return []Finding{{Severity: modes.SeverityError, Reason: err.Error()}}
		}
	default:
		add(Finding{Reason: err.Error()})
	}
	return out
}

// isPlain reports whether the findings are but the text of the error: then what
// stands round it says more.
func isPlain(fs []Finding, err error) bool {
	return len(fs) == 1 && fs[0].Path == "" && fs[0].Line == 0 && fs[0].Reason == err.Error()
}

// findFix adds what helps, by a word of a validator's reason or the look of a value.
func (f *Finding) findFix() {
	switch {
	case f.Fix != "":
	case confjson.Unfilled(f.Value):
		f.Fix = "fill in the template: the mark " + f.Value + " stands for a value of the node or the cluster"
	case strings.Contains(f.Reason, "host bits"), strings.Contains(f.Reason, "not masked"):
		f.Fix = "write the prefix of the network, not an address in it; check its length too"
	case strings.Contains(f.Reason, "not a prefix"):
		f.Fix = "write a prefix such as 10.244.0.0/16"
	case strings.Contains(f.Reason, "not an IP address"), strings.Contains(f.Reason, "not an address"):
		f.Fix = "write an IP address"
	case strings.Contains(f.Reason, "missing"):
		f.Fix = "add it"
	case strings.Contains(f.Reason, "DNS suffix"):
		f.Fix = "write one suffix an element, such as svc.cluster.local, and marks only where the plugin fills them in"
	case strings.Contains(f.Reason, "not a MAC address"):
		f.Fix = "write six pairs of hex digits with - or : between them, as 00-15-5D-10-BE-47"
	case strings.Contains(f.Reason, "UTF-16"):
		f.Fix = "save it as UTF-8: Out-File -Encoding utf8"
	case strings.Contains(f.Reason, "no word for any"):
		f.Fix = "leave the list out: that means any"
	}
}

// fail adds the complaints of a validator, with a prefix to their paths and at
// most the given severity.
func (r *Report) fail(prefix string, err error, severity modes.Severity) {
	r.failAt(func(path string) string { return join(prefix, path) }, err, severity)
}

func (r *Report) failAt(at func(string) string, err error, severity modes.Severity) {
	for _, f := range findingsOf(err) {
		f.Severity = severity
		f.findFix()
		if f.Line == 0 {
			f.Path = at(f.Path)
		}
		r.Findings = append(r.Findings, f)
	}
}

// note adds findings of the modes' rules; errors become at most severity.
func (r *Report) note(at func(string) string, fs []modes.Finding, most modes.Severity) {
	for _, f := range fs {
		if f.Severity == modes.SeverityError {
			f.Severity = most
		}
		out := Finding{Path: at(f.Path), Value: clip(f.Value), Severity: f.Severity, Reason: f.Reason, Fix: f.Fix}
		out.findFix()
		r.Findings = append(r.Findings, out)
	}
}

// unread adds what a decoder could not read.
func (r *Report) unread(prefix string, unread []hns.Unread, severity modes.Severity) {
	for _, u := range unread {
		f := Finding{Path: join(prefix, u.Path), Value: clip(strings.Trim(u.Text, `"`)), Severity: severity, Reason: u.Reason}
		f.findFix()
		r.Findings = append(r.Findings, f)
	}
}

// join puts a prefix before a path.
func join(prefix, path string) string {
	switch {
	case prefix == "" || path == "":
		return prefix + path
	case strings.HasPrefix(path, "["):
		return prefix + path
	}
	return prefix + "." + path
}

func under(prefix string) func(string) string {
	return func(path string) string { return join(prefix, path) }
}

// syntax adds a fault of syntax; what an editor does not show says more than what
// the decoder wanted.
func (r *Report) syntax(err error) {
	var e *confjson.Error
	if !errors.As(err, &e) {
		r.add(modes.SeverityError, "", "", "not JSON: "+err.Error(), "")
		return
	}
	reason, fix := e.Reason, "correct the text there: a comma, a quote or a bracket is missing or too much"
	if _, hint, ok := strings.Cut(reason, " ("); ok {
		reason = strings.TrimSuffix(hint, ")")
		switch {
		case strings.Contains(hint, "template"):
			fix = "fill in the template"
		case strings.Contains(hint, "cut off"):
			fix = "get the whole of the text"
		case strings.Contains(hint, "UTF-16"):
			fix = "save it as UTF-8: Out-File -Encoding utf8"
		default:
			fix = "replace all of them; what else is wrong stands below"
		}
	}
	r.Findings = append(r.Findings, Finding{Line: e.Line, Column: e.Column, Severity: modes.SeverityError, Reason: "not JSON: " + reason, Fix: fix})
}
