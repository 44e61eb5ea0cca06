package cniplugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// policies reads the key policies, or Microsoft's AdditionalArgs, which is the
// same: a list of {"name": "EndpointPolicy", "value": …}, each value a policy of
// HNS schema 2 or one of v1, which is flat and has other names.
func (p *configParser) policies(c *Config, key string, raw json.RawMessage) {
	p.list(key, raw, func(path string, raw json.RawMessage) {
		var entry struct {
			Name  string          `json:"name"`
			Value json.RawMessage `json:"value"`
		}
		switch {
		case present(raw) == nil:
			p.complain(path, "null", errors.New("not a policy"))
		case p.object(path, raw) == nil, !p.value(path, raw, &entry):
		case !strings.EqualFold(entry.Name, "EndpointPolicy"):
			p.complain(path+".name", entry.Name, errors.New("only EndpointPolicy is known"))
		default:
			p.addPolicy(c, path+".value", entry.Value)
		}
	})
}

func (p *configParser) addPolicy(c *Config, path string, raw json.RawMessage) {
	if pol := p.policy(path, raw); pol != nil {
		c.Policies = append(c.Policies, pol)
		c.policyPaths = append(c.policyPaths, path)
	}
}

func (p *configParser) policy(path string, raw json.RawMessage) hns.EndpointPolicy {
	before := len(p.bad)
	members := p.object(path, raw)
	if present(raw) == nil {
		p.complain(path, "", errors.New("missing"))
	}
	if len(p.bad) > before {
		return nil
	}
	var pol hns.EndpointPolicy
	doc, err := toSchema2(raw, members)
	if err == nil {
		pol, err = hns.DecodeEndpointPolicy(doc)
	}
	if err == nil {
		pol = clearHostBits(pol)
		err = hns.CheckEndpointPolicy(pol)
	}
	if err == nil {
		return pol
	}
	fields := hns.FieldErrors(err)
	for _, f := range fields {
		at := path
		if f.Path != "" {
			at += "." + f.Path
		}
		p.complain(at, f.Value, errors.New(f.Reason))
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
	// convert turns the value of a member, by its name of v1, into that of
	// schema 2; nil leaves the member out.
	convert map[string]func(json.RawMessage) (json.RawMessage, error)
}

// v1Policies are the v1 policies that configurations hold, by type in small
// letters. Those whose type stands in both schemas are told apart by where
// their members are.
var v1Policies = map[string]v1Policy{
	"outboundnat": {"OutBoundNAT", map[string]string{"exceptionlist": "Exceptions", "exceptions": "Exceptions", "vip": "VirtualIP",
		"virtualip": "VirtualIP", "destinations": "Destinations", "maxportpoolusage": "MaxPortPoolUsage", "flags": "Flags"}, nil},
	"route":           sdnRouteV1,
	"sdnroute":        sdnRouteV1,
	"pa":              providerAddressV1,
	"provideraddress": providerAddressV1,
	"nat": {"PortMapping", map[string]string{"protocol": "Protocol", "internalport": "InternalPort", "externalport": "ExternalPort",
		"vip": "VIP", "flags": "Flags", "externalportreserved": "Flags"},
		map[string]func(json.RawMessage) (json.RawMessage, error){"protocol": protocolNumber, "externalportreserved": reservedFlag}},
}

var (
	sdnRouteV1 = v1Policy{"SDNRoute", map[string]string{"destinationprefix": "DestinationPrefix", "nexthop": "NextHop",
		"needencap": "NeedEncap", "automaticendpointmonitor": "AutomaticEndpointMonitor"}, nil}
	providerAddressV1 = v1Policy{"ProviderAddress", map[string]string{"pa": "ProviderAddress", "provideraddress": "ProviderAddress"}, nil}
)

// protocolNumber reads TCP and UDP as their numbers, which v1 takes as text.
func protocolNumber(raw json.RawMessage) (json.RawMessage, error) {
	if !bytes.HasPrefix(raw, []byte(`"`)) {
		return raw, nil // a number already; HNS says what else is wrong
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	n, ok := protocols[strings.ToLower(text)]
	if !ok {
		return nil, fmt.Errorf("protocol %q: HNS maps ports of tcp and udp only", text)
	}
	return json.Marshal(n)
}

// reservedFlag is ExternalPortReserved as a flag of NatFlags.
func reservedFlag(raw json.RawMessage) (json.RawMessage, error) {
	var on bool
	if err := json.Unmarshal(raw, &on); err != nil {
		return nil, errors.New("ExternalPortReserved is not true or false")
	}
	if !on {
		return nil, nil
	}
	return json.RawMessage("4"), nil
}

// toSchema2 returns the policy, raw with its members, in schema 2. Flat members
// of a known v1 policy move into Settings under their new names, and so does the
// v1 name of a member that stands in Settings, where HNS would not see it
// (projectcalico/cni-plugin#1067). A flat policy of another type is an error:
// HNS would refuse it, and without a word of which one (projectcalico/calico#8465).
// What is in schema 2 stays as it is.
func toSchema2(raw json.RawMessage, members map[string]json.RawMessage) ([]byte, error) {
	typeName, settings, flat, err := splitPolicy(members)
	if err != nil {
		return nil, err
	}
	v1, known := v1Policies[strings.ToLower(typeName)]
	if !known {
		if len(flat) > 0 {
			return nil, fmt.Errorf("policy %s has members beside Type and Settings; schema 2 wants them inside Settings", typeName)
		}
		return raw, nil
	}
	out := map[string]json.RawMessage{}
	changed := len(flat) > 0 || !strings.EqualFold(v1.schema2, typeName)
	for _, from := range []map[string]json.RawMessage{settings, flat} {
		for _, name := range slices.Sorted(maps.Keys(from)) {
			schema2, ok := v1.members[strings.ToLower(name)]
			if !ok {
				if _, isFlat := flat[name]; isFlat {
					return nil, fmt.Errorf("policy %s has no member %s", typeName, name)
				}
				schema2 = name
			}
			value := from[name]
			if f := v1.convert[strings.ToLower(name)]; f != nil {
				if value, err = f(value); err != nil {
					return nil, err
				}
				if changed = true; value == nil {
					continue
				}
			}
			if _, twice := out[schema2]; twice {
				return nil, fmt.Errorf("policy %s gives %s twice", typeName, schema2)
			}
			out[schema2] = value
			changed = changed || !strings.EqualFold(schema2, name)
		}
	}
	if !changed {
		return raw, nil
	}
	return marshalPolicy(v1.schema2, out)
}

// splitPolicy tells the members of a policy apart.
func splitPolicy(members map[string]json.RawMessage) (typeName string, settings, flat map[string]json.RawMessage, err error) {
	flat = map[string]json.RawMessage{}
	for k, v := range members {
		switch strings.ToLower(k) {
		case "type":
			if json.Unmarshal(v, &typeName) != nil {
				return "", nil, nil, errors.New("Type is not a text")
			}
		case "settings":
			if json.Unmarshal(v, &settings) != nil {
				return "", nil, nil, errors.New("Settings is not an object")
			}
		default:
			flat[k] = v
		}
	}
	if typeName == "" {
		return "", nil, nil, errors.New("Type is missing")
	}
	return typeName, settings, flat, nil
}

// marshalPolicy escapes nothing for HTML, so that texts stay as they were.
func marshalPolicy(typeName string, settings map[string]json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Type     string
		Settings map[string]json.RawMessage `json:",omitempty"`
	}{typeName, settings})
	return b.Bytes(), err
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
