package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The reasons of the condition. The first is flannel's.
const (
	reasonUp       = "FlannelIsUp"
	reasonOutdated = "HNSNetworkOutdated"
)

// told is what was last written to the Node, so that it is not written again
// before the watch has brought it back.
type told struct {
	uid         types.UID
	version     string // of the Node as it was before
	annotations map[string]string
	status      corev1.ConditionStatus // of this Node; empty: nothing yet
}

// publish tells the others of this node, by annotations on its Node.
func (a *Agent) publish(ctx context.Context, own *corev1.Node) error {
	want, err := a.leases.ownLease(a.plan.Description.Mode, a.plan.Description.VNI, a.state.DRMAC, a.public)
	if err != nil {
		return fmt.Errorf("agent: lease of node %q: %w", own.Name, err)
	}
	a.meet(own)
	missing := map[string]string{}
	for k, v := range want {
		if have, ok := own.Annotations[k]; !ok || have != v {
			missing[k] = v
		}
	}
	if len(missing) == 0 || own.ResourceVersion == a.told.version && maps.Equal(a.told.annotations, want) {
		return nil
	}
	patch := map[string]any{"metadata": map[string]any{"uid": own.UID, "annotations": missing}}
	if err := a.patch(ctx, own, patch); err != nil {
		return err
	}
	a.told.version, a.told.annotations = own.ResourceVersion, want
	a.log.InfoContext(ctx, "lease written", "node", own.Name, "annotations", slices.Sorted(maps.Keys(missing)),
		"publicIP", want[a.leases.names.publicIP], "backendData", want[a.leases.names.backendData])
	return nil
}

// meet forgets what was written to a Node of the same name that is gone.
func (a *Agent) meet(own *corev1.Node) {
	if a.told.uid != own.UID {
		a.told = told{uid: own.UID}
	}
}

// available sets the condition to false, once for each Node: what others say
// later is theirs.
func (a *Agent) available(ctx context.Context, own *corev1.Node) error {
	return a.setCondition(ctx, own, corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse,
		Reason: reasonUp, Message: fmt.Sprintf("HNS network %q leads to the other nodes", a.plan.Description.Name)})
}

// unavailable keeps new pods away from a network that is not the node's any
// more but still has pods.
func (a *Agent) unavailable(ctx context.Context, own *corev1.Node, why error) error {
	return a.setCondition(ctx, own, corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue,
		Reason: reasonOutdated, Message: why.Error()})
}

func (a *Agent) setCondition(ctx context.Context, own *corev1.Node, c corev1.NodeCondition) error {
	a.meet(own)
	if a.opts.KeepCondition || a.told.status == c.Status {
		return nil
	}
	now := metav1.NewTime(time.Now())
	c.LastHeartbeatTime, c.LastTransitionTime = now, now
	i := slices.IndexFunc(own.Status.Conditions, func(x corev1.NodeCondition) bool { return x.Type == c.Type })
	if a.told.status == "" && i >= 0 && own.Status.Conditions[i].Status == c.Status {
		a.told.status = c.Status // from before this agent, or by another hand
		return nil
	}
	patch := map[string]any{"metadata": map[string]any{"uid": own.UID}, "status": map[string]any{"conditions": []corev1.NodeCondition{c}}}
	if err := a.patch(ctx, own, patch); err != nil {
		return err
	}
	a.told.status = c.Status
	a.log.InfoContext(ctx, "condition set", "node", own.Name, "condition", string(c.Type), "status", string(c.Status), "reason", c.Reason)
	return nil
}

// patch writes through the status subresource, which lets annotations through
// but not the spec. The uid makes it fail for another Node of the same name.
func (a *Agent) patch(ctx context.Context, own *corev1.Node, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = a.opts.Client.CoreV1().Nodes().Patch(ctx, own.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("agent: patch Node %q: %w", own.Name, err)
	}
	a.set(func(s *Status) { s.Patches++ })
	return nil
}
