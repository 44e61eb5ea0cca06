package cniplugin_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/containernetworking/cni/pkg/skel"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// A configuration for a NAT network, with the capabilities that a runtime may ask for.
func ExampleConfList() {
	list, err := cniplugin.ConfList(cniplugin.ConfIntent{
		Name: "pond", Plugin: "nat", Mode: modes.NAT,
		HNSNetwork: &cniplugin.HNSNetwork{Subnets: []netip.Prefix{netip.MustParsePrefix("172.30.0.0/20")}},
	})
	fmt.Printf("%s%v\n", list, err)
	// Output:
	// {
	//   "cniVersion": "1.0.0",
	//   "name": "pond",
	//   "plugins": [
	//     {
	//       "type": "nat",
	//       "mode": "nat",
	//       "capabilities": {
	//         "bandwidth": true,
	//         "dns": true,
	//         "ips": true,
	//         "mac": true,
	//         "portMappings": true
	//       },
	//       "hnsNetwork": {
	//         "subnets": [
	//           "172.30.0.0/20"
	//         ]
	//       }
	//     }
	//   ]
	// }
	// <nil>
}

// The first pod makes the network that its configuration describes; a
// configuration that describes another one of the name is refused.
func ExamplePlugin_Add_network() {
	dir, err := os.MkdirTemp("", "hnskit-example-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	client := hns.New(emulator.New(nil), nil)
	plugin := &cniplugin.Plugin{Name: "nat", Mode: modes.NAT, StateDir: dir,
		Open: func(*hns.Options) (*hns.Client, error) { return client, nil }}
	ctx := context.Background()
	for i, conf := range []string{
		`{"cniVersion": "1.0.0", "name": "pond", "type": "nat", "ipam": {"subnet": "172.30.0.0/20", "routes": [{"gw": "172.30.0.1"}]}}`,
		`{"cniVersion": "1.0.0", "name": "pond", "type": "nat", "ipam": {"subnet": "10.4.0.0/24"}}`,
	} {
		ns, err := client.Namespaces.Create(ctx, &hns.Namespace{})
		if err != nil {
			fmt.Println(err)
			return
		}
		res, err := plugin.Add(ctx, &skel.CmdArgs{ContainerID: fmt.Sprintf("pod-%d", i), Netns: ns.ID.String(), IfName: "eth0", StdinData: []byte(conf)})
		var drift *hns.DriftError
		switch {
		case err == nil:
			fmt.Println(res.IPs[0].Address.String(), "via", res.IPs[0].Gateway)
		case errors.As(err, &drift):
			fmt.Println(drift.Differences[0])
		default:
			fmt.Println(err)
		}
	}
	// Output:
	// 172.30.0.2/20 via 172.30.0.1
	// Ipams[0].Subnets[0].IpAddressPrefix: want 10.4.0.0/24, got 172.30.0.0/20
}
