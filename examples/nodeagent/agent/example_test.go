package agent_test

import (
	"context"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/hnskit/hnskit/examples/nodeagent/agent"
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node/hostnet"
	"github.com/hnskit/hnskit/subnetenv"
)

// On a Windows node Client is that of the cluster, HNS is hns.Open's and Host is
// hostnet.Open's.
func ExampleAgent_Run() {
	h := emulator.New(nil)
	host := hostnet.NewMemory(func() ([]hostnet.Adapter, error) {
		list, err := h.Adapters()
		var out []hostnet.Adapter
		for _, a := range list {
			out = append(out, hostnet.Adapter{Name: a.Name, Index: a.Index, MAC: net.HardwareAddr(a.MAC[:]), Addresses: a.Addresses, Virtual: a.Virtual})
		}
		return out, err
	})
	cluster := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-1"}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.244.1.0/24"}}},
		&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/12"}}})
	conf, err := subnetenv.ParseNetConf([]byte(`{"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(agent.Options{NodeName: "win-1", Client: cluster, HNS: hns.New(h, nil), Host: host, NetConf: conf, IPMasq: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- a.Run(ctx) }()
	for !a.Status().Ready {
		time.Sleep(time.Millisecond)
	}
	s := a.Status()
	fmt.Println(s.PodSubnet, s.PublicIP, s.Plan.Network.Network.Name)
	stop()
	fmt.Println(<-ended)
	// Output:
	// 10.244.1.0/24 192.0.2.10 cbr0
	// <nil>
}
