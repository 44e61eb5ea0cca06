package flannel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/internal/toolbuild"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/cniplugin/flannel"
)

const dropinDir = "testdata/dropin"

// dropinNetworks are what is on the node before the first pod: what flanneld and
// Docker have made.
var dropinNetworks = []modes.NetworkIntent{
	{Mode: modes.L2Bridge, Name: "lake", Subnets: subnets("10.50.3.0/24"), Adapter: "Ethernet"},
	{Mode: modes.L2Bridge, Name: "dual", Subnets: subnets("10.50.5.0/24", "fd00:50:5::/64"), Adapter: "Ethernet"},
	{Mode: modes.L2Tunnel, Name: "tube", Subnets: subnets("10.240.0.0/24"), Adapter: "Ethernet"},
	{Mode: modes.Overlay, Name: "fjord", Subnets: subnets("10.60.4.0/24"), Adapter: "Ethernet"},
	{Mode: modes.Transparent, Name: "glass", Subnets: subnets("10.70.5.0/24"), Gateways: []netip.Addr{netip.MustParseAddr("10.70.5.254")}, Adapter: "Ethernet 2"},
	{Mode: modes.NAT, Name: "nat", Subnets: subnets("172.30.0.0/20")},
}

// dropinAdapters: a Transparent network wants one to itself.
var dropinAdapters = []emulator.Adapter{
	{Name: "Ethernet", Addresses: subnets("192.0.2.10/24")},
	{Name: "Ethernet 2", Addresses: subnets("198.51.100.10/24")},
	{Name: "Ethernet 3", Addresses: subnets("203.0.113.10/24")},
}

func subnets(texts ...string) (out []netip.Prefix) {
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// dropinSent is one call of HNS as the golden files show it.
type dropinSent struct {
	Call     string          `json:"call"`
	Document json.RawMessage `json:"document,omitempty"`
}

// dropinAnswer is what an ADD sent to HNS, and what came back.
type dropinAnswer struct {
	Sent   []dropinSent    `json:"sent"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// TestDropIn runs configurations in the forms that are about, with the real
// host-local; README.md in testdata/dropin says what differs from what their own
// plugins do, and why. What is accepted is also checked, and deleted without a
// trace.
func TestDropIn(t *testing.T) {
	golden.Update(t)
	tool, err := toolbuild.HostLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, pattern := range []string{"*.conf", "*.conflist"} {
		files, err := filepath.Glob(filepath.Join(dropinDir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d files of %s, %v", len(files), pattern, err)
		}
		for _, f := range files {
			file := f + ".golden.json"
			known[file] = true
			t.Run(filepath.Base(f), func(t *testing.T) {
				d := newDropin(t, filepath.Dir(tool))
				data, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				enc := json.NewEncoder(&got)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				if err := enc.Encode(d.run(t, data)); err != nil {
					t.Fatal(err)
				}
				golden.File(t, file, got.String())
			})
		}
	}
	files, err := filepath.Glob(filepath.Join(dropinDir, "*.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f] {
			t.Errorf("%s: of no configuration", f)
		}
	}
}

// dropin is a node with plugins under the names that configurations call them by.
type dropin struct {
	dir, plugins string
	hns          *emulator.HNS
	client       *hns.Client
	verbs        map[string]cniplugin.Verbs
	names        *strings.Replacer
}

func newDropin(t *testing.T, plugins string) *dropin {
	t.Helper()
	d := &dropin{dir: t.TempDir(), plugins: plugins, hns: emulator.New(&emulator.Options{Seed: 1, Adapters: dropinAdapters}), verbs: map[string]cniplugin.Verbs{}}
	d.client = hns.New(d.hns, nil)
	for _, in := range dropinNetworks {
		plan, err := modes.PlanNetwork(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.client.Networks.Create(context.Background(), plan.Network); err != nil {
			t.Fatalf("%s: %v", in.Name, err)
		}
	}
	open := func(o *hns.Options) (*hns.Client, error) { return hns.New(d.hns, o), nil }
	state := filepath.Join(d.dir, "state")
	meta := &flannel.Plugin{StateDir: state}
	for name, m := range map[string]modes.Mode{"win-bridge": modes.L2Bridge, "win-overlay": modes.Overlay, "sdnbridge": modes.L2Bridge,
		"sdnoverlay": modes.Overlay, "nat": modes.NAT, "l2tunnel": modes.L2Tunnel, "transparent": modes.Transparent} {
		p := &cniplugin.Plugin{Name: name, Mode: m, Open: open, StateDir: state}
		d.verbs[name] = p.Verbs()
		meta.Delegates = append(meta.Delegates, p)
	}
	d.verbs["flannel"] = meta.Verbs()
	return d
}

// run is ADD with the configuration, and where that goes well CHECK and DEL.
func (d *dropin) run(t *testing.T, file []byte) dropinAnswer {
	t.Helper()
	ns, err := d.client.Namespaces.Create(context.Background(), &hns.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	conf, typ, v := d.conf(t, file)
	args := &skel.CmdArgs{ContainerID: "sbx-01", Netns: ns.ID.String(), IfName: "eth0", Path: d.plugins, StdinData: conf}
	verbs := d.verbs[typ]
	d.hns.ResetCalls()
	res, err := verbs.Add(context.Background(), args)
	var a dropinAnswer
	d.names = strings.NewReplacer(ns.ID.String(), "<namespace>", d.dir, "<dir>", d.plugins, "<plugins>")
	if err != nil {
		a.Sent = d.sent(t)
		a.Error = d.text(t, cniplugin.CNIError(err))
		d.nothingLeft(t)
		return a
	}
	a.Sent = d.sent(t)
	converted, err := res.GetAsVersion(v)
	if err != nil {
		t.Fatal(err)
	}
	a.Result = d.text(t, converted)
	d.checkAndDelete(t, verbs, args, res)
	return a
}

func (d *dropin) checkAndDelete(t *testing.T, verbs cniplugin.Verbs, args *skel.CmdArgs, res *types100.Result) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(args.StdinData, &members); err != nil {
		t.Fatal(err)
	}
	prev, err := res.GetAsVersion("1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	withPrev := *args
	if members["prevResult"], err = json.Marshal(prev); err != nil {
		t.Fatal(err)
	}
	members["cniVersion"] = json.RawMessage(`"1.0.0"`)
	if withPrev.StdinData, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	if err := verbs.Check(context.Background(), &withPrev); err != nil {
		t.Error("CHECK:", err)
	}
	for range 2 {
		if err := verbs.Del(context.Background(), args); err != nil {
			t.Error("DEL:", err)
		}
	}
	d.nothingLeft(t)
}

// nothingLeft looks for endpoints, leases and files of the pod.
func (d *dropin) nothingLeft(t *testing.T) {
	t.Helper()
	all, err := d.client.Endpoints.List(context.Background())
	if err != nil || len(all) > 0 {
		t.Errorf("left %d endpoints, %v", len(all), err)
	}
	for _, pattern := range []string{"leases/*/*.*.*.*", "leases/*/*:*", "scratch/*", "state/*/*.lock", "state/*/*/*"} {
		if files, err := filepath.Glob(filepath.Join(d.dir, pattern)); err != nil || len(files) > 0 {
			for _, f := range files {
				if !strings.Contains(f, "last_reserved_ip") {
					t.Errorf("left %s, %v", f, err)
				}
			}
		}
	}
}

// conf is what the runtime passes to the plugin, with the node's directories put
// in, and the plugin's name and version of CNI.
func (d *dropin) conf(t *testing.T, file []byte) (conf []byte, typ, v string) {
	t.Helper()
	var members map[string]json.RawMessage
	if json.Unmarshal(file, &members) != nil {
		return file, "flannel", "0.2.0" // for the plugin to complain of
	}
	if list, ok := members["plugins"]; ok {
		var plugins []map[string]json.RawMessage
		if err := json.Unmarshal(list, &plugins); err != nil {
			t.Fatal(err)
		}
		plugins[0]["name"], plugins[0]["cniVersion"] = members["name"], members["cniVersion"]
		members = plugins[0]
	}
	text := func(o map[string]json.RawMessage, name string) (s string) {
		_ = json.Unmarshal(o[name], &s) // "" if there is none
		return s
	}
	var ipam map[string]json.RawMessage
	if raw, ok := members["ipam"]; ok {
		if err := json.Unmarshal(raw, &ipam); err != nil {
			t.Fatal(err)
		}
	}
	typ, v = text(members, "type"), text(members, "cniVersion")
	if v == "" {
		v = "0.1.0"
	}
	if typ == "flannel" {
		fixed := map[string]string{"lake": "10.50.0.0/16 10.50.3.1/24", "fjord": "10.60.0.0/16 10.60.4.1/24"}[text(members, "name")]
		network, subnet, _ := strings.Cut(fixed, " ")
		env := "FLANNEL_NETWORK=" + network + "\nFLANNEL_SUBNET=" + subnet + "\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"
		if err := os.WriteFile(filepath.Join(d.dir, "subnet.env"), []byte(env), 0o600); err != nil {
			t.Fatal(err)
		}
		members["subnetFile"] = json.RawMessage(quote(filepath.Join(d.dir, "subnet.env")))
		members["dataDir"] = json.RawMessage(quote(filepath.Join(d.dir, "scratch")))
		ipam = map[string]json.RawMessage{"dataDir": json.RawMessage(quote(filepath.Join(d.dir, "leases")))}
	} else if text(ipam, "type") == "host-local" {
		ipam["dataDir"] = json.RawMessage(quote(filepath.Join(d.dir, "leases")))
	}
	var err error
	if ipam != nil {
		if members["ipam"], err = json.Marshal(ipam); err != nil {
			t.Fatal(err)
		}
	}
	if conf, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	return conf, typ, v
}

// sent is what HNS was asked to make and change, with names in place of ids.
func (d *dropin) sent(t *testing.T) []dropinSent {
	t.Helper()
	var pairs []string
	nets, err := d.client.Networks.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nets {
		pairs = append(pairs, n.ID.String(), "<network "+n.Name+">")
	}
	all, err := d.client.Endpoints.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		pairs = append(pairs, e.ID.String(), "<endpoint>")
	}
	names := strings.NewReplacer(pairs...)
	var out []dropinSent
	for _, c := range d.hns.Calls() {
		if c.Verb != hns.VerbCreate && c.Verb != hns.VerbModify && c.Verb != hns.VerbDelete {
			continue
		}
		s := dropinSent{Call: c.Verb.String() + " " + c.Kind.String()}
		if len(c.Document) > 0 {
			s.Document = json.RawMessage(d.names.Replace(names.Replace(string(c.Document))))
		}
		out = append(out, s)
	}
	return out
}

func (d *dropin) text(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	text := d.names.Replace(string(b))
	for pattern, name := range dropinVarying {
		text = pattern.ReplaceAllString(text, name)
	}
	return json.RawMessage(text)
}

// dropinVarying are ids and MAC addresses of HNS's choice.
var dropinVarying = map[*regexp.Regexp]string{
	regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`): "<id>",
	regexp.MustCompile(`00:15:5d(:[0-9a-f]{2}){3}`):                 "<mac>",
}
