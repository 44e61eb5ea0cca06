package v1doc_test

import (
	"encoding/json"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
)

// Whatever a document holds: it is read if it is an object, and is given back
// as it was if nothing is changed.
func FuzzRoundTrip(f *testing.F) {
	for _, file := range []string{"networks.json", "endpoints.json", "namespaces.json", "policylists.json"} {
		for _, doc := range split(f, file) {
			f.Add([]byte(doc))
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var o map[string]json.RawMessage
		isObject := json.Unmarshal(doc, &o) == nil && o != nil
		n, err := v1doc.DecodeNetwork(doc)
		if (err == nil) != isObject {
			t.Fatalf("network: %v", err)
		}
		if !isObject {
			return
		}
		if got := written(t, v1doc.EncodeNetwork, n); got != string(doc) {
			t.Errorf("network became %s", got)
		}
		if got := written(t, v1doc.EncodeEndpoint, read(t, v1doc.DecodeEndpoint, doc)); got != string(doc) {
			t.Errorf("endpoint became %s", got)
		}
		if got := written(t, v1doc.EncodeNamespace, read(t, v1doc.DecodeNamespace, doc)); got != string(doc) {
			t.Errorf("namespace became %s", got)
		}
		if got := written(t, v1doc.EncodeLoadBalancer, read(t, v1doc.DecodeLoadBalancer, doc)); got != string(doc) {
			t.Errorf("load balancer became %s", got)
		}
		if got := written(t, v1doc.EncodeRoute, read(t, v1doc.DecodeRoute, doc)); got != string(doc) {
			t.Errorf("route became %s", got)
		}
		for _, kind := range []hns.Kind{hns.KindNetwork, hns.KindEndpoint, hns.KindNamespace, hns.KindLoadBalancer, hns.KindRoute} {
			if v2, err := v1doc.ToV2(kind, doc); err == nil {
				if v1, _ := v1doc.ToV1(kind, v2); v1 == nil {
					t.Errorf("%s %s has no schema 1", kind, v2)
				}
			} else if len(hns.FieldErrors(err)) == 0 {
				t.Errorf("%s: %v", kind, err)
			}
			_, _ = v1doc.ToV1(kind, doc)
		}
		// A change is written on whatever stands there, and reads back.
		n.Name, n.Policies = "new", append(n.Policies[:len(n.Policies):len(n.Policies)], hns.HostRoute{})
		changed, err := v1doc.EncodeNetwork(n)
		if err != nil {
			return // something has no place in schema 1
		}
		again := read(t, v1doc.DecodeNetwork, changed)
		if again.Name != "new" || !hns.HasPolicy(again.Policies, "HostRoute") {
			t.Errorf("changed to %s", changed)
		}
	})
}

// Any text is split or refused, and what comes out are objects.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{`[{"ID":"a"}]`, `{"Success":true,"Output":{}}`, `{"value":[],"Count":0}`, "\xff\xfe{\x00}\x00", "{} {}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, dump []byte) {
		docs, err := v1doc.Split(dump)
		if err != nil {
			return
		}
		for _, d := range docs {
			var o map[string]json.RawMessage
			if json.Unmarshal(d, &o) != nil || o == nil {
				t.Errorf("%s is no object", d)
			}
		}
	})
}
