package v1doc_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

// conversions are documents in both schemas. back is what schema 2 becomes in
// schema 1, where that is not the document it was made of.
var conversions = []struct {
	name         string
	kind         hns.Kind
	v1, v2, back string
}{
	{"overlay", hns.KindNetwork, `{"ID":"a","Owner":"me","Name":"vxlan0","Type":"overlay","Flags":8,"NetworkAdapterName":"Ethernet","SourceMac":"00-15-5D-00-00-01",
		"DrMacAddress":"00-15-5D-00-00-02","AutomaticDNS":true,"ManagementIP":"192.0.2.10","DNSDomain":"example","DNSSuffix":"a.test, b.test","DNSServerList":"10.0.0.10,,10.0.0.11",
		"MacPools":[{"StartMacAddress":"00-15-5D-52-C0-00","EndMacAddress":"00-15-5D-52-CF-FF"}],
		"Subnets":[{"ID":"s","AddressPrefix":"10.244.0.0/16","GatewayAddress":"10.244.0.1","Flags":1,"ObjectType":5,"Policies":[{"Type":"VSID","VSID":4096}],
			"IpSubnets":[{"ID":"b","IpAddressPrefix":"10.244.0.0/16","Flags":3,"ObjectType":6}]}],"CurrentEndpointCount":3}`,
		`{"ID":"a","Owner":"me","Name":"vxlan0","Type":"overlay","Flags":8,"Dns":{"Domain":"example","Search":["a.test","b.test"],"ServerList":["10.0.0.10","10.0.0.11"]},
		"MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-52-C0-00","EndMacAddress":"00-15-5D-52-CF-FF"}]},"Policies":[
			{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}},{"Type":"SourceMacAddress","Settings":{"SourceMacAddress":"00-15-5D-00-00-01"}},
			{"Type":"DrMacAddress","Settings":{"Address":"00-15-5D-00-00-02"}},{"Type":"AutomaticDNS","Settings":{"Enable":true}},
			{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.10"}}],
		"Ipams":[{"Subnets":[{"ID":"s","IpAddressPrefix":"10.244.0.0/16","Flags":1,"Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}],
			"Routes":[{"NextHop":"10.244.0.1","DestinationPrefix":"0.0.0.0/0"}],"IpSubnets":[{"ID":"b","IpAddressPrefix":"10.244.0.0/16","Flags":3}]}]}]}`,
		`{"ID":"a","Owner":"me","Name":"vxlan0","Type":"overlay","Flags":8,"NetworkAdapterName":"Ethernet","SourceMac":"00-15-5D-00-00-01",
		"DrMacAddress":"00-15-5D-00-00-02","AutomaticDNS":true,"ManagementIP":"192.0.2.10","DNSDomain":"example","DNSSuffix":"a.test,b.test","DNSServerList":"10.0.0.10,10.0.0.11",
		"MacPools":[{"StartMacAddress":"00-15-5D-52-C0-00","EndMacAddress":"00-15-5D-52-CF-FF"}],
		"Subnets":[{"ID":"s","AddressPrefix":"10.244.0.0/16","GatewayAddress":"10.244.0.1","Flags":1,"Policies":[{"Type":"VSID","VSID":4096}],
			"IpSubnets":[{"ID":"b","IpAddressPrefix":"10.244.0.0/16","Flags":3}]}]}`},
	// The management IP is a policy on Overlay only.
	{"bridge", hns.KindNetwork, `{"Type":"L2Bridge","ManagementIP":"192.0.2.10","Subnets":[{"AddressPrefix":"fd00::/64","GatewayAddress":"fd00::1"}],"Policies":[]}`,
		`{"Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"fd00::/64","Routes":[{"NextHop":"fd00::1","DestinationPrefix":"::/0"}]}]}]}`,
		`{"Type":"L2Bridge","Subnets":[{"AddressPrefix":"fd00::/64","GatewayAddress":"fd00::1"}]}`},
	{"network policies", hns.KindNetwork, `{"Type":"Overlay","Policies":[{"Type":"HostRoute"},{"Type":"VLAN","VLAN":7},
		{"Type":"RemoteSubnetRoute","DestinationPrefix":"10.9.0.0/16","IsolationId":4096,"ProviderAddress":"192.0.2.7","DistributedRouterMacAddress":"00-15-5D-00-00-03"}]}`,
		`{"Type":"Overlay","Policies":[{"Type":"HostRoute"},{"Type":"VLAN","Settings":{"IsolationId":7}},
		{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.9.0.0/16","IsolationId":4096,"ProviderAddress":"192.0.2.7","DistributedRouterMacAddress":"00-15-5D-00-00-03"}}]}`, ""},
	{"endpoint", hns.KindEndpoint, `{"ID":"e","Owner":"me","Name":"x","VirtualNetwork":"n","MacAddress":"00-15-5D-00-00-04","Namespace":{"ID":"ns"},"IsRemoteEndpoint":true,
		"DisableICC":true,"EnableLowMetric":true,"Flags":16,"EncapOverhead":50,"IPAddress":"10.244.0.7","PrefixLength":16,"IPSubnetId":"b","GatewayAddress":"10.244.0.1",
		"IPv6Address":"fd00::7","IPv6PrefixLength":64,"GatewayAddressV6":"fd00::1","DNSServerList":"10.0.0.10"}`,
		`{"ID":"e","Owner":"me","Name":"x","HostComputeNetwork":"n","MacAddress":"00-15-5D-00-00-04","HostComputeNamespace":"ns","Flags":27,"Dns":{"ServerList":["10.0.0.10"]},
		"IpConfigurations":[{"IpAddress":"10.244.0.7","PrefixLength":16,"IpSubnetId":"b"},{"IpAddress":"fd00::7","PrefixLength":64}],
		"Routes":[{"NextHop":"10.244.0.1","DestinationPrefix":"0.0.0.0/0"},{"NextHop":"fd00::1","DestinationPrefix":"::/0"}],
		"Policies":[{"Type":"EncapOverhead","Settings":{"Overhead":50}}]}`, ""},
	// The families of gateways are those of the addresses; 0.0.0.0 is none of its own.
	{"gateways", hns.KindEndpoint, `{"GatewayAddress":"fd00::1","IPAddress":""}`, `{"Routes":[{"NextHop":"fd00::1","DestinationPrefix":"::/0"}]}`, `{"GatewayAddressV6":"fd00::1"}`},
	{"endpoint policies", hns.KindEndpoint, `{"Policies":[{"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":8088,"ExternalPortReserved":true},
		{"Type":"nat","Protocol":"UDP","InternalPort":53,"ExternalPort":53,"Flags":1},{"Type":"PA","PA":"192.0.2.10"},{"Type":"OutBoundNAT","VIP":"192.0.2.10","ExceptionList":["10.0.0.0/8"],"Destinations":["10.9.0.0/16"],"MaxPortPoolUsage":9},
		{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true},{"Type":"PROXY","IP":"10.0.0.1","Port":"80","Destination":"10.0.0.0/8","OutboundNat":true},
		{"Type":"QOS","MaximumOutgoingBandwidthInBytes":5},{"Type":"L2Driver"},{"Type":"SetPolicy","Id":"s","Values":"10.0.0.1"},
		{"Type":"ACL","Action":"Allow","Direction":"In","Protocol":6,"LocalPort":80,"RemotePorts":"1-9"}]}`,
		`{"Policies":[{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8088,"Flags":4}},
		{"Type":"PortMapping","Settings":{"Protocol":17,"InternalPort":53,"ExternalPort":53,"Flags":1}},{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.10"}},
		{"Type":"OutBoundNAT","Settings":{"VirtualIP":"192.0.2.10","Exceptions":["10.0.0.0/8"],"Destinations":["10.9.0.0/16"],"MaxPortPoolUsage":9}},
		{"Type":"SDNRoute","Settings":{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}},{"Type":"L4Proxy","Settings":{"IP":"10.0.0.1","Port":"80","Destination":"10.0.0.0/8","OutboundNat":true}},
		{"Type":"QOS","Settings":{"MaximumOutgoingBandwidthInBytes":5}},{"Type":"L2Driver"},{"Type":"SetPolicy","Settings":{"Id":"s","Values":"10.0.0.1"}},
		{"Type":"ACL","Settings":{"Action":"Allow","Direction":"In","Protocols":"6","LocalPorts":"80","RemotePorts":"1-9"}}]}`,
		`{"Policies":[{"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":8088,"ExternalPortReserved":true},
		{"Type":"NAT","Protocol":"UDP","InternalPort":53,"ExternalPort":53,"Flags":1},{"Type":"PA","PA":"192.0.2.10"},{"Type":"OutBoundNAT","VIP":"192.0.2.10","ExceptionList":["10.0.0.0/8"],"Destinations":["10.9.0.0/16"],"MaxPortPoolUsage":9},
		{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true},{"Type":"PROXY","IP":"10.0.0.1","Port":"80","Destination":"10.0.0.0/8","OutboundNat":true},
		{"Type":"QOS","MaximumOutgoingBandwidthInBytes":5},{"Type":"L2Driver"},{"Type":"SetPolicy","Id":"s","Values":"10.0.0.1"},
		{"Type":"ACL","Action":"Allow","Direction":"In","Protocols":"6","LocalPorts":"80","RemotePorts":"1-9"}]}`},
	// Values that are only odd are for the reader of schema 2.
	{"odd values", hns.KindEndpoint, `{"PrefixLength":"x","IPAddress":"7","GatewayAddress":"<gw>","Name":7,"Policies":[{"Type":"NAT","Protocol":"ESP","InternalPort":"http"}]}`,
		`{"Name":7,"IpConfigurations":[{"IpAddress":"7","PrefixLength":"x"}],"Routes":[{"NextHop":"<gw>","DestinationPrefix":"0.0.0.0/0"}],"Policies":[{"Type":"PortMapping","Settings":{"Protocol":"ESP","InternalPort":"http"}}]}`,
		`{"Name":7,"IPAddress":"7","PrefixLength":"x","GatewayAddress":"<gw>","Policies":[{"Type":"NAT","Protocol":"ESP","InternalPort":"http"}]}`},
	{"namespace", hns.KindNamespace, `{"ID":"n","Owner":"me","IsDefault":true,"CompartmentId":3,"ResourceList":[{"Type":"Endpoint","Data":{"Id":"E"}}],"Containers":["c1"]}`,
		`{"ID":"n","Owner":"me","Type":"HostDefault","NamespaceId":3,"Resources":[{"Type":"Endpoint","Data":{"Id":"E"}},{"Type":"Container","Data":{"Id":"c1"}}]}`, ""},
	{"namespace of a type", hns.KindNamespace, `{"Type":"Host"}`, `{"Type":"Host"}`, `{}`},
	{"load balancer", hns.KindLoadBalancer, `{"ID":"l","Owner":"me","Name":"web","HostComputeNetwork":"n","References":["/endpoints/e1","/endpoints/e2"],"Policies":[
		{"Type":"ELB","Protocol":6,"InternalPort":8080,"ExternalPort":80,"SourceVIP":"10.0.0.9","VIPs":["10.96.0.20"],"IsDSR":true,"ILB":true},
		{"Type":"ELB","Protocol":17,"InternalPort":53,"ExternalPort":53,"SourceVIP":"10.0.0.9","VIPs":["10.96.0.20"],"IsDSR":true}]}`,
		`{"ID":"l","Owner":"me","Name":"web","HostComputeNetwork":"n","HostComputeEndpoints":["e1","e2"],"SourceVIP":"10.0.0.9","FrontendVIPs":["10.96.0.20"],"Flags":1,
		"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80,"Flags":1},{"Protocol":17,"InternalPort":53,"ExternalPort":53}]}`, ""},
	// What is left out is as good as false or empty.
	{"ELB policies that agree", hns.KindLoadBalancer, `{"References":["e1"],"Policies":[{"Type":"elb","Protocol":6,"InternalPort":1,"ExternalPort":1,"IsDSR":false,"VIPs":["fd00::1"]},
		{"Type":"ELB","Protocol":17,"InternalPort":2,"ExternalPort":2,"SourceVIP":"","VIPs":["fd00::1"]}]}`,
		`{"HostComputeEndpoints":["e1"],"FrontendVIPs":["fd00::1"],"Flags":2,"PortMappings":[{"Protocol":6,"InternalPort":1,"ExternalPort":1},{"Protocol":17,"InternalPort":2,"ExternalPort":2}]}`,
		`{"References":["/endpoints/e1"],"Policies":[{"Type":"ELB","Protocol":6,"InternalPort":1,"ExternalPort":1,"VIPs":["fd00::1"]},{"Type":"ELB","Protocol":17,"InternalPort":2,"ExternalPort":2,"VIPs":["fd00::1"]}]}`},
	{"routes", hns.KindRoute, `{"References":["/endpoints/e1"],"Policies":[{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true}]}`,
		`{"HostComputeEndpoints":["e1"],"Routes":[{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}]}`, ""},
}

func TestConversions(t *testing.T) {
	value := func(doc []byte) (v any) {
		if err := json.Unmarshal(doc, &v); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		return v
	}
	for _, tt := range conversions {
		t.Run(tt.name, func(t *testing.T) {
			v2, err := v1doc.ToV2(tt.kind, []byte(tt.v1))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(value([]byte(tt.v2)), value(v2)); diff != "" {
				t.Errorf("in schema 2 (-want +got):\n%s", diff)
			}
			back := tt.back
			if back == "" {
				back = tt.v1
			}
			v1, err := v1doc.ToV1(tt.kind, []byte(tt.v2))
			if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(value([]byte(back)), value(v1)); diff != "" {
				t.Errorf("back in schema 1 (-want +got):\n%s", diff)
			}
		})
	}
}

// What a dump may hold, and HNS would not take.
func TestToV2Refuses(t *testing.T) {
	tests := []struct {
		name       string
		kind       hns.Kind
		doc        string
		path, rule string // of the first complaint
	}{
		{"a subnet by itself", hns.KindNetwork, `{"Subnets":{"AddressPrefix":"10.0.0.0/8"}}`, "Subnets", v1doc.RuleShape},
		{"a subnet as text", hns.KindNetwork, `{"Subnets":["10.0.0.0/8"]}`, "Subnets[0]", v1doc.RuleShape},
		{"a policy by itself", hns.KindNetwork, `{"Subnets":[{"Policies":{"Type":"VSID"}}]}`, "Subnets[0].Policies", v1doc.RuleShape},
		{"type of a subnet's policy", hns.KindNetwork, `{"Subnets":[{"Policies":[{"Type":"ELB"}]}]}`, "Subnets[0].Policies[0].Type", v1doc.RulePolicyType},
		{"servers as a list", hns.KindNetwork, `{"DNSServerList":["10.0.0.10"]}`, "DNSServerList", v1doc.RuleShape},
		{"adapter is a number", hns.KindNetwork, `{"NetworkAdapterName":7}`, "NetworkAdapterName", v1doc.RuleShape},
		{"truth as text", hns.KindNetwork, `{"AutomaticDNS":"true"}`, "AutomaticDNS", v1doc.RuleShape},
		{"overhead as text", hns.KindEndpoint, `{"EncapOverhead":"50"}`, "EncapOverhead", v1doc.RuleShape},
		{"namespace as text", hns.KindEndpoint, `{"Namespace":"x"}`, "Namespace", v1doc.RuleShape},
		{"a policy as text", hns.KindEndpoint, `{"Policies":["NAT"]}`, "Policies[0]", v1doc.RulePolicy},
		{"a policy without type", hns.KindEndpoint, `{"Policies":[{"Type":"PA","PA":"x"},{}]}`, "Policies[1].Type", v1doc.RulePolicyType},
		// microsoft/Windows-Containers#360
		{"a type of schema 2", hns.KindEndpoint, `{"Policies":[{"Type":"PortMapping"}]}`, "Policies[0].Type", v1doc.RulePolicyType},
		{"default as text", hns.KindNamespace, `{"IsDefault":"yes"}`, "IsDefault", v1doc.RuleShape},
		// aws/containers-roadmap#240
		{"no references", hns.KindLoadBalancer, `{"Policies":[{"Type":"ELB"}]}`, "References", v1doc.RulePolicy},
		{"no policies", hns.KindLoadBalancer, `{"References":["a"]}`, "Policies", v1doc.RulePolicy},
		{"a list within", hns.KindLoadBalancer, `{"References":["a"],"Policies":[[]]}`, "Policies[0]", v1doc.RuleShape},
		{"another type", hns.KindLoadBalancer, `{"References":["a"],"Policies":[{"Type":"ROUTE"}]}`, "Policies[0]", v1doc.RulePolicyType},
		{"VIP by itself", hns.KindLoadBalancer, `{"References":["a"],"Policies":[{"Type":"ELB","VIPs":"10.0.0.1"}]}`, "Policies[0].VIPs", v1doc.RulePolicy},
		{"two VIPs", hns.KindLoadBalancer, `{"References":["a"],"Policies":[{"Type":"ELB","VIPs":["10.0.0.1"]},{"Type":"ELB","VIPs":["10.0.0.2"]}]}`, "Policies[1].VIPs", v1doc.RulePolicy},
		{"two types", hns.KindRoute, `{"References":["a"],"Policies":[{"Type":"ROUTE"},{"Type":"ELB"}]}`, "Policies[1]", v1doc.RulePolicyType},
	}
	for _, tt := range tests {
		doc, err := v1doc.ToV2(tt.kind, []byte(tt.doc))
		found := hns.FieldErrors(err)
		if doc != nil || len(found) == 0 || found[0].Path != tt.path || found[0].Rule != tt.rule {
			t.Errorf("%s: %s, %v, want %s of rule %s", tt.name, doc, err, tt.path, tt.rule)
		}
	}
	for _, doc := range []string{"", "null", "[]", "7", `{"a":`} {
		if _, err := v1doc.ToV2(hns.KindNetwork, []byte(doc)); err == nil {
			t.Errorf("%q was read", doc)
		}
		if _, err := v1doc.ToV1(hns.KindNetwork, []byte(doc)); err == nil {
			t.Errorf("%q was written", doc)
		}
	}
	if _, err := v1doc.ToV2(hns.KindService, []byte("{}")); err == nil {
		t.Error("a service has a document")
	}
}

// What schema 1 has no place for is named, and the rest is there.
func TestToV1LeavesOut(t *testing.T) {
	doc, err := v1doc.ToV1(hns.KindEndpoint, []byte(`{"Name":"x","IpConfigurations":[{"IpAddress":"10.0.0.1"},{"IpAddress":"10.0.0.2"}],"Dns":{"Options":["ndots:5"]}}`))
	var paths []string
	for _, e := range hns.FieldErrors(err) {
		paths = append(paths, e.Path)
	}
	same(t, "complaints", []string{"IpConfigurations[1]", "Dns.Options"}, paths)
	same(t, "document", `{"IPAddress":"10.0.0.1","Name":"x"}`, string(doc))
	guest, err := v1doc.ToV1(hns.KindNamespace, []byte(`{"Type":"GuestDefault"}`))
	if len(hns.FieldErrors(err)) != 1 || string(guest) != `{"IsDefault":true}` {
		t.Errorf("%s, %v", guest, err)
	}
}

func TestPolicies(t *testing.T) {
	out, err := v1doc.PoliciesToV2([]json.RawMessage{[]byte(`{"Type":"PA","PA":"192.0.2.10"}`)})
	if err != nil || len(out) != 1 {
		t.Fatalf("%s, %v", out, err)
	}
	same(t, "there", `{"Settings":{"ProviderAddress":"192.0.2.10"},"Type":"ProviderAddress"}`, string(out[0]))
	same(t, "and back", `{"PA":"192.0.2.10","Type":"PA"}`, string(v1doc.PolicyToV1(out[0])))
	if _, err := v1doc.PoliciesToV2([]json.RawMessage{[]byte("7")}); len(hns.FieldErrors(err)) != 1 {
		t.Errorf("error %v", err)
	}
	if got := v1doc.PolicyToV1([]byte("7")); got != nil {
		t.Errorf("a number became %s", got)
	}
}
