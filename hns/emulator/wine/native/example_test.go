package native_test

import (
	"fmt"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/emulator/wine/native"
)

// What a Windows program gets to see, without Windows and without Wine.
func Example() {
	api := native.New(emulator.New(nil), nil)

	made := api.Create(hns.KindNetwork, 0, netID, `{
		"SchemaVersion": {"Major": 2, "Minor": 0}, "Name": "nat", "Type": "NAT",
		"Ipams": [{"Type": "Static", "Subnets": [{"IpAddressPrefix": "10.7.0.0/16"}]}]
	}`)
	fmt.Println("create:", uint32(made.Code), made.Handle != 0)

	// The filter is JSON in a string in JSON.
	found := api.Enumerate(hns.KindNetwork, `{"SchemaVersion": {"Major": 2, "Minor": 0}, "Filter": "{\"Name\":\"nat\"}"}`)
	fmt.Println("enumerate:", found.Text)

	fmt.Println("close:", uint32(api.Close(hns.KindNetwork, made.Handle).Code))
	closed := api.Query(hns.KindNetwork, made.Handle, "")
	fmt.Printf("query: %#x\n", uint32(closed.Code))

	missing := api.Open(hns.KindEndpoint, epID)
	fmt.Println("open:", missing.Record)

	// The v1 call sees the same network.
	gone := api.Call("DELETE", "/networks/"+netID.Upper(), "")
	fmt.Println("v1 delete:", gone.Text)
	fmt.Println("enumerate:", api.Enumerate(hns.KindNetwork, "").Text)
	// Output:
	// create: 0 true
	// enumerate: ["11111111-1111-4111-8111-111111111111"]
	// close: 0
	// query: 0x80070006
	// open: {"Success":false,"Error":"The endpoint was not found. ","ErrorCode":2151350274}
	// v1 delete: {"Success":true}
	// enumerate: []
}
