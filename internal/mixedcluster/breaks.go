package mixedcluster

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// Break is one fault that a healthy cluster can be given.
type Break struct {
	// Name is a word for it, unique for the mode, and Text a sentence.
	Name, Text string
	// Report is where it was reported, as repository#number; may be empty.
	Report string
	Mode   modes.Mode
	// Packet is one that works in the healthy cluster and not in the broken one.
	Packet flows.Packet
	// Do breaks the cluster.
	Do func(*flows.Cluster)
}

// Breaks returns the faults of all modes.
func Breaks() []Break {
	return slices.Concat(l2bridgeHost(), l2bridgePolicies(), l2bridgeRules(), l2bridgeNames(), overlayRoutes(), overlayLinux(), overlayServices(), gateways(), otherModes())
}

// Packets of the breaks.
var (
	toWin2     = pod(Client, flows.Target{Place: flows.Place{Pod: Web2}})
	toLinux    = pod(Client, flows.Target{Place: flows.Place{Pod: Web3}})
	fromLinux  = pod(Web3, flows.Target{Place: flows.Place{Pod: Client}})
	toSame     = pod(Client, flows.Target{Place: flows.Place{Pod: Web1}})
	toOutside  = pod(Client, flows.Target{Address: wwwAddr})
	toOwnNode  = pod(Client, flows.Target{Place: flows.Place{Node: Win1}})
	fromNode   = flows.Packet{From: flows.Place{Node: Win1}, To: flows.Target{Place: flows.Place{Pod: Client}}}
	toWebName  = pod(Client, flows.Target{Name: "web"})
	toWebFull  = pod(Client, flows.Target{Name: WebFQDN})
	toWeb2     = service(Web2)
	toWeb1     = service(Web1)
	toWeb3     = service(Web3)
	defaultV4  = netip.MustParsePrefix("0.0.0.0/0")
	nobodyHere = netip.MustParseAddr("192.0.2.99")
)

func pod(from string, to flows.Target) flows.Packet {
	return flows.Packet{From: flows.Place{Pod: from}, To: to}
}

// service is a packet for the backend of "web" on a node.
func service(backend string) flows.Packet {
	return flows.Packet{From: flows.Place{Pod: Client}, To: flows.Target{Address: WebVIP}, DstPort: webPort, Backend: PodAddress(backend)}
}

func nodeNamed(c *flows.Cluster, name string) *flows.Node {
	return &c.Nodes[slices.IndexFunc(c.Nodes, func(n flows.Node) bool { return n.Name == name })]
}

func stateOf(c *flows.Cluster, node string) *flows.State { return nodeNamed(c, node).Windows.HNS }

func hostOf(c *flows.Cluster, node string) *flows.IPStack {
	n := nodeNamed(c, node)
	if n.Linux != nil {
		return &n.Linux.IPStack
	}
	return n.Windows.Host
}

// on returns a break that changes the endpoint of a pod.
func onPod(node, pod string, change func(*hns.Endpoint)) func(*flows.Cluster) {
	return func(c *flows.Cluster) {
		for _, e := range stateOf(c, node).Endpoints {
			if strings.HasPrefix(e.Name, pod+"_") || e.Name == pod {
				change(e)
			}
		}
	}
}

// onNetwork returns a break that changes the network of a node.
func onNetwork(node string, change func(*hns.Network)) func(*flows.Cluster) {
	return func(c *flows.Cluster) { change(stateOf(c, node).Networks[0]) }
}

// dropPolicy removes the policies that match from a list.
func dropPolicy[P any](ps []P, match func(P) bool) []P {
	return slices.DeleteFunc(slices.Clone(ps), match)
}

func ofType[T any, P any](also func(T) bool) func(P) bool {
	return func(p P) bool {
		t, ok := any(p).(T)
		return ok && also(t)
	}
}

// without removes the policies of a type that match from a pod's endpoint.
func without[T any](node, pod string, also func(T) bool) func(*flows.Cluster) {
	return onPod(node, pod, func(e *hns.Endpoint) { e.Policies = dropPolicy(e.Policies, ofType[T, hns.EndpointPolicy](also)) })
}

// with adds policies to a pod's endpoint.
func with(node, pod string, ps ...hns.EndpointPolicy) func(*flows.Cluster) {
	return onPod(node, pod, func(e *hns.Endpoint) { e.Policies = append(slices.Clone(e.Policies), ps...) })
}

// exceptions replaces the exceptions of a pod's source NAT.
func exceptions(node, pod string, change func([]string) []string) func(*flows.Cluster) {
	return onPod(node, pod, func(e *hns.Endpoint) {
		e.Policies = slices.Clone(e.Policies)
		for i, p := range e.Policies {
			if nat, ok := p.(hns.OutBoundNAT); ok {
				nat.Exceptions = change(slices.Clone(nat.Exceptions))
				e.Policies[i] = nat
			}
		}
	})
}

func except(node, pod string, gone netip.Prefix) func(*flows.Cluster) {
	return exceptions(node, pod, func(l []string) []string {
		return slices.DeleteFunc(l, func(s string) bool { return s == gone.String() })
	})
}

// setRoute gives a node's route another next hop, or none.
func setRoute(node string, to netip.Prefix, hop netip.Addr) func(*flows.Cluster) {
	return func(c *flows.Cluster) {
		s := hostOf(c, node)
		s.Routes = slices.DeleteFunc(slices.Clone(s.Routes), func(r flows.Route) bool { return r.Destination == to })
		if hop.IsValid() {
			s.Routes = append(s.Routes, flows.Route{Destination: to, NextHop: hop})
		}
	}
}

func forwardingOff(node, adapter string) func(*flows.Cluster) {
	return func(c *flows.Cluster) {
		s := hostOf(c, node)
		s.Adapters = slices.Clone(s.Adapters)
		for i := range s.Adapters {
			if s.Adapters[i].Name == adapter {
				s.Adapters[i].Forwarding = false
			}
		}
	}
}

// dropEndpoint removes the endpoints that match from a node.
func dropEndpoint(node string, match func(*hns.Endpoint) bool) func(*flows.Cluster) {
	return func(c *flows.Cluster) {
		s := stateOf(c, node)
		s.Endpoints = slices.DeleteFunc(slices.Clone(s.Endpoints), match)
	}
}

// dropFrontend removes the load balancers of an address from a node.
func dropFrontend(node string, vip netip.Addr) func(*flows.Cluster) {
	return func(c *flows.Cluster) {
		s := stateOf(c, node)
		s.LoadBalancers = slices.DeleteFunc(slices.Clone(s.LoadBalancers), func(l *hns.LoadBalancer) bool { return slices.Contains(l.FrontendVIPs, vip) })
	}
}

// setRSR changes the remote subnet route of a node for a subnet; change
// reports whether it stays.
func setRSR(node string, subnet netip.Prefix, change func(*hns.RemoteSubnetRoute) bool) func(*flows.Cluster) {
	return onNetwork(node, func(n *hns.Network) {
		var out []hns.NetworkPolicy
		for _, p := range n.Policies {
			if r, ok := p.(hns.RemoteSubnetRoute); ok && r.DestinationPrefix == subnet {
				if !change(&r) {
					continue
				}
				p = r
			}
			out = append(out, p)
		}
		n.Policies = out
	})
}

// withoutRemotes removes the remote endpoints of a node, so that its routes
// alone lead to others.
func withoutRemotes(node string, then func(*flows.Cluster)) func(*flows.Cluster) {
	return func(c *flows.Cluster) {
		dropEndpoint(node, func(e *hns.Endpoint) bool { return e.Flags&hns.EndpointRemote != 0 })(c)
		then(c)
	}
}

func onVXLAN(change func(*flows.VXLAN)) func(*flows.Cluster) {
	return func(c *flows.Cluster) {
		l := nodeNamed(c, Lin1).Linux
		v := *l.VXLAN
		v.Peers = slices.Clone(v.Peers)
		change(&v)
		l.VXLAN = &v
	}
}

func both(fs ...func(*flows.Cluster)) func(*flows.Cluster) {
	return func(c *flows.Cluster) {
		for _, f := range fs {
			f(c)
		}
	}
}

func always[T any](T) bool { return true }
