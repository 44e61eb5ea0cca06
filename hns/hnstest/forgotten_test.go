package hnstest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/hnstest"
)

// forgetful is a backend that leaves a member out of every document of a kind.
type forgetful struct {
	hns.Backend
	kind hns.Kind
	path []string
}

func (f forgetful) Do(r hns.Request) (hns.Response, error) {
	resp, err := f.Backend.Do(r)
	for i, d := range resp.Documents {
		var doc any
		if r.Kind == f.kind && r.Verb != hns.VerbCall && json.Unmarshal(d, &doc) == nil {
			forget(doc, f.path)
			resp.Documents[i], _ = json.Marshal(doc) // it came from JSON
		}
	}
	return resp, err
}

func forget(v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
			return
		}
		forget(v[path[0]], path[1:])
	case []any:
		for _, elem := range v {
			forget(elem, path)
		}
	}
}

// pathsOf collects the members of a document. Settings are one: they come back
// byte for byte, see "policy/settings byte for byte".
func pathsOf(v any, path string, out map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			p := strings.TrimPrefix(path+"."+name, ".")
			out[p] = true
			if name != "Settings" {
				pathsOf(m, p, out)
			}
		}
	case []any:
		for _, elem := range v {
			pathsOf(elem, path, out)
		}
	}
}

var forgottenKinds = []hns.Kind{hns.KindNetwork, hns.KindEndpoint, hns.KindNamespace, hns.KindLoadBalancer, hns.KindRoute}

// latest is the emulator that shows most.
func latest() *emulator.HNS {
	return emulator.New(&emulator.Options{Version: emulator.WindowsServer2025Serviced, Listeners: []emulator.Listener{{Protocol: 6, Port: busy}}})
}

const forgottenVariable = "HNSTEST_FORGOTTEN"

// Whatever member of schema 2 a backend forgets, the suite notices. In schema 1
// no case asks for what no known client reads: the books that HNS keeps for
// itself (Resources, Health, ActivityId, AdditionalParams), counters and marks.
func TestForgottenMembersAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred processes")
	}
	r := hnstest.NewRecorder(latest())
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
		return hnstest.Harness{Backend: r, External: true, Strict: true, Busy: busy}
	})
	shown := map[string]map[string]bool{}
	for _, e := range r.Exchanges() {
		for _, d := range e.Response.Documents {
			var doc any
			if kind := e.Request.Kind.String(); e.Request.Verb != hns.VerbCall && json.Unmarshal(d, &doc) == nil {
				if shown[kind] == nil {
					shown[kind] = map[string]bool{}
				}
				pathsOf(doc, "", shown[kind])
			}
		}
	}
	count := 0
	for kind, paths := range shown {
		for path := range paths {
			if path == "ID" || slices.Contains(strings.Split(path, "."), "mAJOR") || slices.Contains(strings.Split(path, "."), "mINOR") {
				continue // the suite itself needs the one; the others are letters of its own
			}
			count++
			t.Run(kind+"/"+path, func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestForgotten$", "-test.failfast")
				cmd.Env = append(cmd.Environ(), forgottenVariable+"="+kind+":"+path)
				if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "--- FAIL: TestForgotten/") {
					t.Errorf("no case fails: %v\n%.2000s", err, out)
				}
			})
		}
	}
	if count < 60 {
		t.Errorf("only %d members", count)
	}
}

// TestForgotten is the process of TestForgottenMembersAreNoticed.
func TestForgotten(t *testing.T) {
	kind, path, ok := strings.Cut(os.Getenv(forgottenVariable), ":")
	if !ok {
		t.Skip("run by TestForgottenMembersAreNoticed")
	}
	i := slices.IndexFunc(forgottenKinds, func(k hns.Kind) bool { return k.String() == kind })
	if i < 0 {
		t.Skipf("no kind %q", kind)
	}
	hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
		return hnstest.Harness{Backend: forgetful{latest(), forgottenKinds[i], strings.Split(path, ".")}, External: true, Strict: true, Busy: busy}
	})
}
