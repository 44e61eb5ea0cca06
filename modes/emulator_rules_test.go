package modes_test

import (
	"encoding/json"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
)

// samples are settings of each policy type, as clients send them.
var samples = map[modes.On]map[string]string{
	modes.OnNetwork: {
		"SourceMacAddress": `{"SourceMacAddress":"02-11-01-02-03-04"}`, "NetAdapterName": `{"NetworkAdapterName":"Ethernet"}`,
		"InterfaceConstraint": `{"InterfaceAlias":"Ethernet"}`, "ProviderAddress": `{"ProviderAddress":"192.0.2.10"}`,
		"VSwitchExtension": `{"ExtensionID":"e7c3b2f0-f3c5-48df-af2b-10fed6d72e7a","Enable":true}`, "AutomaticDNS": `{"Enable":true}`,
		"L4Proxy": `{"IP":"192.0.2.20","Port":"3128","Protocol":6}`, "SetPolicy": `{"Id":"set","Name":"set","PolicyType":"IPSET","Values":"10.0.0.1"}`,
		"NetworkACL": `{"Action":"Allow","Direction":"In","Protocols":"6"}`, "DrMacAddress": `{"Address":"00-15-5D-00-00-01"}`,
		"RemoteSubnetRoute": `{"DestinationPrefix":"10.70.0.0/24","IsolationId":4096,"ProviderAddress":"192.0.2.16","DistributedRouterMacAddress":"02-01-00-00-00-01"}`,
		"VxlanPort":         `{"Port":8472}`, "HostRoute": `{}`,
	},
	modes.OnSubnet: {"VSID": `{"IsolationId":4096}`, "VLAN": `{"IsolationId":7}`},
	modes.OnEndpoint: {
		"PortMapping": `{"Protocol":6,"InternalPort":80,"ExternalPort":8088}`, "OutBoundNAT": `{"Exceptions":["10.0.0.0/8"]}`,
		"SDNRoute": `{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}`, "ProviderAddress": `{"ProviderAddress":"192.0.2.10"}`,
		"L4Proxy": `{"IP":"192.0.2.20","Port":"3128","Protocol":6}`, "L4WFPPROXY": `{"OutboundProxyPort":"3128","FilterTuple":{"Protocols":"6"}}`,
		"ACL": `{"Action":"Allow","Direction":"In","Protocols":"6"}`, "QOS": `{"MaximumOutgoingBandwidthInBytes":1000000}`,
		"TierAcl":  `{"Name":"t","Direction":"In","Order":1,"TierAclRules":[{"TierAclRuleAction":"Allow","Protocols":"6"}]}`,
		"L2Driver": `{}`, "EncapOverhead": `{"Overhead":50}`, "InterfaceParameters": `{"Mtu":1400}`, "VLAN": `{"IsolationId":7}`, "Iov": `{"IovOffloadWeight":100}`,
	},
}

// TestLegalIsTaken: what a rule says HNS takes, the emulator takes, on the
// newest HNS; by the client, so that its validation takes it too.
func TestLegalIsTaken(t *testing.T) {
	for _, m := range modes.All() {
		for _, r := range m.Rules() {
			if r.Verdict == modes.Forbidden || r.Verdict == modes.Unknown || r.On == modes.OnLoadBalancer {
				continue
			}
			settings, ok := samples[r.On][r.Type]
			if !ok {
				t.Errorf("%s %s: no sample", r.On, r.Type)
				continue
			}
			c := hns.New(emulator.New(&emulator.Options{Version: emulator.WindowsServer2025Serviced}), nil)
			if err := send(t, c, m, r, hns.RawPolicy{Type: r.Type, Settings: json.RawMessage(settings)}); err != nil {
				t.Errorf("%s: %s %s is %s (%s), but: %v", m, r.On, r.Type, r.Verdict, r.Certainty, err)
			}
		}
	}
}

// send makes a network of the mode, and an endpoint on it, with the policy
// where it belongs.
func send(t *testing.T, c *hns.Client, m modes.Mode, r modes.Rule, p hns.RawPolicy) error {
	t.Helper()
	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: m, Name: "net", Subnets: prefixes("10.50.3.0/24")})
	if err != nil {
		t.Fatal(err)
	}
	n := plan.Network
	switch {
	case r.On == modes.OnSubnet && !hns.HasPolicy(n.IPAMs[0].Subnets[0].Policies, r.Type):
		n.IPAMs[0].Subnets[0].Policies = append(n.IPAMs[0].Subnets[0].Policies, p)
	case r.On == modes.OnNetwork && r.Type != "SetPolicy": // which is for a live network
		n.Policies = append(n.Policies, p)
	}
	made, err := c.Networks.Create(t.Context(), n)
	if err != nil {
		return err
	}
	if r.Type == "SetPolicy" {
		return c.Networks.AddPolicies(t.Context(), made.ID, p)
	}
	e := &hns.Endpoint{Name: "pod", Network: made.ID}
	if r.On == modes.OnEndpoint {
		e.Policies = []hns.EndpointPolicy{p}
	}
	_, err = c.Endpoints.Create(t.Context(), e)
	return err
}
