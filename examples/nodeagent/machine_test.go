package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// A host whose adapters are the system's, over an HNS that only other processes
// see into: what HNS would have made for the node's endpoint is there, or the
// node could not be set up.
func TestMachine(t *testing.T) {
	client := hns.New(emulator.New(nil), nil)
	m := newMachine(client)
	ethernet := hostnet.Adapter{Name: "Ethernet", Index: 4, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")}}
	m.interfaces = func() ([]hostnet.Adapter, error) { return []hostnet.Adapter{ethernet}, nil }
	host := hostnet.NewMemory(m.adapters)
	plan, err := node.Description{
		Mode: modes.L2Bridge, Name: "cbr0", Subnets: []netip.Prefix{netip.MustParsePrefix("10.244.3.0/24")},
		ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}, NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")},
	}.Plan()
	if err != nil {
		t.Fatal(err)
	}
	state, err := node.Ensure(t.Context(), client, host, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	ns, err := client.Namespaces.Create(t.Context(), &hns.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	pod, err := client.Endpoints.Create(t.Context(), &hns.Endpoint{Name: "pod", Network: state.Network.ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Namespaces.AddEndpoint(t.Context(), ns.ID, pod.ID); err != nil {
		t.Fatal(err)
	}
	got, err := host.Adapters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := state.HostEndpoint
	want := []hostnet.Adapter{ethernet, {
		Name: "vEthernet (" + own.Name + ")", Index: firstNIC, MAC: net.HardwareAddr(own.MAC[:]), Virtual: true, ForwardingIPv4: true,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.244.3.2/24")},
	}}
	want[0].ForwardingIPv4 = true
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMachineFails(t *testing.T) {
	broken := errors.New("broken")
	m := &machine{interfaces: func() ([]hostnet.Adapter, error) { return nil, broken }}
	if _, err := m.adapters(); !errors.Is(err, broken) {
		t.Error(err)
	}
	m = &machine{interfaces: func() ([]hostnet.Adapter, error) { return nil, nil },
		endpoints: func(context.Context) ([]*hns.Endpoint, error) { return nil, broken }}
	if _, err := m.adapters(); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// The system's adapters come with what net.Interfaces knows, loopback left out.
func TestSystemAdapters(t *testing.T) {
	got, err := systemAdapters()
	if err != nil {
		t.Fatal(err)
	}
	byIndex := map[uint32]hostnet.Adapter{}
	for _, a := range got {
		byIndex[a.Index] = a
	}
	list, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		a, ok := byIndex[uint32(i.Index)]
		if loopback := i.Flags&net.FlagLoopback != 0; loopback == ok {
			t.Errorf("%s: loopback %t, listed %t", i.Name, loopback, ok)
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		if ok && (a.Name != i.Name || len(a.Addresses) != len(addrs)) {
			t.Errorf("%+v is not %+v with %v", a, i, addrs)
		}
	}
}
