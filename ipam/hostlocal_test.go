package ipam_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/ipam"
)

func TestParseHostLocal(t *testing.T) {
	const netRoute, table = "10.96.0.0/12", 100
	tableOf := func(n int) *int { return &n }
	tests := []struct {
		name string
		in   string
		want ipam.HostLocal
	}{
		{"subnet beside the type, as flannel and Kubernetes' own scripts write it",
			`{"type":"host-local","subnet":"10.71.3.0/24","rangeStart":"10.71.3.3"}`,
			ipam.HostLocal{Type: "host-local", Sets: []ipam.RangeSet{{{Subnet: pfx("10.71.3.0/24"), Start: adr("10.71.3.3")}}}}},
		{"capital keys",
			`{"Type":"host-local","Subnet":"10.71.3.0/24"}`,
			ipam.HostLocal{Type: "host-local", Sets: []ipam.RangeSet{{{Subnet: pfx("10.71.3.0/24")}}}}},
		{"ranges", // microsoft/windows-container-networking#64
			`{"type":"host-local","ranges":[[{"subnet":"10.71.5.0/24","rangeStart":"10.71.5.20","rangeEnd":"10.71.5.40","gateway":"10.71.5.254"}]]}`,
			ipam.HostLocal{Type: "host-local", Sets: []ipam.RangeSet{{{Subnet: pfx("10.71.5.0/24"), Start: adr("10.71.5.20"), End: adr("10.71.5.40"), Gateway: adr("10.71.5.254")}}}}},
		{"both forms: the subnet comes first",
			`{"type":"host-local","ranges":[[{"subnet":"fd00:71::/64"}]],"subnet":"10.71.3.0/24"}`,
			ipam.HostLocal{Type: "host-local", Sets: []ipam.RangeSet{{{Subnet: pfx("10.71.3.0/24")}}, {{Subnet: pfx("fd00:71::/64")}}}}},
		{"everything else",
			`{"type":"host-local.exe","dataDir":"C:\\lake","resolvConf":"C:\\resolv.conf","x":[1],"ranges":[[{"subnet":"10.71.3.0/24","note":"a<b"}]],
			  "routes":[{"dst":"10.96.0.1/12","gw":"10.71.3.1","mtu":1400,"advmss":1360,"priority":7,"table":100,"scope":0},{"dst":"::/0","gw":""}]}`,
			ipam.HostLocal{
				Type: "host-local.exe", DataDir: `C:\lake`, ResolvConf: `C:\resolv.conf`,
				Extra: map[string]json.RawMessage{"x": json.RawMessage(`[1]`)},
				Sets:  []ipam.RangeSet{{{Subnet: pfx("10.71.3.0/24"), Extra: map[string]json.RawMessage{"note": json.RawMessage(`"a<b"`)}}}},
				Routes: []ipam.Route{
					{Destination: pfx(netRoute), Gateway: adr("10.71.3.1"), MTU: 1400, AdvMSS: 1360, Priority: 7, Table: tableOf(table), Scope: tableOf(0)},
					{Destination: pfx("::/0")},
				},
			}},
		{"empty and null are absent",
			`{"type":"host-local","subnet":"10.71.3.0/24","rangeStart":"","rangeEnd":null,"gateway":"","ranges":null,"routes":null,"dataDir":""}`,
			ipam.HostLocal{Type: "host-local", Sets: []ipam.RangeSet{{{Subnet: pfx("10.71.3.0/24")}}}}},
		{"byte order mark", // MicrosoftDocs/Virtualization-Documentation#1240
			"\ufeff" + `{"type":"host-local","subnet":"10.71.3.0/24"}`,
			ipam.HostLocal{Type: "host-local", Sets: []ipam.RangeSet{{{Subnet: pfx("10.71.3.0/24")}}}}},
		{"IPv4 addresses in IPv6 form",
			`{"type":"host-local","subnet":"10.71.3.0/24","rangeStart":"::ffff:10.71.3.9"}`,
			ipam.HostLocal{Type: "host-local", Sets: []ipam.RangeSet{{{Subnet: pfx("10.71.3.0/24"), Start: adr("10.71.3.9")}}}}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ipam.ParseHostLocal([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got, byText); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			again, err := ipam.ParseHostLocal(text)
			if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if diff := cmp.Diff(got, again, byText, cmp.Comparer(sameJSON)); diff != "" {
				t.Errorf("after a round trip (-want +got):\n%s", diff)
			}
		})
	}
}

// sameJSON compares raw values: encoding/json escapes < in them.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// TestParseHostLocalRefuses lists, for each fault, the path and the reason that
// the message must have. All faults of a configuration are reported.
func TestParseHostLocalRefuses(t *testing.T) {
	conf := func(members string) string { return `{"type":"host-local",` + members + `}` }
	ranges := func(list string) string { return conf(`"ranges":` + list) }
	tests := []struct {
		name string
		in   string
		want []string // each "path: part of the message"
	}{
		{"not JSON", "{\n  \"type\": \"host-local\",\n  subnet}", []string{"ipam: line 3 column 3"}},
		{"cut off", `{"type":`, []string{"ipam: cut off"}},
		{"UTF-16", "\xff\xfe{\x00", []string{"ipam: UTF-16"}},
		{"not an object", `["host-local"]`, []string{`ipam: want an object, got ["host-local"]`}},
		{"twice", conf(`"subnet":"10.71.3.0/24","Subnet":"10.71.4.0/24"`), []string{`ipam: keys "subnet" and "Subnet" mean the same`}},
		{"no type", `{"subnet":"10.71.3.0/24"}`, []string{`ipam.type: want "host-local"`}},
		{"another type", `{"type":"azure-vnet-ipam","subnet":"10.71.3.0/24"}`, []string{`ipam.type: "azure-vnet-ipam"`}},
		{"empty type", `{"type":"","subnet":"10.71.3.0/24"}`, []string{`ipam.type: want "host-local"`}},
		// microsoft/windows-container-networking#64: a plugin lost the ranges.
		{"no ranges", `{"type":"host-local"}`, []string{"ipam: neither subnet nor ranges"}},
		{"empty list", ranges(`[]`), []string{"ipam: neither subnet nor ranges"}},
		{"empty set", ranges(`[[]]`), []string{"ipam.ranges[0]: empty"}},
		{"list of ranges", ranges(`[{"subnet":"10.71.3.0/24"}]`), []string{"ipam.ranges[0]: a list of lists"}},
		{"ranges is text", ranges(`"10.71.3.0/24"`), []string{"ipam.ranges: want a list"}},
		{"a range is text", ranges(`[["10.71.3.0/24"]]`), []string{"ipam.ranges[0][0]: want an object"}},
		{"no subnet", ranges(`[[{"rangeStart":"10.71.3.9"}]]`), []string{"ipam.ranges[0][0].subnet: missing"}},
		{"null subnet", conf(`"subnet":null`), []string{"ipam.subnet: missing"}},
		{"empty subnet", conf(`"subnet":""`), []string{`ipam.subnet: want a subnet`}},
		{"subnet without length", conf(`"subnet":"10.71.3.0"`), []string{`ipam.subnet: "10.71.3.0"`}},
		{"subnet is a number", conf(`"subnet":10`), []string{"ipam.subnet: 10: want text"}},
		{"host bits", ranges(`[[{"subnet":"10.71.3.0/24"},{"subnet":"10.71.4.7/24"}]]`), []string{"ipam.ranges[0][1].subnet: the subnet is 10.71.4.0/24"}},
		{"IPv6 form", conf(`"subnet":"::ffff:10.71.3.0/120"`), []string{"ipam.subnet: want a subnet"}},
		{"too small", ranges(`[[{"subnet":"10.71.3.0/31"}],[{"subnet":"fd00::/127"}]]`), []string{"ipam.ranges[0][0].subnet: /30 or larger", "ipam.ranges[1][0].subnet: /126 or larger"}},
		{"range without subnet", conf(`"ranges":[[{"subnet":"10.71.3.0/24"}]],"rangeStart":"10.71.3.9","gateway":"10.71.3.1"`), []string{"ipam.rangeStart: ignores it", "ipam.gateway: ignores it"}},
		{"not addresses", conf(`"subnet":"10.71.3.0/24","rangeStart":"10.71.3.300","rangeEnd":"fe80::1%eth0","gateway":7`), []string{"ipam.rangeStart: want an address", "ipam.rangeEnd: want an address", "ipam.gateway: want text"}},
		{"outside", conf(`"subnet":"10.71.3.0/24","rangeStart":"10.71.4.1","rangeEnd":"fd00::1"`), []string{"ipam.rangeStart: not in 10.71.3.0/24", "ipam.rangeEnd: not in 10.71.3.0/24"}},
		{"end before start", conf(`"subnet":"10.71.3.0/24","rangeStart":"10.71.3.9","rangeEnd":"10.71.3.8"`), []string{"ipam: ends before it starts"}},
		{"start after the default end", conf(`"subnet":"10.71.3.0/24","rangeStart":"10.71.3.255"`), []string{"ipam: ends before it starts"}},
		{"gateway of the other family", conf(`"subnet":"10.71.3.0/24","gateway":"fd00::1"`), []string{"ipam.gateway: other address family"}},
		{"mixed set", ranges(`[[{"subnet":"10.71.3.0/24"},{"subnet":"fd00::/64"}]]`), []string{"ipam.ranges[0][1]: other address family"}},
		{"overlap in a set", ranges(`[[{"subnet":"10.71.3.0/24","rangeEnd":"10.71.3.9"},{"subnet":"10.71.3.0/24","rangeStart":"10.71.3.9"}]]`), []string{"ipam.ranges[0][1]: overlaps with 10.71.3.1-10.71.3.9 at ipam.ranges[0][0]"}},
		{"overlap between sets", conf(`"subnet":"10.71.3.0/24","ranges":[[{"subnet":"10.71.0.0/16"}]]`), []string{"ipam.ranges[0][0]: overlaps with 10.71.3.1-10.71.3.254 at ipam"}},
		{"route without destination", conf(`"subnet":"10.71.3.0/24","routes":[{"gw":"10.71.3.2"}]`), []string{"ipam.routes[0].dst: missing"}},
		{"bad routes", conf(`"subnet":"10.71.3.0/24","routes":[{"dst":"default"},{"dst":"0.0.0.0/0","gw":"fd00::1"},{"dst":"0.0.0.0/0","mtu":"big"},7]`),
			[]string{`ipam.routes[0].dst: "default"`, "ipam.routes[1].gw: other address family", "ipam.routes[2].mtu: whole number", "ipam.routes[3]: want an object"}},
		// The key as nerdctl writes it is dropped by the plugins.
		{"gateway of a route", conf(`"subnet":"10.71.3.0/24","routes":[{"dst":"0.0.0.0/0","gateway":"10.71.3.2"}]`), []string{"ipam.routes[0].gateway: gw is the next hop"}},
		{"routes is an object", conf(`"subnet":"10.71.3.0/24","routes":{}`), []string{"ipam.routes: want a list"}},
		{"dataDir is a list", conf(`"subnet":"10.71.3.0/24","dataDir":[]`), []string{"ipam.dataDir: want text"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ipam.ParseHostLocal([]byte(tc.in))
			if err == nil {
				t.Fatalf("accepted: %+v", got)
			}
			checkFaults(t, err, tc.want)
		})
	}
}

// checkFaults wants err to be exactly these faults, each "path: part of the text".
func checkFaults(t *testing.T, err error, want []string) {
	t.Helper()
	faults := configErrors(err)
	if len(faults) != len(want) {
		t.Fatalf("%d faults, want %d: %v", len(faults), len(want), err)
	}
	for i, w := range want {
		path, part, _ := strings.Cut(w, ": ")
		if faults[i].Path != path || !strings.Contains(faults[i].Error(), part) {
			t.Errorf("fault %d: %v; want %q", i, faults[i], w)
		}
	}
}

// configErrors flattens a joined error.
func configErrors(err error) []*ipam.ConfigError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*ipam.ConfigError
		for _, e := range joined.Unwrap() {
			out = append(out, configErrors(e)...)
		}
		return out
	}
	var ce *ipam.ConfigError
	if errors.As(err, &ce) {
		return []*ipam.ConfigError{ce}
	}
	return nil
}

func TestHostLocalFromProgram(t *testing.T) {
	h := &ipam.HostLocal{
		Sets: []ipam.RangeSet{
			{{Subnet: pfx("10.71.3.0/24"), Start: adr("10.71.3.3")}},
			{{Subnet: pfx("fd00:71::/64"), Gateway: adr("fd00:71::fe")}},
		},
		Routes:  []ipam.Route{{Destination: pfx("0.0.0.0/0")}},
		DataDir: `C:\lake`,
		Extra:   map[string]json.RawMessage{"zone": json.RawMessage(`"b"`), "area": json.RawMessage(`1`)},
	}
	got, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"host-local","ranges":[[{"subnet":"10.71.3.0/24","rangeStart":"10.71.3.3"}],[{"subnet":"fd00:71::/64","gateway":"fd00:71::fe"}]],` +
		`"routes":[{"dst":"0.0.0.0/0"}],"dataDir":"C:\\lake","area":1,"zone":"b"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostLocalValidate(t *testing.T) {
	lake := []ipam.RangeSet{{{Subnet: pfx("10.71.3.0/24")}}}
	tests := []struct {
		name string
		h    ipam.HostLocal
		want []string
	}{
		{"nothing", ipam.HostLocal{}, []string{"ipam: neither subnet nor ranges"}},
		{"type", ipam.HostLocal{Type: "dhcp", Sets: lake}, []string{"ipam.type: want"}},
		{"empty set", ipam.HostLocal{Sets: []ipam.RangeSet{{}}}, []string{"ipam.ranges[0]: empty"}},
		{"zero range", ipam.HostLocal{Sets: []ipam.RangeSet{{{}}}}, []string{"ipam.ranges[0][0].subnet: missing"}},
		{"IPv6 form", ipam.HostLocal{Sets: []ipam.RangeSet{{{Subnet: pfx("::ffff:10.0.0.0/120")}}}}, []string{"ipam.ranges[0][0].subnet: IPv6 form"}},
		{"zero route", ipam.HostLocal{Sets: lake, Routes: make([]ipam.Route, 1)}, []string{"ipam.routes[0].dst: missing"}},
		{"extra that is a field", ipam.HostLocal{Sets: lake, Extra: map[string]json.RawMessage{"DataDir": json.RawMessage(`"x"`)}}, []string{"ipam.DataDir: stands for a field"}},
		{"extra that is not JSON", ipam.HostLocal{Sets: []ipam.RangeSet{{{Subnet: pfx("10.71.3.0/24"), Extra: map[string]json.RawMessage{"x": json.RawMessage(`{`)}}}}}, []string{"ipam.ranges[0][0].x: not JSON"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.h.Validate()
			if err == nil {
				t.Fatal("accepted")
			}
			checkFaults(t, err, tc.want)
			if _, err := json.Marshal(&tc.h); err == nil {
				t.Error("encoded all the same")
			}
		})
	}
}

func TestRangeDefaults(t *testing.T) {
	tests := []struct {
		r                    ipam.Range
		first, last, gateway string
	}{
		{ipam.Range{Subnet: pfx("10.71.3.64/26")}, "10.71.3.65", "10.71.3.126", "10.71.3.65"},
		{ipam.Range{Subnet: pfx("fd00:71::/64")}, "fd00:71::1", "fd00:71::ffff:ffff:ffff:ffff", "fd00:71::1"},
		{ipam.Range{Subnet: pfx("10.71.3.0/24"), Start: adr("10.71.3.0"), End: adr("10.71.3.255"), Gateway: adr("10.71.9.9")}, "10.71.3.0", "10.71.3.255", "10.71.9.9"},
	}
	for _, tc := range tests {
		got := []string{tc.r.First().String(), tc.r.Last().String(), tc.r.GatewayAddress().String()}
		if want := []string{tc.first, tc.last, tc.gateway}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tc.r.Subnet, got, want)
		}
	}
	var zero ipam.Range
	if zero.First().IsValid() || zero.Last().IsValid() || zero.GatewayAddress().IsValid() {
		t.Error("the zero range has addresses")
	}
	if diff := cmp.Diff(ipam.Range{}, zero, cmpopts.EquateEmpty(), byText); diff != "" {
		t.Error(diff)
	}
}
