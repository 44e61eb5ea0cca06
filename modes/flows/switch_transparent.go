package flows

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// transparentOut leads what leaves a pod of a Transparent network. HNS does
// nothing with it; what the fabric does is inferred throughout.
func (f *flight) transparentOut(e *endpoint) spot {
	if !f.reply {
		if s, ok := f.controllerService(e); !ok {
			return s
		}
	}
	a := f.dst()
	if to := e.net.local[a]; to != nil && !to.host {
		return f.onSwitch(e, to, Inferred)
	}
	return f.throughFabric(e.node, e)
}

var fabricRef = Ref{Kind: KindPhysical, Detail: "fabric"}

// controllerService lets the SDN controller carry a service out. It reports
// false if the packet ends here.
func (f *flight) controllerService(e *endpoint) (spot, bool) {
	s := f.w.services[f.h.Dst]
	if s == nil {
		return spot{}, true
	}
	p := f.w.cluster.Physical
	if p == nil {
		f.unjudged(fabricRef, "whether a controller carries services out is not known")
	} else if p.Fabric == nil || !p.Fabric.Services {
		lacks := Ref{Kind: KindPhysical, Detail: "fabric services"}
		if p.Fabric == nil {
			lacks = fabricRef
		}
		return f.drop(Diagnosis{Reason: NotInFabric, Object: lacks, Missing: true, Certainty: Inferred,
			Text: fmt.Sprintf("%s is the address of service %q, and nothing carries services out on a Transparent network", f.h.Dst, s.Name), Fix: "an SDN controller that does, such as OVN-Kubernetes or Antrea"}), false
	}
	to, port, d := f.serviceBackend(s, e.node)
	if d != nil {
		return f.drop(*d), false
	}
	before := f.h
	f.h.Dst, f.h.DstPort = to, port
	ref := Ref{Kind: KindPhysical, Detail: "fabric services"}
	f.remember(entry{node: e.node, ep: e, ref: ref}, before)
	f.step(Step{Object: ref, Effect: Rewritten, Before: before, Certainty: Inferred, Needed: p != nil, Needs: []Ref{{Kind: KindService, Name: s.Name}}, Text: "the controller chooses the backend " + to.String()})
	return spot{}, true
}

// serviceBackend chooses a backend of a service that is carried out without HNS.
func (f *flight) serviceBackend(s *Service, n *node) (netip.Addr, uint16, *Diagnosis) {
	i := slices.IndexFunc(s.Ports, func(p ServicePort) bool { return p.Protocol == f.h.Protocol && p.Port == f.h.DstPort })
	if i < 0 {
		d := f.noFrontend(n, s)
		return netip.Addr{}, 0, &d
	}
	var fit []netip.Addr
	for _, b := range s.Backends {
		if b.Is4() == f.h.Dst.Is4() && (!f.p.Backend.IsValid() || f.p.Backend == b) {
			fit = append(fit, b)
		}
	}
	if len(fit) == 0 {
		return netip.Addr{}, 0, &Diagnosis{Reason: NoBackend, Object: Ref{Kind: KindService, Name: s.Name, Detail: "backends"}, Missing: true, Certainty: Documented,
			Text: fmt.Sprintf("service %q has no such backend", s.Name), Fix: "look at the pods that the service selects"}
	}
	port := s.Ports[i].Target
	if port == 0 {
		port = s.Ports[i].Port
	}
	return fit[f.hash(hns.DistributePerConnection)%uint64(len(fit))], port, nil
}

// throughFabric hands the packet to the SDN controller, or to the physical
// network that knows pods. e is the pod it is from, nil for the node.
func (f *flight) throughFabric(n *node, e *endpoint) spot {
	a := f.dst()
	p := f.w.cluster.Physical
	ref := fabricRef
	if p == nil {
		f.unjudged(ref, "what joins the pods of a Transparent network is not known")
		return f.whoeverHas(n)
	}
	o, ok := f.w.byAddress(a, n)
	switch {
	case !ok:
		return f.drop(f.nobody(ref, n))
	case o.outside != nil:
		return f.fabricOut(n, e, o)
	case !o.isPod():
		if o.node == n {
			f.pass(ref, Inferred, false, "hands it to the pod's own node")
			return spot{what: hostIn, node: n}
		}
		if p.Fabric == nil {
			return f.drop(noFabric(a))
		}
		f.pass(ref, Inferred, true, "carries it to node "+o.name())
		return spot{what: nicIn, node: o.node}
	}
	if p.Fabric == nil {
		return f.drop(noFabric(a))
	}
	if _, _, held := f.w.fabric.find(a, &f.t.Looked); !held {
		return f.drop(Diagnosis{Reason: NotInFabric, Object: Ref{Kind: KindPhysical, Detail: "fabric " + o.node.subnetText(a)}, Missing: true, Certainty: Inferred,
			Text: fmt.Sprintf("the fabric does not carry %s", a), Fix: "let the controller, or the physical network, know the pod subnet of " + o.node.spec.Name})
	}
	f.pass(ref, Inferred, true, "carries it to "+o.node.spec.Name)
	return spot{what: nicIn, node: o.node}
}

func noFabric(a netip.Addr) Diagnosis {
	return Diagnosis{Reason: NotInFabric, Object: Ref{Kind: KindPhysical, Detail: "fabric"}, Missing: true, Certainty: Inferred,
		Text: fmt.Sprintf("a Transparent network changes nothing in a packet, and the physical network does not know %s", a),
		Fix:  "an SDN controller, or a physical network that knows the pods' addresses"}
}

// subnetText is the pod subnet of the node that holds a.
func (n *node) subnetText(a netip.Addr) string {
	for _, p := range n.spec.PodSubnets {
		if p.Contains(a) {
			return p.String()
		}
	}
	return a.String()
}

// fabricOut is a packet that leaves the fabric.
func (f *flight) fabricOut(n *node, e *endpoint, o owner) spot {
	p := f.w.cluster.Physical
	if e != nil && p.Fabric != nil && p.Fabric.NAT && !f.reply {
		before := f.h
		f.h.Src, f.h.SrcPort = n.address(f.h.Src.Is4()), natPort(f.h.SrcPort)
		ref := Ref{Kind: KindPhysical, Detail: "fabric NAT"}
		f.remember(entry{node: n, ep: e, atNode: true, ref: ref}, before)
		f.step(Step{Object: ref, Effect: Rewritten, Before: before, Certainty: Inferred, Needed: true, Text: "the controller translates the source to the node's"})
	}
	return spot{what: outsideIn, host: o.outside}
}
