// Command win-overlay is a CNI plugin for Overlay networks. It takes the
// configurations of the upstream plugin of that name.
package main

import (
	"github.com/hnskit/hnskit/examples/internal/hnsopen"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

func main() {
	(&cniplugin.Plugin{Name: "win-overlay", Mode: modes.Overlay, Open: hnsopen.Open}).Main()
}
