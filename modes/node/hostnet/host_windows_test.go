package hostnet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
	"golang.zx2c4.com/wireguard/windows/tunnel/winipcfg"
)

func underWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// TestOpen: a Windows that lacks a call is refused, and not found out by a panic.
func TestOpen(t *testing.T) {
	h, err := Open()
	if !underWine() {
		if err != nil || h == nil {
			t.Errorf("%v, %v", h, err)
		}
		return
	}
	if h != nil || !errors.Is(err, ErrUnsupportedOS) || !strings.Contains(err.Error(), "CreateIpForwardEntry2") || strings.Contains(err.Error(), "GetIpForwardTable2") {
		t.Errorf("%v, %v", h, err)
	}
}

// TestReads compares with what the net package finds on the machine. What only
// reads works under Wine too, but for forwarding.
func TestReads(t *testing.T) {
	read := func() ([]Adapter, error) { return machine{}.Adapters(t.Context()) }
	if underWine() {
		read = func() ([]Adapter, error) { return readAdapters(nil) }
	}
	adapters, err := read()
	if err != nil {
		t.Fatal(err)
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range interfaces {
		i := slices.IndexFunc(adapters, func(a Adapter) bool { return a.Index == uint32(n.Index) })
		if loopback := n.Flags&net.FlagLoopback != 0; loopback != (i < 0) {
			t.Errorf("%+v is adapter %d of %+v", n, i, adapters)
		}
		if i < 0 {
			continue
		}
		a := adapters[i]
		if a.Name != n.Name || a.MTU != n.MTU || a.MAC.String() != n.HardwareAddr.String() {
			t.Errorf("%+v, by net %+v", a, n)
		}
		addrs, err := n.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range addrs {
			if p, err := netip.ParsePrefix(x.String()); err != nil || !slices.Contains(a.Addresses, p) {
				t.Errorf("%+v lacks %s (%v)", a, x, err)
			}
		}
	}
	routes, err := machine{}.Routes(t.Context())
	if err != nil || len(routes) == 0 {
		t.Fatalf("%v, %v", routes, err)
	}
	for _, r := range routes {
		if r.check() != nil && !r.Destination.Addr().IsMulticast() || r.NextHop.Zone() != "" {
			t.Errorf("%+v: %v", r, r.check())
		}
	}
}

// TestReadsEnd: a context that has ended stops every call.
func TestReadsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := machine{}
	_, errA := m.Adapters(ctx)
	_, errR := m.Routes(ctx)
	for _, err := range []error{errA, errR, m.AddRoute(ctx, Route{}), m.DeleteRoute(ctx, Route{}), m.SetForwarding(ctx, 1, IPv4, true)} {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestNoSuchAdapter: Windows calls the index invalid; it is not found.
func TestNoSuchAdapter(t *testing.T) {
	r := Route{Destination: netip.MustParsePrefix("198.51.100.0/24"), Interface: 1 << 30}
	m := machine{}
	for _, err := range []error{m.AddRoute(t.Context(), r), m.DeleteRoute(t.Context(), r), m.SetForwarding(t.Context(), 1<<30, IPv6, true)} {
		if !errors.Is(err, ErrNotFound) || errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	}
	if err := m.SetForwarding(t.Context(), 1<<30, 5, true); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

func TestMeaning(t *testing.T) {
	all := []error{ErrExists, ErrNotFound, ErrInvalid}
	for code, want := range map[windows.Errno]error{
		windows.ERROR_OBJECT_ALREADY_EXISTS: ErrExists, windows.ERROR_ALREADY_EXISTS: ErrExists,
		windows.ERROR_NOT_FOUND: ErrNotFound, windows.ERROR_FILE_NOT_FOUND: ErrNotFound,
		windows.ERROR_INVALID_PARAMETER: ErrInvalid, windows.ERROR_ACCESS_DENIED: os.ErrPermission, windows.ERROR_NETWORK_UNREACHABLE: nil,
	} {
		err := meaning(code)
		if !errors.Is(err, code) || want != nil && !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", code, err, want)
		}
		for _, other := range all {
			if other != want && errors.Is(err, other) {
				t.Errorf("%d: %v is %v", code, err, other)
			}
		}
	}
}

// TestWhatCounts: filters in an adapter's stack and what is pulled out are no
// adapters; what the system or a router makes is no static route.
func TestWhatCounts(t *testing.T) {
	const hardware, filter = winipcfg.IAOSFHardwareInterface, winipcfg.IAOSFFilterInterface
	for _, tt := range []struct {
		t    winipcfg.IfType
		s    winipcfg.IfOperStatus
		f    winipcfg.InterfaceAndOperStatusFlags
		want bool
	}{
		{winipcfg.IfTypeEthernetCSMACD, winipcfg.IfOperStatusUp, hardware, true},
		{winipcfg.IfTypeEthernetCSMACD, winipcfg.IfOperStatusDown, 0, true},
		{winipcfg.IfTypeEthernetCSMACD, winipcfg.IfOperStatusUp, hardware | filter, false},
		{winipcfg.IfTypeEthernetCSMACD, winipcfg.IfOperStatusNotPresent, hardware, false},
		{winipcfg.IfTypeSoftwareLoopback, winipcfg.IfOperStatusUp, 0, false},
	} {
		if got := isAdapter(tt.t, tt.s, tt.f); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
	for _, tt := range []struct {
		p    winipcfg.RouteProtocol
		o    winipcfg.RouteOrigin
		want bool
	}{
		{winipcfg.RouteProtocolNetMgmt, winipcfg.RouteOriginManual, true},
		{winipcfg.RouteProtocolNetMgmt, winipcfg.RouteOriginDHCP, true},
		{winipcfg.RouteProtocolDHCP, winipcfg.RouteOriginDHCP, true},
		{winipcfg.RouteProtocolNTStatic, winipcfg.RouteOriginManual, true},
		{winipcfg.RouteProtocolNetMgmt, winipcfg.RouteOriginRouterAdvertisement, false},
		{winipcfg.RouteProtocolLocal, winipcfg.RouteOriginManual, false},
		{winipcfg.RouteProtocolLocal, winipcfg.RouteOriginWellKnown, false},
		{winipcfg.RouteProtocolOspf, winipcfg.RouteOriginManual, false},
	} {
		if got := isStatic(tt.p, tt.o); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}

// TestMachine changes the routes of the machine it runs on: it adds one to a
// documentation range and removes it. It wants to be asked for, in an elevated
// process on real Windows.
func TestMachine(t *testing.T) {
	const variable = "HNSKIT_CHANGE_THIS_MACHINE"
	if os.Getenv(variable) != "yes" {
		t.Skipf("it changes routes of this machine; set %s=yes to let it (Wine lacks the calls)", variable)
	}
	h, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	adapters, err := h.Adapters(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var on Adapter
	for _, a := range adapters {
		t.Logf("%+v", a)
		for _, p := range a.Addresses {
			if p.Addr().Is4() && !p.Addr().IsLinkLocalUnicast() {
				on = a
			}
		}
	}
	if on.Index == 0 {
		t.Fatal("no adapter has an IPv4 address")
	}
	r := Route{Destination: netip.MustParsePrefix("198.51.100.0/24"), Interface: on.Index, Metric: 7}
	if err := h.AddRoute(ctx, r); err != nil {
		t.Fatal(err)
	}
	defer h.DeleteRoute(ctx, r) // gone already as a rule
	if err := h.AddRoute(ctx, r); !errors.Is(err, ErrExists) {
		t.Errorf("added again: %v", err)
	}
	routes, err := h.Routes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, x := range routes {
		found = found || x.Same(r) && x.Static
	}
	if !found {
		t.Errorf("%v is not among %v", r, routes)
	}
	if err := h.SetForwarding(ctx, on.Index, IPv4, on.ForwardingIPv4); err != nil {
		t.Error(err)
	}
	if err := h.DeleteRoute(ctx, r); err != nil {
		t.Error(err)
	}
	if err := h.DeleteRoute(ctx, r); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
	r.Interface = 1 << 30
	if err := h.AddRoute(ctx, r); !errors.Is(err, ErrNotFound) {
		t.Errorf("on no adapter: %v", err)
	}
}
