package node_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/node"
)

// TestFaultyNodes skips each with one event and a counter, and all others go on.
func TestFaultyNodes(t *testing.T) {
	broken := errors.New(`annotation backend-data: invalid character`)
	tests := []struct {
		fault node.Fault
		path  string
		r     func(*node.Remote)
	}{
		{node.FaultMalformed, "", func(r *node.Remote) { r.Err = broken }},
		{node.FaultMalformed, "Subnets[0]", func(r *node.Remote) { r.Subnets = []netip.Prefix{{}} }},
		{node.FaultMalformed, "Subnets[0]", func(r *node.Remote) { r.Subnets = prefixes("10.244.7.1/24") }},
		{node.FaultMalformed, "Addresses[0]", func(r *node.Remote) { r.Addresses = []netip.Addr{{}} }},
		{node.FaultMalformed, "Addresses[0]", func(r *node.Remote) { r.Addresses = addrs("224.0.0.1") }},
		{node.FaultMalformed, "Addresses[0]", func(r *node.Remote) { r.Addresses = addrs("255.255.255.255") }},
		{node.FaultMalformed, "Addresses[0]", func(r *node.Remote) { r.Addresses = addrs("10.244.9.1") }},
		{node.FaultMalformed, "MAC", func(r *node.Remote) { r.MAC[0] = 1 }},
		{node.FaultNoSubnet, "Subnets", func(r *node.Remote) { r.Subnets = nil }},
		{node.FaultNoSubnet, "Subnets", func(r *node.Remote) { r.Subnets = prefixes("fd00:244:0:7::/64") }},
		{node.FaultNoAddress, "Addresses", func(r *node.Remote) { r.Addresses = addrs("2001:db8::7") }},
		{node.FaultNoMAC, "MAC", func(r *node.Remote) { r.MAC = hns.MAC{} }},
		{node.FaultVNI, "VNI", func(r *node.Remote) { r.VNI = 1 }},
		{node.FaultVNI, "VNI", func(r *node.Remote) { r.VNI = 69632 }}, // 4096 when cut to 16 bits
		{node.FaultPort, "Port", func(r *node.Remote) { r.Port = 8472 }},
		{node.FaultOutside, "Subnets[0]", func(r *node.Remote) { r.Subnets = prefixes("10.245.7.0/24") }},
		{node.FaultOutside, "Subnets[0]", func(r *node.Remote) { r.Subnets = prefixes("10.244.0.0/16") }},
		{node.FaultOverlap, "Subnets[0]", func(r *node.Remote) { r.Subnets = prefixes("10.244.8.128/25") }},
		{node.FaultOverlap, "Subnets[0]", func(r *node.Remote) { r.Subnets = prefixes("10.244.8.0/22") }},
		{node.FaultOverlap, "Subnets[0]", func(r *node.Remote) { r.Subnets = prefixes("10.244.3.0/24") }}, // of this node
		{node.FaultOverlap, "Subnets[1]", func(r *node.Remote) { r.Subnets = prefixes("10.244.70.0/24", "10.244.70.0/25") }},
		{node.FaultAddressInUse, "Addresses", func(r *node.Remote) { r.Addresses = addrs("192.0.2.8") }},
		{node.FaultAddressInUse, "Addresses", func(r *node.Remote) { r.Addresses = addrs("192.0.2.10") }}, // of this node
		{node.FaultDuplicate, "Name", func(r *node.Remote) { r.Name = "node-008" }},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, tt.fault, tt.path), func(t *testing.T) {
			c := newCluster(t, "overlay", 0, nil)
			bad := with(remote(99), tt.r)
			self := with(remote(3), func(r *node.Remote) { r.Addresses = addrs("192.0.2.10") })
			c.reconcile(remote(8), self)
			var report node.Report
			for range 2 { // the second time it is no news
				report = c.reconcile(remote(8), bad, remote(9), self)
			}
			c.wantWays("others", way8, way9)
			if len(report.Skipped) != 1 {
				t.Fatalf("%v", report.Skipped)
			}
			s := report.Skipped[0]
			if s.Node != bad.Name || s.Fault != tt.fault || s.Err.Path != tt.path || bad.Err != nil && !errors.Is(&s, broken) {
				t.Errorf("%+v", s)
			}
			if n := strings.Count(c.log.String(), "node skipped"); n != 1 || c.counters.Snapshot()[node.CountNodesSkipped+string(tt.fault)] != 1 {
				t.Errorf("%d events, counters %v\n%s", n, c.counters.Snapshot(), c.log)
			}
			c.reconcile(remote(8), remote(9), with(bad, func(r *node.Remote) { *r = with(remote(99), func(r *node.Remote) { r.Name = bad.Name + "x" }) }))
			if n := strings.Count(c.log.String(), "no longer skipped"); n != 1 {
				t.Errorf("%d times well again\n%s", n, c.log)
			}
		})
	}
}

// TestIncumbentStays: a node that claims what another has does it no harm,
// whatever their names, and neither does it after a restart of the agent.
func TestIncumbentStays(t *testing.T) {
	for _, claim := range []func(*node.Remote){
		func(r *node.Remote) { r.Subnets = remote(8).Subnets },
		func(r *node.Remote) { r.Addresses = remote(8).Addresses },
	} {
		intruder := with(remote(7), claim) // before node-008 by name
		c := newCluster(t, "overlay", 0, nil)
		c.reconcile(remote(8))
		for range 2 {
			if got := c.reconcile(intruder, remote(8)); len(got.Skipped) != 1 || got.Skipped[0].Node != "node-007" {
				t.Errorf("%v", got.Skipped)
			}
			c.wantWays("intruder", way8)
			var err error
			if c.remotes, err = node.NewRemotes(c.client, c.host, c.plan, nil); err != nil {
				t.Fatal(err)
			}
		}
		// When the other is gone it may have it.
		if got := c.reconcile(intruder); len(got.Skipped) != 0 || len(c.ways()) != 1 {
			t.Errorf("%s, %v", got, c.ways())
		}
	}
	// An address change at the same moment does not lose a node its subnet.
	c := newCluster(t, "overlay", 0, nil)
	c.reconcile(remote(8))
	moved := with(remote(8), func(r *node.Remote) { r.Addresses = addrs("192.0.2.88") })
	c.reconcile(with(remote(7), func(r *node.Remote) { r.Subnets = remote(8).Subnets }), moved)
	c.wantWays("moved", "10.244.8.0/24 192.0.2.88 4E-0A-00-00-00-08")
}

// TestHeld: the ways to a node that can no longer be read stay until another
// node needs them, or until it is gone.
func TestHeld(t *testing.T) {
	c := newCluster(t, "overlay", 0, nil)
	c.reconcile(remote(7), remote(8))
	unread := node.Remote{Name: "node-007", Err: errors.New("annotation")}
	if got := c.reconcile(unread, remote(8)); got.Held != 1 {
		t.Error(got)
	}
	c.wantWays("held", way7, way8)
	heir := with(remote(9), func(r *node.Remote) { r.Subnets = remote(7).Subnets })
	if got := c.reconcile(unread, remote(8), heir); got.Held != 0 || got.Changed != 1 {
		t.Error(got)
	}
	c.wantWays("another node has the subnet", "10.244.7.0/24 192.0.2.9 4E-0A-00-00-00-09", way8)
	c.reconcile(remote(7), remote(8))
	c.reconcile(remote(8))
	c.wantWays("gone", way8)

	// It comes back with another address, and somebody else claims its subnet.
	c.reconcile(remote(9))
	c.reconcile(node.Remote{Name: "node-009", Err: errors.New("annotation")})
	moved := with(remote(9), func(r *node.Remote) { r.Addresses = addrs("192.0.2.99") })
	claimer := with(remote(7), func(r *node.Remote) { r.Subnets = remote(9).Subnets })
	c.reconcile(claimer, moved)
	c.wantWays("back", "10.244.9.0/24 192.0.2.99 4E-0A-00-00-00-09")
}

// TestRandomClusters compares with a model that knows nothing of what was there
// before: after each change the ways are those of the sound nodes.
func TestRandomClusters(t *testing.T) {
	for _, mode := range []string{"overlay", "l2bridge"} {
		for _, batch := range []int{1, 3, 0, -1} {
			rnd := rand.New(rand.NewPCG(uint64(batch), uint64(len(mode))))
			c := newCluster(t, mode, batch, nil)
			for round := range 30 {
				var nodes []node.Remote
				var want []string
				for _, i := range rnd.Perm(40) {
					if i += 20; rnd.IntN(3) == 0 {
						continue
					}
					r := remote(i)
					r.MAC[1] = byte(rnd.IntN(3))
					r.Addresses[0] = netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 60*rnd.IntN(3))})
					nodes = append(nodes, r)
					way := fmt.Sprintf("%s %s", r.Subnets[0], r.Addresses[0])
					if mode == "overlay" {
						way += " " + r.MAC.String()
					}
					want = append(want, way)
				}
				slices.Sort(want)
				got := c.reconcile(nodes...)
				if got.Added+got.Changed+got.Kept != len(want) {
					t.Fatalf("round %d: %s for %d nodes", round, got, len(want))
				}
				c.wantWays(fmt.Sprint(mode, batch, round), want...)
				if t.Failed() {
					return
				}
			}
		}
	}
}
