package subnetenv

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// values reads the entries into an Env. A value that cannot be read becomes a
// problem and leaves its field zero.
func (p *parser) values() *Env {
	return &Env{
		Networks:     p.networks(KeyNetwork, false),
		Subnet:       p.subnet(KeySubnet, false),
		IPv6Networks: p.networks(KeyIPv6Network, true),
		IPv6Subnet:   p.subnet(KeyIPv6Subnet, true),
		MTU:          p.mtu(),
		IPMasq:       p.ipMasq(),
		Extra:        p.extra,
	}
}

// fail records that the item, all or part of en's value, is wrong.
func (p *parser) fail(key string, en entry, item, reason string) {
	p.problems = append(p.problems, Problem{Line: en.line, Key: key, Value: item, Reason: reason, Retry: en.torn})
}

func (p *parser) networks(key string, v6 bool) []netip.Prefix {
	en, ok := p.entries[key]
	if !ok {
		return nil
	}
	var list []netip.Prefix
	bad := false
	for i, item := range strings.Split(en.value, ",") {
		item = strings.TrimSpace(item)
		prefix, reason := parsePrefix(item, v6)
		if item == "" && en.value != "" {
			reason = "has nothing as item " + strconv.Itoa(i+1) + " of the list"
		}
		if reason != "" {
			p.fail(key, en, item, reason)
			bad = true
			continue
		}
		if prefix = prefix.Masked(); !slices.Contains(list, prefix) {
			list = append(list, prefix)
		}
	}
	if bad {
		// Half a list must not be used to judge the subnet.
		return nil
	}
	return list
}

func (p *parser) subnet(key string, v6 bool) netip.Prefix {
	en, ok := p.entries[key]
	if !ok {
		return netip.Prefix{}
	}
	prefix, reason := parsePrefix(en.value, v6)
	if reason != "" {
		p.fail(key, en, en.value, reason)
		return netip.Prefix{}
	}
	return prefix
}

func (p *parser) mtu() int {
	en, ok := p.entries[KeyMTU]
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(en.value)
	var reason string
	switch {
	case en.value == "":
		reason = "has no value"
	case strings.Trim(en.value, "0123456789") != "": // Atoi takes signs
		reason = "is not a decimal number"
	case err != nil: // more digits than an int has
		reason = refuseMTU(maxMTU+1, false)
	default:
		reason = refuseMTU(n, false) // IPv6 is judged later, with all else known
	}
	if reason != "" {
		p.fail(KeyMTU, en, en.value, reason)
		return 0
	}
	return n
}

func (p *parser) ipMasq() bool {
	en, ok := p.entries[KeyIPMasq]
	if !ok {
		return false
	}
	// Not strconv.ParseBool: it takes "t", which is also the start of a "true"
	// that is being written.
	switch strings.ToLower(en.value) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	case "":
		p.fail(KeyIPMasq, en, "", "has no value")
	default:
		p.fail(KeyIPMasq, en, en.value, "is neither true nor false")
	}
	return false
}

// parsePrefix reads an address with a length; reason says why it will not do.
func parsePrefix(s string, v6 bool) (prefix netip.Prefix, reason string) {
	if s == "" {
		return netip.Prefix{}, "has no value"
	}
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		if _, addrErr := netip.ParseAddr(s); addrErr == nil {
			return netip.Prefix{}, "has no prefix length, such as /24"
		}
		if v6 {
			return netip.Prefix{}, "is not a prefix such as fd00:10:244::/56"
		}
		return netip.Prefix{}, "is not a prefix such as 10.244.0.0/16"
	}
	return prefix, refusePrefix(prefix, v6)
}

// refusePrefix says why a prefix cannot be a network or a subnet of its family.
func refusePrefix(p netip.Prefix, v6 bool) string {
	switch {
	case !p.IsValid():
		return "is not a prefix"
	case p.Addr().Is4In6():
		return "is an IPv4 address in IPv6 form"
	case v6 && p.Addr().Is4():
		return "is IPv4 under a key for IPv6"
	case !v6 && p.Addr().Is6():
		return "is IPv6 under a key for IPv4"
	case p.Bits() == 0:
		return "covers every address"
	}
	return ""
}

func joinPrefixes(ps []netip.Prefix) string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.String())
	}
	return b.String()
}
