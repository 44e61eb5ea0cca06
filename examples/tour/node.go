package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/skel"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/cniplugin/flannel"
	"github.com/hnskit/hnskit/subnetenv"
)

const podsPerNode = 3

var (
	clusterNetwork = netip.MustParsePrefix("10.244.0.0/16")
	serviceNetwork = netip.MustParsePrefix("10.96.0.0/12")
)

// layout is what tells the two nodes apart.
type layout struct {
	node     string
	mode     modes.Mode
	network  string // of HNS, and of the CNI configuration
	delegate string
	subnet   netip.Prefix // as flanneld writes it: the first usable address
	mtu      int
}

var layouts = []layout{
	{"node-1", modes.L2Bridge, "cbr0", "win-bridge", netip.MustParsePrefix("10.244.1.1/24"), 1500},
	{"node-2", modes.Overlay, "flannel.4096", "win-overlay", netip.MustParsePrefix("10.244.2.1/24"), 1500 - modes.OverlayMTUOverhead},
}

// node is an emulated Windows node with its network, ready for pods.
type node struct {
	layout
	dir     string // all its files
	cniPath string // where host-local is
	env     *subnetenv.Env
	hns     *emulator.HNS
	client  *hns.Client
	net     *hns.Network
	host    *hns.Endpoint // the node's own endpoint; nil on Overlay
	plugin  *flannel.Plugin
	conf    []byte
	before  *hns.Snapshot // of HNS without pods
}

func (n *node) subnetFile() string { return filepath.Join(n.dir, "run", "flannel", "subnet.env") }
func (n *node) scratchDir() string { return filepath.Join(n.dir, "scratch") }
func (n *node) leaseDir() string   { return filepath.Join(n.dir, "networks") }

// newNode does what flanneld and the node's agent do before the first pod.
func newNode(ctx context.Context, l layout, dir, cniPath string) (*node, error) {
	n := &node{layout: l, dir: dir, cniPath: cniPath}
	n.env = &subnetenv.Env{Networks: []netip.Prefix{clusterNetwork}, Subnet: l.subnet, MTU: l.mtu, IPMasq: true}
	if err := subnetenv.Write(n.subnetFile(), n.env); err != nil {
		return nil, err
	}
	n.hns = emulator.New(&emulator.Options{Seed: 1})
	n.client = hns.New(n.hns, nil)
	if err := n.makeNetwork(ctx); err != nil {
		return nil, err
	}
	open := func(o *hns.Options) (*hns.Client, error) { return hns.New(n.hns, o), nil }
	n.plugin = &flannel.Plugin{StateDir: filepath.Join(dir, "state"), Delegates: []*cniplugin.Plugin{
		{Name: "win-bridge", Mode: modes.L2Bridge, Open: open},
		{Name: "win-overlay", Mode: modes.Overlay, Open: open},
	}}
	var err error
	if n.conf, err = json.Marshal(n.config()); err != nil {
		return nil, err
	}
	n.before, err = n.hns.Snapshot() //nolint:contextcheck // it takes none
	return n, err
}

// makeNetwork makes the HNS network and, where the mode wants one, the host's
// endpoint on it, attached to the node.
func (n *node) makeNetwork(ctx context.Context) error {
	plan, err := modes.PlanNetwork(modes.NetworkIntent{
		Mode: n.mode, Name: n.network, Subnets: []netip.Prefix{n.env.MaskedSubnet()}, Adapter: "Ethernet",
	})
	if err != nil {
		return err
	}
	made, err := n.client.Networks.Create(ctx, plan.Network)
	if err != nil {
		return err
	}
	if len(plan.AddPolicies) > 0 {
		if err := n.client.Networks.AddPolicies(ctx, made.ID, plan.AddPolicies...); err != nil {
			return err
		}
	}
	if n.net, err = n.client.Networks.ByID(ctx, made.ID); err != nil {
		return err
	}
	if n.mode != modes.L2Bridge {
		return nil
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

// config is the CNI configuration, in the form that flannel's manifests have,
// with the node's own directories.
func (n *node) config() map[string]any {
	type policy struct {
		Name  string         `json:"name"`
		Value map[string]any `json:"value"`
	}
	return map[string]any{
		"cniVersion": "1.0.0", "name": n.network, "type": "flannel",
		"subnetFile": n.subnetFile(), "dataDir": n.scratchDir(),
		"ipam": map[string]any{"type": "host-local", "dataDir": n.leaseDir()},
		"delegate": map[string]any{
			"type": n.delegate,
			"dns":  map[string]any{"nameservers": []string{"10.96.0.10"}, "search": []string{"svc.cluster.local"}},
			"policies": []policy{
				{"EndpointPolicy", map[string]any{"Type": "OutBoundNAT", "Settings": map[string]any{"Exceptions": []netip.Prefix{clusterNetwork, serviceNetwork}}}},
				{"EndpointPolicy", map[string]any{"Type": "SDNRoute", "Settings": map[string]any{"DestinationPrefix": serviceNetwork, "NeedEncap": true}}},
			},
		},
	}
}

// pod is a sandbox as a container runtime knows it.
type pod struct {
	id        string
	namespace hns.ID
	result    *types100.Result
}

func (n *node) args(p *pod, conf []byte) *skel.CmdArgs {
	return &skel.CmdArgs{ContainerID: p.id, Netns: p.namespace.String(), IfName: "eth0", Path: n.cniPath, StdinData: conf}
}

// add makes the pod's namespace, as the runtime does, and calls the plugin.
func (n *node) add(ctx context.Context, p *pod) error {
	ns, err := n.client.Namespaces.Create(ctx, &hns.Namespace{Type: hns.NamespaceGuest})
	if err != nil {
		return err
	}
	p.namespace = ns.ID
	p.result, err = n.plugin.Add(ctx, n.args(p, n.conf))
	return err
}

// check hands the result of ADD back, as the CNI specification wants it.
func (n *node) check(ctx context.Context, p *pod) error {
	if p.result == nil {
		return fmt.Errorf("%s was not added", p.id)
	}
	conf := n.config()
	result, err := p.result.GetAsVersion("1.0.0")
	if err != nil {
		return err
	}
	conf["prevResult"] = result
	stdin, err := json.Marshal(conf)
	if err != nil {
		return err
	}
	return n.plugin.Check(ctx, n.args(p, stdin))
}

// del calls the plugin, and then deletes the namespace, as the runtime does.
func (n *node) del(ctx context.Context, p *pod) error {
	if err := n.plugin.Del(ctx, n.args(p, n.conf)); err != nil {
		return err
	}
	return n.client.Namespaces.Delete(ctx, p.namespace)
}
