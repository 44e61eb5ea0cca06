//go:build !windows

package hns_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/hnstest"
)

// What a program asks of the HNS of its machine. It runs on the real one, and
// where there is none on the emulator.
func ExampleNative() {
	backend, err := hns.Native()
	if errors.Is(err, hns.ErrUnsupportedOS) {
		fmt.Println(err)
		backend, err = emulator.New(nil), nil
	}
	check(err)
	r := hnstest.NewRecorder(backend)
	_, err = hns.New(r, nil).Networks.ByName(context.Background(), "flannel.4096")
	fmt.Println(errors.Is(err, hns.ErrNotFound))
	fmt.Print(r)
	// Output:
	// hns: open: HNS needs Windows
	// true
	// list network {"Name":"flannel.4096"}
	// 	ok
}
