package filelock_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hnskit/hnskit/internal/filelock"
)

// holdVar makes the test binary a process that takes the lock named by the
// variable, says so, and keeps it until it is killed.
const holdVar = "HNSKIT_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdVar); path != "" {
		if _, err := filelock.Acquire(context.Background(), path); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Hour)
		return
	}
	if file := os.Getenv(countVar); file != "" {
		count(file)
		return
	}
	os.Exit(m.Run())
}

func acquire(t *testing.T, path string) *filelock.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := filelock.Acquire(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// assertHeld fails unless the lock cannot be had now.
func assertHeld(t *testing.T, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := filelock.Acquire(ctx, path)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want context.DeadlineExceeded", err)
	}
	if !strings.Contains(err.Error(), path) {
		t.Errorf("error %q does not name %s", err, path)
	}
}

func TestAcquireRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locks", "deep", "net.lock")
	l := acquire(t, path)
	assertHeld(t, path)
	for range 2 { // the second does nothing
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	l = acquire(t, path)
	defer l.Release()

	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}

// Try does not wait: it takes what is free and says of what is not.
func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locks", "l")
	l, err := filelock.Try(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(t.Context(), path); !errors.Is(err, filelock.ErrHeld) || !strings.Contains(err.Error(), path) {
		t.Errorf("held: %v, want ErrHeld and the path", err)
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if l, err = filelock.Try(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filelock.Try(ended, path); !errors.Is(err, context.Canceled) || errors.Is(err, filelock.ErrHeld) {
		t.Errorf("after the end: %v, want context.Canceled", err)
	}
}

// A release by a former holder must not free the lock of the present one.
func TestStaleReleaseDoesNotUnlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	first := acquire(t, path)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second := acquire(t, path)
	defer second.Release()
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	assertHeld(t, path)
}

func TestOtherPathIsFree(t *testing.T) {
	dir := t.TempDir()
	a := acquire(t, filepath.Join(dir, "a"))
	defer a.Release()
	b := acquire(t, filepath.Join(dir, "b"))
	defer b.Release()
}

// The goroutines of one process exclude each other: the counter is guarded by
// nothing else.
func TestGoroutinesExclude(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	const workers, rounds = 4, 5
	holders, counter := 0, 0
	var wg sync.WaitGroup
	for range workers {
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
				runtime.Gosched()
				counter++
				holders--
				if err := l.Release(); err != nil {
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

func TestContextAlreadyDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filelock.Acquire(ctx, path); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the lock file was made although the context had ended")
	}
}

func TestPathIsADirectory(t *testing.T) {
	path := t.TempDir()
	_, err := filelock.Acquire(t.Context(), path)
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("error %v, want one that names %s", err, path)
	}
}

// The lock of a process that is killed is free at once for the next.
func TestKilledHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(exe)
	holder.Env = append(os.Environ(), holdVar+"="+path)
	holder.Stderr = os.Stderr
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "held" {
		t.Fatalf("holder said %q, %v", line, err)
	}
	assertHeld(t, path)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed: that is its exit status
	if err := acquire(t, path).Release(); err != nil {
		t.Fatal(err)
	}
}
