package flows

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// natPolicy is an OutBoundNAT policy with its lists read.
type natPolicy struct {
	hns.OutBoundNAT
	exceptions, destinations []netip.Prefix
	bad                      []string // what could not be read
}

func newNATPolicy(p hns.OutBoundNAT) natPolicy {
	out := natPolicy{OutBoundNAT: p}
	out.exceptions, out.bad = places(p.Exceptions)
	var bad []string
	out.destinations, bad = places(p.Destinations)
	out.bad = append(out.bad, bad...)
	return out
}

// places reads addresses and prefixes; what is neither is returned as text.
func places(texts []string) (out []netip.Prefix, bad []string) {
	for _, s := range texts {
		s = strings.TrimSpace(s)
		if p, ok := readPlace(s); ok {
			out = append(out, p)
		} else {
			bad = append(bad, s)
		}
	}
	return out, bad
}

// readPlace reads a prefix or an address.
func readPlace(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(s)
	return netip.PrefixFrom(a, a.BitLen()), err == nil
}

// holding returns how many prefixes hold a, and the first.
func holding(ps []netip.Prefix, a netip.Addr) (netip.Prefix, int) {
	var first netip.Prefix
	n := 0
	for _, p := range ps {
		if p.Contains(a) {
			if n == 0 {
				first = p
			}
			n++
		}
	}
	return first, n
}

// forFamily reports whether the policy is about addresses like a, and is source
// NAT rather than a loopback rule.
func (p *natPolicy) translates(a netip.Addr) bool {
	if (p.Flags&hns.NATIPv6 != 0) == a.Is4() {
		return false
	}
	if len(p.destinations) > 0 {
		_, n := holding(p.destinations, a)
		return p.VirtualIP.IsValid() && n > 0
	}
	return true
}

// natVerdict is what source NAT does with a destination.
type natVerdict struct {
	policy *natPolicy // that translates; nil: none does
	except Ref        // the exception that keeps the source
	only   bool       // that exception is the only one
}

func (f *flight) natVerdict(e *endpoint, a netip.Addr) natVerdict {
	var v natVerdict
	keeps, all := 0, 0
	for i := range e.nats {
		p := &e.nats[i]
		if !p.translates(a) {
			continue
		}
		if len(p.bad) > 0 {
			f.unjudged(e.ref("OutBoundNAT", strings.Join(p.bad, ", ")), "values that are no prefix")
		}
		all++
		if ex, n := holding(p.exceptions, a); n > 0 {
			keeps++
			if v.except == (Ref{}) {
				v.except, v.only = e.ref("OutBoundNAT", "Exceptions "+ex.String()), n == 1
			}
			continue
		}
		if v.policy == nil {
			v.policy = p
		}
	}
	if keeps > 0 && keeps < all {
		f.unjudged(e.ref("OutBoundNAT", ""), fmt.Sprintf("%d policies, of which %d except %s; which of them holds is not known", all, keeps, a))
		v.except = Ref{}
	}
	return v
}

// sourceNAT translates the source of what leaves a pod for other nodes or the
// outside.
func (f *flight) sourceNAT(e *endpoint) *Diagnosis {
	a := f.dst()
	v := f.natVerdict(e, a)
	if v.policy == nil {
		if v.except != (Ref{}) {
			o, ok := f.w.byAddress(a, e.node)
			wanted := ok && (o.isPod() && (a == f.t.Destination || e.net.mode == modes.Overlay) || !o.isPod() && o.node == e.node)
			f.pass(v.except, Practice, v.only && wanted, "keeps the source address")
		}
		return nil
	}
	ref := e.ref("OutBoundNAT", "")
	if isICMP(f.h.Protocol) {
		return &Diagnosis{Reason: ICMPNotTranslated, Object: ref, Certainty: Documented,
			Text: fmt.Sprintf("%s is outside of the exceptions, and ICMP is not translated", a), Fix: "test with TCP or UDP; a ping to the outside does not work on this mode"}
	}
	src := v.policy.VirtualIP
	if !src.IsValid() {
		if src = e.node.address(a.Is4()); e.net.mode == modes.Overlay && e.net.provider().IsValid() {
			src = e.net.provider()
		}
	}
	if !src.IsValid() {
		f.unjudged(ref, "the address of the node is not known")
		return nil
	}
	if e.node.has(a) && src == a {
		bad := e.ref("OutBoundNAT", "Exceptions")
		return &Diagnosis{Reason: NoException, Object: bad, Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("source NAT would send from %s to %s, the node to itself", src, a),
			Fix:  fmt.Sprintf("put %s/%d, or the subnet of the nodes, into the Exceptions of the OutBoundNAT policy", a, a.BitLen())}
	}
	if _, _, pod := f.subnetOwner(a); pod && e.net.mode == modes.Overlay {
		return &Diagnosis{Reason: NoException, Object: e.ref("OutBoundNAT", "Exceptions"), Missing: true, Certainty: Practice,
			Text: fmt.Sprintf("source NAT takes what goes to pod %s off the overlay", a),
			Fix:  "put the cluster's pod CIDRs, all of them, into the Exceptions of the OutBoundNAT policy"}
	}
	before := f.h
	f.h.Src, f.h.SrcPort = src, natPort(f.h.SrcPort)
	f.remember(entry{node: e.node, ep: e, atNode: true, ref: ref}, before)
	f.natted = ref
	f.step(Step{Object: ref, Effect: Rewritten, Before: before, Certainty: Practice, Needed: f.needsNAT(e, a), Text: fmt.Sprintf("translates the source to %s", src)})
	return nil
}

// needsNAT reports whether who has an address could not answer a pod's own.
func (f *flight) needsNAT(e *endpoint, a netip.Addr) bool {
	if p := f.w.cluster.Physical; e.net.mode == modes.L2Tunnel && p != nil && p.VNet != nil && p.VNet.SNAT {
		return false // Azure does it then
	}
	o, ok := f.w.byAddress(a, e.node)
	return !ok || o.outside != nil || e.net.mode == modes.Overlay
}

// natPort stands for the port that NAT chooses: one of the dynamic range.
func natPort(p uint16) uint16 {
	if p == 0 {
		return 0 // ICMP
	}
	return 49152 + uint16((uint32(p)*7+13)%16384)
}

// noNAT says that an answer from outside finds no way back: the source should
// have been translated, or not excepted.
func (f *flight) noNAT() Diagnosis {
	d := Diagnosis{Reason: NoNAT, Object: f.from.ref(), Missing: true, Certainty: Practice,
		Text: fmt.Sprintf("%s got the packet from %s, an address that only the nodes know: its answer gets nowhere", f.at.name(), f.first.Src),
		Fix:  "translate the source of what pods send outside"}
	e := f.from.ep
	if e == nil {
		d.Object = Ref{Node: f.from.node.spec.Name, Kind: KindNode, Name: f.from.node.spec.Name, Detail: "masquerade"}
		return d
	}
	d.Object = e.ref("OutBoundNAT", "")
	d.Fix = "add an OutBoundNAT policy with the cluster's own prefixes as Exceptions to the endpoint"
	if e.net.mode == modes.Transparent {
		d.Object, d.Fix = Ref{Kind: KindPhysical, Detail: "fabric NAT"}, "let the SDN controller translate it"
	}
	if v := f.natVerdict(e, f.first.Dst); v.policy == nil && v.except != (Ref{}) {
		d.Reason, d.Object, d.Missing = ExceptionTooWide, v.except, false
		d.Text += "; an exception keeps it from being translated"
		d.Fix = "take the prefix out of the Exceptions of OutBoundNAT, or make one that does not hold " + f.first.Dst.String()
	}
	return d
}

// natOut leads what leaves a container of a NAT network.
func (f *flight) natOut(e *endpoint) spot {
	a := f.dst()
	if to := e.net.local[a]; to != nil {
		return f.onSwitch(e, to, Inferred)
	}
	if !e.net.hasGateway(a) { // which is on the pod's own link
		if d := f.subnetGateway(e, "the node"); d != nil {
			return f.drop(*d)
		}
	}
	if e.node.has(a) || e.net.hasGateway(a) {
		f.pass(e.net.ref("", ""), Practice, false, "the gateway is the node itself")
		return spot{what: hostOut, node: e.node, hop: a}
	}
	if f.reply {
		return spot{what: hostOut, node: e.node}
	}
	c := Documented
	if isICMP(f.h.Protocol) {
		c = Inferred
	}
	src := e.node.address(a.Is4())
	if !a.Is4() {
		return f.drop(Diagnosis{Reason: NoSuchFamily, Object: e.net.ref("", ""), Certainty: Tested, Text: "WinNAT does not carry IPv6", Fix: "use IPv4, or another mode"})
	}
	if !src.IsValid() {
		f.unjudged(e.net.ref("", "WinNAT"), "the address of the node is not known")
		return spot{what: hostOut, node: e.node}
	}
	before := f.h
	f.h.Src, f.h.SrcPort = src, natPort(f.h.SrcPort)
	f.remember(entry{node: e.node, ep: e, atNode: true, ref: e.net.ref("", "WinNAT")}, before)
	f.step(Step{Object: e.net.ref("", "WinNAT"), Effect: Rewritten, Before: before, Certainty: c, Text: fmt.Sprintf("translates the source to %s", src)})
	return spot{what: hostOut, node: e.node}
}

func (n *network) hasGateway(a netip.Addr) bool {
	for _, s := range n.doc.Subnets() {
		if s.Gateway() == a {
			return true
		}
	}
	return false
}
