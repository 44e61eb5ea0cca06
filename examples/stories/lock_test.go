package stories_test

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hnskit/hnskit/internal/filelock"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// stateDir is where the configurations of stories about locks keep them.
func (n *node) stateDir() string { return filepath.Join(n.work, "state") }

// cmdHold takes a lock as another process that hangs has it, until release or
// the end of the story.
func cmdHold(ts *testscript.TestScript, neg bool, args []string) {
	n := nodeOf(ts)
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	var release func()
	switch {
	case !neg && len(args) == 1 && args[0] == "hns":
		l, err := filelock.Acquire(ctx, filepath.Join(n.work, "hns.json.lock"))
		ts.Check(err)
		release = func() { _ = l.Release() }
	case !neg && len(args) == 2 && args[0] == "sandbox":
		var err error
		_, release, err = cniplugin.LockSandbox(ctx, commandTimeout, n.stateDir(), args[1])
		ts.Check(err)
	default:
		ts.Fatalf("usage: hold hns | hold sandbox POD")
	}
	n.held = append(n.held, release)
	ts.Defer(n.release)
}

func cmdRelease(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: release")
	}
	nodeOf(ts).release()
}

func (n *node) release() {
	for _, f := range n.held {
		f()
	}
	n.held = nil
}

// cmdStale leaves the sandbox's lock file as a process that was killed leaves it.
func cmdStale(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stale POD")
	}
	n := nodeOf(ts)
	_, release, err := cniplugin.LockSandbox(context.Background(), commandTimeout, n.stateDir(), args[0])
	ts.Check(err)
	files, err := n.files("state")
	release()
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("lock files: %v", files)
	}
	ts.Check(os.WriteFile(files[0], []byte("4242\n"), 0o600))
}
