package hnstest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// shownCases are about what is shown of what was given, member by member, where
// no other case looks at it.
func shownCases() []scenario {
	cases := []scenario{
		{name: "shown/network", sure: Seen, source: "dumps of nodes", run: shownNetwork},
		{name: "shown/type of IPAM", sure: Seen, source: "dumps of nodes", run: func(b *bench) {
			n := b.create(createNetwork(b.plainDoc("net", "NAT", `"Ipams":[{"Type":"DHCP","Subnets":`+list(subnet(prefix(1), host(1, 1)))+`}]`)))
			b.truth("DHCP", strings.EqualFold(text(n.doc, "Ipams.0.Type"), "DHCP"))
		}},
		{name: "shown/flags of a subnet", sure: Client, source: "microsoft/hcsshim SubnetFlags", run: func(b *bench) {
			n := b.create(createNetwork(b.plainDoc("open", "NAT", ipams(subnet(prefix(1), host(1, 1), `"Flags":1`)))))
			b.field("Flags", n.doc, "Ipams.0.Subnets.0.Flags", "1")
		}},
		{name: "shown/policy of a subnet", sure: Client, source: "flannel-io/flannel", external: true, run: func(b *bench) {
			b.field("Type", b.overlay().doc, "Ipams.0.Subnets.0.Policies.0.Type", "VSID")
		}},
		{name: "shown/flags of an endpoint", sure: Client, source: "kubernetes/kubernetes winkernel", run: func(b *bench) {
			b.field("Flags", b.endpoint(b.nat().id, "far", `"Flags":1`, address(host(9, 9))).doc, "Flags", "1")
		}},
		{name: "shown/namespace", sure: Seen, source: "dumps of nodes", run: func(b *bench) { b.common(b.namespace().doc, "ns") }},
		{name: "shown/load balancer", sure: Seen, source: "projectcalico/calico#8465", external: true, run: func(b *bench) {
			b.common(b.balancer(b.overlay(), "lb", vips("10.96.0.1"), ports(6, 80, 80)).doc, "lb")
		}},
		{name: "shown/flags of a load balancer", sure: Client, source: "kubernetes/kubernetes winkernel", external: true, only: hns.FeatureDSR.In, run: func(b *bench) {
			b.field("Flags", b.balancer(b.overlay(), "lb", vips("10.96.0.1"), ports(6, 80, 80), `"Flags":1`).doc, "Flags", "1")
		}},
		{name: "shown/route", sure: Assumed, external: true, run: shownRoute},
		{name: "shown/network of schema 1", sure: Client, source: "microsoft/hcsshim hnsnetwork.go", run: func(b *bench) {
			subnets := fmt.Sprintf(`"Subnets":[{"AddressPrefix":%q,"GatewayAddress":%q}]`, prefix(1), host(1, 2))
			n := b.v1Create(hns.KindNetwork, "/networks/", members(b.named("net"), `"Type":"Private"`, subnets))
			doc := b.v1(hns.KindNetwork, n.id)
			b.fields(doc, "Type", "Private", "Subnets.0.GatewayAddress", host(1, 2))
			b.fits("MacPools", doc, "MacPools.0.StartMacAddress", isMAC)
			b.fits("its end", doc, "MacPools.0.EndMacAddress", isMAC)
		}},
		{name: "shown/endpoint of schema 1", sure: Client, source: "projectcalico/calico felix", run: shownEndpointV1},
		{name: "shown/overhead of schema 1", sure: Client, source: "microsoft/hcsshim hnsendpoint.go", external: true, run: func(b *bench) {
			n := b.overlay(`"Dns":{"Domain":"a.test"}`)
			doc := b.v1(hns.KindNetwork, n.id)
			b.fields(doc, "Subnets.0.Policies.0.Type", "VSID")
			b.field("EncapOverhead", b.v1(hns.KindEndpoint, b.endpoint(n.id, "ep").id), "EncapOverhead", "50")
		}},
		{name: "shown/policy list", sure: Client, source: "microsoft/hcsshim hnspolicylist.go", external: true, run: shownPolicyList},
		{name: "shown/statistics", sure: Client, source: "microsoft/hcsshim hnsendpoint.go", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			doc := b.answers("get", v1Call("GET", "/endpointstats/"+ep.id.String(), ""), 0)
			for _, name := range []string{"BytesReceived", "BytesSent", "DroppedPacketsIncoming", "DroppedPacketsOutgoing", "PacketsReceived", "PacketsSent"} {
				b.fits(name, doc, name, isNumber)
			}
			b.fits("InstanceId", doc, "InstanceId", isID)
		}},
	}
	return append(cases, shownPolicyCases()...)
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}

// common checks the members that every object of schema 2 has.
func (b *bench) common(doc []byte, name string) {
	b.t.Helper()
	b.fields(doc, "Name", b.h.Prefix+name, "SchemaVersion.Major", "2", "SchemaVersion.Minor", "0")
	b.fits("State", doc, "State", isNumber)
	b.fits("Version", doc, "Version", isNumber)
}

func shownRoute(b *bench) {
	n := b.overlay()
	ep := b.endpoint(n.id, "ep")
	for _, member := range []string{"Routes", "Setting"} {
		doc := b.routeDoc([]hns.ID{ep.id}, fmt.Sprintf(`%q:[{"DestinationPrefix":"10.96.0.0/12","NextHop":"127.10.0.34","NeedEncap":true}]`, member))
		r := b.create(createOf(hns.KindRoute, doc))
		b.fields(r.doc, "Setting.0.NextHop", "127.10.0.34", "Setting.0.NeedEncap", "true")
		b.common(r.doc, "route")
		b.fits("HostComputeNetwork", r.doc, "HostComputeNetwork", func(s string) bool { return s == n.id.String() })
	}
}

func shownNetwork(b *bench) {
	n := b.nat(`"Dns":{"Domain":"a.test","Search":["b.test"],"ServerList":["10.231.0.10"]}`)
	b.common(n.doc, "nat1")
	b.fields(n.doc, "Dns.Domain", "a.test", "Dns.Search", `["b.test"]`, "Dns.ServerList", `["10.231.0.10"]`,
		"Ipams.0.Type", "Static", "Ipams.0.Subnets.0.Routes.0.DestinationPrefix", "0.0.0.0/0")
	b.field("in schema 1", b.v1(hns.KindNetwork, n.id), "DNSDomain", "a.test")
	b.modify("update", hns.KindNetwork, n.id, request("Update", "DNS", `{"Search":["c.test"]}`), 0)
	b.field("then", b.get(hns.KindNetwork, n.id), "Dns.Search", `["c.test"]`)
}

func shownEndpointV1(b *bench) {
	n := b.nat()
	body := members(b.named("ep"), fmt.Sprintf(`"VirtualNetwork":%q`, n.id.Upper()),
		`"Policies":[{"Type":"ACL","Action":"Block","Direction":"In","Protocol":6,"LocalPort":80,"Priority":200},`+
			`{"Type":"NAT","Protocol":"UDP","InternalPort":53,"ExternalPort":23153},{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true}]`)
	ep := b.v1Create(hns.KindEndpoint, "/endpoints/", body)
	doc := b.v1(hns.KindEndpoint, ep.id)
	b.fields(doc, "Name", b.h.Prefix+"ep", "Policies.0.Action", "Block", "Policies.0.Direction", "In", "Policies.0.Priority", "200",
		"Policies.0.Protocols", "6", "Policies.0.LocalPorts", "80",
		"Policies.1.InternalPort", "53", "Policies.2.NeedEncap", "true")
	rule := []byte(settings(b.get(hns.KindEndpoint, ep.id), "ACL"))
	b.fields(rule, "LocalPorts", "80", "Protocols", "6", "Priority", "200")
}

func shownPolicyList(b *bench) {
	ep := b.endpoint(b.overlay().id, "ep")
	body := func(p string) string {
		return fmt.Sprintf(`{"References":["/endpoints/%s"],"Policies":[%s]}`, ep.id, p)
	}
	front := `{"Type":"ELB","Protocol":17,"InternalPort":8080,"ExternalPort":80,"VIPs":["10.96.0.1"],"ILB":true}`
	lb := b.v1Create(hns.KindLoadBalancer, "/policylists/", body(front))
	b.fields(b.v1(hns.KindLoadBalancer, lb.id), "Policies.0.Protocol", "17", "Policies.0.ILB", "true")
	b.field("in schema 2", b.get(hns.KindLoadBalancer, lb.id), "PortMappings.0.Protocol", "17")
	route := b.v1Create(hns.KindRoute, "/policylists/", body(`{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true}`))
	b.fields(b.v1(hns.KindRoute, route.id), "Policies.0.DestinationPrefix", "10.96.0.0/12", "Policies.0.NeedEncap", "true")
	b.field("in schema 2", b.get(hns.KindRoute, route.id), "Setting.0.NeedEncap", "true")
}

// shownPolicy is a policy of a network, given with a modify request.
type shownPolicy struct {
	typeName, settings string
	only               func(hns.Version) bool
	network            func(*bench) object
}

// sameJSON checks a text for what it says, whatever its form.
func (b *bench) sameJSON(step, got, want string) {
	b.t.Helper()
	if x, err := canonical([]byte(got)); err == nil {
		got = x
	}
	if x, err := canonical([]byte(want)); err == nil {
		want = x
	}
	b.check(step, got, want)
}

// shownPolicyCases: the settings of a policy come back as they were given,
// whether with the create or later.
func shownPolicyCases() (cases []scenario) {
	trials := append(policyTrials(),
		policyTrial{name: "tiers of ACLs", external: true, only: hns.FeatureTierACL.In, network: plainBridge, policy: policy("TierAcl", tierACL)},
		policyTrial{name: "L4 proxy", external: true, only: hns.FeatureL4Proxy.In, network: plainBridge, policy: policy("L4Proxy", `{"IP":"10.231.1.9","Port":"15001","Protocol":6}`)},
		policyTrial{name: "L4 WFP proxy", only: hns.FeatureL4WFPProxy.In, policy: policy("L4WFPPROXY", wfpProxy)})
	for _, tt := range trials {
		if tt.want != nil || strings.HasPrefix(tt.name, "type in other letters") {
			continue
		}
		cases = append(cases, scenario{name: "shown/policy/" + tt.name, sure: Assumed, external: tt.external, only: tt.only, run: func(b *bench) {
			network := plainNAT
			if tt.network != nil {
				network = tt.network
			}
			n := network(b)
			typeName := text([]byte(tt.policy), "Type")
			want := settings([]byte(members(policies(tt.policy))), typeName)
			ep := b.endpoint(n.id, "ep")
			b.modify("add", hns.KindEndpoint, ep.id, request("Add", "Policy", members(policies(tt.policy))), 0)
			b.sameJSON("added", settings(b.get(hns.KindEndpoint, ep.id), typeName), want)
			b.remove("delete", hns.KindEndpoint, ep.id, 0)
			b.sameJSON("created with", settings(b.endpoint(n.id, "ep", policies(tt.policy)).doc, typeName), want)
		}})
	}
	for _, tt := range []shownPolicy{
		{"RemoteSubnetRoute", remoteSubnet, hns.FeatureRemoteSubnet.In, plainOverlay},
		{"NetworkACL", acl, hns.FeatureNetworkACL.In, plainOverlay},
		{"HostRoute", "{}", hns.FeatureHostRoute.In, plainOverlay},
		{"SetPolicy", ipSet("pods", "IPSET", "10.231.1.7"), hns.FeatureSetPolicy.In, plainBridge},
	} {
		cases = append(cases, scenario{name: "shown/network policy/" + tt.typeName, sure: Assumed, external: true, only: tt.only, run: func(b *bench) {
			n := tt.network(b)
			b.change("add", n, "Add", tt.typeName, tt.settings, 0)
			b.sameJSON("added", settings(b.get(hns.KindNetwork, n.id), tt.typeName), tt.settings)
		}})
	}
	return append(cases,
		scenario{name: "shown/network policy/AutomaticDNS", sure: Assumed, run: func(b *bench) {
			n := b.nat(policies(policy("AutomaticDNS", `{"Enable":true}`)))
			b.check("created with", settings(n.doc, "AutomaticDNS"), `{"Enable":true}`)
		}},
		scenario{name: "shown/network policy/VxlanPort", sure: Assumed, external: true, only: hns.FeatureVXLANPort.In, run: func(b *bench) {
			doc := b.networkDoc("vxlan", "Overlay", []string{policy("VxlanPort", `{"Port":4790}`)}, ipams(subnet(prefix(1), host(1, 1), vsid(5001))))
			b.check("created with", settings(b.create(createNetwork(doc)).doc, "VxlanPort"), `{"Port":4790}`)
		}})
}
