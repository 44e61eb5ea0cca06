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

// TestExceptionsHoldTheLAN: with the nodes' own subnet excepted, hosts there
// see the pods' addresses and do not know them (microsoft/SDN#170).
func TestExceptionsHoldTheLAN(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	c.Outside = append(c.Outside, flows.Host{Name: "printer", Address: netip.MustParseAddr("192.0.2.200")})
	p := flows.Packet{From: client, To: flows.Target{Place: flows.Place{Outside: "printer"}}}
	if tr := world(t, c).Trace(p); !tr.Works() {
		t.Errorf("%s", tr)
	}
	e := endpoint(t, c, mixedcluster.Client)
	e.Policies = slices.Clone(e.Policies)
	for i, x := range e.Policies {
		if nat, ok := x.(hns.OutBoundNAT); ok {
			nat.Exceptions = append(slices.Clone(nat.Exceptions), "192.0.2.0/24")
			e.Policies[i] = nat
		}
	}
	if tr := world(t, c).Trace(p); tr.Works() || tr.Diagnosis.Reason != flows.ExceptionTooWide || !tr.Diagnosis.Reply {
		t.Errorf("%s", tr)
	}
	// With a route back at the router it works.
	c.Physical.Routes = append(c.Physical.Routes, flows.Route{Destination: netip.MustParsePrefix("10.244.1.0/24"), NextHop: win1})
	if tr := world(t, c).Trace(p); !tr.Works() {
		t.Errorf("%s", tr)
	}
}

// TestOuterPackets: VXLAN between nodes on two links needs the nodes' routes,
// as any packet does.
func TestOuterPackets(t *testing.T) {
	c := cluster(t, modes.Overlay)
	far := nodeOf(t, c, mixedcluster.Win1)
	// win-1 moves to another link.
	far.Windows.Host.Adapters[0].Addresses = []netip.Prefix{netip.MustParsePrefix("192.0.2.11/32"), netip.MustParsePrefix("198.51.100.11/24")}
	far.Windows.Host.Routes[0].NextHop = netip.MustParseAddr("198.51.100.1")
	c.Physical.Routers = append(c.Physical.Routers, netip.MustParseAddr("198.51.100.1"))
	p := flows.Packet{From: client, To: flows.Target{Address: web2}}
	if tr := world(t, c).Trace(p); !tr.Works() || !strings.Contains(tr.Text(), "the outer packet") {
		t.Errorf("%s", tr)
	}
	far.Windows.Host.Routes = nil
	if tr := world(t, c).Trace(p); tr.Works() || tr.Diagnosis.Reason != flows.NoRoute || tr.Diagnosis.Object.Node != mixedcluster.Win1 {
		t.Errorf("%s", tr)
	}
}

// TestSameAddressTwice: NAT networks of two nodes may have the same addresses;
// a packet then comes to whom it was not meant for.
func TestSameAddressTwice(t *testing.T) {
	c := cluster(t, modes.NAT)
	other := endpoint(t, c, mixedcluster.Web2)
	other.IPConfigs = []hns.IPConfig{{Address: web1, PrefixLength: 24}}
	tr := world(t, c).Trace(flows.Packet{From: client, To: flows.Target{Place: flows.Place{Pod: mixedcluster.Web2}}})
	if tr.Works() || tr.Diagnosis.Reason != flows.WrongReceiver || !strings.Contains(tr.Diagnosis.Text, mixedcluster.Web1) {
		t.Errorf("%s", tr)
	}
	if tr := world(t, c).Trace(flows.Packet{From: client, To: flows.Target{Place: flows.Place{Pod: mixedcluster.Web1}}}); !tr.Works() {
		t.Errorf("%s", tr)
	}
}

// TestNearestOwner: of several who have an address, the one on the packet's own
// node is meant, where nothing else decides.
func TestNearestOwner(t *testing.T) {
	c := cluster(t, modes.NAT)
	s := nodeOf(t, c, mixedcluster.Win2).Windows.HNS
	s.Networks[0].Type = "Mirrored" // no mode: what it does is not known
	twin := *endpoint(t, c, mixedcluster.Web2)
	twin.ID, twin.Name, twin.IPConfigs = hns.ID{4}, "twin_nat", []hns.IPConfig{{Address: web1, PrefixLength: 24}}
	s.Endpoints = append(s.Endpoints, &twin)
	tr := world(t, c).Trace(flows.Packet{From: flows.Place{Pod: mixedcluster.Web2}, To: flows.Target{Address: web1}})
	if !tr.Works() || !strings.Contains(tr.Text(), `endpoint "twin_nat" on win-2: arrives`) {
		t.Errorf("%s", tr)
	}
}

// TestOverlayIPv6: an address of IPv6 may be stored, and is not carried.
func TestOverlayIPv6(t *testing.T) {
	c := cluster(t, modes.Overlay)
	for i, pod := range []string{mixedcluster.Client, mixedcluster.Web1} {
		e := endpoint(t, c, pod)
		e.IPConfigs = append(slices.Clone(e.IPConfigs), hns.IPConfig{Address: netip.MustParseAddr([]string{"fd00:1::3", "fd00:1::4"}[i]), PrefixLength: 64})
	}
	if tr := world(t, c).Trace(flows.Packet{From: client, To: flows.Target{Address: netip.MustParseAddr("fd00:1::4")}}); tr.Works() || tr.Diagnosis.Reason != flows.NoSuchFamily {
		t.Errorf("%s", tr)
	}
}

// TestAzureSNAT: Azure translates what pods send outside if no policy does;
// where it does not either, the answer is lost.
func TestAzureSNAT(t *testing.T) {
	c := cluster(t, modes.L2Tunnel)
	e := endpoint(t, c, mixedcluster.Client)
	e.Policies = removePolicies(e.Policies, func(p hns.EndpointPolicy) bool { return p.PolicyType() == "OutBoundNAT" })
	p := flows.Packet{From: client, To: flows.Target{Address: wwwAddr}}
	tr := world(t, c).Trace(p)
	if tr.Outcome != flows.Arrived || tr.Certainty != flows.Inferred || !slices.Contains(tr.Needs(), flows.Ref{Kind: flows.KindPhysical, Detail: "virtual network SNAT"}) {
		t.Errorf("%s", tr)
	}
	c.Physical.VNet.SNAT = false
	c.Physical.VNet.Assigned = c.Physical.VNet.Assigned[:0]
	if tr := world(t, c).Trace(p); tr.Works() || tr.Diagnosis.Reason != flows.NotInVNet {
		t.Errorf("an address that Azure does not know: %s", tr)
	}
}

// TestSharedSubnets: a subnet that several nodes claim says nothing about
// where an address is; pods are found all the same.
func TestSharedSubnets(t *testing.T) {
	c := cluster(t, modes.Overlay)
	wide := netip.MustParsePrefix("10.244.0.0/16")
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.PodSubnets = nil
		if n.Windows == nil {
			continue
		}
		net := n.Windows.HNS.Networks[0]
		s := net.Subnets()[0]
		s.Prefix = wide
		net.IPAMs = []hns.IPAM{{Subnets: []hns.Subnet{s}}}
	}
	w := world(t, c)
	for _, to := range []string{mixedcluster.Web1, mixedcluster.Web2, mixedcluster.Web3} {
		if tr := w.Trace(flows.Packet{From: client, To: flows.Target{Place: flows.Place{Pod: to}}}); !tr.Works() {
			t.Errorf("%s: %s", to, tr)
		}
	}
	tr := w.Trace(flows.Packet{From: client, To: flows.Target{Address: netip.MustParseAddr("10.244.9.9")}})
	if tr.Works() || tr.Diagnosis.Reason != flows.NoRemoteSubnetRoute {
		t.Errorf("nobody's address: %s", tr)
	}
}

// TestPlannedHostEndpoint: a document without a state is believed if an
// adapter of the node has its address.
func TestPlannedHostEndpoint(t *testing.T) {
	c := cluster(t, modes.L2Bridge)
	for _, pod := range []string{"cbr0_ep", mixedcluster.Client, mixedcluster.Web1} {
		endpoint(t, c, pod).State = hns.EndpointUninitialized
	}
	p := flows.Packet{From: client, To: flows.Target{Address: web2}}
	if tr := world(t, c).Trace(p); !tr.Works() {
		t.Errorf("%s", tr)
	}
	h := nodeOf(t, c, mixedcluster.Win1).Windows.Host
	h.Adapters = h.Adapters[:1]
	if tr := world(t, c).Trace(p); tr.Works() || tr.Diagnosis.Reason != flows.HostEndpointMissing {
		t.Errorf("without the adapter: %s", tr)
	}
}

// TestTwoOverlays: networks of other VNIs do not reach each other, and may
// have the same addresses.
func TestTwoOverlays(t *testing.T) {
	c := cluster(t, modes.Overlay)
	s := nodeOf(t, c, mixedcluster.Win1).Windows.HNS
	other := *s.Networks[0]
	other.ID, other.Name = hns.ID{8}, "other"
	other.IPAMs = []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: netip.MustParsePrefix("10.70.1.0/24"), Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 5000}}}}}}
	s.Networks = append(s.Networks, &other)
	add := func(name, address string) {
		e := *endpoint(t, c, mixedcluster.Web1)
		e.ID, e.Name, e.Network = hns.NewID(), name, other.ID
		e.IPConfigs = []hns.IPConfig{{Address: netip.MustParseAddr(address), PrefixLength: 24}}
		s.Endpoints = append(s.Endpoints, &e)
	}
	add("x_other", "10.70.1.5")
	w := world(t, c)
	if tr := w.Trace(flows.Packet{From: client, To: flows.Target{Place: flows.Place{Pod: "x"}}}); tr.Works() || tr.Diagnosis.Reason != flows.Isolated || tr.Diagnosis.Object.Name != "other" {
		t.Errorf("%s", tr)
	}
	add("y_other", own.String()) // the address of client
	w = world(t, c)
	for pod, on := range map[string]string{"x": "y_other", mixedcluster.Web1: mixedcluster.Client + "_flannel.4096"} {
		tr := w.Trace(flows.Packet{From: flows.Place{Pod: pod}, To: flows.Target{Address: own}})
		if !tr.Works() || !strings.Contains(tr.Text(), `hands it to endpoint "`+on+`"`) {
			t.Errorf("%s: %s", pod, tr)
		}
	}
}
