package flows

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/hnskit/hnskit/hns"
)

// Packet is the first packet of a conversation.
type Packet struct {
	// From is who sends it.
	From Place
	// To is who shall get it.
	To Target
	// Protocol is [hns.TCP], [hns.UDP] or ICMP ([hns.ICMPv4], [hns.ICMPv6]);
	// zero is TCP.
	Protocol hns.Protocol
	// SrcPort of the sender; zero is 50000. DstPort; zero is 80. ICMP has
	// neither.
	SrcPort, DstPort uint16
	// Backend, if valid, is the backend that a load balancer shall choose; one
	// that it does not have is a drop. None leaves the choice to a hash, which
	// is not the one of Windows.
	Backend netip.Addr
}

// Place is a pod, a node, or a host outside. Exactly one is set, except that
// Node may stand beside Pod.
type Place struct {
	// Pod is the name of a Linux pod or of an HNS endpoint, whole or without
	// "_" and the name of its network. If no pod has it for a name, it may be an
	// address of the pod or the ID of the endpoint.
	Pod string
	// Node is a node; with Pod it is that of the pod, for several nodes may
	// have pods of one name.
	Node string
	// Outside is a host of [Cluster.Outside].
	Outside string
}

// Target is where a packet shall go: a place, an address, or a name that is
// resolved first. Exactly one is set.
type Target struct {
	Place
	Address netip.Addr
	Name    string
}

func (p Place) isZero() bool { return p == Place{} }

func (p Place) count() int {
	n := 0
	if p.Pod != "" || p.Node != "" {
		n++
	}
	if p.Outside != "" {
		n++
	}
	return n
}

// String returns "pod web-1", "pod web-1 on win-1", "node win-1" or "outside
// host www".
func (p Place) String() string {
	switch {
	case p.Pod != "" && p.Node != "":
		return "pod " + p.Pod + " on " + p.Node
	case p.Pod != "":
		return "pod " + p.Pod
	case p.Node != "":
		return "node " + p.Node
	case p.Outside != "":
		return "outside host " + p.Outside
	}
	return "nowhere"
}

// String returns the place, the address, or the name in quotes.
func (t Target) String() string {
	switch {
	case !t.isZero():
		return t.Place.String()
	case t.Name != "":
		return strconv.Quote(t.Name)
	}
	return t.Address.String()
}

// String returns "TCP from pod a to 10.0.0.1, port 80".
func (p Packet) String() string {
	p = p.withDefaults()
	s := fmt.Sprintf("%s from %s to %s", p.Protocol, p.From, p.To)
	if p.DstPort != 0 {
		s += fmt.Sprintf(", port %d", p.DstPort)
	}
	return s
}

func isICMP(p hns.Protocol) bool { return p == hns.ICMPv4 || p == hns.ICMPv6 }

const (
	defaultSrcPort = 50000
	defaultDstPort = 80
	dnsPort        = 53
)

func (p Packet) withDefaults() Packet {
	if p.Protocol == hns.ProtocolAny {
		p.Protocol = hns.TCP
	}
	if isICMP(p.Protocol) {
		p.SrcPort, p.DstPort = 0, 0
		return p
	}
	if p.SrcPort == 0 {
		p.SrcPort = defaultSrcPort
	}
	if p.DstPort == 0 {
		p.DstPort = defaultDstPort
	}
	return p
}

// Header is what of a packet decides about its way. Of IP and UDP checksums,
// sizes, fragments and the like nothing is modelled.
type Header struct {
	SrcMAC, DstMAC   hns.MAC `json:",omitzero"`
	Src, Dst         netip.Addr
	Protocol         hns.Protocol
	SrcPort, DstPort uint16 `json:",omitempty"`
	// Outer is the VXLAN header round it; zero for none.
	Outer Outer `json:",omitzero"`
}

// Outer is the outer header of a packet in VXLAN.
type Outer struct {
	Src, Dst netip.Addr
	// Port is the UDP port that it is sent to.
	Port uint16
	VNI  uint32
}

// String returns "10.0.0.1:50000 > 10.0.0.2:80", with the outer header in
// brackets behind.
func (h Header) String() string {
	s := socket(h.Src, h.SrcPort) + " > " + socket(h.Dst, h.DstPort)
	if h.Outer != (Outer{}) {
		s += fmt.Sprintf(" in VXLAN [%s > %s port %d VNI %d]", h.Outer.Src, h.Outer.Dst, h.Outer.Port, h.Outer.VNI)
	}
	return s
}

func socket(a netip.Addr, port uint16) string {
	if port == 0 {
		return a.String()
	}
	return netip.AddrPortFrom(a, port).String()
}

// MACs returns "src > dst", with "-" for one that is not known.
func (h Header) MACs() string { return macText(h.SrcMAC) + " > " + macText(h.DstMAC) }

func macText(m hns.MAC) string {
	if m.IsZero() {
		return "-"
	}
	return m.String()
}

// flow is the part of a header that answers turn round.
type flow struct {
	src, dst         netip.Addr
	srcPort, dstPort uint16
}

func (h Header) flow() flow { return flow{h.Src, h.Dst, h.SrcPort, h.DstPort} }

func (f flow) reversed() flow { return flow{f.dst, f.src, f.dstPort, f.srcPort} }

func (h *Header) set(f flow) { h.Src, h.Dst, h.SrcPort, h.DstPort = f.src, f.dst, f.srcPort, f.dstPort }
