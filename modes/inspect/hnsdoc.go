package inspect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
	"github.com/hnskit/hnskit/modes"
)

var kindNames = map[hns.Kind]Kind{hns.KindNetwork: HNSNetwork, hns.KindEndpoint: HNSEndpoint, hns.KindNamespace: HNSNamespace,
	hns.KindLoadBalancer: HNSLoadBalancer, hns.KindRoute: HNSRoute}

// tells are the members that tell what an object of HNS is, in both schemas.
var tells = []struct {
	kind  hns.Kind
	names []string
}{
	{hns.KindNetwork, []string{"Ipams", "MacPool", "Subnets", "MacPools", "NetworkAdapterName", "ManagementIP", "CurrentEndpointCount",
		"MaxConcurrentEndpoints", "TotalEndpoints", "SourceMac", "AutomaticDNS", "NatName", "LayeredOn", "NetworkName", "NetworkType", "DrMacAddress"}},
	{hns.KindEndpoint, []string{"IpConfigurations", "HostComputeNetwork", "HostComputeNamespace", "VirtualNetwork", "VirtualNetworkName", "IPAddress",
		"PrefixLength", "GatewayAddress", "IsRemoteEndpoint", "EncapOverhead", "EnableInternalDNS", "SharedContainers", "MacAddress"}},
	{hns.KindNamespace, []string{"NamespaceId", "NamespaceGuid", "CompartmentId", "CompartmentGuid", "ResourceList", "IsDefault", "Containers"}},
	{hns.KindLoadBalancer, []string{"HostComputeEndpoints", "FrontendVIPs", "PortMappings", "SourceVIP", "References", "IsApplied"}},
}

// kindOf tells what kind of object has these members, and whether HNS has given
// the document back, as what only HNS writes shows.
func kindOf(m members) (kind hns.Kind, fromHNS, ok bool) {
	best := 0
	for _, t := range tells {
		if n := m.has(t.names...); n > best {
			best, kind = n, t.kind
		}
	}
	if kind == hns.KindLoadBalancer && m.has("FrontendVIPs", "PortMappings", "SourceVIP", "References") == 0 && m.has("Routes", "Setting") > 0 {
		kind = hns.KindRoute
	}
	if _, err := hns.ParseID(m.text("ID")); best == 0 && m.has("Name", "Type") == 2 && (isNamespaceType(m.text("Type")) || isMode(m.text("Type"))) && err != nil {
		best, kind = 1, hns.KindNetwork
	}
	if best == 0 && m.has("SchemaVersion") == 1 {
		kind, best = kindByPolicies(m)
	}
	fromHNS = m.has("ActivityId", "State", "Version", "Resources", "CurrentEndpointCount") > 0 || m.has("ID") == 1 && m.text("ID") != ""
	return kind, fromHNS, best > 0
}

func isMode(t string) bool {
	_, err := modes.ParseMode(t)
	return err == nil
}

// kindByPolicies goes by policies that only one kind has.
func kindByPolicies(m members) (hns.Kind, int) {
	var ps []struct{ Type string }
	if json.Unmarshal(m["policies"], &ps) != nil {
		return 0, 0
	}
	for _, p := range ps {
		end, net := modes.L2Bridge.Rule(modes.OnEndpoint, p.Type).InSchema, modes.L2Bridge.Rule(modes.OnNetwork, p.Type).InSchema
		if end != net {
			return map[bool]hns.Kind{true: hns.KindEndpoint, false: hns.KindNetwork}[end], 1
		}
	}
	return 0, 0
}

// hnsDocuments inspects the documents of a dump or request, and reports whether
// that is what they are.
func (r *Report) hnsDocuments(docs []json.RawMessage) bool {
	if len(docs) == 0 {
		r.Kind = HNSDump
		r.add(modes.SeverityNote, "", "", "a dump of nothing", "")
		return true
	}
	if r.policies(docs) {
		return true
	}
	known := 0
	for i, doc := range docs {
		at := ""
		if len(docs) > 1 {
			at = fmt.Sprintf("[%d]", i)
		}
		if r.document(at, doc) {
			known++
		} else if known > 0 {
			r.add(modes.SeverityWarning, at, string(doc), "not an object of HNS that is known here", "")
		}
	}
	r.checkEndpoints(r.networks)
	return known > 0
}

// snapshot inspects a hns.Snapshot.
func (r *Report) snapshot(text []byte) {
	r.Kind = HNSDump
	s, err := hns.ParseSnapshot(text)
	if err != nil {
		r.fail("", err, modes.SeverityError)
		return
	}
	for _, l := range []struct {
		name string
		docs []json.RawMessage
	}{{"Networks", s.Networks}, {"Endpoints", s.Endpoints}, {"Namespaces", s.Namespaces}, {"LoadBalancers", s.LoadBalancers}, {"Routes", s.Routes}} {
		for i, doc := range l.docs {
			r.document(fmt.Sprintf("%s[%d]", l.name, i), doc)
		}
	}
	r.Kind = HNSDump
	r.checkEndpoints(r.networks)
}

// document inspects one object of HNS.
func (r *Report) document(at string, doc json.RawMessage) bool {
	m, ok := membersOf(doc)
	if !ok {
		return false
	}
	kind, fromHNS, ok := kindOf(m)
	if !ok {
		return false
	}
	version, _ := membersOf(m["schemaversion"])
	api := V1
	if string(version["major"]) == "2" {
		api = V2
	}
	if kind == hns.KindLoadBalancer && api == V1 && v1doc.IsRoute(doc) {
		kind = hns.KindRoute
	}
	r.addKind(kindNames[kind])
	most := modes.SeverityError
	if fromHNS {
		most = modes.SeverityWarning
	}
	r.addAPI(api)
	(&document{r: r, at: at, kind: kind, doc: doc, members: m, api: api, most: most}).inspect()
	return true
}

func (r *Report) addKind(k Kind) {
	switch r.Kind {
	case Unknown:
		r.Kind = k
	case k:
	default:
		r.Kind = HNSDump
	}
}

// document is an object of HNS as it is inspected.
type document struct {
	r       *Report
	at      string
	kind    hns.Kind
	doc     json.RawMessage
	members members
	api     string
	most    modes.Severity // of what is wrong
}

func (d *document) inspect() {
	d.form()
	switch d.kind {
	case hns.KindNetwork:
		inspectAs(d, hns.DecodeNetwork, v1doc.DecodeNetwork, func(n *hns.Network) ([]hns.Unread, error) {
			d.network(n)
			return n.Document.Unread, n.Validate()
		})
	case hns.KindEndpoint:
		inspectAs(d, hns.DecodeEndpoint, v1doc.DecodeEndpoint, func(e *hns.Endpoint) ([]hns.Unread, error) {
			d.endpoint(e)
			return e.Document.Unread, e.Validate()
		})
	case hns.KindNamespace:
		inspectAs(d, hns.DecodeNamespace, v1doc.DecodeNamespace, func(n *hns.Namespace) ([]hns.Unread, error) {
			return n.Document.Unread, n.Validate()
		})
	case hns.KindLoadBalancer:
		inspectAs(d, hns.DecodeLoadBalancer, v1doc.DecodeLoadBalancer, func(l *hns.LoadBalancer) ([]hns.Unread, error) {
			d.balancer(l)
			return l.Document.Unread, l.Validate()
		})
	case hns.KindRoute:
		inspectAs(d, hns.DecodeSDNRouteObject, v1doc.DecodeRoute, func(o *hns.SDNRouteObject) ([]hns.Unread, error) {
			return o.Document.Unread, o.Validate()
		})
	}
}

// balancer notes what a load balancer is of no use for.
func (d *document) balancer(l *hns.LoadBalancer) {
	for _, w := range l.Warnings(nil) {
		d.r.add(modes.SeverityWarning, join(d.at, w.Path), w.Value, w.Reason, "")
	}
	if string(d.members["isapplied"]) == "false" && d.most == modes.SeverityWarning {
		d.r.add(modes.SeverityWarning, join(d.at, "IsApplied"), "false", "the load balancer is there and not in the virtual switch: what goes to its addresses is lost",
			"see whether the VFP extension of the virtual switch is on, and have kube-proxy make it anew")
	}
}

// inspectAs decodes the document in its schema and adds what could not be read,
// and what the client would not send.
func inspectAs[T any](d *document, v2, v1 func([]byte) (*T, error), judge func(*T) ([]hns.Unread, error)) {
	decode := v2
	if d.api == V1 {
		decode = v1
	}
	obj, err := decode(d.doc)
	if err != nil {
		d.r.fail(d.at, err, modes.SeverityError)
		return
	}
	unread, invalid := judge(obj)
	if d.r.lossy {
		unread = slices.DeleteFunc(unread, func(u hns.Unread) bool { return strings.Contains(u.Path, "Policies") })
	}
	d.r.unread(d.at, unread, d.most)
	if d.r.lossy {
		return // what is missing may have been lost
	}
	for _, f := range findingsOf(invalid) {
		if d.said(f.Path) {
			continue // it reads as missing because it could not be read
		}
		f.Severity = d.most
		if f.Path == "HostComputeNetwork" && f.Value == "" {
			if d.members.text("VirtualNetworkName") != "" {
				continue // v1 takes the name as well
			}
			f.Severity, f.Reason, f.Fix = modes.SeverityNote, "the document does not name its network; the call that creates the endpoint must", ""
		}
		f.Path = join(d.at, f.Path)
		f.findFix()
		d.r.Findings = append(d.r.Findings, f)
	}
}

func (d *document) said(path string) bool {
	for _, f := range d.r.Findings {
		if f.Path == join(d.at, path) {
			return true
		}
	}
	return false
}

// form judges the document by the names of its members: the schema that it says it
// is of, and the one that it looks like.
func (d *document) form() {
	if d.r.lossy {
		return
	}
	for _, f := range v1doc.Strays(d.kind, d.doc) {
		d.r.add(modes.SeverityWarning, join(d.at, f.Path), f.Value, f.Reason, "move it there, or HNS does not see it")
	}
	if d.api == V2 {
		return
	}
	if n := d.members.has("NetworkName", "NetworkType"); n > 0 {
		d.r.add(modes.SeverityError, join(d.at, "NetworkName"), d.members.text("NetworkName"),
			"a request to Azure's container networking service, not to HNS: HNS reads Name and Type, and passes over these", "send it there, or rename the members")
		return
	}
	if _, ok := d.members["schemaversion"]; !ok && d.members.has("Ipams", "IpConfigurations", "HostComputeEndpoints", "FrontendVIPs", "MacPool") > 0 {
		d.r.add(d.most, join(d.at, "SchemaVersion"), "", "missing: HNS reads the document as one of schema 1, and passes over the members of schema 2", `add "SchemaVersion": {"Major": 2, "Minor": 0}`)
		d.api = V2
		return
	}
	if d.most == modes.SeverityError {
		_, err := v1doc.ToV2(d.kind, d.doc)
		d.r.fail(d.at, err, d.most)
	}
}

func (d *document) network(n *hns.Network) {
	typ := string(n.Type)
	if m, ok := modes.ModeOf(n.Type); ok {
		typ = string(m)
	}
	if n.Type == hns.NAT && d.members.text("type") == "" && d.members.text("networktype") != "" {
		if m, err := modes.ParseMode(d.members.text("networktype")); err == nil {
			typ = string(m)
		}
	}
	if d.r.lossy && d.members.text("type") == "" {
		typ = ""
		if d.members.has("DrMacAddress") == 1 { // of Overlay alone
			typ = string(modes.Overlay)
		}
		n.Type = hns.NetworkType(typ)
	}
	if string(d.members["degraded"]) == "true" {
		d.r.add(modes.SeverityWarning, join(d.at, "Degraded"), "true", "HNS does nothing with the network but delete it: its virtual switch or adapter is gone", "delete the network and create it again")
	}
	d.r.addMode(typ)
	d.r.networks = append(d.r.networks, n)
	if !d.r.lossy {
		d.r.note(under(d.at), modes.CheckNetwork(n), d.most)
	}
}

func (d *document) endpoint(e *hns.Endpoint) {
	d.r.guessMode(d.members.text("type"), d.members.text("virtualnetworkname"))
	if d.r.Mode == "" {
		var types []string
		for _, p := range e.Policies {
			types = append(types, p.PolicyType())
		}
		d.r.addMode(modeByPolicies(modes.OnEndpoint, types))
	}
	if strings.HasPrefix(string(d.members["flags"]), `"`) {
		d.r.add(d.most, join(d.at, "Flags"), d.members.text("flags"), "HNS refuses flags that are text, whatever the schema says", "write the number")
	}
	d.r.endpoints = append(d.r.endpoints, placedEndpoint{e, d.at})
}

// placedEndpoint is an endpoint and where it stands in its file.
type placedEndpoint struct {
	*hns.Endpoint
	at string
}

// checkEndpoints holds the endpoints against those of their networks that are
// known.
func (r *Report) checkEndpoints(networks []*hns.Network) {
	if r.lossy {
		return
	}
	for _, e := range r.endpoints {
		for _, n := range networks {
			if n.ID != e.Network || n.ID.IsZero() {
				continue
			}
			most := modes.SeverityError
			if !e.ID.IsZero() {
				most = modes.SeverityWarning
			}
			if m, ok := modes.ModeOf(n.Type); ok {
				r.addMode(string(m))
			}
			r.note(under(e.at), modes.CheckEndpoint(n, e.Endpoint), most)
		}
	}
}
