package cniplugin_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

// A list for each mode: the capabilities that it has are declared, without which a
// runtime passes nothing and says nothing (containerd/nerdctl#5157).
func TestConfList(t *testing.T) {
	golden.Update(t)
	all := cniplugin.ConfIntent{
		CNIVersion: "1.1.0", DNS: types.DNS{Nameservers: []string{"10.96.0.10"}, Search: []string{"svc.test"}}, LoopbackDSR: true,
		HNSNetwork: &cniplugin.HNSNetwork{Drift: hns.DriftKeep},
	}
	for _, m := range modes.All() {
		in, of := all, intents[m]
		in.Name, in.Plugin, in.Mode = of.Name, "win-"+strings.ToLower(string(m)), m
		network := *all.HNSNetwork
		network.Subnets = of.Subnets
		in.HNSNetwork = &network
		switch m {
		case modes.NAT: // addresses of HNS
		case modes.Transparent:
			network.Adapter, network.VLAN = "Ethernet", 7
			network.Gateways = []netip.Addr{netip.MustParseAddr("10.70.4.254")}
			in.IPAM = json.RawMessage(`{"type": "static-ipam"}`)
		case modes.Overlay:
			network.VNI, network.VXLANPort, network.ProviderAddress = 4097, 4790, netip.MustParseAddr("192.0.2.10")
			network.Persistent = true
			fallthrough
		default:
			in.Masquerade, in.Exceptions = true, prefixes("10.50.0.0/16", "10.96.0.0/12")
			in.IPAM = json.RawMessage(`{"type": "host-local", "subnet": "` + of.Subnets[0].String() + `"}`)
			in.Policies = []hns.EndpointPolicy{hns.SDNRoute{DestinationPrefix: netip.MustParsePrefix("10.96.0.0/12"), NeedEncap: true},
				hns.ACL{Action: hns.ACLAllow, Direction: hns.In, Priority: 200, LocalPorts: []string{"80-90"}}}
		}
		list, err := cniplugin.ConfList(in)
		if err != nil {
			t.Errorf("%s: %v", m, err)
			continue
		}
		golden.File(t, filepath.Join("testdata", "conflist", strings.ToLower(string(m))+".conflist"), string(list))
		compareWithIntent(t, in, list)
	}
}

// compareWithIntent reads the list back as a plugin does.
func compareWithIntent(t *testing.T, in cniplugin.ConfIntent, list []byte) {
	t.Helper()
	var l struct {
		CNIVersion, Name string
		Plugins          []map[string]json.RawMessage
	}
	if err := json.Unmarshal(list, &l); err != nil || len(l.Plugins) != 1 {
		t.Fatalf("%s, %v", list, err)
	}
	l.Plugins[0]["name"], l.Plugins[0]["cniVersion"] = json.RawMessage(quote(t, l.Name)), json.RawMessage(quote(t, l.CNIVersion))
	doc, err := json.Marshal(l.Plugins[0])
	if err != nil {
		t.Fatal(err)
	}
	c, err := cniplugin.ParseConfig(doc)
	if err != nil {
		t.Fatal(err)
	}
	got := cniplugin.ConfIntent{CNIVersion: c.CNIVersion, Name: c.Name, Plugin: c.Type, Mode: c.Mode, IPAM: in.IPAM, HNSNetwork: c.HNSNetwork,
		DNS: c.DNS, Masquerade: c.Masquerade != nil && *c.Masquerade, Exceptions: c.MasqueradeExceptions, LoopbackDSR: c.LoopbackDSR, Policies: c.Policies}
	wantNetwork, _ := json.Marshal(in.HNSNetwork)
	gotNetwork, _ := json.Marshal(got.HNSNetwork)
	if string(wantNetwork) != string(gotNetwork) {
		t.Errorf("network %s, want %s", gotNetwork, wantNetwork)
	}
	got.HNSNetwork = in.HNSNetwork
	if diff := cmp.Diff(in, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmp.Comparer(func(a, b *cniplugin.HNSNetwork) bool { return a == b })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", in.Mode, diff)
	}
}

// What no ADD would take is not written.
func TestBadConfList(t *testing.T) {
	good := cniplugin.ConfIntent{Name: "lake", Plugin: "win-bridge", Mode: modes.L2Bridge}
	tests := []struct {
		change func(*cniplugin.ConfIntent)
		paths  []string
	}{
		{func(in *cniplugin.ConfIntent) { in.Name = "" }, []string{"name"}},
		{func(in *cniplugin.ConfIntent) { in.Name = "a lake" }, []string{"name"}},
		{func(in *cniplugin.ConfIntent) { in.Mode = "ICS" }, []string{"mode"}},
		{func(in *cniplugin.ConfIntent) { in.Mode = "" }, []string{"mode"}},
		{func(in *cniplugin.ConfIntent) { in.Plugin = "" }, []string{"plugins[0].type"}},
		{func(in *cniplugin.ConfIntent) { in.CNIVersion = "2.0.0" }, []string{"cniVersion"}},
		{func(in *cniplugin.ConfIntent) { in.DNS.Nameservers = []string{"<dns>"} }, []string{"dns.nameservers[0]"}},
		{func(in *cniplugin.ConfIntent) { in.Policies = []hns.EndpointPolicy{hns.SDNRoute{}, nil} }, []string{"policies[0].Settings.DestinationPrefix", "policies[1]"}},
		{func(in *cniplugin.ConfIntent) {
			in.HNSNetwork = &cniplugin.HNSNetwork{VNI: 7, Subnets: prefixes("10.50.3.0/24")}
		}, []string{"hnsNetwork.vni"}},
	}
	for i, tt := range tests {
		in := good
		tt.change(&in)
		list, err := cniplugin.ConfList(in)
		got := paths(err)
		slices.Sort(got)
		if diff := cmp.Diff(tt.paths, got); diff != "" || list != nil {
			t.Errorf("%d: %s, %v, paths (-want +got):\n%s", i, list, err, diff)
		}
	}
	for _, in := range []cniplugin.ConfIntent{
		{Name: "glass", Plugin: "p", Mode: modes.Transparent, Masquerade: true},
		{Name: "pond", Plugin: "p", Mode: modes.NAT, Exceptions: prefixes("10.0.0.0/8")},
	} {
		if list, err := cniplugin.ConfList(in); !errors.Is(err, hns.ErrUnsupported) || list != nil {
			t.Errorf("%+v: %s, %v", in, list, err)
		}
	}
	in := good
	in.IPAM = json.RawMessage(`{"type": "host-local", "subnet": "x"}`)
	if list, err := cniplugin.ConfList(in); list != nil || err == nil || !strings.Contains(err.Error(), `ipam.subnet "x"`) {
		t.Errorf("%s, %v", list, err)
	}
	if list, err := cniplugin.ConfList(cniplugin.ConfIntent{Name: "pond", Plugin: "p", Mode: modes.NAT, HNSNetwork: &cniplugin.HNSNetwork{Drift: hns.DriftRecreate}}); err == nil {
		t.Errorf("drift recreate: %s", list)
	}
}
