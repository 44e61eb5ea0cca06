package node_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/node"
)

// TestPodsOnAPlannedNode puts a pod on the node that was made, with the planned
// CNI configuration as the plugin reads it and the first address that host-local
// would give: HNS takes it, the rules of the mode find nothing wrong, and
// somebody has the pod's gateway.
func TestPodsOnAPlannedNode(t *testing.T) {
	for name, d := range descriptions() {
		t.Run(name, func(t *testing.T) {
			m, p := newMachine(t, emulator.Options{}), planOf(t, d)
			s := m.ensure(p, nil)
			conf := pluginConfig(t, p)
			first := firstAddress(t, conf.IPAM)
			in := modes.PodIntent{Name: "pod_" + p.Description.Name, Network: s.Network, Policies: conf.Policies,
				Addresses:   []netip.Prefix{netip.PrefixFrom(first, p.Description.Subnets[0].Bits())},
				GatewayRule: p.Description.GatewayRule, MACPrefix: conf.MACPrefix, LoopbackDSR: conf.LoopbackDSR}
			e, err := modes.PlanPodEndpoint(in)
			if err != nil {
				t.Fatal(err)
			}
			made, err := m.client.Endpoints.Create(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range modes.CheckEndpoint(s.Network, made) {
				if f.Severity != modes.SeverityNote {
					t.Error(f)
				}
			}
			if made.Gateway(first) != p.Gateways[0] {
				t.Errorf("gateway %s, planned %s", made.Gateway(first), p.Gateways[0])
			}
			if holder := m.holderOf(s, p.Gateways[0]); holder == "" {
				t.Errorf("nobody has the gateway %s", p.Gateways[0])
			}
		})
	}
}

// pluginConfig reads the configuration of the plugin as a runtime gives it.
func pluginConfig(t *testing.T, p *node.Plan) *cniplugin.Config {
	var list struct {
		CNIVersion string
		Name       string
		Plugins    []map[string]any
	}
	if err := json.Unmarshal(p.Conflist, &list); err != nil {
		t.Fatal(err)
	}
	list.Plugins[0]["cniVersion"], list.Plugins[0]["name"] = list.CNIVersion, list.Name
	stdin, err := json.Marshal(list.Plugins[0])
	if err != nil {
		t.Fatal(err)
	}
	conf, err := cniplugin.ParseConfig(stdin)
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

func firstAddress(t *testing.T, conf json.RawMessage) netip.Addr {
	hl, err := ipam.ParseHostLocal(conf)
	if err != nil {
		t.Fatal(err)
	}
	r := hl.Sets[0][0]
	if a := r.First(); a != r.GatewayAddress() {
		return a
	}
	return r.First().Next()
}

// holderOf says who answers for an address: an endpoint that is attached to the
// node, or the gateway of an HNS subnet.
func (m *machine) holderOf(s *node.State, a netip.Addr) string {
	m.tb.Helper()
	if h := s.HostEndpoint; h != nil {
		state, err := m.client.Endpoints.State(m.tb.Context(), h.ID)
		if err == nil && state == hns.EndpointAttached && slices.Contains(h.Addresses(), a) {
			return h.Name
		}
		return ""
	}
	for _, sub := range s.Network.Subnets() {
		if sub.Gateway() == a {
			return s.Network.Name
		}
	}
	return ""
}
