package flows

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// hostOut is a packet in the IP stack of a Windows node that is to be sent on.
// in is the address of the adapter that it came in by, none if the node sends
// it itself.
func (f *flight) hostOut(n *node, in netip.Addr) spot {
	if !in.IsValid() {
		if back, ok := f.undoAll(n); ok {
			return f.afterUndo(n, back)
		}
	}
	a := f.dst()
	if n.has(a) {
		return f.forNode(n, in.IsValid())
	}
	if !in.IsValid() && !f.reply {
		if d := f.balanceHost(n); d != nil {
			return f.drop(*d)
		}
		a = f.dst()
	}
	for _, net := range n.networks {
		if s, ok := f.hostToPod(net, a, in); ok {
			return s
		}
	}
	if n.subnetText(a) != a.String() {
		return f.drop(f.nobody(n.ref(""), n))
	}
	if net := n.transparent(); net != nil && !in.IsValid() {
		if o, ok := f.w.byAddress(a, n); ok && o.isPod() {
			f.floor = Inferred
			f.through(net.ref("", ""), Inferred, false, "the node is on the network, too", net.ref("", ""))
			return f.throughFabric(n, nil)
		}
	}
	if in.IsValid() {
		if d := f.forwards(n, in); d != nil {
			return f.drop(*d)
		}
	}
	if n.stack == nil {
		f.unjudged(n.ref("routes"), "the routes and the forwarding of the node are not known")
		return f.whoeverHas(n)
	}
	return f.route(n, in)
}

// hostToPod leads what the node sends to a pod of its own, or on Overlay to
// one of another node.
func (f *flight) hostToPod(net *network, a netip.Addr, in netip.Addr) (spot, bool) {
	f.t.Looked++
	to := net.local[a]
	switch {
	case net.mode == modes.Overlay:
		return f.hostToOverlay(net, to, a, in)
	case to == nil || to.host:
		return f.hostToSubnet(net, a)
	}
	switch net.mode {
	case modes.L2Bridge:
		gate := net.hostEP
		if gate == nil {
			return f.drop(f.deadGateway(to, hostPlace(net, a))), true
		}
		if !gate.hostAttached() {
			return f.drop(hostDetached(gate)), true
		}
		f.rewrite(gate.ref("", ""), Tested, true, "leads it from the node to its pod", func(h *Header) { h.SrcMAC, h.DstMAC = gate.doc.MAC, to.doc.MAC })
	case modes.L2Tunnel:
		return f.vnet(net.node, to), true
	case modes.Transparent:
		f.floor = Inferred
		f.pass(net.ref("", ""), Inferred, false, "the switch hands it to the pod")
	default:
		f.rewrite(net.ref("", ""), Tested, false, "the node's port on the internal switch hands it to the pod", func(h *Header) { h.DstMAC = to.doc.MAC })
	}
	return spot{what: podIn, node: to.node, ep: to}, true
}

// transparent is the node's first network of mode Transparent, nil if it has none.
func (n *node) transparent() *network {
	i := slices.IndexFunc(n.networks, func(x *network) bool { return x.mode == modes.Transparent })
	if i < 0 {
		return nil
	}
	return n.networks[i]
}

// hostToSubnet says that nobody has an address of the node's own subnet: the
// node does not send it elsewhere.
func (f *flight) hostToSubnet(net *network, a netip.Addr) (spot, bool) {
	if net.hostEP == nil || !net.hostEP.hostAttached() || net.mode != modes.L2Bridge {
		return spot{}, false
	}
	if s, ok := net.doc.SubnetOf(a); !ok || !s.Prefix.Contains(net.hostEP.addrs[0]) {
		return spot{}, false
	}
	return f.drop(f.absent(net.hostEP, a)), true
}

// hostPlace is where the node's own endpoint would be.
func hostPlace(net *network, a netip.Addr) netip.Addr {
	s, ok := net.doc.SubnetOf(a)
	if !ok {
		return netip.Addr{}
	}
	return s.Prefix.Masked().Addr().Next().Next()
}

// forwards wants IP forwarding on the adapter that the packet came in by, and
// on the one to the physical network.
func (f *flight) forwards(n *node, in netip.Addr) *Diagnosis {
	if n.stack == nil {
		return nil // said elsewhere
	}
	for _, a := range []netip.Addr{in, n.address(in.Is4())} {
		i := slices.IndexFunc(n.stack.Adapters, func(d Adapter) bool {
			return slices.ContainsFunc(d.Addresses, func(p netip.Prefix) bool { return p.Addr() == a })
		})
		ref := Ref{Node: n.spec.Name, Kind: KindAdapter, Name: a.String(), Detail: "IP forwarding"}
		if i >= 0 {
			ref.Name = n.stack.Adapters[i].Name
		}
		if i < 0 || !n.stack.Adapters[i].Forwarding {
			return &Diagnosis{Reason: NotForwarding, Object: ref, Missing: true, Certainty: Practice,
				Text: fmt.Sprintf("the node does not forward on the adapter with %s", a),
				Fix:  fmt.Sprintf("switch IP forwarding on: netsh interface ipv4 set interface %q forwarding=enabled", ref.Name)}
		}
		if !f.noted[ref] {
			f.pass(ref, Practice, true, "forwards")
			if f.noted == nil {
				f.noted = map[any]bool{}
			}
			f.noted[ref] = true
		}
	}
	return nil
}

// route looks the destination up in the routes of a node's IP stack.
func (f *flight) route(n *node, in netip.Addr) spot {
	a := f.dst()
	r, p, ok := n.routes.find(a, &f.t.Looked)
	if link, on := n.onLink(a); on && (!ok || link.Bits() >= p.Bits()) {
		f.pass(n.routeRef(link.Masked()), Documented, false, "is on the link")
		return spot{what: wire, node: n, hop: a}
	}
	if !ok {
		return f.drop(f.noRoute(n, a))
	}
	if r.NextHop.IsUnspecified() { // as Windows writes a route to a link
		f.pass(n.routeRef(p), Documented, true, "is on the link")
		return spot{what: wire, node: n, hop: a}
	}
	f.pass(n.routeRef(p), Documented, true, "leads to "+r.NextHop.String())
	if n.has(r.NextHop) {
		return f.drop(Diagnosis{Reason: WrongRoute, Object: n.routeRef(p), Certainty: Documented,
			Text: fmt.Sprintf("the route leads to %s, which is the node itself", r.NextHop), Fix: "let it lead to the node that has the pod subnet"})
	}
	if _, on := n.onLink(r.NextHop); !on && len(n.stack.Adapters) > 0 {
		return f.drop(Diagnosis{Reason: WrongRoute, Object: n.routeRef(p), Certainty: Documented,
			Text: fmt.Sprintf("the next hop %s is on no link of the node", r.NextHop),
			Fix:  "host routes (host-gw, L2Bridge) need the nodes on one link; use a cloud's routes or Overlay"})
	}
	return spot{what: wire, node: n, hop: r.NextHop}
}

// onLink returns the subnet of the adapter that has the address on its link.
func (n *node) onLink(a netip.Addr) (netip.Prefix, bool) {
	for _, d := range n.stack.Adapters {
		for _, p := range d.Addresses {
			if p.Contains(a) && p.Bits() < p.Addr().BitLen() {
				return p, true
			}
		}
	}
	return netip.Prefix{}, false
}

// noRoute names the route that a node would need.
func (f *flight) noRoute(n *node, a netip.Addr) Diagnosis {
	want, via := netip.PrefixFrom(a, a.BitLen()), "the node that has it"
	if to, p, ok := f.subnetOwner(a); ok {
		want, via = p, fmt.Sprintf("%s (%s)", to.spec.Name, to.address(a.Is4()))
	} else if o, ok := f.w.byAddress(a, n); !ok || o.outside != nil {
		want, via = netip.PrefixFrom(unspecified(a), 0), "the router"
	}
	return Diagnosis{Reason: NoRoute, Object: n.routeRef(want), Missing: true, Certainty: Documented,
		Text: fmt.Sprintf("%s has no route to %s", n.spec.Name, a), Fix: fmt.Sprintf("add the route %s via %s on %s", want, via, n.spec.Name)}
}

func unspecified(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// nicIn is a packet that comes to a Windows node from the physical network.
func (f *flight) nicIn(n *node) spot {
	if f.h.Outer != (Outer{}) {
		return f.unwrap(n)
	}
	if back, ok := f.undoAll(n); ok {
		return f.afterUndo(n, back)
	}
	a := f.dst()
	if n.has(a) {
		return f.forNode(n, true)
	}
	if f.h.Dst == a && !f.reply {
		if s, ok := f.ingress(n); ok {
			return s
		}
	}
	for _, net := range n.networks {
		f.t.Looked++
		to := net.local[a]
		if to == nil || to.host {
			continue
		}
		switch net.mode {
		case modes.Overlay:
			return f.drop(f.bare(n, net))
		case modes.NAT:
			return f.drop(Diagnosis{Reason: NotPublished, Object: to.ref("PortMapping", ""), Missing: true, Certainty: Documented,
				Text: "a NAT network lets nothing in but through port mappings", Fix: "publish a port of the container, or choose a mode for several nodes"})
		}
		return spot{what: podIn, node: n, ep: to}
	}
	return spot{what: hostOut, node: n, hop: n.address(a.Is4())}
}

// forNode is a packet for an address of the node: for a port mapping, a node
// port, or the node itself. remote is whether it comes from elsewhere than the
// node.
func (f *flight) forNode(n *node, remote bool) spot {
	if back, ok := f.undoAll(n); ok {
		return f.afterUndo(n, back)
	}
	if f.reply {
		return spot{what: hostIn, node: n}
	}
	if s, ok := f.mapped(n, remote); ok {
		return s
	}
	if s, ok := f.ingress(n); ok {
		return s
	}
	return spot{what: hostIn, node: n}
}

// wire is a packet on a link, on its way to the next hop. n is the node that
// sent it.
func (f *flight) wire(n *node, hop netip.Addr) spot {
	p := f.w.cluster.Physical
	if d := f.filtered(n, p); d != nil {
		return f.drop(*d)
	}
	if p == nil {
		f.unjudged(Ref{Kind: KindPhysical}, "what lies between the nodes is not known")
	}
	if f.w.routers[hop] {
		var needs []Ref
		if p != nil && p.VNet == nil && p.Fabric == nil { // which lead on what no router does
			needs = []Ref{{Kind: KindPhysical, Detail: "router " + hop.String()}}
		}
		f.carry(n, "the router "+hop.String(), hns.MAC{}, needs...)
		return spot{what: router, node: n}
	}
	o, ok := f.w.byAddress(hop, nil)
	switch {
	case ok && o.outside != nil:
		f.carry(n, o.name(), hns.MAC{})
		return spot{what: outsideIn, host: o.outside}
	case ok && o.node != nil && o.node != n && !o.isPod():
		f.carry(n, "node "+o.name(), o.node.spec.MAC)
		return spot{what: nicIn, node: o.node}
	case p == nil:
		return f.whoeverHas(n)
	case p.VNet != nil || p.Fabric != nil:
		return spot{what: router, node: n}
	}
	d := Diagnosis{Reason: WrongRoute, Object: n.routeRef(netip.PrefixFrom(hop, hop.BitLen())), Certainty: Documented,
		Text: fmt.Sprintf("nobody on the link has %s, the next hop", hop), Fix: "let the route lead to the address of a node"}
	for i := len(f.t.Steps) - 1; i >= 0; i-- {
		if s := f.t.Steps[i]; s.Object.Kind == KindRoute && s.Needed {
			d.Object = s.Object
			return f.drop(d)
		}
	}
	return f.drop(f.nobody(Ref{Kind: KindPhysical}, n))
}

// carry takes the packet over a link. The MAC addresses round VXLAN are not
// modelled; those in the header are the inner ones then.
func (f *flight) carry(n *node, to string, mac hns.MAC, needs ...Ref) {
	before := f.h
	if f.h.Outer == (Outer{}) {
		f.h.SrcMAC, f.h.DstMAC = n.spec.MAC, mac
	}
	f.step(Step{Object: Ref{Kind: KindPhysical}, Effect: Rewritten, Before: before, Certainty: Documented, Needs: needs, Text: "carries it to " + to})
}

// filtered says what the physical network does not let through.
func (f *flight) filtered(n *node, p *Physical) *Diagnosis {
	switch {
	case p == nil:
	case f.h.Outer != (Outer{}):
		if slices.Contains(p.BlockedUDP, f.h.Outer.Port) {
			return &Diagnosis{Reason: UDPBlocked, Object: Ref{Kind: KindPhysical, Detail: fmt.Sprintf("UDP %d", f.h.Outer.Port)}, Certainty: Documented,
				Text: fmt.Sprintf("UDP port %d, which VXLAN uses, does not get through between the nodes", f.h.Outer.Port), Fix: "open the port in firewalls and security groups between all nodes"}
		}
	case p.DropsForeign && n != nil && !n.has(f.h.Src):
		return &Diagnosis{Reason: ForeignSource, Object: Ref{Kind: KindPhysical, Detail: "foreign source addresses"}, Certainty: Documented,
			Text: fmt.Sprintf("the network drops what %s sends with %s, an address that is not its own", n.spec.Name, f.h.Src),
			Fix:  "allow IP forwarding for the node's interface (cloud), or MAC spoofing (Hyper-V); or use Overlay"}
	case f.h.Protocol == hns.UDP && slices.Contains(p.BlockedUDP, f.h.DstPort):
		return &Diagnosis{Reason: UDPBlocked, Object: Ref{Kind: KindPhysical, Detail: fmt.Sprintf("UDP %d", f.h.DstPort)}, Certainty: Documented,
			Text: fmt.Sprintf("UDP port %d does not get through between the nodes", f.h.DstPort), Fix: "open the port"}
	}
	return nil
}
