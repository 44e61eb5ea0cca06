package flows_test

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// size is how large a world is.
type size struct{ nodes, pods, services int }

const backendsPerService = 3

// idOf numbers objects; the kinds do not meet.
func idOf(kind byte, n int) hns.ID {
	return hns.ID{kind, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

func (s size) pod(node, i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(node), 0, byte(10 + i)})
}
func (s size) node(node int) netip.Addr {
	return netip.AddrFrom4([4]byte{192, 168, 0, byte(10 + node)})
}
func (s size) vip(service int) netip.Addr {
	return netip.AddrFrom4([4]byte{172, 16, byte(service >> 8), byte(service)})
}
func (s size) subnet(node int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(node), 0, 0}), 24)
}
func (s size) mac(node int) hns.MAC { return hns.MAC{0, 0x15, 0x5d, 0, 9, byte(node)} }

// backend is a pod of the service: they are spread over the nodes.
func (s size) backend(service, i int) (node, pod int) {
	n := service*backendsPerService + i
	return n % s.nodes, n / s.nodes % s.pods
}

// asRead marks a document as one that HNS sent.
var asRead = hns.Document{Raw: json.RawMessage(`{}`)}

// cluster makes an Overlay cluster as flannel and kube-proxy set it up, with
// DSR: a remote endpoint for each backend of another node, and a load balancer
// for each service, on every node.
func (s size) cluster() *flows.Cluster {
	c := &flows.Cluster{Physical: &flows.Physical{Routers: []netip.Addr{netip.MustParseAddr("192.168.0.1")}},
		Outside: []flows.Host{{Name: "www", Address: netip.MustParseAddr("203.0.113.80")}}}
	dns := flows.Resolver{Name: "dns", Address: s.vip(0), Records: map[string][]netip.Addr{"www.example.com": {netip.MustParseAddr("203.0.113.80")}}}
	remote := map[[2]int]*hns.Endpoint{}
	var lbs []*hns.LoadBalancer
	for v := range s.services {
		sv := flows.Service{Name: fmt.Sprintf("s%d", v), FQDN: fmt.Sprintf("s%d.default.svc", v), Addresses: []netip.Addr{s.vip(v)},
			Ports: []flows.ServicePort{{Protocol: hns.TCP, Port: 80, Target: 8080}, {Protocol: hns.UDP, Port: 53, Target: 53}, {Protocol: hns.UDP, Port: 80, Target: 8080}}}
		dns.Records[sv.FQDN] = sv.Addresses
		lb := hns.LoadBalancer{FrontendVIPs: sv.Addresses, Flags: hns.LoadBalancerDSR, Document: asRead}
		for i := range backendsPerService {
			n, p := s.backend(v, i)
			sv.Backends = append(sv.Backends, s.pod(n, p))
			id := idOf(1, n<<10|p)
			lb.Endpoints = append(lb.Endpoints, id)
			remote[[2]int{n, p}] = &hns.Endpoint{ID: id, Name: "Ethernet", Network: idOf(3, 0), Flags: hns.EndpointRemote, MAC: s.mac(n),
				IPConfigs: []hns.IPConfig{{Address: s.pod(n, p)}}, Policies: []hns.EndpointPolicy{hns.ProviderAddress{Address: s.node(n)}}, Document: asRead}
		}
		for i, p := range sv.Ports {
			one := lb
			one.ID = idOf(2, v*len(sv.Ports)+i)
			one.PortMappings = []hns.LoadBalancerPortMapping{{Protocol: p.Protocol, ExternalPort: p.Port, InternalPort: p.Target}}
			lbs = append(lbs, &one)
		}
		c.Services = append(c.Services, sv)
	}
	for n := range s.nodes {
		st := &flows.State{Networks: []*hns.Network{s.network(n)}, LoadBalancers: lbs}
		for p := range s.pods {
			name := fmt.Sprintf("pod-%d-%d", n, p)
			dns.Records[name+".pods.default.svc"] = []netip.Addr{s.pod(n, p)}
			st.Endpoints = append(st.Endpoints, &hns.Endpoint{ID: idOf(1, n<<10|p), Name: name + "_vx", Network: idOf(3, 0), Namespace: idOf(4, p), State: hns.EndpointAttached,
				MAC: hns.MAC{0x0e, 0x2a, 10, byte(n), 0, byte(10 + p)}, IPConfigs: []hns.IPConfig{{Address: s.pod(n, p), PrefixLength: 24}},
				Routes:   []hns.Route{hns.DefaultRoute(s.subnet(n).Addr().Next())},
				DNS:      hns.DNS{ServerList: []string{s.vip(0).String()}, Search: []string{"default.svc"}},
				Policies: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8", "172.16.0.0/12"}}}, Document: asRead})
		}
		for at, e := range remote {
			if at[0] != n {
				st.Endpoints = append(st.Endpoints, e)
			}
		}
		c.Nodes = append(c.Nodes, flows.Node{Name: fmt.Sprintf("node-%03d", n), Addresses: []netip.Addr{s.node(n)}, PodSubnets: []netip.Prefix{s.subnet(n)},
			Windows: &flows.Windows{HNS: st, Host: &flows.IPStack{
				Adapters: []flows.Adapter{{Name: "Ethernet", Addresses: []netip.Prefix{netip.PrefixFrom(s.node(n), 24)}}},
				Routes:   []flows.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0"), NextHop: netip.MustParseAddr("192.168.0.1")}}}}})
	}
	c.Resolvers = []flows.Resolver{dns}
	return c
}

func (s size) network(n int) *hns.Network {
	net := &hns.Network{ID: idOf(3, 0), Name: "vx", Type: hns.Overlay, Document: asRead,
		IPAMs:    []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: s.subnet(n), Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 4096}}, Routes: []hns.Route{hns.DefaultRoute(s.subnet(n).Addr().Next())}}}}},
		Policies: []hns.NetworkPolicy{hns.HostRoute{}, hns.ProviderAddress{Address: s.node(n)}, hns.DRMACAddress{Address: s.mac(n)}}}
	for o := range s.nodes {
		if o != n {
			net.Policies = append(net.Policies, hns.RemoteSubnetRoute{DestinationPrefix: s.subnet(o), IsolationID: 4096, ProviderAddress: s.node(o), DistributedRouterMAC: s.mac(o)})
		}
	}
	return net
}

// packets are one of each kind.
func (s size) packets() map[string]flows.Packet {
	from := flows.Place{Pod: "pod-0-0"}
	n, p := s.backend(s.services-1, 1)
	if n == 0 {
		n, p = s.backend(s.services-1, 2)
	}
	far := s.pod(n, p) // a backend of another node
	return map[string]flows.Packet{
		"pod":     {From: from, To: flows.Target{Address: s.pod(s.nodes-1, s.pods-1)}},
		"service": {From: from, To: flows.Target{Address: s.vip(s.services - 1)}, Backend: far},
		"name":    {From: from, To: flows.Target{Name: fmt.Sprintf("pod-%d-0.pods.default.svc", s.nodes-1)}},
		"outside": {From: from, To: flows.Target{Address: netip.MustParseAddr("203.0.113.80")}},
		"node":    {From: flows.Place{Node: "node-000"}, To: flows.Target{Address: s.pod(s.nodes-1, 0)}},
	}
}

// TestCost counts what a trace looks at: from a small world to one with a
// thousand times the pods and a hundred times the services it must not grow
// more than the logarithm does.
func TestCost(t *testing.T) {
	small, large := size{3, 3, 4}, size{60, 60, 400}
	a, b := world(t, small.cluster()), world(t, large.cluster())
	factor := bits.Len(uint(large.nodes * large.pods * large.services / (small.nodes * small.pods * small.services)))
	for kind := range small.packets() {
		x, y := a.Trace(small.packets()[kind]), b.Trace(large.packets()[kind])
		if !x.Works() || !y.Works() {
			t.Errorf("%s:\n%s\n%s", kind, x, y)
		}
		if y.Looked > x.Looked+factor {
			t.Errorf("%s: looked at %d objects in the small world and at %d in the large one", kind, x.Looked, y.Looked)
		}
		if len(y.Steps) != len(x.Steps) {
			t.Errorf("%s: %d steps in the small world, %d in the large one", kind, len(x.Steps), len(y.Steps))
		}
	}
	cases := func(w *flows.World) (n, looked int) {
		for _, cell := range w.Nine()[0].Cells {
			for _, c := range cell.Cases {
				n++
				looked += c.Trace.Looked
			}
		}
		return n, looked
	}
	n, looked := cases(a)
	if m, more := cases(b); m > 2*n || more > 2*looked+m*factor {
		t.Errorf("the nine flows: %d traces looking at %d objects in the small world, %d at %d in the large one", n, looked, m, more)
	}
}

// withRules gives the first pod rules that do not fit its packets, each naming
// a set, and one that lets everything out; and the network that set.
func withRules(s size, rules, members int) *flows.World {
	c := s.cluster()
	st := c.Nodes[0].Windows.HNS
	set := hns.SetPolicy{ID: "set", Type: hns.SetIP}
	for i := range members {
		set.Values = append(set.Values, netip.AddrFrom4([4]byte{100, byte(i >> 16), byte(i >> 8), byte(i)}).String())
	}
	st.Networks[0].Policies = append(st.Networks[0].Policies, set)
	e := st.Endpoints[0]
	for i := range rules {
		e.Policies = append(e.Policies, hns.ACL{Action: []hns.ACLAction{hns.ACLBlock, hns.ACLAllow}[i%2], Direction: hns.Out, Priority: uint16(100 + i), RemoteAddresses: []string{"set"}})
	}
	e.Policies = append(e.Policies, hns.ACL{Action: hns.ACLAllow, Direction: hns.Out, Priority: 65500})
	w, err := flows.New(*c)
	if err != nil {
		panic(err) // of a cluster that is made here: never
	}
	return w
}

// TestCostOfRules counts what a trace looks at where the sender has rules: each
// at most twice for what asks once, and four times for a service, and a set once,
// however large.
func TestCostOfRules(t *testing.T) {
	s := size{3, 3, 4}
	for kind, p := range s.packets() {
		if kind == "node" || kind == "name" {
			continue // not from the pod, and with a question before
		}
		none := withRules(s, 0, 10).Trace(p)
		for _, n := range []int{100, 4000} {
			tr := withRules(s, n, 100_000).Trace(p)
			if !tr.Works() || tr.Outcome != flows.Arrived || len(tr.Steps) != len(none.Steps) {
				t.Errorf("%s, %d rules: %s", kind, n, tr)
			}
			if most := none.Looked + 4*n + 10; tr.Looked > most {
				t.Errorf("%s, %d rules: looked at %d objects, %d without; want at most %d", kind, n, tr.Looked, none.Looked, most)
			}
		}
	}
}

func BenchmarkTraceWithRules(b *testing.B) {
	s := size{3, 3, 4}
	for _, n := range []int{100, 1000, 4000} {
		w := withRules(s, n, 100_000)
		b.Run(fmt.Sprintf("%d rules, a set of 100000", n), func(b *testing.B) {
			for b.Loop() {
				if tr := w.Trace(s.packets()["pod"]); tr.Outcome != flows.Arrived {
					b.Fatal(tr)
				}
			}
		})
	}
}

var big = size{100, 100, 1000}

func BenchmarkNew(b *testing.B) {
	c := big.cluster()
	for b.Loop() {
		if _, err := flows.New(*c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrace(b *testing.B) {
	for _, s := range []size{{3, 3, 4}, big} {
		w := world(b, s.cluster())
		for kind, p := range s.packets() {
			b.Run(fmt.Sprintf("%d nodes, %d pods each, %d services/%s", s.nodes, s.pods, s.services, kind), func(b *testing.B) {
				b.ReportAllocs()
				var t *flows.Trace
				for b.Loop() {
					t = w.Trace(p)
				}
				b.ReportMetric(float64(t.Looked), "looked/op")
			})
		}
	}
}

func BenchmarkNine(b *testing.B) {
	w := world(b, big.cluster())
	for b.Loop() {
		if t := w.Nine(); len(t) != 1 || t[0].Mode != modes.Overlay {
			b.Fatal(t)
		}
	}
}
