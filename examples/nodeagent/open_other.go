//go:build !windows

package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/emuopen"
	"github.com/hnskit/hnskit/modes/node/hostnet"
	"github.com/hnskit/hnskit/modes/node/hostnet/emuhost"
)

// The variables for the emulated node.
const (
	emulatorFile     = "HNS_EMULATOR"
	emulatorAdapters = "HNS_EMULATOR_ADAPTERS"
)

// openNode opens the emulated HNS in a file, and a host in memory that has the
// emulated adapters.
func openNode(ctx context.Context, c *config, env environment, log *slog.Logger, opts *hns.Options) (*hns.Client, hostnet.Host, error) {
	if c.hostnet == hostOS {
		_, err := hostnet.Open()
		return nil, nil, fmt.Errorf("--hostnet: %w", err)
	}
	path := env.get(emulatorFile)
	if path == "" {
		return nil, nil, fmt.Errorf("%w; set %s to a file to use the emulator", hns.ErrUnsupportedOS, emulatorFile)
	}
	h, err := openEmulator(path, env.get(emulatorAdapters))
	if err != nil {
		return nil, nil, err
	}
	log.WarnContext(ctx, "HNS is emulated, and routes and forwarding are kept in memory: no packet follows them", "state", path)
	return hns.New(h, opts), hostnet.NewMemory(emuhost.Adapters(h)), nil
}

// openEmulator opens the emulated HNS.
func openEmulator(path, adapters string) (*emulator.HNS, error) {
	list, err := emuopen.ParseAdapters(adapters)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", emulatorAdapters, err)
	}
	h, err := emuopen.Open(emuopen.Wish{Path: path, Adapters: list})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", emulatorFile, err)
	}
	return h, nil
}
