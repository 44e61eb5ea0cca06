package emulator_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// Blocks that a create asks for are shown, and are where addresses come from.
func TestBlocksOfACreate(t *testing.T) {
	const id = "2b000000-0000-4000-8000-0000000000ab"
	path := filepath.Join(t.TempDir(), "hns.json")
	for name, open := range map[string]func() *node{
		"memory": func() func() *node { n := newNode(t); return func() *node { return n } }(),
		"file":   func() *node { return openNode(t, path, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			lake := open().id(hns.KindNetwork, `{"Name":"lake","Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.50.3.0/24","IpSubnets":[`+
				`{"IpAddressPrefix":"10.50.3.128/31","ID":"`+id+`","Flags":1},{"IpAddressPrefix":"10.50.3.64/31"}]}]}],`+schema2+`}`)
			_, blocks := open().subnets(lake)
			if fmt.Sprint(blocks) != "[10.50.3.128/31 10.50.3.64/31]" {
				t.Errorf("blocks %s", blocks)
			}
			var got []string
			for range 4 {
				ep := open().made(hns.KindEndpoint, endpoint(lake, "x"))
				got = append(got, text(t, ep, "IpConfigurations", 0, "IpAddress"))
				if in := text(t, ep, "IpConfigurations", 0, "IpSubnetId"); len(got) < 3 != (in == id) {
					t.Errorf("%s is of the block %s", got[len(got)-1], in)
				}
			}
			if diff := cmp.Diff([]string{"10.50.3.128", "10.50.3.129", "10.50.3.64", "10.50.3.65"}, got); diff != "" {
				t.Error(diff)
			}
			for doc, want := range map[string]hns.Code{endpoint(lake, "y"): hns.CodeSubnetNotFound, endpoint(lake, "y", ip("10.50.3.9")): hns.CodeInvalidIP} {
				if _, code := open().create(hns.KindEndpoint, doc); code != want {
					t.Errorf("%s: %s, want %s", doc, code, want)
				}
			}
			checkInvariants(t, open())
		})
	}
	for blocks, want := range map[string]hns.Code{
		`{"IpAddressPrefix":"11.0.0.0/24"}`:  hns.CodeInvalidIPSubnet,
		`{"IpAddressPrefix":"10.50.3.1/25"}`: hns.CodeInvalidIPSubnet,
		`{}`:                                 hns.CodeInvalidIPSubnet,
		`{"IpAddressPrefix":"10.50.3.0/25"},{"IpAddressPrefix":"10.50.3.0/25"}`: hns.CodeInvalidIPSubnet,
		`{"IpAddressPrefix":"10.50.3.0/25","ID":"x"}`:                           hns.CodeGUIDConversion,
		`7`: hns.CodeInvalidJSON,
		``:  0,
	} {
		doc := `{"Name":"lake","Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.50.3.0/24","IpSubnets":[` + blocks + `]}]}],` + schema2 + `}`
		if _, code := newNode(t).create(hns.KindNetwork, doc); code != want {
			t.Errorf("%s: %s, want %s", blocks, code, want)
		}
	}
}

// What Ensure made it finds again.
func TestEnsureFindsItsBlocks(t *testing.T) {
	c := hns.New(newNode(t), nil)
	want := &hns.Network{Name: "lake", Type: hns.L2Bridge, IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: netip.MustParsePrefix("10.50.3.0/24"),
		Routes:    []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.50.3.1"))},
		IPSubnets: []hns.IPSubnet{{Prefix: netip.MustParsePrefix("10.50.3.0/25")}}}}}}}
	for _, action := range []hns.Action{hns.ActionCreate, hns.ActionKeep} {
		n, d, err := c.Networks.Ensure(t.Context(), want, nil)
		if err != nil || d.Action != action || n.Subnets()[0].IPSubnets[0].Prefix != want.Subnets()[0].IPSubnets[0].Prefix {
			t.Errorf("%v, %v", d, err)
		}
	}
}

// Blocks in use stay, and a block that was added is used, in memory as in a file.
func TestAddedBlocksAreUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	n := openNode(t, path, &emulator.Options{SubnetsChange: true})
	lake := n.id(hns.KindNetwork, `{"Name":"lake","Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.50.3.0/24","IpSubnets":[{"IpAddressPrefix":"10.50.3.4/32"}]}]}],`+schema2+`}`)
	subnet := text(t, n.get(hns.KindNetwork, lake), "Ipams", 0, "Subnets", 0, "ID")
	change := func(request string, want hns.Code) {
		t.Helper()
		if code := n.modify(hns.KindNetwork, lake, fmt.Sprintf(`{"ResourceType":"IPSubnet","RequestType":%q,"Settings":{"SubnetId":%q,"IpSubnets":[{"IpAddressPrefix":"10.50.3.8/32"}]}}`, request, subnet)); code != want {
			t.Errorf("%s: %s, want %s", request, code, want)
		}
	}
	n.backends(lake, 1)
	change("Add", 0)
	change("Add", hns.CodeInvalidIPSubnet) // it is there
	for _, again := range []*node{n, openNode(t, path, nil)} {
		ep := again.made(hns.KindEndpoint, endpoint(lake, "x"))
		if got := text(t, ep, "IpConfigurations", 0, "IpAddress"); got != "10.50.3.8" {
			t.Errorf("address %s", got)
		}
		change("Remove", hns.CodeHasReferences)
		again.delete(hns.KindEndpoint, again.parse(text(t, ep, "ID")))
	}
	change("Remove", 0)
}
