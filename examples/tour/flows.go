package main

import (
	"context"
	"fmt"
	"io"

	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// showFlows traces the nine flows that Kubernetes wants, in each mode, and
// writes whether they work.
func showFlows(ctx context.Context, w io.Writer) error {
	var table flows.Table
	for _, m := range modes.All() {
		c, err := mixedcluster.New(ctx, m)
		if err != nil {
			return wrap(string(m), err)
		}
		world, err := flows.New(*c)
		if err != nil {
			return wrap(string(m), err)
		}
		table = append(table, world.Nine()...)
	}
	fmt.Fprintf(w, "\nThe nine flows, on two Windows nodes and a Linux node in each mode (\"?\": no source says so; why: ./examples/flows).\n%s", table.Text())
	return nil
}
