package cniplugin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/atomicfile"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/internal/privatedir"
	"github.com/hnskit/hnskit/ipam"
)

// An endpoint is named after sandbox and network, so both interfaces of a
// sandbox on one network would have the same. HNS has no member to note the
// interface in that it is known to keep. A note does it: a file in the state
// directory, written before the lease is taken and removed after it is given back.
// So there is no lease and no endpoint without its note, whenever a plugin is
// killed; a note without either says nothing, and goes with the DEL that the
// runtime owes or with GC. host-local's lease says the same, and goes before.
//
// The note also has the IPAM configuration of the ADD: the one of the DEL may name
// another plugin, which has no lease of the interface.

// note is what a note says.
type note struct {
	ContainerID string `json:"containerID"`
	IfName      string `json:"ifName"`
	Network     string `json:"network"`
	// IPAM is the ipam object of the ADD, null if there was none. Notes of earlier
	// versions have none.
	IPAM json.RawMessage `json:"ipam,omitempty"`
}

// notes are those of one network.
type notes struct{ dir, network string }

const noteType = ".json"

func (r *run) notes() notes {
	return notes{filepath.Join(r.p.stateDir(r.Config), "interfaces", "_"+fileName(r.Config.Name)), r.Config.Name}
}

func (ns notes) path(containerID string) string {
	return filepath.Join(ns.dir, fileName(containerID)+noteType)
}

// load returns the note of a container, nil if there is none. One that cannot be
// understood is none (Azure/azure-container-networking#242: a file of blanks
// kept every pod from going).
func (ns notes) load(containerID string) (*note, error) {
	n, err := readNote(ns.path(containerID))
	if err != nil || n == nil || n.ContainerID != containerID || n.Network != ns.network {
		return nil, err
	}
	return n, nil
}

func readNote(path string) (*note, error) {
	data, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := &note{}
	if json.Unmarshal(data, n) != nil || n.ContainerID == "" || n.IfName == "" {
		return nil, nil //nolint:nilerr // as good as none
	}
	return n, nil
}

func (ns notes) save(n note) error {
	n.Network = ns.network
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	write := func() error { return atomicfile.Write(ns.path(n.ContainerID), append(data, '\n'), 0o600) }
	if err = write(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := privatedir.Make(ns.dir); err != nil { // the network's first pod
		return err
	}
	return write()
}

// remove removes the note of a container, and what a killed save left of it.
func (ns notes) remove(containerID string) error {
	path := ns.path(containerID)
	err := atomicfile.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, atomicfile.RemoveTemps(path))
}

// all returns the notes of the network.
func (ns notes) all() ([]note, error) {
	entries, err := os.ReadDir(ns.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	errs := []error{err}
	var out []note
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), noteType) {
			continue
		}
		n, err := readNote(filepath.Join(ns.dir, e.Name()))
		errs = append(errs, err)
		if n != nil && n.Network == ns.network {
			out = append(out, *n)
		}
	}
	return out, errors.Join(errs...)
}

// leaseDir returns where host-local keeps its leases; "" means its default. ok is
// false if another IPAM is at work, and if the configuration does not say where:
// then host-local does not know either.
func (r *run) leaseDir() (dir string, ok bool) {
	if !r.isHostLocal() {
		return "", false
	}
	return dataDir(r.Config.IPAM)
}

func (r *run) isHostLocal() bool { return r.p.IPAM == nil && ipam.IsHostLocal(r.Config.IPAMType) }

// interfaceOf returns which interface of this container the endpoint is; "" if
// nothing tells: it was made by another plugin, or what told is lost.
func (r *run) interfaceOf(e *hns.Endpoint) (string, error) {
	var errs []error
	if dir, ok := r.leaseDir(); ok {
		for _, a := range e.Addresses() {
			l, ok, err := ipam.LeaseOf(dir, r.Config.Name, a)
			errs = append(errs, err)
			if ok && l.ContainerID == r.ContainerID && l.IfName != "" {
				return l.IfName, nil
			}
		}
	}
	n, err := r.notes().load(r.ContainerID)
	if err = errors.Join(append(errs, err)...); err != nil || n == nil {
		return "", err
	}
	return n.IfName, nil
}

// takeNote notes which interface is about to get a lease and an endpoint, and from
// whom, and returns what undoes that.
func (r *run) takeNote() (undo func() error, err error) {
	old, err := r.notes().load(r.ContainerID)
	if err == nil {
		err = r.notes().save(note{ContainerID: r.ContainerID, IfName: r.IfName, IPAM: json.RawMessage(cmp.Or(string(r.Config.IPAM), "null"))})
	}
	if err != nil {
		return nil, &Error{Code: codeIO, Err: fmt.Errorf("note the interface of sandbox %s: %w", r.ContainerID, err)}
	}
	return func() error {
		if old != nil {
			return r.notes().save(*old)
		}
		return r.notes().remove(r.ContainerID)
	}, nil
}

// ofADD is the run with the IPAM configuration of the ADD where the note of the
// interface has it, which may say that there was none. Else that of this verb has
// to do, as it has for endpoints of upstream's plugins.
func (r *run) ofADD() (*run, error) {
	n, err := r.notes().load(r.ContainerID)
	if err != nil || n == nil || n.IfName != r.IfName || n.IPAM == nil || sameJSON(n.IPAM, r.Config.IPAM) {
		return r, err
	}
	c := *r.Config
	c.readIPAM(n.IPAM)
	if c.Raw, err = replaceMember(c.Raw, "ipam", n.IPAM); err != nil {
		return r, err
	}
	r.Log.Info("the lease is given back as the configuration of ADD had it", "ipam type", c.IPAMType, "now", r.Config.IPAMType)
	before := *r
	before.Config = &c
	return &before, nil
}

// giveBack releases the lease by the configuration that ADD had, and by that of this
// verb too if it is of the same plugin: host-local's leases may have been moved
// along with its dataDir. Having nothing is no error.
func (r *run) giveBack(ctx context.Context, ofADD *run) error {
	err := ofADD.release(ctx, ofADD.releaseConfig())
	if ofADD == r || r.p.IPAM == nil && r.Config.IPAMType != ofADD.Config.IPAMType {
		return err
	}
	return errlist.Join(err, r.release(ctx, r.releaseConfig()))
}

// sameJSON compares without regard to blanks; none is null.
func sameJSON(a, b json.RawMessage) bool {
	text := func(raw json.RawMessage) string {
		var out bytes.Buffer
		if present(raw) == nil || json.Compact(&out, raw) != nil {
			return "null"
		}
		return out.String()
	}
	return text(a) == text(b)
}

// dropNote forgets the interface, once it has neither endpoint nor lease. The
// note of another interface stays.
func (r *run) dropNote() error {
	n, err := r.notes().load(r.ContainerID)
	if err != nil || n != nil && n.IfName != r.IfName {
		return err
	}
	return r.notes().remove(r.ContainerID)
}

// own keeps the DEL of one interface, as a runtime sends it after an ADD that
// was refused, from the endpoint of another interface of the same sandbox: both
// have the same name. Where nothing tells whose it is it is taken for ours, for
// leases and notes are lost more often than interfaces are doubled.
func (r *run) own(ctx context.Context, e *hns.Endpoint) (bool, error) {
	if there, err := r.onNetwork(ctx, e); err != nil || !there {
		return false, err
	}
	owner, err := r.interfaceOf(e)
	if err != nil {
		return false, err
	}
	if owner != "" && owner != r.IfName {
		r.Log.Info("endpoint left alone", "endpoint", e.ID.String(), "interface of it", owner)
		return false, nil
	}
	return true, nil
}

// onNetwork keeps the DEL of one pod from the endpoint of another whose name is
// the same: "a_b" on "c" and "a" on "b_c" make "a_b_c", and an EndpointName of the
// author's need not have the network in it. HNS is asked only where that can be.
func (r *run) onNetwork(ctx context.Context, e *hns.Endpoint) (bool, error) {
	if r.p.EndpointName == nil && !strings.Contains(r.ContainerID+r.Config.Name, "_") {
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
