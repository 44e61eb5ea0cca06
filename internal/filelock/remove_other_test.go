//go:build !windows

package filelock_test

import (
	"os"
	"path/filepath"
	"testing"
)

// Somebody cleaned up by hand: the lock is still given back.
func TestRemoveOfMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	l := acquire(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := acquire(t, path).Remove(); err != nil {
		t.Fatal(err)
	}
}
