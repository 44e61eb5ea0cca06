package main

import (
	"context"
	"log/slog"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// openNode opens the HNS and the host side of this machine.
func openNode(ctx context.Context, c *config, _ environment, log *slog.Logger, opts *hns.Options) (*hns.Client, hostnet.Host, error) {
	client, err := hns.Open(opts)
	if err != nil {
		return nil, nil, err
	}
	if c.hostnet == hostMemory {
		log.WarnContext(ctx, "--hostnet=memory: routes and forwarding are kept in memory, and no packet follows them")
		return client, hostnet.NewMemory(newMachine(client).adapters), nil
	}
	host, err := hostnet.Open()
	return client, host, err
}
