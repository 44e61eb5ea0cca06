package cniplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// policies reads the key policies: a list of {"name": "EndpointPolicy",
// "value": …}, each value a policy of HNS schema 2 or one of v1, which is flat
// and has other names.
func (p *configParser) policies(raw json.RawMessage) []hns.EndpointPolicy {
	var list []json.RawMessage
	p.value("policies", raw, &list)
	var out []hns.EndpointPolicy
	for i, e := range list {
		path := fmt.Sprintf("policies[%d]", i)
		var entry struct {
			Name  string          `json:"name"`
			Value json.RawMessage `json:"value"`
		}
		if !p.value(path, e, &entry) {
			continue
		}
		if !strings.EqualFold(entry.Name, "EndpointPolicy") {
			p.complain(path+".name", entry.Name, errors.New("only EndpointPolicy is known"))
			continue
		}
		if pol := p.policy(path+".value", entry.Value); pol != nil {
			out = append(out, pol)
		}
	}
	return out
}

func (p *configParser) policy(path string, raw json.RawMessage) hns.EndpointPolicy {
	var members map[string]json.RawMessage
	if !p.value(path, raw, &members) {
		if present(raw) == nil {
			p.complain(path, "", errors.New("missing"))
		}
		return nil
	}
	doc, err := toSchema2(members)
	if err != nil {
		p.complain(path, shorten(raw), err)
		return nil
	}
	pol, err := hns.DecodeEndpointPolicy(doc)
	if err == nil {
		pol = clearHostBits(pol)
		err = hns.CheckEndpointPolicy(pol)
	}
	if err == nil {
		return pol
	}
	fields := hns.FieldErrors(err)
	for _, f := range fields {
		p.complain(path+"."+f.Path, f.Value, errors.New(f.Reason))
	}
	if len(fields) == 0 {
		p.complain(path, shorten(raw), err)
	}
	return nil
}

// v1Policy says how a policy of the v1 schema reads in schema 2.
type v1Policy struct {
	schema2 string
	// members maps names of v1, in small letters, to names of schema 2.
	members map[string]string
}

// v1Policies are the v1 policies that configurations hold, by type in small
// letters. Those whose type stands in both schemas are told apart by where
// their members are.
var v1Policies = map[string]v1Policy{
	"outboundnat": {"OutBoundNAT", map[string]string{"exceptionlist": "Exceptions", "exceptions": "Exceptions",
		"vip": "VirtualIP", "virtualip": "VirtualIP", "destinations": "Destinations", "maxportpoolusage": "MaxPortPoolUsage", "flags": "Flags"}},
	"route":    sdnRouteV1,
	"sdnroute": sdnRouteV1,
	"pa":       {"ProviderAddress", map[string]string{"pa": "ProviderAddress", "provideraddress": "ProviderAddress"}},
	"provideraddress": {"ProviderAddress", map[string]string{"pa": "ProviderAddress",
		"provideraddress": "ProviderAddress"}},
}

var sdnRouteV1 = v1Policy{"SDNRoute", map[string]string{"destinationprefix": "DestinationPrefix", "nexthop": "NextHop", "needencap": "NeedEncap"}}

// toSchema2 returns the policy in schema 2. Flat members of a known v1 policy
// move into Settings under their new names, and so does the v1 name of a
// member that stands in Settings, where HNS would not see it
// (projectcalico/cni-plugin#1067). A flat policy of another type is an error:
// HNS would refuse it, and without a word of which one (projectcalico/calico#8465).
func toSchema2(members map[string]json.RawMessage) ([]byte, error) {
	var typeName string
	var settings map[string]json.RawMessage
	flat := map[string]json.RawMessage{}
	for k, v := range members {
		switch strings.ToLower(k) {
		case "type":
			if err := json.Unmarshal(v, &typeName); err != nil {
				return nil, errors.New("Type is not a text")
			}
		case "settings":
			if err := json.Unmarshal(v, &settings); err != nil {
				return nil, errors.New("Settings is not an object")
			}
		default:
			flat[k] = v
		}
	}
	if typeName == "" {
		return nil, errors.New("Type is missing")
	}
	v1, known := v1Policies[strings.ToLower(typeName)]
	if !known {
		if len(flat) > 0 {
			return nil, fmt.Errorf("policy %s has members beside Type and Settings; schema 2 wants them inside Settings", typeName)
		}
		return marshalPolicy(typeName, settings)
	}
	out := map[string]json.RawMessage{}
	for k, v := range settings {
		name := k
		if n, ok := v1.members[strings.ToLower(k)]; ok {
			name = n
		}
		out[name] = v
	}
	for k, v := range flat {
		name, ok := v1.members[strings.ToLower(k)]
		if !ok {
			return nil, fmt.Errorf("policy %s has no member %s", typeName, k)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("policy %s gives %s twice", typeName, name)
		}
		out[name] = v
	}
	return marshalPolicy(v1.schema2, out)
}

func marshalPolicy(typeName string, settings map[string]json.RawMessage) ([]byte, error) {
	return json.Marshal(struct {
		Type     string
		Settings map[string]json.RawMessage `json:",omitempty"`
	}{typeName, settings})
}

// clearHostBits clears them where a prefix may have none: Windows Server 2022
// refuses them (microsoft/hcsshim#1951) and earlier ones ignored them.
func clearHostBits(pol hns.EndpointPolicy) hns.EndpointPolicy {
	switch pol := pol.(type) {
	case hns.OutBoundNAT:
		exceptions := make([]string, 0, len(pol.Exceptions))
		for _, s := range pol.Exceptions {
			if p, err := netip.ParsePrefix(s); err == nil {
				s = p.Masked().String()
			}
			exceptions = append(exceptions, s)
		}
		if len(exceptions) > 0 {
			pol.Exceptions = exceptions
		}
		return pol
	case hns.SDNRoute:
		pol.DestinationPrefix = pol.DestinationPrefix.Masked()
		return pol
	}
	return pol
}
