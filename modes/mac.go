package modes

import (
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// DefaultMACPrefix is how the MAC addresses of Overlay pods begin unless the
// configuration says otherwise (win-overlay: endpointMacPrefix; flannel:
// MacPrefix).
const DefaultMACPrefix = "0E-2A"

// EndpointMAC returns the MAC address of an Overlay pod: two bytes of prefix,
// then the four bytes of its IPv4 address. All nodes of the network derive it
// alike, so a pod's MAC follows from its address. Two networks with the same
// pod range have the same MACs; their VNIs keep them apart.
//
// The prefix has the form "0E-2A", in either letter case; empty is
// [DefaultMACPrefix]. It must be hex, and no multicast address (an odd first
// byte). A prefix without the locally administered bit (2 of the first byte)
// is taken, since configurations with one are in use, though it may meet the
// MAC of real hardware. Errors are *[hns.FieldError]s.
func EndpointMAC(prefix string, a netip.Addr) (hns.MAC, error) {
	m, err := macPrefix(prefix)
	if err != nil {
		return hns.MAC{}, err
	}
	if !a.Is4() || a.IsUnspecified() {
		return hns.MAC{}, &hns.FieldError{Value: addrText(a), Reason: "a MAC address is made from the IPv4 address of an endpoint"}
	}
	v4 := a.As4()
	copy(m[2:], v4[:])
	return m, nil
}

// macPrefix returns a MAC with its first two bytes set.
func macPrefix(s string) (hns.MAC, error) {
	if s == "" {
		s = DefaultMACPrefix
	}
	// What is no "xx-xx" fails with this tail: the length or a dash is wrong.
	m, err := hns.ParseMAC(s + "-00-00-00-00")
	if err != nil {
		return hns.MAC{}, &hns.FieldError{Value: s, Reason: "not a MAC prefix such as " + DefaultMACPrefix}
	}
	if isMulticast(m) {
		return hns.MAC{}, &hns.FieldError{Value: s, Reason: "begins " + multicastMAC}
	}
	return m, nil
}

func isMulticast(m hns.MAC) bool { return m[0]&1 != 0 }

const multicastMAC = "a multicast address (its first byte is odd); an endpoint needs a unicast one"

func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
