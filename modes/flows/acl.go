package flows

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// rule is a rule of an ACL, of a tier or of a proxy.
type rule struct {
	id                      string
	protocols               []string
	local, remote           []string
	localPorts, remotePorts []string
	action                  hns.ACLAction
	priority                uint16
	where                   Ref
}

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
	if e.net.mode == modes.NAT && len(e.acls)+len(e.tiers) > 0 {
		f.unjudged(e.ref("ACL", ""), "rules on a NAT network; on some builds they do nothing")
		return nil
	}
	v := f.acl(e, f.h, hns.Out)
	if l := f.frontend(e.node); l != nil && v.any {
		for _, id := range l.lb.Endpoints {
			b := e.node.byID[id]
			if b == nil {
				continue
			}
			a, ok := owner{ep: b}.addressOf(f.h.Dst.Is4())
			if !ok {
				continue
			}
			h := f.h
			h.Dst, h.DstPort = a, l.port.InternalPort
			if f.acl(e, h, hns.Out).block != v.block {
				f.unjudged(e.ref("ACL", ""), "the rules say one thing of the service's address and another of the backend's; which of them Windows asks is not documented")
				return nil
			}
		}
	}
	return f.obey(e, v, hns.Out)
}

func (f *flight) aclIn(e *endpoint) *Diagnosis {
	if e.net.mode == modes.NAT && len(e.acls)+len(e.tiers) > 0 {
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
			d.Text += "; no rule allows it, and with a block rule the default of Windows Server 2025 is to block"
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
		if t.Direction != way {
			continue
		}
		tiers = true
		v := f.decide(e, tierRules(e, t), h, way)
		if v.unknown != "" || v.ref != (Ref{}) {
			v.any = true
			return v
		}
	}
	own := aclRules(e.acls, way, e.ref("ACL", ""))
	v := f.decide(e, own, h, way)
	if v.ref == (Ref{}) && v.unknown == "" {
		v = f.byDefault(e, h, way)
	}
	v.any = tiers || len(own)+len(e.net.acls) > 0
	if v.block || v.unknown != "" {
		return v
	}
	if of := f.decide(e, aclRules(e.net.acls, way, e.net.ref("NetworkACL", "")), h, way); of.block || of.unknown != "" {
		of.any = true
		return of
	}
	return v
}

// byDefault is what happens to a packet that no ACL is about.
func (f *flight) byDefault(e *endpoint, h Header, way hns.Direction) verdict {
	blocks := slices.ContainsFunc(e.acls, func(a hns.ACL) bool { return a.Action == hns.ACLBlock })
	v := e.node.state.Version
	switch {
	case blocks && v == (hns.Version{}):
		return verdict{unknown: "no rule is about the packet; what the default is with a block rule depends on the version of Windows, which is not known"}
	case blocks && !v.Less(hns.Version{Major: 15}):
		return verdict{block: true}
	case way == hns.In && h.Protocol != hns.TCP && h.Protocol != hns.UDP && !isICMP(h.Protocol) && h.Protocol != hns.IGMP:
		return verdict{block: true}
	}
	return verdict{}
}

// decide returns what the rule of the smallest priority that fits says. Rules
// of equal priority that differ have no defined order.
func (f *flight) decide(e *endpoint, rules []rule, h Header, way hns.Direction) verdict {
	best := -1
	var out verdict
	for i, r := range rules {
		f.t.Looked++
		fits, unknown := r.fits(h, way, e.net)
		if unknown != "" {
			return verdict{ref: r.where, unknown: unknown}
		}
		if !fits {
			continue
		}
		switch {
		case best < 0 || r.priority < rules[best].priority:
			best, out = i, verdict{}
		case r.priority == rules[best].priority && r.action != rules[best].action:
			out.unknown = fmt.Sprintf("two rules of priority %d differ, and which wins is not defined", r.priority)
		}
	}
	if best < 0 {
		return verdict{}
	}
	r := rules[best]
	if out.unknown != "" {
		return verdict{ref: r.where, unknown: out.unknown}
	}
	if r.action == hns.ACLPass {
		return verdict{}
	}
	v := verdict{ref: r.where, block: r.action == hns.ACLBlock}
	if !v.block {
		rest := slices.Delete(slices.Clone(rules), best, best+1)
		w := f.decide(e, rest, h, way)
		v.needed = w.block || w.ref == (Ref{}) && w.unknown == "" && f.byDefault(e, h, way).block
	}
	return v
}

func aclRules(acls []hns.ACL, way hns.Direction, where Ref) []rule {
	var out []rule
	for _, a := range acls {
		if a.Direction != way {
			continue
		}
		r := rule{a.ID, a.Protocols, a.LocalAddresses, a.RemoteAddresses, a.LocalPorts, a.RemotePorts, a.Action, a.Priority, where}
		r.where.Detail = fmt.Sprintf("%s %s priority %d", a.Action, a.Direction, a.Priority)
		if a.ID != "" {
			r.where.Detail = a.ID + ": " + r.where.Detail
		}
		out = append(out, r)
	}
	return out
}

func tierRules(e *endpoint, t hns.TierACL) []rule {
	var out []rule
	for _, a := range t.Rules {
		r := rule{a.ID, a.Protocols, a.LocalAddresses, a.RemoteAddresses, a.LocalPorts, a.RemotePorts, a.Action, a.Priority, e.ref("TierAcl", "")}
		r.where.Detail = fmt.Sprintf("%s (order %d): %s %s priority %d", t.Name, t.Order, a.Action, t.Direction, a.Priority)
		out = append(out, r)
	}
	return out
}

// fits reports whether the rule is about the packet, and why that could not be
// judged. The endpoint is the sender of what goes out and the receiver of what
// comes in.
func (r rule) fits(h Header, way hns.Direction, net *network) (bool, string) {
	local, remote, localPort, remotePort := h.Src, h.Dst, h.SrcPort, h.DstPort
	if way == hns.In {
		local, remote, localPort, remotePort = h.Dst, h.Src, h.DstPort, h.SrcPort
	}
	ok, unknown := protocolFits(r.protocols, h.Protocol)
	for _, one := range []func() (bool, string){
		func() (bool, string) { return addressFits(r.local, local, net) },
		func() (bool, string) { return addressFits(r.remote, remote, net) },
		func() (bool, string) { return portFits(r.localPorts, localPort) },
		func() (bool, string) { return portFits(r.remotePorts, remotePort) },
	} {
		if !ok && unknown == "" {
			return false, ""
		}
		fits, why := one()
		if !fits && why == "" {
			return false, ""
		}
		ok = ok && fits
		if why != "" {
			unknown = why
		}
	}
	if unknown != "" {
		return false, unknown
	}
	return ok, ""
}

func protocolFits(texts []string, p hns.Protocol) (bool, string) {
	if len(texts) == 0 {
		return true, ""
	}
	unknown := ""
	for _, s := range texts {
		s = strings.TrimSpace(s)
		n, err := strconv.ParseUint(s, 10, 32)
		switch {
		case strings.EqualFold(s, p.String()), err == nil && (n == uint64(p) || n == 256 || n == 0):
			return true, ""
		case err != nil && !slices.ContainsFunc([]hns.Protocol{hns.TCP, hns.UDP, hns.ICMPv4, hns.ICMPv6, hns.IGMP}, func(k hns.Protocol) bool { return strings.EqualFold(s, k.String()) }):
			unknown = fmt.Sprintf("protocol %q", s)
		}
	}
	return false, unknown
}

// addressFits looks for an address among addresses, prefixes, and ids of sets.
func addressFits(texts []string, a netip.Addr, net *network) (bool, string) {
	if len(texts) == 0 {
		return true, ""
	}
	return inPlaces(texts, a, net, map[string]bool{})
}

// inPlaces asks each set once: sets may hold each other.
func inPlaces(texts []string, a netip.Addr, net *network, seen map[string]bool) (bool, string) {
	unknown := ""
	for _, s := range texts {
		s = strings.TrimSpace(s)
		ps, bad := places([]string{s})
		if len(bad) == 0 {
			if ps[0].Contains(a) {
				return true, ""
			}
			continue
		}
		id := strings.ToLower(s)
		set, ok := net.sets[id]
		switch {
		case !ok:
			unknown = fmt.Sprintf("%q is neither an address nor the id of a set of the network", s)
			continue
		case seen[id]:
			continue
		}
		seen[id] = true
		in, why := inPlaces(set.Values, a, net, seen)
		if in {
			return true, ""
		}
		if why != "" {
			unknown = why
		}
	}
	return false, unknown
}

func portFits(texts []string, port uint16) (bool, string) {
	if len(texts) == 0 {
		return true, ""
	}
	unknown := ""
	for _, s := range texts {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(s), "-")
		a, err := strconv.ParseUint(lo, 10, 16)
		b := a
		if isRange && err == nil {
			b, err = strconv.ParseUint(hi, 10, 16)
		}
		switch {
		case err != nil:
			unknown = fmt.Sprintf("port %q", s)
		case uint64(port) >= a && uint64(port) <= b:
			return true, ""
		}
	}
	return false, unknown
}
