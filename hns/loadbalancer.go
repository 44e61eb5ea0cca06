package hns

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// LoadBalancerFlags are the flags of a load balancer (schema
// LoadBalancerFlags). Unknown bits are kept.
type LoadBalancerFlags uint32

// Load balancer flags.
const (
	// LoadBalancerDSR is direct server return: answers do not come back through
	// the load balancer. See [FeatureDSR].
	LoadBalancerDSR LoadBalancerFlags = 1
	// LoadBalancerIPv6 is set for IPv6, and only then (schema 2.8).
	LoadBalancerIPv6 LoadBalancerFlags = 2
)

// LoadBalancerPortFlags are the flags of a port mapping (schema
// LoadBalancerPortMappingFlags). Unknown bits are kept.
type LoadBalancerPortFlags uint32

// Port mapping flags.
const (
	// LoadBalancerInternal makes an internal load balancer.
	LoadBalancerInternal LoadBalancerPortFlags = 1
	// LoadBalancerLocalRoutedVIP lets the node itself reach the VIP.
	LoadBalancerLocalRoutedVIP LoadBalancerPortFlags = 2
	// LoadBalancerUseMux takes what a multiplexer outside the node sends with
	// its own address; the schema calls the bit not used.
	LoadBalancerUseMux LoadBalancerPortFlags = 4
	// LoadBalancerPreserveDIP leaves the VIP in the packets that backends get.
	LoadBalancerPreserveDIP LoadBalancerPortFlags = 8
	// LoadBalancerVIPExternal says that the VIP is an external address; known
	// from kube-proxy alone.
	LoadBalancerVIPExternal LoadBalancerPortFlags = 16
)

// Distribution says which connections go to the same backend (schema
// LoadBalancerDistribution, 2.7). All but the zero Distribution take
// [FeatureSessionAffinity].
type Distribution uint32

// The distributions.
const (
	// DistributePerConnection is the default.
	DistributePerConnection Distribution = 0
	// DistributePerClientAndProtocol keeps a client's connections of one
	// protocol together.
	DistributePerClientAndProtocol Distribution = 1
	// DistributePerClient keeps all of a client's connections together.
	DistributePerClient Distribution = 2
)

var distributionNames = map[uint64]string{0: "None", 1: "SourceIPProtocol", 2: "SourceIP"}

// LoadBalancer spreads connections to a virtual address over endpoints (schema
// HostComputeLoadBalancer). L2Bridge, L2Tunnel and Overlay networks take them.
// One is for one family: a service with both needs two.
type LoadBalancer struct {
	// ID is chosen by HNS unless set at create.
	ID ID
	// Network of the backends (schema 2.5); zero leaves it out, as most
	// clients do.
	Network ID
	// Endpoints are the backends, at least one. They may be endpoints that
	// stand for other nodes' ([EndpointRemote]). The load balancer stays when
	// they are deleted, and keeps its ports: delete it first.
	Endpoints []ID
	// SourceVIP is the source address of what backends get; none leaves it to
	// HNS. Overlay needs an endpoint that holds it.
	SourceVIP netip.Addr
	// FrontendVIPs are the virtual addresses, of one family; none is every
	// address of the node (a node port).
	FrontendVIPs []netip.Addr
	// PortMappings are the ports, at least one. VIP (or node), protocol and
	// external port together are the key among all load balancers of the node.
	PortMappings []LoadBalancerPortMapping
	// Flags of the load balancer; zero is none.
	Flags LoadBalancerFlags
	// Document is what HNS sent; zero for a load balancer that was not read.
	Document Document
}

// LoadBalancerPortMapping is a port of a [LoadBalancer] (schema
// LoadBalancerPortMapping).
type LoadBalancerPortMapping struct {
	// Protocol of the port; [ProtocolAny] is all of them.
	Protocol Protocol
	// InternalPort is the backends' port, the same for all of them;
	// ExternalPort is the VIP's. Zero in both, with [ProtocolAny] and
	// [LoadBalancerInternal], is everything sent to the VIP; else zero is
	// refused.
	InternalPort, ExternalPort uint16
	// Distribution says which connections stay together.
	Distribution Distribution
	// Flags of the mapping; zero is none.
	Flags LoadBalancerPortFlags
}

// DecodeLoadBalancer reads a load balancer in schema 2. It fails only if doc is
// no JSON object; see [Document]. A create that failed may have left one
// without port mappings.
func DecodeLoadBalancer(doc []byte) (*LoadBalancer, error) {
	var d Document
	r, bad := startReading(doc, &d)
	if bad != nil {
		return nil, &Error{Op: "read load balancer", Err: bad}
	}
	l := &LoadBalancer{
		ID:           r.id("ID"),
		Network:      r.id("HostComputeNetwork"),
		Endpoints:    r.ids("HostComputeEndpoints"),
		SourceVIP:    r.addr("SourceVIP"),
		FrontendVIPs: r.addrs("FrontendVIPs"),
		Flags:        LoadBalancerFlags(r.uint("Flags", 32)),
	}
	r.list("PortMappings", func(e reader) {
		l.PortMappings = append(l.PortMappings, LoadBalancerPortMapping{
			Protocol:     readProtocol(e),
			InternalPort: uint16(e.uint("InternalPort", 16)),
			ExternalPort: uint16(e.uint("ExternalPort", 16)),
			Distribution: Distribution(e.number("DistributionType", 32, distributionNames)),
			Flags:        LoadBalancerPortFlags(e.uint("Flags", 32)),
		})
	})
	l.Document = d
	return l, nil
}

type wirePortMapping struct {
	Protocol         Protocol              `json:",omitempty"`
	InternalPort     uint16                `json:",omitempty"`
	ExternalPort     uint16                `json:",omitempty"`
	DistributionType Distribution          `json:",omitempty"`
	Flags            LoadBalancerPortFlags `json:",omitempty"`
}

// Encode returns the document that a create or an update sends: schema 2.0,
// members that are zero left out. It does not check the values, as Create does.
func (l *LoadBalancer) Encode() (json.RawMessage, error) {
	w := struct {
		ID                   string            `json:",omitempty"`
		HostComputeNetwork   string            `json:",omitempty"`
		HostComputeEndpoints []ID              `json:",omitempty"`
		SourceVIP            string            `json:",omitempty"`
		FrontendVIPs         []netip.Addr      `json:",omitempty"`
		PortMappings         []wirePortMapping `json:",omitempty"`
		Flags                LoadBalancerFlags `json:",omitempty"`
		SchemaVersion        wireSchema
	}{idText(l.ID), idText(l.Network), l.Endpoints, addrText(l.SourceVIP), l.FrontendVIPs, nil, l.Flags, schema2}
	for _, m := range l.PortMappings {
		w.PortMappings = append(w.PortMappings, wirePortMapping{m.Protocol, m.InternalPort, m.ExternalPort, m.Distribution, m.Flags})
	}
	return encode(w)
}

// where says which virtual addresses and ports were wanted.
func (l *LoadBalancer) where() string {
	vips := "node"
	if len(l.FrontendVIPs) > 0 {
		vips = joinTexts(l.FrontendVIPs)
	}
	var ports []string
	for _, m := range l.PortMappings {
		ports = append(ports, fmt.Sprintf("%s %d to %d", m.Protocol, m.ExternalPort, m.InternalPort))
	}
	return " for " + vips + " (" + strings.Join(ports, ", ") + ")"
}

func (l *LoadBalancer) check() []*FieldError {
	bad := checkBackends(l.Endpoints)
	if a := l.SourceVIP; a.IsValid() && !isPlain(a) {
		bad = append(bad, &FieldError{Path: "SourceVIP", Value: a.String(), Reason: "not a plain unicast address"})
	}
	for i, a := range l.FrontendVIPs {
		bad = append(bad, checkAddr(fmt.Sprintf("FrontendVIPs[%d]", i), a)...)
	}
	bad = append(bad, l.checkFamilies()...)
	if len(l.PortMappings) == 0 {
		bad = append(bad, &FieldError{Path: "PortMappings", Reason: "missing", Rule: "no-ports"})
	}
	for i, m := range l.PortMappings {
		bad = append(bad, under(fmt.Sprintf("PortMappings[%d]", i), m.check())...)
	}
	return bad
}

// checkBackends refuses an empty list, which kube-proxy sent again and again
// (kubernetes/kubernetes#100384).
func checkBackends(ids []ID) []*FieldError {
	if len(ids) == 0 {
		return []*FieldError{{Path: "HostComputeEndpoints", Reason: "missing; HNS refuses it without an endpoint", Rule: "no-endpoints"}}
	}
	var bad []*FieldError
	for i, id := range ids {
		if id.IsZero() {
			bad = append(bad, &FieldError{Path: fmt.Sprintf("HostComputeEndpoints[%d]", i), Value: id.String(), Reason: "the zero GUID names nothing"})
		}
	}
	return bad
}

// checkFamilies wants addresses of one family, and the flag that goes with it
// (kubernetes/kubernetes#136240). Without an address the flag alone decides.
func (l *LoadBalancer) checkFamilies() []*FieldError {
	v6 := l.Flags&LoadBalancerIPv6 != 0
	family := "is IPv6, and the IPv6 flag is not set"
	if v6 {
		family = "is IPv4, and the IPv6 flag is set"
	}
	var bad []*FieldError
	check := func(path string, a netip.Addr) {
		if a.IsValid() && a.Is4() == v6 {
			bad = append(bad, &FieldError{Path: path, Value: a.String(), Reason: family, Rule: "mixed-families"})
		}
	}
	check("SourceVIP", l.SourceVIP)
	for i, a := range l.FrontendVIPs {
		check(fmt.Sprintf("FrontendVIPs[%d]", i), a)
	}
	return bad
}

// Warnings returns what is suspected to fail or to be useless, and is sent all the
// same, since HNS is not known to refuse it: backends that have addresses and
// none of the load balancer's family; front ends of the loopback, whose packets
// never reach the virtual switch; a source VIP that is no address of a network; a
// backend that is listed twice.
// endpoints are those of the node; a backend that is not among them is left out.
// Paths are as in the document, such as "HostComputeEndpoints[0]".
func (l *LoadBalancer) Warnings(endpoints []*Endpoint) []*FieldError {
	family, v6 := "IPv4", l.Flags&LoadBalancerIPv6 != 0
	if v6 {
		family = "IPv6"
	}
	var out []*FieldError
	for i, id := range l.Endpoints {
		if first := slices.Index(l.Endpoints, id); first < i {
			out = append(out, &FieldError{Path: fmt.Sprintf("HostComputeEndpoints[%d]", i), Value: id.String(),
				Reason: fmt.Sprintf("the same as HostComputeEndpoints[%d]; what HNS does with one backend listed twice is not known", first)})
			continue
		}
		for _, e := range endpoints {
			if e == nil {
				continue
			}
			as := e.Addresses()
			if e.ID == id && len(as) > 0 && !slices.ContainsFunc(as, func(a netip.Addr) bool { return a.Is6() == v6 }) {
				out = append(out, &FieldError{Path: fmt.Sprintf("HostComputeEndpoints[%d]", i), Value: id.String(),
					Reason: fmt.Sprintf("the endpoint has %s, and the load balancer is %s", joinTexts(as), family)})
			}
		}
	}
	if a := l.SourceVIP; a.IsValid() && (a.IsUnspecified() || a.IsLoopback()) {
		out = append(out, &FieldError{Path: "SourceVIP", Value: a.String(), Reason: "not an address of a network; packets would have to leave with one"})
	}
	for i, a := range l.FrontendVIPs {
		if a.IsLoopback() {
			out = append(out, &FieldError{Path: fmt.Sprintf("FrontendVIPs[%d]", i), Value: a.String(),
				Reason: "an address of the loopback, whose packets never reach the virtual switch"})
		}
	}
	return out
}

func (m LoadBalancerPortMapping) check() []*FieldError {
	bad := m.Protocol.check()
	everything := m.Protocol == ProtocolAny && m.InternalPort == 0 && m.ExternalPort == 0 && m.Flags&LoadBalancerInternal != 0
	if !everything {
		for _, p := range []struct {
			name string
			port uint16
		}{{"InternalPort", m.InternalPort}, {"ExternalPort", m.ExternalPort}} {
			if p.port == 0 {
				bad = append(bad, &FieldError{Path: p.name, Value: "0", Reason: "HNS takes no port 0 here", Rule: "port-zero"})
			}
		}
	}
	if _, ok := distributionNames[uint64(m.Distribution)]; !ok {
		bad = append(bad, &FieldError{Path: "DistributionType", Value: fmt.Sprint(m.Distribution), Reason: "not a distribution of the schema", Rule: "enum"})
	}
	return bad
}

// needs returns what not every HNS has of what the load balancer asks for.
func (l *LoadBalancer) needs() []Feature {
	var fs []Feature
	if l.Flags&LoadBalancerDSR != 0 {
		fs = append(fs, FeatureDSR)
	}
	if l.Flags&LoadBalancerIPv6 != 0 {
		fs = append(fs, FeatureDualStack)
	}
	for _, m := range l.PortMappings {
		if m.Distribution != DistributePerConnection {
			fs = append(fs, FeatureSessionAffinity)
		}
	}
	return fs
}

// LoadBalancerService does things to load balancers. It is the field
// LoadBalancers of [Client].
type LoadBalancerService struct{ c *Client }

// Create makes a load balancer. Flags and distributions that this HNS is too old
// for are refused with a [FeatureError]; its version is asked for once, and only
// if there are any. If a backend is not there, the error is ErrNotFound and
// names it.
func (s *LoadBalancerService) Create(ctx context.Context, l *LoadBalancer) (*LoadBalancer, error) {
	made, err := create(ctx, s.c, loadBalancerKind, l, ID{})
	if err != nil && l != nil {
		err = s.c.nameMissing(ctx, err, l.Endpoints)
	}
	return made, err
}

// ByID returns the load balancer, or ErrNotFound.
func (s *LoadBalancerService) ByID(ctx context.Context, id ID) (*LoadBalancer, error) {
	return byID(ctx, s.c, loadBalancerKind, id)
}

// List returns all load balancers of the node, also those of other programs.
// Load balancers may go without anybody's call (kubernetes/kubernetes#110674).
func (s *LoadBalancerService) List(ctx context.Context) ([]*LoadBalancer, error) {
	return list(ctx, s.c, loadBalancerKind, "")
}

// Update makes the load balancer with l.ID what l says, without a gap: the
// whole document is sent, so what l leaves out is gone. It takes
// [FeatureModifyLoadBalancer]; before that, delete it and create it again.
func (s *LoadBalancerService) Update(ctx context.Context, l *LoadBalancer) error {
	const op = "update load balancer"
	if l == nil {
		return nilObject(op, VerbModify, KindLoadBalancer)
	}
	if l.ID.IsZero() {
		return zeroID(op, VerbModify, KindLoadBalancer)
	}
	ref := l.ID.String() + l.where()
	doc, err := document(ctx, s.c, loadBalancerKind, l)
	if err == nil {
		err = s.c.requireModify(ctx)
	}
	if err != nil {
		return &Error{Op: op, Verb: VerbModify, Kind: KindLoadBalancer, Ref: ref, Err: err}
	}
	_, err = s.c.do(ctx, op, ref, Request{Verb: VerbModify, Kind: KindLoadBalancer, ID: l.ID, Document: doc})
	if err != nil {
		err = s.c.nameMissing(ctx, err, l.Endpoints)
	}
	return err
}

// requireModify wants to know: where HNS lacks it, it may say yes all the same.
func (c *Client) requireModify(ctx context.Context) error {
	if c.allowed["feature-"+FeatureModifyLoadBalancer.Name] {
		return nil
	}
	return c.Require(ctx, FeatureModifyLoadBalancer)
}

// Delete deletes the load balancer. Its endpoints stay.
func (s *LoadBalancerService) Delete(ctx context.Context, id ID) error {
	return remove(ctx, s.c, loadBalancerKind, id)
}
