package modes

import (
	"slices"

	"github.com/hnskit/hnskit/hns"
)

func endpointRules() []ruleRow {
	return slices.Concat(portRules(), routeRules(), filterRules(), adapterEndRules())
}

// portRules are those about what leads into the pod.
func portRules() []ruleRow {
	return []ruleRow{
		{on: OnEndpoint, policyType: "PortMapping",
			bridge:  legal(Seen, "microsoft/Windows-Containers#360, Azure/azure-container-networking#1863", "the node itself reaches the port only with the flag LocalRoutedVip"),
			overlay: legal(Tested, "hcsshim, TestEndpointAlreadyExistsError", "a port of the node that leads to the pod"),
			transparent: forbidden(Documented, "HCNHResult, HCN_E_MAPPING_NOT_SUPPORTED; which networks is our reading",
				"the pod has an address of the physical network, and no port of the node leads to it", "reach the pod by its own address"),
			nat: legal(ByClient, "nat plugin, Docker", "the only way into the pod")},
		{on: OnEndpoint, policyType: "PortName",
			bridge: unknown(anyMode), overlay: unknown(anyMode), transparent: unknown(anyMode), nat: unknown(anyMode)},
	}
}

// routeRules are those about where packets go and what becomes of their
// addresses.
func routeRules() []ruleRow {
	return []ruleRow{
		{on: OnEndpoint, policyType: "OutBoundNAT",
			bridge:      legal(ByClient, "win-bridge, Calico, Azure CNI", "what leaves gets the node's address, except to the exceptions; TCP and UDP only"),
			overlay:     legal(ByClient, "win-overlay, Calico", "what leaves gets the node's address, except to the exceptions; TCP and UDP only"),
			transparent: unknown(noVFP),
			nat:         unknown("WinNAT translates everything already")},
		{on: OnEndpoint, policyType: "SDNRoute",
			bridge:      legal(ByClient, "Calico, sdnbridge", "leads traffic for the service range through the load balancers"),
			overlay:     legal(ByClient, "k3s and rke2 templates", "leads traffic for the service range through the load balancers"),
			transparent: unknown(noVFP), nat: unknown(noVFP)},
		{on: OnEndpoint, policyType: "ProviderAddress",
			bridge: legal(ByClient, "sdnbridge's samples, with SDNRoute and NeedEncap", "the node's address on the physical network"),
			overlay: required(ByClient, "win-overlay, kube-proxy", "peers send to the node that carries the pod",
				"add a ProviderAddress policy: for a pod of this node the network's, for a remote endpoint that of its node"),
			transparent: unknown(noOneTries), nat: unknown(noOneTries)},
		{on: OnEndpoint, policyType: "L4Proxy", feature: hns.FeatureL4Proxy,
			bridge:      legal(ByClient, "hcsshim's feature table", "sends connections to a proxy"),
			overlay:     legal(ByClient, "hcsshim's feature table", "sends connections to a proxy"),
			transparent: unknown(noVFP), nat: unknown(noVFP)},
		{on: OnEndpoint, policyType: "L4WFPPROXY", feature: hns.FeatureL4WFPProxy,
			bridge:  legal(ByClient, "Azure CNI", "sends connections to a proxy in the pod"),
			overlay: unknown(noOneTries), transparent: unknown(noOneTries),
			nat: legal(Tested, "hcsshim, TestAddL4WfpProxyPolicyOnEndpoint", "sends connections to a proxy in the pod")},
	}
}

// filterRules are those about what may pass.
func filterRules() []ruleRow {
	qos := legal(Documented, schemaEp+"; Docker", "a limit in bytes a second, for what leaves the pod")
	return []ruleRow{
		{on: OnEndpoint, policyType: "ACL",
			bridge:      legal(ByClient, "Calico, Azure network policy manager", "a block on Windows Server 2025 makes the rest a block too, unless allowed (microsoft/Windows-Containers#616)"),
			overlay:     legal(ByClient, "Calico", "a block on Windows Server 2025 makes the rest a block too, unless allowed (microsoft/Windows-Containers#616)"),
			transparent: legal(Documented, "Microsoft's network isolation page, which says nothing of modes", "Windows Firewall and the virtual filtering platform share the work"),
			nat:         legal(Tested, "hcsshim, TestApplyPolicyOnEndpoint", "one of schema 1 does nothing on Windows Server 2025 (microsoft/Windows-Containers#616)")},
		{on: OnEndpoint, policyType: "TierAcl", feature: hns.FeatureTierACL,
			bridge:  legal(Tested, "hcsshim, TestApplyTierAclPolicyOnEndpoint", "ACLs in tiers"),
			overlay: unknown(noOneTries), transparent: unknown(noOneTries), nat: unknown(noOneTries)},
		{on: OnEndpoint, policyType: "Firewall",
			bridge: unknown("settings of it are in the schema, the type is not"), overlay: unknown("settings of it are in the schema, the type is not"),
			transparent: unknown("settings of it are in the schema, the type is not"), nat: unknown("settings of it are in the schema, the type is not")},
		{on: OnEndpoint, policyType: "QOS", bridge: qos, overlay: qos, transparent: qos, nat: qos},
		{on: OnEndpoint, policyType: "Encryption",
			bridge: unknown(anyMode), overlay: unknown(anyMode), transparent: unknown(anyMode), nat: unknown(anyMode)},
	}
}

// adapterEndRules are those about the endpoint's own adapter.
func adapterEndRules() []ruleRow {
	vlan := legal(Documented, schemaEp+", 2.4", "tags the pod's traffic")
	parameters := legal(Documented, schemaEp+", 2.4, which says nothing of modes", "the MTU of the pod's adapter; one for an endpoint")
	return []ruleRow{
		{on: OnEndpoint, policyType: "L2Driver",
			bridge:  legal(Seen, "kubernetes/kubernetes#67827", "HNS adds it itself: MAC addresses are rewritten"),
			overlay: unknown("HNS adds it on L2Bridge"), transparent: unknown("HNS adds it on L2Bridge"), nat: unknown("HNS adds it on L2Bridge")},
		{on: OnEndpoint, policyType: "EncapOverhead",
			bridge:      unknown("nothing is wrapped"),
			overlay:     legal(ByClient, "Docker", "bytes that HNS takes off the MTU"),
			transparent: unknown("nothing is wrapped by HNS"), nat: unknown("nothing is wrapped")},
		{on: OnEndpoint, policyType: "InterfaceParameters", bridge: parameters, overlay: parameters, transparent: parameters, nat: parameters},
		{on: OnEndpoint, policyType: "InterfaceConstraint",
			bridge: unknown(anyMode), overlay: unknown(anyMode), transparent: unknown(anyMode), nat: unknown(anyMode)},
		{on: OnEndpoint, policyType: "VLAN",
			bridge: vlan, transparent: vlan, overlay: unknown("the VNI keeps its traffic apart"), nat: unknown(noBinding)},
		{on: OnEndpoint, policyType: "Iov",
			bridge: legal(ByClient, "Azure CNI", "a share of the adapter's hardware"), overlay: unknown(noOneTries),
			transparent: legal(ByClient, "Azure CNI", "a share of the adapter's hardware"), nat: unknown(noBinding)},
	}
}
