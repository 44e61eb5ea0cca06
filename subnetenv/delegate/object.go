package delegate

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// object is a JSON object: member names as written, values as bytes. Names are
// matched ignoring case, as Go's decoder matches them in every plugin that will
// read the result; so no two names differ only in case.
type object map[string]json.RawMessage

// decodeObject splits the members of raw, which is valid JSON. path is for
// errors; empty at the top. A member that is there twice is an error: decoders do
// not agree on which one counts. But of the spellings of a name that a runtime sets
// its own, the exact one, does.
func decodeObject(path string, raw json.RawMessage, ofRuntime ...string) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		if path == "" {
			path = "configuration"
		}
		return nil, field(path, raw, "is not an object")
	}
	o := object{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // the decoder takes nothing else here
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if other, _, ok := o.find(name); ok {
			switch {
			case name != other && slices.Contains(ofRuntime, other):
				continue
			case name != other && slices.Contains(ofRuntime, name):
				delete(o, other)
			default:
				return nil, field(join(path, name), value, "is there twice (also as "+other+")")
			}
		}
		o[name] = value
	}
	return o, nil
}

// join makes the path of a member.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// find looks name up ignoring case and returns it as written. A null counts as
// there; see get.
func (o object) find(name string) (written string, value json.RawMessage, ok bool) {
	if value, ok := o[name]; ok {
		return name, value, true
	}
	for written, value := range o {
		if strings.EqualFold(written, name) {
			return written, value, true
		}
	}
	return "", nil, false
}

// get is find for members that may be missing: null is missing.
func (o object) get(name string) (written string, value json.RawMessage, ok bool) {
	written, value, ok = o.find(name)
	if !ok || string(value) == "null" {
		return name, nil, false
	}
	return written, value, true
}

// set gives the member name a value, under this spelling.
func (o object) set(name string, value json.RawMessage) {
	o.remove(name)
	o[name] = value
}

// setValue is set for values of ours, which always encode.
func (o object) setValue(name string, value any) { o.set(name, encode(value)) }

func (o object) remove(name string) {
	if written, _, ok := o.find(name); ok {
		delete(o, written)
	}
}

// clone copies the object; values are never changed in place.
func (o object) clone() object {
	if o == nil {
		return object{}
	}
	return maps.Clone(o)
}

// encode writes v without the HTML escapes that json.Marshal would put into the
// user's own text. Members come out sorted, so the result is always the same.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Only strings, numbers, and JSON that was decoded before get here.
		panic("delegate: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
