package flows

import (
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
			out = append(out, namedPacket{p.name, Packet{From: from, To: Target{Name: name}}})
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

// service is the first service that is not the cluster's DNS.
func (s *sample) service() *Service {
	for i := range s.w.cluster.Services {
		v := &s.w.cluster.Services[i]
		if len(v.Addresses) == 0 || len(v.Ports) == 0 || s.w.resolvers[v.Addresses[0]] != nil {
			continue
		}
		return v
	}
	return nil
}

// toService asks for each backend that is on a node of the sample.
func (s *sample) toService(from Place, f Flow) []namedPacket {
	v := s.service()
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
		out = append(out, namedPacket{name, Packet{From: from, To: to, DstPort: v.Ports[0].Port, Backend: backend}})
	}
	for _, n := range s.nodes() {
		for _, b := range v.Backends {
			if o, ok := s.w.byAddress(b, nil); ok && o.node == n.node && o != s.pod {
				add("backend on "+n.name, b)
				break
			}
		}
	}
	if len(out) == 0 {
		add("any backend", netip.Addr{})
	}
	return out
}

// serves drops cases of a protocol that the service does not speak.
func (s *sample) serves(p Packet) bool {
	v := s.service()
	if v == nil || p.To.Address != v.Addresses[0] && p.To.Name != v.Name && p.To.Name != v.FQDN || p.To.count() > 0 {
		return true
	}
	return slices.ContainsFunc(v.Ports, func(x ServicePort) bool { return x.Protocol == p.Protocol && x.Port == p.DstPort })
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
		return []namedPacket{{h.Name, Packet{From: from, To: to, DstPort: 443}}}
	}
	return nil
}
