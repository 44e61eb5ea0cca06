package hns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// settleTimeout bounds the clean-up after a failure. It has a deadline of its
// own because the caller's context may be what failed.
const settleTimeout = 10 * time.Second

// Attachment says which endpoint a pod should have. The name is the key: it is
// what a later [Client.Detach] goes by.
type Attachment struct {
	// Name of the endpoint, such as "<sandbox>_<network>".
	Name string
	// Network the endpoint is on.
	Network ID
	// Namespace it is added to.
	Namespace ID
	// Build returns the endpoint to create. It is called only if there is none
	// of that name, so addresses can be taken in it; the caller gives them
	// back if Attach then fails. Name and Network are set by Attach.
	Build func(context.Context) (*Endpoint, error)
	// Adopt, if set, is asked before an endpoint that is there already is
	// used; its error ends Attach, and the endpoint stays as it is.
	Adopt func(context.Context, *Endpoint) error
}

// Attached is what [Client.Attach] did.
type Attached struct {
	Endpoint *Endpoint
	// Created tells whether this call made the endpoint.
	Created bool
}

// Attach makes the endpoint and adds it to the namespace, as one step: when it
// fails, what this call made is gone again, and what was there before is as it
// was. Called again it finds the endpoint by name and only adds it.
//
// An endpoint of that name in another namespace that exists is ErrAttached;
// one on another network is replaced if it is attached to nothing, else
// ErrAttached; several are ErrAmbiguous. Endpoints that stand for another node's
// ([EndpointRemote]) are nobody's here, and do not count. Of the calls of one Client that are about
// one name, this and [EndpointService.Ensure], one at a time is carried out: do
// not call them for the name in Build or Adopt.
//
// The endpoint returned is as it was read, but for its Namespace.
func (c *Client) Attach(ctx context.Context, a Attachment) (*Attached, error) {
	if err := a.check(); err != nil {
		return nil, &Error{Op: "attach endpoint", Ref: strconv.Quote(a.Name), Err: err}
	}
	unlock, err := c.endpointNames.lock(ctx, a.Name)
	if err != nil {
		return nil, &Error{Op: "attach endpoint", Ref: strconv.Quote(a.Name), Err: err}
	}
	defer unlock()
	old, err := c.findOwn(ctx, a)
	if err != nil {
		return nil, err
	}
	done := &Attached{Endpoint: old}
	if old == nil {
		done.Created = true
		if done.Endpoint, err = c.createOwn(ctx, a); err != nil {
			return nil, err
		}
	} else if a.Adopt != nil {
		if err := a.Adopt(ctx, old); err != nil {
			return nil, err
		}
	}
	// Also when the endpoint says that it is in the namespace: after a restart
	// of HNS the attachment may be lost while the name of it stands.
	if err := c.Namespaces.AddEndpoint(ctx, a.Namespace, done.Endpoint.ID); err != nil {
		if done.Created {
			err = leftBehind(err, c.undoCreate(ctx, done.Endpoint.ID))
		}
		return nil, err
	}
	done.Endpoint.Namespace = a.Namespace
	return done, nil
}

func (a Attachment) check() error {
	var bad []*FieldError
	if a.Name == "" {
		bad = append(bad, &FieldError{Path: "Name", Reason: "missing"})
	}
	if a.Network.IsZero() {
		bad = append(bad, &FieldError{Path: "Network", Reason: "missing"})
	}
	if a.Namespace.IsZero() {
		bad = append(bad, &FieldError{Path: "Namespace", Reason: "missing"})
	}
	if a.Build == nil {
		bad = append(bad, &FieldError{Path: "Build", Reason: "missing"})
	}
	return joinFields(bad)
}

// localNamed returns the endpoints of that name that are of this node. An agent may
// name those of other nodes as it likes.
func (c *Client) localNamed(ctx context.Context, name string) ([]*Endpoint, error) {
	found, err := c.Endpoints.Named(ctx, name)
	return slices.DeleteFunc(found, func(e *Endpoint) bool { return e.Flags&EndpointRemote != 0 }), err
}

// findOwn returns the endpoint of that name that may be used, or nil.
func (c *Client) findOwn(ctx context.Context, a Attachment) (*Endpoint, error) {
	found, err := c.localNamed(ctx, a.Name)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	fail := func(err error) (*Endpoint, error) {
		return nil, &Error{Op: "attach endpoint", Kind: KindEndpoint, Ref: strconv.Quote(a.Name), Err: err}
	}
	if len(found) > 1 {
		return fail(fmt.Errorf("%w: %d endpoints have that name", ErrAmbiguous, len(found)))
	}
	e := found[0]
	elsewhere := !e.Namespace.IsZero() && e.Namespace != a.Namespace
	if elsewhere {
		_, err := c.Namespaces.ByID(ctx, e.Namespace)
		switch {
		case err == nil:
			return fail(fmt.Errorf("%w: %s is in namespace %s, wanted in %s", ErrAttached, e.ID, e.Namespace, a.Namespace))
		case !errors.Is(err, ErrNotFound):
			return nil, err
		}
	}
	if e.Network == a.Network && !elsewhere {
		return e, nil
	}
	if !e.Namespace.IsZero() && !elsewhere {
		return fail(fmt.Errorf("%w: %s is on network %s, wanted on %s", ErrAttached, e.ID, e.Network, a.Network))
	}
	if !elsewhere { // attached outside any namespace, to the node or by the v1 API, it is in use too
		state, err := c.Endpoints.stateOf(ctx, e)
		if err != nil {
			return nil, err
		}
		if isAttached(state) {
			return fail(fmt.Errorf("%w: %s is in use on network %s, wanted on %s", ErrAttached, e.ID, e.Network, a.Network))
		}
	}
	// A leftover: of a network that was made anew, or of a namespace that is gone.
	if err := c.Endpoints.Delete(ctx, e.ID); err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	return nil, nil
}

// createOwn makes the endpoint. Whatever the error of the create, the endpoint
// may be there: HNS may fail after the effect, or answer after the deadline.
func (c *Client) createOwn(ctx context.Context, a Attachment) (*Endpoint, error) {
	want, err := a.Build(ctx)
	if err != nil {
		return nil, err
	}
	if want == nil {
		return nil, &Error{Op: "attach endpoint", Ref: strconv.Quote(a.Name), Err: &FieldError{Path: "Build", Reason: "returned no endpoint"}}
	}
	spec := *want
	spec.Name, spec.Network = a.Name, a.Network
	e, err := c.Endpoints.Create(ctx, &spec)
	if err == nil || errors.Is(err, ErrNotSent) || isRefusal(err) {
		return e, err
	}
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	found, errFind := c.localNamed(settle, a.Name)
	if errFind != nil {
		return nil, leftBehind(err, errFind)
	}
	for _, f := range found {
		// There was none of that name before, so this one came of the create,
		// unless it shows the hand of another call that got there first.
		if f.Network != a.Network || !f.Namespace.IsZero() || isAttached(f.State) || !sameAddresses(f, &spec) {
			continue
		}
		if errors.Is(err, ErrExists) {
			return f, nil
		}
		if errDel := c.Endpoints.Delete(settle, f.ID); errDel != nil && !errors.Is(errDel, ErrNotFound) {
			err = leftBehind(err, errDel)
		}
	}
	if holder := c.holder(settle, &spec, err); holder != nil {
		err = fmt.Errorf("%w (the address belongs to endpoint %q %s, state %s)", err, holder.Name, holder.ID, holder.State)
	}
	return nil, err
}

// leftBehind joins the failure of a clean-up to what made it necessary.
func leftBehind(err, errUndo error) error {
	if errUndo == nil {
		return err
	}
	return errors.Join(err, fmt.Errorf("%w: %w", ErrLeftBehind, errUndo))
}

// holder returns the endpoint that has one of e's addresses, for the message
// of a create that failed for it.
func (c *Client) holder(ctx context.Context, e *Endpoint, err error) *Endpoint {
	if !errors.Is(err, ErrAddressInUse) {
		return nil
	}
	all, err := c.Endpoints.OfNetwork(ctx, e.Network)
	if err != nil {
		return nil
	}
	for _, other := range all {
		if sharesAddress(other, e) {
			return other
		}
	}
	return nil
}

func sharesAddress(a, b *Endpoint) bool {
	for _, x := range a.Addresses() {
		for _, y := range b.Addresses() {
			if x == y {
				return true
			}
		}
	}
	return false
}

// sameAddresses reports whether got has the addresses that want asks for.
func sameAddresses(got, want *Endpoint) bool {
	for _, w := range want.Addresses() {
		if !sharesAddress(got, &Endpoint{IPConfigs: []IPConfig{{Address: w}}}) {
			return false
		}
	}
	return true
}

func (c *Client) undoCreate(ctx context.Context, id ID) error {
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := c.Endpoints.Delete(settle, id); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}

// Detachment says which endpoint a pod should no longer have.
type Detachment struct {
	// Name of the endpoint, as in [Attachment].
	Name string
	// Own, if set, is asked about each endpoint of that name; those it does
	// not claim are left alone.
	Own func(context.Context, *Endpoint) (bool, error)
}

// Detach removes the endpoints of that name from their namespaces and deletes
// them. Everything that is gone already, the namespace and the network too, is
// success; nothing of that name is success. Endpoints that stand for another
// node's are left alone. Every step is tried; errors are joined.
func (c *Client) Detach(ctx context.Context, d Detachment) error {
	found, err := c.localNamed(ctx, d.Name)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range found {
		if d.Own != nil {
			own, err := d.Own(ctx, e)
			errs = append(errs, err)
			if err != nil || !own {
				continue
			}
		}
		errs = append(errs, c.detachOne(ctx, e))
	}
	return errors.Join(errs...)
}

func (c *Client) detachOne(ctx context.Context, e *Endpoint) error {
	var errDetach error
	if !e.Namespace.IsZero() {
		errDetach = c.Namespaces.RemoveEndpoint(ctx, e.Namespace, e.ID)
		if errors.Is(errDetach, ErrNotFound) {
			errDetach = nil
		}
	}
	err := c.Endpoints.Delete(ctx, e.ID)
	if err == nil || errors.Is(err, ErrNotFound) {
		return nil // a delete detaches too, so a detach that failed no longer matters
	}
	return errors.Join(errDetach, err)
}
