package modes_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

func TestExceptions(t *testing.T) {
	// All cluster CIDRs are exceptions, not only the first
	// (flannel-io/flannel#2454), and Windows Server 2022 refuses host bits
	// (microsoft/hcsshim#1951).
	got := modes.Exceptions(
		prefixes("10.50.0.0/16", "10.70.1.1/16", "10.50.0.0/16"),
		prefixes("10.96.0.1/12"),
		nil,
		prefixes("10.50.3.0/24", "10.96.0.0/12", "fd00::1/64", "0.0.0.0/0"),
	)
	want := prefixes("10.50.0.0/16", "10.70.0.0/16", "10.96.0.0/12", "10.50.3.0/24", "fd00::/64", "0.0.0.0/0")
	if diff := cmp.Diff(want, got, byValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := modes.Exceptions(); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestNATWarnings(t *testing.T) {
	// The most frequent questions about connectivity end at one of the two
	// (microsoft/SDN#170, microsoft/SDN#313, kubernetes-sigs/sig-windows-tools#77).
	nat := modes.NATIntent{Exceptions: prefixes("10.50.0.0/16", "0.0.0.0/0", "192.0.2.0/24", "192.0.2.64/26", "192.0.0.0/16", "::/0")}
	var got []string
	for _, w := range nat.Warnings(netip.MustParsePrefix("192.0.2.15/24"), netip.Prefix{}) {
		got = append(got, w.Error())
	}
	want := []string{
		`Exceptions[1]: "0.0.0.0/0": holds every address, so nothing is translated`,
		`Exceptions[2]: "192.0.2.0/24": holds the node's subnet 192.0.2.0/24: hosts there see pod addresses and need a route back`,
		`Exceptions[4]: "192.0.0.0/16": holds the node's subnet 192.0.2.0/24: hosts there see pod addresses and need a route back`,
		`Exceptions[5]: "::/0": holds every address, so nothing is translated`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (modes.NATIntent{}).Warnings(netip.MustParsePrefix("192.0.2.0/24")); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestLoopbackDSR(t *testing.T) {
	want := []hns.EndpointPolicy{
		hns.OutBoundNAT{Destinations: []string{"10.50.3.7"}},
		hns.OutBoundNAT{Destinations: []string{"fd00::7"}, Flags: hns.NATIPv6},
	}
	if diff := cmp.Diff(want, modes.LoopbackDSR(addrs("10.50.3.7", "", "fd00::7")...), byValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := modes.LoopbackDSR(); got != nil {
		t.Errorf("of no address: %v", got)
	}
}

// TestNATMerge plans pods with policies of the user and looks at what becomes
// of them.
func TestNATMerge(t *testing.T) {
	ours := &modes.NATIntent{Exceptions: prefixes("10.50.0.0/16", "10.96.0.0/12")}
	dual := &modes.NATIntent{Exceptions: prefixes("fd00:50::/48", "10.50.0.0/16")}
	raw := func(typ, settings string) hns.EndpointPolicy {
		return hns.RawPolicy{Type: typ, Settings: json.RawMessage(settings)}
	}
	v4, both := prefixes("10.50.3.7/24"), prefixes("10.50.3.7/24", "fd00:50:3::7/64")
	tests := []struct {
		name      string
		addresses []netip.Prefix
		nat       *modes.NATIntent
		user      []hns.EndpointPolicy
		want      []hns.EndpointPolicy
	}{
		{
			// FLANNEL_IPMASQ=false is meant to switch it off
			// (kubernetes-sigs/sig-windows-tools#104).
			name: "none asked for", addresses: v4,
			user: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8"}}},
			want: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8"}}},
		},
		{
			name: "no policy of the user", addresses: v4, nat: ours,
			want: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16", "10.96.0.0/12"}}},
		},
		{
			name: "everything", addresses: v4, nat: &modes.NATIntent{},
			want: []hns.EndpointPolicy{hns.OutBoundNAT{}},
		},
		{
			name: "into the user's, where it stands", addresses: v4, nat: ours,
			user: []hns.EndpointPolicy{
				hns.OutBoundNAT{Exceptions: []string{"192.0.2.0/24", "10.96.0.0/12"}, MaxPortPoolUsage: 512},
				hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true},
			},
			want: []hns.EndpointPolicy{
				hns.OutBoundNAT{Exceptions: []string{"192.0.2.0/24", "10.96.0.0/12", "10.50.0.0/16"}, MaxPortPoolUsage: 512},
				hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true},
			},
		},
		{
			name: "only into the first of two", addresses: v4, nat: ours,
			user: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"192.0.2.0/24"}}, hns.OutBoundNAT{Exceptions: []string{"198.51.100.0/24"}}},
			want: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"192.0.2.0/24", "10.50.0.0/16", "10.96.0.0/12"}}, hns.OutBoundNAT{Exceptions: []string{"198.51.100.0/24"}}},
		},
		{
			name: "not into NAT to an address, nor into loopback DSR", addresses: v4, nat: ours,
			user: []hns.EndpointPolicy{hns.OutBoundNAT{VirtualIP: addr("192.0.2.9")}, hns.OutBoundNAT{Destinations: []string{"10.50.3.7"}}},
			want: []hns.EndpointPolicy{
				hns.OutBoundNAT{VirtualIP: addr("192.0.2.9")}, hns.OutBoundNAT{Destinations: []string{"10.50.3.7"}},
				hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16", "10.96.0.0/12"}},
			},
		},
		{
			name: "an exception written as an address is one", addresses: v4, nat: &modes.NATIntent{Exceptions: prefixes("192.0.2.9/32")},
			user: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"192.0.2.9"}}},
			want: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"192.0.2.9"}}},
		},
		{
			name: "type in another case", addresses: v4, nat: ours,
			user: []hns.EndpointPolicy{raw("OutboundNat", `{"exceptions":["192.0.2.0/24"]}`)},
			want: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"192.0.2.0/24", "10.50.0.0/16", "10.96.0.0/12"}}},
		},
		{
			name: "members that are not known stay with the user's", addresses: v4, nat: ours,
			user: []hns.EndpointPolicy{raw("OutBoundNAT", `{"Exceptions":["192.0.2.0/24"],"Beyond":1}`)},
			want: []hns.EndpointPolicy{raw("OutBoundNAT", `{"Exceptions":["192.0.2.0/24"],"Beyond":1}`),
				hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16", "10.96.0.0/12"}}},
		},
		{
			name: "each family its own", addresses: both, nat: dual,
			want: []hns.EndpointPolicy{
				hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16"}},
				hns.OutBoundNAT{Exceptions: []string{"fd00:50::/48"}, Flags: hns.NATIPv6},
			},
		},
		{
			name: "into the user's of the family", addresses: both, nat: dual,
			user: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"fd00:96::/112"}, Flags: hns.NATIPv6}},
			want: []hns.EndpointPolicy{
				hns.OutBoundNAT{Exceptions: []string{"fd00:96::/112", "fd00:50::/48"}, Flags: hns.NATIPv6},
				hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16"}},
			},
		},
		{
			name: "IPv6 exceptions of a pod without IPv6", addresses: v4, nat: dual,
			want: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16"}}},
		},
		{
			name: "IPv6 without an exception is left alone", addresses: both, nat: ours,
			want: []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16", "10.96.0.0/12"}}},
		},
		{
			name: "HNS may give IPv6", nat: dual,
			want: []hns.EndpointPolicy{
				hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16"}},
				hns.OutBoundNAT{Exceptions: []string{"fd00:50::/48"}, Flags: hns.NATIPv6},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, _ := json.Marshal(tt.user)
			ep, err := modes.PlanPodEndpoint(modes.PodIntent{
				Name: "pod", Network: network(t, "network-l2bridge-dual"), Addresses: tt.addresses, NAT: tt.nat, Policies: tt.user,
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, ep.Policies, byValue); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if after, _ := json.Marshal(tt.user); string(after) != string(before) {
				t.Errorf("the user's policies were changed: %s, before %s", after, before)
			}
		})
	}
}

func TestNATErrors(t *testing.T) {
	_, err := modes.PlanPodEndpoint(modes.PodIntent{
		Name: "pod", Network: network(t, "network-l2bridge"), Addresses: prefixes("10.50.3.7/24"),
		NAT: &modes.NATIntent{Exceptions: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), {}, netip.PrefixFrom(addr("::ffff:10.0.0.0"), 104)}},
	})
	wantComplaints(t, err, []string{"NAT.Exceptions[1] |", "NAT.Exceptions[2] | ::ffff:10.0.0.0/104"})
}
