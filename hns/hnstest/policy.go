package hnstest

import (
	"fmt"

	"github.com/hnskit/hnskit/hns"
)

// policyTrial is a policy that an endpoint is created with, and another is
// given; both answer alike.
type policyTrial struct {
	name     string
	sure     Certainty
	source   string
	external bool
	only     func(hns.Version) bool
	network  func(*bench) object // nil: NAT
	policy   string
	want     func(*bench) hns.Code // nil: taken
}

func policyTrials() []policyTrial {
	bad := answer(hns.CodeInvalidPolicy)
	aclOf := func(s string) string { return policy("ACL", s) }
	private := func(b *bench) object { return b.create(createNetwork(b.plainDoc("net", "Private"))) }
	return []policyTrial{
		{name: "unknown type", sure: Seen, source: "microsoft/Windows-Containers#360", policy: policy("Weather", "{}"), want: answer(hns.CodeInvalidPolicyType)},
		{name: "type of schema 1", sure: Seen, source: "microsoft/Windows-Containers#360", policy: policy("NAT", `{"Protocol":6,"InternalPort":80,"ExternalPort":23180}`), want: answer(hns.CodeInvalidPolicyType)},
		{name: "without settings", sure: Seen, source: "projectcalico/calico#8465", policy: `{"Type":"OutBoundNAT","ExceptionList":["10.0.0.0/8"]}`, want: bad},
		{name: "settings no object", sure: Assumed, policy: policy("ACL", `7`), want: bad},
		{name: "no object", sure: Assumed, policy: `7`, want: bad},
		{name: "type in other letters", sure: Seen, source: "containerd/containerd#5729", policy: policy("OUTBOUNDNAT", `{"Exceptions":["10.0.0.0/8"]}`)},

		{name: "ACL", sure: Tested, source: "microsoft/hcsshim TestApplyPolicyOnEndpoint", policy: aclOf(acl)},
		{name: "ACL without action", sure: Assumed, policy: aclOf(`{"Direction":"In"}`), want: bad},
		{name: "ACL with unknown action", sure: Assumed, policy: aclOf(`{"Action":"Ask","Direction":"In"}`), want: bad},
		{name: "ACL without direction", sure: Assumed, policy: aclOf(`{"Action":"Allow"}`), want: bad},
		{name: "ACL address Any", sure: Seen, source: "microsoft/hcsshim#1059", policy: aclOf(`{"Action":"Block","Direction":"Out","LocalAddresses":"Any"}`), want: bad},
		{name: "ACL address lists", sure: Client, source: "Azure/azure-container-networking", policy: aclOf(`{"Action":"Allow","Direction":"In","RemoteAddresses":"10.0.0.0/8,192.168.0.1"}`)},
		{name: "ACL port ranges", sure: Client, source: "Azure/azure-container-networking", policy: aclOf(`{"Action":"Allow","Direction":"In","Protocols":"6","LocalPorts":"80-90,443"}`)},
		{name: "ACL port unreadable", sure: Assumed, policy: aclOf(`{"Action":"Allow","Direction":"In","LocalPorts":"http"}`), want: bad},
		{name: "ACL port range backwards", sure: Assumed, policy: aclOf(`{"Action":"Allow","Direction":"In","LocalPorts":"90-80"}`), want: bad},
		{name: "ACL any protocol", sure: Client, source: "Azure/azure-container-networking", policy: aclOf(`{"Action":"Allow","Direction":"In","Protocols":"256"}`)},
		{name: "ACL protocol too high", sure: Assumed, policy: aclOf(`{"Action":"Allow","Direction":"In","Protocols":"257"}`), want: bad},
		{name: "ACL protocols by number", sure: Client, source: "projectcalico/calico felix", policy: aclOf(`{"Action":"Allow","Direction":"In","Protocols":6}`)},
		{name: "ACL protocols unreadable", sure: Assumed, policy: aclOf(`{"Action":"Allow","Direction":"In","Protocols":"pigeon"}`), want: bad},
		{name: "ACL protocols by name", sure: Assumed, policy: aclOf(`{"Action":"Allow","Direction":"In","Protocols":"tcp"}`), want: bad},
		{name: "ACL that passes on", sure: Assumed, policy: aclOf(`{"Action":"Pass","Direction":"In"}`), want: bad},
		{name: "ACL address with host bits", sure: Assumed, policy: aclOf(`{"Action":"Allow","Direction":"In","RemoteAddresses":"10.0.0.5/8"}`), want: bad},
		{name: "ACL priority too high", sure: Assumed, policy: aclOf(`{"Action":"Allow","Direction":"In","Priority":65536}`), want: bad},
		{name: "ACL of an unknown rule type", sure: Assumed, policy: aclOf(`{"Action":"Allow","Direction":"In","RuleType":"Router"}`), want: bad},
		{name: "ACL of the host", sure: Client, source: "projectcalico/calico felix", policy: aclOf(`{"Action":"Allow","Direction":"In","RuleType":"Host"}`)},

		{name: "port mapping", sure: Client, source: "containernetworking/plugins win-bridge", policy: portMapping(17, 45678, 23189)},
		{name: "port mapping without internal port", sure: Documented, source: "HCNHResult", policy: portMapping(6, 0, 23180), want: answer(hns.CodeInvalidInternalPort)},
		{name: "port mapping without external port", sure: Assumed, policy: portMapping(6, 80, 0)},
		{name: "port mapping on Private", sure: Assumed, source: "wording of HCNHResult", network: private, policy: portMapping(6, 80, 23180), want: answer(hns.CodeMappingNotSupported)},
		{name: "port mapping by the protocol's name", sure: Client, source: "hns.psm1", policy: policy("PortMapping", `{"Protocol":"TCP","InternalPort":80,"ExternalPort":23180}`)},
		{name: "port mapping of an unknown protocol", sure: Assumed, policy: portMapping(99, 80, 23180), want: bad},
		{name: "port mapping of a broken VIP", sure: Assumed, policy: portMapping(6, 80, 23180, `"VIP":"node"`), want: bad},
		{name: "port mapping of an empty VIP", sure: Client, source: "containernetworking/plugins win-bridge", policy: portMapping(6, 80, 23180, `"VIP":""`)},

		{name: "NAT with exceptions", sure: Client, source: "microsoft/windows-container-networking", policy: policy("OutBoundNAT", `{"Exceptions":["10.0.0.0/8","10.231.1.9"]}`)},
		{name: "NAT exception with host bits", sure: Seen, source: "microsoft/hcsshim#1951", policy: policy("OutBoundNAT", `{"Exceptions":["10.0.0.1/8"]}`), want: fromMajor(13, hns.CodeInvalidPolicy)},
		{name: "NAT exception is no prefix", sure: Seen, source: "containerd/containerd#5729", policy: policy("OutBoundNAT", `{"Exceptions":["<cidr>"]}`)},
		{name: "NAT to a broken address", sure: Assumed, policy: policy("OutBoundNAT", `{"VirtualIP":"node"}`), want: bad},

		{name: "SDN route", sure: Client, source: "microsoft/windows-container-networking", policy: policy("SDNRoute", `{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}`)},
		{name: "SDN route without destination", sure: Assumed, policy: policy("SDNRoute", `{"NeedEncap":true}`), want: bad},
		{name: "SDN route by a broken hop", sure: Assumed, policy: policy("SDNRoute", `{"DestinationPrefix":"10.96.0.0/12","NextHop":"there"}`), want: bad},
		{name: "provider address", sure: Tested, source: "microsoft/windows-container-networking", external: true, network: plainOverlay, policy: policy("ProviderAddress", `{"ProviderAddress":"192.0.2.77"}`)},
		{name: "provider address unreadable", sure: Assumed, policy: policy("ProviderAddress", `{"ProviderAddress":"node"}`), want: bad},
		{name: "bandwidth", sure: Client, source: "moby/moby", policy: policy("QOS", `{"MaximumOutgoingBandwidthInBytes":1250000}`)},
		{name: "bandwidth below zero", sure: Assumed, policy: policy("QOS", `{"MaximumOutgoingBandwidthInBytes":-1}`), want: bad},
		{name: "VLAN too high", sure: Assumed, policy: policy("VLAN", `{"IsolationId":4095}`), want: bad},
		{name: "port name", sure: Assumed, policy: policy("PortName", `{"Name":"pod"}`)},
		{name: "interface parameters", sure: Assumed, policy: policy("InterfaceParameters", `{"Mtu":1400}`)},
		{name: "encapsulation overhead", sure: Client, source: "moby/moby", policy: policy("EncapOverhead", `{"Overhead":50}`)},
	}
}

func policyCases() []scenario {
	cases := []scenario{
		{name: "policy/settings byte for byte", sure: Tested, source: "microsoft/windows-container-networking comparePolicyLists", run: policyBytes},
		{name: "policy/type in the schema's spelling", sure: Assumed, source: "containerd/containerd#5729", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep", policies(policy("OUTBOUNDNAT", `{"Exceptions":["10.0.0.0/8"]}`)))
			b.field("Type", ep.doc, "Policies.0.Type", "OutBoundNAT")
		}},
		{name: "policy/port taken", sure: Tested, source: "microsoft/hcsshim TestEndpointAlreadyExistsError", external: true, run: func(b *bench) {
			n := b.overlay()
			b.endpoint(n.id, "ep", policies(portMapping(17, 45678, 23189)))
			b.answers("again", b.endpointReq(n.id, "two", policies(portMapping(17, 45678, 23189))), hns.CodePortExists)
		}},
		{name: "policy/port keys", sure: Client, source: "Azure/azure-container-networking#1986", run: portKeys},
		{name: "policy/port free after delete", sure: Tested, source: "microsoft/hcsshim hcnutils_test.go", run: func(b *bench) {
			n := b.nat()
			for range 2 {
				ep := b.endpoint(n.id, "ep", policies(portMapping(6, 80, 23180)))
				b.remove("delete", hns.KindEndpoint, ep.id, 0)
			}
		}},
		{name: "policy/port twice in one document", sure: Assumed, run: func(b *bench) {
			b.answers("create", b.endpointReq(b.nat().id, "ep", policies(portMapping(6, 80, 23180), portMapping(6, 81, 23180))), hns.CodePortExists)
		}},
		{name: "policy/port of a program", sure: Seen, source: "docker/for-win#3893", run: func(b *bench) {
			if b.h.Busy == 0 {
				b.skip("the harness names no port that a program listens on")
			}
			b.answers("create", b.endpointReq(b.nat().id, "ep", policies(portMapping(6, 80, int(b.h.Busy)))), hns.CodeSharingViolation)
		}},
		{name: "policy/once only", sure: Documented, source: "HCNHResult", run: func(b *bench) {
			p := policy("InterfaceParameters", `{"Mtu":1400}`)
			b.answers("InterfaceParameters", b.endpointReq(b.nat().id, "ep", policies(p, p)), hns.CodeInterfaceParametersExists)
		}},
		{name: "policy/provider address once", sure: Assumed, run: func(b *bench) {
			p := policy("ProviderAddress", `{"ProviderAddress":"192.0.2.77"}`)
			b.answers("two", b.endpointReq(b.nat().id, "ep", policies(p, p)), hns.CodePolicyExists)
		}},
		{name: "policy/update", sure: Tested, source: "microsoft/hcsshim TestModifyEndpointSettings", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			b.modify("update", hns.KindEndpoint, ep.id, request("Update", "Policy", members(policies(policy("ACL", acl), policy("ACL", `{"Action":"Allow","Direction":"Out","Priority":300}`)))), 0)
			b.truth("policies are there", len(each(b.get(hns.KindEndpoint, ep.id), "Policies")) > 0)
		}},
		{name: "policy/update replaces its types", sure: Client, source: "projectcalico/calico felix policysets", run: updateReplaces},
		{name: "policy/add keeps what is there", sure: Client, source: "Azure/azure-container-networking", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep", policies(policy("ACL", acl)))
			b.modify("the same", hns.KindEndpoint, ep.id, request("Add", "Policy", members(policies(policy("ACL", acl)))), 0)
			b.check("policies", fmt.Sprint(len(each(b.get(hns.KindEndpoint, ep.id), "Policies"))), "2")
		}},
		{name: "policy/remove", sure: Client, source: "Azure/azure-container-networking", run: policyRemove},
		{name: "policy/refresh and reset", sure: Client, source: "Azure/azure-container-networking", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep", policies(policy("ACL", acl)))
			b.modify("refresh", hns.KindEndpoint, ep.id, request("Refresh", "Policy", members(policies())), 0)
			b.modify("reset", hns.KindEndpoint, ep.id, request("Reset", "Policy", members(policies())), hns.CodeRequestUnsupported)
		}},
		{name: "policy/a failed request changes nothing", sure: Assumed, run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep", policies(policy("ACL", acl)))
			b.modify("one of two is bad", hns.KindEndpoint, ep.id, request("Add", "Policy", members(policies(portMapping(6, 80, 23180), policy("Weather", "{}")))), hns.CodeInvalidPolicyType)
			b.truth("as before", string(b.get(hns.KindEndpoint, ep.id)) == string(ep.doc))
		}},
		{name: "policy/six tiers", sure: Tested, source: "microsoft/hcsshim TestApplyTierAclPolicyOnEndpoint", external: true, only: hns.FeatureTierACL.In, run: func(b *bench) {
			ep := b.endpoint(b.bridge().id, "ep")
			p := policy("TierAcl", tierACL)
			b.modify("update", hns.KindEndpoint, ep.id, request("Update", "Policy", members(policies(p, p, p, p, p, p))), 0)
			b.truth("policies are there", len(each(b.get(hns.KindEndpoint, ep.id), "Policies")) > 0)
		}},
		{name: "policy/degraded", sure: Seen, source: "containerd/containerd#5729", run: degraded},
		{name: "policy/ACL by set", sure: Client, source: "Azure/azure-container-networking", external: true, only: hns.FeatureSetPolicy.In, run: func(b *bench) {
			n := b.bridge()
			b.modify("set", hns.KindNetwork, n.id, request("Add", "Policy", members(policies(policy("SetPolicy", ipSet("pods", "IPSET", "10.231.1.7"))))), 0)
			rule := func(set string) string {
				return policies(policy("ACL", fmt.Sprintf(`{"Action":"Block","Direction":"In","RemoteAddresses":%q}`, set)))
			}
			b.answers("one that is there", b.endpointReq(n.id, "ep", rule("pods")), 0)
			b.answers("one that is not", b.endpointReq(n.id, "ep", rule("nodes")), hns.CodeInvalidPolicy)
		}},
	}
	for _, tt := range policyTrials() {
		cases = append(cases, scenario{name: "policy/settings/" + tt.name, sure: tt.sure, source: tt.source, external: tt.external, only: tt.only, run: func(b *bench) {
			network, want := plainNAT, hns.Code(0)
			if tt.network != nil {
				network = tt.network
			}
			if tt.want != nil {
				want = tt.want(b)
			}
			n := network(b)
			ep := b.endpoint(n.id, "plain")
			b.modify("add", hns.KindEndpoint, ep.id, request("Add", "Policy", members(policies(tt.policy))), want)
			b.remove("delete", hns.KindEndpoint, ep.id, 0)
			b.answers("create", b.endpointReq(n.id, "ep", policies(tt.policy)), want)
		}})
	}
	return cases
}

func policyBytes(b *bench) {
	nat := `{"Exceptions":["10.231.0.0/16","10.96.0.0/12"]}`
	route := `{"NeedEncap":true,"DestinationPrefix":"10.96.0.0/12"}`
	ep := b.endpoint(b.nat().id, "ep", policies(policy("OutBoundNAT", nat), policy("SDNRoute", route)))
	doc := b.get(hns.KindEndpoint, ep.id)
	b.check("OutBoundNAT", settings(doc, "OutBoundNAT"), nat)
	b.check("SDNRoute", settings(doc, "SDNRoute"), route)
	b.field("in order", doc, "Policies.1.Type", "SDNRoute")
}

func portKeys(b *bench) {
	n := b.nat()
	b.endpoint(n.id, "ep", policies(portMapping(6, 80, 23180, `"VIP":"10.231.0.1"`)))
	for _, tt := range []struct {
		step, policy string
		want         hns.Code
	}{
		{"the same", portMapping(6, 81, 23180, `"VIP":"10.231.0.1"`), hns.CodePortExists},
		{"another VIP", portMapping(6, 80, 23180, `"VIP":"10.231.0.2"`), 0},
		{"every address", portMapping(6, 80, 23180), hns.CodePortExists},
		{"another port", portMapping(6, 80, 23181), 0},
		{"another protocol", portMapping(17, 80, 23180), 0},
	} {
		b.answers(tt.step, b.endpointReq(n.id, "two", policies(tt.policy)), tt.want)
	}
	b.answers("on another network", b.endpointReq(b.nat().id, "three", policies(portMapping(17, 80, 23180))), hns.CodePortExists)
}

func updateReplaces(b *bench) {
	ep := b.endpoint(b.nat().id, "ep", policies(policy("ACL", acl), policy("OutBoundNAT", `{"Exceptions":["10.0.0.0/8"]}`)))
	other := `{"Action":"Allow","Direction":"Out","Priority":300}`
	b.modify("update", hns.KindEndpoint, ep.id, request("Update", "Policy", members(policies(policy("ACL", other)))), 0)
	doc := b.get(hns.KindEndpoint, ep.id)
	b.check("policies", fmt.Sprint(len(each(doc, "Policies"))), "2")
	b.check("ACL", settings(doc, "ACL"), other)
	b.check("OutBoundNAT", settings(doc, "OutBoundNAT"), `{"Exceptions":["10.0.0.0/8"]}`)
}

func policyRemove(b *bench) {
	ep := b.endpoint(b.nat().id, "ep", policies(policy("ACL", `{"Action":"Allow","Direction":"Out","Priority":300}`)))
	take := func(step, s string, want hns.Code) {
		b.modify(step, hns.KindEndpoint, ep.id, request("Remove", "Policy", members(policies(policy("ACL", s)))), want)
	}
	take("another", `{"Action":"Block","Direction":"Out","Priority":300}`, hns.CodePolicyNotFound)
	take("equal as JSON", `{"Priority":300,"Direction":"Out","Action":"Allow"}`, 0)
	take("once more", `{"Priority":300,"Direction":"Out","Action":"Allow"}`, hns.CodePolicyNotFound)
	b.field("none is left", b.get(hns.KindEndpoint, ep.id), "Policies", "")
}

// degraded: a value that no policy can have makes an endpoint that can never
// be attached.
func degraded(b *bench) {
	n := b.nat()
	ep := b.endpoint(n.id, "ep", policies(policy("SDNRoute", `{"DestinationPrefix":"<cidr>","NeedEncap":true}`)))
	b.field("State", ep.doc, "State", "5")
	b.modify("to a namespace", hns.KindNamespace, b.namespace().id, endpointIn("Add", ep.id), hns.CodeNamespaceAttachFailed)
	b.answers("to the host", v1Call("POST", "/endpoints/"+ep.id.String()+"/attach", hostCompartment), hns.CodeDegraded)
}
