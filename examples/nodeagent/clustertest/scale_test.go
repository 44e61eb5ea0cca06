package clustertest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/hnskit/hnskit/examples/nodeagent/internal/kubetest"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/subnetenv"
)

// A cluster with room for 1,000 nodes: pod subnets from 10.128.0.0/9, and all
// nodes on one link, as host-gw wants it.
var (
	largeCIDR = netip.MustParsePrefix("10.128.0.0/9")
	largeSelf = netip.MustParsePrefix("172.20.255.10/16")
)

// largeNode is a Linux node with its lease.
func largeNode(i int, backend string) *corev1.Node {
	n := kubetest.Node{Name: fmt.Sprintf("lin-%04d", i), OS: "linux", Address: largeAddress(i),
		PodCIDRs: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 128 + byte(i>>8), byte(i), 0}), 24)}}.Object()
	for k, v := range largeLease(i, 0, backend).Annotations() {
		n.Annotations[k] = v
	}
	return n
}

// largeAddress leaves out the address of the link itself, which is no node's.
func largeAddress(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{172, 20, 1 + byte(i>>8), byte(i)})
}

// largeLease is the lease of node i, and its nth since it joined: the MAC
// address is another, and on host-gw, where there is none, the address.
func largeLease(i, nth int, backend string) kubetest.Lease {
	address := largeAddress(i)
	if backend == subnetenv.BackendVXLAN {
		return kubetest.VXLAN(address, net.HardwareAddr{0x4e, 0x0a, byte(nth >> 8), byte(nth), byte(i >> 8), byte(i)})
	}
	if nth%2 == 1 {
		address = netip.AddrFrom4([4]byte{172, 20, 200, 1})
	}
	return kubetest.HostGW(address)
}

func largeOwn() *corev1.Node {
	return kubetest.Node{Name: "win-1", OS: "windows", Address: largeSelf.Addr(), PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.255.255.0/24")}}.Object()
}

// largeFake is a fake API server with n nodes beside the agent's own.
func largeFake(n int, backend string) *fake.Clientset {
	client := fake.NewClientset(largeOwn(), &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"},
		Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{kubetest.ServiceCIDR}}})
	for i := range n {
		if err := client.Tracker().Add(largeNode(i, backend)); err != nil {
			panic(err) // of objects that differ: never
		}
	}
	return client
}

func newLargeNode(tb testing.TB, backend string, kube kubernetes.Interface) *winNode {
	tb.Helper()
	return newWinNode(tb, "win-1", largeSelf, netConf(tb, backend, largeCIDR), kube)
}

// waitFor polls the agent's status. The interval is the error of the times that
// the benchmarks print.
func (w *winNode) waitFor(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for over := time.Now().Add(deadline); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(over) {
			s := w.agent.Status()
			tb.Fatalf("%s: ready %t, %s, error %v", what, s.Ready, s.Report, s.Err)
		}
	}
}

// leads is whether there is a way to n nodes.
func (w *winNode) leads(n int) func() bool {
	return func() bool {
		s := w.agent.Status()
		return s.Ready && s.Err == nil && s.Report.Added+s.Report.Changed+s.Report.Kept == n
	}
}

// counted is whether a counter of package node has reached a number.
func (w *winNode) counted(name string, n int) func() bool {
	return func() bool { return w.agent.Status().Err == nil && w.counters.Snapshot()[name] == uint64(n) }
}

// TestCallsDoNotGrowWithTheCluster holds how many requests HNS gets. From empty
// they are as many as there are batches of 64 ways; for a Node that changes they
// are the same few for 100 nodes and for 1,000.
func TestCallsDoNotGrowWithTheCluster(t *testing.T) {
	backends(t, func(t *testing.T, backend string) {
		for _, n := range []int{100, 1000} {
			t.Run(fmt.Sprint(n), func(t *testing.T) { holdCalls(t, n, backend) })
		}
	})
}

func holdCalls(t *testing.T, n int, backend string) {
	ctx := t.Context()
	kube := largeFake(n, backend)
	w := newLargeNode(t, backend, kube)
	w.start(t)
	w.waitFor(t, "from empty", w.leads(n))
	// The network (and on host-gw the node's endpoint, that is made and
	// attached), VXLAN's port, and the ways, which on host-gw are not in HNS.
	most := 4
	if w.overlay() {
		most = 3 + (n+63)/64
	}
	if did := w.changes(); len(did) > most {
		t.Errorf("from empty: %d changes of HNS, want at most %d: %v", len(did), most, did)
	}
	all := len(w.hns.Calls())
	if most := 2*most + 40; all > most {
		t.Errorf("from empty: %d requests, want at most %d", all, most)
	}
	t.Logf("from empty: %d requests, %d of them changes", all, len(w.changes()))

	for _, step := range []struct {
		what    string
		do      func() error
		done    func() bool
		changes int // of HNS, on Overlay
	}{
		{"one changes", func() error { return largeLease(7, 1, backend).Write(ctx, kube, "lin-0007") }, w.counted(node.CountRoutesChanged, 1), 2},
		{"one leaves", func() error { return kube.CoreV1().Nodes().Delete(ctx, "lin-0008", metav1.DeleteOptions{}) }, w.counted(node.CountRoutesRemoved, 1), 1},
		{"one joins", func() error {
			_, err := kube.CoreV1().Nodes().Create(ctx, largeNode(n, backend), metav1.CreateOptions{})
			return err
		}, w.counted(node.CountRoutesAdded, n+1), 1},
	} {
		w.hns.ResetCalls()
		before := w.agent.Status().Syncs
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		w.waitFor(t, step.what, step.done)
		changes := step.changes
		if !w.overlay() {
			changes = 0
		}
		if did := w.changes(); len(did) != changes {
			t.Errorf("%s: %d changes of HNS, want %d: %v", step.what, len(did), changes, did)
		}
		// A look at everything may have been due from before, or go on now.
		looks := int(w.agent.Status().Syncs-before) + 2
		if all := len(w.hns.Calls()); all > looks*4 {
			t.Errorf("%s: %d requests for %d looks at everything, want at most 4 each", step.what, all, looks)
		}
	}
}

// TestNoBatchBound: with no bound to a request, all ways are one.
func TestNoBatchBound(t *testing.T) {
	const n = 1000
	w := newLargeNode(t, subnetenv.BackendVXLAN, largeFake(n, subnetenv.BackendVXLAN))
	w.batch = -1
	w.start(t)
	w.waitFor(t, "from empty", w.leads(n))
	if did := w.changes(); len(did) > 4 {
		t.Errorf("%d changes of HNS, want at most 4: %v", len(did), did)
	}
}

// largeKube is a real API server with n nodes if there is one, else a fake one.
func largeKube(b *testing.B, n int, backend string) (admin, agent kubernetes.Interface) {
	b.Helper()
	if !kubetest.Available() {
		client := largeFake(n, backend)
		return client, client
	}
	s := kubetest.New(b)
	admin = s.Admin(b)
	for i := range n {
		if _, err := admin.CoreV1().Nodes().Create(b.Context(), largeNode(i, backend), metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := admin.CoreV1().Nodes().Create(b.Context(), largeOwn(), metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	return admin, kubetest.ClientOf(b, s.ConfigOf(b, manifest))
}

func eachSize(b *testing.B, f func(b *testing.B, n int, backend string)) {
	server := "fake"
	if kubetest.Available() {
		server = "real"
	}
	for _, backend := range []string{subnetenv.BackendVXLAN, subnetenv.BackendHostGW} {
		for _, n := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%s/server=%s/nodes=%d", backend, server, n), func(b *testing.B) { f(b, n, backend) })
		}
	}
}

// BenchmarkFromEmpty is an agent's first start on a node of a cluster: until all
// ways are there and its Node tells of it.
func BenchmarkFromEmpty(b *testing.B) {
	eachSize(b, func(b *testing.B, n int, backend string) {
		_, kube := largeKube(b, n, backend)
		var calls, changes, heap int
		for b.Loop() {
			b.StopTimer()
			before := heapInUse()
			w := newLargeNode(b, backend, kube)
			b.StartTimer()
			w.start(b)
			w.waitFor(b, "from empty", w.leads(n))
			b.StopTimer()
			calls += len(w.hns.Calls())
			changes += len(w.changes())
			w.hns.ResetCalls() // the emulator's log is none of the agent's memory
			heap += heapInUse() - before
			w.stop()
			b.StartTimer()
		}
		b.ReportMetric(float64(calls)/float64(b.N), "hns-calls/op")
		b.ReportMetric(float64(changes)/float64(b.N), "hns-changes/op")
		b.ReportMetric(float64(heap)/float64(b.N)/(1<<20), "heap-MB")
	})
}

// heapInUse is what is reachable, the emulated HNS included.
func heapInUse() int {
	runtime.GC()
	runtime.GC() // what finalizers let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// BenchmarkOneChange is one Node whose lease changes: until the way is right.
func BenchmarkOneChange(b *testing.B) {
	eachSize(b, func(b *testing.B, n int, backend string) {
		admin, kube := largeKube(b, n, backend)
		w := newLargeNode(b, backend, kube)
		w.start(b)
		w.waitFor(b, "from empty", w.leads(n))
		calls, nth := 0, 0
		for b.Loop() {
			nth++
			w.hns.ResetCalls()
			if err := largeLease(7, nth, backend).Write(context.Background(), admin, "lin-0007"); err != nil {
				b.Fatal(err)
			}
			w.waitFor(b, "one change", w.counted(node.CountRoutesChanged, nth))
			calls += len(w.hns.Calls())
		}
		b.ReportMetric(float64(calls)/float64(b.N), "hns-calls/op")
	})
}
