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
