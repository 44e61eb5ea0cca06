package subnetenv

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// The keys that flanneld writes, in its order.
const (
	KeyNetwork     = "FLANNEL_NETWORK"
	KeySubnet      = "FLANNEL_SUBNET"
	KeyIPv6Network = "FLANNEL_IPV6_NETWORK"
	KeyIPv6Subnet  = "FLANNEL_IPV6_SUBNET"
	KeyMTU         = "FLANNEL_MTU"
	KeyIPMasq      = "FLANNEL_IPMASQ"
)

var keys = []string{KeyNetwork, KeySubnet, KeyIPv6Network, KeyIPv6Subnet, KeyMTU, KeyIPMasq}

const (
	minMTU     = 68 // RFC 791
	minIPv6MTU = 1280
	maxMTU     = 65535
)

// Env is the content of a subnet.env. The zero value is not valid: at least one
// family and the MTU must be set.
type Env struct {
	// Networks are the IPv4 networks of the whole cluster (FLANNEL_NETWORK):
	// masked, in the file's order, without repeats. Today's flanneld writes one.
	// Nil if the cluster has no IPv4.
	Networks []netip.Prefix

	// Subnet is this node's part of Networks (FLANNEL_SUBNET) as written:
	// flanneld writes the first usable address with the length, 10.244.1.1/24.
	// MaskedSubnet has it without host bits. Zero if there is no IPv4.
	Subnet netip.Prefix

	// IPv6Networks and IPv6Subnet are the same for IPv6.
	IPv6Networks []netip.Prefix
	IPv6Subnet   netip.Prefix

	// MTU of the pods' interfaces in bytes (FLANNEL_MTU). flanneld has already
	// taken off what its encapsulation needs.
	MTU int

	// IPMasq says whether traffic that leaves the pods' networks gets the node's
	// address (FLANNEL_IPMASQ). On Linux flanneld does that itself when it is
	// true; on Windows it is left to the CNI plugin.
	IPMasq bool

	// Extra are the keys that are not flannel's, in the file's order.
	Extra []Pair
}

// Pair is a key and its value, without quotes.
type Pair struct {
	Key, Value string
}

// HasIPv4 reports whether the node has an IPv4 subnet and knows the network it
// is part of.
func (e *Env) HasIPv4() bool { return len(e.Networks) > 0 && e.Subnet.IsValid() }

// HasIPv6 is HasIPv4 for IPv6.
func (e *Env) HasIPv6() bool { return len(e.IPv6Networks) > 0 && e.IPv6Subnet.IsValid() }

// MaskedSubnet returns Subnet without host bits, 10.244.1.0/24 for 10.244.1.1/24;
// the zero prefix if there is none.
func (e *Env) MaskedSubnet() netip.Prefix { return e.Subnet.Masked() }

// MaskedIPv6Subnet is MaskedSubnet for IPv6.
func (e *Env) MaskedIPv6Subnet() netip.Prefix { return e.IPv6Subnet.Masked() }

// Validate reports everything about e that Parse would not accept in a file, or
// that Format could not write, as a *ParseError without path and lines. What is
// missing matches ErrNotReady, as it does for a file.
func (e *Env) Validate() error {
	var ps []Problem
	ps = append(ps, unformed(KeyNetwork, e.Networks, false)...)
	ps = append(ps, unformed(KeyIPv6Network, e.IPv6Networks, true)...)
	if e.Subnet.IsValid() {
		ps = appendReason(ps, KeySubnet, e.Subnet.String(), refusePrefix(e.Subnet, false))
	}
	if e.IPv6Subnet.IsValid() {
		ps = appendReason(ps, KeyIPv6Subnet, e.IPv6Subnet.String(), refusePrefix(e.IPv6Subnet, true))
	}
	for _, p := range e.Extra {
		ps = appendReason(ps, p.Key, p.Value, refusePair(p))
	}
	for _, p := range e.problems() {
		if !mentions(ps, p.Key) {
			ps = append(ps, p)
		}
	}
	if len(ps) == 0 {
		return nil
	}
	return &ParseError{Problems: ps}
}

// problems checks the values against each other. It takes single values for
// well-formed and a zero field for a missing key.
func (e *Env) problems() []Problem {
	var ps []Problem
	missing := func(key, reason string) {
		ps = append(ps, Problem{Key: key, Reason: reason, Retry: true})
	}
	v4, v6 := len(e.Networks) > 0, len(e.IPv6Networks) > 0
	if !v4 && !e.Subnet.IsValid() && !v6 && !e.IPv6Subnet.IsValid() {
		missing(KeyNetwork, "missing (and no "+KeyIPv6Network+")")
		missing(KeySubnet, "missing (and no "+KeyIPv6Subnet+")")
	}
	family := func(networkKey, subnetKey string, networks []netip.Prefix, subnet netip.Prefix) {
		switch has := len(networks) > 0; {
		case has && !subnet.IsValid():
			missing(subnetKey, "missing, though "+networkKey+" is there")
		case !has && subnet.IsValid():
			missing(networkKey, "missing, though "+subnetKey+" is there")
		case has && !slices.ContainsFunc(networks, func(n netip.Prefix) bool { return within(subnet, n) }):
			ps = append(ps, Problem{Key: subnetKey, Value: subnet.String(),
				Reason: fmt.Sprintf("lies in none of the networks of %s (%s)", networkKey, joinPrefixes(networks))})
		}
	}
	family(KeyNetwork, KeySubnet, e.Networks, e.Subnet)
	family(KeyIPv6Network, KeyIPv6Subnet, e.IPv6Networks, e.IPv6Subnet)

	if e.MTU == 0 {
		missing(KeyMTU, "missing")
	} else {
		ps = appendReason(ps, KeyMTU, strconv.Itoa(e.MTU), refuseMTU(e.MTU, v6 || e.IPv6Subnet.IsValid()))
	}
	return ps
}

// refuseMTU says why n is no MTU for pods, that have an IPv6 address if v6.
func refuseMTU(n int, v6 bool) string {
	switch {
	case n < minMTU || n > maxMTU:
		return fmt.Sprintf("is not in %d to %d", minMTU, maxMTU)
	case v6 && n < minIPv6MTU:
		return fmt.Sprintf("is below %d, the least IPv6 can use", minIPv6MTU)
	}
	return ""
}

// within reports whether all of subnet lies in network.
func within(subnet, network netip.Prefix) bool {
	return subnet.Bits() >= network.Bits() && network.Contains(subnet.Addr())
}

// unformed finds networks that Parse could not have made.
func unformed(key string, networks []netip.Prefix, v6 bool) []Problem {
	var ps []Problem
	for i, n := range networks {
		reason := refusePrefix(n, v6)
		switch {
		case reason != "":
		case n != n.Masked():
			reason = "has host bits set"
		case slices.Contains(networks[:i], n):
			reason = "is listed twice"
		}
		ps = appendReason(ps, key, n.String(), reason)
	}
	return ps
}

// refusePair says why Format could not write p so that Parse gets it back.
func refusePair(p Pair) string {
	switch {
	case slices.Contains(keys, p.Key):
		return "has a field of its own"
	case !isKey(p.Key):
		return "is not a variable name"
	case strings.ContainsAny(p.Value, "\n\x00"):
		return "holds a line end or a NUL"
	case !isPlain(p.Value) && strings.Contains(p.Value, "'") && strings.Contains(p.Value, `"`):
		return "needs quotes but holds both kinds"
	}
	return ""
}

// appendReason appends a final problem if reason says there is one.
func appendReason(ps []Problem, key, value, reason string) []Problem {
	if reason == "" {
		return ps
	}
	return append(ps, Problem{Key: key, Value: value, Reason: reason})
}

func mentions(ps []Problem, key string) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Key == key })
}
