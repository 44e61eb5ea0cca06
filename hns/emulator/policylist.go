package emulator

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// policyList is a stored load balancer or SDN route. Schema 1 has one kind of
// object for both, the policy list, and so has HNS inside.
type policyList struct {
	id        hns.ID
	kind      hns.Kind // KindLoadBalancer or KindRoute
	seq       uint64
	network   hns.ID     // of its endpoints; zero when a dump does not tell
	endpoints []hns.ID   // in the order given, as often as given
	fronts    []frontend // of a load balancer
	identity  string     // of a load balancer: what makes two of them the same
	doc       object     // in schema 2
	private   listPrivate
}

// listPrivate is what HNS knows of a policy list but schema 2 does not show.
type listPrivate struct {
	Seq        uint64   `json:",omitzero"`
	References []string `json:",omitzero"` // as a schema 1 creator spelled them
}

const (
	stateApplied = 2               // State of a policy list
	anyList      = hns.KindService // stands for both kinds of policy lists
)

// putList stores l in place of the policy list with its id, if any.
func (s *store) putList(l *policyList) {
	replace(s, l.id, s.lists[l.id], l, s.swapList)
}

func (s *store) removeList(old *policyList) {
	replace(s, old.id, old, nil, s.swapList)
}

func (s *store) swapList(id hns.ID, old, l *policyList) {
	if old != nil {
		s.listsOf.remove(old.network, id)
		for _, e := range old.endpoints {
			s.listsOver.remove(e, id)
		}
		for _, f := range old.fronts {
			s.byFrontend.remove(f, id)
		}
		delete(s.lists, id)
		if old.kind == hns.KindLoadBalancer {
			s.balancers--
		}
	}
	if l == nil {
		return
	}
	s.lists[id] = l
	if l.kind == hns.KindLoadBalancer {
		s.balancers++
	}
	s.listsOf.add(l.network, id)
	for _, e := range l.endpoints {
		s.listsOver.add(e, id)
	}
	for _, f := range l.fronts {
		s.byFrontend.add(f, id)
	}
}

// allLists returns the policy lists of a kind, in the order of creation; both
// kinds with KindService.
func (s *store) allLists(kind hns.Kind) (out []*policyList) {
	for _, l := range allSorted(s.lists, func(l *policyList) uint64 { return l.seq }) {
		if kind == anyList || l.kind == kind {
			out = append(out, l)
		}
	}
	return out
}

// findList finds a policy list of a kind; any with KindService.
func (tx *tx) findList(kind hns.Kind, id hns.ID) (*policyList, error) {
	if l := tx.lists[id]; l != nil && (kind == anyList || l.kind == kind) {
		return l, nil
	}
	return nil, failure(hns.CodeElementNotFound)
}

func (tx *tx) listLists(kind hns.Kind, filter string) ([]json.RawMessage, error) {
	f, err := tx.readFilter(filter)
	if err != nil {
		return nil, err
	}
	candidates := func() []*policyList { return tx.allLists(kind) }
	if id, ok := f.id("ID"); ok {
		candidates = func() []*policyList {
			l, err := tx.findList(kind, id)
			if err != nil {
				return nil
			}
			return []*policyList{l}
		}
	}
	var out []json.RawMessage
	for _, l := range candidates() {
		if f.matches(tx, l) {
			out = append(out, l.doc.bytes())
		}
	}
	return out, nil
}

func (tx *tx) getList(kind hns.Kind, id hns.ID) (json.RawMessage, error) {
	l, err := tx.findList(kind, id)
	if err != nil {
		return nil, err
	}
	return l.doc.bytes(), nil
}

func (tx *tx) deleteList(kind hns.Kind, id hns.ID) error {
	l, err := tx.findList(kind, id)
	if err != nil {
		return err
	}
	tx.removeList(l)
	return nil
}

// readBackends reads the endpoints that a document names, and finds their
// network.
func (tx *tx) readBackends(l *policyList, r *reader) (*network, error) {
	backends := r.strings("HostComputeEndpoints")
	if r.bad {
		return nil, failure(hns.CodeInvalidJSON)
	}
	for _, text := range backends {
		id, err := hns.ParseID(strings.TrimSpace(text))
		if err != nil || tx.endpoints[id] == nil {
			return nil, failure(hns.CodeInvalidJSONReference) // kubernetes/kubernetes#106936
		}
		l.endpoints = append(l.endpoints, id)
	}
	if len(l.endpoints) == 0 { // kubernetes/kubernetes#100384
		return nil, detail{failure(hns.CodeInvalidJSONReference), "A Reference is required"}
	}
	l.network = tx.endpoints[l.endpoints[0]].network
	for _, id := range l.endpoints {
		if tx.endpoints[id].network != l.network {
			return nil, failure(hns.CodeInvalidParameter)
		}
	}
	given, err := r.id("HostComputeNetwork")
	if err != nil {
		return nil, err
	}
	if !given.IsZero() && given != l.network {
		return nil, failure(hns.CodeInvalidParameter)
	}
	n := tx.networkOf(tx.endpoints[l.endpoints[0]])
	switch n.kind {
	case typeL2Bridge, typeL2Tunnel, typeOverlay:
		return n, nil
	}
	return nil, failure(hns.CodeInvalidNetworkType)
}

// baseOf returns the members that the document of a policy list begins with.
func (tx *tx) baseOf(l *policyList, r *reader) object {
	doc := tx.base(l.id, r.str("Name"), r)
	doc.addUint("State", stateApplied)
	doc.addString("HostComputeNetwork", l.network.String())
	ids := make([]string, len(l.endpoints))
	for i, id := range l.endpoints {
		ids[i] = id.String()
	}
	doc.add("HostComputeEndpoints", quoteAll(ids))
	return doc
}

// newList gives a policy list that is about to be made its id.
func (tx *tx) newList(kind hns.Kind, req hns.Request, r *reader) (*policyList, error) {
	id, err := tx.newObjectID(req.ID, r)
	if err != nil {
		return nil, err
	}
	if tx.lists[id] != nil {
		return nil, failure(hns.CodeAlreadyExists)
	}
	return &policyList{id: id, kind: kind}, nil
}

// storeNew stores a policy list that is made.
func (tx *tx) storeNew(l *policyList) json.RawMessage {
	l.seq = tx.nextSeq()
	l.private.Seq = l.seq
	tx.putList(l)
	return l.doc.bytes()
}

// dropLists takes the load balancers and routes of a network along.
func (tx *tx) dropLists(network hns.ID) {
	if tx.opts.KeepOrphans {
		return
	}
	for _, id := range slices.Collect(maps.Keys(tx.listsOf[network])) {
		tx.removeList(tx.lists[id])
	}
}
