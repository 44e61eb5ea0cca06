package hnstest_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

// hosts are the HNS that stand behind the DLLs.
var hosts = []hns.Version{emulator.WindowsServer2019KB4489899, emulator.WindowsServer2022, emulator.WindowsServer2025Serviced}

// The emulator behind the DLLs, by the native backend, gives in each case the
// answers that it gives when asked directly: the way through the DLLs and back
// changes nothing. On the last host the state is in a file.
func TestNativeUnderWine(t *testing.T) {
	needWine(t)
	onHosts(t, "native", func(t *testing.T, want, got []hnstest.Answer) {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answers (-direct +by the DLLs):\n%s", diff)
		}
		t.Logf("%d cases", len(got))
	})
}

// Through hcn the same answers come as directly, but for what is said to be
// lost; see lostByHCN.
func TestHCNUnderWine(t *testing.T) {
	needWine(t)
	onHosts(t, "hcn", func(t *testing.T, want, got []hnstest.Answer) {
		if len(want) != len(got) {
			t.Fatalf("%d cases, %d directly", len(got), len(want))
		}
		verdicts, losses := map[hnstest.Verdict]int{}, map[string]int{}
		for i, a := range got {
			if diff := cmp.Diff(want[i], restored(a, want[i], losses)); diff != "" {
				t.Errorf("%s (-direct +through hcn):\n%s", a.Case, diff)
			}
			verdicts[a.Verdict]++
		}
		if verdicts[hnstest.Agrees] < 200 || verdicts[hnstest.Loses] == 0 {
			t.Errorf("verdicts: %v", verdicts)
		}
		t.Logf("%d cases: %d agree, %d differ by a named loss, %d are skipped on both ways", len(got),
			verdicts[hnstest.Agrees], verdicts[hnstest.Loses], verdicts[hnstest.Skipped])
		for _, name := range slices.Sorted(maps.Keys(losses)) {
			t.Logf("lost in %d steps: %s", losses[name], name)
		}
	})
}

// restored puts the answer that came directly where a step was lost, and counts
// what was. A case that could not be carried on for that is whole again.
func restored(a, direct hnstest.Answer, losses map[string]int) hnstest.Answer {
	if a.Verdict != hnstest.Loses {
		return a
	}
	var steps []hnstest.Step
	for i, s := range a.Steps {
		if s.Loss == "" {
			steps = append(steps, s)
			continue
		}
		losses[s.Loss]++
		if ended := i == len(a.Steps)-1 && (i >= len(direct.Steps) || s.Name != direct.Steps[i].Name); ended {
			steps = append(steps, direct.Steps[min(i, len(direct.Steps)):]...)
		} else if i < len(direct.Steps) {
			s.Got, s.Loss = direct.Steps[i].Got, ""
			steps = append(steps, s)
		}
	}
	a.Verdict, a.Steps = direct.Verdict, steps
	return a
}

// onHosts runs the suite in a Windows program, by the way named, and directly,
// on each of the hosts, and has the answers compared.
func onHosts(t *testing.T, way string, compare func(t *testing.T, want, got []hnstest.Answer)) {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "hnstest.test.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", exe, ".")
	build.Env = append(build.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	for i, version := range hosts {
		// One file is enough: it is written some thousand times.
		store, inFile := "memory", way == "native" && i == len(hosts)-1
		if inFile {
			store = "a file"
		}
		t.Run(fmt.Sprintf("%s in %s", version, store), func(t *testing.T) {
			dir := t.TempDir()
			vars := []string{"HNSKIT_CONFORMANCE=" + way, "HNSKIT_HNS_VERSION=" + version.String(), "HNSKIT_CALL_LOG=" + filepath.Join(dir, "calls.jsonl")}
			if inFile {
				vars = append(vars, "HNSKIT_STATE="+filepath.Join(dir, "hns.json"))
			}
			got := underWine(t, exe, filepath.Join(dir, "answers.jsonl"), vars)
			compare(t, asked(t, emulator.New(&emulator.Options{Version: version})), got)
		})
	}
}

// underWine runs the suite of the Windows program and returns the answers.
func underWine(t *testing.T, exe, answers string, vars []string) []hnstest.Answer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), wineScript, "run", exe, "-test.run=^(TestNative|TestHCN)$", "-test.v")
	cmd.Env = append(append(cmd.Environ(), "HNSKIT_CONFORMANCE_EXTERNAL=1", "HNSKIT_CONFORMANCE_STRICT=1",
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
