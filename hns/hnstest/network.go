package hnstest

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/hnskit/hnskit/hns"
)

// refusal is a document that HNS refuses, or takes where want is zero.
type refusal struct {
	name     string
	sure     Certainty
	source   string
	external bool
	only     func(hns.Version) bool
	doc      func(*bench) string
	want     hns.Code
}

// networkRefusals are documents of networks. The prefix is that of the first
// network of a case.
func networkRefusals() []refusal {
	plain := func(typeName string, more ...string) func(*bench) string {
		return func(b *bench) string { return b.plainDoc("net", typeName, more...) }
	}
	onAdapter := func(typeName string, more ...string) func(*bench) string {
		return func(b *bench) string { return b.networkDoc("net", typeName, nil, more...) }
	}
	one := ipams(subnet(prefix(1), host(1, 1)))
	inVSID := func(n int) string { return ipams(subnet(prefix(1), host(1, 1), vsid(n))) }
	adapter := func(settings string) func(*bench) string {
		return func(b *bench) string {
			return b.plainDoc("net", "L2Bridge", one, policies(policy("NetAdapterName", settings)))
		}
	}
	return []refusal{
		{name: "not JSON", sure: Assumed, doc: func(*bench) string { return `{"Name":` }, want: hns.CodeInvalidJSON},
		{name: "a list", sure: Assumed, doc: func(*bench) string { return `[]` }, want: hns.CodeInvalidJSON},
		{name: "nothing", sure: Assumed, doc: func(*bench) string { return `` }, want: hns.CodeInvalidJSON},
		{name: "Ipams of the wrong kind", sure: Assumed, doc: plain("NAT", `"Ipams":"10.231.1.0/24"`), want: hns.CodeInvalidJSON},
		{name: "unknown type", sure: Seen, source: "microsoft/SDN#238", doc: plain("Carrier", one), want: hns.CodeInvalidNetworkType},
		{name: "unknown type by number", sure: Assumed, doc: func(b *bench) string { return members(b.named("net"), `"Type":77`, schema) }, want: hns.CodeInvalidNetworkType},
		{name: "id is no GUID", sure: Assumed, doc: plain("NAT", one, `"ID":"pond"`), want: hns.CodeGUIDConversion},
		{name: "id in braces", sure: Assumed, doc: plain("NAT", one, `"ID":"{11111111-2222-4333-8444-555555555555}"`), want: hns.CodeGUIDConversion},
		{name: "prefix unreadable", sure: Assumed, doc: plain("NAT", ipams(subnet("pond", host(1, 1)))), want: hns.CodeInvalidPrefix},
		{name: "prefix with host bits", sure: Seen, source: "microsoft/windows-container-networking#69", doc: plain("NAT", ipams(subnet("10.231.1.7/24", host(1, 1)))), want: hns.CodeInvalidJSON},
		{name: "subnet twice", sure: Assumed, doc: plain("Transparent", ipams(subnet(prefix(1), host(1, 1))+","+subnet(prefix(1), host(1, 1)))), external: true, want: hns.CodeInvalidSubnet},
		{name: "next hop unreadable", sure: Assumed, doc: plain("NAT", ipams(subnet(prefix(1), "gateway"))), want: hns.CodeInvalidIP},
		{name: "gateway outside", sure: Assumed, doc: plain("NAT", ipams(subnet(prefix(1), host(9, 1))))},
		{name: "MAC pool unreadable", sure: Assumed, doc: plain("NAT", one, `"MacPool":{"Ranges":[{"StartMacAddress":"first","EndMacAddress":"last"}]}`), want: hns.CodeInvalidParameter},
		{name: "MAC pool ends first", sure: Assumed, doc: plain("NAT", one, `"MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-23-1F-FF","EndMacAddress":"00-15-5D-23-10-00"}]}`), want: hns.CodeInvalidParameter},
		{name: "empty structs", sure: Client, source: "microsoft/hcsshim", doc: plain("NAT", one, `"MacPool":{},"Dns":{},"Health":{"Extra":{}}`)},
		{name: "unknown members", sure: Assumed, doc: plain("NAT", one, `"Strange":1`)},
		{name: "IPAM type DHCP", sure: Seen, source: "dumps of nodes", doc: plain("NAT", `"Ipams":[{"Type":"DHCP","Subnets":[`+subnet(prefix(1), host(1, 1))+`]}]`)},
		{name: "layer not there", sure: Assumed, doc: plain("NAT", one, policies(policy("LayerConstraint", `{"LayerId":"11111111-2222-4333-8444-555555555555"}`))), want: hns.CodeLayerNotFound},
		{name: "unknown policy", sure: Seen, source: "microsoft/Windows-Containers#360", doc: plain("NAT", one, policies(policy("Weather", "{}"))), want: hns.CodeInvalidPolicyType},
		{name: "policy without settings", sure: Seen, source: "projectcalico/calico#8465", doc: plain("NAT", one, policies(`{"Type":"DrMacAddress"}`)), want: hns.CodeInvalidPolicy},
		{name: "router MAC unreadable", sure: Assumed, doc: plain("NAT", one, policies(policy("DrMacAddress", `{"Address":"router"}`))), want: hns.CodeInvalidPolicy},
		{name: "VXLAN port 0", sure: Assumed, external: true, only: hns.FeatureVXLANPort.In, doc: func(b *bench) string {
			return b.networkDoc("net", "Overlay", []string{policy("VxlanPort", `{"Port":0}`)}, inVSID(5001))
		}, want: hns.CodeInvalidPolicy},
		{name: "DNS of the adapter", sure: Client, source: "microsoft/hcsshim hnsnetwork.go", doc: plain("NAT", one, policies(policy("AutomaticDNS", `{"Enable":true}`)))},
		{name: "set at create", sure: Client, source: "Azure/azure-container-networking", only: hns.FeatureSetPolicy.In, doc: plain("NAT", one, policies(policy("SetPolicy", ipSet("s", "IPSET", "10.0.0.1")))), want: hns.CodeInvalidPolicyType},

		{name: "bridge without subnet", sure: Assumed, external: true, doc: onAdapter("L2Bridge"), want: hns.CodeInvalidNetwork},
		{name: "tunnel without subnet", sure: Assumed, external: true, doc: onAdapter("L2Tunnel"), want: hns.CodeInvalidNetwork},
		{name: "overlay without subnet", sure: Assumed, external: true, doc: onAdapter("Overlay"), want: hns.CodeInvalidNetwork},
		{name: "overlay without VSID", sure: Assumed, source: "moby/libnetwork#1843", external: true, doc: onAdapter("Overlay", one), want: hns.CodeInvalidParameter},
		{name: "VNI too low", sure: Assumed, source: "moby/libnetwork#1843", external: true, doc: onAdapter("Overlay", inVSID(4095)), want: hns.CodeInvalidParameter},
		{name: "VNI lowest", sure: Seen, source: "moby/libnetwork#1843", external: true, doc: onAdapter("Overlay", inVSID(4096))},
		{name: "VNI highest", sure: Seen, source: "moby/libnetwork#1843", external: true, doc: onAdapter("Overlay", inVSID(16777214))},
		{name: "VNI too high", sure: Assumed, source: "moby/libnetwork#1843", external: true, doc: onAdapter("Overlay", inVSID(16777215)), want: hns.CodeInvalidParameter},
		{name: "overlay over IPv6", sure: Assumed, source: "Windows container network drivers", external: true, doc: onAdapter("Overlay", ipams(subnet("fd00:231:0:1::/64", "fd00:231:0:1::1", vsid(5001)))), want: hns.CodeInvalidParameter},
		{name: "VLAN too high", sure: Assumed, external: true, doc: onAdapter("L2Bridge", ipams(subnet(prefix(1), host(1, 1), policies(policy("VLAN", `{"IsolationId":4095}`))))), want: hns.CodeInvalidPolicy},
		{name: "adapter not there", sure: Seen, source: "microsoft/SDN#269", external: true, doc: adapter(`{"NetworkAdapterName":"no such adapter"}`), want: hns.CodeAdapterNotFound},
		{name: "remote subnet on a bridge", sure: Assumed, external: true, only: hns.FeatureRemoteSubnet.In, doc: func(b *bench) string {
			return b.networkDoc("net", "L2Bridge", []string{policy("RemoteSubnetRoute", remoteSubnet)}, one)
		}, want: hns.CodeInvalidNetworkType},
	}
}

func networkCases() []scenario {
	cases := []scenario{
		{name: "network/create, read and delete", sure: Tested, source: "microsoft/hcsshim TestCreateDeleteNetworks", run: networkLife},
		{name: "network/read as created", sure: Assumed, run: func(b *bench) {
			n := b.nat()
			b.truth("byte for byte", string(b.get(hns.KindNetwork, n.id)) == string(n.doc))
		}},
		{name: "network/NAT shows no type", sure: Client, source: "microsoft/hcsshim hcnnetwork.go", run: func(b *bench) {
			n := b.nat()
			b.field("created", n.doc, "Type", "")
			b.field("read", b.get(hns.KindNetwork, n.id), "Type", "")
		}},
		{name: "network/NAT without subnet", sure: Tested, source: "microsoft/hcsshim TestCreateDeleteNetworks", run: func(b *bench) {
			n := b.create(createNetwork(b.plainDoc("net", "NAT", `"Ipams":[]`)))
			_, err := netip.ParsePrefix(text(n.doc, "Ipams.0.Subnets.0.IpAddressPrefix"))
			b.truth("a subnet was chosen", err == nil)
		}},
		{name: "network/NAT subnet chosen", sure: Seen, source: "projectcalico/calico#8465", run: chosenSubnet},
		{name: "network/NAT without gateway", sure: Assumed, run: func(b *bench) {
			n := b.create(createNetwork(b.plainDoc("net", "NAT", ipams(subnet(prefix(1), "")))))
			b.field("gateway", n.doc, "Ipams.0.Subnets.0.Routes.0.NextHop", host(1, 1))
		}},
		{name: "network/name taken", sure: Seen, source: "microsoft/hcsshim#850", run: func(b *bench) {
			b.create(createNetwork(b.plainDoc("net", "NAT", ipams(subnet(prefix(1), host(1, 1))))))
			b.answers("of the same type", createNetwork(b.plainDoc("net", "NAT", ipams(subnet(prefix(2), host(2, 1))))), hns.CodeNetworkExists)
			b.answers("of another type", createNetwork(b.plainDoc("net", "Private")), hns.CodeNetworkExists)
		}},
		{name: "network/name in other letters", sure: Assumed, run: func(b *bench) {
			b.create(createNetwork(b.plainDoc("net", "Private")))
			b.answers("NET", createNetwork(b.plainDoc("NET", "Private")), 0)
		}},
		{name: "network/name free after delete", sure: Tested, source: "microsoft/hcsshim hcnutils_test.go", run: func(b *bench) {
			for range 2 {
				n := b.create(createNetwork(b.plainDoc("net", "NAT", ipams(subnet(prefix(1), host(1, 1))))))
				b.remove("delete", hns.KindNetwork, n.id, 0)
			}
		}},
		{name: "network/id given", sure: Assumed, run: func(b *bench) { givenID(b, hns.KindNetwork, func() string { return b.plainDoc("net", "Private") }) }},
		{name: "network/missing", sure: Seen, source: "Azure/aks-engine#3900", run: func(b *bench) {
			missing(b, hns.KindNetwork, hns.CodeNetworkNotFound, request("Update", "DNS", "{}"))
		}},
		{name: "network/NAT prefixes overlap", sure: Seen, source: "docker/for-win#726", run: func(b *bench) {
			b.nat()
			b.answers("the same", createNetwork(b.plainDoc("other", "NAT", ipams(subnet(prefix(1), host(1, 1))))), hns.CodeObjectAlreadyExists)
			b.answers("a part", createNetwork(b.plainDoc("other", "NAT", ipams(subnet("10.231.1.128/25", host(1, 129))))), hns.CodeObjectAlreadyExists)
		}},
		{name: "network/two NATs", sure: Seen, source: "moby/moby#30280", run: func(b *bench) { b.nat(); b.nat(); b.truth("both are there", true) }},
		{name: "network/subnets have ids", sure: Seen, source: "dumps of nodes", run: func(b *bench) {
			n := b.nat()
			for _, path := range []string{"Ipams.0.Subnets.0.ID", "Ipams.0.Subnets.0.IpSubnets.0.ID"} {
				b.fits(path, n.doc, path, isID)
			}
			b.field("block", n.doc, "Ipams.0.Subnets.0.IpSubnets.0.IpAddressPrefix", prefix(1))
			b.field("its flags", n.doc, "Ipams.0.Subnets.0.IpSubnets.0.Flags", "3")
		}},
		{name: "network/MAC pool", sure: Seen, source: "dumps of nodes", run: macPool},
		{name: "network/flags", sure: Tested, source: "microsoft/hcsshim TestNetworkFlags", external: true, run: func(b *bench) {
			flags, _ := strconv.Atoi(text(b.overlay().doc, "Flags"))
			b.truth("EnableNonPersistent", flags&8 != 0)
		}},
		{name: "network/overlay is completed", sure: Tested, source: "kubernetes/kubernetes winkernel/hns_test.go", external: true, run: overlayCompleted},
		{name: "network/bridge in schema 2", sure: Seen, source: "dumps of nodes", external: true, run: func(b *bench) {
			n := b.bridge()
			b.field("Type", n.doc, "Type", "L2Bridge")
			b.check("DrMacAddress", settings(n.doc, "DrMacAddress"), "")
			b.check("ProviderAddress", settings(n.doc, "ProviderAddress"), "")
		}},
		{name: "network/several on an adapter", sure: Client, source: "ovn-org/ovn-kubernetes", external: true, run: func(b *bench) { b.bridge(); b.overlay(); b.truth("both are there", true) }},
		{name: "network/router MAC given", sure: Assumed, external: true, run: func(b *bench) {
			doc := b.networkDoc("net", "Overlay", []string{policy("DrMacAddress", `{"Address":"00-15-5D-23-10-01"}`)}, ipams(subnet(prefix(1), host(1, 1), vsid(5001))))
			n := b.create(createNetwork(doc))
			b.check("shown as given", settings(n.doc, "DrMacAddress"), `{"Address":"00-15-5D-23-10-01"}`)
			b.check("once", fmt.Sprint(countPolicies(b, n, "DrMacAddress")), "1")
		}},
		{name: "network/adapter by its address", sure: Client, source: "Azure/azure-container-networking", external: true, run: func(b *bench) {
			own := text([]byte(settings(b.overlay().doc, "ProviderAddress")), "ProviderAddress")
			given := func(a string) string {
				return b.plainDoc("net", "L2Bridge", policies(policy("ProviderAddress", fmt.Sprintf(`{"ProviderAddress":%q}`, a))), ipams(subnet(prefix(2), host(2, 1))))
			}
			b.answers("that of the host", createNetwork(given(own)), 0)
		}},
		{name: "network/adapter of another address", sure: Assumed, external: true, run: func(b *bench) {
			doc := b.plainDoc("net", "L2Bridge", policies(policy("ProviderAddress", `{"ProviderAddress":"10.231.255.254"}`)), ipams(subnet(prefix(1), host(1, 1))))
			b.answers("create", createNetwork(doc), hns.CodeAdapterNotFound)
		}},
		{name: "network/provider address", sure: Client, source: "flannel-io/flannel vxlan_network_windows.go", external: true, run: func(b *bench) {
			n := b.overlay()
			for try := 0; try < 10 && !b.h.Strict && settings(n.doc, "ProviderAddress") == ""; try++ {
				time.Sleep(500 * time.Millisecond) // it may come late: flannel-io/flannel#1066
				n.doc = b.get(hns.KindNetwork, n.id)
			}
			_, err := netip.ParseAddr(text([]byte(settings(n.doc, "ProviderAddress")), "ProviderAddress"))
			b.truth("an address", err == nil)
		}},
		{name: "network/DNS update", sure: Client, source: "hns.v2.psm1", run: networkDNS},
		{name: "network/subnet change", sure: Seen, source: "microsoft/hcsshim#786", run: func(b *bench) {
			n := b.nat()
			b.modify("add", hns.KindNetwork, n.id, request("Add", "Subnet", `{"Subnets":[`+subnet(prefix(2), host(2, 1))+`]}`), hns.CodeRequestUnsupported)
			b.field("as before", b.get(hns.KindNetwork, n.id), "Ipams.0.Subnets.1.IpAddressPrefix", "")
		}},
		{name: "network/unknown requests", sure: Assumed, run: func(b *bench) { unknownRequests(b, hns.KindNetwork, b.nat().id, "Policy") }},
		{name: "network/delete takes endpoints along", sure: Tested, source: "microsoft/hcsshim TestEndpointStatsAll", run: func(b *bench) {
			n := b.nat()
			ep := b.endpoint(n.id, "ep")
			b.remove("delete", hns.KindNetwork, n.id, 0)
			b.gone("the endpoint is gone", hns.KindEndpoint, ep.id, true)
		}},
		{name: "network/delete takes attached endpoints along", sure: Client, source: "microsoft/windows-container-networking", run: networkCascade},
		{name: "network/delete takes lists along", sure: Tested, source: "microsoft/hnslib TestCreateUpdateDeleteLoadBalancer", external: true, run: listCascade},
	}
	for number, typ := range map[int]string{0: "NAT", 6: "Private", 7: "Internal"} {
		sure := Assumed // that the numbers are the places in the schema's list
		if number == 0 {
			sure = Documented
		}
		cases = append(cases, scenario{name: "network/type by number/" + typ, sure: sure, source: "HCN scenarios", run: func(b *bench) {
			n := b.create(createNetwork(members(b.named("net"), fmt.Sprintf(`"Type":%d`, number), schema, ipams(subnet(prefix(1), host(1, 1))))))
			b.field("Type", n.doc, "Type", strings.TrimPrefix(typ, "NAT"))
		}})
	}
	return append(sorted(cases), refusals("network/create/", hns.KindNetwork, networkRefusals())...)
}

// refusals makes a case of each document. What is refused leaves nothing
// behind.
func refusals(group string, kind hns.Kind, rs []refusal) (cases []scenario) {
	for _, r := range rs {
		cases = append(cases, scenario{name: group + r.name, sure: r.sure, source: r.source, external: r.external, only: r.only, run: func(b *bench) {
			doc := r.doc(b)
			before := len(b.list(kind, ""))
			b.answers("create", createOf(kind, doc), r.want)
			want := before
			if r.want == 0 {
				want++
			}
			b.check("objects afterwards", fmt.Sprint(len(b.list(kind, ""))-before), fmt.Sprint(want-before))
		}})
	}
	return cases
}

func networkLife(b *bench) {
	n := b.nat()
	doc := b.get(hns.KindNetwork, n.id)
	b.field("Name", doc, "Name", b.h.Prefix+"nat1")
	b.field("prefix", doc, "Ipams.0.Subnets.0.IpAddressPrefix", prefix(1))
	b.field("gateway", doc, "Ipams.0.Subnets.0.Routes.0.NextHop", host(1, 1))
	b.field("schema", doc, "SchemaVersion.Major", "2")
	b.remove("delete", hns.KindNetwork, n.id, 0)
	b.gone("gone", hns.KindNetwork, n.id, true)
}

func chosenSubnet(b *bench) {
	n := b.create(createNetwork(b.plainDoc("net", "NAT")))
	p, _ := netip.ParsePrefix(text(n.doc, "Ipams.0.Subnets.0.IpAddressPrefix"))
	b.check("bits", fmt.Sprint(p.Bits()), "20")
	b.truth("in 172.16.0.0/12", netip.MustParsePrefix("172.16.0.0/12").Contains(p.Addr()))
	b.field("gateway", n.doc, "Ipams.0.Subnets.0.Routes.0.NextHop", p.Addr().Next().String())
}

// givenID: the id of the request and that of the document are honoured, and
// stay the object's.
func givenID(b *bench, kind hns.Kind, doc func() string) {
	id := hns.NewID()
	with := strings.TrimSuffix(doc(), "}") + fmt.Sprintf(`,"ID":%q}`, id.Upper())
	o := b.create(hns.Request{Kind: kind, Document: json.RawMessage(with)})
	b.truth("of the document", o.id == id)
	b.answers("again", createOf(kind, with), hns.CodeAlreadyExists)
	b.remove("delete", kind, id, 0)
	o = b.create(hns.Request{Kind: kind, ID: id, Document: json.RawMessage(doc())})
	b.truth("of the request, free again", o.id == id)
}

// missing asks all verbs for an object that is not there.
func missing(b *bench, kind hns.Kind, code hns.Code, change string) {
	id := hns.NewID()
	b.answers("get", hns.Request{Verb: hns.VerbGet, Kind: kind, ID: id}, code)
	b.modify("modify", kind, id, change, code)
	b.remove("delete", kind, id, code)
	b.gone("list", kind, id, true)
}

func macPool(b *bench) {
	n := b.nat()
	first, _ := hns.ParseMAC(text(n.doc, "MacPool.Ranges.0.StartMacAddress"))
	last, _ := hns.ParseMAC(text(n.doc, "MacPool.Ranges.0.EndMacAddress"))
	b.check("maker", fmt.Sprintf("%X", first[:3]), "00155D")
	b.truth("a block of 4096", first[3] == last[3] && first[4]>>4 == last[4]>>4 && first[4]&15 == 0 && last[4]&15 == 15 && first[5] == 0 && last[5] == 255)
	b.truth("another for another network", text(b.nat().doc, "MacPool.Ranges.0.StartMacAddress") != first.String())
}

func overlayCompleted(b *bench) {
	n := b.overlay()
	b.field("Type", n.doc, "Type", "Overlay")
	_, err := hns.ParseMAC(text(json.RawMessage(settings(n.doc, "DrMacAddress")), "Address"))
	b.truth("DrMacAddress", err == nil)
	b.field("VSID", n.doc, "Ipams.0.Subnets.0.Policies.0.Settings.IsolationId", "5001")
}

func networkDNS(b *bench) {
	n := b.nat(`"Dns":{"ServerList":["10.231.0.10"]}`)
	old := b.endpoint(n.id, "old")
	b.modify("update", hns.KindNetwork, n.id, request("Update", "DNS", `{"Domain":"a.test","Search":["b.test"],"ServerList":["10.231.0.11","10.231.0.12"]}`), 0)
	doc := b.get(hns.KindNetwork, n.id)
	b.field("Domain", doc, "Dns.Domain", "a.test")
	b.field("ServerList", doc, "Dns.ServerList", `["10.231.0.11","10.231.0.12"]`)
	b.truth("an endpoint that was there keeps its own", text(b.get(hns.KindEndpoint, old.id), "Dns") == text(old.doc, "Dns"))
}

// unknownRequests are verbs and resources that the kind does not have.
func unknownRequests(b *bench, kind hns.Kind, id hns.ID, resource string) {
	before := b.get(kind, id)
	b.modify("unknown request", kind, id, request("Paint", resource, "{}"), hns.CodeRequestUnsupported)
	b.modify("unknown resource", kind, id, request("Add", "Colour", "{}"), hns.CodeRequestUnsupported)
	b.modify("not JSON", kind, id, `{"RequestType":`, hns.CodeInvalidJSON)
	b.truth("nothing changed", string(b.get(kind, id)) == string(before))
}

// networkCascade: endpoints go with their network, also one in a namespace.
func networkCascade(b *bench) {
	n := b.nat()
	free, attached := b.endpoint(n.id, "free"), b.endpoint(n.id, "attached")
	ns := b.namespace()
	b.modify("attach", hns.KindNamespace, ns.id, endpointIn("Add", attached.id), 0)
	b.remove("delete", hns.KindNetwork, n.id, 0)
	b.gone("the free one is gone", hns.KindEndpoint, free.id, true)
	b.gone("the attached one is gone", hns.KindEndpoint, attached.id, true)
	b.gone("the namespace is gone", hns.KindNamespace, ns.id, false)
	b.field("what it holds", b.get(hns.KindNamespace, ns.id), "Resources", "")
}

// listCascade: a load balancer goes with the network, so that its front end is
// free.
func listCascade(b *bench) {
	n := b.overlay()
	front := []string{vips("10.96.0.7"), ports(6, 8080, 8090)}
	lb := b.create(createOf(hns.KindLoadBalancer, b.balancerDoc("lb", []hns.ID{b.endpoint(n.id, "ep").id}, front...)))
	b.remove("delete", hns.KindNetwork, n.id, 0)
	b.gone("the load balancer is gone", hns.KindLoadBalancer, lb.id, true)
	ep := b.endpoint(b.overlay().id, "ep")
	b.answers("the same on another network", createOf(hns.KindLoadBalancer, b.balancerDoc("lb", []hns.ID{ep.id}, front...)), 0)
}
