package hns

import (
	"fmt"
	"net/netip"
)

var networkPolicies = decoders[NetworkPolicy]{
	"automaticdns":        func(r reader) NetworkPolicy { return AutomaticDNS{Enable: r.bool("Enable")} },
	"drmacaddress":        func(r reader) NetworkPolicy { return DRMACAddress{Address: r.mac("Address")} },
	"hostroute":           func(reader) NetworkPolicy { return HostRoute{} },
	"interfaceconstraint": func(r reader) NetworkPolicy { return readInterfaceConstraint(r) },
	"l4proxy":             func(r reader) NetworkPolicy { return readL4Proxy(r) },
	"layerconstraint":     func(r reader) NetworkPolicy { return LayerConstraint{LayerID: r.id("LayerId")} },
	"netadaptername":      func(r reader) NetworkPolicy { return NetAdapterName{Name: r.str("NetworkAdapterName")} },
	"networkacl":          func(r reader) NetworkPolicy { return NetworkACL(readACL(r)) },
	"provideraddress":     func(r reader) NetworkPolicy { return readProviderAddress(r) },
	"remotesubnetroute":   func(r reader) NetworkPolicy { return readRemoteSubnetRoute(r) },
	"setpolicy":           func(r reader) NetworkPolicy { return readSetPolicy(r) },
	"sourcemacaddress":    func(r reader) NetworkPolicy { return SourceMACAddress{Address: r.mac("SourceMacAddress")} },
	"vswitchextension": func(r reader) NetworkPolicy {
		return VSwitchExtension{ID: r.id("ExtensionID"), Enable: r.bool("Enable")}
	},
	"vxlanport": func(r reader) NetworkPolicy { return VXLANPort{Port: uint16(r.uint("Port", 16))} },

	"neighbordiscovery": nil, // of Microsoft's scripts alone; its settings are not documented
}

var subnetPolicies = decoders[SubnetPolicy]{
	"vsid": func(r reader) SubnetPolicy { return VSID{IsolationID: uint32(r.uint("IsolationId", 32))} },
	"vlan": func(r reader) SubnetPolicy { return VLAN{IsolationID: uint32(r.uint("IsolationId", 32))} },
}

var (
	_ NetworkPolicy = NetAdapterName{}
	_ NetworkPolicy = ProviderAddress{}
	_ NetworkPolicy = DRMACAddress{}
	_ NetworkPolicy = HostRoute{}
	_ NetworkPolicy = RemoteSubnetRoute{}
	_ SubnetPolicy  = VSID{}
	_ SubnetPolicy  = VLAN{}
)

// NetAdapterName puts a network on the host adapter of that name (schema
// NetAdapterName). Legal at create only.
type NetAdapterName struct {
	// Name is the adapter's alias, such as "Ethernet".
	Name string
}

// PolicyType returns "NetAdapterName".
func (NetAdapterName) PolicyType() string { return "NetAdapterName" }
func (NetAdapterName) networkPolicy()     {}
func (p NetAdapterName) settings() any {
	return struct {
		NetworkAdapterName string `json:",omitempty"`
	}{p.Name}
}

func (p NetAdapterName) check() []*FieldError {
	if p.Name == "" {
		return []*FieldError{{Path: "NetworkAdapterName", Reason: "missing"}}
	}
	return nil
}

// ProviderAddress is the address of a node on the physical network (schema
// ProviderAddress). On an Overlay network HNS fills it with the management
// address; at create it may choose the adapter. On an endpoint it is the
// address of the node that carries the endpoint.
type ProviderAddress struct {
	Address netip.Addr
}

// PolicyType returns "ProviderAddress".
func (ProviderAddress) PolicyType() string { return "ProviderAddress" }
func (ProviderAddress) networkPolicy()     {}
func (ProviderAddress) endpointPolicy()    {}
func (p ProviderAddress) settings() any {
	return struct {
		ProviderAddress string `json:",omitempty"`
	}{addrText(p.Address)}
}

func (p ProviderAddress) check() []*FieldError {
	return checkAddr("ProviderAddress", p.Address)
}

func readProviderAddress(r reader) ProviderAddress {
	return ProviderAddress{Address: r.addr("ProviderAddress")}
}

// DRMACAddress is the MAC address of an Overlay network's distributed router
// on this node (schema DrMacAddress), filled by HNS. Other nodes put it into
// their [RemoteSubnetRoute].
type DRMACAddress struct {
	Address MAC
}

// PolicyType returns "DrMacAddress".
func (DRMACAddress) PolicyType() string { return "DrMacAddress" }
func (DRMACAddress) networkPolicy()     {}
func (p DRMACAddress) settings() any {
	return struct {
		Address string `json:",omitempty"`
	}{p.Address.String()}
}

func (p DRMACAddress) check() []*FieldError {
	if p.Address.IsZero() {
		return []*FieldError{{Path: "Address", Reason: "missing"}}
	}
	return nil
}

// HostRoute lets the node and its own pods on an Overlay network reach each
// other (schema HostRoute). It has no settings. HNS 9.2 and later.
type HostRoute struct{}

// PolicyType returns "HostRoute".
func (HostRoute) PolicyType() string   { return "HostRoute" }
func (HostRoute) networkPolicy()       {}
func (HostRoute) settings() any        { return struct{}{} }
func (HostRoute) check() []*FieldError { return nil }
func (HostRoute) features() []Feature  { return []Feature{FeatureHostRoute} }

// RemoteSubnetRoute leads an Overlay network's traffic for another node's pod
// subnet to that node (schema RemoteSubnetRoute). HNS 9.2 and later.
type RemoteSubnetRoute struct {
	// DestinationPrefix is the other node's pod subnet.
	DestinationPrefix netip.Prefix
	// IsolationID is the VNI, that of the network's [VSID].
	IsolationID uint32
	// ProviderAddress is the other node's address on the physical network.
	ProviderAddress netip.Addr
	// DistributedRouterMAC is the other node's [DRMACAddress]; for a Linux
	// node the MAC of its VXLAN interface.
	DistributedRouterMAC MAC
}

// PolicyType returns "RemoteSubnetRoute".
func (RemoteSubnetRoute) PolicyType() string { return "RemoteSubnetRoute" }
func (RemoteSubnetRoute) networkPolicy()     {}
func (RemoteSubnetRoute) features() []Feature {
	return []Feature{FeatureRemoteSubnet}
}
func (p RemoteSubnetRoute) settings() any {
	return struct {
		DestinationPrefix           string `json:",omitempty"`
		IsolationId                 uint32 `json:",omitempty"`
		ProviderAddress             string `json:",omitempty"`
		DistributedRouterMacAddress string `json:",omitempty"`
	}{prefixText(p.DestinationPrefix), p.IsolationID, addrText(p.ProviderAddress), p.DistributedRouterMAC.String()}
}

func (p RemoteSubnetRoute) check() []*FieldError {
	bad := checkPrefix("DestinationPrefix", p.DestinationPrefix)
	bad = append(bad, checkVNI(p.IsolationID)...)
	bad = append(bad, checkAddr("ProviderAddress", p.ProviderAddress)...)
	if p.DistributedRouterMAC.IsZero() {
		bad = append(bad, &FieldError{Path: "DistributedRouterMacAddress", Reason: "missing"})
	}
	return bad
}

func readRemoteSubnetRoute(r reader) RemoteSubnetRoute {
	return RemoteSubnetRoute{
		DestinationPrefix:    r.prefix("DestinationPrefix"),
		IsolationID:          uint32(r.uint("IsolationId", 32)),
		ProviderAddress:      r.addr("ProviderAddress"),
		DistributedRouterMAC: r.mac("DistributedRouterMacAddress"),
	}
}

// The VNIs that HNS takes for Overlay networks.
const (
	MinVNI = 4096
	MaxVNI = 16777214
)

// VSID is the VNI of an Overlay subnet (schema VSID): [MinVNI] to [MaxVNI].
type VSID struct {
	IsolationID uint32
}

// PolicyType returns "VSID".
func (VSID) PolicyType() string     { return "VSID" }
func (VSID) subnetPolicy()          {}
func (p VSID) settings() any        { return wireIsolation{p.IsolationID} }
func (p VSID) check() []*FieldError { return checkVNI(p.IsolationID) }

// VLAN tags the traffic of a subnet, or since schema 2.4 of an endpoint, with
// a VLAN id (schema VLAN): 1 to 4094.
type VLAN struct {
	IsolationID uint32
}

// PolicyType returns "VLAN".
func (VLAN) PolicyType() string { return "VLAN" }
func (VLAN) subnetPolicy()      {}
func (VLAN) endpointPolicy()    {}
func (p VLAN) settings() any    { return wireIsolation{p.IsolationID} }
func (p VLAN) check() []*FieldError {
	if p.IsolationID < 1 || p.IsolationID > 4094 {
		return []*FieldError{{Path: "IsolationId", Value: fmt.Sprint(p.IsolationID), Reason: "a VLAN id is 1 to 4094", Rule: "vlan-range"}}
	}
	return nil
}

type wireIsolation struct {
	IsolationId uint32 `json:",omitempty"`
}

func checkVNI(v uint32) []*FieldError {
	if v < MinVNI || v > MaxVNI {
		return []*FieldError{{Path: "IsolationId", Value: fmt.Sprint(v),
			Reason: fmt.Sprintf("HNS takes a VNI of %d to %d", MinVNI, MaxVNI), Rule: "vni-range"}}
	}
	return nil
}

func checkAddr(name string, a netip.Addr) []*FieldError {
	if !a.IsValid() {
		return []*FieldError{{Path: name, Reason: "missing"}}
	}
	if !isPlain(a) || a.IsUnspecified() {
		return []*FieldError{{Path: name, Value: a.String(), Reason: "not a plain unicast address"}}
	}
	return nil
}

func checkPrefix(name string, p netip.Prefix) []*FieldError {
	if !p.IsValid() {
		return []*FieldError{{Path: name, Reason: "missing"}}
	}
	if p != p.Masked() {
		return []*FieldError{{Path: name, Value: p.String(), Reason: "has host bits; the prefix is " + p.Masked().String(), Rule: "host-bits"}}
	}
	return nil
}

func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func prefixText(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}
