package modes

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// HostEndpointName returns the name that flannel and Calico give the node's own
// endpoint on a network.
func HostEndpointName(network string) string { return network + "_ep" }

// PlanHostEndpoint returns the node's own endpoint on an L2Bridge network, as
// read from HNS. It has the second address after the network's in each subnet
// and is to be attached to the node ([hns.EndpointService.AttachHost]); with IP
// forwarding on there it is the pods' gateway ([GatewayHostEndpoint]).
//
// The other modes have no such endpoint: pods and node reach each other by the
// HostRoute policy (Overlay), the gateway of the Azure virtual network
// (L2Tunnel), the physical network (Transparent) or a port that HNS makes (NAT).
// The error says which, and matches [hns.ErrUnsupported].
func PlanHostEndpoint(network *hns.Network) (*hns.Endpoint, error) {
	const op = "plan host endpoint of network"
	var bad problems
	mode, ok := planned(network, "Network", &bad)
	switch {
	case !ok:
		name := ""
		if network != nil {
			name = network.Name
		}
		return nil, bad.as(op, name)
	case mode.traits().noHostEndpoint != "":
		bad.add(&UnsupportedError{Path: "Network", Mode: mode, Reason: mode.traits().noHostEndpoint})
		return nil, bad.as(op, network.Name)
	}
	e := &hns.Endpoint{Name: HostEndpointName(network.Name), Network: network.ID}
	families := map[bool]bool{}
	for i, s := range network.Subnets() {
		path := fmt.Sprintf("Network.Subnets[%d]", i)
		a, err := Gateway(GatewayHostEndpoint, s.Prefix.Masked(), netip.Addr{})
		switch {
		case err != nil:
			bad.at(path, err)
			continue
		case families[a.Is4()]:
			bad.field(path, s.Prefix.String(), "second subnet of its family; an endpoint has one address of each")
			continue
		case a == s.Gateway():
			bad.field(path, a.String(), "the place of the node's endpoint is the gateway of the HNS subnet %s", s.Prefix)
			continue
		}
		families[a.Is4()] = true
		e.IPConfigs = append(e.IPConfigs, ipConfig(a, s))
		// Without a route HNS adds a default route via the subnet's gateway,
		// which would compete with the node's own. A next hop of zeros says
		// that there is none.
		e.Routes = append(e.Routes, hns.DefaultRoute(unspecified(a)))
	}
	if len(network.Subnets()) == 0 {
		bad.field("Network.Subnets", "", "missing")
	}
	if err := bad.as(op, network.Name); err != nil {
		return nil, err
	}
	return e, nil
}

// planned returns the mode of a network as read from HNS.
func planned(n *hns.Network, path string, bad *problems) (Mode, bool) {
	if n == nil {
		bad.field(path, "", "missing")
		return "", false
	}
	if n.ID.IsZero() {
		bad.field(path+".ID", "", "missing; the network is to be as read from HNS")
		return "", false
	}
	m, ok := ModeOf(n.Type)
	if !ok {
		bad.add(&UnsupportedError{Path: path + ".Type", Value: string(n.Type), Reason: "the type of the network is no mode; there are " + list(All())})
		return "", false
	}
	return m, true
}

// ipConfig gives an address the length of its HNS subnet. HNS would fill it in,
// but a length that is sent is one that is checked.
func ipConfig(a netip.Addr, s hns.Subnet) hns.IPConfig {
	return hns.IPConfig{Address: a, PrefixLength: uint8(s.Prefix.Bits())}
}

func unspecified(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}
