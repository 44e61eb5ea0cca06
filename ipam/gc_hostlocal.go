package ipam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/containernetworking/cni/pkg/utils"

	"github.com/hnskit/hnskit/internal/atomicfile"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/internal/filelock"
)

// Stale returns the attachments that have leases and are not valid, each once.
// A lease without an interface name, of a very old host-local, is stale if no
// interface of its container is valid. Leases without an owner are passed over.
//
// A caller who cannot keep ADDs away while it collects (see [GarbageCollector])
// goes through these one by one: it takes the lock that its ADD takes, looks
// whether the container is still gone, and calls Release.
func Stale(leases []StoredLease, valid []Attachment) []Attachment {
	var out []Attachment
	for _, l := range leases {
		keeps := func(a Attachment) bool {
			return a.ContainerID == l.ContainerID && (a.IfName == l.IfName || l.IfName == "")
		}
		a := Attachment{l.ContainerID, l.IfName}
		if l.owned() && !slices.ContainsFunc(valid, keeps) && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b Attachment) int {
		// Without an interface name last: see releaseStale.
		return cmp.Or(cmp.Compare(a.ContainerID, b.ContainerID), cmp.Compare(b.IfName, a.IfName))
	})
	return out
}

// owned reports whether a DEL can name the owner. A lease file without a
// container id is left by a host-local that was killed between making and
// writing it, or by a power cut.
func (l StoredLease) owned() bool { return utils.ValidateContainerID(l.ContainerID) == nil }

// store is where a host-local of some configuration keeps leases.
type store struct {
	typ, network, dataDir, cniVersion string
}

// storeOf returns nil if the IPAM plugin is not host-local.
func storeOf(config []byte) (*store, error) {
	typ, err := PluginType(config)
	if err != nil || !IsHostLocal(typ) {
		return nil, err
	}
	conf, err := readObject(config, "name", "ipam", "cniVersion")
	if err != nil {
		return nil, &ConfigError{Path: "network configuration", Err: err}
	}
	obj, err := readObject(conf.get("ipam"), "dataDir")
	if err != nil {
		return nil, &ConfigError{Path: "ipam", Err: err}
	}
	p := &parser{}
	s := &store{
		typ: typ, network: p.text("name", conf.get("name")),
		dataDir: p.text("ipam.dataDir", obj.get("dataDir")), cniVersion: p.text("cniVersion", conf.get("cniVersion")),
	}
	if err := errors.Join(p.errs...); err != nil {
		return nil, err
	}
	if _, err := leaseDir(s.dataDir, s.network); err != nil {
		return nil, &ConfigError{Path: "name", Value: shorten(conf.get("name")), Err: errors.New("not the name of a network")}
	}
	return s, nil
}

// releaseStale releases what is not valid, as much as it can.
func (d *Delegated) releaseStale(ctx context.Context, s *store, req Request, valid []Attachment) error {
	leases, err := Leases(s.dataDir, s.network)
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range Stale(leases, valid) {
		del := Request{ContainerID: a.ContainerID, IfName: a.IfName, PluginPath: req.PluginPath, Config: ReleaseConfig(s.network, s.cniVersion, s.typ, s.dataDir)}
		if del.IfName == "" {
			// host-local looks for a lease of the container alone if there is none of
			// container and interface; those are gone by now.
			del.IfName = "eth0"
		}
		errs = append(errs, d.run(ctx, "DEL", del)) // not Release: what it looks for follows once for all
		if ctx.Err() != nil {
			return errlist.Join(errs...)
		}
	}
	if s.hasEmpty() || slices.ContainsFunc(leases, func(l StoredLease) bool { return !l.owned() }) {
		errs = append(errs, s.removeOwnerless(ctx))
	}
	return errlist.Join(append(errs, s.stillHeld(leases, valid))...)
}

// hasEmpty reports whether a lease file is empty. It reads no file: host-local's
// DEL has read them all, and most have an owner.
func (s *store) hasEmpty() bool {
	dir, err := leaseDir(s.dataDir, s.network)
	if err != nil {
		return false
	}
	entries, _ := os.ReadDir(dir) // none yet
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		if _, ok := leaseAddress(e); !ok {
			return false
		}
		info, err := e.Info()
		return err == nil && info.Size() == 0
	})
}

// removeOwnerless removes lease files whose owner cannot be told. host-local
// makes and writes a file under one hold of its lock, so whoever has that lock
// never sees one that is about to be written.
func (s *store) removeOwnerless(ctx context.Context) error {
	dir, err := leaseDir(s.dataDir, s.network)
	if err != nil {
		return err
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return fmt.Errorf("leases without an owner: %w", err)
	}
	leases, err := Leases(s.dataDir, s.network)
	errs := []error{err}
	for _, l := range leases {
		if l.owned() {
			continue
		}
		if err := atomicfile.Remove(filepath.Join(dir, leaseFile(l.Address))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("lease of %s without an owner: %w", l.Address, err))
		}
	}
	// The file is host-local's and stays.
	return errlist.Join(append(errs, lock.Release())...)
}

// stillHeld looks whether the stale ones among the leases are gone. host-local
// says that it has released what it could not remove.
func (s *store) stillHeld(before []StoredLease, valid []Attachment) error {
	now, err := Leases(s.dataDir, s.network)
	if err != nil {
		return err
	}
	var errs []error
	stale := Stale(before, valid)
	for _, l := range now {
		if slices.Contains(before, l) && (!l.owned() || slices.Contains(stale, Attachment{l.ContainerID, l.IfName})) {
			errs = append(errs, fmt.Errorf("%s is still held by %q %q", l.Address, l.ContainerID, l.IfName))
		}
	}
	return errlist.Join(errs...)
}
