package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/hnskit/hnskit/examples/nodeagent/internal/kubetest"
	"github.com/hnskit/hnskit/subnetenv"
)

const (
	vni       = 4096
	vxlanPort = 4789
	manifest  = "../manifests/rbac.yaml"
	// deadline bounds each wait for the agents. They are ready far sooner; one
	// whose network has pods that are in the way looks again after half a minute.
	deadline = 2 * time.Minute
)

var clusterCIDR = netip.MustParsePrefix("10.244.0.0/16")

// cluster is what a test has: the server, its Nodes and the agents.
type cluster struct {
	*testing.T
	server  *kubetest.Server
	admin   kubernetes.Interface
	config  *rest.Config // of who may do what the manifest says
	proxies []*kubetest.Proxy
	lists   []*atomic.Int64 // of Nodes, by each of the agents
	backend string
	agents  []*winNode
	// created are the Nodes of the agents as they were before the agents saw
	// them, by name.
	created map[string]*corev1.Node
}

// newCluster starts a server with the Nodes of three agents, and the agents.
func newCluster(t *testing.T, backend string, resync time.Duration) *cluster {
	t.Helper()
	c := &cluster{T: t, server: kubetest.New(t), backend: backend, created: map[string]*corev1.Node{}}
	c.admin = c.server.Admin(t)
	c.config = c.server.ConfigOf(t, manifest)
	for i := 1; i <= 3; i++ {
		proxy := c.server.NewProxy(t)
		c.proxies = append(c.proxies, proxy)
		lists := &atomic.Int64{}
		c.lists = append(c.lists, lists)
		kube := kubetest.ClientOf(t, countLists(proxy.Config(c.config), lists))
		w := newWinNode(t, fmt.Sprintf("win-%d", i), netip.PrefixFrom(nodeAddress(10+i), linkBits), netConf(t, backend, clusterCIDR), kube)
		w.resync = resync
		c.agents = append(c.agents, w)
		c.addAgentNode(w, podCIDR(i))
		w.start(t)
	}
	return c
}

// countLists counts how often whoever uses the config asks for all Nodes, not
// for their changes alone.
func countLists(config *rest.Config, lists *atomic.Int64) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			q := r.URL.Query()
			if r.Method == http.MethodGet && r.URL.Path == "/api/v1/nodes" && (q.Get("watch") == "" || q.Get("sendInitialEvents") == "true") {
				lists.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func netConf(tb testing.TB, backend string, network netip.Prefix) *subnetenv.NetConf {
	tb.Helper()
	b := map[string]any{"Type": backend}
	if backend == subnetenv.BackendVXLAN {
		b["VNI"], b["Port"] = vni, vxlanPort
	}
	text, err := json.Marshal(map[string]any{"Network": network, "Backend": b})
	if err != nil {
		tb.Fatal(err)
	}
	conf, err := subnetenv.ParseNetConf(text)
	if err != nil {
		tb.Fatal(err)
	}
	return conf
}

func nodeAddress(last int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(last)}) }

func podCIDR(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(i), 0}), 24)
}

func linuxMAC(i int) net.HardwareAddr { return net.HardwareAddr{0x4e, 0x0a, 0, 0, 1, byte(i)} }

// addAgentNode makes the Node of an agent, as kubelet does on a cloud.
func (c *cluster) addAgentNode(w *winNode, cidr netip.Prefix) {
	c.Helper()
	c.created[w.name] = c.addNode(kubetest.Node{Name: w.name, OS: "windows", Address: w.address, PodCIDRs: []netip.Prefix{cidr}, NetworkUnavailable: true})
}

func (c *cluster) addNode(n kubetest.Node) *corev1.Node {
	c.Helper()
	o, err := c.admin.CoreV1().Nodes().Create(c.Context(), n.Object(), metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return o
}

// addLinux makes the Node lin-i with a lease, as flannel on Linux writes it.
func (c *cluster) addLinux(i, cidr int) {
	c.Helper()
	c.addNode(kubetest.Node{Name: linuxName(i), OS: "linux", Address: nodeAddress(20 + i), PodCIDRs: []netip.Prefix{podCIDR(cidr)}})
	c.lease(i, nodeAddress(20+i), linuxMAC(i))
}

func linuxName(i int) string { return fmt.Sprintf("lin-%d", i) }

// lease writes the lease of lin-i.
func (c *cluster) lease(i int, public netip.Addr, mac net.HardwareAddr) {
	c.Helper()
	l := kubetest.HostGW(public)
	if c.backend == subnetenv.BackendVXLAN {
		l = kubetest.VXLAN(public, mac)
	}
	if err := l.Write(c.Context(), c.admin, linuxName(i)); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) deleteNode(name string) {
	c.Helper()
	if err := c.admin.CoreV1().Nodes().Delete(c.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
}

// patchNode is for what kube-controller-manager writes.
func (c *cluster) patchNode(name string, patch any) {
	c.Helper()
	b, err := json.Marshal(patch)
	if err != nil {
		c.Fatal(err)
	}
	if _, err := c.admin.CoreV1().Nodes().Patch(c.Context(), name, types.StrategicMergePatchType, b, metav1.PatchOptions{}); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) nodes() []corev1.Node {
	c.Helper()
	list, err := c.admin.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return list.Items
}

func (c *cluster) node(ctx context.Context, name string) *corev1.Node {
	c.Helper()
	n, err := c.admin.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return n
}

// eventually polls until f finds nothing wrong, and fails with what it found
// last if that does not come.
func (c *cluster) eventually(what string, f func(context.Context) error) {
	c.Helper()
	over := time.Now().Add(deadline)
	for {
		err := f(c.Context())
		switch {
		case err == nil:
			return
		case time.Now().After(over):
			c.Fatalf("%s: %v", what, err)
		}
		time.Sleep(25 * time.Millisecond) // between two looks; nothing depends on it
	}
}
