package kubetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Annotations of flannel, with its usual prefix.
const (
	AnnotationBackendType = "flannel.alpha.coreos.com/backend-type"
	AnnotationBackendData = "flannel.alpha.coreos.com/backend-data"
	AnnotationPublicIP    = "flannel.alpha.coreos.com/public-ip"
	AnnotationKubeManaged = "flannel.alpha.coreos.com/kube-subnet-manager"
)

// Node is a node as kubelet registers it and kube-controller-manager completes
// it, before flannel has seen it.
type Node struct {
	Name     string
	OS       string // "linux", "windows"
	Address  netip.Addr
	PodCIDRs []netip.Prefix // empty: none yet
	// NetworkUnavailable is the condition that clouds set until somebody says
	// that the network is there.
	NetworkUnavailable bool
}

// Object returns the Node object, with all that kubelet says and that a network
// agent has to leave alone.
func (n Node) Object() *corev1.Node {
	room := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceCPU: resource.MustParse("2")}
	o := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        n.Name,
			Labels:      map[string]string{"kubernetes.io/os": n.OS, "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": n.Name},
			Annotations: map[string]string{"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
		},
		Spec: corev1.NodeSpec{ProviderID: "test://" + n.Name},
		Status: corev1.NodeStatus{
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.Address.String()}, {Type: corev1.NodeHostName, Address: n.Name}},
			Capacity:    room,
			Allocatable: room.DeepCopy(),
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
				{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "container runtime network not ready"},
			},
			NodeInfo: corev1.NodeSystemInfo{OperatingSystem: n.OS, Architecture: "amd64", KubeletVersion: "v1.37.2"},
		},
	}
	for _, p := range n.PodCIDRs {
		o.Spec.PodCIDRs = append(o.Spec.PodCIDRs, p.String())
	}
	if len(o.Spec.PodCIDRs) > 0 {
		o.Spec.PodCIDR = o.Spec.PodCIDRs[0]
	}
	if n.NetworkUnavailable {
		o.Status.Conditions = append(o.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "NoRouteCreated", Message: "Node created without a route"})
	}
	return o
}

// Lease is what flannel on a node tells the others.
type Lease struct {
	BackendType string // "vxlan" or "host-gw"
	PublicIP    netip.Addr
	VNI         uint32           // of vxlan
	VtepMAC     net.HardwareAddr // of vxlan; nil: flannel on Windows, before it has an HNS network
}

// VXLAN is the lease of a node with the VNI that Windows can do.
func VXLAN(publicIP netip.Addr, mac net.HardwareAddr) Lease {
	return Lease{BackendType: "vxlan", PublicIP: publicIP, VNI: 4096, VtepMAC: mac}
}

// HostGW is the lease of a node that routes.
func HostGW(publicIP netip.Addr) Lease { return Lease{BackendType: "host-gw", PublicIP: publicIP} }

// Annotations are the lease as flannel v0.28 writes it on the Node.
func (l Lease) Annotations() map[string]string {
	data := "null"
	if l.BackendType == "vxlan" {
		data = fmt.Sprintf(`{"VNI":%d,"VtepMAC":%q}`, l.VNI, l.VtepMAC)
	}
	return map[string]string{
		AnnotationBackendType: l.BackendType,
		AnnotationBackendData: data,
		AnnotationPublicIP:    l.PublicIP.String(),
		AnnotationKubeManaged: "true",
	}
}

// Write writes the lease on a Node that is there, as flannel does: by a patch
// of its status.
func (l Lease) Write(ctx context.Context, client kubernetes.Interface, node string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": l.Annotations()}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
