package emulator

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// Adapter is a network adapter of the host.
type Adapter struct {
	// Name is the alias, such as "Ethernet" or "vEthernet (nat)".
	Name string
	// Index is the interface index; zero: its place in the list, from 1.
	Index uint32 `json:",omitzero"`
	// MAC is the address of the adapter.
	MAC hns.MAC `json:",omitzero"`
	// Addresses are the addresses with their prefix lengths.
	Addresses []netip.Prefix `json:",omitzero"`
	// Virtual marks a vNIC, WiFi a wireless adapter.
	Virtual bool `json:",omitzero"`
	WiFi    bool `json:",omitzero"`
}

func defaultAdapters() []Adapter {
	return []Adapter{{
		Name:      "Ethernet",
		MAC:       hns.MAC{0x00, 0x15, 0x5d, 0x00, 0x02, 0x0a},
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")},
	}}
}

// managementIP returns the address of the adapter that HNS shows; zero for
// none.
func (a Adapter) managementIP() netip.Addr {
	for _, p := range a.Addresses {
		if p.Addr().Is4() {
			return p.Addr()
		}
	}
	return netip.Addr{}
}

// adapterChoice is what the policies of a network say of its adapter.
type adapterChoice struct {
	name, address, alias string
	index                uint32
}

func (n *network) adapterChoice() (c adapterChoice, given bool) {
	for _, p := range n.policies {
		o, _ := parseObject(p.settings)
		r := reader{object: o}
		switch p.kind {
		case "NetAdapterName":
			c.name, given = r.str("NetworkAdapterName"), true
		case "ProviderAddress":
			c.address, given = r.str("ProviderAddress"), true
		case "InterfaceConstraint":
			c.alias, c.index = r.str("InterfaceAlias"), r.uint32("InterfaceIndex")
			given = given || c.alias != "" || c.index != 0
		}
	}
	return c, given
}

func (c adapterChoice) matches(a Adapter) bool {
	switch {
	case c.name != "" && !strings.EqualFold(c.name, a.Name),
		c.alias != "" && !strings.EqualFold(c.alias, a.Name),
		c.index != 0 && c.index != a.Index:
		return false
	case c.address == "":
		return true
	}
	want, _ := parseAddress(c.address)
	return slices.ContainsFunc(a.Addresses, func(p netip.Prefix) bool { return p.Addr() == want })
}

// bindAdapter chooses the host adapter of a network with an external switch:
// the one its policies name, or the first that can take it.
func (tx *tx) bindAdapter(n *network) error {
	if !n.external() {
		return nil
	}
	choice, given := n.adapterChoice()
	if given {
		return tx.bindGiven(n, choice)
	}
	for _, a := range tx.opts.Adapters {
		if tx.suits(n, a) {
			tx.bind(n, a)
			return nil
		}
	}
	return failure(hns.CodeAdapterNotFound)
}

func (tx *tx) bindGiven(n *network, choice adapterChoice) error {
	for _, a := range tx.opts.Adapters {
		if !choice.matches(a) {
			continue
		}
		if !tx.suits(n, a) {
			return failure(hns.CodeInvalidParameter)
		}
		tx.bind(n, a)
		return nil
	}
	// A vNIC that HNS made is no adapter to bind to.
	for _, a := range tx.adapters() {
		if a.Virtual && choice.matches(a) && choice.name+choice.alias != "" {
			return failure(hns.CodeInvalidParameter)
		}
	}
	return failure(hns.CodeAdapterNotFound)
}

// suits reports whether the adapter can carry the network: a physical one,
// wired for L2Bridge, and not shared with a Transparent network.
func (tx *tx) suits(n *network, a Adapter) bool {
	if a.Virtual || a.WiFi && (n.kind == typeL2Bridge || n.kind == typeL2Tunnel) {
		return false
	}
	for id := range tx.byAdapter[strings.ToLower(a.Name)] {
		if n.kind == typeTransparent || tx.networks[id].kind == typeTransparent {
			return false
		}
	}
	return true
}

// bind records the adapter, and the management address that HNS reads from it.
func (tx *tx) bind(n *network, a Adapter) {
	n.private.Adapter = a.Name
	n.private.PendingReads = tx.opts.AddressAfterReads
	n.private.ManagementIP = a.managementIP()
	named := slices.ContainsFunc(n.policies, func(p policy) bool { return p.kind == "NetAdapterName" })
	if n.kind == typeOverlay && !named {
		settings := object{{"NetworkAdapterName", quote(a.Name)}}.bytes()
		n.policies = concat(n.policies, []policy{newPolicy("NetAdapterName", settings)})
	}
}

// adapters returns the adapters of the host with the vNICs that HNS made. An
// adapter below a switch has given its addresses to the switch's vNIC, named
// after the adapter; internal networks and host-attached endpoints have one of
// their own name.
//
// Every vNIC has an interface index of its own that stays with it, counted
// from behind those of the adapters.
func (tx *tx) adapters() []Adapter {
	var out []Adapter
	base := uint32(0)
	for _, a := range tx.opts.Adapters {
		base = max(base, a.Index)
	}
	for _, a := range tx.opts.Adapters {
		a.Addresses = slices.Clone(a.Addresses)
		out = append(out, a)
		if nic, ok := tx.hostNIC(a); ok {
			out[len(out)-1].Addresses = nil
			nic.Index = base + a.Index
			out = append(out, nic)
		}
	}
	for _, n := range tx.allNetworks() {
		if nic, ok := n.internalNIC(); ok {
			nic.Index = 2*base + uint32(n.seq)
			out = append(out, nic)
		}
	}
	var attached []*endpoint
	for id := range tx.hostAttached[struct{}{}] {
		attached = append(attached, tx.endpoints[id])
	}
	sortEndpoints(attached)
	for _, e := range attached {
		nic := tx.endpointNIC(e)
		nic.Index = 2*base + uint32(e.seq)
		out = append(out, nic)
	}
	return out
}

func vNIC(name string) string { return "vEthernet (" + name + ")" }

func (tx *tx) hostNIC(a Adapter) (Adapter, bool) {
	for id := range tx.byAdapter[strings.ToLower(a.Name)] {
		if tx.networks[id].flags&flagDisableHostPort == 0 || !hasDisableHost.has(tx.version) {
			return Adapter{Name: vNIC(a.Name), MAC: a.MAC, Addresses: slices.Clone(a.Addresses), Virtual: true}, true
		}
	}
	return Adapter{}, false
}

func (n *network) internalNIC() (Adapter, bool) {
	if !n.internal() {
		return Adapter{}, false
	}
	nic := Adapter{Name: vNIC(n.name), Virtual: true}
	if len(n.macs) > 0 {
		nic.MAC = macFrom(n.macs[len(n.macs)-1].end)
	}
	for _, s := range n.subnets {
		if s.gateway.IsValid() && n.kind != typeInternal {
			nic.Addresses = append(nic.Addresses, netip.PrefixFrom(s.gateway, s.prefix.Bits()))
		}
	}
	return nic, true
}

func (tx *tx) endpointNIC(e *endpoint) Adapter {
	nic := Adapter{Name: vNIC(e.name), MAC: e.mac, Virtual: true}
	for _, a := range e.addresses {
		bits := a.BitLen()
		if n := tx.networks[e.network]; n != nil {
			if i, ok := n.subnetOf(a); ok {
				bits = n.subnets[i].prefix.Bits()
			}
		}
		nic.Addresses = append(nic.Addresses, netip.PrefixFrom(a, bits))
	}
	return nic
}

// extension is a switch extension that every virtual switch has.
type extension struct {
	id, name string
	on       func(kind int) bool
}

// extensions returns those of the version, with their fixed ids.
func (tx *tx) extensions() []extension {
	capture, vfp := "430BDADD-BAB0-41AB-A369-94B67FA5BE0A", "F74F241B-440F-4433-BB28-00F89EAD20D8"
	if tx.version.Less(hns.Version{Major: 10}) {
		capture, vfp = "EA24CD6C-D17A-4348-9190-09F0D5BE83DD", "E9B59CFA-2BE1-4B21-828F-B6FBDBDDC017"
	}
	return []extension{
		{"E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A", "Microsoft Windows Filtering Platform", func(int) bool { return false }},
		{vfp, "Microsoft Azure VFP Switch Extension", func(k int) bool {
			return k == typeL2Bridge || k == typeL2Tunnel || k == typeOverlay
		}},
		{capture, "Microsoft NDIS Capture", func(int) bool { return true }},
	}
}

// setExtension switches an extension of the network's switch on or off. The
// switch of several networks cannot be changed.
func (tx *tx) setExtension(n *network, id string, on bool) error {
	known := slices.ContainsFunc(tx.extensions(), func(e extension) bool { return strings.EqualFold(e.id, id) })
	if !known {
		return failure(hns.CodeSwitchExtensionNotFound)
	}
	for other := range tx.byAdapter[strings.ToLower(n.private.Adapter)] {
		if other != n.id {
			return failure(hns.CodeSharedSwitchModification)
		}
	}
	m := map[string]bool{strings.ToUpper(id): on}
	for k, v := range n.private.Extensions {
		if _, ok := m[k]; !ok {
			m[k] = v
		}
	}
	n.private.Extensions = m
	return nil
}

// extensionPolicies applies the VSwitchExtension policies of a new network.
func (tx *tx) extensionPolicies(n *network) error {
	for _, p := range n.policies {
		if p.kind != "VSwitchExtension" {
			continue
		}
		o, _ := parseObject(p.settings)
		r := reader{object: o}
		if err := tx.setExtension(n, r.str("ExtensionID"), r.boolean("Enable")); err != nil {
			return err
		}
	}
	return nil
}

func checkExtension(c *check) error {
	c.str("ExtensionID")
	c.boolean("Enable")
	return nil
}

func (tx *tx) renderExtensions(n *network) json.RawMessage {
	var out []json.RawMessage
	for _, e := range tx.extensions() {
		on, set := n.private.Extensions[e.id]
		if !set {
			on = e.on(n.kind)
		}
		out = append(out, object{{"Id", quote(e.id)}, {"IsEnabled", boolean(on)}, {"Name", quote(e.name)}}.bytes())
	}
	return list(out)
}
