package flows

import (
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// Cluster describes everything that a packet can meet. [New] makes a [World]
// of it. Only what HNS holds comes from documents; the rest is given here by
// whoever knows it.
type Cluster struct {
	// Nodes of the cluster. Their names are unique.
	Nodes []Node
	// Physical is what lies between the nodes. Nil is not known: what it does
	// then could not be judged, and a packet is taken to reach whoever has the
	// address that it is sent to.
	Physical *Physical
	// Resolvers answer names.
	Resolvers []Resolver
	// Services are those of the cluster. Linux nodes carry them out from here,
	// and so does an SDN controller ([Fabric]). A Windows node carries out what
	// its HNS has as load balancers, and nothing else; for it they only give
	// names to what is missing.
	Services []Service
	// Outside are hosts that are no nodes.
	Outside []Host
}

// Node is a node: Windows or Linux, exactly one of the two.
type Node struct {
	Name string
	// Addresses on the physical network. The first of a family is the one that
	// source NAT puts into packets.
	Addresses []netip.Addr
	// MAC of the adapter on the physical network; zero is shown as none.
	MAC hns.MAC
	// PodSubnets are those that the cluster gave the node. They say whose
	// address is meant when nobody has it, and which route is missing. The
	// subnets of a Windows node's networks need not be repeated here.
	PodSubnets []netip.Prefix
	Windows    *Windows
	Linux      *Linux
}

// Windows is a Windows node.
type Windows struct {
	// HNS is what HNS holds. Nil is nothing.
	HNS *State
	// Host is what HNS does not hold. Nil is not known, as with a snapshot
	// alone: what depends on it could not be judged.
	Host *IPStack
}

// IPStack is the IP configuration of a node itself.
type IPStack struct {
	// Adapters of the node, those on virtual switches too.
	Adapters []Adapter
	// Routes, beside those to the adapters' own subnets. A default route is
	// one to 0.0.0.0/0 or ::/0.
	Routes []Route
}

// Adapter is a network adapter of a node.
type Adapter struct {
	// Name is the adapter's alias, such as "vEthernet (Ethernet)".
	Name string
	// Addresses with the length of their subnets.
	Addresses []netip.Prefix
	// Forwarding is whether the node forwards what comes in by the adapter for
	// another address.
	Forwarding bool
}

// Route is a route of a node or of the physical network.
type Route struct {
	Destination netip.Prefix
	// NextHop is who takes it from there; of a node 0.0.0.0 or :: is its own
	// link.
	NextHop netip.Addr
}

// Linux is a Linux node. Firewalls, network policies and the containers' own
// rules are not modelled.
type Linux struct {
	IPStack
	// Forwarding is net.ipv4.ip_forward.
	Forwarding bool
	// VXLAN is the VXLAN interface of flannel or its like; nil for none.
	VXLAN *VXLAN
	// Pods of the node.
	Pods []LinuxPod
	// Masquerade translates the source of what pods send to other addresses
	// than MasqueradeExcept, as flannel's ipMasq does.
	Masquerade       bool
	MasqueradeExcept []netip.Prefix
	// ServiceProxy is whether the node carries out [Cluster.Services], as
	// kube-proxy does.
	ServiceProxy bool
}

// LinuxPod is a pod of a Linux node.
type LinuxPod struct {
	Name    string
	Address netip.Addr
	// DNS is what /etc/resolv.conf says; names with fewer than five dots get
	// every suffix, as Kubernetes sets it up.
	DNS hns.DNS
}

// VXLAN is a VXLAN interface of a Linux node. Flannel takes VNI 1 and port 8472
// unless it is told otherwise; neither works with Windows.
type VXLAN struct {
	VNI  uint32
	Port uint16
	// MAC of the interface; other nodes send to it.
	MAC hns.MAC
	// Address of the interface: the source of what the node itself sends to
	// pods of other nodes.
	Address netip.Addr
	// Peers are the other nodes' pod subnets.
	Peers []VXLANPeer
}

// VXLANPeer is the pod subnet of another node as a Linux node knows it.
type VXLANPeer struct {
	Subnet netip.Prefix
	// Node is that node's address on the physical network.
	Node netip.Addr
	// MAC of its VXLAN interface, or on Windows of its distributed router.
	MAC hns.MAC
}

// Physical is the network between the nodes. Nodes whose adapters have a
// subnet in common share a link.
type Physical struct {
	// Routers are the addresses of the router, such as the nodes' default
	// gateway. It knows every node and every outside host.
	Routers []netip.Addr
	// Routes are what the router knows beside: a cloud's user-defined routes
	// to pod subnets.
	Routes []Route
	// DropsForeign is whether a node may only send with its own addresses: a
	// cloud without IP forwarding, or a hypervisor without MAC spoofing.
	DropsForeign bool
	// BlockedUDP are ports that do not get through between nodes.
	BlockedUDP []uint16
	// VNet is an Azure virtual network; nil for none. Mode L2Tunnel needs it.
	VNet *VNet
	// Fabric joins pods of mode Transparent; nil for none.
	Fabric *Fabric
}

// VNet is an Azure virtual network.
type VNet struct {
	// Assigned are the prefixes and addresses that Azure has given to the
	// network interfaces of the nodes.
	Assigned []Assignment
	// SNAT is whether Azure translates the source of what goes outside.
	SNAT bool
}

// Assignment gives addresses to a node.
type Assignment struct {
	Prefix netip.Prefix
	Node   string
}

// Fabric is an SDN controller, or a physical network that knows the addresses
// of pods.
type Fabric struct {
	Name string
	// Pods are the prefixes of pods that it carries.
	Pods []netip.Prefix
	// Services is whether it carries out [Cluster.Services].
	Services bool
	// NAT is whether it translates the source of what goes outside.
	NAT bool
}

// Resolver is a DNS server.
type Resolver struct {
	Name string
	// Address is where it is asked: for the cluster's DNS the address of its
	// service. Of two with one address only the first is asked.
	Address netip.Addr
	// Records are its names, fully qualified without the last dot, in small
	// letters.
	Records map[string][]netip.Addr
	// Forward is the resolver that it asks for other names; none: they do not
	// exist. The path of that question is not traced.
	Forward netip.Addr
}

// Service is a service of the cluster.
type Service struct {
	// Name is the bare name, such as "web", and FQDN the whole one, such as
	// "web.default.svc.cluster.local".
	Name, FQDN string
	// Addresses are the cluster addresses, at most one of each family.
	Addresses []netip.Addr
	Ports     []ServicePort
	// Backends are addresses of pods.
	Backends []netip.Addr
}

// ServicePort is a port of a service.
type ServicePort struct {
	Protocol     hns.Protocol
	Port, Target uint16
}

// Host is a host that is no node.
type Host struct {
	Name    string
	Address netip.Addr
	// Names that resolvers know it by are in their records; Name need not be
	// one of them.
}
