package cniplugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// intents are a network of each mode.
var intents = map[modes.Mode]modes.NetworkIntent{
	modes.L2Bridge:    {Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24"), Adapter: "Ethernet"},
	modes.L2Tunnel:    {Mode: modes.L2Tunnel, Name: "tube", Subnets: prefixes("10.50.4.0/24")},
	modes.Overlay:     {Mode: modes.Overlay, Name: "fjord", Subnets: prefixes("10.60.4.0/24")},
	modes.Transparent: {Mode: modes.Transparent, Name: "glass", Subnets: prefixes("10.70.4.0/24")},
	modes.NAT:         {Mode: modes.NAT, Name: "pond", Subnets: prefixes("172.30.0.0/20")},
}

// newMode makes a node with a network of the mode, and a plugin for it.
func newMode(tb testing.TB, m modes.Mode, opts *emulator.Options) *node {
	n := newNode(tb, opts, "win-"+strings.ToLower(string(m)), intents[m])
	n.ipam.avoid = azureAddresses
	return n
}

// The same life of a pod in each of the five modes: where its gateway is, and
// what it has of policies (containernetworking/plugins#671).
func TestFiveModes(t *testing.T) {
	tests := []struct {
		mode     modes.Mode
		gateway  string
		policies []string
	}{
		{modes.L2Bridge, "10.50.3.2", nil},
		{modes.L2Tunnel, "10.50.4.1", nil},
		{modes.Overlay, "10.60.4.1", []string{"ProviderAddress"}},
		{modes.Transparent, "10.70.4.1", nil},
		{modes.NAT, "172.30.0.1", nil},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			n := newMode(t, tt.mode, nil)
			p := n.pod("sbx-01")
			res := p.mustAdd()
			e := p.endpoint()
			if len(res.IPs) != 1 || res.IPs[0].Gateway.String() != tt.gateway || e.Gateway(e.Addresses()[0]).String() != tt.gateway {
				t.Errorf("gateway %v and %v, want %s", res.IPs, e.Routes, tt.gateway)
			}
			var policies []string
			for _, pol := range e.Policies {
				policies = append(policies, pol.PolicyType())
			}
			if diff := cmp.Diff(tt.policies, policies); diff != "" {
				t.Errorf("policies (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(res, p.mustAdd()); diff != "" {
				t.Errorf("repeated ADD (-first +second):\n%s", diff)
			}
			if err := p.check(res); err != nil {
				t.Error("CHECK:", err)
			}
			if err := n.plugin.Status(context.Background(), p.args(p.config())); err != nil {
				t.Error("STATUS:", err)
			}
			n.pod("sbx-02").mustAdd()
			if err := n.gc([]string{"sbx-01"}); err != nil {
				t.Error("GC:", err)
			}
			if got := n.state(); len(got) != 2 {
				t.Errorf("GC left %v; want the endpoint and the lease of sbx-01", got)
			}
			p.mustDel()
			p.mustDel()
			if got := n.state(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
		})
	}
}

// A Transparent network without subnets: the pod asks the DHCP server of the
// physical network, and neither IPAM nor HNS gives an address
// (microsoft/windows-container-networking#59).
func TestTransparentWithDHCP(t *testing.T) {
	for _, ipam := range []bool{true, false} {
		n := newNode(t, nil, "transparent", modes.NetworkIntent{Mode: modes.Transparent, Name: "glass"})
		if !ipam {
			n.plugin.IPAM = nil
		}
		p := n.pod("sbx-01")
		conf := `"ipam": null`
		res, err := p.add(conf)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.IPs) > 0 || len(res.Interfaces) != 1 {
			t.Errorf("result %v", res)
		}
		if err := p.check(res, conf); err != nil {
			t.Error("CHECK:", err)
		}
		if diff := cmp.Diff(res, p.mustAdd(conf)); diff != "" {
			t.Errorf("repeated ADD:\n%s", diff)
		}
		p.mustDel(conf)
		if got := n.state(); len(got) > 0 {
			t.Errorf("left %v", got)
		}
	}
}

// Results of the first versions must have an address. That nobody gives one is
// found before anything is made, or what was made is taken back.
func TestTransparentInOldVersion(t *testing.T) {
	for _, v := range []string{`"cniVersion": "0.1.0"`, `"cniVersion": "0.2.0"`, `"cniVersion": null`} {
		for _, who := range []string{"nobody", "IPAM that gives nothing", "network to be made"} {
			n := newNode(t, nil, "transparent", modes.NetworkIntent{Mode: modes.Transparent, Name: "glass"})
			members := []string{v}
			if who == "IPAM that gives nothing" {
				n.ipam.subnets = nil
			} else {
				n.plugin.IPAM = nil
				members = append(members, `"ipam": null`)
			}
			networks := 1
			if who == "network to be made" {
				members = append(members, `"hnsNetwork": {}`)
				networks = 0
				if err := n.client.Networks.Delete(t.Context(), n.network.ID); err != nil {
					t.Fatal(err)
				}
			}
			_, err := n.pod("sbx-01").add(members...)
			if diff := cmp.Diff([]string{"cniVersion"}, paths(err)); codeOf(err) != 7 || diff != "" {
				t.Errorf("%s, %s: code %d, %v; paths:\n%s", v, who, codeOf(err), err, diff)
			}
			if slices.Contains(n.calls(), "create endpoint") || slices.Contains(n.calls(), "create network") {
				t.Errorf("%s, %s: made something: %v", v, who, n.calls())
			}
			if all, err := n.client.Networks.List(t.Context()); err != nil || len(all) != networks || len(n.state()) > 0 || len(n.noteFiles()) > 0 {
				t.Errorf("%s, %s: left %v, %v, %v", v, who, n.state(), n.noteFiles(), err)
			}
		}
	}
}

// Elsewhere a pod without an address is of no use.
func TestNoAddressElsewhere(t *testing.T) {
	for _, m := range []modes.Mode{modes.L2Bridge, modes.Overlay, modes.NAT} {
		n := newMode(t, m, nil)
		n.ipam.subnets = nil
		if _, err := n.pod("sbx-01").add(); err == nil || !strings.Contains(err.Error(), "no address") {
			t.Errorf("%s: %v, want no address", m, err)
		}
		if got := n.state(); len(got) > 0 {
			t.Errorf("%s: left %v", m, got)
		}
	}
}

// On L2Tunnel the address must be Azure's.
func TestL2TunnelWantsIPAM(t *testing.T) {
	n := newMode(t, modes.L2Tunnel, nil)
	n.plugin.IPAM = nil
	_, err := n.pod("sbx-01").add(`"ipam": null`)
	if err == nil || !strings.Contains(err.Error(), "Azure") || codeOf(err) != 7 {
		t.Errorf("code %d, %v", codeOf(err), err)
	}
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// What HNS lacks for a pod is said before a lease is taken, or it goes back.
func TestGates(t *testing.T) {
	dual := modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24", "fd00:50:3::/64")}
	tier := `"policies": [{"name": "EndpointPolicy", "value": {"Type": "TierAcl", "Settings": {"Name": "t", "Direction": "In", "Order": 1}}}]`
	tests := []struct {
		name    string
		intent  modes.NetworkIntent
		version hns.Version
		members []string
		ipam    []string // what IPAM was asked
		want    []string
	}{
		{"TierAcl", intents[modes.L2Bridge], hns.Version{Major: 13}, []string{tier}, nil, []string{"TierAcl", "policies[0].value", "13.0"}},
		// microsoft/Windows-Containers#82: dual stack needs 11.10.
		{"dual stack", dual, hns.Version{Major: 11, Minor: 9}, nil, []string{"ADD sbx-01/eth0", "DEL sbx-01/eth0"}, []string{"IPv6DualStack", "11.9"}},
		{"dual stack", dual, hns.Version{Major: 11, Minor: 10}, nil, []string{"ADD sbx-01/eth0"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name+" on "+tt.version.String(), func(t *testing.T) {
			n := newNode(t, nil, "win-bridge", tt.intent)
			n.plugin.Open = func(o *hns.Options) (*hns.Client, error) { return hns.New(ofVersion{n.hns, tt.version}, o), nil }
			_, err := n.pod("sbx-01").add(tt.members...)
			if (err == nil) != (tt.want == nil) || err != nil && codeOf(err) != 7 {
				t.Fatalf("code %d, %v", codeOf(err), err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q has no %q", err, w)
				}
			}
			if diff := cmp.Diff(tt.ipam, n.ipam.asked()); diff != "" {
				t.Errorf("IPAM (-want +got):\n%s", diff)
			}
			if err != nil && len(n.state()) > 0 {
				t.Errorf("left %v", n.state())
			}
		})
	}
}

// ofVersion is an HNS that says that it is of another version.
type ofVersion struct {
	*emulator.HNS
	version hns.Version
}

func (v ofVersion) Do(r hns.Request) (hns.Response, error) {
	if r.Verb == hns.VerbCall && r.Path == "/globals/version" {
		return hns.Response{Documents: []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"Major": %d, "Minor": %d}`, v.version.Major, v.version.Minor))}}, nil
	}
	return v.HNS.Do(r)
}

// The mode comes from the plugin or from the key mode, never from a name
// (microsoft/SDN#238).
func TestModeKey(t *testing.T) {
	tests := []struct {
		plugin modes.Mode
		key    string
		path   string
	}{
		{"", `"mode": "l2bridge"`, ""},
		{"", `"mode": "L2BRIDGE"`, ""},
		{"", `"mode": "bridge"`, "mode"},
		{"", `"mode": "ipvlan"`, "mode"},
		{"", `"type": "l2bridge"`, "mode"},
		{modes.L2Bridge, `"mode": "L2Bridge"`, ""},
		{modes.L2Bridge, `"mode": "l2tunnel"`, "name"}, // which it serves too, but the network is another
		{modes.L2Bridge, `"mode": "overlay"`, "mode"},
	}
	for _, tt := range tests {
		n := newBridge(t, nil)
		n.plugin.Mode = tt.plugin
		p := n.pod("sbx-01")
		res, err := p.add(tt.key, `"type": "mybridge.exe"`)
		if strings.Contains(tt.key, "type") {
			res, err = p.add(tt.key)
		}
		if tt.path != "" {
			if got := paths(err); len(got) != 1 || got[0] != tt.path || codeOf(err) != 7 {
				t.Errorf("%s: code %d, %v", tt.key, codeOf(err), err)
			}
			if len(n.calls()) > 1 || len(n.state()) > 0 { // only the network may have been looked up
				t.Errorf("%s: HNS was asked %v", tt.key, n.calls())
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.key, err)
			continue
		}
		if err := p.check(res, tt.key); err != nil {
			t.Errorf("%s: CHECK: %v", tt.key, err)
		}
		p.mustDel(tt.key)
	}
}

// win-bridge serves L2Tunnel networks as upstream does, and as Azure wants it if it
// is told so.
func TestL2TunnelByWinBridge(t *testing.T) {
	for key, gateway := range map[string]string{`"type": "win-bridge"`: "10.50.4.2", `"mode": "l2tunnel"`: "10.50.4.1"} {
		n := newMode(t, modes.L2Tunnel, nil)
		n.plugin.Mode = modes.L2Bridge
		p := n.pod("sbx-01")
		res := p.mustAdd(key)
		if got := res.IPs[0].Gateway.String(); got != gateway {
			t.Errorf("%s: gateway %s, want %s", key, got, gateway)
		}
		if err := p.check(res, key); err != nil {
			t.Errorf("%s: CHECK: %v", key, err)
		}
		p.mustDel(key)
	}
}

// bareNode is a node without a network, and a plugin that makes one.
func bareNode(tb testing.TB, opts *emulator.Options, m modes.Mode) *node {
	tb.Helper()
	n := &node{tb: tb, hns: emulator.New(opts), dir: tb.TempDir(), network: &hns.Network{Name: intents[m].Name}}
	n.client = hns.New(n.hns, nil)
	n.ipam = newFakeIPAM(intents[m].Subnets...)
	n.plugin = &cniplugin.Plugin{
		Name: "win-" + strings.ToLower(string(m)), Mode: m, IPAM: n.ipam, StateDir: filepath.Join(n.dir, "state"),
		Open: func(o *hns.Options) (*hns.Client, error) { return hns.New(n.hns, o), nil },
	}
	return n
}

// made returns the network that the plugin has made.
func (n *node) made() *hns.Network {
	n.tb.Helper()
	net, err := n.client.Networks.ByName(context.Background(), n.network.Name)
	if err != nil {
		n.tb.Fatal(err)
	}
	n.network = net
	return net
}

// addresses are those of a result.
func addresses(res *types100.Result) []netip.Prefix {
	var out []netip.Prefix
	for _, ip := range res.IPs {
		ones, _ := ip.Address.Mask.Size()
		a, _ := netip.AddrFromSlice(ip.Address.IP)
		out = append(out, netip.PrefixFrom(a, ones))
	}
	return out
}

// natResult is the result of an ADD that never was.
var natResult = &types100.Result{CNIVersion: types100.ImplementedSpecVersion, Interfaces: []*types100.Interface{{Name: "eth0", Sandbox: "x"}},
	IPs: []*types100.IPConfig{{Interface: types100.Int(0), Address: net.IPNet{IP: net.IPv4(10, 4, 0, 7), Mask: net.CIDRMask(24, 32)}}}}

// azureAddresses are those that Azure keeps back, and fakeIPAM would give.
var azureAddresses = []netip.Addr{netip.MustParseAddr("10.50.4.3")}
