package hnstest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// sought is a filter over the objects that a case made, and which of them it
// finds.
type sought struct {
	step, filter string
	want         []hns.ID
}

// seek checks what filters find, among the objects of the case alone: the host
// may have others.
func (b *bench) seek(kind hns.Kind, all []hns.ID, ss []sought) {
	b.t.Helper()
	for _, s := range ss {
		var found []hns.ID
		for _, doc := range b.list(kind, s.filter) {
			if id, err := hns.ParseID(text(doc, "ID")); err == nil && slices.Contains(all, id) {
				found = append(found, id)
			}
		}
		got, want := make([]bool, len(all)), make([]bool, len(all))
		for i, id := range all {
			got[i], want[i] = slices.Contains(found, id), slices.Contains(s.want, id)
		}
		b.check(s.step, fmt.Sprint(got), fmt.Sprint(want))
		b.check(s.step+", none twice", fmt.Sprint(len(found)), fmt.Sprint(len(s.want)))
	}
}

func queryCases() []scenario {
	return []scenario{
		{name: "query/by id", sure: Tested, source: "microsoft/hcsshim TestGetNetworkByID", run: func(b *bench) {
			n, p := b.nat(), b.create(createNetwork(b.plainDoc("private", "Private")))
			ids := []hns.ID{n.id, p.id}
			b.seek(hns.KindNetwork, ids, []sought{{"one", fmt.Sprintf(`{"ID":%q}`, n.id), ids[:1]}, {"the other", fmt.Sprintf(`{"ID":%q}`, p.id), ids[1:]}})
		}},
		{name: "query/id in other letters", sure: Client, source: "projectcalico/calico#5762", run: func(b *bench) {
			n := b.nat()
			b.seek(hns.KindNetwork, []hns.ID{n.id}, []sought{
				{"capitals", fmt.Sprintf(`{"ID":%q}`, n.id.Upper()), []hns.ID{n.id}},
				{"small letters", fmt.Sprintf(`{"ID":%q}`, n.id), []hns.ID{n.id}},
			})
			b.answers("path in capitals", v1Call("GET", "/networks/"+n.id.Upper(), ""), 0)
			b.answers("path in small letters", v1Call("GET", "/networks/"+n.id.String(), ""), 0)
			ep := b.endpoint(n.id, "ep")
			b.seek(hns.KindEndpoint, []hns.ID{ep.id}, []sought{{"network in capitals", fmt.Sprintf(`{"VirtualNetwork":%q}`, n.id.Upper()), []hns.ID{ep.id}}})
		}},
		{name: "query/by name", sure: Tested, source: "microsoft/hcsshim TestGetEndpointByName", run: func(b *bench) {
			n := b.nat()
			x, y := b.endpoint(n.id, "x"), b.endpoint(n.id, "y")
			b.seek(hns.KindEndpoint, []hns.ID{x.id, y.id}, []sought{{"name", members(b.named("y")), []hns.ID{y.id}}})
		}},
		{name: "query/name in other letters", sure: Assumed, run: func(b *bench) {
			n := b.nat()
			ep := b.endpoint(n.id, "x")
			b.seek(hns.KindEndpoint, []hns.ID{ep.id}, []sought{{"capitals", members(b.named("X")), nil}})
			b.seek(hns.KindNetwork, []hns.ID{n.id}, []sought{{"of a network", members(b.named("NAT1")), nil}})
		}},
		{name: "query/of a network", sure: Tested, source: "microsoft/hcsshim TestListEndpointsOfNetwork", run: func(b *bench) {
			n := b.nat()
			ids := []hns.ID{b.endpoint(n.id, "x").id, b.endpoint(n.id, "y").id}
			b.seek(hns.KindEndpoint, ids, []sought{
				{"VirtualNetwork", fmt.Sprintf(`{"VirtualNetwork":%q}`, n.id), ids},
				{"of a network that is not there", fmt.Sprintf(`{"VirtualNetwork":%q}`, hns.NewID()), nil},
			})
		}},
		{name: "query/of a network in schema 2", sure: Assumed, source: "microsoft/hcsshim hcnendpoint.go", run: func(b *bench) {
			m, n := b.nat(), b.nat()
			x, y := b.endpoint(m.id, "ep"), b.endpoint(n.id, "ep")
			b.seek(hns.KindEndpoint, []hns.ID{x.id, y.id}, []sought{{"HostComputeNetwork", fmt.Sprintf(`{"HostComputeNetwork":%q}`, n.id), []hns.ID{y.id}}})
		}},
		{name: "query/by state", sure: Client, source: "Azure/azure-container-networking npm", run: func(b *bench) {
			n, ns := b.nat(), b.namespace()
			free, in := b.endpoint(n.id, "free"), b.endpoint(n.id, "in")
			b.modify("attach", hns.KindNamespace, ns.id, endpointIn("Add", in.id), 0)
			b.seek(hns.KindEndpoint, []hns.ID{free.id, in.id}, []sought{
				{"created", `{"State":1}`, []hns.ID{free.id}}, {"attached", `{"State":2}`, []hns.ID{in.id}}, {"shared", `{"State":3}`, nil},
			})
		}},
		{name: "query/all must match", sure: Client, source: "Azure/azure-container-networking npm", run: func(b *bench) {
			n := b.nat()
			x, y := b.endpoint(n.id, "x"), b.endpoint(n.id, "y")
			b.seek(hns.KindEndpoint, []hns.ID{x.id, y.id}, []sought{
				{"two that do", members(b.named("x"), `"State":1`), []hns.ID{x.id}},
				{"one does not", members(b.named("x"), `"State":2`), nil},
				{"a member that is not there", `{"Colour":"red"}`, nil},
			})
		}},
		{name: "query/by type", sure: Assumed, run: func(b *bench) {
			p := b.create(createNetwork(b.plainDoc("private", "Private")))
			n := b.nat()
			b.seek(hns.KindNetwork, []hns.ID{p.id, n.id}, []sought{
				{"Private", `{"Type":"Private"}`, []hns.ID{p.id}},
				{"in small letters", `{"Type":"private"}`, []hns.ID{p.id}},
				{"NAT, which schema 2 does not show", `{"Type":"NAT"}`, []hns.ID{n.id}},
			})
		}},
		{name: "query/everything", sure: Client, source: "hns.v2.psm1", run: func(b *bench) {
			ids := []hns.ID{b.nat().id, b.create(createNetwork(b.plainDoc("private", "Private"))).id}
			b.seek(hns.KindNetwork, ids, []sought{{"no filter", "", ids}, {"an empty one", "{}", ids}})
		}},
		{name: "query/nothing found", sure: Tested, source: "microsoft/hcsshim hcnerrors_test.go", run: func(b *bench) {
			for _, kind := range []hns.Kind{hns.KindNetwork, hns.KindEndpoint, hns.KindNamespace} {
				b.check(kind.String()+" by id", fmt.Sprint(len(b.list(kind, `{"ID":"5f0b1190-63be-4e0c-b974-bd0f55675a42"}`))), "0")
				b.check(kind.String()+" by name", fmt.Sprint(len(b.list(kind, members(b.named("nobody"))))), "0")
			}
		}},
		{name: "query/empty id", sure: Client, source: "containernetworking/plugins win-bridge", run: func(b *bench) {
			b.namespace()
			b.check("namespaces", fmt.Sprint(len(b.list(hns.KindNamespace, `{"ID":""}`))), "0")
		}},
		{name: "query/filter is no object", sure: Assumed, run: func(b *bench) {
			for _, filter := range []string{`{"ID":`, `[]`, `7`} {
				b.answers(filter, hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork, Filter: filter}, hns.CodeInvalidJSON)
			}
		}},
		{name: "query/load balancers", sure: Tested, source: "microsoft/hcsshim TestGetLoadBalancerByID", external: true, run: func(b *bench) {
			n := b.overlay()
			x, y := b.balancer(n, "x", vips("10.96.0.1"), ports(6, 80, 80)), b.balancer(n, "y", vips("10.96.0.2"), ports(6, 80, 80))
			ids := []hns.ID{x.id, y.id}
			b.seek(hns.KindLoadBalancer, ids, []sought{{"id", fmt.Sprintf(`{"ID":%q}`, y.id), []hns.ID{y.id}}, {"all", "", ids}})
		}},
		{name: "query/in the order of creation", sure: Assumed, run: func(b *bench) {
			n := b.nat()
			var want, got []string
			for i := range 5 {
				b.endpoint(n.id, fmt.Sprintf("ep%d", 5-i))
				want = append(want, fmt.Sprintf("ep%d", 5-i))
			}
			for _, doc := range b.list(hns.KindEndpoint, fmt.Sprintf(`{"VirtualNetwork":%q}`, n.id)) {
				got = append(got, strings.TrimPrefix(text(doc, "Name"), b.h.Prefix))
			}
			b.check("names", fmt.Sprint(got), fmt.Sprint(want))
		}},
	}
}
