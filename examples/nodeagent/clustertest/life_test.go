package clustertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hnskit/hnskit/examples/nodeagent/internal/kubetest"
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/subnetenv"
)

func backends(t *testing.T, f func(*testing.T, string)) {
	for _, b := range []string{subnetenv.BackendVXLAN, subnetenv.BackendHostGW} {
		t.Run(b, func(t *testing.T) { f(t, b) })
	}
}

// whole starts a cluster with pods: two on win-1, one on win-2, none on win-3,
// and two Linux nodes.
func whole(t *testing.T, backend string, resync time.Duration) *cluster {
	t.Helper()
	c := newCluster(t, backend, resync)
	c.addLinux(1, 21)
	c.addLinux(2, 22)
	c.converged("from nothing")
	c.addPod(c.agents[0], "client", 10)
	c.addPod(c.agents[0], "web-1", 11)
	c.addPod(c.agents[1], "web-2", 10)
	c.converged("with pods")
	return c
}

// TestNodesComeAndGo: what happens to the Nodes of others in the life of a
// cluster.
func TestNodesComeAndGo(t *testing.T) {
	backends(t, func(t *testing.T, backend string) {
		c := whole(t, backend, never)

		c.addNode(kubetest.Node{Name: linuxName(3), OS: "linux", Address: nodeAddress(23)})
		c.converged("a Node without podCIDR and lease")
		c.lease(3, nodeAddress(23), linuxMAC(3))
		c.converged("a lease without podCIDR")
		c.patchNode(linuxName(3), map[string]any{"spec": map[string]any{"podCIDR": podCIDR(23).String(), "podCIDRs": []string{podCIDR(23).String()}}})
		c.converged("joined")
		if backend == subnetenv.BackendVXLAN {
			// A VXLAN interface that was made anew; "VtepMAC" goes stale when
			// nobody follows it (flannel-io/flannel#1391).
			c.lease(3, nodeAddress(23), linuxMAC(33))
			c.converged("another VTEP MAC")
		}
		c.lease(3, nodeAddress(123), linuxMAC(33))
		c.converged("another address")
		c.lease(3, nodeAddress(23), linuxMAC(3))
		c.lease(2, nodeAddress(122), linuxMAC(2))
		c.converged("two changes at once")
		c.lease(2, nodeAddress(23), linuxMAC(3))
		c.lease(3, nodeAddress(122), linuxMAC(2))
		c.converged("two nodes that changed places")
		c.lease(2, nodeAddress(22), linuxMAC(2))
		c.lease(3, nodeAddress(23), linuxMAC(3))
		c.converged("and back")

		c.deleteNode(linuxName(3))
		c.converged("left")
		c.addLinux(3, 33)
		c.converged("back with another podCIDR")
		c.deleteNode(linuxName(3))
		c.deleteNode(linuxName(2))
		c.addLinux(4, 33)
		c.addLinux(2, 23)
		c.converged("podCIDRs given to others")

		// 60 more at once, and away again.
		for i := 60; i < 120; i++ {
			c.addLinux(i, i)
		}
		c.converged("many joined")
		for i := 60; i < 120; i++ {
			c.deleteNode(linuxName(i))
		}
		c.converged("many left")
	})
}

// TestOwnNodeAnew: the agent's own Node is deleted and comes back with another
// podCIDR (flannel-io/flannel#1423), without pods on the node and with.
func TestOwnNodeAnew(t *testing.T) {
	backends(t, func(t *testing.T, backend string) {
		c := whole(t, backend, never)
		empty, busy := c.agents[2], c.agents[1]

		c.proxyServices(empty) // kube-proxy's endpoints are in nobody's way
		c.deleteNode(empty.name)
		c.waysConverge("Node deleted", c.agents[0], c.agents[1])
		c.addAgentNode(empty, podCIDR(43))
		c.waysConverge("Node anew, no pods", c.agents...)
		c.unproxyServices(empty)
		c.converged("Node anew, no pods")
		c.addPod(empty, "web-3", 10)
		c.converged("a pod on the new network")

		c.deleteNode(busy.name)
		c.addAgentNode(busy, podCIDR(42))
		c.eventually("Node anew, with a pod", func(ctx context.Context) error {
			if err := busy.agent.Status().Err; !errors.Is(err, hns.ErrDrift) {
				return fmt.Errorf("status %v, want a refusal", err)
			}
			conds := c.node(ctx, busy.name).Status.Conditions
			i := slices.IndexFunc(conds, func(x corev1.NodeCondition) bool { return x.Type == corev1.NodeNetworkUnavailable })
			if i < 0 || conds[i].Status != corev1.ConditionTrue {
				return fmt.Errorf("conditions %+v: want NetworkUnavailable", conds)
			}
			return nil
		})
		c.checkPods("while the network is outdated", busy)
		c.waysConverge("the others meanwhile", c.agents[0], c.agents[2])
		c.deletePod(busy, "web-2")
		c.converged("the pod is gone")
		c.addPod(busy, "web-2", 10)
		c.converged("and another there")
	})
}
