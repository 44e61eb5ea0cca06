package node

import (
	"maps"
	"sync"
)

// The names of the counters, as [Counters.Snapshot] has them.
const (
	CountEnsures        = "ensures"         // calls of Ensure
	CountEnsureFailures = "ensure_failures" // those that ended with an error
	CountEnsureChanges  = "ensure_changes"  // steps that changed something

	CountReconciles        = "reconciles"         // calls of Reconcile
	CountReconcileFailures = "reconcile_failures" // those that ended with an error
	CountRoutesAdded       = "routes_added"       // ways to other nodes: policies, or routes of the node
	CountRoutesChanged     = "routes_changed"
	CountRoutesRemoved     = "routes_removed"
	CountBatchesRefused    = "batches_refused" // requests that were tried again one by one
	CountNodesSkipped      = "nodes_skipped_"  // a prefix, with the Fault behind it: nodes found faulty
)

// CounterNames returns the names of all counters, those of each of [Faults]
// among them: a monitoring system wants them before they count anything, so that
// the first event is an increase.
func CounterNames() []string {
	names := []string{
		CountEnsures, CountEnsureFailures, CountEnsureChanges,
		CountReconciles, CountReconcileFailures, CountRoutesAdded, CountRoutesChanged, CountRoutesRemoved, CountBatchesRefused,
	}
	for _, f := range Faults() {
		names = append(names, CountNodesSkipped+string(f))
	}
	return names
}

// Counters counts events, for a monitoring system. They only grow. The zero
// Counters is ready, and a nil one counts nothing; it is safe for concurrent
// use.
type Counters struct {
	mu sync.Mutex
	m  map[string]uint64
}

func (c *Counters) add(name string, n int) {
	if c == nil || n <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[string]uint64{}
	}
	c.m[name] += uint64(n)
}

// Snapshot returns the counters that have counted anything, by their names;
// [CounterNames] are those that there are.
func (c *Counters) Snapshot() map[string]uint64 {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.m)
}
