package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// balancer returns the document of a load balancer over endpoints; more is put
// behind, such as `,"Flags":1`.
func balancer(backends []hns.ID, more ...string) string {
	ids := make([]string, len(backends))
	for i, id := range backends {
		ids[i] = fmt.Sprintf("%q", id)
	}
	return `{"HostComputeEndpoints":[` + strings.Join(ids, ",") + `],` + schema2 + strings.Join(more, "") + `}`
}

// vips and port are members of a load balancer's document.
func vips(addresses ...string) string {
	return fmt.Sprintf(`,"FrontendVIPs":["%s"]`, strings.Join(addresses, `","`))
}

func port(protocol, internal, external int, more ...string) string {
	return fmt.Sprintf(`,"PortMappings":[{"Protocol":%d,"InternalPort":%d,"ExternalPort":%d%s}]`,
		protocol, internal, external, strings.Join(more, ""))
}

// backends makes endpoints on a network.
func (n *node) backends(network hns.ID, count int) (ids []hns.ID) {
	n.Helper()
	for range count {
		ids = append(ids, n.id(hns.KindEndpoint, endpoint(network, "backend")))
	}
	return ids
}

func TestLoadBalancerComesBack(t *testing.T) {
	n := newNode(t)
	fjord := n.fjord()
	eps := n.backends(fjord, 2)
	doc := n.made(hns.KindLoadBalancer, balancer([]hns.ID{eps[1], eps[0]}, `,"SourceVIP":"10.0.0.1"`, vips("10.96.0.20", "10.96.0.21"),
		port(6, 8080, 8090, `,"DistributionType":"SourceIP","Flags":8`), `,"Flags":1,"Dns":{},"Strange":1`))
	id := text(t, doc, "ID")
	want := fmt.Sprintf(`{"ID":%q,"Version":55834574851,%s,"State":2,"HostComputeNetwork":%q,"HostComputeEndpoints":[%q,%q],`+
		`"SourceVIP":"10.0.0.1","FrontendVIPs":["10.96.0.20","10.96.0.21"],`+
		`"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":8090,"DistributionType":2,"Flags":8}],"Flags":1}`,
		id, schema2, fjord, eps[1], eps[0])
	if diff := cmp.Diff(want, string(doc)); diff != "" {
		t.Error(diff)
	}
	if got := string(n.get(hns.KindLoadBalancer, n.parse(id))); got != want {
		t.Errorf("get: %s", got)
	}
	for filter, count := range map[string]int{
		"": 1, `{"ID":"` + strings.ToUpper(id) + `"}`: 1, `{"ID":"` + fjord.String() + `"}`: 0, `{"Flags":1}`: 1, `{"Flags":2}`: 0, `{"ID":""}`: 0,
		`{"HostComputeNetwork":"` + fjord.Upper() + `"}`: 1,
	} {
		if got := n.list(hns.KindLoadBalancer, filter); len(got) != count {
			t.Errorf("filter %s: %d found, want %d", filter, len(got), count)
		}
	}
	if code := n.delete(hns.KindLoadBalancer, n.parse(id)); code != 0 {
		t.Error(code)
	}
	for _, verb := range []hns.Verb{hns.VerbGet, hns.VerbDelete, hns.VerbModify} {
		if _, code := n.try(hns.Request{Verb: verb, Kind: hns.KindLoadBalancer, ID: n.parse(id)}); code != hns.CodeElementNotFound {
			t.Errorf("%s once deleted: %s", verb, code)
		}
	}
}

func TestCreateLoadBalancerRefused(t *testing.T) {
	const web = `,"PortMappings":[{"Protocol":"TCP","InternalPort":80,"ExternalPort":80}]`
	ws2019 := version(emulator.WindowsServer2019)
	tests := []struct {
		name, more string
		want       hns.Code
		change     func(*emulator.Options)
	}{
		{name: "no VIP", more: web},
		{name: "VIP", more: web + vips("10.96.0.20")},
		{name: "blank VIP", more: web + vips("")},
		{name: "VIP unreadable", more: web + vips("web"), want: hns.CodeInvalidIP},
		{name: "VIP is a prefix", more: web + vips("10.96.0.20/32"), want: hns.CodeInvalidIP},
		{name: "source VIP unreadable", more: web + `,"SourceVIP":"<ip>"`, want: hns.CodeInvalidIP},
		{name: "source VIP 0.0.0.0", more: web + `,"SourceVIP":"0.0.0.0"`},
		// kubernetes/kubernetes#115501, #136240
		{name: "families mixed", more: web + vips("10.96.0.9", "fd00:96::9"), want: hns.CodeInvalidParameter},
		{name: "IPv6 without flag", more: web + vips("fd00:96::9"), want: hns.CodeInvalidParameter},
		{name: "IPv6", more: web + vips("fd00:96::9") + `,"Flags":2`},
		{name: "IPv6 with IPv4 source", more: web + vips("fd00:96::9") + `,"Flags":2,"SourceVIP":"10.0.0.1"`, want: hns.CodeInvalidParameter},
		{name: "IPv6 on old HNS", more: web + `,"Flags":2`, want: hns.CodeInvalidParameter, change: ws2019},
		{name: "DSR", more: web + `,"Flags":1`, change: ws2019},
		{name: "DSR too early", more: web + `,"Flags":1`, want: hns.CodeInvalidParameter, change: version(emulator.WindowsServer2019KB4489899)},
		{name: "unknown flag", more: web + `,"Flags":1024`},
		{name: "no port mapping", want: hns.CodeInvalidPolicy},
		{name: "no internal port", more: port(6, 0, 80), want: hns.CodeInvalidInternalPort},
		{name: "no external port", more: port(6, 80, 0), want: hns.CodeInvalidParameter},
		{name: "all of an internal one", more: port(0, 0, 0, `,"Flags":1`) + vips("10.96.0.20")}, // as Docker's swarm sends it
		{name: "all of an external one", more: port(0, 0, 0), want: hns.CodeInvalidInternalPort},
		{name: "both protocols", more: port(0, 80, 80)},
		{name: "port too high", more: port(6, 80, 65536), want: hns.CodeInvalidJSON},
		{name: "unknown protocol", more: `,"PortMappings":[{"Protocol":"carrier pigeon","InternalPort":80,"ExternalPort":80}]`, want: hns.CodeInvalidJSON},
		{name: "unknown distribution", more: port(6, 80, 80, `,"DistributionType":3`), want: hns.CodeInvalidJSON},
		{name: "mappings are no list", more: `,"PortMappings":{}`, want: hns.CodeInvalidJSON},
		{name: "two ports", more: `,"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":80},{"Protocol":6,"InternalPort":81,"ExternalPort":81}]`},
		{name: "a port twice", more: `,"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":80},{"Protocol":6,"InternalPort":81,"ExternalPort":80}]`, want: hns.CodePortExists},
		{name: "another network named", more: web + `,"HostComputeNetwork":"11111111-2222-4333-8444-555555555501"`, want: hns.CodeInvalidParameter},
		{name: "bad id", more: web + `,"ID":"lb"`, want: hns.CodeGUIDConversion},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.change
			if change == nil {
				change = func(*emulator.Options) {}
			}
			n := newNode(t, change)
			doc := balancer(n.backends(n.lake(), 1), tt.more)
			before := n.state()
			if _, code := n.create(hns.KindLoadBalancer, doc); code != tt.want {
				t.Fatalf("code %s, want %s", code, tt.want)
			} else if code != 0 && n.state() != before {
				t.Error("a refused create changed the state")
			}
		})
	}
}

func TestLoadBalancerBackends(t *testing.T) {
	n := newNode(t)
	lake, fjord, pond := n.lake(), n.fjord(), n.pond()
	a, b, c := n.backends(lake, 1)[0], n.backends(fjord, 1)[0], n.backends(pond, 1)[0]
	tests := []struct {
		name     string
		backends string
		want     hns.Code
		message  string
	}{
		// kubernetes/kubernetes#100384, #106936
		{"none", ``, hns.CodeInvalidJSONReference, "The reference is invalid in the JSON document. A Reference is required"},
		{"one that is not there", `"11111111-2222-4333-8444-555555555501"`, hns.CodeInvalidJSONReference, "The reference is invalid in the JSON document. "},
		{"no id", `"dead-id"`, hns.CodeInvalidJSONReference, "The reference is invalid in the JSON document. "},
		{"not a text", `7`, hns.CodeInvalidJSON, "Invalid JSON document string. "},
		{"on a NAT network", fmt.Sprintf("%q", c), hns.CodeInvalidNetworkType, "Invalid network type. "},
		{"on two networks", fmt.Sprintf("%q,%q", a, b), hns.CodeInvalidParameter, "The parameter is incorrect. "},
		{"in capitals", fmt.Sprintf("%q", a.Upper()), 0, ""},
		{"twice", fmt.Sprintf("%q,%q", b, b), 0, ""},
	}
	for i, tt := range tests {
		doc := `{"HostComputeEndpoints":[` + tt.backends + `],` + schema2 + port(6, 80, 80+i) + `}`
		resp, err := n.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindLoadBalancer, Document: []byte(doc)})
		if code := n.code(err); code != tt.want || message(err) != tt.message {
			t.Errorf("%s: %v, want %s %q", tt.name, err, tt.want, tt.message)
		}
		if err == nil && text(t, resp.Documents[0], "HostComputeEndpoints", 0) != strings.ToLower(strings.Trim(strings.Split(tt.backends, ",")[0], `"`)) {
			t.Errorf("%s: %s", tt.name, resp.Documents[0])
		}
	}
}

func TestLoadBalancersClash(t *testing.T) {
	const vip = "10.96.0.20"
	tests := []struct {
		name, first, second string
		otherBackend        bool
		want                hns.Code
	}{
		// kubernetes/kubernetes#139519
		{"the same again", port(6, 80, 80) + vips(vip), port(6, 80, 80) + vips(vip), false, hns.CodeAlreadyExists},
		{"the same in another form", port(6, 80, 80) + vips(vip, "10.96.0.21"), `,"PortMappings":[{"ExternalPort":80,"InternalPort":80,"Protocol":"TCP","Flags":0}]` +
			vips("10.96.0.21", vip), false, hns.CodeAlreadyExists},
		{"over another backend", port(6, 80, 80) + vips(vip), port(6, 80, 80) + vips(vip), true, hns.CodePortExists},
		{"to another internal port", port(6, 80, 80) + vips(vip), port(6, 81, 80) + vips(vip), false, hns.CodePortExists},
		{"one VIP in common", port(6, 80, 80) + vips(vip), port(6, 80, 80) + vips("10.96.0.21", vip), false, hns.CodePortExists},
		{"another VIP", port(6, 80, 80) + vips(vip), port(6, 80, 80) + vips("10.96.0.21"), false, 0},
		{"another port", port(6, 80, 80) + vips(vip), port(6, 80, 81) + vips(vip), false, 0},
		{"another protocol", port(6, 80, 80) + vips(vip), port(17, 80, 80) + vips(vip), false, 0},
		{"both protocols", port(6, 80, 80) + vips(vip), port(0, 80, 80) + vips(vip), false, hns.CodePortExists},
		// kubernetes/kubernetes#78874: a node port may equal the service's port.
		{"on the node and on a VIP", port(6, 80, 80) + vips(vip), port(6, 80, 80), false, 0},
		{"on the node twice", port(6, 80, 80), port(6, 81, 80), false, hns.CodePortExists},
		{"on the node and its address", port(6, 80, 80), port(6, 81, 80) + vips("192.0.2.10"), false, hns.CodePortExists},
		{"on the node and among VIPs", port(6, 80, 80), port(6, 81, 80) + vips(vip, "0.0.0.0"), false, hns.CodePortExists},
		{"on the node in two families", port(6, 80, 80), port(6, 80, 80) + `,"Flags":2`, false, 0},
		{"everything of a VIP and a port of it", port(0, 0, 0, `,"Flags":1`) + vips(vip), port(6, 80, 80) + vips(vip), false, 0},
		{"everything of a VIP twice", port(0, 0, 0, `,"Flags":1`) + vips(vip), port(0, 0, 0, `,"Flags":1`) + vips(vip), true, hns.CodePortExists},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			eps := n.backends(n.lake(), 2)
			n.made(hns.KindLoadBalancer, balancer(eps[:1], tt.first))
			backend := eps[:1]
			if tt.otherBackend {
				backend = eps[1:]
			}
			before := n.state()
			if _, code := n.create(hns.KindLoadBalancer, balancer(backend, tt.second)); code != tt.want {
				t.Errorf("code %s, want %s", code, tt.want)
			} else if code != 0 && n.state() != before {
				t.Error("a refused create changed the state")
			}
		})
	}
}

func TestLoadBalancerIDIsHonoured(t *testing.T) {
	n := newNode(t)
	eps := n.backends(n.fjord(), 2)
	first := n.id(hns.KindLoadBalancer, balancer(eps[:1], port(6, 8080, 8090), vips("10.96.0.20")))
	again := balancer(eps, port(6, 8080, 8090), vips("10.96.0.20"), fmt.Sprintf(`,"ID":%q`, first.Upper()))
	if _, code := n.create(hns.KindLoadBalancer, again); code != hns.CodeAlreadyExists {
		t.Errorf("while it is there: %s", code)
	}
	if code := n.delete(hns.KindLoadBalancer, first); code != 0 {
		t.Fatal(code)
	}
	doc := n.made(hns.KindLoadBalancer, again)
	if text(t, doc, "ID") != first.String() || text(t, doc, "HostComputeEndpoints", 1) != eps[1].String() {
		t.Errorf("%s, want the id %s in small letters and both backends", doc, first)
	}
}

func TestModifyLoadBalancer(t *testing.T) {
	ignored := func(o *emulator.Options) { o.IgnoreLoadBalancerModify = true }
	tests := []struct {
		version hns.Version
		change  func(*emulator.Options)
		want    hns.Code
		left    int
	}{
		{version: emulator.WindowsServer2022, want: hns.CodeNotImplemented, left: 1},
		{version: hns.Version{Major: 15, Minor: 3}, want: hns.CodeNotImplemented, left: 1},
		{version: emulator.WindowsServer2025, left: 2},
		// kubernetes/kubernetes#131466
		{version: emulator.WindowsServer2025, change: ignored, left: 1},
		{version: emulator.WindowsServer2025Serviced, change: ignored, left: 2},
	}
	for _, tt := range tests {
		n := newNode(t, version(tt.version))
		if tt.change != nil {
			n = newNode(t, version(tt.version), tt.change)
		}
		eps := n.backends(n.fjord(), 2)
		id := n.id(hns.KindLoadBalancer, balancer(eps[:1], port(6, 8080, 8090), vips("10.96.0.20")))
		doc := balancer(eps, port(6, 8080, 8090), vips("10.96.0.20"), fmt.Sprintf(`,"ID":%q`, id))
		if code := n.modify(hns.KindLoadBalancer, id, doc); code != tt.want {
			t.Errorf("%s: %s, want %s", tt.version, code, tt.want)
		}
		if got := len(at(t, n.get(hns.KindLoadBalancer, id), "HostComputeEndpoints").([]any)); got != tt.left {
			t.Errorf("%s: %d backends, want %d", tt.version, got, tt.left)
		}
	}
}

func TestModifyLoadBalancerKeepsTheRules(t *testing.T) {
	n := newNode(t, version(emulator.WindowsServer2025Serviced))
	eps := n.backends(n.lake(), 2)
	web := n.id(hns.KindLoadBalancer, balancer(eps[:1], port(6, 80, 80), vips("10.96.0.20")))
	n.id(hns.KindLoadBalancer, balancer(eps[:1], port(6, 80, 80), vips("10.96.0.21")))
	tests := []struct {
		name, doc string
		want      hns.Code
	}{
		{"as it is", balancer(eps[:1], port(6, 80, 80), vips("10.96.0.20")), 0},
		{"another port", balancer(eps, port(6, 81, 81), vips("10.96.0.20")), 0},
		{"port of another", balancer(eps, port(6, 80, 80), vips("10.96.0.21")), hns.CodePortExists},
		{"the same as another", balancer(eps[:1], port(6, 80, 80), vips("10.96.0.21")), hns.CodeAlreadyExists},
		{"no backends", balancer(nil, port(6, 80, 80)), hns.CodeInvalidJSONReference},
		{"another id", balancer(eps, port(6, 80, 80), `,"ID":"11111111-2222-4333-8444-555555555501"`), hns.CodeInvalidParameter},
		{"a request of other kinds", `{"RequestType":"Update",` + schema2 + `}`, hns.CodeInvalidJSONReference},
		{"no JSON", `{`, hns.CodeInvalidJSON},
	}
	for _, tt := range tests {
		if code := n.modify(hns.KindLoadBalancer, web, tt.doc); code != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, code, tt.want)
		}
	}
	if _, code := n.create(hns.KindLoadBalancer, balancer(eps[:1], port(6, 80, 80), vips("10.96.0.20"))); code != 0 {
		t.Errorf("the port that was given up: %s", code)
	}
	if _, code := n.create(hns.KindLoadBalancer, balancer(eps[:1], port(6, 81, 81), vips("10.96.0.20"))); code != hns.CodePortExists {
		t.Errorf("the port that was taken: %s", code)
	}
}
