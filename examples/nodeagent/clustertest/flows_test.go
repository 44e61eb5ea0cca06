package clustertest

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/flows"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

const (
	domain   = "default.svc.cluster.local"
	wwwName  = "www.example.com"
	webFQDN  = "web." + domain
	linuxPod = 0x20 // last byte of the first pod of a Linux node
)

var (
	webVIP   = netip.MustParseAddr("10.96.0.20")
	dnsVIP   = netip.MustParseAddr("10.96.0.10")
	router   = netip.MustParseAddr("192.0.2.1")
	linkCIDR = netip.MustParsePrefix("192.0.2.0/24")
	www      = netip.MustParseAddr("203.0.113.80")
	upstream = netip.MustParseAddr("203.0.113.53")
	anywhere = netip.MustParsePrefix("0.0.0.0/0")
)

// checkFlows traces the nine flows over what HNS and the hosts of the agents
// hold, and Linux nodes that flannel set up from the Node objects. All work on
// both backends; that nodes reach pods of others on Overlay is inferred.
func (c *cluster) checkFlows(when string) {
	c.Helper()
	if len(c.agents[0].pods) < 2 || len(c.linuxNodes()) == 0 {
		return // the pods are not made yet
	}
	for _, w := range c.agents {
		c.proxyServices(w)
		defer c.unproxyServices(w)
	}
	world, err := flows.New(c.world())
	if err != nil {
		c.Fatal(err)
	}
	table := world.Nine()
	if len(table) != 1 {
		c.Fatalf("%s: %d modes in the table", when, len(table))
	}
	for _, cell := range table[0].Cells {
		if got := cell.String(); got != "yes" && (got != "yes?" || cell.Flow != flows.NodeToPod) {
			why := ""
			if x := cell.Why(); x != nil {
				why = x.Name + "\n" + x.Trace.Text()
			}
			c.Errorf("%s: %s: %s\n%s", when, cell.Flow, got, why)
		}
		if len(cell.Cases) < 2 {
			c.Errorf("%s: %s: only %d cases", when, cell.Flow, len(cell.Cases))
		}
	}
}

// linuxNodes are those whose lease is whole, in the order of their names.
func (c *cluster) linuxNodes() []corev1.Node {
	c.Helper()
	return slices.DeleteFunc(c.nodes(), func(n corev1.Node) bool {
		_, ok := tells(n, c.backend)
		return !ok || n.Labels["kubernetes.io/os"] != "linux"
	})
}

// linuxPods are a pod of service "web" and the DNS server, on the first Linux
// node.
func (c *cluster) linuxPods() (web, dns netip.Addr) {
	c.Helper()
	t, _ := tells(c.linuxNodes()[0], c.backend)
	return lastByte(t.subnet, linuxPod), lastByte(t.subnet, linuxPod+1)
}

func (c *cluster) services() []flows.Service {
	c.Helper()
	webPod, dnsPod := c.linuxPods()
	web := flows.Service{Name: "web", FQDN: webFQDN, Addresses: []netip.Addr{webVIP}, Backends: []netip.Addr{webPod},
		Ports: []flows.ServicePort{{Protocol: hns.TCP, Port: 80, Target: 8080}, {Protocol: hns.UDP, Port: 80, Target: 8080}}}
	for _, w := range c.agents {
		for _, p := range w.pods {
			if strings.HasPrefix(p.name, "web") {
				web.Backends = append(web.Backends, p.address)
			}
		}
	}
	slices.SortFunc(web.Backends, netip.Addr.Compare)
	return []flows.Service{web, {Name: "kube-dns", FQDN: "kube-dns.kube-system.svc.cluster.local", Addresses: []netip.Addr{dnsVIP}, Backends: []netip.Addr{dnsPod},
		Ports: []flows.ServicePort{{Protocol: hns.UDP, Port: 53, Target: 53}, {Protocol: hns.TCP, Port: 53, Target: 53}}}}
}

func (c *cluster) world() flows.Cluster {
	c.Helper()
	dns := flows.Resolver{Name: "kube-dns", Address: dnsVIP, Forward: upstream, Records: map[string][]netip.Addr{webFQDN: {webVIP}}}
	named := func(pod string, a netip.Addr) { dns.Records[pod+".pods."+domain] = []netip.Addr{a} }
	webPod, dnsPod := c.linuxPods()
	named("web-lin", webPod)
	named("coredns", dnsPod)
	out := flows.Cluster{
		Physical: &flows.Physical{Routers: []netip.Addr{router}},
		Services: c.services(),
		Outside:  []flows.Host{{Name: wwwName, Address: www}, {Name: "dns.example.com", Address: upstream}},
	}
	for _, w := range c.agents {
		for _, p := range w.pods {
			named(p.name, p.address)
		}
		state, err := flows.ReadState(c.Context(), w.client)
		if err != nil {
			c.Fatal(err)
		}
		out.Nodes = append(out.Nodes, flows.Node{Name: w.name, Addresses: []netip.Addr{w.address}, MAC: hns.MAC{0x00, 0x50, 0x56, 0, 0, w.address.As4()[3]},
			PodSubnets: []netip.Prefix{w.agent.Status().PodSubnet}, Windows: &flows.Windows{HNS: state, Host: c.stack(w)}})
	}
	out.Resolvers = []flows.Resolver{dns, {Name: "upstream", Address: upstream, Records: map[string][]netip.Addr{wwwName: {www}}}}
	for i, n := range c.linuxNodes() {
		out.Nodes = append(out.Nodes, c.linuxNode(n, i == 0))
	}
	return out
}

// stack is what the host has, and the default route, that HNS leaves alone here.
func (c *cluster) stack(w *winNode) *flows.IPStack {
	c.Helper()
	host, err := hostnet.Take(c.Context(), w.host)
	if err != nil {
		c.Fatal(err)
	}
	s := &flows.IPStack{Routes: []flows.Route{{Destination: anywhere, NextHop: router}}}
	for _, a := range host.Adapters {
		s.Adapters = append(s.Adapters, flows.Adapter{Name: a.Name, Addresses: a.Addresses, Forwarding: a.ForwardingIPv4})
	}
	for _, r := range host.Routes {
		s.Routes = append(s.Routes, flows.Route{Destination: r.Destination, NextHop: r.NextHop})
	}
	return s
}

// linuxNode is a Linux node as flannel on it sets it up from the Node objects.
func (c *cluster) linuxNode(n corev1.Node, pods bool) flows.Node {
	c.Helper()
	self, _ := tells(n, c.backend)
	l := &flows.Linux{Forwarding: true, Masquerade: true, MasqueradeExcept: []netip.Prefix{clusterCIDR, linkCIDR}, ServiceProxy: true,
		IPStack: flows.IPStack{Adapters: []flows.Adapter{{Name: "eth0", Addresses: []netip.Prefix{netip.PrefixFrom(self.public, linkBits)}}},
			Routes: []flows.Route{{Destination: anywhere, NextHop: router}}}}
	if pods {
		webPod, dnsPod := c.linuxPods()
		dns := hns.DNS{ServerList: []string{dnsVIP.String()}, Search: []string{domain, "svc.cluster.local", "cluster.local"}}
		l.Pods = []flows.LinuxPod{{Name: "web-lin", Address: webPod, DNS: dns}, {Name: "coredns", Address: dnsPod, DNS: dns}}
	}
	if self.mac != "" {
		l.VXLAN = &flows.VXLAN{VNI: self.vni, Port: vxlanPort, MAC: macOf(self.mac), Address: self.subnet.Addr()}
	}
	for _, o := range c.nodes() {
		t, ok := tells(o, c.backend)
		switch {
		case !ok || o.Name == n.Name:
		case l.VXLAN != nil:
			l.VXLAN.Peers = append(l.VXLAN.Peers, flows.VXLANPeer{Subnet: t.subnet, Node: t.public, MAC: macOf(t.mac)})
		default:
			l.Routes = append(l.Routes, flows.Route{Destination: t.subnet, NextHop: t.public})
		}
	}
	return flows.Node{Name: n.Name, Addresses: []netip.Addr{self.public}, MAC: hns.MAC{0x00, 0x50, 0x56, 0, 1, self.public.As4()[3]}, PodSubnets: []netip.Prefix{self.subnet}, Linux: l}
}

func macOf(text string) hns.MAC {
	b, err := net.ParseMAC(text)
	if err != nil {
		panic(err) // tells has read it
	}
	return hns.MAC(b)
}
