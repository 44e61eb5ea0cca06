package emulator

import (
	"encoding/json"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// poolSize is the number of addresses of the pool that HNS makes when a
// network asks for none: 00-15-5D-hh-h0-00 to 00-15-5D-hh-hF-FF.
const poolSize = 0x1000

// microsoftOUI is the first half of every MAC address that HNS makes.
const microsoftOUI = 0x00155d

func macNumber(m hns.MAC) (n uint64) {
	for _, b := range m {
		n = n<<8 | uint64(b)
	}
	return n
}

func macFrom(n uint64) (m hns.MAC) {
	for i := len(m) - 1; i >= 0; i-- {
		m[i] = byte(n)
		n >>= 8
	}
	return m
}

// readPool reads MacPool of a new network. An empty pool is no pool.
func readPool(ranges []reader) ([]macRange, error) {
	var out []macRange
	for _, r := range ranges {
		start, errStart := hns.ParseMAC(r.str("StartMacAddress"))
		end, errEnd := hns.ParseMAC(r.str("EndMacAddress"))
		if errStart != nil || errEnd != nil || macNumber(end) < macNumber(start) {
			return nil, failure(hns.CodeInvalidParameter)
		}
		out = append(out, macRange{macNumber(start), macNumber(end)})
	}
	return out, nil
}

// newPool returns a pool that no other network of the store has, as long as
// one is easily found.
func (tx *tx) newPool() macRange {
	var r macRange
	for range 64 {
		start := microsoftOUI<<24 | tx.random(12)<<12
		r = macRange{start, start + poolSize - 1}
		if !tx.poolTaken(r) {
			break
		}
	}
	return r
}

func (tx *tx) poolTaken(r macRange) bool {
	for _, n := range tx.networks {
		for _, m := range n.macs {
			if r.start <= m.end && m.start <= r.end {
				return true
			}
		}
	}
	return false
}

func renderPool(rs []macRange) json.RawMessage {
	elems := make([]json.RawMessage, len(rs))
	for i, r := range rs {
		elems[i] = r.render().bytes()
	}
	return list(elems)
}

func (r macRange) render() object {
	return object{
		{"StartMacAddress", quote(macFrom(r.start).String())},
		{"EndMacAddress", quote(macFrom(r.end).String())},
	}
}

// nextMAC returns the lowest free address of the network's pool.
func (tx *tx) nextMAC(n *network) (hns.MAC, error) {
	for i, r := range n.macs {
		if n.internal() && i == len(n.macs)-1 && r.end > r.start {
			r.end-- // the vNIC of the host
		}
		off, ok := tx.freelist(freeKey{n.id, true, i, 0}).lowest(r.end-r.start, func(off uint64) bool {
			m := macFrom(r.start + off)
			return m.IsZero() || len(tx.byMAC[macKey{n.id, m}]) > 0
		})
		if ok {
			return macFrom(r.start + off), nil
		}
	}
	if len(n.macs) == 0 { // a network of a dump may lack the pool
		return macFrom(microsoftOUI<<24 | tx.random(24)), nil
	}
	return hns.MAC{}, failure(tx.opts.subnetFullCode())
}

// readMAC reads the MAC address a document gives. HNS takes dashes and colons
// and refuses the form without separators.
func readMAC(s string) (hns.MAC, error) {
	if strings.TrimSpace(s) == "" {
		return hns.MAC{}, nil
	}
	m, err := hns.ParseMAC(s)
	if err != nil {
		return hns.MAC{}, failure(hns.CodeInvalidParameter)
	}
	return m, nil
}
