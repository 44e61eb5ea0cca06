package hns

import "context"

// VMPort is a port of a virtual machine on the switch of an endpoint's network
// (schema VmEndpointRequest).
type VMPort struct {
	// ID of the port, chosen by the caller, who also gives it to the virtual
	// machine's network adapter.
	ID ID
	// NIC names the adapter, as hcsshim does with "<adapter>--<port>"; empty
	// leaves it out.
	NIC string
	// VM is the virtual machine; zero is sent as the zero GUID, as by hcsshim,
	// which tells the machine of the port itself.
	VM ID
}

func (p VMPort) settings() any {
	return struct {
		PortId           string
		VirtualNicName   string `json:",omitempty"`
		VirtualMachineId string
	}{p.ID.String(), p.NIC, p.VM.String()}
}

// AddPort gives the endpoint a switch port for a virtual machine, which attaches
// it. An endpoint that is attached already is ErrAttached.
func (s *EndpointService) AddPort(ctx context.Context, id ID, p VMPort) error {
	return s.modifyPort(ctx, requestAdd, "add port to endpoint", id, p)
}

// RemovePort takes the virtual machine's port of the endpoint away, which
// detaches it. Without such a port the error is ErrNotFound.
func (s *EndpointService) RemovePort(ctx context.Context, id ID, p VMPort) error {
	return s.modifyPort(ctx, requestRemove, "remove port from endpoint", id, p)
}

func (s *EndpointService) modifyPort(ctx context.Context, request, op string, id ID, p VMPort) error {
	if id.IsZero() {
		return zeroID(op, VerbModify, KindEndpoint)
	}
	if p.ID.IsZero() {
		return &Error{Op: op, Verb: VerbModify, Kind: KindEndpoint, Ref: id.String(), Err: joinFields([]*FieldError{{Path: "PortId", Reason: "missing"}})}
	}
	return s.c.modify(ctx, op, KindEndpoint, id, modifyRequest{request, "Port", p.settings()})
}
