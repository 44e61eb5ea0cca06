package hns

import (
	"math"
	"slices"
	"strings"
)

// major is the rest of a major version, from a minor one on.
func major(maj, minor uint32) VersionRange {
	return VersionRange{Version{maj, minor}, Version{maj, math.MaxUint32}}
}

func since(maj, minor uint32) VersionRange { return VersionRange{From: Version{maj, minor}} }

const (
	windows1803     = "Windows 1803"
	server2019March = "Windows Server 2019 with KB4489899"
	server2019DSR   = "Windows Server 2019 with KB4571748, Windows 1903 serviced"
	server2022      = "Windows Server 2022"
	server2025      = "Windows Server 2025"
)

// The features of HNS by version, with the names and ranges that hcsshim's hcn
// package has for them; where another source differs, the comment says so.
// [Features] lists them.
var (
	// FeatureACLAddressLists is several addresses in one [ACL].
	FeatureACLAddressLists = Feature{"AclAddressLists", []VersionRange{since(7, 2)}, windows1803}
	// FeatureACLNoHostRulePriority is an [ACL] of type Host without a priority.
	FeatureACLNoHostRulePriority = Feature{"AclNoHostRulePriority", []VersionRange{since(7, 2)}, windows1803}
	// FeatureACLPortRanges is ranges of ports in an [ACL].
	FeatureACLPortRanges = Feature{"AclPortRanges", []VersionRange{since(7, 2)}, windows1803}
	// FeatureACLRuleID is an id on an [ACL].
	FeatureACLRuleID = Feature{"AclRuleId", []VersionRange{since(7, 2)}, windows1803}
	// FeatureV1API is the call of the v1 API, which every HNS has.
	FeatureV1API = Feature{"V1Api", []VersionRange{since(1, 0)}, "Windows Server 2016"}
	// FeatureV2API is the API that this package speaks.
	FeatureV2API = Feature{"V2Api", []VersionRange{since(9, 2)}, server2019March}
	// FeatureRemoteSubnet is the policy [RemoteSubnetRoute].
	FeatureRemoteSubnet = Feature{"RemoteSubnet", []VersionRange{since(9, 2)}, server2019March}
	// FeatureHostRoute is the policy [HostRoute].
	FeatureHostRoute = Feature{"HostRoute", []VersionRange{since(9, 2)}, server2019March}
	// FeatureDSR is direct server return: of a [LoadBalancer] and, for a pod
	// that reaches itself, an [OutBoundNAT] with Destinations.
	FeatureDSR = Feature{"DSR", []VersionRange{major(9, 3), since(10, 2)}, server2019DSR}
	// FeatureSlash32EndpointPrefixes is an endpoint address of prefix length 32.
	FeatureSlash32EndpointPrefixes = Feature{"Slash32EndpointPrefixes", []VersionRange{major(9, 3), since(10, 4)}, server2019DSR}
	// FeatureACLProtocol252 is the protocol number 252, for VXLAN, in an [ACL].
	FeatureACLProtocol252 = Feature{"AclSupportForProtocol252", []VersionRange{since(11, 0)}, "Windows 2004"}
	// FeatureSessionAffinity is a [Distribution] of a [LoadBalancer].
	FeatureSessionAffinity = Feature{"SessionAffinity", []VersionRange{since(12, 0)}, server2022}
	// FeatureDualStack is an IPv4 and an IPv6 address on one endpoint, and a
	// [LoadBalancer] for IPv6.
	FeatureDualStack = Feature{"IPv6DualStack", []VersionRange{since(11, 10)}, "Windows 2004 serviced, Windows Server 2022"}
	// FeatureSetPolicy is the policy [SetPolicy].
	FeatureSetPolicy = Feature{"SetPolicy", []VersionRange{since(13, 0)}, server2022}
	// FeatureVXLANPort is the policy [VXLANPort].
	FeatureVXLANPort = Feature{"VxlanPort", []VersionRange{since(10, 3)}, "Windows 1903 serviced"}
	// FeatureL4Proxy is the policy [L4Proxy].
	FeatureL4Proxy = Feature{"L4Proxy", []VersionRange{major(9, 5), major(10, 5), major(11, 11), major(12, 1), since(13, 1)},
		"Windows Server 2019, Windows 1903 and 2004, each serviced, Windows Server 2022"}
	// FeatureL4WFPProxy is the policy [L4WFPProxy].
	FeatureL4WFPProxy = Feature{"L4WfpProxy", []VersionRange{since(13, 2)}, "Windows Server 2022 serviced"}
	// FeatureTierACL is the policy [TierACL].
	FeatureTierACL = Feature{"TierAcl", []VersionRange{since(14, 0)}, "Windows 11, Windows Server 2025"}
	// FeatureNetworkACL is the policy [NetworkACL].
	FeatureNetworkACL = Feature{"NetworkACL", []VersionRange{since(15, 0)}, server2025}
	// FeatureNestedIPSet is a [SetPolicy] of sets. Azure's network policy
	// manager uses them on HNS 13 too, so the client asks for
	// [FeatureSetPolicy] alone.
	FeatureNestedIPSet = Feature{"NestedIpSet", []VersionRange{since(15, 0)}, server2025}
	// FeatureDisableHostPort is the flag [NetworkDisableHostPort].
	FeatureDisableHostPort = Feature{"DisableHostPort", []VersionRange{since(15, 1)}, server2025}
	// FeatureModifyLoadBalancer is [LoadBalancerService.Update]. The ranges are
	// those of hnslib: HNS 15.4, which hcsshim counts in, says yes and changes
	// nothing (kubernetes/kubernetes#131466).
	FeatureModifyLoadBalancer = Feature{"ModifyLoadbalancer", []VersionRange{major(15, 5), since(16, 0)}, "Windows Server 2025 serviced"}
	// FeatureAccelnet is accelerated networking: the flag [NetworkEnableIOV].
	FeatureAccelnet = Feature{"Accelnet", []VersionRange{since(15, 4)}, server2025}
)

// Features returns every feature, in the order of their variables.
func Features() []Feature {
	all := []Feature{
		FeatureACLAddressLists, FeatureACLNoHostRulePriority, FeatureACLPortRanges, FeatureACLRuleID,
		FeatureV1API, FeatureV2API, FeatureRemoteSubnet, FeatureHostRoute, FeatureDSR, FeatureSlash32EndpointPrefixes,
		FeatureACLProtocol252, FeatureSessionAffinity, FeatureDualStack, FeatureSetPolicy, FeatureVXLANPort,
		FeatureL4Proxy, FeatureL4WFPProxy, FeatureTierACL, FeatureNetworkACL, FeatureNestedIPSet,
		FeatureDisableHostPort, FeatureModifyLoadBalancer, FeatureAccelnet,
	}
	for i := range all {
		all[i].Versions = slices.Clone(all[i].Versions)
	}
	return all
}

// FeatureByName returns the feature of that name, such as "DSR", ignoring case.
func FeatureByName(name string) (Feature, bool) {
	for _, f := range Features() {
		if strings.EqualFold(f.Name, name) {
			return f, true
		}
	}
	return Feature{}, false
}
