package emulator

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

func TestReserved(t *testing.T) {
	tests := []struct {
		prefix, gateway, address string
		free, want               bool
	}{
		{"10.50.3.0/24", "10.50.3.1", "10.50.3.0", false, true},
		{"10.50.3.0/24", "10.50.3.1", "10.50.3.1", false, true},
		{"10.50.3.0/24", "10.50.3.1", "10.50.3.1", true, false},
		{"10.50.3.0/24", "10.50.3.1", "10.50.3.2", false, false},
		{"10.50.3.0/24", "10.50.3.1", "10.50.3.255", false, true},
		{"10.50.3.8/31", "", "10.50.3.8", false, false},
		{"10.50.3.8/31", "", "10.50.3.9", false, false},
		{"10.50.3.8/32", "", "10.50.3.8", false, false},
		{"10.50.3.8/30", "", "10.50.3.11", false, true},
		{"fd00::/64", "fd00::1", "fd00::", false, true},
		{"fd00::/64", "fd00::1", "fd00::ffff:ffff:ffff:ffff", false, false},
		{"fd00::/8", "", "fd00::5", false, false},
	}
	for _, tt := range tests {
		s := subnet{prefix: netip.MustParsePrefix(tt.prefix), freeGateway: tt.free}
		if tt.gateway != "" {
			s.gateway = netip.MustParseAddr(tt.gateway)
		}
		if got := s.reserved(netip.MustParseAddr(tt.address)); got != tt.want {
			t.Errorf("%s in %s: %v, want %v", tt.address, tt.prefix, got, tt.want)
		}
	}
}

func TestOffsets(t *testing.T) {
	tests := []struct {
		prefix, address string
		n               uint64
		ok              bool
	}{
		{"10.50.3.0/24", "10.50.3.7", 7, true},
		{"10.0.0.0/8", "10.1.0.0", 1 << 16, true},
		{"10.50.3.0/24", "10.50.4.0", 0, false},
		{"10.50.3.0/24", "fd00::1", 0, false},
		{"fd00::/64", "fd00::1:0:0:0", 1 << 48, true},
		{"fd00::ffff:ffff:ffff:fff0/124", "fd00::ffff:ffff:ffff:ffff", 15, true},
		{"fd00::/8", "fd01::", 0, false},
	}
	for _, tt := range tests {
		p, a := netip.MustParsePrefix(tt.prefix), netip.MustParseAddr(tt.address)
		n, ok := offset(p, a)
		if ok != tt.ok || ok && n != tt.n {
			t.Errorf("%s in %s: %d, %v", a, p, n, ok)
		}
		if ok && at(p, n) != a {
			t.Errorf("address %d of %s is %s, want %s", n, p, at(p, n), a)
		}
	}
}

// The free list against a plain search of an array.
func TestFreelist(t *testing.T) {
	const size = 40
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var f freelist
		var used [size]bool
		for step := range 2000 {
			switch n := rnd.Uint64N(size); {
			case rnd.IntN(3) == 0: // a number of the caller's own choice
				used[n] = true
			case rnd.IntN(2) == 0 && used[n]:
				used[n] = false
				f.release(n)
			default:
				want, free := uint64(0), false
				for i, u := range used {
					if !u {
						want, free = uint64(i), true
						break
					}
				}
				got, ok := f.lowest(size-1, func(n uint64) bool { return used[n] })
				if ok != free || ok && got != want {
					t.Fatalf("seed %d, step %d: %d, %v, want %d, %v", seed, step, got, ok, want, free)
				}
				if ok && rnd.IntN(4) > 0 { // else the operation failed
					used[got] = true
				}
			}
		}
		if len(f.freed) > size || len(f.freed) != len(f.queued) {
			t.Errorf("the list holds %d numbers of %d", len(f.freed), size)
		}
	}
}

func TestFreelistLooksOnlyOnce(t *testing.T) {
	var f freelist
	looked := 0
	used := map[uint64]bool{}
	take := func() {
		n, ok := f.lowest(1<<20, func(n uint64) bool { looked++; return used[n] })
		if !ok {
			t.Fatal("full")
		}
		used[n] = true
	}
	for range 1000 {
		take()
	}
	looked = 0
	for n := range uint64(100) { // give back and take, low and high in turn
		delete(used, n*9)
		f.release(n * 9)
		take()
		take()
	}
	if looked > 1000 {
		t.Errorf("looked at %d numbers in 200 allocations among 1000", looked)
	}
}
