package ipam

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
)

// ErrOutsidePrefix is matched by the error for an address, or the number of an
// address, that the prefix does not have.
var ErrOutsidePrefix = errors.New("outside the prefix")

var errInvalidPrefix = errors.New("invalid prefix")

// plain returns p with an IPv4 prefix written in IPv6 form (::ffff:10.0.0.0/120)
// turned into the IPv4 prefix that it means.
func plain(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// sameForm returns a in the form that addresses of p have: IPv4 if p is IPv4.
func sameForm(p netip.Prefix, a netip.Addr) netip.Addr {
	if p.Addr().Is4() {
		return a.Unmap()
	}
	return a
}

// Network returns the first address of p, host bits cleared. It is the zero
// address if p is invalid.
func Network(p netip.Prefix) netip.Addr { return plain(p).Masked().Addr() }

// Last returns the last address of p: the broadcast address of an IPv4 subnet,
// an ordinary address in IPv6. It is the zero address if p is invalid.
func Last(p netip.Prefix) netip.Addr {
	p = plain(p)
	if !p.IsValid() {
		return netip.Addr{}
	}
	n := numberOf(p.Addr()).or(hostMask(p))
	return n.addr(p.Addr().Is4())
}

// Broadcast returns the broadcast address of p, and whether p has one: IPv6 has
// none, and neither have the IPv4 prefixes of length 31 (RFC 3021) and 32.
func Broadcast(p netip.Prefix) (netip.Addr, bool) {
	p = plain(p)
	if !p.IsValid() || !p.Addr().Is4() || p.Bits() > 30 {
		return netip.Addr{}, false
	}
	return Last(p), true
}

// Nth returns the address that stands n places after the network address of p;
// host bits of p are ignored. So Nth(10.50.3.64/26, 2) is 10.50.3.66. An n that p
// is too small for gives an error that matches [ErrOutsidePrefix], never an
// address of another subnet.
func Nth(p netip.Prefix, n uint64) (netip.Addr, error) {
	p = plain(p)
	if !p.IsValid() {
		return netip.Addr{}, fmt.Errorf("address %d of a prefix: %w", n, errInvalidPrefix)
	}
	if (uint128{lo: n}).cmp(hostMask(p)) > 0 {
		return netip.Addr{}, fmt.Errorf("address %d of %s: %w, which has %s", n, p.Masked(), ErrOutsidePrefix, Size(p))
	}
	// No carry can leave the prefix: n fits into the host bits.
	return numberOf(Network(p)).add(n).addr(p.Addr().Is4()), nil
}

// Offset is the inverse of [Nth]: how many places a stands after the network
// address of p. It fails, matching [ErrOutsidePrefix], if p does not hold a.
func Offset(p netip.Prefix, a netip.Addr) (*big.Int, error) {
	p = plain(p)
	a = sameForm(p, a)
	if !p.IsValid() {
		return nil, fmt.Errorf("place of %s in a prefix: %w", a, errInvalidPrefix)
	}
	if !p.Contains(a) {
		return nil, fmt.Errorf("place of %s in %s: %w", a, p.Masked(), ErrOutsidePrefix)
	}
	return numberOf(a).and(hostMask(p)).big(), nil
}

// Size returns how many addresses p has, the network and broadcast addresses
// included; 0 if p is invalid.
func Size(p netip.Prefix) *big.Int {
	p = plain(p)
	if !p.IsValid() {
		return new(big.Int)
	}
	return new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-p.Bits()))
}

// HasHostBits reports whether p's address has bits set beyond its length, as in
// 10.50.3.7/24. It is the form of an address with its subnet, and often a mistake
// where a subnet is wanted.
func HasHostBits(p netip.Prefix) bool {
	p = plain(p)
	return p.IsValid() && p != p.Masked()
}

// Covers reports whether every address of inner is one of outer. No prefix
// covers one of the other family, and an invalid prefix covers nothing and is
// not covered.
func Covers(outer, inner netip.Prefix) bool {
	outer, inner = plain(outer), plain(inner)
	return inner.IsValid() && outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// Overlaps reports whether a and b have an address in common. Invalid prefixes
// and prefixes of different families have none.
func Overlaps(a, b netip.Prefix) bool { return Covers(a, b) || Covers(b, a) }

// FirstOverlap looks for two prefixes in the list that share an address, such
// as the pools of two networks, and returns their places, i before j. ok is
// false if there are none.
func FirstOverlap(list []netip.Prefix) (i, j int, ok bool) {
	for j := range list {
		for i := range list[:j] {
			if Overlaps(list[i], list[j]) {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

// Canonical merges lists of prefixes into one that is sorted and in which each
// prefix stands once, with its host bits cleared. Prefixes inside others are
// kept: they were asked for. Invalid ones are left out.
func Canonical(lists ...[]netip.Prefix) []netip.Prefix {
	out := CanonicalInOrder(lists...)
	slices.SortFunc(out, comparePrefixes)
	return out
}

// CanonicalInOrder is [Canonical] without sorting: prefixes keep the order in
// which they first appear.
func CanonicalInOrder(lists ...[]netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	seen := map[netip.Prefix]bool{}
	for _, list := range lists {
		for _, p := range list {
			p = plain(p).Masked()
			if p.IsValid() && !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	return out
}

// comparePrefixes sorts by family, address and length.
func comparePrefixes(a, b netip.Prefix) int {
	if c := a.Addr().Compare(b.Addr()); c != 0 {
		return c
	}
	return a.Bits() - b.Bits()
}
