package delegate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/subnetenv/delegate"
)

func TestParse(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	tests := []struct {
		name, conf string
		want       *delegate.Config
	}{
		{"least", `{"name":"lake","delegate":{}}`, &delegate.Config{
			Name: "lake", SubnetFile: "/run/flannel/subnet.env", DataDir: "/var/lib/cni/flannel", Delegate: map[string]json.RawMessage{}}},
		// flannel-io/flannel#1399: the file is where the configuration says.
		{"paths", `{"name":"lake","subnetFile":"D:\\run\\flannel\\subnet.env","dataDir":"D:\\cni"}`, &delegate.Config{
			Name: "lake", SubnetFile: `D:\run\flannel\subnet.env`, DataDir: `D:\cni`}},
		{"null is missing", `{"name":"lake","type":null,"cniVersion":null,"dataDir":null,"delegate":null,"ipam":null,"runtimeConfig":null,"ipv4Only":null,"x":null}`, &delegate.Config{
			Name: "lake", SubnetFile: "/run/flannel/subnet.env", DataDir: "/var/lib/cni/flannel",
			Extra: map[string]json.RawMessage{"x": raw("null")}}},
		{"everything, in odd case", `{
			"Name":"flannel.4096", "CNIVERSION":"1.1.0", "Type":"flannel", "SubnetFile":"s", "DATADIR":"d", "ipv4only":true,
			"Delegate":{"Type":"win-overlay","Policies":[ 1 ]}, "Ipam":{"Type":"host-local"},
			"RuntimeConfig":{"dns":{}}, "Capabilities":{"dns":true}, "PrevResult":{"ips":[]}, "Args":{"cni":{}}, "DNS":{"search":[]},
			"CNI.dev/valid-attachments":[], "logFile":"x", "Timeout":30}`, &delegate.Config{
			Name: "flannel.4096", CNIVersion: "1.1.0", Type: "flannel", SubnetFile: "s", DataDir: "d", IPv4Only: true,
			Delegate:      map[string]json.RawMessage{"Type": raw(`"win-overlay"`), "Policies": raw("[ 1 ]")},
			IPAM:          map[string]json.RawMessage{"Type": raw(`"host-local"`)},
			RuntimeConfig: raw(`{"dns":{}}`), Capabilities: raw(`{"dns":true}`), PrevResult: raw(`{"ips":[]}`),
			Args: raw(`{"cni":{}}`), DNS: raw(`{"search":[]}`), ValidAttachments: raw("[]"),
			Extra: map[string]json.RawMessage{"logFile": raw(`"x"`), "Timeout": raw("30")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parse(t, tt.conf)); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, conf string
		want       []string
	}{
		{"not an object", `[]`, []string{"configuration"}},
		{"no name", `{"delegate":{}}`, []string{"name"}},
		{"empty name", `{"name":""}`, []string{"name"}},
		{"name no file can have", `{"name":"a/b"}`, []string{"name"}},
		{"a whole list", `{"name":"lake","cniVersion":"1.0.0","plugins":[{"type":"flannel"}]}`, []string{"plugins"}},
		{"all at once", `{"name":7,"cniVersion":"one","type":[],"subnetFile":"","dataDir":{},"ipv4Only":"yes","delegate":"win-bridge","ipam":[],
			"runtimeConfig":[],"prevResult":1,"cni.dev/valid-attachments":{}}`,
			[]string{"name", "cniVersion", "type", "subnetFile", "dataDir", "ipv4Only", "delegate", "ipam", "runtimeConfig", "prevResult", "cni.dev/valid-attachments"}},
		{"member twice", `{"name":"lake","name":"pond"}`, []string{"name"}},
		{"member twice but for case", `{"name":"lake","delegate":{"policies":[],"Policies":[]},"ipam":{"type":"a","type":"b"}}`,
			[]string{"delegate.Policies", "ipam.type"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := delegate.Parse([]byte(tt.conf))
			if err == nil {
				t.Fatalf("accepted: %+v", cfg)
			}
			if diff := cmp.Diff(tt.want, paths(err)); diff != "" {
				t.Errorf("paths (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// microsoft/windows-container-networking#83: published examples do not parse. The
// operator gets the place and, where it can be told, the reason.
func TestSyntaxErrors(t *testing.T) {
	tests := []struct {
		name, conf   string
		line, column int
		hint         string
	}{
		{"no-break spaces", "{\n\u00a0\u00a0\"name\": \"lake\"\n}", 2, 1, "no-break space"},
		{"no-break space after umlauts", "{\n  \"x\": \"äöü\",\u00a0\"name\": \"lake\"}", 2, 14, "no-break space"},
		{"byte order mark", "\uFEFF{}", 1, 1, "byte order mark"},
		{"UTF-16", "\xff\xfe{\x00}\x00", 1, 1, "UTF-16"},
		{"typographic quotes", "{\u201cname\u201d: 1}", 1, 2, "quote"},
		{"single quotes", "{\r\n  'name': 'lake'}", 2, 3, "quote"},
		{"template", "{\n\t\"vni\": __VNI__}", 2, 9, "template"},
		{"comma missing", "{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, ""},
		{"cut off", "{\n  \"a\": ", 2, 8, "cut off"},
		{"empty", "", 1, 1, "cut off"},
		{"two values", "{} {}", 1, 4, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := delegate.Parse([]byte(tt.conf))
			var syntax *delegate.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a *SyntaxError", err)
			}
			if syntax.Line != tt.line || syntax.Column != tt.column || (tt.hint == "") != (syntax.Hint == "") || !strings.Contains(syntax.Hint, tt.hint) {
				t.Errorf("line %d column %d hint %q, want %d, %d, %q", syntax.Line, syntax.Column, syntax.Hint, tt.line, tt.column, tt.hint)
			}
			if place := fmt.Sprintf("line %d column %d: ", tt.line, tt.column); !strings.Contains(err.Error(), place) || !strings.Contains(err.Error(), tt.hint) {
				t.Errorf("error %q does not say %q and the hint", err, place)
			}
			var cause *json.SyntaxError
			if !errors.As(err, &cause) {
				t.Error("the decoder's error cannot be reached")
			}
		})
	}
}

func TestFieldErrorIsShort(t *testing.T) {
	_, err := delegate.Parse([]byte(`{"name":"lake","ipam":["` + strings.Repeat("ä", 5000) + `"]}`))
	if err == nil || len(err.Error()) > 250 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}

// libcni adds its members beside those of a file that spells them otherwise:
// OpenShift's bootstrapper wrote all names with a capital. Its own count, as they do
// for Go's decoder in what it writes, which has capitals first.
func TestNamesOfTheRuntime(t *testing.T) {
	const rest = `"type":"flannel","delegate":{"type":"win-bridge"}`
	for _, conf := range []string{
		`{"CniVersion":"0.2.0","Name":"pond","cniVersion":"1.0.0","name":"lake",` + rest + `}`,
		`{"cniVersion":"1.0.0","name":"lake",` + rest + `,"CNIVersion":"0.2.0","NAME":"pond"}`,
	} {
		c, err := delegate.Parse([]byte(conf))
		if err != nil || c.CNIVersion != "1.0.0" || c.Name != "lake" || len(c.Extra) > 0 {
			t.Errorf("%s: %+v, %v", conf, c, err)
		}
	}
	for conf, path := range map[string]string{
		`{"cniVersion":"1.0.0","cniVersion":"0.2.0","name":"lake",` + rest + `}`: "cniVersion",
		`{"CniVersion":"1.0.0","CNIVersion":"0.2.0","name":"lake",` + rest + `}`: "CNIVersion",
		`{"name":"lake","subnetFile":"/a","SubnetFile":"/b",` + rest + `}`:       "SubnetFile",
		`{"name":"lake","delegate":{"cniVersion":"1.0.0","CniVersion":"1.0.0"}}`: "delegate.CniVersion",
	} {
		var bad *delegate.FieldError
		if _, err := delegate.Parse([]byte(conf)); !errors.As(err, &bad) || bad.Path != path {
			t.Errorf("%s: %v, want a complaint of %s", conf, err, path)
		}
	}
}
