package hns_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hnskit/hnskit/hns"
)

// metadata is an SDN route object with everything that a create can say.
func metadata() *hns.SDNRouteObject {
	return &hns.SDNRouteObject{
		ID: routeID, Network: lake, Endpoints: []hns.ID{podID, podID2},
		Routes: []hns.SDNRoute{
			{DestinationPrefix: prefix("169.254.169.254/24"), NextHop: addr("127.10.0.34")},
			{DestinationPrefix: prefix("10.96.0.0/12"), NeedEncap: true},
		},
	}
}

func TestSDNRouteObjectRoundTrip(t *testing.T) {
	for _, want := range []*hns.SDNRouteObject{metadata(), {}} {
		doc, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := hns.DecodeSDNRouteObject(doc)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "object", want, got, cmpopts.IgnoreFields(hns.SDNRouteObject{}, "Document"))
		same(t, "unread", nil, got.Document.Unread)
	}
}

// The routes are called Routes in the schema and Setting in Microsoft's own Go
// client.
func TestSDNRouteObjectSpellings(t *testing.T) {
	const a, b = `{"DestinationPrefix":"10.96.0.0/12","NeedEncap":true}`, `{"DestinationPrefix":"10.97.0.0/16"}`
	first, second := hns.SDNRoute{DestinationPrefix: prefix("10.96.0.0/12"), NeedEncap: true}, hns.SDNRoute{DestinationPrefix: prefix("10.97.0.0/16")}
	for doc, tt := range map[string]struct {
		want   []hns.SDNRoute
		unread []hns.Unread
	}{
		`{}`:                      {},
		`{"Routes":[` + a + `]}`:  {[]hns.SDNRoute{first}, nil},
		`{"setting":[` + a + `]}`: {[]hns.SDNRoute{first}, nil},
		`{"Routes":null,"Setting":[` + a + `,` + b + `]}`:         {[]hns.SDNRoute{first, second}, nil},
		`{"Routes":[` + a + `],"Setting":[` + a + `]}`:            {[]hns.SDNRoute{first}, nil},
		`{"Routes":[` + a + `],"Setting":[]}`:                     {[]hns.SDNRoute{first}, nil},
		`{"Routes":[` + a + `],"Setting":[` + b + `]}`:            {[]hns.SDNRoute{first}, []hns.Unread{{"Setting", `[` + b + `]`, "not the same as Routes"}}},
		`{"Routes":[{"DestinationPrefix":"<cidr>"}],"Setting":7}`: {[]hns.SDNRoute{{}}, []hns.Unread{{"Routes[0].DestinationPrefix", `"<cidr>"`, "not a prefix such as 10.0.0.0/24"}, {"Setting", "7", "not a list"}}},
	} {
		o, err := hns.DecodeSDNRouteObject([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		same(t, doc, tt.want, o.Routes)
		same(t, doc+": unread", tt.unread, o.Document.Unread)
	}
	if _, err := hns.DecodeSDNRouteObject([]byte(`null`)); !errors.Is(err, hns.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

func TestSDNRouteObjectRules(t *testing.T) {
	checkRules(t, metadata, createRoute, []ruleCase[hns.SDNRouteObject]{
		{"as it is", func(*hns.SDNRouteObject) {}, nil}, // with host bits, which HNS takes here
		{"no endpoints", func(o *hns.SDNRouteObject) { o.Endpoints = nil }, []string{"HostComputeEndpoints |  | no-endpoints"}},
		{"an endpoint that is none", func(o *hns.SDNRouteObject) { o.Endpoints[0] = hns.ID{} }, []string{"HostComputeEndpoints[0] | 00000000-0000-0000-0000-000000000000 | "}},
		{"no routes", func(o *hns.SDNRouteObject) { o.Routes = nil }, []string{"Routes |  | "}},
		{"nowhere", func(o *hns.SDNRouteObject) { o.Routes[1].DestinationPrefix = netip.Prefix{} }, []string{"Routes[1].DestinationPrefix |  | "}},
		{"next hop", func(o *hns.SDNRouteObject) { o.Routes[1].NextHop = addr("::") }, []string{"Routes[1].NextHop | :: | "}},
	})
}

func createRoute(t *testing.T, o *hns.SDNRouteObject, allow ...string) error {
	_, err := hns.New(answering(`{}`), &hns.Options{Allow: allow}).Routes.Create(t.Context(), o)
	return err
}

func TestCreateNilRoute(t *testing.T) {
	if err := createRoute(t, nil); err == nil || err.Error() != "hns: create SDN route: nil SDN route" {
		t.Errorf("error %v", err)
	}
}

// routeTable is an HNS that holds SDN route objects and nothing else.
type routeTable struct {
	docs map[hns.ID]string
	fail func(hns.Request) error // asked before each request
}

func (r *routeTable) Do(req hns.Request) (hns.Response, error) {
	if r.fail != nil {
		if err := r.fail(req); err != nil {
			return hns.Response{}, err
		}
	}
	doc, ok := r.docs[req.ID]
	switch {
	case req.Verb == hns.VerbCreate && !ok:
		r.docs[req.ID] = string(req.Document)
		doc = string(req.Document)
	case req.Verb == hns.VerbCreate:
		return failing(hns.CodeAlreadyExists, "")(req)
	case !ok:
		return failing(hns.CodeElementNotFound, "")(req)
	case req.Verb == hns.VerbDelete:
		delete(r.docs, req.ID)
	}
	return hns.Response{Documents: []json.RawMessage{json.RawMessage(doc)}}, nil
}

// HNS cannot change an SDN route object: it goes and comes again, or the old
// one comes again (microsoft/hcsshim#759).
func TestReplaceRoute(t *testing.T) {
	old, err := metadata().Encode()
	if err != nil {
		t.Fatal(err)
	}
	less := func() *hns.SDNRouteObject {
		o := metadata()
		o.Endpoints = o.Endpoints[:1]
		return o
	}
	start := func(fail func(hns.Request) error) (*routeTable, *recorder, *hns.Client) {
		table := &routeTable{docs: map[hns.ID]string{routeID: string(old)}, fail: fail}
		rec := &recorder{Backend: table}
		return table, rec, hns.New(rec, nil)
	}

	table, rec, c := start(nil)
	o, err := c.Routes.Replace(t.Context(), less())
	if err != nil || o.ID != routeID || len(o.Endpoints) != 1 || strings.Contains(table.docs[routeID], podID2.String()) {
		t.Errorf("got %+v, %v; HNS has %v", o, err, table.docs)
	}
	same(t, "requests", []string{"get SDN route", "delete SDN route", "create SDN route"}, rec.verbs())

	// What is refused, or is not there, changes nothing.
	for what, bad := range map[string]func() *hns.SDNRouteObject{
		"nil":           func() *hns.SDNRouteObject { return nil },
		"no id":         func() *hns.SDNRouteObject { o := less(); o.ID = hns.ID{}; return o },
		"no endpoints":  func() *hns.SDNRouteObject { o := less(); o.Endpoints = nil; return o },
		"one not there": func() *hns.SDNRouteObject { o := less(); o.ID = vipID; return o },
	} {
		table, rec, c := start(nil)
		o, err := c.Routes.Replace(t.Context(), bad())
		if err == nil || o != nil || table.docs[routeID] != string(old) || len(rec.verbs()) > 1 {
			t.Errorf("%s: %v, %v, %v", what, o, err, rec.verbs())
		}
	}
	table, _, c = start(func(r hns.Request) error {
		if r.Verb == hns.VerbDelete {
			return &hns.BackendError{Code: hns.CodeHasReferences}
		}
		return nil
	})
	_, err = c.Routes.Replace(t.Context(), less())
	wantIs(t, err, hns.ErrInUse)
	if table.docs[routeID] != string(old) {
		t.Errorf("HNS has %v", table.docs)
	}

	// The create fails once: the old one is back, even if the context ended.
	ctx, cancel := context.WithCancel(t.Context())
	creates := 0
	table, rec, _ = start(func(r hns.Request) error {
		if r.Verb == hns.VerbCreate {
			if creates++; creates == 1 {
				return &hns.BackendError{Code: hns.CodePortNotFound}
			}
		}
		return nil
	})
	c = hns.New(rec, &hns.Options{Observe: func(call hns.Call) {
		if call.Verb == hns.VerbCreate {
			cancel() // once it has failed: the outcome of one that is out is unknown
		}
	}})
	if o, err := c.Routes.Replace(ctx, less()); o != nil || err == nil || !strings.HasSuffix(err.Error(), "(the old one was put back)") {
		t.Errorf("got %v, %v", o, err)
	}
	if table.docs[routeID] != string(old) {
		t.Errorf("HNS has %v", table.docs)
	}

	// It fails for good: the error says that the route is lost.
	_, _, c = start(func(r hns.Request) error {
		if r.Verb == hns.VerbCreate {
			return fmt.Errorf("broken")
		}
		return nil
	})
	o, err = c.Routes.Replace(t.Context(), less())
	wantIs(t, err, hns.ErrLeftBehind)
	if o != nil || !strings.Contains(err.Error(), "the old SDN route "+routeID.String()+" is gone") {
		t.Errorf("got %v, %v", o, err)
	}
}

// A Windows without the objects says so of every operation.
func TestRoutesUnsupported(t *testing.T) {
	old := hns.New(failing(hns.CodeProcNotFound, ""), nil)
	_, err := old.Routes.List(t.Context())
	wantIs(t, err, hns.ErrUnsupported)
	wantIs(t, createRouteWith(t, old), hns.ErrUnsupported)
	wantIs(t, old.Routes.Delete(t.Context(), routeID), hns.ErrUnsupported)
}

func createRouteWith(t *testing.T, c *hns.Client) error {
	_, err := c.Routes.Create(t.Context(), metadata())
	return err
}

func FuzzDecodeSDNRouteObject(f *testing.F) {
	f.Add([]byte(`{"HostComputeEndpoints":["2b000000-0000-4000-8000-0000000000ab"],"Setting":[{"DestinationPrefix":"10.96.0.0/12"}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		o, err := hns.DecodeSDNRouteObject(doc)
		if (o == nil) != (err != nil) {
			t.Fatalf("got %v, %v", o, err)
		}
		if err != nil {
			return
		}
		_ = createRoute(t, o) // must not panic
		out, err := o.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := hns.DecodeSDNRouteObject(out)
		if err != nil || len(again.Document.Unread) > 0 {
			t.Fatalf("%s does not read back: %v, %v", out, err, again.Document.Unread)
		}
		if twice, err := again.Encode(); err != nil || string(twice) != string(out) {
			t.Fatalf("not stable: %v\n%s\n%s", err, out, twice)
		}
	})
}
