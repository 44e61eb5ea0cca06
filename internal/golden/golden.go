// Package golden is the flag -update of tests that compare with golden files.
package golden

import (
	"flag"
	"os"
	"testing"
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
