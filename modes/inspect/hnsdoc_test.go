package inspect_test

import (
	"strings"
	"testing"

	"github.com/hnskit/hnskit/modes/inspect"
)

const v2 = `"SchemaVersion":{"Major":2,"Minor":0}`

func TestDocuments(t *testing.T) {
	bridge := func(more string) string {
		return `{` + v2 + `,"Name":"lake","Type":"L2Bridge"` + more + `,"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.50.3.0/24","Routes":[{"NextHop":"10.50.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}]}`
	}
	for name, tc := range map[string]struct {
		text string
		want want
	}{
		"network":                  {bridge(""), want{inspect.HNSNetwork, "L2Bridge", "v2", inspect.Accept, nil}},
		"as hcsshim writes it":     {bridge(`,"MacPool":{},"Dns":{},"Health":{"Extra":{}}`), want{inspect.HNSNetwork, "L2Bridge", "v2", inspect.Accept, nil}},
		"in UTF-16":                {wide(`[` + bridge("") + `]`), want{inspect.HNSNetwork, "L2Bridge", "v2", inspect.Accept, nil}},
		"network, v1":              {`{"Name":"lake","Type":"l2bridge","Subnets":[{"AddressPrefix":"10.50.3.0/24","GatewayAddress":"10.50.3.1"}]}`, want{inspect.HNSNetwork, "L2Bridge", "v1", inspect.Accept, nil}},
		"an answer of v1":          {`{"Success":true,"Output":[{"ID":"5E000000-0000-4000-8000-0000000000A0","Name":"lake","Type":"nat","Subnets":[{"AddressPrefix":"10.50.3.0/24","GatewayAddress":"10.50.3.1"}],"State":1}]}`, want{inspect.HNSNetwork, "NAT", "v1", inspect.Accept, nil}},
		"as PowerShell wraps":      {`{"value":[{"ID":"5E000000-0000-4000-8000-0000000000A0","Name":"lake","Type":"ICS","Subnets":[{"AddressPrefix":"10.50.3.0/24"}]}],"Count":1}`, want{inspect.HNSNetwork, "ICS", "v1", inspect.Accept, nil}},
		"a type of its own":        {`{"ID":"5E000000-0000-4000-8000-0000000000A0","Name":"lake","Type":"Private","MacPools":[]}`, want{inspect.HNSNetwork, "Private", "v1", inspect.Accept, nil}},
		"host bits, asked for":     {strings.Replace(bridge(""), "10.50.3.0/24", "10.50.3.7/24", 1), want{inspect.HNSNetwork, "L2Bridge", "v2", inspect.Refuse, []string{"error Ipams[0].Subnets[0].IpAddressPrefix host bits"}}},
		"an odd value, there":      {strings.Replace(bridge(`,"State":1,"ID":"5E000000-0000-4000-8000-0000000000A0"`), "10.50.3.1", "<gw>", 1), want{inspect.HNSNetwork, "L2Bridge", "v2", inspect.Accept, []string{"warning Ipams[0].Subnets[0].Routes[0].NextHop <gw>", "warning Ipams[0].Subnets[0].Routes gateway"}}},
		"a policy of v1 in v2":     {bridge(`,"Policies":[{"Type":"PA","PA":"192.168.10.21"}]`), want{inspect.HNSNetwork, "L2Bridge", "v2", inspect.Refuse, []string{"error Policies[0].pa inside", "error Policies[0].Type PA", "error Policies[0] forbidden"}}},
		"no schema version":        {strings.Replace(bridge(""), v2+",", "", 1), want{inspect.HNSNetwork, "L2Bridge", "v1", inspect.Refuse, []string{"error SchemaVersion schema 1"}}},
		"subnets in the old place": {`{` + v2 + `,"Name":"lake","Type":"Transparent","Subnets":[{"AddressPrefix":"10.50.3.0/24"}]}`, want{inspect.HNSNetwork, "Transparent", "v2", inspect.Accept, []string{"warning Subnets Ipams[].Subnets"}}},
		"Overlay without a VNI":    {`{"Name":"lake","Type":"Overlay","Subnets":[{"AddressPrefix":"10.50.3.0/24","GatewayAddress":"10.50.3.1"}]}`, want{inspect.HNSNetwork, "Overlay", "v1", inspect.Refuse, []string{"error Ipams[0].Subnets[0].Policies no VSID"}}},
		"Azure's request":          {`{"NetworkName":"lake","NetworkType":"l2tunnel","Subnets":[{"AddressPrefix":"10.50.3.0/24","GatewayAddress":"10.50.3.1"}]}`, want{inspect.HNSNetwork, "L2Tunnel", "v1", inspect.Refuse, []string{"error NetworkName Azure", "error Name missing"}}},
		"degraded":                 {`{"ID":"5E000000-0000-4000-8000-0000000000A0","Name":"lake","Type":"nat","Degraded":true,"MacPools":[]}`, want{inspect.HNSNetwork, "NAT", "v1", inspect.Accept, []string{"warning Degraded delete the network"}}},

		"endpoint":                  {`{` + v2 + `,"HostComputeNetwork":"5E000000-0000-4000-8000-0000000000A5","IpConfigurations":[{"IpAddress":"10.50.3.7","PrefixLength":24}]}`, want{inspect.HNSEndpoint, "", "v2", inspect.Accept, nil}},
		"the address of v1":         {`{` + v2 + `,"HostComputeNetwork":"5E000000-0000-4000-8000-0000000000A5","IPAddress":"10.50.3.7","PrefixLength":24}`, want{inspect.HNSEndpoint, "", "v2", inspect.Accept, []string{"warning IPAddress IpConfigurations", "warning PrefixLength IpConfigurations"}}},
		"a MAC without colons":      {`{` + v2 + `,"HostComputeNetwork":"5E000000-0000-4000-8000-0000000000A5","MacAddress":"00155d102030"}`, want{inspect.HNSEndpoint, "", "v2", inspect.Refuse, []string{"error MacAddress six pairs"}}},
		"flags as text":             {`{` + v2 + `,"HostComputeNetwork":"5E000000-0000-4000-8000-0000000000A5","Flags":"32"}`, want{inspect.HNSEndpoint, "", "v2", inspect.Refuse, []string{"error Flags number"}}},
		"by its policy, no network": {`{` + v2 + `,"Name":"e","Policies":[{"Type":"PortMapping","Settings":{"Protocol":17,"InternalPort":53,"ExternalPort":5353}}]}`, want{inspect.HNSEndpoint, "", "v2", inspect.Accept, nil}},
		"endpoint, v1":              {`{"ID":"5E000000-0000-4000-8000-0000000000A3","Name":"pod_nat","VirtualNetworkName":"nat","IPAddress":"10.50.3.7","PrefixLength":24,"Policies":[{"Type":"L2Driver"}],"State":1}`, want{inspect.HNSEndpoint, "NAT", "v1", inspect.Accept, nil}},

		"namespace":       {`{` + v2 + `,"Type":"HostDefault","NamespaceId":5}`, want{inspect.HNSNamespace, "", "v2", inspect.Accept, nil}},
		"namespace, v1":   {`{"ID":"5E000000-0000-4000-8000-0000000000A6","CompartmentId":6,"IsDefault":false,"ResourceList":[{"Data":{"Id":"5E000000-0000-4000-8000-0000000000A7"},"Type":"Endpoint"}],"State":1}`, want{inspect.HNSNamespace, "", "v1", inspect.Accept, nil}},
		"load balancer":   {`{` + v2 + `,"HostComputeEndpoints":["5e000000-0000-4000-8000-0000000000a8"],"SourceVIP":"10.50.3.2","FrontendVIPs":["10.96.0.10"],"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80}]}`, want{inspect.HNSLoadBalancer, "", "v2", inspect.Accept, nil}},
		"on the loopback": {`{` + v2 + `,"HostComputeEndpoints":["5e000000-0000-4000-8000-0000000000a8"],"SourceVIP":"0.0.0.0","FrontendVIPs":["127.0.0.1"],"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80}]}`, want{inspect.HNSLoadBalancer, "", "v2", inspect.Accept, []string{"warning SourceVIP 0.0.0.0", "warning FrontendVIPs[0] virtual switch"}}},
		// kubernetes/kubernetes#141489: a client that read one without ports panicked.
		"without ports, there":  {`{` + v2 + `,"ID":"5E000000-0000-4000-8000-0000000000A9","HostComputeEndpoints":["5e000000-0000-4000-8000-0000000000a8"],"FrontendVIPs":["10.96.0.10"]}`, want{inspect.HNSLoadBalancer, "", "v2", inspect.Accept, []string{"warning PortMappings missing"}}},
		"policy list, v1":       {`{"ID":"5E000000-0000-4000-8000-0000000000AA","IsApplied":false,"References":["/endpoints/5e000000-0000-4000-8000-0000000000a8"],"Policies":[{"Type":"ELB","ExternalPort":80,"InternalPort":8080,"Protocol":6,"VIPs":["10.96.0.10"]}],"State":2}`, want{inspect.HNSLoadBalancer, "", "v1", inspect.Accept, []string{"warning IsApplied lost"}}},
		"routes, v1":            {`{"References":["/endpoints/5e000000-0000-4000-8000-0000000000a8"],"Policies":[{"Type":"ROUTE","DestinationPrefix":"10.60.0.0/16","NextHop":"10.50.3.1","NeedEncap":false}]}`, want{inspect.HNSRoute, "", "v1", inspect.Accept, nil}},
		"routes":                {`{` + v2 + `,"HostComputeEndpoints":["5e000000-0000-4000-8000-0000000000a8"],"Routes":[{"DestinationPrefix":"10.60.0.0/16","NextHop":"10.50.3.1"}]}`, want{inspect.HNSRoute, "", "v2", inspect.Accept, nil}},
		"several kinds":         {bridge("") + `{` + v2 + `,"Type":"Host","NamespaceId":5}`, want{inspect.HNSDump, "L2Bridge", "v2", inspect.Accept, nil}},
		"a stranger among them": {`[` + bridge("") + `,{"a":1}]`, want{inspect.HNSNetwork, "L2Bridge", "v2", inspect.Accept, []string{"warning [1] not an object of HNS"}}},
		"a snapshot":            {`{"Networks":[` + bridge("") + `],"Endpoints":[],"Namespaces":[]}`, want{inspect.HNSDump, "L2Bridge", "v2", inspect.Accept, nil}},
		"a dump of nothing":     {`[]`, want{inspect.HNSDump, "", "", inspect.Accept, nil}},

		"policies, v1":          {`[{"Type":"OutBoundNAT","ExceptionList":["10.50.0.0\/16"]},{"Type":"PA","PA":"192.168.10.21"}]`, want{inspect.HNSPolicy, "Overlay", "v1", inspect.Accept, nil}},
		"policies, v2":          {`{"Policies":[{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.60.0.0/24","IsolationId":5000,"ProviderAddress":"192.168.10.22","DistributedRouterMacAddress":"00-12-34-56-78-9a"}}]}`, want{inspect.HNSPolicy, "Overlay", "v2", inspect.Accept, nil}},
		"a VNI that is too low": {`{"Policies":[{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.60.0.0/24","IsolationId":7,"ProviderAddress":"192.168.10.22","DistributedRouterMacAddress":"00-12-34-56-78-9a"}}]}`, want{inspect.HNSPolicy, "Overlay", "v2", inspect.Refuse, []string{"error Policies[0].Settings.IsolationId 4096"}}},
		// microsoft/hcsshim#1059
		"any is no address": {`{"Type":"ACL","Action":"Block","Direction":"Out","LocalAddresses":"Any","RuleType":"Switch"}`, want{inspect.HNSPolicy, "", "v1", inspect.Refuse, []string{"error Settings.LocalAddresses Any"}}},
		// microsoft/Windows-Containers#360
		"a mapping of no use": {`{"Type":"NAT","InternalPort":80,"ExternalPort":8081,"Protocol":"TCP"}`, want{inspect.HNSPolicy, "", "v1", inspect.Accept, []string{"warning - LocalRoutedVip"}}},
	} {
		t.Run(name, func(t *testing.T) { check(t, inspect.File("dump.json", []byte(tc.text)), tc.want) })
	}
}

func TestTexts(t *testing.T) {
	const list = "ActivityId   : 5E000000-0000-4000-8000-0000000000AB\nAdditionalParams :\nFlags        : 8\nID           : 5E000000-0000-4000-8000-0000000000AC\nName         : nat\n" +
		"Policies     : {@{Type=VLAN; VLAN=1}}\nSubnets      : {@{AddressPrefix=172.21.0.0/20; \n               GatewayAddress=172.21.0.1; Policies=System.Object[]}}\nType         : nat\n"
	for name, tc := range map[string]struct {
		text string
		want want
	}{
		"Format-List":              {list, want{inspect.HNSNetwork, "NAT", "v1", inspect.Accept, nil}},
		"its tail is missing":      {list[:strings.Index(list, "; Policies")], want{inspect.HNSNetwork, "", "v1", inspect.Accept, []string{"warning - cut off"}}},
		"two objects":              {"ID    : 5E000000-0000-4000-8000-0000000000AD\nCompartmentId : 1\nIsDefault : True\n\nID    : 5E000000-0000-4000-8000-0000000000AE\nCompartmentId : 0\nIsDefault : False\n", want{inspect.HNSNamespace, "", "v1", inspect.Accept, nil}},
		"of a bad address":         {"ID    : 5E000000-0000-4000-8000-0000000000AD\nName  : pod\nVirtualNetworkName : nat\nMacAddress : 00-15\n", want{inspect.HNSEndpoint, "NAT", "v1", inspect.Accept, []string{"warning MacAddress 00-15"}}},
		"a list of other things":   {"Name  : Ethernet\nID : 5\n", want{inspect.Unknown, "", "", inspect.Refuse, []string{"error - no object of HNS"}}},
		"hnsdiag":                  {"Networks:\nName             ID\nnat              5E000000-0000-4000-8000-0000000000A4\nflannel.4096     5E000000-0000-4000-8000-0000000000AF\n", want{inspect.HNSDump, "NAT, Overlay", "", inspect.Accept, nil}},
		"hnsdiag's endpoints":      {"Endpoint         : 5e000000-0000-4000-8000-0000000000b0\n    Name             : pod_flannel.4096\n    IP Address       : 10.50.3.7\n", want{inspect.HNSEndpoint, "Overlay", "", inspect.Accept, nil}},
		"a struct of Go":           {"answer: &{Id:00CF6452 Name:pod VirtualNetworkName:nat MacAddress:00-15-5D-10-20-30 IPAddress:10.50.3.x PrefixLength:24}", want{inspect.HNSEndpoint, "NAT", "v1", inspect.Accept, []string{"warning IPAddress 10.50.3.x"}}},
		"a request in its log":     {"VERBOSE: Data[{\"Name\":\"lake\",\"Type\":\"L2Bridge\",\"Subnets\":[{\"AddressPrefix\":\"10.50.3.0/24\",\"GatewayAddress\":\"10.50.3.1\"}]}]\nVERBOSE: Result\n{\"Output\":{\"ID\":\"5B91", want{inspect.HNSNetwork, "L2Bridge", "v1", inspect.Accept, []string{"warning - cut off"}}},
		"a log cut off":            {`proxier.go:117] Hns Endpoint resource, {"ID":"5E000000-0000-4000-8000-0000000000B1","Name":"Ethernet","VirtualNetworkName":...`, want{inspect.HNSEndpoint, "", "v1", inspect.Refuse, []string{"error - fragment"}}},
		"the tail of a dump":       {`"Tag":"ACL Policy"}],"SharedContainers":["66"],"State":2,"Type":"Transparent","VirtualNetworkName":"external"}]`, want{inspect.HNSEndpoint, "Transparent", "v1", inspect.Refuse, []string{"error - fragment"}}},
		"a dump cut off":           {`{ "CurrentEndpointCount" : 0, "Type" : "nat", "ID" : "918f5ef5-a50c`, want{inspect.HNSNetwork, "NAT", "v1", inspect.Refuse, []string{"error - whole"}}},
		"a failure":                {"failed to create endpoint pod on network nat: hnsCall failed in Win32: Element not found. (0x490)\n", want{inspect.HNSError, "", "", inspect.Accept, []string{"warning - not found"}}},
		"a record":                 {`{"Success":false,"Error":"…","ErrorCode":2151350300}`, want{inspect.HNSError, "", "", inspect.Accept, []string{"warning - HCN_E_INVALID_JSON_REFERENCE"}}},
		"a failure without a code": {"HNS failed with error : Unspecified error", want{inspect.HNSError, "", "", inspect.Accept, []string{"warning - no code"}}},
		"subnet.env is not there":  {"loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: no such file or directory", want{inspect.HNSError, "", "", inspect.Accept, []string{"warning - flanneld runs"}}},
		"a log":                    {"vxlan_windows.go:123] VXLAN config: Name=lake VNI=4096\n", want{inspect.Log, "Overlay", "", inspect.Accept, nil}},
	} {
		t.Run(name, func(t *testing.T) { check(t, inspect.File("f.txt", []byte(tc.text)), tc.want) })
	}
}

// A failure is found in a log of many lines, with its line.
func TestLines(t *testing.T) {
	r := inspect.File("l", []byte("one\nhcnOpenNetwork failed in Win32: x (0x803b0001)\ntwo (0x803b0001)\nhnsCall failed in\n Win32: y\n (0x57)\n"))
	if len(r.Findings) != 2 || r.Findings[0].Line != 2 || r.Findings[1].Value != "0x80070057" {
		t.Error(r.Text())
	}
}
