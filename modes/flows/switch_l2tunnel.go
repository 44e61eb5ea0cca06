package flows

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// l2tunnelOut leads what leaves a pod of an L2Tunnel network: everything goes
// to the virtualization host, even what is for the same node. That the rest is
// as on L2Bridge is inferred from the driver's description.
func (f *flight) l2tunnelOut(e *endpoint) spot {
	if !f.reply {
		if d := f.ownNode(e); d != nil {
			return f.drop(*d)
		}
		if d := f.sourceNAT(e); d != nil {
			return f.drop(*d)
		}
	}
	if d := f.subnetGateway(e, "the virtual network's"); d != nil {
		return f.drop(*d)
	}
	return f.vnet(e.node, e)
}

// vnet is a packet at the virtualization host of an Azure node. e is the pod
// that it is from, or for.
func (f *flight) vnet(n *node, e *endpoint) spot {
	a := f.dst()
	p := f.w.cluster.Physical
	ref := Ref{Kind: KindPhysical, Detail: "virtual network"}
	if p == nil || p.VNet == nil {
		if p != nil {
			return f.drop(Diagnosis{Reason: NotInVNet, Object: ref, Missing: true, Certainty: Documented,
				Text: "the mode L2Tunnel works in an Azure virtual network only", Fix: "choose L2Bridge or Overlay"})
		}
		f.unjudged(ref, "the virtual network is not known")
		return f.whoeverHas(n)
	}
	if f.h.Src.IsValid() && f.from.isPod() && !f.reply && !n.has(f.h.Src) {
		if d := f.assigned(n, e); d != nil {
			return f.drop(*d)
		}
	}
	o, ok := f.w.byAddress(a, nil)
	to, given, needs := f.assignedTo(a)
	before := f.h
	f.h.SrcMAC, f.h.DstMAC = n.spec.MAC, hns.MAC{}
	f.step(Step{Object: ref, Effect: Rewritten, Before: before, Certainty: Documented, Needed: true, Needs: needs, Text: "the virtualization host applies the rules of the virtual network"})
	if ok && o.outside != nil {
		return f.azureOut(n, o)
	}
	switch {
	case given:
		return spot{what: nicIn, node: to}
	case ok && !o.isPod():
		return spot{what: nicIn, node: o.node}
	case ok:
		return f.drop(notAssigned(o.node, o.ref(), a.String()))
	}
	return f.drop(f.nobody(ref, n))
}

// assignedTo returns the node that Azure has given an address to, and the
// reference for it.
func (f *flight) assignedTo(a netip.Addr) (*node, bool, []Ref) {
	to, p, ok := f.w.assigned.find(a, &f.t.Looked)
	if !ok || to == nil {
		return nil, false, nil
	}
	return to, true, []Ref{{Node: to.spec.Name, Kind: KindPhysical, Detail: "assigned " + p.String()}}
}

// assigned wants Azure to know the pod's address.
func (f *flight) assigned(n *node, e *endpoint) *Diagnosis {
	to, p, ok := f.w.assigned.find(f.h.Src, &f.t.Looked)
	if !ok || to != n {
		d := notAssigned(n, e.ref("", ""), f.h.Src.String())
		return &d
	}
	f.pass(Ref{Node: n.spec.Name, Kind: KindPhysical, Detail: "assigned " + p.String()}, Documented, true, "Azure has given the pod's address to the node")
	return nil
}

func notAssigned(n *node, _ Ref, a string) Diagnosis {
	return Diagnosis{Reason: NotInVNet, Object: Ref{Node: n.spec.Name, Kind: KindPhysical, Detail: "assigned " + a}, Missing: true, Certainty: Documented,
		Text: fmt.Sprintf("Azure has not given %s to the network interface of %s", a, n.spec.Name), Fix: "let the IPAM of Azure give out the pods' addresses"}
}

// azureOut is a packet that leaves the virtual network.
func (f *flight) azureOut(n *node, o owner) spot {
	if f.w.cluster.Physical.VNet.SNAT && !n.has(f.h.Src) && f.from.isPod() && !f.reply {
		before := f.h
		f.h.Src, f.h.SrcPort = n.address(f.h.Src.Is4()), natPort(f.h.SrcPort)
		ref := Ref{Kind: KindPhysical, Detail: "virtual network SNAT"}
		f.remember(entry{node: n, ep: f.from.ep, atNode: true, ref: ref}, before)
		f.step(Step{Object: ref, Effect: Rewritten, Before: before, Certainty: Inferred, Needed: true, Text: "translates the source; shown is the node's address, Azure has its own"})
	}
	return spot{what: outsideIn, host: o.outside}
}
