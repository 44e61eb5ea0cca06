//go:build unix

package subnetenv_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hnskit/hnskit/subnetenv"
)

// A pipe would hang the reader, and a device may have no end.
func TestReadOfSpecialFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "subnet.env")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero"} {
		if _, err := subnetenv.Read(path); err == nil || !strings.Contains(err.Error(), "a device or pipe, not a file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
