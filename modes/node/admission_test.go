package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
)

// TestEstablishedStays: a node that is led to, rightly, takes nothing from
// another by claiming that too, whatever their names.
func TestEstablishedStays(t *testing.T) {
	tests := map[string]func(*node.Remote){
		"the subnet too":       func(r *node.Remote) { r.Subnets = prefixes("10.244.7.0/24", "10.244.8.0/24") },
		"a part of the subnet": func(r *node.Remote) { r.Subnets = prefixes("10.244.7.0/24", "10.244.8.64/26") },
		"more than the subnet": func(r *node.Remote) { r.Subnets = prefixes("10.244.7.0/24", "10.244.8.0/21") },
		"the address":          func(r *node.Remote) { r.Addresses = addrs("192.0.2.8") },
	}
	for name, claim := range tests {
		for _, restart := range []bool{false, true} {
			for _, moves := range []bool{false, true} { // the other changes at the same time
				c := newCluster(t, "overlay", 0, nil)
				c.reconcile(remote(7), remote(8))
				if restart {
					c.restartAgent()
				}
				want := way8
				other := remote(8)
				if moves {
					other.Subnets = append(other.Subnets, prefixes("10.244.9.0/24")...)
					want += "\n10.244.9.0/24 192.0.2.8 4E-0A-00-00-00-08"
				}
				got := c.reconcile(with(remote(7), claim), other)
				if len(got.Skipped) != 1 || got.Skipped[0].Node != "node-007" {
					t.Errorf("%s, restart %t, moves %t: %v", name, restart, moves, got.Skipped)
				}
				c.wantWays(name, append([]string{way7}, strings.Split(want, "\n")...)...)
			}
		}
	}
}

// restartAgent is a new process on the same node.
func (c *cluster) restartAgent() {
	c.tb.Helper()
	var err error
	opts := &node.RemotesOptions{Logger: c.logger(), Counters: c.counters}
	if c.remotes, err = node.NewRemotes(c.client, c.host, c.plan, opts); err != nil {
		c.tb.Fatal(err)
	}
}

// TestTwoOfOneName: whatever the order of the list, the same one is led to, and
// each of the others is one event.
func TestTwoOfOneName(t *testing.T) {
	var same []node.Remote
	for _, i := range []int{9, 7, 8} {
		same = append(same, with(remote(i), func(r *node.Remote) { r.Name = "twin" }))
	}
	nameless := with(remote(11), func(r *node.Remote) { r.Name = "" })
	also := with(remote(12), func(r *node.Remote) { r.Name = "" })
	nodes := append(slices.Clone(same), nameless, also)
	c := newCluster(t, "overlay", 0, nil)
	for range 4 {
		report := c.reconcile(nodes...)
		if len(report.Skipped) != 4 {
			t.Fatal(report.Skipped)
		}
		c.wantWays("twins", way7)
		nodes = append(nodes[1:], nodes[0])
	}
	got := c.counters.Snapshot()
	if n := strings.Count(c.log.String(), "node skipped"); n != 4 || got[node.CountNodesSkipped+"duplicate"] != 2 || got[node.CountNodesSkipped+"malformed"] != 2 {
		t.Errorf("%d events, %v\n%s", n, got, c.log)
	}
	// What leads to a subnet of the others does not stay for them.
	c.foreignWay("10.244.8.0/24", "192.0.2.99")
	c.reconcile(same...)
	c.wantWays("stale", way7)
	// The one that is led to stays, also if another comes before it.
	c.reconcile(same[0])
	c.reconcile(same...)
	c.wantWays("the incumbent", way9)
	if n := strings.Count(c.log.String(), "no longer skipped"); n != 2 { // "" and "twin"
		t.Errorf("%d times well again\n%s", n, c.log)
	}
	// A twin that cannot be read takes nothing from one that can.
	c.reconcile(node.Remote{Name: "twin", Err: errors.New("annotation")}, same[0])
	c.wantWays("unread twin", way9)
}

// TestHeldAfterRestart: a new process does not know what a node was led by that
// it cannot read. It goes by the node's address.
func TestHeldAfterRestart(t *testing.T) {
	c := newCluster(t, "overlay", 0, nil)
	c.reconcile(remote(7), remote(8), remote(9))
	c.restartAgent()
	unread := node.Remote{Name: "node-007", Addresses: addrs("192.0.2.7"), Err: errors.New("annotation")}
	if got := c.reconcile(unread, remote(8)); got.Held != 1 || got.Removed != 1 {
		t.Error(got)
	}
	c.wantWays("held", way7, way8)
	// Not if the address is another node's now.
	taker := with(remote(11), func(r *node.Remote) { r.Addresses = addrs("192.0.2.7") })
	if got := c.reconcile(unread, remote(8), taker); got.Held != 0 {
		t.Error(got)
	}
	c.wantWays("taken", "10.244.11.0/24 192.0.2.7 4E-0A-00-00-00-0B", way8)
}

// TestOldClaimOnOurSubnet: this node has got a subnet that another was led to by,
// as a part of a larger one. That is no right to keep third nodes out.
func TestOldClaimOnOurSubnet(t *testing.T) {
	c := newCluster(t, "overlay", 0, nil)
	c.foreignWay("10.244.0.0/20", "192.0.2.7")
	old := with(remote(7), func(r *node.Remote) { r.Subnets = prefixes("10.244.0.0/20") })
	if got := c.reconcile(old, remote(8), remote(9)); len(got.Skipped) != 1 || got.Removed != 1 {
		t.Errorf("%s, %v", got, got.Skipped)
	}
	c.wantWays("others", way8, way9)
}

// TestAddressOfOneFamily: a node of two families keeps what it is led by in one,
// and claims another's address in the other.
func TestAddressOfOneFamily(t *testing.T) {
	d := furtherDescriptions()["l2bridge-dual-stack"]
	dual := func(i int) node.Remote {
		return node.Remote{Name: fmt.Sprintf("node-%d", i), Subnets: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.244.%d.0/24", i)), netip.MustParsePrefix(fmt.Sprintf("fd00:244:0:%d::/64", i))},
			Addresses: addrs(fmt.Sprintf("192.0.2.%d", i), fmt.Sprintf("2001:db8::%d", i))}
	}
	for _, restart := range []bool{false, true} {
		m := newMachine(t, emulator.Options{Adapters: []emulator.Adapter{{Name: "Ethernet", Addresses: prefixes("192.0.2.10/24", "2001:db8::10/64")}}})
		c := &cluster{machine: m, plan: planOf(t, d), log: &bytes.Buffer{}}
		m.ensure(c.plan, nil)
		c.restartAgent()
		c.reconcile(dual(7), dual(8))
		want := c.ways()
		if restart {
			c.restartAgent()
		}
		bad := with(dual(7), func(r *node.Remote) { r.Addresses[1] = dual(8).Addresses[1] })
		if got := c.reconcile(bad, dual(8)); len(got.Skipped) != 1 || got.Skipped[0].Node != "node-7" || got.Held != 2 {
			t.Errorf("restart %t: %s, %v", restart, got, got.Skipped)
		}
		c.wantWays(fmt.Sprint("restart ", restart), want...)
	}
}

// TestNewcomerWaits: a node that is led to moves to an address that a new one
// claims too.
func TestNewcomerWaits(t *testing.T) {
	c := newCluster(t, "overlay", 0, nil)
	c.reconcile(remote(8))
	to := func(r *node.Remote) { r.Addresses = addrs("192.0.2.88") }
	c.reconcile(with(remote(7), to), with(remote(8), to))
	c.wantWays("moved", "10.244.8.0/24 192.0.2.88 4E-0A-00-00-00-08")
}
