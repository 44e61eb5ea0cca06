package hcnbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
)

// needsEmulator skips where no emulated HNS stands behind the DLLs: these tests
// make and delete networks. Under Wine there is none but that of
// hns/emulator/wine.
func needsEmulator(t *testing.T) {
	t.Helper()
	if syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() != nil {
		t.Skip("makes and deletes networks: runs against the emulator, under Wine")
	}
}

func clients(t *testing.T) (native, bridge *hns.Client) {
	needsEmulator(t)
	native, err := hns.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	return native, hns.New(New(), nil)
}

// What the story must have met on the way, so that it tells something.
func TestStory(t *testing.T) {
	_, bridge := clients(t)
	want := map[string]error{
		"network not there": hns.ErrNotFound, "network there already": hns.ErrExists, "no network of the name": hns.ErrNotFound,
		"change a network not there": hns.ErrNotFound, "address in use": hns.ErrAddressInUse, "endpoint on no network": hns.ErrNotFound,
		"port there already": hns.ErrExists, "ambiguous": hns.ErrAmbiguous, "endpoint not there": hns.ErrNotFound,
		"change an endpoint not there": hns.ErrNotFound, "state of an endpoint not there": hns.ErrNotFound,
		"add it elsewhere": hns.ErrAttached, "add an endpoint not there": hns.ErrNotFound, "add to a namespace not there": hns.ErrNotFound,
		"namespace not there": hns.ErrNotFound, "remove it again": hns.ErrNotFound, "its port there already": hns.ErrExists,
		"load balancer without its endpoint": hns.ErrNotFound, "load balancer not there": hns.ErrNotFound,
		"routes without their endpoint": hns.ErrNotFound, "routes not there": hns.ErrNotFound,
	}
	v, err := bridge.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !hns.FeatureModifyLoadBalancer.In(v) {
		want["update load balancer"] = hns.ErrUnsupported
	}
	deleted := map[string]int{}
	for _, s := range story(t, bridge) {
		wanted := want[s.name]
		if strings.HasPrefix(s.name, "delete ") {
			if deleted[s.name]++; deleted[s.name] > strings.Count(s.name, "namespace")+1 { // there were two namespaces
				wanted = hns.ErrNotFound
			}
		}
		if !errors.Is(s.err, wanted) {
			t.Errorf("%s: got %v, want %v", s.name, s.err, wanted)
		}
		if s.name == "what is left" && string(s.docs[0]) != `["0"]` {
			t.Errorf("left behind: %s objects", s.docs[0])
		}
	}
}

// What the package comment says that hcn loses of answers, in this story.
var named = []string{
	"HostComputeNetwork", "IpConfigurations.IpSubnetId", "Ipams.Subnets.ID", "Ipams.Subnets.IpSubnets", "Routes", "State", "Version",
}

var index = regexp.MustCompile(`\[\d+\]`)

// The same story on the calls of this module and on hcn's: the same documents
// but for the losses that have a name, and the same errors.
func TestSameAsNative(t *testing.T) {
	native, bridge := clients(t)
	want, got := story(t, native), story(t, bridge)
	if len(want) != len(got) {
		t.Fatalf("%d steps and %d", len(want), len(got))
	}
	lost := map[string]bool{}
	for i, w := range want {
		g := got[i]
		if diff := cmp.Diff(failed(w, g), failed(g, g)); diff != "" {
			t.Errorf("%s (-native +hcn):\n%s", w.name, diff)
			continue
		}
		for j := range w.docs {
			gone, err := missing(w.docs[j], g.docs[j])
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range gone {
				if l.Path == "NamespaceId" { // a number that HNS counts up
					continue
				}
				name := index.ReplaceAllString(l.Path, "")
				if lost[name] = true; !slices.Contains(named, name) {
					t.Errorf("%s: lost %v", w.name, l)
				}
			}
			gained, err := missing(g.docs[j], w.docs[j])
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range gained {
				if l.Path != "NamespaceId" {
					t.Errorf("%s: only hcn says %v", w.name, l)
				}
			}
		}
	}
	for _, name := range named {
		if !lost[name] {
			t.Errorf("%s was not lost: the package comment says so", name)
		}
	}
}

// outcome is what can be told of a step without its cause.
type outcome struct {
	Op, Ref, Text string
	Verb          hns.Verb
	Kind          hns.Kind
	Code          hns.Code
	Documents     int
}

// failed is the outcome of s. The text of HNS is left out where hcn has none:
// what a filter did not find, and a v1 call that failed.
func failed(s, hcn step) any {
	var e, h *hns.Error
	if !errors.As(s.err, &e) {
		return fmt.Sprint(s.err)
	}
	o := outcome{e.Op, e.Ref, strings.TrimSpace(e.Text), e.Verb, e.Kind, e.Code, len(s.docs)}
	if errors.As(hcn.err, &h) && h.Text == "" && (e.Verb == hns.VerbGet || e.Verb == hns.VerbCall || e.Kind == hns.KindRoute && e.Verb == hns.VerbDelete) {
		o.Text = ""
	}
	return o
}

// Both see the same node at the same time.
func TestOneNode(t *testing.T) {
	native, bridge := clients(t)
	ctx, n := t.Context(), newNode(t)
	if _, err := bridge.Networks.Create(ctx, n.network()); err != nil {
		t.Fatal(err)
	}
	made, err := native.Endpoints.Create(ctx, n.endpoint(n.ep, "10.50.3.20"))
	if err != nil {
		t.Fatal(err)
	}
	seen, err := bridge.Endpoints.ByID(ctx, n.ep)
	if err != nil {
		t.Fatal(err)
	}
	if diff := hns.CompareEndpoints(seen, made); len(diff) > 0 {
		t.Errorf("differences: %v", diff)
	}
	if err := bridge.Endpoints.Delete(ctx, n.ep); err != nil {
		t.Error(err)
	}
	if err := native.Networks.Delete(ctx, n.net); err != nil {
		t.Error(err)
	}
	if _, err := bridge.Networks.ByID(ctx, n.net); !errors.Is(err, hns.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// The backend alone, without what the client does before and after.
func TestBackendAlone(t *testing.T) {
	needsEmulator(t)
	n, b := newNode(t), New()
	do := func(req hns.Request) []json.RawMessage {
		t.Helper()
		resp, err := b.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", req.Verb, req.Kind, err)
		}
		return resp.Documents
	}
	plain := n.network()
	plain.ID = hns.ID{} // the id is in the request alone
	doc, err := plain.Encode()
	if err != nil {
		t.Fatal(err)
	}
	docs := do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, ID: n.net, Document: doc})
	if made, err := hns.DecodeNetwork(docs[0]); err != nil || made.ID != n.net {
		t.Errorf("got %+v, %v", made, err)
	}
	for filter, want := range map[string]int{"": 1, `{}`: 1, `{"Name":"lake"}`: 1, `{"Name":"sea"}`: 0, `{"ID":"` + n.net.Upper() + `"}`: 1} {
		if docs := do(hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork, Filter: filter}); len(docs) != want {
			t.Errorf("filter %s: got %s", filter, docs)
		}
	}
	if docs := do(hns.Request{Verb: hns.VerbDelete, Kind: hns.KindNetwork, ID: n.net}); len(docs) != 0 {
		t.Errorf("delete answered with %s", docs)
	}
}

// The v1 calls that no method of the client makes.
func TestV1(t *testing.T) {
	_, bridge := clients(t)
	ctx, n := t.Context(), newNode(t)
	if _, err := bridge.Networks.Create(ctx, n.network()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := bridge.Networks.Delete(ctx, n.net); err != nil {
			t.Error(err)
		}
	}()
	call := func(method, path, body string) []json.RawMessage {
		t.Helper()
		resp, err := New().Do(hns.Request{Verb: hns.VerbCall, Method: method, Path: path, Document: json.RawMessage(body)})
		if err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
		return resp.Documents
	}
	for path, want := range map[string]int{"/networks/": 1, "/networks": 1, "/endpoints/": 0, "/policylists/": 0} {
		docs := call("GET", path, "")
		var list []struct{ Name string }
		if len(docs) != 1 || json.Unmarshal(docs[0], &list) != nil || len(list) != want || want == 1 && list[0].Name != "lake" {
			t.Errorf("%s: got %s", path, docs)
		}
	}
	if docs := call("GET", "globals/version/", ""); len(docs) != 1 || !json.Valid(docs[0]) {
		t.Errorf("version: got %s", docs)
	}
	docs := call("POST", "/endpoints/", `{"Name":"v1","VirtualNetwork":"`+n.net.Upper()+`"}`)
	var made struct{ ID, Name string }
	if len(docs) != 1 || json.Unmarshal(docs[0], &made) != nil || made.Name != "v1" {
		t.Fatalf("got %s", docs)
	}
	call("DELETE", "/endpoints/"+made.ID, "")
	if eps, err := bridge.Endpoints.List(ctx); err != nil || len(eps) != 0 {
		t.Errorf("got %v, %v", eps, err)
	}
}
