package hcnbridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/Microsoft/hcsshim/hcn"

	"github.com/hnskit/hnskit/hns"
)

// New returns a backend that makes its calls through hcn:
//
//	c := hns.New(hcnbridge.New(), nil)
//
// See the package comment for what is different from [hns.Open]. Failures are
// *[hns.BackendError]s with the whole HRESULT.
func New() hns.Backend { return backend{} }

type backend struct{}

// Do makes the calls of one request.
func (backend) Do(req hns.Request) (resp hns.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			resp, err = hns.Response{}, panicked(p)
		}
	}()
	if req.Verb == hns.VerbCall {
		return callV1(req)
	}
	k, ok := kinds[req.Kind]
	if !ok {
		return hns.Response{}, unsupported("hcn has no calls for %s", req.Kind)
	}
	switch req.Verb {
	case hns.VerbList:
		return k.list(req.Filter)
	case hns.VerbGet:
		return respond(k.get(req.ID.String()))
	case hns.VerbCreate:
		return respond(k.create(req))
	case hns.VerbModify:
		return hns.Response{}, k.modify(req)
	case hns.VerbDelete:
		return hns.Response{}, k.remove(req.ID.String())
	}
	return hns.Response{}, unsupported("hcn has no call for %s", req.Verb)
}

// respond gives the document of an object.
func respond(obj any, err error) (hns.Response, error) {
	if err != nil {
		return hns.Response{}, failure(err)
	}
	doc, err := encode(obj)
	if err != nil {
		return hns.Response{}, &hns.BackendError{Err: err}
	}
	return hns.Response{Documents: []json.RawMessage{doc}}, nil
}

// kind is the calls of one kind of object.
type kind struct {
	list   func(filter string) (hns.Response, error)
	get    func(id string) (any, error)
	create func(hns.Request) (any, error)
	modify func(hns.Request) error // a *hns.BackendError, as of remove
	remove func(id string) error
}

var kinds = map[hns.Kind]kind{
	hns.KindNetwork: {
		list: lister(hcn.ListNetworksQuery),
		get:  getter(hcn.GetNetworkByID),
		create: creator(func(_ hns.Request, h *hcn.HostComputeNetwork) (*hcn.HostComputeNetwork, error) {
			created, err := h.Create()
			return created, ownRefusal(err)
		}),
		modify: modifier(func(id string, m *hcn.ModifyNetworkSettingRequest) error {
			return (&hcn.HostComputeNetwork{Id: id}).ModifyNetworkSettings(m)
		}),
		remove: remover(func(id string) error { return (&hcn.HostComputeNetwork{Id: id}).Delete() }),
	},
	hns.KindEndpoint: {
		list: lister(hcn.ListEndpointsQuery),
		get:  getter(hcn.GetEndpointByID),
		create: creator(func(req hns.Request, h *hcn.HostComputeEndpoint) (*hcn.HostComputeEndpoint, error) {
			if err := otherNetwork(req.Network, h.HostComputeNetwork); err != nil {
				return nil, err
			}
			return (&hcn.HostComputeNetwork{Id: req.Network.String()}).CreateEndpoint(h)
		}),
		modify: modifier(hcn.ModifyEndpointSettings),
		remove: remover(func(id string) error { return (&hcn.HostComputeEndpoint{Id: id}).Delete() }),
	},
	hns.KindNamespace: {
		list: lister(hcn.ListNamespacesQuery),
		get:  getter(hcn.GetNamespaceByID),
		create: creator(func(_ hns.Request, h *hcn.HostComputeNamespace) (*hcn.HostComputeNamespace, error) {
			return h.Create()
		}),
		modify: modifier(hcn.ModifyNamespaceSettings),
		remove: remover(func(id string) error { return (&hcn.HostComputeNamespace{Id: id}).Delete() }),
	},
	hns.KindLoadBalancer: {
		list: lister(hcn.ListLoadBalancersQuery),
		get:  getter(hcn.GetLoadBalancerByID),
		create: creator(func(_ hns.Request, h *hcn.HostComputeLoadBalancer) (*hcn.HostComputeLoadBalancer, error) {
			return h.Create()
		}),
		modify: modifier(func(id string, h *hcn.HostComputeLoadBalancer) error {
			_, err := h.Update(id)
			return err
		}),
		remove: remover(func(id string) error { return (&hcn.HostComputeLoadBalancer{Id: id}).Delete() }),
	},
	hns.KindRoute: {
		list: lister(hcn.ListRoutesQuery),
		get:  getter(hcn.GetRouteByID),
		create: creator(func(_ hns.Request, h *hcn.HostComputeRoute) (*hcn.HostComputeRoute, error) {
			return h.Create()
		}),
		modify: func(hns.Request) error { return unsupported("hcn cannot modify SDN route objects") },
		remove: remover(routeRemover(hcn.GetRouteByID, (*hcn.HostComputeRoute).Delete)),
	},
}

// listAttempts bounds how often a list is asked for when objects keep going
// away under it.
const listAttempts = 5

// lister retries where an object that vanished made the whole list fail.
func lister[H any](query func(hcn.HostComputeQuery) ([]H, error)) func(string) (hns.Response, error) {
	return func(filter string) (hns.Response, error) {
		var objs []H
		var err error
		for range listAttempts {
			objs, err = query(hcn.HostComputeQuery{SchemaVersion: hcn.V2SchemaVersion(), Filter: filter})
			if !isAbsence(err) {
				break
			}
		}
		if err != nil {
			return hns.Response{}, failure(err)
		}
		var resp hns.Response
		for i := range objs {
			one, err := respond(&objs[i], nil)
			if err != nil {
				return hns.Response{}, err
			}
			resp.Documents = append(resp.Documents, one.Documents...)
		}
		return resp, nil
	}
}

func getter[H any](get func(string) (*H, error)) func(string) (any, error) {
	return func(id string) (any, error) { return get(id) }
}

// creator reads the document into hcn's type. hcn takes the id wanted from it.
func creator[H any](create func(hns.Request, *H) (*H, error)) func(hns.Request) (any, error) {
	return func(req hns.Request) (any, error) {
		h := new(H)
		if err := read(req.Document, h); err != nil {
			return nil, err
		}
		if !req.ID.IsZero() {
			setID(h, req.ID.String())
		}
		return create(req, h)
	}
}

// otherNetwork refuses a document that names another network than the request:
// hcn would put the request's in its place.
func otherNetwork(want hns.ID, named string) error {
	if id, err := hns.ParseID(named); named != "" && (err != nil || id != want) {
		return &hns.BackendError{Err: &hns.FieldError{Path: "HostComputeNetwork", Value: named, Reason: "not the network " + want.String() + " that the endpoint is for"}}
	}
	return nil
}

func setID(h any, id string) {
	switch h := h.(type) {
	case *hcn.HostComputeNetwork:
		h.Id = id
	case *hcn.HostComputeEndpoint:
		h.Id = id
	case *hcn.HostComputeNamespace:
		h.Id = id
	case *hcn.HostComputeLoadBalancer:
		h.Id = id
	case *hcn.HostComputeRoute:
		h.ID = id
	}
}

func modifier[M any](modify func(string, *M) error) func(hns.Request) error {
	return func(req hns.Request) error {
		m := new(M)
		if err := read(req.Document, m); err != nil {
			return err
		}
		return failure(modify(req.ID.String(), m))
	}
}

func remover(remove func(string) error) func(string) error {
	return func(id string) error { return failure(remove(id)) }
}

// routeRemover looks before and after: hcn deletes what it can find and says yes
// in every other case.
func routeRemover(get func(id string) (*hcn.HostComputeRoute, error), remove func(*hcn.HostComputeRoute) error) func(string) error {
	return func(id string) error {
		if _, err := get(id); err != nil {
			return err
		}
		if err := remove(&hcn.HostComputeRoute{ID: id}); err != nil {
			return err
		}
		switch _, err := get(id); {
		case err == nil:
			return errors.New("hcn said that the SDN route object was deleted, and it is still there")
		case !isAbsence(err):
			return fmt.Errorf("hcn cannot tell whether the SDN route object was deleted: %w", err)
		}
		return nil
	}
}

var errNotObject = errors.New("not a JSON object")

// read reads a document into hcn's type and refuses one that hcn would shorten.
// Of a list or null hcn would make the object of an empty document.
func read[H any](doc json.RawMessage, h *H) error {
	losses, err := shorten(doc, h)
	if err == nil && !bytes.HasPrefix(bytes.TrimSpace(doc), []byte("{")) {
		err = errNotObject
	}
	if err != nil {
		return &hns.BackendError{Err: fmt.Errorf("%w: document: %w", hns.ErrInvalid, err)}
	}
	if len(losses) > 0 {
		return &hns.BackendError{Err: &LossError{losses}}
	}
	return nil
}
