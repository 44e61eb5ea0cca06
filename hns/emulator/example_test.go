package emulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

const exampleNetwork = `{
  "Name": "lake", "Type": "L2Bridge", "SchemaVersion": {"Major": 2, "Minor": 0},
  "Ipams": [{"Subnets": [{"IpAddressPrefix": "10.50.3.0/24",
    "Routes": [{"NextHop": "10.50.3.1", "DestinationPrefix": "0.0.0.0/0"}]}]}]
}`

func Example() {
	h := emulator.New(nil)
	resp, err := h.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(exampleNetwork)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("networks made:", len(resp.Documents))
	_, err = h.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(exampleNetwork)})
	fmt.Println(err)
	// Output:
	// networks made: 1
	// HCN_E_NETWORK_ALREADY_EXISTS (0x803b0010): A network with this name already exists.
}

// The state in a file, shared by two users of it.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "hns")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "hns.json")
	plugin, err := emulator.Open(path, &emulator.Options{Version: emulator.WindowsServer2019})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent, err := emulator.Open(path, nil) // with the options in the file
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = plugin.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(exampleNetwork)})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := agent.Snapshot()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("HNS", s.Version, "has networks:", len(s.Networks))
	// Output:
	// HNS 9.5 has networks: 1
}

// The second create fails although HNS did the work.
func ExampleHNS_Inject() {
	ctx := context.Background()
	h := emulator.New(nil)
	h.Inject(emulator.Fault{Verb: hns.VerbCreate, Nth: 2, After: true, Code: hns.CodeRPCCallFailed})
	c := hns.New(h, nil)
	for _, name := range []string{"pond", "pool"} {
		_, err := c.Networks.Create(ctx, &hns.Network{Name: name, Type: hns.NAT})
		fmt.Println(name, "failed:", errors.Is(err, hns.ErrUnavailable))
	}
	all, err := c.Networks.List(ctx)
	fmt.Println(len(all), "networks", err)
	// Output:
	// pond failed: false
	// pool failed: true
	// 2 networks <nil>
}

func ExampleHNS_Stop() {
	ctx := context.Background()
	h := emulator.New(nil)
	c := hns.New(h, nil)
	h.Stop()
	_, err := c.Networks.ByName(ctx, "pond")
	fmt.Println("unavailable:", errors.Is(err, hns.ErrUnavailable), "not found:", errors.Is(err, hns.ErrNotFound))
	if err := h.Restart(); err != nil {
		fmt.Println(err)
	}
	_, err = c.Networks.ByName(ctx, "pond")
	fmt.Println("unavailable:", errors.Is(err, hns.ErrUnavailable), "not found:", errors.Is(err, hns.ErrNotFound))
	// Output:
	// unavailable: true not found: false
	// unavailable: false not found: true
}

// The address of the host moves to the vNIC of the switch.
func ExampleHNS_Adapters() {
	h := emulator.New(nil)
	if _, err := h.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(exampleNetwork)}); err != nil {
		fmt.Println(err)
	}
	all, err := h.Adapters()
	if err != nil {
		fmt.Println(err)
	}
	for _, a := range all {
		fmt.Println(a.Name, a.Addresses)
	}
	// Output:
	// Ethernet []
	// vEthernet (Ethernet) [192.0.2.10/24]
}

// A load balancer over an endpoint, and another one that wants its port.
func Example_loadBalancer() {
	h := emulator.New(nil)
	create := func(kind hns.Kind, doc string) (id string, err error) {
		resp, err := h.Do(hns.Request{Verb: hns.VerbCreate, Kind: kind, Document: []byte(doc)})
		if err != nil {
			return "", err
		}
		var made struct{ ID string }
		return made.ID, json.Unmarshal(resp.Documents[0], &made)
	}
	network, _ := create(hns.KindNetwork, exampleNetwork)
	endpoint, _ := create(hns.KindEndpoint, `{"HostComputeNetwork":"`+network+`","SchemaVersion":{"Major":2,"Minor":0}}`)
	for _, internal := range []string{"8080", "9090"} {
		_, err := create(hns.KindLoadBalancer, `{"HostComputeEndpoints":["`+endpoint+`"],"FrontendVIPs":["10.96.0.20"],
			"PortMappings":[{"Protocol":6,"InternalPort":`+internal+`,"ExternalPort":80}],"SchemaVersion":{"Major":2,"Minor":0}}`)
		fmt.Println(internal, err)
	}
	// Output:
	// 8080 <nil>
	// 9090 HCN_E_PORT_ALREADY_EXISTS (0x803b0013): The specified port already exists.
}

// An object that goes without a call, as when somebody else deletes it.
func ExampleHNS_Vanish() {
	h := emulator.New(nil)
	resp, err := h.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(exampleNetwork)})
	if err != nil {
		fmt.Println(err)
		return
	}
	var made struct{ ID hns.ID }
	if err := json.Unmarshal(resp.Documents[0], &made); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.Vanish(hns.KindNetwork, made.ID))
	_, err = h.Do(hns.Request{Verb: hns.VerbGet, Kind: hns.KindNetwork, ID: made.ID})
	fmt.Println(err)
	// Output:
	// <nil>
	// HCN_E_NETWORK_NOT_FOUND (0x803b0001): The network was not found.
}

// A network that no list shows and that cannot be made.
func ExampleHNS_Ghost() {
	h := emulator.New(nil)
	if err := h.Ghost("lake"); err != nil {
		fmt.Println(err)
		return
	}
	create := hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(exampleNetwork)}
	list, err := h.Do(hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork, Filter: `{"Name":"lake"}`})
	fmt.Println("found:", len(list.Documents), err)
	_, err = h.Do(create)
	var failed *hns.BackendError
	if errors.As(err, &failed) {
		fmt.Println(failed.Code)
	}
	if err := h.Restart(); err != nil {
		fmt.Println(err)
		return
	}
	_, err = h.Do(create)
	fmt.Println("after a restart:", err)
	// Output:
	// found: 0 <nil>
	// HCN_E_NETWORK_ALREADY_EXISTS (0x803b0010)
	// after a restart: <nil>
}

// Somebody removed the virtual switch by hand.
func ExampleHNS_LoseSwitch() {
	ctx := context.Background()
	h := emulator.New(nil)
	c := hns.New(h, nil)
	n, err := c.Networks.Create(ctx, &hns.Network{Name: "pond", Type: hns.NAT})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: "duck", Network: n.ID})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := h.LoseSwitch(n.ID); err != nil {
		fmt.Println(err)
	}
	err = c.Endpoints.AttachHost(ctx, e.ID)
	var failed *hns.Error
	fmt.Println(errors.As(err, &failed), failed.Code)
	// Output:
	// true HCN_E_SWITCH_NOT_FOUND (0x803b0004)
}
