package flows_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

var made sync.Map // of *flows.Cluster by mode

// cluster returns the healthy cluster of a mode, to be changed as one likes.
func cluster(t testing.TB, m modes.Mode) *flows.Cluster {
	t.Helper()
	c, ok := made.Load(m)
	if !ok {
		fresh, err := mixedcluster.New(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		made.Store(m, fresh)
		c = fresh
	}
	return clone(c.(*flows.Cluster))
}

// clone copies whatever a test changes.
func clone(c *flows.Cluster) *flows.Cluster {
	d := *c
	d.Outside, d.Services, d.Resolvers, d.Nodes = slices.Clone(c.Outside), slices.Clone(c.Services), slices.Clone(c.Resolvers), slices.Clone(c.Nodes)
	for i := range d.Resolvers {
		d.Resolvers[i].Records = maps.Clone(d.Resolvers[i].Records)
	}
	if c.Physical != nil {
		p := *c.Physical
		d.Physical = &p
		p.Routes, p.Routers = slices.Clone(p.Routes), slices.Clone(p.Routers)
		if p.VNet != nil {
			v := *p.VNet
			v.Assigned = slices.Clone(v.Assigned)
			d.Physical.VNet = &v
		}
		if p.Fabric != nil {
			f := *p.Fabric
			f.Pods = slices.Clone(f.Pods)
			d.Physical.Fabric = &f
		}
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Linux != nil {
			l := *n.Linux
			l.Adapters, l.Routes, l.Pods = slices.Clone(l.Adapters), slices.Clone(l.Routes), slices.Clone(l.Pods)
			if l.VXLAN != nil {
				v := *l.VXLAN
				v.Peers = slices.Clone(v.Peers)
				l.VXLAN = &v
			}
			n.Linux = &l
			continue
		}
		n.Windows = cloneWindows(n.Windows)
	}
	return &d
}

func cloneWindows(w *flows.Windows) *flows.Windows {
	s, host := *w.HNS, *w.Host
	s.Networks = copies(s.Networks, func(n *hns.Network) { n.Policies, n.IPAMs = slices.Clone(n.Policies), slices.Clone(n.IPAMs) })
	s.Endpoints = copies(s.Endpoints, func(e *hns.Endpoint) { e.Policies = slices.Clone(e.Policies) })
	s.Namespaces = copies(s.Namespaces, func(*hns.Namespace) {})
	s.LoadBalancers = copies(s.LoadBalancers, func(l *hns.LoadBalancer) {
		l.Endpoints, l.PortMappings = slices.Clone(l.Endpoints), slices.Clone(l.PortMappings)
	})
	host.Adapters, host.Routes = slices.Clone(host.Adapters), slices.Clone(host.Routes)
	return &flows.Windows{HNS: &s, Host: &host}
}

func copies[T any](in []*T, inside func(*T)) []*T {
	var out []*T
	for _, x := range in {
		y := *x
		inside(&y)
		out = append(out, &y)
	}
	return out
}

func world(t testing.TB, c *flows.Cluster) *flows.World {
	t.Helper()
	w, err := flows.New(*c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func nodeOf(t testing.TB, c *flows.Cluster, name string) *flows.Node {
	t.Helper()
	i := slices.IndexFunc(c.Nodes, func(n flows.Node) bool { return n.Name == name })
	if i < 0 {
		t.Fatalf("no node %q", name)
	}
	return &c.Nodes[i]
}

// removePolicies removes the policies that gone names from a list.
func removePolicies[P interface{ PolicyType() string }](ps []P, gone func(P) bool) []P {
	return slices.DeleteFunc(slices.Clone(ps), gone)
}

// remove takes the object that r names out of the cluster, and fails the test
// if there is none.
func remove(t testing.TB, c *flows.Cluster, r flows.Ref) {
	t.Helper()
	if !remover(t, c, r) {
		t.Fatalf("there is no %s to remove", r)
	}
}

func remover(t testing.TB, c *flows.Cluster, r flows.Ref) bool {
	t.Helper()
	switch r.Kind {
	case flows.KindResolver:
		for i := range c.Resolvers {
			delete(c.Resolvers[i].Records, r.Detail)
		}
		return true
	case flows.KindOutside:
		n := len(c.Outside)
		c.Outside = slices.DeleteFunc(c.Outside, func(h flows.Host) bool { return h.Name == r.Name })
		return len(c.Outside) < n
	case flows.KindPhysical:
		return removePhysical(c.Physical, r)
	case flows.KindService:
		if r.Node == "" {
			n := len(c.Services)
			c.Services = slices.DeleteFunc(c.Services, func(s flows.Service) bool { return s.Name == r.Name })
			return len(c.Services) < n
		}
	}
	n := nodeOf(t, c, r.Node)
	if n.Linux != nil {
		return removeLinux(n.Linux, r)
	}
	switch r.Kind {
	case flows.KindAdapter:
		for i := range n.Windows.Host.Adapters {
			if a := &n.Windows.Host.Adapters[i]; a.Name == r.Name && a.Forwarding {
				a.Forwarding = false
				return true
			}
		}
	case flows.KindRoute:
		return removeRoute(&n.Windows.Host.Routes, r)
	case flows.KindNamespace:
		before := len(n.Windows.HNS.Namespaces)
		n.Windows.HNS.Namespaces = slices.DeleteFunc(n.Windows.HNS.Namespaces, func(x *hns.Namespace) bool { return x.ID == r.ID })
		return len(n.Windows.HNS.Namespaces) < before
	case flows.KindNetwork:
		switch r.Policy {
		case "":
			n.Windows.HNS.Networks = nil
			return true
		case "VSID":
			s := n.Windows.HNS.Networks[0].Subnets()[0]
			s.Policies = nil
			n.Windows.HNS.Networks[0].IPAMs = []hns.IPAM{{Subnets: []hns.Subnet{s}}}
			return true
		}
		for _, net := range n.Windows.HNS.Networks {
			before := len(net.Policies)
			net.Policies = removePolicies(net.Policies, func(p hns.NetworkPolicy) bool {
				rsr, ok := p.(hns.RemoteSubnetRoute)
				return net.ID == r.ID && p.PolicyType() == r.Policy && (!ok || rsr.DestinationPrefix.String() == r.Detail)
			})
			if len(net.Policies) < before {
				return true
			}
		}
	case flows.KindLoadBalancer:
		return removeLoadBalancer(n.Windows.HNS, r)
	case flows.KindEndpoint:
		return removeOfEndpoint(n.Windows.HNS, r)
	}
	return false
}

func removePhysical(p *flows.Physical, r flows.Ref) bool {
	kind, detail, _ := strings.Cut(r.Detail, " ")
	switch {
	case r.Detail == "fabric":
		p.Fabric = nil
	case r.Detail == "fabric services":
		p.Fabric.Services = false
	case r.Detail == "fabric NAT":
		p.Fabric.NAT = false
	case r.Detail == "virtual network":
		p.VNet = nil
	case kind == "router":
		n := len(p.Routers)
		p.Routers = slices.DeleteFunc(p.Routers, func(a netip.Addr) bool { return a.String() == detail })
		return len(p.Routers) < n
	case r.Detail == "virtual network SNAT":
		p.VNet.SNAT = false
	case kind == "assigned":
		n := len(p.VNet.Assigned)
		p.VNet.Assigned = slices.DeleteFunc(p.VNet.Assigned, func(a flows.Assignment) bool { return a.Prefix.String() == detail })
		return len(p.VNet.Assigned) < n
	default:
		return false
	}
	return true
}

func removeRoute(rs *[]flows.Route, r flows.Ref) bool {
	n := len(*rs)
	*rs = slices.DeleteFunc(*rs, func(x flows.Route) bool { return x.Destination.String() == r.Detail })
	return len(*rs) < n
}

func removeLinux(l *flows.Linux, r flows.Ref) bool {
	switch {
	case r.Kind == flows.KindPod:
		n := len(l.Pods)
		l.Pods = slices.DeleteFunc(l.Pods, func(p flows.LinuxPod) bool { return p.Name == r.Name })
		return len(l.Pods) < n
	case r.Kind == flows.KindRoute:
		return removeRoute(&l.Routes, r)
	case r.Kind == flows.KindService:
		l.ServiceProxy = false
	case r.Detail == "IP forwarding":
		l.Forwarding = false
	case r.Detail == "masquerade":
		l.Masquerade = false
	case r.Kind == flows.KindVXLAN && r.Detail == "":
		l.VXLAN = nil
	case r.Kind == flows.KindVXLAN:
		n := len(l.VXLAN.Peers)
		l.VXLAN.Peers = slices.DeleteFunc(l.VXLAN.Peers, func(p flows.VXLANPeer) bool { return "peer "+p.Subnet.String() == r.Detail })
		return len(l.VXLAN.Peers) < n
	default:
		return false
	}
	return true
}

func removeLoadBalancer(s *flows.State, r flows.Ref) bool {
	for i, l := range s.LoadBalancers {
		if l.ID != r.ID {
			continue
		}
		switch r.Detail {
		case "":
			s.LoadBalancers = slices.Delete(s.LoadBalancers, i, i+1)
		case "SourceVIP":
			l.SourceVIP = netip.Addr{}
		case "DSR":
			l.Flags &^= hns.LoadBalancerDSR
		default:
			return false
		}
		return true
	}
	return false
}

func removeOfEndpoint(s *flows.State, r flows.Ref) bool {
	i := slices.IndexFunc(s.Endpoints, func(e *hns.Endpoint) bool { return e.ID == r.ID })
	if i < 0 {
		return false
	}
	e := s.Endpoints[i]
	word, value, _ := strings.Cut(r.Detail, " ")
	switch {
	case isWhole(e, r):
		s.Endpoints = slices.Delete(s.Endpoints, i, i+1)
		return true
	case r.Detail == "default route":
		e.Routes = nil
		return true
	case r.Detail == "Dns ServerList":
		e.DNS.ServerList = nil
		return true
	case r.Detail == "Dns Search":
		e.DNS.Search = nil
		return true
	}
	found := false
	for j, p := range e.Policies {
		switch p := p.(type) {
		case hns.OutBoundNAT:
			if word == "Exceptions" && slices.Contains(p.Exceptions, value) {
				p.Exceptions = slices.DeleteFunc(slices.Clone(p.Exceptions), func(x string) bool { return x == value })
				e.Policies[j], found = p, true
			}
		}
	}
	if found {
		return true
	}
	n := len(e.Policies)
	e.Policies = removePolicies(e.Policies, func(p hns.EndpointPolicy) bool {
		switch q := p.(type) {
		case hns.SDNRoute:
			return r.Policy == "SDNRoute" && q.DestinationPrefix.String() == r.Detail
		case hns.ProviderAddress:
			return r.Policy == "ProviderAddress"
		case hns.OutBoundNAT:
			return r.Policy == "OutBoundNAT" && (r.Detail == "" || word == "Destinations" && slices.Contains(q.Destinations, value))
		}
		return false
	})
	return len(e.Policies) < n
}
