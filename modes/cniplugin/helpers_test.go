package cniplugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// node is a node with one network, an emulated HNS, an IPAM whose books can be
// looked into, and a plugin.
type node struct {
	tb      testing.TB
	hns     *emulator.HNS
	client  *hns.Client
	ipam    *fakeIPAM
	plugin  *cniplugin.Plugin
	network *hns.Network
	dir     string
}

// newBridge makes a node with the L2Bridge network "lake", 10.50.3.0/24.
func newBridge(tb testing.TB, opts *emulator.Options) *node {
	return newNode(tb, opts, "win-bridge", modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24")})
}

// newOverlay makes a node with the Overlay network "fjord", 10.60.4.0/24.
func newOverlay(tb testing.TB, opts *emulator.Options) *node {
	return newNode(tb, opts, "win-overlay", modes.NetworkIntent{Mode: modes.Overlay, Name: "fjord", Subnets: prefixes("10.60.4.0/24")})
}

func newNode(tb testing.TB, opts *emulator.Options, plugin string, in modes.NetworkIntent) *node {
	tb.Helper()
	n := &node{tb: tb, hns: emulator.New(opts), dir: tb.TempDir()}
	n.client = hns.New(n.hns, nil)
	plan, err := modes.PlanNetwork(in)
	if err != nil {
		tb.Fatal(err)
	}
	if n.network, err = n.client.Networks.Create(context.Background(), plan.Network); err != nil {
		tb.Fatal(err)
	}
	n.ipam = newFakeIPAM(in.Subnets...)
	n.plugin = &cniplugin.Plugin{
		Name: plugin, Mode: in.Mode, IPAM: n.ipam, StateDir: filepath.Join(n.dir, "state"),
		Open: func(o *hns.Options) (*hns.Client, error) { return hns.New(n.hns, o), nil },
	}
	n.hns.ResetCalls()
	return n
}

// config is a configuration for the node's network, with members as JSON text.
func (n *node) config(members ...string) []byte {
	return config(append([]string{
		`"name": "` + n.network.Name + `"`, `"type": "` + n.plugin.Name + `"`, `"ipam": {"type": "fake"}`,
	}, members...)...)
}

// config joins members, as JSON text, into a configuration of version 1.0.0. Of
// two members of one name the later counts.
func config(members ...string) []byte {
	all := map[string]json.RawMessage{"cniVersion": json.RawMessage(`"1.0.0"`)}
	for _, m := range members {
		if err := json.Unmarshal([]byte("{"+m+"}"), &all); err != nil {
			panic(fmt.Sprintf("%s: %v", m, err))
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, fmt.Sprintf("%q: %s", name, all[name])) // values as they stand
	}
	return []byte("{" + strings.Join(out, ", ") + "}")
}

// pod is one sandbox with its namespace.
type pod struct {
	*node
	id        string
	namespace hns.ID
}

// pod makes a sandbox as the runtime does: with a namespace.
func (n *node) pod(id string) *pod {
	n.tb.Helper()
	ns, err := n.client.Namespaces.Create(context.Background(), &hns.Namespace{})
	if err != nil {
		n.tb.Fatal(err)
	}
	n.hns.ResetCalls()
	return &pod{node: n, id: id, namespace: ns.ID}
}

// args are what the runtime calls the plugin with, for eth0.
func (p *pod) args(conf []byte) *skel.CmdArgs {
	return &skel.CmdArgs{ContainerID: p.id, Netns: p.namespace.String(), IfName: "eth0", StdinData: conf}
}

func (p *pod) add(members ...string) (*types100.Result, error) {
	return p.addUntil(context.Background(), members...)
}

func (p *pod) addUntil(ctx context.Context, members ...string) (*types100.Result, error) {
	return p.plugin.Add(ctx, p.args(p.config(members...)))
}

func (p *pod) mustAdd(members ...string) *types100.Result {
	p.tb.Helper()
	res, err := p.add(members...)
	if err != nil {
		p.tb.Fatal("ADD:", err)
	}
	return res
}

func (p *pod) del(members ...string) error {
	return p.delUntil(context.Background(), members...)
}

func (p *pod) delUntil(ctx context.Context, members ...string) error {
	return p.plugin.Del(ctx, p.args(p.config(members...)))
}

func (p *pod) mustDel(members ...string) {
	p.tb.Helper()
	if err := p.del(members...); err != nil {
		p.tb.Fatal("DEL:", err)
	}
}

// check is CHECK with the result of ADD as prevResult.
func (p *pod) check(res *types100.Result, members ...string) error {
	p.tb.Helper()
	prev, err := json.Marshal(res)
	if err != nil {
		p.tb.Fatal(err)
	}
	// As libcni does, in the version of the configuration.
	prev = []byte(strings.Replace(string(prev), types100.ImplementedSpecVersion, "1.0.0", 1))
	return p.plugin.Check(context.Background(), p.args(p.config(append(members, `"prevResult": `+string(prev))...)))
}

// endpoint returns the pod's endpoint.
func (p *pod) endpoint() *hns.Endpoint {
	p.tb.Helper()
	e, err := p.client.Endpoints.ByName(context.Background(), p.id+"_"+p.network.Name)
	if err != nil {
		p.tb.Fatal(err)
	}
	return e
}

// state is all that a test compares: the names of the endpoints with address and
// whether they are in a namespace, and the books of IPAM.
func (n *node) state() []string {
	n.tb.Helper()
	all, err := n.client.Endpoints.List(context.Background())
	if err != nil {
		n.tb.Fatal(err)
	}
	var out []string
	for _, e := range all {
		where := "attached"
		if e.Namespace.IsZero() {
			where = "alone"
		}
		out = append(out, fmt.Sprintf("endpoint %s %v %s", e.Name, e.Addresses(), where))
	}
	out = append(out, n.ipam.leases()...)
	sort.Strings(out)
	return out
}

// calls returns what HNS was asked since the last reset, such as "list endpoint".
func (n *node) calls() []string {
	var out []string
	for _, c := range n.hns.Calls() {
		out = append(out, c.Verb.String()+" "+c.Kind.String())
	}
	return out
}

// lockFiles returns what is in the directory of the locks.
func (n *node) lockFiles() []string {
	found, err := filepath.Glob(filepath.Join(n.plugin.StateDir, "locks", "*"))
	if err != nil {
		n.tb.Fatal(err)
	}
	return found
}

// noteFiles returns what notes of interfaces there are, with what a killed plugin
// left of them.
func (n *node) noteFiles() []string {
	var out []string
	for _, pattern := range []string{"*", ".*"} {
		found, err := filepath.Glob(filepath.Join(n.plugin.StateDir, "interfaces", "*", pattern))
		if err != nil {
			n.tb.Fatal(err)
		}
		for _, f := range found {
			out = append(out, filepath.Base(f))
		}
	}
	return out
}

// editNotes changes the text of each note.
func (n *node) editNotes(edit func(string) string) {
	n.tb.Helper()
	found, err := filepath.Glob(filepath.Join(n.plugin.StateDir, "interfaces", "*", "*.json"))
	if err != nil {
		n.tb.Fatal(err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(edit(string(text))), 0o600)
		}
		if err != nil {
			n.tb.Fatal(err)
		}
	}
}

// notesWithoutIPAM makes the notes those of versions that did not note IPAM.
func (n *node) notesWithoutIPAM() {
	ofIPAM := regexp.MustCompile(`,"ipam":.*`)
	n.editNotes(func(text string) string { return ofIPAM.ReplaceAllString(text, "}") })
}

// codeOf returns the code that the runtime sees.
func codeOf(err error) uint {
	if err == nil {
		return 0
	}
	return cniplugin.CNIError(err).Code
}

// paths returns the paths of all *hns.FieldErrors, in order.
func paths(err error) []string {
	var out []string
	for _, f := range hns.FieldErrors(err) {
		out = append(out, f.Path)
	}
	return out
}

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// hang returns a channel that blocks until the test is over.
func hang(tb testing.TB) chan struct{} {
	c := make(chan struct{})
	tb.Cleanup(func() { close(c) })
	return c
}

// soon is a deadline for a verb that must come to it, however slow the machine.
const soon = `"timeout": "1s"`

// deadline returns a context whose deadline comes when pass is called: no test
// waits for a clock.
func deadline() (ctx context.Context, pass func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	return ctx, func() { cancel(context.DeadlineExceeded) }
}

// hangs makes the call hang, and the deadline pass then, until remove is called.
func (n *node) hangs(c call, after bool) (ctx context.Context, remove func()) {
	ctx, pass := deadline()
	first := n.hns.Inject(emulator.Fault{Verb: c.verb, Kind: c.kind, After: after, Exit: pass})
	second := n.hns.Inject(emulator.Fault{Verb: c.verb, Kind: c.kind, After: after, Hang: hang(n.tb)})
	return ctx, func() { first(); second() }
}

// quickly fails the test if f has not come back within a minute: it must not
// depend on the call that hangs.
func quickly(tb testing.TB, f func()) {
	tb.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		tb.Fatal("does not come back")
	}
}

var errBroken = errors.New("the address store is broken")
