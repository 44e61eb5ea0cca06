// Package install_test keeps the files of this directory in step with the library.
package install_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/internal/toolbuild"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

var (
	clusterCIDR = netip.MustParsePrefix("10.244.0.0/16")
	serviceCIDR = netip.MustParsePrefix("10.96.0.0/12")
	dns         = types.DNS{Nameservers: []string{"10.96.0.10"}, Search: []string{"svc.cluster.local", "cluster.local"}}
	toServices  = []hns.EndpointPolicy{hns.SDNRoute{DestinationPrefix: serviceCIDR, NeedEncap: true}}
)

func hostLocal(subnet string) json.RawMessage {
	return json.RawMessage(`{"type": "host-local", "subnet": "` + subnet + `"}`)
}

// lists are the configurations in this directory, one for each mode.
var lists = map[string]cniplugin.ConfIntent{
	"10-l2bridge.conflist": {Name: "cbr0", Plugin: "win-bridge", Mode: modes.L2Bridge, IPAM: hostLocal("10.244.1.0/24"), DNS: dns,
		Masquerade: true, Exceptions: []netip.Prefix{clusterCIDR, serviceCIDR}, LoopbackDSR: true, Policies: toServices},
	"10-l2tunnel.conflist": {Name: "azure", Plugin: "win-bridge", Mode: modes.L2Tunnel, IPAM: hostLocal("10.240.0.0/24"), DNS: dns,
		Masquerade: true, Exceptions: []netip.Prefix{netip.MustParsePrefix("10.240.0.0/16"), serviceCIDR}, LoopbackDSR: true, Policies: toServices},
	"10-overlay.conflist": {Name: "vxlan0", Plugin: "win-overlay", Mode: modes.Overlay, IPAM: hostLocal("10.244.1.0/24"), DNS: dns,
		Masquerade: true, Exceptions: []netip.Prefix{clusterCIDR, serviceCIDR}, LoopbackDSR: true, Policies: toServices},
	"10-transparent.conflist": {Name: "trans", Plugin: "win-transparent", Mode: modes.Transparent, IPAM: hostLocal("10.70.4.0/24"), DNS: dns,
		HNSNetwork: &cniplugin.HNSNetwork{Subnets: []netip.Prefix{netip.MustParsePrefix("10.70.4.0/24")}, Adapter: "Ethernet"}},
	"10-nat.conflist": {Name: "nat", Plugin: "nat", Mode: modes.NAT,
		HNSNetwork: &cniplugin.HNSNetwork{Subnets: []netip.Prefix{netip.MustParsePrefix("172.20.0.0/20")}}},
}

// The configurations are what the library writes.
func TestLists(t *testing.T) {
	golden.Update(t)
	for name, in := range lists {
		list, err := cniplugin.ConfList(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden.File(t, name, string(list))
	}
	files, err := filepath.Glob("*.conflist")
	if err != nil || len(files) != len(lists) {
		t.Errorf("%v, %v", files, err)
	}
}

// A pod comes up with each of them.
func TestPods(t *testing.T) {
	tool, err := toolbuild.HostLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range lists {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		h := emulator.New(nil)
		c := hns.New(h, nil)
		conf := pluginConf(t, data, t.TempDir())
		if in.HNSNetwork == nil { // made by the node's agent
			network := modes.NetworkIntent{Mode: in.Mode, Name: in.Name, Subnets: []netip.Prefix{netip.MustParsePrefix(subnetOf(t, in.IPAM))}}
			plan, err := modes.PlanNetwork(network)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Networks.Create(context.Background(), plan.Network); err != nil {
				t.Fatal(err)
			}
		}
		ns, err := c.Namespaces.Create(context.Background(), &hns.Namespace{})
		if err != nil {
			t.Fatal(err)
		}
		program := in.Mode
		if in.Plugin == "win-bridge" {
			program = modes.L2Bridge
		}
		p := &cniplugin.Plugin{Name: in.Plugin, Mode: program, Open: func(o *hns.Options) (*hns.Client, error) { return hns.New(h, o), nil }}
		args := &skel.CmdArgs{ContainerID: "pod-1", Netns: ns.ID.String(), IfName: "eth0", Path: filepath.Dir(tool), StdinData: conf}
		res, err := p.Add(context.Background(), args)
		if err != nil || len(res.IPs) != 1 {
			t.Errorf("%s: %v, %v", name, res, err)
		}
		if err := p.Del(context.Background(), args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func subnetOf(t *testing.T, ipam json.RawMessage) string {
	t.Helper()
	var i struct{ Subnet string }
	if err := json.Unmarshal(ipam, &i); err != nil {
		t.Fatal(err)
	}
	return i.Subnet
}

// pluginConf is what a runtime passes to the plugin of a list; its files go into dir.
func pluginConf(t *testing.T, list []byte, dir string) []byte {
	t.Helper()
	var l struct {
		CNIVersion string
		Name       string
		Plugins    []map[string]any
	}
	if err := json.Unmarshal(list, &l); err != nil || len(l.Plugins) != 1 {
		t.Fatalf("%s: %v", list, err)
	}
	conf := l.Plugins[0]
	conf["cniVersion"], conf["name"], conf["stateDir"] = l.CNIVersion, l.Name, dir
	if ipam, ok := conf["ipam"].(map[string]any); ok {
		ipam["dataDir"] = filepath.Join(dir, "leases")
	}
	out, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// manifest is what is looked at in hostprocess.json.
type manifest struct {
	Kind  string
	Items []struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
		Data             map[string]string
		Spec             struct {
			Template struct {
				Spec struct {
					HostNetwork     bool
					NodeSelector    map[string]string
					SecurityContext struct {
						WindowsOptions struct {
							HostProcess   bool
							RunAsUserName string
						}
					}
					Containers []struct {
						Image        string
						Command      []string
						VolumeMounts []struct{ Name, MountPath string }
					}
					Volumes []struct {
						Name      string
						ConfigMap struct{ Name string }
					}
				}
			}
		}
	}
}

// The manifest is whole: its parts name each other, it runs on the Windows nodes
// with the rights that the plugins need, and holds the configuration and the script
// that stand beside it.
func TestManifest(t *testing.T) {
	data, err := os.ReadFile("hostprocess.json")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if m.Kind != "List" || len(m.Items) != 2 || m.Items[0].Kind != "ConfigMap" || m.Items[1].Kind != "DaemonSet" {
		t.Fatalf("it has %+v", m)
	}
	conf, set := m.Items[0], m.Items[1]
	for _, name := range []string{"10-l2bridge.conflist", "install.ps1"} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := conf.Data[name]; got != strings.ReplaceAll(string(want), "\r\n", "\n") {
			t.Errorf("%s in the ConfigMap is not the file", name)
		}
	}
	spec := set.Spec.Template.Spec
	if !spec.HostNetwork || !spec.SecurityContext.WindowsOptions.HostProcess || spec.NodeSelector["kubernetes.io/os"] != "windows" ||
		!strings.EqualFold(spec.SecurityContext.WindowsOptions.RunAsUserName, `NT AUTHORITY\SYSTEM`) {
		t.Errorf("it is no HostProcess pod of Windows nodes: %+v", spec)
	}
	if len(spec.Volumes) != 1 || spec.Volumes[0].ConfigMap.Name != conf.Metadata.Name || set.Metadata.Namespace != conf.Metadata.Namespace ||
		len(spec.Containers) != 1 || len(spec.Containers[0].VolumeMounts) != 1 || spec.Containers[0].VolumeMounts[0].Name != spec.Volumes[0].Name {
		t.Errorf("the ConfigMap does not get into the container: %+v", spec)
	}
	mount := strings.TrimPrefix(spec.Containers[0].VolumeMounts[0].MountPath, "/")
	if !slices.ContainsFunc(spec.Containers[0].Command, func(s string) bool { return strings.Contains(s, mount+"/install.ps1;") }) {
		t.Errorf("the script does not run: %q", spec.Containers[0].Command)
	}
}

// The script and the recipe name containerd's directories, and the configuration
// goes last.
func TestScript(t *testing.T) {
	script, err := os.ReadFile("install.ps1")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{`C:\Program Files\containerd\cni\bin`, `C:\Program Files\containerd\cni\conf`} {
		if !bytes.Contains(script, []byte(dir)) || !bytes.Contains(readme, []byte(dir)) {
			t.Errorf("%s is not named", dir)
		}
	}
	if bin, conf := bytes.LastIndex(script, []byte("$bin")), bytes.LastIndex(script, []byte("$conf")); bin < 0 || conf < bin {
		t.Error("the configuration has to be written when the plugins are there")
	}
	for name := range lists {
		if !bytes.Contains(readme, []byte(name)) {
			t.Errorf("README.md does not name %s", name)
		}
	}
}
