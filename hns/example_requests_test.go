package hns_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// What a utility VM does with an endpoint: the port first, the adapter of the
// virtual machine on it afterwards.
func ExampleEndpointService_AddPort() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake.ID})
	check(err)
	port := hns.VMPort{ID: hns.NewID(), NIC: "vm-1--port"}
	check(c.Endpoints.AddPort(ctx, ep.ID, port))
	state, err := c.Endpoints.State(ctx, ep.ID)
	check(err)
	fmt.Println(state)
	fmt.Println(errors.Is(c.Endpoints.AddPort(ctx, ep.ID, port), hns.ErrAttached))
	// Output:
	// Attached
	// true
}

func ExampleEndpointService_RemovePort() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake.ID})
	check(err)
	port := hns.VMPort{ID: hns.NewID()}
	check(c.Endpoints.AddPort(ctx, ep.ID, port))
	fmt.Println(c.Endpoints.RemovePort(ctx, ep.ID, port))
	fmt.Println(errors.Is(c.Endpoints.RemovePort(ctx, ep.ID, port), hns.ErrNotFound))
	// Output:
	// <nil>
	// true
}

func ExampleNamespaceService_AddContainer() {
	ctx := context.Background()
	c, _, namespace := exampleNode()
	check(c.Namespaces.AddContainer(ctx, namespace, "sandbox-01"))
	ns, err := c.Namespaces.ByID(ctx, namespace)
	check(err)
	fmt.Println(ns.Resources)
	fmt.Println(errors.Is(c.Namespaces.Delete(ctx, namespace), hns.ErrInUse))
	// Output:
	// [{Container sandbox-01}]
	// true
}

func ExampleNamespaceService_RemoveContainer() {
	ctx := context.Background()
	c, _, namespace := exampleNode()
	check(c.Namespaces.AddContainer(ctx, namespace, "sandbox-01"))
	fmt.Println(c.Namespaces.RemoveContainer(ctx, namespace, "sandbox-01"))
	fmt.Println(errors.Is(c.Namespaces.RemoveContainer(ctx, namespace, "sandbox-01"), hns.ErrNotFound))
	// Output:
	// <nil>
	// true
}

// The emulator says what those say who tried it on Windows
// (microsoft/hcsshim#786).
func ExampleNetworkService_AddSubnets() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	err := c.Networks.AddSubnets(ctx, lake.ID, hns.Subnet{Prefix: netip.MustParsePrefix("10.50.4.0/24")})
	fmt.Println(errors.Is(err, hns.ErrUnsupported))
	fmt.Println(hns.Explain(err))
	// Output:
	// true
	// This HNS does not change that on a live network; subnets are the usual case. Make the network anew with what it should have: Ensure with DriftRecreate does, when no endpoint is on it.
}

func ExampleLoadBalancer_Warnings() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake.ID, IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr("10.50.3.9")}}})
	check(err)
	all, err := c.Endpoints.List(ctx)
	check(err)
	lb := hns.LoadBalancer{Endpoints: []hns.ID{ep.ID}, Flags: hns.LoadBalancerIPv6}
	for _, w := range lb.Warnings(all) {
		fmt.Println(w.Path, w.Reason)
	}
	// Output:
	// HostComputeEndpoints[0] the endpoint has 10.50.3.9, and the load balancer is IPv6
}
