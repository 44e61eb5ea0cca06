package cniplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/utils"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/internal/pluginlog"
	"github.com/hnskit/hnskit/ipam"
)

// The key of a GC's configuration, and the one that the first edition of the
// specification gave it (containernetworking/cni#1101).
const (
	keyAttachments    = "cni.dev/valid-attachments"
	keyOldAttachments = "cni.dev/attachments"
)

// GC is the verb GC (CNI 1.1.0): [Plugin.Reconcile] with the attachments that
// the configuration calls valid, and then the GC of IPAM, which is told to keep
// the leases of what stays. It goes on after an error, and what is left is for
// the next time. No ADD may run meanwhile, which the specification lays upon the
// runtime. Without the list nothing is removed; see [ValidAttachments].
func (p *Plugin) GC(ctx context.Context, args *skel.CmdArgs) error {
	valid, err := ValidAttachments(args.StdinData)
	if err != nil {
		return err
	}
	_, err = p.reconcile(ctx, args, valid, true)
	return err
}

// ValidAttachments reads the list of a GC from its configuration. That there is
// none is an error; a list that is null is empty, as libcni writes an empty one.
func ValidAttachments(conf []byte) ([]ipam.Attachment, error) {
	c, w, err := parseBase(conf)
	if err != nil {
		return nil, err
	}
	valid, err := w.validAttachments()
	if err != nil {
		return nil, c.invalid([]error{err})
	}
	return valid, nil
}

// validAttachments reads the list of GC.
func (w *wireConfig) validAttachments() ([]ipam.Attachment, error) {
	key, raw := keyAttachments, w.ValidAttachments
	if present(raw) == nil && w.OldAttachments != nil { // a null says nothing against the old list
		key, raw = keyOldAttachments, w.OldAttachments
	}
	if raw == nil {
		return nil, &hns.FieldError{Path: keyAttachments, Reason: "missing; without it nobody knows what is stale"}
	}
	p := &configParser{}
	valid := []ipam.Attachment{}
	p.list(key, raw, func(path string, raw json.RawMessage) {
		var a struct {
			ContainerID string `json:"containerID"`
			IfName      string `json:"ifname"`
		}
		if present(raw) == nil {
			p.complain(path, "null", errors.New("not an attachment"))
		} else if p.value(path, raw, &a) {
			p.bad = append(p.bad, checkAttachment(path+".containerID", path+".ifname", ipam.Attachment(a)))
			valid = append(valid, ipam.Attachment(a))
		}
	})
	return valid, errlist.Join(p.bad...)
}

func checkAttachment(pathID, pathName string, a ipam.Attachment) error {
	var bad []error
	if err := utils.ValidateContainerID(a.ContainerID); err != nil {
		bad = append(bad, &hns.FieldError{Path: pathID, Value: a.ContainerID, Reason: "not a container id"})
	}
	if err := utils.ValidateInterfaceName(a.IfName); err != nil {
		bad = append(bad, &hns.FieldError{Path: pathName, Value: a.IfName, Reason: "not the name of an interface"})
	}
	return errlist.Join(bad...)
}

// Reconcile removes from the network of the configuration what belongs to no
// live attachment: endpoints, with their leases and notes, and then leases and
// notes without an endpoint. It is for a node's agent: runtimes call DEL, and
// hardly any calls GC, so what takes effect after a DEL stays otherwise, such as
// an endpoint that HNS finished late.
//
// An endpoint is the plugin's own if it is on the HNS network of the
// configuration's name and has a name that ADD gives there (see
// Plugin.ContainerOf). Those of other nodes, and those that are attached to the
// node itself or by the v1 API, are left. So is everything of a sandbox that
// another verb is at work for. If an endpoint cannot be removed its lease stays.
//
// live must hold every attachment of the network whose ADD had begun when
// Reconcile is called and that no DEL has followed: what is not among it counts
// as stale as soon as its ADD is over. An empty live removes everything. An ADD
// that begins later is not disturbed; for its sake the GC of IPAM is left to the
// verb GC, and of an IPAM other than host-local only leases with a note go. Of
// the configuration the same is read as in DEL.
//
// The report is filled as far as Reconcile came when there is an error. What is
// busy is no error.
func (p *Plugin) Reconcile(ctx context.Context, conf []byte, live []ipam.Attachment) (Report, error) {
	var bad []error
	for i, a := range live {
		bad = append(bad, checkAttachment(fmt.Sprintf("live[%d].ContainerID", i), fmt.Sprintf("live[%d].IfName", i), a))
	}
	if err := errlist.Join(bad...); err != nil {
		return Report{}, err
	}
	args := &skel.CmdArgs{Path: strings.Join(p.PluginDirs, string(os.PathListSeparator)), StdinData: conf}
	return p.reconcile(ctx, args, live, false)
}

func (p *Plugin) reconcile(ctx context.Context, args *skel.CmdArgs, live []ipam.Attachment, alone bool) (rep Report, err error) {
	c, _, err := parseBase(args.StdinData)
	if err != nil {
		return rep, err
	}
	// In the wrong place there are neither locks nor notes.
	if err := c.invalid([]error{c.otherErr, c.ipamErr}); err != nil {
		return rep, err
	}
	if p, err = p.forConfig(c); err != nil {
		return rep, err
	}
	log, closeLog, _ := pluginlog.Open(c.LogFile, c.logLevel) // no reason to keep what is stale
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("GC gave up after %s: %w", c.Timeout, context.DeadlineExceeded))
	r := &run{p: p, args: args, start: time.Now(), end: []func(){closeLog, cancel}, Pod: Pod{Config: c, Log: log.With("verb", "GC", "network", c.Name)}}
	defer func() { r.close(err) }()
	if r.Client, err = p.open(ctx, log); err != nil {
		return rep, err
	}
	s := &sweep{run: r, live: map[ipam.Attachment]bool{}, containers: map[string]bool{}}
	for _, a := range live {
		s.live[a], s.containers[a.ContainerID] = true, true
	}
	if err = s.all(ctx); alone && s.looked {
		err = errlist.Join(err, s.ipamGC(ctx))
	}
	return s.report, err
}
