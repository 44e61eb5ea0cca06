package hns_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
)

// pod is an endpoint with everything that a create can say.
func pod() *hns.Endpoint {
	return &hns.Endpoint{
		ID: podID, Name: "sbx-01_lake", Network: lake,
		IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.7"), PrefixLength: 24}, {Address: addr("fd00:50:3::7"), PrefixLength: 64}},
		Routes:    []hns.Route{hns.DefaultRoute(addr("10.50.3.2")), {NextHop: addr("fd00:50:3::1"), DestinationPrefix: prefix("::/0"), Metric: 256}},
		MAC:       mustMAC("0e:2a:0a:32:03:07"),
		DNS:       hns.DNS{Domain: "cluster.local", Search: []string{"svc.cluster.local"}, ServerList: []string{"10.96.0.10"}, Options: []string{"ndots:5"}},
		Policies: []hns.EndpointPolicy{
			hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16", "10.96.0.0/12"}},
			hns.SDNRoute{DestinationPrefix: prefix("10.96.0.0/12"), NeedEncap: true},
			hns.ProviderAddress{Address: addr("192.0.2.10")},
			hns.PortName{Name: "<pod> & co"},
		},
		Flags: hns.EndpointLowInterfaceMetric,
	}
}

func TestEndpointRoundTrip(t *testing.T) {
	want := pod()
	doc, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := hns.DecodeEndpoint(doc)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "endpoint", want, got, cmpopts.IgnoreFields(hns.Endpoint{}, "Document"))
	same(t, "unread", nil, got.Document.Unread)
}

func TestEndpointAccessors(t *testing.T) {
	e := pod()
	e.IPConfigs = append(e.IPConfigs, hns.IPConfig{})
	e.Routes = append([]hns.Route{{NextHop: addr("0.0.0.0"), DestinationPrefix: prefix("0.0.0.0/0")}, {NextHop: addr("10.50.3.9"), DestinationPrefix: prefix("10.96.0.0/12")}}, e.Routes...)
	same(t, "addresses", []netip.Addr{addr("10.50.3.7"), addr("fd00:50:3::7")}, e.Addresses())
	same(t, "IPv4 gateway", addr("10.50.3.2"), e.Gateway(addr("10.50.3.7")))
	same(t, "IPv6 gateway", addr("fd00:50:3::1"), e.Gateway(addr("fd00:50:3::7")))
	same(t, "prefix", prefix("10.50.3.7/24"), e.IPConfigs[0].Prefix())
	if p := (hns.IPConfig{Address: addr("10.50.3.7")}).Prefix(); p.IsValid() {
		t.Errorf("a length that is not known gives %s", p)
	}
	if p := (hns.IPConfig{PrefixLength: 24}).Prefix(); p.IsValid() {
		t.Errorf("no address gives %s", p)
	}
	same(t, "default route", hns.Route{NextHop: addr("fd00::1"), DestinationPrefix: prefix("::/0")}, hns.DefaultRoute(addr("fd00::1")))
	for p, want := range map[string]bool{"0.0.0.0/0": true, "::/0": true, "0.0.0.0/1": false} {
		if got := (hns.Route{DestinationPrefix: prefix(p)}).IsDefault(); got != want {
			t.Errorf("%s is a default route: %v", p, got)
		}
	}
	if (hns.Route{}).IsDefault() {
		t.Error("no route is a default route")
	}
	if !(hns.DNS{}).IsZero() || (hns.DNS{Options: []string{"x"}}).IsZero() {
		t.Error("DNS.IsZero")
	}
}

func TestEndpointStateText(t *testing.T) {
	for s, want := range map[hns.EndpointState]string{0: "Uninitialized", 1: "Created", 2: "Attached", 3: "AttachedSharing", 4: "Detached", 5: "Degraded", 6: "Destroyed", 7: "State(7)"} {
		if got := s.String(); got != want {
			t.Errorf("state %d is %q", s, got)
		}
	}
}

func TestEndpointRules(t *testing.T) {
	address := func(a string, bits uint8) func(*hns.Endpoint) {
		return func(e *hns.Endpoint) { e.IPConfigs = []hns.IPConfig{{Address: addr(a), PrefixLength: bits}} }
	}
	checkRules(t, pod, createEndpoint, []ruleCase[hns.Endpoint]{
		{"as it is", func(*hns.Endpoint) {}, nil},
		{"everything left to HNS", func(e *hns.Endpoint) { *e = hns.Endpoint{Network: lake} }, nil},
		{"no network", func(e *hns.Endpoint) { e.Network = hns.ID{} }, []string{"HostComputeNetwork |  | "}},
		{"namespace", func(e *hns.Endpoint) { e.Namespace = podNS }, []string{"HostComputeNamespace | " + podNS.String() + " | namespace-in-create"}},
		{"config without address", func(e *hns.Endpoint) { e.IPConfigs[1].Address = netip.Addr{} }, []string{"IpConfigurations[1].IpAddress |  | "}},
		{"unspecified", address("0.0.0.0", 0), []string{"IpConfigurations[0].IpAddress | 0.0.0.0 | "}},
		{"group", address("ff02::1", 0), []string{"IpConfigurations[0].IpAddress | ff02::1 | "}},
		{"IPv4 in IPv6", address("::ffff:10.50.3.7", 0), []string{"IpConfigurations[0].IpAddress | ::ffff:10.50.3.7 | "}},
		{"zone", address("fe80::1%3", 0), []string{"IpConfigurations[0].IpAddress | fe80::1%3 | "}},
		{"too long", address("10.50.3.7", 33), []string{"IpConfigurations[0].PrefixLength | 33 | "}},
		{"single host", address("10.50.3.7", 32), nil},
		{"two of a family", func(e *hns.Endpoint) { e.IPConfigs[1].Address, e.IPConfigs[1].PrefixLength = addr("10.50.3.8"), 24 }, []string{
			"IpConfigurations[1].IpAddress | 10.50.3.8 | one-address-per-family"}},
		{"route", func(e *hns.Endpoint) { e.Routes[1].NextHop = addr("10.50.3.2") }, []string{"Routes[1].NextHop | 10.50.3.2 | "}},
		{"name server", func(e *hns.Endpoint) { e.DNS.ServerList = []string{"10.96.0.10", "dns.example"} }, []string{"Dns.ServerList[1] | dns.example | dns-server"}},
		{"policies", func(e *hns.Endpoint) {
			e.Policies = []hns.EndpointPolicy{nil, (*hns.SDNRoute)(nil), hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8", "10.96.0.1/12"}}, hns.VLAN{}}
		}, []string{"Policies[0] |  | ", "Policies[1] |  | ", "Policies[2].Settings.Exceptions[1] | 10.96.0.1/12 | host-bits", "Policies[3].Settings.IsolationId | 0 | vlan-range"}},
		{"unknown policy", func(e *hns.Endpoint) {
			e.Policies = []hns.EndpointPolicy{hns.RawPolicy{Type: "Bogus", Settings: json.RawMessage(`{}`)}}
		}, []string{"Policies[0].Type | Bogus | policy-type"}},
		{"names of schema 1", func(e *hns.Endpoint) {
			e.Policies = []hns.EndpointPolicy{hns.RawPolicy{Type: "OutBoundNAT", Settings: json.RawMessage(`{"ExceptionList":[]}`)}}
		}, []string{"Policies[0].Settings.ExceptionList | [] | schema1-name"}},
	})
}

func createEndpoint(t *testing.T, e *hns.Endpoint, allow ...string) error {
	_, err := hns.New(answering(`{}`), &hns.Options{Allow: allow}).Endpoints.Create(t.Context(), e)
	return err
}

// Complaints about policies match ErrInvalidPolicy, others do not.
func TestWhichComplaintsAreOfPolicies(t *testing.T) {
	bad := pod()
	bad.Policies[0] = nil
	wantIs(t, createEndpoint(t, bad), hns.ErrInvalid, hns.ErrInvalidPolicy)
	bad = pod()
	bad.IPConfigs[0].PrefixLength = 99
	wantIs(t, createEndpoint(t, bad), hns.ErrInvalid)
}

// What is refused is not sent.
func TestRefusedIsNotSent(t *testing.T) {
	rec := &recorder{Backend: answering(`{}`)}
	c := hns.New(rec, nil)
	bad := pod()
	bad.Policies[0] = hns.OutBoundNAT{Exceptions: []string{"<cidr>"}}
	ctx := t.Context()
	_, errCreate := c.Endpoints.Create(ctx, bad)
	_, errNil := c.Endpoints.Create(ctx, nil)
	_, errNilNetwork := c.Networks.Create(ctx, nil)
	_, errNilNamespace := c.Namespaces.Create(ctx, nil)
	_, errBlank := c.Endpoints.OfNetwork(ctx, hns.ID{})
	_, errName := c.Endpoints.Named(ctx, "")
	_, errState := c.Endpoints.State(ctx, hns.ID{})
	_, errByID := c.Networks.ByID(ctx, hns.ID{}) // kubernetes/kubernetes#79515
	_, errIP := c.Networks.ManagementIP(ctx, hns.ID{})
	for what, err := range map[string]error{
		"create": errCreate, "nil endpoint": errNil, "nil network": errNilNetwork, "nil namespace": errNilNamespace,
		"endpoints of no network": errBlank, "no name": errName, "state": errState, "network by id": errByID, "management IP": errIP,
		"delete":                 c.Endpoints.Delete(ctx, hns.ID{}),
		"attach to host":         c.Endpoints.AttachHost(ctx, hns.ID{}),
		"detach from host":       c.Endpoints.DetachHost(ctx, hns.ID{}),
		"policies of nothing":    c.Endpoints.AddPolicies(ctx, hns.ID{}, hns.VLAN{IsolationID: 1}),
		"bad policy":             c.Endpoints.AddPolicies(ctx, podID, hns.VLAN{IsolationID: 1}, nil),
		"bad network policy":     c.Networks.RemovePolicies(ctx, lake, hns.RemoteSubnetRoute{}),
		"add to no namespace":    c.Namespaces.AddEndpoint(ctx, hns.ID{}, podID),
		"add no endpoint":        c.Namespaces.AddEndpoint(ctx, podNS, hns.ID{}),
		"remove from nothing":    c.Namespaces.RemoveEndpoint(ctx, hns.ID{}, podID), // antrea-io/antrea#2301
		"delete of no namespace": c.Namespaces.Delete(ctx, hns.ID{}),
	} {
		var e *hns.Error
		if !errors.Is(err, hns.ErrInvalid) || !errors.As(err, &e) || e.Op == "" || len(hns.FieldErrors(err)) == 0 {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if err := c.Endpoints.AddPolicies(ctx, podID); err != nil { // nothing to add is nothing to send
		t.Error(err)
	}
	same(t, "requests", nil, rec.verbs())
}

// HNS takes the filter in names of its v1 API; one that it passed over would
// list the endpoints of all networks.
func TestEndpointsOfNetwork(t *testing.T) {
	rec := &recorder{Backend: answering(
		`{"ID":"2b000000-0000-4000-8000-0000000000ab","HostComputeNetwork":"1A000000-0000-4000-8000-000000000001"}`,
		`{"ID":"2b000000-0000-4000-8000-0000000000ac","HostComputeNetwork":"1a000000-0000-4000-8000-000000000002"}`)}
	found, err := hns.New(rec, nil).Endpoints.OfNetwork(t.Context(), lake)
	if err != nil || len(found) != 1 || found[0].ID != podID {
		t.Errorf("found %v, %v", found, err)
	}
	same(t, "filter", `{"VirtualNetwork":"1a000000-0000-4000-8000-000000000001"}`, rec.sent()[0].Filter)
}

// Names are compared exactly, whatever HNS's filter does, and several are no
// choice: endpoint names are not unique.
func TestByName(t *testing.T) {
	list := []string{`{"ID":"2b000000-0000-4000-8000-0000000000ab","Name":"Ethernet"}`, `{"ID":"2b000000-0000-4000-8000-0000000000ac","Name":"ethernet"}`,
		`{"ID":"2b000000-0000-4000-8000-0000000000ad","Name":"Ethernet"}`}
	rec := &recorder{Backend: answering(list...)}
	c := hns.New(rec, nil)
	one, err := c.Endpoints.ByName(t.Context(), "ethernet")
	if err != nil || one.ID != mustID("2b000000-0000-4000-8000-0000000000ac") {
		t.Errorf("got %v, %v", one, err)
	}
	_, err = c.Endpoints.ByName(t.Context(), "Ethernet")
	wantIs(t, err, hns.ErrAmbiguous)
	if !strings.Contains(err.Error(), "0000000000ab, 2b") {
		t.Errorf("the error does not list the ids: %v", err)
	}
	all, err := c.Endpoints.Named(t.Context(), "Ethernet")
	if err != nil || len(all) != 2 {
		t.Errorf("got %v, %v", all, err)
	}
	_, err = c.Networks.ByName(t.Context(), `say "x" <>`)
	wantIs(t, err, hns.ErrNotFound)
	if want := `hns: find network "say \"x\" <>": not found`; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	same(t, "filter", `{"Name":"say \"x\" <>"}`, rec.sent()[3].Filter)
}
