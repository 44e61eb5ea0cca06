package privatedir

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestMake(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b", "c")
	for range 2 { // the second time it is there
		if err := Make(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatalf("the maker cannot write: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		info, err := os.Stat(d)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, %v; want 0700", d, info.Mode(), err)
		}
	}
}

func TestMakeKeepsWhatIsThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Make(dir); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(dir)
	if err != nil || after.Mode() != before.Mode() {
		t.Errorf("mode %v, %v; want %v as before", after.Mode(), err, before.Mode())
	}
}

func TestMakeOverAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if err := Make(dir); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("Make(%s): error %v, want one that names the file", dir, err)
		}
	}
}
