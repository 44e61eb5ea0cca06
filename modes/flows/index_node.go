package flows

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// node is a node with its indexes.
type node struct {
	spec      *Node
	addrs     []netip.Addr // its own, those of adapters too
	linux     *Linux
	state     *State // of a Windows node; never nil there
	stack     *IPStack
	routes    prefixMap[Route]
	peers     prefixMap[VXLANPeer]
	networks  []*network
	endpoints []*endpoint
	byID      map[hns.ID]*endpoint
	netByID   map[hns.ID]*network
	namespace map[hns.ID]bool
	lbs       map[lbKey]*frontend
	maps      map[lbKey]*mapping // PortMapping
}

func (n *node) ref(detail string) Ref {
	return Ref{Node: n.spec.Name, Kind: KindNode, Name: n.spec.Name, Detail: detail}
}

func (n *node) routeRef(p netip.Prefix) Ref {
	return Ref{Node: n.spec.Name, Kind: KindRoute, Detail: p.String()}
}

// address returns the node's address of a family that goes into packets.
func (n *node) address(v4 bool) netip.Addr {
	for _, a := range n.spec.Addresses {
		if a.Is4() == v4 {
			return a
		}
	}
	return netip.Addr{}
}

func (n *node) has(a netip.Addr) bool { return slices.Contains(n.addrs, a) }

// network is an HNS network with its indexes.
type network struct {
	node    *node
	doc     *hns.Network
	mode    modes.Mode // empty: of no mode
	vni     uint32
	port    uint16
	local   map[netip.Addr]*endpoint
	remotes map[netip.Addr]*endpoint
	rsr     prefixMap[hns.RemoteSubnetRoute]
	// rsrTwice are the prefixes with several that differ.
	rsrTwice map[netip.Prefix]bool
	sets     map[string]*addressSet // by id in small letters
	aclsOut  ruleList
	aclsIn   ruleList
	proxies  []hns.L4Proxy
	hostEP   *endpoint
	raw      []string // types that are not known
	unread   []string
}

func (n *network) ref(policy, detail string) Ref {
	return Ref{Node: n.node.spec.Name, Kind: KindNetwork, ID: n.doc.ID, Name: n.doc.Name, Policy: policy, Detail: detail}
}

func (n *network) has(policy string) bool { return hns.HasPolicy(n.doc.Policies, policy) }

// provider is the node's address in outer headers.
func (n *network) provider() netip.Addr { return n.doc.ProviderAddress() }

// endpoint is an HNS endpoint with its policies by type.
type endpoint struct {
	node    *node
	net     *network // nil: the network is not there
	doc     *hns.Endpoint
	pod     string
	addrs   []netip.Addr
	remote  bool
	host    bool // the node's own; Docker's containers, too, are in no namespace, but not on L2Bridge
	nats    []natPolicy
	routes  []hns.SDNRoute // policies
	objects []sdnObject    // objects that name the endpoint
	aclsOut ruleList
	aclsIn  ruleList
	tiers   []tier // in their order
	proxies []hns.L4Proxy
	wfp     []wfpProxy
	raw     []string
	unread  []string
	twin    *endpoint // another of the network with an address of its
}

type sdnObject struct {
	id    hns.ID
	route hns.SDNRoute
}

func (e *endpoint) ref(policy, detail string) Ref {
	if e.remote && policy == "" && detail == "" && len(e.addrs) > 0 {
		detail = e.addrs[0].String() // their names say nothing
	}
	return Ref{Node: e.node.spec.Name, Kind: KindEndpoint, ID: e.doc.ID, Name: e.doc.Name, Policy: policy, Detail: detail}
}

func (e *endpoint) provider() netip.Addr {
	for _, p := range hns.PoliciesOf[hns.ProviderAddress](e.doc.Policies) {
		return p.Address
	}
	return netip.Addr{}
}

// gateway returns the next hop of the most specific route to a: the zero
// address for an on-link one, none if there is no route.
func (e *endpoint) gateway(a netip.Addr) (netip.Addr, bool) {
	best := -1
	var hop netip.Addr
	for _, r := range e.doc.Routes {
		if r.DestinationPrefix.IsValid() && r.DestinationPrefix.Contains(a) && r.DestinationPrefix.Bits() > best && r.NextHop.IsValid() {
			best, hop = r.DestinationPrefix.Bits(), r.NextHop
		}
	}
	return hop, best >= 0 && !hop.IsUnspecified()
}

func newNode(spec *Node) *node {
	n := &node{spec: spec, addrs: slices.Clone(spec.Addresses)}
	switch {
	case spec.Linux != nil:
		n.linux, n.stack = spec.Linux, &spec.Linux.IPStack
		if v := n.linux.VXLAN; v != nil {
			if v.Address.IsValid() {
				n.addrs = append(n.addrs, v.Address)
			}
			for _, p := range v.Peers {
				n.peers.add(p.Subnet, p)
			}
		}
	default:
		n.state, n.stack = spec.Windows.HNS, spec.Windows.Host
		if n.state == nil {
			n.state = &State{}
		}
		n.indexHNS()
	}
	if n.stack != nil {
		for _, r := range n.stack.Routes {
			n.routes.add(r.Destination, r)
		}
		for _, a := range n.stack.Adapters {
			for _, p := range a.Addresses {
				if !slices.Contains(n.addrs, p.Addr()) {
					n.addrs = append(n.addrs, p.Addr())
				}
			}
		}
	}
	n.addVirtual()
	return n
}

// addVirtual adds the addresses that HNS gives to the node itself: those of its
// own endpoints, and the gateways of NAT networks.
func (n *node) addVirtual() {
	add := func(a netip.Addr) {
		if a.IsValid() && !slices.Contains(n.addrs, a) {
			n.addrs = append(n.addrs, a)
		}
	}
	for _, e := range n.endpoints {
		if e.host && e.hostAttached() {
			for _, a := range e.addrs {
				add(a)
			}
		}
	}
	for _, net := range n.networks {
		for _, s := range net.doc.Subnets() {
			if net.mode == modes.NAT {
				add(s.Gateway())
			}
		}
	}
}

func (n *node) indexHNS() {
	n.byID, n.netByID, n.namespace = make(map[hns.ID]*endpoint, len(n.state.Endpoints)), map[hns.ID]*network{}, make(map[hns.ID]bool, len(n.state.Namespaces))
	n.lbs, n.maps = make(map[lbKey]*frontend, len(n.state.LoadBalancers)), map[lbKey]*mapping{}
	n.endpoints = make([]*endpoint, 0, len(n.state.Endpoints))
	for _, d := range n.state.Networks {
		net := newNetwork(n, reread(d, (*hns.Network).Encode, hns.DecodeNetwork))
		n.networks = append(n.networks, net)
		n.netByID[d.ID] = net
	}
	slices.SortFunc(n.networks, func(a, b *network) int { return slices.Compare(a.doc.ID[:], b.doc.ID[:]) })
	for _, d := range n.state.Namespaces {
		n.namespace[d.ID] = true
	}
	for _, d := range n.state.Endpoints {
		e := newEndpoint(n, reread(d, (*hns.Endpoint).Encode, hns.DecodeEndpoint))
		n.endpoints = append(n.endpoints, e)
		n.byID[d.ID] = e
		n.indexEndpoint(e)
	}
	for _, o := range n.state.Routes {
		for _, id := range o.Endpoints {
			if e := n.byID[id]; e != nil {
				for _, r := range o.Routes {
					e.objects = append(e.objects, sdnObject{o.ID, r})
				}
			}
		}
	}
	for _, l := range n.state.LoadBalancers {
		n.indexLoadBalancer(l)
	}
}

// reread turns a planned document into one as it is read, so that policies
// that a planner writes raw are found by their types.
func reread[T any](d *T, encode func(*T) (json.RawMessage, error), decode func([]byte) (*T, error)) *T {
	if readBefore(d) {
		return d
	}
	doc, err := encode(d)
	if err != nil {
		return d
	}
	again, err := decode(doc)
	if err != nil {
		return d
	}
	// What a create does not send, reading gives.
	switch a := any(again).(type) {
	case *hns.Endpoint:
		a.State = any(d).(*hns.Endpoint).State
	}
	return again
}

func readBefore(d any) bool {
	switch d := d.(type) {
	case *hns.Network:
		return len(d.Document.Raw) > 0
	case *hns.Endpoint:
		return len(d.Document.Raw) > 0
	}
	return true
}

func newNetwork(n *node, d *hns.Network) *network {
	net := &network{node: n, doc: d, port: modes.DefaultVXLANPort, local: map[netip.Addr]*endpoint{}, remotes: map[netip.Addr]*endpoint{}}
	net.mode, _ = modes.ModeOf(d.Type)
	for _, s := range d.Subnets() {
		if v := s.VSID(); v != 0 && net.vni == 0 {
			net.vni = v
		}
		for _, p := range s.Policies {
			if raw, ok := p.(hns.RawPolicy); ok {
				net.raw = append(net.raw, raw.Type)
			}
		}
	}
	var sets []hns.SetPolicy
	var acls []hns.ACL
	for _, p := range d.Policies {
		switch p := p.(type) {
		case hns.VXLANPort:
			net.port = p.Port
		case hns.RemoteSubnetRoute:
			if !net.rsr.add(p.DestinationPrefix, p) && net.rsr.byPrefix[p.DestinationPrefix.Masked()] != p {
				if net.rsrTwice == nil {
					net.rsrTwice = map[netip.Prefix]bool{}
				}
				net.rsrTwice[p.DestinationPrefix.Masked()] = true
			}
		case hns.SetPolicy:
			sets = append(sets, p)
		case hns.NetworkACL:
			acls = append(acls, hns.ACL(p))
		case hns.L4Proxy:
			net.proxies = append(net.proxies, p)
		case hns.RawPolicy:
			net.raw = append(net.raw, p.Type)
		}
	}
	net.sets = readSets(sets)
	net.aclsOut, net.aclsIn = aclRules(acls, hns.Out, net.sets), aclRules(acls, hns.In, net.sets)
	net.unread = unreadPaths(d.Document)
	return net
}

func newEndpoint(n *node, d *hns.Endpoint) *endpoint {
	e := &endpoint{node: n, doc: d, net: n.netByID[d.Network], addrs: d.Addresses(), remote: d.Flags&hns.EndpointRemote != 0}
	name := ""
	if e.net != nil {
		name = e.net.doc.Name
	}
	if i := strings.LastIndex(d.Name, "_"); e.net == nil && i > 0 {
		name = d.Name[i+1:] // what its network was called
	}
	e.pod = podName(d.Name, name)
	e.host = !e.remote && e.net != nil && (d.Name == modes.HostEndpointName(name) || e.net.mode == modes.L2Bridge && d.Namespace.IsZero() && isAttached(d.State))
	var acls []hns.ACL
	var tiers []hns.TierACL
	var sets map[string]*addressSet
	if e.net != nil {
		sets = e.net.sets
	}
	for _, p := range d.Policies {
		switch p := p.(type) {
		case hns.OutBoundNAT:
			e.nats = append(e.nats, newNATPolicy(p))
		case hns.SDNRoute:
			e.routes = append(e.routes, p)
		case hns.ACL:
			acls = append(acls, p)
		case hns.TierACL:
			tiers = append(tiers, p)
		case hns.L4Proxy:
			e.proxies = append(e.proxies, p)
		case hns.L4WFPProxy:
			e.wfp = append(e.wfp, wfpProxy{p, readMatch(p.Filter.Protocols, p.Filter.LocalAddresses, p.Filter.RemoteAddresses, p.Filter.LocalPorts, p.Filter.RemotePorts, sets)})
		case hns.RawPolicy:
			e.raw = append(e.raw, p.Type)
		}
	}
	e.aclsOut, e.aclsIn, e.tiers = aclRules(acls, hns.Out, sets), aclRules(acls, hns.In, sets), readTiers(tiers, sets)
	e.unread = unreadPaths(d.Document)
	return e
}

func (n *node) indexEndpoint(e *endpoint) {
	if e.net == nil {
		return
	}
	at := e.net.local
	if e.remote {
		at = e.net.remotes
	}
	for _, a := range e.addrs {
		old := at[a]
		if old != nil && !old.host && !e.host {
			old.twin, e.twin = e, old
		}
		if old == nil || old.host && !e.host || old.host == e.host && before(e.doc.ID, old.doc.ID) {
			at[a] = e
		}
	}
	if old := e.net.hostEP; e.host && (old == nil || before(e.doc.ID, old.doc.ID)) {
		e.net.hostEP = e
	}
	for _, p := range hns.PoliciesOf[hns.PortMapping](e.doc.Policies) {
		n.indexMapping(e, p)
	}
}

// before orders what claims the same thing, so that no order of documents
// decides.
func before(a, b hns.ID) bool { return slices.Compare(a[:], b[:]) < 0 }

func unreadPaths(d hns.Document) []string {
	var out []string
	for _, u := range d.Unread {
		out = append(out, u.Path)
	}
	return out
}

func isAttached(s hns.EndpointState) bool {
	return s == hns.EndpointAttached || s == hns.EndpointAttachedSharing
}

// attached reports whether the endpoint has a port on the switch. A document
// without a state is believed if it names a namespace.
func (e *endpoint) attached() bool {
	return isAttached(e.doc.State) || e.doc.State == hns.EndpointUninitialized && !e.doc.Namespace.IsZero()
}
