package flows

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// frontend is a port of a load balancer of a node.
type frontend struct {
	node *node
	lb   *hns.LoadBalancer
	port hns.LoadBalancerPortMapping
	net  *network  // of the backends; nil if none of them is there
	twin *frontend // another for the same
}

func (l *frontend) ref(detail string) Ref {
	return Ref{Node: l.node.spec.Name, Kind: KindLoadBalancer, ID: l.lb.ID, Name: l.name(), Detail: detail}
}

// name is what is known of a load balancer, which has no name of its own.
func (l *frontend) name() string {
	vip := "node"
	if len(l.lb.FrontendVIPs) > 0 {
		vip = l.lb.FrontendVIPs[0].String()
	}
	return frontendName(vip, l.port.Protocol, l.port.ExternalPort)
}

func frontendName(vip string, p hns.Protocol, port uint16) string {
	return fmt.Sprintf("%s %s %d", vip, p, port)
}

func (l *frontend) dsr() bool { return l.lb.Flags&hns.LoadBalancerDSR != 0 }

// dsr reports whether a load balancer has direct server return, and notes it
// where the node's HNS does not.
func (f *flight) dsr(l *frontend) bool {
	if l.dsr() && l.node.lacks(hns.FeatureDSR) {
		f.unjudged(l.ref("DSR"), l.node.lacksText(hns.FeatureDSR))
	}
	return l.dsr()
}

func (n *node) indexLoadBalancer(d *hns.LoadBalancer) {
	net := n.netByID[d.Network]
	for _, id := range d.Endpoints {
		if e := n.byID[id]; net == nil && e != nil {
			net = e.net
		}
	}
	vips := d.FrontendVIPs
	if len(vips) == 0 {
		vips = []netip.Addr{{}}
	}
	for _, m := range d.PortMappings {
		for _, v := range vips {
			k := lbKey{v, m.Protocol, m.ExternalPort}
			l, old := &frontend{node: n, lb: d, port: m, net: net}, n.lbs[k]
			if old != nil {
				l.twin, old.twin = old, l
			}
			if old == nil || before(d.ID, old.lb.ID) {
				n.lbs[k] = l
			}
		}
	}
}

// frontend returns the load balancer of the node for an address and port: one
// for the port, or one for everything sent to the address, or a node port.
func (f *flight) frontend(n *node) *frontend {
	l := f.findFrontend(n)
	if l != nil && l.twin != nil && (l.port != l.twin.port || l.lb.Flags != l.twin.lb.Flags || !slices.Equal(l.lb.Endpoints, l.twin.lb.Endpoints)) {
		f.unjudged(l.ref(""), fmt.Sprintf("load balancer %s is for the same address and port; which of them counts is not known", l.twin.lb.ID))
	}
	return l
}

func (f *flight) findFrontend(n *node) *frontend {
	f.t.Looked += 3
	a := f.h.Dst
	if l := n.lbs[lbKey{a, f.h.Protocol, f.h.DstPort}]; l != nil {
		return l
	}
	if l := n.lbs[lbKey{a, hns.ProtocolAny, 0}]; l != nil && l.port.Flags&hns.LoadBalancerInternal != 0 {
		return l
	}
	l := n.lbs[lbKey{netip.Addr{}, f.h.Protocol, f.h.DstPort}]
	if l != nil && n.has(a) && (l.lb.Flags&hns.LoadBalancerIPv6 == 0) == a.Is4() {
		return l
	}
	return nil
}

// balance leads what a pod sends to a virtual address to a backend, by the
// load balancers of the pod's node.
func (f *flight) balance(e *endpoint) *Diagnosis {
	a := f.h.Dst
	l := f.frontend(e.node)
	if l == nil {
		s := f.w.services[a]
		if s == nil || e.net.mode == modes.Transparent {
			return nil
		}
		d := f.noFrontend(e.node, s)
		if e.net.mode == modes.NAT {
			d = Diagnosis{Reason: NotInMode, Object: e.net.ref("", ""), Certainty: Practice,
				Text: fmt.Sprintf("%s is the address of service %q; a NAT network has no load balancers", a, s.Name), Fix: "choose a mode that Kubernetes supports"}
		}
		return &d
	}
	switch {
	case e.net.mode == modes.NAT, e.net.mode == modes.Transparent:
		f.unjudged(l.ref(""), "a load balancer for a pod of a "+string(e.net.mode)+" network, which takes none")
	case l.net != nil && l.net != e.net:
		f.unjudged(l.ref(""), fmt.Sprintf("its backends are on network %q, the pod is on %q", l.net.doc.Name, e.net.doc.Name))
	}
	if d := f.toFrontend(e, l); d != nil {
		return d
	}
	to, d := f.backend(l)
	if d != nil {
		return d
	}
	if to == e {
		if d := f.loopback(e, l); d != nil {
			return d
		}
	}
	return f.translate(l, e, to)
}

// toFrontend wants the packet to come to the rules of the load balancer at
// all: excepted from source NAT, and on L2Bridge by an SDN route.
func (f *flight) toFrontend(e *endpoint, l *frontend) *Diagnosis {
	a := f.h.Dst
	if e.net.mode == modes.L2Bridge || e.net.mode == modes.L2Tunnel {
		ref, ok := e.encapRoute(a)
		if !ok {
			c := Practice
			if f.w.services[a] == nil {
				c = Inferred // of cluster addresses it is known
			}
			return &Diagnosis{Reason: NoSDNRoute, Object: e.ref("SDNRoute", netip.PrefixFrom(a, a.BitLen()).String()), Missing: true, Certainty: c,
				Text: fmt.Sprintf("no SDNRoute with NeedEncap holds %s: the rules of the load balancer do not apply", a),
				Fix:  "add the policy SDNRoute with the service CIDR as DestinationPrefix and NeedEncap to the endpoint"}
		}
		f.pass(ref, f.balancerCertainty(e), true, "leads it through the load balancers' rules")
	}
	if len(l.lb.FrontendVIPs) == 0 {
		return nil
	}
	v := f.natVerdict(e, a)
	if v.policy != nil && v.except == (Ref{}) {
		return &Diagnosis{Reason: NoException, Object: e.ref("OutBoundNAT", "Exceptions"), Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("source NAT takes what goes to %s before the load balancer sees it", a),
			Fix:  "put the service CIDR into the Exceptions of the OutBoundNAT policy"}
	}
	if v.except != (Ref{}) {
		f.pass(v.except, Practice, v.only, "leaves it to the load balancer")
	}
	return nil
}

// balancerCertainty is lower on L2Tunnel: that it does as L2Bridge is inferred.
func (f *flight) balancerCertainty(e *endpoint) Certainty {
	if e != nil && e.net.mode == modes.L2Tunnel {
		return Inferred
	}
	return Practice
}

// backend chooses a backend. Which one Windows would choose is not known; the
// distribution decides what of the packet the choice depends on.
func (f *flight) backend(l *frontend) (*endpoint, *Diagnosis) {
	v4 := f.h.Dst.Is4()
	ids := l.lb.Endpoints
	if len(ids) == 0 {
		return nil, &Diagnosis{Reason: NoBackend, Object: l.ref("backends"), Missing: true, Certainty: Practice,
			Text: "the load balancer has no backends", Fix: "delete it, or make it again with a backend"}
	}
	if want := f.p.Backend; want.IsValid() {
		for _, id := range ids {
			f.t.Looked++
			if e := l.node.byID[id]; e != nil && e.hasAddr(want) {
				return e, nil
			}
		}
		return nil, &Diagnosis{Reason: NoBackend, Object: Ref{Node: l.node.spec.Name, Kind: KindEndpoint, Detail: want.String()}, Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("%s is not among the backends of the load balancer %s", want, l.name()),
			Fix:  "make the endpoint (a remote one for a pod of another node), and the load balancer again with it"}
	}
	id := ids[f.hash(l.port.Distribution)%uint64(len(ids))]
	e := l.node.byID[id]
	if e == nil {
		return nil, &Diagnosis{Reason: NoBackend, Object: Ref{Node: l.node.spec.Name, Kind: KindEndpoint, ID: id}, Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("the load balancer %s names an endpoint that is gone; it stays, and is dead for that backend", l.name()),
			Fix:  "delete the load balancer first, then the endpoint; make the load balancer again with the backends that are there"}
	}
	if _, ok := (owner{ep: e}).addressOf(v4); !ok {
		return nil, &Diagnosis{Reason: NoSuchFamily, Object: e.ref("", ""), Certainty: Practice,
			Text: fmt.Sprintf("backend %q has no address of the family of %s", e.doc.Name, f.h.Dst), Fix: "keep the families of a service in two load balancers, each with backends of its own family"}
	}
	return e, nil
}

func (f *flight) hash(d hns.Distribution) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(f.h.Src.AsSlice())
	if d != hns.DistributePerClient {
		_, _ = h.Write([]byte{byte(f.h.Protocol)})
	}
	if d == hns.DistributePerConnection {
		_, _ = h.Write(f.h.Dst.AsSlice())
		_, _ = h.Write(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, f.h.SrcPort), f.h.DstPort))
	}
	return h.Sum64()
}

// loopback wants what lets a pod reach itself through a service.
func (f *flight) loopback(e *endpoint, l *frontend) *Diagnosis {
	own, _ := owner{ep: e}.addressOf(f.h.Dst.Is4())
	// Both ways take direct server return (containernetworking/plugins PR#613).
	old := func(by Ref) *Diagnosis {
		if !e.node.lacks(hns.FeatureDSR) {
			return nil
		}
		return &Diagnosis{Reason: NoLoopback, Object: by, Certainty: Practice,
			Text: fmt.Sprintf("the load balancer chose the pod that asks, %s, and %s", own, e.node.lacksText(hns.FeatureDSR)), Fix: "update Windows, or keep the pod from asking its own service"}
	}
	for i := range e.nats {
		p := &e.nats[i]
		if _, n := holding(p.destinations, own); n > 0 && !p.VirtualIP.IsValid() {
			ref := e.ref("OutBoundNAT", "Destinations "+own.String())
			if d := old(ref); d != nil {
				return d
			}
			f.pass(ref, Practice, !l.dsr(), "lets the pod reach itself")
			return nil
		}
	}
	if l.dsr() {
		if d := old(l.ref("DSR")); d != nil {
			return d
		}
		f.pass(l.ref("DSR"), Practice, true, "direct server return lets the pod reach itself")
		return nil
	}
	return &Diagnosis{Reason: NoLoopback, Object: e.ref("OutBoundNAT", "Destinations "+own.String()), Missing: true, Certainty: Practice,
		Text: fmt.Sprintf("the load balancer chose the pod that asks, %s, and nothing lets a pod reach itself", own),
		Fix:  "loopback DSR: an OutBoundNAT policy with the pod's own address as Destinations (HNS 9.3 or 10.2 and later), or a load balancer with DSR"}
}

// translate puts the backend into the header. from is the pod that asks, nil
// for the node or somebody outside.
func (f *flight) translate(l *frontend, from, to *endpoint) *Diagnosis {
	a, _ := owner{ep: to}.addressOf(f.h.Dst.Is4())
	dsr := f.dsr(l)
	before := f.h
	c := f.balancerCertainty(from)
	text := fmt.Sprintf("chooses the backend %s of %d", a, len(l.lb.Endpoints))
	if l.port.Flags&hns.LoadBalancerPreserveDIP != 0 && from != nil {
		f.to = a
		f.step(Step{Object: l.ref(""), Effect: Passed, Before: before, Certainty: Inferred, Needed: true, Text: text + " and leaves the virtual address in the packet"})
		return nil
	}
	f.h.Dst = a
	if l.port.InternalPort != 0 {
		f.h.DstPort = l.port.InternalPort
	}
	e := entry{node: l.node, ep: from, atNode: from == nil, ref: l.ref("")}
	var holder *endpoint
	if dsr {
		text += "; direct server return"
	} else if holder = f.sourceVIP(l, from, to, &e); f.h.Src != before.Src {
		text += " and puts in the source VIP " + l.lb.SourceVIP.String()
	}
	f.remember(e, before)
	f.step(Step{Object: l.ref(""), Effect: Rewritten, Before: before, Certainty: c, Needed: true, Text: text})
	if holder != nil {
		f.pass(l.ref("SourceVIP"), Practice, true, "is where the answer comes back to")
		f.pass(holder.ref("", ""), Practice, true, "holds the source VIP")
	}
	if to.remote {
		f.pass(to.ref("", ""), c, true, "stands for the pod of another node")
	}
	return nil
}

// sourceVIP is what makes answers come back through the load balancer. It puts
// the source VIP into the packet and returns the endpoint that holds it, where
// the network needs one.
func (f *flight) sourceVIP(l *frontend, from, to *endpoint, e *entry) *endpoint {
	overlay := l.net != nil && l.net.mode == modes.Overlay
	vip := l.lb.SourceVIP
	lacks := Diagnosis{Reason: NoSourceVIP, Object: l.ref("SourceVIP"), Missing: true, Certainty: Practice,
		Text: "the answer of the backend goes straight to who asked, who knows no backend: the load balancer has no source VIP and no DSR",
		Fix:  "make an endpoint for the source VIP on the network and name its address as SourceVIP, or use DSR"}
	switch {
	case from == to || !overlay && !vip.IsValid():
		return nil
	case !vip.IsValid():
		e.why = &lacks
		return nil
	case overlay && l.net.local[vip] == nil:
		lacks.Object = Ref{Node: l.node.spec.Name, Kind: KindEndpoint, Detail: vip.String()}
		lacks.Text = fmt.Sprintf("no endpoint of network %q has the source VIP %s, so no answer comes back", l.net.doc.Name, vip)
		e.why = &lacks
		return nil
	}
	f.h.Src, f.h.SrcPort = vip, natPort(f.h.SrcPort)
	e.atNode = true
	if !overlay {
		return nil
	}
	return l.net.local[vip]
}

// preserved is a packet that came to a backend with the virtual address still
// in it: the load balancer of the backend's node takes it from there.
func (f *flight) preserved(e *endpoint) *Diagnosis {
	l := f.frontend(e.node)
	if l == nil {
		return &Diagnosis{Reason: NoLoadBalancer, Object: Ref{Node: e.node.spec.Name, Kind: KindLoadBalancer, Name: frontendName(f.h.Dst.String(), f.h.Protocol, f.h.DstPort)}, Missing: true, Certainty: Inferred,
			Text: fmt.Sprintf("the packet comes with the preserved address %s, and the backend's node has no load balancer for it", f.h.Dst), Fix: "make the load balancer on the backend's node as well"}
	}
	before := f.h
	f.h.Dst, f.to = f.to, netip.Addr{}
	if l.port.InternalPort != 0 {
		f.h.DstPort = l.port.InternalPort
	}
	f.remember(entry{node: e.node, ep: e, ref: l.ref("")}, before)
	f.step(Step{Object: l.ref(""), Effect: Rewritten, Before: before, Certainty: Inferred, Needed: true, Text: "puts in the backend at its own node"})
	return nil
}

// noFrontend says that a node has no load balancer for a service.
func (f *flight) noFrontend(n *node, s *Service) Diagnosis {
	for _, p := range s.Ports {
		if p.Protocol == f.h.Protocol && p.Port == f.h.DstPort {
			d := Diagnosis{Reason: NoLoadBalancer, Object: Ref{Kind: KindLoadBalancer, Name: frontendName(f.h.Dst.String(), f.h.Protocol, f.h.DstPort)}, Missing: true, Certainty: Practice,
				Text: fmt.Sprintf("%s is the address of service %q, and HNS has no load balancer for it here", f.h.Dst, s.Name),
				Fix:  "look whether kube-proxy runs on the node and what it says; it makes the load balancers"}
			if n != nil {
				d.Object.Node = n.spec.Name
				if n.linux != nil {
					d.Object.Kind, d.Text = KindService, fmt.Sprintf("%s is the address of service %q, which the node does not carry out", f.h.Dst, s.Name)
				}
			}
			return d
		}
	}
	if isICMP(f.h.Protocol) {
		return Diagnosis{Reason: NoServicePort, Object: Ref{Kind: KindService, Name: s.Name, Detail: f.h.Protocol.String()}, Missing: true, Certainty: Documented,
			Text: fmt.Sprintf("%s is the address of service %q, which answers on its ports and to no ping", f.h.Dst, s.Name), Fix: "test with TCP or UDP and a port of the service"}
	}
	return Diagnosis{Reason: NoServicePort, Object: Ref{Kind: KindService, Name: s.Name, Detail: fmt.Sprintf("%s %d", f.h.Protocol, f.h.DstPort)}, Missing: true, Certainty: Documented,
		Text: fmt.Sprintf("service %q has no port %s %d; its address answers to nothing else", s.Name, f.h.Protocol, f.h.DstPort), Fix: "use a port of the service"}
}
