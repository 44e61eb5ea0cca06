package hns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Ensure makes sure that there is an endpoint of want's name which is as want
// says: what want sets must be so, what it leaves zero may be anything. It
// creates the endpoint; keeps it; repairs its policies; or refuses it with a
// *[DriftError] that lists every field (see EnsureOptions.Drift). Of the policy
// types that want has, the endpoint then has want's policies and no others;
// other types stay.
//
// An endpoint on a network that is gone is made anew without being asked, if it
// is not attached. Several of the name are ErrAmbiguous. It does nothing about a
// namespace: that is for [Client.Attach]; for the endpoint of the node itself
// see EnsureHost.
//
// HNS takes any number of endpoints of one name. Of the calls of one Client that
// are about one name, one at a time looks and creates. Other clients and
// programs are not held off: a call that finds another endpoint of the name
// beside the one that it has just made takes its own back, unless it has the
// smaller id and the other one goes, and uses the other. That leaves one, but for
// calls that hang between their steps.
//
// DriftRecreate looks first for what stands in the way of the new endpoint, as
// far as reading can tell: a network that is gone, an address in none of its
// subnets or that another endpoint has, an id that is taken. Then the old one
// stays, and the *[DriftError] says why. If HNS refuses the new one all the same,
// the old one is put back with its id, address and MAC, and attached to the node
// again if it was; if that fails too the error is ErrLeftBehind.
func (s *EndpointService) Ensure(ctx context.Context, want *Endpoint, opts *EnsureOptions) (*Endpoint, Decision, error) {
	return s.ensure(ctx, want, opts, false)
}

// EnsureHost does what Ensure does with an endpoint that belongs to the node
// itself, such as the gateway "<network>_ep" of an L2Bridge network, and attaches
// it ([EndpointService.AttachHost]). Being attached to the node does not keep it
// from being made anew; an endpoint in a namespace or a container is refused.
func (s *EndpointService) EnsureHost(ctx context.Context, want *Endpoint, opts *EnsureOptions) (*Endpoint, Decision, error) {
	return s.ensure(ctx, want, opts, true)
}

// endpointEnsurer is one call of Ensure.
type endpointEnsurer struct {
	*EndpointService
	want *Endpoint
	opts EnsureOptions
	host bool
}

func (s *EndpointService) ensure(ctx context.Context, want *Endpoint, opts *EnsureOptions, host bool) (*Endpoint, Decision, error) {
	if want == nil {
		return nil, Decision{Kind: KindEndpoint}, ensureFailed(KindEndpoint, "", &FieldError{Reason: "nil endpoint"})
	}
	e := endpointEnsurer{s, want, optionsOf(opts), host}
	d := Decision{Kind: KindEndpoint, Ref: strconv.Quote(want.Name)}
	if _, err := document(ctx, s.c, endpointKind, want); err != nil {
		return nil, d, ensureFailed(KindEndpoint, d.Ref, err)
	}
	if !e.opts.DryRun {
		unlock, err := s.c.endpointNames.lock(ctx, want.Name)
		if err != nil {
			return nil, d, ensureFailed(KindEndpoint, d.Ref, err)
		}
		defer unlock()
	}
	return patiently(ctx, e.opts, func() (*Endpoint, Decision, error) { return e.once(ctx, d) })
}

func (e endpointEnsurer) once(ctx context.Context, d Decision) (*Endpoint, Decision, error) {
	found, err := e.Named(ctx, e.want.Name)
	switch {
	case err != nil:
		return nil, d, err
	case len(found) == 0:
		d.Action = ActionCreate
		return e.create(ctx, d)
	case len(found) > 1:
		return nil, d, e.ambiguous(found)
	}
	return e.settle(ctx, found[0], d)
}

func (e endpointEnsurer) ambiguous(found []*Endpoint) error {
	var ids []ID
	for _, x := range found {
		ids = append(ids, x.ID)
	}
	return ensureFailed(KindEndpoint, strconv.Quote(e.want.Name), fmt.Errorf("%w: %d endpoints have that name: %s", ErrAmbiguous, len(found), joinTexts(ids)))
}

// create makes the endpoint that is not there.
func (e endpointEnsurer) create(ctx context.Context, d Decision) (*Endpoint, Decision, error) {
	if e.opts.DryRun {
		why, err := e.inTheWay(ctx, ID{})
		if why != nil {
			err = ensureFailed(KindEndpoint, d.Ref, why)
		}
		return nil, d, err
	}
	made, err := e.Create(ctx, e.want)
	if err != nil {
		// HNS may say "already exists" of what it has just made, or of what
		// another call made at the same moment.
		if made, err = e.afterCreate(ctx, err); err != nil {
			return nil, d, err
		}
	} else if other, err := e.takeBack(ctx, made); err != nil {
		return other, d, err
	} else if other != nil {
		e.opts.Drift = DriftRefuse
		return e.settle(ctx, other, Decision{Kind: d.Kind, Ref: d.Ref})
	}
	made, err = e.attached(ctx, made)
	return made, d, err
}

// attached attaches the endpoint to the node if that is wanted.
func (e endpointEnsurer) attached(ctx context.Context, made *Endpoint) (*Endpoint, error) {
	if !e.host {
		return made, nil
	}
	if err := e.AttachHost(ctx, made.ID); err != nil {
		return made, err
	}
	return e.refresh(ctx, made)
}

// refresh reads the endpoint again, for its state.
func (e endpointEnsurer) refresh(ctx context.Context, old *Endpoint) (*Endpoint, error) {
	now, err := e.ByID(ctx, old.ID)
	if err != nil {
		return old, err
	}
	return now, nil
}

// afterCreate returns the endpoint that is there all the same, or the failure.
func (e endpointEnsurer) afterCreate(ctx context.Context, err error) (*Endpoint, error) {
	if !errors.Is(err, ErrExists) && !errors.Is(err, ErrUnavailable) {
		return nil, err
	}
	found, errFind := e.Named(ctx, e.want.Name)
	if errFind != nil {
		return nil, errors.Join(err, errFind)
	}
	if len(found) == 1 && e.isAsWanted(found[0]) {
		return found[0], nil
	}
	if holder := e.c.holder(ctx, e.want, err); holder != nil {
		err = fmt.Errorf("%w (the address belongs to endpoint %q %s, state %s)", err, holder.Name, holder.ID, holder.State)
	}
	return nil, err
}

func (e endpointEnsurer) isAsWanted(got *Endpoint) bool {
	policies, _, _ := planEndpointPolicies(e.want.Policies, got.Policies)
	return len(policies)+len(e.compareFixed(got)) == 0
}

// settle decides about an endpoint that is there, and carries it out.
func (e endpointEnsurer) settle(ctx context.Context, got *Endpoint, d Decision) (*Endpoint, Decision, error) {
	d.ID = got.ID
	fixed := e.compareFixed(got)
	policies, add, update := planEndpointPolicies(e.want.Policies, got.Policies)
	d.Differences = slices.Concat(fixed, policies)
	var at attachment
	if e.host || len(fixed) > 0 {
		var err error
		if at, err = e.attachment(ctx, got.ID); err != nil {
			return got, d, err
		}
	}
	if e.host && at.holder != "" {
		foreign := Difference{"State", "attached to the node", "attached to " + at.holder}
		d.Differences = append(d.Differences, foreign)
		return got, d, d.refuse(append(fixed, foreign), fmt.Errorf("%w to %s", ErrAttached, at.holder))
	}
	if len(fixed) > 0 && e.opts.Drift != DriftKeep {
		return e.recreate(ctx, got, at, fixed, d)
	}
	attach := e.host && !at.attached
	if attach {
		d.Differences = append(d.Differences, Difference{"State", EndpointAttached.String(), got.State.String()})
	}
	d.Action = ActionKeep
	if len(policies) > 0 || attach {
		d.Action = ActionRepair
	}
	if e.opts.DryRun || d.Action == ActionKeep {
		return got, d, nil
	}
	if err := e.repair(ctx, got.ID, add, update, attach); err != nil {
		return got, d, err
	}
	now, err := e.refresh(ctx, got)
	return now, d, err
}

// compareFixed compares what HNS cannot change in place.
func (e endpointEnsurer) compareFixed(got *Endpoint) []Difference {
	bare := *e.want
	bare.Policies = nil
	fixed := CompareEndpoints(&bare, got)
	if !e.want.ID.IsZero() && e.want.ID != got.ID {
		fixed = append([]Difference{{"ID", e.want.ID.String(), got.ID.String()}}, fixed...)
	}
	return fixed
}

func (e endpointEnsurer) repair(ctx context.Context, id ID, add, update []EndpointPolicy, attach bool) error {
	if err := e.UpdatePolicies(ctx, id, update...); err != nil {
		return err
	}
	if err := e.AddPolicies(ctx, id, add...); err != nil {
		return err
	}
	if attach {
		return e.AttachHost(ctx, id)
	}
	return nil
}

// recreate makes the endpoint anew if that was asked for, or if it is a
// leftover, and if nothing uses it.
func (e endpointEnsurer) recreate(ctx context.Context, got *Endpoint, at attachment, fixed []Difference, d Decision) (*Endpoint, Decision, error) {
	leftover := false
	if got.Network != e.want.Network {
		_, err := e.c.Networks.ByID(ctx, got.Network)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return got, d, err
		}
		leftover = err != nil
	}
	if !leftover && e.opts.Drift != DriftRecreate {
		return got, d, d.refuse(fixed, nil)
	}
	if at.holder != "" || at.attached && !e.host {
		if at.holder == "" {
			at.holder = "the node"
		}
		return got, d, d.refuse(fixed, fmt.Errorf("%w to %s", ErrAttached, at.holder))
	}
	why, err := e.inTheWay(ctx, got.ID)
	if err != nil {
		return got, d, err
	}
	if why != nil {
		return got, d, d.refuse(fixed, why)
	}
	d.Action = ActionRecreate
	if e.opts.DryRun {
		return got, d, nil
	}
	r := replacement[Endpoint]{
		kind: endpointKind, id: got.ID, old: got,
		create: func(ctx context.Context) (made *Endpoint, err error) {
			var after Decision
			made, after, err = e.create(ctx, d)
			if after.Action != ActionKeep { // else somebody else was faster with the same
				d = after
			}
			return made, err
		},
		settled: e.settled,
		restore: func(ctx context.Context) error { return e.restore(ctx, got, at) },
	}
	if leftover { // it has no network to go back to
		r.restore = nil
	}
	made, err := replace(ctx, e.c, r)
	return made, d, err
}

// settled returns the endpoint if it is there as wanted.
func (e endpointEnsurer) settled(ctx context.Context) (*Endpoint, error) {
	found, err := e.Named(ctx, e.want.Name)
	if err != nil || len(found) != 1 || !e.isAsWanted(found[0]) {
		return nil, err
	}
	return e.attached(ctx, found[0])
}

// restore puts an endpoint back that was deleted.
func (e endpointEnsurer) restore(ctx context.Context, old *Endpoint, at attachment) error {
	bare := *old
	bare.Namespace = ID{} // it was in none that is there, or it would not have been deleted
	made, err := putBack(ctx, e.c, endpointKind, &bare, old.Network)
	if err != nil || !at.attached {
		return err
	}
	return e.AttachHost(ctx, made.ID)
}

// planEndpointPolicies returns the policies of each type of want's that is not
// as wanted: to add where got has none of the type, else to update.
func planEndpointPolicies(want, got []EndpointPolicy) (diffs []Difference, add, update []EndpointPolicy) {
	done := map[string]bool{}
	for i, w := range want {
		kind := strings.ToLower(w.PolicyType())
		if done[kind] {
			continue
		}
		done[kind] = true
		ofType := func(ps []EndpointPolicy) []EndpointPolicy {
			var out []EndpointPolicy
			for _, p := range ps {
				if noValue(p) == nil && strings.EqualFold(p.PolicyType(), kind) {
					out = append(out, p)
				}
			}
			return out
		}
		wanted, there := ofType(want), ofType(got)
		switch {
		case samePolicies(wanted, there):
			continue
		case len(there) == 0:
			add = append(add, wanted...)
		default:
			update = append(update, wanted...)
		}
		diffs = append(diffs, Difference{policyPath(i, w), texts(wanted), texts(there)})
	}
	return diffs, add, update
}

// samePolicies reports whether each of want is in got, and nothing else is.
func samePolicies(want, got []EndpointPolicy) bool {
	if len(want) != len(got) {
		return false
	}
	left := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, func(g EndpointPolicy) bool { return holdsPolicy(w, g) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}
