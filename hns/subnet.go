package hns

import (
	"fmt"
	"net/netip"
)

// Subnet is a subnet of a network (schema Subnet).
type Subnet struct {
	// ID is filled by HNS.
	ID ID
	// Prefix is the subnet, without host bits.
	Prefix netip.Prefix
	// Routes of the subnet; the default route's next hop is the gateway.
	Routes []Route
	// IPSubnets are parts of the subnet (schema 2.3). HNS makes one of the
	// subnet's own prefix when there is none at create.
	IPSubnets []IPSubnet
	// Policies of the subnet: [VSID] on Overlay, [VLAN].
	Policies []SubnetPolicy
	// Flags of the subnet; 1 keeps HNS from reserving the gateway address.
	Flags uint32
}

// IPSubnet is a part of a [Subnet] (schema IpSubnet).
type IPSubnet struct {
	// ID is filled by HNS.
	ID ID
	// Prefix is the part, without host bits.
	Prefix netip.Prefix
	// Flags of the part: 1 enables broadcast, 2 reserves the network address.
	Flags uint32
}

// Gateway returns the next hop of the subnet's default route, or none.
func (s Subnet) Gateway() netip.Addr {
	return defaultGateway(s.Routes, s.Prefix.Addr().Is4())
}

// VSID returns the VNI of an Overlay subnet, or 0.
func (s Subnet) VSID() uint32 {
	for _, p := range PoliciesOf[VSID](s.Policies) {
		return p.IsolationID
	}
	return 0
}

func readSubnet(r reader) Subnet {
	s := Subnet{
		ID:       r.id("ID"),
		Prefix:   r.prefix("IpAddressPrefix"),
		Routes:   readRoutes(r),
		Policies: readPolicies(r, subnetPolicies),
		Flags:    uint32(r.uint("Flags", 32)),
	}
	r.list("IpSubnets", func(e reader) {
		s.IPSubnets = append(s.IPSubnets, IPSubnet{ID: e.id("ID"), Prefix: e.prefix("IpAddressPrefix"), Flags: uint32(e.uint("Flags", 32))})
	})
	return s
}

type wireSubnet struct {
	ID              string         `json:",omitempty"`
	IpAddressPrefix string         `json:",omitempty"`
	IpSubnets       []wireIPSubnet `json:",omitempty"`
	Policies        []wirePolicy   `json:",omitempty"`
	Routes          []wireRoute    `json:",omitempty"`
	Flags           uint32         `json:",omitempty"`
}

type wireIPSubnet struct {
	ID              string `json:",omitempty"`
	IpAddressPrefix string `json:",omitempty"`
	Flags           uint32 `json:",omitempty"`
}

// wire leaves the ids out: HNS gives them.
func (s Subnet) wire() (wireSubnet, error) {
	policies, err := wirePolicies(s.Policies)
	if err != nil {
		return wireSubnet{}, err
	}
	w := wireSubnet{IpAddressPrefix: prefixText(s.Prefix), Policies: policies, Routes: wireRoutes(s.Routes), Flags: s.Flags}
	for _, ip := range s.IPSubnets {
		w.IpSubnets = append(w.IpSubnets, ip.wire())
	}
	return w, nil
}

func (s IPSubnet) wire() wireIPSubnet {
	return wireIPSubnet{IpAddressPrefix: prefixText(s.Prefix), Flags: s.Flags}
}

func (s Subnet) check(t NetworkType) []*FieldError {
	bad := checkPrefix("IpAddressPrefix", s.Prefix)
	for i, ip := range s.IPSubnets {
		bad = append(bad, under(fmt.Sprintf("IpSubnets[%d]", i), checkPrefix("IpAddressPrefix", ip.Prefix))...)
	}
	bad = append(bad, checkPolicies(s.Policies, subnetPolicies)...)
	for i, r := range s.Routes {
		bad = append(bad, under(fmt.Sprintf("Routes[%d]", i), r.check())...)
	}
	if g := s.Gateway(); g.IsValid() && s.Prefix.IsValid() && !s.Prefix.Contains(g) {
		bad = append(bad, &FieldError{Path: "Routes", Value: g.String(), Reason: "the gateway lies outside " + s.Prefix.String(), Rule: "gateway-outside"})
	}
	if t == Overlay && !HasPolicy(s.Policies, "VSID") {
		bad = append(bad, &FieldError{Path: "Policies", Reason: "an Overlay subnet needs a VSID policy", Rule: "overlay-vsid"})
	}
	return bad
}
