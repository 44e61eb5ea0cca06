package hns_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// versioned answers the version, and every other request with an empty object.
func versioned(v hns.Version) *recorder {
	doc, _ := json.Marshal(v)
	return &recorder{Backend: backend(func(r hns.Request) (hns.Response, error) {
		if r.Verb == hns.VerbCall {
			return answering(string(doc))(r)
		}
		return answering(`{}`)(r)
	})}
}

// gatedRequests are what the client sends to no HNS that is known to lack it.
var gatedRequests = []struct {
	name    string
	feature hns.Feature
	do      func(*testing.T, *hns.Client) error
}{
	{"RemoteSubnetRoute", hns.FeatureRemoteSubnet, addToNetwork(remoteSubnet())},
	{"HostRoute", hns.FeatureHostRoute, addToNetwork(hns.HostRoute{})},
	{"SetPolicy", hns.FeatureSetPolicy, addToNetwork(hns.SetPolicy{ID: "a", Type: hns.SetIP})},
	{"set of sets", hns.FeatureSetPolicy, addToNetwork(hns.SetPolicy{ID: "a", Type: hns.SetNested})},
	{"NetworkACL", hns.FeatureNetworkACL, addToNetwork(hns.NetworkACL{Action: hns.ACLAllow, Direction: hns.In})},
	{"L4Proxy of a network", hns.FeatureL4Proxy, addToNetwork(hns.L4Proxy{IP: addr("10.50.3.9"), Port: 1})},
	{"raw NetworkACL", hns.FeatureNetworkACL, addToNetwork(hns.RawPolicy{Type: "networkacl", Settings: json.RawMessage(`{"Action":"Allow","Direction":"In"}`)})},
	{"VxlanPort", hns.FeatureVXLANPort, func(t *testing.T, c *hns.Client) error {
		_, err := c.Networks.Create(t.Context(), &hns.Network{Name: "x", Type: hns.Overlay, Policies: []hns.NetworkPolicy{hns.VXLANPort{Port: 8472}}})
		return err
	}},
	{"DisableHostPort", hns.FeatureDisableHostPort, createWithFlags(hns.NetworkDisableHostPort | hns.NetworkNonPersistent)},
	{"EnableIov", hns.FeatureAccelnet, createWithFlags(hns.NetworkEnableIOV)},
	{"L4Proxy", hns.FeatureL4Proxy, addToEndpoint(hns.L4Proxy{IP: addr("10.50.3.9"), Port: 1})},
	{"L4WFPPROXY", hns.FeatureL4WFPProxy, addToEndpoint(hns.L4WFPProxy{InboundPort: 1})},
	{"TierAcl", hns.FeatureTierACL, addToEndpoint(hns.TierACL{Direction: hns.In})},
	{"ACL of VXLAN", hns.FeatureACLProtocol252, addToEndpoint(acl(func(p *hns.ACL) { p.Protocols = []string{"6", " 252"} }))},
	{"raw ACL of VXLAN", hns.FeatureACLProtocol252, addToEndpoint(hns.RawPolicy{Type: "ACL", Settings: json.RawMessage(`{"Action":"Block","Direction":"In","Protocols":"252","New":1}`)})},
	{"TierAcl at create", hns.FeatureTierACL, func(t *testing.T, c *hns.Client) error {
		_, err := c.Endpoints.Create(t.Context(), &hns.Endpoint{Network: lake, Policies: []hns.EndpointPolicy{hns.TierACL{Direction: hns.In}}})
		return err
	}},
	{"TierAcl in an update", hns.FeatureTierACL, func(t *testing.T, c *hns.Client) error {
		return c.Endpoints.UpdatePolicies(t.Context(), podID, hns.TierACL{Direction: hns.In})
	}},
	{"DSR", hns.FeatureDSR, createBalancer(func(l *hns.LoadBalancer) { l.Flags = hns.LoadBalancerDSR })},
	{"IPv6", hns.FeatureDualStack, createBalancer(func(l *hns.LoadBalancer) { l.Flags = hns.LoadBalancerIPv6 })},
	{"affinity", hns.FeatureSessionAffinity, createBalancer(func(l *hns.LoadBalancer) { l.PortMappings[0].Distribution = hns.DistributePerClientAndProtocol })},
	{"LB update", hns.FeatureModifyLoadBalancer, func(t *testing.T, c *hns.Client) error {
		return c.LoadBalancers.Update(t.Context(), nodePortWithID())
	}},
}

func addToNetwork(p hns.NetworkPolicy) func(*testing.T, *hns.Client) error {
	return func(t *testing.T, c *hns.Client) error { return c.Networks.AddPolicies(t.Context(), lake, p) }
}

func addToEndpoint(p hns.EndpointPolicy) func(*testing.T, *hns.Client) error {
	return func(t *testing.T, c *hns.Client) error { return c.Endpoints.AddPolicies(t.Context(), podID, p) }
}

func createWithFlags(f hns.NetworkFlags) func(*testing.T, *hns.Client) error {
	return func(t *testing.T, c *hns.Client) error {
		_, err := c.Networks.Create(t.Context(), &hns.Network{Name: "x", Type: hns.L2Bridge, Flags: f})
		return err
	}
}

func createBalancer(change func(*hns.LoadBalancer)) func(*testing.T, *hns.Client) error {
	return func(t *testing.T, c *hns.Client) error {
		l := nodePort()
		change(l)
		_, err := c.LoadBalancers.Create(t.Context(), l)
		return err
	}
}

func TestGates(t *testing.T) {
	for _, tt := range gatedRequests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range []hns.Version{{9, 1}, {9, 3}, {10, 0}, {10, 4}, {11, 9}, {13, 3}, {14, 0}, {15, 4}, {99, 0}} {
				rec := versioned(v)
				c := hns.New(rec, nil)
				err := tt.do(t, c)
				if tt.feature.In(v) {
					if err != nil || len(rec.sent()) != 2 {
						t.Errorf("HNS %s: %v, %v", v, err, rec.verbs())
					}
					// The version is asked for once.
					if err := tt.do(t, c); err != nil || len(rec.sent()) != 3 {
						t.Errorf("HNS %s, again: %v, %v", v, err, rec.verbs())
					}
					continue
				}
				same(t, "requests to HNS "+v.String(), []string{"call service"}, rec.verbs())
				var e *hns.Error
				var lacks *hns.FeatureError
				if !errors.As(err, &e) || e.Verb == hns.VerbCall || !errors.As(err, &lacks) || lacks.Feature.Name != tt.feature.Name || lacks.Found != v {
					t.Errorf("HNS %s: error %v", v, err)
				}
				wantIs(t, err, hns.ErrUnsupported)
				for _, s := range []string{tt.feature.Name, tt.feature.Windows, "this is " + v.String()} {
					if !strings.Contains(err.Error(), s) {
						t.Errorf("error %q lacks %q", err, s)
					}
				}

				rec = versioned(v)
				c = hns.New(rec, &hns.Options{Allow: []string{"feature-" + tt.feature.Name}})
				if err := tt.do(t, c); err != nil || len(rec.sent()) != 1 {
					t.Errorf("HNS %s, lifted: %v, %v", v, err, rec.verbs())
				}
			}
		})
	}
}

// HNS itself judges what the client cannot know: a version that is not told is
// no reason to refuse. (Load balancers' Update is the exception.)
func TestGatesWithoutVersion(t *testing.T) {
	for _, tt := range gatedRequests {
		rec := &recorder{Backend: backend(func(r hns.Request) (hns.Response, error) {
			if r.Verb == hns.VerbCall {
				return failing(hns.CodeProcNotFound, "")(r)
			}
			return answering(`{}`)(r)
		})}
		err := tt.do(t, hns.New(rec, nil))
		if strict := tt.name == "LB update"; strict == (err == nil) {
			t.Errorf("%s: %v, %v", tt.name, err, rec.verbs())
		}
	}
}

// What the plugins send by default costs no call for the version, and neither
// does taking policies away.
func TestNoGate(t *testing.T) {
	rec := &recorder{Backend: answering(`{}`)}
	c := hns.New(rec, nil)
	e := pod()
	e.Policies = append(e.Policies,
		hns.OutBoundNAT{Destinations: []string{"10.50.3.7"}}, hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088},
		hns.ACL{Action: hns.ACLBlock, Direction: hns.Out, Protocols: []string{"6", "256"}}, hns.QOS{}, hns.L2Driver{}, hns.EncapOverhead{}, hns.IOV{},
		hns.InterfaceParameters{MTU: 1450}, hns.VLAN{IsolationID: 7})
	if _, err := c.Endpoints.Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if err := c.Endpoints.AddPolicies(t.Context(), podID, hns.OutBoundNAT{Destinations: []string{"10.50.3.7"}}, hns.SDNRoute{DestinationPrefix: prefix("10.96.0.0/12"), NeedEncap: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.Endpoints.RemovePolicies(t.Context(), podID, hns.TierACL{Direction: hns.In}); err != nil {
		t.Fatal(err)
	}
	if err := c.Networks.RemovePolicies(t.Context(), lake, remoteSubnet(), hns.HostRoute{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.LoadBalancers.Create(t.Context(), nodePort()); err != nil {
		t.Fatal(err)
	}
	same(t, "requests", []string{"create endpoint", "modify endpoint", "modify endpoint", "modify network", "create load balancer"}, rec.verbs())
}

// All that is missing is named at once, each thing once.
func TestSeveralGates(t *testing.T) {
	rec := versioned(hns.Version{Major: 9, Minor: 1})
	c := hns.New(rec, &hns.Options{Allow: []string{"feature-HostRoute"}})
	err := c.Networks.AddPolicies(t.Context(), lake, remoteSubnet(), hns.HostRoute{}, remoteSubnet(), hns.SetPolicy{ID: "a", Type: hns.SetIP})
	want := "hns: add policies of network " + lake.String() + ": RemoteSubnet needs HNS 9.2+ (Windows Server 2019 with KB4489899), this is 9.1; " +
		"SetPolicy needs HNS 13.0+ (Windows Server 2022), this is 9.1"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	same(t, "requests", []string{"call service"}, rec.verbs())
}

// A gate is a refusal: Attach has nothing to take back, and does not look.
func TestAttachBehindGate(t *testing.T) {
	rec := versioned(hns.Version{Major: 13, Minor: 3})
	_, err := hns.New(rec, nil).Attach(t.Context(), hns.Attachment{Name: "sbx-01_lake", Network: lake, Namespace: podNS, Build: buildTier})
	wantIs(t, err, hns.ErrUnsupported)
	same(t, "requests", []string{"list endpoint", "call service"}, rec.verbs())
}

func buildTier(context.Context) (*hns.Endpoint, error) {
	return &hns.Endpoint{Policies: []hns.EndpointPolicy{hns.TierACL{Direction: hns.In}}}, nil
}
