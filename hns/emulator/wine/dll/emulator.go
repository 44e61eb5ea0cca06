package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// openEmulator opens the HNS in the state file at path, or a new one in memory
// if path is empty. A new HNS, also one in a file that is not there yet, gets
// the version; zero leaves the choice to the emulator. An HNS that exists
// keeps its options, so another version in its file is an error.
func openEmulator(path string, version hns.Version) (hns.Backend, error) {
	opts := &emulator.Options{Version: version}
	if path == "" {
		return emulator.New(opts), nil
	}
	if version == (hns.Version{}) {
		return emulator.Open(path, nil)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return emulator.Open(path, opts)
	}
	h, err := emulator.Open(path, nil)
	if err != nil {
		return nil, err
	}
	s, err := h.Snapshot()
	if err != nil {
		return nil, err
	}
	if s.Version != version {
		return nil, fmt.Errorf("%s is the state of HNS %s, but %s is asked for", path, s.Version, version)
	}
	return h, nil
}
