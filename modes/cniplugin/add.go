package cniplugin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// undoTimeout bounds giving back what a failed ADD took. The verb's own
// deadline may be what failed.
const undoTimeout = 15 * time.Second

// Add is the verb ADD. It returns the result in the latest version; [Plugin.Main]
// converts it. Repeated, it returns the same result for the endpoint that is
// there, provided that the address belongs to this interface and the endpoint has
// all that the configuration wants of it; else the error is code 102, or 7 with a
// [*CheckError] if it lacks something. In a chain, what
// the plugins before have made (prevResult) stands before it in the result.
func (p *Plugin) Add(ctx context.Context, args *skel.CmdArgs) (res *types100.Result, err error) {
	c, err := ParseConfig(args.StdinData)
	if err != nil {
		return nil, err
	}
	ns, err := namespace(args.Netns)
	if err != nil {
		return nil, err
	}
	if p, err = p.forConfig(c); err != nil {
		return nil, err
	}
	if err := p.precheck(args, c); err != nil {
		return nil, err
	}
	prev, err := c.earlier(args.IfName)
	if err != nil {
		return nil, err
	}
	ctx, r, err := p.begin(ctx, args, c, verbAdd)
	if err != nil {
		return nil, err
	}
	defer func() { r.close(err) }()
	r.Namespace = ns
	if err := r.ensureNetwork(ctx); err != nil {
		return nil, err
	}
	a := &adding{run: r}
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	done, err := r.Client.Attach(ctx, hns.Attachment{
		Name: r.EndpointName, Network: r.Network.ID, Namespace: ns, Build: a.build, Adopt: a.adopt,
	})
	if err == nil {
		err = a.finish(ctx, done)
	}
	if err != nil {
		return nil, a.takeBack(ctx, done, a.explain(err))
	}
	return chained(prev, r.result(done.Endpoint, a.lease)), nil
}

// adding is an ADD at work.
type adding struct {
	*run
	ipamConfig []byte        // what the IPAM plugin gets, reserved addresses taken out
	lease      *ipam.Lease   // what the interface has
	took       bool          // whether this call took it, or may have
	sent       *hns.Endpoint // what HNS was asked to create; nil if it was not asked
	forget     func() error  // undoes the note of this interface; nil if there is nothing to undo
}

// prepare checks the configuration against the network, before any lease.
func (a *adding) prepare(ctx context.Context) error {
	if err := a.askDSR(ctx); err != nil {
		return err
	}
	e, err := a.planWithoutAddress()
	if err != nil {
		return err
	}
	if err := a.requireEndpoint(ctx, e); err != nil {
		return err
	}
	if nat := a.nat(); nat != nil {
		for _, w := range nat.Warnings() {
			a.Log.Warn("ipMasq", "exception", w.Value, "warning", w.Reason)
		}
	}
	a.ipamConfig, err = a.run.reserve()
	return err
}

// build takes the lease and plans the endpoint. It runs only if there is none
// of the name, so whatever lease the interface has is nobody's: one that may
// have been taken is given back as well.
func (a *adding) build(ctx context.Context) (_ *hns.Endpoint, err error) {
	if a.forget, err = a.takeNote(); err != nil {
		return nil, err
	}
	if a.hasIPAM() {
		if err := a.allocate(ctx); err != nil {
			return nil, err
		}
		if err := a.Config.checkAsked(addressesOf(a.lease)); err != nil {
			return nil, err
		}
	} else if l := a.asked(); l != nil {
		a.lease = l
	}
	e, err := a.plan(ctx, a.lease)
	if err != nil {
		return nil, err
	}
	if err := a.requireEndpoint(ctx, e); err != nil { // what the address needs
		return nil, err
	}
	a.sent = e
	return e, nil
}

func (a *adding) allocate(ctx context.Context) error {
	var lease *ipam.Lease
	err := safely("ipam", func() (err error) {
		lease, err = a.p.ipam().Allocate(ctx, a.ipamRequest(a.ipamConfig))
		return err
	})
	a.took = err == nil || mayHaveTaken(err)
	if err == nil && lease == nil {
		lease = &ipam.Lease{}
	}
	if err == nil && len(lease.Addresses) == 0 && !a.noAddressOK() {
		err = a.withoutAddress(fmt.Errorf("ipam: the lease has %w", ipam.ErrNoAddress))
	}
	if err != nil {
		return err
	}
	a.lease = lease
	return nil
}

// mayHaveTaken reports whether an IPAM may keep a lease although it failed. A plugin
// that ran and printed its error may have failed after it wrote one: whoever runs
// it has to give that back (CNI specification, section 4, "Execution of delegated
// plugins"). An IPAM of the author's promises to keep none.
func mayHaveTaken(err error) bool {
	var panicked *panicError
	var printed *types.Error
	return errors.Is(err, ipam.ErrOutcomeUnknown) || errors.As(err, &panicked) || errors.As(err, &printed)
}

// addressesOf returns the addresses of a lease.
func addressesOf(l *ipam.Lease) []netip.Addr {
	var out []netip.Addr
	for _, a := range l.Addresses {
		out = append(out, a.Prefix.Addr())
	}
	return out
}

// adopt is asked about an endpoint that is there already. Another interface of
// the sandbox on the same network has an endpoint of the same name, which must
// not be shared. Where nothing tells whose the endpoint is, it is this one's if
// its lease is; where HNS gave the address, it is, and is noted from now on.
func (a *adding) adopt(ctx context.Context, e *hns.Endpoint) error {
	a.lease = &ipam.Lease{}
	for _, c := range e.IPConfigs {
		if p := a.prefixOf(c); p.IsValid() {
			a.lease.Addresses = append(a.lease.Addresses, ipam.Address{Prefix: p, Gateway: e.Gateway(c.Address)})
		}
	}
	owner, err := a.interfaceOf(e)
	if err != nil {
		return err
	}
	if owner != "" && owner != a.IfName {
		return fmt.Errorf("endpoint %q %s is interface %s of the sandbox, which can have no second one on the network, %s: %w",
			e.Name, e.ID, owner, a.IfName, hns.ErrExists)
	}
	if a.hasIPAM() {
		if err := a.checkLease(ctx, a.lease); err != nil {
			return a.notOurs(e, err)
		}
	}
	if err := a.Config.checkAsked(addressesOf(a.lease)); err != nil {
		return err
	}
	if m := a.Config.MAC; !m.IsZero() && e.MAC != m {
		return invalidConfig(&hns.FieldError{Path: "runtimeConfig.mac", Value: m.String(), Reason: fmt.Sprintf("the endpoint is there and has %s", e.MAC)})
	}
	if err := a.compare(ctx, e); err != nil {
		return err
	}
	if owner == "" {
		_, err = a.takeNote()
	}
	return err
}

// notOurs refuses an endpoint that is there, since IPAM says that its addresses
// are not the interface's, or did not answer.
func (a *adding) notOurs(e *hns.Endpoint, err error) error {
	refused := fmt.Errorf("endpoint %q %s is there, but interface %s has no lease for it; it may belong to another interface of the sandbox: %w",
		e.Name, e.ID, a.IfName, err)
	if unanswered(err) {
		return refused
	}
	return &Error{Code: CodeConflict, Err: refused}
}

// compare refuses an endpoint that lacks what the configuration wants of it, as
// CHECK would: a repeated ADD changes no endpoint, and must not report what is
// not there. Whether it is attached is no difference, nor is what finish adds; the
// addresses are the endpoint's own, which HNS may give without a length.
func (a *adding) compare(ctx context.Context, e *hns.Endpoint) error {
	want, err := a.want(ctx, &prevResult{lease: a.lease, mac: e.MAC})
	if err != nil {
		return err
	}
	want.IPConfigs = nil
	if diffs := hns.CompareEndpoints(want, e); len(diffs) > 0 {
		return invalidConfig(fmt.Errorf("a repeated ADD cannot change what is there: %w", &CheckError{Endpoint: e.Name, Differences: diffs}))
	}
	return nil
}

// finish is what follows once the endpoint is attached. Each step looks whether
// it is done, for an earlier ADD may have died before it.
func (a *adding) finish(ctx context.Context, done *hns.Attached) error {
	e := done.Endpoint
	if len(e.Addresses()) == 0 && !a.noAddressOK() {
		return a.withoutAddress(fmt.Errorf("endpoint %q %s: %w from HNS", e.Name, e.ID, ipam.ErrNoAddress))
	}
	for _, c := range e.IPConfigs {
		if e.Gateway(c.Address) == c.Address && c.Address.IsValid() {
			return &Error{Code: codeTryAgain, Err: fmt.Errorf("endpoint %q %s: HNS gave the pod %s, which is to be its gateway; the node's endpoint of that address is missing", e.Name, e.ID, c.Address)}
		}
	}
	if a.dsr && !a.hasIPAM() {
		// The address was HNS's choice, so the policy for it comes now.
		if missing := missingPolicies(modes.LoopbackDSR(e.Addresses()...), e); len(missing) > 0 {
			if err := a.Client.Endpoints.AddPolicies(ctx, e.ID, missing...); err != nil {
				return err
			}
		}
	}
	return a.afterAttach(ctx, e)
}

// missingPolicies returns those that the endpoint has not.
func missingPolicies(want []hns.EndpointPolicy, e *hns.Endpoint) []hns.EndpointPolicy {
	var out []hns.EndpointPolicy
	for _, p := range want {
		if len(hns.CompareEndpoints(&hns.Endpoint{Policies: []hns.EndpointPolicy{p}}, e)) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// takeBack undoes what this call did: the endpoint if it made one, and then the
// lease if it took one. While the endpoint may still be there the lease stays
// with it, for the DEL that the runtime owes: HNS must not hold an address that
// is free.
func (a *adding) takeBack(ctx context.Context, done *hns.Attached, err error) error {
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	remains := a.mayRemain(err)
	if done != nil {
		remains = false // Attach itself went well
		if done.Created {
			errDelete := a.Client.Endpoints.Delete(undo, done.Endpoint.ID)
			if errors.Is(errDelete, hns.ErrNotFound) {
				errDelete = nil
			}
			remains = errDelete != nil
			err = withUndo(err, errDelete)
		}
	}
	if remains {
		if a.took {
			a.Log.Warn("the lease stays for DEL: the endpoint may still be there", "endpoint", a.EndpointName)
		}
		return err
	}
	var errUndo error
	if a.took {
		errUndo = a.release(undo, a.ipamConfig)
	}
	if errUndo == nil && a.forget != nil {
		errUndo = a.forget()
	}
	return withUndo(err, errUndo)
}

// mayRemain reports whether an endpoint may be there, or come late, after an
// Attach that failed.
func (a *adding) mayRemain(err error) bool {
	if a.sent == nil {
		return false
	}
	var e *hns.Error
	createHangs := errors.As(err, &e) && e.Verb == hns.VerbCreate && errors.Is(err, hns.ErrOutcomeUnknown)
	return createHangs || errors.Is(err, hns.ErrLeftBehind)
}

// explain says which policies HNS was sent, if it refused one: it never says
// which (projectcalico/calico#8465, containernetworking/plugins#1004). What was
// not sent for a policy has its path.
func (a *adding) explain(err error) error {
	if a.sent == nil || len(a.sent.Policies) == 0 || !errors.Is(err, hns.ErrInvalidPolicy) || hns.FieldErrors(err) != nil {
		return err
	}
	var texts []string
	for i, p := range a.sent.Policies {
		texts = append(texts, fmt.Sprintf("[%d] %s", i, p.PolicyType()))
	}
	return fmt.Errorf("%w; the endpoint's policies were %s", err, strings.Join(texts, ", "))
}
