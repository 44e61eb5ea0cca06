package hns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Ensure makes sure that there is a load balancer as want says. One is known
// by want.ID if that is set, else by what HNS keeps apart: its virtual addresses
// (none: the node) with protocols and external ports. It creates the load
// balancer; keeps it; or repairs whatever else is not as wanted: the set of
// backends, internal ports, distributions and flags, and SourceVIP and Network if
// want has them.
//
// Repair is [LoadBalancerService.Update] where HNS has
// [FeatureModifyLoadBalancer], else the load balancer is deleted and made anew
// with its id (ActionRecreate), and for a moment there is none; if that fails
// the old one is put back, and if that fails too the error is ErrLeftBehind.
//
// A want without backends deletes the load balancer (ActionDelete), since HNS
// takes none without; the result is nil. Its id is then enough: without port
// mappings it is known by that alone. Backends that are not there are
// ErrNotFound before anything changes, also where the load balancer names them
// as wanted: it is dead for them (kubernetes/kubernetes#112836).
//
// One that shares only some of the addresses and ports is a *[DriftError], or is
// made anew with DriftRecreate; with DriftKeep it is used as it is. [ProtocolAny]
// shares the port with every protocol. Several are ErrAmbiguous.
func (s *LoadBalancerService) Ensure(ctx context.Context, want *LoadBalancer, opts *EnsureOptions) (*LoadBalancer, Decision, error) {
	if want == nil {
		return nil, Decision{Kind: KindLoadBalancer}, ensureFailed(KindLoadBalancer, "", &FieldError{Reason: "nil load balancer"})
	}
	o := optionsOf(opts)
	d := Decision{Kind: KindLoadBalancer, Ref: strings.TrimSpace(idText(want.ID) + want.where())}
	judged := *want
	if len(want.Endpoints) == 0 { // a delete: the rest is judged all the same
		judged.Endpoints = []ID{{1}}
	}
	if want.byIDAlone() {
		d.Ref = want.ID.String()
		judged.PortMappings = []LoadBalancerPortMapping{{Protocol: TCP, InternalPort: 1, ExternalPort: 1}}
	}
	if _, err := document(ctx, s.c, loadBalancerKind, &judged); err != nil {
		return nil, d, ensureFailed(KindLoadBalancer, d.Ref, err)
	}
	return patiently(ctx, o, func() (*LoadBalancer, Decision, error) {
		return s.ensureOnce(ctx, want, d, o)
	})
}

func (s *LoadBalancerService) ensureOnce(ctx context.Context, want *LoadBalancer, d Decision, o EnsureOptions) (*LoadBalancer, Decision, error) {
	all, err := s.List(ctx)
	if err != nil {
		return nil, d, err
	}
	found := slices.DeleteFunc(all, func(l *LoadBalancer) bool { return !sameService(want, l) })
	if len(found) > 1 {
		var ids []ID
		for _, l := range found {
			ids = append(ids, l.ID)
		}
		return nil, d, ensureFailed(KindLoadBalancer, d.Ref, fmt.Errorf("%w: %s", ErrAmbiguous, joinTexts(ids)))
	}
	if len(want.Endpoints) == 0 {
		return s.ensureNone(ctx, want, found, d, o)
	}
	if err := s.c.backendsExist(ctx, want.Endpoints); err != nil {
		return nil, d, ensureFailed(KindLoadBalancer, d.Ref, err)
	}
	if len(found) == 0 {
		d.Action = ActionCreate
		if o.DryRun {
			return nil, d, nil
		}
		return s.ensureNew(ctx, want, d)
	}
	return s.settle(ctx, want, found[0], d, o)
}

// byIDAlone tells a want that says which load balancer is to go, and no more.
func (l *LoadBalancer) byIDAlone() bool {
	return !l.ID.IsZero() && len(l.Endpoints)+len(l.PortMappings)+len(l.FrontendVIPs) == 0
}

// ensureNew makes the load balancer that is not there. If another call was
// faster with the same one, or HNS failed after it had made it, that is kept.
func (s *LoadBalancerService) ensureNew(ctx context.Context, want *LoadBalancer, d Decision) (*LoadBalancer, Decision, error) {
	made, err := s.Create(ctx, want)
	if !errors.Is(err, ErrExists) && !errors.Is(err, ErrUnavailable) {
		return made, d, err
	}
	all, errList := s.List(ctx)
	if errList != nil {
		return nil, d, errors.Join(err, errList)
	}
	for _, got := range all {
		if sameService(want, got) && len(compareKeys(want, got))+len(compareLoadBalancers(want, got)) == 0 {
			if errors.Is(err, ErrExists) {
				d.Action, d.ID = ActionKeep, got.ID
			}
			return got, d, nil
		}
	}
	return nil, d, err
}

// ensureNone deletes the load balancer that has no backends any more.
func (s *LoadBalancerService) ensureNone(ctx context.Context, want *LoadBalancer, found []*LoadBalancer, d Decision, o EnsureOptions) (*LoadBalancer, Decision, error) {
	d.Action = ActionKeep
	if len(found) == 0 {
		return nil, d, nil
	}
	got := found[0]
	d.ID = got.ID
	if key := compareKeys(want, got); len(key) > 0 && !want.byIDAlone() && o.Drift != DriftRecreate {
		d.Differences = key
		if o.Drift == DriftKeep {
			return got, d, nil
		}
		return got, d, d.refuse(key, nil)
	}
	d.Action = ActionDelete
	d.Differences = []Difference{{"HostComputeEndpoints", "", idTexts(got.Endpoints)}}
	if o.DryRun {
		return got, d, nil
	}
	if err := s.Delete(ctx, got.ID); err != nil && !errors.Is(err, ErrNotFound) {
		return got, d, err
	}
	return nil, d, nil
}

// settle decides about a load balancer that is there, and carries it out.
func (s *LoadBalancerService) settle(ctx context.Context, want, got *LoadBalancer, d Decision, o EnsureOptions) (*LoadBalancer, Decision, error) {
	d.ID = got.ID
	key, rest := compareKeys(want, got), compareLoadBalancers(want, got)
	d.Differences = slices.Concat(key, rest)
	switch {
	case len(d.Differences) == 0, len(key) > 0 && o.Drift == DriftKeep:
		d.Action = ActionKeep
		return got, d, nil
	case len(key) > 0 && o.Drift == DriftRefuse:
		return got, d, d.refuse(key, nil)
	}
	wanted := *want
	if wanted.ID.IsZero() {
		wanted.ID = got.ID
	}
	if !wanted.SourceVIP.IsValid() {
		wanted.SourceVIP = got.SourceVIP
	}
	if wanted.Network.IsZero() {
		wanted.Network = got.Network
	}
	err := s.c.requireModify(ctx)
	switch {
	case len(key) > 0, errors.Is(err, ErrUnsupported):
		d.Action = ActionRecreate
	case err != nil: // whether it can be changed is not known
		return got, d, err
	default:
		d.Action = ActionRepair
	}
	if o.DryRun {
		return got, d, nil
	}
	if d.Action == ActionRecreate {
		made, err := s.replace(ctx, &wanted, got)
		return made, d, err
	}
	now, err := s.change(ctx, &wanted)
	return now, d, err
}

// change updates the load balancer, and looks: some builds say yes and change
// nothing.
func (s *LoadBalancerService) change(ctx context.Context, l *LoadBalancer) (*LoadBalancer, error) {
	errUpdate := s.Update(ctx, l)
	if errUpdate != nil && !errors.Is(errUpdate, ErrUnavailable) {
		return nil, errUpdate
	}
	now, err := s.ByID(ctx, l.ID)
	if err != nil {
		return nil, errors.Join(errUpdate, err)
	}
	if left := slices.Concat(compareKeys(l, now), compareLoadBalancers(l, now)); len(left) > 0 {
		if errUpdate != nil {
			return now, errUpdate
		}
		return now, ensureFailed(KindLoadBalancer, l.ID.String(), fmt.Errorf("%w: HNS accepted the change and did not carry it out: %w", ErrUnsupported,
			&DriftError{Kind: KindLoadBalancer, Ref: strings.TrimSpace(l.where()), ID: l.ID, Differences: left}))
	}
	return now, nil
}

// replace makes l in the place of old.
func (s *LoadBalancerService) replace(ctx context.Context, l, old *LoadBalancer) (*LoadBalancer, error) {
	return replace(ctx, s.c, replacement[LoadBalancer]{
		kind: loadBalancerKind, id: old.ID, old: old,
		create: func(ctx context.Context) (*LoadBalancer, error) { return s.Create(ctx, l) },
		settled: func(ctx context.Context) (*LoadBalancer, error) {
			now, err := s.ByID(ctx, l.ID)
			if errors.Is(err, ErrNotFound) {
				return nil, nil
			}
			if err != nil || len(compareKeys(l, now))+len(compareLoadBalancers(l, now)) > 0 {
				return nil, err
			}
			return now, nil
		},
		restore: func(ctx context.Context) error {
			_, err := putBack(ctx, s.c, loadBalancerKind, old, ID{})
			return err
		},
	})
}

// backendsExist says which backends are not there, before anything is deleted
// for them.
func (c *Client) backendsExist(ctx context.Context, wanted []ID) error {
	all, err := c.Endpoints.List(ctx)
	if err != nil {
		return err
	}
	var bad []*FieldError
	var missing []ID
	for i, id := range wanted {
		if !slices.ContainsFunc(all, func(e *Endpoint) bool { return e.ID == id }) {
			bad = append(bad, &FieldError{Path: fmt.Sprintf("HostComputeEndpoints[%d]", i), Value: id.String(), Reason: "no such endpoint"})
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w (%w: endpoint %s)", joinFields(bad), ErrNotFound, joinTexts(missing))
}

// portKey is what HNS keeps apart on one virtual address.
type portKey struct {
	protocol Protocol
	port     uint16
}

func portKeys(l *LoadBalancer) []portKey {
	var out []portKey
	for _, m := range l.PortMappings {
		out = append(out, portKey{m.Protocol, m.ExternalPort})
	}
	return out
}

// sameService reports whether got stands where want is to stand.
func sameService(want, got *LoadBalancer) bool {
	if !want.ID.IsZero() && want.ID == got.ID {
		return true
	}
	if want.Flags&LoadBalancerIPv6 != got.Flags&LoadBalancerIPv6 {
		return false
	}
	if len(want.FrontendVIPs) == 0 || len(got.FrontendVIPs) == 0 {
		return len(want.FrontendVIPs) == len(got.FrontendVIPs) && shareAPort(want, got)
	}
	return shareAPort(want, got) && slices.ContainsFunc(want.FrontendVIPs, func(a netip.Addr) bool { return slices.Contains(got.FrontendVIPs, a) })
}

// shareAPort reports whether both want the same port of one protocol:
// ProtocolAny is all of them.
func shareAPort(a, b *LoadBalancer) bool {
	return slices.ContainsFunc(portKeys(a), func(x portKey) bool {
		return slices.ContainsFunc(portKeys(b), func(y portKey) bool {
			return x.port == y.port && (x.protocol == y.protocol || x.protocol == ProtocolAny || y.protocol == ProtocolAny)
		})
	})
}

func sameSets[T comparable](a, b []T) bool {
	in := func(l []T) func(T) bool { return func(x T) bool { return !slices.Contains(l, x) } }
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// compareKeys compares what makes it this load balancer.
func compareKeys(want, got *LoadBalancer) []Difference {
	var diffs []Difference
	if !want.ID.IsZero() && want.ID != got.ID {
		diffs = append(diffs, Difference{"ID", want.ID.String(), got.ID.String()})
	}
	if !sameSets(want.FrontendVIPs, got.FrontendVIPs) {
		diffs = append(diffs, Difference{"FrontendVIPs", joinTexts(want.FrontendVIPs), joinTexts(got.FrontendVIPs)})
	}
	if !sameSets(portKeys(want), portKeys(got)) {
		diffs = append(diffs, Difference{"PortMappings", portTexts(want.PortMappings), portTexts(got.PortMappings)})
	}
	return diffs
}

// compareLoadBalancers compares the rest.
func compareLoadBalancers(want, got *LoadBalancer) []Difference {
	var diffs []Difference
	if !sameSets(want.Endpoints, got.Endpoints) {
		diffs = append(diffs, Difference{"HostComputeEndpoints", idTexts(want.Endpoints), idTexts(got.Endpoints)})
	}
	if sameSets(portKeys(want), portKeys(got)) && !sameSets(want.PortMappings, got.PortMappings) {
		diffs = append(diffs, Difference{"PortMappings", portTexts(want.PortMappings), portTexts(got.PortMappings)})
	}
	if want.Flags != got.Flags {
		diffs = append(diffs, Difference{"Flags", fmt.Sprint(want.Flags), fmt.Sprint(got.Flags)})
	}
	if want.SourceVIP.IsValid() && want.SourceVIP != got.SourceVIP {
		diffs = append(diffs, Difference{"SourceVIP", addrText(want.SourceVIP), addrText(got.SourceVIP)})
	}
	if !want.Network.IsZero() && !got.Network.IsZero() && want.Network != got.Network {
		diffs = append(diffs, Difference{"HostComputeNetwork", want.Network.String(), got.Network.String()})
	}
	return diffs
}

// idTexts writes a set: its order means nothing.
func idTexts(ids []ID) string {
	var out []string
	for _, id := range ids {
		out = append(out, id.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func portTexts(ms []LoadBalancerPortMapping) string {
	var out []string
	for _, m := range ms {
		s := fmt.Sprintf("%s %d to %d", m.Protocol, m.ExternalPort, m.InternalPort)
		if m.Distribution != DistributePerConnection {
			s += " by " + distributionNames[uint64(m.Distribution)]
		}
		if m.Flags != 0 {
			s += fmt.Sprintf(" flags %d", m.Flags)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}
