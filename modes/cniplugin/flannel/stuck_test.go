package flannel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
)

// A DEL with a configuration that no ADD takes has nothing to do, and must
// succeed: else the sandbox never goes.
func TestDelAfterRefusedAdd(t *testing.T) {
	n := newNode(t)
	for _, members := range []string{`"delegate": null`, `"delegate": {"type": ""}`, `"delegate": 5`, `"ipam": 5`, `"dns": 5`, `"prevResult": 5`} {
		args := n.pod("sbx-01", members)
		if _, err := n.plugin.Add(t.Context(), args); codeOf(err) != types.ErrInvalidNetworkConfig {
			t.Errorf("ADD with %s: %v", members, err)
		}
		if err := n.plugin.Del(t.Context(), args); err != nil {
			t.Errorf("DEL with %s: %v", members, err)
		}
	}
}

// What ADD saved is enough for DEL, whatever became of the configuration.
func TestDelOfSpoiltConfiguration(t *testing.T) {
	n := newNode(t)
	for _, members := range []string{`"ipam": 5`, `"delegate": 5`, `"runtimeConfig": []`, `"ipv4Only": "x"`, `"subnetFile": 5`} {
		args := n.pod("sbx-01")
		n.add(args)
		args.StdinData = n.config(members)
		n.del(args)
		if got := n.state(); len(got) > 0 {
			t.Errorf("%s: left %v", members, got)
		}
	}
}

func TestStatus(t *testing.T) {
	n := newNode(t)
	args := n.pod("unused")
	if err := n.plugin.Status(t.Context(), args); err != nil {
		t.Errorf("ready: %v", err)
	}
	args.StdinData = n.config(`"delegate": {"type": "elsewhere"}`)
	if err := n.plugin.Status(t.Context(), args); codeOf(err) != types.ErrInvalidNetworkConfig {
		t.Errorf("a delegate that is nowhere: code %d, %v; want 7", codeOf(err), err)
	}
	// One that is executed is asked, and believed if it is too old for the question.
	fake := &fakeExec{}
	n.plugin.Exec = fake
	args.StdinData = n.config(`"delegate": {"type": "sdnbridge"}`)
	for err, want := range map[error]uint{nil: 0, types.NewError(51, "no fabric", ""): 51, types.NewError(4, "unknown CNI_COMMAND: STATUS", ""): 0} {
		fake.err = err
		if got := n.plugin.Status(t.Context(), args); codeOf(got) != want {
			t.Errorf("%v: code %d, %v; want %d", err, codeOf(got), got, want)
		}
	}
	if len(fake.calls) != 3 || !strings.Contains(fake.calls[0], " STATUS ") {
		t.Errorf("calls %v", fake.calls)
	}
	args.StdinData = n.config()
	n.hns.Stop()
	if err := n.plugin.Status(t.Context(), args); codeOf(err) != 50 {
		t.Errorf("HNS stopped: code %d, %v", codeOf(err), err)
	}
	n.hns.Start()
	if err := os.Remove(filepath.Join(n.dir, "subnet.env")); err != nil {
		t.Fatal(err)
	}
	if err := n.plugin.Status(t.Context(), args); codeOf(err) != 50 {
		t.Errorf("no subnet.env: code %d, %v", codeOf(err), err)
	}
}
