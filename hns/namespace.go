package hns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// NamespaceType is the type of a namespace (schema NamespaceType).
type NamespaceType string

// The namespace types, in the order of their numbers.
const (
	NamespaceHost         NamespaceType = "Host"
	NamespaceHostDefault  NamespaceType = "HostDefault"
	NamespaceGuest        NamespaceType = "Guest"
	NamespaceGuestDefault NamespaceType = "GuestDefault"
)

var namespaceTypes = []string{
	string(NamespaceHost), string(NamespaceHostDefault), string(NamespaceGuest), string(NamespaceGuestDefault),
}

// The types of what a namespace holds.
const (
	ResourceContainer = "Container"
	ResourceEndpoint  = "Endpoint"
)

var resourceTypes = []string{ResourceContainer, ResourceEndpoint}

// Namespace is a network compartment for a pod (schema HostComputeNamespace).
type Namespace struct {
	// ID is chosen by HNS unless set at create.
	ID ID
	// NamespaceID is the number of the compartment. HNS need not honour the
	// number asked for.
	NamespaceID uint32
	// Type is never empty on what was read; empty at create is Host.
	Type NamespaceType
	// Resources are what was added to it. Read only.
	Resources []NamespaceResource
	// Document is what HNS sent; zero for a namespace that was not read.
	Document Document
}

// NamespaceResource is an endpoint or a container in a namespace.
type NamespaceResource struct {
	// Type is [ResourceEndpoint] or [ResourceContainer].
	Type string
	// ID is the id as HNS wrote it: of an endpoint a GUID in capital letters,
	// of a container any text.
	ID string
}

// Endpoints returns the ids of the endpoints in the namespace.
func (n *Namespace) Endpoints() []ID {
	var out []ID
	for _, r := range n.Resources {
		if id, err := ParseID(r.ID); err == nil && r.Type == ResourceEndpoint {
			out = append(out, id)
		}
	}
	return out
}

// DecodeNamespace reads a namespace in schema 2. It fails only if doc is no
// JSON object; see [Document].
func DecodeNamespace(doc []byte) (*Namespace, error) {
	var d Document
	r, bad := startReading(doc, &d)
	if bad != nil {
		return nil, &Error{Op: "read namespace", Err: bad}
	}
	n := &Namespace{
		ID:          r.id("ID"),
		NamespaceID: uint32(r.uint("NamespaceId", 32)),
		Type:        NamespaceType(r.enum("Type", namespaceTypes)),
	}
	if n.Type == "" {
		n.Type = NamespaceHost
	}
	r.list("Resources", func(e reader) {
		n.Resources = append(n.Resources, NamespaceResource{Type: e.enum("Type", resourceTypes), ID: e.sub("Data").str("Id")})
	})
	n.Document = d
	return n, nil
}

// Encode returns the document that a create sends.
func (n *Namespace) Encode() (json.RawMessage, error) {
	return encode(struct {
		ID            string        `json:",omitempty"`
		NamespaceId   uint32        `json:",omitempty"`
		Type          NamespaceType `json:",omitempty"`
		SchemaVersion wireSchema
	}{idText(n.ID), n.NamespaceID, n.Type, schema2})
}

func (n *Namespace) check() []*FieldError {
	if n.Type != "" && !slices.Contains(namespaceTypes, string(n.Type)) {
		return []*FieldError{{Path: "Type", Value: string(n.Type), Reason: "not a namespace type of the schema", Rule: "namespace-type"}}
	}
	return nil
}

// NamespaceService does things to namespaces. It is the field Namespaces of
// [Client].
type NamespaceService struct{ c *Client }

// Create makes a namespace. Container runtimes do it; tests and node agents
// may.
func (s *NamespaceService) Create(ctx context.Context, n *Namespace) (*Namespace, error) {
	return create(ctx, s.c, namespaceKind, n, ID{})
}

// ByID returns the namespace, or ErrNotFound.
func (s *NamespaceService) ByID(ctx context.Context, id ID) (*Namespace, error) {
	return byID(ctx, s.c, namespaceKind, id)
}

// List returns all namespaces of the node.
func (s *NamespaceService) List(ctx context.Context) ([]*Namespace, error) {
	return list(ctx, s.c, namespaceKind, "")
}

// Delete deletes the namespace. Endpoints in it stay, detached; with
// containers in it HNS refuses (ErrInUse), and the error lists what is in it.
func (s *NamespaceService) Delete(ctx context.Context, id ID) error {
	err := remove(ctx, s.c, namespaceKind, id)
	if !errors.Is(err, ErrInUse) {
		return err
	}
	ns, errGet := s.ByID(ctx, id)
	if errGet != nil {
		return err // who is in it is help only
	}
	var in []string
	for _, r := range ns.Resources {
		in = append(in, r.Type+" "+r.ID)
	}
	return fmt.Errorf("%w (in it: %s)", err, strings.Join(in, ", "))
}

// AddEndpoint attaches an endpoint to the namespace. An endpoint that is in it
// already is success; one in another namespace is ErrAttached, and the error
// names that one.
func (s *NamespaceService) AddEndpoint(ctx context.Context, namespace, endpoint ID) error {
	err := s.modify(ctx, requestAdd, namespace, endpoint)
	if !errors.Is(err, ErrAttached) {
		return err
	}
	e, errGet := s.c.Endpoints.ByID(ctx, endpoint)
	switch {
	case errGet != nil:
		return errors.Join(err, errGet)
	case e.Namespace == namespace:
		return nil
	case e.Namespace.IsZero():
		return fmt.Errorf("%w (in no namespace; state %s)", err, e.State)
	}
	return fmt.Errorf("%w (it is in namespace %s)", err, e.Namespace)
}

// RemoveEndpoint detaches an endpoint from the namespace. If it is not in the
// namespace, or one of the two is gone, the error is ErrNotFound.
func (s *NamespaceService) RemoveEndpoint(ctx context.Context, namespace, endpoint ID) error {
	return s.modify(ctx, requestRemove, namespace, endpoint)
}

// AddContainer puts a container into the namespace, as container runtimes do
// when they start one in it; id is that of the compute system, any text. HNS
// lists a container as often as it was added.
func (s *NamespaceService) AddContainer(ctx context.Context, namespace ID, id string) error {
	return s.modifyContainer(ctx, requestAdd, "add container to namespace", namespace, id)
}

// RemoveContainer takes a container out of the namespace, once. If it is not in
// the namespace, or that is gone, the error is ErrNotFound.
func (s *NamespaceService) RemoveContainer(ctx context.Context, namespace ID, id string) error {
	return s.modifyContainer(ctx, requestRemove, "remove container from namespace", namespace, id)
}

func (s *NamespaceService) modifyContainer(ctx context.Context, request, op string, namespace ID, id string) error {
	if namespace.IsZero() {
		return zeroID(op, VerbModify, KindNamespace)
	}
	if id == "" {
		return &Error{Op: op, Verb: VerbModify, Kind: KindNamespace, Ref: namespace.String(), Err: joinFields([]*FieldError{{Path: "ContainerId", Reason: "missing"}})}
	}
	return s.send(ctx, op, request, ResourceContainer, namespace, struct{ ContainerId string }{id})
}

func (s *NamespaceService) modify(ctx context.Context, request string, namespace, endpoint ID) error {
	op := "add endpoint " + endpoint.String() + " to namespace"
	if request == requestRemove {
		op = "remove endpoint " + endpoint.String() + " from namespace"
	}
	if namespace.IsZero() || endpoint.IsZero() {
		return zeroID(op, VerbModify, KindNamespace)
	}
	return s.send(ctx, op, request, ResourceEndpoint, namespace, struct{ EndpointId string }{endpoint.String()})
}

// send keeps the members in the order in which hcsshim has them.
func (s *NamespaceService) send(ctx context.Context, op, request, resource string, namespace ID, settings any) error {
	return s.c.modify(ctx, op, KindNamespace, namespace, struct {
		ResourceType, RequestType string
		Settings                  any
	}{resource, request, settings})
}
