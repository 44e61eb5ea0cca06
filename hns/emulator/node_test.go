package emulator_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// node is an emulated node, with short ways to ask it things in a test.
type node struct {
	testing.TB
	*emulator.HNS
}

// newNode returns a node with options of seed 1; change may alter them.
func newNode(t testing.TB, change ...func(*emulator.Options)) *node {
	opts := &emulator.Options{Seed: 1}
	for _, c := range change {
		c(opts)
	}
	return &node{t, emulator.New(opts)}
}

func version(v hns.Version) func(*emulator.Options) {
	return func(o *emulator.Options) { o.Version = v }
}

// message returns the text of a failure.
func message(err error) string {
	var be *hns.BackendError
	if errors.As(err, &be) {
		return be.Text
	}
	return ""
}

// code returns the HRESULT of a failure, 0 for none.
func (n *node) code(err error) hns.Code {
	n.Helper()
	if err == nil {
		return 0
	}
	var be *hns.BackendError
	if !errors.As(err, &be) || be.Err != nil {
		n.Fatalf("error %v, want a *hns.BackendError of HNS itself", err)
	}
	return be.Code
}

// try carries out a request and returns its document, if any, and its code.
func (n *node) try(r hns.Request) (json.RawMessage, hns.Code) {
	n.Helper()
	resp, err := n.Do(r)
	if c := n.code(err); err != nil {
		if len(resp.Documents) != 0 {
			n.Errorf("a failure came with documents: %s", resp.Documents)
		}
		return nil, c
	}
	if len(resp.Documents) == 0 {
		return nil, 0
	}
	return resp.Documents[0], 0
}

func (n *node) create(kind hns.Kind, doc string) (json.RawMessage, hns.Code) {
	n.Helper()
	return n.try(hns.Request{Verb: hns.VerbCreate, Kind: kind, Document: []byte(doc)})
}

// made creates an object and returns its document.
func (n *node) made(kind hns.Kind, doc string) json.RawMessage {
	n.Helper()
	out, code := n.create(kind, doc)
	if code != 0 {
		n.Fatalf("create %s %s: %s", kind, doc, code)
	}
	return out
}

// id creates an object and returns its id.
func (n *node) id(kind hns.Kind, doc string) hns.ID {
	n.Helper()
	return n.parse(text(n, n.made(kind, doc), "ID"))
}

func (n *node) parse(s string) hns.ID {
	n.Helper()
	id, err := hns.ParseID(s)
	if err != nil {
		n.Fatal(err)
	}
	return id
}

func (n *node) get(kind hns.Kind, id hns.ID) json.RawMessage {
	n.Helper()
	doc, code := n.try(hns.Request{Verb: hns.VerbGet, Kind: kind, ID: id})
	if code != 0 {
		n.Fatalf("get %s %s: %s", kind, id, code)
	}
	return doc
}

func (n *node) list(kind hns.Kind, filter string) []json.RawMessage {
	n.Helper()
	resp, err := n.Do(hns.Request{Verb: hns.VerbList, Kind: kind, Filter: filter})
	if err != nil {
		n.Fatalf("list %s %s: %v", kind, filter, err)
	}
	return resp.Documents
}

func (n *node) modify(kind hns.Kind, id hns.ID, doc string) hns.Code {
	n.Helper()
	_, code := n.try(hns.Request{Verb: hns.VerbModify, Kind: kind, ID: id, Document: []byte(doc)})
	return code
}

func (n *node) delete(kind hns.Kind, id hns.ID) hns.Code {
	n.Helper()
	_, code := n.try(hns.Request{Verb: hns.VerbDelete, Kind: kind, ID: id})
	return code
}

// call makes a v1 call and returns its Output.
func (n *node) call(method, path, body string) (json.RawMessage, hns.Code) {
	n.Helper()
	return n.try(hns.Request{Verb: hns.VerbCall, Method: method, Path: path, Document: []byte(body)})
}

// policy changes the policies of an object.
func (n *node) policy(kind hns.Kind, id hns.ID, request, policies string) hns.Code {
	n.Helper()
	return n.modify(kind, id, fmt.Sprintf(`{"ResourceType":"Policy","RequestType":%q,"Settings":{"Policies":[%s]}}`, request, policies))
}

// join adds an endpoint to a namespace or removes it.
func (n *node) join(request string, ns, ep hns.ID) hns.Code {
	n.Helper()
	return n.modify(hns.KindNamespace, ns, fmt.Sprintf(
		`{"ResourceType":"Endpoint","RequestType":%q,"Settings":{"EndpointId":%q}}`, request, ep))
}

func (n *node) container(request string, ns hns.ID, container string) hns.Code {
	n.Helper()
	return n.modify(hns.KindNamespace, ns, fmt.Sprintf(
		`{"ResourceType":"Container","RequestType":%q,"Settings":{"ContainerId":%q}}`, request, container))
}

func (n *node) adapters() map[string]emulator.Adapter {
	n.Helper()
	all, err := n.Adapters()
	if err != nil {
		n.Fatal(err)
	}
	out := map[string]emulator.Adapter{}
	for _, a := range all {
		out[a.Name] = a
	}
	return out
}

// state returns the text form of the state.
func (n *node) state() string {
	n.Helper()
	s, err := n.Snapshot()
	if err != nil {
		n.Fatal(err)
	}
	b, err := s.Bytes()
	if err != nil {
		n.Fatal(err)
	}
	return string(b)
}

// at returns a value inside a document; nil if it is not there. Steps are
// member names and list positions.
func at(t testing.TB, doc []byte, steps ...any) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				return nil
			}
			v = l[s]
		}
	}
	return v
}

// text returns a text inside a document; "" if it is not there.
func text(t testing.TB, doc []byte, steps ...any) string {
	t.Helper()
	s, _ := at(t, doc, steps...).(string)
	return s
}

// settings returns the settings of the first policy of a type, as HNS wrote
// them; "" if there is none.
func settings(t testing.TB, doc []byte, kind string) string {
	t.Helper()
	for _, s := range allSettings(t, doc, kind) {
		return s
	}
	return ""
}

func allSettings(t testing.TB, doc []byte, kind string) (out []string) {
	t.Helper()
	var o struct {
		Policies []struct {
			Type     string
			Settings json.RawMessage
		}
	}
	if err := json.Unmarshal(doc, &o); err != nil {
		t.Fatal(err)
	}
	for _, p := range o.Policies {
		if p.Type == kind {
			out = append(out, string(p.Settings))
		}
	}
	return out
}

const schema2 = `"SchemaVersion":{"Major":2,"Minor":0}`

// network returns the document of a network with one subnet; the gateway is
// its first address. more is put behind, such as `,"Flags":8`.
func network(name, kind, prefix string, more ...string) string {
	p := netip.MustParsePrefix(prefix)
	gw, dst := p.Addr().Next(), "0.0.0.0/0"
	if gw.Is6() {
		dst = "::/0"
	}
	vsid := ""
	if kind == "Overlay" {
		vsid = `"Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}],`
	}
	doc := fmt.Sprintf(`{"Name":%q,"Type":%q,"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":%q,%s`+
		`"Routes":[{"NextHop":%q,"DestinationPrefix":%q}]}]}],%s`, name, kind, prefix, vsid, gw, dst, schema2)
	for _, m := range more {
		doc += m
	}
	return doc + "}"
}

// endpoint returns the document of an endpoint; more is put behind.
func endpoint(network hns.ID, name string, more ...string) string {
	doc := fmt.Sprintf(`{"Name":%q,"HostComputeNetwork":%q,%s`, name, network, schema2)
	for _, m := range more {
		doc += m
	}
	return doc + "}"
}

// ip is a member of an endpoint's document that gives its address.
func ip(a string) string { return fmt.Sprintf(`,"IpConfigurations":[{"IpAddress":%q}]`, a) }

// policies is a member of a document that gives its policies.
func policies(ps string) string { return `,"Policies":[` + ps + `]` }

const namespaceDoc = `{"Type":"HostDefault",` + schema2 + `}`

// lake makes an L2Bridge network 10.50.3.0/24, fjord an overlay network
// 10.60.0.0/16 and pond a NAT network 172.30.0.0/20.
func (n *node) lake() hns.ID {
	n.Helper()
	return n.id(hns.KindNetwork, network("lake", "L2Bridge", "10.50.3.0/24"))
}

func (n *node) fjord() hns.ID {
	n.Helper()
	return n.id(hns.KindNetwork, network("fjord", "Overlay", "10.60.0.0/16"))
}

func (n *node) pond() hns.ID {
	n.Helper()
	return n.id(hns.KindNetwork, network("pond", "NAT", "172.30.0.0/20"))
}
