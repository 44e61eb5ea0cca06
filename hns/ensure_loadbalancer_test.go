package hns_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// webService is a load balancer of one virtual address over these backends.
func webService(backends ...hns.ID) *hns.LoadBalancer {
	l := &hns.LoadBalancer{Endpoints: backends, PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, ExternalPort: 443, InternalPort: 8443}}}
	l.FrontendVIPs = append(l.FrontendVIPs, addr("10.96.0.20"))
	return l
}

// serviceNode is a node with three attached pods.
func serviceNode(t *testing.T, opts *emulator.Options) (*node, []hns.ID) {
	n := newNode(t, opts)
	var pods []hns.ID
	for _, name := range []string{"a", "b", "c"} {
		pods = append(pods, n.endpoint(hns.Endpoint{Name: name}, podNS).ID)
	}
	return n, pods
}

// only returns the one load balancer of the node.
func (n *node) only() *hns.LoadBalancer {
	n.t.Helper()
	all, err := n.LoadBalancers.List(n.t.Context())
	if err != nil || len(all) != 1 {
		n.t.Fatalf("%d load balancers, %v", len(all), err)
	}
	return all[0]
}

var serviceHNS = map[string]struct {
	version hns.Version
	action  hns.Action
	changes []string
}{
	"changed in place":    {emulator.WindowsServer2025Serviced, hns.ActionRepair, []string{"modify load balancer"}},
	"deleted and created": {emulator.WindowsServer2022, hns.ActionRecreate, []string{"delete load balancer", "create load balancer"}},
}

func TestEnsureLoadBalancer(t *testing.T) {
	for name, tt := range serviceHNS {
		t.Run(name, func(t *testing.T) {
			n, pods := serviceNode(t, &emulator.Options{Version: tt.version})
			made, d, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0], pods[1]), nil)
			n.must(err)
			decided(t, d, hns.ActionCreate)
			n.wantChanges("create load balancer")

			// Backends are a set.
			_, d, err = n.LoadBalancers.Ensure(t.Context(), webService(pods[1], pods[0]), nil)
			n.must(err)
			decided(t, d, hns.ActionKeep)
			n.wantChanges()

			changes := []struct {
				path   string
				change func(*hns.LoadBalancer)
			}{
				{"HostComputeEndpoints", func(l *hns.LoadBalancer) { l.Endpoints = pods[1:] }},
				{"PortMappings", func(l *hns.LoadBalancer) { l.PortMappings[0].InternalPort = 9443 }},
				{"Flags", func(l *hns.LoadBalancer) { l.Flags = hns.LoadBalancerDSR }},
				{"SourceVIP", func(l *hns.LoadBalancer) { l.SourceVIP = addr("10.50.3.250") }},
			}
			want := webService(pods[0], pods[1])
			for _, c := range changes {
				c.change(want)
				_, d, err := n.LoadBalancers.Ensure(t.Context(), want, &hns.EnsureOptions{DryRun: true})
				n.must(err)
				decided(t, d, tt.action, c.path)
				n.wantChanges()
				now, d, err := n.LoadBalancers.Ensure(t.Context(), want, nil)
				n.must(err)
				decided(t, d, tt.action, c.path)
				n.wantChanges(tt.changes...)
				if now.ID != made.ID || n.only().ID != made.ID {
					t.Errorf("%s became %s", made.ID, now.ID)
				}
				if _, d, err = n.LoadBalancers.Ensure(t.Context(), want, nil); err != nil || d.Action != hns.ActionKeep {
					t.Errorf("again: %s, %v", d, err)
				}
				n.forget()
			}
			if got := n.only(); got.Flags != hns.LoadBalancerDSR || got.SourceVIP != addr("10.50.3.250") || got.PortMappings[0].InternalPort != 9443 || !slices.Equal(got.Endpoints, pods[1:]) {
				t.Errorf("HNS has %+v", got)
			}
		})
	}
}

// Without backends the load balancer goes, and its port is free again; one that
// is gone already is no error (kubernetes/kubernetes#137530).
func TestEnsureLoadBalancerWithoutBackends(t *testing.T) {
	n, pods := serviceNode(t, nil)
	_, d, err := n.LoadBalancers.Ensure(t.Context(), webService(), nil)
	n.must(err)
	decided(t, d, hns.ActionKeep)
	n.wantChanges()

	_, _, err = n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	n.must(err)
	n.forget()
	l, d, err := n.LoadBalancers.Ensure(t.Context(), webService(), nil)
	n.must(err)
	decided(t, d, hns.ActionDelete, "HostComputeEndpoints")
	n.wantChanges("delete load balancer")
	if l != nil {
		t.Errorf("left: %+v", l)
	}

	_, _, err = n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	n.must(err)
	n.h.Inject(emulator.Fault{Verb: hns.VerbDelete, Code: hns.CodeElementNotFound, After: true})
	_, _, err = n.LoadBalancers.Ensure(t.Context(), webService(), nil)
	n.must(err)
	_, d, err = n.LoadBalancers.Ensure(t.Context(), webService(pods[1]), nil)
	n.must(err)
	decided(t, d, hns.ActionCreate)
	same(t, "backends", pods[1:2], n.only().Endpoints)
}

// A backend that is not there is refused up front, and nothing is deleted for
// it (kubernetes/kubernetes#106936, kubernetes/kubernetes#100384).
func TestEnsureLoadBalancerMissingBackend(t *testing.T) {
	n, pods := serviceNode(t, nil)
	for _, there := range []bool{false, true} {
		if there {
			_, _, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
			n.must(err)
			n.forget()
		}
		_, _, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[1], podID), nil)
		wantIs(t, err, hns.ErrNotFound, hns.ErrInvalid)
		same(t, "complaints", []string{"HostComputeEndpoints[1] | " + podID.String() + " | "}, complaints(err))
		n.wantChanges()
	}
	same(t, "backends", pods[:1], n.only().Endpoints)
}

// While HNS was down its load balancers were forgotten, and made a second time
// when it had them again (kubernetes/kubernetes#139519).
func TestEnsureLoadBalancerServiceDown(t *testing.T) {
	n, pods := serviceNode(t, nil)
	made, _, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	n.must(err)
	n.h.Stop()
	_, _, err = n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	wantIs(t, err, hns.ErrUnavailable)
	n.must(n.h.Restart())
	n.forget()
	now, d, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	n.must(err)
	decided(t, d, hns.ActionKeep)
	n.wantChanges()
	if now.ID != made.ID {
		t.Errorf("%s became %s", made.ID, now.ID)
	}
}

// When the new one cannot be made the old one comes back.
func TestEnsureLoadBalancerPutBack(t *testing.T) {
	n, pods := serviceNode(t, nil)
	made, _, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	n.must(err)
	n.forget()
	n.h.Inject(emulator.Fault{Verb: hns.VerbCreate, Code: hns.CodePortNotFound})
	_, _, err = n.LoadBalancers.Ensure(t.Context(), webService(pods[1]), nil)
	if err == nil || !strings.Contains(err.Error(), "put back") || errors.Is(err, hns.ErrLeftBehind) {
		t.Errorf("error %v", err)
	}
	n.wantChanges("delete load balancer", "create load balancer", "create load balancer")
	if got := n.only(); got.ID != made.ID || !slices.Equal(got.Endpoints, pods[:1]) {
		t.Errorf("HNS has %+v", got)
	}

	n.h.Inject(emulator.Fault{Verb: hns.VerbCreate, Times: 2, Code: hns.CodePortNotFound})
	_, _, err = n.LoadBalancers.Ensure(t.Context(), webService(pods[1]), nil)
	if !errors.Is(err, hns.ErrLeftBehind) || !strings.Contains(err.Error(), made.ID.String()) {
		t.Errorf("error %v", err)
	}
}

// HNS 15.4 says yes to a change and carries none out
// (kubernetes/kubernetes#131466).
func TestEnsureLoadBalancerChangeIgnored(t *testing.T) {
	h := emulator.New(&emulator.Options{Version: emulator.WindowsServer2025, IgnoreLoadBalancerModify: true})
	n := &node{t: t, h: h, rec: &recorder{Backend: h}}
	n.Client = hns.New(n.rec, &hns.Options{Allow: []string{"feature-" + hns.FeatureModifyLoadBalancer.Name}})
	n.lake = n.newNetwork("lake", "10.50.3.0/24", "10.50.3.1")
	a, b := n.endpoint(hns.Endpoint{Name: "a"}, hns.ID{}).ID, n.endpoint(hns.Endpoint{Name: "b"}, hns.ID{}).ID
	_, _, err := n.LoadBalancers.Ensure(t.Context(), webService(a), nil)
	n.must(err)
	_, d, err := n.LoadBalancers.Ensure(t.Context(), webService(b), nil)
	decided(t, d, hns.ActionRepair, "HostComputeEndpoints")
	wantIs(t, err, hns.ErrDrift, hns.ErrUnsupported)
	if !strings.Contains(err.Error(), "did not carry it out") || !strings.Contains(hns.Explain(err), "made anew") {
		t.Errorf("error %v", err)
	}
}

// One that shares some of the addresses or ports is not this one.
func TestEnsureLoadBalancerPartlyTheSame(t *testing.T) {
	n, pods := serviceNode(t, nil)
	old, _, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	n.must(err)
	wider := webService(pods[0])
	wider.PortMappings = append(wider.PortMappings, hns.LoadBalancerPortMapping{Protocol: hns.TCP, ExternalPort: 80, InternalPort: 8080})
	otherPort := webService(pods[0])
	otherPort.PortMappings[0].ExternalPort = 444
	n.forget()

	_, d, err := n.LoadBalancers.Ensure(t.Context(), wider, nil)
	decided(t, d, hns.ActionRefuse, "PortMappings")
	if !errors.Is(err, hns.ErrDrift) {
		t.Errorf("error %v", err)
	}
	none := *wider
	none.Endpoints = nil
	_, d, _ = n.LoadBalancers.Ensure(t.Context(), &none, nil)
	decided(t, d, hns.ActionRefuse, "PortMappings")
	_, d, err = n.LoadBalancers.Ensure(t.Context(), wider, &hns.EnsureOptions{Drift: hns.DriftKeep})
	n.must(err)
	decided(t, d, hns.ActionKeep, "PortMappings")
	n.wantChanges()

	now, d, err := n.LoadBalancers.Ensure(t.Context(), wider, &hns.EnsureOptions{Drift: hns.DriftRecreate})
	n.must(err)
	decided(t, d, hns.ActionRecreate, "PortMappings")
	if now.ID != old.ID || len(n.only().PortMappings) != 2 {
		t.Errorf("made %+v", now)
	}
	renamed := *wider
	renamed.ID = vipID
	_, d, _ = n.LoadBalancers.Ensure(t.Context(), &renamed, nil)
	decided(t, d, hns.ActionRefuse, "ID")
	now, _, err = n.LoadBalancers.Ensure(t.Context(), &renamed, &hns.EnsureOptions{Drift: hns.DriftRecreate})
	n.must(err)
	if now.ID != vipID || n.only().ID != vipID {
		t.Errorf("made %+v", now)
	}
	_, d, err = n.LoadBalancers.Ensure(t.Context(), otherPort, nil)
	n.must(err)
	decided(t, d, hns.ActionCreate)
	otherPort.PortMappings = append(otherPort.PortMappings, wider.PortMappings...)
	_, _, err = n.LoadBalancers.Ensure(t.Context(), otherPort, nil)
	wantIs(t, err, hns.ErrAmbiguous)
}

// A backend that was deleted while the load balancer names it is no backend: HNS
// keeps the id, and the port is dead for it (kubernetes/kubernetes#112836).
func TestEnsureLoadBalancerDeadBackend(t *testing.T) {
	n, pods := serviceNode(t, nil)
	_, _, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0], pods[1]), nil)
	n.must(err)
	n.must(n.Endpoints.Delete(t.Context(), pods[1]))
	n.forget()
	for _, drift := range []hns.Drift{hns.DriftRefuse, hns.DriftKeep, hns.DriftRecreate} {
		_, _, err = n.LoadBalancers.Ensure(t.Context(), webService(pods[0], pods[1]), &hns.EnsureOptions{Drift: drift})
		wantIs(t, err, hns.ErrNotFound, hns.ErrInvalid)
		same(t, "complaints", []string{"HostComputeEndpoints[1] | " + pods[1].String() + " | "}, complaints(err))
	}
	n.wantChanges()
	_, d, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	n.must(err)
	decided(t, d, hns.ActionRecreate, "HostComputeEndpoints")
	same(t, "backends", pods[:1], n.only().Endpoints)
}

// A mapping of all protocols shares its port with each of them: HNS refused the
// create for ever, and Ensure did not see why.
func TestEnsureLoadBalancerAnyProtocol(t *testing.T) {
	for _, first := range []hns.Protocol{hns.TCP, hns.ProtocolAny} {
		second := hns.TCP + hns.ProtocolAny - first
		n, pods := serviceNode(t, nil)
		of := func(p hns.Protocol) *hns.LoadBalancer {
			l := webService(pods[0])
			l.PortMappings[0].Protocol = p
			return l
		}
		_, _, err := n.LoadBalancers.Ensure(t.Context(), of(first), nil)
		n.must(err)
		_, d, err := n.LoadBalancers.Ensure(t.Context(), of(second), nil)
		if decided(t, d, hns.ActionRefuse, "PortMappings"); !errors.Is(err, hns.ErrDrift) {
			t.Errorf("error %v", err)
		}
		_, d, err = n.LoadBalancers.Ensure(t.Context(), of(second), anewOpts)
		n.must(err)
		decided(t, d, hns.ActionRecreate, "PortMappings")
		_, d, err = n.LoadBalancers.Ensure(t.Context(), of(second), nil)
		n.must(err)
		decided(t, d, hns.ActionKeep)
		same(t, "protocol", second, n.only().PortMappings[0].Protocol)
	}
}

// The id is enough to say which one is to go.
func TestEnsureLoadBalancerDeleteByID(t *testing.T) {
	n, pods := serviceNode(t, nil)
	made, _, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	n.must(err)
	_, d, err := n.LoadBalancers.Ensure(t.Context(), &hns.LoadBalancer{ID: podID}, nil)
	n.must(err)
	decided(t, d, hns.ActionKeep)
	if d.Ref != podID.String() {
		t.Errorf("decision about %s", d.Ref)
	}
	n.only()
	_, d, err = n.LoadBalancers.Ensure(t.Context(), &hns.LoadBalancer{ID: made.ID}, nil)
	n.must(err)
	decided(t, d, hns.ActionDelete, "HostComputeEndpoints")
	if all, err := n.LoadBalancers.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("left: %v, %v", all, err)
	}
	// To make one takes its ports.
	_, _, err = n.LoadBalancers.Ensure(t.Context(), &hns.LoadBalancer{ID: made.ID, Endpoints: pods[:1]}, nil)
	same(t, "complaints", []string{"PortMappings |  | no-ports"}, complaints(err))
}

// HNS fails after it made or changed the load balancer: reading tells.
func TestEnsureLoadBalancerSettles(t *testing.T) {
	n, pods := serviceNode(t, &emulator.Options{Version: emulator.WindowsServer2025Serviced})
	n.h.Inject(emulator.Fault{Verb: hns.VerbCreate, Code: hns.CodeRPCCallFailed, After: true})
	_, d, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	n.must(err)
	decided(t, d, hns.ActionCreate)
	n.h.Inject(emulator.Fault{Verb: hns.VerbModify, Code: hns.CodeRPCCallFailed, After: true})
	_, d, err = n.LoadBalancers.Ensure(t.Context(), webService(pods[1]), nil)
	n.must(err)
	decided(t, d, hns.ActionRepair, "HostComputeEndpoints")
	same(t, "backends", pods[1:2], n.only().Endpoints)
	n.h.Inject(emulator.Fault{Verb: hns.VerbModify, Code: hns.CodeRPCCallFailed})
	_, _, err = n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	wantIs(t, err, hns.ErrUnavailable)
}

// Another call was faster.
func TestEnsureLoadBalancerExists(t *testing.T) {
	n, pods := serviceNode(t, nil)
	n.h.Inject(emulator.Fault{Verb: hns.VerbCreate, Code: hns.CodePortExists, After: true})
	_, d, err := n.LoadBalancers.Ensure(t.Context(), webService(pods[0]), nil)
	n.must(err)
	decided(t, d, hns.ActionKeep)
	n.h.Inject(emulator.Fault{Verb: hns.VerbCreate, Code: hns.CodePortExists})
	node := webService(pods[0])
	node.FrontendVIPs = nil
	_, _, err = n.LoadBalancers.Ensure(t.Context(), node, nil)
	wantIs(t, err, hns.ErrExists, hns.ErrInUse)
}
