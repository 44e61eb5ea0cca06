package v1doc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// The Rule of the errors of [ToV2] tells what sort of thing is wrong.
const (
	// RuleShape: a member has another JSON type than schema 1 wants.
	RuleShape = "v1-shape"
	// RulePolicy: a policy is no object, or the ELB policies of a list have bad
	// values or disagree.
	RulePolicy = "v1-policy"
	// RulePolicyType: a policy has a type that schema 1 does not know, or knows
	// in another place. Names of schema 2 count as such
	// (microsoft/Windows-Containers#360).
	RulePolicyType = "v1-policy-type"
)

// converter holds both ways for the documents of one kind of object.
type converter struct {
	up    func(object) object
	down  func(object, *complaints) object
	check func(*checker, object)
}

var converters = map[hns.Kind]converter{
	hns.KindNetwork:      {networkUp, networkDown, (*checker).network},
	hns.KindEndpoint:     {endpointUp, endpointDown, (*checker).endpoint},
	hns.KindNamespace:    {namespaceUp, namespaceDown, (*checker).namespace},
	hns.KindLoadBalancer: {balancerUp, balancerDown, func(c *checker, o object) { c.list(o, elb) }},
	hns.KindRoute:        {routeUp, routeDown, func(c *checker, o object) { c.list(o, sdnRoute) }},
}

// ToV2 returns a document of schema 1 in schema 2, as HNS reads the body of a
// create: values that are only odd are left for the reader of schema 2, and ids,
// states and what else HNS gives is handed over. Where the Decode functions take
// what a dump may hold, ToV2 refuses, with a *hns.FieldError (paths in the names
// of schema 1) for each member of a wrong JSON type and each policy that has no
// place.
//
// A policy list is a KindLoadBalancer or a KindRoute.
func ToV2(kind hns.Kind, doc []byte) (json.RawMessage, error) {
	k, ok := converters[kind]
	if !ok {
		return nil, fmt.Errorf("schema 1 has no %s", kind)
	}
	o, err := parse(doc)
	if err != nil {
		return nil, fmt.Errorf("read %s of schema 1: %w", kind, err)
	}
	var c checker
	k.check(&c, o)
	if len(c.bad) > 0 {
		return nil, fmt.Errorf("read %s of schema 1: %w", kind, errors.Join(c.bad...))
	}
	return must(k.up(o)), nil
}

// ToV1 returns a document of schema 2 in schema 1. Ids keep their letter case.
// The error holds a *hns.FieldError for each value that schema 1 has no place
// for; the document is returned all the same, without them, but with the policies
// whose type schema 1 does not know.
func ToV1(kind hns.Kind, doc []byte) (json.RawMessage, error) {
	k, ok := converters[kind]
	if !ok {
		return nil, fmt.Errorf("schema 1 has no %s", kind)
	}
	o, err := parse(doc)
	if err != nil {
		return nil, fmt.Errorf("write %s in schema 1: %w", kind, err)
	}
	var lost complaints
	out := must(k.down(o, &lost))
	return out, lost.err()
}

// PoliciesToV2 returns policies of a network, endpoint or subnet in schema 2.
// Its errors are those of [ToV2].
func PoliciesToV2(policies []json.RawMessage) ([]json.RawMessage, error) {
	var c checker
	c.policies(policies, "")
	if len(c.bad) > 0 {
		return nil, errors.Join(c.bad...)
	}
	out := make([]json.RawMessage, len(policies))
	for i, p := range policies {
		out[i] = policyUp(p)
	}
	return out, nil
}

// PolicyToV1 returns a policy of schema 2 in schema 1; nil if it is no object.
func PolicyToV1(policy json.RawMessage) json.RawMessage {
	return policyDown(policy, "", &complaints{})
}

// checker collects what is wrong with a document of schema 1.
type checker struct{ bad []error }

func (c *checker) complain(path string, value json.RawMessage, rule, reason string) {
	c.bad = append(c.bad, &hns.FieldError{Path: path, Value: clip(value), Reason: reason, Rule: rule})
}

// The JSON types of members, by the bytes that a value begins with.
const (
	aText   = `"`
	aNumber = "-0123456789"
	aBool   = "tf"
	aList   = "["
	aObject = "{"
)

var shapeNames = map[string]string{aText: "a text", aNumber: "a number", aBool: "true or false", aList: "a list", aObject: "an object"}

// shape complains about those of the members that have another JSON type.
func (c *checker) shape(o object, path, rule, shape string, members ...string) {
	for _, name := range members {
		if v := o.get(name); v != nil && !strings.ContainsRune(shape, rune(v[0])) {
			c.complain(path+name, v, rule, "not "+shapeNames[shape])
		}
	}
}

var dnsMembers = []string{"DNSDomain", "DNSSuffix", "DNSServerList"}

func (c *checker) network(o object) {
	c.shape(o, "", RuleShape, aText, dnsMembers...)
	c.shape(o, "", RuleShape, aText, "NetworkAdapterName", "SourceMac", "DrMacAddress", "ManagementIP")
	c.shape(o, "", RuleShape, aBool, "AutomaticDNS")
	c.shape(o, "", RuleShape, aList, "MacPools", "Policies", "Subnets")
	c.policies(list(o, "Policies"), "")
	for i, raw := range list(o, "Subnets") {
		path := fmt.Sprintf("Subnets[%d]", i)
		s, err := parse(raw)
		if err != nil {
			c.complain(path, raw, RuleShape, "not an object")
			continue
		}
		c.shape(s, path+".", RuleShape, aText, "GatewayAddress")
		c.shape(s, path+".", RuleShape, aList, "Policies")
		c.policies(list(s, "Policies"), path+".")
	}
}

func (c *checker) endpoint(o object) {
	c.shape(o, "", RuleShape, aText, dnsMembers...)
	c.shape(o, "", RuleShape, aText, "VirtualNetworkName", "IPAddress", "IPv6Address", "GatewayAddress", "GatewayAddressV6")
	c.shape(o, "", RuleShape, aNumber, "Flags", "EncapOverhead")
	c.shape(o, "", RuleShape, aBool, "IsRemoteEndpoint", "DisableICC", "EnableLowMetric")
	c.shape(o, "", RuleShape, aList, "Policies")
	c.shape(o, "", RuleShape, aObject, "Namespace")
	c.policies(list(o, "Policies"), "")
}

func (c *checker) namespace(o object) {
	c.shape(o, "", RuleShape, aBool, "IsDefault")
	c.shape(o, "", RuleShape, aList, "ResourceList", "Containers")
}

// list checks a policy list, which holds policies of one type over endpoints.
func (c *checker) list(o object, typeName string) {
	c.shape(o, "", RuleShape, aList, "References", "Policies")
	policies := list(o, "Policies")
	if len(policies) == 0 && len(c.bad) == 0 {
		c.complain("Policies", nil, RulePolicy, "no policies")
	}
	for i, raw := range policies {
		path := fmt.Sprintf("Policies[%d]", i)
		p, err := parse(raw)
		switch {
		case err != nil:
			c.complain(path, raw, RuleShape, "not an object")
		case !strings.EqualFold(p.str("Type"), typeName):
			c.complain(path, raw, RulePolicyType, "not a policy of type "+typeName)
		case typeName == elb:
			c.shape(p, path+".", RulePolicy, aText, "SourceVIP")
			c.shape(p, path+".", RulePolicy, aBool, "ILB", "IsDSR")
			c.shape(p, path+".", RulePolicy, aList, "VIPs")
		}
	}
	if len(c.bad) > 0 {
		return
	}
	for _, u := range strangers(o, typeName) {
		c.complain(u.Path, json.RawMessage(u.Text), RulePolicy, u.Reason)
	}
	if len(list(o, "References")) == 0 { // aws/containers-roadmap#240
		c.complain("References", nil, RulePolicy, "no references")
	}
}

func list(o object, name string) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(o.get(name), &l) != nil {
		return nil // shape complains
	}
	return l
}

// policies checks the policies of a network, endpoint or subnet.
func (c *checker) policies(l []json.RawMessage, path string) {
	for i, raw := range l {
		path := fmt.Sprintf("%sPolicies[%d]", path, i)
		p, err := parse(raw)
		if err != nil {
			c.complain(path, raw, RulePolicy, "not an object")
			continue
		}
		if name := p.str("Type"); typeOf(name, false).v2 == "" {
			c.complain(path+".Type", p.get("Type"), RulePolicyType, "not a policy type of schema 1")
		}
	}
}
