package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestVersionCall(t *testing.T) {
	for _, path := range []string{"/globals/version", "globals/version/"} {
		n := newNode(t, version(hns.Version{Major: 15, Minor: 4}))
		if out, code := n.call("GET", path, ""); code != 0 || string(out) != `{"Major":15,"Minor":4}` {
			t.Errorf("%s: %s, %s", path, out, code)
		}
	}
}

func TestV1NetworkAndEndpoint(t *testing.T) {
	n := newNode(t)
	if out, code := n.call("GET", "/networks/", ""); code != 0 || string(out) != "[]" {
		t.Errorf("networks of an unused HNS: %s, %s", out, code)
	}
	doc, code := n.call("POST", "/networks/", `{"Name":"vxlan0","Type":"overlay","NetworkAdapterName":"Ethernet",
		"Subnets":[{"AddressPrefix":"10.244.0.0/16","GatewayAddress":"10.244.0.1","Policies":[{"Type":"VSID","VSID":4096}]}],
		"DNSSuffix":"a.test,b.test","DNSServerList":"10.0.0.10"}`)
	if code != 0 {
		t.Fatal(code)
	}
	id := text(t, doc, "ID")
	if id != strings.ToUpper(id) {
		t.Errorf("id %s is not in capitals", id)
	}
	for path, want := range map[string]string{
		"Type": "overlay", "ManagementIP": "192.0.2.10", "NetworkAdapterName": "Ethernet", "DNSSuffix": "a.test,b.test",
		"Subnets.0.GatewayAddress": "10.244.0.1", "Subnets.0.Policies.0.VSID": "4096", "State": "1",
	} {
		if got := fmt.Sprint(at(t, doc, split(path)...)); got != want {
			t.Errorf("network %s is %s, want %s", path, got, want)
		}
	}
	v2 := n.get(hns.KindNetwork, n.parse(id))
	if got := text(t, v2, "Type"); got != "Overlay" {
		t.Errorf("schema 2 spells the type %s", got)
	}
	if got := text(t, v2, "Ipams", 0, "Subnets", 0, "Routes", 0, "NextHop"); got != "10.244.0.1" {
		t.Errorf("schema 2 has the gateway %s", got)
	}
	ep, code := n.call("POST", "/endpoints/", `{"Name":"x","VirtualNetwork":"`+id+`","IPAddress":"10.244.0.7","DNSServerList":"10.0.0.10,10.0.0.11",
		"IsRemoteEndpoint":false,"EnableLowMetric":true,"Policies":[{"Type":"OutBoundNAT","ExceptionList":["10.244.0.0/16"],"VIP":"192.0.2.10"},
		{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true},{"Type":"PA","PA":"192.0.2.10"},
		{"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":8088,"ExternalPortReserved":true},
		{"Type":"ACL","Action":"Allow","Direction":"In","Protocol":6,"LocalPort":80}]}`)
	if code != 0 {
		t.Fatal(code)
	}
	for path, want := range map[string]string{
		"GatewayAddress": "10.244.0.1", "PrefixLength": "16", "VirtualNetworkName": "vxlan0", "EncapOverhead": "50", "State": "1",
		"Namespace.ID": hns.ID{}.String(), "EnableLowMetric": "true", "DNSServerList": "10.0.0.10,10.0.0.11", "SharedContainers": "[]",
		"Policies.0.Type": "OutBoundNAT", "Policies.0.VIP": "192.0.2.10", "Policies.1.Type": "ROUTE", "Policies.2.PA": "192.0.2.10",
		"Policies.3.Protocol": "TCP", "Policies.3.ExternalPortReserved": "true", "Policies.4.Protocols": "6", "Policies.4.LocalPorts": "80",
	} {
		if got := fmt.Sprint(at(t, ep, split(path)...)); got != want {
			t.Errorf("endpoint %s is %s, want %s", path, got, want)
		}
	}
	v2 = n.get(hns.KindEndpoint, n.parse(text(t, ep, "ID")))
	for kind, want := range map[string]string{
		"OutBoundNAT": `{"Exceptions":["10.244.0.0/16"],"VirtualIP":"192.0.2.10"}`,
		"SDNRoute":    `{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}`,
		"PortMapping": `{"ExternalPort":8088,"Flags":4,"InternalPort":80,"Protocol":6}`,
		"ACL":         `{"Action":"Allow","Direction":"In","LocalPorts":"80","Protocols":"6"}`,
	} {
		if got := settings(t, v2, kind); got != want {
			t.Errorf("%s is %s, want %s", kind, got, want)
		}
	}
	byName, code := n.call("POST", "/endpoints", `{"VirtualNetworkName":"vxlan0"}`)
	if code != 0 || text(t, byName, "VirtualNetwork") != id {
		t.Errorf("by name of the network: %s %s", byName, code)
	}
}

func TestV1BodyThroughV2Create(t *testing.T) {
	n := newNode(t)
	doc := n.made(hns.KindNetwork, `{"Name":"nat","Type":"nat","Subnets":[{"AddressPrefix":"0.0.0.0/0","GatewayAddress":"0.0.0.0"}]}`)
	if got := text(t, doc, "Ipams", 0, "Subnets", 0, "IpAddressPrefix"); got != "172.17.0.0/20" {
		t.Errorf("HNS chose %q", got)
	}
	id := text(t, doc, "ID")
	ep := n.made(hns.KindEndpoint, `{"Name":"x","VirtualNetwork":"`+id+`"}`)
	if got := text(t, ep, "HostComputeNetwork"); got != id {
		t.Errorf("network of the endpoint: %s, want %s", got, id)
	}
}

func TestV1NATNetwork(t *testing.T) {
	n := newNode(t)
	doc, code := n.call("GET", "/networks/"+n.pond().String(), "")
	if code != 0 || text(t, doc, "Type") != "NAT" || !strings.HasPrefix(text(t, doc, "NatName"), "NAT") {
		t.Errorf("%s %s", doc, code)
	}
	if at(t, doc, "Policies", 0, "VLAN") != 1.0 {
		t.Errorf("no VLAN 1: %s", doc)
	}
}

func TestV1Policies(t *testing.T) {
	tests := []struct {
		policy string
		want   hns.Code
	}{
		{`{"Type":"OutBoundNAT","ExceptionList":["10.0.0.0/8"]}`, 0},
		// microsoft/Windows-Containers#360
		{`{"Type":"PortMapping","Protocol":6,"InternalPort":80,"ExternalPort":80}`, hns.CodeInvalidPolicyType},
		{`{"Type":"ELB"}`, hns.CodeInvalidPolicyType},
		{`{"Type":"ACL","Action":"Block","Direction":"Out","LocalAddresses":"Any"}`, hns.CodeInvalidPolicy},
		{`7`, hns.CodeInvalidPolicy},
	}
	for _, tt := range tests {
		n := newNode(t)
		lake := n.lake()
		_, code := n.call("POST", "/endpoints/", `{"VirtualNetwork":"`+lake.String()+`","Policies":[`+tt.policy+`]}`)
		if code != tt.want {
			t.Errorf("create with %s: %s, want %s", tt.policy, code, tt.want)
		}
		plain := n.id(hns.KindEndpoint, endpoint(lake, "x"))
		if _, code := n.call("POST", "/endpoints/"+plain.String(), `{"Policies":[`+tt.policy+`]}`); code != tt.want {
			t.Errorf("update with %s: %s, want %s", tt.policy, code, tt.want)
		}
	}
}

func TestL2DriverShowsInV1Only(t *testing.T) {
	n := newNode(t)
	ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x"))
	doc, _ := n.call("GET", "/endpoints/"+ep.String(), "")
	if text(t, doc, "Policies", 0, "Type") != "L2Driver" {
		t.Errorf("schema 1: %s", doc)
	}
	if at(t, n.get(hns.KindEndpoint, ep), "Policies") != nil {
		t.Error("schema 2 shows it too")
	}
}

func TestL2DriverShowsOnce(t *testing.T) {
	n := newNode(t)
	ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x", policies(`{"Type":"L2Driver"}`)))
	doc, _ := n.call("GET", "/endpoints/"+ep.String(), "")
	if text(t, doc, "Policies", 0, "Type") != "L2Driver" || at(t, doc, "Policies", 1) != nil {
		t.Errorf("%s", doc)
	}
}

func TestDefaultACLs(t *testing.T) {
	n := newNode(t)
	ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x", policies(`{"Type":"ACL","Settings":{"Action":"Block","Direction":"In","Priority":200}}`)))
	doc, _ := n.call("GET", "/endpoints/"+ep.String(), "")
	if at(t, doc, "Resources", "Allocators", 0) != nil {
		t.Errorf("before it is attached: %s", doc)
	}
	n.call("POST", "/endpoints/"+ep.String()+"/attach", `{"SystemType":"Host","CompartmentId":1}`)
	doc, _ = n.call("GET", "/endpoints/"+ep.String(), "")
	for i, want := range []float64{200, 65500, 65500} {
		if got := at(t, doc, "Resources", "Allocators", 1, "Rules", i, "Priority"); got != want {
			t.Errorf("rule %d has priority %v, want %v", i, got, want)
		}
	}
	if text(t, doc, "Resources", "ID") != text(t, doc, "ActivityId") || text(t, doc, "ActivityId") == "" {
		t.Errorf("%s", doc)
	}
}

func TestV1CountsEndpoints(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	eps := n.backends(lake, 3)
	n.delete(hns.KindEndpoint, eps[0])
	n.delete(hns.KindEndpoint, eps[1])
	n.backends(lake, 1)
	doc, _ := n.call("GET", "/networks/"+lake.String(), "")
	for name, want := range map[string]float64{"CurrentEndpointCount": 2, "MaxConcurrentEndpoints": 3, "TotalEndpoints": 4} {
		if got := at(t, doc, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestV1Attach(t *testing.T) {
	const host = `{"SystemType":"Host","CompartmentId":1}`
	type call struct {
		action, body string
		want         hns.Code
	}
	tests := []struct {
		name  string
		calls []call
		state float64
		nic   bool
		in    []string // SharedContainers
	}{
		{"host", []call{{"attach", host, 0}}, 2, true, nil},
		// projectcalico/calico#4280
		{"host twice", []call{{"attach", host, 0}, {"attach", host, hns.CodeEndpointAttached}}, 2, true, nil},
		{"host and back", []call{{"attach", host, 0}, {"detach", `{"SystemType":"Host"}`, 0}}, 4, false, nil},
		{"detach what is not attached", []call{{"detach", `{"SystemType":"Host"}`, hns.CodeElementNotFound}}, 1, false, nil},
		{"host without compartment", []call{{"attach", `{"SystemType":"Host"}`, hns.CodeInvalidParameter}}, 1, false, nil},
		{"unknown system", []call{{"attach", `{"SystemType":"Cloud"}`, hns.CodeInvalidParameter}}, 1, false, nil},
		{"container", []call{{"attach", `{"ContainerId":"c1","SystemType":"Container"}`, 0}}, 2, false, []string{"c1"}},
		{"two containers", []call{{"attach", `{"ContainerId":"c1"}`, 0}, {"attach", `{"ContainerId":"c2"}`, 0}}, 3, false, []string{"c1", "c2"}},
		{"container twice", []call{{"attach", `{"ContainerId":"c1"}`, 0}, {"attach", `{"ContainerId":"C1"}`, hns.CodeEndpointAttached}}, 2, false, []string{"c1"}},
		{"second container leaves", []call{{"attach", `{"ContainerId":"c1"}`, 0}, {"attach", `{"ContainerId":"c2"}`, 0}, {"detach", `{"ContainerId":"c1"}`, 0}}, 2, false, []string{"c2"}},
		{"no container named", []call{{"attach", `{}`, hns.CodeInvalidParameter}}, 1, false, nil},
		{"container on host-attached", []call{{"attach", host, 0}, {"attach", `{"ContainerId":"c1"}`, hns.CodeEndpointAttached}}, 2, true, nil},
		{"machine", []call{{"attach", `{"ContainerId":"vm1","SystemType":"VirtualMachine"}`, 0}, {"detach", `{"SystemType":"VirtualMachine"}`, 0}}, 4, false, nil},
		{"machine by its NIC", []call{{"attach", `{"VirtualNicName":"nic1","SystemType":"VirtualMachine"}`, 0}, {"attach", host, hns.CodeEndpointAttached}}, 2, false, nil},
		{"machine without a name", []call{{"attach", `{"SystemType":"VirtualMachine"}`, hns.CodeInvalidParameter}}, 1, false, nil},
		{"broken body", []call{{"attach", `{`, hns.CodeInvalidJSON}}, 1, false, nil},
		{"unknown action", []call{{"dance", host, hns.CodeRequestUnsupported}}, 1, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "lake_ep", ip("10.50.3.2")))
			for _, c := range tt.calls {
				out, code := n.call("POST", "/endpoints/"+ep.String()+"/"+c.action, c.body)
				if code != c.want || out != nil {
					t.Errorf("%s %s: %s %s, want no output and %s", c.action, c.body, out, code, c.want)
				}
			}
			doc, _ := n.call("GET", "/endpoints/"+ep.Upper(), "")
			if got := at(t, doc, "State"); got != tt.state {
				t.Errorf("state %v, want %v", got, tt.state)
			}
			var in []string
			for i := 0; text(t, doc, "SharedContainers", i) != ""; i++ {
				in = append(in, text(t, doc, "SharedContainers", i))
			}
			if diff := cmp.Diff(tt.in, in); diff != "" {
				t.Error(diff)
			}
			nic, ok := n.adapters()["vEthernet (lake_ep)"]
			if ok != tt.nic {
				t.Errorf("vNIC on the host: %v, want %v", ok, tt.nic)
			}
			if ok && nic.Addresses[0].String() != "10.50.3.2/24" {
				t.Errorf("vNIC has %s", nic.Addresses)
			}
		})
	}
	n := newNode(t)
	remote := n.id(hns.KindEndpoint, endpoint(n.lake(), "r", ip("10.50.9.9"), `,"Flags":1`))
	if _, code := n.call("POST", "/endpoints/"+remote.String()+"/attach", host); code != hns.CodeInvalidRemoteOperation {
		t.Errorf("remote: %s", code)
	}
	if _, code := n.call("POST", "/endpoints/"+hns.NewID().String()+"/attach", host); code != hns.CodeEndpointNotFound {
		t.Errorf("missing: %s", code)
	}
}

func TestV1Namespaces(t *testing.T) {
	n := newNode(t)
	ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x"))
	doc, code := n.call("POST", "/namespaces/", `{"IsDefault":true}`)
	if code != 0 || at(t, doc, "IsDefault") != true {
		t.Fatalf("%s %s", doc, code)
	}
	path := "/namespaces/" + text(t, doc, "ID")
	for _, step := range []struct {
		action, body string
		want         hns.Code
	}{
		{"addresource", `{"Type":"Endpoint","Data":{"Id":"` + ep.String() + `"}}`, 0},
		{"addresource", `{"Type":"Container","Data":{"Id":"c1"}}`, 0},
		{"removeresource", `{"Type":"Container","Data":{"Id":"c2"}}`, hns.CodeElementNotFound},
		{"addresource", `{"Type":"Router","Data":{"Id":"c2"}}`, hns.CodeInvalidParameter},
		{"addresource", `{"Type":"Endpoint","Data":{"Id":"c2"}}`, hns.CodeGUIDConversion},
	} {
		if _, code := n.call("POST", path+"/"+step.action, step.body); code != step.want {
			t.Errorf("%s %s: %s, want %s", step.action, step.body, code, step.want)
		}
	}
	doc, _ = n.call("GET", path, "")
	if text(t, doc, "ResourceList", 0, "Data", "Id") != ep.Upper() || text(t, doc, "Containers", 0) != "c1" || at(t, doc, "CompartmentId") != 2.0 {
		t.Errorf("%s", doc)
	}
	v1, _ := n.call("GET", "/endpoints/"+ep.String(), "")
	if text(t, v1, "Namespace", "ID") != text(t, doc, "ID") || at(t, v1, "State") != 3.0 {
		t.Errorf("%s", v1)
	}
	n.call("POST", path+"/removeresource", `{"Type":"Container","Data":{"Id":"c1"}}`)
	if _, code := n.call("DELETE", path, ""); code != 0 {
		t.Error(code)
	}
	if out, _ := n.call("GET", "/namespaces", ""); string(out) != "[]" {
		t.Errorf("namespaces left: %s", out)
	}
}

func TestV1Refusals(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	ep := n.id(hns.KindEndpoint, endpoint(lake, "x"))
	tests := []struct {
		method, path, body string
		want               hns.Code
	}{
		{"GET", "/weather", "", hns.CodeRequestUnsupported},
		{"GET", "", "", hns.CodeRequestUnsupported},
		{"PATCH", "/networks/", "", hns.CodeRequestUnsupported},
		{"get", "/networks/", "", hns.CodeRequestUnsupported},
		{"POST", "/endpointstats/", "{}", hns.CodeRequestUnsupported},
		{"DELETE", "/endpointstats/" + ep.String(), "", hns.CodeRequestUnsupported},
		{"GET", "/networks/lake", "", hns.CodeGUIDConversion},
		{"GET", "/networks/" + hns.NewID().String(), "", hns.CodeNetworkNotFound},
		{"GET", "/endpoints/" + hns.NewID().String(), "", hns.CodeEndpointNotFound},
		{"DELETE", "/endpoints/" + hns.NewID().String(), "", hns.CodeEndpointNotFound},
		{"POST", "/networks/" + lake.String() + "/attach", "{}", hns.CodeRequestUnsupported},
		{"POST", "/networks/", "", hns.CodeInvalidJSON},
		{"POST", "/networks/", `{"Name":"x","Type":"nat","Subnets":"10.0.0.0/8"}`, hns.CodeInvalidJSON},
		// Azure/azure-container-networking#283
		{"POST", "/endpoints/", `{"VirtualNetwork":"` + hns.NewID().String() + `"}`, hns.CodeElementNotFound},
		{"POST", "/endpoints/", `{"VirtualNetworkName":"moor"}`, hns.CodeElementNotFound},
		{"POST", "/networks/" + lake.String(), `{"Extensions":[{"Id":"x","IsEnabled":true}]}`, hns.CodeSwitchExtensionNotFound},
	}
	for _, tt := range tests {
		out, code := n.call(tt.method, tt.path, tt.body)
		if code != tt.want || out != nil {
			t.Errorf("%s %s %s: %s %s, want %s", tt.method, tt.path, tt.body, out, code, tt.want)
		}
	}
}

func TestV1UpdateNetwork(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	doc, code := n.call("POST", "/networks/"+lake.String(),
		`{"DNSServerList":"10.0.0.10","Extensions":[{"Id":"f74f241b-440f-4433-bb28-00f89ead20d8","IsEnabled":false}]}`)
	if code != 0 || text(t, doc, "DNSServerList") != "10.0.0.10" || at(t, doc, "Extensions", 1, "IsEnabled") != false {
		t.Errorf("%s %s", doc, code)
	}
	if code := n.delete(hns.KindNetwork, lake); code != 0 {
		t.Error(code)
	}
}

func TestV1Stats(t *testing.T) {
	n := newNode(t)
	ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x"))
	doc, code := n.call("GET", "/endpointstats/"+ep.String(), "")
	if code != 0 || text(t, doc, "EndpointId") != ep.Upper() || at(t, doc, "BytesSent") != 0.0 {
		t.Errorf("%s %s", doc, code)
	}
}

func TestV1Switches(t *testing.T) {
	n := newNode(t, func(o *emulator.Options) { o.V1TextErrors, o.V1LowerCaseIDs = true, true })
	lake := n.lake()
	doc, _ := n.call("GET", "/networks/"+lake.Upper(), "")
	if got := text(t, doc, "ID"); got != lake.String() {
		t.Errorf("id %s, want small letters", got)
	}
	_, err := n.Do(hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/networks/" + hns.NewID().String()})
	if n.code(err) != 0 || message(err) != "The network was not found. " {
		t.Errorf("error %#v, want text without code", err)
	}
}
