package emulator

import (
	"encoding/json"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// namespaceTypes are the names of NamespaceType in the order of their numbers.
var namespaceTypes = []string{"Host", "HostDefault", "Guest", "GuestDefault"}

func (tx *tx) listNamespaces(filter string) ([]json.RawMessage, error) {
	f, err := tx.readFilter(filter)
	if err != nil {
		return nil, err
	}
	candidates := tx.allNamespaces
	if id, ok := f.id("ID"); ok {
		candidates = func() []*namespace { return one(tx.namespaces[id]) }
	}
	var out []json.RawMessage
	for _, n := range candidates() {
		if f.matches(tx, n) {
			out = append(out, n.render())
		}
	}
	return out, nil
}

func (tx *tx) findNamespace(id hns.ID) (*namespace, error) {
	if n := tx.namespaces[id]; n != nil {
		return n, nil
	}
	return nil, failure(hns.CodeElementNotFound)
}

func (tx *tx) getNamespace(id hns.ID) (json.RawMessage, error) {
	n, err := tx.findNamespace(id)
	if err != nil {
		return nil, err
	}
	return n.render(), nil
}

func (tx *tx) createNamespace(req hns.Request) (json.RawMessage, error) {
	o, err := namespaceDocument(req.Document)
	if err != nil {
		return nil, err
	}
	r := &reader{object: o}
	n := &namespace{}
	kind, ok := r.enum("Type", namespaceTypes)
	if !ok {
		return nil, failure(hns.CodeInvalidParameter)
	}
	if n.id, err = tx.newObjectID(req.ID, r); err != nil {
		return nil, err
	}
	if tx.namespaces[n.id] != nil {
		return nil, failure(hns.CodeAlreadyExists)
	}
	wanted := r.uint32("NamespaceId")
	name := r.str("Name")
	if wanted != 0 || r.boolean("CreateWithCompartment") {
		n.number = tx.newCompartment(wanted)
	}
	doc := tx.base(n.id, name, r)
	if r.bad {
		return nil, failure(hns.CodeInvalidJSON)
	}
	doc.addUint("State", 1)
	doc = append(doc, member{"NamespaceId", nil})
	if kind != 0 {
		doc.addString("Type", namespaceTypes[kind])
	}
	doc = append(doc, member{"Resources", nil})
	n.doc = doc
	n.seq = tx.nextSeq()
	n.private.Seq = n.seq
	tx.putNamespace(n)
	return n.render(), nil
}

// hostCompartment is the host's own compartment.
const hostCompartment = 1

// newCompartment returns a compartment number that is not in use.
func (tx *tx) newCompartment(wanted uint32) uint32 {
	free := func(n uint32) bool { return n > hostCompartment && len(tx.byNumber[n]) == 0 }
	if tx.opts.HonourNamespaceID && free(wanted) {
		return wanted
	}
	n := tx.counter.Compartment
	for n++; !free(n); n++ {
	}
	tx.count(func(c *counters) { c.Compartment = n })
	return n
}

// deleteNamespace removes a namespace. Its endpoints stay, detached; a
// container in it forbids the removal.
func (tx *tx) deleteNamespace(id hns.ID) error {
	n, err := tx.findNamespace(id)
	if err != nil {
		return err
	}
	if len(n.containers()) > 0 {
		return failure(hns.CodeRequestUnsupported)
	}
	tx.dropNamespace(n)
	return nil
}

// dropNamespace detaches what is in a namespace and takes it out of the store.
func (tx *tx) dropNamespace(n *namespace) {
	for _, r := range n.resources {
		if id, err := hns.ParseID(r.id); err == nil {
			if e := tx.endpoints[id]; e != nil && e.namespace == n.id {
				tx.putEndpoint(e.detached())
			}
		}
	}
	tx.removeNamespace(n)
}

// detached returns the endpoint outside every namespace and compartment.
func (e *endpoint) detached() *endpoint {
	c := *e
	c.namespace = hns.ID{}
	c.private.Compartment, c.private.VM, c.private.Containers = 0, "", nil
	if c.state != stateDegraded {
		c.state = stateDetached
	}
	return &c
}

// without returns the namespace less one resource.
func (n *namespace) without(r resource) *namespace {
	c := *n
	if i := n.find(r); i >= 0 {
		c.resources = slices.Delete(slices.Clone(n.resources), i, i+1)
	}
	return &c
}

func (n *namespace) plus(r resource) *namespace {
	c := *n
	c.resources = append(slices.Clip(n.resources), r)
	return &c
}

// Resource types of a namespace's modify request, in the order of their numbers.
var namespaceResources = []string{"Container", "Endpoint"}

func (tx *tx) modifyNamespace(id hns.ID, doc json.RawMessage) error {
	n, err := tx.findNamespace(id)
	if err != nil {
		return err
	}
	m, err := readModify(doc, namespaceResources)
	if err != nil {
		return err
	}
	if m.request != requestAdd && m.request != requestRemove {
		return failure(hns.CodeRequestUnsupported)
	}
	if namespaceResources[m.resource] == "Container" {
		id := m.settings.str("ContainerId")
		if id == "" {
			return failure(hns.CodeInvalidParameter)
		}
		return tx.changeContainer(n, id, m.request == requestAdd)
	}
	ep, err := m.settings.id("EndpointId")
	switch {
	case err != nil:
		return err
	case m.settings.bad || ep.IsZero():
		return failure(hns.CodeInvalidParameter)
	case m.request == requestAdd:
		return tx.addEndpoint(n, ep)
	}
	return tx.takeEndpoint(n, ep)
}

// addEndpoint attaches an endpoint. Once more to the same namespace changes
// nothing, unless the endpoint lost its port in a restart.
func (tx *tx) addEndpoint(n *namespace, id hns.ID) error {
	e, err := tx.findEndpoint(id)
	if err != nil {
		return err
	}
	if e.namespace == n.id {
		if e.state != stateDegraded && e.state != n.endpointState() {
			c := *e
			c.state = n.endpointState()
			tx.putEndpoint(&c)
		}
		return nil
	}
	if !e.namespace.IsZero() {
		return failure(hns.CodeEndpointInNamespace)
	}
	if err := tx.canAttach(e, hns.CodeNamespaceAttachFailed); err != nil {
		return err
	}
	c := *e
	c.namespace = n.id
	c.state = n.endpointState()
	tx.putEndpoint(&c)
	tx.putNamespace(n.plus(resource{id: id.Upper()}))
	return nil
}

// endpointState is the state of the endpoints of the namespace: they are
// shared once a container runs in it.
func (n *namespace) endpointState() uint16 {
	if len(n.containers()) > 0 {
		return stateAttachedSharing
	}
	return stateAttached
}

func (tx *tx) takeEndpoint(n *namespace, id hns.ID) error {
	r := resource{id: id.Upper()}
	if n.find(r) < 0 {
		return failure(hns.CodeElementNotFound)
	}
	if e := tx.endpoints[id]; e != nil && e.namespace == n.id {
		tx.putEndpoint(e.detached())
	}
	tx.putNamespace(n.without(r))
	return nil
}

// changeContainer adds or removes a container. HNS lists a container as often
// as it was added.
func (tx *tx) changeContainer(n *namespace, id string, add bool) error {
	r := resource{container: true, id: id}
	var c *namespace
	switch {
	case add:
		c = n.plus(r)
		if c.number == 0 { // the compartment comes with the first container
			c.number = tx.newCompartment(0)
		}
	case n.find(r) < 0:
		return failure(hns.CodeElementNotFound)
	default:
		c = n.without(r)
	}
	tx.putNamespace(c)
	for _, r := range c.resources {
		id, err := hns.ParseID(r.id)
		if e := tx.endpoints[id]; err == nil && !r.container && e != nil && e.sharesWith(c) {
			x := *e
			x.state = c.endpointState()
			tx.putEndpoint(&x)
		}
	}
	return nil
}

// sharesWith reports whether the endpoint is a sound one of the namespace.
func (e *endpoint) sharesWith(n *namespace) bool {
	return e.namespace == n.id && (e.state == stateAttached || e.state == stateAttachedSharing)
}
