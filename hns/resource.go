package hns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// resource is what the verbs need to know about one kind of object.
type resource[T any] struct {
	kind   Kind
	decode func([]byte) (*T, error)
	encode func(*T) (json.RawMessage, error)
	check  func(*T) []*FieldError
	needs  func(*T) []Feature    // what not every HNS has; nil: nothing
	ident  func(*T) (ID, string) // id and name
	where  func(*T) string       // what a failed create says beside the name
}

var (
	networkKind = resource[Network]{KindNetwork, DecodeNetwork, (*Network).Encode, (*Network).check, (*Network).needs,
		func(n *Network) (ID, string) { return n.ID, n.Name },
		func(n *Network) string { return fmt.Sprintf(" (%s)", n.Type) }}
	endpointKind = resource[Endpoint]{KindEndpoint, DecodeEndpoint, (*Endpoint).Encode, (*Endpoint).check, (*Endpoint).needs,
		func(e *Endpoint) (ID, string) { return e.ID, e.Name }, (*Endpoint).where}
	namespaceKind = resource[Namespace]{KindNamespace, DecodeNamespace, (*Namespace).Encode, (*Namespace).check, nil,
		func(n *Namespace) (ID, string) { return n.ID, "" },
		func(*Namespace) string { return "" }}
	loadBalancerKind = resource[LoadBalancer]{KindLoadBalancer, DecodeLoadBalancer, (*LoadBalancer).Encode, (*LoadBalancer).check, (*LoadBalancer).needs,
		func(l *LoadBalancer) (ID, string) { return l.ID, "" }, (*LoadBalancer).where}
	routeKind = resource[SDNRouteObject]{KindRoute, DecodeSDNRouteObject, (*SDNRouteObject).Encode, (*SDNRouteObject).check, nil,
		func(r *SDNRouteObject) (ID, string) { return r.ID, "" }, (*SDNRouteObject).where}
)

func create[T any](ctx context.Context, c *Client, k resource[T], obj *T, network ID) (*T, error) {
	op := "create " + k.kind.String()
	fail := func(ref string, err error) (*T, error) {
		return nil, &Error{Op: op, Verb: VerbCreate, Kind: k.kind, Ref: ref, Err: err}
	}
	if obj == nil {
		return fail("", &FieldError{Reason: "nil " + k.kind.String()})
	}
	id, name := k.ident(obj)
	ref := idText(id)
	if name != "" {
		ref = strconv.Quote(name)
	}
	ref = strings.TrimSpace(ref + k.where(obj))
	doc, err := document(ctx, c, k, obj)
	if err != nil {
		return fail(ref, err)
	}
	resp, err := c.do(ctx, op, ref, Request{Verb: VerbCreate, Kind: k.kind, ID: id, Network: network, Document: doc})
	if err != nil {
		return nil, err
	}
	return one(op, VerbCreate, k, ref, resp)
}

// document judges the object and returns its text.
func document[T any](ctx context.Context, c *Client, k resource[T], obj *T) (json.RawMessage, error) {
	if err := c.refused(k.check(obj)); err != nil {
		return nil, err
	}
	doc, err := k.encode(obj)
	if err != nil || k.needs == nil {
		return doc, err
	}
	return doc, c.gate(ctx, k.needs(obj))
}

func one[T any](op string, v Verb, k resource[T], ref string, resp Response) (*T, error) {
	if len(resp.Documents) != 1 {
		return nil, &Error{Op: op, Verb: v, Kind: k.kind, Ref: ref, Err: fmt.Errorf("HNS answered with %d objects instead of one", len(resp.Documents))}
	}
	obj, err := k.decode(resp.Documents[0])
	if err != nil {
		return nil, &Error{Op: op, Verb: v, Kind: k.kind, Ref: ref, Err: causeOf(err)}
	}
	return obj, nil
}

// causeOf returns what is inside an *Error, to put it under another operation.
func causeOf(err error) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // only the outermost is added to
		return e.Err
	}
	return err
}

func byID[T any](ctx context.Context, c *Client, k resource[T], id ID) (*T, error) {
	op := "get " + k.kind.String()
	if id.IsZero() {
		return nil, zeroID(op, VerbGet, k.kind)
	}
	resp, err := c.do(ctx, op, id.String(), Request{Verb: VerbGet, Kind: k.kind, ID: id})
	if err != nil {
		return nil, err
	}
	return one(op, VerbGet, k, id.String(), resp)
}

func list[T any](ctx context.Context, c *Client, k resource[T], filter string) ([]*T, error) {
	op := "list " + k.kind.String() + "s"
	resp, err := c.do(ctx, op, filter, Request{Verb: VerbList, Kind: k.kind, Filter: filter})
	if err != nil {
		return nil, err
	}
	out := make([]*T, 0, len(resp.Documents))
	for _, d := range resp.Documents {
		obj, err := k.decode(d)
		if err != nil {
			return nil, &Error{Op: op, Verb: VerbList, Kind: k.kind, Ref: filter, Err: causeOf(err)}
		}
		out = append(out, obj)
	}
	return out, nil
}

// named compares names again: whether HNS's filter minds letter case is not known.
func named[T any](ctx context.Context, c *Client, k resource[T], name string) ([]*T, error) {
	if name == "" {
		return nil, &Error{Op: "find " + k.kind.String(), Verb: VerbList, Kind: k.kind, Err: &FieldError{Path: "Name", Reason: "missing"}}
	}
	all, err := list(ctx, c, k, filter("Name", name))
	if err != nil {
		return nil, err
	}
	var out []*T
	for _, o := range all {
		if _, n := k.ident(o); n == name {
			out = append(out, o)
		}
	}
	return out, nil
}

func byName[T any](ctx context.Context, c *Client, k resource[T], name string) (*T, error) {
	found, err := named(ctx, c, k, name)
	if err != nil {
		return nil, err
	}
	return onlyOne(k, name, found)
}

// onlyOne returns the one object that was found by its name.
func onlyOne[T any](k resource[T], name string, found []*T) (*T, error) {
	var err error
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		err = ErrNotFound
	default:
		var ids []string
		for _, o := range found {
			id, _ := k.ident(o)
			ids = append(ids, id.String())
		}
		err = fmt.Errorf("%w: %s", ErrAmbiguous, strings.Join(ids, ", "))
	}
	return nil, &Error{Op: "find " + k.kind.String(), Verb: VerbList, Kind: k.kind, Ref: strconv.Quote(name), Err: err}
}

func remove[T any](ctx context.Context, c *Client, k resource[T], id ID) error {
	op := "delete " + k.kind.String()
	if id.IsZero() {
		return zeroID(op, VerbDelete, k.kind)
	}
	_, err := c.do(ctx, op, id.String(), Request{Verb: VerbDelete, Kind: k.kind, ID: id})
	return err
}

// filter returns the filter for one member.
func filter(member, value string) string {
	b, _ := encode(map[string]string{member: value}) // texts always marshal
	return string(b)
}

// refused returns the complaints that Options.Allow does not lift, or nil.
func (c *Client) refused(bad []*FieldError) error {
	var left []*FieldError
	for _, e := range bad {
		if e.Rule == "" || !c.allowed[e.Rule] {
			left = append(left, e)
		}
	}
	return joinFields(left)
}

// fieldErrors is several complaints as one error.
type fieldErrors []*FieldError

func (l fieldErrors) Error() string {
	var texts []string
	for _, e := range l {
		texts = append(texts, e.Error())
	}
	return strings.Join(texts, "; ")
}

func (l fieldErrors) Unwrap() []error {
	var out []error
	for _, e := range l {
		out = append(out, e)
	}
	return out
}

func joinFields(bad []*FieldError) error {
	if len(bad) == 0 {
		return nil
	}
	return fieldErrors(bad)
}

// isRefusal reports whether err is complaints about a document, or about the
// HNS that it was for; it then was not sent.
func isRefusal(err error) bool {
	var l fieldErrors
	var g gateError
	return errors.As(err, &l) || errors.As(err, &g)
}

// FieldErrors returns every *[FieldError] that err holds, in order, however
// it is wrapped or joined.
func FieldErrors(err error) []*FieldError {
	if isNil(err) {
		return nil
	}
	switch e := err.(type) { //nolint:errorlint // takes the tree apart itself
	case *FieldError:
		return []*FieldError{e}
	case interface{ Unwrap() error }:
		return FieldErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		var out []*FieldError
		for _, inner := range e.Unwrap() {
			out = append(out, FieldErrors(inner)...)
		}
		return out
	}
	return nil
}
