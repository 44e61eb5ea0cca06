package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// policyList returns the body of a policy list; references are put in front of
// "/endpoints/" as they are.
func policyList(references []string, policies ...string) string {
	return fmt.Sprintf(`{"References":["/endpoints/%s"],"Policies":[%s]}`, strings.Join(references, `","/endpoints/`), strings.Join(policies, ","))
}

// Both schemas see one store.
func TestPolicyListsInBothSchemas(t *testing.T) {
	tests := []struct {
		name, policy string
		kind         hns.Kind
		v2           map[string]string // path of member names by dots, and the text there
	}{
		{"load balancer", `{"Type":"ELB","Protocol":6,"InternalPort":8080,"ExternalPort":80,"SourceVIP":"10.50.3.9","VIPs":["10.96.0.20"],"IsDSR":true}`,
			hns.KindLoadBalancer, map[string]string{"Flags": "1", "SourceVIP": "10.50.3.9", "FrontendVIPs.0": "10.96.0.20",
				"PortMappings.0.Protocol": "6", "PortMappings.0.InternalPort": "8080", "PortMappings.0.ExternalPort": "80"}},
		{"node port", `{"Type":"elb","Protocol":17,"InternalPort":53,"ExternalPort":53}`,
			hns.KindLoadBalancer, map[string]string{"PortMappings.0.Protocol": "17", "FrontendVIPs": "<nil>", "Flags": "<nil>"}},
		{"internal, of all ports", `{"Type":"ELB","ILB":true,"InternalPort":0,"ExternalPort":0,"VIPs":["10.96.0.20"]}`,
			hns.KindLoadBalancer, map[string]string{"PortMappings.0.Flags": "1", "PortMappings.0.Protocol": "<nil>"}},
		{"IPv6", `{"Type":"ELB","Protocol":6,"InternalPort":80,"ExternalPort":80,"VIPs":["fd00:96::9"]}`,
			hns.KindLoadBalancer, map[string]string{"Flags": "2", "FrontendVIPs.0": "fd00:96::9"}},
		{"blank VIP", `{"Type":"ELB","InternalPort":80,"ExternalPort":80,"VIPs":[""]}`, // as PowerShell sends it
			hns.KindLoadBalancer, map[string]string{"FrontendVIPs": "<nil>"}},
		{"route", `{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true}`,
			hns.KindRoute, map[string]string{"Routes.0.DestinationPrefix": "10.96.0.0/12", "Setting.0.NeedEncap": "true", "Routes.0.Type": "<nil>"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t)
			lake := n.lake()
			ep := n.backends(lake, 1)[0]
			doc, code := n.call("POST", "/policylists/", policyList([]string{ep.Upper()}, tt.policy))
			if code != 0 {
				t.Fatal(code)
			}
			id := n.parse(text(t, doc, "ID"))
			for path, want := range map[string]string{"ID": id.Upper(), "HostComputeNetwork": lake.Upper(), "IsApplied": "true", "State": "2",
				"References.0": "/endpoints/" + ep.Upper()} {
				if got := fmt.Sprint(at(t, doc, split(path)...)); got != want {
					t.Errorf("schema 1: %s is %s, want %s", path, got, want)
				}
			}
			v2 := n.get(tt.kind, id)
			tt.v2["HostComputeEndpoints.0"] = ep.String()
			for path, want := range tt.v2 {
				if got := fmt.Sprint(at(t, v2, split(path)...)); got != want {
					t.Errorf("schema 2: %s is %s, want %s", path, got, want)
				}
			}
			for _, path := range []string{"/policylists/" + id.String(), "policylists/" + id.Upper() + "/"} {
				if got, _ := n.call("GET", path, ""); string(got) != string(doc) {
					t.Errorf("GET %s: %s", path, got)
				}
			}
			if out, code := n.call("DELETE", "/policylists/"+id.Upper(), ""); code != 0 || out != nil {
				t.Errorf("delete: %s %s", out, code)
			}
			if _, code := n.call("GET", "/policylists/"+id.Upper(), ""); code != hns.CodeElementNotFound {
				t.Errorf("once deleted: %s", code)
			}
			if out, _ := n.call("GET", "/policylists", ""); string(out) != "[]" {
				t.Errorf("left: %s", out)
			}
		})
	}
}

func TestV2ListsInV1(t *testing.T) {
	n := newNode(t)
	eps := n.backends(n.lake(), 2)
	lb := n.id(hns.KindLoadBalancer, balancer(eps, `,"SourceVIP":"10.50.3.9"`, vips("10.96.0.20"), `,"PortMappings":[`+
		`{"Protocol":6,"InternalPort":8080,"ExternalPort":80,"Flags":1},{"Protocol":17,"InternalPort":53,"ExternalPort":53}],"Flags":1`))
	r := n.id(hns.KindRoute, route(eps[:1], "Setting", someRoute))
	want := map[hns.ID]string{
		lb: `"Policies":[{"ExternalPort":80,"ILB":true,"InternalPort":8080,"IsDSR":true,"Protocol":6,"SourceVIP":"10.50.3.9","Type":"ELB","VIPs":["10.96.0.20"]},` +
			`{"ExternalPort":53,"InternalPort":53,"IsDSR":true,"Protocol":17,"SourceVIP":"10.50.3.9","Type":"ELB","VIPs":["10.96.0.20"]}],` +
			`"References":["/endpoints/` + eps[0].String() + `","/endpoints/` + eps[1].String() + `"]`,
		r: `"Policies":[{"DestinationPrefix":"169.254.169.254/24","NextHop":"127.10.0.34","Type":"ROUTE"}],"References":["/endpoints/` + eps[0].String() + `"]`,
	}
	for id, w := range want {
		if out, code := n.call("GET", "/policylists/"+id.String(), ""); code != 0 || !strings.Contains(string(out), w) {
			t.Errorf("%s %s\nwant %s", code, out, w)
		}
	}
	out, _ := n.call("GET", "/policylists/", "")
	if text(t, out, 0, "ID") != lb.Upper() || text(t, out, 1, "ID") != r.Upper() || at(t, out, 2) != nil {
		t.Errorf("all: %s", out)
	}
	// A schema 1 body through the schema 2 API, as with other kinds.
	n.delete(hns.KindLoadBalancer, lb)
	doc := n.made(hns.KindLoadBalancer, policyList([]string{eps[0].Upper()}, `{"Type":"ELB","InternalPort":80,"ExternalPort":80}`))
	if got := text(t, doc, "HostComputeEndpoints", 0); got != eps[0].String() {
		t.Errorf("made of a schema 1 body: %s", doc)
	}
}

func TestPolicyListsRefused(t *testing.T) {
	n := newNode(t)
	lake, pond := n.lake(), n.pond()
	ep, nat := n.backends(lake, 1)[0].Upper(), n.backends(pond, 1)[0].Upper()
	const web = `{"Type":"ELB","Protocol":6,"InternalPort":80,"ExternalPort":80,"VIPs":["10.96.0.20"]}`
	const way = `{"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12"}`
	tests := []struct {
		name, body string
		want       hns.Code
	}{
		// aws/containers-roadmap#240
		{"no references", `{"References":[],"Policies":[` + web + `]}`, hns.CodeInvalidPolicy},
		{"no policies", policyList([]string{ep}), hns.CodeInvalidPolicy},
		{"another type", policyList([]string{ep}, `{"Type":"OutBoundNAT"}`), hns.CodeInvalidPolicyType},
		{"both types", policyList([]string{ep}, web, way), hns.CodeInvalidPolicyType},
		{"a reference that is not there", policyList([]string{hns.NewID().String()}, web), hns.CodeInvalidJSONReference},
		{"a reference to something else", `{"References":["/networks/` + lake.String() + `"],"Policies":[` + web + `]}`, hns.CodeInvalidJSONReference},
		{"a bare id", `{"References":["` + ep + `"],"Policies":[{"Type":"ELB","InternalPort":1,"ExternalPort":1}]}`, 0},
		{"port is a text", policyList([]string{ep}, `{"Type":"ELB","InternalPort":"http","ExternalPort":80}`), hns.CodeInvalidPolicy},
		{"no internal port", policyList([]string{ep}, `{"Type":"ELB","Protocol":6,"InternalPort":0,"ExternalPort":80}`), hns.CodeInvalidInternalPort},
		{"two ELB of one VIP", policyList([]string{ep}, web, strings.ReplaceAll(web, "80", "81")), 0},
		{"two ELB of two VIPs", policyList([]string{ep}, web, strings.Replace(web, ".20", ".21", 1)), hns.CodeInvalidPolicy},
		{"port taken", policyList([]string{ep}, strings.Replace(web, `"InternalPort":80`, `"InternalPort":90`, 1)), hns.CodePortExists},
		{"two routes", policyList([]string{ep}, way, way), 0},
		// microsoft/hcsshim#470
		{"route on NAT", policyList([]string{nat}, way), hns.CodeInvalidPolicyType},
		{"load balancer on NAT", policyList([]string{nat}, web), hns.CodeInvalidNetworkType},
		{"policies are no list", `{"Policies":7}`, hns.CodeInvalidJSON},
		{"empty body", ``, hns.CodeInvalidJSON},
		{"no JSON", `{`, hns.CodeInvalidJSON},
	}
	for _, tt := range tests {
		before := n.state()
		out, code := n.call("POST", "/policylists/", tt.body)
		if code != tt.want {
			t.Errorf("%s: %s %s, want %s", tt.name, code, out, tt.want)
		}
		if code != 0 && n.state() != before {
			t.Errorf("%s: a refused call changed the state", tt.name)
		}
	}
	lists, _ := n.call("GET", "/policylists/", "")
	id := text(t, lists, 0, "ID")
	for _, c := range []struct{ method, path string }{{"POST", "/policylists/" + id}, {"PUT", "/policylists/" + id}, {"POST", "/policylists/" + id + "/attach"}} {
		if _, code := n.call(c.method, c.path, "{}"); code != hns.CodeRequestUnsupported {
			t.Errorf("%s %s: %s", c.method, c.path, code)
		}
	}
}

// The way of hcsshim's schema 1 package to change the endpoints of a list: it
// compares references as texts.
func TestPolicyListIsMadeAnew(t *testing.T) {
	n := newNode(t)
	eps := n.backends(n.lake(), 2)
	made, code := n.call("POST", "/policylists/", policyList([]string{eps[0].Upper(), eps[1].Upper()}, `{"Type":"ELB","Protocol":6,"InternalPort":80,"ExternalPort":80}`))
	if code != 0 {
		t.Fatal(code)
	}
	n.call("DELETE", "/policylists/"+text(t, made, "ID"), "")
	less := strings.Replace(string(made), `,"/endpoints/`+eps[1].Upper()+`"`, "", 1)
	again, code := n.call("POST", "/policylists/", less)
	if code != 0 {
		t.Fatal(code)
	}
	if diff := cmp.Diff(less, string(again)); diff != "" {
		t.Error(diff)
	}
}

func TestAccelnet(t *testing.T) {
	n := newNode(t, version(emulator.WindowsServer2025))
	const none = `{"MacAddressList":[]}`
	const two = `{"MacAddressList":[{"MacAddress":"00-15-5D-0A-B7-C6"},{"MacAddress":"00-15-5D-38-01-00"}]}`
	const one = `{"MacAddressList":[{"MacAddress":"02:00:5e:00:00:01"}]}`
	for _, step := range []struct {
		method, path, body, want string
		code                     hns.Code
	}{
		{"GET", "/accelnet/", "", none, 0},
		{"POST", "/accelnet/", two, two, 0},
		{"GET", "/accelnet", "", two, 0},
		{"POST", "/accelnet", one, one, 0},
		{"POST", "/accelnet/", `{"MacAddressList":[{"MacAddress":"x"}]}`, "", hns.CodeInvalidParameter},
		{"POST", "/accelnet/", `{"MacAddressList":7}`, "", hns.CodeInvalidJSON},
		{"PUT", "/accelnet/", one, "", hns.CodeRequestUnsupported},
		{"GET", "/accelnet/x", "", "", hns.CodeRequestUnsupported},
		{"GET", "/accelnet/", "", one, 0},
		{"DELETE", "/accelnet/", "", none, 0},
		{"GET", "/accelnet/", "", none, 0},
	} {
		out, code := n.call(step.method, step.path, step.body)
		if code != step.code || string(out) != step.want {
			t.Errorf("%s %s %s: %s %s, want %s %s", step.method, step.path, step.body, code, out, step.code, step.want)
		}
	}
	if _, code := newNode(t).call("GET", "/accelnet/", ""); code != hns.CodeRequestUnsupported {
		t.Errorf("on Windows Server 2022: %s", code)
	}
}

func TestEmptyLists(t *testing.T) {
	n := newNode(t)
	for _, path := range []string{"/activities", "/plugins/", "/policylists/", "/endpointstats/", "/namespaces"} {
		if out, code := n.call("GET", path, ""); code != 0 || string(out) != "[]" {
			t.Errorf("%s: %s %s", path, code, out)
		}
	}
	for _, path := range []string{"/activities/1", "/plugins/x"} {
		if _, code := n.call("GET", path, ""); code != hns.CodeRequestUnsupported {
			t.Errorf("%s: %s", path, code)
		}
	}
}
