package emulator

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// The objects of the store. An object is never changed once it is stored: a
// change puts a copy in its place, so undoing means putting the old one back.
//
// doc is the schema 2 document as HNS shows it. Members that change while the
// object lives are rendered from the fields beside it; their value in doc is
// only a place holder that keeps the order.

// network is a stored network.
type network struct {
	id       hns.ID
	name     string
	seq      uint64
	kind     int // index into networkTypes; unknownType for what a dump holds
	flags    uint32
	subnets  []subnet
	macs     []macRange
	policies []policy
	doc      object
	private  networkPrivate
}

// networkPrivate is what HNS knows of a network but schema 2 does not show.
type networkPrivate struct {
	Seq          uint64          `json:",omitzero"`
	TypeText     string          `json:",omitzero"` // as the creator spelled it: schema 1 echoes it
	Adapter      string          `json:",omitzero"` // host adapter below the virtual switch
	ManagementIP netip.Addr      `json:",omitzero"`
	PendingReads int             `json:",omitzero"` // reads until ManagementIP shows; negative: never
	DRMAC        string          `json:",omitzero"`
	NatName      string          `json:",omitzero"`
	Extensions   map[string]bool `json:",omitzero"` // switch extensions by upper-case id, where not the default
	NoSwitch     bool            `json:",omitzero"` // somebody removed the virtual switch

	MostEndpoints  uint64 `json:",omitzero"` // at one time
	TotalEndpoints uint64 `json:",omitzero"` // that were ever made
}

// subnet is what the emulator needs of a subnet.
type subnet struct {
	id          hns.ID
	blocks      []block // at least one; endpoints have their addresses from these
	prefix      netip.Prefix
	gateway     netip.Addr // zero: none
	freeGateway bool       // flag DoNotReserveGatewayAddress
	vsid        uint32
}

// block is an address block of a subnet, in HNS an IP subnet.
type block struct {
	id     hns.ID // zero: a dump does not tell
	prefix netip.Prefix
}

func (s subnet) equal(o subnet) bool {
	return s.id == o.id && slices.Equal(s.blocks, o.blocks) && s.prefix == o.prefix && s.gateway == o.gateway &&
		s.freeGateway == o.freeGateway && s.vsid == o.vsid
}

// blockOf returns the first block that holds the address.
func (s subnet) blockOf(a netip.Addr) (block, bool) {
	for _, b := range s.blocks {
		if b.prefix.Contains(a) {
			return b, true
		}
	}
	return block{}, false
}

// macRange is a range of a MAC pool, both ends included.
type macRange struct{ start, end uint64 }

// endpoint is a stored endpoint.
type endpoint struct {
	id        hns.ID
	name      string
	seq       uint64
	network   hns.ID
	namespace hns.ID
	flags     uint32
	state     uint16
	addresses []netip.Addr
	mac       hns.MAC
	policies  []policy
	doc       object
	private   endpointPrivate
}

// endpointPrivate is what HNS knows of an endpoint but schema 2 does not show.
type endpointPrivate struct {
	Seq         uint64   `json:",omitzero"`
	Compartment uint32   `json:",omitzero"` // host attachment
	VM          string   `json:",omitzero"` // switch port of a virtual machine
	Containers  []string `json:",omitzero"` // containers of a v1 attach
}

// Endpoint flags and states (HNS schema, EndpointFlags and State).
const (
	flagRemote = 1

	stateCreated         = 1
	stateAttached        = 2
	stateAttachedSharing = 3
	stateDetached        = 4
	stateDegraded        = 5
)

// endpointFlags are the names of EndpointFlags.
var endpointFlags = map[string]uint32{"none": 0, "remoteendpoint": flagRemote, "disableintercomputecommunication": 2,
	"enablemirroring": 4, "enablelowinterfacemetric": 8, "overridednsserverorder": 16, "enabledhcp": flagDHCP}

func (e *endpoint) remote() bool { return e.flags&flagRemote != 0 }

// attached reports whether the endpoint has a switch port.
func (e *endpoint) attached() bool {
	return !e.namespace.IsZero() || e.private.Compartment != 0 || e.private.VM != "" || len(e.private.Containers) > 0
}

// namespace is a stored namespace.
type namespace struct {
	id        hns.ID
	seq       uint64
	number    uint32 // compartment; 0: none yet
	resources []resource
	doc       object
	private   namespacePrivate
}

type namespacePrivate struct {
	Seq uint64 `json:",omitzero"`
}

// resource is an entry of a namespace. For an endpoint, id is its GUID in
// capitals, as HNS writes it there.
type resource struct {
	container bool
	id        string
}

func (n *namespace) containers() (ids []string) {
	for _, r := range n.resources {
		if r.container {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// find returns the position of a resource, or -1.
func (n *namespace) find(r resource) int {
	for i, x := range n.resources {
		if x.container == r.container && strings.EqualFold(x.id, r.id) {
			return i
		}
	}
	return -1
}

// render returns the schema 2 document of an endpoint.
func (e *endpoint) render() json.RawMessage {
	return render(e.doc, override{
		"state":                number(uint64(e.state)),
		"hostcomputenamespace": quote(e.namespace.String()),
		"policies":             renderPolicies(e.policies),
	})
}

func (n *network) render() json.RawMessage {
	return render(n.doc, override{"policies": renderPolicies(n.policies)})
}

func (n *namespace) render() json.RawMessage {
	o := override{"resources": renderResources(n.resources)}
	if n.number != 0 {
		o["namespaceid"] = number(uint64(n.number))
	}
	return render(n.doc, o)
}

// override holds the members that live outside a document, by lower-case name;
// the document has a value or a place holder for each. A nil value leaves out the
// member, unless the document has a value of its own for it.
type override map[string]json.RawMessage

func render(doc object, o override) json.RawMessage {
	out := make(object, 0, len(doc))
	for _, m := range doc {
		key := strings.ToLower(m.name)
		switch v := o[key]; {
		case m.value != nil && (v == nil || strings.EqualFold(string(v), string(m.value))):
			out = append(out, m) // of the document itself
		case v != nil:
			out = append(out, member{m.name, v})
		}
	}
	return out.bytes()
}

func renderPolicies(ps []policy) json.RawMessage {
	if len(ps) == 0 {
		return nil
	}
	elems := make([]json.RawMessage, len(ps))
	for i, p := range ps {
		elems[i] = p.raw
	}
	return list(elems)
}

func renderResources(rs []resource) json.RawMessage {
	if len(rs) == 0 {
		return nil
	}
	elems := make([]json.RawMessage, len(rs))
	for i, r := range rs {
		kind := "Endpoint"
		if r.container {
			kind = "Container"
		}
		elems[i] = object{
			{"Type", quote(kind)},
			{"Data", object{{"Id", quote(r.id)}}.bytes()},
		}.bytes()
	}
	return list(elems)
}
