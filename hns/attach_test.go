package hns_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// The life of a pod's endpoint, with every step repeated
// (aws/amazon-vpc-cni-plugins#47).
func TestAttachDetach(t *testing.T) {
	n := newNode(t, nil)
	made, err := n.attach()
	if err != nil {
		t.Fatal(err)
	}
	same(t, "requests", []string{"list endpoint", "create endpoint", "modify namespace"}, n.rec.verbs())
	e := made.Endpoint
	if !made.Created || e.Name != "sbx-01_lake" || e.Network != n.lake || e.Namespace != podNS || e.Addresses()[0] != addr("10.50.3.7") {
		t.Errorf("attached %+v", made)
	}
	if now := n.read(e.ID); now.State != hns.EndpointAttached || now.Namespace != podNS {
		t.Errorf("HNS has %s in %s", now.State, now.Namespace)
	}

	again, err := n.attach()
	if err != nil || again.Created || again.Endpoint.ID != e.ID || n.builds != 1 {
		t.Errorf("again: %+v, %v, built %d times", again, err, n.builds)
	}
	n.want(1)

	for range 2 {
		if err := n.detach(); err != nil {
			t.Fatal(err)
		}
		n.want(0)
	}
	ns, err := n.Namespaces.ByID(t.Context(), podNS)
	if err != nil || len(ns.Resources) != 0 {
		t.Errorf("left in the namespace: %v, %v", ns, err)
	}
}

func TestAttachmentIsChecked(t *testing.T) {
	n := newNode(t, nil)
	_, err := n.Attach(t.Context(), hns.Attachment{})
	same(t, "complaints", []string{"Name |  | ", "Network |  | ", "Namespace |  | ", "Build |  | "}, complaints(err))
	wantIs(t, err, hns.ErrInvalid)
	same(t, "requests", nil, n.rec.verbs())

	a := n.attachment()
	a.Build = func(context.Context) (*hns.Endpoint, error) { return nil, nil }
	_, err = n.Attach(t.Context(), a)
	wantIs(t, err, hns.ErrInvalid)

	full := errors.New("no address left")
	a.Build = func(context.Context) (*hns.Endpoint, error) { return nil, full }
	if _, err = n.Attach(t.Context(), a); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}

	bad := &hns.Endpoint{IPConfigs: []hns.IPConfig{{}}}
	a.Build = func(context.Context) (*hns.Endpoint, error) { return bad, nil }
	n.forget()
	_, err = n.Attach(t.Context(), a)
	same(t, "complaints", []string{"IpConfigurations[0].IpAddress |  | "}, complaints(err))
	same(t, "requests", []string{"list endpoint"}, n.rec.verbs())
	if bad.Name != "" {
		t.Error("what Build returned was changed")
	}
	n.want(0)
}

// HNS says "already exists" of the endpoint that it has just made for us; the
// first pod of a node failed for it (kubernetes/kubernetes#74766).
func TestAttachExistsAfterEffect(t *testing.T) {
	n := newNode(t, nil)
	n.h.Inject(onCreate(emulator.Fault{Code: hns.CodeObjectAlreadyExists, After: true}))
	done, err := n.attach()
	if err != nil || !done.Created {
		t.Fatalf("got %+v, %v", done, err)
	}
	n.want(1)
	if e := n.read(done.Endpoint.ID); e.Namespace != podNS || e.State != hns.EndpointAttached {
		t.Errorf("HNS has %s in %s", e.State, e.Namespace)
	}
}

// The same ADD twice at once: the loser, whose create fails, must not take
// away what the winner has, however far that one got.
func TestAttachLoserLeavesTheWinner(t *testing.T) {
	ours := []hns.IPConfig{{Address: addr("10.50.3.7")}}
	tests := []struct {
		name   string
		want   []hns.IPConfig // what the loser asks for
		winner func(*node)
	}{
		{"attached", ours, func(n *node) { n.endpoint(hns.Endpoint{Name: "sbx-01_lake", IPConfigs: ours}, podNS) }},
		{"in its namespace, its port lost", nil, func(n *node) {
			n.endpoint(hns.Endpoint{Name: "sbx-01_lake"}, podNS)
			n.must(n.h.Restart())
		}},
		{"attached to the node", nil, func(n *node) {
			n.must(n.Endpoints.AttachHost(n.t.Context(), n.endpoint(hns.Endpoint{Name: "sbx-01_lake"}, hns.ID{}).ID))
		}},
		{"not attached yet, another address", ours, func(n *node) {
			n.endpoint(hns.Endpoint{Name: "sbx-01_lake", IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.8")}}}, hns.ID{})
		}},
		{"not attached yet, another network", nil, func(n *node) {
			n.endpoint(hns.Endpoint{Name: "sbx-01_lake", Network: n.newNetwork("pond", "10.50.4.0/24", "10.50.4.1")}, hns.ID{})
		}},
	}
	for _, tt := range tests {
		for _, code := range []hns.Code{hns.CodeObjectAlreadyExists, hns.CodeRPCCallFailed} {
			t.Run(tt.name+" "+code.String(), func(t *testing.T) {
				n := newNode(t, &emulator.Options{RestartDetaches: true})
				raced := false
				n.rec.Backend = backend(func(r hns.Request) (hns.Response, error) {
					if r.Verb == hns.VerbCreate && r.Kind == hns.KindEndpoint && !raced {
						raced = true
						tt.winner(n)
						return failing(code, "")(r)
					}
					return n.h.Do(r)
				})
				a := n.attachment()
				a.Build = func(context.Context) (*hns.Endpoint, error) { return &hns.Endpoint{IPConfigs: tt.want}, nil }
				done, err := n.Attach(t.Context(), a)
				var e *hns.Error
				if done != nil || !errors.As(err, &e) || e.Code != code {
					t.Errorf("got %v, %v", done, err)
				}
				n.want(1)
			})
		}
	}
}

// Who has the address is in the error, for the one who has to find out
// (docker/for-win#13965).
func TestAttachAddressInUse(t *testing.T) {
	n := newNode(t, nil)
	old := n.endpoint(hns.Endpoint{Name: "old-07_lake", IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.7")}}}, hns.ID{})
	_, err := n.attach()
	wantIs(t, err, hns.ErrExists, hns.ErrAddressInUse)
	if want := `(the address belongs to endpoint "old-07_lake" ` + old.ID.String() + `, state Created)`; !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
	n.h.Inject(onCreate(emulator.Fault{Code: hns.CodeAddressInvalidOrReserved}))
	_, err = n.attach()
	var e *hns.Error
	if !errors.As(err, &e) || e.Code != hns.CodeAddressInvalidOrReserved || !strings.Contains(err.Error(), "old-07_lake") {
		t.Errorf("error %v", err)
	}
	// Nobody has it, or nobody can be asked: the error stands as it is.
	n.address = "10.50.3.9"
	n.h.Inject(onCreate(emulator.Fault{Code: hns.CodeObjectAlreadyExists}))
	if _, err = n.attach(); strings.Contains(err.Error(), "belongs") {
		t.Errorf("error %v", err)
	}
	n.address = "10.50.3.7"
	n.h.Inject(emulator.Fault{Verb: hns.VerbList, Kind: hns.KindEndpoint, Nth: 3, Code: hns.CodeAccessDenied})
	_, err = n.attach()
	wantIs(t, err, hns.ErrExists, hns.ErrAddressInUse)
	n.want(1)
}

// What has the name already, and what becomes of it.
func TestAttachFindsTheName(t *testing.T) {
	const name = "sbx-01_lake"
	own := hns.Endpoint{Name: name, IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.20")}}}
	tests := []struct {
		name    string
		prepare func(*node) *hns.Endpoint
		want    []error // nil: success
		kept    bool    // the endpoint that was there is the one attached, or still there
		say     string
	}{
		{"unattached, on the network", func(n *node) *hns.Endpoint { return n.endpoint(own, hns.ID{}) }, nil, true, ""},
		{"in the namespace", func(n *node) *hns.Endpoint { return n.endpoint(own, podNS) }, nil, true, ""},
		{"in another namespace", func(n *node) *hns.Endpoint { return n.endpoint(own, podNS2) }, []error{hns.ErrAttached}, true, podNS2.String()},
		{"in a namespace that is gone", func(n *node) *hns.Endpoint {
			e := n.endpoint(own, podNS2)
			n.h.Inject(emulator.Fault{Verb: hns.VerbGet, Kind: hns.KindNamespace, Code: hns.CodeElementNotFound})
			return e
		}, nil, false, ""},
		{"in a namespace that cannot be asked", func(n *node) *hns.Endpoint {
			e := n.endpoint(own, podNS2)
			n.h.Inject(emulator.Fault{Verb: hns.VerbGet, Kind: hns.KindNamespace, Code: hns.CodeRPCUnavailable})
			return e
		}, []error{hns.ErrUnavailable}, true, ""},
		// Of a network that was deleted and made anew (flannel-io/flannel#1391).
		{"on another network", func(n *node) *hns.Endpoint {
			return n.endpoint(hns.Endpoint{Name: name, Network: n.newNetwork("pond", "10.50.4.0/24", "10.50.4.1")}, hns.ID{})
		}, nil, false, ""},
		{"on another network, in the namespace", func(n *node) *hns.Endpoint {
			return n.endpoint(hns.Endpoint{Name: name, Network: n.newNetwork("pond", "10.50.4.0/24", "10.50.4.1")}, podNS)
		}, []error{hns.ErrAttached}, true, "wanted on"},
		{"on another network, attached to the node", func(n *node) *hns.Endpoint {
			e := n.endpoint(hns.Endpoint{Name: name, Network: n.newNetwork("pond", "10.50.4.0/24", "10.50.4.1")}, hns.ID{})
			if err := n.Endpoints.AttachHost(n.t.Context(), e.ID); err != nil {
				n.t.Fatal(err)
			}
			return e
		}, []error{hns.ErrAttached}, true, "in use on network"},
		{"on another network, and it cannot go", func(n *node) *hns.Endpoint {
			n.h.Inject(onDelete(emulator.Fault{Code: hns.CodeAccessDenied}))
			return n.endpoint(hns.Endpoint{Name: name, Network: n.newNetwork("pond", "10.50.4.0/24", "10.50.4.1")}, hns.ID{})
		}, []error{hns.ErrDenied}, true, ""},
		{"attached to the node", func(n *node) *hns.Endpoint {
			e := n.endpoint(own, hns.ID{})
			if err := n.Endpoints.AttachHost(n.t.Context(), e.ID); err != nil {
				n.t.Fatal(err)
			}
			return e
		}, []error{hns.ErrAttached}, true, "in no namespace"},
		{"twice", func(n *node) *hns.Endpoint {
			n.endpoint(hns.Endpoint{Name: name}, hns.ID{})
			return n.endpoint(own, hns.ID{})
		}, []error{hns.ErrAmbiguous}, true, "2 endpoints"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, nil)
			old := tt.prepare(n)
			done, err := n.attach()
			if kept := n.read(old.ID) != nil; kept != tt.kept {
				t.Errorf("the endpoint that was there is kept: %v", kept)
			}
			if tt.want != nil {
				wantIs(t, err, tt.want...)
				if done != nil || !strings.Contains(err.Error(), tt.say) || n.builds != 0 {
					t.Errorf("got %v, %v, %d builds", done, err, n.builds)
				}
				return
			}
			if err != nil || done.Created == tt.kept || (done.Endpoint.ID == old.ID) != tt.kept || done.Endpoint.Namespace != podNS {
				t.Fatalf("got %+v, %v", done, err)
			}
			if now := n.read(done.Endpoint.ID); now.Namespace != podNS || now.State != hns.EndpointAttached {
				t.Errorf("HNS has %s in %s", now.State, now.Namespace)
			}
		})
	}
}

// What stands for an endpoint of another node is nobody's here, whatever its name:
// it is neither used, nor in the way, nor taken back.
func TestAttachBesideRemote(t *testing.T) {
	remote := hns.Endpoint{Name: "sbx-01_lake", Flags: hns.EndpointRemote, IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.99")}}}
	for name, prepare := range map[string]func(*node){
		"alone": func(*node) {},
		"and the pod's is there": func(n *node) {
			n.endpoint(hns.Endpoint{Name: "sbx-01_lake", IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.7"), PrefixLength: 24}}}, hns.ID{})
		},
	} {
		n := newNode(t, nil)
		other := n.endpoint(remote, hns.ID{})
		prepare(n)
		done, err := n.attach()
		if err != nil || done.Endpoint.ID == other.ID || done.Endpoint.Namespace != podNS {
			t.Errorf("%s: %+v, %v", name, done, err)
			continue
		}
		if diffs, err := n.Verify(t.Context(), done.Endpoint, podNS); err != nil || len(diffs) > 0 {
			t.Errorf("%s: verify: %v, %v", name, diffs, err)
		}
		if err := n.detach(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := n.Verify(t.Context(), done.Endpoint, podNS); !errors.Is(err, hns.ErrNotFound) {
			t.Errorf("%s: verify: %v, want ErrNotFound", name, err)
		}
		if n.read(other.ID) == nil {
			t.Errorf("%s: the other node's is gone", name)
		}
	}

	n := newNode(t, nil)
	remote.IPConfigs[0].Address = addr("10.50.3.7")
	other := n.endpoint(remote, hns.ID{})
	if _, err := n.attach(); !errors.Is(err, hns.ErrAddressInUse) {
		t.Errorf("its address: %v, want ErrAddressInUse", err)
	}
	if n.read(other.ID) == nil {
		t.Error("what was never made was taken back")
	}
}

// A look-up that fails does not say that there is none
// (containernetworking/plugins#215).
func TestAttachLookUpFails(t *testing.T) {
	for code, want := range map[hns.Code]error{hns.CodeAccessDenied: hns.ErrDenied, hns.CodeRPCUnavailable: hns.ErrUnavailable, hns.CodeServiceNotActive: hns.ErrUnavailable} {
		n := newNode(t, nil)
		n.h.Inject(emulator.Fault{Verb: hns.VerbList, Kind: hns.KindEndpoint, Code: code})
		_, err := n.attach()
		wantIs(t, err, want)
		if n.builds != 0 {
			t.Error("an address was taken")
		}
		same(t, "requests", []string{"list endpoint"}, n.rec.verbs())
	}
}

func TestAdopt(t *testing.T) {
	n := newNode(t, nil)
	old := n.endpoint(hns.Endpoint{Name: "sbx-01_lake"}, hns.ID{})
	a := n.attachment()
	var asked []hns.ID
	notMine := errors.New("no lease for it")
	answer := notMine
	a.Adopt = func(_ context.Context, e *hns.Endpoint) error { asked = append(asked, e.ID); return answer }
	if done, err := n.Attach(t.Context(), a); done != nil || !errors.Is(err, notMine) {
		t.Errorf("got %v, %v", done, err)
	}
	if e := n.read(old.ID); e == nil || !e.Namespace.IsZero() {
		t.Errorf("the endpoint was touched: %+v", e)
	}
	answer = nil
	if done, err := n.Attach(t.Context(), a); err != nil || done.Created {
		t.Errorf("got %v, %v", done, err)
	}
	same(t, "asked about", []hns.ID{old.ID, old.ID}, asked)

	if err := n.detach(); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Attach(t.Context(), a); err != nil || len(asked) != 2 {
		t.Errorf("asked about an endpoint that this call made: %v, %v", asked, err)
	}
}

// An endpoint that was there before stays when the attach fails.
func TestAttachKeepsWhatWasThere(t *testing.T) {
	n := newNode(t, nil)
	old := n.endpoint(hns.Endpoint{Name: "sbx-01_lake"}, hns.ID{})
	n.h.Inject(onAdd(emulator.Fault{Code: hns.CodeNamespaceAttachFailed}))
	_, err := n.attach()
	wantIs(t, err, hns.ErrDegraded)
	if e := n.read(old.ID); e == nil || !e.Namespace.IsZero() {
		t.Errorf("HNS has %+v", e)
	}
}

// After a restart of HNS the endpoint says that it is in its namespace, but it
// has no port: attach again, do not return early (projectcalico/calico#5164).
func TestAttachAfterRestart(t *testing.T) {
	n := newNode(t, &emulator.Options{RestartDetaches: true})
	done, err := n.attach()
	if err != nil {
		t.Fatal(err)
	}
	want := &hns.Endpoint{Name: "sbx-01_lake"}
	if diffs, err := n.Verify(t.Context(), want, podNS); err != nil || len(diffs) != 0 {
		t.Fatalf("before: %v, %v", diffs, err)
	}
	if err := n.h.Restart(); err != nil {
		t.Fatal(err)
	}
	diffs, err := n.Verify(t.Context(), want, podNS)
	if err != nil || len(diffs) != 1 || diffs[0].String() != "State: want Attached, got Created" {
		t.Errorf("after the restart: %v, %v", diffs, err)
	}
	again, err := n.attach()
	if err != nil || again.Created || again.Endpoint.ID != done.Endpoint.ID {
		t.Fatalf("got %+v, %v", again, err)
	}
	if diffs, err := n.Verify(t.Context(), want, podNS); err != nil || len(diffs) != 0 {
		t.Errorf("after the attach: %v, %v", diffs, err)
	}
}
