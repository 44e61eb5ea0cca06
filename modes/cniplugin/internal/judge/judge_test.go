package judge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/modes/cniplugin/internal/judge"
)

// place is a node with one pod of each kind of thing.
type place struct {
	t     *testing.T
	dir   string
	store string
}

const (
	network  = `{"ID": "AA", "Name": "lake"}`
	host     = `{"ID": "A0", "Name": "lake_host", "MacAddress": "00-0A", "HostComputeNetwork": "AA", "IpConfigurations": [{"IpAddress": "10.50.3.2"}]}`
	one      = `{"ID": "A1", "Name": "sbx-01_lake", "MacAddress": "00-0B", "HostComputeNetwork": "AA", "HostComputeNamespace": "EE", "IpConfigurations": [{"IpAddress": "10.50.3.3"}]}`
	alone    = `{"ID": "A2", "Name": "sbx-02_lake", "MacAddress": "00-0C", "HostComputeNetwork": "AA", "HostComputeNamespace": "00000000-0000-0000-0000-000000000000", "IpConfigurations": [{"IpAddress": "10.50.3.4"}]}`
	double   = `{"ID": "A3", "Name": "sbx-02_lake", "MacAddress": "00-0B", "HostComputeNetwork": "AA", "IpConfigurations": [{"IpAddress": "10.50.3.3"}]}`
	changed  = `{"ID": "A1", "Name": "sbx-01_lake", "MacAddress": "00-0B", "HostComputeNetwork": "AA", "IpConfigurations": [{"IpAddress": "10.50.3.3"}]}`
	ownLease = "leases/lake/10.50.3.3"
	note     = "state/interfaces/_lake/sbx-01.json"
)

func newPlace(t *testing.T) *place {
	p := &place{t: t, dir: t.TempDir()}
	p.endpoints(host, one)
	p.write(ownLease, "sbx-01\r\neth0")
	p.write("leases/lake/lock", "")
	p.write("leases/lake/last_reserved_ip.0", "10.50.3.3")
	p.write(note, "{}")
	return p
}

func (p *place) endpoints(docs ...string) {
	p.store = `{"Networks": [` + network + `], "Endpoints": [` + strings.Join(docs, ",") + `], "Namespaces": []}`
}

func (p *place) write(path, text string) {
	path = filepath.Join(p.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) remove(path string) {
	if err := os.Remove(filepath.Join(p.dir, filepath.FromSlash(path))); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) look() *judge.Scene {
	p.t.Helper()
	s, err := judge.Look(judge.Place{Store: []byte(p.store), Leases: filepath.Join(p.dir, "leases"), State: filepath.Join(p.dir, "state")})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// Whatever is left, gone or changed is found, and nothing else.
func TestVerdict(t *testing.T) {
	tests := []struct {
		name   string
		change func(*place)
		want   []string // beginnings of findings
	}{
		{"nothing", func(*place) {}, nil},
		{"what host-local keeps", func(p *place) { p.write("leases/lake/last_reserved_ip.0", "10.50.3.9") }, nil},
		{"an endpoint more", func(p *place) { p.endpoints(host, one, alone) }, []string{"left: Endpoints/a2"}},
		{"an endpoint less", func(p *place) { p.endpoints(host) }, []string{"gone: Endpoints/a1"}},
		{"another's endpoint detached", func(p *place) { p.endpoints(host, changed) }, []string{"changed: Endpoints/a1"}},
		{"a lease more", func(p *place) { p.write("leases/lake/10.50.3.4", "sbx-02\r\neth0") }, []string{"left: lease lake/10.50.3.4: sbx-02/eth0"}},
		{"a lease of IPv6 more", func(p *place) { p.write("leases/lake/fd00__4", "sbx-02\r\neth0") }, []string{"left: lease lake/fd00::4"}},
		{"a lease less", func(p *place) { p.remove(ownLease) }, []string{"gone: lease lake/10.50.3.3"}},
		{"a lease of another", func(p *place) { p.write(ownLease, "sbx-02\r\neth0") }, []string{"changed: lease lake/10.50.3.3: sbx-02/eth0, was sbx-01/eth0"}},
		{"a note more", func(p *place) { p.write("state/interfaces/_lake/sbx-02.json", "{}") }, []string{"left: file interfaces/_lake/sbx-02.json"}},
		{"a note less", func(p *place) { p.remove(note) }, []string{"gone: file interfaces"}},
		{"a lock", func(p *place) { p.write("state/locks/sbx-02.lock", "") }, []string{"left: file locks/sbx-02.lock"}},
		{"both", func(p *place) { p.endpoints(host, alone); p.remove(ownLease) }, []string{"left: Endpoints/a2", "gone: Endpoints/a1", "gone: lease"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			before := p.look()
			tt.change(p)
			got := before.Verdict(p.look())
			if len(got) != len(tt.want) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestUnsafe(t *testing.T) {
	p := newPlace(t)
	p.endpoints(host)
	p.remove(ownLease)
	before := p.look()
	p.endpoints(host, one, alone)
	p.write(ownLease, "sbx-01\r\neth0")
	p.write("leases/lake/10.50.3.4", "sbx-03\r\neth0") // another's
	got := before.Unsafe(p.look())
	if len(got) != 1 || !strings.Contains(got[0], "sbx-02_lake has 10.50.3.4") {
		t.Errorf("got %q", got)
	}
	if names, attached := before.New(p.look()); len(names) != 2 || attached != 1 {
		t.Errorf("new are %v, %d attached", names, attached)
	}
	// Without leases nothing can be unsafe.
	free, err := judge.Look(judge.Place{Store: []byte(p.store)})
	if err != nil || len(before.Unsafe(free)) > 0 {
		t.Errorf("got %q, %v", before.Unsafe(free), err)
	}
}

func TestDoubles(t *testing.T) {
	p := newPlace(t)
	if got := p.look().Doubles(); len(got) > 0 {
		t.Errorf("got %q", got)
	}
	p.endpoints(host, one, alone, double)
	p.write("leases/lake/10.50.3.9", "sbx-01\r\neth0")
	want := "MAC address 00-0B, address 10.50.3.3 on AA, lease of sbx-01/eth0 on lake, name sbx-02_lake"
	if got := strings.Join(p.look().Doubles(), ", "); got != want {
		t.Errorf("got %s", got)
	}
}

func TestLookFails(t *testing.T) {
	for _, store := range []string{"", "{", `{"Endpoints": {}}`, `{"Endpoints": [7]}`} {
		if _, err := judge.Look(judge.Place{Store: []byte(store)}); err == nil {
			t.Errorf("%q: no error", store)
		}
	}
}
