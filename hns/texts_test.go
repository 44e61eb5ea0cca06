package hns_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

// What a log shows of whole objects is text, and no document.
func TestObjectsInLogs(t *testing.T) {
	n := newNode(t, nil)
	made := n.endpoint(hns.Endpoint{Name: "x", Policies: []hns.EndpointPolicy{hns.RawPolicy{Type: "Encryption", Settings: []byte(`{"Name":"a"}`)}}}, hns.ID{})
	for _, form := range []string{"%v", "%+v", "%s"} {
		got := fmt.Sprintf(form, made)
		if !strings.Contains(got, fmt.Sprintf("%d bytes", len(made.Document.Raw))) || !strings.Contains(got, `Encryption {"Name":"a"}`) || strings.Contains(got, "123 34") {
			t.Errorf("%s: %s", form, got)
		}
	}
	for want, v := range map[string]any{
		"none":                                hns.Document{},
		`2 bytes; MacAddress: "x": not a MAC`: hns.Document{Raw: []byte("{}"), Unread: []hns.Unread{{Path: "MacAddress", Text: `"x"`, Reason: "not a MAC"}}},
		"L2Driver":                            hns.RawPolicy{Type: "L2Driver"},
		"get network " + lake.String() + " (0 bytes)":            hns.Request{Verb: hns.VerbGet, Kind: hns.KindNetwork, ID: lake},
		`list endpoint {"Name":"x"} (0 bytes)`:                   hns.Request{Verb: hns.VerbList, Kind: hns.KindEndpoint, Filter: `{"Name":"x"}`},
		"call service GET /globals/version (0 bytes)":            hns.Request{Verb: hns.VerbCall, Method: "GET", Path: "/globals/version"},
		"create network (13 bytes)":                              hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(`{"Key":"abc"}`)},
		"2 documents (5 bytes)":                                  answer("{}", "[1]"),
		"refuse keep recreate drift(3)":                          fmt.Sprint(hns.DriftRefuse, hns.DriftKeep, hns.DriftRecreate, hns.Drift(3)),
		"hns: replace SDN route: nil SDN route":                  func() error { _, err := n.Routes.Replace(t.Context(), nil); return err }(),
		"hns: update load balancer: nil load balancer":           n.LoadBalancers.Update(t.Context(), nil),
		"hns: namespace " + podNS.String() + " is not as wanted": prefixOf(ensureGuest(t, n), ":", 2),
	} {
		if got := fmt.Sprint(v); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func answer(docs ...string) hns.Response {
	r, _ := answering(docs...).Do(hns.Request{})
	return r
}

func ensureGuest(t *testing.T, n *node) error {
	_, _, err := n.Namespaces.Ensure(t.Context(), &hns.Namespace{ID: podNS, Type: hns.NamespaceGuest}, nil)
	return err
}

// prefixOf returns the first n parts of the text.
func prefixOf(v any, sep string, n int) string {
	return strings.Join(strings.SplitN(fmt.Sprint(v), sep, n+1)[:n], sep)
}
