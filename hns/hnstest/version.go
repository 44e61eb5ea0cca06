package hnstest

import (
	"encoding/json"
	"fmt"

	"github.com/hnskit/hnskit/hns"
)

// gated is something that only some versions take. The ranges are those of
// package hns, the answer of an older HNS is the case's.
type gated struct {
	name     string
	sure     Certainty // of the refusal by an older HNS
	taken    Certainty // of the rest
	source   string
	external bool
	feature  hns.Feature
	older    hns.Code
	ask      func(b *bench, step string, want hns.Code)
}

// onNetwork asks for a policy on a network made for it.
func onNetwork(network func(*bench) object, verb, p string) func(*bench, string, hns.Code) {
	return func(b *bench, step string, want hns.Code) {
		n := network(b)
		b.modify(step, hns.KindNetwork, n.id, request(verb, "Policy", members(policies(p))), want)
	}
}

// onEndpoint asks for a policy on an endpoint made for it.
func onEndpoint(network func(*bench) object, p string) func(*bench, string, hns.Code) {
	return func(b *bench, step string, want hns.Code) {
		ep := b.endpoint(network(b).id, "ep")
		b.modify(step, hns.KindEndpoint, ep.id, request("Add", "Policy", members(policies(p))), want)
	}
}

func plainNAT(b *bench) object     { return b.nat() }
func plainBridge(b *bench) object  { return b.bridge() }
func plainOverlay(b *bench) object { return b.overlay() }

const acl = `{"Protocols":"6","Action":"Block","Direction":"In","LocalAddresses":"10.231.1.7","RemoteAddresses":"10.0.0.5","LocalPorts":"80,8080","RemotePorts":"80","RuleType":"Switch","Priority":200}`

const tierACL = `{"Name":"tier","Direction":"In","Order":1,"TierAclRules":[{"Id":"r","Protocols":"6","TierAclRuleAction":"Pass","LocalPorts":"80","Priority":200}]}`

const hcsshimTable = "microsoft/hcsshim hcnglobals.go"

func gates() []gated {
	return []gated{
		{"host route", Client, Tested, "flannel-io/flannel vxlan_network_windows.go", true, hns.FeatureHostRoute, hns.CodeInvalidPolicyType,
			onNetwork(plainOverlay, "Add", policy("HostRoute", "{}"))},
		{"remote subnet route", Client, Tested, "flannel-io/flannel vxlan_network_windows.go", true, hns.FeatureRemoteSubnet, hns.CodeInvalidPolicyType,
			onNetwork(plainOverlay, "Add", policy("RemoteSubnetRoute", remoteSubnet))},
		{"network ACL", Client, Tested, hcsshimTable, true, hns.FeatureNetworkACL, hns.CodeInvalidPolicyType,
			onNetwork(plainOverlay, "Add", policy("NetworkACL", acl))},
		{"set policy", Client, Client, hcsshimTable, true, hns.FeatureSetPolicy, hns.CodeInvalidPolicyType,
			onNetwork(plainBridge, "Add", policy("SetPolicy", ipSet("one", "IPSET", "10.0.0.1")))},
		{"VXLAN port", Client, Client, hcsshimTable, true, hns.FeatureVXLANPort, hns.CodeInvalidPolicyType, func(b *bench, step string, want hns.Code) {
			doc := b.networkDoc("vxlan", "Overlay", []string{policy("VxlanPort", `{"Port":4790}`)}, ipams(subnet(prefix(1), host(1, 1), vsid(5001))))
			b.answers(step, createNetwork(doc), want)
		}},
		{"L4 WFP proxy", Client, Tested, hcsshimTable, false, hns.FeatureL4WFPProxy, hns.CodeInvalidPolicyType,
			onEndpoint(plainNAT, policy("L4WFPPROXY", wfpProxy))},
		{"L4 proxy", Client, Client, hcsshimTable, true, hns.FeatureL4Proxy, hns.CodeInvalidPolicyType,
			onEndpoint(plainBridge, policy("L4Proxy", `{"IP":"10.231.1.9","Port":"15001","Protocol":6}`))},
		{"tiers of ACLs", Client, Tested, hcsshimTable, true, hns.FeatureTierACL, hns.CodeInvalidPolicyType,
			onEndpoint(plainBridge, policy("TierAcl", tierACL))},
		{"ACL protocol 252", Assumed, Client, hcsshimTable, false, hns.FeatureACLProtocol252, hns.CodeInvalidPolicy,
			onEndpoint(plainNAT, policy("ACL", `{"Protocols":"252","Action":"Block","Direction":"Out","Priority":200}`))},
		{"address with all bits", Assumed, Client, hcsshimTable, false, hns.FeatureSlash32EndpointPrefixes, hns.CodeInvalidParameter, func(b *bench, step string, want hns.Code) {
			b.answers(step, b.endpointReq(b.nat().id, "ep", `"IpConfigurations":[{"IpAddress":"10.231.1.7","PrefixLength":32}]`), want)
		}},
		{"IPv6 on a bridge", Assumed, Client, "Windows container network drivers", true, hns.FeatureDualStack, hns.CodeInvalidParameter, func(b *bench, step string, want hns.Code) {
			doc := b.networkDoc("dual", "L2Bridge", nil, ipams(subnet(prefix(1), host(1, 1)), subnet("fd00:231:0:1::/64", "fd00:231:0:1::1")))
			b.answers(step, createNetwork(doc), want)
		}},
		{"direct server return", Assumed, Client, hcsshimTable, true, hns.FeatureDSR, hns.CodeInvalidParameter, func(b *bench, step string, want hns.Code) {
			ep := b.endpoint(b.overlay().id, "ep")
			b.answers(step, createOf(hns.KindLoadBalancer, b.balancerDoc("lb", []hns.ID{ep.id}, `"Flags":1`, vips("10.96.0.1"), ports(6, 80, 80))), want)
		}},
		{"change of a load balancer", Seen, Seen, "microsoft/hnslib hcnloadbalancer_test.go", true, modifyBalancer, hns.CodeNotImplemented, func(b *bench, step string, want hns.Code) {
			ep := b.endpoint(b.overlay().id, "ep")
			doc := b.balancerDoc("lb", []hns.ID{ep.id}, vips("10.96.0.1"), ports(6, 80, 80))
			b.modify(step, hns.KindLoadBalancer, b.create(createOf(hns.KindLoadBalancer, doc)).id, doc, want)
		}},
		{"accelerated networking", Client, Client, hcsshimTable, false, hns.FeatureAccelnet, hns.CodeRequestUnsupported, func(b *bench, step string, want hns.Code) {
			b.answers(step, hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/accelnet/"}, want)
		}},
	}
}

// modifyBalancer is taken from HNS 15.4 on; that 15.4 may do nothing is
// another question, see kubernetes/kubernetes#131466.
var modifyBalancer = hns.Feature{Name: "ModifyLoadbalancer", Versions: []hns.VersionRange{{From: hns.Version{Major: 15, Minor: 4}}}}

const (
	remoteSubnet = `{"DestinationPrefix":"192.168.2.0/24","IsolationId":5001,"ProviderAddress":"192.0.2.77","DistributedRouterMacAddress":"00-12-34-56-78-9A"}`
	wfpProxy     = `{"InboundProxyPort":"15006","OutboundProxyPort":"15001","FilterTuple":{"Protocols":"6","Priority":1},"UserSID":"S-1-5-32-556","InboundExceptions":{},"OutboundExceptions":{}}`
)

func versionCases() []scenario {
	cases := []scenario{
		{name: "version/asked", sure: Client, source: "microsoft/hcsshim hcnglobals.go", run: func(b *bench) {
			doc := b.answers("GET /globals/version", hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/globals/version"}, 0)
			b.field("Major", doc, "Major", fmt.Sprint(b.h.Version.Major))
			b.field("Minor", doc, "Minor", fmt.Sprint(b.h.Version.Minor))
		}},
		{name: "version/without slash", sure: Client, source: "microsoft/hcsshim hnsglobals.go", run: func(b *bench) {
			doc := b.answers("GET globals/version/", hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "globals/version/"}, 0)
			b.field("Major", doc, "Major", fmt.Sprint(b.h.Version.Major))
		}},
		{name: "version/on an object", sure: Seen, source: "dumps of nodes", run: func(b *bench) {
			v := uint64(b.h.Version.Major)<<32 | uint64(b.h.Version.Minor)
			b.field("Version", b.nat().doc, "Version", fmt.Sprint(v))
		}},
	}
	for _, g := range gates() {
		has := g.feature.In
		cases = append(cases,
			scenario{name: "version/" + g.name, sure: g.taken, source: g.source, external: g.external, only: has,
				run: func(b *bench) { g.ask(b, "taken", 0) }},
			scenario{name: "version/" + g.name + " too early", sure: g.sure, source: g.source, external: g.external,
				only: func(v hns.Version) bool { return !has(v) },
				run:  func(b *bench) { g.ask(b, "refused", g.older) }})
	}
	return append(cases, affinityCase(), hostPortCase())
}

// affinityCase: an older HNS passes over the member, since it does not know it.
func affinityCase() scenario {
	return scenario{name: "version/session affinity", sure: Client, source: hcsshimTable, external: true, run: func(b *bench) {
		ep := b.endpoint(b.overlay().id, "ep")
		lb := b.create(createOf(hns.KindLoadBalancer, b.balancerDoc("lb", []hns.ID{ep.id}, vips("10.96.0.1"), ports(6, 80, 80, `"DistributionType":2`))))
		want := ""
		if b.has(hns.FeatureSessionAffinity) {
			want = "2"
		}
		b.field("DistributionType", lb.doc, "PortMappings.0.DistributionType", want)
	}}
}

func hostPortCase() scenario {
	return scenario{name: "version/network without host port", sure: Client, source: hcsshimTable, external: true, only: hns.FeatureDisableHostPort.In, run: func(b *bench) {
		doc := b.networkDoc("bare", "L2Bridge", nil, `"Flags":1032`, ipams(subnet(prefix(1), host(1, 1))))
		n := b.create(createNetwork(doc))
		b.field("Flags", n.doc, "Flags", "1032")
	}}
}

// ipSet is the settings of a SetPolicy.
func ipSet(id, typeName, values string) string {
	b, _ := json.Marshal(struct{ Id, Name, PolicyType, Values string }{id, id, typeName, values}) // texts always encode
	return string(b)
}
