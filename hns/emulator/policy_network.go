package emulator

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// networkPolicies are the network policies of the HNS schema
// (NetworkPolicyType). Types without a check are stored and shown.
var networkPolicies = tableOf(
	policyType{name: "SourceMacAddress", only: inCreate + 1, settings: macSetting("SourceMacAddress")},
	policyType{name: "NetAdapterName", only: inCreate + 1, settings: textSetting("NetworkAdapterName")},
	policyType{name: "InterfaceConstraint", only: inCreate + 1},
	policyType{name: "VSwitchExtension", settings: checkExtension},
	policyType{name: "ProviderAddress", settings: checkProviderAddress},
	policyType{name: "DrMacAddress", settings: macSetting("Address")},
	policyType{name: "AutomaticDNS", bare: true, only: inCreate + 1},
	policyType{name: "RemoteSubnetRoute", since: hasRemoteSubnet, settings: checkRemoteSubnetRoute},
	policyType{name: "VxlanPort", since: hasVxlanPort, only: inCreate + 1, settings: checkVxlanPort},
	policyType{name: "HostRoute", since: hasRemoteSubnet, bare: true},
	policyType{name: "SetPolicy", since: hasSetPolicy, only: inModify + 1, settings: checkSetPolicy},
	policyType{name: "L4Proxy", since: hasL4Proxy},
	policyType{name: "LayerConstraint", only: inCreate + 1, settings: checkLayerConstraint},
	policyType{name: "NetworkACL", since: hasNetworkACL, settings: checkACL},
	policyType{name: "NeighborDiscovery"},
)

func macSetting(name string) func(*check) error {
	return func(c *check) error {
		if _, err := hns.ParseMAC(c.str(name)); err != nil {
			c.bad = true
		}
		return nil
	}
}

func textSetting(name string) func(*check) error {
	return func(c *check) error {
		if c.str(name) == "" {
			c.bad = true
		}
		return nil
	}
}

// checkLayerConstraint refuses every layer: the emulator shows none by id.
func checkLayerConstraint(*check) error { return failure(hns.CodeLayerNotFound) }

func checkVxlanPort(c *check) error {
	if c.uint16("Port") == 0 {
		c.bad = true
	}
	return nil
}

func checkRemoteSubnetRoute(c *check) error {
	if c.network.kind != typeOverlay {
		return failure(hns.CodeInvalidNetworkType)
	}
	if _, err := netip.ParsePrefix(c.str("DestinationPrefix")); err != nil && !c.bad {
		return failure(hns.CodeInvalidPrefix)
	}
	if _, ok := parseAddress(c.str("ProviderAddress")); !ok {
		c.bad = true
	}
	if _, err := hns.ParseMAC(c.str("DistributedRouterMacAddress")); err != nil {
		c.bad = true
	}
	c.uint32("IsolationId")
	return nil
}

// remoteSubnet is a RemoteSubnetRoute in a form to compare.
type remoteSubnet struct {
	prefix, provider string
	isolation        uint32
	mac              hns.MAC
}

func (p policy) remoteSubnet() (rs remoteSubnet) {
	o, err := parseObject(p.settings)
	if err != nil {
		return rs
	}
	r := reader{object: o}
	rs.prefix = r.str("DestinationPrefix")
	if x, err := netip.ParsePrefix(rs.prefix); err == nil {
		rs.prefix = x.Masked().String()
	}
	rs.provider = addressText(r.str("ProviderAddress"))
	rs.isolation = r.uint32("IsolationId")
	rs.mac, _ = hns.ParseMAC(r.str("DistributedRouterMacAddress"))
	return rs
}

var setTypes = []string{"IPSET", "NESTEDIPSET"}

func checkSetPolicy(c *check) error {
	if c.str("Id") == "" {
		c.bad = true
	}
	c.str("Name")
	if _, ok := c.enum("PolicyType", setTypes); !ok {
		c.bad = true
	}
	c.str("Values")
	return nil
}

// addressSet is a SetPolicy.
type addressSet struct {
	id     string // lower case
	nested bool
	values []string
}

func (p policy) addressSet() (s addressSet) {
	o, err := parseObject(p.settings)
	if err != nil || p.kind != "SetPolicy" {
		return s
	}
	r := reader{object: o}
	s.id = strings.ToLower(r.str("Id"))
	n, _ := r.enum("PolicyType", setTypes)
	s.nested = n == 1
	s.values = splitList(strings.ToLower(r.str("Values")))
	return s
}

// hasSet reports whether the network has an address set of the id.
func (c *check) hasSet(id string) bool {
	return c.network != nil && findSet(c.network.policies, strings.ToLower(id)) >= 0
}

func findSet(ps []policy, id string) int {
	return slices.IndexFunc(ps, func(p policy) bool { return p.kind == "SetPolicy" && p.addressSet().id == id })
}

// addNetworkPolicies returns old and ps together, as an Add makes them.
func addNetworkPolicies(old, ps []policy) ([]policy, error) {
	out := concat(old, nil)
	var prefixes map[string]bool // of remote subnets; they are many
	for _, p := range ps {
		switch p.kind {
		case "RemoteSubnetRoute":
			if prefixes == nil {
				prefixes = remotePrefixes(out)
			}
			prefix := p.remoteSubnet().prefix
			if prefixes[prefix] {
				return nil, failure(hns.CodePolicyExists)
			}
			prefixes[prefix] = true
		case "HostRoute":
			if slices.ContainsFunc(out, func(q policy) bool { return q.kind == p.kind }) {
				continue
			}
		case "SetPolicy":
			var err error
			if out, err = putSet(out, p, true); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, p)
	}
	return out, nil
}

// remotePrefixes are the destinations of the RemoteSubnetRoute policies.
func remotePrefixes(ps []policy) map[string]bool {
	out := map[string]bool{}
	for _, p := range ps {
		if p.kind == "RemoteSubnetRoute" {
			out[p.remoteSubnet().prefix] = true
		}
	}
	return out
}

// putSet adds an address set or replaces the values of the one with its id. A
// nested set may name only sets that exist.
func putSet(ps []policy, p policy, add bool) ([]policy, error) {
	set := p.addressSet()
	i := findSet(ps, set.id)
	if i < 0 && !add {
		return ps, nil
	}
	if set.nested {
		for _, v := range set.values {
			if findSet(ps, v) < 0 {
				return nil, failure(hns.CodeInvalidPolicy)
			}
		}
	}
	if i < 0 {
		return concat(ps, []policy{p}), nil
	}
	out := slices.Clone(ps)
	out[i] = p
	return out, nil
}

// removeSet drops an address set, unless a nested one names it.
func removeSet(ps []policy, p policy) ([]policy, error) {
	id := p.addressSet().id
	i := findSet(ps, id)
	if i < 0 {
		return nil, failure(hns.CodePolicyNotFound)
	}
	for _, q := range ps {
		if s := q.addressSet(); s.nested && s.id != id && slices.Contains(s.values, id) {
			return nil, failure(hns.CodeHasReferences)
		}
	}
	return slices.Delete(slices.Clone(ps), i, i+1), nil
}

// updateNetworkPolicies returns the policies after an Update: sets get new
// values, of the other types those named are replaced.
func (tx *tx) updateNetworkPolicies(old, ps []policy) ([]policy, error) {
	var sets, others []policy
	for _, p := range ps {
		if p.kind == "SetPolicy" {
			sets = append(sets, p)
		} else {
			others = append(others, p)
		}
	}
	out := old
	var err error
	if len(others) > 0 {
		if out, err = addNetworkPolicies(tx.without(old, others), others); err != nil {
			return nil, err
		}
	}
	for _, p := range sets {
		if out, err = putSet(out, p, false); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// modifyNetworkPolicies returns the network's policies after a request.
func (tx *tx) modifyNetworkPolicies(n *network, request int, r *reader) ([]policy, error) {
	raws := r.array("Policies")
	if r.bad {
		return nil, failure(hns.CodeInvalidJSON)
	}
	ps, err := tx.readPolicies(networkPolicies, n, inModify, raws)
	if err != nil {
		return nil, err
	}
	switch request {
	case requestAdd:
		return addNetworkPolicies(n.policies, ps)
	case requestUpdate:
		return tx.updateNetworkPolicies(n.policies, ps)
	case requestRefresh:
		return n.policies, nil
	case requestRemove:
		out, same := n.policies, networkPolicyMatcher()
		for _, p := range ps {
			if p.kind == "SetPolicy" {
				out, err = removeSet(out, p)
			} else {
				out, err = removePolicies(out, []policy{p}, same)
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, failure(hns.CodeRequestUnsupported)
}

// networkPolicyMatcher returns what tells whether two policies are the same to a
// remove. It reads each remote subnet once: there are as many as nodes.
func networkPolicyMatcher() func(p, q policy) bool {
	read := map[string]remoteSubnet{}
	remote := func(p policy) remoteSubnet {
		rs, ok := read[string(p.settings)]
		if !ok {
			rs = p.remoteSubnet()
			read[string(p.settings)] = rs
		}
		return rs
	}
	return func(p, q policy) bool {
		switch {
		case p.kind != q.kind:
			return false
		case p.kind == "HostRoute":
			return true
		case p.kind == "RemoteSubnetRoute":
			return remote(p) == remote(q)
		}
		return equalJSON(orEmpty(p.settings), orEmpty(q.settings))
	}
}
