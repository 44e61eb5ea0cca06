package flows

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/modes"
)

// World is a [Cluster] with indexes, ready to be traced. It may be used by
// several goroutines. It is never changed, and what the cluster pointed to
// must not be either.
type World struct {
	cluster   Cluster
	nodes     map[string]*node
	order     []*node // by name
	pods      map[string][]owner
	owners    map[netip.Addr][]owner // of all addresses
	subnets   prefixMap[*node]       // pod subnets
	services  map[netip.Addr]*Service
	resolvers map[netip.Addr]*Resolver
	routers   map[netip.Addr]bool
	udr       prefixMap[netip.Addr] // of the physical network
	assigned  prefixMap[*node]      // by Azure
	fabric    prefixMap[bool]
}

// owner is who has an address: one of a node, a pod of one, or a host outside.
type owner struct {
	node    *node
	ep      *endpoint
	linux   *LinuxPod
	outside *Host
}

// unaddressed reports whether it is a node of which no address is known.
func (o owner) unaddressed() bool {
	return o.node != nil && !o.isPod() && len(o.node.spec.Addresses) == 0
}

func (o owner) isPod() bool { return o.ep != nil || o.linux != nil }

func (o owner) name() string {
	switch {
	case o.ep != nil:
		return o.ep.pod
	case o.linux != nil:
		return o.linux.Name
	case o.outside != nil:
		return o.outside.Name
	}
	return o.node.spec.Name
}

// has reports whether a is an address of the pod or the host.
func (o owner) has(a netip.Addr) bool {
	switch {
	case o.ep != nil:
		return o.ep.hasAddr(a)
	case o.linux != nil:
		return o.linux.Address == a
	case o.outside != nil:
		return o.outside.Address == a
	}
	return o.node.has(a)
}

func (o owner) ref() Ref {
	switch {
	case o.ep != nil:
		return o.ep.ref("", "")
	case o.linux != nil:
		return Ref{Node: o.node.spec.Name, Kind: KindPod, Name: o.linux.Name}
	case o.outside != nil:
		return Ref{Kind: KindOutside, Name: o.outside.Name}
	}
	return o.node.ref("")
}

// New makes a World. It refuses what has no meaning: a node without a name, or
// of both systems, two of one name, an invalid address. The errors are
// *[hns.FieldError]s joined, with paths such as "Nodes[1].Addresses[0]". What
// is wrong with the documents of HNS is no error; traces find it.
//
// The indexes are built here, once: about a second for 100 nodes with 100 pods
// each and 1,000 services, of which each node has a copy. A trace then takes
// tens of microseconds, whatever the number of pods and services.
func New(c Cluster) (*World, error) {
	if bad := check(&c); len(bad) > 0 {
		return nil, fmt.Errorf("flows: %w", errors.Join(bad...))
	}
	w := &World{cluster: c, nodes: map[string]*node{}, pods: map[string][]owner{}, owners: map[netip.Addr][]owner{},
		services: map[netip.Addr]*Service{}, resolvers: map[netip.Addr]*Resolver{}, routers: map[netip.Addr]bool{}}
	for i := range c.Nodes {
		n := newNode(&c.Nodes[i])
		w.nodes[n.spec.Name] = n
		w.order = append(w.order, n)
	}
	slices.SortFunc(w.order, func(a, b *node) int { return strings.Compare(a.spec.Name, b.spec.Name) })
	for _, n := range w.order {
		w.addNode(n)
	}
	w.addRest()
	for _, os := range w.owners {
		if len(os) > 1 {
			slices.SortStableFunc(os, compareOwners)
		}
	}
	return w, nil
}

// compareOwners orders those of one address: nodes and their pods by the node's
// name, a node before its pods and endpoints by ID, hosts outside last. Others
// stay as they are.
func compareOwners(a, b owner) int {
	rank := func(o owner) int {
		switch {
		case o.outside != nil:
			return 3
		case o.ep != nil:
			return 1
		case o.linux != nil:
			return 2
		}
		return 0
	}
	if (a.node == nil) != (b.node == nil) || a.node == nil {
		return rank(a) - rank(b)
	}
	if c := cmp.Or(strings.Compare(a.node.spec.Name, b.node.spec.Name), rank(a)-rank(b)); c != 0 || a.ep == nil {
		return c
	}
	return slices.Compare(a.ep.doc.ID[:], b.ep.doc.ID[:])
}

func (w *World) addNode(n *node) {
	own := func(a netip.Addr, o owner) { w.owners[a] = append(w.owners[a], o) }
	for _, a := range n.addrs {
		own(a, owner{node: n})
	}
	for _, p := range n.spec.PodSubnets {
		w.claim(p, n)
	}
	for _, net := range n.networks {
		for _, s := range net.doc.Subnets() {
			if net.mode != modes.L2Tunnel && net.mode != modes.Transparent { // there several nodes share one
				w.claim(s.Prefix, n)
			}
		}
	}
	for _, e := range n.endpoints {
		if e.remote || e.host {
			continue
		}
		o := owner{node: n, ep: e}
		for _, a := range e.addrs {
			own(a, o)
		}
		w.pods[e.pod] = append(w.pods[e.pod], o)
		if e.doc.Name != e.pod {
			w.pods[e.doc.Name] = append(w.pods[e.doc.Name], o)
		}
	}
	if n.linux != nil {
		for i := range n.linux.Pods {
			p := &n.linux.Pods[i]
			o := owner{node: n, linux: p}
			own(p.Address, o)
			w.pods[p.Name] = append(w.pods[p.Name], o)
		}
	}
}

// claim notes the node of a pod subnet; one that several nodes have is nobody's.
func (w *World) claim(p netip.Prefix, n *node) {
	if !p.IsValid() {
		return
	}
	if old, ok := w.subnets.byPrefix[p.Masked()]; ok && old != n {
		w.subnets.byPrefix[p.Masked()] = nil
		return
	}
	w.subnets.add(p, n)
}

func (w *World) addRest() {
	c := &w.cluster
	for i := range c.Outside {
		h := &c.Outside[i]
		w.owners[h.Address] = append(w.owners[h.Address], owner{outside: h})
	}
	for i := range c.Services {
		for _, a := range c.Services[i].Addresses {
			if w.services[a] == nil {
				w.services[a] = &c.Services[i]
			}
		}
	}
	for i := range c.Resolvers {
		if r := &c.Resolvers[i]; w.resolvers[r.Address] == nil {
			w.resolvers[r.Address] = r
		}
	}
	p := c.Physical
	if p == nil {
		return
	}
	for _, a := range p.Routers {
		w.routers[a] = true
	}
	for _, r := range p.Routes {
		w.udr.add(r.Destination, r.NextHop)
	}
	if p.VNet != nil {
		for _, a := range p.VNet.Assigned {
			w.assigned.add(a.Prefix, w.nodes[a.Node])
		}
	}
	if p.Fabric != nil {
		for _, x := range p.Fabric.Pods {
			w.fabric.add(x, true)
		}
	}
}

// byAddress returns who has an address; a node's own pods and the node itself
// come first if near is that node.
func (w *World) byAddress(a netip.Addr, near *node) (owner, bool) {
	os := w.owners[a]
	for _, o := range os {
		if o.node != nil && o.node == near {
			return o, true
		}
	}
	if len(os) == 0 {
		return owner{}, false
	}
	return os[0], true
}

// subnetOwner returns the node whose pod subnet holds a, and the subnet.
func (f *flight) subnetOwner(a netip.Addr) (*node, netip.Prefix, bool) {
	n, p, ok := f.w.subnets.find(a, &f.t.Looked)
	return n, p, ok && n != nil
}

// addressOf returns an address of the owner of the same family as like, or the
// first if like is none.
func (o owner) addressOf(v4 bool) (netip.Addr, bool) {
	var all []netip.Addr
	switch {
	case o.ep != nil:
		all = o.ep.addrs
	case o.linux != nil:
		all = []netip.Addr{o.linux.Address}
	case o.outside != nil:
		all = []netip.Addr{o.outside.Address}
	case o.node != nil:
		all = o.node.spec.Addresses
	}
	for _, a := range all {
		if a.Is4() == v4 {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// podName is the endpoint's name without the network's, as the usual plugins
// put it together.
func podName(endpoint, network string) string {
	if short, ok := strings.CutSuffix(endpoint, "_"+network); ok && short != "" {
		return short
	}
	return cmp.Or(endpoint, "unnamed")
}
