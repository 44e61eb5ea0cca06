package emulator_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// A request that removes many remote subnets reads each policy of the network
// once, and not once for each that is removed.
func TestRemovingManyRemoteSubnets(t *testing.T) {
	const all, removed = 1000, 200
	ctx := context.Background()
	c := hns.New(emulator.New(nil), nil)
	n, err := c.Networks.Create(ctx, &hns.Network{Name: "lake", Type: hns.Overlay, IPAMs: []hns.IPAM{{Type: "Static", Subnets: []hns.Subnet{{
		Prefix: netip.MustParsePrefix("10.0.0.0/24"), Policies: []hns.SubnetPolicy{hns.VSID{IsolationID: 4096}},
		Routes: []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.0.0.1"))},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	var ways []hns.NetworkPolicy
	for i := range all {
		ways = append(ways, hns.RemoteSubnetRoute{
			DestinationPrefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(1 + i/250), byte(i % 250), 0}), 24), IsolationID: 4096,
			ProviderAddress:      netip.AddrFrom4([4]byte{172, 16, byte(i / 250), byte(1 + i%250)}),
			DistributedRouterMAC: hns.MAC{2, 0, 0, 0, byte(i / 250), byte(i % 250)},
		})
	}
	if err := c.Networks.AddPolicies(ctx, n.ID, ways...); err != nil {
		t.Fatal(err)
	}
	last := ways[all-removed:]
	allocs := testing.AllocsPerRun(1, func() {
		if err := c.Networks.RemovePolicies(ctx, n.ID, last...); err != nil {
			t.Error(err)
		}
		if err := c.Networks.AddPolicies(ctx, n.ID, last...); err != nil {
			t.Error(err)
		}
	})
	if most := float64(all * 1000); allocs > most {
		t.Errorf("%.0f allocations, at most %.0f expected", allocs, most)
	}
	t.Logf("%.0f allocations", allocs)
}
