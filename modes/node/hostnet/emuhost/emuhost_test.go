package emuhost_test

import (
	"context"
	"fmt"

	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/node/hostnet"
	"github.com/hnskit/hnskit/modes/node/hostnet/emuhost"
)

func ExampleAdapters() {
	host := hostnet.NewMemory(emuhost.Adapters(emulator.New(nil)))
	adapters, err := host.Adapters(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range adapters {
		fmt.Println(a.Name, a.Addresses)
	}
	// Output: Ethernet [192.0.2.10/24]
}
