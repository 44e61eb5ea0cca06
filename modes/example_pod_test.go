package modes_test

import (
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/modes"
)

func ExampleMode_MTU() {
	fmt.Println(modes.L2Bridge.MTU(1500, true))
	fmt.Println(modes.Overlay.MTU(1500, false))
	_, err := modes.Overlay.MTU(600, false)
	fmt.Println(err)
	// Output:
	// 1500 <nil>
	// 1450 <nil>
	// MTU: "600": too small for mode Overlay: pods need 576 bytes, and 50 are taken by the mode
}

func ExampleClusterDNS_ForPod() {
	cluster := modes.ClusterDNS{Servers: []netip.Addr{netip.MustParseAddr("10.96.0.10")}}
	dns, err := cluster.ForPod("web")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dns.ServerList, dns.Search)
	// Output: [10.96.0.10] [web.svc.cluster.local svc.cluster.local cluster.local]
}

func ExampleDNSQueries() {
	dns, err := modes.ClusterDNS{Servers: []netip.Addr{netip.MustParseAddr("10.96.0.10")}}.ForPod("web")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(modes.DNSQueries(dns, "api"))
	fmt.Println(modes.DNSQueries(dns, "api.db")) // Linux pods would find it
	// Output:
	// [api.web.svc.cluster.local api.svc.cluster.local api.cluster.local]
	// [api.db]
}
