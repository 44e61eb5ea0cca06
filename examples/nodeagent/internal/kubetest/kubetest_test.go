package kubetest

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

var linux = Node{Name: "lin-1", OS: "linux", Address: netip.MustParseAddr("192.0.2.21"), PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.3.0/24")}}

func addNode(t *testing.T, client kubernetes.Interface, n Node) *corev1.Node {
	t.Helper()
	o, err := client.CoreV1().Nodes().Create(t.Context(), n.Object(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestRestart: what was written is there after a crash, on the same address.
func TestRestart(t *testing.T) {
	s := New(t)
	client := s.Admin(t)
	made := addNode(t, client, linux)
	s.Kill()
	if _, err := client.CoreV1().Nodes().Get(t.Context(), linux.Name, metav1.GetOptions{}); err == nil {
		t.Fatal("a killed server answers")
	}
	s.Start(t)
	got, err := client.CoreV1().Nodes().Get(t.Context(), linux.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, got); diff != "" {
		t.Error(diff)
	}
}

// TestWatchFallsBehind: a watch that goes on from a state that etcd has
// forgotten, at a server that never knew it, is told so.
func TestWatchFallsBehind(t *testing.T) {
	s := New(t)
	client := s.Admin(t)
	old := addNode(t, client, linux).ResourceVersion
	from := func() error {
		w, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{ResourceVersion: old})
		if err != nil {
			return err
		}
		defer w.Stop()
		e := <-w.ResultChan()
		if e.Type == watch.Error {
			return apierrors.FromObject(e.Object)
		}
		return nil
	}
	if err := VXLAN(linux.Address, net.HardwareAddr{0x4e, 0x0a, 0, 0, 3, 0}).Write(t.Context(), client, linux.Name); err != nil {
		t.Fatal(err)
	}
	if err := from(); err != nil {
		t.Fatalf("before: %v", err)
	}
	s.Kill()
	s.Compact(t)
	s.Start(t)
	if err := from(); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("after: %v, want an error that says Expired", err)
	}
}

// TestProxy: a way that is cut breaks watches and lets nothing through.
func TestProxy(t *testing.T) {
	s := New(t)
	p := s.NewProxy(t)
	client := ClientOf(t, p.Config(s.Config()))
	made := addNode(t, client, linux)
	w, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{ResourceVersion: made.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	if err := HostGW(linux.Address).Write(t.Context(), client, linux.Name); err != nil {
		t.Fatal(err)
	}
	if e := <-w.ResultChan(); e.Type != watch.Modified {
		t.Fatal(e)
	}
	p.Cut()
	for range w.ResultChan() { // until it is closed
	}
	get := func() error {
		_, err := client.CoreV1().Nodes().Get(t.Context(), linux.Name, metav1.GetOptions{})
		return err
	}
	if err := get(); err == nil {
		t.Error("an answer over a way that is cut")
	}
	p.Mend()
	if err := get(); err != nil {
		t.Errorf("mended: %v", err)
	}
}

// TestConfigOf: a service account may do what its manifest says, by its config
// and by the file that programs read.
func TestConfigOf(t *testing.T) {
	s := New(t)
	addNode(t, s.Admin(t), linux)
	config := s.ConfigOf(t, "testdata/rbac.yaml")
	fromFile, err := clientcmd.BuildConfigFromFlags("", Kubeconfig(t, config))
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []kubernetes.Interface{ClientOf(t, config), ClientOf(t, fromFile)} {
		if _, err := client.CoreV1().Nodes().Get(t.Context(), linux.Name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("list: %v, want Forbidden", err)
		}
		if err := HostGW(linux.Address).Write(t.Context(), client, linux.Name); !apierrors.IsForbidden(err) {
			t.Errorf("patch: %v, want Forbidden", err)
		}
	}
}

// TestNode: the server keeps every part of the object, and a lease changes
// nothing beside flannel's annotations.
func TestNode(t *testing.T) {
	s := New(t)
	n := linux
	n.NetworkUnavailable = true
	client := s.Admin(t)
	before := addNode(t, client, n)
	if diff := cmp.Diff(n.Object().Status, before.Status); diff != "" {
		t.Error(diff)
	}
	if err := VXLAN(n.Address, net.HardwareAddr{0x4e, 0x0a, 0, 0, 3, 0}).Write(t.Context(), client, n.Name); err != nil {
		t.Fatal(err)
	}
	after, err := client.CoreV1().Nodes().Get(t.Context(), n.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := before.DeepCopy()
	want.ManagedFields, want.ResourceVersion = after.ManagedFields, after.ResourceVersion
	for k, v := range map[string]string{ // as on a node of flannel v0.28 (kubectl get node -o yaml)
		"flannel.alpha.coreos.com/backend-data":        `{"VNI":4096,"VtepMAC":"4e:0a:00:00:03:00"}`,
		"flannel.alpha.coreos.com/backend-type":        "vxlan",
		"flannel.alpha.coreos.com/public-ip":           "192.0.2.21",
		"flannel.alpha.coreos.com/kube-subnet-manager": "true",
	} {
		want.Annotations[k] = v
	}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Error(diff)
	}
}

// TestProgramThatFails: a server that cannot start says why, at once.
func TestProgramThatFails(t *testing.T) {
	program, _ := programs(t)
	log := t.TempDir() + "/log"
	ctx, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	p, err := run(ctx, log, program, "--no-such-flag")
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if err := p.waitFor(ctx, "kube-apiserver", log, func(context.Context) bool { return false }); err == nil {
		t.Error("no error")
	} else {
		t.Log(err)
	}
	if ctx.Err() != nil {
		t.Errorf("it took %s", time.Since(started))
	}
}
