package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
	"github.com/hnskit/hnskit/modes/node/hostnet/emuhost"
)

// machine is a node with an emulated HNS, and the host's side in memory, whose
// adapters are those that HNS makes.
type machine struct {
	tb     testing.TB
	hns    *emulator.HNS
	client *hns.Client
	host   *hostnet.Memory
	mtu    int
}

func newMachine(tb testing.TB, opts emulator.Options) *machine {
	if opts.Seed == 0 {
		opts.Seed = 7 // the same ids in every run
	}
	m := &machine{tb: tb, hns: emulator.New(&opts)}
	m.client = hns.New(m.hns, nil)
	m.host = hostnet.NewMemory(func() ([]hostnet.Adapter, error) {
		list, err := emuhost.Adapters(m.hns)()
		for i := range list {
			list[i].MTU = m.mtu
		}
		return list, err
	})
	return m
}

// link is the adapter that has the node's address.
func (m *machine) link() hostnet.Adapter {
	m.tb.Helper()
	all, err := m.host.Adapters(context.Background())
	i := slices.IndexFunc(all, func(a hostnet.Adapter) bool { return a.Has(addr("192.0.2.10")) })
	if err != nil || i < 0 {
		m.tb.Fatal(all, err)
	}
	return all[i]
}

func (m *machine) ensure(p *node.Plan, opts *node.EnsureOptions) *node.State {
	m.tb.Helper()
	s, err := node.Ensure(context.Background(), m.client, m.host, p, opts)
	if err != nil {
		m.tb.Fatal(err)
	}
	return s
}

// text is all that there is on the node.
func (m *machine) text() string {
	m.tb.Helper()
	s, err := m.hns.Snapshot()
	if err != nil {
		m.tb.Fatal(err)
	}
	b, err := s.Bytes()
	if err != nil {
		m.tb.Fatal(err)
	}
	host, err := hostnet.Take(context.Background(), m.host)
	if err != nil {
		m.tb.Fatal(err)
	}
	out := string(b)
	for _, a := range host.Adapters {
		out += fmt.Sprintf("\n%s %v forwarding %t %t", a.Name, a.Addresses, a.ForwardingIPv4, a.ForwardingIPv6)
	}
	for _, r := range host.Routes {
		out += "\n" + r.String()
	}
	return out
}

// killer ends a program at its nth call to HNS or the host, before the call or
// when the call has had its effect. A dead program makes no more calls.
type killer struct {
	mu    sync.Mutex
	at    int // 0: never
	after bool
	calls int
	dead  bool
}

var errKilled = errors.New("the program was killed")

func (k *killer) step(call func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return errKilled
	}
	k.calls++
	if k.calls != k.at {
		return call()
	}
	k.dead = true
	if k.after {
		_ = call() // nobody hears the answer
	}
	return errKilled
}

type mortalBackend struct {
	*killer
	b hns.Backend
}

func (m mortalBackend) Do(r hns.Request) (resp hns.Response, err error) {
	err = m.step(func() (err error) {
		resp, err = m.b.Do(r)
		return err
	})
	if errors.Is(err, errKilled) {
		err = &hns.BackendError{Err: err}
	}
	return resp, err
}

type mortalHost struct {
	*killer
	h hostnet.Host
}

func (m mortalHost) Adapters(ctx context.Context) (out []hostnet.Adapter, err error) {
	err = m.step(func() (err error) { out, err = m.h.Adapters(ctx); return err })
	return out, err
}

func (m mortalHost) Routes(ctx context.Context) (out []hostnet.Route, err error) {
	err = m.step(func() (err error) { out, err = m.h.Routes(ctx); return err })
	return out, err
}

func (m mortalHost) SetForwarding(ctx context.Context, index uint32, f hostnet.Family, on bool) error {
	return m.step(func() error { return m.h.SetForwarding(ctx, index, f, on) })
}

func (m mortalHost) AddRoute(ctx context.Context, r hostnet.Route) error {
	return m.step(func() error { return m.h.AddRoute(ctx, r) })
}

func (m mortalHost) DeleteRoute(ctx context.Context, r hostnet.Route) error {
	return m.step(func() error { return m.h.DeleteRoute(ctx, r) })
}

// mortal runs a program that k kills.
func (m *machine) mortal(k *killer, program func(*hns.Client, hostnet.Host) error) error {
	return program(hns.New(mortalBackend{k, m.hns}, nil), mortalHost{k, m.host})
}

// stepsOf returns the steps as lines.
func stepsOf(s *node.State) string {
	var lines []string
	for _, step := range s.Steps {
		lines = append(lines, step.String())
	}
	return strings.Join(lines, "\n")
}

// actionsOf returns the steps that changed something, or refused.
func actionsOf(s *node.State) string {
	var out []string
	for _, step := range s.Steps {
		if step.Action != hns.ActionKeep {
			out = append(out, string(step.Name)+" "+string(step.Action))
		}
	}
	return strings.Join(out, ", ")
}

// brief is a wait that a test can see the end of.
const brief = 50 * time.Millisecond
