package wine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/emulator/wine/native"
)

// needUpstream is needWine for what also needs the Go that the pinned modules
// ask for.
func needUpstream(t *testing.T) {
	t.Helper()
	needWine(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m")
	cmd.Dir = "suites/upstream"
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
	case strings.Contains(string(out), "requires go >=") && os.Getenv("HNSKIT_WINE") != "1":
		t.Skipf("hcsshim wants a newer Go: %s", out)
	default:
		t.Fatalf("%v\n%s", err, out)
	}
}

// A suite that passes with every feature, and what is left of it where some
// are missing.
func TestSuites(t *testing.T) {
	needUpstream(t)
	tests := []struct {
		name, suite string
		file        bool // keep the state in a file
		vars        []string
		status      int
		failed      []string
		want        string // without the failures
	}{
		{name: "hcsshim in memory", suite: "hcsshim", want: "hcsshim v0.15.0: 78 tests\n20 of 78 pass without any HNS, 58 need it\n78 passed, 0 failed\n"},
		{name: "hcsshim in a file", suite: "hcsshim", file: true, want: "hcsshim v0.15.0: 78 tests\n20 of 78 pass without any HNS, 58 need it\n78 passed, 0 failed\n"},
		{name: "hnslib", suite: "hnslib", want: "hnslib v0.1.3: 79 tests\n21 of 79 pass without any HNS, 58 need it\n79 passed, 0 failed\n"},
		{
			name: "hcsshim on Windows Server 2022", suite: "hcsshim", vars: []string{"HNSKIT_HNS_VERSION=13.3"}, status: 1,
			// Tiers need HNS 14.0, network ACLs 15.0, the other two 15.4.
			failed: []string{"TestApplyTierAclPolicyOnEndpoint", "TestCreateUpdateDeleteLoadBalancer", "TestAddRemoveNetworACLPolicy", "TestAccelnetNnvManagementMacAddresses"},
			want:   "hcsshim v0.15.0: 78 tests\n20 of 78 pass without any HNS, 58 need it\n74 passed, 4 failed\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			state, log := filepath.Join(dir, "hns.json"), filepath.Join(dir, "calls.jsonl")
			vars := append(tt.vars, "HNSKIT_CALL_LOG="+log)
			if tt.file {
				vars = append(vars, "HNSKIT_STATE="+zPath(state))
			}
			got := run(t, wineCommand(t, vars, tt.suite))
			if got.status != tt.status {
				t.Errorf("status %d, want %d: %s", got.status, tt.status, got.stderr)
			}
			failed, counts := splitReport(got.stdout)
			if diff := cmp.Diff(tt.want, counts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.failed, failed); diff != "" {
				t.Errorf("failed (-want +got):\n%s\n%s", diff, got.stdout)
			}
			if tt.status == 0 {
				checkFunctions(t, log)
			}
			if tt.file {
				checkClean(t, state)
			}
		})
	}
}

var (
	failure   = regexp.MustCompile(`(?m)^--- [A-Z]+: (\S+)$`)
	countLine = regexp.MustCompile(`(?m)^(\S+ v\S+: \d+ tests|\d+ of \d+ pass without any HNS, \d+ need it|\d+ passed, \d+ failed)\n`)
)

// splitReport returns the names of the tests that failed, and the lines of the
// report that are not about one test.
func splitReport(report string) (failed []string, counts string) {
	for _, m := range failure.FindAllStringSubmatch(report, -1) {
		failed = append(failed, m[1])
	}
	return failed, strings.Join(countLine.FindAllString(report, -1), "")
}

// checkFunctions: the suites call every function of the DLLs but one.
func checkFunctions(t *testing.T, log string) {
	t.Helper()
	calls, err := native.ReadLog(log)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range calls {
		seen[c.Func] = true
	}
	var missing []string
	for _, name := range append(functions(), "HNSCall") {
		if !seen[name] {
			missing = append(missing, name)
		}
	}
	if diff := cmp.Diff([]string{"HcnModifySdnRoute"}, missing); diff != "" {
		t.Errorf("%d calls; functions not called (-want +got):\n%s", len(calls), diff)
	}
}

// functions are those of the Host Compute Network API on objects.
func functions() (names []string) {
	for _, kind := range []string{"Network", "Endpoint", "Namespace", "LoadBalancer", "SdnRoute"} {
		for _, verb := range []string{"Enumerate*s", "Create*", "Open*", "Modify*", "Query*Properties", "Delete*", "Close*"} {
			names = append(names, "Hcn"+strings.Replace(verb, "*", kind, 1))
		}
	}
	return names
}

// checkClean: hcsshim's tests take away all that they make, and the state file
// has no company but its lock.
func checkClean(t *testing.T, state string) {
	t.Helper()
	h, err := emulator.Open(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Networks) + len(s.Endpoints) + len(s.Namespaces) + len(s.LoadBalancers) + len(s.Routes); n != 0 {
		t.Errorf("%d objects are left", n)
	}
	entries, err := os.ReadDir(filepath.Dir(state))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"calls.jsonl", "calls.jsonl.lock", "hns.json", "hns.json.lock"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
