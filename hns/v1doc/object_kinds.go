package v1doc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

var networkMembers = []lifted{
	{"NetworkAdapterName", "NetAdapterName", "NetworkAdapterName"},
	{"SourceMac", "SourceMacAddress", "SourceMacAddress"},
	{"DrMacAddress", "DrMacAddress", "Address"},
	{"AutomaticDNS", "AutomaticDNS", "Enable"},
}

// managementIP is in schema 2 on Overlay networks alone.
var managementIP = lifted{"ManagementIP", "ProviderAddress", "ProviderAddress"}

func membersOf(o object) []lifted {
	if strings.EqualFold(o.str("Type"), "Overlay") {
		return append(networkMembers[:len(networkMembers):len(networkMembers)], managementIP)
	}
	return networkMembers
}

func networkUp(o object) object {
	out := object{}
	o.copyAll(out, "ID", "Owner", "Name", "Type", "Flags")
	out.set("Dns", dnsUp(o))
	if pools := o.get("MacPools"); pools != nil {
		if l, ok := elements(pools); ok {
			pools = must(l)
		}
		out.set("MacPool", object{"Ranges": pools})
	}
	var more []json.RawMessage
	for _, m := range membersOf(o) {
		from := o
		if p, err := netip.ParsePrefix(o.str(m.member)); err == nil && m == managementIP { // some builds show its length
			from = object{m.member: toJSON(p.Addr().String())}
		}
		if p := m.up(from); p != nil {
			more = append(more, p)
		}
	}
	out.set("Policies", policiesUp(o, more...))
	raw := o.get("Subnets")
	l, ok := elements(raw)
	var subnets []json.RawMessage
	for _, s := range l {
		subnets = append(subnets, subnetUp(s))
	}
	switch {
	case !ok && raw != nil: // to be noted
		out.set("Ipams", []json.RawMessage{must(object{"Subnets": raw})})
	case len(subnets) > 0:
		out.set("Ipams", []json.RawMessage{must(object{"Subnets": must(subnets)})})
	}
	return out
}

func subnetUp(raw json.RawMessage) json.RawMessage {
	o, err := parse(raw)
	if err != nil {
		return raw
	}
	out := object{}
	o.copyAll(out, "ID", "Flags")
	o.copyTo(out, "AddressPrefix", "IpAddressPrefix")
	out.set("Policies", policiesUp(o))
	if r := defaultRoute(o.get("GatewayAddress"), strings.Contains(o.str("AddressPrefix"), ":")); r != nil {
		out.set("Routes", []json.RawMessage{r})
	}
	out.set("IpSubnets", blocks(o))
	return must(out)
}

// blocks returns the address blocks of a subnet, which both schemas have under
// the same names.
func blocks(o object) (out []json.RawMessage) {
	l, _ := elements(o.get("IpSubnets"))
	for _, raw := range l {
		b, _ := parse(raw)
		block := object{}
		b.copyAll(block, "ID", "Flags", "IpAddressPrefix")
		out = append(out, must(block))
	}
	return out
}

// defaultRoute returns the route via a gateway, nil if there is none. v6 is the
// family of the member that it stands in.
func defaultRoute(gateway json.RawMessage, v6 bool) json.RawMessage {
	if empty(gateway) {
		return nil
	}
	to := "0.0.0.0/0"
	if v6 || bytes.ContainsRune(gateway, ':') {
		to = "::/0"
	}
	return must(object{"NextHop": gateway, "DestinationPrefix": toJSON(to)})
}

func networkDown(o object, bad *complaints) object {
	out := object{}
	o.copyAll(out, "ID", "Owner", "Name", "Type", "Flags")
	dnsDown(o, out, bad)
	if pool, err := parse(o.get("MacPool")); err == nil {
		pool.copyTo(out, "Ranges", "MacPools")
	}
	policiesDown(o, out, "", membersOf(o), bad)
	ipams, _ := elements(o.get("Ipams"))
	var subnets []json.RawMessage
	for i, raw := range ipams {
		ipam, _ := parse(raw)
		if t := ipam.str("Type"); t != "" && t != "Static" {
			bad.add(fmt.Sprintf("Ipams[%d].Type", i), toJSON(t))
		}
		l, _ := elements(ipam.get("Subnets"))
		for j, s := range l {
			subnets = append(subnets, subnetDown(s, fmt.Sprintf("Ipams[%d].Subnets[%d].", i, j), bad))
		}
	}
	out.set("Subnets", subnets)
	return out
}

func subnetDown(raw json.RawMessage, path string, bad *complaints) json.RawMessage {
	o, _ := parse(raw)
	out := object{}
	o.copyAll(out, "ID", "Flags")
	o.copyTo(out, "IpAddressPrefix", "AddressPrefix")
	out.set("IpSubnets", blocks(o))
	policiesDown(o, out, path, nil, bad)
	gatewaysDown(o, path, bad, func(bool) string { return "GatewayAddress" }, out)
	bad.refuse(o, path, "ID", "Flags", "IpAddressPrefix", "IpSubnets", "Policies", "Routes")
	return must(out)
}

// gatewaysDown writes default routes as gateways, one to a member.
func gatewaysDown(o object, path string, bad *complaints, member func(v6 bool) string, out object) {
	l, _ := elements(o.get("Routes"))
	for i, raw := range l {
		r, _ := parse(raw)
		to, err := netip.ParsePrefix(r.str("DestinationPrefix"))
		if err != nil || to.Bits() != 0 || out.get(member(to.Addr().Is6())) != nil {
			bad.add(fmt.Sprintf("%sRoutes[%d]", path, i), raw)
			continue
		}
		if r.number("Metric") != 0 {
			bad.add(fmt.Sprintf("%sRoutes[%d].Metric", path, i), r.get("Metric"))
		}
		r.copyTo(out, "NextHop", member(to.Addr().Is6()))
	}
}

// dnsUp returns Dns, nil if there is nothing in it. The lists of schema 1 are
// texts with commas.
func dnsUp(o object) object {
	out := object{}
	if s := o.get("DNSDomain"); !empty(s) {
		out.set("Domain", s)
	}
	for _, n := range [][2]string{{"DNSSuffix", "Search"}, {"DNSServerList", "ServerList"}} {
		value := o.get(n[0])
		var text string
		if json.Unmarshal(value, &text) != nil {
			out.set(n[1], value) // a list, or to be noted
			continue
		}
		var l []json.RawMessage
		for _, s := range strings.Split(text, ",") {
			if s = strings.TrimSpace(s); s != "" {
				l = append(l, toJSON(s))
			}
		}
		out.set(n[1], l)
	}
	return out
}

func dnsDown(o, out object, bad *complaints) {
	d, err := parse(o.get("Dns"))
	if err != nil {
		return
	}
	d.copyTo(out, "Domain", "DNSDomain")
	for _, n := range [][2]string{{"DNSSuffix", "Search"}, {"DNSServerList", "ServerList"}} {
		var l []string
		if json.Unmarshal(d.get(n[1]), &l) == nil {
			for i, s := range l {
				if strings.Contains(s, ",") {
					bad.add(fmt.Sprintf("Dns.%s[%d]", n[1], i), toJSON(s))
				}
			}
			out.set(n[0], strings.Join(l, ","))
		}
	}
	bad.refuse(d, "Dns.", "Domain", "Search", "ServerList")
}

// endpointFlags are the flags that schema 1 has members for.
var endpointFlags = []struct {
	member string
	bit    uint64
}{{"IsRemoteEndpoint", 1}, {"DisableICC", 2}, {"EnableLowMetric", 8}}

var encapOverhead = lifted{"EncapOverhead", "EncapOverhead", "Overhead"}

func endpointUp(o object) object {
	out := object{}
	o.copyAll(out, "ID", "Owner", "Name", "MacAddress", "State", "Flags")
	o.copyTo(out, "VirtualNetwork", "HostComputeNetwork")
	if ns, err := parse(o.get("Namespace")); err == nil {
		ns.copyTo(out, "ID", "HostComputeNamespace")
	}
	flags := o.number("Flags")
	for _, f := range endpointFlags {
		if o.boolean(f.member) {
			flags |= f.bit
		}
	}
	if flags != o.number("Flags") {
		out.set("Flags", flags)
	}
	var configs, routes []json.RawMessage
	for _, n := range [][4]string{{"IPAddress", "PrefixLength", "IPSubnetId", "GatewayAddress"}, {"IPv6Address", "IPv6PrefixLength", "", "GatewayAddressV6"}} {
		if a := o.get(n[0]); !empty(a) {
			c := object{"IpAddress": a}
			o.copyTo(c, n[1], "PrefixLength")
			if n[2] != "" {
				o.copyTo(c, n[2], "IpSubnetId")
			}
			configs = append(configs, must(c))
		}
		if r := defaultRoute(o.get(n[3]), n[2] == ""); r != nil {
			routes = append(routes, r)
		}
	}
	out.set("IpConfigurations", configs)
	out.set("Routes", routes)
	out.set("Dns", dnsUp(o))
	var more []json.RawMessage
	if p := encapOverhead.up(o); p != nil {
		more = append(more, p)
	}
	out.set("Policies", policiesUp(o, more...))
	return out
}

func endpointDown(o object, bad *complaints) object {
	out := object{}
	o.copyAll(out, "ID", "Owner", "Name", "MacAddress")
	o.copyTo(out, "HostComputeNetwork", "VirtualNetwork")
	if ns := o.get("HostComputeNamespace"); ns != nil {
		out.set("Namespace", object{"ID": ns})
	}
	flags := o.number("Flags")
	for _, f := range endpointFlags {
		if flags&f.bit != 0 {
			out.set(f.member, true)
			flags &^= f.bit
		}
	}
	if flags != 0 {
		out.set("Flags", flags)
	}
	configs, _ := elements(o.get("IpConfigurations"))
	for i, raw := range configs {
		c, _ := parse(raw)
		names := [3]string{"IPAddress", "PrefixLength", "IPSubnetId"}
		a, _ := netip.ParseAddr(c.str("IpAddress"))
		if a.Is6() {
			names = [3]string{"IPv6Address", "IPv6PrefixLength", ""}
		}
		if out.get(names[0]) != nil {
			bad.add(fmt.Sprintf("IpConfigurations[%d]", i), raw)
			continue
		}
		c.copyTo(out, "IpAddress", names[0])
		c.copyTo(out, "PrefixLength", names[1])
		if names[2] != "" {
			c.copyTo(out, "IpSubnetId", names[2])
		} else if id := c.get("IpSubnetId"); id != nil {
			bad.add(fmt.Sprintf("IpConfigurations[%d].IpSubnetId", i), id)
		}
	}
	gatewaysDown(o, "", bad, func(v6 bool) string {
		if v6 {
			return "GatewayAddressV6"
		}
		return "GatewayAddress"
	}, out)
	dnsDown(o, out, bad)
	policiesDown(o, out, "", []lifted{encapOverhead}, bad)
	return out
}

func namespaceUp(o object) object {
	out := object{"Type": toJSON("Host")}
	if o.boolean("IsDefault") {
		out.set("Type", "HostDefault")
	}
	o.copyAll(out, "ID", "Owner", "Name", "Type") // Type: HNS has none here, its callers may
	o.copyTo(out, "CompartmentId", "NamespaceId")
	list := o.get("ResourceList")
	resources, ok := elements(list)
	if !ok && list != nil {
		out.set("Resources", list)
		return out
	}
	containers, _ := elements(o.get("Containers"))
	for _, c := range containers {
		resources = append(resources, must(object{"Type": toJSON("Container"), "Data": must(object{"Id": c})}))
	}
	out.set("Resources", resources)
	return out
}

func namespaceDown(o object, bad *complaints) object {
	out := object{}
	o.copyAll(out, "ID", "Owner", "Name")
	o.copyTo(out, "NamespaceId", "CompartmentId")
	t := o.str("Type")
	if strings.HasSuffix(t, "Default") {
		out.set("IsDefault", true)
	}
	switch t {
	case "", "Host", "HostDefault":
	default:
		bad.add("Type", toJSON(t))
	}
	var endpoints, containers []json.RawMessage
	resources, _ := elements(o.get("Resources"))
	for _, raw := range resources {
		r, _ := parse(raw)
		data, _ := parse(r.get("Data"))
		if strings.EqualFold(r.str("Type"), "Container") {
			containers = append(containers, toJSON(data.str("Id")))
		} else {
			endpoints = append(endpoints, must(object{"Type": r.get("Type"), "Data": r.get("Data")}))
		}
	}
	out.set("ResourceList", endpoints)
	out.set("Containers", containers)
	return out
}
