package hns

import (
	"fmt"
	"net/netip"
)

var endpointPolicies = decoders[EndpointPolicy]{
	"acl":                 func(r reader) EndpointPolicy { return readACL(r) },
	"encapoverhead":       func(r reader) EndpointPolicy { return readEncapOverhead(r) },
	"interfaceconstraint": func(r reader) EndpointPolicy { return readInterfaceConstraint(r) },
	"interfaceparameters": func(r reader) EndpointPolicy { return readInterfaceParameters(r) },
	"iov":                 func(r reader) EndpointPolicy { return readIOV(r) },
	"l2driver":            func(reader) EndpointPolicy { return L2Driver{} },
	"l4proxy":             func(r reader) EndpointPolicy { return readL4Proxy(r) },
	"l4wfpproxy":          func(r reader) EndpointPolicy { return readL4WFPProxy(r) },
	"outboundnat":         func(r reader) EndpointPolicy { return readOutBoundNAT(r) },
	"portmapping":         func(r reader) EndpointPolicy { return readPortMapping(r) },
	"portname":            func(r reader) EndpointPolicy { return PortName{Name: r.str("Name")} },
	"provideraddress":     func(r reader) EndpointPolicy { return readProviderAddress(r) },
	"qos":                 func(r reader) EndpointPolicy { return readQOS(r) },
	"sdnroute":            func(r reader) EndpointPolicy { return readSDNRoute(r) },
	"tieracl":             func(r reader) EndpointPolicy { return readTierACL(r) },
	"vlan":                func(r reader) EndpointPolicy { return VLAN{IsolationID: uint32(r.uint("IsolationId", 32))} },

	"encryption": nil, // its settings are of a shape per method, and nobody is known to send them
}

var (
	_ EndpointPolicy = OutBoundNAT{}
	_ EndpointPolicy = ProviderAddress{}
	_ EndpointPolicy = SDNRoute{}
	_ EndpointPolicy = VLAN{}
)

// NATFlags are the flags of a NAT policy (schema NatFlags).
type NATFlags uint32

// The NAT flags.
const (
	// NATLocalRoutedVIP serves the VIP on the node itself too.
	NATLocalRoutedVIP NATFlags = 1
	// NATIPv6 marks a policy for IPv6 (schema 2.8).
	NATIPv6 NATFlags = 2
)

// OutBoundNAT translates the source of what leaves the endpoint (schema
// OutBoundNAT). HNS uses the one type for three things: Exceptions alone is
// source NAT to the node's address with exceptions; VirtualIP is source NAT to
// that address; Destinations with the endpoint's own address lets a pod reach
// itself through a service ("loopback DSR"). An endpoint may have several.
type OutBoundNAT struct {
	// VirtualIP is the address to translate to; none means the node's.
	VirtualIP netip.Addr
	// Exceptions are the destinations that are not translated: prefixes
	// without host bits, or single addresses. Empty: everything is translated.
	Exceptions []string
	// Destinations narrows the policy to these addresses; empty means all.
	Destinations []string
	// Flags of the policy; 2 for IPv6.
	Flags NATFlags
	// MaxPortPoolUsage limits the ports the endpoint may use; zero: no limit.
	MaxPortPoolUsage uint16
}

// PolicyType returns "OutBoundNAT".
func (OutBoundNAT) PolicyType() string { return "OutBoundNAT" }
func (OutBoundNAT) endpointPolicy()    {}
func (p OutBoundNAT) settings() any {
	return struct {
		VirtualIP        string   `json:",omitempty"`
		Exceptions       []string `json:",omitempty"`
		Destinations     []string `json:",omitempty"`
		Flags            NATFlags `json:",omitempty"`
		MaxPortPoolUsage uint16   `json:",omitempty"`
	}{addrText(p.VirtualIP), p.Exceptions, p.Destinations, p.Flags, p.MaxPortPoolUsage}
}

func (p OutBoundNAT) check() []*FieldError {
	bad := checkPlaces("Exceptions", p.Exceptions)
	bad = append(bad, checkPlaces("Destinations", p.Destinations)...)
	if p.VirtualIP.IsValid() {
		bad = append(bad, checkAddr("VirtualIP", p.VirtualIP)...)
	}
	return bad
}

func readOutBoundNAT(r reader) OutBoundNAT {
	return OutBoundNAT{
		VirtualIP:        r.addr("VirtualIP"),
		Exceptions:       r.strs("Exceptions"),
		Destinations:     r.strs("Destinations"),
		Flags:            NATFlags(r.uint("Flags", 32)),
		MaxPortPoolUsage: uint16(r.uint("MaxPortPoolUsage", 16)),
	}
}

// checkPlaces wants prefixes without host bits (Windows Server 2022 refuses
// them, microsoft/hcsshim#1951) or single addresses.
func checkPlaces(name string, texts []string) []*FieldError {
	var bad []*FieldError
	for i, s := range texts {
		at := fmt.Sprintf("%s[%d]", name, i)
		if p, err := netip.ParsePrefix(s); err == nil {
			bad = append(bad, checkPrefix(at, p)...)
		} else if a, err := netip.ParseAddr(s); err != nil || a.Zone() != "" {
			bad = append(bad, &FieldError{Path: at, Value: clip(s, 64), Reason: notPlace})
		}
	}
	return bad
}

// SDNRoute leads traffic for a prefix through the virtual filtering platform
// (schema SDNRoute): with NeedEncap, so that load balancer rules apply to it
// (service range, the node's own address); with NextHop, a plain route.
type SDNRoute struct {
	// DestinationPrefix is where the route leads.
	DestinationPrefix netip.Prefix
	// NextHop is the gateway; none with NeedEncap.
	NextHop netip.Addr
	// NeedEncap sends the traffic out through the switch's rules.
	NeedEncap bool
	// AutomaticEndpointMonitor is passed through; its meaning is not documented.
	AutomaticEndpointMonitor bool
}

// PolicyType returns "SDNRoute".
func (SDNRoute) PolicyType() string { return "SDNRoute" }
func (SDNRoute) endpointPolicy()    {}
func (p SDNRoute) settings() any {
	return struct {
		DestinationPrefix        string `json:",omitempty"`
		NextHop                  string `json:",omitempty"`
		NeedEncap                bool   `json:",omitempty"`
		AutomaticEndpointMonitor bool   `json:",omitempty"`
	}{prefixText(p.DestinationPrefix), addrText(p.NextHop), p.NeedEncap, p.AutomaticEndpointMonitor}
}

func (p SDNRoute) check() []*FieldError {
	bad := checkPrefix("DestinationPrefix", p.DestinationPrefix)
	if p.NextHop.IsValid() {
		bad = append(bad, checkAddr("NextHop", p.NextHop)...)
	}
	return bad
}

func readSDNRoute(r reader) SDNRoute {
	return SDNRoute{
		DestinationPrefix:        r.prefix("DestinationPrefix"),
		NextHop:                  r.addr("NextHop"),
		NeedEncap:                r.bool("NeedEncap"),
		AutomaticEndpointMonitor: r.bool("AutomaticEndpointMonitor"),
	}
}
