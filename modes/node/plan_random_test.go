package node_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/internal/toolbuild"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
)

// documents are the plan's files, as other programs read them.
type documents struct {
	conf struct {
		Name    string
		Plugins []struct {
			Type              string
			MTU               int
			EndpointMacPrefix string
			LoopbackDSR       bool
			IPAM              struct {
				Type   string
				Ranges [][]struct{ Subnet, RangeStart, RangeEnd, Gateway string }
			}
			Policies []struct {
				Value struct {
					Type     string
					Settings struct {
						Exceptions        []netip.Prefix
						DestinationPrefix netip.Prefix
						Flags             int
					}
				}
			}
		}
	}
	network struct {
		Name, Type string
		Flags      int
		Policies   []struct {
			Type     string
			Settings struct{ Port uint16 }
		}
		Ipams []struct {
			Subnets []struct {
				IpAddressPrefix netip.Prefix
				Routes          []struct{ NextHop netip.Addr }
				Policies        []struct{ Settings struct{ IsolationId uint32 } }
			}
		}
	}
	env map[string]string
}

func documentsOf(t *testing.T, path string, p *node.Plan) *documents {
	t.Helper()
	doc := &documents{env: map[string]string{}}
	network, err := p.Network.Network.Encode()
	if err == nil {
		err = json.Unmarshal(network, &doc.network)
	}
	if err == nil {
		err = json.Unmarshal(p.Conflist, &doc.conf)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WriteSubnetEnv(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		k, v, _ := strings.Cut(line, "=")
		doc.env[k] = v
	}
	return doc
}

// TestRandomDescriptions plans sound descriptions of all modes, reads what is
// derived as the programs do that it is for, and compares with the model.
func TestRandomDescriptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subnet.env")
	for seed := range uint64(300) {
		g := &generated{Rand: rand.New(rand.NewPCG(seed, 2))}
		d := g.description()
		p, err := d.Plan()
		if err != nil {
			t.Fatalf("seed %d: %+v\n%v", seed, d, err)
		}
		doc, m := documentsOf(t, path, p), modelOf(d)
		checkNetworkDocument(t, d, m, doc)
		checkPool(t, d, m, doc)
		if len(p.Reserved) != len(m.reserved) {
			t.Errorf("reserved %v", p.Reserved)
		}
		checkTranslation(t, g, doc, p)
		checkFiles(t, d, m, doc, p)
		if t.Failed() {
			t.Fatalf("seed %d: %+v\n%s", seed, d, show(t, p))
		}
	}
}

func checkNetworkDocument(t *testing.T, d node.Description, m model, doc *documents) {
	n := &doc.network
	if n.Name != d.Name || n.Type != string(d.Mode) || doc.conf.Name != d.Name || len(n.Ipams[0].Subnets) != len(d.Subnets) {
		t.Errorf("network %+v", n)
	}
	for i, s := range n.Ipams[0].Subnets {
		if s.IpAddressPrefix != d.Subnets[i] || len(s.Routes) != 1 {
			t.Errorf("subnet %+v", s)
		}
		byNode := d.Mode == modes.L2Bridge && d.GatewayRule != modes.GatewaySubnet
		if hop := s.Routes[0].NextHop; !byNode && hop != m.gateways[i] || byNode && hop == m.gateways[i] {
			t.Errorf("HNS has %s, pods use %s", hop, m.gateways[i])
		}
		if d.Mode == modes.Overlay && (len(s.Policies) != 1 || s.Policies[0].Settings.IsolationId != d.VNI) {
			t.Errorf("VNI %+v", s.Policies)
		}
	}
	var port uint16 = 4789
	for _, p := range n.Policies {
		if p.Type == "VxlanPort" {
			port = p.Settings.Port
		}
	}
	if d.Mode == modes.Overlay && port != d.VXLANPort {
		t.Errorf("port %d", port)
	}
	if kept := n.Flags&8 == 0; kept != d.Persistent && d.Mode != modes.NAT {
		t.Errorf("flags %d", n.Flags)
	}
}

// checkPool counts out what host-local can hand out: all but the reserved.
func checkPool(t *testing.T, d node.Description, m model, doc *documents) {
	ranges := doc.conf.Plugins[0].IPAM.Ranges
	if len(ranges) != len(d.Subnets) {
		t.Fatalf("ranges %+v", ranges)
	}
	for i, s := range d.Subnets {
		can := map[netip.Addr]bool{}
		for _, r := range ranges[i] {
			if r.Subnet != s.String() || r.Gateway != m.gateways[i].String() {
				t.Errorf("range %+v of %s, gateway %s", r, s, m.gateways[i])
			}
			// host-local: from the second address to the last but one, gateway excepted.
			first, last := nth(s, 1), nth(s, size(s)-2)
			if r.RangeStart != "" {
				first = addr(r.RangeStart)
			}
			if r.RangeEnd != "" && addr(r.RangeEnd).Less(last) {
				last = addr(r.RangeEnd)
			}
			for a := first; !last.Less(a); a = a.Next() {
				if a != m.gateways[i] {
					can[a] = true
				}
			}
		}
		for n := range size(s) - 1 {
			if a := nth(s, n); can[a] == m.reserved[a] {
				t.Errorf("%s: handed out %t, reserved %t", a, can[a], m.reserved[a])
			}
		}
		if last := nth(s, size(s)-1); s.Addr().Is4() && size(s) == size32(s) && can[last] {
			t.Errorf("broadcast address %s is handed out", last)
		}
	}
}

// checkTranslation asks for addresses inside and outside of the cluster whether
// they are excepted from source NAT.
func checkTranslation(t *testing.T, g *generated, doc *documents, p *node.Plan) {
	d := &g.d
	want := slices.Concat(d.ClusterCIDRs, d.ServiceCIDRs, d.NATExceptions)
	for _, a := range d.NodeAddresses {
		if d.Mode != modes.Overlay {
			want = append(want, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	var except, led []netip.Prefix
	nats := map[int]int{}
	for _, pol := range doc.conf.Plugins[0].Policies {
		switch s := pol.Value.Settings; pol.Value.Type {
		case "OutBoundNAT":
			except = append(except, s.Exceptions...)
			nats[s.Flags]++
			for _, e := range s.Exceptions {
				if e.Addr().Is4() != (s.Flags == 0) {
					t.Errorf("exception %s with the flags %d", e, s.Flags)
				}
			}
		case "SDNRoute":
			led = append(led, s.DestinationPrefix)
		}
	}
	if !d.IPMasq || !byTheNode(d.Mode) {
		if len(nats) > 0 {
			t.Errorf("source NAT: %v", nats)
		}
		want = nil
	} else if nats[0] != 1 || nats[2] != len(d.Subnets)-1 {
		t.Errorf("source NAT by flags: %v", nats)
	}
	holds := func(a netip.Addr) func(netip.Prefix) bool { return func(p netip.Prefix) bool { return p.Contains(a) } }
	for range 40 {
		a := nth(g.part(netip.MustParsePrefix("0.0.0.0/0"), 32), 0)
		if len(want) > 0 && g.maybe() {
			w := want[g.IntN(len(want))]
			a = nth(g.part(w, w.Addr().BitLen()), 0)
		}
		carried := a.Is4() || len(d.Subnets) == 2
		if got := slices.ContainsFunc(except, holds(a)); got != (carried && slices.ContainsFunc(want, holds(a))) {
			t.Errorf("%s excepted: %t, exceptions %v", a, got, except)
		}
		if got := slices.ContainsFunc(led, holds(a)); byTheNode(d.Mode) && carried && slices.ContainsFunc(d.ServiceCIDRs, holds(a)) != got && !slices.ContainsFunc(d.NodeAddresses, func(n netip.Addr) bool { return n == a }) {
			t.Errorf("service %s led: %t", a, got)
		}
	}
}

func checkFiles(t *testing.T, d node.Description, m model, doc *documents, p *node.Plan) {
	plugin := doc.conf.Plugins[0]
	if plugin.MTU != m.mtu || doc.env["FLANNEL_MTU"] != fmt.Sprint(m.mtu) || plugin.LoopbackDSR != d.DSR {
		t.Errorf("MTU %d, plugin %+v, environment %v", m.mtu, plugin, doc.env)
	}
	for i, key := range []string{"FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET"} {
		want := ""
		if i < len(d.Subnets) {
			want = netip.PrefixFrom(nth(d.Subnets[i], 1), d.Subnets[i].Bits()).String()
		}
		if doc.env[key] != want {
			t.Errorf("%s=%s, want %s", key, doc.env[key], want)
		}
	}
	var cidrs, carried []string
	families := map[bool]int{}
	for _, c := range d.ClusterCIDRs {
		cidrs = append(cidrs, c.String())
		families[c.Addr().Is4()]++
		if c.Addr().Is4() || len(d.Subnets) == 2 {
			carried = append(carried, c.String())
		}
	}
	if got := strings.Trim(doc.env["FLANNEL_NETWORK"]+","+doc.env["FLANNEL_IPV6_NETWORK"], ","); got != strings.Join(carried, ",") || doc.env["FLANNEL_IPMASQ"] != fmt.Sprint(d.IPMasq) {
		t.Errorf("environment %v for %v", doc.env, cidrs)
	}
	if (p.KubeProxy != nil) != byTheNode(d.Mode) {
		t.Errorf("kube-proxy %+v", p.KubeProxy)
	}
	if p.KubeProxy == nil {
		return
	}
	args := strings.Join(p.KubeProxy.Args(), " ")
	for flag, want := range map[string]bool{
		"--network-name=" + d.Name: true, "--source-vip=" + m.vip.String(): m.vip.IsValid(), "--enable-dsr=true": d.DSR,
		"--cluster-cidr=" + strings.Join(cidrs, ","): families[true] == 1 && families[false] <= 1,
	} {
		if strings.Contains(args+" ", flag+" ") != want {
			t.Errorf("%s: want %t in %s", flag, want, args)
		}
	}
}

// TestHostLocalPools empties planned pools with the real plugin: no pod gets a
// reserved address, and every other is handed out
// (kubernetes/kubernetes#74766, microsoft/SDN#333).
func TestHostLocalPools(t *testing.T) {
	tool, err := toolbuild.HostLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[modes.Mode]int{}
	for seed := uint64(0); len(seen) < 5 || min(seen[modes.L2Bridge], seen[modes.L2Tunnel], seen[modes.Overlay], seen[modes.Transparent], seen[modes.NAT]) < 2; seed++ {
		g := &generated{Rand: rand.New(rand.NewPCG(seed, 3))}
		d := g.description()
		if d.Subnets[0].Bits() < 28 || len(d.Subnets) > 1 || seen[d.Mode] == 2 {
			continue
		}
		seen[d.Mode]++
		d.DataDir = t.TempDir()
		p, m := planOf(t, d), modelOf(d)
		conf, err := json.Marshal(map[string]any{"cniVersion": "1.0.0", "name": d.Name, "type": d.Plugin, "ipam": p.IPAM})
		if err != nil {
			t.Fatal(err)
		}
		got := map[netip.Addr]bool{}
		for i := 0; ; i++ {
			lease, err := (&ipam.Delegated{}).Allocate(t.Context(), ipam.Request{ContainerID: fmt.Sprint("pod", i), IfName: "eth0", Netns: "ns",
				PluginPath: []string{filepath.Dir(tool)}, Config: conf})
			if err != nil {
				if !strings.Contains(err.Error(), "no IP addresses available") {
					t.Fatal(err)
				}
				break
			}
			a := lease.Addresses[0]
			if got[a.Prefix.Addr()] || m.reserved[a.Prefix.Addr()] || a.Gateway != m.gateways[0] || a.Prefix.Masked() != d.Subnets[0] {
				t.Errorf("%s: handed out %+v, reserved %v", d.Mode, a, p.Reserved)
			}
			got[a.Prefix.Addr()] = true
		}
		if uint32(len(got)+len(m.reserved)) != size32(d.Subnets[0]) {
			t.Errorf("%s: %s has %d addresses for pods and %d reserved", d.Mode, d.Subnets[0], len(got), len(m.reserved))
		}
	}
}

// TestRandomFaults breaks sound descriptions in one place, and wants the path of
// that place.
func TestRandomFaults(t *testing.T) {
	apart := func(d node.Description) bool { return d.Mode != modes.Transparent && d.Mode != modes.L2Tunnel }
	overlay := func(d node.Description) bool { return d.Mode == modes.Overlay }
	linux := func(d node.Description) bool { return d.Linux != nil }
	all := func(node.Description) bool { return true }
	faults := []struct {
		path string
		can  func(node.Description) bool
		do   func(*generated)
	}{
		{"Linux.VNI", linux, func(g *generated) { g.d.Linux.VNI ^= 1 << g.IntN(16) }},
		{"Linux.VNI", linux, func(g *generated) { g.d.Linux.VNI = 0 }}, // flannel's 1
		{"Linux.Port", linux, func(g *generated) { g.d.Linux.Port ^= 1 << g.IntN(16) }},
		{"Linux", func(d node.Description) bool { return !overlay(d) }, func(g *generated) { g.d.Linux = &node.LinuxVXLAN{VNI: 4096, Port: 4789} }},
		{"VNI", overlay, func(g *generated) { g.d.VNI = 65536 + g.Uint32N(1<<25) }},
		{"VNI", overlay, func(g *generated) { g.d.VNI = 1 + g.Uint32N(4095) }},
		{"Subnets[0]", all, func(g *generated) { g.d.Subnets[0] = g.part(netip.MustParsePrefix("192.168.0.0/16"), 24) }},
		{"NodeAddresses[0]", apart, func(g *generated) { g.d.NodeAddresses[0] = nth(g.part(g.d.ClusterCIDRs[0], 32), 0) }},
		{"NodeAddresses[0]", func(d node.Description) bool { return len(d.ServiceCIDRs) > 0 }, func(g *generated) { g.d.NodeAddresses[0] = nth(g.part(g.d.ServiceCIDRs[0], 32), 0) }},
		{"ServiceCIDRs[0]", all, func(g *generated) { g.d.ServiceCIDRs = []netip.Prefix{g.part(g.d.ClusterCIDRs[0], 20)} }},
		{"LinkMTU", all, func(g *generated) { g.d.LinkMTU = 1 + g.IntN(575) }},
		{"Gateways[0]", all, func(g *generated) {
			g.d.Gateways = []netip.Addr{nth(g.part(netip.MustParsePrefix("192.168.0.0/16"), 32), 0)}
		}},
		{"SourceVIP", overlay, func(g *generated) { g.d.SourceVIP = modelOf(g.d).gateways[0] }},
		{"Reserved[0]", all, func(g *generated) { g.d.Reserved = []ipam.Reservation{{Address: addr("192.168.1.1")}} }},
		{"IPMasq", func(d node.Description) bool { return !byTheNode(d.Mode) }, func(g *generated) { g.d.IPMasq = !g.d.IPMasq }},
	}
	tried := make([]int, len(faults))
	for seed := range uint64(100) {
		for i, f := range faults {
			g := &generated{Rand: rand.New(rand.NewPCG(seed, 4))}
			if !f.can(g.description()) {
				continue
			}
			f.do(g)
			tried[i]++
			p, err := g.d.Plan()
			if p != nil || err == nil || !slices.Contains(pathsOf(err), f.path) {
				t.Errorf("seed %d: want a complaint about %s: %v\n%+v", seed, f.path, err, g.d)
			}
		}
	}
	if slices.Min(tried) < 5 {
		t.Errorf("tried %v", tried)
	}
}
