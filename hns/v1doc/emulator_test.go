package v1doc_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/v1doc"
)

// The emulator shows each object in both schemas, with what HNS adds: read by
// either, it is the same object.
func TestAgainstEmulator(t *testing.T) {
	h := emulator.New(nil)
	c := hns.New(h, nil)
	ctx := context.Background()
	get := func(path string) []byte {
		t.Helper()
		resp, err := h.Do(hns.Request{Verb: hns.VerbCall, Method: "GET", Path: path})
		if err != nil || len(resp.Documents) != 1 {
			t.Fatalf("%s: %v", path, err)
		}
		return resp.Documents[0]
	}
	n, err := c.Networks.Create(ctx, &hns.Network{Name: "moor", Type: hns.Overlay,
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: netip.MustParsePrefix("10.60.3.0/24"),
			Routes: []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.60.3.1"))}, Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 5000}}}}}},
		DNS: hns.DNS{Domain: "example", Search: []string{"a.example", "b.example"}, ServerList: []string{"10.96.0.10"}}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: "x", Network: n.ID, Policies: []hns.EndpointPolicy{
		hns.OutBoundNAT{Exceptions: []string{"10.60.0.0/16"}},
		hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true},
		hns.ACL{Action: hns.ACLBlock, Direction: hns.In, Protocols: []string{"6"}, LocalPorts: []string{"80"}, Priority: 200},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lb, err := c.LoadBalancers.Create(ctx, &hns.LoadBalancer{Endpoints: []hns.ID{e.ID}, FrontendVIPs: []netip.Addr{netip.MustParseAddr("10.96.0.20")},
		Flags: hns.LoadBalancerDSR, PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, InternalPort: 8443, ExternalPort: 443}}})
	if err != nil {
		t.Fatal(err)
	}

	n1 := read(t, v1doc.DecodeNetwork, get("/networks/"+n.ID.Upper()))
	if diffs := hns.CompareNetworks(n, n1); n1.ProviderAddress() != n.ProviderAddress() || n1.DRMAC() != n.DRMAC() || len(diffs) > 0 {
		t.Errorf("network: %v", diffs)
	}
	same(t, "DNS", n.DNS, n1.DNS)

	e1 := read(t, v1doc.DecodeEndpoint, get("/endpoints/"+e.ID.Upper()))
	if diffs := hns.CompareEndpoints(e, e1); len(diffs) != 0 || e1.ID != e.ID {
		t.Errorf("endpoint: %v", diffs)
	}

	lb1 := read(t, v1doc.DecodeLoadBalancer, get("/policylists/"+lb.ID.Upper()))
	lb1.Document, lb.Document = hns.Document{}, hns.Document{}
	same(t, "load balancer", lb, lb1)

	// What is written is what the v1 API takes.
	post := func(path string, doc json.RawMessage, err error) {
		t.Helper()
		if err == nil {
			_, err = h.Do(hns.Request{Verb: hns.VerbCall, Method: "POST", Path: path, Document: doc})
		}
		if err != nil {
			t.Errorf("%s %s: %v", path, doc, err)
		}
	}
	doc, err := v1doc.EncodeEndpoint(&hns.Endpoint{Name: "y", Network: n.ID, Policies: e.Policies, IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr("10.60.3.77"), PrefixLength: 24}}})
	post("/endpoints/", doc, err)
	y, err := c.Endpoints.ByName(ctx, "y")
	if err != nil || y.Addresses()[0] != netip.MustParseAddr("10.60.3.77") {
		t.Errorf("made %+v, %v", y, err)
	}
	lb.ID, lb.PortMappings[0].ExternalPort = hns.ID{}, 444
	doc, err = v1doc.EncodeLoadBalancer(lb)
	post("/policylists/", doc, err)
	n.ID, n.Name, n.Policies = hns.ID{}, "moor2", nil
	n.MACPool = nil
	n.IPAMs[0].Subnets[0].IPSubnets = nil
	n.IPAMs[0].Subnets[0].Prefix = netip.MustParsePrefix("10.61.3.0/24")
	n.IPAMs[0].Subnets[0].Routes = []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.61.3.1"))}
	n.Document = hns.Document{}
	doc, err = v1doc.EncodeNetwork(n)
	post("/networks/", doc, err)
	if m, err := c.Networks.ByName(ctx, "moor2"); err != nil || m.Subnets()[0].VSID() != 5000 {
		t.Errorf("made %+v, %v", m, err)
	}
}
