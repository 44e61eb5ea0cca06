package ipam

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/hnskit/hnskit/internal/errlist"
)

// Lease is what an IPAM plugin gave to one interface of one container.
type Lease struct {
	// Addresses has at least one entry when it comes from [IPAM.Allocate], unless
	// the request says that none may be right.
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

// NewLease reads a CNI result of any version. A result without addresses is
// accepted; a fault names the place, as in ips[0].gateway, with ips standing for
// ip4 and ip6 of versions before 0.3.0 too.
//
// What is an error: an address that no interface can have (0.0.0.0, loopback,
// multicast, network and broadcast address of an IPv4 subnet), the same one twice
// on an interface, a gateway of the other family or that is the address itself.
//
// What is accepted, since CNI allows it, and some network works that way: several
// addresses of a family; IPv6 alone; no gateway, for which 0.0.0.0 and :: count
// too; an address with /32 or /128; a gateway outside the address's subnet, which
// with /32 it always is. Whether a mode of networking can use it is for package
// modes to say.
//
// A lease is of one interface: the interfaces of a result and the indexes of its
// addresses into them, which an IPAM plugin leaves out (CNI specification,
// section 4), are not kept.
func NewLease(result types.Result) (*Lease, error) {
	if result == nil {
		return nil, errors.New("no result")
	}
	if err := checkLists(result); err != nil {
		return nil, err
	}
	res, err := types100.NewResultFromResult(result)
	if err != nil {
		return nil, err
	}
	lease := &Lease{DNS: res.DNS}
	var errs []error
	for i, ip := range res.IPs {
		path := fmt.Sprintf("ips[%d]", i)
		a, err := newAddress(path, ip)
		if err == nil {
			err = checkUnique(path, res.IPs[:i], ip)
		}
		errs = append(errs, err)
		lease.Addresses = append(lease.Addresses, a)
	}
	for i, r := range res.Routes {
		route, err := newRoute(fmt.Sprintf("routes[%d]", i), r)
		errs = append(errs, err)
		lease.Routes = append(lease.Routes, route)
	}
	if err := errlist.Join(errs...); err != nil {
		return nil, err
	}
	return lease, nil
}

// Result returns the lease as a CNI result of the latest version, without
// interfaces. It can be converted to older ones with its GetAsVersion. 0.1.0 and
// 0.2.0 have room for one address of a family, need one, and keep of a route the
// destination and the gateway; later ones keep everything.
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

// checkLists refuses what converting a result to another version would panic
// over, null in its lists, and what it would lose: versions 0.3.0 to 0.4.0 say the
// family of an address beside it.
func checkLists(result types.Result) error {
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
			if why := wrongFamily(item); why != "" && key == "ips" {
				return fmt.Errorf("%s[%d].%s", key, i, why)
			}
		}
	}
	return nil
}

// wrongFamily says what is wrong with the version of an address, which must be its
// family. What else is wrong with the entry, newAddress says.
func wrongFamily(item json.RawMessage) string {
	var ip struct {
		Version string
		Address netip.Prefix
	}
	if json.Unmarshal(item, &ip) != nil || ip.Version == "" || !ip.Address.IsValid() {
		return ""
	}
	family := "6"
	if ip.Address.Addr().Unmap().Is4() {
		family = "4"
	}
	if ip.Version == family {
		return ""
	}
	return fmt.Sprintf("version %q: the address is %s", ip.Version, ip.Address)
}

func newAddress(path string, ip *types100.IPConfig) (Address, error) {
	if ip == nil {
		return Address{}, fmt.Errorf("%s: %w", path, errNullEntry)
	}
	p, err := prefixOf(ip.Address)
	if err != nil {
		return Address{}, fmt.Errorf("%s.address: %w", path, err)
	}
	if why := unusable(p); why != "" {
		return Address{}, fmt.Errorf("%s.address %s: %s", path, p, why)
	}
	gw, err := addrOf(ip.Gateway)
	switch {
	case err != nil:
		return Address{}, fmt.Errorf("%s.gateway: %w", path, err)
	case gw.IsUnspecified():
		return Address{Prefix: p}, nil // the usual way to say: none
	case gw.IsValid() && gw.Is4() != p.Addr().Is4():
		return Address{}, fmt.Errorf("%s.gateway %s: %w than %s", path, gw, errFamily, p)
	case gw == p.Addr():
		return Address{}, fmt.Errorf("%s.gateway %s: the interface's own address", path, gw)
	case gw.IsMulticast() || gw.IsLoopback():
		return Address{}, fmt.Errorf("%s.gateway %s: cannot be a next hop", path, gw)
	}
	return Address{Prefix: p, Gateway: gw}, nil
}

// unusable says why p is no address for an interface (RFC 1122 section 3.2.1.3;
// RFC 4291 section 2.5).
func unusable(p netip.Prefix) string {
	a := p.Addr()
	broadcast, has := Broadcast(p)
	switch {
	case a.IsUnspecified():
		return "is no address"
	case a.IsLoopback():
		return "a loopback address"
	case a.IsMulticast():
		return "a multicast address"
	case has && a == broadcast, a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "the broadcast address of its subnet"
	case has && a == Network(p):
		return "the network address of its subnet"
	}
	return ""
}

// checkUnique wants an interface not to have an address twice. Entries of
// different interfaces are none of a lease's concern: a chain's result has them.
func checkUnique(path string, earlier []*types100.IPConfig, ip *types100.IPConfig) error {
	for i, old := range earlier {
		same := old.Interface == nil && ip.Interface == nil ||
			old.Interface != nil && ip.Interface != nil && *old.Interface == *ip.Interface
		if same && old.Address.IP.Equal(ip.Address.IP) {
			return fmt.Errorf("%s.address %s: the same address as ips[%d]", path, ip.Address.String(), i)
		}
	}
	return nil
}

func newRoute(path string, r *types.Route) (Route, error) {
	if r == nil {
		return Route{}, fmt.Errorf("%s: %w", path, errNullEntry)
	}
	dst, err := prefixOf(r.Dst)
	if err != nil {
		return Route{}, fmt.Errorf("%s.dst: %w", path, err)
	}
	gw, err := addrOf(r.GW)
	if err != nil {
		return Route{}, fmt.Errorf("%s.gw: %w", path, err)
	}
	if gw.IsValid() && gw.Is4() != dst.Addr().Is4() {
		return Route{}, fmt.Errorf("%s.gw %s: %w than %s", path, gw, errFamily, dst)
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
