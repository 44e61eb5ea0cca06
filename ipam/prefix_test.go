package ipam_test

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/ipam"
)

func pfx(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func adr(s string) netip.Addr   { return netip.MustParseAddr(s) }

func pfxs(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, pfx(s))
	}
	return out
}

// byText compares addresses and prefixes, whose fields are private.
var byText = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

// TestNth has the cases in which plugins computed a gateway by changing the last
// byte of an address: containernetworking/plugins#671 asks for network + 2.
func TestNth(t *testing.T) {
	tests := []struct {
		prefix string
		n      uint64
		want   string // empty: outside
	}{
		{"10.50.3.7/24", 2, "10.50.3.2"},
		{"10.50.3.70/26", 2, "10.50.3.66"},
		{"10.50.3.9/30", 2, "10.50.3.10"},
		{"10.50.3.9/30", 3, "10.50.3.11"},
		{"10.50.3.9/30", 4, ""},
		{"10.50.3.9/31", 1, "10.50.3.9"},
		{"10.50.3.9/31", 2, ""},
		{"10.0.0.254/31", 2, ""},
		{"10.50.3.9/32", 0, "10.50.3.9"},
		{"10.1.2.255/32", 2, ""},
		{"10.50.0.0/16", 256, "10.50.1.0"},
		{"10.50.0.0/16", 65535, "10.50.255.255"},
		{"10.50.0.0/16", 65536, ""},
		{"0.0.0.0/0", 1<<32 - 1, "255.255.255.255"},
		{"0.0.0.0/0", 1 << 32, ""},
		{"fd00:50::7/64", 2, "fd00:50::2"},
		{"fd00:50::/64", 1<<64 - 1, "fd00:50::ffff:ffff:ffff:ffff"},
		{"fd00:50::/63", 1<<64 - 1, "fd00:50::ffff:ffff:ffff:ffff"},
		{"fd00:50::ff/120", 1, "fd00:50::1"},
		{"fd00:50::100/120", 256, ""},
		{"::ffff:10.50.3.0/120", 2, "10.50.3.2"},
	}
	for _, tc := range tests {
		got, err := ipam.Nth(pfx(tc.prefix), tc.n)
		switch {
		case tc.want == "" && !errors.Is(err, ipam.ErrOutsidePrefix):
			t.Errorf("Nth(%s, %d) = %v, %v; want ErrOutsidePrefix", tc.prefix, tc.n, got, err)
		case tc.want != "" && (err != nil || got != adr(tc.want)):
			t.Errorf("Nth(%s, %d) = %v, %v; want %s", tc.prefix, tc.n, got, err, tc.want)
		}
	}
	if _, err := ipam.Nth(netip.Prefix{}, 1); err == nil || errors.Is(err, ipam.ErrOutsidePrefix) {
		t.Errorf("invalid prefix: %v", err)
	}
}

// model is an independent idea of a prefix: a first number and a count.
type model struct {
	first, count *big.Int
	bytes        int
}

func modelOf(p netip.Prefix) model {
	raw := p.Addr().AsSlice()
	count := new(big.Int).Exp(big.NewInt(2), big.NewInt(int64(8*len(raw)-p.Bits())), nil)
	first := new(big.Int).SetBytes(raw)
	first.Sub(first, new(big.Int).Mod(first, count))
	return model{first, count, len(raw)}
}

// at is the address n places after the first, nil if there is none.
func (m model) at(n *big.Int) *netip.Addr {
	if n.Cmp(m.count) >= 0 {
		return nil
	}
	a, _ := netip.AddrFromSlice(new(big.Int).Add(m.first, n).FillBytes(make([]byte, m.bytes)))
	return &a
}

func (m model) last() netip.Addr { return *m.at(new(big.Int).Sub(m.count, big.NewInt(1))) }

// randomPrefix favours lengths and addresses at the edges.
func randomPrefix(r *rand.Rand) netip.Prefix {
	raw := make([]byte, []int{4, 16}[r.IntN(2)])
	fill := r.IntN(3)
	for i := range raw {
		raw[i] = []byte{0, 255, byte(r.Uint32())}[fill]
	}
	raw[len(raw)-1] = byte(r.Uint32())
	a, _ := netip.AddrFromSlice(raw)
	if a.Is4In6() {
		a = netip.MustParseAddr("2001:db8::")
	}
	return netip.PrefixFrom(a, r.IntN(a.BitLen()+1))
}

func TestMathsAgreesWithBigNumbers(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		for range 500 {
			p := randomPrefix(r)
			m := modelOf(p)
			fault := func(what string, got any) { t.Fatalf("seed %d, %s: %s = %v", seed, p, what, got) }

			if got := ipam.Network(p); got != *m.at(new(big.Int)) {
				fault("Network", got)
			}
			if got := ipam.Last(p); got != m.last() {
				fault("Last", got)
			}
			if got := ipam.Size(p); got.Cmp(m.count) != 0 {
				fault("Size", got)
			}
			if got := ipam.HasHostBits(p); got != (p.Addr() != *m.at(new(big.Int))) {
				fault("HasHostBits", got)
			}
			n := []uint64{0, 1, 2, uint64(r.Uint32()), r.Uint64(), 1<<64 - 1}[r.IntN(6)]
			want := m.at(new(big.Int).SetUint64(n))
			got, err := ipam.Nth(p, n)
			if (want == nil) != errors.Is(err, ipam.ErrOutsidePrefix) || want != nil && got != *want {
				fault(fmt.Sprintf("Nth(%d)", n), fmt.Sprint(got, err))
			}
			if want != nil {
				back, err := ipam.Offset(p, got)
				if err != nil || back.Cmp(new(big.Int).SetUint64(n)) != 0 {
					fault("Offset of Nth", back)
				}
			}
			if back, err := ipam.Offset(p, m.last()); err != nil || new(big.Int).Add(back, big.NewInt(1)).Cmp(m.count) != 0 {
				fault("Offset of the last", back)
			}
			if next := m.last().Next(); next.IsValid() {
				if _, err := ipam.Offset(p, next); !errors.Is(err, ipam.ErrOutsidePrefix) {
					fault("Offset after the last", err)
				}
			}
		}
	}
}

func TestOverlapAgreesWithBigNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	seen := map[bool]int{}
	for range 20000 {
		a, b := randomPrefix(r), randomPrefix(r)
		if r.IntN(2) == 0 { // chance alone rarely makes one cover the other
			b = netip.PrefixFrom(a.Addr(), r.IntN(a.Addr().BitLen()+1))
		}
		ma, mb := modelOf(a), modelOf(b)
		same := ma.bytes == mb.bytes
		endA, endB := new(big.Int).Add(ma.first, ma.count), new(big.Int).Add(mb.first, mb.count)
		covers := same && ma.first.Cmp(mb.first) <= 0 && endB.Cmp(endA) <= 0
		overlaps := same && ma.first.Cmp(endB) < 0 && mb.first.Cmp(endA) < 0
		if got := ipam.Covers(a, b); got != covers {
			t.Fatalf("Covers(%s, %s) = %v", a, b, got)
		}
		if got := ipam.Overlaps(a, b); got != overlaps || got != ipam.Overlaps(b, a) {
			t.Fatalf("Overlaps(%s, %s) = %v", a, b, got)
		}
		seen[overlaps]++
	}
	if seen[true] < 100 || seen[false] < 100 {
		t.Errorf("the samples are one-sided: %v", seen)
	}
}

func TestBroadcast(t *testing.T) {
	for prefix, want := range map[string]string{
		"10.50.3.7/24":         "10.50.3.255",
		"10.50.3.9/30":         "10.50.3.11",
		"10.50.3.9/31":         "",
		"10.50.3.9/32":         "",
		"fd00:50::/64":         "",
		"::ffff:10.50.3.0/120": "10.50.3.255",
	} {
		got, ok := ipam.Broadcast(pfx(prefix))
		if ok != (want != "") || ok && got != adr(want) {
			t.Errorf("Broadcast(%s) = %v, %v; want %q", prefix, got, ok, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	a := append(pfxs("10.96.0.1/12", "fd00::/8", "10.244.0.0/16"), netip.Prefix{})
	b := pfxs("10.96.0.0/12", "::ffff:10.244.0.0/112", "10.0.0.0/8", "10.244.0.0/24")
	inOrder := pfxs("10.96.0.0/12", "fd00::/8", "10.244.0.0/16", "10.0.0.0/8", "10.244.0.0/24")
	sorted := pfxs("10.0.0.0/8", "10.96.0.0/12", "10.244.0.0/16", "10.244.0.0/24", "fd00::/8")
	if diff := cmp.Diff(inOrder, ipam.CanonicalInOrder(a, b), byText); diff != "" {
		t.Errorf("in order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sorted, ipam.Canonical(a, b), byText); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
	if got := ipam.Canonical(); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestFirstOverlap(t *testing.T) {
	tests := []struct {
		list []netip.Prefix
		i, j int
		ok   bool
	}{
		{nil, 0, 0, false},
		{pfxs("10.0.0.0/24", "10.0.1.0/24", "::/24"), 0, 0, false},
		{pfxs("10.0.0.0/24", "10.0.1.0/24", "10.0.0.0/23"), 0, 2, true},
		{append(pfxs("10.0.1.7/24", "fd00::/64"), netip.Prefix{}, pfx("fd00::1/128")), 1, 3, true},
	}
	for _, tc := range tests {
		if i, j, ok := ipam.FirstOverlap(tc.list); i != tc.i || j != tc.j || ok != tc.ok {
			t.Errorf("FirstOverlap(%v) = %d, %d, %v", tc.list, i, j, ok)
		}
	}
}

// TestInvalidPrefix: the zero prefix gives zero results, not a panic.
func TestInvalidPrefix(t *testing.T) {
	var p netip.Prefix
	if a := ipam.Network(p); a.IsValid() {
		t.Error(a)
	}
	if a := ipam.Last(p); a.IsValid() {
		t.Error(a)
	}
	if n := ipam.Size(p); n.Sign() != 0 {
		t.Error(n)
	}
	if _, err := ipam.Offset(p, adr("10.0.0.1")); err == nil {
		t.Error("Offset of an invalid prefix")
	}
	if _, err := ipam.Offset(pfx("10.0.0.0/8"), netip.Addr{}); !errors.Is(err, ipam.ErrOutsidePrefix) {
		t.Error("Offset of an invalid address:", err)
	}
	if ipam.HasHostBits(p) || ipam.Covers(p, p) || ipam.Overlaps(p, pfx("0.0.0.0/0")) {
		t.Error("an invalid prefix has properties")
	}
}
