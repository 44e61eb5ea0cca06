package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/hnskit/hnskit/examples/nodeagent/agent"
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
	"github.com/hnskit/hnskit/modes/node/hostnet/emuhost"
	"github.com/hnskit/hnskit/subnetenv"
)

// How often an agent looks at everything without a cause. Often: what nobody
// tells it of is found soon. Never: whatever it does, a Node has told it of.
const (
	often = time.Second
	never = 24 * time.Hour
)

// winNode is a Windows node: an emulated HNS, the host's side over its adapters,
// and an agent.
type winNode struct {
	name    string
	address netip.Addr
	netConf *subnetenv.NetConf
	kube    kubernetes.Interface // the agent's
	hns     *emulator.HNS
	client  *hns.Client
	host    *hostnet.Memory
	dir     string
	pods    map[string]*pod
	log     safeBuffer
	resync  time.Duration
	batch   int // of requests to HNS, see agent.Options

	counters *node.Counters

	agent *agent.Agent
	stop  func()
}

// linkBits is the length of the nodes' subnet, 192.0.2.0/24.
const linkBits = 24

// newWinNode makes a node with an address and the length of its subnet.
func newWinNode(tb testing.TB, name string, on netip.Prefix, netConf *subnetenv.NetConf, kube kubernetes.Interface) *winNode {
	tb.Helper()
	last := on.Addr().As4()[3]
	w := &winNode{name: name, address: on.Addr(), netConf: netConf, kube: kube, dir: tb.TempDir(), pods: map[string]*pod{}, resync: never, counters: &node.Counters{}}
	w.hns = emulator.New(&emulator.Options{Seed: uint64(last), Adapters: []emulator.Adapter{
		{Name: "Ethernet", MAC: hns.MAC{0x00, 0x50, 0x56, 0, 0, last}, Addresses: []netip.Prefix{on}}}})
	w.client = hns.New(w.hns, nil)
	w.host = hostnet.NewMemory(emuhost.Adapters(w.hns))
	tb.Cleanup(func() {
		if w.stop != nil {
			w.stop()
		}
		if tb.Failed() {
			tb.Logf("what the agent of %s said last:\n%s", name, w.log.tail())
		}
	})
	return w
}

// start starts an agent, as a new process would: it knows nothing of the one
// before.
func (w *winNode) start(tb testing.TB) {
	tb.Helper()
	var err error
	w.agent, err = agent.New(agent.Options{
		NodeName: w.name, Client: w.kube, HNS: w.client, Host: w.host, NetConf: w.netConf,
		IPMasq: true, DNS: modes.ClusterDNS{Servers: []netip.Addr{dnsVIP}},
		SubnetFile: w.subnetFile(), ConflistFile: w.conflist(),
		Drift: hns.DriftRecreate, Batch: w.batch, Resync: w.resync, Debounce: 20 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)), Counters: w.counters,
	})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func(a *agent.Agent) { ended <- a.Run(ctx) }(w.agent)
	w.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("%s: Run: %v", w.name, err)
		}
		w.stop = nil
	}
}

func (w *winNode) conflist() string   { return filepath.Join(w.dir, "net.d", "10-flannel.conflist") }
func (w *winNode) subnetFile() string { return filepath.Join(w.dir, "subnet.env") }

func (w *winNode) overlay() bool { return w.netConf.Backend == subnetenv.BackendVXLAN }

// network returns the node's HNS network; nil if there is none.
func (w *winNode) network(ctx context.Context) (*hns.Network, error) {
	n, err := w.client.Networks.ByName(ctx, w.netConf.NetworkName())
	if errors.Is(err, hns.ErrNotFound) {
		return nil, nil
	}
	return n, err
}

// anewSince is for [cluster.eventually]: there is another network than before.
func (w *winNode) anewSince(before hns.ID) func(context.Context) error {
	return func(ctx context.Context) error {
		n, err := w.network(ctx)
		if err != nil || n == nil || n.ID == before {
			return fmt.Errorf("%s: no new network (%v)", w.name, err)
		}
		return nil
	}
}

// ways returns the ways to other nodes as they are, each as text, in order, and
// one that is there twice twice.
func (w *winNode) ways(ctx context.Context) ([]string, error) {
	var out []string
	if !w.overlay() {
		adapter, err := w.uplink(ctx)
		if err != nil {
			return nil, err
		}
		routes, err := w.host.Routes(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range routes {
			if !clusterCIDR.Contains(r.Destination.Addr()) {
				continue
			}
			out = append(out, way(r.Destination, r.NextHop, "", 0)+misplaced(r.Interface, adapter.Index))
		}
		slices.Sort(out)
		return out, nil
	}
	n, err := w.network(ctx)
	if n == nil || err != nil {
		return nil, err
	}
	for _, p := range hns.PoliciesOf[hns.RemoteSubnetRoute](n.Policies) {
		out = append(out, way(p.DestinationPrefix, p.ProviderAddress, net.HardwareAddr(p.DistributedRouterMAC[:]).String(), p.IsolationID))
	}
	slices.Sort(out)
	return out, nil
}

func misplaced(got, want uint32) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf(" on interface %d, and the node's address is on %d", got, want)
}

// uplink returns the adapter with the node's address.
func (w *winNode) uplink(ctx context.Context) (hostnet.Adapter, error) {
	list, err := w.host.Adapters(ctx)
	if err != nil {
		return hostnet.Adapter{}, err
	}
	i := slices.IndexFunc(list, func(a hostnet.Adapter) bool { return a.Has(w.address) })
	if i < 0 {
		return hostnet.Adapter{}, fmt.Errorf("%s: no adapter has %s", w.name, w.address)
	}
	return list[i], nil
}

// changes counts the requests to HNS that may have changed something.
func (w *winNode) changes() (out []string) {
	for _, c := range w.hns.Calls() {
		if c.Verb == hns.VerbGet || c.Verb == hns.VerbList || c.Verb == hns.VerbCall && c.Method == http.MethodGet {
			continue
		}
		out = append(out, fmt.Sprintf("%s %s %s", c.Verb, c.Kind, c.Name))
	}
	return out
}

// way is a way to a pod subnet as text.
func way(subnet netip.Prefix, via netip.Addr, mac string, vni uint32) string {
	if mac == "" && vni == 0 {
		return fmt.Sprintf("%s via %s", subnet, via)
	}
	return fmt.Sprintf("%s via %s %s VNI %d", subnet, via, mac, vni)
}

// safeBuffer is a log that several goroutines write.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(s.b.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}
