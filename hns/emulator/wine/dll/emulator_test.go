package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestOpenEmulator(t *testing.T) {
	dir := t.TempDir()
	old, young := hns.Version{Major: 9, Minor: 2}, hns.Version{Major: 16}
	tests := []struct {
		name, path string
		wish, want hns.Version
		fails      string
	}{
		{"memory", "", hns.Version{}, emulator.WindowsServer2022, ""},
		{"memory of a version", "", old, old, ""},
		{"new file", "a.json", hns.Version{}, emulator.WindowsServer2022, ""},
		{"new file of a version", "b.json", young, young, ""},
		{"file again, version not asked for", "b.json", hns.Version{}, young, ""},
		{"file again, same version", "b.json", young, young, ""},
		{"file again, other version", "b.json", old, hns.Version{}, "b.json is the state of HNS 16.0, but 9.2 is asked for"},
		{"a directory", ".", old, hns.Version{}, dir},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.path
			if path != "" {
				path = filepath.Join(dir, path)
			}
			b, err := openEmulator(path, tt.wish)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := hns.New(b, nil).Version(t.Context())
			if err != nil || got != tt.want {
				t.Errorf("version %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}
