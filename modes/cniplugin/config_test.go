package cniplugin_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

var compareConfig = []cmp.Option{
	cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}),
	cmpopts.IgnoreUnexported(cniplugin.Config{}, cniplugin.PortMapping{}, cniplugin.HNSNetwork{}),
	cmpopts.IgnoreFields(cniplugin.Config{}, "Raw"),
}

func TestParseConfig(t *testing.T) {
	yes := true
	tests := []struct {
		name string
		conf string
		want *cniplugin.Config
	}{
		{"the least", `{"name": "lake"}`, &cniplugin.Config{CNIVersion: "0.1.0", Name: "lake", Timeout: cniplugin.DefaultTimeout}},
		{"nulls are absent", `{"name": "lake", "ipam": null, "dns": null, "policies": null, "runtimeConfig": {"portMappings": null}, "ipMasq": null}`,
			&cniplugin.Config{CNIVersion: "0.1.0", Name: "lake", Timeout: cniplugin.DefaultTimeout}},
		{"names in any letter case", `{"CniVersion": "0.3.0", "Name": "lake", "Ipam": {"Type": "host-local"}, "ApiVersion": 2, "DNS": {"Nameservers": ["10.96.0.10"]}, "LoopbackDSR": true}`,
			&cniplugin.Config{CNIVersion: "0.3.0", Name: "lake", Timeout: cniplugin.DefaultTimeout, IPAM: json.RawMessage(`{"Type": "host-local"}`),
				IPAMType: "host-local", LoopbackDSR: true, DNS: types.DNS{Nameservers: []string{"10.96.0.10"}}}},
		{"everything", `{"cniVersion": "1.1.0", "name": "fjord", "type": "win-overlay", "apiVersion": 2, "unknown": {"key": [1]},
			"capabilities": {"portMappings": true, "dns": true},
			"ipam": {"type": "azure-ipam"}, "dns": {"nameservers": ["10.96.0.10"], "domain": "svc.test", "search": ["a.test"], "options": ["ndots:5"]},
			"policies": [{"Name": "endpointpolicy", "Value": {"type": "SDNROUTE", "settings": {"destinationPrefix": "10.96.0.0/12", "needEncap": true}}}],
			"endpointMacPrefix": "0e-2b", "ipMasq": true, "ipMasqNetwork": "10.60.1.2/16", "ipMasqNetworks": ["10.60.0.0/16", "", "10.96.0.0/12"],
			"loopbackDSR": true, "runtimeConfig": {"portMappings": [{"hostPort": 8088, "containerPort": 80, "protocol": "tcp"}], "ips": ["10.60.4.9"]},
			"timeout": "45s", "stateDir": "/state", "logFile": "/log", "logLevel": "debug", "prevResult": {"ips": []}}`,
			&cniplugin.Config{
				CNIVersion: "1.1.0", Name: "fjord", Type: "win-overlay", IPAM: json.RawMessage(`{"type": "azure-ipam"}`), IPAMType: "azure-ipam",
				DNS:       types.DNS{Nameservers: []string{"10.96.0.10"}, Domain: "svc.test", Search: []string{"a.test"}, Options: []string{"ndots:5"}},
				Policies:  []hns.EndpointPolicy{hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true}},
				MACPrefix: "0e-2b", Masquerade: &yes, MasqueradeExceptions: prefixes("10.60.0.0/16", "10.96.0.0/12"), LoopbackDSR: true,
				PortMappings: []cniplugin.PortMapping{{HostPort: 8088, ContainerPort: 80, Protocol: 6}}, IPs: prefixes("10.60.4.9/32"),
				Timeout: 45 * time.Second, StateDir: "/state", LogFile: "/log", PrevResult: json.RawMessage(`{"ips": []}`),
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cniplugin.ParseConfig([]byte(tt.conf))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, compareConfig...); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if string(got.Raw) != tt.conf {
				t.Errorf("Raw is %q", got.Raw)
			}
		})
	}
}

// badConfigs are configurations with one kind of fault each, as members beside
// or in place of the usual ones, and the paths of the complaints.
var badConfigs = []struct {
	name    string
	members string
	paths   []string
	text    string // to be in the message
}{
	{"no name", `"name": ""`, []string{"name"}, "missing"},
	{"name of no network", `"name": "../lake"`, []string{"name"}, "../lake"},
	{"version that nobody speaks", `"cniVersion": "9.9.9"`, []string{"cniVersion"}, "1.1.0"},
	// Which of two spellings counted was left to chance.
	{"key in two spellings", `"dns": {}, "DNS": {"search": ["a"]}`, []string{"DNS"}, `also as ["dns"]`},
	{"key in three", `"IPMasq": 1, "ipMasq": true, "ipmasq": 2`, []string{"IPMasq"}, `also as ["ipMasq" "ipmasq"]`},
	{"DNS member in two spellings", `"dns": {"search": ["a"], "Search": ["b"]}`, []string{"dns.Search"}, "twice"},
	{"capability in two spellings", `"runtimeConfig": {"dns": {}, "DNS": {"servers": ["10.96.0.10"]}}`, []string{"runtimeConfig.DNS"}, "twice"},
	{"port in two spellings", `"runtimeConfig": {"portMappings": [{"hostPort": 1, "HostPort": 2, "containerPort": 3}]}`,
		[]string{"runtimeConfig.portMappings[0].HostPort"}, "twice"},
	{"policy in two spellings", `"policies": [{"name": "EndpointPolicy", "Value": {}, "value": {"Type": "L2Driver"}}]`, []string{"policies[0].Value"}, "twice"},
	{"policy type in two spellings", `"policies": [{"name": "EndpointPolicy", "value": {"Type": "ACL", "type": "QOS"}}]`, []string{"policies[0].value.Type"}, "twice"},
	{"type is no text", `"type": 7`, []string{"type"}, "number"},
	// microsoft/hcsshim#1698, kubernetes-sigs/sig-windows-tools#102: the v1 API with a namespace.
	{"apiVersion 1", `"apiVersion": 1`, []string{"apiVersion"}, "CNI_NETNS"},
	{"apiVersion 3", `"apiVersion": 3`, []string{"apiVersion"}, "3"},
	{"apiVersion as text", `"apiVersion": "2"`, []string{"apiVersion"}, "string"},
	{"dns is a list", `"dns": []`, []string{"dns"}, "array"},
	{"nameserver by name", `"dns": {"nameservers": ["10.96.0.10", "kube-dns"]}`, []string{"dns.nameservers[1]"}, "kube-dns"},
	{"nameservers in one text", `"dns": {"Nameservers": "10.96.0.10"}`, []string{"dns.Nameservers"}, "10.96.0.10"},
	{"mark in the search list", `"dns": {"search": ["{%namespace%}.svc.test"]}`, []string{"dns.search[0]"}, "DNS suffix"},
	{"search list in one text", `"dns": {"search": ["svc.test,test"]}`, []string{"dns.search[0]"}, "svc.test,test"},
	{"blank in the domain", `"dns": {"domain": "svc test"}`, []string{"dns.domain"}, "svc test"},
	{"policies is an object", `"policies": {}`, []string{"policies"}, "object"},
	{"endpointMacPrefix on L2Bridge", `"endpointMacPrefix": "0E-2A"`, []string{"endpointMacPrefix"}, "Overlay"},
	{"endpointMacPrefix is no MAC", `"endpointMacPrefix": "zz-zz"`, []string{"endpointMacPrefix"}, "zz-zz"},
	{"endpointMacPrefix of a group", `"endpointMacPrefix": "01-00"`, []string{"endpointMacPrefix"}, "multicast"},
	{"ipMasq as text", `"ipMasq": "true"`, []string{"ipMasq"}, "string"},
	{"ipMasqNetwork too long", `"ipMasqNetwork": "10.50.0.0/33"`, []string{"ipMasqNetwork"}, "10.50.0.0/33"},
	{"mark in ipMasqNetworks", `"ipMasqNetworks": ["10.50.0.0/16", "<ServiceCIDR>"]`, []string{"ipMasqNetworks[1]"}, "<ServiceCIDR>"},
	{"number in ipMasqNetworks", `"ipMasqNetworks": [10]`, []string{"ipMasqNetworks[0]"}, "number"},
	{"loopbackDSR as text", `"loopbackDSR": "true"`, []string{"loopbackDSR"}, "string"},
	{"runtimeConfig is a list", `"runtimeConfig": []`, []string{"runtimeConfig"}, "array"},
	{"capability that nobody serves", `"runtimeConfig": {"infinibandGUID": "c2:11:22:33:44:55:66:77", "deviceID": "0000:03:02.3"}`,
		[]string{"runtimeConfig.deviceID", "runtimeConfig.infinibandGUID"}, "does not serve"},
	{"runtime's nameserver", `"runtimeConfig": {"dns": {"servers": ["nope"]}}`, []string{"runtimeConfig.dns.servers[0]"}, "nope"},
	{"timeout as number", `"timeout": 45`, []string{"timeout"}, "number"},
	{"timeout without unit", `"timeout": "45"`, []string{"timeout"}, "45s"},
	{"timeout in the past", `"timeout": "-1s"`, []string{"timeout"}, "-1s"},
	{"stateDir as number", `"stateDir": 7`, []string{"stateDir"}, "number"},
	{"logFile as list", `"logFile": ["x"]`, []string{"logFile"}, "array"},
	{"logLevel", `"logLevel": "loud"`, []string{"logLevel"}, "loud"},
	{"ipam as text", `"ipam": "host-local"`, []string{"ipam"}, "string"},
	{"ipam.type as number", `"ipam": {"type": 7}`, []string{"ipam.type"}, "number"},
	{"host port of two container ports", `"runtimeConfig": {"portMappings": [{"hostPort": 8088, "containerPort": 80}, {"hostPort": 8088, "containerPort": 80, "protocol": "udp"},
		{"hostPort": 8088, "containerPort": 81, "protocol": "TCP", "hostIP": "0.0.0.0"}]}`, []string{"runtimeConfig.portMappings[2].hostPort"}, "portMappings[0]"},
	{"timeout too short", `"timeout": "1ns"`, []string{"timeout"}, "1s"},
	{"relative stateDir", `"stateDir": "state"`, []string{"stateDir"}, "absolute"},
	{"relative logFile", `"logFile": "..\\log.txt"`, []string{"logFile"}, "absolute"},
	{"logFile of a drive's directory", `"logFile": "C:log.txt"`, []string{"logFile"}, "absolute"},
	{"several at once", `"apiVersion": 1, "timeout": "soon", "ipMasqNetwork": "x", "runtimeConfig": {"portMappings": [{"hostPort": -1, "containerPort": 70000}]}`,
		[]string{"timeout", "apiVersion", "ipMasqNetwork", "runtimeConfig.portMappings[0].hostPort", "runtimeConfig.portMappings[0].containerPort"}, ""},
}

// Every kind of bad value is found, with its path, before HNS or IPAM is asked for
// anything or a file is made.
func TestBadConfig(t *testing.T) {
	for _, tt := range badConfigs {
		t.Run(tt.name, func(t *testing.T) {
			n := newBridge(t, nil)
			p := n.pod("sbx-01")
			for verb, call := range map[string]func() error{
				"ADD":   func() error { _, err := p.add(tt.members); return err },
				"CHECK": func() error { return p.plugin.Check(t.Context(), p.args(p.config(tt.members))) },
			} {
				err := call()
				if codeOf(err) != types.ErrInvalidNetworkConfig || !errors.Is(err, hns.ErrInvalid) {
					t.Errorf("%s: code %d, want 7: %v", verb, codeOf(err), err)
					continue
				}
				if diff := cmp.Diff(tt.paths, paths(err)); diff != "" {
					t.Errorf("%s: paths (-want +got):\n%s", verb, diff)
				}
				if !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %q, want one line with %q", verb, err, tt.text)
				}
			}
			untouched(t, n)
		})
	}
}

// untouched fails the test if anything was asked of HNS or IPAM, or the lock
// taken.
func untouched(t *testing.T, n *node) {
	t.Helper()
	if calls := n.calls(); len(calls) > 0 {
		t.Errorf("HNS was asked: %v", calls)
	}
	if calls := n.ipam.asked(); len(calls) > 0 {
		t.Errorf("IPAM was asked: %v", calls)
	}
	if _, err := os.Stat(n.plugin.StateDir); err == nil {
		t.Error("the lock was taken")
	}
}

// What is wrong with the form has no path of ours, but a place.
func TestBadForm(t *testing.T) {
	tests := []struct {
		name, conf string
		code       uint
		text       string
	}{
		{"empty", ``, types.ErrDecodingFailure, "line 1 column 1"},
		{"cut off", "{\n  \"name\": \"lake\",\n", types.ErrDecodingFailure, "line 3"},
		{"a list", `[]`, types.ErrDecodingFailure, "array"},
		{"null", `null`, types.ErrInvalidNetworkConfig, "name"},
		{"no-break blank", "{\n\u00a0\"name\": \"lake\"}", types.ErrDecodingFailure, "U+00A0"},
		{"name as number", `{"name": 7}`, types.ErrInvalidNetworkConfig, "name (line 1"},
		{"version as number", `{"name": "lake", "cniVersion": 1}`, types.ErrInvalidNetworkConfig, "cniVersion (line 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newBridge(t, nil)
			args := n.pod("sbx-01").args([]byte(tt.conf))
			_, errAdd := n.plugin.Add(t.Context(), args)
			for verb, err := range map[string]error{"ADD": errAdd, "CHECK": n.plugin.Check(t.Context(), args), "DEL": n.plugin.Del(t.Context(), args)} {
				if codeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%s: code %d, %v; want code %d and %q", verb, codeOf(err), err, tt.code, tt.text)
				}
			}
			untouched(t, n)
		})
	}
}

// The IPAM part of the configuration is checked, too, where a plugin will read it.
func TestBadIPAMConfig(t *testing.T) {
	tests := []struct{ name, members, text string }{
		{"a path", `"ipam": {"type": "../evil"}`, "ipam.type"},
		{"host-local without ranges", `"ipam": {"type": "host-local"}`, "ipam"},
		{"host-local's subnet", `"ipam": {"type": "host-local", "subnet": "10.50.3.0"}`, "ipam.subnet"},
		{"host-local's range", `"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.50.3.0/24", "rangeStart": "10.50.4.1"}]]}`, "ipam.ranges[0][0]"},
		{"range by the runtime", `"ipam": {"type": "host-local"}, "runtimeConfig": {"ipRanges": [[{"subnet": "x"}]]}`, "runtimeConfig.ipRanges[0][0].subnet"},
		{"range by the runtime, and nobody to use it", `"ipam": null, "runtimeConfig": {"ipRanges": [[{"subnet": "10.50.3.0/24"}]]}`, "runtimeConfig.ipRanges"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newBridge(t, nil)
			n.plugin.IPAM = nil
			_, err := n.pod("sbx-01").add(tt.members)
			if codeOf(err) != types.ErrInvalidNetworkConfig || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("code %d, %v; want 7 and %q", codeOf(err), err, tt.text)
			}
			untouched(t, n)
		})
	}
}

// A stale subnet.env or configuration: addresses that are routed to another node
// (flannel-io/flannel#556). It is found before host-local gives one.
func TestRangeOutsideTheNetwork(t *testing.T) {
	tests := []struct{ ipam, runtime, path string }{
		{`{"type": "host-local", "subnet": "10.50.8.0/24"}`, `{}`, "ipam.subnet"},
		{`{"type": "host-local", "ranges": [[{"subnet": "10.50.3.0/24"}], [{"subnet": "10.51.0.0/16"}]]}`, `{}`, "ipam.ranges[1][0].subnet"},
		{`{"type": "host-local"}`, `{"ipRanges": [[{"subnet": "10.50.8.0/24"}]]}`, "runtimeConfig.ipRanges[0][0].subnet"},
	}
	for _, tt := range tests {
		n := newBridge(t, nil)
		n.plugin.IPAM = nil
		_, err := n.pod("sbx-01").add(`"ipam": `+tt.ipam, `"runtimeConfig": `+tt.runtime)
		if diff := cmp.Diff([]string{tt.path}, paths(err)); diff != "" || codeOf(err) != types.ErrInvalidNetworkConfig {
			t.Errorf("%s: code %d, %v, paths (-want +got):\n%s", tt.ipam, codeOf(err), err, diff)
		}
		if got := n.state(); len(got) > 0 {
			t.Errorf("%s: left %v", tt.ipam, got)
		}
	}
}

// DEL puts up with all that: the configuration may have been changed, or its
// runtime may be of another mind now, and the pod must go.
func TestDelPutsUpWithBadConfig(t *testing.T) {
	for _, tt := range badConfigs {
		if tt.paths[0] == "name" {
			continue // without it nobody knows what to delete
		}
		t.Run(tt.name, func(t *testing.T) {
			n := newBridge(t, nil)
			p := n.pod("sbx-01")
			p.mustAdd()
			p.mustDel(tt.members)
			if got := n.state(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
		})
	}
}

// An ipam that cannot be read, and nothing tells which it was: the endpoint goes,
// and the runtime hears that a lease may be left.
func TestDelWithUnreadableIPAM(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.mustAdd()
	n.notesWithoutIPAM()
	n.plugin.IPAM = nil // as a plugin that runs an IPAM plugin
	err := p.del(`"ipam": {"type": ["host-local"]}`)
	if diff := cmp.Diff([]string{"ipam.type"}, paths(err)); diff != "" || codeOf(err) != types.ErrInvalidNetworkConfig {
		t.Errorf("code %d, %v, paths (-want +got):\n%s", codeOf(err), err, diff)
	}
	if diff := cmp.Diff([]string{"lease sbx-01/eth0 10.50.3.3/24"}, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What the runtime puts into the environment.
func TestBadEnvironment(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	good := p.args(p.config())
	for variable, change := range map[string]func(){
		"CNI_CONTAINERID": func() { good.ContainerID = "../sbx" },
		"CNI_IFNAME":      func() { good.IfName = "eth/0" },
		"CNI_NETNS":       func() { good.Netns = "/var/run/netns/x" },
	} {
		saved := *good
		change()
		_, err := n.plugin.Add(t.Context(), good)
		if diff := cmp.Diff([]string{variable}, paths(err)); diff != "" || codeOf(err) != types.ErrInvalidEnvironmentVariables {
			t.Errorf("%s: code %d, %v, paths (-want +got):\n%s", variable, codeOf(err), err, diff)
		}
		*good = saved
	}
	untouched(t, n)
}

func TestPluginOfAnotherMode(t *testing.T) {
	n := newBridge(t, nil)
	n.plugin.Mode = "ICS" // of HNS, and none of the five
	if _, err := n.pod("sbx-01").add(); !errors.Is(err, hns.ErrUnsupported) {
		t.Errorf("error %v, want ErrUnsupported", err)
	}
	untouched(t, n)
}

func TestDefaultStateDir(t *testing.T) {
	if dir := cniplugin.DefaultStateDir(); !filepath.IsAbs(dir) || !strings.Contains(filepath.Base(dir), "hnskit") {
		t.Errorf("state in %q", dir)
	}
}

// FuzzParseConfig: whatever the input, no panic, errors have a code and say where,
// and what is accepted is accepted again when it comes back from its parts.
func FuzzParseConfig(f *testing.F) {
	for _, tt := range badConfigs {
		f.Add(config(`"name": "lake"`, tt.members))
	}
	f.Add([]byte(`{"name": "lake", "policies": [{"name": "EndpointPolicy", "value": {"Type": "NAT", "Protocol": "TCP", "InternalPort": 80, "ExternalPort": 8088}}]}`))
	f.Add([]byte(`{"name": "lake", "runtimeConfig": {"dns": {"searches": [""]}, "portMappings": [{"hostPort": 1, "containerPort": 2, "hostIP": "::1"}]}}`))
	f.Fuzz(func(t *testing.T, stdin []byte) {
		c, err := cniplugin.ParseConfig(stdin)
		if err != nil {
			if code := codeOf(err); code != types.ErrInvalidNetworkConfig && code != types.ErrDecodingFailure || c != nil {
				t.Fatalf("code %d: %v, %v", code, c, err)
			}
			return
		}
		again, err := cniplugin.ParseConfig(c.Raw)
		if err != nil {
			t.Fatalf("accepted, and then refused: %v", err)
		}
		if diff := cmp.Diff(c, again, compareConfig...); diff != "" {
			t.Errorf("read differently the second time:\n%s", diff)
		}
		for i, p := range c.Policies {
			if err := hns.CheckEndpointPolicy(p); err != nil {
				t.Errorf("policy %d was accepted, but may not be sent: %v", i, err)
			}
		}
		for _, p := range c.MasqueradeExceptions {
			if p != p.Masked() {
				t.Errorf("exception %s has host bits", p)
			}
		}
		if c.Timeout <= 0 || c.Name == "" {
			t.Errorf("timeout %v, name %q", c.Timeout, c.Name)
		}
	})
}

// OpenShift's bootstrapper wrote every key in capitals, and libcni puts its own
// beside them: that is not an error.
func TestKeysOfTheRuntime(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.mustAdd(`"CniVersion": "0.1.0", "Name": "pond", "NAME": "other", "RuntimeConfig": {"x": 1}, "runtimeConfig": {}`)
	p.mustDel()
	// Without the exact one it is.
	if _, err := p.add(`"RuntimeConfig": {}, "RUNTIMECONFIG": {}`); codeOf(err) != types.ErrInvalidNetworkConfig {
		t.Errorf("code %d, %v; want 7", codeOf(err), err)
	}
}

// The exact spelling counts for DEL, which must not fail, and keys of others may
// be spelled as they like.
func TestExactSpelling(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	state := t.TempDir()
	for range 20 { // it was chance
		p.mustAdd(`"foo": 1, "FOO": 2`)
		p.mustDel(`"STATEDIR": 7, "stateDir": ` + quote(t, state) + `, "StateDir": "/nowhere/at/all"`)
		if got := n.state(); len(got) > 0 {
			t.Fatalf("left %v", got)
		}
	}
	if _, err := os.Stat(filepath.Join(state, "locks")); err != nil {
		t.Error(err)
	}
}

// An ipam object whose type was forgotten: what only an IPAM plugin would read is
// refused, and what Microsoft's samples have in theirs is not.
func TestIPAMWithoutType(t *testing.T) {
	n := newBridge(t, nil)
	n.plugin.IPAM = nil
	p := n.pod("sbx-01")
	member := `"ipam": {"ranges": [[{"subnet": "10.50.3.0/24"}]], "Gateway": "10.50.3.9", "rangeStart": "10.50.3.40", "rangeEnd": "10.50.3.50",
		"dns": {"nameservers": ["10.96.0.10"]}, "dataDir": "/x"}`
	_, err := p.add(member)
	want := []string{"ipam.Gateway", "ipam.dataDir", "ipam.dns", "ipam.rangeEnd", "ipam.rangeStart", "ipam.ranges"}
	if diff := cmp.Diff(want, paths(err)); codeOf(err) != types.ErrInvalidNetworkConfig || diff != "" || !strings.Contains(err.Error(), "ipam.type") {
		t.Errorf("code %d, %v; paths (-want +got):\n%s", codeOf(err), err, diff)
	}
	if calls := n.calls(); len(calls) > 0 {
		t.Errorf("asked HNS for %v", calls)
	}
	p.mustAdd(`"ipam": {"environment": "azure", "Subnet": "10.50.3.0/24", "routes": [{"GW": "10.50.3.1"}], "type": "", "ranges": [], "gateway": null}`)
}

// Mappings that are there twice are one, and paths that are absolute on Windows or
// elsewhere are taken.
func TestParseConfigTakes(t *testing.T) {
	c, err := cniplugin.ParseConfig([]byte(`{"name": "lake", "runtimeConfig": {"portMappings": [
		{"hostPort": 8088, "containerPort": 80, "hostIP": "0.0.0.0"}, {"hostPort": 8088, "containerPort": 80, "protocol": "tcp", "hostIP": "::"},
		{"hostPort": 8088, "containerPort": 81, "hostIP": "192.0.2.10"}, {"hostPort": 8088, "containerPort": 81, "protocol": "udp"}]}}`))
	if err != nil || len(c.PortMappings) != 3 {
		t.Errorf("%v, %v; want 3 mappings", c, err)
	}
	for _, dir := range []string{"/state", `C:\\state`, "c:/state", `\\\\server\\share\\state`} {
		if _, err := cniplugin.ParseConfig([]byte(`{"name": "lake", "timeout": "1s", "stateDir": "` + dir + `", "logFile": "` + dir + `"}`)); err != nil {
			t.Error(err)
		}
	}
}
