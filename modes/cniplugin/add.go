package cniplugin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
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
// there, provided that the address belongs to this interface.
func (p *Plugin) Add(ctx context.Context, args *skel.CmdArgs) (res *types100.Result, err error) {
	c, err := ParseConfig(args.StdinData)
	if err != nil {
		return nil, err
	}
	ns, err := namespace(args.Netns)
	if err != nil {
		return nil, err
	}
	ctx, r, err := p.begin(ctx, args, c, "ADD")
	if err != nil {
		return nil, err
	}
	defer func() { r.close(err) }()
	r.Namespace = ns
	if err := r.findNetwork(ctx); err != nil {
		return nil, err
	}
	a := &adding{run: r}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	done, err := r.Client.Attach(ctx, hns.Attachment{
		Name: r.EndpointName, Network: r.Network.ID, Namespace: ns, Build: a.build, Adopt: a.adopt,
	})
	if err == nil {
		err = a.finish(ctx, done)
	}
	if err != nil {
		return nil, a.giveBack(ctx, err)
	}
	return r.result(done.Endpoint, a.lease), nil
}

// adding is an ADD at work.
type adding struct {
	*run
	ipamConfig []byte // what the IPAM plugin gets, reserved addresses taken out
	lease      *ipam.Lease
	took       bool // whether this call took the lease
	lateDSR    bool // the address is HNS's choice, so DSR comes after the create
}

// prepare checks the configuration against the network, before any lease.
func (a *adding) prepare() error {
	var err error
	a.ipamConfig, err = a.run.reserve()
	return err
}

// build takes the lease and plans the endpoint. It runs only if there is none.
func (a *adding) build(ctx context.Context) (*hns.Endpoint, error) {
	if a.hasIPAM() {
		lease, err := a.p.ipam().Allocate(ctx, a.ipamRequest(a.ipamConfig))
		if err != nil {
			return nil, fmt.Errorf("ipam: %w", err)
		}
		a.lease, a.took = lease, true
	} else {
		a.lateDSR = a.Config.LoopbackDSR
	}
	return a.plan(ctx, addressesOf(a.lease), gatewaysOf(a.lease))
}

// adopt is asked about an endpoint that is there already. It is this
// interface's own only if the lease says so: a second interface of the sandbox
// on the same network would have the same endpoint name.
func (a *adding) adopt(ctx context.Context, e *hns.Endpoint) error {
	a.lease = &ipam.Lease{DNS: a.Config.DNS}
	for _, c := range e.IPConfigs {
		a.lease.Addresses = append(a.lease.Addresses, ipam.Address{Prefix: a.prefixOf(c), Gateway: e.Gateway(c.Address)})
	}
	if !a.hasIPAM() {
		return nil
	}
	err := a.checkLease(ctx, a.lease)
	if err == nil {
		return nil
	}
	return fmt.Errorf("endpoint %q %s is there, but interface %s has no lease for it; it may belong to another interface of the sandbox: %w",
		e.Name, e.ID, a.IfName, err)
}

// finish is what follows once the endpoint is attached.
func (a *adding) finish(ctx context.Context, done *hns.Attached) error {
	err := func() error {
		if a.lateDSR && done.Created {
			if err := a.addDSR(ctx, done.Endpoint); err != nil {
				return err
			}
		}
		if a.p.Hooks.AfterAttach != nil {
			return a.p.Hooks.AfterAttach(ctx, &a.Pod, done.Endpoint)
		}
		return nil
	}()
	if err == nil || !done.Created {
		return err
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if errUndo := a.Client.Endpoints.Delete(undo, done.Endpoint.ID); errUndo != nil && !errors.Is(errUndo, hns.ErrNotFound) {
		return errors.Join(err, fmt.Errorf("%w: %w", hns.ErrLeftBehind, errUndo))
	}
	return err
}

func (a *adding) addDSR(ctx context.Context, e *hns.Endpoint) error {
	ok, err := a.supportsDSR(ctx)
	if err != nil || !ok {
		return err
	}
	return a.Client.Endpoints.AddPolicies(ctx, e.ID, modes.LoopbackDSR(e.Addresses()...)...)
}

// giveBack releases the lease that this call took, unless the endpoint may
// still be there: HNS must not hold an address that is free.
func (a *adding) giveBack(ctx context.Context, err error) error {
	if !a.took || errors.Is(err, hns.ErrLeftBehind) || errors.Is(err, hns.ErrOutcomeUnknown) {
		return err
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if errRelease := a.p.ipam().Release(undo, a.ipamRequest(a.ipamConfig)); errRelease != nil {
		err = fmt.Errorf("%w (and the lease was not released: %w)", err, errRelease)
	}
	return err
}

// plan is the endpoint that the configuration wants for these addresses; none
// leaves them to HNS.
func (r *run) plan(ctx context.Context, addresses []netip.Prefix, gateways []netip.Addr) (*hns.Endpoint, error) {
	dsr := r.Config.LoopbackDSR && len(addresses) > 0
	if dsr {
		var err error
		if dsr, err = r.supportsDSR(ctx); err != nil {
			return nil, err
		}
	}
	ports, err := r.ports(addresses)
	if err != nil {
		return nil, invalidConfig(err)
	}
	d := r.Config.DNS
	e, err := modes.PlanPodEndpoint(modes.PodIntent{
		Name: r.EndpointName, Network: r.Network, Addresses: addresses, Gateways: gateways,
		GatewayRule: r.p.Gateway, MACPrefix: r.Config.MACPrefix,
		DNS:      hns.DNS{Domain: d.Domain, Search: d.Search, ServerList: d.Nameservers, Options: d.Options},
		NAT:      r.nat(),
		Policies: append(append([]hns.EndpointPolicy(nil), r.Config.Policies...), ports...), LoopbackDSR: dsr,
	})
	if err != nil {
		return nil, invalidConfig(fmt.Errorf("endpoint %q on network %q: %w", r.EndpointName, r.Network.Name, err))
	}
	if r.p.Hooks.BeforeCreate != nil {
		if err := r.p.Hooks.BeforeCreate(ctx, &r.Pod, e); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// supportsDSR asks HNS. On one without direct server return the policy eats
// the node's ports (containernetworking/plugins#613), so it is left out and
// the log says so.
func (r *run) supportsDSR(ctx context.Context) (bool, error) {
	err := r.Client.Require(ctx, hns.FeatureDSR)
	if errors.Is(err, hns.ErrUnsupported) {
		r.Log.Warn("loopbackDSR left out", "reason", err)
		return false, nil
	}
	return err == nil, err
}

func (r *run) ports(addresses []netip.Prefix) ([]hns.EndpointPolicy, error) {
	v4, v6 := len(addresses) == 0, false
	for _, a := range addresses {
		v4, v6 = v4 || a.Addr().Is4(), v6 || a.Addr().Is6()
	}
	return portPolicies(r.Config.PortMappings, v4, v6)
}

// nat says whether the pod's traffic to the outside is translated, and what is
// left alone. win-bridge goes by ipMasqNetwork, win-overlay by ipMasq; flannel
// gives both, and an ipMasq of false means no (kubernetes-sigs/sig-windows-tools#104).
func (r *run) nat() *modes.NATIntent {
	c := r.Config
	want := r.p.Mode == modes.L2Bridge && len(c.MasqueradeExceptions) > 0
	if c.Masquerade != nil {
		want = *c.Masquerade
	}
	if !want {
		return nil
	}
	n := &modes.NATIntent{Exceptions: c.MasqueradeExceptions}
	if r.p.Mode == modes.Overlay || len(n.Exceptions) == 0 {
		for _, s := range r.Network.Subnets() {
			n.Exceptions = append(n.Exceptions, s.Prefix)
		}
	}
	return n
}

func addressesOf(l *ipam.Lease) []netip.Prefix {
	if l == nil {
		return nil
	}
	var out []netip.Prefix
	for _, a := range l.Addresses {
		out = append(out, a.Prefix)
	}
	return out
}

func gatewaysOf(l *ipam.Lease) []netip.Addr {
	if l == nil {
		return nil
	}
	var out []netip.Addr
	for _, a := range l.Addresses {
		if a.Gateway.IsValid() {
			out = append(out, a.Gateway)
		}
	}
	return out
}
