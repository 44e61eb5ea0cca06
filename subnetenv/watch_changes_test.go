package subnetenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// changes are the ways in which a file comes to say something else. prepare makes
// what is there at first, at most the file for MTU 1400, and returns the steps, each
// of which makes the file say the MTU, starting with 1401.
var changes = map[string]func(t *testing.T, path string) []func(mtu int){
	"rename": func(t *testing.T, path string) []func(int) {
		writeFile(t, path, withMTU(1400))
		replace := func(mtu int) {
			writeFile(t, path+".tmp", withMTU(mtu))
			eventually(t, func() error { return os.Rename(path+".tmp", path) })
		}
		return []func(int){replace, replace}
	},
	"in place, in pieces": func(t *testing.T, path string) []func(int) {
		writeFile(t, path, withMTU(1400))
		rewrite := func(mtu int) {
			f, err := os.Create(path)
			must(t, err)
			text := withMTU(mtu)
			for len(text) > 0 {
				n := min(7, len(text))
				_, err := f.WriteString(text[:n])
				must(t, err)
				text = text[n:]
				time.Sleep(time.Millisecond) // for it to be caught so; it need not be
			}
			must(t, f.Close())
		}
		return []func(int){rewrite, rewrite}
	},
	"removed and made again": func(t *testing.T, path string) []func(int) {
		writeFile(t, path, withMTU(1400))
		again := func(mtu int) {
			eventually(t, func() error { return os.Remove(path) })
			writeFile(t, path, withMTU(mtu))
		}
		return []func(int){again, again}
	},
	"with its directories": func(t *testing.T, path string) []func(int) {
		first := func(mtu int) {
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			writeFile(t, path, withMTU(mtu))
		}
		again := func(mtu int) {
			eventually(t, func() error { return os.Remove(path) })
			// On Windows a directory is gone only when all have let go of it.
			eventually(t, func() error { return os.Remove(filepath.Dir(path)) })
			eventually(t, func() error { return os.MkdirAll(filepath.Dir(path), 0o700) })
			writeFile(t, path, withMTU(mtu))
		}
		must(t, os.Remove(filepath.Dir(path)))
		return []func(int){first, again}
	},
	"a directory in the other's place": func(t *testing.T, path string) []func(int) {
		if runtime.GOOS == "windows" {
			return nil // cannot be renamed while it is watched, as documented
		}
		writeFile(t, path, withMTU(1400))
		n := 0
		swap := func(mtu int) {
			dir := filepath.Dir(path)
			must(t, os.Mkdir(dir+".new", 0o700))
			writeFile(t, filepath.Join(dir+".new", filepath.Base(path)), withMTU(mtu))
			n++
			must(t, os.Rename(dir, fmt.Sprint(dir, ".old", n)))
			must(t, os.Rename(dir+".new", dir))
		}
		write := func(mtu int) { writeFile(t, path, withMTU(mtu)) }
		return []func(int){swap, write, swap, write}
	},
	"a link in a Kubernetes volume": func(t *testing.T, path string) []func(int) {
		dir := filepath.Dir(path)
		put := func(mtu int) {
			version := fmt.Sprintf("..%d", mtu)
			must(t, os.Mkdir(filepath.Join(dir, version), 0o700))
			writeFile(t, filepath.Join(dir, version, filepath.Base(path)), withMTU(mtu))
			must(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
			must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
		}
		if !canLink(t) {
			return nil
		}
		put(1400)
		must(t, os.Symlink(filepath.Join("..data", filepath.Base(path)), path))
		return []func(int){put, put}
	},
	"a link to a file elsewhere": func(t *testing.T, path string) []func(int) {
		if !canLink(t) {
			return nil
		}
		far := filepath.Join(t.TempDir(), "far")
		writeFile(t, far, withMTU(1400))
		must(t, os.Symlink(far, path))
		write := func(mtu int) { writeFile(t, far, withMTU(mtu)) }
		swap := func(mtu int) {
			far = filepath.Join(t.TempDir(), "farther")
			writeFile(t, far, withMTU(mtu))
			eventually(t, func() error { return os.Remove(path) })
			must(t, os.Symlink(far, path))
		}
		return []func(int){write, swap, write}
	},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually tries again what a reader may hinder for a moment: on Windows a file
// that is open can be neither replaced nor removed.
func eventually(t *testing.T, do func() error) {
	t.Helper()
	err := do()
	for deadline := time.Now().Add(patience); err != nil && time.Now().Before(deadline); err = do() {
		time.Sleep(5 * time.Millisecond)
	}
	must(t, err)
}

// canLink reports whether symbolic links can be made and renamed over each other.
// Windows wants a privilege for the one, and Wine cannot do the other.
func canLink(t *testing.T) bool {
	t.Helper()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	err := errors.Join(os.Symlink("nowhere", a), os.Symlink("nowhere", b), os.Rename(a, b))
	if err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	return err == nil
}
