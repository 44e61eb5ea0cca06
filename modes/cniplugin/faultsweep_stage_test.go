package cniplugin_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/toolbuild"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/cniplugin/internal/judge"
)

// Who gives addresses: the real host-local, an IPAM of the plugin's author, HNS.
const (
	byHostLocal = "host-local"
	byOwnIPAM   = "own IPAM"
	byHNS       = "HNS"
)

// The pod that a sweep is about. With "_" in the sandbox's name DEL has to ask HNS
// for the network, too.
const (
	sandbox  = "sbx_01"
	brook    = "brook" // a second network
	ethernet = "eth0"
)

// sweepNode is the HNS of a sweep, with an adapter for each network.
var sweepNode = &emulator.Options{Adapters: []emulator.Adapter{
	{Name: "Ethernet", Addresses: prefixes("192.0.2.10/24")}, {Name: "Ethernet 2", Addresses: prefixes("198.51.100.10/24")},
}}

// stage is a node as it is before a scenario: others have pods and endpoints on
// it, and for DEL the pod has its ADD behind it.
type stage struct {
	mode         modes.Mode
	pluginName   string
	source       string
	network      *hns.Network
	podNamespace hns.ID
	subnets      map[string]netip.Prefix
	tools        string   // directory of host-local
	members      []string // of configurations, as JSON text
	// before holds the state before each verb, by verb.
	before map[string]saved
	// clean is what DEL must leave.
	clean *judge.Scene
}

// saved is a state of HNS with the files of leases and notes.
type saved struct {
	hns *hns.Snapshot
	dir string
	was string // where the files were, as the notes have it
}

// newStage makes the node. Others on it are a pod on the same network, the
// sandbox's own interface on a second network, and an endpoint that no plugin made.
func newStage(t *testing.T, mode modes.Mode, source string) *stage {
	t.Helper()
	n := newMode(t, mode, sweepNode)
	st := &stage{mode: n.plugin.Mode, pluginName: n.plugin.Name, source: source, network: n.network, before: map[string]saved{},
		subnets: map[string]netip.Prefix{n.network.Name: n.network.Subnets()[0].Prefix, brook: prefixes("10.51.7.0/24")[0]}}
	if source == byHostLocal {
		tool, err := toolbuild.HostLocal(t.Context())
		must(t, err)
		st.tools = filepath.Dir(tool)
	}
	in := modes.NetworkIntent{Mode: st.mode, Name: brook, Subnets: []netip.Prefix{st.subnets[brook]}}
	if mode == modes.Transparent { // which shares its adapter with no other
		in.Adapter = sweepNode.Adapters[1].Name
	}
	plan, err := modes.PlanNetwork(in)
	must(t, err)
	_, err = n.client.Networks.Create(t.Context(), plan.Network)
	must(t, err)
	_, err = n.client.Endpoints.Create(t.Context(), &hns.Endpoint{Name: sandbox + "_" + n.network.Name + "_of_somebody", Network: n.network.ID,
		IPConfigs: []hns.IPConfig{{Address: lastOf(st.subnets[n.network.Name])}}})
	must(t, err)

	a := &actor{pod: n.pod(sandbox), stage: st, path: cmp.Or(st.tools, n.dir)}
	a.wire()
	st.podNamespace = a.namespace
	other := *a
	other.pod = n.pod(stranger)
	for _, args := range []*skel.CmdArgs{other.args(n.network.Name), a.args(brook)} {
		_, err := n.plugin.Add(t.Context(), args)
		must(t, err)
	}
	st.clean = a.look()
	st.before["ADD"] = a.save()
	must(t, a.verb(t.Context(), "ADD"))
	st.before["DEL"] = a.save()
	return st
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// lastOf is an address near the end of an IPv4 /24.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	b[3] = 250
	return netip.AddrFrom4(b)
}

// actor is the pod, on a node of its own in each scenario.
type actor struct {
	*pod
	*stage
	own     *folderIPAM // nil if not byOwnIPAM
	path    string      // CNI_PATH
	store   string      // the state file; empty in memory
	late    chan hns.LateResult
	recover func() // starts an HNS that was stopped; nil if it was not
	asked   []int  // for each call of the author's IPAM, how many of HNS there were before
}

// wire gives the plugin its IPAM.
func (a *actor) wire() {
	a.plugin.IPAM = nil
	if a.source == byOwnIPAM {
		a.own = &folderIPAM{Dir: a.leaseDir(), Subnets: a.subnets}
		a.plugin.IPAM = a.own
	}
	a.late = make(chan hns.LateResult, 16)
	a.plugin.Open = func(o *hns.Options) (*hns.Client, error) {
		o.OnLate = func(r hns.LateResult) { a.late <- r }
		return hns.New(a.hns, o), nil
	}
}

func (a *actor) leaseDir() string { return filepath.Join(a.dir, "leases") }

// args are those of one network; loopback DSR makes ADD ask for all that it can
// ask for.
func (a *actor) args(network string, members ...string) *skel.CmdArgs {
	ipamConf := map[string]any{"type": "own"}
	switch a.source {
	case byHNS:
		ipamConf = nil
	case byHostLocal:
		ipamConf = map[string]any{"type": "host-local", "subnet": a.subnets[network], "dataDir": a.leaseDir()}
	}
	text, err := json.Marshal(ipamConf)
	must(a.tb, err)
	args := a.pod.args(a.config(append([]string{`"name": "` + network + `"`, `"ipam": ` + string(text), `"loopbackDSR": true`}, append(members, a.members...)...)...))
	args.Path = a.path
	return args
}

// verb runs ADD or DEL in this process.
func (a *actor) verb(ctx context.Context, verb string) (err error) {
	args := a.args(a.network.Name)
	quickly(a.tb, func() {
		if verb == "DEL" {
			err = a.plugin.Del(ctx, args)
			return
		}
		_, err = a.plugin.Add(ctx, args)
	})
	return err
}

// gc is what an agent does when it is told of all pods but this one.
func (a *actor) gc(ctx context.Context) error {
	args := a.args(a.network.Name, `"cni.dev/valid-attachments": [{"containerID": "`+stranger+`", "ifname": "`+ethernet+`"}]`)
	args.ContainerID, args.Netns, args.IfName = "", "", ""
	return a.plugin.GC(ctx, args)
}

// look lets the judge see the node.
func (a *actor) look() *judge.Scene {
	a.tb.Helper()
	p := judge.Place{State: a.plugin.StateDir}
	if a.source != byHNS {
		p.Leases = a.leaseDir()
	}
	if a.store != "" {
		text, err := os.ReadFile(a.store)
		must(a.tb, err)
		p.Store = text
	} else {
		s, err := a.hns.Snapshot()
		must(a.tb, err)
		p.Store, err = s.Bytes()
		must(a.tb, err)
	}
	scene, err := judge.Look(p)
	must(a.tb, err)
	for path, text := range scene.Files { // notes name directories, and each node has its own
		scene.Files[path] = strings.ReplaceAll(text, inJSON(a.tb, a.dir), "$dir")
	}
	return scene
}

func (a *actor) save() saved {
	a.tb.Helper()
	s, err := a.hns.Snapshot()
	must(a.tb, err)
	dir := a.tb.TempDir()
	must(a.tb, os.CopyFS(dir, os.DirFS(a.dir)))
	return saved{s, dir, a.dir}
}

// enter sets the stage for a verb: the same node in another directory, in memory
// or in a file.
func (st *stage) enter(t *testing.T, verb string, inFile bool) *actor {
	t.Helper()
	from := st.before[verb]
	n := &node{tb: t, network: st.network, dir: t.TempDir()}
	must(t, os.CopyFS(n.dir, os.DirFS(from.dir)))
	n.plugin = &cniplugin.Plugin{Name: st.pluginName, Mode: st.mode, StateDir: filepath.Join(n.dir, "state")}
	n.moveNotes(from.was)
	a := &actor{pod: &pod{n, sandbox, st.podNamespace}, stage: st, path: cmp.Or(st.tools, n.dir)}
	if inFile {
		a.store = filepath.Join(n.dir, "hns.json")
		var err error
		n.hns, err = emulator.Open(a.store, sweepNode)
		must(t, err)
	} else {
		n.hns = emulator.New(sweepNode)
	}
	must(t, n.hns.Load(from.hns))
	n.client = hns.New(n.hns, nil)
	a.wire()
	return a
}

// moveNotes writes into the notes where the files are now.
func (n *node) moveNotes(was string) {
	n.tb.Helper()
	n.editNotes(func(text string) string {
		return strings.ReplaceAll(text, inJSON(n.tb, was), inJSON(n.tb, n.dir))
	})
}

// inJSON is a path as it stands in a text of JSON.
func inJSON(tb testing.TB, path string) string {
	tb.Helper()
	b, err := json.Marshal(path)
	must(tb, err)
	return strings.Trim(string(b), `"`)
}

// calls returns what HNS and IPAM were asked.
func (a *actor) calls() (out []victim) {
	a.tb.Helper()
	for i, c := range a.hns.Calls() {
		out = append(out, victim{Nth: i + 1, Name: c.Verb.String() + " " + c.Kind.String(), place: 2 * i})
	}
	switch a.source {
	case byOwnIPAM:
		for i, verb := range a.own.calls {
			out = append(out, victim{IPAM: true, Nth: i + 1, Name: verb, place: 2*a.asked[i] - 1})
		}
	case byHostLocal:
		for i, verb := range shimCalls(a.tb, a.path) {
			out = append(out, victim{IPAM: true, Nth: i + 1, Name: verb})
		}
	}
	return out
}
