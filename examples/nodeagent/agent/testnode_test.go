package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
	"github.com/hnskit/hnskit/modes/node/hostnet/emuhost"
	"github.com/hnskit/hnskit/subnetenv"
)

// The net-conf.json of clusters that Windows nodes can be in.
const (
	vxlanConf  = `{"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}}`
	hostGWConf = `{"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"}}`
)

// testNode is this node, "win-1" with 192.0.2.10 and pod subnet 10.244.1.0/24,
// and its agent, on a fake API server.
type testNode struct {
	*testing.T
	hns      *emulator.HNS
	client   *hns.Client
	host     *hostnet.Memory
	kube     *fake.Clientset
	opts     Options
	agent    *Agent
	log      *lockedBuffer
	counters *node.Counters
	dir      string
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newTestNode(t *testing.T, netConf string) *testNode {
	t.Helper()
	conf, err := subnetenv.ParseNetConf([]byte(netConf))
	if err != nil {
		t.Fatal(err)
	}
	n := &testNode{T: t, hns: emulator.New(&emulator.Options{Seed: 7}), log: &lockedBuffer{}, counters: &node.Counters{}, dir: t.TempDir()}
	n.client = hns.New(n.hns, nil)
	n.host = hostnet.NewMemory(emuhost.Adapters(n.hns))
	own := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "win-1", UID: "uid-1", Labels: map[string]string{corev1.LabelOSStable: "windows", "team": "a"},
		Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
		Spec: corev1.NodeSpec{PodCIDR: "10.244.1.0/24", PodCIDRs: []string{"10.244.1.0/24"}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.10"}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady"}}}}
	n.kube = fake.NewClientset(own, &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"},
		Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/12"}}})
	n.opts = Options{NodeName: "win-1", Client: n.kube, HNS: n.client, Host: n.host, NetConf: conf, IPMasq: true,
		SubnetFile: filepath.Join(n.dir, "subnet.env"), ConflistFile: filepath.Join(n.dir, "net.d", "10-flannel.conflist"),
		Drift: hns.DriftRecreate, Debounce: time.Millisecond, Counters: n.counters,
		Logger: slog.New(slog.NewTextHandler(n.log, nil))}
	return n
}

// linux is a node as flannel on Linux describes it: number 7 has 192.0.2.7 and
// pod subnet 10.244.7.0/24.
func linux(i int, conf string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("linux-%02d", i), UID: types.UID(fmt.Sprintf("uid-linux-%d", i)),
		Labels: map[string]string{corev1.LabelOSStable: "linux"}},
		Spec: corev1.NodeSpec{PodCIDR: fmt.Sprintf("10.244.%d.0/24", i), PodCIDRs: []string{fmt.Sprintf("10.244.%d.0/24", i)}}}
	n.Annotations = map[string]string{
		"flannel.alpha.coreos.com/kube-subnet-manager": "true",
		"flannel.alpha.coreos.com/public-ip":           fmt.Sprintf("192.0.2.%d", i),
		"flannel.alpha.coreos.com/backend-type":        "vxlan",
		"flannel.alpha.coreos.com/backend-data":        fmt.Sprintf(`{"VNI":4096,"VtepMAC":"0a:00:00:00:00:%02x"}`, i),
	}
	if conf == hostGWConf {
		n.Annotations["flannel.alpha.coreos.com/backend-type"] = "host-gw"
		n.Annotations["flannel.alpha.coreos.com/backend-data"] = "null"
	}
	return n
}

// run starts the agent, which ends with the test.
func (n *testNode) run() {
	n.Helper()
	var err error
	if n.agent, err = New(n.opts); err != nil {
		n.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.Context())
	ended := make(chan error)
	go func() { ended <- n.agent.Run(ctx) }()
	n.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			n.Errorf("Run: %v", err)
		}
		if n.Failed() {
			n.Logf("log:\n%s", n.log)
		}
	})
}

// until waits for a state, however long it takes; what says which.
func (n *testNode) until(what string, is func(Status) bool) {
	n.Helper()
	deadline := time.Now().Add(time.Minute)
	for !is(n.agent.Status()) {
		if time.Now().After(deadline) {
			s := n.agent.Status()
			n.Fatalf("never %s: ready %t, ways %v, report %s, error %v", what, s.Ready, n.ways(), s.Report, s.Err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func ready(s Status) bool { return s.Ready && s.Err == nil }

// untilWays waits until the ways on the node are those.
func (n *testNode) untilWays(want ...string) {
	n.Helper()
	n.until(fmt.Sprintf("the ways %v", want), func(s Status) bool { return ready(s) && slices.Equal(n.ways(), want) })
}

// ways are the pod subnets that are led to, with the node's address and, on
// VXLAN, the end of its MAC address.
func (n *testNode) ways() []string {
	var out []string
	if n.opts.NetConf.Backend == subnetenv.BackendHostGW {
		routes, _ := n.host.Routes(n.Context())
		for _, r := range routes {
			out = append(out, r.Destination.String()+" "+r.NextHop.String())
		}
	} else if network, err := n.client.Networks.ByName(n.Context(), n.opts.NetConf.NetworkName()); err == nil {
		for _, p := range hns.PoliciesOf[hns.RemoteSubnetRoute](network.Policies) {
			out = append(out, strings.Join([]string{p.DestinationPrefix.String(), p.ProviderAddress.String(), p.DistributedRouterMAC.String()[9:]}, " "))
		}
	}
	slices.Sort(out)
	return out
}

// own is this node's object.
func (n *testNode) own() *corev1.Node {
	n.Helper()
	own, err := n.kube.CoreV1().Nodes().Get(n.Context(), "win-1", metav1.GetOptions{})
	if err != nil {
		n.Fatal(err)
	}
	return own
}

func (n *testNode) networkUnavailable() (corev1.ConditionStatus, string) {
	for _, c := range n.own().Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable {
			return c.Status, c.Reason
		}
	}
	return "", ""
}

// put creates or replaces a Node.
func (n *testNode) put(x *corev1.Node) {
	n.Helper()
	nodes := n.kube.CoreV1().Nodes()
	_, err := nodes.Update(n.Context(), x, metav1.UpdateOptions{})
	if err != nil {
		_, err = nodes.Create(n.Context(), x, metav1.CreateOptions{})
	}
	if err != nil {
		n.Fatal(err)
	}
}

func (n *testNode) remove(name string) {
	n.Helper()
	if err := n.kube.CoreV1().Nodes().Delete(n.Context(), name, metav1.DeleteOptions{}); err != nil {
		n.Fatal(err)
	}
}

// refuse makes the API server refuse a verb until the returned function is called.
func (n *testNode) refuse(verb string) (stop func()) {
	var mu sync.Mutex
	on := true
	n.kube.PrependReactor(verb, "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		return on, nil, errors.New("etcdserver: request timed out")
	})
	return func() { mu.Lock(); on = false; mu.Unlock() }
}

// pod puts an endpoint with an address of the node's subnet on the network.
func (n *testNode) pod(last byte) *hns.Endpoint {
	n.Helper()
	network, err := n.client.Networks.ByName(n.Context(), n.opts.NetConf.NetworkName())
	if err != nil {
		n.Fatal(err)
	}
	base := n.agent.Status().PodSubnet.Addr().As4()
	base[3] = last
	e, err := n.client.Endpoints.Create(n.Context(), &hns.Endpoint{Name: fmt.Sprintf("pod-%d", last), Network: network.ID,
		IPConfigs: []hns.IPConfig{{Address: netip.AddrFrom4(base), PrefixLength: 24}}})
	if err != nil {
		n.Fatal(err)
	}
	return e
}

func (n *testNode) read(path string) string {
	n.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		n.Fatal(err)
	}
	return string(b)
}
