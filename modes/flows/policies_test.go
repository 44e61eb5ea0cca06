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

var (
	client  = flows.Place{Pod: mixedcluster.Client}
	www     = flows.Place{Outside: mixedcluster.WWW}
	wwwAddr = netip.MustParseAddr("203.0.113.80")
	win1    = netip.MustParseAddr("192.0.2.11")
	own     = mixedcluster.PodAddress(mixedcluster.Client)
	web1    = mixedcluster.PodAddress(mixedcluster.Web1)
	web2    = mixedcluster.PodAddress(mixedcluster.Web2)
)

// endpoint returns the endpoint of a pod of a Windows node, to be changed.
func endpoint(t testing.TB, c *flows.Cluster, pod string) *hns.Endpoint {
	t.Helper()
	for _, n := range c.Nodes {
		if n.Windows == nil {
			continue
		}
		for _, e := range n.Windows.HNS.Endpoints {
			if e.Name == pod || strings.HasPrefix(e.Name, pod+"_") {
				return e
			}
		}
	}
	t.Fatalf("no endpoint of %s", pod)
	return nil
}

func network(t testing.TB, c *flows.Cluster, node string) *hns.Network {
	t.Helper()
	return nodeOf(t, c, node).Windows.HNS.Networks[0]
}

func frontends(t testing.TB, c *flows.Cluster, node string) []*hns.LoadBalancer {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(nodeOf(t, c, node).Windows.HNS.LoadBalancers), func(l *hns.LoadBalancer) bool {
		return !slices.Contains(l.FrontendVIPs, mixedcluster.WebVIP)
	})
}

// case_ is a change to a healthy cluster and what becomes of a packet.
type policyCase struct {
	name   string
	mode   modes.Mode
	change func(*testing.T, *flows.Cluster)
	packet flows.Packet
	// want is a reason, or an outcome; arrives is the header of the packet as
	// its receiver gets it, sees that of the answer as the sender gets it.
	want          string
	arrives, sees string
	policy        string // that a step names
}

func runPolicyCases(t *testing.T, cases []policyCase) {
	t.Helper()
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			c := cluster(t, k.mode)
			if k.change != nil {
				k.change(t, c)
			}
			tr := world(t, c).Trace(k.packet)
			got := string(tr.Outcome)
			if tr.Diagnosis != nil {
				got = string(tr.Diagnosis.Reason)
			}
			if got != k.want {
				t.Errorf("%s, want %s\n%s", got, k.want, tr)
			}
			if err := checkTrace(tr); err != nil {
				t.Error(err)
			}
			var last [2]string
			named := k.policy == ""
			for _, s := range tr.Steps {
				if s.Effect == flows.Delivered {
					last[btoi(s.Reply)] = s.After.String()
				}
				named = named || s.Object.Policy == k.policy || strings.HasPrefix(s.Object.Detail, k.policy)
			}
			if k.arrives != "" && last[0] != k.arrives || k.sees != "" && last[1] != k.sees {
				t.Errorf("arrived as %q, answered as %q\n%s", last[0], last[1], tr)
			}
			if !named {
				t.Errorf("no step names %s\n%s", k.policy, tr)
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func add(pod string, ps ...hns.EndpointPolicy) func(*testing.T, *flows.Cluster) {
	return func(t *testing.T, c *flows.Cluster) {
		t.Helper()
		e := endpoint(t, c, pod)
		e.Policies = append(slices.Clone(e.Policies), ps...)
	}
}

func all(fs ...func(*testing.T, *flows.Cluster)) func(*testing.T, *flows.Cluster) {
	return func(t *testing.T, c *flows.Cluster) {
		t.Helper()
		for _, f := range fs {
			f(t, c)
		}
	}
}

// webService is a packet for the service, to a backend.
func webService(backend netip.Addr) flows.Packet {
	return flows.Packet{From: client, To: flows.Target{Address: mixedcluster.WebVIP}, Backend: backend}
}

// onFrontends changes the service's load balancers of win-1.
func onFrontends(change func(*hns.LoadBalancer)) func(*testing.T, *flows.Cluster) {
	return func(t *testing.T, c *flows.Cluster) {
		t.Helper()
		for _, l := range frontends(t, c, mixedcluster.Win1) {
			change(l)
		}
	}
}

// ownBackend makes the asking pod a backend of the service.
func ownBackend(t *testing.T, c *flows.Cluster) {
	t.Helper()
	id := endpoint(t, c, mixedcluster.Client).ID
	for _, l := range frontends(t, c, mixedcluster.Win1) {
		l.Endpoints = append(slices.Clone(l.Endpoints), id)
	}
}

func dsr(l *hns.LoadBalancer) { l.Flags |= hns.LoadBalancerDSR }

// TestLoadBalancers: direct server return, source VIPs, a pod that reaches
// itself, node ports and preserved addresses, with the way back.
func TestLoadBalancers(t *testing.T) {
	onNodePort := func(backends ...string) func(*testing.T, *flows.Cluster) {
		return func(t *testing.T, c *flows.Cluster) {
			t.Helper()
			s := nodeOf(t, c, mixedcluster.Win1).Windows.HNS
			l := &hns.LoadBalancer{ID: hns.ID{7}, PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, ExternalPort: 30080, InternalPort: 8080}}}
			for _, b := range backends {
				for _, e := range s.Endpoints {
					if slices.Contains(e.Addresses(), mixedcluster.PodAddress(b)) {
						l.Endpoints = append(l.Endpoints, e.ID)
					}
				}
			}
			s.LoadBalancers = append(s.LoadBalancers, l)
		}
	}
	lastFrontend := func(change func(*hns.LoadBalancer)) func(*testing.T, *flows.Cluster) {
		return func(t *testing.T, c *flows.Cluster) {
			t.Helper()
			ls := nodeOf(t, c, mixedcluster.Win1).Windows.HNS.LoadBalancers
			change(ls[len(ls)-1])
		}
	}
	toNodePort := flows.Packet{From: www, To: flows.Target{Address: win1}, DstPort: 30080}
	fromItself := flows.Packet{From: flows.Place{Node: mixedcluster.Win1}, To: flows.Target{Address: win1}, DstPort: 30080}
	runPolicyCases(t, []policyCase{
		{"L2Bridge, backend on the same node", modes.L2Bridge, nil, webService(web1), "arrived", "10.244.1.3:50000 > 10.244.1.4:8080", "10.96.0.20:80 > 10.244.1.3:50000", ""},
		{"Overlay with source VIP", modes.Overlay, nil, webService(web2), "arrived", "10.244.1.254:55101 > 10.244.2.3:8080", "10.96.0.20:80 > 10.244.1.3:50000", "SourceVIP"},
		{"Overlay with DSR", modes.Overlay, onFrontends(func(l *hns.LoadBalancer) { dsr(l); l.SourceVIP = netip.Addr{} }), webService(web2), "arrived",
			"10.244.1.3:50000 > 10.244.2.3:8080", "10.96.0.20:80 > 10.244.1.3:50000", ""},
		{"a pod and its own service", modes.L2Bridge, ownBackend, webService(own), "no-loopback", "", "", ""},
		{"a pod and its own service by loopback DSR", modes.L2Bridge, all(ownBackend, add(mixedcluster.Client, modes.LoopbackDSR(own)...)), webService(own), "arrived", "10.244.1.3:50000 > 10.244.1.3:8080", "10.96.0.20:80 > 10.244.1.3:50000", "Destinations 10.244.1.3"},
		{"a pod and its own service by DSR", modes.Overlay, all(ownBackend, onFrontends(dsr)), webService(own), "arrived", "10.244.1.3:50000 > 10.244.1.3:8080", "10.96.0.20:80 > 10.244.1.3:50000", "DSR"},
		{"the virtual address preserved", modes.Overlay, onFrontends(func(l *hns.LoadBalancer) { dsr(l); l.PortMappings[0].Flags |= hns.LoadBalancerPreserveDIP }), webService(web2), "arrived",
			"10.244.1.3:50000 > 10.244.2.3:8080", "10.96.0.20:80 > 10.244.1.3:50000", ""},
		{"the virtual address preserved, and unknown where it comes", modes.Overlay, all(onFrontends(func(l *hns.LoadBalancer) { dsr(l); l.PortMappings[0].Flags |= hns.LoadBalancerPreserveDIP }),
			func(t *testing.T, c *flows.Cluster) { nodeOf(t, c, mixedcluster.Win2).Windows.HNS.LoadBalancers = nil }), webService(web2), "no-load-balancer", "", "", ""},
		{"a node port, backend on the node", modes.L2Bridge, onNodePort(mixedcluster.Web1), toNodePort, "arrived", "203.0.113.80:50000 > 10.244.1.4:8080", "192.0.2.11:30080 > 203.0.113.80:50000", ""},
		{"a node port, backend on another node", modes.L2Bridge, onNodePort(mixedcluster.Web2), toNodePort, "arrived", "192.0.2.11:55101 > 10.244.2.3:8080", "192.0.2.11:30080 > 203.0.113.80:50000", ""},
		{"a node port with DSR, backend on another node", modes.L2Bridge, all(onNodePort(mixedcluster.Web2), lastFrontend(dsr)), toNodePort, "reply-not-translated", "203.0.113.80:50000 > 10.244.2.3:8080", "", "DSR"},
		{"a node port with DSR and local backends", modes.L2Bridge, all(onNodePort(mixedcluster.Web1), lastFrontend(dsr)), toNodePort, "arrived", "203.0.113.80:50000 > 10.244.1.4:8080", "192.0.2.11:30080 > 203.0.113.80:50000", ""},
		{"a node port from the node itself", modes.L2Bridge, onNodePort(mixedcluster.Web1), fromItself, "no-load-balancer", "", "", "LocalRoutedVip"},
		{"a node port from the node itself, allowed", modes.L2Bridge, all(onNodePort(mixedcluster.Web1), lastFrontend(func(l *hns.LoadBalancer) {
			l.PortMappings[0].Flags = hns.LoadBalancerLocalRoutedVIP
		})), fromItself, "arrived", "192.0.2.11:50000 > 10.244.1.4:8080", "192.0.2.11:30080 > 192.0.2.11:50000", ""},
		{"an external address that is led to the node", modes.L2Bridge, func(t *testing.T, c *flows.Cluster) {
			vip := netip.MustParseAddr("198.51.100.80")
			c.Physical.Routes = append(c.Physical.Routes, flows.Route{Destination: netip.PrefixFrom(vip, 32), NextHop: win1})
			for _, l := range frontends(t, c, mixedcluster.Win1) {
				l.FrontendVIPs = []netip.Addr{vip}
			}
		}, flows.Packet{From: www, To: flows.Target{Address: netip.MustParseAddr("198.51.100.80")}, Backend: web1}, "arrived", "203.0.113.80:50000 > 10.244.1.4:8080", "198.51.100.80:80 > 203.0.113.80:50000", ""},
		{"everything sent to an internal address", modes.L2Bridge, onFrontends(func(l *hns.LoadBalancer) {
			l.PortMappings = []hns.LoadBalancerPortMapping{{Flags: hns.LoadBalancerInternal}}
		}), flows.Packet{From: client, To: flows.Target{Address: mixedcluster.WebVIP}, DstPort: 4711, Backend: web1}, "arrived", "10.244.1.3:50000 > 10.244.1.4:4711", "", ""},
		{"a port that the service lacks", modes.Overlay, nil, flows.Packet{From: client, To: flows.Target{Address: mixedcluster.WebVIP}, DstPort: 81}, "no-service-port", "", "", ""},
		{"ping to a service", modes.L2Bridge, nil, flows.Packet{From: client, To: flows.Target{Address: mixedcluster.WebVIP}, Protocol: hns.ICMPv4}, "no-service-port", "", "", ""},
		{"a service from the node itself", modes.L2Bridge, nil, flows.Packet{From: flows.Place{Node: mixedcluster.Win1}, To: flows.Target{Address: mixedcluster.WebVIP}, Backend: web1}, "not judged", "", "", ""},
		{"a backend that names nobody", modes.L2Bridge, onFrontends(func(l *hns.LoadBalancer) { l.Endpoints = []hns.ID{{1, 2, 3}} }), webService(netip.Addr{}), "no-backend", "", "", ""},
		{"a backend of the other family", modes.L2Bridge, all(func(t *testing.T, c *flows.Cluster) {
			endpoint(t, c, mixedcluster.Web1).IPConfigs = []hns.IPConfig{{Address: netip.MustParseAddr("fd00::4")}}
		}, onFrontends(func(l *hns.LoadBalancer) { l.Endpoints = l.Endpoints[:1] })), webService(netip.Addr{}), "no-such-family", "", "", ""},
		{"a load balancer of another network", modes.Overlay, func(t *testing.T, c *flows.Cluster) {
			s := nodeOf(t, c, mixedcluster.Win1).Windows.HNS
			other := *s.Networks[0]
			other.ID, other.Name, other.IPAMs = hns.ID{5}, "other", nil
			s.Networks = append(s.Networks, &other)
			for _, l := range frontends(t, c, mixedcluster.Win1) {
				l.Network = other.ID
				dsr(l)
			}
		}, webService(web1), "not judged", "", "", ""},
	})
}

// TestSessionAffinity: with an affinity to the client, its ports do not
// matter; without, they do.
func TestSessionAffinity(t *testing.T) {
	for d, want := range map[hns.Distribution]bool{hns.DistributePerConnection: false, hns.DistributePerClientAndProtocol: true, hns.DistributePerClient: true} {
		c := cluster(t, modes.L2Bridge)
		for _, l := range frontends(t, c, mixedcluster.Win1) {
			l.PortMappings[0].Distribution = d
		}
		w := world(t, c)
		got := map[netip.Addr]bool{}
		for port := uint16(50000); port < 50040; port++ {
			p := webService(netip.Addr{})
			p.SrcPort = port
			for _, s := range w.Trace(p).Steps {
				if s.Effect == flows.Delivered && !s.Reply {
					got[s.After.Dst] = true
				}
			}
		}
		if (len(got) == 1) != want {
			t.Errorf("distribution %d: %d backends for one client", d, len(got))
		}
	}
}

// TestNAT: virtual addresses, destinations, two policies, and ICMP, which HNS
// does not translate.
func TestNAT(t *testing.T) {
	outside := flows.Packet{From: client, To: flows.Target{Address: wwwAddr}, DstPort: 443}
	ping := flows.Packet{From: client, To: flows.Target{Address: wwwAddr}, Protocol: hns.ICMPv4}
	pingPod := flows.Packet{From: client, To: flows.Target{Address: web2}, Protocol: hns.ICMPv4}
	replaceNAT := func(ps ...hns.EndpointPolicy) func(*testing.T, *flows.Cluster) {
		return func(t *testing.T, c *flows.Cluster) {
			t.Helper()
			e := endpoint(t, c, mixedcluster.Client)
			e.Policies = append(removePolicies(e.Policies, func(p hns.EndpointPolicy) bool { return p.PolicyType() == "OutBoundNAT" }), ps...)
		}
	}
	vip := netip.MustParseAddr("192.0.2.77")
	runPolicyCases(t, []policyCase{
		{"to the node's address", modes.L2Bridge, nil, outside, "arrived", "192.0.2.11:55101 > 203.0.113.80:443", "203.0.113.80:443 > 10.244.1.3:50000", "OutBoundNAT"},
		{"to a virtual address that no node has", modes.L2Bridge, replaceNAT(hns.OutBoundNAT{VirtualIP: vip}), outside, "nobody-has-address", "192.0.2.77:55101 > 203.0.113.80:443", "", "OutBoundNAT"},
		{"to an address of another node", modes.L2Bridge, replaceNAT(hns.OutBoundNAT{VirtualIP: netip.MustParseAddr("192.0.2.12")}), outside, "reply-not-translated", "192.0.2.12:55101 > 203.0.113.80:443", "", "OutBoundNAT"},
		{"to a virtual address for one destination", modes.L2Bridge, all(replaceNAT(hns.OutBoundNAT{VirtualIP: vip, Destinations: []string{"203.0.113.80"}}), func(t *testing.T, c *flows.Cluster) {
			n := nodeOf(t, c, mixedcluster.Win1)
			n.Addresses = append(slices.Clone(n.Addresses), vip)
		}), outside, "arrived", "192.0.2.77:55101 > 203.0.113.80:443", "203.0.113.80:443 > 10.244.1.3:50000", "OutBoundNAT"},
		{"destinations of another address", modes.L2Bridge, replaceNAT(hns.OutBoundNAT{VirtualIP: vip, Destinations: []string{"8.8.8.8"}}), outside, "no-nat", "", "", ""},
		{"a policy for IPv6 alone", modes.L2Bridge, replaceNAT(hns.OutBoundNAT{Flags: hns.NATIPv6}), outside, "no-nat", "", "", ""},
		{"two policies that differ", modes.L2Bridge, add(mixedcluster.Client, hns.OutBoundNAT{Exceptions: []string{"203.0.113.0/24"}}), outside, "not judged", "", "", "OutBoundNAT"},
		{"an exception that is no prefix", modes.L2Bridge, replaceNAT(hns.OutBoundNAT{Exceptions: []string{"<your cluster cidr>"}}), outside, "not judged", "", "", "OutBoundNAT"},
		{"ping to the outside", modes.L2Bridge, nil, ping, "icmp-not-nat", "", "", "OutBoundNAT"},
		{"ping to the outside, on Overlay", modes.Overlay, nil, ping, "icmp-not-nat", "", "", "OutBoundNAT"},
		{"ping to the outside, by WinNAT", modes.NAT, nil, ping, "arrived", "192.0.2.11 > 203.0.113.80", "", "WinNAT"},
		{"a container of another node behind NAT", modes.NAT, nil, flows.Packet{From: client, To: flows.Target{Address: web2}}, "not-in-mode", "", "", ""},
		{"a service, from behind NAT", modes.NAT, nil, webService(web1), "not-in-mode", "", "", ""},
		{"ping to a pod", modes.L2Bridge, nil, pingPod, "arrived", "10.244.1.3 > 10.244.2.3", "10.244.2.3 > 10.244.1.3", ""},
		{"ping to a pod, on Overlay", modes.Overlay, nil, pingPod, "arrived", "10.244.1.3 > 10.244.2.3", "10.244.2.3 > 10.244.1.3", ""},
	})
}

// TestPortMapping: published ports, from outside and from the node itself.
func TestPortMapping(t *testing.T) {
	m := hns.PortMapping{Protocol: hns.TCP, ExternalPort: 8088, InternalPort: 80}
	local := m
	local.Flags = hns.NATLocalRoutedVIP
	at := m
	at.VIP = netip.MustParseAddr("192.0.2.200")
	v6 := m
	v6.Flags = hns.NATIPv6
	out := flows.Packet{From: www, To: flows.Target{Address: win1}, DstPort: 8088}
	self := flows.Packet{From: flows.Place{Node: mixedcluster.Win1}, To: flows.Target{Address: win1}, DstPort: 8088}
	pod := flows.Packet{From: flows.Place{Pod: mixedcluster.Web3}, To: flows.Target{Address: win1}, DstPort: 8088}
	published, back := "203.0.113.80:50000 > 10.244.1.3:80", "192.0.2.11:8088 > 203.0.113.80:50000"
	runPolicyCases(t, []policyCase{
		{"L2Bridge", modes.L2Bridge, add(mixedcluster.Client, m), out, "arrived", published, back, "PortMapping"},
		{"NAT", modes.NAT, add(mixedcluster.Client, m), out, "arrived", published, back, "PortMapping"},
		{"NAT, from another node", modes.NAT, add(mixedcluster.Client, m), flows.Packet{From: flows.Place{Node: mixedcluster.Win2}, To: flows.Target{Address: win1}, DstPort: 8088}, "arrived",
			"192.0.2.12:50000 > 10.244.1.3:80", "192.0.2.11:8088 > 192.0.2.12:50000", "PortMapping"},
		{"from a pod of another node", modes.L2Bridge, add(mixedcluster.Client, m), pod, "arrived", "10.244.3.3:50000 > 10.244.1.3:80", "192.0.2.11:8088 > 10.244.3.3:50000", "PortMapping"},
		{"from the node itself, not allowed", modes.L2Bridge, add(mixedcluster.Client, m), self, "not-published", "", "", "PortMapping"},
		{"from the node itself", modes.L2Bridge, add(mixedcluster.Client, local), self, "arrived", "192.0.2.11:50000 > 10.244.1.3:80", "192.0.2.11:8088 > 192.0.2.11:50000", "PortMapping"},
		{"from the node itself, on NAT", modes.NAT, add(mixedcluster.Client, m), self, "arrived", "", "192.0.2.11:8088 > 192.0.2.11:50000", "PortMapping"},
		{"another address of the node", modes.L2Bridge, add(mixedcluster.Client, at), out, "arrived", "203.0.113.80:50000 > 192.0.2.11:8088", "", ""},
		{"for IPv6", modes.L2Bridge, add(mixedcluster.Client, v6), out, "arrived", "203.0.113.80:50000 > 192.0.2.11:8088", "", ""},
		{"not published", modes.NAT, nil, flows.Packet{From: www, To: flows.Target{Address: own}}, "not-published", "", "", ""},
	})
}

// TestProxies: L4Proxy redirects and L4WFPPROXY hands over; what is excepted
// goes by.
func TestProxies(t *testing.T) {
	to := flows.Packet{From: client, To: flows.Target{Address: web2}, DstPort: 80}
	proxy := hns.L4Proxy{IP: web1, Port: 15001, Protocol: hns.TCP, Destination: "10.244.2.0/24"}
	with := func(change func(*hns.L4Proxy)) hns.L4Proxy {
		p := proxy
		change(&p)
		return p
	}
	redirected, straight := "10.244.1.3:50000 > 10.244.1.4:15001", "10.244.1.3:50000 > 10.244.2.3:80"
	back := "10.244.2.3:80 > 10.244.1.3:50000"
	onNetwork := func(t *testing.T, c *flows.Cluster) {
		n := network(t, c, mixedcluster.Win1)
		n.Policies = append(slices.Clone(n.Policies), proxy)
	}
	runPolicyCases(t, []policyCase{
		{"redirected", modes.L2Bridge, add(mixedcluster.Client, proxy), to, "arrived", redirected, back, "L4Proxy"},
		{"redirected by the network", modes.Overlay, onNetwork, to, "arrived", redirected, back, "L4Proxy"},
		{"other destination", modes.L2Bridge, add(mixedcluster.Client, with(func(p *hns.L4Proxy) { p.Destination = "10.9.0.0/16" })), to, "arrived", straight, back, ""},
		{"excepted", modes.L2Bridge, add(mixedcluster.Client, with(func(p *hns.L4Proxy) { p.ExceptionList = []string{"10.244.2.3"} })), to, "arrived", straight, back, ""},
		{"other protocol", modes.L2Bridge, add(mixedcluster.Client, with(func(p *hns.L4Proxy) { p.Protocol = hns.UDP })), to, "arrived", straight, back, ""},
		{"the proxy itself", modes.L2Bridge, add(mixedcluster.Client, with(func(p *hns.L4Proxy) { p.IP = own })), to, "arrived", straight, back, ""},
		{"within the pod", modes.L2Bridge, add(mixedcluster.Client, hns.L4WFPProxy{OutboundPort: 15001}), to, "arrived", straight, back, "L4WFPPROXY"},
		{"within the receiving pod", modes.L2Bridge, add(mixedcluster.Web2, hns.L4WFPProxy{InboundPort: 15003, Filter: hns.FiveTuple{Protocols: []string{"6"}, LocalPorts: []string{"80"}}}), to, "arrived", straight, back, "L4WFPPROXY"},
	})
	c := cluster(t, modes.L2Bridge)
	add(mixedcluster.Client, hns.L4WFPProxy{OutboundPort: 15001, OutboundExceptions: hns.ProxyExceptions{Ports: []string{"80"}}})(t, c)
	if got := world(t, c).Trace(to).Text(); strings.Contains(got, "L4WFPPROXY") {
		t.Errorf("an excepted port went to the proxy:\n%s", got)
	}
	c = cluster(t, modes.L2Bridge)
	add(mixedcluster.Client, hns.L4WFPProxy{OutboundPort: 15001, OutboundExceptions: hns.ProxyExceptions{Addresses: []string{"10.244.2.0/24"}}},
		hns.L4WFPProxy{OutboundPort: 15001, Filter: hns.FiveTuple{RemoteAddresses: []string{"10.9.0.0/16"}}})(t, c)
	if got := world(t, c).Trace(to).Text(); strings.Contains(got, "L4WFPPROXY") {
		t.Errorf("an excepted address went to the proxy:\n%s", got)
	}
}

// TestSDNRoutes: as objects they do what policies do, and one with a next hop
// is a route.
func TestSDNRoutes(t *testing.T) {
	object := func(t *testing.T, c *flows.Cluster) {
		s := nodeOf(t, c, mixedcluster.Win1).Windows.HNS
		e := endpoint(t, c, mixedcluster.Client)
		e.Policies = removePolicies(e.Policies, func(p hns.EndpointPolicy) bool { return p.PolicyType() == "SDNRoute" })
		s.Routes = append(s.Routes, &hns.SDNRouteObject{ID: hns.ID{6}, Endpoints: []hns.ID{e.ID}, Routes: []hns.SDNRoute{{DestinationPrefix: netip.MustParsePrefix("10.96.0.1/12"), NeedEncap: true}}})
	}
	hop := hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.244.2.0/24"), NextHop: netip.MustParseAddr("192.0.2.12")}
	runPolicyCases(t, []policyCase{
		{"an object", modes.L2Bridge, object, webService(web2), "arrived", "", "10.96.0.20:80 > 10.244.1.3:50000", "10.96.0.0/12"},
		{"a next hop", modes.L2Bridge, all(add(mixedcluster.Client, hop), func(t *testing.T, c *flows.Cluster) {
			remove(t, c, flows.Ref{Node: mixedcluster.Win1, Kind: flows.KindRoute, Detail: "10.244.2.0/24"})
		}), flows.Packet{From: client, To: flows.Target{Address: web2}}, "arrived", "", "", "SDNRoute"},
	})
}
