package flows_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// everyPlace lists who can send and get packets.
func everyPlace(c *flows.Cluster) []flows.Place {
	var out []flows.Place
	for _, n := range c.Nodes {
		out = append(out, flows.Place{Node: n.Name})
		if n.Linux != nil {
			for _, p := range n.Linux.Pods {
				out = append(out, flows.Place{Pod: p.Name})
			}
			continue
		}
		for _, e := range n.Windows.HNS.Endpoints {
			if e.Flags&hns.EndpointRemote == 0 && !e.Namespace.IsZero() {
				out = append(out, flows.Place{Pod: e.Name})
			}
		}
	}
	for _, h := range c.Outside {
		out = append(out, flows.Place{Outside: h.Name})
	}
	return out
}

// everyPacket lists packets between all places, by all protocols, and to
// services, names, and addresses that nobody has.
func everyPacket(c *flows.Cluster) []flows.Packet {
	var out []flows.Packet
	places := everyPlace(c)
	for _, from := range places {
		var targets []flows.Target
		for _, to := range places {
			targets = append(targets, flows.Target{Place: to})
		}
		for _, s := range c.Services {
			targets = append(targets, flows.Target{Address: s.Addresses[0]}, flows.Target{Name: s.Name}, flows.Target{Name: s.FQDN})
		}
		for _, a := range []string{"10.244.1.200", "10.244.77.1", "192.0.2.200", "8.8.8.8", "fd00::1", "10.244.1.2", "10.244.2.254"} {
			targets = append(targets, flows.Target{Address: netip.MustParseAddr(a)})
		}
		for _, to := range targets {
			for _, p := range []hns.Protocol{hns.TCP, hns.UDP, hns.ICMPv4} {
				out = append(out, flows.Packet{From: from, To: to, Protocol: p})
			}
		}
	}
	return out
}

// checkTrace holds what is so of every trace.
func checkTrace(tr *flows.Trace) error {
	var prev *flows.Step
	for i := range tr.Steps {
		s := &tr.Steps[i]
		switch {
		case s.Object.Kind == "" || s.Effect == "" || s.Text == "" || s.Certainty == 0:
			return fmt.Errorf("step %d lacks something: %+v", i, *s)
		case prev != nil && prev.After != s.Before && s.Effect != flows.Sent:
			return fmt.Errorf("step %d begins with %s, the one before ended with %s", i, s.Before, prev.After)
		case s.Effect != flows.Rewritten && s.Before != s.After:
			return fmt.Errorf("step %d rewrites and does not say so: %+v", i, *s)
		case prev != nil && prev.Reply && !s.Reply:
			return fmt.Errorf("step %d comes after the answer", i)
		}
		if s.Query != nil {
			if err := checkTrace(s.Query); err != nil {
				return fmt.Errorf("step %d: query: %w", i, err)
			}
		}
		prev = s
	}
	switch d := tr.Diagnosis; {
	case tr.Outcome == flows.Dropped && (d == nil || d.Reason == "" || d.Text == "" || d.Fix == "" || d.Object.Kind == "" || d.Certainty == 0):
		return fmt.Errorf("dropped for no reason: %+v", d)
	case tr.Outcome == flows.Dropped && tr.Steps[len(tr.Steps)-1].Effect != flows.Lost:
		return fmt.Errorf("dropped, and the last step is %+v", tr.Steps[len(tr.Steps)-1])
	case tr.Outcome == flows.Unjudged && tr.Steps[len(tr.Steps)-1].Effect == flows.Unknown: // out of sight
	case tr.Outcome != flows.Dropped && tr.Steps[len(tr.Steps)-1].Effect != flows.Delivered:
		return fmt.Errorf("%s, and the last step is %+v", tr.Outcome, tr.Steps[len(tr.Steps)-1])
	}
	return nil
}

// TestEveryPacket traces every packet in every mode: the trace ends, is whole,
// is the same again, and changes nothing.
func TestEveryPacket(t *testing.T) {
	for _, m := range modes.All() {
		c := cluster(t, m)
		before := text(t, c)
		w := world(t, c)
		for _, p := range everyPacket(c) {
			tr := w.Trace(p)
			if err := checkTrace(tr); err != nil {
				t.Errorf("%s: %s: %v\n%s", m, p, err, tr)
			}
			if diff := cmp.Diff(tr, w.Trace(p), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("%s: %s: another trace the second time:\n%s", m, p, diff)
			}
			if err := checkMermaid(tr.Mermaid()); err != nil {
				t.Errorf("%s: %s: %v", m, p, err)
			}
		}
		if diff := cmp.Diff(before, text(t, c)); diff != "" {
			t.Errorf("%s: tracing changed the cluster:\n%s", m, diff)
		}
	}
}

// text is everything of a cluster as JSON.
func text(t testing.TB, c *flows.Cluster) string {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		if n.Windows == nil {
			continue
		}
		for _, e := range n.Windows.HNS.Endpoints {
			doc, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, doc...)
		}
	}
	return string(b)
}

// TestTwoWorldsOneTrace: a world is made of the cluster alone, in whatever
// order its objects come.
func TestTwoWorldsOneTrace(t *testing.T) {
	for _, m := range modes.All() {
		c, d := cluster(t, m), cluster(t, m)
		r := rand.New(rand.NewPCG(1, 2))
		r.Shuffle(len(d.Nodes), func(i, j int) { d.Nodes[i], d.Nodes[j] = d.Nodes[j], d.Nodes[i] })
		for _, n := range d.Nodes {
			if n.Windows != nil {
				es := n.Windows.HNS.Endpoints
				r.Shuffle(len(es), func(i, j int) { es[i], es[j] = es[j], es[i] })
			}
		}
		a, b := world(t, c), world(t, d)
		for _, p := range everyPacket(c) {
			if x, y := a.Trace(p).Text(), b.Trace(p).Text(); x != y {
				t.Errorf("%s: %s", m, cmp.Diff(x, y))
			}
		}
	}
}

// TestRandomFaults breaks clusters at random, several things at once: traces
// still end, and say what is the matter.
func TestRandomFaults(t *testing.T) {
	breaks := mixedcluster.Breaks()
	r := rand.New(rand.NewPCG(3, 4))
	for range 25 {
		m := modes.All()[r.IntN(5)]
		of := slices.DeleteFunc(slices.Clone(breaks), func(b mixedcluster.Break) bool { return b.Mode != m })
		c := cluster(t, m)
		var names []string
		for range 1 + r.IntN(4) {
			b := of[r.IntN(len(of))]
			if b.Name == "network-gone" || b.Name == "linux-host-gw" || b.Name == "linux-no-vxlan" || b.Name == "no-vnet" {
				continue // what others want to change is gone then
			}
			names = append(names, b.Name)
			b.Do(c)
		}
		w := world(t, c)
		for _, p := range everyPacket(c) {
			if err := checkTrace(w.Trace(p)); err != nil {
				t.Errorf("%s %v: %s: %v", m, names, p, err)
			}
		}
	}
}

// TestParallel: a world may be traced by several at once. Run with -race.
func TestParallel(t *testing.T) {
	c := cluster(t, modes.Overlay)
	w := world(t, c)
	want := w.Nine().Text()
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if got := w.Nine().Text(); got != want {
				t.Errorf("%s", got)
			}
		}()
	}
	wg.Wait()
}

// TestTraceAsData: a trace survives JSON.
func TestTraceAsData(t *testing.T) {
	for _, m := range modes.All() {
		c := cluster(t, m)
		w := world(t, c)
		for _, p := range everyPacket(c) {
			tr := w.Trace(p)
			b, err := json.Marshal(tr)
			if err != nil {
				t.Fatal(err)
			}
			var again flows.Trace
			if err := json.Unmarshal(b, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tr, &again, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Fatalf("%s: %s", p, diff)
			}
		}
	}
	var c flows.Certainty
	if err := c.UnmarshalText([]byte("certain")); err == nil {
		t.Error("a word that is no certainty was taken")
	}
}

// TestLoops leads pod subnets at random: packets that go round and round are
// found, and the diagnosis names routes that lead them.
func TestLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	loops := 0
	for range 40 {
		c := cluster(t, modes.L2Bridge)
		hop := func() netip.Addr { return c.Nodes[r.IntN(len(c.Nodes))].Addresses[0] }
		for i := range c.Nodes {
			var routes []flows.Route // of the clone: to be changed in place
			if w := c.Nodes[i].Windows; w != nil {
				routes = w.Host.Routes
			} else {
				routes = c.Nodes[i].Linux.Routes
			}
			for j := range routes {
				if routes[j].Destination.Bits() > 0 || r.IntN(4) == 0 {
					routes[j].NextHop = hop()
				}
			}
		}
		for _, n := range c.Nodes {
			if r.IntN(2) == 0 {
				c.Physical.Routes = append(c.Physical.Routes, flows.Route{Destination: n.PodSubnets[0], NextHop: hop()})
			}
		}
		w := world(t, c)
		for _, p := range everyPacket(c) {
			tr := w.Trace(p)
			if err := checkTrace(tr); err != nil {
				t.Errorf("%s: %v\n%s", p, err, tr)
			}
			if d := tr.Diagnosis; d != nil && d.Reason == flows.Loop {
				loops++
				if d.Object.Detail == "" || d.Object.Kind != flows.KindRoute && d.Object.Kind != flows.KindPhysical {
					t.Errorf("a loop that names no route: %s", tr)
				}
			}
		}
	}
	if loops < 100 {
		t.Errorf("only %d loops", loops)
	}
}
