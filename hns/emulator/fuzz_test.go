package emulator_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// fuzzBackend is the id of an endpoint that a fuzzed load balancer may name.
var fuzzBackend = hns.ID{0x4f, 1, 2, 3, 4, 5, 0x56, 7, 0x88, 9, 10, 11, 12, 13, 14, 15}

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
	f.Add(uint8(hns.VerbCreate), uint8(hns.KindLoadBalancer), "", balancer([]hns.ID{fuzzBackend}, vips("10.96.0.20"), port(6, 80, 80), `,"Flags":1`))
	f.Add(uint8(hns.VerbModify), uint8(hns.KindLoadBalancer), "", balancer([]hns.ID{fuzzBackend}, port(0, 80, 80)))
	f.Add(uint8(hns.VerbCreate), uint8(hns.KindRoute), "", route([]hns.ID{fuzzBackend}, "Setting", someRoute))
	f.Add(uint8(hns.VerbCall), uint8(0), "/policylists/", policyList([]string{fuzzBackend.Upper()}, `{"Type":"ELB","InternalPort":80,"ExternalPort":80,"VIPs":["fd00::1"]}`))
	f.Add(uint8(hns.VerbCall), uint8(0), "/policylists/", policyList([]string{fuzzBackend.Upper()}, `{"Type":"ROUTE","DestinationPrefix":"10.0.0.0/8"}`))
	f.Add(uint8(hns.VerbCall), uint8(0), "/accelnet/", `{"MacAddressList":[{"MacAddress":"00-15-5D-0A-B7-C6"}]}`)
	f.Fuzz(func(t *testing.T, verb, kind uint8, path, doc string) {
		n := newNode(t, version(emulator.WindowsServer2025Serviced))
		pond := n.pond()
		backend := n.parse(text(t, n.made(hns.KindEndpoint, endpoint(n.lake(), "backend", fmt.Sprintf(`,"ID":%q`, fuzzBackend))), "ID"))
		ids := map[hns.Kind]hns.ID{
			hns.KindNetwork:      pond,
			hns.KindEndpoint:     n.id(hns.KindEndpoint, endpoint(pond, "web", policies(mapping(8088, "")))),
			hns.KindNamespace:    n.id(hns.KindNamespace, namespaceDoc),
			hns.KindLoadBalancer: n.id(hns.KindLoadBalancer, balancer([]hns.ID{backend}, port(6, 99, 99))),
			hns.KindRoute:        n.id(hns.KindRoute, route([]hns.ID{backend}, "Routes", someRoute)),
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
		for _, path := range []string{"/networks/", "/endpoints/", "/namespaces/", "/policylists/", "/endpointstats/"} {
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
		again := newNode(t, version(s.Version))
		if err := again.Load(s); err != nil {
			t.Fatal(err)
		}
		if again.state() != string(text) {
			t.Errorf("the state does not load back:\n%s\n%s", text, again.state())
		}
		_ = n.Reboot()
	})
}

var allKinds = []hns.Kind{hns.KindNetwork, hns.KindEndpoint, hns.KindNamespace, hns.KindLoadBalancer, hns.KindRoute}

// FuzzLoad loads any text as a dump and works on what came of it.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(foreign))
	f.Add([]byte(busyNode(f).state()))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := hns.ParseSnapshot(text)
		if err != nil {
			return
		}
		n := newNode(t, version(emulator.WindowsServer2025Serviced))
		if n.Load(s) != nil {
			return
		}
		for _, kind := range allKinds {
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
				n.create(hns.KindLoadBalancer, balancer([]hns.ID{o.ID}, port(6, 80, 80)))
				n.modify(hns.KindLoadBalancer, o.ID, string(doc))
				n.join("Add", o.ID, o.ID)
			}
		}
		for _, path := range []string{"/networks/", "/endpoints/", "/namespaces/", "/policylists/", "/endpointstats/"} {
			if out, code := n.call("GET", path, ""); code != 0 || !json.Valid(out) {
				t.Errorf("%s: %s %s", path, code, out)
			}
		}
		n.adapters()
		_ = n.Reboot()
		for _, kind := range []hns.Kind{hns.KindNetwork, hns.KindEndpoint, hns.KindLoadBalancer, hns.KindRoute} {
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
