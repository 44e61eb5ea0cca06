package node_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

func ExampleRemotes_Reconcile() {
	ctx := context.Background()
	client := hns.New(emulator.New(nil), nil)
	host := hostnet.NewMemory(hostnet.Fixed(hostnet.Adapter{
		Name: "Ethernet", Index: 1, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")},
	}))
	plan, err := node.Description{
		Mode:          modes.Overlay,
		Name:          "flannel.4096",
		Subnets:       []netip.Prefix{netip.MustParsePrefix("10.244.3.0/24")},
		ClusterCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")},
	}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := node.Ensure(ctx, client, host, plan, nil); err != nil {
		fmt.Println(err)
		return
	}
	remotes, err := node.NewRemotes(client, host, plan, &node.RemotesOptions{Logger: printer()})
	if err != nil {
		fmt.Println(err)
		return
	}
	linux := node.Remote{
		Name:      "linux-1",
		Subnets:   []netip.Prefix{netip.MustParsePrefix("10.244.1.0/24")},
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.21")},
		MAC:       hns.MAC{0x4e, 0x0a, 0x12, 0x34, 0x56, 0x78},
		VNI:       4096, Port: 4789,
	}
	starting := node.Remote{ // has not told its VTEP's MAC address yet
		Name:      "linux-2",
		Subnets:   []netip.Prefix{netip.MustParsePrefix("10.244.2.0/24")},
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.22")},
	}
	for _, nodes := range [][]node.Remote{{linux, starting}, {linux, starting}, {starting}} {
		report, err := remotes.Reconcile(ctx, nodes)
		fmt.Println(report, err)
	}
	// Output:
	// level=WARN msg="node skipped" network=flannel.4096 node=linux-2 fault=no_mac error="MAC: missing"
	// level=INFO msg="route added" network=flannel.4096 subnet=10.244.1.0/24 node=linux-1 address=192.0.2.21 mac=4E-0A-12-34-56-78
	// 1 added, 0 changed, 0 removed, 0 kept, 0 held, 0 failed, 1 nodes skipped <nil>
	// 0 added, 0 changed, 0 removed, 1 kept, 0 held, 0 failed, 1 nodes skipped <nil>
	// level=INFO msg="route removed" network=flannel.4096 subnet=10.244.1.0/24
	// 0 added, 0 changed, 1 removed, 0 kept, 0 held, 0 failed, 1 nodes skipped <nil>
}

// printer logs to standard output without the time.
func printer() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}
