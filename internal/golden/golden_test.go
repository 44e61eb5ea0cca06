package golden_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/internal/golden"
)

// TestUpdate runs itself with the flag, with and without CI.
func TestUpdate(t *testing.T) {
	if os.Getenv("HNSKIT_TEST_GOLDEN") != "" {
		if !golden.Update(t) {
			t.Fatal("not told to update")
		}
		return
	}
	if golden.Update(t) {
		t.Skip("run by hand with -update")
	}
	for ci, want := range map[string]string{"": "PASS", "true": "-update is for people"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestUpdate$", "-update")
		cmd.Env = append(os.Environ(), "HNSKIT_TEST_GOLDEN=1", "CI="+ci)
		out, err := cmd.CombinedOutput()
		if (err == nil) != (ci == "") || !strings.Contains(string(out), want) {
			t.Errorf("CI=%q: %v\n%s", ci, err, out)
		}
	}
}
