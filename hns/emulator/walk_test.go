package emulator_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// walker does random things to a node, and the same to a model of it.
type walker struct {
	*node
	model *model
	rnd   *rand.Rand
	twin  *emulator.HNS // in memory, of a node in the file at path; else nil
	path  string
}

// step is a request and what it should do.
type step struct {
	hns.Request
	model func() hns.Code
}

// pick returns one of the keys, and now and then one that is not there.
func pick[V any](w *walker, m map[hns.ID]V) hns.ID {
	ids := sortedIDs(slices.Collect(maps.Keys(m)))
	if len(ids) == 0 || w.rnd.IntN(20) == 0 {
		return w.newID()
	}
	return ids[w.rnd.IntN(len(ids))]
}

func (w *walker) newID() (id hns.ID) {
	for i := range id {
		id[i] = byte(w.rnd.Uint32())
	}
	return id
}

// fresh returns the id of a new object: now and then one that is taken.
func fresh[V any](w *walker, m map[hns.ID]V) hns.ID {
	if w.rnd.IntN(30) == 0 {
		return pick(w, m)
	}
	return w.newID()
}

func (w *walker) coin() bool { return w.rnd.IntN(2) == 0 }

func (w *walker) one(of ...string) string { return of[w.rnd.IntN(len(of))] }

// call and v2 are requests of the two schemas.
func call(method, path, body string, model func() hns.Code) step {
	return step{hns.Request{Verb: hns.VerbCall, Method: method, Path: path, Document: []byte(body)}, model}
}

func v2(verb hns.Verb, kind hns.Kind, id hns.ID, doc string, model func() hns.Code) step {
	return step{hns.Request{Verb: verb, Kind: kind, ID: id, Document: []byte(doc)}, model}
}

func (w *walker) step() step {
	m := w.model
	request := w.one("Add", "Add", "Remove", "Update")
	op := w.rnd.IntN(17)
	if op == 4 && len(m.namespaces) > 7 || op > 11 && len(m.lists) > 9 { // enough of these
		op = 15
	}
	switch op {
	case 0:
		return w.newNetwork()
	case 1, 2, 3:
		return w.newEndpoint()
	case 4:
		id, v1 := fresh(w, m.namespaces), w.coin()
		model := func() hns.Code { return m.createNamespace(id) }
		if v1 {
			return call("POST", "/namespaces/", fmt.Sprintf(`{"ID":%q,"IsDefault":true}`, id), model)
		}
		return v2(hns.VerbCreate, hns.KindNamespace, hns.ID{}, fmt.Sprintf(`{"ID":%q,`+schema2+`}`, id), model)
	case 5, 6, 7:
		return w.join(request)
	case 8:
		ns, c := pick(w, m.namespaces), w.one("c0", "c1", "c2")
		if n := m.namespaces[ns]; n != nil && len(n.containers) > 1 {
			request = "Remove"
		}
		return v2(hns.VerbModify, hns.KindNamespace, ns, fmt.Sprintf(`{"ResourceType":"Container","RequestType":%q,"Settings":{"ContainerId":%q}}`, request, c),
			func() hns.Code { return m.container(ns, c, request) })
	case 9:
		ep, p := pick(w, m.endpoints), 8000+w.rnd.IntN(5)
		return v2(hns.VerbModify, hns.KindEndpoint, ep, fmt.Sprintf(`{"ResourceType":"Policy","RequestType":%q,"Settings":{"Policies":[%s]}}`, request, mapping(p, "")),
			func() hns.Code { return m.changePort(ep, request, p) })
	case 10, 11:
		ep, attach := pick(w, m.endpoints), w.coin()
		action := map[bool]string{true: "attach", false: "detach"}[attach]
		return call("POST", "/endpoints/"+ep.String()+"/"+action, `{"SystemType":"Host","CompartmentId":1}`, func() hns.Code { return m.hostAttach(ep, attach) })
	case 12, 13, 14:
		return w.newList()
	}
	return w.removal()
}

func (w *walker) newNetwork() step {
	id := fresh(w, w.model.networks)
	n := modelNetwork{name: fmt.Sprint("n", w.rnd.IntN(6)), kind: w.one("L2Bridge", "Overlay", "L2Bridge", "Overlay", "NAT", "Private", "Transparent"),
		prefix: netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/29", w.rnd.IntN(4)))}
	model := func() hns.Code { return w.model.createNetwork(id, n) }
	if w.coin() {
		return v2(hns.VerbCreate, hns.KindNetwork, id, network(n.name, n.kind, n.prefix.String()), model)
	}
	vsid := ""
	if n.kind == "Overlay" {
		vsid = `,"Policies":[{"Type":"VSID","VSID":4096}]`
	}
	return call("POST", "/networks/", fmt.Sprintf(`{"ID":%q,"Name":%q,"Type":%q,"Subnets":[{"AddressPrefix":%q,"GatewayAddress":%q%s}]}`,
		id, n.name, n.kind, n.prefix, n.at(1), vsid), model)
}

func (w *walker) newEndpoint() step {
	id := fresh(w, w.model.endpoints)
	e := modelEndpoint{network: pick(w, w.model.networks), remote: w.rnd.IntN(5) == 0}
	v1, address, portV1, portV2 := w.coin(), "", "", ""
	if w.rnd.IntN(map[bool]int{true: 10, false: 3}[e.remote]) > 0 == e.remote {
		e.address = netip.MustParseAddr(fmt.Sprintf("10.%d.0.%d", w.rnd.IntN(4), w.rnd.IntN(8)))
		address = e.address.String()
	}
	if w.rnd.IntN(4) == 0 {
		p := 8000 + w.rnd.IntN(5)
		e.ports = []int{p}
		portV1, portV2 = fmt.Sprintf(`{"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":%d}`, p), mapping(p, "")
	}
	if w.rnd.IntN(5) == 0 {
		e.namespace = pick(w, w.model.namespaces)
	}
	model := func() hns.Code { return w.model.createEndpoint(id, e, v1) }
	if v1 {
		place := fmt.Sprintf(`"VirtualNetwork":%q`, e.network)
		if n := w.model.networks[e.network]; n != nil && w.coin() {
			place = fmt.Sprintf(`"VirtualNetworkName":%q`, n.name)
		}
		return call("POST", "/endpoints/", fmt.Sprintf(`{"ID":%q,%s,"IPAddress":%q,"IsRemoteEndpoint":%t,"Namespace":{"ID":%q},"Policies":[%s]}`,
			id, place, address, e.remote, e.namespace, portV1), model)
	}
	return v2(hns.VerbCreate, hns.KindEndpoint, id, endpoint(e.network, "e", ip(address), policies(portV2), map[bool]string{true: `,"Flags":1`}[e.remote],
		fmt.Sprintf(`,"HostComputeNamespace":%q`, e.namespace)), model)
}

func (w *walker) join(request string) step {
	ns, ep := pick(w, w.model.namespaces), pick(w, w.model.endpoints)
	model := func() hns.Code { return w.model.join(ns, ep, request) }
	if w.coin() && request != "Update" {
		action := map[string]string{"Add": "addresource", "Remove": "removeresource"}[request]
		return call("POST", "/namespaces/"+ns.String()+"/"+action, fmt.Sprintf(`{"Type":"Endpoint","Data":{"Id":%q}}`, ep), model)
	}
	return v2(hns.VerbModify, hns.KindNamespace, ns, fmt.Sprintf(`{"ResourceType":"Endpoint","RequestType":%q,"Settings":{"EndpointId":%q}}`, request, ep), model)
}

// newList makes a load balancer with a front end out of few, so that they clash,
// or changes one, or makes a route.
func (w *walker) newList() step {
	l := modelList{kind: hns.KindLoadBalancer, endpoints: []hns.ID{pick(w, w.model.endpoints)}, vip: w.one("node", "10.96.0.1"),
		protocol: []int{6, 17}[w.rnd.IntN(2)], port: 80 + w.rnd.IntN(3)}
	if w.rnd.IntN(4) == 0 {
		l.endpoints = append(l.endpoints, pick(w, w.model.endpoints))
	}
	if w.rnd.IntN(3) == 0 {
		l.kind, l.vip, l.protocol, l.port = hns.KindRoute, "", 0, 0
	}
	id := fresh(w, w.model.lists)
	change, v1 := l.kind == hns.KindLoadBalancer && w.rnd.IntN(3) == 0, w.coin()
	if change {
		id, v1 = pick(w, w.model.lists), false
	}
	model := func() hns.Code { return w.model.putList(id, l, change, v1) }
	vip, vipV1 := "", "" // of the node
	if l.vip != "node" {
		vip, vipV1 = vips(l.vip), `,"VIPs":["`+l.vip+`"]`
	}
	doc := balancer(l.endpoints, vip, port(l.protocol, 80, l.port))
	policy := fmt.Sprintf(`{"Type":"ELB","Protocol":%d,"InternalPort":80,"ExternalPort":%d%s}`, l.protocol, l.port, vipV1)
	if l.kind == hns.KindRoute {
		doc, policy = route(l.endpoints, "Routes", someRoute), `{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12"}`
	}
	switch {
	case change:
		return v2(hns.VerbModify, l.kind, id, doc, model)
	case !v1:
		return v2(hns.VerbCreate, l.kind, id, doc, model)
	}
	var references []string
	for _, e := range l.endpoints {
		references = append(references, e.Upper())
	}
	return call("POST", "/policylists/", fmt.Sprintf(`{"ID":%q,`, id)+policyList(references, policy)[1:], model)
}

func (w *walker) removal() step {
	m := w.model
	var id hns.ID
	var path string
	var kind hns.Kind
	var model func() hns.Code
	switch w.rnd.IntN(12) {
	case 0:
		id, kind, path, model = pick(w, m.networks), hns.KindNetwork, "networks", func() hns.Code { return m.deleteNetwork(id) }
	case 1, 2, 3, 4:
		id, kind, path, model = pick(w, m.endpoints), hns.KindEndpoint, "endpoints", func() hns.Code { return m.deleteEndpoint(id) }
	case 5, 6:
		id, kind, path, model = pick(w, m.namespaces), hns.KindNamespace, "namespaces", func() hns.Code { return m.deleteNamespace(id) }
	default:
		id, kind = pick(w, m.lists), []hns.Kind{hns.KindLoadBalancer, hns.KindRoute}[w.rnd.IntN(2)]
		if w.coin() {
			return call("DELETE", "/policylists/"+id.String(), "", func() hns.Code { return m.deleteList(id, hns.KindService) })
		}
		return v2(hns.VerbDelete, kind, id, "", func() hns.Code { return m.deleteList(id, kind) })
	}
	if w.coin() {
		return call("DELETE", "/"+path+"/"+id.String(), "", model)
	}
	return v2(hns.VerbDelete, kind, id, "", model)
}

// take carries a step out, now and then under a fault, and returns the code that
// came and the one that should have come.
func (w *walker) take(s step) (got, want hns.Code) {
	switch w.rnd.IntN(20) {
	case 0: // before the effect
		remove := w.Inject(emulator.Fault{Code: hns.CodeRPCCallFailedDNE})
		defer remove()
		want = hns.CodeRPCCallFailedDNE
	case 1: // after it
		remove := w.Inject(emulator.Fault{Code: hns.CodeRPCCallFailed, After: true})
		defer remove()
		s.model()
		want = hns.CodeRPCCallFailed
	case 2:
		w.Stop()
		defer w.Start()
		want = hns.CodeRPCUnavailable
	case 3: // what HNS reads back changes nothing
		if err := w.Restart(); err != nil {
			w.Error(err)
		}
		want = s.model()
	default:
		want = s.model()
	}
	_, err := w.Do(s.Request)
	return w.code(err), want
}

// walks counts the walks of this process, so that -count makes new ones.
var walks atomic.Uint64

// seedVar sets the seed of the first walk; each further one has the next.
const seedVar = "HNSKIT_TEST_SEED"

func nextSeed(t *testing.T) uint64 {
	t.Helper()
	first := uint64(1)
	if text := os.Getenv(seedVar); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first = n
	}
	return first + walks.Add(1) - 1
}

// Random operations of both schemas, under faults, do what they do to the model:
// they end with the same codes, one that fails changes nothing, and nothing refers
// to what is not there. A snapshot reads back as it was written. An HNS in a file,
// which another process may have open, shows the same as one in memory.
func TestRandomWalk(t *testing.T) {
	codes := map[hns.Code]int{}
	all := 0
	for _, tt := range []struct {
		version hns.Version
		steps   int
		file    bool
	}{
		{emulator.WindowsServer2025, 4000, false}, {emulator.WindowsServer2025, 4000, false}, {emulator.WindowsServer2025, 4000, false},
		{emulator.WindowsServer2019, 1500, false}, {emulator.WindowsServer2022, 1500, false},
		{emulator.WindowsServer2025, 400, true}, {emulator.WindowsServer2022, 400, true},
	} {
		seed := nextSeed(t)
		t.Run(fmt.Sprintf("HNS %s, file %t, %s %d", tt.version, tt.file, seedVar, seed), func(t *testing.T) {
			opts := &emulator.Options{Seed: seed, Version: tt.version}
			w := &walker{node: &node{t, emulator.New(opts)}, model: newModel(tt.version), rnd: rand.New(rand.NewPCG(seed, 11))}
			if tt.file {
				w.twin = w.HNS
				w.path = filepath.Join(t.TempDir(), "hns.json")
				w.node = openNode(t, w.path, opts)
			}
			w.walk(tt.steps, codes)
		})
		all += tt.steps
	}
	if t.Failed() {
		return
	}
	for _, c := range []hns.Code{0, hns.CodeRPCCallFailed, hns.CodeRPCCallFailedDNE, hns.CodeRPCUnavailable, hns.CodeAlreadyExists, hns.CodeNetworkNotFound, hns.CodeNetworkExists,
		hns.CodeObjectAlreadyExists, hns.CodeAdapterNotFound, hns.CodeEndpointNotFound, hns.CodeInvalidEndpoint, hns.CodeSubnetNotFound, hns.CodeInvalidIP,
		hns.CodeAddressInvalidOrReserved, hns.CodeMappingNotSupported, hns.CodePortExists, hns.CodePolicyNotFound, hns.CodeInvalidRemoteOperation, hns.CodeEndpointAttached,
		hns.CodeElementNotFound, hns.CodeRequestUnsupported, hns.CodeEndpointInNamespace, hns.CodeInvalidJSONReference, hns.CodeInvalidParameter,
		hns.CodeInvalidPolicyType, hns.CodeInvalidNetworkType, hns.CodeNotImplemented} {
		if codes[c] == 0 {
			t.Errorf("no step ended with %s: the walks show little", c)
		}
	}
	if codes[0] < all/4 {
		t.Errorf("%d steps had an effect: the walks show little", codes[0])
	}
}

// walk makes so many steps, and counts the codes they end with.
func (w *walker) walk(steps int, codes map[hns.Code]int) {
	t := w.node.TB.(*testing.T)
	before, most := "", 0
	for i := range steps {
		s := w.step()
		got, want := w.take(s)
		codes[got]++
		if got != want {
			t.Fatalf("step %d: %s %s %s %s: %s, want %s\n%s", i, s.Verb, s.Kind, s.Path, s.Document, got, want, before)
		}
		snapshot, err := w.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		model := w.model.text()
		if seen := seenText(t, snapshot); seen != model {
			t.Fatalf("step %d: %s %s %s %s: %s\nbefore:\n%s\nmodel:\n%s\nHNS:\n%s", i, s.Verb, s.Kind, s.Path, s.Document, got, before, model, seen)
		}
		if want != 0 && want != hns.CodeRPCCallFailed && model != before {
			t.Fatalf("step %d: the model changes with %s", i, want)
		}
		before = model
		most = max(most, len(w.model.endpoints))
		w.compareTwin(i, s, want)
		if i%100 == 0 {
			checkInvariants(t, w.node)
			readsBack(t, snapshot)
			w.ResetCalls()
		}
	}
	if most < 8 {
		t.Errorf("there were at most %d endpoints: the walk shows little", most)
	}
	sameAfterLoad(t, w.node)
	empty(t, w)
}

// compareTwin takes the step with an HNS in memory, too, if it got as far as HNS,
// and compares what both show. The file is opened anew now and then.
func (w *walker) compareTwin(i int, s step, code hns.Code) {
	w.Helper()
	if w.twin == nil {
		return
	}
	if code != hns.CodeRPCCallFailedDNE && code != hns.CodeRPCUnavailable {
		_, _ = w.twin.Do(s.Request)
	}
	twin := &node{w.TB, w.twin}
	if got, want := w.state(), twin.state(); got != want {
		w.Fatalf("step %d: %s %s %s %s:\n%s", i, s.Verb, s.Kind, s.Path, s.Document, cmp.Diff(want, got))
	}
	if i%5 == 0 {
		w.node = openNode(w.TB, w.path, nil)
	}
}

// readsBack checks that a snapshot that is loaded gives itself.
func readsBack(t *testing.T, s *hns.Snapshot) {
	t.Helper()
	again := newNode(t)
	if err := again.Load(s); err != nil {
		t.Fatal(err)
	}
	want, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if got := again.state(); got != string(want) {
		t.Errorf("a snapshot came back as\n%s\nand was\n%s", got, want)
	}
}
