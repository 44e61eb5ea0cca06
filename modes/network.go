package modes

import (
	"encoding/json"
	"fmt"
	"net/netip"

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
	// each family and always an IPv4 one; on Overlay, IPv4 alone.
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
	// Adapter is the name of the node's adapter that the network is put on,
	// such as "Ethernet". ProviderAddress chooses it by an address that it has
	// instead. With neither HNS takes any adapter that is connected, not always
	// the same: leave both out only on nodes with one adapter.
	Adapter         string
	ProviderAddress netip.Addr
	// Persistent keeps the network over a reboot. Without it the network is
	// gone then, and nothing stale is left if the node has got another pod
	// subnet meanwhile.
	Persistent bool
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

// PlanNetwork returns how to make the network of an intent. L2Bridge and
// Overlay are supported; the error for other modes matches
// [hns.ErrUnsupported]. Everything wrong with the intent is reported at once.
func PlanNetwork(in NetworkIntent) (*NetworkPlan, error) {
	var bad problems
	if !in.Mode.known() {
		_, err := ParseMode(string(in.Mode))
		bad.at("Mode", err)
		return nil, bad.as("plan network", in.Name)
	}
	if in.Mode != L2Bridge && in.Mode != Overlay {
		bad.add(notPlanned("Mode", in.Mode))
		return nil, bad.as("plan network", in.Name)
	}
	if in.Name == "" {
		bad.field("Name", "", "missing")
	}
	n := &hns.Network{Name: in.Name, Type: in.Mode.NetworkType(), DNS: cloneDNS(in.DNS), Policies: in.adapterPolicies(&bad)}
	if !in.Persistent {
		n.Flags |= hns.NetworkNonPersistent
	}
	n.IPAMs = []hns.IPAM{{Type: "Static", Subnets: in.subnets(&bad)}}
	plan := &NetworkPlan{Network: n}
	in.vxlan(plan, &bad)
	if err := bad.as("plan network", in.Name); err != nil {
		return nil, err
	}
	return plan, nil
}

func notPlanned(path string, m Mode) error {
	return &UnsupportedError{Path: path, Mode: m, Reason: "no planner yet; there are planners for " + list([]Mode{L2Bridge, Overlay})}
}

func (in *NetworkIntent) adapterPolicies(bad *problems) []hns.NetworkPolicy {
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

// notNodeAddr says why a cannot be a node's address, "" if it can.
func notNodeAddr(a netip.Addr) string {
	if a.Zone() != "" || a.Is4In6() || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() {
		return "not a plain unicast address of a node"
	}
	return ""
}

func (in *NetworkIntent) subnets(bad *problems) []hns.Subnet {
	var out []hns.Subnet
	var v4, v6 bool
	gateways := in.gateways(bad)
	for i, p := range in.Subnets {
		path := fmt.Sprintf("Subnets[%d]", i)
		if err := checkSubnet(p); err != nil {
			bad.at(path, err)
			continue
		}
		have := &v4
		if !p.Addr().Is4() {
			have = &v6
		}
		switch {
		case p != p.Masked():
			bad.field(path, p.String(), "has host bits; the subnet is %s", p.Masked())
		case *have:
			bad.field(path, p.String(), "second subnet of its family")
		case !p.Addr().Is4() && !in.Mode.Facts().IPv6:
			bad.add(noIPv6(path, p.String(), in.Mode))
		}
		*have = true
		g, err := Gateway(GatewaySubnet, p.Masked(), gateways[i])
		if err != nil {
			bad.at(path, err)
			continue
		}
		s := hns.Subnet{Prefix: p, Routes: []hns.Route{hns.DefaultRoute(g)}}
		if in.Mode == Overlay {
			s.Policies = []hns.SubnetPolicy{hns.VSID{IsolationID: in.vni()}}
		}
		out = append(out, s)
	}
	switch {
	case len(in.Subnets) == 0:
		bad.field("Subnets", "", "missing")
	case v6 && !v4 && in.Mode.Facts().IPv6:
		bad.add(ipv6Only("Subnets", in.Mode))
	}
	return out
}

// gateways sorts the given gateways by the subnet they lie in.
func (in *NetworkIntent) gateways(bad *problems) map[int]netip.Addr {
	out := map[int]netip.Addr{}
	for i, g := range in.Gateways {
		path := fmt.Sprintf("Gateways[%d]", i)
		at := -1
		for j, p := range in.Subnets {
			if p.Contains(g) {
				at = j
			}
		}
		switch {
		case !g.IsValid():
			bad.field(path, "", "not an address")
		case at < 0:
			bad.field(path, g.String(), "lies in none of the subnets")
		case out[at].IsValid():
			bad.field(path, g.String(), "second gateway of %s, after %s", in.Subnets[at], out[at])
		default:
			out[at] = g
		}
	}
	return out
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
		plan.Network.Policies = append(plan.Network.Policies, hns.RawPolicy{
			Type: "VxlanPort", Settings: json.RawMessage(fmt.Sprintf(`{"Port":%d}`, in.VXLANPort)),
		})
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
