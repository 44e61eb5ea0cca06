package mixedcluster

import (
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// overlayRoutes are faults of the Windows side of an overlay.
func overlayRoutes() []Break {
	win1, win2 := windows[0], windows[1]
	b := func(name, report, text string, p flows.Packet, do func(*flows.Cluster)) Break {
		return Break{name, text, report, modes.Overlay, p, do}
	}
	gone := func(*hns.RemoteSubnetRoute) bool { return false }
	rsr := func(change func(*hns.RemoteSubnetRoute)) func(*flows.Cluster) {
		return withoutRemotes(Win1, setRSR(Win1, win2.subnet, func(r *hns.RemoteSubnetRoute) bool { change(r); return true }))
	}
	return []Break{
		b("remote-route", "flannel-io/flannel#1061", "win-1 has no RemoteSubnetRoute for win-2", toWin2, withoutRemotes(Win1, setRSR(Win1, win2.subnet, gone))),
		b("remote-route-back", "", "win-2 has no RemoteSubnetRoute for win-1", toWin2, setRSR(Win2, win1.subnet, gone)),
		b("remote-route-vni", "moby/libnetwork#1843", "the RemoteSubnetRoute has another VNI", toWin2, rsr(func(r *hns.RemoteSubnetRoute) { r.IsolationID = 5000 })),
		b("remote-route-mac", "flannel-io/flannel#1061", "the RemoteSubnetRoute has the MAC from before the reboot", toWin2, rsr(func(r *hns.RemoteSubnetRoute) { r.DistributedRouterMAC[5]++ })),
		b("remote-route-address", "", "the RemoteSubnetRoute leads to an address that no node has", toWin2, rsr(func(r *hns.RemoteSubnetRoute) { r.ProviderAddress = nobodyHere })),
		b("remote-route-node", "", "the RemoteSubnetRoute leads to another node", toWin2, rsr(func(r *hns.RemoteSubnetRoute) { r.ProviderAddress, r.DistributedRouterMAC = linux.addr, linuxMAC })),
		b("host-route", "flannel-io/flannel#1137", "the network has no HostRoute: pod to its node", toOwnNode, withoutHostRoute),
		b("host-route-node", "", "the network has no HostRoute: node to its pod", fromNode, withoutHostRoute),
		b("vni", "rancher/rke2#5952", "the network of win-2 has another VNI", toWin2, onNetwork(Win2, func(n *hns.Network) {
			n.IPAMs = []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: win2.subnet, Routes: n.Subnets()[0].Routes, Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 5000}}}}}}
		})),
		b("vxlan-port", "", "the network of win-2 has another VXLAN port", toWin2, onNetwork(Win2, func(n *hns.Network) { n.Policies = append(slices.Clone(n.Policies), hns.VXLANPort{Port: 8472}) })),
		b("udp-blocked", "", "a firewall between the nodes drops UDP 4789", toWin2, func(c *flows.Cluster) { c.Physical.BlockedUDP = []uint16{vxlanPort} }),
		b("no-provider", "flannel-io/flannel#1066", "the network has no provider address yet", toWin2, onNetwork(Win1, func(n *hns.Network) {
			n.Policies = dropPolicy(n.Policies, ofType[hns.ProviderAddress, hns.NetworkPolicy](always[hns.ProviderAddress]))
		})),
		b("no-nat", "", "the pod has no source NAT", toOutside, without(Win1, Client, always[hns.OutBoundNAT])),
		b("exception-cluster", "projectcalico/cni-plugin#1067", "the pods' CIDR is not among the NAT exceptions", toWin2, except(Win1, Client, clusterCIDR)),
		b("exception-outside", "microsoft/SDN#313", "an exception holds hosts outside", toOutside, exceptions(Win1, Client, func(l []string) []string { return append(l, "203.0.113.0/24") })),
		b("detached", "projectcalico/calico#12795", "the endpoint is not attached", toWin2, onPod(Win2, Web2, func(e *hns.Endpoint) { e.State, e.Namespace = hns.EndpointCreated, hns.ID{} })),
	}
}

func withoutHostRoute(c *flows.Cluster) {
	onNetwork(Win1, func(n *hns.Network) {
		n.Policies = dropPolicy(n.Policies, ofType[hns.HostRoute, hns.NetworkPolicy](always[hns.HostRoute]))
	})(c)
}

// overlayLinux are faults of the Linux side of an overlay.
func overlayLinux() []Break {
	b := func(name, report, text string, p flows.Packet, do func(*flows.Cluster)) Break {
		return Break{name, text, report, modes.Overlay, p, do}
	}
	return []Break{
		b("linux-vni", "rancher/rke2#5952", "flannel on Linux has its usual VNI, 1", toLinux, onVXLAN(func(v *flows.VXLAN) { v.VNI = 1 })),
		b("linux-vni-from", "rancher/rke2#5952", "flannel on Linux has its usual VNI, 1, seen from there", fromLinux, onVXLAN(func(v *flows.VXLAN) { v.VNI = 1 })),
		b("linux-port", "", "flannel on Linux has its usual port, 8472", toLinux, onVXLAN(func(v *flows.VXLAN) { v.Port = 8472 })),
		b("linux-port-from", "", "flannel on Linux has its usual port, 8472, seen from there", fromLinux, onVXLAN(func(v *flows.VXLAN) { v.Port = 8472 })),
		b("linux-host-gw", "", "flannel on Linux has the backend host-gw", fromLinux, func(c *flows.Cluster) {
			l := nodeNamed(c, Lin1).Linux
			l.VXLAN = nil
			for _, m := range windows {
				l.Routes = append(slices.Clone(l.Routes), flows.Route{Destination: m.subnet, NextHop: m.addr})
			}
		}),
		b("linux-no-vxlan", "", "the Linux node has no VXLAN interface", toLinux, func(c *flows.Cluster) { nodeNamed(c, Lin1).Linux.VXLAN = nil }),
		b("linux-peer", "", "the Linux node does not know win-1", fromLinux, onVXLAN(func(v *flows.VXLAN) { v.Peers = v.Peers[1:] })),
		b("linux-peer-mac", "flannel-io/flannel#1061", "the Linux node has the MAC of win-1 from before the reboot", fromLinux, onVXLAN(func(v *flows.VXLAN) { v.Peers[0].MAC[5]++ })),
		b("linux-mac", "", "the Linux node's VXLAN interface was made again", toLinux, onVXLAN(func(v *flows.VXLAN) { v.MAC[5]++ })),
	}
}

// overlayServices are faults of load balancers on an overlay.
func overlayServices() []Break {
	b := func(name, report, text string, p flows.Packet, do func(*flows.Cluster)) Break {
		return Break{name, text, report, modes.Overlay, p, do}
	}
	remote := func(a netip.Addr, change func(*hns.Endpoint)) func(*flows.Cluster) {
		return func(c *flows.Cluster) {
			for _, e := range stateOf(c, Win1).Endpoints {
				if e.Flags&hns.EndpointRemote != 0 && slices.Contains(e.Addresses(), a) {
					change(e)
				}
			}
		}
	}
	return []Break{
		b("source-vip", "", "the load balancer has neither source VIP nor DSR", toWeb2, func(c *flows.Cluster) {
			for _, l := range stateOf(c, Win1).LoadBalancers {
				l.SourceVIP = netip.Addr{}
			}
		}),
		b("source-vip-endpoint", "kubernetes/kubernetes#100962", "no endpoint holds the source VIP", toWeb2, dropEndpoint(Win1, func(e *hns.Endpoint) bool { return e.Name == "source-vip" })),
		b("exception-service", "microsoft/SDN#170", "the service CIDR is not among the NAT exceptions", toWeb1, except(Win1, Client, serviceCIDR)),
		b("load-balancer", "kubernetes/kubernetes#139519", "the load balancers of the service are gone", toWeb3, dropFrontend(Win1, WebVIP)),
		b("remote-endpoint", "kubernetes/kubernetes#76316", "the remote endpoint of the backend is gone", toWeb3, dropEndpoint(Win1, func(e *hns.Endpoint) bool { return slices.Contains(e.Addresses(), PodAddress(Web3)) })),
		b("remote-endpoint-provider", "", "the remote endpoint does not say on which node the pod is", toWeb2, remote(PodAddress(Web2), func(e *hns.Endpoint) { e.Policies = nil })),
		b("remote-endpoint-mac", "", "the remote endpoint has an old MAC", toWeb2, remote(PodAddress(Web2), func(e *hns.Endpoint) { e.MAC[5]++ })),
		b("stale-remote", "kubernetes/kubernetes#138000", staleText, toSame, stale),
	}
}

const staleText = "a remote endpoint from before has the address of a local pod"

func stale(c *flows.Cluster) {
	s := stateOf(c, Win1)
	s.Endpoints = append(slices.Clone(s.Endpoints), &hns.Endpoint{ID: hns.ID{9}, Name: "stale", Network: s.Networks[0].ID, Flags: hns.EndpointRemote,
		IPConfigs: []hns.IPConfig{{Address: PodAddress(Web1)}}, Policies: []hns.EndpointPolicy{hns.ProviderAddress{Address: windows[1].addr}}})
}

// otherModes are faults of L2Tunnel, Transparent and NAT.
func otherModes() []Break {
	return []Break{
		{"not-assigned", "Azure has not given win-2 the addresses of its pods", "", modes.L2Tunnel, toWin2, func(c *flows.Cluster) {
			v := *c.Physical.VNet
			v.Assigned = slices.DeleteFunc(slices.Clone(v.Assigned), func(a flows.Assignment) bool { return a.Node == Win2 })
			c.Physical.VNet = &v
		}},
		{"no-vnet", "the node is not in Azure", "", modes.L2Tunnel, toSame, func(c *flows.Cluster) { c.Physical.VNet = nil }},
		{"sdn-route-service", "no SDNRoute leads to the services", "", modes.L2Tunnel, toWeb2, without(Win1, Client, always[hns.SDNRoute])},
		{"no-fabric", "nothing joins the nodes' pods", "", modes.Transparent, toWin2, func(c *flows.Cluster) { c.Physical.Fabric = nil }},
		{"fabric-subnet", "the fabric does not carry the pods of win-2", "", modes.Transparent, toWin2, func(c *flows.Cluster) { c.Physical.Fabric = &flows.Fabric{Pods: []netip.Prefix{windows[0].subnet}} }},
		{"fabric-services", "the fabric carries no services out", "", modes.Transparent, toWeb2, func(c *flows.Cluster) {
			c.Physical.Fabric = &flows.Fabric{Pods: []netip.Prefix{clusterCIDR}, NAT: true}
		}},
		{"dns-proxy", "HNS knows no name of the host outside", "", modes.NAT, pod(Client, flows.Target{Name: WWW}), func(c *flows.Cluster) { delete(c.Resolvers[0].Records, WWW) }},
		{"no-gateway", "the container has no gateway", "", modes.NAT, toOutside, onPod(Win1, Client, func(e *hns.Endpoint) { e.Routes = nil })},
	}
}
