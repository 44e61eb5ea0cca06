package hostnet

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Memory is a [Host] that keeps routes and forwarding in memory. Its adapters
// are given by a function, so that those that an emulated HNS makes and removes
// can be among them (package emuhost). Nothing is forwarded by it.
type Memory struct {
	adapters func() ([]Adapter, error)

	mu         sync.Mutex // guards what follows
	routes     []Route
	forwarding map[forwardingKey]bool
}

// forwardingKey names an adapter by what stays as long as it is there.
type forwardingKey struct {
	name   string
	index  uint32
	family Family
}

var _ Host = (*Memory)(nil)

// NewMemory returns a host with the adapters that f returns, asked at every
// call, and without routes. Nil is no adapters. Whether an adapter forwards is the memory's to say.
func NewMemory(f func() ([]Adapter, error)) *Memory {
	if f == nil {
		f = Fixed()
	}
	return &Memory{adapters: f, forwarding: map[forwardingKey]bool{}}
}

// Fixed is for [NewMemory]: always these adapters.
func Fixed(adapters ...Adapter) func() ([]Adapter, error) {
	return func() ([]Adapter, error) { return slices.Clone(adapters), nil }
}

// Adapters returns the adapters of the function.
func (m *Memory) Adapters(ctx context.Context) ([]Adapter, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now(ctx, "list adapters")
}

// now returns the adapters as they are, and forgets what was set for those
// that are gone.
func (m *Memory) now(ctx context.Context, op string) ([]Adapter, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed(op, "", err)
	}
	list, err := m.adapters()
	if err != nil {
		return nil, failed(op, "", err)
	}
	alive := map[forwardingKey]bool{}
	out := slices.Clone(list)
	for i := range out {
		a := &out[i]
		v4, v6 := m.key(*a, IPv4), m.key(*a, IPv6)
		a.ForwardingIPv4, a.ForwardingIPv6 = m.forwarding[v4], m.forwarding[v6]
		alive[v4], alive[v6] = true, true
	}
	for k := range m.forwarding {
		if !alive[k] {
			delete(m.forwarding, k)
		}
	}
	m.routes = slices.DeleteFunc(m.routes, func(r Route) bool { return find(out, r.Interface) < 0 })
	return out, nil
}

func (m *Memory) key(a Adapter, f Family) forwardingKey {
	return forwardingKey{strings.ToLower(a.Name), a.Index, f}
}

func find(list []Adapter, index uint32) int {
	return slices.IndexFunc(list, func(a Adapter) bool { return a.Index == index })
}

// SetForwarding notes it.
func (m *Memory) SetForwarding(ctx context.Context, index uint32, family Family, on bool) error {
	const op = "set forwarding of interface"
	m.mu.Lock()
	defer m.mu.Unlock()
	list, err := m.now(ctx, op)
	if err != nil {
		return err
	}
	i := find(list, index)
	if i < 0 {
		return failed(op, index, ErrNotFound)
	}
	if family != IPv4 && family != IPv6 {
		return failed(op, index, ErrInvalid)
	}
	m.forwarding[m.key(list[i], family)] = on
	return nil
}

// Routes returns those that were added, without those of adapters that are
// gone.
func (m *Memory) Routes(ctx context.Context) ([]Route, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.now(ctx, "list routes"); err != nil {
		return nil, err
	}
	return slices.Clone(m.routes), nil
}

// AddRoute adds a route.
func (m *Memory) AddRoute(ctx context.Context, r Route) error {
	const op = "add route"
	m.mu.Lock()
	defer m.mu.Unlock()
	list, err := m.now(ctx, op)
	if err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return failed(op, r, err)
	}
	if find(list, r.Interface) < 0 {
		return failed(op, r, ErrNotFound)
	}
	if slices.ContainsFunc(m.routes, r.Same) {
		return failed(op, r, ErrExists)
	}
	r.Static, r.DHCP = true, false
	m.routes = append(m.routes, r)
	return nil
}

// DeleteRoute deletes a route.
func (m *Memory) DeleteRoute(ctx context.Context, r Route) error {
	const op = "delete route"
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.now(ctx, op); err != nil {
		return err
	}
	i := slices.IndexFunc(m.routes, r.Same)
	if i < 0 {
		return failed(op, r, ErrNotFound)
	}
	m.routes = slices.Delete(m.routes, i, i+1)
	return nil
}

// Reboot forgets routes and forwarding, as a reboot does.
func (m *Memory) Reboot() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.routes = nil
	clear(m.forwarding)
}
