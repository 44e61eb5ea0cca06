package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
)

// many are nodes 11 to 10+n.
func many(n int) []node.Remote {
	var out []node.Remote
	for i := range n {
		out = append(out, remote(11+i))
	}
	return out
}

// TestRequests counts what reconciling asks of HNS.
func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		batch                  int
		fill, still, one, gone string
	}{
		// Several policies are read back.
		{-1, "map[list:2 modify:1]", "map[list:1]", "map[list:1 modify:2]", "map[list:2 modify:1]"},
		{0, "map[list:2 modify:2]", "map[list:1]", "map[list:1 modify:2]", "map[list:2 modify:2]"},
		{1, "map[list:1 modify:100]", "map[list:1]", "map[list:1 modify:2]", "map[list:1 modify:100]"},
	} {
		c := newCluster(t, "overlay", tt.batch, nil)
		nodes := many(100)
		check := func(what, want string, now []node.Remote) {
			if got := fmt.Sprint(c.requests(func() { c.reconcile(now...) })); got != want {
				t.Errorf("batch %d, %s: %s, want %s", tt.batch, what, got, want)
			}
		}
		check("from empty", tt.fill, nodes)
		check("nothing to do", tt.still, nodes)
		nodes[50].MAC[1] = 0xff
		check("one changes", tt.one, nodes)
		check("all go", tt.gone, nil)
	}
}

// TestHalfSwap: of 1,000 nodes (200 one by one) half swap their pod subnets at once. Each way
// is removed once and added once, and all are right in the end.
func TestHalfSwap(t *testing.T) {
	for _, tt := range []struct {
		batch, nodes int
		want         string
	}{{1, 200, "map[list:1 modify:200]"}, {0, 1000, "map[list:2 modify:16]"}, {-1, 1000, "map[list:2 modify:2]"}} {
		c, nodes := benchCluster(t, tt.batch), nodesOf(tt.nodes)
		c.reconcile(nodes...)
		for i := 0; i < tt.nodes/2; i += 2 {
			nodes[i].Subnets, nodes[i+1].Subnets = nodes[i+1].Subnets, nodes[i].Subnets
		}
		var report node.Report
		if got := fmt.Sprint(c.requests(func() { report = c.reconcile(nodes...) })); got != tt.want || report.Changed != tt.nodes/2 || report.Kept != tt.nodes/2 {
			t.Errorf("batch %d: %s, want %s; %s", tt.batch, got, tt.want, report)
		}
		var want []string
		for _, n := range nodes {
			want = append(want, fmt.Sprintf("%s %s %s", n.Subnets[0], n.Addresses[0], n.MAC))
		}
		slices.Sort(want)
		c.wantWays(fmt.Sprint("batch ", tt.batch), want...)
	}
}

// TestBatchRefused: an HNS that takes one policy in a request. It is tried with
// several once.
func TestBatchRefused(t *testing.T) {
	c := newCluster(t, "overlay", 0, func(b hns.Backend) hns.Backend {
		return backendFunc(func(r hns.Request) (hns.Response, error) {
			if policiesIn(r) > 1 {
				return hns.Response{}, &hns.BackendError{Code: hns.CodeInvalidJSON}
			}
			return b.Do(r)
		})
	})
	if got := c.reconcile(many(5)...); got.Added != 5 {
		t.Error(got)
	}
	if n := len(c.ways()); n != 5 {
		t.Errorf("%d ways", n)
	}
	if got := c.reconcile(); got.Removed != 5 {
		t.Error(got)
	}
	c.wantWays("all gone")
	if n := c.counters.Snapshot()[node.CountBatchesRefused]; n != 1 {
		t.Errorf("%d batches were tried", n)
	}
}

// TestBatchCutShort: an HNS that carries out the first policy of a request alone,
// and says that all is well.
func TestBatchCutShort(t *testing.T) {
	c := newCluster(t, "overlay", 0, func(b hns.Backend) hns.Backend {
		return backendFunc(func(r hns.Request) (hns.Response, error) {
			if policiesIn(r) > 1 {
				var doc struct {
					RequestType, ResourceType string
					Settings                  struct{ Policies []json.RawMessage }
				}
				if err := json.Unmarshal(r.Document, &doc); err != nil {
					return hns.Response{}, err
				}
				doc.Settings.Policies = doc.Settings.Policies[:1]
				r.Document, _ = json.Marshal(doc)
			}
			return b.Do(r)
		})
	})
	if got := c.reconcile(many(5)...); got.Added != 5 || len(c.ways()) != 5 {
		t.Errorf("%s, %d ways", got, len(c.ways()))
	}
	c.reconcile()
	c.wantWays("all gone")
	if n := c.counters.Snapshot()[node.CountBatchesRefused]; n != 1 {
		t.Errorf("%d batches were tried", n)
	}
}

// TestOnePolicyRefused: HNS refuses the policy of one node; all others go on, and
// requests go on to have several.
func TestOnePolicyRefused(t *testing.T) {
	c := newCluster(t, "overlay", 0, nil)
	remove := c.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Times: -1, Code: hns.CodeInvalidPolicy,
		Match: func(r hns.Request) bool { return strings.Contains(string(r.Document), "10.244.13.0/24") }})
	report, err := c.remotes.Reconcile(t.Context(), many(5))
	var we *node.RouteError
	if !errors.As(err, &we) || we.Node != "node-013" || !errors.Is(err, hns.ErrInvalidPolicy) || report.Added != 4 || len(report.Failed) != 1 || len(c.ways()) != 4 {
		t.Fatalf("%s, %v", report, err)
	}
	// It alone is tried again.
	if calls := c.requests(func() { _, err = c.remotes.Reconcile(t.Context(), many(5)) }); err == nil || calls["modify"] > 2 {
		t.Errorf("%v, %v", calls, err)
	}
	remove()
	if got := c.reconcile(many(9)...); got.Added != 5 {
		t.Error(got)
	}
	if calls := c.requests(func() { c.reconcile() }); calls["modify"] != 1 {
		t.Errorf("%v: one by one", calls)
	}
}

// TestLostAnswers: requests fail after their effect, or another program is
// faster.
func TestLostAnswers(t *testing.T) {
	for _, code := range []hns.Code{hns.CodePolicyExists, hns.CodePolicyNotFound, hns.CodeInvalidParameter} {
		for _, batch := range []int{0, 1} {
			c := newCluster(t, "overlay", batch, nil)
			c.reconcile(remote(7), remote(8))
			c.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNetwork, Code: code, After: true, Times: 2})
			c.reconcile(with(remote(7), func(r *node.Remote) { r.MAC[1]++ }), remote(9))
			c.wantWays(code.String(), "10.244.7.0/24 192.0.2.7 4E-0B-00-00-00-07", way9)
		}
	}
}

// TestStopsWhenDown: no request is sent to a service that is down.
func TestStopsWhenDown(t *testing.T) {
	c := newCluster(t, "overlay", 1, nil)
	c.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Nth: 3, Times: -1, Code: hns.CodeRPCUnavailable})
	var err error
	calls := c.requests(func() { _, err = c.remotes.Reconcile(t.Context(), many(50)) })
	if !errors.Is(err, hns.ErrUnavailable) || calls["modify"] != 3 {
		t.Errorf("%v, %v", calls, err)
	}
	if n := c.counters.Snapshot()[node.CountReconcileFailures]; n != 1 {
		t.Errorf("%d failures", n)
	}
}

// TestRace: another program removed what was to be removed. That says nothing
// about requests with several policies.
func TestRace(t *testing.T) {
	c := newCluster(t, "overlay", 0, nil)
	c.reconcile(many(4)...)
	c.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Kind: hns.KindNetwork, Code: hns.CodePolicyNotFound})
	if got := c.reconcile(); got.Removed != 4 {
		t.Error(got)
	}
	c.wantWays("all gone")
	if calls := c.requests(func() { c.reconcile(many(4)...) }); calls["modify"] != 1 {
		t.Errorf("%v: one by one", calls)
	}
}

// TestRemovalNotFound: HNS says that it does not know a policy that it lists, as
// it may compare its settings in another way. That is no removal, and what
// overlaps it has to wait.
func TestRemovalNotFound(t *testing.T) {
	for _, batch := range []int{0, 1} {
		c := newCluster(t, "overlay", batch, nil)
		c.reconcile(remote(7), remote(16))
		remove := c.hns.Inject(emulator.Fault{Verb: hns.VerbModify, Times: -1, Code: hns.CodePolicyNotFound,
			Match: func(r hns.Request) bool { return strings.Contains(string(r.Document), "10.244.16.0/24") }})
		heir := with(remote(17), func(r *node.Remote) { r.Subnets = prefixes("10.244.16.0/22") })
		report, err := c.remotes.Reconcile(t.Context(), []node.Remote{heir, remote(8)})
		var we *node.RouteError
		if !errors.As(err, &we) || !errors.Is(err, hns.ErrNotFound) || len(report.Failed) != 2 || report.Added != 1 || report.Removed != 1 {
			t.Errorf("%s, %v", report, err)
		}
		c.wantWays("stuck", "10.244.16.0/24 192.0.2.16 4E-0A-00-00-00-10", way8)
		remove()
		c.reconcile(heir, remote(8))
		c.wantWays("free", "10.244.16.0/22 192.0.2.17 4E-0A-00-00-00-11", way8)
	}
}

// TestOldGoesFirst: a new subnet may overlap an old one, so that is removed
// before.
func TestOldGoesFirst(t *testing.T) {
	c := newCluster(t, "overlay", 1, nil)
	c.reconcile(with(remote(7), func(r *node.Remote) { r.Subnets = prefixes("10.244.16.0/24") }))
	c.hns.ResetCalls()
	c.reconcile(with(remote(7), func(r *node.Remote) { r.Subnets = prefixes("10.244.16.0/22") }))
	var order []string
	for _, call := range c.hns.Calls() {
		var doc struct{ RequestType string }
		if call.Verb == hns.VerbModify && json.Unmarshal(call.Document, &doc) == nil {
			order = append(order, doc.RequestType)
		}
	}
	if got := strings.Join(order, " "); got != "Remove Add" {
		t.Error(got)
	}
}

// TestTwoAgents: the old agent still runs beside the new one. They work at the
// same time, and what one did the other one finds; no way is there twice.
func TestTwoAgents(t *testing.T) {
	for _, batch := range []int{1, 0} {
		c := newCluster(t, "overlay", batch, nil)
		other, err := node.NewRemotes(hns.New(c.hns, nil), nil, c.plan, &node.RemotesOptions{Batch: batch})
		if err != nil {
			t.Fatal(err)
		}
		for round := range 12 {
			nodes := many(20)
			for i := range nodes {
				nodes[i].MAC[1] = byte(round)
			}
			nodes = nodes[round:]
			done := make(chan error)
			go func() {
				_, err := other.Reconcile(t.Context(), nodes)
				done <- err
			}()
			_, errOne := c.remotes.Reconcile(t.Context(), nodes)
			if err := errors.Join(errOne, <-done); err != nil && !errors.Is(err, hns.ErrExists) {
				t.Errorf("round %d: %v", round, err)
			}
			c.reconcile(nodes...)
			var want []string
			for _, n := range nodes {
				want = append(want, fmt.Sprintf("%s %s %s", n.Subnets[0], n.Addresses[0], n.MAC))
			}
			c.wantWays(fmt.Sprint("round ", round), want...)
			if report, err := other.Reconcile(t.Context(), nodes); err != nil || report.Kept != len(nodes) {
				t.Errorf("round %d: %s, %v", round, report, err)
			}
		}
	}
}
