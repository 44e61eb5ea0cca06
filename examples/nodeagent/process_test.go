//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/subnetenv"
)

// patience is how long the program may take for anything. It is waited for by
// looking, so it costs only a test that fails.
const patience = time.Minute

// program is the program as a process.
type program struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan error

	mu  sync.Mutex
	log bytes.Buffer
}

// Write is for its standard error.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *program) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// start starts a command, which ends with the test if not before.
func start(t *testing.T, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{t: t, cmd: cmd, done: make(chan error, 1)}
	cmd.Stderr, cmd.Stdout = p, p
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, as a rule
		if t.Failed() {
			t.Logf("the program wrote:\n%s", p.logged())
		}
	})
	return p
}

// until looks until ok, and fails if the program ends before.
func (p *program) until(what string, ok func() bool) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		select {
		case err := <-p.done:
			p.t.Fatalf("the program ended (%v) before %s", err, what)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("not in %s: %s", patience, what)
		}
	}
}

// stop tells the program to stop, and returns its exit status.
func (p *program) stop(how func() error) int {
	p.t.Helper()
	if err := how(); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("it did not stop in %s", patience)
		return -1
	}
}

var served = regexp.MustCompile(`health and metrics are served.*address=(\S+)`)

// url waits for the program's server.
func (p *program) url() string {
	p.t.Helper()
	var m []string
	p.until("its server is there", func() bool {
		m = served.FindStringSubmatch(p.logged())
		return m != nil
	})
	return "http://" + m[1]
}

// get asks the program's server; the status is 0 if there is none.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// build builds the program for a system.
func build(t *testing.T, goos string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "nodeagent")
	if goos == "windows" {
		exe += ".exe"
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", exe, ".")
	cmd.Env = append(cmd.Environ(), "GOOS="+goos, "GOARCH=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return exe
}

const vxlanNetConf = `{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789}}`

// site is what the program is given, and where it puts what it makes.
type site struct{ dir, netConf, subnetEnv, conflist, state string }

func newSite(t *testing.T, netConf string) site {
	t.Helper()
	dir := t.TempDir()
	s := site{dir, filepath.Join(dir, "net-conf.json"), filepath.Join(dir, "run", "subnet.env"), filepath.Join(dir, "net.d", "10-flannel.conflist"), filepath.Join(dir, "hns.json")}
	if err := os.WriteFile(s.netConf, []byte(netConf), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// metric returns the value of a line of /metrics; empty: there is none.
func metric(text, series string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// The program, from its start on an empty node beside a Linux node to its end,
// told by SIGTERM, and once more on the node as it left it.
func TestProgram(t *testing.T) {
	api := newFakeAPI(t, windowsNode("win-1", "192.0.2.11", "10.244.3.0/24"), linuxNode("linux-1", "192.0.2.21", "10.244.0.0/24", "0e:00:00:00:00:21"))
	s := newSite(t, vxlanNetConf)
	exe := build(t, "")
	command := func(args ...string) *exec.Cmd {
		args = append([]string{"--kube-subnet-mgr", "--ip-masq", "--kube-api-url=" + api.URL, "--net-config-path=" + s.netConf, "--subnet-file=" + s.subnetEnv,
			"--cni-conf-file=" + s.conflist}, args...)
		cmd := exec.Command(exe, args...)
		cmd.Env = append(os.Environ(), "NODE_NAME=win-1", "HNS_EMULATOR="+s.state, "HNS_EMULATOR_ADAPTERS=Ethernet=192.0.2.11/24", "FLANNELD_HEALTHZ_PORT=auto")
		return cmd
	}

	// A variable that is wrong names itself, and nothing is made.
	out, err := command().CombinedOutput()
	if code := exitCode(err); code != misused || !strings.Contains(string(out), `FLANNELD_HEALTHZ_PORT: "auto": not a number`) {
		t.Fatalf("exit status %d:\n%s", code, out)
	}
	if _, err := os.Stat(s.state); err == nil {
		t.Error("it opened HNS before it looked at its flags")
	}

	ip, port := freeAddress(t)
	p := start(t, command("--healthz-ip="+ip, "--healthz-port="+port))
	url := p.url()
	p.until("it is ready", func() bool { code, _ := get(t, url+"/readyz"); return code == http.StatusOK })
	checkNode(t, s, api, "win-1")
	checkServed(t, url)
	if log := p.logged(); !strings.Contains(log, "HNS is emulated") || !strings.Contains(log, s.state) {
		t.Error("it does not say that HNS is emulated")
	}

	// Another node comes, and is led to.
	api.put(linuxNode("linux-2", "192.0.2.22", "10.244.1.0/24", "0e:00:00:00:00:22"))
	p.until("linux-2 is led to", func() bool { return len(remotes(t, s.state)) == 2 })

	if code := p.stop(func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }); code != stopped {
		t.Errorf("exit status %d after SIGTERM", code)
	}
	if log := p.logged(); !strings.Contains(log, "told to stop") || strings.Contains(log, "level=ERROR") {
		t.Errorf("its end:\n%s", log)
	}
	if got := remotes(t, s.state); len(got) != 2 {
		t.Errorf("its end took ways away: %v", got)
	}

	// What it left is kept.
	before, err := os.ReadFile(s.state)
	if err != nil {
		t.Fatal(err)
	}
	api.refuseStreams(true) // as an older API server
	p = start(t, command("--healthz-ip="+ip, "--healthz-port="+port))
	url = p.url()
	p.until("it is ready again", func() bool { code, _ := get(t, url+"/readyz"); return code == http.StatusOK })
	if code := p.stop(func() error { return p.cmd.Process.Signal(os.Interrupt) }); code != stopped {
		t.Errorf("exit status %d after SIGINT", code)
	}
	if after, err := os.ReadFile(s.state); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the second run changed HNS (%v)", err)
	}
	// What it asks the API server for is what its role allows, and all of that.
	if diff := cmp.Diff(allowed(t), api.asked()); diff != "" {
		t.Errorf("-rbac.yaml allows +asked for:\n%s", diff)
	}
}

func exitCode(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return -1
}

// checkNode compares the files, HNS and the Node with what flanneld's users
// expect of the cluster of vxlanNetConf.
func checkNode(t *testing.T, s site, api *fakeAPI, name string) {
	t.Helper()
	checkFiles(t, s, "flannel.4096", "win-overlay")
	n := api.node(name)
	want := fmt.Sprintf(`{"VNI":4096,"VtepMAC":%q}`, vtepMAC(t, s.state))
	if got := n.Annotations["flannel.alpha.coreos.com/backend-data"]; got != want {
		t.Errorf("backend-data %s, want %s", got, want)
	}
	if !hasCondition(n, corev1.NodeNetworkUnavailable, corev1.ConditionFalse) {
		t.Errorf("conditions: %+v", n.Status.Conditions)
	}
	if got := remotes(t, s.state); len(got) != 1 || got[netip.MustParsePrefix("10.244.0.0/24")] != netip.MustParseAddr("192.0.2.21") {
		t.Errorf("remote subnets: %v", got)
	}
}

// checkFiles looks at what pods start with.
func checkFiles(t *testing.T, s site, network, plugin string) {
	t.Helper()
	env, err := subnetenv.Read(s.subnetEnv)
	if err != nil || env.Subnet.String() != "10.244.3.1/24" || env.Networks[0].String() != "10.244.0.0/16" || !env.IPMasq {
		t.Errorf("subnet.env: %+v, %v", env, err)
	}
	conflist, err := os.ReadFile(s.conflist)
	var list struct {
		Name    string
		Plugins []struct{ Type string }
	}
	if err == nil {
		err = json.Unmarshal(conflist, &list)
	}
	if err != nil || list.Name != network || len(list.Plugins) != 1 || list.Plugins[0].Type != plugin {
		t.Errorf("conflist: %v\n%s", err, conflist)
	}
}

func hasCondition(n *corev1.Node, kind corev1.NodeConditionType, status corev1.ConditionStatus) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c.Status == status
		}
	}
	return false
}

// checkServed looks at what the server has for a node that is ready.
func checkServed(t *testing.T, url string) {
	t.Helper()
	if code, body := get(t, url+"/healthz"); code != http.StatusOK || body != "nodeagent is running\n" {
		t.Errorf("/healthz: %d %q", code, body)
	}
	if code, body := get(t, url+"/readyz"); code != http.StatusOK || body != "ready\n" {
		t.Errorf("/readyz: %d %q", code, body)
	}
	code, text := get(t, url+"/metrics")
	if code != http.StatusOK {
		t.Fatalf("/metrics: %d %s", code, text)
	}
	for series, want := range map[string]string{
		"hnskit_nodeagent_ready":                                                          "1",
		"hnskit_nodeagent_nodes":                                                          "1",
		"hnskit_nodeagent_routes":                                                         "1",
		"hnskit_nodeagent_last_sync_success":                                              "1",
		"hnskit_node_routes_added_total":                                                  "1",
		`hnskit_nodeagent_skipped_nodes{fault="no_mac"}`:                                  "0",
		`hnskit_hns_calls_total{code="ok",kind="network",verb="create"}`:                  "1",
		`hnskit_hns_call_duration_seconds_count{kind="network",verb="create"}`:            "1",
		`hnskit_hns_call_duration_seconds_bucket{kind="network",verb="create",le="+Inf"}`: "1",
	} {
		if got := metric(text, series); got != want {
			t.Errorf("%s is %q, want %s", series, got, want)
		}
	}
}

// network reads flannel's network out of the state file.
func network(t *testing.T, state string) *hns.Network {
	t.Helper()
	h, err := emulator.Open(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := hns.New(h, nil).Networks.ByName(context.Background(), "flannel.4096")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// remotes are the remote subnets, and to whom they are led.
func remotes(t *testing.T, state string) map[netip.Prefix]netip.Addr {
	t.Helper()
	out := map[netip.Prefix]netip.Addr{}
	for _, p := range hns.PoliciesOf[hns.RemoteSubnetRoute](network(t, state).Policies) {
		out[p.DestinationPrefix] = p.ProviderAddress
	}
	return out
}

// vtepMAC is the MAC address that the other nodes must know, as flannel writes it.
func vtepMAC(t *testing.T, state string) string {
	t.Helper()
	return strings.ToLower(strings.ReplaceAll(network(t, state).DRMAC().String(), "-", ":"))
}
