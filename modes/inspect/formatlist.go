package inspect

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/hnskit/hnskit/hns/v1doc"
	"github.com/hnskit/hnskit/modes"
)

// PowerShell prints objects for people as a list of "Name : value", wraps values
// at the width of the console, and writes what is nested as @{Name=value; …}, or as
// the name of its type alone. The reader here takes what is left and says so.

var (
	listMember  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*) +:(?: (.*))?$`)
	lostValue   = regexp.MustCompile(`System\.\w+(\[\])?`)
	listAnchors = regexp.MustCompile(`(?m)^(ActivityId|ID|Name|VirtualNetwork|MacPools|Policies) +:`)
)

func isFormatList(text string) bool { return len(listAnchors.FindAllString(text, 2)) > 1 }

// formatList inspects objects that PowerShell printed.
func (r *Report) formatList(text string) {
	r.lossy = true
	cut := false
	for _, o := range listObjects(text) {
		doc := map[string]any{}
		for name, value := range o {
			v, complete := listValue(value)
			cut = cut || !complete
			if v != nil {
				doc[name] = v
			}
		}
		raw, err := json.Marshal(doc)
		if err != nil {
			continue
		}
		at := ""
		if docs, err := v1doc.Split(raw); err == nil && len(docs) == 1 {
			r.document(at, docs[0])
		}
	}
	if r.Kind == Unknown {
		r.add(modes.SeverityError, "", "", "a list of PowerShell, and of no object of HNS", "")
		return
	}
	const fix = "use ConvertTo-Json -Depth 9 and inspect that"
	if cut {
		r.add(modes.SeverityWarning, "", "", "the list is cut off", fix)
	}
	r.add(modes.SeverityNote, "", "", "a list that PowerShell printed for people; nested values are lost, and only what is left was looked at", fix)
}

// listObjects returns the members of each object, continued lines joined. An
// object ends where a name comes again.
func listObjects(text string) []map[string]string {
	var out []map[string]string
	last := ""
	for _, line := range strings.Split(strings.ReplaceAll(text, "\r", ""), "\n") {
		m := listMember.FindStringSubmatch(strings.TrimRight(line, " \t"))
		switch {
		case m != nil:
			if len(out) == 0 || has(out[len(out)-1], m[1]) {
				out = append(out, map[string]string{})
			}
			last = m[1]
			out[len(out)-1][last] = m[2]
		case last != "" && strings.TrimSpace(line) != "":
			out[len(out)-1][last] += " " + strings.TrimSpace(line)
		}
	}
	return out
}

func has(m map[string]string, name string) bool {
	_, ok := m[name]
	return ok
}

// listValue reads a value; nil if there is none, or it is lost. complete is false
// if it breaks off.
func listValue(text string) (v any, complete bool) {
	p := &listParser{rest: strings.TrimSpace(text)}
	v = p.value("", 0)
	return v, !p.cut
}

type listParser struct {
	rest string
	cut  bool
}

// deepest is how far values may be nested.
const deepest = 16

// value reads up to one of the stops.
func (p *listParser) value(stops string, depth int) any {
	p.rest = strings.TrimLeft(p.rest, " ")
	switch {
	case depth > deepest:
		p.rest, p.cut = "", true
		return nil
	case strings.HasPrefix(p.rest, "@{"):
		p.rest = p.rest[2:]
		return p.object(depth)
	case strings.HasPrefix(p.rest, "{"):
		p.rest = p.rest[1:]
		return p.list(depth)
	}
	end := len(p.rest)
	if stops != "" {
		if i := strings.IndexAny(p.rest, stops); i >= 0 {
			end = i
		} else {
			p.cut = true
		}
	}
	text := strings.TrimSpace(p.rest[:end])
	p.rest = p.rest[end:]
	return scalar(text)
}

func (p *listParser) object(depth int) any {
	o := map[string]any{}
	for {
		name, rest, ok := strings.Cut(p.rest, "=")
		if i := strings.IndexByte(p.rest, '}'); i >= 0 && (!ok || i < len(name)) {
			p.rest = p.rest[i+1:]
			return o
		}
		if !ok {
			p.rest, p.cut = "", true
			return o
		}
		p.rest = rest
		if v := p.value(";}", depth+1); v != nil {
			o[strings.TrimSpace(name)] = v
		}
		p.rest = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(p.rest, " "), ";"), " ")
	}
}

func (p *listParser) list(depth int) any {
	l := []any{}
	for {
		p.rest = strings.TrimLeft(p.rest, " ,")
		if rest, ok := strings.CutPrefix(p.rest, "}"); ok {
			p.rest = rest
			return l
		}
		if p.rest == "" {
			p.cut = true
			return l
		}
		if v := p.value(",}", depth+1); v != nil {
			l = append(l, v)
		}
	}
}

// scalar reads a value that is not nested.
func scalar(text string) any {
	switch {
	case text == "", lostValue.MatchString(text):
		return nil
	case strings.EqualFold(text, "True"):
		return true
	case strings.EqualFold(text, "False"):
		return false
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	return text
}
