package node_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/subnetenv"
)

func ExampleDescription_Plan() {
	plan, err := node.Description{
		Mode:          modes.Overlay,
		Name:          "flannel.4096",
		Subnets:       []netip.Prefix{netip.MustParsePrefix("10.244.3.0/24")},
		ClusterCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		ServiceCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")},
		NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")},
		Linux:         &node.LinuxVXLAN{VNI: 4096, Port: 4789},
		IPMasq:        true,
	}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("pods use", plan.Gateways, "with MTU", plan.MTU)
	for _, r := range plan.Reserved {
		fmt.Println("kept back:", r)
	}
	fmt.Print(string(subnetenv.Format(plan.SubnetEnv)))
	fmt.Println(strings.Join(plan.KubeProxy.Args(), " "))
	// Output:
	// pods use [10.244.3.1] with MTU 1450
	// kept back: 10.244.3.0 (network address)
	// kept back: 10.244.3.1 (gateway of the HNS subnet)
	// kept back: 10.244.3.2 (source VIP)
	// kept back: 10.244.3.255 (broadcast address)
	// FLANNEL_NETWORK=10.244.0.0/16
	// FLANNEL_SUBNET=10.244.3.1/24
	// FLANNEL_MTU=1450
	// FLANNEL_IPMASQ=true
	// --proxy-mode=kernelspace --network-name=flannel.4096 --cluster-cidr=10.244.0.0/16 --source-vip=10.244.3.2
}

// All that is wrong comes at once, each with its path.
func ExampleDescription_Plan_faults() {
	_, err := node.Description{
		Mode:          modes.Overlay,
		Name:          "flannel.1",
		Subnets:       []netip.Prefix{netip.MustParsePrefix("10.245.3.0/24")},
		ClusterCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")},
		VNI:           1,
		Linux:         &node.LinuxVXLAN{},
	}.Plan()
	for _, f := range hns.FieldErrors(err) {
		fmt.Println(f)
	}
	// Output:
	// Subnets[0]: "10.245.3.0/24": lies in none of ClusterCIDRs [10.244.0.0/16]
	// Linux.Port: "8472": differs from this node's port 4789 (flannel's default on Linux); port 4789 works on every Windows
	// VNI: "1": HNS takes a VNI of 4096 to 16777214
}

func ExampleCheckSubnetEnv() {
	env, _ := subnetenv.Parse([]byte("FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.8.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"))
	network := &hns.Network{Name: "cbr0", IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: netip.MustParsePrefix("10.244.3.0/24")}}}}}
	fmt.Println(node.CheckSubnetEnv(env, network))
	// Output:
	// node: subnet.env of network "cbr0": FLANNEL_SUBNET: "10.244.8.1/24": is not a subnet of HNS network "cbr0", which has 10.244.3.0/24
}

// The files come last: container runtimes call the node ready when the CNI
// configuration is there.
func ExamplePlan_WriteConflist() {
	dir, err := os.MkdirTemp("", "node")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	plan, err := node.Description{Mode: modes.NAT, Name: "nat", Subnets: []netip.Prefix{netip.MustParsePrefix("172.30.0.0/24")}, IPMasq: true}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	path := filepath.Join(dir, "net.d", "10-nat.conflist")
	fmt.Println(plan.WriteConflist(path))
	text, err := os.ReadFile(path)
	fmt.Println(err)
	fmt.Print(string(text))
	// There are no cluster CIDRs, so there is nothing for flannel's plugin.
	fmt.Println(plan.SubnetEnv == nil)
	// Output:
	// <nil>
	// <nil>
	// {
	//   "cniVersion": "1.0.0",
	//   "name": "nat",
	//   "plugins": [
	//     {
	//       "type": "nat",
	//       "apiVersion": 2,
	//       "capabilities": {
	//         "dns": true,
	//         "portMappings": true
	//       },
	//       "mtu": 1500,
	//       "ipam": {
	//         "type": "host-local",
	//         "ranges": [
	//           [
	//             {
	//               "subnet": "172.30.0.0/24",
	//               "gateway": "172.30.0.1"
	//             }
	//           ]
	//         ]
	//       }
	//     }
	//   ]
	// }
	// true
}

// Without subnets or cluster CIDRs there is nothing for flannel's plugin.
func ExamplePlan_WriteSubnetEnv() {
	dir, err := os.MkdirTemp("", "node")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	d := node.Description{
		Mode:          modes.L2Bridge,
		Name:          "cbr0",
		Subnets:       []netip.Prefix{netip.MustParsePrefix("10.244.3.0/24")},
		ClusterCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")},
		IPMasq:        true,
	}
	plan, err := d.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	path := filepath.Join(dir, "flannel", "subnet.env")
	fmt.Println(plan.WriteSubnetEnv(path))
	text, err := os.ReadFile(path)
	fmt.Print(string(text), err, "\n")
	// Output:
	// <nil>
	// FLANNEL_NETWORK=10.244.0.0/16
	// FLANNEL_SUBNET=10.244.3.1/24
	// FLANNEL_MTU=1500
	// FLANNEL_IPMASQ=true
	// <nil>
}

// What HNS must have can be asked before a node is chosen for it.
func ExamplePlan_Requirements() {
	plan, err := node.Description{
		Mode:          modes.Overlay,
		Name:          "flannel.4096",
		Subnets:       []netip.Prefix{netip.MustParsePrefix("10.244.3.0/24")},
		ClusterCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")},
		VXLANPort:     8472,
		DSR:           true,
	}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range plan.Requirements() {
		fmt.Println(r)
	}
	// Output:
	// V2Api: documents of schema 2
	// RemoteSubnet for Type: other nodes are reached by RemoteSubnetRoute policies
	// VxlanPort for Policies[0]: the policy VxlanPort
	// HostRoute for AddPolicies[0]: the policy HostRoute
	// DSR for DSR: direct server return
}
