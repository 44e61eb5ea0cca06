package emulator

import (
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

// updateEndpointV1 changes the policies of an endpoint, as Update does.
func (tx *tx) updateEndpointV1(id hns.ID, r reader) error {
	e, err := tx.findEndpoint(id)
	if err != nil {
		return err
	}
	raws, err := policiesFromV1(r.array("Policies"))
	if err != nil {
		return err
	}
	ps, err := tx.readPolicies(endpointPolicies, tx.networkOf(e), inModify, raws)
	if err != nil {
		return err
	}
	if r.bad {
		return failure(hns.CodeInvalidJSON)
	}
	c := *e
	c.policies = concat(tx.without(e.policies, ps), ps)
	if err := tx.checkEndpointPolicies(&c); err != nil {
		return err
	}
	tx.putEndpoint(&c)
	return nil
}

// updateNetworkV1 changes the DNS settings and the switch extensions.
func (tx *tx) updateNetworkV1(id hns.ID, r reader) error {
	n, err := tx.findNetwork(id)
	if err != nil {
		return err
	}
	c := *n
	for _, ext := range r.objects("Extensions") {
		if err := tx.setExtension(&c, ext.str("Id"), ext.boolean("IsEnabled")); err != nil {
			return err
		}
		r.bad = r.bad || ext.bad
	}
	body, err := v1doc.ToV2(hns.KindNetwork, r.bytes())
	if err != nil {
		return refusal(err)
	}
	if dns := parsed(body).get("Dns"); dns != nil {
		c.doc = n.doc.with("Dns", dns)
	}
	if r.bad {
		return failure(hns.CodeInvalidJSON)
	}
	tx.putNetwork(&c)
	return nil
}
