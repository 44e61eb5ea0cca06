package node

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// Fault is why a node is skipped.
type Fault string

// The faults. They are part of counter names.
const (
	// FaultMalformed: a value is not what it should be, or could not be read.
	FaultMalformed Fault = "malformed"
	// FaultDuplicate: another node of that name was given.
	FaultDuplicate Fault = "duplicate"
	// FaultNoSubnet: the node has no pod subnet (yet).
	FaultNoSubnet Fault = "no_subnet"
	// FaultNoAddress: the node has no address of its pod subnet's family.
	FaultNoAddress Fault = "no_address"
	// FaultNoMAC: the node has not told its VTEP's MAC address yet
	// (flannel-io/flannel#1061).
	FaultNoMAC Fault = "no_mac"
	// FaultVNI and FaultPort: the node wraps packets otherwise than this one.
	FaultVNI  Fault = "vni"
	FaultPort Fault = "port"
	// FaultOutside: a pod subnet is no part of a cluster CIDR.
	FaultOutside Fault = "outside_cluster"
	// FaultOverlap: a pod subnet overlaps one of another node, or of this one.
	FaultOverlap Fault = "overlap"
	// FaultAddressInUse: another node, or this one, has the address.
	FaultAddressInUse Fault = "address_in_use"
	// FaultOffLink: on L2Bridge the node is not on a link of this node, so it
	// can be no next hop.
	FaultOffLink Fault = "off_link"
)

// Faults returns all faults.
func Faults() []Fault {
	return []Fault{
		FaultMalformed, FaultDuplicate, FaultNoSubnet, FaultNoAddress, FaultNoMAC, FaultVNI, FaultPort,
		FaultOutside, FaultOverlap, FaultAddressInUse, FaultOffLink,
	}
}

// Skipped is a node that is left as it was, and why.
type Skipped struct {
	Node  string
	Fault Fault
	// Err has the path of the value, in the names of [Remote].
	Err *hns.FieldError
	// Cause is Remote.Err, if that is why.
	Cause error
}

// Error returns `node "a": Subnets[0]: …`.
func (s *Skipped) Error() string { return fmt.Sprintf("node %q: %v", s.Node, s.Err) }

// Unwrap returns Cause, or Err.
func (s *Skipped) Unwrap() error {
	if s.Cause != nil {
		return s.Cause
	}
	return s.Err
}

// isSelf tells this node among the others: it has both a subnet and an address
// of this one. A caller that knows better says so in Err.
func (a *admission) isSelf(r Remote) bool {
	return r.Err == nil && slices.ContainsFunc(r.Subnets, func(s netip.Prefix) bool { return slices.Contains(a.d.Subnets, s) }) &&
		slices.ContainsFunc(r.Addresses, func(x netip.Addr) bool { return slices.Contains(a.d.NodeAddresses, x) })
}

func (a *admission) skip(r Remote, f Fault, path, value, format string, args ...any) {
	a.skipped = append(a.skipped, Skipped{Node: r.Name, Fault: f, Err: &hns.FieldError{Path: path, Value: value, Reason: fmt.Sprintf(format, args...)}})
}

// check looks at one node alone, and returns the ways to it.
func (a *admission) check(r Remote) ([]way, bool) {
	before := len(a.skipped)
	switch {
	case r.Err != nil:
		a.skipped = append(a.skipped, Skipped{r.Name, FaultMalformed, &hns.FieldError{Reason: r.Err.Error()}, r.Err})
		return nil, false
	case r.Name == "":
		a.skip(r, FaultMalformed, "Name", "", "missing")
		return nil, false
	}
	var ways []way
	for i, s := range r.Subnets {
		if len(a.skipped) > before {
			break // one event a node
		}
		path := fmt.Sprintf("Subnets[%d]", i)
		if w, carried := a.checkSubnet(r, path, s); carried {
			a.checkOwn(r, path, w, ways)
			ways = append(ways, w)
		}
	}
	if len(a.skipped) == before && len(ways) == 0 {
		a.skip(r, FaultNoSubnet, "Subnets", "", "missing")
	}
	if len(a.skipped) == before {
		a.checkVTEP(r)
	}
	return ways, len(a.skipped) == before
}

// checkSubnet returns the way to a subnet; carried is false for one of a family
// that the network does not carry.
func (a *admission) checkSubnet(r Remote, path string, s netip.Prefix) (w way, carried bool) {
	switch {
	case !s.IsValid() || s.Addr().Is4In6():
		a.skip(r, FaultMalformed, path, "", "not a prefix such as 10.244.1.0/24")
		return w, false
	case s != s.Masked():
		a.skip(r, FaultMalformed, path, s.String(), "has host bits; the prefix is %s", s.Masked())
		return w, false
	case !a.carries(s.Addr().Is4()):
		return w, false
	case slices.Contains(a.d.ClusterCIDRs, s):
		a.skip(r, FaultOutside, path, s.String(), "is all of a cluster CIDR, of which a node has a part")
		return w, false
	case !owned(a.d, s):
		a.skip(r, FaultOutside, path, s.String(), "is no part of the cluster CIDRs %v", a.d.ClusterCIDRs)
		return w, false
	}
	w = way{node: r.Name, prefix: s, mac: r.MAC}
	for i, x := range r.Addresses {
		at := fmt.Sprintf("Addresses[%d]", i)
		switch {
		case !unicast(x):
			a.skip(r, FaultMalformed, at, addrText(x), "not a plain unicast address of a node")
			return w, false
		case slices.ContainsFunc(a.d.ClusterCIDRs, func(c netip.Prefix) bool { return c.Contains(x) }):
			a.skip(r, FaultMalformed, at, x.String(), "lies in a cluster CIDR")
			return w, false
		case x.Is4() == s.Addr().Is4() && !w.address.IsValid():
			w.address = x
			if a.onLink != nil && !a.onLink(x) {
				a.skip(r, FaultOffLink, at, x.String(), "is no host's address on a link of this node, so it cannot be a next hop")
				return w, false
			}
		}
	}
	if !w.address.IsValid() {
		a.skip(r, FaultNoAddress, "Addresses", "", "none of the family of %s", s)
		return w, false
	}
	return w, true
}

// checkOwn holds a way against this node and against the others to the same node.
// Only this node is in yet.
func (a *admission) checkOwn(r Remote, path string, w way, others []way) {
	switch {
	case slices.ContainsFunc(others, func(o way) bool { return o.prefix.Overlaps(w.prefix) }):
		a.skip(r, FaultOverlap, path, w.prefix.String(), "overlaps another pod subnet of the node")
	case a.subnets.overlaps(w.prefix):
		a.skip(r, FaultOverlap, path, w.prefix.String(), "overlaps a pod subnet of this node")
	case a.addresses[w.address] != "":
		a.skip(r, FaultAddressInUse, "Addresses", w.address.String(), "is the address of this node")
	}
}

// carries reports whether pods of this node have the family.
func (a *admission) carries(v4 bool) bool {
	return slices.ContainsFunc(a.d.Subnets, func(s netip.Prefix) bool { return s.Addr().Is4() == v4 })
}

// checkVTEP compares how the node wraps packets with how this one does.
func (a *admission) checkVTEP(r Remote) {
	if a.d.Mode != modes.Overlay {
		if r.VNI != 0 || r.Port != 0 {
			a.skip(r, FaultVNI, "VNI", fmt.Sprint(r.VNI), "the node wraps packets in VXLAN, this one does not")
		}
		return
	}
	switch {
	case r.VNI > MaxRemoteVNI:
		a.skip(r, FaultVNI, "VNI", fmt.Sprint(r.VNI), "remote routes are known to hold a VNI of up to %d", MaxRemoteVNI)
	case r.VNI != 0 && r.VNI != a.d.VNI:
		a.skip(r, FaultVNI, "VNI", fmt.Sprint(r.VNI), "this node has VNI %d", a.d.VNI)
	case r.Port != 0 && r.Port != a.d.VXLANPort:
		a.skip(r, FaultPort, "Port", fmt.Sprint(r.Port), "this node has port %d", a.d.VXLANPort)
	case r.MAC.IsZero():
		a.skip(r, FaultNoMAC, "MAC", "", "missing")
	case r.MAC[0]&1 != 0:
		a.skip(r, FaultMalformed, "MAC", r.MAC.String(), "is a multicast address")
	}
}

// owned reports whether a way to p is ours to make and remove: p is a part of
// a cluster CIDR, and not all of it, which routers may lead to by other means.
func owned(d *Description, p netip.Prefix) bool {
	return p.IsValid() && d.inCluster(p) && !slices.Contains(d.ClusterCIDRs, p)
}
