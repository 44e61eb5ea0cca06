package cniplugin

import (
	"context"
	"fmt"

	"github.com/containernetworking/cni/pkg/skel"
)

// Status is the verb STATUS (CNI 1.1.0): nil if an ADD could be served. It
// asks whether HNS answers and has the network; the error has code 50 if not.
// The IPAM plugin is not asked.
func (p *Plugin) Status(ctx context.Context, args *skel.CmdArgs) (err error) {
	c, err := ParseConfig(args.StdinData)
	if err != nil {
		return err
	}
	log, closeLog, err := openLog(c)
	if err != nil {
		return invalidConfig(err)
	}
	defer closeLog()
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("STATUS gave up after %s: %w", c.Timeout, context.DeadlineExceeded))
	defer cancel()
	r := &run{p: p, args: args, Pod: Pod{Config: c, Log: log}}
	if r.Client, err = p.open(ctx, log); err == nil {
		err = r.findNetwork(ctx)
	}
	if err != nil {
		return &Error{Code: codeNotAvailable, Err: err}
	}
	return nil
}
