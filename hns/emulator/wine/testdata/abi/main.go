// Command abi calls computenetwork.dll and vmcompute.dll the way C programs
// do and prints what comes back. Out-parameters are filled with rubbish
// first, so that one the DLL forgets to set shows.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"unicode/utf16"
	"unsafe"
)

type guid struct {
	a    uint32
	b, c uint16
	d    [8]byte
}

func (g *guid) String() string {
	return fmt.Sprintf("%08x-%04x-%04x-%x-%x", g.a, g.b, g.c, g.d[:2], g.d[2:])
}

var (
	network = guid{0x0a1b2c3d, 0x1122, 0x4344, [8]byte{0x85, 0x86, 1, 2, 3, 4, 5, 6}}
	missing = guid{0xffffffff, 1, 2, [8]byte{3}}
	rubbish = new(uint16)
)

const (
	schema2 = `"SchemaVersion":{"Major":2,"Minor":0}`
	all     = `{` + schema2 + `,"Flags":0,"Filter":"{}"}`
	nat     = `{` + schema2 + `,"Name":"nät","Type":"NAT","Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.7.0.0/16",` +
		`"Routes":[{"NextHop":"10.7.0.1","DestinationPrefix":"0.0.0.0/0"}]}]}]}`
)

// call calls an entry point, prints its HRESULT, and returns what it made.
type call struct {
	handle   uintptr
	out, rec *uint16
	v2, v1   *syscall.LazyDLL
	taskFree *syscall.LazyProc
}

func (c *call) do(dll *syscall.LazyDLL, name string, args ...uintptr) {
	proc := dll.NewProc(name)
	if err := proc.Find(); err != nil {
		fmt.Println(name, err)
		os.Exit(1)
	}
	hr, _, _ := proc.Call(args...)
	fmt.Printf("%s %#x", name, uint32(hr))
}

// reset fills the out-parameters with rubbish.
func (c *call) reset() { c.handle, c.out, c.rec = 0xbad, rubbish, rubbish }

func (c *call) pHandle() uintptr { return uintptr(unsafe.Pointer(&c.handle)) }
func (c *call) pOut() uintptr    { return uintptr(unsafe.Pointer(&c.out)) }
func (c *call) pRec() uintptr    { return uintptr(unsafe.Pointer(&c.rec)) }

// take returns and frees a text of the DLL.
func (c *call) take(p **uint16) string {
	switch *p {
	case nil:
		return "NULL"
	case rubbish:
		return "NOT SET"
	}
	var u []uint16
	for q := unsafe.Pointer(*p); *(*uint16)(q) != 0; q = unsafe.Add(q, 2) {
		u = append(u, *(*uint16)(q))
	}
	c.taskFree.Call(uintptr(unsafe.Pointer(*p)))
	*p = nil
	return string(utf16.Decode(u))
}

// record prints the error record: whether it has a message, and its code.
func (c *call) record() {
	text := c.take(&c.rec)
	var r struct {
		Success   bool
		Error     string
		ErrorCode uint32
	}
	if json.Unmarshal([]byte(text), &r) == nil {
		text = fmt.Sprintf("{%t, message %t, %#x}", r.Success, len(r.Error) > 1 && r.Error[len(r.Error)-1] == ' ', r.ErrorCode)
	}
	fmt.Println(", record", text)
}

func text(s string) uintptr {
	p, err := syscall.UTF16PtrFromString(s)
	if err != nil {
		panic(err)
	}
	keep = append(keep, p)
	return uintptr(unsafe.Pointer(p))
}

func id(g *guid) uintptr { return uintptr(unsafe.Pointer(g)) }

var keep []*uint16 // what the calls point to

func main() {
	c := &call{
		v2:       syscall.NewLazyDLL("computenetwork.dll"),
		v1:       syscall.NewLazyDLL("vmcompute.dll"),
		taskFree: syscall.NewLazyDLL("ole32.dll").NewProc("CoTaskMemFree"),
	}
	handle := c.lifeOfANetwork()
	c.failures(handle)
	c.v1Calls()
	c.services()
}

// lifeOfANetwork returns the handle it closed.
func (c *call) lifeOfANetwork() uintptr {
	c.reset()
	c.do(c.v2, "HcnCreateNetwork", id(&network), text(nat), c.pHandle(), c.pRec())
	fmt.Print(", handle ", c.handle != 0 && c.handle != 0xbad)
	c.record()
	made := c.handle

	c.reset()
	c.do(c.v2, "HcnQueryNetworkProperties", made, text(all), c.pOut(), c.pRec())
	var n struct{ ID, Name string }
	err := json.Unmarshal([]byte(c.take(&c.out)), &n)
	fmt.Print(", ", n, " ", err)
	c.record()

	c.reset()
	c.do(c.v2, "HcnEnumerateNetworks", 0, c.pOut(), c.pRec())
	fmt.Print(", ", c.take(&c.out))
	c.record()

	c.reset()
	c.do(c.v2, "HcnOpenNetwork", id(&network), c.pHandle(), c.pRec())
	fmt.Print(", another handle ", c.handle != made)
	c.record()
	c.do(c.v2, "HcnCloseNetwork", c.handle)
	fmt.Println()
	c.do(c.v2, "HcnCloseNetwork", made)
	fmt.Println()
	return made
}

func (c *call) failures(closed uintptr) {
	fmt.Println("-- failures")
	c.reset()
	c.do(c.v2, "HcnQueryNetworkProperties", closed, text(all), c.pOut(), c.pRec())
	fmt.Print(", ", c.take(&c.out))
	c.record()
	c.do(c.v2, "HcnCloseNetwork", closed)
	fmt.Println()
	for _, kind := range []string{"Network", "Endpoint", "Namespace"} {
		c.reset()
		c.do(c.v2, "HcnOpen"+kind, id(&missing), c.pHandle(), c.pRec())
		fmt.Print(", handle ", c.handle)
		c.record()
	}
	c.reset()
	c.do(c.v2, "HcnCreateEndpoint", closed, id(&guid{}), text(`{}`), c.pHandle(), c.pRec())
	fmt.Print(", handle ", c.handle)
	c.record()
	c.reset()
	c.do(c.v2, "HcnCreateNetwork", id(&guid{}), text(`{"Name":`), c.pHandle(), c.pRec())
	fmt.Print(", handle ", c.handle)
	c.record()
	c.reset()
	c.do(c.v2, "HcnOpenNetwork", 0, c.pHandle(), c.pRec())
	fmt.Print(", handle ", c.handle)
	c.record()
	c.reset()
	c.do(c.v2, "HcnOpenNetwork", id(&network), 0, c.pRec())
	c.record()
	c.do(c.v2, "HcnOpenNetwork", id(&missing), c.pHandle(), 0) // no record wanted
	fmt.Println()
	c.reset()
	c.do(c.v2, "HcnEnumerateNetworks", text(all), 0, c.pRec())
	c.record()
}

// v1Calls go through vmcompute.dll and must see the network that was made
// through computenetwork.dll, and the other way round.
func (c *call) v1Calls() {
	fmt.Println("-- v1")
	var answer struct {
		Success bool
		Output  struct{ Name string }
	}
	c.reset()
	c.do(c.v1, "HNSCall", text("GET"), text("/networks/"+network.String()), text(""), c.pOut())
	err := json.Unmarshal([]byte(c.take(&c.out)), &answer)
	fmt.Println(",", answer, err)
	c.reset()
	c.do(c.v1, "HNSCall", text("DELETE"), text("/networks/"+network.String()), 0, c.pOut())
	err = json.Unmarshal([]byte(c.take(&c.out)), &answer)
	fmt.Println(", success", answer.Success, err)
	c.reset()
	c.do(c.v2, "HcnEnumerateNetworks", text(all), c.pOut(), c.pRec())
	fmt.Print(", ", c.take(&c.out))
	c.record()
	c.do(c.v1, "HNSCall", text("GET"), text("/networks/"), 0, 0)
	fmt.Println()
}
