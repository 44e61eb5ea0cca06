package modes

import (
	"slices"
	"sync"

	"github.com/hnskit/hnskit/hns"
)

// Reasons that several rules have.
const (
	noBinding  = "the switch is inside the node; there is no adapter to choose"
	noVXLAN    = "the network has no VXLAN; whether HNS takes the policy all the same is not known"
	noVFP      = "the virtual filtering platform, which does this, is not seen on such networks"
	noOneTries = "nobody is known to have tried"
	anyMode    = "in the schema, which says nothing of modes"
)

// Sources that several rules have.
const (
	driverPages = "Microsoft's network driver pages"
	archPage    = "Microsoft's container network architecture page"
	schemaNet   = "HNS schema, NetworkPolicyType"
	schemaEp    = "HNS schema, EndpointPolicyType"
)

// ruleTable holds the rules of every type of the schema, those of an object
// together. It is made when it is first asked for, and never changed.
var ruleTable = sync.OnceValue(func() []ruleRow {
	return slices.Concat(networkRules(), subnetRules(), endpointRules(), loadBalancerRules())
})

func networkRules() []ruleRow {
	return slices.Concat(adapterRules(), vxlanRules())
}

// adapterRules are those about the adapter and the switch.
func adapterRules() []ruleRow {
	adapter := func(source string) cell {
		return legal(ByClient, source, "chooses the adapter; at create only")
	}
	noAdapter := harmless(Assumed, archPage+"; that HNS takes it is our reading", noBinding)
	return []ruleRow{
		{on: OnNetwork, policyType: "SourceMacAddress",
			bridge:      legal(Documented, schemaNet, "the MAC address that pods' packets get; at create only"),
			overlay:     unknown("pods are seen with their own MAC addresses"),
			transparent: legal(ByClient, "Antrea sends SourceMac", "the node's own MAC address; at create only"),
			nat:         unknown(noOneTries)},
		{on: OnNetwork, policyType: "NetAdapterName",
			bridge: adapter("Azure CNI"), overlay: adapter("flannel"), transparent: adapter("Antrea"), nat: noAdapter},
		{on: OnNetwork, policyType: "InterfaceConstraint",
			bridge: legal(Documented, schemaNet, "chooses the adapter; at create only"), overlay: legal(Documented, schemaNet, "chooses the adapter; at create only"),
			transparent: legal(Documented, schemaNet, "chooses the adapter; at create only"), nat: noAdapter},
		{on: OnNetwork, policyType: "ProviderAddress",
			bridge:      adapter("Azure CNI"),
			overlay:     legal(Tested, "kube-proxy's former hns_test.go; flannel", "HNS fills it with the node's address; at create it chooses the adapter"),
			transparent: adapter("Azure CNI"),
			nat:         noAdapter},
		{on: OnNetwork, policyType: "VSwitchExtension",
			bridge:      legal(Documented, schemaNet, "switches an extension on or off, for all networks of the switch"),
			overlay:     legal(Documented, schemaNet, "switches an extension on or off, for all networks of the switch"),
			transparent: legal(Documented, schemaNet+"; Antrea enables OVS by a modify request", "switches an extension on or off, for all networks of the switch"),
			nat:         unknown(noOneTries)},
		{on: OnNetwork, policyType: "AutomaticDNS",
			bridge:      legal(Documented, schemaNet, "the network gets the name servers of its adapter; at create only"),
			overlay:     legal(ByClient, "OVN-Kubernetes, Docker", "the network gets the name servers of its adapter; at create only"),
			transparent: legal(Documented, schemaNet, "the network gets the name servers of its adapter; at create only"),
			nat:         unknown(noBinding)},
		{on: OnNetwork, policyType: "LayerConstraint",
			bridge: unknown(anyMode), overlay: unknown(anyMode), transparent: unknown(anyMode), nat: unknown(anyMode)},
		{on: OnNetwork, policyType: "L4Proxy", feature: hns.FeatureL4Proxy,
			bridge:      legal(ByClient, "hcsshim's feature table and comments", "sends connections of all endpoints to a proxy"),
			overlay:     legal(ByClient, "hcsshim's feature table and comments", "sends connections of all endpoints to a proxy"),
			transparent: unknown(noVFP), nat: unknown(noVFP)},
		{on: OnNetwork, policyType: "SetPolicy", feature: hns.FeatureSetPolicy,
			bridge:      legal(ByClient, "Azure network policy manager", "a set of addresses that ACLs name; by a modify request only"),
			overlay:     legal(Assumed, "as on L2Bridge", "a set of addresses that ACLs name; by a modify request only"),
			transparent: unknown(noOneTries), nat: unknown(noOneTries)},
		{on: OnNetwork, policyType: "NetworkACL", feature: hns.FeatureNetworkACL,
			bridge:      legal(Assumed, "as on Overlay", "an ACL for all endpoints"),
			overlay:     legal(Tested, "hcsshim, TestAddRemoveNetworACLPolicy", "an ACL for all endpoints"),
			transparent: unknown(noOneTries), nat: unknown(noOneTries)},
		{on: OnNetwork, policyType: "NeighborDiscovery",
			bridge: unknown("known from Microsoft's scripts alone"), overlay: unknown("known from Microsoft's scripts alone"),
			transparent: unknown("known from Microsoft's scripts alone"), nat: unknown("known from Microsoft's scripts alone")},
	}
}

// vxlanRules are those about Overlay.
func vxlanRules() []ruleRow {
	noPeers := forbidden(Assumed, "hcsshim tests it on Overlay alone; the wording of HCN_E_INVALID_NETWORK_TYPE",
		"leads to other nodes by VXLAN, which only Overlay has", "use host routes, or a network of mode Overlay")
	return []ruleRow{
		{on: OnNetwork, policyType: "DrMacAddress",
			bridge:      unknown("HNS fills it on Overlay"),
			overlay:     legal(Tested, "kube-proxy's former hns_test.go; flannel", "the MAC address of the distributed router, filled by HNS"),
			transparent: unknown("HNS fills it on Overlay"), nat: unknown("HNS fills it on Overlay")},
		{on: OnNetwork, policyType: "RemoteSubnetRoute", feature: hns.FeatureRemoteSubnet,
			bridge: noPeers, transparent: noPeers, nat: noPeers,
			overlay: legal(Tested, "hcsshim, TestAddRemoveRemoteSubnetRoutePolicy", "leads to the pod subnet of another node; one for each"),
			tunnel:  &noPeers},
		{on: OnNetwork, policyType: "VxlanPort", feature: hns.FeatureVXLANPort,
			bridge: unknown(noVXLAN), transparent: unknown(noVXLAN), nat: unknown(noVXLAN),
			overlay: legal(Documented, schemaNet, "the UDP port in place of 4789, the same on all nodes; at create only")},
		{on: OnNetwork, policyType: "HostRoute", feature: hns.FeatureHostRoute,
			bridge:      unknown("node and pods reach each other without"),
			overlay:     legal(Tested, "hcsshim, TestAddRemoveHostRoutePolicy; flannel", "lets the node and its own pods reach each other"),
			transparent: unknown("node and pods reach each other without"), nat: unknown("node and pods reach each other without")},
	}
}

func subnetRules() []ruleRow {
	return []ruleRow{
		{on: OnSubnet, policyType: "VSID",
			bridge: unknown("Docker has an option for it, of which nobody reports"),
			overlay: required(Seen, "moby/libnetwork#1843, flannel-io/flannel#1215", "the VNI that keeps the network apart, 4096 to 16777214",
				"give the subnet a VSID policy with the VNI of the cluster"),
			transparent: unknown("Docker has an option for it, of which nobody reports"),
			nat:         unknown(noVXLAN)},
		{on: OnSubnet, policyType: "VLAN",
			bridge:      legal(ByClient, "Azure CNI, Docker", "tags the subnet's traffic on the physical network"),
			overlay:     unknown("the VNI keeps its traffic apart"),
			transparent: legal(ByClient, "Docker; "+driverPages, "tags the subnet's traffic on the physical network"),
			nat:         legal(Seen, "dumps of NAT networks show VLAN 1", "HNS sets one itself")},
	}
}

func loadBalancerRules() []ruleRow {
	none := forbidden(ByClient, "hcsshim moved its tests from NAT to Overlay (commit 50949ce3); kube-proxy",
		"HNS has load balancers on L2Bridge, L2Tunnel and Overlay alone", "publish single ports by PortMapping, or use another mode")
	return []ruleRow{
		{on: OnLoadBalancer,
			bridge:      legal(ByClient, "kube-proxy", "services; backends on other nodes are remote endpoints"),
			overlay:     legal(Tested, "hcsshim, hcnloadbalancer_test.go; kube-proxy", "services; without DSR they need a source VIP"),
			transparent: none, nat: none},
	}
}
