package cniplugin_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// stateVar makes the test binary a plugin whose HNS is in the file that the
// variable names.
const stateVar = "HNSKIT_TEST_HNS"

func TestMain(m *testing.M) {
	switch {
	case isShim():
		shim()
	case os.Getenv(orderVar) != "":
		obey(os.Getenv(orderVar))
	case os.Getenv(stateVar) != "":
		pluginMain(os.Getenv(stateVar))
	default:
		code := m.Run()
		printSwept()
		os.Exit(code)
	}
}

func pluginMain(path string) {
	p := &cniplugin.Plugin{Name: "win-bridge", Mode: modes.L2Bridge, StateDir: filepath.Join(filepath.Dir(path), "state"),
		Open: func(o *hns.Options) (*hns.Client, error) {
			h, err := emulator.Open(path, nil)
			if err != nil {
				return nil, err
			}
			return hns.New(h, o), nil
		}}
	p.Hooks.AfterAttach = func(context.Context, *cniplugin.Pod, *hns.Endpoint) error {
		if strings.Contains(os.Getenv("CNI_ARGS"), "PANIC") {
			panic("as it was told to")
		}
		return nil
	}
	p.Main()
}

// process is a node whose plugin runs as a process.
type process struct {
	*node
	path string
}

func newProcess(t *testing.T) (*process, *pod) {
	t.Helper()
	n := newBridge(t, nil)
	path := filepath.Join(n.dir, "hns.json")
	h, err := emulator.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.hns.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Load(s); err != nil {
		t.Fatal(err)
	}
	n.hns, n.client = h, hns.New(h, nil)
	return &process{n, path}, n.pod("sbx-01")
}

// run runs the plugin and returns what it wrote, and whether it succeeded.
func (p *process) run(stdin []byte, environ ...string) (stdout, stderr string, ok bool) {
	p.tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append([]string{stateVar + "=" + p.path, "CNI_PATH=" + p.dir}, environ...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.tb.Fatal(err)
	}
	return out.String(), errs.String(), err == nil
}

func (p *process) verb(pod *pod, verb string, conf []byte, environ ...string) (stdout, stderr string, ok bool) {
	return p.run(conf, append([]string{"CNI_COMMAND=" + verb, "CNI_CONTAINERID=" + pod.id, "CNI_NETNS=" + pod.namespace.String(), "CNI_IFNAME=eth0"}, environ...)...)
}

// oneDocument decodes standard output, which must hold one JSON value and no more.
func oneDocument(t *testing.T, stdout string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(stdout))
	if err := d.Decode(into); err != nil {
		t.Fatalf("standard output %q: %v", stdout, err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Errorf("standard output has more than one document: %q", stdout)
	}
}

// Whatever happens, standard output holds one document or nothing, and standard
// error nothing: the runtime reads both (containernetworking/cni#571).
func TestProcess(t *testing.T) {
	p, pod := newProcess(t)
	conf := config(`"name": "lake"`, `"type": "win-bridge"`, `"logFile": `+quote(t, filepath.Join(p.dir, "log")), `"logLevel": "debug"`)

	stdout, stderr, ok := p.verb(pod, "ADD", conf)
	var res struct {
		CNIVersion string
		IPs        []struct{ Address string }
	}
	oneDocument(t, stdout, &res)
	if !ok || stderr != "" || res.CNIVersion != "1.0.0" || len(res.IPs) != 1 {
		t.Errorf("ADD: %v, %s, standard error %q", ok, stdout, stderr)
	}
	check := config(`"name": "lake"`, `"prevResult": `+stdout)
	if stdout, stderr, ok = p.verb(pod, "CHECK", check); !ok || stdout+stderr != "" {
		t.Errorf("CHECK: %v, %s, standard error %q", ok, stdout, stderr)
	}
	if stdout, stderr, ok = p.verb(pod, "DEL", conf); !ok || stdout+stderr != "" {
		t.Errorf("DEL: %v, %s, standard error %q", ok, stdout, stderr)
	}
	if stdout, stderr, ok = p.verb(pod, "ADD", conf); !ok {
		t.Errorf("ADD: %s, standard error %q", stdout, stderr)
	}
	latest := []string{`"name": "lake"`, `"cniVersion": "1.1.0"`}
	if stdout, stderr, ok = p.run(config(latest...), "CNI_COMMAND=STATUS"); !ok || stdout+stderr != "" {
		t.Errorf("STATUS: %v, %s, standard error %q", ok, stdout, stderr)
	}
	gc := config(append(latest, `"cni.dev/valid-attachments": []`)...)
	if stdout, stderr, ok = p.run(gc, "CNI_COMMAND=GC"); !ok || stdout+stderr != "" || len(p.state()) > 0 {
		t.Errorf("GC: %v, %s, standard error %q, left %v", ok, stdout, stderr, p.state())
	}
	if stdout, stderr, ok = p.run(nil, "CNI_COMMAND=VERSION"); !ok || stderr != "" || !strings.Contains(stdout, `"1.1.0"`) {
		t.Errorf("VERSION: %v, %s, standard error %q", ok, stdout, stderr)
	}
	if stdout, stderr, ok = p.run(nil); !ok || stdout != "" || !strings.Contains(stderr, "win-bridge") {
		t.Errorf("no verb: %v, %q, standard error %q", ok, stdout, stderr)
	}
}

// Errors are a document with a code, and the status is not zero.
func TestProcessFails(t *testing.T) {
	p, pod := newProcess(t)
	lake := `"name": "lake"`
	tests := []struct {
		name    string
		verb    string
		conf    []byte
		environ []string
		code    uint
		text    string
		version string // of the error; "1.0.0" if empty
	}{
		{"syntax", "ADD", []byte("{\n\"name\": \"lake\",\n}"), nil, types.ErrDecodingFailure, "line 3 column 1", "1.1.0"},
		{"empty", "DEL", nil, nil, types.ErrDecodingFailure, "line 1", "1.1.0"},
		{"version", "ADD", config(lake, `"cniVersion": "9.9.9"`), nil, types.ErrIncompatibleCNIVersion, "", "1.1.0"},
		{"configuration", "ADD", config(lake, `"policies": 7`), nil, types.ErrInvalidNetworkConfig, "policies", ""},
		{"old version", "ADD", config(lake, `"cniVersion": "0.2.0"`, `"policies": 7`), nil, types.ErrInvalidNetworkConfig, "policies", "0.2.0"},
		{"no version", "ADD", config(lake, `"cniVersion": ""`, `"policies": 7`), nil, types.ErrInvalidNetworkConfig, "policies", "0.1.0"},
		{"network", "ADD", config(`"name": "cbr0"`), nil, types.ErrTryAgainLater, "cbr0", ""},
		// containernetworking/cni#732
		{"panic", "ADD", config(lake), []string{"CNI_ARGS=PANIC=1"}, types.ErrInternal, "panic: as it was told to", ""},
		{"check", "CHECK", config(lake, `"prevResult": {"cniVersion": "1.0.0", "ips": [{"address": "10.50.3.3/24"}]}`), nil, cniplugin.CodeCheckFailed, "sbx-01_lake", ""},
		{"GC without list", "GC", config(lake, `"cniVersion": "1.1.0"`), nil, types.ErrInvalidNetworkConfig, "cni.dev/valid-attachments", "1.1.0"},
		{"GC before its time", "GC", config(lake, `"cni.dev/valid-attachments": []`), nil, types.ErrIncompatibleCNIVersion, "GC", ""},
		{"STATUS", "STATUS", config(`"name": "cbr0"`, `"cniVersion": "1.1.0"`), nil, 50, "cbr0", "1.1.0"},
		{"verb", "FLY", config(lake), nil, types.ErrInvalidEnvironmentVariables, "FLY", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, ok := p.verb(pod, tt.verb, tt.conf, tt.environ...)
			var e struct {
				CNIVersion string
				Code       uint
				Msg        string
			}
			oneDocument(t, stdout, &e)
			if ok || stderr != "" || e.Code != tt.code || !strings.Contains(e.Msg, tt.text) {
				t.Errorf("%v, %s, standard error %q; want code %d and %q", ok, stdout, stderr, tt.code, tt.text)
			}
			if want := cmp.Or(tt.version, "1.0.0"); e.CNIVersion != want {
				t.Errorf("error in version %q, want %s", e.CNIVersion, want)
			}
			if got := p.state(); len(got) > 0 {
				t.Errorf("left %v", got)
			}
		})
	}
}
