package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a test program prints with -test.v=test2json.
const printed = "\x16=== RUN   TestGood\n" +
	"some JSON \n" +
	"\x16--- PASS: TestGood (0.01s)\n" +
	"\x16=== RUN   TestBad\n" +
	"\x16=== NAME  TestBad\n" +
	"no end of line" +
	"\x16    bad_test.go:7: broken\n" +
	"\x16--- FAIL: TestBad (0.02s)\n" +
	"\x16=== RUN   TestParts\n" +
	"\x16=== RUN   TestParts/one\n" +
	"\x16    --- FAIL: TestParts/one (0.00s)\n" +
	"\x16--- SKIP: TestParts (0.00s)\n"

var parsed = []result{
	{"TestGood", pass, "some JSON \n"},
	{"TestBad", fail, "no end of line    bad_test.go:7: broken\n"},
	{"TestParts", skip, "=== RUN   TestParts/one\n    --- FAIL: TestParts/one (0.00s)\n"},
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		want       []result
	}{
		{"nothing", "", nil},
		{"no tests", "testing: warning: no tests to run\nPASS\n", nil},
		{"three tests", printed, parsed},
		{"a verdict that a test made up", "\x16=== RUN   TestA\n--- PASS: TestA (0.00s)\n\x16--- FAIL: TestA (0.00s)\n",
			[]result{{"TestA", fail, "--- PASS: TestA (0.00s)\n"}}},
		{"a verdict of another test", "\x16=== RUN   TestA\n\x16--- PASS: TestB (0.00s)\n",
			[]result{{"TestA", crash, "--- PASS: TestB (0.00s)\n"}}},
		{"exit", "\x16=== RUN   TestA\nlast words\n", []result{{"TestA", crash, "last words\n"}}},
		{"panic", "\x16=== RUN   TestA\n\x16--- FAIL: TestA (0.00s)\npanic: boom\n", []result{{"TestA", fail, "panic: boom\n"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, parse(tt.text), cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The tests behind one that takes the program down run in another program.
func TestRunAll(t *testing.T) {
	var asked []string
	program := func(args ...string) (string, error) {
		asked = append(asked, args[len(args)-1])
		if len(asked) == 1 {
			return "\x16=== RUN   TestA\n\x16--- PASS: TestA (0.00s)\n\x16=== RUN   TestB\n", nil
		}
		return "\x16=== RUN   TestC\n\x16--- FAIL: TestC (0.00s)\nFAIL\n", nil
	}
	got, err := runAll([]string{"TestA", "TestB", "TestC"}, program)
	if err != nil {
		t.Fatal(err)
	}
	want := []result{{"TestA", pass, ""}, {"TestB", crash, ""}, {"TestC", fail, "FAIL\n"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"-test.run=^(TestA|TestB|TestC)$", "-test.run=^(TestC)$"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// What does not come back as it was asked for is an error, and no test is lost.
func TestRunAllErrors(t *testing.T) {
	for text, says := range map[string]string{
		"cannot load the program": "no test of [TestA TestB] ran:\ncannot load",
		"\x16=== RUN   TestB\n":   `unexpected result of "TestB"`,
		"\x16=== RUN   TestA\n\x16--- PASS: TestA (0s)\n\x16=== RUN   TestB\n\x16--- PASS: TestB (0s)\n\x16=== RUN   TestC\n": `"TestC"`,
	} {
		_, err := runAll([]string{"TestA", "TestB"}, func(...string) (string, error) { return text, nil })
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %s", text, err, says)
		}
	}
}

func TestReport(t *testing.T) {
	good := []result{{"TestA", pass, ""}, {"TestB", pass, ""}}
	tests := []struct {
		name        string
		with, alone []result
		ok          bool
		want        string
	}{
		{"all pass", good, []result{{"TestA", pass, ""}, {"TestB", fail, ""}}, true,
			"1 of 2 pass without any HNS, 1 need it\n2 passed, 0 failed\n"},
		{"one fails", []result{{"TestA", pass, ""}, {"TestB", fail, "why\n"}}, good, false,
			"--- FAIL: TestB\nwhy\n2 of 2 pass without any HNS, 0 need it\n1 passed, 1 failed\n"},
		{"a skip is no pass", []result{{"TestA", pass, ""}, {"TestB", skip, "no\n"}}, good, false,
			"--- SKIP: TestB\nno\n2 of 2 pass without any HNS, 0 need it\n1 passed, 1 failed\n"},
		{"one is missing", good[:1], good[:1], false,
			"there are 1 tests, not 2\n1 of 1 pass without any HNS, 0 need it\n1 passed, 0 failed\n"},
		{"one too many", append(good, good...), good, false,
			"there are 4 tests, not 2\n2 of 2 pass without any HNS, 0 need it\n4 passed, 0 failed\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			ok := suite{tests: 2}.report(&out, tt.with, tt.alone)
			if diff := cmp.Diff(tt.want, out.String()); ok != tt.ok || diff != "" {
				t.Errorf("ok = %t, want %t (-want +got):\n%s", ok, tt.ok, diff)
			}
		})
	}
}

// FuzzParse: whatever a program prints, the results are of tests that it
// started, and each is in one state.
func FuzzParse(f *testing.F) {
	f.Add(printed)
	f.Fuzz(func(t *testing.T, text string) {
		got := parse(text)
		if n := strings.Count(text, mark+"=== RUN"); len(got) > n {
			t.Errorf("%d results of %d tests", len(got), n)
		}
		for _, r := range got {
			if r.name == "" || !strings.Contains("PASS FAIL SKIP CRASH", string(r.status)) {
				t.Errorf("%+v", r)
			}
		}
	})
}
