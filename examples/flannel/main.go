// Command flannel is flannel's CNI plugin for Windows nodes. Delegates of type
// win-bridge and win-overlay run in this process; others are executed.
package main

import (
	"github.com/hnskit/hnskit/examples/internal/hnsopen"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/cniplugin/flannel"
)

func main() {
	bridge := &cniplugin.Plugin{Name: "win-bridge", Mode: modes.L2Bridge, Open: hnsopen.Open}
	overlay := &cniplugin.Plugin{Name: "win-overlay", Mode: modes.Overlay, Open: hnsopen.Open}
	(&flannel.Plugin{Delegates: []*cniplugin.Plugin{bridge, overlay}}).Main()
}
