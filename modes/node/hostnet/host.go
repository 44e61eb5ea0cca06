package hostnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// What an error means, for errors.Is.
var (
	// ErrExists: the route is there already.
	ErrExists = errors.New("already exists")
	// ErrNotFound: there is no such route or adapter.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the route cannot be.
	ErrInvalid = errors.New("invalid")
	// ErrUnsupportedOS: Open knows no way on this operating system, or the
	// Windows lacks calls, as Wine does.
	ErrUnsupportedOS = errors.New("host networking needs Windows")
)

// Host is the network side of a machine. Implementations are safe for
// concurrent use.
type Host interface {
	// Adapters returns the adapters of the machine's own compartment, without
	// the loopback adapter, and with those that have no address, such as one
	// below a virtual switch.
	Adapters(ctx context.Context) ([]Adapter, error)
	// SetForwarding lets the adapter of that index pass packets on that are for
	// others, or no longer so. ErrNotFound: there is no such adapter, or it does
	// not have the family.
	SetForwarding(ctx context.Context, index uint32, family Family, on bool) error
	// Routes returns all routes.
	Routes(ctx context.Context) ([]Route, error)
	// AddRoute adds a route. ErrExists: one with its destination, next hop and
	// adapter is there, whatever its metric. ErrNotFound: no such adapter.
	AddRoute(ctx context.Context, r Route) error
	// DeleteRoute deletes the route with that destination, next hop and
	// adapter, or returns ErrNotFound.
	DeleteRoute(ctx context.Context, r Route) error
}

// Family is an address family.
type Family uint8

// The families.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// FamilyOf returns the family of an address.
func FamilyOf(a netip.Addr) Family {
	if a.Unmap().Is4() {
		return IPv4
	}
	return IPv6
}

// String returns "IPv4" or "IPv6".
func (f Family) String() string { return fmt.Sprintf("IPv%d", uint8(f)) }

// Adapter is a network adapter.
type Adapter struct {
	// Name is the alias, such as "Ethernet" or "vEthernet (cbr0_ep)".
	Name string
	// Index is the interface index. Windows gives a new one to an adapter that
	// is made anew.
	Index uint32
	// MAC is the hardware address; nil if it has none.
	MAC net.HardwareAddr
	// Addresses are those of the adapter, with the prefix length of the link.
	Addresses []netip.Prefix
	// DNS are its name servers.
	DNS []netip.Addr
	// MTU in bytes; zero: not known.
	MTU int
	// Virtual is one without hardware, such as the vNICs that HNS makes.
	Virtual bool
	// ForwardingIPv4 and ForwardingIPv6 are whether it passes packets on.
	ForwardingIPv4, ForwardingIPv6 bool
}

// Has reports whether the adapter has that address.
func (a Adapter) Has(addr netip.Addr) bool {
	_, ok := a.PrefixOf(addr)
	return ok
}

// PrefixOf returns the adapter's address with its length.
func (a Adapter) PrefixOf(addr netip.Addr) (netip.Prefix, bool) {
	for _, p := range a.Addresses {
		if addr.IsValid() && p.Addr() == addr {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// OnLink reports whether the address lies in a subnet of the adapter.
func (a Adapter) OnLink(addr netip.Addr) bool {
	for _, p := range a.Addresses {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// Forwards reports whether the adapter passes packets of a family on.
func (a Adapter) Forwards(f Family) bool {
	if f == IPv4 {
		return a.ForwardingIPv4
	}
	return a.ForwardingIPv6
}

// Route is a route of the machine.
type Route struct {
	// Destination is without host bits.
	Destination netip.Prefix
	// NextHop is the router; unspecified (0.0.0.0, ::) or zero: the destination
	// is on the link.
	NextHop netip.Addr
	// Interface is the index of the adapter.
	Interface uint32
	// Metric is the route's own, to which Windows adds the adapter's. Zero is
	// the most preferred.
	Metric uint32
	// Static is one that was made by a person, a program or DHCP, and not by
	// the system itself for its addresses or on a router's announcement. AddRoute
	// makes static ones.
	Static bool
	// DHCP is one that DHCP gave; it is Static too. AddRoute makes none.
	DHCP bool
}

// OnLink reports whether the destination is reached without a router.
func (r Route) OnLink() bool { return !r.NextHop.IsValid() || r.NextHop.IsUnspecified() }

// Same reports whether the routes have destination, next hop and adapter in
// common, which is what tells routes apart.
func (r Route) Same(o Route) bool {
	return r.Destination.Masked() == o.Destination.Masked() && r.Interface == o.Interface &&
		(r.NextHop == o.NextHop || r.OnLink() && o.OnLink())
}

// String returns "10.244.2.0/24 via 192.0.2.12 on interface 7".
func (r Route) String() string {
	via := "on the link"
	if !r.OnLink() {
		via = "via " + r.NextHop.String()
	}
	return fmt.Sprintf("%s %s on interface %d", r.Destination, via, r.Interface)
}

// check finds what no machine takes.
func (r Route) check() error {
	switch {
	case !r.Destination.IsValid() || r.Destination.Addr().Is4In6():
		return fmt.Errorf("%w: no destination", ErrInvalid)
	case r.Destination != r.Destination.Masked():
		return fmt.Errorf("%w: the destination has host bits", ErrInvalid)
	case !r.OnLink() && r.NextHop.Is4() != r.Destination.Addr().Is4():
		return fmt.Errorf("%w: the next hop is of another address family", ErrInvalid)
	case !r.OnLink() && r.NextHop.IsMulticast():
		return fmt.Errorf("%w: the next hop is a multicast address", ErrInvalid)
	}
	return nil
}

// failed puts the operation, and what it was about, before its cause; "" is
// nothing.
func failed(op string, of any, cause error) error {
	if of == "" {
		return fmt.Errorf("hostnet: %s: %w", op, cause)
	}
	return fmt.Errorf("hostnet: %s %v: %w", op, of, cause)
}
