package cniplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
)

// A runtime can wish for addresses in three ways (CNI conventions): by the
// capability ips, by args.cni.ips, and by IP in CNI_ARGS. host-local takes them
// together. The last two are for an IPAM plugin, which gets them as they came, and
// may be passed over. Where HNS gives the addresses there is nobody else to read
// them, and HNS can do what they ask.

// ips reads a list of wishes.
func (p *configParser) ips(c *Config, path string, raw json.RawMessage) {
	if p.atMost(path, raw, mostWishes, "addresses to ask for; an endpoint has one of each family") {
		p.texts(path, raw, func(at, text string) { p.ip(c, at, text) })
	}
}

const (
	// mostWishes is how many addresses may be asked for in one way, those that are
	// there twice included.
	mostWishes = 16
	// mostSets is the number of families: IPAM gives an address from each set of
	// ranges, and an endpoint has one of each family.
	mostSets = 2
	// mostRanges is how many ranges a set may have.
	mostRanges = 256
)

// ipRanges reads the shape of the capability argument ipRanges (CNI conventions):
// a list of sets, each a list of ranges. What a range says is for IPAM.
func (p *configParser) ipRanges(path string, raw json.RawMessage) {
	if !p.atMost(path, raw, mostSets, "sets of ranges; an endpoint has one address of each family, and each set gives one") {
		return
	}
	p.list(path, raw, func(at string, set json.RawMessage) {
		if p.atMost(at, set, mostRanges, "ranges") {
			p.list(at, set, func(at string, r json.RawMessage) {
				if present(r) == nil {
					p.complain(at, "null", errors.New("not a range"))
				} else {
					p.object(at, r)
				}
			})
		}
	})
}

// atMost complains of a list that has more elements, and of nothing else.
func (p *configParser) atMost(path string, raw json.RawMessage, most int, of string) bool {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil || len(elements) <= most {
		return true
	}
	p.complain(path, fmt.Sprint(len(elements)), fmt.Errorf("more than %d %s", most, of))
	return false
}

// ip reads an address, with or without a length; at most one of each family.
func (p *configParser) ip(c *Config, at, text string) {
	pr, err := netip.ParsePrefix(text)
	bare := false
	if err != nil {
		var a netip.Addr
		if a, err = netip.ParseAddr(text); err == nil {
			pr, bare = netip.PrefixFrom(a, a.BitLen()), true
		}
	}
	if err != nil || pr.Addr().Zone() != "" || pr.Addr().Is4In6() {
		p.complain(at, text, errors.New("not an IP address"))
		return
	}
	for i, o := range c.IPs {
		switch {
		case o.Addr() == pr.Addr() && (o == pr || bare || c.bareIPs[o.Addr()]):
			if !bare { // now it is known
				c.IPs[i] = pr
				delete(c.bareIPs, pr.Addr())
			}
			return
		case o.Addr().Is4() == pr.Addr().Is4():
			p.complain(at, text, fmt.Errorf("second address of its family, beside %s", c.ipPaths[i]))
			return
		}
	}
	if bare {
		if c.bareIPs == nil {
			c.bareIPs = map[netip.Addr]bool{}
		}
		c.bareIPs[pr.Addr()] = true
	}
	c.IPs = append(c.IPs, pr)
	c.ipPaths = append(c.ipPaths, at)
}

// addWishes adds args.cni.ips and IP of CNI_ARGS to what is asked of HNS, unless
// an IPAM reads them.
func (p *Plugin) addWishes(c *Config, cniArgs string) error {
	if p.IPAM != nil || c.IPAMType != "" {
		return nil
	}
	parser := &configParser{}
	var args, cni struct {
		CNI json.RawMessage `json:"cni"`
		IPs json.RawMessage `json:"ips"`
	}
	if parser.value("args", c.args, &args) && parser.value("args.cni", args.CNI, &cni) {
		parser.ips(c, "args.cni.ips", cni.IPs)
	}
	if err := c.invalid(parser.bad); err != nil {
		return err
	}
	parser = &configParser{}
	for _, pair := range strings.Split(cniArgs, ";") {
		if key, list, _ := strings.Cut(pair, "="); key == "IP" && list != "" {
			for _, text := range strings.Split(list, ",") { // a list is of the plugin static
				parser.ip(c, "CNI_ARGS.IP", text)
			}
		}
	}
	if len(parser.bad) > 0 {
		return &Error{Code: codeInvalidEnvironment, Err: fmt.Errorf("runtime: %w", errors.Join(parser.bad...))}
	}
	return nil
}

// asked is the lease of a pod whose addresses the runtime chose and nobody else
// gives; nil leaves the choice to HNS.
func (r *run) asked() *ipam.Lease {
	if r.hasIPAM() || len(r.Config.IPs) == 0 {
		return nil
	}
	l := &ipam.Lease{}
	for _, p := range r.Config.IPs {
		if s, ok := r.Network.SubnetOf(p.Addr()); ok && r.Config.bareIPs[p.Addr()] {
			p = netip.PrefixFrom(p.Addr(), s.Prefix.Bits())
		}
		l.Addresses = append(l.Addresses, ipam.Address{Prefix: p})
	}
	return l
}

// checkAsked finds addresses that the runtime asked for and the pod has not got.
func (c *Config) checkAsked(got []netip.Addr) error {
	var bad []error
	for i, p := range c.IPs {
		if !slices.Contains(got, p.Addr()) {
			bad = append(bad, &hns.FieldError{Path: c.ipPaths[i], Value: p.Addr().String(),
				Reason: fmt.Sprintf("is not what the pod has got: %v", got)})
		}
	}
	return c.invalid(bad)
}
