package inspect

import (
	"strings"

	"github.com/hnskit/hnskit/modes"
)

// plugin is what is known of the plugins that configurations name in "type".
type plugin struct {
	mode modes.Mode
	// byName: the plugin takes the network's name for its mode.
	byName bool
	// api is the schema of its policies unless the configuration says it.
	api string
	// foreign: this module does not stand for it, and does not know its keys.
	foreign bool
}

// plugins are known by the names of their programs, in small letters and without
// .exe. A name that is not here is foreign.
var plugins = map[string]plugin{
	"win-bridge":  {mode: modes.L2Bridge, api: V1},
	"win-overlay": {mode: modes.Overlay, api: V1},
	"sdnbridge":   {mode: modes.L2Bridge, byName: true, api: V2},
	"sdnoverlay":  {mode: modes.Overlay, api: V2},
	"nat":         {mode: modes.NAT, api: V2},
	"l2bridge":    {mode: modes.L2Bridge, api: V2},
	"l2tunnel":    {mode: modes.L2Tunnel, api: V2},
	"transparent": {mode: modes.Transparent, api: V2},
	"wincni":      {byName: true, api: V1},
	// Of others.
	"azure-vnet": {mode: modes.L2Bridge, foreign: true},
	"calico":     {mode: modes.L2Bridge, foreign: true},
	"antrea":     {mode: modes.Transparent, foreign: true},
	"vpc-bridge": {mode: modes.L2Bridge, api: V2, foreign: true},
}

const flannelType = "flannel"

func pluginOf(typ, network string) plugin {
	p, ok := plugins[strings.TrimSuffix(strings.ToLower(typ), ".exe")]
	if !ok {
		return plugin{foreign: true}
	}
	if m, err := modes.ParseMode(network); err == nil && p.byName {
		p.mode = m
	}
	return p
}

// modeByName guesses the mode from a name that programs give their networks.
func modeByName(network string) modes.Mode {
	n := strings.ToLower(network)
	switch {
	case n == "nat":
		return modes.NAT
	case n == "vxlan0", strings.HasPrefix(n, "flannel."), strings.HasPrefix(n, "ovnkubernetes"):
		return modes.Overlay
	case n == "cbr0", n == "l2bridge", strings.HasPrefix(n, "vpcbr"), n == "azure":
		return modes.L2Bridge
	}
	return ""
}
