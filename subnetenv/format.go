package subnetenv

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
)

// Format writes e as flanneld does: its keys in its order, one per line, without
// quotes, LF line ends; a family that is not there is left out. Extra follows,
// quoted where needed.
//
// Parse reads it back to an equal Env if e.Validate finds nothing; for other
// values of e the result is not a valid file.
func Format(e *Env) []byte {
	var b bytes.Buffer
	family := func(networkKey, subnetKey string, networks []netip.Prefix, subnet netip.Prefix) {
		if len(networks) > 0 {
			fmt.Fprintf(&b, "%s=%s\n", networkKey, joinPrefixes(networks))
		}
		if subnet.IsValid() {
			fmt.Fprintf(&b, "%s=%s\n", subnetKey, subnet)
		}
	}
	family(KeyNetwork, KeySubnet, e.Networks, e.Subnet)
	family(KeyIPv6Network, KeyIPv6Subnet, e.IPv6Networks, e.IPv6Subnet)
	fmt.Fprintf(&b, "%s=%d\n%s=%t\n", KeyMTU, e.MTU, KeyIPMasq, e.IPMasq)
	for _, p := range e.Extra {
		fmt.Fprintf(&b, "%s=%s\n", p.Key, quote(p.Value))
	}
	return b.Bytes()
}

// quote puts a value into quotes if it would not survive without. Single quotes
// are tried first: a shell that sources the file changes nothing within them.
func quote(v string) string {
	switch {
	case isPlain(v):
		return v
	case !strings.Contains(v, "'"):
		return "'" + v + "'"
	}
	return `"` + v + `"`
}

// isPlain reports whether v needs no quotes to be read back by Parse.
func isPlain(v string) bool {
	return strings.TrimSpace(v) == v && commentAt(v) < 0 && !strings.HasPrefix(v, "'") && !strings.HasPrefix(v, `"`)
}
