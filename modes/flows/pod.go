package flows

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// podOut is a packet at the port of a Windows pod, on its way out. The order of
// the rules within the switch is not documented: here a proxy comes first, then
// ACLs, load balancers and source NAT.
func (f *flight) podOut(e *endpoint) spot {
	f.mind(e)
	if d := f.ill(e); d != nil {
		return f.drop(*d)
	}
	f.strange(e)
	if f.reply {
		return f.podAnswer(e)
	}
	f.proxyOut(e)
	if d := f.aclOut(e); d != nil {
		return f.drop(*d)
	}
	if d := f.balance(e); d != nil {
		return f.drop(*d)
	}
	return f.leave(e)
}

// podAnswer is an answer at the port of a Windows pod. The switch knows the
// conversation: ACLs and source NAT do not come in again.
func (f *flight) podAnswer(e *endpoint) spot {
	for ok := true; ok; {
		_, ok = f.undo(e.node, e)
	}
	if back, ok := f.undoAll(e.node); ok {
		return f.afterUndo(e.node, back)
	}
	return f.leave(e)
}

// afterUndo is where an answer goes on when the node has translated it back.
func (f *flight) afterUndo(n *node, ep *endpoint) spot {
	if ep != nil {
		return spot{what: podIn, node: n, ep: ep}
	}
	return spot{what: hostOut, node: n}
}

// leave is a packet that the rules at the pod's port have let out.
func (f *flight) leave(e *endpoint) spot {
	switch e.net.mode {
	case modes.L2Bridge:
		return f.l2bridgeOut(e)
	case modes.L2Tunnel:
		return f.l2tunnelOut(e)
	case modes.Overlay:
		return f.overlayOut(e)
	case modes.Transparent:
		return f.transparentOut(e)
	case modes.NAT:
		return f.natOut(e)
	}
	f.unjudged(e.net.ref("", ""), fmt.Sprintf("a network of type %s is no mode of Kubernetes", e.net.doc.Type))
	return f.whoeverHas(e.node)
}

// podIn is a packet at the port of a Windows pod, on its way in.
func (f *flight) podIn(e *endpoint) spot {
	f.mind(e)
	if d := f.ill(e); d != nil {
		return f.drop(*d)
	}
	f.strange(e)
	for ok := f.reply; ok; {
		_, ok = f.undo(e.node, e)
	}
	if f.to.IsValid() && f.h.Dst != f.to {
		if d := f.preserved(e); d != nil {
			return f.drop(*d)
		}
	}
	if f.h.DstMAC != e.doc.MAC && !e.doc.MAC.IsZero() && (e.net.mode == modes.L2Bridge || e.net.mode == modes.L2Tunnel) {
		f.rewrite(e.net.ref("", ""), Documented, false, "puts in the pod's MAC address", func(h *Header) { h.DstMAC = e.doc.MAC })
	}
	if !f.reply {
		if d := f.aclIn(e); d != nil {
			return f.drop(*d)
		}
		f.proxyIn(e)
	}
	return f.arrive(owner{node: e.node, ep: e}, Documented)
}

// ill says what keeps the endpoint from carrying anything, nil if nothing does.
func (f *flight) ill(e *endpoint) *Diagnosis {
	switch {
	case e.net == nil:
		return &Diagnosis{Reason: NotAttached, Object: Ref{Node: e.node.spec.Name, Kind: KindNetwork, ID: e.doc.Network}, Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("endpoint %q is on a network that is not there", e.doc.Name), Fix: "make the network, and the endpoint again"}
	case e.doc.State == hns.EndpointDegraded:
		return &Diagnosis{Reason: Degraded, Object: e.ref("", "State Degraded"), Certainty: Practice,
			Text: "the endpoint is degraded: HNS took a policy that it could not carry out, such as one with a mark nobody filled in",
			Fix:  "correct the policies of the configuration, delete the endpoint and add the pod again"}
	case !e.attached():
		return &Diagnosis{Reason: NotAttached, Object: e.ref("", "attachment"), Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("the endpoint has an address and no port on the switch (state %s)", e.doc.State),
			Fix:  "add the endpoint to the pod's namespace again; after a restart of HNS run ADD for the pod"}
	case !e.doc.Namespace.IsZero() && len(e.node.namespace) > 0 && !e.node.namespace[e.doc.Namespace]:
		return &Diagnosis{Reason: NotAttached, Object: Ref{Node: e.node.spec.Name, Kind: KindNamespace, ID: e.doc.Namespace}, Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("endpoint %q is in a namespace that is gone", e.doc.Name), Fix: "delete the endpoint and add the pod again"}
	}
	return nil
}

// holders are what an endpoint takes to carry anything, beside itself; nil for
// none.
func (e *endpoint) holders() []Ref {
	if e == nil || e.net == nil {
		return nil
	}
	out := []Ref{e.net.ref("", "")}
	if ns := e.doc.Namespace; !ns.IsZero() && len(e.node.namespace) > 1 { // of none it is not known whether they were listed
		out = append(out, Ref{Node: e.node.spec.Name, Kind: KindNamespace, ID: ns})
	}
	return out
}

// strange notes what of an endpoint and its network is not understood.
func (f *flight) strange(e *endpoint) {
	if e.twin != nil {
		f.unjudged(e.ref("", "address"), fmt.Sprintf("%s has an address of its; which of them gets what is sent there is not known", e.twin.ref("", "")))
	}
	for _, t := range e.raw {
		f.unjudged(e.ref(t, ""), "a policy of type "+t+" of a shape that is not known")
	}
	for _, t := range e.net.raw {
		f.unjudged(e.net.ref(t, ""), "a policy of type "+t+" of a shape that is not known")
	}
	if len(e.unread) > 0 {
		f.unjudged(e.ref("", strings.Join(e.unread, ", ")), "values that could not be read")
	}
	if len(e.net.unread) > 0 {
		f.unjudged(e.net.ref("", strings.Join(e.net.unread, ", ")), "values that could not be read")
	}
	for _, u := range e.node.state.Unread {
		f.unjudged(e.node.ref(u), "a document that is no object")
	}
}

// onSwitch delivers to an endpoint of the same network on the same node.
func (f *flight) onSwitch(e, to *endpoint, c Certainty) spot {
	f.rewrite(e.net.ref("", ""), c, false, fmt.Sprintf("the switch hands it to endpoint %q on the same node", to.doc.Name), func(h *Header) {
		h.DstMAC = to.doc.MAC
	})
	return spot{what: podIn, node: to.node, ep: to}
}

// whoeverHas leads the packet to who has its address, by ways that are not known.
func (f *flight) whoeverHas(near *node) spot {
	o, ok := f.w.byAddress(f.dst(), near)
	if !ok && f.unseen(f.dst()) {
		return f.outOfSight(Ref{Kind: KindPhysical}, fmt.Sprintf("nobody who is described has %s", f.dst()))
	}
	if !ok {
		return f.drop(f.nobody(Ref{Kind: KindPhysical}, near))
	}
	switch {
	case o.ep != nil:
		return spot{what: podIn, node: o.node, ep: o.ep}
	case o.linux != nil:
		return spot{what: linuxIn, node: o.node, pod: o.linux}
	case o.outside != nil:
		return spot{what: outsideIn, host: o.outside}
	}
	return spot{what: nicIn, node: o.node}
}

// unseen reports whether somebody who is not described may have an address: what
// lies between the nodes is not known, and the address belongs to no node's pods
// and to no service.
func (f *flight) unseen(a netip.Addr) bool {
	_, _, known := f.subnetOwner(a)
	return f.w.cluster.Physical == nil && !known && f.w.services[a] == nil
}

// nobody says that no one has the destination.
func (f *flight) nobody(at Ref, near *node) Diagnosis {
	a := f.dst()
	d := Diagnosis{Reason: NobodyHasAddress, Object: at, Certainty: Practice, Text: fmt.Sprintf("nobody has %s", a), Fix: "look whether the pod is still there, and whether its address is right"}
	if n, p, ok := f.subnetOwner(a); ok {
		d.Object = Ref{Node: n.spec.Name, Kind: KindEndpoint, Detail: a.String()}
		if n.linux != nil {
			d.Object.Kind = KindPod
		}
		d.Missing = true
		d.Text = fmt.Sprintf("%s has the pod subnet %s, and no pod with %s", n.spec.Name, p, a)
		return d
	}
	if s := f.w.services[a]; s != nil {
		return f.noFrontend(near, s)
	}
	o, ok := f.w.byAddress(a, near)
	if ok {
		d.Text = fmt.Sprintf("nothing here leads to %s, which %s has", a, o.name())
		d.Fix = "add a route to it"
		return d
	}
	d.Object, d.Missing = Ref{Kind: KindOutside, Detail: a.String()}, true
	return d
}
