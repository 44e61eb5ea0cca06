package emulator

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

const (
	// minVSID and maxVSID bound the VXLAN network identifier of an overlay
	// subnet (moby/libnetwork#1843).
	minVSID = 4096
	maxVSID = 16777214

	flagFreeGateway  = 1 // SubnetFlags: DoNotReserveGatewayAddress
	plainSubnetFlags = 3 // IPSubnetFlags that HNS gives the block of a plain subnet
)

// subnetFlags are the names of SubnetFlags.
var subnetFlags = map[string]uint32{"none": 0, "donotreservegatewayaddress": flagFreeGateway}

// blockFlags are the names of IPSubnetFlags.
var blockFlags = map[string]uint32{"none": 0, "enablebroadcast": 1, "reservenetworkaddress": 2}

var (
	ipamTypes      = []string{"Static", "Dhcp"}
	subnetPolicies = tableOf(
		policyType{name: "VLAN", settings: checkVLAN},
		policyType{name: "VSID", settings: checkVSID},
	)
)

// readIpams reads the subnets of a new network into n and returns the Ipams to
// show, with the ids that HNS gives subnets and their address blocks.
func (tx *tx) readIpams(n *network, r *reader) (json.RawMessage, error) {
	var ipams []json.RawMessage
	for _, ipam := range r.objects("Ipams") {
		kind, ok := ipam.enum("Type", ipamTypes)
		if !ok {
			return nil, failure(hns.CodeInvalidNetwork)
		}
		var subs []json.RawMessage
		for _, s := range ipam.objects("Subnets") {
			sub, doc, err := tx.readSubnet(n, &s)
			if err != nil {
				return nil, err
			}
			n.subnets = append(n.subnets, sub)
			subs = append(subs, doc)
		}
		r.bad = r.bad || ipam.bad
		o := object{}
		if kind != 0 || ipam.get("Type") != nil {
			o.addString("Type", ipamTypes[kind])
		}
		if len(subs) > 0 {
			o.add("Subnets", list(subs))
		}
		ipams = append(ipams, o.bytes())
	}
	if len(n.subnets) == 0 && (n.kind == typeNAT || n.kind == typeICS) {
		sub, doc := tx.chooseSubnet()
		n.subnets = []subnet{sub}
		ipams = []json.RawMessage{object{{"Type", quote("Static")}, {"Subnets", list([]json.RawMessage{doc})}}.bytes()}
	}
	if err := tx.checkSubnets(n); err != nil {
		return nil, err
	}
	if len(ipams) == 0 {
		return nil, nil
	}
	return list(ipams), nil
}

func (tx *tx) readSubnet(n *network, r *reader) (subnet, json.RawMessage, error) {
	text := r.str("IpAddressPrefix")
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return subnet{}, nil, failure(hns.CodeInvalidPrefix)
	}
	if p != p.Masked() {
		// microsoft/windows-container-networking#69
		return subnet{}, nil, failure(hns.CodeInvalidJSON)
	}
	given := r.objects("IpSubnets")
	if p.Bits() == 0 && n.kind == typeNAT { // "choose for me" (Docker)
		if len(given) > 0 {
			return subnet{}, nil, failure(hns.CodeInvalidIPSubnet)
		}
		s, doc := tx.chooseSubnet()
		return s, doc, nil
	}
	s := subnet{id: tx.newID(), prefix: p, freeGateway: r.flags("Flags", subnetFlags)&flagFreeGateway != 0}
	blocks, err := tx.readBlocks(&s, given)
	if err != nil {
		return s, nil, err
	}
	if s.gateway, err = gateway(r, p); err != nil {
		return s, nil, err
	}
	routes := nonEmpty(r.get("Routes"))
	if !s.gateway.IsValid() && n.kind == typeNAT && last(p) > 1 {
		s.gateway = at(p, 1)
		routes = defaultRoute(s.gateway)
	}
	policies, err := tx.subnetPolicies(&s, r)
	if err != nil {
		return s, nil, err
	}
	if r.bad {
		return s, nil, failure(hns.CodeInvalidJSON)
	}
	return s, s.document(policies, routes, blocks, r.flags("Flags", subnetFlags)), nil
}

// readBlocks gives a subnet the blocks of a create, or one of its own prefix, and
// returns them to be shown.
func (tx *tx) readBlocks(s *subnet, given []reader) (json.RawMessage, error) {
	if len(given) == 0 {
		return tx.plainBlock(s), nil
	}
	var shown []reader
	for i := range given {
		var err error
		if shown, err = tx.addBlock(*s, shown, &given[i]); err != nil {
			return nil, err
		}
	}
	s.blocks = loadBlocks(shown)
	return renderAll(shown), nil
}

// plainBlock gives a subnet the block that HNS makes when none is asked for.
func (tx *tx) plainBlock(s *subnet) json.RawMessage {
	s.blocks = []block{{tx.newID(), s.prefix}}
	b := object{{"ID", quote(s.blocks[0].id.String())}}
	b.addString("IpAddressPrefix", s.prefix.String())
	b.addUint("Flags", plainSubnetFlags)
	return list([]json.RawMessage{b.bytes()})
}

// document returns the schema 2 document of the subnet.
func (s subnet) document(policies, routes, blocks json.RawMessage, flags uint32) json.RawMessage {
	o := object{{"ID", quote(s.id.String())}}
	o.addString("IpAddressPrefix", s.prefix.String())
	o.add("Policies", policies)
	o.add("Routes", routes)
	o.add("IpSubnets", blocks)
	o.addUint("Flags", uint64(flags))
	return o.bytes()
}

func (tx *tx) subnetPolicies(s *subnet, r *reader) (json.RawMessage, error) {
	ps, err := tx.readPolicies(subnetPolicies, nil, inCreate, r.array("Policies"))
	if err != nil {
		return nil, err
	}
	s.vsid = vsid(ps)
	return renderPolicies(ps), nil
}

func checkVSID(c *check) error {
	c.uint32("IsolationId")
	return nil
}

// vsid returns the isolation id of the VSID policy, zero without one.
func vsid(ps []policy) (id uint32) {
	for _, p := range ps {
		if o, err := parseObject(p.settings); err == nil && p.kind == "VSID" {
			r := reader{object: o}
			id = r.uint32("IsolationId")
		}
	}
	return id
}

// gateway returns the next hop of the default route of a subnet; zero when
// there is none. HNS takes any address, also one outside the subnet.
func gateway(r *reader, p netip.Prefix) (gw netip.Addr, err error) {
	for _, route := range r.objects("Routes") {
		dst, hop := route.str("DestinationPrefix"), route.str("NextHop")
		route.uint16("Metric")
		d, err := netip.ParsePrefix(dst)
		if err != nil && dst != "" {
			return gw, failure(hns.CodeInvalidPrefix)
		}
		a, ok := parseAddress(hop)
		if !ok && hop != "" {
			return gw, failure(hns.CodeInvalidIP)
		}
		r.bad = r.bad || route.bad
		if ok && d.IsValid() && d.Bits() == 0 && a.Is4() == p.Addr().Is4() && !a.IsUnspecified() && !gw.IsValid() {
			gw = a
		}
	}
	return gw, nil
}

func defaultRoute(gw netip.Addr) json.RawMessage {
	return list([]json.RawMessage{route(gw)})
}

// route returns the default route by a gateway.
func route(gw netip.Addr) json.RawMessage {
	dst := "0.0.0.0/0"
	if gw.Is6() {
		dst = "::/0"
	}
	return object{{"NextHop", quote(gw.String())}, {"DestinationPrefix", quote(dst)}}.bytes()
}

// checkSubnets holds what a type of network asks of its subnets.
func (tx *tx) checkSubnets(n *network) error {
	switch n.kind {
	case typeL2Bridge, typeL2Tunnel, typeOverlay:
		if len(n.subnets) == 0 {
			return failure(hns.CodeInvalidNetwork)
		}
	case typeNAT:
		if err := tx.checkNAT(n); err != nil {
			return err
		}
	}
	if n.overlapsItself() {
		return failure(hns.CodeInvalidSubnet)
	}
	if n.usesVFP() && !hasManySubnets.has(tx.version) && !n.onePerFamily() {
		return failure(hns.CodeInvalidParameter)
	}
	for _, s := range n.subnets {
		if s.prefix.Addr().Is6() && (n.kind == typeOverlay ||
			(n.kind == typeL2Bridge || n.kind == typeL2Tunnel) && !hasDualStack.has(tx.version)) {
			return failure(hns.CodeInvalidParameter)
		}
		if n.kind == typeOverlay && !tx.opts.AllowLowVNI && (s.vsid < minVSID || s.vsid > maxVSID) {
			return failure(tx.opts.lowVNICode())
		}
	}
	return nil
}

// overlapsItself reports whether two subnets have an address in common.
func (n *network) overlapsItself() bool {
	var ps []netip.Prefix
	for _, s := range n.subnets {
		ps = append(ps, s.prefix)
	}
	slices.SortFunc(ps, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	for i := 1; i < len(ps); i++ { // what lies in another comes behind it
		if ps[i-1].Overlaps(ps[i]) {
			return true
		}
	}
	return false
}

// onePerFamily reports whether no two subnets are of one family.
func (n *network) onePerFamily() bool {
	seen := map[bool]bool{}
	for _, s := range n.subnets {
		v6 := s.prefix.Addr().Is6()
		if seen[v6] {
			return false
		}
		seen[v6] = true
	}
	return true
}

// checkNAT refuses a prefix that another NAT network has a part of.
func (tx *tx) checkNAT(n *network) error {
	for id := range tx.nat[struct{}{}] {
		if tx.opts.SingleNAT {
			return failure(hns.CodeInvalidParameter)
		}
		for _, other := range tx.networks[id].subnets {
			for _, s := range n.subnets {
				if s.prefix.Overlaps(other.prefix) {
					return failure(hns.CodeObjectAlreadyExists)
				}
			}
		}
	}
	return nil
}

// chooseSubnet returns the first free /20 of 172.16.0.0/12 behind the first.
func (tx *tx) chooseSubnet() (subnet, json.RawMessage) {
	block := netip.MustParsePrefix("172.16.0.0/12")
	p := netip.PrefixFrom(at(block, 1<<16), 20)
	for n := uint64(16); n < 256; n++ {
		if try := netip.PrefixFrom(at(block, n<<12), 20); !tx.prefixTaken(try) {
			p = try
			break
		}
	}
	s := subnet{id: tx.newID(), prefix: p, gateway: at(p, 1)}
	blocks := tx.plainBlock(&s)
	return s, s.document(nil, defaultRoute(s.gateway), blocks, 0)
}

func (tx *tx) prefixTaken(p netip.Prefix) bool {
	for _, n := range tx.networks {
		for _, s := range n.subnets {
			if s.prefix.Overlaps(p) {
				return true
			}
		}
	}
	for _, a := range tx.opts.Adapters {
		for _, x := range a.Addresses {
			if x.Overlaps(p) {
				return true
			}
		}
	}
	return false
}
