package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// lakePolicy changes the policies of an endpoint of an L2Bridge network.
func lakePolicy(request, policies string) operation {
	return func(n *node) hns.Code {
		return n.policy(hns.KindEndpoint, n.id(hns.KindEndpoint, endpoint(n.lake(), "x")), request, policies)
	}
}

// fjordPolicy changes the policies of an overlay network, one request after the
// other, and tells of the last.
func fjordPolicy(requests ...string) operation {
	return func(n *node) (code hns.Code) {
		fjord := n.fjord()
		for _, r := range requests {
			request, policies, _ := strings.Cut(r, " ")
			code = n.policy(hns.KindNetwork, fjord, request, policies)
		}
		return code
	}
}

// bridge creates an L2Bridge network with members of a subnet behind its prefix.
func bridge(subnet string, more ...string) operation {
	return creates(hns.KindNetwork, `{"Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.0.0.0/24"`+subnet+`}]}],`+schema2+strings.Join(more, "")+`}`)
}

func lists(kind hns.Kind, filter string) operation {
	return func(n *node) hns.Code {
		_, code := n.try(hns.Request{Verb: hns.VerbList, Kind: kind, Filter: filter})
		return code
	}
}

// posts makes a call about an endpoint of an L2Bridge network.
func posts(action, body string) operation {
	return func(n *node) hns.Code {
		ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x"))
		_, code := n.call("POST", "/endpoints/"+ep.String()+action, body)
		return code
	}
}

// Values that no other test is about. 0 is for those that are taken.
func TestValues(t *testing.T) {
	acl := func(more string) string {
		return `{"Type":"ACL","Settings":{"Action":"Allow","Direction":"In"` + more + `}}`
	}
	tier := func(direction string) string {
		return `{"Type":"TierAcl","Settings":{"Name":"t","Direction":` + direction + `,"Order":1,"TierAclRules":[]}}`
	}
	set := func(more string) string {
		return `Add {"Type":"SetPolicy","Settings":{` + more + `"PolicyType":"IPSET","Values":"10.0.0.1"}}`
	}
	const netACL = `{"Type":"NetworkACL","Settings":{"Action":"Allow","Direction":"In","Priority":200}}`
	new25 := version(emulator.WindowsServer2025)
	tests := []struct {
		name string
		by   operation
		want hns.Code
	}{
		{"a filter that is no JSON", lists(hns.KindNetwork, "{"), hns.CodeInvalidJSON},
		{"the same for namespaces", lists(hns.KindNamespace, "{"), hns.CodeInvalidJSON},
		{"for load balancers", lists(hns.KindLoadBalancer, "[]"), hns.CodeInvalidJSON},
		{"addresses that are no objects", onLake(`,"IpConfigurations":[7]`), hns.CodeInvalidJSON},
		{"a hop that is a number", onLake(`,"Routes":[{"NextHop":7}]`), hns.CodeInvalidJSON},
		{"a metric of more than 16 bits", onLake(`,"Routes":[{"NextHop":"10.50.3.1","DestinationPrefix":"0.0.0.0/0","Metric":70000}]`), hns.CodeInvalidJSON},
		{"the same in a subnet", bridge(`,"Routes":[{"NextHop":"10.0.0.1","DestinationPrefix":"0.0.0.0/0","Metric":65536}]`), hns.CodeInvalidJSON},
		{"schema 3", creates(hns.KindNetwork, `{"Type":"NAT","SchemaVersion":{"Major":3,"Minor":0}}`), hns.CodeInvalidJSON},
		{"a schema whose number is a text", creates(hns.KindNetwork, `{"Type":"NAT","SchemaVersion":{"Major":2,"Minor":"0"}}`), hns.CodeInvalidJSON},
		{"two addresses of a family", onLake(`,"IpConfigurations":[{"IpAddress":"10.50.3.7"},{"IpAddress":"10.50.3.8"}]`), hns.CodeInvalidParameter},
		{"an ACL that passes on", lakePolicy("Add", `{"Type":"ACL","Settings":{"Action":"Pass","Direction":"In"}}`), hns.CodeInvalidPolicy},
		{"an ACL with host bits", lakePolicy("Add", acl(`,"RemoteAddresses":"10.0.0.5/8"`)), hns.CodeInvalidPolicy},
		{"a number of protocol", lakePolicy("Add", acl(`,"Protocols":6`)), 0},
		{"a protocol by name", lakePolicy("Add", acl(`,"Protocols":"6,UDP"`)), hns.CodeInvalidPolicy},
		{"a protocol that is none", lakePolicy("Add", acl(`,"Protocols":"smoke"`)), hns.CodeInvalidPolicy},
		{"a number too large", lakePolicy("Add", acl(`,"Protocols":257`)), hns.CodeInvalidPolicy},
		{"a tier", lakePolicy("Update", tier(`"Out"`)), 0},
		{"a tier in no direction", lakePolicy("Update", tier(`"Up"`)), hns.CodeInvalidPolicy},
		{"policies that are no list", lakePolicy("Add", `],"Policies":{},"x":[`), hns.CodeInvalidJSON},
		{"reset", lakePolicy("Reset", ""), hns.CodeRequestUnsupported},
		{"a port for a machine on an attached endpoint", func(n *node) hns.Code {
			ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x"))
			n.join("Add", n.id(hns.KindNamespace, namespaceDoc), ep)
			return n.modify(hns.KindEndpoint, ep, `{"ResourceType":"Port","RequestType":"Add","Settings":{"VirtualMachineId":"vm"}}`)
		}, hns.CodeEndpointAttached},
		{"no settings", func(n *node) hns.Code {
			return n.modify(hns.KindNetwork, n.lake(), `{"ResourceType":"DNS","RequestType":"Update","Settings":[]}`)
		}, hns.CodeInvalidJSON},
		{"an adapter without name", bridge("", policies(`{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":""}}`)), hns.CodeInvalidPolicy},
		{"unknown IPAM", creates(hns.KindNetwork, `{"Type":"NAT","Ipams":[{"Type":"Magic"}],`+schema2+`}`), hns.CodeInvalidNetwork},
		{"a subnet policy of another kind", bridge(`,"Policies":[{"Type":"ACL","Settings":{}}]`), hns.CodeInvalidPolicyType},
		{"a route to nowhere", bridge(`,"Routes":[{"DestinationPrefix":"all","NextHop":"10.0.0.1"}]`), hns.CodeInvalidPrefix},
		{"a hop that is none", bridge(`,"Routes":[{"DestinationPrefix":"0.0.0.0/0","NextHop":"door"}]`), hns.CodeInvalidIP},
		{"flags that are a list", bridge(`,"Flags":[]`), hns.CodeInvalidJSON},
		{"a namespace that is there", func(n *node) hns.Code {
			return creates(hns.KindNamespace, fmt.Sprintf(`{"ID":%q,`+schema2+`}`, n.id(hns.KindNamespace, namespaceDoc)))(n)
		}, hns.CodeAlreadyExists},
		{"a set without id", fjordPolicy(set("")), hns.CodeInvalidPolicy},
		{"a set", fjordPolicy(set(`"Id":"s",`)), 0},
		{"an update of network ACLs", fjordPolicy("Add "+netACL, "Update "+netACL, "Remove "+netACL), 0},
		{"one that is not there any more", fjordPolicy("Add "+netACL, "Remove "+netACL, "Remove "+netACL), hns.CodePolicyNotFound},
		{"an update that is one subnet twice", fjordPolicy("Update " + remoteSubnet("10.9.0.0/16", "192.0.2.7", "00-15-5D-00-00-01") + "," + remoteSubnet("10.9.0.0/16", "192.0.2.8", "00-15-5D-00-00-02")), hns.CodePolicyExists},
		{"an update of a nested set to what is not there", fjordPolicy(`Add {"Type":"SetPolicy","Settings":{"Id":"n","PolicyType":"NESTEDIPSET"}}`,
			`Update {"Type":"SetPolicy","Settings":{"Id":"n","PolicyType":"NESTEDIPSET","Values":"gone"}}`), hns.CodeInvalidPolicy},
		{"network policies that are no list", fjordPolicy(`Add ],"Policies":{},"x":[`), hns.CodeInvalidJSON},
		{"reset of a network", fjordPolicy("Reset "), hns.CodeRequestUnsupported},
		{"routes that are texts", func(n *node) hns.Code {
			return creates(hns.KindRoute, route(n.backends(n.lake(), 1), "Routes", `"10.0.0.0/8"`))(n)
		}, hns.CodeInvalidJSON},
		{"a route with a bad hop", func(n *node) hns.Code {
			return creates(hns.KindRoute, route(n.backends(n.lake(), 1), "Routes", `{"DestinationPrefix":"10.0.0.0/8","NextHop":"door"}`))(n)
		}, hns.CodeInvalidIP},
		{"a container that is a number", posts("/attach", `{"ContainerId":7}`), hns.CodeInvalidParameter},
		{"detached from another container", posts("/detach", `{"ContainerId":"c"}`), hns.CodeElementNotFound},
		{"detached from what is unknown", posts("/detach", `{"SystemType":"Cloud"}`), hns.CodeInvalidParameter},
		{"an update with a type of schema 2", posts("", `{"Policies":[{"Type":"InterfaceParameters"}]}`), hns.CodeInvalidPolicyType},
		{"an update without a list", posts("", `{"Policies":7}`), hns.CodeInvalidJSON},
		{"an update to a taken port", func(n *node) hns.Code {
			n.id(hns.KindEndpoint, endpoint(n.fjord(), "y", policies(mapping(80, ""))))
			return posts("", `{"Policies":[{"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":80}]}`)(n)
		}, hns.CodePortExists},
		{"DNS of a network that is a number", func(n *node) hns.Code {
			_, code := n.call("POST", "/networks/"+n.lake().String(), `{"DNSSuffix":7}`)
			return code
		}, hns.CodeInvalidJSON},
		{"a namespace without container id", func(n *node) hns.Code {
			_, code := n.call("POST", "/namespaces/"+n.id(hns.KindNamespace, namespaceDoc).String()+"/addresource", `{"Type":"Container"}`)
			return code
		}, hns.CodeInvalidParameter},
		{"a path too long", posts("/attach/now", `{"SystemType":"Host","CompartmentId":1}`), hns.CodeRequestUnsupported},
		{"a reference that is a number", creates(hns.KindLoadBalancer, `{"References":[7],"Policies":[{"Type":"ELB"}]}`), hns.CodeInvalidJSON},
		{"a schema that is a text", creates(hns.KindNetwork, `{"SchemaVersion":"2.0"}`), hns.CodeInvalidJSON},
		{"a gateway of schema 1 that is none", func(n *node) hns.Code {
			_, code := n.call("POST", "/endpoints/", fmt.Sprintf(`{"VirtualNetwork":%q,"GatewayAddress":"<gw>"}`, n.lake()))
			return code
		}, hns.CodeInvalidIP},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, new25)
			if code := tt.by(n); code != tt.want {
				t.Errorf("%s, want %s", code, tt.want)
			}
			checkInvariants(t, n)
		})
	}
}

// The extensions are those of the Windows release, and stay as they were set.
func TestExtensionsOfReleases(t *testing.T) {
	for v, vfp := range map[hns.Version]string{
		emulator.WindowsServer2019: "E9B59CFA-2BE1-4B21-828F-B6FBDBDDC017", emulator.WindowsServer2022: "F74F241B-440F-4433-BB28-00F89EAD20D8",
	} {
		n := newNode(t, version(v))
		lake := n.lake()
		const wfp = "E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A"
		for id, on := range map[string]bool{wfp: true, vfp: false} {
			if code := n.modify(hns.KindNetwork, lake, fmt.Sprintf(`{"ResourceType":"Extension","Settings":{"Id":%q,"IsEnabled":%t}}`, strings.ToLower(id), on)); code != 0 {
				t.Fatal(code)
			}
		}
		doc, _ := n.call("GET", "/networks/"+lake.String(), "")
		for i, want := range []bool{true, false, true} {
			if at(t, doc, "Extensions", i, "IsEnabled") != want {
				t.Errorf("HNS %s: extension %d is not %v: %s", v, i, want, doc)
			}
		}
		if text(t, doc, "Extensions", 1, "Id") != vfp {
			t.Errorf("HNS %s: VFP is %s", v, text(t, doc, "Extensions", 1, "Id"))
		}
		// HNS 9 does not tell of the blocks of a subnet in schema 1.
		if got := at(t, doc, "Subnets", 0, "IpSubnets") != nil; got != (v == emulator.WindowsServer2022) {
			t.Errorf("HNS %s shows address blocks: %v", v, got)
		}
	}
}

func TestGhostIgnoresCase(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		n := newNode(t, func(o *emulator.Options) { o.NetworkNamesIgnoreCase = ignore })
		if err := n.Ghost("Lake"); err != nil {
			t.Fatal(err)
		}
		want := hns.Code(0)
		if ignore {
			want = hns.CodeNetworkExists
		}
		if _, code := n.create(hns.KindNetwork, network("lake", "L2Bridge", "10.50.3.0/24")); code != want {
			t.Errorf("ignoring case %v: %s, want %s", ignore, code, want)
		}
	}
}

// HNS chooses a prefix that neither a network nor the host has.
func TestChosenSubnetIsFree(t *testing.T) {
	n := newNode(t, func(o *emulator.Options) {
		o.Adapters = []emulator.Adapter{{Name: "Ethernet", Addresses: prefixes("172.17.3.4/16")}}
	})
	n.id(hns.KindNetwork, network("a", "Private", "172.18.0.0/20"))
	doc := n.made(hns.KindNetwork, `{"Type":"NAT",`+schema2+`}`)
	if got := text(t, doc, "Ipams", 0, "Subnets", 0, "IpAddressPrefix"); got != "172.18.16.0/20" {
		t.Errorf("chose %s", got)
	}
}
