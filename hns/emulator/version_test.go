package emulator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// What each profile can do, found out by doing it.
func TestProfiles(t *testing.T) {
	can := map[string]func(*node) hns.Code{
		"host routes": func(n *node) hns.Code {
			return n.policy(hns.KindNetwork, n.fjord(), "Add", `{"Type":"HostRoute","Settings":{}}`)
		},
		"DSR": func(n *node) hns.Code {
			_, code := n.create(hns.KindLoadBalancer, balancer(n.backends(n.lake(), 1), port(6, 80, 80), `,"Flags":1`))
			return code
		},
		"/32 addresses": func(n *node) hns.Code {
			_, code := n.create(hns.KindEndpoint, endpoint(n.lake(), "x", `,"IpConfigurations":[{"IpAddress":"10.50.3.7","PrefixLength":32}]`))
			return code
		},
		"two families": func(n *node) hns.Code {
			_, code := n.create(hns.KindNetwork, network("lake", "L2Bridge", "fd00:50::/64"))
			return code
		},
		"address sets": func(n *node) hns.Code {
			return n.policy(hns.KindNetwork, n.lake(), "Add", `{"Type":"SetPolicy","Settings":{"Id":"s","Name":"s","PolicyType":"IPSET","Values":"10.0.0.1"}}`)
		},
		"ACL tiers": func(n *node) hns.Code {
			return n.policy(hns.KindEndpoint, n.backends(n.lake(), 1)[0], "Add", `{"Type":"TierAcl","Settings":{"Name":"t","Direction":"In"}}`)
		},
		"change of load balancers": func(n *node) hns.Code {
			doc := balancer(n.backends(n.lake(), 1), port(6, 80, 80))
			return n.modify(hns.KindLoadBalancer, n.id(hns.KindLoadBalancer, doc), doc)
		},
		"accelerated networking": func(n *node) hns.Code {
			_, code := n.call("GET", "/accelnet/", "")
			return code
		},
	}
	tests := []struct {
		name    string
		version hns.Version
		want    []string
	}{
		{"WindowsServer2019RTM", emulator.WindowsServer2019RTM, nil},
		{"WindowsServer2019KB4489899", emulator.WindowsServer2019KB4489899, []string{"host routes"}},
		{"WindowsServer2019", emulator.WindowsServer2019, []string{"host routes", "DSR", "/32 addresses"}},
		{"Windows20H2", emulator.Windows20H2, []string{"host routes", "DSR", "/32 addresses", "two families"}},
		{"WindowsServer2022", emulator.WindowsServer2022, []string{"host routes", "DSR", "/32 addresses", "two families", "address sets"}},
		{"WindowsServer2025", emulator.WindowsServer2025, []string{"host routes", "DSR", "/32 addresses", "two families", "address sets",
			"ACL tiers", "change of load balancers", "accelerated networking"}},
		{"WindowsServer2025Serviced", emulator.WindowsServer2025Serviced, []string{"host routes", "DSR", "/32 addresses", "two families", "address sets",
			"ACL tiers", "change of load balancers", "accelerated networking"}},
	}
	for _, tt := range tests {
		want, got := map[string]bool{}, map[string]bool{}
		for _, w := range tt.want {
			want[w] = true
		}
		for name, try := range can {
			if try(newNode(t, version(tt.version))) == 0 {
				got[name] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
