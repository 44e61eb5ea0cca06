package hostnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/windows"
	"golang.zx2c4.com/wireguard/windows/tunnel/winipcfg"
)

// needed are the calls of iphlpapi.dll that the package makes. Every Windows that
// has HNS has them.
var needed = []string{
	"GetAdaptersAddresses", "GetIfEntry2", "GetIpInterfaceTable", "InitializeIpInterfaceEntry", "GetIpInterfaceEntry", "SetIpInterfaceEntry",
	"ConvertInterfaceIndexToLuid", "GetIpForwardTable2", "FreeMibTable", "InitializeIpForwardEntry", "GetIpForwardEntry2",
	"CreateIpForwardEntry2", "DeleteIpForwardEntry2",
}

// Open returns the host side of this machine. Changes need an elevated process.
// [ErrUnsupportedOS], with the calls that it lacks, is a Windows that is none,
// such as Wine.
func Open() (Host, error) {
	dll := windows.NewLazySystemDLL("iphlpapi.dll")
	var missing []string
	for _, name := range needed {
		if dll.NewProc(name).Find() != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 { // a call of one would panic
		return nil, fmt.Errorf("hostnet: %w: iphlpapi.dll lacks %s", ErrUnsupportedOS, strings.Join(missing, ", "))
	}
	return machine{}, nil
}

// machine is the Windows that the program runs on. It has no state.
type machine struct{}

func (machine) Adapters(ctx context.Context) ([]Adapter, error) {
	const op = "list adapters"
	if err := ctx.Err(); err != nil {
		return nil, failed(op, "", err)
	}
	forwards, err := forwarding()
	if err != nil {
		return nil, failed(op, "", fmt.Errorf("read forwarding: %w", err))
	}
	out, err := readAdapters(forwards)
	if err != nil {
		return nil, failed(op, "", err)
	}
	return out, nil
}

// forwarding reads what each adapter passes on.
func forwarding() (map[forwardsKey]bool, error) {
	rows, err := winipcfg.GetIPInterfaceTable(windows.AF_UNSPEC)
	if err != nil && !errors.Is(err, windows.ERROR_NOT_FOUND) {
		return nil, err
	}
	out := map[forwardsKey]bool{}
	for i := range rows {
		out[forwardsKey{rows[i].InterfaceLUID, rows[i].Family}] = rows[i].ForwardingEnabled
	}
	return out, nil
}

// readAdapters asks for all interfaces: without that Windows leaves out those
// that IP is not bound to, as is the adapter below a virtual switch. So it also
// gets the filters in an adapter's stack and adapters that are pulled out, which
// are none for us.
func readAdapters(forwards map[forwardsKey]bool) ([]Adapter, error) {
	const flags = winipcfg.GAAFlagSkipAnycast | winipcfg.GAAFlagSkipMulticast | winipcfg.GAAFlagIncludeAllInterfaces
	list, err := winipcfg.GetAdaptersAddresses(windows.AF_UNSPEC, flags)
	if errors.Is(err, windows.ERROR_NO_DATA) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Adapter
	for _, a := range list {
		row, err := a.LUID.Interface()
		if errors.Is(err, windows.ERROR_FILE_NOT_FOUND) || errors.Is(err, windows.ERROR_NOT_FOUND) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.FriendlyName(), err)
		}
		if isAdapter(a.IfType, row.OperStatus, row.InterfaceAndOperStatusFlags) {
			out = append(out, adapterOf(a, row, forwards))
		}
	}
	return out, nil
}

type forwardsKey struct {
	luid   winipcfg.LUID
	family winipcfg.AddressFamily
}

func isAdapter(t winipcfg.IfType, s winipcfg.IfOperStatus, f winipcfg.InterfaceAndOperStatusFlags) bool {
	return t != winipcfg.IfTypeSoftwareLoopback && s != winipcfg.IfOperStatusNotPresent && f&winipcfg.IAOSFFilterInterface == 0
}

// adapterOf takes the index from the row: that of the addresses is zero in a
// family that the adapter does not have.
func adapterOf(a *winipcfg.IPAdapterAddresses, row *winipcfg.MibIfRow2, forwards map[forwardsKey]bool) Adapter {
	out := Adapter{
		Name: a.FriendlyName(), Index: row.InterfaceIndex, MTU: int(a.MTU), MAC: net.HardwareAddr(slices.Clone(a.PhysicalAddress())),
		Virtual:        row.InterfaceAndOperStatusFlags&winipcfg.IAOSFHardwareInterface == 0,
		ForwardingIPv4: forwards[forwardsKey{a.LUID, windows.AF_INET}], ForwardingIPv6: forwards[forwardsKey{a.LUID, windows.AF_INET6}],
	}
	for u := a.FirstUnicastAddress; u != nil; u = u.Next {
		if addr, ok := addrOf(u.Address); ok {
			out.Addresses = append(out.Addresses, netip.PrefixFrom(addr, int(u.OnLinkPrefixLength)))
		}
	}
	for d := a.FirstDNSServerAddress; d != nil; d = d.Next {
		if addr, ok := addrOf(d.Address); ok {
			out.DNS = append(out.DNS, addr)
		}
	}
	return out
}

func addrOf(s windows.SocketAddress) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(s.IP())
	return a.Unmap(), ok
}

func (machine) SetForwarding(ctx context.Context, index uint32, family Family, on bool) error {
	const op = "set forwarding of interface"
	fail := func(err error) error { return failed(op, index, meaning(err)) }
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	var af winipcfg.AddressFamily
	switch family {
	case IPv4:
		af = windows.AF_INET
	case IPv6:
		af = windows.AF_INET6
	default:
		return fail(ErrInvalid)
	}
	luid, err := luidOf(index)
	if err != nil {
		return fail(err)
	}
	row, err := luid.IPInterface(af)
	if err != nil {
		return fail(err)
	}
	if row.ForwardingEnabled == on {
		return nil
	}
	row.ForwardingEnabled = on
	if family == IPv4 {
		row.SitePrefixLength = 0 // SetIpInterfaceEntry wants it so
	}
	if err := row.Set(); err != nil {
		return fail(err)
	}
	return nil
}

func (machine) Routes(ctx context.Context) ([]Route, error) {
	const op = "list routes"
	if err := ctx.Err(); err != nil {
		return nil, failed(op, "", err)
	}
	rows, err := winipcfg.GetIPForwardTable2(windows.AF_UNSPEC)
	if errors.Is(err, windows.ERROR_NOT_FOUND) {
		return nil, nil // none at all
	}
	if err != nil {
		return nil, failed(op, "", err)
	}
	out := make([]Route, 0, len(rows))
	for i := range rows {
		row := &rows[i]
		out = append(out, Route{
			Destination: row.DestinationPrefix.Prefix(), NextHop: row.NextHop.Addr().WithZone(""), Interface: row.InterfaceIndex,
			Metric: row.Metric, Static: isStatic(row.Protocol, row.Origin),
			DHCP: row.Protocol == winipcfg.RouteProtocolDHCP || row.Origin == winipcfg.RouteOriginDHCP,
		})
	}
	return out, nil
}

// isStatic goes by who made the route. Those that a router announces have the
// protocol of static ones.
func isStatic(p winipcfg.RouteProtocol, o winipcfg.RouteOrigin) bool {
	switch p {
	case winipcfg.RouteProtocolNetMgmt, winipcfg.RouteProtocolDHCP, winipcfg.RouteProtocolNTStatic:
		return o != winipcfg.RouteOriginRouterAdvertisement && o != winipcfg.RouteOrigin6to4
	}
	return false
}

func (machine) AddRoute(ctx context.Context, r Route) error {
	return changeRoute(ctx, "add route", r, func(luid winipcfg.LUID, nextHop netip.Addr) error {
		return luid.AddRoute(r.Destination, nextHop, r.Metric)
	})
}

func (machine) DeleteRoute(ctx context.Context, r Route) error {
	return changeRoute(ctx, "delete route", r, func(luid winipcfg.LUID, nextHop netip.Addr) error {
		return luid.DeleteRoute(r.Destination, nextHop)
	})
}

func changeRoute(ctx context.Context, op string, r Route, change func(winipcfg.LUID, netip.Addr) error) error {
	if err := ctx.Err(); err != nil {
		return failed(op, r, err)
	}
	if err := r.check(); err != nil {
		return failed(op, r, err)
	}
	luid, err := luidOf(r.Interface)
	if err != nil {
		return failed(op, r, meaning(err))
	}
	nextHop := r.NextHop
	if !nextHop.IsValid() {
		nextHop = netip.IPv6Unspecified()
		if r.Destination.Addr().Is4() {
			nextHop = netip.IPv4Unspecified()
		}
	}
	if err := change(luid, nextHop); err != nil {
		return failed(op, r, meaning(err))
	}
	return nil
}

// luidOf finds the adapter. An index that no adapter has is an invalid parameter
// to the call, in the words of its reference.
func luidOf(index uint32) (winipcfg.LUID, error) {
	luid, err := winipcfg.LUIDFromIndex(index)
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return luid, err
}

// meaning adds what the codes of the IP helper API stand for.
func meaning(err error) error {
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrInvalid): // it is said already
		return err
	case errors.Is(err, windows.ERROR_OBJECT_ALREADY_EXISTS), errors.Is(err, windows.ERROR_ALREADY_EXISTS):
		return fmt.Errorf("%w: %w", ErrExists, err)
	case errors.Is(err, windows.ERROR_NOT_FOUND), errors.Is(err, windows.ERROR_FILE_NOT_FOUND):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case errors.Is(err, windows.ERROR_INVALID_PARAMETER):
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return err
}
