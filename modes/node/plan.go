package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/subnetenv"
)

// Plan is everything that follows from a [Description]. Its parts agree with
// each other; who changes one by hand must see to that himself.
type Plan struct {
	// Description with the defaults filled in.
	Description Description
	// Network is the HNS network, and what is added to it once it is there. It
	// names an adapter only if the description does: [Ensure] finds it else.
	Network *modes.NetworkPlan
	// HostEndpoint is the node's own endpoint on the network, which leads the
	// pods' packets; its network id is zero, as the network is not there yet.
	// Nil where the gateway rule has none.
	HostEndpoint *hns.Endpoint
	// Gateways are the pods' default gateways, one for each of the subnets.
	Gateways []netip.Addr
	// Policies are what every pod's endpoint has.
	Policies []hns.EndpointPolicy
	// NATExceptions are the destinations that see pod addresses; empty without
	// IPMasq.
	NATExceptions []netip.Prefix
	// DNS of a pod whose runtime says nothing; zero without servers.
	DNS hns.DNS
	// MTU of pods, in bytes.
	MTU int
	// Reserved are the addresses of the subnets that no pod may have, and why.
	Reserved []ipam.Reservation
	// IPAM is the ipam object: that of the description, else one of host-local, in
	// whose ranges no reserved address is left; nil without either.
	IPAM json.RawMessage
	// Conflist is the CNI network configuration list.
	Conflist json.RawMessage
	// SubnetEnv is the content of flannel's subnet.env; nil without subnets or
	// cluster CIDRs.
	SubnetEnv *subnetenv.Env
	// KubeProxy is what kube-proxy is to be told; nil where it can do nothing,
	// as the mode has no load balancers.
	KubeProxy *KubeProxy
	// Warnings are about what is legal and seldom meant.
	Warnings []*hns.FieldError
}

// Plan derives everything from the description. It looks at nothing else, and
// keeps nothing of it: the same description always gives the same plan.
func (d Description) Plan() (*Plan, error) {
	const op = "plan node for network"
	var bad faults
	if _, err := modes.ParseMode(string(d.Mode)); err != nil {
		bad.under("Mode", err)
		return nil, bad.as(op, d.Name)
	}
	d = d.copied().withDefaults()
	d.check(&bad)
	p := &Plan{Description: d}
	p.network(&bad)
	p.gateways(&bad)
	p.mtu(&bad)
	p.dns(&bad)
	p.exceptions()
	p.reserve(&bad)
	if err := bad.as(op, d.Name); err != nil {
		return nil, err
	}
	// What follows is derived from values that were checked.
	p.podPolicies()
	p.kubeProxy()
	err := p.hostEndpoint()
	if err == nil {
		err = p.ipam()
	}
	if err == nil {
		err = p.subnetEnv()
	}
	if err == nil {
		err = p.conflist()
	}
	if err != nil {
		return nil, fmt.Errorf("node: %s %q: %w", op, d.Name, err)
	}
	return p, nil
}

func (p *Plan) network(bad *faults) {
	d := &p.Description
	plan, err := modes.PlanNetwork(modes.NetworkIntent{
		Mode: d.Mode, Name: d.Name, Subnets: d.Subnets, Gateways: d.Gateways, VNI: d.VNI, VXLANPort: d.VXLANPort,
		Adapter: d.Adapter, Persistent: d.Persistent,
	})
	bad.all(err)
	p.Network = plan
}

// gateways finds the pods' gateway in each subnet.
func (p *Plan) gateways(bad *faults) {
	d := &p.Description
	if d.GatewayRule == modes.GatewayGiven {
		bad.add("GatewayRule", string(d.GatewayRule), "not for a node; give Gateways and the rule %s", modes.GatewaySubnet)
		return
	}
	if d.GatewayRule == modes.GatewayHostEndpoint && d.Mode != modes.L2Bridge {
		bad.unsupported(d.Mode, "GatewayRule", string(d.GatewayRule), "the node has no endpoint of its own there")
		return
	}
	if p.Network == nil {
		return // the subnets are faulty
	}
	for i, s := range p.Network.Network.Subnets() {
		given := s.Gateway()
		if d.GatewayRule == modes.GatewayHostEndpoint {
			given = netip.Addr{}
		}
		g, err := modes.Gateway(d.GatewayRule, s.Prefix, given)
		bad.under(fmt.Sprintf("Subnets[%d]", i), err)
		if err == nil && d.GatewayRule == modes.GatewayHostEndpoint && g == s.Gateway() {
			bad.add(fmt.Sprintf("Gateways[%d]", slices.Index(d.Gateways, g)), g.String(), "is the place of the node's own endpoint")
		}
		p.Gateways = append(p.Gateways, g)
	}
}

func (p *Plan) mtu(bad *faults) {
	d := &p.Description
	v6 := d.Mode.Facts().IPv6 && slices.ContainsFunc(d.Subnets, func(s netip.Prefix) bool { return s.Addr().Is6() })
	mtu, err := d.Mode.MTU(d.LinkMTU, v6)
	bad.under("LinkMTU", reasonOnly(err))
	p.MTU = mtu
}

// dns is the pods' resolver configuration. What a namespace adds to the
// suffixes only the runtime knows.
func (p *Plan) dns(bad *faults) {
	d := &p.Description
	if len(d.DNS.Servers) == 0 {
		if d.DNS.Domain != "" || len(d.DNS.Search) > 0 {
			bad.add("DNS.Servers", "", "missing")
		}
		return
	}
	dns, err := d.DNS.ForPod("default")
	bad.under("DNS", err)
	if err == nil {
		dns.Search = dns.Search[1:]
		p.DNS = dns
	}
}

func (p *Plan) exceptions() {
	d := &p.Description
	if !d.IPMasq || !byNode(d.Mode) {
		return
	}
	var node []netip.Prefix
	for _, a := range d.NodeAddresses {
		if d.Mode != modes.Overlay && a.IsValid() { // a HostRoute leads to it on Overlay
			node = append(node, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	p.NATExceptions = modes.Exceptions(d.ClusterCIDRs, d.ServiceCIDRs, node, d.NATExceptions)
	for _, w := range (modes.NATIntent{Exceptions: d.NATExceptions}).Warnings(nodePrefixes(d.NodeAddresses)...) {
		w.Path = "NAT" + w.Path
		p.Warnings = append(p.Warnings, w)
	}
}

func nodePrefixes(as []netip.Addr) []netip.Prefix {
	var out []netip.Prefix
	for _, a := range as {
		if a.IsValid() {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return out
}

// reserve lists the addresses that no pod may have.
func (p *Plan) reserve(bad *faults) {
	d := &p.Description
	if p.Network == nil || len(p.Gateways) != len(d.Subnets) {
		return // the subnets or the rule are faulty
	}
	taken := map[netip.Addr]bool{}
	add := func(a netip.Addr, why string) {
		taken[a] = true
		p.Reserved = append(p.Reserved, ipam.Reservation{Address: a, Reason: why})
	}
	for _, s := range p.Network.Network.Subnets() {
		for _, r := range modes.Reserved(d.Mode, s.Prefix, d.GatewayRule, s.Gateway()) {
			add(r.Addr, r.Why)
		}
	}
	inside := func(a netip.Addr) bool {
		return slices.ContainsFunc(d.Subnets, func(s netip.Prefix) bool { return s.Contains(a) })
	}
	if d.SourceVIP.IsValid() && d.Mode == modes.Overlay {
		switch {
		case !inside(d.SourceVIP):
			bad.add("SourceVIP", d.SourceVIP.String(), "lies in none of the pod subnets")
		case taken[d.SourceVIP]:
			bad.add("SourceVIP", d.SourceVIP.String(), "is in use in its subnet; choose another")
		default:
			add(d.SourceVIP, ipam.ReasonSourceVIP)
		}
	}
	for i, r := range d.Reserved {
		switch {
		case !inside(r.Address):
			bad.add(fmt.Sprintf("Reserved[%d]", i), addrText(r.Address), "lies in none of the pod subnets")
		case !taken[r.Address]:
			add(r.Address, r.Reason)
		}
	}
	slices.SortStableFunc(p.Reserved, func(a, b ipam.Reservation) int { return a.Address.Compare(b.Address) })
}

// podPolicies are the policies of every pod: source NAT, and that what goes to
// services, and on a bridge to the node, passes the switch's rules.
func (p *Plan) podPolicies() {
	d := &p.Description
	if !byNode(d.Mode) {
		return
	}
	route := func(dst netip.Prefix) {
		p.Policies = append(p.Policies, hns.SDNRoute{DestinationPrefix: dst, NeedEncap: true})
	}
	for _, v4 := range []bool{true, false} {
		var except []string
		for _, e := range p.NATExceptions {
			if e.Addr().Is4() == v4 {
				except = append(except, e.String())
			}
		}
		switch {
		case !p.hasFamily(v4):
			continue
		case d.IPMasq && v4:
			p.Policies = append(p.Policies, hns.OutBoundNAT{Exceptions: except})
		case d.IPMasq:
			p.Policies = append(p.Policies, hns.OutBoundNAT{Exceptions: except, Flags: hns.NATIPv6})
		}
		for _, s := range d.ServiceCIDRs {
			if s.Addr().Is4() == v4 {
				route(s)
			}
		}
		if a := d.nodeAddress(v4); a.IsValid() && d.Mode != modes.Overlay {
			route(netip.PrefixFrom(a, a.BitLen()))
		}
	}
}

// hasFamily reports whether pods have addresses of a family.
func (p *Plan) hasFamily(v4 bool) bool {
	return slices.ContainsFunc(p.Description.Subnets, func(s netip.Prefix) bool { return s.Addr().Is4() == v4 })
}

func (p *Plan) hostEndpoint() error {
	if p.Description.GatewayRule != modes.GatewayHostEndpoint {
		return nil
	}
	n := *p.Network.Network
	n.ID = hns.ID{1} // any: the planner wants a network that is there
	e, err := modes.PlanHostEndpoint(&n)
	if err != nil {
		return err
	}
	e.Network = hns.ID{}
	p.HostEndpoint = e
	return nil
}

// ipam makes the configuration of host-local.
func (p *Plan) ipam() error {
	d := &p.Description
	if d.IPAM != nil {
		return p.givenIPAM()
	}
	if len(d.Subnets) == 0 {
		return nil
	}
	conf := &ipam.HostLocal{DataDir: d.DataDir}
	for i, s := range d.Subnets {
		conf.Sets = append(conf.Sets, ipam.RangeSet{{Subnet: s, Gateway: p.Gateways[i]}})
	}
	text, err := json.Marshal(conf)
	if err == nil {
		p.IPAM, _, err = ipam.Reserve(text, p.Reserved...)
	}
	switch {
	case errors.Is(err, ipam.ErrNoAddress):
		return &hns.FieldError{Path: "Subnets", Value: fmt.Sprint(d.Subnets), Reason: "no address is left for pods: " + err.Error()}
	case err != nil:
		return &hns.FieldError{Path: "Subnets", Value: fmt.Sprint(d.Subnets), Reason: err.Error()}
	}
	return nil
}

// givenIPAM takes the description's configuration, without the reserved addresses
// if it is one of host-local.
func (p *Plan) givenIPAM() error {
	p.IPAM = slices.Clone(p.Description.IPAM)
	typ, err := ipamType(p.IPAM)
	if err == nil && ipam.IsHostLocal(typ) {
		p.IPAM, _, err = ipam.Reserve(p.IPAM, p.Reserved...)
	}
	if err != nil {
		return &hns.FieldError{Path: "IPAM", Reason: err.Error()}
	}
	return nil
}

// ipamType returns the type of an ipam object.
func ipamType(object json.RawMessage) (string, error) {
	conf, err := json.Marshal(map[string]json.RawMessage{"ipam": object})
	if err != nil {
		return "", err
	}
	return ipam.PluginType(conf)
}

// Requirements returns what HNS must have, each feature once. [Ensure] asks for
// all of it before the first change.
func (p *Plan) Requirements() []modes.Requirement {
	out := p.Network.Requirements()
	more := modes.EndpointRequirements(p.Description.Mode, &hns.Endpoint{Policies: p.Policies})
	if p.Description.DSR {
		more = append(more, modes.Requirement{Feature: hns.FeatureDSR, Path: "DSR", Reason: "direct server return"})
	}
	for _, r := range more {
		if !slices.ContainsFunc(out, func(have modes.Requirement) bool { return have.Feature.Name == r.Feature.Name }) {
			out = append(out, r)
		}
	}
	return out
}
