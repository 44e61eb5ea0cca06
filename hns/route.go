package hns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// SDNRouteObject is routes that apply to endpoints, as an object of its own
// (schema HostComputeSdnRoute). The policy [SDNRoute] does the same for one
// endpoint and is what most clients use; not every Windows has the objects.
type SDNRouteObject struct {
	// ID is chosen by HNS unless set at create.
	ID ID
	// Network of the endpoints (schema 2.5); zero leaves it out.
	Network ID
	// Endpoints the routes apply to, at least one.
	Endpoints []ID
	// Routes, at least one. Unlike the policy, HNS takes a destination with
	// host bits here.
	Routes []SDNRoute
	// Document is what HNS sent; zero for an object that was not read.
	Document Document
}

// The member of the routes has two names: Routes in the schema, Setting in
// Microsoft's own Go client. Both are read, and both are written.
const (
	routesMember  = "Routes"
	settingMember = "Setting"
)

// DecodeSDNRouteObject reads an SDN route object in schema 2. It fails only if
// doc is no JSON object; see [Document].
func DecodeSDNRouteObject(doc []byte) (*SDNRouteObject, error) {
	var d Document
	r, bad := startReading(doc, &d)
	if bad != nil {
		return nil, &Error{Op: "read SDN route", Err: bad}
	}
	o := &SDNRouteObject{ID: r.id("ID"), Network: r.id("HostComputeNetwork"), Endpoints: r.ids("HostComputeEndpoints")}
	read := func(name string) (out []SDNRoute) {
		r.list(name, func(e reader) { out = append(out, readSDNRoute(e)) })
		return out
	}
	routes, setting := read(routesMember), read(settingMember)
	switch {
	case len(routes) == 0:
		routes = setting
	case len(setting) > 0 && !slices.Equal(routes, setting):
		r.note(settingMember, "not the same as Routes")
	}
	o.Routes, o.Document = routes, d
	return o, nil
}

// Encode returns the document that a create sends: schema 2.0, the routes under
// both of their names. It does not check the values, as Create does.
func (o *SDNRouteObject) Encode() (json.RawMessage, error) {
	var routes []any
	for _, r := range o.Routes {
		routes = append(routes, r.settings())
	}
	return encode(struct {
		ID                   string `json:",omitempty"`
		HostComputeNetwork   string `json:",omitempty"`
		HostComputeEndpoints []ID   `json:",omitempty"`
		Routes               []any  `json:",omitempty"`
		Setting              []any  `json:",omitempty"`
		SchemaVersion        wireSchema
	}{idText(o.ID), idText(o.Network), o.Endpoints, routes, routes, schema2})
}

// where says where the routes were to lead.
func (o *SDNRouteObject) where() string {
	var out []string
	for _, r := range o.Routes {
		out = append(out, prefixText(r.DestinationPrefix))
	}
	return " to " + strings.Join(out, ", ")
}

func (o *SDNRouteObject) check() []*FieldError {
	bad := checkBackends(o.Endpoints)
	if len(o.Routes) == 0 {
		bad = append(bad, &FieldError{Path: routesMember, Reason: "missing"})
	}
	for i, r := range o.Routes {
		r.DestinationPrefix = r.DestinationPrefix.Masked()
		bad = append(bad, under(fmt.Sprintf("%s[%d]", routesMember, i), r.check())...)
	}
	return bad
}

// RouteService does things to SDN route objects. It is the field Routes of
// [Client]. On a Windows without them every error is ErrUnsupported.
type RouteService struct{ c *Client }

// Create makes an SDN route object. If an endpoint is not there, the error is
// ErrNotFound and names it.
func (s *RouteService) Create(ctx context.Context, o *SDNRouteObject) (*SDNRouteObject, error) {
	made, err := create(ctx, s.c, routeKind, o, ID{})
	if err != nil && o != nil {
		err = s.c.nameMissing(ctx, err, o.Endpoints)
	}
	return made, err
}

// ByID returns the SDN route object, or ErrNotFound.
func (s *RouteService) ByID(ctx context.Context, id ID) (*SDNRouteObject, error) {
	return byID(ctx, s.c, routeKind, id)
}

// List returns all SDN route objects of the node, also those of other programs.
func (s *RouteService) List(ctx context.Context) ([]*SDNRouteObject, error) {
	return list(ctx, s.c, routeKind, "")
}

// Delete deletes the SDN route object; the routes of its endpoints go.
func (s *RouteService) Delete(ctx context.Context, id ID) error {
	return remove(ctx, s.c, routeKind, id)
}

// Replace makes the SDN route object with o.ID what o says. HNS cannot change
// one, so it is deleted and created again with its id, and for a moment there
// is none. If the create fails, the old one is put back; if that fails too, the
// error is ErrLeftBehind and says so. After ErrOutcomeUnknown the new one may yet
// come, so nothing is put back. An o without endpoints is refused: delete the
// object instead.
//
// There is no Ensure: an object has no name, and HNS keeps none of its values
// apart, so only the caller, who keeps its id, can tell which one is meant. The
// policy [SDNRoute] does the same for one endpoint, and
// [EndpointService.Ensure] keeps that.
func (s *RouteService) Replace(ctx context.Context, o *SDNRouteObject) (*SDNRouteObject, error) {
	const op = "replace SDN route"
	if o == nil {
		return nil, nilObject(op, VerbCreate, KindRoute)
	}
	if o.ID.IsZero() {
		return nil, zeroID(op, VerbCreate, KindRoute)
	}
	if err := s.c.refused(o.check()); err != nil { // before anything is deleted
		return nil, &Error{Op: op, Verb: VerbCreate, Kind: KindRoute, Ref: o.ID.String(), Err: err}
	}
	old, err := s.ByID(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	return replace(ctx, s.c, replacement[SDNRouteObject]{
		kind: routeKind, id: o.ID, old: old,
		create: func(ctx context.Context) (*SDNRouteObject, error) { return s.Create(ctx, o) },
		settled: func(ctx context.Context) (*SDNRouteObject, error) {
			now, err := s.ByID(ctx, o.ID)
			if errors.Is(err, ErrNotFound) {
				return nil, nil
			}
			if err != nil || !sameSets(o.Endpoints, now.Endpoints) || !sameSets(o.Routes, now.Routes) {
				return nil, err
			}
			return now, nil
		},
		restore: func(ctx context.Context) error {
			_, err := putBack(ctx, s.c, routeKind, old, ID{})
			return err
		},
	})
}

// nameMissing adds to the failure of a document that names endpoints which of
// them are not there, for HNS does not say. It asks only if that is what the
// code means.
func (c *Client) nameMissing(ctx context.Context, err error, wanted []ID) error {
	if !isCode(err, CodeInvalidJSONReference) && !isCode(err, CodeEndpointNotFound) {
		return err
	}
	all, errList := c.Endpoints.List(ctx)
	if errList != nil {
		return err // who is missing is help only
	}
	var missing []ID
	for _, id := range wanted {
		if !slices.ContainsFunc(all, func(e *Endpoint) bool { return e.ID == id }) {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return err
	}
	return fmt.Errorf("%w (%w: endpoint %s)", err, ErrNotFound, joinTexts(missing))
}
