package flows

import (
	"fmt"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// Flow is one of the nine kinds of traffic that Kubernetes wants.
type Flow uint8

// The nine flows.
const (
	PodToPodIP Flow = iota + 1
	PodToPodName
	PodToServiceIP
	PodToServicePQDN
	PodToServiceFQDN
	PodToOutsideIP
	PodToOutsideName
	NodeToPod
	PodToNode
)

var flowNames = [...]string{
	PodToPodIP:       "pod to pod by IP",
	PodToPodName:     "pod to pod by name",
	PodToServiceIP:   "pod to service by IP",
	PodToServicePQDN: "pod to service by bare name",
	PodToServiceFQDN: "pod to service by full name",
	PodToOutsideIP:   "pod to outside by IP",
	PodToOutsideName: "pod to outside by name",
	NodeToPod:        "node to pod",
	PodToNode:        "pod to node",
}

// Flows returns the nine, in order.
func Flows() []Flow {
	return []Flow{PodToPodIP, PodToPodName, PodToServiceIP, PodToServicePQDN, PodToServiceFQDN, PodToOutsideIP, PodToOutsideName, NodeToPod, PodToNode}
}

// String returns the name of the flow, such as "pod to pod by IP".
func (f Flow) String() string {
	if int(f) < len(flowNames) && f > 0 {
		return flowNames[f]
	}
	return fmt.Sprintf("flow %d", uint8(f))
}

// Verdict says whether a flow works.
type Verdict string

// The verdicts.
const (
	Yes Verdict = "yes" // every case of it works
	No  Verdict = "no"  // one does not
	// Maybe: every case works if what could not be judged lets it.
	Maybe Verdict = "maybe"
	// NotApplicable: the world has nobody that the flow could go to or from.
	NotApplicable Verdict = "n/a"
)

// Case is one way of a flow.
type Case struct {
	// Name says between whom, such as "TCP, other Windows node".
	Name  string
	Trace *Trace
}

// Cell is what becomes of a flow in a mode.
type Cell struct {
	Flow    Flow
	Verdict Verdict
	// Certainty is that of the least sure case that counts: all of them for
	// yes, the one in Why for no. Zero if there is no case.
	Certainty Certainty
	Cases     []Case
}

// Why returns the first case that does not work, nil if there is none.
func (c Cell) Why() *Case {
	for i := range c.Cases {
		if !c.Cases[i].Trace.Works() {
			return &c.Cases[i]
		}
	}
	return nil
}

// String returns the verdict, with "?" behind one that is inferred.
func (c Cell) String() string { return string(c.Verdict) + c.Certainty.Mark() }

// Column is the nine flows of a mode.
type Column struct {
	Mode  modes.Mode
	Cells []Cell // in the order of [Flows]
}

// Cell returns the cell of a flow; the zero Cell if f is none of the nine.
func (c Column) Cell(f Flow) Cell {
	for _, cell := range c.Cells {
		if cell.Flow == f {
			return cell
		}
	}
	return Cell{}
}

// Table is the nine flows by mode.
type Table []Column

// Nine traces the nine flows for each mode that Windows pods of the world are
// on, in the order of [modes.All], between a few pods that stand for all: the
// first two on the first node, the first on another Windows node, and the first
// on a Linux node, in the order of their names; to the first service with one
// of its backends on each of these; TCP and UDP. A flow works if all its cases
// do. Tables of several worlds may be appended to one.
//
// A pod that reaches itself through a service is no case: trace it.
func (w *World) Nine() Table {
	var out Table
	for _, m := range modes.All() {
		if s, ok := w.sample(m); ok {
			out = append(out, s.column())
		}
	}
	return out
}

// sample is who stands for all.
type sample struct {
	w     *World
	mode  modes.Mode
	pod   owner // a Windows pod
	peers []peer
	web   *Service // that stands for all; nil: there is none
}

// peer is somebody whom the pod talks to.
type peer struct {
	owner
	name string // "same node", "other Windows node", "Linux node"
}

func (w *World) sample(m modes.Mode) (*sample, bool) {
	s := &sample{w: w, mode: m}
	var linux, other *peer
	var same *peer
	for _, n := range w.order {
		if n.linux != nil {
			if linux == nil && len(n.linux.Pods) > 0 {
				linux = &peer{owner{node: n, linux: &n.linux.Pods[0]}, "Linux node"}
			}
			continue
		}
		for _, e := range n.podsOf(m) {
			o := owner{node: n, ep: e}
			switch {
			case s.pod.ep == nil:
				s.pod = o
			case n == s.pod.node && same == nil:
				same = &peer{o, "same node"}
			case n != s.pod.node && other == nil:
				other = &peer{o, "other Windows node"}
			}
			if n == s.pod.node && same != nil || n != s.pod.node && other != nil {
				break
			}
		}
		if other != nil && linux != nil {
			break
		}
	}
	for _, p := range []*peer{same, other, linux} {
		if p != nil {
			s.peers = append(s.peers, *p)
		}
	}
	if s.pod.ep == nil {
		return nil, false
	}
	s.web = s.service()
	return s, true
}

// podsOf returns the node's pods on networks of a mode, by name.
func (n *node) podsOf(m modes.Mode) []*endpoint {
	var out []*endpoint
	for _, e := range n.endpoints {
		if !e.remote && !e.host && e.net != nil && e.net.mode == m && e.attached() {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *endpoint) int {
		switch {
		case a.pod < b.pod:
			return -1
		case a.pod > b.pod:
			return 1
		}
		return slices.Compare(a.doc.ID[:], b.doc.ID[:])
	})
	return out
}

func (s *sample) column() Column {
	c := Column{Mode: s.mode}
	for _, f := range Flows() {
		c.Cells = append(c.Cells, s.cell(f))
	}
	return c
}

func (s *sample) cell(f Flow) Cell {
	cell := Cell{Flow: f, Verdict: Yes, Cases: s.cases(f)}
	if len(cell.Cases) == 0 {
		cell.Verdict = NotApplicable
		return cell
	}
	for _, k := range cell.Cases {
		cell.Certainty = max(cell.Certainty, k.Trace.Certainty)
		if k.Trace.Outcome == Unjudged {
			cell.Verdict = Maybe
		}
	}
	if why := cell.Why(); why != nil {
		cell.Verdict, cell.Certainty = No, why.Trace.Certainty
	}
	return cell
}

// cases traces the cases of a flow, each by TCP and UDP.
func (s *sample) cases(f Flow) []Case {
	var out []Case
	for _, c := range s.packets(f) {
		for _, p := range []hns.Protocol{hns.TCP, hns.UDP} {
			q := c.packet
			q.Protocol = p
			if !c.service.serves(q) {
				continue
			}
			out = append(out, Case{fmt.Sprintf("%s, %s", p, c.name), s.w.Trace(q)})
		}
	}
	return out
}

type namedPacket struct {
	name    string
	packet  Packet
	service *Service // that it is for; nil: for none
}

func (s *sample) packets(f Flow) []namedPacket {
	from := s.w.placeOf(s.pod)
	switch f {
	case PodToPodIP:
		return s.toPods(from)
	case PodToPodName:
		return s.toNames(from)
	case PodToServiceIP, PodToServicePQDN, PodToServiceFQDN:
		return s.toService(from, f)
	case PodToOutsideIP, PodToOutsideName:
		return s.toOutside(from, f)
	case NodeToPod:
		return s.fromNodes()
	case PodToNode:
		var out []namedPacket
		for _, n := range s.nodes() {
			out = append(out, namedPacket{name: n.name, packet: Packet{From: from, To: Target{Place: Place{Node: n.node.spec.Name}}}})
		}
		return out
	}
	return nil
}

func (s *sample) toPods(from Place) []namedPacket {
	var out []namedPacket
	for _, p := range s.peers {
		out = append(out, namedPacket{name: p.name, packet: Packet{From: from, To: Target{Place: s.w.placeOf(p.owner)}}})
	}
	for _, p := range s.peers {
		if p.node != s.pod.node {
			out = append(out, namedPacket{name: "from " + p.name, packet: Packet{From: s.w.placeOf(p.owner), To: Target{Place: from}}})
		}
	}
	return out
}

// nodes are the pod's own, and those of its peers.
func (s *sample) nodes() []peer {
	out := []peer{{owner{node: s.pod.node}, "own node"}}
	for _, p := range s.peers {
		if p.node != s.pod.node {
			out = append(out, peer{owner{node: p.node}, p.name})
		}
	}
	return out
}

func (s *sample) fromNodes() []namedPacket {
	var out []namedPacket
	for _, n := range s.nodes() {
		out = append(out, namedPacket{name: n.name, packet: Packet{From: Place{Node: n.node.spec.Name}, To: Target{Place: s.w.placeOf(s.pod)}}})
	}
	return out
}
