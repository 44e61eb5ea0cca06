package agent

import (
	"slices"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// TestNetworkIsGoneAsANodeChanges: HNS loses the network, and before anybody
// looks the Node of another changes. The network is made anew first; a route put
// on the bare adapter would stay there.
func TestNetworkIsGoneAsANodeChanges(t *testing.T) {
	for name, conf := range map[string]string{"vxlan": vxlanConf, "host-gw": hostGWConf} {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t, conf)
			n.put(linux(7, conf))
			n.run()
			n.until("ready", ready)
			list, err := n.client.Networks.List(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			if err := n.hns.Vanish(hns.KindNetwork, list[0].ID); err != nil {
				t.Fatal(err)
			}
			n.put(linux(8, conf))
			n.until("a way to node 8, over a network", func(s Status) bool {
				list, err := n.client.Networks.List(t.Context())
				return err == nil && len(list) == 1 && ready(s) && s.Report.Added+s.Report.Kept == 2
			})
			if f := n.agent.Status().Failures; f > 0 {
				t.Errorf("%d looks at everything failed before it was made anew", f)
			}
			host, err := hostnet.Take(t.Context(), n.host)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range host.Routes {
				i := slices.IndexFunc(host.Adapters, func(a hostnet.Adapter) bool { return a.Index == r.Interface })
				if i < 0 || !host.Adapters[i].OnLink(r.NextHop) {
					t.Errorf("%s: not on the adapter that has the node's address: %+v", r, host.Adapters)
				}
			}
		})
	}
}
