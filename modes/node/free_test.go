package node_test

import (
	"errors"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
)

// TestKubeProxyIsInNobodysWay: the node gets another pod subnet while kube-proxy
// has endpoints on its network, as it has on every node with services: remote
// ones for pods of other nodes, on Overlay one for the source VIP, and load
// balancers. They go with the network; a pod does not.
func TestKubeProxyIsInNobodysWay(t *testing.T) {
	for _, mode := range []string{"l2bridge", "overlay"} {
		t.Run(mode, func(t *testing.T) {
			ctx := t.Context()
			old := descriptions()[mode]
			old.Subnets = prefixes("10.244.8.0/24")
			m := newMachine(t, emulator.Options{})
			before := planOf(t, old)
			id := m.ensure(before, nil).Network.ID
			add := func(e hns.Endpoint) *hns.Endpoint {
				t.Helper()
				e.Network = id
				made, err := m.client.Endpoints.Create(ctx, &e)
				if err != nil {
					t.Fatal(err)
				}
				return made
			}
			remote := hns.Endpoint{Name: "Ethernet", Flags: hns.EndpointRemote, MAC: hns.MAC{2, 0x11, 10, 244, 7, 5}, IPConfigs: []hns.IPConfig{{Address: addr("10.244.7.5")}}}
			lb := hns.LoadBalancer{FrontendVIPs: addrs("10.96.0.20"), PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, ExternalPort: 80, InternalPort: 8080}}}
			if vip := before.KubeProxy.SourceVIP; vip.IsValid() {
				remote.Policies = []hns.EndpointPolicy{hns.ProviderAddress{Address: addr("192.0.2.7")}}
				lb.SourceVIP = vip
				add(hns.Endpoint{Name: "vip", IPConfigs: []hns.IPConfig{{Address: vip, PrefixLength: 24}}})
			}
			lb.Endpoints = []hns.ID{add(remote).ID}
			if _, err := m.client.LoadBalancers.Create(ctx, &lb); err != nil {
				t.Fatal(err)
			}
			pod := add(hns.Endpoint{Name: "pod", IPConfigs: []hns.IPConfig{{Address: addr("10.244.8.9"), PrefixLength: 24}}})

			text := m.text()
			opts := &node.EnsureOptions{Drift: hns.DriftRecreate}
			if _, err := node.Ensure(ctx, m.client, m.host, planOf(t, descriptions()[mode]), opts); !errors.Is(err, hns.ErrInUse) {
				t.Fatalf("with a pod: %v", err)
			}
			if m.text() != text {
				t.Error("with a pod: something changed")
			}
			if err := m.client.Endpoints.Delete(ctx, pod.ID); err != nil {
				t.Fatal(err)
			}
			after := m.ensure(planOf(t, descriptions()[mode]), opts)
			if got := after.Network.Subnets()[0].Prefix; got != prefixes("10.244.3.0/24")[0] || after.Network.ID == id {
				t.Errorf("network %s with %s", after.Network.ID, got)
			}
			left, err := m.client.Endpoints.List(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range left {
				if e.Network != after.Network.ID {
					t.Errorf("left behind: %s", e.Name)
				}
			}
		})
	}
}
