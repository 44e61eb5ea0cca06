package agent

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhatWakes: what a kubelet and others write all the time is no reason to
// look at everything, and takes no memory.
func TestWhatWakes(t *testing.T) {
	n := newTestNode(t, vxlanConf)
	a, err := New(n.opts)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		wakes  bool
	}{
		"heartbeat": {func(x *corev1.Node) {
			x.Status.Conditions = append(x.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, LastHeartbeatTime: metav1.NewTime(time.Unix(9, 0))})
		}, false},
		"images":           {func(x *corev1.Node) { x.Status.Images = []corev1.ContainerImage{{Names: []string{"pause"}}} }, false},
		"capacity":         {func(x *corev1.Node) { x.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("2")} }, false},
		"labels":           {func(x *corev1.Node) { x.Labels["team"] = "b" }, false},
		"other annotation": {func(x *corev1.Node) { x.Annotations["example.com/flannel.alpha.coreos.com"] = "1" }, false},
		"taints":           {func(x *corev1.Node) { x.Spec.Taints = []corev1.Taint{{Key: "k"}} }, false},
		"managed fields":   {func(x *corev1.Node) { x.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}} }, false},
		"address":          {func(x *corev1.Node) { x.Annotations["flannel.alpha.coreos.com/public-ip"] = "192.0.2.99" }, true},
		"data":             {func(x *corev1.Node) { x.Annotations["flannel.alpha.coreos.com/backend-data"] = "null" }, true},
		"system":           {func(x *corev1.Node) { x.Status.NodeInfo.OperatingSystem = "windows" }, true},
		"podCIDR":          {func(x *corev1.Node) { x.Spec.PodCIDRs = []string{"10.244.99.0/24"} }, true},
		"InternalIP": {func(x *corev1.Node) {
			x.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.99"}}
		}, true},
		"another Node": {func(x *corev1.Node) { x.UID = "uid-new" }, true},
		"condition": {func(x *corev1.Node) {
			x.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue}}
		}, true},
	} {
		before, after := linux(7, vxlanConf), linux(7, vxlanConf)
		tc.change(after)
		after.ResourceVersion = "2"
		b, err := a.strip(before)
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.strip(after)
		if err != nil {
			t.Fatal(err)
		}
		if got := differ(b.(*corev1.Node), s.(*corev1.Node)); got != tc.wakes {
			t.Errorf("%s: wakes %t", name, got)
		}
	}
}
