package emulator

import (
	"encoding/json"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// filter narrows a list: a JSON object whose members must all equal those of
// the object. HNS does not convert it between the schemas; the names are those
// of schema 1, and here those of schema 2 as well.
type filter struct {
	reader
}

// readFilter reads the text of a filter. The empty text and {} filter nothing.
func (tx *tx) readFilter(text string) (filter, error) {
	switch strings.TrimSpace(text) {
	case "", "null":
		return filter{}, nil
	}
	o, err := parseObject([]byte(text))
	if err != nil {
		return filter{}, failure(hns.CodeInvalidJSON)
	}
	return filter{reader{object: o}}, nil
}

// id returns a GUID that the filter asks for, to look up in an index.
func (f *filter) id(name string) (hns.ID, bool) {
	var s string
	raw := f.get(name)
	if raw == nil || json.Unmarshal(raw, &s) != nil {
		return hns.ID{}, false
	}
	id, err := hns.ParseID(s)
	return id, err == nil
}

// text returns a text that the filter asks for, to look up in an index.
func (f *filter) text(name string) (string, bool) {
	var s string
	raw := f.get(name)
	return s, raw != nil && json.Unmarshal(raw, &s) == nil
}

// matches reports whether an object has every member of the filter.
func (f *filter) matches(tx *tx, x viewed) bool {
	if len(f.object) == 0 {
		return true
	}
	has := func(o object, m member) bool {
		i := o.index(m.name)
		return i >= 0 && tx.equalMember(m.name, m.value, o[i].value)
	}
	v2 := x.v2()
	var v1 object // made only if needed: it costs the most
	for _, m := range f.object {
		if has(v2, m) {
			continue
		}
		if v1 == nil {
			v1 = x.v1(tx)
		}
		if !has(v1, m) {
			return false
		}
	}
	return true
}

// without drops a member that an index has seen to.
func (f *filter) without(name string) { f.object = f.with(name, nil) }

// equalMember compares a member of a filter: ids and enumerations ignoring
// letter case, names exactly unless the switch says otherwise.
func (tx *tx) equalMember(name string, want, have json.RawMessage) bool {
	var a, b string
	if json.Unmarshal(want, &a) != nil || json.Unmarshal(have, &b) != nil {
		return equalJSON(want, have)
	}
	if strings.EqualFold(name, "Name") && !tx.opts.NetworkNamesIgnoreCase {
		return a == b
	}
	return strings.EqualFold(a, b)
}

// viewed is an object in both schemas.
type viewed interface {
	v2() object
	v1(*tx) object
}

func (n *network) v2() object         { return parsed(n.render()) }
func (e *endpoint) v2() object        { return parsed(e.render()) }
func (n *namespace) v2() object       { return parsed(n.render()) }
func (l *policyList) v2() object      { return l.doc }
func (n *network) v1(t *tx) object    { return t.networkV1(n) }
func (e *endpoint) v1(t *tx) object   { return t.endpointV1(e) }
func (n *namespace) v1(t *tx) object  { return t.namespaceV1(n) }
func (l *policyList) v1(t *tx) object { return t.listV1(l) }

func parsed(doc json.RawMessage) object {
	o, _ := parseObject(doc) // the emulator's own text
	return o
}
