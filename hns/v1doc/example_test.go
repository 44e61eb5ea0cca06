package v1doc_test

import (
	"fmt"
	"log"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// The output of Get-HnsNetwork | ConvertTo-Json.
func ExampleSplit() {
	docs, err := v1doc.Split([]byte(`[{"Name":"nat","Type":"nat"},{"Name":"cbr0","Type":"l2bridge"}]`))
	check(err)
	for _, doc := range docs {
		n, err := v1doc.DecodeNetwork(doc)
		check(err)
		fmt.Println(n.Name, n.Type)
	}
	// Output:
	// nat NAT
	// cbr0 L2Bridge
}

func ExampleDecodeNetwork() {
	n, err := v1doc.DecodeNetwork([]byte(`{"Name":"cbr0","Type":"l2bridge","Subnets":[{"AddressPrefix":"10.50.3.0/24","GatewayAddress":"10.50.3.1"}]}`))
	check(err)
	fmt.Println(n.Type, n.Subnets()[0].Prefix, n.Subnets()[0].Gateway())
	// Output:
	// L2Bridge 10.50.3.0/24 10.50.3.1
}

// What is not changed stays, also what the package does not know.
func ExampleEncodeNetwork() {
	n, err := v1doc.DecodeNetwork([]byte(`{"Colour":"blue","DNSServerList":"10.96.0.10","Name":"cbr0","Type":"l2bridge"}`))
	check(err)
	n.DNS.ServerList = append(n.DNS.ServerList, "10.96.0.11")
	doc, err := v1doc.EncodeNetwork(n)
	check(err)
	fmt.Println(string(doc))
	// Output:
	// {"Colour":"blue","DNSServerList":"10.96.0.10,10.96.0.11","Name":"cbr0","Type":"l2bridge"}
}

func ExampleDecodeEndpoint() {
	e, err := v1doc.DecodeEndpoint([]byte(`{"IPAddress":"10.50.3.7","PrefixLength":24,"Policies":[{"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":8081}]}`))
	check(err)
	fmt.Println(e.IPConfigs[0].Prefix())
	for _, p := range hns.PoliciesOf[hns.PortMapping](e.Policies) {
		fmt.Println(p.Protocol, p.ExternalPort, "to", p.InternalPort)
	}
	// Output:
	// 10.50.3.7/24
	// TCP 8081 to 80
}

func ExampleEncodeEndpoint() {
	e := &hns.Endpoint{Name: "lake_ep", IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr("10.50.3.2"), PrefixLength: 24}}}
	doc, err := v1doc.EncodeEndpoint(e)
	check(err)
	fmt.Println(string(doc))
	e.DNS.Options = []string{"ndots:5"}
	_, err = v1doc.EncodeEndpoint(e)
	fmt.Println(err)
	// Output:
	// {"IPAddress":"10.50.3.2","Name":"lake_ep","PrefixLength":24}
	// write endpoint in schema 1: Dns.Options: "[\"ndots:5\"]": schema 1 has no place for it
}

func ExampleDecodeNamespace() {
	n, err := v1doc.DecodeNamespace([]byte(`{"CompartmentId":1,"IsDefault":true}`))
	check(err)
	fmt.Println(n.Type, n.NamespaceID)
	// Output:
	// HostDefault 1
}

func ExampleDecodeLoadBalancer() {
	doc := []byte(`{"References":["/endpoints/2b000000-0000-4000-8000-0000000000ab"],"Policies":[{"Type":"ELB","VIPs":["10.96.0.20"],"Protocol":6,"InternalPort":8443,"ExternalPort":443}]}`)
	if v1doc.IsRoute(doc) {
		return
	}
	l, err := v1doc.DecodeLoadBalancer(doc)
	check(err)
	fmt.Println(l.FrontendVIPs, l.PortMappings[0].ExternalPort, l.Endpoints)
	// Output:
	// [10.96.0.20] 443 [2b000000-0000-4000-8000-0000000000ab]
}

func ExampleEncodeNamespace() {
	n, err := v1doc.DecodeNamespace([]byte(`{"CompartmentId":4,"ResourceList":[{"Type":"Endpoint","Data":{"Id":"2B000000-0000-4000-8000-0000000000AB"}}]}`))
	check(err)
	n.NamespaceID = 5
	doc, err := v1doc.EncodeNamespace(n)
	check(err)
	fmt.Println(string(doc))
	// Output:
	// {"CompartmentId":5,"ResourceList":[{"Type":"Endpoint","Data":{"Id":"2B000000-0000-4000-8000-0000000000AB"}}]}
}

func ExampleEncodeLoadBalancer() {
	id, err := hns.ParseID("2b000000-0000-4000-8000-0000000000ab")
	check(err)
	doc, err := v1doc.EncodeLoadBalancer(&hns.LoadBalancer{
		Endpoints:    []hns.ID{id},
		FrontendVIPs: []netip.Addr{netip.MustParseAddr("10.96.0.20")},
		PortMappings: []hns.LoadBalancerPortMapping{{Protocol: hns.TCP, ExternalPort: 443, InternalPort: 8443, Flags: hns.LoadBalancerInternal}},
	})
	check(err)
	fmt.Println(string(doc))
	// Output:
	// {"Policies":[{"ExternalPort":443,"ILB":true,"InternalPort":8443,"Protocol":6,"Type":"ELB","VIPs":["10.96.0.20"]}],"References":["/endpoints/2b000000-0000-4000-8000-0000000000ab"]}
}

func ExampleIsRoute() {
	fmt.Println(v1doc.IsRoute([]byte(`{"Policies":[{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12"}]}`)))
	fmt.Println(v1doc.IsRoute([]byte(`{"Policies":[{"Type":"ELB","Protocol":6}]}`)))
	// Output:
	// true
	// false
}

func ExampleDecodeRoute() {
	r, err := v1doc.DecodeRoute([]byte(`{"References":["/endpoints/2b000000-0000-4000-8000-0000000000ab"],"Policies":[{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true}]}`))
	check(err)
	fmt.Println(r.Routes[0].DestinationPrefix, r.Routes[0].NeedEncap)
	// Output:
	// 10.96.0.0/12 true
}

func ExampleEncodeRoute() {
	id, err := hns.ParseID("2b000000-0000-4000-8000-0000000000ab")
	check(err)
	doc, err := v1doc.EncodeRoute(&hns.SDNRouteObject{Endpoints: []hns.ID{id}, Routes: []hns.SDNRoute{{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true}}})
	check(err)
	fmt.Println(string(doc))
	// Output:
	// {"Policies":[{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true,"Type":"ROUTE"}],"References":["/endpoints/2b000000-0000-4000-8000-0000000000ab"]}
}

// The body of a v1 call, as the v2 API wants it.
func ExampleToV2() {
	doc, err := v1doc.ToV2(hns.KindEndpoint, []byte(`{"VirtualNetwork":"1a000000-0000-4000-8000-000000000020","IPAddress":"10.60.3.7",
		"Policies":[{"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":8080}]}`))
	fmt.Println(string(doc), err)
	_, err = v1doc.ToV2(hns.KindEndpoint, []byte(`{"Policies":[{"Type":"PortMapping"}]}`))
	for _, e := range hns.FieldErrors(err) {
		fmt.Println(e.Rule, e)
	}
	// Output:
	// {"HostComputeNetwork":"1a000000-0000-4000-8000-000000000020","IpConfigurations":[{"IpAddress":"10.60.3.7"}],"Policies":[{"Settings":{"ExternalPort":8080,"InternalPort":80,"Protocol":6},"Type":"PortMapping"}]} <nil>
	// v1-policy-type Policies[0].Type: "PortMapping": not a policy type of schema 1
}

func ExampleToV1() {
	doc, err := v1doc.ToV1(hns.KindLoadBalancer, []byte(`{"HostComputeEndpoints":["2b000000-0000-4000-8000-0000000000ab"],
		"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80,"Flags":8}]}`))
	fmt.Println(string(doc))
	fmt.Println(err)
	// Output:
	// {"Policies":[{"ExternalPort":80,"InternalPort":8080,"Protocol":6,"Type":"ELB"}],"References":["/endpoints/2b000000-0000-4000-8000-0000000000ab"]}
	// PortMappings[0].Flags: "8": schema 1 has no place for it
}
