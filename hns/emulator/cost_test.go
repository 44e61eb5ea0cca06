package emulator_test

import (
	"fmt"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// The cost of an operation must not grow with the node. Allocations stand for
// cost: unlike time they are the same on every machine.
func TestCostDoesNotGrowWithTheNode(t *testing.T) {
	cost := func(endpoints int) float64 {
		n := newNode(t, func(o *emulator.Options) { o.Seed = 0 })
		lake := n.id(hns.KindNetwork, network("lake", "L2Bridge", "10.0.0.0/8",
			`,"MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-00-00-00","EndMacAddress":"00-15-5D-FF-FF-FF"}]}`))
		var mid hns.ID
		for i := range endpoints {
			id := n.id(hns.KindEndpoint, endpoint(lake, fmt.Sprint("e", i)))
			n.id(hns.KindLoadBalancer, balancer([]hns.ID{id}, port(6, 80, 1+i)))
			if i == endpoints/2 {
				mid = id
			}
		}
		ns := n.id(hns.KindNamespace, namespaceDoc)
		n.delete(hns.KindEndpoint, mid)
		return testing.AllocsPerRun(20, func() {
			n.ResetCalls()
			id := n.id(hns.KindEndpoint, endpoint(lake, "x", policies(mapping(8088, ""))))
			n.join("Add", ns, id)
			if got := n.list(hns.KindEndpoint, `{"Name":"x"}`); len(got) != 1 {
				t.Errorf("%d found", len(got))
			}
			n.create(hns.KindEndpoint, endpoint(lake, "x", policies(mapping(8088, ""))))
			n.get(hns.KindEndpoint, id)
			lb := n.id(hns.KindLoadBalancer, balancer([]hns.ID{id}, vips("10.97.0.1"), port(6, 80, 80)))
			n.create(hns.KindLoadBalancer, balancer([]hns.ID{id}, vips("10.97.0.1"), port(6, 81, 80)))
			n.get(hns.KindLoadBalancer, lb)
			n.delete(hns.KindLoadBalancer, lb)
			n.delete(hns.KindEndpoint, id)
		})
	}
	small, large := cost(50), cost(3000)
	if large > 1.2*small {
		t.Errorf("%.0f allocations with 50 endpoints, %.0f with 3000", small, large)
	}
}
