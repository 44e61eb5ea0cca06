package hns_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// exampleService is an HNS of that version with two attached pods and a load
// balancer over the first of them.
func exampleService(version hns.Version) (c *hns.Client, pods []hns.ID, web *hns.LoadBalancer) {
	ctx := context.Background()
	c = hns.New(emulator.New(&emulator.Options{Version: version}), nil)
	lake, err := c.Networks.Create(ctx, &hns.Network{
		Name: "lake",
		Type: hns.L2Bridge,
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{
			Prefix: netip.MustParsePrefix("10.50.3.0/24"),
			Routes: []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.50.3.1"))},
		}}}},
	})
	check(err)
	for _, name := range []string{"sbx-01_lake", "sbx-02_lake"} {
		ns, err := c.Namespaces.Create(ctx, &hns.Namespace{})
		check(err)
		done, err := c.Attach(ctx, hns.Attachment{Name: name, Network: lake.ID, Namespace: ns.ID,
			Build: func(context.Context) (*hns.Endpoint, error) { return &hns.Endpoint{}, nil }})
		check(err)
		pods = append(pods, done.Endpoint.ID)
	}
	web, err = c.LoadBalancers.Create(ctx, &hns.LoadBalancer{
		Endpoints:    pods[:1],
		FrontendVIPs: []netip.Addr{netip.MustParseAddr("10.96.0.20")},
		PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, ExternalPort: 80, InternalPort: 8080}},
	})
	check(err)
	return c, pods, web
}

func ExampleLoadBalancerService_Create() {
	ctx := context.Background()
	c, pods, _ := exampleService(emulator.WindowsServer2022)
	lb, err := c.LoadBalancers.Create(ctx, &hns.LoadBalancer{
		Endpoints:    pods,
		FrontendVIPs: []netip.Addr{netip.MustParseAddr("10.96.0.10")},
		PortMappings: []hns.LoadBalancerPortMapping{
			{Protocol: hns.UDP, ExternalPort: 53, InternalPort: 53, Distribution: hns.DistributePerClient},
		},
		Flags: hns.LoadBalancerDSR,
	})
	check(err)
	m := lb.PortMappings[0]
	fmt.Println(lb.FrontendVIPs[0], m.Protocol, m.ExternalPort, "to", len(lb.Endpoints), "pods at", m.InternalPort)

	_, err = c.LoadBalancers.Create(ctx, &hns.LoadBalancer{PortMappings: lb.PortMappings})
	fmt.Println(err)
	// Output:
	// 10.96.0.10 UDP 53 to 2 pods at 53
	// hns: create load balancer for node (UDP 53 to 53): HostComputeEndpoints: missing; HNS refuses it without an endpoint
}

func ExampleLoadBalancerService_ByID() {
	c, _, web := exampleService(emulator.WindowsServer2022)
	lb, err := c.LoadBalancers.ByID(context.Background(), web.ID)
	check(err)
	fmt.Println(lb.FrontendVIPs)
	// Output:
	// [10.96.0.20]
}

func ExampleLoadBalancerService_List() {
	c, _, _ := exampleService(emulator.WindowsServer2022)
	all, err := c.LoadBalancers.List(context.Background())
	check(err)
	for _, lb := range all {
		fmt.Println(lb.FrontendVIPs, len(lb.Endpoints))
	}
	// Output:
	// [10.96.0.20] 1
}

// Before HNS 15.5 a load balancer cannot be changed; it goes and comes again.
func ExampleLoadBalancerService_Update() {
	ctx := context.Background()
	for _, version := range []hns.Version{{Major: 16}, emulator.WindowsServer2022} {
		c, pods, web := exampleService(version)
		web.Endpoints = pods
		err := c.LoadBalancers.Update(ctx, web)
		if errors.Is(err, hns.ErrUnsupported) {
			fmt.Println(hns.Explain(err))
			check(c.LoadBalancers.Delete(ctx, web.ID))
			_, err = c.LoadBalancers.Create(ctx, web)
		}
		check(err)
		lb, err := c.LoadBalancers.ByID(ctx, web.ID)
		check(err)
		fmt.Println("HNS", version, "has", len(lb.Endpoints), "backends")
	}
	// Output:
	// HNS 16.0 has 2 backends
	// This Windows is too old for ModifyLoadbalancer, which came with Windows Server 2025 serviced. Update Windows, or do without.
	// HNS 13.3 has 2 backends
}

func ExampleLoadBalancerService_Delete() {
	ctx := context.Background()
	c, _, web := exampleService(emulator.WindowsServer2022)
	check(c.LoadBalancers.Delete(ctx, web.ID))
	fmt.Println(errors.Is(c.LoadBalancers.Delete(ctx, web.ID), hns.ErrNotFound))
	// Output:
	// true
}

func ExampleRouteService_Create() {
	ctx := context.Background()
	c, pods, _ := exampleService(emulator.WindowsServer2022)
	o, err := c.Routes.Create(ctx, &hns.SDNRouteObject{
		Endpoints: pods,
		Routes:    []hns.SDNRoute{{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true}},
	})
	check(err)
	fmt.Println(o.Routes[0].DestinationPrefix, "for", len(o.Endpoints), "pods")

	gone := hns.NewID()
	_, err = c.Routes.Create(ctx, &hns.SDNRouteObject{Endpoints: append(pods, gone), Routes: o.Routes})
	fmt.Println(errors.Is(err, hns.ErrNotFound), hns.Explain(err))
	// Output:
	// 10.96.0.0/12 for 2 pods
	// true It names an endpoint that is not on this node. Create endpoints for pods of other nodes first, and delete what has lost all its endpoints.
}

func ExampleRouteService_Replace() {
	ctx := context.Background()
	c, pods, _ := exampleService(emulator.WindowsServer2022)
	o, err := c.Routes.Create(ctx, &hns.SDNRouteObject{
		Endpoints: pods,
		Routes:    []hns.SDNRoute{{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true}},
	})
	check(err)
	o.Endpoints = pods[1:]
	_, err = c.Routes.Replace(ctx, o)
	check(err)
	o, err = c.Routes.ByID(ctx, o.ID)
	check(err)
	fmt.Println(len(o.Endpoints))

	o.Endpoints = nil
	_, err = c.Routes.Replace(ctx, o)
	fmt.Println(errors.Is(err, hns.ErrInvalid))
	// Output:
	// 1
	// true
}

func ExampleRouteService_List() {
	ctx := context.Background()
	c, pods, _ := exampleService(emulator.WindowsServer2022)
	for _, p := range []string{"10.96.0.0/12", "192.0.2.10/32"} {
		_, err := c.Routes.Create(ctx, &hns.SDNRouteObject{Endpoints: pods, Routes: []hns.SDNRoute{{DestinationPrefix: netip.MustParsePrefix(p), NeedEncap: true}}})
		check(err)
	}
	all, err := c.Routes.List(ctx)
	check(err)
	for _, o := range all {
		fmt.Println(o.Routes[0].DestinationPrefix)
	}
	check(c.Routes.Delete(ctx, all[0].ID))
	_, err = c.Routes.ByID(ctx, all[0].ID)
	fmt.Println(errors.Is(err, hns.ErrNotFound))
	// Output:
	// 10.96.0.0/12
	// 192.0.2.10/32
	// true
}

func ExampleEndpointService_UpdatePolicies() {
	ctx := context.Background()
	c, pods, _ := exampleService(emulator.WindowsServer2022)
	check(c.Endpoints.AddPolicies(ctx, pods[0],
		hns.QOS{MaximumOutgoingBandwidthInBytes: 1 << 20},
		hns.ACL{Action: hns.ACLBlock, Direction: hns.Out, RemoteAddresses: []string{"169.254.169.254"}, Priority: 200}))
	// The ACLs are replaced, the rest stays.
	check(c.Endpoints.UpdatePolicies(ctx, pods[0],
		hns.ACL{Action: hns.ACLBlock, Direction: hns.Out, Protocols: []string{"6"}, RemoteAddresses: []string{"10.0.0.0/8"}, RemotePorts: []string{"22", "3389"}, Priority: 200},
		hns.ACL{Action: hns.ACLAllow, Direction: hns.Out, Priority: hns.MaxACLPriority}))
	e, err := c.Endpoints.ByID(ctx, pods[0])
	check(err)
	for _, p := range hns.PoliciesOf[hns.ACL](e.Policies) {
		fmt.Println(p.Action, p.RemoteAddresses, p.RemotePorts)
	}
	fmt.Println(hns.PoliciesOf[hns.QOS](e.Policies))
	// Output:
	// Block [10.0.0.0/8] [22 3389]
	// Allow [] []
	// [{1048576}]
}

func ExampleEndpointService_RemovePolicies() {
	ctx := context.Background()
	c, pods, _ := exampleService(emulator.WindowsServer2022)
	web := hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8088}
	check(c.Endpoints.AddPolicies(ctx, pods[0], web))
	check(c.Endpoints.RemovePolicies(ctx, pods[0], web))
	err := c.Endpoints.RemovePolicies(ctx, pods[0], web)
	fmt.Println(errors.Is(err, hns.ErrNotFound))
	fmt.Println(hns.Explain(err))
	// Output:
	// true
	// The object has no policy with exactly these settings. Read it and pass the policy as it stands there.
}

// A set of addresses that ACLs of the network's endpoints name by its id.
func ExampleNetworkService_UpdatePolicies() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	set := hns.SetPolicy{ID: "web", Name: "web pods", Type: hns.SetIP, Values: []string{"10.50.3.7"}}
	check(c.Networks.AddPolicies(ctx, lake.ID, set))
	set.Values = append(set.Values, "10.50.3.8")
	check(c.Networks.UpdatePolicies(ctx, lake.ID, set))
	n, err := c.Networks.ByID(ctx, lake.ID)
	check(err)
	for _, s := range hns.PoliciesOf[hns.SetPolicy](n.Policies) {
		fmt.Println(s.ID, s.Values)
	}
	// Output:
	// web [10.50.3.7 10.50.3.8]
}

func ExampleNetworkService_UpdateDNS() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	check(c.Networks.UpdateDNS(ctx, lake.ID, hns.DNS{Search: []string{"svc.cluster.local"}, ServerList: []string{"10.96.0.10"}}))
	n, err := c.Networks.ByID(ctx, lake.ID)
	check(err)
	fmt.Println(n.DNS.Search, n.DNS.ServerList)
	// Output:
	// [svc.cluster.local] [10.96.0.10]
}

func ExampleNetworkService_UpdateExtension() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	ndisCapture, err := hns.ParseID("430BDADD-BAB0-41AB-A369-94B67FA5BE0A")
	check(err)
	check(c.Networks.UpdateExtension(ctx, lake.ID, ndisCapture, true))
	err = c.Networks.UpdateExtension(ctx, lake.ID, hns.NewID(), true)
	fmt.Println(hns.Explain(err))
	// Output:
	// The virtual switch has no extension of that id. Get-VMSwitchExtension lists them.
}

func ExampleExplain() {
	ctx := context.Background()
	h := emulator.New(nil)
	c := hns.New(h, nil)
	h.Stop()
	_, err := c.Networks.List(ctx)
	fmt.Println(hns.Explain(err))
	// Output:
	// The Host Networking Service is stopped, or starts anew. See Get-Service hns, start it, and try again; the first call after a restart may fail once more. Objects are there again when it runs, so do not take them for deleted.
}

func ExampleFeatures() {
	v := emulator.WindowsServer2019
	for _, f := range hns.Features() {
		if !f.In(v) {
			fmt.Println(f.Name, f.Versions)
		}
	}
	// Output:
	// AclSupportForProtocol252 [11.0+]
	// SessionAffinity [12.0+]
	// IPv6DualStack [11.10+]
	// SetPolicy [13.0+]
	// VxlanPort [10.3+]
	// L4WfpProxy [13.2+]
	// TierAcl [14.0+]
	// NetworkACL [15.0+]
	// NestedIpSet [15.0+]
	// DisableHostPort [15.1+]
	// ModifyLoadbalancer [15.5-15.x 16.0+]
	// Accelnet [15.4+]
}

func ExampleFeatureByName() {
	f, ok := hns.FeatureByName("dsr")
	fmt.Println(f.Name, f.Versions, ok)
	// Output:
	// DSR [9.3-9.x 10.2+] true
}
