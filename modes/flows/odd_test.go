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

// TestSDNRoutesByPrefix: of routes that hold an address the longest counts.
func TestSDNRoutesByPrefix(t *testing.T) {
	for _, longFirst := range []bool{true, false} {
		ps := []hns.EndpointPolicy{
			hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.244.2.0/24"), NextHop: netip.MustParseAddr("10.244.1.2")},
			hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.0.0.0/8"), NextHop: web1},
		}
		if !longFirst {
			slices.Reverse(ps)
		}
		c := cluster(t, modes.L2Bridge)
		add(mixedcluster.Client, ps...)(t, c)
		w := world(t, c)
		if tr := w.Trace(flows.Packet{From: client, To: flows.Target{Address: web2}}); !tr.Works() {
			t.Errorf("long first %t:\n%s", longFirst, tr)
		}
		if tr := w.Trace(flows.Packet{From: client, To: flows.Target{Address: mixedcluster.PodAddress(mixedcluster.Web3)}}); tr.Works() || tr.Diagnosis.Reason != flows.DeadGateway || tr.Diagnosis.Object.Policy != "SDNRoute" {
			t.Errorf("long first %t, by the short one:\n%s", longFirst, tr)
		}
	}
}

// TestOddQuestions: what was asked for is said in words that fit.
func TestOddQuestions(t *testing.T) {
	six := netip.MustParseAddr("fd00:1::4")
	gateway := netip.MustParseAddr("10.244.1.1")
	vip := netip.MustParseAddr("203.0.113.200")
	external := func(t *testing.T, c *flows.Cluster) {
		s := nodeOf(t, c, mixedcluster.Win1).Windows.HNS
		l := *frontends(t, c, mixedcluster.Win1)[0]
		l.ID, l.FrontendVIPs = hns.ID{3}, []netip.Addr{vip}
		s.LoadBalancers = append(s.LoadBalancers, &l)
	}
	onLink := func(t *testing.T, c *flows.Cluster) {
		h := nodeOf(t, c, mixedcluster.Win1).Windows.Host
		h.Routes = append(h.Routes, flows.Route{Destination: netip.MustParsePrefix("192.0.2.12/32"), NextHop: netip.IPv4Unspecified()})
	}
	shortList := func(t *testing.T, c *flows.Cluster) {
		endpoint(t, c, mixedcluster.Client).DNS.Search = []string{"default.svc.cluster.local"}
	}
	both := func(t *testing.T, c *flows.Cluster) {
		e := endpoint(t, c, mixedcluster.Client)
		e.IPConfigs = append(e.IPConfigs, hns.IPConfig{Address: netip.MustParseAddr("fd00:1::3"), PrefixLength: 64})
	}
	noServices := func(t *testing.T, c *flows.Cluster) { c.Services = c.Services[1:] }
	for _, k := range []struct {
		name   string
		mode   modes.Mode
		change func(*testing.T, *flows.Cluster)
		packet flows.Packet
		want   flows.Reason
		text   string
		sure   flows.Certainty
	}{
		{"ICMPv4 to IPv6", modes.L2Bridge, both, flows.Packet{From: client, To: flows.Target{Address: six}, Protocol: hns.ICMPv4}, flows.BadPacket, "does not go to fd00:1::4", flows.Tested},
		{"ICMPv6 to IPv4", modes.L2Bridge, nil, flows.Packet{From: client, To: flows.Target{Address: web1}, Protocol: hns.ICMPv6}, flows.BadPacket, "does not go to 10.244.1.4", flows.Tested},
		{"a ping to a service", modes.L2Bridge, nil, flows.Packet{From: client, To: flows.Target{Address: mixedcluster.WebVIP}, Protocol: hns.ICMPv4}, flows.NoServicePort, "no ping", flows.Documented},
		{"the gateway of the network", modes.L2Bridge, nil, flows.Packet{From: client, To: flows.Target{Address: gateway}}, flows.NobodyHasAddress, "is the gateway of network", flows.Inferred},
		{"the gateway of the network", modes.Overlay, nil, flows.Packet{From: client, To: flows.Target{Address: gateway}}, flows.NobodyHasAddress, "is the gateway of network", flows.Inferred},
		{"an external address without SDN route", modes.L2Bridge, external, flows.Packet{From: client, To: flows.Target{Address: vip}, DstPort: 80}, flows.NoSDNRoute, "203.0.113.200", flows.Inferred},
		{"a part of a name", modes.L2Bridge, shortList, flows.Packet{From: client, To: flows.Target{Name: "web.default"}}, flows.DottedName, "takes \"web.default\" for a whole name", flows.Documented},
		{"a part of a name of which no service is described", modes.L2Bridge, all(shortList, noServices), flows.Packet{From: client, To: flows.Target{Name: "web.default"}}, flows.DottedName, "takes \"web.default\" for a whole name", flows.Documented},
		{"a whole name that nobody has", modes.L2Bridge, shortList, flows.Packet{From: client, To: flows.Target{Name: "web.default."}}, flows.NoSuchName, "knows no web.default", flows.Documented},
		{"a route to the link", modes.L2Bridge, onLink, flows.Packet{From: client, To: flows.Target{Place: flows.Place{Node: mixedcluster.Win2}}}, "", "", 0},
	} {
		c := cluster(t, k.mode)
		if k.change != nil {
			k.change(t, c)
		}
		tr := world(t, c).Trace(k.packet)
		if k.want == "" {
			if !tr.Works() || tr.Outcome != flows.Arrived {
				t.Errorf("%s: %s", k.name, tr)
			}
			continue
		}
		if d := tr.Diagnosis; d == nil || d.Reason != k.want || !strings.Contains(d.Text, k.text) || d.Certainty != k.sure {
			t.Errorf("%s, %s, want %s, %q, %s:\n%s", k.mode, k.name, k.want, k.text, k.sure, tr)
		}
	}
}
