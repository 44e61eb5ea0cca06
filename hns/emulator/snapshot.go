package emulator

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// Snapshot returns the state: the objects in schema 2, in the order in which
// they were made. What schema 2 does not show is not in it, such as the host
// compartment of an endpoint.
func (h *HNS) Snapshot() (*hns.Snapshot, error) {
	var s *hns.Snapshot
	err := h.exclusive(func() error {
		s = h.snapshot()
		return nil
	})
	return s, err
}

func (h *HNS) snapshot() *hns.Snapshot {
	s := &hns.Snapshot{Version: h.opts.Version, Networks: []json.RawMessage{}, Endpoints: []json.RawMessage{}, Namespaces: []json.RawMessage{}}
	for _, n := range h.store.allNetworks() {
		s.Networks = append(s.Networks, n.render())
	}
	for _, e := range h.store.allEndpoints() {
		s.Endpoints = append(s.Endpoints, e.render())
	}
	for _, n := range h.store.allNamespaces() {
		s.Namespaces = append(s.Namespaces, n.render())
	}
	for _, l := range h.store.allLists(hns.KindLoadBalancer) {
		s.LoadBalancers = append(s.LoadBalancers, l.doc.bytes())
	}
	for _, l := range h.store.allLists(hns.KindRoute) {
		s.Routes = append(s.Routes, l.doc.bytes())
	}
	return s
}

// Load replaces the state with that of a snapshot, which may come from a real
// node: its objects are taken as they are, and what HNS would refuse today is
// kept and shown. Unless Options gave one, the version becomes the snapshot's.
// The error names an object without a readable id, or one that is there twice;
// the state is then as before.
//
// What a snapshot does not tell is assumed: an attached endpoint in no
// namespace is attached to compartment 1 of the host, and a network on an
// external switch uses the adapter that its policies name, or the first.
func (h *HNS) Load(s *hns.Snapshot) error {
	if s == nil {
		return errors.New("emulator: no snapshot to load")
	}
	return h.exclusive(func() error {
		opts := h.opts
		if s.Version != (hns.Version{}) && h.given.Version == (hns.Version{}) {
			opts.Version = s.Version
		}
		store, err := load(s, nil, &opts)
		if err != nil {
			return err
		}
		store.changed = true
		store.counter.IDs = max(store.counter.IDs, h.store.counter.IDs)
		h.store, h.opts = store, opts
		return nil
	})
}

// private is what a state file holds beside the snapshot.
type private struct {
	Options     Options
	Counters    counters
	Networks    map[hns.ID]networkPrivate   `json:",omitempty"`
	Endpoints   map[hns.ID]endpointPrivate  `json:",omitempty"`
	Namespaces  map[hns.ID]namespacePrivate `json:",omitempty"`
	PolicyLists map[hns.ID]listPrivate      `json:",omitempty"`
	Ghosts      []string                    `json:",omitempty"` // names of networks
	Accelnet    []string                    `json:",omitempty"` // MAC addresses
}

// private returns what the state file holds beside the snapshot.
func (h *HNS) private() *private {
	p := &private{Options: h.opts, Counters: h.store.counter, Networks: map[hns.ID]networkPrivate{},
		Endpoints: map[hns.ID]endpointPrivate{}, Namespaces: map[hns.ID]namespacePrivate{}, PolicyLists: map[hns.ID]listPrivate{},
		Ghosts: slices.Sorted(maps.Keys(h.store.ghosts)), Accelnet: h.store.accelnet}
	for id, n := range h.store.networks {
		p.Networks[id] = n.private
	}
	for id, e := range h.store.endpoints {
		p.Endpoints[id] = e.private
	}
	for id, n := range h.store.namespaces {
		p.Namespaces[id] = n.private
	}
	for id, l := range h.store.lists {
		p.PolicyLists[id] = l.private
	}
	return p
}
