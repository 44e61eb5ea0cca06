package modes

import (
	"fmt"

	"github.com/hnskit/hnskit/hns"
)

// The bounds of an MTU on Windows: the SDK's IPV4_MINIMUM_MTU, RFC 8200, and
// the width of the field in the HNS schema (InterfaceParameters).
const (
	MinMTU     = 576
	MinIPv6MTU = 1280
	MaxMTU     = 65535
)

// MTU returns the MTU of pods on a link with that MTU, in bytes: the link's
// less what the mode adds to a packet ([Facts.MTUOverhead]). ipv6 is whether
// pods have IPv6, which needs [MinIPv6MTU].
//
// On Transparent nothing is added by HNS. An SDN controller that wraps packets
// takes its own part: give the link's MTU less that. Errors, for a link that is
// too small or too large and for what is no mode, are *[hns.FieldError]s; IPv6 on
// a mode that carries none is an *[UnsupportedError].
func (m Mode) MTU(link int, ipv6 bool) (int, error) {
	if _, err := ParseMode(string(m)); err != nil {
		return 0, err
	}
	overhead, least := m.Facts().MTUOverhead, MinMTU
	if ipv6 {
		if !m.Facts().IPv6 {
			return 0, &UnsupportedError{Path: "IPv6", Mode: m, Reason: "carries IPv4 only"}
		}
		least = MinIPv6MTU
	}
	bad := func(format string, args ...any) (int, error) {
		return 0, &hns.FieldError{Path: "MTU", Value: fmt.Sprint(link), Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case link > MaxMTU:
		return bad("larger than %d", MaxMTU)
	case link < least+overhead:
		return bad("too small for mode %s: pods need %d bytes, and %d are taken by the mode", m, least, overhead)
	}
	return link - overhead, nil
}
