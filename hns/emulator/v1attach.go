package emulator

import (
	"cmp"
	"errors"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

var systemTypes = []string{"Container", "VirtualMachine", "Host"}

// attachV1 gives the endpoint a switch port: to a compartment of the host, a
// virtual machine, or a container. Containers may share an endpoint.
func (tx *tx) attachV1(id hns.ID, r reader) error {
	e, err := tx.findEndpoint(id)
	if err != nil {
		return err
	}
	kind, ok := r.enum("SystemType", systemTypes)
	container, compartment := r.str("ContainerId"), r.uint32("CompartmentId")
	if !ok || r.bad {
		return failure(hns.CodeInvalidParameter)
	}
	c := *e
	shares := systemTypes[kind] == "Container" && len(e.private.Containers) > 0 && !contains(e.private.Containers, container)
	if shares && tx.opts.NoEndpointSharing {
		return failure(hns.CodeSharingDisabled)
	}
	if err := tx.canAttach(e, hns.CodeDegraded); err != nil && !(shares && errors.Is(err, failure(hns.CodeEndpointAttached))) {
		return err
	}
	c.state = stateAttached
	switch systemTypes[kind] {
	case "Host":
		if compartment == 0 {
			return failure(hns.CodeInvalidParameter)
		}
		c.private.Compartment = compartment
	case "VirtualMachine":
		c.private.VM = cmp.Or(container, r.str("VirtualNicName"))
		if c.private.VM == "" || r.bad {
			return failure(hns.CodeInvalidParameter)
		}
	default:
		if container == "" {
			return failure(hns.CodeInvalidParameter)
		}
		c.private.Containers = append(e.private.Containers[:len(e.private.Containers):len(e.private.Containers)], container)
		if len(c.private.Containers) > 1 {
			c.state = stateAttachedSharing
		}
	}
	tx.putEndpoint(&c)
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if strings.EqualFold(x, s) {
			return true
		}
	}
	return false
}

// detachV1 takes back what attachV1 gave.
func (tx *tx) detachV1(id hns.ID, r reader) error {
	e, err := tx.findEndpoint(id)
	if err != nil {
		return err
	}
	kind, ok := r.enum("SystemType", systemTypes)
	container := r.str("ContainerId")
	if !ok || r.bad {
		return failure(hns.CodeInvalidParameter)
	}
	c := *e
	switch {
	case systemTypes[kind] == "Host" && e.private.Compartment != 0:
		c.private.Compartment = 0
	case systemTypes[kind] == "VirtualMachine" && e.private.VM != "":
		c.private.VM = ""
	case systemTypes[kind] == "Container" && contains(e.private.Containers, container):
		c.private.Containers = nil
		for _, x := range e.private.Containers {
			if !strings.EqualFold(x, container) {
				c.private.Containers = append(c.private.Containers, x)
			}
		}
	default:
		return failure(hns.CodeElementNotFound)
	}
	switch {
	case e.state == stateDegraded:
	case len(c.private.Containers) > 0:
		c.state = stateAttached
	default:
		c.state = stateDetached
	}
	tx.putEndpoint(&c)
	return nil
}

// changeResourceV1 adds an endpoint or a container to a namespace, or removes it.
func (tx *tx) changeResourceV1(id hns.ID, r reader, add bool) error {
	n, err := tx.findNamespace(id)
	if err != nil {
		return err
	}
	data := r.sub("Data")
	kind, ok := r.enum("Type", []string{"Container", "Endpoint"})
	if !ok || r.bad {
		return failure(hns.CodeInvalidParameter)
	}
	if kind == 0 {
		container := data.str("Id")
		if container == "" {
			return failure(hns.CodeInvalidParameter)
		}
		return tx.changeContainer(n, container, add)
	}
	ep, err := data.id("Id")
	switch {
	case err != nil:
		return err
	case add:
		return tx.addEndpoint(n, ep)
	}
	return tx.takeEndpoint(n, ep)
}
