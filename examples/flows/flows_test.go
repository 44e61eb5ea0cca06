package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/golden"
	"github.com/hnskit/hnskit/internal/mixedcluster"
	"github.com/hnskit/hnskit/modes"
)

func output(t *testing.T, o options) string {
	t.Helper()
	var b strings.Builder
	if err := run(t.Context(), &b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestOutput(t *testing.T) {
	for name, o := range map[string]options{
		"table":   {},
		"flow":    {mode: modes.L2Bridge, flow: 7},
		"break":   {mode: modes.Overlay, fault: "source-vip"},
		"breaks":  {list: true},
		"mermaid": {mode: modes.L2Bridge, fault: "route", mermaid: true},
	} {
		golden.File(t, filepath.Join("testdata", name+".golden"), output(t, o))
	}
}

// TestEveryBreakIsShown: the diagnosis of each is in the output.
func TestEveryBreakIsShown(t *testing.T) {
	for _, b := range mixedcluster.Breaks() {
		out := output(t, options{mode: b.Mode, fault: b.Name})
		for _, want := range []string{", healthy: ", ": arrived\n", "broken: " + b.Text, "\n    fix: "} {
			if !strings.Contains(out, want) {
				t.Errorf("%s %s: the output lacks %q:\n%s", b.Mode, b.Name, want, out)
			}
		}
	}
}

// TestSnapshots reads dumps of two nodes, and says "maybe" of what they do not
// tell.
func TestSnapshots(t *testing.T) {
	c, err := mixedcluster.New(t.Context(), modes.Overlay)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var files []string
	for _, n := range c.Nodes[:2] {
		s := &hns.Snapshot{Version: n.Windows.HNS.Version}
		for _, x := range n.Windows.HNS.Networks {
			s.Networks = append(s.Networks, x.Document.Raw)
		}
		for _, x := range n.Windows.HNS.Endpoints {
			s.Endpoints = append(s.Endpoints, x.Document.Raw)
		}
		h := emulator.New(nil) // what it reads is a dump that HNS would give
		if err := h.Load(s); err != nil {
			t.Fatal(err)
		}
		b, err := s.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		f := filepath.Join(dir, n.Name+".json")
		if err := os.WriteFile(f, b, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	out := output(t, options{snapshot: files[0], files: files[1:]})
	for _, want := range []string{"FLOW", "Overlay", "1 pod to pod by IP             maybe?", "6 pod to outside by IP         n/a"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if out := output(t, options{snapshot: files[0], files: files[1:], flow: 1}); !strings.Contains(out, "could not be judged") || !strings.Contains(out, "VXLAN [192.0.2.11 > 192.0.2.12") {
		t.Errorf("the way between two dumps:\n%s", out)
	}
}

func TestMistakes(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"Networks": [1]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]options{
		"there are the flows 1 to 9": {flow: 10},
		"-breaks lists them":         {fault: "nothing"},
		"files belong":               {files: []string{"x"}},
		"no such file":               {snapshot: filepath.Join(t.TempDir(), "none")},
		"Networks[0]":                {snapshot: bad},
		"no Windows pod":             {snapshot: empty(t)},
	} {
		var b strings.Builder
		if err := run(t.Context(), &b, o); err == nil || !strings.Contains(err.Error(), want) && want != "no such file" {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func empty(t *testing.T) string {
	t.Helper()
	f := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(f, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTake writes the snapshot of a node.
func TestTake(t *testing.T) {
	dir := t.TempDir()
	state, file := filepath.Join(dir, "state.json"), filepath.Join(dir, "node.json")
	h, err := emulator.Open(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := modes.PlanNetwork(modes.NetworkIntent{Mode: modes.L2Bridge, Name: "cbr0", Subnets: []netip.Prefix{netip.MustParsePrefix("10.244.1.0/24")}, Adapter: "Ethernet"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hns.New(h, nil).Networks.Create(t.Context(), n.Network); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HNS_EMULATOR", state)
	if runtime.GOOS == "windows" {
		return // there -take reads the machine's own HNS
	}
	if out := output(t, options{take: file}); out != "" {
		t.Errorf("it says %s", out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := hns.ParseSnapshot(b)
	if err != nil || len(s.Networks) != 1 || !strings.Contains(string(s.Networks[0]), `"cbr0"`) {
		t.Errorf("%v, %s", err, b)
	}
}
