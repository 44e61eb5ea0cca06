package hns_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

// codec decodes a document and encodes it. It fails if the object alone, without
// what it was read from, does not come back the same.
type codec func(doc []byte) (json.RawMessage, []hns.Unread, error)

var codecs = map[int]map[string]codec{
	1: {
		"network":     codecOf(v1doc.DecodeNetwork, v1doc.EncodeNetwork, ofNetwork),
		"endpoint":    codecOf(v1doc.DecodeEndpoint, v1doc.EncodeEndpoint, ofEndpoint),
		"policies":    codecOf(v1doc.DecodeEndpoint, v1doc.EncodeEndpoint, ofEndpoint),
		"namespace":   codecOf(v1doc.DecodeNamespace, v1doc.EncodeNamespace, ofNamespace),
		"policy list": codecOf(v1doc.DecodeLoadBalancer, v1doc.EncodeLoadBalancer, ofLoadBalancer),
		"SDN route":   codecOf(v1doc.DecodeRoute, v1doc.EncodeRoute, ofRoute),
	},
	2: {
		"network":       codecOf(hns.DecodeNetwork, (*hns.Network).Encode, ofNetwork),
		"endpoint":      codecOf(hns.DecodeEndpoint, (*hns.Endpoint).Encode, ofEndpoint),
		"namespace":     codecOf(hns.DecodeNamespace, (*hns.Namespace).Encode, ofNamespace),
		"load balancer": codecOf(hns.DecodeLoadBalancer, (*hns.LoadBalancer).Encode, ofLoadBalancer),
		"SDN route":     codecOf(hns.DecodeSDNRouteObject, (*hns.SDNRouteObject).Encode, ofRoute),
	},
}

// The of... functions take what was read from an object, and what a create
// cannot have.
func ofNetwork(n *hns.Network) *hns.Document {
	for i := range n.IPAMs {
		for j := range n.IPAMs[i].Subnets {
			s := &n.IPAMs[i].Subnets[j]
			s.ID = hns.ID{}
			for k := range s.IPSubnets {
				s.IPSubnets[k].ID = hns.ID{}
			}
		}
	}
	return &n.Document
}
func ofEndpoint(e *hns.Endpoint) *hns.Document {
	e.State = 0
	return &e.Document
}
func ofNamespace(n *hns.Namespace) *hns.Document {
	n.Resources = nil
	return &n.Document
}
func ofLoadBalancer(l *hns.LoadBalancer) *hns.Document { return &l.Document }
func ofRoute(r *hns.SDNRouteObject) *hns.Document      { return &r.Document }

func codecOf[T any](decode func([]byte) (*T, error), encode func(*T) (json.RawMessage, error), document func(*T) *hns.Document) codec {
	return func(doc []byte) (json.RawMessage, []hns.Unread, error) {
		obj, err := decode(doc)
		if err != nil {
			return nil, nil, err
		}
		out, err := encode(obj)
		if err != nil {
			return nil, nil, err
		}
		d := document(obj)
		unread := d.Unread
		*d = hns.Document{}
		bare, err := encode(obj)
		if err != nil {
			return nil, nil, fmt.Errorf("without what it was read from: %w", err)
		}
		back, err := decode(bare)
		if err != nil {
			return nil, nil, err
		}
		*document(back) = hns.Document{}
		if diff := cmp.Diff(obj, back, append(addrOptions, cmp.Transformer("compact", compacted))...); diff != "" {
			return nil, nil, errors.New("without what it was read from (-want +got):\n" + diff)
		}
		return out, unread, nil
	}
}

// compacted is for settings of raw policies, whose blanks mean nothing.
func compacted(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// differing compares two JSON values as HNS does: what is empty is absent, names
// are compared ignoring case, and so are the names of types, GUIDs and MAC
// addresses.
func differing(path string, want, got any) []string {
	if emptyJSON(want) && (emptyJSON(got) || path == "Type" && (got == "NAT" || got == "Host")) {
		return nil // those types are zero, too
	}
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		return differingMembers(path, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return []string{path}
		}
		var out []string
		for i := range w {
			out = append(out, differing(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])...)
		}
		return out
	}
	if a, b := plainText(want), plainText(got); a != b && !(strings.HasSuffix(path, "Type") && strings.EqualFold(a, b)) {
		return []string{path}
	}
	return nil
}

func differingMembers(path string, want, got map[string]any) []string {
	if path != "" && !emptyJSON(want) && emptyJSON(got) {
		return []string{path}
	}
	fold := func(m map[string]any) map[string]any {
		out := map[string]any{}
		for k, v := range m {
			out[strings.ToLower(k)] = v
		}
		return out
	}
	w, g := fold(want), fold(got)
	names := maps.Clone(g)
	for k := range want {
		names[strings.ToLower(k)] = nil
	}
	spelt := map[string]string{}
	for _, m := range []map[string]any{got, want} {
		for k := range m {
			spelt[strings.ToLower(k)] = k
		}
	}
	var out []string
	for k := range names {
		at := spelt[k]
		if path != "" {
			at = path + "." + at
		}
		if path == "" && k == "schemaversion" && fmt.Sprint(w[k]) != fmt.Sprint(g[k]) {
			if w[k] != nil { // a document without one gets it
				out = append(out, at)
			}
			continue
		}
		out = append(out, differing(at, w[k], g[k])...)
	}
	return out
}

func emptyJSON(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, m := range v {
			if !emptyJSON(m) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return v == "" || v == false || v == json.Number("0")
}

// plainText returns a value in one spelling.
func plainText(v any) string {
	s := fmt.Sprint(v)
	if id, err := hns.ParseID(s); err == nil {
		return id.String()
	}
	if mac, err := hns.ParseMAC(s); err == nil {
		return mac.String()
	}
	return s
}
