package cniplugin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
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
	for _, rt := range r.Config.Routes {
		if !slices.Contains(e.Routes, rt) {
			e.Routes = append(e.Routes, rt)
		}
	}
	if err := r.beforeCreate(ctx, e); err != nil {
		return nil, err
	}
	return e, nil
}

// planWithoutAddress finds what is wrong whatever the address will be, and returns
// the endpoint as far as it is known.
func (r *run) planWithoutAddress() (*hns.Endpoint, error) {
	if err := r.checkVersion(r.Network); err != nil {
		return nil, err
	}
	lease := r.asked()
	known := lease != nil
	if !known {
		lease = &ipam.Lease{}
	}
	in, err := r.intent(lease)
	if err != nil {
		return nil, err
	}
	if !known && r.hasIPAM() {
		// These depend on the address, and there will be one.
		in.GatewayRule, in.MACPrefix, in.Gateways = modes.GatewayDefault, "", nil
		if m, _ := modes.ModeOf(in.Network.Type); m == modes.L2Tunnel {
			in.Network.Type = hns.L2Bridge // alike, but for addresses of HNS
		}
	}
	e, err := modes.PlanPodEndpoint(in)
	return e, r.unplanned(err)
}

func (r *run) unplanned(err error) error {
	if err == nil {
		return nil
	}
	code := codeInvalidConfig
	if errors.Is(err, modes.ErrNotReady) && hns.FieldErrors(err) == nil {
		code = codeTryAgain
	}
	return &Error{Code: code, Err: fmt.Errorf("endpoint %q on network %q: %w", r.EndpointName, r.Network.Name, errlist.Join(repath(err, r.configPath)...))}
}

// configPath is where the configuration has what a path of the planner's intent,
// or of its endpoint, is about.
func (r *run) configPath(path string) string {
	head, rest, _ := strings.Cut(path, "[")
	index, tail, _ := strings.Cut(rest, "]")
	i, err := strconv.Atoi(index)
	at := func(paths []string) string {
		if err != nil || i < 0 || i >= len(paths) {
			return path
		}
		return paths[i] + tail
	}
	c := r.Config
	switch head {
	case "Policies":
		return at(r.paths)
	case "Gateways":
		if len(c.Gateways) > 0 {
			return at(c.gatewayPaths)
		}
	case "Addresses":
		if len(c.IPs) > 0 && !r.hasIPAM() {
			return at(c.ipPaths)
		}
	case "MAC":
		return "runtimeConfig.mac"
	case "MACPrefix":
		return "endpointMacPrefix"
	case "GatewayRule":
		if c.HostGateway {
			return "optionalFlags.forceBridgeGateway"
		}
	}
	return path
}

// requireEndpoint asks for what HNS must have for the endpoint. An HNS without
// schema 2 has not even shown the network.
func (r *run) requireEndpoint(ctx context.Context, e *hns.Endpoint) error {
	for _, q := range modes.EndpointRequirements(r.p.Mode, e) {
		if q.Feature.Name == hns.FeatureV2API.Name {
			continue
		}
		if err := r.require(ctx, q, fmt.Sprintf("endpoint %q", r.EndpointName), r.configPath); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) intent(lease *ipam.Lease) (modes.PodIntent, error) {
	var addresses []netip.Prefix
	var given []netip.Addr
	for _, a := range lease.Addresses {
		addresses = append(addresses, a.Prefix)
		if a.Gateway.IsValid() {
			given = append(given, a.Gateway)
		}
	}
	policies, paths, err := r.policies(addresses)
	if err != nil {
		return modes.PodIntent{}, invalidConfig(err)
	}
	r.paths = paths
	network := *r.Network
	if m, _ := modes.ModeOf(network.Type); m == modes.L2Tunnel && r.p.Mode == modes.L2Bridge {
		network.Type = hns.L2Bridge // win-bridge makes pods alike on both
	}
	rule, gateways := r.gateway()
	if gateways == nil {
		gateways = given
	}
	dns := r.dns(lease)
	return modes.PodIntent{
		Name: r.EndpointName, Network: &network, Addresses: addresses, Gateways: r.ofFamilies(gateways, addresses),
		GatewayRule: rule, MACPrefix: r.Config.MACPrefix, MAC: r.Config.MAC,
		DNS: hns.DNS{Domain: dns.Domain, Search: dns.Search, ServerList: dns.Nameservers, Options: dns.Options},
		NAT: r.nat(), Policies: policies, LoopbackDSR: r.dsr,
	}, nil
}

// ofFamilies leaves out the gateways of a family that the pod has no address of:
// IPAM need not give both families to every pod.
func (r *run) ofFamilies(gateways []netip.Addr, addresses []netip.Prefix) []netip.Addr {
	if len(addresses) == 0 {
		return gateways
	}
	return slices.DeleteFunc(slices.Clone(gateways), func(g netip.Addr) bool {
		return !slices.ContainsFunc(addresses, func(p netip.Prefix) bool { return p.Addr().Is4() == g.Is4() })
	})
}

// policies are the configured ones, those of the port mappings and the limit, and
// where in the configuration each comes from.
func (r *run) policies(addresses []netip.Prefix) ([]hns.EndpointPolicy, []string, error) {
	ports, portPaths, err := r.ports(addresses)
	if err != nil {
		return nil, nil, err
	}
	ps, paths := r.Config.limited(slices.Concat(r.Config.Policies, ports), slices.Concat(r.Config.policyPaths, portPaths))
	return ps, paths, nil
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
// out and the log says so. So too in a mode without services, where there is
// nothing for it to do.
func (r *run) askDSR(ctx context.Context) error {
	if !r.Config.LoopbackDSR {
		return nil
	}
	if rule := r.p.Mode.Rule(modes.OnLoadBalancer, ""); rule.Verdict == modes.Forbidden {
		r.Log.Warn("loopbackDSR left out", "reason", "it is for services, and "+rule.Reason)
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
func (r *run) ports(addresses []netip.Prefix) (ps []hns.EndpointPolicy, paths []string, err error) {
	if len(addresses) == 0 {
		for _, s := range r.Network.Subnets() {
			addresses = append(addresses, s.Prefix)
		}
	}
	v4, v6 := len(addresses) == 0, false
	for _, a := range addresses {
		v4, v6 = v4 || a.Addr().Is4(), v6 || a.Addr().Is6()
	}
	return r.Config.portPolicies(v4, v6)
}

// nat says whether the pod's traffic to the outside is translated, and what is
// left alone. win-bridge goes by ipMasqNetwork, win-overlay by ipMasq; flannel
// gives both, and an ipMasq of false means no (kubernetes-sigs/sig-windows-tools#104).
func (r *run) nat() *modes.NATIntent {
	c := r.Config
	want := (r.p.Mode == modes.L2Bridge || r.p.Mode == modes.L2Tunnel) && len(c.MasqueradeExceptions) > 0
	if c.Masquerade != nil {
		want = *c.Masquerade
	}
	if !want || r.p.Mode == modes.NAT { // WinNAT translates everything
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
