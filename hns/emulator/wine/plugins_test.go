package wine_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/emulator/wine/native"
	"github.com/hnskit/hnskit/internal/toolbuild"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/subnetenv"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// The example plugins, built for Windows, do whole lives of pods through the
// native backend. How many native calls a verb makes is held here: on a busy
// node each of them takes tens of milliseconds.

// node is an emulated Windows node in a state file. Linux and Wine do not see
// each other's locks, so the test looks at it only while no program runs.
type node struct {
	t                       *testing.T
	dir, state, log, plugin string
	network                 *hns.Network
	namespace               hns.ID
}

func newNode(t *testing.T, mode modes.Mode, network, plugin string) *node {
	t.Helper()
	needWine(t)
	t.Setenv("HNS_EMULATOR", "") // on Windows the plugins must not look at it
	os.Unsetenv("HNS_EMULATOR")
	n := &node{t: t, dir: t.TempDir()}
	n.state, n.log = filepath.Join(n.dir, "hns.json"), filepath.Join(n.dir, "calls.jsonl")
	windows := toolbuild.Target{GOOS: "windows", GOARCH: "amd64"}
	var err error
	if n.plugin, err = windows.Local(t.Context(), "./examples/"+plugin, n.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := windows.HostLocal(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := emulator.Open(n.state, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, ctx := hns.New(h, nil), t.Context()
	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: mode, Name: network, Subnets: []netip.Prefix{netip.MustParsePrefix("10.244.1.0/24")}})
	if err != nil {
		t.Fatal(err)
	}
	if n.network, err = c.Networks.Create(ctx, plan.Network); err != nil {
		t.Fatal(err)
	}
	if err := c.Networks.AddPolicies(ctx, n.network.ID, plan.AddPolicies...); err != nil {
		t.Fatal(err)
	}
	if mode == modes.L2Bridge {
		n.hostEndpoint(ctx, c)
	}
	ns, err := c.Namespaces.Create(ctx, &hns.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	n.namespace = ns.ID
	return n
}

func (n *node) hostEndpoint(ctx context.Context, c *hns.Client) {
	n.t.Helper()
	want, err := modes.PlanHostEndpoint(n.network)
	if err != nil {
		n.t.Fatal(err)
	}
	ep, err := c.Endpoints.Create(ctx, want)
	if err == nil {
		err = c.Endpoints.AttachHost(ctx, ep.ID)
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// call runs the plugin as a runtime does and returns its standard output and
// how often it called each function of the DLLs.
func (n *node) call(verb, container, conf string) (stdout string, status int, calls map[string]int) {
	n.t.Helper()
	os.Remove(n.log)
	hostLocal, err := toolbuild.Target{GOOS: "windows", GOARCH: "amd64"}.HostLocal(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := wineCommand(n.t, []string{
		"HNSKIT_STATE=" + zPath(n.state), "HNSKIT_CALL_LOG=" + zPath(n.log),
		"CNI_COMMAND=" + verb, "CNI_CONTAINERID=" + container, "CNI_IFNAME=eth0",
		"CNI_NETNS=" + n.namespace.String(), "CNI_PATH=" + zPath(filepath.Dir(hostLocal)),
	}, "run", n.plugin)
	cmd.Stdin = strings.NewReader(conf)
	got := run(n.t, cmd)
	if got.stderr != "" {
		n.t.Errorf("%s wrote to standard error: %s", verb, got.stderr)
	}
	logged, err := native.ReadLog(n.log)
	if err != nil {
		n.t.Fatal(err)
	}
	if len(logged) == 0 {
		n.t.Errorf("%s: the DLLs were not called", verb)
	}
	calls = map[string]int{}
	for _, c := range logged {
		calls[c.Func]++
	}
	return got.stdout, got.status, calls
}

func (n *node) must(verb, container, conf string, want map[string]int) string {
	n.t.Helper()
	out, status, calls := n.call(verb, container, conf)
	if status != 0 {
		n.t.Fatalf("%s: status %d: %s", verb, status, out)
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		n.t.Errorf("%s: native calls (-want +got):\n%s", verb, diff)
	}
	return out
}

// left compares what there is with what there should be.
func (n *node) left(endpoints, leases, scratch int) {
	n.t.Helper()
	h, err := emulator.Open(n.state, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	eps, err := hns.New(h, nil).Endpoints.List(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	var names []string
	for _, e := range eps {
		if e.Name != modes.HostEndpointName(n.network.Name) {
			names = append(names, e.Name)
		}
	}
	ls, err := ipam.Leases(filepath.Join(n.dir, "leases"), n.network.Name)
	if err != nil {
		n.t.Fatal(err)
	}
	files, err := delegate.Scratch{Dir: filepath.Join(n.dir, "scratch")}.List()
	if err != nil {
		n.t.Fatal(err)
	}
	if len(names) != endpoints || len(ls) != leases || len(files) != scratch {
		n.t.Errorf("endpoints %v, leases %v, scratch files %v; want %d, %d, %d", names, ls, files, endpoints, leases, scratch)
	}
}

// The native calls of a verb, whatever plugin makes them.
var (
	// 13: find the network 4, look for the endpoint 1, create it 5, attach it 3.
	addCalls = map[string]int{
		"HcnEnumerateNetworks": 1, "HcnOpenNetwork": 2, "HcnQueryNetworkProperties": 1, "HcnCloseNetwork": 2,
		"HcnEnumerateEndpoints": 1, "HcnCreateEndpoint": 1, "HcnQueryEndpointProperties": 1, "HcnCloseEndpoint": 1,
		"HcnOpenNamespace": 1, "HcnModifyNamespace": 1, "HcnCloseNamespace": 1,
	}
	// 11: network 4, endpoint 4, namespace 3.
	checkCalls = map[string]int{
		"HcnEnumerateNetworks": 1, "HcnOpenNetwork": 1, "HcnQueryNetworkProperties": 1, "HcnCloseNetwork": 1,
		"HcnEnumerateEndpoints": 1, "HcnOpenEndpoint": 1, "HcnQueryEndpointProperties": 1, "HcnCloseEndpoint": 1,
		"HcnOpenNamespace": 1, "HcnQueryNamespaceProperties": 1, "HcnCloseNamespace": 1,
	}
	// 8: find the endpoint 4, detach it 3, delete it 1.
	delCalls = map[string]int{
		"HcnEnumerateEndpoints": 1, "HcnOpenEndpoint": 1, "HcnQueryEndpointProperties": 1, "HcnCloseEndpoint": 1,
		"HcnOpenNamespace": 1, "HcnModifyNamespace": 1, "HcnCloseNamespace": 1, "HcnDeleteEndpoint": 1,
	}
	delAgainCalls = map[string]int{"HcnEnumerateEndpoints": 1}
)

// life is ADD, CHECK, DEL and DEL again, with the result of ADD under eth0.
func (n *node) life(conf map[string]any, wantIP, wantGateway string, scratch int) {
	n.t.Helper()
	const pod = "0badc0de"
	add := n.must("ADD", pod, encodeConf(n.t, conf), addCalls)
	var res struct {
		Interfaces []struct{ Name, Mac string }
		IPs        []struct {
			Interface        *int
			Address, Gateway string
		}
	}
	if err := json.Unmarshal([]byte(add), &res); err != nil {
		n.t.Fatalf("ADD: %v in %s", err, add)
	}
	if len(res.IPs) != 1 || res.IPs[0].Address != wantIP || res.IPs[0].Gateway != wantGateway {
		n.t.Errorf("ADD: addresses %+v, want %s via %s", res.IPs, wantIP, wantGateway)
	}
	if len(res.Interfaces) != 1 || res.Interfaces[0].Name != "eth0" || res.IPs[0].Interface == nil || *res.IPs[0].Interface != 0 {
		n.t.Errorf("ADD: %+v %+v: the address does not stand under eth0", res.Interfaces, res.IPs)
	}
	n.left(1, 1, scratch)

	conf["prevResult"] = json.RawMessage(add)
	if out := n.must("CHECK", pod, encodeConf(n.t, conf), checkCalls); out != "" {
		n.t.Errorf("CHECK wrote %s", out)
	}
	n.must("DEL", pod, encodeConf(n.t, conf), delCalls)
	n.left(0, 0, 0)
	n.must("DEL", pod, encodeConf(n.t, conf), delAgainCalls)
	n.left(0, 0, 0)
}

func encodeConf(t *testing.T, conf map[string]any) string {
	t.Helper()
	b, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (n *node) hostLocalConf() map[string]any {
	return map[string]any{"type": "host-local", "subnet": "10.244.1.0/24", "dataDir": zPath(filepath.Join(n.dir, "leases"))}
}

func TestWinBridgePlugin(t *testing.T) {
	n := newNode(t, modes.L2Bridge, "cbr0", "win-bridge")
	n.life(map[string]any{
		"cniVersion": "1.0.0", "name": "cbr0", "type": "win-bridge", "apiVersion": 2,
		"ipMasqNetwork": "10.244.0.0/16", "ipam": n.hostLocalConf(), "stateDir": zPath(filepath.Join(n.dir, "run")),
		"dns": map[string]any{"nameservers": []string{"10.96.0.10"}, "search": []string{"svc.cluster.local"}},
		"policies": []any{map[string]any{"name": "EndpointPolicy", "value": map[string]any{
			"Type": "SDNRoute", "Settings": map[string]any{"DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}}}},
	}, "10.244.1.3/24", "10.244.1.2", 0)
}

func TestFlannelPlugin(t *testing.T) {
	for _, tt := range []struct {
		mode              modes.Mode
		network, delegate string
		address, gateway  string
	}{
		{modes.L2Bridge, "cbr0", "win-bridge", "10.244.1.3/24", "10.244.1.2"},
		{modes.Overlay, "flannel.4096", "win-overlay", "10.244.1.2/24", "10.244.1.1"},
	} {
		t.Run(tt.delegate, func(t *testing.T) {
			n := newNode(t, tt.mode, tt.network, "flannel")
			env := filepath.Join(n.dir, "subnet.env")
			err := subnetenv.Write(env, &subnetenv.Env{
				Networks: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
				Subnet:   netip.MustParsePrefix("10.244.1.1/24"), MTU: 1450, IPMasq: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			n.life(map[string]any{
				"cniVersion": "1.0.0", "name": tt.network, "type": "flannel",
				"subnetFile": zPath(env), "dataDir": zPath(filepath.Join(n.dir, "scratch")),
				"ipam":     map[string]any{"dataDir": zPath(filepath.Join(n.dir, "leases"))},
				"delegate": map[string]any{"type": tt.delegate, "apiVersion": 2, "stateDir": zPath(filepath.Join(n.dir, "run"))},
			}, tt.address, tt.gateway, 1)
		})
	}
}

// A network that is missing is an error that names those there are, and takes
// no lease.
func TestPluginWithoutNetwork(t *testing.T) {
	n := newNode(t, modes.L2Bridge, "cbr0", "win-bridge")
	out, status, _ := n.call("ADD", "0badc0de", encodeConf(t, map[string]any{
		"cniVersion": "1.0.0", "name": "vxlan0", "type": "win-bridge",
		"ipam": n.hostLocalConf(), "stateDir": zPath(filepath.Join(n.dir, "run")),
	}))
	var e struct {
		Code int
		Msg  string
	}
	if err := json.Unmarshal([]byte(out), &e); err != nil || status != 1 || e.Code != 11 || !strings.Contains(e.Msg, `"cbr0" (L2Bridge)`) {
		t.Errorf("status %d, %s: %v; want code 11 and the network there is", status, out, err)
	}
	n.left(0, 0, 0)
}
