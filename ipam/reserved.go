package ipam

import (
	"fmt"
	"net/netip"
	"slices"
)

// Reasons why [Reserved] lists an address.
const (
	ReasonNetwork      = "network address"
	ReasonAnycast      = "subnet-router anycast address" // RFC 4291 2.6.1
	ReasonBroadcast    = "broadcast address"
	ReasonGateway      = "gateway"
	ReasonHostEndpoint = "host endpoint"
	ReasonSourceVIP    = "source VIP"
)

// Reservation is an address that must not be handed out to a pod.
type Reservation struct {
	Address netip.Addr
	// Reason says what holds the address, for messages.
	Reason string
}

func (r Reservation) String() string { return fmt.Sprintf("%s (%s)", r.Address, r.Reason) }

// Use says what takes addresses of a subnet besides pods. The zero value is a
// subnet with pods alone.
type Use struct {
	// Gateway: HNS holds the subnet's gateway address. It is the one after the
	// network address unless GatewayAddress says otherwise.
	Gateway bool
	// GatewayAddress is the gateway if it is valid; it implies Gateway.
	GatewayAddress netip.Addr
	// HostEndpoint: the host has an endpoint of its own in the subnet (L2Bridge).
	// It is two after the network address unless HostEndpointAddress says otherwise.
	HostEndpoint bool
	// HostEndpointAddress is the host endpoint's address if it is valid; it
	// implies HostEndpoint.
	HostEndpointAddress netip.Addr
	// SourceVIP, if valid, is the address that kube-proxy uses as the source of
	// load-balanced traffic on an Overlay network.
	SourceVIP netip.Addr
	// Extra lists further addresses of the subnet, with their reasons.
	Extra []Reservation
}

// Reserved returns the addresses of subnet that IPAM must not hand out: the
// network address, the broadcast address (IPv4), and those that use names. They
// are sorted and each stands once. Prefixes of length 31 and 127 and longer have
// neither network nor broadcast address.
//
// An address outside the subnet is an error that matches [ErrOutsidePrefix]; two
// uses of one address, such as a source VIP on the host endpoint's, are an error
// too. An address of Extra may coincide with another one, whose reason then stays.
func Reserved(subnet netip.Prefix, use Use) ([]Reservation, error) {
	subnet = plain(subnet).Masked()
	if !subnet.IsValid() {
		return nil, fmt.Errorf("reserved addresses: %w", errInvalidPrefix)
	}
	set := reservedSet{subnet: subnet, reasons: map[netip.Addr]string{}}
	set.addFixed()
	if use.Gateway || use.GatewayAddress.IsValid() {
		set.add(ReasonGateway, use.GatewayAddress, 1)
	}
	if use.HostEndpoint || use.HostEndpointAddress.IsValid() {
		set.add(ReasonHostEndpoint, use.HostEndpointAddress, 2)
	}
	if use.SourceVIP.IsValid() {
		set.add(ReasonSourceVIP, use.SourceVIP, 0)
	}
	for _, extra := range use.Extra {
		if !set.has(extra.Address) {
			set.add(extra.Reason, extra.Address, 0)
		}
	}
	if set.err != nil {
		return nil, fmt.Errorf("reserved addresses of %s: %w", subnet, set.err)
	}
	return set.sorted(), nil
}

// reservedSet collects reservations; err is the first thing that went wrong.
type reservedSet struct {
	subnet  netip.Prefix
	reasons map[netip.Addr]string
	err     error
}

// addFixed adds what the prefix itself takes.
func (s *reservedSet) addFixed() {
	if s.subnet.Bits() > s.subnet.Addr().BitLen()-2 {
		return
	}
	if s.subnet.Addr().Is6() {
		s.reasons[Network(s.subnet)] = ReasonAnycast
		return
	}
	s.reasons[Network(s.subnet)] = ReasonNetwork
	s.reasons[Last(s.subnet)] = ReasonBroadcast
}

func (s *reservedSet) has(a netip.Addr) bool { return s.reasons[sameForm(s.subnet, a)] != "" }

// add reserves a, or the nth address of the subnet if a is not given and n not 0.
func (s *reservedSet) add(reason string, a netip.Addr, n uint64) {
	if s.err != nil {
		return
	}
	a = sameForm(s.subnet, a)
	if !a.IsValid() && n > 0 {
		if a, s.err = Nth(s.subnet, n); s.err != nil {
			s.err = fmt.Errorf("%s: %w", reason, s.err)
			return
		}
	}
	switch {
	case !s.subnet.Contains(a):
		s.err = fmt.Errorf("%s %s: %w", reason, a, ErrOutsidePrefix)
	case s.has(a):
		s.err = fmt.Errorf("%s %s is the %s already", reason, a, s.reasons[a])
	case reason == "":
		s.err = fmt.Errorf("%s: reserved without a reason", a)
	default:
		s.reasons[a] = reason
	}
}

func (s *reservedSet) sorted() []Reservation {
	out := make([]Reservation, 0, len(s.reasons))
	for a, reason := range s.reasons {
		out = append(out, Reservation{a, reason})
	}
	slices.SortFunc(out, func(x, y Reservation) int { return x.Address.Compare(y.Address) })
	return out
}
