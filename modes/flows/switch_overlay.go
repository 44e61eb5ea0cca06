package flows

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// overlayOut leads what leaves a pod of an Overlay network.
func (f *flight) overlayOut(e *endpoint) spot {
	a := f.dst()
	if !a.Is4() {
		return f.drop(Diagnosis{Reason: NoSuchFamily, Object: e.net.ref("", ""), Certainty: Documented, Text: "an Overlay network carries IPv4 only", Fix: "use IPv4, or L2Bridge"})
	}
	if to := e.net.local[a]; to != nil {
		if shadow := e.net.remotes[a]; shadow != nil {
			return f.drop(f.stale(e.net, shadow, to))
		}
		return f.onSwitch(e, to, Documented)
	}
	if e.node.has(a) {
		if d := f.subnetGateway(e, "the switch itself"); d != nil {
			return f.drop(*d)
		}
		return f.toOwnNode(e)
	}
	if n, _, ok := f.subnetOwner(a); ok && n == e.node {
		return f.drop(f.ofOwnNode(e, a))
	}
	if d := f.subnetGateway(e, "the switch itself"); d != nil {
		return f.drop(*d)
	}
	if back := f.tunnelBack(e.node); back.IsValid() {
		return f.answerTunnel(e.net, back)
	}
	if !f.reply {
		if d := f.sourceNAT(e); d != nil {
			return f.drop(*d)
		}
		if f.h.Src != f.first.Src && e.node.has(f.h.Src) {
			return f.fromNode(e.node)
		}
	} else if e.node.has(f.h.Src) { // translated back to a port of the node
		f.pass(e.net.ref("", ""), Practice, false, "lets it out with the node's address")
		return spot{what: hostOut, node: e.node}
	}
	if s, ok := f.wrap(e.net, e.net.provider()); ok {
		return s
	}
	return f.drop(f.notOnOverlay(e))
}

// ofOwnNode says why a pod does not reach an address of its own node: nobody
// has it, or it is on another network.
func (f *flight) ofOwnNode(e *endpoint, a netip.Addr) Diagnosis {
	for _, other := range e.node.networks {
		if to := other.local[a]; to != nil && other != e.net {
			return Diagnosis{Reason: Isolated, Object: other.ref("", ""), Certainty: Documented,
				Text: fmt.Sprintf("%s is on network %q, and an Overlay network reaches no other", a, other.doc.Name), Fix: "put both pods on one network, or publish the service"}
		}
	}
	return f.absent(e, a)
}

// stale says that a remote endpoint has the address of a local one
// (kubernetes/kubernetes PR#138000).
func (f *flight) stale(net *network, remote, local *endpoint) Diagnosis {
	return Diagnosis{Reason: StaleRemote, Object: remote.ref("", ""), Certainty: Practice,
		Text: fmt.Sprintf("remote endpoint %q of network %q has the address of %q, which is on this node: traffic goes to the old place", remote.doc.Name, net.doc.Name, local.doc.Name),
		Fix:  "delete the remote endpoint (the load balancers that name it first)"}
}

// fromNode is a packet that carries the node's address now.
func (f *flight) fromNode(n *node) spot {
	if n.stack == nil {
		f.unjudged(n.ref("routes"), "the routes and the forwarding of the node are not known")
		return f.whoeverHas(n)
	}
	return f.route(n, netip.Addr{})
}

// toOwnNode takes a packet from a pod to the node it is on.
func (f *flight) toOwnNode(e *endpoint) spot {
	if d := f.wantHostRoute(e.net, Documented); d != nil {
		return f.drop(*d)
	}
	return spot{what: hostOut, node: e.node, hop: f.dst()}
}

// wantHostRoute wants the policy that joins a node and its own pods.
func (f *flight) wantHostRoute(net *network, c Certainty) *Diagnosis {
	if !net.has("HostRoute") {
		return &Diagnosis{Reason: NoHostRoute, Object: net.ref("HostRoute", ""), Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("the network %q lacks the policy HostRoute: the node and its pods do not reach each other", net.doc.Name),
			Fix:  "add the policy HostRoute to the network (HNS 9.2 and later, on Windows Server 2019 with KB4489899)"}
	}
	f.pass(net.ref("HostRoute", ""), c, true, "joins the node and the network")
	return nil
}

// notOnOverlay says why what a pod sends leads nowhere: neither on the network,
// nor translated.
func (f *flight) notOnOverlay(e *endpoint) Diagnosis {
	a := f.dst()
	if _, _, ok := f.subnetOwner(a); ok {
		return f.noRSR(e.net)
	}
	for _, s := range e.net.doc.Subnets() {
		if s.Prefix.Contains(a) {
			return f.noRSR(e.net)
		}
	}
	v := f.natVerdict(e, a)
	d := Diagnosis{Reason: NoNAT, Object: e.ref("OutBoundNAT", ""), Missing: true, Certainty: Practice,
		Text: fmt.Sprintf("%s is not on the overlay, and no OutBoundNAT policy gives the packet an address that may leave it", a),
		Fix:  "add an OutBoundNAT policy with the cluster's own prefixes as Exceptions to the endpoint"}
	if v.except != (Ref{}) {
		d.Reason, d.Object, d.Missing = ExceptionTooWide, v.except, false
		d.Text = fmt.Sprintf("%s is not on the overlay, and an exception keeps the packet from being translated", a)
		d.Fix = fmt.Sprintf("take the prefix out of the Exceptions of OutBoundNAT, or make one that does not hold %s", a)
	}
	return d
}

// noRSR says that the network knows no way to a pod of another node.
func (f *flight) noRSR(net *network) Diagnosis {
	a := f.dst()
	prefix, via := netip.PrefixFrom(a, a.BitLen()), "the pod's node"
	if n, p, ok := f.subnetOwner(a); ok {
		prefix, via = p, fmt.Sprintf("%s (%s)", n.spec.Name, n.address(a.Is4()))
	}
	return Diagnosis{Reason: NoRemoteSubnetRoute, Object: net.ref("RemoteSubnetRoute", prefix.String()), Missing: true, Certainty: Practice,
		Text: fmt.Sprintf("network %q has no RemoteSubnetRoute for %s, and no remote endpoint", net.doc.Name, a),
		Fix:  fmt.Sprintf("add the policy RemoteSubnetRoute for %s to %s, with VNI %d and that node's distributed router MAC", prefix, via, net.vni)}
}

// hostToOverlay leads what a node sends to a pod on Overlay: its own pod by the
// HostRoute policy, and by the network's routes that of another node.
func (f *flight) hostToOverlay(net *network, to *endpoint, a, in netip.Addr) (spot, bool) {
	if to != nil {
		if d := f.wantHostRoute(net, Practice); d != nil {
			return f.drop(*d), true
		}
		f.rewrite(net.ref("", ""), Practice, false, "leads it from the node to its pod", func(h *Header) { h.DstMAC = to.doc.MAC })
		return spot{what: podIn, node: to.node, ep: to}, true
	}
	back := f.tunnelBack(net.node)
	if in.IsValid() || !f.knows(net, a) && !back.IsValid() {
		for _, s := range net.doc.Subnets() {
			if s.Prefix.Contains(a) {
				return f.drop(f.nobody(net.ref("", ""), net.node)), true
			}
		}
		if n, _, ok := f.subnetOwner(a); ok && n != net.node && n.onOverlay(net.vni) && !in.IsValid() {
			return f.drop(f.noRSR(net)), true
		}
		return spot{}, false
	}
	if d := f.wantHostRoute(net, Inferred); d != nil {
		return f.drop(*d), true
	}
	if back.IsValid() {
		return f.answerTunnel(net, back), true
	}
	s, _ := f.wrap(net, net.provider())
	return s, true
}

// onOverlay reports whether the node's pods are behind VXLAN with that VNI, or
// would be.
func (n *node) onOverlay(vni uint32) bool {
	if n.linux != nil {
		return n.linux.VXLAN != nil
	}
	for _, net := range n.networks {
		if net.vni == vni {
			return true
		}
	}
	return false
}

// bare says that a packet for a pod on Overlay came without VXLAN.
func (f *flight) bare(n *node, net *network) Diagnosis {
	d := Diagnosis{Reason: NoVXLAN, Object: net.ref("", ""), Certainty: Documented,
		Text: fmt.Sprintf("the packet comes to %s without VXLAN; the physical network does not reach pods on Overlay", n.spec.Name),
		Fix:  "send it in VXLAN: all nodes need the same kind of network"}
	if from := f.sendingNode(); from != nil && from.linux != nil {
		d.Object, d.Missing = Ref{Node: from.spec.Name, Kind: KindVXLAN}, true
		d.Fix = "let the Linux side use VXLAN (flannel backend vxlan), with the VNI and port of Windows"
	}
	return d
}

// sendingNode is the node that the packet, or its answer, set out from.
func (f *flight) sendingNode() *node {
	if f.reply {
		return f.at.node
	}
	return f.from.node
}

// knows reports whether the network has a way to an address of another node.
func (f *flight) knows(net *network, a netip.Addr) bool {
	if net.remotes[a] != nil {
		return true
	}
	_, _, ok := net.rsr.find(a, &f.t.Looked)
	return ok
}

// answerTunnel sends an answer to what came in VXLAN. To a pod it needs a route
// of its own, as any packet does; to a node it is taken to go back where the
// packet came from.
func (f *flight) answerTunnel(net *network, to netip.Addr) spot {
	if s, ok := f.wrap(net, net.provider()); ok {
		return s
	}
	if _, _, pod := f.subnetOwner(f.dst()); pod {
		return f.drop(f.noRSR(net))
	}
	f.rewrite(net.ref("", ""), Inferred, false, "sends the answer where the packet came from", func(h *Header) {
		h.Outer = Outer{Src: net.provider(), Dst: to, Port: net.port, VNI: net.vni}
		h.SrcMAC, h.DstMAC = net.doc.DRMAC(), hns.MAC{}
	})
	return spot{what: wire, node: net.node, hop: to}
}
