package modes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

func ExampleAll() {
	for _, m := range modes.All() {
		f := m.Facts()
		fmt.Printf("%s: %s switch, gateway %s, support %s\n", m, f.VSwitch, f.Gateway, f.Support)
	}
	// Output:
	// L2Bridge: external switch, gateway host-endpoint, support stable
	// L2Tunnel: external switch, gateway subnet, support listed
	// Overlay: external switch, gateway subnet, support beta
	// Transparent: external switch, gateway subnet, support listed
	// NAT: internal switch, gateway subnet, support none
}

func ExampleParseMode() {
	m, err := modes.ParseMode("l2BRIDGE")
	fmt.Println(m, err)
	_, err = modes.ParseMode("win-bridge")
	fmt.Println(err)
	// Output:
	// L2Bridge <nil>
	// "win-bridge": not a network mode; there are L2Bridge, L2Tunnel, Overlay, Transparent, NAT
}

func ExampleModeOf() {
	m, ok := modes.ModeOf(hns.Overlay)
	fmt.Println(m, ok)
	_, ok = modes.ModeOf(hns.ICS)
	fmt.Println(ok)
	// Output:
	// Overlay true
	// false
}

func ExampleMode_NetworkType() {
	n := hns.Network{Name: "cbr0", Type: modes.L2Bridge.NetworkType()}
	fmt.Println(n.Type)
	// Output: L2Bridge
}

func ExampleMode_UnmarshalText() {
	var conf struct{ Mode modes.Mode }
	fmt.Println(json.Unmarshal([]byte(`{"mode": "overlay"}`), &conf), conf.Mode)
	// Output: <nil> Overlay
}

func ExampleMode_Facts() {
	f := modes.Overlay.Facts()
	link := 1500
	fmt.Println("MTU of pods:", link-f.MTUOverhead)
	fmt.Println("IPv6:", f.IPv6, "-", f.Families)
	// Output:
	// MTU of pods: 1450
	// IPv6: false - IPv4 only on every version of Windows
}

func ExampleGateway() {
	pod := netip.MustParsePrefix("10.50.3.70/26")
	fmt.Println(modes.Gateway(modes.GatewayHostEndpoint, pod, netip.Addr{}))
	fmt.Println(modes.Gateway(modes.GatewaySubnet, pod, netip.Addr{}))
	_, err := modes.Gateway(modes.GatewayHostEndpoint, netip.MustParsePrefix("10.50.3.9/31"), netip.Addr{})
	fmt.Println(err)
	// Output:
	// 10.50.3.66 <nil>
	// 10.50.3.65 <nil>
	// "10.50.3.9/31": a /31 has no room for a gateway by the rule host-endpoint and a pod
}

func ExampleEndpointMAC() {
	fmt.Println(modes.EndpointMAC("", netip.MustParseAddr("10.50.3.9")))
	_, err := modes.EndpointMAC("zz-zz", netip.MustParseAddr("10.50.3.9"))
	fmt.Println(err)
	// Output:
	// 0E-2A-0A-32-03-09 <nil>
	// "zz-zz": not a MAC prefix such as 0E-2A
}

func ExampleReserved() {
	for _, r := range modes.Reserved(modes.L2Bridge, netip.MustParsePrefix("10.50.3.0/24"), modes.GatewayDefault, netip.Addr{}) {
		fmt.Println(r.Addr, r.Why)
	}
	// Output:
	// 10.50.3.0 network address
	// 10.50.3.1 gateway of the HNS subnet
	// 10.50.3.2 endpoint of the node, the pods' gateway
	// 10.50.3.255 broadcast address
}

func ExampleExceptions() {
	cluster := prefixes("10.50.0.0/16", "10.70.0.0/16")
	service := prefixes("10.96.0.1/12")
	fmt.Println(modes.Exceptions(cluster, service, cluster))
	// Output: [10.50.0.0/16 10.70.0.0/16 10.96.0.0/12]
}

func ExampleNATIntent_Warnings() {
	nat := modes.NATIntent{Exceptions: prefixes("10.50.0.0/16", "0.0.0.0/0")}
	for _, w := range nat.Warnings(netip.MustParsePrefix("192.0.2.0/24")) {
		fmt.Println(w)
	}
	// Output: Exceptions[1]: "0.0.0.0/0": holds every address, so nothing is translated
}

func ExampleLoopbackDSR() {
	for _, p := range modes.LoopbackDSR(netip.MustParseAddr("10.50.3.7")) {
		fmt.Println(p.PolicyType(), p.(hns.OutBoundNAT).Destinations)
	}
	// Output: OutBoundNAT [10.50.3.7]
}

func ExampleHostEndpointName() {
	fmt.Println(modes.HostEndpointName("cbr0"))
	// Output: cbr0_ep
}

func ExamplePlanNetwork() {
	plan, err := modes.PlanNetwork(modes.NetworkIntent{
		Mode: modes.Overlay, Name: "flannel.4096", Subnets: prefixes("10.60.4.0/24"), Adapter: "Ethernet",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := plan.Network.Subnets()[0]
	fmt.Println(plan.Network.Type, s.Prefix, "gateway", s.Gateway(), "VNI", s.VSID())
	for _, p := range plan.AddPolicies {
		fmt.Println("then add", p.PolicyType())
	}
	// Output:
	// Overlay 10.60.4.0/24 gateway 10.60.4.1 VNI 4096
	// then add HostRoute
}

func ExamplePlanNetwork_errors() {
	_, err := modes.PlanNetwork(modes.NetworkIntent{
		Mode: modes.Overlay, Name: "fjord", Subnets: prefixes("10.60.4.0/24", "fd00:60::/64"), VNI: 1,
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, hns.ErrUnsupported), errors.Is(err, hns.ErrInvalid))
	// Output:
	// modes: plan network "fjord": Subnets[1]: "fd00:60::/64": mode Overlay: carries IPv4 only; VNI: "1": HNS takes a VNI of 4096 to 16777214
	// true true
}

// exampleNetwork is what a client would have read from HNS.
func exampleNetwork() *hns.Network {
	return &hns.Network{
		ID: hns.ID{0x5d, 0x0b, 15: 1}, Name: "cbr0", Type: hns.L2Bridge,
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{
			Prefix: netip.MustParsePrefix("10.50.3.0/24"),
			Routes: []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.50.3.1"))},
		}}}},
	}
}

func ExamplePlanHostEndpoint() {
	host, err := modes.PlanHostEndpoint(exampleNetwork())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(host.Name, host.Addresses())
	// Output: cbr0_ep [10.50.3.2]
}

func ExamplePlanPodEndpoint() {
	pod, err := modes.PlanPodEndpoint(modes.PodIntent{
		Name:        "3f2a_cbr0",
		Network:     exampleNetwork(),
		Addresses:   prefixes("10.50.3.7/24"),
		NAT:         &modes.NATIntent{Exceptions: prefixes("10.50.0.0/16", "10.96.0.0/12")},
		LoopbackDSR: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	doc, err := pod.Encode()
	fmt.Println(string(doc), err)
	// Output:
	// {"Name":"3f2a_cbr0","HostComputeNetwork":"5d0b0000-0000-0000-0000-000000000001","Policies":[{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.50.0.0/16","10.96.0.0/12"]}},{"Type":"OutBoundNAT","Settings":{"Destinations":["10.50.3.7"]}}],"IpConfigurations":[{"IpAddress":"10.50.3.7","PrefixLength":24}],"Routes":[{"NextHop":"10.50.3.2","DestinationPrefix":"0.0.0.0/0"}],"SchemaVersion":{"Major":2,"Minor":0}} <nil>
}

func ExamplePlanPodEndpoint_reserved() {
	_, err := modes.PlanPodEndpoint(modes.PodIntent{Name: "3f2a_cbr0", Network: exampleNetwork(), Addresses: prefixes("10.50.3.2/24")})
	fmt.Println(err)
	// Output: modes: plan pod endpoint "3f2a_cbr0": Addresses[0]: "10.50.3.2/24": reserved in 10.50.3.0/24: endpoint of the node, the pods' gateway
}

func ExampleNetworkPlan_Requirements() {
	plan, err := modes.PlanNetwork(modes.NetworkIntent{
		Mode: modes.L2Bridge, Name: "cbr0", Subnets: prefixes("10.50.3.0/24", "fd00:50:3::/64"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server2019 := hns.Version{Major: 9, Minor: 5} // what client.Version or client.Require would ask HNS
	for _, r := range plan.Requirements() {
		fmt.Println(r, "-", r.Feature.In(server2019))
	}
	// Output:
	// V2Api: documents of schema 2 - true
	// IPv6DualStack for Ipams[0].Subnets[1]: an IPv6 subnet - false
}

func ExampleEndpointRequirements() {
	pod := &hns.Endpoint{Policies: modes.LoopbackDSR(netip.MustParseAddr("10.50.3.7"))}
	for _, r := range modes.EndpointRequirements(modes.L2Bridge, pod) {
		fmt.Println(r)
	}
	// Output:
	// V2Api: documents of schema 2
	// DSR for Policies[0]: the pod reaches itself through a service (loopback DSR)
}

func ExampleMode_Rule() {
	for _, m := range modes.All() {
		r := m.Rule(modes.OnEndpoint, "PortMapping")
		fmt.Printf("%s: %s (%s)\n", m, r.Verdict, r.Certainty)
	}
	r := modes.L2Bridge.Rule(modes.OnEndpoint, "PA")
	fmt.Printf("PA: %s, %s\n", r.Verdict, r.Fix)
	// Output:
	// L2Bridge: legal (seen)
	// L2Tunnel: legal (assumed)
	// Overlay: legal (tested)
	// Transparent: forbidden (documented)
	// NAT: legal (client)
	// PA: forbidden, write ProviderAddress, with its members inside Settings
}

func ExampleMode_Rules() {
	for _, r := range modes.Overlay.Rules() {
		if r.Verdict == modes.Required {
			fmt.Printf("%s of the %s: %s\n", r.Type, r.On, r.Reason)
		}
	}
	// Output:
	// VSID of the subnet: the VNI that keeps the network apart, 4096 to 16777214
	// ProviderAddress of the endpoint: peers send to the node that carries the pod
}

func ExampleCheckNetwork() {
	n := exampleNetwork()
	n.Type = hns.NAT
	n.Policies = []hns.NetworkPolicy{hns.NetAdapterName{Name: "Ethernet"}}
	for _, f := range modes.CheckNetwork(n) {
		fmt.Println(f)
	}
	// Output:
	// Policies[0]: warning: "NetAdapterName": does nothing on NAT: the switch is inside the node; there is no adapter to choose; remove it
}

func ExampleCheckEndpoint() {
	n := exampleNetwork()
	fs := modes.CheckEndpoint(n, &hns.Endpoint{
		Network:   n.ID,
		IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr("10.50.8.7"), PrefixLength: 24}},
	})
	for _, f := range fs {
		fmt.Println(f)
	}
	fmt.Println("worst:", modes.Worst(fs))
	// Output:
	// IpConfigurations[0].IpAddress: error: "10.50.8.7": lies outside the subnets of network "cbr0": 10.50.3.0/24; take an address of the node's subnet; a stale subnet.env gives others (flannel-io/flannel#556)
	// worst: error
}

func ExampleFindingsOf() {
	_, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.Overlay, Name: "fjord", Subnets: prefixes("10.60.4.0/24"), VNI: 1})
	for _, f := range modes.FindingsOf(err) {
		fmt.Println(f.Path, f.Value, f.Reason)
	}
	// Output: VNI 1 HNS takes a VNI of 4096 to 16777214
}
