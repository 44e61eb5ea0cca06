// Package flannel is flannel's CNI plugin for Windows nodes as a library: a
// meta-plugin that makes a delegate's configuration from its own and the
// node's subnet.env, and calls the delegate.
//
// A delegate whose type is one of Plugin.Delegates runs in the same process;
// any other is executed as the CNI specification says. What ADD handed to the
// delegate is kept in a scratch file for DEL, one for each interface; if it is
// lost or broken, DEL makes one up from the configuration, so nothing leaks.
// See package subnetenv/delegate for what the delegate gets.
//
// # Locks and time
//
// A lock per sandbox is held over a verb. It is not the delegate's, which takes
// its own: so it does not matter whether the delegate runs here or as a process.
// A verb has a deadline, the delegate's "timeout" if it has one, else
// cniplugin.DefaultTimeout; a delegate that runs as a process is killed then, and
// the scratch file stays for DEL. It is killed, too, when it writes more than 1 MiB
// to standard output, and, on Windows and Linux, when this process ends: what it
// did after the DEL that follows nobody would take back.
//
// Errors have the codes that package cniplugin lists; those of a delegate that is
// executed are passed on.
//
// # Keys
//
// The keys timeout, stateDir, logFile and logLevel of package cniplugin may
// stand at the top level, too; the delegate gets them unless it has its own.
// Others of the delegate's that stand there, such as policies, ipMasq or
// loopbackDSR, have no effect, as with upstream's flannel. ADD and STATUS name them
// in the log, as a warning, and package inspect does.
package flannel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/pluginexec"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// Plugin is the meta-plugin. The zero Plugin executes every delegate. It keeps
// no state between calls and is safe for concurrent use.
type Plugin struct {
	// Delegates run in this process, chosen by their Name.
	Delegates []*cniplugin.Plugin
	// StateDir holds the locks; empty is cniplugin.DefaultStateDir. It is the
	// delegates' too unless they, or their configuration, have another.
	StateDir string
	// Options are passed to delegate.Build; nil does as upstream's flannel.
	Options *delegate.Options
	// PluginDirs are the directories of delegates and IPAM plugins for Reconcile,
	// which no runtime gives a CNI_PATH.
	PluginDirs []string
	// Exec runs other delegates; nil runs them as processes whose standard error
	// is dropped unless they fail.
	Exec invoke.Exec
}

// Main runs the plugin as a process; see cniplugin.Verbs.
func (p *Plugin) Main() { p.Verbs().Main("flannel") }

// Verbs returns the plugin's verbs.
func (p *Plugin) Verbs() cniplugin.Verbs {
	return cniplugin.Verbs{Add: p.Add, Check: p.Check, Del: p.Del, GC: p.GC, Status: p.Status}
}

// The codes of the CNI specification that say what to do about an error.
const (
	codeInvalidEnvironment = types.ErrInvalidEnvironmentVariables
	codeInvalidConfig      = types.ErrInvalidNetworkConfig
	codeDecoding           = types.ErrDecodingFailure
	codeTryAgain           = types.ErrTryAgainLater
	codeNotAvailable       = 50
)

// Add is the verb ADD. A subnet.env that is missing or half-written is "try
// again later": flanneld writes it when it has its lease.
func (p *Plugin) Add(ctx context.Context, args *skel.CmdArgs) (*types100.Result, error) {
	cfg, err := parse(args.StdinData)
	if err != nil {
		return nil, err
	}
	env, err := readEnv(cfg)
	if err != nil {
		return nil, err
	}
	conf, err := delegate.Build(cfg, env, p.Options)
	if err != nil {
		return nil, invalid(fmt.Errorf("configuration of network %q with %s: %w", cfg.Name, cfg.SubnetFile, err))
	}
	ctx, release, err := p.begin(ctx, args, cfg, "ADD")
	if err != nil {
		return nil, err
	}
	defer release()
	warnUnread(cfg, "ADD", args.ContainerID)

	scratch, key := scratchOf(cfg, args)
	old, errOld := scratch.Load(key)
	if err := scratch.Save(key, conf); err != nil {
		return nil, err
	}
	res, err := p.delegateAdd(ctx, args, conf)
	switch {
	case err == nil:
		return res, nil
	case errOld == nil: // what is there was made with the old one, and its DEL needs that
		return nil, errors.Join(err, scratch.Save(key, old))
	case errors.Is(errOld, fs.ErrNotExist) && nothingLeft(err):
		return nil, errors.Join(err, scratch.Remove(key))
	}
	return nil, err
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
	ctx, release, err := p.begin(ctx, args, cfg, "CHECK")
	if err != nil {
		return err
	}
	defer release()
	scratch, key := scratchOf(cfg, args)
	conf, err := scratch.Load(key)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, delegate.ErrBrokenScratch) {
		return &cniplugin.Error{Code: cniplugin.CodeCheckFailed, Err: fmt.Errorf("what ADD gave to the delegate: %w", err)}
	}
	if err != nil {
		return err
	}
	if conf, err = delegate.Refresh(conf, cfg); err != nil {
		return invalid(fmt.Errorf("configuration of network %q: %w", cfg.Name, err))
	}
	return p.delegateCall(ctx, "CHECK", args, conf)
}

// Del is the verb DEL. It needs neither subnet.env nor the scratch file, and
// with the scratch file nothing of the configuration but the name and dataDir.
func (p *Plugin) Del(ctx context.Context, args *skel.CmdArgs) error {
	cfg, err := parse(args.StdinData)
	spoilt := err != nil
	if spoilt {
		if cfg = parseLeast(args.StdinData); cfg == nil {
			return err
		}
	}
	ctx, release, err := p.begin(ctx, args, cfg, "DEL")
	if err != nil {
		return err
	}
	defer release()
	return p.takeDown(ctx, args, cfg, spoilt)
}

// takeDown calls the delegate's DEL with what ADD gave to it, or something as
// good, and forgets it then.
func (p *Plugin) takeDown(ctx context.Context, args *skel.CmdArgs, cfg *delegate.Config, spoilt bool) error {
	scratch, key := scratchOf(cfg, args)
	conf, err := scratch.Load(key)
	lost := errors.Is(err, fs.ErrNotExist)
	if err == nil && !spoilt {
		conf, err = delegate.Refresh(conf, cfg)
	}
	if lost || errors.Is(err, delegate.ErrBrokenScratch) {
		conf, err = delegate.Rebuild(cfg, p.Options)
		if err != nil && lost {
			return nil // no ADD takes such a configuration, and none left a file
		}
	}
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return err // the disk's fault, not the configuration's
	case err != nil:
		return invalid(fmt.Errorf("configuration of network %q: %w", cfg.Name, err))
	}
	if err := p.delegateCall(ctx, "DEL", args, conf); err != nil {
		return err
	}
	return scratch.Remove(key)
}

// Status is the verb STATUS (CNI 1.1.0): nil if an ADD could be served, code 7 for
// a configuration that is wrong, by itself or with this subnet.env, code 50 if
// subnet.env cannot be read or the delegate is not ready. A delegate that is
// executed is asked too; one that does not know the verb counts as ready.
func (p *Plugin) Status(ctx context.Context, args *skel.CmdArgs) error {
	cfg, err := parse(args.StdinData)
	if err != nil {
		return err
	}
	env, err := readEnv(cfg)
	if err != nil {
		return &cniplugin.Error{Code: codeNotAvailable, Err: err}
	}
	conf, err := delegate.Build(cfg, env, p.Options)
	if err != nil {
		return invalid(err)
	}
	warnUnread(cfg, "STATUS", "")
	ctx, cancel := deadline(ctx, cfg, "STATUS")
	defer cancel()
	return p.delegateCall(ctx, "STATUS", args, conf)
}

func invalid(err error) error { return &cniplugin.Error{Code: codeInvalidConfig, Err: err} }

func scratchOf(cfg *delegate.Config, args *skel.CmdArgs) (delegate.Scratch, delegate.Attachment) {
	return delegate.Scratch{Dir: cfg.DataDir}, delegate.Attachment{Network: cfg.Name, ContainerID: args.ContainerID, IfName: args.IfName}
}

// begin sets the deadline of a verb and takes the sandbox's lock.
func (p *Plugin) begin(ctx context.Context, args *skel.CmdArgs, cfg *delegate.Config, verb string) (context.Context, func(), error) {
	_, key := scratchOf(cfg, args)
	if err := key.Validate(); err != nil {
		return nil, nil, &cniplugin.Error{Code: codeInvalidEnvironment, Err: fmt.Errorf("runtime: %w", err)}
	}
	ctx, cancel := deadline(ctx, cfg, verb+" of "+args.ContainerID)
	ctx, release, err := cniplugin.LockSandbox(ctx, timeout(cfg), p.lockDir(cfg), args.ContainerID)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return ctx, func() { release(); cancel() }, nil
}

func deadline(ctx context.Context, cfg *delegate.Config, what string) (context.Context, context.CancelFunc) {
	limit := timeout(cfg)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s gave up after %s: %w", what, limit, context.DeadlineExceeded))
}

func (p *Plugin) lockDir(cfg *delegate.Config) string {
	return filepath.Join(cmp.Or(text(cfg, "stateDir"), p.StateDir, cniplugin.DefaultStateDir()), "flannel")
}

// inProcess returns the delegate of that type if it runs here. On Windows a
// type may be the name of the file.
func (p *Plugin) inProcess(conf []byte) (*cniplugin.Plugin, string, error) {
	name, err := delegate.PluginType(conf)
	if err != nil {
		return nil, "", invalid(err)
	}
	for _, d := range p.Delegates {
		if strings.TrimSuffix(strings.ToLower(name), ".exe") == strings.ToLower(d.Name) {
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
	res, err := invoke.ExecPluginWithResult(ctx, path, conf, invokeArgs("ADD", args), p.exec())
	var latest *types100.Result
	if err == nil {
		latest, err = types100.NewResultFromResult(res)
	}
	if err != nil {
		return nil, &executedError{name, "ADD", gaveUp(ctx, err)}
	}
	return latest, nil
}

// gaveUp adds why a delegate was killed.
func gaveUp(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return &cniplugin.Error{Code: codeTryAgain, Err: fmt.Errorf("%w: %w", cause, err)}
	}
	return err
}

// delegateCall is any other verb; they answer nothing.
func (p *Plugin) delegateCall(ctx context.Context, verb string, args *skel.CmdArgs, conf []byte) error {
	d, name, err := p.inProcess(conf)
	if err != nil {
		return err
	}
	if d != nil {
		verbs := map[string]func(context.Context, *skel.CmdArgs) error{"CHECK": d.Check, "DEL": d.Del, "GC": d.GC, "STATUS": d.Status}
		return verbs[verb](ctx, with(args, conf))
	}
	path, err := p.find(name, args)
	if err != nil {
		return err
	}
	err = invoke.ExecPluginWithoutResult(ctx, path, conf, invokeArgs(verb, args), p.exec())
	if (verb == "GC" || verb == "STATUS") && isUnknownVerb(err) {
		return nil
	}
	if err != nil {
		return &executedError{name, verb, gaveUp(ctx, err)}
	}
	return nil
}

// isUnknownVerb reports whether a delegate is too old for the verb, which package
// skel says in this text alone.
func isUnknownVerb(err error) bool {
	var printed *types.Error
	return errors.As(err, &printed) && strings.HasPrefix(printed.Msg, "unknown CNI_COMMAND")
}

func (p *Plugin) find(name string, args *skel.CmdArgs) (string, error) {
	dirs := filepath.SplitList(args.Path)
	path, err := p.exec().FindInPath(name, dirs)
	if err != nil {
		return "", invalid(fmt.Errorf("delegate.type: %q is neither part of this plugin nor in %q: %w", name, dirs, err))
	}
	return path, nil
}

func (p *Plugin) exec() invoke.Exec {
	if p.Exec != nil {
		return p.Exec
	}
	return &pluginexec.Exec{}
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
