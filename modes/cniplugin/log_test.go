package cniplugin_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"
)

// entry is a line of the log.
type entry struct {
	Level, Msg, Verb, Container, Interface, Network, Op, Error string
	PID                                                        int
}

func readLog(t *testing.T, path string) []entry {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []entry
	for s := bufio.NewScanner(f); s.Scan(); {
		var e entry
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		out = append(out, e)
	}
	return out
}

func quote(t *testing.T, s string) string { t.Helper(); return marshal(t, s) }

// A verb is a line, at debug level one more for each call of HNS; later verbs are
// appended, and nobody else may read it.
func TestLogFile(t *testing.T) {
	n := newBridge(t, nil)
	path := filepath.Join(n.dir, "plugin.log")
	members := []string{`"logFile": ` + quote(t, path), `"logLevel": "debug"`}
	p := n.pod("sbx-01")
	p.mustAdd(members...)
	p.mustDel(members...)
	if _, err := p.add(append(members, `"name": "cbr0"`)...); err == nil {
		t.Error("succeeded")
	}
	log := readLog(t, path)
	var done []string
	for _, e := range log {
		if e.Container != "sbx-01" || e.Interface != "eth0" || e.PID != os.Getpid() || e.Network == "" {
			t.Errorf("line %+v", e)
		}
		if e.Msg == "done" {
			done = append(done, e.Level+" "+e.Verb)
		}
	}
	if diff := cmp.Diff([]string{"INFO ADD", "INFO DEL", "ERROR ADD"}, done); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !slices.ContainsFunc(log, func(e entry) bool { return e.Verb == "ADD" && e.Op == "create endpoint" }) {
		t.Error("the calls of HNS are not there")
	}
	if last := log[len(log)-1]; !strings.Contains(last.Error, "cbr0") {
		t.Errorf("last line %+v", last)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestLogLevel(t *testing.T) {
	n := newBridge(t, nil)
	path := filepath.Join(n.dir, "plugin.log")
	p := n.pod("sbx-01")
	p.mustAdd(`"logFile": `+quote(t, path), `"logLevel": "error"`)
	if log := readLog(t, path); len(log) > 0 {
		t.Errorf("logged %+v", log)
	}
	p.mustAdd(`"logFile": ` + quote(t, path))
	log := readLog(t, path)
	if len(log) != 1 || log[0].Level != "INFO" {
		t.Errorf("logged %+v", log)
	}
}

// What is odd, and done all the same, is in the log.
func TestWarnings(t *testing.T) {
	n := newBridge(t, nil)
	path := filepath.Join(n.dir, "plugin.log")
	log := `"logFile": ` + quote(t, path)
	p := n.pod("sbx-01")
	p.mustAdd(log, `"ipMasqNetwork": "0.0.0.0/0"`)
	p.mustDel(log, `"timeout": 7`)
	var got []string
	for _, e := range readLog(t, path) {
		if e.Level == "WARN" {
			got = append(got, e.Verb+" "+e.Msg)
		}
	}
	if diff := cmp.Diff([]string{"ADD ipMasq", "DEL the default is taken instead"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A log that cannot be written fails ADD before it does anything, but not DEL.
func TestLogFileThatCannotBe(t *testing.T) {
	n := newBridge(t, nil)
	p := n.pod("sbx-01")
	path := `"logFile": ` + quote(t, filepath.Join(n.dir, "no", "such", "dir.log"))
	if _, err := p.add(path); codeOf(err) != types.ErrInvalidNetworkConfig || !strings.Contains(err.Error(), "logFile") {
		t.Errorf("code %d, %v; want 7 and logFile", codeOf(err), err)
	}
	untouched(t, n)
	p.mustAdd()
	p.mustDel(path)
	if got := n.state(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}
