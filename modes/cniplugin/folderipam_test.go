package cniplugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hnskit/hnskit/ipam"
)

// folderIPAM is the IPAM of a plugin's author. Its leases lie in a folder as
// those of host-local do, so that processes share them and anybody can read them.
type folderIPAM struct {
	Dir     string                  // with a directory for each network
	Subnets map[string]netip.Prefix // by network
	// around, if not nil, is called for each call, with its number from 1.
	around func(ctx context.Context, nth int, do func() error) error

	mu    sync.Mutex
	calls []string
}

var (
	_ ipam.IPAM             = (*folderIPAM)(nil)
	_ ipam.GarbageCollector = (*folderIPAM)(nil)
)

func (f *folderIPAM) call(ctx context.Context, verb string, req ipam.Request, do func(dir string, subnet netip.Prefix) error) error {
	var conf struct{ Name string }
	if err := json.Unmarshal(req.Config, &conf); err != nil {
		return err
	}
	f.mu.Lock()
	f.calls = append(f.calls, verb)
	nth := len(f.calls)
	f.mu.Unlock()
	work := func() error { return do(filepath.Join(f.Dir, conf.Name), f.Subnets[conf.Name]) }
	if f.around == nil {
		return work()
	}
	return f.around(ctx, nth, work)
}

// Allocate gives the first address that is free, from the tenth of the subnet on:
// those before are the gateway's, the node's, or the cloud's.
func (f *folderIPAM) Allocate(ctx context.Context, req ipam.Request) (lease *ipam.Lease, err error) {
	err = f.call(ctx, "ADD", req, func(dir string, subnet netip.Prefix) error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		gateway, first := subnet.Addr().Next(), subnet.Addr()
		for range 10 {
			first = first.Next()
		}
		for a := first; subnet.Contains(a); a = a.Next() {
			file, err := os.OpenFile(filepath.Join(dir, a.String()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			if err != nil {
				return err
			}
			lease = &ipam.Lease{Addresses: []ipam.Address{{Prefix: netip.PrefixFrom(a, subnet.Bits()), Gateway: gateway}}}
			_, err = file.WriteString(req.ContainerID + "\r\n" + req.IfName)
			return errors.Join(err, file.Close())
		}
		return ipam.ErrNoAddress
	})
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// Release gives back what the interface has.
func (f *folderIPAM) Release(ctx context.Context, req ipam.Request) error {
	return f.call(ctx, "DEL", req, func(dir string, _ netip.Prefix) error {
		return removeLeases(dir, func(a ipam.Attachment) bool {
			return a == ipam.Attachment{ContainerID: req.ContainerID, IfName: req.IfName}
		})
	})
}

// Check wants a lease of the interface.
func (f *folderIPAM) Check(ctx context.Context, req ipam.Request, _ *ipam.Lease) error {
	return f.call(ctx, "CHECK", req, func(dir string, _ netip.Prefix) error {
		found := false
		err := removeLeases(dir, func(a ipam.Attachment) bool {
			found = found || a == ipam.Attachment{ContainerID: req.ContainerID, IfName: req.IfName}
			return false
		})
		if err == nil && !found {
			err = fmt.Errorf("%s/%s has no lease", req.ContainerID, req.IfName)
		}
		return err
	})
}

// GC removes the leases of all that are not valid.
func (f *folderIPAM) GC(ctx context.Context, req ipam.Request, valid []ipam.Attachment) error {
	return f.call(ctx, "GC", req, func(dir string, _ netip.Prefix) error {
		return removeLeases(dir, func(a ipam.Attachment) bool { return !slices.Contains(valid, a) })
	})
}

func removeLeases(dir string, of func(ipam.Attachment) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(path)
		if err == nil {
			container, ifName, _ := strings.Cut(string(text), "\r\n")
			if of(ipam.Attachment{ContainerID: container, IfName: ifName}) {
				err = os.Remove(path)
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
