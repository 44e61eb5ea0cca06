package emulator

import (
	"encoding/json"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

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
	c.e.flags = c.r.flags("Flags", endpointFlags)
	c.r.checkDNS()
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
			return failure(hns.CodeObjectAlreadyExists)
		}
		if x.address.Is6() == a.Is6() && !c.opts.SeveralAddresses {
			return failure(hns.CodeInvalidParameter)
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
	c.countEndpoint()
	return nil
}

// countEndpoint keeps the network's record of its endpoints.
func (c *creation) countEndpoint() {
	n := *c.n
	n.private.TotalEndpoints++
	n.private.MostEndpoints = max(n.private.MostEndpoints, uint64(len(c.byNetwork[n.id])))
	c.putNetwork(&n)
}

func (c *creation) renderConfigs() json.RawMessage {
	var out []json.RawMessage
	for _, x := range c.configs {
		o := object{{"IpAddress", quote(x.address.String())}}
		o.addUint("PrefixLength", uint64(x.bits))
		if x.subnet >= 0 {
			if b, _ := c.n.subnets[x.subnet].blockOf(x.address); !b.id.IsZero() {
				o.addString("IpSubnetId", b.id.String())
			}
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
		r.uint16("Metric")
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
