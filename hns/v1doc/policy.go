package v1doc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func sortedKeys(o object) []string { return slices.Sorted(maps.Keys(o)) }

// policyType says how a policy is written in the two schemas: in schema 1 its
// members stand beside Type, in schema 2 inside Settings.
type policyType struct {
	v1, v2 string
	rename [][2]string // members with another name: schema 1, schema 2
}

// policyTypes are the types that schema 1 is known to have. Others that a dump
// may hold differ in Settings alone.
var policyTypes = []policyType{
	{"NAT", "PortMapping", nil},
	{"PA", "ProviderAddress", [][2]string{{"PA", "ProviderAddress"}}},
	{"OutBoundNAT", "OutBoundNAT", [][2]string{{"VIP", "VirtualIP"}, {"ExceptionList", "Exceptions"}}},
	{"ROUTE", "SDNRoute", nil},
	{"PROXY", "L4Proxy", nil},
	{"ACL", "ACL", [][2]string{{"Protocol", "Protocols"}, {"LocalPort", "LocalPorts"}, {"RemotePort", "RemotePorts"}}},
	{"QOS", "QOS", nil},
	{"L2Driver", "L2Driver", nil},
	{"HostRoute", "HostRoute", nil},
	{"RemoteSubnetRoute", "RemoteSubnetRoute", nil},
	{"SetPolicy", "SetPolicy", nil},
	{"VLAN", "VLAN", [][2]string{{"VLAN", "IsolationId"}}},
	{"VSID", "VSID", [][2]string{{"VSID", "IsolationId"}}},
}

// typeOf returns the type that has the name in one of the schemas, without
// names if there is none.
func typeOf(name string, v2 bool) policyType {
	for _, t := range policyTypes {
		if v2 && strings.EqualFold(name, t.v2) || !v2 && strings.EqualFold(name, t.v1) {
			return t
		}
	}
	return policyType{}
}

// natReserved is the flag of a port mapping that schema 1 has as
// ExternalPortReserved (schema NatFlags).
const natReserved = 4

// policyUp returns a policy of schema 1 in schema 2. What is no object is left
// for the reader of schema 2 to note.
func policyUp(raw json.RawMessage) json.RawMessage {
	o, err := parse(raw)
	if err != nil || o.str("Type") == "" {
		return raw
	}
	t := typeOf(o.str("Type"), false)
	t.v2 = cmp.Or(t.v2, o.str("Type"))
	settings := object{}
	for _, k := range sortedKeys(o) {
		name, value := k, o[k]
		for _, r := range t.rename {
			if strings.EqualFold(k, r[0]) {
				name = r[1]
			}
		}
		if strings.EqualFold(k, "Type") || name != k && o.get(name) != nil && !strings.EqualFold(name, k) {
			continue // a member under both of its names counts once
		}
		switch {
		case t.v1 == "NAT" && strings.EqualFold(k, "Protocol"):
			value = protocolNumber(value)
		case t.v1 == "NAT" && strings.EqualFold(k, "ExternalPortReserved"):
			if o.boolean(k) {
				settings.set("Flags", settings.number("Flags")|natReserved)
			}
			continue
		case t.v1 == "NAT" && strings.EqualFold(k, "Flags"):
			value = toJSON(o.number(k) | settings.number("Flags"))
		case t.v1 == "ACL" && name != k && len(value) > 0 && value[0] != '"':
			value = toJSON(string(value)) // a single number; schema 2 has lists as text
		}
		settings[name] = value
	}
	if len(settings) == 0 {
		return must(object{"Type": toJSON(t.v2)})
	}
	return must(object{"Type": toJSON(t.v2), "Settings": must(settings)})
}

func protocolNumber(raw json.RawMessage) json.RawMessage {
	switch strings.ToUpper(string(raw)) {
	case `"TCP"`:
		return json.RawMessage("6")
	case `"UDP"`:
		return json.RawMessage("17")
	}
	return raw
}

// policyDown returns a policy of schema 2 in schema 1, also one that it
// complains about: what was read stays.
func policyDown(raw json.RawMessage, path string, bad *complaints) json.RawMessage {
	o, err := parse(raw)
	if err != nil {
		bad.add(path, raw)
		return nil
	}
	t := typeOf(o.str("Type"), true)
	if t.v1 == "" {
		bad.because(path, raw, "schema 1 knows no policy of this type")
	}
	out := object{"Type": toJSON(cmp.Or(t.v1, o.str("Type")))}
	settings, err := parse(o.get("Settings"))
	if err != nil && o.get("Settings") != nil && t.v1 != "" {
		bad.add(path+".Settings", o.get("Settings"))
	}
	for k, value := range settings {
		name := k
		if t.v1 != "ACL" { // HNS shows the names of schema 2 here
			for _, r := range t.rename {
				if strings.EqualFold(k, r[1]) {
					name = r[0]
				}
			}
		}
		switch {
		case strings.EqualFold(name, "Type"):
			bad.add(path+".Settings."+k, value)
			continue
		case t.v1 == "NAT" && strings.EqualFold(k, "Protocol"):
			value = protocolName(value)
		case t.v1 == "NAT" && strings.EqualFold(k, "Flags"):
			flags := settings.number(k)
			if flags&natReserved != 0 {
				out["ExternalPortReserved"] = json.RawMessage("true")
			}
			if flags &^= natReserved; flags == 0 {
				continue
			}
			value = toJSON(flags)
		}
		out[name] = value
	}
	return must(out)
}

func protocolName(raw json.RawMessage) json.RawMessage {
	switch string(raw) {
	case "6":
		return json.RawMessage(`"TCP"`)
	case "17":
		return json.RawMessage(`"UDP"`)
	}
	return raw
}

// policiesUp returns the member Policies of schema 2 with those of o and more.
// What is no list is left for the reader of schema 2 to note.
func policiesUp(o object, more ...json.RawMessage) json.RawMessage {
	raw := o.get("Policies")
	l, ok := elements(raw)
	if !ok && raw != nil && len(more) == 0 {
		return raw
	}
	var out []json.RawMessage
	for _, p := range l {
		out = append(out, policyUp(p))
	}
	if !ok && raw != nil {
		out = append(out, raw)
	}
	return toJSON(append(out, more...))
}

// lifted is a policy of schema 2 that schema 1 has as a member of the object.
type lifted struct {
	member, policy, setting string
}

// up returns the policy, nil if o has no such member.
func (l lifted) up(o object) json.RawMessage {
	value := o.get(l.member)
	if empty(value) {
		return nil
	}
	return must(object{"Type": toJSON(l.policy), "Settings": must(object{l.setting: value})})
}

func empty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", `""`, "0", "false":
		return true
	}
	return false
}

// policiesDown writes the policies of o into out, and those that are members of
// the object as such.
func policiesDown(o, out object, path string, members []lifted, bad *complaints) {
	l, _ := elements(o.get("Policies"))
	var rest []json.RawMessage
next:
	for i, raw := range l {
		p, _ := parse(raw)
		settings, _ := parse(p.get("Settings"))
		for _, m := range members {
			if strings.EqualFold(p.str("Type"), m.policy) && out.get(m.member) == nil && len(settings) == 1 && settings.get(m.setting) != nil {
				out.set(m.member, settings.get(m.setting))
				continue next
			}
		}
		if down := policyDown(raw, fmt.Sprintf("%sPolicies[%d]", path, i), bad); down != nil {
			rest = append(rest, down)
		}
	}
	out.set("Policies", rest)
}
