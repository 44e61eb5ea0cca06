package node_test

import (
	"net/netip"

	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
)

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range texts {
		out = append(out, addr(s))
	}
	return out
}

// descriptions has a node of each mode, on the adapter of the emulator's host.
func descriptions() map[string]node.Description {
	dns := modes.ClusterDNS{Servers: addrs("10.96.0.10")}
	return map[string]node.Description{
		"l2bridge": {Mode: modes.L2Bridge, Name: "cbr0", Subnets: prefixes("10.244.3.0/24"),
			ClusterCIDRs: prefixes("10.244.0.0/16"), ServiceCIDRs: prefixes("10.96.0.0/12"),
			NodeAddresses: addrs("192.0.2.10"), DNS: dns, IPMasq: true},
		"l2tunnel": {Mode: modes.L2Tunnel, Name: "azure", Subnets: prefixes("10.80.0.0/24"),
			ClusterCIDRs: prefixes("10.80.0.0/16"), ServiceCIDRs: prefixes("10.96.0.0/12"),
			NodeAddresses: addrs("192.0.2.10"), IPMasq: true, Plugin: "my-azure", Persistent: true},
		"overlay": {Mode: modes.Overlay, Name: "flannel.4096", Subnets: prefixes("10.244.3.0/24"),
			ClusterCIDRs: prefixes("10.244.0.0/16"), ServiceCIDRs: prefixes("10.96.0.0/12"),
			NodeAddresses: addrs("192.0.2.10"), DNS: dns, IPMasq: true, DSR: true,
			Linux: &node.LinuxVXLAN{VNI: 4096, Port: 4789}},
		"transparent": {Mode: modes.Transparent, Name: "glass", Subnets: prefixes("192.0.2.128/25"),
			Gateways: addrs("192.0.2.254"), NodeAddresses: addrs("192.0.2.10"), Adapter: "Ethernet", Plugin: "my-sdn"},
		"nat": {Mode: modes.NAT, Name: "nat", Subnets: prefixes("172.30.0.0/20"), IPMasq: true},
	}
}

// furtherDescriptions are for what one node of each mode does not show.
func furtherDescriptions() map[string]node.Description {
	return map[string]node.Description{
		"l2bridge-dual-stack": {Mode: modes.L2Bridge, Name: "cbr0", Subnets: prefixes("10.244.3.0/24", "fd00:244:0:3::/64"),
			ClusterCIDRs: prefixes("10.244.0.0/16", "10.245.0.0/16", "fd00:244::/48"), ServiceCIDRs: prefixes("10.96.0.0/12", "fd00:96::/112"),
			NodeAddresses: addrs("192.0.2.10", "2001:db8::10"), IPMasq: true, NATExceptions: prefixes("192.0.2.0/24"), LinkMTU: 9000, Persistent: true},
		"l2bridge-subnet-gateway": {Mode: modes.L2Bridge, Name: "azure", GatewayRule: modes.GatewaySubnet, Subnets: prefixes("10.244.3.0/24"),
			ClusterCIDRs: prefixes("10.244.0.0/16"), NodeAddresses: addrs("192.0.2.10")},
		"overlay-vni-port": {Mode: modes.Overlay, Name: "fjord", Subnets: prefixes("10.60.4.0/26"), Gateways: addrs("10.60.4.2"),
			ClusterCIDRs: prefixes("10.60.0.0/16"), NodeAddresses: addrs("192.0.2.10"), VNI: 5000, VXLANPort: 8472,
			Linux: &node.LinuxVXLAN{VNI: 5000}, MACPrefix: "0E-2B"},
		"transparent-dhcp": {Mode: modes.Transparent, Name: "glass", Plugin: "my-sdn"},
		"nat-hns-subnet":   {Mode: modes.NAT, Name: "nat", IPMasq: true, Plugin: "nat.exe"},
	}
}
