package hostnet_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/modes/node/hostnet"
)

func Example() {
	ctx := context.Background()
	host := hostnet.NewMemory(hostnet.Fixed(hostnet.Adapter{
		Name: "Ethernet", Index: 7, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")},
	}))
	r := hostnet.Route{Destination: netip.MustParsePrefix("10.244.2.0/24"), NextHop: netip.MustParseAddr("192.0.2.12"), Interface: 7}
	fmt.Println(host.AddRoute(ctx, r))
	err := host.AddRoute(ctx, r)
	fmt.Println(errors.Is(err, hostnet.ErrExists), err)
	// Output:
	// <nil>
	// true hostnet: add route 10.244.2.0/24 via 192.0.2.12 on interface 7: already exists
}

func ExampleCompare() {
	dhcp := netip.MustParsePrefix("192.0.2.10/24")
	before := hostnet.Snapshot{
		Adapters: []hostnet.Adapter{{Name: "Ethernet", Index: 7, Addresses: []netip.Prefix{dhcp}}},
		Routes:   []hostnet.Route{{Destination: netip.MustParsePrefix("10.9.0.0/16"), NextHop: netip.MustParseAddr("192.0.2.1"), Interface: 7, Static: true}},
	}
	after := hostnet.Snapshot{Adapters: []hostnet.Adapter{
		{Name: "Ethernet", Index: 7}, {Name: "vEthernet (Ethernet)", Index: 12, Addresses: []netip.Prefix{dhcp}, Virtual: true},
	}}
	for _, c := range hostnet.Compare(before, after) {
		fmt.Println(c)
	}
	// Output:
	// address moved: 192.0.2.10 from "Ethernet" to "vEthernet (Ethernet)"
	// route lost: 10.9.0.0/16 via 192.0.2.1 from "Ethernet" to "vEthernet (Ethernet)"
}

// The first network on an adapter moves its address to a vNIC, and a route stays
// behind.
func ExampleRestore() {
	ctx := context.Background()
	dhcp := netip.MustParsePrefix("192.0.2.10/24")
	adapters := []hostnet.Adapter{{Name: "Ethernet", Index: 7, Addresses: []netip.Prefix{dhcp}}}
	host := hostnet.NewMemory(func() ([]hostnet.Adapter, error) { return adapters, nil })
	metadata := hostnet.Route{Destination: netip.MustParsePrefix("169.254.169.254/32"), NextHop: netip.MustParseAddr("192.0.2.1"), Interface: 7}
	if err := host.AddRoute(ctx, metadata); err != nil {
		fmt.Println(err)
		return
	}
	before, err := hostnet.Take(ctx, host)
	if err != nil {
		fmt.Println(err)
		return
	}
	adapters = []hostnet.Adapter{{Name: "Ethernet", Index: 7}, {Name: "vEthernet (Ethernet)", Index: 12, Addresses: []netip.Prefix{dhcp}, Virtual: true}}
	after, err := hostnet.Take(ctx, host)
	if err != nil {
		fmt.Println(err)
		return
	}
	changes := hostnet.Compare(before, after)
	for _, c := range changes {
		fmt.Println(c)
	}
	fmt.Println(hostnet.Restore(ctx, host, changes))
	routes, err := host.Routes(ctx)
	fmt.Println(routes, err)
	// Output:
	// address moved: 192.0.2.10 from "Ethernet" to "vEthernet (Ethernet)"
	// route misplaced: 169.254.169.254/32 via 192.0.2.1 from "Ethernet" to "vEthernet (Ethernet)"
	// <nil>
	// [169.254.169.254/32 via 192.0.2.1 on interface 7 169.254.169.254/32 via 192.0.2.1 on interface 12] <nil>
}
