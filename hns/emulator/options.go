package emulator

import (
	"cmp"
	"slices"
	"time"

	"github.com/hnskit/hnskit/hns"
)

// Options say which HNS is emulated. The zero value is Windows Server 2022 on
// a host with one adapter, with the defaults of each field.
//
// Most fields settle what is not known of the real service, or differs between
// its builds; BEHAVIOUR.md lists each with its source.
type Options struct {
	// Version is the HNS version, which decides what is supported; zero is
	// [WindowsServer2022].
	Version hns.Version
	// Adapters are those of the host before HNS makes any; nil is one,
	// "Ethernet" with 192.0.2.10/24.
	Adapters []Adapter
	// Seed, if not zero, makes ids and MAC pools the same in every run.
	Seed uint64

	// HostNamespace gives the host its default namespace (HostDefault,
	// compartment 1). Without it an unused HNS is empty.
	HostNamespace bool
	// NetworkNamesIgnoreCase makes names equal that differ in letter case: in
	// the check that network names are unique, and in filters by name.
	NetworkNamesIgnoreCase bool
	// AllowLowVNI takes overlay subnets without VSID or with one outside
	// 4096 to 16777214, which are else refused with LowVNICode (zero:
	// ERROR_INVALID_PARAMETER).
	AllowLowVNI bool
	LowVNICode  hns.Code
	// SingleNAT refuses a second NAT network with ERROR_INVALID_PARAMETER.
	SingleNAT bool
	// SharedAccessOff is a host whose service SharedAccess is off: it has no ICS
	// networks (HCN_E_ICS_DISABLED).
	SharedAccessOff bool
	// NoVFP is a Windows without the switch extension VFP: it has no L2Bridge,
	// L2Tunnel and Overlay networks (HCN_E_VFP_NOT_ALLOWED).
	NoVFP bool
	// SubnetsChange carries out the Subnet and IPSubnet requests that the schema
	// has for networks. By default they are refused
	// (HCN_E_REQUEST_UNSUPPORTED), as users of HNS report.
	SubnetsChange bool
	// AddressAfterReads is the number of times a network is read before its
	// management IP and provider address are there; 0 is at once, with the
	// create, and a negative number never.
	AddressAfterReads int
	// SubnetFullCode is the answer when no address or no MAC is left (zero:
	// HCN_E_SUBNET_NOT_FOUND).
	SubnetFullCode hns.Code
	// RemoteAddressMayShadow lets a local and a remote endpoint of a network
	// have the same address.
	RemoteAddressMayShadow bool
	// SeveralAddresses lets an endpoint have several addresses of one family. By
	// default they are refused (ERROR_INVALID_PARAMETER): no client asks for
	// them, and schema 1 has room for one.
	SeveralAddresses bool
	// ACLHostBits takes addresses with host bits in ACLs, such as 10.0.0.5/8,
	// which are else refused (HCN_E_INVALID_POLICY).
	ACLHostBits bool
	// UpdateReplacesAll makes Update replace all policies of the object, not
	// those of the types it names.
	UpdateReplacesAll bool
	// RefuseBadPrefix refuses a prefix in OutBoundNAT or SDNRoute that does
	// not parse. By default the endpoint is made, degraded, and can never be
	// attached.
	RefuseBadPrefix bool
	// NoEndpointSharing lets no second container have an endpoint
	// (HCN_E_ENDPOINT_SHARING_DISABLED).
	NoEndpointSharing bool
	// IgnoreNamespaceInCreate makes the create of an endpoint ignore its
	// HostComputeNamespace. By default the endpoint is attached to it.
	IgnoreNamespaceInCreate bool
	// HonourNamespaceID gives a namespace the compartment number it asks for,
	// if that is free, instead of the next one.
	HonourNamespaceID bool
	// Listeners are ports that programs of the host listen on, on all its
	// addresses. A port mapping to one fails with ERROR_SHARING_VIOLATION, a
	// load balancer on the node's own address with HCN_E_PORT_ALREADY_EXISTS.
	Listeners []Listener

	// ListenersCoverVIPs makes Listeners stand in the way of load balancers on
	// virtual IPs, too, as on HNS 9.
	ListenersCoverVIPs bool
	// BackendLimit is the highest number of backends of a load balancer, else
	// ERROR_INVALID_PARAMETER; 0 is 64 on HNS 9 without DSR and no limit
	// otherwise, a negative number is none.
	BackendLimit int
	// PortBlocks is the highest number of load balancers of the host, each of
	// which takes a block of its dynamic ports, else
	// HCN_E_PORT_ALREADY_EXISTS; 0 is 256 before HNS 9.3 and no limit since, a
	// negative number is none.
	PortBlocks int
	// BackendNeedsPort refuses a load balancer on a network other than Overlay
	// over a local endpoint that is not attached (HCN_E_PORT_NOT_FOUND).
	BackendNeedsPort bool
	// RefuseBackendDelete keeps an endpoint that a load balancer or an SDN
	// route names from being deleted (HCN_E_ENTITY_HAS_REFERENCES). By default
	// the endpoint goes, and its id stays in the load balancer.
	RefuseBackendDelete bool
	// KeepOrphans leaves the load balancers and SDN routes of a network behind
	// when it is deleted. By default they go along.
	KeepOrphans bool
	// IgnoreLoadBalancerModify makes HNS 15.4 accept changes of load balancers
	// and carry none out.
	IgnoreLoadBalancerModify bool
	// LeaveHalfLoadBalancers leaves a load balancer without port mappings
	// behind when one cannot be made because its port is taken.
	LeaveHalfLoadBalancers bool
	// RoutesCode, if not zero, is the answer to every call about SDN routes:
	// ERROR_PROC_NOT_FOUND of a DLL that lacks them, E_NOTIMPL of an HNS that
	// does. A route in a policy list is then HCN_E_INVALID_POLICY_TYPE.
	RoutesCode hns.Code

	// V1TextErrors gives failures of v1 calls without a code, as older builds
	// do.
	V1TextErrors bool
	// V1LowerCaseIDs writes ids in small letters in schema 1, as HNS did
	// before version 9.
	V1LowerCaseIDs bool
	// Serial makes HNS work on one call at a time, so that a slow or hanging
	// one holds up all others of this HNS. By default calls run side by side,
	// and only what they do to the state is done one after the other.
	Serial bool
	// RestartDetaches makes a restart of the service forget which endpoints
	// were attached.
	RestartDetaches bool
	// StoppedCode is the answer of the stopped service (zero:
	// RPC_S_SERVER_UNAVAILABLE).
	StoppedCode hns.Code
	// Text gives the message of a code in the language of the system; nil is
	// English, with the blank that HNS puts behind it.
	Text func(hns.Code) string `json:"-"`
	// LockTimeout is how long [Open] and each operation on a state file wait
	// for a process that holds the file's lock, before they fail with
	// [ErrLocked]. Zero is a minute, a negative time for ever. It counts for
	// this HNS and is not kept in the file.
	LockTimeout time.Duration `json:"-"`
}

// Listener is a port that a program of the host listens on.
type Listener struct {
	Protocol uint32 // IANA number: 6 TCP, 17 UDP
	Port     uint16
}

func (o Options) withDefaults() Options {
	o.Version = cmp.Or(o.Version, WindowsServer2022)
	if o.Adapters == nil {
		o.Adapters = defaultAdapters()
	}
	adapters := make([]Adapter, len(o.Adapters))
	for i, a := range o.Adapters {
		a.Index = cmp.Or(a.Index, uint32(i+1))
		a.Addresses = slices.Clone(a.Addresses)
		adapters[i] = a
	}
	o.Adapters = adapters
	return o
}

func (o *Options) text(c hns.Code) string {
	if o.Text != nil {
		return o.Text(c)
	}
	return messages[c]
}

func (o *Options) lowVNICode() hns.Code { return cmp.Or(o.LowVNICode, hns.CodeInvalidParameter) }

func (o *Options) subnetFullCode() hns.Code { return cmp.Or(o.SubnetFullCode, hns.CodeSubnetNotFound) }

func (o *Options) stoppedCode() hns.Code { return cmp.Or(o.StoppedCode, hns.CodeRPCUnavailable) }
