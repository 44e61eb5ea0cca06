package cniplugin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

func lockSandbox(ctx context.Context, tb testing.TB, dir, id string) (context.Context, func()) {
	tb.Helper()
	locked, release, err := cniplugin.LockSandbox(ctx, time.Minute, dir, id)
	if err != nil {
		tb.Fatal(err)
	}
	return locked, release
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "locks", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The lock keeps others out, a plugin too, but not the plugin that is called with
// the context; it and its file go with release.
func TestLockSandbox(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	ctx, release := lockSandbox(t.Context(), t, n.plugin.StateDir, "sbx-01")

	if _, err := p.add(soon); codeOf(err) != types.ErrTryAgainLater || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "sandbox sbx-01 is busy") {
		t.Errorf("code %d, %v; want 11 and busy", codeOf(err), err)
	}
	n.pod("sbx-02").mustAdd()

	// In any spelling of the directory.
	n.plugin.StateDir += string(filepath.Separator) + "."
	if _, err := p.addUntil(ctx); err != nil {
		t.Error(err)
	}
	if got := files(t, n.plugin.StateDir); len(got) != 1 {
		t.Errorf("files of locks: %v", got)
	}
	again, releaseAgain := lockSandbox(ctx, t, n.plugin.StateDir, "sbx-01")
	releaseAgain() // does nothing
	if again.Value("x") != nil || len(files(t, n.plugin.StateDir)) != 1 {
		t.Error("the inner release gave the lock back")
	}
	release()
	if got := files(t, n.plugin.StateDir); len(got) > 0 {
		t.Errorf("left %v", got)
	}
	p.mustAdd()
}

// Lock files do not pile up, whatever becomes of the verbs.
func TestLockFilesGo(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	n.ipam.on("ADD", before(errBroken), panics)
	for range 2 {
		if _, err := p.add(); err == nil {
			t.Error("succeeded")
		}
	}
	p.mustAdd()
	if err := p.check(p.mustAdd()); err != nil {
		t.Error(err)
	}
	p.mustDel()
	if got := n.lockFiles(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// What a process left that was killed is no lock (Azure/azure-container-networking#464,
// Azure/azure-container-networking#364).
func TestLeftOverLockFile(t *testing.T) {
	n := newBridge(t, nil)
	locks := filepath.Join(n.plugin.StateDir, "locks")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(locks, "sbx-01.lock"), []byte("4711"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := n.pod("sbx-01")
	p.mustAdd()
	p.mustDel()
	if got := n.lockFiles(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// Calls for one sandbox come one after the other: one endpoint, one lease.
func TestOneSandboxAtATime(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := p.add(); err != nil {
				t.Error(err)
			}
			if i%2 == 0 {
				if err := p.del(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if got := n.state(); len(got) != 0 && len(got) != 2 {
		t.Errorf("state %v", got)
	}
	p.mustDel()
	if got := append(n.state(), n.lockFiles()...); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// Names that a file cannot have everywhere, and two that must not become one.
func TestLockOfStrangeNames(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("a", 300)
	ids := []string{"nul", "NUL.x", "com1", "con", "comfort", "a.b-c_d", long, long + "b", long + "c"}
	seen := map[string]string{}
	for _, id := range ids {
		_, release := lockSandbox(t.Context(), t, dir, id)
		got := files(t, dir)
		release()
		if len(got) != 1 {
			t.Fatalf("%s: files %v", id, got)
		}
		name := filepath.Base(got[0])
		if base, _, _ := strings.Cut(strings.ToLower(name), "."); len(name) > 200 || base == "nul" || base == "con" || base == "com1" {
			t.Errorf("%s: file %s", id, name)
		}
		if seen[name] != "" {
			t.Errorf("%s and %s have one lock", id, seen[name])
		}
		seen[name] = id
	}
	if _, _, err := cniplugin.LockSandbox(t.Context(), time.Second, dir, "../x"); codeOf(err) != types.ErrInvalidEnvironmentVariables || !errors.Is(err, hns.ErrInvalid) {
		t.Errorf("code %d, %v; want 4", codeOf(err), err)
	}
}

// A directory that cannot be made is not "busy".
func TestLockWithoutDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := cniplugin.LockSandbox(t.Context(), time.Minute, file, "sbx-01"); codeOf(err) != types.ErrIOFailure || !strings.Contains(err.Error(), file) {
		t.Errorf("code %d, %v; want 5 and the path", codeOf(err), err)
	}
}

func ExampleLockSandbox() {
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, release, err := cniplugin.LockSandbox(context.Background(), time.Minute, dir, "3f2a")
	if err != nil {
		fmt.Println(err)
		return
	}
	// The steps of a meta-plugin, and plugin.Add(ctx, args) in this process.
	_, _, err = cniplugin.LockSandbox(context.Background(), 10*time.Millisecond, dir, "3f2a")
	fmt.Println("another:", cniplugin.CNIError(err).Code)
	_, again, err := cniplugin.LockSandbox(ctx, time.Minute, dir, "3f2a")
	fmt.Println("with the context:", err)
	again()
	release()
	// Output:
	// another: 11
	// with the context: <nil>
}

// A deadline that has passed is not "busy": nobody holds the lock.
func TestLockWithoutTime(t *testing.T) {
	_, _, err := cniplugin.LockSandbox(t.Context(), 0, t.TempDir(), "sbx-01")
	if codeOf(err) != types.ErrTryAgainLater || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cniplugin.ErrBusy) {
		t.Errorf("code %d, %v; want 11 and the deadline alone", codeOf(err), err)
	}
}
