package hcnbridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
)

// settings is the JSON that hcsshim's clients make of its structs.
func settings(t *testing.T, v any) json.RawMessage {
	t.Helper()
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// same fails unless both hold the same JSON, zeros too, but for the letter case of
// names, and for Settings of nothing. It knows nothing of how this package compares
// documents.
func same(t *testing.T, name string, a, b any) {
	t.Helper()
	value := func(v any) (out any) {
		d := json.NewDecoder(bytes.NewReader(settings(t, v)))
		d.UseNumber()
		if err := d.Decode(&out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return folded(out)
	}
	if diff := cmp.Diff(value(a), value(b)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func folded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, m := range v {
			if o, ok := m.(map[string]any); name != "Settings" || !ok || len(o) > 0 {
				out[strings.ToLower(name)] = folded(m)
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = folded(v[i])
		}
	}
	return v
}

// sameIn fails unless the document, read as clients of hcn read it, is want, and
// holds nothing else.
func sameIn[H any](t *testing.T, name string, want *H, doc json.RawMessage) {
	t.Helper()
	got := new(H)
	d := json.NewDecoder(bytes.NewReader(doc))
	d.DisallowUnknownFields()
	if err := d.Decode(got); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	same(t, name, want, got)
}

// full fails if a member of v, or of what is in it, is zero in all of a list's
// elements: a member that nobody sets shows nothing when it gets lost.
func full(t *testing.T, path string, v reflect.Value, may ...string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		full(t, path, v.Elem(), may...)
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !slices.Contains(may, name) {
				full(t, path+"."+name, v.Field(i), may...)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("%s is empty", path)
		} else if v.Type().Elem().Kind() == reflect.Struct {
			full(t, path+"[0]", v.Index(0), may...)
		}
	default:
		if v.IsZero() {
			t.Errorf("%s is zero", path)
		}
	}
}

// The structs of the tables have no member that is zero.
func TestTablesAreFull(t *testing.T) {
	for _, tt := range endpointSettings {
		if tt.settings != nil && tt.want != nil {
			full(t, string(tt.typ), reflect.ValueOf(tt.settings))
		}
	}
	for _, tt := range networkSettings {
		if tt.settings != nil {
			full(t, string(tt.typ), reflect.ValueOf(tt.settings))
		}
	}
	full(t, "network", reflect.ValueOf(fullNetwork(t)), "Health", "Minor")
	full(t, "endpoint", reflect.ValueOf(fullEndpoint(t)), "Health", "Minor")
	full(t, "namespace", reflect.ValueOf(fullNamespace(t)), "Minor")
	full(t, "load balancer", reflect.ValueOf(fullLoadBalancer()), "Minor")
	full(t, "route", reflect.ValueOf(fullRoute()), "Minor", "NextHop")
}

// Every policy type of hcn (see TestPolicyTablesAreComplete) with the struct that
// hcn has for its settings, full.
// want is the struct of hns that it becomes; nil: a RawPolicy.
var (
	acl = hcn.AclPolicySetting{Protocols: "6,17", Action: hcn.ActionTypeBlock, Direction: hcn.DirectionTypeOut, LocalAddresses: "10.0.0.2",
		RemoteAddresses: "10.0.0.0/24,10.1.0.0/16", LocalPorts: "80", RemotePorts: "443,8000-8080", RuleType: hcn.RuleTypeSwitch, Priority: 200}
	proxy = hcn.L4ProxyPolicySetting{IP: "10.0.0.9", Port: "8080", Protocol: hcn.ProtocolTypeTCP, Exceptions: []string{"10.0.0.0/8"},
		Destination: "192.0.2.0/24", OutboundNAT: true}
	constraint = hcn.InterfaceConstraintPolicySetting{InterfaceGuid: "5f0b1190-63be-4e0c-b974-bd0f55675a42", InterfaceLuid: 1 << 62, InterfaceIndex: 7,
		InterfaceMediaType: 1, InterfaceAlias: "Ethernet", InterfaceDescription: "A <card> & more"}
	provider = hcn.ProviderAddressEndpointPolicySetting{ProviderAddress: "192.0.2.10"}

	endpointSettings = []struct {
		typ      hcn.EndpointPolicyType
		settings any
		want     hns.EndpointPolicy
	}{
		{hcn.PortMapping, hcn.PortMappingPolicySetting{Protocol: 6, InternalPort: 80, ExternalPort: 8080, VIP: "192.0.2.1", Flags: hcn.NatFlagsLocalRoutedVip}, hns.PortMapping{}},
		{hcn.ACL, acl, hns.ACL{}},
		{hcn.QOS, hcn.QosPolicySetting{MaximumOutgoingBandwidthInBytes: 1 << 40}, hns.QOS{}},
		{hcn.L2Driver, nil, hns.L2Driver{}},
		{hcn.OutBoundNAT, hcn.OutboundNatPolicySetting{VirtualIP: "192.0.2.1", Exceptions: []string{"10.0.0.0/8"}, Destinations: []string{"10.96.0.1"},
			Flags: hcn.NatFlagsIPv6, MaxPortPoolUsage: 100}, hns.OutBoundNAT{}},
		{hcn.SDNRoute, hcn.SDNRoutePolicySetting{DestinationPrefix: "10.96.0.0/12", NextHop: "10.0.0.1", NeedEncap: true}, hns.SDNRoute{}},
		{hcn.L4Proxy, proxy, hns.L4Proxy{}},
		{hcn.L4WFPPROXY, hcn.L4WfpProxyPolicySetting{InboundProxyPort: "15001", OutboundProxyPort: "15006", UserSID: "S-1-5-18",
			FilterTuple:        hcn.FiveTuple{Protocols: "6", LocalAddresses: "10.0.0.2", RemoteAddresses: "10.0.0.3", LocalPorts: "1", RemotePorts: "2-3", Priority: 9},
			InboundExceptions:  hcn.ProxyExceptions{IpAddressExceptions: []string{"10.0.0.4"}, PortExceptions: []string{"53"}},
			OutboundExceptions: hcn.ProxyExceptions{IpAddressExceptions: []string{"10.0.0.5"}, PortExceptions: []string{"54"}}}, hns.L4WFPProxy{}},
		{hcn.PortName, hcn.PortnameEndpointPolicySetting{Name: "port"}, hns.PortName{}},
		{hcn.EncapOverhead, hcn.EncapOverheadEndpointPolicySetting{Overhead: 50}, hns.EncapOverhead{}},
		{hcn.IOV, hcn.IovPolicySetting{IovOffloadWeight: 1, QueuePairsRequested: 2, InterruptModeration: 200}, hns.IOV{}},
		{hcn.NetworkProviderAddress, provider, hns.ProviderAddress{}},
		{hcn.NetworkInterfaceConstraint, constraint, hns.InterfaceConstraint{}},
		{hcn.TierAcl, hcn.TierAclPolicySetting{Name: "tier", Direction: hcn.DirectionTypeIn, Order: 3, TierAclRules: []hcn.TierAclRule{
			{Id: "r", Protocols: "6", TierAclRuleAction: hcn.ActionTypePass, LocalAddresses: "10.0.0.2", RemoteAddresses: "10.0.0.3", LocalPorts: "1", RemotePorts: "2", Priority: 4}}}, hns.TierACL{}},
		{"SomethingNew", map[string]any{"A": []any{1.0, "<x>"}}, nil},
	}

	networkSettings = []struct {
		typ      hcn.NetworkPolicyType
		settings any
		want     hns.NetworkPolicy
	}{
		{hcn.SourceMacAddress, hcn.SourceMacAddressNetworkPolicySetting{SourceMacAddress: "00-15-5D-01-02-03"}, hns.SourceMACAddress{}},
		{hcn.NetAdapterName, hcn.NetAdapterNameNetworkPolicySetting{NetworkAdapterName: "Ethernet 2"}, hns.NetAdapterName{}},
		{hcn.VSwitchExtension, hcn.VSwitchExtensionNetworkPolicySetting{ExtensionID: "5f0b1190-63be-4e0c-b974-bd0f55675a42", Enable: true}, hns.VSwitchExtension{}},
		{hcn.DrMacAddress, hcn.DrMacAddressNetworkPolicySetting{Address: "00-15-5D-01-02-03"}, hns.DRMACAddress{}},
		{hcn.AutomaticDNS, hcn.AutomaticDNSNetworkPolicySetting{Enable: true}, hns.AutomaticDNS{}},
		{hcn.InterfaceConstraint, constraint, hns.InterfaceConstraint{}},
		{hcn.ProviderAddress, provider, hns.ProviderAddress{}},
		{hcn.RemoteSubnetRoute, hcn.RemoteSubnetRoutePolicySetting{DestinationPrefix: "10.60.7.0/24", IsolationId: 4096, ProviderAddress: "192.0.2.7",
			DistributedRouterMacAddress: "00-15-5D-01-02-03"}, hns.RemoteSubnetRoute{}},
		{hcn.VxlanPort, hcn.VxlanPortPolicySetting{Port: 8472}, hns.VXLANPort{}},
		{hcn.HostRoute, nil, hns.HostRoute{}},
		{hcn.SetPolicy, hcn.SetPolicySetting{Id: "s", Name: "set", Type: hcn.SetPolicyTypeIpSet, Values: "10.0.0.2,10.0.0.3"}, hns.SetPolicy{}},
		{hcn.SetPolicy, hcn.SetPolicySetting{Id: "n", Name: "nested", Type: hcn.SetPolicyTypeNestedIpSet, Values: "s"}, hns.SetPolicy{}},
		{hcn.NetworkL4Proxy, proxy, hns.L4Proxy{}},
		{hcn.LayerConstraint, hcn.LayerConstraintNetworkPolicySetting{LayerId: "5f0b1190-63be-4e0c-b974-bd0f55675a42"}, hns.LayerConstraint{}},
		{hcn.NetworkACL, hcn.NetworkACLPolicySetting(acl), hns.NetworkACL{}},
		{"SomethingNew", nil, nil},
	}

	subnetSettings = []struct {
		typ      hcn.SubnetPolicyType
		settings any
		want     hns.SubnetPolicy
	}{
		{hcn.VLAN, hcn.VlanPolicySetting{IsolationId: 100}, hns.VLAN{}},
		{hcn.VSID, hcn.VsidPolicySetting{IsolationId: 1 << 20}, hns.VSID{}},
		{"SomethingNew", map[string]any{"A": 1.0}, nil},
	}
)

func becomes(t *testing.T, typ string, got, want any) {
	t.Helper()
	if want == nil {
		want = hns.RawPolicy{}
	}
	if reflect.TypeOf(got) != reflect.TypeOf(want) {
		t.Errorf("%s became a %T, want %T", typ, got, want)
	}
}

func TestEndpointPolicies(t *testing.T) {
	for _, tt := range endpointSettings {
		h := hcn.EndpointPolicy{Type: tt.typ, Settings: settings(t, tt.settings)}
		p, err := EndpointPolicyFromHCN(h)
		if err != nil {
			t.Errorf("%s: %v", tt.typ, err)
			continue
		}
		becomes(t, string(tt.typ), p, tt.want)
		back, err := EndpointPolicyToHCN(p)
		if err != nil {
			t.Errorf("%s: %v", tt.typ, err)
		}
		same(t, string(tt.typ), h, back)
	}
}

func TestNetworkPolicies(t *testing.T) {
	for _, tt := range networkSettings {
		h := hcn.NetworkPolicy{Type: tt.typ, Settings: settings(t, tt.settings)}
		p, err := NetworkPolicyFromHCN(h)
		if err != nil {
			t.Errorf("%s: %v", tt.typ, err)
			continue
		}
		becomes(t, string(tt.typ), p, tt.want)
		back, err := NetworkPolicyToHCN(p)
		if err != nil {
			t.Errorf("%s: %v", tt.typ, err)
		}
		same(t, string(tt.typ), h, back)
	}
}

func TestSubnetPolicies(t *testing.T) {
	for _, tt := range subnetSettings {
		h := hcn.SubnetPolicy{Type: tt.typ, Settings: settings(t, tt.settings)}
		p, err := SubnetPolicyFromHCN(h)
		if err != nil {
			t.Errorf("%s: %v", tt.typ, err)
			continue
		}
		becomes(t, string(tt.typ), p, tt.want)
		back, err := SubnetPolicyToHCN(p)
		if err != nil {
			t.Errorf("%s: %v", tt.typ, err)
		}
		same(t, string(tt.typ), h, back)
	}
}

// A VNI needs 24 bits and hcn's struct has 16; the policy itself keeps it.
func TestWideVNIIsKept(t *testing.T) {
	want := hcn.NetworkPolicy{Type: hcn.RemoteSubnetRoute, Settings: json.RawMessage(
		`{"DestinationPrefix":"10.60.7.0/24","IsolationId":16777214,"ProviderAddress":"192.0.2.7","DistributedRouterMacAddress":"00-15-5D-01-02-03"}`)}
	p, err := NetworkPolicyFromHCN(want)
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := p.(hns.RemoteSubnetRoute); !ok || r.IsolationID != hns.MaxVNI {
		t.Fatalf("got %#v", p)
	}
	back, err := NetworkPolicyToHCN(p)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "policy", want, back)
}

func TestBadPolicies(t *testing.T) {
	broken := json.RawMessage(`{"A":`)
	for name, err := range map[string]error{
		"endpoint, broken settings": second(EndpointPolicyFromHCN(hcn.EndpointPolicy{Type: hcn.ACL, Settings: broken})),
		"network, broken settings":  second(NetworkPolicyFromHCN(hcn.NetworkPolicy{Type: hcn.HostRoute, Settings: broken})),
		"subnet, broken settings":   second(SubnetPolicyFromHCN(hcn.SubnetPolicy{Type: hcn.VSID, Settings: broken})),
		"endpoint, nil":             second(EndpointPolicyToHCN(nil)),
		"network, nil":              second(NetworkPolicyToHCN(nil)),
		"subnet, nil":               second(SubnetPolicyToHCN(nil)),
		"endpoint, raw and broken":  second(EndpointPolicyToHCN(hns.RawPolicy{Type: "X", Settings: broken})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, err := range map[string]error{
		"endpoint": second(EndpointPolicyFromHCN(hcn.EndpointPolicy{})),
		"network":  second(NetworkPolicyFromHCN(hcn.NetworkPolicy{})),
		"subnet":   second(SubnetPolicyFromHCN(hcn.SubnetPolicy{})),
	} {
		if !errors.Is(err, hns.ErrInvalid) || !strings.Contains(err.Error(), "Type") {
			t.Errorf("%s without a type: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
