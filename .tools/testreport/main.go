// Command testreport reads the output of "go test -json" on standard input,
// prints what failed, and ends with a line per suite: how many tests ran and
// how many were skipped. A skip that is not in the list of allowed ones, a
// failure, and a suite in which nothing ran make it exit with status 1.
//
//	go test -json ./... | testreport -suite go -skips .ci/skips.txt
//
// The list has a line per test, "package test reason"; "Test/*" means its
// sub-tests, "#" starts a comment.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of a build failure
}

func main() {
	suite := flag.String("suite", "go", "name of the suite in the last line")
	skips := flag.String("skips", "", "file with the tests that may be skipped")
	flag.Parse()
	allowed, err := readSkips(*skips)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	ok, err := report(os.Stdin, os.Stdout, *suite, allowed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func readSkips(path string) (map[string]string, error) {
	out := map[string]string{}
	if path == "" {
		return out, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, l := range strings.Split(string(b), "\n") {
		f := strings.Fields(l)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 3 {
			return nil, fmt.Errorf("%s: %q is not: package test reason", path, l)
		}
		out[f[0]+" "+f[1]] = strings.Join(f[2:], " ")
	}
	return out, nil
}

// reasonFor looks for the test itself, and for the sub-tests of its parent.
func reasonFor(allowed map[string]string, pkg, test string) (string, bool) {
	if reason, ok := allowed[pkg+" "+test]; ok {
		return reason, true
	}
	parent, _, sub := strings.Cut(test, "/")
	reason, ok := allowed[pkg+" "+parent+"/*"]
	return reason, ok && sub
}

// report counts tests and sub-tests. The output of what passed is dropped.
func report(in io.Reader, out io.Writer, suite string, allowed map[string]string) (bool, error) {
	output := map[string][]string{}
	var passed, failed, skipped int
	ok := true
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var e event
		if json.Unmarshal(sc.Bytes(), &e) != nil {
			fmt.Fprintln(out, sc.Text()) // what the go command says itself
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			output[key] = append(output[key], e.Output)
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "build-fail":
			ok = false
		case "pass":
			if e.Test != "" {
				passed++
			}
			delete(output, key)
		case "fail":
			ok = false
			if e.Test != "" {
				failed++
			}
			fmt.Fprintf(out, "FAIL %s\n%s", key, strings.Join(output[key], ""))
		case "skip":
			if e.Test == "" {
				continue // a package without tests
			}
			skipped++
			reason, may := reasonFor(allowed, e.Package, e.Test)
			if !may {
				ok = false
				reason = "NOT ALLOWED: " + strings.TrimSpace(strings.Join(output[key], " "))
			}
			if !may || !strings.Contains(e.Test, "/") {
				fmt.Fprintf(out, "skipped %s: %s\n", key, reason)
			}
		}
	}
	if passed == 0 {
		ok = false
	}
	fmt.Fprintf(out, "suite %s: %d ran, %d failed, %d skipped\n", suite, passed+failed, failed, skipped)
	return ok, sc.Err()
}
