package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// Remote is another node of the cluster.
type Remote struct {
	// Name of the node.
	Name string
	// Subnets are its pod subnets, without host bits. Those of a family that
	// pods of this node do not have are passed over.
	Subnets []netip.Prefix
	// Addresses are where it is reached on the physical network: the first of
	// each family counts.
	Addresses []netip.Addr
	// MAC is that of its VTEP on Overlay: the DrMacAddress of a Windows node, the
	// VXLAN interface's of a Linux node (flannel: VtepMAC). Zero: not known yet.
	// It means nothing on L2Bridge.
	MAC hns.MAC
	// VNI and Port are what the node says about its VXLAN; zero: nothing. They
	// must be this node's, and zero on L2Bridge.
	VNI  uint32
	Port uint16
	// Err, if set, is why what the node says could not be read. It is skipped
	// then, like one with faulty values.
	Err error
}

// DefaultBatch is how many policies a request to HNS has at most, unless
// [RemotesOptions] say otherwise.
const DefaultBatch = 64

// RemotesOptions are the options of [NewRemotes]; nil are the defaults.
type RemotesOptions struct {
	// Batch is how many policies a request has at most; zero is [DefaultBatch],
	// one is one by one as flanneld does it, negative is no bound. Whether HNS
	// takes several is not proven. So what a request with several should have
	// done is read back, and one that is refused, or not carried out whole, is
	// done again one by one; if that works, so is everything from then on.
	// For 1,000 nodes at once that is 18 requests, reads included, against 1,001
	// one by one; a node that changes costs 3 either way (BenchmarkRemotes).
	Batch int
	// Logger, if set, is told of every change, of each node that is found
	// faulty, once, and when it is well again.
	Logger *slog.Logger
	// Counters, if set, count.
	Counters *Counters
}

// Remotes leads the pod subnets of the other nodes to them. Make one with
// [NewRemotes]. It is safe for concurrent use.
//
// On Overlay a way is a RemoteSubnetRoute policy of the network, on L2Bridge a
// route of the node. Ours to change are those whose destination is a part of a
// cluster CIDR, and not all of it, and which on L2Bridge have a next hop, are on
// the adapter with the node's address, or the one below it, and do not come from
// DHCP. HNS keeps no owner of policies, nor Windows one of routes: what flanneld
// left there is taken over as it is, and two agents of different minds on one
// network undo each other's work. Whatever else is there stays.
type Remotes struct {
	plan *Plan
	opts RemotesOptions
	ways waysOf

	mu     sync.Mutex       // held for a whole Reconcile
	faults map[string]int   // how often each was found the last time
	faulty map[string]bool  // the nodes that were skipped then
	last   map[string][]way // by node: what it is led by, or was before it was skipped
	led    map[string]bool  // the nodes that were let in the last time
}

// waysOf is where the ways are kept.
type waysOf interface {
	// read returns the ways that are ours. What apply needs is kept.
	read(ctx context.Context) ([]found, error)
	// nextHop says which addresses can be reached directly; nil: it does not
	// matter.
	nextHop() func(netip.Addr) bool
	// apply carries out the changes; failed are those that were refused. An
	// error says that it stopped.
	apply(ctx context.Context, changes []change) (failed []*RouteError, err error)
}

// found is a way that is there.
type found struct {
	prefix  netip.Prefix
	address netip.Addr
	mac     hns.MAC
	same    func(way) bool

	policy hns.NetworkPolicy // on Overlay, as it was read
	route  hostnet.Route     // on L2Bridge
}

// change puts the way to one prefix in place.
type change struct {
	prefix netip.Prefix
	remove []found
	add    *way // nil: the prefix is led nowhere
}

// failed is that the change could not be made.
func (c change) failed(err error) *RouteError {
	e := &RouteError{Prefix: c.prefix, Err: err}
	if c.add != nil {
		e.Node = c.add.node
	}
	return e
}

// blocked says why a change must wait: an old way that overlaps the new one could
// not be removed, and the two would share what is sent.
func (c change) blocked(failed []*RouteError) error {
	for _, f := range failed {
		if f.Node == "" && c.add != nil && f.Prefix.Overlaps(c.prefix) {
			return fmt.Errorf("the way to %s could not be removed: %w", f.Prefix, f.Err)
		}
	}
	return nil
}

// RouteError is a way to another node, a policy or a route, that could not be made or removed.
type RouteError struct {
	// Node is empty for a way that is to go.
	Node   string
	Prefix netip.Prefix
	Err    error
}

// Error names node and prefix.
func (e *RouteError) Error() string {
	if e.Node == "" {
		return fmt.Sprintf("remove the route to %s: %v", e.Prefix, e.Err)
	}
	return fmt.Sprintf("route %s to node %q: %v", e.Prefix, e.Node, e.Err)
}

// Unwrap returns the cause.
func (e *RouteError) Unwrap() error { return e.Err }

// NewRemotes returns the remotes of a planned node. It does nothing yet. They
// stay with the plan: after another Description.Plan make new ones. The
// error, which matches [hns.ErrUnsupported], is for the modes in which others
// lead to the nodes: the physical network or an SDN controller. host is needed
// on L2Bridge alone.
func NewRemotes(client *hns.Client, host hostnet.Host, plan *Plan, opts *RemotesOptions) (*Remotes, error) {
	if plan == nil {
		return nil, errors.New("node: remotes: no plan")
	}
	r := &Remotes{plan: plan}
	if opts != nil {
		r.opts = *opts
	}
	d := &plan.Description
	switch {
	case d.Mode == modes.Overlay && client != nil:
		r.ways = &overlayWays{client: client, r: r}
	case d.Mode == modes.L2Bridge && client != nil && host != nil:
		r.ways = &bridgeWays{client: client, host: host, r: r}
	case d.Mode == modes.Overlay || d.Mode == modes.L2Bridge:
		return nil, fmt.Errorf("node: remotes of network %q: no client or host, which mode %s needs", d.Name, d.Mode)
	default:
		return nil, fmt.Errorf("node: remotes of network %q: %w", d.Name, &modes.UnsupportedError{Mode: d.Mode, Path: "Mode",
			Reason: "the physical network leads to the pods of other nodes"})
	}
	return r, nil
}

// Report is what [Remotes.Reconcile] found and did, in ways: one for each pod
// subnet. What was added, changed and removed is not counted if it stopped.
type Report struct {
	Added, Changed, Removed, Kept int
	// Held are ways to nodes that are skipped now, left as they were.
	Held int
	// Failed are those that were refused; the next Reconcile tries again.
	Failed []*RouteError
	// Stopped is what ended it before every way was tried; nil if nothing did.
	Stopped error
	// Skipped are the faulty nodes, by name.
	Skipped []Skipped
}

// String returns "2 added, 1 changed, 0 removed, 7 kept, 0 held, 0 failed, 1 nodes skipped".
func (r Report) String() string {
	return fmt.Sprintf("%d added, %d changed, %d removed, %d kept, %d held, %d failed, %d nodes skipped",
		r.Added, r.Changed, r.Removed, r.Kept, r.Held, len(r.Failed), len(r.Skipped))
}

// Reconcile makes the ways to other nodes what nodes says: all of them, in any
// order; this node may be among them. It looks at what is there each time, so it
// mends what others did, and goes on after a failure or a restart of HNS where it
// stopped. What is as it should be costs no request but the one that reads.
//
// A node with a faulty value is skipped: what leads to it stays as it is, unless
// another node needs the subnet, and all others go on. Of two nodes that claim one
// subnet or address the one that is led to by it already stays, else the first by
// name; two of one name are such a case too.
//
// A way that changes is removed and then added, since HNS has one policy for a
// prefix (flannel-io/flannel#1137).
//
// The error is for what stopped it (a network that is not there is
// [hns.ErrNotFound] on Overlay: call [Ensure]), and for all of Report.Failed. On
// L2Bridge HNS is not asked, so call Ensure before: a network that is made moves
// the node's address to another adapter, and routes that were added too early
// stay on the one below.
func (r *Remotes) Reconcile(ctx context.Context, nodes []Remote) (Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opts.Counters.add(CountReconciles, 1)
	report, err := r.reconcile(ctx, nodes)
	report.Stopped = err
	for _, f := range report.Failed {
		err = errors.Join(err, f)
	}
	if err != nil {
		r.opts.Counters.add(CountReconcileFailures, 1)
		return report, fmt.Errorf("node: remotes of network %q: %w", r.plan.Description.Name, err)
	}
	return report, nil
}

func (r *Remotes) reconcile(ctx context.Context, nodes []Remote) (Report, error) {
	var report Report
	there, err := r.ways.read(ctx)
	if err != nil {
		return report, err
	}
	byPrefix := map[netip.Prefix][]found{}
	for _, f := range there {
		byPrefix[f.prefix] = append(byPrefix[f.prefix], f)
	}
	a := admission{d: &r.plan.Description, onLink: r.ways.nextHop(), claim: func(w way) claim { return r.claim(w, byPrefix[w.prefix]) }}
	a.admit(nodes)
	report.Skipped = a.skipped
	r.announce(ctx, a.skipped)
	r.hold(&a, nodes, byPrefix, &report)
	changes := diff(a.ways, there, byPrefix, &report)
	r.remember(a.ways, nodes)
	if len(changes) == 0 {
		return report, nil
	}
	report.Failed, err = r.ways.apply(ctx, changes)
	if err == nil {
		r.count(ctx, changes, &report)
	}
	return report, err
}

// claim weighs a way that a node says it has, by what is there for its prefix.
func (r *Remotes) claim(w way, there []found) claim {
	i := slices.IndexFunc(r.last[w.node], func(x way) bool { return x.prefix == w.prefix })
	switch led := i >= 0 && r.led[w.node]; {
	case led && r.last[w.node][i].address == w.address:
		return claimLed
	case led:
		return claimMoved
	case slices.ContainsFunc(there, func(f found) bool { return f.address == w.address }):
		return claimThere
	case i >= 0:
		return claimOnce
	}
	return claimNew
}

// hold takes the ways to skipped nodes out of what is there, so that they stay:
// those of their subnets, those that they were led by, and, as a new process
// does not know these, those to an address that is theirs alone.
func (r *Remotes) hold(a *admission, nodes []Remote, byPrefix map[netip.Prefix][]found, report *Report) {
	byAddress := map[netip.Addr][]netip.Prefix{}
	for p, is := range byPrefix {
		for _, f := range is {
			byAddress[f.address] = append(byAddress[f.address], p)
		}
	}
	skipped := map[string]bool{}
	for _, s := range a.skipped {
		if s.Fault != FaultDuplicate { // the other of that name is led to
			skipped[s.Node] = true
		}
	}
	for _, n := range nodes {
		if !skipped[n.Name] {
			continue
		}
		ways := slices.Clone(n.Subnets)
		for _, w := range r.last[n.Name] {
			ways = append(ways, w.prefix)
		}
		for _, x := range n.Addresses {
			if _, taken := a.addresses[x]; !taken && x.IsValid() {
				ways = append(ways, byAddress[x]...)
			}
		}
		for _, p := range ways {
			if !p.IsValid() || len(byPrefix[p.Masked()]) == 0 {
				continue
			}
			if !a.subnets.overlaps(p.Masked()) {
				delete(byPrefix, p.Masked())
				report.Held++
			}
		}
	}
}

// diff compares the ways wanted with those there: first what must go, then what
// changes, then what is new, as a new prefix may overlap an old one.
func diff(want []way, there []found, byPrefix map[netip.Prefix][]found, report *Report) []change {
	var changed, added []change
	wanted := map[netip.Prefix]bool{}
	for i := range want {
		w := &want[i]
		wanted[w.prefix] = true
		switch is := byPrefix[w.prefix]; {
		case len(is) == 1 && is[0].same(*w):
			report.Kept++
		case len(is) > 0:
			changed = append(changed, change{w.prefix, is, w})
		default:
			added = append(added, change{w.prefix, nil, w})
		}
	}
	var removed []change
	for _, f := range there {
		if is := byPrefix[f.prefix]; len(is) > 0 && !wanted[f.prefix] {
			removed = append(removed, change{f.prefix, is, nil})
			wanted[f.prefix] = true // once, if there are several
		}
	}
	return slices.Concat(removed, changed, added)
}

// remember keeps what each node is led by, for when it says nothing sensible.
func (r *Remotes) remember(ways []way, nodes []Remote) {
	now, led := map[string][]way{}, map[string]bool{}
	for _, w := range ways {
		now[w.node] = append(now[w.node], w)
		led[w.node] = true
	}
	for _, n := range nodes {
		if _, ok := now[n.Name]; !ok && r.last[n.Name] != nil {
			now[n.Name] = r.last[n.Name]
		}
	}
	r.last, r.led = now, led
}

// announce tells of each fault once, and of its end.
func (r *Remotes) announce(ctx context.Context, skipped []Skipped) {
	now, faulty := map[string]int{}, map[string]bool{}
	for _, s := range skipped {
		text := s.Error()
		now[text]++
		faulty[s.Node] = true
		if now[text] <= r.faults[text] {
			continue
		}
		r.opts.Counters.add(CountNodesSkipped+string(s.Fault), 1)
		if r.opts.Logger != nil {
			r.opts.Logger.WarnContext(ctx, "node skipped", "network", r.plan.Description.Name, "node", s.Node, "fault", string(s.Fault), "error", s.Err.Error())
		}
	}
	for _, node := range slices.Sorted(maps.Keys(r.faulty)) {
		if !faulty[node] && r.opts.Logger != nil {
			r.opts.Logger.InfoContext(ctx, "node no longer skipped", "network", r.plan.Description.Name, "node", node)
		}
	}
	r.faults, r.faulty = now, faulty
}

// count fills the report in for what was carried out.
func (r *Remotes) count(ctx context.Context, changes []change, report *Report) {
	for _, c := range changes {
		if slices.ContainsFunc(report.Failed, func(f *RouteError) bool { return f.Prefix == c.prefix }) {
			continue
		}
		n, what := &report.Added, "route added"
		switch {
		case c.add == nil:
			n, what = &report.Removed, "route removed"
		case len(c.remove) > 0:
			n, what = &report.Changed, "route changed"
		}
		*n++
		if r.opts.Logger == nil {
			continue
		}
		attrs := []any{"network", r.plan.Description.Name, "subnet", c.prefix.String()}
		if c.add != nil {
			attrs = append(attrs, "node", c.add.node, "address", c.add.address.String())
			if !c.add.mac.IsZero() {
				attrs = append(attrs, "mac", c.add.mac.String())
			}
		}
		r.opts.Logger.InfoContext(ctx, what, attrs...)
	}
	r.opts.Counters.add(CountRoutesAdded, report.Added)
	r.opts.Counters.add(CountRoutesChanged, report.Changed)
	r.opts.Counters.add(CountRoutesRemoved, report.Removed)
}
