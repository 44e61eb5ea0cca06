package emulator

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

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
	l.counter.Compartment = max(l.counter.Compartment, hostCompartment)
	for _, kind := range []struct {
		name string
		docs []json.RawMessage
		load func(object, *reader, hns.ID) error
	}{
		{"Networks", s.Networks, l.network},
		{"Endpoints", s.Endpoints, l.endpoint},
		{"Namespaces", s.Namespaces, l.namespace},
		{"LoadBalancers", s.LoadBalancers, l.loadBalancer},
		{"Routes", s.Routes, l.route},
	} {
		for i, doc := range kind.docs {
			if err := l.object(doc, kind.load); err != nil {
				return nil, fmt.Errorf("emulator: %s[%d]: %w", kind.name, i, err)
			}
		}
	}
	for _, name := range l.private.Ghosts {
		l.ghosts[name] = true
	}
	l.accelnet = l.private.Accelnet
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

// The members of documents in the order in which a create writes them.
var (
	networkOrder  = []string{"ID", "Owner", "Name", "Version", "SchemaVersion", "State", "Type", "Policies", "MacPool", "Dns", "Ipams", "Flags"}
	endpointOrder = []string{"ID", "Owner", "Name", "Version", "SchemaVersion", "State", "HostComputeNetwork", "HostComputeNamespace", "Policies",
		"IpConfigurations", "Dns", "Routes", "MacAddress", "Flags"}
	namespaceOrder = []string{"ID", "Owner", "Name", "Version", "SchemaVersion", "State", "NamespaceId", "Type", "Resources"}
)

// withPlaces returns the document with a place holder for each of the members
// that it has no value for today, where a create would have put it: an HNS in a
// file shows the same as one in memory.
func withPlaces(o object, order []string, names ...string) object {
	for _, name := range names {
		if o.index(name) >= 0 {
			continue
		}
		behind := order[slices.Index(order, name)+1:]
		at := slices.IndexFunc(o, func(m member) bool {
			return slices.ContainsFunc(behind, func(b string) bool { return strings.EqualFold(b, m.name) })
		})
		if at < 0 {
			at = len(o)
		}
		o = slices.Insert(slices.Clone(o), at, member{name, nil})
	}
	return o
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
	n := &network{id: id, name: r.str("Name"), flags: r.uint32("Flags"), doc: withPlaces(doc, networkOrder, "Policies")}
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
		n.policies, n.doc = ps, dynamic(n.doc, "Policies")
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
			if sub.blocks = loadBlocks(s.objects("IpSubnets")); len(sub.blocks) == 0 {
				sub.blocks = []block{{prefix: sub.prefix}}
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

// loadBlocks reads the address blocks that a subnet shows.
func loadBlocks(shown []reader) (out []block) {
	for _, b := range shown {
		if p, err := netip.ParsePrefix(b.str("IpAddressPrefix")); err == nil {
			id, _ := hns.ParseID(b.str("ID"))
			out = append(out, block{id, p.Masked()})
		}
	}
	return out
}

func (l loader) endpoint(doc object, r *reader, id hns.ID) error {
	if l.endpoints[id] != nil {
		return fmt.Errorf("ID: %s is there twice", id)
	}
	e := &endpoint{id: id, name: r.str("Name"), flags: r.uint32("Flags"), state: r.uint16("State"),
		doc: dynamic(withPlaces(doc, endpointOrder, "State", "HostComputeNamespace", "Policies"), "State")}
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
		e.private.Compartment = hostCompartment
	}
	l.putEndpoint(e)
	return nil
}

func (l loader) namespace(doc object, r *reader, id hns.ID) error {
	if l.namespaces[id] != nil {
		return fmt.Errorf("ID: %s is there twice", id)
	}
	n := &namespace{id: id, number: r.uint32("NamespaceId"), doc: withPlaces(doc, namespaceOrder, "NamespaceId", "Resources")}
	n.private = l.private.Namespaces[id]
	n.private.Seq = l.order(n.private.Seq)
	n.seq = n.private.Seq
	for _, res := range r.objects("Resources") {
		data := res.sub("Data")
		kind, _ := res.enum("Type", []string{"Container", "Endpoint"})
		n.resources = append(n.resources, resource{container: kind == 0, id: data.str("Id")})
	}
	if !r.bad && len(n.resources) > 0 {
		n.doc = dynamic(n.doc, "Resources")
	}
	l.counter.Compartment = max(l.counter.Compartment, n.number)
	l.putNamespace(n)
	return nil
}

func (l loader) loadBalancer(doc object, r *reader, id hns.ID) error {
	p, err := l.policyList(hns.KindLoadBalancer, doc, r, id)
	if err != nil {
		return err
	}
	b := readBalancer(r)
	p.fronts = b.frontends(l.networks[p.network])
	p.identity = b.identity(p.endpoints)
	l.putList(p)
	return nil
}

func (l loader) route(doc object, r *reader, id hns.ID) error {
	p, err := l.policyList(hns.KindRoute, doc, r, id)
	if err != nil {
		return err
	}
	l.putList(p)
	return nil
}

// policyList reads what load balancers and routes have in common. What cannot
// be read stays in the document.
func (l loader) policyList(kind hns.Kind, doc object, r *reader, id hns.ID) (*policyList, error) {
	if l.lists[id] != nil {
		return nil, fmt.Errorf("ID: %s is there twice", id)
	}
	p := &policyList{id: id, kind: kind, doc: doc, private: l.private.PolicyLists[id]}
	p.private.Seq = l.order(p.private.Seq)
	p.seq = p.private.Seq
	p.network, _ = hns.ParseID(r.str("HostComputeNetwork"))
	for _, text := range r.strings("HostComputeEndpoints") {
		backend, err := hns.ParseID(text)
		if err != nil {
			continue
		}
		p.endpoints = append(p.endpoints, backend)
		if e := l.endpoints[backend]; e != nil && p.network.IsZero() {
			p.network = e.network
		}
	}
	return p, nil
}
