package hns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ghostTries is how often Ensure reads a network that HNS says exists.
const ghostTries = 8

// GhostError is HNS contradicting itself about a network: a create says that
// one of the name exists, and none is shown. A restart of the service mends it.
// It matches what Err does, [ErrExists] among it.
type GhostError struct {
	Name string
	// Err is what the last create said; its *[Error] has the code.
	Err error
}

// Error names the network, the code and the cure.
func (e *GhostError) Error() string {
	return fmt.Sprintf("hns: network %q is a ghost: HNS says that it exists and does not show it; restart the service (Restart-Service hns): %v", e.Name, e.Err)
}

// Unwrap returns e.Err.
func (e *GhostError) Unwrap() error { return e.Err }

// Ensure makes sure that there is a network of want's name which is as want
// says: what want sets must be so, what it leaves zero may be anything, and if
// it names subnets there must be no others. It creates the network; keeps it;
// repairs its DNS and the policies that can be changed on a live network, as
// [NetworkService.EnsurePolicies] does; or refuses it with a *[DriftError] that
// lists every field (see EnsureOptions.Drift).
//
// A policy that is legal at create only and that HNS does not show counts as
// there. Policies for live networks are added after the create; if that fails
// the network stays, and the next Ensure goes on from there.
//
// If somebody else makes the network at the same moment, theirs is kept if it
// is as wanted and refused if not. A name that HNS says is taken and does not
// show is tried for about two seconds and then a *[GhostError]. A service that
// is down is ErrUnavailable and never a reason to create. After
// ErrOutcomeUnknown call Ensure again.
//
// DriftRecreate looks first for what stands in the way of the new network, as
// far as reading can tell: another network of its id, or a NAT network whose
// subnet overlaps. Then the old one stays, and the *[DriftError] holds the
// *[ConflictError]. If HNS refuses the new one all the same, the old one is put
// back with its id and its policies, as far as this package knows them; if that
// fails too the error is ErrLeftBehind and says what is lost.
//
// The provider address and the management IP may still be missing; see
// [NetworkService.WaitManagementIP].
func (s *NetworkService) Ensure(ctx context.Context, want *Network, opts *EnsureOptions) (*Network, Decision, error) {
	if want == nil {
		return nil, Decision{Kind: KindNetwork}, ensureFailed(KindNetwork, "", &FieldError{Reason: "nil network"})
	}
	o, ref := optionsOf(opts), strconv.Quote(want.Name)
	if bad := checkKeys(want.Policies); len(bad) > 0 {
		return nil, Decision{Kind: KindNetwork, Ref: ref}, ensureFailed(KindNetwork, ref, joinFields(bad))
	}
	if _, err := document(ctx, s.c, networkKind, want); err != nil {
		return nil, Decision{Kind: KindNetwork, Ref: ref}, ensureFailed(KindNetwork, ref, err)
	}
	return patiently(ctx, o, func() (*Network, Decision, error) {
		d := Decision{Kind: KindNetwork, Ref: ref}
		got, err := s.ByName(ctx, want.Name)
		switch {
		case err == nil:
			return s.settle(ctx, want, got, d, o)
		case errors.Is(err, ErrNotFound):
			return s.ensureNew(ctx, want, d, o)
		}
		return nil, d, err
	})
}

// ensureNew makes the network that is not there.
func (s *NetworkService) ensureNew(ctx context.Context, want *Network, d Decision, o EnsureOptions) (*Network, Decision, error) {
	if d.Action == "" {
		d.Action = ActionCreate
	}
	if o.DryRun {
		conflict, err := s.inTheWay(ctx, want, ID{})
		if conflict != nil {
			err = ensureFailed(KindNetwork, d.Ref, conflict)
		}
		return nil, d, err
	}
	first := *want
	first.Policies = slices.DeleteFunc(slices.Clone(want.Policies), isLive)
	made, theirs, err := s.createNamed(ctx, &first, s.Create)
	if err != nil {
		return nil, d, err
	}
	if theirs { // or our own, of which HNS said that it exists
		o.Drift = DriftRefuse
		return s.settle(ctx, want, made, Decision{Kind: d.Kind, Ref: d.Ref}, o)
	}
	plan := planPolicies(want.Policies, made.Policies)
	if len(plan.diffs) == 0 {
		return made, d, nil
	}
	net, err := s.repaired(ctx, made.ID, plan)
	if err != nil {
		return made, d, err
	}
	return net, d, nil
}

// createNamed creates the network. theirs tells that one of its name was there
// when the create failed.
func (s *NetworkService) createNamed(ctx context.Context, n *Network, create func(context.Context, *Network) (*Network, error)) (made *Network, theirs bool, err error) {
	var wait pause
	var ghost *GhostError
	for try := 1; ; try++ {
		made, err = create(ctx, n)
		taken := errors.Is(err, ErrExists) && !errors.Is(err, ErrOverlap)
		switch {
		case err == nil:
			return made, false, nil
		case ghost != nil && errors.Is(err, ErrNotSent): // what HNS said last stands
			return nil, false, fmt.Errorf("%w (%w)", ghost, whyDone(ctx))
		case errors.Is(err, ErrNotSent), errors.Is(err, ErrOutcomeUnknown), isRefusal(err):
			return nil, false, err
		case !taken && !errors.Is(err, ErrUnavailable):
			return nil, false, s.nameConflict(ctx, n, err)
		}
		got, errFind := s.ByName(ctx, n.Name)
		switch {
		case errFind == nil:
			return got, true, nil
		case !errors.Is(errFind, ErrNotFound):
			return nil, false, errors.Join(err, errFind)
		case !taken:
			return nil, false, err
		}
		// A network that was just deleted may haunt HNS for a moment. The
		// create was refused and did nothing, so it may be sent again.
		ghost = &GhostError{n.Name, err}
		if try == ghostTries {
			return nil, false, ghost
		}
		if errWait := wait.wait(ctx); errWait != nil {
			return nil, false, fmt.Errorf("%w (%w)", ghost, errWait)
		}
	}
}

// settle decides about a network that is there, and carries it out.
func (s *NetworkService) settle(ctx context.Context, want, got *Network, d Decision, o EnsureOptions) (*Network, Decision, error) {
	d.ID = got.ID
	fixed := compareFixed(want, got)
	adapter, err := s.compareAdapter(ctx, want, got)
	if err != nil {
		return nil, d, err
	}
	fixed = append(fixed, adapter...)
	dns := compareDNS(want.DNS, got.DNS)
	plan := planPolicies(want.Policies, got.Policies)
	d.Differences = slices.Concat(fixed, dns, plan.diffs)
	switch {
	case len(fixed) == 0, o.Drift == DriftKeep:
	case o.Drift == DriftRecreate:
		return s.recreate(ctx, want, got, d, fixed, o)
	default:
		return got, d, d.refuse(fixed, nil)
	}
	d.Action = ActionKeep
	if len(dns)+len(plan.diffs) > 0 {
		d.Action = ActionRepair
	}
	if o.DryRun || d.Action == ActionKeep {
		return got, d, nil
	}
	if len(dns) > 0 {
		if err := s.UpdateDNS(ctx, got.ID, mergeDNS(want.DNS, got.DNS)); err != nil {
			return got, d, err
		}
	}
	net, err := s.repaired(ctx, got.ID, plan)
	if err != nil {
		return got, d, err
	}
	return net, d, nil
}

// repaired carries the plan out and reads the network again.
func (s *NetworkService) repaired(ctx context.Context, id ID, plan policyPlan) (*Network, error) {
	if err := s.carryOut(ctx, id, plan); err != nil {
		return nil, err
	}
	return s.ByID(ctx, id)
}

func (s *NetworkService) recreate(ctx context.Context, want, got *Network, d Decision, fixed []Difference, o EnsureOptions) (*Network, Decision, error) {
	users, err := s.c.Endpoints.OfNetwork(ctx, got.ID)
	if err != nil {
		return got, d, err
	}
	if len(users) > 0 {
		var names []string
		for _, e := range users {
			names = append(names, strconv.Quote(e.Name)+" "+e.ID.String())
		}
		return got, d, d.refuse(fixed, fmt.Errorf("%w by endpoints %s", ErrInUse, strings.Join(names, ", ")))
	}
	conflict, err := s.inTheWay(ctx, want, got.ID)
	if err != nil {
		return got, d, err
	}
	if conflict != nil {
		return got, d, d.refuse(fixed, conflict)
	}
	d.Action = ActionRecreate
	if o.DryRun {
		return got, d, nil
	}
	var after Decision
	net, err := replace(ctx, s.c, replacement[Network]{
		kind: networkKind, id: got.ID, old: got,
		create: func(ctx context.Context) (made *Network, err error) {
			made, after, err = s.ensureNew(ctx, want, d, o)
			return made, err
		},
		settled: func(ctx context.Context) (*Network, error) {
			now, err := s.ByName(ctx, want.Name)
			if errors.Is(err, ErrNotFound) {
				return nil, nil
			}
			if err != nil || len(compareFixed(want, now)) > 0 {
				return nil, err
			}
			return s.repaired(ctx, now.ID, planPolicies(want.Policies, now.Policies))
		},
		restore: func(ctx context.Context) error { return s.restore(ctx, got) },
	})
	if after.Action == ActionRefuse || after.Action == ActionRepair { // somebody else was faster
		return net, after, err
	}
	return net, d, err
}

// restore puts a network back that was deleted: first what a create takes, then
// the policies for live networks.
func (s *NetworkService) restore(ctx context.Context, old *Network) error {
	first := *old
	first.Policies = slices.DeleteFunc(slices.Clone(old.Policies), isLive)
	made, theirs, err := s.createNamed(ctx, &first, func(ctx context.Context, n *Network) (*Network, error) {
		return putBack(ctx, s.c, networkKind, n, ID{})
	})
	if err == nil && theirs {
		return fmt.Errorf("%w: network %q %s", ErrExists, made.Name, made.ID)
	}
	live := slices.DeleteFunc(slices.Clone(old.Policies), func(p NetworkPolicy) bool { return !isLive(p) })
	if err != nil || len(live) == 0 {
		return err
	}
	policies, err := wirePolicies(live)
	if err != nil {
		return err
	}
	return s.c.modify(ctx, "put back policies of network", KindNetwork, made.ID, modifyRequest{requestAdd, "Policy", struct{ Policies []wirePolicy }{policies}})
}

// compareAdapter asks the v1 API for the adapter where the v2 API shows none.
func (s *NetworkService) compareAdapter(ctx context.Context, want, got *Network) ([]Difference, error) {
	name, is := adapterOf(want), adapterOf(got)
	if name == "" || is != "" {
		return nil, nil // compareFixed saw to it
	}
	err := s.c.readV1(ctx, "read adapter of network", KindNetwork, got.ID, "/networks/"+got.ID.Upper(), func(r reader) {
		is = r.str("NetworkAdapterName")
	})
	if err != nil || is == "" || strings.EqualFold(name, is) {
		return nil, err
	}
	return []Difference{{"NetworkAdapterName", name, is}}, nil
}

// WaitManagementIP waits until the network has its management IP, and returns
// it. HNS may need seconds, and a minute where the adapter waits for DHCP: an
// address of 169.254.0.0/16 does not count. A service that restarts meanwhile
// is waited for. It ends with ctx, which should have a deadline; the error
// names the network and the field, and matches the context's.
func (s *NetworkService) WaitManagementIP(ctx context.Context, id ID) (netip.Addr, error) {
	return s.waitAddr(ctx, id, "ManagementIP", func() (netip.Addr, error) { return s.ManagementIP(ctx, id) })
}

// WaitProviderAddress waits until the Overlay network has its provider address
// ([Network.ProviderAddress]), as WaitManagementIP does for the management IP.
func (s *NetworkService) WaitProviderAddress(ctx context.Context, id ID) (netip.Addr, error) {
	return s.waitAddr(ctx, id, "ProviderAddress", func() (netip.Addr, error) {
		n, err := s.ByID(ctx, id)
		if err != nil {
			return netip.Addr{}, err
		}
		return n.ProviderAddress(), nil
	})
}

func (s *NetworkService) waitAddr(ctx context.Context, id ID, field string, read func() (netip.Addr, error)) (netip.Addr, error) {
	var wait pause
	var seen string
	for {
		a, err := read()
		switch {
		case err == nil && a.IsValid() && !a.IsLinkLocalUnicast():
			return a, nil
		case err == nil:
			seen = "is " + orNone(addrText(a))
		case ctx.Err() == nil && !errors.Is(err, ErrUnavailable):
			return netip.Addr{}, err
		case ctx.Err() == nil:
			seen = "is not known: " + err.Error()
		}
		if errWait := wait.wait(ctx); errWait != nil {
			if seen == "" {
				seen = "was not read"
			}
			return netip.Addr{}, &Error{Op: "wait for " + field + " of network", Kind: KindNetwork, Ref: id.String(), Err: fmt.Errorf("%s %s: %w", field, seen, errWait)}
		}
	}
}
