package flannel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/skel"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/cniplugin/flannel"
)

// One pod on a node that flanneld has set up for host-gw.
func ExamplePlugin() {
	dir, err := os.MkdirTemp("", "flannel")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	h := emulator.New(nil)
	client := hns.New(h, nil)
	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.L2Bridge, Name: "cbr0", Subnets: []netip.Prefix{netip.MustParsePrefix("10.50.3.0/24")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := client.Networks.Create(ctx, plan.Network); err != nil {
		fmt.Println(err)
		return
	}
	ns, err := client.Namespaces.Create(ctx, &hns.Namespace{})
	if err != nil {
		fmt.Println(err)
		return
	}
	env := filepath.Join(dir, "subnet.env")
	if err := os.WriteFile(env, []byte("FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUBNET=10.50.3.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	bridge := &cniplugin.Plugin{
		Name: "win-bridge", Mode: modes.L2Bridge,
		IPAM: &books{leases: map[string]netip.Prefix{}}, // instead of running host-local
		Open: func(o *hns.Options) (*hns.Client, error) { return hns.New(h, o), nil },
	}
	plugin := &flannel.Plugin{Delegates: []*cniplugin.Plugin{bridge}, StateDir: filepath.Join(dir, "state")}
	conf, err := json.Marshal(map[string]any{
		"cniVersion": "1.0.0", "name": "cbr0", "type": "flannel",
		"subnetFile": env, "dataDir": filepath.Join(dir, "scratch"), "delegate": map[string]any{"type": "win-bridge"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	args := &skel.CmdArgs{ContainerID: "3f2a", Netns: ns.ID.String(), IfName: "eth0", StdinData: conf}
	res, err := plugin.Add(ctx, args)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.IPs[0].Address.String(), "via", res.IPs[0].Gateway)
	e, err := client.Endpoints.ByName(ctx, "3f2a_cbr0")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("not translated:", hns.PoliciesOf[hns.OutBoundNAT](e.Policies)[0].Exceptions)
	// The file may be gone by the time of DEL.
	fmt.Println(os.Remove(env), plugin.Del(ctx, args))
	// Output:
	// 10.50.3.3/24 via 10.50.3.2
	// not translated: [10.50.0.0/16]
	// <nil> <nil>
}
