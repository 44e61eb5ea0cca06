package emulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/golden"
)

// sameAsFile compares a text with a file of testdata.
func sameAsFile(t *testing.T, name, got string) {
	t.Helper()
	golden.File(t, filepath.Join("testdata", name), got)
}

// busyNode returns a node with something of everything.
func busyNode(t testing.TB) *node {
	n := newNode(t)
	lake, fjord, pond := n.lake(), n.fjord(), n.pond()
	ns := n.id(hns.KindNamespace, namespaceDoc)
	host := n.id(hns.KindEndpoint, endpoint(lake, "lake_ep", ip("10.50.3.2")+`,"MacAddress":"0e-2A-00-00-00-01"`))
	n.call("POST", "/endpoints/"+host.String()+"/attach", `{"SystemType":"Host","CompartmentId":1}`)
	pod := n.id(hns.KindEndpoint, endpoint(lake, "pod", policies(`{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.50.0.0/16"]}}`)))
	n.join("Add", ns, pod)
	n.container("Add", ns, "c1")
	n.id(hns.KindEndpoint, endpoint(fjord, "remote", ip("10.60.9.9"), `,"Flags":1`))
	n.policy(hns.KindNetwork, fjord, "Add", remoteSubnet("10.60.7.0/24", "192.0.2.7", "00-15-5D-01-02-03"))
	n.id(hns.KindEndpoint, endpoint(pond, "web", policies(mapping(8088, ""))))
	n.id(hns.KindLoadBalancer, balancer([]hns.ID{pod}, vips("10.96.0.20"), port(6, 8080, 80), `,"Flags":1`))
	n.call("POST", "/policylists/", `{"References":["/endpoints/`+host.Upper()+`"],"Policies":[{"Type":"ELB","Protocol":17,"InternalPort":53,"ExternalPort":53}]}`)
	n.id(hns.KindRoute, route([]hns.ID{pod, host}, "Setting", someRoute))
	return n
}

func TestSnapshotGolden(t *testing.T) {
	sameAsFile(t, "busy.json", busyNode(t).state())
}

func TestV1Golden(t *testing.T) {
	n := busyNode(t)
	var b strings.Builder
	for _, path := range []string{"/networks/", "/endpoints/", "/namespaces/", "/policylists/"} {
		out, code := n.call("GET", path, "")
		if code != 0 {
			t.Fatal(code)
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, out, "", " "); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n%s\n", path, &pretty)
	}
	sameAsFile(t, "busy-v1.txt", b.String())
}

func TestSnapshotLoadsBack(t *testing.T) {
	n := busyNode(t)
	s, err := n.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again := newNode(t)
	if err := again.Load(s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(n.state(), again.state()); diff != "" {
		t.Error(diff)
	}
	// What is loaded counts: names, addresses, ports, attachments.
	if _, code := again.create(hns.KindNetwork, network("lake", "L2Bridge", "10.9.0.0/24")); code != hns.CodeNetworkExists {
		t.Errorf("name: %s", code)
	}
	lake := again.parse(text(t, again.list(hns.KindNetwork, `{"Name":"lake"}`)[0], "ID"))
	if _, code := again.create(hns.KindEndpoint, endpoint(lake, "x", ip("10.50.3.2"))); code != hns.CodeObjectAlreadyExists {
		t.Errorf("address: %s", code)
	}
	if _, code := again.create(hns.KindEndpoint, endpoint(lake, "x", policies(mapping(8088, "")))); code != hns.CodePortExists {
		t.Errorf("port: %s", code)
	}
	if nic, ok := again.adapters()["vEthernet (lake_ep)"]; !ok || nic.Addresses[0].String() != "10.50.3.2/24" {
		t.Errorf("host attachment: %v", again.adapters())
	}
	if _, code := again.create(hns.KindLoadBalancer, balancer(again.backends(lake, 1), vips("10.96.0.20"), port(6, 1, 80), `,"Flags":1`)); code != hns.CodePortExists {
		t.Errorf("front end: %s", code)
	}
	if code := again.delete(hns.KindNamespace, again.parse(text(t, again.list(hns.KindNamespace, "")[0], "ID"))); code != hns.CodeRequestUnsupported {
		t.Errorf("container: %s", code)
	}
}

// foreign is a dump with what real nodes hold: objects of other programs,
// values that no writer should send, members this version does not know.
const foreign = `{
 "networks": [
  {"ID":"87F017AF-5FC1-472B-BC06-28161A0CA819","Name":"DockerNAT (1)","Type":"Private","Version":4294967297,"ComputedPolicies":[{}],"Policies":[],
   "Ipams":[{"Subnets":[{"IpAddressPrefix":"172.28.160.5/20"},{"IpAddressPrefix":"nonsense"}]}]},
  {"ID":"C08CB7B8-9B3C-408E-8E30-5E16A3AEB444","Name":"Default Switch","Type":"Quantum","Flags":9,"Policies":"none"},
  {"ID":"0588028c-a1ae-46a3-85b5-a3ebc27deaad","Name":"l2","Type":"l2bridge","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet 4"}}],
   "Ipams":[{"Subnets":[{"IpAddressPrefix":"10.244.0.0/24","Routes":[{"NextHop":"10.244.0.1","DestinationPrefix":"0.0.0.0/0"}]}]}]},
  {"ID":"1588028c-a1ae-46a3-85b5-a3ebc27deaad","Name":"l2"}],
 "Endpoints": [
  {"ID":"09a0d530-eec7-483c-9b32-2fe3e8cdb0db","Name":"Ethernet","HostComputeNetwork":"0588028C-A1AE-46A3-85B5-A3EBC27DEAAD","Flags":1,
   "IpConfigurations":[{"IpAddress":"10.244.0.5"}],"MacAddress":"00:11:22:33:44:55"},
  {"ID":"19a0d530-eec7-483c-9b32-2fe3e8cdb0db","Name":"broken","HostComputeNetwork":"0588028C-A1AE-46A3-85B5-A3EBC27DEAAD","State":2,
   "IpConfigurations":[{"IpAddress":" 10.244.0.6 "}],"Routes":[{"NextHop":"<gw>","DestinationPrefix":"0.0.0.0/0"}],
   "Policies":[{"Type":"OutBoundNAT","Settings":{"Exceptions":["<your cidr>","10.96.0.1/12"]}},{"Type":"Odd"}]},
  {"ID":"29a0d530-eec7-483c-9b32-2fe3e8cdb0db","Name":"lost","HostComputeNetwork":"EEEE028C-A1AE-46A3-85B5-A3EBC27DEAAD","State":5,
   "IpConfigurations":[{"IpAddress":"10.244.0.5"}]}],
 "LoadBalancers": [
  {"ID":"4401ab9f-bf8b-4e4a-921c-30e6c231c429","HostComputeEndpoints":["09a0d530-eec7-483c-9b32-2fe3e8cdb0db","<gone>"],"FrontendVIPs":["10.96.0.10","web"],
   "PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":80}],"Flags":1},
  {"ID":"4A71D6F4-B336-4EF5-BFB0-623E759712B4","HostComputeEndpoints":["99a0d530-eec7-483c-9b32-2fe3e8cdb0db"],"FrontendVIPs":["10.96.0.10"]},
  {"ID":"5A71D6F4-B336-4EF5-BFB0-623E759712B4","PortMappings":"none","HostComputeEndpoints":7}],
 "Routes": [{"ID":"6A71D6F4-B336-4EF5-BFB0-623E759712B4","Setting":[{"DestinationPrefix":"<cidr>"}]}]
}`

func TestLoadForeignDump(t *testing.T) {
	s, err := hns.ParseSnapshot([]byte(foreign))
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t)
	if err := n.Load(s); err != nil {
		t.Fatal(err)
	}
	for i, doc := range n.list(hns.KindNetwork, "") {
		o := strings.Join(strings.Fields(string(s.Networks[i])), " ")
		if got := string(doc); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(o, " ", "") {
			t.Errorf("network %d was changed:\n%s\n%s", i, got, o)
		}
	}
	for _, filter := range []string{`{"Name":"DockerNAT (1)"}`, `{"Type":"Quantum"}`, `{"ID":"c08cb7b8-9b3c-408e-8e30-5e16a3aeb444"}`} {
		if got := n.list(hns.KindNetwork, filter); len(got) != 1 {
			t.Errorf("%s: %d networks", filter, len(got))
		}
	}
	for _, path := range []string{"/networks/", "/endpoints/"} {
		if _, code := n.call("GET", path, ""); code != 0 {
			t.Errorf("%s: %s", path, code)
		}
	}
	l2 := n.parse("0588028c-a1ae-46a3-85b5-a3ebc27deaad")
	for want, address := range map[hns.Code]string{hns.CodeObjectAlreadyExists: "10.244.0.6", 0: "10.244.0.7"} {
		if _, code := n.create(hns.KindEndpoint, endpoint(l2, "x", ip(address))); code != want {
			t.Errorf("%s: %s, want %s", address, code, want)
		}
	}
	broken := n.parse("19a0d530-eec7-483c-9b32-2fe3e8cdb0db")
	if _, ok := n.adapters()["vEthernet (broken)"]; !ok {
		t.Error("an attached endpoint in no namespace is attached to the host")
	}
	if code := n.policy(hns.KindEndpoint, broken, "Add", `{"Type":"QOS","Settings":{}}`); code != 0 {
		t.Errorf("change of a broken endpoint: %s", code)
	}
	if got := text(t, n.get(hns.KindEndpoint, broken), "Routes", 0, "NextHop"); got != "<gw>" {
		t.Errorf("what cannot be read became %q", got)
	}
	lost := n.parse("29a0d530-eec7-483c-9b32-2fe3e8cdb0db")
	n.policy(hns.KindEndpoint, lost, "Add", mapping(80, ""))
	for _, id := range []hns.ID{broken, lost} {
		if code := n.delete(hns.KindEndpoint, id); code != 0 {
			t.Errorf("delete: %s", code)
		}
	}
	ep := n.parse("09a0d530-eec7-483c-9b32-2fe3e8cdb0db")
	for want, address := range map[hns.Code]string{hns.CodePortExists: "10.96.0.10", 0: "10.96.0.11"} {
		if _, code := n.create(hns.KindLoadBalancer, balancer([]hns.ID{ep}, vips(address), port(6, 8080, 80))); code != want {
			t.Errorf("load balancer on %s: %s, want %s", address, code, want)
		}
	}
	if out, code := n.call("GET", "/policylists/", ""); code != 0 || !json.Valid(out) {
		t.Errorf("policy lists: %s %s", code, out)
	}
	for range 4 {
		id := n.parse(text(t, n.list(hns.KindNetwork, "")[0], "ID"))
		if code := n.delete(hns.KindNetwork, id); code != 0 {
			t.Errorf("delete network: %s", code)
		}
	}
	// The two load balancers of the network went along; the others name none.
	if got := n.list(hns.KindLoadBalancer, ""); len(got) != 2 {
		t.Errorf("load balancers left: %s", got)
	}
	for _, kind := range []hns.Kind{hns.KindLoadBalancer, hns.KindRoute} {
		for _, doc := range n.list(kind, "") {
			if code := n.delete(kind, n.parse(text(t, doc, "ID"))); code != 0 {
				t.Errorf("delete %s: %s", doc, code)
			}
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"Networks":[{"Name":"x"}]}`, "Networks[0]"},
		{`{"Endpoints":[{"ID":"0588028c-a1ae-46a3-85b5-a3ebc27deaad"},{"ID":"x"}]}`, "Endpoints[1]"},
		{`{"Namespaces":[{"ID":"0588028c-a1ae-46a3-85b5-a3ebc27deaad"},{"ID":"0588028C-a1ae-46a3-85b5-a3ebc27deaad"}]}`, "Namespaces[1]"},
		{`{"LoadBalancers":[{"ID":"0588028c-a1ae-46a3-85b5-a3ebc27deaad"}],"Routes":[{"ID":"0588028C-a1ae-46a3-85b5-a3ebc27deaad"}]}`, "Routes[0]"},
	}
	for _, tt := range tests {
		s, err := hns.ParseSnapshot([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		n := newNode(t)
		n.lake()
		before := n.state()
		if err := n.Load(s); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one that names %s", tt.text, err, tt.want)
		}
		if n.state() != before {
			t.Errorf("%s: the state was changed", tt.text)
		}
	}
}

func TestLoadNil(t *testing.T) {
	if err := newNode(t).Load(nil); err == nil {
		t.Error("nothing was loaded without an error")
	}
}

func TestLoadTakesTheVersion(t *testing.T) {
	dump := &hns.Snapshot{Version: hns.Version{Major: 9, Minor: 3}}
	for _, tt := range []struct{ set, want hns.Version }{
		{hns.Version{}, dump.Version},
		{emulator.WindowsServer2025, emulator.WindowsServer2025},
	} {
		n := newNode(t, version(tt.set))
		if err := n.Load(dump); err != nil {
			t.Fatal(err)
		}
		s, err := n.Snapshot()
		if err != nil || s.Version != tt.want {
			t.Errorf("version %s, want %s", s.Version, tt.want)
		}
	}
}
