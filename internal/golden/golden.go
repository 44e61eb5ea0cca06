// Package golden compares what tests get with golden files, and has the flag
// -update that writes them.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them; not where CI is set")

// Update reports whether the golden files are to be written. Where the
// variable CI is set it ends the test instead: files that a CI job writes
// prove nothing.
func Update(t testing.TB) bool {
	t.Helper()
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update is for people: golden files that a CI job writes prove nothing")
	}
	return *update
}

// File compares got with the file at path, or writes it with -update.
func File(t testing.TB, path, got string) {
	t.Helper()
	if Update(t) {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A checkout on Windows may have CR LF.
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s (-want +got, -update writes it):\n%s", path, diff)
	}
}
