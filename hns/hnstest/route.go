package hnstest

import (
	"fmt"

	"github.com/hnskit/hnskit/hns"
)

const sdnRoute = `{"DestinationPrefix":"169.254.169.254/24","NextHop":"127.10.0.34","NeedEncap":false}`

// routeDoc is the document of an SDN route object.
func (b *bench) routeDoc(endpoints []hns.ID, member string) string {
	return members(b.named("route"), `"HostComputeEndpoints":`+quoted(endpoints...), member, schema)
}

// routeOn makes a route over a new endpoint; from hnslib's tests, which need a
// host that has them, it follows that not every one does.
func (b *bench) routeOn(n object) object {
	b.t.Helper()
	ep := b.endpoint(n.id, "ep")
	return b.create(createOf(hns.KindRoute, b.routeDoc([]hns.ID{ep.id}, `"Setting":`+list(sdnRoute))))
}

func routeCases() []scenario {
	over := func(member string) func(*bench) string {
		return func(b *bench) string {
			return b.routeDoc([]hns.ID{b.endpoint(b.overlay().id, "ep").id}, member)
		}
	}
	to := func(settings string) func(*bench) string { return over(`"Setting":` + list(settings)) }
	cases := []scenario{
		{name: "route/comes back", sure: Client, source: "microsoft/hcsshim hcnroute_test.go", run: func(b *bench) {
			r := b.routeOn(b.overlay())
			doc := b.get(hns.KindRoute, r.id)
			b.fields(doc, "Setting.0.DestinationPrefix", "169.254.169.254/24", "Setting.0.NextHop", "127.10.0.34")
			b.check("endpoints", fmt.Sprint(len(each(doc, "HostComputeEndpoints"))), "1")
			b.remove("delete", hns.KindRoute, r.id, 0)
			b.gone("gone", hns.KindRoute, r.id, true)
		}},
		{name: "route/both members", sure: Assumed, run: func(b *bench) {
			r := b.routeOn(b.overlay())
			b.fits("Routes as Setting", r.doc, "Routes", func(s string) bool { return s == text(r.doc, "Setting") })
		}},
		{name: "route/id given", sure: Client, source: "microsoft/hcsshim TestRouteAddRemoveEndpoint", run: func(b *bench) {
			ep := b.endpoint(b.overlay().id, "ep")
			givenID(b, hns.KindRoute, func() string { return b.routeDoc([]hns.ID{ep.id}, `"Setting":`+list(sdnRoute)) })
		}},
		{name: "route/missing", sure: Assumed, run: func(b *bench) {
			id := hns.NewID()
			b.answers("get", hns.Request{Verb: hns.VerbGet, Kind: hns.KindRoute, ID: id}, hns.CodeElementNotFound)
			b.remove("delete", hns.KindRoute, id, hns.CodeElementNotFound)
			b.gone("list", hns.KindRoute, id, true)
		}},
		{name: "route/change", sure: Client, source: "microsoft/hcsshim#759", run: func(b *bench) {
			b.modify("modify", hns.KindRoute, b.routeOn(b.overlay()).id, "{}", hns.CodeNotImplemented)
		}},
		{name: "route/the same twice", sure: Assumed, run: func(b *bench) {
			n := b.overlay()
			ep := b.endpoint(n.id, "ep")
			for _, step := range []string{"once", "twice"} {
				b.answers(step, createOf(hns.KindRoute, b.routeDoc([]hns.ID{ep.id}, `"Setting":`+list(sdnRoute))), 0)
			}
		}},
		{name: "route/goes with the network", sure: Assumed, run: func(b *bench) {
			n := b.overlay()
			r := b.routeOn(n)
			b.remove("delete the network", hns.KindNetwork, n.id, 0)
			b.gone("the route is gone", hns.KindRoute, r.id, true)
		}},
	}
	cases = append(cases, refusals("route/create/", hns.KindRoute, []refusal{
		{name: "as Routes", sure: Client, source: "HNS schema; an HNS may lack routes", doc: over(`"Routes":` + list(sdnRoute))},
		{name: "as Setting", sure: Client, source: "microsoft/hcsshim hcnroute.go", doc: to(sdnRoute)},
		{name: "as both, differing", sure: Assumed, doc: over(`"Routes":[` + sdnRoute + `],"Setting":[{"DestinationPrefix":"10.0.0.0/8"}]`), want: hns.CodeInvalidParameter},
		{name: "no routes", sure: Assumed, doc: over(`"Setting":[]`), want: hns.CodeInvalidPolicy},
		{name: "no endpoints", sure: Assumed, doc: func(b *bench) string { return b.routeDoc(nil, `"Setting":`+list(sdnRoute)) }, want: hns.CodeInvalidJSONReference},
		{name: "endpoint missing", sure: Assumed, doc: func(b *bench) string { return b.routeDoc([]hns.ID{hns.NewID()}, `"Setting":`+list(sdnRoute)) }, want: hns.CodeInvalidJSONReference},
		{name: "prefix unreadable", sure: Assumed, doc: to(`{"DestinationPrefix":"anywhere"}`), want: hns.CodeInvalidPrefix},
		{name: "next hop unreadable", sure: Assumed, doc: to(`{"DestinationPrefix":"10.0.0.0/8","NextHop":"there"}`), want: hns.CodeInvalidIP},
		{name: "on a NAT network", sure: Assumed, doc: func(b *bench) string {
			return b.routeDoc([]hns.ID{b.endpoint(b.nat().id, "ep").id}, `"Setting":`+list(sdnRoute))
		}, want: hns.CodeInvalidNetworkType},
	})...)
	for i := range cases {
		cases[i].external = true
	}
	return cases
}
