package flows

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// linuxOut is a packet of a pod of a Linux node, on its way out.
func (f *flight) linuxOut(n *node, p *LinuxPod) spot {
	if f.reply {
		f.undoAll(n)
		return f.linuxForward(n)
	}
	if d := f.linuxService(n); d != nil {
		return f.drop(*d)
	}
	f.linuxMasquerade(n, p)
	return f.linuxForward(n)
}

// linuxService carries a service out, as kube-proxy does with iptables.
func (f *flight) linuxService(n *node) *Diagnosis {
	s := f.w.services[f.h.Dst]
	if s == nil {
		return nil
	}
	ref := Ref{Node: n.spec.Name, Kind: KindService, Name: s.Name}
	if !n.linux.ServiceProxy {
		d := f.noFrontend(n, s)
		return &d
	}
	to, port, d := f.serviceBackend(s, n)
	if d != nil {
		return d
	}
	before := f.h
	f.h.Dst, f.h.DstPort = to, port
	f.remember(entry{node: n, atNode: true, ref: ref}, before)
	f.step(Step{Object: ref, Effect: Rewritten, Before: before, Certainty: Documented, Needed: true, Text: "kube-proxy of the node chooses the backend " + to.String()})
	return nil
}

func (f *flight) linuxMasquerade(n *node, p *LinuxPod) {
	a := f.dst()
	if !n.linux.Masquerade || n.has(a) {
		return
	}
	if _, held := holding(n.linux.MasqueradeExcept, a); held > 0 {
		return
	}
	if _, _, pod := f.subnetOwner(a); pod {
		return
	}
	src := n.address(a.Is4())
	if !src.IsValid() {
		return
	}
	before := f.h
	f.h.Src, f.h.SrcPort = src, natPort(f.h.SrcPort)
	ref := n.ref("masquerade")
	f.remember(entry{node: n, atNode: true, ref: ref}, before)
	o, ok := f.w.byAddress(a, n)
	f.step(Step{Object: ref, Effect: Rewritten, Before: before, Certainty: Documented, Needed: ok && o.outside != nil, Text: fmt.Sprintf("translates the source of %s to %s", p.Name, src)})
}

// linuxPod returns the pod of the node with an address.
func (f *flight) linuxPod(n *node, a netip.Addr) *LinuxPod {
	if o, ok := f.w.byAddress(a, n); ok && o.node == n {
		return o.linux
	}
	return nil
}

// linuxForward looks up where a packet of the node or of its pods goes.
func (f *flight) linuxForward(n *node) spot {
	a := f.dst()
	if n.has(a) {
		return spot{what: hostIn, node: n}
	}
	if p := f.linuxPod(n, a); p != nil {
		return spot{what: linuxIn, node: n, pod: p}
	}
	if s, ok := f.joined(n, a); ok {
		return s
	}
	if n.linux.VXLAN != nil {
		if peer, p, ok := n.peers.find(a, &f.t.Looked); ok {
			return f.linuxWrap(n, peer, p)
		}
		if to, p, ok := f.subnetOwner(a); ok && to != n {
			return f.drop(Diagnosis{Reason: NoRoute, Object: Ref{Node: n.spec.Name, Kind: KindVXLAN, Detail: "peer " + p.String()}, Missing: true, Certainty: Documented,
				Text: fmt.Sprintf("the VXLAN interface of %s knows no node for %s", n.spec.Name, p),
				Fix:  fmt.Sprintf("add route, neighbour and forwarding entry for %s (%s); flannel does it for every lease", to.spec.Name, to.address(a.Is4()))})
		}
	}
	if n.subnetText(a) != a.String() {
		return f.drop(f.nobody(n.ref(""), n))
	}
	if to, _, ok := f.subnetOwner(a); ok && n.linux.VXLAN == nil && to.overlay(a) {
		if _, p, routed := n.routes.find(a, &f.t.Looked); !routed || p.Bits() == 0 {
			return f.drop(Diagnosis{Reason: NoVXLAN, Object: Ref{Node: n.spec.Name, Kind: KindVXLAN}, Missing: true, Certainty: Documented,
				Text: fmt.Sprintf("%s is on an Overlay network of %s, and %s has no VXLAN interface", a, to.spec.Name, n.spec.Name),
				Fix:  "let the Linux side use VXLAN (flannel backend vxlan), with the VNI and port of Windows"})
		}
	}
	return f.route(n, netip.Addr{})
}

// overlay reports whether a is in the subnet of an Overlay network of the node.
func (n *node) overlay(a netip.Addr) bool {
	for _, net := range n.networks {
		if _, ok := net.doc.SubnetOf(a); ok && net.mode == modes.Overlay {
			return true
		}
	}
	return false
}

// joined leads to pods of networks that Linux nodes are part of by other means
// than routes: an Azure virtual network, a fabric.
func (f *flight) joined(n *node, a netip.Addr) (spot, bool) {
	p := f.w.cluster.Physical
	if p == nil {
		return spot{}, false
	}
	if p.VNet != nil {
		if to, ok, needs := f.assignedTo(a); ok && to != n {
			ref := Ref{Kind: KindPhysical, Detail: "virtual network"}
			f.through(ref, Documented, false, "leads it to "+to.spec.Name, append(needs, ref)...)
			return spot{what: nicIn, node: to}, true
		}
	}
	o, ok := f.w.byAddress(a, n)
	transparent := ok && o.ep != nil && o.ep.net != nil && o.ep.net.mode == modes.Transparent
	if transparent && p.Fabric == nil {
		f.floor = Inferred
		return f.drop(noFabric(a)), true
	}
	if p.Fabric != nil && (transparent || f.from.ep != nil && f.floor == Inferred && o.outside == nil && o.node != n) {
		f.floor = Inferred
		return f.throughFabric(n, nil), true
	}
	return spot{}, false
}

// linuxWrap puts a packet into VXLAN as the kernel does with flannel's entries.
func (f *flight) linuxWrap(n *node, peer VXLANPeer, p netip.Prefix) spot {
	v := n.linux.VXLAN
	ref := Ref{Node: n.spec.Name, Kind: KindVXLAN, Detail: "peer " + p.String()}
	f.rewrite(ref, Documented, true, fmt.Sprintf("wraps it in VXLAN to %s", peer.Node), func(h *Header) {
		h.SrcMAC, h.DstMAC = v.MAC, peer.MAC
		h.Outer = Outer{Src: n.address(peer.Node.Is4()), Dst: peer.Node, Port: v.Port, VNI: v.VNI}
	})
	return f.tunnelTo(n, ref, peer.Node)
}

// linuxHostOut is what a Linux node itself sends, or forwards if it came in by
// an adapter.
func (f *flight) linuxHostOut(n *node, in netip.Addr) spot {
	if in.IsValid() && !n.linux.Forwarding {
		return f.drop(Diagnosis{Reason: NotForwarding, Object: n.ref("IP forwarding"), Missing: true, Certainty: Documented,
			Text: "the Linux node does not forward", Fix: "sysctl net.ipv4.ip_forward=1"})
	}
	f.undoAll(n)
	if !in.IsValid() && !f.reply {
		if d := f.linuxService(n); d != nil {
			return f.drop(*d)
		}
	}
	return f.linuxForward(n)
}

// linuxNIC is a packet that comes to a Linux node from the physical network.
func (f *flight) linuxNIC(n *node) spot {
	if f.h.Outer != (Outer{}) {
		return f.linuxUnwrap(n)
	}
	f.undoAll(n)
	return f.linuxForwarded(n)
}

// linuxForwarded goes on with what came from elsewhere.
func (f *flight) linuxForwarded(n *node) spot {
	a := f.dst()
	if n.has(a) {
		return spot{what: hostIn, node: n}
	}
	if !n.linux.Forwarding {
		return f.linuxHostOut(n, a)
	}
	if p := f.linuxPod(n, a); p != nil {
		if !f.noted[n] {
			f.pass(n.ref("IP forwarding"), Documented, true, "forwards")
			if f.noted == nil {
				f.noted = map[any]bool{}
			}
			f.noted[n] = true
		}
		return spot{what: linuxIn, node: n, pod: p}
	}
	return spot{what: hostOut, node: n, hop: n.address(a.Is4())}
}

// linuxUnwrap takes a packet out of VXLAN.
func (f *flight) linuxUnwrap(n *node) spot {
	v, o := n.linux.VXLAN, f.h.Outer
	ref := Ref{Node: n.spec.Name, Kind: KindVXLAN}
	switch {
	case v == nil:
		ref.Detail = "interface"
		return f.drop(Diagnosis{Reason: NoVXLAN, Object: Ref{Node: n.spec.Name, Kind: KindVXLAN}, Missing: true, Certainty: Documented,
			Text: n.spec.Name + " has no VXLAN interface", Fix: "let the Linux side use VXLAN too (flannel backend vxlan), or no node"})
	case v.VNI != o.VNI:
		return f.drop(f.wrongVNI(n))
	case v.Port != o.Port:
		return f.drop(f.wrongPort(n, Ref{Node: n.spec.Name, Kind: KindVXLAN, Detail: "port"}, v.Port))
	case !v.MAC.IsZero() && f.h.DstMAC != v.MAC && !f.h.DstMAC.IsZero():
		return f.drop(f.wrongMAC(n, Ref{Node: n.spec.Name, Kind: KindVXLAN, Detail: "MAC"}, v.MAC))
	}
	f.cameBy(n, o.Src)
	ref.Detail = "VNI " + strconv.FormatUint(uint64(v.VNI), 10)
	f.rewrite(Ref{Node: n.spec.Name, Kind: KindVXLAN}, Documented, true, "takes it out of VXLAN", func(h *Header) { h.Outer, h.DstMAC = Outer{}, hns.MAC{} })
	f.undoAll(n)
	if f.subnetElsewhere(n) {
		own, _, _ := f.subnetOwner(f.dst())
		return f.drop(Diagnosis{Reason: WrongProvider, Object: f.lastLeader(), Certainty: Practice,
			Text: fmt.Sprintf("the packet was led to %s; the pod subnet of %s is on %s", n.spec.Name, f.dst(), own.spec.Name), Fix: fmt.Sprintf("let it lead to %s", own.address(true))})
	}
	return f.linuxForwarded(n)
}

// subnetElsewhere reports whether the destination is a pod of another node.
func (f *flight) subnetElsewhere(n *node) bool {
	own, _, ok := f.subnetOwner(f.dst())
	return ok && own != n && !n.has(f.dst())
}
