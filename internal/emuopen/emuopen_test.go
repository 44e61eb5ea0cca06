package emuopen_test

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/emuopen"
)

func TestParseAdapters(t *testing.T) {
	prefixes := func(texts ...string) (out []netip.Prefix) {
		for _, s := range texts {
			out = append(out, netip.MustParsePrefix(s))
		}
		return out
	}
	tests := []struct {
		name, text string
		want       []emulator.Adapter
		says       string // the error
	}{
		{name: "one", text: "Ethernet=192.0.2.10/24",
			want: []emulator.Adapter{{Name: "Ethernet", MAC: hns.MAC{0, 0x15, 0x5d, 0, 2, 10}, Addresses: prefixes("192.0.2.10/24")}}},
		{name: "several, with blanks", text: " Ethernet 2 = 2001:db8::1/64 , 198.51.100.7/24 ;eth1=",
			want: []emulator.Adapter{
				{Name: "Ethernet 2", MAC: hns.MAC{0, 0x15, 0x5d, 51, 100, 7}, Addresses: prefixes("2001:db8::1/64", "198.51.100.7/24")},
				{Name: "eth1", MAC: hns.MAC{0, 0x15, 0x5d, 0xff, 0xff, 1}},
			}},
		{name: "nothing", text: " "},
		{name: "no name", text: "=192.0.2.1/24", says: `"=192.0.2.1/24" is not an adapter`},
		{name: "no sign", text: "192.0.2.1/24", says: `"192.0.2.1/24" is not an adapter`},
		{name: "nothing behind the last", text: "a=192.0.2.1/24;", says: `"" is not an adapter`},
		{name: "no length", text: "a=192.0.2.1", says: `adapter "a": "192.0.2.1" is not an address with a prefix length`},
		{name: "empty address", text: "a=192.0.2.1/24,", says: `adapter "a": "" is not an address`},
		{name: "twice", text: "a=;A=", says: `adapter "A": there are two of that name`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := emuopen.ParseAdapters(tt.text)
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("got %v, want %q", err, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Adapters and version are for a new HNS; a file keeps what it has, and what it
// has is known when HNS has put its vNICs over the adapters, too.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	old, young := hns.Version{Major: 9, Minor: 2}, hns.Version{Major: 16}
	one, two := "Ethernet=192.0.2.10/24", "Ethernet=192.0.2.11/24;Ethernet 2="
	tests := []struct {
		name, path   string
		version      hns.Version
		adapters     string
		want         hns.Version
		wantAdapters string
		fails        string
	}{
		{name: "memory", want: emulator.WindowsServer2022, wantAdapters: one},
		{name: "memory with wishes", version: old, adapters: two, want: old, wantAdapters: two},
		{name: "new file", path: "a", want: emulator.WindowsServer2022, wantAdapters: one},
		{name: "new file with wishes", path: "b", version: young, adapters: two, want: young, wantAdapters: two},
		{name: "file again, nothing asked for", path: "b", want: young, wantAdapters: two},
		{name: "file again, the same", path: "b", version: young, adapters: two, want: young, wantAdapters: two},
		{name: "file again, the same version", path: "b", version: young, want: young, wantAdapters: two},
		{name: "file again, other version", path: "b", version: old, fails: "b is the state of HNS 16.0, but 9.2 is asked for"},
		{name: "file again, other adapters", path: "b", adapters: one, fails: "b has the adapters " + two + ", but " + one + " are asked for"},
		{name: "a directory", path: ".", version: old, fails: dir},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			adapters, err := emuopen.ParseAdapters(tt.adapters)
			if err != nil {
				t.Fatal(err)
			}
			w := emuopen.Wish{Path: tt.path, Version: tt.version, Adapters: adapters}
			if w.Path != "" {
				w.Path = filepath.Join(dir, w.Path)
			}
			h, err := emuopen.Open(w)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c := hns.New(h, nil)
			if got, err := c.Version(t.Context()); err != nil || got != tt.want {
				t.Errorf("version %s, %v; want %s", got, err, tt.want)
			}
			list, err := h.Adapters()
			if err != nil {
				t.Fatal(err)
			}
			physical := list[:0]
			for _, a := range list {
				if a.Virtual { // of the network below
					physical[len(physical)-1].Addresses = a.Addresses
					continue
				}
				physical = append(physical, a)
			}
			if got := emuopen.Format(physical); got != tt.wantAdapters {
				t.Errorf("adapters %s, want %s", got, tt.wantAdapters)
			}
			// Those that come after find the adapter below a switch.
			subnet := hns.Subnet{Prefix: netip.MustParsePrefix("10.244.1.0/24")}
			n := &hns.Network{Name: "net", Type: hns.Transparent, IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{subnet}}}}
			if _, _, err := c.Networks.Ensure(t.Context(), n, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}
