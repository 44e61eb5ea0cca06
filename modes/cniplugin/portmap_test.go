package cniplugin_test

import (
	"net/netip"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

func TestPortMappings(t *testing.T) {
	const list = `[
		{"hostPort": 8088, "containerPort": 80, "protocol": "TCP", "hostIP": "192.0.2.10"},
		{"hostPort": 8088, "containerPort": 80, "protocol": "tcp", "hostIP": "192.0.2.11"},
		{"hostPort": 0, "containerPort": 81, "protocol": "sctp"},
		{"hostPort": 5353, "containerPort": 53, "protocol": "Udp", "hostIP": "0.0.0.0"},
		{"hostPort": 65535, "containerPort": 1, "hostIP": "::"},
		{"hostPort": 1, "containerPort": 65535, "protocol": "", "hostIP": "fd00::1"}]`
	c, err := cniplugin.ParseConfig(config(`"name": "lake"`, `"runtimeConfig": {"portMappings": `+list+`}`))
	if err != nil {
		t.Fatal(err)
	}
	// Azure/azure-container-networking#689: the host's address counts.
	want := []cniplugin.PortMapping{
		{HostPort: 8088, ContainerPort: 80, Protocol: 6, HostIP: netip.MustParseAddr("192.0.2.10")},
		{HostPort: 8088, ContainerPort: 80, Protocol: 6, HostIP: netip.MustParseAddr("192.0.2.11")},
		{HostPort: 5353, ContainerPort: 53, Protocol: 17},
		{HostPort: 65535, ContainerPort: 1, Protocol: 6},
		{HostPort: 1, ContainerPort: 65535, Protocol: 6, HostIP: netip.MustParseAddr("fd00::1")},
	}
	if diff := cmp.Diff(want, c.PortMappings, compareConfig...); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A mapping that cannot be made is an error, never left out: the pod would not be
// reached, and nobody would know why.
func TestBadPortMappings(t *testing.T) {
	const at = "runtimeConfig.portMappings"
	for list, want := range map[string][]string{
		`{}`: {at},
		`[{"hostPort": 80, "containerPort": 80}, "8080:80"]`:                {at + "[1]"},
		`[{"hostPort": "80", "containerPort": 80}]`:                         {at + "[0].hostPort"},
		`[{"hostPort": 70000, "containerPort": -1}]`:                        {at + "[0].hostPort", at + "[0].containerPort"},
		`[{"hostPort": 80}]`:                                                {at + "[0].containerPort"},
		`[{"hostPort": 80, "containerPort": 80, "protocol": "sctp"}]`:       {at + "[0].protocol"},
		`[{"hostPort": 80, "containerPort": 80, "hostIP": "nope"}]`:         {at + "[0].hostIP"},
		`[{"hostPort": 80, "containerPort": 80, "hostIP": "fe80::1%eth0"}]`: {at + "[0].hostIP"},
	} {
		_, err := cniplugin.ParseConfig(config(`"name": "lake"`, `"runtimeConfig": {"PortMappings": `+list+`}`))
		for i := range want {
			want[i] = "runtimeConfig.PortMappings" + want[i][len(at):] // as it is written
		}
		if diff := cmp.Diff(want, paths(err)); diff != "" || codeOf(err) != types.ErrInvalidNetworkConfig {
			t.Errorf("%s: code %d, paths (-want +got):\n%s", list, codeOf(err), diff)
		}
	}
}

// One policy for each family that the pod has and the host address is of
// (Azure/azure-container-networking#1986), in every mode
// (containernetworking/plugins#530).
func TestPortPolicies(t *testing.T) {
	dual := func(tb testing.TB, o *emulator.Options) *node {
		return newNode(tb, o, "win-bridge", modes.NetworkIntent{Mode: modes.L2Bridge, Name: "lake", Subnets: prefixes("10.50.3.0/24", "fd00:50:3::/64")})
	}
	const v4, v6 = `{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8088`,
		`{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8088`
	tests := []struct {
		name   string
		node   func(testing.TB, *emulator.Options) *node
		hostIP string
		want   []string
	}{
		{"L2Bridge", newBridge, "", []string{v4 + `}}`}},
		{"L2Bridge at one address", newBridge, "192.0.2.10", []string{v4 + `,"VIP":"192.0.2.10"}}`}},
		{"Overlay", newOverlay, "", []string{v4 + `}}`, provider}},
		{"dual stack", dual, "", []string{v4 + `}}`, v6 + `,"Flags":2}}`}},
		{"dual stack, all of IPv4 is all", dual, "0.0.0.0", []string{v4 + `}}`, v6 + `,"Flags":2}}`}},
		{"dual stack, all of IPv6 is all", dual, "::", []string{v4 + `}}`, v6 + `,"Flags":2}}`}},
		{"dual stack, IPv4 alone", dual, "192.0.2.10", []string{v4 + `,"VIP":"192.0.2.10"}}`}},
		{"dual stack, IPv6 alone", dual, "2001:db8::10", []string{v6 + `,"VIP":"2001:db8::10","Flags":2}}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.node(t, nil).pod("sbx-01")
			p.mustAdd(`"runtimeConfig": {"portMappings": [{"hostPort": 8088, "containerPort": 80, "protocol": "tcp", "hostIP": "` + tt.hostIP + `"}]}`)
			if diff := cmp.Diff(tt.want, policiesOf(t, p.endpoint())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A host address of a family that the pod has not: found before the lease, and the
// path counts the mappings as they stand.
func TestPortOfAnotherFamily(t *testing.T) {
	n := newBridge(t, nil)
	_, err := n.pod("sbx-01").add(`"runtimeConfig": {"portMappings": [{"hostPort": 0, "containerPort": 1}, {"hostPort": 80, "containerPort": 80, "hostIP": "fd00::1"}]}`)
	if diff := cmp.Diff([]string{"runtimeConfig.portMappings[1].hostIP"}, paths(err)); diff != "" || codeOf(err) != types.ErrInvalidNetworkConfig {
		t.Errorf("code %d, paths (-want +got):\n%s", codeOf(err), diff)
	}
	if calls := n.ipam.asked(); len(calls) > 0 {
		t.Errorf("IPAM was asked: %v", calls)
	}
}
