package hns_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/netip"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// Examples run on the emulator; on Windows [hns.Open] gives the same client of
// the real HNS. exampleNode has an L2Bridge network "lake" and a namespace.
func exampleNode() (c *hns.Client, lake *hns.Network, namespace hns.ID) {
	ctx := context.Background()
	c = hns.New(emulator.New(nil), nil)
	lake, err := c.Networks.Create(ctx, &hns.Network{
		Name: "lake",
		Type: hns.L2Bridge,
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{
			Prefix: netip.MustParsePrefix("10.50.3.0/24"),
			Routes: []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.50.3.1"))},
		}}}},
	})
	check(err)
	ns, err := c.Namespaces.Create(ctx, &hns.Namespace{})
	check(err)
	return c, lake, ns.ID
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleNew() {
	ctx := context.Background()
	c := hns.New(emulator.New(nil), &hns.Options{
		Observe: func(call hns.Call) { fmt.Println(call.Verb, call.Kind, call.Err == nil) },
	})
	_, err := c.Networks.List(ctx)
	check(err)
	// Output:
	// list network true
}

func ExampleClient_Attach() {
	ctx := context.Background()
	c, lake, namespace := exampleNode()

	a := hns.Attachment{
		Name:      "sbx-01_lake",
		Network:   lake.ID,
		Namespace: namespace,
		Build: func(context.Context) (*hns.Endpoint, error) {
			return &hns.Endpoint{
				IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr("10.50.3.7"), PrefixLength: 24}},
				Policies:  []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.50.0.0/16"}}},
			}, nil
		},
	}
	for range 2 { // the second call finds what the first one made
		done, err := c.Attach(ctx, a)
		check(err)
		fmt.Println(done.Endpoint.Name, done.Endpoint.Addresses(), "created:", done.Created)
	}
	// Output:
	// sbx-01_lake [10.50.3.7] created: true
	// sbx-01_lake [10.50.3.7] created: false
}

func ExampleClient_Detach() {
	ctx := context.Background()
	c, lake, namespace := exampleNode()
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: "sbx-01_lake", Network: lake.ID})
	check(err)
	check(c.Namespaces.AddEndpoint(ctx, namespace, ep.ID))

	fmt.Println(c.Detach(ctx, hns.Detachment{Name: "sbx-01_lake"}))
	fmt.Println(c.Detach(ctx, hns.Detachment{Name: "sbx-01_lake"})) // gone already
	left, err := c.Endpoints.List(ctx)
	check(err)
	fmt.Println(len(left), "left")
	// Output:
	// <nil>
	// <nil>
	// 0 left
}

func ExampleClient_Verify() {
	ctx := context.Background()
	c, lake, namespace := exampleNode()
	want := &hns.Endpoint{
		Name:      "sbx-01_lake",
		Network:   lake.ID,
		IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr("10.50.3.7")}},
	}
	ep, err := c.Endpoints.Create(ctx, want)
	check(err)
	check(c.Namespaces.AddEndpoint(ctx, namespace, ep.ID))

	want.IPConfigs[0].Address = netip.MustParseAddr("10.50.3.8")
	differences, err := c.Verify(ctx, want, namespace)
	check(err)
	for _, d := range differences {
		fmt.Println(d)
	}
	// Output:
	// IpConfigurations[0].IpAddress: want 10.50.3.8, got 10.50.3.7
}

func ExampleClient_Version() {
	c := hns.New(emulator.New(&emulator.Options{Version: hns.Version{Major: 13, Minor: 3}}), nil)
	v, err := c.Version(context.Background())
	check(err)
	fmt.Println(v)
	// Output:
	// 13.3
}

func ExampleClient_Require() {
	ctx := context.Background()
	c := hns.New(emulator.New(&emulator.Options{Version: hns.Version{Major: 10, Minor: 1}}), nil)
	fmt.Println(c.Require(ctx, hns.FeatureHostRoute))
	err := c.Require(ctx, hns.FeatureDSR)
	fmt.Println(err)
	fmt.Println(errors.Is(err, hns.ErrUnsupported))
	// Output:
	// <nil>
	// DSR needs HNS 9.3-9.x or 10.2+ (Windows Server 2019 with KB4571748, Windows 1903 serviced), this is 10.1
	// true
}

func ExampleClient_Snapshot() {
	ctx := context.Background()
	c, lake, _ := exampleNode()
	before, err := c.Snapshot(ctx)
	check(err)
	check(c.Networks.Delete(ctx, lake.ID))
	after, err := c.Snapshot(ctx)
	check(err)
	fmt.Println(len(before.Networks), len(after.Networks), len(after.Namespaces))
	// Output:
	// 1 0 1
}

func ExampleParseSnapshot() {
	s, err := hns.ParseSnapshot([]byte(`{"Networks": [{"ID": "1A000000-0000-4000-8000-000000000001", "Name": "lake", "Type": "L2Bridge"}]}`))
	check(err)
	text, err := s.Bytes()
	check(err)
	fmt.Printf("%s", text)
	// Output:
	// {
	//   "Networks": [
	//     {
	//       "ID": "1A000000-0000-4000-8000-000000000001",
	//       "Name": "lake",
	//       "Type": "L2Bridge"
	//     }
	//   ],
	//   "Endpoints": [],
	//   "Namespaces": []
	// }
}

// A backend is one method, so recorders, delays and faults are small wrappers.
func ExampleBackend() {
	c := hns.New(logged{emulator.New(nil)}, nil)
	_, err := c.Endpoints.ByName(context.Background(), "sbx-01_lake")
	fmt.Println(errors.Is(err, hns.ErrNotFound))
	// Output:
	// list endpoint {"Name":"sbx-01_lake"}
	// true
}

type logged struct{ hns.Backend }

func (l logged) Do(r hns.Request) (hns.Response, error) {
	fmt.Println(r.Verb, r.Kind, r.Filter)
	return l.Backend.Do(r)
}

func ExampleParseID() {
	id, err := hns.ParseID("{16DE946A-9C28-549A-AF05-33AB0201F9DB}")
	fmt.Println(id, err)
	_, err = hns.ParseID("web-ns-1")
	fmt.Println(err)
	// Output:
	// 16de946a-9c28-549a-af05-33ab0201f9db <nil>
	// "web-ns-1": not a GUID of the form 8-4-4-4-12
}

func ExampleParseMAC() {
	m, err := hns.ParseMAC("0e:2a:0a:32:03:07")
	fmt.Println(m, err)
	// Output:
	// 0E-2A-0A-32-03-07 <nil>
}

// What cannot be read is listed, and the rest of the object is there.
func ExampleDecodeEndpoint() {
	e, err := hns.DecodeEndpoint([]byte(`{"Name": "pod", "MacAddress": "00-15-5D-01-02-03",
		"Routes": [{"NextHop": "<gw>", "DestinationPrefix": "0.0.0.0/0"}]}`))
	check(err)
	fmt.Println(e.Name, e.MAC)
	for _, u := range e.Document.Unread {
		fmt.Println(u.Path, u.Text, u.Reason)
	}
	// Output:
	// pod 00-15-5D-01-02-03
	// Routes[0].NextHop "<gw>" not an IP address
}

func ExamplePoliciesOf() {
	e, err := hns.DecodeEndpoint([]byte(`{"Policies": [{"Type": "L2Driver"},
		{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.50.0.0/16"]}}]}`))
	check(err)
	for _, nat := range hns.PoliciesOf[hns.OutBoundNAT](e.Policies) {
		fmt.Println(nat.Exceptions)
	}
	fmt.Println(hns.HasPolicy(e.Policies, "l2driver"))
	// Output:
	// [10.50.0.0/16]
	// true
}

func ExampleCheckEndpointPolicy() {
	p, err := hns.DecodeEndpointPolicy([]byte(`{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["<your service cidr>", "10.50.0.0/16"]}}`))
	check(err)
	err = hns.CheckEndpointPolicy(p)
	fmt.Println(err)
	fmt.Println(errors.Is(err, hns.ErrInvalidPolicy))
	// Output:
	// Settings.Exceptions[0]: "<your service cidr>": not a prefix such as 10.0.0.0/8, nor an address
	// true
}

// Every complaint comes at once, with the path of the value.
func ExampleFieldErrors() {
	c, lake, _ := exampleNode()
	_, err := c.Endpoints.Create(context.Background(), &hns.Endpoint{
		Network:   lake.ID,
		IPConfigs: []hns.IPConfig{{Address: netip.MustParseAddr("224.0.0.1")}},
		Policies:  []hns.EndpointPolicy{hns.OutBoundNAT{Exceptions: []string{"10.96.0.1/12"}}, nil},
	})
	for _, e := range hns.FieldErrors(err) {
		fmt.Println(e)
	}
	// Output:
	// IpConfigurations[0].IpAddress: "224.0.0.1": not a plain unicast address
	// Policies[0].Settings.Exceptions[0]: "10.96.0.1/12": has host bits; the prefix is 10.96.0.0/12
	// Policies[1]: a policy is a value, not <nil>
}
