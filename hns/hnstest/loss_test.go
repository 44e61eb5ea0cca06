package hnstest_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/hnstest"
)

// narrow is what the way of narrowed does not carry.
var narrow = []hnstest.Loss{
	{Name: "the name of a namespace", Kind: hns.KindNamespace, Read: "Name", Written: "Name"},
	{Name: "the owner of a network", Kind: hns.KindNetwork, Written: "Owner"},
	{Name: "the state of an endpoint", Kind: hns.KindEndpoint, Read: "State"},
	{Name: "subnets without an id", Kind: hns.KindNetwork, Read: "Ipams.Subnets.ID"},
	{Name: "that NAT has no type", Kind: hns.KindNetwork, Read: "Type", Shows: "NAT"},
	{Name: "calls about activities", Refuses: func(r hns.Request) bool { return r.Path == "/activities" }},
}

// narrowed is a way to an HNS like that through hcn, but narrower in few places.
func narrowed(b hns.Backend) hns.Backend { return tight{b} }

type tight struct{ hns.Backend }

func (w tight) Do(r hns.Request) (hns.Response, error) {
	var doc map[string]any
	_ = json.Unmarshal(r.Document, &doc) // what is no JSON has no members
	switch {
	case r.Kind == hns.KindNamespace && doc["Name"] != nil, r.Kind == hns.KindNetwork && doc["Owner"] != nil:
		return hns.Response{}, &hns.BackendError{Err: fmt.Errorf("no room: %w", hns.ErrUnsupported)}
	case r.Path == "/activities":
		return hns.Response{}, &hns.BackendError{Code: hns.CodeNotImplemented}
	}
	resp, err := w.Backend.Do(r)
	for i, d := range resp.Documents {
		switch r.Kind {
		case hns.KindEndpoint:
			resp.Documents[i] = dropped(d, "State")
		case hns.KindNetwork:
			resp.Documents[i] = withType(d)
		}
	}
	return resp, err
}

func dropped(doc json.RawMessage, name string) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(doc, &o) != nil {
		return doc
	}
	delete(o, name)
	out, _ := json.Marshal(o) // it came from JSON
	return out
}

// withType drops the ids of a network's subnets and shows the type that HNS
// does not show.
func withType(doc json.RawMessage) json.RawMessage {
	var o map[string]any
	if json.Unmarshal(doc, &o) != nil {
		return doc
	}
	if o["Type"] == nil {
		o["Type"] = "NAT"
	}
	ipams, _ := o["Ipams"].([]any)
	for _, i := range ipams {
		ipam, _ := i.(map[string]any)
		subnets, _ := ipam["Subnets"].([]any)
		for _, s := range subnets {
			delete(s.(map[string]any), "ID")
		}
	}
	out, _ := json.Marshal(o) // it came from JSON
	return out
}

// refuseOwner answers as an HNS would that does not want owners.
func refuseOwner(r hns.Request, resp *hns.Response, err *error) {
	var doc struct{ Owner string }
	if json.Unmarshal(r.Document, &doc) == nil && doc.Owner != "" {
		*resp, *err = hns.Response{}, &hns.BackendError{Code: hns.CodeAccessDenied}
	}
}

// What is said to be lost is recorded by its name where it stands in the way of
// an answer, and everything else as ever.
func TestLosses(t *testing.T) {
	want := asked(t, emulator.New(nil))
	var got []hnstest.Answer
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
		return hnstest.Harness{Backend: narrowed(emulator.New(nil)), External: true, Strict: true, Loses: narrow,
			Record: func(a hnstest.Answer) { got = append(got, a) }}
	})
	lost := map[string]string{}
	for i, a := range got {
		if diff := cmp.Diff(want[i], restored(a, want[i], map[string]int{})); diff != "" {
			t.Errorf("%s (-direct +lost):\n%s", a.Case, diff)
		}
		for _, s := range a.Steps {
			if s.Loss != "" {
				lost[a.Case] = s.Loss
				if a.Verdict != hnstest.Loses || s.Got != "" {
					t.Errorf("%s is %s: %+v", a.Case, a.Verdict, s)
				}
			}
		}
	}
	if diff := cmp.Diff(map[string]string{
		"document/owner":                  "the owner of a network",
		"namespace/attach at create":      "the state of an endpoint",
		"namespace/states of an endpoint": "the state of an endpoint",
		"policy/degraded":                 "the state of an endpoint",
		"v1/states on the host":           "the state of an endpoint",
		"network/subnets have ids":        "subnets without an id",
		"network/NAT shows no type":       "that NAT has no type",
		"network/type by number/NAT":      "that NAT has no type",
		"v1/other lists":                  "calls about activities",
		"shown/namespace":                 "the name of a namespace",
	}, lost); diff != "" {
		t.Errorf("cases that lose (-want +got):\n%s", diff)
	}
}
