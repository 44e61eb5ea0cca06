package cniplugin_test

// Tests with the real host-local plugin, built from a pinned version.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/internal/toolbuild"
	"github.com/hnskit/hnskit/ipam"
)

// hostLocal is a node whose plugin runs host-local.
type hostLocal struct {
	*node
	plugins, data string
}

func newHostLocal(t *testing.T) *hostLocal {
	t.Helper()
	tool, err := toolbuild.HostLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := newBridge(t, nil)
	n.plugin.IPAM = nil
	return &hostLocal{n, filepath.Dir(tool), filepath.Join(n.dir, "leases")}
}

func (h *hostLocal) args(t *testing.T, p *pod, ifName string, members ...string) *skel.CmdArgs {
	t.Helper()
	all := append([]string{`"ipam": {"type": "host-local", "subnet": "10.50.3.0/24", "dataDir": ` + quote(t, h.data) + `}`}, members...)
	a := p.args(h.config(all...))
	a.IfName, a.Path = ifName, h.plugins
	return a
}

func (h *hostLocal) leases(t *testing.T) []string {
	t.Helper()
	all, err := ipam.Leases(h.data, "lake")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range all {
		out = append(out, l.Address.String()+" "+l.ContainerID+" "+l.IfName)
	}
	return out
}

// The first pod of a node got the address that its own gateway has
// (kubernetes/kubernetes#74766, microsoft/SDN#333).
func TestHostLocalLeavesTheGatewayAlone(t *testing.T) {
	h := newHostLocal(t)
	p := h.pod("sbx-01")
	res, err := h.plugin.Add(t.Context(), h.args(t, p, "eth0"))
	if err != nil {
		t.Fatal(err)
	}
	if got := res.IPs[0].Address.String() + " via " + res.IPs[0].Gateway.String(); got != "10.50.3.3/24 via 10.50.3.2" {
		t.Errorf("got %s", got)
	}
	// In the versions that know no CHECK a repeated ADD still finds its lease.
	for _, v := range []string{"0.2.0", "0.3.1", "1.1.0"} {
		again, err := h.plugin.Add(t.Context(), h.args(t, p, "eth0", `"cniVersion": "`+v+`"`))
		if err != nil {
			t.Fatalf("repeated in version %s: %v", v, err)
		}
		if diff := cmp.Diff(res, again); diff != "" {
			t.Errorf("repeated in version %s (-first +second):\n%s", v, diff)
		}
	}
	if err := h.plugin.Del(t.Context(), h.args(t, p, "eth0")); err != nil {
		t.Fatal(err)
	}
	if got := append(h.leases(t), h.state()...); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// The DEL that follows the refused ADD of a second interface: the first one's
// endpoint has the same name, and must stay.
func TestHostLocalSecondInterface(t *testing.T) {
	h := newHostLocal(t)
	p := h.pod("sbx-01")
	if _, err := h.plugin.Add(t.Context(), h.args(t, p, "eth0")); err != nil {
		t.Fatal(err)
	}
	want := append(h.leases(t), h.state()...)
	second := h.args(t, p, "net1")
	if _, err := h.plugin.Add(t.Context(), second); err == nil || !strings.Contains(err.Error(), "net1") {
		t.Errorf("error %v, want one about net1", err)
	}
	if err := h.plugin.Del(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, append(h.leases(t), h.state()...)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := h.plugin.Del(t.Context(), h.args(t, p, "eth0")); err != nil {
		t.Fatal(err)
	}
	if got := append(h.leases(t), h.state()...); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// The directory of the leases was emptied: DEL still takes the endpoint.
func TestHostLocalLeaseLost(t *testing.T) {
	h := newHostLocal(t)
	p := h.pod("sbx-01")
	if _, err := h.plugin.Add(t.Context(), h.args(t, p, "eth0")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(h.data); err != nil {
		t.Fatal(err)
	}
	if err := h.plugin.Del(t.Context(), h.args(t, p, "eth0")); err != nil {
		t.Fatal(err)
	}
	if got := h.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// What the runtime asks of the IPAM plugin reaches it: an address, and a range, of
// which the gateway is taken out as well.
func TestHostLocalCapabilities(t *testing.T) {
	tests := []struct{ ipam, runtime, want string }{
		{`"subnet": "10.50.3.0/24"`, `{"ips": ["10.50.3.77"]}`, "10.50.3.77/24"},
		{`"routes": []`, `{"ipRanges": [[{"subnet": "10.50.3.0/24"}]]}`, "10.50.3.3/24"},
	}
	for _, tt := range tests {
		h := newHostLocal(t)
		p := h.pod("sbx-01")
		conf := `"ipam": {"type": "host-local", ` + tt.ipam + `, "dataDir": ` + quote(t, h.data) + `}`
		res, err := h.plugin.Add(t.Context(), h.args(t, p, "eth0", conf, `"runtimeConfig": `+tt.runtime))
		if err != nil {
			t.Errorf("%s: %v", tt.runtime, err)
		} else if got := res.IPs[0].Address.String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.runtime, got, tt.want)
		}
	}
}

// HNS fails: host-local's lease is given back with the same configuration.
func TestHostLocalAfterFailure(t *testing.T) {
	h := newHostLocal(t)
	p := h.pod("sbx-01")
	if err := h.client.Namespaces.Delete(t.Context(), p.namespace); err != nil {
		t.Fatal(err)
	}
	_, err := h.plugin.Add(t.Context(), h.args(t, p, "eth0"))
	if err == nil || codeOf(err) == 0 {
		t.Fatal("succeeded")
	}
	if got := append(h.leases(t), h.state()...); len(got) > 0 {
		t.Errorf("left %v", got)
	}
	if !strings.Contains(err.Error(), p.namespace.String()) {
		t.Errorf("%v does not name the namespace", err)
	}
}

// A lease of the interface without an endpoint, of a plugin that was killed between
// the two: host-local refuses another, and the one that is there is given back, for
// nobody has its address. The next ADD goes well without a DEL before it.
func TestHostLocalAfterKilledADD(t *testing.T) {
	h := newHostLocal(t)
	p := h.pod("sbx-01")
	if err := os.MkdirAll(filepath.Join(h.data, "lake"), 0o700); err != nil {
		t.Fatal(err)
	}
	for addr, owner := range map[string]string{"10.50.3.9": "sbx-01\r\neth0", "10.50.3.10": "sbx-02\r\neth0"} {
		if err := os.WriteFile(filepath.Join(h.data, "lake", addr), []byte(owner), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.plugin.Add(t.Context(), h.args(t, p, "eth0")); err == nil || !strings.Contains(err.Error(), "duplicate") {
		t.Errorf("error %v, want host-local's", err)
	}
	if diff := cmp.Diff([]string{"10.50.3.10 sbx-02 eth0"}, append(h.leases(t), h.state()...)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if _, err := h.plugin.Add(t.Context(), h.args(t, p, "eth0")); err != nil {
		t.Error(err)
	}
}
