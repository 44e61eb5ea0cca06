// Command flannel is flannel's CNI plugin for Windows nodes. Delegates of type
// win-bridge and win-overlay, and of Microsoft's sdnbridge and sdnoverlay, run in
// this process; others are executed.
package main

import (
	"github.com/hnskit/hnskit/examples/internal/hnsopen"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/cniplugin/flannel"
)

func main() {
	delegate := func(name string, mode modes.Mode) *cniplugin.Plugin {
		return &cniplugin.Plugin{Name: name, Mode: mode, Open: hnsopen.Open}
	}
	(&flannel.Plugin{Delegates: []*cniplugin.Plugin{
		delegate("win-bridge", modes.L2Bridge), delegate("win-overlay", modes.Overlay),
		delegate("sdnbridge", modes.L2Bridge), delegate("sdnoverlay", modes.Overlay),
	}}).Main()
}
