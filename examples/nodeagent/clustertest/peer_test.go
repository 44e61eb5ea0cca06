package clustertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/examples/nodeagent/internal/kubetest"
	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/boundchild"
	"github.com/hnskit/hnskit/subnetenv"
)

// peerEvent is a line of flannelpeer, and what flannel's own code says of a
// lease.
type peerEvent struct {
	Event, Subnet, PublicIP, BackendType string
	VNI                                  uint32
	VtepMAC, Error                       string
}

// peer is a node of the cluster by flannel's own code.
type peer struct {
	stop func()

	mu     sync.Mutex
	own    peerEvent
	leases map[string]peerEvent // of others, by subnet
}

// buildPeer builds flannelpeer, which is a module of its own as flannel wants
// other versions than the agent.
func buildPeer(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "flannelpeer")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-C", "../.ci/flannelpeer", "-o", program, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build flannelpeer: %v\n%s", err, out)
	}
	return program
}

// startPeer runs flannel on the Node lin-i, which is there.
func (c *cluster) startPeer(program string, i int, public netip.Addr, mac net.HardwareAddr) *peer {
	c.Helper()
	conf := filepath.Join(c.TempDir(), "net-conf.json")
	b, err := json.Marshal(map[string]any{"Network": clusterCIDR, "Backend": map[string]any{"Type": c.backend, "VNI": vni, "Port": vxlanPort}})
	if err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(conf, b, 0o600); err != nil {
		c.Fatal(err)
	}
	args := []string{"-kubeconfig", kubetest.Kubeconfig(c, c.config), "-net-conf", conf, "-backend", c.backend, "-public-ip", public.String()}
	if c.backend == subnetenv.BackendVXLAN {
		args = append(args, "-vtep-mac", mac.String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "NODE_NAME="+linuxName(i))
	var said safeBuffer
	in, lines := io.Pipe()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = untilEnd{ctx}, lines, &said
	p := &peer{leases: map[string]peerEvent{}}
	var running sync.WaitGroup
	running.Go(func() {
		err := boundchild.Run(cmd)
		if ctx.Err() == nil {
			c.Errorf("flannelpeer ended: %v\n%s", err, said.tail())
		}
		_ = lines.CloseWithError(io.EOF)
	})
	running.Go(func() {
		for s := bufio.NewScanner(in); s.Scan(); {
			p.note(c.T, s.Bytes())
		}
	})
	p.stop = func() { cancel(); running.Wait() }
	c.Cleanup(p.stop)
	return p
}

// untilEnd is a standard input that ends with the context.
type untilEnd struct{ ctx context.Context }

func (n untilEnd) Read([]byte) (int, error) {
	<-n.ctx.Done()
	return 0, io.EOF
}

func (p *peer) note(t *testing.T, line []byte) {
	var e peerEvent
	if err := json.Unmarshal(line, &e); err != nil {
		t.Errorf("flannelpeer: %q: %v", line, err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kind := e.Event
	e.Event = ""
	switch kind {
	case "acquired":
		p.own = e
	case "added":
		p.leases[e.Subnet] = e
	case "removed":
		delete(p.leases, e.Subnet)
	default:
		t.Errorf("flannelpeer: event %q", kind)
	}
}

// seesAgents is for [cluster.eventually]: what flannel has read is what the HNS
// of each agent has.
func (p *peer) seesAgents(c *cluster) func(context.Context) error {
	return func(ctx context.Context) error {
		want := map[string]peerEvent{}
		for _, w := range c.agents {
			n, err := w.network(ctx)
			if err != nil || n == nil {
				return fmt.Errorf("%s: no network (%v)", w.name, err)
			}
			e := peerEvent{Subnet: n.Subnets()[0].Prefix.String(), PublicIP: w.address.String(), BackendType: c.backend}
			if w.overlay() {
				dr := hns.PoliciesOf[hns.DRMACAddress](n.Policies)[0].Address
				e.VNI, e.VtepMAC = hns.PoliciesOf[hns.VSID](n.Subnets()[0].Policies)[0].IsolationID, net.HardwareAddr(dr[:]).String()
			}
			want[e.Subnet] = e
		}
		p.mu.Lock()
		got := maps.Clone(p.leases)
		p.mu.Unlock()
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New("leases (-by HNS +read by flannel):\n" + diff)
		}
		return nil
	}
}

// TestFlannelPeer: a Linux node that is flannel v0.28.10's own code reads what
// the agents write, and they lead to it.
func TestFlannelPeer(t *testing.T) {
	backends(t, func(t *testing.T, backend string) {
		c := newCluster(t, backend, often)
		program := buildPeer(t)
		c.addNode(kubetest.Node{Name: linuxName(1), OS: "linux", Address: nodeAddress(21), PodCIDRs: []netip.Prefix{podCIDR(21)}})
		p := c.startPeer(program, 1, nodeAddress(21), linuxMAC(1))
		c.eventually("flannel has a lease", func(context.Context) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.own.Subnet != podCIDR(21).String() {
				return fmt.Errorf("it has %+v", p.own)
			}
			return nil
		})
		c.checkPeerNode(linuxMAC(1))
		c.converged("beside flannel")
		c.eventually("flannel reads the agents", p.seesAgents(c))
		for _, w := range c.agents {
			ways, err := w.ways(t.Context())
			if err != nil || len(ways) != 3 {
				t.Errorf("%s: ways %v (%v): want those to two agents and to flannel's node", w.name, ways, err)
			}
		}

		before := c.vanish(c.agents[2]) // on Overlay its MAC address changes
		c.eventually("another network", c.agents[2].anewSince(before))
		c.converged("another network")
		c.eventually("flannel reads the new network", p.seesAgents(c))

		p.stop()
		p = c.startPeer(program, 1, nodeAddress(121), linuxMAC(41))
		c.eventually("flannel with another interface", func(ctx context.Context) error {
			if got, _ := tells(*c.node(ctx, linuxName(1)), backend); got.public != nodeAddress(121) {
				return fmt.Errorf("the Node says %+v", got)
			}
			return nil
		})
		c.converged("flannel with another interface")
		c.eventually("flannel reads the agents again", p.seesAgents(c))

		c.deleteNode(c.agents[2].name)
		c.addAgentNode(c.agents[2], podCIDR(43))
		c.converged("an agent's Node anew")
		c.eventually("flannel reads the new Node", p.seesAgents(c))
	})
}

// checkPeerNode: what the builders of kubetest write for Linux nodes is what
// flannel writes.
func (c *cluster) checkPeerNode(mac net.HardwareAddr) {
	c.Helper()
	lease := kubetest.HostGW(nodeAddress(21))
	if c.backend == subnetenv.BackendVXLAN {
		lease = kubetest.VXLAN(nodeAddress(21), mac)
	}
	got := c.node(c.Context(), linuxName(1)).Annotations
	for k, v := range lease.Annotations() {
		if got[k] != v {
			c.Errorf("annotation %s: flannel writes %q, kubetest %q", k, got[k], v)
		}
	}
}
