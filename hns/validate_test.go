package hns_test

import (
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// Validate says what Create would, without a client.
func TestValidate(t *testing.T) {
	network := func(f func(*hns.Network)) *hns.Network {
		n := &hns.Network{Name: "lake", Type: hns.L2Bridge, IPAMs: []hns.IPAM{{Type: "Static", Subnets: []hns.Subnet{{Prefix: netip.MustParsePrefix("10.50.3.0/24")}}}}}
		f(n)
		return n
	}
	for name, tc := range map[string]struct {
		object interface{ Validate() error }
		path   string // of the one complaint; empty if there is none
	}{
		"network":                {network(func(*hns.Network) {}), ""},
		"network with host bits": {network(func(n *hns.Network) { n.IPAMs[0].Subnets[0].Prefix = netip.MustParsePrefix("10.50.3.7/24") }), "Ipams[0].Subnets[0].IpAddressPrefix"},
		"network without a name": {network(func(n *hns.Network) { n.Name = "" }), "Name"},
		"endpoint":               {&hns.Endpoint{Network: hns.NewID()}, ""},
		"endpoint on nothing":    {&hns.Endpoint{}, "HostComputeNetwork"},
		"namespace":              {&hns.Namespace{Type: "HostDefault"}, ""},
		"namespace of no type":   {&hns.Namespace{Type: "Elsewhere"}, "Type"},
		"load balancer":          {&hns.LoadBalancer{Endpoints: []hns.ID{hns.NewID()}}, "PortMappings"},
		"route":                  {&hns.SDNRouteObject{Endpoints: []hns.ID{hns.NewID()}}, "Routes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.object.Validate()
			fields := hns.FieldErrors(err)
			switch {
			case tc.path == "" && err != nil:
				t.Error(err)
			case tc.path != "" && (len(fields) != 1 || fields[0].Path != tc.path):
				t.Errorf("got %v, want a complaint about %s", err, tc.path)
			}
		})
	}
}
