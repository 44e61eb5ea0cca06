package emulator

import (
	"encoding/json"
	"net/netip"
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

// baseV1 returns the members every schema 1 object has.
func (tx *tx) baseV1(id hns.ID, doc object) object {
	o := object{{"ActivityId", tx.idV1(derived("activity", id))}, {"AdditionalParams", json.RawMessage("{}")},
		{"Health", json.RawMessage(`{"LastErrorCode":0}`)}, {"ID", tx.idV1(id)}}
	o.add("Name", doc.get("Name"))
	o.add("Owner", doc.get("Owner"))
	o.add("Version", doc.get("Version"))
	return o
}

// networkV1 returns the schema 1 document of a network.
func (tx *tx) networkV1(n *network) object {
	o := tx.baseV1(n.id, n.doc)
	present := uint64(len(tx.byNetwork[n.id]))
	o = append(o,
		member{"CurrentEndpointCount", number(present)},
		member{"Extensions", tx.renderExtensions(n)},
		member{"Flags", number(uint64(n.flags))},
		member{"IPv6", boolean(slices.ContainsFunc(n.subnets, func(s subnet) bool { return s.prefix.Addr().Is6() }))},
		member{"MacPools", poolV1(n.macs)},
		member{"MaxConcurrentEndpoints", number(max(n.private.MostEndpoints, present))},
		member{"Resources", tx.resourcesV1(n.id, nil)},
		member{"State", number(1)},
		member{"Subnets", subnetsV1(n)},
		member{"TotalEndpoints", number(max(n.private.TotalEndpoints, present))},
		member{"Type", quote(n.typeV1())})
	dnsV1(&o, n.doc.get("Dns"))
	o.addString("NatName", n.private.NatName)
	o.addString("DrMacAddress", n.private.DRMAC)
	if n.private.PendingReads == 0 && n.private.ManagementIP.IsValid() {
		o.addString("ManagementIP", n.private.ManagementIP.String())
	}
	var policies []json.RawMessage
	for _, p := range n.policies {
		s, _ := parseObject(orEmpty(p.settings)) // readPolicies has read it
		switch p.kind {
		case "NetAdapterName":
			o.add("NetworkAdapterName", s.get("NetworkAdapterName"))
		case "SourceMacAddress":
			o.add("SourceMac", s.get("SourceMacAddress"))
		case "AutomaticDNS":
			o.add("AutomaticDNS", boolean(true))
		case "DrMacAddress", "ProviderAddress", "VSwitchExtension":
		default:
			policies = append(policies, p.v1())
		}
	}
	if n.kind == typeNAT {
		policies = append(policies, json.RawMessage(`{"Type":"VLAN","VLAN":1}`))
	}
	o = append(o, member{"Policies", list(policies)})
	return sorted(o)
}

func poolV1(rs []macRange) json.RawMessage {
	elems := make([]json.RawMessage, len(rs))
	for i, r := range rs {
		elems[i] = sorted(r.render()).bytes()
	}
	return list(elems)
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

func subnetsV1(n *network) json.RawMessage {
	out := []json.RawMessage{}
	for _, s := range n.subnets {
		o := object{{"AddressPrefix", quote(s.prefix.String())}}
		if s.gateway.IsValid() {
			o.addString("GatewayAddress", s.gateway.String())
		}
		o.addString("ID", s.id.Upper())
		o = append(o, member{"ObjectType", number(5)})
		policies := []json.RawMessage{}
		if s.vsid != 0 {
			policies = append(policies, object{{"Type", quote("VSID")}, {"VSID", number(uint64(s.vsid))}}.bytes())
		}
		out = append(out, append(o, member{"Policies", list(policies)}).bytes())
	}
	return list(out)
}

func dnsV1(o *object, dns json.RawMessage) {
	d, _ := parseObject(orEmpty(dns))
	r := reader{object: d}
	o.addString("DNSDomain", r.str("Domain"))
	o.addString("DNSSuffix", strings.Join(r.strings("Search"), ","))
	o.addString("DNSServerList", strings.Join(r.strings("ServerList"), ","))
}

// endpointV1 returns the schema 1 document of an endpoint.
func (tx *tx) endpointV1(e *endpoint) object {
	n := tx.networks[e.network]
	o := tx.baseV1(e.id, e.doc)
	containers := e.private.Containers
	if ns := tx.namespaces[e.namespace]; ns != nil {
		containers = ns.containers()
	}
	namespace := object{{"ID", tx.idV1(e.namespace)}}
	o = append(o,
		member{"Namespace", namespace.bytes()},
		member{"Resources", tx.resourcesV1(e.id, e.allocators())},
		member{"SharedContainers", quoteAll(containers)},
		member{"State", number(uint64(e.state))},
		member{"VirtualNetwork", tx.idV1(e.network)})
	o.add("MacAddress", e.doc.get("MacAddress"))
	dnsV1(&o, e.doc.get("Dns"))
	tx.addressesV1(&o, e.doc)
	for bit, name := range map[uint32]string{flagRemote: "IsRemoteEndpoint", 2: "DisableICC", 8: "EnableLowMetric"} {
		if e.flags&bit != 0 {
			o.add(name, boolean(true))
		}
	}
	var policies []json.RawMessage
	overhead := uint64(0)
	if n != nil && n.kind == typeOverlay {
		overhead = 50
	}
	for _, p := range e.policies {
		if p.kind == "EncapOverhead" {
			s, _ := parseObject(orEmpty(p.settings))
			r := reader{object: s}
			overhead = uint64(r.uint16("Overhead"))
			continue
		}
		policies = append(policies, p.v1())
	}
	o.addUint("EncapOverhead", overhead)
	if n != nil {
		o.addString("VirtualNetworkName", n.name)
		o.addString("Type", n.typeV1())
		given := slices.ContainsFunc(e.policies, func(p policy) bool { return p.kind == "L2Driver" })
		if (n.kind == typeL2Bridge || n.kind == typeL2Tunnel) && !given {
			policies = append(policies, json.RawMessage(`{"Type":"L2Driver"}`))
		}
	}
	o = append(o, member{"Policies", list(policies)})
	return sorted(o)
}

// addressesV1 adds the first address and default gateway of each family.
func (tx *tx) addressesV1(o *object, doc object) {
	r := reader{object: doc}
	for _, c := range r.objects("IpConfigurations") {
		text := c.str("IpAddress")
		name, length := "IPAddress", "PrefixLength"
		if a, err := netip.ParseAddr(text); err == nil && a.Is6() {
			name, length = "IPv6Address", "IPv6PrefixLength"
		}
		if o.get(name) != nil {
			continue
		}
		o.addString(name, text)
		o.addUint(length, uint64(c.uint32("PrefixLength")))
		if id, err := hns.ParseID(c.str("IpSubnetId")); err == nil && name == "IPAddress" {
			o.add("IPSubnetId", tx.idV1(id))
		}
	}
	for _, c := range r.objects("Routes") {
		name := "GatewayAddress"
		switch c.str("DestinationPrefix") {
		case "0.0.0.0/0":
		case "::/0":
			name = "GatewayAddressV6"
		default:
			continue
		}
		if o.get(name) == nil {
			o.addString(name, c.str("NextHop"))
		}
	}
}

// namespaceV1 returns the schema 1 document of a namespace.
func (tx *tx) namespaceV1(n *namespace) object {
	o := tx.baseV1(n.id, n.doc)
	resources := []json.RawMessage{}
	for _, r := range n.resources {
		if !r.container {
			data := object{{"Id", quote(r.id)}}
			resources = append(resources, object{{"Data", data.bytes()}, {"Type", quote("Endpoint")}}.bytes())
		}
	}
	r := reader{object: n.doc}
	if n.number != 0 {
		o.add("CompartmentGuid", tx.idV1(derived("compartment", n.id)))
	}
	if n.number != hostCompartment {
		o.add("Resources", tx.resourcesV1(n.id, nil))
	}
	o = append(o,
		member{"CompartmentId", number(uint64(n.number))},
		member{"Containers", quoteAll(n.containers())},
		member{"Flags", number(0)},
		member{"IsDefault", boolean(strings.HasSuffix(r.str("Type"), "Default"))},
		member{"Policies", json.RawMessage("[]")},
		member{"ResourceList", list(resources)},
		member{"State", number(1)})
	return sorted(o)
}
