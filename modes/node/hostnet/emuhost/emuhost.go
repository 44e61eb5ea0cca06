// Package emuhost gives package hostnet the adapters of an emulated HNS, for
// tests of node agents:
//
//	service := emulator.New(nil)
//	host := hostnet.NewMemory(emuhost.Adapters(service))
//	state, err := node.Ensure(ctx, hns.New(service, nil), host, plan, nil)
package emuhost

import (
	"net"

	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node/hostnet"
)

// Adapters returns a function for [hostnet.NewMemory]: the adapters of the host
// as they are at each call, with those that HNS made. Their MTU is not known.
func Adapters(h *emulator.HNS) func() ([]hostnet.Adapter, error) {
	return func() ([]hostnet.Adapter, error) {
		list, err := h.Adapters()
		out := make([]hostnet.Adapter, len(list))
		for i, a := range list {
			out[i] = hostnet.Adapter{Name: a.Name, Index: a.Index, MAC: net.HardwareAddr(a.MAC[:]), Addresses: a.Addresses, Virtual: a.Virtual}
		}
		return out, err
	}
}
