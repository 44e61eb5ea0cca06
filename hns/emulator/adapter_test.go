package emulator_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// twoAdapters is a host with two wired adapters and a wireless one.
func twoAdapters(o *emulator.Options) {
	o.Adapters = []emulator.Adapter{
		{Name: "Wi-Fi", WiFi: true, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.130/25")}},
		{Name: "Ethernet0", MAC: hns.MAC{2, 0, 0, 0, 0, 1}, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.15/27")}},
		{Name: "Ethernet1", MAC: hns.MAC{2, 0, 0, 0, 0, 2}, Addresses: []netip.Prefix{netip.MustParsePrefix("198.51.100.7/24"), netip.MustParsePrefix("fd00::7/64")}},
	}
}

func adapterName(name string) string {
	return policies(`{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"` + name + `"}}`)
}

func TestAdapterChoice(t *testing.T) {
	const l2, glass = "L2Bridge", "Transparent"
	provider := func(a string) string {
		return policies(`{"Type":"ProviderAddress","Settings":{"ProviderAddress":"` + a + `"}}`)
	}
	constraint := func(s string) string {
		return policies(`{"Type":"InterfaceConstraint","Settings":{` + s + `}}`)
	}
	type create struct {
		kind, more string
		want       hns.Code
	}
	tests := []struct {
		name    string
		creates []create
		adapter string // of the last one
	}{
		{"first that suits", []create{{l2, "", 0}}, "Ethernet0"},
		{"by name", []create{{l2, adapterName("ethernet1"), 0}}, "Ethernet1"},
		{"by address", []create{{l2, provider("198.51.100.7"), 0}}, "Ethernet1"},
		{"by alias", []create{{l2, constraint(`"InterfaceAlias":"Ethernet1"`), 0}}, "Ethernet1"},
		{"by index", []create{{l2, constraint(`"InterfaceIndex":3`), 0}}, "Ethernet1"},
		{"constraint that names nothing", []create{{l2, constraint(`"InterfaceMediaType":6`), 0}}, "Ethernet0"},
		{"no such name", []create{{l2, adapterName("Ethernet9"), hns.CodeAdapterNotFound}}, ""},
		{"no such address", []create{{l2, provider("192.0.2.99"), hns.CodeAdapterNotFound}}, ""},
		{"wireless", []create{{l2, adapterName("Wi-Fi"), hns.CodeInvalidParameter}}, ""},
		{"wireless for Transparent", []create{{glass, adapterName("Wi-Fi"), 0}}, "Wi-Fi"},
		{"shared", []create{{l2, "", 0}, {"Overlay", "", 0}}, "Ethernet0"},
		// moby/moby#41094
		{"virtual", []create{{l2, "", 0}, {l2, adapterName("vEthernet (Ethernet0)"), hns.CodeInvalidParameter}}, ""},
		// antrea-io/antrea#2213
		{"Transparent on a used one", []create{{l2, "", 0}, {glass, adapterName("Ethernet0"), hns.CodeInvalidParameter}}, ""},
		{"beside a Transparent one", []create{{glass, adapterName("Ethernet0"), 0}, {l2, adapterName("Ethernet0"), hns.CodeInvalidParameter}}, ""},
		{"beside a Transparent one, free choice", []create{{glass, adapterName("Ethernet0"), 0}, {l2, "", 0}}, "Ethernet1"},
		// microsoft/SDN#269
		{"all taken", []create{{glass, adapterName("Ethernet0"), 0}, {glass, adapterName("Ethernet1"), 0}, {l2, "", hns.CodeAdapterNotFound}}, ""},
		{"NAT needs none", []create{{"NAT", "", 0}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, twoAdapters)
			for i, c := range tt.creates {
				if _, code := n.create(hns.KindNetwork, network(string(rune('a'+i)), c.kind, "10.50.0.0/16", c.more)); code != c.want {
					t.Fatalf("network %d: %s, want %s", i, code, c.want)
				}
			}
			if tt.adapter == "" {
				return
			}
			nic, ok := n.adapters()["vEthernet ("+tt.adapter+")"]
			if !ok || len(nic.Addresses) == 0 || !nic.Virtual {
				t.Errorf("no vNIC with addresses on %s: %v", tt.adapter, n.adapters())
			}
			if a := n.adapters()[tt.adapter]; len(a.Addresses) != 0 {
				t.Errorf("%s kept %s", tt.adapter, a.Addresses)
			}
		})
	}
}

func TestNoAdapter(t *testing.T) {
	n := newNode(t, func(o *emulator.Options) { o.Adapters = []emulator.Adapter{} })
	if _, code := n.create(hns.KindNetwork, network("lake", "L2Bridge", "10.50.3.0/24")); code != hns.CodeAdapterNotFound {
		t.Errorf("code %s", code)
	}
}

func TestAddressesComeBackWithTheLastNetwork(t *testing.T) {
	n := newNode(t)
	before := n.adapters()
	lake, fjord := n.lake(), n.fjord()
	v1, _ := n.call("GET", "/networks/"+lake.String(), "")
	if got := text(t, v1, "ManagementIP"); got != "192.0.2.10" {
		t.Errorf("management IP %q", got)
	}
	n.delete(hns.KindNetwork, lake)
	if _, ok := n.adapters()["vEthernet (Ethernet)"]; !ok {
		t.Error("the vNIC went with the first of two networks")
	}
	n.delete(hns.KindNetwork, fjord)
	if diff := cmp.Diff(before, n.adapters(), cmp.Comparer(samePrefix)); diff != "" {
		t.Error(diff)
	}
}

func TestHostNICs(t *testing.T) {
	n := newNode(t, version(emulator.WindowsServer2025))
	n.pond()
	n.id(hns.KindNetwork, network("priv", "Private", "10.9.0.0/24"))
	n.id(hns.KindNetwork, network("hidden", "L2Bridge", "10.50.3.0/24", `,"Flags":1024`))
	got := n.adapters()
	if nic := got["vEthernet (pond)"]; len(nic.Addresses) != 1 || nic.Addresses[0].String() != "172.30.0.1/20" || nic.MAC.IsZero() {
		t.Errorf("vNIC of the NAT network: %+v", nic)
	}
	if _, ok := got["vEthernet (priv)"]; ok {
		t.Error("a Private network has a vNIC")
	}
	if _, ok := got["vEthernet (Ethernet)"]; ok {
		t.Error("DisableHostPort made a vNIC")
	}
	seen := map[uint32]string{}
	for name, a := range got {
		if other, ok := seen[a.Index]; ok || a.Index == 0 {
			t.Errorf("%s and %s have index %d", name, other, a.Index)
		}
		seen[a.Index] = name
	}
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}
