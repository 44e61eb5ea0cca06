package emuopen

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// ParseAdapters reads adapters from the text of a variable: a name, "=", the
// addresses with their prefix lengths and commas between, and a semicolon between
// adapters, as in
//
//	Ethernet=192.0.2.11/24,2001:db8::11/64;Ethernet 2=198.51.100.11/24
//
// An adapter may have no address. The empty text is nil. Adapters have the MAC
// address 00-15-5D and the last three bytes of their first IPv4 address, so that
// nodes with addresses of their own have MAC addresses of their own.
func ParseAdapters(text string) ([]emulator.Adapter, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var out []emulator.Adapter
	for item := range strings.SplitSeq(text, ";") {
		a, err := parseAdapter(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(b emulator.Adapter) bool { return strings.EqualFold(a.Name, b.Name) }) {
			return nil, fmt.Errorf("adapter %q: there are two of that name", a.Name)
		}
		a.MAC = macOf(a, len(out))
		out = append(out, a)
	}
	return out, nil
}

func parseAdapter(item string) (emulator.Adapter, error) {
	name, addresses, ok := strings.Cut(item, "=")
	a := emulator.Adapter{Name: strings.TrimSpace(name)}
	if !ok || a.Name == "" {
		return a, fmt.Errorf("%q is not an adapter such as Ethernet=192.0.2.11/24", item)
	}
	if strings.TrimSpace(addresses) == "" {
		return a, nil
	}
	for part := range strings.SplitSeq(addresses, ",") {
		part = strings.TrimSpace(part)
		p, err := netip.ParsePrefix(part)
		if err != nil {
			return a, fmt.Errorf("adapter %q: %q is not an address with a prefix length, such as 192.0.2.11/24", a.Name, part)
		}
		a.Addresses = append(a.Addresses, p)
	}
	return a, nil
}

// macOf makes the MAC address of the nth adapter.
func macOf(a emulator.Adapter, n int) hns.MAC {
	for _, p := range a.Addresses {
		if p.Addr().Is4() {
			b := p.Addr().As4()
			return hns.MAC{0x00, 0x15, 0x5d, b[1], b[2], b[3]}
		}
	}
	return hns.MAC{0x00, 0x15, 0x5d, 0xff, 0xff, byte(n)}
}
