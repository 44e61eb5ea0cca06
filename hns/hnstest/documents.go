package hnstest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// Documents are written as text, member by member, since the suite sends what
// the types of package hns would not.

const schema = `"SchemaVersion":{"Major":2,"Minor":0}`

func members(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

func list(elems ...string) string { return "[" + strings.Join(elems, ",") + "]" }

func quoted(ids ...hns.ID) string {
	var out []string
	for _, id := range ids {
		out = append(out, `"`+id.String()+`"`)
	}
	return list(out...)
}

// named is the member Name, with the prefix of the suite.
func (b *bench) named(name string) string { return fmt.Sprintf(`"Name":%q`, b.h.Prefix+name) }

// subnet is a subnet with its gateway and further members.
func subnet(prefix, gateway string, more ...string) string {
	dst := "0.0.0.0/0"
	if strings.Contains(gateway, ":") {
		dst = "::/0"
	}
	routes := ""
	if gateway != "" {
		routes = fmt.Sprintf(`"Routes":[{"NextHop":%q,"DestinationPrefix":%q}]`, gateway, dst)
	}
	return members(append([]string{fmt.Sprintf(`"IpAddressPrefix":%q`, prefix), routes}, more...)...)
}

// ipams is the member Ipams with subnets.
func ipams(subnets ...string) string {
	return `"Ipams":[{"Type":"Static","Subnets":` + list(subnets...) + `}]`
}

// vsid is the member Policies of a subnet of an Overlay network.
func vsid(n int) string {
	return fmt.Sprintf(`"Policies":[{"Type":"VSID","Settings":{"IsolationId":%d}}]`, n)
}

// policies is the member Policies.
func policies(ps ...string) string { return `"Policies":` + list(ps...) }

func policy(typeName, settings string) string {
	return fmt.Sprintf(`{"Type":%q,"Settings":%s}`, typeName, settings)
}

// request is a modify request.
func request(verb, resource, settings string) string {
	return fmt.Sprintf(`{"RequestType":%q,"ResourceType":%q,"Settings":%s}`, verb, resource, settings)
}

// prefix returns the prefix of the nth network of a case; host returns an
// address in it.
func prefix(n int) string { return fmt.Sprintf("10.231.%d.0/24", n) }

func host(n, last int) string { return fmt.Sprintf("10.231.%d.%d", n, last) }

// onAdapter is the policy that puts a network on the harness's adapter; "" if
// it names none.
func (b *bench) onAdapter() []string {
	if b.h.Adapter == "" {
		return nil
	}
	return []string{policy("NetAdapterName", fmt.Sprintf(`{"NetworkAdapterName":%q}`, b.h.Adapter))}
}

// networkDoc is the document of a network on the harness's adapter; ps are
// its policies.
func (b *bench) networkDoc(name, typeName string, ps []string, more ...string) string {
	ps = append(b.onAdapter(), ps...)
	have := ""
	if len(ps) > 0 {
		have = policies(ps...)
	}
	return members(append([]string{b.named(name), fmt.Sprintf(`"Type":%q`, typeName), have, schema}, more...)...)
}

// plainDoc is the document of a network without adapter and policies.
func (b *bench) plainDoc(name, typeName string, more ...string) string {
	return members(append([]string{b.named(name), fmt.Sprintf(`"Type":%q`, typeName), schema}, more...)...)
}

func createNetwork(doc string) hns.Request {
	return hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: json.RawMessage(doc)}
}

func createOf(kind hns.Kind, doc string) hns.Request {
	return hns.Request{Verb: hns.VerbCreate, Kind: kind, Document: json.RawMessage(doc)}
}

// nat makes a NAT network with the case's next prefix.
func (b *bench) nat(more ...string) object {
	b.t.Helper()
	b.nets++
	return b.create(createNetwork(b.plainDoc(fmt.Sprintf("nat%d", b.nets), "NAT",
		append([]string{ipams(subnet(prefix(b.nets), host(b.nets, 1)))}, more...)...)))
}

// bridge makes an L2Bridge network with the case's next prefix.
func (b *bench) bridge(more ...string) object {
	b.t.Helper()
	b.nets++
	return b.create(createNetwork(b.networkDoc(fmt.Sprintf("bridge%d", b.nets), "L2Bridge", nil,
		append([]string{`"Flags":8`, ipams(subnet(prefix(b.nets), host(b.nets, 1)))}, more...)...)))
}

// overlay makes an Overlay network with the case's next prefix. Its VNI is
// 5000 and its number.
func (b *bench) overlay(more ...string) object {
	b.t.Helper()
	b.nets++
	return b.create(createNetwork(b.networkDoc(fmt.Sprintf("overlay%d", b.nets), "Overlay", nil,
		append([]string{`"Flags":8`, ipams(subnet(prefix(b.nets), host(b.nets, 1), vsid(5000+b.nets)))}, more...)...)))
}

// endpointReq creates an endpoint with further members.
func (b *bench) endpointReq(network hns.ID, name string, more ...string) hns.Request {
	doc := members(append([]string{b.named(name), fmt.Sprintf(`"HostComputeNetwork":%q`, network), schema}, more...)...)
	return hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Network: network, Document: json.RawMessage(doc)}
}

func (b *bench) endpoint(network hns.ID, name string, more ...string) object {
	b.t.Helper()
	return b.create(b.endpointReq(network, name, more...))
}

// address is the member IpConfigurations.
func address(addresses ...string) string {
	var out []string
	for _, a := range addresses {
		out = append(out, fmt.Sprintf(`{"IpAddress":%q}`, a))
	}
	return `"IpConfigurations":` + list(out...)
}

func (b *bench) namespace(more ...string) object {
	b.t.Helper()
	return b.create(createOf(hns.KindNamespace, members(append([]string{b.named("ns"), schema}, more...)...)))
}

// addEndpoint and addContainer are modify requests of a namespace.
func endpointIn(verb string, ep hns.ID) string {
	return request(verb, "Endpoint", fmt.Sprintf(`{"EndpointId":%q}`, ep))
}

func containerIn(verb, id string) string {
	return request(verb, "Container", fmt.Sprintf(`{"ContainerId":%q}`, id))
}

// portMapping is a policy of that type.
func portMapping(protocol, internal, external int, more ...string) string {
	return policy("PortMapping", members(append([]string{fmt.Sprintf(`"Protocol":%d,"InternalPort":%d,"ExternalPort":%d`, protocol, internal, external)}, more...)...))
}
