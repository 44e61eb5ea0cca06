package modes_test

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

func TestGateway(t *testing.T) {
	const host, subnet, given = modes.GatewayHostEndpoint, modes.GatewaySubnet, modes.GatewayGiven
	tests := []struct {
		rule     modes.GatewayRule
		endpoint string
		given    string
		want     string // empty: an error
	}{
		// containernetworking/plugins#671: with flannel's host-gw the gateway
		// is the node's endpoint, not the first address.
		{host, "10.50.3.7/24", "", "10.50.3.2"},
		{host, "10.50.3.70/26", "", "10.50.3.66"},
		{host, "10.50.3.14/29", "", "10.50.3.10"},
		{host, "10.50.3.11/29", "", "10.50.3.10"},
		{host, "10.50.3.9/30", "", ""},
		{host, "10.50.3.9/31", "", ""},
		{host, "10.50.3.9/32", "", ""},
		{host, "10.0.0.254/31", "", ""}, // two more on the last byte wraps to 10.0.0.0
		{host, "255.255.255.254/31", "", ""},
		{host, "10.0.255.0/20", "", "10.0.240.2"},
		{host, "fd00:50::7/64", "", "fd00:50::2"},
		{host, "fd00:50::7/126", "", "fd00:50::6"},
		{host, "fd00:50::6/127", "", ""},
		{host, "fd00:50::7/128", "", ""},
		{host, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", "", ""},
		{host, "10.50.3.2/24", "", ""}, // the pod has the gateway's address
		{host, "10.50.3.7/24", "10.50.3.1", ""},
		{host, "10.50.3.0/24", "", "10.50.3.2"}, // the subnet alone

		{subnet, "10.50.3.7/24", "", "10.50.3.1"},
		{subnet, "10.50.3.7/24", "10.50.3.254", "10.50.3.254"},
		{subnet, "192.168.255.2/30", "", "192.168.255.1"},
		{subnet, "10.50.3.1/24", "", ""},
		{subnet, "10.50.3.8/31", "", ""},
		{subnet, "10.50.3.8/32", "", ""},
		{subnet, "fd00::9/64", "", "fd00::1"},
		{subnet, "10.50.3.7/24", "10.50.4.1", ""},

		{given, "10.50.3.7/24", "10.50.3.9", "10.50.3.9"},
		{given, "10.50.3.7/24", "10.50.3.0", ""},
		{given, "10.50.3.7/24", "10.50.3.255", ""},
		{given, "10.50.3.7/24", "10.50.3.7", ""},
		{given, "10.50.3.7/24", "10.50.2.255", ""},
		{given, "10.50.3.7/24", "fd00::1", ""},
		{given, "10.50.3.7/24", "::ffff:10.50.3.1", ""},
		{given, "10.50.3.7/24", "", ""},
		{given, "fd00::7/64", "fd00::ffff:ffff:ffff:ffff", "fd00::ffff:ffff:ffff:ffff"}, // no broadcast in IPv6
		{given, "fd00::7/64", "fe80::1", ""},

		{modes.GatewayDefault, "10.50.3.7/24", "", ""},
		{"second", "10.50.3.7/24", "", ""},
	}
	for _, tt := range tests {
		got, err := modes.Gateway(tt.rule, netip.MustParsePrefix(tt.endpoint), addr(tt.given))
		if got != addr(tt.want) || (err == nil) != (tt.want != "") {
			t.Errorf("Gateway(%q, %s, %s) = %s, %v; want %q", tt.rule, tt.endpoint, tt.given, got, err, tt.want)
		}
		var fe *hns.FieldError
		if err != nil && (!errors.As(err, &fe) || fe.Value == "") {
			t.Errorf("Gateway(%q, %s, %s): %#v is no FieldError with a value", tt.rule, tt.endpoint, tt.given, err)
		}
	}
	for _, p := range []netip.Prefix{{}, netip.PrefixFrom(addr("10.0.0.1"), 33), netip.PrefixFrom(addr("::ffff:10.0.0.1"), 120)} {
		if g, err := modes.Gateway(subnet, p, netip.Addr{}); err == nil {
			t.Errorf("Gateway of %v = %s", p, g)
		}
	}
}

// model is the same arithmetic on integers.
type model struct {
	network, last, pod *big.Int
	bits, length       int
}

func newModel(p netip.Prefix) model {
	m := model{bits: p.Addr().BitLen(), length: p.Bits()}
	m.pod = new(big.Int).SetBytes(p.Addr().AsSlice())
	size := new(big.Int).Lsh(big.NewInt(1), uint(m.bits-m.length))
	m.network = new(big.Int).Div(m.pod, size)
	m.network.Mul(m.network, size)
	m.last = new(big.Int).Add(m.network, size)
	m.last.Sub(m.last, big.NewInt(1))
	return m
}

// nth returns network+n if it can be the gateway of the pod and leaves as many
// places as are needed beside it.
func (m model) nth(n, places int64) *big.Int {
	g := new(big.Int).Add(m.network, big.NewInt(n))
	top := new(big.Int).Set(m.last)
	if m.bits == 32 {
		top.Sub(top, big.NewInt(1)) // the broadcast address is nobody's
	}
	free := new(big.Int).Sub(top, m.network)
	if g.Cmp(top) > 0 || g.Cmp(m.pod) == 0 || free.Cmp(big.NewInt(places)) < 0 {
		return nil
	}
	return g
}

func checkAgainstModel(t *testing.T, p netip.Prefix) {
	t.Helper()
	m := newModel(p)
	for rule, want := range map[modes.GatewayRule]*big.Int{
		modes.GatewayHostEndpoint: m.nth(2, 3), // HNS's gateway, the node's endpoint, a pod
		modes.GatewaySubnet:       m.nth(1, 2), // HNS's gateway, a pod
	} {
		got, err := modes.Gateway(rule, p, netip.Addr{})
		if want == nil {
			if err == nil {
				t.Fatalf("Gateway(%s, %s) = %s, want an error", rule, p, got)
			}
			continue
		}
		if err != nil || new(big.Int).SetBytes(got.AsSlice()).Cmp(want) != 0 || got.BitLen() != m.bits {
			t.Fatalf("Gateway(%s, %s) = %s, %v; want the address with number %s", rule, p, got, err, want)
		}
		if !p.Contains(got) || got == p.Addr() || got == p.Masked().Addr() {
			t.Fatalf("Gateway(%s, %s) = %s breaks its promise", rule, p, got)
		}
	}
}

func TestGatewayAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	for range 20000 {
		b := make([]byte, 4)
		if r.IntN(2) == 0 {
			b = make([]byte, 16)
		}
		for i := range b {
			// Zeros and ones at the edges of bytes are where carries go wrong.
			b[i] = []byte{0, 0xff, 0xfe, byte(r.IntN(256))}[r.IntN(4)]
		}
		a, _ := netip.AddrFromSlice(b)
		if a.Is4In6() {
			continue
		}
		checkAgainstModel(t, netip.PrefixFrom(a, r.IntN(len(b)*8+1)))
	}
}

func FuzzGateway(f *testing.F) {
	f.Add([]byte{10, 50, 3, 9}, 24)
	f.Add([]byte{255, 255, 255, 254}, 31)
	f.Fuzz(func(t *testing.T, b []byte, length int) {
		a, _ := netip.AddrFromSlice(b)
		p := netip.PrefixFrom(a, length)
		if !p.IsValid() || a.Is4In6() {
			if g, err := modes.Gateway(modes.GatewaySubnet, p, netip.Addr{}); err == nil {
				t.Fatalf("Gateway of %v = %s", p, g)
			}
			return
		}
		checkAgainstModel(t, p)
	})
}
