package hnstest

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// endpointTrial is a create of an endpoint on a network made for it.
type endpointTrial struct {
	name     string
	sure     Certainty
	source   string
	external bool
	network  func(*bench) object // nil: NAT
	more     []string
	want     func(*bench) hns.Code // nil: taken
}

func answer(c hns.Code) func(*bench) hns.Code { return func(*bench) hns.Code { return c } }

// fromMajor is the code from a major version of HNS on.
func fromMajor(major uint32, c hns.Code) func(*bench) hns.Code {
	return func(b *bench) hns.Code { return unless(b.h.Version.Major < major, c) }
}

func endpointTrials() []endpointTrial {
	at := func(a string, more ...string) []string { return append([]string{address(a)}, more...) }
	return []endpointTrial{
		{name: "address in the subnet", sure: Tested, source: "kubernetes/kubernetes winkernel/hns_test.go", more: at(host(1, 7))},
		{name: "address in no subnet", sure: Documented, source: "HCNHResult", more: at(host(9, 7)), want: answer(hns.CodeInvalidIP)},
		{name: "address of another family", sure: Documented, source: "HCNHResult", more: at("fd00:231:0:1::7"), want: answer(hns.CodeInvalidIP)},
		{name: "address unreadable", sure: Documented, source: "HCNHResult", more: at("seven"), want: answer(hns.CodeInvalidIP)},
		{name: "address with its bits", sure: Assumed, more: at(host(1, 7) + "/24"), want: answer(hns.CodeInvalidIP)},
		{name: "remote address in no subnet", sure: Tested, source: "kubernetes/kubernetes winkernel/hns_test.go", external: true, network: plainOverlay, more: at(host(9, 7), `"Flags":1`)},
		{name: "remote without address", sure: Assumed, more: []string{`"Flags":1`}, want: answer(hns.CodeInvalidEndpoint)},
		{name: "network address", sure: Seen, source: "kubernetes/kubernetes#100962", more: at(host(1, 0)), want: fromMajor(10, hns.CodeAddressInvalidOrReserved)},
		{name: "broadcast address", sure: Assumed, source: "kubernetes/kubernetes#100962", more: at(host(1, 255)), want: fromMajor(10, hns.CodeAddressInvalidOrReserved)},
		{name: "gateway address", sure: Assumed, source: "kubernetes/kubernetes#100962", more: at(host(1, 1)), want: fromMajor(10, hns.CodeAddressInvalidOrReserved)},
		{name: "gateway address not reserved", sure: Client, source: "microsoft/hcsshim SubnetFlags", more: at(host(1, 1)), network: func(b *bench) object {
			return b.create(createNetwork(b.plainDoc("open", "NAT", ipams(subnet(prefix(1), host(1, 1), `"Flags":1`)))))
		}},
		{name: "the same address twice", sure: Assumed, more: []string{address(host(1, 7), host(1, 7))}, want: answer(hns.CodeObjectAlreadyExists)},
		{name: "two addresses of a family", sure: Assumed, source: "microsoft/windows-container-networking PR #61", more: []string{address(host(1, 7), host(1, 8))}, want: answer(hns.CodeInvalidParameter)},
		{name: "an empty address", sure: Client, source: "microsoft/hcsshim", more: []string{`"IpConfigurations":[{}]`}},
		{name: "addresses of the wrong kind", sure: Assumed, more: []string{`"IpConfigurations":"10.231.1.7"`}, want: answer(hns.CodeInvalidJSON)},
		{name: "too many bits", sure: Assumed, more: []string{`"IpConfigurations":[{"IpAddress":"10.231.1.7","PrefixLength":33}]`}, want: answer(hns.CodeInvalidPrefix)},
		{name: "MAC unreadable", sure: Assumed, more: []string{`"MacAddress":"02152D010203"`}, want: answer(hns.CodeInvalidParameter)},
		{name: "route prefix unreadable", sure: Assumed, more: []string{`"Routes":[{"NextHop":"10.231.1.1","DestinationPrefix":"anywhere"}]`}, want: answer(hns.CodeInvalidPrefix)},
		{name: "route next hop unreadable", sure: Assumed, more: []string{`"Routes":[{"NextHop":"there","DestinationPrefix":"0.0.0.0/0"}]`}, want: answer(hns.CodeInvalidIP)},
		{name: "route metric of more than 16 bits", sure: Documented, source: "HNS schema", more: []string{`"Routes":[{"NextHop":"10.231.1.1","DestinationPrefix":"0.0.0.0/0","Metric":65536}]`}, want: answer(hns.CodeInvalidJSON)},
		{name: "next hop anywhere", sure: Client, source: "containernetworking/plugins win-bridge", more: []string{`"Routes":[{"NextHop":"10.9.9.9","DestinationPrefix":"0.0.0.0/0"}]`}},
		{name: "id is no GUID", sure: Assumed, more: []string{`"ID":"pod"`}, want: answer(hns.CodeGUIDConversion)},
		{name: "no subnet to take from", sure: Assumed, source: "wording of HCNHResult", external: true, network: func(b *bench) object {
			return b.create(createNetwork(b.networkDoc("bridge", "L2Bridge", nil, ipams(subnet("10.231.1.0/30", host(1, 1))))))
		}, more: []string{address("fd00:231::7")}, want: answer(hns.CodeInvalidIP)},
		{name: "Transparent without subnet", sure: Client, source: "Windows container network drivers", external: true, network: func(b *bench) object {
			return b.create(createNetwork(b.networkDoc("net", "Transparent", nil)))
		}},
		{name: "on Private", sure: Assumed, network: func(b *bench) object { return b.create(createNetwork(b.plainDoc("net", "Private"))) }},
	}
}

func endpointCases() []scenario {
	cases := []scenario{
		{name: "endpoint/create, read and delete", sure: Tested, source: "microsoft/hcsshim TestCreateDeleteEndpoint", run: endpointLife},
		{name: "endpoint/read as created", sure: Assumed, run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			b.truth("byte for byte", string(b.get(hns.KindEndpoint, ep.id)) == string(ep.doc))
		}},
		{name: "endpoint/missing", sure: Seen, source: "Azure/azure-container-networking#715", run: func(b *bench) {
			missing(b, hns.KindEndpoint, hns.CodeEndpointNotFound, request("Update", "Policy", `{"Policies":[]}`))
		}},
		{name: "endpoint/network missing", sure: Seen, source: "Azure/aks-engine#3900", run: func(b *bench) {
			b.answers("create", b.endpointReq(hns.NewID(), "ep"), hns.CodeNetworkNotFound)
		}},
		{name: "endpoint/two networks named", sure: Assumed, run: func(b *bench) {
			r := b.endpointReq(b.nat().id, "ep")
			r.Network = b.nat().id
			b.answers("create", r, hns.CodeInvalidParameter)
		}},
		{name: "endpoint/address chosen", sure: Tested, source: "microsoft/hcsshim hcnutils_test.go", run: addressChosen},
		{name: "endpoint/names are free", sure: Tested, source: "microsoft/hcsshim hcnloadbalancer_test.go", run: func(b *bench) {
			n := b.nat()
			x, y := b.endpoint(n.id, "ep"), b.endpoint(n.id, "ep")
			b.truth("two of a name", x.id != y.id)
			b.check("both are found", fmt.Sprint(len(b.list(hns.KindEndpoint, members(b.named("ep"))))), "2")
		}},
		{name: "endpoint/without a name", sure: Seen, source: "dumps of nodes", run: func(b *bench) {
			n := b.nat()
			ep := b.create(hns.Request{Kind: hns.KindEndpoint, Network: n.id, Document: []byte(members(schema))})
			b.field("Name", ep.doc, "Name", "Ethernet")
		}},
		{name: "endpoint/id given", sure: Assumed, run: endpointID},
		{name: "endpoint/address in use", sure: Seen, source: "kubernetes/kubernetes#74766", run: func(b *bench) {
			n := b.nat()
			ep := b.endpoint(n.id, "ep", address(host(1, 7)))
			b.answers("again", b.endpointReq(n.id, "two", address(host(1, 7))), hns.CodeObjectAlreadyExists)
			b.remove("the first goes", hns.KindEndpoint, ep.id, 0)
			b.answers("then", b.endpointReq(n.id, "two", address(host(1, 7))), 0)
		}},
		{name: "endpoint/remote address in use", sure: Client, source: "kubernetes/kubernetes#138000", run: func(b *bench) {
			n := b.nat()
			b.endpoint(n.id, "ep", address(host(1, 7)))
			b.answers("remote", b.endpointReq(n.id, "two", address(host(1, 7)), `"Flags":1`), hns.CodeObjectAlreadyExists)
		}},
		{name: "endpoint/subnet full", sure: Assumed, source: "wording of HCNHResult", run: func(b *bench) {
			n := b.create(createNetwork(b.plainDoc("small", "NAT", ipams(subnet("10.231.1.0/30", host(1, 1))))))
			b.answers("the last address", b.endpointReq(n.id, "one"), 0)
			b.answers("one more", b.endpointReq(n.id, "two"), hns.CodeSubnetNotFound)
		}},
		{name: "endpoint/prefix length", sure: Client, source: "containernetworking/plugins win-bridge", run: func(b *bench) {
			b.field("of the subnet", b.endpoint(b.nat().id, "ep", address(host(1, 7))).doc, "IpConfigurations.0.PrefixLength", "24")
		}},
		{name: "endpoint/default route", sure: Client, source: "containernetworking/plugins win-bridge", run: func(b *bench) {
			n := b.nat()
			ep := b.endpoint(n.id, "ep")
			b.field("NextHop", ep.doc, "Routes.0.NextHop", host(1, 1))
			b.field("DestinationPrefix", ep.doc, "Routes.0.DestinationPrefix", "0.0.0.0/0")
			b.field("remote", b.endpoint(n.id, "far", address(host(9, 9)), `"Flags":1`).doc, "Routes", "")
		}},
		{name: "endpoint/routes given", sure: Client, source: "containernetworking/plugins win-bridge", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep", `"Routes":[{"NextHop":"10.231.1.2","DestinationPrefix":"0.0.0.0/0","Metric":7}]`)
			b.fields(ep.doc, "Routes.0.NextHop", host(1, 2), "Routes.0.Metric", "7", "Routes.1", "")
		}},
		{name: "endpoint/MAC given", sure: Tested, source: "kubernetes/kubernetes winkernel/hns_test.go", external: true, run: func(b *bench) {
			ep := b.endpoint(b.overlay().id, "ep", `"MacAddress":"00-11-22-33-44-55"`)
			b.field("with dashes", b.get(hns.KindEndpoint, ep.id), "MacAddress", "00-11-22-33-44-55")
		}},
		{name: "endpoint/MAC as given", sure: Seen, source: "ovn-kubernetes/ovn-kubernetes#580", run: func(b *bench) {
			n := b.nat()
			b.field("small letters", b.endpoint(n.id, "x", `"MacAddress":"0a-58-0a-e7-01-07"`).doc, "MacAddress", "0a-58-0a-e7-01-07")
			b.field("colons", b.endpoint(n.id, "y", `"MacAddress":"0A:58:0A:E7:01:08"`).doc, "MacAddress", "0A:58:0A:E7:01:08")
		}},
		{name: "endpoint/MAC twice", sure: Assumed, run: func(b *bench) {
			n := b.nat()
			b.endpoint(n.id, "x", `"MacAddress":"00-11-22-33-44-55"`)
			b.answers("again", b.endpointReq(n.id, "y", `"MacAddress":"00-11-22-33-44-55"`), 0)
		}},
		{name: "endpoint/MAC chosen", sure: Client, source: "microsoft/hcsshim hcnutils_test.go", run: macChosen},
		{name: "endpoint/MAC pool used up", sure: Assumed, source: "wording of HCNHResult", run: func(b *bench) {
			n := b.nat(`"MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-52-C0-00","EndMacAddress":"00-15-5D-52-C0-02"}]}`)
			seen := map[string]bool{}
			var last object
			for {
				docs, code := b.do(b.endpointReq(n.id, "ep"))
				if code != 0 || len(docs) != 1 || len(seen) > 3 {
					b.check("in the end", outcome(code), outcome(hns.CodeSubnetNotFound))
					break
				}
				last = object{b.own(hns.KindEndpoint, docs[0]), docs[0]}
				seen[text(docs[0], "MacAddress")] = true
			}
			b.truth("some were given", len(seen) > 0)
			b.remove("one goes", hns.KindEndpoint, last.id, 0)
			b.field("it is given again", b.endpoint(n.id, "ep").doc, "MacAddress", text(last.doc, "MacAddress"))
		}},
		{name: "endpoint/address given again", sure: Assumed, run: func(b *bench) {
			n := b.create(createNetwork(b.plainDoc("small", "NAT", ipams(subnet("10.231.1.0/30", host(1, 1))))))
			ep := b.endpoint(n.id, "ep")
			b.remove("it goes", hns.KindEndpoint, ep.id, 0)
			b.field("IpAddress", b.endpoint(n.id, "ep").doc, "IpConfigurations.0.IpAddress", text(ep.doc, "IpConfigurations.0.IpAddress"))
		}},
		{name: "endpoint/port of a machine", sure: Client, source: "microsoft/hcsshim internal/uvm", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			const port = `{"PortId":"11111111-2222-4333-8444-555555555555","VirtualNicName":"machine--nic","VirtualMachineId":"11111111-2222-4333-8444-666666666666"}`
			b.modify("add", hns.KindEndpoint, ep.id, request("Add", "Port", port), 0)
			b.modify("a namespace", hns.KindNamespace, b.namespace().id, endpointIn("Add", ep.id), hns.CodeEndpointAttached)
			b.modify("remove", hns.KindEndpoint, ep.id, request("Remove", "Port", port), 0)
			b.modify("a namespace then", hns.KindNamespace, b.namespace().id, endpointIn("Add", ep.id), 0)
		}},
		{name: "endpoint/DNS given", sure: Client, source: "containernetworking/plugins win-bridge", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep", `"Dns":{"Domain":"a.test","Search":["b.test","c.test"],"ServerList":["10.0.0.10"]}`)
			b.fields(ep.doc, "Dns.Domain", "a.test", "Dns.Search", `["b.test","c.test"]`, "Dns.ServerList", `["10.0.0.10"]`)
		}},
		{name: "endpoint/in no namespace", sure: Seen, source: "antrea-io/antrea#2301", run: func(b *bench) {
			b.field("HostComputeNamespace", b.endpoint(b.nat().id, "ep").doc, "HostComputeNamespace", noNamespace)
		}},
		{name: "endpoint/address free after delete", sure: Tested, source: "microsoft/hcsshim hcnutils_test.go", run: func(b *bench) {
			n := b.nat()
			for range 2 {
				ep := b.endpoint(n.id, "ep", address(host(1, 7)))
				b.remove("delete", hns.KindEndpoint, ep.id, 0)
			}
		}},
		{name: "endpoint/dual stack", sure: Tested, source: "microsoft/windows-container-networking", external: true, only: hns.FeatureDualStack.In, run: dualStack},
		{name: "endpoint/dual stack addresses chosen", sure: Assumed, external: true, only: hns.FeatureDualStack.In, run: func(b *bench) {
			free := b.endpoint(b.dual().id, "free")
			b.check("addresses", fmt.Sprint(len(each(free.doc, "IpConfigurations"))), "2")
			b.check("default routes", fmt.Sprint(len(each(free.doc, "Routes"))), "2")
		}},
		{name: "endpoint/unknown requests", sure: Assumed, run: func(b *bench) { unknownRequests(b, hns.KindEndpoint, b.endpoint(b.nat().id, "ep").id, "Policy") }},
		{name: "endpoint/delete while attached", sure: Client, source: "moby/moby#40699", run: func(b *bench) {
			_, ep := b.attached()
			b.remove("delete", hns.KindEndpoint, ep.id, 0)
			b.gone("gone", hns.KindEndpoint, ep.id, true)
		}},
	}
	for _, tt := range endpointTrials() {
		cases = append(cases, scenario{name: "endpoint/create/" + tt.name, sure: tt.sure, source: tt.source, external: tt.external, run: func(b *bench) {
			network, want := plainNAT, answer(0)
			if tt.network != nil {
				network = tt.network
			}
			if tt.want != nil {
				want = tt.want
			}
			n := network(b)
			b.answers("create", b.endpointReq(n.id, "ep", tt.more...), want(b))
			on := b.list(hns.KindEndpoint, fmt.Sprintf(`{"VirtualNetwork":%q}`, n.id))
			b.truth("left behind: what was made", (want(b) == 0) == (len(on) == 1))
		}})
	}
	return cases
}

func endpointLife(b *bench) {
	n := b.nat()
	ep := b.endpoint(n.id, "ep", address(host(1, 7)))
	doc := b.get(hns.KindEndpoint, ep.id)
	b.field("Name", doc, "Name", b.h.Prefix+"ep")
	b.truth("network", text(doc, "HostComputeNetwork") == n.id.String())
	b.field("address", doc, "IpConfigurations.0.IpAddress", host(1, 7))
	b.remove("delete", hns.KindEndpoint, ep.id, 0)
	b.gone("gone", hns.KindEndpoint, ep.id, true)
}

func addressChosen(b *bench) {
	n := b.nat()
	seen := map[string]bool{}
	for i := range 3 {
		a, err := netip.ParseAddr(text(b.endpoint(n.id, "ep").doc, "IpConfigurations.0.IpAddress"))
		p := netip.MustParsePrefix(prefix(1))
		b.truth(fmt.Sprintf("%d is of the subnet", i), err == nil && p.Contains(a))
		b.truth(fmt.Sprintf("%d is neither network nor gateway", i), a != p.Addr() && a != p.Addr().Next())
		seen[a.String()] = true
	}
	b.check("differing", fmt.Sprint(len(seen)), "3")
}

func endpointID(b *bench) {
	n, id := b.nat(), hns.NewID()
	r := b.endpointReq(n.id, "ep", fmt.Sprintf(`"ID":%q`, id.Upper()))
	b.truth("of the document", b.create(r).id == id)
	b.answers("again", r, hns.CodeAlreadyExists)
	b.remove("delete", hns.KindEndpoint, id, 0)
	r = b.endpointReq(n.id, "ep")
	r.ID = id
	b.truth("of the request, free again", b.create(r).id == id)
}

func macChosen(b *bench) {
	n := b.nat(`"MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-52-C0-00","EndMacAddress":"00-15-5D-52-CF-FF"}]}`)
	x, err := hns.ParseMAC(text(b.endpoint(n.id, "x").doc, "MacAddress"))
	b.truth("of the pool", err == nil && x[0] == 0 && x[1] == 0x15 && x[2] == 0x5d && x[3] == 0x52 && x[4]>>4 == 0xc)
	b.truth("another for another", text(b.endpoint(n.id, "y").doc, "MacAddress") != x.String())
}

// dual makes an L2Bridge network with a subnet of each family.
func (b *bench) dual() object {
	b.t.Helper()
	return b.create(createNetwork(b.networkDoc("dual", "L2Bridge", nil,
		ipams(subnet(prefix(1), host(1, 1)), subnet("fd00:231:0:1::/64", "fd00:231:0:1::1")))))
}

func dualStack(b *bench) {
	n := b.dual()
	ep := b.endpoint(n.id, "ep", address("fd00:231:0:1::7", host(1, 7)))
	got := b.get(hns.KindEndpoint, ep.id)
	b.field("first as given", got, "IpConfigurations.0.IpAddress", "fd00:231:0:1::7")
	b.field("second as given", got, "IpConfigurations.1.IpAddress", host(1, 7))
}
