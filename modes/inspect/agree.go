package inspect

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/subnetenv"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// Agree holds files of one node against each other and adds to the reports what
// does not fit, with the other file named: a configuration against flannel's
// files and the networks of HNS, subnet.env against net-conf.json and the
// networks, endpoints against their networks. Verdicts are given anew.
func Agree(reports []*Report) {
	for _, r := range reports {
		for _, other := range reports {
			if r == other {
				continue
			}
			for _, c := range r.confs {
				r.confWithEnv(c, other)
				r.confWithNetConf(c, other)
			}
			r.envWithNetConf(other)
			r.netConfWithNetworks(other)
			if !other.lossy {
				r.checkEndpoints(other.networks)
			}
		}
		for _, c := range r.confs {
			r.confWithNetworks(c, reports)
		}
		r.envWithNetworks(reports)
	}
	for _, r := range reports {
		r.settle()
	}
}

// disagree adds a finding about two files.
func (r *Report) disagree(severity modes.Severity, path, value, other, reason, fix string) {
	r.add(severity, path, value, fmt.Sprintf("does not agree with %s: %s", other, reason), fix)
}

// confWithEnv has flannel's delegate configuration built from both.
func (r *Report) confWithEnv(c *conf, other *Report) {
	env := other.env
	if c.flannel == nil || env == nil {
		return
	}
	if _, err := delegate.Build(c.flannel, env, nil); err != nil {
		for _, f := range findingsOf(err) {
			r.disagree(modes.SeverityError, f.Path, f.Value, other.File, f.Reason, f.Fix)
		}
	}
	r.exceptions(c, env.Networks, other.File)
}

// exceptions wants the policies for source NAT to leave the cluster's networks
// alone. Without such a policy flannel has the plugin make one.
func (r *Report) exceptions(c *conf, networks []netip.Prefix, other string) {
	first := ""
	var exceptions []string
	for _, pol := range c.policies {
		if nat, ok := pol.EndpointPolicy.(hns.OutBoundNAT); ok {
			first = cmp.Or(first, pol.at)
			exceptions = append(exceptions, nat.Exceptions...)
		}
	}
	for _, n := range networks {
		covered := slices.ContainsFunc(exceptions, func(s string) bool {
			p, err := netip.ParsePrefix(s)
			return err == nil && ipam.Covers(p, n)
		})
		if first != "" && !covered {
			r.disagree(modes.SeverityWarning, first, strings.Join(exceptions, ", "), other,
				fmt.Sprintf("the cluster's pod network is %s, and no exception covers it: pods reach each other with the address of their node", n),
				"add "+n.String()+" to the exceptions")
		}
	}
}

func (r *Report) confWithNetConf(c *conf, other *Report) {
	nc := other.netConf
	if c.flannel == nil || nc == nil {
		return
	}
	if want := other.Mode; want != "" && c.mode != "" && want != string(c.mode) {
		r.disagree(modes.SeverityError, join(c.at, "type"), c.typeName(), other.File,
			fmt.Sprintf("its backend is %s, which makes a network of mode %s, and the plugin is for %s", nc.Backend, want, c.mode),
			"use win-overlay with vxlan, and win-bridge with host-gw")
	}
	if want := nc.NetworkName(); want != c.name {
		r.disagree(modes.SeverityError, "name", c.name, other.File, fmt.Sprintf("flanneld names its HNS network %q, and the plugin looks for the configuration's name", want),
			fmt.Sprintf("name the configuration %q, or write \"Name\": %q into Backend", want, c.name))
	}
	if nc.Network.IsValid() {
		r.exceptions(c, []netip.Prefix{nc.Network}, other.File)
	}
}

func (c *conf) typeName() string {
	m, _ := membersOf(c.raw)
	return m.text("type")
}

func (r *Report) envWithNetConf(other *Report) {
	env, nc := r.env, other.netConf
	if env == nil || nc == nil {
		return
	}
	check := func(key string, have []netip.Prefix, want netip.Prefix) {
		if want.IsValid() && !slices.Contains(have, want) {
			r.disagree(modes.SeverityError, key, texts(have), other.File, fmt.Sprintf("the network there is %s: the file is stale, or of another cluster", want), "restart flanneld, which writes the file anew")
		}
	}
	check(subnetenv.KeyNetwork, env.Networks, nc.Network)
	check(subnetenv.KeyIPv6Network, env.IPv6Networks, nc.IPv6Network)
}

// confWithNetworks looks for the HNS network of the configuration among those of
// all files, and holds it against the configuration.
func (r *Report) confWithNetworks(c *conf, reports []*Report) {
	var names []string
	from := ""
	for _, other := range reports {
		for _, n := range other.networks {
			if n.Name == c.name {
				r.confWithNetwork(c, n, other)
				return
			}
			names = append(names, fmt.Sprintf("%q", n.Name))
			from = cmp.Or(from, other.File)
		}
	}
	if len(names) == 0 || c.foreign {
		return
	}
	fix := "name the configuration after its HNS network, or have the network made"
	for _, n := range names {
		if strings.EqualFold(n, fmt.Sprintf("%q", c.name)) {
			fix = "write " + n + ": names are compared letter by letter"
		}
	}
	r.disagree(modes.SeverityError, "name", c.name, from, "no HNS network has this name; there are "+strings.Join(names, ", "), fix)
}

func (r *Report) confWithNetwork(c *conf, n *hns.Network, other *Report) {
	mode, known := modes.ModeOf(n.Type)
	bridged := c.mode == modes.L2Bridge && mode == modes.L2Tunnel // a plugin for one serves the other
	if known && c.mode != "" && mode != c.mode && !bridged {
		r.disagree(modes.SeverityError, join(c.at, "type"), c.typeName(), other.File,
			fmt.Sprintf("HNS network %q is of mode %s, and the plugin is for %s", n.Name, mode, c.mode), "use the plugin for the mode, or delete the network and have it made anew")
	}
	if c.parsed == nil {
		return
	}
	if mode == modes.Overlay {
		r.providers(c, n, other)
	}
	if len(n.Subnets()) == 0 || len(c.parsed.IPAM) == 0 || c.flannel != nil {
		return
	}
	if ipam.IsHostLocal(c.parsed.IPAMType) {
		r.ranges(c, n, other)
	} else if c.parsed.IPAMType == "" {
		m, _ := membersOf(c.parsed.IPAM)
		r.wanted(c, m, n, other)
	}
}

// providers wants the ProviderAddress of the pods to be the network's.
func (r *Report) providers(c *conf, n *hns.Network, other *Report) {
	for _, have := range hns.PoliciesOf[hns.ProviderAddress](n.Policies) {
		for _, pol := range c.policies {
			if want, ok := pol.EndpointPolicy.(hns.ProviderAddress); ok && want.Address != have.Address {
				r.disagree(modes.SeverityError, pol.at, want.Address.String(), other.File,
					fmt.Sprintf("the provider address of HNS network %q is %s: peers send to a node that does not have the pod", n.Name, have.Address), "write "+have.Address.String())
			}
		}
	}
}

// ranges wants host-local's ranges inside the subnets of the network, and clear of
// what the network keeps.
func (r *Report) ranges(c *conf, n *hns.Network, other *Report) {
	h, err := ipam.ParseHostLocal(c.parsed.IPAM)
	if err != nil {
		return // said
	}
	var taken []ipam.Reservation
	for _, set := range h.Sets {
		for _, rg := range set {
			i := slices.IndexFunc(n.Subnets(), func(s hns.Subnet) bool { return ipam.Covers(s.Prefix, rg.Subnet) })
			if i < 0 {
				r.disagree(modes.SeverityError, join(c.at, "ipam"), rg.Subnet.String(), other.File, fmt.Sprintf("HNS network %q has the subnets %s", n.Name, subnetTexts(n)),
					"give host-local the subnet of the network; one of the two is stale")
				continue
			}
			s := n.Subnets()[i]
			for _, a := range modes.Reserved(c.mode, s.Prefix, modes.GatewayDefault, s.Gateway()) {
				taken = append(taken, ipam.Reservation{Address: a.Addr, Reason: a.Why})
			}
		}
	}
	_, changes, err := ipam.Reserve(c.parsed.IPAM, taken...)
	if err != nil {
		return
	}
	for _, ch := range changes {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Value == ch.Address.String() }) {
			r.disagree(modes.SeverityWarning, join(c.at, ch.Path), ch.Address.String(), other.File,
				"host-local may hand out this address, and it is reserved: "+ch.Reason, "set rangeStart and rangeEnd so that it stays outside")
		}
	}
}

// wanted holds the subnet and gateway that a configuration without an IPAM plugin
// names against those of the network.
func (r *Report) wanted(c *conf, m members, n *hns.Network, other *Report) {
	p, err := netip.ParsePrefix(m.text("subnet"))
	if err != nil {
		return
	}
	i := slices.IndexFunc(n.Subnets(), func(s hns.Subnet) bool { return s.Prefix == p })
	if i < 0 {
		r.disagree(modes.SeverityError, join(c.at, "ipam.subnet"), p.String(), other.File, fmt.Sprintf("HNS network %q has the subnets %s", n.Name, subnetTexts(n)),
			"write the subnet of the network, or delete the network and have it made anew; pods would get an address of one and the gateway of the other")
		return
	}
	quiet := &Report{}
	for _, g := range quiet.gateways(m["routes"], func(path string) string { return path }, modes.SeverityError) {
		if have := n.Subnets()[i].Gateway(); have.IsValid() && g != have && c.mode != modes.L2Bridge {
			r.disagree(modes.SeverityError, join(c.at, "ipam.routes"), g.String(), other.File, fmt.Sprintf("the gateway of HNS network %q is %s", n.Name, have), "write "+have.String())
		}
	}
}

// envWithNetworks wants the node's subnet to be one of flannel's network.
func (r *Report) envWithNetworks(reports []*Report) {
	env := r.env
	if env == nil || !env.HasIPv4() {
		return
	}
	var names []string
	for _, other := range reports {
		if other.netConf != nil {
			names = append(names, other.netConf.NetworkName())
		}
		for _, c := range other.confs {
			if c.flannel != nil {
				names = append(names, c.name)
			}
		}
	}
	for _, other := range reports {
		for _, n := range other.networks {
			if !slices.Contains(names, n.Name) || len(n.Subnets()) == 0 {
				continue
			}
			if !slices.ContainsFunc(n.Subnets(), func(s hns.Subnet) bool { return ipam.Covers(s.Prefix, env.MaskedSubnet()) }) {
				r.disagree(modes.SeverityError, subnetenv.KeySubnet, env.Subnet.String(), other.File,
					fmt.Sprintf("HNS network %q has the subnets %s: one of the two is stale (flannel-io/flannel#556)", n.Name, subnetTexts(n)), "restart flanneld, which makes both anew")
			}
		}
	}
}

// netConfWithNetworks holds the VNI and the cluster's network against what HNS has.
func (r *Report) netConfWithNetworks(other *Report) {
	nc := r.netConf
	if nc == nil {
		return
	}
	for _, n := range other.networks {
		if n.Name != nc.NetworkName() {
			continue
		}
		for _, s := range n.Subnets() {
			vni := cmp.Or(nc.VNI, subnetenv.DefaultVNI)
			if have := s.VSID(); nc.Backend == subnetenv.BackendVXLAN && have != 0 && have != vni {
				r.disagree(modes.SeverityError, "Backend.VNI", fmt.Sprint(vni), other.File, fmt.Sprintf("HNS network %q has the VNI %d", n.Name, have), "delete the network, and have flanneld make it anew")
			}
			if s.Prefix.Addr().Is4() && nc.Network.IsValid() && !ipam.Covers(nc.Network, s.Prefix) {
				r.disagree(modes.SeverityError, "Network", nc.Network.String(), other.File, fmt.Sprintf("subnet %s of HNS network %q lies outside", s.Prefix, n.Name), "delete the network, and have flanneld make it anew")
			}
		}
	}
}

func texts(ps []netip.Prefix) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.String())
	}
	return strings.Join(out, ", ")
}

func subnetTexts(n *hns.Network) string {
	var ps []netip.Prefix
	for _, s := range n.Subnets() {
		ps = append(ps, s.Prefix)
	}
	return texts(ps)
}
