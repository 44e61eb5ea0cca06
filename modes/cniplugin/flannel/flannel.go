// Package flannel is flannel's CNI plugin for Windows nodes as a library: a
// meta-plugin that makes a delegate's configuration from its own and the
// node's subnet.env, and calls the delegate.
//
// A delegate whose type is one of Plugin.Delegates runs in the same process;
// any other is executed as the CNI specification says. What ADD handed to the
// delegate is kept in a scratch file for DEL, one for each interface; if it is
// lost or broken, DEL makes one up from the configuration, so nothing leaks.
// See package subnetenv/delegate for what the delegate gets.
package flannel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/subnetenv"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// Plugin is the meta-plugin. The zero Plugin executes every delegate. It keeps
// no state between calls and is safe for concurrent use.
type Plugin struct {
	// Delegates run in this process, chosen by their Name.
	Delegates []*cniplugin.Plugin
	// StateDir holds the locks; empty is cniplugin.DefaultStateDir. A
	// delegate's own or the configuration's goes before in the delegate.
	StateDir string
	// Options are passed to delegate.Build; nil does as upstream's flannel.
	Options *delegate.Options
	// Exec runs other delegates; nil runs them as processes.
	Exec invoke.Exec
}

// Main runs the plugin as a process; see cniplugin.Verbs.
func (p *Plugin) Main() { p.Verbs().Main("flannel") }

// Verbs returns the plugin's verbs.
func (p *Plugin) Verbs() cniplugin.Verbs {
	return cniplugin.Verbs{Add: p.Add, Check: p.Check, Del: p.Del}
}

// The codes of the CNI specification that say what to do about an error.
const (
	codeInvalidConfig = types.ErrInvalidNetworkConfig
	codeDecoding      = types.ErrDecodingFailure
	codeTryAgain      = types.ErrTryAgainLater
)

// Add is the verb ADD. A subnet.env that is missing or half-written is "try
// again later": flanneld writes it when it has its lease.
func (p *Plugin) Add(ctx context.Context, args *skel.CmdArgs) (*types100.Result, error) {
	cfg, err := parse(args.StdinData)
	if err != nil {
		return nil, err
	}
	env, err := subnetenv.Read(cfg.SubnetFile)
	if err != nil {
		return nil, &cniplugin.Error{Code: envCode(err), Err: fmt.Errorf("%w; flanneld writes this file when it runs on the node", err)}
	}
	conf, err := delegate.Build(cfg, env, p.Options)
	if err != nil {
		return nil, &cniplugin.Error{Code: codeInvalidConfig, Err: fmt.Errorf("configuration of network %q with %s: %w", cfg.Name, cfg.SubnetFile, err)}
	}
	ctx, release, err := p.lock(ctx, args)
	if err != nil {
		return nil, err
	}
	defer release()

	scratch, key := scratchOf(cfg, args)
	_, errOld := scratch.Load(key)
	if err := scratch.Save(key, conf); err != nil {
		return nil, err
	}
	res, err := p.delegateAdd(ctx, args, conf)
	if err != nil && errors.Is(errOld, fs.ErrNotExist) && nothingLeft(err) {
		// The file of an interface that was there before stays for its DEL.
		err = errors.Join(err, scratch.Remove(key))
	}
	return res, err
}

// nothingLeft reports whether a failed ADD took everything back. A delegate
// that was executed does not say, so its file stays for the DEL that follows.
func nothingLeft(err error) bool {
	var executed *executedError
	return !errors.As(err, &executed) && !errors.Is(err, hns.ErrLeftBehind) &&
		!errors.Is(err, hns.ErrOutcomeUnknown) && !errors.Is(err, ipam.ErrOutcomeUnknown)
}

// Check is the verb CHECK: the delegate's, with what ADD handed to it.
func (p *Plugin) Check(ctx context.Context, args *skel.CmdArgs) error {
	cfg, err := parse(args.StdinData)
	if err != nil {
		return err
	}
	ctx, release, err := p.lock(ctx, args)
	if err != nil {
		return err
	}
	defer release()
	scratch, key := scratchOf(cfg, args)
	conf, err := scratch.Load(key)
	if err == nil {
		conf, err = delegate.Refresh(conf, cfg)
	}
	if err != nil {
		return &cniplugin.Error{Code: cniplugin.CodeCheckFailed, Err: fmt.Errorf("what ADD gave to the delegate: %w", err)}
	}
	return p.delegateCall(ctx, "CHECK", args, conf)
}

// Del is the verb DEL. It needs neither subnet.env nor the scratch file.
func (p *Plugin) Del(ctx context.Context, args *skel.CmdArgs) error {
	cfg, err := parse(args.StdinData)
	if err != nil {
		return err
	}
	ctx, release, err := p.lock(ctx, args)
	if err != nil {
		return err
	}
	defer release()
	scratch, key := scratchOf(cfg, args)
	conf, err := scratch.Load(key)
	if err == nil {
		conf, err = delegate.Refresh(conf, cfg)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, delegate.ErrBrokenScratch) {
		conf, err = delegate.Rebuild(cfg, p.Options)
	}
	if err != nil {
		return &cniplugin.Error{Code: codeInvalidConfig, Err: fmt.Errorf("configuration of network %q: %w", cfg.Name, err)}
	}
	if err := p.delegateCall(ctx, "DEL", args, conf); err != nil {
		return err
	}
	return scratch.Remove(key)
}

func parse(stdin []byte) (*delegate.Config, error) {
	cfg, err := delegate.Parse(stdin)
	if err == nil {
		return cfg, nil
	}
	code := uint(codeInvalidConfig)
	var syntax *delegate.SyntaxError
	if errors.As(err, &syntax) {
		code = codeDecoding
	}
	return nil, &cniplugin.Error{Code: code, Err: fmt.Errorf("configuration: %w", err)}
}

func envCode(err error) uint {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, subnetenv.ErrNotReady) {
		return codeTryAgain
	}
	return codeInvalidConfig
}

func scratchOf(cfg *delegate.Config, args *skel.CmdArgs) (delegate.Scratch, delegate.Attachment) {
	return delegate.Scratch{Dir: cfg.DataDir}, delegate.Attachment{Network: cfg.Name, ContainerID: args.ContainerID, IfName: args.IfName}
}

// lockTimeout bounds the wait for the sandbox; the delegate's own deadline
// starts once it is called.
const lockTimeout = 60 * time.Second

func (p *Plugin) lock(ctx context.Context, args *skel.CmdArgs) (context.Context, func(), error) {
	dir := cmp.Or(p.StateDir, cniplugin.DefaultStateDir())
	return cniplugin.LockSandbox(ctx, lockTimeout, dir, args.ContainerID)
}

// inProcess returns the delegate of that type if it runs here. All that run
// here share the lock directory, so none waits for the lock that is held.
func (p *Plugin) inProcess(conf []byte) (*cniplugin.Plugin, string, error) {
	name, err := delegate.PluginType(conf)
	if err != nil {
		return nil, "", &cniplugin.Error{Code: codeInvalidConfig, Err: err}
	}
	for _, d := range p.Delegates {
		if d.Name == name {
			here := *d
			here.StateDir = cmp.Or(d.StateDir, p.StateDir)
			return &here, name, nil
		}
	}
	return nil, name, nil
}

func with(args *skel.CmdArgs, conf []byte) *skel.CmdArgs {
	a := *args
	a.StdinData = conf
	return &a
}

func (p *Plugin) delegateAdd(ctx context.Context, args *skel.CmdArgs, conf []byte) (*types100.Result, error) {
	d, name, err := p.inProcess(conf)
	if err != nil {
		return nil, err
	}
	if d != nil {
		return d.Add(ctx, with(args, conf))
	}
	path, err := p.find(name, args)
	if err != nil {
		return nil, err
	}
	res, err := invoke.ExecPluginWithResult(ctx, path, conf, invokeArgs("ADD", args), p.Exec)
	if err != nil {
		return nil, &executedError{name, "ADD", err}
	}
	return types100.NewResultFromResult(res)
}

// delegateCall is CHECK or DEL, which answer nothing.
func (p *Plugin) delegateCall(ctx context.Context, verb string, args *skel.CmdArgs, conf []byte) error {
	d, name, err := p.inProcess(conf)
	if err != nil {
		return err
	}
	if d != nil && verb == "DEL" {
		return d.Del(ctx, with(args, conf))
	}
	if d != nil {
		return d.Check(ctx, with(args, conf))
	}
	path, err := p.find(name, args)
	if err != nil {
		return err
	}
	if err := invoke.ExecPluginWithoutResult(ctx, path, conf, invokeArgs(verb, args), p.Exec); err != nil {
		return &executedError{name, verb, err}
	}
	return nil
}

func (p *Plugin) find(name string, args *skel.CmdArgs) (string, error) {
	dirs := filepath.SplitList(args.Path)
	find := invoke.FindInPath
	if p.Exec != nil {
		find = p.Exec.FindInPath
	}
	path, err := find(name, dirs)
	if err != nil {
		return "", &cniplugin.Error{Code: codeInvalidConfig, Err: fmt.Errorf("delegate.type: %q is neither part of this plugin nor in %q: %w", name, dirs, err)}
	}
	return path, nil
}

func invokeArgs(verb string, args *skel.CmdArgs) *invoke.Args {
	return &invoke.Args{Command: verb, ContainerID: args.ContainerID, NetNS: args.Netns, IfName: args.IfName, PluginArgsStr: args.Args, Path: args.Path}
}

// executedError is the failure of a delegate that was run as a process.
type executedError struct {
	name, verb string
	err        error
}

func (e *executedError) Error() string {
	return fmt.Sprintf("delegate %s %s: %v", e.name, e.verb, e.err)
}
func (e *executedError) Unwrap() error { return e.err }
