package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestNodeName(t *testing.T) {
	pods := []runtime.Object{
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-flannel", Name: "p"}, Spec: corev1.PodSpec{NodeName: "win-2"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-flannel", Name: "pending"}},
	}
	for _, tt := range []struct {
		name    string
		environ environment
		want    string
		says    string
	}{
		{"by name", environment{"NODE_NAME=win-1", "POD_NAME=p", "POD_NAMESPACE=kube-flannel"}, "win-1", ""},
		{"by pod", environment{"POD_NAME=p", "POD_NAMESPACE=kube-flannel"}, "win-2", ""},
		{"not at all", nil, "", "set NODE_NAME, or POD_NAME and POD_NAMESPACE"},
		{"half a pod", environment{"POD_NAME=p"}, "", "set NODE_NAME, or POD_NAME and POD_NAMESPACE"},
		{"no such pod", environment{"POD_NAME=q", "POD_NAMESPACE=kube-flannel"}, "", `pod kube-flannel/q: pods "q" not found`},
		{"a pod on no node", environment{"POD_NAME=pending", "POD_NAMESPACE=kube-flannel"}, "", "pod kube-flannel/pending is on none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := nodeName(t.Context(), tt.environ, fake.NewClientset(pods...), quiet())
			if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q, %v; want %q, %q", got, err, tt.want, tt.says)
			}
		})
	}
}

// An API server that is not there yet is waited for.
func TestNodeNameWaits(t *testing.T) {
	c := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}, Spec: corev1.PodSpec{NodeName: "win-1"}})
	asked := 0
	c.PrependReactor("get", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		asked++
		return asked == 1, nil, apierrors.NewServiceUnavailable("starting")
	})
	if got, err := nodeName(t.Context(), environment{"POD_NAME=p", "POD_NAMESPACE=n"}, c, quiet()); got != "win-1" || err != nil || asked != 2 {
		t.Errorf("%q, %v after %d questions", got, err, asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.PrependReactor("get", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		cancel()
		return true, nil, apierrors.NewServiceUnavailable("starting")
	})
	if got, err := nodeName(ctx, environment{"POD_NAME=p", "POD_NAMESPACE=n"}, c, quiet()); got != "" || err == nil {
		t.Errorf("told to stop: %q, %v", got, err)
	}
}

// Files that volumes bring are found where containerd puts them for a HostProcess
// container: at their paths since 1.7, before that below a directory that a
// variable names.
func TestMounted(t *testing.T) {
	root, host := t.TempDir(), t.TempDir()
	both, mountedOnly, none := filepath.Join(host, "both"), filepath.Join(host, "mounted"), filepath.Join(host, "none")
	below := func(path string) string {
		return filepath.Join(root, strings.TrimPrefix(path, filepath.VolumeName(path)))
	}
	for _, path := range []string{both, below(both), below(mountedOnly)} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := environment{mountPoint + "=" + root}
	for _, tt := range []struct {
		env        environment
		path, want string
	}{
		{in, both, both}, {in, mountedOnly, below(mountedOnly)}, {in, none, none},
		{nil, both, both}, {nil, mountedOnly, mountedOnly},
	} {
		if got := tt.env.mounted(tt.path); got != tt.want {
			t.Errorf("%v, %s: %s, want %s", tt.env, tt.path, got, tt.want)
		}
	}
}

func TestKubeConfig(t *testing.T) {
	root := t.TempDir()
	account := filepath.Join(root, filepath.FromSlash(serviceAccount))
	pod := environment{"KUBERNETES_SERVICE_HOST=fd00::1", "KUBERNETES_SERVICE_PORT=443", mountPoint + "=" + root}
	if _, err := (&config{}).kubeConfig(pod); err == nil || !strings.Contains(err.Error(), "the pod's service account") {
		t.Errorf("without a service account: %v", err)
	}
	if err := os.MkdirAll(account, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"token", "ca.crt"} {
		if err := os.WriteFile(filepath.Join(account, name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := (&config{}).kubeConfig(pod)
	if err != nil {
		t.Fatal(err)
	}
	if got.Host != "https://[fd00::1]:443" || got.BearerToken != "secret" || got.BearerTokenFile != filepath.Join(account, "token") || got.CAFile != filepath.Join(account, "ca.crt") {
		t.Errorf("in a pod: %+v", got)
	}
	// A flag goes before the pod's account.
	got, err = (&config{kubeAPIURL: "http://192.0.2.1:8080"}).kubeConfig(pod)
	if err != nil || got.Host != "http://192.0.2.1:8080" || got.BearerToken != "" || !strings.HasPrefix(got.UserAgent, "hnskit-nodeagent/") {
		t.Errorf("with --kube-api-url: %+v, %v", got, err)
	}
}
