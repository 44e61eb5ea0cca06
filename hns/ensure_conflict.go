package hns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ConflictError is a network that could not be made because of another one,
// where HNS itself gives a bare code, or that Ensure did not try to make since
// it saw the other one first. It matches what Err does.
type ConflictError struct {
	// Reason says over what, such as "both use the adapter "Ethernet"".
	Reason string
	// Name and ID of the network in the way.
	Name string
	ID   ID
	// Err is the failed create; where nothing was tried, the sentinel that it
	// would have matched, such as ErrOverlap.
	Err error
}

// Error returns the failure, and the network in the way.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v (network %q %s stands in the way: %s)", e.Err, e.Name, e.ID, e.Reason)
}

// Unwrap returns e.Err.
func (e *ConflictError) Unwrap() error { return e.Err }

// nameConflict adds the network that stands in the way, for HNS does not say.
func (s *NetworkService) nameConflict(ctx context.Context, n *Network, err error) error {
	if !errors.Is(err, ErrOverlap) && !isCode(err, CodeInvalidParameter) {
		return err
	}
	all, errList := s.List(ctx)
	if errList != nil {
		return err // who it is is help only
	}
	for _, why := range []func(a, b *Network) string{overlap, sameAdapter, secondNAT} {
		for _, other := range all {
			if reason := why(n, other); reason != "" {
				return &ConflictError{Reason: reason, Name: other.Name, ID: other.ID, Err: err}
			}
		}
	}
	return err
}

// inTheWay returns what would keep HNS from making the network where self is.
// Subnets are judged among NAT networks alone: of other types HNS is not known
// to refuse an overlap.
func (s *NetworkService) inTheWay(ctx context.Context, n *Network, self ID) (*ConflictError, error) {
	if n.Type != NAT && (n.ID.IsZero() || n.ID == self) {
		return nil, nil
	}
	all, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range all {
		switch {
		case other.ID == self:
		case other.ID == n.ID:
			return &ConflictError{Reason: "it has the id", Name: other.Name, ID: other.ID, Err: ErrExists}, nil
		case n.Type == NAT && other.Type == NAT && overlap(n, other) != "":
			return &ConflictError{Reason: overlap(n, other), Name: other.Name, ID: other.ID, Err: ErrOverlap}, nil
		}
	}
	return nil, nil
}

func overlap(n, other *Network) string {
	for _, a := range n.Subnets() {
		for _, b := range other.Subnets() {
			if a.Prefix.IsValid() && b.Prefix.IsValid() && a.Prefix.Overlaps(b.Prefix) {
				return fmt.Sprintf("%s overlaps its %s", a.Prefix, b.Prefix)
			}
		}
	}
	return ""
}

func sameAdapter(n, other *Network) string {
	name := adapterOf(n)
	if name != "" && strings.EqualFold(name, adapterOf(other)) {
		return fmt.Sprintf("it is on the adapter %q", name)
	}
	return ""
}

func secondNAT(n, other *Network) string {
	if n.Type == NAT && other.Type == NAT {
		return "some hosts take one NAT network alone"
	}
	return ""
}

func adapterOf(n *Network) string {
	for _, p := range PoliciesOf[NetAdapterName](n.Policies) {
		return p.Name
	}
	return ""
}

// inTheWay returns why HNS would not make the endpoint where self is, as far as
// reading can tell. Whether a local endpoint and one of another node may share
// an address depends on the build.
func (e endpointEnsurer) inTheWay(ctx context.Context, self ID) (why, err error) {
	net, err := e.c.Networks.ByID(ctx, e.want.Network)
	if errors.Is(err, ErrNotFound) {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	remote := e.want.Flags & EndpointRemote
	if subnets := net.Subnets(); remote == 0 && len(subnets) > 0 {
		for _, a := range e.want.Addresses() {
			if _, ok := net.SubnetOf(a); !ok {
				return fmt.Errorf("%w: %s lies in none of the subnets of network %q: %s", ErrInvalid, a, net.Name, subnetTexts(subnets)), nil
			}
		}
	}
	all, err := e.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range all {
		switch {
		case other.ID == self:
		case other.ID == e.want.ID:
			return fmt.Errorf("%w: endpoint %q has the id %s", ErrExists, other.Name, other.ID), nil
		case other.Network == e.want.Network && other.Flags&EndpointRemote == remote && sharesAddress(other, e.want):
			return fmt.Errorf("%w: it belongs to endpoint %q %s", ErrAddressInUse, other.Name, other.ID), nil
		}
	}
	return nil, nil
}

// takeBack looks whether somebody else made an endpoint of the name meanwhile.
// Then one of the two must go, and both sides must choose the same: it is the
// one with the greater id. A side that looked before the other one was there
// knows nothing of this and keeps its own; the other notices, since that one
// stays, and goes. The result is the one to use, nil for the own one; a look that
// fails says nothing against it.
func (e endpointEnsurer) takeBack(ctx context.Context, made *Endpoint) (*Endpoint, error) {
	var wait pause
	for try := 1; ; try++ {
		found, err := e.Named(ctx, e.want.Name)
		if err != nil {
			return nil, nil //nolint:nilerr // the endpoint is made
		}
		found = slices.DeleteFunc(found, func(x *Endpoint) bool { return x.ID == made.ID })
		if len(found) == 0 {
			return nil, nil
		}
		other := slices.MinFunc(found, func(a, b *Endpoint) int { return bytes.Compare(a.ID[:], b.ID[:]) })
		if try == ghostTries || bytes.Compare(other.ID[:], made.ID[:]) < 0 {
			if err := e.Delete(ctx, made.ID); err != nil && !errors.Is(err, ErrNotFound) {
				return made, leftBehind(e.ambiguous(append(found, made)), err)
			}
			if len(found) > 1 {
				return other, e.ambiguous(found)
			}
			return other, nil
		}
		if err := wait.wait(ctx); err != nil {
			return made, fmt.Errorf("%w (%w)", e.ambiguous(append(found, made)), err)
		}
	}
}
