package flows

import (
	"fmt"
	"strings"
)

// Text returns the trace in lines: the packet, a line for each step with the
// header behind where it changed, and the diagnosis. Steps that are inferred
// have a "?", DNS queries are indented.
func (t *Trace) Text() string {
	var b strings.Builder
	t.text(&b, "")
	return b.String()
}

// String returns what [Trace.Text] does.
func (t *Trace) String() string { return t.Text() }

func (t *Trace) text(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s: %s%s\n", indent, t.Packet, t.Outcome, t.Certainty.Mark())
	reply := false
	for _, s := range t.Steps {
		if s.Reply != reply {
			reply = s.Reply
			fmt.Fprintf(b, "%s  the answer:\n", indent)
		}
		if s.Effect == Lost {
			continue // the diagnosis says it
		}
		fmt.Fprintf(b, "%s  - %s: %s%s\n", indent, s.Object, s.Text, s.Certainty.Mark())
		if s.Query != nil {
			s.Query.text(b, indent+"    ")
		}
		if s.Before != s.After {
			fmt.Fprintf(b, "%s      %s\n", indent, s.change())
		}
	}
	if d := t.Diagnosis; d != nil {
		way := ""
		if d.Reply {
			way = " on the way back"
		}
		fmt.Fprintf(b, "%s  x %s%s: %s%s\n", indent, d.Reason, way, d.Text, d.Certainty.Mark())
		state := "wrong"
		if d.Missing {
			state = "missing"
		}
		fmt.Fprintf(b, "%s    %s: %s\n%s    fix: %s\n", indent, state, d.Object, indent, d.Fix)
	}
}

// change says what a step rewrote.
func (s Step) change() string {
	var parts []string
	if s.Before.flow() != s.After.flow() || s.Before.Outer != s.After.Outer {
		parts = append(parts, s.After.String())
	}
	if s.Before.SrcMAC != s.After.SrcMAC || s.Before.DstMAC != s.After.DstMAC {
		parts = append(parts, "MAC "+s.After.MACs())
	}
	return strings.Join(parts, ", ")
}
