package hnstest_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/hnstest"
)

func TestIgnoreServerFields(t *testing.T) {
	addr := netip.MustParseAddr("10.0.0.7")
	net := hns.NewID()
	given := &hns.Endpoint{Name: "ep", Network: net, IPConfigs: []hns.IPConfig{{Address: addr, PrefixLength: 24}}}
	filled := &hns.Endpoint{ID: hns.NewID(), Name: "ep", Network: net, State: 2, IPConfigs: []hns.IPConfig{{Address: addr, PrefixLength: 24, IPSubnet: hns.NewID()}},
		Document: hns.Document{Raw: json.RawMessage(`{}`)}}
	if diff := cmp.Diff(given, filled, hnstest.IgnoreServerFields()); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(*hns.Endpoint){
		"name":          func(e *hns.Endpoint) { e.Name = "other" },
		"network":       func(e *hns.Endpoint) { e.Network = hns.NewID() },
		"namespace":     func(e *hns.Endpoint) { e.Namespace = hns.NewID() },
		"prefix length": func(e *hns.Endpoint) { e.IPConfigs = []hns.IPConfig{{Address: addr, PrefixLength: 25}} },
		"address":       func(e *hns.Endpoint) { e.IPConfigs = []hns.IPConfig{{Address: addr.Next(), PrefixLength: 24}} },
	} {
		e := *filled
		change(&e)
		if cmp.Equal(given, &e, hnstest.IgnoreServerFields()) {
			t.Errorf("another %s is not seen", name)
		}
	}
	p := netip.MustParsePrefix("10.0.0.0/24")
	n := &hns.Network{Name: "n", IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: p, IPSubnets: []hns.IPSubnet{{Prefix: p}}}}}}}
	m := &hns.Network{ID: net, Name: "n", IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{ID: net, Prefix: p, IPSubnets: []hns.IPSubnet{{ID: net, Prefix: p}}}}}}}
	if diff := cmp.Diff(n, m, hnstest.IgnoreServerFields()); diff != "" {
		t.Error(diff)
	}
}

func TestTextOptions(t *testing.T) {
	id := hns.NewID()
	tests := []struct {
		name string
		opt  cmp.Option
		x, y any
		want bool
	}{
		{"MAC spelled otherwise", hnstest.EquateMACs(), "00-15-5D-01-02-03", "00:15:5d:01:02:03", true},
		{"another MAC", hnstest.EquateMACs(), "00-15-5D-01-02-03", "00-15-5D-01-02-04", false},
		{"no MAC", hnstest.EquateMACs(), "pond", "POND", false},
		{"MAC and text", hnstest.EquateMACs(), "00-15-5D-01-02-03", "pond", false},
		{"MAC inside", hnstest.EquateMACs(), map[string]any{"a": []string{"0A-00-00-00-00-01"}}, map[string]any{"a": []string{"0a:00:00:00:00:01"}}, true},
		{"id in capitals", hnstest.EquateIDs(), id.String(), id.Upper(), true},
		{"another id", hnstest.EquateIDs(), id.String(), hns.NewID().String(), false},
		{"address", hnstest.EquateAddresses(), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.1"), true},
		{"another address", hnstest.EquateAddresses(), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), false},
		{"JSON", hnstest.EquateJSON(), json.RawMessage(`{"a":1,"b":[ 2 ]}`), json.RawMessage(`{"b":[2],"a":1}`), true},
		{"other JSON", hnstest.EquateJSON(), json.RawMessage(`{"a":1}`), json.RawMessage(`{"a":2}`), false},
		{"great numbers", hnstest.EquateJSON(), json.RawMessage(`55834574851000001`), json.RawMessage(`55834574851000002`), false},
		{"letter case of names", hnstest.EquateJSON(), json.RawMessage(`{"a":1}`), json.RawMessage(`{"A":1}`), false},
		{"order of a list", hnstest.EquateJSON(), json.RawMessage(`[1,2]`), json.RawMessage(`[2,1]`), false},
		{"more behind it", hnstest.EquateJSON(), json.RawMessage(`{}`), json.RawMessage(`{} x`), false},
		{"two values", hnstest.EquateJSON(), json.RawMessage(`{}`), json.RawMessage(`{}{"a":1}`), false},
		{"blanks behind it", hnstest.EquateJSON(), json.RawMessage(`{}`), json.RawMessage("{} \r\n"), true},
		{"no JSON", hnstest.EquateJSON(), json.RawMessage(`{`), json.RawMessage(`{`), true},
		{"neither JSON", hnstest.EquateJSON(), json.RawMessage(`{`), json.RawMessage(`[`), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := cmp.Equal(tt.x, tt.y, tt.opt); got != tt.want {
				t.Errorf("equal: %v, want %v", got, tt.want)
			}
			if got := cmp.Equal(tt.y, tt.x, tt.opt); got != tt.want {
				t.Errorf("the other way round: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSortPolicies(t *testing.T) {
	x := []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8"}}, hns.ACL{Priority: 200}, hns.ACL{Priority: 100}}
	y := []hns.EndpointPolicy{hns.ACL{Priority: 100}, hns.OutBoundNAT{Exceptions: []string{"10.0.0.0/8"}}, hns.ACL{Priority: 200}}
	opts := cmp.Options{hnstest.SortPolicies(), hnstest.EquateAddresses()}
	if diff := cmp.Diff(x, y, opts); diff != "" {
		t.Error(diff)
	}
	y[0] = hns.ACL{Priority: 101}
	if cmp.Equal(x, y, opts) {
		t.Error("another priority is not seen")
	}
	if cmp.Equal(x[:2], x, opts) {
		t.Error("one more is not seen")
	}
	if !cmp.Equal([]hns.EndpointPolicy{nil, x[0]}, []hns.EndpointPolicy{x[0], nil}, opts) {
		t.Error("nil among them")
	}
	n := []hns.NetworkPolicy{hns.HostRoute{}, hns.VXLANPort{Port: 4789}}
	if !cmp.Equal(n, []hns.NetworkPolicy{n[1], n[0]}, opts) {
		t.Error("policies of networks")
	}
}
