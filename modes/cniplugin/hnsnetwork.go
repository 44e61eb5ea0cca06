package cniplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// HNSNetwork is what a configuration says of its HNS network: in the key
// hnsNetwork, or in ipam.subnet and ipam.routes of an ipam object without a type,
// as Microsoft's plugins nat and sdnbridge read them. What is zero is not said.
type HNSNetwork struct {
	// Subnets and Gateways are as in [modes.NetworkIntent]. Host bits in a subnet
	// are an error: HNS takes none, and more often than not the length is wrong.
	Subnets  []netip.Prefix
	Gateways []netip.Addr
	// Adapter is the name of the node's adapter; ProviderAddress chooses it by
	// an address that it has.
	Adapter         string
	ProviderAddress netip.Addr
	// VNI and VXLANPort are for Overlay; VLAN tags the subnets.
	VNI             uint32
	VXLANPort, VLAN uint16
	// Persistent keeps a network that is made over a reboot of the node.
	Persistent bool
	// Drift says what becomes of a network that is there and differs:
	// [hns.DriftRefuse] or [hns.DriftKeep].
	Drift hns.Drift

	// explicit is whether the key hnsNetwork is there.
	explicit bool
	// master is the adapter that Microsoft's configurations name: for a network
	// that must be made, and never a difference.
	master string
	// subnetPath and gatewayPath are where the two come from.
	subnetPath, gatewayPath string
}

const keyHNSNetwork = "hnsNetwork"

// hnsNetwork reads what the configuration says of the HNS network; nil if it
// says nothing.
func (p *configParser) hnsNetwork(c *Config, w *wireConfig) *HNSNetwork {
	n := &HNSNetwork{subnetPath: keyHNSNetwork + ".subnets", gatewayPath: keyHNSNetwork + ".gateways"}
	p.value("master", w.Master, &n.master)
	if present(w.HNSNetwork) != nil {
		n.explicit = true
		p.hnsNetworkMembers(n, w.HNSNetwork)
	}
	if c.IPAMType == "" && c.ipamErr == nil {
		p.untypedIPAM(c, n)
	}
	if !n.explicit && len(n.Subnets) == 0 {
		return nil
	}
	return n
}

func (p *configParser) hnsNetworkMembers(n *HNSNetwork, raw json.RawMessage) {
	members := p.object(keyHNSNetwork, raw)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		path, v := keyHNSNetwork+"."+name, members[name]
		switch strings.ToLower(name) {
		case "subnets":
			n.subnetPath = path
			p.texts(path, v, func(at, text string) {
				if pr, ok := p.subnet(at, text); ok {
					n.Subnets = append(n.Subnets, pr)
				}
			})
		case "gateways":
			n.gatewayPath = path
			p.texts(path, v, func(at, text string) { n.Gateways = p.addr(n.Gateways, at, text) })
		case "adapter":
			p.value(path, v, &n.Adapter)
		case "provideraddress":
			var text string
			if p.value(path, v, &text) && text != "" {
				if a := p.addr(nil, path, text); a != nil {
					n.ProviderAddress = a[0]
				}
			}
		case "vni":
			p.value(path, v, &n.VNI)
		case "vxlanport":
			p.value(path, v, &n.VXLANPort)
		case "vlan":
			p.value(path, v, &n.VLAN)
		case "persistent":
			p.value(path, v, &n.Persistent)
		case "drift":
			n.Drift = p.drift(path, v)
		default:
			p.complain(path, shorten(v), errors.New("no such member of "+keyHNSNetwork))
		}
	}
}

func (p *configParser) drift(path string, raw json.RawMessage) hns.Drift {
	var text string
	if p.value(path, raw, &text) {
		switch strings.ToLower(text) {
		case "refuse":
		case "keep":
			return hns.DriftKeep
		default:
			p.complain(path, text, errors.New("not refuse or keep"))
		}
	}
	return hns.DriftRefuse
}

// addr appends an address to a list.
func (p *configParser) addr(list []netip.Addr, path, text string) []netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" || a.Is4In6() || a.IsUnspecified() {
		p.complain(path, text, errors.New("not an IP address"))
		return list
	}
	return append(list, a)
}

// untypedIPAM reads the subnet of an ipam object that names no plugin, and the
// gateway of its default route: Microsoft's nat plugin knows no other place for
// them, and neither do the configurations that containerd's scripts and nerdctl
// write for it. The gateway is that of the HNS network and of the pods; on a
// network whose pods are led by the node's endpoint, of the pods alone
// (see run.leadsToSubnet).
func (p *configParser) untypedIPAM(c *Config, n *HNSNetwork) {
	members := p.object("ipam", c.IPAM)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		path := "ipam." + name
		switch strings.ToLower(name) {
		case "subnet":
			var text string
			if !p.value(path, members[name], &text) || text == "" {
				continue
			}
			if len(n.Subnets) > 0 {
				p.complain(path, text, errors.New("the subnets stand in "+n.subnetPath+" already"))
				continue
			}
			if pr, ok := p.subnet(path, text); ok {
				n.Subnets, n.subnetPath = []netip.Prefix{pr}, path
			}
		case "routes":
			p.routes(c, path, members[name])
		}
	}
}

// routes reads a list of routes in the forms that are about: gw (CNI), GW
// (containerd's scripts) and gateway (nerdctl, and Microsoft's sample, which its
// own plugin does not understand). A default route, which may leave the
// destination out, is the pods' gateway; another is a route of theirs.
func (p *configParser) routes(c *Config, path string, raw json.RawMessage) {
	p.list(path, raw, func(at string, raw json.RawMessage) {
		var dst netip.Prefix
		var gw []netip.Addr
		members := p.object(at, raw)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			member, text := at+"."+name, ""
			switch strings.ToLower(name) {
			case "gw", "gateway":
				if p.value(member, members[name], &text) && text != "" {
					gw = p.addr(gw, member, text)
				}
			case "dst":
				if p.value(member, members[name], &text) && text != "" {
					dst, _ = p.prefix(member, text)
				}
			}
		}
		switch {
		case len(gw) > 1:
			p.complain(at, shorten(raw), errors.New("has two gateways"))
		case len(gw) == 0:
		case !dst.IsValid() || dst.Bits() == 0:
			c.Gateways = append(c.Gateways, gw[0])
			c.gatewayPaths = append(c.gatewayPaths, at)
		default:
			c.Routes = append(c.Routes, hns.Route{NextHop: gw[0], DestinationPrefix: dst})
		}
	})
}

// describedNetwork returns what the configuration says of the network, for the
// plugin's mode; nil if it says nothing. A NAT network needs nothing that a
// node's agent would know, so where HNS gives the addresses the name is enough,
// as it is for Microsoft's nat plugin.
func (r *run) describedNetwork() *HNSNetwork {
	if n := r.Config.HNSNetwork; n != nil {
		return n
	}
	if r.p.Mode == modes.NAT && !r.hasIPAM() {
		return &HNSNetwork{}
	}
	return nil
}

// creates reports whether the network is made if it is missing. That of an
// Overlay has a VNI that all nodes share, and a subnet alone does not tell it.
func (n *HNSNetwork) creates(m modes.Mode) bool { return n.explicit || m != modes.Overlay }

// planNetwork plans the network that the configuration describes.
func (r *run) planNetwork(n *HNSNetwork) (*modes.NetworkPlan, error) {
	in := modes.NetworkIntent{
		Mode: r.p.Mode, Name: r.Config.Name, Subnets: n.Subnets, Gateways: r.networkGateways(n),
		VNI: n.VNI, VXLANPort: n.VXLANPort, VLAN: n.VLAN, Adapter: n.Adapter, ProviderAddress: n.ProviderAddress, Persistent: n.Persistent,
	}
	if in.Adapter == "" && !in.ProviderAddress.IsValid() && r.p.Mode != modes.NAT { // a NAT network is on none
		in.Adapter = n.master
	}
	plan, err := modes.PlanNetwork(in)
	if err == nil {
		return plan, nil
	}
	names := map[string]string{"Subnets": n.subnetPath, "Gateways": n.gatewayPath, "Adapter": keyHNSNetwork + ".adapter", "Name": "name",
		"ProviderAddress": keyHNSNetwork + ".providerAddress", "VNI": keyHNSNetwork + ".vni", "VXLANPort": keyHNSNetwork + ".vxlanPort",
		"VLAN": keyHNSNetwork + ".vlan", "Persistent": keyHNSNetwork + ".persistent"}
	if len(n.Gateways) == 0 {
		names["Gateways"] = "ipam.routes"
	}
	if n.Adapter == "" {
		names["Adapter"] = "master"
	}
	return nil, r.Config.invalid(repath(err, func(path string) string {
		head, index, _ := strings.Cut(path, "[")
		name, ok := names[head]
		if !ok {
			return path
		}
		if index != "" && strings.HasPrefix(name, keyHNSNetwork) {
			name += "[" + index
		}
		return name
	}))
}

// compared leaves in the network what the configuration says: the planner has
// added the usual gateway and flags, which another may have chosen otherwise.
func (n *HNSNetwork) compared(plan *modes.NetworkPlan, gatewaySaid bool) *hns.Network {
	want := *plan.Network
	want.Flags = 0
	want.Policies = slices.Clone(want.Policies)
	if n.Adapter == "" {
		want.Policies = slices.DeleteFunc(want.Policies, func(p hns.NetworkPolicy) bool {
			_, isAdapter := p.(hns.NetAdapterName)
			return isAdapter
		})
	}
	want.Policies = append(want.Policies, plan.AddPolicies...)
	if gatewaySaid {
		return &want
	}
	want.IPAMs = slices.Clone(want.IPAMs)
	for i := range want.IPAMs {
		want.IPAMs[i].Subnets = slices.Clone(want.IPAMs[i].Subnets)
		for j := range want.IPAMs[i].Subnets {
			want.IPAMs[i].Subnets[j].Routes = nil
		}
	}
	return &want
}

// repath returns the complaints of an error, each with its path changed.
func repath(err error, change func(string) string) []error {
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case nil:
		return nil
	case *hns.FieldError:
		c := *e
		c.Path = change(e.Path)
		return []error{&c}
	case *modes.UnsupportedError:
		c := *e
		c.Path = change(e.Path)
		return []error{&c}
	case interface{ Unwrap() []error }:
		var out []error
		for _, u := range e.Unwrap() {
			out = append(out, repath(u, change)...)
		}
		return out
	case interface{ Unwrap() error }:
		if u := e.Unwrap(); hns.FieldErrors(u) != nil || errors.As(u, new(*modes.UnsupportedError)) {
			return repath(u, change)
		}
	}
	return []error{err}
}

// differences is the refusal of a network, with where the configuration says
// what it should be.
func (n *HNSNetwork) differences(err error) error {
	path := keyHNSNetwork
	if !n.explicit {
		path = n.subnetPath
	}
	return invalidConfig(fmt.Errorf("%s: %w", path, err))
}
