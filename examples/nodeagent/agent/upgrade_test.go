package agent

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// TestAfterFlanneld takes a node over from flanneld, with a pod that runs: its
// network stays, in both APIs of HNS that flanneld speaks, and so does the lease.
func TestAfterFlanneld(t *testing.T) {
	for name, tc := range map[string]struct {
		conf  string
		start func(*testNode)
		ways  []string
	}{
		"vxlan": {vxlanConf, func(n *testNode) {
			id := n.send(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(`{
				"Name":"flannel.4096","Type":"Overlay","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}}],
				"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.244.1.0/24",
				"Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}],"Routes":[{"NextHop":"10.244.1.1","DestinationPrefix":"0.0.0.0/0"}]}]}],
				"Flags":8,"SchemaVersion":{"Major":2,"Minor":0}}`)})
			for _, policy := range []string{`{"Type":"HostRoute","Settings":{}}`,
				`{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.244.7.0/24","IsolationId":4096,"ProviderAddress":"192.0.2.7","DistributedRouterMacAddress":"0a:00:00:00:00:07"}}`,
				`{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.244.9.0/24","IsolationId":4096,"ProviderAddress":"192.0.2.9","DistributedRouterMacAddress":"0a:00:00:00:00:09"}}`} {
				n.send(hns.Request{Verb: hns.VerbModify, Kind: hns.KindNetwork, ID: id,
					Document: fmt.Appendf(nil, `{"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[%s]}}`, policy)})
			}
		}, []string{"10.244.7.0/24 192.0.2.7 00-00-07"}},
		"host-gw": {hostGWConf, func(n *testNode) {
			post := func(path, doc string) hns.ID {
				return n.send(hns.Request{Verb: hns.VerbCall, Method: "POST", Path: path, Document: json.RawMessage(doc)})
			}
			id := post("/networks/", `{"Name":"cbr0","Type":"L2Bridge","Subnets":[{"AddressPrefix":"10.244.1.0/24","GatewayAddress":"10.244.1.1"}]}`)
			ep := post("/endpoints/", fmt.Sprintf(`{"Name":"cbr0_ep","VirtualNetwork":"%s","IPAddress":"10.244.1.2"}`, id.Upper()))
			post("/endpoints/"+ep.Upper()+"/attach", `{"SystemType":"Host","CompartmentId":1}`)
		}, []string{"10.244.7.0/24 192.0.2.7"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t, tc.conf)
			tc.start(n)
			before, err := n.client.Networks.ByName(t.Context(), n.opts.NetConf.NetworkName())
			if err != nil {
				t.Fatal(err)
			}
			pod, err := n.client.Endpoints.Create(t.Context(), &hns.Endpoint{Name: "pod", Network: before.ID})
			if err != nil {
				t.Fatal(err)
			}
			n.put(linux(7, tc.conf))
			n.run()
			n.untilWays(tc.ways...)
			after, err := n.client.Networks.ByName(t.Context(), n.opts.NetConf.NetworkName())
			if err != nil || after.ID != before.ID {
				t.Errorf("the network was %s and is %v, %v", before.ID, after, err)
			}
			if _, err := n.client.Endpoints.ByID(t.Context(), pod.ID); err != nil {
				t.Errorf("the pod: %v", err)
			}
		})
	}
}

// send makes a request as another program does, and returns the id of what was
// made.
func (n *testNode) send(r hns.Request) hns.ID {
	n.Helper()
	resp, err := n.hns.Do(r)
	if err != nil {
		n.Fatalf("%s: %v", r, err)
	}
	var out struct{ ID hns.ID }
	if len(resp.Documents) > 0 {
		if err := json.Unmarshal(resp.Documents[0], &out); err != nil {
			n.Fatal(err)
		}
	}
	return out.ID
}
