package modes

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// CheckNetwork holds a network against the rules of its mode ([Mode.Rules]) and
// returns what it finds, in the order of the document. It takes documents that
// are to be created and those that HNS gave back. Values are the client's
// business: what it says about a document, [FindingsOf] turns into findings.
func CheckNetwork(n *hns.Network) []Finding {
	var fs findings
	if n == nil {
		fs.add(SeverityError, "", "", "", "no network")
		return fs
	}
	mode, ok := ModeOf(n.Type)
	if !ok {
		fs.add(SeverityNote, "Type", string(n.Type), "", "none of the modes %s; nothing is known of its rules", list(All()))
		return fs
	}
	checkPolicies(&fs, mode, OnNetwork, "", n.Policies)
	if mode == Overlay && !n.ID.IsZero() && !hns.HasPolicy(n.Policies, "HostRoute") {
		fs.add(SeverityWarning, "Policies", "", "add a HostRoute policy to the live network",
			"without HostRoute the node and its own pods do not reach each other").from(ByClient, "flannel, OVN-Kubernetes")
	}
	checkSubnets(&fs, mode, n)
	return fs
}

// checkSubnets finds what is wrong with the subnets as a whole, and with each.
func checkSubnets(fs *findings, mode Mode, n *hns.Network) {
	var v4, v6 bool
	for i, ipam := range n.IPAMs {
		path := fmt.Sprintf("Ipams[%d]", i)
		if strings.EqualFold(ipam.Type, "DHCP") && !mode.traits().dhcp {
			fs.add(SeverityWarning, path+".Type", ipam.Type, "write Static", "addresses on %s are static", mode).from(Documented, driverPages)
		}
		for j, s := range ipam.Subnets {
			checkOneSubnet(fs, mode, fmt.Sprintf("%s.Subnets[%d]", path, j), s)
			v4, v6 = v4 || s.Prefix.Addr().Is4(), v6 || isV6(s.Prefix.Addr())
		}
	}
	switch {
	case len(n.Subnets()) == 0 && mode.traits().needsSubnet:
		fs.add(SeverityError, "Ipams", "", "give the network the node's pod subnet", "a network of mode %s needs a subnet", mode).from(Assumed, driverPages)
	case v6 && !v4 && mode.Facts().IPv6:
		fs.add(SeverityWarning, "Ipams", "", "add an IPv4 subnet", "IPv6 without IPv4 does not work on Windows").from(Documented, "Kubernetes, Networking on Windows")
	}
}

func checkOneSubnet(fs *findings, mode Mode, path string, s hns.Subnet) {
	checkPolicies(fs, mode, OnSubnet, path+".", s.Policies)
	switch v6 := isV6(s.Prefix.Addr()); {
	case v6 && mode == Overlay:
		fs.add(SeverityError, path+".IpAddressPrefix", s.Prefix.String(), "leave the subnet out, or use L2Bridge", "mode %s carries IPv4 only", mode).from(Documented, driverPages)
	case v6 && !mode.Facts().IPv6:
		fs.add(SeverityWarning, path+".IpAddressPrefix", s.Prefix.String(), "leave the subnet out", "HNS stores the subnet; its traffic is not carried").from(Documented, driverPages)
	}
	if !s.Gateway().IsValid() && mode.traits().needsSubnet {
		fs.add(SeverityWarning, path+".Routes", "", "add a default route via the gateway", "no gateway: hcsshim refuses such a subnet, what HNS does is not known").from(ByClient, "hcsshim, HostComputeNetwork.Create")
	}
}

// CheckEndpoint holds an endpoint against the rules of its network's mode and
// returns what it finds, in the order of the document; see [CheckNetwork].
// network is the network as read from HNS, or as it will be created.
func CheckEndpoint(network *hns.Network, e *hns.Endpoint) []Finding {
	var fs findings
	switch {
	case e == nil:
		fs.add(SeverityError, "", "", "", "no endpoint")
		return fs
	case network == nil:
		fs.add(SeverityNote, "HostComputeNetwork", e.Network.String(), "", "without the network its mode is not known")
		return fs
	case !network.ID.IsZero() && !e.Network.IsZero() && network.ID != e.Network:
		fs.add(SeverityError, "HostComputeNetwork", e.Network.String(), "name the network it is to be on", "is not network %q, %s", network.Name, network.ID)
	}
	mode, ok := ModeOf(network.Type)
	if !ok {
		fs.add(SeverityNote, "HostComputeNetwork", string(network.Type), "", "the network is of none of the modes %s; nothing is known of its rules", list(All()))
		return fs
	}
	checkPolicies(&fs, mode, OnEndpoint, "", e.Policies)
	checkAddresses(&fs, mode, network, e)
	checkRoutes(&fs, mode, network, e)
	return fs
}

func checkAddresses(fs *findings, mode Mode, n *hns.Network, e *hns.Endpoint) {
	remote := e.Flags&hns.EndpointRemote != 0
	if why := mode.traits().noHNSAddress; why != "" && len(e.IPConfigs) == 0 {
		fs.add(SeverityWarning, "IpConfigurations", "", "give it an address that Azure has assigned to the node", "%s", why).from(ByClient, "Azure CNI")
	}
	var v4, v6 bool
	for i, c := range e.IPConfigs {
		path := fmt.Sprintf("IpConfigurations[%d].IpAddress", i)
		v4, v6 = v4 || c.Address.Is4(), v6 || isV6(c.Address)
		if isV6(c.Address) && !mode.Facts().IPv6 {
			fs.add(SeverityWarning, path, c.Address.String(), "leave the address out", "mode %s carries IPv4 only", mode).from(Documented, driverPages)
		}
		if !remote && c.Address.IsValid() {
			checkPlace(fs, mode, n, path, c.Address)
		}
	}
	if v6 && !v4 && mode.Facts().IPv6 {
		fs.add(SeverityWarning, "IpConfigurations", "", "add an IPv4 address", "IPv6 without IPv4 does not work on Windows").from(Documented, "Kubernetes, Networking on Windows")
	}
}

// checkPlace finds an address that lies nowhere, or that HNS keeps.
func checkPlace(fs *findings, mode Mode, n *hns.Network, path string, a netip.Addr) {
	s, ok := n.SubnetOf(a)
	if !ok {
		if len(n.Subnets()) > 0 { // else HNS has yet to choose one, or there will be none
			fs.add(SeverityError, path, a.String(), "take an address of the node's subnet; a stale subnet.env gives others (flannel-io/flannel#556)",
				"lies outside the subnets of network %q: %s", n.Name, prefixTexts(n)).from(Documented, "HCNHResult, HCN_E_INVALID_IP")
		}
		return
	}
	for _, r := range Reserved(mode, s.Prefix, GatewaySubnet, s.Gateway()) {
		if r.Addr == a && (a != s.Gateway() || s.Flags&subnetFreesGateway == 0) {
			fs.add(SeverityError, path, a.String(), "keep IPAM from giving it out", "reserved in %s: %s", s.Prefix.Masked(), r.Why).from(Seen, "kubernetes/kubernetes#100962")
		}
	}
}

// subnetFreesGateway is the flag DoNotReserveGatewayAddress of a subnet.
const subnetFreesGateway = 1

func checkRoutes(fs *findings, mode Mode, n *hns.Network, e *hns.Endpoint) {
	for i, r := range e.Routes {
		if !r.IsDefault() || !r.NextHop.IsValid() || r.NextHop.IsUnspecified() {
			continue
		}
		path := fmt.Sprintf("Routes[%d].NextHop", i)
		for _, a := range e.Addresses() {
			s, ok := n.SubnetOf(a)
			switch {
			case !ok || a.Is4() != r.NextHop.Is4():
			case a == r.NextHop:
				fs.add(SeverityError, path, r.NextHop.String(), "use the gateway of the subnet", "the gateway is the endpoint's own address")
			case !s.Prefix.Contains(r.NextHop):
				// nerdctl#28: an address of one subnet, the gateway of another.
				fs.add(SeverityError, path, r.NextHop.String(), "use the gateway of the subnet", "the gateway lies outside %s, where the address is", s.Prefix).
					from(Seen, "containerd/nerdctl#28")
			case mode == L2Bridge && r.NextHop == s.Gateway() && firstAddr(s.Prefix) == s.Gateway():
				fs.add(SeverityNote, path, r.NextHop.String(), "with flannel's host-gw or Calico use network+2, the node's endpoint",
					"HNS holds this address; it leads to other nodes only where the physical router has it too, as on Azure").from(Seen, "containernetworking/plugins#671")
			}
		}
	}
}

// checkPolicies holds the policies of an object against the rules of the mode.
func checkPolicies[P interface{ PolicyType() string }](fs *findings, mode Mode, on On, prefix string, ps []P) {
	for i, p := range ps {
		policyType, ok := typeOf(p)
		if !ok {
			continue
		}
		path := fmt.Sprintf("%sPolicies[%d]", prefix, i)
		r := mode.Rule(on, policyType)
		switch r.Verdict {
		case Forbidden:
			fs.add(SeverityError, path, r.Type, r.Fix, "forbidden on %s: %s", mode, r.Reason).from(r.Certainty, r.Source)
		case Harmless:
			fs.add(SeverityWarning, path, r.Type, r.Fix, "does nothing on %s: %s", mode, r.Reason).from(r.Certainty, r.Source)
		case Unknown:
			fs.add(SeverityNote, path, r.Type, "", "whether it works on %s is not known: %s", mode, r.Reason)
		}
	}
	for _, r := range mode.Rules() {
		if r.On == on && r.Verdict == Required && !hns.HasPolicy(ps, r.Type) {
			fs.add(SeverityError, prefix+"Policies", "", r.Fix, "no %s, which %s needs: %s", r.Type, mode, r.Reason).from(r.Certainty, r.Source)
		}
	}
}

func prefixTexts(n *hns.Network) string {
	var texts []string
	for _, s := range n.Subnets() {
		texts = append(texts, s.Prefix.String())
	}
	if texts == nil {
		return "none"
	}
	return strings.Join(texts, ", ")
}
