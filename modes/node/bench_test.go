package node_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
)

// nodesOf makes n nodes with pod subnets of 10.0.0.0/9.
func nodesOf(n int) []node.Remote {
	out := make([]node.Remote, n)
	for i := range out {
		a, b := byte(i>>8), byte(i)
		out[i] = node.Remote{
			Name:      fmt.Sprintf("node-%04d", i),
			Subnets:   []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 16 + a, b, 0}), 24)},
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{198, 18, a, b})},
			MAC:       hns.MAC{2, 0, 0, 0, a, b},
		}
	}
	return out
}

// BenchmarkRemotes reports the requests to HNS (reads and changes) beside the
// time, which is the library's own and the emulator's: from empty, one change,
// and nothing to do, for policies in batches and one by one.
func BenchmarkRemotes(b *testing.B) {
	for _, n := range []int{100, 1000} {
		nodes := nodesOf(n)
		for _, batch := range []int{1, node.DefaultBatch, -1} {
			name := map[int]string{1: "one by one", -1: "unbounded"}[batch]
			if name == "" {
				name = fmt.Sprintf("batches of %d", batch)
			}
			run := func(what string, step func(c *cluster)) {
				b.Run(fmt.Sprintf("%d nodes/%s/%s", n, name, what), func(b *testing.B) {
					c := benchCluster(b, batch)
					if what != "from empty" {
						c.reconcile(nodes...)
					}
					calls, i := 0, 0
					b.ReportAllocs()
					for b.Loop() {
						if what == "from empty" {
							b.StopTimer()
							c = benchCluster(b, batch)
							b.StartTimer()
						}
						c.hns.ResetCalls()
						step(c)
						calls += len(c.hns.Calls())
						i++
					}
					b.ReportMetric(float64(calls)/float64(i), "requests/op")
				})
			}
			run("from empty", func(c *cluster) { c.reconcile(nodes...) })
			run("one change", func(c *cluster) {
				nodes[n/2].MAC[1]++
				c.reconcile(nodes...)
			})
			run("nothing to do", func(c *cluster) { c.reconcile(nodes...) })
		}
	}
}

func benchCluster(b testing.TB, batch int) *cluster {
	d := descriptions()["overlay"]
	d.ClusterCIDRs, d.ServiceCIDRs, d.Subnets = prefixes("10.0.0.0/9"), prefixes("172.20.0.0/16"), prefixes("10.0.3.0/24")
	c := &cluster{machine: newMachine(b, emulator.Options{}), plan: planOf(b, d)}
	c.ensure(c.plan, nil)
	var err error
	if c.remotes, err = node.NewRemotes(c.client, c.host, c.plan, &node.RemotesOptions{Batch: batch}); err != nil {
		b.Fatal(err)
	}
	return c
}
