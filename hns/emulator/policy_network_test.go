package emulator_test

import (
	"fmt"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func remoteSubnet(prefix, provider, mac string) string {
	return fmt.Sprintf(`{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":%q,"IsolationId":4096,"ProviderAddress":%q,"DistributedRouterMacAddress":%q}}`,
		prefix, provider, mac)
}

// flannel-io/flannel#1061, #1137
func TestRemoteSubnetRoutes(t *testing.T) {
	const mac = "00-15-5D-01-02-03"
	tests := []struct {
		name, request, policy string
		want                  hns.Code
		left                  int
	}{
		{"another prefix", "Add", remoteSubnet("10.60.8.0/24", "192.0.2.8", mac), 0, 2},
		{"same again", "Add", remoteSubnet("10.60.7.0/24", "192.0.2.7", mac), hns.CodePolicyExists, 1},
		{"same prefix, other node", "Add", remoteSubnet("10.60.7.0/24", "192.0.2.9", mac), hns.CodePolicyExists, 1},
		{"bad prefix", "Add", remoteSubnet("10.60.7.0", "192.0.2.7", mac), hns.CodeInvalidPrefix, 1},
		{"bad provider", "Add", remoteSubnet("10.60.8.0/24", "", mac), hns.CodeInvalidPolicy, 1},
		{"no MAC", "Add", remoteSubnet("10.60.8.0/24", "192.0.2.7", ""), hns.CodeInvalidPolicy, 1},
		{"remove, MAC in another form", "Remove", remoteSubnet("10.60.7.0/24", "192.0.2.7", "00:15:5d:01:02:03"), 0, 0},
		{"remove with another MAC", "Remove", remoteSubnet("10.60.7.0/24", "192.0.2.7", "00:15:5d:01:02:04"), hns.CodePolicyNotFound, 1},
		{"remove with another node", "Remove", remoteSubnet("10.60.7.0/24", "192.0.2.8", mac), hns.CodePolicyNotFound, 1},
		{"update", "Update", remoteSubnet("10.60.7.0/24", "192.0.2.9", mac), 0, 1},
	}
	for _, tt := range tests {
		n := newNode(t)
		fjord := n.fjord()
		if code := n.policy(hns.KindNetwork, fjord, "Add", remoteSubnet("10.60.7.0/24", "192.0.2.7", mac)); code != 0 {
			t.Fatal(code)
		}
		if code := n.policy(hns.KindNetwork, fjord, tt.request, tt.policy); code != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, code, tt.want)
		}
		if got := len(allSettings(t, n.get(hns.KindNetwork, fjord), "RemoteSubnetRoute")); got != tt.left {
			t.Errorf("%s: %d routes afterwards, want %d", tt.name, got, tt.left)
		}
	}
	n := newNode(t)
	if code := n.policy(hns.KindNetwork, n.lake(), "Add", remoteSubnet("10.60.7.0/24", "192.0.2.7", mac)); code != hns.CodeInvalidNetworkType {
		t.Errorf("on L2Bridge: %s", code)
	}
	old := newNode(t, version(hns.Version{Major: 9, Minor: 1}))
	if code := old.policy(hns.KindNetwork, old.fjord(), "Add", remoteSubnet("10.60.7.0/24", "192.0.2.7", mac)); code != hns.CodeInvalidPolicyType {
		t.Errorf("on HNS 9.1: %s", code)
	}
}

func TestNetworkPolicies(t *testing.T) {
	const acl = `{"Type":"NetworkACL","Settings":{"Protocols":"6","Action":"Block","Direction":"In","LocalAddresses":"10.0.0.1","RuleType":"Switch","Priority":200}}`
	tests := []struct {
		name, policy string
		create, add  hns.Code
		version      hns.Version
	}{
		{name: "HostRoute", policy: `{"Type":"HostRoute","Settings":{}}`},
		{name: "HostRoute bare", policy: `{"Type":"hostroute"}`},
		{name: "NetworkACL", policy: acl, version: emulator.WindowsServer2025},
		{name: "NetworkACL too early", policy: acl, create: hns.CodeInvalidPolicyType, add: hns.CodeInvalidPolicyType},
		{name: "VxlanPort", policy: `{"Type":"VxlanPort","Settings":{"Port":4789}}`, add: hns.CodeInvalidPolicyType},
		{name: "VxlanPort too early", policy: `{"Type":"VxlanPort","Settings":{"Port":4789}}`, version: emulator.WindowsServer2019,
			create: hns.CodeInvalidPolicyType, add: hns.CodeInvalidPolicyType},
		{name: "VxlanPort 0", policy: `{"Type":"VxlanPort","Settings":{}}`, create: hns.CodeInvalidPolicy, add: hns.CodeInvalidPolicyType},
		{name: "source MAC", policy: `{"Type":"SourceMacAddress","Settings":{"SourceMacAddress":"00-15-5D-00-00-01"}}`, add: hns.CodeInvalidPolicyType},
		{name: "source MAC bad", policy: `{"Type":"SourceMacAddress","Settings":{}}`, create: hns.CodeInvalidPolicy, add: hns.CodeInvalidPolicyType},
		{name: "AutomaticDNS", policy: `{"Type":"AutomaticDNS","Settings":{}}`, add: hns.CodeInvalidPolicyType},
		{name: "set at create", policy: `{"Type":"SetPolicy","Settings":{"Id":"s","Name":"s","PolicyType":"IPSET","Values":"10.0.0.1"}}`, create: hns.CodeInvalidPolicyType},
		{name: "unknown layer", policy: `{"Type":"LayerConstraint","Settings":{"LayerId":"x"}}`, create: hns.CodeLayerNotFound, add: hns.CodeInvalidPolicyType},
		{name: "unknown extension", policy: `{"Type":"VSwitchExtension","Settings":{"ExtensionID":"x","Enable":true}}`, create: hns.CodeSwitchExtensionNotFound},
		{name: "endpoint policy", policy: `{"Type":"OutBoundNAT","Settings":{}}`, create: hns.CodeInvalidPolicyType, add: hns.CodeInvalidPolicyType},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, version(tt.version))
			if _, code := n.create(hns.KindNetwork, network("x", "Overlay", "10.61.0.0/16", policies(tt.policy))); code != tt.create {
				t.Errorf("at create: %s, want %s", code, tt.create)
			}
			fjord := n.fjord()
			if code := n.policy(hns.KindNetwork, fjord, "Add", tt.policy); code != tt.add {
				t.Errorf("by Add: %s, want %s", code, tt.add)
			}
		})
	}
}

func TestHostRouteStandsOnce(t *testing.T) {
	n := newNode(t)
	fjord := n.fjord()
	for range 2 {
		if code := n.policy(hns.KindNetwork, fjord, "Add", `{"Type":"HostRoute","Settings":{}}`); code != 0 {
			t.Fatal(code)
		}
	}
	if got := len(allSettings(t, n.get(hns.KindNetwork, fjord), "HostRoute")); got != 1 {
		t.Errorf("%d host routes", got)
	}
	if code := n.policy(hns.KindNetwork, fjord, "Remove", `{"Type":"HostRoute"}`); code != 0 {
		t.Error(code)
	}
}

func TestAddressSets(t *testing.T) {
	set := func(id, kind, values string) string {
		return fmt.Sprintf(`{"Type":"SetPolicy","Settings":{"Id":%q,"Name":%q,"PolicyType":%q,"Values":%q}}`, id, id, kind, values)
	}
	n := newNode(t)
	lake := n.lake()
	for _, step := range []struct {
		request, policy string
		want            hns.Code
	}{
		{"Add", set("pods", "IPSET", "10.50.3.7,10.50.3.8"), 0},
		{"Add", set("all", "NESTEDIPSET", "pods,web"), hns.CodeInvalidPolicy},
		{"Add", set("all", "NESTEDIPSET", "PODS"), 0},
		{"Remove", set("pods", "IPSET", ""), hns.CodeHasReferences},
		{"Update", set("web", "IPSET", "10.50.3.9"), 0}, // unknown: no effect
		{"Remove", set("web", "IPSET", ""), hns.CodePolicyNotFound},
		{"Update", set("pods", "IPSET", "10.50.3.9"), 0},
		{"Add", set("pods", "IPSET", "10.50.3.10"), 0},
		{"Add", set("pods", "HASH", "10.50.3.10"), hns.CodeInvalidPolicy},
	} {
		if code := n.policy(hns.KindNetwork, lake, step.request, step.policy); code != step.want {
			t.Errorf("%s %s: %s, want %s", step.request, step.policy, code, step.want)
		}
	}
	if got := allSettings(t, n.get(hns.KindNetwork, lake), "SetPolicy"); len(got) != 2 || at(t, []byte(got[0]), "Values") != "10.50.3.10" {
		t.Errorf("sets: %s", got)
	}
	acl := func(addresses string) string {
		return policies(`{"Type":"ACL","Settings":{"Action":"Allow","Direction":"In","RemoteAddresses":"` + addresses + `"}}`)
	}
	if _, code := n.create(hns.KindEndpoint, endpoint(lake, "x", acl("pods"))); code != 0 {
		t.Errorf("ACL that names a set: %s", code)
	}
	if _, code := n.create(hns.KindEndpoint, endpoint(lake, "x", acl("web"))); code != hns.CodeInvalidPolicy {
		t.Errorf("ACL that names no set: %s", code)
	}
	for _, id := range []string{"all", "pods"} {
		if code := n.policy(hns.KindNetwork, lake, "Remove", set(id, "IPSET", "")); code != 0 {
			t.Errorf("remove %s: %s", id, code)
		}
	}
}
