package cniplugin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
)

// collector is an IPAM that can collect and tell its status.
type collector struct {
	*fakeIPAM
	gc, status error
	panics     bool
	valid      []ipam.Attachment
	asked      []string // requests of GC and STATUS
}

func (c *collector) GC(_ context.Context, req ipam.Request, valid []ipam.Attachment) error {
	c.asked = append(c.asked, fmt.Sprintf("GC %q %q", req.ContainerID, req.IfName))
	c.valid = valid
	if c.panics {
		panic("index out of range")
	}
	if c.gc != nil {
		return c.gc
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.books {
		id, ifName, _ := strings.Cut(key, "/")
		if !slices.Contains(valid, ipam.Attachment{ContainerID: id, IfName: ifName}) {
			delete(c.books, key)
		}
	}
	return nil
}

func (c *collector) Status(_ context.Context, req ipam.Request) error {
	c.asked = append(c.asked, fmt.Sprintf("STATUS %q %q", req.ContainerID, req.IfName))
	return c.status
}

func newCollector(t *testing.T) (*node, *collector) {
	n := newBridge(t, nil)
	c := &collector{fakeIPAM: n.ipam}
	n.plugin.IPAM = c
	return n, c
}

// The IPAM's GC comes last, and is told to keep the leases of endpoints that stay.
// So a lease that nothing of ours knows goes too: of an IPAM plugin that outlived
// the plugin that was killed.
func TestGCOfIPAM(t *testing.T) {
	n, c := newCollector(t)
	for _, id := range []string{"live", "stale", "busy", "stuck"} {
		n.pod(id).mustAdd()
	}
	n.ipam.books["ghost/eth0"] = []ipam.Address{{Prefix: prefixes("10.50.3.99/24")[0]}}
	_, unlock := lockSandbox(t.Context(), t, n.plugin.StateDir, "busy")
	n.hns.Inject(emulator.Fault{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, Code: hns.CodeAccessDenied, Times: -1,
		Match: func(r hns.Request) bool { return r.ID == (&pod{node: n, id: "stuck"}).endpoint().ID }})
	if err := n.gc([]string{"live"}); !errors.Is(err, hns.ErrDenied) || !strings.Contains(err.Error(), "stuck_lake") {
		t.Errorf("error %v, want ErrDenied of stuck_lake", err)
	}
	unlock()
	// Reconcile does not ask: an ADD may have begun since.
	if _, err := n.reconcile([]string{"live", "busy", "stuck"}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]ipam.Attachment{{ContainerID: "busy", IfName: "eth0"}, {ContainerID: "live", IfName: "eth0"}, {ContainerID: "stuck", IfName: "eth0"}}, c.valid); diff != "" {
		t.Errorf("valid (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`GC "" ""`}, c.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if got := n.ipam.leases(); len(got) != 3 {
		t.Errorf("leases %v", got)
	}
	consistent(t, n)
}

// Without a look at the endpoints IPAM is not asked: it could free what they have.
func TestGCOfIPAMWithoutLook(t *testing.T) {
	n, c := newCollector(t)
	n.pod("stale").mustAdd()
	n.hns.Inject(emulator.Fault{Verb: hns.VerbList, Kind: hns.KindEndpoint, Code: hns.CodeAccessDenied})
	if err := n.gc(nil); !errors.Is(err, hns.ErrDenied) || len(c.asked) > 0 {
		t.Errorf("error %v, asked %v", err, c.asked)
	}
	consistent(t, n)
}

// A failure of the IPAM's GC is told; that it has none is no failure.
func TestGCOfIPAMFails(t *testing.T) {
	for name, tt := range map[string]struct {
		set  func(*collector)
		want string // in the error; "" for none
	}{
		"fails":       {func(c *collector) { c.gc = errBroken }, errBroken.Error()},
		"panics":      {func(c *collector) { c.panics = true }, "ipam: panic"},
		"unsupported": {func(c *collector) { c.gc = fmt.Errorf("old: %w", errors.ErrUnsupported) }, ""},
	} {
		n, c := newCollector(t)
		tt.set(c)
		n.pod("stale").mustAdd()
		err := n.gc(nil)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
		if got := append(n.state(), n.noteFiles()...); len(got) > 0 {
			t.Errorf("%s: left %v", name, got)
		}
	}
}

// An endpoint stays and nobody knows its interface: the IPAM could free its address,
// and is not asked.
func TestGCBlind(t *testing.T) {
	n, c := newCollector(t)
	p := n.pod("sbx-01")
	p.mustAdd()
	for _, f := range n.noteFiles() {
		if err := os.Remove(n.plugin.StateDir + "/interfaces/_lake/" + f); err != nil {
			t.Fatal(err)
		}
	}
	_, unlock := lockSandbox(t.Context(), t, n.plugin.StateDir, "sbx-01")
	defer unlock()
	if err := n.gc(nil); err == nil || !strings.Contains(err.Error(), "sbx-01_lake") {
		t.Errorf("error %v, want one about sbx-01_lake", err)
	}
	if len(c.asked) > 0 {
		t.Errorf("asked %v", c.asked)
	}
	consistent(t, n)
}

// Leases of host-local without an endpoint go by its DEL, under the sandbox's lock:
// its own GC does nothing. A lease that an IPAM plugin takes after DEL, having
// outlived the plugin that ran it, is one.
func TestHostLocalGC(t *testing.T) {
	h := newHostLocal(t)
	add := func(id, ifName string) {
		t.Helper()
		if _, err := h.plugin.Add(t.Context(), h.args(t, h.pod(id), ifName)); err != nil {
			t.Fatal(err)
		}
	}
	add("live", "eth0")
	add("stale", "eth0")
	allocate := func(id, ifName string) {
		t.Helper()
		req := ipam.Request{ContainerID: id, IfName: ifName, Netns: hns.NewID().String(), PluginPath: []string{h.plugins},
			Config: h.args(t, h.pod(id), ifName).StdinData}
		if _, err := (&ipam.Delegated{}).Allocate(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	allocate("killed", "eth0") // after its DEL
	allocate("busy", "eth0")   // its ADD is at work
	allocate("live", "net1")   // a second interface's, whose ADD was killed
	_, unlock := lockSandbox(t.Context(), t, h.plugin.StateDir, "busy")

	gc := func(valid string) {
		t.Helper()
		args := h.args(t, &pod{node: h.node}, "", `"cniVersion": "1.1.0"`, `"cni.dev/valid-attachments": `+valid)
		if err := h.plugin.GC(t.Context(), &skel.CmdArgs{StdinData: args.StdinData, Path: h.plugins}); err != nil {
			t.Fatal(err)
		}
	}
	gc(`[{"containerID": "live", "ifname": "eth0"}]`)
	var who []string
	for _, l := range h.leases(t) {
		_, s, _ := strings.Cut(l, " ")
		who = append(who, s)
	}
	slices.Sort(who)
	if diff := cmp.Diff([]string{"busy eth0", "live eth0"}, who); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"endpoint live_lake [10.50.3.3] attached"}, h.state()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	unlock()

	// By hand, as an agent does, which has no CNI_PATH.
	h.plugin.PluginDirs = []string{h.plugins}
	rep, err := h.plugin.Reconcile(t.Context(), h.args(t, &pod{node: h.node}, "").StdinData, nil)
	if err != nil || len(rep.Removed) != 2 || len(rep.Left) != 0 {
		t.Errorf("report %v, %v", rep, err)
	}
	if got := append(h.leases(t), h.state()...); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// STATUS asks IPAM too.
func TestStatusOfIPAM(t *testing.T) {
	for name, tt := range map[string]struct {
		status error
		code   uint
	}{
		"ready":       {nil, 0},
		"not ready":   {types.NewError(50, "no addresses", ""), 50},
		"limited":     {fmt.Errorf("x: %w", types.NewError(51, "store is gone", "")), 51},
		"other code":  {types.NewError(107, "no addresses", ""), 50},
		"no code":     {errBroken, 50},
		"cannot tell": {fmt.Errorf("x: %w", errors.ErrUnsupported), 0},
	} {
		n, c := newCollector(t)
		c.status = tt.status
		err := n.plugin.Status(t.Context(), &skel.CmdArgs{StdinData: n.config()})
		if codeOf(err) != tt.code || tt.code != 0 && !errors.Is(err, tt.status) {
			t.Errorf("%s: code %d, %v; want %d and the cause", name, codeOf(err), err, tt.code)
		}
		if diff := cmp.Diff([]string{`STATUS "" ""`}, c.asked); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", name, diff)
		}
	}
}

// STATUS says no where an ADD could only fail: the ranges do not fit the network, or
// it has no provider address yet.
func TestStatusOfWhatADDRefuses(t *testing.T) {
	n := newBridge(t, nil)
	n.plugin.IPAM = nil
	conf := n.config(`"ipam": {"type": "host-local", "subnet": "10.99.0.0/24"}`)
	if err := n.plugin.Status(t.Context(), &skel.CmdArgs{StdinData: conf}); codeOf(err) != 50 || !strings.Contains(err.Error(), "10.99.0.0/24") {
		t.Errorf("code %d, %v; want 50 and the range", codeOf(err), err)
	}
	o := newOverlay(t, &emulator.Options{AddressAfterReads: -1})
	if err := o.plugin.Status(t.Context(), &skel.CmdArgs{StdinData: o.config()}); codeOf(err) != 50 {
		t.Errorf("code %d, %v; want 50", codeOf(err), err)
	}
	if err := o.plugin.Status(t.Context(), &skel.CmdArgs{StdinData: o.config(`"endpointMacPrefix": "0E-2A"`)}); codeOf(err) != 50 {
		t.Errorf("code %d, %v; want 50", codeOf(err), err)
	}
	if err := n.plugin.Status(t.Context(), &skel.CmdArgs{StdinData: n.config(`"endpointMacPrefix": "0E-2A"`)}); codeOf(err) != types.ErrInvalidNetworkConfig {
		t.Errorf("code %d, %v; want 7", codeOf(err), err)
	}
}
