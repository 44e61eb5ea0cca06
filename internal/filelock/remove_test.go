package filelock_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hnskit/hnskit/internal/filelock"
)

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sandbox.lock")
	l := acquire(t, path)
	for range 2 { // the second does nothing
		if err := l.Remove(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the file is still there: %v", err)
		}
	}
	if err := acquire(t, path).Release(); err != nil {
		t.Fatal(err)
	}
}

// A former holder must not remove the file of the present one.
func TestStaleRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	first := acquire(t, path)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second := acquire(t, path)
	defer second.Release()
	if err := first.Remove(); err != nil {
		t.Fatal(err)
	}
	assertHeld(t, path)
}

// A waiter that opened the file before its holder removed it must not take the
// lock of the removed file for the lock: the next one would open a new file, and
// both would be in. Holders that remove, holders that release, and many rounds
// make these meet.
func TestRemoveExcludes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	const workers, rounds = 8, 40
	holders, counter := 0, 0
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range rounds {
				l, err := filelock.Acquire(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				holders++
				if holders != 1 {
					t.Errorf("%d holders at once", holders)
				}
				counter++
				holders--
				end := l.Remove
				if worker == 0 {
					end = l.Release
				}
				if err := end(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if counter != workers*rounds {
		t.Errorf("%d turns, want %d", counter, workers*rounds)
	}
}

// countVar makes the test binary a process that adds one to the number in the
// file named by the variable, so many times, each under a lock that it removes.
const countVar = "HNSKIT_TEST_COUNT"

const countRounds = 25

func count(file string) {
	for range countRounds {
		l, err := filelock.Acquire(context.Background(), file+".lock")
		if err != nil {
			panic(err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			panic(err)
		}
		if err := os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600); err != nil {
			panic(err)
		}
		if err := l.Remove(); err != nil {
			panic(err)
		}
	}
}

func TestRemoveExcludesProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "number")
	if err := os.WriteFile(file, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const processes = 4
	var running []*exec.Cmd
	for range processes {
		cmd := exec.CommandContext(ctx, exe)
		cmd.Env = append(os.Environ(), countVar+"="+file)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(b); got != strconv.Itoa(processes*countRounds) {
		t.Errorf("%s additions, want %d: two were in at once", got, processes*countRounds)
	}
	if _, err := os.Stat(file + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a lock file is left: %v", err)
	}
}
