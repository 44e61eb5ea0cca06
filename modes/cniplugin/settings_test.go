package cniplugin_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/ipam"
)

// Where the DNS settings come from, each by itself: the runtime, the
// configuration, IPAM (kubernetes/kubernetes#66801, kubernetes/kubernetes#65016,
// containernetworking/plugins#229). The endpoint, the result and CHECK agree.
func TestDNS(t *testing.T) {
	conf := `"dns": {"nameservers": ["10.96.0.10"], "search": ["svc.test", "test"], "domain": "conf.test"}`
	runtime := `"runtimeConfig": {"dns": {"servers": ["10.96.0.11"], "searches": ["a.svc.test", "svc.test"], "options": ["ndots:5"]}}`
	ipamDNS := types.DNS{Nameservers: []string{"10.96.0.12"}, Domain: "ipam.test", Search: []string{"ipam.test"}, Options: []string{"timeout:1"}}
	tests := []struct {
		name    string
		ipam    types.DNS
		members []string
		want    types.DNS
	}{
		{"nobody", types.DNS{}, nil, types.DNS{}},
		{"IPAM", ipamDNS, nil, ipamDNS},
		{"the configuration before IPAM", ipamDNS, []string{conf},
			types.DNS{Nameservers: []string{"10.96.0.10"}, Domain: "conf.test", Search: []string{"svc.test", "test"}, Options: []string{"timeout:1"}}},
		{"the runtime before all", ipamDNS, []string{conf, runtime},
			types.DNS{Nameservers: []string{"10.96.0.11"}, Domain: "conf.test", Search: []string{"a.svc.test", "svc.test"}, Options: []string{"ndots:5"}}},
		{"the runtime before IPAM", ipamDNS, []string{runtime},
			types.DNS{Nameservers: []string{"10.96.0.11"}, Domain: "ipam.test", Search: []string{"a.svc.test", "svc.test"}, Options: []string{"ndots:5"}}},
		// Azure/azure-container-networking#206: lists of one empty text.
		{"empty texts say nothing", types.DNS{Nameservers: []string{""}, Search: []string{""}},
			[]string{`"dns": {"nameservers": [""], "search": [""], "options": [""]}`, `"runtimeConfig": {"dns": {"servers": [""], "searches": [""], "options": []}}`}, types.DNS{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newBridge(t, nil)
			n.ipam.dns = tt.ipam
			p := n.pod("sbx-01")
			res := p.mustAdd(tt.members...)
			if diff := cmp.Diff(tt.want, res.DNS); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			want := hns.DNS{Domain: tt.want.Domain, Search: tt.want.Search, ServerList: tt.want.Nameservers, Options: tt.want.Options}
			if diff := cmp.Diff(want, p.endpoint().DNS); diff != "" {
				t.Errorf("endpoint (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(res, p.mustAdd(tt.members...)); diff != "" {
				t.Errorf("repeated ADD (-first +second):\n%s", diff)
			}
			if err := p.check(res, tt.members...); err != nil {
				t.Error(err)
			}
			var doc map[string]any
			if err := json.Unmarshal(p.endpoint().Document.Raw, &doc); err != nil {
				t.Fatal(err)
			}
			if _, there := doc["Dns"]; there && want.IsZero() {
				t.Errorf("Dns of the endpoint is %v, want none", doc["Dns"])
			}
		})
	}
}

// Routes of IPAM that lead elsewhere than the default route are the endpoint's, too.
func TestRoutesOfIPAM(t *testing.T) {
	n := newBridge(t, nil)
	route := func(dst, gw string) ipam.Route {
		r := ipam.Route{Destination: netip.MustParsePrefix(dst)}
		if gw != "" {
			r.Gateway = netip.MustParseAddr(gw)
		}
		return r
	}
	n.ipam.routes = []ipam.Route{route("0.0.0.0/0", "10.50.3.1"), route("10.96.0.0/12", ""), route("198.51.100.0/24", "10.50.3.9"),
		route("203.0.113.0/24", "10.50.3.2"), route("198.51.100.0/24", "10.50.3.9")}
	p := n.pod("sbx-01")
	res := p.mustAdd()
	var got []string
	for _, r := range res.Routes {
		got = append(got, r.Dst.String()+" "+r.GW.String())
	}
	if diff := cmp.Diff([]string{"0.0.0.0/0 10.50.3.2", "198.51.100.0/24 10.50.3.9"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := p.check(res); err != nil {
		t.Error(err)
	}
}
