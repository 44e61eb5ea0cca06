package flows

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// Trace is the way of a packet and of its answer.
type Trace struct {
	Packet Packet
	// Destination is the address that the packet was sent to, resolved if the
	// target was a name; none if it could not be.
	Destination netip.Addr
	// Steps in order; those of the answer have Reply set.
	Steps   []Step
	Outcome Outcome
	// Diagnosis says why it does not work, nil if it does. A packet that
	// arrives has one too if it arrives in a way that breaks something, such as
	// with its source translated between two pods.
	Diagnosis *Diagnosis `json:",omitempty"`
	// Certainty of the outcome: that of the least sure step, or of the
	// diagnosis.
	Certainty Certainty
	// Looked is how many objects were looked at.
	Looked int
}

// Works reports whether packet and answer arrive, as far as could be judged. It
// is about the backend that was chosen: [Packet.Backend], or what a hash takes
// where that is zero. That one backend works says nothing of another, and the one
// that a hash takes may be the pod that asks ([NoLoopback]).
func (t *Trace) Works() bool { return t.Outcome != Dropped && t.Diagnosis == nil }

// Needs returns the objects without which the packet or its answer would not
// arrive, each once, in the order of the steps; those of DNS queries are among
// them.
func (t *Trace) Needs() []Ref {
	var out []Ref
	seen := map[Ref]bool{}
	var walk func(*Trace)
	add := func(r Ref) {
		if !seen[r] {
			seen[r] = true
			out = append(out, r)
		}
	}
	walk = func(t *Trace) {
		for _, s := range t.Steps {
			if s.Query != nil {
				walk(s.Query)
			}
			if s.Needed {
				add(s.Object)
			}
			for _, r := range s.Needs {
				add(r)
			}
		}
	}
	walk(t)
	return out
}

// Outcome is what became of a packet and its answer.
type Outcome string

// The outcomes.
const (
	// Arrived: the packet arrived, and so did the answer.
	Arrived Outcome = "arrived"
	// Dropped: one of them did not; the diagnosis says why.
	Dropped Outcome = "dropped"
	// Unjudged: both arrive if what could not be judged lets them. Where the
	// rest of the way is not known at all the steps end there.
	Unjudged Outcome = "not judged"
)

// Certainty is how sure it is that Windows does what a step says.
type Certainty uint8

// The certainties, from the surest.
const (
	// Tested: a test written to run on a real HNS has it.
	Tested Certainty = iota + 1
	// Documented by Microsoft or by Kubernetes.
	Documented
	// Practice: what clients in use set up for it to work, or what users
	// reported.
	Practice
	// Inferred from the rest; no source says so.
	Inferred
)

// String returns the word for the certainty.
func (c Certainty) String() string {
	switch c {
	case Tested:
		return "tested"
	case Documented:
		return "documented"
	case Practice:
		return "practice"
	case Inferred:
		return "inferred"
	}
	return "unknown"
}

// MarshalText returns the word.
func (c Certainty) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the word.
func (c *Certainty) UnmarshalText(b []byte) error {
	for _, k := range []Certainty{Tested, Documented, Practice, Inferred} {
		if k.String() == string(b) {
			*c = k
			return nil
		}
	}
	return fmt.Errorf("flows: %q is no certainty", b)
}

// Mark returns "?" for what is inferred, and nothing otherwise.
func (c Certainty) Mark() string {
	if c == Inferred {
		return "?"
	}
	return ""
}

// Effect is what a step did with the packet.
type Effect string

// The effects.
const (
	Sent      Effect = "sent"      // by who starts the conversation, or answers
	Passed    Effect = "passed"    // as it was
	Rewritten Effect = "rewritten" // the header differs
	Delivered Effect = "delivered" // to who it is for
	Resolved  Effect = "resolved"  // a name, to an address
	Lost      Effect = "dropped"
	Unknown   Effect = "not judged" // and taken to pass
)

// Step is one thing that happened to a packet.
type Step struct {
	// Object is what acted, with its policy.
	Object Ref
	Effect Effect
	// Text says it in words.
	Text string
	// Before and After are the header; the same if nothing was rewritten.
	Before, After Header
	Certainty     Certainty
	// Needed is whether the packet would not arrive without the object.
	Needed bool
	// Needs are further objects that it would not arrive without: what the
	// object takes to act, such as the namespace and the network of an endpoint.
	Needs []Ref `json:",omitempty"`
	// Reply is whether this is the answer's way.
	Reply bool
	// Query is the trace of the DNS query, for a name.
	Query *Trace `json:",omitempty"`
}

// Kind is a kind of object.
type Kind string

// The kinds of objects.
const (
	KindPod          Kind = "pod"      // a Linux pod, or one that is meant and not there
	KindEndpoint     Kind = "endpoint" // of HNS
	KindNetwork      Kind = "network"  // of HNS
	KindNamespace    Kind = "namespace"
	KindLoadBalancer Kind = "load balancer"
	KindSDNRoute     Kind = "SDN route"
	KindNode         Kind = "node" // its IP stack
	KindAdapter      Kind = "adapter"
	KindRoute        Kind = "route"
	KindVXLAN        Kind = "VXLAN interface" // of a Linux node
	KindService      Kind = "service"
	KindResolver     Kind = "resolver"
	KindPhysical     Kind = "physical network"
	KindOutside      Kind = "outside host"
	KindPacket       Kind = "packet" // what was asked for
)

// Ref names an object, or a part of one.
type Ref struct {
	// Node it is on; empty for what is on none.
	Node string `json:",omitempty"`
	Kind Kind
	// ID is HNS's, zero for what HNS does not hold.
	ID   hns.ID `json:",omitzero"`
	Name string `json:",omitempty"`
	// Policy is the type of the policy of the object that is meant.
	Policy string `json:",omitempty"`
	// Detail is which of several: a prefix, a record, a setting.
	Detail string `json:",omitempty"`
}

// String returns such as `RemoteSubnetRoute 10.244.2.0/24 of network "vx" on win-1`.
func (r Ref) String() string {
	var b strings.Builder
	if r.Policy != "" {
		b.WriteString(r.Policy)
		if r.Detail != "" {
			b.WriteString(" " + r.Detail)
		}
		b.WriteString(" of ")
	}
	b.WriteString(string(r.Kind))
	if r.Name != "" {
		fmt.Fprintf(&b, " %q", r.Name)
	} else if !r.ID.IsZero() {
		b.WriteString(" " + r.ID.String())
	}
	if r.Policy == "" && r.Detail != "" {
		b.WriteString(" " + r.Detail)
	}
	if r.Node != "" && (r.Kind != KindNode || r.Node != r.Name) {
		b.WriteString(" on " + r.Node)
	}
	return b.String()
}

// Diagnosis is why a packet or its answer does not arrive as it should.
type Diagnosis struct {
	Reason Reason
	// Object is what is missing or wrong.
	Object Ref
	// Missing is whether the object is not there; else it is, and wrong.
	Missing bool
	// Text says what is the matter, Fix what to do about it.
	Text, Fix string
	Certainty Certainty
	// Reply is whether it was the answer that got lost.
	Reply bool
}

// String returns the reason, the text and the fix.
func (d *Diagnosis) String() string {
	way := ""
	if d.Reply {
		way = "the answer is lost: "
	}
	return fmt.Sprintf("%s: %s%s; fix: %s", d.Reason, way, d.Text, d.Fix)
}

// Reason is a kind of fault, for programs.
type Reason string

// The reasons.
const (
	BadPacket           Reason = "bad-packet"             // what was asked for makes no sense in this world
	NotAttached         Reason = "not-attached"           // the endpoint is in no namespace
	Degraded            Reason = "degraded"               // the endpoint is broken
	NobodyHasAddress    Reason = "nobody-has-address"     // no endpoint, node or host has it
	WrongReceiver       Reason = "wrong-receiver"         // another has the address as well
	StaleRemote         Reason = "stale-remote-endpoint"  // a remote endpoint hides who has the address
	NoGateway           Reason = "no-gateway"             // the endpoint has no route
	DeadGateway         Reason = "dead-gateway"           // nobody forwards at the gateway's address
	HostEndpointMissing Reason = "host-endpoint-missing"  // not there, or not attached to the node
	NotForwarding       Reason = "not-forwarding"         // IP forwarding is off
	NoRoute             Reason = "no-route"               // of the node, or of the physical network
	WrongRoute          Reason = "wrong-route"            // leads where the address is not
	NoRemoteSubnetRoute Reason = "no-remote-subnet-route" // nor a remote endpoint
	NoHostRoute         Reason = "no-host-route"          // the policy HostRoute
	NoProviderAddress   Reason = "no-provider-address"    // of a remote endpoint, or of a network
	WrongProvider       Reason = "wrong-provider-address" // no node has it, or the wrong one
	WrongVNI            Reason = "wrong-vni"
	WrongVXLANPort      Reason = "wrong-vxlan-port"
	WrongMAC            Reason = "wrong-mac" // of a distributed router or VXLAN interface
	NoVXLAN             Reason = "no-vxlan"  // the node has no VXLAN of that kind
	Blocked             Reason = "blocked"   // by an ACL
	NoLoadBalancer      Reason = "no-load-balancer"
	NoServicePort       Reason = "no-service-port"
	NoSDNRoute          Reason = "no-sdn-route"
	NoBackend           Reason = "no-backend"        // the backend is gone
	NoSourceVIP         Reason = "no-source-vip"     // and no DSR
	NoLoopback          Reason = "no-loopback"       // a pod to itself through a service
	NoNAT               Reason = "no-nat"            // the source stays one that nobody can answer
	ExceptionTooWide    Reason = "exception-covers"  // the destination is excepted from NAT, and must not be
	NoException         Reason = "no-exception"      // the destination is not excepted, and must be
	ICMPNotTranslated   Reason = "icmp-not-nat"      // HNS translates TCP and UDP only
	SourceTranslated    Reason = "source-translated" // between pods
	ReplyNotTranslated  Reason = "reply-not-translated"
	NoDNSServer         Reason = "no-dns-server"
	NoDNSSuffix         Reason = "no-dns-suffix"
	DottedName          Reason = "dotted-name" // Windows adds no suffix to a name with a dot
	NoSuchName          Reason = "no-such-name"
	ForeignSource       Reason = "foreign-source" // the cloud drops what is not the node's own
	UDPBlocked          Reason = "udp-blocked"    // between nodes
	NotInVNet           Reason = "not-in-vnet"
	NotInFabric         Reason = "not-in-fabric"
	NotInMode           Reason = "not-in-mode"    // the mode cannot do it
	Isolated            Reason = "isolated"       // by its VNI
	NotPublished        Reason = "not-published"  // no port mapping leads there
	NoSuchFamily        Reason = "no-such-family" // an address of that family is missing, or not carried
	Loop                Reason = "loop"
)
