package hostnet_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/modes/node/hostnet"
)

func route(dst, via string, index uint32) hostnet.Route {
	r := hostnet.Route{Destination: netip.MustParsePrefix(dst), Interface: index}
	if via != "" {
		r.NextHop = netip.MustParseAddr(via)
	}
	return r
}

func adapter(name string, index uint32, addresses ...string) hostnet.Adapter {
	a := hostnet.Adapter{Name: name, Index: index}
	for _, s := range addresses {
		a.Addresses = append(a.Addresses, netip.MustParsePrefix(s))
	}
	return a
}

func TestMemoryRoutes(t *testing.T) {
	m := hostnet.NewMemory(hostnet.Fixed(adapter("Ethernet", 1, "192.0.2.10/24"), adapter("Ethernet 2", 2)))
	steps := []struct {
		name string
		del  bool
		r    hostnet.Route
		want error
	}{
		{"new", false, route("10.244.2.0/24", "192.0.2.12", 1), nil},
		{"again, with a metric", false, hostnet.Route{Destination: netip.MustParsePrefix("10.244.2.0/24"), NextHop: netip.MustParseAddr("192.0.2.12"), Interface: 1, Metric: 5}, hostnet.ErrExists},
		{"another next hop", false, route("10.244.2.0/24", "192.0.2.13", 1), nil},
		{"another adapter", false, route("10.244.2.0/24", "192.0.2.12", 2), nil},
		{"on the link", false, route("169.254.169.254/32", "", 1), nil},
		{"on the link, in other words", false, route("169.254.169.254/32", "0.0.0.0", 1), hostnet.ErrExists},
		{"no such adapter", false, route("10.244.2.0/24", "192.0.2.12", 3), hostnet.ErrNotFound},
		{"host bits", false, route("10.244.2.1/24", "192.0.2.12", 1), hostnet.ErrInvalid},
		{"no destination", false, hostnet.Route{Interface: 1}, hostnet.ErrInvalid},
		{"families", false, route("10.244.2.0/24", "2001:db8::1", 1), hostnet.ErrInvalid},
		{"multicast", false, route("10.244.2.0/24", "224.0.0.1", 1), hostnet.ErrInvalid},
		{"delete", true, route("10.244.2.0/24", "192.0.2.13", 1), nil},
		{"delete again", true, route("10.244.2.0/24", "192.0.2.13", 1), hostnet.ErrNotFound},
	}
	for _, s := range steps {
		do := m.AddRoute
		if s.del {
			do = m.DeleteRoute
		}
		if err := do(t.Context(), s.r); !errors.Is(err, s.want) || (err == nil) != (s.want == nil) {
			t.Errorf("%s: %v, want %v", s.name, err, s.want)
		}
	}
	got, err := m.Routes(t.Context())
	if err != nil || len(got) != 3 || !got[0].Static {
		t.Errorf("%v, %v", got, err)
	}
}

// TestMemoryFollowsAdapters: an adapter that is made anew has neither the routes
// nor the forwarding of the one before it.
func TestMemoryFollowsAdapters(t *testing.T) {
	now := []hostnet.Adapter{adapter("Ethernet", 1), adapter("vEthernet (cbr0_ep)", 9)}
	m := hostnet.NewMemory(func() ([]hostnet.Adapter, error) { return now, nil })
	ctx := t.Context()
	check := func(when string, routes int, forwards ...bool) {
		t.Helper()
		rs, err := m.Routes(ctx)
		if err != nil || len(rs) != routes {
			t.Errorf("%s: routes %v, %v", when, rs, err)
		}
		as, err := m.Adapters(ctx)
		if err != nil || len(as) != len(forwards) {
			t.Fatalf("%s: adapters %v, %v", when, as, err)
		}
		for i, want := range forwards {
			if as[i].Forwards(hostnet.IPv4) != want || as[i].Forwards(hostnet.IPv6) {
				t.Errorf("%s: %+v, want forwarding %t", when, as[i], want)
			}
		}
	}
	for _, index := range []uint32{1, 9} {
		if err := errors.Join(m.SetForwarding(ctx, index, hostnet.IPv4, true), m.AddRoute(ctx, route("10.1.0.0/16", "", index))); err != nil {
			t.Fatal(err)
		}
	}
	check("both there", 2, true, true)
	now[1].Index = 10
	check("made anew", 1, true, false)
	if err := m.SetForwarding(ctx, 9, hostnet.IPv4, true); !errors.Is(err, hostnet.ErrNotFound) {
		t.Errorf("forwarding of an adapter that is gone: %v", err)
	}
	if err := m.SetForwarding(ctx, 1, 5, true); !errors.Is(err, hostnet.ErrInvalid) {
		t.Errorf("family 5: %v", err)
	}
	m.Reboot()
	check("rebooted", 0, false, false)
}

func TestMemoryFails(t *testing.T) {
	cause := errors.New("no adapters today")
	m := hostnet.NewMemory(func() ([]hostnet.Adapter, error) { return nil, cause })
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, want := range []struct {
		ctx context.Context
		err error
	}{{t.Context(), cause}, {done, context.Canceled}} {
		_, errA := m.Adapters(want.ctx)
		_, errR := m.Routes(want.ctx)
		_, errT := hostnet.Take(want.ctx, m)
		for _, err := range []error{errA, errR, errT, m.AddRoute(want.ctx, route("10.0.0.0/8", "", 1)),
			m.DeleteRoute(want.ctx, route("10.0.0.0/8", "", 1)), m.SetForwarding(want.ctx, 1, hostnet.IPv4, true)} {
			if !errors.Is(err, want.err) {
				t.Errorf("%v, want %v", err, want.err)
			}
		}
	}
}

func TestMemoryOfNothing(t *testing.T) {
	got, err := hostnet.NewMemory(nil).Adapters(context.Background())
	if err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}
