package mixedcluster

import (
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

const mgmt = "vEthernet (Ethernet)"

// l2bridgeHost are faults of the nodes' own configuration.
func l2bridgeHost() []Break {
	win1, win2 := windows[0], windows[1]
	b := func(name, report, text string, p flows.Packet, do func(*flows.Cluster)) Break {
		return Break{name, text, report, modes.L2Bridge, p, do}
	}
	return []Break{
		b("route", "", "win-1 has no route to the pods of win-2", toWin2, setRoute(Win1, win2.subnet, netip.Addr{})),
		b("route-back", "", "win-2 has no route to the pods of win-1", toWin2, setRoute(Win2, win1.subnet, netip.Addr{})),
		b("route-linux", "", "lin-1 has no route to the pods of win-1", toLinux, setRoute(Lin1, win1.subnet, netip.Addr{})),
		b("route-wrong", "", "win-1's route leads to an address that nobody has", toWin2, setRoute(Win1, win2.subnet, nobodyHere)),
		b("route-self", "", "win-1's route to other pods leads to win-1", toWin2, setRoute(Win1, win2.subnet, win1.addr)),
		b("route-off-link", "", "win-1's route leads to a next hop on another network", toWin2, setRoute(Win1, win2.subnet, netip.MustParseAddr("198.51.100.7"))),
		b("route-loop", "", "win-1 sends to lin-1, and lin-1 back to win-1", toWin2, both(setRoute(Win1, win2.subnet, linux.addr), setRoute(Lin1, win2.subnet, win1.addr))),
		b("default-route", "", "win-1 has no default route", toOutside, setRoute(Win1, defaultV4, netip.Addr{})),
		b("forwarding-pods", "", "IP forwarding is off on the pods' gateway", toWin2, forwardingOff(Win1, "vEthernet (cbr0_ep)")),
		b("forwarding-node", "", "IP forwarding is off on the adapter of the node", toWin2, forwardingOff(Win1, mgmt)),
		b("forwarding-linux", "", "lin-1 does not forward", toLinux, func(c *flows.Cluster) { nodeNamed(c, Lin1).Linux.Forwarding = false }),
		b("host-endpoint", "microsoft/SDN#333", "win-1 has no endpoint of its own", toWin2, dropEndpoint(Win1, func(e *hns.Endpoint) bool { return e.Name == "cbr0_ep" })),
		b("host-endpoint-detached", "flannel-io/flannel#1391", "win-1's own endpoint is not attached", fromNode, onPod(Win1, "cbr0_ep", func(e *hns.Endpoint) { e.State = hns.EndpointCreated })),
		b("gateway", "containernetworking/plugins#671", "the pods' gateway is .1 instead of .2", toWin2, onPod(Win1, Client, func(e *hns.Endpoint) {
			e.Routes = []hns.Route{hns.DefaultRoute(win1.subnet.Addr().Next())}
		})),
		b("no-gateway", "", "the pod has no gateway", toWin2, onPod(Win1, Client, func(e *hns.Endpoint) { e.Routes = nil })),
		b("spoofing", "", "the cloud drops packets from pod addresses", toWin2, func(c *flows.Cluster) { c.Physical.DropsForeign = true }),
		b("stale-subnet", "flannel-io/flannel#556", "web-2 has an address of win-1's subnet", toWin2, onPod(Win2, Web2, func(e *hns.Endpoint) {
			e.IPConfigs = []hns.IPConfig{{Address: netip.MustParseAddr("10.244.1.77"), PrefixLength: 24}}
		})),
		b("pod-gone", "", "the endpoint of web-2 was deleted behind the back of the plugin", pod(Client, flows.Target{Address: PodAddress(Web2)}), dropEndpoint(Win2, func(e *hns.Endpoint) bool { return e.Name == Web2+"_cbr0" })),
	}
}

// l2bridgePolicies are faults of the pods' endpoints and of services.
func l2bridgePolicies() []Break {
	b := func(name, report, text string, p flows.Packet, do func(*flows.Cluster)) Break {
		return Break{name, text, report, modes.L2Bridge, p, do}
	}
	own := netip.PrefixFrom(windows[0].addr, 32)
	route := func(to netip.Prefix) func(hns.SDNRoute) bool {
		return func(r hns.SDNRoute) bool { return r.DestinationPrefix == to }
	}
	return []Break{
		b("exception-cluster", "projectcalico/cni-plugin#1067", "the pods' CIDR is not among the NAT exceptions", toWin2, except(Win1, Client, clusterCIDR)),
		b("exception-service", "microsoft/SDN#170", "the service CIDR is not among the NAT exceptions", toWeb2, except(Win1, Client, serviceCIDR)),
		b("exception-node", "microsoft/SDN#313", "the node is not among the NAT exceptions", toOwnNode, except(Win1, Client, own)),
		b("exception-all", "rancher/rancher#19230", "an exception of 0.0.0.0/0 switches NAT off", toOutside, exceptions(Win1, Client, func(l []string) []string { return append(l, "0.0.0.0/0") })),
		b("no-nat", "", "the pod has no source NAT", toOutside, without(Win1, Client, always[hns.OutBoundNAT])),
		b("sdn-route-service", "", "no SDNRoute leads to the services", toWeb2, without(Win1, Client, route(serviceCIDR))),
		b("sdn-route-node", "", "no SDNRoute leads to the node", toOwnNode, without(Win1, Client, route(own))),
		b("load-balancer", "kubernetes/kubernetes#110674", "the load balancers of the service are gone", toWeb2, dropFrontend(Win1, WebVIP)),
		b("backend", "kubernetes/kubernetes#76316", "the remote endpoint of a backend was deleted", toWeb2, dropEndpoint(Win1, func(e *hns.Endpoint) bool { return slices.Contains(e.Addresses(), PodAddress(Web2)) })),
		b("no-backends", "kubernetes/kubernetes#100384", "the load balancer has no backends", flows.Packet{From: toWeb2.From, To: toWeb2.To, DstPort: webPort}, func(c *flows.Cluster) {
			for _, l := range stateOf(c, Win1).LoadBalancers {
				l.Endpoints = nil
			}
		}),
		b("detached", "projectcalico/calico#5164", "after a restart of HNS the endpoint is not attached", toWin2, onPod(Win1, Client, func(e *hns.Endpoint) { e.State = hns.EndpointDetached })),
		b("degraded", "containerd/containerd#5729", "a mark that nobody filled in degraded the endpoint", toWin2, onPod(Win1, Client, func(e *hns.Endpoint) { e.State = hns.EndpointDegraded })),
		b("namespace", "Azure/azure-container-networking#1272", "the namespace of web-2 is gone", toWin2, func(c *flows.Cluster) {
			s := stateOf(c, Win2)
			var at hns.ID
			for _, e := range s.Endpoints {
				if e.Name == Web2+"_cbr0" {
					at = e.Namespace
				}
			}
			s.Namespaces = append(slices.DeleteFunc(slices.Clone(s.Namespaces), func(n *hns.Namespace) bool { return n.ID == at }), &hns.Namespace{ID: hns.ID{1}})
		}),
		b("stale-remote", "kubernetes/kubernetes#138000", staleText, toSame, stale),
		b("network-gone", "flannel-io/flannel#1423", "the endpoint points to a network that is gone", toWin2, func(c *flows.Cluster) { stateOf(c, Win1).Networks = nil }),
	}
}

// l2bridgeRules are ACLs that block.
func l2bridgeRules() []Break {
	b := func(name, report, text string, p flows.Packet, do func(*flows.Cluster)) Break {
		return Break{name, text, report, modes.L2Bridge, p, do}
	}
	block := func(d hns.Direction, port string) hns.ACL {
		a := hns.ACL{ID: "deny", Protocols: []string{"6"}, Action: hns.ACLBlock, Direction: d, Priority: 200}
		if d == hns.In {
			a.LocalPorts = []string{port}
		} else {
			a.RemotePorts = []string{port}
		}
		return a
	}
	return []Break{
		b("acl-out", "", "an ACL blocks what leaves the pod", toWin2, with(Win1, Client, block(hns.Out, "80"))),
		b("acl-in", "", "an ACL blocks what comes to the pod", toWin2, with(Win2, Web2, block(hns.In, "1-100"))),
		b("acl-set", "", "an ACL blocks a set of addresses", toWin2, both(with(Win1, Client, hns.ACL{Action: hns.ACLBlock, Direction: hns.Out, RemoteAddresses: []string{"web"}, Priority: 300}),
			onNetwork(Win1, func(n *hns.Network) {
				n.Policies = append(slices.Clone(n.Policies), hns.SetPolicy{ID: "web", Type: hns.SetIP, Values: []string{PodAddress(Web2).String()}})
			}))),
		b("acl-default", "microsoft/Windows-Containers#616", "on Windows Server 2025 one block rule makes the default block", toWin2, both(
			func(c *flows.Cluster) { stateOf(c, Win1).Version = hns.Version{Major: 15, Minor: 4} }, with(Win1, Client, block(hns.In, "22")))),
		b("network-acl", "", "an ACL of the network blocks what leaves", toWin2, onNetwork(Win1, func(n *hns.Network) {
			n.Policies = append(slices.Clone(n.Policies), hns.NetworkACL(block(hns.Out, "80")))
		})),
		b("tier-acl", "", "the second tier of rules blocks", toWin2, with(Win1, Client,
			hns.TierACL{Name: "first", Direction: hns.Out, Order: 1, Rules: []hns.TierACLRule{{Action: hns.ACLPass, Priority: 10}}},
			hns.TierACL{Name: "second", Direction: hns.Out, Order: 2, Rules: []hns.TierACLRule{{Action: hns.ACLBlock, RemotePorts: []string{"80"}, Priority: 10}}})),
	}
}

// l2bridgeNames are faults of DNS.
func l2bridgeNames() []Break {
	b := func(name, report, text string, p flows.Packet, do func(*flows.Cluster)) Break {
		return Break{name, text, report, modes.L2Bridge, p, do}
	}
	dns := func(change func(*hns.DNS)) func(*flows.Cluster) {
		return onPod(Win1, Client, func(e *hns.Endpoint) { change(&e.DNS) })
	}
	return []Break{
		b("dns-server", "", "the pod has no DNS server", toWebFull, dns(func(d *hns.DNS) { d.ServerList = nil })),
		b("dns-search", "kubernetes/kubernetes#66801", "the pod has no DNS suffix", toWebName, dns(func(d *hns.DNS) { d.Search = nil })),
		b("dns-search-order", "kubernetes/kubernetes#65016", "the first DNS suffix is not that of the namespace", toWebName, dns(func(d *hns.DNS) { d.Search = []string{"svc.cluster.local", domain} })),
		b("dns-record", "", "the DNS server does not know the service", toWebFull, func(c *flows.Cluster) { delete(c.Resolvers[0].Records, WebFQDN) }),
		b("dns-service", "", "the load balancers of the DNS service are gone", toWebFull, dropFrontend(Win1, DNSVIP)),
		b("dns-forward", "", "the cluster's DNS forwards to nobody", pod(Client, flows.Target{Name: WWW}), func(c *flows.Cluster) { c.Resolvers[0].Forward = netip.Addr{} }),
	}
}
