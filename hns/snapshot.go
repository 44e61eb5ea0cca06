package hns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/internal/confjson"
)

// Snapshot is the whole state of an HNS at one moment, in HNS's own JSON
// (schema 2). It has one text form, sorted by id, so that two snapshots can be
// compared as text, kept as golden files, and loaded into the emulator.
type Snapshot struct {
	// Version of the HNS it was taken from; zero if unknown.
	Version Version `json:"Version,omitzero"`
	// The objects as HNS sent them.
	Networks   []json.RawMessage `json:"Networks"`
	Endpoints  []json.RawMessage `json:"Endpoints"`
	Namespaces []json.RawMessage `json:"Namespaces"`
	// Left out of the text when there are none.
	LoadBalancers []json.RawMessage `json:"LoadBalancers,omitempty"`
	Routes        []json.RawMessage `json:"Routes,omitempty"`
}

// Snapshot reads the whole state of HNS, as it is at about one moment. A
// Windows without load balancers or SDN routes gives a snapshot without them.
func (c *Client) Snapshot(ctx context.Context) (*Snapshot, error) {
	v, err := c.Version(ctx)
	if err != nil && !errors.Is(err, ErrUnsupported) {
		return nil, err
	}
	s := &Snapshot{Version: v}
	if s.Networks, err = documents(ctx, c, networkKind, func(n *Network) Document { return n.Document }); err != nil {
		return nil, err
	}
	if s.Endpoints, err = documents(ctx, c, endpointKind, func(e *Endpoint) Document { return e.Document }); err != nil {
		return nil, err
	}
	if s.Namespaces, err = documents(ctx, c, namespaceKind, func(n *Namespace) Document { return n.Document }); err != nil {
		return nil, err
	}
	s.LoadBalancers, err = documents(ctx, c, loadBalancerKind, func(l *LoadBalancer) Document { return l.Document })
	if err != nil && !errors.Is(err, ErrUnsupported) {
		return nil, err
	}
	s.Routes, err = documents(ctx, c, routeKind, func(o *SDNRouteObject) Document { return o.Document })
	if err != nil && !errors.Is(err, ErrUnsupported) {
		return nil, err
	}
	return s, nil
}

func documents[T any](ctx context.Context, c *Client, k resource[T], doc func(*T) Document) ([]json.RawMessage, error) {
	all, err := list(ctx, c, k, "")
	if err != nil {
		return nil, err
	}
	var out []json.RawMessage
	for _, o := range all {
		out = append(out, doc(o).Raw)
	}
	return out, nil
}

// ParseSnapshot reads the text form. Member names are matched ignoring case,
// as everywhere in HNS; unknown members are ignored. Lists that are absent are
// empty. The objects themselves are not judged. The error, which matches
// [ErrInvalid], says line and column.
func ParseSnapshot(b []byte) (*Snapshot, error) {
	var s *Snapshot
	if err := confjson.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("hns: snapshot: %w: %w", ErrInvalid, err)
	}
	if s == nil {
		return nil, fmt.Errorf("hns: snapshot: %w", &FieldError{Value: "null", Reason: "not an object"})
	}
	for _, l := range []struct {
		name string
		docs []json.RawMessage
	}{{"Networks", s.Networks}, {"Endpoints", s.Endpoints}, {"Namespaces", s.Namespaces}, {"LoadBalancers", s.LoadBalancers}, {"Routes", s.Routes}} {
		for i, d := range l.docs {
			if t := bytes.TrimSpace(d); len(t) == 0 || t[0] != '{' {
				return nil, fmt.Errorf("hns: snapshot: %w", &FieldError{
					Path: fmt.Sprintf("%s[%d]", l.name, i), Value: clip(string(t), 64), Reason: "not an object"})
			}
		}
	}
	return s, nil
}

// Bytes returns the text form: indented, the objects of each kind sorted by
// id (those without one first, by their text), the members of each object in
// the order HNS gave them, and a newline at the end. The error is for an object
// that is no JSON.
func (s *Snapshot) Bytes() ([]byte, error) {
	sorted := Snapshot{
		Version:       s.Version,
		Networks:      sortedByID(s.Networks),
		Endpoints:     sortedByID(s.Endpoints),
		Namespaces:    sortedByID(s.Namespaces),
		LoadBalancers: sortedByID(s.LoadBalancers),
		Routes:        sortedByID(s.Routes),
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(sorted); err != nil {
		return nil, fmt.Errorf("hns: snapshot: %w", err)
	}
	return b.Bytes(), nil
}

func sortedByID(docs []json.RawMessage) []json.RawMessage {
	type keyed struct {
		id, text string
		doc      json.RawMessage
	}
	ks := make([]keyed, 0, len(docs))
	for _, d := range docs {
		var o struct{ ID string }
		_ = json.Unmarshal(d, &o) // an object without a readable id sorts first
		var text bytes.Buffer
		_ = json.Compact(&text, d) // what is no JSON is the caller's error
		ks = append(ks, keyed{strings.ToLower(o.ID), text.String(), d})
	}
	slices.SortStableFunc(ks, func(a, b keyed) int {
		return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.text, b.text))
	})
	out := make([]json.RawMessage, 0, len(ks))
	for _, k := range ks {
		out = append(out, k.doc)
	}
	return out
}
