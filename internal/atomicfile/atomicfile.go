// Package atomicfile replaces, reads and removes small files that other
// processes use at the same time.
//
// A reader of a file written by Write sees the old content or the new one,
// never a part, also after a power cut. On Windows a file that another process
// has open can often be neither replaced, opened nor removed; every call here
// tries again for about two seconds before it reports that.
//
// It takes no locks: of two writers the last rename wins. Who reads, changes
// and writes back needs package filelock around all three.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	firstPause = time.Millisecond
	maxPause   = 250 * time.Millisecond
	// patience is how long one call keeps trying. Scanners and backup programs
	// hold a file for tens of milliseconds; what lasts longer than this is a
	// program that will not let go.
	patience = 2 * time.Second

	tempSuffix = ".tmp"
	// maxTempTries bounds the search for a free temporary name. Names are taken
	// only by what a dead process with our process id has left.
	maxTempTries = 1000
)

// Write makes data the content of the file at path, with permission bits perm
// (before umask; without effect on Windows).
//
// The data goes to a temporary file in the same directory, which must exist, is
// synced to disk and renamed over path. On failure the temporary file is removed
// and path is as it was. A symbolic link at path is replaced, not followed.
func Write(path string, data []byte, perm fs.FileMode) error {
	return system.write(path, data, perm)
}

// Read returns the content of the file at path. Its errors are those of
// os.ReadFile: they name the path and match fs.ErrNotExist and so on.
func Read(path string) ([]byte, error) {
	return system.read(path)
}

// Remove removes the file at path. Its errors are those of os.Remove, so a
// missing file matches fs.ErrNotExist.
func Remove(path string) error {
	return system.retry(func() error { return os.Remove(path) })
}

// RemoveTemps removes the temporary files that writers of the file at path left
// when they were killed. Nobody may be writing it. A directory that is not there
// has none.
func RemoveTemps(path string) error {
	dir, base := filepath.Split(path)
	d, err := os.Open(filepath.Clean(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(-1)
	errs := []error{err, d.Close()}
	for _, name := range names {
		if IsTemp(name, base) {
			if err := Remove(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// IsTemp reports whether name, a path or its last element, is a temporary file
// of Write. Such a file can stay behind when the writing process is killed. If
// base is not empty, only temporary files of the file of that name count.
func IsTemp(name, base string) bool {
	middle, ok := strings.CutSuffix(filepath.Base(name), tempSuffix)
	if !ok || !strings.HasPrefix(middle, ".") {
		return false
	}
	middle, n, ok := cutLast(middle[1:], ".")
	if !ok || !isNumber(n) {
		return false
	}
	of, pid, ok := cutLast(middle, ".")
	if !ok || !isNumber(pid) || of == "" {
		return false
	}
	return base == "" || of == base
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}

// files does the work; tests replace what depends on the system.
type files struct {
	// transient reports whether an error comes from another process having the
	// file open and may go away by itself.
	transient func(error) bool
	sleep     func(time.Duration)
}

var system = files{transient: heldByOther, sleep: time.Sleep}

// retry calls do until it succeeds, fails for good, or patience has been spent
// in pauses. Pauses are counted rather than the clock read: a suspended machine
// must not use them up.
func (f files) retry(do func() error) error {
	pause := firstPause
	for spent := time.Duration(0); ; spent += pause {
		err := do()
		if err == nil || !f.transient(err) || spent >= patience {
			return err
		}
		if spent > 0 {
			pause = min(2*pause, maxPause)
		}
		f.sleep(pause)
	}
}

func (f files) read(path string) (data []byte, err error) {
	err = f.retry(func() error {
		data, err = os.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (f files) write(path string, data []byte, perm fs.FileMode) error {
	temp, err := writeTemp(path, data, perm)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.retry(func() error { return os.Rename(temp, path) }); err != nil {
		// A scanner may hold the temporary file too.
		rmErr := f.retry(func() error { return os.Remove(temp) })
		return fmt.Errorf("write %s: %w", path, errors.Join(err, rmErr))
	}
	syncDir(filepath.Dir(path))
	return nil
}

// counter tells the temporary files of one process apart.
var counter atomic.Uint64

// createTemp opens a new file `.<base>.<process id>.<number>.tmp` beside path.
// O_EXCL never follows a link that somebody put there.
func createTemp(path string, perm fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	for range maxTempTries {
		name := fmt.Sprintf(".%s.%d.%d%s", base, os.Getpid(), counter.Add(1), tempSuffix)
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("no free temporary name in %s: %w", dir, fs.ErrExist)
}

// writeTemp writes and syncs a new temporary file for path and returns its name;
// on failure nothing is left.
func writeTemp(path string, data []byte, perm fs.FileMode) (name string, err error) {
	f, err := createTemp(path, perm)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		// Without it a power cut after the rename leaves an empty file.
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
