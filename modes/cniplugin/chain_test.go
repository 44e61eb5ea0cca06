package cniplugin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"
)

// earlierResult is what an earlier plugin of a chain made: an interface of its own in
// the sandbox, and one of the node.
const earlierResult = `{"cniVersion": "1.0.0",
 "interfaces": [{"name": "br0", "mac": "02:00:00:00:00:01"}, {"name": "storage0", "mac": "02:00:00:00:00:02", "sandbox": "SANDBOX"}],
 "ips": [{"address": "10.90.0.5/24", "gateway": "10.90.0.1", "interface": 1}, {"address": "10.91.0.5/24"}],
 "routes": [{"dst": "10.92.0.0/16", "gw": "10.90.0.1"}],
 "dns": {"nameservers": ["10.90.0.53"], "domain": "storage.local", "search": ["storage.local"]}}`

// As a later plugin of a chain: the result holds what the earlier ones made, as it was,
// and then ours (CNI specification, "ADD"). CHECK of the whole, and DEL, work.
func TestChained(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	prev := `"prevResult": ` + strings.ReplaceAll(earlierResult, "SANDBOX", p.namespace.String())
	dns := `"dns": {"nameservers": ["10.96.0.10"], "search": ["svc.cluster.local", "storage.local"]}`
	res := p.mustAdd(prev, dns)
	mac := strings.ToLower(strings.ReplaceAll(p.endpoint().MAC.String(), "-", ":"))
	sandbox := p.namespace.String()
	want := `{"cniVersion":"1.1.0","interfaces":[{"name":"br0","mac":"02:00:00:00:00:01"},` +
		`{"name":"storage0","mac":"02:00:00:00:00:02","sandbox":"` + sandbox + `"},{"name":"eth0","mac":"` + mac + `","sandbox":"` + sandbox + `"}],` +
		`"ips":[{"interface":1,"address":"10.90.0.5/24","gateway":"10.90.0.1"},{"address":"10.91.0.5/24"},` +
		`{"interface":2,"address":"10.50.3.3/24","gateway":"10.50.3.2"}],` +
		`"routes":[{"dst":"10.92.0.0/16","gw":"10.90.0.1"},{"dst":"0.0.0.0/0","gw":"10.50.3.2"}],` +
		`"dns":{"nameservers":["10.96.0.10","10.90.0.53"],"domain":"storage.local","search":["svc.cluster.local","storage.local"]}}`
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, want), decoded(t, string(text))); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if again := p.mustAdd(prev, dns); cmp.Diff(res, again) != "" {
		t.Errorf("repeated (-first +second):\n%s", cmp.Diff(res, again))
	}
	for _, members := range [][]string{{dns}, nil} { // without ours, DNS may be anybody's
		if err := p.check(res, members...); err != nil {
			t.Error(err)
		}
	}
	p.mustDel(dns)
	if left := append(n.state(), n.noteFiles()...); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// What is wrong with the result of the earlier plugins is an error before anything is
// made; an interface of the pod's name must not be there (specification, "ADD").
func TestBadChain(t *testing.T) {
	tests := []struct{ name, version, prev, path string }{
		{"taken", "1.0.0", `{"interfaces": [{"name": "br0"}, {"name": "eth0", "sandbox": "x"}]}`, "prevResult.interfaces[1].name"},
		{"a list", "1.0.0", `[]`, "prevResult"},
		{"an address of nothing", "1.0.0", `{"ips": [{"address": "10.90.0.5/24", "interface": 0}]}`, "prevResult.ips[0].interface"},
		{"a null", "1.0.0", `{"ips": [null]}`, "prevResult.ips[0]"},
		{"no room", "0.2.0", `{"ip4": {"ip": "10.90.0.5/24"}}`, "prevResult"},
	}
	for _, tt := range tests {
		n := newBridge(t, nil)
		prev := tt.prev
		if strings.HasPrefix(prev, "{") {
			prev = `{"cniVersion": "` + tt.version + `", ` + prev[1:]
		}
		_, err := n.pod("sbx-01").add(`"cniVersion": "`+tt.version+`"`, `"prevResult": `+prev)
		if codeOf(err) != types.ErrInvalidNetworkConfig {
			t.Errorf("%s: code %d, %v; want 7", tt.name, codeOf(err), err)
		}
		if diff := cmp.Diff([]string{tt.path}, paths(err)); diff != "" {
			t.Errorf("%s: paths (-want +got):\n%s", tt.name, diff)
		}
		if len(n.calls())+len(n.ipam.asked()) > 0 {
			t.Errorf("%s: something was done", tt.name)
		}
	}
	// An interface of the node may have the name, and an empty result is one.
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.mustAdd(`"prevResult": {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0"}]}`)
	p.mustDel()
	p.mustAdd(`"cniVersion": "0.2.0"`, `"prevResult": {"cniVersion": "0.2.0"}`)
}
