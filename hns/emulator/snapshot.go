package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

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
	Options    Options
	Counters   counters
	Networks   map[hns.ID]networkPrivate   `json:",omitempty"`
	Endpoints  map[hns.ID]endpointPrivate  `json:",omitempty"`
	Namespaces map[hns.ID]namespacePrivate `json:",omitempty"`
}

// loader builds a store out of documents.
type loader struct {
	*tx
	private *private
}

func load(s *hns.Snapshot, p *private, opts *Options) (*store, error) {
	l := loader{tx: &tx{store: newStore(), opts: opts, version: opts.Version}, private: p}
	if p == nil {
		l.private = &private{}
	}
	l.counter = l.private.Counters
	l.counter.Compartment = max(l.counter.Compartment, 1)
	for _, kind := range []struct {
		name string
		docs []json.RawMessage
		load func(object, *reader, hns.ID) error
	}{
		{"Networks", s.Networks, l.network},
		{"Endpoints", s.Endpoints, l.endpoint},
		{"Namespaces", s.Namespaces, l.namespace},
	} {
		for i, doc := range kind.docs {
			if err := l.object(doc, kind.load); err != nil {
				return nil, fmt.Errorf("emulator: %s[%d]: %w", kind.name, i, err)
			}
		}
	}
	l.commit()
	l.changed = false
	return l.store, nil
}

func (l loader) object(doc json.RawMessage, load func(object, *reader, hns.ID) error) error {
	o, err := parseObject(doc)
	if err != nil {
		return err
	}
	r := &reader{object: o}
	id, err := hns.ParseID(r.str("ID"))
	if err != nil {
		return fmt.Errorf("ID: %w", err)
	}
	return load(o, r, id)
}

// order returns the place of an object in lists.
func (l loader) order(seq uint64) uint64 {
	if seq == 0 {
		return l.nextSeq()
	}
	l.counter.Seq = max(l.counter.Seq, seq)
	return seq
}

// dynamic makes members place holders, so that their fields are rendered.
func dynamic(o object, names ...string) object {
	c := slices.Clone(o)
	for _, name := range names {
		if i := c.index(name); i >= 0 {
			c[i].value = nil
		}
	}
	return c
}

func (l loader) network(doc object, r *reader, id hns.ID) error {
	if l.networks[id] != nil {
		return fmt.Errorf("ID: %s is there twice", id)
	}
	n := &network{id: id, name: r.str("Name"), flags: r.uint32("Flags"), doc: doc}
	var known bool
	if n.kind, known = r.enum("Type", networkTypes); !known {
		n.kind = unknownType
	}
	n.private, known = l.private.Networks[id]
	n.private.Seq = l.order(n.private.Seq)
	n.seq = n.private.Seq
	n.subnets = loadSubnets(r)
	pool := r.sub("MacPool")
	if ranges, err := readPool(pool.objects("Ranges")); err == nil {
		n.macs = ranges
	}
	if ps, ok := loadPolicies(networkPolicies, r.get("Policies")); ok && len(ps) > 0 {
		n.policies, n.doc = ps, dynamic(doc, "Policies")
	}
	if !known {
		l.assumePrivate(n)
	}
	l.putNetwork(n)
	return nil
}

// assumePrivate fills in what the documents of a dump do not tell.
func (l loader) assumePrivate(n *network) {
	if n.kind == typeNAT {
		n.private.NatName = "NAT" + l.newID().Upper()
	}
	for _, p := range n.policies {
		o, _ := parseObject(orEmpty(p.settings))
		r := reader{object: o}
		switch p.kind {
		case "DrMacAddress":
			n.private.DRMAC = r.str("Address")
		case "ProviderAddress":
			n.private.ManagementIP, _ = parseAddress(r.str("ProviderAddress"))
		}
	}
	if !n.external() {
		return
	}
	choice, given := n.adapterChoice()
	choice.address = "" // the address of the node that the dump is from
	i := slices.IndexFunc(l.opts.Adapters, func(a Adapter) bool {
		return !a.Virtual && (!given || choice.matches(a))
	})
	if i < 0 {
		return
	}
	a := l.opts.Adapters[i]
	n.private.Adapter = a.Name
	if !n.private.ManagementIP.IsValid() {
		n.private.ManagementIP = a.managementIP()
	}
}

func loadSubnets(r *reader) (out []subnet) {
	for _, ipam := range r.objects("Ipams") {
		for _, s := range ipam.objects("Subnets") {
			p, err := netip.ParsePrefix(s.str("IpAddressPrefix"))
			if err != nil {
				continue
			}
			sub := subnet{prefix: p.Masked(), freeGateway: s.uint32("Flags")&flagFreeGateway != 0}
			sub.id, _ = hns.ParseID(s.str("ID"))
			if blocks := s.objects("IpSubnets"); len(blocks) > 0 {
				sub.ipSubnet, _ = hns.ParseID(blocks[0].str("ID"))
			}
			sub.gateway, _ = gateway(&s, p)
			if ps, ok := loadPolicies(subnetPolicies, s.get("Policies")); ok {
				sub.vsid = vsid(ps)
			}
			out = append(out, sub)
		}
	}
	return out
}

func (l loader) endpoint(doc object, r *reader, id hns.ID) error {
	if l.endpoints[id] != nil {
		return fmt.Errorf("ID: %s is there twice", id)
	}
	e := &endpoint{id: id, name: r.str("Name"), flags: r.uint32("Flags"), state: r.uint16("State"),
		doc: dynamic(doc, "State")}
	e.network, _ = hns.ParseID(r.str("HostComputeNetwork"))
	e.namespace, _ = hns.ParseID(r.str("HostComputeNamespace"))
	e.mac, _ = hns.ParseMAC(r.str("MacAddress"))
	for _, c := range r.objects("IpConfigurations") {
		if a, ok := parseAddress(strings.TrimSpace(c.str("IpAddress"))); ok {
			e.addresses = append(e.addresses, a)
		}
	}
	if ps, ok := loadPolicies(endpointPolicies, r.get("Policies")); ok && len(ps) > 0 {
		e.policies, e.doc = ps, dynamic(e.doc, "Policies")
	}
	var known bool
	e.private, known = l.private.Endpoints[id]
	e.private.Seq = l.order(e.private.Seq)
	e.seq = e.private.Seq
	if e.state == 0 {
		e.state = stateCreated
		if !e.namespace.IsZero() {
			e.state = stateAttached
		}
	}
	if !known && e.namespace.IsZero() && (e.state == stateAttached || e.state == stateAttachedSharing) {
		e.private.Compartment = 1
	}
	l.putEndpoint(e)
	return nil
}

func (l loader) namespace(doc object, r *reader, id hns.ID) error {
	if l.namespaces[id] != nil {
		return fmt.Errorf("ID: %s is there twice", id)
	}
	n := &namespace{id: id, number: r.uint32("NamespaceId"), doc: doc}
	n.private = l.private.Namespaces[id]
	n.private.Seq = l.order(n.private.Seq)
	n.seq = n.private.Seq
	for _, res := range r.objects("Resources") {
		data := res.sub("Data")
		kind, _ := res.enum("Type", []string{"Container", "Endpoint"})
		n.resources = append(n.resources, resource{container: kind == 0, id: data.str("Id")})
	}
	if !r.bad && len(n.resources) > 0 {
		n.doc = dynamic(doc, "Resources")
	}
	l.counter.Compartment = max(l.counter.Compartment, n.number)
	l.putNamespace(n)
	return nil
}
