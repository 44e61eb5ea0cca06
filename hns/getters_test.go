package hns_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// Documents of request and response are nobody's to change.
func TestResponsesAreNotShared(t *testing.T) {
	doc := json.RawMessage(wholeEndpoint)
	c := hns.New(backend(func(hns.Request) (hns.Response, error) {
		return hns.Response{Documents: []json.RawMessage{doc}}, nil
	}), nil)
	e, err := c.Endpoints.ByID(t.Context(), podID)
	if err != nil {
		t.Fatal(err)
	}
	clear(e.Document.Raw)
	if string(doc) != wholeEndpoint {
		t.Error("the backend's bytes changed with the caller's")
	}
}

// Getters return an object or an error, never both and never neither, whatever
// HNS answers (kubernetes/kubernetes#116389).
func TestGettersReturnObjectXorError(t *testing.T) {
	isNil := func(v any, err error) (bool, error) {
		switch v := v.(type) {
		case *hns.Network:
			return v == nil, err
		case *hns.Endpoint:
			return v == nil, err
		case *hns.Namespace:
			return v == nil, err
		case *hns.LoadBalancer:
			return v == nil, err
		case *hns.SDNRouteObject:
			return v == nil, err
		}
		return v == hns.Version{}, err
	}
	getters := map[string]func(*hns.Client) (bool, error){
		"Networks.ByID":        func(c *hns.Client) (bool, error) { return isNil(c.Networks.ByID(t.Context(), lake)) },
		"Networks.ByName":      func(c *hns.Client) (bool, error) { return isNil(c.Networks.ByName(t.Context(), "lake")) },
		"Networks.Create":      func(c *hns.Client) (bool, error) { return isNil(c.Networks.Create(t.Context(), fjord())) },
		"Endpoints.ByID":       func(c *hns.Client) (bool, error) { return isNil(c.Endpoints.ByID(t.Context(), podID)) },
		"Endpoints.ByName":     func(c *hns.Client) (bool, error) { return isNil(c.Endpoints.ByName(t.Context(), "lake")) },
		"Endpoints.Create":     func(c *hns.Client) (bool, error) { return isNil(c.Endpoints.Create(t.Context(), pod())) },
		"Namespaces.ByID":      func(c *hns.Client) (bool, error) { return isNil(c.Namespaces.ByID(t.Context(), podNS)) },
		"Namespaces.Create":    func(c *hns.Client) (bool, error) { return isNil(c.Namespaces.Create(t.Context(), &hns.Namespace{})) },
		"LoadBalancers.ByID":   func(c *hns.Client) (bool, error) { return isNil(c.LoadBalancers.ByID(t.Context(), vipID)) },
		"LoadBalancers.Create": func(c *hns.Client) (bool, error) { return isNil(c.LoadBalancers.Create(t.Context(), nodePort())) },
		"Routes.ByID":          func(c *hns.Client) (bool, error) { return isNil(c.Routes.ByID(t.Context(), routeID)) },
		"Routes.Create":        func(c *hns.Client) (bool, error) { return isNil(c.Routes.Create(t.Context(), metadata())) },
		"Routes.Replace":       func(c *hns.Client) (bool, error) { return isNil(c.Routes.Replace(t.Context(), metadata())) },
		"Version":              func(c *hns.Client) (bool, error) { return isNil(c.Version(t.Context())) },
	}
	object := `{"Name":"lake","Major":13,"Minor":3}`
	answers := map[string]struct {
		b    hns.Backend
		good bool
	}{
		"one object":           {answering(object), true},
		"no document":          {answering(), false},
		"null":                 {answering(`null`), false},
		"nothing":              {answering(``), false},
		"a text":               {answering(`"x"`), false},
		"a list":               {answering(`[{"Name":"lake"}]`), false},
		"two objects":          {answering(object, object), false},
		"half an object":       {answering(`{"Name":"lake"`), false},
		"one and a broken one": {answering(object, `null`), false},
		"failure with documents": {backend(func(r hns.Request) (hns.Response, error) {
			resp, _ := answering(object)(r)
			return resp, &hns.BackendError{Code: hns.CodeDegraded}
		}), false},
	}
	for name, get := range getters {
		for what, a := range answers {
			none, err := get(hns.New(a.b, nil))
			if none != (err != nil) || a.good != (err == nil) {
				t.Errorf("%s, answered with %s: nil %v, error %v", name, what, none, err)
			}
		}
	}
}

// A list is whole or an error.
func TestLists(t *testing.T) {
	list := func(b hns.Backend) (int, error) {
		got, err := hns.New(b, nil).Networks.List(t.Context())
		return len(got), err
	}
	if n, err := list(answering()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := list(answering(`{"Routes":"odd"}`, `{"ID":"<id>","Policies":[7]}`)); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := list(answering(`{}`, `null`)); n != 0 || !errors.Is(err, hns.ErrInvalid) {
		t.Errorf("%d, %v", n, err)
	}
}
