package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// build builds the test program of the suite in the module that pins it, and
// returns the version of what it tests.
func (s suite) build(ctx context.Context, upstream, exe string) (version string, err error) {
	for _, args := range [][]string{
		{"test", "-c", "-tags", s.tags, "-o", exe, s.pkg},
		{"list", "-m", "-f", "{{.Version}}", s.module},
	} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = upstream
		cmd.Env = append(cmd.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
		if version, err = output(cmd); err != nil {
			return "", err
		}
	}
	return strings.TrimSpace(version), nil
}

// output returns what a command prints. A test program whose tests fail ends
// with status 1, or 2 if it panics, so these are no errors if there is output.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() <= 2 && exit.ExitCode() > 0 && stdout.Len() > 0 {
		// What the runtime says when it ends the program.
		return stdout.String() + stderr.String(), nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", cmd, err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// result is what one test came to.
type result struct {
	name   string
	status status
	output string
}

// status is the word that package testing has for it.
type status string

const (
	pass  status = "PASS"
	fail  status = "FAIL"
	skip  status = "SKIP"
	crash status = "CRASH" // it took the program down
)

// runAll runs the tests and returns a result for each, in their order. A test
// that takes the program down is a crash; those behind it run in a new one.
func runAll(names []string, run func(args ...string) (string, error)) ([]result, error) {
	var all []result
	for todo := names; len(todo) > 0; {
		quoted := make([]string, len(todo))
		for i, n := range todo {
			quoted[i] = regexp.QuoteMeta(n)
		}
		out, err := run("-test.v=test2json", "-test.run=^("+strings.Join(quoted, "|")+")$")
		if err != nil {
			return nil, err
		}
		got := parse(out)
		for i, r := range got {
			if i >= len(todo) || r.name != todo[i] {
				return nil, fmt.Errorf("unexpected result of %q in\n%s", r.name, out)
			}
		}
		if len(got) == 0 {
			return nil, fmt.Errorf("no test of %v ran:\n%s", todo, out)
		}
		all, todo = append(all, got...), todo[len(got):]
	}
	return all, nil
}

// mark stands before every line of package testing in the mode test2json, also
// where a test left its last line without an end.
const mark = "\x16"

// parse reads the output of a test program, with -test.v=test2json, whose tests
// do not run in parallel. Subtests are part of the output of their test.
func parse(text string) []result {
	var all []result
	open := false // the last result has no status yet
	for line := range strings.Lines(text) {
		before, after, marked := strings.Cut(line, mark)
		word, name := header(after)
		switch {
		case marked && word == "RUN" && !strings.Contains(name, "/"):
			all = append(all, result{name: name, status: crash, output: before})
			open = true
		case marked && open && name == all[len(all)-1].name && (word == string(pass) || word == string(fail) || word == string(skip)):
			r := &all[len(all)-1]
			r.output += before
			r.status = status(word)
			open = false
		case marked && word == "NAME": // says whose the next lines are
			if len(all) > 0 {
				all[len(all)-1].output += before
			}
		case len(all) > 0: // what comes behind a test may tell why the program ended
			all[len(all)-1].output += before + after
		}
	}
	return all
}

// header reads "=== RUN   TestX" and "--- PASS: TestX (0.00s)".
func header(line string) (word, name string) {
	f := strings.Fields(line)
	if len(f) < 3 || f[0] != "===" && f[0] != "---" {
		return "", ""
	}
	return strings.TrimSuffix(f[1], ":"), f[2]
}
