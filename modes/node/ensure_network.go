package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// network makes the network or sees to it that it is as planned.
func (e *ensurer) network(ctx context.Context, s *Step) error {
	want := *e.plan.Network.Network
	want.Policies = slices.Concat(want.Policies, e.plan.Network.AddPolicies)
	if e.state.Adapter != "" { // as Windows spells it
		want.Policies = slices.DeleteFunc(want.Policies, func(p hns.NetworkPolicy) bool {
			_, named := p.(hns.NetAdapterName)
			return named
		})
		want.Policies = append(want.Policies, hns.NetAdapterName{Name: e.state.Adapter})
	}
	if port := e.plan.Description.VXLANPort; e.otherPort() {
		want.Policies = append(want.Policies, hns.VXLANPort{Port: port}) // else it may be any
	}
	opts := &hns.EnsureOptions{DryRun: e.opts.DryRun, Drift: e.opts.Drift, Patient: e.opts.Patient}
	n, d, err := e.client.Networks.Ensure(ctx, &want, opts)
	if e.opts.Drift == hns.DriftRecreate && errors.Is(err, hns.ErrDrift) && errors.Is(err, hns.ErrInUse) {
		var freed bool
		if freed, err = e.freeNetwork(ctx, d.ID, err); freed {
			s.Action = hns.ActionRecreate
			s.Differences = d.Differences
			if e.opts.DryRun {
				e.state.Network = n
				return nil
			}
			n, d, err = e.client.Networks.Ensure(ctx, &want, opts)
		}
	}
	s.Action, s.Differences = d.Action, d.Differences
	if s.Action == "" {
		s.Action = hns.ActionKeep // it failed before it could decide
	}
	if n != nil && (s.Action == hns.ActionKeep || s.Action == hns.ActionRepair) {
		s.Differences = append(s.Differences, e.unchangeable(n)...)
	}
	e.state.Network = n
	return err
}

// otherPort reports whether the network that was found is known to use another
// port than the usual one, which is the one planned.
func (e *ensurer) otherPort() bool {
	if e.there == nil || e.plan.Description.VXLANPort != modes.DefaultVXLANPort {
		return false
	}
	return slices.ContainsFunc(hns.PoliciesOf[hns.VXLANPort](e.there.Policies), func(p hns.VXLANPort) bool { return p.Port != modes.DefaultVXLANPort })
}

// unchangeable are differences of a network that is kept all the same: they are
// no reason to make it anew, but to be told.
func (e *ensurer) unchangeable(n *hns.Network) []hns.Difference {
	d := &e.plan.Description
	var out []hns.Difference
	if d.Persistent && n.Flags&hns.NetworkNonPersistent != 0 {
		out = append(out, hns.Difference{Path: "Flags", Want: "persistent", Got: "gone after a reboot"})
	}
	if d.Mode == modes.Overlay && d.VXLANPort != modes.DefaultVXLANPort && !hns.HasPolicy(n.Policies, hns.VXLANPort{}.PolicyType()) {
		out = append(out, hns.Difference{Path: "VxlanPort", Want: fmt.Sprint(d.VXLANPort), Got: "not shown by HNS"})
	}
	return out
}

// freeNetwork deletes what stands on the network without being a pod, so that it
// can be made anew: the node's own endpoint, and those that kube-proxy made, which
// finds that the network is another and makes them again. If there is anything
// else it returns the refusal.
func (e *ensurer) freeNetwork(ctx context.Context, id hns.ID, refused error) (bool, error) {
	if m := e.plan.Description.Mode; m != modes.L2Bridge && m != modes.Overlay {
		return false, refused
	}
	var users []*hns.Endpoint
	err := e.patiently(ctx, func() (err error) {
		users, err = e.client.Endpoints.OfNetwork(ctx, id)
		return err
	})
	if err != nil {
		return false, err
	}
	for _, u := range users {
		if !e.inNobodysWay(u) {
			return false, refused
		}
	}
	if e.opts.DryRun {
		return true, nil
	}
	for _, u := range users {
		err := e.patiently(ctx, func() error { return e.client.Endpoints.Delete(ctx, u.ID) })
		if err != nil && !errors.Is(err, hns.ErrNotFound) {
			return false, err
		}
	}
	return true, nil
}

// inNobodysWay reports whether an endpoint is the node's own, stands for a pod of
// another node, or is kube-proxy's for the source VIP that goes with the subnet
// of the network that is there.
func (e *ensurer) inNobodysWay(u *hns.Endpoint) bool {
	switch own := e.plan.HostEndpoint; {
	case !u.Namespace.IsZero():
		return false
	case u.Flags&hns.EndpointRemote != 0, own != nil && u.Name == own.Name:
		return true
	case e.there == nil || e.plan.Description.Mode != modes.Overlay:
		return false
	}
	old := e.plan.Description
	old.Subnets, old.Gateways, old.SourceVIP = nil, nil, netip.Addr{}
	for _, s := range e.there.Subnets() {
		old.Subnets, old.Gateways = append(old.Subnets, s.Prefix), append(old.Gateways, s.Gateway())
	}
	return slices.Equal(u.Addresses(), []netip.Addr{old.freeAddress()})
}

// address waits for the node's address on the network, and for the adapter that
// has it now. A network that was found with another address than the node's is
// made anew where that is allowed: HNS cannot change it.
func (e *ensurer) address(ctx context.Context, s *Step) error {
	err := e.awaitAddress(ctx, s)
	var drift *hns.DriftError
	if !errors.As(err, &drift) || !e.mayRemake() {
		return err
	}
	diffs := s.Differences
	if err := e.remake(ctx, err); err != nil {
		return err
	}
	if !e.opts.DryRun {
		s.Action, s.Differences = hns.ActionKeep, nil
		if err := e.awaitAddress(ctx, s); err != nil {
			return err
		}
	}
	s.Action, s.Differences = hns.ActionRecreate, diffs
	return nil
}

// mayRemake reports whether the network is one that was found, and the adapter
// that has the node's address is known: on another it would be no better.
func (e *ensurer) mayRemake() bool {
	made := slices.ContainsFunc(e.state.Steps, func(s Step) bool { return s.Action == hns.ActionCreate || s.Action == hns.ActionRecreate })
	return e.opts.Drift == hns.DriftRecreate && e.state.Adapter != "" && !made
}

// remake deletes the network, if nothing is on it but what [ensurer.freeNetwork]
// lets go, and makes it anew.
func (e *ensurer) remake(ctx context.Context, refused error) error {
	id := e.state.Network.ID
	users, err := e.client.Endpoints.OfNetwork(ctx, id)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		if _, err := e.freeNetwork(ctx, id, fmt.Errorf("%w: %w by endpoints", refused, hns.ErrInUse)); err != nil {
			return err
		}
	}
	if e.opts.DryRun {
		return nil
	}
	before, err := hostnet.Take(ctx, e.host)
	if err != nil {
		return err
	}
	err = e.patiently(ctx, func() error { return e.client.Networks.Delete(ctx, id) })
	if err != nil && !errors.Is(err, hns.ErrNotFound) {
		return err
	}
	e.before = &before
	return e.network(ctx, &Step{Name: StepNetwork})
}

func (e *ensurer) awaitAddress(ctx context.Context, s *Step) error {
	m := e.plan.Description.Mode
	if m == modes.NAT || e.state.Network == nil {
		s.Action = ""
		return nil
	}
	wait, cancel := context.WithTimeoutCause(ctx, e.opts.Wait, fmt.Errorf("%w: waited %s", context.DeadlineExceeded, e.opts.Wait))
	defer cancel()
	id := e.state.Network.ID
	var err error
	if m == modes.Overlay {
		e.state.Address, err = e.client.Networks.WaitProviderAddress(wait, id)
	} else {
		e.state.Address, err = e.client.Networks.WaitManagementIP(wait, id)
	}
	if err != nil {
		return err
	}
	if m == modes.Overlay {
		if err := e.waitDRMAC(wait); err != nil {
			return err
		}
	}
	if err := e.checkAddress(ctx, s); err != nil {
		return err
	}
	if _, err := e.adapterWith(wait, hostnetHas(e.state.Address), fmt.Sprintf("has the node's address %s", e.state.Address)); err != nil {
		return err
	}
	return e.hostChanges(ctx)
}

// waitDRMAC waits for the MAC address of the distributed router, and keeps the
// network as it is then.
func (e *ensurer) waitDRMAC(ctx context.Context) error {
	var wait time.Duration
	for {
		n, err := e.client.Networks.ByID(ctx, e.state.Network.ID)
		switch {
		case err == nil:
			e.state.Network = n
			for _, p := range hns.PoliciesOf[hns.DRMACAddress](n.Policies) {
				if !p.Address.IsZero() {
					e.state.DRMAC = p.Address
					return nil
				}
			}
		case ctx.Err() == nil && !errors.Is(err, hns.ErrUnavailable):
			return err
		}
		if err := pause(ctx, &wait); err != nil {
			return fmt.Errorf("%w: network %q has no DrMacAddress: %w", modes.ErrNotReady, e.state.Network.Name, err)
		}
	}
}

// checkAddress finds a network that sits on another adapter than the node's
// address: the other nodes would not reach it.
func (e *ensurer) checkAddress(ctx context.Context, s *Step) error {
	want := e.plan.Description.nodeAddress(e.state.Address.Is4())
	if !want.IsValid() || want == e.state.Address {
		return nil
	}
	diff := hns.Difference{Path: "ManagementIP", Want: want.String(), Got: e.state.Address.String()}
	s.Differences = append(s.Differences, diff)
	if e.opts.Drift == hns.DriftKeep {
		return nil
	}
	s.Action = hns.ActionRefuse
	n := e.state.Network
	all, err := e.host.Adapters(ctx)
	if err != nil {
		return err
	}
	drift := &hns.DriftError{Kind: hns.KindNetwork, Ref: fmt.Sprintf("%q", n.Name), ID: n.ID, Differences: []hns.Difference{diff}}
	if !slices.ContainsFunc(all, hostnetHas(want)) { // to make the network anew would not help
		return fmt.Errorf("%w: none has the node's address %s; there are %s: %w", ErrAdapter, want, describe(all), drift)
	}
	return drift
}

// hostChanges compares the host with what it was before the network was made.
func (e *ensurer) hostChanges(ctx context.Context) error {
	if e.before == nil {
		return nil
	}
	after, err := hostnet.Take(ctx, e.host)
	if err != nil {
		return err
	}
	e.state.HostChanges = hostnet.Compare(*e.before, after)
	for _, c := range e.state.HostChanges {
		if c.Loss != hostnet.AddressMoved && e.opts.Logger != nil {
			e.opts.Logger.WarnContext(ctx, "host changed as the network was made", "network", e.plan.Description.Name, "change", c.String())
		}
	}
	return nil
}

// hostEndpoint makes and attaches the node's own endpoint. One on a network that
// is gone, or with another address, is a leftover of ours and is made anew
// (flannel-io/flannel#1391, flannel-io/flannel#1423).
func (e *ensurer) hostEndpoint(ctx context.Context, s *Step) error {
	if e.plan.HostEndpoint == nil {
		s.Action = ""
		return nil
	}
	if e.opts.DryRun && slices.ContainsFunc(e.state.Steps, func(s Step) bool { return s.Action == hns.ActionCreate || s.Action == hns.ActionRecreate }) {
		s.Action = hns.ActionCreate
		return nil
	}
	want := *e.plan.HostEndpoint
	want.Network = e.state.Network.ID
	routes, cleared, err := e.hostLeftovers(ctx, &want)
	if err != nil {
		return err
	}
	if len(cleared) > 0 && e.opts.DryRun {
		s.Action, s.Differences = hns.ActionRepair, cleared
		return nil
	}
	got, d, err := e.client.Endpoints.EnsureHost(ctx, &want, &hns.EnsureOptions{DryRun: e.opts.DryRun, Drift: hns.DriftRecreate, Patient: e.opts.Patient})
	s.Action, s.Differences = d.Action, slices.Concat(cleared, d.Differences, routes)
	if s.Action == "" {
		s.Action = hns.ActionKeep
	}
	if len(cleared) > 0 && s.Action == hns.ActionKeep {
		s.Action = hns.ActionRepair
	}
	e.state.HostEndpoint = got
	return err
}

// hostLeftovers looks at what has the name of the node's endpoint. If one is
// right but for its routes it is to stay, as pods send to it: flanneld makes it
// with a default route, and whether HNS shows the routes as they were sent is not
// known. want loses its routes then, and the difference is returned. If there are
// several, those that are not right are deleted.
func (e *ensurer) hostLeftovers(ctx context.Context, want *hns.Endpoint) (routes, cleared []hns.Difference, err error) {
	var found []*hns.Endpoint
	err = e.patiently(ctx, func() (err error) {
		found, err = e.client.Endpoints.Named(ctx, want.Name)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	bare := *want
	bare.Routes = nil
	for _, f := range found {
		switch right := len(hns.CompareEndpoints(&bare, f)) == 0; {
		case right:
			routes = hns.CompareEndpoints(&hns.Endpoint{Routes: want.Routes}, f)
			want.Routes = nil
		case len(found) > 1 && f.Namespace.IsZero():
			cleared = append(cleared, hns.Difference{Path: fmt.Sprintf("endpoint %q %s", f.Name, f.ID), Want: "none", Got: fmt.Sprint(f.Addresses())})
			if e.opts.DryRun {
				continue
			}
			err := e.patiently(ctx, func() error { return e.client.Endpoints.Delete(ctx, f.ID) })
			if err != nil && !errors.Is(err, hns.ErrNotFound) {
				return nil, cleared, err
			}
		}
	}
	return routes, cleared, nil
}

// forwarding lets the node pass the pods' packets on: between its own endpoint
// and the adapter that leads to the other nodes.
func (e *ensurer) forwarding(ctx context.Context, s *Step) error {
	if e.plan.HostEndpoint == nil {
		s.Action = ""
		return nil
	}
	if e.opts.DryRun && slices.ContainsFunc(e.state.Steps, func(s Step) bool { return changes(s.Action) }) {
		s.Action = hns.ActionRepair // the adapters are yet to be made
		return nil
	}
	wait, cancel := context.WithTimeoutCause(ctx, e.opts.Wait, fmt.Errorf("%w: waited %s", context.DeadlineExceeded, e.opts.Wait))
	defer cancel()
	for _, a := range e.plan.HostEndpoint.Addresses() {
		family := hostnet.FamilyOf(a)
		own, err := e.adapterWith(wait, hostnetHas(a), fmt.Sprintf("has the address %s of the node's endpoint", a))
		if err != nil {
			return err
		}
		out, err := e.adapterWith(wait, hostnetHas(e.state.Address), fmt.Sprintf("has the node's address %s", e.state.Address))
		if err != nil {
			return err
		}
		for _, adapter := range []hostnet.Adapter{own, out} {
			if adapter.Forwards(family) {
				continue
			}
			s.Action = hns.ActionRepair
			s.Differences = append(s.Differences, hns.Difference{Path: fmt.Sprintf("%s forwarding of %q", family, adapter.Name), Want: "on", Got: "off"})
			if e.opts.DryRun {
				continue
			}
			if err := e.host.SetForwarding(ctx, adapter.Index, family, true); err != nil {
				return err
			}
		}
	}
	return nil
}
