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

// twoNodes is an Overlay network on two nodes, of which node b does not know
// the pods of node a. Only HNS is described.
func twoNodes() (*flows.Cluster, error) {
	ctx := context.Background()
	c := &flows.Cluster{Physical: &flows.Physical{}}
	subnets := []netip.Prefix{netip.MustParsePrefix("10.60.1.0/24"), netip.MustParsePrefix("10.60.2.0/24")}
	nodes := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	for i, name := range []string{"a", "b"} {
		client := hns.New(emulator.New(&emulator.Options{Seed: uint64(i + 1), Adapters: []emulator.Adapter{{Name: "Ethernet", Addresses: []netip.Prefix{netip.PrefixFrom(nodes[i], 24)}}}}), nil)
		plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.Overlay, Name: "fjord", Subnets: subnets[i : i+1], Adapter: "Ethernet"})
		if err != nil {
			return nil, err
		}
		n, err := client.Networks.Create(ctx, plan.Network)
		if err != nil {
			return nil, err
		}
		if name == "a" {
			plan.AddPolicies = append(plan.AddPolicies, hns.RemoteSubnetRoute{DestinationPrefix: subnets[1], IsolationID: modes.DefaultVNI,
				ProviderAddress: nodes[1], DistributedRouterMAC: hns.MAC{0, 0x15, 0x5d, 0x73, 0xc4, 0x3d}})
		}
		if err := client.Networks.AddPolicies(ctx, n.ID, plan.AddPolicies...); err != nil {
			return nil, err
		}
		pod, err := modes.PlanPodEndpoint(modes.PodIntent{Name: "pod-" + name + "_fjord", Network: n, Addresses: []netip.Prefix{netip.PrefixFrom(subnets[i].Addr().Next().Next(), 24)}})
		if err != nil {
			return nil, err
		}
		if pod, err = client.Endpoints.Create(ctx, pod); err != nil {
			return nil, err
		}
		ns, err := client.Namespaces.Create(ctx, &hns.Namespace{})
		if err != nil {
			return nil, err
		}
		if err := client.Namespaces.AddEndpoint(ctx, ns.ID, pod.ID); err != nil {
			return nil, err
		}
		state, err := flows.ReadState(ctx, client)
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, flows.Node{Name: name, Addresses: nodes[i : i+1], Windows: &flows.Windows{HNS: state}})
	}
	return c, nil
}

func ExampleWorld_Trace() {
	c, err := twoNodes()
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := flows.New(*c)
	if err != nil {
		fmt.Println(err)
		return
	}
	t := w.Trace(flows.Packet{From: flows.Place{Pod: "pod-a"}, To: flows.Target{Place: flows.Place{Pod: "pod-b"}}})
	fmt.Println("works:", t.Works())
	fmt.Println("reason:", t.Diagnosis.Reason, "for the answer:", t.Diagnosis.Reply)
	fmt.Println("missing:", t.Diagnosis.Object)
	fmt.Println("fix:", t.Diagnosis.Fix)
	// Output:
	// works: false
	// reason: no-remote-subnet-route for the answer: true
	// missing: RemoteSubnetRoute 10.60.1.0/24 of network "fjord" on b
	// fix: add the policy RemoteSubnetRoute for 10.60.1.0/24 to a (192.0.2.1), with VNI 4096 and that node's distributed router MAC
}

func ExampleTrace_Text() {
	c, err := twoNodes()
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := flows.New(*c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(w.Trace(flows.Packet{From: flows.Place{Pod: "pod-b"}, To: flows.Target{Address: netip.MustParseAddr("10.60.1.2")}}).Text())
	// Output:
	// TCP from pod pod-b to 10.60.1.2, port 80: dropped
	//   - endpoint "pod-b_fjord" on b: sends 10.60.2.2:50000 > 10.60.1.2:80
	//   - endpoint "pod-b_fjord" default route on b: the pod's gateway is the switch itself
	//   x no-remote-subnet-route: network "fjord" has no RemoteSubnetRoute for 10.60.1.2, and no remote endpoint
	//     missing: RemoteSubnetRoute 10.60.1.0/24 of network "fjord" on b
	//     fix: add the policy RemoteSubnetRoute for 10.60.1.0/24 to a (192.0.2.1), with VNI 4096 and that node's distributed router MAC
}

func ExampleTrace_Mermaid() {
	c, err := twoNodes()
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := flows.New(*c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(w.Trace(flows.Packet{From: flows.Place{Pod: "pod-b"}, To: flows.Target{Address: netip.MustParseAddr("10.60.1.2")}}).Mermaid())
	// Output:
	// sequenceDiagram
	//     participant p0 as endpoint pod-b_fjord on b
	//     participant p1 as node b
	//     Note over p0: sends 10.60.2.2:50000 > 10.60.1.2:80
	//     p0->>p1: 10.60.2.2:50000 > 10.60.1.2:80
	//     Note over p1: endpoint pod-b_fjord the pod's gateway is the switch itself
	//     p1-xp1: RemoteSubnetRoute network 'fjord' has no RemoteSubnetRoute for 10.60.1.2, and no remote endpoint
}

func ExampleWorld_Nine() {
	c, err := twoNodes()
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := flows.New(*c)
	if err != nil {
		fmt.Println(err)
		return
	}
	table := w.Nine()
	fmt.Print(table.Text())
	cell := table[0].Cell(flows.PodToPodIP)
	fmt.Println(cell.Verdict, cell.Certainty, "for", cell.Why().Name)
	// Output:
	// FLOW                           Overlay
	// 1 pod to pod by IP             no
	// 2 pod to pod by name           n/a
	// 3 pod to service by IP         n/a
	// 4 pod to service by bare name  n/a
	// 5 pod to service by full name  n/a
	// 6 pod to outside by IP         n/a
	// 7 pod to outside by name       n/a
	// 8 node to pod                  no
	// 9 pod to node                  no
	// no practice for TCP, other Windows node
}

func ExampleSnapshotNode() {
	s, err := hns.ParseSnapshot([]byte(`{
		"Version": {"Major": 13, "Minor": 3},
		"Networks": [{"ID": "11111111-2222-4333-8444-555555555501", "Name": "fjord", "Type": "Overlay",
			"Policies": [{"Type": "ProviderAddress", "Settings": {"ProviderAddress": "192.0.2.7"}}]}],
		"Endpoints": [], "Namespaces": []}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	n := flows.SnapshotNode("win-7", s)
	fmt.Println(n.Name, n.Addresses, len(n.Windows.HNS.Networks))
	// Output: win-7 [192.0.2.7] 1
}
