package flows

import (
	"net/netip"
	"slices"
)

// prefixMap finds the longest prefix that holds an address. A look-up costs
// one map access for each length that there is, of which there are few,
// however many prefixes there are.
type prefixMap[T any] struct {
	byPrefix map[netip.Prefix]T
	v4, v6   []int // the lengths there are, longest first
}

// add puts p in unless it is there: the first wins, as in a list. It reports
// whether p was put in.
func (m *prefixMap[T]) add(p netip.Prefix, v T) bool {
	if !p.IsValid() {
		return false
	}
	p = p.Masked()
	if m.byPrefix == nil {
		m.byPrefix = map[netip.Prefix]T{}
	}
	if _, ok := m.byPrefix[p]; ok {
		return false
	}
	m.byPrefix[p] = v
	lengths := &m.v6
	if p.Addr().Is4() {
		lengths = &m.v4
	}
	if !slices.Contains(*lengths, p.Bits()) {
		*lengths = append(*lengths, p.Bits())
		slices.SortFunc(*lengths, func(a, b int) int { return b - a })
	}
	return true
}

// find returns the value of the longest prefix that holds a. looked counts the
// look-ups.
func (m *prefixMap[T]) find(a netip.Addr, looked *int) (T, netip.Prefix, bool) {
	lengths := m.v6
	if a.Is4() {
		lengths = m.v4
	}
	for _, n := range lengths {
		*looked++
		p, err := a.Prefix(n)
		if err != nil {
			break
		}
		if v, ok := m.byPrefix[p]; ok {
			return v, p, true
		}
	}
	var none T
	return none, netip.Prefix{}, false
}
