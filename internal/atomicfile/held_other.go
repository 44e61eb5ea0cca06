//go:build !windows

package atomicfile

import "os"

// heldByOther says no: elsewhere an open file can be replaced and removed.
func heldByOther(error) bool { return false }

// syncDir makes a rename in dir last over a power cut. Failure is not reported:
// the new content is in place, and some file systems do not offer this.
func syncDir(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = d.Sync()
	_ = d.Close()
}
