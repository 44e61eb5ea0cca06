package flannel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/toolbuild"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/modes/cniplugin/flannel"
)

// A delegate that is executed gets the environment of the call and the
// configuration of package subnetenv/delegate; the result is converted.
func TestExecutedDelegate(t *testing.T) {
	n := newNode(t)
	fake := &fakeExec{result: `{"cniVersion": "0.2.0", "ip4": {"ip": "10.50.3.9/24", "gateway": "10.50.3.2"}}`}
	n.plugin.Exec = fake
	args := n.pod("sbx-01", `"delegate": {"type": "sdnbridge"}`, `"cniVersion": "0.2.0"`)
	args.Args = "K8S_POD_NAME=web"
	res := n.add(args)
	if got := res.IPs[0].Address.String(); got != "10.50.3.9/24" || res.CNIVersion != "1.1.0" {
		t.Errorf("result %v", res)
	}
	var conf struct {
		CNIVersion, Name, Type, IPMasqNetwork string
		IPAM                                  struct{ Type, Subnet string }
	}
	if err := json.Unmarshal([]byte(fake.configs[0]), &conf); err != nil {
		t.Fatal(err)
	}
	if conf.Name != "cbr0" || conf.Type != "sdnbridge" || conf.CNIVersion != "0.2.0" || conf.IPAM.Subnet != "10.50.3.0/24" || conf.IPMasqNetwork != "10.50.0.0/16" {
		t.Errorf("configuration %s", fake.configs[0])
	}
	if n.scratch() != fake.configs[0] {
		t.Errorf("scratch %s, want what the delegate got", n.scratch())
	}
	if err := n.plugin.Check(t.Context(), args); err != nil {
		t.Error(err)
	}
	n.del(args)
	var want []string
	for _, verb := range []string{"ADD", "CHECK", "DEL"} {
		want = append(want, "sdnbridge "+verb+" sbx-01 eth0 "+args.Netns+" K8S_POD_NAME=web")
	}
	if diff := cmp.Diff(want, fake.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// What an executed delegate says goes to the runtime with its code. It does not say
// what it left, so the scratch file stays for DEL; a DEL that fails keeps it, too.
func TestExecutedDelegateFails(t *testing.T) {
	n := newNode(t)
	fake := &fakeExec{err: types.NewError(types.ErrTryAgainLater, "not yet", "the details")}
	n.plugin.Exec = fake
	args := n.pod("sbx-01", `"delegate": {"type": "sdnbridge"}`)
	for verb, call := range map[string]func() error{
		"ADD": func() error { _, err := n.plugin.Add(t.Context(), args); return err },
		"DEL": func() error { return n.plugin.Del(t.Context(), args) },
	} {
		err := call()
		if e := cniplugin.CNIError(err); err == nil || e.Code != types.ErrTryAgainLater || e.Details != "the details" || !strings.Contains(e.Msg, "delegate sdnbridge "+verb) {
			t.Errorf("%s: %+v", verb, e)
		}
		if _, err := n.plugin.Add(t.Context(), args); err == nil {
			t.Error("succeeded")
		}
		if diff := cmp.Diff([]string{"file sbx-01@cbr0@eth0.json"}, n.state()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", verb, diff)
		}
	}
	fake.err, fake.result = nil, `{"cniVersion": "1.0.0", "ips": 7}`
	if _, err := n.plugin.Add(t.Context(), args); err == nil || !strings.Contains(err.Error(), "delegate sdnbridge ADD") {
		t.Errorf("a result that is none: %v", err)
	}
	n.del(args)
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

func TestDelegateThatIsNowhere(t *testing.T) {
	n := newNode(t)
	args := n.pod("sbx-01", `"delegate": {"type": "no-such-plugin"}`)
	args.Path = n.dir
	_, errAdd := n.plugin.Add(t.Context(), args)
	for verb, err := range map[string]error{"ADD": errAdd, "DEL": n.plugin.Del(t.Context(), args)} {
		if codeOf(err) != types.ErrInvalidNetworkConfig || !strings.Contains(err.Error(), `"no-such-plugin"`) {
			t.Errorf("%s: code %d, %v; want 7 and the name", verb, codeOf(err), err)
		}
	}
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// The test binary is a delegate when it is started under one of these names:
// win-bridge is the plugin of this module, with its HNS in a file; stuck hangs, and
// leaves a process that holds its output open; noisy writes to standard error;
// caller calls the test and hangs. Under the name flannel it is the meta-plugin.
func TestMain(m *testing.M) {
	switch strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") {
	case "win-bridge":
		(&cniplugin.Plugin{Name: "win-bridge", Mode: modes.L2Bridge, StateDir: os.Getenv(stateVar),
			Open: func(o *hns.Options) (*hns.Client, error) {
				h, err := emulator.Open(os.Getenv(hnsVar), nil)
				return hns.New(h, o), err
			}}).Main()
	case "stuck":
		child := exec.Command(os.Args[0] + "-child")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		fallthrough
	case "stuck-child":
		for range 1200 { // two minutes, or until the test's directory is removed
			if _, err := os.Lstat(os.Args[0]); err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	case "flannel":
		(&flannel.Plugin{StateDir: os.Getenv(stateVar)}).Main()
	case "caller":
		conn, err := net.Dial("tcp", os.Getenv(testVar))
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(io.Discard, conn) // until the test is over
	case "noisy":
		fmt.Fprintln(os.Stderr, "hello from the delegate")
		conf, _ := io.ReadAll(os.Stdin)
		if strings.Contains(string(conf), "noisy-and-broken") {
			os.Exit(3)
		}
		fmt.Println(`{"cniVersion": "1.0.0", "ips": [{"address": "10.50.3.9/24"}]}`)
	default:
		os.Exit(m.Run())
	}
}

const (
	stateVar = "HNSKIT_TEST_STATE"
	hnsVar   = "HNSKIT_TEST_HNS"
	testVar  = "HNSKIT_TEST_ADDRESS"
)

// installed puts the test binary into the node's directory under names, and returns
// that directory.
func (n *node) installed(names ...string) string {
	n.tb.Helper()
	if runtime.GOOS == "windows" {
		n.tb.Skip("a program is found by its extension here")
	}
	self, err := os.Executable()
	if err != nil {
		n.tb.Fatal(err)
	}
	for _, name := range names {
		if err := os.Symlink(self, filepath.Join(n.dir, name)); err != nil {
			n.tb.Fatal(err)
		}
	}
	return n.dir
}

// A delegate of this module, as a process, takes the lock of the sandbox in the same
// directory as the meta-plugin does: they must not wait for each other.
func TestExecutedDelegateLocksToo(t *testing.T) {
	n := newNode(t)
	n.plugin.Delegates = nil
	h, err := emulator.Open(filepath.Join(n.dir, "hns.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := n.hns.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Load(snapshot); err != nil {
		t.Fatal(err)
	}
	n.hns, n.client = h, hns.New(h, nil)
	t.Setenv(stateVar, n.plugin.StateDir)
	t.Setenv(hnsVar, filepath.Join(n.dir, "hns.json"))
	tool, err := toolbuild.HostLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	args := n.pod("sbx-01", `"ipam": {"dataDir": `+quote(filepath.Join(n.dir, "leases"))+`}`)
	args.Path = n.installed("win-bridge") + string(filepath.ListSeparator) + filepath.Dir(tool)
	res := n.add(args)
	if got := res.IPs[0].Address.String(); got != "10.50.3.3/24" {
		t.Errorf("address %s", got)
	}
	if err := n.plugin.Check(t.Context(), n.withResult(args)); err != nil {
		t.Error(err)
	}
	n.del(args)
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// A delegate that hangs is killed at the deadline, also when a process of its own
// holds its output open; the scratch file stays for DEL.
func TestExecutedDelegateHangs(t *testing.T) {
	n := newNode(t)
	args := n.pod("sbx-01", `"delegate": {"type": "stuck", "timeout": "1s"}`)
	args.Path = n.installed("stuck", "stuck-child")
	done := make(chan error, 1)
	go func() { _, err := n.plugin.Add(context.Background(), args); done <- err }()
	select {
	case err := <-done:
		if codeOf(err) != types.ErrTryAgainLater || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "ADD of sbx-01 gave up after 1s") {
			t.Errorf("code %d, %v; want 11 and the deadline", codeOf(err), err)
		}
	case <-time.After(50 * time.Second):
		t.Fatal("does not come back")
	}
	if diff := cmp.Diff([]string{"file sbx-01@cbr0@eth0.json"}, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A meta-plugin that is killed takes its delegate along: what that did after the
// DEL that follows nobody would take back.
func TestExecutedDelegateEndsWithItsCaller(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("this system cannot")
	}
	n := newNode(t)
	dir := n.installed("flannel", "caller")
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := listener.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	args := n.pod("sbx-01", `"delegate": {"type": "caller"}`)
	cmd := exec.Command(filepath.Join(dir, "flannel"))
	cmd.Stdin = bytes.NewReader(args.StdinData)
	cmd.Env = append(os.Environ(), "CNI_COMMAND=ADD", "CNI_CONTAINERID="+args.ContainerID, "CNI_IFNAME=eth0", "CNI_NETNS="+args.Netns,
		"CNI_PATH="+dir, stateVar+"="+n.plugin.StateDir, testVar+"="+listener.Addr().String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	ended := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, conn); ended <- err }()
	select {
	case <-ended: // whether it said goodbye or not
	case <-time.After(time.Minute):
		t.Error("the delegate runs on without its caller")
	}
}

// What a delegate writes to standard error is in the error if it fails, and nowhere
// else.
func TestStandardErrorOfDelegate(t *testing.T) {
	n := newNode(t)
	stderr := os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stderr = w
	defer func() { os.Stderr = stderr }()
	args := n.pod("sbx-01", `"delegate": {"type": "noisy"}`)
	args.Path = n.installed("noisy")
	_, err = n.plugin.Add(t.Context(), args)
	args.StdinData = n.config(`"delegate": {"type": "noisy", "comment": "noisy-and-broken"}`)
	_, errBroken := n.plugin.Add(t.Context(), args)
	w.Close()
	heard, errRead := io.ReadAll(r)
	if err != nil || errRead != nil || len(heard) > 0 {
		t.Errorf("%v, %v, standard error %q", err, errRead, heard)
	}
	if errBroken == nil || !strings.Contains(errBroken.Error(), "hello from the delegate") {
		t.Errorf("error %v, want what it wrote", errBroken)
	}
}
