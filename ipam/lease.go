package ipam

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
)

// Lease is what an IPAM plugin gave to one interface of one container.
type Lease struct {
	// Addresses has at least one entry when it comes from [IPAM.Allocate].
	Addresses []Address
	// Routes are those the plugin wants on the interface; may be empty.
	Routes []Route
	// DNS is empty unless the plugin says something about it.
	DNS types.DNS
}

// Address is one address of a lease.
type Address struct {
	// Prefix is the address with the length of its subnet: 10.50.3.7/24.
	Prefix netip.Prefix
	// Gateway is the one the plugin reports for it; zero if none.
	Gateway netip.Addr
}

// Route is a route of a CNI result (CNI specification, "Success" results).
type Route struct {
	// Destination has no host bits; 0.0.0.0/0 is the default route.
	Destination netip.Prefix
	// Gateway is the next hop; zero means the gateway of the address.
	Gateway netip.Addr
	// MTU, AdvMSS and Priority are 0 if unset.
	MTU, AdvMSS, Priority int
	// Table and Scope are nil if unset. Both are Linux notions.
	Table, Scope *int
}

// NewLease reads a CNI result of any version. It fails on what is no address, and
// accepts a result without addresses.
func NewLease(result types.Result) (*Lease, error) {
	if result == nil {
		return nil, errors.New("no result")
	}
	if err := checkNoNulls(result); err != nil {
		return nil, err
	}
	res, err := types100.NewResultFromResult(result)
	if err != nil {
		return nil, err
	}
	lease := &Lease{DNS: res.DNS}
	for i, ip := range res.IPs {
		a, err := newAddress(ip)
		if err != nil {
			return nil, fmt.Errorf("ips[%d]: %w", i, err)
		}
		lease.Addresses = append(lease.Addresses, a)
	}
	for i, r := range res.Routes {
		route, err := newRoute(r)
		if err != nil {
			return nil, fmt.Errorf("routes[%d]: %w", i, err)
		}
		lease.Routes = append(lease.Routes, route)
	}
	return lease, nil
}

// Result returns the lease as a CNI result of the latest version, without
// interfaces. It can be converted to older ones with its GetAsVersion.
func (l *Lease) Result() *types100.Result {
	res := &types100.Result{
		CNIVersion: types100.ImplementedSpecVersion,
		Routes:     cniRoutes(l.Routes),
		DNS:        *l.DNS.Copy(),
	}
	for _, a := range l.Addresses {
		res.IPs = append(res.IPs, &types100.IPConfig{Address: ipNet(a.Prefix), Gateway: netIP(a.Gateway)})
	}
	return res
}

var errNullEntry = errors.New("null")

// checkNoNulls refuses null in the lists of a result: converting such a result to
// another version would panic.
func checkNoNulls(result types.Result) error {
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	obj, err := readObject(text)
	if err != nil {
		return err
	}
	for _, key := range []string{"ips", "interfaces", "routes"} {
		list, err := readList(orNull(obj.get(key)))
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		for i, item := range list {
			if isNull(item) {
				return fmt.Errorf("%s[%d]: %w", key, i, errNullEntry)
			}
		}
	}
	return nil
}

func newAddress(ip *types100.IPConfig) (Address, error) {
	if ip == nil {
		return Address{}, errNullEntry
	}
	p, err := prefixOf(ip.Address)
	if err != nil {
		return Address{}, fmt.Errorf("address: %w", err)
	}
	if p.Addr().IsUnspecified() {
		return Address{}, fmt.Errorf("address %s: is no address", p)
	}
	gw, err := addrOf(ip.Gateway)
	if err != nil {
		return Address{}, fmt.Errorf("gateway: %w", err)
	}
	if gw.IsValid() && gw.Is4() != p.Addr().Is4() {
		return Address{}, fmt.Errorf("gateway %s: %w than %s", gw, errFamily, p)
	}
	return Address{Prefix: p, Gateway: gw}, nil
}

func newRoute(r *types.Route) (Route, error) {
	if r == nil {
		return Route{}, errNullEntry
	}
	dst, err := prefixOf(r.Dst)
	if err != nil {
		return Route{}, fmt.Errorf("dst: %w", err)
	}
	gw, err := addrOf(r.GW)
	if err != nil {
		return Route{}, fmt.Errorf("gw: %w", err)
	}
	r = r.Copy()
	return Route{
		Destination: dst.Masked(), Gateway: gw,
		MTU: r.MTU, AdvMSS: r.AdvMSS, Priority: r.Priority, Table: r.Table, Scope: r.Scope,
	}, nil
}

func cniRoutes(routes []Route) []*types.Route {
	var out []*types.Route
	for _, r := range routes {
		route := types.Route{
			Dst: ipNet(r.Destination), GW: netIP(r.Gateway),
			MTU: r.MTU, AdvMSS: r.AdvMSS, Priority: r.Priority, Table: r.Table, Scope: r.Scope,
		}
		out = append(out, route.Copy())
	}
	return out
}

// prefixOf converts an address with mask. Package net keeps IPv4 addresses in 4
// or 16 bytes, and masks in either too.
func prefixOf(n net.IPNet) (netip.Prefix, error) {
	a, ok := netip.AddrFromSlice(n.IP)
	ones, bits := n.Mask.Size()
	if !ok || bits == 0 {
		return netip.Prefix{}, fmt.Errorf("%s is no address with a prefix length", n.String())
	}
	a = a.Unmap()
	if a.Is4() && bits == 128 {
		ones, bits = ones-96, 32
	}
	p := netip.PrefixFrom(a, ones)
	if bits != a.BitLen() || !p.IsValid() {
		return netip.Prefix{}, fmt.Errorf("%s has a mask that does not fit", n.String())
	}
	return p, nil
}

// addrOf converts an address; an absent one is the zero address.
func addrOf(ip net.IP) (netip.Addr, error) {
	if len(ip) == 0 {
		return netip.Addr{}, nil
	}
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netip.Addr{}, fmt.Errorf("%v is no address", []byte(ip))
	}
	return a.Unmap(), nil
}

func ipNet(p netip.Prefix) net.IPNet {
	if !p.IsValid() {
		return net.IPNet{}
	}
	return net.IPNet{IP: netIP(p.Addr()), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func netIP(a netip.Addr) net.IP {
	if !a.IsValid() {
		return nil
	}
	return a.AsSlice()
}
