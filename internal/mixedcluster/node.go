package mixedcluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"

	"github.com/containernetworking/cni/pkg/skel"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// node is an emulated Windows node.
type node struct {
	machine
	mode   modes.Mode
	client *hns.Client
	net    *hns.Network
	host   *hns.Endpoint // the node's own endpoint, on L2Bridge
}

func newNode(ctx context.Context, mode modes.Mode, m machine, seed uint64) (*node, error) {
	h := emulator.New(&emulator.Options{Seed: seed, Adapters: []emulator.Adapter{
		{Name: "Ethernet", MAC: m.mac, Addresses: []netip.Prefix{netip.PrefixFrom(m.addr, nodeCIDR.Bits())}},
	}})
	n := &node{machine: m, mode: mode, client: hns.New(h, nil)}
	if err := n.makeNetwork(ctx); err != nil {
		return nil, err
	}
	return n, n.makePods(ctx)
}

// networkName is what the usual plugins call the network of a mode.
func networkName(m modes.Mode) string {
	switch m {
	case modes.L2Bridge:
		return "cbr0"
	case modes.L2Tunnel:
		return "azure"
	case modes.Overlay:
		return "flannel.4096"
	case modes.Transparent:
		return "fabric"
	}
	return "nat"
}

func (n *node) makeNetwork(ctx context.Context) error {
	var doc *hns.Network
	var later []hns.NetworkPolicy
	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: n.mode, Name: networkName(n.mode), Subnets: []netip.Prefix{n.subnet}, Adapter: "Ethernet"})
	switch {
	case err == nil:
		doc, later = plan.Network, plan.AddPolicies
	case errors.Is(err, hns.ErrUnsupported): // no planner
		doc = n.networkDocument()
	default:
		return err
	}
	made, err := n.client.Networks.Create(ctx, doc)
	if err != nil {
		return err
	}
	if len(later) > 0 {
		if err := n.client.Networks.AddPolicies(ctx, made.ID, later...); err != nil {
			return err
		}
	}
	if n.net, err = n.client.Networks.ByID(ctx, made.ID); err != nil || n.mode != modes.L2Bridge {
		return err
	}
	host, err := modes.PlanHostEndpoint(n.net)
	if err != nil {
		return err
	}
	if n.host, err = n.client.Endpoints.Create(ctx, host); err != nil {
		return err
	}
	return n.client.Endpoints.AttachHost(ctx, n.host.ID)
}

// networkDocument is the network of a mode without a planner.
func (n *node) networkDocument() *hns.Network {
	doc := &hns.Network{Name: networkName(n.mode), Type: n.mode.NetworkType(),
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: n.subnet, Routes: []hns.Route{hns.DefaultRoute(n.subnet.Addr().Next())}}}}}}
	if n.mode != modes.NAT {
		doc.Policies = []hns.NetworkPolicy{hns.NetAdapterName{Name: "Ethernet"}}
	} else {
		doc.Flags = hns.NetworkEnableDNSProxy
	}
	return doc
}

// makePods adds the node's pods: by the CNI plugin, or where it does not serve
// the mode from documents.
func (n *node) makePods(ctx context.Context) (err error) {
	var add func(pod string, ns hns.ID) error
	switch n.mode {
	case modes.L2Bridge, modes.L2Tunnel, modes.Overlay:
		dir, err := os.MkdirTemp("", "mixedcluster-*")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		add = n.plugin(ctx, dir)
	default:
		add = func(pod string, ns hns.ID) error { return n.addDocument(ctx, pod, ns) }
	}
	for _, p := range n.pods {
		ns, err := n.client.Namespaces.Create(ctx, &hns.Namespace{Type: hns.NamespaceGuest})
		if err != nil {
			return err
		}
		if err := add(p, ns.ID); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) addDocument(ctx context.Context, pod string, ns hns.ID) error {
	e := &hns.Endpoint{Name: pod + "_" + n.net.Name, Network: n.net.ID, IPConfigs: []hns.IPConfig{{Address: PodAddress(pod), PrefixLength: uint8(n.subnet.Bits())}}}
	if n.mode != modes.NAT {
		e.DNS = hns.DNS{ServerList: []string{DNSVIP.String()}, Search: []string{domain}}
	}
	made, err := n.client.Endpoints.Create(ctx, e)
	if err != nil {
		return err
	}
	return n.client.Namespaces.AddEndpoint(ctx, ns, made.ID)
}

// fixedIPAM gives each pod the address that the cluster has for it.
type fixedIPAM struct{ bits int }

func (f fixedIPAM) Allocate(_ context.Context, req ipam.Request) (*ipam.Lease, error) {
	return &ipam.Lease{Addresses: []ipam.Address{{Prefix: netip.PrefixFrom(PodAddress(req.ContainerID), f.bits)}}}, nil
}
func (fixedIPAM) Release(context.Context, ipam.Request) error            { return nil }
func (fixedIPAM) Check(context.Context, ipam.Request, *ipam.Lease) error { return nil }

// plugin returns the ADD of the mode's plugin, with the configuration that the
// plugin's users write.
func (n *node) plugin(ctx context.Context, dir string) func(string, hns.ID) error {
	p := &cniplugin.Plugin{Name: "win-bridge", Mode: modes.L2Bridge, IPAM: fixedIPAM{n.subnet.Bits()}, StateDir: dir,
		Open: func(*hns.Options) (*hns.Client, error) { return n.client, nil }}
	if n.mode == modes.Overlay {
		p.Name, p.Mode = "win-overlay", modes.Overlay
	}
	if n.mode == modes.L2Tunnel {
		p.Gateway = modes.GatewaySubnet
	}
	conf := n.config(p.Name)
	return func(pod string, ns hns.ID) error {
		_, err := p.Add(ctx, &skel.CmdArgs{ContainerID: pod, Netns: ns.String(), IfName: "eth0", StdinData: conf})
		return err
	}
}

func (n *node) config(plugin string) []byte {
	type policy struct {
		Name  string         `json:"name"`
		Value map[string]any `json:"value"`
	}
	endpoint := func(kind string, settings map[string]any) policy {
		return policy{"EndpointPolicy", map[string]any{"Type": kind, "Settings": settings}}
	}
	exceptions := []netip.Prefix{clusterCIDR, serviceCIDR}
	if n.mode != modes.Overlay {
		exceptions = append(exceptions, netip.PrefixFrom(n.addr, 32))
	}
	policies := []policy{endpoint("OutBoundNAT", map[string]any{"Exceptions": exceptions})}
	if n.mode != modes.Overlay {
		policies = append(policies,
			endpoint("SDNRoute", map[string]any{"DestinationPrefix": serviceCIDR, "NeedEncap": true}),
			endpoint("SDNRoute", map[string]any{"DestinationPrefix": netip.PrefixFrom(n.addr, 32), "NeedEncap": true}))
	}
	b, err := json.Marshal(map[string]any{
		"cniVersion": "1.0.0", "name": n.net.Name, "type": plugin, "ipam": map[string]any{"type": "fixed"},
		"dns":      map[string]any{"nameservers": []string{DNSVIP.String()}, "search": []string{domain, "svc.cluster.local", "cluster.local"}},
		"policies": policies,
	})
	if err != nil {
		panic(err) // of texts and prefixes: never
	}
	return b
}
