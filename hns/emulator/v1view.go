package emulator

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// This file shows the objects in schema 1.

func (tx *tx) idV1(id hns.ID) json.RawMessage {
	if tx.opts.V1LowerCaseIDs {
		return quote(id.String())
	}
	return quote(id.Upper())
}

// sorted orders members by name, as HNS does in schema 1.
func sorted(o object) object {
	slices.SortStableFunc(o, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return o
}

// baseV1 adds to o, the object in schema 1, the members that every one has. doc
// is the object in schema 2.
func (tx *tx) baseV1(id hns.ID, doc, o object) object {
	o = append(o, member{"ActivityId", tx.idV1(derived("activity", id))}, member{"AdditionalParams", json.RawMessage("{}")},
		member{"Health", json.RawMessage(`{"LastErrorCode":0}`)})
	o.add("Version", doc.get("Version"))
	return o
}

// orEmptyList gives the object the member, an empty list, if it has none.
func (o object) orEmptyList(name string) object {
	if o.index(name) < 0 {
		return append(o, member{name, list(nil)})
	}
	return o
}

// networkV1 returns the schema 1 document of a network. The extensions of its
// switch are no policies there.
func (tx *tx) networkV1(n *network) object {
	shown := *n
	shown.policies = slices.DeleteFunc(slices.Clone(n.policies), func(p policy) bool { return p.kind == "VSwitchExtension" })
	o := tx.baseV1(n.id, n.doc, tx.toV1(hns.KindNetwork, shown.render()))
	present := uint64(len(tx.byNetwork[n.id]))
	for name, value := range map[string]json.RawMessage{
		"Type": quote(n.typeV1()), "Flags": number(uint64(n.flags)), "DrMacAddress": textOrNone(n.private.DRMAC), "ManagementIP": n.managementV1(),
	} {
		o = o.with(name, value)
	}
	o = append(o.orEmptyList("MacPools").orEmptyList("Policies").orEmptyList("Subnets"),
		member{"CurrentEndpointCount", number(present)},
		member{"Extensions", tx.renderExtensions(n)},
		member{"IPv6", boolean(slices.ContainsFunc(n.subnets, func(s subnet) bool { return s.prefix.Addr().Is6() }))},
		member{"MaxConcurrentEndpoints", number(max(n.private.MostEndpoints, present))},
		member{"Resources", tx.resourcesV1(n.id, nil)},
		member{"State", number(1)},
		member{"TotalEndpoints", number(max(n.private.TotalEndpoints, present))})
	o.addString("NatName", n.private.NatName)
	if n.kind == typeNAT {
		o = o.withPolicy(`{"Type":"VLAN","VLAN":1}`)
	}
	return sorted(o)
}

// withPolicy puts a policy of schema 1 behind the others.
func (o object) withPolicy(p string) object {
	r := reader{object: o}
	return o.with("Policies", list(append(r.array("Policies"), json.RawMessage(p))))
}

func textOrNone(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return quote(s)
}

// managementV1 returns the management IP as soon as it shows.
func (n *network) managementV1() json.RawMessage {
	if n.private.PendingReads != 0 || !n.private.ManagementIP.IsValid() {
		return nil
	}
	return quote(n.private.ManagementIP.String())
}

func (n *network) typeV1() string {
	if n.private.TypeText != "" {
		return n.private.TypeText
	}
	if n.kind == unknownType {
		r := reader{object: n.doc}
		return r.str("Type")
	}
	return networkTypes[n.kind]
}

// endpointV1 returns the schema 1 document of an endpoint.
func (tx *tx) endpointV1(e *endpoint) object {
	n := tx.networks[e.network]
	containers := e.private.Containers
	if ns := tx.namespaces[e.namespace]; ns != nil {
		containers = ns.containers()
	}
	o := append(tx.baseV1(e.id, e.doc, tx.toV1(hns.KindEndpoint, e.render())).orEmptyList("Policies"),
		member{"Resources", tx.resourcesV1(e.id, e.allocators())},
		member{"SharedContainers", quoteAll(containers)},
		member{"State", number(uint64(e.state))})
	if n == nil {
		return sorted(o)
	}
	o.addString("VirtualNetworkName", n.name)
	o.addString("Type", n.typeV1())
	if n.kind == typeOverlay && o.get("EncapOverhead") == nil {
		o.addUint("EncapOverhead", 50)
	}
	given := slices.ContainsFunc(e.policies, func(p policy) bool { return p.kind == "L2Driver" })
	if (n.kind == typeL2Bridge || n.kind == typeL2Tunnel) && !given {
		o = o.withPolicy(`{"Type":"L2Driver"}`)
	}
	return sorted(o)
}

// namespaceV1 returns the schema 1 document of a namespace.
func (tx *tx) namespaceV1(n *namespace) object {
	o := tx.baseV1(n.id, n.doc, tx.toV1(hns.KindNamespace, n.render()))
	if n.number != 0 {
		o.add("CompartmentGuid", tx.idV1(derived("compartment", n.id)))
	}
	if n.number != hostCompartment {
		o.add("Resources", tx.resourcesV1(n.id, nil))
	}
	o = append(o.with("CompartmentId", number(uint64(n.number))).orEmptyList("ResourceList").orEmptyList("Containers"),
		member{"Flags", number(0)},
		member{"Policies", list(nil)},
		member{"State", number(1)})
	if o.get("IsDefault") == nil {
		o.add("IsDefault", boolean(false))
	}
	return sorted(o)
}
