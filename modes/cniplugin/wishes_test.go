package cniplugin_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// Where HNS gives the addresses, what the older ways of the CNI conventions ask
// for counts as the capability ips does.
func TestWishesWithoutIPAM(t *testing.T) {
	tests := []struct {
		name, members, args string
		want                string // the address, or part of the error
		path                string
		code                uint
	}{
		{"args", `"args": {"cni": {"ips": ["172.30.0.77"]}}`, "", "172.30.0.77/20", "", 0},
		{"CNI_ARGS", `"args": null`, "IgnoreUnknown=1;IP=172.30.0.77/20;K8S_POD_NAME=web", "172.30.0.77/20", "", 0},
		{"all of one mind", `"runtimeConfig": {"ips": ["172.30.0.77/20"]}, "args": {"cni": {"ips": ["172.30.0.77"]}}`, "IP=172.30.0.77", "172.30.0.77/20", "", 0},
		{"the length comes last", `"args": {"cni": {"ips": ["172.30.0.77"]}}`, "IP=172.30.0.77/20", "172.30.0.77/20", "", 0},
		{"other args", `"args": {"cni": {"labels": [{"key": "app", "value": "web"}]}, "org.example": [1]}`, "IP=;K8S_POD_NAME=web", "172.30.0.2/20", "", 0},
		{"two minds", `"runtimeConfig": {"ips": ["172.30.0.77"]}, "args": {"cni": {"ips": ["172.30.0.78"]}}`, "", "beside runtimeConfig.ips[0]", "args.cni.ips[0]", 7},
		{"two minds of CNI_ARGS", `"args": {"cni": {"ips": ["172.30.0.78"]}}`, "IP=172.30.0.79", "beside args.cni.ips[0]", "CNI_ARGS.IP", 4},
		{"two lengths", `"args": {"cni": {"ips": ["172.30.0.78/20"]}}`, "IP=172.30.0.78/21", "beside args.cni.ips[0]", "CNI_ARGS.IP", 4},
		{"no address", `"args": {"cni": {"ips": ["", "web"]}}`, "", "not an IP address", "args.cni.ips[1]", 7},
		{"no address in CNI_ARGS", `"args": {}`, "IP=172.30.0", "not an IP address", "CNI_ARGS.IP", 4},
		{"no list", `"args": {"cni": {"ips": "172.30.0.77"}}`, "", "string", "args.cni.ips", 7},
		{"outside", `"args": {"cni": {"ips": ["10.9.0.7"]}}`, "", "outside", "args.cni.ips[0]", 7},
		{"outside, in CNI_ARGS", `"args": {}`, "IP=10.9.0.7", "outside", "CNI_ARGS.IP", 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newMode(t, modes.NAT, nil)
			n.plugin.IPAM = nil
			p := n.pod("sbx-01")
			args := p.args(p.config(`"ipam": null`, tt.members))
			args.Args = tt.args
			res, err := n.plugin.Add(t.Context(), args)
			if tt.path != "" {
				if diff := cmp.Diff([]string{tt.path}, paths(err)); diff != "" || codeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("code %d, %v; want %d, %q; paths (-want +got):\n%s", codeOf(err), err, tt.code, tt.want, diff)
				}
				if got := n.state(); len(got) > 0 {
					t.Errorf("left %v", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := addresses(res); len(got) != 1 || got[0].String() != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
			if again, err := n.plugin.Add(t.Context(), args); err != nil || cmp.Diff(res, again) != "" {
				t.Errorf("repeated ADD: %v\n%s", err, cmp.Diff(res, again))
			}
		})
	}
}

// An IPAM gets them as they came, and what it makes of them is its own business.
func TestWishesWithIPAM(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	args := p.args(p.config(`"args": {"cni": {"ips": "as you like"}}`))
	args.Args = "IP=anything"
	if _, err := n.plugin.Add(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(args.StdinData), string(n.ipam.configs[0])); diff != "" {
		t.Errorf("configuration of IPAM (-want +got):\n%s", diff)
	}
	if got := p.endpoint().Addresses(); len(got) != 1 || got[0] != prefixes("10.50.3.3/24")[0].Addr() {
		t.Errorf("got %v", got)
	}
}

// STATUS finds a wish that no ADD could meet.
func TestStatusOfWishes(t *testing.T) {
	n := newMode(t, modes.NAT, nil)
	n.plugin.IPAM = nil
	p := n.pod("sbx-01")
	err := n.plugin.Status(t.Context(), p.args(p.config(`"ipam": null`, `"args": {"cni": {"ips": ["web"]}}`)))
	if codeOf(err) != 7 || len(hns.FieldErrors(err)) != 1 {
		t.Errorf("code %d, %v; want 7 and the path", codeOf(err), err)
	}
}
