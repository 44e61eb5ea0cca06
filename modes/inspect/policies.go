package inspect

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
	"github.com/hnskit/hnskit/modes"
)

// v1PolicyTypes are types of schema 1 that schema 2 does not have, in small
// letters.
var v1PolicyTypes = map[string]bool{"nat": true, "pa": true, "route": true, "elb": true, "isolation": true, "vsid": true, "vlan": true}

func isPolicyType(t string) bool {
	return t != "" && (v1PolicyTypes[strings.ToLower(t)] || placeOf(t) != "")
}

// placeOf returns the kind of object that has policies of the type, the endpoint
// first; empty if none has.
func placeOf(t string) modes.On {
	for _, on := range []modes.On{modes.OnEndpoint, modes.OnNetwork, modes.OnSubnet} {
		if modes.L2Bridge.Rule(on, t).InSchema {
			return on
		}
	}
	return ""
}

// policies inspects policies that stand by themselves, or are the whole of a
// request, and reports whether that is what the documents are.
func (r *Report) policies(docs []json.RawMessage) bool {
	at := ""
	if len(docs) == 1 {
		if m, ok := membersOf(docs[0]); ok && len(m) == 1 && m.has("Policies") == 1 {
			var inner []json.RawMessage
			if json.Unmarshal(m["policies"], &inner) != nil || len(inner) == 0 {
				return false
			}
			docs, at = inner, "Policies"
		}
	}
	for _, doc := range docs {
		m, ok := membersOf(doc)
		if !ok || !isPolicyType(m.text("Type")) || m.has("Name", "ID", "Subnets") > 0 {
			return false
		}
	}
	r.Kind = HNSPolicy
	var types []string
	on := modes.OnEndpoint
	for i, doc := range docs {
		path := at
		if at != "" || len(docs) > 1 {
			path = fmt.Sprintf("%s[%d]", at, i)
		}
		t, where := r.policy(path, doc)
		types = append(types, t)
		if where != "" {
			on = where
		}
	}
	r.addMode(modeByPolicies(on, types))
	return true
}

// policy inspects one policy, in either schema, and returns its type in schema 2
// and whose it is.
func (r *Report) policy(path string, doc json.RawMessage) (string, modes.On) {
	m, _ := membersOf(doc)
	api := V2
	if len(m) > m.has("Type", "Settings") || v1PolicyTypes[strings.ToLower(m.text("Type"))] {
		api = V1
		up, err := v1doc.PoliciesToV2([]json.RawMessage{doc})
		if err != nil {
			r.failAt(func(p string) string {
				return join(path, strings.TrimPrefix(strings.TrimPrefix(p, "Policies[0]"), "."))
			}, err, modes.SeverityError)
			r.addAPI(api)
			return m.text("Type"), ""
		}
		if len(up) == 1 {
			doc = up[0]
		}
		if strings.EqualFold(m.text("Type"), "NAT") && m.has("ExternalPortReserved", "Flags") == 0 {
			r.add(modes.SeverityWarning, path, "NAT", "a port mapping without flags: on L2Bridge the node itself does not reach the port",
				"in schema 2 write a PortMapping with Flags 1 (LocalRoutedVip)")
		}
	}
	if len(m) > 1 {
		r.addAPI(api) // a type alone is the same in both
	}
	m, _ = membersOf(doc)
	typ := m.text("Type")
	on := placeOf(typ)
	if on != modes.OnEndpoint {
		r.networkPolicy(path, on, doc)
		return typ, on
	}
	pol, err := hns.DecodeEndpointPolicy(doc)
	if err == nil {
		err = hns.CheckEndpointPolicy(pol)
	}
	r.fail(path, err, modes.SeverityError)
	return typ, on
}

// networkPolicy judges a policy of a network or subnet by a network that has
// nothing else.
func (r *Report) networkPolicy(path string, on modes.On, doc json.RawMessage) {
	holder := fmt.Sprintf(`{"SchemaVersion":{"Major":2},"Name":"x","Type":"L2Bridge","Policies":[%s]}`, doc)
	prefix := "Policies[0]"
	if on == modes.OnSubnet {
		holder = fmt.Sprintf(`{"SchemaVersion":{"Major":2},"Name":"x","Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"192.0.2.0/24","Policies":[%s]}]}]}`, doc)
		prefix = "Ipams[0].Subnets[0].Policies[0]"
	}
	n, err := hns.DecodeNetwork([]byte(holder))
	if err == nil {
		err = n.Validate()
	}
	for _, f := range findingsOf(err) {
		if rest, ok := strings.CutPrefix(f.Path, prefix); ok {
			f.Path = join(path, strings.TrimPrefix(rest, "."))
			f.findFix()
			r.Findings = append(r.Findings, f)
		}
	}
}

// modeByPolicies returns the mode that policies of these types need, if it is one
// alone: the only one on which all are known to work.
func modeByPolicies(on modes.On, types []string) string {
	var fits, needs []string
	for _, m := range modes.All() {
		ok, needed := len(types) > 0, false
		for _, t := range types {
			v := m.Rule(on, t).Verdict
			ok = ok && (v == modes.Legal || v == modes.Required)
			needed = needed || v == modes.Required
		}
		if ok {
			fits = append(fits, string(m))
		}
		if ok && needed {
			needs = append(needs, string(m))
		}
	}
	switch {
	case len(needs) == 1:
		return needs[0]
	case len(fits) == 1:
		return fits[0]
	}
	return ""
}
