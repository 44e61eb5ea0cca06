package cniplugin

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// Plugin is a CNI plugin for one network mode. Set Name and Mode; the rest has
// defaults. It keeps no state between calls and is safe for concurrent use.
type Plugin struct {
	// Name is the plugin's name as configurations give it in "type".
	Name string
	// Mode is the mode of the networks it serves. A plugin for L2Bridge serves
	// L2Tunnel networks too: in the same way, as win-bridge does, or, if the
	// configuration's key mode says l2tunnel, as Azure wants it, with the gateway of
	// the subnet. Empty leaves the choice to that key, which must be there then.
	Mode modes.Mode
	// Gateway is where the pods' gateway is; zero is the mode's default.
	Gateway modes.GatewayRule
	// Open gives a client of HNS; nil is hns.Open.
	Open func(*hns.Options) (*hns.Client, error)
	// IPAM takes and gives back addresses; nil runs the plugin that the
	// configuration names in ipam.type. One that is set is asked whatever the
	// configuration says, without an ipam object too. Its configuration should
	// have a type all the same: subnet and routes of an ipam object without one
	// are about the HNS network (see the package comment). It has to keep back what
	// modes.Reserved lists for the subnet, such as the address of the node's
	// endpoint: an ADD that gets one of these is refused. An error of its own has
	// code 999 unless it is an [*Error], or of a kind that the package comment
	// names a code for, such as *hns.FieldError (7) and ipam.ErrNoAddress (105).
	IPAM ipam.IPAM
	// StateDir holds the locks; empty is [DefaultStateDir]. A configuration's
	// stateDir goes before.
	StateDir string
	// EndpointName names the endpoint of a pod on a network; nil gives
	// "<container>_<network>". It must give DEL the name it gave ADD. Without the
	// network in it a sandbox can be on one network only.
	EndpointName func(containerID, network string) string
	// ContainerOf is EndpointName backwards; false for a name that is not of its
	// making. GC and Reconcile need it to tell the plugin's own endpoints: with an
	// EndpointName of one's own and without it they remove none.
	ContainerOf func(endpoint, network string) (containerID string, ok bool)
	// PluginDirs are the directories of IPAM plugins for Reconcile, which no
	// runtime gives a CNI_PATH. Without them Reconcile finds no IPAM plugin and
	// cannot give back leases; a Plugin with an IPAM of its own needs none.
	PluginDirs []string
	// Hooks are the author's own steps.
	Hooks Hooks
}

// Pod is one interface of one sandbox, as the hooks see it.
type Pod struct {
	// ContainerID, IfName and Args are CNI_CONTAINERID, CNI_IFNAME and CNI_ARGS.
	// In GC, Args is empty, and IfName too if nothing tells it.
	ContainerID, IfName, Args string
	// Namespace is the HNS namespace; zero in DEL if the runtime gave none.
	Namespace hns.ID
	// EndpointName is the name of the pod's endpoint.
	EndpointName string
	// Config is the configuration. In DEL and GC only version, name, type, IPAM and
	// our own keys are read from it.
	Config *Config
	// Network is the HNS network; nil in DEL and GC.
	Network *hns.Network
	// Client is the one the plugin uses.
	Client *hns.Client
	// Log never writes to stdout or stderr.
	Log *slog.Logger
}

// DefaultStateDir is where plugins keep their locks: hnskit below ProgramData
// on Windows, below the user's temporary directory elsewhere.
func DefaultStateDir() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(cmp.Or(os.Getenv("ProgramData"), `C:\ProgramData`), "hnskit")
	}
	return filepath.Join(os.TempDir(), "hnskit-"+strconv.Itoa(os.Getuid()))
}
