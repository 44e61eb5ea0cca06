package delegate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/subnetenv"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// env is what flanneld wrote in most tests.
func env(changes ...func(*subnetenv.Env)) *subnetenv.Env {
	e := &subnetenv.Env{
		Networks: []netip.Prefix{netip.MustParsePrefix("10.50.0.0/16")},
		Subnet:   netip.MustParsePrefix("10.50.3.1/24"),
		MTU:      1450,
		IPMasq:   true,
	}
	for _, change := range changes {
		change(e)
	}
	return e
}

func withIPv6(e *subnetenv.Env) {
	e.IPv6Networks = []netip.Prefix{netip.MustParsePrefix("fd00:50::/48")}
	e.IPv6Subnet = netip.MustParsePrefix("fd00:50:0:3::1/64")
}

func withoutIPv4(e *subnetenv.Env) { e.Networks, e.Subnet = nil, netip.Prefix{} }

func noMasq(e *subnetenv.Env) { e.IPMasq = false }

func parse(t *testing.T, conf string) *delegate.Config {
	t.Helper()
	cfg, err := delegate.Parse([]byte(conf))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// build returns the members of what Build makes of conf.
func build(t *testing.T, conf string, e *subnetenv.Env, opts *delegate.Options) map[string]any {
	t.Helper()
	out, err := delegate.Build(parse(t, conf), e, opts)
	if err != nil {
		t.Fatal(err)
	}
	return members(t, out)
}

func members(t *testing.T, out []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return m
}

// Each testdata/build/NAME.conf with NAME.env gives NAME.golden.
//
//   - ipam: containernetworking/cni#333 (routes), containernetworking/plugins#619
//     (dataDir must reach host-local).
//   - two-networks: flannel-io/flannel#2454, all networks are exceptions.
//   - masq-off: kubernetes-sigs/sig-windows-tools#104.
//   - win-overlay-from-list: containernetworking/plugins#24, cniVersion goes on.
func TestBuildGolden(t *testing.T) {
	confs, err := filepath.Glob("testdata/build/*.conf")
	if err != nil || len(confs) == 0 {
		t.Fatal("no test data", err)
	}
	for _, path := range confs {
		base := strings.TrimSuffix(path, ".conf")
		t.Run(filepath.Base(base), func(t *testing.T) {
			conf, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			e, err := subnetenv.Read(base + ".env")
			if err != nil {
				t.Fatal(err)
			}
			out, err := delegate.Build(parse(t, string(conf)), e, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, out, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			if golden.Update(t) {
				if err := os.WriteFile(base+".golden", got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(base + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("Build (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBuildCNIVersion(t *testing.T) {
	for _, tt := range []struct{ outer, inner, want string }{
		{`"cniVersion":"0.3.1",`, "", "0.3.1"},
		{`"cniVersion":"1.0.0",`, "", "1.0.0"},
		{`"cniVersion":"1.1.0",`, "", "1.1.0"},
		{`"cniVersion":"1.1.0",`, `"cniVersion":"1.1.0",`, "1.1.0"},
		{`"cniVersion":"",`, "", delegate.DefaultCNIVersion},
		{"", "", delegate.DefaultCNIVersion},
		{"", `"cniVersion":"0.4.0",`, "0.4.0"},
	} {
		conf := `{` + tt.outer + `"name":"lake","delegate":{` + tt.inner + `"type":"win-bridge"}}`
		if got := build(t, conf, env(), nil)["cniVersion"]; got != tt.want {
			t.Errorf("%s: cniVersion %v, want %s", conf, got, tt.want)
		}
	}
}

// kubernetes-sigs/sig-windows-tools#104: with FLANNEL_IPMASQ=false no member may
// be there that win-bridge takes for a wish to NAT, whoever asks.
func TestBuildMasquerade(t *testing.T) {
	tests := []struct {
		name, members string
		env           *subnetenv.Env
		masq          bool
		network       any
	}{
		{"on", ``, env(), true, "10.50.0.0/16"},
		{"off", ``, env(noMasq), false, nil},
		{"off by the user", `"ipMasq":false,`, env(), false, nil},
		{"on by the user", `"ipMasq":true,`, env(noMasq), true, "10.50.0.0/16"},
		{"null is not set", `"ipMasq":null,`, env(), true, "10.50.0.0/16"},
		{"the user's own network", `"ipMasqNetwork":"10.0.0.0/8",`, env(), true, "10.0.0.0/8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := build(t, `{"name":"lake","delegate":{`+tt.members+`"type":"win-bridge"}}`, tt.env, nil)
			_, list := got["ipMasqNetworks"]
			if got["ipMasq"] != tt.masq || got["ipMasqNetwork"] != tt.network || list != tt.masq {
				t.Errorf("ipMasq %v, ipMasqNetwork %v, ipMasqNetworks %v", got["ipMasq"], got["ipMasqNetwork"], got["ipMasqNetworks"])
			}
		})
	}
}

// The first pod must not get the host's endpoint, which is its gateway.
func TestBuildKeepsGatewayFree(t *testing.T) {
	tests := []struct {
		typ, ipam, subnet string
		want              any
	}{
		{"win-bridge", "{}", "10.50.3.1/24", "10.50.3.3"},
		{"WIN-BRIDGE.exe", "{}", "10.50.3.1/24", "10.50.3.3"},
		{"sdnbridge", "{}", "10.50.3.0/29", "10.50.3.3"},
		{"win-bridge", `{"rangeStart":"10.50.3.9"}`, "10.50.3.1/24", "10.50.3.9"},
		{"win-bridge", `{"type":"host-local.exe"}`, "10.50.3.1/24", "10.50.3.3"},
		{"win-bridge", `{"type":"lease-server"}`, "10.50.3.1/24", nil},
		{"win-overlay", "{}", "10.50.3.1/24", nil},
		{"mine", "{}", "10.50.3.1/30", nil},
	}
	for _, tt := range tests {
		conf := `{"name":"lake","delegate":{"type":"` + tt.typ + `"},"ipam":` + tt.ipam + `}`
		got := build(t, conf, env(func(e *subnetenv.Env) { e.Subnet = netip.MustParsePrefix(tt.subnet) }), nil)
		if start := got["ipam"].(map[string]any)["rangeStart"]; start != tt.want {
			t.Errorf("%s in %s: rangeStart %v, want %v", conf, tt.subnet, start, tt.want)
		}
	}

	small := env(func(e *subnetenv.Env) { e.Subnet = netip.MustParsePrefix("10.50.3.1/30") })
	_, err := delegate.Build(parse(t, `{"name":"lake","delegate":{"type":"win-bridge"}}`), small, nil)
	if err == nil || !strings.Contains(err.Error(), "10.50.3.0/30") {
		t.Errorf("win-bridge in a /30: error %v, want one that names the subnet", err)
	}
}

// flannel-io/flannel#1985 and #1789: the three stack modes, none of which may
// panic or lose a family without a word.
func TestBuildFamilies(t *testing.T) {
	const bridge, overlay, ours = `{"type":"win-bridge"}`, `{"type":"win-overlay"}`, `{"type":"mine"}`
	tests := []struct {
		name, delegate string
		extra          string
		env            *subnetenv.Env
		opts           *delegate.Options
		want           error
		ranges         bool // the IPv6 subnet reaches the IPAM plugin
	}{
		{"IPv4 on bridge", bridge, "", env(), nil, nil, false},
		{"both on bridge", bridge, "", env(withIPv6), nil, nil, true},
		{"both on a plugin of the user's", ours, "", env(withIPv6), nil, nil, true},
		{"both on bridge, IPv4 wanted", bridge, "", env(withIPv6), &delegate.Options{IPv4Only: true}, nil, false},
		{"both on overlay", overlay, "", env(withIPv6), nil, delegate.ErrOverlayIPv6, false},
		{"both on overlay, IPv4 wanted", overlay, "", env(withIPv6), &delegate.Options{IPv4Only: true}, nil, false},
		{"both on overlay, IPv4 wanted by the node", overlay, `,"ipv4Only":true`, env(withIPv6), nil, nil, false},
		{"IPv6 on bridge", bridge, "", env(withIPv6, withoutIPv4), nil, delegate.ErrIPv6Only, false},
		{"IPv6 on bridge, IPv4 wanted", bridge, "", env(withIPv6, withoutIPv4), &delegate.Options{IPv4Only: true}, delegate.ErrIPv6Only, false},
		{"half a family", bridge, "", env(func(e *subnetenv.Env) { e.Subnet = netip.Prefix{} }), nil, subnetenv.ErrNotReady, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := parse(t, `{"name":"lake","delegate":`+tt.delegate+tt.extra+`}`)
			out, err := delegate.Build(cfg, tt.env, tt.opts)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			ipam := members(t, out)["ipam"].(map[string]any)
			if _, ok := ipam["ranges"]; ok != tt.ranges || ipam["subnet"] != "10.50.3.0/24" {
				t.Errorf("ipam %v", ipam)
			}
		})
	}
}

func TestBuildErrors(t *testing.T) {
	tests := []struct {
		name, conf string
		want       []string // paths of all complaints
	}{
		{"no delegate", `{"name":"lake"}`, []string{"delegate"}},
		{"null delegate", `{"name":"lake","delegate":null}`, []string{"delegate"}},
		{"empty type", `{"name":"lake","delegate":{"type":""}}`, []string{"delegate.type"}},
		// containernetworking/cni#333 and containernetworking/plugins#532.
		{"type is a number", `{"name":"lake","delegate":{"type":7}}`, []string{"delegate.type"}},
		{"type is a path", `{"name":"lake","delegate":{"type":"..\\evil"}}`, []string{"delegate.type"}},
		{"type is flannel", `{"name":"lake","delegate":{"Type":"Flannel.exe"}}`, []string{"delegate.Type"}},
		{"name", `{"name":"lake","delegate":{"Name":"pond"}}`, []string{"delegate.Name"}},
		{"ipam", `{"name":"lake","delegate":{"ipam":null}}`, []string{"delegate.ipam"}},
		{"what is the runtime's", `{"name":"lake","delegate":{"prevResult":{},"args":{}}}`, []string{"delegate.prevResult", "delegate.args"}},
		{"another cniVersion", `{"name":"lake","cniVersion":"1.0.0","delegate":{"cniVersion":"0.2.0"}}`, []string{"delegate.cniVersion"}},
		{"mtu", `{"name":"lake","delegate":{"mtu":"1450"}}`, []string{"delegate.mtu"}},
		{"mtu out of range", `{"name":"lake","delegate":{"mtu":65536}}`, []string{"delegate.mtu"}},
		{"ipMasq", `{"name":"lake","delegate":{"ipMasq":"true"}}`, []string{"delegate.ipMasq"}},
		{"NAT without ipMasq", `{"name":"lake","delegate":{"ipMasq":false,"ipMasqNetwork":"10.0.0.0/8","ipMasqNetworks":["10.0.0.0/8"]}}`,
			[]string{"delegate.ipMasqNetwork", "delegate.ipMasqNetworks"}},
		{"ipMasqNetworks", `{"name":"lake","delegate":{"ipMasqNetwork":"x","ipMasqNetworks":["10.0.0.0/8",7,null]}}`,
			[]string{"delegate.ipMasqNetwork", "delegate.ipMasqNetworks[1]", "delegate.ipMasqNetworks[2]"}},
		{"ipam type", `{"name":"lake","delegate":{},"ipam":{"type":[]}}`, []string{"ipam.type"}},
		{"ipam empty type", `{"name":"lake","delegate":{},"ipam":{"type":" "}}`, []string{"ipam.type"}},
		{"ipam of another subnet", `{"name":"lake","delegate":{},"ipam":{"subnet":"10.50.4.0/24"}}`, []string{"ipam.subnet"}},
		{"ipam ranges", `{"name":"lake","delegate":{},"ipam":{"ranges":[[{"subnet":"10.50.4.0/24"}]]}}`, []string{"ipam.ranges"}},
		{"ipam, all at once", `{"name":"lake","delegate":{},"ipam":{"dataDir":7,"Subnet":"x","rangeStart":"10.50.3.0/24","gateway":1,
			"routes":[{"gw":"10.50.3.2"},{"dst":"nope"},7,{"dst":"10.0.0.0/8","GW":"nope"}]}}`,
			[]string{"ipam.dataDir", "ipam.Subnet", "ipam.rangeStart", "ipam.gateway",
				"ipam.routes[0].dst", "ipam.routes[1].dst", "ipam.routes[2]", "ipam.routes[3].GW"}},
		{"ipam routes", `{"name":"lake","delegate":{},"ipam":{"routes":{}}}`, []string{"ipam.routes"}},
		{"runtimeConfig of the delegate", `{"name":"lake","runtimeConfig":{},"delegate":{"runtimeConfig":[]}}`, []string{"delegate.runtimeConfig"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := delegate.Build(parse(t, tt.conf), env(), nil)
			if err == nil {
				t.Fatalf("accepted: %s", out)
			}
			if diff := cmp.Diff(tt.want, paths(err)); diff != "" {
				t.Errorf("paths (-want +got):\n%s\n%v", diff, err)
			}
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "lake") {
				t.Errorf("error %q, want one line that names the network", err)
			}
		})
	}
}

// paths lists the paths of all FieldErrors in err.
func paths(err error) []string {
	switch e := err.(type) {
	case *delegate.FieldError:
		return []string{e.Path}
	case interface{ Unwrap() error }:
		return paths(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []string
		for _, err := range e.Unwrap() {
			all = append(all, paths(err)...)
		}
		return all
	}
	return nil
}

func TestRequireType(t *testing.T) {
	opts := &delegate.Options{RequireType: true}
	for conf, want := range map[string]bool{
		`{"name":"lake","delegate":{}}`:                   false,
		`{"name":"lake","delegate":{"type":null}}`:        false,
		`{"name":"lake","delegate":{"TYPE":"sdnbridge"}}`: true,
	} {
		cfg := parse(t, conf)
		if err := cfg.Validate(opts); (err == nil) != want {
			t.Errorf("%s: Validate: %v", conf, err)
		}
		if err := cfg.Validate(nil); err != nil {
			t.Errorf("%s: Validate without options: %v", conf, err)
		}
		if _, err := delegate.Build(cfg, env(), opts); (err == nil) != want {
			t.Errorf("%s: Build: %v", conf, err)
		}
		if _, err := delegate.Rebuild(cfg, opts); (err == nil) != want {
			t.Errorf("%s: Rebuild: %v", conf, err)
		}
	}
}

// A Config need not come from Parse; what it holds is checked all the same.
func TestConfigMadeByHand(t *testing.T) {
	cfg := &delegate.Config{Name: "lake", Delegate: map[string]json.RawMessage{}}
	if _, err := delegate.Build(cfg, env(), nil); err != nil {
		t.Errorf("a good one: %v", err)
	}
	if _, err := delegate.Build(cfg, nil, nil); err == nil {
		t.Error("no error without subnet.env")
	}
	bad := &delegate.Config{Delegate: map[string]json.RawMessage{"x": []byte("{")}, PrevResult: []byte("nope")}
	_, err := delegate.Build(bad, env(), nil)
	if diff := cmp.Diff(map[string]bool{"name": true, "delegate.x": true, "prevResult": true}, set(paths(err))); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func set(list []string) map[string]bool {
	m := make(map[string]bool)
	for _, s := range list {
		m[s] = true
	}
	return m
}

func TestBuildChangesNoArgument(t *testing.T) {
	const conf = `{"name":"lake","delegate":{"Type":"win-bridge"},"ipam":{"routes":[{"dst":"10.96.0.0/12"}]},"runtimeConfig":{"a":1}}`
	cfg, e := parse(t, conf), env(withIPv6)
	first, err := delegate.Build(cfg, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parse(t, conf), cfg); diff != "" {
		t.Errorf("Build changed the configuration:\n%s", diff)
	}
	for range 20 { // maps are walked in another order each time
		again, err := delegate.Build(cfg, e, nil)
		if err != nil || !bytes.Equal(first, again) {
			t.Fatalf("%s, %v; want %s again", again, err, first)
		}
	}
}
