package cniplugin_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// Two pods can have one endpoint name: "a_b" on "c" and "a" on "b_c". The DEL
// of one must leave the other's alone.
func TestDelOfSameName(t *testing.T) {
	n := newNode(t, nil, "win-bridge", modes.NetworkIntent{Mode: modes.L2Bridge, Name: "c", Subnets: prefixes("10.50.3.0/24")})
	plan, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.L2Bridge, Name: "b_c", Subnets: []netip.Prefix{netip.MustParsePrefix("10.50.4.0/24")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.client.Networks.Create(t.Context(), plan.Network); err != nil {
		t.Fatal(err)
	}
	long, short := n.pod("a_b"), n.pod("a")
	long.mustAdd()
	if err := short.del(`"name": "b_c"`); err != nil {
		t.Fatal(err)
	}
	if _, err := n.client.Endpoints.ByName(t.Context(), "a_b_c"); err != nil {
		t.Errorf("the other pod's endpoint: %v", err)
	}
	long.mustDel()
	if left, err := n.client.Endpoints.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// An ADD that is refused for its configuration is followed by a DEL with the
// same one, which must succeed: else the sandbox never goes.
func TestDelAfterRefusedAdd(t *testing.T) {
	n := newBridge(t, nil)
	n.plugin.IPAM = nil
	for _, ipamConf := range []string{`5`, `[]`, `{"type": 7}`} {
		p := n.pod("sbx-01")
		if _, err := p.add(`"ipam": ` + ipamConf); codeOf(err) != types.ErrInvalidNetworkConfig {
			t.Errorf("ADD with ipam %s: %v", ipamConf, err)
		}
		if err := p.del(`"ipam": ` + ipamConf); err != nil {
			t.Errorf("DEL with ipam %s: %v", ipamConf, err)
		}
	}
}

// host-local refuses a broken configuration in DEL too; the lease goes all the
// same, also if the configuration was spoilt after ADD.
func TestHostLocalDelOfBrokenConfiguration(t *testing.T) {
	h := newHostLocal(t)
	broken := `"ipam": {"type": "host-local", "subnet": "bogus", "dataDir": ` + quote(t, h.data) + `}`
	p := h.pod("sbx-01")
	if _, err := h.plugin.Add(t.Context(), h.args(t, p, "eth0", broken)); codeOf(err) != types.ErrInvalidNetworkConfig {
		t.Errorf("ADD: %v", err)
	}
	if err := h.plugin.Del(t.Context(), h.args(t, p, "eth0", broken)); err != nil {
		t.Errorf("DEL after it: %v", err)
	}
	if _, err := h.plugin.Add(t.Context(), h.args(t, p, "eth0")); err != nil {
		t.Fatal(err)
	}
	if err := h.plugin.Del(t.Context(), h.args(t, p, "eth0", broken)); err != nil {
		t.Errorf("DEL of what a good one made: %v", err)
	}
	if diff := cmp.Diff([]string(nil), h.leases(t)); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
}

// A namespace that is not there is a sandbox that is not there: code 3.
func TestAddToUnknownNamespace(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.namespace = hns.NewID()
	if _, err := p.add(); codeOf(err) != types.ErrUnknownContainer {
		t.Errorf("code %d, %v; want 3", codeOf(err), err)
	}
	if left, err := n.client.Endpoints.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestStatus(t *testing.T) {
	n := newBridge(t, nil)
	args := n.pod("unused").args(n.config())
	if err := n.plugin.Status(t.Context(), args); err != nil {
		t.Errorf("ready: %v", err)
	}
	args.StdinData = n.config(`"name": "pond"`)
	if err := n.plugin.Status(t.Context(), args); codeOf(err) != 50 || !strings.Contains(err.Error(), `"lake"`) {
		t.Errorf("no network: code %d, %v; want 50", codeOf(err), err)
	}
	args.StdinData = n.config(`"apiVersion": 1`)
	if err := n.plugin.Status(t.Context(), args); codeOf(err) != types.ErrInvalidNetworkConfig {
		t.Errorf("bad configuration: code %d, %v; want 7", codeOf(err), err)
	}
	n.hns.Stop()
	args.StdinData = n.config()
	if err := n.plugin.Status(t.Context(), args); codeOf(err) != 50 {
		t.Errorf("stopped: code %d, %v; want 50", codeOf(err), err)
	}
}

// STATUS says no where ADD could take no lock or leave no note.
func TestStatusOfStateDir(t *testing.T) {
	for _, taken := range []string{"", "locks", "interfaces"} {
		n := newBridge(t, nil)
		path := filepath.Join(n.plugin.StateDir, taken)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		args := n.pod("unused").args(n.config())
		if err := n.plugin.Status(t.Context(), args); codeOf(err) != 50 || !strings.Contains(err.Error(), "state directory") {
			t.Errorf("%q is a file: code %d, %v; want 50", taken, codeOf(err), err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := n.plugin.Status(t.Context(), args); err != nil {
			t.Errorf("%q: %v", taken, err)
		}
		for _, dir := range []string{"locks", "interfaces"} {
			if left, err := os.ReadDir(filepath.Join(n.plugin.StateDir, dir)); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		}
	}
}
