package hnstest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/hnstest"
)

// A backend of one's own is held to all that is known of HNS.
func ExampleRunConformance() {
	// func TestMyBackend(t *testing.T) {
	run := func(t *testing.T) {
		hnstest.RunConformance(t, func(t *testing.T) hnstest.Harness {
			return hnstest.Harness{
				Backend:  emulator.New(nil), // here: one's own
				External: true,
				Strict:   true,
				Record:   hnstest.AnswerWriter(os.Stdout, func(err error) { t.Error(err) }),
			}
		})
	}
	_ = run
}

// What a program asks of HNS, as text.
func ExampleRecorder() {
	r := hnstest.NewRecorder(emulator.New(nil))
	c := hns.New(r, nil)
	ctx := context.Background()
	if _, err := c.Networks.ByName(ctx, "flannel.4096"); err != nil {
		fmt.Println("no such network:", errors.Is(err, hns.ErrNotFound))
	}
	if err := c.Namespaces.Delete(ctx, hns.ID{1}); err != nil {
		fmt.Println("no such namespace:", errors.Is(err, hns.ErrNotFound))
	}
	fmt.Print(r)
	// Output:
	// no such network: true
	// no such namespace: true
	// list network {"Name":"flannel.4096"}
	// 	ok
	// delete namespace #1
	// 	ERROR_NOT_FOUND (0x490)
}

// Did HNS make what was asked for?
func ExampleIgnoreServerFields() {
	c := hns.New(emulator.New(nil), nil)
	want := &hns.Namespace{Type: hns.NamespaceHost}
	got, err := c.Namespaces.Create(context.Background(), want)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", cmp.Diff(want, got, hnstest.IgnoreServerFields()))
	// Output: ""
}

func ExampleEquateMACs() {
	sent := map[string]string{"DistributedRouterMacAddress": "00:12:34:56:78:9a"}
	shown := map[string]string{"DistributedRouterMacAddress": "00-12-34-56-78-9A"}
	fmt.Println(cmp.Equal(sent, shown), cmp.Equal(sent, shown, hnstest.EquateMACs()))
	// Output: false true
}

func ExampleEquateIDs() {
	id := hns.ID{0xab}
	fmt.Println(cmp.Equal(id.String(), id.Upper(), hnstest.EquateIDs()))
	// Output: true
}

func ExampleSortPolicies() {
	want := []hns.NetworkPolicy{hns.HostRoute{}, hns.VXLANPort{Port: 4790}}
	got := []hns.NetworkPolicy{hns.VXLANPort{Port: 4790}, hns.HostRoute{}}
	fmt.Println(cmp.Equal(want, got), cmp.Equal(want, got, hnstest.SortPolicies()))
	// Output: false true
}

func ExampleEquateAddresses() {
	x := hns.IPConfig{Address: netip.MustParseAddr("10.0.0.7"), PrefixLength: 24}
	fmt.Println(cmp.Equal(x, x, hnstest.EquateAddresses()))
	// Output: true
}

func ExampleEquateJSON() {
	x, y := json.RawMessage(`{"Name":"lake","Flags":8}`), json.RawMessage(`{"Flags": 8, "Name": "lake"}`)
	fmt.Println(cmp.Equal(x, y, hnstest.EquateJSON()))
	// Output: true
}

func ExampleAnswerWriter() {
	record := hnstest.AnswerWriter(os.Stdout, func(err error) { fmt.Println(err) })
	record(hnstest.Answer{Case: "namespace/missing", Certainty: hnstest.Tested, Version: "13.3", Verdict: hnstest.Agrees,
		Steps: []hnstest.Step{{Name: "get", Want: "ERROR_NOT_FOUND (0x490)", Got: "ERROR_NOT_FOUND (0x490)"}}})
	// Output:
	// {"case":"namespace/missing","certainty":"tested","version":"13.3","verdict":"agrees","steps":[{"name":"get","want":"ERROR_NOT_FOUND (0x490)","got":"ERROR_NOT_FOUND (0x490)"}]}
}
