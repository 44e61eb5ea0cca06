package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// DefaultWait is how long [Ensure] waits for a value that appears late, unless
// it is told otherwise: HNS may take most of a minute for an address by DHCP.
const DefaultWait = time.Minute

// EnsureOptions are the options of [Ensure]; nil are the defaults.
type EnsureOptions struct {
	// DryRun only reads. The steps are those that a call without it would take,
	// as far as reading can tell.
	DryRun bool
	// Drift says what to do with a network that is there, is not as planned and
	// cannot be changed in place. The default refuses it with a
	// *[hns.DriftError]. [hns.DriftRecreate] makes it anew if it has no
	// endpoints but the node's own, whatever that was asked for, and those that
	// kube-proxy makes again: of pods of other nodes, and of the source VIP.
	Drift hns.Drift
	// Wait bounds each wait for what appears late; zero is [DefaultWait]. The
	// context bounds the whole.
	Wait time.Duration
	// Patient waits for an HNS that is down, until the context ends: give it a
	// deadline. Otherwise that is [hns.ErrUnavailable].
	Patient bool
	// Logger, if set, is told of every step that changes something, and of what
	// the host lost.
	Logger *slog.Logger
	// Counters, if set, count.
	Counters *Counters
}

// StepName is a step of [Ensure].
type StepName string

// The steps, in their order.
const (
	StepRequirements StepName = "requirements"
	StepAdapter      StepName = "adapter"
	StepNetwork      StepName = "network"
	StepAddress      StepName = "address"
	StepHostEndpoint StepName = "host endpoint"
	StepForwarding   StepName = "forwarding"
)

// Step is what a step found and did.
type Step struct {
	Name StepName
	// Action is what was done or, in a dry run, would be.
	Action hns.Action
	// Differences between the plan and what was there. With the action keep they
	// are those that are left: what EnsureOptions.Drift lets pass, and what is
	// told but is no reason to make anything anew.
	Differences []hns.Difference
}

// String returns "network: repair: " and the differences.
func (s Step) String() string {
	text := string(s.Name) + ": " + string(s.Action)
	var diffs []string
	for _, d := range s.Differences {
		diffs = append(diffs, d.String())
	}
	if len(diffs) > 0 {
		text += ": " + strings.Join(diffs, "; ")
	}
	return text
}

// State is the node as [Ensure] left it.
type State struct {
	// Network is the network as read from HNS; nil if a dry run found none.
	Network *hns.Network
	// HostEndpoint is the node's own endpoint; nil where there is none.
	HostEndpoint *hns.Endpoint
	// Adapter is the name of the adapter that the network is to be on; empty on
	// NAT, and where it could not be told of a network that is there.
	Adapter string
	// Address is the node's address that HNS took over: the provider address on
	// Overlay, else the management IP. Zero on NAT.
	Address netip.Addr
	// DRMAC is what the other nodes must know on Overlay: the MAC address of the
	// distributed router, VtepMAC in flannel's words.
	DRMAC hns.MAC
	// Steps are what was done, as far as Ensure came.
	Steps []Step
	// HostChanges are what making the network did to the host; empty if it was
	// there. [hostnet.Restore] puts lost routes back.
	HostChanges []hostnet.Change
}

// Changed reports whether a step changed something or, in a dry run, would.
func (s *State) Changed() bool {
	for _, step := range s.Steps {
		if changes(step.Action) {
			return true
		}
	}
	return false
}

func changes(a hns.Action) bool { return hns.Decision{Action: a}.Changes() }

// Ensure makes the node as planned: the network on its adapter with its
// policies, its address, the node's own endpoint attached, and forwarding on.
// Each step looks at what is there and does what is missing. So it can be called
// at every start, after a crash between any two requests (antrea-io/antrea#5841),
// a restart of HNS or a reboot, and the node ends the same. What is as planned is
// not touched, whoever made it: a network of flanneld's stays, and so does its
// endpoint of the node, whose default route is told as a difference.
//
// The adapter is the one that the plan names, else the one that has a node
// address; where another network has put a vNIC over it, the one below. Without
// either it is the only one with hardware. If that does not name exactly one,
// nothing is made (Azure/azure-container-networking#4439). host may be nil on
// NAT alone, whose networks are on no adapter.
//
// The state is filled as far as Ensure came when there is an error. After
// [hns.ErrUnavailable] or [hns.ErrOutcomeUnknown] call it again.
func Ensure(ctx context.Context, client *hns.Client, host hostnet.Host, plan *Plan, opts *EnsureOptions) (*State, error) {
	e := &ensurer{client: client, host: host, plan: plan, state: &State{}}
	if opts != nil {
		e.opts = *opts
	}
	if e.opts.Wait <= 0 {
		e.opts.Wait = DefaultWait
	}
	e.opts.Counters.add(CountEnsures, 1)
	err := e.run(ctx)
	if err != nil {
		e.opts.Counters.add(CountEnsureFailures, 1)
	}
	return e.state, err
}

// ensurer is one call of Ensure.
type ensurer struct {
	client *hns.Client
	host   hostnet.Host
	plan   *Plan
	opts   EnsureOptions
	state  *State

	there  *hns.Network      // as it was found; nil: there was none, or nobody looked (NAT)
	before *hostnet.Snapshot // of the host, if the network is to be made
}

func (e *ensurer) run(ctx context.Context) error {
	if e.plan == nil || e.plan.Network == nil {
		return errors.New("node: ensure: no plan")
	}
	d := &e.plan.Description
	if e.client == nil {
		return fmt.Errorf("node: ensure %q: no client", d.Name)
	}
	if e.host == nil && d.Mode != modes.NAT {
		return fmt.Errorf("node: ensure %q: no host, which mode %s needs", d.Name, d.Mode)
	}
	for _, step := range []struct {
		name StepName
		do   func(context.Context, *Step) error
	}{
		{StepRequirements, e.requirements}, {StepAdapter, e.adapter}, {StepNetwork, e.network},
		{StepAddress, e.address}, {StepHostEndpoint, e.hostEndpoint}, {StepForwarding, e.forwarding},
	} {
		s := Step{Name: step.name, Action: hns.ActionKeep}
		err := step.do(ctx, &s)
		if s.Action != "" {
			e.record(ctx, s)
		}
		if err != nil {
			return fmt.Errorf("node: ensure %q: %s: %w", d.Name, step.name, err)
		}
	}
	return nil
}

// record notes a step; one without an action does not exist in the mode.
func (e *ensurer) record(ctx context.Context, s Step) {
	e.state.Steps = append(e.state.Steps, s)
	if e.opts.DryRun || !changes(s.Action) {
		return
	}
	e.opts.Counters.add(CountEnsureChanges, 1)
	if e.opts.Logger != nil {
		e.opts.Logger.InfoContext(ctx, "node changed", "network", e.plan.Description.Name, "step", string(s.Name), "change", s.String())
	}
}

// requirements asks for every feature before the first change.
func (e *ensurer) requirements(ctx context.Context, _ *Step) error {
	for _, r := range e.plan.Requirements() {
		if err := e.patiently(ctx, func() error { return e.client.Require(ctx, r.Feature) }); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	return nil
}

// patiently tries again while HNS is down, if that was asked for.
func (e *ensurer) patiently(ctx context.Context, do func() error) error {
	var wait time.Duration
	for {
		err := do()
		if !e.opts.Patient || !errors.Is(err, hns.ErrUnavailable) {
			return err
		}
		if errWait := pause(ctx, &wait); errWait != nil {
			return fmt.Errorf("%w (%w)", err, errWait)
		}
	}
}

// pause waits for as long as the last time and more; it fails when ctx ends.
func pause(ctx context.Context, d *time.Duration) error {
	*d = min(max(2**d, 10*time.Millisecond), 500*time.Millisecond)
	t := time.NewTimer(*d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
