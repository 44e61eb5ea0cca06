package cniplugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// confKeys are the keys that a configuration may have; those with a dot lie in
// the object before it, those with [] in a list of one.
var confKeys = []string{
	"cniVersion", "name", "type", "apiVersion", "capabilities", "prevResult", "unknown", "disableCheck",
	"ipam", "ipam.type", "ipam.subnet", "ipam.ranges", "ipam.dataDir", "ipam.routes", "ipam.gateway", "ipam.rangeStart", "ipam.rangeEnd",
	"dns", "dns.nameservers", "dns.search", "dns.domain", "dns.options",
	"policies", "policies[].name", "policies[].value", "policies[].value.Type", "policies[].value.Settings",
	"endpointMacPrefix", "ipMasq", "ipMasqNetwork", "ipMasqNetworks", "loopbackDSR",
	"runtimeConfig", "runtimeConfig.dns", "runtimeConfig.dns.servers", "runtimeConfig.dns.searches", "runtimeConfig.dns.options",
	"runtimeConfig.portMappings", "runtimeConfig.portMappings[].hostPort", "runtimeConfig.portMappings[].containerPort",
	"runtimeConfig.portMappings[].protocol", "runtimeConfig.portMappings[].hostIP",
	"args", "args.cni", "args.cni.ips",
	"runtimeConfig.ips", "runtimeConfig.ipRanges", "runtimeConfig.mac", "runtimeConfig.bandwidth",
	"timeout", "stateDir", "logFile", "logLevel", "cni.dev/valid-attachments", "cni.dev/attachments",
}

// oddValues are what somebody may write by mistake.
var oddValues = []string{
	`null`, `true`, `0`, `-1`, `1e400`, `4294967296`, `""`, `" "`, `"x"`, `"10.50.3.0/24"`, `"10.50.3.300"`, `"::1"`, `"\u0000"`, `"{{ .PodCIDR }}"`,
	`[]`, `[null]`, `[""]`, `["x", 1]`, `[[]]`, `[{}]`, `{}`, `{"": null}`, `{"x": {"x": []}}`,
	`"` + strings.Repeat("a", 5000) + `"`, strings.Repeat("[", 200) + strings.Repeat("]", 200),
}

// member writes a key with its value, with the objects and lists around it.
func member(key, value string) string {
	head, rest, nested := strings.Cut(key, ".")
	if strings.HasPrefix(key, "cni.dev/") {
		head, nested = key, false
	}
	if nested {
		value = "{" + member(rest, value) + "}"
	}
	if list, ok := strings.CutSuffix(head, "[]"); ok {
		head, value = list, "["+value+"]"
	}
	return fmt.Sprintf("%q: %s", head, value)
}

// TestEveryKey gives each key of a configuration each odd value, on Overlay with
// an IPAM that gives, and on L2Bridge with that of the configuration.
func TestEveryKey(t *testing.T) {
	for _, kind := range []byte{1, 2} {
		p := fuzzNode(t, kind).pod("sbx-01")
		for _, key := range confKeys {
			for _, value := range oddValues {
				if conf := config(`"name": "lake"`, member(key, value)); !writesElsewhere(conf) {
					addAndDel(t, p, conf)
				}
			}
		}
	}
}

// FuzzAddConf sends ADD whatever a configuration may hold. kind chooses mode and
// IPAM.
func FuzzAddConf(f *testing.F) {
	for i, key := range confKeys {
		f.Add(byte(i), config(`"name": "lake"`, member(key, oddValues[i%len(oddValues)])))
	}
	for i, tt := range badConfigs {
		f.Add(byte(i), config(`"name": "lake"`, tt.members))
	}
	f.Add(byte(0), config(`"name": "lake"`, `"ipam": {"type": "fake"}`, `"ipMasq": true`, `"loopbackDSR": true`))
	f.Add(byte(0), config(`"name": "lake"`, `"policies": [{"name": "EndpointPolicy", "value": {"Type": "ACL", "Settings": {"Action": "x"}}}]`))
	f.Add(byte(1), config(`"name": "lake"`, `"runtimeConfig": {"portMappings": [{"hostPort": 1, "containerPort": 2}, {"hostPort": 1, "containerPort": 3}]}`))
	f.Add(byte(2), config(`"name": "lake"`, `"ipam": null`, `"loopbackDSR": true`))
	f.Add(byte(2), config(`"name": "lake"`, `"ipam": {"type": "host-local", "subnet": "10.50.3.0/24"}`, `"runtimeConfig": {"ips": ["10.50.3.9"]}`))
	f.Add(byte(0), config(`"name": "lake"`, `"ipam": {"type": "fake"}`, `"prevResult": `+strings.ReplaceAll(earlierResult, "SANDBOX", "x")))
	f.Add(byte(0), config(`"name": "lake"`, `"NAME": "fjord"`, `"dns": {}`, `"DNS": {"Search": ["a"], "search": []}`))
	f.Fuzz(func(t *testing.T, kind byte, conf []byte) {
		if !writesElsewhere(conf) {
			addAndDel(t, fuzzNode(t, kind).pod("sbx-01"), conf)
		}
	})
}

// addAndDel wants no panic; an ADD that fails has a valid CNI error and leaves
// nothing, and one that succeeds can be taken back.
func addAndDel(t *testing.T, p *pod, conf []byte) {
	t.Helper()
	all := p.everything
	if c, err := cniplugin.ParseConfig(conf); err == nil && c.HNSNetwork != nil {
		// ADD may make or complete the network, and that stays.
		all = func() []string { return slices.Concat(p.state(), p.noteFiles()) }
	}
	before, args := all(), p.args(conf)
	args.Path = p.dir // without any IPAM plugin
	res, err := p.plugin.Add(context.Background(), args)
	if err == nil && (len(res.IPs) == 0 || res.Interfaces[len(res.Interfaces)-1].Name != "eth0") {
		t.Errorf("%s: result %v", conf, res)
	}
	if err != nil {
		wantCNIError(t, "ADD", err)
		if diff := cmp.Diff(before, all()); diff != "" || res != nil {
			t.Fatalf("%s: %v, result %v, left (-before +after):\n%s", conf, err, res, diff)
		}
	}
	if errDel := p.plugin.Del(context.Background(), args); errDel != nil {
		wantCNIError(t, "DEL", errDel)
		if err == nil {
			t.Fatalf("%s: DEL after ADD: %v", conf, errDel)
		}
	}
	if diff := cmp.Diff(before, all()); diff != "" {
		t.Fatalf("%s: after DEL (-before +after):\n%s", conf, diff)
	}
}

// writesElsewhere reports whether a configuration may name a place outside the
// test's directory.
func writesElsewhere(stdin []byte) bool {
	low := bytes.ToLower(stdin)
	if !bytes.Contains(low, []byte(`\u`)) && !bytes.Contains(low, []byte("statedir")) && !bytes.Contains(low, []byte("logfile")) {
		return false
	}
	var c struct{ StateDir, LogFile any } // names are matched ignoring case
	if json.Unmarshal(bytes.TrimPrefix(stdin, []byte("\ufeff")), &c) != nil {
		return true
	}
	if bytes.Count(low, []byte("statedir"))+bytes.Count(low, []byte("logfile")) > 1 {
		return true // of several spellings the one that counts is not for the test to know
	}
	for _, v := range []any{c.StateDir, c.LogFile} {
		if s, ok := v.(string); ok && s != "" {
			return true
		}
	}
	return false
}

// fuzzNode is an L2Bridge or an Overlay node, of even and odd kinds, with an IPAM
// that gives, or with that of the configuration.
func fuzzNode(t *testing.T, kind byte) *node {
	in := modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24")}
	if kind%2 == 1 {
		in.Mode = modes.Overlay
	}
	n := newNode(t, nil, "win-plugin", in)
	n.plugin.Open = func(*hns.Options) (*hns.Client, error) { return n.client, nil }
	if kind/2%2 == 1 {
		n.plugin.IPAM = nil
	}
	return n
}

// everything is all of HNS, the books of IPAM and the plugin's files.
func (n *node) everything() []string {
	s, err := n.hns.Snapshot()
	must(n.tb, err)
	text, err := s.Bytes()
	must(n.tb, err)
	return slices.Concat([]string{string(text)}, n.ipam.leases(), n.lockFiles(), n.noteFiles())
}

// wantCNIError wants what the CNI specification says of errors: a code that is not
// zero, and a text that JSON can hold.
func wantCNIError(t *testing.T, verb string, err error) {
	t.Helper()
	e := cniplugin.CNIError(err)
	text, errText := json.Marshal(e)
	var again struct {
		Code uint
		Msg  string
	}
	if errText == nil {
		errText = json.Unmarshal(text, &again)
	}
	if errText != nil || again.Code == 0 || again.Msg == "" || again.Msg != e.Msg || !utf8.ValidString(e.Msg) || len(text) > 64<<10 {
		t.Errorf("%s: no CNI error: %.200s, %v (of %v)", verb, text, errText, err)
	}
}
