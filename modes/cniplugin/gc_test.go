package cniplugin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// gc is the verb GC with these valid attachments, as "sbx-01" for its eth0.
func (n *node) gc(valid []string, members ...string) error {
	list := []string{}
	for _, id := range valid {
		list = append(list, fmt.Sprintf(`{"containerID": %q, "ifname": "eth0"}`, id))
	}
	conf := n.config(append(members, `"cniVersion": "1.1.0"`, `"cni.dev/valid-attachments": [`+strings.Join(list, ",")+`]`)...)
	return n.plugin.GC(context.Background(), &skel.CmdArgs{StdinData: conf})
}

// reconcile is Reconcile with these live, and what it reports, without ids.
func (n *node) reconcile(live []string, members ...string) ([]string, error) {
	var as []ipam.Attachment
	for _, id := range live {
		as = append(as, ipam.Attachment{ContainerID: id, IfName: "eth0"})
	}
	rep, err := n.plugin.Reconcile(context.Background(), n.config(members...), as)
	var out []string
	for _, f := range rep.Removed {
		out = append(out, "removed "+findingText(f))
	}
	for _, f := range rep.Left {
		out = append(out, "left "+findingText(f))
	}
	slices.Sort(out)
	return out, err
}

func findingText(f cniplugin.Finding) string {
	f.Endpoint = hns.ID{}
	return strings.TrimPrefix(f.String(), "leftover of ")
}

// put makes an endpoint on the node's network behind the plugin's back.
func (n *node) put(e hns.Endpoint) *hns.Endpoint {
	n.tb.Helper()
	if e.Network.IsZero() {
		e.Network = n.network.ID
	}
	made, err := n.client.Endpoints.Create(context.Background(), &e)
	if err != nil {
		n.tb.Fatal(err)
	}
	return made
}

// GC takes what is stale, whoever gave the address, and nothing else
// (Azure/azure-container-networking#218).
func TestReconcile(t *testing.T) {
	for _, who := range whoGives {
		t.Run(who.name, func(t *testing.T) {
			n := newBridge(t, nil)
			who.setup(n)
			n.pod("live").mustAdd(who.member)
			n.pod("stale").mustAdd(who.member)
			gone := n.pod("no-namespace")
			gone.mustAdd(who.member)
			if err := n.client.Namespaces.Delete(t.Context(), gone.namespace); err != nil {
				t.Fatal(err)
			}
			alone := n.pod("detached")
			alone.mustAdd(who.member)
			if err := n.client.Namespaces.RemoveEndpoint(t.Context(), alone.namespace, alone.endpoint().ID); err != nil {
				t.Fatal(err)
			}
			busy := n.pod("busy")
			busy.mustAdd(who.member)
			_, unlock := lockSandbox(t.Context(), t, n.plugin.StateDir, "busy")

			want, err := n.reconcile([]string{"live", "stale", "no-namespace", "detached", "busy"}, who.member)
			if err != nil || slices.ContainsFunc(want, func(s string) bool { return !strings.HasSuffix(s, ": live") }) || len(want) != 5 {
				t.Fatalf("all live: %v, %v", want, err)
			}
			for i, s := range want {
				s = strings.TrimSuffix(s, ": live")
				switch {
				case strings.Contains(s, " busy_"):
					want[i] = s + ": sandbox is busy"
				case !strings.Contains(s, " live_"):
					want[i] = "removed " + strings.TrimPrefix(s, "left ")
				default:
					want[i] = s + ": live"
				}
			}
			got, err := n.reconcile([]string{"live", "never-was"}, who.member)
			if err != nil {
				t.Error(err)
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if got := len(n.state()); got != 2*(1+who.leases) || len(n.noteFiles()) != 2 {
				t.Errorf("left %v, %v: want two pods", n.state(), n.noteFiles())
			}
			if locks := n.lockFiles(); len(locks) != 1 {
				t.Errorf("locks %v, want that of the busy one", locks)
			}
			unlock()
			if err := n.gc(nil, who.member); err != nil {
				t.Error(err)
			}
			if left := slices.Concat(n.state(), n.noteFiles(), n.lockFiles()); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// What is not a pod's of this network stays: endpoints of other nodes, of the node
// itself, of other programs, and of other networks, whatever their names.
func TestGCLeavesOthers(t *testing.T) {
	n := newNode(t, nil, "win-bridge", modes.NetworkIntent{Mode: modes.L2Bridge, Name: "c", Subnets: prefixes("10.50.3.0/24")})
	other, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.L2Bridge, Name: "b_c", Subnets: prefixes("10.50.4.0/24")})
	if err != nil {
		t.Fatal(err)
	}
	network, err := n.client.Networks.Create(t.Context(), other.Network)
	if err != nil {
		t.Fatal(err)
	}
	n.pod("a").mustAdd()
	n.pod("a_b").mustAdd()                                  // of this name too, and ours
	n.put(hns.Endpoint{Name: "a_b_c", Network: network.ID}) // pod a's on the other network
	n.put(hns.Endpoint{Name: "pod_c", Flags: hns.EndpointRemote, IPConfigs: []hns.IPConfig{{Address: prefixes("10.50.9.9/32")[0].Addr()}}})
	if err := n.client.Endpoints.AttachHost(t.Context(), n.put(hns.Endpoint{Name: "node_c"}).ID); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c_ep", "_c", "-x_c", "pod_C", "pod_c2", "pod", "a b_c"} {
		n.put(hns.Endpoint{Name: name})
	}
	n.put(hns.Endpoint{})
	before := n.state()

	got, err := n.reconcile(nil)
	if err != nil {
		t.Error(err)
	}
	before = slices.DeleteFunc(before, func(s string) bool { return strings.HasSuffix(s, " attached") || strings.HasPrefix(s, "lease") })
	if diff := cmp.Diff(before, n.state()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	var reasons []string
	for _, s := range got {
		name, _, _ := strings.Cut(s, " [")
		_, why, _ := strings.Cut(s, ": ")
		reasons = append(reasons, strings.TrimSpace(name+": "+why))
	}
	want := []string{"left Ethernet: foreign name", "left -x_c: foreign name", "left _c: foreign name", "left a b_c: foreign name", "left c_ep: foreign name",
		"left node_c: in use outside a pod", "left pod: foreign name", "left pod_C: foreign name", "left pod_c2: foreign name", "left pod_c: remote",
		"removed a_b_c:", "removed a_c:"}
	slices.Sort(reasons)
	slices.Sort(want)
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// Without the list nobody knows what is stale: GC is an error and removes nothing.
func TestGCLists(t *testing.T) {
	const one = `[{"containerID": "live", "ifname": "eth0"}]`
	tests := []struct {
		name, members string
		path          string // of the error; "" if there is none
		left          int    // of two pods, "live" and "stale"
	}{
		{"none", ``, "cni.dev/valid-attachments", 2},
		{"a list", `"cni.dev/valid-attachments": ` + one, "", 1},
		{"an empty list", `"cni.dev/valid-attachments": []`, "", 0},
		// libcni writes a nil slice so.
		{"null", `"cni.dev/valid-attachments": null`, "", 0},
		// containernetworking/cni#1101: the first edition's key.
		{"old key", `"cni.dev/attachments": ` + one, "", 1},
		{"both keys", `"cni.dev/valid-attachments": ` + one + `, "cni.dev/attachments": []`, "", 1},
		{"null and the old key", `"cni.dev/valid-attachments": null, "cni.dev/attachments": ` + one, "", 1},
		{"null and null", `"cni.dev/valid-attachments": null, "cni.dev/attachments": null`, "", 0},
		{"empty and the old key", `"cni.dev/valid-attachments": [], "cni.dev/attachments": ` + one, "", 0},
		{"other interface", `"cni.dev/valid-attachments": [{"containerID": "live", "ifname": "net1"}]`, "", 0},
		{"no list", `"cni.dev/valid-attachments": {}`, "cni.dev/valid-attachments", 2},
		{"null in it", `"cni.dev/valid-attachments": [null]`, "cni.dev/valid-attachments[0]", 2},
		{"text in it", `"cni.dev/valid-attachments": ["live"]`, "cni.dev/valid-attachments[0]", 2},
		{"no container", `"cni.dev/valid-attachments": [{"ifname": "eth0"}]`, "cni.dev/valid-attachments[0].containerID", 2},
		{"no interface", `"cni.dev/valid-attachments": [{"containerID": "live"}]`, "cni.dev/valid-attachments[0].ifname", 2},
		{"number", `"cni.dev/valid-attachments": [{"containerID": 7, "ifname": "eth0"}]`, "cni.dev/valid-attachments[0].containerID", 2},
		// Locks and notes would be looked for in the wrong place.
		{"broken stateDir", `"stateDir": 7, "cni.dev/valid-attachments": ` + one, "stateDir", 2},
		{"broken ipam", `"ipam": 7, "cni.dev/valid-attachments": ` + one, "ipam", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newBridge(t, nil)
			n.pod("live").mustAdd()
			n.pod("stale").mustAdd()
			err := n.plugin.GC(t.Context(), &skel.CmdArgs{StdinData: n.config(tt.members)})
			var want []string
			if tt.path != "" {
				want = []string{tt.path}
				if codeOf(err) != types.ErrInvalidNetworkConfig {
					t.Errorf("code %d, want 7", codeOf(err))
				}
			} else if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, paths(err)); diff != "" {
				t.Errorf("%v: paths (-want +got):\n%s", err, diff)
			}
			if got := n.state(); len(got) != 2*tt.left {
				t.Errorf("left %v, want %d pods", got, tt.left)
			}
		})
	}
	n := newBridge(t, nil)
	n.pod("stale").mustAdd()
	_, err := n.plugin.Reconcile(t.Context(), n.config(), []ipam.Attachment{{ContainerID: "live", IfName: "eth0"}, {ContainerID: "../x"}})
	if diff := cmp.Diff([]string{"live[1].ContainerID", "live[1].IfName"}, paths(err)); diff != "" || len(n.state()) != 2 {
		t.Errorf("%v, left %v; paths (-want +got):\n%s", err, n.state(), diff)
	}
}

// Names of one's own are collected if there is a way back from them.
func TestGCWithNamesOfOnesOwn(t *testing.T) {
	backwards := func(endpoint, network string) (string, bool) { return strings.CutPrefix(endpoint, network+".") }
	lies := func(string, string) (string, bool) { return "other", true }
	for name, tt := range map[string]struct {
		containerOf func(string, string) (string, bool)
		left        int
	}{"none": {nil, 2}, "backwards": {backwards, 0}, "wrong": {lies, 2}} {
		n := newBridge(t, nil)
		n.plugin.EndpointName = func(containerID, network string) string { return network + "." + containerID }
		n.plugin.ContainerOf = tt.containerOf
		n.pod("sbx-01").mustAdd()
		got, err := n.reconcile(nil)
		if err != nil || len(n.state()) != tt.left || (tt.left > 0) != slices.Contains(got, "left lake.sbx-01 [10.50.3.3]: foreign name") {
			t.Errorf("%s: %v, left %v, report %v", name, err, n.state(), got)
		}
	}
}

// An endpoint of a live container of which nothing tells the interface is live, as
// that of upstream's plugin; without one that is live it is stale.
func TestGCOfUnknownInterface(t *testing.T) {
	for _, who := range whoGives {
		n := newBridge(t, nil)
		who.setup(n)
		n.pod("live").mustAdd(who.member)
		n.pod("stale").mustAdd(who.member)
		if err := os.RemoveAll(filepath.Join(n.plugin.StateDir, "interfaces")); err != nil {
			t.Fatal(err)
		}
		if _, err := n.reconcile([]string{"live"}, who.member); err != nil {
			t.Errorf("%s: %v", who.name, err)
		}
		if got := n.state(); len(got) != 1+2*who.leases || !strings.HasPrefix(got[0], "endpoint live_lake") {
			t.Errorf("%s: left %v", who.name, got) // the lease is for the IPAM's GC
		}
	}
}

// What is in the node's own namespace is the node's.
func TestGCLeavesTheNodesNamespace(t *testing.T) {
	n := newBridge(t, &emulator.Options{HostNamespace: true})
	all, err := n.client.Namespaces.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Type != hns.NamespaceHostDefault {
		t.Fatalf("namespaces %v, %v", all, err)
	}
	if err := n.client.Namespaces.AddEndpoint(t.Context(), all[0].ID, n.put(hns.Endpoint{Name: "node_lake"}).ID); err != nil {
		t.Fatal(err)
	}
	got, err := n.reconcile(nil)
	if err != nil || len(n.state()) != 1 || len(got) != 1 || !strings.HasSuffix(got[0], "in use outside a pod") {
		t.Errorf("report %v, %v; left %v", got, err, n.state())
	}
}

// The hook of DEL runs for what GC removes, and its error does not keep anything.
func TestGCHook(t *testing.T) {
	n := newBridge(t, nil)
	n.pod("live").mustAdd()
	before := n.state()
	p := n.pod("sbx-01")
	p.mustAdd()
	var seen []string
	n.plugin.Hooks.BeforeDetach = func(ctx context.Context, pod *cniplugin.Pod) error {
		// The removal has the sandbox's lock.
		if _, _, err := cniplugin.TryLockSandbox(t.Context(), n.plugin.StateDir, pod.ContainerID); !errors.Is(err, cniplugin.ErrBusy) {
			t.Errorf("the lock of the sandbox: %v, want ErrBusy", err)
		}
		if _, _, err := cniplugin.TryLockSandbox(ctx, n.plugin.StateDir, pod.ContainerID); err != nil {
			t.Errorf("the context of the hook has not the lock: %v", err)
		}
		seen = append(seen, fmt.Sprint(pod.ContainerID, " ", pod.IfName, " ", pod.EndpointName, " ", pod.Namespace == p.namespace))
		return errBroken
	}
	got, err := n.reconcile([]string{"live"})
	if !errors.Is(err, errBroken) || !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "failed: hook BeforeDetach") }) {
		t.Errorf("report %v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"sbx-01 eth0 sbx-01_lake true"}, seen); diff != "" {
		t.Errorf("hook (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, n.state()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// A network that is not there has no endpoints, but what is left of them goes; one of
// another type is not this plugin's.
func TestGCWithoutNetwork(t *testing.T) {
	n := newBridge(t, nil)
	n.pod("live").mustAdd()
	n.pod("stale").mustAdd()
	if err := n.client.Networks.Delete(t.Context(), n.network.ID); err != nil {
		t.Fatal(err)
	}
	if err := n.gc([]string{"live"}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"lease live/eth0 10.50.3.3/24"}, n.state()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	o := newOverlay(t, nil)
	o.pod("stale").mustAdd()
	before := o.state()
	o.plugin.Mode = modes.L2Bridge
	if err := o.gc(nil); codeOf(err) != types.ErrInvalidNetworkConfig {
		t.Errorf("code %d, %v; want 7", codeOf(err), err)
	}
	if diff := cmp.Diff(before, o.state()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// FuzzGC: whatever comes in on stdin, no panic; without a list that can be read
// nothing is removed, and what is valid stays.
func FuzzGC(f *testing.F) {
	f.Add(config(`"name": "lake"`, `"cni.dev/valid-attachments": [{"containerID": "live", "ifname": "eth0"}]`))
	f.Add(config(`"name": "lake"`, `"cni.dev/attachments": null`))
	f.Add(config(`"name": "lake"`, `"cni.dev/valid-attachments": [{"containerID": "live"}, 7]`))
	f.Add(config(`"name": "lake"`, `"CNI.dev/valid-attachments": []`, `"timeout": "-1s"`))
	f.Fuzz(func(t *testing.T, stdin []byte) {
		n := newBridge(t, nil)
		n.pod("live").mustAdd()
		n.pod("stale").mustAdd()
		before := n.state()
		if c, err := cniplugin.ParseConfig(stdin); err == nil && (c.StateDir != "" || c.LogFile != "") {
			t.Skip("writes where it is told to")
		}
		valid, errList := cniplugin.ValidAttachments(stdin)
		err := n.plugin.GC(context.Background(), &skel.CmdArgs{StdinData: stdin})
		if errList != nil && (err == nil || cmp.Diff(before, n.state()) != "") {
			t.Fatalf("without a list: %v, left %v", err, n.state())
		}
		if err != nil && codeOf(err) == 0 {
			t.Errorf("error %v without a code", err)
		}
		if slices.Contains(valid, ipam.Attachment{ContainerID: "live", IfName: "eth0"}) && !slices.Contains(n.state(), before[0]) {
			t.Fatalf("GC took what is valid: %v", n.state())
		}
		if locks := n.lockFiles(); len(locks) > 0 {
			t.Errorf("left %v", locks)
		}
	})
}
