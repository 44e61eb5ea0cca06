package emulator

import (
	"encoding/json"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

func (tx *tx) listEndpoints(filter string) ([]json.RawMessage, error) {
	f, err := tx.readFilter(filter)
	if err != nil {
		return nil, err
	}
	var candidates []*endpoint
	if id, ok := f.id("ID"); ok {
		candidates = one(tx.endpoints[id])
	} else if name, ok := f.text("Name"); ok {
		candidates = tx.endpointsNamed(name)
	} else if id, ok := f.id("VirtualNetwork"); ok {
		candidates = tx.endpointsOf(id)
		f.without("VirtualNetwork")
	} else if id, ok := f.id("HostComputeNetwork"); ok {
		candidates = tx.endpointsOf(id)
		f.without("HostComputeNetwork")
	} else {
		candidates = tx.allEndpoints()
	}
	var out []json.RawMessage
	for _, e := range candidates {
		if f.matches(tx, e) {
			out = append(out, e.render())
		}
	}
	return out, nil
}

// endpointsNamed returns the endpoints with a name in the order of creation,
// in either letter case. HNS endpoint names are not unique.
func (tx *tx) endpointsNamed(name string) (out []*endpoint) {
	for id := range tx.endpointByName[strings.ToLower(name)] {
		out = append(out, tx.endpoints[id])
	}
	sortEndpoints(out)
	return out
}

func (tx *tx) findEndpoint(id hns.ID) (*endpoint, error) {
	if e := tx.endpoints[id]; e != nil {
		return e, nil
	}
	return nil, failure(hns.CodeEndpointNotFound)
}

// networkOf returns the network of an endpoint. A dump may lack it.
func (tx *tx) networkOf(e *endpoint) *network {
	if n := tx.networks[e.network]; n != nil {
		return n
	}
	return &network{id: e.network, kind: unknownType}
}

func (tx *tx) getEndpoint(id hns.ID) (json.RawMessage, error) {
	e, err := tx.findEndpoint(id)
	if err != nil {
		return nil, err
	}
	return e.render(), nil
}

func (tx *tx) deleteEndpoint(id hns.ID) error {
	e, err := tx.findEndpoint(id)
	if err != nil {
		return err
	}
	if tx.opts.RefuseBackendDelete && len(tx.listsOver[id]) > 0 {
		return failure(hns.CodeHasReferences)
	}
	tx.dropEndpoint(e)
	return nil
}

// dropEndpoint takes an endpoint out of its namespace and out of the store.
// Load balancers and routes that name it stay as they are.
func (tx *tx) dropEndpoint(e *endpoint) {
	if ns := tx.namespaces[e.namespace]; ns != nil {
		tx.putNamespace(ns.without(resource{id: e.id.Upper()}))
	}
	tx.removeEndpoint(e)
}

// Resource types of an endpoint's modify request, in the order of their numbers.
var endpointResources = []string{"Port", "Policy"}

func (tx *tx) modifyEndpoint(id hns.ID, doc json.RawMessage) error {
	e, err := tx.findEndpoint(id)
	if err != nil {
		return err
	}
	m, err := readModify(doc, endpointResources)
	if err != nil {
		return err
	}
	if endpointResources[m.resource] == "Port" {
		return tx.modifyPort(e, m)
	}
	c := *e
	if c.policies, err = tx.modifyEndpointPolicies(tx.networkOf(e), e.policies, m.request, &m.settings); err != nil {
		return err
	}
	if err := tx.checkEndpointPolicies(&c); err != nil {
		return err
	}
	tx.putEndpoint(&c)
	return nil
}

// modifyPort gives the endpoint a switch port of a virtual machine, or takes
// it away.
func (tx *tx) modifyPort(e *endpoint, m modify) error {
	c := *e
	switch m.request {
	case requestAdd:
		if err := tx.canAttach(e, hns.CodeDegraded); err != nil {
			return err
		}
		vm := m.settings.str("VirtualMachineId")
		if vm == "" || m.settings.bad {
			return failure(hns.CodeInvalidParameter)
		}
		c.private.VM, c.state = vm, stateAttached
	case requestRemove:
		if e.private.VM == "" {
			return failure(hns.CodeElementNotFound)
		}
		c.private.VM, c.state = "", stateDetached
	default:
		return failure(hns.CodeRequestUnsupported)
	}
	tx.putEndpoint(&c)
	return nil
}

// canAttach judges whether the endpoint can get a switch port; code is the
// answer for a degraded one, which differs by the way of attaching.
func (tx *tx) canAttach(e *endpoint, code hns.Code) error {
	switch {
	case tx.networkOf(e).private.NoSwitch:
		return failure(hns.CodeSwitchNotFound)
	case e.remote():
		return failure(hns.CodeInvalidRemoteOperation)
	case e.state == stateDegraded:
		return failure(code)
	case e.attached():
		return failure(hns.CodeEndpointAttached)
	}
	return nil
}
