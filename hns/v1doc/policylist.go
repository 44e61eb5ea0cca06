package v1doc

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// The types of the policies that a policy list holds.
const (
	elb      = "ELB"
	sdnRoute = "ROUTE"
)

const endpointPath = "/endpoints/"

// ofType returns the policies of a list that are of that type.
func ofType(o object, typeName string) []object {
	var out []object
	l, _ := elements(o.get("Policies"))
	for _, raw := range l {
		if p, err := parse(raw); err == nil && strings.EqualFold(p.str("Type"), typeName) {
			out = append(out, p)
		}
	}
	return out
}

// strangers lists the policies that are not of the type, and what the ELB
// policies disagree about with the first of them.
func strangers(o object, typeName string) []hns.Unread {
	var out []hns.Unread
	note := func(path string, raw json.RawMessage, reason string) {
		out = append(out, hns.Unread{Path: path, Text: string(raw), Reason: reason})
	}
	raw := o.get("Policies")
	l, ok := elements(raw)
	if !ok && raw != nil {
		note("Policies", raw, "not a list")
	}
	var first object
	for i, raw := range l {
		path := fmt.Sprintf("Policies[%d]", i)
		p, err := parse(raw)
		switch {
		case err != nil || !strings.EqualFold(p.str("Type"), typeName):
			note(path, raw, "not a policy of type "+typeName)
		case first == nil:
			first = p
		case typeName == elb:
			for _, name := range []string{"SourceVIP", "VIPs", "IsDSR"} {
				if a, b := first.get(name), p.get(name); !equal(a, b) && !(empty(a) && empty(b)) {
					note(path+"."+name, p.get(name), "not the same as that of the first policy")
				}
			}
		}
	}
	return out
}

func strangersIn(doc []byte, typeName string) []hns.Unread {
	o, _ := parse(doc) // it was read before
	return strangers(o, typeName)
}

// listUp reads what both sorts of policy lists have.
func listUp(o object) object {
	out := object{}
	o.copyAll(out, "ID", "Owner", "Name", "HostComputeNetwork")
	raw := o.get("References")
	l, ok := elements(raw)
	if !ok {
		out.set("HostComputeEndpoints", raw)
		return out
	}
	var ids []json.RawMessage
	for _, r := range l {
		var text string
		if json.Unmarshal(r, &text) == nil && len(text) > len(endpointPath) && strings.EqualFold(text[:len(endpointPath)], endpointPath) {
			r = toJSON(strings.TrimRight(text[len(endpointPath):], "/"))
		}
		ids = append(ids, r)
	}
	out.set("HostComputeEndpoints", ids)
	return out
}

func listDown(o object) object {
	out := object{}
	o.copyAll(out, "ID", "Owner", "Name", "HostComputeNetwork")
	var ids []string
	if json.Unmarshal(o.get("HostComputeEndpoints"), &ids) == nil {
		var refs []json.RawMessage
		for _, id := range ids {
			refs = append(refs, toJSON(endpointPath+id))
		}
		out.set("References", refs)
	}
	return out
}

// The flags of schema 2 that schema 1 has members for.
const (
	internalFlag = uint64(hns.LoadBalancerInternal)
	dsrFlag      = uint64(hns.LoadBalancerDSR)
	v6Flag       = uint64(hns.LoadBalancerIPv6)
)

func balancerUp(o object) object {
	out := listUp(o)
	var mappings []json.RawMessage
	for i, p := range ofType(o, elb) {
		if i == 0 {
			p.copyTo(out, "SourceVIP", "SourceVIP")
			vips := p.get("VIPs")
			if len(vips) > 0 && vips[0] == '"' {
				vips = must([]json.RawMessage{vips})
			}
			out.set("FrontendVIPs", vips)
			flags := uint64(0)
			if p.boolean("IsDSR") {
				flags |= dsrFlag
			}
			var texts []string
			if json.Unmarshal(vips, &texts) == nil && slices.ContainsFunc(texts, isV6) {
				flags |= v6Flag
			}
			if flags != 0 {
				out.set("Flags", flags)
			}
		}
		m := object{}
		for _, name := range []string{"Protocol", "InternalPort", "ExternalPort"} {
			p.copyTo(m, name, name)
		}
		if p.boolean("ILB") {
			m.set("Flags", internalFlag)
		}
		mappings = append(mappings, must(m))
	}
	out.set("PortMappings", mappings)
	return out
}

func isV6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

func balancerDown(o object, bad *complaints) object {
	out := listDown(o)
	flags := o.number("Flags")
	if rest := flags &^ (dsrFlag | v6Flag); rest != 0 {
		bad.add("Flags", toJSON(rest))
	}
	if flags&v6Flag != 0 && o.get("FrontendVIPs") == nil {
		bad.add("Flags", toJSON(v6Flag)) // schema 1 knows the family by the addresses
	}
	l, _ := elements(o.get("PortMappings"))
	if len(l) == 0 {
		bad.ofNoPort(o)
	}
	var policies []json.RawMessage
	for i, raw := range l {
		m, _ := parse(raw)
		p := object{"Type": toJSON(elb), "Protocol": toJSON(m.number("Protocol")),
			"InternalPort": toJSON(m.number("InternalPort")), "ExternalPort": toJSON(m.number("ExternalPort"))}
		o.copyTo(p, "SourceVIP", "SourceVIP")
		o.copyTo(p, "FrontendVIPs", "VIPs")
		if flags&dsrFlag != 0 {
			p.set("IsDSR", true)
		}
		if m.number("Flags")&internalFlag != 0 {
			p.set("ILB", true)
		}
		path := fmt.Sprintf("PortMappings[%d].", i)
		if rest := m.number("Flags") &^ internalFlag; rest != 0 {
			bad.add(path+"Flags", toJSON(rest))
		}
		bad.refuse(m, path, "Protocol", "InternalPort", "ExternalPort", "Flags")
		policies = append(policies, must(p))
	}
	out.set("Policies", policies)
	return out
}

// ofNoPort complains about what schema 1 has in the policy of each port alone.
func (c *complaints) ofNoPort(o object) {
	const reason = "schema 1 has it with a port, and there is none"
	vips, _ := elements(o.get("FrontendVIPs"))
	for i, vip := range vips {
		c.because(fmt.Sprintf("FrontendVIPs[%d]", i), vip, reason)
	}
	if vip := o.get("SourceVIP"); !empty(vip) {
		c.because("SourceVIP", vip, reason)
	}
	if dsr := o.number("Flags") & dsrFlag; dsr != 0 {
		c.because("Flags", toJSON(dsr), reason)
	}
}

// rewrites complains about what a list holds that no list written for the
// object would: it would go, or say otherwise than the object.
func (c *complaints) rewrites(raw object, typeName string) {
	for _, u := range strangers(raw, typeName) {
		c.because(u.Path, json.RawMessage(u.Text), u.Reason+", so that the policies of this list cannot be changed")
	}
}

func routeUp(o object) object {
	out := listUp(o)
	var routes []json.RawMessage
	for _, p := range ofType(o, sdnRoute) {
		k, _ := p.key("Type")
		delete(p, k)
		routes = append(routes, must(p))
	}
	out.set("Routes", routes)
	return out
}

func routeDown(o object, _ *complaints) object {
	out := listDown(o)
	l, _ := elements(o.get("Routes"))
	var policies []json.RawMessage
	for _, raw := range l {
		p, _ := parse(raw)
		p.set("Type", sdnRoute)
		policies = append(policies, must(p))
	}
	out.set("Policies", policies)
	return out
}
