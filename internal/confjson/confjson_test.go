package confjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/internal/confjson"
)

func TestUnmarshalSaysWhere(t *testing.T) {
	type conf struct {
		Name string
		IPAM struct {
			Subnet string `json:"subnet"`
		} `json:"ipam"`
	}
	tests := []struct {
		name, in     string
		line, column int
		path, reason string
	}{
		// microsoft/windows-container-networking#83: examples indented with no-break blanks.
		{"no-break blank", "{\n\u00a0\u00a0\"name\": \"lake\"}", 2, 1, "", "U+00A0"},
		{"missing comma", "{\"name\": \"lake\"\n  \"ipam\": {}}", 2, 3, "", "invalid character '\"'"},
		{"typographic quote", "{\u201cname\u201d: 1}", 1, 2, "", "typographic quote"},
		{"cut off", "{\"name\": \"la", 1, 13, "", "cut off or empty"},
		{"empty", "", 1, 1, "", "cut off or empty"},
		{"UTF-16", "\xff\xfe{\x00", 1, 1, "", "UTF-16"},
		{"wrong type", `{"ipam": []}`, 1, 10, "ipam", "an array cannot stand here"},
		{"wrong type", "{\n \"ipam\": {\"subnet\": 10}}", 2, 22, "ipam.subnet", "a number cannot stand here"},
		{"unfilled template", "{\"name\": __NAME__}", 1, 10, "", "template that was not filled in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := confjson.Unmarshal([]byte(tt.in), &conf{})
			var e *confjson.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *confjson.Error", err)
			}
			if e.Line != tt.line || e.Column != tt.column || e.Path != tt.path || !strings.Contains(e.Reason, tt.reason) {
				t.Errorf("got line %d column %d path %q reason %q", e.Line, e.Column, e.Path, e.Reason)
			}
		})
	}
}

func TestUnmarshalTakesMarkAndAnyCase(t *testing.T) {
	var v struct{ Name string }
	if err := confjson.Unmarshal([]byte("\ufeff{\"NAME\": \"lake\"}"), &v); err != nil || v.Name != "lake" {
		t.Errorf("got %q, %v", v.Name, err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{"", "{", "{}", "\u00a0", "\ufeff", "{\"a\":\n1}", "[\xff]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v map[string]json.RawMessage
		err := confjson.Unmarshal(data, &v)
		if e := (*confjson.Error)(nil); errors.As(err, &e) && (e.Line < 1 || e.Column < 1) {
			t.Errorf("place %d:%d", e.Line, e.Column)
		}
	})
}

func TestUnfilled(t *testing.T) {
	for _, s := range []string{"{{NAME}}", "<ClusterCIDR>", "<MgmtIP>/32", "__MODE__", "${POD_CIDR}", "$SUBNET/24", "%NODE%", "your <service cidr> here"} {
		if !confjson.Unfilled(s) {
			t.Errorf("%s is not seen", s)
		}
	}
	for _, s := range []string{"", "10.50.0.0/16", "lake_1", "{%namespace%}.svc.cluster.local", "a < b", "C:\\k\\config", "C:\\$share", "50%"} {
		if confjson.Unfilled(s) {
			t.Errorf("%s is taken for a mark", s)
		}
	}
}
