package hns

var (
	_ NetworkPolicy  = SourceMACAddress{}
	_ NetworkPolicy  = InterfaceConstraint{}
	_ EndpointPolicy = InterfaceConstraint{}
	_ NetworkPolicy  = VSwitchExtension{}
	_ NetworkPolicy  = AutomaticDNS{}
	_ NetworkPolicy  = VXLANPort{}
	_ NetworkPolicy  = LayerConstraint{}
)

// SourceMACAddress is the MAC address that an L2Bridge network puts into what
// its endpoints send (schema SourceMacAddress). Legal at create only.
type SourceMACAddress struct {
	Address MAC
}

// PolicyType returns "SourceMacAddress".
func (SourceMACAddress) PolicyType() string { return "SourceMacAddress" }
func (SourceMACAddress) networkPolicy()     {}
func (p SourceMACAddress) settings() any {
	return struct {
		SourceMacAddress string `json:",omitempty"`
	}{p.Address.String()}
}

func (p SourceMACAddress) check() []*FieldError {
	if p.Address.IsZero() {
		return []*FieldError{{Path: "SourceMacAddress", Reason: "missing"}}
	}
	return nil
}

// InterfaceConstraint chooses the node's adapter for a network, or for an
// endpoint (schema InterfaceConstraint). The adapter must be all that is set;
// what is zero may be anything. On a network it is legal at create only.
type InterfaceConstraint struct {
	GUID        ID     // of the adapter
	LUID        uint64 // locally unique id, of the network interface API
	Index       uint32 // interface index; it changes with a virtual switch
	MediaType   uint32 // NDIS_MEDIUM
	Alias       string // such as "Ethernet"
	Description string // such as "Intel(R) Ethernet Controller"
}

// PolicyType returns "InterfaceConstraint".
func (InterfaceConstraint) PolicyType() string { return "InterfaceConstraint" }
func (InterfaceConstraint) networkPolicy()     {}
func (InterfaceConstraint) endpointPolicy()    {}
func (p InterfaceConstraint) settings() any {
	return struct {
		InterfaceGuid        string `json:",omitempty"`
		InterfaceLuid        uint64 `json:",omitempty"`
		InterfaceIndex       uint32 `json:",omitempty"`
		InterfaceMediaType   uint32 `json:",omitempty"`
		InterfaceAlias       string `json:",omitempty"`
		InterfaceDescription string `json:",omitempty"`
	}{idText(p.GUID), p.LUID, p.Index, p.MediaType, p.Alias, p.Description}
}

func (p InterfaceConstraint) check() []*FieldError {
	if p == (InterfaceConstraint{}) {
		return []*FieldError{{Reason: "names no adapter"}}
	}
	return nil
}

func readInterfaceConstraint(r reader) InterfaceConstraint {
	return InterfaceConstraint{
		GUID: r.id("InterfaceGuid"), LUID: r.uint("InterfaceLuid", 64), Index: uint32(r.uint("InterfaceIndex", 32)),
		MediaType: uint32(r.uint("InterfaceMediaType", 32)), Alias: r.str("InterfaceAlias"), Description: r.str("InterfaceDescription"),
	}
}

// VSwitchExtension switches an extension of the network's virtual switch on or
// off (schema VSwitchExtension), at create. On a live network use
// [NetworkService.UpdateExtension]. Other networks on the adapter share the
// switch.
type VSwitchExtension struct {
	// ID of the extension, as Get-VMSwitchExtension shows it.
	ID ID
	// Enable switches it on; false switches it off.
	Enable bool
}

// PolicyType returns "VSwitchExtension".
func (VSwitchExtension) PolicyType() string { return "VSwitchExtension" }
func (VSwitchExtension) networkPolicy()     {}
func (p VSwitchExtension) settings() any {
	return struct {
		ExtensionID string `json:",omitempty"`
		Enable      bool   `json:",omitempty"`
	}{idText(p.ID), p.Enable}
}

func (p VSwitchExtension) check() []*FieldError {
	if p.ID.IsZero() {
		return []*FieldError{{Path: "ExtensionID", Reason: "missing"}}
	}
	return nil
}

// AutomaticDNS gives the network the name servers of the node's adapter (schema
// AutomaticDNS). Legal at create only.
type AutomaticDNS struct {
	// Enable switches it on; false is as without the policy.
	Enable bool
}

// PolicyType returns "AutomaticDNS".
func (AutomaticDNS) PolicyType() string { return "AutomaticDNS" }
func (AutomaticDNS) networkPolicy()     {}
func (p AutomaticDNS) settings() any {
	return struct {
		Enable bool `json:",omitempty"`
	}{p.Enable}
}
func (AutomaticDNS) check() []*FieldError { return nil }

// VXLANPort is the UDP port of an Overlay network (schema VxlanPort), in place
// of 4789. All nodes of the network need the same; Linux has 8472 by default.
// Legal at create only. HNS 10.3 and later.
type VXLANPort struct {
	Port uint16
}

// PolicyType returns "VxlanPort".
func (VXLANPort) PolicyType() string  { return "VxlanPort" }
func (VXLANPort) networkPolicy()      {}
func (VXLANPort) features() []Feature { return []Feature{FeatureVXLANPort} }
func (p VXLANPort) settings() any     { return p }
func (p VXLANPort) check() []*FieldError {
	if p.Port == 0 {
		return []*FieldError{{Path: "Port", Reason: "missing"}}
	}
	return nil
}

// LayerConstraint puts the network on a switch that is there already (schema
// LayerConstraint). Legal at create only.
type LayerConstraint struct {
	// LayerID is the id of the layer; v1 documents show it as LayeredOn.
	LayerID ID
}

// PolicyType returns "LayerConstraint".
func (LayerConstraint) PolicyType() string { return "LayerConstraint" }
func (LayerConstraint) networkPolicy()     {}
func (p LayerConstraint) settings() any {
	return struct {
		LayerId string `json:",omitempty"`
	}{idText(p.LayerID)}
}

func (p LayerConstraint) check() []*FieldError {
	if p.LayerID.IsZero() {
		return []*FieldError{{Path: "LayerId", Reason: "missing"}}
	}
	return nil
}
