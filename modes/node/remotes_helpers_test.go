package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
)

// cluster is a node that is made, and its remotes.
type cluster struct {
	*machine
	plan     *node.Plan
	remotes  *node.Remotes
	log      *bytes.Buffer
	counters *node.Counters
}

// newCluster makes a node of a mode; wrap, if not nil, stands between the
// remotes and HNS.
func newCluster(tb testing.TB, mode string, batch int, wrap func(hns.Backend) hns.Backend) *cluster {
	c := &cluster{machine: newMachine(tb, emulator.Options{}), log: &bytes.Buffer{}, counters: &node.Counters{}}
	c.plan = planOf(tb, descriptions()[mode])
	c.ensure(c.plan, nil)
	client := c.client
	if wrap != nil {
		client = hns.New(wrap(c.hns), nil)
	}
	var err error
	c.remotes, err = node.NewRemotes(client, c.host, c.plan, &node.RemotesOptions{
		Batch: batch, Counters: c.counters, Logger: c.logger()})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// logger writes to the cluster's log.
func (c *cluster) logger() *slog.Logger { return slog.New(slog.NewTextHandler(c.log, nil)) }

// foreignWay adds a way as another program would.
func (c *cluster) foreignWay(prefix, address string) {
	c.tb.Helper()
	ctx := context.Background()
	n, err := c.client.Networks.ByName(ctx, c.plan.Description.Name)
	if err == nil {
		err = c.client.Networks.AddPolicies(ctx, n.ID, hns.RemoteSubnetRoute{DestinationPrefix: netip.MustParsePrefix(prefix),
			IsolationID: 4096, ProviderAddress: addr(address), DistributedRouterMAC: hns.MAC{2, 1}})
	}
	if err != nil {
		c.tb.Fatal(err)
	}
}

func (c *cluster) reconcile(nodes ...node.Remote) node.Report {
	c.tb.Helper()
	r, err := c.remotes.Reconcile(context.Background(), nodes)
	if err != nil {
		c.tb.Fatal(err)
	}
	return r
}

// ways returns what is there, sorted: "10.244.7.0/24 192.0.2.7 4E-0A-…" on
// Overlay, without the MAC on L2Bridge.
func (c *cluster) ways() []string {
	c.tb.Helper()
	var out []string
	if c.plan.Description.Mode == modes.L2Bridge {
		routes, err := c.host.Routes(context.Background())
		if err != nil {
			c.tb.Fatal(err)
		}
		for _, r := range routes {
			out = append(out, fmt.Sprintf("%s %s", r.Destination, r.NextHop))
		}
	} else {
		n, err := c.client.Networks.ByName(context.Background(), c.plan.Description.Name)
		if err != nil {
			c.tb.Fatal(err)
		}
		for _, p := range hns.PoliciesOf[hns.RemoteSubnetRoute](n.Policies) {
			if p.IsolationID != c.plan.Description.VNI {
				c.tb.Errorf("VNI %d", p.IsolationID)
			}
			out = append(out, fmt.Sprintf("%s %s %s", p.DestinationPrefix, p.ProviderAddress, p.DistributedRouterMAC))
		}
	}
	slices.Sort(out)
	return out
}

func (c *cluster) wantWays(when string, want ...string) {
	c.tb.Helper()
	if got := c.ways(); !slices.Equal(got, want) {
		c.tb.Errorf("%s: ways\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// remote is the node with the pod subnet 10.244.i.0/24, the address 192.0.2.i
// and a MAC address of that number.
func remote(i int) node.Remote {
	return node.Remote{
		Name:      fmt.Sprintf("node-%03d", i),
		Subnets:   []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(i), 0}), 24)},
		Addresses: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})},
		MAC:       hns.MAC{0x4e, 0x0a, 0, 0, 0, byte(i)},
	}
}

func with(r node.Remote, change func(*node.Remote)) node.Remote {
	change(&r)
	return r
}

const (
	way7 = "10.244.7.0/24 192.0.2.7 4E-0A-00-00-00-07"
	way8 = "10.244.8.0/24 192.0.2.8 4E-0A-00-00-00-08"
	way9 = "10.244.9.0/24 192.0.2.9 4E-0A-00-00-00-09"
)

// policiesIn returns how many policies a modify request has.
func policiesIn(r hns.Request) int {
	var doc struct {
		Settings struct{ Policies []json.RawMessage }
	}
	if r.Verb != hns.VerbModify || json.Unmarshal(r.Document, &doc) != nil {
		return 0
	}
	return len(doc.Settings.Policies)
}

// requests counts the calls to HNS, by "list", "modify" and so on.
func (c *cluster) requests(do func()) map[string]int {
	c.hns.ResetCalls()
	do()
	out := map[string]int{}
	for _, call := range c.hns.Calls() {
		out[call.Verb.String()]++
	}
	return out
}

type backendFunc func(hns.Request) (hns.Response, error)

func (f backendFunc) Do(r hns.Request) (hns.Response, error) { return f(r) }
