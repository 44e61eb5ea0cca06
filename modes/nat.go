package modes

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// NATIntent asks for source NAT: what leaves the pod gets the node's address
// (policy OutBoundNAT), except to some destinations. TCP and UDP only; HNS does
// not translate ICMP.
type NATIntent struct {
	// Exceptions are the destinations that see the pod's own address: all
	// cluster CIDRs, the service CIDR, others. Host bits are cleared,
	// duplicates left out, the order kept. Exceptions of a family that the
	// endpoint lacks have no effect and are not sent. With no IPv4 exception
	// everything is translated; IPv6 is translated only if there is an
	// exception for it.
	Exceptions []netip.Prefix
}

// Warnings returns what is legal but seldom meant, with paths such as
// "Exceptions[2]": a prefix that holds all addresses switches NAT off, and one
// that holds the node's subnet shows pod addresses to hosts there, which need
// a route back to them. nodes are the subnets of the node's adapters.
func (n NATIntent) Warnings(nodes ...netip.Prefix) []*hns.FieldError {
	var out []*hns.FieldError
	for i, p := range n.Exceptions {
		warn := func(format string, args ...any) {
			out = append(out, &hns.FieldError{Path: fmt.Sprintf("Exceptions[%d]", i), Value: p.String(), Reason: fmt.Sprintf(format, args...)})
		}
		if p.IsValid() && p.Bits() == 0 {
			warn("holds every address, so nothing is translated")
			continue
		}
		for _, node := range nodes {
			if node.IsValid() && p.Overlaps(node) && p.Bits() <= node.Bits() {
				warn("holds the node's subnet %s: hosts there see pod addresses and need a route back", node.Masked())
			}
		}
	}
	return out
}

// Exceptions joins lists of prefixes into one: host bits cleared, each prefix
// once, in the order of the input. Nested prefixes stay. Invalid prefixes stay
// too, for the planner to complain about.
func Exceptions(lists ...[]netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for _, l := range lists {
		for _, p := range l {
			if p.IsValid() {
				p = p.Masked()
			}
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// LoopbackDSR returns the policies that let a pod reach itself through a
// service ("loopback DSR"): an OutBoundNAT whose destination is the pod's own
// address, one for each address. With addresses that HNS chose it can be added
// only when the endpoint is there. It needs [hns.FeatureDSR]; older builds used
// up ports for it (containernetworking/plugins#613).
func LoopbackDSR(addrs ...netip.Addr) []hns.EndpointPolicy {
	var out []hns.EndpointPolicy
	for _, a := range addrs {
		if a.IsValid() {
			out = append(out, hns.OutBoundNAT{Destinations: []string{a.String()}, Flags: natFlags(a.Is4())})
		}
	}
	return out
}

func natFlags(v4 bool) hns.NATFlags {
	if v4 {
		return 0
	}
	return hns.NATIPv6
}

// addNAT puts exceptions of one family into the first of the policies that is
// for the same thing, or else a policy of its own at the end. Windows has been
// seen to take two such policies, but which exceptions then hold is not known.
func addNAT(ps []hns.EndpointPolicy, v4 bool, exceptions []netip.Prefix) []hns.EndpointPolicy {
	for i, p := range ps {
		if nat, ok := asOutBoundNAT(p); ok && isExceptionsOnly(nat) && nat.Flags&hns.NATIPv6 == natFlags(v4) {
			nat.Exceptions = mergeExceptions(nat.Exceptions, exceptions)
			ps[i] = nat
			return ps
		}
	}
	return append(ps, hns.OutBoundNAT{Exceptions: mergeExceptions(nil, exceptions), Flags: natFlags(v4)})
}

// isExceptionsOnly tells source NAT to the node's address from the two other
// uses of the type: NAT to a given address, and loopback DSR.
func isExceptionsOnly(p hns.OutBoundNAT) bool {
	return !p.VirtualIP.IsValid() && len(p.Destinations) == 0
}

// asOutBoundNAT returns p as an OutBoundNAT; so too a raw policy of that type,
// unless its settings hold what the struct could not give back.
func asOutBoundNAT(p hns.EndpointPolicy) (hns.OutBoundNAT, bool) {
	if raw, ok := p.(hns.RawPolicy); ok && strings.EqualFold(raw.Type, hns.OutBoundNAT{}.PolicyType()) {
		if doc, err := json.Marshal(raw); err == nil { // its fields are those of the document
			if typed, err := hns.DecodeEndpointPolicy(doc); err == nil {
				p = typed
			}
		}
	}
	nat, ok := p.(hns.OutBoundNAT)
	return nat, ok
}

// mergeExceptions appends the prefixes that are not there yet, written one way
// or another. What is there stays as it is.
func mergeExceptions(have []string, add []netip.Prefix) []string {
	out := slices.Clone(have)
	var seen []netip.Prefix
	for _, s := range have {
		if p, err := netip.ParsePrefix(s); err == nil {
			seen = append(seen, p.Masked())
		} else if a, err := netip.ParseAddr(s); err == nil {
			seen = append(seen, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	for _, p := range Exceptions(add) {
		if !slices.Contains(seen, p) {
			out = append(out, p.String())
		}
	}
	return out
}
