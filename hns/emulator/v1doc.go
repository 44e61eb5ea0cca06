package emulator

import (
	"encoding/json"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// This file reads documents of schema 1 (HNSNetwork, HNSEndpoint and
// HNSNamespace of hcsshim) as those of schema 2.

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
