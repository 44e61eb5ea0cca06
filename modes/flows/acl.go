package flows

import (
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// verdict is what rules say about a packet.
type verdict struct {
	block   bool
	ref     Ref    // the rule; zero: the default
	unknown string // why it could not be judged
	needed  bool   // an allow without which the packet is blocked
	any     bool   // there are rules at all
}

// aclOut asks the rules for what leaves a pod. Whether they come before load
// balancers or behind is not documented: if that makes a difference, the step
// could not be judged.
func (f *flight) aclOut(e *endpoint) *Diagnosis {
	if e.net.mode == modes.NAT && e.ruled() {
		f.unjudged(e.ref("ACL", ""), "rules on a NAT network; on some builds they do nothing")
		return nil
	}
	v := f.acl(e, f.h, hns.Out)
	if l := f.frontend(e.node); l != nil && v.any {
		if b, d := f.backend(l); d == nil {
			h := f.h
			h.Dst, _ = owner{ep: b}.addressOf(f.h.Dst.Is4())
			if l.port.InternalPort != 0 {
				h.DstPort = l.port.InternalPort
			}
			if w := f.acl(e, h, hns.Out); w.block != v.block || (w.unknown == "") != (v.unknown == "") {
				f.unjudged(e.ref("ACL", ""), "the rules say one thing of the service's address and another of the backend's; which of them Windows asks is not documented")
				return nil
			}
		}
	}
	return f.obey(e, v, hns.Out)
}

func (f *flight) aclIn(e *endpoint) *Diagnosis {
	if e.net.mode == modes.NAT && e.ruled() {
		f.unjudged(e.ref("ACL", ""), "rules on a NAT network; on some builds they do nothing")
		return nil
	}
	return f.obey(e, f.acl(e, f.h, hns.In), hns.In)
}

// obey lets a packet through or drops it.
func (f *flight) obey(e *endpoint, v verdict, way hns.Direction) *Diagnosis {
	switch {
	case v.unknown != "":
		ref := v.ref
		if ref == (Ref{}) {
			ref = e.ref("ACL", "")
		}
		f.unjudged(ref, v.unknown)
	case v.block:
		d := &Diagnosis{Reason: Blocked, Object: v.ref, Certainty: Practice,
			Text: fmt.Sprintf("blocked on its way %s (%s)", strings.ToLower(string(way)), f.h), Fix: "remove the rule, or put one with a smaller priority number before it that allows the packet"}
		if v.ref == (Ref{}) {
			d.Object, d.Missing = e.ref("ACL", "allow "+string(way)), true
			d.Text += "; no rule allows it, and from Windows Server 2025 on an endpoint with any ACL sends only what a rule allows"
			d.Fix = "add an ACL that allows everything with the priority 65500 (microsoft/Windows-Containers#616)"
		}
		return d
	case v.ref != (Ref{}):
		f.pass(v.ref, Practice, v.needed, "allows it "+strings.ToLower(string(way)))
	}
	return nil
}

// acl asks tiers in their order, then the ACLs of the endpoint and those of
// its network, which both must allow.
func (f *flight) acl(e *endpoint, h Header, way hns.Direction) verdict {
	tiers := false
	for _, t := range e.tiers {
		if t.doc.Direction != way {
			continue
		}
		tiers = true
		v := f.decide(e, t.rules, e.ref("TierAcl", ""), h, way)
		if v.unknown != "" || v.ref != (Ref{}) {
			v.any = true
			return v
		}
	}
	own, of := e.aclsOut, e.net.aclsOut
	if way == hns.In {
		own, of = e.aclsIn, e.net.aclsIn
	}
	v := f.decide(e, own, e.ref("ACL", ""), h, way)
	if v.ref == (Ref{}) && v.unknown == "" {
		v = f.byDefault(e, h, way)
	}
	v.any = tiers || e.hasACLs() || len(of) > 0
	if v.block || v.unknown != "" {
		return v
	}
	if n := f.decide(e, of, e.net.ref("NetworkACL", ""), h, way); n.block || n.unknown != "" {
		n.any = true
		return n
	}
	return v
}

// byDefault is what happens to a packet that no ACL is about. An endpoint
// without any has the defaults of Microsoft's page on network isolation. From
// Windows Server 2025 on one with any sends only what a rule allows
// (microsoft/Windows-Containers#616); what it takes in then, and what older
// ones do, is not recorded (microsoft/hcsshim#1059 has them need rules that
// allow the rest).
func (f *flight) byDefault(e *endpoint, h Header, way hns.Direction) verdict {
	v := e.node.state.Version
	switch {
	case e.hasACLs() && way == hns.Out && v != (hns.Version{}) && !v.Less(hns.Version{Major: 15}):
		return verdict{block: true}
	case e.hasACLs():
		return verdict{unknown: fmt.Sprintf("no rule is about what goes %s, and what becomes of that once an endpoint has rules is not known of this HNS; one that allows everything with the priority 65500 would say it", strings.ToLower(string(way)))}
	case way == hns.In && h.Protocol != hns.TCP && h.Protocol != hns.UDP && !isICMP(h.Protocol) && h.Protocol != hns.IGMP:
		return verdict{block: true}
	}
	return verdict{}
}

func (e *endpoint) hasACLs() bool { return len(e.aclsOut)+len(e.aclsIn) > 0 }

func (e *endpoint) ruled() bool { return e.hasACLs() || len(e.tiers) > 0 }

// decide returns what the rules say: the one of the smallest priority number
// that fits.
func (f *flight) decide(e *endpoint, rules ruleList, where Ref, h Header, way hns.Direction) verdict {
	at, ref, unknown := f.winner(rules, -1, where, h, way)
	switch {
	case unknown != "":
		return verdict{ref: ref, unknown: unknown}
	case at < 0 || rules[at].action == hns.ACLPass:
		return verdict{}
	}
	v := verdict{ref: ref, block: rules[at].action == hns.ACLBlock}
	if !v.block {
		next, _, unknown := f.winner(rules, at, where, h, way)
		switch {
		case unknown != "":
		case next >= 0:
			v.needed = rules[next].action == hns.ACLBlock
		default:
			v.needed = f.byDefault(e, h, way).block
		}
	}
	return v
}

// winner returns the first rule that fits and is not that at skip, -1 if there
// is none, and why it could not be judged. Rules of equal priority that differ
// have no defined order. A rule that could not be read counts only where it
// comes before, and would say something else.
func (f *flight) winner(rules ruleList, skip int, where Ref, h Header, way hns.Direction) (at int, ref Ref, unknown string) {
	named := func(i int) Ref {
		r := where
		r.Detail = rules[i].detail()
		return r
	}
	at = -1
	var unread []int
	why := ""
	for i := range rules {
		if at >= 0 && rules[i].priority != rules[at].priority {
			break
		}
		f.t.Looked++
		fits, unknown := f.fits(&rules[i].match, h, way)
		switch {
		case i == skip:
		case unknown != "":
			unread = append(unread, i)
			if why == "" {
				why = unknown
			}
		case !fits:
		case at < 0:
			at = i
		case rules[i].action != rules[at].action:
			return at, named(at), fmt.Sprintf("two rules of priority %d differ, and which wins is not defined", rules[at].priority)
		}
	}
	for _, i := range unread {
		if at < 0 || rules[i].action != rules[at].action {
			return at, named(i), why
		}
	}
	if at < 0 {
		return -1, Ref{}, ""
	}
	return at, named(at), ""
}
