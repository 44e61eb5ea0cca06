package hns_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// TestRequests compares what each verb asks of HNS with testdata/golden.
func TestRequests(t *testing.T) {
	routes := []hns.NetworkPolicy{remoteSubnet(), hns.HostRoute{}}
	pods := []hns.EndpointPolicy{
		hns.OutBoundNAT{Destinations: []string{"10.50.3.7"}}, hns.VLAN{IsolationID: 7}, hns.RawPolicy{Type: "L2Driver"},
	}
	rules := []hns.EndpointPolicy{acl(func(p *hns.ACL) { p.Protocols = []string{"6"} }), hns.TierACL{Name: "in", Direction: hns.In, Order: 1}}
	sets := []hns.NetworkPolicy{hns.SetPolicy{ID: "a", Name: "pods", Type: hns.SetIP, Values: []string{"10.50.3.7"}}}
	tests := []struct {
		name string
		do   func(*hns.Client) error
	}{
		{"network_create", func(c *hns.Client) error { _, err := c.Networks.Create(t.Context(), fjord()); return err }},
		{"network_create_least", func(c *hns.Client) error {
			_, err := c.Networks.Create(t.Context(), &hns.Network{Name: "nat", Type: hns.NAT})
			return err
		}},
		{"network_list", func(c *hns.Client) error { _, err := c.Networks.List(t.Context()); return err }},
		{"network_get", func(c *hns.Client) error { _, err := c.Networks.ByID(t.Context(), lake); return err }},
		{"network_delete", func(c *hns.Client) error { return c.Networks.Delete(t.Context(), lake) }},
		{"network_add_policies", func(c *hns.Client) error { return c.Networks.AddPolicies(t.Context(), lake, routes...) }},
		{"network_remove_policies", func(c *hns.Client) error { return c.Networks.RemovePolicies(t.Context(), lake, routes[0]) }},
		{"network_management_ip", func(c *hns.Client) error { _, err := c.Networks.ManagementIP(t.Context(), lake); return err }},
		{"endpoint_create", func(c *hns.Client) error { _, err := c.Endpoints.Create(t.Context(), pod()); return err }},
		{"endpoint_create_least", func(c *hns.Client) error {
			_, err := c.Endpoints.Create(t.Context(), &hns.Endpoint{Network: lake})
			return err
		}},
		{"endpoint_of_network", func(c *hns.Client) error { _, err := c.Endpoints.OfNetwork(t.Context(), lake); return err }},
		{"endpoint_named", func(c *hns.Client) error { _, err := c.Endpoints.Named(t.Context(), "a & b"); return err }},
		{"endpoint_delete", func(c *hns.Client) error { return c.Endpoints.Delete(t.Context(), podID) }},
		{"endpoint_add_policies", func(c *hns.Client) error { return c.Endpoints.AddPolicies(t.Context(), podID, pods...) }},
		{"endpoint_attach_host", func(c *hns.Client) error { return c.Endpoints.AttachHost(t.Context(), podID) }},
		{"endpoint_detach_host", func(c *hns.Client) error { return c.Endpoints.DetachHost(t.Context(), podID) }},
		{"endpoint_state", func(c *hns.Client) error { _, err := c.Endpoints.State(t.Context(), podID); return err }},
		{"namespace_create", func(c *hns.Client) error {
			_, err := c.Namespaces.Create(t.Context(), &hns.Namespace{ID: podNS, NamespaceID: 5, Type: hns.NamespaceGuest})
			return err
		}},
		{"namespace_create_least", func(c *hns.Client) error {
			_, err := c.Namespaces.Create(t.Context(), &hns.Namespace{})
			return err
		}},
		{"namespace_delete", func(c *hns.Client) error { return c.Namespaces.Delete(t.Context(), podNS) }},
		{"namespace_add_endpoint", func(c *hns.Client) error { return c.Namespaces.AddEndpoint(t.Context(), podNS, podID) }},
		{"namespace_remove_endpoint", func(c *hns.Client) error { return c.Namespaces.RemoveEndpoint(t.Context(), podNS, podID) }},
		{"namespace_add_container", func(c *hns.Client) error { return c.Namespaces.AddContainer(t.Context(), podNS, "sbx-01") }},
		{"namespace_remove_container", func(c *hns.Client) error { return c.Namespaces.RemoveContainer(t.Context(), podNS, "sbx-01") }},
		{"endpoint_add_port", func(c *hns.Client) error {
			return c.Endpoints.AddPort(t.Context(), podID, hns.VMPort{ID: vipID, NIC: "a & b", VM: routeID})
		}},
		{"endpoint_remove_port", func(c *hns.Client) error {
			return c.Endpoints.RemovePort(t.Context(), podID, hns.VMPort{ID: vipID})
		}},
		{"endpoint_update_policies", func(c *hns.Client) error { return c.Endpoints.UpdatePolicies(t.Context(), podID, rules...) }},
		{"endpoint_remove_policies", func(c *hns.Client) error { return c.Endpoints.RemovePolicies(t.Context(), podID, rules[0]) }},
		{"network_update_policies", func(c *hns.Client) error { return c.Networks.UpdatePolicies(t.Context(), lake, sets...) }},
		{"network_update_dns", func(c *hns.Client) error { return c.Networks.UpdateDNS(t.Context(), lake, fjord().DNS) }},
		{"network_update_dns_to_none", func(c *hns.Client) error { return c.Networks.UpdateDNS(t.Context(), lake, hns.DNS{}) }},
		{"network_update_extension", func(c *hns.Client) error { return c.Networks.UpdateExtension(t.Context(), lake, podID, false) }},
		{"network_add_subnets", func(c *hns.Client) error { return c.Networks.AddSubnets(t.Context(), lake, pods4(), pods6()) }},
		{"network_remove_subnets", func(c *hns.Client) error { return c.Networks.RemoveSubnets(t.Context(), lake, pods4(), pods6()) }},
		{"network_add_ip_subnets", func(c *hns.Client) error {
			return c.Networks.AddIPSubnets(t.Context(), lake, pods4().ID, pods4().IPSubnets...)
		}},
		{"network_remove_ip_subnets", func(c *hns.Client) error {
			return c.Networks.RemoveIPSubnets(t.Context(), lake, pods4().ID, pods4().IPSubnets...)
		}},
		{"loadbalancer_create", func(c *hns.Client) error { _, err := c.LoadBalancers.Create(t.Context(), service()); return err }},
		{"loadbalancer_create_least", func(c *hns.Client) error {
			_, err := c.LoadBalancers.Create(t.Context(), nodePort())
			return err
		}},
		{"loadbalancer_list", func(c *hns.Client) error { _, err := c.LoadBalancers.List(t.Context()); return err }},
		{"loadbalancer_get", func(c *hns.Client) error { _, err := c.LoadBalancers.ByID(t.Context(), vipID); return err }},
		{"loadbalancer_update", func(c *hns.Client) error { return c.LoadBalancers.Update(t.Context(), service()) }},
		{"loadbalancer_delete", func(c *hns.Client) error { return c.LoadBalancers.Delete(t.Context(), vipID) }},
		{"route_create", func(c *hns.Client) error { _, err := c.Routes.Create(t.Context(), metadata()); return err }},
		{"route_list", func(c *hns.Client) error { _, err := c.Routes.List(t.Context()); return err }},
		{"route_get", func(c *hns.Client) error { _, err := c.Routes.ByID(t.Context(), routeID); return err }},
		{"route_delete", func(c *hns.Client) error { return c.Routes.Delete(t.Context(), routeID) }},
		{"version", func(c *hns.Client) error { _, err := c.Version(t.Context()); return err }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := &recorder{Backend: answering(`{"Major":16,"Minor":0}`)}
			if err := tt.do(hns.New(rec, nil)); err != nil {
				t.Fatal(err)
			}
			goldenDoc(t, tt.name+".json", requestText(t, rec.sent()))
			for _, r := range rec.sent() {
				var compact bytes.Buffer
				if err := json.Compact(&compact, r.Document); err == nil && compact.String() != string(r.Document) {
					t.Errorf("the document holds blanks: %s", r.Document)
				}
			}
		})
	}
}

// requestText writes requests for people to read; what is empty is left out.
func requestText(t *testing.T, requests []hns.Request) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	for _, r := range requests {
		text := struct {
			Request  string
			ID       hns.ID          `json:",omitzero"`
			Network  hns.ID          `json:",omitzero"`
			Filter   string          `json:",omitempty"`
			Method   string          `json:",omitempty"`
			Path     string          `json:",omitempty"`
			Document json.RawMessage `json:",omitempty"`
		}{r.Verb.String() + " " + r.Kind.String(), r.ID, r.Network, r.Filter, r.Method, r.Path, r.Document}
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
