package modes

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// ipams plans where addresses come from.
func (in *NetworkIntent) ipams(bad *problems) []hns.IPAM {
	t := in.Mode.traits()
	subnets := in.subnets(bad)
	in.vlan(subnets, bad)
	switch {
	case len(in.Subnets) > 0:
		return []hns.IPAM{{Type: "Static", Subnets: subnets}}
	case t.needsSubnet:
		bad.field("Subnets", "", "missing")
	case t.dhcp:
		return []hns.IPAM{{Type: "DHCP"}}
	}
	return nil // HNS chooses
}

func (in *NetworkIntent) subnets(bad *problems) []hns.Subnet {
	var out []hns.Subnet
	var v4, v6 bool
	gateways := in.gateways(bad)
	for i, p := range in.Subnets {
		path := fmt.Sprintf("Subnets[%d]", i)
		if err := checkSubnet(p); err != nil {
			bad.at(path, err)
			continue
		}
		have := &v4
		if !p.Addr().Is4() {
			have = &v6
		}
		switch {
		case p.Bits() == 0:
			// Docker sends this on NAT to let HNS choose.
			bad.field(path, p.String(), "holds every address; to let HNS choose the subnet of a NAT network, leave Subnets empty")
			continue
		case p != p.Masked():
			bad.field(path, p.String(), "has host bits; the subnet is %s", p.Masked())
		case *have:
			bad.field(path, p.String(), "second subnet of its family")
		case !p.Addr().Is4() && !in.Mode.Facts().IPv6:
			bad.add(noIPv6(path, p.String(), in.Mode))
		}
		*have = true
		g, err := Gateway(GatewaySubnet, p.Masked(), gateways[i])
		if err != nil {
			bad.at(path, err)
			continue
		}
		s := hns.Subnet{Prefix: p, Routes: []hns.Route{hns.DefaultRoute(g)}}
		if in.Mode == Overlay {
			s.Policies = []hns.SubnetPolicy{hns.VSID{IsolationID: in.vni()}}
		}
		out = append(out, s)
	}
	if v6 && !v4 && in.Mode.Facts().IPv6 {
		bad.add(ipv6Only("Subnets", in.Mode))
	}
	return out
}

// gateways sorts the given gateways by the subnet they lie in.
func (in *NetworkIntent) gateways(bad *problems) map[int]netip.Addr {
	out := map[int]netip.Addr{}
	for i, g := range in.Gateways {
		path := fmt.Sprintf("Gateways[%d]", i)
		at := -1
		for j, p := range in.Subnets {
			if p.Contains(g) {
				at = j
			}
		}
		switch {
		case !g.IsValid():
			bad.field(path, "", "not an address")
		case at < 0:
			bad.field(path, g.String(), "lies in none of the subnets")
		case out[at].IsValid():
			bad.field(path, g.String(), "second gateway of %s, after %s", in.Subnets[at], out[at])
		default:
			out[at] = g
		}
	}
	return out
}

// vlan tags the subnets. Schema 2 has no such policy for the network as a whole.
func (in *NetworkIntent) vlan(subnets []hns.Subnet, bad *problems) {
	if in.VLAN == 0 {
		return
	}
	value := fmt.Sprint(in.VLAN)
	switch why := in.Mode.traits().noVLAN; {
	case why != "":
		bad.add(&UnsupportedError{Path: "VLAN", Value: value, Mode: in.Mode, Reason: why})
	case in.VLAN > 4094:
		bad.field("VLAN", value, "a VLAN id is 1 to 4094")
	case len(in.Subnets) == 0 && !in.Mode.traits().needsSubnet:
		bad.field("VLAN", value, "is a policy of subnets, and there is none; give Subnets, or the endpoints a VLAN policy")
	}
	for i := range subnets {
		subnets[i].Policies = append(subnets[i].Policies, hns.VLAN{IsolationID: uint32(in.VLAN)})
	}
}
