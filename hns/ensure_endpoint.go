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
		return nil, d, ensureFailed(KindEndpoint, d.Ref, fmt.Errorf("%w: %d endpoints have that name", ErrAmbiguous, len(found)))
	}
	return e.settle(ctx, found[0], d)
}

// create makes the endpoint that is not there.
func (e endpointEnsurer) create(ctx context.Context, d Decision) (*Endpoint, Decision, error) {
	if e.opts.DryRun {
		return nil, d, nil
	}
	made, err := e.Create(ctx, e.want)
	if err != nil {
		// HNS may say "already exists" of what it has just made, or of what
		// another call made at the same moment.
		if made, err = e.afterCreate(ctx, err); err != nil {
			return nil, d, err
		}
	}
	if e.host {
		err = e.AttachHost(ctx, made.ID)
		if err == nil {
			made, err = e.refresh(ctx, made)
		}
		return made, d, err
	}
	return made, d, nil
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
	if len(found) == 1 {
		policies, _, _ := planEndpointPolicies(e.want.Policies, found[0].Policies)
		if len(policies)+len(e.compareFixed(found[0])) == 0 {
			return found[0], nil
		}
	}
	if holder := e.c.holder(ctx, e.want, err); holder != nil {
		err = fmt.Errorf("%w (the address belongs to endpoint %q %s, state %s)", err, holder.Name, holder.ID, holder.State)
	}
	return nil, err
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
	anew := e.opts.Drift == DriftRecreate
	if !anew && got.Network != e.want.Network {
		_, err := e.c.Networks.ByID(ctx, got.Network)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return got, d, err
		}
		anew = err != nil
	}
	if !anew {
		return got, d, d.refuse(fixed, nil)
	}
	if at.holder != "" || at.attached && !e.host {
		if at.holder == "" {
			at.holder = "the node"
		}
		return got, d, d.refuse(fixed, fmt.Errorf("%w to %s", ErrAttached, at.holder))
	}
	d.Action = ActionRecreate
	if e.opts.DryRun {
		return got, d, nil
	}
	if err := e.Delete(ctx, got.ID); err != nil && !errors.Is(err, ErrNotFound) {
		return got, d, err
	}
	made, d, err := e.create(ctx, d)
	if err != nil && made == nil {
		err = fmt.Errorf("%w (the endpoint %s that was there is deleted)", err, got.ID)
	}
	return made, d, err
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
