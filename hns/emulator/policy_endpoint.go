package emulator

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// endpointPolicies are the endpoint policies of the HNS schema
// (EndpointPolicyType). Types without a check are stored and shown.
var endpointPolicies = tableOf(
	policyType{name: "PortMapping", settings: checkPortMapping},
	policyType{name: "ACL", settings: checkACL},
	policyType{name: "QOS", settings: checkQOS},
	policyType{name: "L2Driver", bare: true},
	policyType{name: "OutBoundNAT", settings: checkOutBoundNAT},
	policyType{name: "SDNRoute", settings: checkSDNRoute},
	policyType{name: "L4Proxy", since: hasL4Proxy},
	policyType{name: "L4WFPPROXY", since: hasL4WFPProxy},
	policyType{name: "ProviderAddress", settings: checkProviderAddress},
	policyType{name: "PortName"},
	policyType{name: "EncapOverhead", settings: checkEncapOverhead},
	policyType{name: "InterfaceConstraint"},
	policyType{name: "Encryption"},
	policyType{name: "VLAN", settings: checkVLAN},
	policyType{name: "InterfaceParameters"},
	policyType{name: "Iov"},
	policyType{name: "TierAcl", since: hasTierACL, settings: checkTierACL},
	policyType{name: "Firewall", since: hasFirewall},
)

// protocols are the names of ProtocolType (IANA numbers). HNS takes the number
// and, as for every enumeration, the name.
var protocols = map[string]uint32{"unknown": 0, "icmpv4": 1, "igmp": 2, "tcp": 6, "udp": 17, "icmpv6": 58}

func (r *reader) protocol(name string) uint32 {
	raw := r.get(name)
	if len(raw) == 0 || raw[0] != '"' {
		return r.uint32(name)
	}
	s := r.str(name)
	if n, ok := protocols[strings.ToLower(s)]; ok {
		return n
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		r.bad = true
	}
	return uint32(n)
}

const natFlagIPv6 = 2

// natFlags are the names of NatFlags.
var natFlags = map[string]uint32{"none": 0, "localroutedvip": 1, "ipv6": natFlagIPv6, "externalportreserved": 4}

// readPortMapping fills in the key of a port mapping.
func readPortMapping(r *reader, p *policy) {
	key := portKey{protocol: r.protocol("Protocol"), port: r.uint16("ExternalPort")}
	p.vip = r.str("VIP")
	a, ok := parseAddress(p.vip)
	if ok {
		p.vip = a.String()
		if a.IsUnspecified() {
			p.vip = ""
		}
	}
	key.v6 = a.Is6() || r.flags("Flags", natFlags)&natFlagIPv6 != 0
	if key.port != 0 {
		p.port = key
	}
}

func checkPortMapping(c *check) error {
	switch c.network.kind {
	case typeTransparent, typePrivate, typeInternal:
		return failure(hns.CodeMappingNotSupported)
	}
	readPortMapping(&c.reader, c.p)
	internal := c.uint16("InternalPort")
	if _, ok := parseAddress(c.p.vip); !ok && c.p.vip != "" {
		c.bad = true
	}
	switch c.protocol("Protocol") {
	case 1, 2, 6, 17, 58:
	default:
		c.bad = true
	}
	if !c.bad && internal == 0 {
		return failure(hns.CodeInvalidInternalPort)
	}
	return nil
}

var (
	aclActions    = []string{"Allow", "Block"}
	tierActions   = []string{"Allow", "Block", "Pass"}
	aclDirections = []string{"In", "Out"}
	aclRuleTypes  = []string{"Host", "Switch"}
)

func checkACL(c *check) error {
	c.checkRule("Action", aclActions)
	if _, ok := c.enum("Direction", aclDirections); !ok || c.get("Direction") == nil {
		c.bad = true
	}
	if _, ok := c.enum("RuleType", aclRuleTypes); !ok && c.str("RuleType") != "" {
		c.bad = true
	}
	return nil
}

// checkRule judges what an ACL and a rule of a TierAcl have in common.
func (c *check) checkRule(action string, actions []string) {
	if _, ok := c.enum(action, actions); !ok || c.get(action) == nil {
		c.bad = true
	}
	c.str("Id")
	c.uint16("Priority")
	c.checkProtocols(c.get("Protocols"))
	for _, name := range []string{"LocalAddresses", "RemoteAddresses"} {
		c.checkAddresses(c.str(name))
	}
	for _, name := range []string{"LocalPorts", "RemotePorts"} {
		c.checkPortList(c.str(name))
	}
}

// checkProtocols takes a list of numbers by comma, as text; one number may
// stand as a number. It is no enumeration, so names are nothing.
func (c *check) checkProtocols(raw []byte) {
	if len(raw) == 0 {
		return
	}
	if raw[0] != '"' {
		c.checkProtocol(uint64(c.uint16("Protocols")))
		return
	}
	for _, s := range splitList(c.str("Protocols")) {
		n, err := strconv.ParseUint(s, 10, 16)
		if err != nil {
			c.bad = true
		}
		c.checkProtocol(n)
	}
}

// checkProtocol takes the numbers of protocols, 256 for any of them. 252, the
// helper protocol of VXLAN, is newer.
func (c *check) checkProtocol(n uint64) {
	if n > 256 || n == 252 && !hasProtocol252.has(c.version) {
		c.bad = true
	}
}

// checkAddresses takes a list of addresses, prefixes and ids of address sets
// of the network. The empty list is any address; the word Any is none of them.
func (c *check) checkAddresses(s string) {
	for _, a := range splitList(s) {
		_, hostBits, ok := parsePrefixOrAddress(a)
		if !ok && !c.hasSet(a) || hostBits && !c.opts.ACLHostBits {
			c.bad = true
		}
	}
}

func (c *check) checkPortList(s string) {
	for _, p := range splitList(s) {
		lo, hi, isRange := strings.Cut(p, "-")
		a, errA := strconv.ParseUint(lo, 10, 16)
		b, errB := a, error(nil)
		if isRange {
			b, errB = strconv.ParseUint(hi, 10, 16)
		}
		if errA != nil || errB != nil || b < a {
			c.bad = true
		}
	}
}

func splitList(s string) (out []string) {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	for _, e := range strings.Split(s, ",") {
		out = append(out, strings.TrimSpace(e))
	}
	return out
}

func checkQOS(c *check) error {
	var n uint64
	c.decode("MaximumOutgoingBandwidthInBytes", &n)
	return nil
}

// checkOutBoundNAT judges the exceptions: text that is no prefix leaves the
// endpoint degraded, host bits are refused by newer HNS.
func checkOutBoundNAT(c *check) error {
	if vip := c.str("VirtualIP"); vip != "" {
		if _, ok := parseAddress(vip); !ok {
			c.bad = true
		}
	}
	c.uint16("MaxPortPoolUsage")
	c.flags("Flags", natFlags)
	for _, list := range []string{"Exceptions", "Destinations"} {
		for _, s := range c.strings(list) {
			_, hostBits, ok := parsePrefixOrAddress(s)
			if err := c.placeholder(ok); err != nil {
				return err
			}
			if ok && hostBits && hostBitsRefused.has(c.version) {
				c.bad = true
			}
		}
	}
	return nil
}

// placeholder deals with a prefix that does not parse.
func (c *check) placeholder(ok bool) error {
	if ok {
		return nil
	}
	if c.opts.RefuseBadPrefix {
		return failure(hns.CodeInvalidPolicy)
	}
	c.p.degraded = true
	return nil
}

func checkSDNRoute(c *check) error {
	dst := c.str("DestinationPrefix")
	if dst == "" {
		c.bad = true
		return nil
	}
	if hop := c.str("NextHop"); hop != "" {
		if _, ok := parseAddress(hop); !ok {
			c.bad = true
		}
	}
	c.boolean("NeedEncap")
	_, _, ok := parsePrefixOrAddress(dst)
	return c.placeholder(ok)
}

func checkProviderAddress(c *check) error {
	if _, ok := parseAddress(c.str("ProviderAddress")); !ok {
		c.bad = true
	}
	return nil
}

func checkEncapOverhead(c *check) error {
	c.uint16("Overhead")
	return nil
}

func checkVLAN(c *check) error {
	if n := c.uint32("IsolationId"); n < 1 || n > 4094 {
		c.bad = true
	}
	return nil
}

func checkTierACL(c *check) error {
	c.str("Name")
	c.uint16("Order")
	if _, ok := c.enum("Direction", aclDirections); !ok {
		c.bad = true
	}
	for _, rule := range c.objects("TierAclRules") {
		r := *c
		r.reader = rule
		r.checkRule("TierAclRuleAction", tierActions)
		c.bad = c.bad || r.bad
	}
	return nil
}

// onlyOnce refuses a second policy of the types that an endpoint may have once.
func onlyOnce(ps []policy) error {
	seen := map[string]bool{}
	for _, p := range ps {
		if seen[p.kind] {
			switch p.kind {
			case "InterfaceParameters":
				return failure(hns.CodeInterfaceParametersExists)
			case "ProviderAddress":
				return failure(hns.CodePolicyExists)
			}
		}
		seen[p.kind] = true
	}
	return nil
}

// modifyEndpointPolicies returns the endpoint's policies after a request.
func (tx *tx) modifyEndpointPolicies(n *network, old []policy, request int, r *reader) ([]policy, error) {
	raws := r.array("Policies")
	if r.bad {
		return nil, failure(hns.CodeInvalidJSON)
	}
	ps, err := tx.readPolicies(endpointPolicies, n, inModify, raws)
	if err != nil {
		return nil, err
	}
	switch request {
	case requestAdd:
		return concat(old, ps), nil
	case requestUpdate:
		return concat(tx.without(old, ps), ps), nil
	case requestRemove:
		return removePolicies(old, ps, func(p, q policy) bool {
			return p.kind == q.kind && equalJSON(orEmpty(p.settings), orEmpty(q.settings))
		})
	case requestRefresh:
		return old, nil
	}
	return nil, failure(hns.CodeRequestUnsupported)
}

func concat(a, b []policy) []policy {
	return append(a[:len(a):len(a)], b...)
}

// removePolicies drops from old the first policy that matches each of ps.
func removePolicies(old, ps []policy, match func(p, q policy) bool) ([]policy, error) {
	out := append([]policy(nil), old...)
	for _, q := range ps {
		found := false
		for i, p := range out {
			if match(p, q) {
				out = append(out[:i], out[i+1:]...)
				found = true
				break
			}
		}
		if !found {
			return nil, failure(hns.CodePolicyNotFound)
		}
	}
	return out, nil
}

func orEmpty(raw []byte) []byte {
	if raw == nil {
		return []byte("{}")
	}
	return raw
}

// addressText returns the canonical text of an address, or s.
func addressText(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.String()
	}
	return s
}
