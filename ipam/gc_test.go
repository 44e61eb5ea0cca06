package ipam_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/ipam"
)

// networkVerbs are the calls about a network as a whole.
var networkVerbs = map[string]func(context.Context, *ipam.Delegated, ipam.Request) error{
	"GC": func(ctx context.Context, d *ipam.Delegated, req ipam.Request) error {
		return d.GC(ctx, req, []ipam.Attachment{{ContainerID: "sbx-01", IfName: "eth0"}})
	},
	"STATUS": func(ctx context.Context, d *ipam.Delegated, req ipam.Request) error { return d.Status(ctx, req) },
}

// TestGCTellsWhatIsValid in the form of the specification, under both names that
// the key has had (containernetworking/cni#1101), whatever stood there; nothing
// in the environment speaks of an attachment.
func TestGCTellsWhatIsValid(t *testing.T) {
	tests := []struct {
		name, conf string
		valid      []ipam.Attachment
		want       string
	}{
		{"two", `{"cniVersion":"1.1.0","name":"lake","ipam":{"type":"x","zone":"a<b"}}`,
			[]ipam.Attachment{{"sbx-01", "eth0"}, {"sbx-02", "eth1"}},
			`{"cniVersion":"1.1.0","name":"lake","ipam":{"type":"x","zone":"a<b"},"cni.dev/valid-attachments":[{"containerID":"sbx-01","ifname":"eth0"},{"containerID":"sbx-02","ifname":"eth1"}],"cni.dev/attachments":[{"containerID":"sbx-01","ifname":"eth0"},{"containerID":"sbx-02","ifname":"eth1"}]}`},
		{"none is a list", `{"cniVersion":"1.1.0","ipam":{"type":"x"}}`, nil,
			`{"cniVersion":"1.1.0","ipam":{"type":"x"},"cni.dev/valid-attachments":[],"cni.dev/attachments":[]}`},
		{"replaced", "\ufeff" + `{"cni.dev/attachments":null,"cni.dev/valid-attachments":[{"containerID":"sbx-09","ifname":"eth0"}],"cniVersion":"1.1.0","ipam":{"type":"x"}}`,
			[]ipam.Attachment{{"sbx-01", "eth0"}},
			`{"cni.dev/attachments":[{"containerID":"sbx-01","ifname":"eth0"}],"cni.dev/valid-attachments":[{"containerID":"sbx-01","ifname":"eth0"}],"cniVersion":"1.1.0","ipam":{"type":"x"}}`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var spy spyExec
			d := ipam.Delegated{Exec: &spy}
			if err := d.GC(t.Context(), ipam.Request{Config: []byte(tc.conf)}, tc.valid); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(spy.stdin)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var conf types.PluginConf // as a plugin reads it
			if err := json.Unmarshal(spy.stdin, &conf); err != nil || len(conf.ValidAttachments) != len(tc.valid) {
				t.Errorf("a plugin reads %v, %v", conf.ValidAttachments, err)
			}
		})
	}
}

// TestNetworkVerbsAreOfNoAttachment: what the request says of one is not passed on.
func TestNetworkVerbsAreOfNoAttachment(t *testing.T) {
	for verb, call := range networkVerbs {
		t.Run(verb, func(t *testing.T) {
			s := newStage(t)
			req := s.request("1.1.0", nil)
			if err := call(t.Context(), new(ipam.Delegated), req); err != nil {
				t.Fatal(err)
			}
			calls := s.calls()
			want := heard{Verb: verb, Path: strings.Join(req.PluginPath, string(os.PathListSeparator))}
			if len(calls) != 1 {
				t.Fatalf("calls %+v", calls)
			}
			calls[0].Stdin = ""
			if diff := cmp.Diff(want, calls[0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNetworkVerbsOfOldPlugins: what nobody knows is told from what fails.
func TestNetworkVerbsOfOldPlugins(t *testing.T) {
	tests := []struct {
		name, version string
		answer        behaviour
		unsupported   bool
		runs          bool
		code          uint // of the plugin's error, if there is one
		want          string
	}{
		{"before GC", "1.0.0", behaviour{}, true, false, 0, "CNI version 1.0.0 has no such verb"},
		{"the first version", "0.1.0", behaviour{}, true, false, 0, "CNI version 0.1.0"},
		{"no version is 0.1.0", "", behaviour{}, true, false, 0, "CNI version 0.1.0"},
		{"no version at all", "next", behaviour{}, false, false, 0, `cniVersion "next"`},
		{"unknown to skel", "1.1.0", behaviour{Stdout: `{"cniVersion":"1.0.0","code":4,"msg":"unknown CNI_COMMAND: X"}`, Exit: 1}, true, true, 4, "unknown CNI_COMMAND"},
		{"unknown to an old skel", "1.1.0", behaviour{Stdout: `{"code":100,"msg":"unknown CNI_COMMAND: X"}`, Exit: 1}, true, true, 100, "unknown CNI_COMMAND"},
		{"another fault of the environment", "1.1.0", behaviour{Stdout: `{"code":4,"msg":"required env variables [CNI_PATH] missing"}`, Exit: 1}, false, true, 4, "CNI_PATH"},
		{"cannot serve the version", "1.1.0", behaviour{Stdout: `{"code":1,"msg":"incompatible CNI versions"}`, Exit: 1}, false, true, 1, "incompatible"},
		{"not available", "1.1.0", behaviour{Stdout: `{"code":50,"msg":"daemon is away"}`, Exit: 1}, false, true, 50, "daemon is away"},
		{"limited", "1.1.0", behaviour{Stdout: `{"code":51,"msg":"daemon is away"}`, Exit: 1}, false, true, 51, "daemon is away"},
		{"broke off", "1.1.0", behaviour{Exit: 3}, false, true, 0, "outcome unknown"},
	}
	for verb, call := range networkVerbs {
		for _, tc := range tests {
			t.Run(verb+" "+tc.name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				err := call(t.Context(), new(ipam.Delegated), s.request(tc.version, map[string]behaviour{verb: tc.answer}))
				if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), verb) {
					t.Fatalf("error %v, want %q", err, tc.want)
				}
				if got := errors.Is(err, errors.ErrUnsupported); got != tc.unsupported {
					t.Errorf("unsupported %v: %v", got, err)
				}
				var printed *types.Error
				if got := errors.As(err, &printed); got != (tc.code != 0) || got && printed.Code != tc.code {
					t.Errorf("the plugin's error is %v, want code %d", printed, tc.code)
				}
				if got := s.verbs() != ""; got != tc.runs {
					t.Errorf("plugin heard %q", s.verbs())
				}
			})
		}
	}
}

// TestNetworkVerbsRefuse what cannot be understood before anything is run.
func TestNetworkVerbsRefuse(t *testing.T) {
	tests := []struct{ name, conf, want string }{
		{"not JSON", `{`, "network configuration: "},
		{"HNS assigns", `{"cniVersion":"1.1.0"}`, "ipam.type: missing"},
		{"path in the type", `{"cniVersion":"1.1.0","ipam":{"type":"../x"}}`, `ipam.type "../x"`},
		{"no name", `{"cniVersion":"1.1.0","ipam":{"type":"host-local"}}`, "name: not the name of a network"},
		{"a name that leads out", `{"cniVersion":"1.1.0","name":"../lake","ipam":{"type":"host-local"}}`, `name "../lake": not the name`},
		{"data directory", `{"cniVersion":"1.1.0","name":"lake","ipam":{"type":"host-local","dataDir":7}}`, "ipam.dataDir 7: want text"},
	}
	for verb, call := range networkVerbs {
		for _, tc := range tests {
			t.Run(verb+" "+tc.name, func(t *testing.T) {
				var spy spyExec
				err := call(t.Context(), &ipam.Delegated{Exec: &spy}, ipam.Request{Config: []byte(tc.conf)})
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %v, want %q", err, tc.want)
				}
				if spy.stdin != nil {
					t.Errorf("the plugin was run with %s", spy.stdin)
				}
			})
		}
	}
	var spy spyExec
	err := (&ipam.Delegated{Exec: &spy}).GC(t.Context(), ipam.Request{Config: []byte(`{"cniVersion":"1.1.0","ipam":{"type":"x"},"cni.dev/attachments":[],"CNI.dev/attachments":[]}`)}, nil)
	if err == nil || spy.stdin != nil {
		t.Errorf("a key that stands there twice: %v, run with %s", err, spy.stdin)
	}
}

func TestStale(t *testing.T) {
	leases := []ipam.StoredLease{
		{Address: adr("10.71.3.2"), ContainerID: "sbx-01", IfName: "eth0"},
		{Address: adr("10.71.3.3"), ContainerID: "sbx-01", IfName: "eth1"},
		{Address: adr("10.71.3.4"), ContainerID: "sbx-02", IfName: ""},
		{Address: adr("10.71.3.5"), ContainerID: "sbx-03", IfName: ""},
		{Address: adr("10.71.3.6"), ContainerID: "sbx-03", IfName: "eth0"},
		{Address: adr("10.71.3.7"), ContainerID: "", IfName: ""},
		{Address: adr("fd00::6"), ContainerID: "sbx-03", IfName: "eth0"},
	}
	valid := []ipam.Attachment{{"sbx-01", "eth0"}, {"sbx-02", "net1"}, {"sbx-09", "eth0"}}
	want := []ipam.Attachment{{"sbx-01", "eth1"}, {"sbx-03", "eth0"}, {"sbx-03", ""}}
	if diff := cmp.Diff(want, ipam.Stale(leases, valid)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ipam.Stale(nil, valid); len(got) != 0 {
		t.Errorf("of no leases: %v", got)
	}
}

// TestGCLooksAgain: host-local says that it has released what it could not
// remove.
func TestGCLooksAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lake"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lake", "10.71.3.2"), []byte("sbx-01\r\neth0"), 0o600); err != nil {
		t.Fatal(err)
	}
	conf, err := json.Marshal(map[string]any{"cniVersion": "1.1.0", "name": "lake", "ipam": map[string]any{"type": "host-local", "dataDir": dir}})
	if err != nil {
		t.Fatal(err)
	}
	d := ipam.Delegated{Exec: &spyExec{}} // it succeeds and does nothing
	err = d.GC(t.Context(), ipam.Request{Config: conf}, nil)
	if err == nil || !strings.Contains(err.Error(), `10.71.3.2 is still held by "sbx-01" "eth0"`) {
		t.Errorf("error %v", err)
	}
	why := errors.New("disk full")
	d.Exec = &spyExec{err: why}
	if err := d.GC(t.Context(), ipam.Request{Config: conf}, nil); !errors.Is(err, why) || !strings.Contains(err.Error(), "DEL sbx-01/eth0") {
		t.Errorf("error %v", err)
	}
}
