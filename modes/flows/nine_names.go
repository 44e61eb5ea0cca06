package flows

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

// toNames asks for pods by a name that a resolver has for them: of a headless
// service, say.
func (s *sample) toNames(from Place) []namedPacket {
	var out []namedPacket
	for _, p := range s.peers {
		if name := s.nameOf(p.owner); name != "" {
			out = append(out, namedPacket{name: p.name, packet: Packet{From: from, To: Target{Name: name}}})
		}
	}
	return out
}

// nameOf returns the first name of the first resolver that stands for o alone.
func (s *sample) nameOf(o owner) string {
	for i := range s.w.cluster.Resolvers {
		r := &s.w.cluster.Resolvers[i]
		for _, name := range slices.Sorted(maps.Keys(r.Records)) {
			as := r.Records[name]
			if len(as) == 1 && slices.ContainsFunc(s.w.owners[as[0]], func(x owner) bool { return x == o }) {
				return name
			}
		}
	}
	return ""
}

// service is the first service that is not the cluster's DNS; where none is
// described, what the HNS of the pod's node has load balancers for.
func (s *sample) service() *Service {
	for i := range s.w.cluster.Services {
		v := &s.w.cluster.Services[i]
		if len(v.Addresses) == 0 || len(v.Ports) == 0 || s.w.resolvers[v.Addresses[0]] != nil {
			continue
		}
		return v
	}
	if len(s.w.cluster.Services) > 0 {
		return nil
	}
	return s.balanced()
}

// balanced is the service that the first load balancer of the pod's node and
// network is for, by address and port; without a name.
func (s *sample) balanced() *Service {
	var all []lbKey
	for k, l := range s.pod.node.lbs {
		if k.addr.IsValid() && k.port != 0 && k.port != dnsPort && (l.net == nil || l.net == s.pod.ep.net) {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b lbKey) int {
		return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.port, b.port), cmp.Compare(a.protocol, b.protocol))
	})
	out := &Service{Addresses: []netip.Addr{all[0].addr}}
	for _, k := range all {
		if k.addr == all[0].addr {
			out.Ports = append(out.Ports, ServicePort{Protocol: k.protocol, Port: k.port})
		}
	}
	l := s.pod.node.lbs[all[0]]
	for _, id := range l.lb.Endpoints {
		if e := l.node.byID[id]; e != nil {
			out.Backends = append(out.Backends, e.addrs...)
		}
	}
	return out
}

// toService asks for each backend that is on a node of the sample, and for one
// that is on none if what lies between the nodes is not known.
func (s *sample) toService(from Place, f Flow) []namedPacket {
	v := s.web
	if v == nil {
		return nil
	}
	to := Target{Address: v.Addresses[0]}
	switch f {
	case PodToServicePQDN:
		to = Target{Name: v.Name}
	case PodToServiceFQDN:
		to = Target{Name: v.FQDN}
	}
	if f != PodToServiceIP && to.Name == "" {
		return nil
	}
	var out []namedPacket
	add := func(name string, backend netip.Addr) {
		out = append(out, namedPacket{name, Packet{From: from, To: to, DstPort: v.Ports[0].Port, Backend: backend}, v})
	}
	for _, n := range s.nodes() {
		for _, b := range v.Backends {
			if o, ok := s.w.byAddress(b, nil); ok && o.node == n.node && o != s.pod {
				add("backend on "+n.name, b)
				break
			}
		}
	}
	for _, b := range v.Backends {
		if _, ok := s.w.byAddress(b, nil); !ok && s.w.cluster.Physical == nil {
			add("backend on a node that is not described", b)
			break
		}
	}
	if len(out) == 0 {
		add("any backend", netip.Addr{})
	}
	return out
}

// serves reports whether the service speaks the packet's protocol; no service
// forbids none.
func (s *Service) serves(p Packet) bool {
	return s == nil || slices.ContainsFunc(s.Ports, func(x ServicePort) bool { return x.Protocol == p.Protocol && x.Port == p.DstPort })
}

// toOutside asks for the first host outside that is reached by a router.
func (s *sample) toOutside(from Place, f Flow) []namedPacket {
	for i := range s.w.cluster.Outside {
		h := &s.w.cluster.Outside[i]
		if s.w.resolvers[h.Address] != nil {
			continue
		}
		to := Target{Address: h.Address}
		if f == PodToOutsideName {
			if to = (Target{Name: s.nameOf(owner{outside: h})}); to.Name == "" {
				continue
			}
		}
		return []namedPacket{{name: h.Name, packet: Packet{From: from, To: to, DstPort: 443}}}
	}
	return nil
}
