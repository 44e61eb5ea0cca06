package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
	"github.com/hnskit/hnskit/modes/node/hostnet/emuhost"
)

// The host's side is in memory here, with the adapters of the emulated HNS. On
// Windows hns.Open and hostnet.Open give the real ones.
func ExampleEnsure() {
	ctx := context.Background()
	service := emulator.New(nil) // a node with the adapter "Ethernet", 192.0.2.10
	client := hns.New(service, nil)
	host := hostnet.NewMemory(emuhost.Adapters(service))
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

// A dry run tells what would be done: the node has got another pod subnet.
func ExampleEnsure_dryRun() {
	ctx := context.Background()
	client := hns.New(emulator.New(nil), nil)
	host := hostnet.NewMemory(hostnet.Fixed(hostnet.Adapter{
		Name: "Ethernet", Index: 1, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")},
	}))
	counters := &node.Counters{}
	d := node.Description{
		Mode:          modes.Overlay,
		Name:          "flannel.4096",
		ClusterCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")},
	}
	for _, run := range []struct {
		subnet string
		opts   node.EnsureOptions
	}{
		{"10.244.3.0/24", node.EnsureOptions{Counters: counters}},
		{"10.244.8.0/24", node.EnsureOptions{Counters: counters, DryRun: true}},
		{"10.244.8.0/24", node.EnsureOptions{Counters: counters, DryRun: true, Drift: hns.DriftRecreate}},
	} {
		d.Subnets = []netip.Prefix{netip.MustParsePrefix(run.subnet)}
		plan, err := d.Plan()
		if err != nil {
			fmt.Println(err)
			return
		}
		state, err := node.Ensure(ctx, client, host, plan, &run.opts)
		fmt.Println(errors.Is(err, hns.ErrDrift), state.Changed())
		for _, s := range state.Steps {
			if s.Action != hns.ActionKeep {
				fmt.Println(s)
			}
		}
	}
	fmt.Println(counters.Snapshot())
	// Output:
	// false true
	// network: create
	// true false
	// network: refuse: Ipams[0].Subnets[0].IpAddressPrefix: want 10.244.8.0/24, got 10.244.3.0/24
	// false true
	// network: recreate: Ipams[0].Subnets[0].IpAddressPrefix: want 10.244.8.0/24, got 10.244.3.0/24
	// map[ensure_changes:1 ensure_failures:1 ensures:3]
}
