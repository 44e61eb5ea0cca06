package modes

// traits are the differences between the modes that planners and checks go by.
// A text is the reason why something cannot be; empty means that it can.
type traits struct {
	// needsSubnet: there is no network without one.
	needsSubnet bool
	// dhcp: without subnets, addresses come from DHCP of the physical network.
	dhcp bool
	// forgotten: the network is gone after a reboot whatever its flags say.
	forgotten bool
	// azure: the subnets are Azure's, which keeps some addresses back.
	azure bool

	noAdapter      string // bound to an adapter
	noVLAN         string // tagged
	noSourceMAC    string // has a MAC address of its own
	noHostEndpoint string // the node has an endpoint that leads pods
	noSourceNAT    string // OutBoundNAT translates what leaves
	noHNSAddress   string // an address of HNS is of use to a pod
}

func (m Mode) traits() traits {
	switch m {
	case L2Bridge:
		return traits{needsSubnet: true}
	case L2Tunnel:
		return traits{
			needsSubnet:    true,
			azure:          true,
			noHostEndpoint: "pods are led by the gateway of the Azure virtual network; network+2 belongs to Azure",
			noHNSAddress:   "HNS would choose an address that Azure has not assigned to the node",
		}
	case Overlay:
		return traits{
			needsSubnet:    true,
			noVLAN:         "the VNI keeps its traffic apart; a VLAN is for what is not wrapped",
			noSourceMAC:    "pods are seen on the virtual network alone, with their own MAC addresses",
			noHostEndpoint: "has no endpoint of the node; a HostRoute policy joins node and pods",
		}
	case Transparent:
		return traits{
			dhcp:           true,
			noHostEndpoint: "pods are led by the router of the physical network, or by the SDN controller; the node is on the switch with its own adapter",
			noSourceNAT:    "HNS changes no packets; a router or the SDN controller translates addresses",
		}
	case NAT:
		const internal = "its switch is inside the node and bound to no adapter"
		return traits{
			forgotten:      true,
			noAdapter:      internal,
			noVLAN:         internal,
			noSourceMAC:    internal,
			noHostEndpoint: "HNS itself gives the node a port with the gateway's address",
			noSourceNAT:    "WinNAT translates all that leaves the node, without exceptions",
		}
	}
	return traits{}
}
