package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hnskit/hnskit/examples/nodeagent/internal/kubetest"
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/subnetenv"
)

// told is what a Node object says to the others. The tests read it by
// themselves, and so judge the agents by other code than theirs.
type told struct {
	subnet netip.Prefix
	public netip.Addr
	mac    string // zero without VXLAN
	vni    uint32
}

// tells returns what a Node says; false if that is not all that a way needs.
func tells(n corev1.Node, backend string) (t told, ok bool) {
	a := n.Annotations
	if a[kubetest.AnnotationKubeManaged] != "true" || a[kubetest.AnnotationBackendType] != backend || n.Spec.PodCIDR == "" {
		return t, false
	}
	t.subnet = netip.MustParsePrefix(n.Spec.PodCIDR)
	t.public = netip.MustParseAddr(a[kubetest.AnnotationPublicIP])
	if backend != subnetenv.BackendVXLAN {
		return t, true
	}
	var data struct {
		VNI     uint32
		VtepMAC string
	}
	if json.Unmarshal([]byte(a[kubetest.AnnotationBackendData]), &data) != nil {
		return t, false
	}
	mac, err := net.ParseMAC(data.VtepMAC)
	t.mac, t.vni = mac.String(), data.VNI
	return t, err == nil
}

// wantedWays are the ways that a node must have, by the Node objects.
func wantedWays(nodes []corev1.Node, self, backend string) []string {
	var out []string
	for _, n := range nodes {
		if t, ok := tells(n, backend); ok && n.Name != self {
			out = append(out, way(t.subnet, t.public, t.mac, t.vni))
		}
	}
	slices.Sort(out)
	return out
}

// converged waits until the whole cluster is as the Nodes say, and then looks at
// everything that must hold.
func (c *cluster) converged(when string) {
	c.Helper()
	c.waysConverge(when, c.agents...)
	for _, w := range c.agents {
		c.checkPods(when, w)
	}
	c.checkFlows(when)
}

// waysConverge waits until the ways of the agents, what each tells the others of
// itself, and its files are right.
func (c *cluster) waysConverge(when string, agents ...*winNode) {
	c.Helper()
	c.eventually(when, func(ctx context.Context) error {
		list, err := c.admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, w := range agents {
			s := w.agent.Status()
			if !s.Ready || s.Err != nil {
				return fmt.Errorf("%s: ready %t, error %v", w.name, s.Ready, s.Err)
			}
			if err := c.leaseAgrees(ctx, w, list.Items); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if err := c.nodeAgrees(ctx, w); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			got, err := w.ways(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if diff := cmp.Diff(wantedWays(list.Items, w.name, c.backend), got); diff != "" {
				return fmt.Errorf("%s: ways (-by the Nodes +there):\n%s", w.name, diff)
			}
		}
		return nil
	})
}

// leaseAgrees compares what an agent's Node says with the node itself.
func (c *cluster) leaseAgrees(ctx context.Context, w *winNode, nodes []corev1.Node) error {
	i := slices.IndexFunc(nodes, func(n corev1.Node) bool { return n.Name == w.name })
	if i < 0 {
		return fmt.Errorf("no Node")
	}
	n, err := w.network(ctx)
	if n == nil || err != nil {
		return fmt.Errorf("no network (%v)", err)
	}
	subnets := n.Subnets()
	if len(subnets) != 1 || subnets[0].Prefix.String() != nodes[i].Spec.PodCIDR {
		return fmt.Errorf("the network has %v, the Node %s", subnets, nodes[i].Spec.PodCIDR)
	}
	lease := kubetest.HostGW(w.address)
	if w.overlay() {
		drMACs := hns.PoliciesOf[hns.DRMACAddress](n.Policies)
		if len(drMACs) != 1 {
			return fmt.Errorf("the network has %d policies DrMacAddress", len(drMACs))
		}
		lease = kubetest.VXLAN(w.address, drMACs[0].Address[:])
	}
	got := map[string]string{}
	for k, v := range nodes[i].Annotations {
		if strings.HasPrefix(k, "flannel.") {
			got[k] = v
		}
	}
	if diff := cmp.Diff(lease.Annotations(), got); diff != "" {
		return fmt.Errorf("annotations (-by HNS +on the Node):\n%s", diff)
	}
	return nil
}

// nodeAgrees finds whatever an agent changed on its Node beside flannel's
// annotations and the condition, and files that do not say what the Node says.
func (c *cluster) nodeAgrees(ctx context.Context, w *winNode) error {
	got := c.node(ctx, w.name)
	want := c.created[w.name].DeepCopy()
	for k, v := range got.Annotations {
		if strings.HasPrefix(k, "flannel.alpha.coreos.com/") {
			want.Annotations[k] = v // looked at before
		}
	}
	for i, cond := range want.Status.Conditions {
		if cond.Type == corev1.NodeNetworkUnavailable {
			want.Status.Conditions[i] = corev1.NodeCondition{Type: cond.Type, Status: corev1.ConditionFalse, Reason: "FlannelIsUp"}
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ManagedFields", "ResourceVersion"), ignoreOfCondition); diff != "" {
		return fmt.Errorf("the Node (-wanted +got):\n%s", diff)
	}
	for _, cond := range got.Status.Conditions {
		if cond.Type == corev1.NodeNetworkUnavailable && (cond.LastTransitionTime.IsZero() || cond.LastHeartbeatTime.IsZero() || cond.Message == "") {
			return fmt.Errorf("condition without times or message: %+v", cond)
		}
	}
	env, err := subnetenv.Read(w.subnetFile())
	if err != nil {
		return err
	}
	if env.MaskedSubnet().String() != got.Spec.PodCIDR {
		return fmt.Errorf("subnet.env has %s, the Node %s", env.Subnet, got.Spec.PodCIDR)
	}
	conf, err := os.ReadFile(w.conflist())
	if err != nil || !strings.Contains(string(conf), got.Spec.PodCIDR) {
		return fmt.Errorf("the conflist (%v) does not have %s:\n%s", err, got.Spec.PodCIDR, conf)
	}
	return nil
}

// ignoreOfCondition: times, and the words that go with the reason.
var ignoreOfCondition = cmp.FilterPath(func(p cmp.Path) bool {
	f, ok := p.Last().(cmp.StructField)
	return ok && (f.Name() == "LastTransitionTime" || f.Name() == "LastHeartbeatTime" || f.Name() == "Message")
}, cmp.FilterValues(func(_, _ any) bool { return true }, cmp.Ignore()))
