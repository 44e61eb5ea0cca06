package cniplugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/skel"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// Plugin is a CNI plugin for one network mode. Set Name and Mode; the rest has
// defaults. It keeps no state between calls and is safe for concurrent use.
type Plugin struct {
	// Name is the plugin's name as configurations give it in "type".
	Name string
	// Mode is the mode of the networks it serves: L2Bridge or Overlay. A
	// plugin for L2Bridge serves L2Tunnel networks too, as win-bridge does.
	Mode modes.Mode
	// Gateway is where the pods' gateway is; zero is the mode's default.
	Gateway modes.GatewayRule
	// Open gives a client of HNS; nil is hns.Open.
	Open func(*hns.Options) (*hns.Client, error)
	// IPAM takes and gives back addresses; nil runs the plugin that the
	// configuration names in ipam.type.
	IPAM ipam.IPAM
	// StateDir holds the locks; empty is [DefaultStateDir]. A configuration's
	// stateDir goes before.
	StateDir string
	// EndpointName names the endpoint of a pod on a network; nil gives
	// "<container>_<network>". It must give DEL the name it gave ADD.
	EndpointName func(containerID, network string) string
	// Hooks are the author's own steps.
	Hooks Hooks
}

// Hooks are steps of a plugin's author. A hook's error fails the verb, and what
// the verb made is taken back. All may be nil. The context has the deadline of
// the verb.
type Hooks struct {
	// BeforeCreate may change the endpoint before it is made: add a policy,
	// say. It runs only when ADD makes one. CHECK calls it too, to know what
	// to look for, so it must give the same answer again.
	BeforeCreate func(context.Context, *Pod, *hns.Endpoint) error
	// AfterAttach runs when the endpoint is in its namespace.
	AfterAttach func(context.Context, *Pod, *hns.Endpoint) error
	// BeforeDetach runs first in DEL, and again if DEL is repeated; the
	// endpoint may be gone. DEL goes on after its error and returns it.
	BeforeDetach func(context.Context, *Pod) error
}

// Pod is one interface of one sandbox, as the hooks see it.
type Pod struct {
	// ContainerID, IfName and Args are CNI_CONTAINERID, CNI_IFNAME and CNI_ARGS.
	ContainerID, IfName, Args string
	// Namespace is the HNS namespace; zero in DEL if the runtime gave none.
	Namespace hns.ID
	// EndpointName is the name of the pod's endpoint.
	EndpointName string
	// Config is the configuration. In DEL only name, IPAM and our own keys are
	// read from it.
	Config *Config
	// Network is the HNS network; nil in DEL.
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

// run is one verb at work.
type run struct {
	Pod
	p     *Plugin
	args  *skel.CmdArgs
	start time.Time
	end   []func() // undone in reverse when the verb is over
}

// begin reads the environment, takes the sandbox's lock and opens HNS.
func (p *Plugin) begin(ctx context.Context, args *skel.CmdArgs, c *Config, verb string) (context.Context, *run, error) {
	r := &run{p: p, args: args, start: time.Now()}
	fail := func(err error) (context.Context, *run, error) {
		r.close(err)
		return nil, nil, err
	}
	log, closeLog, err := openLog(c)
	if err != nil {
		return fail(invalidConfig(err))
	}
	r.end = append(r.end, closeLog)
	r.Pod = Pod{ContainerID: args.ContainerID, IfName: args.IfName, Args: args.Args, Config: c,
		EndpointName: p.endpointName(args.ContainerID, c.Name),
		Log:          log.With("verb", verb, "container", args.ContainerID, "interface", args.IfName, "network", c.Name)}

	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout,
		fmt.Errorf("%s of %s gave up after %s: %w", verb, args.ContainerID, c.Timeout, context.DeadlineExceeded))
	r.end = append(r.end, cancel)
	ctx, unlock, err := LockSandbox(ctx, c.Timeout, p.stateDir(c), args.ContainerID)
	if err != nil {
		return fail(err)
	}
	r.end = append(r.end, unlock)
	open := p.Open
	if open == nil {
		open = hns.Open
	}
	if r.Client, err = open(&hns.Options{Logger: log}); err != nil {
		return fail(err)
	}
	return ctx, r, nil
}

func (r *run) close(err error) {
	if r.Log != nil {
		r.Log.Info("done", "took", time.Since(r.start), "error", err)
	}
	for _, f := range slices.Backward(r.end) {
		f()
	}
}

func (p *Plugin) stateDir(c *Config) string {
	return cmp.Or(c.StateDir, p.StateDir, DefaultStateDir())
}

func (p *Plugin) endpointName(containerID, network string) string {
	if p.EndpointName != nil {
		return p.EndpointName(containerID, network)
	}
	return containerID + "_" + network
}

func (p *Plugin) ipam() ipam.IPAM {
	if p.IPAM != nil {
		return p.IPAM
	}
	return &ipam.Delegated{}
}

// ipamRequest is the request for this pod; config is what the IPAM plugin gets.
func (r *run) ipamRequest(config []byte) ipam.Request {
	return ipam.Request{
		ContainerID: r.ContainerID, Netns: r.args.Netns, IfName: r.IfName, Args: r.Args,
		PluginPath: filepath.SplitList(r.args.Path), Config: config,
	}
}

// hasIPAM reports whether somebody other than HNS gives addresses.
func (r *run) hasIPAM() bool { return r.p.IPAM != nil || r.Config.IPAMType != "" }

// findNetwork returns the HNS network of the configuration's name. One that is
// missing may be made any moment by the node's agent, so it is "try again".
func (r *run) findNetwork(ctx context.Context) error {
	n, err := r.Client.Networks.ByName(ctx, r.Config.Name)
	if errors.Is(err, hns.ErrNotFound) {
		return &Error{Code: codeTryAgain, Err: fmt.Errorf("name: %w; %s", err, r.networksThere(ctx))}
	}
	if err != nil {
		return err
	}
	if m, ok := modes.ModeOf(n.Type); !ok || m != r.p.Mode && !(m == modes.L2Tunnel && r.p.Mode == modes.L2Bridge) {
		return invalidConfig(&hns.FieldError{Path: "name", Value: n.Name,
			Reason: fmt.Sprintf("the HNS network is of type %s, and %s serves %s", n.Type, r.p.Name, r.p.Mode)})
	}
	r.Network = n
	return nil
}

// networksThere helps with the usual cause: flanneld named the network otherwise.
func (r *run) networksThere(ctx context.Context) string {
	all, err := r.Client.Networks.List(ctx)
	if err != nil || len(all) == 0 {
		return "HNS has no networks"
	}
	var names []string
	for _, n := range all {
		names = append(names, fmt.Sprintf("%q (%s)", n.Name, n.Type))
	}
	return "HNS has " + strings.Join(names, ", ")
}
