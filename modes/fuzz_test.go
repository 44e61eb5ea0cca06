package modes_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

// FuzzPlanPodEndpoint plans pods from what configurations and IPAM hold. A plan
// must keep its promises, be the same the second time, and be taken by the
// client unless the user's own policies are at fault.
func FuzzPlanPodEndpoint(f *testing.F) {
	f.Add("network-l2bridge", "10.50.3.7/24", "host-endpoint", "", "", `[{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"]}}]`, "10.50.0.0/16")
	f.Add("network-l2bridge-dual", "10.50.3.7/24,fd00:50:3::7/64", "given", "10.50.3.9,fd00:50:3::9", "", `[]`, "10.50.0.0/16,fd00:50::/48")
	f.Add("network-overlay", "10.60.4.7/32", "", "", "02-aa", `[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.15"}}]`, "")
	f.Add("network-overlay", "", "subnet", "", "", `[{"Type":"ProviderAddress","Settings":null},{"Type":"SDNROUTE","NeedEncap":true}]`, "0.0.0.0/0")
	f.Fuzz(func(t *testing.T, networkName, addresses, rule, gateways, prefix, policies, exceptions string) {
		switch networkName {
		case "network-l2bridge", "network-l2bridge-dual", "network-overlay":
		default:
			t.Skip()
		}
		in := modes.PodIntent{
			Name: "pod", Network: network(t, networkName), Addresses: split(addresses, netip.ParsePrefix), GatewayRule: modes.GatewayRule(rule),
			Gateways: split(gateways, netip.ParseAddr), MACPrefix: prefix, LoopbackDSR: true,
			NAT: &modes.NATIntent{Exceptions: split(exceptions, netip.ParsePrefix)}, Policies: decode(policies),
		}
		e, err := modes.PlanPodEndpoint(in)
		again, _ := modes.PlanPodEndpoint(in)
		if !reflect.DeepEqual(e, again) {
			t.Fatal("planned twice, and not the same")
		}
		if err != nil {
			if !errors.Is(err, hns.ErrInvalid) && !errors.Is(err, hns.ErrUnsupported) && !errors.Is(err, modes.ErrNotReady) || len(complaints(err)) == 0 {
				t.Fatalf("an error without a type: %v", err)
			}
			return
		}
		checkPod(t, in, e)
	})
}

func checkPod(t *testing.T, in modes.PodIntent, e *hns.Endpoint) {
	t.Helper()
	if len(e.IPConfigs) != len(in.Addresses) {
		t.Fatalf("%d addresses of %d", len(e.IPConfigs), len(in.Addresses))
	}
	for i, c := range e.IPConfigs {
		g := e.Gateway(c.Address)
		if c.Address != in.Addresses[i].Addr() || !c.Prefix().Contains(g) || g == c.Address {
			t.Fatalf("address %s, gateway %s of %s", c.Prefix(), g, in.Addresses[i])
		}
	}
	var users bool
	for _, p := range in.Policies {
		users = users || hns.CheckEndpointPolicy(p) != nil
	}
	_, err := hns.New(&recorder{}, nil).Endpoints.Create(t.Context(), e)
	if err != nil && !users {
		t.Fatalf("refused by the client: %v", err)
	}
}

// split reads a list; what cannot be read is the zero value, as in an intent
// that somebody filled in carelessly.
func split[T any](s string, parse func(string) (T, error)) []T {
	var out []T
	if s == "" {
		return nil
	}
	for _, part := range strings.Split(s, ",") {
		v, err := parse(part)
		if err != nil {
			var zero T
			v = zero
		}
		out = append(out, v)
	}
	return out
}

func decode(list string) []hns.EndpointPolicy {
	var docs []json.RawMessage
	if json.Unmarshal([]byte(list), &docs) != nil {
		return nil
	}
	var out []hns.EndpointPolicy
	for _, d := range docs {
		p, _ := hns.DecodeEndpointPolicy(d)
		out = append(out, p)
	}
	return out
}
