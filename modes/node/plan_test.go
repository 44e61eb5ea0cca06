package node_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/subnetenv"
)

func planOf(tb testing.TB, d node.Description) *node.Plan {
	tb.Helper()
	p, err := d.Plan()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestGolden shows all that is derived, for each mode.
func TestGolden(t *testing.T) {
	all := descriptions()
	maps.Copy(all, furtherDescriptions())
	for name, d := range all {
		t.Run(name, func(t *testing.T) {
			golden.File(t, filepath.Join("testdata", "golden", name+".txt"), show(t, planOf(t, d)))
		})
	}
	files, err := filepath.Glob("testdata/golden/*.txt")
	if err != nil || len(files) != len(all) {
		t.Errorf("%d golden files for %d descriptions (%v)", len(files), len(all), err)
	}
}

func show(t *testing.T, p *node.Plan) string {
	var b strings.Builder
	section := func(name string) { fmt.Fprintf(&b, "\n--- %s\n", name) }
	document := func(doc json.RawMessage, err error) {
		var out bytes.Buffer
		if err == nil {
			err = json.Indent(&out, doc, "", "  ")
		}
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(out.String() + "\n")
	}
	fmt.Fprintf(&b, "gateways of pods: %v\nMTU of pods: %d\nexceptions of source NAT: %v\n", p.Gateways, p.MTU, p.NATExceptions)
	section("HNS network")
	document(p.Network.Network.Encode())
	section("added to the live network")
	for _, a := range p.Network.AddPolicies {
		b.WriteString(a.PolicyType() + "\n")
	}
	if p.HostEndpoint != nil {
		section("endpoint of the node")
		document(p.HostEndpoint.Encode())
	}
	section("addresses that no pod may have")
	for _, r := range p.Reserved {
		b.WriteString(r.String() + "\n")
	}
	section("CNI configuration")
	b.Write(p.Conflist)
	if p.SubnetEnv != nil {
		section("subnet.env")
		b.Write(subnetenv.Format(p.SubnetEnv))
	}
	if k := p.KubeProxy; k != nil {
		section("kube-proxy")
		fmt.Fprintf(&b, "%s\nfeature gates: %v\n", strings.Join(k.Args(), "\n"), k.FeatureGates)
	}
	section("requirements")
	for _, r := range p.Requirements() {
		b.WriteString(r.String() + "\n")
	}
	section("warnings")
	for _, w := range p.Warnings {
		b.WriteString(w.Error() + "\n")
	}
	return b.String()
}

// conflistOf reads the parts of the CNI configuration that must agree with
// others.
type conflistOf struct {
	Name    string
	Plugins []struct {
		Type, EndpointMacPrefix string
		MTU                     int
		IPAM                    json.RawMessage
		Policies                []struct{ Value json.RawMessage }
	}
}

// TestEverythingAgrees reads back each thing that is derived, as the program
// does that it is for, and compares it with the others.
func TestEverythingAgrees(t *testing.T) {
	all := descriptions()
	maps.Copy(all, furtherDescriptions())
	for name, d := range all {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, d)
			var conf conflistOf
			if err := json.Unmarshal(p.Conflist, &conf); err != nil {
				t.Fatal(err)
			}
			plugin := conf.Plugins[0]
			if conf.Name != p.Network.Network.Name {
				t.Errorf("CNI network %q, HNS network %q", conf.Name, p.Network.Network.Name)
			}
			if p.KubeProxy != nil && p.KubeProxy.NetworkName != conf.Name {
				t.Errorf("kube-proxy is told %q", p.KubeProxy.NetworkName)
			}
			link := p.Description.LinkMTU
			if p.MTU+d.Mode.Facts().MTUOverhead != link || plugin.MTU != p.MTU {
				t.Errorf("MTU %d, of the plugin %d, on a link of %d with %d overhead", p.MTU, plugin.MTU, link, d.Mode.Facts().MTUOverhead)
			}
			checkGateways(t, p)
			checkIPAM(t, p, plugin.IPAM)
			checkSubnetEnv(t, p)
			var policies []hns.EndpointPolicy
			for _, v := range plugin.Policies {
				pol, err := hns.DecodeEndpointPolicy(v.Value)
				if err == nil {
					err = hns.CheckEndpointPolicy(pol)
				}
				if err != nil {
					t.Fatal(err)
				}
				policies = append(policies, pol)
			}
			checkExceptions(t, p, policies)
			for _, f := range modes.CheckNetwork(p.Network.Network) {
				if f.Severity == modes.SeverityError {
					t.Error(f)
				}
			}
			checkTwice(t, d, p)
		})
	}
}

// checkGateways wants each gateway to be where its rule says, and somebody to
// have it.
func checkGateways(t *testing.T, p *node.Plan) {
	var held []netip.Addr // by HNS, the node or the physical router
	for _, s := range p.Network.Network.Subnets() {
		held = append(held, s.Gateway())
	}
	if p.HostEndpoint != nil {
		held = p.HostEndpoint.Addresses()
	}
	if !slices.Equal(held, p.Gateways) {
		t.Errorf("pods use the gateways %v, and there are %v", p.Gateways, held)
	}
	want := map[bool]uint64{true: 2, false: 1}[p.Description.GatewayRule == modes.GatewayHostEndpoint]
	for i, s := range p.Description.Subnets {
		if a, _ := ipam.Nth(s, want); a != p.Gateways[i] && !slices.Contains(p.Description.Gateways, p.Gateways[i]) {
			t.Errorf("gateway %s of %s, the rule %s says %s", p.Gateways[i], s, p.Description.GatewayRule, a)
		}
	}
}

// checkIPAM counts out what the plugin could hand out.
func checkIPAM(t *testing.T, p *node.Plan, text json.RawMessage) {
	if len(p.Description.Subnets) == 0 {
		if text != nil {
			t.Errorf("IPAM without subnets: %s", text)
		}
		return
	}
	conf, err := ipam.ParseHostLocal(text)
	if err != nil {
		t.Fatal(err)
	}
	for i, set := range conf.Sets {
		var free uint64
		for _, r := range set {
			if r.Subnet != p.Description.Subnets[i] || r.GatewayAddress() != p.Gateways[i] {
				t.Errorf("range of %s with gateway %s", r.Subnet, r.GatewayAddress())
			}
			for a := r.First(); a.Compare(r.Last()) <= 0 && free < 1<<16; a = a.Next() {
				if a == r.GatewayAddress() {
					continue // never handed out
				}
				free++
				if j := slices.IndexFunc(p.Reserved, func(x ipam.Reservation) bool { return x.Address == a }); j >= 0 {
					t.Errorf("IPAM can hand out %s", p.Reserved[j])
				}
			}
		}
		var taken uint64
		for _, r := range p.Reserved {
			if p.Description.Subnets[i].Contains(r.Address) {
				taken++
			}
		}
		if bits := p.Description.Subnets[i].Addr().BitLen() - p.Description.Subnets[i].Bits(); bits < 16 && free+taken != 1<<bits {
			t.Errorf("%d addresses for pods, %d reserved, of %d", free, taken, 1<<bits)
		}
	}
	for _, want := range append(slices.Clone(p.Gateways), p.Description.SourceVIP) {
		if want.IsValid() && !slices.ContainsFunc(p.Reserved, func(x ipam.Reservation) bool { return x.Address == want }) {
			t.Errorf("%s is not reserved", want)
		}
	}
}

func checkSubnetEnv(t *testing.T, p *node.Plan) {
	d := &p.Description
	if p.SubnetEnv == nil {
		if len(d.Subnets) > 0 && len(d.ClusterCIDRs) > 0 {
			t.Error("no subnet.env")
		}
		if err := p.WriteSubnetEnv(filepath.Join(t.TempDir(), "subnet.env")); err == nil {
			t.Error("a subnet.env that there is not was written")
		}
		return
	}
	path := filepath.Join(t.TempDir(), "flannel", "subnet.env")
	if err := p.WriteSubnetEnv(path); err != nil {
		t.Fatal(err)
	}
	env, err := subnetenv.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	got := []netip.Prefix{env.MaskedSubnet()}
	if env.HasIPv6() {
		got = append(got, env.MaskedIPv6Subnet())
	}
	if !slices.Equal(got, d.Subnets) || env.MTU != p.MTU || env.IPMasq != d.IPMasq {
		t.Errorf("subnet.env %+v", env)
	}
	if err := node.CheckSubnetEnv(env, p.Network.Network); err != nil {
		t.Error(err)
	}
}

// checkExceptions wants NAT to leave all of the cluster alone, in each family
// that pods have.
func checkExceptions(t *testing.T, p *node.Plan, policies []hns.EndpointPolicy) {
	d := &p.Description
	var all []string
	nats := hns.PoliciesOf[hns.OutBoundNAT](policies)
	for _, nat := range nats {
		all = append(all, nat.Exceptions...)
	}
	byHNS := d.Mode == modes.L2Bridge || d.Mode == modes.L2Tunnel || d.Mode == modes.Overlay
	if !d.IPMasq || !byHNS {
		if len(nats)+len(p.NATExceptions) > 0 {
			t.Errorf("source NAT that nobody asked for: %v", nats)
		}
		return
	}
	for _, c := range slices.Concat(d.ClusterCIDRs, d.ServiceCIDRs, d.NATExceptions) {
		v4 := c.Addr().Is4()
		has := slices.ContainsFunc(d.Subnets, func(s netip.Prefix) bool { return s.Addr().Is4() == v4 })
		if slices.Contains(all, c.String()) != has {
			t.Errorf("exceptions %v, of which %s, pods of the family: %t", all, c, has)
		}
	}
}

// checkTwice wants the same plan of the same description, and of a plan's own.
func checkTwice(t *testing.T, d node.Description, p *node.Plan) {
	for _, again := range []node.Description{d, p.Description} {
		if a, b := show(t, planOf(t, again)), show(t, p); a != b {
			t.Errorf("planned again:\n%s\nbefore:\n%s", a, b)
		}
	}
}

// TestPlanKeepsNothing: what is done to the description afterwards is not done to
// the plan.
func TestPlanKeepsNothing(t *testing.T) {
	for name := range descriptions() {
		d := descriptions()[name]
		d.Reserved = []ipam.Reservation{{Address: d.Subnets[0].Addr().Next(), Reason: "twice"}}
		p := planOf(t, d)
		before := show(t, p) + fmt.Sprintf("%+v", p.Description)
		for _, list := range [][]netip.Prefix{d.Subnets, d.ClusterCIDRs, d.ServiceCIDRs, d.NATExceptions} {
			clear(list)
		}
		clear(d.Gateways)
		clear(d.NodeAddresses)
		clear(d.Reserved)
		clear(d.DNS.Servers)
		if after := show(t, p) + fmt.Sprintf("%+v", p.Description); after != before {
			t.Errorf("%s: %s\nbefore %s", name, after, before)
		}
	}
}

// TestSourceVIP: without being told, the plan takes what nobody else has.
func TestSourceVIP(t *testing.T) {
	d := descriptions()["overlay"]
	d.Gateways = addrs("10.244.3.2")
	d.Reserved = []ipam.Reservation{{Address: addr("10.244.3.3"), Reason: "a router"}}
	if p := planOf(t, d); p.KubeProxy.SourceVIP != addr("10.244.3.4") {
		t.Errorf("%s", p.KubeProxy.SourceVIP)
	}
	d.SourceVIP = addr("10.244.3.77")
	if p := planOf(t, d); p.KubeProxy.SourceVIP != d.SourceVIP {
		t.Errorf("%s", p.KubeProxy.SourceVIP)
	}
}

// TestWriteConflist replaces what is there.
func TestWriteConflist(t *testing.T) {
	p := planOf(t, descriptions()["overlay"])
	path := filepath.Join(t.TempDir(), "net.d", "10-flannel.conflist")
	for range 2 {
		if err := p.WriteConflist(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, p.Conflist) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestStaleSubnetEnv is of a node that got another pod subnet
// (flannel-io/flannel#556, flannel-io/flannel#1182, lf-edge/eve#6614).
func TestStaleSubnetEnv(t *testing.T) {
	p := planOf(t, descriptions()["l2bridge"])
	env := *p.SubnetEnv
	env.Subnet = netip.MustParsePrefix("10.244.8.1/24")
	err := node.CheckSubnetEnv(&env, p.Network.Network)
	var fe *hns.FieldError
	if !errors.As(err, &fe) || fe.Path != "FLANNEL_SUBNET" || fe.Value != "10.244.8.1/24" || !strings.Contains(fe.Reason, "10.244.3.0/24") {
		t.Errorf("%v", err)
	}
}

// TestNil: what is not there is an error, or nothing.
func TestNil(t *testing.T) {
	p := planOf(t, descriptions()["nat"])
	if _, err := node.Ensure(t.Context(), nil, nil, p, nil); err == nil {
		t.Error("no client, no error")
	}
	if node.CheckSubnetEnv(nil, p.Network.Network) == nil || node.CheckSubnetEnv(&subnetenv.Env{}, nil) == nil {
		t.Error("nothing to compare, and no error")
	}
	if p.KubeProxy.Args() != nil {
		t.Error("arguments of no kube-proxy")
	}
}

// TestRefused gives the paths of all that is wrong, all at once.
func TestRefused(t *testing.T) {
	change := func(name string, f func(*node.Description)) node.Description {
		d := descriptions()[name]
		f(&d)
		return d
	}
	tests := map[string]struct {
		d    node.Description
		want string
	}{
		"nothing at all": {node.Description{}, "Mode"},
		"empty L2Bridge": {node.Description{Mode: modes.L2Bridge}, "ClusterCIDRs NodeAddresses Name Subnets"},
		"empty L2Tunnel": {node.Description{Mode: modes.L2Tunnel}, "Plugin ClusterCIDRs NodeAddresses Name Subnets"},
		"names":          {change("overlay", func(d *node.Description) { d.Name, d.Plugin = "a b", `..\evil` }), "Name Plugin"},
		"Linux's defaults (flannel-io/flannel#1215)": {change("overlay", func(d *node.Description) { d.Linux = &node.LinuxVXLAN{} }), "Linux.VNI Linux.Port"},
		"another VNI and port on Linux":              {change("overlay", func(d *node.Description) { d.VNI, d.VXLANPort = 5000, 8472 }), "Linux.VNI Linux.Port"},
		"Linux wraps, this node not":                 {change("l2bridge", func(d *node.Description) { d.Linux = &node.LinuxVXLAN{VNI: 4096, Port: 4789} }), "Linux"},
		"VNI 1 (moby/libnetwork#1843)":               {change("overlay", func(d *node.Description) { d.VNI, d.Linux = 1, nil }), "VNI"},
		"VNI 4095":                                   {change("overlay", func(d *node.Description) { d.VNI, d.Linux = 4095, nil }), "VNI"},
		"VNI 65536":                                  {change("overlay", func(d *node.Description) { d.VNI, d.Linux = 65536, nil }), "VNI"},
		"VNI 70000, which clients cut off":           {change("overlay", func(d *node.Description) { d.VNI, d.Linux = 70000, nil }), "VNI"},
		"VNI 16777215":                               {change("overlay", func(d *node.Description) { d.VNI, d.Linux = 16777215, nil }), "VNI"},
		"VNI where there is none":                    {change("l2bridge", func(d *node.Description) { d.VNI, d.MACPrefix, d.SourceVIP = 4096, "0E-2A", addr("10.244.3.9") }), "SourceVIP MACPrefix VNI"},
		"MAC prefix":                                 {change("overlay", func(d *node.Description) { d.MACPrefix = "01-00" }), "MACPrefix"},
		"ranges": {change("l2bridge", func(d *node.Description) {
			d.ClusterCIDRs = append(prefixes("10.244.0.0/16", "10.244.128.0/17", "10.0.0.1/8", "0.0.0.0/0"), netip.Prefix{})
			d.ServiceCIDRs = prefixes("10.244.1.0/24")
		}), "ClusterCIDRs[1] ClusterCIDRs[2] ClusterCIDRs[2] ClusterCIDRs[3] ClusterCIDRs[4] ServiceCIDRs[0]"},
		"pod subnet of another cluster": {change("overlay", func(d *node.Description) { d.Subnets = prefixes("10.245.3.0/24") }), "Subnets[0]"},
		"node addresses": {change("overlay", func(d *node.Description) {
			d.NodeAddresses = append(addrs("10.244.3.7", "10.96.0.1", "169.254.3.4", "fe80::1"), netip.Addr{})
		}), "NodeAddresses[0] NodeAddresses[1] NodeAddresses[1] NodeAddresses[2] NodeAddresses[3] NodeAddresses[4]"},
		"IPv6 pods without an IPv6 node": {change("l2bridge", func(d *node.Description) {
			d.Subnets, d.ClusterCIDRs = prefixes("10.244.3.0/24", "fd00:244:0:3::/64"), prefixes("10.244.0.0/16", "fd00:244::/48")
		}), "NodeAddresses"},
		"node address among other nodes' pods": {change("l2bridge", func(d *node.Description) { d.NodeAddresses = addrs("10.244.9.9") }), "NodeAddresses[0]"},
		"gateway is the node's place":          {change("l2bridge", func(d *node.Description) { d.Gateways = addrs("10.244.3.2") }), "Gateways[0]"},
		"gateway of another subnet":            {change("overlay", func(d *node.Description) { d.Gateways = addrs("10.1.1.1") }), "Gateways[0]"},
		"gateway given":                        {change("overlay", func(d *node.Description) { d.GatewayRule = modes.GatewayGiven }), "GatewayRule"},
		"node's endpoint on Overlay":           {change("overlay", func(d *node.Description) { d.GatewayRule = modes.GatewayHostEndpoint }), "GatewayRule"},
		"link too small":                       {change("overlay", func(d *node.Description) { d.LinkMTU = 600 }), "LinkMTU"},
		"DNS":                                  {change("l2bridge", func(d *node.Description) { d.DNS.Servers[0], d.DNS.Domain = netip.Addr{}, "a..b" }), "DNS.Servers[0] DNS.Domain"},
		"DNS without servers":                  {change("l2bridge", func(d *node.Description) { d.DNS.Servers, d.DNS.Domain = nil, "a.b" }), "DNS.Servers"},
		"source VIP elsewhere":                 {change("overlay", func(d *node.Description) { d.SourceVIP = addr("10.244.4.2") }), "SourceVIP"},
		"source VIP is the gateway":            {change("overlay", func(d *node.Description) { d.SourceVIP = addr("10.244.3.1") }), "SourceVIP"},
		"reserved elsewhere":                   {change("nat", func(d *node.Description) { d.Reserved = []ipam.Reservation{{Address: addr("10.1.1.1")}, {}} }), "Reserved[0] Reserved[1]"},
		"no room for pods":                     {change("overlay", func(d *node.Description) { d.Subnets = prefixes("10.244.3.0/30") }), "Subnets"},
		"NAT of Transparent":                   {change("transparent", func(d *node.Description) { d.IPMasq, d.NATExceptions = true, prefixes("10.0.0.0/8") }), "IPMasq NATExceptions[0]"},
		"no NAT on NAT":                        {change("nat", func(d *node.Description) { d.IPMasq, d.DSR = false, true }), "IPMasq DSR"},
		"exceptions from nothing":              {change("l2bridge", func(d *node.Description) { d.IPMasq, d.NATExceptions = false, prefixes("10.0.0.0/8") }), "NATExceptions[0]"},
		"IPv6 on Overlay": {change("overlay", func(d *node.Description) {
			d.Subnets, d.ClusterCIDRs = prefixes("10.244.3.0/24", "fd00:244:0:3::/64"), prefixes("10.244.0.0/16", "fd00:244::/48")
		}), "Subnets[1]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := tt.d.Plan()
			if err == nil {
				t.Fatalf("planned: %+v", p)
			}
			got := strings.Join(pathsOf(err), " ")
			if got != tt.want {
				t.Errorf("paths %s\nwant  %s\n%v", got, tt.want, err)
			}
		})
	}
}

// pathsOf returns the paths of all complaints, in order.
func pathsOf(err error) []string {
	switch e := err.(type) {
	case *hns.FieldError:
		return []string{e.Path}
	case *modes.UnsupportedError:
		return []string{e.Path}
	case interface{ Unwrap() error }:
		return pathsOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		var out []string
		for _, inner := range e.Unwrap() {
			out = append(out, pathsOf(inner)...)
		}
		return out
	}
	return []string{"?"}
}
