package emulator

import (
	"encoding/json"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// v1Policy says how a policy of schema 1, whose settings stand beside its
// type, becomes one of schema 2. Members not named keep their name.
type v1Policy struct {
	v1, v2 string
	rename [][2]string // schema 1, schema 2
}

// v1Policies are the policy types that schema 1 knows. Those of schema 2 with
// another name are refused there (microsoft/Windows-Containers#360).
var v1Policies = []v1Policy{
	{"NAT", "PortMapping", nil},
	{"PA", "ProviderAddress", [][2]string{{"PA", "ProviderAddress"}}},
	{"OutBoundNAT", "OutBoundNAT", [][2]string{{"VIP", "VirtualIP"}, {"ExceptionList", "Exceptions"}}},
	{"ROUTE", "SDNRoute", nil},
	{"PROXY", "L4Proxy", nil},
	{"ACL", "ACL", [][2]string{{"Protocol", "Protocols"}, {"LocalPort", "LocalPorts"}, {"RemotePort", "RemotePorts"}}},
	{"QOS", "QOS", nil},
	{"VLAN", "VLAN", [][2]string{{"VLAN", "IsolationId"}}},
	{"VSID", "VSID", [][2]string{{"VSID", "IsolationId"}}},
	{"L2Driver", "L2Driver", nil},
	{"HostRoute", "HostRoute", nil},
	{"RemoteSubnetRoute", "RemoteSubnetRoute", nil},
	{"SetPolicy", "SetPolicy", nil},
}

func findV1(name string, v2 bool) (v1Policy, bool) {
	for _, p := range v1Policies {
		if strings.EqualFold(name, p.v1) && !v2 || name == p.v2 && v2 {
			return p, true
		}
	}
	return v1Policy{}, false
}

// policiesFromV1 returns policies of schema 1 as those of schema 2.
func policiesFromV1(raws []json.RawMessage) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, raw := range raws {
		o, err := parseObject(raw)
		if err != nil {
			return nil, failure(hns.CodeInvalidPolicy)
		}
		r := reader{object: o}
		p, ok := findV1(r.str("Type"), false)
		if !ok || r.bad {
			return nil, failure(hns.CodeInvalidPolicyType)
		}
		out = append(out, newPolicy(p.v2, p.settings(o)).raw)
	}
	return out, nil
}

// settings returns the Settings of schema 2. A member that stands under both
// of its names, as hcsshim's Protocol and Protocols may, is taken once.
func (p v1Policy) settings(o object) json.RawMessage {
	s := object{}
	for _, m := range o {
		name := p.name(m.name, 0)
		switch {
		case strings.EqualFold(m.name, "Type"):
		case p.v1 == "NAT" && strings.EqualFold(m.name, "ExternalPortReserved"):
			if string(m.value) == "true" {
				s = append(s, member{"Flags", number(natFlagReserved)})
			}
		case name != m.name && o.index(name) >= 0 && !strings.EqualFold(name, m.name):
		case p.v1 == "ACL" && name != m.name:
			s = append(s, member{name, textOf(m.value)})
		default:
			s = append(s, member{name, m.value})
		}
	}
	return s.bytes()
}

// textOf returns a number as text: schema 1 has single ports and protocols as
// numbers, schema 2 lists of them as text.
func textOf(raw json.RawMessage) json.RawMessage {
	if len(raw) > 0 && raw[0] != '"' {
		return quote(string(raw))
	}
	return raw
}

// natFlagReserved is NatFlags ExternalPortReserved.
const natFlagReserved = 4

// name renames a member from schema from (0: 1, 1: 2) to the other.
func (p v1Policy) name(s string, from int) string {
	for _, r := range p.rename {
		if strings.EqualFold(s, r[from]) {
			return r[1-from]
		}
	}
	return s
}

// v1 returns the schema 1 form of a policy. A type that schema 1 has no name
// for keeps that of schema 2.
func (p policy) v1() json.RawMessage {
	t, ok := findV1(p.kind, true)
	if !ok {
		t = v1Policy{v1: p.kind, v2: p.kind}
	}
	s, _ := parseObject(orEmpty(p.settings))
	o := object{}
	for _, m := range s {
		switch {
		case t.v1 == "NAT" && strings.EqualFold(m.name, "Protocol"):
			m.value = protocolV1(m.value)
		case t.v1 == "NAT" && strings.EqualFold(m.name, "Flags"):
			r := reader{object: s}
			if r.uint32("Flags")&natFlagReserved != 0 {
				o = append(o, member{"ExternalPortReserved", boolean(true)})
			}
			continue
		}
		name := t.name(m.name, 1)
		if t.v1 == "ACL" { // HNS takes the short names and shows the long ones
			name = m.name
		}
		o = append(o, member{name, m.value})
	}
	return sorted(append(o, member{"Type", quote(t.v1)})).bytes()
}

func protocolV1(raw json.RawMessage) json.RawMessage {
	switch string(raw) {
	case "6":
		return quote("TCP")
	case "17":
		return quote("UDP")
	}
	return raw
}
