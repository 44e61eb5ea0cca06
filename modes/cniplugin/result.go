package cniplugin

import (
	"net"
	"net/netip"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
)

// result is what ADD answers: one interface named CNI_IFNAME in the sandbox,
// with the addresses. containerd looks for them under that name and fails the
// pod otherwise.
func (r *run) result(e *hns.Endpoint, lease *ipam.Lease) *types100.Result {
	res := &types100.Result{
		CNIVersion: types100.ImplementedSpecVersion,
		Interfaces: []*types100.Interface{{
			Name: r.IfName, Mac: strings.ToLower(strings.ReplaceAll(e.MAC.String(), "-", ":")), Sandbox: r.args.Netns,
		}},
		DNS: types.DNS{Nameservers: e.DNS.ServerList, Domain: e.DNS.Domain, Search: e.DNS.Search, Options: e.DNS.Options},
	}
	for _, c := range e.IPConfigs {
		p := r.prefixOf(c)
		if !p.IsValid() {
			continue
		}
		ip := &types100.IPConfig{Interface: types100.Int(0), Address: ipNet(p)}
		if gw := e.Gateway(c.Address); gw.IsValid() {
			ip.Gateway = gw.AsSlice()
		}
		res.IPs = append(res.IPs, ip)
	}
	for _, rt := range e.Routes {
		if rt.DestinationPrefix.IsValid() && rt.NextHop.IsValid() && !rt.NextHop.IsUnspecified() {
			res.Routes = append(res.Routes, &types.Route{Dst: ipNet(rt.DestinationPrefix), GW: rt.NextHop.AsSlice()})
		}
	}
	if lease == nil {
		lease = &ipam.Lease{}
	}
	res.DNS = preferDNS(res.DNS, r.dns(lease))
	return res
}

// prefixOf returns an endpoint's address with its length; where HNS left the
// length out it is that of the subnet.
func (r *run) prefixOf(c hns.IPConfig) netip.Prefix {
	if p := c.Prefix(); p.IsValid() {
		return p
	}
	if !c.Address.IsValid() {
		return netip.Prefix{}
	}
	bits := c.Address.BitLen()
	if s, ok := r.Network.SubnetOf(c.Address); ok {
		bits = s.Prefix.Bits()
	}
	return netip.PrefixFrom(c.Address, bits)
}

func ipNet(p netip.Prefix) net.IPNet {
	return net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
