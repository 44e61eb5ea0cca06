package flows

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// match is what of a rule decides whether it is about a packet, read once for
// all traces.
type match struct {
	protocols               protocolList
	local, remote           addressList
	localPorts, remotePorts portList
}

// rule is a rule of ACLs or of a tier.
type rule struct {
	match
	id        string
	action    hns.ACLAction
	direction hns.Direction
	priority  uint16
	tier      *hns.TierACL // nil: of no tier
}

func (r *rule) detail() string {
	text := fmt.Sprintf("%s %s priority %d", r.action, r.direction, r.priority)
	switch {
	case r.tier != nil:
		return fmt.Sprintf("%s (order %d): %s", r.tier.Name, r.tier.Order, text)
	case r.id != "":
		return r.id + ": " + text
	}
	return text
}

// ruleList are rules of one direction by priority, the smallest number first.
type ruleList []rule

func (l ruleList) sorted() ruleList {
	slices.SortStableFunc(l, func(a, b rule) int { return int(a.priority) - int(b.priority) })
	return l
}

// aclRules reads the ACLs of a direction.
func aclRules(acls []hns.ACL, way hns.Direction, sets map[string]*addressSet) ruleList {
	var out ruleList
	for i := range acls {
		a := &acls[i]
		if a.Direction == way {
			out = append(out, rule{match: readMatch(a.Protocols, a.LocalAddresses, a.RemoteAddresses, a.LocalPorts, a.RemotePorts, sets),
				id: a.ID, action: a.Action, direction: way, priority: a.Priority})
		}
	}
	return out.sorted()
}

// tier is a TierAcl with its rules read.
type tier struct {
	doc   *hns.TierACL
	rules ruleList
}

func readTiers(docs []hns.TierACL, sets map[string]*addressSet) []tier {
	var out []tier
	for i := range docs {
		t := tier{doc: &docs[i]}
		for j := range t.doc.Rules {
			a := &t.doc.Rules[j]
			t.rules = append(t.rules, rule{match: readMatch(a.Protocols, a.LocalAddresses, a.RemoteAddresses, a.LocalPorts, a.RemotePorts, sets),
				id: a.ID, action: a.Action, direction: t.doc.Direction, priority: a.Priority, tier: t.doc})
		}
		t.rules.sorted()
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b tier) int { return int(a.doc.Order) - int(b.doc.Order) })
	return out
}

func readMatch(protocols, local, remote, localPorts, remotePorts []string, sets map[string]*addressSet) match {
	return match{readProtocols(protocols), readAddresses(local, sets), readAddresses(remote, sets), readPorts(localPorts), readPorts(remotePorts)}
}

// fits reports whether the rule is about the packet, and why that could not be
// judged. The endpoint is the sender of what goes out and the receiver of what
// comes in.
func (f *flight) fits(m *match, h Header, way hns.Direction) (bool, string) {
	local, remote, localPort, remotePort := h.Src, h.Dst, h.SrcPort, h.DstPort
	if way == hns.In {
		local, remote, localPort, remotePort = h.Dst, h.Src, h.DstPort, h.SrcPort
	}
	unknown := ""
	// What is cheap comes first.
	for part := range 5 {
		var ok bool
		var why string
		switch part {
		case 0:
			ok, why = m.protocols.holds(h.Protocol)
		case 1:
			ok, why = m.localPorts.holds(localPort)
		case 2:
			ok, why = m.remotePorts.holds(remotePort)
		case 3:
			ok, why = f.among(&m.local, local)
		case 4:
			ok, why = f.among(&m.remote, remote)
		}
		if !ok && why == "" {
			return false, ""
		}
		if !ok {
			unknown = why
		}
	}
	return unknown == "", unknown
}

// protocolList are the protocols of a rule; empty is any.
type protocolList struct {
	any     bool
	known   []uint64
	unknown string // why one could not be read
}

func readProtocols(texts []string) protocolList {
	l := protocolList{any: len(texts) == 0}
	for _, s := range texts {
		s = strings.TrimSpace(s)
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			i := slices.IndexFunc(namedProtocols, func(k hns.Protocol) bool { return strings.EqualFold(s, k.String()) })
			if i < 0 {
				l.unknown = fmt.Sprintf("protocol %q", s)
				continue
			}
			n = uint64(namedProtocols[i])
		}
		l.any = l.any || n == 0 || n == 256
		l.known = append(l.known, n)
	}
	return l
}

var namedProtocols = []hns.Protocol{hns.TCP, hns.UDP, hns.ICMPv4, hns.ICMPv6, hns.IGMP}

func (l *protocolList) holds(p hns.Protocol) (bool, string) {
	if l.any || slices.Contains(l.known, uint64(p)) {
		return true, ""
	}
	return false, l.unknown
}

// portList are ports and ranges of a rule; empty is any.
type portList struct {
	any     bool
	ranges  [][2]uint16
	unknown string
}

func readPorts(texts []string) portList {
	l := portList{any: len(texts) == 0}
	for _, s := range texts {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(s), "-")
		a, err := strconv.ParseUint(lo, 10, 16)
		b := a
		if isRange && err == nil {
			b, err = strconv.ParseUint(hi, 10, 16)
		}
		if err != nil {
			l.unknown = fmt.Sprintf("port %q", s)
			continue
		}
		l.ranges = append(l.ranges, [2]uint16{uint16(a), uint16(b)})
	}
	return l
}

func (l *portList) holds(p uint16) (bool, string) {
	if l.any {
		return true, ""
	}
	for _, r := range l.ranges {
		if r[0] <= p && p <= r[1] {
			return true, ""
		}
	}
	return false, l.unknown
}

// addressList are addresses, prefixes, and ids of sets; empty is any.
type addressList struct {
	any bool
	addressSet
}

// addressSet is what a list or a SetPolicy holds.
type addressSet struct {
	few     []netip.Prefix
	many    prefixMap[struct{}] // in the place of few, where there are many
	sets    []*addressSet
	unknown string // why a value could not be read
}

// fewPrefixes are looked at one by one; more have an index.
const fewPrefixes = 8

func readAddresses(texts []string, sets map[string]*addressSet) addressList {
	l := addressList{any: len(texts) == 0}
	l.read(texts, sets)
	return l
}

func (s *addressSet) read(texts []string, sets map[string]*addressSet) {
	var ps []netip.Prefix
	for _, text := range texts {
		text = strings.TrimSpace(text)
		p, ok := readPlace(text)
		switch set := sets[strings.ToLower(text)]; {
		case ok:
			ps = append(ps, p)
		case set != nil:
			s.sets = append(s.sets, set)
		default:
			s.unknown = fmt.Sprintf("%q is neither an address nor the id of a set of the network", text)
		}
	}
	if len(ps) <= fewPrefixes {
		s.few = ps
		return
	}
	for _, p := range ps {
		s.many.add(p, struct{}{})
	}
}

// readSets reads the sets of a network, by id in small letters. They may name
// each other.
func readSets(docs []hns.SetPolicy) map[string]*addressSet {
	out := make(map[string]*addressSet, len(docs))
	for _, d := range docs {
		out[strings.ToLower(d.ID)] = &addressSet{}
	}
	for _, d := range docs {
		s := out[strings.ToLower(d.ID)]
		*s = addressSet{} // of two with one id the last counts
		s.read(d.Values, out)
	}
	return out
}

// setQuestion is whether a set holds an address.
type setQuestion struct {
	set  *addressSet
	addr netip.Addr
}

type setAnswer struct {
	in      bool
	unknown string
}

// among looks for an address in a list. Sets are asked once for each address of
// a trace, however many rules name them.
func (f *flight) among(l *addressList, a netip.Addr) (bool, string) {
	if l.any || f.holds(&l.addressSet, a) {
		return true, ""
	}
	unknown := l.unknown
	for _, s := range l.sets {
		q := setQuestion{s, a}
		answer, known := f.asked[q]
		if !known {
			answer = f.askSet(s, a)
			if f.asked == nil {
				f.asked = map[setQuestion]setAnswer{}
			}
			f.asked[q] = answer
		}
		if answer.in {
			return true, ""
		}
		if answer.unknown != "" {
			unknown = answer.unknown
		}
	}
	return false, unknown
}

// holds reports whether the set itself holds an address, without those that it
// names.
func (f *flight) holds(s *addressSet, a netip.Addr) bool {
	for _, p := range s.few {
		if p.Contains(a) {
			return true
		}
	}
	_, _, ok := s.many.find(a, &f.t.Looked)
	return ok
}

// askSet asks a set and those that it names, each once: they may hold each
// other.
func (f *flight) askSet(first *addressSet, a netip.Addr) setAnswer {
	var out setAnswer
	todo, seen := []*addressSet{first}, map[*addressSet]bool{first: true}
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		f.t.Looked++
		if f.holds(s, a) {
			return setAnswer{in: true}
		}
		if s.unknown != "" {
			out.unknown = s.unknown
		}
		for _, n := range s.sets {
			if !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	return out
}
