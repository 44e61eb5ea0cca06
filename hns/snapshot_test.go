package hns_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

func TestSnapshotText(t *testing.T) {
	s := &hns.Snapshot{
		Version: hns.Version{Major: 13, Minor: 3},
		Networks: []json.RawMessage{
			json.RawMessage(`{"Name":"b <&>","ID":"B0000000-0000-4000-8000-000000000001","Flags":8}`),
			json.RawMessage(`{"ID":"a0000000-0000-4000-8000-000000000001","Type":"L2Bridge"}`),
			json.RawMessage(`{"Name":"no id, z"}`), json.RawMessage(`{ "Name" : "no id, a" }`), json.RawMessage(`{"ID":7}`),
		},
		Endpoints: []json.RawMessage{json.RawMessage(wholeEndpoint)},
	}
	text, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	goldenDoc(t, "snapshot.json", text)

	read, err := hns.ParseSnapshot(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read.Bytes()
	if err != nil || string(again) != string(text) {
		t.Errorf("not stable: %v\n%s", err, again)
	}
	if _, err := (&hns.Snapshot{Endpoints: []json.RawMessage{json.RawMessage(`{`)}}).Bytes(); err == nil {
		t.Error("an object that is no JSON is written")
	}
}

func TestParseSnapshot(t *testing.T) {
	s, err := hns.ParseSnapshot([]byte("\ufeff{\"networks\": [{}], \"Comment\": 1, \"VERSION\": {\"major\": 9}}"))
	if err != nil || len(s.Networks) != 1 || s.Version.Major != 9 || len(s.Endpoints) != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
	for text, want := range map[string]string{
		"":                                   "line 1 column 1",
		"null":                               "not an object",
		"[]":                                 "line 1",
		"{\n  \"Networks\": [\n    {},\n  ]": "line 4 column 3",
		"{\"Networks\": {}}":                 "Networks",
		"{\"Endpoints\": [{}, null]}":        `Endpoints[1]: "null": not an object`,
		"{\"Namespaces\": [\"x\"]}":          `Namespaces[0]`,
		"{\"LoadBalancers\": [7]}":           `LoadBalancers[0]`,
		"{\"Routes\": [{}, []]}":             `Routes[1]`,
		"{\"Version\": \"13.3\"}":            "Version",
		"{} {}":                              "line 1 column 4",
	} {
		_, err := hns.ParseSnapshot([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, hns.ErrInvalid) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// A snapshot of a client is the state, and a later one differs where the state
// does.
func TestClientSnapshot(t *testing.T) {
	node := newNode(t, nil)
	if _, err := node.attach(); err != nil {
		t.Fatal(err)
	}
	s, err := node.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Version != emulator.WindowsServer2022 || len(s.Networks) != 1 || len(s.Endpoints) != 1 || len(s.Namespaces) != 2 {
		t.Errorf("version %s, %d networks, %d endpoints, %d namespaces", s.Version, len(s.Networks), len(s.Endpoints), len(s.Namespaces))
	}
	loaded := emulator.New(nil)
	if err := loaded.Load(s); err != nil {
		t.Fatal(err)
	}
	again, err := hns.New(loaded, nil).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the state of an emulator that loaded it", textOf(t, s), textOf(t, again))

	for _, kind := range []hns.Kind{hns.KindNetwork, hns.KindEndpoint, hns.KindNamespace, hns.KindLoadBalancer, hns.KindRoute} {
		remove := node.h.Inject(emulator.Fault{Verb: hns.VerbList, Kind: kind, Code: hns.CodeRPCUnavailable})
		if s, err := node.Snapshot(t.Context()); s != nil || !errors.Is(err, hns.ErrUnavailable) {
			t.Errorf("%s: %v, %v", kind, s, err)
		}
		remove()
	}
}

// A backend without the v1 API gives a snapshot without a version.
func TestSnapshotWithoutVersion(t *testing.T) {
	s, err := hns.New(withoutVersion(answering()), nil).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"Networks\": [],\n  \"Endpoints\": [],\n  \"Namespaces\": []\n}\n"; textOf(t, s) != want {
		t.Errorf("got %s", textOf(t, s))
	}
	if _, err := hns.New(failing(hns.CodeRPCUnavailable, ""), nil).Snapshot(t.Context()); !errors.Is(err, hns.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}

// Load balancers and SDN routes are in the text where there are any, sorted as
// all is; a Windows without them has a snapshot all the same.
func TestSnapshotOfLoadBalancersAndRoutes(t *testing.T) {
	docs := map[hns.Kind][]string{
		hns.KindLoadBalancer: {`{"ID":"B","Flags":1}`, `{"ID":"a"}`}, hns.KindRoute: {`{"ID":"c","Setting":[]}`},
	}
	var lacking hns.Kind
	b := backend(func(r hns.Request) (hns.Response, error) {
		if r.Kind == lacking && r.Verb == hns.VerbList {
			return failing(hns.CodeProcNotFound, "")(r)
		}
		return answering(docs[r.Kind]...)(r)
	})
	const empty = "{\n  \"Networks\": [],\n  \"Endpoints\": [],\n  \"Namespaces\": []"
	const balancers = ",\n  \"LoadBalancers\": [\n    {\n      \"ID\": \"a\"\n    },\n    {\n      \"ID\": \"B\",\n      \"Flags\": 1\n    }\n  ]"
	const routes = ",\n  \"Routes\": [\n    {\n      \"ID\": \"c\",\n      \"Setting\": []\n    }\n  ]"
	for kind, want := range map[hns.Kind]string{99: empty + balancers + routes + "\n}\n", hns.KindRoute: empty + balancers + "\n}\n", hns.KindLoadBalancer: empty + routes + "\n}\n"} {
		lacking = kind
		s, err := hns.New(withoutVersion(b), nil).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text := textOf(t, s)
		same(t, "without "+kind.String(), want, text)
		read, err := hns.ParseSnapshot([]byte(text))
		if err != nil || textOf(t, read) != text {
			t.Errorf("%v, reads back as %s", err, textOf(t, read))
		}
	}
	// Networks and the like every HNS has: without them there is no snapshot.
	lacking = hns.KindEndpoint
	if s, err := hns.New(withoutVersion(b), nil).Snapshot(t.Context()); s != nil || !errors.Is(err, hns.ErrUnsupported) {
		t.Errorf("%v, %v", s, err)
	}
}

func withoutVersion(b hns.Backend) backend {
	return func(r hns.Request) (hns.Response, error) {
		if r.Verb == hns.VerbCall {
			return failing(hns.CodeProcNotFound, "")(r)
		}
		return b.Do(r)
	}
}

func textOf(t *testing.T, s *hns.Snapshot) string {
	t.Helper()
	b, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func FuzzParseSnapshot(f *testing.F) {
	f.Add([]byte(`{"Networks":[{"ID":"x"},{"id":"A"}],"Endpoints":[],"Version":{"Major":13}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := hns.ParseSnapshot(b)
		if (s == nil) != (err != nil) || err != nil && !errors.Is(err, hns.ErrInvalid) {
			t.Fatalf("got %v, %v", s, err)
		}
		if err != nil {
			return
		}
		text, err := s.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		again, err := hns.ParseSnapshot(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if twice, err := again.Bytes(); err != nil || string(twice) != string(text) {
			t.Fatalf("not stable: %v\n%s\n%s", err, text, twice)
		}
	})
}
