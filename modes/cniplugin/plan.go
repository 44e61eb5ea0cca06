package cniplugin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
)

// plan is the endpoint that the configuration wants with this lease; nil leaves
// the addresses to HNS.
func (r *run) plan(ctx context.Context, lease *ipam.Lease) (*hns.Endpoint, error) {
	if lease == nil {
		lease = &ipam.Lease{}
	}
	in, err := r.intent(lease)
	if err != nil {
		return nil, err
	}
	e, err := modes.PlanPodEndpoint(in)
	if err != nil {
		return nil, r.unplanned(err)
	}
	e.Routes = append(e.Routes, extraRoutes(lease.Routes, e)...)
	if r.p.Hooks.BeforeCreate != nil {
		if err := safely("hook BeforeCreate", func() error { return r.p.Hooks.BeforeCreate(ctx, &r.Pod, e) }); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// planWithoutAddress finds what is wrong whatever the address will be.
func (r *run) planWithoutAddress() error {
	in, err := r.intent(&ipam.Lease{})
	if err != nil {
		return err
	}
	in.GatewayRule, in.MACPrefix = modes.GatewayDefault, "" // these do depend on it
	_, err = modes.PlanPodEndpoint(in)
	return r.unplanned(err)
}

func (r *run) unplanned(err error) error {
	if err == nil {
		return nil
	}
	code := codeInvalidConfig
	if errors.Is(err, modes.ErrNotReady) && hns.FieldErrors(err) == nil {
		code = codeTryAgain
	}
	return &Error{Code: code, Err: fmt.Errorf("endpoint %q on network %q: %w", r.EndpointName, r.Network.Name, err)}
}

func (r *run) intent(lease *ipam.Lease) (modes.PodIntent, error) {
	var addresses []netip.Prefix
	var gateways []netip.Addr
	for _, a := range lease.Addresses {
		addresses = append(addresses, a.Prefix)
		if a.Gateway.IsValid() {
			gateways = append(gateways, a.Gateway)
		}
	}
	ports, err := r.ports(addresses)
	if err != nil {
		return modes.PodIntent{}, invalidConfig(err)
	}
	network := *r.Network
	if m, _ := modes.ModeOf(network.Type); m == modes.L2Tunnel {
		network.Type = hns.L2Bridge // pods are made alike on both
	}
	dns := r.dns(lease)
	return modes.PodIntent{
		Name: r.EndpointName, Network: &network, Addresses: addresses, Gateways: gateways,
		GatewayRule: r.p.Gateway, MACPrefix: r.Config.MACPrefix,
		DNS: hns.DNS{Domain: dns.Domain, Search: dns.Search, ServerList: dns.Nameservers, Options: dns.Options},
		NAT: r.nat(), Policies: append(slices.Clone(r.Config.Policies), ports...), LoopbackDSR: r.dsr,
	}, nil
}

// dns is what the pod gets: each field from the runtime, else the configuration,
// else IPAM. Empty texts are left out: a list of one is how some IPAM plugins
// write an empty list, and HNS refuses it.
func (r *run) dns(lease *ipam.Lease) types.DNS {
	nonEmpty := func(l []string) (out []string) {
		for _, s := range l {
			if s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	given := lease.DNS
	return preferDNS(r.Config.DNS, types.DNS{Nameservers: nonEmpty(given.Nameservers), Domain: given.Domain,
		Search: nonEmpty(given.Search), Options: nonEmpty(given.Options)})
}

// askDSR notes whether the endpoint gets loopback DSR. On an HNS without it the
// policy eats the node's ports (containernetworking/plugins#613), so it is left
// out and the log says so.
func (r *run) askDSR(ctx context.Context) error {
	if !r.Config.LoopbackDSR {
		return nil
	}
	err := r.Client.Require(ctx, hns.FeatureDSR)
	r.dsr = err == nil
	if errors.Is(err, hns.ErrUnsupported) {
		r.Log.Warn("loopbackDSR left out", "reason", err)
		return nil
	}
	return err
}

// ports makes the policies of the port mappings, for the families that the pod
// has, or may get from HNS.
func (r *run) ports(addresses []netip.Prefix) ([]hns.EndpointPolicy, error) {
	if len(addresses) == 0 {
		for _, s := range r.Network.Subnets() {
			addresses = append(addresses, s.Prefix)
		}
	}
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
	n := &modes.NATIntent{Exceptions: slices.Clone(c.MasqueradeExceptions)}
	if r.p.Mode == modes.Overlay || len(n.Exceptions) == 0 {
		for _, s := range r.Network.Subnets() {
			n.Exceptions = append(n.Exceptions, s.Prefix)
		}
	}
	return n
}

// extraRoutes are IPAM's routes that the endpoint would lack: those that lead
// elsewhere than its default route does. The default route itself is the
// gateway rule's, whatever IPAM takes for the gateway.
func extraRoutes(routes []ipam.Route, e *hns.Endpoint) []hns.Route {
	var out []hns.Route
	for _, rt := range routes {
		x := hns.Route{NextHop: rt.Gateway, DestinationPrefix: rt.Destination}
		if !rt.Gateway.IsValid() || x.IsDefault() || e.Gateway(rt.Gateway) == rt.Gateway {
			continue
		}
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}
