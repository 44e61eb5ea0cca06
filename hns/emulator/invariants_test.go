package emulator_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func samePrefix(a, b netip.Prefix) bool { return a == b }

// seenEndpoint is an endpoint in the documents.
type seenEndpoint struct {
	ID, Name, HostComputeNetwork, HostComputeNamespace string
	Flags, State                                       uint32
	MacAddress                                         string
	IpConfigurations                                   []struct{ IpAddress string }
	Policies                                           []struct {
		Type     string
		Settings struct{ Protocol, ExternalPort int }
	}
}

type seenNamespace struct {
	ID        string
	Resources []struct {
		Type string
		Data struct{ Id string }
	}
}

// checkInvariants looks at a state from outside: what must hold whatever
// happened before.
func checkInvariants(t testing.TB, n *node) {
	t.Helper()
	s, err := n.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	networks, names := map[string]bool{}, map[string]bool{}
	for _, doc := range s.Networks {
		id, name := text(t, doc, "ID"), text(t, doc, "Name")
		if networks[id] || names[name] {
			t.Errorf("network %s %q is there twice", id, name)
		}
		networks[id], names[name] = true, true
	}
	members := map[string]string{} // endpoint to namespace, as the namespaces say
	for _, doc := range s.Namespaces {
		var ns seenNamespace
		unmarshal(t, doc, &ns)
		for _, r := range ns.Resources {
			if r.Type != "Endpoint" {
				continue
			}
			id := strings.ToLower(r.Data.Id)
			if r.Data.Id != strings.ToUpper(id) || members[id] != "" {
				t.Errorf("namespace %s: entry %s", ns.ID, r.Data.Id)
			}
			members[id] = ns.ID
		}
	}
	local, ports := map[string]string{}, map[string]string{}
	for _, doc := range s.Endpoints {
		var e seenEndpoint
		unmarshal(t, doc, &e)
		if !networks[e.HostComputeNetwork] {
			t.Errorf("endpoint %s is on network %s, which is not there", e.ID, e.HostComputeNetwork)
		}
		in := members[e.ID]
		delete(members, e.ID)
		if none := e.HostComputeNamespace == (hns.ID{}).String(); none != (in == "") || !none && in != e.HostComputeNamespace {
			t.Errorf("endpoint %s says namespace %s, listed in %q", e.ID, e.HostComputeNamespace, in)
		}
		for _, c := range e.IpConfigurations {
			key := e.HostComputeNetwork + " " + c.IpAddress
			if other := local[key]; other != "" {
				t.Errorf("%s belongs to %s and %s", key, other, e.ID)
			}
			local[key] = e.ID
		}
		for _, p := range e.Policies {
			if p.Type != "PortMapping" {
				continue
			}
			key := fmt.Sprint(p.Settings)
			if other := ports[key]; other != "" {
				t.Errorf("port %s belongs to %s and %s", key, other, e.ID)
			}
			ports[key] = e.ID
		}
	}
	for ep, ns := range members {
		t.Errorf("namespace %s lists endpoint %s, which is not there", ns, ep)
	}
}

func unmarshal(t testing.TB, doc []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(doc, v); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
}

// walker does random things to a node.
type walker struct {
	*node
	rnd                             *rand.Rand
	networks, endpoints, namespaces []hns.ID
}

// pick returns one of the ids, and now and then one that is not there.
func (w *walker) pick(ids []hns.ID) hns.ID {
	if len(ids) == 0 || w.rnd.IntN(20) == 0 {
		return hns.NewID()
	}
	return ids[w.rnd.IntN(len(ids))]
}

func (w *walker) step() hns.Request {
	request := []string{"Add", "Remove", "Update"}[w.rnd.IntN(3)]
	port := mapping(8000+w.rnd.IntN(5), "")
	switch w.rnd.IntN(12) {
	case 0:
		kind := []string{"L2Bridge", "Overlay", "NAT", "Private"}[w.rnd.IntN(4)]
		return hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork,
			Document: []byte(network(fmt.Sprint("n", w.rnd.IntN(6)), kind, fmt.Sprintf("10.%d.0.0/29", w.rnd.IntN(4))))}
	case 1, 2, 3:
		more := ""
		if w.rnd.IntN(3) == 0 {
			more = ip(fmt.Sprintf("10.%d.0.%d", w.rnd.IntN(4), w.rnd.IntN(8)))
		}
		if w.rnd.IntN(4) == 0 {
			more += policies(port)
		}
		return hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Network: w.pick(w.networks),
			Document: []byte(`{"Name":"e",` + schema2 + more + `}`)}
	case 4:
		return hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNamespace, Document: []byte(namespaceDoc)}
	case 5, 6:
		return hns.Request{Verb: hns.VerbModify, Kind: hns.KindNamespace, ID: w.pick(w.namespaces), Document: []byte(fmt.Sprintf(
			`{"ResourceType":"Endpoint","RequestType":%q,"Settings":{"EndpointId":%q}}`, request, w.pick(w.endpoints)))}
	case 7:
		return hns.Request{Verb: hns.VerbModify, Kind: hns.KindNamespace, ID: w.pick(w.namespaces), Document: []byte(fmt.Sprintf(
			`{"ResourceType":"Container","RequestType":%q,"Settings":{"ContainerId":"c%d"}}`, request, w.rnd.IntN(3)))}
	case 8:
		return hns.Request{Verb: hns.VerbModify, Kind: hns.KindEndpoint, ID: w.pick(w.endpoints), Document: []byte(fmt.Sprintf(
			`{"ResourceType":"Policy","RequestType":%q,"Settings":{"Policies":[%s]}}`, request, port))}
	case 9:
		action := []string{"attach", "detach"}[w.rnd.IntN(2)]
		return hns.Request{Verb: hns.VerbCall, Method: "POST", Path: "/endpoints/" + w.pick(w.endpoints).String() + "/" + action,
			Document: []byte(`{"SystemType":"Host","CompartmentId":1}`)}
	case 10:
		return hns.Request{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, ID: w.pick(w.endpoints)}
	default:
		if w.rnd.IntN(3) > 0 {
			return hns.Request{Verb: hns.VerbDelete, Kind: hns.KindNamespace, ID: w.pick(w.namespaces)}
		}
		return hns.Request{Verb: hns.VerbDelete, Kind: hns.KindNetwork, ID: w.pick(w.networks)}
	}
}

func (w *walker) ids(kind hns.Kind) (out []hns.ID) {
	for _, doc := range w.list(kind, "") {
		out = append(out, w.parse(text(w, doc, "ID")))
	}
	return out
}

func TestRandomWalk(t *testing.T) {
	for seed := range uint64(6) {
		w := &walker{node: newNode(t), rnd: rand.New(rand.NewPCG(seed, 1))}
		failed := 0
		for i := range 400 {
			w.networks, w.endpoints, w.namespaces = w.ids(hns.KindNetwork), w.ids(hns.KindEndpoint), w.ids(hns.KindNamespace)
			r := w.step()
			before := w.state()
			_, err := w.Do(r)
			if err != nil {
				failed++
				if w.state() != before {
					t.Fatalf("seed %d, step %d: %s %s failed (%v) and changed the state", seed, i, r.Verb, r.Kind, err)
				}
			}
			checkInvariants(t, w.node)
			if t.Failed() {
				t.Fatalf("seed %d, step %d: %+v", seed, i, r)
			}
		}
		if failed == 0 || failed == 400 {
			t.Errorf("seed %d: %d of 400 steps failed; the walk shows little", seed, failed)
		}
		sameAfterLoad(t, w.node)
		empty(t, w)
	}
}

// sameAfterLoad checks that the indexes of a live store and of one loaded from
// its snapshot agree, by what both answer.
func sameAfterLoad(t *testing.T, n *node) {
	s, err := n.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again := newNode(t)
	if err := again.Load(s); err != nil {
		t.Fatal(err)
	}
	for _, doc := range s.Networks {
		id := n.parse(text(t, doc, "ID"))
		filter := fmt.Sprintf(`{"VirtualNetwork":%q}`, id)
		if a, b := n.list(hns.KindEndpoint, filter), again.list(hns.KindEndpoint, filter); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("endpoints of %s: %s and %s", id, a, b)
		}
		_, a := n.create(hns.KindEndpoint, endpoint(id, "probe"))
		_, b := again.create(hns.KindEndpoint, endpoint(id, "probe"))
		if a != b {
			t.Errorf("one more endpoint on %s: %s and %s", id, a, b)
		}
	}
}

// empty deletes everything and checks that nothing is left, and that names,
// addresses and ports are free.
func empty(t *testing.T, w *walker) {
	for _, ns := range w.ids(hns.KindNamespace) {
		for code := hns.Code(0); code == 0; {
			code = w.container("Remove", ns, "c0") & w.container("Remove", ns, "c1") & w.container("Remove", ns, "c2")
		}
		if code := w.delete(hns.KindNamespace, ns); code != 0 {
			t.Errorf("delete namespace: %s", code)
		}
	}
	for _, id := range w.ids(hns.KindNetwork) {
		if code := w.delete(hns.KindNetwork, id); code != 0 {
			t.Errorf("delete network: %s", code)
		}
	}
	s, err := w.Snapshot()
	if err != nil || len(s.Networks)+len(s.Endpoints)+len(s.Namespaces) != 0 {
		t.Errorf("left: %s, %v", w.state(), err)
	}
	if got := w.adapters(); len(got) != 1 || len(got["Ethernet"].Addresses) != 1 {
		t.Errorf("adapters: %v", got)
	}
	for i := range 6 {
		id := w.id(hns.KindNetwork, network(fmt.Sprint("n", i), "L2Bridge", "10.9.0.0/24"))
		w.id(hns.KindEndpoint, endpoint(id, "e", policies(mapping(8000+i, ""))))
	}
}

func FuzzDo(f *testing.F) {
	f.Add(uint8(hns.VerbCreate), uint8(hns.KindNetwork), "", network("lake", "L2Bridge", "10.50.3.0/24"))
	f.Add(uint8(hns.VerbCreate), uint8(hns.KindNetwork), "", network("fjord", "Overlay", "10.60.0.0/16"))
	f.Add(uint8(hns.VerbCreate), uint8(hns.KindEndpoint), "", `{`+schema2+ip("172.30.0.9")+policies(mapping(80, ""))+`}`)
	f.Add(uint8(hns.VerbModify), uint8(hns.KindEndpoint), "", `{"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[]}}`)
	f.Add(uint8(hns.VerbModify), uint8(hns.KindNetwork), "", `{"ResourceType":"DNS","RequestType":"Update","Settings":{"Domain":"x"}}`)
	f.Add(uint8(hns.VerbModify), uint8(hns.KindNamespace), "", `{"ResourceType":"Container","RequestType":"Add","Settings":{"ContainerId":"c"}}`)
	f.Add(uint8(hns.VerbList), uint8(hns.KindEndpoint), `{"Name":"web"}`, ``)
	f.Add(uint8(hns.VerbCall), uint8(0), "/endpoints/", `{"VirtualNetworkName":"pond","Policies":[{"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":80}]}`)
	f.Add(uint8(hns.VerbCall), uint8(0), "/networks/", `{"Name":"x","Type":"nat","Subnets":[{"AddressPrefix":"10.0.0.0/24"}]}`)
	f.Fuzz(func(t *testing.T, verb, kind uint8, path, doc string) {
		n := newNode(t)
		pond := n.pond()
		ids := map[hns.Kind]hns.ID{
			hns.KindNetwork:   pond,
			hns.KindEndpoint:  n.id(hns.KindEndpoint, endpoint(pond, "web", policies(mapping(8088, "")))),
			hns.KindNamespace: n.id(hns.KindNamespace, namespaceDoc),
		}
		r := hns.Request{Verb: hns.Verb(verb), Kind: hns.Kind(kind), Filter: path, Document: []byte(doc), Method: "POST", Path: path}
		if r.Verb != hns.VerbCreate {
			r.ID = ids[r.Kind]
		} else if r.Kind == hns.KindEndpoint {
			r.Network = pond
		}
		before := n.state()
		resp, err := n.Do(r)
		if err != nil {
			n.code(err)
			if n.state() != before {
				t.Fatalf("failed (%v) and changed the state", err)
			}
		}
		for _, d := range resp.Documents {
			if !json.Valid(d) {
				t.Errorf("answer is no JSON: %s", d)
			}
		}
		for _, path := range []string{"/networks/", "/endpoints/", "/namespaces/"} {
			out, code := n.call("GET", path, "")
			if code != 0 || !json.Valid(out) {
				t.Errorf("%s: %s %s", path, code, out)
			}
		}
		s, err := n.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		text, err := s.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		again := newNode(t)
		if err := again.Load(s); err != nil {
			t.Fatal(err)
		}
		if again.state() != string(text) {
			t.Errorf("the state does not load back:\n%s\n%s", text, again.state())
		}
		_ = n.Reboot()
	})
}

// FuzzLoad loads any text as a dump and works on what came of it.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(foreign))
	f.Add([]byte(busyNode(f).state()))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := hns.ParseSnapshot(text)
		if err != nil {
			return
		}
		n := newNode(t)
		if n.Load(s) != nil {
			return
		}
		for _, kind := range []hns.Kind{hns.KindNetwork, hns.KindEndpoint, hns.KindNamespace} {
			docs := n.list(kind, "")
			if len(docs) > 8 {
				docs = docs[:8]
			}
			for _, doc := range docs {
				o := struct{ ID hns.ID }{}
				unmarshal(t, doc, &o)
				n.get(kind, o.ID)
				n.policy(kind, o.ID, "Add", mapping(80, ""))
				n.create(hns.KindEndpoint, endpoint(o.ID, "x"))
				n.join("Add", o.ID, o.ID)
			}
		}
		for _, path := range []string{"/networks/", "/endpoints/", "/namespaces/"} {
			if out, code := n.call("GET", path, ""); code != 0 || !json.Valid(out) {
				t.Errorf("%s: %s %s", path, code, out)
			}
		}
		n.adapters()
		_ = n.Reboot()
		for _, kind := range []hns.Kind{hns.KindNetwork, hns.KindEndpoint} {
			for _, doc := range n.list(kind, "") {
				o := struct{ ID hns.ID }{}
				unmarshal(t, doc, &o)
				if code := n.delete(kind, o.ID); code != 0 {
					t.Errorf("delete %s: %s", doc, code)
				}
			}
		}
	})
}

// The cost of an operation must not grow with the node. Allocations stand for
// cost: unlike time they are the same on every machine.
func TestCostDoesNotGrowWithTheNode(t *testing.T) {
	cost := func(endpoints int) float64 {
		n := newNode(t, func(o *emulator.Options) { o.Seed = 0 })
		lake := n.id(hns.KindNetwork, network("lake", "L2Bridge", "10.0.0.0/8",
			`,"MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-00-00-00","EndMacAddress":"00-15-5D-FF-FF-FF"}]}`))
		var mid hns.ID
		for i := range endpoints {
			id := n.id(hns.KindEndpoint, endpoint(lake, fmt.Sprint("e", i)))
			if i == endpoints/2 {
				mid = id
			}
		}
		ns := n.id(hns.KindNamespace, namespaceDoc)
		n.delete(hns.KindEndpoint, mid)
		return testing.AllocsPerRun(20, func() {
			n.ResetCalls()
			id := n.id(hns.KindEndpoint, endpoint(lake, "x", policies(mapping(8088, ""))))
			n.join("Add", ns, id)
			if got := n.list(hns.KindEndpoint, `{"Name":"x"}`); len(got) != 1 {
				t.Errorf("%d found", len(got))
			}
			n.create(hns.KindEndpoint, endpoint(lake, "x", policies(mapping(8088, ""))))
			n.get(hns.KindEndpoint, id)
			n.delete(hns.KindEndpoint, id)
		})
	}
	small, large := cost(50), cost(3000)
	if large > 1.2*small {
		t.Errorf("%.0f allocations with 50 endpoints, %.0f with 3000", small, large)
	}
}
