package cniplugin_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// policies reads the values of EndpointPolicies.
func policies(values ...string) ([]hns.EndpointPolicy, error) {
	var list []string
	for _, v := range values {
		list = append(list, `{"name": "EndpointPolicy", "value": `+v+`}`)
	}
	c, err := cniplugin.ParseConfig(config(`"name": "lake"`, `"policies": [`+strings.Join(list, ",")+`]`))
	if err != nil {
		return nil, err
	}
	return c.Policies, nil
}

// Policies of either schema become policies of schema 2.
func TestPolicies(t *testing.T) {
	const service = `{"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}}`
	tests := []struct{ name, value, want string }{
		{"OutBoundNAT", `{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.50.0.0/16", "10.96.0.0/12"]}}`,
			`{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.50.0.0/16", "10.96.0.0/12"]}}`},
		// projectcalico/cni-plugin#1067: HNS would see no exceptions.
		{"OutBoundNAT of v1", `{"Type": "OutBoundNAT", "ExceptionList": ["10.50.0.0/16", "10.96.0.0/12"]}`,
			`{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.50.0.0/16", "10.96.0.0/12"]}}`},
		{"v1 name in Settings", `{"type": "outboundnat", "settings": {"exceptionList": ["10.50.0.0/16"]}}`,
			`{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.50.0.0/16"]}}`},
		{"VIP of v1", `{"Type": "OutBoundNAT", "VIP": "192.0.2.9", "Destinations": ["198.51.100.0/24"]}`,
			`{"Type": "OutBoundNAT", "Settings": {"VirtualIP": "192.0.2.9", "Destinations": ["198.51.100.0/24"]}}`},
		{"no exceptions at all", `{"Type": "OutBoundNAT", "Settings": {"Flags": 2}}`, `{"Type": "OutBoundNAT", "Settings": {"Flags": 2}}`},
		{"ROUTE of v1", `{"Type": "ROUTE", "DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}`, service},
		{"SDNROUTE, flat", `{"Type": "SDNROUTE", "DestinationPrefix": "10.96.0.0/12", "NextHop": "10.50.3.2"}`,
			`{"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NextHop": "10.50.3.2"}}`},
		{"SDNRoute", service, service},
		{"PA of v1", `{"Type": "PA", "PA": "192.0.2.7"}`, `{"Type": "ProviderAddress", "Settings": {"ProviderAddress": "192.0.2.7"}}`},
		{"NAT of v1", `{"Type": "NAT", "Protocol": "udp", "InternalPort": 53, "ExternalPort": 5353, "ExternalPortReserved": true}`,
			`{"Type": "PortMapping", "Settings": {"Protocol": 17, "InternalPort": 53, "ExternalPort": 5353, "Flags": 4}}`},
		{"NAT of v1 by number", `{"Type": "NAT", "Protocol": 6, "InternalPort": 80, "ExternalPort": 8080, "ExternalPortReserved": false}`,
			`{"Type": "PortMapping", "Settings": {"Protocol": 6, "InternalPort": 80, "ExternalPort": 8080}}`},
		// microsoft/hcsshim#1951: Windows Server 2022 refuses host bits.
		{"host bits", `{"Type": "OutBoundNAT", "ExceptionList": ["172.17.0.1/16", "10.96.0.10"]}`,
			`{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["172.17.0.0/16", "10.96.0.10"]}}`},
		{"host bits of a route", `{"Type": "ROUTE", "DestinationPrefix": "10.96.0.1/12", "NeedEncap": true}`, service},
		{"as it stands", `{"Type": "ACL", "Settings": {"Protocols": "6", "Action": "Block", "Direction": "Out", "RuleType": "Switch", "Priority": 200, "Id": "<&>"}}`,
			`{"Type": "ACL", "Settings": {"Protocols": "6", "Action": "Block", "Direction": "Out", "RuleType": "Switch", "Priority": 200, "Id": "<&>"}}`},
		{"a member that is new", `{"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "New": 1}}`,
			`{"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "New": 1}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := policies(tt.value)
			if err != nil {
				t.Fatal(err)
			}
			sent := policiesOf(t, &hns.Endpoint{Policies: got})
			if len(sent) != 1 {
				t.Fatalf("policies %v", sent)
			}
			if strings.Contains(sent[0], `\u00`) {
				t.Errorf("escaped for HTML: %s", sent[0])
			}
			if diff := cmp.Diff(decoded(t, tt.want), decoded(t, sent[0])); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What HNS would refuse, drop or choke on later is an error with its path.
func TestBadPolicies(t *testing.T) {
	const at = "policies[0].value"
	tests := []struct {
		name, value string
		paths       []string
		text        string
	}{
		{"no value", `null`, []string{at}, "missing"},
		{"a text", `"OutBoundNAT"`, []string{at}, "string"},
		{"no type", `{"Settings": {}}`, []string{at}, "Type is missing"},
		{"type as number", `{"Type": 7}`, []string{at}, "Type is not a text"},
		{"settings as list", `{"Type": "ACL", "Settings": []}`, []string{at}, "Settings is not an object"},
		// projectcalico/calico#8465, containernetworking/plugins#1004: HNS says
		// "invalid policy" and not which.
		{"no such type", `{"Type": "Bogus", "Settings": {}}`, []string{at + ".Type"}, "Bogus"},
		{"flat ACL", `{"Type": "ACL", "Protocol": 6, "Action": "Block"}`, []string{at}, "inside Settings"},
		{"flat member of no schema", `{"Type": "ROUTE", "DestinationPrefix": "10.96.0.0/12", "Hop": "x"}`, []string{at}, "no member Hop"},
		{"twice", `{"Type": "OutBoundNAT", "ExceptionList": [], "Settings": {"Exceptions": []}}`, []string{at}, "Exceptions twice"},
		{"no settings", `{"Type": "OutBoundNAT"}`, []string{at + ".Settings"}, "missing"},
		{"protocol", `{"Type": "NAT", "Protocol": "sctp", "InternalPort": 1, "ExternalPort": 1}`, []string{at}, "sctp"},
		{"flag", `{"Type": "NAT", "ExternalPortReserved": "yes"}`, []string{at}, "ExternalPortReserved"},
		// containerd/containerd#5729, projectcalico/calico#5189: marks that nobody
		// filled in make an endpoint that can never be attached.
		{"marks", `{"Type": "OutBoundNAT", "ExceptionList": ["<your service cidr>", "10.50.0.0/16", ""]}`,
			[]string{at + ".Settings.Exceptions[0]", at + ".Settings.Exceptions[2]"}, "<your service cidr>"},
		{"mark in a route", `{"Type": "ROUTE", "DestinationPrefix": "<your service cidr>", "NeedEncap": true}`,
			[]string{at + ".Settings.DestinationPrefix"}, "<your service cidr>"},
		{"too long", `{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.96.0.0/33"]}}`, []string{at + ".Settings.Exceptions[0]"}, "10.96.0.0/33"},
		{"mark in an address", `{"Type": "PA", "PA": "ip of host"}`, []string{at + ".Settings.ProviderAddress"}, "ip of host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := policies(tt.value)
			if codeOf(err) != types.ErrInvalidNetworkConfig || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("code %d, %v; want 7 and %q", codeOf(err), err, tt.text)
			}
			if diff := cmp.Diff(tt.paths, paths(err)); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
	for member, want := range map[string][]string{
		`"policies": [null]`: {"policies[0]"},
		`"policies": [{"name": "NetworkPolicy", "value": {"Type": "ACL"}}, {"value": {}}]`: {"policies[0].name", "policies[1].name"},
		`"policies": [7]`: {"policies[0]"},
	} {
		_, err := cniplugin.ParseConfig(config(`"name": "lake"`, member))
		if diff := cmp.Diff(want, paths(err)); diff != "" {
			t.Errorf("%s: paths (-want +got):\n%s", member, diff)
		}
	}
}

// HNS refuses a policy without saying which: the error lists what it was sent, and
// the lease is given back.
func TestPolicyThatHNSRefuses(t *testing.T) {
	n := newBridge(t, nil)
	n.hns.Inject(emulator.Fault{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Code: hns.CodeInvalidPolicy})
	_, err := n.pod("sbx-01").add(`"policies": [{"name": "EndpointPolicy", "value": {"Type": "ACL", "Settings": {"Action": "Block", "Direction": "Out", "RuleType": "Switch", "Priority": 200}}}]`, `"ipMasq": true`)
	if !errors.Is(err, hns.ErrInvalidPolicy) || !strings.Contains(err.Error(), "[0] ACL, [1] OutBoundNAT") {
		t.Errorf("error %v, want ErrInvalidPolicy and the list of policies", err)
	}
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// policiesOf are the policies of the pod's endpoint as JSON.
func policiesOf(t *testing.T, e *hns.Endpoint) []string {
	t.Helper()
	doc, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Policies []json.RawMessage
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range d.Policies {
		out = append(out, string(p))
	}
	return out
}

// Source NAT: who asks for it, and what is left alone.
func TestMasquerade(t *testing.T) {
	const nat = `{"Type":"OutBoundNAT","Settings":{"Exceptions":[`
	tests := []struct {
		name    string
		node    func(testing.TB, *emulator.Options) *node
		members []string
		want    []string
	}{
		{"nobody asks", newBridge, nil, nil},
		{"ipMasqNetwork asks win-bridge", newBridge, []string{`"ipMasqNetwork": "10.50.0.0/16"`}, []string{nat + `"10.50.0.0/16"]}}`}},
		// kubernetes-sigs/sig-windows-tools#104: false means no.
		{"false, whatever the network", newBridge, []string{`"ipMasq": false`, `"ipMasqNetwork": "10.50.0.0/16"`}, nil},
		{"all networks of flannel", newBridge, []string{`"ipMasq": true`, `"ipMasqNetwork": "10.50.0.0/16"`, `"ipMasqNetworks": ["10.50.0.0/16", "10.70.0.0/16"]`},
			[]string{nat + `"10.50.0.0/16","10.70.0.0/16"]}}`}},
		{"true, and no network", newBridge, []string{`"ipMasq": true`}, []string{nat + `"10.50.3.0/24"]}}`}},
		{"into the user's policy", newBridge, []string{`"ipMasqNetwork": "10.50.0.0/16"`,
			`"policies": [{"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT", "ExceptionList": ["10.96.0.0/12"]}}]`},
			[]string{nat + `"10.96.0.0/12","10.50.0.0/16"]}}`}},
		{"the user's policy alone", newBridge, []string{`"ipMasq": false`,
			`"policies": [{"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT", "ExceptionList": ["10.96.0.0/12"]}}]`},
			[]string{nat + `"10.96.0.0/12"]}}`}},
		{"ipMasqNetwork does not ask win-overlay", newOverlay, []string{`"ipMasqNetwork": "10.60.0.0/16"`}, []string{provider}},
		{"win-overlay leaves its subnet alone", newOverlay, []string{`"ipMasq": true`, `"ipMasqNetwork": "10.60.0.0/16"`},
			[]string{nat + `"10.60.0.0/16","10.60.4.0/24"]}}`, provider}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.node(t, nil).pod("sbx-01")
			p.mustAdd(tt.members...)
			if diff := cmp.Diff(tt.want, policiesOf(t, p.endpoint())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// provider is the policy of every Overlay endpoint.
const provider = `{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.10"}}`
