package emulator_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// model is what the random walk takes HNS for: objects in maps, looked through
// from end to end. It knows nothing of documents, indexes and undoing. Each
// operation returns the code it should end with, and has its effect if that is 0.
type model struct {
	version    hns.Version
	networks   map[hns.ID]*modelNetwork
	endpoints  map[hns.ID]*modelEndpoint
	namespaces map[hns.ID]*modelNamespace
	lists      map[hns.ID]*modelList
}

type modelNetwork struct {
	name, kind string
	prefix     netip.Prefix // of 8 addresses
}

type modelEndpoint struct {
	network, namespace hns.ID
	address            netip.Addr
	remote, host, used bool // used: it was attached before
	ports              []int
}

type modelNamespace struct{ containers []string }

// modelList is a load balancer with one front end, or an SDN route.
type modelList struct {
	kind      hns.Kind
	network   hns.ID   // of the endpoints, when it was made
	endpoints []hns.ID // may be gone
	vip       string   // "node" without one
	protocol  int
	port      int
}

func newModel(v hns.Version) *model {
	return &model{v, map[hns.ID]*modelNetwork{}, map[hns.ID]*modelEndpoint{}, map[hns.ID]*modelNamespace{}, map[hns.ID]*modelList{}}
}

func (m *model) createNetwork(id hns.ID, n modelNetwork) hns.Code {
	if m.networks[id] != nil {
		return hns.CodeAlreadyExists
	}
	onAdapter, transparent := false, false
	for _, other := range m.networks {
		if other.name == n.name {
			return hns.CodeNetworkExists
		}
		onAdapter = onAdapter || other.external()
		transparent = transparent || other.kind == "Transparent"
	}
	for _, other := range m.networks {
		if n.kind == "NAT" && other.kind == "NAT" && n.prefix == other.prefix {
			return hns.CodeObjectAlreadyExists
		}
	}
	if n.external() && (transparent || n.kind == "Transparent" && onAdapter) { // the host has one adapter
		return hns.CodeAdapterNotFound
	}
	m.networks[id] = &n
	return 0
}

func (n *modelNetwork) external() bool { return n.kind != "NAT" && n.kind != "Private" }

// switched reports whether VFP is below: then there can be load balancers.
func (n *modelNetwork) switched() bool { return n.kind == "L2Bridge" || n.kind == "Overlay" }

// at returns an address of the network: 0 is its own, 1 the gateway's, 7 broadcast.
func (n *modelNetwork) at(i int) netip.Addr {
	a := n.prefix.Addr()
	for range i {
		a = a.Next()
	}
	return a
}

func (m *model) deleteNetwork(id hns.ID) hns.Code {
	if m.networks[id] == nil {
		return hns.CodeNetworkNotFound
	}
	for l, list := range m.lists {
		if list.network == id {
			delete(m.lists, l)
		}
	}
	for e, ep := range m.endpoints {
		if ep.network == id {
			delete(m.endpoints, e)
		}
	}
	delete(m.networks, id)
	return 0
}

func (m *model) createEndpoint(id hns.ID, e modelEndpoint, v1 bool) hns.Code {
	n := m.networks[e.network]
	switch {
	case n == nil && v1:
		return hns.CodeElementNotFound
	case n == nil:
		return hns.CodeNetworkNotFound
	case m.endpoints[id] != nil:
		return hns.CodeAlreadyExists
	}
	if code := m.address(n, &e); code != 0 {
		return code
	}
	if len(e.ports) > 0 && (n.kind == "Private" || n.kind == "Transparent") {
		return hns.CodeMappingNotSupported
	}
	switch in := !e.namespace.IsZero(); {
	case m.portTaken(id, e.ports):
		return hns.CodePortExists
	case in && m.namespaces[e.namespace] == nil:
		return hns.CodeElementNotFound
	case in && e.remote:
		return hns.CodeInvalidRemoteOperation
	case in:
		e.used = true
	}
	m.endpoints[id] = &e
	return 0
}

// address judges the address of a new endpoint, or gives it the lowest free one.
func (m *model) address(n *modelNetwork, e *modelEndpoint) hns.Code {
	taken := func(a netip.Addr) bool {
		for _, other := range m.endpoints {
			if other.network == e.network && other.address == a {
				return true
			}
		}
		return false
	}
	switch a := e.address; {
	case !a.IsValid() && e.remote:
		return hns.CodeInvalidEndpoint
	case !a.IsValid():
		for i := 2; i < 7; i++ {
			if !taken(n.at(i)) {
				e.address = n.at(i)
				return 0
			}
		}
		return hns.CodeSubnetNotFound
	case !e.remote && !n.prefix.Contains(a):
		return hns.CodeInvalidIP
	case !e.remote && m.version.Major >= 10 && (a == n.at(0) || a == n.at(1) || a == n.at(7)):
		return hns.CodeAddressInvalidOrReserved
	case taken(a):
		return hns.CodeObjectAlreadyExists
	}
	return 0
}

func (m *model) portTaken(self hns.ID, ports []int) bool {
	for i, p := range ports {
		if slices.Contains(ports[:i], p) {
			return true
		}
		for id, e := range m.endpoints {
			if id != self && slices.Contains(e.ports, p) {
				return true
			}
		}
	}
	return false
}

func (m *model) deleteEndpoint(id hns.ID) hns.Code {
	if m.endpoints[id] == nil {
		return hns.CodeEndpointNotFound
	}
	delete(m.endpoints, id)
	return 0
}

func (m *model) changePort(id hns.ID, request string, port int) hns.Code {
	e := m.endpoints[id]
	if e == nil {
		return hns.CodeEndpointNotFound
	}
	if n := m.networks[e.network]; n.kind == "Private" || n.kind == "Transparent" {
		return hns.CodeMappingNotSupported
	}
	ports := []int{port}
	switch request {
	case "Add":
		ports = append(slices.Clone(e.ports), port)
	case "Remove":
		if !slices.Contains(e.ports, port) {
			return hns.CodePolicyNotFound
		}
		ports = slices.DeleteFunc(slices.Clone(e.ports), func(p int) bool { return p == port })
	}
	if m.portTaken(id, ports) {
		return hns.CodePortExists
	}
	e.ports = ports
	return 0
}

func (m *model) hostAttach(id hns.ID, attach bool) hns.Code {
	e := m.endpoints[id]
	switch {
	case e == nil:
		return hns.CodeEndpointNotFound
	case attach && e.remote:
		return hns.CodeInvalidRemoteOperation
	case attach && (e.host || !e.namespace.IsZero()):
		return hns.CodeEndpointAttached
	case !attach && !e.host:
		return hns.CodeElementNotFound
	}
	e.host, e.used = attach, true
	return 0
}

func (m *model) createNamespace(id hns.ID) hns.Code {
	if m.namespaces[id] != nil {
		return hns.CodeAlreadyExists
	}
	m.namespaces[id] = &modelNamespace{}
	return 0
}

func (m *model) deleteNamespace(id hns.ID) hns.Code {
	switch n := m.namespaces[id]; {
	case n == nil:
		return hns.CodeElementNotFound
	case len(n.containers) > 0:
		return hns.CodeRequestUnsupported
	}
	for _, e := range m.endpoints {
		if e.namespace == id {
			e.namespace = hns.ID{}
		}
	}
	delete(m.namespaces, id)
	return 0
}

func (m *model) join(ns, ep hns.ID, request string) hns.Code {
	e := m.endpoints[ep]
	switch {
	case m.namespaces[ns] == nil:
		return hns.CodeElementNotFound
	case request == "Update":
		return hns.CodeRequestUnsupported
	case request == "Remove" && (e == nil || e.namespace != ns):
		return hns.CodeElementNotFound
	case request == "Remove":
		e.namespace = hns.ID{}
		return 0
	case e == nil:
		return hns.CodeEndpointNotFound
	case e.namespace == ns:
		return 0
	case !e.namespace.IsZero():
		return hns.CodeEndpointInNamespace
	case e.remote:
		return hns.CodeInvalidRemoteOperation
	case e.host:
		return hns.CodeEndpointAttached
	}
	e.namespace, e.used = ns, true
	return 0
}

func (m *model) container(ns hns.ID, id, request string) hns.Code {
	n := m.namespaces[ns]
	switch {
	case n == nil:
		return hns.CodeElementNotFound
	case request == "Add":
		n.containers = append(n.containers, id)
		return 0
	case request == "Update":
		return hns.CodeRequestUnsupported
	}
	at := slices.Index(n.containers, id)
	if at < 0 {
		return hns.CodeElementNotFound
	}
	n.containers = slices.Delete(n.containers, at, at+1)
	return 0
}

// putList makes a load balancer or a route, or changes the load balancer that
// has the id.
func (m *model) putList(id hns.ID, l modelList, change, v1 bool) hns.Code {
	old := m.lists[id]
	switch {
	case change && (old == nil || old.kind != l.kind):
		return hns.CodeElementNotFound
	case change && m.version.Less(hns.Version{Major: 15, Minor: 4}):
		return hns.CodeNotImplemented
	case !change && old != nil:
		return hns.CodeAlreadyExists
	}
	for _, e := range l.endpoints {
		if m.endpoints[e] == nil {
			return hns.CodeInvalidJSONReference
		}
	}
	for _, e := range l.endpoints {
		if m.endpoints[e].network != m.endpoints[l.endpoints[0]].network {
			return hns.CodeInvalidParameter
		}
	}
	switch ok := m.networks[m.endpoints[l.endpoints[0]].network].switched(); {
	case !ok && v1 && l.kind == hns.KindRoute:
		return hns.CodeInvalidPolicyType
	case !ok:
		return hns.CodeInvalidNetworkType
	}
	for other, o := range m.lists {
		if l.kind != hns.KindLoadBalancer || o.kind != l.kind || other == id || o.vip != l.vip || o.protocol != l.protocol || o.port != l.port {
			continue
		}
		if fmt.Sprint(sortedIDs(o.endpoints)) == fmt.Sprint(sortedIDs(l.endpoints)) {
			return hns.CodeAlreadyExists
		}
		return hns.CodePortExists
	}
	l.network = m.endpoints[l.endpoints[0]].network
	m.lists[id] = &l
	return 0
}

func (m *model) deleteList(id hns.ID, kind hns.Kind) hns.Code {
	l := m.lists[id]
	if l == nil || kind != hns.KindService && l.kind != kind {
		return hns.CodeElementNotFound
	}
	delete(m.lists, id)
	return 0
}

func sortedIDs(ids []hns.ID) []hns.ID {
	return slices.SortedFunc(slices.Values(ids), func(a, b hns.ID) int { return slices.Compare(a[:], b[:]) })
}

// text returns the state, a line for each object, in the form of seenText.
func (m *model) text() string {
	var lines []string
	for id, n := range m.networks {
		lines = append(lines, fmt.Sprintln("network ", id, n.name, n.kind, n.prefix))
	}
	for id, e := range m.endpoints {
		state := 1
		ns := m.namespaces[e.namespace]
		switch {
		case ns != nil && len(ns.containers) > 0:
			state = 3
		case ns != nil || e.host:
			state = 2
		case e.used:
			state = 4
		}
		lines = append(lines, fmt.Sprintln("endpoint ", id, e.network, e.namespace, e.address, e.remote, state, slices.Sorted(slices.Values(e.ports))))
	}
	for id, n := range m.namespaces {
		var in []hns.ID
		for e, ep := range m.endpoints {
			if ep.namespace == id {
				in = append(in, e)
			}
		}
		lines = append(lines, fmt.Sprintln("namespace ", id, sortedIDs(in), slices.Sorted(slices.Values(n.containers))))
	}
	for id, l := range m.lists {
		lines = append(lines, fmt.Sprintln("list ", id, l.network, l.kind, l.endpoints, l.vip, l.protocol, l.port))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
