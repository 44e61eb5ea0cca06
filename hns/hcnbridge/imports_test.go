//go:build !windows

package hcnbridge

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Who imports hns, or any other package of the module, links no hcsshim: that
// is this package's alone.
func TestOnlyThisPackageLinksHcsshim(t *testing.T) {
	const own = "github.com/hnskit/hnskit/hns/hcnbridge"
	for _, goos := range []string{"windows", "linux"} {
		cmd := exec.Command("go", "list", "-e", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "github.com/hnskit/hnskit/...")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", goos, err)
		}
		seen := map[string]bool{}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			pkg, deps, _ := strings.Cut(line, " ")
			seen[pkg] = true
			links := strings.Contains(deps, "github.com/Microsoft/hcsshim")
			if want := pkg == own && goos == "windows"; links != want {
				t.Errorf("%s for %s: links hcsshim: %v", pkg, goos, links)
			}
		}
		for _, pkg := range []string{"github.com/hnskit/hnskit/hns", own} {
			if !seen[pkg] {
				t.Errorf("%s: go list did not name %s", goos, pkg)
			}
		}
	}
}
