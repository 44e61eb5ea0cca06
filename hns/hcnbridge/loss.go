package hcnbridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// Loss is a value that the other side has no room for.
type Loss struct {
	// Path leads to the value, in the names of the HNS schema, such as
	// "Ipams[0].Subnets[0].IpSubnets".
	Path string
	// Value is the JSON that stood there.
	Value string
}

// String returns path and value.
func (l Loss) String() string { return l.Path + ": " + l.Value }

// LossError says that hcn would drop values from a document that was to be
// written. Nothing was sent. It matches [hns.ErrUnsupported].
type LossError struct {
	Losses []Loss
}

// Error names each value.
func (e *LossError) Error() string {
	texts := make([]string, len(e.Losses))
	for i, l := range e.Losses {
		texts[i] = l.String()
	}
	return "hcn has no room for " + strings.Join(texts, ", ")
}

// Is reports whether target is [hns.ErrUnsupported].
func (e *LossError) Is(target error) bool { return target == hns.ErrUnsupported }

// missing returns the values of the document a that b has not, or has
// otherwise. Names are compared ignoring case, and zero counts as absent, as
// everywhere in HNS.
func missing(a, b []byte) ([]Loss, error) {
	va, err := parse(a)
	if err != nil {
		return nil, err
	}
	vb, err := parse(b)
	if err != nil {
		return nil, err
	}
	return compare(nil, "", va, vb), nil
}

func parse(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func compare(out []Loss, path string, a, b any) []Loss {
	if isZero(a) {
		return out
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return compareMembers(out, path, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok {
			for i, v := range a {
				out = compare(out, fmt.Sprintf("%s[%d]", path, i), v, at(b, i))
			}
			return out
		}
	default:
		if a == b {
			return out
		}
	}
	return append(out, Loss{path, text(a)})
}

func compareMembers(out []Loss, path string, a, b map[string]any) []Loss {
	folded := make(map[string]any, len(b))
	for k, v := range b {
		folded[strings.ToLower(k)] = v
	}
	names := make([]string, 0, len(a))
	for k := range a {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		p := k
		if path != "" {
			p = path + "." + k
		}
		out = compare(out, p, a[k], folded[strings.ToLower(k)])
	}
	return out
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// isZero reports whether v is what HNS leaves out. An object of nothing but
// zeros is, since hcn writes some of those.
func isZero(v any) bool {
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
		for _, m := range v {
			if !isZero(m) {
				return false
			}
		}
		return true
	}
	return false
}

// encode is json.Marshal without the escapes for HTML.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func text(v any) string {
	b, err := encode(v)
	if err != nil { // not for what a document was parsed into
		return fmt.Sprint(v)
	}
	return string(b)
}
