package flows

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// l2bridgeOut leads what leaves a pod of an L2Bridge network: to a pod of the
// same node by the switch, and everything else to the pods' gateway.
func (f *flight) l2bridgeOut(e *endpoint) spot {
	if to := e.net.local[f.dst()]; to != nil && !to.host {
		if shadow := e.net.remotes[f.dst()]; shadow != nil {
			return f.drop(f.stale(e.net, shadow, to))
		}
		return f.onSwitch(e, to, Documented)
	}
	if s, ok := e.net.doc.SubnetOf(f.dst()); ok && !s.Prefix.Addr().IsUnspecified() && !e.node.has(f.dst()) {
		if r := e.net.remotes[f.dst()]; r == nil && !f.elsewhere(e, f.dst()) {
			return f.drop(f.absent(e, f.dst()))
		}
	}
	if !f.reply {
		if d := f.ownNode(e); d != nil {
			return f.drop(*d)
		}
		if d := f.sourceNAT(e); d != nil {
			return f.drop(*d)
		}
	}
	return f.toGateway(e)
}

// elsewhere reports whether an address of the network's own subnet belongs to
// another node: Azure gives the nodes of a virtual network one subnet.
func (f *flight) elsewhere(e *endpoint, a netip.Addr) bool {
	o, ok := f.w.byAddress(a, e.node)
	return ok && o.node != e.node
}

// absent says that no endpoint of the node has an address of its own subnet.
func (f *flight) absent(e *endpoint, a netip.Addr) Diagnosis {
	d := Diagnosis{Reason: NobodyHasAddress, Object: Ref{Node: e.node.spec.Name, Kind: KindEndpoint, Detail: a.String()}, Missing: true, Certainty: Practice,
		Text: fmt.Sprintf("%s lies in the subnet of network %q, and no endpoint of the node has it", a, e.net.doc.Name), Fix: "look whether the pod is still there"}
	if e.net.hasGateway(a) && e.net.mode != modes.NAT {
		d.Certainty = Inferred
		d.Text, d.Fix = fmt.Sprintf("%s is the gateway of network %q: HNS holds it, and nobody answers there", a, e.net.doc.Name), "ask the node by an address of its own"
	}
	if o, ok := f.w.byAddress(a, e.node); ok && o.node != nil {
		d.Text += fmt.Sprintf("; %s on %s does", o.name(), o.node.spec.Name)
		d.Fix = "give the pod an address of its own node's subnet (flannel: a subnet.env from before the node got another subnet)"
	}
	return d
}

// ownNode wants a route through the switch's rules to the node that the pod is
// on: without it the packet does not get out of the pod's port.
func (f *flight) ownNode(e *endpoint) *Diagnosis {
	a := f.h.Dst
	if !e.node.has(a) || a != e.node.address(a.Is4()) {
		return nil
	}
	ref, ok := e.encapRoute(a)
	if !ok {
		return &Diagnosis{Reason: NoSDNRoute, Object: e.ref("SDNRoute", netip.PrefixFrom(a, a.BitLen()).String()), Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("no SDNRoute with NeedEncap leads to %s, the node of the pod", a),
			Fix:  fmt.Sprintf("add the policy SDNRoute with DestinationPrefix %s/%d and NeedEncap to the endpoint", a, a.BitLen())}
	}
	f.pass(ref, Practice, true, "leads it through the rules of the switch to the node")
	return nil
}

// encapRoute returns the SDN route with NeedEncap for an address: a policy of
// the endpoint, or an object that names it.
func (e *endpoint) encapRoute(a netip.Addr) (Ref, bool) {
	_, ref, ok := e.sdnRoute(a, func(r *hns.SDNRoute) bool { return r.NeedEncap })
	return ref, ok
}

// nextHop returns the next hop of the endpoint's SDN routes for an address, or
// none.
func (e *endpoint) nextHop(a netip.Addr) (netip.Addr, Ref) {
	r, ref, ok := e.sdnRoute(a, func(r *hns.SDNRoute) bool { return r.NextHop.IsValid() })
	if !ok {
		return netip.Addr{}, Ref{}
	}
	return r.NextHop, ref
}

// sdnRoute returns, of the endpoint's SDN routes of a kind, the one with the
// longest prefix that holds an address.
func (e *endpoint) sdnRoute(a netip.Addr, kind func(*hns.SDNRoute) bool) (best *hns.SDNRoute, ref Ref, ok bool) {
	better := func(r *hns.SDNRoute) bool {
		p := r.DestinationPrefix
		return kind(r) && p.IsValid() && p.Contains(a) && (best == nil || p.Bits() > best.DestinationPrefix.Bits())
	}
	for i := range e.routes {
		if r := &e.routes[i]; better(r) {
			best, ref = r, e.ref("SDNRoute", r.DestinationPrefix.String())
		}
	}
	for i := range e.objects {
		if o := &e.objects[i]; better(&o.route) {
			best, ref = &o.route, Ref{Node: e.node.spec.Name, Kind: KindSDNRoute, ID: o.id, Detail: o.route.DestinationPrefix.Masked().String()}
		}
	}
	return best, ref, best != nil
}

// toGateway hands the packet to the pod's gateway.
func (f *flight) toGateway(e *endpoint) spot {
	hop, ref := e.nextHop(f.dst())
	by := ref
	if hop.IsValid() {
		f.pass(ref, Inferred, false, "leads it to "+hop.String())
	} else {
		by = e.ref("", "default route")
		var ok bool
		if hop, ok = e.gateway(f.dst()); !ok {
			return f.drop(Diagnosis{Reason: NoGateway, Object: e.ref("", "default route"), Missing: true, Certainty: Practice,
				Text: "the endpoint has no route to " + f.dst().String(), Fix: "give the endpoint a default route to the pods' gateway"})
		}
		f.pass(by, Documented, true, "the pod's gateway is "+hop.String())
	}
	gate := e.net.local[hop]
	if gate == nil && e.net.hostEP != nil && e.net.hostEP.hasAddr(hop) {
		gate = e.net.hostEP
	}
	switch {
	case gate != nil && gate.host:
		return f.throughHost(e, gate, hop)
	case f.w.routers[hop]:
		f.rewrite(e.net.ref("", ""), Documented, false, "puts in the node's MAC address", func(h *Header) { h.SrcMAC = e.node.spec.MAC })
		return spot{what: wire, node: e.node, hop: hop}
	case gate != nil:
		return f.drop(Diagnosis{Reason: DeadGateway, Object: by, Certainty: Inferred,
			Text: fmt.Sprintf("the gateway %s is the pod of endpoint %q", hop, gate.doc.Name), Fix: "let the route lead to the pods' gateway"})
	}
	if o, ok := f.w.byAddress(hop, e.node); ok && o.node != nil && o.node != e.node && !o.isPod() {
		return spot{what: wire, node: e.node, hop: hop}
	}
	return f.drop(f.deadGateway(e, hop))
}

// deadGateway says that nobody forwards at the gateway: the address that HNS
// itself holds, or one of a node's endpoint that is not there
// (containernetworking/plugins#671, microsoft/SDN#333).
func (f *flight) deadGateway(e *endpoint, hop netip.Addr) Diagnosis {
	if _, in := e.net.doc.SubnetOf(hop); !in && len(e.net.doc.Subnets()) > 0 && hop.IsValid() {
		return foreignGateway(e, hop, "the node's own endpoint on the network, the second address of the subnet (.2)")
	}
	for _, s := range e.net.doc.Subnets() {
		if s.Gateway() == hop {
			return Diagnosis{Reason: DeadGateway, Object: e.ref("", "default route"), Certainty: Practice,
				Text: fmt.Sprintf("the gateway %s is held by HNS, which forwards nothing to other nodes, and no router has it", hop),
				Fix:  "let the endpoint's default route lead to the node's own endpoint, the second address of the subnet (.2)"}
		}
	}
	return Diagnosis{Reason: HostEndpointMissing, Object: Ref{Node: e.node.spec.Name, Kind: KindEndpoint, Name: e.net.doc.Name + "_ep", Detail: hop.String()}, Missing: true, Certainty: Practice,
		Text: fmt.Sprintf("nobody has the gateway %s: the node has no endpoint of its own on network %q", hop, e.net.doc.Name),
		Fix:  fmt.Sprintf("make an endpoint %q with %s, attach it to the node, and switch its IP forwarding on", e.net.doc.Name+"_ep", hop)}
}

// throughHost hands the packet to the node's own endpoint.
func (f *flight) throughHost(e, gate *endpoint, hop netip.Addr) spot {
	if !gate.hostAttached() {
		return f.drop(hostDetached(gate))
	}
	f.rewrite(gate.ref("", ""), Tested, true, "takes it into the node as the pods' gateway", func(h *Header) { h.DstMAC = gate.doc.MAC })
	return spot{what: hostOut, node: e.node, hop: hop}
}

func hostDetached(gate *endpoint) Diagnosis {
	return Diagnosis{Reason: HostEndpointMissing, Object: gate.ref("", "attachment to the node"), Missing: true, Certainty: Practice,
		Text: fmt.Sprintf("the node's endpoint %q is not attached to the node (state %s)", gate.doc.Name, gate.doc.State),
		Fix:  "attach it to compartment 1 of the node (HNSEndpoint attach, SystemType Host)"}
}

func (e *endpoint) hasAddr(a netip.Addr) bool {
	for _, x := range e.addrs {
		if x == a {
			return true
		}
	}
	return false
}

// hostAttached reports whether the node's own endpoint is on the node. A
// document without a state is believed if an adapter of the node has its
// address.
func (e *endpoint) hostAttached() bool {
	if e.doc.State != 0 {
		return isAttached(e.doc.State) && e.doc.Namespace.IsZero()
	}
	if e.node.stack == nil {
		return false
	}
	for _, a := range e.node.stack.Adapters {
		for _, p := range a.Addresses {
			if e.hasAddr(p.Addr()) {
				return true
			}
		}
	}
	return false
}
