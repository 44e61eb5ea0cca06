package hnstest

import (
	"fmt"

	"github.com/hnskit/hnskit/hns"
)

// balancerDoc is the document of a load balancer over endpoints.
func (b *bench) balancerDoc(name string, backends []hns.ID, more ...string) string {
	return members(append([]string{b.named(name), `"HostComputeEndpoints":` + quoted(backends...), schema}, more...)...)
}

// vips and ports are members of it.
func vips(addresses ...string) string {
	var out []string
	for _, a := range addresses {
		out = append(out, fmt.Sprintf("%q", a))
	}
	return `"FrontendVIPs":` + list(out...)
}

func mapping(protocol, internal, external int, more ...string) string {
	return members(append([]string{fmt.Sprintf(`"Protocol":%d,"InternalPort":%d,"ExternalPort":%d`, protocol, internal, external)}, more...)...)
}

func ports(protocol, internal, external int, more ...string) string {
	return `"PortMappings":` + list(mapping(protocol, internal, external, more...))
}

func balancerRefusals() []refusal {
	with := func(more ...string) func(*bench) string {
		return func(b *bench) string {
			return b.balancerDoc("lb", []hns.ID{b.endpoint(b.overlay().id, "ep").id}, more...)
		}
	}
	web, vip := ports(6, 80, 80), vips("10.96.0.1")
	return []refusal{
		{name: "plain", sure: Tested, source: "microsoft/hcsshim TestCreateDeleteLoadBalancer", doc: with(web, vip)},
		{name: "no backends", sure: Seen, source: "kubernetes/kubernetes#100384", doc: func(b *bench) string { return b.balancerDoc("lb", nil, web, vip) }, want: hns.CodeInvalidJSONReference},
		{name: "backend missing", sure: Assumed, doc: func(b *bench) string { return b.balancerDoc("lb", []hns.ID{hns.NewID()}, web, vip) }, want: hns.CodeInvalidJSONReference},
		{name: "backend is no id", sure: Assumed, doc: func(b *bench) string {
			return members(b.named("lb"), `"HostComputeEndpoints":["web"]`, schema, web, vip)
		}, want: hns.CodeInvalidJSONReference},
		{name: "backends on two networks", sure: Assumed, doc: func(b *bench) string {
			x, y := b.endpoint(b.overlay().id, "x"), b.endpoint(b.overlay().id, "y")
			return b.balancerDoc("lb", []hns.ID{x.id, y.id}, web, vip)
		}, want: hns.CodeInvalidParameter},
		{name: "on a NAT network", sure: Assumed, doc: func(b *bench) string {
			return b.balancerDoc("lb", []hns.ID{b.endpoint(b.nat().id, "ep").id}, web, vip)
		}, want: hns.CodeInvalidNetworkType},
		{name: "on a bridge, not attached", sure: Assumed, source: "microsoft/hcsshim#1043", doc: func(b *bench) string {
			return b.balancerDoc("lb", []hns.ID{b.endpoint(b.bridge().id, "ep").id}, web, vip)
		}},
		{name: "another network named", sure: Assumed, doc: with(web, vip, `"HostComputeNetwork":"11111111-2222-4333-8444-555555555555"`), want: hns.CodeInvalidParameter},
		{name: "no port mapping", sure: Assumed, source: "wording of HCNHResult", doc: with(vip), want: hns.CodeInvalidPolicy},
		{name: "no internal port", sure: Documented, source: "HCNHResult", doc: with(vip, ports(6, 0, 80)), want: hns.CodeInvalidInternalPort},
		{name: "no external port", sure: Assumed, doc: with(vip, ports(6, 80, 0)), want: hns.CodeInvalidParameter},
		{name: "all traffic of an internal one", sure: Client, source: "moby/moby service_windows.go", doc: with(vip, ports(0, 0, 0, `"Flags":1`))},
		{name: "all traffic of an external one", sure: Assumed, doc: with(vip, ports(0, 0, 0)), want: hns.CodeInvalidInternalPort},
		{name: "port too high", sure: Assumed, doc: with(vip, ports(6, 80, 65536)), want: hns.CodeInvalidJSON},
		{name: "VIP unreadable", sure: Assumed, doc: with(web, vips("web")), want: hns.CodeInvalidIP},
		{name: "VIP is a prefix", sure: Assumed, doc: with(web, vips("10.96.0.1/32")), want: hns.CodeInvalidIP},
		{name: "blank VIP", sure: Client, source: "hns.psm1", doc: with(ports(6, 80, 23180), vips(""))},
		{name: "source VIP unreadable", sure: Assumed, doc: with(web, vip, `"SourceVIP":"source"`), want: hns.CodeInvalidIP},
		{name: "families mixed", sure: Assumed, source: "kubernetes/kubernetes winkernel", doc: with(web, vips("10.96.0.1", "fd00:96::1")), want: hns.CodeInvalidParameter},
		{name: "IPv6 without flag", sure: Assumed, source: "kubernetes/kubernetes winkernel", doc: with(web, vips("fd00:96::1")), want: hns.CodeInvalidParameter},
		{name: "IPv6", sure: Client, source: "kubernetes/kubernetes winkernel", only: hns.FeatureDualStack.In, doc: with(web, vips("fd00:96::1"), `"Flags":2`)},
		{name: "a port twice", sure: Assumed, doc: with(vip, `"PortMappings":`+list(mapping(6, 80, 80), mapping(6, 81, 80))), want: hns.CodePortExists},
		{name: "two ports", sure: Client, source: "moby/moby service_windows.go", doc: with(vip, `"PortMappings":`+list(mapping(6, 80, 80), mapping(17, 80, 80)))},
		{name: "id is no GUID", sure: Assumed, doc: with(web, vip, `"ID":"lb"`), want: hns.CodeGUIDConversion},
		{name: "not JSON", sure: Assumed, doc: func(*bench) string { return `{"Name":` }, want: hns.CodeInvalidJSON},
	}
}

func loadBalancerCases() []scenario {
	cases := []scenario{
		{name: "load balancer/comes back", sure: Tested, source: "microsoft/hcsshim hcnloadbalancer_test.go", external: true, run: balancerRoundTrip},
		{name: "load balancer/state and network", sure: Seen, source: "projectcalico/calico#8465", external: true, run: func(b *bench) {
			n := b.overlay()
			lb := b.balancer(n, "lb", vips("10.96.0.1"), ports(6, 80, 80))
			b.field("State", lb.doc, "State", "2")
			b.fits("HostComputeNetwork", lb.doc, "HostComputeNetwork", func(s string) bool { return s == n.id.String() })
		}},
		{name: "load balancer/missing", sure: Assumed, external: true, run: func(b *bench) {
			missing(b, hns.KindLoadBalancer, hns.CodeElementNotFound, "{}")
		}},
		{name: "load balancer/made again under its id", sure: Tested, source: "microsoft/hcsshim TestLoadBalancerAddRemoveEndpoint", external: true, run: func(b *bench) {
			ep, id := b.endpoint(b.overlay().id, "ep"), hns.NewID()
			doc := b.balancerDoc("lb", []hns.ID{ep.id}, vips("10.96.0.1"), ports(6, 80, 80), fmt.Sprintf(`"ID":%q`, id))
			for _, step := range []string{"once", "again"} {
				b.truth(step, b.create(createOf(hns.KindLoadBalancer, doc)).id == id)
				b.remove("delete", hns.KindLoadBalancer, id, 0)
			}
		}},
		{name: "load balancer/id given", sure: Seen, source: "kubernetes/kubernetes#139519", external: true, run: func(b *bench) {
			ep := b.endpoint(b.overlay().id, "ep")
			givenID(b, hns.KindLoadBalancer, func() string { return b.balancerDoc("lb", []hns.ID{ep.id}, vips("10.96.0.1"), ports(6, 80, 80)) })
		}},
		{name: "load balancer/front end taken", sure: Seen, source: "kubernetes/kubernetes#137530", external: true, run: frontEndTaken},
		{name: "load balancer/the same again", sure: Seen, source: "kubernetes/kubernetes#139519", external: true, run: func(b *bench) {
			ep := b.endpoint(b.overlay().id, "ep")
			doc := b.balancerDoc("lb", []hns.ID{ep.id}, vips("10.96.0.1"), ports(6, 80, 80))
			b.create(createOf(hns.KindLoadBalancer, doc))
			b.answers("again", createOf(hns.KindLoadBalancer, doc), hns.CodeAlreadyExists)
		}},
		{name: "load balancer/front end free after delete", sure: Tested, source: "microsoft/hcsshim TestLoadBalancerAddRemoveEndpoint", external: true, run: func(b *bench) {
			n := b.overlay()
			for range 2 {
				lb := b.balancer(n, "lb", vips("10.96.0.1"), ports(6, 80, 80))
				b.remove("delete", hns.KindLoadBalancer, lb.id, 0)
				b.gone("gone", hns.KindLoadBalancer, lb.id, true)
			}
		}},
		{name: "load balancer/node port taken", sure: Seen, source: "kubernetes/kubernetes#78874", external: true, run: func(b *bench) {
			n := b.overlay()
			b.balancer(n, "lb", ports(6, 80, 23181))
			other := b.endpoint(n.id, "other")
			b.answers("the same port", createOf(hns.KindLoadBalancer, b.balancerDoc("two", []hns.ID{other.id}, ports(6, 80, 23181))), hns.CodePortExists)
		}},
		{name: "load balancer/refused leaves nothing", sure: Assumed, source: "kubernetes/kubernetes#141488", external: true, run: func(b *bench) {
			n := b.overlay()
			b.balancer(n, "lb", vips("10.96.0.1"), ports(6, 80, 80))
			other, before := b.endpoint(n.id, "other"), len(b.list(hns.KindLoadBalancer, ""))
			b.answers("the same front end", createOf(hns.KindLoadBalancer, b.balancerDoc("two", []hns.ID{other.id}, vips("10.96.0.1"), ports(6, 80, 80))), hns.CodePortExists)
			b.check("more than before", fmt.Sprint(len(b.list(hns.KindLoadBalancer, ""))-before), "0")
		}},
		{name: "load balancer/port of a program", sure: Seen, source: "kubernetes/community#8883", external: true, run: programPort},
		{name: "load balancer/backend deleted", sure: Seen, source: "kubernetes/kubernetes#76316", external: true, run: func(b *bench) {
			n := b.overlay()
			ep := b.endpoint(n.id, "ep")
			doc := b.balancerDoc("lb", []hns.ID{ep.id}, vips("10.96.0.1"), ports(6, 80, 80))
			lb := b.create(createOf(hns.KindLoadBalancer, doc))
			b.remove("delete the endpoint", hns.KindEndpoint, ep.id, 0)
			b.gone("the load balancer is gone", hns.KindLoadBalancer, lb.id, false)
			other := b.endpoint(n.id, "other")
			b.answers("its front end", createOf(hns.KindLoadBalancer, b.balancerDoc("two", []hns.ID{other.id}, vips("10.96.0.1"), ports(6, 80, 80))), hns.CodePortExists)
		}},
		{name: "load balancer/changed", sure: Tested, source: "microsoft/hcsshim TestCreateUpdateDeleteLoadBalancer", external: true,
			only: hns.FeatureModifyLoadBalancer.In, run: balancerChanged},
		{name: "load balancer/changed in 15.4", sure: Assumed, source: "kubernetes/kubernetes#131466", external: true,
			only: func(v hns.Version) bool { return v == hns.Version{Major: 15, Minor: 4} }, run: balancerChanged},
		{name: "load balancer/change of the id", sure: Assumed, external: true, only: hns.FeatureModifyLoadBalancer.In, run: func(b *bench) {
			ep := b.endpoint(b.overlay().id, "ep")
			front := []string{vips("10.96.0.1"), ports(6, 80, 80)}
			lb := b.create(createOf(hns.KindLoadBalancer, b.balancerDoc("lb", []hns.ID{ep.id}, front...)))
			doc := b.balancerDoc("lb", []hns.ID{ep.id}, append(front, fmt.Sprintf(`"ID":%q`, hns.NewID()))...)
			b.modify("another id", hns.KindLoadBalancer, lb.id, doc, hns.CodeInvalidParameter)
		}},
		{name: "load balancer/many backends", sure: Seen, source: "kubernetes/kubernetes#98680", external: true, run: func(b *bench) {
			n := b.overlay()
			var ids []hns.ID
			for i := range 65 {
				ids = append(ids, b.endpoint(n.id, "ep", `"Flags":1`, address(host(9, 2+i))).id)
			}
			b.answers("64", createOf(hns.KindLoadBalancer, b.balancerDoc("most", ids[:64], vips("10.96.0.1"), ports(6, 80, 80))), 0)
			b.answers("65", createOf(hns.KindLoadBalancer, b.balancerDoc("more", ids, vips("10.96.0.2"), ports(6, 80, 80))),
				unless(b.h.Version.Major != 9, hns.CodeInvalidParameter))
		}},
	}
	rs := balancerRefusals()
	for i := range rs {
		rs[i].external = true
	}
	return append(cases, refusals("load balancer/create/", hns.KindLoadBalancer, rs)...)
}

// balancer makes a load balancer over a new endpoint of the network.
func (b *bench) balancer(n object, name string, more ...string) object {
	b.t.Helper()
	ep := b.endpoint(n.id, "backend")
	return b.create(createOf(hns.KindLoadBalancer, b.balancerDoc(name, []hns.ID{ep.id}, more...)))
}

func balancerRoundTrip(b *bench) {
	n := b.overlay()
	x, y := b.endpoint(n.id, "x"), b.endpoint(n.id, "y")
	lb := b.create(createOf(hns.KindLoadBalancer, b.balancerDoc("lb", []hns.ID{y.id, x.id}, `"SourceVIP":"10.0.0.1"`,
		vips("1.1.1.2", "1.1.1.3"), ports(6, 8080, 8090, `"Flags":8`))))
	doc := b.get(hns.KindLoadBalancer, lb.id)
	b.truth("backends in order", text(doc, "HostComputeEndpoints.0") == y.id.String() && text(doc, "HostComputeEndpoints.1") == x.id.String())
	b.fields(doc, "SourceVIP", "10.0.0.1", "FrontendVIPs", `["1.1.1.2","1.1.1.3"]`, "PortMappings.0.Protocol", "6",
		"PortMappings.0.InternalPort", "8080", "PortMappings.0.ExternalPort", "8090", "PortMappings.0.Flags", "8")
	b.remove("delete", hns.KindLoadBalancer, lb.id, 0)
}

func frontEndTaken(b *bench) {
	n := b.overlay()
	b.balancer(n, "lb", vips("10.96.0.1", "10.96.0.2"), ports(6, 80, 80))
	ep := b.endpoint(n.id, "ep")
	for _, tt := range []struct {
		step, vips, ports string
		want              hns.Code
	}{
		{"the same front end", vips("10.96.0.1"), ports(6, 81, 80), hns.CodePortExists},
		{"its second VIP", vips("10.96.0.2"), ports(6, 80, 80), hns.CodePortExists},
		{"another VIP", vips("10.96.0.3"), ports(6, 80, 80), 0},
		{"another port", vips("10.96.0.1"), ports(6, 80, 81), 0},
		{"another protocol", vips("10.96.0.1"), ports(17, 80, 80), 0},
	} {
		b.answers(tt.step, createOf(hns.KindLoadBalancer, b.balancerDoc("two", []hns.ID{ep.id}, tt.vips, tt.ports)), tt.want)
	}
}

// programPort: a port that a program of the host listens on is taken for the
// node's own addresses, and to HNS 9 for virtual ones.
func programPort(b *bench) {
	if b.h.Busy == 0 {
		b.skip("the harness names no port that a program listens on")
	}
	ep := b.endpoint(b.overlay().id, "ep")
	port := ports(6, 80, int(b.h.Busy))
	b.answers("of the node", createOf(hns.KindLoadBalancer, b.balancerDoc("node", []hns.ID{ep.id}, port)), hns.CodePortExists)
	b.answers("of a VIP", createOf(hns.KindLoadBalancer, b.balancerDoc("vip", []hns.ID{ep.id}, vips("10.96.0.1"), port)),
		unless(b.h.Version.Major != 9, hns.CodePortExists))
}

func balancerChanged(b *bench) {
	n := b.overlay()
	x, y := b.endpoint(n.id, "x"), b.endpoint(n.id, "y")
	front := []string{vips("10.96.0.1"), ports(6, 80, 80)}
	lb := b.create(createOf(hns.KindLoadBalancer, b.balancerDoc("lb", []hns.ID{x.id}, front...)))
	b.modify("two backends", hns.KindLoadBalancer, lb.id, b.balancerDoc("lb", []hns.ID{x.id, y.id}, front...), 0)
	b.check("backends", fmt.Sprint(len(each(b.get(hns.KindLoadBalancer, lb.id), "HostComputeEndpoints"))), "2")
	b.modify("the second alone", hns.KindLoadBalancer, lb.id, b.balancerDoc("lb", []hns.ID{y.id}, front...), 0)
	b.truth("it is that", text(b.get(hns.KindLoadBalancer, lb.id), "HostComputeEndpoints") == quoted(y.id))
}
