package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestEndpointPolicies(t *testing.T) {
	const acl = `{"Type":"ACL","Settings":{"Protocols":"6","Action":"Block","Direction":"Out","RuleType":"Switch","Priority":200`
	const degraded = 5.0
	tests := []struct {
		name, policy string
		want         hns.Code
		state        float64 // 0: 1
		change       func(*emulator.Options)
	}{
		{name: "OutBoundNAT", policy: `{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.50.0.0/16","10.96.0.0/12"]}}`},
		{name: "type in capitals", policy: `{"Type":"SDNROUTE","Settings":{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}}`}, // containerd/containerd#5729
		// projectcalico/calico#8465: schema 1 shape, schema 1 name, unknown name
		{name: "flat", policy: `{"Type":"SDNRoute","DestinationPrefix":"10.96.0.0/12"}`, want: hns.CodeInvalidPolicy},
		{name: "name of schema 1", policy: `{"Type":"PA","PA":"192.0.2.7"}`, want: hns.CodeInvalidPolicyType},
		{name: "unknown", policy: `{"Type":"Bogus","Settings":{}}`, want: hns.CodeInvalidPolicyType},
		{name: "network policy", policy: `{"Type":"HostRoute","Settings":{}}`, want: hns.CodeInvalidPolicyType},
		{name: "no type", policy: `{"Settings":{}}`, want: hns.CodeInvalidPolicyType},
		{name: "type is no text", policy: `{"Type":7,"Settings":{}}`, want: hns.CodeInvalidPolicyType},
		{name: "no object", policy: `7`, want: hns.CodeInvalidPolicy},
		{name: "settings are a list", policy: `{"Type":"OutBoundNAT","Settings":[]}`, want: hns.CodeInvalidPolicy},
		// containerd/containerd#5729, projectcalico/calico#5189
		{name: "placeholder", policy: `{"Type":"OutBoundNAT","Settings":{"Exceptions":["<cidr>"]}}`, state: degraded},
		{name: "placeholder in route", policy: `{"Type":"SDNRoute","Settings":{"DestinationPrefix":"<cidr>"}}`, state: degraded},
		{name: "placeholder refused", policy: `{"Type":"OutBoundNAT","Settings":{"Exceptions":["<cidr>"]}}`, want: hns.CodeInvalidPolicy,
			change: func(o *emulator.Options) { o.RefuseBadPrefix = true }},
		// microsoft/hcsshim#1951
		{name: "host bits", policy: `{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.96.0.1/12"]}}`, want: hns.CodeInvalidPolicy},
		{name: "host bits on old HNS", policy: `{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.96.0.1/12"]}}`, change: version(emulator.WindowsServer2019)},
		{name: "exceptions are text", policy: `{"Type":"OutBoundNAT","Settings":{"Exceptions":"10.0.0.0/8"}}`, want: hns.CodeInvalidPolicy},
		{name: "bad virtual IP", policy: `{"Type":"OutBoundNAT","Settings":{"VirtualIP":"x"}}`, want: hns.CodeInvalidPolicy},
		{name: "route without prefix", policy: `{"Type":"SDNRoute","Settings":{"NeedEncap":true}}`, want: hns.CodeInvalidPolicy},
		{name: "route with bad hop", policy: `{"Type":"SDNRoute","Settings":{"DestinationPrefix":"10.0.0.0/8","NextHop":"x"}}`, want: hns.CodeInvalidPolicy},
		{name: "ACL", policy: acl + `,"RemoteAddresses":"10.0.0.25/32, fd00::1","RemotePorts":"80,8000-8010"}}`},
		// microsoft/hcsshim#1059
		{name: "ACL for Any", policy: acl + `,"LocalAddresses":"Any"}}`, want: hns.CodeInvalidPolicy},
		{name: "ACL ports upside down", policy: acl + `,"LocalPorts":"90-80"}}`, want: hns.CodeInvalidPolicy},
		{name: "ACL any protocol", policy: `{"Type":"ACL","Settings":{"Protocols":"256","Action":"Allow","Direction":"In"}}`},
		{name: "ACL helper protocol of VXLAN", policy: `{"Type":"ACL","Settings":{"Protocols":"252","Action":"Allow","Direction":"In"}}`},
		{name: "ACL helper protocol too early", policy: `{"Type":"ACL","Settings":{"Protocols":"252","Action":"Allow","Direction":"In"}}`, want: hns.CodeInvalidPolicy,
			change: version(emulator.WindowsServer2019)},
		{name: "ACL protocol 300", policy: `{"Type":"ACL","Settings":{"Protocols":"300","Action":"Allow","Direction":"In"}}`, want: hns.CodeInvalidPolicy},
		{name: "ACL without action", policy: `{"Type":"ACL","Settings":{"Direction":"In"}}`, want: hns.CodeInvalidPolicy},
		{name: "ACL direction", policy: `{"Type":"ACL","Settings":{"Action":"Allow","Direction":"Up"}}`, want: hns.CodeInvalidPolicy},
		{name: "ACL rule type", policy: `{"Type":"ACL","Settings":{"Action":"Allow","Direction":"In","RuleType":"Router"}}`, want: hns.CodeInvalidPolicy},
		{name: "provider address", policy: `{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.7"}}`},
		{name: "provider address empty", policy: `{"Type":"ProviderAddress","Settings":{}}`, want: hns.CodeInvalidPolicy},
		{name: "two provider addresses", policy: `{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.7"}},{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.8"}}`, want: hns.CodePolicyExists},
		{name: "interface parameters", policy: `{"Type":"InterfaceParameters","Settings":{"Mtu":1450}}`},
		{name: "interface parameters twice", policy: `{"Type":"InterfaceParameters","Settings":{"Mtu":1450}},{"Type":"InterfaceParameters","Settings":{"Mtu":1400}}`, want: hns.CodeInterfaceParametersExists},
		{name: "QOS", policy: `{"Type":"QOS","Settings":{"MaximumOutgoingBandwidthInBytes":1000}}`},
		{name: "QOS negative", policy: `{"Type":"QOS","Settings":{"MaximumOutgoingBandwidthInBytes":-1}}`, want: hns.CodeInvalidPolicy},
		{name: "VLAN", policy: `{"Type":"VLAN","Settings":{"IsolationId":4094}}`},
		{name: "VLAN 4095", policy: `{"Type":"VLAN","Settings":{"IsolationId":4095}}`, want: hns.CodeInvalidPolicy},
		{name: "L2Driver bare", policy: `{"Type":"L2Driver"}`},
		{name: "proxy", policy: `{"Type":"L4WFPPROXY","Settings":{"OutboundProxyPort":"80"}}`},
		{name: "proxy on old HNS", policy: `{"Type":"L4WFPPROXY","Settings":{"OutboundProxyPort":"80"}}`, want: hns.CodeInvalidPolicyType, change: version(emulator.WindowsServer2019)},
		{name: "tiers too early", policy: `{"Type":"TierAcl","Settings":{"Name":"t","Direction":"In"}}`, want: hns.CodeInvalidPolicyType},
		{name: "tiers", policy: `{"Type":"TierAcl","Settings":{"Name":"t","Direction":"In","Order":1,"TierAclRules":[{"Id":"r","Protocols":"6","TierAclRuleAction":"Pass","Priority":200}]}}`, change: version(emulator.WindowsServer2025)},
		{name: "tier with bad rule", policy: `{"Type":"TierAcl","Settings":{"Name":"t","Direction":"In","TierAclRules":[{"TierAclRuleAction":"Maybe"}]}}`, want: hns.CodeInvalidPolicy, change: version(emulator.WindowsServer2025)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.change
			if change == nil {
				change = func(*emulator.Options) {}
			}
			n := newNode(t, change)
			lake := n.lake()
			doc, code := n.create(hns.KindEndpoint, endpoint(lake, "x", policies(tt.policy)))
			if code != tt.want {
				t.Fatalf("at create: %s, want %s", code, tt.want)
			}
			plain := n.id(hns.KindEndpoint, endpoint(lake, "plain"))
			if code := n.policy(hns.KindEndpoint, plain, "Add", tt.policy); code != tt.want {
				t.Errorf("by Add: %s, want %s", code, tt.want)
			}
			if code == 0 && at(t, doc, "State") != max(tt.state, 1) {
				t.Errorf("state %v, want %v", at(t, doc, "State"), max(tt.state, 1))
			}
		})
	}
}

// containerd/containerd#5729: what was accepted fails much later.
func TestDegradedEndpointCannotAttach(t *testing.T) {
	n := newNode(t)
	ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x", policies(`{"Type":"OutBoundNAT","Settings":{"Exceptions":["<your service cidr>"]}}`)))
	ns := n.id(hns.KindNamespace, namespaceDoc)
	if code := n.join("Add", ns, ep); code != hns.CodeNamespaceAttachFailed {
		t.Errorf("to a namespace: %s", code)
	}
	if _, code := n.call("POST", "/endpoints/"+ep.String()+"/attach", `{"SystemType":"Host","CompartmentId":1}`); code != hns.CodeDegraded {
		t.Errorf("to the host: %s", code)
	}
	if code := n.delete(hns.KindEndpoint, ep); code != 0 {
		t.Errorf("delete: %s", code)
	}
}

func TestSettingsComeBackByteForByte(t *testing.T) {
	n := newNode(t)
	given := []string{
		`{"Exceptions": ["10.0.0.0/8"],  "VirtualIP":"", "x<y&z": 1.50}`,
		`{"NeedEncap":true,"DestinationPrefix":"10.96.0.0/12"}`,
	}
	want := []string{`{"Exceptions":["10.0.0.0/8"],"VirtualIP":"","x<y&z":1.50}`, given[1]}
	doc := n.made(hns.KindEndpoint, endpoint(n.lake(), "x",
		policies(`{"Type":"OutBoundNAT","Settings":`+given[0]+`},{"Type":"SDNRoute","Settings":`+given[1]+`}`)))
	got := append(allSettings(t, doc, "OutBoundNAT"), allSettings(t, doc, "SDNRoute")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every type of the schema is kept, and its settings come back as they were.
func TestEveryPolicyTypeIsKept(t *testing.T) {
	const acl = `{"Id":"a","Protocols":"6","Action":"Allow","Direction":"In","LocalAddresses":"10.0.0.0/24,10.0.0.21","LocalPorts":"80,8000-8010","RuleType":"Switch","Priority":200}`
	const constraint = `{"InterfaceGuid":"11111111-2222-4333-8444-555555555501","InterfaceLuid":1689399632855040,"InterfaceIndex":0,"InterfaceMediaType":6}`
	const proxy = `{"IP":"10.0.0.9","Port":"8080","Protocol":6,"ExceptionList":["10.1.0.0/16"],"Destination":"10.2.0.0/16","OutboundNat":true}`
	endpoints := map[string]string{
		"PortMapping":         `{"Protocol":6,"InternalPort":80,"ExternalPort":8088,"VIP":"192.0.2.10","Flags":1}`,
		"ACL":                 acl,
		"QOS":                 `{"MaximumOutgoingBandwidthInBytes":9000000000}`,
		"L2Driver":            `{}`,
		"OutBoundNAT":         `{"VirtualIP":"192.0.2.10","Exceptions":["10.0.0.0/8"],"Destinations":["10.50.3.7"],"Flags":1,"MaxPortPoolUsage":64}`,
		"SDNRoute":            `{"DestinationPrefix":"10.96.0.0/12","NextHop":"10.50.3.2","NeedEncap":true,"AutomaticEndpointMonitor":false}`,
		"L4Proxy":             proxy,
		"L4WFPPROXY":          `{"InboundProxyPort":"80","OutboundProxyPort":"81","FilterTuple":{"Protocols":"6","Priority":8},"UserSID":"S-1-5-18","InboundExceptions":{"PortExceptions":["8181"]}}`,
		"ProviderAddress":     `{"ProviderAddress":"192.0.2.7"}`,
		"PortName":            `{"Name":"port 1"}`,
		"EncapOverhead":       `{"Overhead":50}`,
		"InterfaceConstraint": constraint,
		"Encryption":          `{"EncryptionMethodType":"Ipsec","AuthenticationMethods":[{"Type":"PresharedKey","Settings":{"Key":"k"}}],"Name":"x","ProtocolType":6}`,
		"VLAN":                `{"IsolationId":7}`,
		"InterfaceParameters": `{"Mtu":1450}`,
		"Iov":                 `{"IovOffloadWeight":100,"QueuePairsRequested":1,"InterruptModeration":"IovInterruptModerationDefault"}`,
		"TierAcl":             `{"Name":"t","Direction":"In","Order":1001,"TierAclRules":[{"Id":"r","TierAclRuleAction":"Pass","Priority":2001}]}`,
		"Firewall":            `{"VmType":"WSL","FirewallPolicyFlags":"None"}`,
	}
	networks := map[string]string{
		"SourceMacAddress":    `{"SourceMacAddress":"00-15-5D-00-00-01"}`,
		"NetAdapterName":      `{"NetworkAdapterName":"Ethernet"}`,
		"InterfaceConstraint": constraint,
		"VSwitchExtension":    `{"ExtensionID":"F74F241B-440F-4433-BB28-00F89EAD20D8","Enable":true}`,
		"ProviderAddress":     `{"ProviderAddress":"192.0.2.10"}`,
		"DrMacAddress":        `{"Address":"00-15-5d-0a-0b-0c"}`,
		"AutomaticDNS":        `{"Enable":true}`,
		"RemoteSubnetRoute":   `{"DestinationPrefix":"10.60.7.0/24","IsolationId":4096,"ProviderAddress":"192.0.2.7","DistributedRouterMacAddress":"00-15-5D-01-02-03"}`,
		"VxlanPort":           `{"Port":4789}`,
		"HostRoute":           `{}`,
		"L4Proxy":             proxy,
		"NetworkACL":          acl,
		"NeighborDiscovery":   `{"Odd":[1,{"x":null}]}`,
	}
	n := newNode(t, version(emulator.WindowsServer2025Serviced))
	for name, want := range networks {
		doc := n.made(hns.KindNetwork, network("n "+name, "Overlay", "10.61.0.0/16", policies(`{"Type":"`+strings.ToLower(name)+`","Settings":`+want+`}`)))
		if got := settings(t, doc, name); got != want {
			t.Errorf("network policy %s: %s, want %s", name, got, want)
		}
		n.delete(hns.KindNetwork, n.parse(text(t, doc, "ID")))
	}
	lake := n.lake()
	for name, want := range endpoints {
		doc := n.made(hns.KindEndpoint, endpoint(lake, name, policies(`{"Type":"`+strings.ToUpper(name)+`","Settings":`+want+`}`)))
		if got := settings(t, doc, name); got != want {
			t.Errorf("endpoint policy %s: %s, want %s", name, got, want)
		}
	}
}

// Six tiers in one request, as microsoft/hcsshim's integration test sends them.
func TestTiersOnL2Bridge(t *testing.T) {
	n := newNode(t, version(emulator.WindowsServer2025))
	ep := n.backends(n.lake(), 1)[0]
	var tiers []string
	for i := range 6 {
		tiers = append(tiers, fmt.Sprintf(`{"Type":"TierAcl","Settings":{"Name":"t%d","Direction":%q,"Order":%d,"TierAclRules":`+
			`[{"Id":"a","Protocols":"6","TierAclRuleAction":"Pass","LocalAddresses":"192.168.100.0/24,10.0.0.21","LocalPorts":"80","Priority":2001},`+
			`{"Id":"b","TierAclRuleAction":"Block","Priority":2100}]}}`, i, []string{"In", "Out"}[i/3], 1001+i))
	}
	for range 2 { // Update replaces them
		if code := n.policy(hns.KindEndpoint, ep, "Update", strings.Join(tiers, ",")); code != 0 {
			t.Fatal(code)
		}
	}
	if got := len(allSettings(t, n.get(hns.KindEndpoint, ep), "TierAcl")); got != 6 {
		t.Errorf("%d tiers", got)
	}
}

func mapping(external int, more string) string {
	return fmt.Sprintf(`{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":%d%s}}`, external, more)
}

func TestPortMappings(t *testing.T) {
	tests := []struct {
		name, policy string
		want         hns.Code
	}{
		{"other port", mapping(8089, ""), 0},
		{"same port", mapping(8088, ""), hns.CodePortExists},
		{"same port, protocol by name", `{"Type":"PortMapping","Settings":{"Protocol":"TCP","InternalPort":81,"ExternalPort":8088}}`, hns.CodePortExists},
		{"other protocol", `{"Type":"PortMapping","Settings":{"Protocol":17,"InternalPort":80,"ExternalPort":8088}}`, 0},
		{"IPv6 of the same port", mapping(8088, `,"Flags":2`), 0}, // Azure/azure-container-networking#1986
		{"one address of a port taken on all", mapping(8088, `,"VIP":"192.0.2.10"`), hns.CodePortExists},
		// moby/moby#26980
		{"another address", mapping(9000, `,"VIP":"192.0.2.11"`), 0},
		{"same address", mapping(9000, `,"VIP":"192.0.2.10"`), hns.CodePortExists},
		{"all addresses of a port taken on one", mapping(9000, `,"VIP":""`), hns.CodePortExists},
		{"0.0.0.0 is all addresses", mapping(9000, `,"VIP":"0.0.0.0"`), hns.CodePortExists},
		{"twice in one document", mapping(7000, "") + "," + mapping(7000, ""), hns.CodePortExists},
		{"no internal port", `{"Type":"PortMapping","Settings":{"Protocol":6,"ExternalPort":8090}}`, hns.CodeInvalidInternalPort},
		{"no protocol", `{"Type":"PortMapping","Settings":{"InternalPort":80,"ExternalPort":8090}}`, hns.CodeInvalidPolicy},
		{"port too high", mapping(65536, ""), hns.CodeInvalidPolicy},
		{"bad address", mapping(8090, `,"VIP":"nope"`), hns.CodeInvalidPolicy},
		{"host chooses", mapping(0, ""), 0},
		{"a program listens", mapping(10250, ""), hns.CodeSharingViolation}, // docker/for-win#3893
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, func(o *emulator.Options) { o.Listeners = []emulator.Listener{{Protocol: 6, Port: 10250}} })
			pond := n.pond()
			n.made(hns.KindEndpoint, endpoint(n.lake(), "first", policies(mapping(8088, "")+","+mapping(9000, `,"VIP":"192.0.2.10"`))))
			before := n.state()
			if _, code := n.create(hns.KindEndpoint, endpoint(pond, "x", policies(tt.policy))); code != tt.want {
				t.Errorf("code %s, want %s", code, tt.want)
			} else if code != 0 && n.state() != before {
				t.Error("a refused create changed the state")
			}
		})
	}
	n := newNode(t)
	glass := n.id(hns.KindNetwork, network("glass", "Transparent", "203.0.113.0/24"))
	if _, code := n.create(hns.KindEndpoint, endpoint(glass, "x", policies(mapping(80, "")))); code != hns.CodeMappingNotSupported {
		t.Errorf("on a Transparent network: %s", code)
	}
}

func TestModifyEndpointPolicies(t *testing.T) {
	const (
		nat  = `{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"]}}`
		acl1 = `{"Type":"ACL","Settings":{"Action":"Allow","Direction":"In","Priority":100}}`
		acl2 = `{"Type":"ACL","Settings":{"Action":"Block","Direction":"Out","Priority":200}}`
		pa   = `{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.7"}}`
	)
	tests := []struct {
		name, request, policies string
		replaceAll              bool
		want                    []string // types
		code                    hns.Code
	}{
		{name: "add", request: "Add", policies: acl2, want: []string{"OutBoundNAT", "ACL", "ACL"}},
		{name: "add the same", request: "Add", policies: acl1, want: []string{"OutBoundNAT", "ACL", "ACL"}},
		{name: "update the type named", request: "Update", policies: acl2 + "," + acl2, want: []string{"OutBoundNAT", "ACL", "ACL"}},
		{name: "update all", request: "Update", policies: acl2, replaceAll: true, want: []string{"ACL"}},
		{name: "update with another type", request: "Update", policies: pa, want: []string{"OutBoundNAT", "ACL", "ProviderAddress"}},
		{name: "update with nothing", request: "Update", want: []string{"OutBoundNAT", "ACL"}},
		{name: "remove", request: "Remove", policies: `{"Type":"acl","Settings":{"Priority":100,"direction":"In","Action":"Allow"}}`, want: []string{"OutBoundNAT"}},
		{name: "remove what is not there", request: "Remove", policies: acl2, want: []string{"OutBoundNAT", "ACL"}, code: hns.CodePolicyNotFound},
		{name: "remove more than is there", request: "Remove", policies: acl1 + "," + acl1, want: []string{"OutBoundNAT", "ACL"}, code: hns.CodePolicyNotFound},
		{name: "refresh", request: "Refresh", policies: acl2, want: []string{"OutBoundNAT", "ACL"}},
		{name: "reset", request: "Reset", want: []string{"OutBoundNAT", "ACL"}, code: hns.CodeRequestUnsupported},
		{name: "one of two is bad", request: "Add", policies: acl2 + `,{"Type":"Bogus"}`, want: []string{"OutBoundNAT", "ACL"}, code: hns.CodeInvalidPolicyType},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, func(o *emulator.Options) { o.UpdateReplacesAll = tt.replaceAll })
			ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x", policies(nat+","+acl1)))
			if code := n.policy(hns.KindEndpoint, ep, tt.request, tt.policies); code != tt.code {
				t.Fatalf("code %s, want %s", code, tt.code)
			}
			var got []string
			doc := n.get(hns.KindEndpoint, ep)
			for i := 0; at(t, doc, "Policies", i) != nil; i++ {
				got = append(got, text(t, doc, "Policies", i, "Type"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPortIsFreeAfterRemove(t *testing.T) {
	n := newNode(t)
	pond := n.pond()
	a, b := n.id(hns.KindEndpoint, endpoint(pond, "a", policies(mapping(8088, "")))), n.id(hns.KindEndpoint, endpoint(pond, "b"))
	if code := n.policy(hns.KindEndpoint, b, "Add", mapping(8088, "")); code != hns.CodePortExists {
		t.Fatalf("while taken: %s", code)
	}
	if code := n.policy(hns.KindEndpoint, a, "Update", mapping(8088, "")); code != 0 {
		t.Fatalf("Update with what the endpoint has: %s", code)
	}
	if code := n.policy(hns.KindEndpoint, a, "Remove", mapping(8088, "")); code != 0 {
		t.Fatal(code)
	}
	if code := n.policy(hns.KindEndpoint, b, "Add", mapping(8088, "")); code != 0 {
		t.Errorf("once free: %s", code)
	}
}
