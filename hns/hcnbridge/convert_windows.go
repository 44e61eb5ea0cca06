package hcnbridge

import (
	"fmt"
	"strconv"

	"github.com/Microsoft/hcsshim/hcn"

	"github.com/hnskit/hnskit/hns"
)

// NetworkFromHCN converts a network of hcn. The losses are values of h that
// cannot be read, such as an address that is none: their fields hold zero, or
// lack the element. Health is in Document.Raw alone. The error is for a nil h
// and for settings of policies that are no JSON.
func NetworkFromHCN(h *hcn.HostComputeNetwork) (*hns.Network, []Loss, error) {
	n, err := fromHCN("network", h, hns.DecodeNetwork)
	if err != nil {
		return nil, nil, err
	}
	return n, unread(n.Document), nil
}

// NetworkToHCN converts a network to one of hcn. The losses are the values that
// hcn has no room for, of n, and of its Document, as it was read, those that n
// does not write itself; the package comment names them. Health is that of the
// Document. The error is for a nil n, a Document that is no JSON, and policies
// that have no text.
func NetworkToHCN(n *hns.Network) (*hcn.HostComputeNetwork, []Loss, error) {
	if n == nil {
		return nil, nil, errNil("network")
	}
	c, err := toHCN[hcn.HostComputeNetwork](n, n.Document, hns.DecodeNetwork)
	if err != nil {
		return nil, nil, fmt.Errorf("hcnbridge: network: %w", err)
	}
	c.now.Health = c.read.Health
	for i, ipam := range n.IPAMs {
		for j, s := range ipam.Subnets {
			if !s.ID.IsZero() { // filled by HNS, so no create writes it
				c.lose(Loss{fmt.Sprintf("Ipams[%d].Subnets[%d].ID", i, j), strconv.Quote(s.ID.String())})
			}
		}
	}
	return &c.now, c.losses, nil
}

// EndpointFromHCN converts an endpoint of hcn, as [NetworkFromHCN] does.
func EndpointFromHCN(h *hcn.HostComputeEndpoint) (*hns.Endpoint, []Loss, error) {
	e, err := fromHCN("endpoint", h, hns.DecodeEndpoint)
	if err != nil {
		return nil, nil, err
	}
	return e, unread(e.Document), nil
}

// EndpointToHCN converts an endpoint to one of hcn, as [NetworkToHCN] does. The
// result has the namespace, with which hcn refuses to create an endpoint.
func EndpointToHCN(e *hns.Endpoint) (*hcn.HostComputeEndpoint, []Loss, error) {
	if e == nil {
		return nil, nil, errNil("endpoint")
	}
	c, err := toHCN[hcn.HostComputeEndpoint](e, e.Document, hns.DecodeEndpoint)
	if err != nil {
		return nil, nil, fmt.Errorf("hcnbridge: endpoint: %w", err)
	}
	c.now.Health = c.read.Health
	if e.State != 0 { // of the object, whether it is in a document or not
		c.lose(Loss{"State", strconv.Itoa(int(e.State))})
	}
	return &c.now, c.losses, nil
}

// NamespaceFromHCN converts a namespace of hcn, as [NetworkFromHCN] does.
func NamespaceFromHCN(h *hcn.HostComputeNamespace) (*hns.Namespace, []Loss, error) {
	n, err := fromHCN("namespace", h, hns.DecodeNamespace)
	if err != nil {
		return nil, nil, err
	}
	return n, unread(n.Document), nil
}

// NamespaceToHCN converts a namespace to one of hcn, with its resources, as
// [NetworkToHCN] does.
func NamespaceToHCN(n *hns.Namespace) (*hcn.HostComputeNamespace, []Loss, error) {
	if n == nil {
		return nil, nil, errNil("namespace")
	}
	c, err := toHCN[hcn.HostComputeNamespace](n, n.Document, hns.DecodeNamespace)
	if err != nil {
		return nil, nil, fmt.Errorf("hcnbridge: namespace: %w", err)
	}
	for _, r := range n.Resources {
		data, err := resourceData(c.read.Resources, r)
		if err != nil {
			return nil, nil, fmt.Errorf("hcnbridge: namespace: %w", err)
		}
		c.now.Resources = append(c.now.Resources, hcn.NamespaceResource{Type: hcn.NamespaceResourceType(r.Type), Data: data})
	}
	return &c.now, c.losses, nil
}

// LoadBalancerFromHCN converts a load balancer of hcn, as [NetworkFromHCN] does.
func LoadBalancerFromHCN(h *hcn.HostComputeLoadBalancer) (*hns.LoadBalancer, []Loss, error) {
	l, err := fromHCN("load balancer", h, hns.DecodeLoadBalancer)
	if err != nil {
		return nil, nil, err
	}
	return l, unread(l.Document), nil
}

// LoadBalancerToHCN converts a load balancer to one of hcn, as [NetworkToHCN]
// does.
func LoadBalancerToHCN(l *hns.LoadBalancer) (*hcn.HostComputeLoadBalancer, []Loss, error) {
	if l == nil {
		return nil, nil, errNil("load balancer")
	}
	c, err := toHCN[hcn.HostComputeLoadBalancer](l, l.Document, hns.DecodeLoadBalancer)
	if err != nil {
		return nil, nil, fmt.Errorf("hcnbridge: load balancer: %w", err)
	}
	return &c.now, c.losses, nil
}

// RouteFromHCN converts an SDN route object of hcn, as [NetworkFromHCN] does.
func RouteFromHCN(h *hcn.HostComputeRoute) (*hns.SDNRouteObject, []Loss, error) {
	o, err := fromHCN("SDN route object", h, hns.DecodeSDNRouteObject)
	if err != nil {
		return nil, nil, err
	}
	return o, unread(o.Document), nil
}

// RouteToHCN converts an SDN route object to one of hcn, as [NetworkToHCN] does.
func RouteToHCN(o *hns.SDNRouteObject) (*hcn.HostComputeRoute, []Loss, error) {
	if o == nil {
		return nil, nil, errNil("SDN route object")
	}
	c, err := toHCN[hcn.HostComputeRoute](o, o.Document, hns.DecodeSDNRouteObject)
	if err != nil {
		return nil, nil, fmt.Errorf("hcnbridge: SDN route object: %w", err)
	}
	return &c.now, c.losses, nil
}
