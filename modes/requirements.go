package modes

import (
	"fmt"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// Requirement is something that HNS must have for a document. Ask for it by
// [hns.Client.Require] before the first change, so that nothing is half made on
// a Windows that is too old.
type Requirement struct {
	Feature hns.Feature
	// Path leads to what needs it, in the names of the HNS schema; empty if it
	// is the whole.
	Path string
	// Reason says why.
	Reason string
}

// String returns "IPv6DualStack for Ipams[0].Subnets[1]: …".
func (r Requirement) String() string {
	s := r.Feature.Name
	if r.Path != "" {
		s += " for " + r.Path
	}
	return s + ": " + r.Reason
}

// Requirements returns what HNS must have for the network and for the policies
// that are added to it, each feature once, in the order of the document.
func (p *NetworkPlan) Requirements() []Requirement {
	r := requirements{{Feature: hns.FeatureV2API, Reason: "documents of schema 2"}}
	if p == nil || p.Network == nil {
		return r
	}
	n := p.Network
	mode, _ := ModeOf(n.Type)
	if mode == Overlay {
		r.add(hns.FeatureRemoteSubnet, "Type", "other nodes are reached by RemoteSubnetRoute policies")
	}
	networkPolicyNeeds(&r, "Policies", mode, n.Policies)
	for i, ipam := range n.IPAMs {
		for j, s := range ipam.Subnets {
			if bridged(mode) && isV6(s.Prefix.Addr()) {
				r.add(hns.FeatureDualStack, fmt.Sprintf("Ipams[%d].Subnets[%d]", i, j), "an IPv6 subnet")
			}
		}
	}
	if n.Flags&hns.NetworkDisableHostPort != 0 {
		r.add(hns.FeatureDisableHostPort, "Flags", "the flag DisableHostPort")
	}
	if n.Flags&hns.NetworkEnableIOV != 0 {
		r.add(hns.FeatureAccelnet, "Flags", "the flag EnableIov")
	}
	networkPolicyNeeds(&r, "AddPolicies", mode, p.AddPolicies)
	return r
}

// EndpointRequirements returns what HNS must have for an endpoint on a network
// of that mode, each feature once, in the order of the document.
func EndpointRequirements(mode Mode, e *hns.Endpoint) []Requirement {
	r := requirements{{Feature: hns.FeatureV2API, Reason: "documents of schema 2"}}
	if e == nil {
		return r
	}
	for i, p := range e.Policies {
		policyType, ok := typeOf(p)
		if !ok {
			continue
		}
		path := fmt.Sprintf("Policies[%d]", i)
		if f := mode.Rule(OnEndpoint, policyType).Feature; f.Name != "" {
			r.add(f, path, "the policy "+policyType)
		}
		if nat, ok := asOutBoundNAT(p); ok && len(nat.Destinations) > 0 && !nat.VirtualIP.IsValid() {
			r.add(hns.FeatureDSR, path, "the pod reaches itself through a service (loopback DSR)")
		}
	}
	for i, c := range e.IPConfigs {
		path := fmt.Sprintf("IpConfigurations[%d]", i)
		if bridged(mode) && isV6(c.Address) {
			r.add(hns.FeatureDualStack, path, "an IPv6 address")
		}
		if int(c.PrefixLength) == c.Address.BitLen() && c.Address.IsValid() {
			r.add(hns.FeatureSlash32EndpointPrefixes, path, fmt.Sprintf("a prefix length of %d", c.PrefixLength))
		}
	}
	return r
}

// bridged tells the modes whose IPv6 is a feature of HNS. On Transparent HNS
// does not look, and the others carry none.
func bridged(m Mode) bool { return m == L2Bridge || m == L2Tunnel }

func networkPolicyNeeds(r *requirements, path string, mode Mode, ps []hns.NetworkPolicy) {
	for i, p := range ps {
		policyType, ok := typeOf(p)
		if !ok {
			continue
		}
		if f := mode.Rule(OnNetwork, policyType).Feature; f.Name != "" {
			r.add(f, fmt.Sprintf("%s[%d]", path, i), "the policy "+policyType)
		}
	}
}

type requirements []Requirement

func (r *requirements) add(f hns.Feature, path, reason string) {
	if !slices.ContainsFunc(*r, func(have Requirement) bool { return have.Feature.Name == f.Name }) {
		*r = append(*r, Requirement{f, path, reason})
	}
}
