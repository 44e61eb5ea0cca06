package cniplugin

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/utils"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/pluginlog"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// run is one verb at work.
type run struct {
	Pod
	p     *Plugin
	args  *skel.CmdArgs
	start time.Time
	dsr   bool     // loopback DSR is wanted, and this HNS has it
	paths []string // of the planned policies, in the configuration
	end   []func() // undone in reverse when the verb is over
}

// precheck is what ADD and CHECK can know to be wrong before they do anything.
func (p *Plugin) precheck(args *skel.CmdArgs, c *Config) error {
	if err := checkContainerID(args.ContainerID); err != nil {
		return err
	}
	if err := utils.ValidateInterfaceName(args.IfName); err != nil {
		return &Error{Code: codeInvalidEnvironment, Err: fmt.Errorf("runtime: %w",
			&hns.FieldError{Path: "CNI_IFNAME", Value: args.IfName, Reason: err.Error()})}
	}
	if err := p.checkConfig(c); err != nil {
		return err
	}
	return p.addWishes(c, args.Args)
}

// forConfig returns the plugin with the mode that it has for this configuration:
// its own, which the configuration may confirm or, of L2Bridge, narrow to L2Tunnel,
// or, if it has none, the configuration's. The name of the plugin says nothing of the mode
// (microsoft/SDN#238).
func (p *Plugin) forConfig(c *Config) (*Plugin, error) {
	mode, err := modes.ParseMode(string(p.Mode))
	switch {
	case p.Mode == "" && c.Mode == "":
		return nil, c.invalid([]error{&hns.FieldError{Path: "mode", Reason: "missing; the plugin serves several"}})
	case p.Mode == "":
		mode = c.Mode
	case err != nil:
		// The author's fault, not the configuration's.
		return nil, &Error{Code: types.ErrInternal, Err: fmt.Errorf("plugin %q: mode %q: %w: %w", p.Name, p.Mode, err, hns.ErrUnsupported)}
	case c.Mode == modes.L2Tunnel && mode == modes.L2Bridge:
		mode = c.Mode
	case c.Mode != "" && c.Mode != mode:
		return nil, c.invalid([]error{&hns.FieldError{Path: "mode", Value: string(c.Mode), Reason: fmt.Sprintf("%s serves %s", p.Name, mode)}})
	}
	here := *p
	here.Mode = mode
	return &here, nil
}

// checkConfig finds what the plugin's mode has not, and what the IPAM plugin would
// refuse.
func (p *Plugin) checkConfig(c *Config) error {
	bad := c.checkCapabilities(p.Mode)
	if c.MACPrefix != "" && p.Mode != modes.Overlay {
		bad = append(bad, &hns.FieldError{Path: "endpointMacPrefix", Value: c.MACPrefix,
			Reason: fmt.Sprintf("is for %s networks; on %s HNS chooses the MAC address", modes.Overlay, p.Mode)})
	}
	if p.IPAM == nil {
		bad = append(bad, c.checkIPAM())
	}
	return c.invalid(bad)
}

// begin reads the environment, takes the sandbox's lock and opens HNS.
func (p *Plugin) begin(ctx context.Context, args *skel.CmdArgs, c *Config, verb string) (context.Context, *run, error) {
	r := &run{p: p, args: args, start: time.Now()}
	fail := func(err error) (context.Context, *run, error) {
		r.close(err)
		return nil, nil, err
	}
	log, closeLog, err := pluginlog.Open(c.LogFile, c.logLevel)
	if err != nil && verb != verbDel { // no reason to keep a pod's endpoint
		return fail(invalidConfig(err))
	}
	r.end = append(r.end, closeLog)
	log = log.With("verb", verb, "container", args.ContainerID, "interface", args.IfName, "network", c.Name)
	r.Pod = Pod{ContainerID: args.ContainerID, IfName: args.IfName, Args: args.Args, Config: c,
		EndpointName: p.endpointName(args.ContainerID, c.Name), Log: log}

	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout,
		fmt.Errorf("%s of %s gave up after %s: %w", verb, args.ContainerID, c.Timeout, context.DeadlineExceeded))
	r.end = append(r.end, cancel)
	ctx, unlock, err := LockSandbox(ctx, c.Timeout, p.stateDir(c), args.ContainerID)
	if err != nil {
		return fail(err)
	}
	r.end = append(r.end, unlock)
	if r.Client, err = p.open(ctx, log); err != nil {
		return fail(err)
	}
	return ctx, r, nil
}

// open gives the client within the verb's deadline: Plugin.Open has no context.
// One that comes too late is dropped, and nothing has been asked of it.
func (p *Plugin) open(ctx context.Context, log *slog.Logger) (*hns.Client, error) {
	open := p.Open
	if open == nil {
		open = hns.Open
	}
	var c *hns.Client
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("open HNS: %w", &panicError{p, debug.Stack()})
			}
			done <- err
		}()
		c, err = open(&hns.Options{Logger: log})
	}()
	select {
	case err := <-done:
		return c, err
	case <-ctx.Done():
		return nil, fmt.Errorf("open HNS: %w", context.Cause(ctx))
	}
}

// The verbs, as CNI_COMMAND has them.
const (
	verbAdd   = "ADD"
	verbCheck = "CHECK"
	verbDel   = "DEL"
)

func (r *run) close(err error) {
	switch took := time.Since(r.start); {
	case r.Log == nil:
	case err != nil:
		r.Log.Error("done", "took", took, "error", err)
	default:
		r.Log.Info("done", "took", took)
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

// containerOf is endpointName backwards.
func (p *Plugin) containerOf(endpoint, network string) (containerID string, ok bool) {
	switch {
	case p.ContainerOf != nil:
		containerID, ok = p.ContainerOf(endpoint, network)
	case p.EndpointName == nil:
		containerID, ok = strings.CutSuffix(endpoint, "_"+network)
	}
	ok = ok && checkContainerID(containerID) == nil && p.endpointName(containerID, network) == endpoint
	return containerID, ok
}

// hasIPAM reports whether somebody other than HNS gives addresses.
func (r *run) hasIPAM() bool { return r.p.IPAM != nil || r.Config.IPAMType != "" }

// noAddressOK reports whether a pod may do without an address that IPAM or HNS
// gives: on a Transparent network it may ask the DHCP server of the physical one.
// Results before version 0.3.0 cannot say so: they are those of an address.
func (r *run) noAddressOK() bool { return r.p.Mode == modes.Transparent && !r.Config.wantsAddress() }

// wantsAddress reports whether a result of the configuration's version must have
// an address (CNI specification 0.2.0, "Result").
func (c *Config) wantsAddress() bool { return c.CNIVersion == "0.1.0" || c.CNIVersion == "0.2.0" }

// checkVersion finds, before anything is made, that nobody will give the pod an
// address on network n and that the result must have one.
func (r *run) checkVersion(n *hns.Network) error {
	if r.noAddressOK() || r.p.Mode != modes.Transparent || r.hasIPAM() || len(r.Config.IPs) > 0 || len(n.Subnets()) > 0 {
		return nil
	}
	return r.withoutAddress(fmt.Errorf("HNS network %q has no subnets, and there is no IPAM: %w", n.Name, ipam.ErrNoAddress))
}

// withoutAddress is the complaint that nobody gives the pod an address; err says
// who did not.
func (r *run) withoutAddress(err error) error {
	if r.p.Mode != modes.Transparent {
		return err
	}
	return r.Config.invalid([]error{&hns.FieldError{Path: "cniVersion", Value: r.Config.CNIVersion, Reason: "a result of this version must have an address; write 0.3.0 or later"}, err})
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
		PluginPath: filepath.SplitList(r.args.Path), Config: config, NoAddressOK: r.p.Mode == modes.Transparent,
	}
}

// release gives the interface's lease back; one that is gone already is success.
func (r *run) release(ctx context.Context, config []byte) error {
	if !r.hasIPAM() {
		return nil
	}
	return safely("ipam", func() error { return r.p.ipam().Release(ctx, r.ipamRequest(config)) })
}
