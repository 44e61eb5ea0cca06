package ipam_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/ipam"
)

func TestLeases(t *testing.T) {
	dataDir := t.TempDir()
	dir := filepath.Join(dataDir, "lake")
	if err := os.MkdirAll(filepath.Join(dir, "10.71.3.99"), 0o700); err != nil { // a directory
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"10.71.3.10":         "sbx-02\r\neth0", // as the plugin writes it, on every system
		"10.71.3.9":          "sbx-01\neth1\n",
		"10.71.3.11":         "sbx-03", // as it did long ago
		"10.71.3.12":         "",       // about to be written
		"fd00_71__2":         "sbx-01\r\neth0",
		"last_reserved_ip.0": "10.71.3.11",
		"last_reserved_ip.1": "fd00:71::2",
		"lock":               "",
		"notes.txt":          "sbx-09\r\neth0",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ipam.Leases(dataDir, "lake")
	if err != nil {
		t.Fatal(err)
	}
	want := []ipam.StoredLease{
		{adr("10.71.3.9"), "sbx-01", "eth1"},
		{adr("10.71.3.10"), "sbx-02", "eth0"},
		{adr("10.71.3.11"), "sbx-03", ""},
		{adr("10.71.3.12"), "", ""},
		{adr("fd00:71::2"), "sbx-01", "eth0"},
	}
	if diff := cmp.Diff(want, got, byText); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLeaseOf agrees with Leases about every address.
func TestLeaseOf(t *testing.T) {
	n := newRealNetwork(t, "1.0.0", `{"type":"host-local","ranges":[[{"subnet":"10.71.3.0/24"}],[{"subnet":"fd00:71::/64"}]]}`)
	for _, id := range []string{"sbx-01", "sbx-02"} {
		if _, err := n.ipam.Allocate(t.Context(), n.request(id)); err != nil {
			t.Fatal(err)
		}
	}
	all := n.leases()
	if len(all) != 4 {
		t.Fatalf("leases %v", all)
	}
	for _, want := range all {
		if got, ok, err := ipam.LeaseOf(n.dataDir, "lake", want.Address); got != want || !ok || err != nil {
			t.Errorf("%v, %v, %v; want %v", got, ok, err, want)
		}
	}
	if got, ok, err := ipam.LeaseOf(n.dataDir, "lake", adr("10.71.3.200")); ok || err != nil {
		t.Errorf("a free address: %v, %v, %v", got, ok, err)
	}
	if _, _, err := ipam.LeaseOf(n.dataDir, "..", adr("10.71.3.2")); err == nil {
		t.Error("a name that leads out of the directory is accepted")
	}
}

func TestLeasesOfUnusedNetwork(t *testing.T) {
	if got, err := ipam.Leases(t.TempDir(), "lake"); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestLeasesRefuses(t *testing.T) {
	dataDir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dataDir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ipam.Leases(dataDir, "file"); err == nil {
		t.Errorf("a file is a network with %v", got)
	}
	for _, name := range []string{"", "..", ".", "../lake", "a/b", `a\b`} {
		if _, err := ipam.Leases(dataDir, name); err == nil || !strings.Contains(err.Error(), "not the name of a network") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
