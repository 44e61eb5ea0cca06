package ipam

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// HostLocalType is the value of ipam.type that names the host-local plugin.
const HostLocalType = "host-local"

// IsHostLocal reports whether an ipam.type names the host-local plugin. On Windows
// "host-local.exe" does so too.
func IsHostLocal(typ string) bool {
	return typ == HostLocalType || strings.EqualFold(typ, HostLocalType+".exe")
}

// HostLocal is the configuration of the host-local IPAM plugin: the ipam object
// of a network configuration, or what one is made from. A HostLocal encodes to
// JSON in the plugin's present form, all ranges under "ranges".
type HostLocal struct {
	// Type is the plugin's name, [HostLocalType] if empty.
	Type string
	// Sets are the range sets, in the plugin's order. A pod gets one address
	// from each. The older form, "subnet" beside "type", is the first set.
	Sets []RangeSet
	// Routes are copied into the plugin's result. Host bits of destinations are
	// cleared.
	Routes []Route
	// DataDir is where leases are kept, in a directory per network name; empty is
	// the plugin's default, /var/lib/cni/networks (on the current drive in Windows).
	DataDir string
	// ResolvConf is a file in the form of resolv.conf whose DNS settings are
	// copied into the result. Empty means none.
	ResolvConf string
	// Extra holds keys of the ipam object that host-local does not know.
	Extra map[string]json.RawMessage
}

// RangeSet is a list of ranges of one address family that do not overlap. The
// plugin takes an address from whichever has one free.
type RangeSet []Range

// Range is a run of addresses of a subnet.
type Range struct {
	// Subnet is required, without host bits, and no smaller than a /30 or /126.
	// Its length becomes the length of the pod's address.
	Subnet netip.Prefix
	// Start is the first address. Zero: the one after the network address.
	Start netip.Addr
	// End is the last address. Zero: the subnet's last one but, in IPv4, not the
	// broadcast address.
	End netip.Addr
	// Gateway is reported to the pod and never handed out by this range. Zero: the
	// address after the network address.
	Gateway netip.Addr
	// Extra holds keys that host-local does not know.
	Extra map[string]json.RawMessage
}

// First returns the first address of the range: Start or its default.
func (r Range) First() netip.Addr {
	if r.Start.IsValid() || !r.Subnet.IsValid() {
		return r.Start
	}
	return Network(r.Subnet).Next()
}

// Last returns the last address of the range: End or its default.
func (r Range) Last() netip.Addr {
	if r.End.IsValid() || !r.Subnet.IsValid() {
		return r.End
	}
	if r.Subnet.Addr().Is4() {
		return Last(r.Subnet).Prev()
	}
	return Last(r.Subnet)
}

// GatewayAddress returns Gateway or its default.
func (r Range) GatewayAddress() netip.Addr {
	if r.Gateway.IsValid() || !r.Subnet.IsValid() {
		return r.Gateway
	}
	return Network(r.Subnet).Next()
}

// String is the range as first and last address.
func (r Range) String() string { return fmt.Sprintf("%s-%s", r.First(), r.Last()) }

// contains reports whether a lies between the range's first and last address.
func (r Range) contains(a netip.Addr) bool {
	return a.BitLen() == r.First().BitLen() && r.First().Compare(a) <= 0 && a.Compare(r.Last()) <= 0
}

func (r Range) overlaps(o Range) bool {
	return r.contains(o.First()) || o.contains(r.First())
}

// ConfigError is a fault in a configuration.
type ConfigError struct {
	// Path leads to the faulty value, as in ipam.ranges[0][1].subnet.
	Path string
	// Value is the value as JSON, shortened; empty if it is missing.
	Value string
	// Err says what is wrong with it.
	Err error
}

func (e *ConfigError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s %s: %v", e.Path, e.Value, e.Err)
}

func (e *ConfigError) Unwrap() error { return e.Err }

// ParseHostLocal reads an ipam object whose type is host-local and checks it as
// the plugin would, and beyond: what the plugin would quietly ignore (a
// rangeStart without a subnet), loop over for ever (a rangeStart after the
// range's end) or choke on after it has reserved an address (a route without dst)
// is an error. All faults are reported at once, joined, each a [*ConfigError].
//
// Keys are matched ignoring case and empty addresses count as absent, as in the
// plugin.
func ParseHostLocal(ipam json.RawMessage) (*HostLocal, error) {
	p := &parser{}
	h := p.hostLocal("ipam", ipam)
	if h != nil && len(h.Sets) == 0 && len(p.errs) == 0 {
		p.fail("ipam", nil, errNoRanges)
	}
	p.checkSets()
	if err := errors.Join(p.errs...); err != nil {
		return nil, err
	}
	return h, nil
}

// Validate checks a HostLocal that was put together in a program by the rules of
// [ParseHostLocal].
func (h *HostLocal) Validate() error {
	p := &parser{}
	if h.Type != "" {
		p.checkType("ipam.type", h.Type, quote(h.Type))
	}
	p.checkExtra("ipam", h.Extra, ipamKeys)
	for i, set := range h.Sets {
		p.addSet(fmt.Sprintf("ipam.ranges[%d]", i), set)
	}
	if len(h.Sets) == 0 {
		p.fail("ipam", nil, errNoRanges)
	}
	for i, r := range h.Routes {
		p.checkRoute(fmt.Sprintf("ipam.routes[%d]", i), r)
	}
	p.checkSets()
	return errors.Join(p.errs...)
}

// MarshalJSON writes the configuration, after checking it, with the plugin's
// keys first and the others sorted.
func (h *HostLocal) MarshalJSON() ([]byte, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	typ := h.Type
	if typ == "" {
		typ = HostLocalType
	}
	obj := object{{key: "type", value: quote(typ)}, {key: "ranges", value: rangesText(h.Sets)}}
	if len(h.Routes) > 0 {
		routes, err := json.Marshal(cniRoutes(h.Routes))
		if err != nil {
			return nil, err
		}
		obj = obj.with("routes", routes)
	}
	if h.DataDir != "" {
		obj = obj.with("dataDir", quote(h.DataDir))
	}
	if h.ResolvConf != "" {
		obj = obj.with("resolvConf", quote(h.ResolvConf))
	}
	return obj.withExtra(h.Extra).text(), nil
}

func rangesText(sets []RangeSet) json.RawMessage {
	var out []json.RawMessage
	for _, set := range sets {
		var ranges []json.RawMessage
		for _, r := range set {
			obj := object{{key: "subnet", value: quote(r.Subnet.String())}}
			obj = obj.withAddr("rangeStart", r.Start).withAddr("rangeEnd", r.End).withAddr("gateway", r.Gateway)
			ranges = append(ranges, obj.withExtra(r.Extra).text())
		}
		out = append(out, writeList(ranges))
	}
	return writeList(out)
}

// withAddr adds an address unless it is not set.
func (o object) withAddr(key string, a netip.Addr) object {
	if !a.IsValid() {
		return o
	}
	return o.with(key, quote(a.String()))
}

// withExtra adds, sorted, the keys that host-local does not know.
func (o object) withExtra(extra map[string]json.RawMessage) object {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		o = o.with(key, extra[key])
	}
	return o
}
