package modes_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/modes"
)

func reservedTexts(rs []modes.ReservedAddress) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Addr.String()+" "+r.Why)
	}
	return out
}

func TestReserved(t *testing.T) {
	vip := modes.ReservedAddress{Addr: addr("10.50.3.3"), Why: "kube-proxy's source VIP"}
	tests := []struct {
		name    string
		mode    modes.Mode
		subnet  string
		rule    modes.GatewayRule
		gateway string
		extra   []modes.ReservedAddress
		want    []string
	}{
		{
			// The first pod got the address of the node's endpoint
			// (kubernetes/kubernetes#74766, microsoft/SDN#333).
			name: "L2Bridge", mode: modes.L2Bridge, subnet: "10.50.3.0/24",
			want: []string{"10.50.3.0 network address", "10.50.3.1 gateway of the HNS subnet", "10.50.3.2 endpoint of the node, the pods' gateway", "10.50.3.255 broadcast address"},
		},
		{
			name: "L2Bridge led by the subnet's gateway", mode: modes.L2Bridge, subnet: "10.50.3.0/24", rule: modes.GatewaySubnet,
			want: []string{"10.50.3.0 network address", "10.50.3.1 gateway of the HNS subnet", "10.50.3.255 broadcast address"},
		},
		{
			name: "Overlay with an extra, host bits", mode: modes.Overlay, subnet: "10.50.3.9/24", extra: []modes.ReservedAddress{vip},
			want: []string{"10.50.3.0 network address", "10.50.3.1 gateway of the HNS subnet", "10.50.3.255 broadcast address", "10.50.3.3 kube-proxy's source VIP"},
		},
		{
			name: "gateway elsewhere", mode: modes.NAT, subnet: "10.50.3.0/24", gateway: "10.50.3.254",
			want: []string{"10.50.3.0 network address", "10.50.3.254 gateway of the HNS subnet", "10.50.3.255 broadcast address"},
		},
		{
			name: "each address once, the first reason wins", mode: modes.L2Bridge, subnet: "10.50.3.0/24", gateway: "10.50.3.2",
			extra: []modes.ReservedAddress{{Addr: addr("10.50.3.0"), Why: "mine"}},
			want:  []string{"10.50.3.0 network address", "10.50.3.2 gateway of the HNS subnet", "10.50.3.255 broadcast address"},
		},
		{
			name: "IPv6 has no broadcast", mode: modes.L2Bridge, subnet: "fd00:50::/64",
			want: []string{"fd00:50:: network address", "fd00:50::1 gateway of the HNS subnet", "fd00:50::2 endpoint of the node, the pods' gateway"},
		},
		{
			name: "/30", mode: modes.Overlay, subnet: "192.168.255.0/30",
			want: []string{"192.168.255.0 network address", "192.168.255.1 gateway of the HNS subnet", "192.168.255.3 broadcast address"},
		},
		{
			name: "/32 at the end of the world", mode: modes.L2Bridge, subnet: "255.255.255.255/32",
			want: []string{"255.255.255.255 network address"},
		},
	}
	for _, tt := range tests {
		got := modes.Reserved(tt.mode, netip.MustParsePrefix(tt.subnet), tt.rule, addr(tt.gateway), tt.extra...)
		if diff := cmp.Diff(tt.want, reservedTexts(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if got := modes.Reserved(modes.L2Bridge, netip.Prefix{}, "", netip.Addr{}, vip); len(got) != 1 || got[0] != vip {
		t.Errorf("of no subnet: %v", got)
	}
}

// TestReservedHoldsGateways: whatever a gateway rule chooses is reserved, lies
// in the subnet and stands there once.
func TestReservedHoldsGateways(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 5000 {
		var b [4]byte
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		subnet := netip.PrefixFrom(netip.AddrFrom4(b), r.IntN(33)).Masked()
		for _, rule := range []modes.GatewayRule{modes.GatewayHostEndpoint, modes.GatewaySubnet} {
			seen := map[netip.Addr]bool{}
			for _, a := range modes.Reserved(modes.L2Bridge, subnet, rule, netip.Addr{}) {
				if seen[a.Addr] || !subnet.Contains(a.Addr) {
					t.Fatalf("%s in Reserved(%s): twice, or outside", a.Addr, subnet)
				}
				seen[a.Addr] = true
			}
			if g, err := modes.Gateway(rule, subnet, netip.Addr{}); err == nil && !seen[g] {
				t.Fatalf("gateway %s of %s by %s is not reserved", g, subnet, rule)
			}
		}
	}
}
