package flannel_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

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
