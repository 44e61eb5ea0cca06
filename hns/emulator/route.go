package emulator

import (
	"encoding/json"

	"github.com/hnskit/hnskit/hns"
)

// routeMembers are the names of the list of routes in an SDN route: the
// schema's and hcsshim's. HNS takes either and shows both.
var routeMembers = []string{"Routes", "Setting"}

// hasRoutes answers calls about SDN routes on an HNS without them.
func (tx *tx) hasRoutes() error {
	if tx.opts.RoutesCode != 0 {
		return failure(tx.opts.RoutesCode)
	}
	return nil
}

func (tx *tx) listRoutes(filter string) ([]json.RawMessage, error) {
	if err := tx.hasRoutes(); err != nil {
		return nil, err
	}
	return tx.listLists(hns.KindRoute, filter)
}

func (tx *tx) getRoute(id hns.ID) (json.RawMessage, error) {
	if err := tx.hasRoutes(); err != nil {
		return nil, err
	}
	return tx.getList(hns.KindRoute, id)
}

func (tx *tx) deleteRoute(id hns.ID) error {
	if err := tx.hasRoutes(); err != nil {
		return err
	}
	return tx.deleteList(hns.KindRoute, id)
}

// modifyRoute refuses every change: a client deletes the route and makes
// another one (microsoft/hcsshim#759).
func (tx *tx) modifyRoute(id hns.ID, _ json.RawMessage) error {
	if _, err := tx.getRoute(id); err != nil {
		return err
	}
	return failure(hns.CodeNotImplemented)
}

func (tx *tx) createRoute(req hns.Request) (json.RawMessage, error) {
	if err := tx.hasRoutes(); err != nil {
		return nil, err
	}
	o, references, err := listDocument(hns.KindRoute, req.Document)
	if err != nil {
		return nil, err
	}
	r := &reader{object: o}
	l, err := tx.newList(hns.KindRoute, req, r)
	if err != nil {
		return nil, err
	}
	if _, err := tx.readBackends(l, r); err != nil {
		return nil, err
	}
	routes, err := tx.readRoutes(r)
	if err != nil {
		return nil, err
	}
	l.doc = tx.baseOf(l, r)
	l.private.References = references
	if r.bad {
		return nil, failure(hns.CodeInvalidJSON)
	}
	for _, name := range routeMembers {
		l.doc.add(name, routes)
	}
	return tx.storeNew(l), nil
}

// readRoutes returns the list of routes as it was given.
func (tx *tx) readRoutes(r *reader) (json.RawMessage, error) {
	routes := nonEmpty(r.get(routeMembers[0]))
	other := nonEmpty(r.get(routeMembers[1]))
	switch {
	case routes == nil:
		routes = other
	case other != nil && !equalJSON(routes, other):
		return nil, failure(hns.CodeInvalidParameter)
	}
	if routes == nil {
		return nil, failure(hns.CodeInvalidPolicy)
	}
	elems := reader{object: object{{routeMembers[0], routes}}}
	for _, e := range elems.objects(routeMembers[0]) {
		if err := judgeRoute(&e); err != nil {
			return nil, err
		}
		elems.bad = elems.bad || e.bad
	}
	if elems.bad {
		return nil, failure(hns.CodeInvalidJSON)
	}
	return routes, nil
}

// judgeRoute takes a destination with host bits, and a next hop anywhere.
func judgeRoute(r *reader) error {
	dst, hop := r.str("DestinationPrefix"), r.str("NextHop")
	r.boolean("NeedEncap")
	r.boolean("AutomaticEndpointMonitor")
	if _, _, ok := parsePrefixOrAddress(dst); !ok && !r.bad {
		return failure(hns.CodeInvalidPrefix)
	}
	if _, ok := parseAddress(hop); !ok && hop != "" {
		return failure(hns.CodeInvalidIP)
	}
	return nil
}
