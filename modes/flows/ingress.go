package flows

import (
	"fmt"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// balanceHost leads what a node itself sends to a virtual address. Older
// builds did not do it, and which do is not recorded.
func (f *flight) balanceHost(n *node) *Diagnosis {
	l := f.frontend(n)
	if l == nil || n.has(f.h.Dst) {
		return nil
	}
	f.unjudged(l.ref(""), "a service address from the node itself, which not every build supports")
	to, d := f.backend(l)
	if d != nil {
		return d
	}
	return f.translate(l, nil, to)
}

// ingress leads what comes to the node for a node port or a virtual address.
func (f *flight) ingress(n *node) (spot, bool) {
	l := f.frontend(n)
	if l == nil || l.net == nil {
		return spot{}, false
	}
	if f.from.node == n && !f.from.isPod() && l.port.Flags&hns.LoadBalancerLocalRoutedVIP == 0 {
		return f.drop(Diagnosis{Reason: NoLoadBalancer, Object: l.ref("LocalRoutedVip"), Missing: true, Certainty: Practice,
			Text: "the node itself does not reach the port: the mapping lacks the flag LocalRoutedVip", Fix: "set the flag LocalRoutedVip (2) on the port mapping"}), true
	}
	to, d := f.backend(l)
	if d != nil {
		return f.drop(*d), true
	}
	a, _ := owner{ep: to}.addressOf(f.h.Dst.Is4())
	dsr := to.remote && f.dsr(l)
	before := f.h
	f.h.Dst = a
	if l.port.InternalPort != 0 {
		f.h.DstPort = l.port.InternalPort
	}
	e := entry{node: n, ep: to, ref: l.ref("")}
	if to.remote {
		f.awayFrom(n, l, dsr, &e)
	}
	f.remember(e, before)
	f.step(Step{Object: l.ref(""), Effect: Rewritten, Before: before, Certainty: Practice, Needed: true, Text: fmt.Sprintf("chooses the backend %s of %d", a, len(l.lb.Endpoints))})
	if !to.remote {
		return spot{what: podIn, node: n, ep: to}, true
	}
	if l.net.mode == modes.Overlay {
		s, ok := f.wrap(l.net, l.net.provider())
		if !ok {
			return f.drop(f.noRSR(l.net)), true
		}
		return s, true
	}
	return spot{what: hostOut, node: n}, true
}

// awayFrom sees to the answer of a backend on another node: it must come back
// through this one, or who asked does not know it.
func (f *flight) awayFrom(n *node, l *frontend, dsr bool, e *entry) {
	e.ep, e.atNode = nil, true
	if dsr {
		e.why = &Diagnosis{Reason: ReplyNotTranslated, Object: l.ref("DSR"), Certainty: Practice,
			Text: "the backend is on another node and, with direct server return, answers who asked from its own address",
			Fix:  "externalTrafficPolicy Local: only backends of the node itself; or no DSR, so that the source is translated"}
		return
	}
	src := l.lb.SourceVIP
	if !src.IsValid() {
		src = n.address(f.h.Dst.Is4())
	}
	f.h.Src, f.h.SrcPort = src, natPort(f.h.SrcPort)
}
