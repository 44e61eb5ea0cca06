package emulator_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns/emulator"
)

// workVar makes TestWork do its work: "<size> <times>".
const workVar = "HNSKIT_TEST_WORK"

// TestWork is run by TestWorkDoesNotGrowWithTheNode alone, in a process of its own.
func TestWork(t *testing.T) {
	var size, times int
	if n, _ := fmt.Sscan(os.Getenv(workVar), &size, &times); n != 2 {
		t.Skip("only for TestWorkDoesNotGrowWithTheNode")
	}
	c := newCrowd(newNode(t, func(o *emulator.Options) { o.Seed = 0 }), size)
	for range times {
		for _, op := range costly {
			if op.items == nil {
				op.do(c)
				c.ResetCalls()
			}
		}
	}
}

// What an operation does must not grow with the node. Counted is how often each
// statement is carried out, which is the same on every machine: a loop through
// all endpoints is seen though it takes no memory. TestCostDoesNotGrowWithTheNode
// counts memory, and so what libraries do.
func TestWorkDoesNotGrowWithTheNode(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the package anew")
	}
	const small, large = 100, 5000
	binary := filepath.Join(t.TempDir(), "work.test.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-covermode=count", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before, after := statements(t, binary, small), statements(t, binary, large)
	total := 0
	for block, n := range after {
		total += n
		if n-before[block] > large/20 {
			t.Errorf("%s is carried out %d times on a node of %d endpoints, and %d times on one of %d", block, before[block], small, n, large)
		}
	}
	if total < 1000 {
		t.Errorf("%d statements: the test shows little", total)
	}
}

// statements returns how often the operations carry out each block of statements,
// less what it takes to fill the node.
func statements(t *testing.T, binary string, size int) map[string]int {
	t.Helper()
	out := map[string]int{}
	for times, sign := range map[int]int{2: 1, 1: -1} {
		profile := filepath.Join(t.TempDir(), "profile")
		run := exec.CommandContext(t.Context(), binary, "-test.run=^TestWork$", "-test.coverprofile="+profile)
		run.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", workVar, size, times))
		if text, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		text, err := os.ReadFile(profile)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line) // file:from,to statements count
			if len(fields) != 3 {
				continue
			}
			n, err := strconv.Atoi(fields[2])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			out[fields[0]] += sign * n
		}
	}
	return out
}
