package subnetenv_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hnskit/hnskit/subnetenv"
)

func TestParseNetConf(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		want    subnetenv.NetConf
		network string // its name in HNS
	}{
		"vxlan":                    {`{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan","VNI":4200,"Port":4789}}`, subnetenv.NetConf{Network: netip.MustParsePrefix("10.50.0.0/16"), Backend: "vxlan", VNI: 4200, Port: 4789}, "flannel.4200"},
		"small letters and a name": {"\ufeff{\"network\":\"10.50.0.0/16\",\"backend\":{\"name\":\"lake\",\"type\":\"VXLAN\"}}", subnetenv.NetConf{Network: netip.MustParsePrefix("10.50.0.0/16"), Backend: "vxlan", Name: "lake"}, "lake"},
		"no VNI":                   {`{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan"}}`, subnetenv.NetConf{Network: netip.MustParsePrefix("10.50.0.0/16"), Backend: "vxlan"}, "flannel.4096"},
		"host-gw, both families":   {`{"Network":"10.50.0.0/16","IPv6Network":"fd50::/48","EnableIPv6":true,"Backend":{"Type":"host-gw"}}`, subnetenv.NetConf{Network: netip.MustParsePrefix("10.50.0.0/16"), IPv6Network: netip.MustParsePrefix("fd50::/48"), Backend: "host-gw"}, "cbr0"},
		"what Windows alone has": {`{"Network":"10.50.0.0/16","Backend":{"Type":"host-gw","DNSServerList":"10.96.0.10, 10.96.0.11","MacPrefix":"0E-2B","DirectRouting":true}}`,
			subnetenv.NetConf{Network: netip.MustParsePrefix("10.50.0.0/16"), Backend: "host-gw", MACPrefix: "0E-2B", DNSServers: []netip.Addr{netip.MustParseAddr("10.96.0.10"), netip.MustParseAddr("10.96.0.11")}}, "cbr0"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := subnetenv.ParseNetConf([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got, cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got.NetworkName() != tc.network {
				t.Errorf("named %s", got.NetworkName())
			}
		})
	}
}

func TestParseNetConfRefusals(t *testing.T) {
	for name, tc := range map[string]struct{ text, path, say string }{
		"host bits":            {`{"Network":"10.50.3.0/16","Backend":{"Type":"vxlan"}}`, "Network", "10.50.0.0/16"},
		"no prefix":            {`{"Network":"<ClusterCIDR>","Backend":{"Type":"vxlan"}}`, "Network", "not a prefix"},
		"Linux's VNI":          {`{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan","VNI":1}}`, "Backend.VNI", "4096"},
		"a backend of Linux":   {`{"Network":"10.50.0.0/16","Backend":{"Type":"wireguard"}}`, "Backend.Type", "does not run on Windows"},
		"no backend":           {`{"Network":"10.50.0.0/16"}`, "Backend.Type", "does not run on Windows"},
		"no network":           {`{"Backend":{"Type":"vxlan"}}`, "Network", "is missing"},
		"IPv6 alone":           {`{"IPv6Network":"fd50::/48","Backend":{"Type":"host-gw"}}`, "IPv6Network", "without IPv4"},
		"port too large":       {`{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan","Port":70000}}`, "Backend.Port", "70000"},
		"a text for a backend": {`{"Network":"10.50.0.0/16","Backend":"vxlan"}`, "Backend", "cannot stand here"},
		"direct routing":       {`{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan","DirectRouting":true}}`, "Backend.DirectRouting", "not wrapped"},
		"group policies":       {`{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan","GBP":true}}`, "Backend.GBP", "HNS cannot"},
		"no list of servers":   {`{"Network":"10.50.0.0/16","Backend":{"Type":"host-gw","DNSServerList":"10.96.0.10;10.96.0.11"}}`, "Backend.DNSServerList", "with commas"},
		"the wrong family":     {`{"Network":"fd50::/48","Backend":{"Type":"host-gw"}}`, "Network", "of its family"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := subnetenv.ParseNetConf([]byte(tc.text))
			var f *subnetenv.FieldError
			if !errors.As(err, &f) || f.Path != tc.path || !strings.Contains(f.Error(), tc.say) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := subnetenv.ParseNetConf([]byte("{\n \"Network\": }")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a fault of syntax: %v", err)
	}
}

func FuzzParseNetConf(f *testing.F) {
	f.Add([]byte(`{"Network":"10.50.0.0/16","Backend":{"Type":"vxlan","VNI":4096}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := subnetenv.ParseNetConf(data)
		if (c == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", data, c, err)
		}
		if c != nil && c.NetworkName() == "" {
			t.Errorf("%q: no name", data)
		}
	})
}
