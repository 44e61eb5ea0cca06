package wine_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestFresh starts from nothing, twice at once, with pipes for output; stops
// everything; and starts programs at once, which must start Wine's services
// without handing them the pipes.
func TestFresh(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a Wine prefix: half a minute, 700 MB")
	}
	needWine(t)
	exe := build(t, "exit")
	dir := filepath.Join(t.TempDir(), "with a blank")
	vars := []string{"HNSKIT_WINE_DIR=" + dir}
	t.Cleanup(func() { // also after a failure; t.Context is done by then
		cmd := exec.Command("./wine", "stop")
		cmd.Env = append(cmd.Environ(), vars...)
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
	})

	atOnce(t, 2, func() {
		if got := run(t, wineCommand(t, vars, "setup", "--offline")); got.status != 0 || got.stdout != "" {
			t.Errorf("setup: %+v", got)
		}
	})
	for _, dll := range []string{"computenetwork.dll", "vmcompute.dll", "bcryptprimitives.dll"} {
		if _, err := os.Stat(filepath.Join(dir, "prefix/drive_c/windows/system32", dll)); err != nil {
			t.Error(err)
		}
	}
	serverIsFound(t, dir)
	before := modified(t, dir)
	if got := run(t, wineCommand(t, vars, "setup", "--offline")); got != (result{}) {
		t.Errorf("setup again: %+v", got)
	}
	if after := modified(t, dir); after != before {
		t.Errorf("setup built the DLLs again: %s, then %s", before, after)
	}

	for range 2 {
		if got := run(t, wineCommand(t, vars, "stop")); got != (result{}) {
			t.Errorf("stop: %+v", got)
		}
		atOnce(t, 4, func() {
			if got := run(t, wineCommand(t, vars, "run", exe)); got.status != 3 || !strings.HasPrefix(got.stdout, "windows ") {
				t.Errorf("run: %+v", got)
			}
		})
	}
	if got := run(t, wineCommand(t, vars, "stop")); got != (result{}) {
		t.Errorf("stop: %+v", got)
	}
	left, err := filepath.Glob(filepath.Join(dir, "build.*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// serverIsFound checks that the server which setup left is the one that programs
// look for. Were it not, the first program would start another one, which keeps
// that program's pipes open.
func serverIsFound(t *testing.T, dir string) {
	t.Helper()
	socket, err := os.ReadFile(filepath.Join(dir, "prefix/wineserver")) // Debian's Wine keeps its place there
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	server, err2 := os.ReadFile(filepath.Join(dir, "server"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	pid, _, _ := strings.Cut(string(server), " ")
	at, err := os.Readlink("/proc/" + pid + "/cwd")
	if err != nil || filepath.Base(filepath.Dir(at)) != strings.TrimSpace(string(socket)) {
		t.Errorf("the server is at %s (%v), and programs look for it in %s", at, err, socket)
	}
}

func atOnce(t *testing.T, n int, f func()) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f()
		}()
	}
	wg.Wait()
}

func modified(t *testing.T, dir string) string {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "prefix/drive_c/windows/system32/computenetwork.dll"))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime().String()
}
