// Command suites runs the tests that Microsoft wrote against the real HNS:
// those of hcsshim's package hcn, and those of hnslib, the copy of it that
// kube-proxy uses. It is behind "wine hcsshim" and "wine hnslib".
//
// A suite is built from the module that suites/upstream pins, and runs under
// Wine twice: with the emulated HNS, and with none. The second run tells how
// many of its tests would pass with any emulator.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// suite is one test program.
type suite struct {
	name   string // on the command line
	module string
	pkg    string
	tags   string // for the go command
	tests  int    // how many the pinned version has
}

var suites = []suite{
	{"hcsshim", "github.com/Microsoft/hcsshim", "github.com/Microsoft/hcsshim/hcn", "integration", 78},
	// A third tag, featureaccelnetsupport, adds a file that does not compile in
	// v0.1.3; the same test stands in hcsshim.
	{"hnslib", "github.com/Microsoft/hnslib", "github.com/Microsoft/hnslib/hcn", "integration,featureroutesupport", 79},
}

// allFeatures is the oldest version of HNS that the suites ask for everything.
const allFeatures = "16.0"

func main() {
	wine := flag.String("wine", "./wine", "the script wine")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	i := slices.IndexFunc(suites, func(s suite) bool { return s.name == flag.Arg(0) })
	if flag.NArg() != 1 || i < 0 {
		fmt.Fprintln(os.Stderr, "usage: suites [-wine script] hcsshim|hnslib")
		os.Exit(2)
	}
	ok, err := suites[i].check(ctx, os.Stdout, *wine)
	if err != nil {
		fmt.Fprintf(os.Stderr, "suites: %s: %v\n", suites[i].name, err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// check runs the suite and tells what came of it; ok means that every test
// passed with the emulated HNS, and that none was missing.
func (s suite) check(ctx context.Context, w io.Writer, wine string) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "hnskit-suite-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is a temporary file
	exe := filepath.Join(dir, s.name+".test.exe")
	version, err := s.build(ctx, filepath.Join(filepath.Dir(wine), "suites", "upstream"), exe)
	if err != nil {
		return false, err
	}
	run := func(vars []string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, wine, append([]string{"run", exe}, args...)...)
		cmd.Env = append(cmd.Environ(), vars...)
		return output(cmd)
	}
	list, err := run(nil, "-test.list=.")
	if err != nil {
		return false, err
	}
	names := strings.Fields(list)
	with := []string{}
	if os.Getenv("HNSKIT_HNS_VERSION") == "" {
		with = append(with, "HNSKIT_HNS_VERSION="+allFeatures)
	}
	fmt.Fprintf(w, "%s %s: %d tests\n", s.name, version, len(names))
	results, err := runAll(names, func(args ...string) (string, error) { return run(with, args...) })
	if err != nil {
		return false, err
	}
	alone, err := runAll(names, func(args ...string) (string, error) { return run([]string{"HNSKIT_NO_HNS=1"}, args...) })
	if err != nil {
		return false, fmt.Errorf("without HNS: %w", err)
	}
	return s.report(w, results, alone), nil
}

// report prints the failures and the counts.
func (s suite) report(w io.Writer, results, alone []result) (ok bool) {
	passed := 0
	for _, r := range results {
		if r.status == pass {
			passed++
			continue
		}
		fmt.Fprintf(w, "--- %s: %s\n%s", r.status, r.name, r.output)
	}
	free := 0
	for _, r := range alone {
		if r.status == pass {
			free++
		}
	}
	if len(results) != s.tests {
		fmt.Fprintf(w, "there are %d tests, not %d\n", len(results), s.tests)
	}
	fmt.Fprintf(w, "%d of %d pass without any HNS, %d need it\n", free, len(alone), len(alone)-free)
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, len(results)-passed)
	return passed == s.tests && len(results) == s.tests
}
