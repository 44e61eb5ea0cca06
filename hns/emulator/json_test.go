package emulator

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseObject(t *testing.T) {
	tests := []struct {
		in, want string // want "": an error
	}{
		{`{}`, `{}`},
		{` { "b" : 1.50 , "a":[ 1, {"x":null} ] } `, `{"b":1.50,"a":[1,{"x":null}]}`},
		{`{"a":"<&>\u003c"}`, `{"a":"<&>\u003c"}`},
		{`{"a":1,"A":2}`, `{"A":2}`},
		{`{"":0}`, `{"":0}`},
		{`[]`, ""}, {`7`, ""}, {``, ""}, {`{`, ""}, {`{} {}`, ""}, {`{"a":}`, ""}, {`null`, ""},
		{strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000), ""},
	}
	for _, tt := range tests {
		o, err := parseObject([]byte(tt.in))
		if (err != nil) != (tt.want == "") {
			t.Errorf("%.40s: error %v", tt.in, err)
		}
		if err == nil && string(o.bytes()) != tt.want {
			t.Errorf("%.40s: %s, want %s", tt.in, o.bytes(), tt.want)
		}
	}
}

func TestObjectMembers(t *testing.T) {
	o, err := parseObject([]byte(`{"Name":"x","none":null,"List":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"NAME": `"x"`, "None": "", "list": "[]", "other": ""} {
		if got := string(o.get(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, tt := range []struct{ name, value, want string }{
		{"name", `"y"`, `{"Name":"y","none":null,"List":[]}`},
		{"NONE", "", `{"Name":"x","List":[]}`},
		{"New", "1", `{"Name":"x","none":null,"List":[],"New":1}`},
		{"New", "", `{"Name":"x","none":null,"List":[]}`},
	} {
		var v json.RawMessage
		if tt.value != "" {
			v = json.RawMessage(tt.value)
		}
		if got := string(o.with(tt.name, v).bytes()); got != tt.want {
			t.Errorf("with %s %s: %s, want %s", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestEqualJSON(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"B":[true,null]}`, `{"b":[true,null],"A":1.0}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`1e2`, `100`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`1e999999999`, `1e999999998`, false},
		{`"1"`, `1`, false},
		{`{}`, `[]`, false},
		{`"x"`, `"X"`, false},
		{`{`, `{`, true}, // the same text
		{`{`, `{}`, false},
	}
	for _, tt := range tests {
		for _, p := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
			if got := equalJSON([]byte(p[0]), []byte(p[1])); got != tt.want {
				t.Errorf("%s and %s: %v, want %v", p[0], p[1], got, tt.want)
			}
		}
	}
}

func TestEnum(t *testing.T) {
	tests := []struct {
		raw  string
		n    int
		fine bool
	}{
		{`"NAT"`, 0, true}, {`"l2BRIDGE"`, 3, true}, {`5`, 5, true}, {`11`, 0, false}, {`-1`, 0, false},
		{`""`, 0, false}, {`"5"`, 0, false}, {`true`, 0, false}, {`1.5`, 0, false},
	}
	for _, tt := range tests {
		if n, ok := enumValue([]byte(tt.raw), networkTypes); ok != tt.fine || n != tt.n {
			t.Errorf("%s: %d, %v", tt.raw, n, ok)
		}
	}
}
