package emulator_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
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

// seenBalancer is a load balancer in the documents.
type seenBalancer struct {
	ID, HostComputeNetwork             string
	HostComputeEndpoints, FrontendVIPs []string
	PortMappings                       []struct{ Protocol, ExternalPort int }
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
	checkBalancers(t, s, networks)
}

// checkBalancers looks at load balancers and routes: they are on a network
// that is there, and no two load balancers share a front end.
func checkBalancers(t testing.TB, s *hns.Snapshot, networks map[string]bool) {
	t.Helper()
	ids, fronts := map[string]bool{}, map[string]string{}
	for _, doc := range slices.Concat(s.LoadBalancers, s.Routes) {
		var b seenBalancer
		unmarshal(t, doc, &b)
		if ids[b.ID] || !networks[b.HostComputeNetwork] || len(b.HostComputeEndpoints) == 0 {
			t.Errorf("%s is there twice, without endpoints, or on no network", doc)
		}
		ids[b.ID] = true
		if b.FrontendVIPs == nil {
			b.FrontendVIPs = []string{"node"}
		}
		for _, vip := range b.FrontendVIPs {
			for _, p := range b.PortMappings {
				for _, protocol := range []int{6, 17} {
					if p.Protocol != 0 && p.Protocol != protocol {
						continue
					}
					key := fmt.Sprint(vip, protocol, p.ExternalPort)
					if other := fronts[key]; other != "" {
						t.Errorf("front end %s belongs to %s and %s", key, other, b.ID)
					}
					fronts[key] = b.ID
				}
			}
		}
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
	balancers, routes               []hns.ID
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
	switch w.rnd.IntN(16) {
	case 12, 13, 14, 15:
		return w.stepList()
	case 0:
		kind := []string{"L2Bridge", "Overlay", "NAT", "L2Bridge", "Overlay", "Private"}[w.rnd.IntN(6)]
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
		if w.rnd.IntN(6) > 0 {
			return hns.Request{Verb: hns.VerbDelete, Kind: hns.KindNamespace, ID: w.pick(w.namespaces)}
		}
		return hns.Request{Verb: hns.VerbDelete, Kind: hns.KindNetwork, ID: w.pick(w.networks)}
	}
}

// stepList does something to load balancers and routes.
func (w *walker) stepList() hns.Request {
	doc := balancer([]hns.ID{w.pick(w.endpoints), w.pick(w.endpoints)}, w.frontend())
	if w.rnd.IntN(4) > 0 {
		doc = balancer([]hns.ID{w.pick(w.endpoints)}, w.frontend())
	}
	switch w.rnd.IntN(8) {
	case 0, 1, 2:
		return hns.Request{Verb: hns.VerbCreate, Kind: hns.KindLoadBalancer, Document: []byte(doc)}
	case 3:
		return hns.Request{Verb: hns.VerbModify, Kind: hns.KindLoadBalancer, ID: w.pick(w.balancers), Document: []byte(doc)}
	case 4:
		return hns.Request{Verb: hns.VerbCreate, Kind: hns.KindRoute, Document: []byte(route([]hns.ID{w.pick(w.endpoints)}, "Routes", someRoute))}
	case 5:
		return hns.Request{Verb: hns.VerbCall, Method: "POST", Path: "/policylists/", Document: []byte(policyList([]string{w.pick(w.endpoints).Upper()},
			fmt.Sprintf(`{"Type":"ELB","InternalPort":80,"ExternalPort":%d,"VIPs":["10.96.0.1"]}`, 80+w.rnd.IntN(3))))}
	case 6:
		return hns.Request{Verb: hns.VerbCall, Method: "DELETE", Path: "/policylists/" + w.pick(slices.Concat(w.balancers, w.routes)).String()}
	}
	if w.rnd.IntN(2) == 0 {
		return hns.Request{Verb: hns.VerbDelete, Kind: hns.KindRoute, ID: w.pick(w.routes)}
	}
	return hns.Request{Verb: hns.VerbDelete, Kind: hns.KindLoadBalancer, ID: w.pick(w.balancers)}
}

// frontend returns a front end out of few, so that they clash.
func (w *walker) frontend() string {
	out := port([]int{0, 6, 17}[w.rnd.IntN(3)], 80, 80+w.rnd.IntN(3))
	if n := w.rnd.IntN(3); n > 0 {
		out += vips(fmt.Sprint("10.96.0.", n))
	}
	return out
}

func (w *walker) ids(kind hns.Kind) (out []hns.ID) {
	for _, doc := range w.list(kind, "") {
		out = append(out, w.parse(text(w, doc, "ID")))
	}
	return out
}

func TestRandomWalk(t *testing.T) {
	for seed := range uint64(6) {
		w := &walker{node: newNode(t, version(emulator.WindowsServer2025)), rnd: rand.New(rand.NewPCG(seed, 1))}
		failed := 0
		for i := range 400 {
			w.networks, w.endpoints, w.namespaces = w.ids(hns.KindNetwork), w.ids(hns.KindEndpoint), w.ids(hns.KindNamespace)
			w.balancers, w.routes = w.ids(hns.KindLoadBalancer), w.ids(hns.KindRoute)
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
	again := newNode(t, version(s.Version))
	if err := again.Load(s); err != nil {
		t.Fatal(err)
	}
	for _, doc := range s.LoadBalancers {
		for want, d := range map[hns.Code]string{
			hns.CodeAlreadyExists: string(doc),
			hns.CodePortExists:    strings.Replace(string(doc), `"InternalPort":80`, `"InternalPort":99`, 1),
		} {
			d = strings.Replace(d, text(t, doc, "ID"), hns.NewID().String(), 1)
			_, a := n.create(hns.KindLoadBalancer, d)
			_, b := again.create(hns.KindLoadBalancer, d)
			if a != b || a != want && a != hns.CodeInvalidJSONReference { // a backend may be gone
				t.Errorf("%s: %s and %s, want %s", d, a, b, want)
			}
		}
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
	if err != nil || len(s.Networks)+len(s.Endpoints)+len(s.Namespaces)+len(s.LoadBalancers)+len(s.Routes) != 0 {
		t.Errorf("left: %s, %v", w.state(), err)
	}
	if got := w.adapters(); len(got) != 1 || len(got["Ethernet"].Addresses) != 1 {
		t.Errorf("adapters: %v", got)
	}
	for i := range 6 {
		id := w.id(hns.KindNetwork, network(fmt.Sprint("n", i), "L2Bridge", "10.9.0.0/24"))
		ep := w.id(hns.KindEndpoint, endpoint(id, "e", policies(mapping(8000+i, ""))))
		w.id(hns.KindLoadBalancer, balancer([]hns.ID{ep}, port(0, 80, 80), vips(fmt.Sprint("10.96.0.", i))))
	}
}
