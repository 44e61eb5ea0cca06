package emulator

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// This file makes policy lists of schema 1 (PolicyList of hcsshim), which are
// load balancers and SDN routes, and shows these as policy lists.

// createListV1 makes the object that a policy list stands for.
func (tx *tx) createListV1(doc json.RawMessage) (hns.ID, error) {
	body, err := bodyOf(doc)
	if err != nil {
		return hns.ID{}, err
	}
	req := hns.Request{Document: doc}
	for _, p := range body.objects("Policies") {
		if strings.EqualFold(p.str("Type"), "ROUTE") {
			return tx.createRouteV1(req)
		}
	}
	return createdID(tx.createLoadBalancer(req))
}

// createRouteV1 makes an SDN route. Where none can be, the policy has no place
// (microsoft/hcsshim#470).
func (tx *tx) createRouteV1(req hns.Request) (hns.ID, error) {
	if tx.hasRoutes() != nil {
		return hns.ID{}, failure(hns.CodeInvalidPolicyType)
	}
	id, err := createdID(tx.createRoute(req))
	if errors.Is(err, failure(hns.CodeInvalidNetworkType)) {
		err = failure(hns.CodeInvalidPolicyType)
	}
	return id, err
}

// listV1 returns the schema 1 document of a load balancer or a route.
func (tx *tx) listV1(l *policyList) object {
	o := tx.baseV1(l.id, l.doc, tx.toV1(l.kind, l.doc.bytes()))
	if !l.network.IsZero() { // a dump may not tell, but its endpoints
		o = o.with("HostComputeNetwork", tx.idV1(l.network))
	}
	if l.private.References != nil {
		o = o.with("References", quoteAll(l.private.References))
	}
	r := reader{object: l.doc}
	o = append(o.orEmptyList("Policies").orEmptyList("References"),
		member{"Flags", number(0)},
		member{"IsApplied", boolean(tx.isApplied(l))},
		member{"Resources", tx.resourcesV1(l.id, nil)},
		member{"State", number(uint64(r.uint16("State")))})
	return sorted(o)
}

// isApplied reports whether a policy list has something to do, and an endpoint
// to do it on.
func (tx *tx) isApplied(l *policyList) bool {
	if l.kind == hns.KindLoadBalancer && len(l.fronts) == 0 {
		return false
	}
	for _, id := range l.endpoints {
		if tx.endpoints[id] != nil {
			return true
		}
	}
	return false
}
