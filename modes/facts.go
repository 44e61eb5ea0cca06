package modes

// Facts is what is known about a mode, as data for tools, documentation and
// decisions. Sources: the Kubernetes documentation ("Networking on Windows",
// network modes), Microsoft's container network driver pages, and the plugins
// named.
type Facts struct {
	Mode Mode
	// Description says in a sentence or two how pods are connected.
	Description string
	// VSwitch is the kind of virtual switch.
	VSwitch VSwitch
	// Packets says what is changed in a pod's packets on their way.
	Packets string
	// Plugins are the CNI plugins and other programs that use the mode.
	Plugins []string
	// Characteristics are what one chooses the mode for, or puts up with.
	Characteristics []string
	// Needs are what must be there outside HNS, and on which Windows.
	Needs []string
	// Support is how the Kubernetes documentation speaks of the mode, and
	// SupportNote the detail.
	Support     Support
	SupportNote string
	// IPv6 is whether an endpoint can have an IPv6 address beside its IPv4
	// address. No mode is for IPv6 alone: Kubernetes on Windows needs IPv4.
	IPv6 bool
	// Families says it with the versions.
	Families string
	// MTUOverhead is how many bytes of the link's MTU the mode takes from pods.
	MTUOverhead int
	// Gateway is the usual rule for the pods' default gateway, never
	// GatewayDefault, and GatewayNote who differs.
	Gateway     GatewayRule
	GatewayNote string
	// HNSAddresses is whether an endpoint that asks for no address gets a
	// usable one from HNS.
	HNSAddresses bool
	// Isolation says what separates the network from others.
	Isolation string
	// VNI is whether the network has a VXLAN network identifier.
	VNI bool
}

// VSwitch is a kind of Hyper-V virtual switch.
type VSwitch string

// External switches are bound to an adapter of the node, internal ones are not.
const (
	ExternalVSwitch VSwitch = "external"
	InternalVSwitch VSwitch = "internal"
)

// Support is how far the Kubernetes documentation supports a mode.
type Support string

// The levels of support.
const (
	// SupportStable: documented without a reservation.
	SupportStable Support = "stable"
	// SupportBeta: documented as beta.
	SupportBeta Support = "beta"
	// SupportListed: documented, with no word on maturity.
	SupportListed Support = "listed"
	// SupportNone: documented as not for Kubernetes.
	SupportNone Support = "none"
)

// OverlayMTUOverhead is what VXLAN adds to a packet over IPv4: Ethernet 14, IP
// 20, UDP 8 and VXLAN 8 bytes.
const OverlayMTUOverhead = 50

// Facts returns what is known about m; the zero Facts for what is no mode. The
// caller may change the result.
func (m Mode) Facts() Facts {
	switch m {
	case L2Bridge:
		return l2bridgeFacts()
	case L2Tunnel:
		return l2tunnelFacts()
	case Overlay:
		return overlayFacts()
	case Transparent:
		return transparentFacts()
	case NAT:
		return natFacts()
	}
	return Facts{}
}

func l2bridgeFacts() Facts {
	return Facts{
		Mode:        L2Bridge,
		Description: "Pods sit on the node's own physical network behind the MAC address of the node. Each node has a subnet of its own, and nodes route between them.",
		VSwitch:     ExternalVSwitch,
		Packets:     "The MAC address becomes the node's on the way out and the pod's on the way in. The IP address stays, or becomes the node's where an OutBoundNAT policy says so.",
		Plugins:     []string{"win-bridge", "flannel (host-gw, through win-bridge)", "sdnbridge", "Azure CNI", "Calico (BGP or no encapsulation)"},
		Characteristics: []string{
			"no encapsulation, so the fastest of the modes that span nodes",
			"the physical network never learns the pods' MAC addresses",
			"pod addresses are visible on the physical network",
			"ICMP is not translated: a pod cannot ping hosts outside of the NAT exceptions",
		},
		Needs: []string{
			"a route to every other node's pod subnet: host routes where nodes share a link, user-defined routes in a cloud",
			"an endpoint of the node at network+2 with IP forwarding on, where pods are led through the node",
			"a cloud or hypervisor that lets the node forward foreign IP addresses",
		},
		Support:      SupportStable,
		SupportNote:  "flannel's host-gw backend is stable",
		IPv6:         true,
		Families:     "IPv4; IPv4 with IPv6 from Windows Server 2022 (HNS 11.10 and later)",
		Gateway:      GatewayHostEndpoint,
		GatewayNote:  "win-bridge, flannel and Calico use network+2; Azure CNI and sdnbridge (unless forceBridgeGateway) use the gateway of the subnet",
		HNSAddresses: true,
		Isolation:    "none: pods are on the physical network; a VLAN id may be set on the subnet",
	}
}

func l2tunnelFacts() Facts {
	return Facts{
		Mode:        L2Tunnel,
		Description: "L2Bridge for Azure: every packet, even between two pods of one node, goes to the virtualization host, where the rules of the virtual network are applied.",
		VSwitch:     ExternalVSwitch,
		Packets:     "The MAC address is rewritten. The IP address stays and is an address of the Azure virtual network.",
		Plugins:     []string{"Azure CNI"},
		Characteristics: []string{
			"pods are full members of the virtual network: its security groups, peerings and routes hold for them",
			"traffic between pods of one node leaves the node and comes back",
		},
		Needs: []string{
			"an Azure virtual network",
			"pod addresses that Azure has assigned to the node's network interface",
		},
		Support:      SupportListed,
		SupportNote:  "listed as a special case of L2Bridge that only Azure has",
		IPv6:         true,
		Families:     "IPv4; IPv4 with IPv6 as L2Bridge (HNS 11.10 and later) where the virtual network has both; inferred, no report says so",
		Gateway:      GatewaySubnet,
		GatewayNote:  "the gateway of the virtual network's subnet",
		HNSAddresses: false, // HNS would choose one that Azure does not know
		Isolation:    "the security groups of the Azure virtual network",
	}
}

func overlayFacts() Facts {
	return Facts{
		Mode:        Overlay,
		Description: "Pods are on a virtual network of their own. Packets for another node travel in VXLAN from node to node.",
		VSwitch:     ExternalVSwitch,
		Packets:     "The packet is wrapped in VXLAN: outer addresses are the nodes', the UDP port is 4789. The packet inside is unchanged, save for OutBoundNAT towards the outside.",
		Plugins:     []string{"win-overlay", "flannel (vxlan, through win-overlay)", "sdnoverlay", "Calico (VXLAN)", "OVN-Kubernetes hybrid overlay"},
		Characteristics: []string{
			"needs no routes in the physical network, only UDP between nodes",
			"address ranges can be used again on networks with another VNI",
			"every packet carries 50 bytes more",
			"ICMP is not translated: a pod cannot ping hosts outside of the NAT exceptions",
		},
		Needs: []string{
			"a RemoteSubnetRoute policy for each other node's pod subnet, or a remote endpoint for each remote pod",
			"a HostRoute policy, so that the node and its own pods reach each other",
			"Windows Server 2019 with KB4489899 (HNS 9.2) or later",
			"the same VNI, 4096 or more, and UDP port 4789 on the Linux nodes, which default to 1 and 8472; another port needs HNS 10.3 on Windows",
		},
		Support:      SupportBeta,
		SupportNote:  "flannel's VXLAN backend is beta and supports win-overlay only",
		IPv6:         false,
		Families:     "IPv4 only on every version of Windows",
		MTUOverhead:  OverlayMTUOverhead,
		Gateway:      GatewaySubnet,
		GatewayNote:  "held by the virtual filtering platform itself; no host answers there",
		HNSAddresses: true,
		Isolation:    "one VNI for each network, 4096 to 16777214; the physical network sees only the nodes' addresses",
		VNI:          true,
	}
}

func transparentFacts() Facts {
	return Facts{
		Mode:        Transparent,
		Description: "Pods are bridged to an external switch with their own MAC addresses. What joins nodes is the physical network, or an SDN controller with an extension of the switch.",
		VSwitch:     ExternalVSwitch,
		Packets:     "HNS changes nothing. An SDN controller may wrap packets between nodes in Geneve or STT and translate addresses towards the outside.",
		Plugins:     []string{"OVN-Kubernetes (according to the Kubernetes documentation)", "Antrea", "Docker (transparent driver)"},
		Characteristics: []string{
			"filtering, load balancing and NAT are the controller's, without kube-proxy or policies of HNS",
			"without a controller, pods are plain hosts of the physical network",
		},
		Needs: []string{
			"an SDN controller, or a physical network that knows the pods' addresses",
			"MAC address spoofing allowed where the node is a virtual machine",
			"an adapter that no other kind of network has taken",
		},
		Support:      SupportListed,
		SupportNote:  "listed for OVN-Kubernetes, whose Windows code today makes Overlay networks",
		IPv6:         true,
		Families:     "whatever the physical network or the controller carries; HNS does not look",
		Gateway:      GatewaySubnet,
		GatewayNote:  "the router of the physical network, or the controller's port",
		HNSAddresses: false, // DHCP of the physical network, or IPAM
		Isolation:    "none by HNS; logical networks of the controller, or a VLAN id",
	}
}

func natFacts() Facts {
	return Facts{
		Mode:        NAT,
		Description: "Containers are on a private network inside the node and leave it with the node's address.",
		VSwitch:     InternalVSwitch,
		Packets:     "WinNAT replaces MAC and IP address by the node's. Nothing comes in but through port mappings.",
		Plugins:     []string{"nat", "Docker (nat driver)", "nerdctl"},
		Characteristics: []string{
			"works anywhere, needs nothing of the physical network",
			"containers of other nodes cannot be reached",
			"HNS gives addresses and answers DNS",
			"gone after a reboot",
		},
		Needs: []string{
			"a prefix that meets no other NAT network: WinNAT has one set of prefixes for the node",
		},
		Support:      SupportNone,
		SupportNote:  "listed for completeness, not used in Kubernetes",
		IPv6:         false,
		Families:     "IPv4; an IPv6 subnet is stored and endpoints get an address, but its traffic is not carried",
		Gateway:      GatewaySubnet,
		GatewayNote:  "the node's own port on the internal switch",
		HNSAddresses: true,
		Isolation:    "the network is inside the node",
	}
}
