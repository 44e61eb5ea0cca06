package emulator

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// networkTypes are the names of NetworkMode in the order of their numbers.
var networkTypes = []string{"NAT", "ICS", "Transparent", "L2Bridge", "L2Tunnel", "Overlay", "Private", "Internal",
	"Mirrored", "Infiniband", "ConstrainedICS"}

const (
	typeNAT = iota
	typeICS
	typeTransparent
	typeL2Bridge
	typeL2Tunnel
	typeOverlay
	typePrivate
	typeInternal

	unknownType = -1 // in dumps only
)

const flagDisableHostPort = 1024

// networkFlags are the names of NetworkFlags.
var networkFlags = map[string]uint32{"none": 0, "enablednsproxy": 1, "enabledhcpserver": 2, "enablemirroring": 4,
	"enablenonpersistent": flagNonPersistent, "enablepersistent": flagPersistent, "isolatevswitch": 32, "enableflowsteering": 64,
	"disablesharing": 128, "enablefirewall": 256, "disablehostport": flagDisableHostPort, "enableiov": 8192}

// external reports whether the network's switch is bound to a host adapter.
func (n *network) external() bool {
	switch n.kind {
	case typeTransparent, typeL2Bridge, typeL2Tunnel, typeOverlay:
		return true
	}
	return false
}

// internal reports whether the host has a vNIC of its own on the network, with
// the last address of the MAC pool.
func (n *network) internal() bool {
	return n.kind == typeNAT || n.kind == typeICS || n.kind == typeInternal
}

func (tx *tx) listNetworks(filter string) ([]json.RawMessage, error) {
	f, err := tx.readFilter(filter)
	if err != nil {
		return nil, err
	}
	candidates := tx.allNetworks
	if id, ok := f.id("ID"); ok {
		candidates = func() []*network { return one(tx.networks[id]) }
	} else if name, ok := f.text("Name"); ok {
		candidates = func() []*network { return tx.networksNamed(name, true) }
	}
	var out []json.RawMessage
	for _, n := range candidates() {
		if f.matches(tx, n) {
			out = append(out, tx.readNetwork(n).render())
		}
	}
	return out, nil
}

func one[T any](p *T) []*T {
	if p == nil {
		return nil
	}
	return []*T{p}
}

func (tx *tx) findNetwork(id hns.ID) (*network, error) {
	if n := tx.networks[id]; n != nil {
		return n, nil
	}
	return nil, failure(hns.CodeNetworkNotFound)
}

func (tx *tx) getNetwork(id hns.ID) (json.RawMessage, error) {
	n, err := tx.findNetwork(id)
	if err != nil {
		return nil, err
	}
	return tx.readNetwork(n).render(), nil
}

// readNetwork returns the network as a reader sees it now, and counts the read
// where addresses show late.
func (tx *tx) readNetwork(n *network) *network {
	if n.private.PendingReads <= 0 {
		return n
	}
	c := *n
	c.private.PendingReads--
	if c.private.PendingReads == 0 {
		c.policies = c.withProviderAddress()
	}
	tx.putNetwork(&c)
	return &c
}

// withProviderAddress returns the policies with the provider address that HNS
// adds to an overlay network.
func (n *network) withProviderAddress() []policy {
	has := slices.ContainsFunc(n.policies, func(p policy) bool { return p.kind == "ProviderAddress" })
	if n.kind != typeOverlay || has || !n.private.ManagementIP.IsValid() {
		return n.policies
	}
	settings := object{{"ProviderAddress", quote(n.private.ManagementIP.String())}}.bytes()
	return concat(n.policies, []policy{newPolicy("ProviderAddress", settings)})
}

func (tx *tx) createNetwork(req hns.Request) (json.RawMessage, error) {
	o, typeText, err := networkDocument(req.Document)
	if err != nil {
		return nil, err
	}
	r := &reader{object: o}
	n := &network{name: r.str("Name"), flags: r.flags("Flags", networkFlags)}
	r.checkDNS()
	kind, ok := r.enum("Type", networkTypes)
	if !ok {
		return nil, failure(hns.CodeInvalidNetworkType)
	}
	n.kind = kind
	n.private.TypeText = typeText
	if n.id, err = tx.newObjectID(req.ID, r); err != nil {
		return nil, err
	}
	if tx.networks[n.id] != nil {
		return nil, failure(hns.CodeAlreadyExists)
	}
	if err := tx.canHave(n); err != nil {
		return nil, err
	}
	ipams, err := tx.readIpams(n, r)
	if err != nil {
		return nil, err
	}
	if n.macs, err = readPool(ranges(r)); err != nil {
		return nil, err
	}
	ps, err := tx.readPolicies(networkPolicies, n, inCreate, r.array("Policies"))
	if err != nil {
		return nil, err
	}
	if n.policies, err = addNetworkPolicies(nil, ps); err != nil {
		return nil, err
	}
	if r.bad {
		return nil, failure(hns.CodeInvalidJSON)
	}
	if err := tx.finishNetwork(n, r, ipams); err != nil {
		return nil, err
	}
	return n.render(), nil
}

// canHave judges whether the host can have a network of the type and the name.
func (tx *tx) canHave(n *network) error {
	switch {
	case n.kind == typeICS && tx.opts.SharedAccessOff:
		return failure(hns.CodeICSDisabled)
	case n.usesVFP() && tx.opts.NoVFP:
		return failure(hns.CodeVFPNotAllowed)
	case n.name == "" || !tx.nameTaken(n.name):
		return nil
	case n.kind == typeICS:
		return failure(hns.CodeDuplicateName)
	}
	return failure(hns.CodeNetworkExists)
}

// usesVFP reports whether VFP forwards the packets of the network.
func (n *network) usesVFP() bool {
	return n.kind == typeL2Bridge || n.kind == typeL2Tunnel || n.kind == typeOverlay
}

// nameTaken reports whether a network of the name exists, or haunts HNS.
func (tx *tx) nameTaken(name string) bool {
	if len(tx.networksNamed(name, tx.opts.NetworkNamesIgnoreCase)) > 0 {
		return true
	}
	for ghost := range tx.ghosts {
		if ghost == name || tx.opts.NetworkNamesIgnoreCase && strings.EqualFold(ghost, name) {
			return true
		}
	}
	return false
}

func ranges(r *reader) []reader {
	pool := r.sub("MacPool")
	out := pool.objects("Ranges")
	r.bad = r.bad || pool.bad
	return out
}

// finishNetwork fills in what HNS adds and stores the network.
func (tx *tx) finishNetwork(n *network, r *reader, ipams json.RawMessage) error {
	if len(n.macs) == 0 {
		n.macs = []macRange{tx.newPool()}
	}
	if err := tx.bindAdapter(n); err != nil {
		return err
	}
	if err := tx.extensionPolicies(n); err != nil {
		return err
	}
	switch {
	case n.usesVFP():
		n.private.DRMAC = tx.drMAC(n)
	case n.kind == typeNAT:
		n.private.NatName = "NAT" + tx.newID().Upper()
	}
	if n.private.PendingReads == 0 {
		n.policies = n.withProviderAddress()
	}
	n.seq = tx.nextSeq()
	n.private.Seq = n.seq

	doc := tx.base(n.id, n.name, r)
	doc.addUint("State", 1)
	if n.kind != typeNAT {
		doc.addString("Type", networkTypes[n.kind])
	}
	doc = append(doc, member{"Policies", nil})
	doc.add("MacPool", object{{"Ranges", renderPool(n.macs)}}.bytes())
	doc.add("Dns", nonEmpty(r.get("Dns")))
	doc.add("Ipams", ipams)
	doc.addUint("Flags", uint64(n.flags))
	n.doc = doc
	tx.putNetwork(n)
	return nil
}

// drMAC returns the MAC of the distributed router: the one given, or a new
// one, which an overlay network shows as a policy.
func (tx *tx) drMAC(n *network) string {
	for _, p := range n.policies {
		if p.kind == "DrMacAddress" {
			o, _ := parseObject(p.settings)
			r := reader{object: o}
			return r.str("Address")
		}
	}
	mac := macFrom(microsoftOUI<<24 | tx.random(24)).String()
	if n.kind == typeOverlay {
		settings := object{{"Address", quote(mac)}}.bytes()
		n.policies = concat(n.policies, []policy{newPolicy("DrMacAddress", settings)})
	}
	return mac
}

// base returns the members that every object begins with.
func (tx *tx) base(id hns.ID, name string, r *reader) object {
	o := object{{"ID", quote(id.String())}}
	o.addString("Owner", r.str("Owner"))
	o.addString("Name", name)
	o.addUint("Version", uint64(tx.version.Major)<<32|uint64(tx.version.Minor))
	o.add("SchemaVersion", schemaVersion(r))
	return o
}

func schemaVersion(r *reader) json.RawMessage {
	if v := nonEmpty(r.get("SchemaVersion")); v != nil {
		return v
	}
	return json.RawMessage(`{"Major":2,"Minor":0}`)
}

// nonEmpty returns nil for an object or a list without members: hcsshim sends
// structs that it has no value for as {}.
func nonEmpty(raw json.RawMessage) json.RawMessage {
	switch string(raw) {
	case "{}", "[]", `""`, "null":
		return nil
	}
	return raw
}

func (tx *tx) deleteNetwork(id hns.ID) error {
	n, err := tx.findNetwork(id)
	if err != nil {
		return err
	}
	for _, e := range tx.endpointsOf(id) {
		tx.dropEndpoint(e)
	}
	tx.dropLists(id)
	tx.removeNetwork(n)
	return nil
}

// Resource types of a network's modify request, in the order of their numbers.
var networkResources = []string{"DNS", "Extension", "Policy", "Subnet", "IPSubnet"}

func (tx *tx) modifyNetwork(id hns.ID, doc json.RawMessage) error {
	n, err := tx.findNetwork(id)
	if err != nil {
		return err
	}
	m, err := readModify(doc, networkResources)
	if err != nil {
		return err
	}
	c := *n
	switch networkResources[m.resource] {
	case "DNS":
		if m.request != requestUpdate && m.request != requestAdd {
			return failure(hns.CodeRequestUnsupported)
		}
		m.settings.dns()
		c.doc = n.doc.with("Dns", nonEmpty(m.settings.bytes()))
	case "Extension":
		if err := tx.setExtension(&c, m.settings.str("Id"), m.settings.boolean("IsEnabled")); err != nil {
			return err
		}
	case "Policy":
		if c.policies, err = tx.modifyNetworkPolicies(n, m.request, &m.settings); err != nil {
			return err
		}
	case "Subnet":
		err = tx.changeSubnets(&c, m)
	case "IPSubnet":
		err = tx.changeIPSubnets(&c, m)
	}
	if err != nil {
		return err
	}
	if m.settings.bad {
		return failure(hns.CodeInvalidJSON)
	}
	tx.putNetwork(&c)
	return nil
}

// modify is a modify request.
type modify struct {
	resource, request int
	settings          reader
}

func readModify(doc json.RawMessage, resources []string) (m modify, err error) {
	o, err := parseObject(doc)
	if err != nil {
		return m, failure(hns.CodeInvalidJSON)
	}
	r := reader{object: o}
	var okResource, okRequest bool
	m.resource, okResource = r.enum("ResourceType", resources)
	m.request, okRequest = r.enum("RequestType", requestTypes)
	if !okResource || !okRequest {
		return m, failure(hns.CodeRequestUnsupported)
	}
	m.settings = r.sub("Settings")
	if r.bad {
		return m, failure(hns.CodeInvalidJSON)
	}
	return m, nil
}
