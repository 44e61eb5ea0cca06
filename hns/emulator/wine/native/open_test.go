package native_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator/wine/native"
	"github.com/hnskit/hnskit/internal/emuopen"
)

func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "calls.jsonl")
	state := filepath.Join(dir, "state.json")
	for name, vars := range map[string]map[string]string{
		"nothing set": {},
		"all set": {native.StateVariable: state, native.LogVariable: log, native.VersionVariable: "15.15",
			native.AdaptersVariable: "eth0=192.0.2.7/24"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &backend{docs: []string{`{"ID":"` + netID.String() + `"}`}}
			asked := emuopen.Wish{Path: "not asked"}
			api := native.Open(environment(vars), func(w emuopen.Wish) (hns.Backend, error) {
				asked = w
				return b, nil
			})
			if asked.Path != vars[native.StateVariable] {
				t.Errorf("state = %q, want %q", asked.Path, vars[native.StateVariable])
			}
			if text, v := vars[native.VersionVariable], asked.Version; text != "" && v.String() != text || text == "" && v != (hns.Version{}) {
				t.Errorf("version %s, want %q", v, text)
			}
			if got, want := emuopen.Format(asked.Adapters), vars[native.AdaptersVariable]; got != want {
				t.Errorf("adapters %q, want %q", got, want)
			}
			if a := api.Enumerate(hns.KindNetwork, ""); a.Code != 0 {
				t.Errorf("enumerate: %+v", a)
			}
			_, err := os.Stat(log)
			if logs := vars[native.LogVariable] != ""; logs != (err == nil) {
				t.Errorf("log wanted = %t, but: %v", logs, err)
			}
			if err := os.Remove(log); err != nil && vars[native.LogVariable] != "" {
				t.Error(err)
			}
		})
	}
}

// What is amiss in the environment is told by every call.
func TestOpenFails(t *testing.T) {
	working := func(emuopen.Wish) (hns.Backend, error) { return &backend{docs: []string{`{}`}}, nil }
	failing := func(emuopen.Wish) (hns.Backend, error) { return nil, errors.New("state.json:3: broken") }
	missing := filepath.Join(t.TempDir(), "missing", "calls.jsonl")
	log := filepath.Join(t.TempDir(), "calls.jsonl")
	tests := []struct {
		name  string
		vars  map[string]string
		open  func(emuopen.Wish) (hns.Backend, error)
		says  string
		calls int // lines in log
	}{
		{"broken state", nil, failing, "HNSKIT_STATE: state.json:3: broken", 0},
		{"broken state with a log", map[string]string{native.LogVariable: log}, failing, "HNSKIT_STATE: state.json:3: broken", 2},
		{"one number", map[string]string{native.VersionVariable: "15"}, working, `HNSKIT_HNS_VERSION: "15" is not a version`, 0},
		{"three numbers", map[string]string{native.VersionVariable: "15.4.1"}, working, "not a version such as 15.4", 0},
		{"negative version", map[string]string{native.VersionVariable: "-1.0"}, working, "not a version such as 15.4", 0},
		{"no version", map[string]string{native.VersionVariable: "0.0"}, working, "not a version such as 15.4", 0},
		{"no adapters", map[string]string{native.AdaptersVariable: "192.0.2.7/24"}, working, `HNSKIT_ADAPTERS: "192.0.2.7/24" is not an adapter`, 0},
		{"log without a directory", map[string]string{native.LogVariable: missing}, working, "HNSKIT_CALL_LOG: call log: open " + missing, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := native.Open(environment(tt.vars), tt.open)
			a := api.Enumerate(hns.KindNetwork, "")
			if a.Code != 0x80004005 || !strings.Contains(message(t, a), tt.says) {
				t.Errorf("enumerate: %s, record %s, want E_FAIL and %q", a.Code, a.Record, tt.says)
			}
			if a := api.Call("GET", "/networks/", ""); a.Code != 0x80004005 || !strings.Contains(message(t, a), tt.says) {
				t.Errorf("v1 call: %+v, want E_FAIL and %q", a, tt.says)
			}
			if tt.calls == 0 {
				return
			}
			calls, err := native.ReadLog(tt.vars[native.LogVariable])
			if err != nil || len(calls) != tt.calls {
				t.Errorf("log: %d calls, %v; want %d", len(calls), err, tt.calls)
			}
		})
	}
}
