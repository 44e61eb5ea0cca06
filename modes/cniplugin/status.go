package cniplugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/pluginlog"
	"github.com/hnskit/hnskit/internal/privatedir"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// Status is the verb STATUS (CNI 1.1.0): nil if an ADD could be served. A
// configuration that is wrong by itself is the error that ADD gives, of code 7.
// Then it asks whether the state directory can be written, and makes it, whether
// HNS answers and has the network, whether the configuration fits the network,
// and the IPAM plugin. That error has code 50, and 51 if the IPAM plugin says
// that pods that are there may suffer too.
func (p *Plugin) Status(ctx context.Context, args *skel.CmdArgs) (err error) {
	c, err := ParseConfig(args.StdinData)
	if err != nil {
		return err
	}
	if p, err = p.forConfig(c); err != nil {
		return err
	}
	if err := p.checkConfig(c); err != nil {
		return err
	}
	if err := p.addWishes(c, ""); err != nil {
		return err
	}
	log, closeLog, err := pluginlog.Open(c.LogFile, c.logLevel)
	if err != nil {
		return invalidConfig(err)
	}
	defer closeLog()
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("STATUS gave up after %s: %w", c.Timeout, context.DeadlineExceeded))
	defer cancel()
	// Any pod would do.
	r := &run{p: p, args: args, Pod: Pod{Config: c, Log: log, EndpointName: p.endpointName("status", c.Name)}}
	if err = r.checkStateDir(); err == nil {
		r.Client, err = p.open(ctx, log)
	}
	if err == nil {
		err = r.ready(ctx)
	}
	if err == nil {
		return nil
	}
	code := uint(codeNotAvailable)
	var fromPlugin *types.Error
	if errors.As(err, &fromPlugin) && fromPlugin.Code == codeLimited {
		code = codeLimited
	}
	return &Error{Code: code, Err: err}
}

// checkStateDir makes what ADD needs in the state directory, and writes a file
// there.
func (r *run) checkStateDir() error {
	for _, dir := range []string{locksDir(r.p.stateDir(r.Config)), filepath.Dir(r.notes().dir)} {
		err := privatedir.Make(dir)
		if err == nil {
			err = tryWrite(dir)
		}
		if err != nil {
			return fmt.Errorf("state directory: %w", err)
		}
	}
	return nil
}

func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".status-*.tmp")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// ready does what an ADD does before it changes anything, and asks IPAM. A network
// that the next ADD will make is as good as there.
func (r *run) ready(ctx context.Context) error {
	s, err := r.lookAtNetwork(ctx)
	if err != nil {
		return err
	}
	if s != nil && s.missing != nil {
		if !s.said.creates(r.p.Mode) {
			return r.networkMissing(ctx, s.missing)
		}
		if err := r.requireNetwork(ctx, s); err != nil {
			return err
		}
		planned := *s.whole
		planned.ID = hns.ID{1} // a stand-in: endpoints are planned on networks that are there
		r.Network = &planned
	}
	e, err := r.planWithoutAddress()
	if s != nil && s.missing != nil && errors.Is(err, modes.ErrNotReady) && hns.FieldErrors(err) == nil {
		err = nil // HNS fills it in when the network is made
	}
	if err != nil {
		return err
	}
	if e != nil {
		if err := r.requireEndpoint(ctx, e); err != nil {
			return err
		}
	}
	config, err := r.reserve()
	if err != nil {
		return err
	}
	if !r.hasIPAM() {
		return nil
	}
	checker, ok := r.p.ipam().(ipam.StatusChecker)
	if !ok {
		return nil
	}
	req := r.ipamRequest(config)
	req.ContainerID, req.IfName, req.Netns, req.Args = "", "", "", ""
	err = safely("ipam", func() error { return checker.Status(ctx, req) })
	if errors.Is(err, errors.ErrUnsupported) { // nobody can tell, which is no reason against it
		return nil
	}
	return err
}
