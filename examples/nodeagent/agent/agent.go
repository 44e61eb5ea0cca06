package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/node"
)

// syncTimeout bounds one look at everything. Longer than any wait of
// [node.Ensure], and short enough that a call that HNS never answers does not
// hold the agent for good.
const syncTimeout = 5 * time.Minute

// Agent is one node's. Make it with [New].
type Agent struct {
	opts   Options
	leases leases
	log    *slog.Logger
	queue  workqueue.TypedRateLimitingInterface[string]
	nodes  listers.NodeLister

	// What follows belongs to the goroutine of Run.
	known     inputs
	plan      *node.Plan
	public    netip.Addr     // what is published
	services  []netip.Prefix // as last asked for
	ensured   time.Time      // zero: has to be done
	state     *node.State    // of the network that there is
	remotes   *node.Remotes  // on it; nil: none yet
	led       *node.Plan     // what remotes are of
	told      told
	complaint string // as last logged

	mu     sync.Mutex
	status Status
}

// Status is where an agent is.
type Status struct {
	// Ready: the network is as planned, the others know the node, the ways to
	// them were made, and the files that start pods are written.
	Ready bool
	// Err is what the last look at everything ended with; nil: all is well.
	// A Ready agent can have one, such as a way that HNS refused.
	Err error
	// Synced is when it last ended well; zero: never.
	Synced time.Time
	// Nodes are the other nodes that flannel manages; Report is about the ways
	// to them.
	Nodes  int
	Report node.Report
	// PodSubnet and PublicIP are this node's; zero: not known yet.
	PodSubnet netip.Prefix
	PublicIP  netip.Addr
	// Plan of the node; nil: none yet. It is shared: do not change it.
	Plan *node.Plan
	// Syncs, Failures and Patches count looks at everything, those that ended
	// with an error, and writes to the Node.
	Syncs, Failures, Patches uint64
}

// New returns an agent. It checks the options, all of them at once, and does
// nothing yet.
func New(o Options) (*Agent, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Resync == 0 {
		o.Resync = DefaultResync
	}
	if o.Debounce == 0 {
		o.Debounce = DefaultDebounce
	}
	a := &Agent{opts: o, log: o.Logger}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	names, err := newAnnotations(o.AnnotationPrefix)
	a.leases = leases{names: names, netConf: o.NetConf}
	return a, err
}

// Status returns where the agent is. It can be called at any time.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

func (a *Agent) set(change func(*Status)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.status)
}

// Run keeps the node in step until ctx ends, and then returns nil; it can be
// called once. What goes wrong is tried again, ever more seldom up to half a
// minute, and is in [Status].
func (a *Agent) Run(ctx context.Context) error {
	limit := workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, 30*time.Second)
	a.queue = workqueue.NewTypedRateLimitingQueue(limit)
	defer a.queue.ShutDown()
	stop := context.AfterFunc(ctx, a.queue.ShutDown)
	defer stop()
	watched, err := a.watch(ctx)
	if err != nil {
		return fmt.Errorf("agent: watch Nodes: %w", err)
	}
	defer watched.Wait()
	a.queue.Add(key)
	for {
		item, down := a.queue.Get()
		if down {
			return nil
		}
		a.handle(ctx)
		a.queue.Done(item)
	}
}

// key is the one item of the queue: whatever changed, everything is looked at.
const key = "node"

func (a *Agent) handle(ctx context.Context) {
	err := a.sync(ctx)
	if ctx.Err() != nil {
		return // the end, and no failure
	}
	a.set(func(s *Status) {
		s.Syncs++
		if s.Err = err; err != nil {
			s.Failures++
		} else {
			s.Synced = time.Now()
		}
	})
	switch {
	case err != nil && a.complaint != err.Error():
		a.log.WarnContext(ctx, "not in step", "node", a.opts.NodeName, "error", err)
		a.complaint = err.Error()
	case err == nil && a.complaint != "":
		a.log.InfoContext(ctx, "in step again", "node", a.opts.NodeName)
		a.complaint = ""
	}
	if err != nil {
		a.queue.AddRateLimited(key)
		return
	}
	a.queue.Forget(key)
	a.queue.AddAfter(key, a.opts.Resync)
}

// sync looks at everything, and does what is missing. The order matters: the
// others learn of this node when it can take packets, and pods start when the
// others know and are known.
func (a *Agent) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	err := a.look(ctx)
	if errors.Is(err, hns.ErrNotFound) {
		err = a.look(ctx) // somebody took the network away: it is made anew at once
	}
	return err
}

func (a *Agent) look(ctx context.Context) error {
	own, err := a.prepare(ctx)
	if err != nil {
		a.set(func(s *Status) { s.Ready = false })
		if a.remotes == nil || unreachable(err) {
			return err
		}
		// The network that there is goes on to serve the pods on it.
		refused, led := a.lead(ctx)
		return errors.Join(err, led, refused)
	}
	refused, err := a.lead(ctx)
	if err != nil {
		a.ensured = time.Time{} // HNS may have lost more than ways
	}
	if err = errors.Join(a.publish(ctx, own), err); err == nil {
		err = a.start(ctx, own)
	}
	return errors.Join(err, refused)
}

// prepare makes the node's network what its Node object and the cluster want.
func (a *Agent) prepare(ctx context.Context) (*corev1.Node, error) {
	own, err := a.nodes.Get(a.opts.NodeName)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("agent: there is no Node %q (yet)", a.opts.NodeName)
	case err != nil:
		return nil, err
	}
	if err := a.describe(ctx, own); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	err = a.ensure(ctx)
	if errors.Is(err, hns.ErrDrift) {
		err = errors.Join(err, a.unavailable(ctx, own, err))
	}
	return own, err
}

// unreachable reports whether HNS gave no answer that it could go on from.
func unreachable(err error) bool {
	return errors.Is(err, hns.ErrUnavailable) || errors.Is(err, hns.ErrNotSent) || errors.Is(err, hns.ErrOutcomeUnknown) || errors.Is(err, context.DeadlineExceeded)
}

// start lets pods start.
func (a *Agent) start(ctx context.Context, own *corev1.Node) error {
	if err := a.writeFiles(ctx); err != nil {
		return err
	}
	if err := a.available(ctx, own); err != nil {
		return err
	}
	if !a.Status().Ready {
		a.log.InfoContext(ctx, "ready", "node", own.Name, "network", a.plan.Description.Name, "subnet", a.known.subnet.String(), "publicIP", a.public.String())
	}
	a.set(func(s *Status) { s.Ready = true })
	return nil
}
