package subnetenv_test

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/subnetenv"
)

// comparePrefixes makes cmp compare prefixes with ==.
var comparePrefixes = cmpopts.EquateComparable(netip.Prefix{})

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, s := range texts {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

// lines joins lines as flanneld writes them.
func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

// ipv4 is what most of the accepted files below say.
func ipv4() *subnetenv.Env {
	return &subnetenv.Env{
		Networks: prefixes("10.50.0.0/16"), Subnet: netip.MustParsePrefix("10.50.3.1/24"), MTU: 1450, IPMasq: true,
	}
}

func with(change func(*subnetenv.Env)) *subnetenv.Env {
	e := ipv4()
	change(e)
	return e
}

func TestParse(t *testing.T) {
	const net4, sub4, mtu, masq = "FLANNEL_NETWORK=10.50.0.0/16", "FLANNEL_SUBNET=10.50.3.1/24", "FLANNEL_MTU=1450", "FLANNEL_IPMASQ=true"
	const net6, sub6 = "FLANNEL_IPV6_NETWORK=fd00:50::/48", "FLANNEL_IPV6_SUBNET=fd00:50:0:3::1/64"
	v6 := func(e *subnetenv.Env) {
		e.IPv6Networks, e.IPv6Subnet = prefixes("fd00:50::/48"), netip.MustParsePrefix("fd00:50:0:3::1/64")
	}
	tests := []struct {
		name, text string
		want       *subnetenv.Env
	}{
		{"as flanneld writes it", lines(net4, sub4, mtu, masq), ipv4()},
		{"no line end at the end", strings.TrimSuffix(lines(net4, sub4, mtu, masq), "\n"), ipv4()},
		{"another order", lines(masq, sub4, mtu, net4), ipv4()},
		{"byte order mark and CRLF", "\uFEFF" + strings.ReplaceAll(lines(net4, sub4, mtu, masq), "\n", "\r\n"), ipv4()},
		{"not written NTFS blocks at the end", lines(net4, sub4, mtu, masq) + "\x00\x00\x00", ipv4()},
		{"blanks and tabs", " FLANNEL_NETWORK = 10.50.0.0/16 \n\tFLANNEL_SUBNET= 10.50.3.1/24\n FLANNEL_MTU=1450\n\nFLANNEL_IPMASQ= true\t\n", ipv4()},
		{"quotes", lines(`FLANNEL_NETWORK="10.50.0.0/16"`, `FLANNEL_SUBNET='10.50.3.1/24'`, `FLANNEL_MTU="1450" # bytes`, `FLANNEL_IPMASQ="true"`), ipv4()},
		{"comments", lines("# by hand", "  # FLANNEL_MTU=9000", net4+" # the cluster", sub4+"\t# us", mtu, masq), ipv4()},
		{"export", lines("export "+net4, "export\t"+sub4, "export   "+mtu, "export "+masq), ipv4()},
		{"repeated with the same value", lines(net4, sub4, mtu, mtu, masq, `FLANNEL_NETWORK="10.50.0.0/16"`), ipv4()},

		{"masq off", lines(net4, sub4, mtu, "FLANNEL_IPMASQ=false"), with(func(e *subnetenv.Env) { e.IPMasq = false })},
		{"masq True", lines(net4, sub4, mtu, "FLANNEL_IPMASQ=True"), ipv4()},
		{"masq 1", lines(net4, sub4, mtu, "FLANNEL_IPMASQ=1"), ipv4()},
		{"masq 0", lines(net4, sub4, mtu, "FLANNEL_IPMASQ=0"), with(func(e *subnetenv.Env) { e.IPMasq = false })},
		{"least MTU", lines(net4, sub4, "FLANNEL_MTU=68", masq), with(func(e *subnetenv.Env) { e.MTU = 68 })},
		{"most MTU", lines(net4, sub4, "FLANNEL_MTU=65535", masq), with(func(e *subnetenv.Env) { e.MTU = 65535 })},

		// flannel-io/flannel#2052: host bits are normal in the subnet.
		{"subnet without host bits", lines(net4, "FLANNEL_SUBNET=10.50.3.0/24", mtu, masq),
			with(func(e *subnetenv.Env) { e.Subnet = netip.MustParsePrefix("10.50.3.0/24") })},
		{"network with host bits", lines("FLANNEL_NETWORK=10.50.3.1/16", sub4, mtu, masq), ipv4()},
		{"subnet as large as the network", lines("FLANNEL_NETWORK=10.50.3.0/24", sub4, mtu, masq),
			with(func(e *subnetenv.Env) { e.Networks = prefixes("10.50.3.0/24") })},

		// flannel-io/flannel#2454, k3s-io/k3s#10422: several networks in one key.
		{"two networks", lines("FLANNEL_NETWORK=10.70.0.0/16,10.50.0.0/16", sub4, mtu, masq),
			with(func(e *subnetenv.Env) { e.Networks = prefixes("10.70.0.0/16", "10.50.0.0/16") })},
		{"blanks round commas", lines("FLANNEL_NETWORK= 10.50.0.0/16 , 10.70.0.0/16", sub4, mtu, masq),
			with(func(e *subnetenv.Env) { e.Networks = prefixes("10.50.0.0/16", "10.70.0.0/16") })},
		{"repeated network, once with host bits", lines("FLANNEL_NETWORK=10.50.0.0/16,10.70.0.0/16,10.50.9.9/16", sub4, mtu, masq),
			with(func(e *subnetenv.Env) { e.Networks = prefixes("10.50.0.0/16", "10.70.0.0/16") })},

		// containernetworking/plugins#570: the three stack modes.
		{"dual stack", lines(net4, sub4, net6, sub6, mtu, masq), with(v6)},
		{"IPv6 only", lines("", net6, sub6, mtu, masq), with(func(e *subnetenv.Env) {
			e.Networks, e.Subnet = nil, netip.Prefix{}
			v6(e)
		})},

		{"other keys are kept in order", lines("B='a # b'", net4, sub4, "A=x=y", mtu, masq, "B=", "export c.d-e=#1"), with(func(e *subnetenv.Env) {
			e.Extra = []subnetenv.Pair{{"B", "a # b"}, {"A", "x=y"}, {"B", ""}, {"c.d-e", "#1"}}
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := subnetenv.Parse([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, comparePrefixes); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
			if err := got.Validate(); err != nil {
				t.Errorf("Validate finds fault with what Parse accepted: %v", err)
			}
		})
	}
}

func TestParseProblems(t *testing.T) {
	// good is a complete file; rows replace or drop lines of it.
	good := []string{"FLANNEL_NETWORK=10.50.0.0/16", "FLANNEL_SUBNET=10.50.3.1/24", "FLANNEL_MTU=1450", "FLANNEL_IPMASQ=true"}
	edit := func(line int, s string) string {
		l := append([]string(nil), good...)
		l[line-1] = s
		return lines(l...)
	}
	tests := []struct {
		name, text string
		ready      bool // a wrong value, not a file that may become right
		want       []string
	}{
		// containernetworking/cni#72 and #73: every missing key, in one error.
		{"empty", "", false, []string{
			"FLANNEL_NETWORK missing (and no FLANNEL_IPV6_NETWORK)", "FLANNEL_SUBNET missing (and no FLANNEL_IPV6_SUBNET)", "FLANNEL_MTU missing", "FLANNEL_IPMASQ missing"}},
		{"only zero bytes", "\x00\x00\x00\x00", false, []string{
			"FLANNEL_NETWORK missing (and no FLANNEL_IPV6_NETWORK)", "FLANNEL_SUBNET missing (and no FLANNEL_IPV6_SUBNET)", "FLANNEL_MTU missing", "FLANNEL_IPMASQ missing"}},
		{"only comments", lines("# FLANNEL_NETWORK=10.50.0.0/16", "# FLANNEL_SUBNET=10.50.3.1/24"), false, []string{
			"FLANNEL_NETWORK missing (and no FLANNEL_IPV6_NETWORK)", "FLANNEL_SUBNET missing (and no FLANNEL_IPV6_SUBNET)", "FLANNEL_MTU missing", "FLANNEL_IPMASQ missing"}},
		{"no network", edit(1, ""), false, []string{"FLANNEL_NETWORK missing, though FLANNEL_SUBNET is there"}},
		{"no subnet", edit(2, ""), false, []string{"FLANNEL_SUBNET missing, though FLANNEL_NETWORK is there"}},
		{"no MTU", edit(3, ""), false, []string{"FLANNEL_MTU missing"}},
		{"no masq", edit(4, ""), false, []string{"FLANNEL_IPMASQ missing"}},
		{"half of each family", lines("FLANNEL_NETWORK=10.50.0.0/16", "FLANNEL_IPV6_SUBNET=fd00::1/64", "FLANNEL_MTU=1450", "FLANNEL_IPMASQ=true"), false, []string{
			"FLANNEL_SUBNET missing, though FLANNEL_NETWORK is there", "FLANNEL_IPV6_NETWORK missing, though FLANNEL_IPV6_SUBNET is there"}},

		// flannel's reader indexes past the end of a line without "=".
		{"key without =", edit(1, "FLANNEL_NETWORK"), true, []string{`line 1: FLANNEL_NETWORK has no "="`}},
		{"line without =", edit(4, "# x\nFLANNEL_IPMASQ=true\n!"), true, []string{`line 6: "!" has no "="`}},
		{"no name", edit(1, "=10.50.0.0/16"), true, []string{`line 1: "=10.50.0.0/16" has no variable name before "="`, "FLANNEL_NETWORK missing, though FLANNEL_SUBNET is there"}},
		{"open quote", edit(1, `FLANNEL_NETWORK="10.50.0.0/16`), true, []string{`line 1: FLANNEL_NETWORK "\"10.50.0.0/16" has an opening quote and no closing one`}},
		{"text after quote", edit(3, `FLANNEL_MTU='1450'0`), true, []string{`line 3: FLANNEL_MTU "'1450'0" has text after the closing quote`}},
		{"contradiction", edit(4, "FLANNEL_IPMASQ=true\nFLANNEL_MTU=1400"), true, []string{`line 5: FLANNEL_MTU "1400" contradicts line 3, which says "1450"`}},

		// flannel-io/flannel#2454: a bad item crashed a reader.
		{"bad item", edit(1, "FLANNEL_NETWORK=10.50.0.0/16,not-a-cidr"), true, []string{`line 1: FLANNEL_NETWORK "not-a-cidr" is not a prefix such as 10.244.0.0/16`}},
		{"comma at the end", edit(1, "FLANNEL_NETWORK=10.50.0.0/16,"), true, []string{"line 1: FLANNEL_NETWORK has nothing as item 2 of the list"}},
		{"no value", edit(1, "FLANNEL_NETWORK="), true, []string{"line 1: FLANNEL_NETWORK has no value"}},
		{"no length", edit(2, "FLANNEL_SUBNET=10.50.3.1"), true, []string{`line 2: FLANNEL_SUBNET "10.50.3.1" has no prefix length, such as /24`}},
		{"impossible length", edit(2, "FLANNEL_SUBNET=10.50.3.1/33"), true, []string{`line 2: FLANNEL_SUBNET "10.50.3.1/33" is not a prefix such as 10.244.0.0/16`}},
		{"leading zeros", edit(2, "FLANNEL_SUBNET=10.050.3.1/24"), true, []string{`line 2: FLANNEL_SUBNET "10.050.3.1/24" is not a prefix such as 10.244.0.0/16`}},
		{"every address", edit(1, "FLANNEL_NETWORK=0.0.0.0/0"), true, []string{`line 1: FLANNEL_NETWORK "0.0.0.0/0" covers every address`}},
		{"list of subnets", edit(2, "FLANNEL_SUBNET=10.50.3.1/24,10.50.4.1/24"), true, []string{`line 2: FLANNEL_SUBNET "10.50.3.1/24,10.50.4.1/24" is not a prefix such as 10.244.0.0/16`}},
		{"outside", edit(2, "FLANNEL_SUBNET=10.60.3.1/24"), true, []string{`line 2: FLANNEL_SUBNET "10.60.3.1/24" lies in none of the networks of FLANNEL_NETWORK (10.50.0.0/16)`}},
		{"larger than the network", edit(2, "FLANNEL_SUBNET=10.50.3.1/12"), true, []string{`line 2: FLANNEL_SUBNET "10.50.3.1/12" lies in none of the networks of FLANNEL_NETWORK (10.50.0.0/16)`}},

		// containernetworking/plugins#570: a family under the other's key panicked.
		{"IPv6 in IPv4 key", edit(2, "FLANNEL_SUBNET=fd00:50::1/64"), true, []string{`line 2: FLANNEL_SUBNET "fd00:50::1/64" is IPv6 under a key for IPv4`}},
		{"IPv4 in IPv6 key", edit(4, "FLANNEL_IPMASQ=true\nFLANNEL_IPV6_NETWORK=10.50.0.0/16\nFLANNEL_IPV6_SUBNET=fd00::1/64"), true, []string{`line 5: FLANNEL_IPV6_NETWORK "10.50.0.0/16" is IPv4 under a key for IPv6`}},
		{"IPv4 in IPv6 form", edit(2, "FLANNEL_SUBNET=::ffff:10.50.3.1/120"), true, []string{`line 2: FLANNEL_SUBNET "::ffff:10.50.3.1/120" is an IPv4 address in IPv6 form`}},

		{"MTU 0", edit(3, "FLANNEL_MTU=0"), true, []string{`line 3: FLANNEL_MTU "0" is not in 68 to 65535`}},
		{"MTU 67", edit(3, "FLANNEL_MTU=67"), true, []string{`line 3: FLANNEL_MTU "67" is not in 68 to 65535`}},
		{"MTU 70000", edit(3, "FLANNEL_MTU=70000"), true, []string{`line 3: FLANNEL_MTU "70000" is not in 68 to 65535`}},
		{"MTU of 30 digits", edit(3, "FLANNEL_MTU=145014501450145014501450145014"), true, []string{`line 3: FLANNEL_MTU "145014501450145014501450145014" is not in 68 to 65535`}},
		{"MTU -1", edit(3, "FLANNEL_MTU=-1"), true, []string{`line 3: FLANNEL_MTU "-1" is not a decimal number`}},
		{"MTU +1450", edit(3, "FLANNEL_MTU=+1450"), true, []string{`line 3: FLANNEL_MTU "+1450" is not a decimal number`}},
		{"MTU empty", edit(3, "FLANNEL_MTU="), true, []string{"line 3: FLANNEL_MTU has no value"}},
		{"MTU too small for IPv6", lines("FLANNEL_IPV6_NETWORK=fd00:50::/48", "FLANNEL_IPV6_SUBNET=fd00:50:0:3::1/64", "FLANNEL_MTU=1279", "FLANNEL_IPMASQ=true"), true, []string{
			`line 3: FLANNEL_MTU "1279" is below 1280, the least IPv6 can use`}},

		{"masq yes", edit(4, "FLANNEL_IPMASQ=yes"), true, []string{`line 4: FLANNEL_IPMASQ "yes" is neither true nor false`}},
		{"masq t", edit(4, "FLANNEL_IPMASQ=t"), true, []string{`line 4: FLANNEL_IPMASQ "t" is neither true nor false`}},
		{"masq empty", edit(4, "FLANNEL_IPMASQ="), true, []string{"line 4: FLANNEL_IPMASQ has no value"}},

		{"all at once, in order", lines("FLANNEL_MTU=big", "FLANNEL_SUBNET=x", "FLANNEL_IPMASQ=no"), true, []string{
			`line 1: FLANNEL_MTU "big" is not a decimal number`, `line 2: FLANNEL_SUBNET "x" is not a prefix such as 10.244.0.0/16`,
			`line 3: FLANNEL_IPMASQ "no" is neither true nor false`, "FLANNEL_NETWORK missing (and no FLANNEL_IPV6_NETWORK)"}},

		// The last line has no line end: it may grow.
		{"torn key", strings.TrimSuffix(edit(4, "FLANNEL_IPM"), "\n"), false, []string{`line 4: FLANNEL_IPM has no "="`, "FLANNEL_IPMASQ missing"}},
		{"torn masq", strings.TrimSuffix(edit(4, "FLANNEL_IPMASQ=tru"), "\n"), false, []string{`line 4: FLANNEL_IPMASQ "tru" is neither true nor false`}},
		{"torn length", "FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUBNET=10.50.3.1/2", false, []string{
			`line 2: FLANNEL_SUBNET "10.50.3.1/2" lies in none of the networks of FLANNEL_NETWORK (10.50.0.0/16)`, "FLANNEL_MTU missing", "FLANNEL_IPMASQ missing"}},
		{"wrong before the torn line", "FLANNEL_MTU=9\nFLANNEL_NETW", true, []string{
			`line 1: FLANNEL_MTU "9" is not in 68 to 65535`, `line 2: FLANNEL_NETW has no "="`, "FLANNEL_NETWORK missing (and no FLANNEL_IPV6_NETWORK)",
			"FLANNEL_SUBNET missing (and no FLANNEL_IPV6_SUBNET)", "FLANNEL_IPMASQ missing"}},

		{"UTF-16", utf16LE(lines(good...)), true, []string{"line 1: the file is UTF-16; save it as UTF-8 or ASCII (PowerShell: Set-Content -Encoding ascii)"}},
		{"UTF-16 without a byte order mark", utf16LE(lines(good...))[2:], true, []string{
			"line 1: the file holds NUL bytes, as UTF-16 does; save it as UTF-8 or ASCII (PowerShell: Set-Content -Encoding ascii)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, err := subnetenv.Parse([]byte(tt.text))
			if err == nil {
				t.Fatalf("accepted as %+v", env)
			}
			var parseErr *subnetenv.ParseError
			if !errors.As(err, &parseErr) {
				t.Fatalf("error %T, want a *ParseError", err)
			}
			var got []string
			for _, p := range parseErr.Problems {
				got = append(got, p.String())
				if !strings.Contains(err.Error(), p.String()) {
					t.Errorf("error %q leaves out %q", err, p)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if errors.Is(err, subnetenv.ErrNotReady) == tt.ready {
				t.Errorf("errors.Is(err, ErrNotReady) = %t: %v", !tt.ready, err)
			}
		})
	}
}

func TestProblemIsShort(t *testing.T) {
	_, err := subnetenv.Parse([]byte(strings.Repeat("garbage ", 10_000) + "\n"))
	if err == nil || len(err.Error()) > 500 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
	if _, err := subnetenv.Parse(bytes.Repeat([]byte("A=1\n"), 1<<20)); err == nil || errors.Is(err, subnetenv.ErrNotReady) {
		t.Errorf("four million bytes: %v, want a final error", err)
	}
}

// utf16LE is how PowerShell 5 writes a file by default.
func utf16LE(s string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}
