package modes

import (
	"net/netip"
	"slices"
)

// ReservedAddress is an address of a pod subnet that no pod may have.
type ReservedAddress struct {
	Addr netip.Addr
	// Why says who has it, such as "gateway of the HNS subnet".
	Why string
}

// Reserved returns the addresses of a pod subnet that IPAM must not hand out,
// each once, with the reason: the network address, the gateway of the HNS
// subnet, the node's own endpoint where pods are led through it, on L2Tunnel
// the two addresses after the gateway, which Azure keeps for its name servers,
// the IPv4 broadcast address, then extra. host-local by itself keeps only network+1
// and the last address back, so with flannel's host-gw the first pod got the
// address of the node's endpoint.
//
// rule is the pods' gateway rule, zero the mode's usual one. gateway is that
// of the HNS subnet; zero is the first address after the network's. What does
// not exist in a small subnet is left out; an invalid subnet has only extra.
func Reserved(mode Mode, subnet netip.Prefix, rule GatewayRule, gateway netip.Addr, extra ...ReservedAddress) []ReservedAddress {
	var out []ReservedAddress
	add := func(a netip.Addr, why string) {
		taken := slices.ContainsFunc(out, func(r ReservedAddress) bool { return r.Addr == a })
		if a.IsValid() && !taken {
			out = append(out, ReservedAddress{a, why})
		}
	}
	inside := func(a netip.Addr, why string) {
		if subnet.Contains(a) {
			add(a, why)
		}
	}
	if checkSubnet(subnet) == nil {
		if !gateway.IsValid() {
			gateway = firstAddr(subnet)
		}
		inside(subnet.Masked().Addr(), "network address")
		inside(gateway, "gateway of the HNS subnet")
		if mode.rule(rule) == GatewayHostEndpoint {
			inside(hostEndpoint(subnet), "endpoint of the node, the pods' gateway")
		}
		if mode.traits().azure { // Azure Virtual Network FAQ: the first four addresses and the last
			dns := hostEndpoint(subnet)
			inside(dns, "kept by Azure for its name servers")
			inside(dns.Next(), "kept by Azure for its name servers")
		}
		inside(broadcast(subnet), "broadcast address")
	}
	for _, e := range extra {
		add(e.Addr, e.Why)
	}
	return out
}

// rule returns r, or the mode's usual rule if r is the default.
func (m Mode) rule(r GatewayRule) GatewayRule {
	if r == GatewayDefault {
		return m.Facts().Gateway
	}
	return r
}
