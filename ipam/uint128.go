package ipam

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"net/netip"
)

// uint128 is an address as a number. IPv4 addresses use the low 32 bits.
type uint128 struct{ hi, lo uint64 }

func numberOf(a netip.Addr) uint128 {
	if a.Is4() {
		b := a.As4()
		return uint128{lo: uint64(binary.BigEndian.Uint32(b[:]))}
	}
	b := a.As16()
	return uint128{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// addr is the inverse of numberOf. For IPv4 the number must fit into 32 bits.
func (n uint128) addr(is4 bool) netip.Addr {
	if is4 {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(n.lo))
		return netip.AddrFrom4(b)
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], n.hi)
	binary.BigEndian.PutUint64(b[8:], n.lo)
	return netip.AddrFrom16(b)
}

// hostMask has a one for each bit of an address that p leaves to hosts. It is
// also the number of p's last address, counted from its network address.
func hostMask(p netip.Prefix) uint128 {
	// Shifts by 64 and more give 0 in Go, so both halves come out right.
	host := uint(p.Addr().BitLen() - p.Bits())
	if host <= 64 {
		return uint128{lo: 1<<host - 1}
	}
	return uint128{1<<(host-64) - 1, ^uint64(0)}
}

func (n uint128) add(m uint64) uint128 {
	lo, carry := bits.Add64(n.lo, m, 0)
	return uint128{n.hi + carry, lo}
}

func (n uint128) or(m uint128) uint128  { return uint128{n.hi | m.hi, n.lo | m.lo} }
func (n uint128) and(m uint128) uint128 { return uint128{n.hi & m.hi, n.lo & m.lo} }

func (n uint128) cmp(m uint128) int {
	switch {
	case n.hi < m.hi || n.hi == m.hi && n.lo < m.lo:
		return -1
	case n == m:
		return 0
	}
	return 1
}

func (n uint128) big() *big.Int {
	b := new(big.Int).SetUint64(n.hi)
	return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(n.lo))
}
