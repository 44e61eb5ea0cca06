package hnstest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// hostCompartment is the body of an attach to the host.
const hostCompartment = `{"SystemType":"Host","CompartmentId":1}`

func v1Call(method, path, body string) hns.Request {
	r := hns.Request{Verb: hns.VerbCall, Method: method, Path: path}
	if body != "" {
		r.Document = json.RawMessage(body)
	}
	return r
}

// v1Create makes an object by a schema 1 call; kind is what its delete is
// about.
func (b *bench) v1Create(kind hns.Kind, path, body string) object {
	b.t.Helper()
	docs, code := b.do(v1Call("POST", path, body))
	if code != 0 || len(docs) != 1 {
		b.stop("POST "+path, code, len(docs))
	}
	return object{b.own(kind, docs[0]), docs[0]}
}

// v1NAT is the body of a NAT network in schema 1. Its gateway is not the one that
// HNS would choose.
func (b *bench) v1NAT(more ...string) string {
	return members(append([]string{b.named("nat"), `"Type":"nat"`,
		fmt.Sprintf(`"Subnets":[{"AddressPrefix":%q,"GatewayAddress":%q}]`, prefix(1), host(1, 2))}, more...)...)
}

func v1Cases() []scenario {
	cases := []scenario{
		{name: "v1/network", sure: Tested, source: "microsoft/hcsshim hnsv1_test.go TestNetwork", run: func(b *bench) {
			n := b.v1Create(hns.KindNetwork, "/networks/", b.v1NAT())
			doc := b.answers("get", v1Call("GET", "/networks/"+n.id.String(), ""), 0)
			b.fields(doc, "Name", b.h.Prefix+"nat", "Subnets.0.AddressPrefix", prefix(1), "Subnets.0.GatewayAddress", host(1, 2))
			b.answers("delete", v1Call("DELETE", "/networks/"+n.id.String(), ""), 0)
			b.gone("gone", hns.KindNetwork, n.id, true)
		}},
		{name: "v1/lists", sure: Tested, source: "microsoft/hcsshim TestNetworkGetAll", run: func(b *bench) {
			for _, path := range []string{"/networks/", "/endpoints/"} {
				doc := b.answers(path, v1Call("GET", path, ""), 0)
				var l []json.RawMessage
				b.truth(path+" is a list", json.Unmarshal(doc, &l) == nil && l != nil)
			}
		}},
		{name: "v1/other lists", sure: Client, source: "hns.psm1", run: func(b *bench) {
			for _, path := range []string{"/namespaces", "/policylists/", "/activities", "/plugins"} {
				doc := b.answers(path, v1Call("GET", path, ""), 0)
				var l []json.RawMessage
				b.truth(path+" is a list", json.Unmarshal(doc, &l) == nil && l != nil)
			}
		}},
		{name: "v1/endpoint on the host", sure: Tested, source: "microsoft/hcsshim hnsv1_test.go TestEndpoint", run: func(b *bench) {
			n := b.v1Create(hns.KindNetwork, "/networks/", b.v1NAT())
			ep := b.v1Create(hns.KindEndpoint, "/endpoints/", members(b.named("ep"), fmt.Sprintf(`"VirtualNetwork":%q`, n.id.Upper())))
			path := "/endpoints/" + ep.id.String()
			b.answers("attach", v1Call("POST", path+"/attach", hostCompartment), 0)
			b.answers("detach", v1Call("POST", path+"/detach", `{"SystemType":"Host"}`), 0)
			b.answers("delete", v1Call("DELETE", path, ""), 0)
			b.gone("gone", hns.KindEndpoint, ep.id, true)
		}},
		{name: "v1/attach twice", sure: Seen, source: "projectcalico/calico#4280", run: func(b *bench) {
			path := "/endpoints/" + b.endpoint(b.nat().id, "ep").id.String()
			b.answers("once", v1Call("POST", path+"/attach", hostCompartment), 0)
			b.answers("twice", v1Call("POST", path+"/attach", hostCompartment), hns.CodeEndpointAttached)
		}},
		{name: "v1/attach refused", sure: Assumed, run: attachRefused},
		{name: "v1/states on the host", sure: Client, source: "microsoft/hcsshim hnsendpoint.go", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			path := "/endpoints/" + ep.id.String()
			b.answers("attach", v1Call("POST", path+"/attach", hostCompartment), 0)
			b.field("attached", b.get(hns.KindEndpoint, ep.id), "State", "2")
			b.answers("detach", v1Call("POST", path+"/detach", `{"SystemType":"Host"}`), 0)
			b.fits("no longer", b.get(hns.KindEndpoint, ep.id), "State", func(s string) bool { return s != "2" })
		}},
		{name: "v1/containers share", sure: Assumed, run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			path := "/endpoints/" + ep.id.String()
			b.answers("one", v1Call("POST", path+"/attach", `{"ContainerId":"c1","SystemType":"Container"}`), 0)
			b.answers("two", v1Call("POST", path+"/attach", `{"ContainerId":"c2","SystemType":"Container"}`), 0)
			b.answers("one again", v1Call("POST", path+"/attach", `{"ContainerId":"c1","SystemType":"Container"}`), hns.CodeEndpointAttached)
			b.field("shared", b.answers("get", v1Call("GET", path, ""), 0), "SharedContainers", `["c1","c2"]`)
		}},
		{name: "v1/statistics", sure: Tested, source: "microsoft/hcsshim TestEndpointStatsAll", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			doc := b.answers("get", v1Call("GET", "/endpointstats/"+ep.id.String(), ""), 0)
			b.truth("of the endpoint", strings.EqualFold(text(doc, "EndpointId"), ep.id.String()))
		}},
		{name: "v1/missing", sure: Seen, source: "Azure/azure-container-networking#715", run: func(b *bench) {
			id := hns.NewID().String()
			b.answers("network", v1Call("GET", "/networks/"+id, ""), hns.CodeNetworkNotFound)
			b.answers("endpoint", v1Call("GET", "/endpoints/"+id, ""), hns.CodeEndpointNotFound)
			b.answers("delete an endpoint", v1Call("DELETE", "/endpoints/"+id, ""), hns.CodeEndpointNotFound)
			b.answers("namespace", v1Call("GET", "/namespaces/"+id, ""), hns.CodeElementNotFound)
		}},
		{name: "v1/endpoint without network", sure: Seen, source: "Azure/azure-container-networking#283", run: func(b *bench) {
			b.answers("create", v1Call("POST", "/endpoints/", fmt.Sprintf(`{"VirtualNetwork":%q}`, hns.NewID())), hns.CodeElementNotFound)
		}},
		{name: "v1/calls it does not have", sure: Assumed, run: func(b *bench) {
			for _, r := range []hns.Request{
				v1Call("GET", "/weather", ""), v1Call("GET", "", ""), v1Call("PATCH", "/networks/", ""), v1Call("get", "/networks/", ""),
				v1Call("POST", "/endpointstats/", "{}"),
			} {
				b.answers(r.Method+" "+r.Path, r, hns.CodeRequestUnsupported)
			}
			b.answers("id is no GUID", v1Call("GET", "/networks/pond", ""), hns.CodeGUIDConversion)
			b.answers("no body", v1Call("POST", "/networks/", ""), hns.CodeInvalidJSON)
		}},
		{name: "v1/policies of schema 2", sure: Seen, source: "microsoft/Windows-Containers#360", run: func(b *bench) {
			n := b.nat()
			body := members(b.named("ep"), fmt.Sprintf(`"VirtualNetwork":%q`, n.id), `"Policies":[{"Type":"PortMapping","Protocol":6,"InternalPort":80,"ExternalPort":23180}]`)
			b.answers("PortMapping", v1Call("POST", "/endpoints/", body), hns.CodeInvalidPolicyType)
		}},
		{name: "v1/policies of an endpoint updated", sure: Client, source: "projectcalico/calico felix", run: func(b *bench) {
			ep := b.endpoint(b.nat().id, "ep")
			rule := `"Policies":[{"Type":"ACL","Action":"Block","Direction":"In","Protocol":6,"LocalPort":80,"Priority":200}]`
			b.answers("update", v1Call("POST", "/endpoints/"+ep.id.String(), members(fmt.Sprintf(`"ID":%q`, ep.id.Upper()), rule)), 0)
			b.field("in schema 2", b.get(hns.KindEndpoint, ep.id), "Policies.0.Type", "ACL")
		}},
		{name: "v1/namespace", sure: Client, source: "microsoft/hcsshim namespace.go", run: v1Namespace},
		{name: "v1/namespace given nothing", sure: Assumed, run: func(b *bench) {
			path := "/namespaces/" + b.namespace().id.String() + "/addresource"
			b.answers("no container", v1Call("POST", path, `{"Type":"Container","Data":{}}`), hns.CodeInvalidParameter)
			b.answers("unknown type", v1Call("POST", path, `{"Type":"Cellar","Data":{"Id":"c1"}}`), hns.CodeInvalidParameter)
		}},
		{name: "v1/policy list", sure: Client, source: "microsoft/hcsshim hnspolicylist.go", external: true, run: v1PolicyList},
		{name: "v1/route list", sure: Client, source: "microsoft/hcsshim hnspolicylist.go", external: true, run: func(b *bench) {
			ep := b.endpoint(b.overlay().id, "ep")
			body := fmt.Sprintf(`{"References":["/endpoints/%s"],"Policies":[{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true}]}`, ep.id)
			l := b.v1Create(hns.KindRoute, "/policylists/", body)
			b.field("in schema 2", b.get(hns.KindRoute, l.id), "Setting.0.DestinationPrefix", "10.96.0.0/12")
			b.gone("no load balancer", hns.KindLoadBalancer, l.id, true)
			b.answers("delete", v1Call("DELETE", "/policylists/"+l.id.String(), ""), 0)
			b.gone("gone", hns.KindRoute, l.id, true)
		}},
		{name: "v1/network updated", sure: Client, source: "antrea-io/antrea", external: true, run: func(b *bench) {
			n := b.bridge()
			doc := b.answers("get", v1Call("GET", "/networks/"+n.id.String(), ""), 0)
			on := opposite(text(doc, "Extensions.0.IsEnabled"))
			body := fmt.Sprintf(`{"DNSServerList":"10.0.0.10","Extensions":[{"Id":%q,"IsEnabled":%s}]}`, text(doc, "Extensions.0.Id"), on)
			b.answers("post", v1Call("POST", "/networks/"+n.id.String(), body), 0)
			doc = b.answers("get again", v1Call("GET", "/networks/"+n.id.String(), ""), 0)
			b.fields(doc, "DNSServerList", "10.0.0.10", "Extensions.0.IsEnabled", on)
			b.field("in schema 2", b.get(hns.KindNetwork, n.id), "Dns.ServerList", `["10.0.0.10"]`)
		}},
		{name: "v1/machine", sure: Client, source: "hns.psm1", run: func(b *bench) {
			path := "/endpoints/" + b.endpoint(b.nat().id, "ep").id.String()
			b.answers("attach", v1Call("POST", path+"/attach", `{"ContainerId":"machine","SystemType":"VirtualMachine"}`), 0)
			b.answers("and the host", v1Call("POST", path+"/attach", hostCompartment), hns.CodeEndpointAttached)
			b.answers("detach", v1Call("POST", path+"/detach", `{"ContainerId":"machine","SystemType":"VirtualMachine"}`), 0)
			b.answers("then the host", v1Call("POST", path+"/attach", hostCompartment), 0)
		}},
		{name: "v1/policy list refused", sure: Assumed, run: func(b *bench) {
			b.answers("nothing in it", v1Call("POST", "/policylists/", "{}"), hns.CodeInvalidPolicy)
			b.answers("no references", v1Call("POST", "/policylists/", `{"Policies":[{"Type":"ELB","InternalPort":80,"ExternalPort":80,"Protocol":6}]}`), hns.CodeInvalidPolicy)
		}},
		{name: "v1/accelerated networking", sure: Client, source: "microsoft/hnslib TestAccelnetNnvManagementMacAddresses", only: hns.FeatureAccelnet.In, run: accelnet},
	}
	return cases
}

func attachRefused(b *bench) {
	n := b.nat()
	path := "/endpoints/" + b.endpoint(n.id, "ep").id.String()
	b.answers("no compartment", v1Call("POST", path+"/attach", `{"SystemType":"Host"}`), hns.CodeInvalidParameter)
	b.answers("unknown system", v1Call("POST", path+"/attach", `{"SystemType":"Cloud"}`), hns.CodeInvalidParameter)
	b.answers("no container", v1Call("POST", path+"/attach", `{}`), hns.CodeInvalidParameter)
	b.answers("no JSON", v1Call("POST", path+"/attach", `{`), hns.CodeInvalidJSON)
	b.answers("detach what is not attached", v1Call("POST", path+"/detach", `{"SystemType":"Host"}`), hns.CodeElementNotFound)
	far := "/endpoints/" + b.endpoint(n.id, "far", `"Flags":1`, address(host(9, 9))).id.String()
	b.answers("remote", v1Call("POST", far+"/attach", hostCompartment), hns.CodeInvalidRemoteOperation)
	b.answers("missing", v1Call("POST", "/endpoints/"+hns.NewID().String()+"/attach", hostCompartment), hns.CodeEndpointNotFound)
}

func v1Namespace(b *bench) {
	ns := b.v1Create(hns.KindNamespace, "/namespaces/", "{}")
	ep := b.endpoint(b.nat().id, "ep")
	path := "/namespaces/" + ns.id.String()
	body := fmt.Sprintf(`{"Type":"Endpoint","Data":{"Id":%q}}`, ep.id.Upper())
	b.answers("add", v1Call("POST", path+"/addresource", body), 0)
	doc := b.answers("get", v1Call("GET", path, ""), 0)
	b.fields(doc, "ResourceList.0.Type", "Endpoint", "IsDefault", "false")
	b.truth("CompartmentId", isNumber(text(doc, "CompartmentId")))
	b.truth("it holds the endpoint", strings.EqualFold(text(doc, "ResourceList.0.Data.Id"), ep.id.String()))
	b.truth("in schema 2 as well", strings.EqualFold(text(b.get(hns.KindNamespace, ns.id), "Resources.0.Data.Id"), ep.id.String()))
	b.answers("remove", v1Call("POST", path+"/removeresource", body), 0)
	b.field("it holds nothing", b.get(hns.KindNamespace, ns.id), "Resources", "")
	b.answers("delete", v1Call("DELETE", path, ""), 0)
	b.gone("gone", hns.KindNamespace, ns.id, true)
}

func v1PolicyList(b *bench) {
	ep := b.endpoint(b.overlay().id, "ep")
	body := fmt.Sprintf(`{"References":["/endpoints/%s"],"Policies":[{"Type":"ELB","Protocol":6,"InternalPort":8080,"ExternalPort":80,"VIPs":["10.96.0.1"],"ILB":true}]}`, ep.id)
	l := b.v1Create(hns.KindLoadBalancer, "/policylists/", body)
	b.truth("reference as given", text(l.doc, "References.0") == "/endpoints/"+ep.id.String())
	doc := b.get(hns.KindLoadBalancer, l.id)
	b.fields(doc, "FrontendVIPs.0", "10.96.0.1", "PortMappings.0.InternalPort", "8080", "PortMappings.0.ExternalPort", "80", "PortMappings.0.Flags", "1")
	b.answers("delete", v1Call("DELETE", "/policylists/"+l.id.String(), ""), 0)
	b.gone("gone", hns.KindLoadBalancer, l.id, true)
}

func accelnet(b *bench) {
	if doc := b.answers("before", v1Call("GET", "/accelnet/", ""), 0); len(each(doc, "MacAddressList")) > 0 {
		b.skip("the host uses it")
	}
	count := func(step, method, body, want string) {
		doc := b.answers(step, v1Call(method, "/accelnet/", body), 0)
		b.check(step+": addresses", fmt.Sprint(len(each(doc, "MacAddressList"))), want)
	}
	count("post", "POST", `{"MacAddressList":[{"MacAddress":"00-15-5D-0A-B7-C6"},{"MacAddress":"00-15-5D-38-01-00"}]}`, "2")
	count("get", "GET", "", "2")
	b.field("the first", b.answers("get once more", v1Call("GET", "/accelnet/", ""), 0), "MacAddressList.0.MacAddress", "00-15-5D-0A-B7-C6")
	count("delete", "DELETE", "", "0")
	count("get again", "GET", "", "0")
}
