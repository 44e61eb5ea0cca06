package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// uplink is the adapter and the address by which this node reaches the others.
type uplink struct {
	adapter hostnet.Adapter
	address netip.Addr
}

// findUplink goes by what the options name, in their order, then by the address
// that is public, then by the way that packets take, then by the address that
// kubelet gave, and takes what there is if that is one.
func (a *Agent) findUplink(ctx context.Context, public netip.Addr, internal []netip.Addr) (uplink, error) {
	all, err := a.opts.Host.Adapters(ctx)
	if err != nil {
		return uplink{}, err
	}
	// What HNS made for pods is none.
	all = slices.DeleteFunc(all, func(x hostnet.Adapter) bool {
		return slices.ContainsFunc(x.Addresses, func(p netip.Prefix) bool { return a.opts.NetConf.Network.Contains(p.Addr()) })
	})
	if o := &a.opts; len(o.Interfaces) > 0 || len(o.InterfaceRegexps) > 0 || o.CanReach.IsValid() {
		return a.namedUplink(ctx, all)
	}
	if public.IsValid() {
		if u, ok := withAddress(all, public); ok {
			return u, nil
		}
		return uplink{}, fmt.Errorf("no adapter has the public address %s; name one by Interfaces (there are %s)", public, describe(all))
	}
	found, err := a.toward(ctx, all, netip.IPv4Unspecified())
	if err != nil || len(found) == 1 {
		return first(found), err
	}
	for _, addr := range internal {
		if u, ok := withAddress(all, addr); ok {
			return u, nil
		}
	}
	if only := usable(all); len(found) == 0 && len(only) == 1 {
		return only[0], nil
	}
	return uplink{}, fmt.Errorf("%d adapters have the default route and none an InternalIP %v of the Node; name one by Interfaces (there are %s)",
		len(found), internal, describe(all))
}

func (a *Agent) namedUplink(ctx context.Context, all []hostnet.Adapter) (uplink, error) {
	for _, want := range a.opts.Interfaces {
		if addr, err := netip.ParseAddr(want); err == nil {
			if u, ok := withAddress(all, addr); ok {
				return u, nil
			}
			continue
		}
		if u, ok := byName(all, func(name string) bool { return strings.EqualFold(name, want) }); ok {
			return u, nil
		}
	}
	for _, re := range a.opts.InterfaceRegexps {
		if u, ok := matching(all, re); ok {
			return u, nil
		}
	}
	if a.opts.CanReach.IsValid() {
		found, err := a.toward(ctx, all, a.opts.CanReach)
		if err != nil || len(found) > 0 {
			return first(found), err
		}
	}
	return uplink{}, fmt.Errorf("no adapter with an IPv4 address is as Interfaces, InterfaceRegexps or CanReach want it (there are %s)", describe(all))
}

// byName matches the adapter, or the vNIC that HNS put over it, which then has
// its addresses.
func byName(all []hostnet.Adapter, is func(string) bool) (uplink, bool) {
	for _, x := range all {
		below, _ := strings.CutPrefix(x.Name, "vEthernet (")
		if !is(x.Name) && !is(strings.TrimSuffix(below, ")")) {
			continue
		}
		if addr, ok := ipv4Of(x); ok {
			return uplink{x, addr}, true
		}
	}
	return uplink{}, false
}

// matching takes an expression for names or, as flanneld does, for addresses.
func matching(all []hostnet.Adapter, re *regexp.Regexp) (uplink, bool) {
	if u, ok := byName(all, re.MatchString); ok {
		return u, true
	}
	for _, x := range all {
		for _, p := range x.Addresses {
			if p.Addr().Is4() && re.MatchString(p.Addr().String()) {
				return uplink{x, p.Addr()}, true
			}
		}
	}
	return uplink{}, false
}

func withAddress(all []hostnet.Adapter, addr netip.Addr) (uplink, bool) {
	i := slices.IndexFunc(all, func(x hostnet.Adapter) bool { return x.Has(addr) })
	if i < 0 {
		return uplink{}, false
	}
	return uplink{all[i], addr}, true
}

// toward returns the adapters that packets to an address leave by, the best
// first: the longest prefix, of those the least metric. 0.0.0.0 asks for the
// default route.
func (a *Agent) toward(ctx context.Context, all []hostnet.Adapter, to netip.Addr) ([]uplink, error) {
	routes, err := a.opts.Host.Routes(ctx)
	if err != nil {
		return nil, err
	}
	routes = slices.DeleteFunc(routes, func(r hostnet.Route) bool {
		return !r.Destination.Contains(to) || to.IsUnspecified() && r.Destination.Bits() != 0
	})
	slices.SortStableFunc(routes, func(x, y hostnet.Route) int {
		if d := y.Destination.Bits() - x.Destination.Bits(); d != 0 {
			return d
		}
		return int(x.Metric) - int(y.Metric)
	})
	var out []uplink
	for _, r := range routes {
		if r.Destination.Bits() != routes[0].Destination.Bits() || r.Metric != routes[0].Metric {
			break
		}
		i := slices.IndexFunc(all, func(x hostnet.Adapter) bool { return x.Index == r.Interface })
		if i < 0 || slices.ContainsFunc(out, func(u uplink) bool { return u.adapter.Index == r.Interface }) {
			continue
		}
		if addr, ok := ipv4Of(all[i]); ok {
			out = append(out, uplink{all[i], addr})
		}
	}
	return out, nil
}

// usable returns the adapters that have an address to be reached by.
func usable(all []hostnet.Adapter) []uplink {
	var out []uplink
	for _, x := range all {
		if addr, ok := ipv4Of(x); ok {
			out = append(out, uplink{x, addr})
		}
	}
	return out
}

func first(list []uplink) uplink {
	if len(list) == 0 {
		return uplink{}
	}
	return list[0]
}

// ipv4Of returns the first address of an adapter that others can send to.
func ipv4Of(x hostnet.Adapter) (netip.Addr, bool) {
	for _, p := range x.Addresses {
		if a := p.Addr(); a.Is4() && a.IsGlobalUnicast() {
			return a, true
		}
	}
	return netip.Addr{}, false
}

func describe(all []hostnet.Adapter) string {
	var out []string
	for _, x := range all {
		out = append(out, fmt.Sprintf("%q %v", x.Name, x.Addresses))
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

// errPublicIP is for host-gw, on which the others send to an address without
// wrapping, so the node must have it.
var errPublicIP = errors.New("host-gw needs a public address that the node's adapter has")
