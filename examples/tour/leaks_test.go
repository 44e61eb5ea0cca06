package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
)

func snapshot(endpoints ...string) *hns.Snapshot {
	s := &hns.Snapshot{}
	for _, e := range endpoints {
		s.Endpoints = append(s.Endpoints, json.RawMessage(e))
	}
	return s
}

// TestLeftovers counts different numbers of each kind, so that none can stand in
// for another.
func TestLeftovers(t *testing.T) {
	const (
		host   = `{"ID":"AAAAAAAA-0000-4000-8000-000000000001","Name":"cbr0_ep"}`
		same   = `{"ID":"aaaaaaaa-0000-4000-8000-000000000001","Name":"cbr0_ep"}`
		first  = `{"ID":"AAAAAAAA-0000-4000-8000-000000000002","Name":"a_cbr0"}`
		second = `{"ID":"AAAAAAAA-0000-4000-8000-000000000003","Name":"a_cbr0"}`
	)
	endpoints, err := newEndpoints(snapshot(host), snapshot(first, same, second))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{
		"cbr0/10.244.1.3", "cbr0/lock", "cbr0/last_reserved_ip.0", "cbr0/10.244.1.9",
		"cbr0/fd00_50_3__7", "empty/lock", "flannel.4096/10.244.2.2",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leases, err := filesBelow(dir, isBookkeeping)
	if err != nil {
		t.Fatal(err)
	}
	l := leftovers{endpoints: endpoints, leases: leases}
	var out strings.Builder
	l.show(&out)
	want := `left behind: a_cbr0
left behind: a_cbr0
left behind: cbr0/10.244.1.3
left behind: cbr0/10.244.1.9
left behind: cbr0/fd00_50_3__7
left behind: flannel.4096/10.244.2.2
leaked: 2 endpoints, 4 leases
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("leftovers (-want +got):\n%s", diff)
	}
	if l.none() {
		t.Error("nothing was found to be left")
	}
}

// TestScratchIsALeak: a scratch file alone makes the tour fail, too.
func TestScratchIsALeak(t *testing.T) {
	if l := (leftovers{scratch: []string{"x"}}); l.none() {
		t.Error("a scratch file counts for nothing")
	}
}

func TestNoDirectoryNoFiles(t *testing.T) {
	files, err := filesBelow(filepath.Join(t.TempDir(), "missing"), nil)
	if err != nil || len(files) > 0 {
		t.Errorf("files %v, error %v", files, err)
	}
}

func TestUnreadableEndpoint(t *testing.T) {
	if _, err := newEndpoints(snapshot(), snapshot(`{"ID":7}`)); err == nil {
		t.Error("an endpoint that cannot be read was passed over")
	}
}
