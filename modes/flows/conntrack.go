package flows

import "net/netip"

// entry is what a translation on the way there remembers for the way back.
type entry struct {
	node *node
	// ep is the endpoint at whose port the translation is; atNode says that it
	// is undone wherever the answer comes to the node.
	ep        *endpoint
	atNode    bool
	orig, now flow
	ref       Ref
	undone    bool
	// why is what is the matter if the entry cannot be undone.
	why *Diagnosis
}

// remember notes a translation that turned the header before into the present one.
func (f *flight) remember(e entry, before Header) {
	e.orig, e.now = before.flow(), f.h.flow()
	f.entries = append(f.entries, e)
}

// undo undoes the last translation that the answer fits, at the port of ep, or
// at the node if ep is nil. It returns the endpoint of what was undone.
func (f *flight) undo(n *node, ep *endpoint) (*endpoint, bool) {
	if !f.reply {
		return nil, false
	}
	for i := len(f.entries) - 1; i >= 0; i-- {
		e := &f.entries[i]
		if e.undone || e.why != nil || e.node != n || e.atNode != (ep == nil) || ep != nil && e.ep != ep || f.h.flow() != e.now.reversed() {
			continue
		}
		before := f.h
		f.h.set(e.orig.reversed())
		e.undone = true
		f.step(Step{Object: e.ref, Effect: Rewritten, Before: before, Certainty: Practice, Text: "translates the answer back"})
		return e.ep, true
	}
	return nil, false
}

// undoAll undoes at the node, in turn, all translations that the answer fits:
// what one leaves may be what another has made. It returns the endpoint of the
// last one.
func (f *flight) undoAll(n *node) (last *endpoint, any bool) {
	for {
		ep, ok := f.undo(n, nil)
		if !ok {
			return last, any
		}
		last, any = ep, true
	}
}

// tunnel is a packet that came to a node in VXLAN.
type tunnel struct {
	node *node
	src  netip.Addr // its sender
	from netip.Addr // the provider address that it came from
}

// tunnelBack returns where an answer goes in VXLAN because the packet came so
// from whom it is for, none if it did not.
func (f *flight) tunnelBack(n *node) netip.Addr {
	if f.reply {
		for _, t := range f.tunnels {
			if t.node == n && t.src == f.dst() {
				return t.from
			}
		}
	}
	return netip.Addr{}
}

// cameBy notes that a packet came out of VXLAN.
func (f *flight) cameBy(n *node, from netip.Addr) {
	if !f.reply {
		f.tunnels = append(f.tunnels, tunnel{n, f.h.Src, from})
	}
}
