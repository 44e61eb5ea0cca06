package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// watch keeps the Nodes of the cluster at hand, and wakes the agent when one
// changes in what matters. Kubelets write to their Nodes all the time. The
// informer goes on through restarts of the API server, and lists anew when it
// has fallen behind. The group ends after ctx.
func (a *Agent) watch(ctx context.Context) (*sync.WaitGroup, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(a.opts.Client, 0, informers.WithTransform(a.strip))
	nodes := factory.Core().V1().Nodes()
	a.nodes = nodes.Lister()
	informer := nodes.Informer()
	a.set(func(s *Status) { s.Err = errors.New("agent: the API server has not listed the Nodes yet") })
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		a.log.WarnContext(ctx, "the watch of Nodes broke off, and is taken up again", "error", err)
		if !informer.HasSynced() {
			a.set(func(s *Status) { s.Err = fmt.Errorf("agent: list Nodes: %w", err) })
		}
	})
	if err != nil {
		return nil, err
	}
	wake := func() { a.queue.AddAfter(key, a.opts.Debounce) }
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { wake() },
		DeleteFunc: func(any) { wake() },
		UpdateFunc: func(before, after any) {
			if differ(before.(*corev1.Node), after.(*corev1.Node)) {
				wake()
			}
		},
	})
	if err != nil {
		return nil, err
	}
	ended := &sync.WaitGroup{}
	ended.Go(func() { informer.RunWithContext(ctx) })
	// The end of ctx ends the wait too.
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	return ended, nil
}

// strip takes off what the agent does not look at, which is most of a Node.
func (a *Agent) strip(obj any) (any, error) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil // the last state of one whose end was missed
	}
	out := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion, Annotations: maps.Clone(n.Annotations)},
		Spec:       corev1.NodeSpec{PodCIDR: n.Spec.PodCIDR, PodCIDRs: n.Spec.PodCIDRs},
		Status:     corev1.NodeStatus{Addresses: n.Status.Addresses},
	}
	maps.DeleteFunc(out.Annotations, func(k, _ string) bool { return !strings.HasPrefix(k, a.leases.names.prefix) })
	if os := n.Labels[corev1.LabelOSStable]; os != "" {
		out.Labels = map[string]string{corev1.LabelOSStable: os}
	}
	out.Status.NodeInfo.OperatingSystem = n.Status.NodeInfo.OperatingSystem
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable {
			out.Status.Conditions = []corev1.NodeCondition{c}
		}
	}
	return out, nil
}

// differ compares two states of a Node, of which everything that is left
// matters but the versions.
func differ(before, after *corev1.Node) bool {
	b, a := *before, *after
	b.ResourceVersion, a.ResourceVersion = "", ""
	return !reflect.DeepEqual(&b, &a)
}
