package hcnbridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// callLog is the variable by which the emulated DLLs are told where to log.
const callLog = "HNSKIT_CALL_LOG"

// The DLLs read their environment when they are loaded, with the first call.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		if os.Getenv(callLog) != "" {
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "hcnbridge")
		if err == nil {
			err = os.Setenv(callLog, filepath.Join(dir, "calls.jsonl"))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir) // is tried: the DLLs have the log open
		return m.Run()
	}())
}

// nativeCall is a line of the log.
type nativeCall struct {
	Fn, Method, Path string
	Doc              json.RawMessage
	Hr               uint32
}

// callsOf returns the native calls that f makes.
func callsOf(t *testing.T, f func()) []nativeCall {
	t.Helper()
	lines := func() [][]byte {
		b, err := os.ReadFile(os.Getenv(callLog))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	}
	before := lines()
	f()
	after := lines()
	if len(before) == 1 && len(before[0]) == 0 {
		before = nil
	}
	var out []nativeCall
	for _, line := range after[len(before):] {
		if len(line) == 0 {
			continue
		}
		var c nativeCall
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, c)
	}
	return out
}

// writes keeps what changes something. Deleting routes is left out: hcn does not
// try where there is none.
func writes(calls []nativeCall) []nativeCall {
	return slices.DeleteFunc(calls, func(c nativeCall) bool {
		name := strings.TrimPrefix(c.Fn, "Hcn")
		return !strings.HasPrefix(name, "Create") && !strings.HasPrefix(name, "Modify") && !strings.HasPrefix(name, "Delete") && c.Method != "POST" ||
			c.Fn == "HcnDeleteSdnRoute"
	})
}

// What HNS is sent is the same both ways, but for the name Routes, of which hcn
// knows another, and for members that are empty.
func TestSameRequests(t *testing.T) {
	native, bridge := clients(t)
	want := writes(callsOf(t, func() { story(t, native) }))
	got := writes(callsOf(t, func() { story(t, bridge) }))
	if len(want) < 25 || len(want) != len(got) {
		t.Fatalf("%d calls and %d", len(want), len(got))
	}
	for i, w := range want {
		g := got[i]
		name := strings.TrimSpace(w.Fn + " " + w.Path)
		if w.Fn != g.Fn || w.Path != g.Path || w.Hr != g.Hr {
			t.Errorf("%s: hcn made %+v", name, g)
			continue
		}
		if len(w.Doc) == 0 && len(g.Doc) == 0 {
			continue
		}
		gone, err := missing(w.Doc, g.Doc)
		if err != nil {
			t.Fatal(err)
		}
		gained, err := missing(g.Doc, w.Doc)
		if err != nil {
			t.Fatal(err)
		}
		gone = slices.DeleteFunc(gone, func(l Loss) bool { return l.Path == "Routes" && w.Fn == "HcnCreateSdnRoute" })
		if len(gone)+len(gained) > 0 {
			t.Errorf("%s: hcn leaves out %v, adds %v", name, gone, gained)
		}
	}
}

// Each handle that hcn opens here is closed, save where hcn itself forgets it.
func TestHandlesAreClosed(t *testing.T) {
	_, bridge := clients(t)
	ctx, n := t.Context(), newNode(t)
	open := 0
	for _, c := range callsOf(t, func() {
		if _, err := bridge.Networks.Create(ctx, n.network()); err != nil {
			t.Fatal(err)
		}
		if _, err := bridge.Networks.List(ctx); err != nil {
			t.Error(err)
		}
		if err := bridge.Networks.UpdateDNS(ctx, n.net, hns.DNS{Domain: "x"}); err != nil {
			t.Error(err)
		}
		if err := bridge.Networks.Delete(ctx, n.net); err != nil {
			t.Error(err)
		}
	}) {
		switch c.Fn {
		case "HcnOpenNetwork", "HcnCreateNetwork":
			open++
		case "HcnCloseNetwork":
			open--
		}
	}
	if open != 0 {
		t.Errorf("%d handles are open", open)
	}
}

// A document that hcn would shorten, and one that it refuses, make no call.
func TestRefusedBeforeAnyCall(t *testing.T) {
	_, bridge := clients(t)
	n := newNode(t)
	flags := n.network()
	flags.IPAMs[0].Subnets[0].Flags = 1
	noRoute := n.network()
	noRoute.IPAMs[0].Subnets[0].Routes = nil
	for name, net := range map[string]*hns.Network{"shortened": flags, "refused": noRoute} {
		calls := callsOf(t, func() {
			if _, err := bridge.Networks.Create(t.Context(), net); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
		if len(calls) > 0 {
			t.Errorf("%s: called %+v", name, calls)
		}
	}
}
