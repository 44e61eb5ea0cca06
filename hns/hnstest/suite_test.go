package hnstest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/hnstest"
)

// must puts a request to an emulator.
func must(t *testing.T, b hns.Backend, kind hns.Kind, network hns.ID, doc string) hns.ID {
	t.Helper()
	resp, err := b.Do(hns.Request{Verb: hns.VerbCreate, Kind: kind, Network: network, Document: json.RawMessage(doc)})
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ ID hns.ID }
	if err := json.Unmarshal(resp.Documents[0], &o); err != nil {
		t.Fatal(err)
	}
	return o.ID
}

// What an earlier run left behind is deleted first, containers in its
// namespaces included, and what has other names is left alone.
func TestLeftoversAreDeleted(t *testing.T) {
	h := emulator.New(nil)
	const v2 = `"SchemaVersion":{"Major":2,"Minor":0}`
	old := must(t, h, hns.KindNetwork, hns.ID{}, `{"Name":"mine-nat1","Type":"NAT",`+v2+`}`)
	must(t, h, hns.KindEndpoint, old, `{"Name":"mine-ep",`+v2+`}`)
	ns := must(t, h, hns.KindNamespace, hns.ID{}, `{"Name":"mine-ns",`+v2+`}`)
	if _, err := h.Do(hns.Request{Verb: hns.VerbModify, Kind: hns.KindNamespace, ID: ns,
		Document: json.RawMessage(`{"RequestType":"Add","ResourceType":"Container","Settings":{"ContainerId":"c1"}}`)}); err != nil {
		t.Fatal(err)
	}
	other := must(t, h, hns.KindNetwork, hns.ID{}, `{"Name":"hnstest-nat1","Type":"Private",`+v2+`}`)
	endpoint := must(t, h, hns.KindEndpoint, other, `{"Name":"pod",`+v2+`}`)
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
		return hnstest.Harness{Backend: h, Prefix: "mine-", Strict: true}
	})
	s, err := h.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if got := len(s.Networks) + len(s.Endpoints) + len(s.Namespaces); got != 2 ||
		!strings.Contains(string(s.Networks[0]), other.String()) || !strings.Contains(string(s.Endpoints[0]), endpoint.String()) {
		t.Errorf("%d objects are left, want a network and an endpoint", got)
	}
}

// Without leave to take an adapter no external network is even asked for.
func TestNothingExternal(t *testing.T) {
	r := hnstest.NewRecorder(emulator.New(nil))
	counts := map[hnstest.Verdict]int{}
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
		return hnstest.Harness{Backend: r, Record: func(a hnstest.Answer) {
			counts[a.Verdict]++
			if a.Verdict == hnstest.Skipped && (len(a.Steps) != 1 || a.Steps[0].Got == "") {
				t.Errorf("%s: skipped without a reason: %v", a.Case, a.Steps)
			}
		}}
	})
	for _, e := range r.Exchanges() {
		var doc struct{ Type any }
		_ = json.Unmarshal(e.Request.Document, &doc) // some are no JSON on purpose
		switch doc.Type {
		case "L2Bridge", "L2Tunnel", "Overlay", "Transparent", 2.0, 3.0, 4.0, 5.0:
			if e.Request.Kind == hns.KindNetwork && e.Request.Verb == hns.VerbCreate {
				t.Errorf("%s", e.Request.Document)
			}
		}
	}
	if counts[hnstest.Agrees] < 150 || counts[hnstest.Skipped] < 50 || counts[hnstest.Differs] != 0 {
		t.Errorf("verdicts: %v", counts)
	}
}

// The named adapter is where all external networks go.
func TestAdapter(t *testing.T) {
	h := emulator.New(&emulator.Options{Adapters: []emulator.Adapter{
		{Name: "Ethernet", Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")}},
		{Name: "Ethernet 2", Addresses: []netip.Prefix{netip.MustParsePrefix("198.51.100.10/24")}},
	}})
	r := hnstest.NewRecorder(h)
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
		return hnstest.Harness{Backend: r, External: true, Adapter: "Ethernet 2"}
	})
	named := 0
	for _, e := range r.Exchanges() {
		doc := string(e.Request.Document)
		if e.Request.Kind == hns.KindNetwork && e.Request.Verb == hns.VerbCreate && strings.Contains(doc, `"Type":"Overlay"`) {
			if !strings.Contains(doc, `"NetworkAdapterName":"Ethernet 2"`) {
				t.Errorf("not on the adapter: %s", doc)
			}
			named++
		}
	}
	if named == 0 {
		t.Error("no Overlay network was asked for")
	}
}

func TestAnswers(t *testing.T) {
	var buf bytes.Buffer
	var want []hnstest.Answer
	write := hnstest.AnswerWriter(&buf, func(err error) { t.Error(err) })
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
		return hnstest.Harness{Backend: emulator.New(nil), Strict: true, Record: func(a hnstest.Answer) {
			want = append(want, a)
			write(a)
		}}
	})
	got, err := hnstest.ReadAnswers(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	names := map[string]bool{}
	for _, a := range got {
		if names[a.Case] {
			t.Errorf("%q is the name of two cases", a.Case)
		}
		names[a.Case] = true
		if a.Version != "13.3" || len(a.Steps) == 0 || a.Certainty <= hnstest.Client && a.Source == "" {
			t.Errorf("%s: %+v", a.Case, a)
		}
	}
}

func TestReadAnswersBroken(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		count      int
	}{
		{"", "", 0},
		{`{"case":"a","certainty":"seen"}` + "\n", "", 1},
		{`{"case":"a"}` + "\n{", "answer 2", 1},
		{`{"certainty":"perhaps"}`, `"perhaps" is no certainty`, 0},
		{`7`, "answer 1", 0},
	} {
		got, err := hnstest.ReadAnswers(strings.NewReader(tt.text))
		if len(got) != tt.count || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, %v", tt.text, got, err)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAnswerWriterFails(t *testing.T) {
	var got error
	hnstest.AnswerWriter(full{}, func(err error) { got = err })(hnstest.Answer{Case: "x"})
	if got == nil || got.Error() != "disk full" {
		t.Error(got)
	}
}

func TestCertainty(t *testing.T) {
	for c := hnstest.Documented; c <= hnstest.Assumed; c++ {
		b, err := c.MarshalText()
		var back hnstest.Certainty
		if err != nil || back.UnmarshalText(b) != nil || back != c || string(b) != c.String() {
			t.Errorf("%s: %s, %v, %s", c, b, err, back)
		}
	}
	if got := fmt.Sprint(hnstest.Certainty(9)); got != "certainty(9)" {
		t.Error(got)
	}
}
