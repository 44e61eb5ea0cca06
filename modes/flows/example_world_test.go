package flows_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// l2bridge makes what a Windows node has: an L2Bridge network with the node's own
// endpoint, a pod, and a load balancer for the services with a remote endpoint
// for a pod of another node. On a node all of it is there already.
func l2bridge(ctx context.Context, c *hns.Client) error {
	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: []netip.Prefix{netip.MustParsePrefix("10.50.1.0/24")}, Adapter: "Ethernet"})
	if err != nil {
		return err
	}
	n, err := c.Networks.Create(ctx, plan.Network)
	if err != nil {
		return err
	}
	host, err := modes.PlanHostEndpoint(n)
	if err != nil {
		return err
	}
	if host, err = c.Endpoints.Create(ctx, host); err != nil {
		return err
	}
	if err := c.Endpoints.AttachHost(ctx, host.ID); err != nil {
		return err
	}
	pod, err := modes.PlanPodEndpoint(modes.PodIntent{Name: "shop", Network: n, Addresses: []netip.Prefix{netip.MustParsePrefix("10.50.1.10/24")}})
	if err != nil {
		return err
	}
	pod.DNS = hns.DNS{ServerList: []string{"10.96.0.10"}, Search: []string{"default.svc.cluster.local"}}
	pod.Policies = append(pod.Policies,
		hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16", "10.96.0.0/12", "192.0.2.11/32"}},
		hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true},
		hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("192.0.2.11/32"), NeedEncap: true})
	if pod, err = c.Endpoints.Create(ctx, pod); err != nil {
		return err
	}
	ns, err := c.Namespaces.Create(ctx, &hns.Namespace{})
	if err != nil {
		return err
	}
	if err := c.Namespaces.AddEndpoint(ctx, ns.ID, pod.ID); err != nil {
		return err
	}
	for i, backend := range []string{"10.50.3.10", "10.50.3.11"} { // of the services "web" and "kube-dns"
		e, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: "Ethernet", Network: n.ID, Flags: hns.EndpointRemote, MAC: hns.MAC{2, 0x11, 10, 50, 3, byte(10 + i)},
			IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr(backend)}}})
		if err != nil {
			return err
		}
		port := []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, ExternalPort: 80, InternalPort: 8080}, {Protocol: hns.UDP, ExternalPort: 53, InternalPort: 53}}[i]
		vip := netip.MustParseAddr([]string{"10.96.0.20", "10.96.0.10"}[i])
		if _, err := c.LoadBalancers.Create(ctx, &hns.LoadBalancer{Endpoints: []hns.ID{e.ID}, FrontendVIPs: []netip.Addr{vip}, PortMappings: []hns.LoadBalancerPortMapping{port}}); err != nil {
			return err
		}
	}
	return nil
}

// A whole world: a Windows node on L2Bridge and a Linux node (flannel host-gw)
// on one link, services, DNS, a router, and a host outside.
func ExampleNew() {
	ctx := context.Background()
	addr, prefix := netip.MustParseAddr, netip.MustParsePrefix
	// On a Windows node: client, err := hns.Open(nil).
	client := hns.New(emulator.New(&emulator.Options{Adapters: []emulator.Adapter{{Name: "Ethernet", Addresses: []netip.Prefix{prefix("192.0.2.11/24")}}}}), nil)
	if err := l2bridge(ctx, client); err != nil {
		fmt.Println(err)
		return
	}
	// Or, from a file: hns.ParseSnapshot, and flows.StateOf.
	state, err := flows.ReadState(ctx, client)
	if err != nil {
		fmt.Println(err)
		return
	}
	router := flows.Route{Destination: prefix("0.0.0.0/0"), NextHop: addr("192.0.2.1")}
	dns := hns.DNS{ServerList: []string{"10.96.0.10"}, Search: []string{"default.svc.cluster.local", "svc.cluster.local", "cluster.local"}}
	w, err := flows.New(flows.Cluster{
		Nodes: []flows.Node{
			{Name: "win-1", Addresses: []netip.Addr{addr("192.0.2.11")}, Windows: &flows.Windows{
				HNS: state,
				Host: &flows.IPStack{
					Adapters: []flows.Adapter{
						{Name: "vEthernet (Ethernet)", Addresses: []netip.Prefix{prefix("192.0.2.11/24")}, Forwarding: true},
						{Name: "vEthernet (lake_ep)", Addresses: []netip.Prefix{prefix("10.50.1.2/24")}, Forwarding: true},
					},
					Routes: []flows.Route{router, {Destination: prefix("10.50.3.0/24"), NextHop: addr("192.0.2.21")}},
				},
			}},
			{Name: "lin-1", Addresses: []netip.Addr{addr("192.0.2.21")}, PodSubnets: []netip.Prefix{prefix("10.50.3.0/24")}, Linux: &flows.Linux{
				IPStack: flows.IPStack{
					Adapters: []flows.Adapter{{Name: "eth0", Addresses: []netip.Prefix{prefix("192.0.2.21/24")}}},
					Routes:   []flows.Route{router, {Destination: prefix("10.50.1.0/24"), NextHop: addr("192.0.2.11")}},
				},
				Forwarding: true, Masquerade: true, MasqueradeExcept: []netip.Prefix{prefix("10.50.0.0/16")}, ServiceProxy: true,
				Pods: []flows.LinuxPod{{Name: "web", Address: addr("10.50.3.10"), DNS: dns}, {Name: "coredns", Address: addr("10.50.3.11"), DNS: dns}},
			}},
		},
		Physical: &flows.Physical{Routers: []netip.Addr{addr("192.0.2.1")}},
		Services: []flows.Service{
			{Name: "web", FQDN: "web.default.svc.cluster.local", Addresses: []netip.Addr{addr("10.96.0.20")},
				Ports: []flows.ServicePort{{Protocol: hns.TCP, Port: 80, Target: 8080}}, Backends: []netip.Addr{addr("10.50.3.10")}},
			{Name: "kube-dns", FQDN: "kube-dns.kube-system.svc.cluster.local", Addresses: []netip.Addr{addr("10.96.0.10")},
				Ports: []flows.ServicePort{{Protocol: hns.UDP, Port: 53, Target: 53}}, Backends: []netip.Addr{addr("10.50.3.11")}},
		},
		Resolvers: []flows.Resolver{
			{Name: "kube-dns", Address: addr("10.96.0.10"), Forward: addr("203.0.113.53"), Records: map[string][]netip.Addr{
				"web.default.svc.cluster.local": {addr("10.96.0.20")}, "web-0.web.default.svc.cluster.local": {addr("10.50.3.10")}}},
			{Name: "upstream", Address: addr("203.0.113.53"), Records: map[string][]netip.Addr{"www.example.com": {addr("203.0.113.80")}}},
		},
		Outside: []flows.Host{{Name: "www.example.com", Address: addr("203.0.113.80")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(w.Nine().Text())
	fmt.Println(w.Trace(flows.Packet{From: flows.Place{Pod: "shop"}, To: flows.Target{Name: "web.default"}}).Diagnosis)
	// Output:
	// FLOW                           L2Bridge
	// 1 pod to pod by IP             yes
	// 2 pod to pod by name           yes
	// 3 pod to service by IP         yes
	// 4 pod to service by bare name  yes
	// 5 pod to service by full name  yes
	// 6 pod to outside by IP         yes
	// 7 pod to outside by name       yes
	// 8 node to pod                  yes
	// 9 pod to node                  yes
	// dotted-name: Windows takes "web.default" for a whole name, since it has a dot, and adds no suffix; fix: use the whole name "web.default.svc.cluster.local", or the bare one within its own namespace
}
