package node_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// TestEnsure makes a node of each mode, and then finds nothing to do.
func TestEnsure(t *testing.T) {
	want := map[string]string{
		"l2bridge":    "network create, host endpoint create, forwarding repair",
		"l2tunnel":    "network create",
		"overlay":     "network create",
		"transparent": "network create",
		"nat":         "network create",
	}
	for name, d := range descriptions() {
		t.Run(name, func(t *testing.T) {
			m, p := newMachine(t, emulator.Options{}), planOf(t, d)
			counters := &node.Counters{}
			s := m.ensure(p, &node.EnsureOptions{Counters: counters})
			if got := actionsOf(s); got != want[name] || !s.Changed() {
				t.Errorf("%s, want %s", got, want[name])
			}
			if d.Mode != modes.NAT && (s.Address != addr("192.0.2.10") || s.Adapter != "Ethernet") {
				t.Errorf("address %s on %q", s.Address, s.Adapter)
			}
			if (d.Mode == modes.Overlay) == s.DRMAC.IsZero() || (d.Mode == modes.L2Bridge) != (s.HostEndpoint != nil) {
				t.Errorf("DR MAC %s, endpoint %+v", s.DRMAC, s.HostEndpoint)
			}
			if d.Mode == modes.Overlay && !hns.HasPolicy(s.Network.Policies, "HostRoute") {
				t.Error("no HostRoute")
			}
			calls := len(m.hns.Calls())
			again := m.ensure(p, &node.EnsureOptions{Counters: counters})
			if again.Changed() || again.HostChanges != nil {
				t.Errorf("again: %s", stepsOf(again))
			}
			for _, c := range m.hns.Calls()[calls:] {
				if c.Verb == hns.VerbCreate || c.Verb == hns.VerbModify || c.Verb == hns.VerbDelete || c.Method == "POST" {
					t.Errorf("again: %s of %s", c.Verb, c.Kind)
				}
			}
			if got := counters.Snapshot(); got[node.CountEnsures] != 2 || got[node.CountEnsureChanges] != uint64(strings.Count(want[name], ",")+1) || got[node.CountEnsureFailures] != 0 {
				t.Errorf("counters %v", got)
			}
		})
	}
}

// TestLateAddress: HNS may fill the address in seconds later, or never; flannel's
// wait ended without an error then (flannel-io/flannel#1066).
func TestLateAddress(t *testing.T) {
	for name, field := range map[string]string{"l2bridge": "ManagementIP", "overlay": "ProviderAddress", "transparent": "ManagementIP"} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, descriptions()[name])
			s := newMachine(t, emulator.Options{AddressAfterReads: 3}).ensure(p, nil)
			if s.Address != addr("192.0.2.10") {
				t.Errorf("address %s", s.Address)
			}
			m := newMachine(t, emulator.Options{AddressAfterReads: -1})
			_, err := node.Ensure(t.Context(), m.client, m.host, p, &node.EnsureOptions{Wait: brief})
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), p.Description.Name) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestLateDRMAC: the policy is there before its value; peers that are told zeros
// pass the node over for ever.
func TestLateDRMAC(t *testing.T) {
	m := newMachine(t, emulator.Options{})
	reads := 0
	mac := regexp.MustCompile(`("Type":"DrMacAddress","Settings":)\{[^}]*\}`)
	client := hns.New(backendFunc(func(r hns.Request) (hns.Response, error) {
		resp, err := m.hns.Do(r)
		for i, d := range resp.Documents {
			if mac.Match(d) {
				if reads++; reads < 7 {
					resp.Documents[i] = mac.ReplaceAll(d, []byte("${1}{}"))
				}
			}
		}
		return resp, err
	}), nil)
	s, err := node.Ensure(t.Context(), client, m.host, planOf(t, descriptions()["overlay"]), nil)
	if err != nil || s.DRMAC.IsZero() || reads < 7 {
		t.Errorf("%s after %d reads, %v", s.DRMAC, reads, err)
	}
}

// TestDrift: a network that is there with another subnet is refused with all
// that differs, and made anew only if that is allowed and no pod is on it.
func TestDrift(t *testing.T) {
	ctx := t.Context()
	old := descriptions()["l2bridge"]
	old.Subnets = prefixes("10.244.8.0/24")
	m := newMachine(t, emulator.Options{})
	before := m.ensure(planOf(t, old), nil)
	pod, err := m.client.Endpoints.Create(ctx, &hns.Endpoint{Name: "pod_cbr0", Network: before.Network.ID})
	if err != nil {
		t.Fatal(err)
	}
	p := planOf(t, descriptions()["l2bridge"])
	for _, drift := range []hns.Drift{hns.DriftRefuse, hns.DriftRecreate} {
		text := m.text()
		s, err := node.Ensure(ctx, m.client, m.host, p, &node.EnsureOptions{Drift: drift})
		var de *hns.DriftError
		if !errors.As(err, &de) || errors.Is(err, hns.ErrInUse) != (drift == hns.DriftRecreate) || actionsOf(s) != "network refuse" {
			t.Fatalf("%v", err)
		}
		if d := s.Steps[2].Differences; len(d) == 0 || d[0].Want != "10.244.3.0/24" || d[0].Got != "10.244.8.0/24" {
			t.Errorf("differences %v", d)
		}
		if m.text() != text {
			t.Error("something changed")
		}
	}
	if err := m.client.Endpoints.Delete(ctx, pod.ID); err != nil {
		t.Fatal(err)
	}
	text := m.text()
	dry := m.ensure(p, &node.EnsureOptions{Drift: hns.DriftRecreate, DryRun: true})
	if got := actionsOf(dry); m.text() != text || !strings.HasPrefix(got, "network recreate") {
		t.Errorf("dry run: %s", got)
	}
	// Somebody else deletes the node's endpoint at the same moment.
	m.hns.Inject(emulator.Fault{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, Code: hns.CodeEndpointNotFound, After: true})
	after := m.ensure(p, &node.EnsureOptions{Drift: hns.DriftRecreate})
	if got := actionsOf(after); got != actionsOf(dry) {
		t.Errorf("%s", stepsOf(after))
	}
	if after.Network.ID == before.Network.ID || after.Network.Subnets()[0].Prefix != netip.MustParsePrefix("10.244.3.0/24") {
		t.Errorf("%+v", after.Network)
	}
}

// TestQuietDrift: differences that HNS could not be asked about by what the plan
// sets: the usual port is no policy, and persistent is no flag.
func TestQuietDrift(t *testing.T) {
	d := descriptions()["overlay"]
	d.VXLANPort, d.Linux = 8472, nil
	m, p := newMachine(t, emulator.Options{}), planOf(t, descriptions()["overlay"])
	m.ensure(planOf(t, d), nil)
	s, err := node.Ensure(t.Context(), m.client, m.host, p, nil)
	if !errors.Is(err, hns.ErrDrift) || !strings.Contains(err.Error(), "8472") || actionsOf(s) != "network refuse" {
		t.Errorf("%v\n%s", err, stepsOf(s))
	}
	s = m.ensure(p, &node.EnsureOptions{Drift: hns.DriftRecreate})
	if actionsOf(s) != "network recreate" || strings.Contains(m.text(), "8472") {
		t.Errorf("%s\n%s", stepsOf(s), m.text())
	}
	if s := m.ensure(p, nil); s.Changed() || len(s.Steps[2].Differences) > 0 {
		t.Errorf("%s", stepsOf(s))
	}
	d = descriptions()["overlay"]
	d.Persistent = true
	if s := m.ensure(planOf(t, d), nil); s.Changed() || len(s.Steps[2].Differences) != 1 || s.Steps[2].Differences[0].Path != "Flags" {
		t.Errorf("%s", stepsOf(s))
	}
	// An HNS that does not show the port.
	d.VXLANPort, d.Linux = 8472, nil
	p = planOf(t, d)
	m = newMachine(t, emulator.Options{})
	n := *p.Network.Network
	n.Policies = []hns.NetworkPolicy{hns.HostRoute{}, hns.NetAdapterName{Name: "Ethernet"}}
	made, err := m.client.Networks.Create(t.Context(), &hns.Network{Name: n.Name, Type: n.Type, IPAMs: n.IPAMs, Policies: n.Policies[1:]})
	if err == nil {
		err = m.client.Networks.AddPolicies(t.Context(), made.ID, n.Policies[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	if s := m.ensure(p, nil); s.Changed() || len(s.Steps[2].Differences) != 1 || s.Steps[2].Differences[0].Path != "VxlanPort" {
		t.Errorf("%s", stepsOf(s))
	}
}

// TestPodWithOurName: an endpoint that has the name of the node's own and is in a
// pod's namespace keeps the network from being made anew.
func TestPodWithOurName(t *testing.T) {
	ctx := t.Context()
	old := descriptions()["l2bridge"]
	old.Subnets = prefixes("10.244.8.0/24")
	m := newMachine(t, emulator.Options{})
	s := m.ensure(planOf(t, old), nil)
	if err := m.client.Endpoints.Delete(ctx, s.HostEndpoint.ID); err != nil {
		t.Fatal(err)
	}
	ns, err := m.client.Namespaces.Create(ctx, &hns.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	pod, err := m.client.Endpoints.Create(ctx, &hns.Endpoint{Name: "cbr0_ep", Network: s.Network.ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.client.Namespaces.AddEndpoint(ctx, ns.ID, pod.ID); err != nil {
		t.Fatal(err)
	}
	text := m.text()
	_, err = node.Ensure(ctx, m.client, m.host, planOf(t, descriptions()["l2bridge"]), &node.EnsureOptions{Drift: hns.DriftRecreate})
	if !errors.Is(err, hns.ErrInUse) || m.text() != text {
		t.Errorf("%v", err)
	}
}

// TestHostEndpointLeftovers: an old "<network>_ep" stood in the way of a restart
// until it was deleted by hand (flannel-io/flannel#1391, #1423, #1112).
func TestHostEndpointLeftovers(t *testing.T) {
	ctx := t.Context()
	p := planOf(t, descriptions()["l2bridge"])
	m := newMachine(t, emulator.Options{})
	first := m.ensure(p, nil)
	spoil := map[string]func(){
		"detached": func() {
			if err := m.client.Endpoints.DetachHost(ctx, first.HostEndpoint.ID); err != nil {
				t.Fatal(err)
			}
		},
		"another address": func() {
			e := *first.HostEndpoint
			if err := m.client.Endpoints.Delete(ctx, e.ID); err != nil {
				t.Fatal(err)
			}
			e.ID, e.IPConfigs = hns.ID{}, []hns.IPConfig{{Address: addr("10.244.3.77"), PrefixLength: 24}}
			if _, err := m.client.Endpoints.Create(ctx, &e); err != nil {
				t.Fatal(err)
			}
		},
		"another beside it": func() {
			if _, err := m.client.Endpoints.Create(ctx, &hns.Endpoint{Name: "cbr0_ep", Network: first.Network.ID, IPConfigs: []hns.IPConfig{{Address: addr("10.244.3.78"), PrefixLength: 24}}}); err != nil {
				t.Fatal(err)
			}
			if dry, err := node.Ensure(ctx, m.client, m.host, p, &node.EnsureOptions{DryRun: true}); err != nil || !dry.Changed() {
				t.Errorf("dry run: %v\n%s", err, stepsOf(dry))
			}
			if all, err := m.client.Endpoints.Named(ctx, "cbr0_ep"); err != nil || len(all) != 2 {
				t.Errorf("dry run left %d endpoints, %v", len(all), err)
			}
		},
		"gone": func() {
			if err := m.hns.Vanish(hns.KindEndpoint, first.HostEndpoint.ID); err != nil {
				t.Fatal(err)
			}
		},
		"network gone": func() {
			if err := m.hns.Vanish(hns.KindNetwork, first.Network.ID); err != nil {
				t.Fatal(err)
			}
		},
	}
	for _, name := range []string{"detached", "another address", "another beside it", "gone", "network gone"} {
		first = m.ensure(p, nil)
		spoil[name]()
		s := m.ensure(p, nil)
		state, err := m.client.Endpoints.State(ctx, s.HostEndpoint.ID)
		if err != nil || state != hns.EndpointAttached || s.HostEndpoint.Addresses()[0] != addr("10.244.3.2") || s.HostEndpoint.Network != s.Network.ID || !s.Changed() {
			t.Errorf("%s: %v, %v, %+v\n%s", name, state, err, s.HostEndpoint, stepsOf(s))
		}
		all, err := m.client.Endpoints.Named(ctx, "cbr0_ep")
		if err != nil || len(all) != 1 {
			t.Errorf("%s: %d endpoints, %v", name, len(all), err)
		}
		for _, a := range []string{"vEthernet (cbr0_ep)", "vEthernet (Ethernet)"} {
			if !m.forwards(a) {
				t.Errorf("%s: %s does not forward", name, a)
			}
		}
	}
}

func (m *machine) forwards(adapter string) bool {
	all, err := m.host.Adapters(context.Background())
	if err != nil {
		m.tb.Fatal(err)
	}
	for _, a := range all {
		if a.Name == adapter {
			return a.ForwardingIPv4
		}
	}
	return false
}

// TestHostChanges: the first network moves the adapter's address to a vNIC; a
// route stays behind and can be put back (ovn-kubernetes/ovn-kubernetes#3119).
func TestHostChanges(t *testing.T) {
	m := newMachine(t, emulator.Options{})
	metadata := hostnet.Route{Destination: netip.MustParsePrefix("169.254.169.254/32"), Interface: 1}
	if err := m.host.AddRoute(t.Context(), metadata); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := m.ensure(planOf(t, descriptions()["overlay"]), &node.EnsureOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if len(s.HostChanges) != 2 || s.HostChanges[0].Loss != hostnet.AddressMoved || s.HostChanges[1].Loss != hostnet.RouteMisplaced {
		t.Fatalf("%v", s.HostChanges)
	}
	if n := strings.Count(log.String(), "route misplaced"); n != 1 || strings.Contains(log.String(), "address moved") || strings.Count(log.String(), "node changed") != 1 {
		t.Errorf("%s", log.String())
	}
	if err := hostnet.Restore(t.Context(), m.host, s.HostChanges); err != nil {
		t.Fatal(err)
	}
	routes, err := m.host.Routes(t.Context())
	if err != nil || len(routes) != 2 || routes[1].Interface == 1 {
		t.Errorf("%v, %v", routes, err)
	}
}

func TestDryRun(t *testing.T) {
	for name, d := range descriptions() {
		t.Run(name, func(t *testing.T) {
			m, p := newMachine(t, emulator.Options{}), planOf(t, d)
			text := m.text()
			dry := m.ensure(p, &node.EnsureOptions{DryRun: true})
			if m.text() != text || !dry.Changed() || dry.Network != nil {
				t.Errorf("%s", stepsOf(dry))
			}
			real := m.ensure(p, nil)
			if got, want := actionsOf(dry), actionsOf(real); got != want {
				t.Errorf("dry run %s, then %s", got, want)
			}
			if again := m.ensure(p, &node.EnsureOptions{DryRun: true}); again.Changed() {
				t.Errorf("%s", stepsOf(again))
			}
		})
	}
}

// TestNothingIsMade: what can be known before the first change stops it.
func TestNothingIsMade(t *testing.T) {
	p := planOf(t, descriptions()["overlay"])
	port := descriptions()["overlay"]
	port.VXLANPort, port.Linux = 8472, nil
	done, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		m    *machine
		host bool
		plan *node.Plan
		ctx  context.Context
		want error
	}{
		{"HNS too old", newMachine(t, emulator.Options{Version: hns.Version{Major: 9, Minor: 1}}), true, p, t.Context(), hns.ErrUnsupported},
		{"HNS too old for the port", newMachine(t, emulator.Options{Version: hns.Version{Major: 9, Minor: 4}}), true, planOf(t, port), t.Context(), hns.ErrUnsupported},
		{"link with a smaller MTU", &machine{mtu: 1460}, true, p, t.Context(), hns.ErrInvalid},
		{"no host", newMachine(t, emulator.Options{}), false, p, t.Context(), nil},
		{"no plan", newMachine(t, emulator.Options{}), true, nil, t.Context(), nil},
		{"no time", newMachine(t, emulator.Options{}), true, p, done, context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.m
			if m.hns == nil {
				mtu := m.mtu
				m = newMachine(t, emulator.Options{})
				m.mtu = mtu
			}
			var host hostnet.Host
			if tt.host {
				host = m.host
			}
			text := m.text()
			_, err := node.Ensure(tt.ctx, m.client, host, tt.plan, nil)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || m.text() != text {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// TestStoppedService: a service that is down is not a node without a network.
func TestStoppedService(t *testing.T) {
	p := planOf(t, descriptions()["l2bridge"])
	m := newMachine(t, emulator.Options{})
	m.ensure(p, nil)
	text := m.text()
	m.hns.Stop()
	if _, err := node.Ensure(t.Context(), m.client, m.host, p, nil); !errors.Is(err, hns.ErrUnavailable) || errors.Is(err, hns.ErrNotFound) {
		t.Errorf("%v", err)
	}
	// A patient one goes on until its context ends, here at the third refusal.
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	refusals := 0
	then := func() { cancel(enough) }
	client := hns.New(backendFunc(func(r hns.Request) (hns.Response, error) {
		resp, err := m.hns.Do(r)
		if err != nil {
			if refusals++; refusals%3 == 0 {
				then()
			}
		}
		return resp, err
	}), nil)
	if _, err := node.Ensure(ctx, client, m.host, p, &node.EnsureOptions{Patient: true}); !errors.Is(err, enough) || refusals != 3 {
		t.Errorf("patient: %v after %d refusals", err, refusals)
	}
	then = m.hns.Start
	s, err := node.Ensure(t.Context(), client, m.host, p, &node.EnsureOptions{Patient: true})
	if err != nil || s.Changed() || m.text() != text || refusals != 6 {
		t.Errorf("%v after %d refusals\n%s", err, refusals, stepsOf(s))
	}
}

// TestSecondStepFails: the network is made and its policy refused once; the next
// call does what is left (antrea-io/antrea#5841).
func TestSecondStepFails(t *testing.T) {
	p := planOf(t, descriptions()["overlay"])
	m := newMachine(t, emulator.Options{})
	remove := m.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNetwork, Code: hns.CodeInvalidParameter})
	if _, err := node.Ensure(t.Context(), m.client, m.host, p, nil); err == nil {
		t.Fatal("no error")
	}
	remove()
	m.hns.ResetCalls()
	s := m.ensure(p, nil)
	if got := actionsOf(s); got != "network repair" || !hns.HasPolicy(s.Network.Policies, "HostRoute") {
		t.Errorf("%s", stepsOf(s))
	}
	for _, c := range m.hns.Calls() {
		if c.Verb == hns.VerbCreate {
			t.Error("made again")
		}
	}
}
