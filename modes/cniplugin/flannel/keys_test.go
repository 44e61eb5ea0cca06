package flannel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/modes/cniplugin"
)

// The keys of the plugin kit work at flannel's top level as they do in the
// delegate, whose own go before.
func TestKeysAtTheTop(t *testing.T) {
	n := newNode(t)
	log, own, state := filepath.Join(n.dir, "top.log"), filepath.Join(n.dir, "own.log"), filepath.Join(n.dir, "elsewhere")

	n.add(n.pod("sbx-01", `"logFile": `+quote(log)))
	if b, err := os.ReadFile(log); err != nil || len(b) == 0 {
		t.Errorf("log: %q, %v", b, err)
	}

	n.add(n.pod("sbx-02", `"LogFile": `+quote(filepath.Join(n.dir, "unused.log"))+`, "delegate": {"type": "win-bridge", "logFile": `+quote(own)+`}`))
	if b, err := os.ReadFile(own); err != nil || len(b) == 0 {
		t.Errorf("the delegate's own log: %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(n.dir, "unused.log")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("both logs were written: %v", err)
	}

	_, release, err := cniplugin.LockSandbox(t.Context(), cniplugin.DefaultTimeout, filepath.Join(state, "flannel"), "sbx-03")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	_, err = n.plugin.Add(t.Context(), n.pod("sbx-03", `"timeout": "1s", "stateDir": `+quote(state)))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want the lock in stateDir waited for, for the timeout", err)
	}
}

// The delegate's keys beside "delegate" have no effect, and the log says so.
func TestKeysBesideTheDelegate(t *testing.T) {
	n := newNode(t)
	log := filepath.Join(n.dir, "top.log")
	args := n.pod("sbx-01", `"policies": 7`, `"loopbackDSR": true`, `"ipMasq": true`, `"disableCheck": true`, `"logFile": `+quote(log))
	warnings := func() (out []string) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			var entry struct {
				Level, Verb, Container, Network string
				Keys                            []string
			}
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
			if entry.Level == "WARN" && entry.Keys != nil {
				out = append(out, fmt.Sprint(entry.Verb, " ", entry.Container, " ", entry.Network, " ", entry.Keys))
			}
		}
		return out
	}
	n.add(args)
	if err := n.plugin.Status(t.Context(), args); err != nil {
		t.Error(err)
	}
	n.del(args)
	want := []string{"ADD sbx-01 cbr0 [ipMasq loopbackDSR policies]", "STATUS  cbr0 [ipMasq loopbackDSR policies]"}
	if diff := cmp.Diff(want, warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	n.add(n.pod("sbx-02", `"logFile": `+quote(log)))
	if got := warnings(); len(got) > 0 {
		t.Errorf("nothing to warn of, and %v", got)
	}
}
