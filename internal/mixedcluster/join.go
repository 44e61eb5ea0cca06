package mixedcluster

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// SourceVIP is the last address but one of a node's subnet, which its load
// balancers on Overlay send from.
func sourceVIP(subnet netip.Prefix) netip.Addr {
	a := subnet.Addr().As4()
	a[3] = 254
	return netip.AddrFrom4(a)
}

// joinOthers does what flanneld and kube-proxy do when they see other nodes
// and services.
func (n *node) joinOthers(ctx context.Context, all []*node) error {
	if n.mode == modes.Overlay {
		var rs []hns.NetworkPolicy
		for _, o := range all {
			if o != n {
				rs = append(rs, hns.RemoteSubnetRoute{DestinationPrefix: o.subnet, IsolationID: vni, ProviderAddress: o.addr, DistributedRouterMAC: o.net.DRMAC()})
			}
		}
		rs = append(rs, hns.RemoteSubnetRoute{DestinationPrefix: linux.subnet, IsolationID: vni, ProviderAddress: linux.addr, DistributedRouterMAC: linuxMAC})
		if err := n.client.Networks.AddPolicies(ctx, n.net.ID, rs...); err != nil {
			return err
		}
	}
	switch n.mode {
	case modes.L2Bridge, modes.L2Tunnel, modes.Overlay:
		return n.makeServices(ctx, all)
	}
	return nil
}

// makeServices makes load balancers, without DSR, as kube-proxy does.
func (n *node) makeServices(ctx context.Context, all []*node) error {
	var vip netip.Addr
	if n.mode == modes.Overlay {
		vip = sourceVIP(n.subnet)
		if _, err := n.client.Endpoints.Create(ctx, &hns.Endpoint{Name: "source-vip", Network: n.net.ID, IPConfigs: []hns.IPConfig{{Address: vip, PrefixLength: uint8(n.subnet.Bits())}}}); err != nil {
			return err
		}
	}
	for _, s := range services() {
		var ids []hns.ID
		for _, b := range s.Backends {
			id, err := n.backend(ctx, b, all)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		for _, p := range s.Ports {
			_, err := n.client.LoadBalancers.Create(ctx, &hns.LoadBalancer{Endpoints: ids, SourceVIP: vip, FrontendVIPs: s.Addresses,
				PortMappings: []hns.LoadBalancerPortMapping{{Protocol: p.Protocol, ExternalPort: p.Port, InternalPort: p.Target}}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// backend returns the endpoint with an address: a pod's own, or a remote one
// that is made for it.
func (n *node) backend(ctx context.Context, a netip.Addr, all []*node) (hns.ID, error) {
	have, err := n.client.Endpoints.OfNetwork(ctx, n.net.ID)
	if err != nil {
		return hns.ID{}, err
	}
	for _, e := range have {
		if slices.Contains(e.Addresses(), a) {
			return e.ID, nil
		}
	}
	e := &hns.Endpoint{Name: "Ethernet", Network: n.net.ID, Flags: hns.EndpointRemote, IPConfigs: []hns.IPConfig{{Address: a}}}
	b := a.As4()
	e.MAC = hns.MAC{0x02, 0x11, b[0], b[1], b[2], b[3]} // made up, as kube-proxy does on L2Bridge
	if n.mode == modes.Overlay {
		at, mac := linux.addr, linuxMAC
		for _, o := range all {
			if o.subnet.Contains(a) {
				at, mac = o.addr, o.net.DRMAC()
			}
		}
		e.MAC, e.Policies = mac, []hns.EndpointPolicy{hns.ProviderAddress{Address: at}}
	}
	made, err := n.client.Endpoints.Create(ctx, e)
	if err != nil {
		return hns.ID{}, fmt.Errorf("remote endpoint for %s: %w", a, err)
	}
	return made.ID, nil
}

// stack is the node's own IP configuration.
func (n *node) stack() *flows.IPStack {
	s := &flows.IPStack{
		Adapters: []flows.Adapter{{Name: "vEthernet (Ethernet)", Addresses: []netip.Prefix{netip.PrefixFrom(n.addr, nodeCIDR.Bits())}, Forwarding: n.mode == modes.L2Bridge}},
		Routes:   []flows.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0"), NextHop: router}},
	}
	if n.mode != modes.L2Bridge {
		return s
	}
	s.Adapters = append(s.Adapters, flows.Adapter{Name: "vEthernet (" + n.host.Name + ")", Addresses: []netip.Prefix{n.host.IPConfigs[0].Prefix()}, Forwarding: true})
	for _, m := range append([]machine{linux}, windows...) {
		if m.name != n.name {
			s.Routes = append(s.Routes, flows.Route{Destination: m.subnet, NextHop: m.addr})
		}
	}
	return s
}
