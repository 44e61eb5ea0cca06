package node

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// way is how one pod subnet of another node is reached.
type way struct {
	node    string
	prefix  netip.Prefix
	address netip.Addr
	mac     hns.MAC // zero on L2Bridge
}

// claim is how good the right to a way is of the node that says it has it.
type claim int

// The claims, the best first.
const (
	claimLed   claim = iota // the node was led to by it the last time
	claimMoved              // so was its subnet, to another address
	claimThere              // it is in place, for whom is not known
	claimOnce               // the node was led to by its subnet before it was skipped
	claimNew
)

// admission decides which nodes are led to. It does no I/O.
type admission struct {
	d *Description
	// onLink says whether an address can be a next hop; nil: each can.
	onLink func(netip.Addr) bool
	// claim weighs a way; nil: all are new.
	claim func(way) claim

	subnets   prefixSet // of the nodes that are let in
	addresses map[netip.Addr]string
	ways      []way
	skipped   []Skipped

	// What nodes that are sound by themselves are led by already is kept for
	// them, whoever comes first.
	keptSubnets   prefixSet
	keptAddresses map[netip.Addr]string
	kept          map[way]bool
}

// candidate is a node that is sound by itself.
type candidate struct {
	Remote
	ways   []way
	claims []claim
}

// self is the name of this node in complaints.
const self = "this node"

// admit goes through the nodes. Of two that contradict each other the one that
// is led to already by what both claim stays, else the first by name, so that a
// node with a wrong value does no harm to one that works, and the order of the
// list does not matter.
func (a *admission) admit(nodes []Remote) {
	a.subnets, a.keptSubnets = newPrefixSet(), newPrefixSet()
	a.addresses, a.keptAddresses = map[netip.Addr]string{}, map[netip.Addr]string{}
	a.kept = map[way]bool{}
	for _, s := range a.d.Subnets {
		a.subnets.add(s, self)
	}
	for _, addr := range a.d.NodeAddresses {
		a.addresses[addr] = self
	}
	var sound []candidate
	for _, r := range nodes {
		if a.isSelf(r) {
			continue
		}
		if ways, ok := a.check(r); ok {
			c := candidate{r, ways, nil}
			for _, w := range ways {
				c.claims = append(c.claims, a.claimOf(w))
			}
			sound = append(sound, c)
		}
	}
	sound = a.names(sound)
	a.keep(sound)
	slices.SortStableFunc(sound, func(x, y candidate) int { return cmp.Compare(x.best(), y.best()) })
	for _, c := range sound {
		a.settle(c)
	}
	slices.SortStableFunc(a.skipped, func(x, y Skipped) int {
		if c := cmp.Compare(x.Node, y.Node); c != 0 {
			return c
		}
		return cmp.Compare(x.Error(), y.Error())
	})
}

func (a *admission) claimOf(w way) claim {
	if a.claim == nil {
		return claimNew
	}
	return a.claim(w)
}

// best is the best claim of the node.
func (c *candidate) best() claim { return slices.Min(c.claims) }

// names sorts by name, and lets one node of each in.
func (a *admission) names(sound []candidate) []candidate {
	slices.SortStableFunc(sound, func(x, y candidate) int {
		if c := cmp.Compare(x.Name, y.Name); c != 0 {
			return c
		}
		if c := cmp.Compare(x.best(), y.best()); c != 0 {
			return c
		}
		return cmp.Compare(fmt.Sprint(x.Remote), fmt.Sprint(y.Remote)) // any order, but always the same
	})
	var out []candidate
	for _, c := range sound {
		if len(out) > 0 && out[len(out)-1].Name == c.Name {
			a.skip(c.Remote, FaultDuplicate, "Name", c.Name, "another node of that name was given")
			continue
		}
		out = append(out, c)
	}
	return out
}

// keep notes what is led to whom now. Of two that claim the same the better
// claim counts, then the name.
func (a *admission) keep(sound []candidate) {
	for want := claimLed; want < claimNew; want++ {
		for _, c := range sound {
			for i, w := range c.ways {
				if c.claims[i] != want {
					continue
				}
				name := quoted(c.Name)
				if a.keptSubnets.overlaps(w.prefix) {
					continue
				}
				a.keptSubnets.add(w.prefix, name)
				a.kept[w] = true
				if _, taken := a.keptAddresses[w.address]; !taken && (want == claimLed || want == claimThere) {
					a.keptAddresses[w.address] = name
				}
			}
		}
	}
}

func quoted(name string) string { return fmt.Sprintf("node %q", name) }

// settle lets a sound node in, unless it contradicts one that is in or that is
// led to already.
func (a *admission) settle(c candidate) {
	name := quoted(c.Name)
	for _, w := range c.ways {
		path := fmt.Sprintf("Subnets[%d]", slices.Index(c.Subnets, w.prefix))
		other, ok := a.subnets.overlap(w.prefix)
		if !ok && !a.kept[w] {
			other, ok = a.keptSubnets.overlap(w.prefix)
		}
		if ok {
			a.skip(c.Remote, FaultOverlap, path, w.prefix.String(), "overlaps a pod subnet of %s", other)
			return
		}
		other, ok = a.addresses[w.address]
		if !ok {
			other, ok = a.keptAddresses[w.address]
		}
		if ok && other != name {
			a.skip(c.Remote, FaultAddressInUse, "Addresses", w.address.String(), "is the address of %s", other)
			return
		}
	}
	for _, w := range c.ways {
		a.subnets.add(w.prefix, name)
		a.addresses[w.address] = name
	}
	a.ways = append(a.ways, c.ways...)
}

// prefixSet finds overlaps without looking at every prefix.
type prefixSet struct {
	exact  map[netip.Prefix]string // prefix: whose
	within map[netip.Prefix]string // a prefix that holds a smaller one: whose that is
}

func newPrefixSet() prefixSet {
	return prefixSet{map[netip.Prefix]string{}, map[netip.Prefix]string{}}
}

func (s prefixSet) add(p netip.Prefix, whose string) {
	s.exact[p] = whose
	for bits := p.Bits() - 1; bits >= 0; bits-- {
		s.within[netip.PrefixFrom(p.Addr(), bits).Masked()] = whose
	}
}

func (s prefixSet) overlaps(p netip.Prefix) bool {
	_, ok := s.overlap(p)
	return ok
}

// overlap returns whose prefix overlaps p.
func (s prefixSet) overlap(p netip.Prefix) (string, bool) {
	for bits := p.Bits(); bits >= 0; bits-- {
		if whose, ok := s.exact[netip.PrefixFrom(p.Addr(), bits).Masked()]; ok {
			return whose, true
		}
	}
	whose, ok := s.within[p]
	return whose, ok
}
