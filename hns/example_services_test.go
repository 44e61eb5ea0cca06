package hns_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func ExampleNetworkService_Create() {
	ctx := context.Background()
	c := hns.New(emulator.New(nil), nil)
	n, err := c.Networks.Create(ctx, &hns.Network{
		Name:     "flannel.4096",
		Type:     hns.Overlay,
		Policies: []hns.NetworkPolicy{hns.NetAdapterName{Name: "Ethernet"}},
		IPAMs: []hns.IPAM{{Type: "Static", Subnets: []hns.Subnet{{
			Prefix:   netip.MustParsePrefix("10.60.4.0/24"),
			Routes:   []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.60.4.1"))},
			Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: hns.MinVNI}},
		}}}},
	})
	check(err)
	subnet := n.Subnets()[0]
	fmt.Println(n.Name, subnet.Prefix, subnet.Gateway(), subnet.VSID())
	fmt.Println("provider address", n.ProviderAddress())
	// Output:
	// flannel.4096 10.60.4.0/24 10.60.4.1 4096
	// provider address 192.0.2.10
}

func ExampleNetworkService_ByName() {
	ctx := context.Background()
	c, _, _ := exampleNode()
	n, err := c.Networks.ByName(ctx, "lake")
	check(err)
	fmt.Println(n.Type)
	_, err = c.Networks.ByName(ctx, "pond")
	fmt.Println(err)
	fmt.Println(errors.Is(err, hns.ErrNotFound))
	// Output:
	// L2Bridge
	// hns: find network "pond": not found
	// true
}

func ExampleNetworkService_ByID() {
	c, lake, _ := exampleNode()
	n, err := c.Networks.ByID(context.Background(), lake.ID)
	check(err)
	fmt.Println(n.Name)
	// Output:
	// lake
}

func ExampleNetworkService_List() {
	c, _, _ := exampleNode()
	networks, err := c.Networks.List(context.Background())
	check(err)
	for _, n := range networks {
		fmt.Println(n.Name, n.Type)
	}
	// Output:
	// lake L2Bridge
}

// Deleting a network deletes its endpoints.
func ExampleNetworkService_Delete() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	_, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: "pod", Network: lake.ID})
	check(err)
	fmt.Println(c.Networks.Delete(ctx, lake.ID))
	left, err := c.Endpoints.List(ctx)
	check(err)
	fmt.Println(len(left), "endpoints")
	fmt.Println(errors.Is(c.Networks.Delete(ctx, lake.ID), hns.ErrNotFound))
	// Output:
	// <nil>
	// 0 endpoints
	// true
}

// The pod subnet of another node of an Overlay network comes and goes as a
// policy of the network.
func ExampleNetworkService_AddPolicies() {
	ctx := context.Background()
	c := hns.New(emulator.New(nil), nil)
	n, err := c.Networks.Create(ctx, &hns.Network{
		Name: "fjord", Type: hns.Overlay,
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{
			Prefix:   netip.MustParsePrefix("10.60.4.0/24"),
			Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 4096}},
		}}}},
	})
	check(err)
	mac, err := hns.ParseMAC("02-00-5E-10-00-07")
	check(err)
	route := hns.RemoteSubnetRoute{
		DestinationPrefix:    netip.MustParsePrefix("10.60.7.0/24"),
		IsolationID:          4096,
		ProviderAddress:      netip.MustParseAddr("192.0.2.7"),
		DistributedRouterMAC: mac,
	}
	check(c.Networks.AddPolicies(ctx, n.ID, route))
	n, err = c.Networks.ByID(ctx, n.ID)
	check(err)
	for _, r := range hns.PoliciesOf[hns.RemoteSubnetRoute](n.Policies) {
		fmt.Println(r.DestinationPrefix, "is at", r.ProviderAddress)
	}
	// Output:
	// 10.60.7.0/24 is at 192.0.2.7
}

func ExampleNetworkService_RemovePolicies() {
	ctx := context.Background()
	c := hns.New(emulator.New(nil), nil)
	n, err := c.Networks.Create(ctx, &hns.Network{
		Name: "fjord", Type: hns.Overlay, Policies: []hns.NetworkPolicy{hns.HostRoute{}},
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{
			Prefix:   netip.MustParsePrefix("10.60.4.0/24"),
			Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 4096}},
		}}}},
	})
	check(err)
	fmt.Println(c.Networks.RemovePolicies(ctx, n.ID, hns.HostRoute{}))
	n, err = c.Networks.ByID(ctx, n.ID)
	check(err)
	fmt.Println(hns.HasPolicy(n.Policies, "HostRoute"))
	// Output:
	// <nil>
	// false
}

// The address may appear some time after the create; until then it is none.
func ExampleNetworkService_ManagementIP() {
	c, lake, _ := exampleNode()
	ip, err := c.Networks.ManagementIP(context.Background(), lake.ID)
	fmt.Println(ip, err)
	// Output:
	// 192.0.2.10 <nil>
}

func ExampleEndpointService_Create() {
	c, lake, _ := exampleNode()
	ep, err := c.Endpoints.Create(context.Background(), &hns.Endpoint{
		Name:      "sbx-01_lake",
		Network:   lake.ID,
		IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr("10.50.3.7")}},
		DNS:       hns.DNS{ServerList: []string{"10.96.0.10"}, Search: []string{"svc.cluster.local"}},
	})
	check(err)
	address := ep.IPConfigs[0]
	fmt.Println(address.Prefix(), "via", ep.Gateway(address.Address), "state", ep.State)
	// Output:
	// 10.50.3.7/24 via 10.50.3.1 state Created
}

func ExampleEndpointService_ByID() {
	c, _, _ := exampleNode()
	_, err := c.Endpoints.ByID(context.Background(), hns.NewID())
	var e *hns.Error
	if errors.As(err, &e) {
		fmt.Println(e.Op, e.Code, errors.Is(err, hns.ErrNotFound))
	}
	// Output:
	// get endpoint HCN_E_ENDPOINT_NOT_FOUND (0x803b0002) true
}

// Endpoint names are not unique.
func ExampleEndpointService_ByName() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	for range 2 {
		_, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: "Ethernet", Network: lake.ID})
		check(err)
	}
	_, err := c.Endpoints.ByName(ctx, "Ethernet")
	fmt.Println(errors.Is(err, hns.ErrAmbiguous))
	// Output:
	// true
}

func ExampleEndpointService_Named() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	for range 2 {
		_, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: "Ethernet", Network: lake.ID})
		check(err)
	}
	found, err := c.Endpoints.Named(ctx, "Ethernet")
	check(err)
	none, err := c.Endpoints.Named(ctx, "other")
	check(err)
	fmt.Println(len(found), len(none))
	// Output:
	// 2 0
}

func ExampleEndpointService_OfNetwork() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	_, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: "sbx-01_lake", Network: lake.ID})
	check(err)
	on, err := c.Endpoints.OfNetwork(ctx, lake.ID)
	check(err)
	for _, e := range on {
		fmt.Println(e.Name)
	}
	// Output:
	// sbx-01_lake
}

func ExampleEndpointService_List() {
	c, _, _ := exampleNode()
	all, err := c.Endpoints.List(context.Background())
	fmt.Println(len(all), err)
	// Output:
	// 0 <nil>
}

func ExampleEndpointService_Delete() {
	ctx := context.Background()
	c, lake, namespace := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake.ID})
	check(err)
	check(c.Namespaces.AddEndpoint(ctx, namespace, ep.ID))
	fmt.Println(c.Endpoints.Delete(ctx, ep.ID)) // HNS detaches it first
	fmt.Println(errors.Is(c.Endpoints.Delete(ctx, ep.ID), hns.ErrNotFound))
	// Output:
	// <nil>
	// true
}

// A policy that needs the address HNS chose is added afterwards.
func ExampleEndpointService_AddPolicies() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake.ID})
	check(err)
	check(c.Endpoints.AddPolicies(ctx, ep.ID, hns.OutBoundNAT{Destinations: []string{ep.Addresses()[0].String()}}))
	ep, err = c.Endpoints.ByID(ctx, ep.ID)
	check(err)
	nat := hns.PoliciesOf[hns.OutBoundNAT](ep.Policies)[0]
	fmt.Println(nat.Destinations[0] == ep.Addresses()[0].String())
	// Output:
	// true
}

// The gateway of an L2Bridge network's pods is an endpoint of the node itself.
func ExampleEndpointService_AttachHost() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{
		Name:      "lake_ep",
		Network:   lake.ID,
		IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr("10.50.3.2")}},
		Routes:    []hns.Route{hns.DefaultRoute(netip.IPv4Unspecified())}, // it has no gateway itself
	})
	check(err)
	for range 2 { // idempotent
		fmt.Println(c.Endpoints.AttachHost(ctx, ep.ID))
	}
	// Output:
	// <nil>
	// <nil>
}

func ExampleEndpointService_DetachHost() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: "lake_ep", Network: lake.ID})
	check(err)
	check(c.Endpoints.AttachHost(ctx, ep.ID))
	fmt.Println(c.Endpoints.DetachHost(ctx, ep.ID))
	fmt.Println(c.Endpoints.DetachHost(ctx, ep.ID)) // not attached any more
	// Output:
	// <nil>
	// <nil>
}

func ExampleEndpointService_State() {
	ctx := context.Background()
	c, lake, namespace := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake.ID})
	check(err)
	before, err := c.Endpoints.State(ctx, ep.ID)
	check(err)
	check(c.Namespaces.AddEndpoint(ctx, namespace, ep.ID))
	after, err := c.Endpoints.State(ctx, ep.ID)
	check(err)
	fmt.Println(before, after)
	// Output:
	// Created Attached
}

func ExampleNamespaceService_Create() {
	c := hns.New(emulator.New(nil), nil)
	ns, err := c.Namespaces.Create(context.Background(), &hns.Namespace{Type: hns.NamespaceHost})
	check(err)
	fmt.Println(ns.Type, ns.Endpoints())
	// Output:
	// Host []
}

func ExampleNamespaceService_AddEndpoint() {
	ctx := context.Background()
	c, lake, namespace := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake.ID})
	check(err)
	for range 2 { // idempotent
		check(c.Namespaces.AddEndpoint(ctx, namespace, ep.ID))
	}
	other, err := c.Namespaces.Create(ctx, &hns.Namespace{})
	check(err)
	err = c.Namespaces.AddEndpoint(ctx, other.ID, ep.ID)
	fmt.Println(errors.Is(err, hns.ErrAttached))
	// Output:
	// true
}

func ExampleNamespaceService_RemoveEndpoint() {
	ctx := context.Background()
	c, lake, namespace := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake.ID})
	check(err)
	check(c.Namespaces.AddEndpoint(ctx, namespace, ep.ID))
	fmt.Println(c.Namespaces.RemoveEndpoint(ctx, namespace, ep.ID))
	fmt.Println(errors.Is(c.Namespaces.RemoveEndpoint(ctx, namespace, ep.ID), hns.ErrNotFound))
	// Output:
	// <nil>
	// true
}

func ExampleNamespaceService_ByID() {
	ctx := context.Background()
	c, lake, namespace := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake.ID})
	check(err)
	check(c.Namespaces.AddEndpoint(ctx, namespace, ep.ID))
	ns, err := c.Namespaces.ByID(ctx, namespace)
	check(err)
	fmt.Println(ns.Endpoints()[0] == ep.ID)
	// Output:
	// true
}

func ExampleNamespaceService_List() {
	c, _, _ := exampleNode()
	all, err := c.Namespaces.List(context.Background())
	fmt.Println(len(all), err)
	// Output:
	// 1 <nil>
}

// The endpoints of a namespace outlive it.
func ExampleNamespaceService_Delete() {
	ctx := context.Background()
	c, lake, namespace := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Network: lake.ID})
	check(err)
	check(c.Namespaces.AddEndpoint(ctx, namespace, ep.ID))
	check(c.Namespaces.Delete(ctx, namespace))
	ep, err = c.Endpoints.ByID(ctx, ep.ID)
	check(err)
	fmt.Println(ep.Namespace.IsZero())
	// Output:
	// true
}
