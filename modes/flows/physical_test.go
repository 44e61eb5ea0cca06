package flows_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// withoutPodRoutes takes the routes to pod subnets from all nodes.
func withoutPodRoutes(t *testing.T, c *flows.Cluster) {
	t.Helper()
	for i := range c.Nodes {
		s := &flows.IPStack{}
		if w := c.Nodes[i].Windows; w != nil {
			s = w.Host
		} else {
			s = &c.Nodes[i].Linux.IPStack
		}
		s.Routes = slices.DeleteFunc(s.Routes, func(r flows.Route) bool { return r.Destination.Bits() > 0 })
	}
}

// TestRoutesOfACloud: with the cloud's routes nodes need none of their own.
func TestRoutesOfACloud(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	withoutPodRoutes(t, c)
	packet := flows.Packet{From: client, To: flows.Target{Address: web2}}
	if tr := world(t, c).Trace(packet); tr.Works() || tr.Diagnosis.Reason != flows.NoRoute || tr.Diagnosis.Object.Node != mixedcluster.Win1 {
		t.Errorf("without any route:\n%s", tr)
	}
	for _, n := range c.Nodes {
		c.Physical.Routes = append(c.Physical.Routes, flows.Route{Destination: n.PodSubnets[0], NextHop: n.Addresses[0]})
	}
	col := world(t, c).Nine()[0]
	for _, cell := range col.Cells {
		if cell.Verdict != flows.Yes {
			t.Errorf("%s: %s: %v", cell.Flow, cell, cell.Why())
		}
	}
	c.Physical.Routes[1].NextHop = netip.MustParseAddr("192.0.2.99")
	tr := world(t, c).Trace(packet)
	if tr.Works() || tr.Diagnosis.Reason != flows.WrongRoute || tr.Diagnosis.Object.Kind != flows.KindPhysical || !strings.Contains(tr.Diagnosis.Object.Detail, "10.244.2.0/24") {
		t.Errorf("a route of the cloud that leads to nobody:\n%s", tr)
	}
}

// TestGatewayOfTheSubnet: where the subnet's gateway is a router, as with Azure
// CNI, pods are led through it and not through the node.
func TestGatewayOfTheSubnet(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	for _, n := range c.Nodes {
		c.Physical.Routes = append(c.Physical.Routes, flows.Route{Destination: n.PodSubnets[0], NextHop: n.Addresses[0]})
		c.Physical.Routers = append(c.Physical.Routers, n.PodSubnets[0].Addr().Next())
	}
	for _, p := range []string{mixedcluster.Client, mixedcluster.Web2} {
		e := endpoint(t, c, p)
		e.Routes = []hns.Route{hns.DefaultRoute(e.IPConfigs[0].Prefix().Masked().Addr().Next())}
	}
	tr := world(t, c).Trace(flows.Packet{From: client, To: flows.Target{Address: web2}})
	if !tr.Works() || strings.Contains(tr.Text(), "_ep") {
		t.Errorf("%s", tr)
	}
}

// TestOutsideIn: hosts outside reach no pod but by what is published.
func TestOutsideIn(t *testing.T) {
	for m, want := range map[modes.Mode]flows.Reason{modes.L2Bridge: flows.NotPublished, modes.Overlay: flows.NotPublished, modes.NAT: flows.NotPublished} {
		tr := world(t, cluster(t, m)).Trace(flows.Packet{From: www, To: flows.Target{Place: client}})
		if tr.Works() || tr.Diagnosis.Reason != want {
			t.Errorf("%s: %s", m, tr)
		}
	}
}

// TestBlockedUDP: a port that is closed between nodes stops UDP to it, and
// nothing else.
func TestBlockedUDP(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	c.Physical.BlockedUDP = []uint16{80}
	w := world(t, c)
	p := flows.Packet{From: client, To: flows.Target{Address: web2}, DstPort: 80}
	if tr := w.Trace(p); !tr.Works() {
		t.Errorf("TCP: %s", tr)
	}
	p.Protocol = hns.UDP
	if tr := w.Trace(p); tr.Works() || tr.Diagnosis.Reason != flows.UDPBlocked {
		t.Errorf("UDP: %s", tr)
	}
}

// TestTwoFamilies: a pod with both has each packet go by its family.
func TestTwoFamilies(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	six := func(s string) hns.IPConfig { return hns.IPConfig{Address: netip.MustParseAddr(s), PrefixLength: 64} }
	for i, pod := range []string{mixedcluster.Client, mixedcluster.Web1} {
		e := endpoint(t, c, pod)
		e.IPConfigs = append(slices.Clone(e.IPConfigs), six([]string{"fd00:1::3", "fd00:1::4"}[i]))
	}
	n := network(t, c, mixedcluster.Win1)
	n.IPAMs = []hns.IPAM{{Subnets: append(n.Subnets(), hns.Subnet{Prefix: netip.MustParsePrefix("fd00:1::/64")})}}
	w := world(t, c)
	for _, p := range []flows.Packet{
		{From: client, To: flows.Target{Address: netip.MustParseAddr("fd00:1::4")}},
		{From: client, To: flows.Target{Place: flows.Place{Pod: mixedcluster.Web1}}, Protocol: hns.ICMPv6},
	} {
		tr := w.Trace(p)
		if !tr.Works() || tr.Destination != netip.MustParseAddr("fd00:1::4") || tr.Steps[0].Before.Src != netip.MustParseAddr("fd00:1::3") {
			t.Errorf("%s", tr)
		}
	}
	if tr := w.Trace(flows.Packet{From: flows.Place{Pod: mixedcluster.Web2}, To: flows.Target{Address: netip.MustParseAddr("fd00:1::4")}}); tr.Works() || tr.Diagnosis.Reason != flows.NoSuchFamily {
		t.Errorf("a pod without IPv6: %s", tr)
	}
}
