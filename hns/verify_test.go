package hns_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestCompareEndpoints(t *testing.T) {
	vlan := hns.RawPolicy{Type: "vlan", Settings: json.RawMessage(`{"IsolationId":7}`)}
	tests := []struct {
		name   string
		change func(want, got *hns.Endpoint)
		diffs  []string
	}{
		{"equal", func(_, _ *hns.Endpoint) {}, nil},
		{"nothing wanted", func(want, _ *hns.Endpoint) { *want = hns.Endpoint{} }, nil},
		{"more than wanted", func(_, got *hns.Endpoint) {
			got.Flags |= hns.EndpointEnableDHCP
			got.Policies = append([]hns.EndpointPolicy{hns.RawPolicy{Type: "L2Driver"}}, got.Policies...)
			got.Routes = append(got.Routes, hns.Route{NextHop: addr("10.50.3.2"), DestinationPrefix: prefix("10.96.0.0/12")})
			got.State, got.Namespace, got.ID = hns.EndpointDegraded, podNS, hns.NewID()
		}, nil},
		{"another order", func(want, got *hns.Endpoint) {
			want.Routes[0], want.Routes[1] = want.Routes[1], want.Routes[0]
			want.IPConfigs[0], want.IPConfigs[1] = want.IPConfigs[1], want.IPConfigs[0]
			want.Policies[0], want.Policies[1] = want.Policies[1], want.Policies[0]
		}, nil},
		{"length and metric of HNS's choice", func(want, _ *hns.Endpoint) { want.IPConfigs[0].PrefixLength, want.Routes[1].Metric = 0, 0 }, nil},
		{"name and network", func(_, got *hns.Endpoint) { got.Name, got.Network = "x", hns.ID{} }, []string{
			"Name: want sbx-01_lake, got x", "HostComputeNetwork: want " + lake.String() + ", got none"}},
		{"MAC", func(_, got *hns.Endpoint) { got.MAC = hns.MAC{0, 0x15} }, []string{"MacAddress: want 0E-2A-0A-32-03-07, got 00-15-00-00-00-00"}},
		{"flags", func(want, _ *hns.Endpoint) { want.Flags |= hns.EndpointRemote }, []string{"Flags: want 9, got 8"}},
		{"address", func(_, got *hns.Endpoint) { got.IPConfigs[0].Address = addr("10.50.3.8") }, []string{
			"IpConfigurations[0].IpAddress: want 10.50.3.7, got 10.50.3.8,fd00:50:3::7"}},
		{"no address", func(_, got *hns.Endpoint) { got.IPConfigs = nil }, []string{
			"IpConfigurations[0].IpAddress: want 10.50.3.7, got none", "IpConfigurations[1].IpAddress: want fd00:50:3::7, got none"}},
		{"length", func(_, got *hns.Endpoint) { got.IPConfigs[1].PrefixLength = 128 }, []string{"IpConfigurations[1].PrefixLength: want 64, got 128"}},
		{"gateway", func(_, got *hns.Endpoint) { got.Routes[0].NextHop = addr("10.50.3.1") }, []string{
			"Routes[0]: want 0.0.0.0/0 via 10.50.3.2, got 0.0.0.0/0 via 10.50.3.1, ::/0 via fd00:50:3::1 metric 256"}},
		{"metric", func(_, got *hns.Endpoint) { got.Routes = got.Routes[1:]; got.Routes[0].Metric = 5 }, []string{
			"Routes[0]: want 0.0.0.0/0 via 10.50.3.2, got ::/0 via fd00:50:3::1 metric 5", "Routes[1]: want ::/0 via fd00:50:3::1 metric 256, got ::/0 via fd00:50:3::1 metric 5"}},
		{"DNS", func(_, got *hns.Endpoint) { got.DNS = hns.DNS{Search: []string{"a", "b"}} }, []string{
			"Dns.Domain: want cluster.local, got none", "Dns.Search: want svc.cluster.local, got a,b", "Dns.ServerList: want 10.96.0.10, got none", "Dns.Options: want ndots:5, got none"}},
		{"policy", func(_, got *hns.Endpoint) { got.Policies[0] = hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16"}} }, []string{
			`Policies[0] OutBoundNAT: want {"Exceptions":["10.50.0.0/16","10.96.0.0/12"]}, got {"Exceptions":["10.50.0.0/16"]}`}},
		{"no policies", func(want, got *hns.Endpoint) { want.Policies, got.Policies = want.Policies[3:], nil }, []string{`Policies[0] PortName: want {"Name":"<pod> & co"}, got none`}},
		{"policy once, wanted twice", func(want, got *hns.Endpoint) {
			want.Policies, got.Policies = []hns.EndpointPolicy{hns.VLAN{IsolationID: 7}, vlan}, []hns.EndpointPolicy{vlan}
		}, []string{`Policies[1] vlan: want {"IsolationId":7}, got {"IsolationId":7}`}},
		{"policy with a name in two spellings", func(want, got *hns.Endpoint) {
			want.Policies = []hns.EndpointPolicy{hns.RawPolicy{Type: "X", Settings: json.RawMessage(`{"A":1}`)}}
			got.Policies = []hns.EndpointPolicy{hns.RawPolicy{Type: "X", Settings: json.RawMessage(`{"A":1,"a":1}`)}}
		}, []string{`Policies[0] X: want {"A":1}, got {"A":1,"a":1}`}},
		{"policy in other words", func(want, got *hns.Endpoint) {
			want.Policies = []hns.EndpointPolicy{hns.RawPolicy{Type: "X", Settings: json.RawMessage(`{"Mac":"00-15-5D-01-02-03","None":0,"Sub":{"B":[1]}}`)}}
			got.Policies = []hns.EndpointPolicy{hns.RawPolicy{Type: "x", Settings: json.RawMessage(`{"sub":{"b":[1],"c":""},"mac":"00:15:5d:01:02:03"}`)}}
		}, nil},
		{"nil policies", func(want, got *hns.Endpoint) {
			want.Policies, got.Policies = []hns.EndpointPolicy{nil, (*hns.VLAN)(nil)}, []hns.EndpointPolicy{nil}
		}, []string{
			"Policies[0]: want a policy is a value, not <nil>, got none", "Policies[1]: want a policy is a value, not *hns.VLAN, got none"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want, got := pod(), pod()
			tt.change(want, got)
			var texts []string
			for _, d := range hns.CompareEndpoints(want, got) {
				texts = append(texts, d.String())
			}
			same(t, "differences", tt.diffs, texts)
		})
	}
}

// A pod that is not what it should be: all that is wrong, at once.
func TestVerify(t *testing.T) {
	want := &hns.Endpoint{Name: "sbx-01_lake", IPConfigs: []hns.IPConfig{{Address: addr("10.50.3.7"), PrefixLength: 24}}}
	tests := []struct {
		name   string
		change func(*node, hns.ID)
		diffs  []string
		want   []error
	}{
		{"as it should be", func(*node, hns.ID) {}, nil, nil},
		{"detached", func(n *node, id hns.ID) { n.must(n.Namespaces.RemoveEndpoint(n.t.Context(), podNS, id)) }, []string{
			"State: want Attached, got Detached", "HostComputeNamespace: want " + podNS.String() + ", got none"}, nil},
		{"elsewhere", func(n *node, id hns.ID) {
			n.must(n.Namespaces.RemoveEndpoint(n.t.Context(), podNS, id))
			n.must(n.Namespaces.AddEndpoint(n.t.Context(), podNS2, id))
		}, []string{"HostComputeNamespace: want " + podNS.String() + ", got " + podNS2.String()}, nil},
		{"namespace gone", func(n *node, id hns.ID) {
			n.h.Inject(emulator.Fault{Verb: hns.VerbGet, Kind: hns.KindNamespace, Code: hns.CodeElementNotFound})
		}, []string{"namespace: want " + podNS.String() + ", got none"}, nil},
		{"endpoint gone", func(n *node, id hns.ID) { n.must(n.Endpoints.Delete(n.t.Context(), id)) }, nil, []error{hns.ErrNotFound}},
		{"two of the name", func(n *node, id hns.ID) { n.endpoint(hns.Endpoint{Name: "sbx-01_lake"}, hns.ID{}) }, nil, []error{hns.ErrAmbiguous}},
		{"service down", func(n *node, id hns.ID) { n.h.Stop() }, nil, []error{hns.ErrUnavailable}},
		{"namespace cannot be asked", func(n *node, id hns.ID) {
			n.h.Inject(emulator.Fault{Verb: hns.VerbGet, Kind: hns.KindNamespace, Code: hns.CodeAccessDenied})
		}, nil, []error{hns.ErrDenied}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, nil)
			done, err := n.attach()
			n.must(err)
			tt.change(n, done.Endpoint.ID)
			got, err := n.Verify(t.Context(), want, podNS)
			if tt.want != nil {
				wantIs(t, err, tt.want...)
			} else {
				n.must(err)
			}
			var texts []string
			for _, d := range got {
				texts = append(texts, d.String())
			}
			same(t, "differences", tt.diffs, texts)
		})
	}
}

// The two words on where the endpoint is, its own and the namespace's, and the
// state that HNS left out of the one document and has in the other.
func TestVerifyScripted(t *testing.T) {
	const endpoint = `{"ID":"2b000000-0000-4000-8000-0000000000ab","Name":"pod","HostComputeNamespace":"3c000000-0000-4000-8000-000000000001"}`
	script := func(state, resource string) hns.Backend {
		return backend(func(r hns.Request) (hns.Response, error) {
			switch r.Kind {
			case hns.KindNamespace:
				return answering(`{"Resources":[{"Type":"Endpoint","Data":{"Id":"` + resource + `"}}]}`)(r)
			case hns.KindEndpoint:
				if r.Verb == hns.VerbCall {
					return answering(`{"State":` + state + `}`)(r)
				}
			}
			return answering(endpoint)(r)
		})
	}
	for _, tt := range []struct {
		state, resource string
		want            []string
	}{
		{"2", podID.Upper(), nil},
		{"3", podID.String(), nil},
		{"1", podID.Upper(), []string{"State: want Attached, got Created"}},
		{"9", podID.Upper(), []string{"State: want Attached, got State(9)"}},
		{"2", podNS.String(), []string{"namespace " + podNS.String() + " Resources: want " + podID.String() + ", got none"}},
	} {
		diffs, err := hns.New(script(tt.state, tt.resource), nil).Verify(t.Context(), &hns.Endpoint{Name: "pod"}, podNS)
		var texts []string
		for _, d := range diffs {
			texts = append(texts, d.String())
		}
		same(t, "differences", tt.want, texts)
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := hns.New(script(`"up"`, podID.Upper()), nil).Verify(t.Context(), &hns.Endpoint{Name: "pod"}, podNS); !errors.Is(err, hns.ErrInvalid) {
		t.Errorf("a state that cannot be read: %v", err)
	}
	c := hns.New(script("2", podID.Upper()), nil)
	_, errNil := c.Verify(t.Context(), nil, podNS)
	_, errNowhere := c.Verify(t.Context(), &hns.Endpoint{Name: "pod"}, hns.ID{})
	if !errors.Is(errNil, hns.ErrInvalid) || !errors.Is(errNowhere, hns.ErrInvalid) {
		t.Errorf("errors %v, %v", errNil, errNowhere)
	}
}
