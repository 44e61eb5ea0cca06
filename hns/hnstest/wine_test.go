package hnstest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/hns/hnstest"
)

const wineScript = "../emulator/wine/wine"

// needWine skips the test unless HNSKIT_WINE=1 promises that Wine is there: it
// builds a Windows program and runs it for a minute.
func needWine(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getenv("HNSKIT_WINE") != "1" {
		t.Skip("needs Linux with Wine, and HNSKIT_WINE=1")
	}
	if out, err := exec.CommandContext(t.Context(), wineScript, "setup", "--offline").CombinedOutput(); err != nil {
		t.Fatalf("wine setup: %v\n%s", err, out)
	}
}

// The emulator behind the DLLs, by the native backend, gives in each case the
// answers that it gives when asked directly: the way through the DLLs and back
// changes nothing.
func TestNativeUnderWine(t *testing.T) {
	needWine(t)
	dir := t.TempDir()
	exe := filepath.Join(dir, "hnstest.test.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", exe, ".")
	build.Env = append(build.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	for _, tt := range []struct {
		version hns.Version
		file    bool
	}{
		{emulator.WindowsServer2019KB4489899, false}, {emulator.WindowsServer2022, false}, {emulator.WindowsServer2025Serviced, true},
	} {
		name := fmt.Sprintf("%s in memory", tt.version)
		if tt.file {
			name = fmt.Sprintf("%s in a file", tt.version)
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			vars := []string{"HNSKIT_HNS_VERSION=" + tt.version.String(), "HNSKIT_CALL_LOG=" + filepath.Join(dir, "calls.jsonl")}
			if tt.file {
				vars = append(vars, "HNSKIT_STATE="+filepath.Join(dir, "hns.json"))
			}
			got := underWine(t, exe, filepath.Join(dir, "answers.jsonl"), vars)
			want := asked(t, emulator.New(&emulator.Options{Version: tt.version}))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answers (-direct +by the DLLs):\n%s", diff)
			}
			t.Logf("%d cases", len(got))
		})
	}
}

// underWine runs TestNative of the Windows program and returns the answers.
func underWine(t *testing.T, exe, answers string, vars []string) []hnstest.Answer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), wineScript, "run", exe, "-test.run=^TestNative$", "-test.v")
	cmd.Env = append(append(cmd.Environ(), "HNSKIT_CONFORMANCE=native", "HNSKIT_CONFORMANCE_EXTERNAL=1", "HNSKIT_CONFORMANCE_STRICT=1",
		"HNSKIT_CONFORMANCE_ANSWERS="+answers, "HNSKIT_STATE=", "HNSKIT_WINE_TIMEOUT=300"), vars...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	f, err := os.Open(answers)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := hnstest.ReadAnswers(f)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d answers: %v", len(all), err)
	}
	return all
}

// asked runs the suite on a backend, as an emulator, and returns the answers.
func asked(t *testing.T, b hns.Backend) (all []hnstest.Answer) {
	t.Helper()
	t.Run("directly", func(t *testing.T) {
		hnstest.RunConformance(t, func(*testing.T) hnstest.Harness {
			return hnstest.Harness{Backend: b, External: true, Strict: true, Record: func(a hnstest.Answer) { all = append(all, a) }}
		})
	})
	return all
}
