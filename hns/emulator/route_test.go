package emulator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

const someRoute = `{"DestinationPrefix":"169.254.169.254/24","NextHop":"127.10.0.34"}`

// route returns the document of an SDN route whose list of routes stands in
// member.
func route(backends []hns.ID, member, routes string) string {
	return strings.TrimSuffix(balancer(backends), "}") + `,"` + member + `":[` + routes + `]}`
}

func TestRouteComesBack(t *testing.T) {
	n := newNode(t)
	fjord := n.fjord()
	eps := n.backends(fjord, 2)
	const given = `{"NeedEncap":false,"DestinationPrefix":"10.96.0.0/12","x<y":1.50}`
	for _, member := range []string{"Routes", "Setting", "setting"} {
		doc := n.made(hns.KindRoute, route(eps, member, someRoute+","+given))
		id := n.parse(text(t, doc, "ID"))
		want := `{"ID":"` + id.String() + `","Version":55834574851,` + schema2 + `,"State":2,"HostComputeNetwork":"` + fjord.String() +
			`","HostComputeEndpoints":["` + eps[0].String() + `","` + eps[1].String() + `"],"Routes":[` + someRoute + `,` + given +
			`],"Setting":[` + someRoute + `,` + given + `]}`
		if diff := cmp.Diff(want, string(n.get(hns.KindRoute, id))); diff != "" {
			t.Errorf("%s: %s", member, diff)
		}
		if code := n.delete(hns.KindRoute, id); code != 0 {
			t.Error(code)
		}
		// What HNS shows makes the same route again, as a client does that
		// changes its endpoints (microsoft/hcsshim#759).
		again := n.made(hns.KindRoute, string(doc))
		if string(again) != string(doc) {
			t.Errorf("made again:\n%s\n%s", again, doc)
		}
		if _, code := n.create(hns.KindRoute, string(doc)); code != hns.CodeAlreadyExists {
			t.Errorf("same id: %s", code)
		}
		if code := n.modify(hns.KindRoute, id, string(doc)); code != hns.CodeNotImplemented {
			t.Errorf("modify: %s", code)
		}
		n.delete(hns.KindRoute, id)
		for _, verb := range []hns.Verb{hns.VerbGet, hns.VerbDelete, hns.VerbModify} {
			if _, code := n.try(hns.Request{Verb: verb, Kind: hns.KindRoute, ID: id}); code != hns.CodeElementNotFound {
				t.Errorf("%s once deleted: %s", verb, code)
			}
		}
	}
}

func TestCreateRouteRefused(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	eps, nat := n.backends(lake, 1), n.backends(n.pond(), 1)
	tests := []struct {
		name, doc string
		want      hns.Code
	}{
		{"no endpoints", route(nil, "Routes", someRoute), hns.CodeInvalidJSONReference},
		{"endpoint that is not there", route([]hns.ID{hns.NewID()}, "Routes", someRoute), hns.CodeInvalidJSONReference},
		{"on NAT", route(nat, "Routes", someRoute), hns.CodeInvalidNetworkType},
		{"no routes", balancer(eps), hns.CodeInvalidPolicy},
		{"empty list", route(eps, "Setting", ""), hns.CodeInvalidPolicy},
		{"prefix unreadable", route(eps, "Routes", `{"DestinationPrefix":"<cidr>"}`), hns.CodeInvalidPrefix},
		{"no prefix", route(eps, "Routes", `{"NextHop":"10.0.0.1"}`), hns.CodeInvalidPrefix},
		{"next hop unreadable", route(eps, "Routes", `{"DestinationPrefix":"10.0.0.0/8","NextHop":"gw"}`), hns.CodeInvalidIP},
		{"empty next hop", route(eps, "Routes", `{"DestinationPrefix":"10.0.0.0/8","NextHop":"","NeedEncap":true}`), 0},
		{"encap is a text", route(eps, "Routes", `{"DestinationPrefix":"10.0.0.0/8","NeedEncap":"yes"}`), hns.CodeInvalidJSON},
		{"no object", route(eps, "Routes", `7`), hns.CodeInvalidJSON},
		{"two lists that differ", strings.TrimSuffix(route(eps, "Routes", someRoute), "}") + `,"Setting":[{"DestinationPrefix":"10.0.0.0/8"}]}`, hns.CodeInvalidParameter},
		{"no JSON", `[`, hns.CodeInvalidJSON},
		{"the same twice", route(eps, "Routes", someRoute), 0},
		{"the same twice, again", route(eps, "Routes", someRoute), 0},
	}
	for _, tt := range tests {
		before := n.state()
		if _, code := n.create(hns.KindRoute, tt.doc); code != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, code, tt.want)
		} else if code != 0 && n.state() != before {
			t.Errorf("%s: a refused create changed the state", tt.name)
		}
	}
}

func TestNoRoutes(t *testing.T) {
	for _, want := range []hns.Code{hns.CodeProcNotFound, hns.CodeNotImplemented} {
		n := newNode(t, func(o *emulator.Options) { o.RoutesCode = want })
		doc := route(n.backends(n.lake(), 1), "Routes", someRoute)
		for _, verb := range []hns.Verb{hns.VerbList, hns.VerbGet, hns.VerbCreate, hns.VerbModify, hns.VerbDelete} {
			if _, code := n.try(hns.Request{Verb: verb, Kind: hns.KindRoute, Document: []byte(doc)}); code != want {
				t.Errorf("%s: %s, want %s", verb, code, want)
			}
		}
		// microsoft/hcsshim#470
		ep := n.list(hns.KindEndpoint, "")[0]
		body := `{"References":["/endpoints/` + text(t, ep, "ID") + `"],"Policies":[{"Type":"ROUTE","DestinationPrefix":"10.0.0.0/8"}]}`
		if _, code := n.call("POST", "/policylists/", body); code != hns.CodeInvalidPolicyType {
			t.Errorf("in a policy list: %s", code)
		}
	}
}

// Load balancers and routes share their ids, not their verbs.
func TestRouteIsNoLoadBalancer(t *testing.T) {
	n := newNode(t)
	eps := n.backends(n.lake(), 1)
	id := n.id(hns.KindRoute, route(eps, "Routes", someRoute))
	if _, code := n.try(hns.Request{Verb: hns.VerbGet, Kind: hns.KindLoadBalancer, ID: id}); code != hns.CodeElementNotFound {
		t.Errorf("get: %s", code)
	}
	if got := n.list(hns.KindLoadBalancer, `{"ID":"`+id.String()+`"}`); len(got) != 0 {
		t.Errorf("list: %s", got)
	}
	if _, code := n.create(hns.KindLoadBalancer, balancer(eps, port(6, 80, 80), `,"ID":"`+id.String()+`"`)); code != hns.CodeAlreadyExists {
		t.Errorf("create with its id: %s", code)
	}
}
