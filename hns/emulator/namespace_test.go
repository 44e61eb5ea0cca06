package emulator_test

import (
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestCreateNamespace(t *testing.T) {
	tests := []struct {
		doc, kind string
		number    any
		code      hns.Code
		honour    bool
	}{
		{doc: `{"Type":"HostDefault",` + schema2 + `}`, kind: "HostDefault"},
		{doc: `{"Type":"guestdefault",` + schema2 + `}`, kind: "GuestDefault"},
		{doc: `{"Type":2,` + schema2 + `}`, kind: "Guest"},
		{doc: `{` + schema2 + `}`}, // Host, being 0, is not shown
		{doc: `{"NamespaceId":5,"Type":"HostDefault",` + schema2 + `}`, kind: "HostDefault", number: 2.0},
		{doc: `{"NamespaceId":5,"Type":"HostDefault",` + schema2 + `}`, kind: "HostDefault", number: 5.0, honour: true},
		{doc: `{"CreateWithCompartment":true,` + schema2 + `}`, number: 2.0},
		{doc: `{"Type":"Cloud",` + schema2 + `}`, code: hns.CodeInvalidParameter},
		{doc: `{"NamespaceId":"x",` + schema2 + `}`, code: hns.CodeInvalidJSON},
		{doc: ``},
	}
	for _, tt := range tests {
		n := newNode(t, func(o *emulator.Options) { o.HonourNamespaceID = tt.honour })
		doc, code := n.create(hns.KindNamespace, tt.doc)
		if code != tt.code {
			t.Errorf("%s: %s, want %s", tt.doc, code, tt.code)
		}
		if code != 0 {
			continue
		}
		if got := text(t, doc, "Type"); got != tt.kind {
			t.Errorf("%s: type %q, want %q", tt.doc, got, tt.kind)
		}
		if got := at(t, doc, "NamespaceId"); got != tt.number {
			t.Errorf("%s: compartment %v, want %v", tt.doc, got, tt.number)
		}
	}
}

func TestHostNamespace(t *testing.T) {
	n := newNode(t, func(o *emulator.Options) { o.HostNamespace = true })
	all := n.list(hns.KindNamespace, "")
	if len(all) != 1 || at(t, all[0], "NamespaceId") != 1.0 || text(t, all[0], "Type") != "HostDefault" {
		t.Errorf("namespaces of a fresh host: %s", all)
	}
}

func TestMissingNamespace(t *testing.T) {
	n := newNode(t)
	id := hns.NewID()
	for _, r := range []hns.Request{
		{Verb: hns.VerbGet, Kind: hns.KindNamespace, ID: id},
		{Verb: hns.VerbDelete, Kind: hns.KindNamespace, ID: id},
		{Verb: hns.VerbModify, Kind: hns.KindNamespace, ID: id, Document: []byte(`{}`)},
		{Verb: hns.VerbCall, Method: "GET", Path: "/namespaces/" + id.String()},
	} {
		if _, code := n.try(r); code != hns.CodeElementNotFound {
			t.Errorf("%s: %s", r.Verb, code)
		}
	}
}

func TestAttachToNamespace(t *testing.T) {
	type world struct {
		*node
		lake, ns, other, ep hns.ID
	}
	tests := []struct {
		name string
		do   func(w world) hns.Code
		want hns.Code
		// state and whether the endpoint is in ns afterwards
		state float64
		in    bool
	}{
		{"add", func(w world) hns.Code { return w.join("Add", w.ns, w.ep) }, 0, 2, true},
		{"add twice", func(w world) hns.Code {
			w.join("Add", w.ns, w.ep)
			return w.join("Add", w.ns, w.ep)
		}, 0, 2, true},
		{"add to a second", func(w world) hns.Code {
			w.join("Add", w.ns, w.ep)
			return w.join("Add", w.other, w.ep)
		}, hns.CodeEndpointInNamespace, 2, true},
		{"add host-attached", func(w world) hns.Code {
			w.call("POST", "/endpoints/"+w.ep.String()+"/attach", `{"SystemType":"Host","CompartmentId":1}`)
			return w.join("Add", w.ns, w.ep)
		}, hns.CodeEndpointAttached, 2, false},
		{"add missing endpoint", func(w world) hns.Code { return w.join("Add", w.ns, hns.NewID()) }, hns.CodeEndpointNotFound, 1, false},
		{"add to missing namespace", func(w world) hns.Code { return w.join("Add", hns.NewID(), w.ep) }, hns.CodeElementNotFound, 1, false},
		{"add remote", func(w world) hns.Code {
			return w.join("Add", w.ns, w.id(hns.KindEndpoint, endpoint(w.lake, "r", ip("10.50.9.9"), `,"Flags":1`)))
		}, hns.CodeInvalidRemoteOperation, 1, false},
		{"remove", func(w world) hns.Code {
			w.join("Add", w.ns, w.ep)
			return w.join("Remove", w.ns, w.ep)
		}, 0, 4, false},
		{"remove and add", func(w world) hns.Code {
			w.join("Add", w.other, w.ep)
			w.join("Remove", w.other, w.ep)
			return w.join("Add", w.ns, w.ep)
		}, 0, 2, true},
		// Azure/azure-container-networking PR #1272
		{"remove what is not in it", func(w world) hns.Code { return w.join("Remove", w.ns, w.ep) }, hns.CodeElementNotFound, 1, false},
		{"remove from another", func(w world) hns.Code {
			w.join("Add", w.ns, w.ep)
			return w.join("Remove", w.other, w.ep)
		}, hns.CodeElementNotFound, 2, true},
		{"with a container", func(w world) hns.Code {
			w.container("Add", w.ns, "c1")
			return w.join("Add", w.ns, w.ep)
		}, 0, 3, true},
		{"container after the endpoint", func(w world) hns.Code {
			w.join("Add", w.ns, w.ep)
			return w.container("Add", w.ns, "c1")
		}, 0, 3, true},
		{"container gone", func(w world) hns.Code {
			w.join("Add", w.ns, w.ep)
			w.container("Add", w.ns, "c1")
			return w.container("Remove", w.ns, "C1")
		}, 0, 2, true},
		{"unknown container", func(w world) hns.Code { return w.container("Remove", w.ns, "c1") }, hns.CodeElementNotFound, 1, false},
		{"no endpoint named", func(w world) hns.Code {
			return w.modify(hns.KindNamespace, w.ns, `{"ResourceType":"Endpoint","RequestType":"Add","Settings":{}}`)
		}, hns.CodeInvalidParameter, 1, false},
		{"endpoint is no GUID", func(w world) hns.Code {
			return w.modify(hns.KindNamespace, w.ns, `{"ResourceType":1,"RequestType":0,"Settings":{"EndpointId":"x"}}`)
		}, hns.CodeGUIDConversion, 1, false},
		{"no container named", func(w world) hns.Code { return w.container("Add", w.ns, "") }, hns.CodeInvalidParameter, 1, false},
		{"update", func(w world) hns.Code { return w.join("Update", w.ns, w.ep) }, hns.CodeRequestUnsupported, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := world{node: newNode(t)}
			w.lake = w.node.lake()
			w.ns, w.other = w.id(hns.KindNamespace, namespaceDoc), w.id(hns.KindNamespace, namespaceDoc)
			w.ep = w.id(hns.KindEndpoint, endpoint(w.lake, "x"))
			if code := tt.do(w); code != tt.want {
				t.Fatalf("code %s, want %s", code, tt.want)
			}
			ep := w.get(hns.KindEndpoint, w.ep)
			if got := at(t, ep, "State"); got != tt.state {
				t.Errorf("state %v, want %v", got, tt.state)
			}
			if got := w.parse(text(t, ep, "HostComputeNamespace")) == w.ns; got != tt.in {
				t.Errorf("endpoint says it is in the namespace: %v, want %v", got, tt.in)
			}
			listed := strings.Contains(string(w.get(hns.KindNamespace, w.ns)), `{"Type":"Endpoint","Data":{"Id":"`+w.ep.Upper()+`"}}`)
			if listed != tt.in {
				t.Errorf("namespace lists the endpoint: %v, want %v", listed, tt.in)
			}
		})
	}
}

// microsoft/Windows-Containers#485
func TestDeleteNamespace(t *testing.T) {
	n := newNode(t)
	ns := n.id(hns.KindNamespace, namespaceDoc)
	ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x"))
	n.join("Add", ns, ep)
	n.container("Add", ns, "c1")
	n.container("Add", ns, "c1")
	for range 2 {
		if code := n.delete(hns.KindNamespace, ns); code != hns.CodeRequestUnsupported {
			t.Fatalf("with a container: %s", code)
		}
		n.container("Remove", ns, "c1")
	}
	if code := n.delete(hns.KindNamespace, ns); code != 0 {
		t.Fatalf("with an endpoint only: %s", code)
	}
	doc := n.get(hns.KindEndpoint, ep)
	if n.parse(text(t, doc, "HostComputeNamespace")) != (hns.ID{}) || at(t, doc, "State") != 4.0 {
		t.Errorf("the endpoint is not detached: %s", doc)
	}
}

func TestCompartmentComesWithTheContainer(t *testing.T) {
	n := newNode(t)
	a, b := n.id(hns.KindNamespace, namespaceDoc), n.id(hns.KindNamespace, namespaceDoc)
	n.container("Add", b, "c")
	if x, y := at(t, n.get(hns.KindNamespace, a), "NamespaceId"), at(t, n.get(hns.KindNamespace, b), "NamespaceId"); x != nil || y != 2.0 {
		t.Errorf("compartments %v and %v, want none and 2", x, y)
	}
}

func TestFilters(t *testing.T) {
	n := newNode(t)
	lake, fjord := n.lake(), n.fjord()
	ns := n.id(hns.KindNamespace, namespaceDoc)
	a := n.id(hns.KindEndpoint, endpoint(lake, "a"))
	n.id(hns.KindEndpoint, endpoint(lake, "b"))
	n.id(hns.KindEndpoint, endpoint(fjord, "a"))
	n.join("Add", ns, a)
	tests := []struct {
		kind   hns.Kind
		filter string
		want   int
	}{
		{hns.KindEndpoint, "", 3},
		{hns.KindEndpoint, " ", 3},
		{hns.KindEndpoint, "{}", 3},
		{hns.KindEndpoint, `{"Name":"a"}`, 2},
		{hns.KindEndpoint, `{"name":"a"}`, 2},
		{hns.KindEndpoint, `{"Name":"A"}`, 0},
		{hns.KindEndpoint, `{"Name":"a","VirtualNetwork":"` + lake.String() + `"}`, 1},
		{hns.KindEndpoint, `{"VirtualNetwork":"` + lake.Upper() + `"}`, 2},
		{hns.KindEndpoint, `{"HostComputeNetwork":"` + lake.String() + `"}`, 2},
		{hns.KindEndpoint, `{"ID":"` + a.Upper() + `"}`, 1},
		{hns.KindEndpoint, `{"ID":"` + a.String() + `","Name":"b"}`, 0},
		{hns.KindEndpoint, `{"State":2}`, 1},
		{hns.KindEndpoint, `{"State":1}`, 2},
		{hns.KindEndpoint, `{"Weather":"fine"}`, 0},
		{hns.KindNetwork, `{"Name":"lake"}`, 1},
		{hns.KindNetwork, `{"Type":"overlay"}`, 1},
		{hns.KindNetwork, `{"ID":"` + fjord.String() + `"}`, 1},
		{hns.KindNetwork, `{"ID":"nonsense"}`, 0},
		{hns.KindNamespace, `{"ID":""}`, 0}, // what CNI asks for an unattached endpoint
		{hns.KindNamespace, `{"ID":"` + hns.ID{}.String() + `"}`, 0},
		{hns.KindNamespace, `{"ID":"` + ns.String() + `"}`, 1},
		{hns.KindNamespace, ``, 1},
	}
	for _, tt := range tests {
		if got := n.list(tt.kind, tt.filter); len(got) != tt.want {
			t.Errorf("%s %s: %d objects, want %d", tt.kind, tt.filter, len(got), tt.want)
		}
	}
	if _, code := n.try(hns.Request{Verb: hns.VerbList, Kind: hns.KindEndpoint, Filter: `{"Name":`}); code != hns.CodeInvalidJSON {
		t.Errorf("broken filter: %s", code)
	}
	old := newNode(t, func(o *emulator.Options) { o.NetworkNamesIgnoreCase = true })
	old.lake()
	if got := old.list(hns.KindNetwork, `{"Name":"LAKE"}`); len(got) != 1 {
		t.Errorf("ignoring case: %d networks", len(got))
	}
}
