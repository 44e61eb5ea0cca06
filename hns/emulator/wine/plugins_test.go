package wine_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/modes"
)

// lives are those of pods whose network is made by the example plugins, and by one
// more for the mode that they leave out. The configurations are lists; plugin
// directories and files stand in them as $LEASES, $STATE, $SCRATCH and $ENV.
var lives = []life{
	{name: "win-bridge", mode: modes.L2Bridge, network: "cbr0", upstream: cost{"win-bridge", 2, 16, 13}, conf: `{
		"type": "win-bridge", "apiVersion": 2, "loopbackDSR": true, "ipMasqNetwork": "10.244.0.0/16",
		"dns": {"nameservers": ["10.96.0.10"], "search": ["svc.cluster.local"]},
		"policies": [{"name": "EndpointPolicy", "value": {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}}}],
		"capabilities": {"portMappings": true, "dns": true},
		"ipam": {"type": "host-local", "subnet": "10.244.1.0/24", "dataDir": $LEASES}, "stateDir": $STATE}`},
	{name: "win-overlay", mode: modes.Overlay, network: "vxlan0", upstream: cost{"win-overlay", 2, 17, 13}, conf: `{
		"type": "win-overlay", "apiVersion": 2, "ipMasq": true, "endpointMacPrefix": "0E-2A",
		"policies": [{"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.244.0.0/16", "10.96.0.0/12"]}}},
			{"name": "EndpointPolicy", "value": {"Type": "ProviderAddress", "Settings": {"ProviderAddress": "192.0.2.10"}}}],
		"capabilities": {"portMappings": true, "dns": true},
		"ipam": {"type": "host-local", "subnet": "10.244.1.0/24", "dataDir": $LEASES}, "stateDir": $STATE}`},
	{name: "flannel-host-gw", mode: modes.L2Bridge, network: "cbr0", upstream: cost{"flannel, win-bridge", 3, 15, 13}, conf: `{
		"type": "flannel", "subnetFile": $ENV, "dataDir": $SCRATCH, "capabilities": {"portMappings": true, "dns": true},
		"ipam": {"dataDir": $LEASES},
		"delegate": {"type": "win-bridge", "apiVersion": 2, "stateDir": $STATE}}`},
	{name: "flannel-vxlan", mode: modes.Overlay, network: "flannel.4096", upstream: cost{"flannel, win-overlay", 3, 16, 13}, conf: `{
		"type": "flannel", "subnetFile": $ENV, "dataDir": $SCRATCH, "capabilities": {"portMappings": true, "dns": true},
		"ipam": {"dataDir": $LEASES},
		"delegate": {"type": "win-overlay", "apiVersion": 2, "stateDir": $STATE}}`},
	{name: "nat", mode: modes.NAT, network: "nat", makesNetwork: true, upstream: cost{"Microsoft's nat", 1, 14, 17}, conf: `{
		"type": "nat", "master": "Ethernet", "capabilities": {"portMappings": true, "dns": true},
		"ipam": {"type": "", "subnet": "10.4.0.0/24", "routes": [{"gateway": "10.4.0.1"}]}, "stateDir": $STATE}`},
	{name: "custom-plugin", mode: modes.L2Bridge, network: "cbr0", upstream: cost{"win-bridge", 2, 16, 13}, conf: `{
		"type": "custom-plugin", "vlan": 7, "capabilities": {"portMappings": true},
		"ipam": {"type": "host-local", "subnet": "10.244.1.0/24", "dataDir": $LEASES}, "stateDir": $STATE}`},
	{name: "l2tunnel", mode: modes.L2Tunnel, network: "azure", upstream: cost{"Microsoft's sdnbridge", 2, 14, 17}, conf: `{
		"type": "anymode", "mode": "l2tunnel",
		"ipam": {"type": "host-local", "subnet": "10.244.1.0/24", "dataDir": $LEASES}, "stateDir": $STATE}`},
	{name: "transparent", mode: modes.Transparent, network: "trans", upstream: cost{"win-bridge", 2, 16, 13}, conf: `{
		"type": "anymode", "mode": "transparent",
		"ipam": {"type": "host-local", "subnet": "10.244.1.0/24", "dataDir": $LEASES}, "stateDir": $STATE}`},
	// A node without the network that the configuration names.
	{name: "win-bridge-without-network", mode: modes.L2Bridge, network: "cbr0", confName: "vxlan0", refused: true, conf: `{
		"type": "win-bridge", "ipam": {"type": "host-local", "subnet": "10.244.1.0/24", "dataDir": $LEASES}, "stateDir": $STATE}`},
}

// goldenFile has what the plugins answer and leave, wherever they run.
func (l life) goldenFile() string { return filepath.Join("testdata", "plugins", l.name+".golden.json") }

// TestPlugins has libcni drive the plugins through the lives of pods, as programs
// of this system with the emulator inside.
func TestPlugins(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the plugins speak to the real HNS here")
	}
	here, known := newPluginHost(t, false), map[string]bool{}
	for _, l := range lives {
		known[l.goldenFile()] = true
		t.Run(l.name, func(t *testing.T) {
			got, _ := l.run(t, here)
			golden.File(t, l.goldenFile(), got)
		})
	}
	files, err := filepath.Glob(filepath.Join("testdata", "plugins", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f] {
			t.Errorf("%s: nothing is compared with it any more", f)
		}
	}
}

// TestPluginsUnderWine has the same plugins live the same lives as Windows
// programs, through the native backend and the DLLs. They answer what the golden
// files of TestPlugins say and leave the same documents in HNS; how many native
// calls and processes that takes stands in COST.md: on a busy node each of them
// takes tens of milliseconds.
func TestPluginsUnderWine(t *testing.T) {
	needWine(t)
	t.Setenv("HNS_EMULATOR", filepath.Join(t.TempDir(), "not-for-windows.json"))
	windows := newPluginHost(t, true)
	var table costTable
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			want, err := os.ReadFile(l.goldenFile())
			if err != nil {
				t.Fatal(err)
			}
			got, executions := l.run(t, windows)
			// A checkout may have CR LF.
			if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
				t.Errorf("%s is not what the plugin does under Wine (-want +got):\n%s", l.goldenFile(), diff)
			}
			table.add(t, l, executions)
		})
	}
	if _, err := os.Stat(os.Getenv("HNS_EMULATOR")); err == nil {
		t.Error("a plugin used HNS_EMULATOR on Windows")
	}
	table.compare(t, "COST.md")
	sizes(t, windows)
}

// sizes prints what an author ships, and compares it with the plugins that the
// examples stand in for.
func sizes(t *testing.T, windows *pluginHost) {
	const mb = 1e6
	for name, upstream := range map[string]float64{"win-bridge": 9.14, "win-overlay": 9.14, "flannel": 7.86, "nat": 6.15, "custom-plugin": 9.14} {
		info, err := os.Stat(filepath.Join(windows.dirs[0], windows.program(name)))
		if err != nil {
			t.Fatal(err)
		}
		size := float64(info.Size()) / mb
		t.Logf("%s: %.2f MB stripped", info.Name(), size)
		if size >= upstream {
			t.Errorf("%s: %.2f MB; the plugin it stands in for has %.2f", name, size, upstream)
		}
	}
}
