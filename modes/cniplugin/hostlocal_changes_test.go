package cniplugin_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/internal/toolbuild"
	"github.com/hnskit/hnskit/ipam"
)

// changer is a node with two IPAM plugins, host-local and lake-ipam, which is
// host-local under a name that nobody knows, and two directories for leases.
type changer struct {
	*node
	plugins, a, b string
}

func newChanger(t *testing.T) *changer {
	t.Helper()
	tool, err := toolbuild.HostLocal(t.Context())
	must(t, err)
	n := newBridge(t, nil)
	n.plugin.IPAM = nil
	c := &changer{n, filepath.Join(n.dir, "plugins"), filepath.Join(n.dir, "a"), filepath.Join(n.dir, "b")}
	must(t, os.Mkdir(c.plugins, 0o700))
	program, err := os.ReadFile(tool)
	must(t, err)
	for _, name := range []string{"host-local", "lake-ipam"} {
		must(t, os.WriteFile(filepath.Join(c.plugins, name+filepath.Ext(tool)), program, 0o700))
	}
	n.plugin.PluginDirs = []string{c.plugins}
	return c
}

func (c *changer) args(t *testing.T, p *pod, ipamConf string) *skel.CmdArgs {
	t.Helper()
	ipamConf = strings.NewReplacer("$A", quote(t, c.a), "$B", quote(t, c.b)).Replace(ipamConf)
	args := p.args(c.config(`"ipam": ` + ipamConf))
	args.Path = c.plugins
	return args
}

// left is all that a test may find.
func (c *changer) left(t *testing.T) []string {
	t.Helper()
	out := append(c.state(), c.noteFiles()...)
	for _, dir := range []string{c.a, c.b} {
		leases, err := ipam.Leases(dir, "lake")
		must(t, err)
		for _, l := range leases {
			out = append(out, filepath.Base(dir)+" "+l.Address.String()+" "+l.ContainerID)
		}
	}
	return out
}

const (
	hostLocalA = `{"type": "host-local", "subnet": "10.50.3.0/24", "dataDir": $A}`
	hostLocalB = `{"type": "host-local", "subnet": "10.50.3.0/24", "dataDir": $B}`
	lakeA      = `{"type": "lake-ipam", "subnet": "10.50.3.0/24", "rangeStart": "10.50.3.9", "dataDir": $A}`
	lakeB      = `{"type": "lake-ipam", "subnet": "10.50.3.0/24", "rangeStart": "10.50.3.9", "dataDir": $B}`
)

// The configuration of IPAM was changed between ADD and DEL: the lease goes back to
// whom it came from, whether the runtime or an agent comes for it, and no note stays.
func TestHostLocalOrAnother(t *testing.T) {
	move := func(t *testing.T, c *changer) { must(t, os.Rename(c.a, c.b)) }
	tests := []struct {
		name, add, del string
		between        func(*testing.T, *changer)
	}{
		{"host-local to another", hostLocalA, lakeB, nil},
		{"another to host-local", lakeA, hostLocalB, nil},
		{"another of the same directory", lakeA, hostLocalA, nil},
		{"other directory", hostLocalA, hostLocalB, nil},
		{"other directory of another", lakeA, lakeB, nil},
		{"leases that were moved", hostLocalA, hostLocalB, move},
		{"leases of another that were moved", lakeA, lakeB, move},
		{"host-local to none", hostLocalA, `null`, nil},
		{"another to none", lakeA, `{}`, nil},
		{"none to host-local", `null`, hostLocalB, nil},
		{"ranges that broke", hostLocalA, `{"type": "host-local", "subnet": "10.50.3.0/99", "dataDir": $A}`, nil},
		{"a network that broke", hostLocalA, `{"type": "host-local", "dataDir": $B}`, nil},
		{"written otherwise", hostLocalA, `{ "type":"host-local",  "subnet":"10.50.3.0/24","dataDir":$A}`, nil},
	}
	for _, tt := range tests {
		for name, take := range map[string]func(*changer, *skel.CmdArgs) error{
			"DEL": func(c *changer, del *skel.CmdArgs) error { return c.plugin.Del(t.Context(), del) },
			"Reconcile": func(c *changer, del *skel.CmdArgs) error {
				_, err := c.plugin.Reconcile(t.Context(), del.StdinData, nil)
				return err
			},
			"Reconcile without the endpoint": func(c *changer, del *skel.CmdArgs) error {
				p := &pod{node: c.node, id: del.ContainerID}
				if err := c.client.Endpoints.Delete(t.Context(), p.endpoint().ID); err != nil {
					return err
				}
				_, err := c.plugin.Reconcile(t.Context(), del.StdinData, nil)
				return err
			},
		} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				c := newChanger(t)
				p := c.pod("sbx-01")
				if _, err := c.plugin.Add(t.Context(), c.args(t, p, tt.add)); err != nil {
					t.Fatal(err)
				}
				if tt.between != nil {
					tt.between(t, c)
				}
				del := c.args(t, p, tt.del)
				if err := take(c, del); err != nil {
					t.Error(err)
				}
				if got := c.left(t); len(got) > 0 {
					t.Errorf("left %v", got)
				}
				p.namespace = c.pod("sbx-01").namespace
				if err := c.plugin.Del(t.Context(), del); err != nil {
					t.Errorf("once more: %v", err)
				}
			})
		}
	}
}

// An ipam that cannot be read any more does not keep DEL from the lease.
func TestHostLocalBreaks(t *testing.T) {
	for _, broken := range []string{`"x"`, `{"type": ["host-local"]}`, `7`} {
		c := newChanger(t)
		p := c.pod("sbx-01")
		if _, err := c.plugin.Add(t.Context(), c.args(t, p, hostLocalA)); err != nil {
			t.Fatal(err)
		}
		if err := c.plugin.Del(t.Context(), c.args(t, p, broken)); err != nil {
			t.Errorf("%s: %v", broken, err)
		}
		if got := c.left(t); len(got) > 0 {
			t.Errorf("%s: left %v", broken, got)
		}
	}
}

// The IPAM plugin of the ADD is not on the node any more: DEL takes the endpoint and
// says which plugin has the lease, instead of asking one that has not.
func TestHostLocalForAnother(t *testing.T) {
	c := newChanger(t)
	p := c.pod("sbx-01")
	if _, err := c.plugin.Add(t.Context(), c.args(t, p, lakeA)); err != nil {
		t.Fatal(err)
	}
	del := c.args(t, p, hostLocalB)
	matches, err := filepath.Glob(filepath.Join(c.plugins, "lake-ipam*"))
	must(t, err)
	must(t, os.Rename(matches[0], matches[0]+".away"))
	for range 2 {
		if err := c.plugin.Del(t.Context(), del); !errors.Is(err, ipam.ErrPluginNotFound) || codeOf(err) != types.ErrInvalidNetworkConfig || !strings.Contains(err.Error(), "lake-ipam") {
			t.Errorf("code %d, %v; want 7, ErrPluginNotFound and the plugin", codeOf(err), err)
		}
		if diff := cmp.Diff([]string{"sbx-01.json", "a 10.50.3.9 sbx-01"}, c.left(t)); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
	}
	must(t, os.Rename(matches[0]+".away", matches[0]))
	if err := c.plugin.Del(t.Context(), del); err != nil {
		t.Error(err)
	}
	if got := c.left(t); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// Of a network by another name DEL takes nothing, for the sandbox may be on both;
// what ADD made stays for a DEL, or a GC, by the name that ADD had.
func TestHostLocalOfAnotherName(t *testing.T) {
	c := newChanger(t)
	p := c.pod("sbx-01")
	args := c.args(t, p, hostLocalA)
	if _, err := c.plugin.Add(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	want := c.left(t)
	renamed := *args
	renamed.StdinData = []byte(strings.Replace(string(args.StdinData), `"lake"`, `"pond"`, 1))
	if err := c.plugin.Del(t.Context(), &renamed); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, c.left(t)); diff != "" {
		t.Errorf("after DEL by the new name (-want +got):\n%s", diff)
	}
	if _, err := c.plugin.Reconcile(t.Context(), args.StdinData, nil); err != nil {
		t.Error(err)
	}
	if got := c.left(t); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}
