package subnetenv_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/subnetenv"
)

// randomEnv makes a valid Env of one, the other or both families.
func randomEnv(r *rand.Rand) *subnetenv.Env {
	e := &subnetenv.Env{MTU: 1280 + r.IntN(65535-1280+1), IPMasq: r.IntN(2) == 0}
	families := 1 + r.IntN(3)
	if families&1 != 0 {
		second := byte(r.IntN(256))
		e.Networks = append(e.Networks, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, second, 0, 0}), 16))
		if r.IntN(2) == 0 {
			e.Networks = append(e.Networks, prefixes("192.168.0.0/16")...)
		}
		e.Subnet = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, second, byte(r.IntN(256)), byte(r.IntN(2))}), 16+r.IntN(17))
	}
	if families&2 != 0 {
		e.IPv6Networks = prefixes("fd00:50::/48")
		e.IPv6Subnet = netip.MustParsePrefix(fmt.Sprintf("fd00:50:0:%x::%x/%d", r.IntN(1<<16), r.IntN(2), 48+r.IntN(81)))
	}
	values := []string{"", "plain", "two words", " edge ", "#", "a # b", `it's`, `"quoted"`, "'", "tab\there", "ü\u00a0", "a=b", "C:\\k\\", "\r"}
	for range r.IntN(4) {
		e.Extra = append(e.Extra, subnetenv.Pair{Key: fmt.Sprintf("K%d", r.IntN(3)), Value: values[r.IntN(len(values))]})
	}
	return e
}

// godotenvLike is how other readers of this file see it: a map, quotes off.
func godotenvLike(text []byte) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if len(value) >= 2 && (value[0] == '\'' || value[0] == '"') {
			value = value[1 : len(value)-1]
		}
		m[key] = value
	}
	return m
}

// What Format writes, Parse reads back, and a reader that knows nothing but
// KEY=VALUE finds flanneld's text under flanneld's keys.
func TestFormatParse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		e := randomEnv(r)
		if err := e.Validate(); err != nil {
			t.Fatalf("Validate(%+v): %v", e, err)
		}
		text := subnetenv.Format(e)
		back, err := subnetenv.Parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(e, back, comparePrefixes); diff != "" {
			t.Fatalf("round trip (-want +got):\n%s\n%s", diff, text)
		}
		want := map[string]string{"FLANNEL_MTU": fmt.Sprint(e.MTU), "FLANNEL_IPMASQ": fmt.Sprint(e.IPMasq)}
		put := func(networkKey, subnetKey string, networks []netip.Prefix, subnet netip.Prefix) {
			var list []string
			for _, n := range networks {
				list = append(list, n.String())
			}
			if list != nil {
				want[networkKey], want[subnetKey] = strings.Join(list, ","), subnet.String()
			}
		}
		put("FLANNEL_NETWORK", "FLANNEL_SUBNET", e.Networks, e.Subnet)
		put("FLANNEL_IPV6_NETWORK", "FLANNEL_IPV6_SUBNET", e.IPv6Networks, e.IPv6Subnet)
		for _, p := range e.Extra {
			want[p.Key] = p.Value
		}
		if diff := cmp.Diff(want, godotenvLike(text)); diff != "" {
			t.Fatalf("as another reader sees it (-want +got):\n%s\n%s", diff, text)
		}
	}
}

// No beginning of a file as flanneld writes it passes for the whole, and none is
// reported as wrong for good: flanneld on Windows writes in place, and a reader
// can meet any of them.
func TestEveryTornFileIsNotReady(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		e := randomEnv(r)
		e.Extra = nil
		lf := string(subnetenv.Format(e))
		for _, text := range []string{lf, "\uFEFF" + strings.ReplaceAll(lf, "\n", "\r\n")} {
			whole := len(strings.TrimRight(text, "\r\n"))
			for n := range text {
				_, err := subnetenv.Parse([]byte(text[:n]))
				if n >= whole {
					if err != nil {
						t.Fatalf("%q lacks only its line end: %v", text[:n], err)
					}
				} else if !errors.Is(err, subnetenv.ErrNotReady) {
					t.Fatalf("%q, a part of %q: error %v, want ErrNotReady", text[:n], text, err)
				}
			}
		}
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name     string
		env      *subnetenv.Env
		notReady bool
		want     []string
	}{
		{"zero", &subnetenv.Env{}, true, []string{
			"FLANNEL_NETWORK missing (and no FLANNEL_IPV6_NETWORK)", "FLANNEL_SUBNET missing (and no FLANNEL_IPV6_SUBNET)", "FLANNEL_MTU missing"}},
		{"MTU", with(func(e *subnetenv.Env) { e.MTU = -5 }), false, []string{`FLANNEL_MTU "-5" is not in 68 to 65535`}},
		{"host bits in a network", with(func(e *subnetenv.Env) { e.Networks = prefixes("10.50.0.1/16") }), false,
			[]string{`FLANNEL_NETWORK "10.50.0.1/16" has host bits set`}},
		{"repeated network", with(func(e *subnetenv.Env) { e.Networks = prefixes("10.50.0.0/16", "10.50.0.0/16") }), false,
			[]string{`FLANNEL_NETWORK "10.50.0.0/16" is listed twice`}},
		{"zero prefix in the list", with(func(e *subnetenv.Env) { e.Networks = append(e.Networks, netip.Prefix{}) }), false,
			[]string{`FLANNEL_NETWORK "invalid Prefix" is not a prefix`}},
		{"families exchanged", with(func(e *subnetenv.Env) { e.Subnet, e.IPv6Subnet = netip.MustParsePrefix("fd00::1/64"), e.Subnet }), false, []string{
			`FLANNEL_SUBNET "fd00::1/64" is IPv6 under a key for IPv4`, `FLANNEL_IPV6_SUBNET "10.50.3.1/24" is IPv4 under a key for IPv6`,
			"FLANNEL_IPV6_NETWORK missing, though FLANNEL_IPV6_SUBNET is there"}},
		{"outside", with(func(e *subnetenv.Env) { e.Subnet = netip.MustParsePrefix("10.51.3.1/24") }), false,
			[]string{`FLANNEL_SUBNET "10.51.3.1/24" lies in none of the networks of FLANNEL_NETWORK (10.50.0.0/16)`}},
		{"extra", with(func(e *subnetenv.Env) {
			e.Extra = []subnetenv.Pair{{"FLANNEL_MTU", "1"}, {"a b", ""}, {"", ""}, {"A", "x\ny"}, {"B", ` '"`}, {"C", "fine"}}
		}), false, []string{
			`FLANNEL_MTU "1" has a field of its own`, "a b is not a variable name", "is not a variable name",
			`A "x\ny" holds a line end or a NUL`, `B " '\"" needs quotes but holds both kinds`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.env.Validate()
			var parseErr *subnetenv.ParseError
			if !errors.As(err, &parseErr) {
				t.Fatalf("error %v, want a *ParseError", err)
			}
			var got []string
			for _, p := range parseErr.Problems {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if errors.Is(err, subnetenv.ErrNotReady) != tt.notReady {
				t.Errorf("errors.Is(err, ErrNotReady) = %t", !tt.notReady)
			}
		})
	}
}

func TestEnvHelpers(t *testing.T) {
	e := ipv4()
	if !e.HasIPv4() || e.HasIPv6() {
		t.Errorf("HasIPv4 %t, HasIPv6 %t; want true, false", e.HasIPv4(), e.HasIPv6())
	}
	if got := e.MaskedSubnet(); got != netip.MustParsePrefix("10.50.3.0/24") {
		t.Errorf("MaskedSubnet %v", got)
	}
	if got := e.MaskedIPv6Subnet(); got != (netip.Prefix{}) {
		t.Errorf("MaskedIPv6Subnet %v, want the zero prefix", got)
	}
	e.IPv6Subnet = netip.MustParsePrefix("fd00::1/64")
	if e.HasIPv6() {
		t.Error("HasIPv6 with half a family")
	}
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := subnetenv.Parse(data)
		if err != nil {
			var parseErr *subnetenv.ParseError
			if !errors.As(err, &parseErr) || len(parseErr.Problems) == 0 || err.Error() == "" {
				t.Fatalf("error %#v, want a *ParseError with problems", err)
			}
			lineCount := strings.Count(string(data), "\n") + 1
			for _, p := range parseErr.Problems {
				if p.Line > lineCount || p.Reason == "" || p.Line == 0 && p.Key == "" {
					t.Errorf("problem %+v in a file of %d lines", p, lineCount)
				}
			}
			return
		}
		if err := e.Validate(); err != nil {
			t.Fatalf("accepted but not valid: %v", err)
		}
		if !e.HasIPv4() && !e.HasIPv6() {
			t.Fatalf("accepted without a family: %+v", e)
		}
		text := subnetenv.Format(e)
		back, err := subnetenv.Parse(text)
		if err != nil {
			t.Fatalf("cannot read back %q: %v", text, err)
		}
		if diff := cmp.Diff(e, back, comparePrefixes); diff != "" {
			t.Fatalf("round trip (-want +got):\n%s", diff)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := []byte("FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUBNET=10.50.3.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := subnetenv.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
