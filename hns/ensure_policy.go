package hns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// livePolicies are the types, in small letters, that a network without them
// can get later.
var livePolicies = map[string]bool{
	"hostroute": true, "l4proxy": true, "networkacl": true, "remotesubnetroute": true, "setpolicy": true,
}

func isLive(p NetworkPolicy) bool { return livePolicies[strings.ToLower(p.PolicyType())] }

// EnsurePolicies makes sure that the network has these policies; others stay.
// They are of the types that a live network takes: [HostRoute], [L4Proxy],
// [NetworkACL], [RemoteSubnetRoute] and [SetPolicy].
//
// A RemoteSubnetRoute is known by its destination prefix: one for the prefix
// with another address, VNI or MAC is removed first, and put back if the new one
// is refused. A SetPolicy is known by its id, and its values become those
// wanted, in whatever order. Of the other types one with all settings that are
// wanted must be there; HostRoute is added once.
//
// Each policy is a request of its own, so that after a failure the next call
// does what is left. With EnsureOptions.Drift nothing changes here.
func (s *NetworkService) EnsurePolicies(ctx context.Context, id ID, want []NetworkPolicy, opts *EnsureOptions) (Decision, error) {
	o := optionsOf(opts)
	fail := func(err error) (Decision, error) {
		return Decision{Kind: KindNetwork, Ref: id.String()}, &Error{Op: "ensure policies of network", Kind: KindNetwork, Ref: id.String(), Err: err}
	}
	bad := s.c.refusedList(checkPolicies(want, networkPolicies))
	if len(bad) == 0 {
		bad = checkKeys(want)
		for i, p := range want {
			if !isLive(p) {
				bad = append(bad, &FieldError{Path: fmt.Sprintf("Policies[%d].Type", i), Value: p.PolicyType(), Reason: "not a type that a live network takes"})
			}
		}
	}
	if len(bad) > 0 {
		return fail(joinFields(bad))
	}
	if err := s.c.gate(ctx, policyFeatures(want, networkPolicies)); err != nil {
		return fail(err)
	}
	_, d, err := patiently(ctx, o, func() (*Network, Decision, error) {
		d := Decision{Kind: KindNetwork, Ref: id.String()}
		got, err := s.ByID(ctx, id)
		if err != nil {
			return nil, d, err
		}
		plan := planPolicies(want, got.Policies)
		d.ID, d.Action, d.Differences = id, ActionKeep, plan.diffs
		if len(plan.diffs) > 0 {
			d.Action = ActionRepair
		}
		if o.DryRun {
			return got, d, nil
		}
		return got, d, s.carryOut(ctx, id, plan)
	})
	return d, err
}

// refusedList returns the complaints that Options.Allow does not lift.
func (c *Client) refusedList(bad []*FieldError) []*FieldError {
	return slices.DeleteFunc(bad, func(e *FieldError) bool { return e.Rule != "" && c.allowed[e.Rule] })
}

// checkKeys refuses two policies for one thing: each would undo the other.
func checkKeys(ps []NetworkPolicy) []*FieldError {
	var bad []*FieldError
	seen := map[string]int{}
	for i, p := range ps {
		key := ""
		switch t := typed(p, networkPolicies).(type) {
		case RemoteSubnetRoute:
			key = "a route to " + prefixText(t.DestinationPrefix.Masked())
		case SetPolicy:
			key = "a set " + strings.ToLower(t.ID)
		default:
			continue
		}
		if first, ok := seen[key]; ok {
			bad = append(bad, &FieldError{Path: policyPath(i, p), Reason: fmt.Sprintf("%s is wanted already, in Policies[%d]", key, first)})
		} else {
			seen[key] = i
		}
	}
	return bad
}

// policyPlan is what to do about the live policies of a network.
type policyPlan struct {
	diffs  []Difference
	steps  []policyStep
	wanted []NetworkPolicy
}

// policyStep puts one policy in place.
type policyStep struct {
	remove []NetworkPolicy // as they were read
	add    NetworkPolicy
	update bool // replace the set of the same id, instead of adding
}

// planPolicies looks at live policies alone.
func planPolicies(want, got []NetworkPolicy) policyPlan {
	plan := policyPlan{wanted: want}
	for i, w := range want {
		if noValue(w) != nil || !isLive(w) {
			continue
		}
		step, found := policyStep{add: w}, ""
		switch t := typed(w, networkPolicies).(type) {
		case RemoteSubnetRoute:
			same := routesTo(t, got)
			if len(same) == 1 && holdsPolicy[NetworkPolicy](t, typed(same[0], networkPolicies)) {
				continue
			}
			step.remove, found = same, texts(same)
		case SetPolicy:
			old, ok := setOf(t.ID, got)
			if ok && sameSet(t, old) {
				continue
			}
			if ok {
				step.update, found = true, settingsText(old)
			}
		default:
			if slices.ContainsFunc(got, func(g NetworkPolicy) bool { return holdsPolicy(w, g) }) {
				continue
			}
		}
		plan.steps = append(plan.steps, step)
		plan.diffs = append(plan.diffs, Difference{policyPath(i, w), settingsText(w), found})
	}
	return plan
}

func routesTo(r RemoteSubnetRoute, got []NetworkPolicy) []NetworkPolicy {
	var out []NetworkPolicy
	for _, g := range got {
		if t, ok := typed(g, networkPolicies).(RemoteSubnetRoute); ok && t.DestinationPrefix.IsValid() && t.DestinationPrefix.Masked() == r.DestinationPrefix.Masked() {
			out = append(out, g)
		}
	}
	return out
}

func texts[P policy](ps []P) string {
	var out []string
	for _, p := range ps {
		out = append(out, settingsText(p))
	}
	return strings.Join(out, " ")
}

func setOf(id string, got []NetworkPolicy) (SetPolicy, bool) {
	for _, g := range got {
		if t, ok := typed(g, networkPolicies).(SetPolicy); ok && strings.EqualFold(t.ID, id) {
			return t, true
		}
	}
	return SetPolicy{}, false
}

func sameSet(want, got SetPolicy) bool {
	values := func(p SetPolicy) []string {
		var out []string
		for _, v := range p.Values {
			out = append(out, strings.ToLower(v))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return want.Type == got.Type && (want.Name == "" || want.Name == got.Name) && slices.Equal(values(want), values(got))
}

// carryOut does the steps. If another program was faster with one, what the
// network has then decides.
func (s *NetworkService) carryOut(ctx context.Context, id ID, plan policyPlan) error {
	for _, step := range plan.steps {
		err := s.putPolicy(ctx, id, step)
		if errors.Is(err, ErrExists) {
			now, errRead := s.ByID(ctx, id)
			if errRead == nil && len(planPolicies([]NetworkPolicy{step.add}, now.Policies).diffs) == 0 {
				continue
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *NetworkService) putPolicy(ctx context.Context, id ID, step policyStep) error {
	if step.update {
		return s.UpdatePolicies(ctx, id, step.add)
	}
	for _, old := range step.remove {
		if err := s.RemovePolicies(ctx, id, old); err != nil && !isCode(err, CodePolicyNotFound) {
			return err
		}
	}
	err := s.AddPolicies(ctx, id, step.add)
	if err == nil || len(step.remove) == 0 || errors.Is(err, ErrExists) || errors.Is(err, ErrOutcomeUnknown) {
		return err
	}
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	// One is enough: of several for a prefix HNS knows which it goes by, we do not.
	if errBack := s.AddPolicies(settle, id, step.remove[0]); errBack != nil {
		return errors.Join(err, fmt.Errorf("%w: the old %s is gone: %w", ErrLeftBehind, step.add.PolicyType(), errBack))
	}
	return fmt.Errorf("%w (the old one was put back)", err)
}
