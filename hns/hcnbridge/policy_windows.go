package hcnbridge

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/Microsoft/hcsshim/hcn"

	"github.com/hnskit/hnskit/hns"
)

// Policies lose nothing either way: hcn holds settings as JSON, and hns keeps as
// [hns.RawPolicy] what a struct of its could not give back. Note that the structs
// that hcn has for settings do lose: RemoteSubnetRoutePolicySetting has 16 bits
// for a VNI, which has 24, and AclPolicySetting has no Id.

// EndpointPolicyFromHCN converts a policy of an endpoint. The error is for a
// policy without a type and for settings that are no JSON.
func EndpointPolicyFromHCN(h hcn.EndpointPolicy) (hns.EndpointPolicy, error) {
	doc, err := encode(h)
	if err != nil {
		return nil, fmt.Errorf("hcnbridge: policy %s: %w", h.Type, err)
	}
	return hns.DecodeEndpointPolicy(doc)
}

// EndpointPolicyToHCN converts a policy of an endpoint. The error is for nil and
// for a RawPolicy that is no JSON.
func EndpointPolicyToHCN(p hns.EndpointPolicy) (hcn.EndpointPolicy, error) {
	h, _, err := EndpointToHCN(&hns.Endpoint{Policies: []hns.EndpointPolicy{p}})
	if err != nil {
		return hcn.EndpointPolicy{}, err
	}
	return h.Policies[0], nil
}

// NetworkPolicyFromHCN converts a policy of a network, as
// [EndpointPolicyFromHCN] does.
func NetworkPolicyFromHCN(h hcn.NetworkPolicy) (hns.NetworkPolicy, error) {
	if h.Type == "" {
		return nil, errNoType
	}
	n, losses, err := NetworkFromHCN(&hcn.HostComputeNetwork{Policies: []hcn.NetworkPolicy{h}})
	if err != nil {
		return nil, err
	}
	return single(n.Policies, losses)
}

// NetworkPolicyToHCN converts a policy of a network, as [EndpointPolicyToHCN]
// does.
func NetworkPolicyToHCN(p hns.NetworkPolicy) (hcn.NetworkPolicy, error) {
	h, _, err := NetworkToHCN(&hns.Network{Policies: []hns.NetworkPolicy{p}})
	if err != nil {
		return hcn.NetworkPolicy{}, err
	}
	return h.Policies[0], nil
}

// SubnetPolicyFromHCN converts a policy of a subnet, as [EndpointPolicyFromHCN]
// does. In hcn.Subnet policies are JSON; this is for those that were not put
// there yet.
func SubnetPolicyFromHCN(h hcn.SubnetPolicy) (hns.SubnetPolicy, error) {
	if h.Type == "" {
		return nil, errNoType
	}
	doc, err := encode(h)
	if err != nil {
		return nil, fmt.Errorf("hcnbridge: policy %s: %w", h.Type, err)
	}
	n, losses, err := NetworkFromHCN(&hcn.HostComputeNetwork{Ipams: []hcn.Ipam{{Subnets: []hcn.Subnet{{Policies: []json.RawMessage{doc}}}}}})
	if err != nil {
		return nil, err
	}
	var ps []hns.SubnetPolicy
	for _, s := range n.Subnets() {
		ps = append(ps, s.Policies...)
	}
	return single(ps, losses)
}

// SubnetPolicyToHCN converts a policy of a subnet, as [EndpointPolicyToHCN] does.
func SubnetPolicyToHCN(p hns.SubnetPolicy) (hcn.SubnetPolicy, error) {
	h, _, err := NetworkToHCN(&hns.Network{IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Policies: []hns.SubnetPolicy{p}}}}}})
	if err != nil {
		return hcn.SubnetPolicy{}, err
	}
	var out hcn.SubnetPolicy
	err = json.Unmarshal(h.Ipams[0].Subnets[0].Policies[0], &out)
	return out, err
}

var errNoType = fmt.Errorf("hcnbridge: %w", &hns.FieldError{Path: "Type", Reason: "a policy has one"})

func single[P any](ps []P, losses []Loss) (P, error) {
	if len(ps) == 1 {
		return ps[0], nil
	}
	var none P
	bad := []error{errors.New("hcnbridge: not a policy")}
	for _, l := range losses {
		bad = append(bad, &hns.FieldError{Path: l.Path, Value: l.Value, Reason: "cannot be read"})
	}
	return none, errors.Join(bad...)
}
