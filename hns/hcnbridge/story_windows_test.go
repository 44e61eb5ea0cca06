package hcnbridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// node is the objects that the story below is about.
type node struct {
	net, ep, other, ns, ns2, lb, route hns.ID
}

func newNode(t *testing.T) node {
	id := func(s string) hns.ID {
		id, err := hns.ParseID(s)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	return node{id(netID), id(epID), id("0d1f6c4e-5a53-4b38-9d26-0d6f0a5b1c01"), id(nsID), id("0d1f6c4e-5a53-4b38-9d26-0d6f0a5b1c02"), id(lbID), id(rtID)}
}

func (n node) network() *hns.Network {
	return &hns.Network{ID: n.net, Name: "lake", Type: hns.L2Bridge,
		MACPool: []hns.MACRange{{Start: hns.MAC{0, 0x15, 0x5d, 0x84, 0xa0, 0}, End: hns.MAC{0, 0x15, 0x5d, 0x84, 0xaf, 0xff}}},
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: netip.MustParsePrefix("10.50.3.0/24"),
			Routes: []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.50.3.1"))}}}}},
		DNS: hns.DNS{Domain: "lake.local", ServerList: []string{"10.96.0.10"}}}
}

func (n node) endpoint(id hns.ID, addr string) *hns.Endpoint {
	return &hns.Endpoint{ID: id, Name: "pod_lake", Network: n.net,
		IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr(addr), PrefixLength: 24}},
		Policies:  []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16"}}, hns.EncapOverhead{Overhead: 50}}}
}

func (n node) loadBalancer(id hns.ID) *hns.LoadBalancer {
	return &hns.LoadBalancer{ID: id, Endpoints: []hns.ID{n.ep}, FrontendVIPs: []netip.Addr{netip.MustParseAddr("10.96.0.80")},
		PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, InternalPort: 8080, ExternalPort: 80}}}
}

func (n node) routes(id, ep hns.ID) *hns.SDNRouteObject {
	return &hns.SDNRouteObject{ID: id, Endpoints: []hns.ID{ep},
		Routes: []hns.SDNRoute{{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true}}}
}

// step is one call of the story and what it gave.
type step struct {
	name string
	docs []json.RawMessage
	err  error
}

type teller struct {
	c     *hns.Client
	ctx   context.Context
	steps []step
}

// tell notes what a call gave: an object, several, another value, or nothing.
func (s *teller) tell(name string, v any, err error) {
	st := step{name: name, err: err}
	if err == nil {
		switch v := v.(type) {
		case nil:
		case *hns.Network:
			st.docs = append(st.docs, v.Document.Raw)
		case *hns.Endpoint:
			st.docs = append(st.docs, v.Document.Raw)
		case *hns.Namespace:
			st.docs = append(st.docs, v.Document.Raw)
		case *hns.LoadBalancer:
			st.docs = append(st.docs, v.Document.Raw)
		case *hns.SDNRouteObject:
			st.docs = append(st.docs, v.Document.Raw)
		default:
			st.docs = append(st.docs, json.RawMessage(fmt.Sprintf("[%q]", fmt.Sprint(v))))
		}
	}
	s.steps = append(s.steps, st)
}

func tellAll[T any](s *teller, name string, list []*T, err error) {
	s.tell(name, len(list), err)
	for i, o := range list {
		s.tell(fmt.Sprintf("%s, %d", name, i), o, nil)
	}
}

// story does everything that both ways can do, with its failures, and leaves
// nothing behind.
func story(t *testing.T, c *hns.Client) []step {
	s, n := &teller{c: c, ctx: t.Context()}, newNode(t)
	s.networks(n)
	s.endpoints(n)
	s.namespaces(n)
	s.loadBalancers(n)
	s.sdnRoutes(n)
	s.end(n)
	return s.steps
}

func (s *teller) networks(n node) {
	c, ctx := s.c, s.ctx
	v, err := c.Version(ctx)
	s.tell("version", v, err)
	_, err = c.Networks.ByID(ctx, n.net)
	s.tell("network not there", nil, err)
	net, err := c.Networks.Create(ctx, n.network())
	s.tell("create network", net, err)
	_, err = c.Networks.Create(ctx, n.network())
	s.tell("network there already", nil, err)
	net, err = c.Networks.ByID(ctx, n.net)
	s.tell("network by id", net, err)
	net, err = c.Networks.ByName(ctx, "lake")
	s.tell("network by name", net, err)
	_, err = c.Networks.ByName(ctx, "sea")
	s.tell("no network of the name", nil, err)
	nets, err := c.Networks.List(ctx)
	tellAll(s, "networks", nets, err)
	ip, err := c.Networks.ManagementIP(ctx, n.net)
	s.tell("management address", ip, err)
	set := hns.SetPolicy{ID: "s", Name: "set", Type: hns.SetIP, Values: []string{"10.50.3.9"}}
	if hns.FeatureSetPolicy.In(v) {
		s.tell("add policy", nil, c.Networks.AddPolicies(ctx, n.net, set))
		set.Values = []string{"10.50.3.9", "10.50.3.10"}
		s.tell("update policy", nil, c.Networks.UpdatePolicies(ctx, n.net, set))
	}
	s.tell("update DNS", nil, c.Networks.UpdateDNS(ctx, n.net, hns.DNS{Domain: "sea.local"}))
	net, err = c.Networks.ByID(ctx, n.net)
	s.tell("changed network", net, err)
	if hns.FeatureSetPolicy.In(v) {
		s.tell("remove policy", nil, c.Networks.RemovePolicies(ctx, n.net, set))
	}
	s.tell("change a network not there", nil, c.Networks.UpdateDNS(ctx, n.ep, hns.DNS{Domain: "x"}))
}

func (s *teller) endpoints(n node) {
	c, ctx := s.c, s.ctx
	ep, err := c.Endpoints.Create(ctx, n.endpoint(n.ep, "10.50.3.20"))
	s.tell("create endpoint", ep, err)
	_, err = c.Endpoints.Create(ctx, n.endpoint(n.other, "10.50.3.20"))
	s.tell("address in use", nil, err)
	wrong := n.endpoint(n.other, "10.50.3.21")
	wrong.Network = n.ep
	_, err = c.Endpoints.Create(ctx, wrong)
	s.tell("endpoint on no network", nil, err)
	ep, err = c.Endpoints.Create(ctx, n.endpoint(n.other, "10.50.3.21"))
	s.tell("create another endpoint", ep, err)
	acl := hns.ACL{Action: hns.ACLAllow, Direction: hns.In, Protocols: []string{"6"}, LocalPorts: []string{"80"}, RuleType: hns.RuleSwitch, Priority: 200}
	s.tell("add policy", nil, c.Endpoints.AddPolicies(ctx, n.ep, acl, hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8080}))
	s.tell("port there already", nil, c.Endpoints.AddPolicies(ctx, n.other, hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8080}))
	acl.Priority = 300
	s.tell("update policy", nil, c.Endpoints.UpdatePolicies(ctx, n.ep, acl))
	ep, err = c.Endpoints.ByID(ctx, n.ep)
	s.tell("changed endpoint", ep, err)
	s.tell("remove policy", nil, c.Endpoints.RemovePolicies(ctx, n.ep, acl))
	eps, err := c.Endpoints.OfNetwork(ctx, n.net)
	tellAll(s, "endpoints of network", eps, err)
	eps, err = c.Endpoints.Named(ctx, "pod_lake")
	tellAll(s, "endpoints named", eps, err)
	_, err = c.Endpoints.ByName(ctx, "pod_lake")
	s.tell("ambiguous", nil, err)
	_, err = c.Endpoints.ByID(ctx, n.net)
	s.tell("endpoint not there", nil, err)
	s.tell("change an endpoint not there", nil, c.Endpoints.AddPolicies(ctx, n.net, acl))
	s.tell("attach to host", nil, c.Endpoints.AttachHost(ctx, n.other))
	s.tell("attach to host again", nil, c.Endpoints.AttachHost(ctx, n.other))
	state, err := c.Endpoints.State(ctx, n.other)
	s.tell("state", state, err)
	s.tell("detach from host", nil, c.Endpoints.DetachHost(ctx, n.other))
	state, err = c.Endpoints.State(ctx, n.other)
	s.tell("state after", state, err)
	_, err = c.Endpoints.State(ctx, n.net)
	s.tell("state of an endpoint not there", nil, err)
}

func (s *teller) namespaces(n node) {
	c, ctx := s.c, s.ctx
	for _, id := range []hns.ID{n.ns, n.ns2} {
		ns, err := c.Namespaces.Create(ctx, &hns.Namespace{ID: id, Type: hns.NamespaceHost})
		s.tell("create namespace", ns, err)
	}
	s.tell("add endpoint", nil, c.Namespaces.AddEndpoint(ctx, n.ns, n.ep))
	s.tell("add it again", nil, c.Namespaces.AddEndpoint(ctx, n.ns, n.ep))
	s.tell("add it elsewhere", nil, c.Namespaces.AddEndpoint(ctx, n.ns2, n.ep))
	s.tell("add an endpoint not there", nil, c.Namespaces.AddEndpoint(ctx, n.ns2, n.net))
	s.tell("add to a namespace not there", nil, c.Namespaces.AddEndpoint(ctx, n.net, n.ep))
	ns, err := c.Namespaces.ByID(ctx, n.ns)
	s.tell("namespace", ns, err)
	ep, err := c.Endpoints.ByID(ctx, n.ep)
	s.tell("endpoint in namespace", ep, err)
	_, err = c.Namespaces.ByID(ctx, n.net)
	s.tell("namespace not there", nil, err)
	s.tell("remove endpoint", nil, c.Namespaces.RemoveEndpoint(ctx, n.ns, n.ep))
	s.tell("remove it again", nil, c.Namespaces.RemoveEndpoint(ctx, n.ns, n.ep))
}

func (s *teller) loadBalancers(n node) {
	c, ctx := s.c, s.ctx
	lb, err := c.LoadBalancers.Create(ctx, n.loadBalancer(n.lb))
	s.tell("create load balancer", lb, err)
	_, err = c.LoadBalancers.Create(ctx, n.loadBalancer(n.net))
	s.tell("its port there already", nil, err)
	wrong := n.loadBalancer(n.net)
	wrong.Endpoints = []hns.ID{n.net}
	_, err = c.LoadBalancers.Create(ctx, wrong)
	s.tell("load balancer without its endpoint", nil, err)
	more := n.loadBalancer(n.lb)
	more.PortMappings[0].ExternalPort = 81
	s.tell("update load balancer", nil, c.LoadBalancers.Update(ctx, more)) // on HNS 16; before, a FeatureError
	lb, err = c.LoadBalancers.ByID(ctx, n.lb)
	s.tell("load balancer", lb, err)
	lbs, err := c.LoadBalancers.List(ctx)
	tellAll(s, "load balancers", lbs, err)
	_, err = c.LoadBalancers.ByID(ctx, n.net)
	s.tell("load balancer not there", nil, err)
}

func (s *teller) sdnRoutes(n node) {
	c, ctx := s.c, s.ctx
	r, err := c.Routes.Create(ctx, n.routes(n.route, n.ep))
	s.tell("create routes", r, err)
	_, err = c.Routes.Create(ctx, n.routes(n.net, n.net))
	s.tell("routes without their endpoint", nil, err)
	r, err = c.Routes.Replace(ctx, n.routes(n.route, n.other))
	s.tell("replace routes", r, err)
	r, err = c.Routes.ByID(ctx, n.route)
	s.tell("routes", r, err)
	rs, err := c.Routes.List(ctx)
	tellAll(s, "all routes", rs, err)
	_, err = c.Routes.ByID(ctx, n.net)
	s.tell("routes not there", nil, err)
}

func (s *teller) end(n node) {
	c, ctx := s.c, s.ctx
	for range 2 { // the second time nothing is there
		s.tell("delete routes", nil, c.Routes.Delete(ctx, n.route))
		s.tell("delete load balancer", nil, c.LoadBalancers.Delete(ctx, n.lb))
		s.tell("delete namespace", nil, c.Namespaces.Delete(ctx, n.ns))
		s.tell("delete namespace", nil, c.Namespaces.Delete(ctx, n.ns2))
		s.tell("delete endpoint", nil, c.Endpoints.Delete(ctx, n.ep))
		s.tell("delete network", nil, c.Networks.Delete(ctx, n.net))
	}
	snap, err := c.Snapshot(ctx)
	if err != nil {
		s.tell("snapshot", nil, err)
		return
	}
	s.tell("what is left", len(snap.Networks)+len(snap.Endpoints)+len(snap.Namespaces)+len(snap.LoadBalancers)+len(snap.Routes), nil)
}
