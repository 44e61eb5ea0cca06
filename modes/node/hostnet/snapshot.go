package hostnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Snapshot is what a host had at one moment.
type Snapshot struct {
	Adapters []Adapter
	Routes   []Route
}

// Take reads a snapshot.
func Take(ctx context.Context, h Host) (Snapshot, error) {
	adapters, err := h.Adapters(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	routes, err := h.Routes(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	return Snapshot{adapters, routes}, nil
}

// Loss is what a change of the host's switches did to it.
type Loss string

// The losses. The first HNS network on an adapter moves the adapter's addresses
// to a vNIC; what does not come along is lost.
const (
	// AddressMoved: another adapter has the address. As a rule that is as it
	// should be.
	AddressMoved Loss = "address moved"
	// AddressLost: no adapter has it, as of a static address where the vNIC
	// asked DHCP (ovn-kubernetes/ovn-kubernetes#2530).
	AddressLost Loss = "address lost"
	// RouteMisplaced: the route is on another adapter than the addresses of its
	// own (ovn-kubernetes/ovn-kubernetes#3119).
	RouteMisplaced Loss = "route misplaced"
	// RouteLost: the route is gone.
	RouteLost Loss = "route lost"
	// DNSLost: the adapter that has the addresses now lacks a name server.
	DNSLost Loss = "name server lost"
)

// Change is one difference between two snapshots.
type Change struct {
	Loss Loss
	// Adapter had the value before, Now has it, or should have it; empty: none.
	Adapter, Now string
	// Address is that of the first two losses, and the name server.
	Address netip.Addr
	// Route is the route as it should be now; zero for other losses. [Restore]
	// adds it.
	Route Route
}

// String returns "address moved: 192.0.2.10 from "Ethernet" to "vEthernet (Ethernet)"".
func (c Change) String() string {
	what := c.Address.String()
	if c.Route.Destination.IsValid() {
		what = c.Route.Destination.String()
		if !c.Route.OnLink() {
			what += " via " + c.Route.NextHop.String()
		}
	}
	s := fmt.Sprintf("%s: %s from %q", c.Loss, what, c.Adapter)
	if c.Now != "" {
		s += fmt.Sprintf(" to %q", c.Now)
	}
	return s
}

// Compare returns what of before is missing after, or is elsewhere. What is new
// is no change. Of the routes only static ones count: the system makes its own
// anew for each address.
func Compare(before, after Snapshot) []Change {
	var out []Change
	successors := map[uint32]Adapter{}
	for _, a := range before.Adapters {
		now, there := successor(a, after.Adapters)
		if there {
			successors[a.Index] = now
		}
		for _, p := range a.Addresses {
			if p.Addr().IsLinkLocalUnicast() {
				continue // each adapter makes its own
			}
			i := slices.IndexFunc(after.Adapters, func(x Adapter) bool { return x.Has(p.Addr()) })
			switch {
			case i < 0:
				out = append(out, Change{Loss: AddressLost, Adapter: a.Name, Address: p.Addr()})
			case after.Adapters[i].Name != a.Name:
				out = append(out, Change{Loss: AddressMoved, Adapter: a.Name, Now: after.Adapters[i].Name, Address: p.Addr()})
			}
		}
		for _, d := range a.DNS {
			if there && !slices.Contains(now.DNS, d) {
				out = append(out, Change{Loss: DNSLost, Adapter: a.Name, Now: now.Name, Address: d})
			}
		}
	}
	for _, r := range before.Routes {
		if c, changed := compareRoute(r, before, after, successors); changed {
			out = append(out, c)
		}
	}
	return out
}

func compareRoute(r Route, before, after Snapshot, successors map[uint32]Adapter) (Change, bool) {
	now, there := successors[r.Interface]
	c := Change{Loss: RouteLost, Route: r}
	if i := find(before.Adapters, r.Interface); i >= 0 {
		c.Adapter = before.Adapters[i].Name
	}
	if there {
		c.Now, c.Route.Interface = now.Name, now.Index
	}
	if !r.Static || slices.ContainsFunc(after.Routes, c.Route.Same) {
		return c, false
	}
	elsewhere := slices.ContainsFunc(after.Routes, func(x Route) bool {
		x.Interface = c.Route.Interface
		return x.Same(c.Route)
	})
	if elsewhere {
		c.Loss = RouteMisplaced
	}
	return c, true
}

// successor returns the adapter that has the addresses of a now: the one with
// most of them, else a itself.
func successor(a Adapter, now []Adapter) (Adapter, bool) {
	best, most := -1, 0
	for i, x := range now {
		n := 0
		for _, p := range a.Addresses {
			if x.Has(p.Addr()) && !p.Addr().IsLinkLocalUnicast() {
				n++
			}
		}
		if n > most || n == most && n > 0 && x.Name == a.Name {
			best, most = i, n
		}
	}
	if best < 0 {
		best = slices.IndexFunc(now, func(x Adapter) bool { return x.Name == a.Name })
	}
	if best < 0 {
		return Adapter{}, false
	}
	return now[best], true
}

// Restore adds the routes among the changes, where an adapter for them is
// there. Addresses and name servers are for a person to put right: whether DHCP
// still gives them is not known here. All is tried; the errors are joined.
func Restore(ctx context.Context, h Host, changes []Change) error {
	var errs []error
	for _, c := range changes {
		if !c.Route.Destination.IsValid() {
			continue
		}
		if c.Now == "" {
			errs = append(errs, failed("restore", c.Route, fmt.Errorf("%w: adapter %q", ErrNotFound, c.Adapter)))
			continue
		}
		if err := h.AddRoute(ctx, c.Route); err != nil && !errors.Is(err, ErrExists) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
