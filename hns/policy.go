package hns

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// policy is what the three sealed policy interfaces share.
type policy interface {
	// PolicyType returns the type name of the HNS schema, such as "OutBoundNAT".
	PolicyType() string
	// settings returns what is marshalled as the member Settings.
	settings() any
	// check returns what may not be sent; paths start at the settings.
	check() []*FieldError
}

// EndpointPolicy is a policy of an endpoint. It is implemented by [ACL],
// [EncapOverhead], [InterfaceConstraint], [InterfaceParameters], [IOV],
// [L2Driver], [L4Proxy], [L4WFPProxy], [OutBoundNAT], [PortMapping],
// [PortName], [ProviderAddress], [QOS], [SDNRoute], [TierACL], [VLAN] and
// [RawPolicy], which holds every other type of the schema.
type EndpointPolicy interface {
	policy
	endpointPolicy()
}

// NetworkPolicy is a policy of a network. It is implemented by [AutomaticDNS],
// [DRMACAddress], [HostRoute], [InterfaceConstraint], [L4Proxy],
// [LayerConstraint], [NetAdapterName], [NetworkACL], [ProviderAddress],
// [RemoteSubnetRoute], [SetPolicy], [SourceMACAddress], [VSwitchExtension],
// [VXLANPort] and [RawPolicy], which holds every other type.
type NetworkPolicy interface {
	policy
	networkPolicy()
}

// SubnetPolicy is a policy of a subnet. It is implemented by [VSID], [VLAN]
// and [RawPolicy].
type SubnetPolicy interface {
	policy
	subnetPolicy()
}

// RawPolicy is a policy as JSON: one of a type that has no struct here, or one
// whose settings hold something its struct could not give back.
type RawPolicy struct {
	// Type is the type name. HNS matches it ignoring case.
	Type string
	// Settings is the JSON of the settings; nil leaves the member out.
	Settings json.RawMessage
}

var (
	_ EndpointPolicy = RawPolicy{}
	_ NetworkPolicy  = RawPolicy{}
	_ SubnetPolicy   = RawPolicy{}
)

// String returns the type and the JSON of the settings, shortened if long, for
// logs of whole objects. It holds what the policy holds: an Encryption policy
// has keys.
func (p RawPolicy) String() string {
	return strings.TrimSpace(p.Type + " " + clip(string(p.Settings), 300))
}

// PolicyType returns p.Type.
func (p RawPolicy) PolicyType() string { return p.Type }
func (RawPolicy) endpointPolicy()      {}
func (RawPolicy) networkPolicy()       {}
func (RawPolicy) subnetPolicy()        {}

func (p RawPolicy) settings() any {
	if len(p.Settings) == 0 {
		return nil
	}
	return p.Settings
}

func (p RawPolicy) check() []*FieldError {
	if p.Type == "" {
		return []*FieldError{{Path: "Type", Reason: "missing"}}
	}
	if len(p.Settings) > 0 && !json.Valid(p.Settings) {
		return []*FieldError{{Path: "Settings", Value: clip(string(p.Settings), 64), Reason: "not JSON"}}
	}
	return nil
}

// PoliciesOf returns the policies of one type, in order:
//
//	nat := hns.PoliciesOf[hns.OutBoundNAT](ep.Policies)
//
// Policies that were kept as RawPolicy are not among them.
func PoliciesOf[T any, P interface{ PolicyType() string }](ps []P) []T {
	var out []T
	for _, p := range ps {
		if t, ok := any(p).(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// HasPolicy reports whether a policy of that type name is there, as its struct
// or raw. Letter case is ignored.
func HasPolicy[P interface{ PolicyType() string }](ps []P, typeName string) bool {
	return slices.ContainsFunc(ps, func(p P) bool { return noValue(p) == nil && strings.EqualFold(p.PolicyType(), typeName) })
}

// DecodeEndpointPolicy reads {"Type": …, "Settings": …} into the struct of its
// type, or into a [RawPolicy] where the struct would lose something. The error,
// which matches [ErrInvalidPolicy], is for what is no such object, and for
// members beside Type and Settings, as schema 1 has them, which the result
// could not hold. Values that the type's struct cannot hold are no error here;
// writing them is (see [CheckEndpointPolicy]).
func DecodeEndpointPolicy(doc []byte) (EndpointPolicy, error) {
	var unread []Unread
	r := newReader(doc, &unread)
	if len(unread) > 0 || r.str("Type") == "" {
		return nil, policyError{fieldErrors{{Path: "Type", Value: clip(string(doc), 64), Reason: "a policy is an object with a Type"}}}
	}
	if bad := besidePolicy(r); len(bad) > 0 {
		return nil, policyError{bad}
	}
	return decodePolicy(r, endpointPolicies), nil
}

// besidePolicy returns the members that are neither Type nor Settings.
func besidePolicy(r reader) fieldErrors {
	var bad fieldErrors
	for _, name := range r.others("Type", "Settings") {
		bad = append(bad, &FieldError{Path: name, Value: clip(string(r.raw(name)), 64), Reason: "stands beside Settings; schema 2 wants the members of a policy inside"})
	}
	return bad
}

// CheckEndpointPolicy returns what HNS is known to refuse in p, as
// *[FieldError]s joined, with paths that start at the policy; nil if nothing
// is wrong. The error matches [ErrInvalidPolicy]. A RawPolicy of a type that
// has a struct is judged as that type.
func CheckEndpointPolicy(p EndpointPolicy) error {
	if bad := checkPolicy(p, endpointPolicies); len(bad) > 0 {
		return policyError{bad}
	}
	return nil
}

// policyError is complaints about one policy, whose paths do not tell that it
// is one.
type policyError struct{ fieldErrors }

func (e policyError) Unwrap() error { return e.fieldErrors }

func (policyError) Is(target error) bool { return target == ErrInvalidPolicy }

// decoders turn settings into the struct of a type, by type name in small
// letters. They hold every type of the schema, nil where it has no struct.
type decoders[P policy] map[string]func(reader) P

// decodePolicy never fails: r is an object.
func decodePolicy[P policy](r reader, known decoders[P]) P {
	raw := RawPolicy{Type: r.str("Type"), Settings: slices.Clone(r.raw("Settings"))}
	dec := known[strings.ToLower(raw.Type)]
	if dec == nil {
		return any(raw).(P)
	}
	if raw.Settings == nil {
		if p := dec(reader{}); needsNoSettings(p) { // HNS leaves out what is zero
			return p
		}
		return any(raw).(P)
	}
	var unread []Unread
	p := dec(newReader(raw.Settings, &unread))
	if again, err := encode(p.settings()); len(unread) == 0 && err == nil && sameJSON(raw.Settings, again) {
		return p
	}
	return any(raw).(P)
}

// needsNoSettings tells the types without members from those that HNS refuses
// without settings.
func needsNoSettings[P policy](p P) bool { return p.settings() == any(struct{}{}) }

func readPolicies[P policy](r reader, known decoders[P]) []P {
	var out []P
	r.list("Policies", func(e reader) {
		out = append(out, decodePolicy(e, known))
		for _, name := range e.others("Type", "Settings") {
			e.note(name, "not inside Settings")
		}
	})
	return out
}

type wirePolicy struct {
	Type     string
	Settings any `json:",omitempty"`
}

// wirePolicies refuses only what has no text at all.
func wirePolicies[P policy](ps []P) ([]wirePolicy, error) {
	var out []wirePolicy
	for i, p := range ps {
		if bad := noValue(p); bad != nil {
			return nil, bad.in(fmt.Sprintf("Policies[%d]", i))
		}
		out = append(out, wirePolicy{Type: p.PolicyType(), Settings: p.settings()})
	}
	return out, nil
}

// noValue refuses nil and pointers: they satisfy the interfaces by accident of
// Go, and a nil one would panic.
func noValue(p any) *FieldError {
	if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Pointer {
		return &FieldError{Reason: fmt.Sprintf("a policy is a value, not %T", p)}
	}
	return nil
}

func checkPolicies[P policy](ps []P, known decoders[P]) []*FieldError {
	var bad []*FieldError
	for i, p := range ps {
		of := checkPolicy(p, known)
		if noValue(p) == nil && onlyOnce[strings.ToLower(p.PolicyType())] && HasPolicy(ps[:i], p.PolicyType()) {
			of = append(of, &FieldError{Path: "Type", Value: p.PolicyType(), Reason: "a second one, HNS takes one alone", Rule: "once"})
		}
		bad = append(bad, under(fmt.Sprintf("Policies[%d]", i), of)...)
	}
	return bad
}

// onlyOnce are the types, in small letters, that an object may have one of
// (HCN_INTERFACEPARAMETERS_ALREADY_APPLIED).
var onlyOnce = map[string]bool{"interfaceparameters": true}

// checkPolicy judges raw settings of a known type by its struct.
func checkPolicy[P policy](p P, known decoders[P]) []*FieldError {
	if bad := noValue(p); bad != nil {
		return []*FieldError{bad}
	}
	raw, ok := any(p).(RawPolicy)
	if !ok {
		return under("Settings", p.check())
	}
	if bad := raw.check(); bad != nil {
		return bad
	}
	dec, inSchema := known[strings.ToLower(raw.Type)]
	if !inSchema {
		return []*FieldError{{Path: "Type", Value: clip(raw.Type, 64), Reason: "not a policy type that HNS has here", Rule: "policy-type"}}
	}
	if dec == nil {
		return nil
	}
	if len(raw.Settings) == 0 {
		if needsNoSettings(dec(reader{})) {
			return nil
		}
		return []*FieldError{{Path: "Settings", Reason: "missing; schema 2 wants the members of a policy inside Settings"}}
	}
	var unread []Unread
	r := newReader(raw.Settings, &unread)
	typed := dec(r)
	bad := unreadable(unread)
	if len(bad) == 0 {
		bad = append(checkNames(r, raw.Type), typed.check()...)
	}
	return under("Settings", bad)
}

// RuleSchema1Name is the Rule of the complaint about a member of a policy that has
// its name of schema 1.
const RuleSchema1Name = "schema1-name"

// schema1Names are names of schema 1, by type in small letters, that schema 2
// passes over without a word: the pods' traffic was translated for want of
// exceptions (projectcalico/cni-plugin#1067), and a rule for one port is one
// for all.
var schema1Names = map[string]map[string]string{
	"acl":         {"Protocol": "Protocols", "LocalPort": "LocalPorts", "RemotePort": "RemotePorts"},
	"outboundnat": {"ExceptionList": "Exceptions", "VIP": "VirtualIP"},
}

func checkNames(r reader, typeName string) []*FieldError {
	var bad []*FieldError
	for old, name := range schema1Names[strings.ToLower(typeName)] {
		if v := r.raw(old); v != nil {
			bad = append(bad, &FieldError{Path: old, Value: clip(string(v), 64), Reason: "a name of schema 1; schema 2 has " + name, Rule: RuleSchema1Name})
		}
	}
	slices.SortFunc(bad, func(a, b *FieldError) int { return strings.Compare(a.Path, b.Path) })
	return bad
}

func under(prefix string, bad []*FieldError) []*FieldError {
	var out []*FieldError
	for _, e := range bad {
		out = append(out, e.in(prefix))
	}
	return out
}
