package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// machine gives the adapters of a Windows machine whose HNS is emulated, as under
// Wine: those that the system shows, and for the endpoints of the node the vNICs
// that a real HNS would have made.
type machine struct {
	interfaces func() ([]hostnet.Adapter, error)
	endpoints  func(context.Context) ([]*hns.Endpoint, error)

	mu      sync.Mutex
	indexes map[hns.ID]uint32
}

func newMachine(c *hns.Client) *machine {
	return &machine{interfaces: systemAdapters, endpoints: c.Endpoints.List, indexes: map[hns.ID]uint32{}}
}

// firstNIC is the index of the first vNIC, above those of the system.
const firstNIC = 1 << 20

func (m *machine) adapters() ([]hostnet.Adapter, error) {
	out, err := m.interfaces()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // hostnet's function has no context
	defer cancel()
	list, err := m.endpoints(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range list {
		attached := e.State == hns.EndpointAttached || e.State == hns.EndpointAttachedSharing
		if !attached || !e.Namespace.IsZero() {
			continue
		}
		if m.indexes[e.ID] == 0 {
			m.indexes[e.ID] = firstNIC + uint32(len(m.indexes))
		}
		a := hostnet.Adapter{Name: "vEthernet (" + e.Name + ")", Index: m.indexes[e.ID], MAC: net.HardwareAddr(e.MAC[:]), Virtual: true}
		for _, ip := range e.IPConfigs {
			a.Addresses = append(a.Addresses, netip.PrefixFrom(ip.Address, int(ip.PrefixLength)))
		}
		out = append(out, a)
	}
	return out, nil
}

// systemAdapters are the adapters that the system shows, but for loopback.
func systemAdapters() ([]hostnet.Adapter, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []hostnet.Adapter
	for _, i := range list {
		if i.Flags&net.FlagLoopback != 0 {
			continue
		}
		a := hostnet.Adapter{
			Name: i.Name, Index: uint32(i.Index), MAC: i.HardwareAddr, MTU: max(i.MTU, 0),
			Virtual: strings.HasPrefix(i.Name, "vEthernet ("),
		}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("adapter %q: %w", i.Name, err)
		}
		for _, x := range addrs {
			if p, err := netip.ParsePrefix(x.String()); err == nil {
				a.Addresses = append(a.Addresses, p)
			}
		}
		out = append(out, a)
	}
	return out, nil
}
