package clustertest

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// proxyServices makes the load balancers of the services and what they need, as
// kube-proxy does from what HNS tells of the other nodes.
func (c *cluster) proxyServices(w *winNode) {
	c.Helper()
	n, err := w.network(c.Context())
	if err != nil || n == nil {
		c.Fatalf("%s: no network: %v", w.name, err)
	}
	subnet := n.Subnets()[0].Prefix
	var sourceVIP netip.Addr
	if w.overlay() {
		sourceVIP = w.agent.Status().Plan.KubeProxy.SourceVIP
		e := &hns.Endpoint{Name: "source-vip", Network: n.ID, IPConfigs: []hns.IPConfig{{Address: sourceVIP, PrefixLength: uint8(subnet.Bits())}}}
		if _, err := w.client.Endpoints.Create(c.Context(), e); err != nil {
			c.Fatalf("%s: source VIP: %v", w.name, err)
		}
	}
	for _, s := range c.services() {
		var ids []hns.ID
		for _, b := range s.Backends {
			id, err := c.backendEndpoint(w, n, b)
			if err != nil {
				c.Fatalf("%s: backend %s: %v", w.name, b, err)
			}
			ids = append(ids, id)
		}
		for _, p := range s.Ports {
			_, err := w.client.LoadBalancers.Create(c.Context(), &hns.LoadBalancer{Endpoints: ids, SourceVIP: sourceVIP, FrontendVIPs: s.Addresses,
				PortMappings: []hns.LoadBalancerPortMapping{{Protocol: p.Protocol, ExternalPort: p.Port, InternalPort: p.Target}}})
			if err != nil {
				c.Fatalf("%s: service %s: %v", w.name, s.Name, err)
			}
		}
	}
}

// backendEndpoint returns the endpoint with an address: a pod's, or a remote one,
// which on Overlay is made from the way to the node of the pod.
func (c *cluster) backendEndpoint(w *winNode, n *hns.Network, a netip.Addr) (hns.ID, error) {
	have, err := w.client.Endpoints.OfNetwork(c.Context(), n.ID)
	if err != nil {
		return hns.ID{}, err
	}
	for _, e := range have {
		if slices.Contains(e.Addresses(), a) {
			return e.ID, nil
		}
	}
	b := a.As4()
	e := &hns.Endpoint{Name: "Ethernet", Network: n.ID, Flags: hns.EndpointRemote, IPConfigs: []hns.IPConfig{{Address: a}}, MAC: hns.MAC{0x02, 0x11, b[0], b[1], b[2], b[3]}}
	if w.overlay() {
		ways := hns.PoliciesOf[hns.RemoteSubnetRoute](n.Policies)
		i := slices.IndexFunc(ways, func(r hns.RemoteSubnetRoute) bool { return r.DestinationPrefix.Contains(a) })
		if i < 0 {
			return hns.ID{}, fmt.Errorf("no way to it")
		}
		e.MAC, e.Policies = ways[i].DistributedRouterMAC, []hns.EndpointPolicy{hns.ProviderAddress{Address: ways[i].ProviderAddress}}
	}
	made, err := w.client.Endpoints.Create(c.Context(), e)
	if err != nil {
		return hns.ID{}, err
	}
	return made.ID, nil
}

// unproxyServices takes away what proxyServices made.
func (c *cluster) unproxyServices(w *winNode) {
	c.Helper()
	lbs, err := w.client.LoadBalancers.List(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for _, lb := range lbs {
		if err := w.client.LoadBalancers.Delete(c.Context(), lb.ID); err != nil {
			c.Fatal(err)
		}
	}
	eps, err := w.client.Endpoints.List(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for _, e := range eps {
		if e.Flags&hns.EndpointRemote == 0 && e.Name != "source-vip" {
			continue
		}
		if err := w.client.Endpoints.Delete(c.Context(), e.ID); err != nil {
			c.Fatal(err)
		}
	}
}
