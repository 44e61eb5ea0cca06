package hcnbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/Microsoft/hcsshim/hcn"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/hcnbridge"
)

// A client that goes through hcn. What hcn refuses by itself is ErrInvalid: it
// wants a default route in every subnet, which HNS does not.
func ExampleNew() {
	c := hns.New(hcnbridge.New(), nil)
	_, err := c.Networks.Create(context.Background(), &hns.Network{Name: "lake", Type: hns.L2Bridge,
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: netip.MustParsePrefix("10.50.3.0/24")}}}}})
	fmt.Println(err)
	fmt.Println(errors.Is(err, hns.ErrInvalid))
	// Output:
	// hns: create network "lake" (L2Bridge): invalid: network create error, no default gateway
	// true
}

// A program that holds hcn's endpoint asks hns about it.
func ExampleEndpointFromHCN() {
	e, losses, err := hcnbridge.EndpointFromHCN(&hcn.HostComputeEndpoint{
		Name:             "pod_lake",
		IpConfigurations: []hcn.IpConfig{{IpAddress: "10.50.3.20", PrefixLength: 24}},
		Routes:           []hcn.Route{{NextHop: "10.50.3.1", DestinationPrefix: "0.0.0.0/0"}},
		MacAddress:       "none",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	addr := e.Addresses()[0]
	fmt.Println(addr, "via", e.Gateway(addr))
	fmt.Println(losses)
	// Output:
	// 10.50.3.20 via 10.50.3.1
	// [MacAddress: "none"]
}

// What hcn has no room for is told by name.
func ExampleLoadBalancerToHCN() {
	network, err := hns.ParseID("532deabf-8872-4cb4-b995-ab5a9cd49bf9")
	if err != nil {
		fmt.Println(err)
		return
	}
	h, losses, err := hcnbridge.LoadBalancerToHCN(&hns.LoadBalancer{
		Network:      network,
		PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, InternalPort: 8080, ExternalPort: 80}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.PortMappings[0].ExternalPort, losses)
	// Output: 80 [HostComputeNetwork: "532deabf-8872-4cb4-b995-ab5a9cd49bf9"]
}

func ExampleEndpointPolicyToHCN() {
	p, err := hcnbridge.EndpointPolicyToHCN(hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16"}})
	fmt.Println(p.Type, string(p.Settings), err)
	// Output: OutBoundNAT {"Exceptions":["10.50.0.0/16"]} <nil>
}

func ExampleEndpointPolicyFromHCN() {
	p, err := hcnbridge.EndpointPolicyFromHCN(hcn.EndpointPolicy{Type: hcn.EncapOverhead, Settings: json.RawMessage(`{"Overhead":50}`)})
	fmt.Printf("%#v %v\n", p, err)
	// Output: hns.EncapOverhead{Overhead:0x32} <nil>
}
