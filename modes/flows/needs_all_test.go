package flows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/flows"
)

// removal takes one thing out of a cluster.
type removal struct {
	what string
	is   func(flows.Ref) bool // whether a reference means it
	do   func(*flows.Cluster)
}

// removals are all things that can be taken out of a cluster, one at a time.
func removals(c *flows.Cluster) []removal {
	var out []removal
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Windows != nil {
			out = append(out, windowsRemovals(i, n.Name, n.Windows.HNS)...)
		}
		out = append(out, stackRemovals(i, n)...)
		if n.Linux != nil {
			out = append(out, linuxRemovals(i, n)...)
		}
	}
	return append(out, otherRemovals(c)...)
}

func windowsRemovals(at int, node string, s *flows.State) []removal {
	var out []removal
	add := func(what string, is func(flows.Ref) bool, do func(*flows.State)) {
		out = append(out, removal{what + " on " + node, func(r flows.Ref) bool { return r.Node == node && is(r) }, func(c *flows.Cluster) { do(c.Nodes[at].Windows.HNS) }})
	}
	for i, e := range s.Endpoints {
		add("endpoint "+e.Name, func(r flows.Ref) bool { return r.ID == e.ID || r.Name == e.Name }, func(s *flows.State) { s.Endpoints = slices.Delete(s.Endpoints, i, i+1) })
		for j, p := range e.Policies {
			add(fmt.Sprintf("policy %s %d of %s", p.PolicyType(), j, e.Name), func(r flows.Ref) bool { return r.ID == e.ID && r.Policy == p.PolicyType() },
				func(s *flows.State) { s.Endpoints[i].Policies = slices.Delete(s.Endpoints[i].Policies, j, j+1) })
		}
		add("routes of "+e.Name, func(r flows.Ref) bool { return r.ID == e.ID && r.Detail == "default route" }, func(s *flows.State) { s.Endpoints[i].Routes = nil })
		add("servers of "+e.Name, func(r flows.Ref) bool { return r.ID == e.ID && r.Detail == "Dns ServerList" }, func(s *flows.State) { s.Endpoints[i].DNS.ServerList = nil })
		add("suffixes of "+e.Name, func(r flows.Ref) bool { return r.ID == e.ID && r.Detail == "Dns Search" }, func(s *flows.State) { s.Endpoints[i].DNS.Search = nil })
	}
	net := s.Networks[0]
	add("network", func(r flows.Ref) bool { return r.ID == net.ID && r.Policy == "" }, func(s *flows.State) { s.Networks = nil })
	for j, p := range net.Policies {
		add(fmt.Sprintf("network policy %s %d", p.PolicyType(), j), func(r flows.Ref) bool { return r.ID == net.ID && r.Policy == p.PolicyType() },
			func(s *flows.State) { s.Networks[0].Policies = slices.Delete(s.Networks[0].Policies, j, j+1) })
	}
	for j, p := range net.Subnets()[0].Policies {
		add("subnet policy "+p.PolicyType(), func(r flows.Ref) bool { return r.ID == net.ID && r.Policy == p.PolicyType() }, func(s *flows.State) {
			sub := s.Networks[0].Subnets()[0]
			sub.Policies = slices.Delete(slices.Clone(sub.Policies), j, j+1)
			s.Networks[0].IPAMs = []hns.IPAM{{Subnets: []hns.Subnet{sub}}}
		})
	}
	for i, l := range s.LoadBalancers {
		add("load balancer", func(r flows.Ref) bool { return r.ID == l.ID }, func(s *flows.State) { s.LoadBalancers = slices.Delete(s.LoadBalancers, i, i+1) })
	}
	for i, ns := range s.Namespaces {
		add("namespace", func(r flows.Ref) bool { return r.Kind == flows.KindNamespace && r.ID == ns.ID }, func(s *flows.State) { s.Namespaces = slices.Delete(s.Namespaces, i, i+1) })
	}
	return out
}

// stackOf returns the IP stack of a node.
func stackOf(c *flows.Cluster, at int) *flows.IPStack {
	if w := c.Nodes[at].Windows; w != nil {
		return w.Host
	}
	return &c.Nodes[at].Linux.IPStack
}

func stackRemovals(at int, n *flows.Node) []removal {
	var out []removal
	s := n.Windows
	routes, adapters := []flows.Route(nil), []flows.Adapter(nil)
	if s != nil {
		routes, adapters = s.Host.Routes, s.Host.Adapters
	} else {
		routes, adapters = n.Linux.Routes, nil // Linux forwards as a whole
	}
	for i, x := range routes {
		out = append(out, removal{"route " + x.Destination.String() + " on " + n.Name, func(r flows.Ref) bool { return r.Node == n.Name && r.Detail == x.Destination.String() },
			func(c *flows.Cluster) { s := stackOf(c, at); s.Routes = slices.Delete(s.Routes, i, i+1) }})
	}
	for i, x := range adapters {
		out = append(out, removal{"forwarding of " + x.Name + " on " + n.Name, func(r flows.Ref) bool { return r.Node == n.Name && r.Kind == flows.KindAdapter && r.Name == x.Name },
			func(c *flows.Cluster) { stackOf(c, at).Adapters[i].Forwarding = false }})
	}
	return out
}

func linuxRemovals(at int, n *flows.Node) []removal {
	var out []removal
	add := func(what string, is func(flows.Ref) bool, do func(*flows.Linux)) {
		out = append(out, removal{what, func(r flows.Ref) bool { return r.Node == n.Name && is(r) }, func(c *flows.Cluster) { do(c.Nodes[at].Linux) }})
	}
	for i, p := range n.Linux.Pods {
		add("pod "+p.Name, func(r flows.Ref) bool { return r.Kind == flows.KindPod && r.Name == p.Name }, func(l *flows.Linux) { l.Pods = slices.Delete(l.Pods, i, i+1) })
	}
	add("forwarding of Linux", func(r flows.Ref) bool { return r.Detail == "IP forwarding" }, func(l *flows.Linux) { l.Forwarding = false })
	add("masquerade", func(r flows.Ref) bool { return r.Detail == "masquerade" }, func(l *flows.Linux) { l.Masquerade = false })
	add("service proxy", func(r flows.Ref) bool { return r.Kind == flows.KindService }, func(l *flows.Linux) { l.ServiceProxy = false })
	if n.Linux.VXLAN != nil {
		add("VXLAN", func(r flows.Ref) bool { return r.Kind == flows.KindVXLAN }, func(l *flows.Linux) { l.VXLAN = nil })
		for i, p := range n.Linux.VXLAN.Peers {
			add("peer "+p.Subnet.String(), func(r flows.Ref) bool { return r.Detail == "peer "+p.Subnet.String() }, func(l *flows.Linux) { l.VXLAN.Peers = slices.Delete(l.VXLAN.Peers, i, i+1) })
		}
	}
	return out
}

func otherRemovals(c *flows.Cluster) []removal {
	var out []removal
	detail := func(k flows.Kind, text string) func(flows.Ref) bool {
		return func(r flows.Ref) bool { return r.Kind == k && strings.HasPrefix(r.Detail, text) }
	}
	for i, h := range c.Outside {
		out = append(out, removal{"host " + h.Name, func(r flows.Ref) bool { return r.Kind == flows.KindOutside && r.Name == h.Name }, func(c *flows.Cluster) { c.Outside = slices.Delete(c.Outside, i, i+1) }})
	}
	for i, s := range c.Services {
		out = append(out, removal{"service " + s.Name, func(r flows.Ref) bool { return r.Kind == flows.KindService && r.Name == s.Name }, func(c *flows.Cluster) { c.Services = slices.Delete(c.Services, i, i+1) }})
	}
	for i, x := range c.Resolvers {
		for name := range x.Records {
			out = append(out, removal{"record " + name + " of " + x.Name, func(r flows.Ref) bool { return r.Kind == flows.KindResolver && r.Detail == name }, func(c *flows.Cluster) { delete(c.Resolvers[i].Records, name) }})
		}
	}
	for i, a := range c.Physical.Routers {
		out = append(out, removal{"router " + a.String(), detail(flows.KindPhysical, "router "+a.String()), func(c *flows.Cluster) { c.Physical.Routers = slices.Delete(c.Physical.Routers, i, i+1) }})
	}
	if v := c.Physical.VNet; v != nil {
		for i, a := range v.Assigned {
			out = append(out, removal{"assigned " + a.Prefix.String(), detail(flows.KindPhysical, "assigned "+a.Prefix.String()), func(c *flows.Cluster) { v := c.Physical.VNet; v.Assigned = slices.Delete(v.Assigned, i, i+1) }})
		}
		out = append(out, removal{"virtual network", detail(flows.KindPhysical, "virtual network"), func(c *flows.Cluster) { c.Physical.VNet = nil }},
			removal{"SNAT", detail(flows.KindPhysical, "virtual network SNAT"), func(c *flows.Cluster) { c.Physical.VNet.SNAT = false }})
	}
	if c.Physical.Fabric != nil {
		out = append(out, removal{"fabric", detail(flows.KindPhysical, "fabric"), func(c *flows.Cluster) { c.Physical.Fabric = nil }},
			removal{"fabric NAT", detail(flows.KindPhysical, "fabric NAT"), func(c *flows.Cluster) { c.Physical.Fabric.NAT = false }},
			removal{"fabric services", detail(flows.KindPhysical, "fabric services"), func(c *flows.Cluster) { c.Physical.Fabric.Services = false }},
			removal{"fabric pods", detail(flows.KindPhysical, "fabric"), func(c *flows.Cluster) { c.Physical.Fabric.Pods = nil }})
	}
	return out
}

// TestNeedsAreAll: whatever is removed, only what needs it stops working.
func TestNeedsAreAll(t *testing.T) {
	for _, m := range modes.All() {
		var healthy []*flows.Trace
		for _, cell := range world(t, cluster(t, m)).Nine()[0].Cells {
			for _, k := range cell.Cases {
				if k.Trace.Works() {
					healthy = append(healthy, k.Trace)
				}
			}
		}
		stopped := 0
		all := removals(cluster(t, m))
		for _, x := range all {
			c := cluster(t, m)
			x.do(c)
			w := world(t, c)
			for _, tr := range healthy {
				got := w.Trace(tr.Packet)
				if got.Works() {
					continue
				}
				stopped++
				if !slices.ContainsFunc(tr.Needs(), x.is) {
					t.Errorf("%s: %s stops without %s, and does not need it: %s", m, tr.Packet, x.what, got.Diagnosis)
				}
			}
		}
		if len(all) < 20 || stopped < 50 {
			t.Errorf("%s: %d removals stopped only %d packets", m, len(all), stopped)
		}
	}
}
