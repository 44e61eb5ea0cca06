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

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/filelock"
	"github.com/hnskit/hnskit/modes"
)

// A network that is missing is made as the configuration says, once, and stays
// when the pod goes. The first pod gets its address on it.
func TestNetworkIsMade(t *testing.T) {
	tests := []struct {
		name    string
		mode    modes.Mode
		conf    string
		subnet  string // and its gateway
		gateway string
		podsGW  string
		adapter string
		vni     uint32
	}{
		{"nat, as containerd's script writes it", modes.NAT, `"master": "Ethernet", "ipam": {"subnet": "172.27.0.0/20", "routes": [{"GW": "172.27.0.1"}]}`,
			"172.27.0.0/20", "172.27.0.1", "172.27.0.1", "", 0},
		// containerd/nerdctl#5157: gateway in place of gw, and an empty type.
		{"nat, as nerdctl writes it", modes.NAT, `"master": "Ethernet", "ipam": {"type": "", "subnet": "10.4.0.0/24", "routes": [{"gateway": "10.4.0.1"}]}`,
			"10.4.0.0/24", "10.4.0.1", "10.4.0.1", "", 0},
		{"nat, another gateway and host bits", modes.NAT, `"ipam": {"subnet": "10.4.0.77/24", "routes": [{"gw": "10.4.0.254", "dst": "0.0.0.0/0"}]}`,
			"10.4.0.0/24", "10.4.0.254", "10.4.0.254", "", 0},
		{"l2bridge, led by the subnet's gateway", modes.L2Bridge, `"master": "Ethernet", "ipam": {"subnet": "192.168.1.0/24", "routes": [{"gw": "192.168.1.1"}]}`,
			"192.168.1.0/24", "192.168.1.1", "192.168.1.1", "Ethernet", 0},
		{"overlay", modes.Overlay, `"ipam": null, "hnsNetwork": {"subnets": ["10.60.4.0/24"], "vni": 4097, "adapter": "Ethernet"}`,
			"10.60.4.0/24", "10.60.4.1", "10.60.4.1", "Ethernet", 4097},
		{"transparent", modes.Transparent, `"ipam": {}, "hnsNetwork": {"subnets": ["10.70.4.0/24"], "gateways": ["10.70.4.254"], "vlan": 7}`,
			"10.70.4.0/24", "10.70.4.254", "10.70.4.254", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := bareNode(t, nil, tt.mode)
			n.plugin.IPAM = nil
			p := n.pod("sbx-01")
			conf := strings.Split(tt.conf, "\n")
			res, err := p.add(conf...)
			if err != nil {
				t.Fatal(err)
			}
			net := n.made()
			s := net.Subnets()
			if len(s) != 1 || s[0].Prefix.String() != tt.subnet || s[0].Gateway().String() != tt.gateway || net.Type != tt.mode.NetworkType() {
				t.Errorf("the network is of type %s with %v", net.Type, s)
			}
			if got := hns.PoliciesOf[hns.VSID](s[0].Policies); tt.vni != 0 && (len(got) != 1 || got[0].IsolationID != tt.vni) {
				t.Errorf("VSID %v", got)
			}
			var adapter string
			for _, a := range hns.PoliciesOf[hns.NetAdapterName](net.Policies) {
				adapter = a.Name
			}
			if adapter != tt.adapter {
				t.Errorf("adapter %q, want %q", adapter, tt.adapter)
			}
			if tt.mode == modes.Overlay && !hns.HasPolicy(net.Policies, "HostRoute") {
				t.Error("node and pods do not reach each other: no HostRoute")
			}
			if got := addresses(res); len(got) != 1 || !s[0].Prefix.Contains(got[0].Addr()) || res.IPs[0].Gateway.String() != tt.podsGW {
				t.Errorf("the pod has %v, and the gateway %v; want %s", got, res.IPs[0].Gateway, tt.podsGW)
			}
			if err := p.check(res, conf...); err != nil {
				t.Error("CHECK:", err)
			}
			if diff := cmp.Diff(res, p.mustAdd(conf...)); diff != "" {
				t.Errorf("repeated ADD:\n%s", diff)
			}
			p.mustDel(conf...)
			if n.made().ID != net.ID {
				t.Error("the network is another")
			}
			if got := n.lockFiles(); len(got) > 1 { // the directory of the networks' locks
				t.Errorf("lock files %v", got)
			}
		})
	}
}

// On L2Bridge "network+2" is the node's endpoint, which the node's agent makes. As
// long as there is none HNS would give that very address to the pod.
func TestNetworkLedByTheNode(t *testing.T) {
	n := bareNode(t, nil, modes.L2Bridge)
	n.plugin.IPAM = nil
	for i, conf := range []string{
		`"ipam": {"subnet": "192.168.1.0/24", "routes": [{"GW": "192.168.1.2"}]}`,
		`"ipam": {"subnet": "192.168.1.0/24"}, "optionalFlags": {"forceBridgeGateway": true}`,
	} {
		p := n.pod(fmt.Sprintf("sbx-%02d", i))
		if i == 0 {
			_, err := p.add(conf)
			if codeOf(err) != 11 || !strings.Contains(err.Error(), "192.168.1.2") || len(n.state()) > 0 {
				t.Errorf("code %d, %v; left %v", codeOf(err), err, n.state())
			}
			host, err := modes.PlanHostEndpoint(n.made())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.client.Endpoints.Create(context.Background(), host); err != nil {
				t.Fatal(err)
			}
		}
		res := p.mustAdd(conf)
		if s := n.made().Subnets(); s[0].Gateway().String() != "192.168.1.1" || res.IPs[0].Gateway.String() != "192.168.1.2" {
			t.Errorf("%s: gateway of the network %s, of the pod %s", conf, s[0].Gateway(), res.IPs[0].Gateway)
		}
		if err := p.check(res, conf); err != nil {
			t.Error("CHECK:", err)
		}
	}
}

// Without a subnet HNS chooses one, for NAT.
func TestNATWithoutSubnet(t *testing.T) {
	n := bareNode(t, nil, modes.NAT)
	n.plugin.IPAM = nil
	p := n.pod("sbx-01")
	res := p.mustAdd(`"ipam": {}`)
	if s := n.made().Subnets(); len(s) != 1 || !s[0].Prefix.Contains(addresses(res)[0].Addr()) {
		t.Errorf("subnets %v, pod %v", s, addresses(res))
	}
}

// What says nothing of the network does not make one.
func TestNetworkIsNotMade(t *testing.T) {
	tests := []struct {
		mode modes.Mode
		conf string
	}{
		{modes.L2Bridge, `"ipam": {}`},
		{modes.L2Bridge, `"master": "Ethernet"`},
		{modes.NAT, `"ipam": {"type": "fake"}`},
		// The VNI is not known.
		{modes.Overlay, `"ipam": {"subnet": "10.60.4.0/24"}`},
	}
	for _, tt := range tests {
		n := bareNode(t, nil, tt.mode)
		if !strings.Contains(tt.conf, "type") {
			n.plugin.IPAM = nil
		}
		p := n.pod("sbx-01")
		_, err := p.add(tt.conf)
		if codeOf(err) != 11 || !errors.Is(err, hns.ErrNotFound) {
			t.Errorf("%s: code %d, %v", tt.conf, codeOf(err), err)
		}
		if slices.ContainsFunc(n.calls(), func(c string) bool { return strings.HasPrefix(c, "create") }) {
			t.Errorf("%s: HNS was asked %v", tt.conf, n.calls())
		}
		if err := p.check(natResult, tt.conf); codeOf(err) != 11 {
			t.Errorf("%s: CHECK: %v", tt.conf, err)
		}
	}
}

// CHECK and STATUS never make a network.
func TestOnlyADDMakesIt(t *testing.T) {
	n := bareNode(t, nil, modes.NAT)
	n.plugin.IPAM = nil
	p := n.pod("sbx-01")
	conf := `"ipam": {"subnet": "10.4.0.0/24"}`
	if err := p.check(natResult, conf); codeOf(err) != 11 {
		t.Errorf("CHECK: code %d, %v", codeOf(err), err)
	}
	if err := n.plugin.Status(context.Background(), p.args(p.config(conf, `"cniVersion": "1.1.0"`))); err != nil {
		t.Errorf("STATUS: %v; the next ADD makes the network", err)
	}
	p.mustDel(conf)
	for _, c := range n.calls() {
		if strings.HasPrefix(c, "create") || strings.HasPrefix(c, "modify") {
			t.Errorf("HNS was asked: %s", c)
		}
	}
	bad := bareNode(t, nil, modes.NAT)
	bad.plugin.IPAM = nil
	err := bad.plugin.Status(context.Background(), p.args(bad.config(`"ipam": {"subnet": "fd00::/64"}`, `"cniVersion": "1.1.0"`)))
	if codeOf(err) != 50 || !strings.Contains(err.Error(), "ipam.subnet") {
		t.Errorf("STATUS with a subnet that NAT cannot have: code %d, %v", codeOf(err), err)
	}
}

// A network that is there and differs is an error that lists each field, and no
// pod: it would have an address of one subnet and a gateway of another
// (microsoft/windows-container-networking#98, containerd/nerdctl#28).
func TestDrift(t *testing.T) {
	tests := []struct {
		name string
		mode modes.Mode
		conf string
		want []string // nothing: accepted
	}{
		{"as it is", modes.NAT, `"ipam": {"subnet": "172.30.0.0/20", "routes": [{"GW": "172.30.0.1"}]}`, nil},
		{"of the gateway nothing is said", modes.NAT, `"ipam": {"subnet": "172.30.0.0/20"}`, nil},
		{"subnet", modes.NAT, `"ipam": {"subnet": "10.4.0.0/24", "routes": [{"GW": "10.4.0.1"}]}`, []string{"ipam.subnet", "10.4.0.0/24", "172.30.0.0/20"}},
		{"length, as containerd's script gets it wrong", modes.NAT, `"ipam": {"subnet": "172.30.0.0/12", "routes": [{"GW": "172.30.0.1"}]}`,
			[]string{"172.16.0.0/12", "172.30.0.0/20"}},
		{"gateway", modes.NAT, `"ipam": {"subnet": "172.30.0.0/20", "routes": [{"GW": "172.30.0.9"}]}`, []string{"172.30.0.9", "172.30.0.1"}},
		{"several", modes.Overlay, `"ipam": null, "hnsNetwork": {"subnets": ["10.60.4.0/24"], "vni": 5000, "gateways": ["10.60.4.9"]}`,
			[]string{"hnsNetwork", "5000", "4096", "10.60.4.9", "10.60.4.1"}},
		{"adapter", modes.L2Bridge, `"ipam": null, "hnsNetwork": {"subnets": ["10.50.3.0/24"], "adapter": "Ethernet 2"}`, []string{"Ethernet 2"}},
		{"the adapter that Microsoft's configurations name is for a new network", modes.L2Bridge,
			`"master": "Ethernet 2", "ipam": {"subnet": "10.50.3.0/24"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newMode(t, tt.mode, nil)
			n.plugin.IPAM = nil
			p := n.pod("sbx-01")
			_, err := p.add(tt.conf)
			var drift *hns.DriftError
			if (tt.want == nil) != (err == nil) || err != nil && (!errors.As(err, &drift) || codeOf(err) != 7) {
				t.Fatalf("code %d, %v", codeOf(err), err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q has no %q", err, w)
				}
			}
			if tt.want == nil {
				return
			}
			if got := n.state(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
			if errStatus := n.plugin.Status(context.Background(), p.args(p.config(tt.conf))); !errors.Is(errStatus, hns.ErrDrift) || codeOf(errStatus) != 50 {
				t.Errorf("STATUS: %v", errStatus)
			}
		})
	}
}

// With drift keep it is used as it is; a gateway outside of the pod's subnet stays
// an error.
func TestDriftKeep(t *testing.T) {
	n := newMode(t, modes.NAT, nil)
	n.plugin.IPAM = nil
	p := n.pod("sbx-01")
	keep := `"hnsNetwork": {"drift": "keep"}`
	res, err := p.add(keep, `"ipam": {"subnet": "172.30.0.0/12", "routes": [{"GW": "172.30.0.1"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := addresses(res)[0]; got.Bits() != 20 {
		t.Errorf("the pod has %s, want the length of the network that is there", got)
	}
	_, err = n.pod("sbx-02").add(keep, `"ipam": {"subnet": "10.4.0.0/24", "routes": [{"GW": "10.4.0.1"}]}`)
	if err == nil || !strings.Contains(err.Error(), "10.4.0.1 cannot be the gateway") {
		t.Errorf("%v", err)
	}
}

// A network of another type is not made to fit.
func TestDriftOfType(t *testing.T) {
	n := newMode(t, modes.L2Bridge, nil)
	n.plugin.Mode, n.plugin.IPAM = modes.NAT, nil
	_, err := n.pod("sbx-01").add(`"ipam": {"subnet": "10.50.3.0/24"}`)
	if !errors.Is(err, hns.ErrDrift) || !strings.Contains(err.Error(), "Type") {
		t.Errorf("%v", err)
	}
}

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

	n = bareNode(t, &emulator.Options{AddressAfterReads: -1}, modes.Overlay)
	n.plugin.IPAM = nil
	_, err := n.pod("sbx-01").add(conf, `"timeout": "300ms"`)
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
	if _, err := p.add(conf, `"timeout": "100ms"`); codeOf(err) != 11 || !strings.Contains(err.Error(), "pond") {
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
	if err := lock.Release(); err != nil {
		t.Fatal(err)
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

// Every member that is wrong is named, and all at once.
func TestBadHNSNetwork(t *testing.T) {
	tests := []struct {
		mode  modes.Mode
		conf  string
		paths []string
	}{
		{modes.NAT, `"hnsNetwork": 7`, []string{"hnsNetwork"}},
		{modes.NAT, `"hnsNetwork": {"subnets": ["<subnet>"], "gateways": ["x"], "vni": "4096", "drift": "recreate", "colour": "red"}`,
			[]string{"hnsNetwork.colour", "hnsNetwork.drift", "hnsNetwork.gateways[0]", "hnsNetwork.subnets[0]", "hnsNetwork.vni"}},
		{modes.NAT, `"hnsNetwork": {"subnets": ["10.4.0.0/24"]}, "ipam": {"subnet": "10.5.0.0/24"}`, []string{"ipam.subnet"}},
		{modes.NAT, `"ipam": {"subnet": "10.4.0.0/33", "routes": [{"gw": "10.4.0.1", "gateway": "10.4.0.2"}, {"gw": "nope"}]}`,
			[]string{"ipam.routes[0]", "ipam.routes[1].gw", "ipam.subnet"}},
		{modes.NAT, `"ipam": {"subnet": "10.4.0.0/24", "routes": [{"gw": "10.9.0.1"}]}`, []string{"ipam.routes"}},
		{modes.NAT, `"ipam": {}, "hnsNetwork": {"vni": 4096, "gateways": ["10.4.0.1"]}`, []string{"hnsNetwork.gateways[0]", "hnsNetwork.vni"}},
		// moby/libnetwork#1843: what Linux takes by default.
		{modes.Overlay, `"hnsNetwork": {"subnets": ["10.60.4.0/24"], "vni": 1}`, []string{"hnsNetwork.vni"}},
		{modes.Overlay, `"hnsNetwork": {"vni": 16777215}`, []string{"hnsNetwork.subnets", "hnsNetwork.vni"}},
		{modes.L2Bridge, `"hnsNetwork": {"subnets": ["10.50.3.0/24", "10.50.4.0/24"], "vlan": 4095}`, []string{"hnsNetwork.subnets[1]", "hnsNetwork.vlan"}},
	}
	for _, tt := range tests {
		n := bareNode(t, nil, tt.mode)
		if strings.Contains(tt.conf, `"ipam"`) {
			n.plugin.IPAM = nil
		}
		_, err := n.pod("sbx-01").add(tt.conf)
		got := paths(err)
		slices.Sort(got)
		if diff := cmp.Diff(tt.paths, got); diff != "" || codeOf(err) != 7 {
			t.Errorf("%s: code %d, %v, paths (-want +got):\n%s", tt.conf, codeOf(err), err, diff)
		}
		if len(n.calls()) > 1 {
			t.Errorf("%s: HNS was asked %v", tt.conf, n.calls())
		}
	}
	for _, conf := range []string{`"hnsNetwork": {"adapter": "Ethernet"}`, `"hnsNetwork": {"persistent": true}`, `"hnsNetwork": {"vlan": 7, "subnets": ["10.4.0.0/24"]}`} {
		_, err := bareNode(t, nil, modes.NAT).pod("sbx-01").add(conf)
		var cannot *modes.UnsupportedError
		if !errors.As(err, &cannot) || !strings.HasPrefix(cannot.Path, "hnsNetwork.") || codeOf(err) != 7 {
			t.Errorf("%s: code %d, %v", conf, codeOf(err), err)
		}
	}
}
