package subnetenv

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxSize is far beyond any subnet.env; a file this long is another file.
const maxSize = 1 << 20

// entry is what the file says about one of flannel's keys.
type entry struct {
	value string
	line  int
	torn  bool // the line is the last and has no line end
}

// parser collects what the lines say before it is judged.
type parser struct {
	entries  map[string]entry
	extra    []Pair
	problems []Problem
}

// Parse reads the content of a subnet.env; the package comment says what it
// accepts. The error is a *ParseError with all that is wrong.
func Parse(data []byte) (*Env, error) {
	if reason := refuseBytes(data); reason != "" {
		return nil, &ParseError{Problems: []Problem{{Line: 1, Reason: reason}}}
	}
	p := parser{entries: make(map[string]entry, len(keys))}
	p.scan(data)
	env := p.values()
	for _, problem := range env.problems() {
		if mentions(p.problems, problem.Key) {
			continue // a value that could not be read is not missing as well
		}
		if en, ok := p.entries[problem.Key]; ok {
			problem.Line, problem.Value, problem.Retry = en.line, en.value, en.torn
		}
		p.problems = append(p.problems, problem)
	}
	if _, ok := p.entries[KeyIPMasq]; !ok && !mentions(p.problems, KeyIPMasq) {
		p.problems = append(p.problems, Problem{Key: KeyIPMasq, Reason: "missing", Retry: true})
	}
	if len(p.problems) > 0 {
		slices.SortStableFunc(p.problems, byLine)
		return nil, &ParseError{Problems: p.problems}
	}
	return env, nil
}

// byLine sorts problems without a line last.
func byLine(a, b Problem) int {
	if (a.Line == 0) != (b.Line == 0) {
		return cmp.Compare(b.Line, a.Line)
	}
	return cmp.Compare(a.Line, b.Line)
}

// refuseBytes says why data cannot be the text of a subnet.env at all.
func refuseBytes(data []byte) string {
	data = trimTail(data)
	const cure = "; save it as UTF-8 or ASCII (PowerShell: Set-Content -Encoding ascii)"
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return "the file is UTF-16" + cure
	case bytes.IndexByte(data, 0) >= 0:
		return "the file holds NUL bytes, as UTF-16 does" + cure
	case len(data) > maxSize:
		return fmt.Sprintf("the file has %d bytes: not a subnet.env", len(data))
	}
	return ""
}

// trimTail takes off zero bytes at the end, which NTFS shows where a file was
// made longer but not yet written, for good after a power cut.
func trimTail(data []byte) []byte { return bytes.TrimRight(data, "\x00") }

// scan splits data into lines and sorts them into entries, extra and problems.
func (p *parser) scan(data []byte) {
	text := strings.TrimPrefix(string(trimTail(data)), "\uFEFF")
	for n := 1; text != ""; n++ {
		line, rest, ended := strings.Cut(text, "\n")
		p.line(line, n, !ended)
		text = rest
	}
}

func (p *parser) line(line string, n int, torn bool) {
	s := strings.TrimSpace(line)
	if s == "" || s[0] == '#' {
		return
	}
	fail := func(key, value, reason string) {
		p.problems = append(p.problems, Problem{Line: n, Key: key, Value: value, Reason: reason, Retry: torn})
	}
	if after, ok := strings.CutPrefix(s, "export"); ok && strings.TrimLeft(after, " \t") != after {
		s = strings.TrimSpace(after)
	}
	key, raw, ok := strings.Cut(s, "=")
	key = strings.TrimSpace(key)
	switch {
	case !ok && isKey(key):
		fail(key, "", `has no "="`)
		return
	case !ok:
		fail("", s, `has no "="`)
		return
	case !isKey(key):
		fail("", s, `has no variable name before "="`)
		return
	}
	value, reason := unquote(raw)
	if reason != "" {
		fail(key, strings.TrimSpace(raw), reason)
		return
	}
	if !slices.Contains(keys, key) {
		p.extra = append(p.extra, Pair{Key: key, Value: value})
		return
	}
	if before, seen := p.entries[key]; seen {
		if before.value != value {
			fail(key, value, fmt.Sprintf("contradicts line %d, which says %q", before.line, before.value))
		}
		return
	}
	p.entries[key] = entry{value: value, line: n, torn: torn}
}

// unquote takes quotes, blanks and a comment off what follows the "=".
func unquote(raw string) (value, reason string) {
	s := strings.TrimSpace(raw)
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		inner, after, closed := strings.Cut(s[1:], s[:1])
		if !closed {
			return "", "has an opening quote and no closing one"
		}
		if after = strings.TrimSpace(after); after != "" && after[0] != '#' {
			return "", "has text after the closing quote"
		}
		return inner, ""
	}
	if i := commentAt(raw); i >= 0 {
		raw = raw[:i]
	}
	return strings.TrimSpace(raw), ""
}

// commentAt returns where a comment begins in an unquoted value, -1 if nowhere.
// As in a shell, only a # after a blank begins one.
func commentAt(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] == '#' && (s[i-1] == ' ' || s[i-1] == '\t') {
			return i
		}
	}
	return -1
}

// isKey accepts what shells call a name, and dots and dashes, which other tools
// allow.
func isKey(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '.' || c == '-')) {
			return false
		}
	}
	return s != ""
}
