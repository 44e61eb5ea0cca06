package node

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// faults collects what is wrong with a description.
type faults []error

func (f *faults) add(path, value, format string, args ...any) {
	*f = append(*f, &hns.FieldError{Path: path, Value: value, Reason: fmt.Sprintf(format, args...)})
}

// unsupported adds what the mode cannot do.
func (f *faults) unsupported(m modes.Mode, path, value, format string, args ...any) {
	*f = append(*f, &modes.UnsupportedError{Mode: m, Path: path, Value: value, Reason: fmt.Sprintf(format, args...)})
}

// under adds the complaints of another package, with the path put before
// theirs.
func (f *faults) under(path string, err error) {
	if err == nil {
		return
	}
	fields := hns.FieldErrors(err)
	for _, fe := range fields {
		c := *fe
		if c.Path = path; fe.Path != "" {
			c.Path += "." + fe.Path
		}
		*f = append(*f, &c)
	}
	if len(fields) == 0 {
		*f = append(*f, err)
	}
}

// as returns what was collected as one error, or nil.
func (f faults) as(op, name string) error {
	if err := errlist.Join(f...); err != nil {
		return fmt.Errorf("node: %s %q: %w", op, name, err)
	}
	return nil
}

// networkName is what the CNI specification allows.
var networkName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// check finds what no planner of package modes looks at.
func (d *Description) check(bad *faults) {
	if d.Name != "" && !networkName.MatchString(d.Name) {
		bad.add("Name", d.Name, "not a CNI network name (letters, digits and, not first, _ . -)")
	}
	d.checkPlugin(bad)
	d.checkIPAM(bad)
	d.checkCIDRs(bad)
	d.checkNode(bad)
	d.checkVXLAN(bad)
	d.checkMasquerade(bad)
	if d.DSR && !byNode(d.Mode) {
		bad.unsupported(d.Mode, "DSR", "true", "HNS has no load balancers there")
	}
	if d.MACPrefix != "" {
		if d.Mode != modes.Overlay {
			bad.unsupported(d.Mode, "MACPrefix", d.MACPrefix, "MAC addresses of pods are HNS's to choose")
		} else if _, err := modes.EndpointMAC(d.MACPrefix, netip.IPv4Unspecified().Next()); err != nil {
			bad.under("MACPrefix", reasonOnly(err))
		}
	}
}

// reasonOnly drops the paths of complaints about a value that the caller names.
func reasonOnly(err error) error {
	var out []error
	for _, fe := range hns.FieldErrors(err) {
		c := *fe
		c.Path = ""
		out = append(out, &c)
	}
	if out == nil {
		return err
	}
	return errlist.Join(out...)
}

func (d *Description) checkPlugin(bad *faults) {
	switch {
	case d.Plugin == "":
		bad.add("Plugin", "", "missing: mode %s has no usual CNI plugin", d.Mode)
	case !networkName.MatchString(d.Plugin):
		bad.add("Plugin", d.Plugin, "not the file name of a plugin")
	}
}

// checkIPAM checks an IPAM configuration that is given.
func (d *Description) checkIPAM(bad *faults) {
	if d.IPAM == nil {
		return
	}
	switch typ, err := ipamType(d.IPAM); {
	case err != nil:
		bad.add("IPAM", "", "%v", err)
	case typ == "":
		bad.add("IPAM.type", "", "missing; it names the IPAM plugin")
	}
	if d.DataDir != "" {
		bad.add("DataDir", d.DataDir, "belongs to the host-local that stands there without IPAM")
	}
}

// checkCIDRs checks the ranges of the cluster, and the pod subnets against them.
func (d *Description) checkCIDRs(bad *faults) {
	type named struct {
		path string
		p    netip.Prefix
	}
	var seen []named
	list := func(name string, ps []netip.Prefix) {
		for i, p := range ps {
			at := fmt.Sprintf("%s[%d]", name, i)
			switch {
			case !p.IsValid() || p.Addr().Is4In6():
				bad.add(at, "", "not a prefix such as 10.0.0.0/16")
				continue
			case p != p.Masked():
				bad.add(at, p.String(), "has host bits; the prefix is %s", p.Masked())
			case p.Bits() == 0:
				bad.add(at, p.String(), "holds every address")
				continue
			}
			if j := slices.IndexFunc(seen, func(o named) bool { return o.p.Overlaps(p) }); j >= 0 {
				bad.add(at, p.String(), "overlaps %s of %s", seen[j].p, seen[j].path)
			}
			seen = append(seen, named{at, p})
		}
	}
	list("ClusterCIDRs", d.ClusterCIDRs)
	list("ServiceCIDRs", d.ServiceCIDRs)
	if len(d.ClusterCIDRs) == 0 {
		if byNode(d.Mode) {
			bad.add("ClusterCIDRs", "", "missing")
		}
		return
	}
	for i, s := range d.Subnets {
		if s.IsValid() && !d.inCluster(s) {
			bad.add(fmt.Sprintf("Subnets[%d]", i), s.String(), "lies in none of ClusterCIDRs %v", d.ClusterCIDRs)
		}
	}
}

// inCluster reports whether all of p lies in a cluster CIDR.
func (d *Description) inCluster(p netip.Prefix) bool {
	return slices.ContainsFunc(d.ClusterCIDRs, func(c netip.Prefix) bool { return c.IsValid() && ipam.Covers(c, p) })
}

// checkNode checks the node's addresses. Only on L2Tunnel and Transparent are
// pods and nodes on one network.
func (d *Description) checkNode(bad *faults) {
	apart := d.Mode != modes.L2Tunnel && d.Mode != modes.Transparent
	families := map[bool]bool{}
	for i, a := range d.NodeAddresses {
		at := fmt.Sprintf("NodeAddresses[%d]", i)
		if !unicast(a) {
			bad.add(at, addrText(a), "not a plain unicast address of a node")
			continue
		}
		if families[a.Is4()] {
			bad.add(at, a.String(), "second address of its family")
		}
		families[a.Is4()] = true
		holds := func(p netip.Prefix) bool { return p.IsValid() && p.Bits() > 0 && p.Contains(a) }
		switch {
		case slices.ContainsFunc(d.ServiceCIDRs, holds):
			bad.add(at, a.String(), "lies in a service CIDR")
		case apart && slices.ContainsFunc(d.ClusterCIDRs, holds):
			bad.add(at, a.String(), "lies in a cluster CIDR: what is sent to it would be led to pods")
		case apart && slices.ContainsFunc(d.Subnets, holds):
			bad.add(at, a.String(), "lies in a pod subnet")
		}
	}
	if byNode(d.Mode) && !families[true] {
		bad.add("NodeAddresses", "", "no IPv4 address")
	}
	v6 := func(s netip.Prefix) bool { return s.IsValid() && !s.Addr().Is4() }
	if d.Mode == modes.L2Bridge && !families[false] && slices.ContainsFunc(d.Subnets, v6) {
		bad.add("NodeAddresses", "", "no IPv6 address, at which the other nodes lead to the IPv6 pod subnet")
	}
}

// unicast reports whether a can be the address of a node.
func unicast(a netip.Addr) bool {
	return a.IsValid() && a.Zone() == "" && !a.Is4In6() && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback() && !a.IsLinkLocalUnicast() &&
		a != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// checkVXLAN holds what Linux nodes do against what this node does.
func (d *Description) checkVXLAN(bad *faults) {
	if d.Mode != modes.Overlay {
		if d.Linux != nil {
			bad.add("Linux", "", "the Linux nodes wrap packets in VXLAN, and mode %s does not", d.Mode)
		}
		if d.SourceVIP.IsValid() {
			bad.unsupported(d.Mode, "SourceVIP", d.SourceVIP.String(), "kube-proxy sends from the node's address")
		}
		return
	}
	if d.VNI > MaxRemoteVNI && d.VNI <= hns.MaxVNI {
		bad.add("VNI", fmt.Sprint(d.VNI), "no other node could be reached: remote routes are known to hold a VNI of up to %d", MaxRemoteVNI)
	}
	if d.Linux == nil {
		return
	}
	vni, port, note := d.Linux.VNI, d.Linux.Port, ""
	if vni == 0 {
		vni, note = flannelLinuxVNI, " (flannel's default on Linux)"
	}
	if vni != d.VNI {
		bad.add("Linux.VNI", fmt.Sprint(vni), "differs from this node's VNI %d%s; set both to one of %d to %d", d.VNI, note, hns.MinVNI, MaxRemoteVNI)
	}
	note = ""
	if port == 0 {
		port, note = flannelLinuxPort, " (flannel's default on Linux)"
	}
	if port != d.VXLANPort {
		bad.add("Linux.Port", fmt.Sprint(port), "differs from this node's port %d%s; port %d works on every Windows", d.VXLANPort, note, modes.DefaultVXLANPort)
	}
}

func (d *Description) checkMasquerade(bad *faults) {
	switch {
	case d.Mode == modes.Transparent && d.IPMasq:
		bad.unsupported(d.Mode, "IPMasq", "true", "HNS changes no packets; a router or the SDN controller translates addresses")
	case d.Mode == modes.NAT && !d.IPMasq:
		bad.unsupported(d.Mode, "IPMasq", "false", "WinNAT translates all that leaves the node")
	}
	for i, p := range d.NATExceptions {
		at := fmt.Sprintf("NATExceptions[%d]", i)
		switch {
		case !p.IsValid() || p.Addr().Is4In6():
			bad.add(at, "", "not a prefix such as 10.0.0.0/16")
		case d.Mode == modes.NAT || d.Mode == modes.Transparent:
			bad.unsupported(d.Mode, at, p.String(), "there are no exceptions")
		case !d.IPMasq:
			bad.add(at, p.String(), "without IPMasq there is nothing to be an exception from")
		case p != p.Masked():
			bad.add(at, p.String(), "has host bits; the prefix is %s", p.Masked())
		}
	}
}

func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// all takes the error of a planner apart whose paths are those of a
// Description too.
func (f *faults) all(err error) {
	if err == nil {
		return
	}
	var list interface{ Unwrap() []error }
	if errors.As(err, &list) {
		*f = append(*f, list.Unwrap()...)
		return
	}
	*f = append(*f, err)
}
