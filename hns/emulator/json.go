package emulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// member is one member of a JSON object; value is compact JSON.
type member struct {
	name  string
	value json.RawMessage
}

// object is a JSON object whose members keep their order and spelling. Names
// are looked up ignoring case, as HNS does. The values are never changed in
// place, so objects may share them.
type object []member

var errNotObject = errors.New("not a JSON object")

// parseObject reads one JSON object and nothing behind it. The values are
// copied, so the caller keeps b.
func parseObject(b []byte) (object, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		return nil, err
	}
	text := compact.Bytes()
	if len(text) == 0 || text[0] != '{' {
		return nil, errNotObject
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	o := object{}
	at := map[string]int{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		name := t.(string) // a key of an object is always a string
		key := strings.ToLower(name)
		if i, ok := at[key]; ok {
			o[i] = member{name, v} // the last of equal names wins
			continue
		}
		at[key] = len(o)
		o = append(o, member{name, v})
	}
	return o, nil
}

// index returns the position of the member, or -1. A member spelled exactly so
// comes before one that differs in letter case.
func (o object) index(name string) int {
	found := -1
	for i := range o {
		if o[i].name == name {
			return i
		}
		if found < 0 && strings.EqualFold(o[i].name, name) {
			found = i
		}
	}
	return found
}

// get returns the value of a member; nil when it is absent or null.
func (o object) get(name string) json.RawMessage {
	i := o.index(name)
	if i < 0 || string(o[i].value) == "null" {
		return nil
	}
	return o[i].value
}

// with returns a copy in which the member has the value; nil removes it.
func (o object) with(name string, v json.RawMessage) object {
	c := make(object, 0, len(o)+1)
	i := o.index(name)
	for j, m := range o {
		if j != i {
			c = append(c, m)
		} else if v != nil {
			c = append(c, member{m.name, v})
		}
	}
	if i < 0 && v != nil {
		c = append(c, member{name, v})
	}
	return c
}

// addString, addUint and add append a member unless its value is zero, which
// HNS leaves out.
func (o *object) addString(name, s string) {
	if s != "" {
		*o = append(*o, member{name, quote(s)})
	}
}

func (o *object) addUint(name string, n uint64) {
	if n != 0 {
		*o = append(*o, member{name, number(n)})
	}
}

func (o *object) add(name string, v json.RawMessage) {
	if len(v) > 0 {
		*o = append(*o, member{name, v})
	}
}

// bytes returns the compact text.
func (o object) bytes() json.RawMessage {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quote(m.name)...)
		b = append(b, ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}

// list returns the text of a JSON array.
func list(elems []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, e := range elems {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e...)
	}
	return append(b, ']')
}

// quote returns the JSON text of a string, without HTML escaping.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimRight(b.Bytes(), "\n")
}

func quoteAll(ss []string) json.RawMessage {
	out := make([]json.RawMessage, len(ss))
	for i, s := range ss {
		out[i] = quote(s)
	}
	return list(out)
}

func number(n uint64) json.RawMessage { return strconv.AppendUint(nil, n, 10) }

func boolean(v bool) json.RawMessage {
	return strconv.AppendBool(nil, v)
}

// reader takes members out of an object and remembers the first one that has
// the wrong JSON type, so that a caller checks once.
type reader struct {
	object
	bad bool
}

func (r *reader) decode(name string, v any) {
	raw := r.get(name)
	if raw == nil {
		return
	}
	if err := json.Unmarshal(raw, v); err != nil {
		r.bad = true
	}
}

func (r *reader) str(name string) (s string) { r.decode(name, &s); return s }

func (r *reader) uint32(name string) (n uint32) { r.decode(name, &n); return n }

func (r *reader) uint16(name string) (n uint16) { r.decode(name, &n); return n }

func (r *reader) boolean(name string) (v bool) { r.decode(name, &v); return v }

func (r *reader) strings(name string) (ss []string) { r.decode(name, &ss); return ss }

func (r *reader) array(name string) (a []json.RawMessage) { r.decode(name, &a); return a }

// sub returns the object in a member. An absent one is empty, as is {}.
func (r *reader) sub(name string) reader {
	raw := r.get(name)
	if raw == nil {
		return reader{}
	}
	o, err := parseObject(raw)
	if err != nil {
		r.bad = true
	}
	return reader{object: o}
}

// objects returns the objects of an array member.
func (r *reader) objects(name string) []reader {
	var out []reader
	for _, raw := range r.array(name) {
		o, err := parseObject(raw)
		if err != nil {
			r.bad = true
			return nil
		}
		out = append(out, reader{object: o})
	}
	return out
}

// id returns the GUID in a member, zero when it is absent or empty.
func (r *reader) id(name string) (hns.ID, error) {
	s := r.str(name)
	if s == "" {
		return hns.ID{}, nil
	}
	return parseID(s)
}

// flags returns the bits of a flags member: a number, or the name of a flag in
// either letter case.
func (r *reader) flags(name string, names map[string]uint32) uint32 {
	raw := r.get(name)
	if len(raw) == 0 || raw[0] != '"' {
		return r.uint32(name)
	}
	bits, ok := names[strings.ToLower(r.str(name))]
	r.bad = r.bad || !ok
	return bits
}

// checkDNS looks at the members of Dns, which are shown as they came.
func (r *reader) checkDNS() {
	d := r.sub("Dns")
	d.dns()
	r.bad = r.bad || d.bad
}

func (r *reader) dns() {
	r.str("Domain")
	for _, name := range []string{"Search", "ServerList", "Options"} {
		r.strings(name)
	}
}

// enum returns the position of the member's value in names. HNS takes the
// name, in either letter case, and the number. Absent is 0; ok is false for a
// value outside the list.
func (r *reader) enum(name string, names []string) (n int, ok bool) {
	raw := r.get(name)
	if raw == nil {
		return 0, true
	}
	return enumValue(raw, names)
}

func enumValue(raw json.RawMessage, names []string) (int, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		for i, want := range names {
			if strings.EqualFold(s, want) {
				return i, true
			}
		}
		return 0, false
	}
	var n int
	if json.Unmarshal(raw, &n) != nil || n < 0 || n >= len(names) {
		return 0, false
	}
	return n, true
}

// parseID reads a GUID of a document. HNS takes no braces.
func parseID(s string) (hns.ID, error) {
	id, err := hns.ParseID(s)
	if err != nil || strings.HasPrefix(s, "{") {
		return hns.ID{}, failure(hns.CodeGUIDConversion)
	}
	return id, nil
}

// equalJSON reports whether two texts are the same JSON value: the order of
// object members does not matter, the letter case of their names neither, and
// numbers compare by value.
func equalJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	va, errA := decodeAny(a)
	vb, errB := decodeAny(b)
	return errA == nil && errB == nil && equalValue(va, vb)
}

func decodeAny(raw json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

func equalValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && equalMembers(x, y)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalValue(x[i], y[i]) {
				return false
			}
		}
		return true
	case json.Number:
		y, ok := b.(json.Number)
		return ok && equalNumber(x, y)
	default:
		return a == b
	}
}

func equalMembers(x, y map[string]any) bool {
	if len(x) != len(y) {
		return false
	}
	folded := make(map[string]any, len(y))
	for k, v := range y {
		folded[strings.ToLower(k)] = v
	}
	for k, v := range x {
		w, ok := folded[strings.ToLower(k)]
		if !ok || !equalValue(v, w) {
			return false
		}
	}
	return true
}

func equalNumber(x, y json.Number) bool {
	if x == y {
		return true
	}
	// An exponent of many digits would make big.Rat work for ever.
	if len(x) > 40 || len(y) > 40 || strings.ContainsAny(string(x+y), "eE") {
		fx, errX := x.Float64()
		fy, errY := y.Float64()
		return errX == nil && errY == nil && fx == fy
	}
	rx, okX := new(big.Rat).SetString(string(x))
	ry, okY := new(big.Rat).SetString(string(y))
	return okX && okY && rx.Cmp(ry) == 0
}
