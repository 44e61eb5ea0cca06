package ipam_test

// GC and STATUS with the real host-local plugin.

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/internal/filelock"
	"github.com/hnskit/hnskit/ipam"
)

// add allocates for an interface of a container.
func (n *realNetwork) add(id, ifName string) {
	n.t.Helper()
	req := n.request(id)
	req.IfName = ifName
	if _, err := n.ipam.Allocate(n.t.Context(), req); err != nil {
		n.t.Fatal(err)
	}
}

// put writes a lease file as something other than today's host-local does.
func (n *realNetwork) put(name, text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dataDir, "lake", name), []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// owners lists "container/interface" of the leases, sorted by address.
func owners(leases []ipam.StoredLease) []string {
	var out []string
	for _, l := range leases {
		out = append(out, l.ContainerID+"/"+l.IfName)
	}
	return out
}

// TestHostLocalKnowsNoGC is why Delegated does not rely on its answer.
func TestHostLocalKnowsNoGC(t *testing.T) {
	n := newRealNetwork(t, "1.1.0", `{"type":"host-local","subnet":"10.71.3.0/24"}`)
	n.add("sbx-01", "eth0")
	req := n.request("")
	// A name that is not host-local's keeps Delegated from reading the leases.
	plugin, err := os.ReadFile(filepath.Join(n.plugins, "host-local"))
	if err != nil {
		if plugin, err = os.ReadFile(filepath.Join(n.plugins, "host-local.exe")); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lake-ipam.exe"), plugin, 0o700); err != nil {
		t.Fatal(err)
	}
	req.Config = bytes.Replace(n.conf, []byte(`"host-local"`), []byte(`"lake-ipam.exe"`), 1)
	req.PluginPath = []string{dir}
	if err := n.ipam.GC(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if left := n.leases(); len(left) != 1 {
		t.Errorf("host-local's GC leaves %v; if it works by now, say so in the documentation", left)
	}
}

// TestGC removes the leases of what is gone, and no others, in every version of
// the configuration and also of what no DEL can name (containernetworking/cni#204,
// #306: leases piled up until the range was full).
func TestGC(t *testing.T) {
	for _, version := range []string{"", "0.1.0", "0.4.0", "1.0.0", "1.1.0"} {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			n := newRealNetwork(t, version, `{"type":"host-local","ranges":[[{"subnet":"10.71.3.0/24"}],[{"subnet":"fd00:71::/64"}]]}`)
			n.add("sbx-01", "eth0") // .2
			n.add("sbx-01", "eth1")
			n.add("sbx-02", "eth0") // .4
			n.add("sbx-03", "eth0")
			n.put("10.71.3.100", "sbx-04") // very old, valid
			n.put("10.71.3.101", "sbx-05") // very old, stale
			n.put("10.71.3.102", "")       // a host-local was killed here
			n.put("10.71.3.103", "\x00\x00\x00")
			other := *n
			other.conf = bytes.Replace(n.conf, []byte(`"lake"`), []byte(`"pond"`), 1)
			other.add("sbx-03", "eth0")

			valid := []ipam.Attachment{{"sbx-01", "eth0"}, {"sbx-02", "eth0"}, {"sbx-04", "eth0"}, {"sbx-99", "eth0"}}
			for range 2 { // the second time there is nothing to do
				if err := n.ipam.GC(t.Context(), n.request(""), valid); err != nil {
					t.Fatal(err)
				}
				want := []string{"sbx-01/eth0", "sbx-02/eth0", "sbx-04/", "sbx-01/eth0", "sbx-02/eth0"}
				if diff := cmp.Diff(want, owners(n.leases())); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
			foreign, err := ipam.Leases(n.dataDir, "pond")
			if diff := cmp.Diff([]string{"sbx-03/eth0", "sbx-03/eth0"}, owners(foreign)); diff != "" || err != nil {
				t.Errorf("leases of another network, %v (-want +got):\n%s", err, diff)
			}
			n.add("sbx-03", "eth0") // the plugin goes on working
			if err := n.ipam.GC(t.Context(), n.request(""), nil); err != nil || len(n.leases()) != 0 {
				t.Errorf("nothing is valid: %v, leases %v", err, n.leases())
			}
		})
	}
}

// TestReleaseRemovesEmptyLeases: a host-local that was killed while it made a lease
// leaves an empty file, which its own DEL passes over.
func TestReleaseRemovesEmptyLeases(t *testing.T) {
	n := newRealNetwork(t, "1.0.0", `{"type":"host-local","subnet":"10.71.3.0/24"}`)
	n.add("sbx-01", "eth0")
	n.put("10.71.3.102", "")
	gone := n.request("sbx-02")
	gone.IfName = "eth0"
	if err := n.ipam.Release(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sbx-01/eth0"}, owners(n.leases())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGCWithoutRanges: the runtime gives them (capability ipRanges) in ADD alone,
// or somebody has broken them since.
func TestGCWithoutRanges(t *testing.T) {
	n := newRealNetwork(t, "1.1.0", `{"type":"host-local","subnet":"10.71.3.0/24"}`)
	n.add("sbx-01", "eth0")
	n.conf = bytes.Replace(n.conf, []byte("10.71.3.0/24"), []byte("10.71.3.0/99"), 1)
	if err := n.ipam.GC(t.Context(), n.request(""), nil); err != nil || len(n.leases()) != 0 {
		t.Errorf("%v, leases %v", err, n.leases())
	}
}

func TestGCOfUnusedNetwork(t *testing.T) {
	n := newRealNetwork(t, "1.1.0", `{"type":"host-local","subnet":"10.71.3.0/24"}`)
	if err := n.ipam.GC(t.Context(), n.request(""), nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(n.dataDir, "lake")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("GC makes the directory of leases: %v", err)
	}
}

// TestGCWaitsForThePlugin: a lease without an owner may be one that host-local is
// about to write, as long as somebody has its lock.
func TestGCWaitsForThePlugin(t *testing.T) {
	n := newRealNetwork(t, "1.1.0", `{"type":"host-local","subnet":"10.71.3.0/24"}`)
	n.add("sbx-01", "eth0")
	n.put("10.71.3.102", "")
	lock, err := filelock.Acquire(t.Context(), filepath.Join(n.dataDir, "lake", "lock"))
	if err != nil {
		t.Fatal(err)
	}
	valid := []ipam.Attachment{{"sbx-01", "eth0"}, {"sbx-01", "eth1"}}
	// Long enough to come to the lock; if it is not, the outcome is the same.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := n.ipam.GC(ctx, n.request(""), valid); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"sbx-01/eth0", "/"}, owners(n.leases())); diff != "" {
		t.Errorf("while the lock is held (-want +got):\n%s", diff)
	}
	done := make(chan error)
	go func() { done <- n.ipam.GC(t.Context(), n.request(""), valid) }()
	n.put("10.71.3.102", "sbx-01\r\neth1") // the owner is written in the end
	if err := errors.Join(lock.Release(), <-done); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"sbx-01/eth0", "sbx-01/eth1"}, owners(n.leases())); diff != "" {
		t.Errorf("after the plugin had its time (-want +got):\n%s", diff)
	}
}

// TestStatusOfHostLocal: only what makes every ADD fail is an error.
func TestStatusOfHostLocal(t *testing.T) {
	n := newRealNetwork(t, "1.1.0", `{"type":"host-local","subnet":"10.71.3.0/29"}`)
	if err := n.ipam.Status(t.Context(), n.request("")); err != nil {
		t.Errorf("before the first pod: %v", err)
	}
	n.drain()
	if err := n.ipam.Status(t.Context(), n.request("")); err != nil {
		t.Errorf("all addresses taken: %v", err)
	}
	file := filepath.Join(n.dataDir, "pond")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.conf = bytes.Replace(n.conf, []byte(`"lake"`), []byte(`"pond"`), 1)
	_, addErr := n.ipam.Allocate(t.Context(), n.request("sbx-01"))
	err := n.ipam.Status(t.Context(), n.request(""))
	if addErr == nil || err == nil || !strings.Contains(err.Error(), "pond") || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a file in the directory's place: ADD %v, STATUS %v", addErr, err)
	}
}
