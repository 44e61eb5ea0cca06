package hns

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
)

// NetworkType is the type of a network (schema NetworkMode). Types this list
// lacks, such as those of client Windows, are read as they are.
type NetworkType string

// The network types, in the order of their numbers.
const (
	NAT            NetworkType = "NAT"
	ICS            NetworkType = "ICS"
	Transparent    NetworkType = "Transparent"
	L2Bridge       NetworkType = "L2Bridge"
	L2Tunnel       NetworkType = "L2Tunnel"
	Overlay        NetworkType = "Overlay"
	Private        NetworkType = "Private"
	Internal       NetworkType = "Internal"
	Mirrored       NetworkType = "Mirrored"
	Infiniband     NetworkType = "Infiniband"
	ConstrainedICS NetworkType = "ConstrainedICS"
)

var networkTypes = []string{
	string(NAT), string(ICS), string(Transparent), string(L2Bridge), string(L2Tunnel), string(Overlay),
	string(Private), string(Internal), string(Mirrored), string(Infiniband), string(ConstrainedICS),
}

// NetworkFlags are the flags of a network (schema NetworkFlags). Unknown bits
// are kept.
type NetworkFlags uint32

// Network flags that clients use. The documented names between them have no
// documented numbers.
const (
	NetworkEnableDNSProxy   NetworkFlags = 1
	NetworkEnableDHCPServer NetworkFlags = 2
	NetworkEnableMirroring  NetworkFlags = 4
	NetworkNonPersistent    NetworkFlags = 8    // gone after a reboot
	NetworkDisableHostPort  NetworkFlags = 1024 // no adapter for the node; HNS 15.1 and later
	NetworkEnableIOV        NetworkFlags = 8192 // SR-IOV, for accelerated networking; HNS 15.4 and later
)

// Network is an HNS network (schema HostComputeNetwork).
type Network struct {
	// ID is chosen by HNS unless set at create.
	ID ID
	// Name is unique on the node.
	Name string
	// Type is the network mode. It is never empty on what was read.
	Type NetworkType
	// Flags of the network; zero is none.
	Flags NetworkFlags
	// Policies of the network itself.
	Policies []NetworkPolicy
	// IPAMs hold the subnets. Empty: HNS chooses (NAT), or there are none. What
	// HNS makes of subnets of one network that overlap or are the same is not
	// known, so they are sent as they are; on Overlay the VSID may tell them
	// apart.
	IPAMs []IPAM
	// MACPool is where the MACs of endpoints come from; empty: HNS chooses.
	MACPool []MACRange
	// DNS is the default for endpoints.
	DNS DNS
	// Document is what HNS sent; zero for a network that was not read.
	Document Document
}

// IPAM is a group of subnets (schema Ipam).
type IPAM struct {
	// Type is "Static" or "DHCP"; empty is Static.
	Type string
	// Subnets of the group.
	Subnets []Subnet
}

var ipamTypes = []string{"Static", "DHCP"}

// MACRange is a block of MAC addresses, both ends included.
type MACRange struct {
	Start, End MAC
}

// Subnets returns the subnets of all IPAMs, in order.
func (n *Network) Subnets() []Subnet {
	var out []Subnet
	for _, i := range n.IPAMs {
		out = append(out, i.Subnets...)
	}
	return out
}

// SubnetOf returns the subnet that holds a.
func (n *Network) SubnetOf(a netip.Addr) (Subnet, bool) {
	for _, s := range n.Subnets() {
		if s.Prefix.Contains(a) {
			return s, true
		}
	}
	return Subnet{}, false
}

// ProviderAddress returns the node's address on the physical network as HNS
// noted it on an Overlay network, or none if it did not yet.
func (n *Network) ProviderAddress() netip.Addr {
	for _, p := range PoliciesOf[ProviderAddress](n.Policies) {
		return p.Address
	}
	return netip.Addr{}
}

// DRMAC returns the MAC of the network's distributed router (Overlay), or none.
func (n *Network) DRMAC() MAC {
	for _, p := range PoliciesOf[DRMACAddress](n.Policies) {
		return p.Address
	}
	return MAC{}
}

// DecodeNetwork reads a network in schema 2. It fails only if doc is no JSON
// object; see [Document].
func DecodeNetwork(doc []byte) (*Network, error) {
	var d Document
	r, bad := startReading(doc, &d)
	if bad != nil {
		return nil, &Error{Op: "read network", Err: bad}
	}
	n := &Network{
		ID:       r.id("ID"),
		Name:     r.str("Name"),
		Type:     NetworkType(r.enum("Type", networkTypes)),
		Flags:    NetworkFlags(r.uint("Flags", 32)),
		Policies: readPolicies(r, networkPolicies),
		DNS:      readDNS(r.sub("Dns")),
	}
	if n.Type == "" {
		n.Type = NAT // HNS leaves the zero of the enum out
	}
	r.list("Ipams", func(e reader) {
		i := IPAM{Type: e.enum("Type", ipamTypes)}
		e.list("Subnets", func(s reader) { i.Subnets = append(i.Subnets, readSubnet(s)) })
		n.IPAMs = append(n.IPAMs, i)
	})
	r.sub("MacPool").list("Ranges", func(e reader) {
		n.MACPool = append(n.MACPool, MACRange{e.mac("StartMacAddress"), e.mac("EndMacAddress")})
	})
	n.Document = d
	return n, nil
}

type wireSchema struct {
	Major, Minor uint32
}

var schema2 = wireSchema{Major: 2}

type wireIPAM struct {
	Type    string       `json:",omitempty"`
	Subnets []wireSubnet `json:",omitempty"`
}

type wireMACRange struct {
	StartMacAddress, EndMacAddress string
}

type wireMACPool struct {
	Ranges []wireMACRange
}

// Encode returns the document that a create sends: schema 2.0, members that
// are zero left out. It does not check the values, as Create does; the error is
// for policies that have no text (nil, broken JSON).
func (n *Network) Encode() (json.RawMessage, error) {
	policies, err := wirePolicies(n.Policies)
	if err != nil {
		return nil, err
	}
	w := struct {
		ID            string       `json:",omitempty"`
		Name          string       `json:",omitempty"`
		Type          NetworkType  `json:",omitempty"`
		Flags         NetworkFlags `json:",omitempty"`
		Policies      []wirePolicy `json:",omitempty"`
		MacPool       *wireMACPool `json:",omitempty"`
		Dns           *wireDNS     `json:",omitempty"`
		Ipams         []wireIPAM   `json:",omitempty"`
		SchemaVersion wireSchema
	}{
		ID: idText(n.ID), Name: n.Name, Type: n.Type, Flags: n.Flags,
		Policies: policies, Dns: n.DNS.wire(), SchemaVersion: schema2,
	}
	for i, ipam := range n.IPAMs {
		wi := wireIPAM{Type: ipam.Type}
		for j, s := range ipam.Subnets {
			ws, err := s.wire()
			if err != nil {
				return nil, fmt.Errorf("Ipams[%d].Subnets[%d].%w", i, j, err)
			}
			wi.Subnets = append(wi.Subnets, ws)
		}
		w.Ipams = append(w.Ipams, wi)
	}
	if len(n.MACPool) > 0 {
		w.MacPool = &wireMACPool{}
		for _, m := range n.MACPool {
			w.MacPool.Ranges = append(w.MacPool.Ranges, wireMACRange{m.Start.String(), m.End.String()})
		}
	}
	return encode(w)
}

func (n *Network) check() []*FieldError {
	var bad []*FieldError
	if n.Name == "" {
		bad = append(bad, &FieldError{Path: "Name", Reason: "missing", Rule: "network-name"})
	}
	if !slices.Contains(networkTypes, string(n.Type)) {
		bad = append(bad, &FieldError{Path: "Type", Value: string(n.Type), Reason: "not a network type of the schema", Rule: "network-type"})
	}
	bad = append(bad, checkPolicies(n.Policies, networkPolicies)...)
	bad = append(bad, under("Dns", n.DNS.check())...)
	for i, ipam := range n.IPAMs {
		if ipam.Type != "" && !slices.Contains(ipamTypes, ipam.Type) {
			bad = append(bad, &FieldError{Path: fmt.Sprintf("Ipams[%d].Type", i), Value: ipam.Type, Reason: "not Static or DHCP", Rule: "ipam-type"})
		}
		for j, s := range ipam.Subnets {
			bad = append(bad, under(fmt.Sprintf("Ipams[%d].Subnets[%d]", i, j), s.check(n.Type))...)
		}
	}
	for i, m := range n.MACPool {
		if m.Start.IsZero() || slices.Compare(m.Start[:], m.End[:]) > 0 {
			bad = append(bad, &FieldError{Path: fmt.Sprintf("MacPool.Ranges[%d]", i), Value: m.Start.String() + ".." + m.End.String(), Reason: "not a range"})
		}
	}
	return bad
}

// needs returns what not every HNS has of what the network asks for.
func (n *Network) needs() []Feature {
	fs := policyFeatures(n.Policies, networkPolicies)
	if n.Flags&NetworkDisableHostPort != 0 {
		fs = append(fs, FeatureDisableHostPort)
	}
	if n.Flags&NetworkEnableIOV != 0 {
		fs = append(fs, FeatureAccelnet)
	}
	return fs
}

// NetworkService does things to networks. It is the field Networks of [Client].
type NetworkService struct{ c *Client }

// Create makes a network and returns it as HNS filled it. Some values, such as
// the provider address, may appear only later; see [NetworkService.ManagementIP].
func (s *NetworkService) Create(ctx context.Context, n *Network) (*Network, error) {
	return create(ctx, s.c, networkKind, n, ID{})
}

// ByID returns the network, or ErrNotFound.
func (s *NetworkService) ByID(ctx context.Context, id ID) (*Network, error) {
	return byID(ctx, s.c, networkKind, id)
}

// ByName returns the network of that name, compared exactly, or ErrNotFound.
func (s *NetworkService) ByName(ctx context.Context, name string) (*Network, error) {
	return byName(ctx, s.c, networkKind, name)
}

// List returns all networks of the node, also those of other programs.
func (s *NetworkService) List(ctx context.Context) ([]*Network, error) {
	return list(ctx, s.c, networkKind, "")
}

// Delete deletes the network and, as HNS does, the endpoints on it.
func (s *NetworkService) Delete(ctx context.Context, id ID) error {
	return remove(ctx, s.c, networkKind, id)
}

// AddPolicies adds policies to a live network. Those that this HNS is
// too old for are refused with a [FeatureError]; its version is asked for once,
// and only if not every HNS has them.
func (s *NetworkService) AddPolicies(ctx context.Context, id ID, ps ...NetworkPolicy) error {
	return modifyPolicies(ctx, s.c, networkKind, id, requestAdd, ps, networkPolicies)
}

// RemovePolicies removes policies from a live network. HNS compares settings:
// they must be those the network has.
func (s *NetworkService) RemovePolicies(ctx context.Context, id ID, ps ...NetworkPolicy) error {
	return modifyPolicies(ctx, s.c, networkKind, id, requestRemove, ps, networkPolicies)
}

// ManagementIP returns the node's address that the network took over from its
// adapter. HNS fills it a moment after the create; until then the result is
// none, without an error. One of 169.254.0.0/16 says that the adapter itself
// has no address yet. The schema 2 API has no such member, so this asks the v1
// API.
func (s *NetworkService) ManagementIP(ctx context.Context, id ID) (netip.Addr, error) {
	var out netip.Addr
	err := s.c.readV1(ctx, "read management IP of network", KindNetwork, id, "/networks/"+id.Upper(), func(r reader) {
		if p, err := netip.ParsePrefix(r.str("ManagementIP")); err == nil { // some clients give it with its length
			out = p.Addr()
			return
		}
		out = r.addr("ManagementIP")
	})
	return out, err
}
