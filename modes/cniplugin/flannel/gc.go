package flannel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// GC is the verb GC (CNI 1.1.0): for each attachment that is not valid and has a
// scratch file, DEL as the file says; then the delegate's GC, for what has none.
// See cniplugin.Plugin.GC.
func (p *Plugin) GC(ctx context.Context, args *skel.CmdArgs) error {
	valid, err := cniplugin.ValidAttachments(args.StdinData)
	if err != nil {
		return err
	}
	_, err = p.collect(ctx, args, valid, func(ctx context.Context, conf []byte, valid []ipam.Attachment) (cniplugin.Report, error) {
		conf, err := withAttachments(conf, valid)
		if err != nil {
			return cniplugin.Report{}, err
		}
		return cniplugin.Report{}, p.delegateCall(ctx, "GC", args, conf)
	})
	return err
}

// Reconcile is cniplugin.Plugin.Reconcile by way of flannel's configuration: it
// takes scratch files of attachments that are not live along, with what they
// are for. In the report each of them stands for its attachment, with the path of
// the file as Name and without an endpoint; the rest is the delegate's. A delegate that is executed cannot be asked, which
// is an error that matches errors.ErrUnsupported.
func (p *Plugin) Reconcile(ctx context.Context, conf []byte, live []ipam.Attachment) (cniplugin.Report, error) {
	args := &skel.CmdArgs{StdinData: conf, Path: strings.Join(p.PluginDirs, string(os.PathListSeparator))}
	return p.collect(ctx, args, live, func(ctx context.Context, conf []byte, live []ipam.Attachment) (cniplugin.Report, error) {
		d, name, err := p.inProcess(conf)
		if err != nil {
			return cniplugin.Report{}, err
		}
		if d == nil {
			return cniplugin.Report{}, fmt.Errorf("delegate %s is executed, and does not reconcile: %w", name, errors.ErrUnsupported)
		}
		d.PluginDirs = append(filepath.SplitList(args.Path), d.PluginDirs...)
		return d.Reconcile(ctx, conf, live)
	})
}

// collect removes what the scratch files tell of, and has the rest done by the
// delegate. To that, attachments that must be left are live.
func (p *Plugin) collect(ctx context.Context, args *skel.CmdArgs, live []ipam.Attachment,
	rest func(context.Context, []byte, []ipam.Attachment) (cniplugin.Report, error)) (cniplugin.Report, error) {
	cfg, err := parse(args.StdinData)
	if err != nil {
		return cniplugin.Report{}, err
	}
	cfg.ValidAttachments = nil // no part of what is made of it but for the delegate's GC
	conf, err := delegate.Rebuild(cfg, p.Options)
	if err != nil {
		return cniplugin.Report{}, invalid(fmt.Errorf("configuration of network %q: %w", cfg.Name, err))
	}
	ctx, cancel := deadline(ctx, cfg, "GC")
	defer cancel()
	files, err := delegate.Scratch{Dir: cfg.DataDir}.List()
	c := &collection{plugin: p, cfg: cfg, args: args, live: live, errs: []error{err}}
	for _, f := range files {
		if f.Attachment.Network == cfg.Name {
			c.file(ctx, f)
		}
	}
	report, errRest := rest(ctx, conf, append(live[:len(live):len(live)], c.kept...))
	report.Removed = append(c.report.Removed, report.Removed...)
	// What had to pass for live is not: its file says why it is left.
	report.Left = slices.DeleteFunc(report.Left, func(f cniplugin.Finding) bool { return slices.Contains(c.kept, f.Attachment) })
	report.Left = append(c.report.Left, report.Left...)
	c.errs = append(c.errs, errRest)
	if errRest == nil {
		for _, a := range c.upstream {
			c.errs = append(c.errs, delegate.Scratch{Dir: cfg.DataDir}.Remove(a))
		}
	}
	return report, errlist.Join(c.errs...)
}

// collection is a GC at work.
type collection struct {
	plugin *Plugin
	cfg    *delegate.Config
	args   *skel.CmdArgs
	live   []ipam.Attachment
	report cniplugin.Report
	errs   []error
	// kept are attachments whose file stays, though they are not live.
	kept []ipam.Attachment
	// upstream are those of upstream's files, which do not tell the interface: the
	// delegate finds their endpoints and leases without them.
	upstream []delegate.Attachment
}

// file calls DEL for a file whose attachment is not live.
func (c *collection) file(ctx context.Context, f delegate.Leftover) {
	a := ipam.Attachment{ContainerID: f.Attachment.ContainerID, IfName: f.Attachment.IfName}
	for _, l := range c.live {
		if l == a || f.Upstream && l.ContainerID == a.ContainerID {
			return
		}
	}
	if f.Upstream {
		key := f.Attachment
		key.IfName = "eth0" // any will do
		c.upstream = append(c.upstream, key)
		return
	}
	found := cniplugin.Finding{Name: f.Path, Attachment: a}
	left := func(why cniplugin.Reason, err error) {
		found.Reason, found.Err = why, err
		c.report.Left = append(c.report.Left, found)
		c.kept = append(c.kept, a)
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("%s/%s: %w", a.ContainerID, a.IfName, err))
		}
	}
	ctx, release, err := cniplugin.TryLockSandbox(ctx, c.plugin.lockDir(c.cfg), a.ContainerID)
	switch {
	case errors.Is(err, cniplugin.ErrBusy):
		left(cniplugin.ReasonBusy, nil)
		return
	case err != nil:
		left(cniplugin.ReasonFailed, err)
		return
	}
	defer release()
	// Another verb may have been at work until now.
	if _, err := (delegate.Scratch{Dir: c.cfg.DataDir}).Load(f.Attachment); errors.Is(err, fs.ErrNotExist) {
		left(cniplugin.ReasonBusy, nil)
		return
	}
	args := &skel.CmdArgs{ContainerID: a.ContainerID, IfName: a.IfName, Path: c.args.Path, StdinData: c.args.StdinData}
	if err := c.plugin.takeDown(ctx, args, c.cfg, false); err != nil {
		left(cniplugin.ReasonFailed, err)
		return
	}
	c.report.Removed = append(c.report.Removed, found)
}

// withAttachments puts the list of a GC into the delegate's configuration.
func withAttachments(conf []byte, valid []ipam.Attachment) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(conf, &members); err != nil {
		return nil, err
	}
	list := []types.GCAttachment{}
	for _, a := range valid {
		list = append(list, types.GCAttachment(a))
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	members["cni.dev/valid-attachments"] = text
	return json.Marshal(members)
}
