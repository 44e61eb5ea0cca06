package hostnet_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// TestCompare is the report of ovn-kubernetes/ovn-kubernetes#2530 and #3119: the
// first network on an adapter moves its addresses to a vNIC.
func TestCompare(t *testing.T) {
	static := func(r hostnet.Route) hostnet.Route { r.Static = true; return r }
	before := hostnet.Snapshot{
		Adapters: []hostnet.Adapter{adapter("Ethernet0", 4, "192.0.2.15/27", "fe80::15/64"), adapter("Storage", 5, "198.51.100.15/24")},
		Routes: []hostnet.Route{
			static(route("0.0.0.0/0", "192.0.2.1", 4)), static(route("169.254.169.254/32", "", 4)), static(route("10.9.0.0/16", "198.51.100.1", 5)),
			route("192.0.2.0/27", "", 4), // the system's own
		},
	}
	before.Adapters[0].DNS = []netip.Addr{netip.MustParseAddr("192.0.2.2")}
	moved := []hostnet.Adapter{adapter("Ethernet0", 4), adapter("vEthernet (Ethernet0)", 17, "192.0.2.15/27"), before.Adapters[1]}
	good := slices.Clone(moved)
	good[1].DNS = before.Adapters[0].DNS
	routes := func(gateway, metadata uint32) []hostnet.Route {
		return []hostnet.Route{static(route("0.0.0.0/0", "192.0.2.1", gateway)), static(route("169.254.169.254/32", "0.0.0.0", metadata)), before.Routes[2]}
	}
	const move = `address moved: 192.0.2.15 from "Ethernet0" to "vEthernet (Ethernet0)"`
	tests := []struct {
		name  string
		after hostnet.Snapshot
		want  []string
	}{
		{"nothing happened", before, nil},
		{"all moved", hostnet.Snapshot{Adapters: good, Routes: routes(17, 17)}, []string{move}},
		{"the metadata route is on the wrong adapter", hostnet.Snapshot{Adapters: good, Routes: routes(17, 5)},
			[]string{move, `route misplaced: 169.254.169.254/32 from "Ethernet0" to "vEthernet (Ethernet0)"`}},
		{"routes and name server did not come along", hostnet.Snapshot{Adapters: moved, Routes: before.Routes[2:3]}, []string{move,
			`name server lost: 192.0.2.2 from "Ethernet0" to "vEthernet (Ethernet0)"`,
			`route lost: 0.0.0.0/0 via 192.0.2.1 from "Ethernet0" to "vEthernet (Ethernet0)"`,
			`route lost: 169.254.169.254/32 from "Ethernet0" to "vEthernet (Ethernet0)"`}},
		{"the static address is gone", hostnet.Snapshot{Adapters: []hostnet.Adapter{adapter("vEthernet (Ethernet0)", 17, "192.0.2.77/27"), before.Adapters[1]}, Routes: routes(5, 5)},
			[]string{`address lost: 192.0.2.15 from "Ethernet0"`, `route misplaced: 0.0.0.0/0 via 192.0.2.1 from "Ethernet0"`, `route misplaced: 169.254.169.254/32 from "Ethernet0"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range hostnet.Compare(before, tt.after) {
				got = append(got, c.String())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestSameAdapterFirst: of two adapters with one address the old one counts.
func TestSameAdapterFirst(t *testing.T) {
	before := hostnet.Snapshot{Adapters: []hostnet.Adapter{adapter("Ethernet", 4, "192.0.2.15/27")}, Routes: []hostnet.Route{route("10.9.0.0/16", "192.0.2.1", 4)}}
	before.Routes[0].Static = true
	after := hostnet.Snapshot{Adapters: []hostnet.Adapter{adapter("vEthernet (Ethernet)", 9, "192.0.2.15/27"), before.Adapters[0]}, Routes: before.Routes}
	for _, c := range hostnet.Compare(before, after) {
		if c.Loss != hostnet.AddressMoved {
			t.Error(c)
		}
	}
}

func TestRestore(t *testing.T) {
	m := hostnet.NewMemory(hostnet.Fixed(adapter("vEthernet (Ethernet0)", 17, "192.0.2.15/27")))
	lost := route("10.9.0.0/16", "192.0.2.1", 17)
	changes := []hostnet.Change{
		{Loss: hostnet.RouteLost, Adapter: "Storage", Route: route("10.8.0.0/16", "", 5)}, // its adapter is gone
		{Loss: hostnet.AddressMoved, Adapter: "Ethernet0", Now: "vEthernet (Ethernet0)", Address: netip.MustParseAddr("192.0.2.15")},
		{Loss: hostnet.RouteLost, Adapter: "Ethernet0", Now: "vEthernet (Ethernet0)", Route: lost},
	}
	for range 2 { // the second time it is there
		if err := hostnet.Restore(t.Context(), m, changes); !errors.Is(err, hostnet.ErrNotFound) {
			t.Errorf("%v, want the route without an adapter", err)
		}
		if got, err := m.Routes(t.Context()); err != nil || len(got) != 1 || !got[0].Same(lost) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if err := hostnet.Restore(t.Context(), m, changes[1:]); err != nil {
		t.Error(err)
	}
}
