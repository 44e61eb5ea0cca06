package flows

import (
	"fmt"
	"strings"
)

// Mermaid returns the trace as a Mermaid sequence diagram: a participant for
// each place that the packet came to (pods, nodes, the networks between, hosts
// outside, resolvers), an arrow from one to the next, notes for what happened
// at a place, and a cross where the packet was lost.
func (t *Trace) Mermaid() string {
	d := diagram{ids: map[string]string{}}
	d.trace(t)
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	for i, name := range d.names {
		fmt.Fprintf(&b, "    participant p%d as %s\n", i, plain(name))
	}
	for _, l := range d.lines {
		fmt.Fprintf(&b, "    %s\n", l)
	}
	return b.String()
}

type diagram struct {
	names []string
	ids   map[string]string
	lines []string
	at    string // where the packet is
}

// id returns the identifier of a participant. Words such as "end" mean
// something to Mermaid, so names are never identifiers.
func (d *diagram) id(name string) string {
	if d.ids[name] == "" {
		d.ids[name] = fmt.Sprintf("p%d", len(d.names))
		d.names = append(d.names, name)
	}
	return d.ids[name]
}

// whereabouts is the participant for an object: objects of HNS stand on their
// node, and only who sends or receives stands for himself.
func whereabouts(s Step) string {
	r := s.Object
	switch {
	case s.Effect == Sent || s.Effect == Delivered:
		return strings.TrimSpace(string(r.Kind)+" "+r.Name) + on(r)
	case r.Node != "":
		return "node " + r.Node
	case r.Kind == KindPhysical:
		return "physical network"
	}
	return strings.TrimSpace(string(r.Kind) + " " + r.Name)
}

func on(r Ref) string {
	if r.Node == "" || r.Kind == KindNode {
		return ""
	}
	return " on " + r.Node
}

func (d *diagram) trace(t *Trace) {
	d.at = ""
	for _, s := range t.Steps {
		switch {
		case s.Query != nil:
			d.query(s)
		case s.Effect == Resolved: // before there is a packet
			d.note(whereabouts(s), strings.TrimSpace(string(s.Object.Kind)+" "+s.Object.Name)+" "+s.Text+s.Certainty.Mark())
		default:
			d.step(s)
		}
	}
	if x := t.Diagnosis; x != nil && t.Outcome != Dropped {
		d.note(d.at, fmt.Sprintf("%s - %s", x.Reason, x.Text))
	}
}

// query puts a DNS query in two arrows: how it went is a trace of its own.
func (d *diagram) query(s Step) {
	from := d.id(whereabouts(Step{Object: Ref{Node: s.Object.Node, Kind: s.Object.Kind, Name: s.Object.Name}, Effect: Sent}))
	to := d.id("resolver " + s.Query.Packet.To.String())
	d.lines = append(d.lines, fmt.Sprintf("%s->>%s: %s", from, to, plain(s.Text)))
	if !s.Query.Works() {
		d.lines = append(d.lines, fmt.Sprintf("%s--x%s: %s", to, from, plain("no answer, "+string(s.Query.Diagnosis.Reason))))
		return
	}
	d.lines = append(d.lines, fmt.Sprintf("%s-->>%s: answer%s", to, from, s.Query.Certainty.Mark()))
}

func (d *diagram) step(s Step) {
	here := whereabouts(s)
	arrow := "->>"
	if s.Reply {
		arrow = "-->>"
	}
	text := s.Text + s.Certainty.Mark()
	if s.Effect == Lost {
		from := d.at
		if from == "" {
			from = here
		}
		d.lines = append(d.lines, fmt.Sprintf("%s%s%s: %s", d.id(from), strings.TrimSuffix(arrow, ">>")+"x", d.id(here), plain(strings.TrimSpace(s.Object.Policy+" "+text))))
		return
	}
	if d.at != "" && d.at != here && s.Effect != Sent {
		d.lines = append(d.lines, fmt.Sprintf("%s%s%s: %s", d.id(d.at), arrow, d.id(here), plain(s.Before.String())))
	}
	d.at = here
	if s.Object.Policy != "" {
		text = s.Object.Policy + " " + text
	} else if s.Effect != Sent && s.Effect != Delivered {
		text = strings.TrimSpace(string(s.Object.Kind)+" "+s.Object.Name) + " " + text
	}
	d.note(here, text)
}

func (d *diagram) note(at, text string) {
	d.lines = append(d.lines, fmt.Sprintf("Note over %s: %s", d.id(at), plain(text)))
}

// plain leaves only characters that mean nothing to Mermaid: a ";" would end
// the statement, a "#" begin an entity.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" .,:/_()[]>=?'+", r):
			return r
		case r == '-':
			return r
		case r == ';':
			return ','
		case r == '"':
			return '\''
		}
		return ' '
	}, s)
	// "--" and "->" would be read as arrows in some places.
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "->", "to ")), " ")
	if s == "" {
		return "-"
	}
	return s
}
