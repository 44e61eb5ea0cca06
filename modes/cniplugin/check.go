package cniplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
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
// every difference.
func (p *Plugin) Check(ctx context.Context, args *skel.CmdArgs) (err error) {
	c, err := ParseConfig(args.StdinData)
	if err != nil {
		return err
	}
	ns, err := namespace(args.Netns)
	if err != nil {
		return err
	}
	prev, err := c.prevResult()
	if err != nil {
		return err
	}
	ctx, r, err := p.begin(ctx, args, c, "CHECK")
	if err != nil {
		return err
	}
	defer func() { r.close(err) }()
	r.Namespace = ns
	if err := r.findNetwork(ctx); err != nil {
		return err
	}
	want, err := r.wanted(ctx, prev)
	if err != nil {
		return err
	}
	failed := &CheckError{Endpoint: r.EndpointName}
	failed.Differences, failed.Err = r.Client.Verify(ctx, want, ns)
	if failed.Err != nil && !errors.Is(failed.Err, hns.ErrNotFound) {
		return failed.Err // nothing is known about the endpoint
	}
	if r.hasIPAM() && failed.Err == nil {
		lease, errLease := ipam.NewLease(prev)
		if errLease == nil {
			errLease = r.checkLease(ctx, lease)
		}
		if errLease != nil {
			failed.Err = fmt.Errorf("lease: %w", errLease)
		}
	}
	if len(failed.Differences) > 0 || failed.Err != nil {
		return &Error{Code: CodeCheckFailed, Err: failed}
	}
	return nil
}

// wanted is the endpoint that ADD made, judged from its result.
func (r *run) wanted(ctx context.Context, prev *types100.Result) (*hns.Endpoint, error) {
	lease, err := ipam.NewLease(prev)
	if err != nil {
		return nil, invalidConfig(fmt.Errorf("prevResult.%w", err))
	}
	addresses := addressesOf(lease)
	assigned := !r.hasIPAM() // by HNS: the plan cannot know the addresses, the result does
	if assigned {
		addresses = nil
	}
	want, err := r.plan(ctx, addresses, gatewaysOf(lease))
	if err != nil {
		return nil, err
	}
	if assigned {
		for _, a := range lease.Addresses {
			want.IPConfigs = append(want.IPConfigs, hns.IPConfig{Address: a.Prefix.Addr(), PrefixLength: uint8(a.Prefix.Bits())})
		}
	}
	for _, i := range prev.Interfaces {
		if i == nil || i.Name != r.IfName || i.Mac == "" {
			continue
		}
		if want.MAC, err = hns.ParseMAC(i.Mac); err != nil {
			return nil, invalidConfig(&hns.FieldError{Path: "prevResult.interfaces", Value: i.Mac, Reason: "not a MAC address"})
		}
	}
	return want, nil
}

// prevResult reads the member of that name, whatever version it is in.
func (c *Config) prevResult() (*types100.Result, error) {
	if c.PrevResult == nil {
		return nil, invalidConfig(&hns.FieldError{Path: "prevResult", Reason: "missing; CHECK needs the result of ADD"})
	}
	fail := func(err error) (*types100.Result, error) {
		return nil, invalidConfig(&hns.FieldError{Path: "prevResult", Value: shorten(c.PrevResult), Reason: err.Error()})
	}
	res, err := version.NewResult(c.CNIVersion, c.PrevResult)
	if err != nil {
		return fail(err)
	}
	r, err := types100.NewResultFromResult(res)
	if err != nil {
		return fail(err)
	}
	return r, nil
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
	err = r.p.ipam().Check(ctx, r.ipamRequest(config), lease)
	var fromPlugin *types.Error
	if errors.As(err, &fromPlugin) && fromPlugin.Code == types.ErrIncompatibleCNIVersion {
		return nil
	}
	return err
}

const firstWithCheck = "0.4.0"
