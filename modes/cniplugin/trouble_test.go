package cniplugin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
)

// HNS says "object already exists" although it made the endpoint
// (kubernetes/kubernetes#74766): the endpoint is used.
func TestExistsAfterEffect(t *testing.T) {
	n := newBridge(t, nil)
	n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Code: hns.CodeObjectAlreadyExists, After: true})
	p := n.pod("sbx-01")
	res := p.mustAdd()
	if err := p.check(res); err != nil {
		t.Error(err)
	}
	p.mustDel()
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// The address belongs to an endpoint that a crash left (docker/for-win#13965): the
// error names it, and it is not touched.
func TestAddressHeldByAnother(t *testing.T) {
	n := newBridge(t, nil)
	_, err := n.client.Endpoints.Create(t.Context(), &hns.Endpoint{Name: "old-07_lake", Network: n.network.ID, IPConfigs: []hns.IPConfig{{Address: prefixes("10.50.3.3/24")[0].Addr()}}})
	if err != nil {
		t.Fatal(err)
	}
	want := n.state()
	_, err = n.pod("sbx-01").add()
	if !errors.Is(err, hns.ErrAddressInUse) || !strings.Contains(err.Error(), "old-07_lake") {
		t.Errorf("error %v, want ErrAddressInUse and the holder's name", err)
	}
	if diff := cmp.Diff(want, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The namespace is gone when ADD comes to it: nothing is left.
func TestNamespaceGone(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	if err := n.client.Namespaces.Delete(t.Context(), p.namespace); err != nil {
		t.Fatal(err)
	}
	if _, err := p.add(); !errors.Is(err, hns.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// The service is stopped: nothing is known, so nothing is done, and the runtime
// hears "try again" (kubernetes/kubernetes#139519 took it for "not found").
func TestStoppedService(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	res := p.mustAdd()
	want := n.state()
	n.hns.Stop()
	_, errAdd := n.plugin.Add(t.Context(), p.args(p.config()))
	for verb, err := range map[string]error{"ADD": errAdd, "CHECK": p.check(res), "DEL": p.del()} {
		if codeOf(err) != 11 || !errors.Is(err, hns.ErrUnavailable) || errors.Is(err, hns.ErrNotFound) {
			t.Errorf("%s: code %d, %v; want 11 and ErrUnavailable", verb, codeOf(err), err)
		}
	}
	n.hns.Start()
	if diff := cmp.Diff(want, n.state()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	p.mustDel()
}

// The look-up of the endpoint fails: that is not "there is none"
// (containernetworking/plugins#215).
func TestLookUpFails(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	n.hns.Inject(emulator.Fault{Verb: hns.VerbList, Kind: hns.KindEndpoint, Code: hns.CodeAccessDenied})
	if _, err := p.add(); !errors.Is(err, hns.ErrDenied) {
		t.Errorf("error %v, want ErrDenied", err)
	}
	if asked := n.ipam.asked(); len(asked) > 0 {
		t.Errorf("IPAM was asked: %v", asked)
	}
}

// One sandbox's call hangs; another sandbox goes on.
func TestHangOfOneSandbox(t *testing.T) {
	n := newBridge(t, nil)
	stuckPod := n.pod("sbx-01")
	stuckPod.mustAdd()
	hit, over := make(chan struct{}), make(chan error, 1)
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	n.hns.Inject(emulator.Fault{Verb: hns.VerbDelete, Kind: hns.KindEndpoint, Hang: hang(t), Match: func(hns.Request) bool { close(hit); return true }})
	go func() {
		defer close(done)
		over <- stuckPod.del(`"timeout": "1m"`)
	}()
	<-hit
	quickly(t, func() {
		p := n.pod("sbx-02")
		res := p.mustAdd()
		if err := p.check(res); err != nil {
			t.Error(err)
		}
		select {
		case err := <-over:
			t.Errorf("the first came back: %v", err)
		default:
		}
		// Meanwhile the first sandbox is busy.
		if _, err := stuckPod.add(soon); codeOf(err) != 11 || !strings.Contains(err.Error(), "busy") {
			t.Errorf("code %d, %v; want 11 and busy", codeOf(err), err)
		}
	})
}

// Opening HNS hangs, fails or panics: the verb comes back, and nothing is left.
func TestOpenFails(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	stuck := hang(t)
	for name, tt := range map[string]struct {
		open func(*hns.Options) (*hns.Client, error)
		code uint
		text string
	}{
		"fails":  {func(*hns.Options) (*hns.Client, error) { return nil, hns.ErrUnsupportedOS }, 104, "Windows"},
		"hangs":  {func(*hns.Options) (*hns.Client, error) { <-stuck; return nil, nil }, 11, "gave up after 1s"},
		"panics": {func(*hns.Options) (*hns.Client, error) { panic("no such entry point") }, 999, "panic: no such entry point"},
	} {
		n.plugin.Open = tt.open
		var members []string
		if name == "hangs" {
			members = append(members, soon)
		}
		var err error
		quickly(t, func() { _, err = p.add(members...) })
		if codeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: code %d, %v; want %d and %q", name, codeOf(err), err, tt.code, tt.text)
		}
	}
	if got := append(n.state(), n.lockFiles()...); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// A lease of an ADD that fails is given back, once, with the configuration that ADD
// got; the error is the cause's (containernetworking/plugins#286,
// projectcalico/cni-plugin#325).
func TestLeaseIsGivenBackOnce(t *testing.T) {
	n := newBridge(t, nil)
	n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Code: hns.CodeInvalidPolicy})
	if _, err := n.pod("sbx-01").add(); !errors.Is(err, hns.ErrInvalidPolicy) {
		t.Errorf("error %v, want ErrInvalidPolicy", err)
	}
	if diff := cmp.Diff([]string{"ADD sbx-01/eth0", "DEL sbx-01/eth0"}, n.ipam.asked()); diff != "" {
		t.Errorf("IPAM (-want +got):\n%s", diff)
	}
	if c := n.ipam.configs; len(c) != 2 || string(c[0]) != string(c[1]) {
		t.Errorf("configurations %q", c)
	}
	if left := append(n.state(), n.noteFiles()...); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// An IPAM plugin fails after it wrote the lease: ADD gives that back at once, for
// nobody else may before a DEL comes (CNI specification, section 4), and reports
// the first failure, also if the second step fails.
func TestIPAMFailsAfterItTook(t *testing.T) {
	full := types.NewError(107, "store is full", "after the lease was written")
	n := newBridge(t, nil)
	n.ipam.on("ADD", after(fmt.Errorf("lake-ipam ADD: %w", full)))
	if _, err := n.pod("sbx-01").add(); codeOf(err) != 107 || !errors.Is(err, full) || errors.Is(err, hns.ErrLeftBehind) {
		t.Errorf("code %d, %v; want 107 and the plugin's error alone", codeOf(err), err)
	}
	if diff := cmp.Diff([]string{"ADD sbx-01/eth0", "DEL sbx-01/eth0"}, n.ipam.asked()); diff != "" {
		t.Errorf("IPAM (-want +got):\n%s", diff)
	}
	if left := append(n.state(), n.noteFiles()...); len(left) > 0 {
		t.Errorf("left %v", left)
	}

	n.ipam.on("ADD", after(full))
	n.ipam.on("DEL", before(types.NewError(108, "store is locked", "")))
	p := n.pod("sbx-02")
	_, err := p.add()
	if codeOf(err) != 107 || !errors.Is(err, full) || !errors.Is(err, hns.ErrLeftBehind) || !strings.Contains(err.Error(), "store is locked") {
		t.Errorf("code %d, %v; want 107, the plugin's error, and what is left", codeOf(err), err)
	}
	p.mustDel()
	if left := append(n.state(), n.noteFiles()...); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// What refuses before it runs anything is not asked to give back.
func TestIPAMThatDidNotRun(t *testing.T) {
	for _, err := range []error{ipam.ErrPluginNotFound, &ipam.ConfigError{Path: "ipam.x", Err: errBroken}, errBroken} {
		n := newBridge(t, nil)
		n.ipam.on("ADD", before(err))
		if _, got := n.pod("sbx-01").add(); !errors.Is(got, err) {
			t.Errorf("error %v, want %v", got, err)
		}
		if diff := cmp.Diff([]string{"ADD sbx-01/eth0"}, n.ipam.asked()); diff != "" {
			t.Errorf("%v: IPAM (-want +got):\n%s", err, diff)
		}
	}
}
