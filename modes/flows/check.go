package flows

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// checker collects what has no meaning in a cluster.
type checker struct{ bad []error }

func (k *checker) field(path, value, reason string) {
	k.bad = append(k.bad, &hns.FieldError{Path: path, Value: value, Reason: reason})
}

func (k *checker) address(path string, a netip.Addr) {
	if !a.IsValid() {
		k.field(path, "", "not an address")
	}
}

func (k *checker) prefix(path string, p netip.Prefix) {
	if !p.IsValid() {
		k.field(path, "", "not a prefix")
	}
}

func (k *checker) addresses(path string, as []netip.Addr) {
	for i, a := range as {
		k.address(fmt.Sprintf("%s[%d]", path, i), a)
	}
}

func (k *checker) prefixes(path string, ps []netip.Prefix) {
	for i, p := range ps {
		k.prefix(fmt.Sprintf("%s[%d]", path, i), p)
	}
}

func (k *checker) routes(path string, rs []Route) {
	for i, r := range rs {
		k.prefix(fmt.Sprintf("%s[%d].Destination", path, i), r.Destination)
		k.address(fmt.Sprintf("%s[%d].NextHop", path, i), r.NextHop)
	}
}

// documents wants no nil among the documents of a State.
func documents[T any](k *checker, path string, ds []*T) {
	for i, d := range ds {
		if d == nil {
			k.field(fmt.Sprintf("%s[%d]", path, i), "", "nil")
		}
	}
}

// check finds what has no meaning.
func check(c *Cluster) []error {
	k := &checker{}
	names := map[string]bool{}
	for i := range c.Nodes {
		n, at := &c.Nodes[i], fmt.Sprintf("Nodes[%d]", i)
		switch {
		case n.Name == "":
			k.field(at+".Name", "", "missing")
		case names[n.Name]:
			k.field(at+".Name", n.Name, "second node of the name")
		}
		names[n.Name] = true
		if (n.Windows == nil) == (n.Linux == nil) {
			k.field(at, n.Name, "a node is either Windows or Linux")
		}
		k.addresses(at+".Addresses", n.Addresses)
		k.prefixes(at+".PodSubnets", n.PodSubnets)
		if n.Windows != nil {
			k.windows(at+".Windows", n.Windows)
		}
		if n.Linux != nil {
			k.linux(at+".Linux", n.Linux)
		}
	}
	if c.Physical != nil {
		k.physical(c.Physical, names)
	}
	k.rest(c)
	return k.bad
}

func (k *checker) windows(at string, w *Windows) {
	if s := w.HNS; s != nil {
		documents(k, at+".HNS.Networks", s.Networks)
		documents(k, at+".HNS.Endpoints", s.Endpoints)
		documents(k, at+".HNS.Namespaces", s.Namespaces)
		documents(k, at+".HNS.LoadBalancers", s.LoadBalancers)
		documents(k, at+".HNS.Routes", s.Routes)
	}
	if w.Host != nil {
		k.stack(at+".Host", w.Host)
	}
}

func (k *checker) stack(at string, s *IPStack) {
	for i, a := range s.Adapters {
		k.prefixes(fmt.Sprintf("%s.Adapters[%d].Addresses", at, i), a.Addresses)
	}
	k.routes(at+".Routes", s.Routes)
}

func (k *checker) linux(at string, l *Linux) {
	k.stack(at, &l.IPStack)
	for i, p := range l.Pods {
		if !p.Address.IsValid() || p.Name == "" {
			k.field(fmt.Sprintf("%s.Pods[%d]", at, i), p.Name, "a pod has a name and an address")
		}
	}
	k.prefixes(at+".MasqueradeExcept", l.MasqueradeExcept)
	if l.VXLAN == nil {
		return
	}
	for i, p := range l.VXLAN.Peers {
		k.prefix(fmt.Sprintf("%s.VXLAN.Peers[%d].Subnet", at, i), p.Subnet)
		k.address(fmt.Sprintf("%s.VXLAN.Peers[%d].Node", at, i), p.Node)
	}
}

func (k *checker) physical(p *Physical, names map[string]bool) {
	k.addresses("Physical.Routers", p.Routers)
	k.routes("Physical.Routes", p.Routes)
	if p.VNet != nil {
		for i, a := range p.VNet.Assigned {
			at := fmt.Sprintf("Physical.VNet.Assigned[%d]", i)
			k.prefix(at+".Prefix", a.Prefix)
			if !names[a.Node] {
				k.field(at+".Node", a.Node, "no node of the name")
			}
		}
	}
	if p.Fabric != nil {
		k.prefixes("Physical.Fabric.Pods", p.Fabric.Pods)
	}
}

func (k *checker) rest(c *Cluster) {
	for i, s := range c.Services {
		at := fmt.Sprintf("Services[%d]", i)
		k.addresses(at+".Addresses", s.Addresses)
		k.addresses(at+".Backends", s.Backends)
	}
	for i, h := range c.Outside {
		if h.Name == "" || !h.Address.IsValid() {
			k.field(fmt.Sprintf("Outside[%d]", i), h.Name, "a host has a name and an address")
		}
	}
	for i, r := range c.Resolvers {
		at := fmt.Sprintf("Resolvers[%d]", i)
		k.address(at+".Address", r.Address)
		for _, name := range slices.Sorted(maps.Keys(r.Records)) {
			k.addresses(fmt.Sprintf("%s.Records[%q]", at, name), r.Records[name])
		}
	}
}
