package emulator

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// Documents of schema 1 (HNSNetwork, HNSEndpoint, HNSNamespace of hcsshim, and
// what HNS adds) to and from schema 2.

// readDocument reads the body of a create. One without SchemaVersion is of
// schema 1.
func readDocument(doc json.RawMessage) (o object, v1 bool, err error) {
	o, err = parseObject(doc)
	if err != nil {
		return nil, false, failure(hns.CodeInvalidJSON)
	}
	r := reader{object: o}
	v := r.sub("SchemaVersion")
	major := v.uint32("Major")
	if r.bad || v.bad {
		return nil, false, failure(hns.CodeInvalidJSON)
	}
	return o, major < 2, nil
}

// networkDocument reads the body of a network's create as schema 2. typeText
// is the type as a schema 1 body spells it, which schema 1 echoes.
func (tx *tx) networkDocument(doc json.RawMessage) (o object, typeText string, err error) {
	o, v1, err := readDocument(doc)
	if err != nil || !v1 {
		return o, "", err
	}
	r := reader{object: o}
	out := object{}
	out.add("ID", o.get("ID"))
	out.add("Owner", o.get("Owner"))
	out.add("Name", o.get("Name"))
	out.add("Type", o.get("Type"))
	out.add("Flags", o.get("Flags"))
	out.add("Dns", dnsFromV1(&r))
	if pools := nonEmpty(o.get("MacPools")); pools != nil {
		out.add("MacPool", object{{"Ranges", pools}}.bytes())
	}
	policies, err := policiesFromV1(r.array("Policies"))
	if err != nil {
		return nil, "", err
	}
	for _, x := range []struct{ member, policy, setting string }{
		{"NetworkAdapterName", "NetAdapterName", "NetworkAdapterName"},
		{"SourceMac", "SourceMacAddress", "SourceMacAddress"},
		{"DrMacAddress", "DrMacAddress", "Address"},
	} {
		if s := r.str(x.member); s != "" {
			policies = append(policies, newPolicy(x.policy, object{{x.setting, quote(s)}}.bytes()).raw)
		}
	}
	if r.boolean("AutomaticDNS") {
		policies = append(policies, newPolicy("AutomaticDNS", object{{"Enable", boolean(true)}}.bytes()).raw)
	}
	if len(policies) > 0 {
		out.add("Policies", list(policies))
	}
	subs, err := subnetsFromV1(&r)
	if err != nil {
		return nil, "", err
	}
	if subs != nil {
		out.add("Ipams", list([]json.RawMessage{object{{"Type", quote("Static")}, {"Subnets", list(subs)}}.bytes()}))
	}
	typeText = ""
	if raw := o.get("Type"); len(raw) > 0 && raw[0] == '"' {
		typeText = r.str("Type")
	}
	if r.bad {
		return nil, "", failure(hns.CodeInvalidJSON)
	}
	return out, typeText, nil
}

func subnetsFromV1(r *reader) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, s := range r.objects("Subnets") {
		o := object{}
		o.add("IpAddressPrefix", s.get("AddressPrefix"))
		if gw := s.str("GatewayAddress"); gw != "" {
			dst := "0.0.0.0/0"
			if strings.Contains(gw, ":") {
				dst = "::/0"
			}
			o.add("Routes", list([]json.RawMessage{object{{"NextHop", quote(gw)}, {"DestinationPrefix", quote(dst)}}.bytes()}))
		}
		policies, err := policiesFromV1(s.array("Policies"))
		if err != nil {
			return nil, err
		}
		if len(policies) > 0 {
			o.add("Policies", list(policies))
		}
		r.bad = r.bad || s.bad
		out = append(out, o.bytes())
	}
	return out, nil
}

// dnsFromV1 returns the Dns of schema 2; nil when schema 1 gives none.
func dnsFromV1(r *reader) json.RawMessage {
	o := object{}
	o.addString("Domain", r.str("DNSDomain"))
	if l := splitList(r.str("DNSSuffix")); l != nil {
		o.add("Search", quoteAll(l))
	}
	if l := splitList(r.str("DNSServerList")); l != nil {
		o.add("ServerList", quoteAll(l))
	}
	return nonEmpty(o.bytes())
}

// endpointDocument reads the body of an endpoint's create as schema 2.
func (tx *tx) endpointDocument(doc json.RawMessage) (object, error) {
	o, v1, err := readDocument(doc)
	if err != nil || !v1 {
		return o, err
	}
	r := reader{object: o}
	out := object{}
	out.add("ID", o.get("ID"))
	out.add("Owner", o.get("Owner"))
	out.add("Name", o.get("Name"))
	network := o.get("VirtualNetwork")
	if nonEmpty(network) == nil && r.str("VirtualNetworkName") != "" {
		ns := tx.networksNamed(r.str("VirtualNetworkName"), tx.opts.NetworkNamesIgnoreCase)
		if len(ns) == 0 {
			return nil, failure(hns.CodeNetworkNotFound)
		}
		network = quote(ns[0].id.String())
	}
	out.add("HostComputeNetwork", network)
	out.add("MacAddress", o.get("MacAddress"))
	out.add("Dns", dnsFromV1(&r))
	var configs, routes []json.RawMessage
	for _, f := range []struct{ address, length, gateway string }{
		{"IPAddress", "PrefixLength", "GatewayAddress"}, {"IPv6Address", "IPv6PrefixLength", "GatewayAddressV6"},
	} {
		if a := r.str(f.address); a != "" {
			c := object{{"IpAddress", quote(a)}}
			c.addUint("PrefixLength", uint64(r.uint32(f.length)))
			configs = append(configs, c.bytes())
		}
		if gw, ok := parseAddress(r.str(f.gateway)); ok {
			routes = append(routes, route(gw))
		}
	}
	if configs != nil {
		out.add("IpConfigurations", list(configs))
	}
	if routes != nil {
		out.add("Routes", list(routes))
	}
	policies, err := policiesFromV1(r.array("Policies"))
	if err != nil {
		return nil, err
	}
	if n := r.uint16("EncapOverhead"); n != 0 {
		policies = append(policies, newPolicy("EncapOverhead", object{{"Overhead", number(uint64(n))}}.bytes()).raw)
	}
	if len(policies) > 0 {
		out.add("Policies", list(policies))
	}
	var flags uint64
	for bit, name := range map[uint64]string{flagRemote: "IsRemoteEndpoint", 2: "DisableICC", 8: "EnableLowMetric"} {
		if r.boolean(name) {
			flags |= bit
		}
	}
	out.addUint("Flags", flags)
	ns := r.sub("Namespace")
	out.add("HostComputeNamespace", ns.get("ID"))
	if r.bad {
		return nil, failure(hns.CodeInvalidJSON)
	}
	return out, nil
}

// namespaceDocument reads the body of a namespace's create as schema 2.
func (tx *tx) namespaceDocument(doc json.RawMessage) (object, error) {
	if strings.TrimSpace(string(doc)) == "" {
		return object{}, nil
	}
	o, v1, err := readDocument(doc)
	if err != nil || !v1 {
		return o, err
	}
	r := reader{object: o}
	out := object{}
	out.add("ID", o.get("ID"))
	out.add("Owner", o.get("Owner"))
	out.add("Name", o.get("Name"))
	out.add("NamespaceId", o.get("CompartmentId"))
	out.add("Type", o.get("Type"))
	if r.boolean("IsDefault") && o.get("Type") == nil {
		out.addString("Type", "HostDefault")
	}
	if r.bad {
		return nil, failure(hns.CodeInvalidJSON)
	}
	return out, nil
}

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
	o := object{{"AdditionalParams", json.RawMessage("{}")}, {"Health", json.RawMessage(`{"LastErrorCode":0}`)}, {"ID", tx.idV1(id)}}
	o.add("Name", doc.get("Name"))
	o.add("Owner", doc.get("Owner"))
	o.add("Version", doc.get("Version"))
	return o
}

// networkV1 returns the schema 1 document of a network.
func (tx *tx) networkV1(n *network) object {
	o := tx.baseV1(n.id, n.doc)
	o = append(o,
		member{"CurrentEndpointCount", number(uint64(len(tx.byNetwork[n.id])))},
		member{"Extensions", tx.renderExtensions(n)},
		member{"Flags", number(uint64(n.flags))},
		member{"IPv6", boolean(slices.ContainsFunc(n.subnets, func(s subnet) bool { return s.prefix.Addr().Is6() }))},
		member{"MacPools", renderPool(n.macs)},
		member{"State", number(1)},
		member{"Subnets", subnetsV1(n)},
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
		member{"SharedContainers", quoteAll(containers)},
		member{"State", number(uint64(e.state))},
		member{"VirtualNetwork", tx.idV1(e.network)})
	o.add("MacAddress", e.doc.get("MacAddress"))
	dnsV1(&o, e.doc.get("Dns"))
	addressesV1(&o, e.doc)
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
		if n.kind == typeL2Bridge || n.kind == typeL2Tunnel {
			policies = append(policies, json.RawMessage(`{"Type":"L2Driver"}`))
		}
	}
	o = append(o, member{"Policies", list(policies)})
	return sorted(o)
}

// addressesV1 adds the first address and default gateway of each family.
func addressesV1(o *object, doc object) {
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
