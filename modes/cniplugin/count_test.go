package cniplugin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
)

// counted counts the calls of computenetwork.dll and vmcompute.dll that the native
// backend makes: a list enumerates and opens, queries and closes each object; a
// create of an endpoint opens the network and closes both.
type counted struct {
	*emulator.HNS
	calls *int
}

func (c counted) Do(r hns.Request) (hns.Response, error) {
	resp, err := c.HNS.Do(r)
	switch r.Verb {
	case hns.VerbList:
		*c.calls += 1 + 3*len(resp.Documents)
	case hns.VerbGet, hns.VerbModify:
		*c.calls += 3
	case hns.VerbCreate:
		*c.calls += 3
		if r.Kind == hns.KindEndpoint {
			*c.calls += 2
		}
	default: // delete, and calls of v1
		*c.calls++
	}
	return resp, err
}

// What each verb costs in each mode. The floor is 13 for an ADD and 8 for a DEL;
// win-bridge and win-overlay of containernetworking/plugins make 16 and 17 calls
// for an ADD and 13 for a DEL, and none for a CHECK, which does nothing there.
func TestNativeCalls(t *testing.T) {
	type cost struct{ Add, AddAgain, Check, Del, DelAgain int }
	same := cost{13, 11, 11, 8, 1}
	want := map[string]cost{
		"L2Bridge": same, "L2Tunnel": same, "Overlay": same, "Transparent": same, "NAT": same,
		"L2Bridge described": same, "NAT described": same,
		// Loopback DSR, and the policy HostRoute of a network that is described, have
		// their version of HNS asked for.
		"L2Bridge with everything": {14, 12, 12, 8, 1}, "Overlay described": {14, 12, 12, 8, 1},
	}
	got := map[string]cost{}
	measure := func(name string, m modes.Mode, members ...string) {
		n := newMode(t, m, nil)
		calls := 0
		n.plugin.Open = func(o *hns.Options) (*hns.Client, error) { return hns.New(counted{n.hns, &calls}, o), nil }
		if len(members) > 0 {
			n.plugin.IPAM = nil
		}
		p := n.pod("sbx-01")
		count := func(f func()) int { calls = 0; f(); return calls }
		var c cost
		res := p.mustAdd(members...)
		p.mustDel(members...)
		c.Add = count(func() { p.mustAdd(members...) })
		c.AddAgain = count(func() { res = p.mustAdd(members...) })
		c.Check = count(func() {
			if err := p.check(res, members...); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		c.Del = count(func() { p.mustDel(members...) })
		c.DelAgain = count(func() { p.mustDel(members...) })
		got[name] = c
	}
	for _, m := range modes.All() {
		measure(string(m), m)
	}
	measure("NAT described", modes.NAT, `"ipam": {"subnet": "172.30.0.0/20", "routes": [{"gw": "172.30.0.1"}]}`)
	measure("L2Bridge described", modes.L2Bridge, `"ipam": {}, "hnsNetwork": {"subnets": ["10.50.3.0/24"]}`)
	measure("Overlay described", modes.Overlay, `"ipam": {}, "hnsNetwork": {"subnets": ["10.60.4.0/24"], "vni": 4096}`)
	measure("L2Bridge with everything", modes.L2Bridge, `"ipam": {}, "hnsNetwork": {"subnets": ["10.50.3.0/24"], "adapter": "Ethernet"}, "loopbackDSR": true,
		"runtimeConfig": {"portMappings": [{"hostPort": 8088, "containerPort": 80}], "mac": "02:15:5d:00:00:07", "ips": ["10.50.3.9"], "bandwidth": {"egressRate": 8000}}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The first pod of a network makes it, and only that costs more: the version, a
// look under the lock, the create, on Overlay the policy HostRoute, and for NAT the
// other networks, whose addresses may overlap.
func TestNativeCallsOfTheFirstPod(t *testing.T) {
	want := map[modes.Mode]int{modes.NAT: 16, modes.Overlay: 21}
	for m, conf := range map[modes.Mode]string{modes.NAT: `"ipam": {"subnet": "172.30.0.0/20"}`, modes.Overlay: `"ipam": {}, "hnsNetwork": {"subnets": ["10.60.4.0/24"]}`} {
		n := bareNode(t, nil, m)
		n.plugin.IPAM = nil
		calls := 0
		n.plugin.Open = func(o *hns.Options) (*hns.Client, error) { return hns.New(counted{n.hns, &calls}, o), nil }
		n.pod("sbx-01").mustAdd(conf)
		if calls != want[m] {
			t.Errorf("%s: %d calls, want %d", m, calls, want[m])
		}
	}
}
