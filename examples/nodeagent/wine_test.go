//go:build linux

package main

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/emuopen"
)

// wine sets Wine up and returns the script that runs programs in it.
func wine(t *testing.T) string {
	t.Helper()
	if os.Getenv("HNSKIT_WINE") != "1" {
		t.Skip("HNSKIT_WINE=1 runs the program for Windows, on the emulated HNS behind its DLLs")
	}
	script, err := filepath.Abs("../../hns/emulator/wine/wine")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), script, "setup", "--offline").CombinedOutput(); err != nil {
		t.Fatalf("wine setup: %v\n%s", err, out)
	}
	return script
}

// zPath is a file of Linux as Windows programs see it.
func zPath(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }

// machineAdapter is an adapter of this machine that others could reach.
func machineAdapter(t *testing.T) emulator.Adapter {
	t.Helper()
	list, err := systemAdapters()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		for _, p := range a.Addresses {
			if p.Addr().Is4() && p.Addr().IsGlobalUnicast() && p.Bits() < 31 {
				return emulator.Adapter{Name: a.Name, Addresses: []netip.Prefix{p}}
			}
		}
	}
	t.Fatalf("this machine has no adapter with an IPv4 address: %+v", list)
	return emulator.Adapter{}
}

// neighbour is another address on the adapter's link.
func neighbour(p netip.Prefix) netip.Addr {
	if next := p.Addr().Next(); p.Contains(next) {
		return next
	}
	return p.Addr().Prev()
}

// The program for Windows, with the calls that it makes there, gets its node
// ready; killed and started again, it finds what it made.
func TestProgramUnderWine(t *testing.T) {
	script, adapter := wine(t), machineAdapter(t)
	exe := build(t, "windows")
	address := adapter.Addresses[0]
	for _, tt := range []struct{ backend, netConf, network, plugin string }{
		{"vxlan", vxlanNetConf, "flannel.4096", "win-overlay"},
		{"host-gw", `{"Network": "10.244.0.0/16", "Backend": {"Type": "host-gw"}}`, "cbr0", "win-bridge"},
	} {
		t.Run(tt.backend, func(t *testing.T) {
			peer := linuxNode("linux-1", neighbour(address).String(), "10.244.0.0/24", "0e:00:00:00:00:21")
			if tt.backend == "host-gw" {
				peer.Annotations["flannel.alpha.coreos.com/backend-type"] = tt.backend
				peer.Annotations["flannel.alpha.coreos.com/backend-data"] = "null"
			}
			api := newFakeAPI(t, windowsNode("win-1", address.Addr().String(), "10.244.3.0/24"), peer)
			s := newSite(t, tt.netConf)
			for _, time := range []string{"the first time", "after it was killed"} {
				ip, port := freeAddress(t)
				cmd := exec.Command(script, "run", exe, "--kube-subnet-mgr", "--ip-masq", "--kube-api-url="+api.URL, "--net-config-path="+zPath(s.netConf),
					"--subnet-file="+zPath(s.subnetEnv), "--cni-conf-file="+zPath(s.conflist), "--healthz-ip="+ip, "--healthz-port="+port, "--hostnet=memory")
				cmd.Env = append(os.Environ(), "NODE_NAME=win-1", "HNSKIT_STATE="+s.state, "HNSKIT_ADAPTERS="+emuopen.Format([]emulator.Adapter{adapter}), "HNSKIT_WINE_TIMEOUT=0")
				p := start(t, cmd)
				url := "http://" + net.JoinHostPort(ip, port)
				p.until("it is ready "+time, func() bool { code, _ := get(t, url+"/readyz"); return code == http.StatusOK })
				if log := p.logged(); !strings.Contains(log, "--hostnet=memory: ") {
					t.Errorf("it does not say where its routes are:\n%s", log)
				}
				_, text := get(t, url+"/metrics")
				created := map[string]string{"the first time": "1", "after it was killed": ""}[time]
				for series, want := range map[string]string{
					"hnskit_nodeagent_ready": "1", "hnskit_nodeagent_routes": "1", "hnskit_nodeagent_routes_refused": "0",
					`hnskit_hns_calls_total{code="ok",kind="network",verb="create"}`: created,
				} {
					if got := metric(text, series); got != want {
						t.Errorf("%s: %s is %q, want %q", time, series, got, want)
					}
				}
				_ = p.stop(cmd.Process.Kill) // and Wine's processes with it
				checkFiles(t, s, tt.network, tt.plugin)
				checkState(t, s.state, tt.network)
			}
			if n := api.node("win-1"); n.Annotations["flannel.alpha.coreos.com/public-ip"] != address.Addr().String() || !hasCondition(n, corev1.NodeNetworkUnavailable, corev1.ConditionFalse) {
				t.Errorf("the Node: %+v", n)
			}
		})
	}
}

// checkState looks at what is in HNS, when no program has it open: Wine's locks are
// not those of Linux.
func checkState(t *testing.T, state, network string) {
	t.Helper()
	h, err := emulator.Open(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := hns.New(h, nil)
	n, err := c.Networks.ByName(t.Context(), network)
	if err != nil {
		t.Fatal(err)
	}
	endpoints, err := c.Endpoints.OfNetwork(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	switch remotes := hns.PoliciesOf[hns.RemoteSubnetRoute](n.Policies); {
	case n.Type == hns.Overlay && (len(remotes) != 1 || len(endpoints) != 0):
		t.Errorf("remote subnets %+v, endpoints %+v", remotes, endpoints)
	case n.Type == hns.L2Bridge && (len(endpoints) != 1 || endpoints[0].State != hns.EndpointAttached):
		t.Errorf("the node's endpoint: %+v", endpoints)
	}
}
