package hns

import (
	"context"
	"errors"
	"fmt"
)

// replacement is an object that HNS cannot change in place: it goes, and
// another comes where it was.
type replacement[T any] struct {
	kind resource[T]
	id   ID // of the old one
	old  *T
	// create makes the new one. One that it returns with an error is there and
	// stays.
	create func(context.Context) (*T, error)
	// settled looks whether the new one is there as wanted though its create
	// failed, and returns it, else nil.
	settled func(context.Context) (*T, error)
	// restore makes the old one again; nil for what is not worth it.
	restore func(context.Context) error
}

// replace carries it out. A create that failed is settled by reading, for HNS
// may fail after the effect; if the new one is not there the old one is put
// back, and if that fails the error is ErrLeftBehind. While the create is still
// out nothing is put back: the two would meet.
func replace[T any](ctx context.Context, c *Client, r replacement[T]) (*T, error) {
	what := fmt.Sprintf("%s %s", r.kind.kind, r.id)
	if err := remove(ctx, c, r.kind, r.id); err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	made, err := r.create(ctx)
	if err == nil || made != nil {
		return made, err
	}
	if errors.Is(err, ErrOutcomeUnknown) {
		return nil, fmt.Errorf("%w (the old %s is deleted)", err, what)
	}
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	now, errRead := r.settled(settle)
	switch {
	case errRead != nil:
		return nil, errors.Join(err, fmt.Errorf("%w: the old %s is deleted, and whether the new one is there is not known: %w", ErrLeftBehind, what, errRead))
	case now != nil:
		return now, nil
	case r.restore == nil:
		return nil, fmt.Errorf("%w (the old %s is deleted)", err, what)
	}
	if errBack := r.restore(settle); errBack != nil {
		return nil, errors.Join(err, fmt.Errorf("%w: the old %s is gone: %w", ErrLeftBehind, what, errBack))
	}
	return nil, fmt.Errorf("%w (the old one was put back)", err)
}

// putBack creates what HNS had, with its id. It is not judged: HNS had it.
func putBack[T any](ctx context.Context, c *Client, k resource[T], old *T, network ID) (*T, error) {
	op := "put back " + k.kind.String()
	id, _ := k.ident(old)
	doc, err := k.encode(old)
	if err != nil {
		return nil, &Error{Op: op, Verb: VerbCreate, Kind: k.kind, Ref: id.String(), Err: err}
	}
	resp, err := c.do(ctx, op, id.String(), Request{Verb: VerbCreate, Kind: k.kind, ID: id, Network: network, Document: doc})
	if err == nil {
		return one(op, VerbCreate, k, id.String(), resp)
	}
	now, errRead := byID(ctx, c, k, id) // HNS may have failed after the effect
	if errRead != nil {
		return nil, err
	}
	if again, errEncode := k.encode(now); errEncode != nil || !sameJSON(doc, again) {
		return nil, err
	}
	return now, nil
}
