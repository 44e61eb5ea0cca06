package toolbuild_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hnskit/hnskit/internal/toolbuild"
)

// useCache gives the test a cache directory of its own. The go command's caches
// are outside it, so that builds stay quick.
func useCache(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, strings.TrimSpace(string(out)))
	}
	dir := t.TempDir()
	switch runtime.GOOS {
	case "windows":
		t.Setenv("LocalAppData", dir)
	case "darwin":
		t.Setenv("HOME", dir)
	default:
		t.Setenv("XDG_CACHE_HOME", dir)
	}
	return dir
}

func TestHostLocalIsBuiltOnce(t *testing.T) {
	useCache(t)
	const askers = 3
	paths := make([]string, askers)
	var wg sync.WaitGroup
	for i := range paths {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var err error
			if paths[i], err = toolbuild.HostLocal(t.Context()); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for _, p := range paths {
		if p != paths[0] {
			t.Errorf("paths differ: %s, %s", p, paths[0])
		}
	}
	before, err := os.Stat(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	again, err := toolbuild.HostLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(again)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("the second call built it again")
	}
	entries, err := os.ReadDir(filepath.Dir(again))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("want the program alone beside it, got %v", entries)
	}

	cmd := exec.CommandContext(t.Context(), again)
	cmd.Env = append(os.Environ(), "CNI_COMMAND=VERSION")
	cmd.Stdin = strings.NewReader(`{"cniVersion":"1.0.0"}`)
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"1.1.0"`) {
		t.Errorf("host-local VERSION: %s, %v", out, err)
	}
}

func TestTargetsAreKeptApart(t *testing.T) {
	useCache(t)
	native, err := toolbuild.CNIClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	windows, err := toolbuild.Target{GOOS: "windows", GOARCH: "amd64"}.CNIClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(windows) != "cniclient.exe" || filepath.Dir(windows) == filepath.Dir(native) {
		t.Errorf("native %s, Windows %s", native, windows)
	}
	head, err := os.ReadFile(windows)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(head), "MZ") {
		t.Error("not a Windows program")
	}
}

func TestLocal(t *testing.T) {
	dir := t.TempDir()
	prog, err := toolbuild.Target{GOOS: "linux", GOARCH: "amd64"}.Local(t.Context(), "./internal/toolbuild/testdata/hello", dir)
	if err != nil {
		t.Fatal(err)
	}
	if prog != filepath.Join(dir, "hello") {
		t.Errorf("program at %s", prog)
	}
	if info, err := os.Stat(prog); err != nil || info.Size() == 0 {
		t.Errorf("program: %v, %v", info, err)
	}
}

// TestFailureTellsWhy looks for what the reader of a failed test needs: what the
// go command said, and what to do.
func TestFailureTellsWhy(t *testing.T) {
	useCache(t)
	_, err := toolbuild.Build(t.Context(), "github.com/hnskit/hnskit/.tools/no-such-tool")
	if err == nil {
		t.Fatal("built a package that does not exist")
	}
	for _, want := range []string{"no-such-tool", "download modules", ".tools", "go build"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Errorf("the go command's exit is not reachable: %v", err)
	}

	t.Setenv("PATH", t.TempDir())
	if _, err := toolbuild.HostLocal(t.Context()); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("without go on PATH: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	useCache(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := toolbuild.HostLocal(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestRoot(t *testing.T) {
	root, err := toolbuild.Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, ".tools", "go.sum")); err != nil {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	if _, err := toolbuild.Root(); err == nil || !strings.Contains(err.Error(), "no go.mod of github.com/hnskit/hnskit") {
		t.Errorf("outside the repository: %v", err)
	}
}
