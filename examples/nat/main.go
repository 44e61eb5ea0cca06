// Command nat is a CNI plugin for NAT networks. It takes the configurations of
// Microsoft's plugin of that name, those that containerd's scripts and nerdctl
// write among them, and makes their HNS network if it is missing.
package main

import (
	"github.com/hnskit/hnskit/examples/internal/hnsopen"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

func main() {
	(&cniplugin.Plugin{Name: "nat", Mode: modes.NAT, Open: hnsopen.Open}).Main()
}
