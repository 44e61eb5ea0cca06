package emulator

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// Flags of a load balancer and of its port mappings (LoadBalancerFlags and
// LoadBalancerPortMappingFlags of the HNS schema).
const (
	flagDSR  = 1
	flagIPv6 = 2

	mappingILB = 1
)

// The names of the flags.
var (
	balancerFlags = map[string]uint32{"none": 0, "enabledirectserverreturn": flagDSR, "ipv6": flagIPv6}
	mappingFlags  = map[string]uint32{"none": 0, "enableinternalloadbalancer": mappingILB, "localroutedvip": 2, "usemux": 4, "enablepreservedip": 8}
)

// distributions are the names of LoadBalancerDistribution in the order of
// their numbers.
var distributions = []string{"None", "SourceIPProtocol", "SourceIP"}

// frontend is what two load balancers of a host must not share. One without
// virtual IP listens on the node's own address.
type frontend struct {
	vip      netip.Addr // zero: the node's, where HNS does not know it
	v6       bool
	protocol uint32 // 0: all, with port 0
	port     uint16 // 0: all
}

// balancer is the document of a load balancer.
type balancer struct {
	flags     uint32
	sourceVIP string
	vips      []string     // as they were given
	addresses []netip.Addr // of vips; zero for the node's own
	mappings  []portForward
}

// portForward is an entry of PortMappings.
type portForward struct {
	protocol           uint32
	internal, external uint16
	distribution       int
	flags              uint32
}

func (tx *tx) listLoadBalancers(filter string) ([]json.RawMessage, error) {
	return tx.listLists(hns.KindLoadBalancer, filter)
}

func (tx *tx) getLoadBalancer(id hns.ID) (json.RawMessage, error) {
	return tx.getList(hns.KindLoadBalancer, id)
}

func (tx *tx) deleteLoadBalancer(id hns.ID) error { return tx.deleteList(hns.KindLoadBalancer, id) }

func (tx *tx) createLoadBalancer(req hns.Request) (json.RawMessage, error) {
	o, references, err := listDocument(hns.KindLoadBalancer, req.Document)
	if err != nil {
		return nil, err
	}
	r := &reader{object: o}
	l, err := tx.newList(hns.KindLoadBalancer, req, r)
	if err != nil {
		return nil, err
	}
	l.private.References = references
	if err := tx.readLoadBalancer(l, r); err != nil {
		return nil, err
	}
	if err := tx.checkLoadBalancer(l); err != nil {
		tx.leaveHalf(l)
		return nil, err
	}
	return tx.storeNew(l), nil
}

// modifyLoadBalancer puts a whole document in place of that of a load balancer.
func (tx *tx) modifyLoadBalancer(id hns.ID, doc json.RawMessage) error {
	old, err := tx.findList(hns.KindLoadBalancer, id)
	if err != nil {
		return err
	}
	if !hasModifyLoadBalancer.has(tx.version) {
		return failure(hns.CodeNotImplemented)
	}
	if tx.opts.IgnoreLoadBalancerModify && tx.version == WindowsServer2025 {
		return nil // kubernetes/kubernetes#131466
	}
	o, references, err := listDocument(hns.KindLoadBalancer, doc)
	if err != nil {
		return err
	}
	r := &reader{object: o}
	given, err := r.id("ID")
	switch {
	case err != nil:
		return err
	case !given.IsZero() && given != id:
		return failure(hns.CodeInvalidParameter)
	}
	l := &policyList{id: id, kind: old.kind, seq: old.seq, private: listPrivate{old.seq, references}}
	if err := tx.readLoadBalancer(l, r); err != nil {
		return err
	}
	if err := tx.checkLoadBalancer(l); err != nil {
		return err
	}
	tx.putList(l)
	return nil
}

// readLoadBalancer reads and judges the document of l by itself, and makes the
// one that HNS shows.
func (tx *tx) readLoadBalancer(l *policyList, r *reader) error {
	n, err := tx.readBackends(l, r)
	if err != nil {
		return err
	}
	b := readBalancer(r)
	doc := tx.baseOf(l, r)
	switch {
	case r.bad && l.private.References != nil: // its members are those of policies
		return failure(hns.CodeInvalidPolicy)
	case r.bad:
		return failure(hns.CodeInvalidJSON)
	}
	if err := tx.judgeBalancer(b, n, l.endpoints); err != nil {
		return err
	}
	if !hasSessionAffinity.has(tx.version) { // a member that this HNS does not know
		for i := range b.mappings {
			b.mappings[i].distribution = 0
		}
	}
	l.fronts = b.frontends(n)
	l.identity = b.identity(l.endpoints)
	l.doc = append(doc, b.render()...)
	return nil
}

// readBalancer takes the members of a load balancer out of a document. What
// has the wrong type, or is no value of an enumeration, makes r bad.
func readBalancer(r *reader) balancer {
	b := balancer{flags: r.flags("Flags", balancerFlags), sourceVIP: r.str("SourceVIP")}
	for _, vip := range r.strings("FrontendVIPs") {
		if strings.TrimSpace(vip) != "" { // PowerShell sends "" for none
			b.vips = append(b.vips, vip)
		}
	}
	for _, m := range r.objects("PortMappings") {
		f := portForward{protocol: m.protocol("Protocol"), internal: m.uint16("InternalPort"),
			external: m.uint16("ExternalPort"), flags: m.flags("Flags", mappingFlags)}
		var ok bool
		f.distribution, ok = m.enum("DistributionType", distributions)
		r.bad = r.bad || m.bad || !ok
		b.mappings = append(b.mappings, f)
	}
	for _, vip := range b.vips {
		a, ok := parseAddress(vip)
		if ok && a.IsUnspecified() {
			a = netip.Addr{}
		}
		if ok {
			b.addresses = append(b.addresses, a)
		}
	}
	return b
}

// judgeBalancer holds what HNS asks of a load balancer by itself.
func (tx *tx) judgeBalancer(b balancer, n *network, backends []hns.ID) error {
	v6 := b.flags&flagIPv6 != 0
	for _, text := range append(slices.Clone(b.vips), b.sourceVIP) {
		a, ok := parseAddress(text)
		switch {
		case text == "":
		case !ok:
			return failure(hns.CodeInvalidIP)
		case a.Is6() != v6: // families do not mix (kubernetes/kubernetes#136240)
			return failure(hns.CodeInvalidParameter)
		}
	}
	if b.flags&flagDSR != 0 && !hasDSR.has(tx.version) || v6 && !hasDualStack.has(tx.version) {
		return failure(hns.CodeInvalidParameter)
	}
	if len(b.mappings) == 0 {
		return failure(hns.CodeInvalidPolicy)
	}
	for _, f := range b.mappings {
		switch {
		case f.flags&mappingILB != 0 && f.protocol == 0 && f.internal == 0 && f.external == 0:
		case f.internal == 0:
			return failure(hns.CodeInvalidInternalPort)
		case f.external == 0:
			return failure(hns.CodeInvalidParameter)
		}
	}
	return tx.judgeBackends(b, n, backends)
}

// limit of backends of a load balancer without DSR on HNS 9, which is that of
// its VFP (kubernetes/kubernetes#98680).
const oldBackendLimit = 64

func (tx *tx) judgeBackends(b balancer, n *network, backends []hns.ID) error {
	limit := tx.opts.BackendLimit
	if limit == 0 && tx.version.Major <= 9 && b.flags&flagDSR == 0 {
		limit = oldBackendLimit
	}
	if limit > 0 && len(backends) > limit {
		return detail{failure(hns.CodeInvalidParameter), "Unable to initialize VFP LB rule: invalid number of destinations."}
	}
	if !tx.opts.BackendNeedsPort || n.kind == typeOverlay {
		return nil
	}
	for _, id := range backends {
		if e := tx.endpoints[id]; !e.remote() && !e.attached() {
			return failure(hns.CodePortNotFound)
		}
	}
	return nil
}

// frontends returns what the load balancer takes up on the host.
func (b balancer) frontends(n *network) (out []frontend) {
	v6 := b.flags&flagIPv6 != 0
	vips := b.addresses
	if len(vips) == 0 {
		vips = []netip.Addr{{}}
	}
	for _, vip := range vips {
		if !vip.IsValid() && !v6 && n != nil {
			vip = n.private.ManagementIP
		}
		for _, f := range b.mappings {
			protocols := []uint32{f.protocol}
			if f.protocol == 0 && f.external != 0 { // both, as Docker publishes ports
				protocols = []uint32{6, 17}
			}
			for _, p := range protocols {
				out = append(out, frontend{vip: vip, v6: v6 || vip.Is6(), protocol: p, port: f.external})
			}
		}
	}
	return out
}

// identity returns a text that is equal for load balancers that do the same.
func (b balancer) identity(backends []hns.ID) string {
	ids := make([]string, len(backends))
	for i, id := range backends {
		ids[i] = id.String()
	}
	slices.Sort(ids)
	b.vips = make([]string, len(b.addresses))
	for i, a := range b.addresses {
		b.vips[i] = a.String()
	}
	slices.Sort(b.vips)
	b.sourceVIP = addressText(b.sourceVIP)
	return string(append(object{{"Backends", quoteAll(ids)}}, b.render()...).bytes())
}

// render returns the members of a load balancer as HNS shows them.
func (b balancer) render() (o object) {
	o.addString("SourceVIP", b.sourceVIP)
	if len(b.vips) > 0 {
		o.add("FrontendVIPs", quoteAll(b.vips))
	}
	if len(b.mappings) > 0 {
		elems := make([]json.RawMessage, len(b.mappings))
		for i, f := range b.mappings {
			m := object{}
			m.addUint("Protocol", uint64(f.protocol))
			m.addUint("InternalPort", uint64(f.internal))
			m.addUint("ExternalPort", uint64(f.external))
			m.addUint("DistributionType", uint64(f.distribution))
			m.addUint("Flags", uint64(f.flags))
			elems[i] = m.bytes()
		}
		o.add("PortMappings", list(elems))
	}
	o.addUint("Flags", uint64(b.flags))
	return o
}

// checkLoadBalancer judges a load balancer beside what the host has.
func (tx *tx) checkLoadBalancer(l *policyList) error {
	seen := map[frontend]bool{}
	taken := tx.lists[l.id] == nil && tx.outOfPorts()
	for _, f := range l.fronts {
		taken = taken || seen[f] || tx.listens(l, f)
		seen[f] = true
		for id := range tx.byFrontend[f] {
			if id == l.id {
				continue
			}
			if tx.lists[id].identity == l.identity {
				return failure(hns.CodeAlreadyExists) // kubernetes/kubernetes#139519
			}
			taken = true
		}
	}
	if taken {
		return failure(hns.CodePortExists)
	}
	return nil
}

// outOfPorts reports whether the blocks of ports that load balancers take up are
// used up: 256 of 64 ports each, until an update (KB4551853) made them share.
func (tx *tx) outOfPorts() bool {
	limit := tx.opts.PortBlocks
	if limit == 0 && !sharesPorts.has(tx.version) {
		limit = 256
	}
	return limit > 0 && tx.balancers >= limit
}

// listens reports whether a program of the host listens on a front end. One
// that listens on all addresses of the host is in the way of the node's own
// address; of a virtual IP, too, on HNS 9 (kubernetes/community#8883).
func (tx *tx) listens(l *policyList, f frontend) bool {
	if !slices.Contains(tx.opts.Listeners, Listener{Protocol: f.protocol, Port: f.port}) {
		return false
	}
	n := tx.networks[l.network]
	return !f.vip.IsValid() || n != nil && f.vip == n.private.ManagementIP ||
		tx.opts.ListenersCoverVIPs || tx.version.Major <= 9
}

// leaveHalf lets a load balancer that cannot be made stay behind without port
// mappings, where the options say so (kubernetes/kubernetes#141488).
func (tx *tx) leaveHalf(l *policyList) {
	if !tx.opts.LeaveHalfLoadBalancers {
		return
	}
	l.fronts, l.identity = nil, ""
	l.doc = l.doc.with("PortMappings", nil)
	tx.residue = func() { tx.storeNew(l) }
}
