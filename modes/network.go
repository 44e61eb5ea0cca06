package modes

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// DefaultVNI is the VNI of an Overlay network unless another is asked for:
// what flannel on Windows takes. Linux takes 1 by default, which HNS refuses,
// so the Linux side of a cluster must be told.
const DefaultVNI = hns.MinVNI

// DefaultVXLANPort is the UDP port of VXLAN on Windows.
const DefaultVXLANPort = 4789

// NetworkIntent is what a network shall be.
type NetworkIntent struct {
	Mode Mode
	// Name of the network. It is unique on the node, and CNI configurations
	// name the network by it.
	Name string
	// Subnets are the node's pod subnets, without host bits, at most one of
	// each family and always an IPv4 one; on Overlay and NAT, IPv4 alone. On
	// L2Tunnel they are subnets of the Azure virtual network.
	//
	// Empty is for two modes. On NAT HNS then chooses a private prefix that is
	// free. On Transparent the pods' addresses come from DHCP of the physical
	// network.
	Subnets []netip.Prefix
	// Gateways are the gateways of the HNS subnets, at most one for each
	// subnet. A subnet without one has the first address after the network's.
	// On L2Bridge this is not the pods' gateway (see [GatewayHostEndpoint]).
	Gateways []netip.Addr
	// VNI of an Overlay network; zero is [DefaultVNI].
	VNI uint32
	// VXLANPort is the UDP port of an Overlay network; zero is
	// [DefaultVXLANPort]. Another needs HNS 10.3.
	VXLANPort uint16
	// VLAN tags what the subnets send on the physical network (policy VLAN of
	// each subnet), 1 to 4094; zero is untagged. L2Bridge, L2Tunnel and, with
	// Subnets, Transparent.
	VLAN uint16
	// Adapter is the name of the node's adapter that the network is put on,
	// such as "Ethernet". ProviderAddress chooses it by an address that it has
	// instead. With neither HNS takes any adapter that is connected, not always
	// the same: leave both out only on nodes with one adapter. A NAT network is
	// on none.
	Adapter         string
	ProviderAddress netip.Addr
	// SourceMAC is the MAC address that the node has on the network (policy
	// SourceMacAddress), on L2Bridge and L2Tunnel that of the pods' packets
	// too; zero leaves it to HNS. L2Bridge, L2Tunnel and Transparent.
	SourceMAC hns.MAC
	// MACPool is where HNS takes the MAC addresses of endpoints from that ask
	// for none; empty is a block of 4096 that HNS chooses.
	MACPool []hns.MACRange
	// AutomaticDNS gives the network the name servers of its adapter (policy
	// AutomaticDNS), as OVN-Kubernetes and Docker ask for on Overlay. Not on
	// NAT, which has no adapter.
	AutomaticDNS bool
	// Persistent keeps the network over a reboot. Without it the network is
	// gone then, and nothing stale is left if the node has got another pod
	// subnet meanwhile. A NAT network cannot be kept (Windows Server 2019 and
	// later).
	Persistent bool
	// Flags are further flags of the document, such as
	// [hns.NetworkEnableDNSProxy] on NAT or, for an accelerated adapter on
	// Transparent, [hns.NetworkDisableHostPort]; zero is none.
	// [hns.NetworkNonPersistent] is not for here but for Persistent.
	Flags hns.NetworkFlags
	// DNS is the default of endpoints; the zero DNS leaves it to HNS.
	DNS hns.DNS
}

// NetworkPlan is how to make a network.
type NetworkPlan struct {
	// Network is the document to create.
	Network *hns.Network
	// AddPolicies are to be added when the network is there.
	AddPolicies []hns.NetworkPolicy
}

// PlanNetwork returns how to make the network of an intent, in any of the five
// modes. Everything wrong with the intent is reported at once; what the mode
// cannot do matches [hns.ErrUnsupported]. [NetworkPlan.Requirements] says which
// HNS can make it.
func PlanNetwork(in NetworkIntent) (*NetworkPlan, error) {
	var bad problems
	if !in.Mode.known() {
		_, err := ParseMode(string(in.Mode))
		bad.at("Mode", err)
		return nil, bad.as("plan network", in.Name)
	}
	in.Mode, _ = ParseMode(string(in.Mode)) // in HNS's spelling
	if in.Name == "" {
		bad.field("Name", "", "missing")
	}
	plan := &NetworkPlan{Network: &hns.Network{
		Name: in.Name, Type: in.Mode.NetworkType(), Flags: in.flags(&bad), DNS: cloneDNS(in.DNS),
		Policies: in.adapterPolicies(&bad), IPAMs: in.ipams(&bad), MACPool: in.macPool(&bad),
	}}
	in.vxlan(plan, &bad)
	in.hostPolicies(plan, &bad)
	if err := bad.as("plan network", in.Name); err != nil {
		return nil, err
	}
	return plan, nil
}

// flags returns the flags of the document. A NAT network is never kept, so
// nothing is said of it there, as nobody does.
func (in *NetworkIntent) flags(bad *problems) hns.NetworkFlags {
	if in.Flags&hns.NetworkNonPersistent != 0 {
		bad.field("Flags", fmt.Sprint(uint32(in.Flags)), "the flag NonPersistent is set by Persistent alone")
	}
	switch {
	case in.Mode.traits().forgotten:
		if in.Persistent {
			bad.add(&UnsupportedError{Path: "Persistent", Value: "true", Mode: in.Mode, Reason: "Windows does not keep such a network over a reboot"})
		}
		return in.Flags
	case in.Persistent:
		return in.Flags
	}
	return in.Flags | hns.NetworkNonPersistent
}

func (in *NetworkIntent) adapterPolicies(bad *problems) []hns.NetworkPolicy {
	if why := in.Mode.traits().noAdapter; why != "" {
		if in.Adapter != "" {
			bad.add(&UnsupportedError{Path: "Adapter", Value: in.Adapter, Mode: in.Mode, Reason: why})
		}
		if in.ProviderAddress.IsValid() {
			bad.add(&UnsupportedError{Path: "ProviderAddress", Value: in.ProviderAddress.String(), Mode: in.Mode, Reason: why})
		}
		return nil
	}
	switch {
	case in.Adapter != "" && in.ProviderAddress.IsValid():
		bad.field("ProviderAddress", in.ProviderAddress.String(),
			"the adapter is chosen by its name %q already; which of the two HNS prefers is not documented", in.Adapter)
	case in.Adapter != "":
		return []hns.NetworkPolicy{hns.NetAdapterName{Name: in.Adapter}}
	case in.ProviderAddress.IsValid():
		if why := notNodeAddr(in.ProviderAddress); why != "" {
			bad.field("ProviderAddress", in.ProviderAddress.String(), "%s", why)
		}
		return []hns.NetworkPolicy{hns.ProviderAddress{Address: in.ProviderAddress}}
	}
	return nil
}

// hostPolicies plans what the network takes over from the node.
func (in *NetworkIntent) hostPolicies(plan *NetworkPlan, bad *problems) {
	t := in.Mode.traits()
	if !in.SourceMAC.IsZero() {
		switch {
		case t.noSourceMAC != "":
			bad.add(&UnsupportedError{Path: "SourceMAC", Value: in.SourceMAC.String(), Mode: in.Mode, Reason: t.noSourceMAC})
		case isMulticast(in.SourceMAC):
			bad.field("SourceMAC", in.SourceMAC.String(), "%s", multicastMAC)
		}
		plan.Network.Policies = append(plan.Network.Policies, hns.SourceMACAddress{Address: in.SourceMAC})
	}
	if in.AutomaticDNS {
		if t.noAdapter != "" {
			bad.add(&UnsupportedError{Path: "AutomaticDNS", Value: "true", Mode: in.Mode, Reason: t.noAdapter})
		}
		plan.Network.Policies = append(plan.Network.Policies, hns.AutomaticDNS{Enable: true})
	}
}

func (in *NetworkIntent) macPool(bad *problems) []hns.MACRange {
	for i, r := range in.MACPool {
		path, text := fmt.Sprintf("MACPool[%d]", i), r.Start.String()+".."+r.End.String()
		switch {
		case r.Start.IsZero() || slices.Compare(r.Start[:], r.End[:]) > 0:
			bad.field(path, text, "not a range")
		case isMulticast(r.Start) || isMulticast(r.End):
			bad.field(path, text, "%s", multicastMAC)
		}
	}
	return slices.Clone(in.MACPool)
}

// notNodeAddr says why a cannot be a node's address, "" if it can.
func notNodeAddr(a netip.Addr) string {
	if a.Zone() != "" || a.Is4In6() || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() {
		return "not a plain unicast address of a node"
	}
	return ""
}

func (in *NetworkIntent) vni() uint32 {
	if in.VNI == 0 {
		return DefaultVNI
	}
	return in.VNI
}

// vxlan plans what only Overlay has.
func (in *NetworkIntent) vxlan(plan *NetworkPlan, bad *problems) {
	if in.Mode != Overlay {
		if in.VNI != 0 {
			bad.field("VNI", fmt.Sprint(in.VNI), "a network of mode %s has none", in.Mode)
		}
		if in.VXLANPort != 0 {
			bad.field("VXLANPort", fmt.Sprint(in.VXLANPort), "a network of mode %s has none", in.Mode)
		}
		return
	}
	if v := in.vni(); v < hns.MinVNI || v > hns.MaxVNI {
		bad.field("VNI", fmt.Sprint(v), "HNS takes a VNI of %d to %d", hns.MinVNI, hns.MaxVNI)
	}
	if in.VXLANPort != 0 && in.VXLANPort != DefaultVXLANPort {
		// Left out otherwise: the policy itself needs HNS 10.3, the port does not.
		plan.Network.Policies = append(plan.Network.Policies, hns.VXLANPort{Port: in.VXLANPort})
	}
	// After the create, as flannel and OVN do: no client is known to send it
	// along with the network.
	plan.AddPolicies = []hns.NetworkPolicy{hns.HostRoute{}}
}

func noIPv6(path, value string, m Mode) error {
	return &UnsupportedError{Path: path, Value: value, Mode: m, Reason: "carries IPv4 only"}
}

func ipv6Only(path string, m Mode) error {
	return &UnsupportedError{Path: path, Mode: m, Reason: "IPv6 without IPv4 does not work on Windows"}
}
