package cniplugin_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"sync"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/ipam"
)

// fakeIPAM hands out the third and following addresses of its subnets, one of
// each to an interface, and keeps books. What it does wrong is in its script.
type fakeIPAM struct {
	dns    types.DNS
	routes []ipam.Route
	// script holds functions by verb ("ADD", "DEL", "CHECK") that are called in
	// turn, each for one call; nil and the end of the list mean no interference.
	script map[string][]interference
	pass   func()

	mu      sync.Mutex
	subnets []netip.Prefix
	avoid   []netip.Addr              // which it never gives
	books   map[string][]ipam.Address // by container and interface
	calls   []string
	configs [][]byte
}

// interference stands between the fake and its caller: do does the work, pass makes
// the deadline pass.
type interference func(ctx context.Context, do func() error, pass func()) error

var _ ipam.IPAM = (*fakeIPAM)(nil)

func newFakeIPAM(subnets ...netip.Prefix) *fakeIPAM {
	return &fakeIPAM{subnets: subnets, books: map[string][]ipam.Address{}, script: map[string][]interference{}}
}

// on puts interferences into the script.
func (f *fakeIPAM) on(verb string, is ...interference) {
	f.script[verb] = append(f.script[verb], is...)
}

// before fails a call that does nothing; after fails one that did its work.
func before(err error) interference {
	return func(context.Context, func() error, func()) error { return err }
}

func after(err error) interference {
	return func(_ context.Context, do func() error, _ func()) error { _ = do(); return err }
}

// panics is a panic, and panicsAfter one when the work is done.
func panics(context.Context, func() error, func()) error { panic("index out of range") }

func panicsAfter(_ context.Context, do func() error, _ func()) error {
	_ = do()
	panic("index out of range")
}

// killed is a plugin that is stopped at the deadline, and killedAfter one that had
// done its work by then.
func killed(ctx context.Context, _ func() error, pass func()) error {
	pass()
	<-ctx.Done()
	return fmt.Errorf("%w: %w", ipam.ErrOutcomeUnknown, context.Cause(ctx))
}

func killedAfter(ctx context.Context, do func() error, pass func()) error {
	_ = do()
	return killed(ctx, do, pass)
}

func (f *fakeIPAM) run(ctx context.Context, verb string, req ipam.Request, do func(key string) error) error {
	f.mu.Lock()
	f.calls = append(f.calls, verb+" "+req.ContainerID+"/"+req.IfName)
	f.configs = append(f.configs, req.Config)
	var next interference
	if s := f.script[verb]; len(s) > 0 {
		next, f.script[verb] = s[0], s[1:]
	}
	f.mu.Unlock()
	work := func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		return do(req.ContainerID + "/" + req.IfName)
	}
	if next == nil {
		return work()
	}
	return next(ctx, work, f.pass)
}

func (f *fakeIPAM) Allocate(ctx context.Context, req ipam.Request) (lease *ipam.Lease, err error) {
	err = f.run(ctx, "ADD", req, func(key string) error {
		if _, ok := f.books[key]; ok {
			return fmt.Errorf("%s has a lease already", key)
		}
		lease = &ipam.Lease{DNS: f.dns, Routes: f.routes}
		for _, s := range f.subnets {
			a, err := f.free(s)
			if err != nil {
				return err
			}
			lease.Addresses = append(lease.Addresses, a)
		}
		f.books[key] = lease.Addresses
		return nil
	})
	if err != nil {
		return nil, err
	}
	return lease, nil
}

func (f *fakeIPAM) free(subnet netip.Prefix) (ipam.Address, error) {
	taken := map[netip.Addr]bool{}
	for _, as := range f.books {
		for _, a := range as {
			taken[a.Prefix.Addr()] = true
		}
	}
	first := subnet.Addr().Next()
	for a := first.Next().Next(); subnet.Contains(a); a = a.Next() {
		if !taken[a] && !slices.Contains(f.avoid, a) {
			return ipam.Address{Prefix: netip.PrefixFrom(a, subnet.Bits()), Gateway: first}, nil
		}
	}
	return ipam.Address{}, ipam.ErrNoAddress
}

func (f *fakeIPAM) Release(ctx context.Context, req ipam.Request) error {
	return f.run(ctx, "DEL", req, func(key string) error { delete(f.books, key); return nil })
}

func (f *fakeIPAM) Check(ctx context.Context, req ipam.Request, _ *ipam.Lease) error {
	return f.run(ctx, "CHECK", req, func(key string) error {
		if _, ok := f.books[key]; !ok {
			return fmt.Errorf("%s has no lease", key)
		}
		return nil
	})
}

// leases returns the books, such as "lease sbx-01/eth0 10.50.3.3/24".
func (f *fakeIPAM) leases() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for key, as := range f.books {
		s := "lease " + key
		for _, a := range as {
			s += " " + a.Prefix.String()
		}
		out = append(out, s)
	}
	sort.Strings(out)
	return out
}

// asked returns the calls since the last time it was asked.
func (f *fakeIPAM) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.calls
	f.calls = nil
	return out
}
