package hns_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
)

// An endpoint as HNS 15 shows it: members that this package does not know, ids
// in capital letters, and policies that it has no struct for.
const wholeEndpoint = `{
  "ID": "2B000000-0000-4000-8000-0000000000AB",
  "Name": "sbx-01_lake",
  "Version": 64424509440,
  "AdditionalParams": {"SwitchId": "1D8E7F10-0000-4000-8000-000000000009"},
  "Health": {"Extra": {}},
  "State": 2,
  "SchemaVersion": {"Major": 2, "Minor": 16},
  "HostComputeNetwork": "1a000000-0000-4000-8000-000000000001",
  "HostComputeNamespace": "3c000000-0000-4000-8000-000000000001",
  "Policies": [
    {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.50.0.0/16", "10.96.0.0/12"]}},
    {"Type": "L2Driver"},
    {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}}
  ],
  "IpConfigurations": [
    {"IpAddress": "10.50.3.7", "PrefixLength": 24, "IpSubnetId": "4d000000-0000-4000-8000-000000000001"},
    {"IpAddress": "fd00:50:3::7", "PrefixLength": 64}
  ],
  "Dns": {"Domain": "cluster.local", "Search": ["svc.cluster.local"], "ServerList": ["10.96.0.10"], "Options": ["ndots:5"]},
  "Routes": [
    {"NextHop": "10.50.3.2", "DestinationPrefix": "0.0.0.0/0"},
    {"NextHop": "fd00:50:3::1", "DestinationPrefix": "::/0", "Metric": 256}
  ],
  "MacAddress": "00-15-5D-10-BE-47",
  "Flags": 8
}`

func TestDecodeEndpoint(t *testing.T) {
	got, err := hns.DecodeEndpoint([]byte(wholeEndpoint))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "endpoint", &hns.Endpoint{
		ID: podID, Name: "sbx-01_lake", Network: lake, Namespace: podNS,
		IPConfigs: []hns.IPConfig{
			{Address: addr("10.50.3.7"), PrefixLength: 24, IPSubnet: mustID("4d000000-0000-4000-8000-000000000001")},
			{Address: addr("fd00:50:3::7"), PrefixLength: 64},
		},
		Routes: []hns.Route{
			{NextHop: addr("10.50.3.2"), DestinationPrefix: prefix("0.0.0.0/0")},
			{NextHop: addr("fd00:50:3::1"), DestinationPrefix: prefix("::/0"), Metric: 256},
		},
		MAC: mustMAC("00-15-5D-10-BE-47"),
		DNS: hns.DNS{Domain: "cluster.local", Search: []string{"svc.cluster.local"}, ServerList: []string{"10.96.0.10"}, Options: []string{"ndots:5"}},
		Policies: []hns.EndpointPolicy{
			hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16", "10.96.0.0/12"}},
			hns.L2Driver{},
			hns.SDNRoute{DestinationPrefix: prefix("10.96.0.0/12"), NeedEncap: true},
		},
		Flags: hns.EndpointLowInterfaceMetric, State: hns.EndpointAttached,
		Document: hns.Document{Raw: json.RawMessage(wholeEndpoint)},
	}, got)
}

// The document is kept whole, and not by reference to the caller's bytes.
func TestDocumentIsKept(t *testing.T) {
	doc := []byte(wholeEndpoint)
	e, err := hns.DecodeEndpoint(doc)
	if err != nil {
		t.Fatal(err)
	}
	for i := range doc {
		doc[i] = ' '
	}
	if string(e.Document.Raw) != wholeEndpoint {
		t.Error("the document changed with the bytes it was read from")
	}
	if p, ok := e.Policies[0].(hns.OutBoundNAT); !ok || p.Exceptions[0] != "10.50.0.0/16" {
		t.Errorf("the policies changed: %v", e.Policies)
	}
}

// Values that other programs left on the host. Any one of them made a plugin
// panic, or a list of all endpoints fail, and with it the DEL of every pod.
func TestReadingNeverFailsOnAValue(t *testing.T) {
	e, err := hns.DecodeEndpoint([]byte(`{
		"id": "not-a-guid", "NAME": 7, "hostcomputenetwork": "1A000000-0000-4000-8000-000000000001",
		"HostComputeNamespace": null,
		"IPConfigurations": [
			{"IPAddress": "10.50.3.300"},
			"10.50.3.7/24",
			null,
			{"IpAddress": "10.50.3.8", "PrefixLength": "24"},
			{"IpAddress": "", "PrefixLength": 300}],
		"Routes": [
			{"NextHop": "<gw>", "DestinationPrefix": "0.0.0.0/0"},
			{"NextHop": "10.50.3.1", "DestinationPrefix": "10.96.0.1/12"},
			{"NextHop": "fe80::1%12", "DestinationPrefix": "::/129", "Metric": -1}],
		"MacAddress": "00155d010203",
		"Dns": ["10.96.0.10"],
		"Policies": {"Type": "OutBoundNAT"},
		"Flags": "RemoteEndpoint",
		"State": 70000,
		"Unknown": {"deep": [1, 2, {}]}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "what could be read", &hns.Endpoint{
		Name: "7", Network: lake,
		IPConfigs: []hns.IPConfig{{}, {Address: addr("10.50.3.8"), PrefixLength: 24}, {}},
		Routes: []hns.Route{
			{DestinationPrefix: prefix("0.0.0.0/0")},
			{NextHop: addr("10.50.3.1"), DestinationPrefix: prefix("10.96.0.1/12")},
			{},
		},
	}, e, cmpopts.IgnoreFields(hns.Endpoint{}, "Document"))
	same(t, "what could not", []hns.Unread{
		{"ID", `"not-a-guid"`, "not a GUID"},
		{"Routes[0].NextHop", `"<gw>"`, "not an IP address"},
		{"Routes[2].NextHop", `"fe80::1%12"`, "not an IP address"},
		{"Routes[2].DestinationPrefix", `"::/129"`, "not a prefix such as 10.0.0.0/24"},
		{"Routes[2].Metric", `-1`, "not a number of 16 bits"},
		{"MacAddress", `"00155d010203"`, "not a MAC address"},
		{"Dns", `["10.96.0.10"]`, "not a JSON object"},
		{"Policies", `{"Type": "OutBoundNAT"}`, "not a list"},
		{"Flags", `"RemoteEndpoint"`, "not a number of 32 bits"},
		{"State", `70000`, "not a number of 16 bits"},
		{"IpConfigurations[0].IpAddress", `"10.50.3.300"`, "not an IP address"},
		{"IpConfigurations[1]", `"10.50.3.7/24"`, "not a JSON object"},
		{"IpConfigurations[2]", `null`, "not a JSON object"},
		{"IpConfigurations[4].PrefixLength", `300`, "not a number of 8 bits"},
	}, e.Document.Unread)
	if e.Gateway(addr("10.0.0.0")).IsValid() {
		t.Errorf("a gateway came of <gw>: %v", e.Routes)
	}
}

// Texts, lists and nested members that are wrong in networks and namespaces.
func TestReadingOddNetworksAndNamespaces(t *testing.T) {
	n, err := hns.DecodeNetwork([]byte(`{"Name": "glass", "Type": "l2Bridge", "Flags": "NonPersistent", "Ipams": [{"Type": 1, "Subnets": [
		{"IpAddressPrefix": "10.50.3.0", "Policies": [{"Type": "VSID", "Settings": {"IsolationId": "4096"}}], "Routes": 5}]}],
		"MacPool": {"Ranges": [{"StartMacAddress": "00-15-5D-10-A0-00", "EndMacAddress": "x"}]},
		"Dns": {"Search": ["a", 5, null], "ServerList": "10.0.0.1,10.0.0.2", "Domain": {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "network", &hns.Network{
		Name: "glass", Type: hns.L2Bridge,
		IPAMs: []hns.IPAM{{Type: "DHCP", Subnets: []hns.Subnet{{
			Policies: []hns.SubnetPolicy{hns.RawPolicy{Type: "VSID", Settings: json.RawMessage(`{"IsolationId": "4096"}`)}},
		}}}},
		MACPool: []hns.MACRange{{Start: mustMAC("00-15-5D-10-A0-00")}},
		DNS:     hns.DNS{Search: []string{"a", ""}},
	}, n, cmpopts.IgnoreFields(hns.Network{}, "Document"))
	same(t, "network, unread", []string{
		"Flags", "Dns.Domain", "Dns.Search[1]", "Dns.ServerList", "Ipams[0].Subnets[0].IpAddressPrefix",
		"Ipams[0].Subnets[0].Routes", "MacPool.Ranges[0].EndMacAddress",
	}, unreadPaths(n.Document))

	ns, err := hns.DecodeNamespace([]byte(`{"ID":"{3C000000-0000-4000-8000-000000000001}","NamespaceId":"x","Type":"guest","Resources":[
		{"Type":1,"Data":{"Id":"2B000000-0000-4000-8000-0000000000AB"}},{"Type":"container","Data":{"id":"c1"}},{"Type":"Endpoint","Data":7},{"Type":"Endpoint","Data":{"ID":"gone"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "namespace", &hns.Namespace{ID: podNS, Type: hns.NamespaceGuest, Resources: []hns.NamespaceResource{
		{Type: hns.ResourceEndpoint, ID: "2B000000-0000-4000-8000-0000000000AB"}, {Type: hns.ResourceContainer, ID: "c1"},
		{Type: hns.ResourceEndpoint}, {Type: hns.ResourceEndpoint, ID: "gone"},
	}}, ns, cmpopts.IgnoreFields(hns.Namespace{}, "Document"))
	same(t, "its endpoints", []hns.ID{podID}, ns.Endpoints())
	same(t, "namespace, unread", []string{"NamespaceId", "Resources[2].Data"}, unreadPaths(ns.Document))
}

func unreadPaths(d hns.Document) []string {
	var out []string
	for _, u := range d.Unread {
		out = append(out, u.Path)
	}
	return out
}

// HNS leaves out what is zero, and the type NAT and the type Host are zero.
func TestDefaultsOfWhatIsLeftOut(t *testing.T) {
	n, err := hns.DecodeNetwork([]byte(`{}`))
	if err != nil || n.Type != hns.NAT {
		t.Errorf("network: %v, %v", n, err)
	}
	ns, err := hns.DecodeNamespace([]byte(`{}`))
	if err != nil || ns.Type != hns.NamespaceHost {
		t.Errorf("namespace: %v, %v", ns, err)
	}
}

// Enumerations come as text in any letter case (flannel-io/flannel#833) or as
// numbers; what is in neither list is kept.
func TestNetworkTypes(t *testing.T) {
	for in, want := range map[string]hns.NetworkType{
		`"l2bridge"`: hns.L2Bridge, `"L2BRIDGE"`: hns.L2Bridge, `3`: hns.L2Bridge, `"3"`: hns.L2Bridge, `0`: hns.NAT, `"nat"`: hns.NAT,
		`5`: hns.Overlay, `10`: hns.ConstrainedICS, `11`: "11", `-1`: "-1", `"Loopback"`: "Loopback", `""`: hns.NAT, `null`: hns.NAT,
	} {
		n, err := hns.DecodeNetwork([]byte(`{"Type":` + in + `}`))
		if err != nil || n.Type != want {
			t.Errorf("Type %s reads as %q, %v; want %q", in, n.Type, err, want)
		}
	}
}

// One name in two spellings: the result must not depend on the order of a map,
// and the value passed over is listed.
func TestTwoSpellingsOfOneName(t *testing.T) {
	for range 50 {
		e, err := hns.DecodeEndpoint([]byte(`{"name":"c","Name":"b","NAME":"a"}`))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != "a" {
			t.Fatalf("Name is %q", e.Name)
		}
		same(t, "unread", []hns.Unread{{"Name", `"b"`, "the same name as NAME"}, {"name", `"c"`, "the same name as NAME"}}, e.Document.Unread)
	}
}

// What is no object is an error and never an object with nothing in it.
func TestDecodeRefusesWhatIsNoObject(t *testing.T) {
	for _, doc := range []string{``, ` `, `null`, `7`, `"x"`, `[]`, `[{}]`, `{`, `{"ID":}`, `{} {}`, "\ufeff{}", strings.Repeat("x", 1<<16)} {
		for kind, err := range decodeErrors([]byte(doc)) {
			if !errors.Is(err, hns.ErrInvalid) || !strings.Contains(err.Error(), "read "+kind) || len(err.Error()) > 300 {
				t.Errorf("%s %.20q: error %v", kind, doc, err)
			}
		}
	}
}

func decodeErrors(doc []byte) map[string]error {
	n, errNetwork := hns.DecodeNetwork(doc)
	e, errEndpoint := hns.DecodeEndpoint(doc)
	s, errNamespace := hns.DecodeNamespace(doc)
	if n != nil || e != nil || s != nil {
		panic("an object beside the error")
	}
	return map[string]error{"network": errNetwork, "endpoint": errEndpoint, "namespace": errNamespace}
}

func FuzzDecodeNetwork(f *testing.F) {
	fuzzDecode(f, hns.DecodeNetwork, (*hns.Network).Encode, func(n *hns.Network) hns.Document { return n.Document })
}

func FuzzDecodeEndpoint(f *testing.F) {
	f.Add([]byte(wholeEndpoint))
	fuzzDecode(f, hns.DecodeEndpoint, (*hns.Endpoint).Encode, func(e *hns.Endpoint) hns.Document { return e.Document })
}

func FuzzDecodeNamespace(f *testing.F) {
	fuzzDecode(f, hns.DecodeNamespace, (*hns.Namespace).Encode, func(n *hns.Namespace) hns.Document { return n.Document })
}

// fuzzDecode wants: a JSON object reads, anything else does not; the document
// is kept; and what was read, written and read again is written the same.
func fuzzDecode[T any](f *testing.F, decode func([]byte) (*T, error), encode func(*T) (json.RawMessage, error), document func(*T) hns.Document) {
	f.Add([]byte(`{"Routes":[{"NextHop":"<gw>"}],"Type":"x","Flags":"8"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var model map[string]any
		isObject := json.Unmarshal(doc, &model) == nil && model != nil
		obj, err := decode(doc)
		if (err == nil) != isObject || (obj == nil) != (err != nil) {
			t.Fatalf("decode gives %v, %v", obj, err)
		}
		if err != nil {
			return
		}
		if string(document(obj).Raw) != string(doc) {
			t.Fatal("the document was changed")
		}
		first, err := encode(obj)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		again, err := decode(first)
		if err != nil {
			t.Fatalf("decode what was encoded: %v", err)
		}
		second, err := encode(again)
		if err != nil || string(first) != string(second) {
			t.Fatalf("not stable: %v\n%s\n%s", err, first, second)
		}
	})
}

func BenchmarkDecodeEndpoint(b *testing.B) {
	doc := []byte(wholeEndpoint)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := hns.DecodeEndpoint(doc); err != nil {
			b.Fatal(err)
		}
	}
}
