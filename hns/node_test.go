package hns_test

import (
	"context"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// node is an emulated node with one network, "lake", and two namespaces.
type node struct {
	*hns.Client
	t       *testing.T
	h       *emulator.HNS
	rec     *recorder
	lake    hns.ID
	builds  int // how often attachment's Build was called
	onLate  chan hns.LateResult
	address string
}

// newNode returns a node; nil options are the emulator's defaults.
func newNode(t *testing.T, opts *emulator.Options) *node {
	t.Helper()
	n := &node{t: t, h: emulator.New(opts), onLate: make(chan hns.LateResult, 10), address: "10.50.3.7"}
	n.rec = &recorder{Backend: n.h}
	n.Client = hns.New(n.rec, &hns.Options{OnLate: func(r hns.LateResult) { n.onLate <- r }})
	n.lake = n.newNetwork("lake", "10.50.3.0/24", "10.50.3.1")
	for _, id := range []hns.ID{podNS, podNS2} {
		if _, err := n.Namespaces.Create(t.Context(), &hns.Namespace{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	n.forget()
	return n
}

func (n *node) newNetwork(name, subnet, gateway string) hns.ID {
	n.t.Helper()
	net, err := n.Networks.Create(n.t.Context(), &hns.Network{Name: name, Type: hns.L2Bridge, IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{
		Prefix: prefix(subnet), Routes: []hns.Route{hns.DefaultRoute(addr(gateway))},
	}}}}})
	if err != nil {
		n.t.Fatal(err)
	}
	return net.ID
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// attachment is what the tests attach: an endpoint with an address.
func (n *node) attachment() hns.Attachment {
	return hns.Attachment{Name: "sbx-01_lake", Network: n.lake, Namespace: podNS, Build: func(context.Context) (*hns.Endpoint, error) {
		n.builds++
		return &hns.Endpoint{IPConfigs: []hns.IPConfig{{Address: addr(n.address)}}}, nil
	}}
}

func (n *node) attach() (*hns.Attached, error) { return n.Attach(n.t.Context(), n.attachment()) }

func (n *node) detach() error {
	return n.Detach(n.t.Context(), hns.Detachment{Name: "sbx-01_lake"})
}

// endpoint creates an endpoint and puts it into a namespace, if one is given.
func (n *node) endpoint(e hns.Endpoint, namespace hns.ID) *hns.Endpoint {
	n.t.Helper()
	if e.Network.IsZero() {
		e.Network = n.lake
	}
	made, err := n.Endpoints.Create(n.t.Context(), &e)
	if err == nil && !namespace.IsZero() {
		err = n.Namespaces.AddEndpoint(n.t.Context(), namespace, made.ID)
	}
	if err != nil {
		n.t.Fatal(err)
	}
	n.forget()
	return n.read(made.ID)
}

// read returns an endpoint, nil if it is gone. It asks past the client, so
// neither the recorder nor faults see it.
func (n *node) read(id hns.ID) *hns.Endpoint {
	n.t.Helper()
	for _, e := range n.endpoints() {
		if e.ID == id {
			return e
		}
	}
	return nil
}

func (n *node) endpoints() []*hns.Endpoint {
	n.t.Helper()
	s, err := n.h.Snapshot()
	if err != nil {
		n.t.Fatal(err)
	}
	var out []*hns.Endpoint
	for _, doc := range s.Endpoints {
		e, err := hns.DecodeEndpoint(doc)
		if err != nil {
			n.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// want checks how many endpoints there are.
func (n *node) want(endpoints int) {
	n.t.Helper()
	if got := n.endpoints(); len(got) != endpoints {
		n.t.Errorf("%d endpoints, want %d", len(got), endpoints)
	}
}

// forget makes the recorder forget.
func (n *node) forget() {
	n.rec.mu.Lock()
	defer n.rec.mu.Unlock()
	n.rec.requests = nil
}

// onCreate, onAdd and onDelete are faults of the steps of an attach.
func onCreate(f emulator.Fault) emulator.Fault {
	f.Verb, f.Kind = hns.VerbCreate, hns.KindEndpoint
	return f
}

func onAdd(f emulator.Fault) emulator.Fault {
	f.Verb, f.Kind = hns.VerbModify, hns.KindNamespace
	return f
}

func onDelete(f emulator.Fault) emulator.Fault {
	f.Verb, f.Kind = hns.VerbDelete, hns.KindEndpoint
	return f
}
