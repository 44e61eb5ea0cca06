package emulator

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// This file reads policy lists of schema 1 (PolicyList of hcsshim) as load
// balancers and SDN routes of schema 2, and shows these as policy lists.

const (
	elbList   = "ELB"
	routeList = "ROUTE"

	endpointPath = "/endpoints/"
)

// listDocument reads the body of a create or modify as schema 2. kind is the
// type of policy that a schema 1 body has to hold. references are those of a
// schema 1 body, as it spells them; nil for schema 2.
func listDocument(doc json.RawMessage, kind string) (o object, references []string, err error) {
	o, v1, err := readDocument(doc)
	if err != nil || !v1 {
		return o, nil, err
	}
	r := reader{object: o}
	out := object{}
	for _, name := range []string{"ID", "Owner", "Name", "HostComputeNetwork"} {
		out.add(name, o.get(name))
	}
	references = r.strings("References")
	policies := r.objects("Policies")
	if r.bad {
		return nil, nil, failure(hns.CodeInvalidJSON)
	}
	if len(policies) == 0 {
		return nil, nil, failure(hns.CodeInvalidPolicy)
	}
	for i := range policies {
		if !strings.EqualFold(policies[i].str("Type"), kind) || policies[i].bad {
			return nil, nil, failure(hns.CodeInvalidPolicyType)
		}
	}
	if len(references) == 0 { // aws/containers-roadmap#240
		return nil, nil, failure(hns.CodeInvalidPolicy)
	}
	backends := make([]string, len(references))
	for i, ref := range references {
		backends[i] = backendOf(ref)
	}
	out.add("HostComputeEndpoints", quoteAll(backends))
	if kind == elbList {
		more, err := balancerFromV1(policies)
		return append(out, more...), references, err
	}
	return append(out, member{routeMembers[0], routesFromV1(policies)}), references, nil
}

// backendOf returns the id in a reference "/endpoints/<id>".
func backendOf(reference string) string {
	if n := len(endpointPath); len(reference) > n && strings.EqualFold(reference[:n], endpointPath) {
		return strings.TrimRight(reference[n:], "/")
	}
	return reference
}

// balancerFromV1 makes the members of a load balancer out of ELB policies,
// which have to agree in all but protocol and ports.
func balancerFromV1(policies []reader) (object, error) {
	var b balancer
	for i := range policies {
		p := &policies[i]
		next := balancer{sourceVIP: p.str("SourceVIP"), vips: p.strings("VIPs")}
		if p.boolean("IsDSR") {
			next.flags |= flagDSR
		}
		for _, vip := range next.vips {
			if a, ok := parseAddress(vip); ok && a.Is6() {
				next.flags |= flagIPv6
			}
		}
		f := portForward{protocol: p.protocol("Protocol"), internal: p.uint16("InternalPort"), external: p.uint16("ExternalPort")}
		if p.boolean("ILB") {
			f.flags |= mappingILB
		}
		if p.bad {
			return nil, failure(hns.CodeInvalidPolicy)
		}
		if i > 0 && !equalJSON(next.render().bytes(), balancer{b.flags, b.sourceVIP, b.vips, nil, nil}.render().bytes()) {
			return nil, failure(hns.CodeInvalidPolicy)
		}
		next.mappings = append(b.mappings, f)
		b = next
	}
	return b.render(), nil
}

func routesFromV1(policies []reader) json.RawMessage {
	elems := make([]json.RawMessage, len(policies))
	for i, p := range policies {
		elems[i] = p.with("Type", nil).bytes()
	}
	return list(elems)
}

// createListV1 makes the object that a policy list stands for.
func (tx *tx) createListV1(doc json.RawMessage) (hns.ID, error) {
	body, err := bodyOf(doc)
	if err != nil {
		return hns.ID{}, err
	}
	req := hns.Request{Document: doc}
	for _, p := range body.objects("Policies") {
		if strings.EqualFold(p.str("Type"), routeList) {
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
	o := tx.baseV1(l.id, l.doc)
	references := l.private.References
	if references == nil {
		for _, id := range l.endpoints {
			references = append(references, endpointPath+id.String())
		}
	}
	policies := routesToV1(l)
	if l.kind == hns.KindLoadBalancer {
		r := reader{object: l.doc}
		policies = readBalancer(&r).v1()
	}
	r := reader{object: l.doc}
	if !l.network.IsZero() {
		o.add("HostComputeNetwork", tx.idV1(l.network))
	}
	o = append(o,
		member{"Flags", number(0)},
		member{"IsApplied", boolean(tx.isApplied(l))},
		member{"Policies", list(policies)},
		member{"References", quoteAll(references)},
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

// v1 returns the ELB policies of a load balancer, one for each port. What
// schema 1 has no member for is not shown.
func (b balancer) v1() []json.RawMessage {
	var out []json.RawMessage
	for _, f := range b.mappings {
		o := object{{"ExternalPort", number(uint64(f.external))}}
		if f.flags&mappingILB != 0 {
			o.add("ILB", boolean(true))
		}
		o.add("InternalPort", number(uint64(f.internal)))
		if b.flags&flagDSR != 0 {
			o.add("IsDSR", boolean(true))
		}
		o.addUint("Protocol", uint64(f.protocol))
		o.addString("SourceVIP", b.sourceVIP)
		o.addString("Type", elbList)
		if len(b.vips) > 0 {
			o.add("VIPs", quoteAll(b.vips))
		}
		out = append(out, o.bytes())
	}
	return out
}

func routesToV1(l *policyList) []json.RawMessage {
	var out []json.RawMessage
	r := reader{object: l.doc}
	for _, s := range r.objects(routeMembers[0]) {
		out = append(out, sorted(append(object{{"Type", quote(routeList)}}, s.object...)).bytes())
	}
	return out
}
