package cniplugin_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/modes"
)

const goldenDir = "testdata/golden"

// sent is one call of HNS as a golden file shows it.
type sent struct {
	Call     string          `json:"call"`
	Object   string          `json:"object,omitempty"`
	Filter   json.RawMessage `json:"filter,omitempty"`
	Document json.RawMessage `json:"document,omitempty"`
}

// TestGolden compares everything that a verb asks of HNS with testdata/golden.
// README.md there says where it differs from what win-bridge and win-overlay of
// containernetworking/plugins send, and why.
func TestGolden(t *testing.T) {
	golden.Update(t) // refuses where CI is set
	dual := func(tb testing.TB, o *emulator.Options) *node {
		return newNode(tb, o, "win-bridge", modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24", "fd00:50:3::/64")})
	}
	const (
		v1 = `"policies": [
			{"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT", "ExceptionList": ["10.50.0.0/16", "10.96.0.0/12", "192.0.2.1/24"]}},
			{"name": "EndpointPolicy", "value": {"Type": "ROUTE", "DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}}]`
		dns   = `"runtimeConfig": {"dns": {"servers": ["10.96.0.10"], "searches": ["default.svc.test", "svc.test"], "options": ["ndots:5"]}}`
		ports = `"runtimeConfig": {"portMappings": [{"hostPort": 8088, "containerPort": 80, "protocol": "tcp", "hostIP": "192.0.2.10"}]}`
	)
	tests := []struct {
		name    string
		node    func(testing.TB, *emulator.Options) *node
		members []string
		ipam    types.DNS
	}{
		{"win-bridge", newBridge, nil, types.DNS{}},
		{"win-bridge-policies", newBridge, []string{v1, `"ipMasq": true`, `"ipMasqNetwork": "10.50.0.0/16"`}, types.DNS{}},
		{"win-bridge-dns", newBridge, []string{dns}, types.DNS{Domain: "ipam.test"}},
		{"win-bridge-ports", newBridge, []string{ports}, types.DNS{}},
		{"win-bridge-dsr", newBridge, []string{`"loopbackDSR": true`}, types.DNS{}},
		{"win-bridge-dsr-hns-address", newBridge, []string{`"loopbackDSR": true`, `"ipam": null`}, types.DNS{}},
		{"win-bridge-dual-stack", dual, []string{`"ipMasqNetworks": ["10.50.0.0/16", "fd00:50::/48"]`, ports}, types.DNS{}},
		{"win-overlay", newOverlay, nil, types.DNS{}},
		{"win-overlay-everything", newOverlay, []string{`"endpointMacPrefix": "0e-2b"`, `"ipMasq": true`, `"ipMasqNetwork": "10.60.0.0/16"`,
			`"loopbackDSR": true`, ports}, types.DNS{}},
	}
	known := map[string]bool{}
	for _, tt := range tests {
		file := filepath.Join(goldenDir, tt.name+".json")
		known[file] = true
		t.Run(tt.name, func(t *testing.T) {
			n := tt.node(t, nil)
			n.ipam.dns = tt.ipam
			if strings.HasSuffix(tt.name, "hns-address") {
				n.plugin.IPAM = nil
			}
			compareGolden(t, file, lifeOf(t, n.pod("sbx-01"), tt.members))
		})
	}
	files, err := filepath.Glob(filepath.Join(goldenDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f] {
			t.Errorf("%s: nothing is compared with it any more", f)
		}
	}
}

// lifeOf runs ADD, CHECK and DEL and returns what HNS was asked by each.
func lifeOf(t *testing.T, p *pod, members []string) map[string][]sent {
	t.Helper()
	all := map[string][]sent{}
	res := p.mustAdd(members...)
	add := p.hns.Calls()
	e := p.endpoint()
	record := func(verb string, calls []emulator.Call) {
		// Ids and the MACs of HNS differ from run to run.
		names := strings.NewReplacer(p.network.ID.String(), "<network>", p.namespace.String(), "<namespace>", e.ID.String(), "<endpoint>")
		for _, c := range calls {
			s := sent{Call: strings.TrimSpace(c.Verb.String() + " " + c.Kind.String() + " " + c.Method + " " + c.Path)}
			if !c.ID.IsZero() {
				s.Object = names.Replace(c.ID.String())
			}
			if c.Filter != "" {
				s.Filter = json.RawMessage(names.Replace(c.Filter))
			}
			if len(c.Document) > 0 {
				s.Document = json.RawMessage(names.Replace(string(c.Document)))
			}
			all[verb] = append(all[verb], s)
		}
		p.hns.ResetCalls()
	}
	record("ADD", add)
	if err := p.check(res, members...); err != nil {
		t.Error(err)
	}
	record("CHECK", p.hns.Calls())
	p.mustDel(members...)
	record("DEL", p.hns.Calls())
	return all
}

func compareGolden(t *testing.T, file string, value any) {
	t.Helper()
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	golden.File(t, file, got.String())
}

// TestUpdateIsRefusedInCI runs this test binary as a CI job would.
func TestUpdateIsRefusedInCI(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestGolden$", "-update")
	cmd.Env = append(os.Environ(), "CI=true")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "-update is for people") {
		t.Errorf("not refused: %v\n%s", err, out)
	}
}
