package flannel_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

func (n *node) gc(list string, members ...string) error {
	return n.plugin.GC(context.Background(), &skel.CmdArgs{StdinData: n.config(append(members, `"cniVersion": "1.1.0"`, `"cni.dev/valid-attachments": `+list)...)})
}

// GC takes pods that are stale: with their scratch files, without them, and those of
// upstream's plugin; subnet.env need not be there.
func TestGC(t *testing.T) {
	n := newNode(t)
	n.add(n.pod("live"))
	before := n.state()
	n.add(n.pod("stale"))
	n.add(n.pod("lost"))
	n.add(n.pod("upstream"))
	for _, id := range []string{"lost", "upstream"} {
		if err := os.Remove(filepath.Join(n.dir, "scratch", id+"@cbr0@eth0.json")); err != nil {
			t.Fatal(err)
		}
	}
	n.write("scratch/upstream", `{"name": "cbr0", "type": "win-bridge", "ipam": {"type": "host-local"}}`)
	n.write("scratch/elsewhere", `{"name": "cbr1", "type": "win-bridge", "ipam": {"type": "host-local"}}`)
	if err := os.Remove(filepath.Join(n.dir, "subnet.env")); err != nil {
		t.Fatal(err)
	}
	if err := n.gc(`[{"containerID": "live", "ifname": "eth0"}]`); err != nil {
		t.Error(err)
	}
	want := append(before, "file elsewhere")
	slices.Sort(want)
	if diff := cmp.Diff(want, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := n.gc(`[]`); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"file elsewhere"}, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Without the list nothing goes.
func TestGCWithoutList(t *testing.T) {
	n := newNode(t)
	n.add(n.pod("stale"))
	before := n.state()
	err := n.plugin.GC(t.Context(), &skel.CmdArgs{StdinData: n.config(`"cniVersion": "1.1.0"`)})
	if codeOf(err) != types.ErrInvalidNetworkConfig || !strings.Contains(err.Error(), "cni.dev/valid-attachments") {
		t.Errorf("code %d, %v; want 7", codeOf(err), err)
	}
	if diff := cmp.Diff(before, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What is busy, or cannot be removed, stays whole: endpoint, lease and scratch file.
func TestReconcileLeaves(t *testing.T) {
	n := newNode(t)
	n.add(n.pod("busy"))
	n.add(n.pod("stuck"))
	n.add(n.pod("stale"))
	_, unlock, err := cniplugin.TryLockSandbox(t.Context(), filepath.Join(n.dir, "state", "flannel"), "busy")
	if err != nil {
		t.Fatal(err)
	}
	stuck, err := n.client.Endpoints.ByName(t.Context(), "stuck_cbr0")
	if err != nil {
		t.Fatal(err)
	}
	remove := n.hns.Inject(emulator.Fault{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, Code: hns.CodeAccessDenied, Times: -1,
		Match: func(r hns.Request) bool { return r.ID == stuck.ID }})
	report, err := n.plugin.Reconcile(t.Context(), n.config(), nil)
	if !errors.Is(err, hns.ErrDenied) {
		t.Errorf("error %v, want ErrDenied", err)
	}
	var got []string
	for _, f := range report.Removed {
		got = append(got, "removed "+filepath.Base(f.Name))
	}
	for _, f := range report.Left {
		got = append(got, "left "+filepath.Base(f.Name)+" "+string(f.Reason))
	}
	slices.Sort(got)
	want := []string{"left busy@cbr0@eth0.json sandbox is busy", "left stuck@cbr0@eth0.json failed", "removed stale@cbr0@eth0.json"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	state := slices.DeleteFunc(n.state(), func(s string) bool { return strings.HasSuffix(s, ".lock") })
	if len(state) != 6 || slices.ContainsFunc(state, func(s string) bool { return strings.Contains(s, "stale") }) {
		t.Errorf("left %v", state)
	}
	unlock()
	remove()
	if _, err := n.plugin.Reconcile(t.Context(), n.config(), []ipam.Attachment{}); err != nil {
		t.Error(err)
	}
	if left := n.state(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A delegate that is executed gets its own DEL for each file, and then GC with the
// list; one that does not know GC is not wrong.
func TestGCOfExecutedDelegate(t *testing.T) {
	n := newNode(t)
	fake := &fakeExec{result: `{"cniVersion": "1.1.0", "ips": [{"address": "10.50.3.9/24"}]}`}
	n.plugin.Exec = fake
	const delegate, version = `"delegate": {"type": "sdnbridge"}`, `"cniVersion": "1.1.0"`
	for _, id := range []string{"live", "stale"} {
		n.add(n.pod(id, delegate, version))
	}
	fake.calls, fake.configs = nil, nil
	if err := n.gc(`[{"containerID": "live", "ifname": "eth0"}]`, delegate); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"sdnbridge DEL stale eth0  ", "sdnbridge GC    "}, fake.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if !strings.Contains(fake.configs[1], `"cni.dev/valid-attachments":[{"containerID":"live","ifname":"eth0"}]`) ||
		strings.Contains(fake.configs[0], "valid-attachments") {
		t.Errorf("configurations %v", fake.configs)
	}
	fake.err = types.NewError(4, "unknown CNI_COMMAND: GC", "")
	if err := n.gc(`[{"containerID": "live", "ifname": "eth0"}]`, delegate); err != nil {
		t.Error(err)
	}
	fake.err = nil
	if _, err := n.plugin.Reconcile(t.Context(), n.config(delegate), nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Reconcile: %v, want ErrUnsupported", err)
	}
}

// Container ids that are no names of files are ids all the same.
func TestStrangeContainerIDs(t *testing.T) {
	n := newNode(t)
	for _, id := range []string{"con", "NUL.txt", strings.Repeat("a", 300), "a."} {
		args := n.pod(id)
		n.add(args)
		n.add(args)
		n.del(args)
		if left := n.state(); len(left) > 0 {
			t.Errorf("%.20s: left %v", id, left)
		}
		args.IfName = "a/b"
		if _, err := n.plugin.Add(t.Context(), args); codeOf(err) != types.ErrInvalidEnvironmentVariables || !strings.Contains(err.Error(), "CNI_IFNAME") {
			t.Errorf("code %d, %v; want 4 and CNI_IFNAME", codeOf(err), err)
		}
	}
}
