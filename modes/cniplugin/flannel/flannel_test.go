package flannel_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/subnetenv"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// A whole life with the delegate inside: what is there after each verb.
func TestLife(t *testing.T) {
	n := newNode(t)
	args := n.pod("sbx-01")
	res := n.add(args)
	want := []string{"endpoint sbx-01_cbr0 [10.50.3.3]", "file sbx-01@cbr0@eth0.json", "lease cbr0/sbx-01/eth0 10.50.3.3/24"}
	if diff := cmp.Diff(want, n.state()); diff != "" {
		t.Errorf("ADD (-want +got):\n%s", diff)
	}
	if got := res.IPs[0].Address.String() + " via " + res.IPs[0].Gateway.String(); got != "10.50.3.3/24 via 10.50.3.2" {
		t.Errorf("result %s", got)
	}
	if diff := cmp.Diff(res, n.add(args)); diff != "" {
		t.Errorf("repeated ADD (-first +second):\n%s", diff)
	}
	if err := n.plugin.Check(t.Context(), n.withResult(args)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, n.state()); diff != "" {
		t.Errorf("CHECK (-want +got):\n%s", diff)
	}
	for range 2 {
		n.del(args)
		if got := n.state(); len(got) > 0 {
			t.Errorf("DEL left %v", got)
		}
	}
}

// withResult adds the result of a repeated ADD to the configuration, for CHECK.
func (n *node) withResult(args *skel.CmdArgs) *skel.CmdArgs {
	n.tb.Helper()
	res, err := n.add(args).GetAsVersion("1.0.0")
	if err != nil {
		n.tb.Fatal(err)
	}
	prev, err := json.Marshal(res)
	if err != nil {
		n.tb.Fatal(err)
	}
	var conf map[string]json.RawMessage
	if err := json.Unmarshal(args.StdinData, &conf); err != nil {
		n.tb.Fatal(err)
	}
	conf["prevResult"] = prev
	check := *args
	if check.StdinData, err = json.Marshal(conf); err != nil {
		n.tb.Fatal(err)
	}
	return &check
}

// NAT follows FLANNEL_IPMASQ (kubernetes-sigs/sig-windows-tools#104), and all
// networks of flannel are left alone, not the first alone (flannel-io/flannel#2454).
func TestMasquerade(t *testing.T) {
	for env, want := range map[string][]string{
		subnetEnv: {"10.50.0.0/16", "10.70.0.0/16"},
		strings.Replace(subnetEnv, "IPMASQ=true", "IPMASQ=false", 1): nil,
	} {
		n := newNode(t)
		n.write("subnet.env", env)
		n.add(n.pod("sbx-01"))
		e, err := n.client.Endpoints.ByName(t.Context(), "sbx-01_cbr0")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range hns.PoliciesOf[hns.OutBoundNAT](e.Policies) {
			got = append(got, p.Exceptions...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s(-want +got):\n%s", env, diff)
		}
	}
}

// subnet.env is flanneld's: while it is not there, or half of it, "try again"
// (flannel-io/flannel#1399, containernetworking/cni#72); what is wrong in it stays
// so.
func TestSubnetEnv(t *testing.T) {
	tests := []struct {
		name, env string // no env: no file
		code      uint
		is        error
	}{
		{"missing", "", types.ErrTryAgainLater, fs.ErrNotExist},
		{"half-written", "FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUB", types.ErrTryAgainLater, subnetenv.ErrNotReady},
		{"no prefix", strings.Replace(subnetEnv, "10.50.3.1/24", "10.50.3.1/40", 1), types.ErrInvalidNetworkConfig, nil},
		{"IPv6 alone", "FLANNEL_IPV6_NETWORK=fd00:50::/48\nFLANNEL_IPV6_SUBNET=fd00:50:0:3::1/64\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n",
			types.ErrInvalidNetworkConfig, delegate.ErrIPv6Only},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			n.write("subnet.env", tt.env)
			path := filepath.Join(n.dir, "subnet.env")
			if tt.env == "" {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			_, err := n.plugin.Add(t.Context(), n.pod("sbx-01"))
			if codeOf(err) != tt.code || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), path) {
				t.Errorf("code %d, %v; want %d and the path", codeOf(err), err, tt.code)
			}
			n.untouched()
		})
	}
}

// untouched fails the test if anything was done.
func (n *node) untouched() {
	n.tb.Helper()
	if calls := n.hns.Calls(); len(calls) > 0 {
		n.tb.Errorf("HNS was asked: %v", calls)
	}
	if _, err := os.Stat(filepath.Join(n.dir, "state")); err == nil {
		n.tb.Error("the lock was taken")
	}
	if got := n.state(); len(got) > 0 {
		n.tb.Errorf("left %v", got)
	}
}

// The node's subnet in subnet.env is not that of the network: a stale file, or a
// stale network (flannel-io/flannel#556). No pod gets an address of another node.
func TestStaleSubnetEnv(t *testing.T) {
	n := newNode(t)
	n.bridge.IPAM = nil // host-local, which is not come to
	n.write("subnet.env", strings.Replace(subnetEnv, "10.50.3.1/24", "10.50.8.1/24", 1))
	_, err := n.plugin.Add(t.Context(), n.pod("sbx-01"))
	if codeOf(err) != types.ErrInvalidNetworkConfig || !strings.Contains(err.Error(), "10.50.8.0/24") || !strings.Contains(err.Error(), "10.50.3.0/24") {
		t.Errorf("code %d, %v; want 7 and both subnets", codeOf(err), err)
	}
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// Configurations that are wrong, before anything is done.
func TestBadConfig(t *testing.T) {
	tests := []struct {
		name, members string
		code          uint
		text          string
	}{
		{"no delegate", `"delegate": null`, types.ErrInvalidNetworkConfig, "delegate is missing"},
		{"type of the delegate", `"delegate": {"type": 7}`, types.ErrInvalidNetworkConfig, "delegate.type"},
		// containernetworking/cni#333
		{"name of the delegate", `"delegate": {"name": "x", "type": "win-bridge"}`, types.ErrInvalidNetworkConfig, "delegate.name"},
		{"ipam of the delegate", `"delegate": {"ipam": {}}`, types.ErrInvalidNetworkConfig, "delegate.ipam"},
		{"itself", `"delegate": {"type": "flannel"}`, types.ErrInvalidNetworkConfig, "delegate.type"},
		{"name", `"name": "../x"`, types.ErrInvalidNetworkConfig, "name"},
		{"list", `"plugins": []`, types.ErrInvalidNetworkConfig, "plugins"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			_, err := n.plugin.Add(t.Context(), n.pod("sbx-01", tt.members))
			if codeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("code %d, %v; want %d and %q", codeOf(err), err, tt.code, tt.text)
			}
			n.untouched()
		})
	}
	n := newNode(t)
	args := n.pod("sbx-01")
	args.StdinData = []byte("{\n\"name\": }")
	_, errAdd := n.plugin.Add(t.Context(), args)
	for verb, err := range map[string]error{"ADD": errAdd, "CHECK": n.plugin.Check(t.Context(), args), "DEL": n.plugin.Del(t.Context(), args)} {
		if codeOf(err) != types.ErrDecodingFailure || !strings.Contains(err.Error(), "line 2 column 9") {
			t.Errorf("%s: code %d, %v; want 6 and the place", verb, codeOf(err), err)
		}
	}
	n.untouched()
}

// What is wrong for the delegate is found by it: nothing is left.
func TestBadDelegateConfig(t *testing.T) {
	n := newNode(t)
	_, err := n.plugin.Add(t.Context(), n.pod("sbx-01", `"delegate": {"type": "win-bridge", "policies": [{"name": "EndpointPolicy", "value": {"Type": "ROUTE", "DestinationPrefix": "<ServiceCIDR>"}}]}`))
	if codeOf(err) != types.ErrInvalidNetworkConfig || len(hns.FieldErrors(err)) != 1 {
		t.Errorf("code %d, %v; want 7 and the policy", codeOf(err), err)
	}
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// On Windows a type may be the name of the file.
func TestTypeWithExtension(t *testing.T) {
	n := newNode(t)
	args := n.pod("sbx-01", `"delegate": {"type": "win-bridge.EXE"}`)
	n.add(args)
	n.del(args)
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// A verb of the same sandbox waits, and gives up at its deadline: the delegate's.
func TestBusySandbox(t *testing.T) {
	n := newNode(t)
	args := n.pod("sbx-01", `"delegate": {"type": "win-bridge", "timeout": "1s"}`)
	_, release, err := cniplugin.LockSandbox(t.Context(), cniplugin.DefaultTimeout, filepath.Join(n.dir, "state", "flannel"), "sbx-01")
	if err != nil {
		t.Fatal(err)
	}
	_, errAdd := n.plugin.Add(t.Context(), args)
	for verb, err := range map[string]error{"ADD": errAdd, "CHECK": n.plugin.Check(t.Context(), args), "DEL": n.plugin.Del(t.Context(), args)} {
		if codeOf(err) != types.ErrTryAgainLater || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: code %d, %v; want 11", verb, codeOf(err), err)
		}
	}
	n.add(n.pod("sbx-02"))
	release()
	n.add(n.pod("sbx-01")) // without the deadline: it need not be quick
}

// FuzzAddConf: whatever comes in on stdin, no panic, and a failed ADD leaves nothing.
func FuzzAddConf(f *testing.F) {
	for _, s := range []string{
		`"delegate": {}`, `"delegate": {"type": "win-bridge", "policies": [{"name": "EndpointPolicy", "value": {"Type": "PA", "PA": "192.0.2.10"}}]}`,
		`"delegate": null`, `"delegate": {"hairpinMode": true, "ipMasq": false}, "ipam": {"routes": [{"dst": "10.96.0.0/12"}]}`,
		`"runtimeConfig": {"portMappings": [{"hostPort": 80, "containerPort": 80}]}`,
	} {
		f.Add(`"cniVersion": "0.3.1", "name": "cbr0", "type": "flannel", ` + s)
	}
	f.Fuzz(func(t *testing.T, members string) {
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte("{"+members+"}"), &m) != nil {
			t.Skip()
		}
		n := newNode(t)
		args := n.pod("sbx-01")
		for k := range m {
			switch strings.ToLower(k) {
			case "subnetfile", "datadir":
				t.Skip("leads out of the test's directory")
			}
		}
		if strings.Contains(strings.ToLower(members), "statedir") || strings.Contains(strings.ToLower(members), "logfile") {
			t.Skip("writes where it is told to")
		}
		args.StdinData = n.config(members)
		_, err := n.plugin.Add(context.Background(), args)
		if err != nil {
			if got := n.state(); len(got) > 0 || codeOf(err) == 0 {
				t.Fatalf("%v (code %d) left %v", err, codeOf(err), got)
			}
			return
		}
		if err := n.plugin.Del(context.Background(), args); err != nil || len(n.state()) > 0 {
			t.Fatalf("DEL: %v, left %v", err, n.state())
		}
	})
}
