package emulator

import (
	"encoding/json"
	"net/netip"
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
	} else if id, ok := f.id("HostComputeNetwork"); ok {
		candidates = tx.endpointsOf(id)
	} else {
		candidates = tx.allEndpoints()
	}
	var out []json.RawMessage
	for _, e := range candidates {
		if f.matches(tx, e.view) {
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

// creation is an endpoint on its way into the store.
type creation struct {
	*tx
	n       *network
	e       *endpoint
	r       *reader
	macText string
	configs []ipConfig
}

// ipConfig is an entry of IpConfigurations.
type ipConfig struct {
	address netip.Addr
	bits    int
	subnet  int // index into the network's subnets, -1 outside them
}

func (tx *tx) createEndpoint(req hns.Request) (json.RawMessage, error) {
	o, err := tx.endpointDocument(req.Document)
	if err != nil {
		return nil, err
	}
	c := &creation{tx: tx, e: &endpoint{state: stateCreated}, r: &reader{object: o}}
	if err := c.findPlace(req); err != nil {
		return nil, err
	}
	for _, step := range []func() error{c.readIdentity, c.readAddresses, c.readMAC, c.readPolicies, c.finish, c.join} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return tx.endpoints[c.e.id].render(), nil
}

// findPlace finds the network: the one of the request, which the document may
// repeat but not contradict.
func (c *creation) findPlace(req hns.Request) error {
	id, err := c.r.id("HostComputeNetwork")
	if err != nil {
		return err
	}
	switch {
	case req.Network.IsZero():
	case id.IsZero():
		id = req.Network
	case id != req.Network:
		return failure(hns.CodeInvalidParameter)
	}
	if c.n, err = c.findNetwork(id); err != nil {
		return err
	}
	c.e.network = id
	c.e.id, err = c.newObjectID(req.ID, c.r)
	return err
}

func (c *creation) readIdentity() error {
	if c.endpoints[c.e.id] != nil {
		return failure(hns.CodeAlreadyExists)
	}
	c.e.name = c.r.str("Name")
	if c.e.name == "" {
		c.e.name = "Ethernet"
	}
	c.e.flags = c.r.uint32("Flags")
	if c.r.bad {
		return failure(hns.CodeInvalidJSON)
	}
	return nil
}

func (c *creation) readAddresses() error {
	for _, r := range c.r.objects("IpConfigurations") {
		text, bits := r.str("IpAddress"), r.uint32("PrefixLength")
		if r.bad {
			return failure(hns.CodeInvalidJSON)
		}
		if text == "" {
			continue
		}
		a, ok := parseAddress(text)
		if !ok {
			return failure(hns.CodeInvalidIP)
		}
		if err := c.checkAddress(c.n, a, c.e.remote()); err != nil {
			return err
		}
		if err := c.addAddress(a, int(bits)); err != nil {
			return err
		}
	}
	if c.r.bad {
		return failure(hns.CodeInvalidJSON)
	}
	if len(c.configs) > 0 {
		return nil
	}
	return c.chooseAddresses()
}

// addAddress adds an address; 0 bits take the length of its subnet.
func (c *creation) addAddress(a netip.Addr, bits int) error {
	if bits > a.BitLen() {
		return failure(hns.CodeInvalidPrefix)
	}
	for _, x := range c.configs {
		if x.address == a {
			return failure(hns.CodeObjectAlreadyInUse)
		}
	}
	sub, ok := c.n.subnetOf(a)
	if !ok {
		sub = -1
	}
	if bits == 0 && ok {
		bits = c.n.subnets[sub].prefix.Bits()
	} else if bits == a.BitLen() && ok && bits != c.n.subnets[sub].prefix.Bits() && !hasSlash32.has(c.version) {
		return failure(hns.CodeInvalidParameter)
	}
	c.configs = append(c.configs, ipConfig{a, bits, sub})
	c.e.addresses = append(c.e.addresses, a)
	return nil
}

const flagDHCP = 32

// chooseAddresses takes the next free address of each family that the network
// has a subnet of. Only a Transparent network may have none: its addresses
// come from the physical network.
func (c *creation) chooseAddresses() error {
	if c.e.remote() {
		return failure(hns.CodeInvalidEndpoint)
	}
	if c.e.flags&flagDHCP != 0 || c.n.kind == typeTransparent && len(c.n.subnets) == 0 {
		return nil
	}
	any := false
	for _, v6 := range []bool{false, true} {
		a, sub, found, err := c.allocate(c.n, v6)
		if err != nil {
			return err
		}
		if found {
			any = true
			c.configs = append(c.configs, ipConfig{a, c.n.subnets[sub].prefix.Bits(), sub})
			c.e.addresses = append(c.e.addresses, a)
		}
	}
	if !any && c.n.kind != typePrivate && c.n.kind != typeInternal && c.n.kind != unknownType {
		return failure(hns.CodeSubnetNotFound)
	}
	return nil
}

func (c *creation) readMAC() (err error) {
	c.macText = c.r.str("MacAddress")
	if c.e.mac, err = readMAC(c.macText); err != nil {
		return err
	}
	if c.e.mac.IsZero() {
		if c.e.mac, err = c.nextMAC(c.n); err != nil {
			return err
		}
		c.macText = c.e.mac.String()
	}
	return nil
}

func (c *creation) readPolicies() error {
	ps, err := c.tx.readPolicies(endpointPolicies, c.n, inCreate, c.r.array("Policies"))
	if err != nil {
		return err
	}
	c.e.policies = ps
	return c.checkEndpointPolicies(c.e)
}

// checkEndpointPolicies judges the policies of an endpoint as a whole.
func (tx *tx) checkEndpointPolicies(e *endpoint) error {
	if err := onlyOnce(e.policies); err != nil {
		return err
	}
	if err := tx.checkPorts(e.id, e.policies); err != nil {
		return err
	}
	if degraded(e.policies) {
		e.state = stateDegraded
	}
	return nil
}

func (c *creation) finish() error {
	routes, err := c.routes()
	if err != nil {
		return err
	}
	if c.r.bad {
		return failure(hns.CodeInvalidJSON)
	}
	c.e.seq = c.nextSeq()
	c.e.private.Seq = c.e.seq
	doc := c.base(c.e.id, c.e.name, c.r)
	doc = append(doc,
		member{"State", nil},
		member{"HostComputeNetwork", quote(c.e.network.String())},
		member{"HostComputeNamespace", nil},
		member{"Policies", nil})
	doc.add("IpConfigurations", c.renderConfigs())
	doc.add("Dns", nonEmpty(c.r.get("Dns")))
	doc.add("Routes", routes)
	doc.addString("MacAddress", c.macText)
	doc.addUint("Flags", uint64(c.e.flags))
	c.e.doc = doc
	c.putEndpoint(c.e)
	return nil
}

func (c *creation) renderConfigs() json.RawMessage {
	var out []json.RawMessage
	for _, x := range c.configs {
		o := object{{"IpAddress", quote(x.address.String())}}
		o.addUint("PrefixLength", uint64(x.bits))
		if x.subnet >= 0 && !c.n.subnets[x.subnet].ipSubnet.IsZero() {
			o.addString("IpSubnetId", c.n.subnets[x.subnet].ipSubnet.String())
		}
		out = append(out, o.bytes())
	}
	if out == nil {
		return nil
	}
	return list(out)
}

// routes returns the routes given, or one default route per family by the
// gateway of the endpoint's subnet. HNS does not look where a hop lies.
func (c *creation) routes() (json.RawMessage, error) {
	given := c.r.objects("Routes")
	for _, r := range given {
		if hop := r.str("NextHop"); hop != "" {
			if _, ok := parseAddress(hop); !ok {
				return nil, failure(hns.CodeInvalidIP)
			}
		}
		if dst := r.str("DestinationPrefix"); dst != "" {
			if _, _, ok := parsePrefixOrAddress(dst); !ok {
				return nil, failure(hns.CodeInvalidPrefix)
			}
		}
		c.r.bad = c.r.bad || r.bad
	}
	if len(given) > 0 || c.e.remote() {
		return nonEmpty(c.r.get("Routes")), nil
	}
	var out []json.RawMessage
	seen := map[bool]bool{}
	for _, x := range c.configs {
		v6 := x.address.Is6()
		if x.subnet < 0 || seen[v6] || !c.n.subnets[x.subnet].gateway.IsValid() {
			continue
		}
		seen[v6] = true
		out = append(out, route(c.n.subnets[x.subnet].gateway))
	}
	if out == nil {
		return nil, nil
	}
	return list(out), nil
}

// join puts a new endpoint into the namespace its document names.
func (c *creation) join() error {
	id, err := c.r.id("HostComputeNamespace")
	if err != nil || id.IsZero() || c.opts.IgnoreNamespaceInCreate {
		return err
	}
	ns, err := c.findNamespace(id)
	if err != nil {
		return err
	}
	return c.addEndpoint(ns, c.e.id)
}

func (tx *tx) deleteEndpoint(id hns.ID) error {
	e, err := tx.findEndpoint(id)
	if err != nil {
		return err
	}
	tx.dropEndpoint(e)
	return nil
}

// dropEndpoint takes an endpoint out of its namespace and out of the store.
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
		if err := e.canAttach(hns.CodeDegraded); err != nil {
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
func (e *endpoint) canAttach(code hns.Code) error {
	switch {
	case e.remote():
		return failure(hns.CodeInvalidRemoteOperation)
	case e.state == stateDegraded:
		return failure(code)
	case e.attached():
		return failure(hns.CodeEndpointAttached)
	}
	return nil
}
