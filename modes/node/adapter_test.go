package node_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
	"github.com/hnskit/hnskit/modes/node/hostnet/emuhost"
)

func TestAdapter(t *testing.T) {
	eth := func(n string, p ...string) emulator.Adapter {
		return emulator.Adapter{Name: n, Addresses: prefixes(p...)}
	}
	two := []emulator.Adapter{eth("Storage", "198.51.100.10/24"), eth("Ethernet", "192.0.2.10/24")}
	both := []emulator.Adapter{eth("Ethernet", "192.0.2.10/24"), eth("Ethernet 2", "192.0.2.10/24")}
	nic := emulator.Adapter{Name: "vEthernet (switch)", Addresses: prefixes("192.0.2.10/24"), Virtual: true}
	glass := descriptions()["transparent"]
	glass.Adapter, glass.NodeAddresses = "", nil
	named := descriptions()["overlay"]
	named.Adapter = "storage"
	named.NodeAddresses = addrs("198.51.100.10")
	gone := named
	gone.Adapter = "Ethernet 7"
	virtual := named
	virtual.Adapter, virtual.NodeAddresses = "vEthernet (switch)", addrs("192.0.2.10")
	tests := []struct {
		name     string
		adapters []emulator.Adapter
		d        node.Description
		want     string // "" is a refusal
	}{
		{"by the node's address", two, descriptions()["overlay"], "Ethernet"},
		{"by name, in any letter case", two, named, "Storage"},
		{"no such name", two, gone, ""},
		{"a vNIC by name", append(two, nic), virtual, ""},
		{"no such address", two[:1], descriptions()["l2bridge"], ""},
		{"two have the address", both, descriptions()["l2bridge"], ""},
		{"an address on a vNIC of somebody else", []emulator.Adapter{eth("Ethernet"), nic}, descriptions()["l2bridge"], ""},
		{"the only one", two[:1], glass, "Storage"},
		{"no address is given, and there are two", two, glass, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, emulator.Options{Adapters: tt.adapters})
			s, err := node.Ensure(t.Context(), m.client, m.host, planOf(t, tt.d), nil)
			if tt.want == "" {
				if !errors.Is(err, node.ErrAdapter) {
					t.Errorf("%v", err)
				}
				if n, _ := m.client.Networks.List(t.Context()); len(n) > 0 {
					t.Errorf("made %q all the same", n[0].Name)
				}
				return
			}
			if err != nil || s.Adapter != tt.want {
				t.Fatalf("%q, %v", s.Adapter, err)
			}
			names := hns.PoliciesOf[hns.NetAdapterName](s.Network.Policies)
			if len(names) != 1 || names[0].Name != tt.want {
				t.Errorf("the network is on %v", names)
			}
		})
	}
}

// TestAdapterBelowVNIC: the first network took the adapter's address to a vNIC,
// and the second still finds the adapter by it.
func TestAdapterBelowVNIC(t *testing.T) {
	m := newMachine(t, emulator.Options{})
	m.ensure(planOf(t, descriptions()["overlay"]), nil)
	d := descriptions()["l2bridge"]
	d.Subnets = prefixes("10.244.9.0/24")
	if s := m.ensure(planOf(t, d), nil); s.Adapter != "Ethernet" || s.Address != addr("192.0.2.10") {
		t.Errorf("%q, %s", s.Adapter, s.Address)
	}
}

// TestAdapterByMAC: somebody has called the vNIC something else.
func TestAdapterByMAC(t *testing.T) {
	mac := hns.MAC{2, 0, 0, 0, 0, 1}
	m := newMachine(t, emulator.Options{Adapters: []emulator.Adapter{
		{Name: "Storage", MAC: hns.MAC{2, 0, 0, 0, 0, 2}}, {Name: "switch", Virtual: true}, {Name: "Ethernet", MAC: mac},
		{Name: "vEthernet (switch)", MAC: mac, Virtual: true, Addresses: prefixes("192.0.2.10/24")}}})
	if s := m.ensure(planOf(t, descriptions()["l2bridge"]), &node.EnsureOptions{DryRun: true}); s.Adapter != "Ethernet" {
		t.Errorf("%q", s.Adapter)
	}
}

// TestWrongAdapter: the network is there, on another adapter than the node's
// address.
func TestWrongAdapter(t *testing.T) {
	m := newMachine(t, emulator.Options{Adapters: []emulator.Adapter{
		{Name: "Storage", Addresses: prefixes("198.51.100.10/24")}, {Name: "Ethernet", Addresses: prefixes("192.0.2.10/24")}}})
	old := descriptions()["overlay"]
	old.NodeAddresses = addrs("198.51.100.10")
	m.ensure(planOf(t, old), nil)
	p := planOf(t, descriptions()["overlay"])
	s, err := node.Ensure(t.Context(), m.client, m.host, p, nil)
	if !errors.Is(err, hns.ErrDrift) || actionsOf(s) != "network refuse" {
		t.Errorf("%v\n%s", err, stepsOf(s))
	}
	if s := m.ensure(p, &node.EnsureOptions{Drift: hns.DriftRecreate}); s.Address != addr("192.0.2.10") {
		t.Errorf("%s\n%s", s.Address, stepsOf(s))
	}
	// The description does not know the address that the network's adapter has.
	other := descriptions()["overlay"]
	other.NodeAddresses = addrs("192.0.2.99")
	s, err = node.Ensure(t.Context(), m.client, m.host, planOf(t, other), nil)
	if !errors.Is(err, hns.ErrDrift) || actionsOf(s) != "address refuse" || !strings.Contains(err.Error(), "192.0.2.99") {
		t.Errorf("%v\n%s", err, stepsOf(s))
	}
	if s := m.ensure(planOf(t, other), &node.EnsureOptions{Drift: hns.DriftKeep}); len(s.Steps[3].Differences) != 1 {
		t.Errorf("%s", stepsOf(s))
	}
}

// TestLinkMTU: what the pods send must fit the adapter and the vNIC over it; other
// adapters do not matter.
func TestLinkMTU(t *testing.T) {
	adapter := func(name string, mtu int, addresses ...string) hostnet.Adapter {
		return hostnet.Adapter{Name: name, Index: uint32(len(name)), MTU: mtu, Addresses: prefixes(addresses...), Virtual: strings.HasPrefix(name, "v")}
	}
	for _, tt := range []struct {
		ethernet, vnic, other int
		ok                    bool
	}{{1500, 1500, 576, true}, {0, 0, 0, true}, {9000, 1500, 1500, true}, {1400, 1500, 1500, false}, {1500, 1400, 1500, false}, {1500, 1499, 1500, false}} {
		host := hostnet.NewMemory(hostnet.Fixed(adapter("Ethernet", tt.ethernet), adapter("vEthernet (Ethernet)", tt.vnic, "192.0.2.10/24"), adapter("Storage", tt.other, "198.51.100.1/24")))
		m := newMachine(t, emulator.Options{})
		_, err := node.Ensure(t.Context(), m.client, host, planOf(t, descriptions()["overlay"]), &node.EnsureOptions{DryRun: true})
		if fields := hns.FieldErrors(err); (err == nil) != tt.ok || err != nil && (len(fields) != 1 || fields[0].Path != "LinkMTU") {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// TestAddressChanged: the node's adapter has another address than when the network
// was made, as after another lease of DHCP. HNS cannot change the network's, so it
// is made anew once no pod is on it.
func TestAddressChanged(t *testing.T) {
	for _, name := range []string{"overlay", "l2bridge"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hns.json")
			boot := func(address string) *machine {
				h, err := emulator.Open(path, &emulator.Options{Seed: 7, Adapters: []emulator.Adapter{{Name: "Ethernet", Addresses: prefixes(address)}}})
				if err != nil {
					t.Fatal(err)
				}
				return &machine{tb: t, hns: h, client: hns.New(h, nil), host: hostnet.NewMemory(emuhost.Adapters(h))}
			}
			m := boot("192.0.2.10/24")
			before := m.ensure(planOf(t, descriptions()[name]), nil)
			pod, err := m.client.Endpoints.Create(t.Context(), &hns.Endpoint{Name: "pod", Network: before.Network.ID,
				IPConfigs: []hns.IPConfig{{Address: addr("10.244.3.10"), PrefixLength: 24}}})
			if err != nil {
				t.Fatal(err)
			}
			m = boot("192.0.2.77/24")
			d := descriptions()[name]
			d.NodeAddresses = addrs("192.0.2.77")
			p := planOf(t, d)
			opts := &node.EnsureOptions{Drift: hns.DriftRecreate, Wait: brief}
			if s, err := node.Ensure(t.Context(), m.client, m.host, p, opts); !errors.Is(err, hns.ErrDrift) || !errors.Is(err, hns.ErrInUse) {
				t.Fatalf("with a pod: %v\n%s", err, stepsOf(s))
			}
			if err := m.client.Endpoints.Delete(t.Context(), pod.ID); err != nil {
				t.Fatal(err)
			}
			if s, err := node.Ensure(t.Context(), m.client, m.host, p, &node.EnsureOptions{Wait: brief}); !errors.Is(err, hns.ErrDrift) {
				t.Fatalf("not allowed: %v\n%s", err, stepsOf(s))
			}
			s := m.ensure(p, opts)
			if s.Address != addr("192.0.2.77") || s.Network.ID == before.Network.ID {
				t.Errorf("%s\n%s", s.Address, stepsOf(s))
			}
			if again := m.ensure(p, opts); again.Changed() {
				t.Errorf("again: %s", stepsOf(again))
			}
		})
	}
}
