package flows

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// maxSteps is a limit that no loop-free world reaches; loops are found before.
const maxSteps = 200

// flight is a packet, and then its answer, on the way.
type flight struct {
	w     *World
	t     *Trace
	p     Packet
	h     Header
	first Header // as it was sent
	from  owner  // who sent it
	at    owner  // who got it
	want  owner  // who shall get it; none if an address or a name was asked for
	reply bool
	// to is where the packet is led to while its destination is still a
	// virtual address (preserved DIP); none: to its destination.
	to      netip.Addr
	entries []entry
	visits  []visit
	tunnels []tunnel // that the packet came by
	noted   map[any]bool
	asked   map[setQuestion]setAnswer
	floor   Certainty // no step is surer
	natted  Ref       // what translated the source
	depth   int       // of DNS queries
}

// what says where a packet is.
type what uint8

const (
	nowhere what = iota
	podOut       // leaves a Windows pod
	podIn        // comes to a Windows pod's port
	linuxOut
	linuxIn
	hostOut // in the IP stack of a node, to be sent on
	hostIn  // is for the node itself
	nicIn   // comes to the node from the physical network
	wire    // on a link, to hop
	router
	outsideOut
	outsideIn
)

// spot is where a packet is.
type spot struct {
	what what
	node *node
	ep   *endpoint
	pod  *LinuxPod
	host *Host
	// hop is the next hop on a wire; for hostOut the address of the adapter
	// that the packet came in by, none if it starts here.
	hop netip.Addr
}

// visit is a spot and a header; to be there twice is a loop.
type visit struct {
	spot  spot
	h     Header
	reply bool
}

// Trace follows a packet, and the answer to it, as far as they get. It always
// ends, and gives the same for the same world and packet.
func (w *World) Trace(p Packet) *Trace { return w.trace(p, 0) }

func (w *World) trace(p Packet, depth int) *Trace {
	f := &flight{w: w, t: &Trace{Outcome: Arrived, Packet: p, Steps: make([]Step, 0, 16)}, p: p.withDefaults(), depth: depth, visits: make([]visit, 0, 12)}
	f.run(f.start())
	t := f.t
	if t.Diagnosis != nil {
		t.Certainty = t.Diagnosis.Certainty
		return t
	}
	for _, s := range t.Steps {
		t.Certainty = max(t.Certainty, s.Certainty)
	}
	return t
}

// start resolves the target and puts the packet at its sender.
func (f *flight) start() spot {
	bad := func(format string, args ...any) spot {
		return f.drop(Diagnosis{Reason: BadPacket, Object: Ref{Kind: KindPacket}, Text: fmt.Sprintf(format, args...), Fix: "ask for something else", Certainty: Tested})
	}
	p := f.p
	if p.Protocol != hns.TCP && p.Protocol != hns.UDP && !isICMP(p.Protocol) {
		return bad("protocol %s is not modelled; TCP, UDP and ICMP are", p.Protocol)
	}
	from, err := f.w.place(p.From)
	if err != nil {
		return bad("sender: %v", err)
	}
	f.from = from
	if from.ep != nil {
		f.mind(from.ep)
	}
	dst, s := f.target(from, bad)
	if !dst.IsValid() {
		return s
	}
	f.t.Destination = dst
	if want := map[hns.Protocol]bool{hns.ICMPv4: true, hns.ICMPv6: false}; isICMP(p.Protocol) && want[p.Protocol] != dst.Is4() {
		return bad("%s does not go to %s", p.Protocol, dst)
	}
	src, ok := f.source(from, dst)
	if !ok && from.unaddressed() {
		return f.outOfSight(from.ref(), "the addresses of the node are not known")
	}
	if !ok {
		return f.drop(Diagnosis{Reason: NoSuchFamily, Object: from.ref(), Certainty: Documented,
			Text: fmt.Sprintf("%s has no address of the family of %s", from.name(), dst), Fix: "give it one of that family, or ask for an address of the other"})
	}
	f.h = Header{Src: src, Dst: dst, Protocol: p.Protocol, SrcPort: p.SrcPort, DstPort: p.DstPort}
	if from.ep != nil {
		f.h.SrcMAC = from.ep.doc.MAC
	}
	f.first = f.h
	f.step(Step{Object: from.ref(), Effect: Sent, Before: f.h, Certainty: Tested, Text: "sends " + f.h.String(), Needs: from.ep.holders()})
	return f.sender(from)
}

// target returns the address that the packet is for.
func (f *flight) target(from owner, bad func(string, ...any) spot) (netip.Addr, spot) {
	to := f.p.To
	n := to.count()
	for _, set := range []bool{to.Address.IsValid(), to.Name != ""} {
		if set {
			n++
		}
	}
	switch {
	case n != 1:
		return netip.Addr{}, bad("one target is needed, there are %d", n)
	case to.Name != "":
		return f.resolve(from, to.Name)
	case to.Address.IsValid():
		return to.Address.Unmap(), spot{}
	}
	o, err := f.w.place(to.Place)
	if err != nil {
		return netip.Addr{}, bad("target: %v", err)
	}
	if o.unaddressed() {
		return netip.Addr{}, f.outOfSight(o.ref(), "the addresses of the node are not known")
	}
	a, ok := o.addressOf(f.p.Protocol != hns.ICMPv6)
	if !ok {
		a, ok = o.addressOf(f.p.Protocol == hns.ICMPv6)
	}
	if !ok {
		return netip.Addr{}, bad("target: %s has no address", o.name())
	}
	f.want = o
	return a, spot{}
}

// source chooses the sender's address: a node takes that of the adapter by
// which the packet leaves.
func (f *flight) source(from owner, dst netip.Addr) (netip.Addr, bool) {
	if from.ep != nil || from.linux != nil || from.outside != nil {
		return from.addressOf(dst.Is4())
	}
	n := from.node
	if l := n.linux; l != nil {
		if l.VXLAN != nil && l.VXLAN.Address.IsValid() && l.VXLAN.Address.Is4() == dst.Is4() {
			if _, _, ok := n.peers.find(dst, &f.t.Looked); ok {
				return l.VXLAN.Address, true
			}
		}
		return from.addressOf(dst.Is4())
	}
	for _, net := range n.networks {
		s, ok := net.doc.SubnetOf(dst)
		if !ok {
			continue
		}
		switch {
		case net.hostEP != nil && net.hostEP.hostAttached():
			for _, a := range net.hostEP.addrs {
				if s.Prefix.Contains(a) {
					return a, true
				}
			}
		case net.mode == modes.NAT && s.Gateway().IsValid():
			return s.Gateway(), true
		}
	}
	return from.addressOf(dst.Is4())
}

// sender returns where what an owner sends starts.
func (f *flight) sender(o owner) spot {
	switch {
	case o.ep != nil:
		return spot{what: podOut, node: o.node, ep: o.ep}
	case o.linux != nil:
		return spot{what: linuxOut, node: o.node, pod: o.linux}
	case o.outside != nil:
		return spot{what: outsideOut, host: o.outside}
	}
	return spot{what: hostOut, node: o.node}
}

func (f *flight) run(s spot) {
	for s.what != nowhere {
		v := visit{s, f.h, f.reply}
		for _, old := range f.visits {
			if old == v || len(f.visits) > maxSteps {
				f.drop(f.round(s))
				return
			}
		}
		f.visits = append(f.visits, v)
		f.t.Looked++
		s = f.next(s)
	}
}

// round names what leads a packet round and round.
func (f *flight) round(s spot) Diagnosis {
	d := Diagnosis{Reason: Loop, Object: s.ref(), Certainty: Documented, Text: fmt.Sprintf("%s was here before: it goes round and round", f.h), Fix: "look at what led it here"}
	var by []string
	for i := len(f.t.Steps) - 1; i >= 0 && len(by) < 2; i-- {
		if r := f.t.Steps[i].Object; r.Kind == KindRoute || r.Detail != "" && r.Kind == KindPhysical {
			d.Object = r
			by = append(by, r.String())
		}
	}
	if len(by) > 0 {
		d.Text += ", led by " + strings.Join(by, " and ")
		d.Fix = "let one of these lead to the node that has the pod subnet"
	}
	return d
}

func (s spot) ref() Ref {
	switch {
	case s.ep != nil:
		return s.ep.ref("", "")
	case s.node != nil:
		return s.node.ref("")
	case s.host != nil:
		return Ref{Kind: KindOutside, Name: s.host.Name}
	}
	return Ref{Kind: KindPhysical}
}

func (f *flight) next(s spot) spot {
	switch s.what {
	case podOut:
		return f.podOut(s.ep)
	case podIn:
		return f.podIn(s.ep)
	case linuxOut:
		return f.linuxOut(s.node, s.pod)
	case linuxIn:
		return f.arrive(owner{node: s.node, linux: s.pod}, Practice)
	case hostOut:
		if s.node.linux != nil {
			return f.linuxHostOut(s.node, s.hop)
		}
		return f.hostOut(s.node, s.hop)
	case hostIn:
		return f.arrive(owner{node: s.node}, Documented)
	case nicIn:
		if s.node.linux != nil {
			return f.linuxNIC(s.node)
		}
		return f.nicIn(s.node)
	case wire:
		return f.wire(s.node, s.hop)
	case router:
		return f.router(s.node)
	case outsideOut:
		return f.outsideOut(s.host)
	case outsideIn:
		return f.arrive(owner{outside: s.host}, Documented)
	}
	return spot{}
}

// arrive gives the packet to who has it now; the answer sets out from there.
func (f *flight) arrive(o owner, c Certainty) spot {
	text := "arrives"
	if f.reply {
		text = "the answer arrives"
		if want := f.first.flow().reversed(); f.h.flow() != want {
			return f.strangeAnswer(o, want)
		}
	}
	f.step(Step{Object: o.ref(), Effect: Delivered, Before: f.h, Certainty: c, Text: text, Needed: o.isPod() || o.outside != nil, Needs: o.ep.holders()})
	if f.reply {
		f.judgeSource()
		return spot{}
	}
	if f.want != (owner{}) && o != f.want && f.h.flow().dst == f.t.Destination {
		return f.drop(Diagnosis{Reason: WrongReceiver, Object: f.want.ref(), Certainty: Practice,
			Text: fmt.Sprintf("the packet comes to %s, which has the address %s as well", o.name(), f.h.Dst), Fix: "an address that several pods have, such as one inside a NAT network, means another one elsewhere: give them different ones, or publish a port"})
	}
	f.at = o
	f.reply, f.to = true, netip.Addr{}
	f.h.set(f.h.flow().reversed())
	f.h.SrcMAC, f.h.DstMAC, f.h.Outer = hns.MAC{}, hns.MAC{}, Outer{}
	if o.ep != nil {
		f.h.SrcMAC = o.ep.doc.MAC
	}
	f.step(Step{Object: o.ref(), Effect: Sent, Before: f.h, Certainty: Tested, Text: "answers " + f.h.String()})
	return f.sender(o)
}

// judgeSource wants pods to see each other's own addresses, as Kubernetes does
// for a pod that asks another by its address. Through a service or a port of a
// node a pod may see another's.
func (f *flight) judgeSource() {
	if f.natted == (Ref{}) || !f.from.isPod() || !f.at.isPod() || !f.at.has(f.t.Destination) {
		return
	}
	ref := f.natted
	ref.Detail = "Exceptions"
	f.reply = false // it is found when the answer is there, and was so on the way
	f.t.Diagnosis = f.seal(Diagnosis{Reason: SourceTranslated, Object: ref, Missing: true, Certainty: Documented,
		Text: fmt.Sprintf("%s sees the node's address instead of that of %s; between pods Kubernetes wants no NAT", f.at.name(), f.from.name()),
		Fix:  fmt.Sprintf("put the prefix of %s into the Exceptions of the OutBoundNAT policy", f.t.Destination)})
}

// strangeAnswer drops an answer whose addresses are not those that the sender
// waits for: something on the way there was not undone on the way back.
func (f *flight) strangeAnswer(o owner, want flow) spot {
	d := Diagnosis{Reason: ReplyNotTranslated, Object: o.ref(), Certainty: Practice,
		Text: fmt.Sprintf("%s waits for an answer from %s and gets one from %s", o.name(), socket(want.src, want.srcPort), socket(f.h.Src, f.h.SrcPort)),
		Fix:  "lead the answer back through what translated the packet"}
	if o != f.from {
		d.Text = fmt.Sprintf("the answer comes to %s, who did not ask: %s", o.name(), f.h)
	}
	for _, e := range f.entries {
		switch {
		case e.undone:
		case e.why != nil:
			d = *e.why
		case o != f.from:
			d.Object = e.ref // what sent the answer elsewhere
		}
	}
	return f.drop(d)
}

// mind lowers what can be sure where the network's mode has no source.
func (f *flight) mind(e *endpoint) {
	if e.net != nil && e.net.mode == modes.Transparent {
		f.floor = Inferred
	}
}

// dst is where the packet is led to.
func (f *flight) dst() netip.Addr {
	if f.to.IsValid() {
		return f.to
	}
	return f.h.Dst
}
