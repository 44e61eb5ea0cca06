package hns

import (
	"context"
	"fmt"
	"strings"
)

// The request types of a modify request (schema ModifyRequestType).
const (
	requestAdd    = "Add"
	requestRemove = "Remove"
	requestUpdate = "Update"
)

// modifyRequest is the document of a modify request.
type modifyRequest struct {
	RequestType  string
	ResourceType string
	Settings     any
}

// modify sends a modify request about the object.
func (c *Client) modify(ctx context.Context, op string, kind Kind, id ID, request any) error {
	doc, err := encode(request)
	if err != nil {
		return &Error{Op: op, Verb: VerbModify, Kind: kind, Ref: id.String(), Err: err}
	}
	_, err = c.do(ctx, op, id.String(), Request{Verb: VerbModify, Kind: kind, ID: id, Document: doc})
	return err
}

// modifyPolicies sends one modify request with all of ps; nothing is sent for
// an empty list. What is removed is there, so no version is asked for it.
func modifyPolicies[T any, P policy](ctx context.Context, c *Client, k resource[T], id ID, request string, ps []P, known decoders[P]) error {
	op := strings.ToLower(request) + " policies of " + k.kind.String()
	if id.IsZero() {
		return zeroID(op, VerbModify, k.kind)
	}
	if len(ps) == 0 {
		return nil
	}
	fail := func(err error) error {
		return &Error{Op: op, Verb: VerbModify, Kind: k.kind, Ref: id.String(), Err: err}
	}
	if err := c.refused(checkPolicies(ps, known)); err != nil {
		return fail(err)
	}
	policies, err := wirePolicies(ps)
	if err != nil {
		return fail(err)
	}
	if request != requestRemove {
		if err := c.gate(ctx, policyFeatures(ps, known)); err != nil {
			return fail(err)
		}
	}
	return c.modify(ctx, op, k.kind, id, modifyRequest{request, "Policy", struct{ Policies []wirePolicy }{policies}})
}

// UpdatePolicies replaces policies of a live endpoint: those of the types that
// ps names, all of them, become ps; the other types stay. So says what clients
// of HNS rely on; no reference does. To take all policies of a type away use
// RemovePolicies; an empty ps changes nothing.
func (s *EndpointService) UpdatePolicies(ctx context.Context, id ID, ps ...EndpointPolicy) error {
	return modifyPolicies(ctx, s.c, endpointKind, id, requestUpdate, ps, endpointPolicies)
}

// RemovePolicies removes policies from a live endpoint. HNS compares settings:
// they must be those the endpoint has. Some builds are said to remove more than
// was asked for; UpdatePolicies with the policies that should stay does not.
func (s *EndpointService) RemovePolicies(ctx context.Context, id ID, ps ...EndpointPolicy) error {
	return modifyPolicies(ctx, s.c, endpointKind, id, requestRemove, ps, endpointPolicies)
}

// UpdatePolicies replaces policies of a live network as
// [EndpointService.UpdatePolicies] does; a [SetPolicy] replaces the values of
// the set of its id alone, and HNS passes over a set that is not there.
func (s *NetworkService) UpdatePolicies(ctx context.Context, id ID, ps ...NetworkPolicy) error {
	return modifyPolicies(ctx, s.c, networkKind, id, requestUpdate, ps, networkPolicies)
}

// UpdateDNS replaces the resolver configuration of a live network. Endpoints
// that are there keep theirs.
func (s *NetworkService) UpdateDNS(ctx context.Context, id ID, d DNS) error {
	w := d.wire()
	if w == nil {
		w = &wireDNS{}
	}
	return s.modify(ctx, "update DNS of network", id, under("Dns", d.check()), modifyRequest{requestUpdate, "DNS", w})
}

// UpdateExtension switches an extension of the virtual switch on or off. The
// switch may be shared with other networks; HNS may refuse it then (ErrInUse).
func (s *NetworkService) UpdateExtension(ctx context.Context, id, extension ID, enable bool) error {
	var bad []*FieldError
	if extension.IsZero() {
		bad = []*FieldError{{Path: "Id", Reason: "missing"}}
	}
	return s.modify(ctx, "update extension of network", id, bad, modifyRequest{requestUpdate, "Extension", struct {
		Id        string
		IsEnabled bool
	}{extension.String(), enable}})
}

// AddSubnets adds subnets to a live network. Schema 2.6 has the request, for
// L2Bridge, L2Tunnel and Overlay of Windows Server 2022; those who tried say that
// HNS does not change the subnets of a network (microsoft/hcsshim#786), and the
// emulator refuses it (ErrUnsupported). [NetworkService.Ensure] with DriftRecreate
// gets there without it. Where it works, HNS gives the subnets ids: read the
// network again for them.
func (s *NetworkService) AddSubnets(ctx context.Context, id ID, subnets ...Subnet) error {
	return s.modifySubnets(ctx, id, requestAdd, subnets)
}

// RemoveSubnets removes subnets from a live network, with the reservations of
// AddSubnets. Only their ids and prefixes are sent; give them as the network
// shows them.
func (s *NetworkService) RemoveSubnets(ctx context.Context, id ID, subnets ...Subnet) error {
	return s.modifySubnets(ctx, id, requestRemove, subnets)
}

func (s *NetworkService) modifySubnets(ctx context.Context, id ID, request string, subnets []Subnet) error {
	op := strings.ToLower(request) + " subnets of network"
	var bad []*FieldError
	var docs []wireSubnet
	for i, sub := range subnets {
		w := wireSubnet{ID: idText(sub.ID), IpAddressPrefix: prefixText(sub.Prefix)}
		complaints := checkPrefix("IpAddressPrefix", sub.Prefix)
		if request == requestAdd {
			complaints = sub.check("")
			w, _ = sub.wire() // a policy that has no text is among the complaints
		}
		bad = append(bad, under(fmt.Sprintf("Subnets[%d]", i), complaints)...)
		docs = append(docs, w)
	}
	if len(subnets) == 0 && !id.IsZero() {
		return nil
	}
	return s.modify(ctx, op, id, bad, modifyRequest{request, "Subnet", struct{ Subnets []wireSubnet }{docs}})
}

// AddIPSubnets adds IP subnets to a subnet of a live network (schema 2.6), with
// the reservations of AddSubnets.
func (s *NetworkService) AddIPSubnets(ctx context.Context, id, subnet ID, ips ...IPSubnet) error {
	return s.modifyIPSubnets(ctx, id, subnet, requestAdd, ips)
}

// RemoveIPSubnets removes IP subnets from a subnet of a live network, with the
// reservations of AddSubnets. Only their ids and prefixes are sent; give them as
// the network shows them.
func (s *NetworkService) RemoveIPSubnets(ctx context.Context, id, subnet ID, ips ...IPSubnet) error {
	return s.modifyIPSubnets(ctx, id, subnet, requestRemove, ips)
}

func (s *NetworkService) modifyIPSubnets(ctx context.Context, id, subnet ID, request string, ips []IPSubnet) error {
	var bad []*FieldError
	if subnet.IsZero() {
		bad = append(bad, &FieldError{Path: "SubnetId", Reason: "missing"})
	}
	var docs []wireIPSubnet
	for i, ip := range ips {
		bad = append(bad, under(fmt.Sprintf("IpSubnets[%d]", i), checkPrefix("IpAddressPrefix", ip.Prefix))...)
		w := wireIPSubnet{ID: idText(ip.ID), IpAddressPrefix: prefixText(ip.Prefix)}
		if request == requestAdd {
			w = ip.wire()
		}
		docs = append(docs, w)
	}
	if len(ips) == 0 && !id.IsZero() && !subnet.IsZero() {
		return nil
	}
	return s.modify(ctx, strings.ToLower(request)+" IP subnets of network", id, bad, modifyRequest{request, "IPSubnet", struct {
		SubnetId  string
		IpSubnets []wireIPSubnet
	}{subnet.String(), docs}})
}

// modify sends the request unless there are complaints about it.
func (s *NetworkService) modify(ctx context.Context, op string, id ID, bad []*FieldError, req modifyRequest) error {
	if id.IsZero() {
		return zeroID(op, VerbModify, KindNetwork)
	}
	if err := s.c.refused(bad); err != nil {
		return &Error{Op: op, Verb: VerbModify, Kind: KindNetwork, Ref: id.String(), Err: err}
	}
	return s.c.modify(ctx, op, KindNetwork, id, req)
}
