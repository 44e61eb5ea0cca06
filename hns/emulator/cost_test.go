package emulator_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// crowd is a node with many endpoints, and with a network of ten beside them.
type crowd struct {
	*node
	size       int
	many, few  hns.ID // networks
	mid        hns.ID // an endpoint in the middle
	ns, joined hns.ID // a namespace, and an endpoint of no namespace
}

const fewEndpoints = 10

// newCrowd fills the node. Every tenth endpoint is a backend of a load balancer.
func newCrowd(n *node, size int) *crowd {
	c := &crowd{node: n, size: size}
	const pool = `,"MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-00-00-00","EndMacAddress":"00-15-5D-FF-FF-FF"}]}`
	c.many = n.id(hns.KindNetwork, network("many", "L2Bridge", "10.0.0.0/8", pool))
	c.few = n.id(hns.KindNetwork, network("few", "L2Bridge", "172.16.0.0/12", pool))
	for i := range size {
		id := n.id(hns.KindEndpoint, endpoint(c.many, fmt.Sprint("e", i)))
		if i%10 == 0 {
			n.id(hns.KindLoadBalancer, balancer([]hns.ID{id}, port(6, 80, 1+i)))
		}
		if i == size/2 {
			c.mid = id
		}
	}
	for i := range fewEndpoints {
		n.id(hns.KindEndpoint, endpoint(c.few, fmt.Sprint("f", i)))
	}
	c.ns = n.id(hns.KindNamespace, namespaceDoc)
	c.joined = n.id(hns.KindEndpoint, endpoint(c.many, "joined"))
	n.ResetCalls()
	return c
}

// found lists endpoints and wants that many.
func (c *crowd) found(want int, filter string) {
	c.Helper()
	if got := len(c.list(hns.KindEndpoint, filter)); got != want {
		c.Errorf("%d found by %s, want %d", got, filter, want)
	}
}

// costly are the operations whose cost must not grow with the node. Those that
// change it put it back.
var costly = []struct {
	name  string
	do    func(*crowd)
	items func(*crowd) int // the cost is that of each; nil: one
}{
	{name: "create and delete", do: func(c *crowd) {
		id := c.id(hns.KindEndpoint, endpoint(c.many, "x", policies(mapping(8088, ""))))
		c.delete(hns.KindEndpoint, id)
	}},
	{name: "refused create", do: func(c *crowd) { c.create(hns.KindEndpoint, endpoint(c.many, "x", ip("10.0.0.9"))) }},
	{name: "get", do: func(c *crowd) { c.get(hns.KindEndpoint, c.mid) }},
	{name: "by id", do: func(c *crowd) { c.found(1, `{"ID":"`+c.mid.String()+`"}`) }},
	{name: "by name", do: func(c *crowd) { c.found(1, fmt.Sprintf(`{"Name":"e%d"}`, c.size/2)) }},
	{name: "of a small network", do: func(c *crowd) { c.found(fewEndpoints, `{"VirtualNetwork":"`+c.few.String()+`"}`) }},
	{name: "of the large network", do: func(c *crowd) { c.found(c.size+1, `{"VirtualNetwork":"`+c.many.String()+`"}`) },
		items: func(c *crowd) int { return c.size + 1 }},
	{name: "attach and detach", do: func(c *crowd) {
		c.join("Add", c.ns, c.joined)
		c.join("Remove", c.ns, c.joined)
	}},
	{name: "by v1", do: func(c *crowd) {
		doc, _ := c.call("POST", "/endpoints/", `{"Name":"x","VirtualNetworkName":"many"}`)
		c.call("GET", "/endpoints/"+text(c, doc, "ID"), "")
		c.call("DELETE", "/endpoints/"+text(c, doc, "ID"), "")
	}},
	{name: "load balancer", do: func(c *crowd) {
		id := c.id(hns.KindLoadBalancer, balancer([]hns.ID{c.mid}, vips("10.97.0.1"), port(6, 80, 80)))
		c.delete(hns.KindLoadBalancer, id)
	}},
}

// The cost of an operation must not grow with the node. Allocations stand for
// cost: unlike time they are the same on every machine. What is done without any,
// TestWorkDoesNotGrowWithTheNode counts.
func TestCostDoesNotGrowWithTheNode(t *testing.T) {
	sizes := []int{100, 1000, 10000}
	cost := map[string][]float64{}
	for _, size := range sizes {
		c := newCrowd(newNode(t, func(o *emulator.Options) { o.Seed = 0 }), size)
		for _, op := range costly {
			runs := 20
			items := 1
			if op.items != nil {
				runs, items = 1, op.items(c)
			}
			allocs := testing.AllocsPerRun(runs, func() {
				c.ResetCalls()
				op.do(c)
			})
			cost[op.name] = append(cost[op.name], allocs/float64(items))
		}
	}
	for name, allocs := range cost {
		if first, last := allocs[0], allocs[len(allocs)-1]; last > 1.2*first {
			t.Errorf("%s: %.0f allocations with %d endpoints, %.0f with %d", name, first, sizes[0], last, sizes[len(sizes)-1])
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	for _, size := range []int{100, 1000, 10000} {
		c := newCrowd(newNode(b, func(o *emulator.Options) { o.Seed = 0 }), size)
		c.benchmark(b)
	}
}

// In file mode each call reads the file if another process wrote it, and each
// change writes all of it.
func BenchmarkFile(b *testing.B) {
	for _, size := range []int{100, 1000} {
		path := filepath.Join(b.TempDir(), "hns.json")
		c := newCrowd(openNode(b, path, nil), size)
		c.benchmark(b)
	}
}

func (c *crowd) benchmark(b *testing.B) {
	for _, op := range costly {
		b.Run(fmt.Sprintf("%s/%d", op.name, c.size), func(b *testing.B) {
			c.TB = b
			b.ReportAllocs()
			for b.Loop() {
				op.do(c)
				c.ResetCalls()
			}
			if op.items != nil {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(op.items(c)), "ns/item")
			}
		})
	}
}
