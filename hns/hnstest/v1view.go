package hnstest

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// v1ViewCases are about one store with two views: what is made in one schema
// is seen in the other.
func v1ViewCases() []scenario {
	return []scenario{
		{name: "views/network of schema 1", sure: Tested, source: "microsoft/hcsshim TestV1Network", run: func(b *bench) {
			n := b.create(createNetwork(b.v1NAT()))
			doc := b.get(hns.KindNetwork, n.id)
			b.field("prefix", doc, "Ipams.0.Subnets.0.IpAddressPrefix", prefix(1))
			b.field("gateway", doc, "Ipams.0.Subnets.0.Routes.0.NextHop", host(1, 2))
		}},
		{name: "views/endpoint of schema 1", sure: Tested, source: "microsoft/hcsshim TestV1Endpoint", run: func(b *bench) {
			n := b.nat()
			body := members(b.named("ep"), fmt.Sprintf(`"VirtualNetwork":%q`, n.id.Upper()))
			ep := b.create(hns.Request{Kind: hns.KindEndpoint, Network: n.id, Document: []byte(body)})
			b.truth("its network", text(ep.doc, "HostComputeNetwork") == n.id.String())
		}},
		{name: "views/chosen subnet of schema 1", sure: Client, source: "moby/moby", run: func(b *bench) {
			n := b.create(createNetwork(members(b.named("nat"), `"Type":"nat","Subnets":[{"AddressPrefix":"0.0.0.0/0","GatewayAddress":"0.0.0.0"}]`)))
			p, err := netip.ParsePrefix(text(n.doc, "Ipams.0.Subnets.0.IpAddressPrefix"))
			b.truth("HNS chose one", err == nil && p.Bits() > 0)
		}},
		{name: "views/network", sure: Client, source: "microsoft/hcsshim hnsnetwork.go", run: func(b *bench) {
			n := b.nat(`"Dns":{"Domain":"a.test","Search":["b.test","c.test"],"ServerList":["10.0.0.10","10.0.0.11"]}`)
			doc := b.v1(hns.KindNetwork, n.id)
			b.fields(doc, "Name", b.h.Prefix+"nat1", "Subnets.0.AddressPrefix", prefix(1), "Subnets.0.GatewayAddress", host(1, 1),
				"DNSSuffix", "b.test,c.test", "DNSServerList", "10.0.0.10,10.0.0.11")
			b.truth("Type", strings.EqualFold(text(doc, "Type"), "NAT"))
		}},
		{name: "views/capitals", sure: Seen, source: "projectcalico/calico#5762", run: func(b *bench) {
			n := b.nat()
			ep := b.endpoint(n.id, "ep")
			b.truth("network", text(b.v1(hns.KindNetwork, n.id), "ID") == n.id.Upper())
			b.truth("network in schema 2", text(n.doc, "ID") == n.id.String())
			b.truth("endpoint", text(b.v1(hns.KindEndpoint, ep.id), "ID") == ep.id.Upper())
			b.truth("endpoint in schema 2", text(ep.doc, "ID") == ep.id.String())
		}},
		{name: "views/endpoint", sure: Client, source: "microsoft/hcsshim hnsendpoint.go", run: endpointViews},
		{name: "views/policies", sure: Client, source: "microsoft/hcsshim hnspolicy.go", run: policyViews},
		{name: "views/policies of schema 1", sure: Client, source: "microsoft/hcsshim hnspolicy.go", run: policyViewsBack},
		{name: "views/overlay", sure: Client, source: "flannel-io/flannel", external: true, run: overlayViews},
		{name: "views/bridge", sure: Seen, source: "kubernetes/kubernetes#67827", external: true, run: func(b *bench) {
			n := b.bridge()
			ep := b.endpoint(n.id, "ep")
			doc := b.v1(hns.KindNetwork, n.id)
			_, err := netip.ParseAddr(text(doc, "ManagementIP"))
			b.truth("ManagementIP", err == nil)
			b.field("L2Driver", b.v1(hns.KindEndpoint, ep.id), "Policies.0.Type", "L2Driver")
			b.field("not in schema 2", ep.doc, "Policies", "")
		}},
		{name: "views/load balancer", sure: Client, source: "microsoft/hcsshim hnspolicylist.go", external: true, run: balancerViews},
		{name: "views/deleted in one", sure: Client, source: "flannel-io/flannel", run: func(b *bench) {
			n := b.nat()
			ep := b.endpoint(n.id, "ep")
			b.answers("delete the endpoint by schema 1", v1Call("DELETE", "/endpoints/"+ep.id.Upper(), ""), 0)
			b.gone("gone", hns.KindEndpoint, ep.id, true)
			b.answers("delete the network by schema 1", v1Call("DELETE", "/networks/"+n.id.Upper(), ""), 0)
			b.gone("gone", hns.KindNetwork, n.id, true)
		}},
	}
}

// v1 reads an object in schema 1.
func (b *bench) v1(kind hns.Kind, id hns.ID) []byte {
	b.t.Helper()
	path := map[hns.Kind]string{hns.KindNetwork: "/networks/", hns.KindEndpoint: "/endpoints/", hns.KindNamespace: "/namespaces/",
		hns.KindLoadBalancer: "/policylists/", hns.KindRoute: "/policylists/"}[kind]
	docs, code := b.do(v1Call("GET", path+id.String(), ""))
	if code != 0 || len(docs) != 1 {
		b.stop("GET "+path, code, len(docs))
	}
	return docs[0]
}

func endpointViews(b *bench) {
	n := b.nat()
	ep := b.endpoint(n.id, "ep", address(host(1, 7)), `"MacAddress":"00-11-22-33-44-55"`, `"Dns":{"ServerList":["10.0.0.10","10.0.0.11"]}`)
	doc := b.v1(hns.KindEndpoint, ep.id)
	b.fields(doc, "Name", b.h.Prefix+"ep", "IPAddress", host(1, 7), "PrefixLength", "24", "MacAddress", "00-11-22-33-44-55",
		"GatewayAddress", host(1, 1), "DNSServerList", "10.0.0.10,10.0.0.11", "VirtualNetworkName", b.h.Prefix+"nat1", "State", "1")
	b.truth("VirtualNetwork", strings.EqualFold(text(doc, "VirtualNetwork"), n.id.String()))
	ns := b.namespace()
	b.modify("attach", hns.KindNamespace, ns.id, endpointIn("Add", ep.id), 0)
	b.truth("Namespace", strings.EqualFold(text(b.v1(hns.KindEndpoint, ep.id), "Namespace.ID"), ns.id.String()))
	far := b.endpoint(n.id, "far", `"Flags":1`, address(host(9, 9)))
	b.field("remote", b.v1(hns.KindEndpoint, far.id), "IsRemoteEndpoint", "true")
}

func policyViews(b *bench) {
	ep := b.endpoint(b.nat().id, "ep", policies(policy("OutBoundNAT", `{"Exceptions":["10.0.0.0/8"]}`), portMapping(6, 80, 23180),
		policy("SDNRoute", `{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}`)))
	b.fields(b.v1(hns.KindEndpoint, ep.id), "Policies.0.Type", "OutBoundNAT", "Policies.0.ExceptionList", `["10.0.0.0/8"]`,
		"Policies.1.Type", "NAT", "Policies.1.Protocol", "TCP", "Policies.1.ExternalPort", "23180",
		"Policies.2.Type", "ROUTE", "Policies.2.DestinationPrefix", "10.96.0.0/12")
}

func policyViewsBack(b *bench) {
	n := b.nat()
	body := members(b.named("ep"), fmt.Sprintf(`"VirtualNetwork":%q`, n.id.Upper()),
		`"Policies":[{"Type":"OutBoundNAT","ExceptionList":["10.0.0.0/8"]},{"Type":"NAT","Protocol":"UDP","InternalPort":53,"ExternalPort":23153}]`)
	doc := b.get(hns.KindEndpoint, b.v1Create(hns.KindEndpoint, "/endpoints/", body).id)
	b.check("OutBoundNAT", text([]byte(settings(doc, "OutBoundNAT")), "Exceptions"), `["10.0.0.0/8"]`)
	mapping := []byte(settings(doc, "PortMapping"))
	b.fields(mapping, "InternalPort", "53", "ExternalPort", "23153")
	b.answers("the port is taken in schema 2", b.endpointReq(n.id, "two", policies(portMapping(17, 53, 23153))), hns.CodePortExists)
}

func overlayViews(b *bench) {
	n := b.overlay()
	doc := b.v1(hns.KindNetwork, n.id)
	_, err := netip.ParseAddr(text(doc, "ManagementIP"))
	b.truth("ManagementIP", err == nil)
	b.fits("DrMacAddress", doc, "DrMacAddress", isMAC)
	b.field("VSID", doc, "Subnets.0.Policies.0.VSID", "5001")
	ep := b.endpoint(n.id, "ep", policies(policy("ProviderAddress", `{"ProviderAddress":"192.0.2.77"}`)))
	v1 := b.v1(hns.KindEndpoint, ep.id)
	b.fields(v1, "Policies.0.Type", "PA", "Policies.0.PA", "192.0.2.77")
}

func balancerViews(b *bench) {
	n := b.overlay()
	ep := b.endpoint(n.id, "ep")
	lb := b.create(createOf(hns.KindLoadBalancer, b.balancerDoc("lb", []hns.ID{ep.id}, vips("10.96.0.1"), ports(6, 8080, 80))))
	doc := b.v1(hns.KindLoadBalancer, lb.id)
	b.truth("reference", strings.EqualFold(text(doc, "References.0"), "/endpoints/"+ep.id.String()))
	b.fields(doc, "Policies.0.Type", "ELB", "Policies.0.InternalPort", "8080", "Policies.0.ExternalPort", "80", "Policies.0.VIPs", `["10.96.0.1"]`)
}

// documentCases are about how HNS reads and writes JSON.
func documentCases() []scenario {
	return []scenario{
		{name: "document/member names in other letters", sure: Assumed, run: func(b *bench) {
			doc := `{"nAME":"` + b.h.Prefix + `net","tYPE":"private","sCHEMAvERSION":{"mAJOR":2,"mINOR":0}}`
			n := b.create(createNetwork(doc))
			b.fields(n.doc, "Name", b.h.Prefix+"net", "Type", "Private")
		}},
		{name: "document/enumerations by number", sure: Documented, source: "HCN scenarios", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			ns := b.namespace()
			b.modify("add, an endpoint", hns.KindNamespace, ns.id, fmt.Sprintf(`{"RequestType":0,"ResourceType":1,"Settings":{"EndpointId":%q}}`, ep.id), 0)
			b.field("it is in it", b.get(hns.KindNamespace, ns.id), "Resources.0.Type", "Endpoint")
			b.modify("remove", hns.KindNamespace, ns.id, fmt.Sprintf(`{"RequestType":1,"ResourceType":1,"Settings":{"EndpointId":%q}}`, ep.id), 0)
			b.field("it is out", b.get(hns.KindNamespace, ns.id), "Resources", "")
		}},
		{name: "document/other schema versions", sure: Client, source: "hns.v2.psm1", run: func(b *bench) {
			n := b.create(createNetwork(members(b.named("net"), `"Type":"Private","SchemaVersion":{"Major":2,"Minor":2}`)))
			b.field("Minor", n.doc, "SchemaVersion.Minor", "2")
		}},
		{name: "document/null is absent", sure: Client, source: "microsoft/hcsshim", run: func(b *bench) {
			n := b.nat()
			ep := b.endpoint(n.id, "ep", `"IpConfigurations":null,"MacAddress":null,"Dns":null,"Policies":null`)
			b.truth("an address was chosen", text(ep.doc, "IpConfigurations.0.IpAddress") != "")
		}},
		{name: "document/texts unchanged", sure: Assumed, run: func(b *bench) {
			name := b.h.Prefix + `<a> & "b" ü`
			n := b.create(createNetwork(members(fmt.Sprintf(`"Name":%q`, name), `"Type":"Private"`, schema)))
			b.field("Name", b.get(hns.KindNetwork, n.id), "Name", name)
		}},
		{name: "document/owner", sure: Documented, source: "HNS schema", run: func(b *bench) {
			n := b.create(createNetwork(b.plainDoc("net", "Private", `"Owner":"suite"`)))
			b.field("Owner", n.doc, "Owner", "suite")
		}},
	}
}
