package cniplugin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
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
		{"nat, another gateway", modes.NAT, `"ipam": {"subnet": "10.4.0.0/24", "routes": [{"gw": "10.4.0.254", "dst": "0.0.0.0/0"}]}`,
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
		{"length", modes.NAT, `"ipam": {"subnet": "172.16.0.0/12", "routes": [{"GW": "172.30.0.1"}]}`,
			[]string{"172.16.0.0/12", "172.30.0.0/20"}},
		{"gateway", modes.NAT, `"ipam": {"subnet": "172.30.0.0/20", "routes": [{"GW": "172.30.0.9"}]}`, []string{"172.30.0.9", "172.30.0.1"}},
		// microsoft/hcsshim#786: a live network gets no second subnet.
		{"a subnet more", modes.L2Bridge, `"ipam": null, "hnsNetwork": {"subnets": ["10.50.3.0/24", "fd00:50:3::/64"]}`, []string{"fd00:50:3::/64", "10.50.3.0/24"}},
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
	res, err := p.add(keep, `"ipam": {"subnet": "172.16.0.0/12", "routes": [{"GW": "172.30.0.1"}]}`)
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
		// containerd's script writes 32 minus the length.
		{modes.NAT, `"ipam": {"subnet": "172.27.0.0/12", "routes": [{"GW": "172.27.0.1"}]}`, []string{"ipam.subnet"}},
		{modes.NAT, `"ipam": {}, "hnsNetwork": {"subnets": ["10.4.0.7/24"]}`, []string{"hnsNetwork.subnets[0]"}},
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

// FuzzAddMakesNetwork: whatever a configuration says of its network, in whatever
// mode, no panic; an ADD that fails leaves no pod, no lock and no note, and says
// why; one that succeeds can be taken back.
func FuzzAddMakesNetwork(f *testing.F) {
	for i := range modes.All() {
		for _, conf := range []string{
			`"ipam": {"subnet": "10.4.0.0/24", "routes": [{"GW": "10.4.0.1"}, {"dst": "10.9.0.0/16", "gateway": "10.4.0.9"}]}`,
			`"hnsNetwork": {"subnets": ["10.4.0.0/24"], "gateways": ["10.4.0.254"], "vni": 4097, "vlan": 7, "adapter": "Ethernet", "drift": "keep"}`,
			`"optionalFlags": {"forceBridgeGateway": true, "loopbackDSR": true}, "additionalRoutes": [{"GW": "fd00::1", "Dst": "::/0"}], "master": "x"`,
			`"hnsNetwork": {}, "runtimeConfig": {"mac": "02:15:5d:00:00:07", "ips": ["10.4.0.7", "fd00::7/64"], "bandwidth": {"egressRate": 1}}`,
		} {
			f.Add(uint8(i), config(`"name": "lake"`, conf))
		}
	}
	f.Fuzz(func(t *testing.T, mode uint8, stdin []byte) {
		n := bareNode(t, nil, modes.All()[int(mode)%len(modes.All())])
		n.plugin.Open = func(*hns.Options) (*hns.Client, error) { return n.client, nil }
		if c, err := cniplugin.ParseConfig(stdin); err == nil && (c.StateDir != "" || c.LogFile != "" || c.Timeout < cniplugin.DefaultTimeout) {
			return // writes where it is told to, or gives up when it is told to
		} else if err == nil && c.IPAMType == "" {
			n.plugin.IPAM = nil
		}
		p := n.pod("sbx-01")
		args := p.args(stdin)
		res, err := n.plugin.Add(context.Background(), args)
		if err != nil {
			if left := slices.Concat(n.state(), n.noteFiles()); len(left) > 0 || res != nil || codeOf(err) == 0 {
				t.Fatalf("%v (code %d, result %v) left %v", err, codeOf(err), res, left)
			}
			return
		}
		if again, err := n.plugin.Add(context.Background(), args); err != nil || !cmp.Equal(res, again) {
			t.Errorf("repeated ADD: %v, %v; want %v", again, err, res)
		}
		if err := n.plugin.Del(context.Background(), args); err != nil || len(n.state())+len(n.noteFiles()) > 0 {
			t.Fatalf("DEL: %v, left %v, %v", err, n.state(), n.noteFiles())
		}
	})
}
