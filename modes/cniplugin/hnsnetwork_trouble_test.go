package cniplugin_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/filelock"
	"github.com/hnskit/hnskit/modes"
)

// Many first pods at once make one network.
func TestNetworkIsMadeOnce(t *testing.T) {
	n := bareNode(t, nil, modes.NAT)
	n.plugin.IPAM = nil
	conf := `"ipam": {"subnet": "10.4.0.0/24"}`
	var pods []*pod
	for i := range 12 {
		pods = append(pods, n.pod(fmt.Sprintf("sbx-%02d", i)))
	}
	var wg sync.WaitGroup
	errs := make([]error, len(pods))
	for i, p := range pods {
		wg.Add(1)
		go func() { defer wg.Done(); _, errs[i] = p.add(conf) }()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	creates := 0
	for _, c := range n.calls() {
		if c == "create network" {
			creates++
		}
	}
	if creates != 1 {
		t.Errorf("%d creates", creates)
	}
}

// Somebody without the lock is faster: theirs is taken if it fits, and refused if
// not (moby/moby#33967).
func TestNetworkRace(t *testing.T) {
	for _, subnet := range []string{"10.4.0.0/24", "10.5.0.0/24"} {
		n := bareNode(t, nil, modes.NAT)
		n.plugin.IPAM = nil
		n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Exit: func() {
			// Another gateway, of which the configuration says nothing.
			plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.NAT, Name: "pond", Subnets: prefixes(subnet),
				Gateways: []netip.Addr{netip.MustParsePrefix(subnet).Addr().Next().Next()}})
			if err == nil {
				_, err = hns.New(n.hns, nil).Networks.Create(context.Background(), plan.Network)
			}
			if err != nil {
				t.Error(err)
			}
		}})
		_, err := n.pod("sbx-01").add(`"ipam": {"subnet": "10.4.0.0/24"}`)
		if subnet == "10.4.0.0/24" && err != nil || subnet != "10.4.0.0/24" && !errors.Is(err, hns.ErrDrift) {
			t.Errorf("theirs has %s: %v", subnet, err)
		}
	}
}

// Networks that HNS will not have: the error names the one in the way
// (antrea-io/antrea#2213, moby/moby#30280).
func TestNetworkInTheWay(t *testing.T) {
	tests := []struct {
		name    string
		there   modes.NetworkIntent
		options *emulator.Options
		mode    modes.Mode
		conf    string
	}{
		{"on the same adapter", modes.NetworkIntent{Mode: modes.L2Bridge, Name: "first", Subnets: prefixes("10.50.3.0/24"), Adapter: "Ethernet"}, nil,
			modes.Transparent, `"ipam": null, "hnsNetwork": {"subnets": ["10.70.4.0/24"], "adapter": "Ethernet"}`},
		{"of the same addresses", modes.NetworkIntent{Mode: modes.NAT, Name: "first", Subnets: prefixes("172.30.0.0/20")}, nil,
			modes.NAT, `"ipam": {"subnet": "172.30.8.0/24"}`},
		{"the one NAT network", modes.NetworkIntent{Mode: modes.NAT, Name: "first", Subnets: prefixes("172.30.0.0/20")}, &emulator.Options{SingleNAT: true},
			modes.NAT, `"ipam": {"subnet": "172.31.0.0/24"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := bareNode(t, tt.options, tt.mode)
			n.plugin.IPAM = nil
			plan, err := modes.PlanNetwork(tt.there)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.client.Networks.Create(context.Background(), plan.Network); err != nil {
				t.Fatal(err)
			}
			_, err = n.pod("sbx-01").add(tt.conf)
			var conflict *hns.ConflictError
			if !errors.As(err, &conflict) || conflict.Name != "first" || codeOf(err) != 7 {
				t.Errorf("code %d, %v", codeOf(err), err)
			}
		})
	}
}

// A name that HNS says is taken and does not show (microsoft/hcsshim#850): an end,
// and what helps.
func TestGhostNetwork(t *testing.T) {
	n := bareNode(t, nil, modes.NAT)
	n.plugin.IPAM = nil
	n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Code: hns.CodeNetworkExists, Times: 100})
	_, err := n.pod("sbx-01").add(`"ipam": {"subnet": "10.4.0.0/24"}`)
	var ghost *hns.GhostError
	if !errors.As(err, &ghost) || codeOf(err) != 11 || !strings.Contains(err.Error(), "Restart-Service") {
		t.Errorf("code %d, %v", codeOf(err), err)
	}
}

// A plugin that was killed between the create and the policies: the next ADD goes
// on from there (antrea-io/antrea#5841).
func TestNetworkHalfMade(t *testing.T) {
	n := bareNode(t, nil, modes.Overlay)
	n.plugin.IPAM = nil
	conf := `"ipam": null, "hnsNetwork": {"subnets": ["10.60.4.0/24"]}`
	n.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNetwork, Code: hns.CodeInvalidParameter})
	p := n.pod("sbx-01")
	if _, err := p.add(conf); err == nil {
		t.Fatal("the policy could not be added, and ADD went well")
	}
	if hns.HasPolicy(n.made().Policies, "HostRoute") {
		t.Fatal("the fault did not strike")
	}
	p.mustAdd(conf)
	if !hns.HasPolicy(n.made().Policies, "HostRoute") {
		t.Error("no HostRoute")
	}
}

// HNS fills the provider address in late (flannel-io/flannel#1066).
func TestNetworkNotReady(t *testing.T) {
	conf := `"ipam": null, "hnsNetwork": {"subnets": ["10.60.4.0/24"]}`
	n := bareNode(t, &emulator.Options{AddressAfterReads: 3}, modes.Overlay)
	n.plugin.IPAM = nil
	n.pod("sbx-01").mustAdd(conf)

	// The network is another plugin's of this moment.
	n = bareNode(t, &emulator.Options{AddressAfterReads: 5}, modes.Overlay)
	n.plugin.IPAM = nil
	plan, err := modes.PlanNetwork(intents[modes.Overlay])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.client.Networks.Create(context.Background(), plan.Network); err != nil {
		t.Fatal(err)
	}
	n.pod("sbx-01").mustAdd(conf)

	n = bareNode(t, &emulator.Options{AddressAfterReads: -1}, modes.Overlay)
	n.plugin.IPAM = nil
	ctx, pass := deadline()
	n.hns.Inject(emulator.Fault{Verb: hns.VerbGet, Kind: hns.KindNetwork, Nth: 3, Exit: pass})
	_, err = n.pod("sbx-01").addUntil(ctx, conf)
	if codeOf(err) != 11 || !strings.Contains(err.Error(), "ProviderAddress") {
		t.Errorf("code %d, %v", codeOf(err), err)
	}
}

// The lock of a network is waited for with the verb's deadline, only by who must
// make the network.
func TestNetworkLock(t *testing.T) {
	n := bareNode(t, nil, modes.NAT)
	n.plugin.IPAM = nil
	conf := `"ipam": {"subnet": "10.4.0.0/24"}`
	lock, err := filelock.Acquire(context.Background(), filepath.Join(n.plugin.StateDir, "locks", "networks", "pond.lock"))
	if err != nil {
		t.Fatal(err)
	}
	p := n.pod("sbx-01")
	ctx, pass := deadline()
	done := make(chan error)
	go func() { _, err := p.addUntil(ctx, conf); done <- err }()
	for !slices.Contains(n.calls(), "call service") { // asked for before the lock is
		time.Sleep(time.Millisecond)
	}
	pass()
	if err := <-done; codeOf(err) != 11 || !strings.Contains(err.Error(), "pond") {
		t.Errorf("code %d, %v", codeOf(err), err)
	}
	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.NAT, Name: "pond", Subnets: prefixes("10.4.0.0/24")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.client.Networks.Create(context.Background(), plan.Network); err != nil {
		t.Fatal(err)
	}
	p.mustAdd(conf)

	// Its file goes with the next DEL if nobody holds it: a killed plugin leaves it.
	file := func() bool {
		found, err := filepath.Glob(filepath.Join(n.plugin.StateDir, "locks", "networks", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found) > 0
	}
	p.mustDel(conf)
	if !file() {
		t.Error("the lock of another is gone")
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	p.mustDel(conf)
	if file() {
		t.Error("the file of the lock is left")
	}
}

// What a network needs of HNS is said before anything is made.
func TestNetworkGates(t *testing.T) {
	n := bareNode(t, &emulator.Options{Version: hns.Version{Major: 10, Minor: 2}}, modes.Overlay)
	_, err := n.pod("sbx-01").add(`"hnsNetwork": {"subnets": ["10.60.4.0/24"], "vxlanPort": 4790}`)
	if !errors.Is(err, hns.ErrUnsupported) || codeOf(err) != 7 || !strings.Contains(err.Error(), "VxlanPort needs HNS 10.3+") {
		t.Errorf("code %d, %v", codeOf(err), err)
	}
	for _, c := range n.calls() {
		if strings.HasPrefix(c, "create") {
			t.Errorf("HNS was asked: %s", c)
		}
	}
}
