package flannel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/skel"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/cniplugin/flannel"
)

// subnetEnv is what flanneld writes for the node.
const subnetEnv = "FLANNEL_NETWORK=10.50.0.0/16,10.70.0.0/16\nFLANNEL_SUBNET=10.50.3.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"

// node is a node that flanneld has set up for host-gw: the network cbr0, an
// emulated HNS, and the meta-plugin with win-bridge inside.
type node struct {
	tb     testing.TB
	dir    string
	hns    *emulator.HNS
	client *hns.Client
	books  *books
	bridge *cniplugin.Plugin
	plugin *flannel.Plugin
}

func newNode(tb testing.TB) *node {
	tb.Helper()
	n := &node{tb: tb, dir: tb.TempDir(), hns: emulator.New(nil), books: &books{leases: map[string]netip.Prefix{}}}
	n.client = hns.New(n.hns, nil)
	n.network("cbr0", "10.50.3.0/24")
	n.bridge = &cniplugin.Plugin{Name: "win-bridge", Mode: modes.L2Bridge, IPAM: n.books,
		Open: func(o *hns.Options) (*hns.Client, error) { return hns.New(n.hns, o), nil }}
	n.plugin = &flannel.Plugin{Delegates: []*cniplugin.Plugin{n.bridge}, StateDir: filepath.Join(n.dir, "state")}
	n.write("subnet.env", subnetEnv)
	return n
}

func (n *node) network(name, subnet string) {
	n.tb.Helper()
	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.L2Bridge, Name: name, Subnets: []netip.Prefix{netip.MustParsePrefix(subnet)}})
	if err != nil {
		n.tb.Fatal(err)
	}
	if _, err := n.client.Networks.Create(context.Background(), plan.Network); err != nil {
		n.tb.Fatal(err)
	}
}

func (n *node) write(name, text string) {
	n.tb.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
		n.tb.Fatal(err)
	}
}

// config is flannel's configuration with members, as JSON text, in place of the
// usual ones.
func (n *node) config(members ...string) []byte {
	n.tb.Helper()
	all := map[string]json.RawMessage{}
	for _, m := range append([]string{
		`"cniVersion": "1.0.0", "name": "cbr0", "type": "flannel", "delegate": {"type": "win-bridge"}`,
		`"subnetFile": ` + quote(filepath.Join(n.dir, "subnet.env")), `"dataDir": ` + quote(filepath.Join(n.dir, "scratch")),
	}, members...) {
		if err := json.Unmarshal([]byte("{"+m+"}"), &all); err != nil {
			n.tb.Fatalf("%s: %v", m, err)
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		n.tb.Fatal(err)
	}
	return b
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// pod makes a sandbox and returns what the runtime calls the plugin with.
func (n *node) pod(id string, members ...string) *skel.CmdArgs {
	n.tb.Helper()
	ns, err := n.client.Namespaces.Create(context.Background(), &hns.Namespace{})
	if err != nil {
		n.tb.Fatal(err)
	}
	n.hns.ResetCalls()
	return &skel.CmdArgs{ContainerID: id, Netns: ns.ID.String(), IfName: "eth0", StdinData: n.config(members...)}
}

func (n *node) add(args *skel.CmdArgs) *types100.Result {
	n.tb.Helper()
	res, err := n.plugin.Add(context.Background(), args)
	if err != nil {
		n.tb.Fatal("ADD:", err)
	}
	return res
}

func (n *node) del(args *skel.CmdArgs) {
	n.tb.Helper()
	if err := n.plugin.Del(context.Background(), args); err != nil {
		n.tb.Fatal("DEL:", err)
	}
}

// state is all that is left on the node: endpoints, leases, scratch files, locks.
func (n *node) state() []string {
	n.tb.Helper()
	all, err := n.client.Endpoints.List(context.Background())
	if err != nil {
		n.tb.Fatal(err)
	}
	out := n.books.all()
	for _, e := range all {
		out = append(out, fmt.Sprintf("endpoint %s %v", e.Name, e.Addresses()))
	}
	for _, pattern := range []string{"scratch/*", "scratch/.*", "state/locks/*", "state/flannel/locks/*"} {
		found, err := filepath.Glob(filepath.Join(n.dir, pattern))
		if err != nil {
			n.tb.Fatal(err)
		}
		for _, f := range found {
			out = append(out, "file "+filepath.Base(f))
		}
	}
	sort.Strings(out)
	return out
}

// scratch returns the content of the one scratch file.
func (n *node) scratch() string {
	n.tb.Helper()
	found, err := filepath.Glob(filepath.Join(n.dir, "scratch", "*"))
	if err != nil || len(found) != 1 {
		n.tb.Fatalf("scratch files %v, %v", found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		n.tb.Fatal(err)
	}
	return string(b)
}

func codeOf(err error) uint {
	if err == nil {
		return 0
	}
	return cniplugin.CNIError(err).Code
}

// books is an IPAM that hands out 10.50.3.3 and following.
type books struct {
	mu     sync.Mutex
	leases map[string]netip.Prefix
	fail   error // of the next call
}

func (b *books) call(req ipam.Request, do func(key string) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.fail; err != nil {
		b.fail = nil
		return err
	}
	var conf struct{ Name string }
	if err := json.Unmarshal(req.Config, &conf); err != nil {
		return err
	}
	return do(conf.Name + "/" + req.ContainerID + "/" + req.IfName)
}

func (b *books) Allocate(_ context.Context, req ipam.Request) (lease *ipam.Lease, err error) {
	err = b.call(req, func(key string) error {
		if _, ok := b.leases[key]; ok {
			return fmt.Errorf("%s has a lease already", key)
		}
		a := netip.MustParseAddr("10.50.3.3")
		for i := 0; i < len(b.leases); i++ {
			for _, p := range b.leases {
				if p.Addr() == a {
					a = a.Next()
				}
			}
		}
		b.leases[key] = netip.PrefixFrom(a, 24)
		lease = &ipam.Lease{Addresses: []ipam.Address{{Prefix: b.leases[key]}}}
		return nil
	})
	return lease, err
}

func (b *books) Release(_ context.Context, req ipam.Request) error {
	return b.call(req, func(key string) error { delete(b.leases, key); return nil })
}

func (b *books) Check(_ context.Context, req ipam.Request, _ *ipam.Lease) error {
	return b.call(req, func(key string) error {
		if _, ok := b.leases[key]; !ok {
			return fmt.Errorf("%s has no lease", key)
		}
		return nil
	})
}

func (b *books) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for key, a := range b.leases {
		out = append(out, "lease "+key+" "+a.String())
	}
	return out
}

// fakeExec stands for a delegate that is executed.
type fakeExec struct {
	version.PluginDecoder
	calls   []string // verb, container, interface, namespace, args
	configs []string
	result  string // of ADD
	err     error
}

var _ invoke.Exec = (*fakeExec)(nil)

func (f *fakeExec) FindInPath(plugin string, paths []string) (string, error) {
	if plugin != "sdnbridge" {
		return "", fmt.Errorf("no %s in %v", plugin, paths)
	}
	return "/opt/cni/bin/" + plugin, nil
}

func (f *fakeExec) ExecPlugin(_ context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	env := map[string]string{}
	for _, e := range environ {
		k, v, _ := strings.Cut(e, "=")
		env[k] = v
	}
	f.calls = append(f.calls, strings.Join([]string{filepath.Base(path), env["CNI_COMMAND"], env["CNI_CONTAINERID"], env["CNI_IFNAME"], env["CNI_NETNS"], env["CNI_ARGS"]}, " "))
	f.configs = append(f.configs, string(stdin))
	if f.err != nil {
		return nil, f.err
	}
	if env["CNI_COMMAND"] == "ADD" {
		return []byte(f.result), nil
	}
	return nil, nil
}
