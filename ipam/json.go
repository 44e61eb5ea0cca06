package ipam

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/internal/confjson"
)

// A configuration has to reach the IPAM plugin as its author wrote it, with
// every key, so it is not decoded into a struct and encoded again. These types
// read a JSON object as a list of members with their raw text.

// member is one key of an object with its value as written.
type member struct {
	key   string
	value json.RawMessage
	// start is where value stands in the text the object was read from, byte order
	// mark not counted.
	start int
}

type object []member

// readObject reads a JSON object. A key that is given here must not stand in it
// twice, differing in case or not: plugins match keys ignoring case and take the
// last one, silently.
func readObject(data []byte, keys ...string) (object, error) {
	data = withoutMark(data)
	var whole json.RawMessage
	if err := confjson.Unmarshal(data, &whole); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, fmt.Errorf("want an object, got %s", shorten(data))
	}
	var obj object
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		m := member{key: key.(string), value: value, start: int(dec.InputOffset()) - len(value)}
		if old := obj.find(m.key); old >= 0 && known(keys, m.key) {
			return nil, fmt.Errorf("keys %q and %q mean the same", obj[old].key, m.key)
		}
		obj = append(obj, m)
	}
	return obj, nil
}

// find returns the place of a key, matched as encoding/json does, or -1.
func (o object) find(key string) int {
	for i := range o {
		if strings.EqualFold(o[i].key, key) {
			return i
		}
	}
	return -1
}

// get returns the value of a key, nil if it is absent or null.
func (o object) get(key string) json.RawMessage {
	i := o.find(key)
	if i < 0 || isNull(o[i].value) {
		return nil
	}
	return o[i].value
}

// with returns a copy of o in which the key has the value; a new key goes to the
// end. The key keeps the spelling it has.
func (o object) with(key string, value json.RawMessage) object {
	out := append(object(nil), o...)
	if i := out.find(key); i >= 0 {
		out[i].value = value
		return out
	}
	return append(out, member{key: key, value: value})
}

// without returns a copy of o that lacks the keys.
func (o object) without(keys ...string) object {
	var out object
next:
	for _, m := range o {
		for _, k := range keys {
			if strings.EqualFold(m.key, k) {
				continue next
			}
		}
		out = append(out, m)
	}
	return out
}

// text writes the object, values as they are.
func (o object) text() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.key))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// readList reads a JSON array; null is an empty one.
func readList(data []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("want a list, got %s", shorten(data))
	}
	return list, nil
}

// writeList is the inverse of readList.
func writeList(list []json.RawMessage) json.RawMessage {
	return append(append([]byte{'['}, bytes.Join(asBytes(list), []byte{','})...), ']')
}

func asBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

// quote writes text as JSON without HTML escapes.
func quote(text string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// Encoding a string cannot fail.
	_ = enc.Encode(text)
	return bytes.TrimRight(b.Bytes(), "\n")
}

func isNull(value json.RawMessage) bool { return string(value) == "null" }

// withoutMark removes the byte order mark that PowerShell puts before a file.
// CNI plugins cannot read it, so it is never passed on.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// shorten makes a value fit into an error message.
func shorten(data []byte) string {
	const limit = 80
	text := string(bytes.TrimSpace(data))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "..."
	}
	return text
}
