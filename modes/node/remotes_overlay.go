package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// overlayWays are RemoteSubnetRoute policies.
type overlayWays struct {
	client *hns.Client
	r      *Remotes

	id     hns.ID // of the network as it was read
	single bool   // HNS was seen not to take several policies at once
}

func (o *overlayWays) nextHop() func(netip.Addr) bool { return nil }

// read reads the network by its name: it may have been made anew.
func (o *overlayWays) read(ctx context.Context) ([]found, error) {
	d := &o.r.plan.Description
	n, err := o.client.Networks.ByName(ctx, d.Name)
	if err != nil {
		return nil, err
	}
	if n.Type != hns.Overlay || !slices.ContainsFunc(n.Subnets(), func(s hns.Subnet) bool { return s.VSID() == d.VNI }) {
		return nil, &hns.DriftError{Kind: hns.KindNetwork, Ref: fmt.Sprintf("%q", n.Name), ID: n.ID,
			Differences: []hns.Difference{{Path: "Ipams", Want: fmt.Sprintf("%s with VNI %d", hns.Overlay, d.VNI), Got: fmt.Sprintf("%s with %v", n.Type, vnis(n))}}}
	}
	o.id = n.ID
	var out []found
	for _, p := range n.Policies {
		rs, ok := remoteSubnetRoute(p)
		if !ok || !owned(d, rs.DestinationPrefix.Masked()) {
			continue
		}
		out = append(out, found{prefix: rs.DestinationPrefix.Masked(), address: rs.ProviderAddress, mac: rs.DistributedRouterMAC, policy: p,
			same: func(w way) bool { return rs == o.policy(w) }})
	}
	return out, nil
}

func vnis(n *hns.Network) []uint32 {
	var out []uint32
	for _, s := range n.Subnets() {
		out = append(out, s.VSID())
	}
	return out
}

// policy is the policy of a way.
func (o *overlayWays) policy(w way) hns.RemoteSubnetRoute {
	return hns.RemoteSubnetRoute{DestinationPrefix: w.prefix, IsolationID: o.r.plan.Description.VNI, ProviderAddress: w.address, DistributedRouterMAC: w.mac}
}

// remoteSubnetRoute reads a policy, also one that other clients wrote in
// another form, as flanneld does its MAC addresses. One without a readable
// destination is nobody's.
func remoteSubnetRoute(p hns.NetworkPolicy) (hns.RemoteSubnetRoute, bool) {
	switch p := p.(type) {
	case hns.RemoteSubnetRoute:
		return p, p.DestinationPrefix.IsValid()
	case hns.RawPolicy:
		if !strings.EqualFold(p.Type, hns.RemoteSubnetRoute{}.PolicyType()) {
			return hns.RemoteSubnetRoute{}, false
		}
		var s struct {
			DestinationPrefix, ProviderAddress, DistributedRouterMacAddress string
			IsolationId                                                     uint32
		}
		_ = json.Unmarshal(p.Settings, &s) // what could not be read differs from what is wanted
		out := hns.RemoteSubnetRoute{IsolationID: s.IsolationId}
		out.DestinationPrefix, _ = netip.ParsePrefix(s.DestinationPrefix)
		out.ProviderAddress, _ = netip.ParseAddr(s.ProviderAddress)
		out.DistributedRouterMAC, _ = hns.ParseMAC(s.DistributedRouterMacAddress)
		return out, out.DestinationPrefix.IsValid()
	}
	return hns.RemoteSubnetRoute{}, false
}

// apply sends the changes in batches.
func (o *overlayWays) apply(ctx context.Context, changes []change) ([]*RouteError, error) {
	var failed []*RouteError
	var batched []change
	for len(changes) > 0 {
		chunk := changes[:o.size(len(changes))]
		changes = changes[len(chunk):]
		chunk, failed = unblocked(chunk, failed)
		err := o.send(ctx, chunk)
		switch {
		case err == nil && len(chunk) > 1:
			batched = append(batched, chunk...)
			continue
		case err == nil:
			continue
		case stops(ctx, err):
			return failed, err
		}
		one, errOne := o.oneByOne(ctx, chunk)
		failed = append(failed, one...)
		if len(chunk) > 1 {
			raced := errors.Is(err, hns.ErrExists) || errors.Is(err, hns.ErrNotFound) // with another program
			o.refused(ctx, err, len(one) == 0 && errOne == nil && !raced)
		}
		if errOne != nil {
			return failed, errOne
		}
	}
	if len(batched) == 0 {
		return failed, nil
	}
	left, err := o.undone(ctx, batched)
	if err != nil || len(left) == 0 {
		return failed, err
	}
	one, err := o.oneByOne(ctx, left)
	o.refused(ctx, fmt.Errorf("HNS reported success, and %d of %d changes were not carried out", len(left), len(batched)), err == nil && len(one) == 0)
	return append(failed, one...), err
}

// unblocked takes out of changes those that must wait, and puts them to the
// failures.
func unblocked(changes []change, failed []*RouteError) ([]change, []*RouteError) {
	var out []change
	for _, c := range changes {
		if err := c.blocked(failed); err != nil {
			failed = append(failed, c.failed(err))
			continue
		}
		out = append(out, c)
	}
	return out, failed
}

func (o *overlayWays) size(n int) int {
	switch batch := o.r.opts.Batch; {
	case o.single:
		return 1
	case batch < 0:
		return n
	case batch == 0:
		return min(n, DefaultBatch)
	default:
		return min(n, batch)
	}
}

// stops tells the failures after which more requests are of no use.
func stops(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, hns.ErrUnavailable) || errors.Is(err, hns.ErrNotSent) ||
		errors.Is(err, hns.ErrOutcomeUnknown) || errors.Is(err, hns.ErrDenied) || errors.Is(err, hns.ErrUnsupported)
}

// refused notes that a request with several policies did not work. If each of
// them did alone, their number was the reason.
func (o *overlayWays) refused(ctx context.Context, err error, alone bool) {
	o.r.opts.Counters.add(CountBatchesRefused, 1)
	if alone {
		o.single = true
	}
	if o.r.opts.Logger != nil {
		o.r.opts.Logger.WarnContext(ctx, "several policies in one request did not work", "network", o.r.plan.Description.Name,
			"from now on one by one", alone, "error", err.Error())
	}
}

// send carries out changes in two requests: what is to go, and what is to come.
func (o *overlayWays) send(ctx context.Context, changes []change) error {
	var remove, add []hns.NetworkPolicy
	for _, c := range changes {
		for _, f := range c.remove {
			remove = append(remove, f.policy)
		}
		if c.add != nil {
			add = append(add, o.policy(*c.add))
		}
	}
	if err := o.client.Networks.RemovePolicies(ctx, o.id, remove...); err != nil {
		return err
	}
	return o.client.Networks.AddPolicies(ctx, o.id, add...)
}

// undone reads the network, and returns the changes that are still to be made,
// with what is there now.
func (o *overlayWays) undone(ctx context.Context, changes []change) ([]change, error) {
	there, err := o.read(ctx)
	if err != nil {
		return nil, err
	}
	byPrefix := map[netip.Prefix][]found{}
	for _, f := range there {
		byPrefix[f.prefix] = append(byPrefix[f.prefix], f)
	}
	var left []change
	for _, c := range changes {
		c.remove = byPrefix[c.prefix]
		done := len(c.remove) == 0
		if c.add != nil {
			done = len(c.remove) == 1 && c.remove[0].same(*c.add)
		}
		if !done {
			left = append(left, c)
		}
	}
	return left, nil
}

// oneByOne looks at what is there, and does what is left of the changes with a
// request for each policy.
func (o *overlayWays) oneByOne(ctx context.Context, changes []change) ([]*RouteError, error) {
	left, err := o.undone(ctx, changes)
	if err != nil {
		return nil, err
	}
	var failed []*RouteError
	for _, c := range left {
		err := c.blocked(failed)
		if err == nil {
			err = o.one(ctx, c)
		}
		if err == nil {
			continue
		}
		if stops(ctx, err) {
			return failed, err
		}
		failed = append(failed, c.failed(err))
	}
	return failed, nil
}

func (o *overlayWays) one(ctx context.Context, c change) error {
	var gone error
	for _, f := range c.remove {
		err := o.client.Networks.RemovePolicies(ctx, o.id, f.policy)
		if err != nil && !errors.Is(err, hns.ErrNotFound) {
			return err
		}
		gone = errors.Join(gone, err)
	}
	if c.add == nil && gone != nil {
		return o.isGone(ctx, c, gone)
	}
	if c.add == nil {
		return nil
	}
	err := o.client.Networks.AddPolicies(ctx, o.id, o.policy(*c.add))
	if err != nil && !stops(ctx, err) { // it may have had its effect, or another program was faster
		left, errRead := o.undone(ctx, []change{c})
		if errRead == nil && len(left) == 0 {
			return nil
		}
	}
	return err
}

// isGone makes sure that a policy is gone which HNS says that it does not know:
// it says so as well of one that it compares otherwise than we do.
func (o *overlayWays) isGone(ctx context.Context, c change, said error) error {
	left, err := o.undone(ctx, []change{c})
	if err != nil || len(left) == 0 {
		return err
	}
	return fmt.Errorf("it is still there: %w", said)
}
