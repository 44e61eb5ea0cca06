package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
)

// service puts a load balancer and a route on an endpoint, changes and reads
// them, and takes all of it away again.
func service(ctx context.Context, c *hns.Client) error {
	n, err := c.Networks.ByName(ctx, "cbr0")
	if err != nil {
		return err
	}
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: "web", Network: n.ID})
	if err != nil {
		return err
	}
	if err := balance(ctx, c, ep); err != nil {
		return err
	}
	if err := route(ctx, c, ep); err != nil {
		return err
	}
	return c.Endpoints.Delete(ctx, ep.ID)
}

func balance(ctx context.Context, c *hns.Client, ep *hns.Endpoint) error {
	lb, err := c.LoadBalancers.Create(ctx, &hns.LoadBalancer{
		Endpoints:    []hns.ID{ep.ID},
		FrontendVIPs: []netip.Addr{netip.MustParseAddr("10.96.0.7")},
		PortMappings: []hns.LoadBalancerPortMapping{{Protocol: 6, ExternalPort: 80, InternalPort: 8080}},
	})
	if err != nil {
		return err
	}
	lb.PortMappings[0].ExternalPort = 81
	if err := c.LoadBalancers.Update(ctx, lb); err != nil {
		return err
	}
	lbs, err := c.LoadBalancers.List(ctx)
	if err != nil {
		return err
	}
	for _, l := range lbs {
		fmt.Printf("load balancer %v port %d, on the endpoint %t\n", l.FrontendVIPs, l.PortMappings[0].ExternalPort, l.Endpoints[0] == ep.ID)
	}
	if err := c.LoadBalancers.Delete(ctx, lb.ID); err != nil {
		return err
	}
	if _, err := c.LoadBalancers.ByID(ctx, lb.ID); !errors.Is(err, hns.ErrNotFound) {
		return fmt.Errorf("load balancer is not gone: %w", err)
	}
	return nil
}

func route(ctx context.Context, c *hns.Client, ep *hns.Endpoint) error {
	r, err := c.Routes.Create(ctx, &hns.SDNRouteObject{
		Endpoints: []hns.ID{ep.ID},
		Routes:    []hns.SDNRoute{{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true}},
	})
	if err != nil {
		return err
	}
	rs, err := c.Routes.List(ctx)
	if err != nil {
		return err
	}
	for _, r := range rs {
		fmt.Printf("route %s, on the endpoint %t\n", r.Routes[0].DestinationPrefix, r.Endpoints[0] == ep.ID)
	}
	if err := c.Routes.Delete(ctx, r.ID); err != nil {
		return err
	}
	if _, err := c.Routes.ByID(ctx, r.ID); !errors.Is(err, hns.ErrNotFound) {
		return fmt.Errorf("route is not gone: %w", err)
	}
	return nil
}
