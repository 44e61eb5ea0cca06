package hns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// EndpointFlags are the flags of an endpoint (schema EndpointFlags). Unknown
// bits are kept.
type EndpointFlags uint32

// Endpoint flags.
const (
	// EndpointRemote marks an endpoint that stands for one on another node.
	EndpointRemote                 EndpointFlags = 1
	EndpointDisableICC             EndpointFlags = 2
	EndpointEnableMirroring        EndpointFlags = 4
	EndpointLowInterfaceMetric     EndpointFlags = 8
	EndpointOverrideDNSServerOrder EndpointFlags = 16
	EndpointEnableDHCP             EndpointFlags = 32
)

// EndpointState is where an endpoint is in its life. Both APIs of HNS share
// the numbers; values above the known ones are kept.
type EndpointState uint16

// The states of an endpoint.
const (
	EndpointUninitialized EndpointState = iota
	EndpointCreated
	EndpointAttached
	EndpointAttachedSharing
	EndpointDetached
	EndpointDegraded
	EndpointDestroyed
)

var endpointStates = [...]string{"Uninitialized", "Created", "Attached", "AttachedSharing", "Detached", "Degraded", "Destroyed"}

// String returns HNS's word for the state, or its number.
func (s EndpointState) String() string {
	if int(s) < len(endpointStates) {
		return endpointStates[s]
	}
	return fmt.Sprintf("State(%d)", uint16(s))
}

// Endpoint is an HNS endpoint (schema HostComputeEndpoint).
type Endpoint struct {
	// ID is chosen by HNS unless set at create.
	ID ID
	// Name is free and not unique, not even on one network.
	Name string
	// Network is the network it is on.
	Network ID
	// Namespace is the one it was added to; zero: none. It is read only: use
	// [NamespaceService.AddEndpoint].
	Namespace ID
	// IPConfigs are the addresses, at most one of each family. Empty at create
	// lets HNS choose.
	IPConfigs []IPConfig
	// Routes of the endpoint; the default route's next hop is its gateway.
	// Empty at create gives a default route via the subnet's gateway.
	Routes []Route
	// MAC is taken from the network's pool when zero at create.
	MAC MAC
	// DNS is the resolver configuration of the pod.
	DNS DNS
	// Policies in the order HNS keeps them.
	Policies []EndpointPolicy
	// Flags of the endpoint; zero is none.
	Flags EndpointFlags
	// State is read only, and zero where HNS left it out; see
	// [EndpointService.State].
	State EndpointState
	// Document is what HNS sent; zero for an endpoint that was not read.
	Document Document
}

// Addresses returns the addresses without their lengths.
func (e *Endpoint) Addresses() []netip.Addr {
	var out []netip.Addr
	for _, c := range e.IPConfigs {
		if c.Address.IsValid() {
			out = append(out, c.Address)
		}
	}
	return out
}

// Gateway returns the next hop of the default route of a's family, or none.
func (e *Endpoint) Gateway(a netip.Addr) netip.Addr { return defaultGateway(e.Routes, a.Is4()) }

// DecodeEndpoint reads an endpoint in schema 2. It fails only if doc is no
// JSON object; see [Document].
func DecodeEndpoint(doc []byte) (*Endpoint, error) {
	var d Document
	r, bad := startReading(doc, &d)
	if bad != nil {
		return nil, &Error{Op: "read endpoint", Err: bad}
	}
	e := &Endpoint{
		ID:        r.id("ID"),
		Name:      r.str("Name"),
		Network:   r.id("HostComputeNetwork"),
		Namespace: r.id("HostComputeNamespace"),
		Routes:    readRoutes(r),
		MAC:       r.mac("MacAddress"),
		DNS:       readDNS(r.sub("Dns")),
		Policies:  readPolicies(r, endpointPolicies),
		Flags:     EndpointFlags(r.uint("Flags", 32)),
		State:     EndpointState(r.uint("State", 16)),
	}
	r.list("IpConfigurations", func(c reader) { e.IPConfigs = append(e.IPConfigs, readIPConfig(c)) })
	e.Document = d
	return e, nil
}

// Encode returns the document that a create sends: schema 2.0, members that
// are zero left out. It does not check the values, as Create does; the error is
// for policies that have no text (nil, broken JSON).
func (e *Endpoint) Encode() (json.RawMessage, error) {
	policies, err := wirePolicies(e.Policies)
	if err != nil {
		return nil, err
	}
	w := struct {
		ID                   string         `json:",omitempty"`
		Name                 string         `json:",omitempty"`
		HostComputeNetwork   string         `json:",omitempty"`
		HostComputeNamespace string         `json:",omitempty"`
		Policies             []wirePolicy   `json:",omitempty"`
		IpConfigurations     []wireIPConfig `json:",omitempty"`
		Dns                  *wireDNS       `json:",omitempty"`
		Routes               []wireRoute    `json:",omitempty"`
		MacAddress           string         `json:",omitempty"`
		Flags                EndpointFlags  `json:",omitempty"`
		SchemaVersion        wireSchema
	}{
		ID: idText(e.ID), Name: e.Name, HostComputeNetwork: idText(e.Network), HostComputeNamespace: idText(e.Namespace),
		Policies: policies, Dns: e.DNS.wire(), Routes: wireRoutes(e.Routes),
		MacAddress: e.MAC.String(), Flags: e.Flags, SchemaVersion: schema2,
	}
	for _, c := range e.IPConfigs {
		w.IpConfigurations = append(w.IpConfigurations, c.wire())
	}
	return encode(w)
}

// where says on which network and with which addresses the endpoint was wanted.
func (e *Endpoint) where() string {
	s := " on network " + e.Network.String()
	if as := e.Addresses(); len(as) > 0 {
		s += " with " + joinTexts(as)
	}
	return s
}

func (e *Endpoint) check() []*FieldError {
	var bad []*FieldError
	if e.Network.IsZero() {
		bad = append(bad, &FieldError{Path: "HostComputeNetwork", Reason: "missing"})
	}
	if !e.Namespace.IsZero() {
		bad = append(bad, &FieldError{Path: "HostComputeNamespace", Value: e.Namespace.String(),
			Reason: "an endpoint is added to a namespace after its create", Rule: "namespace-in-create"})
	}
	families := map[bool]bool{}
	for i, c := range e.IPConfigs {
		at := fmt.Sprintf("IpConfigurations[%d]", i)
		errs := c.check()
		if len(errs) == 0 {
			if families[c.Address.Is4()] {
				errs = append(errs, &FieldError{Path: "IpAddress", Value: c.Address.String(), Reason: "second address of its family", Rule: "one-address-per-family"})
			}
			families[c.Address.Is4()] = true
		}
		bad = append(bad, under(at, errs)...)
	}
	for i, r := range e.Routes {
		bad = append(bad, under(fmt.Sprintf("Routes[%d]", i), r.check())...)
	}
	bad = append(bad, under("Dns", e.DNS.check())...)
	return append(bad, checkPolicies(e.Policies, endpointPolicies)...)
}

func (e *Endpoint) needs() []Feature { return policyFeatures(e.Policies, endpointPolicies) }

// EndpointService does things to endpoints. It is the field Endpoints of
// [Client].
type EndpointService struct{ c *Client }

// Create makes an endpoint on e.Network and returns it as HNS filled it:
// address, MAC and routes are chosen where e has none.
func (s *EndpointService) Create(ctx context.Context, e *Endpoint) (*Endpoint, error) {
	var network ID
	if e != nil {
		network = e.Network
	}
	return create(ctx, s.c, endpointKind, e, network)
}

// ByID returns the endpoint, or ErrNotFound.
func (s *EndpointService) ByID(ctx context.Context, id ID) (*Endpoint, error) {
	return byID(ctx, s.c, endpointKind, id)
}

// ByName returns the endpoint of that name, compared exactly. Several are
// ErrAmbiguous, none is ErrNotFound.
func (s *EndpointService) ByName(ctx context.Context, name string) (*Endpoint, error) {
	return byName(ctx, s.c, endpointKind, name)
}

// Named returns all endpoints of that name, compared exactly; none is no error.
func (s *EndpointService) Named(ctx context.Context, name string) ([]*Endpoint, error) {
	return named(ctx, s.c, endpointKind, name)
}

// List returns all endpoints of the node, also those of other programs.
func (s *EndpointService) List(ctx context.Context) ([]*Endpoint, error) {
	return list(ctx, s.c, endpointKind, "")
}

// OfNetwork returns the endpoints on a network.
func (s *EndpointService) OfNetwork(ctx context.Context, network ID) ([]*Endpoint, error) {
	if network.IsZero() {
		return nil, zeroID("list endpoints of network", VerbList, KindEndpoint)
	}
	all, err := list(ctx, s.c, endpointKind, filter("VirtualNetwork", network.String()))
	if err != nil {
		return nil, err
	}
	// HNS takes the filter in names of the v1 API and is not known to refuse
	// one that it does not understand.
	return slices.DeleteFunc(all, func(e *Endpoint) bool { return e.Network != network }), nil
}

// Delete deletes the endpoint; HNS detaches it first where it is attached.
func (s *EndpointService) Delete(ctx context.Context, id ID) error {
	return remove(ctx, s.c, endpointKind, id)
}

// AddPolicies adds policies to a live endpoint. Those that this HNS is
// too old for are refused with a [FeatureError]; its version is asked for once,
// and only if not every HNS has them.
func (s *EndpointService) AddPolicies(ctx context.Context, id ID, ps ...EndpointPolicy) error {
	return modifyPolicies(ctx, s.c, endpointKind, id, requestAdd, ps, endpointPolicies)
}

// hostCompartment is the network compartment of the node itself.
const hostCompartment = 1

// AttachHost attaches the endpoint to the node itself, which gets an adapter
// "vEthernet (<name>)" with its address: the gateway of an L2Bridge network's
// pods. It is idempotent: attached to the node already is success, attached
// elsewhere is ErrAttached. The schema 2 API cannot do it, so this uses v1.
func (s *EndpointService) AttachHost(ctx context.Context, id ID) error {
	const op = "attach endpoint to host"
	body, err := encode(struct {
		SystemType    string
		CompartmentId int
	}{"Host", hostCompartment})
	if err != nil {
		return &Error{Op: op, Ref: id.String(), Err: err}
	}
	err = s.c.writeV1(ctx, op, KindEndpoint, id, "/endpoints/"+id.Upper()+"/attach", body)
	if err == nil || !isCode(err, CodeEndpointAttached) && !isCodeless(err) {
		return err
	}
	// HNS says the same for "to the node" and "to a pod", and older builds give
	// no code at all: where the endpoint is decides.
	at, errRead := s.attachment(ctx, id)
	switch {
	case errRead != nil:
		return errors.Join(err, errRead)
	case at.holder != "":
		return &Error{Op: op, Verb: VerbCall, Kind: KindEndpoint, Ref: id.String(), Code: CodeEndpointAttached,
			Err: fmt.Errorf("%w to %s", ErrAttached, at.holder)}
	case at.attached || isCode(err, CodeEndpointAttached):
		return nil
	}
	return err
}

// DetachHost undoes AttachHost. An endpoint that is not attached is success.
func (s *EndpointService) DetachHost(ctx context.Context, id ID) error {
	const op = "detach endpoint from host"
	body, err := encode(struct{ SystemType string }{"Host"})
	if err != nil {
		return &Error{Op: op, Ref: id.String(), Err: err}
	}
	err = s.c.writeV1(ctx, op, KindEndpoint, id, "/endpoints/"+id.Upper()+"/detach", body)
	switch {
	case isCode(err, CodeElementNotFound), isCode(err, CodeEndpointNotAttached):
		return nil
	case isCodeless(err):
		at, errRead := s.attachment(ctx, id)
		if errRead == nil && !at.attached {
			return nil
		}
		return errors.Join(err, errRead)
	}
	return err
}

// attachment is where an endpoint is attached.
type attachment struct {
	attached bool
	holder   string // the namespace or container; empty: the node, or nothing
}

// attachment asks the v1 API, which shows containers too.
func (s *EndpointService) attachment(ctx context.Context, id ID) (attachment, error) {
	var a attachment
	err := s.c.readV1(ctx, "read attachment of endpoint", KindEndpoint, id, "/endpoints/"+id.Upper(), func(r reader) {
		a.attached = isAttached(EndpointState(r.uint("State", 16)))
		if ns := r.sub("Namespace").id("ID"); !ns.IsZero() {
			a.holder = "namespace " + ns.String()
		} else if containers := r.strs("SharedContainers"); len(containers) > 0 {
			a.holder = "container " + strings.Join(containers, ", ")
		}
	})
	return a, err
}

func isAttached(s EndpointState) bool { return s == EndpointAttached || s == EndpointAttachedSharing }

// stateOf returns the state that e was read with or, where HNS left it out, the
// one the v1 API has.
func (s *EndpointService) stateOf(ctx context.Context, e *Endpoint) (EndpointState, error) {
	if e.State != EndpointUninitialized {
		return e.State, nil
	}
	return s.State(ctx, e.ID)
}

// State returns the endpoint's state from the v1 API, which always has it.
func (s *EndpointService) State(ctx context.Context, id ID) (EndpointState, error) {
	var out EndpointState
	err := s.c.readV1(ctx, "read state of endpoint", KindEndpoint, id, "/endpoints/"+id.Upper(), func(r reader) {
		out = EndpointState(r.uint("State", 16))
	})
	return out, err
}
