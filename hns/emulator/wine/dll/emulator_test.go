package main

import (
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/emuopen"
)

// What the emulator refuses is an error, and no backend.
func TestOpenEmulator(t *testing.T) {
	b, err := openEmulator(emuopen.Wish{Version: hns.Version{Major: 9, Minor: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := hns.New(b, nil).Version(t.Context()); err != nil || v.String() != "9.2" {
		t.Errorf("version %s, %v", v, err)
	}
	dir := t.TempDir()
	if b, err := openEmulator(emuopen.Wish{Path: dir}); b != nil || err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory as state: %v, %v", b, err)
	}
}
