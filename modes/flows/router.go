package flows

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/modes"
)

// router is the physical network's router. n is the node that sent the packet,
// nil for a host outside.
func (f *flight) router(n *node) spot {
	a := f.dst()
	if o := f.h.Outer; o != (Outer{}) {
		a = o.Dst
	}
	if f.w.cluster.Physical == nil {
		f.unjudged(Ref{Kind: KindPhysical}, "what lies between the nodes is not known")
		return f.whoeverHas(n)
	}
	if to, ok, needs := f.assignedTo(a); ok {
		ref := Ref{Kind: KindPhysical, Detail: "virtual network"}
		f.through(ref, Documented, false, "the virtual network knows that "+to.spec.Name+" has it", append(needs, ref)...)
		return spot{what: nicIn, node: to}
	}
	if hop, p, ok := f.w.udr.find(a, &f.t.Looked); ok {
		ref := Ref{Kind: KindPhysical, Name: "router", Detail: "route " + p.String()}
		to, there := f.w.byAddress(hop, nil)
		if !there || to.node == nil {
			return f.drop(Diagnosis{Reason: WrongRoute, Object: ref, Certainty: Documented,
				Text: fmt.Sprintf("the router's route %s leads to %s, which no node has", p, hop), Fix: "let it lead to the node that has the pod subnet"})
		}
		f.pass(ref, Documented, true, "the router's route leads to "+to.node.spec.Name)
		return spot{what: nicIn, node: to.node}
	}
	o, ok := f.w.byAddress(a, nil)
	switch {
	case ok && o.outside != nil:
		return spot{what: outsideIn, host: o.outside}
	case ok && o.node != nil && !o.isPod() && slices.Contains(o.node.spec.Addresses, a):
		return spot{what: nicIn, node: o.node}
	}
	return f.drop(f.lostAtRouter(n, a))
}

// lostAtRouter says why the router cannot help: an answer to an address that
// only nodes know means that its source should have been translated.
func (f *flight) lostAtRouter(n *node, a netip.Addr) Diagnosis {
	_, _, pod := f.subnetOwner(a)
	switch {
	case f.reply && f.natted != (Ref{}) && a != f.first.Src:
		return Diagnosis{Reason: NobodyHasAddress, Object: f.natted, Certainty: Practice,
			Text: fmt.Sprintf("the source was translated to %s, which no node has", a), Fix: "translate to an address of the node: leave VirtualIP out, or give the node the address"}
	case f.reply && f.at.outside != nil && f.from.isPod():
		return f.noNAT()
	}
	if n == nil {
		return Diagnosis{Reason: NotPublished, Object: Ref{Kind: KindPhysical, Name: "router", Detail: "route " + netip.PrefixFrom(a, a.BitLen()).String()}, Missing: true, Certainty: Documented,
			Text: fmt.Sprintf("the router does not know %s", a), Fix: "hosts outside reach pods by a node port, a port mapping or a load balancer, or by a route of the network"}
	}
	if d, ok := f.natOnly(n, a); ok {
		return d
	}
	if s := f.w.services[a]; s != nil && !pod {
		return f.noFrontend(n, s)
	}
	if !pod {
		return Diagnosis{Reason: NobodyHasAddress, Object: Ref{Kind: KindOutside, Detail: a.String()}, Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("nobody has %s", a), Fix: "describe the host in the world, or look at the address"}
	}
	return f.noRoute(n, a)
}

// natOnly says that a pod of another node is behind NAT.
func (f *flight) natOnly(n *node, a netip.Addr) (Diagnosis, bool) {
	for _, o := range f.w.owners[a] {
		if o.ep != nil && o.node != n && o.ep.net != nil && o.ep.net.mode == modes.NAT {
			return Diagnosis{Reason: NotInMode, Object: o.ep.net.ref("", ""), Certainty: Documented,
				Text: fmt.Sprintf("%s is inside %s, on a NAT network: other nodes do not know it", a, o.node.spec.Name),
				Fix:  "publish a port of the container, or choose a mode for several nodes"}, true
		}
	}
	return Diagnosis{}, false
}

func (f *flight) outsideOut(h *Host) spot {
	f.pass(Ref{Kind: KindPhysical}, Documented, false, "carries it from "+h.Name)
	return spot{what: router}
}
