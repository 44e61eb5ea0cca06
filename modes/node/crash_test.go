package node_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// disruption is something that a node is in before Ensure runs.
type disruption struct {
	name string
	opts node.EnsureOptions
	prep func(t *testing.T, m *machine, p *node.Plan)
}

var disruptions = []disruption{
	{"fresh", node.EnsureOptions{}, func(*testing.T, *machine, *node.Plan) {}},
	{"after a reboot", node.EnsureOptions{}, func(t *testing.T, m *machine, p *node.Plan) {
		m.ensure(p, nil)
		if err := m.hns.Reboot(); err != nil {
			t.Fatal(err)
		}
		m.host.Reboot()
	}},
	{"another pod subnet, to be made anew", node.EnsureOptions{Drift: hns.DriftRecreate}, func(t *testing.T, m *machine, p *node.Plan) {
		d := p.Description
		d.ClusterCIDRs = nil
		if d.Mode != modes.NAT && d.Mode != modes.Transparent {
			d.ClusterCIDRs = prefixes("10.0.0.0/9")
		}
		d.Gateways, d.ServiceCIDRs, d.SourceVIP = nil, nil, netip.Addr{}
		d.Subnets = prefixes("10.77.0.0/24")
		m.ensure(planOf(t, d), nil)
	}},
}

// TestCrashMatrix kills Ensure at each of its calls, before the call and after
// its effect, runs it again, and wants what an undisturbed run leaves
// (antrea-io/antrea#5841).
func TestCrashMatrix(t *testing.T) {
	for name, d := range descriptions() {
		for _, dis := range disruptions {
			t.Run(name+"/"+dis.name, func(t *testing.T) { crashMatrix(t, planOf(t, d), dis) })
		}
	}
}

func crashMatrix(t *testing.T, p *node.Plan, dis disruption) {
	run := func(k *killer) *machine {
		m := newMachine(t, emulator.Options{})
		dis.prep(t, m, p)
		err := m.mortal(k, func(c *hns.Client, h hostnet.Host) error {
			_, err := node.Ensure(context.Background(), c, h, p, &dis.opts)
			return err
		})
		if k.at == 0 && err != nil || k.dead && !errors.Is(err, errKilled) {
			t.Fatalf("call %d: %v", k.at, err)
		}
		return m
	}
	undisturbed := &killer{}
	want := run(undisturbed).text()
	killed := 0
	for at := 1; at <= undisturbed.calls; at++ {
		for _, after := range []bool{false, true} {
			k := &killer{at: at, after: after}
			m := run(k)
			if !k.dead {
				continue
			}
			killed++
			where := fmt.Sprintf("killed at call %d of %d, after its effect: %t", at, undisturbed.calls, after)
			m.ensure(p, &dis.opts)
			if diff := cmp.Diff(want, m.text()); diff != "" {
				t.Fatalf("%s (-undisturbed +killed):\n%s", where, diff)
			}
			// And then there is nothing left to do.
			if s := m.ensure(p, &dis.opts); s.Changed() {
				t.Fatalf("%s: %s", where, stepsOf(s))
			}
		}
	}
	if killed != 2*undisturbed.calls || killed < 6 {
		t.Errorf("%d kills for %d calls", killed, undisturbed.calls)
	}
}

// TestRestartAndReboot: a restart of the service changes nothing, and a reboot
// is mended by the next Ensure.
func TestRestartAndReboot(t *testing.T) {
	all := descriptions()
	maps.Copy(all, furtherDescriptions())
	for name, d := range all {
		t.Run(name, func(t *testing.T) {
			m, p := newMachine(t, emulator.Options{}), planOf(t, d)
			first := m.ensure(p, nil)
			if !first.Changed() {
				t.Errorf("nothing was made: %s", stepsOf(first))
			}
			want := m.text()
			if err := m.hns.Restart(); err != nil {
				t.Fatal(err)
			}
			if s := m.ensure(p, nil); s.Changed() || m.text() != want {
				t.Errorf("after a restart: %s\n%s", stepsOf(s), cmp.Diff(want, m.text()))
			}
			if err := m.hns.Reboot(); err != nil {
				t.Fatal(err)
			}
			m.host.Reboot()
			again := m.ensure(p, nil)
			if got, want := again.Network.Name, first.Network.Name; got != want || !d.Persistent && !again.Changed() {
				t.Errorf("after a reboot: network %q, %s", got, stepsOf(again))
			}
			if s := m.ensure(p, nil); s.Changed() {
				t.Errorf("not at rest: %s", stepsOf(s))
			}
		})
	}
}
