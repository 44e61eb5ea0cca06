package ipam_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/ipam"
)

func TestReserve(t *testing.T) {
	files, err := filepath.Glob("testdata/reserve/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := sections(string(text))
			reserved := readReserved(t, part["reserved"])
			in, call := part["ipam"], reserveIPAM
			if in == "" {
				in, call = part["network"], ipam.ReserveNetwork
			}
			got, changes, err := call([]byte(in), reserved...)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, c := range changes {
				lines = append(lines, c.String())
			}
			if golden.Update(t) {
				head, _, _ := strings.Cut(string(text), "-- want --\n")
				text := head + "-- want --\n" + string(got) + "\n-- changes --\n" + strings.Join(lines, "\n") + "\n"
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(part["want"], string(got)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(part["changes"], strings.Join(lines, "\n")); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if part["ipam"] != "" {
				checkReserved(t, []byte(in), got, reserved)
			}
			again, changes, err := call(got, reserved...)
			if err != nil || len(changes) != 0 || string(again) != string(got) {
				t.Errorf("a second time: %s, %v, %v", again, changes, err)
			}
		})
	}
}

// sections splits a case at its "-- name --" lines.
func sections(text string) map[string]string {
	out := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(strings.TrimSpace(n), " --")
			continue
		}
		out[name] += line
	}
	for name, body := range out {
		out[name] = strings.TrimSuffix(body, "\n")
	}
	return out
}

func reserveIPAM(conf []byte, reserved ...ipam.Reservation) ([]byte, []ipam.Change, error) {
	return ipam.Reserve(conf, reserved...)
}

// readReserved reads lines of an address and a reason.
func readReserved(t *testing.T, text string) []ipam.Reservation {
	var out []ipam.Reservation
	for line := range strings.Lines(text) {
		a, reason, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			t.Fatalf("want an address and a reason: %q", line)
		}
		out = append(out, ipam.Reservation{Address: adr(a), Reason: reason})
	}
	return out
}

func TestReserveRefuses(t *testing.T) {
	res := func(list ...string) []ipam.Reservation {
		var out []ipam.Reservation
		for _, a := range list {
			out = append(out, ipam.Reservation{Address: adr(a), Reason: "test"})
		}
		return out
	}
	tests := []struct {
		name      string
		in        string
		reserved  []ipam.Reservation
		want      string
		noAddress bool
	}{
		{"nothing left beside the type", `{"type":"host-local","subnet":"10.71.3.8/30"}`, res("10.71.3.10"), "ipam: no address is left", true},
		{"nothing left in a set", `{"type":"host-local","ranges":[[{"subnet":"10.71.3.0/24"}],[{"subnet":"10.71.4.8/30"},{"subnet":"10.71.5.8/30"}]]}`, res("10.71.4.10", "10.71.5.10"), "ipam.ranges[1]: no address is left", true},
		{"faulty", `{"type":"host-local","subnet":"10.71.3.7/24"}`, nil, "ipam.subnet", false},
		{"HNS assigns", `{"subnet":"10.71.3.0/24","routes":[{"GW":"10.71.3.2"}]}`, res("10.71.3.2"), "ipam.type", false},
		{"reservation without address", `{"type":"host-local","subnet":"10.71.3.0/24"}`, []ipam.Reservation{{Reason: "gateway"}}, "(gateway) without an address", false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, _, err := ipam.Reserve([]byte(tc.in), tc.reserved...)
			if err == nil || !strings.Contains(err.Error(), tc.want) || errors.Is(err, ipam.ErrNoAddress) != tc.noAddress {
				t.Errorf("got %s, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestReserveNetworkRefuses(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"not JSON", "{\n\"name\" \"lake\"}", "network configuration: line 2 column 8"},
		{"no ipam", `{"name":"lake"}`, "ipam: missing"},
		{"ipam is text", `{"ipam":"host-local"}`, "ipam: want an object"},
		{"ipam twice", `{"ipam":{},"IPAM":{}}`, `keys "ipam" and "IPAM"`},
		{"no ranges anywhere", `{"ipam":{"type":"host-local"},"runtimeConfig":{}}`, "neither subnet nor ranges"},
		{"runtimeConfig is a list", `{"ipam":{"type":"host-local","subnet":"10.71.3.0/24"},"runtimeConfig":[]}`, "runtimeConfig: want an object"},
		{"overlap with the runtime's", `{"ipam":{"type":"host-local","subnet":"10.71.3.0/24"},"runtimeConfig":{"ipRanges":[[{"subnet":"10.71.0.0/16"}]]}}`, "ipam"},
		{"nothing left of the runtime's", `{"ipam":{"type":"host-local"},"runtimeConfig":{"ipRanges":[[{"subnet":"10.71.3.8/30"}]]}}`, "runtimeConfig.ipRanges[0]: no address is left"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, _, err := ipam.ReserveNetwork([]byte(tc.in), ipam.Reservation{Address: adr("10.71.3.10"), Reason: "test"})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %s, %v; want %q", got, err, tc.want)
			}
		})
	}
}

// offered is what host-local hands out of a configuration, set by set, worked out
// in the plainest way: try every address of the subnet. It gives up on subnets of
// more than 4096 addresses.
func offered(t *testing.T, conf []byte) (sets []map[netip.Addr]bool, small bool) {
	t.Helper()
	type plainRange struct{ Subnet, RangeStart, RangeEnd, Gateway string }
	var c struct {
		plainRange
		Ranges [][]plainRange
	}
	if err := json.Unmarshal(conf, &c); err != nil {
		t.Fatalf("%v in %s", err, conf)
	}
	lists := c.Ranges
	if c.Subnet != "" {
		lists = append([][]plainRange{{c.plainRange}}, lists...)
	}
	for _, list := range lists {
		set := map[netip.Addr]bool{}
		for _, r := range list {
			subnet := netip.MustParsePrefix(r.Subnet)
			if subnet.Addr().BitLen()-subnet.Bits() > 12 {
				return nil, false
			}
			bound := func(text string, otherwise netip.Addr) netip.Addr {
				if text == "" {
					return otherwise
				}
				return netip.MustParseAddr(text).Unmap()
			}
			second := subnet.Addr().Next()
			first, gateway := bound(r.RangeStart, second), bound(r.Gateway, second)
			for a := first; a.IsValid() && subnet.Contains(a); a = a.Next() {
				isBroadcast := a.Is4() && !subnet.Contains(a.Next())
				if a != gateway && (r.RangeEnd != "" || !isBroadcast) {
					set[a] = true
				}
				if r.RangeEnd != "" && a == bound(r.RangeEnd, a) {
					break
				}
			}
		}
		sets = append(sets, set)
	}
	return sets, true
}

// checkReserved compares a configuration before and after Reserve by what is
// offered: the same but for the reserved addresses.
func checkReserved(t *testing.T, before, after []byte, reserved []ipam.Reservation) {
	t.Helper()
	want, small := offered(t, before)
	if !small {
		return
	}
	for _, set := range want {
		for _, r := range reserved {
			delete(set, r.Address)
		}
	}
	got, _ := offered(t, after)
	if diff := cmp.Diff(want, got, byText); diff != "" {
		t.Errorf("from %s\nto   %s\noffers (-want +got):\n%s", before, after, diff)
	}
}
