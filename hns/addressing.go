package hns

import (
	"fmt"
	"net/netip"
)

// IPConfig is an address of an endpoint (schema type IpConfig).
type IPConfig struct {
	// Address is the address; on a create, no IPConfig at all lets HNS choose.
	Address netip.Addr
	// PrefixLength is the length of the subnet's prefix. Zero lets HNS take it
	// from the subnet.
	PrefixLength uint8
	// IPSubnet is the IP subnet the address is from, filled by HNS 13 and
	// later; zero otherwise.
	IPSubnet ID
}

// Prefix returns the address with its length. The result is invalid if the
// address is none or the length is zero.
func (c IPConfig) Prefix() netip.Prefix {
	if c.PrefixLength == 0 {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(c.Address, int(c.PrefixLength))
}

// Route is a route of a subnet or an endpoint (schema type Route).
type Route struct {
	// NextHop is the gateway. The unspecified address (0.0.0.0 or ::) means
	// that there is none, as on the host's own endpoint.
	NextHop netip.Addr
	// DestinationPrefix is where the route leads; 0.0.0.0/0 or ::/0 makes it
	// the default route and NextHop the gateway.
	DestinationPrefix netip.Prefix
	// Metric is the cost; zero is HNS's default. A document of HNS with a number
	// above 65535, the schema's limit, has it among Document.Unread.
	Metric uint16
}

// DefaultRoute returns the default route via gateway, of gateway's family.
func DefaultRoute(gateway netip.Addr) Route {
	return Route{NextHop: gateway, DestinationPrefix: netip.PrefixFrom(unspecified(gateway), 0)}
}

// IsDefault reports whether the route leads everywhere.
func (r Route) IsDefault() bool {
	return r.DestinationPrefix.IsValid() && r.DestinationPrefix.Bits() == 0
}

func unspecified(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// defaultGateway returns the next hop of the first default route of a family,
// or none.
func defaultGateway(routes []Route, v4 bool) netip.Addr {
	for _, r := range routes {
		if r.IsDefault() && r.NextHop.IsValid() && r.NextHop.Is4() == v4 && !r.NextHop.IsUnspecified() {
			return r.NextHop
		}
	}
	return netip.Addr{}
}

// DNS is the resolver configuration of a network or an endpoint (schema type
// Dns). The zero DNS leaves it to HNS.
type DNS struct {
	Domain     string
	Search     []string
	ServerList []string
	Options    []string
}

// IsZero reports whether nothing is set.
func (d DNS) IsZero() bool {
	return d.Domain == "" && len(d.Search) == 0 && len(d.ServerList) == 0 && len(d.Options) == 0
}

type wireIPConfig struct {
	IpAddress    string `json:",omitempty"`
	PrefixLength uint8  `json:",omitempty"`
	IpSubnetId   string `json:",omitempty"`
}

type wireRoute struct {
	NextHop           string `json:",omitempty"`
	DestinationPrefix string `json:",omitempty"`
	Metric            uint16 `json:",omitempty"`
}

type wireDNS struct {
	Domain     string   `json:",omitempty"`
	Search     []string `json:",omitempty"`
	ServerList []string `json:",omitempty"`
	Options    []string `json:",omitempty"`
}

func readIPConfig(r reader) IPConfig {
	return IPConfig{
		Address:      r.addr("IpAddress"),
		PrefixLength: uint8(r.uint("PrefixLength", 8)),
		IPSubnet:     r.id("IpSubnetId"),
	}
}

func readRoute(r reader) Route {
	return Route{
		NextHop:           r.addr("NextHop"),
		DestinationPrefix: r.prefix("DestinationPrefix"),
		Metric:            uint16(r.uint("Metric", 16)),
	}
}

func readRoutes(r reader) []Route {
	var out []Route
	r.list("Routes", func(e reader) { out = append(out, readRoute(e)) })
	return out
}

func readDNS(r reader) DNS {
	return DNS{
		Domain:     r.str("Domain"),
		Search:     r.strs("Search"),
		ServerList: r.strs("ServerList"),
		Options:    r.strs("Options"),
	}
}

func (d DNS) wire() *wireDNS {
	if d.IsZero() {
		return nil
	}
	return &wireDNS{d.Domain, d.Search, d.ServerList, d.Options}
}

func (d DNS) check() []*FieldError {
	var bad []*FieldError
	for i, s := range d.ServerList {
		if _, err := netip.ParseAddr(s); err != nil {
			bad = append(bad, &FieldError{Path: fmt.Sprintf("ServerList[%d]", i), Value: s, Reason: "not an IP address", Rule: "dns-server"})
		}
	}
	for i, s := range d.Search {
		if s == "" {
			bad = append(bad, &FieldError{Path: fmt.Sprintf("Search[%d]", i), Reason: "empty suffix", Rule: "dns-search"})
		}
	}
	return bad
}

func (c IPConfig) wire() wireIPConfig {
	w := wireIPConfig{PrefixLength: c.PrefixLength}
	if c.Address.IsValid() {
		w.IpAddress = c.Address.String()
	}
	if !c.IPSubnet.IsZero() {
		w.IpSubnetId = c.IPSubnet.String()
	}
	return w
}

func (c IPConfig) check() []*FieldError {
	if !c.Address.IsValid() {
		return []*FieldError{{Path: "IpAddress", Reason: "missing"}}
	}
	if !isPlain(c.Address) || c.Address.IsUnspecified() {
		return []*FieldError{{Path: "IpAddress", Value: c.Address.String(), Reason: "not a plain unicast address"}}
	}
	if int(c.PrefixLength) > c.Address.BitLen() {
		return []*FieldError{{Path: "PrefixLength", Value: fmt.Sprint(c.PrefixLength),
			Reason: fmt.Sprintf("longer than the %d bits of the address", c.Address.BitLen())}}
	}
	return nil
}

// isPlain tells addresses that HNS documents can hold from those with a zone,
// IPv4 in IPv6 clothes, and groups.
func isPlain(a netip.Addr) bool { return a.Zone() == "" && !a.Is4In6() && !a.IsMulticast() }

func wireRoutes(rs []Route) []wireRoute {
	var out []wireRoute
	for _, r := range rs {
		w := wireRoute{Metric: r.Metric}
		if r.NextHop.IsValid() {
			w.NextHop = r.NextHop.String()
		}
		if r.DestinationPrefix.IsValid() {
			w.DestinationPrefix = r.DestinationPrefix.String()
		}
		out = append(out, w)
	}
	return out
}

func (r Route) check() []*FieldError {
	switch {
	case !r.NextHop.IsValid():
		return []*FieldError{{Path: "NextHop", Reason: "missing"}}
	case !isPlain(r.NextHop):
		return []*FieldError{{Path: "NextHop", Value: r.NextHop.String(), Reason: "not a plain unicast address"}}
	case !r.DestinationPrefix.IsValid():
		return []*FieldError{{Path: "DestinationPrefix", Reason: "missing"}}
	case r.NextHop.Is4() != r.DestinationPrefix.Addr().Is4():
		return []*FieldError{{Path: "NextHop", Value: r.NextHop.String(), Reason: "not of the family of " + r.DestinationPrefix.String()}}
	case r.DestinationPrefix.Masked() != r.DestinationPrefix:
		return []*FieldError{{Path: "DestinationPrefix", Value: r.DestinationPrefix.String(),
			Reason: "has host bits; the prefix is " + r.DestinationPrefix.Masked().String(), Rule: "host-bits"}}
	}
	return nil
}
