package v1doc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// object is a JSON object whose members are found in any letter case.
type object map[string]json.RawMessage

func parse(doc []byte) (object, error) {
	var o object
	if err := json.Unmarshal(doc, &o); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if o == nil {
		return nil, fmt.Errorf("not a JSON object: null")
	}
	return o, nil
}

// key returns the spelling under which the member is there; of several the
// first, which is the one with most capitals.
func (o object) key(name string) (string, bool) {
	if _, ok := o[name]; ok {
		return name, true
	}
	found, ok := "", false
	for k := range o {
		if strings.EqualFold(k, name) && (!ok || k < found) {
			found, ok = k, true
		}
	}
	return found, ok
}

func (o object) get(name string) json.RawMessage {
	k, ok := o.key(name)
	if !ok || string(o[k]) == "null" {
		return nil
	}
	return o[k]
}

// str returns the text, or "" if the member is none.
func (o object) str(name string) string {
	var s string
	if json.Unmarshal(o.get(name), &s) != nil {
		return ""
	}
	return s
}

func (o object) boolean(name string) bool {
	var b bool
	return json.Unmarshal(o.get(name), &b) == nil && b
}

func (o object) number(name string) uint64 {
	var n uint64
	if json.Unmarshal(o.get(name), &n) != nil {
		return 0
	}
	return n
}

// set writes the value unless it is nil, over an older spelling of the name.
func (o object) set(name string, value any) {
	raw := toJSON(value)
	if raw == nil {
		return
	}
	if k, ok := o.key(name); ok {
		name = k
	}
	o[name] = raw
}

// copyTo hands a member over under another name, whatever it is.
func (o object) copyTo(to object, from, name string) {
	to.set(name, o.get(from))
}

// copyAll hands members over under the same name.
func (o object) copyAll(to object, names ...string) {
	for _, name := range names {
		o.copyTo(to, name, name)
	}
}

// elements returns the elements of a list. PowerShell writes some lists of one
// element as the element.
func elements(raw json.RawMessage) ([]json.RawMessage, bool) {
	if len(raw) > 0 && raw[0] == '{' {
		return []json.RawMessage{raw}, true
	}
	var l []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &l) != nil {
		return nil, false
	}
	return l, true
}

// toJSON returns the value as JSON; nil for nil and for what is empty.
func toJSON(value any) json.RawMessage {
	switch v := value.(type) {
	case nil:
		return nil
	case json.RawMessage:
		if len(v) == 0 {
			return nil
		}
		return v
	case string:
		if v == "" {
			return nil
		}
	case object:
		if len(v) == 0 {
			return nil
		}
	case []json.RawMessage:
		if len(v) == 0 {
			return nil
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return nil // the values are texts, numbers and JSON that was parsed
	}
	return bytes.TrimSpace(b.Bytes())
}

// must returns an object or list as JSON, also an empty one.
func must(value any) json.RawMessage {
	if raw := toJSON(value); raw != nil {
		return raw
	}
	if _, ok := value.(object); ok {
		return json.RawMessage("{}")
	}
	return json.RawMessage("[]")
}

// equal reports whether two texts are the same JSON value.
func equal(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	ca, errA := canonical(a)
	cb, errB := canonical(b)
	return errA == nil && errB == nil && bytes.Equal(ca, cb)
}

func canonical(raw json.RawMessage) ([]byte, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// merge writes into raw what differs between base, which is how raw reads, and
// now; the rest of raw stays. It reports whether anything differed.
func merge(raw, base, now object) bool {
	changed := false
	for name, value := range now {
		if !equal(base.get(name), value) {
			raw.set(name, mergeValue(raw.get(name), base.get(name), value))
			changed = true
		}
	}
	for name := range base {
		if _, ok := now[name]; !ok {
			if k, there := raw.key(name); there {
				delete(raw, k)
				changed = true
			}
		}
	}
	return changed
}

// mergeValue keeps of a list the elements, and of an object the members, that
// stayed the same.
func mergeValue(raw, base, now json.RawMessage) json.RawMessage {
	ro, errR := parse(raw)
	bo, errB := parse(base)
	no, errN := parse(now)
	if errR == nil && errB == nil && errN == nil && strings.EqualFold(bo.str("Type"), no.str("Type")) {
		merge(ro, bo, no)
		return must(ro)
	}
	if len(now) == 0 || now[0] != '[' {
		return now
	}
	rl, okR := elements(raw)
	bl, okB := elements(base)
	nl, okN := elements(now)
	if !okR || !okB || !okN || len(rl) != len(bl) {
		return now
	}
	used := make([]bool, len(bl))
	out := make([]json.RawMessage, len(nl))
	for i, n := range nl {
		for j, b := range bl {
			if !used[j] && equal(b, n) {
				used[j], out[i] = true, rl[j]
				break
			}
		}
	}
	for i, n := range nl {
		switch {
		case out[i] != nil:
		case i < len(bl) && !used[i]:
			used[i], out[i] = true, mergeValue(rl[i], bl[i], n)
		default:
			out[i] = n
		}
	}
	return must(out)
}
