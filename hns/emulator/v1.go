package emulator

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// call carries out a call of the schema 1 API: a method, a path and a body, as
// HNSCall of vmcompute.dll takes them. The answer is the Output; none where
// HNS gives none.
func (tx *tx) call(r hns.Request) ([]json.RawMessage, error) {
	path := strings.Split(strings.Trim(r.Path, "/"), "/")
	switch path[0] {
	case "globals":
		if r.Method == "GET" && len(path) == 2 && path[1] == "version" {
			v := object{{"Major", number(uint64(tx.version.Major))}, {"Minor", number(uint64(tx.version.Minor))}}
			return outputOf(v, nil)
		}
	case "activities", "plugins":
		if r.Method == "GET" && len(path) == 1 {
			return []json.RawMessage{list(nil)}, nil // none is at work, none is installed
		}
	case "accelnet":
		if len(path) == 1 {
			return tx.callAccelnet(r)
		}
	case "networks":
		return tx.callKind(r, path, v1Networks)
	case "endpoints":
		return tx.callKind(r, path, v1Endpoints)
	case "namespaces":
		return tx.callKind(r, path, v1Namespaces)
	case "policylists":
		return tx.callKind(r, path, v1PolicyLists)
	case "endpointstats":
		return tx.callKind(r, path, v1Stats)
	}
	return nil, failure(hns.CodeRequestUnsupported)
}

// v1Kind are the calls below one path of the schema 1 API; nil ones are not
// supported.
type v1Kind struct {
	list    func(*tx) []object
	get     func(*tx, hns.ID) (object, error)
	show    func(*tx, hns.ID) object // the same without counting as a read; nil: get
	create  func(*tx, json.RawMessage) (hns.ID, error)
	update  func(*tx, hns.ID, reader) error
	remove  func(*tx, hns.ID) error
	actions map[string]func(*tx, hns.ID, reader) error
	shows   bool // the actions answer with the object
}

var v1Networks = v1Kind{
	list: func(tx *tx) (out []object) {
		for _, n := range tx.allNetworks() {
			out = append(out, tx.networkV1(tx.readNetwork(n)))
		}
		return out
	},
	get: func(tx *tx, id hns.ID) (object, error) {
		n, err := tx.findNetwork(id)
		if err != nil {
			return nil, err
		}
		return tx.networkV1(tx.readNetwork(n)), nil
	},
	show: func(tx *tx, id hns.ID) object { return tx.networkV1(tx.networks[id]) },
	create: func(tx *tx, doc json.RawMessage) (hns.ID, error) {
		return createdID(tx.createNetwork(hns.Request{Document: doc}))
	},
	update: (*tx).updateNetworkV1,
	remove: (*tx).deleteNetwork,
}

var v1Endpoints = v1Kind{
	list: func(tx *tx) (out []object) {
		for _, e := range tx.allEndpoints() {
			out = append(out, tx.endpointV1(e))
		}
		return out
	},
	get: func(tx *tx, id hns.ID) (object, error) {
		e, err := tx.findEndpoint(id)
		if err != nil {
			return nil, err
		}
		return tx.endpointV1(e), nil
	},
	create: func(tx *tx, doc json.RawMessage) (hns.ID, error) {
		id, err := createdID(tx.createEndpoint(hns.Request{Document: doc}))
		if errors.Is(err, failure(hns.CodeNetworkNotFound)) {
			err = failure(hns.CodeElementNotFound) // Azure/azure-container-networking#283
		}
		return id, err
	},
	update:  (*tx).updateEndpointV1,
	remove:  (*tx).deleteEndpoint,
	actions: map[string]func(*tx, hns.ID, reader) error{"attach": (*tx).attachV1, "detach": (*tx).detachV1},
}

var v1Namespaces = v1Kind{
	list: func(tx *tx) (out []object) {
		for _, n := range tx.allNamespaces() {
			out = append(out, tx.namespaceV1(n))
		}
		return out
	},
	get: func(tx *tx, id hns.ID) (object, error) {
		n, err := tx.findNamespace(id)
		if err != nil {
			return nil, err
		}
		return tx.namespaceV1(n), nil
	},
	create: func(tx *tx, doc json.RawMessage) (hns.ID, error) {
		return createdID(tx.createNamespace(hns.Request{Document: doc}))
	},
	remove: (*tx).deleteNamespace,
	actions: map[string]func(*tx, hns.ID, reader) error{
		"addresource": func(tx *tx, id hns.ID, r reader) error { return tx.changeResourceV1(id, r, true) },
		"removeresource": func(tx *tx, id hns.ID, r reader) error {
			return tx.changeResourceV1(id, r, false)
		},
	},
	shows: true,
}

var v1PolicyLists = v1Kind{
	list: func(tx *tx) (out []object) {
		for _, l := range tx.allLists(anyList) {
			out = append(out, tx.listV1(l))
		}
		return out
	},
	get: func(tx *tx, id hns.ID) (object, error) {
		l, err := tx.findList(anyList, id)
		if err != nil {
			return nil, err
		}
		return tx.listV1(l), nil
	},
	create: (*tx).createListV1,
	remove: func(tx *tx, id hns.ID) error { return tx.deleteList(anyList, id) },
}

// v1Stats gives the counters of an endpoint.
var v1Stats = v1Kind{
	list: func(tx *tx) (out []object) {
		for _, e := range tx.allEndpoints() {
			out = append(out, tx.statsV1(e))
		}
		return out
	},
	get: func(tx *tx, id hns.ID) (object, error) {
		e, err := tx.findEndpoint(id)
		if err != nil {
			return nil, err
		}
		return tx.statsV1(e), nil
	},
}

func createdID(doc json.RawMessage, err error) (hns.ID, error) {
	if err != nil {
		return hns.ID{}, err
	}
	r := reader{object: parsed(doc)}
	return r.id("ID")
}

func (tx *tx) callKind(r hns.Request, path []string, k v1Kind) ([]json.RawMessage, error) {
	if len(path) == 1 {
		return tx.callList(r, k)
	}
	id, err := parseID(path[1])
	if err != nil {
		return nil, err
	}
	switch {
	case len(path) == 2 && r.Method == "GET":
		return outputOf(k.get(tx, id))
	case len(path) == 2 && r.Method == "DELETE" && k.remove != nil:
		return nil, k.remove(tx, id)
	case r.Method != "POST":
		return nil, failure(hns.CodeRequestUnsupported)
	}
	body, err := bodyOf(r.Document)
	if err != nil {
		return nil, err
	}
	act, shows := k.update, true
	if len(path) == 3 {
		act, shows = k.actions[path[2]], k.shows
	}
	if act == nil || len(path) > 3 {
		return nil, failure(hns.CodeRequestUnsupported)
	}
	if err := act(tx, id, body); err != nil || !shows {
		return nil, err
	}
	return k.answer(tx, id)
}

// answer is the Output of a call that made or changed an object.
func (k v1Kind) answer(tx *tx, id hns.ID) ([]json.RawMessage, error) {
	if k.show != nil {
		return outputOf(k.show(tx, id), nil)
	}
	return outputOf(k.get(tx, id))
}

func (tx *tx) callList(r hns.Request, k v1Kind) ([]json.RawMessage, error) {
	switch {
	case r.Method == "GET" && k.list != nil:
		elems := []json.RawMessage{}
		for _, o := range k.list(tx) {
			elems = append(elems, o.bytes())
		}
		return []json.RawMessage{list(elems)}, nil
	case r.Method == "POST" && k.create != nil:
		id, err := k.create(tx, r.Document)
		if err != nil {
			return nil, err
		}
		return k.answer(tx, id)
	}
	return nil, failure(hns.CodeRequestUnsupported)
}

func outputOf(o object, err error) ([]json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return []json.RawMessage{o.bytes()}, nil
}

// bodyOf reads the body of a call; the empty one has no members.
func bodyOf(doc json.RawMessage) (reader, error) {
	if strings.TrimSpace(string(doc)) == "" {
		return reader{}, nil
	}
	o, err := parseObject(doc)
	if err != nil {
		return reader{}, failure(hns.CodeInvalidJSON)
	}
	return reader{object: o}, nil
}
