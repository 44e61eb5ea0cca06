package v1doc_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

var (
	someAddress = netip.MustParseAddr("192.0.2.7")
	somePrefix  = netip.MustParsePrefix("10.96.0.0/12")

	// samples are policies of every type that package hns has, by the method that
	// tells where they stand.
	samples = map[string][]any{
		"endpointPolicy": {
			hns.PortMapping{Protocol: hns.TCP, InternalPort: 80, ExternalPort: 8080},
			hns.ACL{Action: hns.ACLBlock, Direction: hns.In, Protocols: []string{"6"}},
			hns.TierACL{Name: "tier", Direction: hns.In}, hns.InterfaceConstraint{Alias: "Ethernet"},
			hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8"}}, hns.SDNRoute{DestinationPrefix: somePrefix, NeedEncap: true},
			hns.ProviderAddress{Address: someAddress}, hns.VLAN{IsolationID: 7}, hns.QOS{MaximumOutgoingBandwidthInBytes: 5}, hns.L2Driver{},
			hns.PortName{Name: "port"}, hns.EncapOverhead{Overhead: 50}, hns.InterfaceParameters{MTU: 1400}, hns.IOV{OffloadWeight: 1},
			hns.L4Proxy{Port: 8080, Protocol: hns.TCP}, hns.L4WFPProxy{InboundPort: 1}, hns.RawPolicy{Type: "Odd", Settings: json.RawMessage(`{"A":1}`)},
		},
		"networkPolicy": {
			hns.NetworkACL{Action: hns.ACLBlock, Direction: hns.In}, hns.SourceMACAddress{Address: mac("00-15-5d-00-00-01")},
			hns.InterfaceConstraint{Alias: "Ethernet"}, hns.VSwitchExtension{ID: hns.ID{1}, Enable: true}, hns.AutomaticDNS{Enable: true},
			hns.VXLANPort{Port: 8472}, hns.LayerConstraint{LayerID: hns.ID{1}}, hns.NetAdapterName{Name: "Ethernet"}, hns.ProviderAddress{Address: someAddress},
			hns.DRMACAddress{Address: mac("00-15-5d-00-00-01")}, hns.HostRoute{}, hns.RemoteSubnetRoute{DestinationPrefix: somePrefix, IsolationID: 4096, ProviderAddress: someAddress},
			hns.L4Proxy{Port: 8080, Protocol: hns.TCP}, hns.SetPolicy{ID: "s", Name: "set", Type: hns.SetIP, Values: []string{"10.0.0.2"}}, hns.RawPolicy{Type: "Odd"},
		},
		"subnetPolicy": {hns.VSID{IsolationID: 5000}, hns.VLAN{IsolationID: 7}, hns.RawPolicy{Type: "Odd"}},
	}
)

// objectOf puts a policy where it stands, and writes and reads the object.
func objectOf(method string, p any) (kind hns.Kind, doc json.RawMessage, back []any, err error) {
	n := &hns.Network{Name: "n", Type: hns.L2Bridge}
	switch p := p.(type) {
	case hns.EndpointPolicy:
		if method != "endpointPolicy" {
			break
		}
		doc, err = v1doc.EncodeEndpoint(&hns.Endpoint{Name: "e", Policies: []hns.EndpointPolicy{p}})
		if err != nil {
			return kind, nil, nil, err
		}
		e, err := v1doc.DecodeEndpoint(doc)
		if err == nil {
			back = anys(e.Policies)
		}
		return hns.KindEndpoint, doc, back, err
	}
	if method == "networkPolicy" {
		n.Policies = []hns.NetworkPolicy{p.(hns.NetworkPolicy)}
	} else {
		n.IPAMs = []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: somePrefix, Policies: []hns.SubnetPolicy{p.(hns.SubnetPolicy)}}}}}
	}
	if doc, err = v1doc.EncodeNetwork(n); err != nil {
		return kind, nil, nil, err
	}
	if n, err = v1doc.DecodeNetwork(doc); err != nil {
		return kind, doc, nil, err
	}
	back = anys(n.Policies)
	for _, s := range n.Subnets() {
		back = append(back, anys(s.Policies)...)
	}
	return hns.KindNetwork, doc, back, nil
}

func anys[T any](l []T) (out []any) {
	for _, v := range l {
		out = append(out, v)
	}
	return out
}

// A policy of any type is written so that schema 1 takes it and it reads back the
// same, or is refused with its path.
func TestPolicyTypes(t *testing.T) {
	for method, policies := range samples {
		var have []string
		for _, p := range policies {
			have = append(have, strings.TrimPrefix(fmt.Sprintf("%T", p), "hns."))
			kind, doc, back, err := objectOf(method, p)
			if err != nil {
				bad := hns.FieldErrors(err)
				if len(bad) != 1 || !strings.HasSuffix(bad[0].Path, "Policies[0]") {
					t.Errorf("%s %T: %v", method, p, err)
				}
				continue
			}
			if _, err := v1doc.ToV2(kind, doc); err != nil {
				t.Errorf("%s %T was written, and is refused: %v", method, p, err)
			}
			same(t, fmt.Sprintf("%s %T", method, p), []any{p}, back)
		}
		slices.Sort(have)
		same(t, "types in the table of this test, "+method, declared(t, method), have)
	}
	refused := 0
	for _, p := range samples["endpointPolicy"] {
		if _, _, _, err := objectOf("endpointPolicy", p); err != nil {
			refused++
		}
	}
	same(t, "types of endpoints that schema 1 does not know", 7, refused)
}

// declared returns the types of package hns that have the method.
func declared(t *testing.T, method string) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no sources", err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == method && f.Recv != nil && !strings.HasSuffix(name, "_test.go") {
				names = append(names, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// What a dump holds and schema 1 does not know stays where it was read, wherever
// it moves, and does not open a door for more.
func TestUnknownPoliciesStay(t *testing.T) {
	const doc = `{"Name":"e","Policies":[{"Type":"QOS","MaximumOutgoingBandwidthInBytes":5},{"Type":"Odd","A":1}]}`
	e := read(t, v1doc.DecodeEndpoint, []byte(doc))
	e.Policies = e.Policies[1:]
	if got, want := written(t, v1doc.EncodeEndpoint, e), `{"Name":"e","Policies":[{"Type":"Odd","A":1}]}`; got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
	for _, more := range []hns.EndpointPolicy{e.Policies[0], hns.RawPolicy{Type: "Odd", Settings: json.RawMessage(`{"A":2}`)}, hns.PortName{Name: "x"}} {
		changed := *e
		changed.Policies = append(slices.Clone(e.Policies), more)
		if _, err := v1doc.EncodeEndpoint(&changed); len(hns.FieldErrors(err)) != 1 || hns.FieldErrors(err)[0].Path != "Policies[1]" {
			t.Errorf("%v: %v", more, err)
		}
	}
}

// A list whose policies say different things is no one load balancer. It is kept
// as it is, and what its policies say is not changed.
func TestListsThatDisagree(t *testing.T) {
	const (
		refs   = `{"References":["/endpoints/2b000000-0000-4000-8000-0000000000ab"],"Policies":[`
		first  = `{"Type":"ELB","SourceVIP":"10.1.0.9","VIPs":["10.96.0.1"],"InternalPort":80,"ExternalPort":80,"Protocol":6}`
		second = `{"Type":"ELB","VIPs":["10.96.0.2"],"InternalPort":81,"ExternalPort":81,"Protocol":6}`
		other  = `{"Type":"ROUTE","DestinationPrefix":"10.0.0.0/8"}`
	)
	for doc, want := range map[string][]string{
		refs + first + "," + second + "]}": {"Policies[1].SourceVIP", "Policies[1].VIPs"},
		refs + first + "," + other + "]}":  {"Policies[1]"},
	} {
		for _, change := range []func(*hns.LoadBalancer){
			func(l *hns.LoadBalancer) { l.PortMappings = l.PortMappings[1:] },
			func(l *hns.LoadBalancer) { l.PortMappings[0].InternalPort = 90 },
			func(l *hns.LoadBalancer) { l.FrontendVIPs = []netip.Addr{someAddress} },
		} {
			l := read(t, v1doc.DecodeLoadBalancer, []byte(doc))
			l.PortMappings = append(l.PortMappings[:len(l.PortMappings):len(l.PortMappings)], hns.LoadBalancerPortMapping{Protocol: hns.UDP, InternalPort: 53, ExternalPort: 53})
			change(l)
			_, err := v1doc.EncodeLoadBalancer(l)
			var paths []string
			for _, e := range hns.FieldErrors(err) {
				paths = append(paths, e.Path)
			}
			same(t, "complaints", want, paths)
			l.Document = hns.Document{} // written anew
			back := read(t, v1doc.DecodeLoadBalancer, []byte(written(t, v1doc.EncodeLoadBalancer, l)))
			back.Document = hns.Document{}
			same(t, "load balancer", l, back)
		}
		l := read(t, v1doc.DecodeLoadBalancer, []byte(doc))
		l.Endpoints = []hns.ID{{7}} // not of its policies
		if got := written(t, v1doc.EncodeLoadBalancer, l); !strings.Contains(got, "/endpoints/07000000-") || !strings.Contains(got, strings.TrimPrefix(doc, refs)[:20]) {
			t.Errorf("wrote %s", got)
		}
	}
	r := read(t, v1doc.DecodeRoute, []byte(refs+first+","+other+"]}"))
	r.Routes[0].NextHop = someAddress
	if _, err := v1doc.EncodeRoute(r); len(hns.FieldErrors(err)) != 1 {
		t.Errorf("route: %v", err)
	}
}
