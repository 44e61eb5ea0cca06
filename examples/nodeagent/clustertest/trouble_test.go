package clustertest

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// TestAPIServerTrouble: the server crashes, and the watches of the agents break
// and fall so far behind that they have to be begun anew.
func TestAPIServerTrouble(t *testing.T) {
	backends(t, func(t *testing.T, backend string) {
		c := whole(t, backend, never)
		c.server.Kill()
		for _, w := range c.agents {
			c.checkPods("the server is down", w)
		}
		c.server.Start(t)
		c.converged("the server is back")
		c.addLinux(3, 23)
		c.converged("joined after a crash")

		for _, p := range c.proxies {
			p.Cut()
		}
		c.addLinux(4, 24)
		c.deleteNode(linuxName(3))
		c.lease(2, nodeAddress(122), linuxMAC(32))
		for _, p := range c.proxies {
			p.Mend()
		}
		c.converged("changes behind a broken watch")

		for _, p := range c.proxies {
			p.Cut()
		}
		var before []int64
		for _, n := range c.lists {
			before = append(before, n.Load())
		}
		c.deleteNode(linuxName(4))
		c.addLinux(5, 24) // the podCIDR of the one that nobody saw leave
		c.lease(2, nodeAddress(22), linuxMAC(2))
		c.server.Kill()
		c.server.Compact(t)
		c.server.Start(t)
		for _, p := range c.proxies {
			p.Mend()
		}
		c.converged("changes that etcd has forgotten")
		for i, n := range c.lists {
			if n.Load() <= before[i] {
				t.Errorf("%s: the watch did not fall behind: Nodes were listed %d times before, and %d after", c.agents[i].name, before[i], n.Load())
			}
		}
	})
}

// TestHNSTrouble: the service is restarted and stopped, loses the network, and
// others write to it.
func TestHNSTrouble(t *testing.T) {
	backends(t, func(t *testing.T, backend string) {
		c := whole(t, backend, often)
		for _, w := range c.agents {
			if err := w.hns.Restart(); err != nil {
				t.Fatal(err)
			}
		}
		c.converged("HNS restarted")

		for _, w := range c.agents {
			w.hns.Stop()
		}
		c.addLinux(3, 23)
		c.lease(2, nodeAddress(122), linuxMAC(32))
		for _, w := range c.agents {
			w.hns.Start()
		}
		c.converged("changes while HNS was stopped")

		lost := c.agents[2]
		before := c.vanish(lost)
		c.eventually("HNS lost the network", lost.anewSince(before))
		c.converged("HNS lost the network")

		before = c.vanish(lost)
		c.deleteNode(linuxName(3))
		c.eventually("HNS lost the network as a node left", lost.anewSince(before))
		c.converged("HNS lost the network as a node left")

		if err := lost.hns.Reboot(); err != nil {
			t.Fatal(err)
		}
		lost.host.Reboot()
		c.converged("rebooted")

		for _, w := range c.agents {
			c.meddle(w)
		}
		c.converged("others wrote ways")
	})
}

// vanish takes the network away behind the agent's back, and returns its id.
func (c *cluster) vanish(w *winNode) hns.ID {
	c.Helper()
	n, err := w.network(c.Context())
	if err != nil || n == nil {
		c.Fatalf("%s: no network: %v", w.name, err)
	}
	if err := w.hns.Vanish(hns.KindNetwork, n.ID); err != nil {
		c.Fatal(err)
	}
	return n.ID
}

// meddle removes one way and adds one that leads nowhere.
func (c *cluster) meddle(w *winNode) {
	c.Helper()
	nowhere, via := netip.MustParsePrefix("10.244.250.0/24"), nodeAddress(250)
	if !w.overlay() {
		routes, err := w.host.Routes(c.Context())
		if err != nil {
			c.Fatal(err)
		}
		i := slices.IndexFunc(routes, func(r hostnet.Route) bool { return clusterCIDR.Contains(r.Destination.Addr()) })
		if err := w.host.DeleteRoute(c.Context(), routes[i]); err != nil {
			c.Fatal(err)
		}
		if err := w.host.AddRoute(c.Context(), hostnet.Route{Destination: nowhere, NextHop: via, Interface: routes[i].Interface}); err != nil {
			c.Fatal(err)
		}
		return
	}
	n, err := w.network(c.Context())
	if err != nil || n == nil {
		c.Fatalf("%s: no network: %v", w.name, err)
	}
	ways := hns.PoliciesOf[hns.RemoteSubnetRoute](n.Policies)
	if err := w.client.Networks.RemovePolicies(c.Context(), n.ID, ways[0]); err != nil {
		c.Fatal(err)
	}
	orphan := hns.RemoteSubnetRoute{DestinationPrefix: nowhere, IsolationID: vni, ProviderAddress: via, DistributedRouterMAC: hns.MAC{2, 0, 0, 0, 0, 1}}
	if err := w.client.Networks.AddPolicies(c.Context(), n.ID, orphan); err != nil {
		c.Fatal(err)
	}
}

// TestAgentRestarts: an agent that is started anew finds everything as it should
// be, and changes nothing; one that was away while the cluster changed, and its
// Node was deleted and made again, catches up.
func TestAgentRestarts(t *testing.T) {
	backends(t, func(t *testing.T, backend string) {
		c := whole(t, backend, never)
		for _, w := range c.agents {
			w.stop()
			w.hns.ResetCalls()
			w.start(t)
		}
		c.waysConverge("restarted", c.agents...)
		for _, w := range c.agents {
			if did := w.changes(); len(did) > 0 {
				t.Errorf("%s: a restart without a cause changed HNS: %v", w.name, did)
			}
			if patches := w.agent.Status().Patches; patches > 0 {
				t.Errorf("%s: a restart without a cause wrote the Node %d times", w.name, patches)
			}
		}
		c.converged("restarted")

		away := c.agents[2]
		away.stop()
		c.addLinux(3, 23)
		c.deleteNode(linuxName(2))
		c.deleteNode(away.name)
		c.addAgentNode(away, podCIDR(43))
		away.start(t)
		c.converged("away while the cluster changed")
	})
}
