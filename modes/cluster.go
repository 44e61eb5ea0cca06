package modes

import (
	"fmt"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// Cloud is what carries the nodes.
type Cloud string

// The clouds that make a difference. CloudNone is machines of one's own, or a
// cloud or hypervisor that is none of these.
const (
	CloudNone   Cloud = ""
	CloudAzure  Cloud = "Azure"
	CloudAWS    Cloud = "AWS"
	CloudGoogle Cloud = "Google"
	CloudVMware Cloud = "VMware"
)

var clouds = []Cloud{CloudNone, CloudAzure, CloudAWS, CloudGoogle, CloudVMware}

// LinuxNetwork is what connects the pods of the Linux nodes.
type LinuxNetwork string

// The networks of Linux nodes that have a counterpart on Windows, and two for
// the rest. LinuxAny is for a cluster whose Linux side is not there yet.
const (
	LinuxAny      LinuxNetwork = ""
	FlannelHostGW LinuxNetwork = "flannel host-gw"
	FlannelVXLAN  LinuxNetwork = "flannel vxlan"
	// FlannelOther is flannel with a backend that Windows lacks: wireguard,
	// ipip, ipsec, udp and others.
	FlannelOther LinuxNetwork = "flannel, another backend"
	AzureCNI     LinuxNetwork = "Azure CNI"
	CalicoBGP    LinuxNetwork = "Calico BGP"
	CalicoVXLAN  LinuxNetwork = "Calico VXLAN"
	// OVNHybrid is OVN-Kubernetes with its hybrid overlay.
	OVNHybrid  LinuxNetwork = "OVN-Kubernetes hybrid overlay"
	Antrea     LinuxNetwork = "Antrea"
	LinuxOther LinuxNetwork = "other"
)

// linuxTraits are what Recommend knows of a network of Linux nodes.
type linuxTraits struct {
	network LinuxNetwork
	// native are the modes that work with it as it is.
	native []Mode
	// vni and port are its defaults, if it has VXLAN.
	vni  uint32
	port uint16
	// flannel is whether flanneld sets the nodes up.
	flannel bool
	// port4789 is the agent on Windows that takes this UDP port alone.
	port4789 string
}

var linuxNetworks = []linuxTraits{
	{network: LinuxAny, native: []Mode{L2Bridge, L2Tunnel, Overlay, Transparent}},
	{network: FlannelHostGW, native: []Mode{L2Bridge}, flannel: true},
	{network: FlannelVXLAN, native: []Mode{Overlay}, vni: 1, port: 8472, flannel: true, port4789: "flanneld"},
	{network: FlannelOther, flannel: true},
	{network: AzureCNI, native: []Mode{L2Tunnel, L2Bridge}},
	{network: CalicoBGP, native: []Mode{L2Bridge}},
	{network: CalicoVXLAN, native: []Mode{Overlay}, vni: 4096, port: 4789, port4789: "felix"},
	{network: OVNHybrid, native: []Mode{Overlay}, vni: 4097, port: 4789},
	{network: Antrea, native: []Mode{Transparent}},
	{network: LinuxOther},
}

// LinuxNodes is how the pods of the Linux nodes are connected.
type LinuxNodes struct {
	Network LinuxNetwork
	// VNI and Port of a Network with VXLAN. Zero is the program's default: for
	// flannel on Linux 1 and 8472, neither of which works with Windows.
	VNI  uint32
	Port uint16
	// DirectRouting is flannel's key of that name for vxlan.
	DirectRouting bool
	// Fixed is that nothing on the Linux nodes can be changed.
	Fixed bool
}

// Cluster is what [Recommend] goes by. The zero Cluster is machines on several
// links, of which nothing is known and whose routers are somebody else's.
type Cluster struct {
	// Windows are the versions of HNS on the Windows nodes, each once or as
	// often as there are nodes; empty: not known. [hns.Client.Version] asks.
	Windows []hns.Version
	Linux   LinuxNodes
	Cloud   Cloud
	// SameLink is that all nodes are on one link (layer 2), so that a node can
	// be the next hop of another. On Azure and Google no nodes are.
	SameLink bool
	// Routes is that somebody may lead pod subnets to nodes in the routers, or
	// in the route table of the cloud.
	Routes bool
	// ForwardingDenied is that the cloud or hypervisor cannot be told to let
	// nodes send and receive packets of addresses that are not their own.
	ForwardingDenied bool
	// IPv6 is that pods shall have IPv6 beside IPv4.
	IPv6 bool
	// Isolation is that pods shall not be seen on the physical network, or that
	// their addresses are used elsewhere too.
	Isolation bool
}

// linux returns what is known of the Linux side; false of a network that is not.
func (c *Cluster) linux() (linuxTraits, bool) {
	i := slices.IndexFunc(linuxNetworks, func(t linuxTraits) bool { return t.network == c.Linux.Network })
	if i < 0 {
		return linuxTraits{}, false
	}
	t := linuxNetworks[i]
	if c.Linux.VNI != 0 {
		t.vni = c.Linux.VNI
	}
	if c.Linux.Port != 0 {
		t.port = c.Linux.Port
	}
	return t, true
}

// check returns what is wrong with the description.
func (c *Cluster) check() problems {
	var bad problems
	if !slices.Contains(clouds, c.Cloud) {
		bad.field("Cloud", string(c.Cloud), "not one of %q; leave it empty for others", clouds[1:])
	}
	linux, known := c.linux()
	switch {
	case !known:
		bad.field("Linux.Network", string(c.Linux.Network), "not known; there is %q for others", LinuxOther)
	case !slices.Contains(linux.native, Overlay):
		for _, f := range []struct {
			path string
			set  bool
			text string
		}{
			{"Linux.VNI", c.Linux.VNI != 0, fmt.Sprint(c.Linux.VNI)}, {"Linux.Port", c.Linux.Port != 0, fmt.Sprint(c.Linux.Port)},
			{"Linux.DirectRouting", c.Linux.DirectRouting, "true"},
		} {
			if f.set {
				bad.field(f.path, f.text, "nothing is known of VXLAN of %q", c.Linux.Network)
			}
		}
	}
	if c.Linux.Network == AzureCNI && c.Cloud != CloudAzure {
		bad.field("Linux.Network", string(c.Linux.Network), "is for the cloud %s", CloudAzure)
	}
	if c.Linux.VNI > 1<<24-1 {
		bad.field("Linux.VNI", fmt.Sprint(c.Linux.VNI), "a VNI has 24 bits")
	}
	for i, v := range c.Windows {
		if v == (hns.Version{}) {
			bad.field(fmt.Sprintf("Windows[%d]", i), "", "not a version; leave Windows empty if the versions are not known")
		}
	}
	return bad
}
