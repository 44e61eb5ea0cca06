package cniplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// CheckError says that a pod's network is not as the configuration wants it.
type CheckError struct {
	Endpoint string
	// Differences are all that were found; empty if the endpoint is missing.
	Differences []hns.Difference
	// Err is the cause if the endpoint or its lease is missing.
	Err error
}

// Error lists every difference.
func (e *CheckError) Error() string {
	var parts []string
	for _, d := range e.Differences {
		parts = append(parts, d.String())
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return fmt.Sprintf("endpoint %q is not as it should be: %s", e.Endpoint, strings.Join(parts, "; "))
}

// Unwrap returns the cause.
func (e *CheckError) Unwrap() error { return e.Err }

// Check is the verb CHECK. The configuration must hold the result of ADD
// (prevResult). What it and the configuration want must be there, in the
// namespace and attached, and the lease too; the error is a [*CheckError] with
// every difference. Any other error says that the question could not be
// answered.
func (p *Plugin) Check(ctx context.Context, args *skel.CmdArgs) (err error) {
	c, err := ParseConfig(args.StdinData)
	if err != nil {
		return err
	}
	ns, err := namespace(args.Netns)
	if err != nil {
		return err
	}
	if p, err = p.forConfig(c); err != nil {
		return err
	}
	if err := p.precheck(args, c); err != nil {
		return err
	}
	prev, err := c.prevResult(args.IfName, p.Mode == modes.Transparent)
	if err != nil {
		return err
	}
	ctx, r, err := p.begin(ctx, args, c, verbCheck)
	if err != nil {
		return err
	}
	defer func() { r.close(err) }()
	r.Namespace = ns
	s, err := r.lookAtNetwork(ctx)
	if err == nil && s != nil && s.missing != nil {
		err = r.networkMissing(ctx, s.missing)
	}
	if err != nil {
		return err
	}
	want, err := r.wanted(ctx, prev)
	if err != nil {
		return err
	}
	failed := &CheckError{Endpoint: r.EndpointName}
	failed.Differences, err = r.Client.Verify(ctx, want, ns)
	if err != nil && !errors.Is(err, hns.ErrNotFound) && !errors.Is(err, hns.ErrAmbiguous) {
		return err // nothing is known about the endpoint
	}
	errLease := errlist.Join(r.checkNote(), r.checkPrevLease(ctx, prev))
	if unanswered(errLease) {
		return errLease
	}
	failed.Err = errlist.Join(err, errLease)
	if len(failed.Differences) > 0 || failed.Err != nil {
		return &Error{Code: CodeCheckFailed, Err: failed}
	}
	return nil
}

// checkNote finds that the endpoint is another interface's.
func (r *run) checkNote() error {
	n, err := r.notes().load(r.ContainerID)
	if err != nil || n == nil || n.IfName == r.IfName {
		return err
	}
	return fmt.Errorf("it is interface %s of the sandbox, not %s", n.IfName, r.IfName)
}

// checkPrevLease asks IPAM for the lease of which prevResult tells.
func (r *run) checkPrevLease(ctx context.Context, prev *prevResult) error {
	if !r.hasIPAM() {
		return nil
	}
	if err := r.checkLease(ctx, prev.lease); err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	return nil
}

// unanswered reports whether IPAM could not be asked, rather than said no.
func unanswered(err error) bool {
	var panicked *panicError
	return errors.Is(err, ipam.ErrPluginNotFound) || errors.Is(err, ipam.ErrOutcomeUnknown) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &panicked)
}

// wanted is the endpoint that ADD made, judged from its result.
func (r *run) wanted(ctx context.Context, prev *prevResult) (*hns.Endpoint, error) {
	if err := r.askDSR(ctx); err != nil {
		return nil, err
	}
	want, err := r.want(ctx, prev)
	if err == nil && r.dsr && r.hnsChose() {
		want.Policies = append(want.Policies, modes.LoopbackDSR(want.Addresses()...)...)
	}
	return want, err
}

// hnsChose reports whether the pod's address is HNS's choice.
func (r *run) hnsChose() bool { return !r.hasIPAM() && len(r.Config.IPs) == 0 }

// want is wanted without the policies for an address of HNS's choice, which ADD
// adds once it knows it.
func (r *run) want(ctx context.Context, prev *prevResult) (*hns.Endpoint, error) {
	lease, hnsChose := prev.lease, r.hnsChose()
	if hnsChose { // the plan cannot know the addresses, the result does
		lease = &ipam.Lease{Routes: lease.Routes, DNS: lease.DNS}
	}
	want, err := r.plan(ctx, lease)
	if err != nil {
		return nil, err
	}
	if hnsChose {
		for _, a := range prev.lease.Addresses {
			want.IPConfigs = append(want.IPConfigs, hns.IPConfig{Address: a.Prefix.Addr(), PrefixLength: uint8(a.Prefix.Bits())})
			if a.Gateway.IsValid() && !want.Gateway(a.Gateway).IsValid() {
				want.Routes = append(want.Routes, hns.DefaultRoute(a.Gateway))
			}
		}
	}
	if !prev.mac.IsZero() {
		want.MAC = prev.mac
	}
	return want, nil
}

// checkLease asks IPAM whether the interface has its lease. CHECK came with
// version 0.4.0 of the specification, so for an older configuration the
// question is put in that version; an IPAM plugin that knows no CHECK at all
// cannot be asked, and is believed.
func (r *run) checkLease(ctx context.Context, lease *ipam.Lease) error {
	config := r.Config.Raw
	ok, err := version.GreaterThanOrEqualTo(r.Config.CNIVersion, firstWithCheck)
	if err == nil && !ok {
		config, err = replaceMember(config, "cniVersion", json.RawMessage(`"`+firstWithCheck+`"`))
	}
	if err != nil {
		return invalidConfig(fmt.Errorf("cniVersion: %w", err))
	}
	err = safely("ipam", func() error { return r.p.ipam().Check(ctx, r.ipamRequest(config), lease) })
	var fromPlugin *types.Error
	if errors.As(err, &fromPlugin) && fromPlugin.Code == types.ErrIncompatibleCNIVersion {
		return nil
	}
	return err
}

const firstWithCheck = "0.4.0"
