package cniplugin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/ipam"
)

// believer is an IPAM whose CHECK knows nothing of interfaces, as those of clouds.
type believer struct{ *fakeIPAM }

func (believer) Check(context.Context, ipam.Request, *ipam.Lease) error { return nil }

// whoGives are the ways in which a pod comes to its address other than host-local:
// what to do to the plugin, and the configuration of IPAM.
var whoGives = []struct {
	name   string
	setup  func(*node)
	member string
	leases int // of one pod
}{
	{"another IPAM", func(*node) {}, `"ipam": {"type": "fake"}`, 1},
	{"IPAM that knows no interfaces", func(n *node) { n.plugin.IPAM = believer{n.ipam} }, `"ipam": {"type": "fake"}`, 1},
	{"HNS", func(n *node) { n.plugin.IPAM = nil }, `"ipam": {}`, 0},
}

func (p *pod) argsOf(ifName, member string) *skel.CmdArgs {
	a := p.args(p.config(member))
	a.IfName = ifName
	return a
}

// A second interface of a sandbox on the same network would have the same endpoint.
// It is refused, whoever gives the addresses; its CHECK fails, its DEL succeeds,
// and the first keeps what it has.
func TestSecondInterface(t *testing.T) {
	for _, who := range whoGives {
		t.Run(who.name, func(t *testing.T) {
			n := newBridge(t, nil)
			who.setup(n)
			p := n.pod("sbx-01")
			res := p.mustAdd(who.member)
			want, notes := n.state(), n.noteFiles()
			for range 2 {
				if _, err := n.plugin.Add(t.Context(), p.argsOf("net1", who.member)); !errors.Is(err, hns.ErrExists) ||
					!strings.Contains(err.Error(), "net1") || !strings.Contains(err.Error(), "eth0") {
					t.Errorf("ADD: %v, want ErrExists and both interfaces", err)
				}
				check := p.argsOf("net1", who.member+`, "prevResult": {"cniVersion": "1.0.0", "ips": [{"address": "`+res.IPs[0].Address.String()+`"}]}`)
				if err := n.plugin.Check(t.Context(), check); codeOf(err) != 101 || !strings.Contains(err.Error(), "eth0") {
					t.Errorf("CHECK: code %d, %v; want 101 and whose it is", codeOf(err), err)
				}
				if err := n.plugin.Del(t.Context(), p.argsOf("net1", who.member)); err != nil {
					t.Errorf("DEL: %v", err)
				}
			}
			if diff := cmp.Diff(want, n.state()); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(notes, n.noteFiles()); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if again := p.mustAdd(who.member); cmp.Diff(res, again) != "" {
				t.Errorf("repeated ADD (-first +second):\n%s", cmp.Diff(res, again))
			}
			if err := p.check(res, who.member); err != nil {
				t.Error(err)
			}
			p.mustDel(who.member)
			if got := append(n.state(), n.noteFiles()...); len(got) > 0 {
				t.Errorf("left %v", got)
			}
			// And now it is the other's turn.
			if _, err := n.plugin.Add(t.Context(), p.argsOf("net1", who.member)); err != nil {
				t.Error(err)
			}
		})
	}
}

// What tells whose an endpoint is may be lost, torn, or left from another time;
// then the endpoint is the interface's that asks, as with one that upstream's
// plugin made, and from then on it is known again.
func TestNoteThatIsLost(t *testing.T) {
	tests := []struct {
		name string
		do   func(path string) error
	}{
		{"lost", os.Remove},
		// Azure/azure-container-networking#242: a state file full of blanks.
		{"blanks", func(path string) error { return os.WriteFile(path, []byte(strings.Repeat(" ", 3<<10)), 0o600) }},
		{"cut off", func(path string) error { return os.Truncate(path, 9) }},
		{"of another container", func(path string) error {
			return os.WriteFile(path, []byte(`{"containerID": "SBX-01", "ifName": "net9", "network": "lake"}`), 0o600)
		}},
		{"killed while it was written", func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".4711.1.tmp")
			return os.WriteFile(temp, []byte(`{"contai`), 0o600)
		}},
	}
	for _, who := range whoGives {
		for _, tt := range tests {
			t.Run(who.name+" "+tt.name, func(t *testing.T) {
				n := newBridge(t, nil)
				who.setup(n)
				p := n.pod("sbx-01")
				path := filepath.Join(n.plugin.StateDir, "interfaces", "_lake", "sbx-01.json")
				p.mustAdd(who.member)
				if err := tt.do(path); err != nil {
					t.Fatal(err)
				}
				p.mustAdd(who.member)
				if _, err := n.plugin.Add(t.Context(), p.argsOf("net1", who.member)); !errors.Is(err, hns.ErrExists) {
					t.Errorf("ADD of another interface: %v, want ErrExists", err)
				}
				if err := tt.do(path); err != nil {
					t.Fatal(err)
				}
				p.mustDel(who.member)
				if got := append(n.state(), n.noteFiles()...); len(got) > 0 {
					t.Errorf("left %v", got)
				}
			})
		}
	}
}

// An ADD was killed after its note, or after its lease: the other interface is not
// kept out by that, and the DEL of each takes its own.
func TestNoteWithoutEndpoint(t *testing.T) {
	for _, who := range whoGives {
		n := newBridge(t, nil)
		who.setup(n)
		p := n.pod("sbx-01")
		p.mustAdd(who.member)
		if err := n.client.Endpoints.Delete(t.Context(), p.endpoint().ID); err != nil {
			t.Fatal(err)
		}
		if _, err := n.plugin.Add(t.Context(), p.argsOf("net1", who.member)); err != nil {
			t.Errorf("%s: %v", who.name, err)
		}
		p.mustDel(who.member)
		if got := len(n.state()); got != 1+who.leases {
			t.Errorf("%s: after the first one's DEL: %v", who.name, n.state())
		}
		if err := n.plugin.Del(t.Context(), p.argsOf("net1", who.member)); err != nil {
			t.Errorf("%s: %v", who.name, err)
		}
		if got := append(n.state(), n.noteFiles()...); len(got) > 0 {
			t.Errorf("%s: left %v", who.name, got)
		}
	}
}

// An ADD that fails leaves the note of the other interface as it was: that may have
// a lease yet.
func TestNoteOfTheOther(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	p.mustAdd()
	if err := n.client.Endpoints.Delete(t.Context(), p.endpoint().ID); err != nil {
		t.Fatal(err)
	}
	n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Code: hns.CodeAccessDenied})
	if _, err := n.plugin.Add(t.Context(), p.argsOf("net1", `"ipam": {"type": "fake"}`)); !errors.Is(err, hns.ErrDenied) {
		t.Errorf("ADD: %v, want ErrDenied", err)
	}
	got, err := n.reconcile(nil)
	if diff := cmp.Diff([]string{"removed sbx-01_lake of sbx-01/eth0"}, got); diff != "" || err != nil {
		t.Errorf("%v, report (-want +got):\n%s", err, diff)
	}
	if left := append(n.state(), n.noteFiles()...); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Without a place for the note there is no ADD.
func TestNoteThatCannotBe(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	if err := os.MkdirAll(n.plugin.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(n.plugin.StateDir, "interfaces"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.add(); codeOf(err) != types.ErrIOFailure || len(n.state()) > 0 || len(n.ipam.asked()) > 0 {
		t.Errorf("code %d, %v; left %v; want 5, before any lease", codeOf(err), err, n.state())
	}
}
