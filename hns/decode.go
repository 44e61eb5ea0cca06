package hns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Document is what HNS sent for an object. Objects that were not read from
// HNS have none.
type Document struct {
	// Raw is the whole document, unknown members included.
	Raw json.RawMessage
	// Unread lists the values that could not be read. Their fields hold zero,
	// or lack the element. Members that this package does not know are not
	// among them, except inside a policy, where they would get lost.
	Unread []Unread
}

// String says how long the document is and what could not be read of it, for
// logs of whole objects. Its text is not there: it would say once more what the
// fields say, and policies may hold keys.
func (d Document) String() string {
	if len(d.Raw) == 0 && len(d.Unread) == 0 {
		return "none"
	}
	s := fmt.Sprintf("%d bytes", len(d.Raw))
	for _, u := range d.Unread {
		s += fmt.Sprintf("; %s: %s: %s", u.Path, u.Text, u.Reason)
	}
	return s
}

// Unread is a value in a document of HNS that could not be read.
type Unread struct {
	// Path leads to the value, such as "Routes[0].NextHop".
	Path string
	// Text is the value as it stood there, shortened if long.
	Text string
	// Reason says what was expected.
	Reason string
}

// reader reads the members of one JSON object, ignoring the letter case of
// their names. It never fails: what cannot be read is noted and reads as zero.
type reader struct {
	members members
	path    string
	unread  *[]Unread
}

// newReader starts reading a document. A document that is no object reads as
// an empty one, and is noted.
func newReader(doc []byte, unread *[]Unread) reader {
	r := reader{unread: unread}
	if json.Valid(doc) {
		r.members, _ = r.object("", doc)
	} else {
		r.members, _ = r.slowObject("", doc) // which says what is wrong
	}
	return r
}

// startReading begins to read what HNS sent for an object; what is no JSON
// object is an error.
func startReading(doc []byte, d *Document) (reader, *FieldError) {
	d.Raw = slices.Clone(doc)
	r := newReader(doc, &d.Unread)
	if len(r.members) == 0 && len(d.Unread) > 0 {
		return reader{}, &FieldError{Value: clip(string(doc), 64), Reason: d.Unread[0].Reason}
	}
	return r, nil
}

// unreadable returns what could not be read as complaints.
func unreadable(unread []Unread) []*FieldError {
	var bad []*FieldError
	for _, u := range unread {
		bad = append(bad, &FieldError{Path: u.Path, Value: unquote(u.Text), Reason: u.Reason})
	}
	return bad
}

func unquote(text string) string {
	var s *string
	if json.Unmarshal([]byte(text), &s) == nil && s != nil {
		return *s
	}
	return text
}

// object returns the members of an object in valid JSON, and whether it is one.
func (r reader) object(path string, doc []byte) (members, bool) {
	if members, ok := membersOf(doc); ok {
		return members, true
	}
	return r.slowObject(path, doc)
}

func (r reader) slowObject(path string, doc []byte) (members, bool) {
	var exact map[string]json.RawMessage
	if err := json.Unmarshal(doc, &exact); err != nil || exact == nil {
		reason := "not a JSON object"
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			reason += ": " + err.Error()
		}
		r.noteAt(path, doc, reason)
		return nil, false
	}
	folded := make(map[string]json.RawMessage, len(exact))
	for k, v := range exact {
		folded[strings.ToLower(k)] = v
	}
	if len(folded) < len(exact) {
		r.foldTwice(path, exact, folded)
	}
	out := make(members, 0, len(folded))
	for k, v := range folded {
		out = append(out, member{[]byte(k), v})
	}
	return out, true
}

// foldTwice settles which of several spellings of a name counts: the first in
// alphabetical order, which is the one with most capitals, as the schema writes
// names. The others are noted.
func (r reader) foldTwice(path string, exact, folded map[string]json.RawMessage) {
	names := make([]string, 0, len(exact))
	for k := range exact {
		names = append(names, k)
	}
	slices.Sort(names)
	seen := map[string]string{}
	for _, k := range names {
		l := strings.ToLower(k)
		if first, twice := seen[l]; twice {
			(reader{path: path, unread: r.unread}).noteMember(k, exact[k], "the same name as "+first)
			continue
		}
		seen[l], folded[l] = k, exact[k]
	}
}

func (r reader) at(name string) string {
	if r.path == "" {
		return name
	}
	return r.path + "." + name
}

func (r reader) noteAt(path string, text []byte, reason string) {
	*r.unread = append(*r.unread, Unread{Path: path, Text: clip(string(text), 200), Reason: reason})
}

func (r reader) note(name, reason string) { r.noteMember(name, r.raw(name), reason) }

func (r reader) noteMember(name string, text []byte, reason string) {
	r.noteAt(r.at(name), text, reason)
}

// others returns the names of the members that are none of the known ones, in
// small letters and in order.
func (r reader) others(known ...string) []string {
	var out []string
	for _, m := range r.members {
		if !slices.ContainsFunc(known, func(n string) bool { return sameName(m.name, n) }) {
			out = append(out, strings.ToLower(string(m.name)))
		}
	}
	slices.Sort(out)
	return out
}

// raw returns the member as it stands, nil when it is absent or null.
func (r reader) raw(name string) json.RawMessage {
	v := r.members.get(name)
	if string(bytes.TrimSpace(v)) == "null" {
		return nil
	}
	return v
}

// text returns the text that v is, and whether it is one; null is the empty text.
// It sees to what most texts are by itself, since much of a document is texts.
func text(v json.RawMessage) (s string, ok bool) {
	if n := len(v); n > 1 && v[0] == '"' && isPlainText(v[1:n-1]) && v[n-1] == '"' {
		return string(v[1 : n-1]), true
	}
	if len(v) > 0 && v[0] != '"' && v[0] != 'n' {
		return "", false
	}
	var unescaped string
	err := json.Unmarshal(v, &unescaped)
	return unescaped, err == nil
}

// isPlainText reports whether a text in JSON stands for itself.
func isPlainText(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// str returns a text; a number is returned as its digits, since HNS and its
// clients write some members either way.
func (r reader) str(name string) string {
	v := r.raw(name)
	if v == nil {
		return ""
	}
	if s, ok := text(v); ok {
		return s
	}
	var n json.Number
	if json.Unmarshal(v, &n) == nil {
		return n.String()
	}
	r.note(name, "not a text")
	return ""
}

// uint returns a number of at most bits bits; a text of digits counts.
func (r reader) uint(name string, bits int) uint64 {
	v := r.raw(name)
	if v == nil {
		return 0
	}
	s, isText := text(v)
	switch {
	case !isText:
		s = string(bytes.TrimSpace(v))
	case s == "":
		return 0
	}
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		r.note(name, fmt.Sprintf("not a number of %d bits", bits))
		return 0
	}
	return n
}

func (r reader) bool(name string) bool {
	v := r.raw(name)
	if v == nil {
		return false
	}
	var b bool
	if json.Unmarshal(v, &b) != nil {
		r.note(name, "not true or false")
	}
	return b
}

func (r reader) id(name string) ID {
	s := r.str(name)
	if s == "" {
		return ID{}
	}
	id, err := ParseID(s)
	if err != nil {
		r.note(name, "not a GUID")
	}
	return id
}

func (r reader) mac(name string) MAC {
	s := r.str(name)
	if s == "" {
		return MAC{}
	}
	m, err := ParseMAC(s)
	if err != nil {
		r.note(name, "not a MAC address")
	}
	return m
}

func (r reader) addr(name string) netip.Addr {
	s := r.str(name)
	if s == "" {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		r.note(name, "not an IP address")
		return netip.Addr{}
	}
	return a
}

// prefix keeps host bits: whether they matter is for the reader to say.
func (r reader) prefix(name string) netip.Prefix {
	s := r.str(name)
	if s == "" {
		return netip.Prefix{}
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		r.note(name, "not a prefix such as 10.0.0.0/24")
		return netip.Prefix{}
	}
	return p
}

// list calls f for each element of an array of objects; what is no object is
// noted and left out.
func (r reader) list(name string, f func(reader)) {
	for i, v := range r.elements(name) {
		e := reader{path: r.at(name) + "[" + strconv.Itoa(i) + "]", unread: r.unread}
		ok := false
		if e.members, ok = e.object(e.path, v); ok {
			f(e)
		}
	}
}

// elements returns the elements of an array as they stand.
func (r reader) elements(name string) []json.RawMessage {
	v := r.raw(name)
	if v == nil {
		return nil
	}
	var l []json.RawMessage
	if !eachElement(v, func(e []byte) { l = append(l, e) }) {
		r.note(name, "not a list")
	}
	return l
}

// strs returns an array of texts; what is no text is noted and left out.
func (r reader) strs(name string) []string {
	return parsed(r, name, "not a text", func(s string) (string, error) { return s, nil })
}

// ids returns an array of GUIDs; what is none is noted and left out.
func (r reader) ids(name string) []ID {
	return parsed(r, name, "not a GUID", ParseID)
}

// addrs returns an array of addresses; what is none is noted and left out.
func (r reader) addrs(name string) []netip.Addr {
	return parsed(r, name, "not an IP address", func(s string) (netip.Addr, error) {
		a, err := netip.ParseAddr(s)
		if err == nil && a.Zone() != "" {
			err = errors.New("zone")
		}
		return a, err
	})
}

func parsed[T any](r reader, name, reason string, parse func(string) (T, error)) []T {
	var out []T
	for i, v := range r.elements(name) {
		s, ok := text(v)
		if ok {
			var t T
			var err error
			if t, err = parse(s); err == nil {
				out = append(out, t)
			}
			ok = err == nil
		}
		if !ok {
			r.noteAt(fmt.Sprintf("%s[%d]", r.at(name), i), v, reason)
		}
	}
	return out
}

// sub reads a member that is itself an object; absent reads as empty.
func (r reader) sub(name string) reader {
	s := reader{path: r.at(name), unread: r.unread}
	if v := r.raw(name); v != nil {
		s.members, _ = s.object(s.path, v)
	}
	return s
}

// enum returns the schema's spelling of a value that HNS writes as text in any
// letter case or as its number. Unknown texts come back as they are.
func (r reader) enum(name string, names []string) string {
	s := r.str(name)
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n < len(names) {
		return names[n]
	}
	for _, v := range names {
		if strings.EqualFold(v, s) {
			return v
		}
	}
	return s
}

// encode marshals without HTML escaping, at every level.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
