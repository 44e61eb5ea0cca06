// Package filelock is an exclusive lock named by a file, held against other
// processes and against other goroutines of this one.
//
// The operating system drops the lock when the holder dies, so a killed plugin
// never blocks the next one. Release leaves the file where it is; Remove takes it
// along, for locks of things that come and go. Nobody else may delete a lock file:
// that could let two holders in. The lock is advisory, and it is not re-entrant:
// a second Acquire by the holder waits for the first.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/hnskit/hnskit/internal/privatedir"
)

// The lock is polled, since waiting in the kernel could not be given up when the
// context ends. Jitter keeps waiters from asking in step.
const (
	minPause = 5 * time.Millisecond
	maxPause = 10 * time.Millisecond
	// patience is how long an error that a vanishing file can cause is taken for
	// that; one that lasts longer is what it says.
	patience = 2 * time.Second
)

// fence orders memory between the goroutines of this process. The kernel's lock
// keeps them apart, but Go's memory model knows nothing of it: what one holder
// wrote, the next must see.
var fence atomic.Uint64

// Lock is a lock that is held. Only Acquire and Try make one.
type Lock struct {
	file *flock.Flock
}

// ErrHeld is matched by the error of Try if the lock is another's.
var ErrHeld = errors.New("held by another")

// Acquire takes the lock of the file at path and waits for it while ctx allows.
// The file (mode 0600) and its directories (see package privatedir) are made if
// missing.
//
// The error names the path. If ctx ended first, it matches ctx.Err(); a context
// that has ended already takes nothing.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	return acquire(ctx, path, true)
}

// Try is Acquire for a lock that is free; the error matches ErrHeld if it is not.
// It waits at most for a file that is vanishing, up to two seconds.
func Try(ctx context.Context, path string) (*Lock, error) {
	return acquire(ctx, path, false)
}

func acquire(ctx context.Context, path string, wait bool) (*Lock, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := privatedir.Make(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// Each call opens the file anew, and flock(2) and LockFileEx belong to the
	// open file, not to the process: that is what keeps goroutines apart.
	file := flock.New(path, flock.SetPermissions(0o600))
	var troubled time.Duration
	for {
		locked, err := file.TryLock()
		if err != nil && (!transient(err) || troubled >= patience) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !locked && err == nil && !wait {
			return nil, fmt.Errorf("lock %s: %w", path, ErrHeld)
		}
		if locked {
			current, err := isCurrent(file)
			if current {
				fence.Add(1)
				return &Lock{file: file}, nil
			}
			if err = errors.Join(err, file.Unlock()); err != nil {
				return nil, fmt.Errorf("lock %s: %w", path, err)
			}
			// Its holder removed it between our opening and locking it.
		}
		pause := minPause + rand.N(maxPause-minPause)
		if err != nil {
			troubled += pause
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: %w: %w", path, ErrHeld, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// isCurrent reports whether the path still leads to the file that is locked.
// Only then does the lock keep others out, who will open whatever is there.
func isCurrent(file *flock.Flock) (bool, error) {
	have, err := file.Stat()
	if err != nil {
		return false, err
	}
	at, err := os.Stat(file.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(have, at), err
}

// Release gives the lock back and leaves its file. Releasing it again does
// nothing.
func (l *Lock) Release() error {
	fence.Add(1)
	if err := l.file.Unlock(); err != nil {
		return fmt.Errorf("unlock %s: %w", l.file.Path(), err)
	}
	return nil
}

// Remove gives the lock back and removes its file; those who wait for the lock go
// on with a new file. A file that somebody has open may stay (on Windows), for him
// to remove. On a lock that was given back it does nothing.
func (l *Lock) Remove() error {
	if !l.file.Locked() {
		return nil // the file may be another holder's by now
	}
	fence.Add(1) // with the file gone the next holder is in, before the unlock
	return l.remove()
}

// removeFile removes the lock file. That it is gone is no error.
func (l *Lock) removeFile() error {
	err := os.Remove(l.file.Path())
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("remove lock file: %w", err)
}
