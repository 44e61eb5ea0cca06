package node_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// peer is a node of the walk, whose values are few, so that they collide.
type peer struct {
	name    string
	subnets []netip.Prefix
	address netip.Addr
	mac     byte
	broken  int // 0: sound by itself
}

// walk changes nodes at random, and is the model of what must follow.
type walk struct {
	*cluster
	rnd    *rand.Rand
	mode   string
	peers  map[string]peer
	memory map[string][]netip.Prefix // by node: what it was led by when last let in
	in     map[string]peer           // the nodes let in by the step before
}

func (w *walk) subnet() netip.Prefix {
	bits := []int{24, 24, 24, 23, 25}[w.rnd.IntN(5)]
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(16 + w.rnd.IntN(12)), byte(128 * w.rnd.IntN(2))}), bits).Masked()
}

func (w *walk) address() netip.Addr {
	return netip.AddrFrom4([4]byte{192, 0, 2, byte(20 + w.rnd.IntN(14))})
}

func (w *walk) pick() string {
	names := slices.Sorted(maps.Keys(w.peers))
	return names[w.rnd.IntN(len(names))]
}

// change does one thing to the nodes.
func (w *walk) change() {
	if len(w.peers) < 2 || w.rnd.IntN(5) == 0 {
		name := fmt.Sprintf("node-%02d", w.rnd.IntN(14))
		w.peers[name] = peer{name, []netip.Prefix{w.subnet()}, w.address(), 1, 0}
		return
	}
	p, q := w.peers[w.pick()], w.peers[w.pick()]
	switch w.rnd.IntN(9) {
	case 0:
		delete(w.peers, p.name)
		return
	case 1:
		p.subnets, q.subnets = q.subnets, p.subnets
	case 2:
		p.address, q.address = q.address, p.address
	case 3: // takes over, or claims, what another has
		p.subnets = slices.Clone(q.subnets)
	case 4:
		p.address = q.address
	case 5:
		p.subnets = []netip.Prefix{w.subnet()}
		if w.rnd.IntN(3) == 0 {
			p.subnets = append(p.subnets, w.subnet())
		}
	case 6:
		p.address = w.address()
	case 7:
		p.mac++
	case 8:
		p.broken = w.rnd.IntN(5)
	}
	w.peers[p.name] = p
	if q.name != p.name {
		w.peers[q.name] = q
	}
}

// remote is what the peer says of itself.
func (w *walk) remote(p peer) node.Remote {
	r := node.Remote{Name: p.name, Subnets: slices.Clone(p.subnets), Addresses: []netip.Addr{p.address}, MAC: hns.MAC{2, 0, 0, 0, 0, p.mac}}
	switch p.broken {
	case 1:
		r = node.Remote{Name: p.name, Err: errors.New("annotation")}
	case 2:
		r.VNI = 5000
	case 3:
		r.Subnets = append(prefixes("10.99.0.0/24"), r.Subnets...)
	case 4:
		r.Addresses = addrs("224.0.0.1")
	}
	return r
}

func overlapAny(a, b []netip.Prefix) bool {
	return slices.ContainsFunc(a, func(x netip.Prefix) bool { return slices.ContainsFunc(b, x.Overlaps) })
}

// sound is a node that could be led to if it were alone.
func (w *walk) sound(p peer) bool {
	return p.broken == 0 && !overlapAny(p.subnets, w.plan.Description.Subnets) && (len(p.subnets) == 1 || !p.subnets[0].Overlaps(p.subnets[1]))
}

func contradict(p, q peer) bool {
	return p.name != q.name && (p.address == q.address || overlapAny(p.subnets, q.subnets))
}

// wayOf is a line of cluster.ways.
func (w *walk) wayOf(p peer, s netip.Prefix) string {
	if w.mode == "l2bridge" {
		return fmt.Sprintf("%s %s", s, p.address)
	}
	return fmt.Sprintf("%s %s %s", s, p.address, hns.MAC{2, 0, 0, 0, 0, p.mac})
}

// check holds what was done against what the model says; before are the ways
// that there were.
func (w *walk) check(report node.Report, before []string, restarted bool) {
	skipped := map[string]bool{}
	for _, s := range report.Skipped {
		skipped[s.Node] = true
	}
	in := map[string]peer{}
	for name, p := range w.peers {
		free := w.sound(p)
		for _, q := range w.peers {
			free = free && !(w.sound(q) && contradict(p, q))
		}
		if free && skipped[name] {
			w.tb.Errorf("%s contradicts nobody and is skipped: %v", name, report.Skipped)
		}
		if !skipped[name] {
			in[name] = p
		}
	}
	var want []string
	var led []netip.Prefix
	for name, p := range in {
		if !w.sound(p) {
			w.tb.Errorf("%s is let in: %+v", name, p)
		}
		for _, q := range in {
			if contradict(p, q) {
				w.tb.Errorf("both are let in: %+v %+v", p, q)
			}
		}
		for _, s := range p.subnets {
			want = append(want, w.wayOf(p, s))
			led = append(led, s)
		}
	}
	for name, p := range w.in {
		if now, there := w.peers[name]; !restarted && there && skipped[name] && fmt.Sprint(now) == fmt.Sprint(p) {
			w.tb.Errorf("%s was led to, did not change and is skipped: %v", name, report.Skipped)
		}
	}
	want = append(want, w.held(before, skipped, in, led)...)
	slices.Sort(want)
	w.wantWays("", want...)
	memory := map[string][]netip.Prefix{}
	for name, p := range w.peers {
		if memory[name] = w.memory[name]; !skipped[name] {
			memory[name] = p.subnets
		}
	}
	w.memory, w.in = memory, in
}

// held are the ways to nodes that are skipped and that nobody else needs, and
// those that are not ours.
func (w *walk) held(before []string, skipped map[string]bool, in map[string]peer, led []netip.Prefix) []string {
	var out []string
	for _, line := range before {
		f := strings.Fields(line)
		prefix, address := netip.MustParsePrefix(f[0]), addr(f[1])
		if !netip.MustParsePrefix("10.244.0.0/16").Contains(prefix.Addr()) {
			out = append(out, line)
			continue
		}
		if overlapAny([]netip.Prefix{prefix}, slices.Concat(led, w.plan.Description.Subnets)) {
			continue
		}
		owned := false
		for name := range skipped {
			r := w.remote(w.peers[name])
			alone := !slices.ContainsFunc(slices.Collect(maps.Values(in)), func(q peer) bool { return q.address == address })
			owned = owned || slices.Contains(r.Subnets, prefix) || slices.Contains(w.memory[name], prefix) || slices.Contains(r.Addresses, address) && alone
		}
		if owned {
			out = append(out, line)
		}
	}
	return out
}

// apart wants no two ways to one place, at any time.
func (w *walk) apart(when string) {
	var seen []netip.Prefix
	for _, line := range w.ways() {
		p := netip.MustParsePrefix(strings.Fields(line)[0])
		if overlapAny([]netip.Prefix{p}, seen) {
			w.tb.Errorf("%s: %s is led twice: %v", when, p, w.ways())
		}
		seen = append(seen, p)
	}
}

// disturb lets the next calls fail, or takes something away; the function
// returned ends that.
func (w *walk) disturb(h *flakyHost) func() {
	codes := []hns.Code{hns.CodeRPCUnavailable, hns.CodeInvalidParameter, hns.CodePolicyExists, hns.CodePolicyNotFound}
	switch w.rnd.IntN(7) {
	case 0, 1:
		h.fail = w.rnd.IntN(4)
		f := emulator.Fault{Verb: []hns.Verb{hns.VerbModify, hns.VerbModify, hns.VerbList}[w.rnd.IntN(3)], Kind: hns.KindNetwork, Nth: 1 + w.rnd.IntN(4),
			Times: 1 + w.rnd.IntN(3), After: w.rnd.IntN(2) == 0, Code: codes[w.rnd.IntN(len(codes))]}
		remove := w.hns.Inject(f)
		return func() { remove(); h.fail = -1 }
	case 2:
		w.hns.Stop()
		return func() {
			if err := w.hns.Restart(); err != nil {
				w.tb.Fatal(err)
			}
		}
	}
	if ways := w.ways(); len(ways) > 0 && w.mode == "overlay" && w.rnd.IntN(2) == 0 { // one prefix cannot be changed
		prefix := strings.Fields(ways[w.rnd.IntN(len(ways))])[0]
		return w.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNetwork, Times: -1, Code: hns.CodeInvalidParameter,
			Match: func(r hns.Request) bool { return strings.Contains(string(r.Document), prefix) }})
	}
	return func() {}
}

// lose takes a way away behind the agent's back.
func (w *walk) lose() {
	if w.mode == "l2bridge" {
		routes, err := w.host.Routes(context.Background())
		if err == nil && len(routes) > 0 {
			err = w.host.DeleteRoute(context.Background(), routes[w.rnd.IntN(len(routes))])
		}
		if err != nil {
			w.tb.Fatal(err)
		}
		return
	}
	n, err := w.client.Networks.ByName(context.Background(), w.plan.Description.Name)
	if err != nil {
		w.tb.Fatal(err)
	}
	if ways := hns.PoliciesOf[hns.RemoteSubnetRoute](n.Policies); len(ways) > 1 { // the first is not ours
		if err := w.client.Networks.RemovePolicies(context.Background(), n.ID, ways[1+w.rnd.IntN(len(ways)-1)]); err != nil {
			w.tb.Fatal(err)
		}
	}
}

// flakyHost fails at its nth change from now, half the time after the effect.
type flakyHost struct {
	hostnet.Host
	rnd  *rand.Rand
	fail int // -1: never
}

func (h *flakyHost) change(do func() error) error {
	h.fail--
	if h.fail != -1 {
		if h.fail < -1 {
			h.fail = -1
		}
		return do()
	}
	if h.rnd.IntN(2) == 0 {
		_ = do() // nobody hears the answer
	}
	return errors.New("the answer was lost")
}

func (h *flakyHost) AddRoute(ctx context.Context, r hostnet.Route) error {
	return h.change(func() error { return h.Host.AddRoute(ctx, r) })
}

func (h *flakyHost) DeleteRoute(ctx context.Context, r hostnet.Route) error {
	return h.change(func() error { return h.Host.DeleteRoute(ctx, r) })
}

// TestRandomWalk changes nodes, lets calls fail and restarts the agent and HNS,
// at random; whatever happens, a reconcile that succeeds leaves what an
// independent model says, and one that does not leaves no prefix led twice.
func TestRandomWalk(t *testing.T) {
	for _, mode := range []string{"overlay", "l2bridge"} {
		for seed := range uint64(12) {
			batch := []int{0, 1, 3, -1}[seed%4]
			t.Run(fmt.Sprintf("%s/%d", mode, seed), func(t *testing.T) { randomWalk(t, mode, seed, batch) })
		}
	}
}

// settles reconciles until there is nothing left to do. Who of three or more
// nodes that contradict each other is let in can depend on whom one was led by
// that is skipped now, so once may not be enough.
func (w *walk) settles(nodes []node.Remote, before []string, restarted bool) (report node.Report) {
	w.tb.Helper()
	for range 3 {
		w.rnd.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		calls := w.requests(func() { report = w.reconcile(nodes...) })
		w.check(report, before, restarted)
		w.apart("in the end")
		if calls["modify"] == 0 && report.Added+report.Changed+report.Removed == 0 {
			return report
		}
		before, restarted = w.ways(), false
	}
	w.tb.Errorf("not at rest: %s", report)
	return report
}

func randomWalk(t *testing.T, mode string, seed uint64, batch int) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	w := &walk{cluster: newCluster(t, mode, batch, nil), rnd: rnd, mode: mode, peers: map[string]peer{}}
	host := &flakyHost{w.host, rnd, -1}
	agent := func() {
		var err error
		if w.remotes, err = node.NewRemotes(w.client, host, w.plan, &node.RemotesOptions{Batch: batch}); err != nil {
			t.Fatal(err)
		}
	}
	agent()
	if mode == "overlay" {
		w.foreignWay("10.250.1.0/24", "192.0.2.50") // not ours
	}
	for step := range 60 {
		for range 1 + rnd.IntN(6) {
			w.change()
		}
		restarted := rnd.IntN(8) == 0
		if restarted {
			agent()
			w.memory = nil
		}
		var nodes []node.Remote
		for _, name := range slices.Sorted(maps.Keys(w.peers)) {
			nodes = append(nodes, w.remote(w.peers[name]))
		}
		if rnd.IntN(6) == 0 {
			w.lose()
		}
		before := w.ways()
		calm := w.disturb(host)
		_, err := w.remotes.Reconcile(t.Context(), nodes)
		calm()
		if err != nil {
			w.apart(fmt.Sprintf("step %d, after %v", step, err))
		}
		report := w.settles(nodes, before, restarted)
		if t.Failed() {
			t.Fatalf("step %d of seed %d: %s\nnodes %+v\nbefore %q\nlet in before %v", step, seed, report, w.peers, before, w.in)
		}
	}
}
