package hns_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
)

// service is a load balancer with everything that a create can say.
func service() *hns.LoadBalancer {
	return &hns.LoadBalancer{
		ID: vipID, Network: lake, Endpoints: []hns.ID{podID, podID2},
		SourceVIP: addr("10.50.3.2"), FrontendVIPs: []netip.Addr{addr("10.96.0.10"), addr("10.96.0.11")},
		PortMappings: []hns.LoadBalancerPortMapping{
			{Protocol: hns.TCP, InternalPort: 8443, ExternalPort: 443, Distribution: hns.DistributePerClient,
				Flags: hns.LoadBalancerInternal | hns.LoadBalancerPreserveDIP},
			{Protocol: hns.UDP, InternalPort: 53, ExternalPort: 53},
		},
		Flags: hns.LoadBalancerDSR,
	}
}

// nodePort needs nothing that not every HNS has.
func nodePort() *hns.LoadBalancer {
	return &hns.LoadBalancer{Endpoints: []hns.ID{podID},
		PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 30080, Flags: hns.LoadBalancerLocalRoutedVIP}}}
}

func nodePortWithID() *hns.LoadBalancer {
	l := nodePort()
	l.ID = vipID
	return l
}

func TestLoadBalancerRoundTrip(t *testing.T) {
	for _, want := range []*hns.LoadBalancer{service(), nodePort(), {}} {
		doc, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := hns.DecodeLoadBalancer(doc)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "load balancer", want, got, cmpopts.IgnoreFields(hns.LoadBalancer{}, "Document"))
		same(t, "unread", nil, got.Document.Unread)
	}
}

// What HNS and others write for one load balancer, and what is no value at all.
func TestDecodeLoadBalancer(t *testing.T) {
	const doc = `{"id":"6F000000-0000-4000-8000-000000000001","Name":"x","Health":{},
		"HostComputeEndpoints":["2B000000-0000-4000-8000-0000000000AB","<backend>",7],
		"SourceVIP":"0.0.0.0","FrontendVIPs":["fd00:96::9","10.96.0.10","fe80::1%2","vip"],
		"PortMappings":[{"Protocol":"Tcp","InternalPort":"8080","ExternalPort":90000,"DistributionType":"sourceip","Flags":32},7,{"Protocol":"sctp","DistributionType":"x"}],
		"Flags":7}`
	l, err := hns.DecodeLoadBalancer([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "load balancer", &hns.LoadBalancer{
		ID: vipID, Endpoints: []hns.ID{podID}, SourceVIP: addr("0.0.0.0"), FrontendVIPs: []netip.Addr{addr("fd00:96::9"), addr("10.96.0.10")},
		PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, InternalPort: 8080, Distribution: hns.DistributePerClient, Flags: 32}, {}},
		Flags:        hns.LoadBalancerDSR | hns.LoadBalancerIPv6 | 4,
	}, l, cmpopts.IgnoreFields(hns.LoadBalancer{}, "Document"))
	same(t, "unread", []hns.Unread{
		{"HostComputeEndpoints[1]", `"<backend>"`, "not a GUID"}, {"HostComputeEndpoints[2]", "7", "not a GUID"},
		{"FrontendVIPs[2]", `"fe80::1%2"`, "not an IP address"}, {"FrontendVIPs[3]", `"vip"`, "not an IP address"},
		{"PortMappings[0].ExternalPort", "90000", "not a number of 16 bits"}, {"PortMappings[1]", "7", "not a JSON object"},
		{"PortMappings[2].Protocol", `"sctp"`, "not a number of 32 bits"}, {"PortMappings[2].DistributionType", `"x"`, "not a number of 32 bits"},
	}, l.Document.Unread)
	if string(l.Document.Raw) != doc {
		t.Error("the document is not kept")
	}
	// A create that failed may leave one behind without ports (kubernetes/kubernetes#141489).
	l, err = hns.DecodeLoadBalancer([]byte(`{"ID":"6f000000-0000-4000-8000-000000000001","FrontendVIPs":["10.96.0.10"],"HostComputeEndpoints":null}`))
	if err != nil || l.PortMappings != nil || l.Endpoints != nil || len(l.FrontendVIPs) != 1 {
		t.Errorf("got %+v, %v", l, err)
	}
	if _, err := hns.DecodeLoadBalancer([]byte(`[]`)); !errors.Is(err, hns.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

func TestLoadBalancerRules(t *testing.T) {
	v6 := func(l *hns.LoadBalancer) {
		l.SourceVIP, l.FrontendVIPs, l.Flags = addr("fd00:50::2"), []netip.Addr{addr("fd00:96::9")}, hns.LoadBalancerIPv6
	}
	mapping := func(change func(*hns.LoadBalancerPortMapping)) func(*hns.LoadBalancer) {
		return func(l *hns.LoadBalancer) { change(&l.PortMappings[0]) }
	}
	everything := hns.LoadBalancerPortMapping{Flags: hns.LoadBalancerInternal}
	checkRules(t, service, createLoadBalancer, []ruleCase[hns.LoadBalancer]{
		{"as it is", func(*hns.LoadBalancer) {}, nil},
		{"node port", func(l *hns.LoadBalancer) { *l = *nodePort() }, nil},
		// Without backends HNS fails, and was asked again with every sync
		// (kubernetes/kubernetes#100384, kubernetes/kubernetes#106936).
		{"no backends", func(l *hns.LoadBalancer) { l.Endpoints = nil }, []string{"HostComputeEndpoints |  | no-endpoints"}},
		{"a backend that is none", func(l *hns.LoadBalancer) { l.Endpoints[1] = hns.ID{} }, []string{"HostComputeEndpoints[1] | 00000000-0000-0000-0000-000000000000 | "}},
		{"any source", func(l *hns.LoadBalancer) { l.SourceVIP = addr("0.0.0.0") }, nil},
		{"no source", func(l *hns.LoadBalancer) { l.SourceVIP = netip.Addr{} }, nil},
		{"group as source", func(l *hns.LoadBalancer) { l.SourceVIP = addr("239.1.1.1") }, []string{"SourceVIP | 239.1.1.1 | "}},
		{"VIPs", func(l *hns.LoadBalancer) {
			l.FrontendVIPs = []netip.Addr{addr("127.0.0.1"), addr("0.0.0.0"), addr("::ffff:10.96.0.10"), {}}
		}, []string{
			"FrontendVIPs[1] | 0.0.0.0 | ", "FrontendVIPs[2] | ::ffff:10.96.0.10 | ", "FrontendVIPs[3] |  | ", "FrontendVIPs[2] | ::ffff:10.96.0.10 | mixed-families"}},
		// One load balancer is for one family, and says which
		// (kubernetes/kubernetes#115501, kubernetes/kubernetes#136240).
		{"IPv6", v6, nil},
		{"IPv6 without its flag", func(l *hns.LoadBalancer) { v6(l); l.Flags = 0 }, []string{
			"SourceVIP | fd00:50::2 | mixed-families", "FrontendVIPs[0] | fd00:96::9 | mixed-families"}},
		{"IPv4 with the other's flag", func(l *hns.LoadBalancer) { l.Flags = hns.LoadBalancerIPv6 }, []string{
			"SourceVIP | 10.50.3.2 | mixed-families", "FrontendVIPs[0] | 10.96.0.10 | mixed-families", "FrontendVIPs[1] | 10.96.0.11 | mixed-families"}},
		{"both", func(l *hns.LoadBalancer) { l.FrontendVIPs[1] = addr("fd00:96::9") }, []string{"FrontendVIPs[1] | fd00:96::9 | mixed-families"}},
		{"IPv6 node port", func(l *hns.LoadBalancer) { *l = *nodePort(); l.Flags = hns.LoadBalancerIPv6 }, nil},

		{"no ports", func(l *hns.LoadBalancer) { l.PortMappings = nil }, []string{"PortMappings |  | no-ports"}},
		{"internal port 0", mapping(func(m *hns.LoadBalancerPortMapping) { m.InternalPort = 0 }), []string{"PortMappings[0].InternalPort | 0 | port-zero"}},
		{"external port 0", mapping(func(m *hns.LoadBalancerPortMapping) { m.ExternalPort = 0 }), []string{"PortMappings[0].ExternalPort | 0 | port-zero"}},
		{"everything to the VIP", mapping(func(m *hns.LoadBalancerPortMapping) { *m = everything }), nil},
		{"everything, but not internal", mapping(func(m *hns.LoadBalancerPortMapping) { *m = hns.LoadBalancerPortMapping{} }), []string{
			"PortMappings[0].InternalPort | 0 | port-zero", "PortMappings[0].ExternalPort | 0 | port-zero"}},
		{"every port of one protocol", mapping(func(m *hns.LoadBalancerPortMapping) { *m = everything; m.Protocol = hns.TCP }), []string{
			"PortMappings[0].InternalPort | 0 | port-zero", "PortMappings[0].ExternalPort | 0 | port-zero"}},
		{"every protocol at one port", mapping(func(m *hns.LoadBalancerPortMapping) { *m = everything; m.InternalPort = 80 }), []string{"PortMappings[0].ExternalPort | 0 | port-zero"}},
		{"and from one port", mapping(func(m *hns.LoadBalancerPortMapping) { *m = everything; m.ExternalPort = 80 }), []string{"PortMappings[0].InternalPort | 0 | port-zero"}},
		{"both protocols", mapping(func(m *hns.LoadBalancerPortMapping) { m.Protocol = hns.ProtocolAny }), nil},
		{"SCTP", mapping(func(m *hns.LoadBalancerPortMapping) { m.Protocol = 132 }), []string{"PortMappings[0].Protocol | 132 | protocol"}},
		{"distribution", mapping(func(m *hns.LoadBalancerPortMapping) { m.Distribution = 3 }), []string{"PortMappings[0].DistributionType | 3 | enum"}},
	})
}

func createLoadBalancer(t *testing.T, l *hns.LoadBalancer, allow ...string) error {
	_, err := hns.New(answering(`{"Major":16}`), &hns.Options{Allow: allow}).LoadBalancers.Create(t.Context(), l)
	return err
}

// What may be of use to nobody is named and sent all the same.
func TestLoadBalancerWarnings(t *testing.T) {
	v4, v6, both, none := mustID("2b000000-0000-4000-8000-000000000004"), mustID("2b000000-0000-4000-8000-000000000006"), podID, podID2
	endpoint := func(id hns.ID, addresses ...string) *hns.Endpoint {
		e := &hns.Endpoint{ID: id}
		for _, a := range addresses {
			e.IPConfigs = append(e.IPConfigs, hns.IPConfig{Address: addr(a)})
		}
		return e
	}
	node := []*hns.Endpoint{endpoint(v4, "10.50.3.4"), endpoint(v6, "fd00:50:3::6"), endpoint(both, "10.50.3.7", "fd00:50:3::7"), endpoint(none)}
	for _, tt := range []struct {
		flags hns.LoadBalancerFlags
		want  []string
	}{
		{0, []string{"HostComputeEndpoints[1] | " + v6.String() + " | "}},
		{hns.LoadBalancerIPv6, []string{"HostComputeEndpoints[0] | " + v4.String() + " | "}},
	} {
		l := hns.LoadBalancer{Endpoints: []hns.ID{v4, v6, both, none, vipID}, Flags: tt.flags}
		var got []string
		for _, w := range l.Warnings(node) {
			got = append(got, complaints(w)...)
		}
		same(t, "warnings", tt.want, got)
	}
	var got []string
	l := hns.LoadBalancer{Endpoints: []hns.ID{podID, podID2, podID}, SourceVIP: addr("0.0.0.0"), FrontendVIPs: []netip.Addr{addr("10.96.0.1"), addr("127.0.0.1")}}
	for _, w := range l.Warnings(nil) {
		got = append(got, w.Path)
	}
	same(t, "warnings", []string{"HostComputeEndpoints[2]", "SourceVIP", "FrontendVIPs[1]"}, got)
}

// HNS does not say which backend is missing; the error does.
func TestMissingBackends(t *testing.T) {
	for _, code := range []hns.Code{hns.CodeInvalidJSONReference, hns.CodeEndpointNotFound} {
		node := func(endpoints ...string) *hns.Client {
			return hns.New(backend(func(r hns.Request) (hns.Response, error) {
				if r.Verb == hns.VerbList {
					return answering(endpoints...)(r)
				}
				return failing(code, "A Reference is required")(r)
			}), &hns.Options{Allow: []string{"feature-DSR", "feature-SessionAffinity", "feature-ModifyLoadbalancer"}})
		}
		here, there := `{"ID":"2B000000-0000-4000-8000-0000000000AB"}`, `{"ID":"2b000000-0000-4000-8000-0000000000ac"}`
		for what, do := range map[string]func(*hns.Client) error{
			"create": func(c *hns.Client) error { _, err := c.LoadBalancers.Create(t.Context(), service()); return err },
			"update": func(c *hns.Client) error { return c.LoadBalancers.Update(t.Context(), service()) },
			"route": func(c *hns.Client) error {
				_, err := c.Routes.Create(t.Context(), &hns.SDNRouteObject{Endpoints: service().Endpoints, Routes: metadata().Routes})
				return err
			},
		} {
			err := do(node(here))
			if want := "(not found: endpoint " + podID2.String() + ")"; !strings.HasSuffix(err.Error(), want) || !errors.Is(err, hns.ErrNotFound) {
				t.Errorf("%s, %s: error %v, want %s", what, code, err, want)
			}
			if err := do(node(here, there)); err == nil || strings.Contains(err.Error(), "not found: endpoint") {
				t.Errorf("%s, %s: error %v", what, code, err)
			}
			if err := do(hns.New(failing(code, ""), &hns.Options{Allow: []string{"feature-ModifyLoadbalancer"}})); err == nil || strings.Contains(err.Error(), "(not found: endpoint") {
				t.Errorf("%s, %s: error %v", what, code, err)
			}
		}
	}
	rec := &recorder{Backend: failing(hns.CodePortExists, "")}
	_, err := hns.New(rec, nil).LoadBalancers.Create(t.Context(), nodePort())
	wantIs(t, err, hns.ErrExists, hns.ErrInUse)
	same(t, "requests where no backend is missing", []string{"create load balancer"}, rec.verbs())
	if want := "hns: create load balancer for node (TCP 30080 to 80): HCN_E_PORT_ALREADY_EXISTS (0x803b0013)"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	for vips, want := range map[int]string{1: "10.96.0.10", 2: "10.96.0.10,10.96.0.11"} {
		l := service()
		l.ID, l.FrontendVIPs, l.Flags = hns.ID{}, l.FrontendVIPs[:vips], 0
		_, err := hns.New(rec, nil).LoadBalancers.Create(t.Context(), l)
		if want := "load balancer for " + want + " (TCP 443 to 8443, UDP 53 to 53): "; !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	err = createLoadBalancer(t, nil)
	if err == nil || err.Error() != "hns: create load balancer: nil load balancer" {
		t.Errorf("error %v", err)
	}
}

// A load balancer is changed where HNS can do it. HNS 15.4 says that it can, and
// changes nothing (kubernetes/kubernetes#131466).
func TestUpdateLoadBalancer(t *testing.T) {
	for version, can := range map[string]bool{`{"Major":13,"Minor":3}`: false, `{"Major":15,"Minor":4}`: false, `{"Major":15,"Minor":5}`: true, `{"Major":16}`: true} {
		rec := &recorder{Backend: answering(version)}
		err := hns.New(rec, nil).LoadBalancers.Update(t.Context(), service())
		sent := rec.verbs()
		if can != (err == nil) || can != (sent[len(sent)-1] == "modify load balancer") {
			t.Errorf("HNS %s: %v, %v", version, err, sent)
		}
		if !can {
			var lacks *hns.FeatureError
			if !errors.As(err, &lacks) || lacks.Feature.Name != "ModifyLoadbalancer" {
				t.Errorf("HNS %s: %v", version, err)
			}
			wantIs(t, err, hns.ErrUnsupported)
		}
	}
	// Where HNS does not tell its version, it might say yes and do nothing.
	rec := &recorder{Backend: failing(hns.CodeRPCUnavailable, "")}
	c := hns.New(rec, nil)
	wantIs(t, c.LoadBalancers.Update(t.Context(), nodePortWithID()), hns.ErrUnavailable)
	same(t, "requests", []string{"call service"}, rec.verbs())

	for _, l := range []*hns.LoadBalancer{nil, nodePort()} {
		wantIs(t, c.LoadBalancers.Update(t.Context(), l), hns.ErrInvalid)
	}
	bad := nodePortWithID()
	bad.Endpoints = nil
	err := c.LoadBalancers.Update(t.Context(), bad)
	same(t, "complaints", []string{"HostComputeEndpoints |  | no-endpoints"}, complaints(err))
	if want := "hns: update load balancer " + vipID.String() + " for node (TCP 30080 to 80): HostComputeEndpoints: missing; HNS refuses it without an endpoint"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	same(t, "requests", []string{"call service"}, rec.verbs())
}

// A service that is down is never "no such load balancer": who took it so made
// it anew after the restart, and failed (kubernetes/kubernetes#139519).
func TestLoadBalancerWhileDown(t *testing.T) {
	down := hns.New(failing(hns.CodeRPCUnavailable, ""), nil)
	_, err := down.LoadBalancers.ByID(t.Context(), vipID)
	wantIs(t, err, hns.ErrUnavailable)
	wantIs(t, down.LoadBalancers.Delete(t.Context(), vipID), hns.ErrUnavailable)
	gone := hns.New(failing(hns.CodeElementNotFound, ""), nil)
	wantIs(t, gone.LoadBalancers.Delete(t.Context(), vipID), hns.ErrNotFound) // kubernetes/kubernetes#137530
}

func FuzzDecodeLoadBalancer(f *testing.F) {
	f.Add([]byte(`{"HostComputeEndpoints":["2b000000-0000-4000-8000-0000000000ab"],"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":80}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		l, err := hns.DecodeLoadBalancer(doc)
		if (l == nil) != (err != nil) {
			t.Fatalf("got %v, %v", l, err)
		}
		if err != nil {
			return
		}
		_ = createLoadBalancer(t, l) // must not panic
		out, err := l.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := hns.DecodeLoadBalancer(out)
		if err != nil || len(again.Document.Unread) > 0 {
			t.Fatalf("%s does not read back: %v, %v", out, err, again.Document.Unread)
		}
		if twice, err := again.Encode(); err != nil || string(twice) != string(out) {
			t.Fatalf("not stable: %v\n%s\n%s", err, out, twice)
		}
	})
}
