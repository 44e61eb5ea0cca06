package node_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/modes"
	"github.com/hnskit/hnskit/modes/node"
)

func givenIPAM(conf string) node.Description {
	return node.Description{
		Mode: modes.L2Bridge, Name: "lake", Plugin: "my-bridge",
		Subnets:       []netip.Prefix{netip.MustParsePrefix("10.50.3.0/24")},
		ClusterCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.50.0.0/16")},
		NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")},
		IPAM:          json.RawMessage(conf),
	}
}

// A plugin with an IPAM of its own finds that one's object in the list.
func TestGivenIPAM(t *testing.T) {
	for name, tc := range map[string]struct{ conf, want string }{
		"as it is":   {`{"type":"cloud","pool":"a"}`, `{"type":"cloud","pool":"a"}`},
		"host-local": {`{"type":"host-local","subnet":"10.50.3.0/28","routes":[]}`, `"rangeStart":"10.50.3.3"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, givenIPAM(tc.conf))
			var list struct {
				Plugins []struct{ IPAM json.RawMessage }
			}
			if err := json.Unmarshal(p.Conflist, &list); err != nil {
				t.Fatal(err)
			}
			compact := strings.NewReplacer(" ", "", "\n", "").Replace
			for where, got := range map[string]string{"plan": string(p.IPAM), "list": string(list.Plugins[0].IPAM)} {
				if !strings.Contains(compact(got), tc.want) {
					t.Errorf("%s: %s lacks %s", where, got, tc.want)
				}
			}
		})
	}
}

func TestGivenIPAMFaults(t *testing.T) {
	for conf, want := range map[string]string{
		`{`:                  "IPAM: ",
		`"host-local"`:       "IPAM: ",
		`{"type":"../a"}`:    "IPAM: ",
		`{}`:                 "IPAM.type: missing",
		`{"type":"a"},"b":7`: "IPAM: ",
		`{"type":"host-local","subnet":"10.50.3.0/30"}`: "IPAM: ",
	} {
		if _, err := givenIPAM(conf).Plan(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", conf, err)
		} else {
			t.Log(err)
		}
	}
	d := givenIPAM(`{"type":"a"}`)
	d.DataDir = "/leases"
	if _, err := d.Plan(); err == nil || !strings.Contains(err.Error(), "DataDir") {
		t.Errorf("DataDir beside IPAM: %v", err)
	}
}
