// Package mixedcluster is a small cluster for examples and tests: two emulated
// Windows nodes and one Linux node, set up as each of the five modes wants it.
//
// What Windows nodes need is made through the packages that a node agent and a
// CNI plugin would use: modes plans networks and the nodes' own endpoints,
// cniplugin adds pods, and load balancers and remote endpoints are made as
// kube-proxy makes them. Networks of modes without a planner, and their pods,
// are made from documents. The Linux node is described as flannel sets it up.
package mixedcluster

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// The nodes.
const (
	Win1 = "win-1"
	Win2 = "win-2"
	Lin1 = "lin-1"
)

// The pods, by node.
const (
	Client  = "client" // win-1
	Web1    = "web-1"
	Web2    = "web-2" // win-2
	Web3    = "web-3" // lin-1
	CoreDNS = "coredns"
)

// Names beside.
const (
	// WWW is a host outside.
	WWW    = "www.example.com"
	domain = "default.svc.cluster.local"
	// WebFQDN is the name of the service "web".
	WebFQDN = "web." + domain
)

// Addresses of the cluster.
var (
	clusterCIDR = netip.MustParsePrefix("10.244.0.0/16")
	serviceCIDR = netip.MustParsePrefix("10.96.0.0/12")
	nodeCIDR    = netip.MustParsePrefix("192.0.2.0/24")
	router      = netip.MustParseAddr("192.0.2.1")
	// WebVIP is the address of the service "web", with TCP and UDP port 80.
	WebVIP = netip.MustParseAddr("10.96.0.20")
	// DNSVIP is the address of the cluster's DNS.
	DNSVIP   = netip.MustParseAddr("10.96.0.10")
	wwwAddr  = netip.MustParseAddr("203.0.113.80")
	upstream = netip.MustParseAddr("203.0.113.53")
)

const (
	vni        = modes.DefaultVNI
	vxlanPort  = modes.DefaultVXLANPort
	webPort    = 80
	targetPort = 8080
	dnsPort    = 53
)

// machine is a node before its mode is set up.
type machine struct {
	name   string
	addr   netip.Addr
	mac    hns.MAC
	subnet netip.Prefix
	pods   []string
}

var (
	windows = []machine{
		{Win1, netip.MustParseAddr("192.0.2.11"), hns.MAC{0, 0x15, 0x5d, 1, 1, 0x11}, netip.MustParsePrefix("10.244.1.0/24"), []string{Client, Web1}},
		{Win2, netip.MustParseAddr("192.0.2.12"), hns.MAC{0, 0x15, 0x5d, 1, 1, 0x12}, netip.MustParsePrefix("10.244.2.0/24"), []string{Web2}},
	}
	linux    = machine{Lin1, netip.MustParseAddr("192.0.2.21"), hns.MAC{0, 0x15, 0x5d, 1, 1, 0x21}, netip.MustParsePrefix("10.244.3.0/24"), []string{Web3, CoreDNS}}
	linuxMAC = hns.MAC{0x4e, 0x0a, 0, 0, 3, 0}
)

// PodAddress returns the address of a pod: the third and following of its
// node's subnet.
func PodAddress(pod string) netip.Addr {
	for _, m := range append([]machine{linux}, windows...) {
		a := m.subnet.Addr().Next().Next()
		for _, p := range m.pods {
			a = a.Next()
			if p == pod {
				return a
			}
		}
	}
	return netip.Addr{}
}

// backends are the pods of service "web".
var backends = []string{Web1, Web2, Web3}

// New makes the cluster in a mode. What it describes may be changed before it
// is made into a world: everything is its own.
func New(ctx context.Context, mode modes.Mode) (*flows.Cluster, error) {
	var nodes []*node
	for i, m := range windows {
		n, err := newNode(ctx, mode, m, uint64(i+1))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		if err := n.joinOthers(ctx, nodes); err != nil {
			return nil, fmt.Errorf("%s: %w", n.name, err)
		}
	}
	c := &flows.Cluster{
		Physical:  physical(mode),
		Services:  services(),
		Resolvers: resolvers(mode),
		Outside:   []flows.Host{{Name: WWW, Address: wwwAddr}, {Name: "dns.example.com", Address: upstream}},
	}
	for _, n := range nodes {
		s, err := flows.ReadState(ctx, n.client)
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, flows.Node{Name: n.name, Addresses: []netip.Addr{n.addr}, MAC: n.mac, PodSubnets: []netip.Prefix{n.subnet},
			Windows: &flows.Windows{HNS: s, Host: n.stack()}})
	}
	c.Nodes = append(c.Nodes, linuxNode(mode, nodes))
	return c, nil
}

func services() []flows.Service {
	web := flows.Service{Name: "web", FQDN: WebFQDN, Addresses: []netip.Addr{WebVIP},
		Ports: []flows.ServicePort{{Protocol: hns.TCP, Port: webPort, Target: targetPort}, {Protocol: hns.UDP, Port: webPort, Target: targetPort}}}
	for _, b := range backends {
		web.Backends = append(web.Backends, PodAddress(b))
	}
	return []flows.Service{web, {Name: "kube-dns", FQDN: "kube-dns.kube-system.svc.cluster.local", Addresses: []netip.Addr{DNSVIP},
		Ports:    []flows.ServicePort{{Protocol: hns.UDP, Port: dnsPort, Target: dnsPort}, {Protocol: hns.TCP, Port: dnsPort, Target: dnsPort}},
		Backends: []netip.Addr{PodAddress(CoreDNS)}}}
}

// podFQDN is the name of a pod in the headless service "pods".
func podFQDN(pod string) string { return pod + ".pods." + domain }

func resolvers(mode modes.Mode) []flows.Resolver {
	dns := flows.Resolver{Name: "kube-dns", Address: DNSVIP, Forward: upstream, Records: map[string][]netip.Addr{WebFQDN: {WebVIP}}}
	for _, m := range append([]machine{linux}, windows...) {
		for _, p := range m.pods {
			dns.Records[podFQDN(p)] = []netip.Addr{PodAddress(p)}
		}
	}
	up := flows.Resolver{Name: "upstream", Address: upstream, Records: map[string][]netip.Addr{WWW: {wwwAddr}}}
	if mode != modes.NAT {
		return []flows.Resolver{dns, up}
	}
	out := []flows.Resolver{up}
	for _, m := range windows { // HNS answers at the network's gateway, for its own node
		r := flows.Resolver{Name: "HNS on " + m.name, Address: m.subnet.Addr().Next(), Forward: upstream, Records: map[string][]netip.Addr{}}
		for _, p := range m.pods {
			r.Records[p] = []netip.Addr{PodAddress(p)}
		}
		out = append(out, r)
	}
	return out
}

func physical(mode modes.Mode) *flows.Physical {
	p := &flows.Physical{Routers: []netip.Addr{router}}
	switch mode {
	case modes.L2Tunnel:
		p.VNet = &flows.VNet{SNAT: true}
		for _, m := range append([]machine{linux}, windows...) {
			p.VNet.Assigned = append(p.VNet.Assigned, flows.Assignment{Prefix: m.subnet, Node: m.name})
			p.Routers = append(p.Routers, m.subnet.Addr().Next())
		}
	case modes.Transparent:
		p.Fabric = &flows.Fabric{Name: "controller", Pods: []netip.Prefix{clusterCIDR}, Services: true, NAT: true}
	}
	return p
}

// linuxNode is the Linux node as flannel sets it up: routes (host-gw), or a
// VXLAN interface with the VNI and port of Windows.
func linuxNode(mode modes.Mode, others []*node) flows.Node {
	l := &flows.Linux{Forwarding: true, Masquerade: true, MasqueradeExcept: []netip.Prefix{clusterCIDR, nodeCIDR}, ServiceProxy: true,
		IPStack: flows.IPStack{
			Adapters: []flows.Adapter{{Name: "eth0", Addresses: []netip.Prefix{netip.PrefixFrom(linux.addr, nodeCIDR.Bits())}}},
			Routes:   []flows.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0"), NextHop: router}},
		}}
	dns := hns.DNS{ServerList: []string{DNSVIP.String()}, Search: []string{domain, "svc.cluster.local", "cluster.local"}}
	for _, p := range linux.pods {
		l.Pods = append(l.Pods, flows.LinuxPod{Name: p, Address: PodAddress(p), DNS: dns})
	}
	switch mode {
	case modes.Overlay:
		l.VXLAN = &flows.VXLAN{VNI: vni, Port: vxlanPort, MAC: linuxMAC, Address: linux.subnet.Addr()}
		for _, n := range others {
			l.VXLAN.Peers = append(l.VXLAN.Peers, flows.VXLANPeer{Subnet: n.subnet, Node: n.addr, MAC: n.net.DRMAC()})
		}
	case modes.L2Bridge, modes.NAT:
		for _, n := range others {
			l.Routes = append(l.Routes, flows.Route{Destination: n.subnet, NextHop: n.addr})
		}
	}
	return flows.Node{Name: linux.name, Addresses: []netip.Addr{linux.addr}, MAC: linux.mac, PodSubnets: []netip.Prefix{linux.subnet}, Linux: l}
}
