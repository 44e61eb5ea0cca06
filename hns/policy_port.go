package hns

import "net/netip"

var (
	_ EndpointPolicy = PortMapping{}
	_ EndpointPolicy = QOS{}
	_ EndpointPolicy = L2Driver{}
	_ EndpointPolicy = PortName{}
	_ EndpointPolicy = EncapOverhead{}
	_ EndpointPolicy = InterfaceParameters{}
	_ EndpointPolicy = IOV{}
)

// PortMapping makes a port of the node lead to one of the endpoint (schema
// PortMapping). Protocol, external port and VIP together are the key, on the
// whole node: a second mapping of them is refused with CodePortExists. NAT and
// L2Bridge networks take it; on L2Bridge the node itself reaches the port only
// with [NATLocalRoutedVIP].
type PortMapping struct {
	// Protocol is needed.
	Protocol Protocol
	// InternalPort is the endpoint's port; zero is refused.
	InternalPort uint16
	// ExternalPort is the node's port; zero leaves the choice to HNS.
	ExternalPort uint16
	// VIP is the node's address to listen on; none, or the unspecified
	// address, is every address.
	VIP netip.Addr
	// Flags of the mapping; zero is none. A mapping for IPv6 has [NATIPv6].
	Flags NATFlags
}

// PolicyType returns "PortMapping".
func (PortMapping) PolicyType() string { return "PortMapping" }
func (PortMapping) endpointPolicy()    {}
func (p PortMapping) settings() any {
	return struct {
		Protocol     Protocol `json:",omitempty"`
		InternalPort uint16   `json:",omitempty"`
		ExternalPort uint16   `json:",omitempty"`
		VIP          string   `json:",omitempty"`
		Flags        NATFlags `json:",omitempty"`
	}{p.Protocol, p.InternalPort, p.ExternalPort, addrText(p.VIP), p.Flags}
}

func (p PortMapping) check() []*FieldError {
	var bad []*FieldError
	if p.Protocol == ProtocolAny {
		bad = append(bad, &FieldError{Path: "Protocol", Reason: "missing", Rule: "protocol"})
	}
	bad = append(bad, p.Protocol.check()...)
	if p.InternalPort == 0 {
		bad = append(bad, &FieldError{Path: "InternalPort", Value: "0", Reason: "HNS takes no internal port 0", Rule: "port-zero"})
	}
	if p.VIP.IsValid() && !isPlain(p.VIP) {
		bad = append(bad, &FieldError{Path: "VIP", Value: p.VIP.String(), Reason: "not a plain unicast address"})
	}
	return bad
}

func readPortMapping(r reader) PortMapping {
	return PortMapping{
		Protocol:     readProtocol(r),
		InternalPort: uint16(r.uint("InternalPort", 16)),
		ExternalPort: uint16(r.uint("ExternalPort", 16)),
		VIP:          r.addr("VIP"),
		Flags:        NATFlags(r.uint("Flags", 32)),
	}
}

// QOS limits what leaves the endpoint (schema QOS). What comes in is not
// limited.
type QOS struct {
	// MaximumOutgoingBandwidthInBytes is the limit in bytes a second. What HNS
	// makes of zero is not documented; leave the policy out for no limit.
	MaximumOutgoingBandwidthInBytes uint64
}

// PolicyType returns "QOS".
func (QOS) PolicyType() string     { return "QOS" }
func (QOS) endpointPolicy()        {}
func (p QOS) settings() any        { return p }
func (p QOS) check() []*FieldError { return nil }

func readQOS(r reader) QOS { return QOS{r.uint("MaximumOutgoingBandwidthInBytes", 64)} }

// L2Driver marks an endpoint whose MAC address HNS rewrites to that of the
// network's adapter (schema L2Driver). HNS adds it on L2Bridge networks itself.
// It has no settings.
type L2Driver struct{}

// PolicyType returns "L2Driver".
func (L2Driver) PolicyType() string   { return "L2Driver" }
func (L2Driver) endpointPolicy()      {}
func (L2Driver) settings() any        { return struct{}{} }
func (L2Driver) check() []*FieldError { return nil }

// PortName names the endpoint's port on the switch (schema PortName).
type PortName struct {
	// Name is any text; the empty one leaves the choice to HNS.
	Name string
}

// PolicyType returns "PortName".
func (PortName) PolicyType() string { return "PortName" }
func (PortName) endpointPolicy()    {}
func (p PortName) settings() any {
	return struct {
		Name string `json:",omitempty"`
	}{p.Name}
}
func (PortName) check() []*FieldError { return nil }

// EncapOverhead makes room for an outer header: HNS takes so many bytes off the
// endpoint's MTU (schema EncapOverhead).
type EncapOverhead struct {
	// Overhead in bytes: 50 for VXLAN over IPv4. Zero takes nothing off.
	Overhead uint16
}

// PolicyType returns "EncapOverhead".
func (EncapOverhead) PolicyType() string { return "EncapOverhead" }
func (EncapOverhead) endpointPolicy()    {}
func (p EncapOverhead) settings() any {
	return struct {
		Overhead uint16 `json:",omitempty"`
	}{p.Overhead}
}
func (EncapOverhead) check() []*FieldError { return nil }

func readEncapOverhead(r reader) EncapOverhead {
	return EncapOverhead{uint16(r.uint("Overhead", 16))}
}

// InterfaceParameters sets what the endpoint's adapter in the pod is like
// (schema InterfaceParameters, 2.4). An endpoint has at most one.
type InterfaceParameters struct {
	// MTU of the adapter, in bytes; needed.
	MTU uint16
}

// PolicyType returns "InterfaceParameters".
func (InterfaceParameters) PolicyType() string { return "InterfaceParameters" }
func (InterfaceParameters) endpointPolicy()    {}
func (p InterfaceParameters) settings() any {
	return struct {
		Mtu uint16 `json:",omitempty"`
	}{p.MTU}
}

func (p InterfaceParameters) check() []*FieldError {
	if p.MTU == 0 {
		return []*FieldError{{Path: "Mtu", Reason: "missing"}}
	}
	return nil
}

func readInterfaceParameters(r reader) InterfaceParameters {
	return InterfaceParameters{uint16(r.uint("Mtu", 16))}
}

// IOV gives the endpoint a share of the adapter's hardware by SR-IOV (schema
// Iov, 2.9). Zero members are HNS's defaults.
type IOV struct {
	// OffloadWeight is from 1, the least, to 100; 0 is no offload (the numbers
	// are those of virtual machines).
	OffloadWeight uint32
	// QueuePairsRequested is how many pairs of hardware queues are wanted.
	QueuePairsRequested uint32
	// InterruptModeration is the number of a mode. The schema has names for
	// them (default, adaptive, off, low, medium, high); their numbers are
	// documented for virtual machines alone, where those are 0, 1, 2, 100, 200
	// and 300. A policy read with a name is a [RawPolicy].
	InterruptModeration uint32
}

// PolicyType returns "Iov".
func (IOV) PolicyType() string { return "Iov" }
func (IOV) endpointPolicy()    {}
func (p IOV) settings() any {
	return struct {
		IovOffloadWeight    uint32 `json:",omitempty"`
		QueuePairsRequested uint32 `json:",omitempty"`
		InterruptModeration uint32 `json:",omitempty"`
	}{p.OffloadWeight, p.QueuePairsRequested, p.InterruptModeration}
}

func (IOV) check() []*FieldError { return nil }

func readIOV(r reader) IOV {
	return IOV{uint32(r.uint("IovOffloadWeight", 32)), uint32(r.uint("QueuePairsRequested", 32)), uint32(r.number("InterruptModeration", 32, moderationNames))}
}

// moderationNames are the schema's names, with the numbers that virtual
// machines have for them.
var moderationNames = map[uint64]string{
	0: "IovInterruptModerationDefault", 1: "IovInterruptModerationAdaptive", 2: "IovInterruptModerationOff",
	100: "IovInterruptModerationLow", 200: "IovInterruptModerationMedium", 300: "IovInterruptModerationHigh",
}
