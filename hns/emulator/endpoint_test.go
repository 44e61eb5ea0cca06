package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestCreateEndpointFillsIn(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	doc := n.made(hns.KindEndpoint, `{"HostComputeNetwork":"`+strings.ToUpper(lake.String())+`",`+schema2+`}`)
	for path, want := range map[string]string{
		"Name":                            "Ethernet",
		"State":                           "1",
		"HostComputeNetwork":              lake.String(),
		"HostComputeNamespace":            hns.ID{}.String(), // antrea-io/antrea#2301
		"IpConfigurations.0.IpAddress":    "10.50.3.2",
		"IpConfigurations.0.PrefixLength": "24",
		"Routes.0.NextHop":                "10.50.3.1",
		"Routes.0.DestinationPrefix":      "0.0.0.0/0",
	} {
		if got := fmt.Sprint(at(t, doc, split(path)...)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	pool := text(t, n.get(hns.KindNetwork, lake), "MacPool", "Ranges", 0, "StartMacAddress")
	if got := text(t, doc, "MacAddress"); got != pool {
		t.Errorf("MAC %s, want the first of the pool, %s", got, pool)
	}
	if at(t, doc, "Policies") != nil || at(t, doc, "Flags") != nil || at(t, doc, "Dns") != nil {
		t.Errorf("members without a value are shown: %s", doc)
	}
}

func TestEndpointAddresses(t *testing.T) {
	const remote = `,"Flags":1`
	tests := []struct {
		name, more string
		want       hns.Code
		change     func(*emulator.Options)
	}{
		{name: "free", more: ip("10.50.3.9")},
		{name: "another in the subnet of the broadcast's neighbour", more: ip("10.50.3.254")},
		// kubernetes/kubernetes#100962
		{name: "network address", more: ip("10.50.3.0"), want: hns.CodeAddressInvalidOrReserved},
		{name: "gateway", more: ip("10.50.3.1"), want: hns.CodeAddressInvalidOrReserved},
		{name: "broadcast", more: ip("10.50.3.255"), want: hns.CodeAddressInvalidOrReserved},
		{name: "gateway on old HNS", more: ip("10.50.3.1"), change: version(emulator.WindowsServer2019)},
		{name: "entry without address", more: `,"IpConfigurations":[{}]`},
		{name: "null", more: `,"IpConfigurations":null`},
		{name: "outside", more: ip("10.61.0.9"), want: hns.CodeInvalidIP},
		{name: "outside, remote", more: ip("192.168.2.3") + remote},
		{name: "unreadable", more: ip("<ip>"), want: hns.CodeInvalidIP},
		{name: "with zone", more: ip("fe80::1%eth0"), want: hns.CodeInvalidIP},
		{name: "no text", more: `,"IpConfigurations":[{"IpAddress":7}]`, want: hns.CodeInvalidJSON},
		// kubernetes/kubernetes#74766
		{name: "taken", more: ip("10.50.3.7"), want: hns.CodeObjectAlreadyExists},
		{name: "taken by remote", more: ip("10.50.3.30"), want: hns.CodeObjectAlreadyExists},
		// kubernetes/kubernetes#138000
		{name: "taken by remote, may shadow", more: ip("10.50.3.30"), change: func(o *emulator.Options) { o.RemoteAddressMayShadow = true }},
		{name: "remote twice, may shadow", more: ip("10.50.3.30") + remote, want: hns.CodeObjectAlreadyExists,
			change: func(o *emulator.Options) { o.RemoteAddressMayShadow = true }},
		{name: "remote over local", more: ip("10.50.3.7") + remote, want: hns.CodeObjectAlreadyExists},
		{name: "twice in one document", more: `,"IpConfigurations":[{"IpAddress":"10.50.3.9"},{"IpAddress":"10.50.3.9"}]`, want: hns.CodeObjectAlreadyExists},
		{name: "remote without address", more: remote, want: hns.CodeInvalidEndpoint},
		{name: "prefix too long", more: `,"IpConfigurations":[{"IpAddress":"10.50.3.9","PrefixLength":33}]`, want: hns.CodeInvalidPrefix},
		{name: "/32", more: `,"IpConfigurations":[{"IpAddress":"10.50.3.9","PrefixLength":32}]`},
		{name: "/32 on old HNS", more: `,"IpConfigurations":[{"IpAddress":"10.50.3.9","PrefixLength":32}]`, want: hns.CodeInvalidParameter,
			change: version(hns.Version{Major: 9, Minor: 2})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.change
			if change == nil {
				change = func(*emulator.Options) {}
			}
			n := newNode(t, change)
			lake := n.lake()
			n.made(hns.KindEndpoint, endpoint(lake, "local", ip("10.50.3.7")))
			n.made(hns.KindEndpoint, endpoint(lake, "remote", ip("10.50.3.30"), remote))
			if _, code := n.create(hns.KindEndpoint, endpoint(lake, "x", tt.more)); code != tt.want {
				t.Errorf("code %s, want %s", code, tt.want)
			}
		})
	}
}

func TestAddressesAreAllocatedLowestFirst(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	take := func() string {
		return text(t, n.made(hns.KindEndpoint, endpoint(lake, "x")), "IpConfigurations", 0, "IpAddress")
	}
	taken := n.id(hns.KindEndpoint, endpoint(lake, "given", ip("10.50.3.3")))
	got := []string{take(), take()}
	if code := n.delete(hns.KindEndpoint, taken); code != 0 {
		t.Fatal(code)
	}
	got = append(got, take(), take())
	want := []string{"10.50.3.2", "10.50.3.4", "10.50.3.3", "10.50.3.5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSubnetFull(t *testing.T) {
	for _, tt := range []struct{ set, want hns.Code }{{0, hns.CodeSubnetNotFound}, {hns.CodeInvalidIP, hns.CodeInvalidIP}} {
		n := newNode(t, func(o *emulator.Options) { o.SubnetFullCode = tt.set })
		id := n.id(hns.KindNetwork, network("small", "L2Bridge", "10.50.3.0/29"))
		var code hns.Code
		made := 0
		for ; code == 0; made++ {
			_, code = n.create(hns.KindEndpoint, endpoint(id, "x"))
		}
		if made-1 != 5 || code != tt.want {
			t.Errorf("%d endpoints in a /29, then %s, want 5 and %s", made-1, code, tt.want)
		}
	}
}

func TestGatewayNotReserved(t *testing.T) {
	n := newNode(t)
	id := n.id(hns.KindNetwork, strings.Replace(network("tube", "L2Tunnel", "10.50.3.0/24"), `"Routes"`, `"Flags":1,"Routes"`, 1))
	if got := text(t, n.made(hns.KindEndpoint, endpoint(id, "x")), "IpConfigurations", 0, "IpAddress"); got != "10.50.3.1" {
		t.Errorf("first address %s, want the gateway's", got)
	}
}

func TestDualStack(t *testing.T) {
	n := newNode(t)
	doc := strings.Replace(network("lake", "L2Bridge", "10.50.3.0/24"), `"Subnets":[`,
		`"Subnets":[{"IpAddressPrefix":"fd00:50::/64","Routes":[{"NextHop":"fd00:50::1","DestinationPrefix":"::/0"}]},`, 1)
	lake := n.id(hns.KindNetwork, doc)
	tests := []struct {
		more          string
		want, gateway []string
	}{
		{"", []string{"10.50.3.2", "fd00:50::2"}, []string{"10.50.3.1", "fd00:50::1"}},
		{`,"IpConfigurations":[{"IpAddress":"fd00:50::9"},{"IpAddress":"10.50.3.9"}]`,
			[]string{"fd00:50::9", "10.50.3.9"}, []string{"fd00:50::1", "10.50.3.1"}},
		{ip("fd00:50::a"), []string{"fd00:50::a"}, []string{"fd00:50::1"}},
	}
	for _, tt := range tests {
		doc := n.made(hns.KindEndpoint, endpoint(lake, "x", tt.more))
		var addresses, gateways []string
		for i := range 2 {
			if a := text(t, doc, "IpConfigurations", i, "IpAddress"); a != "" {
				addresses = append(addresses, a)
			}
			if a := text(t, doc, "Routes", i, "NextHop"); a != "" {
				gateways = append(gateways, a)
			}
		}
		if diff := cmp.Diff([][]string{tt.want, tt.gateway}, [][]string{addresses, gateways}); diff != "" {
			t.Errorf("%s: %s", tt.more, diff)
		}
	}
}

func TestNetworksWithoutSubnets(t *testing.T) {
	tests := []struct {
		kind, more string
		want       hns.Code
	}{
		// Azure/acs-engine#3153
		{"Transparent", "", 0},
		{"Transparent", ip("203.0.113.5"), 0},
		{"Private", "", 0},
	}
	for _, tt := range tests {
		n := newNode(t)
		id := n.id(hns.KindNetwork, `{"Name":"glass","Type":"`+tt.kind+`","Ipams":[],`+schema2+`}`)
		if _, code := n.create(hns.KindEndpoint, endpoint(id, "x", tt.more)); code != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.kind, tt.more, code, tt.want)
		}
	}
}

func TestEndpointMAC(t *testing.T) {
	tests := []struct {
		mac, want string
		code      hns.Code
	}{
		{"00-11-22-33-44-55", "00-11-22-33-44-55", 0},
		{"0e-2A-0a-01-12-43", "0e-2A-0a-01-12-43", 0}, // ovn-kubernetes/ovn-kubernetes#580: echoed as given
		{"02:11:0a:32:03:07", "02:11:0a:32:03:07", 0},
		{"00155dcdbe49", "", hns.CodeInvalidParameter},
		{"00-11-22-33-44", "", hns.CodeInvalidParameter},
	}
	for _, tt := range tests {
		n := newNode(t)
		doc, code := n.create(hns.KindEndpoint, endpoint(n.lake(), "x", `,"MacAddress":"`+tt.mac+`"`))
		if code != tt.code {
			t.Errorf("%s: %s, want %s", tt.mac, code, tt.code)
			continue
		}
		if code == 0 && text(t, doc, "MacAddress") != tt.want {
			t.Errorf("%s came back as %s", tt.mac, text(t, doc, "MacAddress"))
		}
	}
}

func TestMACPool(t *testing.T) {
	n := newNode(t)
	pool := `,"MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-52-C0-FE","EndMacAddress":"00-15-5D-52-C0-FF"},{"StartMacAddress":"00-15-5D-52-D0-00","EndMacAddress":"00-15-5D-52-D0-00"}]}`
	lake := n.id(hns.KindNetwork, network("lake", "L2Bridge", "10.50.3.0/24", pool))
	var got []string
	var ids []hns.ID
	for range 3 {
		doc := n.made(hns.KindEndpoint, endpoint(lake, "x"))
		got = append(got, text(t, doc, "MacAddress"))
		ids = append(ids, n.parse(text(t, doc, "ID")))
	}
	if diff := cmp.Diff([]string{"00-15-5D-52-C0-FE", "00-15-5D-52-C0-FF", "00-15-5D-52-D0-00"}, got); diff != "" {
		t.Error(diff)
	}
	if _, code := n.create(hns.KindEndpoint, endpoint(lake, "x")); code != hns.CodeSubnetNotFound {
		t.Errorf("empty pool: %s", code)
	}
	n.delete(hns.KindEndpoint, ids[1])
	if got := text(t, n.made(hns.KindEndpoint, endpoint(lake, "x")), "MacAddress"); got != "00-15-5D-52-C0-FF" {
		t.Errorf("after a delete the pool gives %s", got)
	}
}

func TestEndpointRoutes(t *testing.T) {
	tests := []struct {
		name, more, want string
		code             hns.Code
	}{
		{"none given", "", "10.50.3.1", 0},
		{"given, outside the subnet", `,"Routes":[{"NextHop":"192.0.2.1","DestinationPrefix":"0.0.0.0/0"}]`, "192.0.2.1", 0},
		{"no gateway wanted", `,"Routes":[{"NextHop":"0.0.0.0","DestinationPrefix":"0.0.0.0/0"}]`, "0.0.0.0", 0},
		{"empty list", `,"Routes":[]`, "10.50.3.1", 0},
		{"bad hop", `,"Routes":[{"NextHop":"<gw>","DestinationPrefix":"0.0.0.0/0"}]`, "", hns.CodeInvalidIP},
		{"bad prefix", `,"Routes":[{"NextHop":"10.50.3.1","DestinationPrefix":"10.0.0.0/40"}]`, "", hns.CodeInvalidPrefix},
		{"remote has none", `,"Flags":1` + ip("10.50.9.9"), "", 0},
	}
	for _, tt := range tests {
		n := newNode(t)
		doc, code := n.create(hns.KindEndpoint, endpoint(n.lake(), "x", tt.more))
		if code != tt.code {
			t.Errorf("%s: %s, want %s", tt.name, code, tt.code)
		} else if code == 0 && text(t, doc, "Routes", 0, "NextHop") != tt.want {
			t.Errorf("%s: routes of %s, want next hop %s", tt.name, doc, tt.want)
		}
	}
}

func TestEndpointIdentity(t *testing.T) {
	n := newNode(t)
	lake, fjord := n.lake(), n.fjord()
	a := n.id(hns.KindEndpoint, endpoint(lake, "same"))
	b := n.id(hns.KindEndpoint, endpoint(lake, "same")) // names are free
	if got := n.list(hns.KindEndpoint, `{"Name":"same"}`); len(got) != 2 || n.parse(text(t, got[0], "ID")) != a {
		t.Errorf("by name, oldest first: %s", got)
	}
	for name, r := range map[string]struct {
		req  hns.Request
		want hns.Code
	}{
		"id taken": {hns.Request{ID: b, Network: lake, Document: []byte(endpoint(lake, "x"))}, hns.CodeAlreadyExists},
		"networks differ": {hns.Request{Network: fjord, Document: []byte(endpoint(lake, "x"))},
			hns.CodeInvalidParameter},
		"network beside the document": {hns.Request{Network: lake, Document: []byte(`{` + schema2 + `}`)}, 0},
		"no network":                  {hns.Request{Document: []byte(`{` + schema2 + `}`)}, hns.CodeNetworkNotFound},
		"network is no GUID":          {hns.Request{Document: []byte(`{"HostComputeNetwork":"lake",` + schema2 + `}`)}, hns.CodeGUIDConversion},
	} {
		r.req.Verb, r.req.Kind = hns.VerbCreate, hns.KindEndpoint
		if _, code := n.try(r.req); code != r.want {
			t.Errorf("%s: %s, want %s", name, code, r.want)
		}
	}
}

func TestMissingEndpoint(t *testing.T) {
	n := newNode(t)
	id := hns.NewID()
	for _, r := range []hns.Request{
		{Verb: hns.VerbGet, Kind: hns.KindEndpoint, ID: id},
		{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, ID: id},
		{Verb: hns.VerbModify, Kind: hns.KindEndpoint, ID: id, Document: []byte(`{}`)},
	} {
		if _, code := n.try(r); code != hns.CodeEndpointNotFound {
			t.Errorf("%s: %s", r.Verb, code)
		}
	}
}

func TestDeleteEndpointFreesAll(t *testing.T) {
	n := newNode(t)
	lake := n.lake()
	ns := n.id(hns.KindNamespace, namespaceDoc)
	doc := endpoint(lake, "x", ip("10.50.3.9"), policies(`{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8088}}`))
	for range 2 {
		ep := n.id(hns.KindEndpoint, doc)
		if code := n.join("Add", ns, ep); code != 0 {
			t.Fatal(code)
		}
		if code := n.delete(hns.KindEndpoint, ep); code != 0 {
			t.Fatal(code)
		}
		if r := at(t, n.get(hns.KindNamespace, ns), "Resources"); r != nil {
			t.Errorf("namespace still holds %v", r)
		}
	}
}

func TestEndpointInNamespaceAtCreate(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		n := newNode(t, func(o *emulator.Options) { o.IgnoreNamespaceInCreate = ignore })
		lake := n.lake()
		ns := n.id(hns.KindNamespace, namespaceDoc)
		in := func(id hns.ID) string { return fmt.Sprintf(`,"HostComputeNamespace":%q`, id) }
		doc := n.made(hns.KindEndpoint, endpoint(lake, "x", in(ns)))
		if got := n.parse(text(t, doc, "HostComputeNamespace")) == ns; got == ignore {
			t.Errorf("ignore %v: attached %v", ignore, got)
		}
		n.made(hns.KindEndpoint, endpoint(lake, "zero", in(hns.ID{})))
		before := n.state()
		_, code := n.create(hns.KindEndpoint, endpoint(lake, "y", in(hns.NewID())))
		if want := map[bool]hns.Code{false: hns.CodeElementNotFound, true: 0}[ignore]; code != want {
			t.Errorf("missing namespace: %s, want %s", code, want)
		}
		if code != 0 && n.state() != before {
			t.Error("the endpoint was left behind")
		}
	}
}

func TestVMPort(t *testing.T) {
	n := newNode(t)
	ep := n.id(hns.KindEndpoint, endpoint(n.lake(), "x"))
	port := func(request string) hns.Code {
		return n.modify(hns.KindEndpoint, ep, `{"ResourceType":"Port","RequestType":"`+request+`","Settings":{"PortId":"p","VirtualMachineId":"vm"}}`)
	}
	for _, step := range []struct {
		request string
		want    hns.Code
		state   float64
	}{
		{"Remove", hns.CodeElementNotFound, 1}, {"Add", 0, 2}, {"Add", hns.CodeEndpointAttached, 2}, {"Remove", 0, 4}, {"Update", hns.CodeRequestUnsupported, 4},
	} {
		if code := port(step.request); code != step.want {
			t.Errorf("%s: %s, want %s", step.request, code, step.want)
		}
		if got := at(t, n.get(hns.KindEndpoint, ep), "State"); got != step.state {
			t.Errorf("after %s: state %v, want %v", step.request, got, step.state)
		}
	}
}
