package emulator

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// parseAddress reads an address as HNS does: no zone, no IPv4 inside IPv6.
func parseAddress(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a, err == nil && a.Zone() == "" && !a.Is4In6()
}

// parsePrefixOrAddress reads a prefix, or an address as the prefix of it
// alone; hostBits reports bits set behind the prefix.
func parsePrefixOrAddress(s string) (p netip.Prefix, hostBits, ok bool) {
	if a, ok := parseAddress(s); ok {
		return netip.PrefixFrom(a, a.BitLen()), false, true
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, false, false
	}
	return p, p != p.Masked(), true
}

// offset returns how far a lies above the base address of p. ok is false
// outside the prefix, and beyond the first 2^64 addresses of a large one.
func offset(p netip.Prefix, a netip.Addr) (n uint64, ok bool) {
	if !p.Contains(a) {
		return 0, false
	}
	base, addr := p.Masked().Addr().As16(), a.As16()
	lo, borrow := bits.Sub64(binary.BigEndian.Uint64(addr[8:]), binary.BigEndian.Uint64(base[8:]), 0)
	hi, _ := bits.Sub64(binary.BigEndian.Uint64(addr[:8]), binary.BigEndian.Uint64(base[:8]), borrow)
	return lo, hi == 0
}

// at returns the address n above the base of p. n must lie in the prefix.
func at(p netip.Prefix, n uint64) netip.Addr {
	base := p.Masked().Addr()
	b := base.As16()
	lo, carry := bits.Add64(binary.BigEndian.Uint64(b[8:]), n, 0)
	hi, _ := bits.Add64(binary.BigEndian.Uint64(b[:8]), 0, carry)
	binary.BigEndian.PutUint64(b[8:], lo)
	binary.BigEndian.PutUint64(b[:8], hi)
	a := netip.AddrFrom16(b)
	if base.Is4() {
		a = a.Unmap()
	}
	return a
}

// last returns the offset of the highest address of p, as far as 64 bits go.
func last(p netip.Prefix) uint64 {
	host := p.Addr().BitLen() - p.Bits()
	if host >= 64 {
		return math.MaxUint64
	}
	return 1<<host - 1
}

// reserved reports whether HNS keeps an address of the subnet to itself: the
// network address, the gateway, and the broadcast address of IPv4. A prefix of
// one or two addresses has no network and no broadcast address.
func (s subnet) reserved(a netip.Addr) bool {
	if a == s.gateway && !s.freeGateway {
		return true
	}
	top := last(s.prefix)
	if top < 2 {
		return false
	}
	n, ok := offset(s.prefix, a)
	return ok && (n == 0 || n == top && a.Is4())
}

// subnetOf returns the subnet that holds the address.
func (n *network) subnetOf(a netip.Addr) (int, bool) {
	for i, s := range n.subnets {
		if s.prefix.Contains(a) {
			return i, true
		}
	}
	return 0, false
}

// checkAddress judges an address wanted for a new endpoint.
func (tx *tx) checkAddress(n *network, a netip.Addr, remote bool) error {
	if !remote && len(n.subnets) > 0 {
		i, ok := n.subnetOf(a)
		if !ok {
			return failure(hns.CodeInvalidIP)
		}
		if _, ok := n.subnets[i].blockOf(a); !ok {
			return failure(hns.CodeInvalidIP)
		}
		if n.subnets[i].reserved(a) && !tx.version.Less(reservedSince) {
			return failure(hns.CodeAddressInvalidOrReserved)
		}
	}
	for id := range tx.byAddress[addressKey{n.id, a}] {
		if tx.opts.RemoteAddressMayShadow && tx.endpoints[id].remote() != remote {
			continue
		}
		return failure(hns.CodeObjectAlreadyExists)
	}
	return nil
}

// allocate returns the lowest free address of the family in the first block of
// the network's subnets that has one, and its subnet. found is false when the family has no subnet.
func (tx *tx) allocate(n *network, v6 bool) (a netip.Addr, sub int, found bool, err error) {
	for i, s := range n.subnets {
		if s.prefix.Addr().Is6() != v6 {
			continue
		}
		found = true
		for j, b := range s.blocks {
			off, ok := tx.freelist(freeKey{n.id, false, i, j}).lowest(last(b.prefix), func(off uint64) bool {
				a := at(b.prefix, off)
				return s.reserved(a) || len(tx.byAddress[addressKey{n.id, a}]) > 0
			})
			if ok {
				return at(b.prefix, off), i, true, nil
			}
		}
	}
	if found {
		return a, 0, true, failure(tx.opts.subnetFullCode())
	}
	return a, 0, false, nil
}
