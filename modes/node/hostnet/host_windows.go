package hostnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"golang.org/x/sys/windows"
	"golang.zx2c4.com/wireguard/windows/tunnel/winipcfg"
)

// Open returns the host side of this machine. Changes need an elevated process.
func Open() (Host, error) { return machine{}, nil }

// machine is the Windows that the program runs on. It has no state.
type machine struct{}

func (machine) Adapters(ctx context.Context) ([]Adapter, error) {
	const op = "list adapters"
	if err := ctx.Err(); err != nil {
		return nil, failed(op, "", err)
	}
	list, err := winipcfg.GetAdaptersAddresses(windows.AF_UNSPEC, winipcfg.GAAFlagSkipAnycast|winipcfg.GAAFlagSkipMulticast)
	if err != nil {
		return nil, failed(op, "", err)
	}
	var out []Adapter
	for _, a := range list {
		if a.IfType == winipcfg.IfTypeSoftwareLoopback {
			continue
		}
		adapter, err := adapterOf(a)
		if errors.Is(err, windows.ERROR_FILE_NOT_FOUND) || errors.Is(err, windows.ERROR_NOT_FOUND) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, failed(op, "", fmt.Errorf("%s: %w", a.FriendlyName(), err))
		}
		out = append(out, adapter)
	}
	return out, nil
}

func adapterOf(a *winipcfg.IPAdapterAddresses) (Adapter, error) {
	out := Adapter{Name: a.FriendlyName(), Index: a.IfIndex, MTU: int(a.MTU), MAC: net.HardwareAddr(slices.Clone(a.PhysicalAddress()))}
	if out.Index == 0 {
		out.Index = a.IPv6IfIndex // an adapter without IPv4
	}
	row, err := a.LUID.Interface()
	if err != nil {
		return out, err
	}
	out.Virtual = row.InterfaceAndOperStatusFlags&winipcfg.IAOSFHardwareInterface == 0
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
	if out.ForwardingIPv4, err = forwarding(a.LUID, windows.AF_INET); err != nil {
		return out, err
	}
	out.ForwardingIPv6, err = forwarding(a.LUID, windows.AF_INET6)
	return out, err
}

func addrOf(s windows.SocketAddress) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(s.IP())
	return a.Unmap(), ok
}

// forwarding is false of a family that the adapter does not have.
func forwarding(luid winipcfg.LUID, family winipcfg.AddressFamily) (bool, error) {
	row, err := luid.IPInterface(family)
	if errors.Is(err, windows.ERROR_NOT_FOUND) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return row.ForwardingEnabled, nil
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
	luid, err := winipcfg.LUIDFromIndex(index)
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
	if err != nil {
		return nil, failed(op, "", err)
	}
	out := make([]Route, 0, len(rows))
	for i := range rows {
		row := &rows[i]
		out = append(out, Route{
			Destination: row.DestinationPrefix.Prefix(), NextHop: row.NextHop.Addr().WithZone(""), Interface: row.InterfaceIndex,
			Metric: row.Metric, Static: row.Protocol == winipcfg.RouteProtocolNetMgmt,
		})
	}
	return out, nil
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
	luid, err := winipcfg.LUIDFromIndex(r.Interface)
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

// meaning adds what the codes of the IP helper API stand for.
func meaning(err error) error {
	switch {
	case errors.Is(err, windows.ERROR_OBJECT_ALREADY_EXISTS), errors.Is(err, windows.ERROR_ALREADY_EXISTS):
		return fmt.Errorf("%w: %w", ErrExists, err)
	case errors.Is(err, windows.ERROR_NOT_FOUND), errors.Is(err, windows.ERROR_FILE_NOT_FOUND):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case errors.Is(err, windows.ERROR_INVALID_PARAMETER):
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return err
}
