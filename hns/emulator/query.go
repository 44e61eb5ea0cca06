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

// matches reports whether an object has every member of the filter. view gives
// the object in both schemas.
func (f *filter) matches(tx *tx, view func(*tx) []object) bool {
	if len(f.object) == 0 {
		return true
	}
	views := view(tx)
	for _, m := range f.object {
		found := false
		for _, o := range views {
			if i := o.index(m.name); i >= 0 && tx.equalMember(m.name, m.value, o[i].value) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

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

func (n *network) view(tx *tx) []object {
	return []object{tx.networkV1(n), parsed(n.render())}
}

func (e *endpoint) view(tx *tx) []object {
	return []object{tx.endpointV1(e), parsed(e.render())}
}

func (n *namespace) view(tx *tx) []object {
	return []object{tx.namespaceV1(n), parsed(n.render())}
}

func parsed(doc json.RawMessage) object {
	o, _ := parseObject(doc) // the emulator's own text
	return o
}
