package v1doc

import (
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// RuleStray is the Rule of the errors of Strays.
const RuleStray = "v1-member"

// schema2Places says where schema 2 has what schema 1 has in a member of that
// name, for each kind. Names that both have are left out.
var schema2Places = map[hns.Kind]map[string]string{
	hns.KindNetwork: {
		"Subnets": "Ipams[].Subnets", "MacPools": "MacPool.Ranges", "DNSServerList": "Dns.ServerList", "DNSSuffix": "Dns.Domain or Dns.Search",
		"ManagementIP": "the policy ProviderAddress", "NetworkAdapterName": "the policy NetAdapterName", "SourceMac": "the policy SourceMacAddress",
		"DrMacAddress": "the policy DrMacAddress", "AutomaticDNS": "the policy AutomaticDNS",
		// Of Azure's container networking service, whose requests are like those of HNS.
		"NetworkName": "Name", "NetworkType": "Type",
	},
	hns.KindEndpoint: {
		"IPAddress": "IpConfigurations[].IpAddress", "IPv6Address": "IpConfigurations[].IpAddress", "PrefixLength": "IpConfigurations[].PrefixLength",
		"IPv6PrefixLength": "IpConfigurations[].PrefixLength", "GatewayAddress": "Routes[].NextHop", "GatewayAddressV6": "Routes[].NextHop",
		"DNSServerList": "Dns.ServerList", "DNSSuffix": "Dns.Domain or Dns.Search", "VirtualNetwork": "HostComputeNetwork",
		"VirtualNetworkName": "HostComputeNetwork, the id", "EncapOverhead": "the policy EncapOverhead", "IsRemoteEndpoint": "Flags, 1",
		"DisableICC": "Flags, 2", "EnableLowMetric": "Flags, 8", "Namespace": "HostComputeNamespace",
	},
	hns.KindNamespace:    {"ResourceList": "Resources"},
	hns.KindLoadBalancer: {"References": "HostComputeEndpoints", "VIPs": "FrontendVIPs"},
}

// schema2SubnetPlaces is the same for a subnet.
var schema2SubnetPlaces = map[string]string{"AddressPrefix": "IpAddressPrefix", "GatewayAddress": "Routes[].NextHop"}

// Strays returns the members of schema 1 in a document that says it is of
// schema 2, with where schema 2 has them. HNS passes over such members without
// a word: an endpoint with IPAddress gets another address. Paths are as written,
// and in order. Nil if doc is not of schema 2, or no object.
func Strays(kind hns.Kind, doc []byte) []*hns.FieldError {
	o, err := parse(doc)
	if err != nil {
		return nil
	}
	if version, _ := parse(o.get("SchemaVersion")); version.number("Major") < 2 {
		return nil
	}
	out := straysIn(o, "", schema2Places[kind])
	ipams, _ := elements(o.get("Ipams"))
	for i, raw := range ipams {
		ipam, _ := parse(raw)
		subnets, _ := elements(ipam.get("Subnets"))
		for j, raw := range subnets {
			subnet, _ := parse(raw)
			out = append(out, straysIn(subnet, fmt.Sprintf("Ipams[%d].Subnets[%d].", i, j), schema2SubnetPlaces)...)
		}
	}
	return out
}

func straysIn(o object, path string, places map[string]string) []*hns.FieldError {
	var out []*hns.FieldError
	for _, name := range sortedKeys(o) {
		for old, place := range places {
			if strings.EqualFold(name, old) && !empty(o[name]) {
				out = append(out, &hns.FieldError{Path: path + name, Value: clip(o[name]), Rule: RuleStray,
					Reason: "a name of schema 1, which HNS passes over here; schema 2 has " + place})
			}
		}
	}
	return out
}
