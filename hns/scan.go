package hns

import (
	"bytes"
	"encoding/json"
)

// The functions here take valid JSON apart without copying it, which
// encoding/json does for every level of a document. What they return are parts of
// the text they were given.

// eachMember calls f for the members of an object, in order, with the name as it
// stands between its quotes. It reports whether v is an object.
func eachMember(v []byte, f func(name, value []byte)) bool {
	v = bytes.TrimLeft(v, blanks)
	if len(v) == 0 || v[0] != '{' {
		return false
	}
	for rest := next(v[1:]); len(rest) > 0 && rest[0] == '"'; {
		n := valueEnd(rest)
		name := rest[1 : n-1]
		rest = next(rest[n:]) // behind the colon
		n = valueEnd(rest)
		f(name, rest[:n])
		rest = next(rest[n:])
	}
	return true
}

// eachElement calls f for the elements of an array, in order. It reports whether
// v is an array.
func eachElement(v []byte, f func(value []byte)) bool {
	v = bytes.TrimLeft(v, blanks)
	if len(v) == 0 || v[0] != '[' {
		return false
	}
	for rest := next(v[1:]); len(rest) > 0 && rest[0] != ']'; {
		n := valueEnd(rest)
		f(rest[:n])
		rest = next(rest[n:])
	}
	return true
}

const blanks = " \t\r\n"

// next goes to the next value, name or end, past one comma or colon.
func next(v []byte) []byte {
	v = bytes.TrimLeft(v, blanks)
	if len(v) > 0 && (v[0] == ',' || v[0] == ':') {
		v = bytes.TrimLeft(v[1:], blanks)
	}
	return v
}

// valueEnd returns the length of the value that v begins with.
func valueEnd(v []byte) int {
	depth := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i += stringEnd(v[i:])
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 { // of what holds the value
				return i
			}
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 { // a text, an object or an array is over
			return i + 1
		}
	}
	return len(v)
}

// stringEnd returns the position of the quote that ends the text v begins with.
func stringEnd(v []byte) int {
	for i := 1; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(v) - 1
}

// member is a member of an object, with its name as it stands in the text.
type member struct{ name, value []byte }

// members are those of one object. No two names are one when letter case is
// passed over.
type members []member

// get returns the value of a member, nil if there is none. Names of the schema are
// ASCII.
func (ms members) get(name string) json.RawMessage {
	for _, m := range ms {
		if sameName(m.name, name) {
			return m.value
		}
	}
	return nil
}

func sameName[T []byte | string](a []byte, b T) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if c != b[i] && small(c) != small(b[i]) {
			return false
		}
	}
	return true
}

func small(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// mostMembers is more than any object of the schema has.
const mostMembers = 64

// membersOf returns the members of an object in valid JSON. It leaves to
// encoding/json what is no object, or none of the plain sort: names with escapes or
// letters beyond ASCII, two names that are one when folded, very many members.
func membersOf(v []byte) (members, bool) {
	out, plain := make(members, 0, 4), true
	ok := eachMember(v, func(name, value []byte) {
		plain = plain && len(out) < mostMembers && isPlainText(name)
		for _, m := range out {
			plain = plain && !sameName(m.name, name)
		}
		if plain {
			out = append(out, member{name, value})
		}
	})
	return out, ok && plain
}
