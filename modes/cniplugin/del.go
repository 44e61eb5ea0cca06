package cniplugin

import (
	"context"
	"slices"

	"github.com/containernetworking/cni/pkg/skel"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/ipam"
)

// Del is the verb DEL. It needs the network's name and the container id, and
// nothing else to be there or right: what is gone already is success. The
// endpoint goes first and the lease last; if the endpoint could not be deleted
// the lease stays, and a repeated DEL takes both. The lease is given back to the
// IPAM plugin that gave it, whichever the configuration names by now.
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
	r.dropNetworkLock(ctx)
	return r.takeDown(ctx, r.own, true)
}

// takeDown runs the steps of a DEL: the hook, the endpoints that own claims, the
// lease if the interface is known, and the note. Every step is tried but for the
// lease and the note while an endpoint may be left.
func (r *run) takeDown(ctx context.Context, own func(context.Context, *hns.Endpoint) (bool, error), knowsInterface bool) error {
	errHook := r.beforeDetach(ctx)
	found := false
	claim := func(ctx context.Context, e *hns.Endpoint) (bool, error) {
		ours, err := own(ctx, e)
		found = found || ours
		return ours, err
	}
	if err := r.Client.Detach(ctx, hns.Detachment{Name: r.EndpointName, Own: claim}); err != nil {
		return errlist.Join(errHook, err)
	}
	if !knowsInterface {
		return errHook
	}
	before, err := r.ofADD()
	if err != nil {
		return errlist.Join(errHook, err)
	}
	if before.Config.ipamErr != nil && r.p.IPAM == nil {
		// No ADD takes such a configuration, but one before may have been right.
		kept, err := r.mayHaveLease()
		if !found && !kept && err == nil {
			r.Log.Warn("no IPAM plugin was asked to give a lease back, and none is known", "error", before.Config.ipamErr)
			return errHook
		}
		// Whose lease it is cannot be known; the endpoint could go without.
		errHook = errlist.Join(errHook, err)
		return errlist.Join(errHook, r.Config.invalid([]error{before.Config.ipamErr}))
	}
	if err := r.giveBack(ctx, before); err != nil {
		return errlist.Join(errHook, err)
	}
	return errlist.Join(errHook, r.dropNote())
}

// mayHaveLease looks for what tells of a lease where the configuration does not
// say who gave it: the note of the interface, or a lease of host-local.
func (r *run) mayHaveLease() (bool, error) {
	if n, err := r.notes().load(r.ContainerID); err != nil || n != nil && n.IfName == r.IfName {
		return n != nil, err
	}
	dir, _ := dataDir(r.Config.IPAM) // else the default
	leases, err := ipam.Leases(dir, r.Config.Name)
	return slices.ContainsFunc(leases, func(l ipam.StoredLease) bool {
		return l.ContainerID == r.ContainerID && (l.IfName == r.IfName || l.IfName == "")
	}), err
}

// releaseConfig is what the IPAM plugin gets in DEL. host-local refuses a
// configuration that is broken, also to release by it; it then gets one with
// what it needs for that.
func (r *run) releaseConfig() []byte {
	c := r.Config
	if !r.isHostLocal() || c.checkIPAM() == nil {
		return c.Raw
	}
	dir, _ := dataDir(c.IPAM) // else the default
	return ipam.ReleaseConfig(c.Name, c.CNIVersion, c.IPAMType, dir)
}
