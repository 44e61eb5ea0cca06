package modes

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// PodIntent is what a pod's endpoint shall be.
type PodIntent struct {
	// Name of the endpoint. Names are what a later delete finds endpoints by;
	// HNS would call every nameless one "Ethernet".
	Name string
	// Network is the network as read from HNS: its subnets, and on Overlay its
	// provider address, decide.
	Network *hns.Network
	// Addresses are what IPAM gave, at most one of each family and never IPv6
	// alone. Each must lie in a subnet of the network. IPAM may manage a part
	// of the subnet, or not know it and give /32 or /128; what is sent, and what
	// the gateway is computed from, is the subnet of the network. A subnet of
	// IPAM that is larger than the network's is an error: addresses of other
	// nodes could come from it. Empty lets HNS choose the addresses.
	Addresses []netip.Prefix
	// GatewayRule says how the pod's gateway is found. If HNS chooses the
	// address, the default rule leaves the gateway to HNS too, which takes that
	// of the subnet.
	GatewayRule GatewayRule
	// Gateways are the addresses for [GatewayGiven], one for each family; other
	// rules do not look at them: host-local, for one, calls network+1 the
	// gateway of any subnet.
	Gateways []netip.Addr
	// MAC is the pod's MAC address. Zero on Overlay is the one that follows
	// from MACPrefix and the IPv4 address (see [EndpointMAC]), elsewhere one
	// that HNS chooses.
	MAC hns.MAC
	// MACPrefix is for Overlay only; empty is [DefaultMACPrefix].
	MACPrefix string
	// DNS is the pod's resolver configuration; the zero DNS leaves it to HNS.
	DNS hns.DNS
	// NAT asks for source NAT. Nil adds none; Policies are not touched then. A
	// NAT network translates by itself, so there only an intent without
	// exceptions can be met, and a Transparent one not at all.
	NAT *NATIntent
	// LoopbackDSR adds the policies of [LoopbackDSR] for Addresses. It adds
	// nothing if HNS chooses them: read the endpoint, and add them then.
	LoopbackDSR bool
	// ProviderAddress is the node's address on the physical network for an
	// endpoint that is to know it. Zero on Overlay, where it is needed, is the
	// network's ([hns.Network.ProviderAddress]); zero elsewhere is none.
	ProviderAddress netip.Addr
	// Policies are the user's own, which come first, in this order. An
	// OutBoundNAT among them takes in the exceptions of NAT, a ProviderAddress
	// is kept if it is the network's.
	Policies []hns.EndpointPolicy
}

// PlanPodEndpoint returns the document of a pod's endpoint on a network of any
// of the five modes. Everything wrong with the intent is reported at once; the
// error matches [hns.ErrUnsupported] for networks of no mode and for what the
// mode cannot do, such as address families that it does not carry, and
// [ErrNotReady] if the network has no provider address yet.
// [EndpointRequirements] says which HNS can make the endpoint.
//
// The order of the policies is: the user's, source NAT for IPv4 and then IPv6,
// the provider address, loopback DSR in the order of the addresses. What the
// client checks when it creates the endpoint is not checked here.
func PlanPodEndpoint(in PodIntent) (*hns.Endpoint, error) {
	p := podPlan{in: in, ep: &hns.Endpoint{Name: in.Name, MAC: in.MAC, DNS: cloneDNS(in.DNS)}}
	if in.Name == "" {
		p.bad.field("Name", "", "missing")
	}
	mode, ok := planned(in.Network, "Network", &p.bad)
	if ok {
		p.mode, p.ep.Network = mode, in.Network.ID
		p.addresses()
		p.routes()
		p.mac()
		p.policies()
	}
	if err := p.bad.as("plan pod endpoint", in.Name); err != nil {
		return nil, err
	}
	return p.ep, nil
}

type podPlan struct {
	in     PodIntent
	mode   Mode
	ep     *hns.Endpoint
	placed []placed
	bad    problems
}

// placed is an address of the pod in its subnet.
type placed struct {
	path   string
	addr   netip.Addr
	subnet hns.Subnet
}

func (p *podPlan) addresses() {
	var v4, v6 bool
	for i, a := range p.in.Addresses {
		path := fmt.Sprintf("Addresses[%d]", i)
		if err := checkSubnet(a); err != nil {
			p.bad.at(path, err)
			continue
		}
		have := &v4
		if !a.Addr().Is4() {
			have = &v6
		}
		switch {
		case *have:
			p.bad.field(path, a.String(), "second address of its family")
			continue
		case !a.Addr().Is4() && !p.mode.Facts().IPv6:
			p.bad.add(noIPv6(path, a.String(), p.mode))
			continue
		}
		*have = true
		p.address(path, a)
	}
	switch why := p.mode.traits().noHNSAddress; {
	case v6 && !v4:
		p.bad.add(ipv6Only("Addresses", p.mode))
	case len(p.in.Addresses) == 0 && why != "":
		p.bad.add(&UnsupportedError{Path: "Addresses", Mode: p.mode, Reason: why})
	}
}

// address places one address, or says why it cannot be.
func (p *podPlan) address(path string, a netip.Prefix) {
	s, ok := p.in.Network.SubnetOf(a.Addr())
	if !ok {
		// A stale subnet.env gives addresses that are routed to another node
		// (flannel-io/flannel#556).
		p.bad.field(path, a.String(), "lies outside the subnets of network %q: %s", p.in.Network.Name, prefixTexts(p.in.Network))
		return
	}
	if a.Bits() < s.Prefix.Bits() {
		p.bad.field(path, a.String(), "IPAM's subnet %s is larger than the network's %s", a.Masked(), s.Prefix.Masked())
		return
	}
	for _, r := range Reserved(p.mode, s.Prefix, p.in.GatewayRule, s.Gateway()) {
		if r.Addr == a.Addr() {
			p.bad.field(path, a.String(), "reserved in %s: %s", s.Prefix.Masked(), r.Why)
			return
		}
	}
	p.placed = append(p.placed, placed{path, a.Addr(), s})
	p.ep.IPConfigs = append(p.ep.IPConfigs, ipConfig(a.Addr(), s))
}

func (p *podPlan) routes() {
	switch p.in.GatewayRule {
	case GatewayDefault, GatewaySubnet, GatewayGiven:
	case GatewayHostEndpoint:
		if why := p.mode.traits().noHostEndpoint; why != "" {
			p.bad.field("GatewayRule", string(p.in.GatewayRule), "the node has no endpoint on a network of mode %s: %s", p.mode, why)
			return
		}
	default:
		p.bad.field("GatewayRule", string(p.in.GatewayRule), "not a rule; there are %s, %s and %s", GatewayHostEndpoint, GatewaySubnet, GatewayGiven)
		return
	}
	given := p.givenGateways()
	if len(p.in.Addresses) == 0 {
		p.routesUnplaced(given)
		return
	}
	for _, at := range p.placed {
		p.route(at.path, netip.PrefixFrom(at.addr, at.subnet.Prefix.Bits()), at.subnet, given)
	}
}

// routesUnplaced plans the routes of a pod whose addresses HNS will choose.
func (p *podPlan) routesUnplaced(given map[bool]netip.Addr) {
	rule := p.in.GatewayRule
	if rule == GatewayDefault || rule == GatewaySubnet {
		return // HNS takes the gateway of the subnet that it takes the address from
	}
	subnets := map[bool]hns.Subnet{}
	for i, s := range p.in.Network.Subnets() {
		path := fmt.Sprintf("Network.Subnets[%d]", i)
		v4 := s.Prefix.Addr().Is4()
		if first, ok := subnets[v4]; ok {
			p.bad.field("Addresses", "", "missing: the gateway depends on the address, which may be in %s or in %s", first.Prefix, s.Prefix)
			continue
		}
		subnets[v4] = s
		p.route(path, s.Prefix.Masked(), s, given)
	}
}

// route adds the default route of one family. at is the pod's address, or the
// subnet if the address is not known.
func (p *podPlan) route(path string, at netip.Prefix, s hns.Subnet, given map[bool]netip.Addr) {
	rule := p.mode.rule(p.in.GatewayRule)
	var known netip.Addr
	switch v4 := at.Addr().Is4(); rule {
	case GatewaySubnet:
		if known = s.Gateway(); !known.IsValid() {
			p.bad.field("Network", s.Prefix.String(), "the subnet has no gateway")
			return
		}
	case GatewayGiven:
		if known = given[v4]; !known.IsValid() {
			p.bad.field("Gateways", "", "none for %s", at)
			return
		}
	}
	g, err := Gateway(rule, at, known)
	if err != nil {
		p.bad.at(path, err)
		return
	}
	p.ep.Routes = append(p.ep.Routes, hns.DefaultRoute(g))
}

// givenGateways returns the given gateways by family, true for IPv4.
func (p *podPlan) givenGateways() map[bool]netip.Addr {
	if p.in.GatewayRule != GatewayGiven {
		return nil
	}
	out := map[bool]netip.Addr{}
	for i, g := range p.in.Gateways {
		path := fmt.Sprintf("Gateways[%d]", i)
		switch _, taken := out[g.Is4()]; {
		case !g.IsValid() || g.Zone() != "" || g.Is4In6():
			p.bad.field(path, addrText(g), "not a plain address")
		case taken:
			p.bad.field(path, g.String(), "second gateway of its family")
		case !p.mayHave(g.Is4()):
			p.bad.field(path, g.String(), "the pod has no address of its family")
		default:
			out[g.Is4()] = g
		}
	}
	return out
}

func (p *podPlan) mac() {
	if isMulticast(p.in.MAC) {
		p.bad.field("MAC", p.in.MAC.String(), "%s", multicastMAC)
	}
	if p.mode != Overlay {
		if p.in.MACPrefix != "" {
			p.bad.field("MACPrefix", p.in.MACPrefix, "is for mode %s; %s leaves MAC addresses to HNS", Overlay, p.mode)
		}
		return
	}
	if _, err := macPrefix(p.in.MACPrefix); err != nil {
		p.bad.at("MACPrefix", err)
		return
	}
	if !p.in.MAC.IsZero() {
		return
	}
	if len(p.placed) == 0 {
		if p.in.MACPrefix != "" && len(p.in.Addresses) == 0 {
			p.bad.field("MACPrefix", p.in.MACPrefix, "has no effect without an address: HNS takes the MAC from its pool")
		}
		return
	}
	m, err := EndpointMAC(p.in.MACPrefix, p.placed[0].addr) // Overlay: the one address is IPv4
	p.bad.add(err)
	p.ep.MAC = m
}

func (p *podPlan) policies() {
	var ps []hns.EndpointPolicy
	for i, u := range p.in.Policies {
		// What Options.Allow of the client could lift is left to the client;
		// what nothing can make right (nil, no JSON) would only fail later.
		fatal := slices.DeleteFunc(hns.FieldErrors(hns.CheckEndpointPolicy(u)), func(e *hns.FieldError) bool { return e.Rule != "" })
		for _, e := range fatal {
			p.bad.at(fmt.Sprintf("Policies[%d]", i), e)
		}
		if len(fatal) > 0 {
			continue
		}
		if r := p.mode.Rule(OnEndpoint, u.PolicyType()); r.Verdict == Forbidden && r.InSchema {
			p.bad.add(&UnsupportedError{Path: fmt.Sprintf("Policies[%d].Type", i), Value: u.PolicyType(), Mode: p.mode, Reason: r.Reason})
		}
		ps = append(ps, u)
	}
	ps = p.nat(ps)
	ps = p.provider(ps)
	if p.in.LoopbackDSR {
		if r := p.mode.Rule(OnLoadBalancer, ""); r.Verdict == Forbidden {
			p.bad.add(&UnsupportedError{Path: "LoopbackDSR", Value: "true", Mode: p.mode, Reason: "is for services, which need load balancers: " + r.Reason})
		}
		ps = append(ps, LoopbackDSR(p.ep.Addresses()...)...)
	}
	p.ep.Policies = ps
}

func (p *podPlan) nat(ps []hns.EndpointPolicy) []hns.EndpointPolicy {
	if p.in.NAT == nil {
		return ps
	}
	if why := p.mode.traits().noSourceNAT; why != "" {
		if p.mode != NAT || len(p.in.NAT.Exceptions) > 0 {
			p.bad.add(&UnsupportedError{Path: "NAT", Mode: p.mode, Reason: why})
		}
		return ps
	}
	byFamily := map[bool][]netip.Prefix{}
	for i, e := range p.in.NAT.Exceptions {
		if err := checkSubnet(e); err != nil {
			p.bad.at(fmt.Sprintf("NAT.Exceptions[%d]", i), err)
			continue
		}
		byFamily[e.Addr().Is4()] = append(byFamily[e.Addr().Is4()], e)
	}
	ps = addNAT(ps, true, byFamily[true])
	if p.mayHave(false) && len(byFamily[false]) > 0 {
		ps = addNAT(ps, false, byFamily[false])
	}
	return ps
}

// mayHave reports whether the pod has an address of the family, or may get one
// from HNS.
func (p *podPlan) mayHave(v4 bool) bool {
	if len(p.in.Addresses) > 0 {
		return slices.ContainsFunc(p.in.Addresses, func(a netip.Prefix) bool { return a.Addr().Is4() == v4 })
	}
	return slices.ContainsFunc(p.in.Network.Subnets(), func(s hns.Subnet) bool { return s.Prefix.Addr().Is4() == v4 })
}

func cloneDNS(d hns.DNS) hns.DNS {
	d.Search, d.ServerList, d.Options = slices.Clone(d.Search), slices.Clone(d.ServerList), slices.Clone(d.Options)
	return d
}
