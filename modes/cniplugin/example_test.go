package cniplugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// counter is an IPAM of one's own: it hands out one address after the other.
type counter struct{ next netip.Addr }

func (c *counter) Allocate(context.Context, ipam.Request) (*ipam.Lease, error) {
	a := c.next
	c.next = a.Next()
	return &ipam.Lease{Addresses: []ipam.Address{{Prefix: netip.PrefixFrom(a, 24)}}}, nil
}

func (c *counter) Release(_ context.Context, req ipam.Request) error {
	fmt.Println("released:", req.ContainerID)
	return nil
}

func (c *counter) Check(context.Context, ipam.Request, *ipam.Lease) error { return nil }

const exampleConf = `{"cniVersion": "1.0.0", "name": "lake", "type": "win-bridge", "ipMasqNetwork": "10.50.0.0/16"}`

// exampleNode makes an emulated node with an L2Bridge network and a namespace, a
// plugin for it, and what a runtime calls the plugin with.
func exampleNode() (*hns.Client, *cniplugin.Plugin, *skel.CmdArgs, error) {
	ctx := context.Background()
	h := emulator.New(&emulator.Options{Seed: 1})
	c := hns.New(h, nil)
	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: []netip.Prefix{netip.MustParsePrefix("10.50.3.0/24")}})
	if err != nil {
		return nil, nil, nil, err
	}
	if _, err := c.Networks.Create(ctx, plan.Network); err != nil {
		return nil, nil, nil, err
	}
	ns, err := c.Namespaces.Create(ctx, &hns.Namespace{})
	if err != nil {
		return nil, nil, nil, err
	}
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		return nil, nil, nil, err
	}
	p := &cniplugin.Plugin{
		Name: "win-bridge", Mode: modes.L2Bridge, StateDir: dir,
		IPAM: &counter{netip.MustParseAddr("10.50.3.7")},
		Open: func(o *hns.Options) (*hns.Client, error) { return hns.New(h, o), nil },
	}
	return c, p, &skel.CmdArgs{ContainerID: "3f2a", Netns: ns.ID.String(), IfName: "eth0", StdinData: []byte(exampleConf)}, nil
}

func ExamplePlugin_Add() {
	_, plugin, args, err := exampleNode()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(plugin.StateDir)
	res, err := plugin.Add(context.Background(), args)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, ip := range res.IPs {
		fmt.Println(res.Interfaces[*ip.Interface].Name, ip.Address.String(), "via", ip.Gateway)
	}
	// Repeated, it gives the same.
	again, err := plugin.Add(context.Background(), args)
	fmt.Println(again.IPs[0].Address.String(), err)
	// Output:
	// eth0 10.50.3.7/24 via 10.50.3.2
	// 10.50.3.7/24 <nil>
}

func ExamplePlugin_Check() {
	client, plugin, args, err := exampleNode()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(plugin.StateDir)
	ctx := context.Background()
	res, err := plugin.Add(ctx, args)
	if err != nil {
		fmt.Println(err)
		return
	}
	// The runtime puts the result of ADD into the configuration.
	prev, err := json.Marshal(res)
	if err != nil {
		fmt.Println(err)
		return
	}
	args.StdinData = []byte(strings.Replace(exampleConf, `"1.0.0"`, `"1.1.0", "prevResult": `+string(prev), 1))
	fmt.Println("well:", plugin.Check(ctx, args))

	e, err := client.Endpoints.ByName(ctx, "3f2a_lake")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := client.Namespaces.RemoveEndpoint(ctx, e.Namespace, e.ID); err != nil {
		fmt.Println(err)
		return
	}
	err = plugin.Check(ctx, args)
	fmt.Println("detached: code", cniplugin.CNIError(err).Code)
	// Output:
	// well: <nil>
	// detached: code 101
}

func ExamplePlugin_Del() {
	client, plugin, args, err := exampleNode()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(plugin.StateDir)
	ctx := context.Background()
	if _, err := plugin.Add(ctx, args); err != nil {
		fmt.Println(err)
		return
	}
	args.Netns = "" // the runtime has deleted it
	fmt.Println(plugin.Del(ctx, args))
	left, err := client.Endpoints.List(ctx)
	fmt.Println(len(left), err)
	// What is gone already is success.
	fmt.Println(plugin.Del(ctx, args))
	// Output:
	// released: 3f2a
	// <nil>
	// 0 <nil>
	// released: 3f2a
	// <nil>
}

// A plugin with a step of its own: every pod is kept from the cloud's metadata.
func ExampleHooks() {
	client, plugin, args, err := exampleNode()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(plugin.StateDir)
	plugin.Hooks.BeforeCreate = func(_ context.Context, pod *cniplugin.Pod, e *hns.Endpoint) error {
		e.Policies = append(e.Policies, hns.RawPolicy{Type: "ACL", Settings: json.RawMessage(
			`{"Action":"Block","Direction":"Out","RemoteAddresses":"169.254.169.254","Protocols":"6","RuleType":"Switch","Priority":200}`)})
		return nil
	}
	ctx := context.Background()
	if _, err := plugin.Add(ctx, args); err != nil {
		fmt.Println(err)
		return
	}
	e, err := client.Endpoints.ByName(ctx, "3f2a_lake")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range e.Policies {
		fmt.Println(p.PolicyType())
	}
	// Output:
	// OutBoundNAT
	// ACL
}

func ExampleParseConfig() {
	_, err := cniplugin.ParseConfig([]byte(`{"cniVersion": "1.0.0", "name": "lake", "apiVersion": 1,
		"policies": [{"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT", "ExceptionList": ["<ServiceCIDR>"]}}]}`))
	fmt.Println("code", cniplugin.CNIError(err).Code)
	for _, f := range hns.FieldErrors(err) {
		fmt.Println(f.Path, f.Value)
	}
	// Output:
	// code 7
	// apiVersion 1
	// policies[0].value.Settings.Exceptions[0] <ServiceCIDR>
}

// A node's agent removes what the runtime no longer knows.
func ExamplePlugin_Reconcile() {
	client, plugin, args, err := exampleNode()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(plugin.StateDir)
	ctx := context.Background()
	if _, err := plugin.Add(ctx, args); err != nil {
		fmt.Println(err)
		return
	}
	for _, live := range [][]ipam.Attachment{{{ContainerID: "3f2a", IfName: "eth0"}}, nil} {
		report, err := plugin.Reconcile(ctx, args.StdinData, live)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, f := range report.Removed {
			fmt.Println("removed", f.Name, f.Addresses)
		}
		for _, f := range report.Left {
			fmt.Println("left", f.Name, f.Addresses, "since it is", f.Reason)
		}
	}
	left, err := client.Endpoints.List(ctx)
	fmt.Println(len(left), "endpoints,", err)
	// Output:
	// left 3f2a_lake [10.50.3.7] since it is live
	// released: 3f2a
	// removed 3f2a_lake [10.50.3.7]
	// 0 endpoints, <nil>
}

// A runtime's GC names the attachments that are valid.
func ExamplePlugin_GC() {
	client, plugin, args, err := exampleNode()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(plugin.StateDir)
	ctx := context.Background()
	if _, err := plugin.Add(ctx, args); err != nil {
		fmt.Println(err)
		return
	}
	const without = `{"cniVersion": "1.1.0", "name": "lake", "type": "win-bridge"}`
	fmt.Println(plugin.GC(ctx, &skel.CmdArgs{StdinData: []byte(without)}))
	const none = `{"cniVersion": "1.1.0", "name": "lake", "type": "win-bridge", "cni.dev/valid-attachments": []}`
	fmt.Println(plugin.GC(ctx, &skel.CmdArgs{StdinData: []byte(none)}))
	left, err := client.Endpoints.List(ctx)
	fmt.Println(len(left), "endpoints,", err)
	// Output:
	// configuration of network "lake": cni.dev/valid-attachments: missing; without it nobody knows what is stale
	// released: 3f2a
	// <nil>
	// 0 endpoints, <nil>
}
