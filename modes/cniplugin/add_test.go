package cniplugin_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// One ADD, CHECK and DEL: the state after each, and how often HNS is asked. A call
// costs milliseconds on a node, so one more is a change to be seen.
func TestLife(t *testing.T) {
	tests := []struct {
		name    string
		node    func(testing.TB, *emulator.Options) *node
		address string
		members []string
		dsr     []string // the call for the version, where loopback DSR wants it
	}{
		{"L2Bridge", newBridge, "10.50.3.3", nil, nil},
		{"Overlay", newOverlay, "10.60.4.3", nil, nil},
		{"with loopback DSR", newBridge, "10.50.3.3", []string{`"loopbackDSR": true`}, []string{"call service"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := tt.node(t, nil)
			other := n.pod("other")
			other.mustAdd()
			n.ipam.asked()
			before := n.state()
			p := n.pod("sbx-01")
			expect := func(verb string, calls []string, asked string, state []string) {
				t.Helper()
				if diff := cmp.Diff(calls, n.calls()); diff != "" {
					t.Errorf("%s: calls of HNS (-want +got):\n%s", verb, diff)
				}
				if diff := cmp.Diff([]string{asked + " sbx-01/eth0"}, n.ipam.asked()); diff != "" {
					t.Errorf("%s: calls of IPAM (-want +got):\n%s", verb, diff)
				}
				if diff := cmp.Diff(state, n.state()); diff != "" {
					t.Errorf("%s: state (-want +got):\n%s", verb, diff)
				}
				if locks := n.lockFiles(); len(locks) > 0 {
					t.Errorf("%s left %v", verb, locks)
				}
				n.hns.ResetCalls()
			}
			// other's address is the third of the subnet, so this pod's is the fourth.
			address := netip.MustParseAddr(tt.address).Next().String()
			during := []string{before[0], "endpoint sbx-01_" + n.network.Name + " [" + address + "] attached",
				before[1], "lease sbx-01/eth0 " + address + "/24"}

			res := p.mustAdd(tt.members...)
			expect("ADD", append(append([]string{"list network"}, tt.dsr...), "list endpoint", "create endpoint", "modify namespace"), "ADD", during)
			if again := p.mustAdd(tt.members...); cmp.Diff(res, again) != "" {
				t.Errorf("repeated ADD (-first +second):\n%s", cmp.Diff(res, again))
			}
			expect("repeated ADD", append(append([]string{"list network"}, tt.dsr...), "list endpoint", "modify namespace"), "CHECK", during)
			if err := p.check(res, tt.members...); err != nil {
				t.Error(err)
			}
			expect("CHECK", append(append([]string{"list network"}, tt.dsr...), "list endpoint", "get namespace"), "CHECK", during)
			p.mustDel(tt.members...)
			expect("DEL", []string{"list endpoint", "modify namespace", "delete endpoint"}, "DEL", before)
			p.mustDel(tt.members...)
			expect("repeated DEL", []string{"list endpoint"}, "DEL", before)
		})
	}
}

// An endpoint that is there, with its lease, is used again, whatever happened to
// its attachment: HNS was restarted and forgot it (projectcalico/calico#5164), or
// an earlier ADD was killed before it.
func TestAddAttachesAgain(t *testing.T) {
	tests := []struct {
		name   string
		happen func(*pod)
	}{
		{"removed from the namespace", func(p *pod) {
			if err := p.client.Namespaces.RemoveEndpoint(t.Context(), p.namespace, p.endpoint().ID); err != nil {
				t.Fatal(err)
			}
		}},
		{"restart", func(p *pod) {
			if err := p.hns.Restart(); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newBridge(t, &emulator.Options{RestartDetaches: true})
			p := n.pod("sbx-01")
			res := p.mustAdd()
			want, id := n.state(), p.endpoint().ID
			tt.happen(p)
			if again := p.mustAdd(); cmp.Diff(res, again) != "" {
				t.Errorf("result (-first +second):\n%s", cmp.Diff(res, again))
			}
			if diff := cmp.Diff(want, n.state()); diff != "" || p.endpoint().ID != id {
				t.Errorf("state (-want +got):\n%s", diff)
			}
			if err := p.check(res); err != nil {
				t.Error(err)
			}
		})
	}
}

// The sandbox was made anew under the same id: the endpoint that is left, with its
// lease, goes into the new namespace.
func TestAddAfterNamespaceWasMadeAnew(t *testing.T) {
	n := newBridge(t, nil)
	old := n.pod("sbx-01")
	old.mustAdd()
	if err := n.client.Namespaces.Delete(t.Context(), old.namespace); err != nil {
		t.Fatal(err)
	}
	p := n.pod("sbx-01")
	p.mustAdd()
	if diff := cmp.Diff([]string{"endpoint sbx-01_lake [10.50.3.3] attached", "lease sbx-01/eth0 10.50.3.3/24"}, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An endpoint of the name that is in another namespace is somebody's.
func TestAddOfNameInUse(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.mustAdd()
	want := n.state()
	if _, err := n.pod("sbx-01").add(); !errors.Is(err, hns.ErrAttached) {
		t.Errorf("error %v, want ErrAttached", err)
	}
	if diff := cmp.Diff(want, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A live pod's lease is not given back by a repeated ADD that fails
// (containernetworking/plugins frees it).
func TestRepeatedAddThatFails(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.mustAdd()
	want := n.state()
	n.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNamespace, Code: hns.CodeDegraded})
	if _, err := p.add(); !errors.Is(err, hns.ErrDegraded) {
		t.Fatalf("error %v, want ErrDegraded", err)
	}
	if diff := cmp.Diff(want, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The network may be made any moment; what is there helps to find a misnomer.
func TestAddWithoutNetwork(t *testing.T) {
	n := newBridge(t, nil)
	_, err := n.pod("sbx-01").add(`"name": "cbr0"`)
	if codeOf(err) != types.ErrTryAgainLater || !errors.Is(err, hns.ErrNotFound) {
		t.Errorf("code %d, %v; want 11 and ErrNotFound", codeOf(err), err)
	}
	for _, word := range []string{`"cbr0"`, `"lake" (L2Bridge)`} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want %s in it", err, word)
		}
	}
	_, err = (&node{tb: t, hns: n.hns, client: n.client, plugin: n.plugin, network: &hns.Network{Name: "lake"}}).pod("sbx-01").add()
	if err != nil {
		t.Error(err)
	}
}

// A plugin serves its mode; win-bridge serves L2Tunnel, too, and in the same way.
func TestAddByTypeOfNetwork(t *testing.T) {
	tests := []struct {
		typ     hns.NetworkType
		plugin  modes.Mode
		gateway string // empty: refused
	}{
		{hns.L2Bridge, modes.L2Bridge, "10.50.3.2"},
		{hns.L2Tunnel, modes.L2Bridge, "10.50.3.2"},
		{hns.NAT, modes.L2Bridge, ""},
		{hns.Transparent, modes.L2Bridge, ""},
		{hns.L2Bridge, modes.Overlay, ""},
		{hns.L2Tunnel, modes.Overlay, ""},
	}
	for _, tt := range tests {
		t.Run(string(tt.typ)+" for "+string(tt.plugin), func(t *testing.T) {
			n := newBridge(t, nil)
			if err := n.client.Networks.Delete(t.Context(), n.network.ID); err != nil {
				t.Fatal(err)
			}
			network, err := n.client.Networks.Create(t.Context(), &hns.Network{Name: "lake", Type: tt.typ, IPAMs: n.network.IPAMs})
			if err != nil {
				t.Fatal(err)
			}
			n.network, n.plugin.Mode = network, tt.plugin
			res, err := n.pod("sbx-01").add()
			if tt.gateway == "" {
				if codeOf(err) != types.ErrInvalidNetworkConfig || len(n.state()) > 0 || len(n.ipam.asked()) > 0 {
					t.Errorf("code %d, %v, left %v", codeOf(err), err, n.state())
				}
				if diff := cmp.Diff([]string{"name"}, paths(err)); diff != "" {
					t.Errorf("paths (-want +got):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := res.IPs[0].Gateway.String(); got != tt.gateway {
				t.Errorf("gateway %s, want %s", got, tt.gateway)
			}
		})
	}
}

// An Overlay network whose provider address HNS has still to find.
func TestAddBeforeProviderAddress(t *testing.T) {
	n := newOverlay(t, &emulator.Options{AddressAfterReads: -1})
	_, err := n.pod("sbx-01").add()
	if codeOf(err) != types.ErrTryAgainLater || !errors.Is(err, modes.ErrNotReady) || len(n.ipam.asked()) > 0 {
		t.Errorf("code %d, %v; want 11 and ErrNotReady, before any lease", codeOf(err), err)
	}
}

// Loopback DSR eats the ports of an HNS that is too old for it
// (containernetworking/plugins#613).
func TestLoopbackDSR(t *testing.T) {
	for version, want := range map[hns.Version]int{
		{Major: 9, Minor: 2}: 0, {Major: 9, Minor: 3}: 1, {Major: 10, Minor: 0}: 0, {Major: 10, Minor: 2}: 1, {Major: 15, Minor: 4}: 1,
	} {
		for how, member := range map[string]string{"from IPAM": `"ipam": {"type": "fake"}`, "from HNS": `"ipam": null`} {
			n := newBridge(t, &emulator.Options{Version: version})
			if how == "from HNS" {
				n.plugin.IPAM = nil
			}
			p := n.pod("sbx-01")
			// The second ADD finds the policy there, and adds none.
			p.mustAdd(member, `"loopbackDSR": true`)
			res := p.mustAdd(member, `"loopbackDSR": true`)
			nat := hns.PoliciesOf[hns.OutBoundNAT](p.endpoint().Policies)
			if len(nat) != want {
				t.Errorf("HNS %s, address %s: %d policies, want %d", version, how, len(nat), want)
				continue
			}
			if own := p.endpoint().Addresses()[0].String(); want == 1 && cmp.Diff([]string{own}, nat[0].Destinations) != "" {
				t.Errorf("HNS %s, address %s: destinations %v, want %s", version, how, nat[0].Destinations, own)
			}
			if err := p.check(res, member, `"loopbackDSR": true`); err != nil {
				t.Errorf("HNS %s, address %s: %v", version, how, err)
			}
		}
	}
}

// Without IPAM it is HNS that gives the address.
func TestAddWithoutIPAM(t *testing.T) {
	for _, member := range []string{`"ipam": null`, `"ipam": {}`, `"ipam": {"type": ""}`} {
		for _, n := range []*node{newBridge(t, nil), newOverlay(t, nil)} {
			n.plugin.IPAM = nil
			p := n.pod("sbx-01")
			res := p.mustAdd(member)
			if len(res.IPs) != 1 || res.IPs[0].Address.IP.String() != p.endpoint().Addresses()[0].String() {
				t.Errorf("%s: result %v, endpoint %v", member, res, p.endpoint().Addresses())
			}
			if diff := cmp.Diff(res, p.mustAdd(member)); diff != "" {
				t.Errorf("repeated (-first +second):\n%s", diff)
			}
			if err := p.check(res, member); err != nil {
				t.Error(err)
			}
			p.mustDel(member)
			if got := n.state(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
		}
	}
}

// Pods of one node do not wait for each other, and no two get one address, MAC or
// endpoint (Azure/azure-container-networking#2817).
func TestManyPods(t *testing.T) {
	n := newBridge(t, nil)
	const pods = 40
	var all []*pod
	for i := range pods {
		all = append(all, n.pod(fmt.Sprintf("sbx-%02d", i)))
	}
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := p.add(); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	seen := map[string]string{}
	for _, p := range all {
		e := p.endpoint()
		for _, s := range []string{e.Addresses()[0].String(), e.MAC.String()} {
			if seen[s] != "" {
				t.Errorf("%s: %s and %s", s, seen[s], p.id)
			}
			seen[s] = p.id
		}
	}
	for _, p := range all {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := p.del(); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// A repeated ADD with another configuration: what the endpoint lacks is refused,
// all of it, and neither reported nor dropped; nothing is changed.
func TestRepeatedAddThatWantsMore(t *testing.T) {
	members := map[string]string{
		"Policies[0] PortMapping": `"runtimeConfig": {"portMappings": [{"hostPort": 8088, "containerPort": 80}]}`,
		"Dns.ServerList":          `"dns": {"nameservers": ["10.96.0.10"]}`,
		"Dns.Search":              `"runtimeConfig": {"dns": {"searches": ["lake.test"]}}`,
		"Policies[0] OutBoundNAT": `"ipMasqNetworks": ["10.50.0.0/16"]`,
		"Policies[0] SDNRoute":    `"policies": [{"name": "EndpointPolicy", "value": {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}}}]`,
	}
	for _, who := range whoGives {
		n := newBridge(t, nil)
		who.setup(n)
		p := n.pod("sbx-01")
		first := p.mustAdd(who.member)
		want := n.state()
		for path, member := range members {
			_, err := p.add(who.member, member)
			var failed *cniplugin.CheckError
			if codeOf(err) != types.ErrInvalidNetworkConfig || !errors.As(err, &failed) || len(failed.Differences) != 1 || failed.Differences[0].Path != path {
				t.Errorf("%s: code %d, %v; want 7 and %s alone", who.name, codeOf(err), err, path)
			}
		}
		if diff := cmp.Diff(want, n.state()); diff != "" {
			t.Errorf("%s: state (-want +got):\n%s", who.name, diff)
		}
		if again := p.mustAdd(who.member); cmp.Diff(first, again) != "" {
			t.Errorf("%s: result (-first +second):\n%s", who.name, cmp.Diff(first, again))
		}
	}
}
