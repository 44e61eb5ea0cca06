// Package flows answers why a packet does not arrive: it traces packets over
// the HNS documents of Windows nodes and a small model of the rest of a
// cluster.
//
//	w, err := flows.New(flows.Cluster{Nodes: nodes, Services: services, Physical: network})
//	t := w.Trace(flows.Packet{From: flows.Place{Pod: "client"}, To: flows.Target{Name: "web"}})
//	if !t.Works() {
//		fmt.Println(t.Diagnosis) // the reason, the object that is missing or wrong, the fix
//	}
//
// A [Trace] is the way of a packet and of the answer to it: each [Step] names
// the object and the policy that acted, what it did, the header before and
// after, and how sure it is that Windows does so. Answers are translated back
// by what the way there remembered, so that failures of one direction alone
// are found. [World.Nine] traces the nine flows that Kubernetes wants, by mode.
//
// The documents come from a live HNS ([ReadState]) or from a snapshot of one
// ([StateOf]); what HNS does not hold, such as the routes of nodes, comes from
// the caller. What is not known is no error: a step says that it could not be
// judged, and the packet goes on as if it were let through ([Unjudged]).
//
// # What a world needs
//
// Beside the documents, and only for what shall be traced:
//
//   - Adapters and routes of nodes ([Windows.Host], [Linux]): the adapter on the
//     physical network with its subnet, and a default route to a router for what
//     goes outside. On L2Bridge also a route to the pod subnet of each other node,
//     and the adapter of the node's own endpoint on the network (the one with
//     .2): it and that of the physical network need Forwarding. No other mode
//     needs Forwarding on Windows; a Linux node has it for all adapters at once.
//   - [Physical.Routers] with the next hop of those default routes, and
//     [Cluster.Outside] with the hosts that are asked. A Physical that is there is
//     taken to be whole: what is not on it is nowhere. A nil one is not known.
//   - [Cluster.Services] for the names of services and for Linux nodes, and
//     [Cluster.Resolvers] with the address that pods ask (that of the cluster's DNS
//     service) and, in Forward, who knows the names outside: an outside host need
//     not be described for it.
//
// [New] has an example of a whole one.
//
// The package is pure. It asks nobody, changes nothing, and gives the same
// trace for the same world.
//
// # What is modelled
//
// Of HNS: the state of endpoints and their namespaces; routes and gateways;
// OutBoundNAT (exceptions, destinations, virtual IP); SDNRoute, as policy and
// as object; ACL, NetworkACL, TierAcl and the sets they name; PortMapping; load
// balancers (DSR, source VIP, distribution, internal, preserved DIP, node
// ports); RemoteSubnetRoute, remote endpoints, HostRoute, VSID, VxlanPort and
// the MACs of distributed routers; L4Proxy and L4WFPPROXY; DNS with the rules
// of Windows for suffixes. Of nodes: routes, forwarding, and of Linux ones
// VXLAN, masquerading and services. Of the network between: links, a router and
// its routes, dropped foreign sources, blocked UDP ports, an Azure virtual
// network, an SDN fabric.
//
// Not modelled: sizes and MTU, speed (QOS), VLANs, broadcast and multicast,
// ARP, DHCP, fragments, firewalls of the nodes, network policies of Linux
// nodes, what versions of HNS lack (except direct server return, loopback,
// VxlanPort and the default of ACLs), the backend that a load balancer really
// chooses, the port that NAT really takes, and programs: whoever has the
// address answers.
//
// # How sure it is
//
// A [Certainty] goes with each step and each diagnosis. Facts about the modes
// are from Microsoft's pages on container network drivers and the pages
// "Networking on Windows" and "DNS" of the Kubernetes documentation; facts
// about policies from what win-bridge, win-overlay, flannel, Calico, Azure CNI
// and kube-proxy set up, and from what users reported. Everything about
// Transparent is inferred. Inferred, too, are: the order of proxies, ACLs, load
// balancers and NAT within the switch; Overlay from a node to pods of other
// nodes; all of load balancing on L2Tunnel; ICMP through WinNAT. Renderers mark
// what is inferred with "?".
package flows
