package hns

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// sameJSON reports whether a and b are the same value to HNS: members that are
// zero count as absent, for HNS leaves those out; names are compared ignoring
// case, and so are texts that are GUIDs, or MAC addresses in any of their
// spellings.
func sameJSON(a, b []byte) bool {
	var compact bytes.Buffer
	if json.Compact(&compact, a) == nil && bytes.Equal(compact.Bytes(), b) {
		return true // what was read is most often what would be written
	}
	va, errA := decodeAny(a)
	vb, errB := decodeAny(b)
	return errA == nil && errB == nil && sameValue(va, vb)
}

func decodeAny(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func sameValue(a, b any) bool {
	if isZeroJSON(a) && isZeroJSON(b) {
		return true
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && containsMembers(a, b) && containsMembers(b, a)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case string:
		b, ok := b.(string)
		return ok && (a == b || sameText(a, b, ParseMAC) || len(a) == len(b) && sameText(a, b, ParseID))
	}
	return a == b
}

func sameText[T comparable](a, b string, parse func(string) (T, error)) bool {
	va, errA := parse(a)
	vb, errB := parse(b)
	return errA == nil && errB == nil && va == vb
}

// containsMembers reports whether every member of b that is not zero is in a.
func containsMembers(a, b map[string]any) bool {
	folded := make(map[string]any, len(a))
	for k, v := range a {
		folded[strings.ToLower(k)] = v
	}
	for k, v := range b {
		if !isZeroJSON(v) && !sameValue(folded[strings.ToLower(k)], v) {
			return false
		}
	}
	return len(folded) == len(a) // two spellings of one member: not the same as one
}

func isZeroJSON(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		return v == "0"
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
