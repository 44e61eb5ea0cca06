package inspect

import (
	"fmt"
	"strings"
)

// Text returns the report for people: one line about the file, and below it two
// for each finding.
//
//	10-lake.conf: refuse: cni-conf, mode L2Bridge, api v2
//	  error at policies[0].value.Settings.Exceptions[0]: "<ClusterCIDR>": not an address or prefix
//	    fix: fill in the template: …
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s", r.File, r.Verdict, r.Kind)
	if r.Mode != "" {
		fmt.Fprintf(&b, ", mode %s", r.Mode)
	}
	if r.API != "" {
		fmt.Fprintf(&b, ", api %s", r.API)
	}
	b.WriteByte('\n')
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %s", f.Severity)
		if at := f.place(); at != "" {
			fmt.Fprintf(&b, " at %s", at)
		}
		if f.Value != "" {
			fmt.Fprintf(&b, ": %q", f.Value)
		}
		fmt.Fprintf(&b, ": %s\n", f.Reason)
		if f.Fix != "" {
			fmt.Fprintf(&b, "    fix: %s\n", f.Fix)
		}
	}
	return b.String()
}

// place says where the finding is, by line or by path.
func (f Finding) place() string {
	if f.Line == 0 {
		return f.Path
	}
	at := fmt.Sprintf("line %d", f.Line)
	if f.Column > 0 {
		at += fmt.Sprintf(" column %d", f.Column)
	}
	if f.Path != "" {
		at += " (" + f.Path + ")"
	}
	return at
}
