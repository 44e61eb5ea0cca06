package cniplugin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/filelock"
	"github.com/hnskit/hnskit/modes"
)

// findNetwork returns the HNS network of the configuration's name. One that is
// missing may be made any moment by the node's agent, so it is "try again".
func (r *run) findNetwork(ctx context.Context) error {
	n, err := r.Client.Networks.ByName(ctx, r.Config.Name)
	if errors.Is(err, hns.ErrNotFound) {
		return r.networkMissing(ctx, err)
	}
	if err != nil {
		return err
	}
	return r.take(n)
}

func (r *run) networkMissing(ctx context.Context, err error) error {
	return &Error{Code: codeTryAgain, Err: fmt.Errorf("name: %w%s", err, r.networksThere(ctx))}
}

// take makes n the network of this verb, if it is of the plugin's mode.
func (r *run) take(n *hns.Network) error {
	if m, ok := modes.ModeOf(n.Type); !ok || m != r.p.Mode && !(m == modes.L2Tunnel && r.p.Mode == modes.L2Bridge) {
		return invalidConfig(&hns.FieldError{Path: "name", Value: n.Name,
			Reason: fmt.Sprintf("the HNS network is of type %s, and %s serves %s", n.Type, r.p.Name, r.p.Mode)})
	}
	r.Network = n
	return nil
}

// networksThere helps with the usual cause: flanneld named the network otherwise.
func (r *run) networksThere(ctx context.Context) string {
	all, err := r.Client.Networks.List(ctx)
	switch {
	case err != nil:
		return ""
	case len(all) == 0:
		return "; HNS has no networks"
	}
	var names []string
	for _, n := range all {
		names = append(names, fmt.Sprintf("%q (%s)", n.Name, n.Type))
	}
	return "; HNS has " + strings.Join(names, ", ")
}

// settled is what becomes of the network that a configuration describes.
type settled struct {
	plan *modes.NetworkPlan
	said *HNSNetwork
	// compare is what the network must be like; whole is what is made.
	compare, whole *hns.Network
	// missing is why the network has to be made; nil if it is there.
	missing error
	// repair is whether a policy has to be added to it: whoever made it came no
	// further (antrea-io/antrea#5841).
	repair bool
}

// lookAtNetwork finds the network, and holds one that the configuration
// describes against that; what differs is an error that lists every field
// (microsoft/windows-container-networking#98). Nothing is changed. Settled is
// nil if the configuration says nothing.
func (r *run) lookAtNetwork(ctx context.Context) (*settled, error) {
	n := r.describedNetwork()
	if n == nil {
		return nil, r.findNetwork(ctx)
	}
	plan, err := r.planNetwork(n)
	if err != nil {
		return nil, err
	}
	s := &settled{plan: plan, said: n, compare: n.compared(plan, r.saysGateway(n))}
	whole := *plan.Network
	whole.Policies = append(slices.Clone(whole.Policies), plan.AddPolicies...)
	s.whole = &whole
	got, d, err := r.Client.Networks.Ensure(ctx, s.compare, &hns.EnsureOptions{DryRun: true, Drift: n.Drift})
	var conflict *hns.ConflictError // of a create: the network is missing, and making it will say so again
	switch {
	case errors.Is(err, hns.ErrDrift):
		return nil, n.differences(err)
	case err != nil && !errors.As(err, &conflict):
		return nil, err
	case got == nil:
		s.missing = &hns.Error{Op: "find network", Kind: hns.KindNetwork, Ref: fmt.Sprintf("%q", r.Config.Name), Err: hns.ErrNotFound}
		return s, nil
	}
	for _, x := range d.Differences {
		r.Log.Warn("the network is not as the configuration says", "difference", x.String())
	}
	s.repair = d.Action == hns.ActionRepair
	return s, r.take(got)
}

// ensureNetwork finds the network, and makes the one that is missing if the
// configuration describes it.
func (r *run) ensureNetwork(ctx context.Context) error {
	s, err := r.lookAtNetwork(ctx)
	switch {
	case err != nil || s == nil:
		return err
	case s.missing != nil && !s.said.creates(r.p.Mode):
		return r.networkMissing(ctx, s.missing)
	case s.missing != nil || s.repair:
		if err := r.checkVersion(s.whole); err != nil {
			return err
		}
		if err := r.changeNetwork(ctx, s); err != nil {
			return err
		}
	}
	return r.waitProvider(ctx)
}

// changeNetwork makes the network, or adds the policies that it lacks.
func (r *run) changeNetwork(ctx context.Context, s *settled) error {
	if err := r.requireNetwork(ctx, s); err != nil {
		return err
	}
	unlock, err := r.lockNetwork(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if s.missing == nil {
		d, err := r.Client.Networks.EnsurePolicies(ctx, r.Network.ID, s.plan.AddPolicies, nil)
		r.Log.Info("network", "decision", d.String())
		return err
	}
	if r.p.Mode != modes.NAT && len(s.whole.Policies) == len(s.plan.AddPolicies) {
		// Azure/azure-container-networking#4439: not always the same.
		r.Log.Warn("the configuration names no adapter for the network; HNS takes any that is connected")
	}
	n, d, err := r.Client.Networks.Ensure(ctx, s.whole, &hns.EnsureOptions{Drift: s.said.Drift})
	var conflict *hns.ConflictError
	var ghost *hns.GhostError
	switch {
	case errors.Is(err, hns.ErrDrift):
		// Somebody else was faster, perhaps with a gateway or flags of which the
		// configuration says nothing.
		again, err := r.lookAtNetwork(ctx)
		if err == nil && again.missing != nil {
			err = r.networkMissing(ctx, again.missing)
		}
		return err
	case errors.As(err, &conflict):
		return invalidConfig(err)
	case errors.As(err, &ghost):
		return &Error{Code: codeTryAgain, Err: err}
	case err != nil:
		return err
	}
	r.Log.Info("network", "decision", d.String())
	return r.take(n)
}

// waitProvider waits for the provider address of an Overlay network that the
// configuration describes, without which no pod can be made: HNS fills it in some
// time after the create, which may be another plugin's of this moment.
func (r *run) waitProvider(ctx context.Context) error {
	a := r.Network.ProviderAddress()
	if r.p.Mode != modes.Overlay || a.IsValid() && !a.IsLinkLocalUnicast() {
		return nil
	}
	if _, err := r.Client.Networks.WaitProviderAddress(ctx, r.Network.ID); err != nil {
		return err
	}
	n, err := r.Client.Networks.ByID(ctx, r.Network.ID)
	if err != nil {
		return err
	}
	return r.take(n)
}

// requireNetwork asks for what HNS must have for the network, before anything
// is made.
func (r *run) requireNetwork(ctx context.Context, s *settled) error {
	for _, q := range s.plan.Requirements() {
		if err := r.require(ctx, q, "network "+fmt.Sprintf("%q", r.Config.Name), func(path string) string { return path }); err != nil {
			return err
		}
	}
	return nil
}

// require asks for a feature; the error names what needs it.
func (r *run) require(ctx context.Context, q modes.Requirement, of string, path func(string) string) error {
	err := r.Client.Require(ctx, q.Feature)
	if err == nil {
		return nil
	}
	q.Path = path(q.Path)
	err = fmt.Errorf("%s: %s: %w", of, q, err)
	if errors.Is(err, hns.ErrUnsupported) {
		return invalidConfig(err) // no later try will find another Windows
	}
	return err
}

// lockNetwork takes the lock of a network that must be made, behind that of the
// sandbox. It is never held while IPAM or an endpoint is asked for anything.
func (r *run) lockNetwork(ctx context.Context) (unlock func(), err error) {
	path, err := r.networkLock()
	if err != nil {
		return nil, err
	}
	l, err := filelock.Acquire(ctx, path)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, &Error{Code: codeTryAgain, Err: fmt.Errorf("network %q is being made by another: %w: %w", r.Config.Name, context.Cause(ctx), err)}
	case err != nil:
		return nil, &Error{Code: codeIO, Err: fmt.Errorf("lock of network %q: %w", r.Config.Name, err)}
	}
	return func() { _ = l.Remove() }, nil
}

func (r *run) networkLock() (string, error) {
	path, err := filepath.Abs(filepath.Join(r.p.stateDir(r.Config), "locks", "networks", fileName(r.Config.Name)+".lock"))
	if err != nil {
		return "", &Error{Code: codeIO, Err: fmt.Errorf("lock of network %q: %w", r.Config.Name, err)}
	}
	return path, nil
}

// dropNetworkLock removes the file of a network's lock that a killed plugin has
// left: nobody takes the lock again once the network is there.
func (r *run) dropNetworkLock(ctx context.Context) {
	path, err := r.networkLock()
	if err != nil {
		return
	}
	if _, err := os.Stat(path); err != nil {
		return
	}
	if l, err := filelock.Try(ctx, path); err == nil { // else somebody is at work
		_ = l.Remove()
	}
}

// gateway says how the pods' gateway is found: as the configuration says, else by
// the plugin's rule.
func (r *run) gateway() (modes.GatewayRule, []netip.Addr) {
	switch c := r.Config; {
	case c.HostGateway:
		return modes.GatewayHostEndpoint, nil
	case len(c.Gateways) > 0:
		return modes.GatewayGiven, c.Gateways
	}
	return r.p.Gateway, nil
}

// leadsToSubnet reports whether the pods' gateway that the configuration names is
// that of the HNS network too. On L2Bridge "network+2" is the node's endpoint,
// and HNS keeps another address for itself (containernetworking/plugins#671).
func (r *run) leadsToSubnet(n *HNSNetwork) bool {
	if r.p.Mode != modes.L2Bridge {
		return true
	}
	return !r.Config.HostGateway && !slices.ContainsFunc(n.Subnets, func(p netip.Prefix) bool {
		return slices.Contains(r.Config.Gateways, p.Masked().Addr().Next().Next())
	})
}

// networkGateways are the gateways that the configuration gives the HNS network.
func (r *run) networkGateways(n *HNSNetwork) []netip.Addr {
	if len(n.Gateways) > 0 || len(n.Subnets) == 0 || !r.leadsToSubnet(n) {
		return n.Gateways
	}
	return slices.DeleteFunc(slices.Clone(r.Config.Gateways), func(g netip.Addr) bool {
		return !slices.ContainsFunc(n.Subnets, func(p netip.Prefix) bool { return p.Addr().Is4() == g.Is4() })
	})
}

func (r *run) saysGateway(n *HNSNetwork) bool { return len(r.networkGateways(n)) > 0 }
