package wine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator/wine/native"
)

// zPath returns the path of a file as Windows programs see it.
func zPath(path string) string {
	return "Z:" + strings.ReplaceAll(path, "/", `\`)
}

// TestABI calls the DLLs as C programs do.
func TestABI(t *testing.T) {
	needWine(t)
	log := filepath.Join(t.TempDir(), "calls.jsonl")
	got := run(t, wineCommand(t, []string{"HNSKIT_CALL_LOG=" + log, "HNSKIT_HNS_VERSION=16.0"}, "run", build(t, "abi")))
	want, err := os.ReadFile("testdata/abi.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.stdout); diff != "" || got.status != 0 {
		t.Errorf("status %d, %s\n(-want +got):\n%s", got.status, got.stderr, diff)
	}
	calls, err := native.ReadLog(log)
	if err != nil {
		t.Fatal(err)
	}
	var logged []string // "HcnOpenNetwork 0x803b0001"
	for _, c := range calls {
		logged = append(logged, fmt.Sprintf("%s %#x", c.Func, c.HR))
	}
	var printed []string
	for line := range strings.Lines(string(want)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), ",")
		// A call without a pointer that it needs does not get as far as the log.
		if !strings.HasPrefix(line, "--") && !strings.HasSuffix(line, "0x80004003") {
			printed = append(printed, line)
		}
	}
	if diff := cmp.Diff(printed, logged); diff != "" {
		t.Errorf("log (-printed +logged):\n%s", diff)
	}
}

// TestClient goes through an HNS in the memory of one process with the
// library's own client.
func TestClient(t *testing.T) {
	needWine(t)
	log := filepath.Join(t.TempDir(), "calls.jsonl")
	got := run(t, wineCommand(t, []string{"HNSKIT_CALL_LOG=" + zPath(log)}, "run", build(t, "client"), "make", "show", "pod", "a", "show", "clear", "show"))
	want := result{stdout: `made cbr0 L2Bridge
version known true: network cbr0 10.244.3.0/24, 0 endpoints, 0 namespaces
a: on its network true, in its namespace true, one address of the subnet true
version known true: network cbr0 10.244.3.0/24, 0 endpoints, 0 namespaces
deleted cbr0 and not found: true
version known true: 0 endpoints, 0 namespaces
`}
	if got != want {
		t.Errorf("status %d, %s\n(-want +got):\n%s", got.status, got.stderr, cmp.Diff(want.stdout, got.stdout))
	}
	checkLog(t, log, map[string]int{
		"HcnCreateNetwork": 1, "HcnDeleteNetwork": 1,
		"HcnCreateEndpoint": 1, "HcnDeleteEndpoint": 1,
		"HcnCreateNamespace": 1, "HcnDeleteNamespace": 1, "HcnModifyNamespace": 2,
	})
}

// TestServices does the same with what services are made of.
func TestServices(t *testing.T) {
	needWine(t)
	log := filepath.Join(t.TempDir(), "calls.jsonl")
	got := run(t, wineCommand(t, []string{"HNSKIT_CALL_LOG=" + log, "HNSKIT_HNS_VERSION=16.0"}, "run", build(t, "client"), "make", "service", "show"))
	want := result{stdout: `made cbr0 L2Bridge
load balancer [10.96.0.7] port 81, on the endpoint true
route 10.96.0.0/12, on the endpoint true
version known true: network cbr0 10.244.3.0/24, 0 endpoints, 0 namespaces
`}
	if got != want {
		t.Errorf("status %d, %s\n(-want +got):\n%s", got.status, got.stderr, cmp.Diff(want.stdout, got.stdout))
	}
	checkLog(t, log, map[string]int{
		"HcnCreateLoadBalancer": 1, "HcnModifyLoadBalancer": 1, "HcnDeleteLoadBalancer": 1,
		"HcnCreateSdnRoute": 1, "HcnDeleteSdnRoute": 1,
	})
}

// TestVariables: the HNS that programs see, or that they see none.
func TestVariables(t *testing.T) {
	needWine(t)
	exe := build(t, "client")
	state := filepath.Join(t.TempDir(), "hns.json")
	tests := []struct {
		name string
		vars []string
		want result
	}{
		{"default", nil, result{stdout: "HNS 13.3\n"}},
		{"version", []string{"HNSKIT_HNS_VERSION=9.5"}, result{stdout: "HNS 9.5\n"}},
		{"version of a new file", []string{"HNSKIT_HNS_VERSION=15.4", "HNSKIT_STATE=" + state}, result{stdout: "HNS 15.4\n"}},
		{"file keeps its version", []string{"HNSKIT_STATE=" + zPath(state)}, result{stdout: "HNS 15.4\n"}},
		{"other version", []string{"HNSKIT_HNS_VERSION=9.5", "HNSKIT_STATE=" + state}, result{
			stderr: "hns.json is the state of HNS 15.4, but 9.5 is asked for", status: 1}},
		{"no version", []string{"HNSKIT_HNS_VERSION=new"}, result{stderr: `"new" is not a version such as 15.4`, status: 1}},
		{"no HNS", []string{"HNSKIT_NO_HNS=1"}, result{stdout: "no HNS\n"}},
		{"HNS", []string{"HNSKIT_NO_HNS=0"}, result{stdout: "HNS 13.3\n"}},
		{"neither", []string{"HNSKIT_NO_HNS=yes"}, result{stderr: `HNSKIT_NO_HNS="yes" is neither 0 nor 1`, status: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := run(t, wineCommand(t, tt.vars, "run", exe, "version"))
			if got.stdout != tt.want.stdout || got.status != tt.want.status ||
				!strings.Contains(got.stderr, tt.want.stderr) || tt.want.stderr == "" && got.stderr != "" {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestSharedState has several processes work on the HNS in one state file,
// some of them at the same time.
func TestSharedState(t *testing.T) {
	needWine(t)
	const pods = 4
	dir := t.TempDir()
	state, log := filepath.Join(dir, "state.json"), filepath.Join(dir, "calls.jsonl")
	linux := []string{"HNSKIT_STATE=" + state, "HNSKIT_CALL_LOG=" + log}
	windows := []string{"HNSKIT_STATE=" + zPath(state), "HNSKIT_CALL_LOG=" + zPath(log)}
	exe := build(t, "client")
	client := func(vars []string, want string, args ...string) {
		t.Helper()
		got := run(t, wineCommand(t, vars, append([]string{"run", exe}, args...)...))
		if got.status != 0 || got.stdout != want {
			t.Errorf("%v: %+v\nwant %s", args, got, want)
		}
	}
	client(linux, "made cbr0 L2Bridge\n", "make")
	client(windows, "version known true: network cbr0 10.244.3.0/24, 0 endpoints, 0 namespaces\n", "show")
	names := make(chan string, pods)
	for n := range pods {
		names <- fmt.Sprintf("pod%d", n)
	}
	atOnce(t, pods, func() {
		name := <-names
		client(windows, name+": on its network true, in its namespace true, one address of the subnet true\n", "pod", name)
	})
	client(linux, "version known true: network cbr0 10.244.3.0/24, 0 endpoints, 0 namespaces\n", "show")
	client(windows, "deleted cbr0 and not found: true\n", "clear")

	checkLog(t, log, map[string]int{
		"HcnCreateNetwork": 1, "HcnDeleteNetwork": 1,
		"HcnCreateEndpoint": pods, "HcnDeleteEndpoint": pods,
		"HcnCreateNamespace": pods, "HcnDeleteNamespace": pods, "HcnModifyNamespace": 2 * pods,
	})
}

// checkLog compares how often the functions in want were called, and that
// every handle that was given out was closed.
func checkLog(t *testing.T, path string, want map[string]int) {
	t.Helper()
	calls, err := native.ReadLog(path)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	open := make(map[string]int)
	for _, c := range calls {
		if _, ok := want[c.Func]; ok {
			got[c.Func]++
		}
		if c.HR != 0 {
			switch hns.Code(c.HR) { // of a look at what was deleted
			case hns.CodeNetworkNotFound, hns.CodeEndpointNotFound, hns.CodeElementNotFound:
			default:
				t.Errorf("%s %s: %s", c.Func, c.ID, c.Error)
			}
			continue
		}
		switch {
		case strings.HasPrefix(c.Func, "HcnCreate"), strings.HasPrefix(c.Func, "HcnOpen"):
			open[c.ID]++
		case strings.HasPrefix(c.Func, "HcnClose"):
			open[c.ID]--
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls in the log (-want +got):\n%s", diff)
	}
	for id, n := range open {
		if n != 0 {
			t.Errorf("%d handles of %s were not closed", n, id)
		}
	}
}
