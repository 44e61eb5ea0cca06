package delegate

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
)

const hostLocal = "host-local"

// anySubnet stands for the node's subnet where only a well-formed one is wanted.
const anySubnet = "192.0.2.0/24"

// ipamType returns the type of the IPAM plugin; host-local if the user named none.
func (b *builder) ipamType() (string, []error) {
	t := taker{o: b.cfg.IPAM, path: "ipam"}
	return t.text("type", hostLocal), t.errs
}

// checkIPAM checks the user's IPAM members.
func (b *builder) checkIPAM() {
	typ, errs := b.ipamType()
	b.errs = append(b.errs, errs...)
	if len(errs) > 0 || kind(typ) != hostLocal {
		return
	}
	t := taker{o: b.cfg.IPAM, path: "ipam"}
	t.text("dataDir", "")
	if path, value, ok := t.get("subnet"); ok {
		t.prefix(path, value)
	}
	if path, value, ok := t.get("ranges"); ok {
		t.fail(field(path, value, "must not be there: the node's subnet is flannel's to give (rangeStart, rangeEnd and gateway may be set)"))
	}
	for _, name := range []string{"rangeStart", "rangeEnd", "gateway"} {
		if path, value, ok := t.get(name); ok {
			t.address(path, value)
		}
	}
	if path, value, ok := t.get("routes"); ok {
		t.routes(path, value)
	}
	b.errs = append(b.errs, t.errs...)
}

// addresses sets ipam for ADD.
func (b *builder) addresses() {
	typ, _ := b.ipamType()
	ipam := object(b.cfg.IPAM).clone()
	ipam.setValue("type", typ)
	subnet := b.env.MaskedSubnet()
	t := taker{o: ipam, path: "ipam"}
	path, value, own := t.get("subnet")
	switch {
	case !own:
		ipam.setValue("subnet", subnet)
	case kind(typ) != hostLocal:
	case t.prefix(path, value).Masked() != subnet:
		t.fail(field(path, value, "is not the node's subnet "+subnet.String()))
	default:
		ipam.setValue("subnet", subnet)
	}
	if kind(typ) == hostLocal {
		b.hostLocalRanges(ipam)
		if path, value, ok := t.get("routes"); ok {
			ipam.setValue("routes", b.addNetworks(t.routes(path, value)))
		}
	}
	b.errs = append(b.errs, t.errs...)
	b.out.setValue("ipam", ipam)
}

// hostLocalRanges keeps the gateway out of what host-local gives away, and adds
// the IPv6 subnet. host-local puts the range made by subnet, rangeStart and so on
// before those in ranges, so IPv4 comes first.
func (b *builder) hostLocalRanges(ipam object) {
	reserve := usesBridgeGateway(b.typ)
	if _, _, own := ipam.get("rangeStart"); reserve && !own {
		start, err := afterGateway(b.env.MaskedSubnet())
		if err != nil {
			b.fail(err)
			return
		}
		ipam.setValue("rangeStart", start)
	}
	if !b.ipv6 {
		return
	}
	subnet := b.env.MaskedIPv6Subnet()
	v6 := object{"subnet": encode(subnet)}
	if reserve {
		start, err := afterGateway(subnet)
		if err != nil {
			b.fail(err)
			return
		}
		v6.setValue("rangeStart", start)
	}
	ipam.setValue("ranges", [][]object{{v6}})
}

// afterGateway returns network+3: +1 is the HNS network's gateway, +2 the host's
// endpoint, which is the pods' gateway.
func afterGateway(subnet netip.Prefix) (netip.Addr, error) {
	// In a shorter subnet +3 is the broadcast address, or outside.
	if subnet.Addr().BitLen()-subnet.Bits() < 3 {
		return netip.Addr{}, fmt.Errorf("delegate: subnet %s has no address for a pod: its first two are the gateways", subnet)
	}
	return subnet.Addr().Next().Next().Next(), nil
}

// addNetworks appends the flannel networks that are not among the destinations.
func (b *builder) addNetworks(routes []json.RawMessage, dsts []netip.Prefix) []json.RawMessage {
	for _, n := range b.networks() {
		if !slices.Contains(dsts, n) {
			routes = append(routes, encode(map[string]netip.Prefix{"dst": n}))
		}
	}
	return routes
}

// releaseOnly sets ipam for a DEL that does not know the subnet.
func (b *builder) releaseOnly() {
	typ, errs := b.ipamType()
	b.errs = append(b.errs, errs...)
	ipam := object(b.cfg.IPAM).clone()
	ipam.setValue("type", typ)
	if kind(typ) == hostLocal {
		for _, name := range []string{"rangeStart", "rangeEnd", "gateway", "ranges", "routes"} {
			ipam.remove(name)
		}
		ipam.setValue("subnet", anySubnet)
	}
	b.out.setValue("ipam", ipam)
}

// prefix reads an address with a length.
func (t *taker) prefix(path string, value json.RawMessage) netip.Prefix {
	var p netip.Prefix
	if json.Unmarshal(value, &p) != nil || !p.IsValid() {
		t.fail(field(path, value, "is not a prefix such as 10.244.0.0/16"))
	}
	return p
}

func (t *taker) address(path string, value json.RawMessage) {
	var a netip.Addr
	if json.Unmarshal(value, &a) != nil || !a.IsValid() {
		t.fail(field(path, value, "is not an IP address"))
	}
}

// list reads a list and hands each item to one.
func (t *taker) list(path string, value json.RawMessage, one func(path string, value json.RawMessage)) []json.RawMessage {
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		t.fail(field(path, value, "is not a list"))
	}
	for i, item := range items {
		one(path+"["+strconv.Itoa(i)+"]", item)
	}
	return items
}

// routes reads routes as the CNI specification has them and returns them as
// written, with their masked destinations.
func (t *taker) routes(path string, value json.RawMessage) (routes []json.RawMessage, dsts []netip.Prefix) {
	routes = t.list(path, value, func(path string, value json.RawMessage) {
		o, err := decodeObject(path, value)
		if err != nil {
			t.fail(err)
			return
		}
		if written, gw, ok := o.get("gw"); ok {
			t.address(join(path, written), gw)
		}
		written, dst, ok := o.get("dst")
		if !ok {
			t.fail(&FieldError{Path: path + ".dst", Reason: "is missing"})
			return
		}
		dsts = append(dsts, t.prefix(join(path, written), dst).Masked())
	})
	return routes, dsts
}
