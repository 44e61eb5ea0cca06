package flows_test

import (
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// TestVersions: what an HNS does not have yet does nothing that one may count
// on (containernetworking/plugins PR#613, kubernetes/kubernetes#93304).
func TestVersions(t *testing.T) {
	loopback := all(ownBackend, add(mixedcluster.Client, modes.LoopbackDSR(own)...))
	byDSR := all(ownBackend, onFrontends(dsr))
	ports := func(t *testing.T, c *flows.Cluster) {
		for _, node := range []string{mixedcluster.Win1, mixedcluster.Win2} {
			n := network(t, c, node)
			n.Policies = append(n.Policies, hns.VXLANPort{Port: 8472})
		}
	}
	to := flows.Packet{From: client, To: flows.Target{Address: web2}}
	var cases []policyCase
	for _, v := range []struct {
		major, minor uint32
		dsr, port    bool
	}{{9, 2, false, false}, {9, 3, true, false}, {10, 0, false, false}, {10, 2, true, false}, {10, 3, true, true}, {11, 0, true, true}, {15, 4, true, true}, {0, 0, true, true}} {
		name := hns.Version{Major: v.major, Minor: v.minor}.String()
		of := func(has bool, else_ string) string {
			if has {
				return "arrived"
			}
			return else_
		}
		set := version(v.major, v.minor)
		cases = append(cases,
			policyCase{name: name + ", loopback", mode: modes.L2Bridge, change: all(loopback, set), packet: webService(own), want: of(v.dsr, "no-loopback")},
			policyCase{name: name + ", loopback by DSR", mode: modes.L2Bridge, change: all(byDSR, set), packet: webService(own), want: of(v.dsr, "no-loopback")},
			policyCase{name: name + ", DSR", mode: modes.L2Bridge, change: all(onFrontends(dsr), set), packet: webService(web1), want: of(v.dsr, "not judged")},
			policyCase{name: name + ", VXLAN port", mode: modes.Overlay, change: all(ports, set), packet: to, want: of(v.port, "not judged")})
	}
	runPolicyCases(t, cases)
}

// TestLoopbackIsNoVirtualIP: a policy with Destinations and a VirtualIP
// translates what goes there, and lets no pod reach itself.
func TestLoopbackIsNoVirtualIP(t *testing.T) {
	runPolicyCases(t, []policyCase{{name: "with VirtualIP", mode: modes.L2Bridge, packet: webService(own), want: "no-loopback",
		change: all(ownBackend, add(mixedcluster.Client, hns.OutBoundNAT{Destinations: []string{own.String()}, VirtualIP: win1}))}})
}

// TestNodePortsByFamily: a node port without the flag IPv6 is none for IPv6,
// and one with it none for IPv4.
func TestNodePortsByFamily(t *testing.T) {
	six := netip.MustParseAddr("2001:db8::11")
	for _, flags := range []hns.LoadBalancerFlags{0, hns.LoadBalancerIPv6} {
		c := cluster(t, modes.L2Bridge)
		n := nodeOf(t, c, mixedcluster.Win1)
		n.Addresses = append(n.Addresses, six)
		c.Outside = append(c.Outside, flows.Host{Name: "six", Address: netip.MustParseAddr("2001:db8:1::80")})
		nodePort(t, c, modes.L2Bridge, web1, flags)
		e := endpoint(t, c, mixedcluster.Web1)
		e.IPConfigs = append(e.IPConfigs, hns.IPConfig{Address: netip.MustParseAddr("fd00:1::4"), PrefixLength: 64})
		w := world(t, c)
		for _, k := range []struct {
			from, to string
			served   bool
		}{{mixedcluster.WWW, "192.0.2.11", flags == 0}, {"six", six.String(), flags != 0}} {
			tr := w.Trace(flows.Packet{From: flows.Place{Outside: k.from}, To: flows.Target{Address: netip.MustParseAddr(k.to)}, DstPort: 30080})
			balanced := false
			for _, s := range tr.Steps {
				balanced = balanced || s.Object.Kind == flows.KindLoadBalancer
			}
			if balanced != k.served {
				t.Errorf("flags %d, to %s: balanced %t\n%s", flags, k.to, balanced, tr)
			}
		}
	}
}
