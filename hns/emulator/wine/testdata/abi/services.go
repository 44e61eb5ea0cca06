package main

import (
	"encoding/json"
	"fmt"
)

// What a load balancer and a route need: an endpoint on a network.
var (
	bridge   = guid{0x0a1b2c3d, 0x1122, 0x4344, [8]byte{0x85, 0x86, 1, 2, 3, 4, 5, 7}}
	backend  = guid{0x0a1b2c3d, 0x1122, 0x4344, [8]byte{0x85, 0x86, 1, 2, 3, 4, 5, 8}}
	balancer = guid{0x0a1b2c3d, 0x1122, 0x4344, [8]byte{0x85, 0x86, 1, 2, 3, 4, 5, 9}}
	route    = guid{0x0a1b2c3d, 0x1122, 0x4344, [8]byte{0x85, 0x86, 1, 2, 3, 4, 5, 10}}
)

const l2bridge = `{` + schema2 + `,"Name":"cbr0","Type":"L2Bridge","Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.8.0.0/16",` +
	`"Routes":[{"NextHop":"10.8.0.1","DestinationPrefix":"0.0.0.0/0"}]}]}]}`

func onBackend(more string) string {
	return `{` + schema2 + `,"HostComputeEndpoints":["` + backend.String() + `"],` + more + `}`
}

// services go through the lives of a load balancer and of a route.
func (c *call) services() {
	fmt.Println("-- services")
	c.reset()
	c.do(c.v2, "HcnCreateNetwork", id(&bridge), text(l2bridge), c.pHandle(), c.pRec())
	fmt.Print(", handle ", c.handle != 0 && c.handle != 0xbad)
	c.record()
	network := c.handle
	c.reset()
	c.do(c.v2, "HcnCreateEndpoint", network, id(&backend), text(`{`+schema2+`,"Name":"pod"}`), c.pHandle(), c.pRec())
	fmt.Print(", handle ", c.handle != 0 && c.handle != 0xbad)
	c.record()

	balancerDoc := onBackend(`"FrontendVIPs":["10.96.0.10"],"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80}]`)
	c.life("LoadBalancer", &balancer, balancerDoc)
	c.life("SdnRoute", &route, onBackend(`"Setting":[{"DestinationPrefix":"10.96.0.0/12","NextHop":"10.8.0.1","NeedEncap":true}]`))

	c.reset()
	c.do(c.v2, "HcnDeleteEndpoint", id(&backend), c.pRec())
	c.record()
	c.reset()
	c.do(c.v2, "HcnDeleteNetwork", id(&bridge), c.pRec())
	c.record()
}

// life calls each function of a kind of object once, and some again.
func (c *call) life(kind string, g *guid, doc string) {
	c.reset()
	c.do(c.v2, "HcnCreate"+kind, id(g), text(doc), c.pHandle(), c.pRec())
	fmt.Print(", handle ", c.handle != 0 && c.handle != 0xbad)
	c.record()
	c.do(c.v2, "HcnClose"+kind, c.handle)
	fmt.Println()

	c.reset()
	c.do(c.v2, "HcnEnumerate"+kind+"s", text(all), c.pOut(), c.pRec())
	fmt.Print(", ", c.take(&c.out))
	c.record()
	c.reset()
	c.do(c.v2, "HcnOpen"+kind, id(g), c.pHandle(), c.pRec())
	fmt.Print(", handle ", c.handle != 0 && c.handle != 0xbad)
	c.record()
	handle := c.handle

	c.reset()
	c.do(c.v2, "HcnQuery"+kind+"Properties", handle, text(all), c.pOut(), c.pRec())
	var o struct {
		ID                   string
		HostComputeEndpoints []string
	}
	err := json.Unmarshal([]byte(c.take(&c.out)), &o)
	fmt.Print(", ", o, " ", err)
	c.record()
	c.reset()
	c.do(c.v2, "HcnModify"+kind, handle, text(doc), c.pRec())
	c.record()
	c.do(c.v2, "HcnClose"+kind, handle)
	fmt.Println()

	c.reset()
	c.do(c.v2, "HcnDelete"+kind, id(g), c.pRec())
	c.record()
	c.reset()
	c.do(c.v2, "HcnOpen"+kind, id(g), c.pHandle(), c.pRec())
	fmt.Print(", handle ", c.handle)
	c.record()
}
