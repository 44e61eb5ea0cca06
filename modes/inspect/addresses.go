package inspect

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// addresses inspects the ipam object: host-local's configuration, or the subnet
// and gateway of a network to be made where no IPAM plugin is named.
func (r *Report) addresses(c *conf, m members, place func(string) string, most modes.Severity) {
	raw, ok := m["ipam"]
	if !ok {
		return
	}
	i, ok := membersOf(raw)
	if !ok {
		return // the parser said so
	}
	switch typ := i.text("type"); {
	case ipam.IsHostLocal(typ):
		h, err := ipam.ParseHostLocal(raw)
		if err != nil {
			r.failAt(place, err, most)
			return
		}
		r.reserved(c, h, place)
	case typ == "":
		r.untyped(c, i, place, most)
	}
}

// reserved finds addresses that host-local may hand out although the node or HNS
// has them. That is no error for the plugins of this module, which narrow the
// ranges themselves.
func (r *Report) reserved(c *conf, h *ipam.HostLocal, place func(string) string) {
	if c.foreign {
		return
	}
	var taken []ipam.Reservation
	for _, set := range h.Sets {
		for _, rg := range set {
			for _, a := range modes.Reserved(c.mode, rg.Subnet, modes.GatewayDefault, netip.Addr{}) {
				taken = append(taken, ipam.Reservation{Address: a.Addr, Reason: a.Why})
			}
		}
	}
	_, changes, err := ipam.ReserveNetwork(c.raw, taken...)
	if err != nil {
		r.failAt(place, err, modes.SeverityError)
		return
	}
	for _, ch := range changes {
		r.add(modes.SeverityWarning, place(ch.Path), ch.Address.String(),
			fmt.Sprintf("host-local may hand out this address, and it is reserved: %s (range %s)", ch.Reason, ch.Range),
			"set rangeStart and rangeEnd so that it stays outside; the plugins of this module do that by themselves")
	}
}

// untyped inspects what Microsoft's plugins read from an ipam object without a
// type: the subnet of the HNS network, and the gateway from its routes.
func (r *Report) untyped(c *conf, i members, place func(string) string, most modes.Severity) {
	text := i.text("subnet")
	known := func(f Finding) bool { return f.Path == place("ipam.subnet") } // by the plugin's own reader
	if text == "" || slices.ContainsFunc(r.Findings, known) {
		r.gateways(i["routes"], place, most)
		return
	}
	in := modes.NetworkIntent{Mode: c.mode, Name: c.name}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		f := Finding{Path: place("ipam.subnet"), Value: text, Severity: most, Reason: "not a prefix such as 10.244.0.0/16"}
		f.findFix()
		r.Findings = append(r.Findings, f)
		return
	}
	in.Subnets = []netip.Prefix{p}
	in.Gateways = r.gateways(i["routes"], place, most)
	if c.mode == "" {
		in.Mode = modes.L2Bridge // an address is right or wrong whatever the mode
	}
	_, err = modes.PlanNetwork(in)
	r.failAt(func(path string) string {
		switch path {
		case "Subnets[0]":
			return place("ipam.subnet")
		case "Gateways[0]":
			return place("ipam.routes[0]")
		}
		return place(path)
	}, err, most)
}

// gateways reads the default gateway of the routes. CNI calls it gw, in any letter
// case; in Microsoft's sample, and in those made after it, it has the name gateway,
// which Microsoft's own plugin does not read.
func (r *Report) gateways(raw json.RawMessage, place func(string) string, most modes.Severity) []netip.Addr {
	var routes []json.RawMessage
	if json.Unmarshal(raw, &routes) != nil {
		return nil
	}
	var out []netip.Addr
	for i, raw := range routes {
		m, _ := membersOf(raw)
		at := place(fmt.Sprintf("ipam.routes[%d]", i))
		name := "gw"
		if m.has("gateway") == 1 && m.has("gw") == 0 {
			name = "gateway"
			r.add(modes.SeverityWarning, at+".gateway", m.text("gateway"), "CNI calls this member gw; Microsoft's nat plugin passes over it, and pods have no default route",
				"write gw")
		}
		text := m.text(name)
		if dst := m.text("dst"); text == "" || dst != "" && dst != "0.0.0.0/0" {
			continue
		}
		a, err := netip.ParseAddr(text)
		if err != nil {
			f := Finding{Path: at + "." + name, Value: text, Severity: most, Reason: "not an IP address"}
			f.findFix()
			r.Findings = append(r.Findings, f)
			continue
		}
		if len(out) == 0 {
			out = append(out, a)
		}
	}
	return out
}
