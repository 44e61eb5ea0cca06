package node_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// TestFlannelPluginAgrees gives subnet.env to the flannel meta-plugin, which
// some nodes keep instead of the planned configuration: what it makes of it has
// the same MTU, network, pod subnet and exceptions.
func TestFlannelPluginAgrees(t *testing.T) {
	for name, typ := range map[string]string{"l2bridge": "win-bridge", "overlay": "win-overlay"} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, descriptions()[name])
			cfg, err := delegate.Parse([]byte(`{"name": "` + p.Description.Name + `", "type": "flannel", "delegate": {"type": "` + typ + `"}}`))
			if err != nil {
				t.Fatal(err)
			}
			text, err := delegate.Build(cfg, p.SubnetEnv, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Name, Type     string
				MTU            int
				IPMasq         bool
				IPMasqNetworks []netip.Prefix
				IPAM           struct {
					Subnet     netip.Prefix
					RangeStart netip.Addr
				}
			}
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			var conf conflistOf
			if err := json.Unmarshal(p.Conflist, &conf); err != nil {
				t.Fatal(err)
			}
			if got.Name != conf.Name || got.Type != conf.Plugins[0].Type || got.MTU != p.MTU || !got.IPMasq || got.IPAM.Subnet != p.Description.Subnets[0] {
				t.Errorf("%s", text)
			}
			for _, n := range got.IPMasqNetworks {
				if !slices.Contains(p.NATExceptions, n) {
					t.Errorf("%s is no exception of the plan: %v", n, p.NATExceptions)
				}
			}
			if p.Description.Mode == modes.L2Bridge && got.IPAM.RangeStart != p.Gateways[0].Next() {
				t.Errorf("first pod %s, after the gateway %s", got.IPAM.RangeStart, p.Gateways[0])
			}
			if !hns.HasPolicy(p.Policies, "OutBoundNAT") {
				t.Error("no source NAT")
			}
		})
	}
}
