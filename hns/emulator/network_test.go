package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestCreateNetworkFillsIn(t *testing.T) {
	tests := []struct {
		name, doc string
		want      map[string]string // path of member names by dots, and the text there
		absent    []string
	}{
		{
			name:   "NAT shows no Type, being 0",
			doc:    network("pond", "NAT", "172.30.0.0/20"),
			want:   map[string]string{"Name": "pond", "State": "1", "Version": "5.5834574851e+10"},
			absent: []string{"Type", "Flags", "Dns", "Policies", "Owner"},
		},
		{
			name: "Overlay gets router MAC, provider address and adapter",
			doc:  network("fjord", "Overlay", "10.60.0.0/16", `,"Flags":8,"Owner":"me"`),
			want: map[string]string{"Type": "Overlay", "Flags": "8", "Owner": "me",
				"Policies.0.Type": "NetAdapterName", "Policies.0.Settings.NetworkAdapterName": "Ethernet",
				"Policies.1.Type": "DrMacAddress", "Policies.2.Settings.ProviderAddress": "192.0.2.10"},
		},
		{
			name:   "type matched ignoring case, empty structs are absent",
			doc:    network("lake", "l2bridge", "10.50.3.0/24", `,"Dns":{},"MacPool":{},"Health":{"Extra":{}},"Strange":1`),
			want:   map[string]string{"Type": "L2Bridge", "Ipams.0.Subnets.0.IpAddressPrefix": "10.50.3.0/24"},
			absent: []string{"Dns", "Health", "Strange", "Policies"},
		},
		{
			name: "type as a number, member names in any case",
			doc:  `{"name":"glass","type":2,"ipams":[],"schemaversion":{"Major":2,"Minor":2}}`,
			want: map[string]string{"Type": "Transparent", "SchemaVersion.Minor": "2"},
		},
		{
			name: "NAT without subnet gets a private block",
			doc:  `{"Name":"pond","Ipams":[],` + schema2 + `}`,
			want: map[string]string{"Ipams.0.Subnets.0.IpAddressPrefix": "172.17.0.0/20",
				"Ipams.0.Subnets.0.Routes.0.NextHop": "172.17.0.1"},
		},
		{
			name: "NAT with subnet without gateway gets its first address",
			doc:  `{"Name":"pond","Ipams":[{"Subnets":[{"IpAddressPrefix":"172.30.0.0/24"}]}],` + schema2 + `}`,
			want: map[string]string{"Ipams.0.Subnets.0.Routes.0.NextHop": "172.30.0.1"},
		},
		{
			name: "MAC pool and DNS as given",
			doc: network("lake", "L2Bridge", "10.50.3.0/24",
				`,"MacPool":{"Ranges":[{"StartMacAddress":"00-15-5d-52-c0-00","EndMacAddress":"00-15-5d-52-cf-ff"}]},"Dns":{"ServerList":["10.0.0.10"]}`),
			want: map[string]string{"MacPool.Ranges.0.EndMacAddress": "00-15-5D-52-CF-FF", "Dns.ServerList.0": "10.0.0.10"},
		},
		{
			name: "id of the document",
			doc:  network("lake", "L2Bridge", "10.50.3.0/24", `,"ID":"4A71D6F4-B336-4EF5-BFB0-623E759712B4"`),
			want: map[string]string{"ID": "4a71d6f4-b336-4ef5-bfb0-623e759712b4"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			doc := n.made(hns.KindNetwork, tt.doc)
			for path, want := range tt.want {
				if got := fmt.Sprint(at(t, doc, split(path)...)); got != want {
					t.Errorf("%s is %s, want %s", path, got, want)
				}
			}
			for _, m := range tt.absent {
				if v := at(t, doc, m); v != nil {
					t.Errorf("%s is %v, want none", m, v)
				}
			}
			if got := string(n.get(hns.KindNetwork, n.parse(text(t, doc, "ID")))); got != string(doc) {
				t.Errorf("get differs from create:\n%s\n%s", got, doc)
			}
		})
	}
}

func split(path string) (steps []any) {
	for _, s := range strings.Split(path, ".") {
		var i int
		if _, err := fmt.Sscan(s, &i); err == nil {
			steps = append(steps, i)
		} else {
			steps = append(steps, s)
		}
	}
	return steps
}

func TestCreateNetworkRefused(t *testing.T) {
	overlay := func(vsid string) string {
		return strings.Replace(network("fjord", "Overlay", "10.60.0.0/16"), "4096", vsid, 1)
	}
	tests := []struct {
		name, doc string
		want      hns.Code
		change    func(*emulator.Options)
	}{
		{name: "no JSON", doc: `{"Name":`, want: hns.CodeInvalidJSON},
		{name: "no object", doc: `[]`, want: hns.CodeInvalidJSON},
		{name: "name is no text", doc: `{"Name":7,` + schema2 + `}`, want: hns.CodeInvalidJSON},
		{name: "unknown type", doc: network("x", "wincni.exe", "10.0.0.0/24"), want: hns.CodeInvalidNetworkType}, // microsoft/SDN#238
		{name: "number beyond the types", doc: `{"Type":11,` + schema2 + `}`, want: hns.CodeInvalidNetworkType},
		{name: "bad id", doc: network("x", "NAT", "10.0.0.0/24", `,"ID":"{4a71d6f4}"`), want: hns.CodeGUIDConversion},
		{name: "prefix unreadable", doc: strings.Replace(network("x", "NAT", "10.0.0.0/24"), "10.0.0.0/24", "10.0.0.0", 1), want: hns.CodeInvalidPrefix},
		// microsoft/windows-container-networking#69
		{name: "host bits", doc: network("x", "NAT", "10.172.204.0/8"), want: hns.CodeInvalidJSON},
		{name: "L2Bridge without subnet", doc: `{"Name":"x","Type":"L2Bridge",` + schema2 + `}`, want: hns.CodeInvalidNetwork},
		// moby/libnetwork#1843
		{name: "VNI 0", doc: overlay("0"), want: hns.CodeInvalidParameter},
		{name: "VNI 4095", doc: overlay("4095"), want: hns.CodeInvalidParameter},
		{name: "VNI too high", doc: overlay("16777215"), want: hns.CodeInvalidParameter},
		{name: "VNI 4095 with another code", doc: overlay("4095"), want: hns.CodeInvalidNetwork,
			change: func(o *emulator.Options) { o.LowVNICode = hns.CodeInvalidNetwork }},
		{name: "VNI 1 allowed", doc: overlay("1"), change: func(o *emulator.Options) { o.AllowLowVNI = true }},
		{name: "highest VNI", doc: overlay("16777214")},
		{name: "overlay of IPv6", doc: network("x", "Overlay", "fd00:50::/64"), want: hns.CodeInvalidParameter},
		{name: "L2Bridge of IPv6", doc: network("x", "L2Bridge", "fd00:50::/64")},
		{name: "L2Bridge of IPv6 on old HNS", doc: network("x", "L2Bridge", "fd00:50::/64"), want: hns.CodeInvalidParameter,
			change: version(emulator.WindowsServer2019)},
		{name: "MAC pool upside down", want: hns.CodeInvalidParameter, doc: network("x", "NAT", "10.0.0.0/24",
			`,"MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-52-C0-00","EndMacAddress":"00-15-5D-52-B0-00"}]}`)},
		{name: "gateway unreadable", want: hns.CodeInvalidIP,
			doc: strings.Replace(network("x", "NAT", "10.0.0.0/24"), `"10.0.0.1"`, `"<gw>"`, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.change
			if change == nil {
				change = func(*emulator.Options) {}
			}
			n := newNode(t, change)
			before := n.state()
			_, code := n.create(hns.KindNetwork, tt.doc)
			if code != tt.want {
				t.Fatalf("code %s, want %s", code, tt.want)
			}
			if after := n.state(); code != 0 && after != before {
				t.Errorf("a refused create changed the state to\n%s", after)
			}
		})
	}
}

func TestNetworkNamesAreUnique(t *testing.T) {
	tests := []struct {
		second     string
		ignoreCase bool
		want       hns.Code
	}{
		{"lake", false, hns.CodeNetworkExists},
		{"Lake", false, 0},
		{"Lake", true, hns.CodeNetworkExists},
		{"pond", true, 0},
	}
	for _, tt := range tests {
		n := newNode(t, func(o *emulator.Options) { o.NetworkNamesIgnoreCase = tt.ignoreCase })
		n.lake()
		if _, code := n.create(hns.KindNetwork, network(tt.second, "Overlay", "10.60.0.0/16")); code != tt.want {
			t.Errorf("%s after lake, ignore case %v: %s, want %s", tt.second, tt.ignoreCase, code, tt.want)
		}
	}
}

func TestNetworkIDIsUnique(t *testing.T) {
	n := newNode(t)
	id := n.lake()
	_, code := n.create(hns.KindNetwork, network("x", "L2Bridge", "10.0.0.0/24", fmt.Sprintf(`,"ID":%q`, id)))
	if code != hns.CodeAlreadyExists {
		t.Errorf("in the document: %s", code)
	}
	_, code = n.try(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, ID: id, Document: []byte(network("x", "L2Bridge", "10.0.0.0/24"))})
	if code != hns.CodeAlreadyExists {
		t.Errorf("beside the document: %s", code)
	}
}

// moby/moby#30280, docker/for-win#726
func TestNATNetworksOverlap(t *testing.T) {
	tests := []struct {
		prefix string
		single bool
		want   hns.Code
	}{
		{"172.30.8.0/24", false, hns.CodeObjectAlreadyExists},
		{"172.16.0.0/12", false, hns.CodeObjectAlreadyExists},
		{"172.31.0.0/24", false, 0},
		{"172.31.0.0/24", true, hns.CodeInvalidParameter},
	}
	for _, tt := range tests {
		n := newNode(t, func(o *emulator.Options) { o.SingleNAT = tt.single })
		n.pond()
		if _, code := n.create(hns.KindNetwork, network("pool", "NAT", tt.prefix)); code != tt.want {
			t.Errorf("%s, single %v: %s, want %s", tt.prefix, tt.single, code, tt.want)
		}
	}
	n := newNode(t)
	n.lake()
	if _, code := n.create(hns.KindNetwork, network("pool", "NAT", "10.50.3.0/24")); code != 0 {
		t.Errorf("NAT over an L2Bridge subnet: %s", code)
	}
}

func TestMissingNetwork(t *testing.T) {
	n := newNode(t)
	id := hns.NewID()
	for _, r := range []hns.Request{
		{Verb: hns.VerbGet, Kind: hns.KindNetwork, ID: id},
		{Verb: hns.VerbDelete, Kind: hns.KindNetwork, ID: id},
		{Verb: hns.VerbModify, Kind: hns.KindNetwork, ID: id, Document: []byte(`{"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[]}}`)},
		{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Network: id, Document: []byte(`{` + schema2 + `}`)},
		{Verb: hns.VerbGet, Kind: hns.KindNetwork},
	} {
		if _, code := n.try(r); code != hns.CodeNetworkNotFound {
			t.Errorf("%s: %s", r.Verb, code)
		}
	}
}

func TestDeleteNetworkTakesItsEndpoints(t *testing.T) {
	n := newNode(t)
	lake, fjord := n.lake(), n.fjord()
	ns := n.id(hns.KindNamespace, namespaceDoc)
	inNamespace := n.id(hns.KindEndpoint, endpoint(lake, "a"))
	onHost := n.id(hns.KindEndpoint, endpoint(lake, "b"))
	other := n.id(hns.KindEndpoint, endpoint(fjord, "c"))
	if code := n.join("Add", ns, inNamespace); code != 0 {
		t.Fatal(code)
	}
	if _, code := n.call("POST", "/endpoints/"+onHost.String()+"/attach", `{"SystemType":"Host","CompartmentId":1}`); code != 0 {
		t.Fatal(code)
	}
	if code := n.delete(hns.KindNetwork, lake); code != 0 {
		t.Fatal(code)
	}
	if got := n.list(hns.KindEndpoint, ""); len(got) != 1 || n.parse(text(t, got[0], "ID")) != other {
		t.Errorf("endpoints left: %s", got)
	}
	if r := at(t, n.get(hns.KindNamespace, ns), "Resources"); r != nil {
		t.Errorf("namespace still holds %v", r)
	}
	if _, ok := n.adapters()["vEthernet (b)"]; ok {
		t.Error("the vNIC of the host-attached endpoint is still there")
	}
	n.lake() // the name is free at once
}

// flannel-io/flannel#1066
func TestAddressesShowLate(t *testing.T) {
	tests := []struct{ reads, visibleAt int }{{0, 0}, {1, 1}, {3, 3}, {-1, -1}}
	for _, tt := range tests {
		n := newNode(t, func(o *emulator.Options) { o.AddressAfterReads = tt.reads })
		doc := n.made(hns.KindNetwork, network("fjord", "Overlay", "10.60.0.0/16"))
		if settings(t, doc, "DrMacAddress") == "" {
			t.Error("the router MAC is there from the start")
		}
		seen := -1
		for i := 0; i < 6 && seen < 0; i++ {
			if settings(t, doc, "ProviderAddress") != "" {
				seen = i
			}
			doc = n.list(hns.KindNetwork, `{"Name":"fjord"}`)[0]
		}
		if seen != tt.visibleAt {
			t.Errorf("after %d reads: seen at %d, want %d", tt.reads, seen, tt.visibleAt)
		}
		v1, _ := n.call("GET", "/networks/"+text(t, doc, "ID"), "")
		if has := text(t, v1, "ManagementIP") != ""; has != (tt.reads >= 0) {
			t.Errorf("ManagementIP shown: %v", has)
		}
	}
}

func TestModifyNetwork(t *testing.T) {
	const vfp = "F74F241B-440F-4433-BB28-00F89EAD20D8"
	tests := []struct {
		name, doc string
		want      hns.Code
	}{
		{"DNS", `{"ResourceType":"DNS","RequestType":"Update","Settings":{"ServerList":["10.0.0.10"]}}`, 0},
		{"DNS by number", `{"ResourceType":0,"RequestType":2,"Settings":{"Domain":"test"}}`, 0},
		{"extension", `{"ResourceType":"Extension","RequestType":"Update","Settings":{"Id":"` + vfp + `","IsEnabled":false}}`, 0},
		{"extension unknown", `{"ResourceType":"Extension","Settings":{"Id":"x"}}`, hns.CodeSwitchExtensionNotFound},
		// microsoft/hcsshim#786
		{"subnets stay", `{"ResourceType":"Subnet","RequestType":"Add","Settings":{"Subnets":[{"IpAddressPrefix":"10.0.0.0/24"}]}}`, hns.CodeRequestUnsupported},
		{"unknown resource", `{"ResourceType":"Weather","RequestType":"Add"}`, hns.CodeRequestUnsupported},
		{"unknown request", `{"ResourceType":"Policy","RequestType":"Mend"}`, hns.CodeRequestUnsupported},
		{"reset", `{"ResourceType":"Policy","RequestType":"Reset","Settings":{}}`, hns.CodeRequestUnsupported},
		{"refresh", `{"ResourceType":"Policy","RequestType":"Refresh","Settings":{}}`, 0},
		{"settings are no object", `{"ResourceType":"Policy","RequestType":"Add","Settings":[]}`, hns.CodeInvalidJSON},
		{"no JSON", `x`, hns.CodeInvalidJSON},
	}
	for _, tt := range tests {
		n := newNode(t)
		if code := n.modify(hns.KindNetwork, n.lake(), tt.doc); code != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, code, tt.want)
		}
	}
	n := newNode(t)
	lake := n.lake()
	ep := n.id(hns.KindEndpoint, endpoint(lake, "a", `,"Dns":{"ServerList":["10.0.0.9"]}`))
	n.modify(hns.KindNetwork, lake, tests[0].doc)
	if got := text(t, n.get(hns.KindNetwork, lake), "Dns", "ServerList", 0); got != "10.0.0.10" {
		t.Errorf("DNS of the network is %q", got)
	}
	if got := text(t, n.get(hns.KindEndpoint, ep), "Dns", "ServerList", 0); got != "10.0.0.9" {
		t.Errorf("DNS of an endpoint that was there became %q", got)
	}
	n.fjord()
	if code := n.modify(hns.KindNetwork, lake, tests[2].doc); code != hns.CodeSharedSwitchModification {
		t.Errorf("extension of a shared switch: %s", code)
	}
}
