package node_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// The host's side is in memory here, with the adapters of the emulated HNS. On
// Windows hns.Open and hostnet.Open give the real ones.
func ExampleEnsure() {
	ctx := context.Background()
	service := emulator.New(nil) // a node with the adapter "Ethernet", 192.0.2.10
	client := hns.New(service, nil)
	host := hostnet.NewMemory(func() ([]hostnet.Adapter, error) {
		var out []hostnet.Adapter
		adapters, err := service.Adapters()
		for _, a := range adapters {
			out = append(out, hostnet.Adapter{Name: a.Name, Index: a.Index, Addresses: a.Addresses, Virtual: a.Virtual})
		}
		return out, err
	})
	plan, err := node.Description{
		Mode:          modes.L2Bridge,
		Name:          "cbr0",
		Subnets:       []netip.Prefix{netip.MustParsePrefix("10.244.3.0/24")},
		ClusterCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")},
	}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		state, err := node.Ensure(ctx, client, host, plan, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, step := range state.Steps {
			fmt.Println(step)
		}
		fmt.Println("the node is", state.Address, "on", state.Adapter)
	}
	// Output:
	// requirements: keep
	// adapter: keep
	// network: create
	// address: keep
	// host endpoint: create
	// forwarding: repair: IPv4 forwarding of "vEthernet (cbr0_ep)": want on, got off; IPv4 forwarding of "vEthernet (Ethernet)": want on, got off
	// the node is 192.0.2.10 on Ethernet
	// requirements: keep
	// adapter: keep
	// network: keep
	// address: keep
	// host endpoint: keep
	// forwarding: keep
	// the node is 192.0.2.10 on Ethernet
}
