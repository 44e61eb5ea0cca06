package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// bridgeWays are routes of the node over its own link.
type bridgeWays struct {
	client *hns.Client
	host   hostnet.Host
	r      *Remotes

	links map[hostnet.Family]hostnet.Adapter // as they were read
}

// nextHop allows addresses of hosts on the link of the adapter: not the link's own
// and its broadcast address, which nobody can have.
func (b *bridgeWays) nextHop() func(netip.Addr) bool {
	return func(a netip.Addr) bool {
		link, ok := b.links[hostnet.FamilyOf(a)]
		return ok && link.OnLink(a) && !slices.ContainsFunc(link.Addresses, func(p netip.Prefix) bool {
			last, has := ipam.Broadcast(p)
			return has && (a == ipam.Network(p) || a == last)
		})
	}
}

// read asks for the network first: without it the routes would be put on the bare
// adapter, and stay there when a network takes its address.
func (b *bridgeWays) read(ctx context.Context) ([]found, error) {
	d := &b.r.plan.Description
	n, err := b.client.Networks.ByName(ctx, d.Name)
	if err != nil {
		return nil, err
	}
	if n.Type != hns.L2Bridge {
		return nil, &hns.DriftError{Kind: hns.KindNetwork, Ref: fmt.Sprintf("%q", n.Name), ID: n.ID,
			Differences: []hns.Difference{{Path: "Type", Want: string(hns.L2Bridge), Got: string(n.Type)}}}
	}
	adapters, err := b.host.Adapters(ctx)
	if err != nil {
		return nil, err
	}
	b.links = map[hostnet.Family]hostnet.Adapter{}
	bare := map[uint32]bool{} // adapters below a link
	for _, a := range d.NodeAddresses {
		i := slices.IndexFunc(adapters, hostnetHas(a))
		if i < 0 {
			return nil, fmt.Errorf("%w: none has the node's address %s (there are %s)", ErrAdapter, a, describe(adapters))
		}
		b.links[hostnet.FamilyOf(a)] = adapters[i]
		if x, ok := below(adapters[i], adapters); ok && adapters[i].Virtual {
			bare[x.Index] = true
		}
	}
	routes, err := b.host.Routes(ctx)
	if err != nil {
		return nil, err
	}
	var out []found
	for _, rt := range routes {
		link, ok := b.links[hostnet.FamilyOf(rt.Destination.Addr())]
		if !ok || !rt.Static || rt.DHCP || rt.OnLink() || rt.Interface != link.Index && !bare[rt.Interface] || !owned(d, rt.Destination) {
			continue
		}
		// One below is left from while there was no network, and leads nowhere.
		out = append(out, found{prefix: rt.Destination, address: rt.NextHop, route: rt,
			same: func(w way) bool { return rt.NextHop == w.address && rt.Interface == link.Index }})
	}
	return out, nil
}

// apply makes one call for each route. The system takes them one by one.
func (b *bridgeWays) apply(ctx context.Context, changes []change) ([]*RouteError, error) {
	var failed []*RouteError
	for _, c := range changes {
		err := c.blocked(failed)
		if err == nil {
			err = b.one(ctx, c)
		}
		if ctx.Err() != nil {
			return failed, err
		}
		if err != nil {
			failed = append(failed, c.failed(err))
		}
	}
	return failed, nil
}

func (b *bridgeWays) one(ctx context.Context, c change) error {
	for _, f := range c.remove {
		if c.add != nil && f.same(*c.add) {
			continue // one of several
		}
		if err := b.host.DeleteRoute(ctx, f.route); err != nil && !errors.Is(err, hostnet.ErrNotFound) {
			return err
		}
	}
	if c.add == nil {
		return nil
	}
	rt := hostnet.Route{Destination: c.prefix, NextHop: c.add.address, Interface: b.links[hostnet.FamilyOf(c.prefix.Addr())].Index}
	if err := b.host.AddRoute(ctx, rt); err != nil && !errors.Is(err, hostnet.ErrExists) {
		return err
	}
	return nil
}
