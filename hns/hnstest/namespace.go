package hnstest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// sorted orders cases by name, where a map made them.
func sorted(cases []scenario) []scenario {
	slices.SortStableFunc(cases, func(x, y scenario) int { return cmp.Compare(x.name, y.name) })
	return cases
}

const noNamespace = "00000000-0000-0000-0000-000000000000"

func namespaceCases() []scenario {
	cases := []scenario{
		{name: "namespace/missing", sure: Tested, source: "microsoft/hcsshim TestNotFoundError", run: func(b *bench) {
			missing(b, hns.KindNamespace, hns.CodeElementNotFound, containerIn("Add", "c1"))
		}},
		{name: "namespace/id given", sure: Assumed, run: func(b *bench) {
			givenID(b, hns.KindNamespace, func() string { return members(b.named("ns"), schema) })
		}},
		{name: "namespace/attach and detach", sure: Tested, source: "microsoft/hcsshim TestAddRemoveNamespaceEndpoint", run: attachDetach},
		{name: "namespace/capitals in resources", sure: Tested, source: "microsoft/windows-container-networking", run: func(b *bench) {
			ns, ep := b.attached()
			b.truth("id", text(b.get(hns.KindNamespace, ns.id), "Resources.0.Data.Id") == ep.id.Upper())
		}},
		{name: "namespace/states of an endpoint", sure: Client, source: "microsoft/hcsshim hnsendpoint.go", run: endpointStates},
		{name: "namespace/attach again", sure: Client, source: "containernetworking/plugins win-bridge", run: func(b *bench) {
			ns, ep := b.attached()
			b.modify("add again", hns.KindNamespace, ns.id, endpointIn("Add", ep.id), 0)
			b.check("entries", fmt.Sprint(len(each(b.get(hns.KindNamespace, ns.id), "Resources"))), "1")
		}},
		{name: "namespace/attach to a second one", sure: Documented, source: "HCNHResult", run: func(b *bench) {
			_, ep := b.attached()
			other := b.namespace()
			b.modify("add", hns.KindNamespace, other.id, endpointIn("Add", ep.id), hns.CodeEndpointInNamespace)
			b.field("it holds", b.get(hns.KindNamespace, other.id), "Resources", "")
		}},
		{name: "namespace/attach what is on the host", sure: Assumed, run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			b.answers("to the host", v1Call("POST", "/endpoints/"+ep.id.String()+"/attach", hostCompartment), 0)
			b.modify("to a namespace", hns.KindNamespace, b.namespace().id, endpointIn("Add", ep.id), hns.CodeEndpointAttached)
		}},
		{name: "namespace/attach a remote endpoint", sure: Assumed, source: "wording of HCNHResult", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep", `"Flags":1`, address(host(9, 9)))
			b.modify("add", hns.KindNamespace, b.namespace().id, endpointIn("Add", ep.id), hns.CodeInvalidRemoteOperation)
		}},
		{name: "namespace/attach a missing endpoint", sure: Client, source: "Azure/azure-container-networking", run: func(b *bench) {
			b.modify("add", hns.KindNamespace, b.namespace().id, endpointIn("Add", hns.NewID()), hns.CodeEndpointNotFound)
		}},
		{name: "namespace/attach no id", sure: Assumed, run: func(b *bench) {
			ns := b.namespace()
			b.modify("no GUID", hns.KindNamespace, ns.id, request("Add", "Endpoint", `{"EndpointId":"pod"}`), hns.CodeGUIDConversion)
			b.modify("nothing", hns.KindNamespace, ns.id, request("Add", "Endpoint", `{}`), hns.CodeInvalidParameter)
		}},
		{name: "namespace/detach what is not in it", sure: Client, source: "Azure/azure-container-networking#1272", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			ns := b.namespace()
			b.modify("an endpoint", hns.KindNamespace, ns.id, endpointIn("Remove", ep.id), hns.CodeElementNotFound)
			b.modify("a container", hns.KindNamespace, ns.id, containerIn("Remove", "c1"), hns.CodeElementNotFound)
		}},
		{name: "namespace/containers", sure: Client, source: "hns.v2.psm1", run: namespaceContainers},
		{name: "namespace/delete with containers", sure: Seen, source: "microsoft/Windows-Containers#485", run: func(b *bench) {
			ns := b.namespace()
			b.modify("add", hns.KindNamespace, ns.id, containerIn("Add", "c1"), 0)
			b.remove("delete", hns.KindNamespace, ns.id, hns.CodeRequestUnsupported)
			b.gone("gone", hns.KindNamespace, ns.id, false)
			b.modify("take it out", hns.KindNamespace, ns.id, containerIn("Remove", "c1"), 0)
			b.remove("delete again", hns.KindNamespace, ns.id, 0)
		}},
		{name: "namespace/delete with endpoints", sure: Client, source: "Azure/azure-container-networking", run: func(b *bench) {
			ns, ep := b.attached()
			b.remove("delete", hns.KindNamespace, ns.id, 0)
			b.field("endpoint", b.get(hns.KindEndpoint, ep.id), "HostComputeNamespace", noNamespace)
		}},
		{name: "namespace/endpoint deleted in it", sure: Assumed, run: func(b *bench) {
			ns, ep := b.attached()
			b.remove("delete", hns.KindEndpoint, ep.id, 0)
			b.field("it holds", b.get(hns.KindNamespace, ns.id), "Resources", "")
			b.remove("and the namespace", hns.KindNamespace, ns.id, 0)
		}},
		{name: "namespace/number asked for", sure: Assumed, run: func(b *bench) {
			first, second := b.namespace(`"NamespaceId":5`), b.namespace(`"NamespaceId":5`)
			b.truth("the host's own is taken", text(first.doc, "NamespaceId") != "1")
			b.truth("two differ", text(first.doc, "NamespaceId") != text(second.doc, "NamespaceId"))
		}},
		{name: "namespace/number not honoured", sure: Assumed, source: "microsoft/hcsshim hcnnamespace_test.go asks for 5 again and again", run: func(b *bench) {
			ns := b.namespace(`"NamespaceId":23100`)
			b.modify("a container", hns.KindNamespace, ns.id, containerIn("Add", "c1"), 0)
			b.fits("it has another", b.get(hns.KindNamespace, ns.id), "NamespaceId", func(s string) bool { return s != "" && s != "23100" })
			b.modify("out", hns.KindNamespace, ns.id, containerIn("Remove", "c1"), 0)
		}},
		{name: "namespace/compartment", sure: Client, source: "hns.v2.psm1", run: func(b *bench) {
			ns := b.namespace()
			b.field("none at first", ns.doc, "NamespaceId", "")
			b.modify("a container", hns.KindNamespace, ns.id, containerIn("Add", "c1"), 0)
			b.truth("then there is one", text(b.get(hns.KindNamespace, ns.id), "NamespaceId") != "")
			b.truth("at once if asked for", text(b.namespace(`"CreateWithCompartment":true`).doc, "NamespaceId") != "")
			b.modify("out", hns.KindNamespace, ns.id, containerIn("Remove", "c1"), 0)
		}},
		{name: "namespace/attach at create", sure: Assumed, run: func(b *bench) {
			ns, n := b.namespace(), b.nat()
			ep := b.endpoint(n.id, "ep", fmt.Sprintf(`"HostComputeNamespace":%q`, ns.id))
			b.truth("it is in it", strings.EqualFold(text(ep.doc, "HostComputeNamespace"), ns.id.String()))
			b.field("state", ep.doc, "State", "2")
			b.answers("a missing one", b.endpointReq(n.id, "ep", fmt.Sprintf(`"HostComputeNamespace":%q`, hns.NewID())), hns.CodeElementNotFound)
		}},
		{name: "namespace/unknown requests", sure: Assumed, run: func(b *bench) { unknownRequests(b, hns.KindNamespace, b.namespace().id, "Endpoint") }},
		{name: "namespace/unknown type", sure: Assumed, run: func(b *bench) {
			b.answers("create", createOf(hns.KindNamespace, members(b.named("ns"), `"Type":"Cellar"`, schema)), hns.CodeInvalidParameter)
		}},
	}
	for _, typ := range []string{"Host", "HostDefault", "Guest", "GuestDefault"} {
		cases = append(cases, scenario{name: "namespace/type/" + typ, sure: Tested, source: "microsoft/hcsshim hcnnamespace_test.go", run: func(b *bench) {
			ns := b.namespace(fmt.Sprintf(`"Type":%q`, typ), `"NamespaceId":5`)
			want := typ
			if typ == "Host" {
				want = "" // number 0
			}
			b.field("Type", b.get(hns.KindNamespace, ns.id), "Type", want)
			b.remove("delete", hns.KindNamespace, ns.id, 0)
			b.gone("gone", hns.KindNamespace, ns.id, true)
		}})
	}
	return cases
}

// attached makes an endpoint in a namespace.
func (b *bench) attached() (ns, ep object) {
	b.t.Helper()
	ep = b.endpoint(b.nat().id, "ep")
	ns = b.namespace()
	b.modify("attach", hns.KindNamespace, ns.id, endpointIn("Add", ep.id), 0)
	return ns, ep
}

func attachDetach(b *bench) {
	ns, ep := b.attached()
	b.truth("endpoint names it", strings.EqualFold(text(b.get(hns.KindEndpoint, ep.id), "HostComputeNamespace"), ns.id.String()))
	doc := b.get(hns.KindNamespace, ns.id)
	b.field("type of the resource", doc, "Resources.0.Type", "Endpoint")
	b.truth("its id", strings.EqualFold(text(doc, "Resources.0.Data.Id"), ep.id.String()))
	b.modify("detach", hns.KindNamespace, ns.id, endpointIn("Remove", ep.id), 0)
	b.field("it holds", b.get(hns.KindNamespace, ns.id), "Resources", "")
	b.truth("endpoint names none", strings.Trim(text(b.get(hns.KindEndpoint, ep.id), "HostComputeNamespace"), "0-") == "")
	b.remove("delete the namespace", hns.KindNamespace, ns.id, 0)
	b.remove("delete the endpoint", hns.KindEndpoint, ep.id, 0)
}

func endpointStates(b *bench) {
	ep := b.endpoint(b.nat().id, "ep")
	state := func(step, want string) { b.field(step, b.get(hns.KindEndpoint, ep.id), "State", want) }
	ns := b.namespace()
	state("created", "1")
	b.modify("attach", hns.KindNamespace, ns.id, endpointIn("Add", ep.id), 0)
	state("attached", "2")
	b.modify("a container", hns.KindNamespace, ns.id, containerIn("Add", "c1"), 0)
	state("shared", "3")
	b.modify("the container goes", hns.KindNamespace, ns.id, containerIn("Remove", "c1"), 0)
	state("alone", "2")
}

func namespaceContainers(b *bench) {
	ns := b.namespace()
	b.field("none at first", ns.doc, "Resources", "")
	b.modify("one", hns.KindNamespace, ns.id, containerIn("Add", "c1"), 0)
	b.modify("two", hns.KindNamespace, ns.id, containerIn("Add", "c2"), 0)
	doc := b.get(hns.KindNamespace, ns.id)
	b.field("type", doc, "Resources.0.Type", "Container")
	b.field("first", doc, "Resources.0.Data.Id", "c1")
	b.field("second", doc, "Resources.1.Data.Id", "c2")
	b.modify("one goes", hns.KindNamespace, ns.id, containerIn("Remove", "c1"), 0)
	b.field("the other stays", b.get(hns.KindNamespace, ns.id), "Resources.0.Data.Id", "c2")
	b.modify("it goes, too", hns.KindNamespace, ns.id, containerIn("Remove", "c2"), 0)
}
