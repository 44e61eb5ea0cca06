package node

import (
	"encoding/json"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// DefaultLinkMTU is the MTU of the nodes' link unless the description says
// otherwise: that of Ethernet.
const DefaultLinkMTU = 1500

// Description is a node of a cluster, as all that runs on it must see it.
type Description struct {
	Mode modes.Mode
	// Name of the HNS network and of the CNI network, such as "cbr0" or
	// "flannel.4096". It is what the CNI specification allows for a name:
	// letters, digits and, not first, "_", "." and "-".
	Name string
	// Subnets are this node's pod subnets (its podCIDRs), as for
	// [modes.NetworkIntent]. Empty lets HNS (NAT) or DHCP (Transparent) give
	// addresses; there is no IPAM configuration and no subnet.env then.
	Subnets []netip.Prefix
	// Gateways are those of the HNS subnets; a subnet without one has the first
	// address after the network's.
	Gateways []netip.Addr
	// GatewayRule says what the pods' gateway is: zero is the mode's usual rule,
	// [modes.GatewaySubnet] on L2Bridge does without an endpoint of the node.
	GatewayRule modes.GatewayRule
	// ClusterCIDRs hold the pod subnets of all nodes; ServiceCIDRs the virtual
	// addresses of services. They do not overlap. ClusterCIDRs may be empty on
	// Transparent and NAT alone.
	ClusterCIDRs []netip.Prefix
	ServiceCIDRs []netip.Prefix
	// NodeAddresses are this node's addresses on the physical network, at most
	// one of each family: where the other nodes send to, and what the adapter is
	// found by. IPv4 is needed on L2Bridge, L2Tunnel and Overlay.
	NodeAddresses []netip.Addr
	// Adapter is the name of the adapter that the network is put on; empty is
	// the one that has a node address (see [Ensure]).
	Adapter string
	// LinkMTU is the MTU of the physical network in bytes; zero is
	// [DefaultLinkMTU].
	LinkMTU int
	// VNI and VXLANPort of an Overlay network; zero are [modes.DefaultVNI] and
	// [modes.DefaultVXLANPort]. A VNI above [MaxRemoteVNI] is refused.
	VNI       uint32
	VXLANPort uint16
	// Linux is how the Linux nodes wrap packets; nil if there are none, or if
	// they do not. What cannot reach them is refused.
	Linux *LinuxVXLAN
	// DNS is the cluster's; without servers pods have what the runtime gives.
	DNS modes.ClusterDNS
	// MACPrefix of pods on Overlay; empty is [modes.DefaultMACPrefix].
	MACPrefix string
	// IPMasq gives what leaves the cluster the node's address, except to
	// ClusterCIDRs, ServiceCIDRs, on L2Bridge and L2Tunnel the node itself, and
	// NATExceptions. A NAT network always does so and has no exceptions; a
	// Transparent one never does.
	IPMasq        bool
	NATExceptions []netip.Prefix
	// Reserved are more addresses of Subnets that IPAM must keep back.
	Reserved []ipam.Reservation
	// SourceVIP is the address that kube-proxy sends from on Overlay; zero is
	// the first address from network+2 on that nothing else has. It is kept
	// back, and kube-proxy makes its endpoint.
	SourceVIP netip.Addr
	// DSR lets services answer directly (direct server return): for kube-proxy,
	// and for pods that call themselves. It needs [hns.FeatureDSR].
	DSR bool
	// Persistent keeps the network over a reboot. Without it Ensure makes it
	// anew then, and a pod subnet that has changed meanwhile leaves nothing
	// stale. A network that is there and persistent is refused without it, as
	// flanneld's with host-gw is; one that is not is kept with it, and Ensure
	// lists the difference.
	Persistent bool
	// Plugin is the CNI plugin; empty is win-bridge on L2Bridge, win-overlay on
	// Overlay and nat on NAT. The other modes have no usual one, so it is needed
	// there.
	Plugin string
	// DataDir is where host-local keeps its leases; empty is its default.
	DataDir string
	// IPAM is the ipam object of the CNI configuration, with a type, for a Plugin
	// with another IPAM than host-local. Nil is host-local with a range for each of
	// Subnets, or none without them. Of one for host-local the reserved addresses are
	// taken out; any other is taken as it is, and its plugin has to keep
	// [Plan].Reserved back. It goes without DataDir.
	IPAM json.RawMessage
}

// LinuxVXLAN is what the Linux nodes of the cluster are told. They and this
// node reach each other only if both are the same on all.
type LinuxVXLAN struct {
	// VNI and Port; zero are what flannel takes on Linux if it is not told,
	// 1 and 8472. HNS can do neither by default.
	VNI  uint32
	Port uint16
}

const (
	flannelLinuxVNI  = 1
	flannelLinuxPort = 8472
)

// MaxRemoteVNI is the largest VNI that can be led to other nodes: hcsshim and
// so all tested clients give the VNI of a RemoteSubnetRoute 16 bits, and
// whether HNS takes more is not known.
const MaxRemoteVNI = 65535

// plugins are the usual plugins of the modes.
var plugins = map[modes.Mode]string{modes.L2Bridge: "win-bridge", modes.Overlay: "win-overlay", modes.NAT: "nat"}

// copied shares no list with d.
func (d Description) copied() Description {
	for _, list := range []*[]netip.Prefix{&d.Subnets, &d.ClusterCIDRs, &d.ServiceCIDRs, &d.NATExceptions} {
		*list = slices.Clone(*list)
	}
	d.Gateways, d.NodeAddresses = slices.Clone(d.Gateways), slices.Clone(d.NodeAddresses)
	d.Reserved, d.IPAM = slices.Clone(d.Reserved), slices.Clone(d.IPAM)
	d.DNS.Servers, d.DNS.Search = slices.Clone(d.DNS.Servers), slices.Clone(d.DNS.Search)
	if d.Linux != nil {
		l := *d.Linux
		d.Linux = &l
	}
	return d
}

// withDefaults fills in what the zero value stands for.
func (d Description) withDefaults() Description {
	if m, err := modes.ParseMode(string(d.Mode)); err == nil {
		d.Mode = m // in HNS's spelling
	}
	if d.GatewayRule == modes.GatewayDefault {
		d.GatewayRule = d.Mode.Facts().Gateway
	}
	if d.LinkMTU == 0 {
		d.LinkMTU = DefaultLinkMTU
	}
	if d.Plugin == "" {
		d.Plugin = plugins[d.Mode]
	}
	if d.Mode != modes.Overlay {
		return d
	}
	if d.VNI == 0 {
		d.VNI = modes.DefaultVNI
	}
	if d.VXLANPort == 0 {
		d.VXLANPort = modes.DefaultVXLANPort
	}
	if d.MACPrefix == "" {
		d.MACPrefix = modes.DefaultMACPrefix
	}
	if !d.SourceVIP.IsValid() {
		d.SourceVIP = d.freeAddress()
	}
	return d
}

// freeAddress returns the first address of the IPv4 pod subnet from the second
// after the network's on that has no use yet; zero if there is none.
func (d *Description) freeAddress() netip.Addr {
	i := slices.IndexFunc(d.Subnets, func(s netip.Prefix) bool { return s.IsValid() && s.Addr().Is4() })
	if i < 0 {
		return netip.Addr{}
	}
	for n := uint64(2); ; n++ {
		a, err := ipam.Nth(d.Subnets[i].Masked(), n)
		if err != nil {
			return netip.Addr{}
		}
		reserved := slices.ContainsFunc(d.Reserved, func(r ipam.Reservation) bool { return r.Address == a })
		if !reserved && !slices.Contains(d.Gateways, a) {
			return a
		}
	}
}

// nodeAddress returns the node's address of a family; zero if it has none.
func (d *Description) nodeAddress(v4 bool) netip.Addr {
	for _, a := range d.NodeAddresses {
		if a.Is4() == v4 {
			return a
		}
	}
	return netip.Addr{}
}

// byNode tells the modes in which the node itself leads packets between pods
// and other nodes, so that its address matters.
func byNode(m modes.Mode) bool {
	return m == modes.L2Bridge || m == modes.L2Tunnel || m == modes.Overlay
}
