package ipam_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/ipam"
)

// The gateway of pods on an L2Bridge network is the host's endpoint, the second
// address after the network's, whatever the length of the prefix.
func ExampleNth() {
	for _, subnet := range []string{"10.50.3.0/24", "10.50.3.64/26", "fd00:50::/64", "10.50.3.8/31"} {
		gateway, err := ipam.Nth(netip.MustParsePrefix(subnet), 2)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(gateway)
	}
	// Output:
	// 10.50.3.2
	// 10.50.3.66
	// fd00:50::2
	// address 2 of 10.50.3.8/31: outside the prefix, which has 2
}

func ExampleOffset() {
	n, err := ipam.Offset(netip.MustParsePrefix("10.50.0.0/16"), netip.MustParseAddr("10.50.3.7"))
	fmt.Println(n, err)
	// Output: 775 <nil>
}

// Lists of NAT exceptions come from several places and repeat each other.
func ExampleCanonical() {
	cluster := []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("10.96.0.0/12")}
	user := []netip.Prefix{netip.MustParsePrefix("10.96.0.1/12"), netip.MustParsePrefix("192.168.7.0/24")}
	fmt.Println(ipam.Canonical(cluster, user))
	// Output: [10.96.0.0/12 10.244.0.0/16 192.168.7.0/24]
}

func ExampleFirstOverlap() {
	pools := []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("10.244.9.0/24")}
	if i, j, ok := ipam.FirstOverlap(pools); ok {
		fmt.Println(pools[i], "overlaps", pools[j])
	}
	// Output: 10.244.0.0/16 overlaps 10.244.9.0/24
}

func ExampleReserved() {
	list, err := ipam.Reserved(netip.MustParsePrefix("10.50.3.0/24"), ipam.Use{Gateway: true, HostEndpoint: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range list {
		fmt.Println(r)
	}
	// Output:
	// 10.50.3.0 (network address)
	// 10.50.3.1 (gateway)
	// 10.50.3.2 (host endpoint)
	// 10.50.3.255 (broadcast address)
}

// The configuration flannel writes would give the host's own address to the
// first pod.
func ExampleReserve() {
	conf := json.RawMessage(`{"type":"host-local","subnet":"10.50.3.0/24"}`)
	reserved, err := ipam.Reserved(netip.MustParsePrefix("10.50.3.0/24"), ipam.Use{Gateway: true, HostEndpoint: true})
	if err != nil {
		log.Fatal(err)
	}
	conf, changes, err := ipam.Reserve(conf, reserved...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(conf))
	for _, c := range changes {
		fmt.Println(c)
	}
	// Output:
	// {"type":"host-local","subnet":"10.50.3.0/24","rangeStart":"10.50.3.3"}
	// ipam: 10.50.3.2 (host endpoint) taken out of 10.50.3.1-10.50.3.254
}

// A source VIP in the middle of a subnet, in a whole configuration.
func ExampleReserveNetwork() {
	config := []byte(`{"cniVersion":"1.0.0", "name":"vxlan0", "type":"win-overlay", "ipam":{"type":"host-local","subnet":"10.50.3.0/24"}}`)
	config, _, err := ipam.ReserveNetwork(config, ipam.Reservation{
		Address: netip.MustParseAddr("10.50.3.170"), Reason: ipam.ReasonSourceVIP,
	})
	fmt.Println(string(config), err)
	// Output:
	// {"cniVersion":"1.0.0", "name":"vxlan0", "type":"win-overlay", "ipam":{"type":"host-local","ranges":[[{"subnet":"10.50.3.0/24","rangeEnd":"10.50.3.169"},{"subnet":"10.50.3.0/24","rangeStart":"10.50.3.171"}]]}} <nil>
}

func ExampleParseHostLocal() {
	h, err := ipam.ParseHostLocal(json.RawMessage(`{"type":"host-local","subnet":"10.50.3.0/24","rangeStart":"10.50.3.3"}`))
	if err != nil {
		log.Fatal(err)
	}
	r := h.Sets[0][0]
	fmt.Println(r, "gateway", r.GatewayAddress())

	_, err = ipam.ParseHostLocal(json.RawMessage(`{"type":"host-local","ranges":[[{"subnet":"10.50.3.7/24"}]],"routes":[{"gw":"10.50.3.2"}]}`))
	fmt.Println(err)
	// Output:
	// 10.50.3.3-10.50.3.254 gateway 10.50.3.1
	// ipam.routes[0].dst: missing
	// ipam.ranges[0][0].subnet "10.50.3.7/24": has host bits set; the subnet is 10.50.3.0/24
}

func ExampleHostLocal() {
	conf, err := json.Marshal(&ipam.HostLocal{
		Sets: []ipam.RangeSet{
			{{Subnet: netip.MustParsePrefix("10.50.3.0/24")}},
			{{Subnet: netip.MustParsePrefix("fd00:50::/64")}},
		},
		DataDir: `C:\k\ipam`,
	})
	fmt.Println(string(conf), err)
	// Output:
	// {"type":"host-local","ranges":[[{"subnet":"10.50.3.0/24"}],[{"subnet":"fd00:50::/64"}]],"dataDir":"C:\\k\\ipam"} <nil>
}

func ExamplePluginType() {
	for _, config := range []string{
		`{"name":"lake","ipam":{"type":"host-local","subnet":"10.50.3.0/24"}}`,
		`{"name":"nat"}`,
		`{"name":"lake","ipam":{"type":"../bin/sh"}}`,
	} {
		typ, err := ipam.PluginType([]byte(config))
		fmt.Printf("%q %v\n", typ, err)
	}
	// Output:
	// "host-local" <nil>
	// "" <nil>
	// "" ipam.type "../bin/sh": a plugin's name cannot have '/' in it
}

// cannedPlugin answers in place of a program.
type cannedPlugin struct {
	version.PluginDecoder
	result string
	err    error
}

func (c *cannedPlugin) FindInPath(plugin string, _ []string) (string, error) { return plugin, nil }
func (c *cannedPlugin) ExecPlugin(context.Context, string, []byte, []string) ([]byte, error) {
	return []byte(c.result), c.err
}

func ExampleDelegated() {
	request := ipam.Request{
		ContainerID: "sbx-01",
		IfName:      "eth0",
		Netns:       "7b0c8b5e-6f3f-4e2d-9a51-0d5b6a3f1c2e",
		PluginPath:  filepath.SplitList(os.Getenv("CNI_PATH")),
		Config:      []byte(`{"cniVersion":"1.0.0","name":"lake","type":"win-bridge","ipam":{"type":"host-local","subnet":"10.50.3.0/24"}}`),
	}
	// Without Exec the program host-local in one of the directories would run.
	d := &ipam.Delegated{Exec: &cannedPlugin{result: `{"cniVersion":"1.0.0","ips":[{"address":"10.50.3.7/24","gateway":"10.50.3.1"}]}`}}
	lease, err := d.Allocate(context.Background(), request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lease.Addresses[0].Prefix, lease.Addresses[0].Gateway)

	d.Exec = &cannedPlugin{err: types.NewError(types.ErrTryAgainLater, "no address is free", "")}
	_, err = d.Allocate(context.Background(), request)
	var cniErr *types.Error
	if errors.As(err, &cniErr) {
		fmt.Println(cniErr.Code, err)
	}
	// Output:
	// 10.50.3.7/24 10.50.3.1
	// 11 host-local ADD sbx-01/eth0: no address is free
}

func ExampleNewLease() {
	// The form that kube-proxy's scripts read a source VIP from.
	d := &ipam.Delegated{Exec: &cannedPlugin{result: `{"cniVersion":"0.2.0","ip4":{"ip":"10.244.5.2/24","gateway":"10.244.5.1"}}`}}
	lease, err := d.Allocate(context.Background(), ipam.Request{Config: []byte(`{"cniVersion":"0.2.0","ipam":{"type":"host-local"}}`)})
	if err != nil {
		log.Fatal(err)
	}
	again, err := ipam.NewLease(lease.Result())
	fmt.Println(again.Addresses[0].Prefix, err)
	// Output: 10.244.5.2/24 <nil>
}

func ExampleLeases() {
	dataDir, err := os.MkdirTemp("", "leases")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dataDir)
	if err := os.Mkdir(filepath.Join(dataDir, "lake"), 0o700); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dataDir, "lake", "10.50.3.7"), []byte("sbx-01\r\neth0"), 0o600); err != nil {
		log.Fatal(err)
	}
	leases, err := ipam.Leases(dataDir, "lake")
	fmt.Println(leases, err)
	// Output: [{10.50.3.7 sbx-01 eth0}] <nil>
}

// A runtime's GC, served by a plugin with an IPAM of whatever kind.
func ExampleGarbageCollector() {
	var pods ipam.IPAM = &ipam.Delegated{Exec: &cannedPlugin{}}
	request := ipam.Request{Config: []byte(`{"cniVersion":"1.0.0","name":"lake","ipam":{"type":"lake-ipam"}}`)}

	collector, ok := pods.(ipam.GarbageCollector)
	if !ok {
		return // it keeps no leases
	}
	err := collector.GC(context.Background(), request, []ipam.Attachment{{ContainerID: "sbx-01", IfName: "eth0"}})
	if errors.Is(err, errors.ErrUnsupported) {
		fmt.Println("not collected:", err)
	}
	request.Config = []byte(`{"cniVersion":"1.1.0","name":"lake","ipam":{"type":"lake-ipam"}}`)
	fmt.Println(collector.GC(context.Background(), request, []ipam.Attachment{{ContainerID: "sbx-01", IfName: "eth0"}}))
	// Output:
	// not collected: IPAM GC: CNI version 1.0.0 has no such verb: unsupported operation
	// <nil>
}

func ExampleStatusChecker() {
	var pods ipam.StatusChecker = &ipam.Delegated{Exec: &cannedPlugin{err: types.NewError(50, "the address daemon is away", "")}}
	err := pods.Status(context.Background(), ipam.Request{Config: []byte(`{"cniVersion":"1.1.0","name":"lake","ipam":{"type":"lake-ipam"}}`)})
	var cniErr *types.Error
	fmt.Println(errors.As(err, &cniErr), err)
	// Output: true lake-ipam STATUS: the address daemon is away
}

func ExampleStale() {
	leases := []ipam.StoredLease{
		{Address: netip.MustParseAddr("10.50.3.7"), ContainerID: "sbx-01", IfName: "eth0"},
		{Address: netip.MustParseAddr("10.50.3.8"), ContainerID: "sbx-02", IfName: "eth0"},
		{Address: netip.MustParseAddr("fd00::8"), ContainerID: "sbx-02", IfName: "eth0"},
	}
	fmt.Println(ipam.Stale(leases, []ipam.Attachment{{ContainerID: "sbx-01", IfName: "eth0"}}))
	// Output: [{sbx-02 eth0}]
}

func ExampleReleaseConfig() {
	fmt.Printf("%s\n", ipam.ReleaseConfig("lake", "1.0.0", ipam.HostLocalType, ""))
	// Output: {"name":"lake","ipam":{"type":"host-local","subnet":"192.0.2.0/24"},"cniVersion":"1.0.0"}
}
