package ipam_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/ipam"
)

func TestReserved(t *testing.T) {
	l2bridge := ipam.Use{Gateway: true, HostEndpoint: true}
	tests := []struct {
		name   string
		subnet string
		use    ipam.Use
		want   []string
	}{
		{"pods alone", "10.50.3.0/24", ipam.Use{}, []string{"10.50.3.0 (network address)", "10.50.3.255 (broadcast address)"}},
		{"L2Bridge", "10.50.3.64/26", l2bridge, []string{"10.50.3.64 (network address)", "10.50.3.65 (gateway)", "10.50.3.66 (host endpoint)", "10.50.3.127 (broadcast address)"}},
		{"host bits", "10.50.3.77/26", l2bridge, []string{"10.50.3.64 (network address)", "10.50.3.65 (gateway)", "10.50.3.66 (host endpoint)", "10.50.3.127 (broadcast address)"}},
		{"Overlay", "10.244.5.0/24", ipam.Use{Gateway: true, SourceVIP: adr("10.244.5.170")}, []string{"10.244.5.0 (network address)", "10.244.5.1 (gateway)", "10.244.5.170 (source VIP)", "10.244.5.255 (broadcast address)"}},
		{"gateway given", "10.249.5.0/24", ipam.Use{GatewayAddress: adr("10.249.5.254")}, []string{"10.249.5.0 (network address)", "10.249.5.254 (gateway)", "10.249.5.255 (broadcast address)"}},
		{"host endpoint given", "10.50.3.0/24", ipam.Use{Gateway: true, HostEndpointAddress: adr("::ffff:10.50.3.9")}, []string{"10.50.3.0 (network address)", "10.50.3.1 (gateway)", "10.50.3.9 (host endpoint)", "10.50.3.255 (broadcast address)"}},
		{"all of a /30", "10.50.3.8/30", l2bridge, []string{"10.50.3.8 (network address)", "10.50.3.9 (gateway)", "10.50.3.10 (host endpoint)", "10.50.3.11 (broadcast address)"}},
		{"/31", "10.50.3.8/31", ipam.Use{Gateway: true}, []string{"10.50.3.9 (gateway)"}},
		{"/32", "10.50.3.8/32", ipam.Use{}, []string{}},
		{"IPv6", "fd00:50::/64", l2bridge, []string{"fd00:50:: (subnet-router anycast address)", "fd00:50::1 (gateway)", "fd00:50::2 (host endpoint)"}},
		{"extra", "10.50.3.0/29", ipam.Use{Gateway: true, Extra: []ipam.Reservation{
			{Address: adr("10.50.3.5"), Reason: "DNS"}, {Address: adr("10.50.3.1"), Reason: "router"}, {Address: adr("10.50.3.5"), Reason: "again"},
		}}, []string{"10.50.3.0 (network address)", "10.50.3.1 (gateway)", "10.50.3.5 (DNS)", "10.50.3.7 (broadcast address)"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			list, err := ipam.Reserved(pfx(tc.subnet), tc.use)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, r := range list {
				got = append(got, r.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReservedRefuses(t *testing.T) {
	tests := []struct {
		name    string
		subnet  netip.Prefix
		use     ipam.Use
		want    string
		outside bool
	}{
		{"no subnet", netip.Prefix{}, ipam.Use{}, "invalid prefix", false},
		{"host endpoint of a /31", pfx("10.0.0.254/31"), ipam.Use{Gateway: true, HostEndpoint: true}, "host endpoint: address 2", true},
		{"gateway of a /32", pfx("10.1.2.255/32"), ipam.Use{Gateway: true}, "gateway: address 1", true},
		{"gateway elsewhere", pfx("10.0.0.128/25"), ipam.Use{GatewayAddress: adr("10.0.0.2")}, "gateway 10.0.0.2", true},
		{"source VIP elsewhere", pfx("10.42.3.0/24"), ipam.Use{SourceVIP: adr("10.42.2.9")}, "source VIP 10.42.2.9", true},
		{"source VIP of the other family", pfx("10.42.3.0/24"), ipam.Use{SourceVIP: adr("fd00::9")}, "source VIP fd00::9", true},
		{"source VIP on the host endpoint", pfx("10.42.3.0/24"), ipam.Use{HostEndpoint: true, SourceVIP: adr("10.42.3.2")}, "is the host endpoint already", false},
		{"gateway on the broadcast address", pfx("10.42.3.0/24"), ipam.Use{GatewayAddress: adr("10.42.3.255")}, "is the broadcast address already", false},
		{"extra elsewhere", pfx("10.42.3.0/24"), ipam.Use{Extra: []ipam.Reservation{{Address: adr("10.42.4.1"), Reason: "DNS"}}}, "DNS 10.42.4.1", true},
		{"extra without an address", pfx("10.42.3.0/24"), ipam.Use{Extra: []ipam.Reservation{{Reason: "DNS"}}}, "DNS", true},
		{"extra without a reason", pfx("10.42.3.0/24"), ipam.Use{Extra: []ipam.Reservation{{Address: adr("10.42.3.9")}}}, "without a reason", false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ipam.Reserved(tc.subnet, tc.use)
			if err == nil || !strings.Contains(err.Error(), tc.want) || errors.Is(err, ipam.ErrOutsidePrefix) != tc.outside {
				t.Errorf("got %v, %v; want %q", got, err, tc.want)
			}
		})
	}
}
