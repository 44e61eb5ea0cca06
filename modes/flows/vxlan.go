package flows

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// wrap puts a packet for another node's pod into VXLAN: by a remote endpoint,
// or by the RemoteSubnetRoute of the pod's subnet. It reports false if the
// network has neither.
func (f *flight) wrap(net *network, from netip.Addr) (spot, bool) {
	a := f.dst()
	var to netip.Addr
	var mac hns.MAC
	var ref Ref
	vni := net.vni
	r, p, route := net.rsr.find(a, &f.t.Looked)
	remote := net.remotes[a]
	if e := remote; e != nil {
		ref, to, mac = e.ref("", ""), e.provider(), e.doc.MAC
		if !to.IsValid() {
			return f.drop(Diagnosis{Reason: NoProviderAddress, Object: e.ref("ProviderAddress", ""), Missing: true, Certainty: Practice,
				Text: fmt.Sprintf("remote endpoint %q does not say on which node the pod is", e.doc.Name), Fix: "make it with the policy ProviderAddress, the address of the pod's node"}), true
		}
	} else if route {
		ref, to, mac, vni = net.ref("RemoteSubnetRoute", p.String()), r.ProviderAddress, r.DistributedRouterMAC, r.IsolationID
	} else {
		return spot{}, false
	}
	f.oldPort(net)
	switch {
	case remote != nil && remote.twin != nil && (remote.twin.provider() != to || remote.twin.doc.MAC != mac):
		f.unjudged(ref, fmt.Sprintf("%s is for %s, too, and leads elsewhere; which of them counts is not known", remote.twin.ref("", ""), a))
	case remote == nil && net.rsrTwice[p]:
		f.unjudged(ref, "the network has another for the same prefix, and which of them counts is not known")
	}
	switch {
	case net.badVNI():
		return f.drop(net.wrongVNI()), true
	case !from.IsValid():
		return f.drop(Diagnosis{Reason: NoProviderAddress, Object: net.ref("ProviderAddress", ""), Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("network %q has no provider address yet", net.doc.Name), Fix: "wait until HNS has filled it in; if it never does, look at the adapter's address"}), true
	case vni != net.vni:
		return f.drop(Diagnosis{Reason: WrongVNI, Object: ref, Certainty: Practice,
			Text: fmt.Sprintf("the route says VNI %d, the network has %d", vni, net.vni), Fix: fmt.Sprintf("remove it and add it with IsolationId %d", net.vni)}), true
	}
	before := f.h
	f.h.SrcMAC, f.h.DstMAC = net.doc.DRMAC(), mac
	f.h.Outer = Outer{Src: from, Dst: to, Port: net.port, VNI: vni}
	needs := []Ref{net.ref("", ""), net.ref("ProviderAddress", ""), net.ref("VSID", fmt.Sprint(vni))}
	if remote != nil {
		needs = append(needs, remote.ref("ProviderAddress", ""))
	}
	f.step(Step{Object: ref, Effect: Rewritten, Before: before, Certainty: Practice, Needed: remote == nil || !route, Needs: needs, Text: fmt.Sprintf("wraps it in VXLAN to %s", to)})
	return f.tunnelTo(net.node, ref, to), true
}

// badVNI reports whether the network's VNI is one that Windows does not take
// (moby/libnetwork#1843).
func (n *network) badVNI() bool { return n.vni != 0 && (n.vni < hns.MinVNI || n.vni > hns.MaxVNI) }

func (n *network) wrongVNI() Diagnosis {
	return Diagnosis{Reason: WrongVNI, Object: n.ref("VSID", fmt.Sprint(n.vni)), Certainty: Documented,
		Text: fmt.Sprintf("network %q has VNI %d, and Windows takes %d to %d", n.doc.Name, n.vni, hns.MinVNI, hns.MaxVNI),
		Fix:  fmt.Sprintf("make the network again with VNI %d or more, on all nodes, Linux too (flannel takes 1 unless told otherwise)", hns.MinVNI)}
}

// oldPort notes a VXLAN port that the node's HNS does not know how to set.
func (f *flight) oldPort(net *network) {
	if net.port != modes.DefaultVXLANPort && net.node.lacks(hns.FeatureVXLANPort) {
		f.unjudged(net.ref("VxlanPort", fmt.Sprint(net.port)), net.node.lacksText(hns.FeatureVXLANPort))
	}
}

// tunnelTo sends a packet in VXLAN to a node.
func (f *flight) tunnelTo(n *node, by Ref, to netip.Addr) spot {
	o, ok := f.w.byAddress(to, nil)
	if !ok && f.w.cluster.Physical == nil {
		return f.outOfSight(Ref{Kind: KindPhysical}, fmt.Sprintf("no node that is described has %s", to))
	}
	if !ok || o.node == nil || o.isPod() || o.node == n {
		return f.drop(Diagnosis{Reason: WrongProvider, Object: by, Certainty: Practice,
			Text: fmt.Sprintf("no other node has the provider address %s", to), Fix: "replace it by the address of the node that has the pod subnet"})
	}
	if n.stack == nil || len(n.stack.Adapters) == 0 {
		return spot{what: wire, node: n, hop: to}
	}
	if _, on := n.onLink(to); on {
		return spot{what: wire, node: n, hop: to}
	}
	r, p, ok := n.routes.find(to, &f.t.Looked)
	if !ok {
		return f.drop(f.noRoute(n, to))
	}
	if r.NextHop.IsUnspecified() {
		r.NextHop = to
	}
	f.pass(n.routeRef(p), Documented, true, "leads the outer packet to "+r.NextHop.String())
	return spot{what: wire, node: n, hop: r.NextHop}
}

// unwrap takes a packet out of VXLAN on a Windows node.
func (f *flight) unwrap(n *node) spot {
	o := f.h.Outer
	i := slices.IndexFunc(n.networks, func(x *network) bool { return x.vni == o.VNI && x.vni != 0 })
	if i < 0 {
		return f.drop(f.wrongVNI(n))
	}
	net := n.networks[i]
	if net.badVNI() {
		return f.drop(net.wrongVNI())
	}
	f.oldPort(net)
	if net.port != o.Port {
		return f.drop(f.wrongPort(n, net.ref("VxlanPort", fmt.Sprint(net.port)), net.port))
	}
	inner := f.h.DstMAC
	to := net.local[f.dst()]
	if dr := net.doc.DRMAC(); !dr.IsZero() && inner != dr && !inner.IsZero() && (to == nil || to.doc.MAC != inner) {
		return f.drop(f.wrongMAC(n, net.ref("DrMacAddress", ""), dr))
	}
	f.cameBy(n, o.Src)
	before := f.h
	f.h.Outer = Outer{}
	f.step(Step{Object: net.ref("", ""), Effect: Rewritten, Before: before, Certainty: Practice, Needs: []Ref{net.ref("VSID", fmt.Sprint(o.VNI))}, Text: fmt.Sprintf("takes it out of VXLAN (VNI %d)", o.VNI)})
	if back, ok := f.undoAll(n); ok {
		return f.afterUndo(n, back)
	}
	switch {
	case to != nil && net.remotes[f.dst()] != nil:
		return f.drop(f.stale(net, net.remotes[f.dst()], to))
	case to != nil:
		return spot{what: podIn, node: n, ep: to}
	case n.has(f.dst()):
		if d := f.wantHostRoute(net, Inferred); d != nil {
			return f.drop(*d)
		}
		return f.forNode(n, true)
	}
	for _, e := range f.entries {
		if f.reply && e.why != nil && e.node == n && f.h.flow() == e.now.reversed() {
			return f.drop(*e.why)
		}
	}
	d := f.nobody(net.ref("", ""), n)
	if own, _, ok := f.subnetOwner(f.dst()); ok && own != n {
		d = Diagnosis{Reason: WrongProvider, Object: f.lastLeader(), Certainty: Practice,
			Text: fmt.Sprintf("the packet was led to %s; the pod subnet of %s is on %s", n.spec.Name, f.dst(), own.spec.Name), Fix: fmt.Sprintf("let it lead to %s", own.address(true))}
	}
	return f.drop(d)
}

// lastLeader is what put the packet into VXLAN.
func (f *flight) lastLeader() Ref {
	for i := len(f.t.Steps) - 1; i >= 0; i-- {
		if s := f.t.Steps[i]; s.Before.Outer == (Outer{}) && s.After.Outer != (Outer{}) {
			return s.Object
		}
	}
	return Ref{Kind: KindPhysical}
}

// sides returns who is at fault when two ends of a tunnel differ: the Linux
// end, which can be set to what Windows wants, else the one that sent it.
func (f *flight) sides(n *node) (*node, bool) {
	if n.linux != nil {
		return n, true
	}
	if o, ok := f.w.byAddress(f.h.Outer.Src, nil); ok && o.node != nil {
		return o.node, o.node.linux != nil
	}
	return n, false
}

func (f *flight) wrongVNI(n *node) Diagnosis {
	have, at := uint32(0), f.lastLeader()
	for _, net := range n.networks {
		if net.vni != 0 {
			have, at = net.vni, net.ref("VSID", fmt.Sprint(net.vni))
		}
	}
	if n.linux != nil && n.linux.VXLAN != nil {
		have = n.linux.VXLAN.VNI
	}
	end, linux := f.sides(n)
	d := Diagnosis{Reason: WrongVNI, Object: at, Certainty: Documented,
		Text: fmt.Sprintf("the packet has VNI %d, %s has %d", f.h.Outer.VNI, n.spec.Name, have),
		Fix:  "give all nodes the same VNI: 4096 or more, for Windows takes no smaller one"}
	switch {
	case have == 0:
		d.Reason, d.Object, d.Missing = NoVXLAN, Ref{Node: n.spec.Name, Kind: KindNetwork, Detail: "Overlay"}, true
		d.Text = fmt.Sprintf("%s has no network for VXLAN", n.spec.Name)
		d.Fix = "use Overlay on all nodes, or on none"
	case linux:
		d.Object = Ref{Node: end.spec.Name, Kind: KindVXLAN, Detail: "VNI"}
		d.Fix = fmt.Sprintf("set the VNI of the Linux side to that of Windows (net-conf.json: \"VNI\": %d)", max(have, f.h.Outer.VNI))
	}
	return d
}

func (f *flight) wrongPort(n *node, object Ref, have uint16) Diagnosis {
	d := Diagnosis{Reason: WrongVXLANPort, Object: object, Certainty: Documented,
		Text: fmt.Sprintf("the packet comes to UDP port %d, %s listens on %d", f.h.Outer.Port, n.spec.Name, have),
		Fix:  "give all nodes the same VXLAN port: 4789, or one set by VxlanPort (HNS 10.3 and later)"}
	if at, linux := f.sides(n); linux {
		d.Object = Ref{Node: at.spec.Name, Kind: KindVXLAN, Detail: "port"}
		d.Fix = "set the port of the Linux side to that of Windows (net-conf.json: \"Port\": 4789)"
	}
	return d
}

func (f *flight) wrongMAC(n *node, have Ref, want hns.MAC) Diagnosis {
	return Diagnosis{Reason: WrongMAC, Object: f.lastLeader(), Certainty: Practice,
		Text: fmt.Sprintf("the packet is for MAC %s; %s is %s", macText(f.h.DstMAC), have, want),
		Fix:  fmt.Sprintf("replace the route: DistributedRouterMacAddress is %s (it changes when the network is made again)", want)}
}
