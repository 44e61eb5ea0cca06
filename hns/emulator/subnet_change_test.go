package emulator_test

import (
	"fmt"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func subnetsChange(o *emulator.Options) { o.SubnetsChange = true }

// subnets returns the prefixes of a network's subnets, and of the blocks in the
// last of them.
func (n *node) subnets(network hns.ID) (subnets, blocks []string) {
	n.Helper()
	doc := n.get(hns.KindNetwork, network)
	for i := 0; at(n, doc, "Ipams", 0, "Subnets", i) != nil; i++ {
		subnets = append(subnets, text(n, doc, "Ipams", 0, "Subnets", i, "IpAddressPrefix"))
		blocks = nil
		for j := 0; at(n, doc, "Ipams", 0, "Subnets", i, "IpSubnets", j) != nil; j++ {
			blocks = append(blocks, text(n, doc, "Ipams", 0, "Subnets", i, "IpSubnets", j, "IpAddressPrefix"))
		}
	}
	return subnets, blocks
}

func TestSubnetsChange(t *testing.T) {
	const more = `{"Subnets":[{"IpAddressPrefix":"10.51.3.0/24","Routes":[{"NextHop":"10.51.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}`
	const plain = `{"Subnets":[{"IpAddressPrefix":"10.51.3.0/24"}]}`
	type request struct {
		request, settings string
		want              hns.Code
	}
	tests := []struct {
		name     string
		requests []request
		left     string
	}{
		{"add", []request{{"Add", more, 0}}, "[10.50.3.0/24 10.51.3.0/24]"},
		{"add and remove by prefix", []request{{"Add", more, 0}, {"Remove", plain, 0}}, "[10.50.3.0/24]"},
		{"twice", []request{{"Add", more, 0}, {"Add", more, hns.CodeInvalidSubnet}}, "[10.50.3.0/24 10.51.3.0/24]"},
		{"one that overlaps", []request{{"Add", `{"Subnets":[{"IpAddressPrefix":"10.50.0.0/16"}]}`, hns.CodeInvalidSubnet}}, "[10.50.3.0/24]"},
		{"one good and one bad", []request{{"Add", `{"Subnets":[{"IpAddressPrefix":"10.51.3.0/24"},{}]}`, hns.CodeInvalidSubnet}}, "[10.50.3.0/24]"},
		{"no prefix", []request{{"Add", `{"Subnets":[{"IpAddressPrefix":"lake"}]}`, hns.CodeInvalidPrefix}}, "[10.50.3.0/24]"},
		{"none", []request{{"Add", `{}`, hns.CodeInvalidSubnet}}, "[10.50.3.0/24]"},
		{"remove what is not there", []request{{"Remove", plain, hns.CodeSubnetNotFound}}, "[10.50.3.0/24]"},
		{"remove one in use", []request{{"Remove", `{"Subnets":[{"IpAddressPrefix":"10.50.3.0/24"}]}`, hns.CodeHasReferences}}, "[10.50.3.0/24]"},
		{"update", []request{{"Update", more, hns.CodeRequestUnsupported}}, "[10.50.3.0/24]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, subnetsChange)
			lake := n.lake()
			n.backends(lake, 1)
			for _, r := range tt.requests {
				before := n.state()
				code := n.modify(hns.KindNetwork, lake, fmt.Sprintf(`{"ResourceType":"Subnet","RequestType":%q,"Settings":%s}`, r.request, r.settings))
				if code != r.want {
					t.Errorf("%s %s: %s, want %s", r.request, r.settings, code, r.want)
				}
				if code != 0 && n.state() != before {
					t.Errorf("%s %s was refused and changed the state", r.request, r.settings)
				}
			}
			if subnets, _ := n.subnets(lake); fmt.Sprint(subnets) != tt.left {
				t.Errorf("left %s, want %s", subnets, tt.left)
			}
		})
	}
	n := newNode(t, subnetsChange)
	if code := n.modify(hns.KindNetwork, n.pond(), `{"ResourceType":"Subnet","Settings":`+more+`}`); code != hns.CodeInvalidNetworkType {
		t.Errorf("on NAT: %s", code)
	}
	old := newNode(t, subnetsChange, version(emulator.WindowsServer2019))
	if code := old.modify(hns.KindNetwork, old.lake(), `{"ResourceType":"Subnet","Settings":`+more+`}`); code != hns.CodeRequestUnsupported {
		t.Errorf("on Windows Server 2019: %s", code)
	}
}

// Endpoints get addresses of a subnet that was added.
func TestAddedSubnetIsUsed(t *testing.T) {
	n := newNode(t, subnetsChange)
	lake := n.id(hns.KindNetwork, network("lake", "L2Bridge", "10.50.3.0/30"))
	n.backends(lake, 1) // it is full
	if code := n.modify(hns.KindNetwork, lake, `{"ResourceType":"Subnet","Settings":{"Subnets":[{"IpAddressPrefix":"10.51.3.0/30","Routes":[{"NextHop":"10.51.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}}`); code != 0 {
		t.Fatal(code)
	}
	ep := n.made(hns.KindEndpoint, endpoint(lake, "x"))
	if text(t, ep, "IpConfigurations", 0, "IpAddress") != "10.51.3.2" || text(t, ep, "Routes", 0, "NextHop") != "10.51.3.1" {
		t.Errorf("%s", ep)
	}
	checkInvariants(t, n)
}

func TestIPSubnetsChange(t *testing.T) {
	n := newNode(t, subnetsChange)
	lake := n.lake()
	id := text(t, n.get(hns.KindNetwork, lake), "Ipams", 0, "Subnets", 0, "ID")
	for _, step := range []struct {
		request, blocks string
		want            hns.Code
		left            string
	}{
		{"Add", `{"IpAddressPrefix":"10.50.3.128/25","Flags":"EnableBroadcast"}`, 0, "[10.50.3.0/24 10.50.3.128/25]"},
		{"Add", `{"IpAddressPrefix":"10.50.0.0/16"}`, hns.CodeInvalidIPSubnet, "[10.50.3.0/24 10.50.3.128/25]"},
		{"Add", `{"IpAddressPrefix":"10.50.3.0/25"},{"IpAddressPrefix":"x"}`, hns.CodeInvalidIPSubnet, "[10.50.3.0/24 10.50.3.128/25]"},
		{"Add", ``, hns.CodeInvalidIPSubnet, "[10.50.3.0/24 10.50.3.128/25]"},
		{"Remove", `{"IpAddressPrefix":"10.50.3.0/24"}`, hns.CodeHasReferences, "[10.50.3.0/24 10.50.3.128/25]"},
		{"Remove", `{"IpAddressPrefix":"10.50.3.128/25"}`, 0, "[10.50.3.0/24]"},
		{"Remove", `{"ID":"` + hns.NewID().String() + `"}`, hns.CodeSubnetNotFound, "[10.50.3.0/24]"},
	} {
		code := n.modify(hns.KindNetwork, lake, fmt.Sprintf(`{"ResourceType":"IPSubnet","RequestType":%q,"Settings":{"SubnetId":%q,"IpSubnets":[%s]}}`, step.request, id, step.blocks))
		if _, blocks := n.subnets(lake); code != step.want || fmt.Sprint(blocks) != step.left {
			t.Errorf("%s %s: %s, left %s, want %s and %s", step.request, step.blocks, code, blocks, step.want, step.left)
		}
	}
	if code := n.modify(hns.KindNetwork, lake, `{"ResourceType":"IPSubnet","Settings":{"SubnetId":"`+hns.NewID().String()+`","IpSubnets":[{}]}}`); code != hns.CodeSubnetNotFound {
		t.Errorf("of no subnet: %s", code)
	}
}

func TestSeveralSubnets(t *testing.T) {
	const two = `"Ipams":[{"Subnets":[{"IpAddressPrefix":"10.50.3.0/24"%[1]s},{"IpAddressPrefix":"10.51.3.0/24"%[1]s}]}],` + schema2
	vsid := `,"Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}]`
	for _, v := range []hns.Version{emulator.WindowsServer2019, emulator.WindowsServer2022} {
		for kind, more := range map[string]string{"L2Bridge": "", "L2Tunnel": "", "Overlay": vsid, "Transparent": ""} {
			want := hns.Code(0)
			if v == emulator.WindowsServer2019 && kind != "Transparent" {
				want = hns.CodeInvalidParameter
			}
			n := newNode(t, version(v))
			if _, code := n.create(hns.KindNetwork, fmt.Sprintf(`{"Type":%q,`+fmt.Sprintf(two, more)+`}`, kind)); code != want {
				t.Errorf("%s on HNS %s: %s, want %s", kind, v, code, want)
			}
		}
	}
}
