package hostnet

import (
	"errors"
	"net/netip"
	"os"
	"testing"
)

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
