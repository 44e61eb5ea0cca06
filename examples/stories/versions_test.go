package stories_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/version"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hnskit/hnskit/examples/internal/hnsopen"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// anyMode is a plugin whose mode the configuration says.
func anyMode() { (&cniplugin.Plugin{Name: "any-mode", Open: hnsopen.Open}).Main() }

// networkOf is a network of each mode, and the ipam object of its pods: addresses
// of HNS but on L2Tunnel, where they are Azure's.
var networkOf = map[modes.Mode]struct{ name, subnet, ipam, first string }{
	modes.L2Bridge:    {"cbr0", "10.244.1.0/24", `{"routes": [{"gw": "10.244.1.1"}]}`, `10.244.1.3`},
	modes.L2Tunnel:    {"azure", "10.240.0.0/24", `{"type": "host-local", "subnet": "10.240.0.0/24", "dataDir": "$WORK/leases"}`, `10.240.0.4`},
	modes.Overlay:     {"vxlan0", "10.244.2.0/24", `{}`, `10.244.2.2`},
	modes.Transparent: {"trans", "10.70.4.0/24", `{}`, `10.70.4.2`},
	modes.NAT:         {"nat", "172.20.0.0/20", `{}`, `172.20.0.2`},
}

// TestModesAndVersions is a table: each mode in each version of CNI, as the first
// plugin and in a chain, through libcni.
func TestModesAndVersions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the example plugins speak to the real HNS here")
	}
	dir := t.TempDir()
	for _, m := range modes.All() {
		for _, v := range version.All.SupportedVersions() {
			name := fmt.Sprintf("%s-%s", strings.ToLower(string(m)), strings.ReplaceAll(v, ".", ""))
			for suffix, chained := range map[string]bool{"": false, "-chain": true} {
				if err := os.WriteFile(filepath.Join(dir, name+suffix+".txtar"), []byte(lifeStory(m, v, chained)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	testscript.Run(t, testscript.Params{Dir: dir, Setup: setup, Cmds: commands, RequireExplicitExec: true})
}

// lifeStory is the life of one pod.
func lifeStory(m modes.Mode, v string, chained bool) string {
	n := networkOf[m]
	atLeast := func(w string) bool { ok, err := version.GreaterThanOrEqualTo(v, w); return ok && err == nil }
	plugin := fmt.Sprintf(`{"type": "any-mode", "mode": %q, "stateDir": "$WORK/state", "ipam": %s}`, strings.ToLower(string(m)), n.ipam)
	plugins := []string{plugin}
	if chained {
		plugins = append(plugins, `{"type": "fake-delegate", "record": "$WORK/after"}`)
		if atLeast("0.3.0") { // earlier versions have room for one interface
			plugins = append([]string{`{"type": "fake-delegate", "record": "$WORK/before", "interface": "storage0", "address": "10.90.0.5/24"}`}, plugins...)
		}
	}
	var s strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	line("node %s %s %s", strings.ToLower(string(m)), n.name, n.subnet)
	if atLeast("1.1.0") {
		line("cni status pod-1 c.conflist")
	}
	for range 2 { // a repeated ADD is the same
		line("cni add pod-1 c.conflist")
		line(`stdout '"podIP":"%s"'`, n.first)
		line("endpoints 1")
	}
	if chained {
		line(`grep '"cniVersion":"%s"' after.add`, v)
		line(`grep '%s/' after.add`, n.first)
		if atLeast("0.3.0") {
			line(`stdout '"storage0":'`)
			line(`grep '"name":"storage0".*"name":"eth0"' after.add`)
		}
	}
	if atLeast("0.4.0") {
		line("cni check pod-1 c.conflist")
	} else {
		line("! cni check pod-1 c.conflist")
		line("stderr 'does not support'")
	}
	for range 2 {
		line("cni del pod-1 c.conflist")
		line("endpoints 0")
	}
	line("clean\n-- c.conflist --")
	line(`{"cniVersion": %q, "name": %q, "plugins": [%s]}`, v, n.name, strings.Join(plugins, ",\n"))
	return s.String()
}

// The examples are what a reader starts from: what they need more than 60 lines
// for belongs into the library.
func TestExamplesAreShort(t *testing.T) {
	for _, name := range []string{"win-bridge", "win-overlay", "nat", "flannel", "custom-plugin"} {
		data, err := os.ReadFile(filepath.Join("..", name, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(data), "\n"); n > 60 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}
