package modes

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// GatewayRule says which address is the default gateway of pods. It is a
// choice of whoever sets the node up, not of the mode: on an L2Bridge network
// flannel and Calico lead pods through the node, Azure through the subnet's
// own gateway. The zero rule is the mode's usual one ([Facts.Gateway]).
type GatewayRule string

// The rules.
const (
	// GatewayDefault is the mode's usual rule.
	GatewayDefault GatewayRule = ""
	// GatewayHostEndpoint is the second address after the network's (".2"),
	// where the node's own endpoint sits (see [PlanHostEndpoint]). The first is
	// held by HNS and forwards nothing to other nodes.
	GatewayHostEndpoint GatewayRule = "host-endpoint"
	// GatewaySubnet is the gateway of the HNS subnet, usually the first address
	// after the network's (".1").
	GatewaySubnet GatewayRule = "subnet"
	// GatewayGiven is an address from the configuration or from IPAM.
	GatewayGiven GatewayRule = "given"
)

// Gateway returns the default gateway of a pod by rule. endpoint is the pod's
// address with the length of its subnet, or the subnet alone. given is the
// address for [GatewayGiven]; for [GatewaySubnet] it is the gateway that the
// HNS subnet has, and zero means the first address after the network's; for
// [GatewayHostEndpoint] it must be zero.
//
// The result lies in the subnet and is neither the pod's own address, nor the
// network's, nor the broadcast address. Where the subnet has no room for that
// and for a pod (IPv4 /31 and /32, with a host endpoint /30 too; IPv6 /127 and
// /128), or a given address breaks it, the error is an *[hns.FieldError].
func Gateway(rule GatewayRule, endpoint netip.Prefix, given netip.Addr) (netip.Addr, error) {
	fail := func(format string, args ...any) (netip.Addr, error) {
		return netip.Addr{}, &hns.FieldError{Value: endpoint.String(), Reason: fmt.Sprintf(format, args...)}
	}
	if err := checkSubnet(endpoint); err != nil {
		return netip.Addr{}, err
	}
	g := given
	switch rule {
	case GatewayHostEndpoint:
		if given.IsValid() {
			return fail("the rule %s takes no given gateway (%s)", rule, given)
		}
		g = hostEndpoint(endpoint)
	case GatewaySubnet:
		if !given.IsValid() {
			g = firstAddr(endpoint)
		}
	case GatewayGiven:
		if !given.IsValid() {
			return fail("no gateway is given")
		}
	default:
		return fail("%q is no rule for a gateway; there are %s, %s and %s", string(rule), GatewayHostEndpoint, GatewaySubnet, GatewayGiven)
	}
	if room(endpoint) < roomNeeded(rule, endpoint.Addr()) {
		return fail("a /%d has no room for a gateway by the rule %s and a pod", endpoint.Bits(), rule)
	}
	if why := notHostAddr(g, endpoint); why != "" {
		return fail("%s cannot be the gateway: %s", g, why)
	}
	if g == endpoint.Addr() {
		return fail("%s is the gateway, by the rule %s", g, rule)
	}
	return g, nil
}

// checkSubnet refuses what is no prefix and what only looks like IPv6: an
// IPv4-mapped prefix counts its bits from another end.
func checkSubnet(p netip.Prefix) error {
	if !p.IsValid() {
		return &hns.FieldError{Reason: "not a prefix such as 10.0.0.0/24"}
	}
	if p.Addr().Is4In6() {
		return &hns.FieldError{Value: p.String(), Reason: "an IPv4 address written as IPv6"}
	}
	return nil
}

// room returns how many bits of the prefix number hosts.
func room(p netip.Prefix) int { return p.Addr().BitLen() - p.Bits() }

// roomNeeded returns the host bits that hold the network address, the gateway,
// a pod and, in IPv4, the broadcast address; with a host endpoint IPv4 needs a
// fifth place, for HNS keeps the subnet's gateway for itself.
func roomNeeded(rule GatewayRule, like netip.Addr) int {
	if rule == GatewayHostEndpoint && like.Is4() {
		return 3
	}
	return 2
}

// notHostAddr says why a cannot belong to a host of the subnet, "" if it can.
func notHostAddr(a netip.Addr, subnet netip.Prefix) string {
	switch {
	case !a.IsValid() || !subnet.Contains(a):
		return "it lies outside " + subnet.Masked().String()
	case a == subnet.Masked().Addr():
		return "it is the network address of " + subnet.Masked().String()
	case a == broadcast(subnet):
		return "it is the broadcast address of " + subnet.Masked().String()
	}
	return ""
}

// firstAddr returns the address after the network's; it may lie outside.
// [netip.Addr.Next] carries over all bytes and is zero after the last address.
func firstAddr(p netip.Prefix) netip.Addr { return p.Masked().Addr().Next() }

// hostEndpoint returns the second address after the network's; it may lie
// outside.
func hostEndpoint(p netip.Prefix) netip.Addr {
	a := firstAddr(p)
	if !a.IsValid() {
		return a
	}
	return a.Next()
}

// broadcast returns the last address of an IPv4 prefix that has a broadcast
// address; IPv6 has none, nor do /31 and /32.
func broadcast(p netip.Prefix) netip.Addr {
	if !p.Addr().Is4() || room(p) < 2 {
		return netip.Addr{}
	}
	b := p.Masked().Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b)
}

func isV6(a netip.Addr) bool { return a.Is6() && !a.Is4In6() }
