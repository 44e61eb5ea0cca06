package wine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/subnetenv"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// life is what a runtime does with a configuration on a new node.
type life struct {
	name     string
	mode     modes.Mode
	network  string // of HNS
	confName string // the name of the configuration, if it is another
	conf     string
	// makesNetwork: the network is missing until the first pod makes it.
	makesNetwork bool
	// refused: STATUS and ADD are to fail.
	refused bool
	// upstream is what the plugins take for the same pod that people have now.
	upstream cost
}

// step is what a verb answered and left behind, in the golden file.
type step struct {
	Verb     string          `json:"verb"`
	Pod      string          `json:"pod,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Error    *types.Error    `json:"error,omitempty"`
	Left     left            `json:"left"`
	Endpoint json.RawMessage `json:"endpoint,omitempty"` // of the pod, in HNS
}

// left is what there is of pods.
type left struct {
	Endpoints []string `json:"endpoints"`
	Leases    []string `json:"leases"`
	Scratch   int      `json:"scratch"`
}

// run lives the life and returns the text for the golden file, and by step what
// was executed.
func (l life) run(t *testing.T, host *pluginHost) (text string, executions map[string]execution) {
	n := newPluginNode(t, l, host)
	executions = map[string]execution{}
	do := func(what string, verb verb, pod string, fails bool) {
		t.Helper()
		s, e := n.do(what, verb, pod)
		if (s.Error != nil) != fails {
			t.Errorf("%s: error %v, want one: %v", what, s.Error, fails)
		}
		n.steps, executions[what] = append(n.steps, s), e
	}
	do("STATUS", n.status, "", l.refused)
	do("first ADD", n.add("pod-1"), "pod-1", l.refused)
	if !l.refused {
		do("CHECK", n.check("pod-1"), "pod-1", false)
		do("ADD again", n.add("pod-1"), "pod-1", false)
		do("ADD", n.add("pod-2"), "pod-2", false)
		do("GC of pod-2", n.gc("pod-1"), "", false)
		do("CHECK after GC", n.check("pod-2"), "pod-2", true)
	}
	do("DEL", n.del("pod-1"), "pod-1", false)
	do("DEL again", n.del("pod-1"), "pod-1", false)
	n.nothingLeft()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(n.steps); err != nil {
		t.Fatal(err)
	}
	return out.String(), executions
}

// pluginNode is an emulated Windows node in a state file. Linux and Wine do not
// see each other's locks, so the test looks at it only while no program runs.
type pluginNode struct {
	*runner
	dir        string
	lib        *libcni.CNIConfig
	list       *libcni.NetworkConfigList
	namespaces map[string]string // of pods
	steps      []step
}

func newPluginNode(t *testing.T, l life, host *pluginHost) *pluginNode {
	t.Helper()
	n := &pluginNode{dir: t.TempDir(), namespaces: map[string]string{}}
	n.runner = &runner{t: t, host: host, state: filepath.Join(n.dir, "hns.json"), log: filepath.Join(n.dir, "calls.jsonl")}
	n.lib = libcni.NewCNIConfigWithCacheDir(host.dirs, filepath.Join(n.dir, "cache"), n.runner)
	h, err := emulator.Open(n.state, &emulator.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, ctx := hns.New(h, nil), t.Context()
	subnet := netip.MustParsePrefix("10.244.1.0/24")
	if !l.makesNetwork {
		makeNetwork(ctx, t, c, modes.NetworkIntent{Mode: l.mode, Name: l.network, Subnets: []netip.Prefix{subnet}, Adapter: "Ethernet"})
	}
	for _, pod := range []string{"pod-1", "pod-2"} {
		ns, err := c.Namespaces.Create(ctx, &hns.Namespace{})
		if err != nil {
			t.Fatal(err)
		}
		n.namespaces[pod] = ns.ID.String()
	}
	err = subnetenv.Write(filepath.Join(n.dir, "subnet.env"), &subnetenv.Env{Networks: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		Subnet: netip.PrefixFrom(subnet.Addr().Next(), subnet.Bits()), MTU: 1450, IPMasq: true})
	if err != nil {
		t.Fatal(err)
	}
	name := l.confName
	if name == "" {
		name = l.network
	}
	n.list = n.parse(name, l.conf)
	return n
}

// makeNetwork does what flanneld does before the first pod.
func makeNetwork(ctx context.Context, t *testing.T, c *hns.Client, in modes.NetworkIntent) {
	t.Helper()
	plan, err := modes.PlanNetwork(in)
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Networks.Create(ctx, plan.Network)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.AddPolicies) > 0 {
		if err := c.Networks.AddPolicies(ctx, made.ID, plan.AddPolicies...); err != nil {
			t.Fatal(err)
		}
	}
	if in.Mode != modes.L2Bridge {
		return
	}
	host, err := modes.PlanHostEndpoint(made)
	if err == nil {
		host, err = c.Endpoints.Create(ctx, host)
	}
	if err == nil {
		err = c.Endpoints.AttachHost(ctx, host.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// parse makes a list of one plugin's configuration.
func (n *pluginNode) parse(name, plugin string) *libcni.NetworkConfigList {
	n.t.Helper()
	var fill []string
	for variable, base := range map[string]string{"$LEASES": "leases", "$STATE": "run", "$SCRATCH": "scratch", "$ENV": "subnet.env"} {
		quoted, err := json.Marshal(n.host.path(filepath.Join(n.dir, base)))
		if err != nil {
			n.t.Fatal(err)
		}
		fill = append(fill, variable, string(quoted))
	}
	plugin = strings.NewReplacer(fill...).Replace(plugin)
	list, err := libcni.NetworkConfFromBytes([]byte(`{"cniVersion": "1.1.0", "name": "` + name + `", "plugins": [` + plugin + `]}`))
	if err != nil {
		n.t.Fatal(err)
	}
	return list
}

// podConf is what the runtime says of a pod.
func (n *pluginNode) podConf(pod string) *libcni.RuntimeConf {
	return &libcni.RuntimeConf{ContainerID: pod, NetNS: n.namespaces[pod], IfName: "eth0", CapabilityArgs: map[string]any{
		"portMappings": []any{map[string]any{"hostPort": 8000 + int(pod[len(pod)-1]-'0'), "containerPort": 80, "protocol": "tcp"}},
		"dns":          map[string]any{"servers": []string{"10.96.0.10"}, "searches": []string{"default.svc.cluster.local"}},
	}}
}

type verb = func(context.Context) (types.Result, error)

func (n *pluginNode) status(ctx context.Context) (types.Result, error) {
	return nil, n.lib.GetStatusNetworkList(ctx, n.list)
}

func (n *pluginNode) add(pod string) verb {
	return func(ctx context.Context) (types.Result, error) {
		return n.lib.AddNetworkList(ctx, n.list, n.podConf(pod))
	}
}

func (n *pluginNode) check(pod string) verb {
	return func(ctx context.Context) (types.Result, error) {
		return nil, n.lib.CheckNetworkList(ctx, n.list, n.podConf(pod))
	}
}

func (n *pluginNode) del(pod string) verb {
	return func(ctx context.Context) (types.Result, error) {
		return nil, n.lib.DelNetworkList(ctx, n.list, n.podConf(pod))
	}
}

// gc is a GC by a runtime that has lost its cache, so that libcni does not send the
// plugin a DEL of what is not valid.
func (n *pluginNode) gc(valid string) verb {
	return func(ctx context.Context) (types.Result, error) {
		forgetful := libcni.NewCNIConfigWithCacheDir(n.host.dirs, filepath.Join(n.dir, "no-cache"), n.runner)
		return nil, forgetful.GCNetworkList(ctx, n.list, &libcni.GCArgs{ValidAttachments: []types.GCAttachment{{ContainerID: valid, IfName: "eth0"}}})
	}
}

// do has libcni run one verb.
func (n *pluginNode) do(what string, run verb, pod string) (step, execution) {
	n.t.Helper()
	s := step{Verb: what, Pod: pod}
	n.executions = nil
	res, err := run(n.t.Context())
	if err != nil && !errors.As(err, &s.Error) {
		n.t.Fatalf("%s: %v", what, err)
	}
	if s.Error != nil {
		s.Error.Msg, s.Error.Details = n.anywhere(s.Error.Msg), n.anywhere(s.Error.Details)
	}
	if res != nil {
		if s.Result, err = json.Marshal(res); err != nil {
			n.t.Fatal(err)
		}
	}
	if len(n.executions) != 1 {
		n.t.Fatalf("%s: libcni started %d plugins, want 1", what, len(n.executions))
	}
	c := n.client()
	s.Left = n.look(c)
	if res != nil {
		e, err := c.Endpoints.ByName(n.t.Context(), pod+"_"+n.list.Name)
		if err != nil {
			n.t.Fatal(err)
		}
		s.Endpoint = e.Document.Raw
	}
	return s, n.executions[0]
}

// anywhere is an error's text without what the system has in it: the node's
// directory, and how the system says that a file is not there.
func (n *pluginNode) anywhere(text string) string {
	dir := n.host.path(n.dir)
	if at := strings.Index(text, dir); at >= 0 {
		text = text[:at] + "<dir>" + strings.ReplaceAll(text[at+len(dir):], `\`, "/")
	}
	return strings.NewReplacer("File not found.", "<no such file>", syscall.ENOENT.Error(), "<no such file>").Replace(text)
}

// client is for looking at the node.
func (n *pluginNode) client() *hns.Client {
	n.t.Helper()
	h, err := emulator.Open(n.state, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	return hns.New(h, nil)
}

func (n *pluginNode) look(c *hns.Client) left {
	n.t.Helper()
	l := left{Endpoints: []string{}, Leases: []string{}}
	eps, err := c.Endpoints.List(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	for _, e := range eps {
		if strings.HasPrefix(e.Name, "pod-") {
			l.Endpoints = append(l.Endpoints, e.Name)
		}
	}
	leases, err := ipam.Leases(filepath.Join(n.dir, "leases"), n.list.Name)
	if err != nil {
		n.t.Fatal(err)
	}
	for _, lease := range leases {
		l.Leases = append(l.Leases, lease.Address.String()+" "+lease.ContainerID)
	}
	files, err := delegate.Scratch{Dir: filepath.Join(n.dir, "scratch")}.List()
	if err != nil {
		n.t.Fatal(err)
	}
	l.Scratch = len(files)
	return l
}

// nothingLeft fails if a pod has an endpoint, a lease or a file, or a namespace
// an endpoint.
func (n *pluginNode) nothingLeft() {
	n.t.Helper()
	c := n.client()
	if l := n.look(c); len(l.Endpoints)+len(l.Leases)+l.Scratch > 0 {
		n.t.Errorf("left behind: %+v", l)
	}
	spaces, err := c.Namespaces.List(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	for _, ns := range spaces {
		if len(ns.Endpoints()) > 0 {
			n.t.Errorf("namespace %s has endpoints %v", ns.ID, ns.Endpoints())
		}
	}
	for _, dir := range []string{"run", "scratch"} {
		err := filepath.WalkDir(filepath.Join(n.dir, dir), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // no plugin of this life needs it
			}
			if err == nil && !d.IsDir() {
				n.t.Errorf("left behind: %s", path)
			}
			return err
		})
		if err != nil {
			n.t.Fatal(err)
		}
	}
}
