package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var errHeld = errors.New("held by another process")

// fake returns files that never sleep: pauses are collected in *slept.
func fake(slept *[]time.Duration) files {
	return files{
		transient: func(err error) bool { return errors.Is(err, errHeld) },
		sleep:     func(d time.Duration) { *slept = append(*slept, d) },
	}
}

func TestRetry(t *testing.T) {
	errFinal := errors.New("no such luck")
	tests := []struct {
		name  string
		fail  []error // what the first calls answer; later ones succeed
		calls int
		want  error
	}{
		{"success at once", nil, 1, nil},
		{"other errors are final", []error{errFinal}, 1, errFinal},
		{"wrapped errors are seen", []error{fmt.Errorf("rename: %w", errHeld)}, 2, nil},
		{"held twice", []error{errHeld, errHeld}, 3, nil},
		{"held, then another error", []error{errHeld, errFinal}, 2, errFinal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var slept []time.Duration
			calls := 0
			err := fake(&slept).retry(func() error {
				calls++
				if calls <= len(tt.fail) {
					return tt.fail[calls-1]
				}
				return nil
			})
			if !errors.Is(err, tt.want) || calls != tt.calls || len(slept) != calls-1 {
				t.Errorf("error %v after %d calls and pauses %v, want %v after %d", err, calls, slept, tt.want, tt.calls)
			}
		})
	}
}

func TestRetryIsBounded(t *testing.T) {
	var slept []time.Duration
	err := fake(&slept).retry(func() error { return errHeld })
	if !errors.Is(err, errHeld) {
		t.Fatalf("error %v, want the last one", err)
	}
	var total time.Duration
	for i, d := range slept {
		total += d
		if i > 0 && d < slept[i-1] {
			t.Errorf("pause %d is %v after %v, want growing pauses", i, d, slept[i-1])
		}
	}
	if total < patience || total > patience+maxPause {
		t.Errorf("gave up after %v in %d pauses, want about %v", total, len(slept), patience)
	}
	if len(slept) > 30 {
		t.Errorf("%d pauses: that is polling", len(slept))
	}
}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	for _, content := range []string{"first", "", "third and longer than the first"} {
		if err := Write(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil || string(got) != content {
			t.Fatalf("read %q, %v; want %q", got, err, content)
		}
	}
	assertNames(t, filepath.Dir(path), "a.json")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
		}
	}
}

// A reader that keeps the old file open must not keep a writer from replacing
// it, and goes on reading what it opened. Windows refuses the rename for as long
// as the reader is there, so the reader leaves on the first refusal.
func TestWriteWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subnet.env")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()

	f := files{transient: heldByOther, sleep: func(d time.Duration) {
		reader.Close()
		time.Sleep(d)
	}}
	if err := f.write(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || string(got) != "new" {
		t.Fatalf("read %q, %v; want new", got, err)
	}
	assertNames(t, filepath.Dir(path), "subnet.env")
}

func TestWriteFailureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	// A directory that is not empty cannot be replaced by a file on any system.
	path := filepath.Join(dir, "target")
	if err := os.MkdirAll(filepath.Join(path, "child"), 0o700); err != nil {
		t.Fatal(err)
	}
	var slept []time.Duration
	f := fake(&slept)
	err := f.write(path, []byte("x"), 0o600)
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("error %v, want one that names %s", err, path)
	}
	assertNames(t, dir, "target")

	missing := filepath.Join(dir, "no", "such", "file")
	if err := Write(missing, nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write into a missing directory: %v, want fs.ErrNotExist", err)
	}
}

func TestReadAndRemoveMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("Read: %v, want fs.ErrNotExist naming %s", err, path)
	}
	if err := Remove(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Remove: %v, want fs.ErrNotExist", err)
	}
}

// What a killed process left under a name we would use must not stop us.
func TestWriteSkipsLeftovers(t *testing.T) {
	dir := t.TempDir()
	next := counter.Load() + 1
	left := fmt.Sprintf(".f.%d.%d.tmp", os.Getpid(), next)
	if err := os.WriteFile(filepath.Join(dir, left), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "f"), []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	assertNames(t, dir, left, "f")
	if !IsTemp(left, "") || !IsTemp(filepath.Join(dir, left), "f") || IsTemp(left, "g") {
		t.Errorf("IsTemp does not know %s as a temporary file of f", left)
	}
}

func TestRemoveTemps(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, name := range []string{"f", "g", ".f.12.3.tmp", ".f.12.4.tmp", ".g.12.3.tmp", ".f.x.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time there is nothing
		if err := RemoveTemps(path); err != nil {
			t.Fatal(err)
		}
		assertNames(t, dir, ".f.x.tmp", ".g.12.3.tmp", "f", "g")
	}
	if err := RemoveTemps(filepath.Join(dir, "none", "f")); err != nil {
		t.Errorf("without the directory: %v", err)
	}
}

func TestIsTemp(t *testing.T) {
	for _, name := range []string{"f", ".f", "f.1.2.tmp", ".f.tmp", ".f.1.tmp", ".f.x.2.tmp", ".f.1.x.tmp", "..1.2.tmp", ".tmp", ""} {
		if IsTemp(name, "") {
			t.Errorf("IsTemp(%q) = true", name)
		}
	}
	if !IsTemp(".a.b.1.2.tmp", "a.b") {
		t.Error("a file name with a dot is not recognised")
	}
}

// Readers and writers at the same time: each read is one whole content.
func TestConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	whole := map[string]bool{}
	var contents [][]byte
	for i := range 4 {
		c := strings.Repeat(string(rune('a'+i)), 1+5000*i)
		whole[c] = true
		contents = append(contents, []byte(c))
	}
	if err := Write(path, contents[0], 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, content := range contents {
		wg.Add(2)
		go func() {
			defer wg.Done()
			for range 20 {
				if err := Write(path, content, 0o600); err != nil {
					t.Error(err)
				}
			}
		}()
		go func() {
			defer wg.Done()
			for range 20 {
				got, err := Read(path)
				if err != nil || !whole[string(got)] {
					t.Errorf("read %d bytes, %v; want one of the contents written", len(got), err)
				}
			}
		}()
	}
	wg.Wait()
	assertNames(t, filepath.Dir(path), "f")
}

// assertNames fails unless dir holds exactly the given names.
func assertNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}
