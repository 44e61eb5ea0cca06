package hns_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// place is where a policy may stand, with the ways in and out of it.
type place struct {
	decode func(policy string) (policies any, err error)
	encode func(policies any) (json.RawMessage, error)
}

var places = map[string]place{
	"endpoint": {
		func(p string) (any, error) {
			e, err := hns.DecodeEndpoint([]byte(`{"Policies":[` + p + `]}`))
			return e.Policies, err
		},
		func(ps any) (json.RawMessage, error) {
			doc, err := (&hns.Endpoint{Policies: ps.([]hns.EndpointPolicy)}).Encode()
			return policyIn(doc, "Policies"), err
		},
	},
	"network": {
		func(p string) (any, error) {
			n, err := hns.DecodeNetwork([]byte(`{"Policies":[` + p + `]}`))
			return n.Policies, err
		},
		func(ps any) (json.RawMessage, error) {
			doc, err := (&hns.Network{Policies: ps.([]hns.NetworkPolicy)}).Encode()
			return policyIn(doc, "Policies"), err
		},
	},
	"subnet": {
		func(p string) (any, error) {
			n, err := hns.DecodeNetwork([]byte(`{"Ipams":[{"Subnets":[{"Policies":[` + p + `]}]}]}`))
			return n.IPAMs[0].Subnets[0].Policies, err
		},
		func(ps any) (json.RawMessage, error) {
			doc, err := (&hns.Network{IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Policies: ps.([]hns.SubnetPolicy)}}}}}).Encode()
			return policyIn(doc, "Ipams", "Subnets", "Policies"), err
		},
	},
}

// policyIn returns the first element of a list below first elements of lists.
func policyIn(doc json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		var o map[string]json.RawMessage
		var l []json.RawMessage
		if json.Unmarshal(doc, &o) != nil || json.Unmarshal(o[name], &l) != nil {
			return nil
		}
		doc = l[0]
	}
	return doc
}

func first(policies any) any {
	switch ps := policies.(type) {
	case []hns.EndpointPolicy:
		return ps[0]
	case []hns.NetworkPolicy:
		return ps[0]
	case []hns.SubnetPolicy:
		return ps[0]
	}
	return nil
}

// typedCase is a policy as HNS writes it, as it reads, and as we write it back.
type typedCase struct {
	place, in string
	want      any
	out       string // where it comes in another spelling; empty: as in
}

// The policies that a network mode needs.
func TestTypedPolicies(t *testing.T) {
	checkTyped(t, []typedCase{
		{"endpoint", `{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"]}}`, hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8"}}, ""},
		{"endpoint", `{"Type":"OutBoundNAT","Settings":{"VirtualIP":"192.0.2.9","Destinations":["10.50.3.7"],"Flags":2,"MaxPortPoolUsage":6000}}`,
			hns.OutBoundNAT{VirtualIP: addr("192.0.2.9"), Destinations: []string{"10.50.3.7"}, Flags: hns.NATIPv6, MaxPortPoolUsage: 6000}, ""},
		{"endpoint", `{"Type":"OutBoundNAT","Settings":{}}`, hns.OutBoundNAT{}, ""},
		{"endpoint", `{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.10"}}`, hns.ProviderAddress{Address: addr("192.0.2.10")}, ""},
		{"endpoint", `{"Type":"SDNRoute","Settings":{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}}`,
			hns.SDNRoute{DestinationPrefix: prefix("10.96.0.0/12"), NeedEncap: true}, ""},
		{"endpoint", `{"Type":"SDNRoute","Settings":{"DestinationPrefix":"192.0.2.10/32","NextHop":"10.50.3.2","AutomaticEndpointMonitor":true}}`,
			hns.SDNRoute{DestinationPrefix: prefix("192.0.2.10/32"), NextHop: addr("10.50.3.2"), AutomaticEndpointMonitor: true}, ""},
		{"endpoint", `{"Type":"VLAN","Settings":{"IsolationId":7}}`, hns.VLAN{IsolationID: 7}, ""},
		{"network", `{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet <2> & more"}}`, hns.NetAdapterName{Name: "Ethernet <2> & more"}, ""},
		{"network", `{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.10"}}`, hns.ProviderAddress{Address: addr("192.0.2.10")}, ""},
		{"network", `{"Type":"DrMacAddress","Settings":{"Address":"00-15-5D-10-B8-EF"}}`, hns.DRMACAddress{Address: mustMAC("00-15-5D-10-B8-EF")}, ""},
		{"network", `{"Type":"HostRoute","Settings":{}}`, hns.HostRoute{}, ""},
		{"network", `{"Type":"HostRoute"}`, hns.HostRoute{}, `{"Type":"HostRoute","Settings":{}}`},
		{"network", `{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.60.7.0/24","IsolationId":70000,"ProviderAddress":"192.0.2.7","DistributedRouterMacAddress":"02-00-5E-D3-B5-A9"}}`,
			remoteSubnet(), ""}, // a VNI beyond 16 bits stays what it is
		{"subnet", `{"Type":"VSID","Settings":{"IsolationId":16777214}}`, hns.VSID{IsolationID: hns.MaxVNI}, ""},
		{"subnet", `{"Type":"VLAN","Settings":{"IsolationId":4094}}`, hns.VLAN{IsolationID: 4094}, ""},

		// Type names in any letter case, as configurations have them (containerd/containerd#5729).
		{"endpoint", `{"Type":"SDNROUTE","Settings":{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}}`, hns.SDNRoute{DestinationPrefix: prefix("10.96.0.0/12"), NeedEncap: true},
			`{"Type":"SDNRoute","Settings":{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}}`},
		{"endpoint", `{"type":"outboundnat","settings":{"exceptions":["10.0.0.0/8"],"Destinations":[],"VirtualIP":"","Flags":0}}`,
			hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8"}}, `{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"]}}`},
		{"endpoint", `{"Type":"SDNRoute","Settings":{"DestinationPrefix":"10.96.0.0/12","NeedEncap":false}}`,
			hns.SDNRoute{DestinationPrefix: prefix("10.96.0.0/12")}, `{"Type":"SDNRoute","Settings":{"DestinationPrefix":"10.96.0.0/12"}}`},
		// flannel writes MACs with colons (flannel-io/flannel#1061).
		{"network", `{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.60.7.0/24","IsolationId":70000,"ProviderAddress":"192.0.2.7","DistributedRouterMacAddress":"02:00:5e:d3:b5:a9"}}`,
			remoteSubnet(), `{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.60.7.0/24","IsolationId":70000,"ProviderAddress":"192.0.2.7","DistributedRouterMacAddress":"02-00-5E-D3-B5-A9"}}`},
	})
}

// checkTyped reads each policy and writes it back.
func checkTyped(t *testing.T, tests []typedCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.place+" "+tt.in, func(t *testing.T) {
			pl := places[tt.place]
			ps, err := pl.decode(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "policy", tt.want, first(ps))
			out, err := pl.encode(ps)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.out
			if want == "" {
				want = tt.in
			}
			if string(out) != want {
				t.Errorf("written back as\n%s, want\n%s", out, want)
			}
		})
	}
}

func remoteSubnet() hns.RemoteSubnetRoute {
	return hns.RemoteSubnetRoute{DestinationPrefix: prefix("10.60.7.0/24"), IsolationID: 70000,
		ProviderAddress: addr("192.0.2.7"), DistributedRouterMAC: mustMAC("02-00-5E-D3-B5-A9")}
}

// What a struct could not give back stays raw, and goes back byte for byte.
func TestPoliciesKeptRaw(t *testing.T) {
	for _, in := range []string{
		// Types without a struct.
		`{"Type":"Encryption","Settings":{"EncryptionMethodType":"Ipsec","Name":"n"}}`,
		`{"Type":"Bogus","Settings":{"b":1,"a":[{}],"c":null,"text":"<b>&\u2028"}}`,
		`{"Type":"Bogus","Settings":"not even an object"}`,
		// Members that the struct does not know: other order, other numbers, duplicates and all.
		`{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"],"New":true}}`,
		`{"Type":"OutBoundNAT","Settings":{"ExceptionList":["10.0.0.0/8"]}}`,
		`{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"],"exceptions":["11.0.0.0/8"]}}`,
		// Values that it cannot hold.
		`{"Type":"OutBoundNAT","Settings":{"VirtualIP":"<node ip>"}}`,
		`{"Type":"OutBoundNAT","Settings":{"Exceptions":"10.0.0.0/8"}}`,
		`{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8",7]}}`,
		`{"Type":"OutBoundNAT","Settings":{"Flags":4294967296}}`,
		`{"Type":"OutBoundNAT","Settings":{"MaxPortPoolUsage":65536}}`,
		`{"Type":"OutBoundNAT"}`,
		`{"Type":"OutBoundNAT","Settings":[]}`,
		`{"Type":"SDNRoute","Settings":{"DestinationPrefix":"<service cidr>","NeedEncap":true}}`,
		`{"Type":"SDNRoute","Settings":{"DestinationPrefix":"10.96.0.0/12","NeedEncap":"true"}}`,
		`{"Type":"SDNRoute","Settings":{"DestinationPrefix":"010.96.0.0/12"}}`,
		`{"Type":"VLAN","Settings":{"IsolationId":7.0}}`,
		`{"Type":"VLAN","Settings":{"IsolationId":"7"}}`,
		`{"Type":"ProviderAddress","Settings":{"ProviderAddress":"ip of host"}}`,
		`{"Type":"ProviderAddress","Settings":{"ProviderAddress":"fd00:0::1"}}`,
	} {
		pl := places["endpoint"]
		ps, err := pl.decode(in)
		if err != nil {
			t.Fatal(err)
		}
		raw, ok := first(ps).(hns.RawPolicy)
		if !ok {
			t.Errorf("%s reads as %#v", in, first(ps))
			continue
		}
		if raw.PolicyType() != raw.Type {
			t.Errorf("type %q and %q", raw.PolicyType(), raw.Type)
		}
		if out, err := pl.encode(ps); err != nil || string(out) != in {
			t.Errorf("written back as %s, %v; want %s", out, err, in)
		}
	}
	raw := hns.RawPolicy{Type: "RemoteSubnetRoute", Settings: json.RawMessage(`{"DistributedRouterMacAddress":"00-00-00-00-00-00"}`)}
	ps, err := places["network"].decode(fmt.Sprintf(`{"Type":%q,"Settings":%s}`, raw.Type, raw.Settings))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the MAC of zeros, which reads as none", any(raw), first(ps))
}

// Blanks inside settings do not reach HNS, everything else does.
func TestRawSettingsAreCompacted(t *testing.T) {
	out, err := places["endpoint"].encode([]hns.EndpointPolicy{hns.RawPolicy{Type: "X", Settings: json.RawMessage("{\n  \"a b\" : [ 1 , 2 ]\n}")}})
	if want := `{"Type":"X","Settings":{"a b":[1,2]}}`; err != nil || string(out) != want {
		t.Errorf("got %s, %v", out, err)
	}
}

// Members beside the settings, as schema 1 has them, would get lost: reading
// lists them.
func TestPolicyMembersBesideSettings(t *testing.T) {
	e, err := hns.DecodeEndpoint([]byte(`{"Policies":[{"Type":"PA","PA":"192.0.2.7"},"x",{"Type":"VLAN","Settings":{"IsolationId":7},"VLAN":7}]}`))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "policies", []hns.EndpointPolicy{hns.RawPolicy{Type: "PA"}, hns.VLAN{IsolationID: 7}}, e.Policies)
	same(t, "unread", []hns.Unread{
		{"Policies[0].pa", `"192.0.2.7"`, "not inside Settings"},
		{"Policies[1]", `"x"`, "not a JSON object"},
		{"Policies[2].vlan", `7`, "not inside Settings"},
	}, e.Document.Unread)
}

func TestDecodeEndpointPolicy(t *testing.T) {
	p, err := hns.DecodeEndpointPolicy([]byte(` {"type":"vlan","settings":{"isolationid":7}} `))
	if err != nil || p != (hns.VLAN{IsolationID: 7}) {
		t.Errorf("got %#v, %v", p, err)
	}
	for doc, want := range map[string][]string{
		``:                                {"Type |  | "},
		`null`:                            {"Type | null | "},
		`[]`:                              {"Type | [] | "},
		`{}`:                              {"Type | {} | "},
		`{"Settings":{}}`:                 {`Type | {"Settings":{}} | `},
		`{"Type":{}}`:                     {`Type | {"Type":{}} | `},
		`{"Type":"PA","PA":"192.0.2.7"}`:  {`pa | "192.0.2.7" | `}, // projectcalico/calico#8465
		`{"Type":"HostRoute","Extra":1}`:  {`extra | 1 | `},
		`{"Type":"ACL","B":1,"Action":2}`: {`action | 2 | `, `b | 1 | `},
		`{"Type":"OutBoundNAT","Settings":{},"ExceptionList":["10.0.0.0/8"]}`: {`exceptionlist | ["10.0.0.0/8"] | `},
		// The exceptions were lost in silence once (projectcalico/cni-plugin#1067).
		`{"Type":"OutBoundNAT","ExceptionList":["10.0.0.0/8"]}`: {`exceptionlist | ["10.0.0.0/8"] | `},
	} {
		p, err := hns.DecodeEndpointPolicy([]byte(doc))
		if p != nil {
			t.Errorf("%s: %#v beside the error", doc, p)
		}
		same(t, doc, want, complaints(err))
		wantIs(t, err, hns.ErrInvalid, hns.ErrInvalidPolicy)
	}
}

func TestCheckEndpointPolicy(t *testing.T) {
	raw := func(typeName, settings string) hns.RawPolicy {
		return hns.RawPolicy{Type: typeName, Settings: json.RawMessage(settings)}
	}
	tests := []struct {
		name string
		in   hns.EndpointPolicy
		want []string // "path | value | rule"
	}{
		{"exceptions", hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8", "192.0.2.1", "fd00::/8", "fd00::1"}}, nil},
		{"nothing to say", hns.OutBoundNAT{}, nil},
		// A text that was to be replaced (containerd/containerd#5729) and the
		// host bits that Windows Server 2022 refuses (microsoft/hcsshim#1951).
		{"bad exceptions", hns.OutBoundNAT{Exceptions: []string{"<your service cidr>", "10.96.0.1/12", "10.96.0.0/33", "", "fe80::1%1"}, Destinations: []string{"any"}}, []string{
			"Settings.Exceptions[0] | <your service cidr> | ", "Settings.Exceptions[1] | 10.96.0.1/12 | host-bits", "Settings.Exceptions[2] | 10.96.0.0/33 | ",
			"Settings.Exceptions[3] |  | ", "Settings.Exceptions[4] | fe80::1%1 | ", "Settings.Destinations[0] | any | "}},
		{"bad VIP", hns.OutBoundNAT{VirtualIP: addr("0.0.0.0")}, []string{"Settings.VirtualIP | 0.0.0.0 | "}},
		{"no provider address", hns.ProviderAddress{}, []string{"Settings.ProviderAddress |  | "}},
		{"IPv4 in IPv6", hns.ProviderAddress{Address: addr("::ffff:192.0.2.1")}, []string{"Settings.ProviderAddress | ::ffff:192.0.2.1 | "}},
		{"group", hns.ProviderAddress{Address: addr("224.0.0.1")}, []string{"Settings.ProviderAddress | 224.0.0.1 | "}},
		{"route", hns.SDNRoute{DestinationPrefix: prefix("10.96.0.1/12"), NextHop: addr("::")}, []string{"Settings.DestinationPrefix | 10.96.0.1/12 | host-bits", "Settings.NextHop | :: | "}},
		{"no route", hns.SDNRoute{}, []string{"Settings.DestinationPrefix |  | "}},
		{"VLAN", hns.VLAN{IsolationID: 4095}, []string{"Settings.IsolationId | 4095 | vlan-range"}},

		{"raw of no struct", raw("Encryption", `{"EncryptionMethodType":"none of them"}`), nil},
		{"raw without settings", hns.RawPolicy{Type: "L2Driver"}, nil},
		{"raw without type", raw("", `{}`), []string{"Type |  | "}},
		{"raw of no type of the schema", raw("Bogus", `{}`), []string{"Type | Bogus | policy-type"}},
		{"raw of another schema", raw("PA", `{"PA":"192.0.2.7"}`), []string{"Type | PA | policy-type"}}, // projectcalico/calico#8465
		{"raw of a network", raw("RemoteSubnetRoute", `{}`), []string{"Type | RemoteSubnetRoute | policy-type"}},
		{"raw and no JSON", raw("ACL", `{"Action":`), []string{`Settings | {"Action": | `}},
		{"raw, judged as its type", raw("sdnROUTE", `{"DestinationPrefix":"<cidr>","NextHop":7}`), []string{"Settings.DestinationPrefix | <cidr> | ", "Settings.NextHop | 7 | "}},
		{"raw with extra members", raw("VLAN", `{"IsolationId":0,"New":1}`), []string{"Settings.IsolationId | 0 | vlan-range"}},
		{"raw without the settings it needs", hns.RawPolicy{Type: "OutBoundNAT"}, []string{"Settings |  | "}},
		{"raw with null for settings", raw("OutBoundNAT", `null`), []string{"Settings | null | "}},
		// projectcalico/cni-plugin#1067
		{"names of schema 1", raw("OutBoundNAT", `{"vip":"192.0.2.9","ExceptionList":["10.0.0.0/8"]}`), []string{
			`Settings.ExceptionList | ["10.0.0.0/8"] | schema1-name`, `Settings.VIP | "192.0.2.9" | schema1-name`}},

		{"nil", nil, []string{" |  | "}},
		{"nil pointer", (*hns.OutBoundNAT)(nil), []string{" |  | "}},
		{"pointer", &hns.VLAN{IsolationID: 7}, []string{" |  | "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := hns.CheckEndpointPolicy(tt.in)
			same(t, "complaints", tt.want, complaints(err))
			if len(tt.want) > 0 {
				wantIs(t, err, hns.ErrInvalid, hns.ErrInvalidPolicy)
			}
		})
	}
}

// A policy list is searched by struct and by name, and nil in it is no trouble.
func TestPoliciesOf(t *testing.T) {
	ps := []hns.EndpointPolicy{
		hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8"}}, nil, hns.VLAN{IsolationID: 7}, (*hns.VLAN)(nil),
		hns.RawPolicy{Type: "outboundNAT"}, hns.OutBoundNAT{Flags: hns.NATIPv6},
	}
	same(t, "the typed ones, in order", []hns.OutBoundNAT{{Exceptions: []string{"10.0.0.0/8"}}, {Flags: hns.NATIPv6}}, hns.PoliciesOf[hns.OutBoundNAT](ps))
	same(t, "none", []hns.SDNRoute(nil), hns.PoliciesOf[hns.SDNRoute](ps))
	same(t, "the raw ones", []hns.RawPolicy{{Type: "outboundNAT"}}, hns.PoliciesOf[hns.RawPolicy](ps))
	for name, want := range map[string]bool{"OUTBOUNDNAT": true, "vlan": true, "SDNRoute": false, "": false} {
		if got := hns.HasPolicy(ps, name); got != want {
			t.Errorf("HasPolicy(%q) = %v", name, got)
		}
		if got := hns.HasPolicy(ps[1:2], name); got {
			t.Errorf("HasPolicy(%q) of nil", name)
		}
	}
}

// Encode has no text for nil, pointers and broken JSON, and must not panic.
func TestEncodeRefusesPoliciesWithoutText(t *testing.T) {
	for _, p := range []hns.EndpointPolicy{nil, (*hns.OutBoundNAT)(nil), &hns.VLAN{}} {
		_, err := (&hns.Endpoint{Policies: []hns.EndpointPolicy{hns.VLAN{IsolationID: 7}, p}}).Encode()
		same(t, "endpoint", []string{"Policies[1] |  | "}, complaints(err))
	}
	_, err := (&hns.Network{IPAMs: []hns.IPAM{{}, {Subnets: []hns.Subnet{{Policies: []hns.SubnetPolicy{nil}}}}}}).Encode()
	if err == nil || !strings.HasPrefix(err.Error(), "Ipams[1].Subnets[0].Policies[0]: ") || !errors.Is(err, hns.ErrInvalidPolicy) {
		t.Errorf("subnet: %v", err)
	}
	if _, err := (&hns.Network{Policies: []hns.NetworkPolicy{nil}}).Encode(); !errors.Is(err, hns.ErrInvalidPolicy) {
		t.Errorf("network: %v", err)
	}
	if doc, err := (&hns.Endpoint{Policies: []hns.EndpointPolicy{hns.RawPolicy{Type: "X", Settings: json.RawMessage(`{`)}}}).Encode(); err == nil {
		t.Errorf("broken JSON is written: %s", doc)
	}
}

func FuzzDecodeEndpointPolicy(f *testing.F) {
	f.Add([]byte(`{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"]}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, err := hns.DecodeEndpointPolicy(doc)
		if (p == nil) != (err != nil) {
			t.Fatalf("got %v, %v", p, err)
		}
		if err != nil {
			return
		}
		_ = hns.CheckEndpointPolicy(p) // must not panic
		out, err := places["endpoint"].encode([]hns.EndpointPolicy{p})
		if err != nil {
			t.Fatalf("encode %#v: %v", p, err)
		}
		again, err := hns.DecodeEndpointPolicy(out)
		if err != nil {
			t.Fatalf("%s does not read back: %v", out, err)
		}
		if twice, err := places["endpoint"].encode([]hns.EndpointPolicy{again}); err != nil || string(out) != string(twice) {
			t.Fatalf("not stable: %v\n%s\n%s", err, out, twice)
		}
	})
}
