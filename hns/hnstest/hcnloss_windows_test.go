package hnstest_test

import (
	"encoding/json"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/hnstest"
)

// lostByHCN is what the suite notices that hcsshim's package hcn loses between
// the program and HNS. The suite fails for an entry that is no longer lost.
func lostByHCN() []hnstest.Loss {
	ls := []hnstest.Loss{
		// Members that hcn's types drop from what HNS says.
		{Name: "ID of a subnet", Kind: hns.KindNetwork, Read: "Ipams.Subnets.ID"},
		{Name: "IpSubnets of a subnet", Kind: hns.KindNetwork, Read: "Ipams.Subnets.IpSubnets"},
		{Name: "State of an endpoint", Kind: hns.KindEndpoint, Read: "State"},
		{Name: "HostComputeNetwork of a route", Kind: hns.KindRoute, Read: "HostComputeNetwork"},
		{Name: "Routes of a route, which are there as Setting", Kind: hns.KindRoute, Read: "Routes"},
		{Name: "Extensions of a network in schema 1", Kind: hns.KindNetwork, V1: true, Read: "Extensions"},
		{Name: "DrMacAddress of a network in schema 1", Kind: hns.KindNetwork, V1: true, Read: "DrMacAddress"},
		{Name: "DNSDomain of a network in schema 1", Kind: hns.KindNetwork, V1: true, Read: "DNSDomain"},
		// What it adds.
		{Name: "that HNS shows no Type NAT", Kind: hns.KindNetwork, Read: "Type", Shows: "NAT"},

		// Members that its types can neither hold nor say.
		{Name: "Name of a namespace", Kind: hns.KindNamespace, Read: "Name", Written: "Name"},
		{Name: "Name of a load balancer", Kind: hns.KindLoadBalancer, Read: "Name", Written: "Name"},
		{Name: "Name of a route", Kind: hns.KindRoute, Read: "Name", Written: "Name"},
		{Name: "HostComputeNetwork of a load balancer", Kind: hns.KindLoadBalancer, Read: "HostComputeNetwork", Written: "HostComputeNetwork"},
		// Members that they cannot say, and which HNS does not show as they were said.
		{Name: "Owner of a network", Kind: hns.KindNetwork, Written: "Owner"},
		{Name: "Flags of a subnet", Kind: hns.KindNetwork, Written: "Ipams.Subnets.Flags"},
		{Name: "CreateWithCompartment of a namespace", Kind: hns.KindNamespace, Written: "CreateWithCompartment"},
		{Name: "Subnets of schema 1 in schema 2", Kind: hns.KindNetwork, Written: "Subnets"},
		{Name: "VirtualNetwork of schema 1 in schema 2", Kind: hns.KindEndpoint, Written: "VirtualNetwork"},
		{Name: "members that the schema lacks", Kind: hns.KindNetwork, Written: "Strange"},
		{Name: "members of a policy beside its Settings", Kind: hns.KindEndpoint, Written: "Policies.ExceptionList"},

		// Requests that it refuses itself.
		{Name: "documents that are no JSON object", Refuses: written(func(doc any) bool { _, ok := doc.(map[string]any); return !ok })},
		{Name: "enumerations by number", Refuses: written(func(doc any) bool {
			return isNumber(doc, "Type") || isNumber(doc, "RequestType") || isNumber(doc, "ResourceType")
		})},
		{Name: "members of the wrong kind", Refuses: written(wrongKind)},
		{Name: "a subnet without gateway", Refuses: written(noGateway)},
		{Name: "routes that differ from Setting", Refuses: written(func(doc any) bool { return get(doc, "Routes") != nil && get(doc, "Setting") != nil })},
		{Name: "an endpoint's network that is not the request's", Refuses: otherNetwork},
		{Name: "schema 1 calls that hcsshim does not export", Refuses: notExported},
	}
	for _, kind := range []hns.Kind{hns.KindNetwork, hns.KindNamespace, hns.KindLoadBalancer, hns.KindRoute} {
		ls = append(ls, hnstest.Loss{Name: "Version of a " + kind.String(), Kind: kind, Read: "Version"},
			hnstest.Loss{Name: "State of a " + kind.String(), Kind: kind, Read: "State"})
	}
	return ls
}

// written is a question about the documents that create and modify.
func written(about func(doc any) bool) func(hns.Request) bool {
	return func(r hns.Request) bool {
		if r.Verb != hns.VerbCreate && r.Verb != hns.VerbModify {
			return false
		}
		var doc any
		_ = json.Unmarshal(r.Document, &doc) // what is no JSON is nothing
		return about(doc)
	}
}

// get returns a member of a document, and through lists of one element.
func get(doc any, names ...string) any {
	for _, name := range names {
		if l, ok := doc.([]any); ok && len(l) == 1 {
			doc = l[0]
		}
		o, _ := doc.(map[string]any)
		doc = o[name]
	}
	return doc
}

// isNumber reports whether a member is a number other than zero, which hcn
// takes for nothing.
func isNumber(doc any, name string) bool {
	n, ok := get(doc, name).(float64)
	return ok && n != 0
}

func wrongKind(doc any) bool {
	for _, name := range []string{"Ipams", "IpConfigurations", "Policies"} {
		l, isList := get(doc, name).([]any)
		if get(doc, name) != nil && !isList {
			return true
		}
		for _, elem := range l {
			if _, ok := elem.(map[string]any); !ok {
				return true
			}
		}
	}
	port, _ := get(doc, "PortMappings", "ExternalPort").(float64)
	metric, _ := get(doc, "Routes", "Metric").(float64)
	return port > 65535 || metric > 65535
}

func noGateway(doc any) bool {
	subnet := get(doc, "Ipams", "Subnets")
	l, _ := subnet.([]any)
	return len(l) == 1 && get(subnet, "IpAddressPrefix") != nil && get(subnet, "Routes") == nil
}

func otherNetwork(r hns.Request) bool {
	return r.Verb == hns.VerbCreate && r.Kind == hns.KindEndpoint && written(func(doc any) bool {
		named, _ := get(doc, "HostComputeNetwork").(string)
		return named != "" && !strings.EqualFold(named, r.Network.String())
	})(r)
}

// exported are the paths of the schema 1 calls of hcsshim.
var exported = []string{"globals/version", "networks", "endpoints", "policylists", "endpointstats/"}

func notExported(r hns.Request) bool {
	if r.Verb != hns.VerbCall {
		return false
	}
	path := strings.Trim(r.Path, "/")
	for _, p := range exported {
		if strings.HasPrefix(path, p) {
			return r.Method != "GET" && p == "endpointstats/"
		}
	}
	return true
}
