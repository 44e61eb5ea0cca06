package hns_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// bridge is the endpoint of the node itself on "lake".
func (n *node) bridge() *hns.Endpoint {
	return &hns.Endpoint{Name: "lake_ep", Network: n.lake, IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.2"), PrefixLength: 24}}}
}

func (n *node) attachedToHost(id hns.ID) bool {
	n.t.Helper()
	e := n.read(id)
	return e != nil && e.State == hns.EndpointAttachedSharing || e != nil && e.State == hns.EndpointAttached && e.Namespace.IsZero()
}

// An agent that starts anew finds its bridge endpoint and must neither fail nor
// make another (flannel-io/flannel#1391, kubernetes-sigs/sig-windows-tools#94).
func TestEnsureHostEndpoint(t *testing.T) {
	n := newNode(t, nil)
	for i := range 3 {
		e, d, err := n.Endpoints.EnsureHost(t.Context(), n.bridge(), nil)
		n.must(err)
		if i == 0 {
			decided(t, d, hns.ActionCreate)
			n.wantChanges("create endpoint", "call endpoint")
		} else {
			decided(t, d, hns.ActionKeep)
			n.wantChanges()
		}
		if !n.attachedToHost(e.ID) || len(n.endpoints()) != 1 {
			t.Errorf("HNS has %+v", n.endpoints())
		}
	}

	// Another address: anew if that is asked for, though it is attached.
	moved := n.bridge()
	moved.IPConfigs[0].Address = addr("10.50.3.12")
	_, d, err := n.Endpoints.EnsureHost(t.Context(), moved, nil)
	decided(t, d, hns.ActionRefuse, "IpConfigurations[0].IpAddress")
	if !errors.Is(err, hns.ErrDrift) {
		t.Errorf("error %v", err)
	}
	n.wantChanges()
	e, d, err := n.Endpoints.EnsureHost(t.Context(), moved, &hns.EnsureOptions{Drift: hns.DriftRecreate})
	n.must(err)
	decided(t, d, hns.ActionRecreate, "IpConfigurations[0].IpAddress")
	n.wantChanges("delete endpoint", "create endpoint", "call endpoint")
	if !n.attachedToHost(e.ID) || e.Addresses()[0] != addr("10.50.3.12") {
		t.Errorf("made %+v", e)
	}
}

// The network was made anew and the endpoint of the old one is still there
// (flannel-io/flannel#1423, flannel-io/flannel#1112).
func TestEnsureHostEndpointOfDeadNetwork(t *testing.T) {
	n := newNode(t, nil)
	snap, err := n.h.Snapshot()
	n.must(err)
	snap.Endpoints = append(snap.Endpoints, []byte(`{"ID":"`+podID.Upper()+`","Name":"lake_ep","HostComputeNetwork":"`+podID2.Upper()+`","IpConfigurations":[{"IpAddress":"10.50.3.2","PrefixLength":24}],"SchemaVersion":{"Major":2}}`))
	n.must(n.h.Load(snap))
	e, d, err := n.Endpoints.EnsureHost(t.Context(), n.bridge(), nil)
	n.must(err)
	decided(t, d, hns.ActionRecreate, "HostComputeNetwork")
	if d.ID != podID || e.ID == podID || e.Network != n.lake || !n.attachedToHost(e.ID) {
		t.Errorf("decision %s, made %+v", d, e)
	}
}

// After a restart of the service the endpoint is there and no longer attached
// (projectcalico/calico#5164).
func TestEnsureHostEndpointAfterRestart(t *testing.T) {
	n := newNode(t, &emulator.Options{RestartDetaches: true})
	e, _, err := n.Endpoints.EnsureHost(t.Context(), n.bridge(), nil)
	n.must(err)
	n.must(n.h.Restart())
	n.forget()
	_, d, err := n.Endpoints.EnsureHost(t.Context(), n.bridge(), &hns.EnsureOptions{DryRun: true})
	n.must(err)
	decided(t, d, hns.ActionRepair, "State")
	n.wantChanges()
	now, d, err := n.Endpoints.EnsureHost(t.Context(), n.bridge(), nil)
	n.must(err)
	decided(t, d, hns.ActionRepair, "State")
	n.wantChanges("call endpoint")
	if now.ID != e.ID || !n.attachedToHost(e.ID) {
		t.Errorf("%+v became %+v", e, now)
	}
}

func TestEnsureEndpointDrift(t *testing.T) {
	tests := []struct {
		name   string
		change func(*hns.Endpoint)
		paths  []string
	}{
		{"network", func(w *hns.Endpoint) { w.Network = podID }, []string{"HostComputeNetwork"}},
		{"address and length", func(w *hns.Endpoint) { w.IPConfigs = []hns.IPConfig{{Address: addr("10.50.3.9")}} }, []string{"IpConfigurations[0].IpAddress"}},
		{"MAC", func(w *hns.Endpoint) { w.MAC = mustMAC("00-15-5D-00-00-01") }, []string{"MacAddress"}},
		{"routes", func(w *hns.Endpoint) { w.Routes = []hns.Route{hns.DefaultRoute(addr("10.50.3.9"))} }, []string{"Routes[0]"}},
		{"DNS", func(w *hns.Endpoint) { w.DNS.Domain = "example" }, []string{"Dns.Domain"}},
		{"id", func(w *hns.Endpoint) { w.ID = podID }, []string{"ID"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, nil)
			old := n.endpoint(hns.Endpoint{Name: "x", IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.7")}}}, podNS)
			want := &hns.Endpoint{Name: "x", Network: n.lake, IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.7")}}}
			tt.change(want)
			for _, drift := range []hns.Drift{hns.DriftRefuse, hns.DriftRecreate} { // it is in use
				_, d, err := n.Endpoints.Ensure(t.Context(), want, &hns.EnsureOptions{Drift: drift})
				decided(t, d, hns.ActionRefuse, tt.paths...)
				if !errors.Is(err, hns.ErrDrift) || (drift == hns.DriftRecreate) != errors.Is(err, hns.ErrAttached) {
					t.Errorf("error %v", err)
				}
			}
			_, d, err := n.Endpoints.Ensure(t.Context(), want, &hns.EnsureOptions{Drift: hns.DriftKeep})
			n.must(err)
			decided(t, d, hns.ActionKeep, tt.paths...)
			n.wantChanges()
			if n.read(old.ID).Namespace != podNS {
				t.Error("the pod lost its endpoint")
			}
		})
	}
}

// Policies are repaired in place, by type; types that are not wanted stay.
func TestEnsureEndpointPolicies(t *testing.T) {
	n := newNode(t, nil)
	nat := hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16"}}
	acl := hns.ACL{Action: hns.ACLAllow, Direction: hns.In, Protocols: []string{"6"}, Priority: 200}
	want := &hns.Endpoint{Name: "x", Network: n.lake, Policies: []hns.EndpointPolicy{nat}}
	_, d, err := n.Endpoints.Ensure(t.Context(), want, nil)
	n.must(err)
	decided(t, d, hns.ActionCreate)
	n.forget()

	want.Policies = append(want.Policies, acl)
	_, d, err = n.Endpoints.Ensure(t.Context(), want, nil)
	n.must(err)
	decided(t, d, hns.ActionRepair, "Policies[1] ACL")
	n.wantChanges("modify endpoint")

	nat.Exceptions = []string{"10.60.0.0/16"}
	want.Policies = []hns.EndpointPolicy{nat}
	e, d, err := n.Endpoints.Ensure(t.Context(), want, nil)
	n.must(err)
	decided(t, d, hns.ActionRepair, "Policies[0] OutBoundNAT")
	n.wantChanges("modify endpoint")
	same(t, "NAT", []hns.OutBoundNAT{nat}, hns.PoliciesOf[hns.OutBoundNAT](e.Policies))
	same(t, "ACLs", []hns.ACL{acl}, hns.PoliciesOf[hns.ACL](e.Policies))
	_, d, err = n.Endpoints.Ensure(t.Context(), want, nil)
	n.must(err)
	decided(t, d, hns.ActionKeep)
	n.wantChanges()
}

func TestEnsureEndpointOthers(t *testing.T) {
	n := newNode(t, nil)
	// HNS says "already exists" of what it has just made (kubernetes/kubernetes#74766).
	n.h.Inject(onCreate(emulator.Fault{Code: hns.CodeObjectAlreadyExists, After: true}))
	e, _, err := n.Endpoints.Ensure(t.Context(), n.bridge(), nil)
	n.must(err)
	if e.Addresses()[0] != addr("10.50.3.2") {
		t.Errorf("made %+v", e)
	}
	thief := n.bridge()
	thief.Name = "other"
	_, _, err = n.Endpoints.Ensure(t.Context(), thief, nil)
	wantIs(t, err, hns.ErrExists, hns.ErrAddressInUse)
	if !strings.Contains(err.Error(), "lake_ep") {
		t.Errorf("error %v", err)
	}

	n.must(n.Namespaces.AddEndpoint(t.Context(), podNS, e.ID))
	_, d, err := n.Endpoints.EnsureHost(t.Context(), n.bridge(), &hns.EnsureOptions{Drift: hns.DriftRecreate})
	wantIs(t, err, hns.ErrAttached, hns.ErrDrift)
	decided(t, d, hns.ActionRefuse, "State")

	n.endpoint(hns.Endpoint{Name: "lake_ep"}, hns.ID{})
	_, _, err = n.Endpoints.Ensure(t.Context(), n.bridge(), nil)
	wantIs(t, err, hns.ErrAmbiguous)
}

func TestEnsureNamespace(t *testing.T) {
	n := newNode(t, nil)
	want := &hns.Namespace{ID: podID, Type: hns.NamespaceGuest}
	steps := []struct {
		typ     hns.NamespaceType
		opts    *hns.EnsureOptions
		action  hns.Action
		changes []string
	}{
		{hns.NamespaceHost, &hns.EnsureOptions{DryRun: true}, hns.ActionCreate, nil},
		{hns.NamespaceHost, nil, hns.ActionCreate, []string{"create namespace"}},
		{hns.NamespaceHost, nil, hns.ActionKeep, nil},
		{"", nil, hns.ActionKeep, nil},
		{hns.NamespaceGuest, nil, hns.ActionRefuse, nil},
		{hns.NamespaceGuest, &hns.EnsureOptions{Drift: hns.DriftKeep}, hns.ActionKeep, nil},
		{hns.NamespaceGuest, &hns.EnsureOptions{Drift: hns.DriftRecreate, DryRun: true}, hns.ActionRecreate, nil},
		{hns.NamespaceGuest, &hns.EnsureOptions{Drift: hns.DriftRecreate}, hns.ActionRecreate, []string{"delete namespace", "create namespace"}},
		{hns.NamespaceGuest, nil, hns.ActionKeep, nil},
	}
	for i, s := range steps {
		want.Type = s.typ
		_, d, err := n.Namespaces.Ensure(t.Context(), want, s.opts)
		if d.Action != s.action || (s.action == hns.ActionRefuse) != errors.Is(err, hns.ErrDrift) || s.action != hns.ActionRefuse && err != nil {
			t.Errorf("step %d: %s, %v", i, d, err)
		}
		n.wantChanges(s.changes...)
	}

	n.endpoint(hns.Endpoint{Name: "x"}, podNS)
	_, _, err := n.Namespaces.Ensure(t.Context(), &hns.Namespace{ID: podNS, Type: hns.NamespaceGuest}, &hns.EnsureOptions{Drift: hns.DriftRecreate})
	wantIs(t, err, hns.ErrInUse, hns.ErrDrift)

	n.h.Inject(emulator.Fault{Verb: hns.VerbCreate, Code: hns.CodeAlreadyExists, After: true})
	_, d, err := n.Namespaces.Ensure(t.Context(), &hns.Namespace{ID: podID2}, nil)
	n.must(err)
	decided(t, d, hns.ActionKeep)
}
