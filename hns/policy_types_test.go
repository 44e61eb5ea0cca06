package hns_test

import (
	"encoding/json"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// Every other policy of the schema that has a struct.
func TestTypedEndpointPolicies(t *testing.T) {
	checkTyped(t, []typedCase{
		{"endpoint", `{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8088}}`,
			hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088}, ""},
		{"endpoint", `{"Type":"PortMapping","Settings":{"Protocol":17,"InternalPort":53,"ExternalPort":65535,"VIP":"192.0.2.10","Flags":7}}`,
			hns.PortMapping{Protocol: hns.UDP, InternalPort: 53, ExternalPort: 65535, VIP: addr("192.0.2.10"), Flags: hns.NATLocalRoutedVIP | hns.NATIPv6 | 4}, ""},
		{"endpoint", `{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8088,"VIP":""}}`,
			hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088}, `{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8088}}`},
		{"endpoint", `{"Type":"ACL","Settings":{"Action":"Allow","Direction":"Out"}}`, hns.ACL{Action: hns.ACLAllow, Direction: hns.Out}, ""},
		{"endpoint", `{"Type":"ACL","Settings":{"Id":"rule <1>","Protocols":"6,17","Action":"Block","Direction":"In","LocalAddresses":"10.50.3.0/24, 10.50.4.7","RemoteAddresses":"fd00::/8","LocalPorts":"80,8000-8080","RemotePorts":"1024-65535","RuleType":"Switch","Priority":65500}}`,
			hns.ACL{ID: "rule <1>", Protocols: []string{"6", "17"}, Action: hns.ACLBlock, Direction: hns.In,
				LocalAddresses: []string{"10.50.3.0/24", " 10.50.4.7"}, RemoteAddresses: []string{"fd00::/8"},
				LocalPorts: []string{"80", "8000-8080"}, RemotePorts: []string{"1024-65535"}, RuleType: hns.RuleSwitch, Priority: hns.MaxACLPriority}, ""},
		{"endpoint", `{"Type":"ACL","Settings":{"Action":"Block","Direction":"In","Protocols":"256","RuleType":"Host","Priority":0}}`,
			hns.ACL{Protocols: []string{"256"}, Action: hns.ACLBlock, Direction: hns.In, RuleType: hns.RuleHost},
			`{"Type":"ACL","Settings":{"Protocols":"256","Action":"Block","Direction":"In","RuleType":"Host"}}`},
		{"endpoint", `{"Type":"TierAcl","Settings":{"Name":"in","Direction":"In","Order":1001,"TierAclRules":[` +
			`{"Id":"a","Protocols":"6","TierAclRuleAction":"Pass","LocalAddresses":"10.50.3.0/24","RemoteAddresses":"10.50.4.0/24","LocalPorts":"80","RemotePorts":"1024-65535","Priority":2001},` +
			`{"TierAclRuleAction":"Block","Priority":2100}]}}`,
			hns.TierACL{Name: "in", Direction: hns.In, Order: 1001, Rules: []hns.TierACLRule{
				{ID: "a", Protocols: []string{"6"}, Action: hns.ACLPass, LocalAddresses: []string{"10.50.3.0/24"}, RemoteAddresses: []string{"10.50.4.0/24"},
					LocalPorts: []string{"80"}, RemotePorts: []string{"1024-65535"}, Priority: 2001},
				{Action: hns.ACLBlock, Priority: 2100},
			}}, ""},
		{"endpoint", `{"Type":"TierAcl","Settings":{"Name":"","Direction":"Out","Order":0}}`, hns.TierACL{Direction: hns.Out}, ""},
		{"endpoint", `{"Type":"QOS","Settings":{"MaximumOutgoingBandwidthInBytes":18446744073709551615}}`, hns.QOS{MaximumOutgoingBandwidthInBytes: 1<<64 - 1}, ""},
		{"endpoint", `{"Type":"QOS","Settings":{"MaximumOutgoingBandwidthInBytes":0}}`, hns.QOS{}, ""},
		{"endpoint", `{"Type":"L2Driver"}`, hns.L2Driver{}, `{"Type":"L2Driver","Settings":{}}`},
		{"endpoint", `{"Type":"L2Driver","Settings":{}}`, hns.L2Driver{}, ""},
		{"endpoint", `{"Type":"PortName","Settings":{"Name":"port & <1>"}}`, hns.PortName{Name: "port & <1>"}, ""},
		{"endpoint", `{"Type":"EncapOverhead","Settings":{"Overhead":50}}`, hns.EncapOverhead{Overhead: 50}, ""},
		{"endpoint", `{"Type":"InterfaceParameters","Settings":{"Mtu":1450}}`, hns.InterfaceParameters{MTU: 1450}, ""},
		{"endpoint", `{"Type":"Iov","Settings":{"IovOffloadWeight":100,"QueuePairsRequested":4,"InterruptModeration":300}}`,
			hns.IOV{OffloadWeight: 100, QueuePairsRequested: 4, InterruptModeration: 300}, ""},

		// The schema and hcsshim have two names for one list: each stays as given.
		{"endpoint", `{"Type":"L4Proxy","Settings":{"IP":"10.50.3.9","Port":"15001","Protocol":6,"ExceptionList":["10.96.0.0/12"],"Destination":"10.0.0.0/8","OutboundNat":true}}`,
			hns.L4Proxy{IP: addr("10.50.3.9"), Port: 15001, Protocol: hns.TCP, ExceptionList: []string{"10.96.0.0/12"}, Destination: "10.0.0.0/8", OutboundNAT: true}, ""},
		{"network", `{"Type":"L4Proxy","Settings":{"IP":"10.50.3.9","Port":"15001","Protocol":6,"Exceptions":["10.96.0.0/12"],"Destination":"","OutboundNAT":true}}`,
			hns.L4Proxy{IP: addr("10.50.3.9"), Port: 15001, Protocol: hns.TCP, Exceptions: []string{"10.96.0.0/12"}, OutboundNAT: true},
			`{"Type":"L4Proxy","Settings":{"IP":"10.50.3.9","Port":"15001","Protocol":6,"Exceptions":["10.96.0.0/12"],"OutboundNat":true}}`},
		{"endpoint", `{"Type":"L4WFPPROXY","Settings":{"InboundProxyPort":"15003","OutboundProxyPort":"15001","FilterTuple":{"Protocols":"6","LocalAddresses":"10.50.3.7","RemoteAddresses":"10.0.0.0/8","LocalPorts":"80","RemotePorts":"443","Priority":8},"UserSID":"S-1-5-18",` +
			`"InboundExceptions":{"IpAddressExceptions":["10.50.3.1"],"PortExceptions":["8181"]},"OutboundExceptions":{"IpAddressExceptions":["10.96.0.0/12"],"PortExceptions":["81","90-99"]}}}`,
			hns.L4WFPProxy{InboundPort: 15003, OutboundPort: 15001, UserSID: "S-1-5-18",
				Filter: hns.FiveTuple{Protocols: []string{"6"}, LocalAddresses: []string{"10.50.3.7"}, RemoteAddresses: []string{"10.0.0.0/8"},
					LocalPorts: []string{"80"}, RemotePorts: []string{"443"}, Priority: 8},
				InboundExceptions:  hns.ProxyExceptions{Addresses: []string{"10.50.3.1"}, Ports: []string{"8181"}},
				OutboundExceptions: hns.ProxyExceptions{Addresses: []string{"10.96.0.0/12"}, Ports: []string{"81", "90-99"}}}, ""},
		// hcsshim sends empty structs for what it has no value for.
		{"endpoint", `{"Type":"L4WFPPROXY","Settings":{"OutboundProxyPort":"15001","FilterTuple":{},"InboundExceptions":{},"OutboundExceptions":{}}}`,
			hns.L4WFPProxy{OutboundPort: 15001}, `{"Type":"L4WFPPROXY","Settings":{"OutboundProxyPort":"15001"}}`},
		{"endpoint", `{"Type":"l4WfpProxy","Settings":{"InboundProxyPort":"1","FilterTuple":{"Priority":8},"OutboundExceptions":{"PortExceptions":["81"]}}}`,
			hns.L4WFPProxy{InboundPort: 1, Filter: hns.FiveTuple{Priority: 8}, OutboundExceptions: hns.ProxyExceptions{Ports: []string{"81"}}},
			`{"Type":"L4WFPPROXY","Settings":{"InboundProxyPort":"1","FilterTuple":{"Priority":8},"OutboundExceptions":{"PortExceptions":["81"]}}}`},
	})
}

func TestTypedNetworkPolicies(t *testing.T) {
	nic := mustID("5e000000-0000-4000-8000-0000000000ab")
	checkTyped(t, []typedCase{
		{"network", `{"Type":"SourceMacAddress","Settings":{"SourceMacAddress":"00-15-5D-01-02-03"}}`, hns.SourceMACAddress{Address: mustMAC("00-15-5D-01-02-03")}, ""},
		{"network", `{"Type":"InterfaceConstraint","Settings":{"InterfaceGuid":"5e000000-0000-4000-8000-0000000000ab","InterfaceLuid":1689399632855040,"InterfaceIndex":7,"InterfaceMediaType":14,"InterfaceAlias":"Ethernet","InterfaceDescription":"Intel(R) <1>"}}`,
			hns.InterfaceConstraint{GUID: nic, LUID: 1689399632855040, Index: 7, MediaType: 14, Alias: "Ethernet", Description: "Intel(R) <1>"}, ""},
		{"endpoint", `{"Type":"InterfaceConstraint","Settings":{"InterfaceAlias":"Ethernet 2"}}`, hns.InterfaceConstraint{Alias: "Ethernet 2"}, ""},
		// Ids compare ignoring case.
		{"network", `{"Type":"VSwitchExtension","Settings":{"ExtensionID":"5E000000-0000-4000-8000-0000000000AB","Enable":true}}`,
			hns.VSwitchExtension{ID: nic, Enable: true}, `{"Type":"VSwitchExtension","Settings":{"ExtensionID":"5e000000-0000-4000-8000-0000000000ab","Enable":true}}`},
		{"network", `{"Type":"AutomaticDNS","Settings":{"Enable":true}}`, hns.AutomaticDNS{Enable: true}, ""},
		{"network", `{"Type":"VxlanPort","Settings":{"Port":8472}}`, hns.VXLANPort{Port: 8472}, ""},
		{"network", `{"Type":"LayerConstraint","Settings":{"LayerId":"5e000000-0000-4000-8000-0000000000ab"}}`, hns.LayerConstraint{LayerID: nic}, ""},
		{"network", `{"Type":"NetworkACL","Settings":{"Protocols":"6","Action":"Allow","Direction":"In","LocalAddresses":"10.50.3.0/24,10.50.4.7","LocalPorts":"80,8080","RuleType":"Switch","Priority":200}}`,
			hns.NetworkACL{Protocols: []string{"6"}, Action: hns.ACLAllow, Direction: hns.In, LocalAddresses: []string{"10.50.3.0/24", "10.50.4.7"},
				LocalPorts: []string{"80", "8080"}, RuleType: hns.RuleSwitch, Priority: 200}, ""},
		{"network", `{"Type":"SetPolicy","Settings":{"Id":"set-1","Name":"pods","PolicyType":"IPSET","Values":"10.50.3.7,10.50.4.0/24"}}`,
			hns.SetPolicy{ID: "set-1", Name: "pods", Type: hns.SetIP, Values: []string{"10.50.3.7", "10.50.4.0/24"}}, ""},
		{"network", `{"Type":"SetPolicy","Settings":{"Id":"sets","Name":"","PolicyType":"NESTEDIPSET","Values":""}}`, hns.SetPolicy{ID: "sets", Type: hns.SetNested}, ""},
	})
}

// What these structs could not give back stays raw too.
func TestMorePoliciesKeptRaw(t *testing.T) {
	for _, in := range []string{
		`{"Type":"PortMapping","Settings":{"Protocol":"TCP","InternalPort":80,"ExternalPort":8088}}`,
		`{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":65536}}`,
		`{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"VIP":"<node ip>"}}`,
		`{"Type":"PortMapping"}`,
		`{"Type":"ACL","Settings":{"Protocols":6,"Action":"Allow","Direction":"Out"}}`,
		`{"Type":"ACL","Settings":{"Action":0,"Direction":"Out"}}`,
		`{"Type":"ACL","Settings":{"Action":"allow","Direction":"Out"}}`,
		`{"Type":"ACL","Settings":{"Action":"Allow","Direction":"Out","Scope":0,"New":1}}`,
		`{"Type":"ACL","Settings":{"Action":"Allow","Direction":"Out","RemoteAddresses":["10.0.0.0/8"]}}`,
		`{"Type":"L2Driver","Settings":{"New":1}}`,
		`{"Type":"TierAcl","Settings":{"Name":"in","Direction":"In","Order":1,"TierAclRules":[{"TierAclRuleAction":"Pass","Direction":"In"}]}}`,
		`{"Type":"TierAcl","Settings":{"Name":"in","Direction":"In","Order":1,"TierAclRules":[7]}}`,
		`{"Type":"L4Proxy","Settings":{"IP":"10.50.3.9","Port":15001}}`,
		`{"Type":"L4Proxy","Settings":{"IP":"10.50.3.9","Port":"0015001"}}`,
		`{"Type":"L4WFPPROXY","Settings":{"InboundProxyPort":"http"}}`,
		`{"Type":"L4WFPPROXY","Settings":{"InboundProxyPort":"80","FilterTuple":{"Protocols":6}}}`,
		`{"Type":"Iov","Settings":{"InterruptModeration":"IovInterruptModerationOff"}}`,
		`{"Type":"QOS","Settings":{"MaximumOutgoingBandwidthInBytes":-1}}`,
		`{"Type":"InterfaceParameters","Settings":{"Mtu":"1450"}}`,
	} {
		pl := places["endpoint"]
		ps, err := pl.decode(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := first(ps).(hns.RawPolicy); !ok {
			t.Errorf("%s reads as %#v", in, first(ps))
		}
		if out, err := pl.encode(ps); err != nil || string(out) != in {
			t.Errorf("written back as %s, %v; want %s", out, err, in)
		}
	}
	for _, in := range []string{
		`{"Type":"InterfaceConstraint","Settings":{"InterfaceGuid":"{5e000000-0000-4000-8000-0000000000ab}"}}`,
		`{"Type":"SetPolicy","Settings":{"Id":"a","Name":"b","PolicyType":"ipset","Values":"10.0.0.1"}}`,
		`{"Type":"NeighborDiscovery","Settings":{"Enable":true}}`,
	} {
		ps, err := places["network"].decode(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := first(ps).(hns.RawPolicy); !ok {
			t.Errorf("%s reads as %#v", in, first(ps))
		}
	}
}

// endpointWith and networkWith check policies through a create.
func endpointWith(ps ...hns.EndpointPolicy) func(*hns.Endpoint) {
	return func(e *hns.Endpoint) { e.Policies = ps }
}

func networkWith(ps ...hns.NetworkPolicy) func(*hns.Network) {
	return func(n *hns.Network) { n.Policies = ps }
}

// at makes the complaint about a member of the first policy's settings.
func at(member, value, rule string) string {
	return "Policies[0].Settings" + member + " | " + value + " | " + rule
}

func acl(change func(*hns.ACL)) hns.ACL {
	p := hns.ACL{Action: hns.ACLBlock, Direction: hns.Out}
	change(&p)
	return p
}

func TestEndpointPolicyRules(t *testing.T) {
	raw := func(typeName, settings string) hns.RawPolicy {
		return hns.RawPolicy{Type: typeName, Settings: json.RawMessage(settings)}
	}
	mapping := hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088}
	mtu := hns.InterfaceParameters{MTU: 1450}
	addresses := func(l ...string) func(*hns.Endpoint) {
		return endpointWith(acl(func(p *hns.ACL) { p.RemoteAddresses = l }))
	}
	checkRules(t, pod, createEndpoint, []ruleCase[hns.Endpoint]{
		{"port mapping", endpointWith(mapping, hns.PortMapping{Protocol: hns.ICMPv6, InternalPort: 1, VIP: addr("0.0.0.0")}), nil},
		{"nothing of a mapping", endpointWith(hns.PortMapping{}), []string{at(".Protocol", "", "protocol"), at(".InternalPort", "0", "port-zero")}},
		{"a protocol without ports", endpointWith(hns.PortMapping{Protocol: 132, InternalPort: 80}), []string{at(".Protocol", "132", "protocol")}},
		{"VIP", endpointWith(hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, VIP: addr("ff02::1")}), []string{at(".VIP", "ff02::1", "")}},
		{"protocol by name", endpointWith(raw("PortMapping", `{"Protocol":"tcp","InternalPort":80,"ExternalPort":8088}`)), nil},
		{"protocol of no name", endpointWith(raw("PortMapping", `{"Protocol":"sctp","InternalPort":80}`)), []string{at(".Protocol", "sctp", "")}},
		{"port out of range", endpointWith(raw("PortMapping", `{"Protocol":6,"InternalPort":70000}`)), []string{at(".InternalPort", "70000", "")}},

		{"rule for everything", endpointWith(acl(func(*hns.ACL) {})), nil},
		{"nothing of a rule", endpointWith(hns.ACL{}), []string{at(".Action", "", "enum"), at(".Direction", "", "enum")}},
		{"words of no schema", endpointWith(hns.ACL{Action: "Drop", Direction: "in", RuleType: "VFP"}), []string{at(".Action", "Drop", "enum"), at(".Direction", "in", "enum"), at(".RuleType", "VFP", "enum")}},
		{"numbers for words", endpointWith(raw("ACL", `{"Action":1,"Direction":0,"RuleType":1}`)), nil},
		// Pass is for tiers alone (schema 2.10).
		{"pass, no tier", endpointWith(hns.ACL{Action: hns.ACLPass, Direction: hns.In}, raw("ACL", `{"Action":2,"Direction":0}`)), []string{
			at(".Action", "Pass", "enum"), "Policies[1].Settings.Action | Pass | enum"}},
		{"words in small letters", endpointWith(raw("ACL", `{"action":"block","direction":"out"}`)), nil},
		{"addresses", addresses("10.0.0.0/8", " 192.0.2.1", "10.0.0.1/8", "fd00::/8", "fd00::1", "set-17"), nil},
		// HNS has no word for any address (microsoft/hcsshim#1059).
		{"any address", endpointWith(acl(func(p *hns.ACL) { p.LocalAddresses = []string{"Any"} })), []string{at(".LocalAddresses", "Any", "acl-address")}},
		{"any address, raw", endpointWith(raw("ACL", `{"Action":"Block","Direction":"Out","LocalAddresses":"ANY","RemoteAddresses":"*"}`)), []string{
			at(".LocalAddresses", "ANY", "acl-address"), at(".RemoteAddresses", "*", "acl-address")}},
		// Marks that nobody filled in (containerd/containerd#5729).
		{"marks", addresses("{{INFRA_PREFIX}}", "<gw>", "node ip", "10.0.0.0/33", "cidr/8", "10.0.0", "10.0.0.1:80", "", "fe80::1%2"), []string{
			at(".RemoteAddresses", "{{INFRA_PREFIX}}", "acl-address"), at(".RemoteAddresses", "<gw>", "acl-address"), at(".RemoteAddresses", "node ip", "acl-address"),
			at(".RemoteAddresses", "10.0.0.0/33", "acl-address"), at(".RemoteAddresses", "cidr/8", "acl-address"), at(".RemoteAddresses", "10.0.0", "acl-address"),
			at(".RemoteAddresses", "10.0.0.1:80", "acl-address"), at(".RemoteAddresses", "", "acl-address")}},
		{"protocols", endpointWith(acl(func(p *hns.ACL) { p.Protocols = []string{"0", "6", " 17", "256", "tcp", "257", "x", "-1", ""} })), []string{
			at(".Protocols", "tcp", "acl-protocol"), at(".Protocols", "257", "acl-protocol"), at(".Protocols", "x", "acl-protocol"), at(".Protocols", "-1", "acl-protocol"), at(".Protocols", "", "acl-protocol")}},
		{"ports", endpointWith(acl(func(p *hns.ACL) {
			p.LocalPorts, p.RemotePorts = []string{"80", "0", "80-80", " 1-65535", "65536", "90-80"}, []string{"http", "80-", "1-2-3"}
		})), []string{
			at(".LocalPorts", "65536", "acl-port"), at(".LocalPorts", "90-80", "acl-port"), at(".RemotePorts", "http", "acl-port"), at(".RemotePorts", "80-", "acl-port"), at(".RemotePorts", "1-2-3", "acl-port")}},
		{"least priority", endpointWith(acl(func(p *hns.ACL) { p.Priority = 65501 })), []string{at(".Priority", "65501", "acl-priority")}},
		{"highest priority", endpointWith(acl(func(p *hns.ACL) { p.Priority = 99 })), []string{at(".Priority", "99", "acl-priority")}},
		{"priorities", endpointWith(acl(func(p *hns.ACL) { p.Priority = 100 }), acl(func(p *hns.ACL) { p.Priority = 65500 })), nil},
		{"v1 names in a rule", endpointWith(raw("ACL", `{"Action":"Block","Direction":"In","Protocol":6,"LocalPort":80,"remoteport":1}`)), []string{
			at(".LocalPort", "80", "schema1-name"), at(".Protocol", "6", "schema1-name"), at(".RemotePort", "1", "schema1-name")}},

		{"tier", endpointWith(hns.TierACL{Direction: hns.In, Rules: []hns.TierACLRule{{Action: hns.ACLPass, Priority: 1}}}), nil},
		{"tiers' rules", endpointWith(hns.TierACL{Rules: []hns.TierACLRule{{Action: hns.ACLAllow}, {Action: "Drop", Protocols: []string{"x"}, LocalAddresses: []string{"any"}, RemotePorts: []string{"x"}}}}), []string{
			at(".Direction", "", "enum"), at(".TierAclRules[1].TierAclRuleAction", "Drop", "enum"), at(".TierAclRules[1].Protocols", "x", "acl-protocol"),
			at(".TierAclRules[1].LocalAddresses", "any", "acl-address"), at(".TierAclRules[1].RemotePorts", "x", "acl-port")}},

		{"proxies", endpointWith(hns.L4Proxy{IP: addr("10.50.3.9"), Port: 1, Destination: "10.0.0.1/8", Exceptions: []string{"192.0.2.1"}}, hns.L4WFPProxy{OutboundPort: 1}), nil},
		{"proxy nowhere", endpointWith(hns.L4Proxy{Protocol: 300}), []string{at(".IP", "", "proxy-target"), at(".Port", "", "proxy-target"), at(".Protocol", "300", "protocol")}},
		{"proxy at no address", endpointWith(hns.L4Proxy{IP: addr("::"), Port: 1, Destination: "<vip>", Exceptions: []string{"x"}, ExceptionList: []string{"10.0.0.0/8", ""}}), []string{
			at(".IP", "::", ""), at(".Destination", "<vip>", ""), at(".Exceptions[0]", "x", ""), at(".ExceptionList[1]", "", "")}},
		{"WFP proxy nowhere", endpointWith(hns.L4WFPProxy{}), []string{at(".InboundProxyPort", "", "proxy-target")}},
		{"WFP proxy's lists", endpointWith(hns.L4WFPProxy{InboundPort: 1, Filter: hns.FiveTuple{RemoteAddresses: []string{"any"}},
			InboundExceptions: hns.ProxyExceptions{Addresses: []string{"x"}}, OutboundExceptions: hns.ProxyExceptions{Addresses: []string{"10.0.0.1"}, Ports: []string{"80", "x"}}}), []string{
			at(".FilterTuple.RemoteAddresses", "any", "acl-address"), at(".InboundExceptions.IpAddressExceptions[0]", "x", ""), at(".OutboundExceptions.PortExceptions[1]", "x", "")}},

		{"plain ones", endpointWith(hns.QOS{}, hns.L2Driver{}, hns.PortName{}, hns.EncapOverhead{}, hns.IOV{}, mtu, hns.InterfaceConstraint{Index: 7}, hns.RawPolicy{Type: "l2driver"}), nil},
		{"MTU", endpointWith(hns.InterfaceParameters{}), []string{at(".Mtu", "", "")}},
		{"no adapter", endpointWith(hns.InterfaceConstraint{}), []string{at("", "", "")}},
		// HCN_INTERFACEPARAMETERS_ALREADY_APPLIED
		{"parameters twice", endpointWith(mtu, hns.VLAN{IsolationID: 7}, raw("INTERFACEPARAMETERS", `{"Mtu":1500}`)), []string{"Policies[2].Type | INTERFACEPARAMETERS | once"}},
		{"other policies twice", endpointWith(mapping, mapping, hns.L2Driver{}, hns.L2Driver{}), nil},
		{"of a network", endpointWith(raw("NetworkACL", `{"Action":"Block","Direction":"Out"}`)), []string{"Policies[0].Type | NetworkACL | policy-type"}},
	})
}

func TestNetworkPolicyRules(t *testing.T) {
	set := hns.SetPolicy{ID: "a", Type: hns.SetIP}
	checkRules(t, fjord, createNetwork, []ruleCase[hns.Network]{
		{"as they should be", networkWith(hns.SourceMACAddress{Address: mustMAC("00-15-5D-01-02-03")}, hns.InterfaceConstraint{Alias: "Ethernet"}, hns.VSwitchExtension{ID: lake},
			hns.AutomaticDNS{}, hns.VXLANPort{Port: 1}, hns.LayerConstraint{LayerID: lake}, hns.L4Proxy{IP: addr("10.50.3.9"), Port: 1},
			hns.NetworkACL{Action: hns.ACLAllow, Direction: hns.In}, set, hns.SetPolicy{ID: "b", Type: hns.SetNested, Values: []string{"a"}}), nil},
		{"empty MAC", networkWith(hns.SourceMACAddress{}), []string{at(".SourceMacAddress", "", "")}},
		{"empty constraint", networkWith(hns.InterfaceConstraint{}), []string{at("", "", "")}},
		{"empty extension", networkWith(hns.VSwitchExtension{Enable: true}), []string{at(".ExtensionID", "", "")}},
		{"empty port", networkWith(hns.VXLANPort{}), []string{at(".Port", "", "")}},
		{"empty layer", networkWith(hns.LayerConstraint{}), []string{at(".LayerId", "", "")}},
		{"empty proxy", networkWith(hns.L4Proxy{}), []string{at(".IP", "", "proxy-target"), at(".Port", "", "proxy-target")}},
		{"empty rule", networkWith(hns.NetworkACL{RemoteAddresses: []string{"Any"}}), []string{at(".Action", "", "enum"), at(".Direction", "", "enum"), at(".RemoteAddresses", "Any", "acl-address")}},
		{"empty set", networkWith(hns.SetPolicy{}), []string{at(".Id", "", ""), at(".PolicyType", "", "enum")}},
		{"set of what are no addresses", networkWith(hns.SetPolicy{ID: "a", Type: hns.SetIP, Values: []string{"10.0.0.1", " 10.0.0.0/8", "b", ""}}), []string{
			at(".Values", "b", "set-value"), at(".Values", "", "set-value")}},
		{"nested set of nothing", networkWith(hns.SetPolicy{ID: "a", Type: hns.SetNested, Values: []string{""}}), []string{at(".Values", "", "set-value")}},
	})
}

// What is missing and what is wrong are told apart, with the words to choose
// from.
func TestReasons(t *testing.T) {
	for want, p := range map[string]hns.EndpointPolicy{
		"Settings.Direction: missing; one of In, Out":                                             hns.ACL{Action: hns.ACLAllow},
		`Settings.Action: "Drop": not one of Allow, Block`:                                        hns.ACL{Action: "Drop", Direction: hns.In},
		`Settings.LocalAddresses: "Any": HNS has no word for any address; leave the list empty`:   acl(func(p *hns.ACL) { p.LocalAddresses = []string{"Any"} }),
		`Settings.LocalAddresses: "10.0.0": not an address, nor a prefix such as 10.0.0.0/8`:      acl(func(p *hns.ACL) { p.LocalAddresses = []string{"10.0.0"} }),
		`Settings.LocalAddresses: "<gw>": not an address, a prefix, nor the id of an address set`: acl(func(p *hns.ACL) { p.LocalAddresses = []string{"<gw>"} }),
		`Settings.Protocol: missing`:                                                              hns.PortMapping{InternalPort: 80},
		`Settings.Protocol: "132": not a protocol of the schema, such as 6 (TCP) or 17 (UDP)`:     hns.PortMapping{Protocol: 132, InternalPort: 80},
		`Settings.Priority: "1": a priority is 100 to 65500, or 0 for none`:                       acl(func(p *hns.ACL) { p.Priority = 1 }),
		`Settings.Exceptions[0]: "x": not a prefix such as 10.0.0.0/8, nor an address`:            hns.OutBoundNAT{Exceptions: []string{"x"}},
		`Settings.LocalPorts: "x": not a port, nor a range such as 8000-8080`:                     acl(func(p *hns.ACL) { p.LocalPorts = []string{"x"} }),
		`Settings.Action: "Pass": not one of Allow, Block`:                                        hns.ACL{Action: hns.ACLPass, Direction: hns.In},
		`Settings.Protocols: "TCP": a protocol is a number here: 6`:                               acl(func(p *hns.ACL) { p.Protocols = []string{"TCP"} }),
		`Settings.Protocols: "x": not a protocol number such as 6 or 17`:                          acl(func(p *hns.ACL) { p.Protocols = []string{"x"} }),
	} {
		if err := hns.CheckEndpointPolicy(p); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
