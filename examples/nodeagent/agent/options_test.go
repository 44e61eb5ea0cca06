package agent

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/subnetenv"
)

// TestOptions: what is wrong is said all at once, by name, and nothing is done.
func TestOptions(t *testing.T) {
	_, err := New(Options{NodeName: "Win_1", AnnotationPrefix: "a/b/c", Resync: -1, Debounce: -1,
		PublicIP: netip.MustParseAddr("fd00::1"), CanReach: netip.MustParseAddr("0.0.0.0"),
		NetConf: &subnetenv.NetConf{Backend: "alloc", IPv6Network: netip.MustParsePrefix("fd00::/48")}})
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{`NodeName: "Win_1"`, "Client: missing", "HNS: missing", "Host: missing", `NetConf.Backend: "alloc"`, "NetConf.Network",
		"PublicIP: fd00::1", "CanReach: 0.0.0.0", "Resync: -1ns", "Debounce: -1ns", `AnnotationPrefix: "a/b/c"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %s in:\n%v", want, err)
		}
	}
}

// TestAnnotationPrefix takes what flanneld takes for --kube-annotation-prefix.
func TestAnnotationPrefix(t *testing.T) {
	for prefix, want := range map[string]string{
		"":                            "flannel.alpha.coreos.com/backend-type",
		"flannel.alpha.coreos.com":    "flannel.alpha.coreos.com/backend-type",
		"flannel.alpha.coreos.com/":   "flannel.alpha.coreos.com/backend-type",
		"flannel.example.com/blue":    "flannel.example.com/blue-backend-type",
		"flannel.example.com/blue-":   "flannel.example.com/blue-backend-type",
		"flannel.example.com/a/b":     "",
		"flannel example":             "",
		"https://flannel.example.com": "",
	} {
		got, err := newAnnotations(prefix)
		if got.backendType != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", prefix, got.backendType, err)
		}
	}
}
