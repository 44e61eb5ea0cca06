package flannel_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// DEL with whatever is left of what ADD wrote (flannel-io/cni-plugin#43,
// containernetworking/cni#306).
func TestDelOfWhatIsLeft(t *testing.T) {
	tests := map[string]func(n *node, scratch string) error{
		"all":           func(*node, string) error { return nil },
		"no subnet.env": func(n *node, _ string) error { return os.Remove(filepath.Join(n.dir, "subnet.env")) },
		"no scratch":    func(_ *node, scratch string) error { return os.Remove(scratch) },
		"empty scratch": func(_ *node, scratch string) error { return os.WriteFile(scratch, nil, 0o600) },
		"torn scratch":  func(_ *node, scratch string) error { return os.WriteFile(scratch, []byte(`{"na`), 0o600) },
		"useless":       func(_ *node, scratch string) error { return os.WriteFile(scratch, []byte(`{"name": "cbr0"}`), 0o600) },
		"another's": func(_ *node, scratch string) error {
			return os.WriteFile(scratch, []byte(`{"name": "x", "type": "y"}`), 0o600)
		},
		"no directories": func(n *node, _ string) error {
			return errors.Join(os.RemoveAll(filepath.Join(n.dir, "scratch")), os.RemoveAll(filepath.Join(n.dir, "state")))
		},
	}
	for name, happen := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			args := n.pod("sbx-01")
			n.add(args)
			found, err := filepath.Glob(filepath.Join(n.dir, "scratch", "*"))
			if err != nil || len(found) != 1 {
				t.Fatalf("scratch files %v, %v", found, err)
			}
			if err := happen(n, found[0]); err != nil {
				t.Fatal(err)
			}
			args.Netns = ""
			n.del(args)
			if got := n.state(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
		})
	}
}

// The configuration was spoilt since: DEL goes by what ADD gave to the delegate.
func TestDelWithSpoiltConfig(t *testing.T) {
	n := newNode(t)
	args := n.pod("sbx-01")
	n.add(args)
	args.StdinData = n.config(`"delegate": {"type": "win-bridge", "name": "x", "policies": 7}`)
	n.del(args)
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// A pod that upstream's flannel and win-bridge made: its scratch file is named
// after the container alone.
func TestDelOfUpstreamsPod(t *testing.T) {
	n := newNode(t)
	args := n.pod("sbx-01")
	n.add(args)
	conf := n.scratch()
	if err := os.RemoveAll(filepath.Join(n.dir, "scratch")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(n.dir, "scratch"), 0o700); err != nil {
		t.Fatal(err)
	}
	n.write(filepath.Join("scratch", "sbx-01"), conf)
	if err := n.plugin.Check(t.Context(), n.withResult(args)); err != nil {
		t.Error(err)
	}
	n.del(args)
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// An ADD that fails takes its scratch file along, if nothing else is left, and
// puts an older one back.
func TestScratchOfFailedAdd(t *testing.T) {
	fault := func(n *node) { // the endpoint is made, and nobody knows
		n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Code: hns.CodeRPCCallFailed, After: true})
		n.hns.Inject(emulator.Fault{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, Code: hns.CodeRPCCallFailed})
	}
	tests := []struct {
		name   string
		happen func(*node)
		want   []string
	}{
		{"IPAM fails", func(n *node) { n.books.fail = errors.New("full") }, nil},
		{"HNS fails", func(n *node) {
			n.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNamespace, Code: hns.CodeDegraded})
		}, nil},
		{"the endpoint stays", fault, []string{"endpoint sbx-01_cbr0 [10.50.3.3]", "file sbx-01@cbr0@eth0.json", "lease cbr0/sbx-01/eth0 10.50.3.3/24"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			tt.happen(n)
			args := n.pod("sbx-01")
			if _, err := n.plugin.Add(t.Context(), args); err == nil {
				t.Fatal("succeeded")
			}
			got := n.state()
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ADD left (-want +got):\n%s", diff)
			}
			n.del(args)
			if got := n.state(); len(got) > 0 {
				t.Errorf("DEL left %v", got)
			}
		})
	}
	t.Run("repeated", func(t *testing.T) {
		n := newNode(t)
		args := n.pod("sbx-01")
		n.add(args)
		want, state := n.scratch(), n.state()
		n.write("subnet.env", strings.Replace(subnetEnv, "1450", "1400", 1))
		n.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNamespace, Code: hns.CodeDegraded})
		if _, err := n.plugin.Add(t.Context(), args); err == nil {
			t.Fatal("succeeded")
		}
		if diff := cmp.Diff(want, n.scratch()); diff != "" {
			t.Errorf("scratch (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(state, n.state()); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
	})
}

// Two flannel networks of one sandbox, and a second interface that is refused:
// each has a file of its own.
func TestSeveralAttachments(t *testing.T) {
	n := newNode(t)
	n.network("cbr1", "10.50.3.0/24")
	first, second := n.pod("sbx-01"), n.pod("sbx-01", `"name": "cbr1"`)
	second.IfName = "net1"
	n.add(first)
	n.add(second)
	want := n.state()
	third := n.pod("sbx-01")
	third.IfName = "net2"
	if _, err := n.plugin.Add(t.Context(), third); err == nil {
		t.Error("a second interface on cbr0 was not refused")
	}
	if diff := cmp.Diff(want, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	n.del(first)
	if got := n.state(); len(got) != 3 || !strings.Contains(strings.Join(got, " "), "sbx-01@cbr1@net1.json") {
		t.Errorf("state %v", got)
	}
	n.del(second)
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// CHECK needs what ADD gave to the delegate.
func TestCheckWithoutScratch(t *testing.T) {
	n := newNode(t)
	args := n.pod("sbx-01")
	check := n.withResult(args)
	if err := os.RemoveAll(filepath.Join(n.dir, "scratch")); err != nil {
		t.Fatal(err)
	}
	if err := n.plugin.Check(t.Context(), check); codeOf(err) != cniplugin.CodeCheckFailed || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("code %d, %v; want 101", codeOf(err), err)
	}
}

// The scratch file is for the node's services alone.
func TestScratchMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes do nothing here")
	}
	n := newNode(t)
	n.add(n.pod("sbx-01"))
	for name, want := range map[string]os.FileMode{"scratch": 0o700, "scratch/sbx-01@cbr0@eth0.json": 0o600} {
		if info, err := os.Stat(filepath.Join(n.dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}
