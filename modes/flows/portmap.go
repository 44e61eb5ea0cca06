package flows

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// lbKey is what a load balancer, or a port mapping, is found by. An invalid
// address is every address of the node.
type lbKey struct {
	addr     netip.Addr
	protocol hns.Protocol
	port     uint16
}

// mapping is a PortMapping policy of an endpoint.
type mapping struct {
	ep *endpoint
	hns.PortMapping
	twin *mapping // another endpoint's for the same port
}

func (n *node) indexMapping(e *endpoint, p hns.PortMapping) {
	vip := p.VIP
	if vip.IsUnspecified() {
		vip = netip.Addr{}
	}
	k := lbKey{vip, p.Protocol, p.ExternalPort}
	old := n.maps[k]
	m := &mapping{ep: e, PortMapping: p}
	if old != nil && old.ep != e {
		m.twin, old.twin = old, m
	}
	if old == nil || before(e.doc.ID, old.ep.doc.ID) {
		n.maps[k] = m
	}
}

// mapped leads a packet for a port of the node to the endpoint that has
// published it.
func (f *flight) mapped(n *node, remote bool) (spot, bool) {
	k := lbKey{f.h.Dst, f.h.Protocol, f.h.DstPort}
	m := n.maps[k]
	if m == nil {
		k.addr = netip.Addr{}
		m = n.maps[k]
	}
	if m == nil || (m.Flags&hns.NATIPv6 != 0) == f.h.Dst.Is4() {
		return spot{}, false
	}
	e := m.ep
	ref := e.ref("PortMapping", fmt.Sprintf("%s %d", m.Protocol, m.ExternalPort))
	if m.twin != nil {
		f.unjudged(ref, fmt.Sprintf("%s has published the same port; which of them counts is not known", m.twin.ep.ref("", "")))
	}
	if !remote && e.net.mode != modes.NAT && m.Flags&hns.NATLocalRoutedVIP == 0 {
		return f.drop(Diagnosis{Reason: NotPublished, Object: ref, Certainty: Practice,
			Text: "the node itself does not reach the port: the mapping lacks the flag LocalRoutedVip", Fix: "add the mapping with Flags 1 (LocalRoutedVip)"}), true
	}
	to, ok := owner{ep: e}.addressOf(f.h.Dst.Is4())
	if !ok {
		return spot{}, false
	}
	before := f.h
	f.h.Dst, f.h.DstPort = to, m.InternalPort
	f.remember(entry{node: n, ep: e, ref: ref}, before)
	f.step(Step{Object: ref, Effect: Rewritten, Before: before, Certainty: Practice, Needed: true, Text: fmt.Sprintf("leads the port to %s", socket(to, m.InternalPort))})
	return spot{what: podIn, node: n, ep: e}, true
}
