package cniplugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/ipam"
)

// sweep is a GC at work.
type sweep struct {
	*run       // of no pod
	live       map[ipam.Attachment]bool
	containers map[string]bool
	report     Report
	errs       []error
	// kept are attachments that are not live and whose leases must stay.
	kept map[ipam.Attachment]bool
	// blind are endpoints that stay and of which nobody knows the interface, so
	// that their leases cannot be kept from an IPAM's GC.
	blind []string
	// looked tells that all endpoints were seen.
	looked bool
}

func (s *sweep) all(ctx context.Context) error {
	s.kept = map[ipam.Attachment]bool{}
	// Without the HNS network there are no endpoints on it, but perhaps leases.
	if err := s.findNetwork(ctx); err != nil && !errors.Is(err, hns.ErrNotFound) {
		return err
	}
	if s.Network != nil {
		endpoints, err := s.Client.Endpoints.OfNetwork(ctx, s.Network.ID)
		if err != nil {
			return err
		}
		for _, e := range endpoints {
			s.endpoint(ctx, e)
		}
	}
	s.looked = true
	leftovers, err := s.leftovers()
	s.errs = append(s.errs, err)
	for _, f := range leftovers {
		s.leftover(ctx, f)
	}
	return errlist.Join(s.errs...)
}

// isLive takes what is nobody's in particular for any of the container's.
func (s *sweep) isLive(a ipam.Attachment) bool {
	return s.live[a] || a.IfName == "" && s.containers[a.ContainerID]
}

func (s *sweep) left(f Finding, why Reason, err error) {
	f.Reason, f.Err = why, err
	s.report.Left = append(s.report.Left, f)
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", f.Name, err))
	}
	if why == ReasonLive || f.Attachment.ContainerID == "" {
		return
	}
	s.Log.Info("left", "finding", f.String())
	s.kept[f.Attachment] = true
	if f.Attachment.IfName == "" && !f.Endpoint.IsZero() && !s.isHostLocal() {
		s.blind = append(s.blind, f.Name)
	}
}

func (s *sweep) removed(f Finding) {
	s.report.Removed = append(s.report.Removed, f)
	s.Log.Info("removed", "finding", f.String())
}

// endpoint removes an endpoint of the network if it is stale.
func (s *sweep) endpoint(ctx context.Context, e *hns.Endpoint) {
	f := Finding{Endpoint: e.ID, Name: e.Name, Addresses: e.Addresses()}
	if e.Flags&hns.EndpointRemote != 0 {
		s.left(f, ReasonRemote, nil)
		return
	}
	containerID, ok := s.p.containerOf(e.Name, s.Config.Name)
	if !ok {
		s.left(f, ReasonForeign, nil)
		return
	}
	f.Attachment.ContainerID = containerID
	r := s.of(f.Attachment, e.Namespace)
	ifName, err := r.interfaceOf(e)
	f.Attachment.IfName = ifName
	switch {
	case err != nil:
		s.left(f, ReasonFailed, err)
		return
	case s.isLive(f.Attachment):
		s.left(f, ReasonLive, nil)
		return
	}
	r.IfName, r.args.IfName = ifName, ifName
	s.locked(ctx, f, func(ctx context.Context) (Reason, error) {
		// Read anew: what another verb did until now, the lease included, is not ours.
		e, err := s.Client.Endpoints.ByID(ctx, e.ID)
		if errors.Is(err, hns.ErrNotFound) {
			return ReasonBusy, nil
		}
		if err != nil {
			return ReasonFailed, err
		}
		if inUse, err := s.inUse(ctx, e); err != nil {
			return ReasonFailed, err
		} else if inUse {
			return ReasonInUse, nil
		}
		only := func(_ context.Context, other *hns.Endpoint) (bool, error) { return other.ID == e.ID, nil }
		if err := r.takeDown(ctx, only, ifName != ""); err != nil {
			return ReasonFailed, err
		}
		return "", nil
	})
}

// locked runs a removal with the sandbox's lock, and reports what came of it.
func (s *sweep) locked(ctx context.Context, f Finding, remove func(context.Context) (Reason, error)) {
	locked, unlock, err := TryLockSandbox(ctx, s.p.stateDir(s.Config), f.Attachment.ContainerID)
	switch {
	case errors.Is(err, ErrBusy):
		s.left(f, ReasonBusy, nil)
		return
	case err != nil:
		s.left(f, ReasonFailed, err)
		return
	}
	defer unlock()
	if why, err := remove(locked); why != "" {
		s.left(f, why, err)
		return
	}
	s.removed(f)
}

// of is the run of a DEL for the attachment.
func (s *sweep) of(a ipam.Attachment, namespace hns.ID) *run {
	args := &skel.CmdArgs{ContainerID: a.ContainerID, IfName: a.IfName, Path: s.args.Path, StdinData: s.args.StdinData}
	if !namespace.IsZero() {
		args.Netns = namespace.String()
	}
	return &run{p: s.p, args: args, Pod: Pod{ContainerID: a.ContainerID, IfName: a.IfName, Namespace: namespace, Config: s.Config,
		EndpointName: s.p.endpointName(a.ContainerID, s.Config.Name), Client: s.Client, Log: s.Log.With("container", a.ContainerID)}}
}

// inUse reports whether the endpoint is attached to something other than a pod's
// namespace: to the node, or to a container by the v1 API.
func (s *sweep) inUse(ctx context.Context, e *hns.Endpoint) (bool, error) {
	if e.Namespace.IsZero() {
		state, err := s.Client.Endpoints.State(ctx, e.ID)
		return state == hns.EndpointAttached || state == hns.EndpointAttachedSharing, err
	}
	n, err := s.Client.Namespaces.ByID(ctx, e.Namespace)
	if errors.Is(err, hns.ErrNotFound) {
		return false, nil
	}
	return err == nil && n.Type == hns.NamespaceHostDefault, err
}

// leftovers returns the attachments that have a lease of host-local, or a note.
func (s *sweep) leftovers() ([]Finding, error) {
	var out []Finding
	at := map[ipam.Attachment]int{}
	add := func(a ipam.Attachment, addresses ...netip.Addr) {
		i, ok := at[a]
		if !ok {
			i = len(out)
			at[a] = i
			out = append(out, Finding{Name: s.p.endpointName(a.ContainerID, s.Config.Name), Attachment: a})
		}
		out[i].Addresses = append(out[i].Addresses, addresses...)
	}
	notes, errNotes := s.notes().all()
	for _, n := range notes {
		add(ipam.Attachment{ContainerID: n.ContainerID, IfName: n.IfName})
	}
	dir, ok := s.leaseDir()
	if !ok {
		return out, errNotes
	}
	leases, err := ipam.Leases(dir, s.Config.Name)
	for _, l := range leases {
		if checkContainerID(l.ContainerID) == nil { // else it is being written, or was torn
			add(ipam.Attachment{ContainerID: l.ContainerID, IfName: l.IfName}, l.Address)
		}
	}
	return out, errlist.Join(errNotes, err)
}

// leftover gives back the lease of an attachment that is stale and has no
// endpoint, and removes its note.
func (s *sweep) leftover(ctx context.Context, f Finding) {
	if s.isLive(f.Attachment) || s.kept[f.Attachment] {
		return
	}
	s.locked(ctx, f, func(ctx context.Context) (Reason, error) {
		r := s.of(f.Attachment, hns.ID{})
		found, err := s.Client.Endpoints.Named(ctx, f.Name)
		if err != nil {
			return ReasonFailed, err
		}
		for _, e := range found {
			if s.Network == nil || e.Network != s.Network.ID {
				continue
			}
			switch owner, err := r.interfaceOf(e); {
			case err != nil:
				return ReasonFailed, err
			case owner == "" || owner == f.Attachment.IfName:
				return ReasonBusy, nil // an ADD was faster
			}
		}
		if r.IfName == "" { // leases of very old versions have none, and go by any
			r.IfName, r.args.IfName = "eth0", "eth0"
		}
		before, err := r.ofADD()
		if err == nil {
			err = r.giveBack(ctx, before)
		}
		if err == nil {
			err = r.dropNote()
		}
		if err != nil {
			return ReasonFailed, err
		}
		return "", nil
	})
}

// ipamGC lets the IPAM plugin collect what is left (CNI specification, "GC").
// Leases of endpoints that stay must stay: an address is not free while HNS has it.
func (s *sweep) ipamGC(ctx context.Context) error {
	if !s.hasIPAM() {
		return nil
	}
	gc, ok := s.p.ipam().(ipam.GarbageCollector)
	if !ok {
		return nil
	}
	if len(s.blind) > 0 {
		return fmt.Errorf("the IPAM plugin was not asked to collect: nobody knows the interfaces of %s, which stay", strings.Join(s.blind, ", "))
	}
	var valid []ipam.Attachment
	for _, set := range []map[ipam.Attachment]bool{s.live, s.kept} {
		for a := range set {
			if a.IfName != "" {
				valid = append(valid, a)
			}
		}
	}
	slices.SortFunc(valid, func(a, b ipam.Attachment) int {
		return cmp.Or(cmp.Compare(a.ContainerID, b.ContainerID), cmp.Compare(a.IfName, b.IfName))
	})
	err := safely("ipam", func() error { return gc.GC(ctx, s.ipamRequest(s.releaseConfig()), valid) })
	if errors.Is(err, errors.ErrUnsupported) {
		s.Log.Debug("the IPAM plugin collects nothing", "reason", err)
		return nil
	}
	return err
}
