package hns_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
)

// pods4 and pods6 are subnets as a network shows them.
func pods4() hns.Subnet {
	return hns.Subnet{
		ID: mustID("4d000000-0000-4000-8000-000000000001"), Prefix: prefix("10.50.4.0/24"),
		Routes: []hns.Route{hns.DefaultRoute(addr("10.50.4.1"))}, Policies: []hns.SubnetPolicy{hns.VLAN{IsolationID: 7}}, Flags: 1,
		IPSubnets: []hns.IPSubnet{{ID: mustID("4e000000-0000-4000-8000-000000000001"), Prefix: prefix("10.50.4.0/25"), Flags: 3}, {Prefix: prefix("10.50.4.128/25")}},
	}
}

func pods6() hns.Subnet { return hns.Subnet{Prefix: prefix("fd00:50:4::/64")} }

// IP subnets read and write with their subnet.
func TestIPSubnets(t *testing.T) {
	const doc = `{"Ipams":[{"Subnets":[{"ID":"4D000000-0000-4000-8000-000000000001","IpAddressPrefix":"10.50.4.0/24","Flags":1,
		"IpSubnets":[{"ID":"4e000000-0000-4000-8000-000000000001","IpAddressPrefix":"10.50.4.0/25","Flags":3,"ObjectType":6},{"IpAddressPrefix":"10.50.4.128/25"}],
		"Policies":[{"Type":"VLAN","Settings":{"IsolationId":7}}],"Routes":[{"NextHop":"10.50.4.1","DestinationPrefix":"0.0.0.0/0"}]}]}]}`
	n, err := hns.DecodeNetwork([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "subnets", []hns.Subnet{pods4()}, n.Subnets())
	out, err := n.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := hns.DecodeNetwork(out)
	if err != nil {
		t.Fatal(err)
	}
	ids := cmpopts.IgnoreFields(hns.IPSubnet{}, "ID")
	same(t, "subnets, written back without the ids that HNS gives", n.Subnets(), again.Subnets(), cmpopts.IgnoreFields(hns.Subnet{}, "ID"), ids)

	lake := fjord()
	lake.IPAMs[0].Subnets[0].IPSubnets = []hns.IPSubnet{{Prefix: prefix("10.60.4.128/25")}, {}, {Prefix: prefix("10.60.4.1/25")}}
	same(t, "complaints", []string{"Ipams[0].Subnets[0].IpSubnets[1].IpAddressPrefix |  | ", "Ipams[0].Subnets[0].IpSubnets[2].IpAddressPrefix | 10.60.4.1/25 | host-bits"},
		complaints(createNetwork(t, lake)))
}

// Modify requests are checked as creates are, and nothing is sent.
func TestModifyRules(t *testing.T) {
	rec := &recorder{Backend: answering(`{"Major":16}`)}
	c := hns.New(rec, nil)
	ctx := t.Context()
	hostBits := hns.IPSubnet{Prefix: prefix("10.50.4.1/25")}
	for name, tt := range map[string]struct {
		err  error
		want []string
	}{
		"update policies":           {c.Endpoints.UpdatePolicies(ctx, podID, hns.ACL{}, nil), []string{"Policies[0].Settings.Action |  | enum", "Policies[0].Settings.Direction |  | enum", "Policies[1] |  | "}},
		"remove policies":           {c.Endpoints.RemovePolicies(ctx, podID, hns.RawPolicy{}), []string{"Policies[0].Type |  | "}},
		"update network's policies": {c.Networks.UpdatePolicies(ctx, lake, hns.SetPolicy{ID: "a"}), []string{"Policies[0].Settings.PolicyType |  | enum"}},
		"of no endpoint":            {c.Endpoints.UpdatePolicies(ctx, hns.ID{}), []string{"ID |  | "}},
		"remove of no endpoint":     {c.Endpoints.RemovePolicies(ctx, hns.ID{}), []string{"ID |  | "}},
		"of no network":             {c.Networks.UpdatePolicies(ctx, hns.ID{}), []string{"ID |  | "}},
		"DNS":                       {c.Networks.UpdateDNS(ctx, lake, hns.DNS{ServerList: []string{"dns"}}), []string{"Dns.ServerList[0] | dns | dns-server"}},
		"DNS of no network":         {c.Networks.UpdateDNS(ctx, hns.ID{}, hns.DNS{}), []string{"ID |  | "}},
		"extension":                 {c.Networks.UpdateExtension(ctx, lake, hns.ID{}, true), []string{"Id |  | "}},
		"subnets": {c.Networks.AddSubnets(ctx, lake, pods4(), hns.Subnet{Policies: []hns.SubnetPolicy{nil}, IPSubnets: []hns.IPSubnet{hostBits}}), []string{
			"Subnets[1].IpAddressPrefix |  | ", "Subnets[1].IpSubnets[0].IpAddressPrefix | 10.50.4.1/25 | host-bits", "Subnets[1].Policies[0] |  | "}},
		"subnets to remove":       {c.Networks.RemoveSubnets(ctx, lake, hns.Subnet{ID: lake}), []string{"Subnets[0].IpAddressPrefix |  | "}},
		"subnets of no network":   {c.Networks.AddSubnets(ctx, hns.ID{}), []string{"ID |  | "}},
		"IP subnets":              {c.Networks.AddIPSubnets(ctx, lake, podID, pods4().IPSubnets[0], hostBits, hns.IPSubnet{}), []string{"IpSubnets[1].IpAddressPrefix | 10.50.4.1/25 | host-bits", "IpSubnets[2].IpAddressPrefix |  | "}},
		"IP subnets of no subnet": {c.Networks.RemoveIPSubnets(ctx, lake, hns.ID{}), []string{"SubnetId |  | "}},
		"port without id":         {c.Endpoints.AddPort(ctx, podID, hns.VMPort{NIC: "x"}), []string{"PortId |  | "}},
		"port of no endpoint":     {c.Endpoints.RemovePort(ctx, hns.ID{}, hns.VMPort{ID: vipID}), []string{"ID |  | "}},
		"container without id":    {c.Namespaces.AddContainer(ctx, podNS, ""), []string{"ContainerId |  | "}},
		"container in nothing":    {c.Namespaces.RemoveContainer(ctx, hns.ID{}, "x"), []string{"ID |  | "}},
		"IP subnets of nothing":   {c.Networks.AddIPSubnets(ctx, hns.ID{}, podID), []string{"ID |  | "}},
	} {
		same(t, name, tt.want, complaints(tt.err))
		wantInvalid := errors.Is(tt.err, hns.ErrInvalid)
		var e *hns.Error
		if !wantInvalid || !errors.As(tt.err, &e) || e.Verb != hns.VerbModify {
			t.Errorf("%s: error %#v", name, tt.err)
		}
	}
	// Nothing to do is nothing to send.
	for name, err := range map[string]error{
		"update": c.Endpoints.UpdatePolicies(ctx, podID), "remove": c.Endpoints.RemovePolicies(ctx, podID), "network": c.Networks.UpdatePolicies(ctx, lake),
		"subnets": c.Networks.AddSubnets(ctx, lake), "subnets away": c.Networks.RemoveSubnets(ctx, lake),
		"IP subnets": c.Networks.AddIPSubnets(ctx, lake, podID), "IP subnets away": c.Networks.RemoveIPSubnets(ctx, lake, podID),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	same(t, "requests", nil, rec.verbs())
	allowed := hns.New(rec, &hns.Options{Allow: []string{"host-bits"}})
	if err := allowed.Networks.AddIPSubnets(ctx, lake, podID, hostBits); err != nil {
		t.Error(err)
	}
}

// The operation's name tells what was tried.
func TestModifyErrors(t *testing.T) {
	c := hns.New(failing(hns.CodeRequestUnsupported, ""), nil)
	ctx := t.Context()
	for want, err := range map[string]error{
		"update policies of endpoint " + podID.String():     c.Endpoints.UpdatePolicies(ctx, podID, hns.L2Driver{}),
		"remove policies of endpoint " + podID.String():     c.Endpoints.RemovePolicies(ctx, podID, hns.L2Driver{}),
		"update policies of network " + lake.String():       c.Networks.UpdatePolicies(ctx, lake, hns.AutomaticDNS{}),
		"update DNS of network " + lake.String():            c.Networks.UpdateDNS(ctx, lake, hns.DNS{}),
		"update extension of network " + lake.String():      c.Networks.UpdateExtension(ctx, lake, podID, true),
		"add subnets of network " + lake.String():           c.Networks.AddSubnets(ctx, lake, pods6()),
		"remove subnets of network " + lake.String():        c.Networks.RemoveSubnets(ctx, lake, pods6()),
		"add IP subnets of network " + lake.String():        c.Networks.AddIPSubnets(ctx, lake, podID, pods4().IPSubnets[0]),
		"add port to endpoint " + podID.String():            c.Endpoints.AddPort(ctx, podID, hns.VMPort{ID: vipID}),
		"remove port from endpoint " + podID.String():       c.Endpoints.RemovePort(ctx, podID, hns.VMPort{ID: vipID}),
		"add container to namespace " + podNS.String():      c.Namespaces.AddContainer(ctx, podNS, "x"),
		"remove container from namespace " + podNS.String(): c.Namespaces.RemoveContainer(ctx, podNS, "x"),
		"remove IP subnets of network " + lake.String():     c.Networks.RemoveIPSubnets(ctx, lake, podID, pods4().IPSubnets[0]),
	} {
		if want = "hns: " + want + ": HCN_E_REQUEST_UNSUPPORTED (0x803b0015)"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A policy whose text is broken is refused when its check was lifted too.
func TestModifyWithoutText(t *testing.T) {
	c := hns.New(answering(), &hns.Options{Allow: []string{"policy-type"}})
	err := c.Endpoints.UpdatePolicies(t.Context(), podID, hns.RawPolicy{Type: "Bogus", Settings: json.RawMessage(`{`)})
	same(t, "complaints", []string{"Policies[0].Settings | { | "}, complaints(err))
	if err := c.Networks.AddSubnets(t.Context(), lake, hns.Subnet{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Policies: []hns.SubnetPolicy{(*hns.VSID)(nil)}}); !errors.Is(err, hns.ErrInvalidPolicy) {
		t.Errorf("error %v", err)
	}
}
