package v1doc

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// kind is what there is to know about one kind of object.
type kind[T any] struct {
	name string
	converter
	decode func([]byte) (*T, error)
	encode func(*T) (json.RawMessage, error)
	doc    func(*T) *hns.Document
	list   string // the type of policies in a policy list, else ""
}

var (
	networks = kind[hns.Network]{"network", converters[hns.KindNetwork], hns.DecodeNetwork, (*hns.Network).Encode,
		func(n *hns.Network) *hns.Document { return &n.Document }, ""}
	endpoints = kind[hns.Endpoint]{"endpoint", converters[hns.KindEndpoint], hns.DecodeEndpoint, (*hns.Endpoint).Encode,
		func(e *hns.Endpoint) *hns.Document { return &e.Document }, ""}
	namespaces = kind[hns.Namespace]{"namespace", converters[hns.KindNamespace], hns.DecodeNamespace, (*hns.Namespace).Encode,
		func(n *hns.Namespace) *hns.Document { return &n.Document }, ""}
	balancers = kind[hns.LoadBalancer]{"load balancer", converters[hns.KindLoadBalancer], hns.DecodeLoadBalancer, (*hns.LoadBalancer).Encode,
		func(l *hns.LoadBalancer) *hns.Document { return &l.Document }, elb}
	routes = kind[hns.SDNRouteObject]{"SDN route", converters[hns.KindRoute], hns.DecodeSDNRouteObject, (*hns.SDNRouteObject).Encode,
		func(r *hns.SDNRouteObject) *hns.Document { return &r.Document }, sdnRoute}
)

// DecodeNetwork reads a network (HNSNetwork). It fails only if doc is no JSON
// object. NetworkAdapterName, SourceMac, DrMacAddress, AutomaticDNS and, on
// Overlay, ManagementIP become policies.
func DecodeNetwork(doc []byte) (*hns.Network, error) { return decode(networks, doc) }

// EncodeNetwork returns the network in schema 1. The error holds a
// *hns.FieldError for each value that schema 1 has no place for.
func EncodeNetwork(n *hns.Network) (json.RawMessage, error) { return encode(networks, n) }

// DecodeEndpoint reads an endpoint (HNSEndpoint). It fails only if doc is no JSON
// object. EncapOverhead becomes a policy, IsRemoteEndpoint, DisableICC and
// EnableLowMetric become flags, and gateways default routes.
func DecodeEndpoint(doc []byte) (*hns.Endpoint, error) { return decode(endpoints, doc) }

// EncodeEndpoint returns the endpoint in schema 1. The error holds a
// *hns.FieldError for each value that schema 1 has no place for, such as a
// route that is no default route, or a policy of a type that schema 1 does not
// know; one that was read stays.
func EncodeEndpoint(e *hns.Endpoint) (json.RawMessage, error) { return encode(endpoints, e) }

// DecodeNamespace reads a namespace. It fails only if doc is no JSON object.
func DecodeNamespace(doc []byte) (*hns.Namespace, error) { return decode(namespaces, doc) }

// EncodeNamespace returns the namespace in schema 1. Resources are read only
// and stay as they were read. The error is for namespaces of a guest.
func EncodeNamespace(n *hns.Namespace) (json.RawMessage, error) { return encode(namespaces, n) }

// DecodeLoadBalancer reads a policy list of ELB policies as a load balancer. It
// fails only if doc is no JSON object. Policies of another type, and what the
// policies disagree about, are listed in its Document.
func DecodeLoadBalancer(doc []byte) (*hns.LoadBalancer, error) {
	l, err := decode(balancers, doc)
	if err == nil {
		l.Document.Unread = append(l.Document.Unread, strangersIn(doc, elb)...)
	}
	return l, err
}

// EncodeLoadBalancer returns the load balancer as a policy list, with an ELB
// policy for each port. The error holds a *hns.FieldError for each value that
// schema 1 has no place for, such as a distribution, or a virtual IP without a
// port.
//
// Of a list whose policies disagree or are not all of type ELB, what the
// policies say cannot be changed: the error has what does not fit. Without its
// Document the load balancer is written anew.
func EncodeLoadBalancer(l *hns.LoadBalancer) (json.RawMessage, error) { return encode(balancers, l) }

// DecodeRoute reads a policy list of ROUTE policies as an SDN route object. It
// fails only if doc is no JSON object. Policies of another type are listed in
// its Document.
func DecodeRoute(doc []byte) (*hns.SDNRouteObject, error) {
	r, err := decode(routes, doc)
	if err == nil {
		r.Document.Unread = append(r.Document.Unread, strangersIn(doc, sdnRoute)...)
	}
	return r, err
}

// EncodeRoute returns the SDN route object as a policy list. Of a list that
// holds policies of another type, the routes cannot be changed; see
// [EncodeLoadBalancer].
func EncodeRoute(r *hns.SDNRouteObject) (json.RawMessage, error) { return encode(routes, r) }

// IsRoute reports whether a policy list holds a ROUTE policy: it is for
// [DecodeRoute] then, else for [DecodeLoadBalancer].
func IsRoute(doc []byte) bool {
	o, err := parse(doc)
	if err != nil {
		return false
	}
	return len(ofType(o, sdnRoute)) > 0
}

func decode[T any](k kind[T], doc []byte) (*T, error) {
	o, err := parse(doc)
	if err != nil {
		return nil, fmt.Errorf("read %s of schema 1: %w", k.name, err)
	}
	obj, err := k.decode(must(k.up(o)))
	if err != nil {
		return nil, fmt.Errorf("read %s of schema 1: %w", k.name, err)
	}
	k.doc(obj).Raw = slices.Clone(doc)
	return obj, nil
}

func encode[T any](k kind[T], obj *T) (json.RawMessage, error) {
	fail := func(err error) (json.RawMessage, error) {
		return nil, fmt.Errorf("write %s in schema 1: %w", k.name, err)
	}
	if obj == nil {
		return fail(&hns.FieldError{Reason: "nil " + k.name})
	}
	now, lost, err := schema1(k, obj)
	if err != nil {
		return fail(err)
	}
	raw, ok := original(k.doc(obj).Raw)
	if !ok {
		if len(lost) > 0 {
			return fail(lost.err())
		}
		return must(now), nil
	}
	old, err := decode(k, k.doc(obj).Raw)
	if err != nil {
		return nil, err
	}
	base, known, err := schema1(k, old)
	if err != nil {
		return fail(err)
	}
	lost = lost.beyond(known)
	if k.list != "" && !equal(base.get("Policies"), now.get("Policies")) {
		lost.rewrites(raw, k.list)
	}
	if len(lost) > 0 {
		return fail(lost.err())
	}
	if !merge(raw, base, now) {
		return slices.Clone(k.doc(obj).Raw), nil
	}
	return must(raw), nil
}

// original returns the document that the object was read from, if it is one of
// schema 1.
func original(doc []byte) (object, bool) {
	if len(doc) == 0 {
		return nil, false
	}
	o, err := parse(doc)
	if err != nil {
		return nil, false
	}
	version, _ := parse(o.get("SchemaVersion"))
	return o, version.number("Major") < 2
}

// schema1 returns the members of schema 1 that the object has, and what has no
// place there.
func schema1[T any](k kind[T], obj *T) (object, complaints, error) {
	doc, err := k.encode(obj)
	if err != nil {
		return nil, nil, err
	}
	o, err := parse(doc)
	if err != nil {
		return nil, nil, err
	}
	var lost complaints
	return k.down(o, &lost), lost, nil
}

// complaint is a value that schema 1 has no place for.
type complaint struct {
	path, reason string
	value        json.RawMessage
}

type complaints []complaint

func (c *complaints) add(path string, value json.RawMessage) {
	c.because(path, value, "schema 1 has no place for it")
}

func (c *complaints) because(path string, value json.RawMessage, reason string) {
	*c = append(*c, complaint{path, reason, value})
}

// err returns a *hns.FieldError for each, nil if there are none.
func (c complaints) err() error {
	var out []error
	for _, x := range c {
		out = append(out, &hns.FieldError{Path: x.path, Value: clip(x.value), Reason: x.reason})
	}
	return errors.Join(out...)
}

// clip returns a value for an error: a text as it is, and nothing long.
func clip(value json.RawMessage) string {
	text := string(value)
	var s string
	if json.Unmarshal(value, &s) == nil {
		text = s
	}
	if len(text) > 64 {
		return text[:64] + "..."
	}
	return text
}

// refuse complains about the members of o, except those named.
func (c *complaints) refuse(o object, path string, except ...string) {
	for _, name := range sortedKeys(o) {
		if !slices.Contains(except, name) {
			c.add(path+name, o[name])
		}
	}
}

// beyond returns the complaints that are not about what the document had
// already, and keeps, be it at another place of its list.
func (c complaints) beyond(known complaints) (out complaints) {
	known = slices.Clone(known)
	for _, x := range c {
		at := slices.IndexFunc(known, func(k complaint) bool {
			return index.ReplaceAllString(k.path, "") == index.ReplaceAllString(x.path, "") && equal(k.value, x.value)
		})
		if at < 0 {
			out = append(out, x)
		} else {
			known = slices.Delete(known, at, at+1)
		}
	}
	return out
}

var index = regexp.MustCompile(`\[\d+\]`)
