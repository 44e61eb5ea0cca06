package ipam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/internal/pluginexec"
)

// releaseTimeout bounds the release after a failed Allocate, whose own context
// may be done by then.
const releaseTimeout = 10 * time.Second

// Delegated is an [IPAM] that runs the CNI plugin which the configuration names
// in ipam.type, as the CNI specification lays down for delegated plugins. The
// zero value is ready for use.
//
// The plugin gets the configuration byte for byte, but for a byte order mark,
// which plugins cannot read. It is stopped when the context is done, when it writes
// more than 1 MiB to standard output, and, on Windows and Linux, when this process
// ends: a plugin that outlived a killed caller could take an address after the DEL
// that follows. What host-local leaves when it is stopped between making and
// writing a lease, GC removes. An error the plugin prints stays reachable as a
// [*types.Error] with errors.As.
type Delegated struct {
	// Exec finds and runs plugins; nil runs them as processes. It must be safe
	// for concurrent use.
	Exec invoke.Exec
	// Stderr, if not nil, gets what plugins write to standard error, the first 64 KiB
	// of each call in one Write, possibly from several goroutines at once. It is
	// ignored when Exec is given.
	Stderr io.Writer
}

var (
	_ IPAM             = (*Delegated)(nil)
	_ GarbageCollector = (*Delegated)(nil)
	_ StatusChecker    = (*Delegated)(nil)
)

// Allocate runs ADD. If the plugin itself fails nothing is released: host-local
// for one fails when the interface has an address already, which may be that of a
// running pod. Whoever knows that it is not calls Release, as the specification
// wants, for the plugin may have failed after it took an address. If it succeeds,
// but its result cannot be used or has no address though it must (the error then
// matches [ErrNoAddress]), Allocate runs DEL with the same configuration and
// arguments before it returns.
func (d *Delegated) Allocate(ctx context.Context, req Request) (*Lease, error) {
	call, err := d.prepare(ctx, "ADD", req)
	if err != nil {
		return nil, err
	}
	result, err := invoke.ExecPluginWithResult(ctx, call.path, withoutMark(req.Config), call.args, call)
	if !call.succeeded {
		return nil, call.failed(ctx, err)
	}
	var lease *Lease
	if err == nil {
		lease, err = NewLease(result)
	}
	if err != nil {
		err = fmt.Errorf("the result is unusable: %w", err)
	} else if len(lease.Addresses) == 0 && !req.NoAddressOK {
		err = fmt.Errorf("the result has %w", ErrNoAddress)
	}
	if err == nil {
		return lease, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if relErr := d.Release(ctx, req); relErr != nil {
		err = errors.Join(err, fmt.Errorf("and its lease is still held: %w", relErr))
	}
	return nil, call.annotate(err)
}

// Release runs DEL. After host-local's it also removes lease files that are empty:
// a host-local that was killed while it made one leaves it, and no DEL of its own
// can name it, so the address would be taken for good.
func (d *Delegated) Release(ctx context.Context, req Request) error {
	if err := d.run(ctx, "DEL", req); err != nil {
		return err
	}
	s, err := storeOf(req.Config)
	if err != nil || s == nil || !s.hasEmpty() {
		return nil //nolint:nilerr // host-local has understood the configuration
	}
	return s.removeOwnerless(ctx)
}

// Check runs CHECK. If the configuration has no prevResult, as it has when a
// runtime asks, the lease is added as such; CNI versions before 0.4.0 know
// neither CHECK nor prevResult, and the plugin will say so.
func (d *Delegated) Check(ctx context.Context, req Request, lease *Lease) error {
	config, err := withPrevResult(req.Config, lease)
	if err != nil {
		return fmt.Errorf("IPAM CHECK %s/%s: %w", req.ContainerID, req.IfName, err)
	}
	req.Config = config
	return d.run(ctx, "CHECK", req)
}

func (d *Delegated) run(ctx context.Context, verb string, req Request) error {
	call, err := d.prepare(ctx, verb, req)
	if err != nil {
		return err
	}
	err = invoke.ExecPluginWithoutResult(ctx, call.path, withoutMark(req.Config), call.args, call)
	if call.succeeded {
		return nil
	}
	return call.failed(ctx, err)
}

// call is one run of a plugin. It stands in for the Exec, to learn whether the
// plugin itself succeeded when the error does not tell.
type call struct {
	invoke.Exec
	typ, path string
	args      *invoke.Args
	succeeded bool
}

// prepare finds the plugin. Nothing has happened if it fails.
func (d *Delegated) prepare(ctx context.Context, verb string, req Request) (*call, error) {
	c := &call{Exec: d.Exec, args: &invoke.Args{
		Command:       verb,
		ContainerID:   req.ContainerID,
		NetNS:         req.Netns,
		IfName:        req.IfName,
		PluginArgsStr: req.Args,
		Path:          strings.Join(req.PluginPath, string(os.PathListSeparator)),
	}}
	if c.Exec == nil {
		c.Exec = &pluginexec.Exec{Stderr: d.Stderr}
	}
	var err error
	if c.typ, err = PluginType(req.Config); err != nil {
		return nil, c.annotate(err)
	}
	if c.typ == "" {
		return nil, c.annotate(&ConfigError{Path: "ipam.type", Err: errMissing})
	}
	if err := context.Cause(ctx); err != nil {
		return nil, c.annotate(fmt.Errorf("not run: %w", err))
	}
	if c.path, err = c.FindInPath(c.typ, req.PluginPath); err != nil {
		return nil, c.annotate(fmt.Errorf("%w: %q is not in the plugin path %q: %w", ErrPluginNotFound, c.typ, req.PluginPath, err))
	}
	return c, nil
}

// ExecPlugin runs the plugin and notes whether it succeeded.
func (c *call) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	out, err := c.Exec.ExecPlugin(ctx, path, stdin, environ)
	c.succeeded = err == nil
	return out, err
}

// failed is the error of a plugin that did not succeed.
func (c *call) failed(ctx context.Context, err error) error {
	var printed *types.Error
	var exit *exec.ExitError
	if cause := context.Cause(ctx); cause != nil {
		err = fmt.Errorf("%w: stopped: %w: %w", ErrOutcomeUnknown, cause, err)
	} else if errors.Is(err, pluginexec.ErrTooMuch) {
		err = fmt.Errorf("%w: stopped: %w", ErrOutcomeUnknown, err)
	} else if errors.As(err, &exit) && !errors.As(err, &printed) {
		err = fmt.Errorf("%w: it broke off: %w", ErrOutcomeUnknown, err)
	}
	return c.annotate(err)
}

func (c *call) annotate(err error) error {
	name := c.typ
	if name == "" {
		name = "IPAM"
	}
	if c.args.ContainerID == "" && c.args.IfName == "" {
		return fmt.Errorf("%s %s: %w", name, c.args.Command, err)
	}
	return fmt.Errorf("%s %s %s/%s: %w", name, c.args.Command, c.args.ContainerID, c.args.IfName, err)
}

// withPrevResult adds the lease to a configuration that has no prevResult.
func withPrevResult(config []byte, lease *Lease) ([]byte, error) {
	obj, err := readObject(config, "prevResult")
	if err != nil {
		return nil, &ConfigError{Path: "network configuration", Err: err}
	}
	if lease == nil || obj.get("prevResult") != nil {
		return config, nil
	}
	confVersion, err := (&version.ConfigDecoder{}).Decode(withoutMark(config))
	if err != nil {
		return nil, err
	}
	if ok, err := version.GreaterThanOrEqualTo(confVersion, "0.4.0"); err != nil || !ok {
		return config, err
	}
	var result types.Result = lease.Result()
	if result, err = result.GetAsVersion(confVersion); err != nil {
		return nil, err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	return obj.with("prevResult", text).text(), nil
}
