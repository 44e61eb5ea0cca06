//go:build !windows

package hnsopen

import (
	"fmt"
	"os"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// Open returns a client of the emulated HNS in the file that HNS_EMULATOR
// names. Without it the error says so and matches hns.ErrUnsupportedOS.
func Open(opts *hns.Options) (*hns.Client, error) {
	path := os.Getenv("HNS_EMULATOR")
	if path == "" {
		_, err := hns.Open(opts)
		return nil, fmt.Errorf("%w; set HNS_EMULATOR to a file to use the emulator", err)
	}
	h, err := emulator.Open(path, nil)
	if err != nil {
		return nil, err
	}
	return hns.New(h, opts), nil
}
