package flows

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// maxQueries ends names that are asked for in each other's traces.
const maxQueries = 3

// resolve returns the address of a name as the sender sees it. The query is
// traced to each server in turn until one answers.
func (f *flight) resolve(from owner, name string) (netip.Addr, spot) {
	if f.depth >= maxQueries {
		return netip.Addr{}, f.drop(Diagnosis{Reason: Loop, Object: from.ref(), Certainty: Practice, Text: "the query needs a query", Fix: "name servers by address"})
	}
	d := f.resolverConfig(from)
	asked, why := candidates(from, d, name)
	servers := f.servers(from, d)
	switch {
	case from.node == nil || !from.isPod():
		return f.nodeResolves(from, name)
	case len(servers) == 0:
		return netip.Addr{}, f.drop(f.noServer(from))
	}
	for i, s := range servers {
		q := f.w.trace(Packet{From: f.p.From, To: Target{Address: s}, Protocol: hns.UDP, DstPort: dnsPort}, f.depth+1)
		f.t.Looked += q.Looked
		if !q.Works() && i < len(servers)-1 {
			f.step(Step{Object: from.ref(), Effect: Resolved, Query: q, Certainty: q.Certainty, Text: fmt.Sprintf("asks %s in vain", s)})
			continue
		}
		return f.answered(from, s, name, asked, why, q)
	}
	return netip.Addr{}, spot{}
}

// answered reads the answer of a server that was asked.
func (f *flight) answered(from owner, server netip.Addr, name string, asked []string, why *Diagnosis, q *Trace) (netip.Addr, spot) {
	object, needed := from.ref(), false
	switch {
	case from.ep == nil:
	case len(f.resolverConfig(from).ServerList) == 0:
		object = from.ep.net.ref("", "DNS proxy")
	default:
		object, needed = f.dnsRef(from.ep, "ServerList"), true
	}
	if !q.Works() {
		f.step(Step{Object: object, Effect: Resolved, Query: q, Certainty: q.Certainty, Text: fmt.Sprintf("asks %s for %q", server, name)})
		d := *q.Diagnosis
		d.Text = fmt.Sprintf("the DNS query to %s does not work: %s", server, d.Text)
		return netip.Addr{}, f.drop(d)
	}
	r := f.w.resolvers[server]
	if r == nil {
		f.step(Step{Object: object, Effect: Resolved, Query: q, Certainty: q.Certainty, Text: fmt.Sprintf("asks %s for %q", server, name)})
		f.unjudged(Ref{Kind: KindResolver, Name: server.String()}, "what the server answers is not known")
		return f.anyRecord(asked, name, from)
	}
	for i, n := range asked {
		a, by, ok := f.lookup(r, n)
		if !ok {
			continue
		}
		if q.Outcome == Unjudged {
			f.t.Outcome = Unjudged
		}
		if from.ep != nil && n != canonical(name) {
			f.step(Step{Object: f.dnsRef(from.ep, "Search"), Effect: Resolved, Certainty: Documented, Needed: i == 0, Text: fmt.Sprintf("makes %q of it", n)})
		}
		f.step(Step{Object: object, Effect: Resolved, Query: q, Certainty: max(q.Certainty, Documented), Needed: needed, Text: fmt.Sprintf("asks %s", server)})
		f.step(Step{Object: Ref{Kind: KindResolver, Name: by.Name, Detail: n}, Effect: Resolved, Certainty: Documented, Needed: true, Text: fmt.Sprintf("answers %s", a)})
		return a, spot{}
	}
	f.step(Step{Object: object, Effect: Resolved, Query: q, Certainty: q.Certainty, Text: fmt.Sprintf("asks %s for %s", server, strings.Join(asked, ", "))})
	return netip.Addr{}, f.drop(f.noName(from, r, name, asked, why))
}

// lookup asks a resolver, and the one that it forwards to.
func (f *flight) lookup(r *Resolver, name string) (netip.Addr, *Resolver, bool) {
	for range maxQueries {
		f.t.Looked++
		for _, a := range r.Records[name] {
			if a.Is4() == (f.p.Protocol != hns.ICMPv6) {
				return a, r, true
			}
		}
		if as := r.Records[name]; len(as) > 0 {
			return as[0], r, true
		}
		next := f.w.resolvers[r.Forward]
		if next == nil {
			break
		}
		r = next
	}
	return netip.Addr{}, nil, false
}

// noName says that a name does not exist, or was not asked for as it would.
func (f *flight) noName(from owner, r *Resolver, name string, asked []string, why *Diagnosis) Diagnosis {
	d := Diagnosis{Reason: NoSuchName, Object: Ref{Kind: KindResolver, Name: r.Name, Detail: asked[0]}, Missing: true, Certainty: Documented,
		Text: fmt.Sprintf("%s knows no %s", r.Name, strings.Join(asked, " nor ")), Fix: "look whether the service or the pod is there, and in which namespace"}
	if why != nil && (from.ep == nil || from.ep.net == nil || from.ep.net.mode != modes.NAT) {
		return *why
	}
	if from.ep == nil || !strings.Contains(strings.TrimSuffix(name, "."), ".") {
		return d
	}
	if full, ok := f.wholeName(r, canonical(name), f.resolverConfig(from)); ok && !strings.HasSuffix(name, ".") {
		return Diagnosis{Reason: DottedName, Object: f.dnsRef(from.ep, "Search"), Certainty: Documented,
			Text: fmt.Sprintf("Windows takes %q for a whole name, since it has a dot, and adds no suffix", name),
			Fix:  fmt.Sprintf("use the whole name %q, or the bare one within its own namespace", full)}
	}
	return d
}

// wholeName returns the name that was likely meant by a part of it: that of a
// service, or one that the resolver knows with a suffix of the pod's list or with
// what a suffix ends in, for Kubernetes' lists hold "default.svc.cluster.local"
// and Windows pods need not have the rest of them.
func (f *flight) wholeName(r *Resolver, part string, d hns.DNS) (string, bool) {
	for i := range f.w.cluster.Services {
		if full := canonical(f.w.cluster.Services[i].FQDN); strings.HasPrefix(full, part+".") {
			return full, true
		}
	}
	for _, s := range append(slices.Clone(d.Search), d.Domain) {
		for s = canonical(s); s != ""; _, s, _ = strings.Cut(s, ".") {
			if _, _, ok := f.lookup(r, part+"."+s); ok {
				return part + "." + s, true
			}
		}
	}
	return "", false
}

func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// candidates are the names that are asked for, in order. Windows adds a suffix
// to names without a dot only, and of the list only the first, which
// Kubernetes makes that of the pod's namespace; Linux adds all. why is what is
// the matter if the suffix is missing.
func candidates(from owner, d hns.DNS, name string) (out []string, why *Diagnosis) {
	bare := canonical(name)
	if strings.HasSuffix(name, ".") {
		return []string{bare}, nil
	}
	if from.linux != nil {
		if strings.Count(bare, ".") < 5 {
			for _, s := range d.Search {
				out = append(out, bare+"."+canonical(s))
			}
		}
		return append(out, bare), nil
	}
	if strings.Contains(bare, ".") {
		return []string{bare}, nil
	}
	suffix := d.Domain
	if len(d.Search) > 0 {
		suffix = d.Search[0]
	}
	if suffix == "" {
		why = &Diagnosis{Reason: NoDNSSuffix, Missing: true, Certainty: Documented,
			Text: fmt.Sprintf("the endpoint has no DNS suffix for the bare name %q", name), Fix: "give the endpoint's Dns the Search list of the pod's namespace, such as default.svc.cluster.local"}
		if from.ep != nil {
			why.Object = from.ep.ref("", "Dns Search")
		}
		return []string{bare}, why
	}
	return []string{bare + "." + canonical(suffix)}, nil
}

// resolverConfig is the DNS configuration of a pod; that of an endpoint without
// one is its network's.
func (f *flight) resolverConfig(from owner) hns.DNS {
	switch {
	case from.linux != nil:
		return from.linux.DNS
	case from.ep == nil:
		return hns.DNS{}
	case from.ep.net != nil && len(from.ep.doc.DNS.ServerList) == 0:
		d := from.ep.doc.DNS
		d.ServerList = from.ep.net.doc.DNS.ServerList
		if len(d.Search) == 0 && d.Domain == "" {
			d.Search, d.Domain = from.ep.net.doc.DNS.Search, from.ep.net.doc.DNS.Domain
		}
		return d
	}
	return from.ep.doc.DNS
}

func (f *flight) dnsRef(e *endpoint, member string) Ref {
	if e.net != nil && len(e.doc.DNS.ServerList) == 0 && len(e.net.doc.DNS.ServerList) > 0 && (member == "ServerList" || len(e.doc.DNS.Search) == 0) {
		return e.net.ref("", "Dns "+member)
	}
	return e.ref("", "Dns "+member)
}

// servers are the addresses that a pod asks. A NAT network whose HNS answers
// DNS itself does so at its gateway.
func (f *flight) servers(from owner, d hns.DNS) []netip.Addr {
	var out []netip.Addr
	for _, s := range d.ServerList {
		if a, err := netip.ParseAddr(strings.TrimSpace(s)); err == nil {
			out = append(out, a)
		}
	}
	if e := from.ep; len(out) == 0 && e != nil && e.net != nil && (e.net.mode == modes.NAT || e.net.doc.Flags&hns.NetworkEnableDNSProxy != 0) {
		for _, s := range e.net.doc.Subnets() {
			if g := s.Gateway(); g.IsValid() {
				out = append(out, g)
			}
		}
	}
	return out
}

func (f *flight) noServer(from owner) Diagnosis {
	d := Diagnosis{Reason: NoDNSServer, Object: from.ref(), Missing: true, Certainty: Documented,
		Text: "the pod has no DNS server", Fix: "give the endpoint's Dns the ServerList with the address of the cluster's DNS service; Windows pods have no resolv.conf"}
	if from.ep != nil {
		d.Object = from.ep.ref("", "Dns ServerList")
	}
	return d
}

// nodeResolves is a name that a node or a host outside asks for: how it
// resolves names is not described.
func (f *flight) nodeResolves(from owner, name string) (netip.Addr, spot) {
	f.unjudged(from.ref(), "how it resolves names is not described")
	return f.anyRecord([]string{canonical(name)}, name, from)
}

// anyRecord takes an address from whichever resolver has one.
func (f *flight) anyRecord(asked []string, name string, from owner) (netip.Addr, spot) {
	for i := range f.w.cluster.Resolvers {
		for _, n := range asked {
			if a, _, ok := f.lookup(&f.w.cluster.Resolvers[i], n); ok {
				return a, spot{}
			}
		}
	}
	return netip.Addr{}, f.outOfSight(from.ref(), fmt.Sprintf("no resolver that is described knows %q", name))
}
