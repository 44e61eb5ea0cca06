package emulator

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// store holds the objects and their indexes. Every change goes through a put
// or remove method, which keeps the indexes and writes the way back into the
// journal; rollback goes it. The indexes make the cost of an operation
// independent of how many objects there are.
type store struct {
	networks   map[hns.ID]*network
	endpoints  map[hns.ID]*endpoint
	namespaces map[hns.ID]*namespace
	lists      map[hns.ID]*policyList // load balancers and SDN routes
	balancers  int                    // how many of them are load balancers

	networkByName  multi[string]
	endpointByName multi[string]
	byNetwork      multi[hns.ID]     // endpoints of a network
	byAddress      multi[addressKey] // endpoints with an address
	byMAC          multi[macKey]     // endpoints with a MAC
	byPort         multi[portKey]    // endpoints with a port mapping
	byAdapter      multi[string]     // networks on a host adapter, by folded name
	byNumber       multi[uint32]     // namespaces by compartment
	hostAttached   multi[struct{}]   // endpoints in a host compartment
	nat            multi[struct{}]   // NAT networks
	listsOf        multi[hns.ID]     // policy lists of a network
	listsOver      multi[hns.ID]     // policy lists that name an endpoint
	byFrontend     multi[frontend]   // load balancers with a front end

	ghosts   map[string]bool // names of networks that HNS forgot to forget
	accelnet []string        // management MAC addresses

	free map[freeKey]*freelist

	counter counters
	journal []func()
	changed bool
}

// counters give new things their number.
type counters struct {
	Seq         uint64 `json:",omitzero"` // objects, for the order of lists
	IDs         uint64 `json:",omitzero"` // ids made from the seed
	Compartment uint32 `json:",omitzero"` // the last compartment given
}

type addressKey struct {
	network hns.ID
	address netip.Addr
}

type macKey struct {
	network hns.ID
	mac     hns.MAC
}

// freeKey is a range to allocate from: a block of a subnet of a network, or a
// range of its MAC pool.
type freeKey struct {
	network   hns.ID
	mac       bool
	at, block int
}

// multi is an index that allows several objects under one key.
type multi[K comparable] map[K]map[hns.ID]struct{}

func (m multi[K]) add(k K, id hns.ID) {
	if m[k] == nil {
		m[k] = map[hns.ID]struct{}{}
	}
	m[k][id] = struct{}{}
}

func (m multi[K]) remove(k K, id hns.ID) {
	delete(m[k], id)
	if len(m[k]) == 0 {
		delete(m, k)
	}
}

func newStore() *store {
	return &store{
		networks:       map[hns.ID]*network{},
		endpoints:      map[hns.ID]*endpoint{},
		namespaces:     map[hns.ID]*namespace{},
		lists:          map[hns.ID]*policyList{},
		networkByName:  multi[string]{},
		endpointByName: multi[string]{},
		byNetwork:      multi[hns.ID]{},
		byAddress:      multi[addressKey]{},
		byMAC:          multi[macKey]{},
		byPort:         multi[portKey]{},
		byAdapter:      multi[string]{},
		byNumber:       multi[uint32]{},
		hostAttached:   multi[struct{}]{},
		nat:            multi[struct{}]{},
		listsOf:        multi[hns.ID]{},
		listsOver:      multi[hns.ID]{},
		byFrontend:     multi[frontend]{},
		ghosts:         map[string]bool{},
		free:           map[freeKey]*freelist{},
	}
}

// rollback undoes everything since the last commit.
func (s *store) rollback() {
	for i := len(s.journal) - 1; i >= 0; i-- {
		s.journal[i]()
	}
	s.journal = nil
}

// commit makes the changes since the last commit final.
func (s *store) commit() {
	s.changed = s.changed || len(s.journal) > 0
	s.journal = nil
}

// count changes the counters, undoably.
func (s *store) count(change func(*counters)) {
	old := s.counter
	change(&s.counter)
	s.journal = append(s.journal, func() { s.counter = old })
}

// setGhosts and setAccelnet put other values in place; they keep the maps and
// slices they are given.
func (s *store) setGhosts(names map[string]bool) {
	old := s.ghosts
	s.ghosts = names
	s.journal = append(s.journal, func() { s.ghosts = old })
}

func (s *store) setAccelnet(macs []string) {
	old := s.accelnet
	s.accelnet = macs
	s.journal = append(s.journal, func() { s.accelnet = old })
}

// nextSeq returns the number of a new object.
func (s *store) nextSeq() uint64 {
	s.count(func(c *counters) { c.Seq++ })
	return s.counter.Seq
}

// replace puts an object in place of another, undoably; nil is none. swap does
// it in the store and its indexes, in either direction.
func replace[T any](s *store, id hns.ID, old, obj *T, swap func(id hns.ID, old, obj *T)) {
	swap(id, old, obj)
	s.journal = append(s.journal, func() { swap(id, obj, old) })
}

// putNetwork stores n in place of the network with its id, if any.
func (s *store) putNetwork(n *network) {
	replace(s, n.id, s.networks[n.id], n, s.swapNetwork)
}

func (s *store) removeNetwork(old *network) {
	replace(s, old.id, old, nil, s.swapNetwork)
}

func (s *store) swapNetwork(id hns.ID, old, n *network) {
	if old != nil {
		s.networkByName.remove(strings.ToLower(old.name), id)
		if old.private.Adapter != "" {
			s.byAdapter.remove(strings.ToLower(old.private.Adapter), id)
		}
		s.nat.remove(struct{}{}, id)
		delete(s.networks, id)
	}
	if old != nil && (n == nil || !slices.EqualFunc(old.subnets, n.subnets, subnet.equal)) {
		s.dropFreelists(old)
	}
	if n == nil {
		return
	}
	s.networks[id] = n
	s.networkByName.add(strings.ToLower(n.name), id)
	if n.private.Adapter != "" {
		s.byAdapter.add(strings.ToLower(n.private.Adapter), id)
	}
	if n.kind == typeNAT {
		s.nat.add(struct{}{}, id)
	}
}

func (s *store) dropFreelists(n *network) {
	for i := range n.subnets {
		for j := range n.subnets[i].blocks {
			delete(s.free, freeKey{n.id, false, i, j})
		}
	}
	for i := range n.macs {
		delete(s.free, freeKey{n.id, true, i, 0})
	}
}

// putEndpoint stores e in place of the endpoint with its id, if any.
func (s *store) putEndpoint(e *endpoint) {
	replace(s, e.id, s.endpoints[e.id], e, s.swapEndpoint)
}

func (s *store) removeEndpoint(old *endpoint) {
	replace(s, old.id, old, nil, s.swapEndpoint)
}

func (s *store) swapEndpoint(id hns.ID, old, e *endpoint) {
	if old != nil {
		s.endpointByName.remove(strings.ToLower(old.name), id)
		s.byNetwork.remove(old.network, id)
		for _, a := range old.addresses {
			s.byAddress.remove(addressKey{old.network, a}, id)
		}
		s.byMAC.remove(macKey{old.network, old.mac}, id)
		for _, p := range old.policies {
			s.byPort.remove(p.port, id)
		}
		s.hostAttached.remove(struct{}{}, id)
		delete(s.endpoints, id)
	}
	if e != nil {
		s.endpoints[id] = e
		s.endpointByName.add(strings.ToLower(e.name), id)
		s.byNetwork.add(e.network, id)
		for _, a := range e.addresses {
			s.byAddress.add(addressKey{e.network, a}, id)
		}
		if !e.mac.IsZero() {
			s.byMAC.add(macKey{e.network, e.mac}, id)
		}
		for _, p := range e.policies {
			if p.port != (portKey{}) {
				s.byPort.add(p.port, id)
			}
		}
		if e.private.Compartment != 0 {
			s.hostAttached.add(struct{}{}, id)
		}
	}
	if old != nil {
		s.releaseNumbers(old)
	}
}

// releaseNumbers tells the free lists what an endpoint no longer uses.
func (s *store) releaseNumbers(e *endpoint) {
	n := s.networks[e.network]
	if n == nil {
		return
	}
	for i, sub := range n.subnets {
		for j, b := range sub.blocks {
			s.releaseAddresses(freeKey{n.id, false, i, j}, b.prefix, e.addresses)
		}
	}
	m := macNumber(e.mac)
	for i, r := range n.macs {
		if f := s.free[freeKey{n.id, true, i, 0}]; f != nil && m >= r.start && m <= r.end && len(s.byMAC[macKey{n.id, e.mac}]) == 0 {
			f.release(m - r.start)
		}
	}
}

func (s *store) releaseAddresses(k freeKey, p netip.Prefix, addresses []netip.Addr) {
	f := s.free[k]
	if f == nil {
		return
	}
	for _, a := range addresses {
		if off, ok := offset(p, a); ok && len(s.byAddress[addressKey{k.network, a}]) == 0 {
			f.release(off)
		}
	}
}

// freelist returns the free list of a range, making it when there is none.
func (s *store) freelist(k freeKey) *freelist {
	f := s.free[k]
	if f == nil {
		f = &freelist{}
		s.free[k] = f
	}
	return f
}

// putNamespace stores n in place of the namespace with its id, if any.
func (s *store) putNamespace(n *namespace) {
	replace(s, n.id, s.namespaces[n.id], n, s.swapNamespace)
}

func (s *store) removeNamespace(old *namespace) {
	replace(s, old.id, old, nil, s.swapNamespace)
}

func (s *store) swapNamespace(id hns.ID, old, n *namespace) {
	if old != nil {
		s.byNumber.remove(old.number, id)
		delete(s.namespaces, id)
	}
	if n != nil {
		s.namespaces[id] = n
		if n.number != 0 {
			s.byNumber.add(n.number, id)
		}
	}
}

// networksNamed returns the networks with a name, in the order of creation.
func (s *store) networksNamed(name string, ignoreCase bool) (out []*network) {
	for id := range s.networkByName[strings.ToLower(name)] {
		if n := s.networks[id]; ignoreCase || n.name == name {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *network) int { return cmp.Compare(a.seq, b.seq) })
	return out
}

// endpointsOf returns the endpoints of a network, in the order of creation.
func (s *store) endpointsOf(network hns.ID) (out []*endpoint) {
	for id := range s.byNetwork[network] {
		out = append(out, s.endpoints[id])
	}
	sortEndpoints(out)
	return out
}

func sortEndpoints(es []*endpoint) {
	slices.SortFunc(es, func(a, b *endpoint) int { return cmp.Compare(a.seq, b.seq) })
}

func allSorted[T any](m map[hns.ID]T, seq func(T) uint64) []T {
	out := make([]T, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(seq(a), seq(b)) })
	return out
}

func (s *store) allNetworks() []*network {
	return allSorted(s.networks, func(n *network) uint64 { return n.seq })
}

func (s *store) allEndpoints() []*endpoint {
	return allSorted(s.endpoints, func(e *endpoint) uint64 { return e.seq })
}

func (s *store) allNamespaces() []*namespace {
	return allSorted(s.namespaces, func(n *namespace) uint64 { return n.seq })
}
