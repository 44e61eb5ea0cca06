package cniplugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/ipam"
)

// Del is the verb DEL. It needs the network's name and the container id, and
// nothing else to be there or right: what is gone already is success. The
// endpoint goes first and the lease last; if the endpoint could not be deleted
// the lease stays, and a repeated DEL takes both.
func (p *Plugin) Del(ctx context.Context, args *skel.CmdArgs) (err error) {
	c, _, err := parseBase(args.StdinData)
	if err != nil {
		return err
	}
	ctx, r, err := p.begin(ctx, args, c, verbDel)
	if err != nil {
		return err
	}
	defer func() { r.close(err) }()
	if c.otherErr != nil {
		r.Log.Warn("the default is taken instead", "error", c.otherErr)
	}
	if n, err := ParseNetns(args.Netns); err == nil {
		r.Namespace = n.Namespace
	} // a strange CNI_NETNS is no reason to keep the pod's endpoint
	var errHook error
	if p.Hooks.BeforeDetach != nil {
		errHook = safely("hook BeforeDetach", func() error { return p.Hooks.BeforeDetach(ctx, &r.Pod) })
	}
	found := false
	own := func(ctx context.Context, e *hns.Endpoint) (bool, error) {
		ours, err := r.own(ctx, e)
		found = found || ours
		return ours, err
	}
	if err := r.Client.Detach(ctx, hns.Detachment{Name: r.EndpointName, Own: own}); err != nil {
		return errlist.Join(errHook, err)
	}
	if c.ipamErr != nil && p.IPAM == nil {
		if !found {
			return errHook // no ADD takes such a configuration, so there is no lease either
		}
		// Whose lease it is cannot be known; the endpoint could go without.
		return errlist.Join(errHook, c.invalid([]error{c.ipamErr}))
	}
	return errlist.Join(errHook, r.release(ctx, r.releaseConfig()))
}

// releaseConfig is what the IPAM plugin gets in DEL. host-local refuses a
// configuration that is broken, also to release by it; it then gets one with
// what it needs for that.
func (r *run) releaseConfig() []byte {
	if r.p.IPAM != nil || !ipam.IsHostLocal(r.Config.IPAMType) || r.Config.checkIPAM() == nil {
		return r.Config.Raw
	}
	conf := map[string]any{
		"cniVersion": r.Config.CNIVersion, "name": r.Config.Name, "type": cmp.Or(r.Config.Type, r.p.Name),
		// It wants some subnet; leases go by container and interface (RFC 5737).
		"ipam": map[string]any{"type": r.Config.IPAMType, "subnet": "192.0.2.0/24"},
	}
	if dir, ok := dataDir(r.Config.IPAM); ok && dir != "" {
		conf["ipam"].(map[string]any)["dataDir"] = dir
	}
	b, err := json.Marshal(conf)
	if err != nil {
		return r.Config.Raw
	}
	return b
}

// own keeps the DEL of one interface, as a runtime sends it after an ADD that
// was refused, from the endpoint of another interface of the same sandbox: both
// have the same name. host-local's lease tells whose it is; without a lease, or
// with another IPAM, the endpoint is taken for ours, for leases are lost more
// often than interfaces are doubled.
func (r *run) own(ctx context.Context, e *hns.Endpoint) (bool, error) {
	if there, err := r.onNetwork(ctx, e); err != nil || !there {
		return false, err
	}
	if r.p.IPAM != nil || !ipam.IsHostLocal(r.Config.IPAMType) {
		return true, nil
	}
	dir, ok := dataDir(r.Config.IPAM)
	if !ok {
		return true, nil // host-local will not find its leases either
	}
	var errs []error
	for _, a := range e.Addresses() {
		l, ok, err := ipam.LeaseOf(dir, r.Config.Name, a)
		errs = append(errs, err)
		if ok && l.ContainerID == r.ContainerID && l.IfName != "" && l.IfName != r.IfName {
			r.Log.Info("endpoint left alone", "endpoint", e.ID.String(), "interface of it", l.IfName)
			return false, nil
		}
	}
	err := errors.Join(errs...)
	return err == nil, err
}

// onNetwork keeps the DEL of one pod from the endpoint of another whose name is
// the same: "a_b" on "c" and "a" on "b_c" make "a_b_c". Only where a "_" allows
// for that is HNS asked.
func (r *run) onNetwork(ctx context.Context, e *hns.Endpoint) (bool, error) {
	if !strings.Contains(r.ContainerID+r.Config.Name, "_") {
		return true, nil
	}
	n, err := r.Client.Networks.ByID(ctx, e.Network)
	if errors.Is(err, hns.ErrNotFound) {
		return true, nil // the endpoint is on its way out
	}
	return err == nil && n.Name == r.Config.Name, err
}

// dataDir returns where host-local keeps its leases.
func dataDir(ipamConfig json.RawMessage) (dir string, ok bool) {
	var conf struct {
		DataDir string `json:"dataDir"`
	}
	err := json.Unmarshal(ipamConfig, &conf)
	return conf.DataDir, err == nil
}
