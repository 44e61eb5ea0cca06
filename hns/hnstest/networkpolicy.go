package hnstest

import (
	"fmt"
	"strconv"

	"github.com/hnskit/hnskit/hns"
)

func networkPolicyCases() []scenario {
	cases := []scenario{
		{name: "network policy/add and remove", sure: Tested, source: "microsoft/hcsshim TestAddRemoveRemoteSubnetRoutePolicy", only: hns.FeatureRemoteSubnet.In, run: func(b *bench) {
			addRemove(b, "RemoteSubnetRoute", remoteSubnet)
		}},
		{name: "network policy/host route", sure: Tested, source: "microsoft/hcsshim TestAddRemoveHostRoutePolicy", only: hns.FeatureHostRoute.In, run: func(b *bench) {
			addRemove(b, "HostRoute", "{}")
		}},
		{name: "network policy/ACL", sure: Tested, source: "microsoft/hcsshim TestAddRemoveNetworACLPolicy", only: hns.FeatureNetworkACL.In, run: func(b *bench) {
			addRemove(b, "NetworkACL", acl)
		}},
		{name: "network policy/remote subnet twice", sure: Assumed, source: "flannel-io/flannel vxlan_network_windows.go", only: hns.FeatureRemoteSubnet.In, run: func(b *bench) {
			n := b.overlay()
			b.change("once", n, "Add", "RemoteSubnetRoute", remoteSubnet, 0)
			b.change("twice", n, "Add", "RemoteSubnetRoute", remoteSubnet, hns.CodePolicyExists)
		}},
		{name: "network policy/remote subnet compared", sure: Client, source: "flannel-io/flannel vxlan_network_windows.go", only: hns.FeatureRemoteSubnet.In, run: func(b *bench) {
			n := b.overlay()
			b.change("add", n, "Add", "RemoteSubnetRoute", remoteSubnet, 0)
			b.change("another VNI", n, "Remove", "RemoteSubnetRoute", remoteSubnetWith("5002", "00-12-34-56-78-9A"), hns.CodePolicyNotFound)
			b.change("another spelling of the MAC", n, "Remove", "RemoteSubnetRoute", remoteSubnetWith("5001", "00:12:34:56:78:9a"), 0)
		}},
		{name: "network policy/remote subnet on a bridge", sure: Assumed, only: hns.FeatureRemoteSubnet.In, run: func(b *bench) {
			b.change("add", b.bridge(), "Add", "RemoteSubnetRoute", remoteSubnet, hns.CodeInvalidNetworkType)
		}},
		{name: "network policy/remote subnet settings", sure: Assumed, only: hns.FeatureRemoteSubnet.In, run: func(b *bench) {
			n := b.overlay()
			b.change("prefix unreadable", n, "Add", "RemoteSubnetRoute", `{"DestinationPrefix":"there","IsolationId":5001,"ProviderAddress":"192.0.2.77","DistributedRouterMacAddress":"00-12-34-56-78-9A"}`, hns.CodeInvalidPrefix)
			b.change("provider unreadable", n, "Add", "RemoteSubnetRoute", `{"DestinationPrefix":"192.168.2.0/24","IsolationId":5001,"ProviderAddress":"node","DistributedRouterMacAddress":"00-12-34-56-78-9A"}`, hns.CodeInvalidPolicy)
		}},
		{name: "network policy/host route twice", sure: Assumed, source: "flannel-io/flannel vxlan_network_windows.go", only: hns.FeatureHostRoute.In, run: func(b *bench) {
			n := b.overlay()
			b.change("once", n, "Add", "HostRoute", "{}", 0)
			b.change("twice", n, "Add", "HostRoute", "{}", 0)
		}},
		{name: "network policy/at create only", sure: Assumed, run: func(b *bench) {
			b.change("adapter", b.bridge(), "Add", "NetAdapterName", `{"NetworkAdapterName":"Ethernet"}`, hns.CodeInvalidPolicyType)
		}},
		{name: "network policy/remove what is not there", sure: Assumed, only: hns.FeatureHostRoute.In, run: func(b *bench) {
			b.change("remove", b.overlay(), "Remove", "HostRoute", "{}", hns.CodePolicyNotFound)
		}},
		{name: "network policy/sets", sure: Client, source: "Azure/azure-container-networking npm", only: hns.FeatureSetPolicy.In, run: setPolicies},
		{name: "network policy/nested sets", sure: Client, source: "Azure/azure-container-networking npm", only: hns.FeatureNestedIPSet.In, run: nestedSets},
		{name: "network policy/set settings", sure: Assumed, only: hns.FeatureSetPolicy.In, run: func(b *bench) {
			n := b.bridge()
			b.change("no id", n, "Add", "SetPolicy", `{"Name":"x","PolicyType":"IPSET","Values":"10.0.0.1"}`, hns.CodeInvalidPolicy)
			b.change("unknown type", n, "Add", "SetPolicy", ipSet("x", "BAG", "10.0.0.1"), hns.CodeInvalidPolicy)
			b.change("add", n, "Add", "SetPolicy", ipSet("x", "IPSET", "10.0.0.1"), 0)
			b.change("add again", n, "Add", "SetPolicy", ipSet("x", "IPSET", "10.0.0.2"), 0)
			b.check("one set", fmt.Sprint(countPolicies(b, n, "SetPolicy")), "1")
			b.field("the new values", []byte(settings(b.get(hns.KindNetwork, n.id), "SetPolicy")), "Values", "10.0.0.2")
		}},
		{name: "network policy/update replaces its types", sure: Assumed, only: hns.FeatureNetworkACL.In, run: func(b *bench) {
			n := b.overlay()
			other := `{"Action":"Allow","Direction":"Out","Priority":300}`
			b.change("a rule", n, "Add", "NetworkACL", acl, 0)
			b.change("a route", n, "Add", "HostRoute", "{}", 0)
			b.change("update", n, "Update", "NetworkACL", other, 0)
			doc := b.get(hns.KindNetwork, n.id)
			b.check("the rule", settings(doc, "NetworkACL"), other)
			b.check("rules", fmt.Sprint(countPolicies(b, n, "NetworkACL")), "1")
			b.check("the route", fmt.Sprint(countPolicies(b, n, "HostRoute")), "1")
		}},
		{name: "network policy/extensions", sure: Seen, source: "dumps of nodes", run: extensions},
	}
	for i := range cases {
		cases[i].external = true
	}
	return cases
}

// change is a policy request about a network.
func (b *bench) change(step string, n object, verb, typeName, s string, want hns.Code) {
	b.t.Helper()
	b.modify(step, hns.KindNetwork, n.id, request(verb, "Policy", members(policies(policy(typeName, s)))), want)
}

func remoteSubnetWith(vni, mac string) string {
	return fmt.Sprintf(`{"DestinationPrefix":"192.168.2.0/24","IsolationId":%s,"ProviderAddress":"192.0.2.77","DistributedRouterMacAddress":%q}`, vni, mac)
}

func addRemove(b *bench, typeName, s string) {
	n := b.overlay()
	b.change("add", n, "Add", typeName, s, 0)
	b.truth("it is there", settings(b.get(hns.KindNetwork, n.id), typeName) != "")
	b.change("remove", n, "Remove", typeName, s, 0)
	b.check("it is gone", settings(b.get(hns.KindNetwork, n.id), typeName), "")
}

func setPolicies(b *bench) {
	n := b.bridge()
	values := func(step, want string) {
		b.field(step, []byte(settings(b.get(hns.KindNetwork, n.id), "SetPolicy")), "Values", want)
	}
	b.change("add", n, "Add", "SetPolicy", ipSet("pods", "IPSET", "10.231.1.7,10.231.1.8"), 0)
	values("added", "10.231.1.7,10.231.1.8")
	b.change("update", n, "Update", "SetPolicy", ipSet("pods", "IPSET", "10.231.1.9"), 0)
	values("updated", "10.231.1.9")
	b.change("update of an unknown one", n, "Update", "SetPolicy", ipSet("nodes", "IPSET", "10.231.1.10"), 0)
	b.check("it was passed over", fmt.Sprint(countPolicies(b, n, "SetPolicy")), "1")
	b.change("remove of an unknown one", n, "Remove", "SetPolicy", ipSet("nodes", "IPSET", ""), hns.CodePolicyNotFound)
	b.change("remove", n, "Remove", "SetPolicy", ipSet("pods", "IPSET", "10.231.1.9"), 0)
	b.check("none is left", fmt.Sprint(countPolicies(b, n, "SetPolicy")), "0")
}

func nestedSets(b *bench) {
	n := b.bridge()
	b.change("of an unknown set", n, "Add", "SetPolicy", ipSet("all", "NESTEDIPSET", "pods"), hns.CodeInvalidPolicy)
	b.change("a set", n, "Add", "SetPolicy", ipSet("pods", "IPSET", "10.231.1.7"), 0)
	b.change("of a known set", n, "Add", "SetPolicy", ipSet("all", "NESTEDIPSET", "pods"), 0)
	b.change("remove what is named", n, "Remove", "SetPolicy", ipSet("pods", "IPSET", "10.231.1.7"), hns.CodeHasReferences)
	b.change("remove what names", n, "Remove", "SetPolicy", ipSet("all", "NESTEDIPSET", "pods"), 0)
	b.change("then the other", n, "Remove", "SetPolicy", ipSet("pods", "IPSET", "10.231.1.7"), 0)
}

func countPolicies(b *bench, n object, typeName string) (count int) {
	for _, p := range each(b.get(hns.KindNetwork, n.id), "Policies") {
		if text(p, "Type") == typeName {
			count++
		}
	}
	return count
}

// extensions: the first of the switch can be switched, one that is not there
// cannot, and on a switch of two networks none can.
func extensions(b *bench) {
	n := b.bridge()
	doc := b.answers("in schema 1", v1Call("GET", "/networks/"+n.id.String(), ""), 0)
	id := text(doc, "Extensions.0.Id")
	b.fits("there is one", doc, "Extensions.0.Id", isID)
	on := opposite(text(doc, "Extensions.0.IsEnabled"))
	set := func(step, id string, want hns.Code) {
		b.modify(step, hns.KindNetwork, n.id, request("Update", "Extension", fmt.Sprintf(`{"Id":%q,"IsEnabled":%s}`, id, on)), want)
	}
	set("unknown", "11111111-2222-4333-8444-555555555555", hns.CodeSwitchExtensionNotFound)
	set("alone on the switch", id, 0)
	b.field("it is switched", b.v1(hns.KindNetwork, n.id), "Extensions.0.IsEnabled", on)
	b.bridge()
	set("shared switch", id, hns.CodeSharedSwitchModification)
}

// opposite returns the other truth.
func opposite(s string) string { return strconv.FormatBool(s != "true") }
