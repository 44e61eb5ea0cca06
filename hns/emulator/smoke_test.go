package emulator_test

import (
	"fmt"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestSmoke(t *testing.T) {
	h := emulator.New(&emulator.Options{Seed: 1})
	do := func(r hns.Request) hns.Response {
		resp, err := h.Do(r)
		for _, d := range resp.Documents {
			fmt.Println(r.Verb, r.Kind, r.Method, r.Path, string(d))
		}
		if err != nil {
			fmt.Println(r.Verb, r.Kind, err)
		}
		return resp
	}
	do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(`{"Name":"lake","Type":"Overlay","SchemaVersion":{"Major":2,"Minor":0},"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.50.3.0/24","Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}],"Routes":[{"NextHop":"10.50.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}]}`)})
	ep := do(hns.Request{Verb: hns.VerbCall, Method: "POST", Path: "/endpoints/", Document: []byte(`{"VirtualNetworkName":"lake","Name":"x","Policies":[{"Type":"OutBoundNAT","ExceptionList":["10.0.0.0/8"]}]}`)})
	_ = ep
	do(hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork})
	do(hns.Request{Verb: hns.VerbList, Kind: hns.KindEndpoint, Filter: `{"Name":"x","State":1}`})
	do(hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/networks"})
	do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNamespace, Document: []byte(`{"Type":"HostDefault","NamespaceId":5,"SchemaVersion":{"Major":2,"Minor":0}}`)})
	s, _ := h.Snapshot()
	b, _ := s.Bytes()
	fmt.Println(string(b))
	as, _ := h.Adapters()
	fmt.Printf("%+v\n", as)
}
