package main

import (
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/emuopen"
)

// openEmulator opens the HNS that the environment asks for.
func openEmulator(w emuopen.Wish) (hns.Backend, error) {
	h, err := emuopen.Open(w)
	if err != nil {
		return nil, err // not a nil HNS in an interface
	}
	return h, nil
}
