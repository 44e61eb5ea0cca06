package hcnbridge

import (
	"encoding/json"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
)

const (
	netID = "532deabf-8872-4cb4-b995-ab5a9cd49bf9"
	epID  = "591aa31c-ec30-4c67-8184-6d677da04f1c"
	nsID  = "9df764a9-2c87-48b0-963e-7b6430418e7a"
	lbID  = "460e144f-eb89-4b15-bea4-f5a10f520ae5"
	rtID  = "3ed2b061-1e97-4a9c-be87-c83e7ed97c2d"
)

var dns = hcn.Dns{Domain: "cluster.local", Search: []string{"a.local", "b.local"}, ServerList: []string{"10.96.0.10"}, Options: []string{"ndots:5"}}

// The objects of hcn with every member set.
func fullNetwork(t *testing.T) *hcn.HostComputeNetwork {
	h := &hcn.HostComputeNetwork{
		Id: netID, Name: "a <b> & c", Type: hcn.Overlay, Dns: dns, Flags: hcn.EnableNonPersistent | 1<<30, SchemaVersion: hcn.V2SchemaVersion(),
		MacPool: hcn.MacPool{Ranges: []hcn.MacRange{{StartMacAddress: "00-15-5D-52-C0-00", EndMacAddress: "00-15-5D-52-CF-FF"}}},
	}
	for _, p := range networkSettings {
		h.Policies = append(h.Policies, hcn.NetworkPolicy{Type: p.typ, Settings: settings(t, p.settings)})
	}
	s := hcn.Subnet{IpAddressPrefix: "10.60.0.0/16", Routes: []hcn.Route{{NextHop: "10.60.0.1", DestinationPrefix: "0.0.0.0/0", Metric: 7}}}
	for _, p := range subnetSettings {
		s.Policies = append(s.Policies, settings(t, hcn.SubnetPolicy{Type: p.typ, Settings: settings(t, p.settings)}))
	}
	h.Ipams = []hcn.Ipam{{Type: "Static", Subnets: []hcn.Subnet{s, {IpAddressPrefix: "fd00:60::/64"}}}, {Type: "DHCP"}}
	return h
}

func fullEndpoint(t *testing.T) *hcn.HostComputeEndpoint {
	h := &hcn.HostComputeEndpoint{
		Id: epID, Name: "pod_net", HostComputeNetwork: netID, HostComputeNamespace: nsID, Dns: dns, Flags: hcn.EndpointFlagsRemoteEndpoint,
		IpConfigurations: []hcn.IpConfig{{IpAddress: "10.60.0.5", PrefixLength: 16}, {IpAddress: "fd00:60::5", PrefixLength: 64}},
		Routes:           []hcn.Route{{NextHop: "10.60.0.1", DestinationPrefix: "0.0.0.0/0", Metric: 65535}},
		MacAddress:       "00-15-5D-52-C0-05", SchemaVersion: hcn.V2SchemaVersion(),
	}
	for _, p := range endpointSettings {
		h.Policies = append(h.Policies, hcn.EndpointPolicy{Type: p.typ, Settings: settings(t, p.settings)})
	}
	return h
}

func fullNamespace(t *testing.T) *hcn.HostComputeNamespace {
	return &hcn.HostComputeNamespace{Id: nsID, NamespaceId: 4, Type: hcn.NamespaceTypeGuest, SchemaVersion: hcn.V2SchemaVersion(),
		Resources: []hcn.NamespaceResource{
			{Type: hcn.NamespaceResourceTypeEndpoint, Data: settings(t, hcn.NamespaceResourceEndpoint{Id: "591AA31C-EC30-4C67-8184-6D677DA04F1C"})},
			{Type: hcn.NamespaceResourceTypeContainer, Data: settings(t, hcn.NamespaceResourceContainer{Id: "pod <1>"})},
		}}
}

func fullLoadBalancer() *hcn.HostComputeLoadBalancer {
	return &hcn.HostComputeLoadBalancer{Id: lbID, HostComputeEndpoints: []string{epID}, SourceVIP: "10.60.0.2", FrontendVIPs: []string{"10.96.0.10", "10.96.0.11"},
		Flags: hcn.LoadBalancerFlagsDSR, SchemaVersion: hcn.V2SchemaVersion(),
		PortMappings: []hcn.LoadBalancerPortMapping{{Protocol: 17, InternalPort: 53, ExternalPort: 5353,
			DistributionType: hcn.LoadBalancerDistributionSourceIP, Flags: hcn.LoadBalancerPortMappingFlagsPreserveDIP}}}
}

func fullRoute() *hcn.HostComputeRoute {
	return &hcn.HostComputeRoute{ID: rtID, HostComputeEndpoints: []string{epID}, SchemaVersion: hcn.V2SchemaVersion(),
		Setting: []hcn.SDNRoutePolicySetting{{DestinationPrefix: "10.96.0.0/12", NeedEncap: true}, {DestinationPrefix: "10.1.0.0/16", NextHop: "10.60.0.1"}}}
}

// roundTrip takes h to hns and back; nothing may get lost on either way.
func roundTrip[H, T any](t *testing.T, name string, h *H, from func(*H) (T, []Loss, error), to func(T) (*H, []Loss, error)) {
	t.Helper()
	obj, lost, err := from(h)
	if err != nil || len(lost) > 0 {
		t.Errorf("%s from hcn: lost %v, %v", name, lost, err)
		return
	}
	back, lost, err := to(obj)
	if err != nil || len(lost) > 0 {
		t.Errorf("%s to hcn: lost %v, %v", name, lost, err)
		return
	}
	same(t, name, h, back)
}

func TestRoundTrip(t *testing.T) {
	roundTrip(t, "network", fullNetwork(t), NetworkFromHCN, NetworkToHCN)
	roundTrip(t, "endpoint", fullEndpoint(t), EndpointFromHCN, EndpointToHCN)
	roundTrip(t, "namespace", fullNamespace(t), NamespaceFromHCN, NamespaceToHCN)
	roundTrip(t, "load balancer", fullLoadBalancer(), LoadBalancerFromHCN, LoadBalancerToHCN)
	roundTrip(t, "route", fullRoute(), RouteFromHCN, RouteToHCN)

	n := fullNetwork(t)
	n.Health = hcn.Health{Data: "fine", Extra: hcn.ExtraParams{SwitchGuid: netID}}
	n.Type = hcn.NAT
	roundTrip(t, "network with health", n, NetworkFromHCN, NetworkToHCN)
	e := fullEndpoint(t)
	e.Health = n.Health
	roundTrip(t, "endpoint with health", e, EndpointFromHCN, EndpointToHCN)
}

// check encodes an object and compares it with what hcn has.
func check[H any](t *testing.T, name string, h *H, obj interface {
	Encode() (json.RawMessage, error)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := obj.Encode()
	if err != nil {
		t.Fatal(err)
	}
	sameIn(t, name, h, doc)
}

// What hcsshim's clients send is what this module's client would send for the
// same object, but for what is read only.
func TestSameDocuments(t *testing.T) {
	n, _, err := NetworkFromHCN(fullNetwork(t))
	check(t, "network", fullNetwork(t), n, err)
	he := fullEndpoint(t)
	he.HostComputeNamespace = "" // read only
	e, _, err := EndpointFromHCN(he)
	check(t, "endpoint", he, e, err)
	hn := fullNamespace(t)
	hn.Resources = nil // read only
	ns, _, err := NamespaceFromHCN(hn)
	check(t, "namespace", hn, ns, err)
	l, _, err := LoadBalancerFromHCN(fullLoadBalancer())
	check(t, "load balancer", fullLoadBalancer(), l, err)

	r, _, err := RouteFromHCN(fullRoute())
	type both struct { // the schema's name stands beside hcn's
		hcn.HostComputeRoute
		Routes []hcn.SDNRoutePolicySetting
	}
	check(t, "route", &both{*fullRoute(), fullRoute().Setting}, r, err)
}

// A network without a type is one of type NAT: HNS leaves zero out.
func TestTypeIsNAT(t *testing.T) {
	n, _, err := NetworkFromHCN(&hcn.HostComputeNetwork{})
	if err != nil || n.Type != hns.NAT {
		t.Fatalf("got %v, %v", n, err)
	}
	h, _, err := NetworkToHCN(n)
	if err != nil || h.Type != hcn.NAT {
		t.Errorf("got %v, %v", h, err)
	}
}

// A document of a recent HNS, and the same members in the object alone.
func TestLosses(t *testing.T) {
	check := func(name string, got []Loss, err error, want ...Loss) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	n, err := hns.DecodeNetwork([]byte(`{"ID":"` + netID + `","Name":"n","Type":"L2Bridge","Version":55834574851,"State":1,"Novel":[1],
		"Health":{"Data":"fine","Other":1},"Ipams":[{"Type":"Static","Subnets":[{"ID":"` + epID + `","IpAddressPrefix":"10.0.0.0/24","Flags":1,
		"IpSubnets":[{"ID":"` + nsID + `","IpAddressPrefix":"10.0.0.0/24","Flags":3}]}]}],"SchemaVersion":{"Major":2,"Minor":0}}`))
	if err != nil {
		t.Fatal(err)
	}
	h, lost, err := NetworkToHCN(n)
	check("network", lost, err,
		Loss{"Ipams[0].Subnets[0].Flags", "1"},
		Loss{"Ipams[0].Subnets[0].IpSubnets", `[{"Flags":3,"IpAddressPrefix":"10.0.0.0/24"}]`},
		Loss{"Health.Other", "1"},
		Loss{"Ipams[0].Subnets[0].ID", `"` + epID + `"`}, Loss{"Novel", "[1]"}, Loss{"State", "1"}, Loss{"Version", "55834574851"})
	if h.Health.Data != "fine" {
		t.Errorf("health %v", h.Health)
	}

	n.IPAMs[0].Subnets[0].IPSubnets = nil // what the object has no longer is not lost on the way
	n.IPAMs[0].Subnets[0].Flags = 0
	n.Document = hns.Document{}
	_, lost, err = NetworkToHCN(n)
	check("network without a document", lost, err, Loss{"Ipams[0].Subnets[0].ID", `"` + epID + `"`})

	e, err := hns.DecodeEndpoint([]byte(`{"ID":"` + epID + `","State":2,"AdditionalParams":{"SwitchPortId":"x"},
		"IpConfigurations":[{"IpAddress":"10.0.0.5","PrefixLength":24,"IpSubnetId":"` + nsID + `"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, lost, err = EndpointToHCN(e)
	check("endpoint", lost, err, Loss{"IpConfigurations[0].IpSubnetId", `"` + nsID + `"`}, Loss{"AdditionalParams", `{"SwitchPortId":"x"}`}, Loss{"State", "2"})
	_, lost, err = EndpointToHCN(&hns.Endpoint{State: hns.EndpointAttached})
	check("endpoint without a document", lost, err, Loss{"State", "2"})

	ns, err := hns.DecodeNamespace([]byte(`{"ID":"` + nsID + `","State":1,"Resources":[{"Type":"Endpoint","Data":{"Id":"W","More":0}},{"Type":"Endpoint","Data":{"Id":"X","More":1}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	ns.Resources = append(ns.Resources[1:], hns.NamespaceResource{Type: hns.ResourceContainer, ID: "<new>"})
	hnamespace, lost, err := NamespaceToHCN(ns)
	check("namespace", lost, err, Loss{"State", "1"})
	if len(hnamespace.Resources) != 2 || string(hnamespace.Resources[0].Data) != `{"Id":"X","More":1}` || string(hnamespace.Resources[1].Data) != `{"Id":"<new>"}` {
		t.Errorf("resources %+v", hnamespace.Resources)
	}

	id := func(s string) hns.ID {
		id, err := hns.ParseID(s)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	_, lost, err = LoadBalancerToHCN(&hns.LoadBalancer{Network: id(netID)})
	check("load balancer", lost, err, Loss{"HostComputeNetwork", `"` + netID + `"`})
	_, lost, err = RouteToHCN(&hns.SDNRouteObject{Network: id(netID), Routes: []hns.SDNRoute{{NeedEncap: true}, {AutomaticEndpointMonitor: true}}})
	check("route", lost, err, Loss{"HostComputeNetwork", `"` + netID + `"`}, Loss{"Setting[1].AutomaticEndpointMonitor", "true"})
	o, err := hns.DecodeSDNRouteObject([]byte(`{"State":1,"Routes":[{"DestinationPrefix":"10.0.0.0/8","Novel":2}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, lost, err = RouteToHCN(o)
	check("route that was read", lost, err, Loss{"Setting[0].Novel", "2"}, Loss{"State", "1"})
}

// What a value of hcn says that cannot be read is told; the rest is there.
func TestUnreadable(t *testing.T) {
	e, lost, err := EndpointFromHCN(&hcn.HostComputeEndpoint{Name: "x", MacAddress: "<mac>", Routes: []hcn.Route{{NextHop: "<gw>", DestinationPrefix: "0.0.0.0/0"}}})
	if err != nil || e.Name != "x" {
		t.Fatalf("got %v, %v", e, err)
	}
	want := map[string]bool{"MacAddress": true, "Routes[0].NextHop": true}
	for _, l := range lost {
		if !want[l.Path] {
			t.Errorf("not expected: %v", l)
		}
		delete(want, l.Path)
	}
	if len(want) > 0 {
		t.Errorf("not told: %v", want)
	}
}

func TestNil(t *testing.T) {
	for name, err := range map[string]error{
		"network from":       third(NetworkFromHCN(nil)),
		"network to":         third(NetworkToHCN(nil)),
		"endpoint from":      third(EndpointFromHCN(nil)),
		"endpoint to":        third(EndpointToHCN(nil)),
		"namespace from":     third(NamespaceFromHCN(nil)),
		"namespace to":       third(NamespaceToHCN(nil)),
		"load balancer from": third(LoadBalancerFromHCN(nil)),
		"load balancer to":   third(LoadBalancerToHCN(nil)),
		"route from":         third(RouteFromHCN(nil)),
		"route to":           third(RouteToHCN(nil)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := NetworkToHCN(&hns.Network{Policies: []hns.NetworkPolicy{nil}}); err == nil {
		t.Error("nil policy: no error")
	}
	if _, _, err := NetworkToHCN(&hns.Network{Document: hns.Document{Raw: json.RawMessage(`{`)}}); err == nil {
		t.Error("broken document: no error")
	}
}

func third[T any](_ T, _ []Loss, err error) error { return err }
