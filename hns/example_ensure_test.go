package hns_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func overlay() *hns.Network {
	return &hns.Network{
		Name: "flannel.4096",
		Type: hns.Overlay,
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{
			Prefix:   netip.MustParsePrefix("10.60.3.0/24"),
			Routes:   []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.60.3.1"))},
			Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 4096}},
		}}}},
		Policies: []hns.NetworkPolicy{hns.HostRoute{}},
	}
}

// A node agent makes its network at every start.
func ExampleNetworkService_Ensure() {
	ctx := context.Background()
	c := hns.New(emulator.New(nil), nil)
	for range 2 {
		_, d, err := c.Networks.Ensure(ctx, overlay(), nil)
		check(err)
		fmt.Println(d)
	}
	want := overlay()
	want.DNS.ServerList = []string{"10.96.0.10"}
	_, d, err := c.Networks.Ensure(ctx, want, &hns.EnsureOptions{DryRun: true})
	check(err)
	fmt.Println("would", d)

	want.IPAMs[0].Subnets[0].Policies = []hns.SubnetPolicy{hns.VSID{IsolationID: 4097}}
	_, d, err = c.Networks.Ensure(ctx, want, nil)
	fmt.Println(d.Action, errors.Is(err, hns.ErrDrift))
	for _, diff := range d.Differences {
		fmt.Println(" ", diff)
	}
	// Output:
	// create network "flannel.4096"
	// keep network "flannel.4096"
	// would repair network "flannel.4096": Dns.ServerList: want 10.96.0.10, got none
	// refuse true
	//   Ipams[0].Subnets[0].Policies[0] VSID: want {"IsolationId":4097}, got {"IsolationId":4096}
	//   Dns.ServerList: want 10.96.0.10, got none
}

// The MAC of a peer's VXLAN interface changed: the route for its subnet is
// replaced.
func ExampleNetworkService_EnsurePolicies() {
	ctx := context.Background()
	c := hns.New(emulator.New(nil), nil)
	n, _, err := c.Networks.Ensure(ctx, overlay(), nil)
	check(err)
	for _, mac := range []string{"4e-0a-00-00-00-07", "4e:0a:00:00:00:07", "4e-0a-00-00-00-77"} {
		m, err := hns.ParseMAC(mac)
		check(err)
		d, err := c.Networks.EnsurePolicies(ctx, n.ID, []hns.NetworkPolicy{hns.RemoteSubnetRoute{
			DestinationPrefix:    netip.MustParsePrefix("10.60.7.0/24"),
			IsolationID:          4096,
			ProviderAddress:      netip.MustParseAddr("192.0.2.7"),
			DistributedRouterMAC: m,
		}}, nil)
		check(err)
		fmt.Println(d.Action)
	}
	// Output:
	// repair
	// keep
	// repair
}

func ExampleNetworkService_WaitManagementIP() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := hns.New(emulator.New(&emulator.Options{AddressAfterReads: 3}), nil)
	n, _, err := c.Networks.Ensure(ctx, overlay(), nil)
	check(err)
	ip, err := c.Networks.WaitManagementIP(ctx, n.ID)
	check(err)
	fmt.Println(ip)
	// Output:
	// 192.0.2.10
}

func ExampleNetworkService_WaitProviderAddress() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := hns.New(emulator.New(&emulator.Options{AddressAfterReads: 3}), nil)
	n, _, err := c.Networks.Ensure(ctx, overlay(), nil)
	check(err)
	pa, err := c.Networks.WaitProviderAddress(ctx, n.ID)
	check(err)
	fmt.Println(pa)
	// Output:
	// 192.0.2.10
}

func ExampleCompareNetworks() {
	want, got := overlay(), overlay()
	got.Type = hns.L2Bridge
	got.Policies = nil
	for _, d := range hns.CompareNetworks(want, got) {
		fmt.Println(d)
	}
	// Output:
	// Type: want Overlay, got L2Bridge
	// Policies[0] HostRoute: want {}, got none
}

func ExampleEndpointService_Ensure() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	want := &hns.Endpoint{Name: "sbx-01_lake", Network: lake.ID, Policies: []hns.EndpointPolicy{
		hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16"}},
	}}
	_, d, err := c.Endpoints.Ensure(ctx, want, nil)
	check(err)
	fmt.Println(d)
	want.Policies = []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.60.0.0/16"}}}
	_, d, err = c.Endpoints.Ensure(ctx, want, nil)
	check(err)
	fmt.Println(d)
	// Output:
	// create endpoint "sbx-01_lake"
	// repair endpoint "sbx-01_lake": Policies[0] OutBoundNAT: want {"Exceptions":["10.60.0.0/16"]}, got {"Exceptions":["10.50.0.0/16"]}
}

// The gateway of an L2Bridge network's pods is an endpoint of the node.
func ExampleEndpointService_EnsureHost() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	for range 2 {
		e, d, err := c.Endpoints.EnsureHost(ctx, &hns.Endpoint{Name: "lake_ep", Network: lake.ID,
			IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr("10.50.3.2"), PrefixLength: 24}}}, nil)
		check(err)
		state, err := c.Endpoints.State(ctx, e.ID)
		check(err)
		fmt.Println(d.Action, state)
	}
	// Output:
	// create Attached
	// keep Attached
}

func ExampleNamespaceService_Ensure() {
	ctx := context.Background()
	c, _, namespace := exampleNode()
	_, d, err := c.Namespaces.Ensure(ctx, &hns.Namespace{ID: namespace}, nil)
	check(err)
	fmt.Println(d.Action)
	// Output:
	// keep
}

func ExampleLoadBalancerService_Ensure() {
	ctx := context.Background()
	for _, version := range []hns.Version{emulator.WindowsServer2025Serviced, emulator.WindowsServer2022} {
		c, pods, web := exampleService(version)
		want := &hns.LoadBalancer{FrontendVIPs: web.FrontendVIPs, PortMappings: web.PortMappings}
		var actions []hns.Action
		for _, want.Endpoints = range [][]hns.ID{pods[:1], pods, nil} {
			_, d, err := c.LoadBalancers.Ensure(ctx, want, nil)
			check(err)
			actions = append(actions, d.Action)
		}
		fmt.Println(actions)
	}
	// Output:
	// [keep repair delete]
	// [keep recreate delete]
}
