// Command win-bridge is a CNI plugin for L2Bridge networks. It takes the
// configurations of the upstream plugin of that name.
package main

import (
	"github.com/hnskit/hnskit/examples/internal/hnsopen"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

func main() {
	(&cniplugin.Plugin{Name: "win-bridge", Mode: modes.L2Bridge, Open: hnsopen.Open}).Main()
}
