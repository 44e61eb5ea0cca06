package cniplugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// remake replaces the pod's endpoint by one that differs.
func remake(t *testing.T, p *pod, change func(*hns.Endpoint)) {
	t.Helper()
	e := p.endpoint()
	if err := p.client.Endpoints.Delete(t.Context(), e.ID); err != nil {
		t.Fatal(err)
	}
	e.ID, e.Namespace, e.State, e.Document = hns.ID{}, hns.ID{}, 0, hns.Document{}
	change(e)
	made, err := p.client.Endpoints.Create(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.client.Namespaces.AddEndpoint(t.Context(), p.namespace, made.ID); err != nil {
		t.Fatal(err)
	}
}

// CHECK compares everything, and says all that it found.
func TestCheckFinds(t *testing.T) {
	members := []string{`"ipMasq": true`, `"loopbackDSR": true`, `"dns": {"nameservers": ["10.96.0.10"], "search": ["svc.test"], "options": ["ndots:5"]}`,
		`"runtimeConfig": {"portMappings": [{"hostPort": 8088, "containerPort": 80}]}`}
	tests := []struct {
		name   string
		happen func(*testing.T, *pod)
		paths  []string
		err    error
	}{
		{"nothing", func(*testing.T, *pod) {}, nil, nil},
		{"endpoint gone", func(t *testing.T, p *pod) {
			if err := p.client.Endpoints.Delete(t.Context(), p.endpoint().ID); err != nil {
				t.Fatal(err)
			}
		}, nil, hns.ErrNotFound},
		{"two of the name", func(t *testing.T, p *pod) {
			if _, err := p.client.Endpoints.Create(t.Context(), &hns.Endpoint{Name: "sbx-01_lake", Network: p.network.ID}); err != nil {
				t.Fatal(err)
			}
		}, nil, hns.ErrAmbiguous},
		{"lease gone", func(t *testing.T, p *pod) { delete(p.ipam.books, "sbx-01/eth0") }, nil, nil},
		// projectcalico/calico#5164: after a restart it has an address and no traffic.
		{"no longer attached", func(t *testing.T, p *pod) {
			if err := p.hns.Restart(); err != nil {
				t.Fatal(err)
			}
		}, []string{"State"}, nil},
		{"address", func(t *testing.T, p *pod) {
			remake(t, p, func(e *hns.Endpoint) { e.IPConfigs[0].Address = e.IPConfigs[0].Address.Next() })
		}, []string{"IpConfigurations[0].IpAddress"}, nil},
		{"gateway", func(t *testing.T, p *pod) {
			remake(t, p, func(e *hns.Endpoint) { e.Routes = []hns.Route{hns.DefaultRoute(prefixes("10.50.3.1/24")[0].Addr())} })
		}, []string{"Routes[0]"}, nil},
		{"MAC", func(t *testing.T, p *pod) {
			remake(t, p, func(e *hns.Endpoint) { e.MAC[5]++ })
		}, []string{"MacAddress"}, nil},
		{"DNS", func(t *testing.T, p *pod) {
			remake(t, p, func(e *hns.Endpoint) { e.DNS = hns.DNS{ServerList: []string{"10.96.0.11"}} })
		}, []string{"Dns.Search", "Dns.ServerList", "Dns.Options"}, nil},
		{"policies", func(t *testing.T, p *pod) {
			remake(t, p, func(e *hns.Endpoint) { e.Policies = nil })
		}, []string{"Policies[0] PortMapping", "Policies[1] OutBoundNAT", "Policies[2] OutBoundNAT"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newBridge(t, &emulator.Options{RestartDetaches: true})
			p := n.pod("sbx-01")
			res := p.mustAdd(members...)
			tt.happen(t, p)
			err := p.check(res, members...)
			if tt.name == "nothing" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var failed *cniplugin.CheckError
			if !errors.As(err, &failed) || codeOf(err) != cniplugin.CodeCheckFailed || failed.Endpoint != "sbx-01_lake" {
				t.Fatalf("code %d, %v; want a CheckError", codeOf(err), err)
			}
			var got []string
			for _, d := range failed.Differences {
				got = append(got, d.Path)
				if !strings.Contains(err.Error(), d.Path) {
					t.Errorf("%q does not name %s", err, d.Path)
				}
			}
			if diff := cmp.Diff(tt.paths, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			if tt.err != nil && !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
		})
	}
}

// Where HNS chose the address, the result tells it, and the policies that go by it
// must be there, too.
func TestCheckWithoutIPAM(t *testing.T) {
	for path, change := range map[string]func(*hns.Endpoint){
		"IpConfigurations[0].IpAddress": func(e *hns.Endpoint) {
			e.IPConfigs[0].Address = prefixes("10.50.3.99/24")[0].Addr()
		},
		"Routes[0]":               func(e *hns.Endpoint) { e.Routes = []hns.Route{hns.DefaultRoute(prefixes("10.50.3.9/24")[0].Addr())} },
		"Policies[0] OutBoundNAT": func(e *hns.Endpoint) { e.Policies = nil },
	} {
		n := newBridge(t, nil)
		n.plugin.IPAM = nil
		p := n.pod("sbx-01")
		members := []string{`"ipam": null`, `"loopbackDSR": true`}
		res := p.mustAdd(members...)
		if err := p.check(res, members...); err != nil {
			t.Errorf("%s: before the change: %v", path, err)
		}
		remake(t, p, change)
		if err := p.check(res, members...); codeOf(err) != cniplugin.CodeCheckFailed || !strings.Contains(err.Error(), path+": want") {
			t.Errorf("code %d, %v; want 101 and %s", codeOf(err), err, path)
		}
	}
}

// Endpoint and lease are missing: both are said.
func TestCheckSaysAll(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	res := p.mustAdd()
	p.mustDel()
	err := p.check(res)
	if !errors.Is(err, hns.ErrNotFound) || !strings.Contains(err.Error(), "sbx-01/eth0 has no lease") {
		t.Errorf("error %v, want endpoint and lease", err)
	}
}

// A question that could not be asked is no failed CHECK.
func TestCheckWithoutAnswer(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	res := p.mustAdd()
	prev := strings.Replace(marshal(t, res), types100.ImplementedSpecVersion, "1.0.0", 1)
	args := p.args(p.config(`"prevResult": ` + prev))
	ctx, pass := deadline()
	n.ipam.pass = pass
	n.ipam.on("CHECK", killed)
	if err := n.plugin.Check(ctx, args); codeOf(err) != types.ErrTryAgainLater || !errors.Is(err, ipam.ErrOutcomeUnknown) {
		t.Errorf("IPAM killed: code %d, %v; want 11 and ErrOutcomeUnknown", codeOf(err), err)
	}
	for code, want := range map[hns.Code]uint{hns.CodeAccessDenied: cniplugin.CodeDenied, hns.CodeManagerStopped: types.ErrTryAgainLater} {
		n.hns.Inject(emulator.Fault{Verb: hns.VerbList, Kind: hns.KindEndpoint, Code: code})
		err := n.plugin.Check(t.Context(), args)
		var failed *cniplugin.CheckError
		if codeOf(err) != want || errors.As(err, &failed) {
			t.Errorf("%s: code %d, %v; want %d and no CheckError", code, codeOf(err), err, want)
		}
	}
	ctx, _ = n.hangs(call{hns.VerbGet, hns.KindNamespace}, false)
	quickly(t, func() {
		if err := n.plugin.Check(ctx, args); codeOf(err) != types.ErrTryAgainLater || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("HNS hangs: code %d, %v; want 11", codeOf(err), err)
		}
	})
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The result of ADD that CHECK needs, and what of it is this interface's.
func TestPrevResult(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.mustAdd()
	tests := []struct {
		name, version, prev string
		path                string // of the complaint; empty: none
	}{
		{"1.1.0", "1.1.0", `{"cniVersion": "1.1.0", "interfaces": [{"name": "eth0"}], "ips": [{"address": "10.50.3.3/24", "interface": 0}]}`, ""},
		{"0.4.0", "0.4.0", `{"cniVersion": "0.4.0", "interfaces": [{"name": "eth0"}], "ips": [{"version": "4", "address": "10.50.3.3/24", "interface": 0}]}`, ""},
		{"no interfaces", "1.0.0", `{"cniVersion": "1.0.0", "ips": [{"address": "10.50.3.3/24"}]}`, ""},
		{"a chain's interfaces", "1.0.0", `{"cniVersion": "1.0.0", "interfaces": [{"name": "ifb0"}, {"name": "eth0"}],
			"ips": [{"address": "198.51.100.7/24", "interface": 0}, {"address": "10.50.3.3/24", "interface": 1}]}`, ""},
		{"missing", "1.0.0", `null`, "prevResult"},
		{"a list", "1.0.0", `[]`, "prevResult"},
		{"no addresses", "1.0.0", `{"cniVersion": "1.0.0"}`, "prevResult.ips"},
		{"another interface's", "1.0.0", `{"cniVersion": "1.0.0", "interfaces": [{"name": "net1"}], "ips": [{"address": "10.50.3.3/24", "interface": 0}]}`, "prevResult.ips"},
		{"index beyond the list", "1.0.0", `{"cniVersion": "1.0.0", "ips": [{"address": "10.50.3.3/24", "interface": 7}]}`, "prevResult.ips[0].interface"},
		{"null interface", "1.0.0", `{"cniVersion": "1.0.0", "interfaces": [null], "ips": [{"address": "10.50.3.3/24"}]}`, "prevResult.interfaces[0]"},
		{"null address", "1.0.0", `{"cniVersion": "1.0.0", "ips": [null]}`, "prevResult.ips[0]"},
		{"null route", "1.0.0", `{"cniVersion": "1.0.0", "ips": [{"address": "10.50.3.3/24"}], "routes": [null]}`, "prevResult.routes[0]"},
		{"address without length", "1.0.0", `{"cniVersion": "1.0.0", "ips": [{"address": "10.50.3.3"}]}`, "prevResult"},
		{"MAC", "1.0.0", `{"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "mac": "x"}], "ips": [{"address": "10.50.3.3/24"}]}`, "prevResult.interfaces[0].mac"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := n.plugin.Check(t.Context(), p.args(p.config(`"cniVersion": "`+tt.version+`"`, `"prevResult": `+tt.prev)))
			if tt.path == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if diff := cmp.Diff([]string{tt.path}, paths(err)); diff != "" || codeOf(err) != types.ErrInvalidNetworkConfig {
				t.Errorf("code %d, %v, paths (-want +got):\n%s", codeOf(err), err, diff)
			}
		})
	}
}

// An IPAM plugin that knows no CHECK cannot be asked, and is believed.
func TestCheckWithOldIPAM(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	res := p.mustAdd()
	old := types.NewError(types.ErrIncompatibleCNIVersion, "incompatible CNI versions", "")
	n.ipam.on("CHECK", before(old), before(old))
	if err := p.check(res); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(res, p.mustAdd()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// The question comes in the first version that knows CHECK.
	p.mustAdd(`"cniVersion": "0.3.1"`)
	var asked struct{ CNIVersion string }
	last := n.ipam.configs[len(n.ipam.configs)-1]
	if err := json.Unmarshal(last, &asked); err != nil || asked.CNIVersion != "0.4.0" {
		t.Errorf("asked in version %q, %v; want 0.4.0", asked.CNIVersion, err)
	}
}
