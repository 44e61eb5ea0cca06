package native_test

import (
	"encoding/json"
	"testing"

	"github.com/hnskit/hnskit/hns"
)

func TestFilter(t *testing.T) {
	tests := []struct{ name, query, want string }{
		{"no query", "", ""},
		{"blank query", " \n", ""},
		{"empty query", "{}", ""},
		{"null", `null`, ""},
		{"no filter", `{"SchemaVersion":{"Major":2,"Minor":0},"Flags":0}`, ""},
		{"null filter", `{"Filter":null}`, ""},
		{"empty filter", `{"Filter":""}`, ""},
		{"blank filter", `{"Filter":" "}`, ""},
		{"filter of null", `{"Filter":"null"}`, ""},
		{"empty object", `{"Filter":" {} "}`, ""},
		{"text", `{"Filter":"{\"Name\":\"x\"}"}`, `{"Name":"x"}`},
		{"text with an escape", `{"Filter":"{\"Name\":\"\u00e4\\u0062\"}"}`, `{"Name":"ä\u0062"}`},
		{"object in place of text", `{"Filter":{"ID":"","State":1}}`, `{"ID":"","State":1}`},
		{"small letters", `{"filter":"{\"Name\":\"x\"}"}`, `{"Name":"x"}`},
		{"flags as text", `{"Flags":"Detailed","Filter":"{\"Name\":\"x\"}"}`, `{"Name":"x"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api, b := newAPI()
			if a := api.Enumerate(hns.KindNetwork, tt.query); a.Code != 0 {
				t.Fatalf("%+v", a)
			}
			if got := b.got[0].Filter; got != tt.want {
				t.Errorf("filter = %s, want %s", got, tt.want)
			}
		})
	}
}

// FuzzEnumerate: any query is either refused as JSON, before the backend is
// asked, or reaches it with a filter that is empty or a JSON object.
func FuzzEnumerate(f *testing.F) {
	f.Fuzz(func(t *testing.T, query string) {
		api, b := newAPI()
		a := api.Enumerate(hns.KindEndpoint, query)
		if a.Code != 0 {
			if a.Code != hns.CodeInvalidJSON || len(b.got) != 0 || !json.Valid([]byte(a.Record)) {
				t.Errorf("refused as %s after %d requests, record %s", a.Code, len(b.got), a.Record)
			}
			return
		}
		var filter map[string]any
		if got := b.got[0].Filter; got != "" && json.Unmarshal([]byte(got), &filter) != nil {
			t.Errorf("filter %q is no JSON object", got)
		}
		if a.Text != "[]" {
			t.Errorf("ids = %s", a.Text)
		}
	})
}
