package modes_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

func TestEndpointMAC(t *testing.T) {
	tests := []struct {
		prefix, addr, want string
	}{
		{"", "10.50.3.9", "0E-2A-0A-32-03-09"},
		{"0E-2A", "10.50.3.9", "0E-2A-0A-32-03-09"},
		{"0e-2a", "255.0.255.1", "0E-2A-FF-00-FF-01"},
		{"02-11", "192.168.0.1", "02-11-C0-A8-00-01"},
		{"00-15", "10.0.0.1", "00-15-0A-00-00-01"}, // not locally administered, and in use
		{"zz-zz", "10.0.0.1", ""},                  // two letters, a dash, two letters: what others check
		{"0E:2A", "10.0.0.1", ""},
		{"0E2A", "10.0.0.1", ""},
		{"0E-2", "10.0.0.1", ""},
		{"0E-2A-", "10.0.0.1", ""},
		{"0E-2A-00", "10.0.0.1", ""},
		{" 0E-2A", "10.0.0.1", ""},
		{"01-00", "10.0.0.1", ""}, // multicast
		{"FF-FF", "10.0.0.1", ""},
		{"", "fd00::1", ""},
		{"00-00", "0.0.0.0", ""}, // would be the MAC that means none
		{"", "::ffff:10.0.0.1", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		got, err := modes.EndpointMAC(tt.prefix, addr(tt.addr))
		if got.String() != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("EndpointMAC(%q, %s) = %s, %v; want %q", tt.prefix, tt.addr, got, err, tt.want)
		}
		var fe *hns.FieldError
		if err != nil && !errors.As(err, &fe) {
			t.Errorf("EndpointMAC(%q, %s): %T", tt.prefix, tt.addr, err)
		}
	}
}

func FuzzEndpointMAC(f *testing.F) {
	f.Add("0E-2A", []byte{10, 50, 3, 9})
	f.Add("zz-zz", []byte{10, 50, 3, 9})
	f.Fuzz(func(t *testing.T, prefix string, b []byte) {
		a, _ := netip.AddrFromSlice(b)
		m, err := modes.EndpointMAC(prefix, a)
		if err != nil {
			if !m.IsZero() {
				t.Fatalf("%s beside %v", m, err)
			}
			return
		}
		if prefix == "" {
			prefix = modes.DefaultMACPrefix
		}
		v4 := a.As4()
		if !strings.EqualFold(m.String()[:5], prefix) || [4]byte(m[2:]) != v4 || m[0]&1 != 0 {
			t.Fatalf("EndpointMAC(%q, %s) = %s", prefix, a, m)
		}
	})
}
